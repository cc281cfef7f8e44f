//! Bytes-to-bytes codecs: their documents, and the encoding of chunks.

use std::cell::RefCell;
use std::io::{Error, Write as _};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use zstd::bulk::Compressor;
use zvf_meta::Codec;

#[cfg(not(feature = "zarrs"))]
use crate::names;
#[cfg(feature = "zarrs")]
use crate::pipeline;
use crate::{BloscFrames, Chain, CodecError, blosc};

/// How chunks are compressed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    None,
    /// Writers [choose](Self::chosen) the codec of each array from a sample of its cells. Without a sample, as [`Zstd`](Self::Zstd).
    Auto,
    /// Zstandard at its default level, as the released writers do.
    #[default]
    Zstd,
    /// Zstandard at a level of at most 22; 0 is the library's default, negative levels are faster.
    ZstdLevel(i32),
    /// gzip at a level of 0 to 9.
    Gzip(u32),
    /// Blosc-1 frames of items of this many bytes: LZ4 over shuffled bytes, or Zstandard for items of one byte. Decodes several times faster than
    /// Zstandard alone, which takes most of the time of a scan. Writers use the item size of each array: see [`of_items`](Self::of_items).
    Blosc(u8),
    /// Blosc-1 frames with all settings stated.
    Frames(BloscFrames),
    /// Another compression, followed by a CRC-32C.
    Checksum(Box<Compression>),
    /// Any other list of bytes-to-bytes codecs that the `zarrs` crate has, in writing order, as in documents: see [`from_codecs`](Self::from_codecs).
    /// Requires the feature `zarrs`.
    Pipeline(Vec<Codec>),
}

impl Serialize for Compression {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if *self == Self::Auto {
            return to.serialize_str("auto");
        }
        let codecs = self.codecs().into_iter();
        to.collect_seq(codecs.map(|one| (one.name, one.configuration, one.extra)))
    }
}

impl Compression {
    /// Parses a list of codecs as in the documents of arrays, without the first one, the array-to-bytes codec (`vlen-bytes` or `bytes`): such as
    /// `[{"name": "numcodecs.zlib", "configuration": {"level": 5}}, "crc32c"]`.
    ///
    /// Codecs that this crate implements become their own variant. Others become a [`Pipeline`](Self::Pipeline), whose codecs are created and tested
    /// on some bytes.
    ///
    /// # Errors
    /// Misuse: not a list of codecs; a codec that this build does not have, that does not accept its configuration, or that is not a bytes-to-bytes
    /// codec.
    ///
    /// Source: 0.9 §4.3.
    pub fn from_codecs(codecs: Value) -> Result<Self, CodecError> {
        let mut codecs = Codec::list(codecs)
            .map_err(|error| CodecError::specification(error.to_string(), "codecs"))?;
        // zarr-python requires a configuration of all codecs except crc32c, even if it is empty.
        for codec in codecs.iter_mut().filter(|codec| codec.name != "crc32c") {
            if codec.configuration.is_null() {
                codec.configuration = json!({});
            }
        }
        let found = Self::known(&codecs).unwrap_or(Self::Pipeline(codecs));
        found.check().map(|()| found)
    }

    /// Checks levels and sizes, and that this build has the codecs.
    ///
    /// # Errors
    /// [`CodecError::Specification`].
    pub fn check(&self) -> Result<(), CodecError> {
        let bad = |found: String, expected: &str| Err(CodecError::specification(found, expected));
        match self {
            Self::None | Self::Zstd | Self::Auto => Ok(()),
            Self::Frames(frames) => frames.check(),
            Self::Blosc(0) => bad("blosc of items of 0 bytes".to_owned(), "1 to 255"),
            Self::Blosc(_) => Ok(()),
            Self::ZstdLevel(level) if zstd::compression_level_range().contains(level) => Ok(()),
            Self::ZstdLevel(level) => bad(format!("zstd level {level}"), "at most 22"),
            Self::Gzip(level) if *level <= 9 => Ok(()),
            Self::Gzip(level) => bad(format!("gzip level {level}"), "0 to 9"),
            Self::Checksum(inner) if matches!(**inner, Self::Checksum(_)) => {
                bad("a checksum of a checksum".to_owned(), "one checksum")
            }
            Self::Checksum(inner) => inner.check(),
            #[cfg(feature = "zarrs")]
            Self::Pipeline(codecs) => pipeline::check(codecs)
                .map_err(|why| CodecError::specification(why, "codecs of this build")),
            #[cfg(not(feature = "zarrs"))]
            Self::Pipeline(codecs) => bad(
                names(codecs),
                "none, zstd, gzip, blosc or crc32c: this build lacks the feature `zarrs`",
            ),
        }
    }

    /// The same compression for an array of items of `bytes` bytes.
    #[must_use]
    pub fn of_items(&self, bytes: usize) -> Self {
        match (self, u8::try_from(bytes)) {
            (Self::Blosc(_), Ok(items @ 1..)) => Self::Blosc(items),
            (Self::Frames(frames), Ok(items @ 1..)) => Self::Frames(frames.of_items(items)),
            (Self::Checksum(inner), _) => Self::Checksum(Box::new(inner.of_items(bytes))),
            _ => self.clone(),
        }
    }

    /// Whether [`Chain`] decodes these codecs. Cells that are arrays of their own require it, because the generic reader cannot read them.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        Chain::new(&self.codecs()).is_ok()
    }

    /// The codecs after the array-to-bytes codec, in writing order.
    #[must_use]
    pub fn codecs(&self) -> Vec<Codec> {
        let codec = |name: &str, configuration| Codec {
            configuration,
            ..Codec::named(name)
        };
        match self {
            Self::None => Vec::new(),
            Self::Zstd | Self::Auto => vec![codec("zstd", json!({"level": 0, "checksum": false}))],
            Self::Frames(frames) => vec![codec("blosc", frames.configuration())],
            Self::ZstdLevel(level) => {
                vec![codec("zstd", json!({"level": level, "checksum": false}))]
            }
            Self::Gzip(level) => vec![codec("gzip", json!({"level": level}))],
            Self::Blosc(items) => {
                let (library, shuffle) = match items {
                    1 => ("zstd", "noshuffle"),
                    _ => ("lz4", "shuffle"),
                };
                let configuration = json!({
                    "typesize": items, "cname": library, "clevel": 5, "shuffle": shuffle, "blocksize": 0,
                });
                vec![codec("blosc", configuration)]
            }
            Self::Checksum(inner) => {
                let mut codecs = inner.codecs();
                codecs.push(Codec::named("crc32c"));
                codecs
            }
            Self::Pipeline(codecs) => codecs.clone(),
        }
    }

    /// The compression of an array whose first codec is `first`. `None` if the first codec is another one, or if this build cannot write the codecs
    /// after it.
    #[must_use]
    pub fn behind(first: &str, codecs: &[Codec]) -> Option<Self> {
        let (codec, rest) = codecs.split_first()?;
        (codec.name == first).then(|| Self::of(rest))?
    }

    /// The compression that writes these codecs; `None` for a list that this build cannot write. The level may differ, because readers do not depend
    /// on it.
    #[must_use]
    pub fn of(codecs: &[Codec]) -> Option<Self> {
        let found = Self::known(codecs).unwrap_or_else(|| Self::Pipeline(codecs.to_vec()));
        found.check().is_ok().then_some(found)
    }

    /// The compression, other than a pipeline, that writes these codecs.
    fn known(codecs: &[Codec]) -> Option<Self> {
        let (last, before) = match codecs.split_last() {
            None => return Some(Self::None),
            Some(split) => split,
        };
        if last.name == "crc32c" && !before.iter().any(|codec| codec.name == "crc32c") {
            return Some(Self::Checksum(Box::new(Self::known(before)?)));
        }
        if !before.is_empty() {
            return None;
        }
        // Stated levels are integers.
        let level = match last.configuration.get("level") {
            Some(level) => Some(level.as_i64()?),
            None => None,
        };
        let one = match last.name.as_str() {
            // Frames with an internal checksum are not written here.
            "zstd" if last.configuration.get("checksum") != Some(&json!(true)) => match level {
                None | Some(0) => Self::Zstd,
                Some(level) => Self::ZstdLevel(i32::try_from(level).ok()?),
            },
            "gzip" => Self::Gzip(level.map_or(Ok(6), u32::try_from).ok()?),
            "blosc" => {
                let items = last.configuration.get("typesize")?.as_u64()?;
                let found = [
                    Some(Self::Blosc(u8::try_from(items).ok()?)),
                    BloscFrames::of(&last.configuration).map(Self::Frames),
                ];
                let same = |one: &Self| one.codecs().pop().is_some_and(|codec| codec == *last);
                found.into_iter().flatten().find(same)?
            }
            _ => return None,
        };
        one.check().is_ok().then_some(one)
    }

    /// Applies the codecs to the bytes of one chunk.
    ///
    /// # Errors
    /// [`CodecError::Library`] if a library fails; a compression that [`check`](Self::check) refuses.
    pub fn encode(&self, bytes: Vec<u8>) -> Result<Vec<u8>, CodecError> {
        let failed = |source| CodecError::Library(source);
        match self {
            Self::None => Ok(bytes),
            Self::Zstd | Self::Auto => zstd(&bytes, 0).map_err(failed),
            Self::ZstdLevel(level) => zstd(&bytes, *level).map_err(failed),
            Self::Gzip(level) => {
                let level = flate2::Compression::new(*level);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(&bytes).map_err(failed)?;
                encoder.finish().map_err(failed)
            }
            Self::Blosc(items) => blosc::encode(blosc::of_items(*items), &bytes)
                .map_err(|error| failed(Error::other(error))),
            Self::Frames(frames) => frames
                .encode(&bytes)
                .map_err(|error| failed(Error::other(error))),
            #[cfg(feature = "zarrs")]
            Self::Pipeline(codecs) => pipeline::encode(codecs, bytes),
            // `check` refuses this variant.
            #[cfg(not(feature = "zarrs"))]
            Self::Pipeline(_) => self.check().map(|()| Vec::new()),
            Self::Checksum(inner) => {
                let mut bytes = inner.encode(bytes)?;
                let sum = crc32c::crc32c(&bytes);
                bytes.extend_from_slice(&sum.to_le_bytes());
                Ok(bytes)
            }
        }
    }
}

thread_local! {
    /// The last compressor and its level: creating a compressor costs more than compressing a small cell.
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
    use crate::{BloscFrames, BloscLibrary};

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
        assert!(Compression::Blosc(4).check().is_ok());
        assert!(Compression::Gzip(10).check().is_err());
        assert!(Compression::ZstdLevel(23).check().is_err());
    }

    #[test]
    fn a_list_of_codecs_is_known_again() {
        for one in [
            Compression::None,
            Compression::Zstd,
            Compression::ZstdLevel(7),
            Compression::ZstdLevel(-5),
            Compression::Gzip(1),
            Compression::Checksum(Box::new(Compression::Zstd)),
            Compression::Checksum(Box::new(Compression::None)),
        ] {
            assert_eq!(Compression::of(&one.codecs()), Some(one));
        }
        let blosc = Compression::of(&Compression::Blosc(8).codecs());
        assert_eq!(blosc, Some(Compression::Blosc(8)));
        for library in [BloscLibrary::Lz4, BloscLibrary::Zstd] {
            for items in [1, 12] {
                // Documents state the bytes of whole items.
                let block = (16 << 10) / 12 * 12;
                let frames = Compression::Frames(BloscFrames {
                    library,
                    items,
                    block,
                });
                assert_eq!(Compression::of(&frames.codecs()), Some(frames));
            }
        }
        let twice = [Compression::Zstd.codecs(), Compression::Zstd.codecs()].concat();
        assert_eq!(Compression::of(&twice).is_some(), cfg!(feature = "zarrs"));
        assert_eq!(Compression::of(&[zvf_meta::Codec::named("lz77")]), None);
    }

    #[test]
    fn codecs_that_cannot_be_are_refused_by_their_names() {
        use serde_json::json;
        let told = |codecs| Compression::from_codecs(codecs).unwrap_err().to_string();
        let unknown = told(json!([{"name": "numcodecs.lz77", "configuration": {}}]));
        assert!(unknown.contains("numcodecs.lz77"), "{unknown}");
        let level = |name: &str, level| json!([{"name": name, "configuration": {"level": level}}]);
        for wrong in [
            json!("zstd"),
            json!([7]),
            json!([{"configuration": {}}]),
            level("zstd", json!(23)),
            level("zstd", json!("high")),
            level("gzip", json!(10)),
            level("gzip", json!(-1)),
        ] {
            told(wrong);
        }
        assert_eq!(
            Compression::from_codecs(json!(["zstd", "crc32c"])).unwrap(),
            Compression::Checksum(Box::new(Compression::Zstd))
        );
    }

    #[cfg(feature = "zarrs")]
    #[test]
    fn pipelines_are_those_of_the_libraries() {
        use serde_json::json;
        let of = |codecs| Compression::from_codecs(codecs).unwrap();
        let text: Vec<u8> = (0..5000_u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let shuffled = json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}});
        let zlib = json!({"name": "numcodecs.zlib", "configuration": {"level": 5}});
        let encoded = of(json!([shuffled, zlib])).encode(text.clone()).unwrap();
        let mut planes = Vec::new();
        std::io::Read::read_to_end(
            &mut flate2::read::ZlibDecoder::new(&encoded[..]),
            &mut planes,
        )
        .unwrap();
        let plane = |at: usize| text.iter().skip(at).step_by(4);
        assert!(planes.iter().eq((0..4).flat_map(plane)));
        let summed = json!([{"name": "zstd", "configuration": {"level": 3, "checksum": true}}]);
        let frame = of(summed).encode(text.clone()).unwrap();
        // The descriptor of a frame states whether a checksum follows.
        assert_eq!(frame[4] & 4, 4);
        assert_eq!(zstd::stream::decode_all(&frame[..]).unwrap(), text);
        let fletcher32 = of(json!(["numcodecs.fletcher32"]));
        assert_eq!(fletcher32.codecs()[0].configuration, json!({}));
        let bytes = fletcher32.encode(text.clone()).unwrap();
        assert_eq!(bytes.len(), text.len() + 4);
        for (wrong, word) in [
            (
                json!({"name": "transpose", "configuration": {"order": [0]}}),
                "transpose",
            ),
            (
                json!({"name": "bytes", "configuration": {"endian": "little"}}),
                "bytes",
            ),
            (
                json!({"name": "numcodecs.zlib", "configuration": {"level": 77}}),
                "numcodecs.zlib",
            ),
            (
                json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 0}}),
                "numcodecs.shuffle",
            ),
        ] {
            let told = Compression::from_codecs(json!([wrong]))
                .unwrap_err()
                .to_string();
            assert!(told.contains(word), "{told}");
        }
    }

    /// Documents of stores by other writers can contain anything.
    #[cfg(feature = "zarrs")]
    #[test]
    fn configurations_of_any_size_are_codecs_or_refused() {
        use serde_json::json;
        let sizes = [0, 1, 7, 255, 256, 65_537, i64::from(i32::MAX), i64::MAX, -1];
        for size in sizes {
            for (name, configuration) in [
                (
                    "blosc",
                    json!({"typesize": size, "cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "blocksize": 0}),
                ),
                (
                    "blosc",
                    json!({"typesize": size, "cname": "lz4", "clevel": 1, "shuffle": "shuffle", "blocksize": 0}),
                ),
                (
                    "blosc",
                    json!({"typesize": 4, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": size}),
                ),
                (
                    "blosc",
                    json!({"typesize": 4, "cname": "zlib", "clevel": size, "shuffle": "noshuffle", "blocksize": 0}),
                ),
                ("zstd", json!({"level": size, "checksum": true})),
                ("numcodecs.bz2", json!({"level": size})),
                ("numcodecs.zlib", json!({"level": size})),
                ("numcodecs.shuffle", json!({"elementsize": size})),
            ] {
                let codecs = json!([{"name": name, "configuration": configuration}]);
                if let Ok(one) = Compression::from_codecs(codecs) {
                    let encoded = one.encode(vec![7; 4096]);
                    assert!(
                        encoded.is_ok_and(|bytes| !bytes.is_empty()) || name == "numcodecs.shuffle"
                    );
                }
            }
        }
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
