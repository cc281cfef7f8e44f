//! The cells that belong to a chunk: vertices, fragments, attributes of both. Batches of chunks, on all workers, in order.

mod places;

use std::sync::Arc;

use futures::{FutureExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use zvf_format::dtype::{DType, DTypeKind};
use zvf_meta::Kind;
use zvf_store::owners::OWNER_COLUMN;
use zvf_store::{
    CellWant, CheckedFragment, CheckedFragments, ChunkCoord, FragmentFault, GridArray, StoreError,
    VertexAttribute,
};

use crate::check::{Check, Depth};
use crate::fetch::{ReadCell, fetch_map, in_turn};
use crate::finding::{Findings, Place};
use crate::journal::{batch_key, once};
use crate::level::{LevelState, NO_ROWS, UNKNOWN};
use crate::numbers::{self, CoordinateExtent};
use crate::options::ValidateOptions;
use crate::run::Session;
use crate::values;
use zvf_format::int::{index, wide};

/// Chunks that are read together.
const BATCH: usize = 16;

/// An attribute that is checked.
struct CheckedColumn {
    attribute: VertexAttribute,
    /// Whether its cell may have fewer rows than there are vertices: 0.7 appends points without values (0.7 §17.4).
    may_lack: bool,
}

/// Input of the checks of a chunk; shared by all batches.
struct ChunkCheckInput {
    vertices: Arc<GridArray>,
    fragments: Option<Arc<GridArray>>,
    columns: Vec<CheckedColumn>,
    fragment_columns: Vec<CheckedColumn>,
    dims: usize,
    dtype: DType,
    chunk_shape: Vec<f64>,
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// Size of a bin, and bins of a chunk along each axis, where fragments are bins.
    bins: Option<(Vec<f64>, Vec<u64>)>,
    /// Values that the level is chunked by.
    split: Option<u64>,
    tiles: bool,
    raw: bool,
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
    ends: Vec<(u32, u32)>,
    /// Whether a fragment lists its rows one by one.
    lists: bool,
    /// Values a row of each column, by the length of its cell.
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
/// Every cell once; 8 bytes a chunk, and 8 a fragment where lines are joined.
///
/// # Errors
/// What is no finding.
pub(crate) async fn check(run: &mut Session<'_>, state: &mut LevelState) -> Result<(), StoreError> {
    let plan = Arc::new(ChunkCheckInput::new(
        run.options,
        state,
        run.findings.like(),
    ));
    run.partners(state, &plan);
    if !numbers::is_number(plan.dtype) {
        let place = Place::at(state.path("vertices/zarr.json")).pointer("/attributes/dtype");
        run.findings
            .add(Check::VertexRows, place, plan.dtype, "a type of numbers");
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
    if !plan.raw {
        let found = plan.vertices.attributes().encoding.clone();
        let place = Place::at(plan.vertices.path()).pointer("/attributes/encoding");
        let expected = "raw, which is the encoding that is read";
        run.findings.add(
            Check::LevelOpens,
            place,
            found.unwrap_or_default(),
            expected,
        );
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
    let store = state.level.store().clone();
    let round = state.level.next_round();
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
        let (store, plan) = (store.clone(), Arc::clone(&plan));
        once(journal.clone(), batch_key(&part, number), async move {
            let wants = plan.wants(&batch);
            let check = move |cells: Vec<ReadCell>| plan.batch(&batch, cells);
            fetch_map(&store, round, wants, check).await
        })
        .boxed()
    });
    let mut work = in_turn(work.collect(), run.batches());
    let what = format!("level {}: chunks", state.number());
    let mut widths: Vec<Option<u64>> = vec![None; plan.columns.len() + plan.fragment_columns.len()];
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
    if state.is_known() && plan.raw {
        measured.vertices = Some(rows);
        measured.set_extent(extent);
    }
    let columns = plan.columns.iter().chain(&plan.fragment_columns);
    for ((column, width), agreed) in columns.zip(&widths).zip(agreed) {
        if let Some(width) = width.filter(|_| agreed && state.whole) {
            let path = column.attribute.array.path().to_owned();
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
    /// Reports cells of attributes in chunks without vertices, by the presence lists alone.
    fn partners(&mut self, state: &LevelState, plan: &ChunkCheckInput) {
        let orphans = |findings: &mut Findings, array: &GridArray, check: Check, what: &str| {
            for chunk in array.presence().iter() {
                if state.slot(chunk).is_none() {
                    let place = Place::at(array.path()).chunk(chunk);
                    findings.add(
                        check,
                        place,
                        "a cell",
                        format!("none, where there are no {what}"),
                    );
                }
            }
        };
        for column in plan.columns.iter().chain(&plan.fragment_columns) {
            let array = &column.attribute.array;
            orphans(
                &mut self.findings,
                array,
                Check::AttributeOrphan,
                "vertices",
            );
        }
    }
}

impl ChunkCheckInput {
    fn new(options: &ValidateOptions, state: &LevelState, findings: Findings) -> Self {
        let level = &state.level;
        let root = level.store().root();
        let places = options.depth >= Depth::Conformance;
        let wanted = |array: &Arc<GridArray>| options.wants_array(array.path());
        let columns = |list: &[VertexAttribute]| -> Vec<CheckedColumn> {
            list.iter()
                .filter(|one| wanted(&one.array) && one.dtype.kind != DTypeKind::Object)
                .map(|one| CheckedColumn {
                    attribute: one.clone(),
                    may_lack: one.array.may_lack_rows(),
                })
                .collect()
        };
        let bins = state.is_binned().then(|| {
            let bin = root.base_bin_shape();
            let per_chunk = level.chunk_shape().iter().zip(bin.iter());
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bins: saturation at 0 and the top is what a damaged shape needs"
            )]
            let counts = per_chunk
                .map(|(chunk, bin)| (chunk / bin).round_ties_even() as u64)
                .collect();
            (bin.to_vec(), counts)
        });
        // Bounds are of stored numbers; with an offset the format does not define which numbers they bound.
        let has_offset = root.zarr_vectors.coordinate_offset.is_some();
        let bounds = root.zarr_vectors.bounds.clone();
        let fits = bounds.0.len() == level.dims() && bounds.1.len() == level.dims();
        let split = level.doc().chunk_attribute_values.as_ref();
        Self {
            vertices: Arc::clone(level.vertices()),
            fragments: level.vertex_fragments().filter(|one| wanted(one)).cloned(),
            columns: columns(level.vertex_attributes()),
            fragment_columns: columns(level.fragment_attributes()),
            dims: level.dims(),
            dtype: level.vertices().dtype(),
            chunk_shape: level.chunk_shape().to_vec(),
            bounds: (places && fits && !has_offset && state.number() == 0).then_some(bounds),
            bins,
            split: split
                .filter(|_| level.key_rank() == level.dims() + 1)
                .map(|values| wide(values.len())),
            tiles: level.doc().fragments_tile,
            raw: level
                .vertices()
                .attributes()
                .encoding
                .as_deref()
                .is_none_or(|one| one == "raw"),
            places,
            chains: places
                && matches!(
                    level.store().kind(),
                    Kind::Line | Kind::Polyline | Kind::Streamline | Kind::Skeleton
                ),
            findings,
        }
    }

    /// The arrays of a chunk's cells: vertices, fragments, columns of vertices, columns of fragments.
    fn arrays(&self) -> impl Iterator<Item = &Arc<GridArray>> {
        let columns = self.columns.iter().chain(&self.fragment_columns);
        [&self.vertices]
            .into_iter()
            .chain(&self.fragments)
            .chain(columns.map(|one| &one.attribute.array))
    }

    fn wants(&self, batch: &[(usize, ChunkCoord)]) -> Vec<CellWant> {
        let mut wants = Vec::new();
        for (_, chunk) in batch {
            let there = self
                .arrays()
                .filter(|array| array.presence().contains(chunk.as_slice()));
            wants.extend(there.map(|array| CellWant::new(array, chunk.clone())));
        }
        wants
    }

    fn batch(&self, batch: &[(usize, ChunkCoord)], cells: Vec<ReadCell>) -> BatchResult {
        let mut done = BatchResult {
            seen: Vec::with_capacity(batch.len()),
            findings: self.findings.like(),
            cells: wide(cells.len()),
            bytes: cells
                .iter()
                .filter_map(ReadCell::bytes)
                .fold(0, |sum, one| sum.saturating_add(wide(one.len()))),
        };
        let mut cells = cells.into_iter();
        for (slot, chunk) in batch {
            let seen = self.chunk(*slot, chunk.as_slice(), &mut cells, &mut done.findings);
            done.seen.push(seen);
        }
        done
    }

    fn chunk(
        &self,
        slot: usize,
        chunk: &[i64],
        cells: &mut impl Iterator<Item = ReadCell>,
        findings: &mut Findings,
    ) -> ChunkResult {
        let mut next = |array: &GridArray, findings: &mut Findings| {
            if !array.presence().contains(chunk) {
                return None;
            }
            let place = || Place::at(array.path()).chunk(chunk);
            let cell = cells.next().unwrap_or(ReadCell::Absent);
            Some(match cell {
                ReadCell::Broken(why) => {
                    findings.add(Check::CellReads, place(), &why, "a cell that decodes");
                    ReadCell::Broken(why)
                }
                // How many rows the chunk had is not known.
                ReadCell::Absent if !array.presence().is_listed() => {
                    let expected = "what the presence list names";
                    findings.add(Check::CellEmpty, place(), "nothing", expected);
                    match array.path() == self.vertices.path() {
                        true => ReadCell::Broken("nothing".to_owned()),
                        false => ReadCell::Absent,
                    }
                }
                ReadCell::Absent | ReadCell::There(_) => cell,
            })
        };
        let stored = next(&self.vertices, findings);
        let rows = self.rows(chunk, stored.as_ref(), findings);
        let mut seen = ChunkResult {
            slot,
            rows: rows.unwrap_or(UNKNOWN),
            fragments: UNKNOWN,
            ends: Vec::new(),
            lists: false,
            widths: Vec::new(),
            extent: None,
        };
        let blob = self.fragments.as_ref().map(|array| next(array, findings));
        let positions = stored.as_ref().and_then(ReadCell::bytes);
        let index_of = match (&blob, rows) {
            (Some(Some(ReadCell::There(blob))), Some(rows)) => {
                self.fragments(chunk, blob, rows, &mut seen, findings)
            }
            (Some(None | Some(ReadCell::Absent)), Some(rows)) => {
                if rows > 0 {
                    let place = self.place_of_fragments(chunk);
                    let found = format!("none for {rows} vertices");
                    findings.add(Check::FragmentThere, place, found, "a fragment index");
                } else {
                    seen.fragments = 0;
                }
                None
            }
            (None, Some(_)) => {
                seen.fragments = 1;
                None
            }
            _ => None,
        };
        if let Some((positions, rows)) = positions.zip(rows)
            && self.raw
            && rows > 0
        {
            let extent = self.positions(chunk, positions, index_of.as_ref(), findings);
            seen.extent = Some(extent);
        }
        for column in &self.columns {
            let cell = next(&column.attribute.array, findings);
            let width = rows.and_then(|rows| {
                column.rows(chunk, cell.as_ref(), rows, Check::AttributeRows, findings)
            });
            seen.widths.push(width);
        }
        for column in &self.fragment_columns {
            let cell = next(&column.attribute.array, findings);
            let count = (seen.fragments != UNKNOWN).then_some(seen.fragments);
            let width = count.zip(cell.as_ref()).and_then(|(count, cell)| {
                column.rows(
                    chunk,
                    Some(cell),
                    count,
                    Check::FragmentAttributeRows,
                    findings,
                )
            });
            seen.widths.push(width);
        }
        seen
    }

    fn place_of_fragments(&self, chunk: &[i64]) -> Place {
        let path = self.fragments.as_ref().map_or("", |array| array.path());
        Place::at(path).chunk(chunk)
    }

    /// Rows of a cell of vertices; `None` if they are unknown.
    fn rows(&self, chunk: &[i64], cell: Option<&ReadCell>, findings: &mut Findings) -> Option<u32> {
        let bytes = match cell? {
            ReadCell::Absent => return Some(0),
            ReadCell::Broken(_) => return None,
            ReadCell::There(bytes) => bytes,
        };
        if !self.raw {
            return None;
        }
        let row = self.dims.saturating_mul(self.dtype.size()).max(1);
        let rows = u32::try_from(bytes.len() / row)
            .ok()
            .filter(|&rows| rows != UNKNOWN);
        if let Some(rows) = rows.filter(|_| bytes.len().is_multiple_of(row)) {
            return Some(rows);
        }
        let place = Place::at(self.vertices.path()).chunk(chunk);
        let expected = format!("a multiple of {row}");
        let found = format!("{} bytes", bytes.len());
        findings.add(Check::VertexRows, place, found, expected);
        None
    }

    /// Checks a fragment index and returns it, if all of its rows are in the chunk.
    fn fragments(
        &self,
        chunk: &[i64],
        blob: &[u8],
        rows: u32,
        seen: &mut ChunkResult,
        findings: &mut Findings,
    ) -> Option<CheckedFragments> {
        let place = || self.place_of_fragments(chunk);
        let (parsed, odd) = match CheckedFragments::examine(blob, rows) {
            Ok(examined) => examined,
            Err(FragmentFault::Index(error)) => {
                findings.add(Check::FragmentIndex, place(), error, "a fragment index");
                return None;
            }
            Err(FragmentFault::Rows(fragments, error)) => {
                seen.fragments = fragments;
                let expected = format!("rows of a chunk of {rows}");
                findings.add(Check::FragmentRows, place(), error, expected);
                return None;
            }
        };
        seen.fragments = parsed.len();
        if let Some(error) = odd {
            findings.add(
                Check::FragmentPadding,
                place(),
                error,
                "zeros, and nothing more",
            );
        }
        let tiles = parsed.tile(rows);
        if self.tiles && !tiles {
            let found = "fragments that do not tile the chunk's rows";
            findings.add(Check::FragmentsTile, place(), found, "as the level claims");
        } else if !tiles && let Some(row) = uncovered(&parsed, rows) {
            let place = place().row(row);
            findings.add(
                Check::RowsCovered,
                place,
                "a row of no fragment",
                "a fragment for every row",
            );
        }
        if let Some((_, bins)) = &self.bins {
            let most = bins
                .iter()
                .fold(1_u64, |product, &one| product.saturating_mul(one));
            if u64::from(parsed.len()) > most && most > 1 {
                let found = format!("{} fragments", parsed.len());
                findings.add(
                    Check::BinFragments,
                    place(),
                    found,
                    format!("at most {most}, the bins of a chunk"),
                );
            }
        }
        if self.chains {
            let ends = parsed.iter().map(|one| one.ends().unwrap_or(NO_ROWS));
            seen.ends = ends.collect();
            seen.lists = !parsed.are_ranges();
        }
        Some(parsed)
    }

    /// Compares the widths of a chunk's columns with those before.
    fn widths(
        &self,
        findings: &mut Findings,
        state: &LevelState,
        seen: &ChunkResult,
        widths: &mut [Option<u64>],
    ) {
        let columns = self.columns.iter().chain(&self.fragment_columns);
        for ((column, found), known) in columns.zip(&seen.widths).zip(widths) {
            let Some(found) = *found else { continue };
            let expected = known.or(column.attribute.declared_width);
            if let Some(expected) = expected.filter(|&one| one != found) {
                let chunk = state
                    .chunks
                    .get(seen.slot)
                    .map_or(&[][..], ChunkCoord::as_slice);
                let place = Place::at(column.attribute.array.path()).chunk(chunk);
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

impl CheckedColumn {
    /// Checks a cell of as many rows as there are vertices or fragments; returns the values a row.
    fn rows(
        &self,
        chunk: &[i64],
        cell: Option<&ReadCell>,
        rows: u32,
        check: Check,
        findings: &mut Findings,
    ) -> Option<u64> {
        let array = &self.attribute.array;
        let place = || Place::at(array.path()).chunk(chunk);
        let bytes = match cell {
            Some(ReadCell::There(bytes)) => bytes,
            Some(ReadCell::Broken(_)) => return None,
            None | Some(ReadCell::Absent) => {
                if rows > 0 && !self.may_lack && check == Check::AttributeRows {
                    let found = format!("no cell for {rows} vertices");
                    findings.add(Check::AttributeThere, place(), found, "one");
                }
                return None;
            }
        };
        let size = self.attribute.dtype.size().max(1);
        let one = size.saturating_mul(index(rows));
        let width = bytes.len().checked_div(one).unwrap_or(0);
        if width == 0 || width.checked_mul(one) != Some(bytes.len()) {
            let declared = self.attribute.declared_width.unwrap_or(1).max(1);
            let declared = usize::try_from(declared)
                .unwrap_or(usize::MAX)
                .saturating_mul(size)
                .max(1);
            // A column of owners ends with the last fragment that somebody owns (0.9 §11.7).
            let may_lack = self.may_lack || self.attribute.name == OWNER_COLUMN;
            let lacks = may_lack
                && bytes.len().is_multiple_of(declared)
                && bytes.len() / declared < index(rows);
            if !lacks {
                let expected = format!(
                    "a multiple of {one}: {rows} rows of {}",
                    self.attribute.dtype
                );
                findings.add(check, place(), format!("{} bytes", bytes.len()), expected);
            }
            return None;
        }
        // Columns of fragments are as wide as they say (0.9 §12.2); columns of vertices are as wide as their bytes (§12.1).
        let says = array.attributes().row_shape.is_some() && check == Check::FragmentAttributeRows;
        let declared = says.then(|| self.attribute.declared_width.unwrap_or(1));
        if let Some(declared) = declared.filter(|&declared| declared != wide(width)) {
            let expected = format!("{rows} rows of {declared} {}", self.attribute.dtype);
            findings.add(check, place(), format!("{} bytes", bytes.len()), expected);
            return None;
        }
        let unit = self.attribute.unit.as_deref();
        values::check(
            findings,
            place,
            unit,
            (self.attribute.dtype, width),
            (0, bytes),
        );
        if let Some(categories) = &self.attribute.categories {
            self.codes(bytes, wide(categories.len()), place, findings);
        }
        Some(wide(width))
    }

    fn codes(
        &self,
        bytes: &[u8],
        categories: u64,
        place: impl Fn() -> Place,
        findings: &mut Findings,
    ) {
        let dtype = self.attribute.dtype;
        for (row, bytes) in bytes.chunks_exact(dtype.size().max(1)).enumerate() {
            let Some(code) = dtype.integer_at(bytes, 0) else {
                continue;
            };
            let known = u64::try_from(code).is_ok_and(|code| code < categories);
            if !known && self.attribute.fill_code != Some(code) {
                let expected = format!("a code below {categories}, or the one for none");
                findings.add(Check::CategoryCode, place().row(wide(row)), code, expected);
            }
        }
    }
}

/// The first row that no fragment names.
fn uncovered(fragments: &CheckedFragments, rows: u32) -> Option<u64> {
    let mut named = vec![false; index(rows)];
    for fragment in fragments.iter() {
        match fragment {
            CheckedFragment::Range { start, count } => {
                let end = start.saturating_add(count);
                if let Some(part) = named.get_mut(index(start)..index(end)) {
                    part.fill(true);
                }
            }
            CheckedFragment::List(list) => {
                for row in list {
                    if let Some(one) = named.get_mut(index(*row)) {
                        *one = true;
                    }
                }
            }
        }
    }
    named.iter().position(|&one| !one).map(wide)
}
