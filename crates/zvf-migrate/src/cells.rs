//! Copies the cells of a level without changing chunks: every chunk keeps its rows and fragments.

use std::collections::BTreeSet;

use bytes::Bytes;
use zvf_format::fragments::FragmentIndexBuilder;
use zvf_meta::ArrayAttributes;
use zvf_meta::space::chunk_at;

use super::journal::CopyJournal;
use super::new_level::{CopiedChunk, NO_ROWS, NewLevel};
use super::report::Notes;
use super::source::{SourceChunk, SourceLevel, tiles};
use zvf_encode::batches::Corners;
use zvf_encode::documents::Nodes;
use zvf_encode::error::{OrBug, internal, narrow, to_index};
use zvf_encode::level::{LevelCells, object_key};
use zvf_encode::parallel::{Turn, pack};
use zvf_encode::target::{Below, ObjectPut, Payloads};
use zvf_encode::{Compression, WriteError, documents, parallel};
use zvf_format::int::wide;
use zvf_store::{ChunkColumn, ChunkCoord};

/// The path of an array of cells below its level, and the bytes of its items.
pub(super) type ArrayPath = (String, usize);

/// Writes the cells of one level.
#[derive(Clone, Copy)]
pub(super) struct LevelSink<'s> {
    pub(super) source: &'s SourceLevel,
    pub(super) cells: &'s LevelCells,
    pub(super) target: &'s Below<'s>,
    /// World size of a chunk of the new level.
    pub(super) chunk_shape: &'s [f64],
    pub(super) notes: &'s Notes,
    /// Whether the first and last row of each fragment is kept.
    pub(super) keep_ends: bool,
    /// Records completed chunks, so that a later run can resume.
    pub(super) journal: Option<&'s CopyJournal<'s>>,
    pub(super) progress: &'s (dyn Fn(u64) + Sync),
}

/// Number of rows whose positions are checked together.
const ROWS: usize = 4096;

/// Most bytes, and chunks, that are read to choose compressions.
const SAMPLE: u64 = 1 << 20;
const SAMPLE_CHUNKS: usize = 8;

impl LevelSink<'_> {
    /// Paths of the arrays in the order of payloads.
    pub(super) fn paths(&self) -> Vec<ArrayPath> {
        let names = |folder: &'static str, columns: &[ChunkColumn]| -> Vec<ArrayPath> {
            columns
                .iter()
                .map(|column| (format!("{folder}/{}", column.name()), column.dtype().size()))
                .collect()
        };
        let mut paths = vec![
            ("vertices".to_owned(), self.source.position.size()),
            ("vertex_fragments".to_owned(), documents::INDEX),
        ];
        paths.extend(names("vertex_attributes", self.source.columns()));
        paths.extend(names("fragment_attributes", self.source.fragment_columns()));
        paths
    }

    /// The payloads of a chunk, in the order of [`paths`](Self::paths), and its summary.
    pub(super) fn payloads(
        &self,
        coord: &[i64],
        chunk: SourceChunk,
    ) -> Result<(Vec<Vec<u8>>, CopiedChunk), WriteError> {
        let mut fragments = FragmentIndexBuilder::new();
        for fragment in &chunk.fragments {
            fragment.push_to(&mut fragments)?;
        }
        let ends = if self.keep_ends {
            let ends = chunk
                .fragments
                .iter()
                .map(|one| one.ends().unwrap_or(NO_ROWS));
            ends.collect()
        } else {
            Vec::new()
        };
        let (extent, misplaced) = self.look(coord, &chunk)?;
        // A chunk without vertices has no cells.
        let index = if chunk.rows > 0 {
            fragments.finish()
        } else {
            Vec::new()
        };
        // Bytes without other references become the payload without a copy.
        let mut payloads = vec![Vec::from(chunk.positions), index];
        for (column, cell) in self.source.columns().iter().zip(chunk.attributes) {
            payloads.push(self.attribute(column, cell, chunk.rows)?);
        }
        let of_fragments = chunk.fragment_attributes.into_iter();
        payloads.extend(of_fragments.map(|cell| cell.map_or_else(Vec::new, Vec::from)));
        let present = payloads.iter().skip(2).map(|payload| !payload.is_empty());
        let done = CopiedChunk {
            slot: chunk.slot,
            rows: chunk.rows,
            fragments: chunk.fragments.len(),
            ends,
            tiles: tiles(&chunk.fragments, chunk.rows),
            extent,
            misplaced,
            present: present.collect(),
        };
        Ok((payloads, done))
    }

    /// The corners of the bounding box of the finite positions, and the number of positions outside their chunk.
    fn look(
        &self,
        coord: &[i64],
        chunk: &SourceChunk,
    ) -> Result<(Option<Corners>, u64), WriteError> {
        let dims = self.source.level.dims();
        let number = self.source.position;
        let lead = coord.len().checked_sub(dims);
        let lead = lead.or_bug(format_args!("{coord:?} has fewer than {dims} components"))?;
        // The coordinate and the size of the chunk on each axis.
        let axes: Vec<(i64, f64)> = coord
            .iter()
            .copied()
            .skip(lead)
            .zip(self.chunk_shape.iter().copied())
            .collect();
        internal!(axes.len() == dims, "{} sizes of {dims} axes", axes.len());
        let (mut low, mut high) = (vec![f64::INFINITY; dims], vec![f64::NEG_INFINITY; dims]);
        let mut misplaced = 0_u64;
        // A few rows at a time, because the conversion to f64 needs memory.
        let rows = number.size() * dims * ROWS;
        for some in chunk.positions.chunks(rows) {
            for position in number.to_f64(some).chunks_exact(dims) {
                let mut here = true;
                let corners = low.iter_mut().zip(&mut high);
                for ((&value, &(place, size)), (low, high)) in
                    position.iter().zip(&axes).zip(corners)
                {
                    if value.is_finite() {
                        here &= chunk_at(value, size) == Some(place);
                        *low = low.min(value);
                        *high = high.max(value);
                    }
                }
                misplaced += u64::from(!here);
            }
        }
        let finite = low.iter().chain(&high).all(|value| value.is_finite());
        Ok((finite.then_some((low, high)), misplaced))
    }

    /// The payload of an attribute. Rows without a value get the value of the type that means missing, if it has one; otherwise released readers
    /// return a shorter column (trap T10).
    fn attribute(
        &self,
        column: &ChunkColumn,
        cell: Option<Bytes>,
        rows: u32,
    ) -> Result<Vec<u8>, WriteError> {
        let path = column.attribute().array.path();
        let mut bytes = cell.map_or_else(Vec::new, Vec::from);
        let values = wide(bytes.len() / column.row_bytes().max(1));
        let missing = u64::from(rows).checked_sub(values);
        let missing = missing.or_bug(format_args!("{values} values of {rows} rows"))?;
        if missing == 0 {
            return Ok(bytes);
        }
        let Some(absent) = column.absent_row() else {
            let what = if bytes.is_empty() {
                "chunks have no values, and the type has no value that means missing: released readers return a shorter column"
            } else {
                "chunks have values for their first rows only, and the type has no value that means missing"
            };
            self.notes.lost(path, what);
            return Ok(bytes);
        };
        let what = "rows without a value got the value that means missing";
        self.notes.repaired(path, what, missing);
        for _ in 0..missing {
            bytes.extend_from_slice(&absent);
        }
        Ok(bytes)
    }

    /// Writes the documents of the arrays of vertices; `done` states which chunks each column has.
    pub(super) fn docs(
        &self,
        new_level: &mut NewLevel,
        done: &[CopiedChunk],
    ) -> Result<(), WriteError> {
        let source = self.source;
        let chunks = new_level
            .chunks
            .iter()
            .zip(&new_level.chunk_rows)
            .filter(|(_, rows)| **rows > 0);
        let present = documents::presence(chunks.map(|(chunk, _)| chunk.as_slice()))?;
        self.list_earlier(&new_level.chunks)?;
        let vertices = ArrayAttributes {
            zv_array: Some("vertices".to_owned()),
            dtype: Some(source.position.to_string()),
            encoding: Some("raw".to_owned()),
            ..super::documents::carried(source.level.vertices().attributes())
        };
        let fragments = source.level.vertex_fragments();
        let fragments = fragments.map(|array| super::documents::carried(array.attributes()));
        let fragments = ArrayAttributes {
            zv_array: Some("vertex_fragments".to_owned()),
            encoding: Some("fragment_index_v1".to_owned()),
            ..fragments.unwrap_or_default()
        };
        let mut nodes = Nodes::default();
        nodes.cells(self.cells, "vertices", present.clone(), vertices);
        nodes.cells(self.cells, "vertex_fragments", present, fragments);
        let vertex = source
            .columns()
            .iter()
            .map(|c| ("vertex_attributes", "attribute", c));
        let fragment = source.fragment_columns().iter();
        let fragment = fragment.map(|c| ("fragment_attributes", "fragment_attribute", c));
        for (at, (folder, word, column)) in vertex.chain(fragment).enumerate() {
            let mut chunks = Vec::new();
            for done in done {
                if *done
                    .present
                    .get(at)
                    .or_bug("a chunk without this attribute")?
                {
                    chunks.push(new_level.chunk(done.slot)?);
                }
            }
            let present = documents::presence(chunks)?;
            let attributes = super::documents::column(column, word, self.notes);
            let path = format!("{folder}/{}", column.name());
            nodes.cells(self.cells, path, present, attributes);
        }
        new_level.nodes = nodes;
        Ok(())
    }

    /// Records the lengths of the shards that an earlier run wrote, so that the documents are the same as without an interruption.
    fn list_earlier(&self, chunks: &[ChunkCoord]) -> Result<(), WriteError> {
        if self.cells.shards.is_none() || !self.journal.is_some_and(CopyJournal::goes_on) {
            return Ok(());
        }
        let indexes = chunks.iter().map(|chunk| self.cells.object_index(chunk));
        let indexes: BTreeSet<Vec<u64>> = indexes.collect::<Result<_, _>>()?;
        let listed = self.cells.listed();
        for (path, _) in self.paths() {
            let known = listed.get(&path);
            for index in &indexes {
                if known.is_some_and(|known| known.contains_key(index)) {
                    continue;
                }
                if let Some(bytes) = self.target.read(&object_key(&path, index))? {
                    self.cells.list_stored(&path, index, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Chooses compressions from the payloads of some chunks, for arrays with the codec `auto`.
    pub(super) fn choose(&self, columns: &[(&ArrayPath, Payloads<'_>)]) -> Result<(), WriteError> {
        let mut columns = columns.iter();
        columns.try_for_each(|((path, items), column)| {
            self.cells.of_items(*items).choose(path, column)
        })
    }

    /// Chooses the compressions of all arrays from chunks that are read for this purpose, because a resumed copy does not read all chunks.
    fn choose_by_sample(&self, paths: &[ArrayPath]) -> Result<(), WriteError> {
        if self.cells.compression != Compression::Auto {
            return Ok(());
        }
        let notes = Notes::default();
        let sink = LevelSink {
            notes: &notes,
            ..*self
        };
        let mut columns: Vec<(&ArrayPath, Payloads<'_>)> =
            paths.iter().map(|path| (path, Vec::new())).collect();
        let count = self.source.chunks.len();
        let many = SAMPLE / self.source.chunk_bytes().max(1);
        let many = to_index("chunks of a sample", many)?
            .clamp(1, SAMPLE_CHUNKS)
            .min(count);
        for part in 0..many {
            let slot = narrow("chunks", (2 * part + 1) * count / (2 * many))?;
            for chunk in self.source.read(&[slot])? {
                let coord = self.source.chunk(chunk.slot)?;
                let (payloads, _) = sink.payloads(coord, chunk)?;
                let into = columns.iter_mut().zip(payloads);
                into.for_each(|((_, column), payload)| column.push((coord, payload)));
            }
        }
        self.choose(&columns)?;
        paths.iter().for_each(|(path, _)| self.cells.settle(path));
        Ok(())
    }

    /// Writes the payloads of some chunks.
    pub(super) fn put(&self, columns: Vec<(&ArrayPath, Payloads<'_>)>) -> Result<(), WriteError> {
        let mut objects: Vec<ObjectPut> = Vec::new();
        for ((path, items), column) in columns {
            objects.extend(self.cells.of_items(*items).objects(path, column)?);
        }
        self.target.put(objects)
    }
}

/// Copies all chunks of a level.
///
/// # Cost
/// Every cell is read once and written once, on several threads. Memory: a few dozen chunks per thread, and a summary of each chunk.
pub(super) fn copy(
    sink: LevelSink<'_>,
    threads: usize,
    budget: usize,
) -> Result<NewLevel, WriteError> {
    let source = sink.source;
    let mut items = Vec::new();
    let about = source.chunk_bytes();
    for (slot, chunk) in (0_u32..).zip(&source.chunks) {
        items.push((sink.cells.object_index(chunk)?, about, slot));
    }
    let paths = sink.paths();
    let number = source.level.number();
    if sink.journal.is_some_and(CopyJournal::goes_on) {
        // A resumed copy may skip the chunks that determine the widths.
        source.read_widths()?;
    }
    sink.choose_by_sample(&paths)?;
    // Returns the chunks, and the notes about them if this run wrote them.
    let work =
        |job: Vec<u32>, _: Turn<'_>| -> Result<(Vec<CopiedChunk>, Option<Notes>), WriteError> {
            let kept = sink.journal.and_then(|one| one.written(number, &job));
            if let Some(kept) = kept {
                kept.iter()
                    .for_each(|one| (sink.progress)(u64::from(one.rows)));
                return Ok((kept.into_iter().cloned().collect(), None));
            }
            let notes = Notes::default();
            let sink = LevelSink {
                notes: &notes,
                ..sink
            };
            let mut done = Vec::new();
            let mut columns: Vec<(&ArrayPath, Payloads<'_>)> =
                paths.iter().map(|path| (path, Vec::new())).collect();
            for part in job.chunks(super::source::BATCH) {
                for chunk in source.read(part)? {
                    let coord = source.chunk(chunk.slot)?;
                    (sink.progress)(u64::from(chunk.rows));
                    let (payloads, one) = sink.payloads(coord, chunk)?;
                    let into = columns.iter_mut().zip(payloads);
                    into.for_each(|((_, column), payload)| column.push((coord, payload)));
                    done.push(one);
                }
            }
            sink.put(columns)?;
            Ok((done, Some(notes)))
        };
    let mut all: Vec<CopiedChunk> = Vec::new();
    let take = |(mut done, notes): (Vec<CopiedChunk>, Option<Notes>)| {
        if let Some(notes) = notes {
            if let Some(journal) = sink.journal {
                journal.keep(number, done.iter(), &notes)?;
            }
            sink.notes.absorb(&notes);
        }
        all.append(&mut done);
        Ok(())
    };
    // Cells are in memory three times: as read, as payloads, and compressed.
    let weigh = |job: Vec<u32>| (about.saturating_mul(3 * wide(job.len())), job);
    let jobs = pack(items).into_iter().map(weigh);
    parallel::each_within(threads, wide(budget), jobs, work, take)?;
    let mut new_level = NewLevel::of(&source.chunks, &mut all);
    let misplaced: u64 = all.iter().map(|done| done.misplaced).sum();
    if misplaced > 0 {
        sink.notes.note(format!(
            "{}: {misplaced} vertices are stored in a chunk that does not contain their position, as in the old store; `zvf rechunk` moves them",
            source.level.vertices().path()
        ));
    }
    sink.docs(&mut new_level, &all)?;
    Ok(new_level)
}
