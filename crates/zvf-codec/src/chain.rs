//! Lists of codecs, decoded last to first.
//!
//! Every step checks how many bytes will come out before it makes room for them.

use zvf_meta::Codec;

#[cfg(feature = "blosc")]
use crate::blosc;
use crate::data::{Data, summed};
use crate::error::{CodecError, check};
use crate::fletcher32;
#[cfg(feature = "gzip")]
use crate::gzip;
#[cfg(feature = "zstd")]
use crate::zstd;
#[cfg(feature = "zarrs")]
use crate::{bz2, foreign};

/// One codec that this build decodes itself.
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

/// The bytes-to-bytes codecs of an array, in the order in which they are decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain(Vec<Step>);

impl Chain {
    /// The chain of a codec list without its first, array-to-bytes entry.
    ///
    /// # Errors
    /// The name of the codec that is not decoded here, and why where there is a reason.
    pub fn new(codecs: &[Codec]) -> Result<Self, String> {
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
                "blosc" | "numcodecs.blosc" => Step::Blosc,
                "crc32c" => Step::Crc32c,
                "numcodecs.fletcher32" => Step::Fletcher32,
                other => return Err(other.to_owned()),
            });
        }
        steps.reverse();
        Ok(Self(steps))
    }

    /// Decodes the bytes of one chunk.
    ///
    /// # Cost
    /// One allocation for each codec that compresses; none for checksums.
    ///
    /// # Errors
    /// Bytes that the codecs did not write; more than `limit` decoded bytes, before room is made for them.
    pub fn decode<'b>(&self, data: Data<'b>, limit: u64) -> Result<Data<'b>, CodecError> {
        let mut data = data;
        for step in &self.0 {
            data = match step {
                #[cfg(feature = "zstd")]
                Step::Zstd => Data::Shared(zstd::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "gzip")]
                Step::Gzip => Data::Shared(gzip::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "gzip")]
                Step::Zlib => Data::Shared(gzip::decode_zlib(data.as_slice(), limit)?.into()),
                #[cfg(feature = "zarrs")]
                Step::Bz2 => Data::Shared(bz2::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "zarrs")]
                Step::Foreign(codec) => Data::Shared(codec.decode(data.as_slice())?.into()),
                #[cfg(feature = "blosc")]
                Step::Blosc => Data::Shared(blosc::decode(data.as_slice(), limit)?.into()),
                Step::Crc32c => checked(data)?,
                Step::Fletcher32 => fletcher32::checked(data)?,
            };
        }
        check(
            u64::try_from(data.as_slice().len()).unwrap_or(u64::MAX),
            limit,
        )?;
        Ok(data)
    }
}

/// Compares the last four bytes with the CRC-32C of the rest, and removes them.
fn checked<'b>(data: Data<'b>) -> Result<Data<'b>, CodecError> {
    summed("crc32c", crc32c::crc32c, data)
}

#[cfg(test)]
mod tests {
    use super::checked;
    use crate::Data;

    #[test]
    fn a_checksum_is_checked_and_removed() {
        let mut bytes = b"hello".to_vec();
        bytes.extend(crc32c::crc32c(b"hello").to_le_bytes());
        assert_eq!(
            checked(Data::Borrowed(&bytes)).unwrap().as_slice(),
            b"hello"
        );
        bytes[0] ^= 1;
        assert!(
            checked(Data::Borrowed(&bytes))
                .unwrap_err()
                .to_string()
                .contains("crc32c")
        );
        assert!(checked(Data::Borrowed(b"abc")).is_err());
    }
}
