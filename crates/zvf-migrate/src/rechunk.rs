//! Copies into chunks of another shape: rows and their fragments move to other chunks.
//!
//! ```text
//! manifests ─▶ the order of fragments: as objects name them
//! chunks ─▶ one bucket per new chunk: rows; and memberships, which are rows of a fragment at a position
//! each new chunk: memberships sorted by (order, fragment, position) ─▶ rows in that order, runs become fragments
//! ```
//!
//! A run is a sequence of rows of one fragment that all move to one new chunk. Consecutive runs of one object in one chunk are merged, if no other
//! object has their fragments and fragments have no attributes. So an object is divided only at the borders of new chunks, not of old ones.

use std::path::Path;

use zvf_format::dtype::DType;
use zvf_meta::space::{bins_per_chunk, chunk_at};
use zvf_store::{ChunkColumn, ChunkCoord};

use super::cells::{ArrayPath, LevelSink};
use super::destinations::{Destinations, MovedRows, span};
use super::new_level::{CopiedChunk, NewLevel};
use super::order::{FragmentOrder, UNNAMED, fragment_starts, order};
use super::report::Notes;
use super::source::{RowsOfFragment, SourceChunk, SourceLevel};
use zvf_encode::error::{OrBug, internal, narrow, signed64};
use zvf_encode::level::bin_of;
use zvf_encode::parallel::{Turn, pack};
use zvf_encode::records::{
    Bucket, Buckets, Sorter, SpillFile, VertexPlaces, put_flagged, row_of, take_array, take_flagged,
};
use zvf_encode::target::Payloads;
use zvf_encode::{WriteError, parallel, records};
use zvf_format::int::{index, wide};

/// No vertex.
const NONE: u64 = u64::MAX;

/// Collects rows and memberships by new chunk.
pub(super) struct RowCollector {
    rows: Buckets<ChunkCoord>,
    members: Buckets<ChunkCoord>,
    layout: RechunkRecordLayout,
    vertices: Vec<u64>,
    fragments: Vec<u64>,
    order: FragmentOrder,
    /// Bins of a new chunk along each axis, if fragments are bins.
    bins: Option<(Vec<f64>, Vec<u64>)>,
}

/// The offsets of the parts of records.
#[derive(Debug, Clone)]
struct RechunkRecordLayout {
    position: usize,
    /// Bytes of a row of each column, without the flag before it.
    columns: Vec<usize>,
    fragment_columns: Vec<usize>,
}

impl RechunkRecordLayout {
    fn row(&self) -> usize {
        8 + self.position + self.columns.iter().map(|size| size + 1).sum::<usize>()
    }

    fn member(&self) -> usize {
        let columns = self.fragment_columns.iter().map(|size| size + 1);
        MEMBER + columns.sum::<usize>()
    }
}

/// Bytes of a membership: order, fragment, position, rows, vertex, previous vertex, whether the last row is the fragment's last one.
const MEMBER: usize = 8 + 8 + 4 + 4 + 8 + 8 + 1;

/// Consecutive rows of a fragment that move to one chunk: vertices from `vertex` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FragmentPiece {
    order: u64,
    fragment: u64,
    position: u32,
    rows: u32,
    vertex: u64,
    before: u64,
    last: bool,
}

impl FragmentPiece {
    /// Whether this run is directly followed by a row.
    fn precedes(&self, position: u32, vertex: u64) -> bool {
        self.position.checked_add(self.rows) == Some(position)
            && self.vertex.checked_add(u64::from(self.rows)) == Some(vertex)
    }

    fn write(&self, out: &mut Vec<u8>) {
        for number in [self.order, self.fragment] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.position, self.rows] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.vertex, self.before] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.push(u8::from(self.last));
    }
}

/// Sorts the rows of all chunks into new ones of `shape`.
pub(super) fn gather(
    source: &SourceLevel,
    shape: &[f64],
    bins: Option<Vec<f64>>,
    budget: usize,
    folder: &Path,
    notes: &Notes,
) -> Result<RowCollector, WriteError> {
    source.read_widths()?;
    let starts = fragment_starts(source)?;
    let order = order(source, &starts, source.level.store().implies_edges())?;
    let sizes = |columns: &[ChunkColumn]| columns.iter().map(ChunkColumn::row_bytes).collect();
    let bins = bins.and_then(|bins| Some((bins_per_chunk(shape, &bins)?, bins)));
    let mut gathered = RowCollector {
        rows: Buckets::new(budget / 4, folder),
        members: Buckets::new(budget / 8, folder),
        layout: RechunkRecordLayout {
            position: source.position_bytes(),
            columns: sizes(source.columns()),
            fragment_columns: if bins.is_some() {
                Vec::new()
            } else {
                sizes(source.fragment_columns())
            },
        },
        vertices: vec![0],
        fragments: starts,
        order,
        bins: bins.map(|(counts, bins)| (bins, counts)),
    };
    if gathered.bins.is_some() {
        for column in source.fragment_columns() {
            notes.lost(
                column.attribute().array.path(),
                "fragments are bins, which are rebuilt, so their attributes are not copied",
            );
        }
    }
    for part in source.batches() {
        for chunk in source.read(&part)? {
            gathered.take(source, shape, &chunk)?;
        }
    }
    Ok(gathered)
}

/// Appends the value of a row, if it has one: a cell may be missing, or have values only for its first rows.
fn flagged(out: &mut Vec<u8>, cell: Option<&[u8]>, at: usize, size: usize) {
    put_flagged(out, cell.and_then(|cell| row_of(cell, at, size)), size);
}

impl RowCollector {
    fn take(
        &mut self,
        source: &SourceLevel,
        shape: &[f64],
        chunk: &SourceChunk,
    ) -> Result<(), WriteError> {
        let dims = source.level.dims();
        let old = source.chunk(chunk.slot)?;
        let prefix = old.len().checked_sub(dims).and_then(|lead| old.get(..lead));
        let prefix = prefix.or_bug(format_args!("{old:?} has fewer than {dims} components"))?;
        let base = *self.vertices.last().or_bug("no end of the vertices")?;
        self.vertices.push(base + u64::from(chunk.rows));
        let values = source.position.to_f64(&chunk.positions);
        let mut coords = Vec::with_capacity(index(chunk.rows));
        let mut last: Option<(Vec<i64>, usize, usize)> = None;
        for (row, position) in values.chunks_exact(dims).enumerate() {
            let mut coord = prefix.to_vec();
            for (value, size) in position.iter().zip(shape) {
                let at = chunk_at(*value, *size).ok_or_else(|| {
                    let place = format!("{} at {old:?}, row {row}", source.level.vertices().path());
                    WriteError::source(place, format!("found a position of {value}, expected a finite number whose chunk coordinate fits 64 bits"))
                })?;
                coord.push(at);
            }
            let (rows, members) = match &last {
                Some((before, rows, members)) if *before == coord => (*rows, *members),
                _ => {
                    let rows = self.rows.number(coord.as_slice(), ChunkCoord::new);
                    (rows, self.members.number(coord.as_slice(), ChunkCoord::new))
                }
            };
            last = Some((coord, rows, members));
            coords.push(members);
            let layout = &self.layout;
            let vertex = base + wide(row);
            let bytes = row_of(&chunk.positions, row, layout.position);
            let bytes = bytes.or_bug(format_args!("row {row} has no position"))?;
            self.rows.push(rows, |out| {
                out.extend_from_slice(&vertex.to_le_bytes());
                out.extend_from_slice(bytes);
                for (cell, &size) in chunk.attributes.iter().zip(&layout.columns) {
                    flagged(out, cell.as_deref(), row, size);
                }
            })?;
        }
        self.rows.relieve()?;
        if self.bins.is_some() {
            return Ok(());
        }
        let (first, end) = span(&self.fragments, chunk.slot)?;
        internal!(
            end - first == wide(chunk.fragments.len()),
            "{} fragments, {} before",
            chunk.fragments.len(),
            end - first
        );
        for (number, (at, fragment)) in (first..).zip(chunk.fragments.iter().enumerate()) {
            let order = self.order.of(number)?;
            let mut run: Option<(usize, FragmentPiece)> = None;
            let mut before = NONE;
            let len = fragment.len();
            for (position, row) in (0_u32..).zip(fragment.iter()) {
                let vertex = base + u64::from(row);
                let bucket = coords.get(index(row)).copied();
                let bucket = bucket.or_bug(format_args!("row {row} is in no chunk"))?;
                let last = index(position) + 1 == len;
                match &mut run {
                    Some((of, member)) if *of == bucket && member.precedes(position, vertex) => {
                        member.rows += 1;
                        member.last = last;
                    }
                    _ => {
                        let member = FragmentPiece {
                            order,
                            fragment: number,
                            position,
                            rows: 1,
                            vertex,
                            before,
                            last,
                        };
                        if let Some((bucket, member)) = run.replace((bucket, member)) {
                            self.push_member(bucket, &member, chunk, at)?;
                        }
                    }
                }
                before = vertex;
            }
            if let Some((bucket, member)) = run {
                self.push_member(bucket, &member, chunk, at)?;
            }
            self.members.relieve()?;
        }
        Ok(())
    }

    fn push_member(
        &mut self,
        bucket: usize,
        member: &FragmentPiece,
        chunk: &SourceChunk,
        fragment: usize,
    ) -> Result<(), WriteError> {
        let cells = chunk.fragment_attributes.iter();
        let columns = &self.layout.fragment_columns;
        self.members.push(bucket, |out| {
            member.write(out);
            for (cell, &size) in cells.zip(columns) {
                flagged(out, cell.as_deref(), fragment, size);
            }
        })
    }

    /// The new chunks.
    ///
    /// # Errors
    /// Bug: chunks with rows and without memberships, or vice versa.
    pub(super) fn finish(self) -> Result<SortedChunks, WriteError> {
        let (mut rows, row_file) = self.rows.finish();
        let (mut members, member_file) = self.members.finish();
        rows.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        members.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let keys = |all: &[(ChunkCoord, Bucket)]| -> Vec<ChunkCoord> {
            all.iter().map(|(key, _)| key.clone()).collect()
        };
        let chunks = keys(&rows);
        internal!(
            chunks == keys(&members),
            "rows and memberships are in different chunks"
        );
        let buckets =
            std::iter::zip(rows, members).map(|((_, rows), (_, members))| (rows, members));
        Ok(SortedChunks {
            chunks,
            buckets: buckets.collect(),
            row_file,
            member_file,
            layout: self.layout,
            vertices: self.vertices,
            fragments: self.fragments,
            order: self.order,
            bins: self.bins,
        })
    }
}

/// New chunks with their rows and memberships.
pub(super) struct SortedChunks {
    /// In lex order.
    pub(super) chunks: Vec<ChunkCoord>,
    buckets: Vec<(Bucket, Bucket)>,
    row_file: SpillFile,
    member_file: SpillFile,
    layout: RechunkRecordLayout,
    vertices: Vec<u64>,
    fragments: Vec<u64>,
    order: FragmentOrder,
    bins: Option<(Vec<f64>, Vec<u64>)>,
}

/// The summary of a new chunk.
struct ChunkSummary {
    done: CopiedChunk,
    /// The old vertex of each row.
    vertices: Vec<u64>,
    parts: Vec<MovedRows>,
    /// Edges of trees that the new order of rows does not imply: child and parent.
    cut: Vec<(u64, u64)>,
}

/// Edges of trees, as the old vertices of child and parent; sorted, so that copies do not depend on the order in which chunks are completed.
pub(super) type CutEdges = Sorter<[u64; 2]>;

/// Writes the new chunks. Also returns the edges of trees that are no longer implied.
pub(super) fn write(
    sink: LevelSink<'_>,
    mut sorted: SortedChunks,
    threads: usize,
    budget: usize,
    folder: &Path,
) -> Result<(NewLevel, CutEdges), WriteError> {
    let count = *sorted.vertices.last().or_bug("no end of the vertices")?;
    let mut places = VertexPlaces::new(count, budget / 4, folder)?;
    let mut items = Vec::new();
    let buckets = std::mem::take(&mut sorted.buckets);
    for (slot, (rows, members)) in (0_u32..).zip(buckets) {
        let size = rows.size() + members.size();
        let object = sink.cells.object_index(sorted.chunk(slot)?)?;
        items.push((object, size, (slot, rows, members)));
    }
    let paths = sink.paths();
    let tree = sink.source.level.store().implies_edges();
    let sorted = &sorted;
    let number = sink.source.level.number();
    // The chunks, and whether this run wrote them.
    let work = |job: Vec<(u32, Bucket, Bucket)>,
                turn: Turn<'_>|
     -> Result<(Vec<ChunkSummary>, bool), WriteError> {
        let slots: Vec<u32> = job.iter().map(|(slot, ..)| *slot).collect();
        let written = sink.journal.and_then(|one| one.written(number, &slots));
        let mut kept = Vec::new();
        let mut columns: Vec<(&ArrayPath, Payloads<'_>)> =
            paths.iter().map(|path| (path, Vec::new())).collect();
        for (slot, rows, members) in job {
            let coord = sorted.chunk(slot)?;
            let rows = rows.read(&sorted.row_file)?;
            let members = members.read(&sorted.member_file)?;
            let (chunk, vertices, parts, cut) = sorted.build(&sink, slot, &rows, &members, tree)?;
            // The cells now have all data of the records.
            drop((rows, members));
            (sink.progress)(u64::from(chunk.rows));
            let (payloads, done) = sink.payloads(coord, chunk)?;
            let into = columns.iter_mut().zip(payloads);
            into.for_each(|((_, column), payload)| column.push((coord, payload)));
            kept.push(ChunkSummary {
                done,
                vertices,
                parts,
                cut,
            });
        }
        // Includes chunks that an earlier run wrote, so that both runs choose the same.
        turn.take(|| sink.choose(&columns))?;
        if written.is_none() {
            sink.put(columns)?;
        }
        Ok((kept, written.is_none()))
    };
    let (mut all, mut parts) = (Vec::new(), Vec::new());
    // Chunks are completed in any order.
    let mut cut = CutEdges::new(budget / 16, folder);
    let take = |(kept, new): (Vec<ChunkSummary>, bool)| {
        if let Some(journal) = sink.journal.filter(|_| new) {
            // Without notes: all chunks are rebuilt in every run, which adds the notes again.
            let done = kept.iter().map(|one| &one.done);
            journal.keep(number, done, &Notes::default())?;
        }
        for mut one in kept {
            places.note(one.done.slot, &one.vertices)?;
            parts.append(&mut one.parts);
            for (child, parent) in one.cut {
                cut.push([child, parent])?;
            }
            all.push(one.done);
        }
        Ok(())
    };
    // Memory for the records, the cells, and the encoded cells.
    let weigh = |job: Vec<(u32, Bucket, Bucket)>| {
        let bytes = job
            .iter()
            .map(|(_, rows, members)| rows.size() + members.size());
        (bytes.sum::<u64>() * 3, job)
    };
    let jobs: Vec<_> = pack(items).into_iter().map(weigh).collect();
    let most = jobs.iter().map(|(bytes, _)| *bytes).fold(0, u64::max);
    if most > wide(budget) {
        let unit = if sink.cells.shards.is_some() {
            "shard"
        } else {
            "chunk"
        };
        let [most, budget] = [most, wide(budget)].map(|bytes| bytes.div_ceil(1 << 20));
        sink.notes.note(format!(
            "level {number}: the largest {unit} took up to {most} MB of memory, more than the budget of {budget} MB: \
             smaller {unit}s take less"
        ));
    }
    parallel::each_within(threads, wide(budget), jobs.into_iter(), work, take)?;
    places.seal()?;
    parts.sort_unstable();
    let mut new_level = NewLevel::of(&sorted.chunks, &mut all);
    sink.docs(&mut new_level, &all)?;
    new_level.moved = Some(Destinations {
        vertices: sorted.vertices.clone(),
        fragments: sorted.fragments.clone(),
        places,
        parts,
    });
    Ok((new_level, cut))
}

/// A chunk, the old vertex of each row, the destinations of fragments, and edges that are no longer implied.
type BuiltChunk = (SourceChunk, Vec<u64>, Vec<MovedRows>, Vec<(u64, u64)>);

impl SortedChunks {
    fn chunk(&self, slot: u32) -> Result<&[i64], WriteError> {
        let chunk = self.chunks.get(index(slot)).map(ChunkCoord::as_slice);
        chunk.or_bug(format_args!("no chunk {slot}"))
    }

    fn build(
        &self,
        sink: &LevelSink<'_>,
        slot: u32,
        rows: &[u8],
        members: &[u8],
        tree: bool,
    ) -> Result<BuiltChunk, WriteError> {
        let records = ChunkRecords::new(rows, self.layout.row())?;
        // The row of each record.
        let mut row_of = vec![u32::MAX; records.len()];
        let mut order: Vec<u32> = Vec::with_capacity(records.len());
        let (mut fragments, mut parts, mut cut) = (Vec::new(), Vec::new(), Vec::new());
        let mut fragment_values: Vec<&[u8]> = Vec::new();
        if let Some((bins, counts)) = &self.bins {
            fragments = self.binned(sink, slot, &records, bins, counts, &mut order)?;
        } else {
            let width = self.layout.member();
            let mut list = records::records(members, width)?
                .map(read_member)
                .collect::<Result<Vec<_>, _>>()?;
            list.sort_unstable_by_key(|(member, _)| *member);
            let mut before: Option<FragmentPiece> = None;
            for (member, values) in list {
                let first = records.find(member.vertex);
                let first = first.or_bug(format_args!("vertex {} has no record", member.vertex))?;
                let follows = before.is_some_and(|one| {
                    one.fragment == member.fragment
                        && one.position.checked_add(one.rows) == Some(member.position)
                });
                // Consecutive parts of an object are joined if no other object has them.
                let joins = match before {
                    Some(one) => {
                        self.layout.fragment_columns.is_empty()
                            && one.last
                            && member.position == 0
                            && one.order.checked_add(1) == Some(member.order)
                            && member.order < UNNAMED
                            && self.order.alone(one.fragment)?
                            && self.order.alone(member.fragment)?
                    }
                    None => false,
                };
                if !follows && !joins {
                    fragments.push(RowsOfFragment::Range(0, 0));
                    fragment_values.push(values);
                }
                for step in 0..member.rows {
                    // Records are in the order of vertices, so consecutive vertices of a run are consecutive records.
                    let record = first + index(step);
                    let row = row_of.get_mut(record);
                    let row = row.or_bug(format_args!("no record {record}"))?;
                    let new = *row == u32::MAX;
                    if new {
                        *row = narrow("rows of a chunk", order.len())?;
                        order.push(narrow("rows of a chunk", record)?);
                    }
                    let row = *row;
                    if step == 0 && !follows {
                        parts.push(MovedRows {
                            fragment: member.fragment,
                            position: member.position,
                            chunk: slot,
                            // The last of them, which was pushed above.
                            into: narrow("fragments of a chunk", fragments.len() - 1)?,
                            goes_on: joins,
                        });
                        if tree && new && member.before != NONE {
                            cut.push((member.vertex, member.before));
                        }
                    }
                    fragments
                        .last_mut()
                        .or_bug("rows of no fragment")?
                        .push(row);
                }
                before = Some(member);
            }
        }
        // Rows in no fragment.
        for (record, row) in (0_u32..).zip(&row_of) {
            if self.bins.is_none() && *row == u32::MAX {
                order.push(record);
            }
        }
        drop(row_of);
        let count = narrow("rows of a chunk", order.len())?;
        let mut start = self.layout.position + 8;
        let mut positions = Vec::with_capacity(order.len() * self.layout.position);
        let mut vertices = Vec::with_capacity(order.len());
        for &at in &order {
            let mut record = records.get(at)?;
            vertices.push(u64::from_le_bytes(take_array(&mut record)?));
            positions.extend_from_slice(records::take(&mut record, self.layout.position)?);
        }
        let mut attributes = Vec::new();
        for (column, &size) in sink.source.columns().iter().zip(&self.layout.columns) {
            let cells = order.iter().map(|&at| {
                let value = records.get(at)?.get(start..);
                take_flagged(&mut value.or_bug("a record without this value")?, size)
            });
            attributes.push(joined(column, cells, sink.notes)?);
            start += size + 1;
        }
        let mut values: Vec<Vec<Option<&[u8]>>> =
            vec![Vec::new(); self.layout.fragment_columns.len()];
        for mut rest in fragment_values {
            for (cell, &size) in values.iter_mut().zip(&self.layout.fragment_columns) {
                cell.push(take_flagged(&mut rest, size)?);
            }
        }
        // Bins have no attributes: lost attributes of fragments were reported.
        let mut values = values.into_iter();
        let columns = sink.source.fragment_columns().iter();
        let fragment_attributes = columns.map(|column| match values.next() {
            Some(cell) => joined(column, cell.into_iter().map(Ok), sink.notes),
            None => Ok(None),
        });
        let chunk = SourceChunk {
            slot,
            rows: count,
            positions: positions.into(),
            fragment_attributes: fragment_attributes.collect::<Result<_, WriteError>>()?,
            fragments,
            attributes,
        };
        Ok((chunk, vertices, parts, cut))
    }

    /// Sorts rows by bin, with one fragment for each bin, including empty ones (0.9 §10.2).
    fn binned(
        &self,
        sink: &LevelSink<'_>,
        slot: u32,
        records: &ChunkRecords<'_>,
        bins: &[f64],
        counts: &[u64],
        order: &mut Vec<u32>,
    ) -> Result<Vec<RowsOfFragment>, WriteError> {
        let chunk = self.chunk(slot)?;
        let number = sink.source.position;
        let mut keys: Vec<(i64, u32)> = Vec::with_capacity(records.len());
        for at in 0..narrow("rows of a chunk", records.len())? {
            let mut record = records.get(at)?;
            records::take(&mut record, 8)?;
            let position = number.to_f64(records::take(&mut record, self.layout.position)?);
            keys.push((bin_of(&position, bins, chunk, counts)?, at));
        }
        keys.sort_unstable();
        order.extend(keys.iter().map(|(_, at)| *at));
        let all = counts
            .iter()
            .try_fold(1_u64, |all, &count| all.checked_mul(count));
        let most = i64::MAX.unsigned_abs();
        let all = all.ok_or_else(|| WriteError::limit("bins of a chunk", u64::MAX, most))?;
        let mut fragments = Vec::new();
        let mut start = 0_usize;
        for bin in 0..signed64("bins of a chunk", all)? {
            let rest = keys.get(start..).or_bug("bins beyond the rows")?;
            let rows = rest.partition_point(|(one, _)| *one <= bin);
            fragments.push(RowsOfFragment::Range(
                narrow("rows", start)?,
                narrow("rows", rows)?,
            ));
            start += rows;
        }
        Ok(fragments)
    }
}

fn read_member(mut record: &[u8]) -> Result<(FragmentPiece, &[u8]), WriteError> {
    let rest = &mut record;
    let member = FragmentPiece {
        order: u64::from_le_bytes(take_array(rest)?),
        fragment: u64::from_le_bytes(take_array(rest)?),
        position: u32::from_le_bytes(take_array(rest)?),
        rows: u32::from_le_bytes(take_array(rest)?),
        vertex: u64::from_le_bytes(take_array(rest)?),
        before: u64::from_le_bytes(take_array(rest)?),
        last: take_array(rest)? == [1],
    };
    Ok((member, record))
}

/// The rows of a new chunk, in the order of their old vertices.
struct ChunkRecords<'r> {
    bytes: &'r [u8],
    size: usize,
}

impl<'r> ChunkRecords<'r> {
    fn new(bytes: &'r [u8], size: usize) -> Result<Self, WriteError> {
        records::check_records(bytes, size)?;
        Ok(Self { bytes, size })
    }

    fn len(&self) -> usize {
        self.bytes.len() / self.size
    }

    fn get(&self, at: u32) -> Result<&'r [u8], WriteError> {
        let record = row_of(self.bytes, index(at), self.size);
        record.or_bug(format_args!("no record {at}"))
    }

    fn vertex(&self, at: usize) -> Option<u64> {
        let record = row_of(self.bytes, at, self.size)?;
        Some(u64::from_le_bytes(*record.first_chunk()?))
    }

    /// The record of a vertex.
    fn find(&self, vertex: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.vertex(middle)? < vertex {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.vertex(low)? == vertex).then_some(low)
    }
}

/// A cell of values; `None` if no row has a value. If only some rows have one, the others get the value that means absence.
///
/// # Errors
/// Malformed data: some rows have no value, and the type has no value for absence.
fn joined<'r>(
    column: &ChunkColumn,
    cell: impl ExactSizeIterator<Item = Result<Option<&'r [u8]>, WriteError>> + Clone,
    notes: &Notes,
) -> Result<Option<bytes::Bytes>, WriteError> {
    let mut missing = 0;
    for value in cell.clone() {
        missing += usize::from(value?.is_none());
    }
    if missing == cell.len() {
        return Ok(None);
    }
    let absent = column.absent_row();
    let path = column.attribute().array.path();
    if missing > 0 {
        if absent.is_none() {
            return Err(no_absence(path, column.dtype()));
        }
        let what = "rows without a value got the value that means missing";
        notes.repaired(path, what, wide(missing));
    }
    let mut values = Vec::with_capacity(cell.len() * column.row_bytes());
    for value in cell {
        let value = value?.or(absent.as_deref());
        values.extend_from_slice(value.or_bug("a row without a value was not counted")?);
    }
    Ok(Some(values.into()))
}

/// The error for rows without a value in a cell with others.
fn no_absence(path: &str, dtype: DType) -> WriteError {
    let found = "rows without a value in a chunk of the copy where other rows have one";
    let expected = format!(
        "a value for each: {dtype} has no value that means missing; `zvf edit STORE set-attribute` sets values"
    );
    WriteError::data(path, found, expected)
}

#[cfg(test)]
mod tests {
    use super::{ChunkRecords, FragmentPiece, MEMBER, read_member};
    use zvf_encode::WriteError;

    #[test]
    fn a_membership_is_read_as_it_was_written() {
        let member = FragmentPiece {
            order: 1 << 40,
            fragment: 2,
            position: 3,
            rows: 4,
            vertex: 1 << 50,
            before: u64::MAX,
            last: true,
        };
        let mut bytes = Vec::new();
        member.write(&mut bytes);
        assert_eq!(bytes.len(), MEMBER);
        bytes.extend_from_slice(b"values");
        assert_eq!(read_member(&bytes).unwrap(), (member, &b"values"[..]));
        let cut = read_member(&bytes[..MEMBER - 1]);
        assert!(matches!(cut, Err(WriteError::Bug { .. })));
    }

    #[test]
    fn records_are_whole() {
        let records = ChunkRecords::new(&[0; 24], 12).unwrap();
        assert!(records.get(1).is_ok());
        assert!(matches!(records.get(2), Err(WriteError::Bug { .. })));
        assert!(matches!(
            ChunkRecords::new(&[0; 25], 12).map(|all| all.len()),
            Err(WriteError::Bug { .. })
        ));
    }
}
