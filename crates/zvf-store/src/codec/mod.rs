//! Bytes-to-bytes codecs, undone last to first.
//!
//! Every step checks how many bytes will come out before it makes room for them.

#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "zarrs")]
mod bz2;
pub(crate) mod fletcher32;
#[cfg(feature = "zarrs")]
pub(crate) mod foreign;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "zstd")]
mod zstd;

use bytes::Bytes;
use zvf_format::dtype::ByteOrder;
use zvf_meta::Codec;

use crate::StoreError;
use crate::kv::Cap;

/// The order of bytes that a codec `bytes` states; `None` for a word that is none.
pub(crate) fn byte_order(codec: &Codec) -> Option<ByteOrder> {
    match codec.configuration.get("endian").and_then(|e| e.as_str()) {
        None | Some("little") => Some(ByteOrder::Little),
        Some("big") => Some(ByteOrder::Big),
        Some(_) => None,
    }
}

/// Whether the index of a shard bears a checksum.
///
/// # Errors
/// The names of its codecs, where they are others than the two that are read.
pub(crate) fn index_checksum(codecs: &[Codec]) -> Result<bool, Vec<&str>> {
    let names: Vec<&str> = codecs.iter().map(|codec| codec.name.as_str()).collect();
    match names.as_slice() {
        ["bytes"] => Ok(false),
        ["bytes", "crc32c"] => Ok(true),
        _ => Err(names),
    }
}

/// Bytes that are borrowed from a buffer, or shared.
#[derive(Debug, Clone)]
pub(crate) enum Data<'b> {
    Borrowed(&'b [u8]),
    Shared(Bytes),
}

impl<'b> Data<'b> {
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }

    /// The bytes `range`, which the caller has found inside.
    pub(crate) fn slice(self, range: std::ops::Range<usize>) -> Option<Bytes> {
        match self {
            Self::Borrowed(bytes) => bytes.get(range).map(Bytes::copy_from_slice),
            Self::Shared(bytes) => {
                (range.start <= range.end && range.end <= bytes.len()).then(|| bytes.slice(range))
            }
        }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Borrowed(bytes) => Bytes::copy_from_slice(bytes),
            Self::Shared(bytes) => bytes,
        }
    }

    fn without_last(self, n: usize) -> Self {
        let keep = self.as_slice().len().saturating_sub(n);
        match self {
            Self::Borrowed(bytes) => Self::Borrowed(bytes.get(..keep).unwrap_or(bytes)),
            Self::Shared(bytes) => Self::Shared(bytes.slice(..keep)),
        }
    }
}

/// One codec that this build undoes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    #[cfg(feature = "zstd")]
    Zstd,
    #[cfg(feature = "gzip")]
    Gzip,
    #[cfg(feature = "gzip")]
    Zlib,
    #[cfg(feature = "blosc")]
    Blosc,
    #[cfg(feature = "zarrs")]
    Bz2,
    #[cfg(feature = "zarrs")]
    Foreign(foreign::Foreign),
    Crc32c,
    Fletcher32,
}

/// The bytes-to-bytes codecs of an array, in the order in which they are undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Chain(Vec<Step>);

impl Chain {
    /// The chain of a codec list without its first, array-to-bytes entry; else the name of the codec that is not
    /// undone here.
    pub(crate) fn new(codecs: &[Codec]) -> Result<Self, String> {
        let mut steps = Vec::with_capacity(codecs.len());
        for codec in codecs {
            steps.push(match codec.name.as_str() {
                #[cfg(feature = "zstd")]
                "zstd" | "numcodecs.zstd" => Step::Zstd,
                #[cfg(feature = "gzip")]
                "gzip" | "numcodecs.gzip" => Step::Gzip,
                #[cfg(feature = "gzip")]
                "numcodecs.zlib" => Step::Zlib,
                #[cfg(feature = "zarrs")]
                "numcodecs.bz2" => Step::Bz2,
                #[cfg(feature = "zarrs")]
                name if foreign::NAMES.contains(&name) => {
                    Step::Foreign(foreign::Foreign::new(codec)?)
                }
                #[cfg(feature = "blosc")]
                "blosc" | "numcodecs.blosc" => match codec.configuration.get("cname") {
                    Some(cname) if cname == "snappy" => return Err("blosc with snappy".to_owned()),
                    _ => Step::Blosc,
                },
                "crc32c" => Step::Crc32c,
                "numcodecs.fletcher32" => Step::Fletcher32,
                other => return Err(other.to_owned()),
            });
        }
        steps.reverse();
        Ok(Self(steps))
    }

    /// Undoes the chain. The result has at most `cap` bytes.
    pub(crate) fn decode<'b>(
        &self,
        key: &str,
        data: Data<'b>,
        cap: Cap,
    ) -> Result<Data<'b>, StoreError> {
        let mut data = data;
        for step in &self.0 {
            data = match step {
                #[cfg(feature = "zstd")]
                Step::Zstd => Data::Shared(zstd::decode(key, data.as_slice(), cap)?.into()),
                #[cfg(feature = "gzip")]
                Step::Gzip => Data::Shared(gzip::decode(key, data.as_slice(), cap)?.into()),
                #[cfg(feature = "gzip")]
                Step::Zlib => Data::Shared(gzip::decode_zlib(key, data.as_slice(), cap)?.into()),
                #[cfg(feature = "zarrs")]
                Step::Bz2 => Data::Shared(bz2::decode(key, data.as_slice(), cap)?.into()),
                #[cfg(feature = "zarrs")]
                Step::Foreign(codec) => Data::Shared(codec.decode(key, data.as_slice())?.into()),
                #[cfg(feature = "blosc")]
                Step::Blosc => Data::Shared(blosc::decode(key, data.as_slice(), cap)?.into()),
                Step::Crc32c => checked(key, data)?,
                Step::Fletcher32 => fletcher32::checked(key, data)?,
            };
        }
        cap.check(
            key,
            u64::try_from(data.as_slice().len()).unwrap_or(u64::MAX),
        )?;
        Ok(data)
    }
}

/// Compares the last four bytes with the CRC-32C of the rest, and removes them.
fn checked<'b>(key: &str, data: Data<'b>) -> Result<Data<'b>, StoreError> {
    summed(key, "crc32c", crc32c::crc32c, data)
}

/// Compares the last four bytes with a checksum of the rest, and removes them.
fn summed<'b>(
    key: &str,
    name: &str,
    sum: impl Fn(&[u8]) -> u32,
    data: Data<'b>,
) -> Result<Data<'b>, StoreError> {
    let Some((body, stored)) = data.as_slice().split_last_chunk::<4>() else {
        let count = data.as_slice().len();
        let what = format!("{name}: {count} bytes found, expected at least the 4 of the checksum");
        return Err(StoreError::malformed(key, what));
    };
    let (stored, found) = (u32::from_le_bytes(*stored), sum(body));
    if stored != found {
        let what = format!("{name}: {found:#010x} found, expected {stored:#010x}");
        return Err(StoreError::malformed(key, what));
    }
    Ok(data.without_last(4))
}

/// Reads everything that `reader` gives, at most `cap` bytes.
#[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs"))]
fn read_bounded(
    key: &str,
    codec: &'static str,
    reader: impl std::io::Read,
    hint: usize,
    cap: Cap,
) -> Result<Vec<u8>, StoreError> {
    use std::io::Read;

    use crate::isolate::isolate;

    let mut bytes = Vec::with_capacity(hint.min(usize::try_from(cap.bytes).unwrap_or(usize::MAX)));
    let wrong = |what: String| StoreError::malformed(key, format!("{codec}: {what}"));
    let mut reader = reader.take(cap.bytes.saturating_add(1));
    isolate(|| reader.read_to_end(&mut bytes))
        .map_err(wrong)?
        .map_err(|error| wrong(error.to_string()))?;
    cap.check(key, u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Data, checked};

    #[cfg(any(feature = "zstd", feature = "gzip", feature = "zarrs"))]
    #[test]
    fn a_decoder_that_panics_is_a_malformed_cell_by_its_key() {
        struct Panics;
        impl std::io::Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                panic!("index out of bounds")
            }
        }
        let cap = crate::kv::Cap {
            what: "cell_bytes",
            bytes: 1 << 20,
        };
        let error = super::read_bounded("0/vertices/c/1", "gzip", Panics, 0, cap).unwrap_err();
        assert_eq!(error.class(), crate::Class::Malformed);
        let text = error.to_string();
        assert!(text.starts_with("0/vertices/c/1"), "{text}");
        assert!(text.ends_with("gzip: index out of bounds"), "{text}");
    }

    #[test]
    fn a_checksum_is_checked_and_removed() {
        let mut bytes = b"hello".to_vec();
        bytes.extend(crc32c::crc32c(b"hello").to_le_bytes());
        assert_eq!(
            checked("k", Data::Borrowed(&bytes)).unwrap().as_slice(),
            b"hello"
        );
        bytes[0] ^= 1;
        assert!(
            checked("k", Data::Borrowed(&bytes))
                .unwrap_err()
                .to_string()
                .contains("crc32c")
        );
        assert!(checked("k", Data::Borrowed(b"abc")).is_err());
    }
}
