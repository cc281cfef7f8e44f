//! One level of a store, as it is stored.
//!
//! Verification reads both stores with this module, which uses nothing of the copier: mistakes of `source.rs`, `records.rs` and
//! `entries.rs` are found. It shares with the copier what `zvf-store` decodes: chunks, manifests, link cells.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::manifest::Manifest;
use zvf_meta::{Kind, LinksConvention};
use zvf_store::owners::is_owner_column;
use zvf_store::{
    CheckedFragments, ChunkCoord, ChunkParts, ChunkReader, DecodedChunk, Endpoint, GridArray,
    Level, LinkArray, LinkAttribute, LinkFamily, ObjectIndex, VertexAttribute,
};

use zvf_encode::batches::row_bytes;
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::records::row_of;
use zvf_encode::{NumberType, WriteError};
use zvf_format::int::{index, wide};

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
    pub(super) reader: ChunkReader,
}

/// Most cells of one array of links that are read together.
const TOGETHER: usize = 32;

/// Bytes of chunks that are read together, about.
const TOGETHER_BYTES: u64 = 4 << 20;

fn is_absent(absent: Option<&[u8]>, values: &[u8]) -> bool {
    absent.is_some_and(|absent| values.chunks(absent.len()).all(|value| value == absent))
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

impl Stored {
    pub(super) fn new(level: Level, handle: Handle) -> Result<Self, WriteError> {
        // An owner column is made from the manifests, which are compared.
        let columns = level.fragment_attributes().iter();
        let columns = columns.filter(|one| !is_owner_column(one));
        let columns: Vec<VertexAttribute> = columns.cloned().collect();
        let reader = level.chunks(ChunkParts {
            fragment_attributes: &columns,
            ..ChunkParts::all_of(&level)
        })?;
        let vertices = level.vertices();
        vertices.check_presence()?;
        if NumberType::from_kind(vertices.dtype().kind).is_none() {
            let what = format!("positions are {}, expected numbers", vertices.dtype());
            return Err(WriteError::source(vertices.path(), what));
        }
        let mut stored = Self {
            chunks: vertices.presence().iter().map(ChunkCoord::new).collect(),
            position: DType::little(vertices.dtype().kind),
            reader,
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
        let slots: Vec<u32> = (0..).take(self.chunks.len()).collect();
        let batches = self.reader.batches(&slots, TOGETHER_BYTES);
        batches.map(<[u32]>::to_vec).collect()
    }

    /// Reads chunks: for each one its number and its rows.
    pub(super) fn read(&self, slots: &[u32]) -> Result<Vec<(u32, DecodedChunk)>, WriteError> {
        let chunks = slots.iter().map(|&slot| Ok(self.chunk(slot)?.as_slice()));
        let chunks = chunks.collect::<Result<Vec<_>, WriteError>>()?;
        let mut read = self.handle.block_on(self.reader.read(&chunks))?;
        // Vertices that are not stored have no rows, whatever their fragments are.
        let without_rows = read.iter_mut().filter(|chunk| chunk.rows == 0);
        without_rows.for_each(|chunk| chunk.fragments = CheckedFragments::default());
        Ok(slots.iter().copied().zip(read).collect())
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
                        cell.map(|cell| array.little_endian(cell))
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
