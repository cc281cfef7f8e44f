//! Blosc-1 frames, as numcodecs writes them: one chunk of `zvf-blosc` a cell, with a short header.

#[cfg(feature = "encode")]
use std::cell::RefCell;

use zvf_blosc::{Chunk, Class, Codecs, DecodeError, SHORT};
#[cfg(feature = "encode")]
use zvf_blosc::{
    Codec as Library, EncodeError, Encoder, FirstFilter, Format, LastFilter, Settings,
};
#[cfg(all(feature = "encode", any(feature = "zarrs", test)))]
use zvf_meta::Codec;

use crate::error::{CodecError, check};

/// The version that every Blosc-1 library writes; Blosc2 has higher ones.
const VERSION: u8 = 2;

/// Decompresses one frame.
pub(crate) fn decode(frame: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    // What is too large is said to be that, whatever else is wrong with it.
    if let Some(claimed) = frame.get(4..8).and_then(<[u8]>::first_chunk) {
        check(u64::from(u32::from_le_bytes(*claimed)), limit)?;
    }
    let chunk = parse(frame)?;
    let header = chunk.header();
    chunk
        .decode_vec(header.typesize(), header.nbytes(), &mut Codecs::new())
        .map_err(failed)
}

/// Most bytes of a block that is decoded for the sake of the first bytes of a frame, whatever the limit: C-Blosc makes them as large as
/// the cache of a core.
const MOST_BLOCK: u64 = 2 << 20;

/// The first `keep` of `whole` bytes; all blocks are decompressed. Where blocks are larger than the limit and than usual,
/// the whole frame is decoded, within the limit.
pub(crate) fn decode_first(
    frame: &[u8],
    keep: usize,
    whole: u64,
    limit: u64,
) -> Result<Vec<u8>, CodecError> {
    let chunk = parse(frame)?;
    let header = chunk.header();
    let wide = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    if wide(header.nbytes()) != whole {
        let found = header.nbytes();
        let what = format!("blosc: {found} bytes found, expected {whole}");
        return Err(CodecError::malformed(what));
    }
    if wide(header.blocksize()) > limit.max(MOST_BLOCK) {
        return decode(frame, limit);
    }
    chunk
        .decode_first(header.typesize(), keep, &mut Codecs::new())
        .map_err(failed)
}

fn bad(what: impl std::fmt::Display) -> CodecError {
    CodecError::malformed(format!("blosc: {what}"))
}

fn failed(error: DecodeError) -> CodecError {
    match error.class() {
        Class::Unsupported => CodecError::Unsupported(format!("blosc: {error}")),
        // The limit was checked before: the frame claims more bytes than its own can decode to.
        _ => bad(error),
    }
}

fn parse(frame: &[u8]) -> Result<Chunk<'_>, CodecError> {
    let chunk = Chunk::parse(frame).map_err(bad)?;
    let header = chunk.header();
    if header.version() != VERSION || header.len() != SHORT {
        let found = header.version();
        return Err(bad(format_args!(
            "format version {found} found, expected {VERSION}"
        )));
    }
    if header.cbytes() != frame.len() {
        let (found, expected) = (frame.len(), header.cbytes());
        return Err(bad(format_args!(
            "{found} bytes found, expected {expected}"
        )));
    }
    Ok(chunk)
}

/// Bytes of a block where the configuration leaves them open: the block and what is made of it stay in the cache of a core.
#[cfg(feature = "encode")]
const BLOCK: usize = 128 << 10;

/// How frames are written, by the configuration of the codec in documents. The effort of `lz4` and `blosclz` is one of this crate's:
/// `clevel` 0 stores the bytes, all others are the same. `lz4hc` is written as `lz4`, which readers do not tell apart.
///
/// # Errors
/// A member that is missing or has a value that the codec does not take.
#[cfg(all(feature = "encode", any(feature = "zarrs", test)))]
pub(crate) fn settings(codec: &Codec) -> Result<Settings, String> {
    let member = |name: &str| codec.configuration.get(name).filter(|one| !one.is_null());
    let number = |name: &str, legal: std::ops::RangeInclusive<u64>, default: Option<u64>| {
        let found = match member(name) {
            Some(found) => found.as_u64().filter(|found| legal.contains(found)),
            None => default,
        };
        let found = found.and_then(|found| usize::try_from(found).ok());
        found.ok_or_else(|| {
            let found = member(name).map_or_else(|| "none".to_owned(), ToString::to_string);
            let (low, high) = (legal.start(), legal.end());
            format!("{name}: found {found}, expected {low} to {high}")
        })
    };
    let word = |name: &str, expected: &str| {
        let found = member(name).map_or_else(|| "none".to_owned(), ToString::to_string);
        format!("{name}: found {found}, expected {expected}")
    };
    let last = match member("shuffle").and_then(|shuffle| shuffle.as_str()) {
        Some("noshuffle") => LastFilter::None,
        Some("shuffle") => LastFilter::Shuffle,
        Some("bitshuffle") => LastFilter::BitShuffle,
        _ => return Err(word("shuffle", "noshuffle, shuffle or bitshuffle")),
    };
    let default = (last == LastFilter::None).then_some(1);
    let typesize = number("typesize", 1..=255, default)?;
    let effort = number("clevel", 0..=9, None)?;
    let (library, level) = match member("cname").and_then(|cname| cname.as_str()) {
        Some("blosclz") => (Library::BloscLz, 0),
        Some("lz4" | "lz4hc") => (Library::Lz4, 0),
        Some("snappy") => (Library::Snappy, 0),
        Some("zlib") => (Library::Zlib, effort),
        // The levels that C-Blosc takes.
        Some("zstd") if effort == 9 => (Library::Zstd, 22),
        Some("zstd") => (Library::Zstd, (2 * effort).saturating_sub(1)),
        _ => return Err(word("cname", "blosclz, lz4, lz4hc, snappy, zlib or zstd")),
    };
    let block = match number("blocksize", 0..=1 << 30, Some(0))? {
        0 => BLOCK,
        block => block,
    };
    let mut settings = Settings::new(typesize, (block / typesize).max(1) * typesize)
        .with_format(Format::Blosc1)
        .with_codec((effort > 0).then_some(library))
        .with_filters(FirstFilter::None, last);
    settings.level = i32::try_from(level).map_err(|_| format!("clevel: found {effort}"))?;
    Encoder::new(settings).map_err(|error| error.to_string())?;
    Ok(settings)
}

/// How [`Compression::Blosc`](crate::Compression::Blosc) writes frames of items of so many bytes.
#[cfg(feature = "encode")]
pub(crate) fn of_items(items: u8) -> Settings {
    let width = usize::from(items.max(1));
    let (library, level, last) = match items {
        1 => (Library::Zstd, 9, LastFilter::None),
        _ => (Library::Lz4, 0, LastFilter::Shuffle),
    };
    let mut settings = Settings::new(width, BLOCK / width * width)
        .with_format(Format::Blosc1)
        .with_codec(Some(library))
        .with_filters(FirstFilter::None, last);
    settings.level = level;
    settings
}

#[cfg(feature = "encode")]
thread_local! {
    /// The encoder that was used last: its buffers and libraries cost more to make than a small cell to compress.
    static LAST: RefCell<Option<Encoder>> = const { RefCell::new(None) };
}

/// Compresses the bytes of one chunk to a frame.
///
/// # Errors
/// More bytes than a frame holds; a library that fails.
#[cfg(feature = "encode")]
pub(crate) fn encode(settings: Settings, bytes: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let last = LAST.take().filter(|last| *last.settings() == settings);
    let mut encoder = match last {
        Some(encoder) => encoder,
        None => Encoder::new(settings)?,
    };
    let mut frame = Vec::new();
    encoder.encode(bytes, &mut frame)?;
    LAST.set(Some(encoder));
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::decode;
    use crate::CodecError;

    const CAP: u64 = 1 << 20;

    #[test]
    fn plain_copies_are_read() {
        let mut frame = vec![2, 1, 0x02, 4, 5, 0, 0, 0, 5, 0, 0, 0, 21, 0, 0, 0];
        frame.extend(b"hello");
        assert_eq!(decode(&frame, CAP).unwrap(), b"hello");
        for end in 0..frame.len() {
            assert!(decode(&frame[..end], CAP).is_err());
        }
    }

    #[test]
    fn claims_are_checked_against_the_limit_and_the_frame() {
        let mut frame = vec![
            2, 1, 0x90, 4, 255, 255, 255, 127, 0, 1, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert!(matches!(decode(&frame, CAP), Err(CodecError::Limit { .. })));
        frame[4..8].copy_from_slice(&[0, 0, 8, 0]);
        assert!(matches!(decode(&frame, CAP), Err(CodecError::Malformed(_))));
    }

    /// Frames that numcodecs 0.16.6 (C-Blosc) made of these bytes, cut to whole items: library, shuffle, size of items, size of blocks, bytes, bytes of
    /// the frame.
    #[test]
    fn frames_of_c_blosc_are_read() {
        let bytes: Vec<u8> = (0..3000_u32)
            .map(|i| (i / 7).to_le_bytes()[0])
            .chain((0..72_u32).map(|i| ((i * i * 31 + 7) % 251).to_le_bytes()[0]))
            .collect();
        let mut rest = &include_bytes!("../testdata/blosc.bin")[..];
        let index: Vec<(String, u8, usize, usize, usize, usize)> =
            serde_json::from_str(include_str!("../testdata/blosc.json")).unwrap();
        assert_eq!(index.len(), 120);
        for one in index {
            let (frame, more) = rest.split_at(one.5);
            assert_eq!(decode(frame, CAP).unwrap(), bytes[..one.4], "{one:?}");
            rest = more;
        }
        assert!(rest.is_empty());
    }

    #[cfg(feature = "encode")]
    fn codec(configuration: serde_json::Value) -> zvf_meta::Codec {
        zvf_meta::Codec {
            configuration,
            ..zvf_meta::Codec::named("blosc")
        }
    }

    #[cfg(feature = "encode")]
    #[test]
    fn frames_of_every_configuration_come_back() {
        let text: Vec<u8> = (0..50_000_u32)
            .flat_map(|i| (i / 7).to_le_bytes())
            .collect();
        for cname in ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"] {
            for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
                for (clevel, blocksize) in [(0, 0), (1, 1000), (5, 0), (9, 1 << 20)] {
                    let configuration = serde_json::json!({
                        "typesize": 4, "cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize,
                    });
                    let settings = super::settings(&codec(configuration)).unwrap();
                    for bytes in [&text[..], &text[..13], &[]] {
                        let frame = super::encode(settings, bytes).unwrap();
                        assert_eq!(decode(&frame, CAP).unwrap(), bytes, "{cname} {shuffle}");
                        assert!(clevel == 0 || bytes.len() < 100 || frame.len() < bytes.len() / 2);
                    }
                }
            }
        }
    }

    #[cfg(feature = "encode")]
    #[test]
    fn documents_state_what_is_written() {
        for items in [1, 2, 3, 4, 8, 255] {
            let codecs = crate::Compression::Blosc(items).codecs();
            assert_eq!(super::settings(&codecs[0]), Ok(super::of_items(items)));
        }
    }

    #[cfg(feature = "encode")]
    #[test]
    fn configurations_that_cannot_be_are_refused() {
        let good = serde_json::json!({
            "typesize": 4, "cname": "zstd", "clevel": 5, "shuffle": "shuffle", "blocksize": 0,
        });
        assert!(super::settings(&codec(good.clone())).is_ok());
        for (name, value) in [
            ("typesize", serde_json::json!(0)),
            ("typesize", serde_json::json!(u32::MAX)),
            ("typesize", serde_json::Value::Null),
            ("cname", serde_json::json!("lzma")),
            ("clevel", serde_json::json!(10)),
            ("shuffle", serde_json::json!(1)),
            ("blocksize", serde_json::json!(1_u64 << 31)),
        ] {
            let mut configuration = good.clone();
            configuration[name] = value;
            let found = super::settings(&codec(configuration)).unwrap_err();
            assert!(found.starts_with(name), "{found}");
        }
    }
}
