//! Reads gzip files.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// Decompresses gzip data of one or several members. Zeros after the last member are padding; other bytes are an error, as is an incomplete member.
#[derive(Debug)]
pub(crate) struct GzipMembers<R: BufRead> {
    /// `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(crate) fn new(packed: R) -> Self {
        Self {
            member: Some(GzDecoder::new(packed)),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            let got = member.read(buffer)?;
            if got > 0 {
                return Ok(got);
            }
            let mut packed = match self.member.take() {
                Some(member) => member.into_inner(),
                None => break,
            };
            match packed.fill_buf()?.first() {
                None => {}
                Some(0) => check_padding(&mut packed)?,
                // The first byte of each member.
                Some(0x1f) => self.member = Some(GzDecoder::new(packed)),
                Some(_) => return Err(trailing()),
            }
        }
        Ok(0)
    }
}

/// Reads zeros up to the end.
fn check_padding(packed: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = packed.fill_buf()?;
        let (count, other) = (bytes.len(), bytes.iter().any(|byte| *byte != 0));
        match (count, other) {
            (_, true) => return Err(trailing()),
            (0, false) => return Ok(()),
            (_, false) => packed.consume(count),
        }
    }
}

fn trailing() -> io::Error {
    let what = "found bytes after the end of the compressed data that are not gzip, expected the end of the file, zeros or further gzip data";
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn read(parts: &[&[u8]]) -> io::Result<String> {
        let mut text = String::new();
        let bytes = parts.concat();
        // A small buffer, so that members and padding are in several parts.
        let file = io::BufReader::with_capacity(7, bytes.as_slice());
        GzipMembers::new(file).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn members_are_read_in_a_row_and_padding_is_ignored() {
        let (a, b, none) = (packed("a,b\n"), packed("1,2\n"), packed(""));
        assert_eq!(read(&[&a, &b]).unwrap(), "a,b\n1,2\n");
        assert_eq!(read(&[&a, &none, &b, &[0; 600]]).unwrap(), "a,b\n1,2\n");
        for garbage in [&b"garbage"[..], b"\0\0\0garbage", b"g"] {
            let error = read(&[&a, garbage]).unwrap_err().to_string();
            assert!(
                error.contains("after the end of the compressed data"),
                "{error}"
            );
        }
        for end in 0..a.len() {
            let error = read(&[&b, &a[..end]]).err();
            assert_eq!(error.is_none(), end == 0, "{end}");
        }
    }
}
