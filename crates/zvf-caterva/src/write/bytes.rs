//! Encodes header, index and trailer.

use zvf_blosc::{Codec, Encoder, Settings};

use super::WriteOptions;
use crate::marked::Marks;
use crate::{Error, Geometry, HEADER, MAGIC, MOST_FIXED, MOST_VARIABLE, NdKind};
use zvf_grid::int::wide;

/// Lengths that are known only after the last chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lengths {
    pub(crate) frame: u64,
    pub(crate) cbytes: u64,
}

/// Header and metalayers.
pub(crate) fn header(
    geometry: &Geometry,
    options: &WriteOptions,
    settings: &Settings,
    lengths: Lengths,
) -> Result<Vec<u8>, Error> {
    let nd = nd(geometry, options)?;
    let mut layers = vec![(options.kind.name(), nd.as_slice())];
    layers.extend(
        options
            .metalayers
            .iter()
            .map(|(name, content)| (name.as_str(), &content[..])),
    );
    let section = section(&layers, HEADER, 0, MOST_FIXED)?;
    let total = u32_of("bytes of the header", HEADER + section.len())?;
    let nbytes = geometry
        .chunk_count
        .saturating_mul(wide(geometry.chunk_bytes));
    let compressor = settings.codec.map_or(0, Codec::compressor);
    let level = match settings.codec {
        None => 0,
        Some(_) => u8::try_from(settings.level.clamp(1, 9)).unwrap_or(1),
    };
    let (filters, metas) = settings.slots();
    let mut out = Marks::default();
    out.bytes(&[0x9e, 0xa8]).bytes(MAGIC);
    out.u32(0xd2, total);
    out.u64(0xcf, lengths.frame);
    out.bytes(&[0xa4, 0x12, 0, level << 4 | compressor, 0]);
    out.u64(0xd3, nbytes).u64(0xd3, lengths.cbytes);
    let empty = geometry.chunk_count == 0;
    let sized = |n: usize| u32_of("bytes of a chunk", if empty { 0 } else { n });
    out.u32(0xd2, u32_of("bytes of an item", geometry.item)?);
    out.u32(0xd2, sized(geometry.block_bytes)?)
        .u32(0xd2, sized(geometry.chunk_bytes)?);
    out.u16(0xd1, 1).u16(0xd1, 1);
    out.bytes(&[
        if options.vlmetalayers.is_empty() {
            0xc2
        } else {
            0xc3
        },
        0xd8,
        6,
    ]);
    out.bytes(&filters)
        .bytes(&[compressor, 0])
        .bytes(&metas)
        .bytes(&[0, 0]);
    out.bytes(&section);
    Ok(out.0)
}

/// The n-d metalayer.
fn nd(geometry: &Geometry, options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let rank = u8::try_from(geometry.shape.len()).unwrap_or(u8::MAX);
    let b2nd = options.kind == NdKind::B2nd;
    let mut out = Marks::default();
    out.bytes(&[if b2nd { 0x97 } else { 0x95 }, 0, rank, 0x90 + rank]);
    for extent in geometry.shape.iter() {
        if *extent > i64::MAX.unsigned_abs() {
            return Err(zvf_grid::GridError::TooLarge.into());
        }
        out.u64(0xd3, *extent);
    }
    for shape in [&geometry.chunk, &geometry.block] {
        out.bytes(&[0x90 + rank]);
        for extent in shape.iter() {
            out.u32(
                0xd2,
                u32_of(
                    "chunk extent",
                    usize::try_from(*extent).unwrap_or(usize::MAX),
                )?,
            );
        }
    }
    if b2nd {
        let opaque = format!("|S{}", geometry.item);
        let text = options.dtype.as_deref().unwrap_or(&opaque);
        out.bytes(&[0])
            .u32(0xdb, u32_of("bytes of the item type", text.len())?);
        out.bytes(text.as_bytes());
    }
    Ok(out.0)
}

/// A section of metalayers. The positions in it are counted from `base` bytes before it.
fn section(
    layers: &[(&str, &[u8])],
    base: usize,
    counted_from: usize,
    most: u16,
) -> Result<Vec<u8>, Error> {
    let count = u16::try_from(layers.len()).ok().filter(|n| *n <= most);
    let count = count.ok_or(Error::Usage {
        what: "metalayers",
        found: wide(layers.len()),
        expected: most.into(),
    })?;
    let map = 7 + layers.iter().map(|(name, _)| 6 + name.len()).sum::<usize>();
    let mut out = Marks::default();
    out.bytes(&[0x93]);
    let counted = u16::try_from(map - counted_from).map_err(|_| Error::Usage {
        what: "bytes of metalayer names",
        found: wide(map),
        expected: u16::MAX.into(),
    })?;
    out.u16(0xcd, counted).u16(0xde, count);
    let mut at = base + map + 3;
    for (i, (name, content)) in layers.iter().enumerate() {
        let twice = layers.iter().take(i).any(|(other, _)| other == name);
        let length = u8::try_from(name.len()).ok().filter(|n| *n <= 31 && !twice);
        let length = length.ok_or(Error::Usage {
            what: "bytes of a metalayer name that occurs once",
            found: wide(name.len()),
            expected: 31,
        })?;
        out.bytes(&[0xa0 | length])
            .bytes(name.as_bytes())
            .u32(0xd2, u32_of("metalayers", at)?);
        at += 5 + content.len();
    }
    out.u16(0xdc, count);
    for (_, content) in layers {
        out.u32(0xc6, u32_of("bytes of a metalayer", content.len())?)
            .bytes(content);
    }
    Ok(out.0)
}

/// Decoded size in bytes of an index of `chunks` chunks.
pub(crate) fn index_len(chunks: u64) -> Result<u32, Error> {
    let bytes = chunks.saturating_mul(8);
    u32_of(
        "bytes of the index",
        usize::try_from(bytes).unwrap_or(usize::MAX),
    )
}

/// The index, as an uncompressed chunk, which every reader supports; empty if there are no chunks.
pub(crate) fn index(entries: &[i64]) -> Result<Vec<u8>, Error> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let n = index_len(wide(entries.len()))?;
    let mut out = vec![5, 1, 0x17, 8];
    out.extend(n.to_le_bytes());
    out.extend(n.to_le_bytes());
    out.extend(n.saturating_add(32).to_le_bytes());
    out.extend([0; 16]);
    out.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
    Ok(out)
}

/// The trailer with the variable-length metalayers, each compressed as a chunk.
pub(crate) fn trailer(options: &WriteOptions) -> Result<Vec<u8>, Error> {
    let mut packed = Vec::new();
    for (name, content) in &options.vlmetalayers {
        let mut chunk = Vec::new();
        Encoder::new(Settings::new(1, content.len().max(1)))?.encode(content, &mut chunk)?;
        packed.push((name.as_str(), chunk));
    }
    let layers: Vec<(&str, &[u8])> = packed
        .iter()
        .map(|(name, chunk)| (*name, chunk.as_slice()))
        .collect();
    let section = section(&layers, 2, 1, MOST_VARIABLE)?;
    let total = u32_of("bytes of the trailer", 2 + section.len() + 23)?;
    let mut out = Marks::default();
    out.bytes(&[0x94, 1]).bytes(&section).u32(0xce, total);
    out.bytes(&[0xd8, 0]).bytes(&[0; 16]);
    Ok(out.0)
}

/// A length as a 32-bit number of the format.
fn u32_of(what: &'static str, n: usize) -> Result<u32, Error> {
    let most = u64::from(zvf_blosc::MOST);
    let fits = u32::try_from(n).ok().filter(|n| u64::from(*n) <= most);
    fits.ok_or(Error::Usage {
        what,
        found: wide(n),
        expected: most,
    })
}
