//! Stored link records: determines the cells that a query needs, and decodes their endpoints in the order of the application.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use zvf_store::format::keys::{format_delta, format_key};
use zvf_store::{
    CellWant, ChunkCoord, Chunks, Endpoint, GridArray, LinkArray, LinkAttribute, LinkFamily,
};

pub(crate) use zvf_store::Touch;

use crate::QueryError;
use crate::columns::arrow;
use crate::columns::attribute::{Cell, ColumnSpec};
use crate::error::{OrBug, Place, count_warning};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::row_map::Key;
use zvf_store::format::int;

/// Most cells that are read together.
const MOST_CELLS: usize = 64;

/// A family with the requested attributes, shared with worker threads.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) links: LinkFamily,
    /// The attributes with readable values.
    attributes: Vec<LinkAttribute>,
    /// The columns of the attributes.
    pub(crate) columns: Vec<ColumnSpec>,
    pub(crate) level: u32,
    /// Cells and links that were read.
    cells_read: AtomicU64,
    links_read: AtomicU64,
    /// Rows of cells that were decoded.
    pub(super) rows_read: AtomicU64,
    /// For each attribute, whether links without a required value were read.
    missing: Vec<AtomicBool>,
}

/// The requested groups of one link cell.
#[derive(Debug)]
pub(crate) struct WantedGroups {
    /// `link_fragments`.
    pub(super) array: Arc<GridArray>,
    /// Fragments of the chunk, ascending.
    pub(super) fragments: Vec<u32>,
}

/// The groups of the records of a cell.
#[derive(Debug)]
pub(crate) struct FoundGroups {
    /// The chunk.
    pub(super) slot: Option<Slot>,
    /// Number of groups of the cell.
    pub(super) count: u32,
    /// The group of each record.
    pub(super) group: Vec<u32>,
    /// The row of each record in its cell.
    pub(super) rows: Vec<u32>,
}

/// One cell to read: the array's number in the family, and the chunk.
#[derive(Debug, Clone)]
pub(crate) struct LinkCellRef {
    pub(crate) array: usize,
    pub(crate) source: ChunkCoord,
    /// The requested groups; `None`: all records.
    pub(crate) groups: Option<Arc<WantedGroups>>,
}

/// The records of one cell.
#[derive(Debug)]
pub(crate) struct RecordCell {
    pub(crate) at: LinkCellRef,
    /// Whether the first endpoint of a record is the parent of the second.
    pub(crate) parent_first: bool,
    /// L endpoints for each record.
    pub(crate) keys: Vec<Key>,
    /// One for each attribute of the family.
    pub(crate) attributes: Vec<Cell>,
    /// The groups of the records, if only some groups of the cell were read.
    pub(crate) groups: Option<FoundGroups>,
}

impl RecordCell {
    /// The row of record `i` in its cell; for a missing record, a row beyond all cells, which is an error when its values are copied.
    pub(crate) fn row(&self, i: usize) -> u32 {
        match &self.groups {
            Some(groups) => groups.rows.get(i).copied().unwrap_or(u32::MAX),
            None => u32::try_from(i).unwrap_or(u32::MAX),
        }
    }
}

/// The message for links that are not found because the server cannot list.
fn unlisted(stated: u64, found: u64) -> String {
    format!(
        "{found} of {stated} links are found: the names of the arrays of links between distant chunks are known only from a listing; download the store, or serve \
         it from a bucket"
    )
}

impl Family {
    /// Prepares a family.
    pub(crate) fn new(links: LinkFamily, level: u32) -> Self {
        let readable = |attribute: &&LinkAttribute| arrow::element_type(attribute.dtype).is_some();
        let attributes: Vec<LinkAttribute> = links
            .attributes()
            .iter()
            .filter(readable)
            .cloned()
            .collect();
        let columns = attributes
            .iter()
            .map(|attribute| ColumnSpec {
                name: attribute.name.clone(),
                array: None,
                absent: false,
                dtype: attribute.dtype,
                declared: usize::try_from(attribute.width).ok(),
                wider: None,
                categories: None,
                dictionary: None,
                fill_code: None,
                metadata: {
                    let stated = attribute.stated();
                    let description = stated.and_then(|stated| stated.description.as_deref());
                    let names = stated.and_then(|stated| stated.channel_names.as_deref());
                    arrow::metadata(attribute.unit.as_deref(), description, names)
                },
            })
            .collect();
        Self {
            links,
            missing: attributes.iter().map(|_| AtomicBool::default()).collect(),
            attributes,
            columns,
            level,
            cells_read: AtomicU64::new(0),
            links_read: AtomicU64::new(0),
            rows_read: AtomicU64::new(0),
        }
    }

    /// Rows of cells that were decoded.
    pub(crate) fn rows_read(&self) -> u64 {
        self.rows_read.load(Ordering::Relaxed)
    }

    /// Warnings about missing links and values among those that were read.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.count_warning().into_iter().collect();
        let level = self.level;
        let missing = self.attributes.iter().zip(&self.missing);
        for (attribute, _) in missing.filter(|(_, missing)| missing.load(Ordering::Relaxed)) {
            all.push(format!(
                "level {level}, link attribute {}: some links have no values and are null; `zvf validate` finds where",
                attribute.name
            ));
        }
        all
    }

    /// Fails if links cannot be found: the names of arrays were guessed, all cells were read, and their number of links differs from the document.
    ///
    /// # Errors
    ///
    /// Unsupported: links that cannot be found.
    pub(crate) fn check_found(&self) -> Result<(), QueryError> {
        let Some((stated, found)) = self.differing_count().filter(|_| self.links.is_guessed())
        else {
            return Ok(());
        };
        let folder = format!("links/{}", format_delta(self.links.delta()));
        let what = format!(
            "reading links from a server that cannot list ({})",
            unlisted(stated, found)
        );
        Err(QueryError::unsupported(
            Place::array(self.level, &folder),
            what,
        ))
    }

    /// Checks that the stored links of trees are found: a row whose stored link to its parent is not found would be linked to the row before it. Fails
    /// as [`check_found`](Self::check_found). Returns a warning if the names of arrays were guessed and not all cells were read.
    ///
    /// # Errors
    ///
    /// Unsupported: links that cannot be found.
    pub(crate) fn check_parents(&self) -> Result<Option<String>, QueryError> {
        self.check_found()?;
        let all = self.stated_and_found().is_some();
        let place = format!("{}/links/{}", self.level, format_delta(self.links.delta()));
        Ok((self.links.is_guessed() && !all).then(|| {
            format!(
                "{place}: the names of the arrays of links between distant chunks are known only from a listing: a vertex whose link to its parent is in such an \
                 array is linked to the vertex before it; download the store, or serve it from a bucket"
            )
        }))
    }

    /// The number of links that the document states, and the number that was found, if all cells of the family were read.
    fn stated_and_found(&self) -> Option<(u64, u64)> {
        let arrays = self.links.arrays().iter();
        let cells = arrays.map(|one| int::wide(one.array.presence().len()));
        let all = self.cells_read.load(Ordering::Relaxed) == cells.sum::<u64>();
        let stated = self.links.stated_links()?;
        all.then(|| (stated, self.links_read.load(Ordering::Relaxed)))
    }

    /// [`stated_and_found`](Self::stated_and_found), if these differ.
    fn differing_count(&self) -> Option<(u64, u64)> {
        let counts = self.stated_and_found();
        counts.filter(|(stated, found)| found != stated)
    }

    /// A warning if all cells of the family were read and their number of links differs from the document: links were lost or are not found, or
    /// the number is out of date (`zvf-0.9`, section 13.2).
    fn count_warning(&self) -> Option<String> {
        let (stated, found) = self.differing_count()?;
        let place = format!("{}/links/{}", self.level, format_delta(self.links.delta()));
        match self.links.is_guessed() && found < stated {
            true => Some(format!("{place}: {}", unlisted(stated, found))),
            false => count_warning(&place, ("num_links", stated), (found, "links")),
        }
    }

    /// Endpoints of a record.
    pub(crate) fn width(&self) -> usize {
        self.links.width()
    }

    /// Attributes of a dtype that answers cannot have; they are left out.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &str> {
        let all = self.links.attributes().iter();
        all.filter(|attribute| arrow::element_type(attribute.dtype).is_none())
            .map(|attribute| attribute.name.as_str())
    }

    /// The cells that can hold links of the query's chunks, in the order of record numbers (`zvf-0.9`, section 13.5).
    ///
    /// # Errors
    ///
    /// Malformed: a cell with an endpoint in a chunk without vertices, if the query reads the `whole` level.
    pub(crate) fn cells(
        &self,
        table: &ChunkTable,
        whole: bool,
        touch: Touch,
    ) -> Result<Vec<LinkCellRef>, QueryError> {
        let mut found = Vec::new();
        if table.len() == 0 {
            return Ok(found);
        }
        for (number, array) in self.links.arrays().iter().enumerate() {
            let start = found.len();
            array.cells_near(table, touch, |source, _| {
                found.push(LinkCellRef {
                    array: number,
                    source,
                    groups: None,
                });
            })?;
            if whole {
                self.check_whole(number, table, touch, found.len() - start)?;
            }
            if let Some(part) = found.get_mut(start..) {
                part.sort_by_cached_key(|cell| format_key(&cell.source).to_string());
            }
        }
        Ok(found)
    }

    /// For a query of the whole level: fails if a cell does not touch the chunks of the query. `near` is the number of cells that touch them.
    fn check_whole(
        &self,
        number: usize,
        table: &ChunkTable,
        touch: Touch,
        near: usize,
    ) -> Result<(), QueryError> {
        let Some(array) = self.links.arrays().get(number) else {
            return Ok(());
        };
        let presence = array.array.presence();
        // Without a presence list, the shards were listed, and presence includes all of their cells, even empty ones.
        let guessed = presence.is_listed() && array.array.is_sharded();
        if near >= presence.len() || guessed {
            return Ok(());
        }
        let mut ends = Vec::new();
        for source in presence.iter() {
            array.endpoint_chunks(source, &mut ends)?;
            let mut inside = ends
                .chunks_exact(array.chunk_rank().max(1))
                .map(|chunk| table.has(chunk));
            let touches = match touch {
                Touch::All => inside.all(|inside| inside),
                Touch::Any => inside.any(|inside| inside),
            };
            if !touches {
                let place = Place::cell(self.level, &self.path(number), source);
                return Err(QueryError::malformed(
                    place,
                    "links reach into a chunk that has no vertices",
                ));
            }
        }
        Ok(())
    }

    /// Path of an array of the family inside its level.
    pub(crate) fn path(&self, array: usize) -> String {
        let array = self.links.arrays().get(array);
        let path = array.map_or("links", |array| array.array.path());
        path.split_once('/')
            .map_or(path, |(_, inside)| inside)
            .to_owned()
    }

    /// The cells of one link cell: records, their groups if requested, then attributes.
    pub(crate) fn wants(&self, cell: &LinkCellRef, out: &mut Vec<CellWant>) {
        if let Some(array) = self.links.arrays().get(cell.array) {
            out.push(CellWant {
                array: Arc::clone(&array.array),
                chunk: cell.source.clone(),
            });
        }
        if let Some(groups) = &cell.groups
            && groups.array.presence().contains(&cell.source)
        {
            out.push(CellWant {
                array: Arc::clone(&groups.array),
                chunk: cell.source.clone(),
            });
        }
        for attribute in &self.attributes {
            if let Some(Some(array)) = attribute.arrays.get(cell.array)
                && array.presence().contains(&cell.source)
            {
                out.push(CellWant {
                    array: Arc::clone(array),
                    chunk: cell.source.clone(),
                });
            }
        }
    }

    /// Every cell of the family, in the order of record numbers.
    pub(crate) fn all_cells(&self) -> Vec<LinkCellRef> {
        let mut found: Vec<LinkCellRef> = Vec::new();
        for (number, array) in self.links.arrays().iter().enumerate() {
            let start = found.len();
            let sources = array.array.presence().iter();
            found.extend(sources.map(|source| LinkCellRef {
                array: number,
                source: ChunkCoord::from(source),
                groups: None,
            }));
            if let Some(part) = found.get_mut(start..) {
                part.sort_by_cached_key(|cell| format_key(&cell.source).to_string());
            }
        }
        found
    }

    /// Splits cells into groups that are read together. Groups are so small that several fit the budget if the counts in documents are right.
    pub(crate) fn parts(&self, cells: Vec<LinkCellRef>, budget: u64) -> Vec<Vec<LinkCellRef>> {
        let (arrays, doc) = (self.links.arrays(), self.links.doc());
        let count = |array: &LinkArray| int::wide(array.array.presence().len());
        let all: u64 = arrays.iter().map(count).sum();
        let records = doc.num_physical_records.or(doc.num_links).unwrap_or(0);
        // Nearly all links are inside chunks; links between chunks are distributed over the cells of all arrays.
        let per = |cell: &LinkCellRef| {
            let inside = arrays.get(cell.array).filter(|array| array.is_intra());
            records / inside.map_or(all, count).max(1)
        };
        // Endpoints are in memory three times: as stored, as keys and as rows of the answer; attributes twice.
        let values: usize = self.columns.iter().map(ColumnSpec::row_bytes).sum();
        let record = int::wide(self.width().saturating_mul(24).saturating_add(values * 2));
        together(cells, per, budget / 16 / record.max(1))
    }

    /// Decodes one link cell; consumes cells in the order of [`wants`](Self::wants). Calls `each` for every record, with the chunks of its endpoints.
    /// Families that store a record several times are visited only at the lexicographically smallest chunk of the record. Returns the attributes,
    /// with the number of records.
    ///
    /// # Errors
    ///
    /// Malformed cells.
    pub(crate) fn each(
        &self,
        at: &LinkCellRef,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
        ends: &mut Vec<i64>,
        record: &mut [Endpoint],
        mut each: impl FnMut(&[i64], &[Endpoint]),
    ) -> Result<Vec<(Cell, u32)>, QueryError> {
        let Some(array) = self.links.arrays().get(at.array) else {
            return Err(QueryError::malformed(
                Place::array(self.level, "links"),
                "no such array",
            ));
        };
        let bytes = cells.next().flatten().unwrap_or_default();
        let place = || Place::cell(self.level, &self.path(at.array), &at.source);
        array.endpoint_chunks(&at.source, ends)?;
        let cell = array.decode(&at.source, &bytes)?;
        // All records of a cell have the same endpoint chunks, so copies are skipped as whole cells.
        let records = if array.is_copy(ends) { 0 } else { cell.len() };
        self.cells_read.fetch_add(1, Ordering::Relaxed);
        if self.links.counts(array) {
            self.links_read
                .fetch_add(int::wide(records), Ordering::Relaxed);
        }
        self.rows_read
            .fetch_add(int::wide(records), Ordering::Relaxed);
        for i in 0..records {
            if !cell.record(i, record) {
                return Err(QueryError::malformed(
                    place(),
                    format!("record {i} cannot be read"),
                ));
            }
            if let Some(end) = record.iter().find(|end| u32::try_from(end.row).is_err()) {
                let what = format!("record {i} names row {}, outside every chunk", end.row);
                return Err(QueryError::malformed(place(), what));
            }
            each(ends, record);
        }
        let attributes = self.attributes(at, cell.len(), records, cells)?;
        let records = u32::try_from(records)
            .ok()
            .or_bug("more records than 32 bits count")?;
        Ok(attributes.into_iter().map(|one| (one, records)).collect())
    }

    /// Decodes the attributes of a cell with `rows` rows, of which `records` are used.
    ///
    /// # Errors
    ///
    /// Malformed cells.
    pub(super) fn attributes(
        &self,
        at: &LinkCellRef,
        rows: usize,
        records: usize,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Vec<Cell>, QueryError> {
        let mut attributes = Vec::with_capacity(self.columns.len());
        let wanted = self.columns.iter().zip(&self.attributes).zip(&self.missing);
        for ((spec, attribute), missing) in wanted {
            let array = attribute.arrays.get(at.array).and_then(Option::as_ref);
            let values = match array.filter(|array| array.presence().contains(&at.source)) {
                None => Cell::Missing,
                Some(array) => match cells.next().flatten() {
                    None => Cell::Missing,
                    Some(bytes) => {
                        let rows = u32::try_from(rows).ok();
                        let rows = rows.or_bug("more records than 32 bits count")?;
                        spec.cell(bytes, rows).map_err(|what| {
                            let path = array.path();
                            let path = path.split_once('/').map_or(path, |(_, rest)| rest);
                            QueryError::malformed(Place::cell(self.level, path, &at.source), what)
                        })?
                    }
                },
            };
            if records > 0
                && matches!(values, Cell::Missing)
                && attribute.is_complete_in(&self.links, at.array)
            {
                missing.store(true, Ordering::Relaxed);
            }
            attributes.push(values);
        }
        Ok(attributes)
    }

    /// Decodes one link cell to records whose endpoints are rows of the query's chunks.
    ///
    /// # Errors
    ///
    /// As [`each`](Self::each).
    pub(crate) fn decode(
        &self,
        at: LinkCellRef,
        table: &ChunkTable,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<RecordCell, QueryError> {
        if let Some(groups) = at.groups.clone() {
            return self.decode_groups(at, &groups, table, cells);
        }
        let mut keys = Vec::new();
        let mut ends = Vec::new();
        let mut record = vec![Endpoint::default(); self.width()];
        let mut slots: Option<Vec<Option<Slot>>> = None;
        let array = self.links.arrays().get(at.array);
        let rank = array.map_or(1, |array| array.chunk_rank().max(1));
        let attributes = self.each(&at, cells, &mut ends, &mut record, |ends, record| {
            let slots = slots.get_or_insert_with(|| {
                ends.chunks_exact(rank)
                    .map(|chunk| table.slot(chunk))
                    .collect()
            });
            for end in record {
                let slot = slots.get(end.which).copied().flatten();
                let key = slot
                    .zip(u32::try_from(end.row).ok())
                    .map(|(slot, row)| Key::new(slot, row));
                keys.push(key.unwrap_or(Key::OUTSIDE));
            }
        })?;
        let parent_first = array.is_some_and(|array| self.links.parent_first(array));
        let attributes = attributes.into_iter().map(|(values, _)| values).collect();
        Ok(RecordCell {
            at,
            parent_first,
            keys,
            attributes,
            groups: None,
        })
    }

    /// Checks that all endpoints of a cell are inside the buffers of their chunks.
    ///
    /// # Errors
    ///
    /// Malformed: an endpoint beyond the rows of its chunk, with the record.
    pub(crate) fn check_rows(
        &self,
        cell: &RecordCell,
        rows: impl Fn(Slot) -> Option<u32>,
    ) -> Result<(), QueryError> {
        for (at, key) in cell.keys.iter().enumerate() {
            if let Some(rows) = rows(key.slot()).filter(|rows| key.row() >= *rows) {
                let record = cell.row(at.checked_div(self.width()).unwrap_or(0));
                let place = Place::cell(self.level, &self.path(cell.at.array), &cell.at.source);
                let what = format!(
                    "record {record} names row {}, the chunk has {rows}",
                    key.row()
                );
                return Err(QueryError::malformed(place, what));
            }
        }
        Ok(())
    }
}

/// Splits cells, in order, into groups with at most `most` records; a larger cell is a group of its own.
fn together<C>(cells: Vec<C>, records: impl Fn(&C) -> u64, most: u64) -> Vec<Vec<C>> {
    let mut parts: Vec<Vec<C>> = Vec::new();
    let mut sum = 0_u64;
    for cell in cells {
        let own = records(&cell);
        sum = sum.saturating_add(own);
        match parts.last_mut() {
            Some(part) if part.len() < MOST_CELLS && sum <= most => part.push(cell),
            _ => {
                sum = own;
                parts.push(vec![cell]);
            }
        }
    }
    parts
}

impl Chunks for ChunkTable {
    fn count(&self) -> usize {
        self.len()
    }

    fn visit(&self, each: &mut dyn FnMut(&[i64])) {
        self.iter().for_each(each);
    }

    fn has(&self, chunk: &[i64]) -> bool {
        self.slot(chunk).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn full_cells_are_read_alone_and_small_ones_together() {
        let parts = together(vec![3_u64, 4, 5, 90, 1, 1, 8], |own| *own, 10);
        assert_eq!(parts, [vec![3, 4], vec![5], vec![90], vec![1, 1, 8]]);
        // The number of records is not declared.
        let sizes: Vec<usize> = together(vec![0_u64; 150], |own| *own, 10)
            .iter()
            .map(Vec::len)
            .collect();
        assert_eq!(sizes, [64, 64, 22]);
        assert_eq!(together(vec![u64::MAX; 2], |own| *own, 0).len(), 2);
        assert!(together(Vec::<u64>::new(), |own| *own, 1).is_empty());
    }
}
