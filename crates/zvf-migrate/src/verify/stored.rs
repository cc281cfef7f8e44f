//! One level of a store, as it is stored.
//!
//! Verification reads both stores with this module, which uses nothing of the copier: a mistake that the copier makes
//! while it reads (`source.rs`, `records.rs`, `entries.rs`) is not made here as well, and is found.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::runtime::Handle;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_format::fragments::{Fragment, FragmentIndex};
use zvf_format::manifest::Manifest;
use zvf_meta::{Kind, LinksConvention};
use zvf_store::{
    ChunkCoord, ContainerKind, Endpoint, GridArray, Level, LinkArray, LinkAttribute, LinkFamily,
    ObjectIndex, VertexAttribute,
};

use zvf_format::int::{index, wide};
use zvf_write::WriteError;
use zvf_write::error::{OrBug, narrow, to_index};
use zvf_write::layout::row_bytes;
use zvf_write::number::NumberType;
use zvf_write::record::row_of;

/// An attribute of vertices or fragments.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    array: Arc<GridArray>,
    dtype: DType,
    /// Values a row, as the document states.
    declared: usize,
    /// Values a row, after the first cell that was read.
    width: OnceLock<usize>,
    /// The value that means absence, where there is one.
    absent: Option<Vec<u8>>,
}

/// The cells of one chunk. All numbers are little-endian.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) slot: u32,
    pub(super) rows: u32,
    pub(super) positions: Bytes,
    /// Number of fragments.
    pub(super) fragments: u32,
    /// The fragment index; `None` where one fragment has all rows.
    fragment_index: Option<Bytes>,
    /// One for each column: the values of all rows, of the first ones, or of none.
    pub(super) attributes: Vec<Bytes>,
    pub(super) fragment_attributes: Vec<Bytes>,
}

/// One link, its ends in the order of the application.
#[derive(Debug)]
pub(super) struct Link<'l> {
    /// The chunks of the ends, one after another.
    pub(super) chunks: &'l [i64],
    pub(super) rows: &'l [u32],
    /// One for each of the [`link_attributes`]; `None`: absence.
    pub(super) values: &'l [Option<&'l [u8]>],
}

/// One level of a store.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) level: Level,
    pub(super) handle: Handle,
    /// The chunks that presence lists or manifests name, in lex order.
    pub(super) chunks: Vec<ChunkCoord>,
    /// Little-endian type of the positions.
    pub(super) position: DType,
    /// In the order of their names.
    pub(super) columns: Vec<Column>,
    pub(super) fragment_columns: Vec<Column>,
}

/// Most cells of one array that are read together.
const TOGETHER: usize = 32;

/// Bytes of chunks that are read together, about.
const TOGETHER_BYTES: u64 = 4 << 20;

impl Column {
    /// The columns whose values can be copied, by name. Those of type `object` hold addresses of memory (trap T14).
    fn all(attributes: &[VertexAttribute]) -> Result<Vec<Self>, WriteError> {
        let mut columns = Vec::new();
        for attribute in attributes {
            let kind = attribute.dtype.kind;
            if kind == DTypeKind::Object {
                continue;
            }
            let size = attribute.dtype.size();
            // The width that holds where none is stated.
            let declared = attribute.declared_width.unwrap_or(1).max(1);
            row_bytes("values of a row", declared, attribute.dtype)?;
            let code = |code: i64| Some(code.to_le_bytes().get(..size)?.to_vec());
            columns.push(Self {
                name: attribute.name.clone(),
                array: Arc::clone(&attribute.array),
                dtype: attribute.dtype,
                declared: to_index("values of a row", declared)?,
                width: OnceLock::new(),
                absent: match &attribute.categories {
                    Some(_) => attribute.fill_code.and_then(code),
                    None => NumberType::from_kind(kind).and_then(NumberType::nan),
                },
            });
        }
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(columns)
    }

    /// Values a row.
    pub(super) fn width(&self) -> usize {
        self.width.get().copied().unwrap_or(self.declared)
    }

    /// The type of a value.
    pub(super) fn dtype(&self) -> DType {
        DType::little(self.dtype.kind)
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.width() * self.dtype.size()
    }

    /// Whether all values of some bytes mean absence.
    pub(super) fn is_absent(&self, values: &[u8]) -> bool {
        is_absent(self.absent.as_deref(), values)
    }

    /// The values of a cell of `rows` rows. Its length decides how wide a row is (trap T8).
    fn values(&self, cell: Bytes, rows: u32) -> Result<Bytes, String> {
        let (size, rows) = (self.dtype.size(), index(rows));
        let stated = self.declared * size;
        // Points were appended without values (0.7 §17.4): those that are there are of the first rows.
        let some = self.array.container() == ContainerKind::Blobs
            && cell.len().is_multiple_of(stated)
            && cell.len() / stated < rows;
        let width = match cell.len().checked_div(size * rows) {
            _ if some => self.declared,
            Some(width) if width > 0 && width * size * rows == cell.len() => width,
            _ => {
                return Err(format!(
                    "{} bytes are no {} of {rows} rows",
                    cell.len(),
                    self.dtype
                ));
            }
        };
        let first = *self.width.get_or_init(|| width);
        if first != width {
            return Err(format!("{width} values a row, elsewhere {first}"));
        }
        Ok(little_endian(self.dtype, cell))
    }
}

fn is_absent(absent: Option<&[u8]>, values: &[u8]) -> bool {
    absent.is_some_and(|absent| values.chunks(absent.len()).all(|value| value == absent))
}

/// Values with the least significant byte first.
fn little_endian(dtype: DType, bytes: Bytes) -> Bytes {
    let number = match dtype.kind {
        DTypeKind::Bytes { .. } => 1,
        DTypeKind::Utf32 { .. } => 4,
        DTypeKind::C64 | DTypeKind::C128 => dtype.size() / 2,
        _ => dtype.size(),
    };
    if dtype.order == ByteOrder::Little || number <= 1 {
        return bytes;
    }
    let mut bytes = Vec::from(bytes);
    bytes.chunks_exact_mut(number).for_each(<[u8]>::reverse);
    bytes.into()
}

/// The attributes of links whose values can be copied, by name.
pub(super) fn link_attributes(family: &LinkFamily) -> Vec<&LinkAttribute> {
    let all = family.attributes().iter();
    let mut found: Vec<_> = all
        .filter(|one| one.dtype.kind != DTypeKind::Object)
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Chunk {
    /// Calls `each` with the number and the rows of every fragment.
    pub(super) fn each_fragment(
        &self,
        mut each: impl FnMut(u32, &[u32]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut rows: Vec<u32> = Vec::new();
        let Some(stored) = &self.fragment_index else {
            rows.extend(0..self.rows);
            return if self.fragments > 0 {
                each(0, &rows)
            } else {
                Ok(())
            };
        };
        let stored = FragmentIndex::parse(stored);
        let stored = stored
            .ok()
            .or_bug("a fragment index that was not checked")?;
        let row = |row: i64| u32::try_from(row).ok().or_bug("a row that was not checked");
        for (number, fragment) in (0..self.fragments).zip(&stored) {
            rows.clear();
            match fragment {
                Fragment::Range { start, count } => {
                    let start = row(start)?;
                    rows.extend(start..start + row(count)?);
                }
                Fragment::List(list) => {
                    for one in list {
                        rows.push(row(one.get())?);
                    }
                }
            }
            each(number, &rows)?;
        }
        Ok(())
    }

    /// Whether the fragments are the same rows in the same order.
    pub(super) fn has_fragments_of(&self, other: &Self) -> Result<bool, WriteError> {
        if self.fragment_index.is_some() && self.fragment_index == other.fragment_index {
            return Ok(true);
        }
        let all = |chunk: &Self| -> Result<Vec<Vec<u32>>, WriteError> {
            let mut all = Vec::new();
            chunk.each_fragment(|_, rows| {
                all.push(rows.to_vec());
                Ok(())
            })?;
            Ok(all)
        };
        Ok(all(self)? == all(other)?)
    }
}

impl Stored {
    pub(super) fn new(level: Level, handle: Handle) -> Result<Self, WriteError> {
        let vertices = level.vertices();
        vertices.check_presence()?;
        let encoding = vertices.attributes().encoding.as_deref();
        let number = NumberType::from_kind(vertices.dtype().kind);
        if encoding.is_some_and(|encoding| encoding != "raw") || number.is_none() {
            let what = format!(
                "{} in encoding {encoding:?}, expected raw numbers",
                vertices.dtype()
            );
            return Err(WriteError::source(vertices.path(), what));
        }
        let mut stored = Self {
            chunks: vertices.presence().iter().map(ChunkCoord::new).collect(),
            position: DType::little(vertices.dtype().kind),
            columns: Column::all(level.vertex_attributes())?,
            fragment_columns: Column::all(level.fragment_attributes())?,
            handle,
            level,
        };
        let mut unlisted = BTreeSet::new();
        if let Some(objects) = stored.level.object_index() {
            stored.each_manifest(objects, |row, blob| {
                stored.each_entry(objects, row, blob, |chunk, _| {
                    if stored.slot(chunk).is_none() && stored.level.vertices().in_grid(chunk) {
                        unlisted.insert(chunk.clone());
                    }
                    Ok(())
                })
            })?;
        }
        stored.chunks.extend(unlisted);
        stored.chunks.sort_unstable();
        narrow("chunks", stored.chunks.len())?;
        Ok(stored)
    }

    /// The number of a chunk.
    pub(super) fn slot(&self, chunk: &[i64]) -> Option<u32> {
        let at = self
            .chunks
            .binary_search_by(|one| one.as_slice().cmp(chunk));
        u32::try_from(at.ok()?).ok()
    }

    pub(super) fn chunk(&self, slot: u32) -> Result<&ChunkCoord, WriteError> {
        self.chunks
            .get(index(slot))
            .or_bug(format_args!("no chunk {slot}"))
    }

    /// Bytes of one position.
    pub(super) fn position_bytes(&self) -> usize {
        self.level.dims() * self.position.size()
    }

    /// Whether the order of rows implies edges from child to parent.
    pub(super) fn is_tree(&self) -> bool {
        let store = self.level.store();
        // The convention that holds where none is stated.
        let convention = store.root().links_convention().unwrap_or_default();
        store.kind() == Kind::Skeleton
            && convention == LinksConvention::ImplicitSequentialWithBranches
    }

    /// Numbers of all chunks, as many at a time as are read together.
    pub(super) fn batches(&self) -> Vec<Vec<u32>> {
        let rows = self.columns.iter().map(Column::row_bytes);
        let row = wide(self.position_bytes() + rows.sum::<usize>());
        // An estimate from the document, which may be anything.
        let rows = self.level.doc().vertex_count / wide(self.chunks.len()).max(1);
        let fit = TOGETHER_BYTES / rows.max(1).saturating_mul(row).max(1);
        let fit = usize::try_from(fit).map_or(TOGETHER, |fit| fit.clamp(1, TOGETHER));
        let slots: Vec<u32> = (0..).take(self.chunks.len()).collect();
        slots.chunks(fit).map(<[u32]>::to_vec).collect()
    }

    /// Reads chunks.
    pub(super) fn read(&self, slots: &[u32]) -> Result<Vec<Chunk>, WriteError> {
        let vertices = self.level.vertices();
        let columns = self.columns.iter().chain(&self.fragment_columns);
        let arrays: Vec<&Arc<GridArray>> = [vertices]
            .into_iter()
            .chain(self.level.vertex_fragments())
            .chain(columns.map(|one| &one.array))
            .collect();
        let chunks = slots.iter().map(|&slot| Ok(self.chunk(slot)?.as_slice()));
        let chunks = chunks.collect::<Result<Vec<_>, WriteError>>()?;
        // What a presence list lacks is not there, but for vertices, which manifests may name.
        let asked = |one: &Arc<GridArray>, chunk: &[i64]| {
            Arc::ptr_eq(one, vertices) || one.presence().contains(chunk)
        };
        let cells = self.level.cells(&arrays, &chunks, asked);
        let cells = self.handle.block_on(cells)?.into_iter();
        let chunks = slots.iter().zip(cells);
        chunks
            .map(|(&slot, cells)| self.decode(slot, cells.into_iter()))
            .collect()
    }

    fn decode(
        &self,
        slot: u32,
        mut cells: impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Chunk, WriteError> {
        let coord = self.chunk(slot)?;
        let wrong = |array: &GridArray, what: String| {
            WriteError::source(format!("{} at {coord}", array.path()), what)
        };
        let (array, size) = (self.level.vertices(), self.position_bytes());
        // A cell that is not stored is an empty one.
        let vertices = cells.next().flatten().unwrap_or_default();
        let positions = little_endian(array.dtype(), vertices);
        if !positions.len().is_multiple_of(size) {
            let what = format!("{} bytes, expected a multiple of {size}", positions.len());
            return Err(wrong(array, what));
        }
        let rows = narrow("rows of a chunk", positions.len() / size)?;
        let (mut fragments, mut fragment_index) = (u32::from(rows > 0), None);
        if let Some(array) = self.level.vertex_fragments() {
            fragment_index = cells.next().flatten().filter(|_| rows > 0);
            if let Some(blob) = &fragment_index {
                let checked = FragmentIndex::parse(blob)
                    .and_then(|stored| stored.check_rows(u64::from(rows)).map(|()| stored));
                fragments = checked
                    .map_err(|error| wrong(array, error.to_string()))?
                    .len();
            } else if rows > 0 {
                return Err(wrong(array, format!("no fragment index of {rows} rows")));
            }
        }
        let mut values = |columns: &[Column], rows: u32| -> Result<Vec<Bytes>, WriteError> {
            let column = |column: &Column| match cells.next().flatten().filter(|_| rows > 0) {
                Some(cell) => {
                    let values = column.values(cell, rows);
                    values.map_err(|what| wrong(&column.array, what))
                }
                None => Ok(Bytes::new()),
            };
            columns.iter().map(column).collect()
        };
        Ok(Chunk {
            slot,
            rows,
            positions,
            fragments,
            fragment_index,
            attributes: values(&self.columns, rows)?,
            fragment_attributes: values(&self.fragment_columns, fragments)?,
        })
    }

    /// Calls `each` with every row of the object index and its manifest.
    pub(super) fn each_manifest(
        &self,
        objects: &ObjectIndex,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        for part in 0..objects.manifest_chunks() {
            let part = self.handle.block_on(objects.manifest_chunk(part))?;
            let end = part.first_slot() + wide(part.len());
            for row in part.first_slot()..end.min(objects.len()) {
                each(row, part.blob(row))?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the chunks and fragments that a manifest names, in order.
    pub(super) fn each_entry(
        &self,
        objects: &ObjectIndex,
        row: u64,
        manifest: &[u8],
        mut each: impl FnMut(&ChunkCoord, i64) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let manifest = Manifest::parse(manifest, objects.key_rank()).map_err(|error| {
            WriteError::source(
                format!("object_index/manifests, row {row}"),
                error.to_string(),
            )
        })?;
        for block in manifest.blocks() {
            let chunk: Vec<i64> = block.chunk.iter().map(|part| part.get()).collect();
            let chunk = ChunkCoord::new(&chunk);
            for fragment in block.fragments.iter() {
                each(&chunk, fragment)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with every link of a family, those of duplicate families once.
    pub(super) fn each_link(
        &self,
        family: &LinkFamily,
        mut each: impl FnMut(&Link<'_>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let attributes = link_attributes(family);
        for (number, links) in family.arrays().iter().enumerate() {
            let arrays: Vec<Option<&Arc<GridArray>>> = attributes
                .iter()
                .map(|one| one.arrays.get(number).and_then(Option::as_ref))
                .collect();
            // Trap T5.
            let turned = self.is_tree() && family.parent_first(links) && links.width() == 2;
            let keys: Vec<&[i64]> = links.array.presence().iter().collect();
            let all = [&links.array].into_iter();
            let all: Vec<_> = all.chain(arrays.iter().copied().flatten()).collect();
            for keys in keys.chunks(TOGETHER) {
                let cells = self
                    .level
                    .cells(&all, keys, |one, key| one.presence().contains(key));
                for (key, cells) in keys.iter().zip(self.handle.block_on(cells)?) {
                    let mut cells = cells.into_iter();
                    // A cell that is not stored is an empty one.
                    let records = cells.next().flatten().unwrap_or_default();
                    let value = |one: &Option<&Arc<GridArray>>| {
                        let array = (*one)?;
                        let cell = cells.next().flatten();
                        cell.map(|cell| little_endian(array.dtype(), cell))
                    };
                    let values: Vec<Option<Bytes>> = arrays.iter().map(value).collect();
                    each_record(
                        links,
                        key,
                        turned,
                        &records,
                        &attributes,
                        &values,
                        &mut each,
                    )?;
                }
            }
        }
        Ok(())
    }
}

/// Calls `each` with every link of one cell.
fn each_record(
    links: &LinkArray,
    key: &[i64],
    turned: bool,
    records: &[u8],
    attributes: &[&LinkAttribute],
    values: &[Option<Bytes>],
    each: &mut impl FnMut(&Link<'_>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let mut ends = Vec::new();
    links.endpoint_chunks(key, &mut ends)?;
    if links.is_copy(&ends) {
        return Ok(());
    }
    let wrong = |what: String| {
        let place = format!("{} at {}", links.array.path(), ChunkCoord::new(key));
        WriteError::source(place, what)
    };
    let cell = links.decode(key, records)?;
    let mut columns = Vec::new();
    for (attribute, values) in attributes.iter().zip(values) {
        let size = row_bytes("values of a link", attribute.width, attribute.dtype)?;
        let values = values.as_deref().filter(|values| !values.is_empty());
        if values.is_some_and(|values| Some(values.len()) != cell.len().checked_mul(size)) {
            let what = format!(
                "not a value of {:?} for each of {} links",
                attribute.name,
                cell.len()
            );
            return Err(wrong(what));
        }
        let nan = NumberType::from_kind(attribute.dtype.kind).and_then(NumberType::nan);
        columns.push((values, size, nan));
    }
    let rank = links.chunk_rank().max(1);
    let mut record = vec![Endpoint::default(); links.width()];
    let (mut chunks, mut rows) = (Vec::new(), Vec::new());
    for number in 0..cell.len() {
        if !cell.record(number, &mut record) {
            return Err(wrong(format!("record {number} cannot be read")));
        }
        if turned {
            record.reverse();
        }
        chunks.clear();
        rows.clear();
        for end in &record {
            chunks.extend(row_of(&ends, end.which, rank).or_bug("an end in no chunk")?);
            // No chunk has this row, and so the link is one of those whose ends are not there.
            rows.push(u32::try_from(end.row).unwrap_or(u32::MAX));
        }
        let mut values: Vec<Option<&[u8]>> = Vec::with_capacity(columns.len());
        for (column, size, nan) in &columns {
            let value = match column {
                Some(column) => {
                    Some(row_of(column, number, *size).or_bug("a link without a value")?)
                }
                None => None,
            };
            values.push(value.filter(|value| !is_absent(nan.as_deref(), value)));
        }
        each(&Link {
            chunks: &chunks,
            rows: &rows,
            values: &values,
        })?;
    }
    Ok(())
}
