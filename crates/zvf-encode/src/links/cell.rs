//! Encodes the records of links as the payloads of cells, and writes them.

use std::collections::BTreeMap;

use zvf_format::links::LinkCellBuilder;
use zvf_store::ChunkCoord;

use super::groups::ChunkFragments;
use super::policy::{ArrayKey, FamilySpec, LinkColumn};
use crate::documents::array::INDEX;
use crate::error::{OrBug, to_index};
use crate::level::blobs;
use crate::level::cell::fragment_index;
use crate::level::shard::LevelCells;
use crate::parallel::{Turn, pack};
use crate::records::record::{records, take_flagged, take_link};
use crate::spec::shard_shape;
use crate::target::{Below, ObjectPut, Payloads};
use crate::{WriteError, parallel};
use zvf_format::int::wide;

/// Called for every cell in which links lack values of an attribute, with the attribute, the number of links without a value, and the number of all links
/// of the cell.
pub type Missing<'m> = &'m (dyn Fn(&LinkColumn, usize, usize) + Sync);

/// Where cells are written.
#[derive(Debug, Clone, Copy)]
pub struct LinkCellSink<'s> {
    /// Where the cells of the level are stored.
    pub cells: &'s LevelCells,
    /// The place of the level.
    pub target: &'s Below<'s>,
    /// Threads that encode cells.
    pub threads: usize,
}

/// The payloads of a cell.
#[derive(Debug)]
pub struct EncodedLinkCell {
    /// The key of its bucket.
    pub key: ChunkCoord,
    /// Links in the cell, including copies.
    pub records: u64,
    /// The payload of the array of links.
    pub rows: Vec<u8>,
    /// Groups of links inside a chunk that follow its fragments; `None`: all are one group.
    pub groups: Option<Vec<u8>>,
    /// One entry per attribute; `None` if no link has a value.
    pub values: Vec<Option<Vec<u8>>>,
}

/// Facts about a written cell.
#[derive(Debug)]
pub struct WrittenLinkCell {
    /// The key of its bucket.
    pub key: ChunkCoord,
    /// Links in the cell, including copies.
    pub records: u64,
    /// Which attributes have a cell here.
    pub valued: Vec<bool>,
    /// Whether groups of links follow the fragments of the chunk.
    pub grouped: bool,
}

impl WrittenLinkCell {
    pub(super) fn of(cell: &EncodedLinkCell) -> Self {
        Self {
            key: cell.key.clone(),
            records: cell.records,
            valued: cell.values.iter().map(Option::is_some).collect(),
            grouped: cell.groups.is_some(),
        }
    }
}

impl FamilySpec {
    /// Bytes of a record.
    pub(super) fn record_size(&self) -> usize {
        self.policy.width * 5 + self.columns.iter().map(|one| one.size + 1).sum::<usize>()
    }

    /// Encodes the records of a bucket. Groups of links inside a chunk follow its `fragments`, if these are given and no link
    /// joins two of them.
    ///
    /// # Errors
    /// Malformed data: missing values of a type that has no value that means missing. Bug: a link to a row that no fragment has.
    pub(super) fn cell(
        &self,
        key: ChunkCoord,
        bytes: &[u8],
        fragments: Option<&ChunkFragments>,
        missing: Missing<'_>,
    ) -> Result<EncodedLinkCell, WriteError> {
        let (array, chunk) = self.array(&key)?;
        let width = self.policy.width;
        let size = self.record_size();
        let mut ends = match fragments.filter(|_| !self.form(array).ragged) {
            Some(fragments) => Some(fragments.ends(chunk)?),
            None => None,
        };
        let mut of_fragments = Vec::new();
        let mut builder = LinkCellBuilder::new(self.form(array));
        let mut columns: Vec<Vec<Option<&[u8]>>> = vec![Vec::new(); self.columns.len()];
        for mut record in records(bytes, size)? {
            let (placement, rows) = take_link(&mut record, width)?;
            if let Some(of_link) = &mut ends {
                match of_link.of(&rows)? {
                    Some(fragment) => of_fragments.push(fragment),
                    None => ends = None,
                }
            }
            builder
                .push(placement, &rows)
                .map_err(|source| WriteError::encode(self.path(array, None), source))?;
            if array == ArrayKey::Across {
                // One group per record (0.8 §9.4).
                builder.end_group();
            }
            for (column, one) in columns.iter_mut().zip(&self.columns) {
                column.push(take_flagged(&mut record, one.size)?);
            }
        }
        let columns = self.columns.iter().zip(columns);
        Ok(EncodedLinkCell {
            records: wide(builder.len()),
            rows: builder.finish(),
            groups: ends.map(|ends| ends.groups(&of_fragments)).transpose()?,
            values: columns
                .map(|(one, column)| {
                    let path = || self.path(array, Some(&one.name));
                    one.payload(&column, missing, path)
                })
                .collect::<Result<_, _>>()?,
            key,
        })
    }

    /// Moves the payloads out of cells, by the path of their array.
    pub fn payloads<'c>(
        &self,
        cells: &'c mut [EncodedLinkCell],
    ) -> Result<BTreeMap<String, (ArrayKey<'c>, Payloads<'c>)>, WriteError> {
        let mut arrays: BTreeMap<String, (ArrayKey<'c>, Payloads<'c>)> = BTreeMap::new();
        for cell in cells {
            let (array, chunk) = self.array(&cell.key)?;
            let mut put = |path: String, payload: Vec<u8>| {
                let (_, payloads) = arrays.entry(path).or_insert((array, Vec::new()));
                payloads.push((chunk, payload));
            };
            if cell.records > 0 {
                put(self.path(array, None), std::mem::take(&mut cell.rows));
            }
            if let Some(groups) = cell.groups.take() {
                put("link_fragments".to_owned(), groups);
            } else if !self.form(array).ragged {
                let all = to_index("links of one cell", cell.records)?;
                let fragments = fragment_index("link_fragments", [all])?;
                put("link_fragments".to_owned(), fragments);
            }
            for (one, payload) in self.columns.iter().zip(&mut cell.values) {
                if let Some(payload) = payload {
                    put(self.path(array, Some(&one.name)), std::mem::take(payload));
                }
            }
        }
        Ok(arrays)
    }

    /// Chooses the shard shapes of the arrays of these cells, if links have [shards of their own](LevelCells::with_link_shards). A cell is given by the
    /// key of its bucket and its bytes. The arrays of values and groups of links get the same shape.
    ///
    /// # Errors
    /// Bug: a key that does not belong to the family.
    pub fn choose_shards<'k>(
        &self,
        cells: &LevelCells,
        items: impl Iterator<Item = (&'k [i64], u64)>,
    ) -> Result<(), WriteError> {
        if !cells.has_link_shards() {
            return Ok(());
        }
        let mut arrays: BTreeMap<&[i64], Vec<(Vec<u64>, u64)>> = BTreeMap::new();
        for (key, size) in items {
            if let (ArrayKey::Offsets(offsets), chunk) = self.array(key)? {
                let place = cells.grid.index(chunk).map(|place| (place, size));
                arrays.entry(offsets).or_default().extend(place);
            }
        }
        for (offsets, chunks) in arrays {
            let path = self.path(ArrayKey::Offsets(offsets), None);
            cells.choose_link_shards(path, |level| {
                shard_shape::of_links(&cells.grid, level, &chunks)
            });
        }
        Ok(())
    }

    /// Where the cells of an array are stored, given the other cells of the level.
    pub(super) fn cells_of(&self, array: ArrayKey<'_>, cells: &LevelCells) -> LevelCells {
        match array {
            // The index of a shard would have an entry for every combination of chunks (0.8 §3.4).
            ArrayKey::Across => cells.loose(),
            ArrayKey::Offsets(_) | ArrayKey::Inside => cells.of_links(&self.path(array, None)),
        }
    }

    /// Encodes and writes cells on several threads. `items` are the key of a bucket, its bytes, and the input of `encode`; `step` receives the number
    /// of links of some cells.
    pub fn write<T: Send>(
        &self,
        items: impl Iterator<Item = (ChunkCoord, u64, T)>,
        encode: impl Fn(ChunkCoord, T) -> Result<EncodedLinkCell, WriteError> + Sync,
        sink: LinkCellSink<'_>,
        mut step: impl FnMut(u64),
    ) -> Result<Vec<WrittenLinkCell>, WriteError> {
        let items: Vec<(ChunkCoord, u64, T)> = items.collect();
        self.choose_shards(
            sink.cells,
            items.iter().map(|(key, size, _)| (&**key, *size)),
        )?;
        let (mut all, mut arrays) = (Vec::new(), BTreeMap::new());
        for (key, size, item) in items {
            let (array, chunk) = self.array(&key)?;
            // Cells of one object are in the same array and shard.
            let offsets = key.get(chunk.len()..).or_bug("a cell beyond its key")?;
            let mut object = blobs::index(offsets);
            let cells = arrays.entry(self.path(array, None));
            let cells = cells.or_insert_with(|| self.cells_of(array, sink.cells));
            object.extend(cells.object_index(chunk)?);
            all.push((object, size, (key, item)));
        }
        let work = |job: Vec<(ChunkCoord, T)>, turn: Turn<'_>| {
            let cells = job.into_iter().map(|(key, item)| encode(key, item));
            let mut cells = cells.collect::<Result<Vec<EncodedLinkCell>, _>>()?;
            let stored = cells.iter().map(WrittenLinkCell::of).collect();
            let mut objects: Vec<ObjectPut> = Vec::new();
            let arrays = self.payloads(&mut cells)?;
            turn.take(|| {
                let mut arrays = arrays.iter();
                arrays.try_for_each(|(path, (array, payloads))| {
                    let cells = self.cells_of(*array, sink.cells);
                    cells.of_items(INDEX).choose(path, payloads)
                })
            })?;
            for (path, (array, payloads)) in arrays {
                let cells = self.cells_of(array, sink.cells);
                objects.extend(cells.of_items(INDEX).objects(&path, payloads)?);
            }
            sink.target.put(objects)?;
            Ok(stored)
        };
        let mut stored = Vec::new();
        let take = |mut some: Vec<WrittenLinkCell>| {
            step(some.iter().map(|cell| cell.records).sum());
            stored.append(&mut some);
            Ok(())
        };
        parallel::each_in_turn(sink.threads, pack(all).into_iter(), work, take)?;
        Ok(stored)
    }
}

impl LinkColumn {
    /// The values of one cell. If no link has a value, there is no cell; if some have, the others get the value that means missing.
    ///
    /// # Errors
    /// Malformed data: some links have no value, and the type has no value that means missing.
    fn payload(
        &self,
        column: &[Option<&[u8]>],
        report: Missing<'_>,
        path: impl FnOnce() -> String,
    ) -> Result<Option<Vec<u8>>, WriteError> {
        let missing = column.iter().filter(|value| value.is_none()).count();
        if missing > 0 {
            report(self, missing, column.len());
        }
        if missing == column.len() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(column.len() * self.size);
        for value in column {
            match value.or(self.absent.as_deref()) {
                Some(value) => values.extend_from_slice(value),
                None => {
                    let found = format!(
                        "{missing} links without a value, in one chunk with others that have one"
                    );
                    let expected = "a value for each: the type has no value that means missing";
                    return Err(WriteError::data(path(), found, expected));
                }
            }
        }
        Ok(Some(values))
    }
}
