//! Tables of fixed-size elements: object ids, object and group attributes.
//!
//! A table is one array, or, before 0.8.1, a group of blobs: the rows, and a mask of the rows with a value.
//!
//! Source: specification 0.9, sections 4.5, 11.4 and 11.6; 0.8, sections 10.2 and 10.6; 0.7, sections 10.3 and 10.5.

mod masked;
mod read;

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_meta::{ArrayAttributes, ArrayDoc, Codec};

use crate::cells::{ShardCache, TableObjects};
use crate::codec::byte_order;
use crate::coord::product;
use crate::layout::{CellLayout, ChunkDecoding, LayoutError};
use crate::ordered::all_in_order;
use crate::types::{dtype_of, fill};
use crate::{Limits, StoreError};
use zvf_codec::Chain;
use zvf_format::int::wide;
use zvf_io::{Cap, Kv};

use masked::Masked;

/// Chunks that are read together when some rows are read.
const CHUNKS_AHEAD: usize = 16;

/// One table of fixed-size elements: a row for each object or group, one or more channels.
///
/// # Shape
/// `rows()` rows of `width()` elements of `dtype()`.
#[derive(Debug, Clone)]
pub struct TypedArray {
    kv: Kv,
    path: String,
    name: String,
    source: RowSource,
    dtype: DType,
    rows: u64,
    width: u64,
    fill: Bytes,
}

/// How the rows are stored.
#[derive(Debug, Clone)]
enum RowSource {
    /// One numeric array.
    Array(Arc<ArrayDoc>, ChunkDecoding<TableChunks>),
    /// Two blobs.
    Blobs(Masked),
}

/// How the chunks of a table are stored.
#[derive(Debug, Clone)]
struct TableChunks {
    /// Byte order of the numbers.
    order: ByteOrder,
    chain: Chain,
    /// Rows of a chunk.
    rows: u64,
    /// Elements of a row inside a chunk.
    width: u64,
    /// The reader of chunks inside shards.
    shards: Option<TableShards>,
}

/// Shards of a table, with a cache of their indexes.
#[derive(Debug, Clone)]
struct TableShards {
    objects: Arc<TableObjects>,
    /// Chunks of a shard.
    chunks: u64,
    heads: Arc<ShardCache>,
}

/// Values of a table, little-endian, row after row.
///
/// # Shape
/// `rows` rows of `width` elements of `dtype`; `bytes.len() == rows * width * dtype.size()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedValues {
    /// Type of the elements; always little-endian.
    pub dtype: DType,
    /// Elements of a row; at least 1 unless the table is empty.
    pub width: usize,
    /// Number of rows.
    pub rows: usize,
    /// The elements.
    pub bytes: Bytes,
    /// The element that, in every channel of a row, means that the row has no value; if the array declares one.
    pub sentinel: Option<Bytes>,
    /// One byte for each row, 0 if the row has no value; if the table has such a mask.
    pub mask: Option<Bytes>,
}

impl TypedValues {
    /// Bytes of one row.
    pub fn row_size(&self) -> usize {
        self.width.saturating_mul(self.dtype.size())
    }

    /// The bytes of row `i`.
    pub fn row(&self, i: usize) -> Option<&[u8]> {
        let size = self.row_size();
        let start = i.checked_mul(size)?;
        (i < self.rows)
            .then(|| self.bytes.get(start..start.checked_add(size)?))
            .flatten()
    }

    /// Whether the mask states that row `i` has no value. Its elements are zeros without meaning then.
    pub fn is_masked(&self, i: usize) -> bool {
        let mask = self.mask.as_ref();
        mask.is_some_and(|mask| mask.get(i).is_none_or(|mark| *mark == 0))
    }

    /// Whether row `i` has no value: every channel equals the sentinel, or a mask marks it.
    pub fn is_absent(&self, i: usize) -> bool {
        if self.is_masked(i) {
            return true;
        }
        match (&self.sentinel, self.row(i)) {
            (Some(sentinel), Some(row)) if !sentinel.is_empty() => row
                .chunks(sentinel.len())
                .all(|element| element == sentinel),
            _ => false,
        }
    }

    /// The elements as signed 64-bit integers; `None` if they are not integers or do not fit.
    pub fn to_i64(&self) -> Option<Vec<i64>> {
        if self.dtype == DType::I64 {
            let (numbers, _) = self.bytes.as_chunks();
            return Some(numbers.iter().copied().map(i64::from_le_bytes).collect());
        }
        if !self.dtype.is_integer() {
            return None;
        }
        let count = self.bytes.len().checked_div(self.dtype.size())?;
        let unsigned = self.dtype.kind == DTypeKind::U64;
        let number = |at| self.dtype.integer_at(&self.bytes, at);
        let fits = |number: &i64| *number >= 0 || !unsigned;
        (0..count).map(|at| number(at).filter(fits)).collect()
    }
}

impl TypedArray {
    /// The table that a document describes, of at most `most` rows.
    pub(crate) fn new(
        kv: &Kv,
        path: String,
        name: String,
        doc: ArrayDoc,
        most: Cap,
    ) -> Result<Self, StoreError> {
        let key = || format!("{path}/zarr.json");
        let dtype = dtype_of(&doc.data_type).ok_or_else(|| {
            StoreError::unsupported(key(), format!("data_type {:?}", doc.data_type.name))
        })?;
        let (rows, rest) = match doc.shape.split_first() {
            Some((rows, rest)) => (*rows, rest),
            None => {
                return Err(StoreError::malformed(
                    key(),
                    "shape has no axis, expected at least one",
                ));
            }
        };
        most.check(&key(), rows)?;
        let width = row_width(&path, rest)?;
        if doc.chunk_shape.len() != doc.shape.len() || doc.chunk_shape.contains(&0) {
            return Err(StoreError::malformed(
                key(),
                format!(
                    "chunk_shape {:?} does not fit shape {:?}",
                    doc.chunk_shape, doc.shape
                ),
            ));
        }
        let fill = fill::bytes(&doc.fill_value, dtype).ok_or_else(|| {
            StoreError::malformed(
                key(),
                format!(
                    "fill_value is {}, expected a value of type {dtype}",
                    doc.fill_value
                ),
            )
        })?;
        let reader = reader(&path, &doc, kv.limits());
        Ok(Self {
            kv: kv.clone(),
            path,
            name,
            source: RowSource::Array(Arc::new(doc), reader),
            dtype: DType::little(dtype.kind),
            rows,
            width,
            fill: fill.into(),
        })
    }

    /// Name of the attribute.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Path inside the store.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Type of the elements as returned by [`read`](Self::read): little-endian.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Elements of a row.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The fill value, as the bytes of one element.
    pub fn fill(&self) -> &Bytes {
        &self.fill
    }

    /// The array's attributes: unit, description, channel names.
    pub fn attributes(&self) -> &ArrayAttributes {
        match &self.source {
            RowSource::Array(doc, _) => &doc.attributes,
            RowSource::Blobs(masked) => &masked.attributes,
        }
    }

    /// The document, if the table is one Zarr array.
    pub fn doc(&self) -> Option<&ArrayDoc> {
        match &self.source {
            RowSource::Array(doc, _) => Some(doc),
            RowSource::Blobs(_) => None,
        }
    }

    /// Rows, and elements of a row if a row has more than one number: `[n]`, `[n, c]`.
    pub fn shape(&self) -> Vec<u64> {
        match (&self.source, self.width) {
            (RowSource::Array(doc, _), _) => doc.shape.clone(),
            (RowSource::Blobs(_), 1) => vec![self.rows],
            (RowSource::Blobs(_), width) => vec![self.rows, width],
        }
    }

    /// Rows of one stored chunk, or of the smallest part of it that can be read alone.
    pub(crate) fn chunk_rows(&self) -> u64 {
        let RowSource::Array(doc, _) = &self.source else {
            return self.rows.max(1);
        };
        let inner = doc.sharding().ok().flatten();
        let shape = inner.as_ref().map_or(&doc.chunk_shape, |s| &s.chunk_shape);
        shape.first().copied().unwrap_or(1).max(1)
    }

    /// The element that means "no value", if the array states that this is the meaning of its fill value.
    pub fn sentinel(&self) -> Option<&Bytes> {
        (self.attributes().fill_sentinel_meaning.as_deref() == Some("absent")).then_some(&self.fill)
    }

    /// Reads all rows.
    ///
    /// # Cost
    /// One request per stored chunk, all at once. Not cached.
    ///
    /// # Errors
    /// I/O; malformed chunks; a table beyond `cell_bytes`; a type or codec that is not supported.
    pub async fn read(&self) -> Result<TypedValues, StoreError> {
        self.read_rows_in(self.kv.round(), 0..self.rows).await
    }

    /// Reads a range of rows; only their chunks are requested. Rows past the end are left out.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_rows(&self, rows: Range<u64>) -> Result<TypedValues, StoreError> {
        self.read_rows_in(self.kv.round(), rows).await
    }

    /// Reads a range of rows, as part of the given round of requests.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_rows_in(
        &self,
        round: u32,
        rows: Range<u64>,
    ) -> BoxFuture<'_, Result<TypedValues, StoreError>> {
        Box::pin(async move {
            let kv = self.kv.in_round(round);
            let rows = rows.start.min(self.rows)..rows.end.min(self.rows);
            let rows = rows.start..rows.end.max(rows.start);
            let first = rows.start;
            let values = match &self.source {
                RowSource::Array(doc, reader) => read::rows(self, &kv, doc, reader, rows).await?,
                RowSource::Blobs(masked) => masked.rows(self, &kv, rows).await?,
            };
            // Readers would fail, or replace the character. Copies and edits must not change text silently, either.
            if let Some((at, code)) = values.dtype.first_odd_text(&values.bytes) {
                let row = wide(at.checked_div(values.width).unwrap_or(at)).saturating_add(first);
                let what = format!("row {row}: {code:#x} is not a Unicode code point");
                return Err(StoreError::malformed(self.path.clone(), what));
            }
            Ok(values)
        })
    }

    /// Reads some rows, given ascending and without duplicates, as part of the given round of requests: only their chunks are requested, each once. The
    /// values have one row for each given row.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`Class::Misuse`](crate::Class::Misuse) for a row past the end.
    pub fn read_some_in<'a>(
        &'a self,
        round: u32,
        rows: &'a [u64],
    ) -> BoxFuture<'a, Result<TypedValues, StoreError>> {
        Box::pin(async move {
            let per_chunk = self.chunk_rows();
            let ranges = rows.chunk_by(|a, b| a / per_chunk == b / per_chunk);
            let ranges = ranges.filter_map(|rows| Some((*rows.first()?, *rows.last()?, rows)));
            let ranges: Vec<(u64, u64, &[u64])> = ranges.collect();
            let (mut bytes, mut mask) = (Vec::new(), Vec::new());
            for ranges in ranges.chunks(CHUNKS_AHEAD) {
                let reads = ranges.iter().map(|(first, last, _)| {
                    self.read_rows_in(round, *first..last.saturating_add(1))
                });
                let found = all_in_order(reads.collect()).await?;
                for ((first, _, range), found) in ranges.iter().zip(found) {
                    if range.len() == rows.len() && found.rows == rows.len() {
                        return Ok(found);
                    }
                    for row in *range {
                        let at = usize::try_from(row.abs_diff(*first)).ok();
                        let found_row = at.and_then(|at| Some((at, found.row(at)?)));
                        let Some((at, value)) = found_row else {
                            let what = format!("{}: there is no row {row}", self.path);
                            return Err(StoreError::misuse(what));
                        };
                        bytes.extend_from_slice(value);
                        mask.extend(found.mask.as_ref().and_then(|mask| mask.get(at)));
                    }
                }
            }
            if !mask.is_empty() && mask.len() != rows.len() {
                return Err(StoreError::bug("a mask of some of the rows"));
            }
            Ok(TypedValues {
                dtype: self.dtype,
                width: usize::try_from(self.width).unwrap_or(usize::MAX),
                rows: rows.len(),
                bytes: bytes.into(),
                sentinel: self.sentinel().cloned(),
                mask: (!mask.is_empty()).then(|| mask.into()),
            })
        })
    }
}

/// Elements of a row of the table at `path`, from the axes after the rows in its shape.
fn row_width(path: &str, rest: &[u64]) -> Result<u64, StoreError> {
    let wrong = |what| Err(StoreError::malformed(format!("{path}/zarr.json"), what));
    match product(rest) {
        None => wrong("shape is too large"),
        Some(0) => wrong("shape has rows of no elements, expected at least one"),
        Some(width) => Ok(width),
    }
}

/// Chunks inside shards, where both hold whole rows; `None` for any other sharding.
fn sharded(path: &str, doc: &ArrayDoc, limits: &Limits) -> Option<TableChunks> {
    let sharding = doc.sharding().ok()??;
    let order = sharding.codecs.first().and_then(byte_order)?;
    let is_read = |codec: &Codec| codec.name == "bytes";
    let layout = CellLayout::sharded(doc, sharding, is_read, &LayoutError::Foreign).ok()?;
    let chunks = layout.shard?.entries;
    let (rows, columns) = layout.chunk.split_first()?;
    let whole = doc.chunk_shape.get(1..)? == columns && doc.shape.get(1..)? == columns;
    if doc.codecs.len() != 1 || !whole || chunks > limits.shard_entries {
        return None;
    }
    Some(TableChunks {
        order,
        chain: layout.chain.clone(),
        rows: *rows,
        width: product(columns)?,
        shards: Some(TableShards {
            chunks,
            heads: Arc::new(ShardCache::new(limits.cache_bytes)),
            objects: Arc::new(TableObjects {
                layout,
                lengths: doc.attributes.shard_lengths.clone(),
                path: path.to_owned(),
            }),
        }),
    })
}

fn reader(path: &str, doc: &ArrayDoc, limits: &Limits) -> ChunkDecoding<TableChunks> {
    if doc.storage_transformers.is_empty()
        && let Some(chunks) = sharded(path, doc, limits)
    {
        return ChunkDecoding::Own(chunks);
    }
    let (order, chain) = match ChunkDecoding::of_numbers(doc) {
        Ok(own) => own,
        Err(other) => return other,
    };
    let (rows, width) = match (doc.shape.as_slice(), doc.chunk_shape.as_slice()) {
        ([_, _], [rows, width]) => (*rows, Some(*width)),
        ([_, shape @ ..], [rows, chunk @ ..]) if shape == chunk => (*rows, product(chunk)),
        _ => {
            let what = "chunks that divide rows of several axes";
            return ChunkDecoding::foreign(what.to_owned());
        }
    };
    match width {
        Some(width) => ChunkDecoding::Own(TableChunks {
            order,
            chain,
            rows,
            width,
            shards: None,
        }),
        None => ChunkDecoding::Unsupported("a chunk of that size".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use zvf_format::dtype::DType;

    use super::TypedValues;

    fn of(dtype: &str, bytes: &[u8]) -> TypedValues {
        let dtype = DType::parse(dtype).unwrap();
        let rows = bytes.len() / dtype.size();
        TypedValues {
            dtype,
            width: 1,
            rows,
            bytes: Bytes::copy_from_slice(bytes),
            sentinel: None,
            mask: None,
        }
    }

    #[test]
    fn integers_of_every_width_widen() {
        assert_eq!(of("int8", &[0xFE, 3]).to_i64(), Some(vec![-2, 3]));
        assert_eq!(
            of("int16", &[0xFE, 0xFF, 3, 1]).to_i64(),
            Some(vec![-2, 259])
        );
        assert_eq!(
            of("uint32", &[0xFE, 0xFF, 0xFF, 0xFF]).to_i64(),
            Some(vec![4_294_967_294])
        );
        assert_eq!(of("int64", &[0xFF; 8]).to_i64(), Some(vec![-1]));
        assert_eq!(of("uint64", &[0xFF; 8]).to_i64(), None);
        assert_eq!(of("float64", &[0; 8]).to_i64(), None);
    }

    #[test]
    fn a_row_is_absent_when_all_its_channels_are() {
        let mut values = of("int8", &[9, 9, 9, 1]);
        (values.width, values.rows) = (2, 2);
        assert!(!values.is_absent(0));
        values.sentinel = Some(Bytes::from_static(&[9]));
        assert!(values.is_absent(0) && !values.is_absent(1) && !values.is_absent(2));
        assert_eq!((values.row(1), values.row(2)), (Some(&[9, 1][..]), None));
    }
}
