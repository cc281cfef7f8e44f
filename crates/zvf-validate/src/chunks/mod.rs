//! The cells that belong to a chunk: vertices, fragments, and the attributes of both. Batches of chunks are checked on all workers, with results in
//! order.

mod places;

use std::sync::Arc;

use futures::{FutureExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use zvf_format::dtype::DType;
use zvf_meta::Kind;
use zvf_store::{
    CellFault, CheckedFragment, CheckedFragments, ChunkCell, ChunkColumn, ChunkCoord,
    ChunkExaminer, ChunkFault, ChunkParts, ExaminedChunk, FragmentFault, RowValues, StoreError,
    VertexAttribute,
};

use crate::check::{Check, Depth};
use crate::finding::{Findings, Place};
use crate::journal::{batch_key, once};
use crate::level::{LevelState, NO_ROWS, UNKNOWN};
use crate::numbers::{self, CoordinateExtent};
use crate::options::ValidateOptions;
use crate::ordered::in_turn;
use crate::run::Session;
use crate::values;
use zvf_format::int::{index, wide};

/// What is known about the fragments of chunks if their indexes are not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FragmentIndexes {
    /// The level has none: each chunk is one fragment.
    Absent,
    Unread,
    Read,
}

/// Number of chunks that are read together.
const BATCH: usize = 16;

/// Input of the checks of a chunk; shared by all batches.
struct ChunkCheckInput {
    reader: ChunkExaminer,
    /// Path of the positions.
    vertices: String,
    /// Path of the fragment indexes, if they are checked.
    fragments: Option<String>,
    /// The fragment indexes of the level, which may be read without being checked.
    index: FragmentIndexes,
    dims: usize,
    dtype: DType,
    chunk_shape: Vec<f64>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// Size of a bin, and number of bins of a chunk, along each axis; `None` unless fragments are bins.
    bins: Option<(Vec<f64>, Vec<u64>)>,
    /// Number of attribute values by which chunks are split.
    split: Option<u64>,
    tiles: bool,
    places: bool,
    chains: bool,
    findings: Findings,
}

/// Results of the checks of a chunk.
#[derive(Serialize, Deserialize)]
struct ChunkResult {
    slot: usize,
    rows: u32,
    fragments: u32,
    /// Fragments without rows, ascending.
    empty: Vec<u32>,
    ends: Vec<(u32, u32)>,
    /// Whether a fragment has an explicit list of rows.
    lists: bool,
    /// For each column, the number of values in a row, derived from the length of its cell; `None` unless the cell is complete.
    widths: Vec<Option<u64>>,
    extent: Option<CoordinateExtent>,
}

/// Results of a batch.
#[derive(Serialize, Deserialize)]
struct BatchResult {
    seen: Vec<ChunkResult>,
    findings: Findings,
    cells: u64,
    bytes: u64,
}

/// Reads all chunks of a level, or a sample of them.
///
/// # Cost
/// Reads every cell once. Holds about 100 bytes per chunk, and 8 per fragment if the fragments of lines are joined.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(run: &mut Session<'_>, state: &mut LevelState) -> Result<(), StoreError> {
    let plan = Arc::new(ChunkCheckInput::new(
        run.options,
        state,
        run.findings.like(),
    ));
    run.partners(state, &plan);
    let dtype = state.level.vertices().dtype();
    if !numbers::is_number(dtype) {
        let place = Place::at(state.path("vertices/zarr.json")).pointer("/attributes/dtype");
        run.findings
            .add(Check::VertexRows, place, dtype, "a type of numbers");
    }
    if state.chunks.is_empty() {
        let stated = state.level.doc().vertex_count;
        if stated > 0 {
            let place = Place::at(state.path("vertices"));
            let expected = format!("{stated} vertices");
            run.findings
                .add(Check::LevelHasChunks, place, "no chunk", expected);
        }
        state.whole = true;
        run.measured(state.number()).vertices = Some(0);
        return Ok(());
    }
    let raw = state.level.has_raw_positions();
    if !raw {
        let vertices = state.level.vertices();
        let found = vertices.attributes().encoding.clone().unwrap_or_default();
        let place = Place::at(vertices.path()).pointer("/attributes/encoding");
        let expected = "raw, the only encoding that can be checked";
        run.findings.add(Check::LevelOpens, place, found, expected);
    }
    let count = state.chunks.len();
    let slots = match run.options.sample {
        Some(sample) => sample.choose(count, u64::from(state.number())),
        None => (0..count).collect(),
    };
    if slots.len() < count {
        run.skipped.push(format!(
            "level {}: {} of {count} chunks were read",
            state.number(),
            slots.len()
        ));
    }
    state.whole = slots.len() == count;
    if plan.chains {
        state.ends = Some(vec![Vec::new(); count]);
    }
    let batches: Vec<Vec<(usize, ChunkCoord)>> = slots
        .chunks(BATCH)
        .map(|part| {
            part.iter()
                .filter_map(|&slot| Some((slot, state.chunks.get(slot)?.clone())))
                .collect()
        })
        .collect();
    let (part, journal) = (state.path("vertices"), run.journal.clone());
    let work = batches.into_iter().enumerate().map(|(number, batch)| {
        let plan = Arc::clone(&plan);
        once(journal.clone(), batch_key(&part, number), async move {
            let (slots, chunks): (Vec<usize>, Vec<ChunkCoord>) = batch.into_iter().unzip();
            let reader = plan.reader.clone();
            let check = move |chunks| plan.batch(&slots, chunks);
            reader.read_map(chunks, check).await
        })
        .boxed()
    });
    let mut work = in_turn(work.collect(), run.batches());
    let what = format!("level {}: chunks", state.number());
    let mut widths: Vec<Option<u64>> = vec![None; plan.reader.columns().count()];
    // Whether all cells of a column agree on its width.
    let mut agreed = vec![true; widths.len()];
    let mut extent = CoordinateExtent::empty(plan.dims);
    let mut done = 0_u64;
    while let Some(batch) = work.try_next().await? {
        run.seen.cells = run.seen.cells.saturating_add(batch.cells);
        run.seen.bytes = run.seen.bytes.saturating_add(batch.bytes);
        run.findings.merge(batch.findings);
        done = done.saturating_add(wide(batch.seen.len()));
        for seen in batch.seen {
            plan.widths(&mut run.findings, state, &seen, &mut widths);
            for ((agreed, known), found) in agreed.iter_mut().zip(&widths).zip(&seen.widths) {
                *agreed &= found.is_none_or(|found| *known == Some(found));
            }
            if let Some(of_chunk) = &seen.extent {
                extent.join(of_chunk);
            }
            if let Some(rows) = state.rows.get_mut(seen.slot) {
                *rows = seen.rows;
            }
            if let Some(fragments) = state.fragments.get_mut(seen.slot) {
                *fragments = seen.fragments;
            }
            if let Some(empty) = state.empty.get_mut(seen.slot) {
                *empty = seen.empty;
            }
            if let Some(ends) = state.ends.as_mut().and_then(|all| all.get_mut(seen.slot)) {
                *ends = seen.ends;
            }
            state.lists |= seen.lists;
        }
        run.options.progress.tell(&what, done, wide(slots.len()));
    }
    let rows = state.vertices();
    run.seen.vertices = run.seen.vertices.saturating_add(rows);
    let measured = run.measured(state.number());
    if state.is_known() && raw {
        measured.vertices = Some(rows);
        measured.set_extent(extent);
    }
    for ((column, width), agreed) in plan.reader.columns().zip(&widths).zip(agreed) {
        if let Some(width) = width.filter(|_| agreed && state.whole) {
            let path = column.attribute().array.path().to_owned();
            measured.widths.insert(path, width);
        }
    }
    let stated = state.level.doc().vertex_count;
    if state.is_known() && stated != rows && stated != 0 {
        let place = Place::at(state.path("zarr.json"))
            .pointer("/attributes/zarr_vectors_level/vertex_count");
        run.findings.add(Check::VertexCount, place, stated, rows);
    }
    Ok(())
}

impl Session<'_> {
    /// Reports cells of attributes in chunks without vertices, from the presence lists alone.
    fn partners(&mut self, state: &LevelState, plan: &ChunkCheckInput) {
        for column in plan.reader.columns() {
            let array = &column.attribute().array;
            let mut chunks = array.presence().iter();
            while let Some(chunk) = chunks.find(|chunk| state.slot(chunk).is_none()) {
                let place = Place::at(array.path()).chunk(chunk);
                let expected = "no cell, because the chunk has no vertices";
                self.findings
                    .add(Check::AttributeOrphan, place, "a cell", expected);
            }
        }
    }
}

impl ChunkCheckInput {
    fn new(options: &ValidateOptions, state: &LevelState, findings: Findings) -> Self {
        let level = &state.level;
        let root = level.store().root();
        let places = options.depth >= Depth::Conformance;
        let wanted = |list: &[VertexAttribute]| -> Vec<VertexAttribute> {
            let list = list.iter();
            let wanted = list.filter(|one| options.wants_array(one.array.path()));
            wanted.cloned().collect()
        };
        let fragments = level.vertex_fragments().map(|array| array.path());
        let fragments = fragments.filter(|path| options.wants_array(path));
        let bins = state.is_binned().then(|| {
            let bin = root.base_bin_shape();
            let per_chunk = level.chunk_shape().iter().zip(bin.iter());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bins; that of a damaged shape saturates at 0 or u64::MAX"
            )]
            let counts = per_chunk
                .map(|(chunk, bin)| (chunk / bin).round_ties_even() as u64)
                .collect();
            (bin.to_vec(), counts)
        });
        // Bounds refer to stored coordinates. With an offset, the format does not define which coordinates they refer to, so they are not checked.
        let has_offset = root.zarr_vectors.coordinate_offset.is_some();
        let bounds = root.zarr_vectors.bounds.clone();
        let fits = bounds.0.len() == level.dims() && bounds.1.len() == level.dims();
        let split = level.doc().chunk_attribute_values.as_ref();
        let index = match level.vertex_fragments() {
            None => FragmentIndexes::Absent,
            // Rows of fragment attributes are counted by them.
            Some(_) if !wanted(level.fragment_attributes()).is_empty() => FragmentIndexes::Read,
            Some(_) => FragmentIndexes::Unread,
        };
        Self {
            reader: level.examined_chunks(ChunkParts {
                positions: true,
                fragments: fragments.is_some() || index == FragmentIndexes::Read,
                attributes: &wanted(level.vertex_attributes()),
                fragment_attributes: &wanted(level.fragment_attributes()),
            }),
            vertices: level.vertices().path().to_owned(),
            fragments: fragments.map(str::to_owned),
            index,
            dims: level.dims(),
            // Decoded positions are little-endian.
            dtype: DType::little(level.vertices().dtype().kind),
            chunk_shape: level.chunk_shape().to_vec(),
            bounds: (places && fits && !has_offset && state.number() == 0).then_some(bounds),
            bins,
            split: split
                .filter(|_| level.key_rank() == level.dims() + 1)
                .map(|values| wide(values.len())),
            tiles: level.doc().fragments_tile,
            places,
            chains: places
                && matches!(
                    level.store().kind(),
                    Kind::Line | Kind::Polyline | Kind::Streamline | Kind::Skeleton
                ),
            findings,
        }
    }

    fn batch(&self, slots: &[usize], chunks: Vec<ExaminedChunk>) -> BatchResult {
        let mut done = BatchResult {
            seen: Vec::with_capacity(chunks.len()),
            findings: self.findings.like(),
            cells: chunks.iter().map(|chunk| chunk.cells).sum(),
            bytes: chunks.iter().map(|chunk| chunk.bytes).sum(),
        };
        for (&slot, chunk) in slots.iter().zip(&chunks) {
            let seen = self.chunk(slot, chunk, &mut done.findings);
            done.seen.push(seen);
        }
        done
    }

    fn chunk(&self, slot: usize, chunk: &ExaminedChunk, findings: &mut Findings) -> ChunkResult {
        report(chunk, findings);
        let mut seen = ChunkResult {
            slot,
            rows: chunk.rows.unwrap_or(UNKNOWN),
            fragments: chunk.fragment_count.unwrap_or(UNKNOWN),
            empty: Vec::new(),
            ends: Vec::new(),
            lists: false,
            widths: Vec::new(),
            extent: None,
        };
        let mut index_of = None;
        if self.fragments.is_none() {
            seen.fragments = match self.index {
                FragmentIndexes::Absent => chunk.rows.map_or(UNKNOWN, |_| 1),
                FragmentIndexes::Unread => UNKNOWN,
                FragmentIndexes::Read => chunk.fragment_count.unwrap_or(UNKNOWN),
            };
        } else if let Some((fragments, rows)) = chunk.fragments.as_ref().zip(chunk.rows) {
            self.fragments(&chunk.coord, fragments, rows, &mut seen, findings);
            index_of = Some(fragments);
        }
        if chunk.rows.is_some_and(|rows| rows > 0) {
            let bytes = chunk.positions.bytes();
            let extent = self.positions(&chunk.coord, bytes, index_of, findings);
            seen.extent = Some(extent);
        }
        let values = chunk.columns.iter().chain(&chunk.fragment_columns);
        for (column, values) in self.reader.columns().zip(values) {
            let rows = match column.cell() {
                ChunkCell::FragmentColumn => chunk.fragment_count,
                _ => chunk.rows,
            };
            let width = values.as_ref().and_then(|values| {
                check_values(column, &chunk.coord, values, findings);
                // Only the bytes of complete cells determine the width of rows.
                let complete = rows.is_some_and(|rows| values.rows() == index(rows));
                complete.then(|| wide(column.width_of(values)))
            });
            seen.widths.push(width);
        }
        seen
    }

    /// Checks the fragments of a chunk. Their rows are known to be inside the chunk.
    fn fragments(
        &self,
        chunk: &[i64],
        fragments: &CheckedFragments,
        rows: u32,
        seen: &mut ChunkResult,
        findings: &mut Findings,
    ) {
        let path = self.fragments.as_deref().unwrap_or_default();
        let place = || Place::at(path).chunk(chunk);
        let tiles = fragments.tile(rows);
        if self.tiles && !tiles {
            // The place has a row only if more than the order of the fragments is wrong.
            let odd = not_once(fragments, rows);
            let place = odd.map_or_else(place, |row| place().row(row));
            let found = match odd {
                Some(_) => "a row that is in no fragment, or in several",
                None => "fragments in another order",
            };
            findings.add(
                Check::FragmentsTile,
                place,
                found,
                "fragments that tile the rows, as the level claims",
            );
        } else if !tiles && let Some(row) = uncovered(fragments, rows) {
            let place = place().row(row);
            findings.add(
                Check::RowsCovered,
                place,
                "a row that is in no fragment",
                "a fragment for every row",
            );
        }
        if let Some((_, bins)) = &self.bins {
            let most = bins
                .iter()
                .fold(1_u64, |product, &one| product.saturating_mul(one));
            if u64::from(fragments.len()) > most && most > 1 {
                let found = format!("{} fragments", fragments.len());
                findings.add(
                    Check::BinFragments,
                    place(),
                    found,
                    format!("at most {most}, the number of bins of a chunk"),
                );
            }
        }
        let numbered = (0_u32..).zip(fragments.iter());
        let empty = numbered.filter_map(|(number, one)| one.is_empty().then_some(number));
        seen.empty = empty.collect();
        if self.chains {
            let ends = fragments.iter().map(|one| one.ends().unwrap_or(NO_ROWS));
            seen.ends = ends.collect();
            seen.lists = !fragments.are_ranges();
        }
    }

    /// Compares the widths of a chunk's columns with those in previous chunks, or with the declared widths if there are none.
    fn widths(
        &self,
        findings: &mut Findings,
        state: &LevelState,
        seen: &ChunkResult,
        widths: &mut [Option<u64>],
    ) {
        for ((column, found), known) in self.reader.columns().zip(&seen.widths).zip(widths) {
            let Some(found) = *found else { continue };
            let expected = known.or(column.attribute().declared_width);
            if let Some(expected) = expected.filter(|&one| one != found) {
                let chunk = state
                    .chunks
                    .get(seen.slot)
                    .map_or(&[][..], ChunkCoord::as_slice);
                let place = Place::at(column.attribute().array.path()).chunk(chunk);
                findings.add(
                    Check::AttributeWidth,
                    place,
                    format!("{found} values a row"),
                    expected,
                );
            }
            known.get_or_insert(found);
        }
    }
}

/// Reports the defects of a chunk's cells.
fn report(chunk: &ExaminedChunk, findings: &mut Findings) {
    for one in &chunk.faults {
        let ChunkFault {
            cell, array, fault, ..
        } = one;
        let check = match (fault, cell) {
            (CellFault::Unreadable(_), _) => Check::CellReads,
            (CellFault::Empty, _) => Check::CellEmpty,
            (CellFault::Missing(_), _) => Check::AttributeThere,
            (CellFault::NoFragments(_), _) => Check::FragmentThere,
            (CellFault::Fragments(FragmentFault::Index(_)), _) => Check::FragmentIndex,
            (CellFault::Fragments(FragmentFault::Rows { .. }), _) => Check::FragmentRows,
            (CellFault::Padding(_), _) => Check::FragmentPadding,
            (CellFault::Rows { .. }, ChunkCell::VertexColumn) => Check::AttributeRows,
            (CellFault::Rows { .. }, ChunkCell::FragmentColumn) => Check::FragmentAttributeRows,
            (CellFault::Rows { .. }, _) => Check::VertexRows,
        };
        let (found, expected) = fault.texts();
        let place = Place::at(array.path()).chunk(&chunk.coord);
        findings.add(check, place, found, expected);
    }
}

/// Checks the values of a cell: times, texts, category codes.
fn check_values(column: &ChunkColumn, chunk: &[i64], values: &RowValues, findings: &mut Findings) {
    let attribute = column.attribute();
    let place = || Place::at(attribute.array.path()).chunk(chunk);
    let (dtype, bytes) = (column.dtype(), values.bytes());
    let (unit, form) = (attribute.unit.as_deref(), (dtype, column.width_of(values)));
    values::check(findings, place, unit, form, (0, bytes));
    let Some(categories) = attribute.categories.as_ref().map(|all| wide(all.len())) else {
        return;
    };
    for (row, bytes) in bytes.chunks_exact(dtype.size().max(1)).enumerate() {
        let Some(code) = dtype.integer_at(bytes, 0) else {
            continue;
        };
        let known = u64::try_from(code).is_ok_and(|code| code < categories);
        if !known && attribute.fill_code != Some(code) {
            let expected = format!("a code below {categories}, or the code of missing values");
            findings.add(Check::CategoryCode, place().row(wide(row)), code, expected);
        }
    }
}

/// The first row that is not in exactly one fragment.
fn not_once(fragments: &CheckedFragments, rows: u32) -> Option<u64> {
    let mut counts = vec![0_u8; index(rows)];
    for row in fragments.iter().flat_map(CheckedFragment::rows) {
        if let Some(count) = counts.get_mut(index(row)) {
            *count = count.saturating_add(1);
        }
    }
    counts.iter().position(|&count| count != 1).map(wide)
}

/// The first row that is in no fragment.
fn uncovered(fragments: &CheckedFragments, rows: u32) -> Option<u64> {
    let mut named = vec![false; index(rows)];
    for row in fragments.iter().flat_map(CheckedFragment::rows) {
        if let Some(one) = named.get_mut(index(row)) {
            *one = true;
        }
    }
    named.iter().position(|&one| !one).map(wide)
}
