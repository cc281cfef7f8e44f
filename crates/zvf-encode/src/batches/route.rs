//! Step 1: routes the record of each vertex to the bucket of its chunk, and links to a queue.

use std::collections::HashSet;
use std::path::Path;

use arrow_array::Array;
use zvf_meta::Kind;
use zvf_store::ChunkCoord;

use crate::batches::batch::Batch;
use crate::batches::block::SortedBlock;
use crate::batches::categories::Categories;
use crate::batches::chunk_by::{SplitKeys, Unkeyed};
use crate::batches::copy::scatter;
use crate::batches::layout::VertexLayout;
use crate::batches::prepare::{BatchContext, Corners, PreparedBatch, PreparedColumn, include};
use crate::error::{OrBug, internal};
use crate::records::bucket::Buckets;
use crate::records::record::{row_of, take};
use crate::records::spill::Spool;
use crate::spec::store::{AttributeType, Outside, StoreSpec};
use crate::spec::target_version::{ID_IS_ROW, NO_ORIGIN};
use crate::{WriteError, parallel};
use zvf_format::int::wide;

/// Accepts batches: appends the record of each vertex to the bucket of its chunk, and links to a queue.
#[derive(Debug)]
pub struct Router {
    /// The layout of the records.
    pub layout: VertexLayout,
    /// A bucket of records for each chunk.
    pub rows: Buckets<ChunkCoord>,
    /// Links: endpoints as u64, then attributes.
    pub links: Spool,
    /// Number of pushed links.
    pub link_count: u64,
    /// The texts of each vertex attribute; empty for numbers.
    pub categories: Vec<Categories>,
    /// The values that split chunks, in addition to position.
    pub keys: Option<SplitKeys>,
    /// Corners of all positions.
    pub extent: Option<Corners>,
    /// Number of pushed vertices.
    pub vertices: u64,
    /// Most threads for a large batch.
    threads: usize,
    /// Corners beyond which a vertex is refused.
    reach: Option<Corners>,
    /// Number of pushed batches.
    pub batches: u64,
    /// Of a store of skeletons: the objects of earlier batches.
    whole: HashSet<i64>,
    /// The number of each vertex in order of arrival; recorded only on request.
    pub(crate) trace: Option<Vec<u64>>,
}

impl Router {
    /// A router for batches of a store. About `budget` bytes are held in memory, more goes to temporary files in `folder`.
    pub fn new(spec: &StoreSpec, budget: usize, folder: &Path) -> Self {
        Self {
            layout: VertexLayout::new(spec),
            rows: Buckets::new(budget / 2, folder),
            links: Spool::new(budget / 16, folder),
            link_count: 0,
            categories: spec
                .vertex_attributes
                .iter()
                .map(|_| Categories::default())
                .collect(),
            keys: SplitKeys::of(spec),
            extent: None,
            vertices: 0,
            threads: 1,
            reach: spec.reach().filter(|_| spec.outside == Outside::Refuse),
            batches: 0,
            whole: HashSet::new(),
            trace: None,
        }
    }

    /// Records the number of each vertex, so that [`write_arrays`](crate::level::write_arrays) can return its row: vertices of
    /// skeletons are renumbered.
    pub fn with_trace(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// Uses several threads for large batches.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Accepts a batch as a whole, or rejects it.
    ///
    /// # Cost
    /// O(vertices); writes temporary files beyond the budget.
    ///
    /// # Errors
    /// Before rows are appended: misuse; limit: too many categories. After that: I/O of temporary files.
    pub fn push(&mut self, spec: &StoreSpec, batch: &Batch) -> Result<(), WriteError> {
        let keys = self.key_column(spec, batch)?;
        let context = BatchContext {
            spec,
            keys: keys.as_deref(),
            reach: self.reach.as_ref(),
            batch: self.batches,
            first: self.vertices,
            threads: self.threads,
        };
        let prepared = context.prepare(batch)?;
        self.check_target(spec, &prepared)?;
        let whole = match spec.kind {
            Kind::Skeleton => self.whole_of(&prepared)?,
            _ => HashSet::new(),
        };
        let columns = self.coded(spec, &prepared)?;
        // Only of a batch that is accepted.
        self.whole.extend(whole);
        if let Some(trace) = &mut self.trace {
            match &prepared.walk {
                Some(walk) => {
                    trace.extend(walk.place.iter().map(|&at| self.vertices + wide(at)));
                }
                None => trace.extend(self.vertices..self.vertices + wide(prepared.rows)),
            }
        }
        self.append_rows(spec, &prepared, &columns)?;
        self.append_links(spec, &prepared)?;
        if let Some((low, high)) = &prepared.extent {
            include(&mut self.extent, (low, high));
        }
        self.vertices += wide(prepared.rows);
        self.batches += 1;
        Ok(())
    }

    /// Checks that the target version can hold the batch.
    fn check_target(
        &self,
        spec: &StoreSpec,
        prepared: &PreparedBatch<'_>,
    ) -> Result<(), WriteError> {
        let bad = |column: String, found: String, expected: &str| WriteError::Batch {
            batch: self.batches,
            column,
            found,
            expected: expected.to_owned(),
        };
        let rules = spec.target.rules();
        if let Some(id) = rules.bad_id(&prepared.objects) {
            return Err(bad("objects".to_owned(), format!("id {id}"), ID_IS_ROW));
        }
        let Some((low, _)) = &prepared.extent else {
            return Ok(());
        };
        rules
            .check_corner(spec, low)
            .map_err(|(axis, found)| bad(format!("positions, axis {axis}"), found, NO_ORIGIN))
    }

    /// The first component of the chunk key of each row. New texts of a batch that is refused later are harmless: only values of chunks are used.
    fn key_column(
        &mut self,
        spec: &StoreSpec,
        batch: &Batch,
    ) -> Result<Option<Vec<i64>>, WriteError> {
        let (Some(keys), Some(one)) = (&mut self.keys, &spec.chunk_by) else {
            return Ok(None);
        };
        let name = &one.attribute.name;
        let values = batch.attributes.iter().find(|(given, _)| given == name);
        let found = match values {
            Some((_, values)) => keys.codes(values),
            None => Err(Unkeyed {
                row: None,
                found: "nothing".to_owned(),
                expected: "a value for every row".to_owned(),
            }),
        };
        found.map(Some).map_err(|wrong| WriteError::Batch {
            batch: self.batches,
            column: match wrong.row {
                Some(row) => format!("attribute {name}, row {row}"),
                None => format!("attribute {name}"),
            },
            found: wrong.found,
            expected: wrong.expected,
        })
    }

    /// The objects of a batch. Refuses an object of an earlier batch: depth-first order needs all nodes of a tree in one batch.
    fn whole_of(&self, prepared: &PreparedBatch<'_>) -> Result<HashSet<i64>, WriteError> {
        let mut new = HashSet::new();
        let mut before = None;
        for &object in prepared.objects.iter() {
            if before.replace(object) == Some(object) {
                continue;
            }
            if self.whole.contains(&object) {
                return Err(WriteError::Batch {
                    batch: self.batches,
                    column: format!("objects, id {object}"),
                    found: "a skeleton of an earlier batch".to_owned(),
                    expected: "each skeleton whole in one batch".to_owned(),
                });
            }
            new.insert(object);
        }
        Ok(new)
    }

    /// The attribute columns as bytes, texts as codes.
    fn coded<'p>(
        &mut self,
        spec: &StoreSpec,
        prepared: &'p PreparedBatch<'_>,
    ) -> Result<Vec<std::borrow::Cow<'p, [u8]>>, WriteError> {
        let mut columns = Vec::new();
        for (column, categories) in prepared.attributes.iter().zip(&mut self.categories) {
            columns.push(match column {
                PreparedColumn::Bytes(bytes) => std::borrow::Cow::Borrowed(&**bytes),
                PreparedColumn::Texts(texts) => {
                    let mut codes = Vec::with_capacity(texts.len() * 4);
                    for text in texts.iter() {
                        codes.extend_from_slice(&categories.code(text)?.to_le_bytes());
                    }
                    std::borrow::Cow::Owned(codes)
                }
            });
        }
        debug_assert!(
            spec.vertex_attributes
                .iter()
                .all(|one| one.values != AttributeType::Text)
        );
        Ok(columns)
    }

    fn append_rows(
        &mut self,
        spec: &StoreSpec,
        prepared: &PreparedBatch<'_>,
        columns: &[std::borrow::Cow<'_, [u8]>],
    ) -> Result<(), WriteError> {
        let records = RecordInput {
            layout: &self.layout,
            first: self.vertices,
            prepared,
            columns,
        };
        let work = |block: &SortedBlock| records.of(block);
        let buckets = &mut self.rows;
        let blocks = prepared.blocks.iter();
        let (rank, width) = (spec.key_rank(), self.layout.width);
        let mut place = 0_usize;
        let take = |bytes: Vec<u8>| {
            let mut rest = &*bytes;
            let block = prepared.blocks.get(place);
            let block = block.or_bug("rows of no block")?;
            for (chunk, count) in block.runs(rank) {
                let run = take(&mut rest, count * width)?;
                let bucket = buckets.number(chunk, ChunkCoord::new);
                buckets.push(bucket, |out| out.extend_from_slice(run))?;
            }
            internal!(rest.is_empty(), "{} bytes of rows of no chunk", rest.len());
            place += 1;
            buckets.relieve()
        };
        parallel::ordered(self.threads, blocks, work, take)
    }

    fn append_links(
        &mut self,
        spec: &StoreSpec,
        prepared: &PreparedBatch<'_>,
    ) -> Result<(), WriteError> {
        let widths: Vec<usize> = spec
            .links
            .attributes
            .iter()
            .map(crate::batches::layout::row_size)
            .collect();
        let mut record = Vec::new();
        for (at, ends) in prepared.links.chunks_exact(spec.links.width).enumerate() {
            record.clear();
            ends.iter()
                .for_each(|vertex| record.extend_from_slice(&vertex.to_le_bytes()));
            for (column, &width) in prepared.link_attributes.iter().zip(&widths) {
                let value = row_of(column, at, width);
                record.extend_from_slice(value.or_bug("a link without a value")?);
            }
            self.links.push(&record)?;
            self.link_count += 1;
        }
        Ok(())
    }
}

/// The inputs of the records of a batch.
struct RecordInput<'r> {
    layout: &'r VertexLayout,
    /// Number of the batch's first vertex.
    first: u64,
    prepared: &'r PreparedBatch<'r>,
    columns: &'r [std::borrow::Cow<'r, [u8]>],
}

impl RecordInput<'_> {
    /// The records of a block's rows, in the order of the block.
    fn of(&self, block: &SortedBlock) -> Result<Vec<u8>, WriteError> {
        let width = self.layout.width;
        let (start, order) = (block.start, &*block.order);
        let mut out = vec![0; order.len() * width];
        let rows = || order.iter().map(|&row| start + row as usize);
        let walk = self.prepared.walk.as_ref();
        // Checked once, because the loops below would silently skip invalid rows.
        let end = rows().fold(0, |end, row| end.max(row + 1));
        internal!(
            end <= self.prepared.rows
                && walk.is_none_or(|walk| walk.place.len() >= end && walk.root.len() >= end)
                && (self.layout.object.is_none() || self.prepared.objects.len() >= end),
            "row {end} of {} rows",
            self.prepared.rows
        );
        for (record, row) in out.chunks_exact_mut(width).zip(rows()) {
            let place = walk.and_then(|walk| walk.place.get(row)).copied();
            let number = self.first + wide(place.unwrap_or(row));
            if let Some(into) = record.first_chunk_mut() {
                *into = number.to_le_bytes();
            }
        }
        if let Some(at) = self.layout.object {
            for (record, row) in out.chunks_exact_mut(width).zip(rows()) {
                let into = record.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
                if let (Some(into), Some(object)) = (into, self.prepared.objects.get(row)) {
                    *into = object.to_le_bytes();
                }
            }
        }
        if let (Some(at), Some(walk)) = (self.layout.root, walk) {
            for (record, row) in out.chunks_exact_mut(width).zip(rows()) {
                if let (Some(into), Some(root)) = (record.get_mut(at), walk.root.get(row)) {
                    *into = u8::from(*root);
                }
            }
        }
        let positions = (&self.layout.position, &*self.prepared.positions);
        let columns = self.columns.iter().map(|column| &**column);
        let of_fragments = self.prepared.fragment_attributes.iter();
        let of_fragments = of_fragments.map(|column| &**column);
        for (range, column) in std::iter::once(positions)
            .chain(self.layout.attributes.iter().zip(columns))
            .chain(self.layout.fragment_attributes.iter().zip(of_fragments))
        {
            let part = column.get(start * range.len()..);
            let part = part.or_bug("a column ends before a block")?;
            scatter(&mut out, width, range.start, part, range.len(), order)?;
        }
        Ok(out)
    }
}
