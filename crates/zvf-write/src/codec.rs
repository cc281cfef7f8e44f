//! Bytes-to-bytes codecs: what is written in documents, and done to chunks.

use std::cell::RefCell;
use std::io::Write as _;

use serde_json::json;
use zstd::bulk::Compressor;
use zvf_meta::Codec;

use crate::WriteError;

/// How chunks are compressed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard at its default level, as the released writers do.
    #[default]
    Zstd,
    /// Zstandard at a level of 1 to 22.
    ZstdLevel(i32),
    /// gzip at a level of 0 to 9.
    Gzip(u32),
    /// Blosc-1 frames of zstd and bitshuffle, as the released writers make them. Needs the feature `blosc`.
    Blosc,
    /// Another compression, followed by a CRC-32C.
    Checksum(Box<Compression>),
}

impl Compression {
    pub(crate) fn check(&self) -> Result<(), WriteError> {
        let bad =
            |found: String, expected: &str| Err(WriteError::spec("compression", found, expected));
        match self {
            Self::None | Self::Zstd => Ok(()),
            Self::Blosc if cfg!(feature = "blosc") => Ok(()),
            Self::Blosc => bad(
                "blosc".to_owned(),
                "another one: this build lacks the feature `blosc`",
            ),
            Self::ZstdLevel(level) if (1..=22).contains(level) => Ok(()),
            Self::ZstdLevel(level) => bad(format!("zstd level {level}"), "1 to 22"),
            Self::Gzip(level) if *level <= 9 => Ok(()),
            Self::Gzip(level) => bad(format!("gzip level {level}"), "0 to 9"),
            Self::Checksum(inner) if matches!(**inner, Self::Checksum(_)) => {
                bad("a checksum of a checksum".to_owned(), "one checksum")
            }
            Self::Checksum(inner) => inner.check(),
        }
    }

    /// The codecs behind the array-to-bytes codec, in writing order.
    pub(crate) fn codecs(&self) -> Vec<Codec> {
        let codec = |name: &str, configuration| Codec {
            configuration,
            ..Codec::named(name)
        };
        match self {
            Self::None => Vec::new(),
            Self::Zstd => vec![codec("zstd", json!({"level": 0, "checksum": false}))],
            Self::ZstdLevel(level) => {
                vec![codec("zstd", json!({"level": level, "checksum": false}))]
            }
            Self::Gzip(level) => vec![codec("gzip", json!({"level": level}))],
            Self::Blosc => {
                let configuration = json!({
                    "typesize": 4, "cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0,
                });
                vec![codec("blosc", configuration)]
            }
            Self::Checksum(inner) => {
                let mut codecs = inner.codecs();
                codecs.push(Codec::named("crc32c"));
                codecs
            }
        }
    }

    /// The compression that has written these codecs; `None` for any other list. Where only the effort differs, that of
    /// this crate is as good: readers do not see it.
    pub(crate) fn of(codecs: &[Codec]) -> Option<Self> {
        let (last, before) = match codecs.split_last() {
            None => return Some(Self::None),
            Some(split) => split,
        };
        if last.name == "crc32c" && !before.iter().any(|codec| codec.name == "crc32c") {
            return Some(Self::Checksum(Box::new(Self::of(before)?)));
        }
        if !before.is_empty() {
            return None;
        }
        let number = |name: &str| {
            last.configuration
                .get(name)
                .and_then(serde_json::Value::as_i64)
        };
        let one = match last.name.as_str() {
            // A checksum inside of frames is not written here.
            "zstd" if last.configuration.get("checksum") != Some(&json!(true)) => {
                match number("level").and_then(|level| i32::try_from(level).ok()) {
                    Some(level) if (1..=22).contains(&level) => Self::ZstdLevel(level),
                    _ => Self::Zstd,
                }
            }
            "gzip" => Self::Gzip(u32::try_from(number("level").unwrap_or(6)).ok()?),
            "blosc" if *last == Self::Blosc.codecs().pop()? => Self::Blosc,
            _ => return None,
        };
        one.check().is_ok().then_some(one)
    }

    /// Applies the codecs to the bytes of one chunk.
    pub(crate) fn encode(&self, bytes: Vec<u8>) -> Result<Vec<u8>, WriteError> {
        let failed = |source| WriteError::io("compression", source);
        match self {
            Self::None => Ok(bytes),
            Self::Zstd => zstd(&bytes, 0).map_err(failed),
            Self::ZstdLevel(level) => zstd(&bytes, *level).map_err(failed),
            Self::Gzip(level) => {
                let level = flate2::Compression::new(*level);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(&bytes).map_err(failed)?;
                encoder.finish().map_err(failed)
            }
            Self::Blosc => blosc(bytes),
            Self::Checksum(inner) => {
                let mut bytes = inner.encode(bytes)?;
                let sum = crc32c::crc32c(&bytes);
                bytes.extend_from_slice(&sum.to_le_bytes());
                Ok(bytes)
            }
        }
    }
}

/// The encoder is that of the `zarrs` crate: it wraps the C library, and its frames are those of the released writers.
#[cfg(feature = "blosc")]
fn blosc(bytes: Vec<u8>) -> Result<Vec<u8>, WriteError> {
    use std::io::Error;
    use zarrs::array::codec::{
        BloscCodec, BloscCompressionLevel, BloscCompressor, BloscShuffleMode,
    };
    use zarrs::array::{BytesToBytesCodecTraits, CodecOptions};
    let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
        WriteError::io("compression", Error::other(source))
    };
    let level =
        BloscCompressionLevel::try_from(5_u8).map_err(|_| failed("a level of 0 to 9".into()))?;
    let codec = BloscCodec::new(
        BloscCompressor::Zstd,
        level,
        None,
        BloscShuffleMode::BitShuffle,
        Some(4),
    );
    let codec = codec.map_err(|error| failed(error.into()))?;
    let encoded = codec.encode(bytes.into(), &CodecOptions::default());
    Ok(encoded.map_err(|error| failed(error.into()))?.into_owned())
}

/// A specification that asks for it was refused.
#[cfg(not(feature = "blosc"))]
fn blosc(_: Vec<u8>) -> Result<Vec<u8>, WriteError> {
    Compression::Blosc.check().map(|()| Vec::new())
}

thread_local! {
    /// A context costs more to make than a small cell to compress.
    static CONTEXT: RefCell<Option<(i32, Compressor<'static>)>> = const { RefCell::new(None) };
}

fn zstd(bytes: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    CONTEXT.with_borrow_mut(|slot| {
        let context = match slot {
            Some((have, context)) if *have == level => context,
            _ => &mut slot.insert((level, Compressor::new(level)?)).1,
        };
        context.compress(bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::Compression;

    #[test]
    fn what_is_compressed_comes_back_by_the_libraries() {
        let text: Vec<u8> = (0..5000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let zstd = Compression::Zstd.encode(text.clone()).unwrap();
        assert_eq!(zstd.get(..4), Some(&[0x28, 0xb5, 0x2f, 0xfd][..]));
        assert_eq!(zstd::stream::decode_all(&zstd[..]).unwrap(), text);
        let gzip = Compression::Checksum(Box::new(Compression::Gzip(6)))
            .encode(text.clone())
            .unwrap();
        let (body, sum) = gzip.split_last_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*sum), crc32c::crc32c(body));
        let mut back = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(body), &mut back).unwrap();
        assert_eq!(back, text);
        assert_eq!(Compression::Blosc.check().is_ok(), cfg!(feature = "blosc"));
        assert!(Compression::Gzip(10).check().is_err());
        assert!(Compression::ZstdLevel(0).check().is_err());
    }

    #[test]
    fn a_list_of_codecs_is_known_again() {
        for one in [
            Compression::None,
            Compression::Zstd,
            Compression::ZstdLevel(7),
            Compression::Gzip(1),
            Compression::Checksum(Box::new(Compression::Zstd)),
            Compression::Checksum(Box::new(Compression::None)),
        ] {
            assert_eq!(Compression::of(&one.codecs()), Some(one));
        }
        let blosc = Compression::of(&Compression::Blosc.codecs());
        assert_eq!(blosc.is_some(), cfg!(feature = "blosc"));
        let twice = [Compression::Zstd.codecs(), Compression::Zstd.codecs()].concat();
        assert_eq!(Compression::of(&twice), None);
        assert_eq!(Compression::of(&[zvf_meta::Codec::named("lz77")]), None);
    }

    #[test]
    fn the_example_of_the_format_page() {
        // 0.9 §4.3: the zstd form of three 16-bit numbers.
        let bytes = Compression::Zstd.encode(vec![1, 0, 2, 0, 3, 0]).unwrap();
        assert_eq!(
            bytes,
            [
                0x28, 0xb5, 0x2f, 0xfd, 0x20, 6, 0x31, 0, 0, 1, 0, 2, 0, 3, 0
            ]
        );
    }
}
