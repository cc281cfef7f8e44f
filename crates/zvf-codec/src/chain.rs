//! Decodes the bytes-to-bytes codecs of an array, from the last to the first.
//!
//! Every codec whose output may be larger than its input checks the decoded size before it allocates memory.

use zvf_meta::Codec;

#[cfg(feature = "blosc-frames")]
use crate::blosc;
use crate::data::{Data, summed};
use crate::error::{CodecError, check};
use crate::fletcher32;
#[cfg(feature = "gzip")]
use crate::gzip;
#[cfg(all(feature = "pure", not(feature = "zstd")))]
use crate::pure_zstd as zstd;
#[cfg(feature = "zstd")]
use crate::zstd;
#[cfg(feature = "zarrs")]
use crate::{bz2, foreign};

/// One codec that this build decodes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ChainCodec {
    #[cfg(any(feature = "pure", feature = "zstd"))]
    Zstd,
    #[cfg(feature = "gzip")]
    Gzip,
    #[cfg(feature = "gzip")]
    Zlib,
    #[cfg(feature = "blosc-frames")]
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
pub struct Chain(Vec<ChainCodec>);

impl Chain {
    /// The chain of these bytes-to-bytes codecs, in the order of the document.
    ///
    /// # Errors
    /// The name of the codec that cannot be decoded, and the reason if there is one.
    pub fn new(codecs: &[Codec]) -> Result<Self, String> {
        let mut steps = Vec::with_capacity(codecs.len());
        for codec in codecs {
            steps.push(match codec.name.as_str() {
                #[cfg(any(feature = "pure", feature = "zstd"))]
                "zstd" | "numcodecs.zstd" => ChainCodec::Zstd,
                #[cfg(feature = "gzip")]
                "gzip" | "numcodecs.gzip" => ChainCodec::Gzip,
                #[cfg(feature = "gzip")]
                "numcodecs.zlib" => ChainCodec::Zlib,
                #[cfg(feature = "zarrs")]
                "numcodecs.bz2" => ChainCodec::Bz2,
                #[cfg(feature = "zarrs")]
                name if foreign::NAMES.contains(&name) => {
                    ChainCodec::Foreign(foreign::Foreign::new(codec)?)
                }
                #[cfg(feature = "blosc-frames")]
                "blosc" | "numcodecs.blosc" => ChainCodec::Blosc,
                "crc32c" => ChainCodec::Crc32c,
                "numcodecs.fletcher32" => ChainCodec::Fletcher32,
                other => return Err(other.to_owned()),
            });
        }
        steps.reverse();
        Ok(Self(steps))
    }

    /// Decodes the bytes of one chunk.
    ///
    /// # Cost
    /// One allocation for each codec except crc32c and fletcher32.
    ///
    /// # Errors
    /// Bytes that the codecs did not write; more than `limit` decoded bytes, before memory is allocated for them.
    pub fn decode<'b>(&self, data: Data<'b>, limit: u64) -> Result<Data<'b>, CodecError> {
        let mut data = data;
        for step in &self.0 {
            data = match step {
                #[cfg(any(feature = "pure", feature = "zstd"))]
                ChainCodec::Zstd => Data::Shared(zstd::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "gzip")]
                ChainCodec::Gzip => Data::Shared(gzip::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "gzip")]
                ChainCodec::Zlib => Data::Shared(gzip::decode_zlib(data.as_slice(), limit)?.into()),
                #[cfg(feature = "zarrs")]
                ChainCodec::Bz2 => Data::Shared(bz2::decode(data.as_slice(), limit)?.into()),
                #[cfg(feature = "zarrs")]
                ChainCodec::Foreign(codec) => Data::Shared(codec.decode(data.as_slice())?.into()),
                #[cfg(feature = "blosc-frames")]
                ChainCodec::Blosc => Data::Shared(blosc::decode(data.as_slice(), limit)?.into()),
                ChainCodec::Crc32c => checked(data)?,
                ChainCodec::Fletcher32 => fletcher32::checked(data)?,
            };
        }
        check(
            u64::try_from(data.as_slice().len()).unwrap_or(u64::MAX),
            limit,
        )?;
        Ok(data)
    }

    /// Decodes a chunk of `whole` bytes whose first `keep` bytes are data; the rest is padding.
    ///
    /// Returns the whole chunk, unless it is larger than the limit and at most 1 GiB, and the first codec of the document is zstd, gzip, zlib, bz2 or
    /// blosc. Such a chunk is decoded and checked as a whole, but only its first `keep` bytes are held and returned.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), with the limit on the bytes that are held; in the first case also a chunk of another length than `whole`.
    pub fn decode_first<'b>(
        &self,
        data: Data<'b>,
        (keep, whole): (usize, u64),
        limit: u64,
    ) -> Result<Data<'b>, CodecError> {
        let kept = u64::try_from(keep).unwrap_or(u64::MAX);
        check(kept, limit)?;
        let Some((last, before)) = self.0.split_last().filter(|_| whole > limit) else {
            return self.decode(data, limit);
        };
        let first: Option<DecodeFirst> = match last {
            #[cfg(any(feature = "pure", feature = "zstd"))]
            ChainCodec::Zstd => Some(|data, keep, whole, _| zstd::decode_first(data, keep, whole)),
            #[cfg(feature = "gzip")]
            ChainCodec::Gzip => Some(|data, keep, whole, _| gzip::decode_first(data, keep, whole)),
            #[cfg(feature = "gzip")]
            ChainCodec::Zlib => {
                Some(|data, keep, whole, _| gzip::decode_zlib_first(data, keep, whole))
            }
            #[cfg(feature = "zarrs")]
            ChainCodec::Bz2 => Some(|data, keep, whole, _| bz2::decode_first(data, keep, whole)),
            #[cfg(feature = "blosc-frames")]
            ChainCodec::Blosc => Some(blosc::decode_first),
            _ => None,
        };
        let Some(first) = first.filter(|_| whole <= MOST_STREAMED) else {
            return self.decode(data, limit);
        };
        // Stored bytes are already in memory, so the limit on decoded bytes does not apply to them.
        let data = match before.is_empty() {
            true => data,
            false => Self(before.to_vec()).decode(data, limit)?,
        };
        let bytes = first(data.as_slice(), keep, whole, limit)?;
        Ok(Data::Shared(bytes.into()))
    }

    /// If the codec decoded last is Blosc, which has separate blocks: the chain of the codecs decoded before it.
    pub(crate) fn split_blocks(&self) -> Option<Self> {
        match self.0.split_last() {
            #[cfg(feature = "blosc-frames")]
            Some((ChainCodec::Blosc, before)) => Some(Self(before.to_vec())),
            _ => None,
        }
    }

    /// Whether there are no codecs, so that stored bytes are the decoded bytes.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }
}

/// Decodes the first `keep` of the `whole` bytes of a stream. The last argument limits the decoded bytes if the codec cannot stop early.
type DecodeFirst = fn(&[u8], usize, u64, u64) -> Result<Vec<u8>, CodecError>;

/// Most bytes of a chunk that are decoded to get its first bytes. Bounds the time for a malicious chunk.
const MOST_STREAMED: u64 = 1 << 30;

/// Compares the last four bytes with the CRC-32C of the rest, and removes them.
fn checked<'b>(data: Data<'b>) -> Result<Data<'b>, CodecError> {
    summed("crc32c", crc32c::crc32c, data)
}

#[cfg(test)]
mod tests {
    use super::checked;
    use crate::Data;

    #[cfg(all(feature = "zstd", feature = "gzip", feature = "encode"))]
    #[test]
    fn the_first_bytes_of_a_chunk_beyond_the_limit_are_read() {
        use crate::{Chain, CodecError, Compression};

        let text: Vec<u8> = (0..=255_u8).cycle().take(1 << 20).collect();
        let (whole, limit) = (1_u64 << 20, 8192);
        for compression in [
            Compression::default(),
            Compression::Checksum(Box::default()),
            Compression::Gzip(5),
            #[cfg(feature = "blosc")]
            Compression::Blosc(4),
            #[cfg(feature = "blosc")]
            Compression::Blosc(1),
        ] {
            let stored = compression.encode(text.clone()).unwrap();
            let chain = Chain::new(&compression.codecs()).unwrap();
            let first = |keep, whole, limit| {
                chain.decode_first(Data::Borrowed(&stored), (keep, whole), limit)
            };
            assert_eq!(first(1000, whole, limit).unwrap().as_slice(), &text[..1000]);
            // A result within the limit is returned whole.
            assert_eq!(first(1000, whole, whole).unwrap().as_slice(), text);
            assert!(matches!(
                first(9000, whole, limit),
                Err(CodecError::Limit { .. })
            ));
            for other in [whole - 1, whole + 1] {
                assert!(matches!(
                    first(10, other, limit),
                    Err(CodecError::Malformed(_))
                ));
            }
            let cut = stored.len() / 2;
            let cut = chain.decode_first(Data::Borrowed(&stored[..cut]), (10, whole), limit);
            assert!(cut.is_err(), "{compression:?}");
        }
    }

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
