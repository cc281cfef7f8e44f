//! Gathers the rows of a table from its chunks.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use zvf_format::dtype::ByteOrder;
use zvf_meta::ArrayDoc;

use super::{TableChunks, TableShards, TypedArray, TypedValues};
use crate::StoreError;
use crate::cells::{ChunkWant, Mode, fetch_table};
use crate::codec::decode_first;
use crate::layout::{ChunkDecoding, lost, object_key};
use crate::ordered::all_in_order;
use zvf_codec::Data;
use zvf_format::int::wide;
use zvf_io::{Ask, Cap, Kv, blocking};

/// One stored chunk, with its position in rows and columns.
struct StoredPiece {
    key: String,
    /// Number of the chunk in the array, in C order; `None` for chunks inside shards.
    number: Option<u64>,
    row: u64,
    column: u64,
    bytes: Option<Bytes>,
    /// Whether the bytes need no decoding: bytes of a chunk in a shard, or the first bytes of a chunk that is stored without codecs and longer than
    /// the limit.
    decoded: bool,
}

pub(super) async fn rows(
    array: &TypedArray,
    kv: &Kv,
    doc: &ArrayDoc,
    reader: &ChunkDecoding<TableChunks>,
    rows: Range<u64>,
) -> Result<TypedValues, StoreError> {
    let size = wide(array.dtype.size());
    let count = rows.end - rows.start;
    let total = count
        .checked_mul(array.width)
        .and_then(|n| n.checked_mul(size))
        .unwrap_or(u64::MAX);
    let cap = Cap::cell(kv.limits());
    cap.check(&array.path, total)?;
    let over = |n: u64| cap.exceeded(&array.path, n);
    let shape = ElementShape {
        count: usize::try_from(count).map_err(|_| over(count))?,
        width: usize::try_from(array.width).map_err(|_| over(array.width))?,
        size: array.dtype.size(),
    };
    let bytes = match reader {
        ChunkDecoding::Unsupported(what) => {
            return Err(StoreError::unsupported(array.path.clone(), what.clone()));
        }
        _ if total == 0 => Bytes::new(),
        ChunkDecoding::Generic => {
            crate::generic::read_rows(kv, &array.path, doc, rows, total).await?
        }
        ChunkDecoding::Own(chunks) => {
            let pieces = match &chunks.shards {
                Some(shards) => fetch_inner(array, kv, doc, &rows, chunks.rows, shards).await?,
                None => fetch(array, kv, doc, &rows, chunks).await?,
            };
            let mut absent = pieces.iter().filter(|piece| piece.bytes.is_none());
            if let Some(lost) = absent.find_map(|piece| {
                let number = piece.number?;
                lost(&piece.key, number, doc.attributes.stored_chunks)
            }) {
                return Err(lost);
            }
            let (chunks, fill) = (chunks.clone(), array.fill.clone());
            let (first, number) = (rows.start, array.dtype.number_size());
            blocking(move || assemble(pieces, &chunks, number, &fill, shape, first, cap)).await??
        }
    };
    Ok(TypedValues {
        dtype: array.dtype,
        width: shape.width,
        rows: shape.count,
        bytes,
        sentinel: array.sentinel().cloned(),
        mask: None,
    })
}

/// The requested rows and columns, and the bytes of an element.
#[derive(Debug, Clone, Copy)]
struct ElementShape {
    count: usize,
    width: usize,
    size: usize,
}

async fn fetch(
    array: &TypedArray,
    kv: &Kv,
    doc: &ArrayDoc,
    rows: &Range<u64>,
    layout: &TableChunks,
) -> Result<Vec<StoredPiece>, StoreError> {
    let (chunk_rows, chunk_width) = (layout.rows, layout.width);
    let cap = Cap::cell(kv.limits());
    let row_bytes = chunk_width.saturating_mul(wide(array.dtype.size()));
    let part = layout.chain.is_plain() && chunk_rows.saturating_mul(row_bytes) > cap.most;
    let chunks = |n: u64, chunk: u64| n.div_ceil(chunk.max(1));
    let pieces = chunks(rows.end - rows.start, chunk_rows)
        .saturating_add(1)
        .saturating_mul(chunks(array.width, chunk_width));
    Cap::cells(kv.limits()).check(&array.path, pieces)?;
    let mut keys = Vec::new();
    let columns = chunks(array.width, chunk_width);
    let mut row = rows.start / chunk_rows * chunk_rows;
    while row < rows.end {
        let mut column = 0;
        while column < array.width {
            // If there are more than two axes, only the first one is divided into chunks.
            let mut index = vec![0; doc.shape.len()];
            if let [first, rest @ ..] = index.as_mut_slice() {
                *first = row / chunk_rows;
                if let [second] = rest {
                    *second = column / chunk_width;
                }
            }
            let number = (row / chunk_rows).saturating_mul(columns);
            let number = number.saturating_add(column / chunk_width.max(1));
            keys.push((object_key(&array.path, doc, &index), number, row, column));
            column = column.saturating_add(chunk_width);
        }
        row = row.saturating_add(chunk_rows);
    }
    let pieces = keys.into_iter().map(|(key, number, row, column)| {
        let wanted = rows.end.saturating_sub(row).min(chunk_rows);
        let ask = match part {
            true => Ask::Range(0..wanted.saturating_mul(row_bytes)),
            false => Ask::Whole,
        };
        async move {
            let found = kv.get(&key, ask, cap).await?;
            Ok(StoredPiece {
                key,
                decoded: part,
                number: Some(number),
                row,
                column,
                bytes: found.map(|object| object.bytes),
            })
        }
        .boxed()
    });
    all_in_order(pieces.collect()).await
}

/// Fetches the inner chunks of shards, of `per_chunk` rows each, that contain the requested rows.
async fn fetch_inner(
    array: &TypedArray,
    kv: &Kv,
    doc: &ArrayDoc,
    rows: &Range<u64>,
    per_chunk: u64,
    shards: &TableShards,
) -> Result<Vec<StoredPiece>, StoreError> {
    let (per_chunk, per_shard) = (per_chunk.max(1), shards.chunks.max(1));
    let numbers = rows.start / per_chunk..=rows.end.saturating_sub(1) / per_chunk;
    // Checked before the list of chunks is allocated, because a document may state chunks of one row.
    let count = numbers.end().saturating_sub(*numbers.start());
    Cap::cells(kv.limits()).check(&array.path, count.saturating_add(1))?;
    let wants = numbers.clone().map(|number| {
        let mut index = vec![0; doc.shape.len()];
        if let Some(axis) = index.first_mut() {
            *axis = number / per_shard;
        }
        ChunkWant {
            key: object_key(&array.path, doc, &index),
            entry: number % per_shard,
        }
    });
    let wants: Vec<ChunkWant> = wants.collect();
    let heads = Arc::clone(&shards.heads);
    let found = fetch_table(kv.clone(), heads, &shards.objects, &wants, Mode::default()).await?;
    let pieces = numbers.zip(wants).zip(found);
    let pieces = pieces.map(|((number, want), bytes)| StoredPiece {
        key: format!("{}, chunk {}", want.key, want.entry),
        number: None,
        decoded: true,
        row: number.saturating_mul(per_chunk),
        column: 0,
        bytes,
    });
    Ok(pieces.collect())
}

/// Assembles the requested rows from chunks. `first` is the first of these rows, `number` the bytes of one number of an element, to which
/// the byte order applies.
fn assemble(
    pieces: Vec<StoredPiece>,
    chunks: &TableChunks,
    number: usize,
    fill: &[u8],
    shape: ElementShape,
    first: u64,
    cap: Cap,
) -> Result<Bytes, StoreError> {
    let ElementShape { count, width, size } = shape;
    let row_bytes = width.saturating_mul(size);
    let total = count.saturating_mul(row_bytes);
    let mut decoded = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Some(bytes) = piece.bytes else { continue };
        let expected = chunks
            .rows
            .checked_mul(chunks.width)
            .and_then(|n| n.checked_mul(u64::try_from(size).ok()?))
            .unwrap_or(u64::MAX);
        // A chunk is padded to its full length, which may exceed the limit, so only the rows up to the last requested one are decoded.
        let wanted = first.saturating_add(wide(count)).saturating_sub(piece.row);
        let wanted = wanted.min(chunks.rows).saturating_mul(chunks.width);
        let keep = usize::try_from(wanted)
            .unwrap_or(usize::MAX)
            .saturating_mul(size);
        let data = match piece.decoded {
            true => Data::Shared(bytes),
            false => {
                let data = Data::Shared(bytes);
                decode_first(&chunks.chain, &piece.key, data, (keep, expected), cap)?
            }
        };
        let found = wide(data.as_slice().len());
        let first_only = expected > cap.most && found == wide(keep);
        if found != expected && !first_only {
            return Err(StoreError::malformed(
                piece.key,
                format!("{found} bytes found, expected {expected}"),
            ));
        }
        decoded.push((piece.key, piece.row, piece.column, data.into_bytes()));
    }
    let little = chunks.order == ByteOrder::Little || number == 1;
    // One chunk with whole rows: no copy.
    if let ([(_, row, 0, bytes)], true) = (decoded.as_slice(), little)
        && u64::try_from(width).is_ok_and(|w| w == chunks.width)
        && let Some(start) = first
            .checked_sub(*row)
            .and_then(|n| usize::try_from(n).ok())
        && let Some(from) = start.checked_mul(row_bytes)
        && let Some(to) = from.checked_add(total).filter(|to| *to <= bytes.len())
    {
        return Ok(bytes.slice(from..to));
    }
    let mut out: Vec<u8> = fill.repeat(count.saturating_mul(width));
    let mut stored_fill = fill.to_vec();
    if !little {
        (stored_fill.chunks_exact_mut(number.max(1))).for_each(<[u8]>::reverse);
    }
    let stride = usize::try_from(chunks.width)
        .unwrap_or(usize::MAX)
        .saturating_mul(size);
    for (key, row, column, bytes) in decoded {
        let left = usize::try_from(column)
            .unwrap_or(usize::MAX)
            .saturating_mul(size);
        let columns = stride.min(row_bytes.saturating_sub(left));
        for (i, source) in bytes.chunks_exact(stride.max(1)).enumerate() {
            let at = wide(i).saturating_add(row);
            let Some(target) = at.checked_sub(first).and_then(|r| usize::try_from(r).ok()) else {
                continue;
            };
            if target >= count {
                break;
            }
            // Beyond the shape, writers store the fill value. Other values show that the shape was reduced after they were written.
            let beyond = source.get(columns..).unwrap_or_default();
            let mut elements = beyond.chunks_exact(size.max(1));
            if !elements.all(|element| element == stored_fill) {
                return Err(StoreError::malformed(
                    key,
                    format!("row {at} has values beyond the shape, which is {width} wide"),
                ));
            }
            let start = target.saturating_mul(row_bytes).saturating_add(left);
            let (Some(to), Some(from)) =
                (out.get_mut(start..start + columns), source.get(..columns))
            else {
                return Err(StoreError::bug("a row outside of its chunk"));
            };
            to.copy_from_slice(from);
            if !little {
                to.chunks_exact_mut(number.max(1)).for_each(<[u8]>::reverse);
            }
        }
    }
    Ok(out.into())
}
