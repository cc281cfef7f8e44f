//! Blosc-1 frames, as numcodecs writes them: each cell is one chunk of `zvf-blosc`, with a short header.

use std::cell::RefCell;
use std::ops::Range;

use zvf_blosc::stream::{BlockContext, Streams, decode_block};
use zvf_blosc::{BlockTable, Body, Chunk, Class, Codecs, DecodeError, Header, Pipeline, SHORT};
#[cfg(feature = "encode")]
use zvf_blosc::{
    Codec as Library, EncodeError, Encoder, FirstFilter, Generation, LastFilter, Settings,
};
#[cfg(all(feature = "encode", any(feature = "zarrs", test)))]
use zvf_meta::Codec;

use crate::error::{CodecError, check};
use crate::stored::{StoredBytes, wide};

/// The version that every Blosc-1 library writes; Blosc2 has higher ones.
const VERSION: u8 = 2;

/// The bit of a header's flags that C-Blosc reserves: it refuses frames with this bit. C-Blosc2 marks its delta filter with it.
const RESERVED: u8 = 0x08;

/// Decompresses one frame.
pub(crate) fn decode(frame: &[u8], limit: u64) -> Result<Vec<u8>, CodecError> {
    check_claim(frame, limit)?;
    let chunk = parse(frame)?;
    let header = chunk.header();
    for (block, extent) in extents(header, chunk.table())?.iter().enumerate() {
        let bytes = frame.get(extent.clone());
        check_streams(header, block, bytes.ok_or_else(short)?)?;
    }
    with_codecs(|codecs| chunk.decode_vec(header.typesize(), header.nbytes(), codecs))
        .map_err(failed)
}

thread_local! {
    /// The most recently used codecs: creating the state of zstd costs more than decoding a block.
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs::new());
}

fn with_codecs<R>(work: impl FnOnce(&mut Codecs) -> R) -> R {
    let mut codecs = CODECS.take();
    let done = work(&mut codecs);
    CODECS.set(codecs);
    done
}

/// The stored bytes of each block of a compressed frame: from its start to the next block or the end of the frame.
///
/// # Errors
/// Malformed: a start outside of the frame, two blocks that start at the same byte.
fn extents(header: &Header, table: &BlockTable<'_>) -> Result<Vec<Range<usize>>, CodecError> {
    let mut starts = Vec::with_capacity(table.len());
    for block in 0..table.len() {
        starts.push((table.start(block).map_err(bad)?, block));
    }
    starts.sort_unstable();
    let mut extents = vec![0..0; starts.len()];
    let ends = starts.iter().skip(1).map(|(start, _)| *start);
    for ((start, block), end) in starts.iter().zip(ends.chain([header.cbytes()])) {
        if *start == end {
            return Err(bad(format_args!("two blocks start at byte {start}")));
        }
        if let Some(extent) = extents.get_mut(*block) {
            *extent = *start..end;
        }
    }
    Ok(extents)
}

/// Checks that the streams of a block are its stored bytes, neither more nor fewer.
fn check_streams(header: &Header, block: usize, bytes: &[u8]) -> Result<(), CodecError> {
    let mut streams = Streams::new(header, block, bytes).map_err(bad)?;
    while streams.take().map_err(bad)?.is_some() {}
    if streams.taken() != bytes.len() {
        let (found, expected) = (streams.taken(), bytes.len());
        return Err(bad(format_args!(
            "{found} bytes of streams found in block {block}, expected {expected}"
        )));
    }
    Ok(())
}

/// A frame whose blocks are decoded separately.
#[derive(Debug)]
pub(crate) struct BloscBlocks {
    header: Header,
    pipeline: Option<Pipeline>,
    /// The result of [`extents`]; empty if the frame stores plain bytes.
    extents: Vec<Range<usize>>,
    /// Number and decoded bytes of the block that was decoded last.
    last: Option<(usize, Vec<u8>)>,
    scratch: Vec<u8>,
}

/// Bytes that are read from a frame for its header and, in most frames, its block table.
const HEAD: usize = 512;

impl BloscBlocks {
    /// Reads header and block table.
    ///
    /// # Errors
    /// Malformed: damaged header or block table; limit: more decoded bytes than `limit`, or than the stored bytes can produce.
    pub(crate) fn open(stored: &StoredBytes, limit: u64) -> Result<Self, CodecError> {
        let mut head = stored.get(0..HEAD)?;
        let header = parse_header(&head, stored.len(), limit)?;
        let end = header.table_end();
        if end > head.len() {
            head = stored.get(0..end)?;
        }
        let table = BlockTable::parse(&header, &head).map_err(bad)?;
        let compressed = header.body() == Body::Compressed;
        Ok(Self {
            pipeline: compressed
                .then(|| header.pipeline(header.typesize()))
                .transpose()
                .map_err(failed)?,
            extents: extents(&header, &table)?,
            header,
            last: None,
            scratch: Vec::new(),
        })
    }

    /// Number of decoded bytes.
    pub(crate) fn decoded(&self) -> usize {
        self.header.nbytes()
    }

    /// Whether ascending ranges intersect at least three quarters of the blocks, or, in a frame that stores plain bytes, cover at least half of its bytes.
    pub(crate) fn is_most(&self, ranges: impl Iterator<Item = Range<usize>>) -> bool {
        let size = self.header.blocksize().max(1);
        if self.pipeline.is_none() {
            return ranges.map(|range| range.len()).sum::<usize>() >= self.decoded() / 2;
        }
        // The next block that is not counted yet.
        let (mut next, mut count) = (0, 0_usize);
        for range in ranges.filter(|range| !range.is_empty()) {
            let first = (range.start / size).max(next);
            next = next.max(range.end.div_ceil(size));
            count = count.saturating_add(next.saturating_sub(first));
        }
        count.saturating_mul(4) >= self.extents.len().saturating_mul(3)
    }

    /// Appends the decoded bytes of a range inside the frame.
    ///
    /// # Errors
    /// Malformed: a damaged block. I/O.
    pub(crate) fn read(
        &mut self,
        stored: &StoredBytes,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        if self.pipeline.is_none() {
            let start = self.header.len().saturating_add(range.start);
            let plain = stored.get(start..start.saturating_add(range.len()))?;
            if plain.len() != range.len() {
                return Err(short());
            }
            out.extend_from_slice(&plain);
            return Ok(());
        }
        let size = self.header.blocksize().max(1);
        let mut at = range.start;
        while at < range.end {
            let block = at / size;
            let from = at % size;
            let until = size.min(range.end - block * size);
            let part = self.block(stored, block)?.get(from..until);
            out.extend_from_slice(part.ok_or_else(short)?);
            at = block * size + until;
        }
        Ok(())
    }

    /// Decodes a block.
    fn block(&mut self, stored: &StoredBytes, block: usize) -> Result<&[u8], CodecError> {
        let known = matches!(&self.last, Some((last, _)) if *last == block);
        if !known {
            let mut decoded = self.last.take().map_or_else(Vec::new, |(_, bytes)| bytes);
            let missing = || bad(format_args!("the frame has no block {block}"));
            let extent = self.extents.get(block).ok_or_else(missing)?;
            let bytes = stored.get(extent.clone())?;
            if bytes.len() != extent.len() {
                return Err(short());
            }
            check_streams(&self.header, block, &bytes)?;
            let length = self.header.block_len(block);
            decoded.resize(length, 0);
            self.scratch.resize(length.max(self.scratch.len()), 0);
            let context = BlockContext {
                header: &self.header,
                pipeline: self.pipeline.as_ref().ok_or_else(missing)?,
                dictionary: None,
                // Only the delta filter needs it, and `check_header` refuses frames with that filter.
                reference: None,
            };
            let scratch = &mut self.scratch;
            with_codecs(|codecs| {
                decode_block(context, block, &bytes, &mut decoded, scratch, codecs)
            })
            .map_err(|error| failed(error.shifted(extent.start as u64)))?;
            self.last = Some((block, decoded));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

/// Most bytes of a block that is decoded to get the first bytes of a frame, regardless of the limit. C-Blosc makes blocks of the size of a core's
/// cache.
const MOST_BLOCK: u64 = 2 << 20;

/// The first `keep` of `whole` bytes; all blocks are decompressed. If a block exceeds both the limit and [`MOST_BLOCK`], the whole frame is decoded,
/// within the limit.
pub(crate) fn decode_first(
    frame: &[u8],
    keep: usize,
    whole: u64,
    limit: u64,
) -> Result<Vec<u8>, CodecError> {
    let chunk = parse(frame)?;
    let header = chunk.header();
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

fn short() -> CodecError {
    bad("the frame ends before its last block")
}

fn bad(what: impl std::fmt::Display) -> CodecError {
    CodecError::malformed(format!("blosc: {what}"))
}

fn failed(error: DecodeError) -> CodecError {
    match error.class() {
        Class::Unsupported => CodecError::Unsupported(format!("blosc: {error}")),
        // Not the caller's limit, which was checked before: the frame states more bytes than its stored bytes can decode to.
        _ => bad(error),
    }
}

fn parse(frame: &[u8]) -> Result<Chunk<'_>, CodecError> {
    let chunk = Chunk::parse(frame).map_err(bad)?;
    check_header(chunk.header(), wide(frame.len()))?;
    Ok(chunk)
}

/// Checks the header of a frame of `stored` bytes.
fn check_header(header: &Header, stored: u64) -> Result<(), CodecError> {
    if header.version() != VERSION || header.len() != SHORT {
        let found = header.version();
        return Err(bad(format_args!(
            "format version {found} found, expected {VERSION}"
        )));
    }
    if u64::try_from(header.cbytes()) != Ok(stored) {
        let expected = header.cbytes();
        return Err(bad(format_args!(
            "{stored} bytes found, expected {expected}"
        )));
    }
    if header.flags() & RESERVED != 0 {
        return Err(bad("the reserved bit 3 of the flags is set"));
    }
    Ok(())
}

/// Parses the header at the start of a frame of `stored` bytes.
fn parse_header(head: &[u8], stored: u64, limit: u64) -> Result<Header, CodecError> {
    check_claim(head, limit)?;
    let header = Header::parse(head).map_err(bad)?;
    check_header(&header, stored)?;
    header.possible(usize::MAX).map_err(bad)?;
    Ok(header)
}

/// Reports a size over the limit before other defects.
fn check_claim(frame: &[u8], limit: u64) -> Result<(), CodecError> {
    match frame.get(4..8).and_then(<[u8]>::first_chunk) {
        Some(claimed) => check(u64::from(u32::from_le_bytes(*claimed)), limit),
        None => Ok(()),
    }
}

/// Bytes of a block if the configuration does not state them: a block and its decoded bytes stay in the cache of a core.
#[cfg(feature = "encode")]
const BLOCK: usize = 16 << 10;

/// The settings of frames, from the configuration of the codec in documents. For `lz4` and `blosclz`, `clevel` 0 stores the bytes, and this crate
/// treats all other levels alike. `lz4hc` is written as `lz4`; readers do not distinguish them.
///
/// # Errors
/// A member that is missing, or whose value the codec does not support.
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
        // The levels that C-Blosc uses.
        Some("zstd") if effort == 9 => (Library::Zstd, 22),
        Some("zstd") => (Library::Zstd, (2 * effort).saturating_sub(1)),
        _ => return Err(word("cname", "blosclz, lz4, lz4hc, snappy, zlib or zstd")),
    };
    let block = match number("blocksize", 0..=1 << 30, Some(0))? {
        0 => BLOCK,
        block => block,
    };
    let mut settings = Settings::new(typesize, (block / typesize).max(1) * typesize)
        .with_format(Generation::Blosc1)
        .with_codec((effort > 0).then_some(library))
        .with_filters(FirstFilter::None, last);
    settings.level = i32::try_from(level).map_err(|_| format!("clevel: found {effort}"))?;
    Encoder::new(settings).map_err(|error| error.to_string())?;
    Ok(settings)
}

/// The settings of [`Compression::Blosc`](crate::Compression::Blosc) for items of `items` bytes.
#[cfg(feature = "encode")]
pub(crate) fn of_items(items: u8) -> Settings {
    let width = usize::from(items.max(1));
    let (library, level, last) = match items {
        1 => (Library::Zstd, 9, LastFilter::None),
        _ => (Library::Lz4, 0, LastFilter::Shuffle),
    };
    let mut settings = Settings::new(width, BLOCK / width * width)
        .with_format(Generation::Blosc1)
        .with_codec(Some(library))
        .with_filters(FirstFilter::None, last);
    settings.level = level;
    settings
}

#[cfg(feature = "encode")]
thread_local! {
    /// The most recently used encoder: creating its buffers and codecs costs more than compressing a small cell.
    static LAST: RefCell<Option<Encoder>> = const { RefCell::new(None) };
}

/// Compresses the bytes of one chunk to a frame.
///
/// # Errors
/// More bytes than a frame can hold; a library that fails.
#[cfg(feature = "encode")]
pub(crate) fn encode(settings: Settings, bytes: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = match LAST.take() {
        Some(mut encoder) => {
            encoder.set(settings)?;
            encoder
        }
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

    /// Frames that numcodecs 0.16.6 (C-Blosc) made of these bytes, cut to whole items. An entry of the index: library, shuffle, size of items, size
    /// of blocks, bytes, bytes of the frame.
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

    /// C-Blosc (numcodecs 0.16.6) also refuses each of these frames with the reserved bit.
    #[test]
    fn the_reserved_bit_is_refused_in_whole_frames_and_in_ranges() {
        use crate::{Chain, StoredBytes};

        let chain = Chain::new(&[zvf_meta::Codec::named("blosc")]).unwrap();
        let mut rest = &include_bytes!("../testdata/blosc.bin")[..];
        let index: Vec<(String, u8, usize, usize, usize, usize)> =
            serde_json::from_str(include_str!("../testdata/blosc.json")).unwrap();
        for one in index {
            let (frame, more) = rest.split_at(one.5);
            rest = more;
            let mut damaged = frame.to_vec();
            damaged[2] |= 0x08;
            let expected = "blosc: the reserved bit 3 of the flags is set";
            let whole = decode(&damaged, CAP).unwrap_err();
            assert!(whole.to_string().contains(expected), "{whole}");
            let memory = StoredBytes::Memory(damaged.into());
            let ranges = chain.ranges(memory, CAP).map(|_| ()).unwrap_err();
            assert!(ranges.to_string().contains(expected), "{ranges}");
        }
    }

    /// A decoded range equals the same range of the whole frame. Replacing a block start by the start of another block, or by a nearby position,
    /// gives an error.
    #[test]
    fn ranges_of_frames_of_c_blosc_are_read_and_damaged_tables_refused() {
        use crate::{Chain, CodecError, RangeDecoder, StoredBytes};
        use bytes::Bytes;

        let chain = Chain::new(&[zvf_meta::Codec::named("blosc")]).unwrap();
        let open = |frame: &[u8]| -> Result<RangeDecoder, CodecError> {
            let memory = Bytes::copy_from_slice(frame);
            let length = u64::try_from(frame.len()).unwrap();
            let read = move |range: std::ops::Range<u64>| {
                let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap());
                Ok(memory.slice(start..end))
            };
            chain.ranges(StoredBytes::Source(length, Box::new(read)), CAP)
        };
        let mut rest = &include_bytes!("../testdata/blosc.bin")[..];
        let index: Vec<(String, u8, usize, usize, usize, usize)> =
            serde_json::from_str(include_str!("../testdata/blosc.json")).unwrap();
        let mut state = 7_usize;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below.max(1)
        };
        let mut refused = 0;
        for one in index {
            let (frame, more) = rest.split_at(one.5);
            rest = more;
            let whole = decode(frame, CAP).unwrap();
            let mut decoder = open(frame).unwrap();
            assert_eq!(decoder.whole().unwrap(), whole);
            for _ in 0..20 {
                let start = next(whole.len());
                let end = start + next(whole.len() - start + 1);
                let mut found = Vec::new();
                decoder.read(start..end, &mut found).unwrap();
                assert_eq!(found, whole[start..end], "{one:?}");
            }
            assert!(decoder.read(0..whole.len() + 1, &mut Vec::new()).is_err());
            let chunk = zvf_blosc::Chunk::parse(frame).unwrap();
            let (blocks, size) = (chunk.table().len(), chunk.header().blocksize());
            for block in 0..blocks {
                for _ in 0..20 {
                    let mut damaged = frame.to_vec();
                    let field = 16 + 4 * block..20 + 4 * block;
                    let before: [u8; 4] = frame[field.clone()].try_into().unwrap();
                    let other = 16 + 4 * next(blocks);
                    let start = match next(2) {
                        0 => frame[other..other + 4].try_into().unwrap(),
                        _ => (u32::from_le_bytes(before) + 1 + next(40) as u32).to_le_bytes(),
                    };
                    if start == before {
                        continue;
                    }
                    damaged[field].copy_from_slice(&start);
                    let whole_too = decode(&damaged, CAP);
                    assert!(whole_too.is_err(), "{one:?}");
                    let mut found = Vec::new();
                    let from = block * size;
                    let until = (from + size).min(whole.len());
                    let read = open(&damaged).and_then(|mut it| it.read(from..until, &mut found));
                    assert!(read.is_err(), "{one:?} block {block}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 1000, "{refused}");
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
