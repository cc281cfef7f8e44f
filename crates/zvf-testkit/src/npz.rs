//! NumPy archives: zip files of array files. Reads only what NumPy writes: stored or deflated entries that the
//! directory at the end of the file lists.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

use crate::npy::{self, Column};

/// Signature of the last record of a zip file, which has the position of the directory.
const END: &[u8; 4] = b"PK\x05\x06";

/// Signature of an entry of the directory.
const ENTRY: &[u8; 4] = b"PK\x01\x02";

/// Reads every array of an archive, by name without `.npy`.
pub(crate) fn read(bytes: &[u8]) -> Result<BTreeMap<String, Column>> {
    let end = bytes
        .windows(4)
        .rposition(|window| window == END)
        .context("not a zip file")?;
    let count = u16_at(bytes, end + 10)?;
    let mut at = u32_at(bytes, end + 16)?;
    let mut arrays = BTreeMap::new();
    for _ in 0..count {
        ensure!(
            slice(bytes, at, 4)? == ENTRY,
            "no directory entry at byte {at}"
        );
        let method = u16_at(bytes, at + 10)?;
        let packed = u32_at(bytes, at + 20)?;
        let plain = u32_at(bytes, at + 24)?;
        let name_length = u16_at(bytes, at + 28)?;
        let tail = u16_at(bytes, at + 30)? + u16_at(bytes, at + 32)?;
        let local = u32_at(bytes, at + 42)?;
        let name = std::str::from_utf8(slice(bytes, at + 46, name_length)?)?;
        let data = local + 30 + u16_at(bytes, local + 26)? + u16_at(bytes, local + 28)?;
        let content =
            unpack(method, slice(bytes, data, packed)?, plain).with_context(|| name.to_owned())?;
        let column = npy::parse(&content).with_context(|| name.to_owned())?;
        arrays.insert(name.trim_end_matches(".npy").to_owned(), column);
        at += 46 + name_length + tail;
    }
    Ok(arrays)
}

fn unpack(method: usize, packed: &[u8], plain: usize) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    match method {
        0 => content.extend_from_slice(packed),
        8 => {
            flate2::read::DeflateDecoder::new(packed).read_to_end(&mut content)?;
        }
        other => bail!("zip method {other} is not supported"),
    }
    ensure!(
        content.len() == plain,
        "expected {plain} bytes, found {}",
        content.len()
    );
    Ok(content)
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8]> {
    let tail = bytes.get(at..).and_then(|tail| tail.get(..length));
    tail.with_context(|| format!("the zip file ends early, at byte {at}"))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<usize> {
    let field: [u8; 2] = slice(bytes, at, 2)?.try_into()?;
    Ok(usize::from(u16::from_le_bytes(field)))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize> {
    let field: [u8; 4] = slice(bytes, at, 4)?.try_into()?;
    Ok(usize::try_from(u32::from_le_bytes(field))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_else_is_refused() {
        assert_eq!(read(b"nothing").unwrap_err().to_string(), "not a zip file");
    }

    #[test]
    fn a_directory_past_the_end_is_an_error() {
        let mut bytes = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend([0xff; 10]);
        assert!(read(&bytes).is_err());
    }
}
