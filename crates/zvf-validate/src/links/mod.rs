//! Links: cells, endpoints, placement, counts, values; and the rules of their kind of geometry.

mod groups;
mod records;

use std::sync::Arc;

use futures::{FutureExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use zvf_format::dtype::DType;
use zvf_format::links::lehmer::MAX_WIDTH;
use zvf_meta::Kind;
use zvf_store::{
    CheckedFragments, ChunkCoord, GridArray, LinkArray, LinkFamily, Placement, ReadCell, StoreError,
};

use crate::chains::{Chains, StepMultiset};
use crate::check::{Check, Depth};
use crate::finding::{Findings, Place};
use crate::journal::{batch_key, once};
use crate::level::LevelState;
use crate::measured::MeasuredFamily;
use crate::ordered::in_turn;
use crate::run::Session;
use crate::trees::LevelEdges;
use crate::values;
use zvf_format::int::wide;

pub(crate) use groups::capability;

/// Number of cells that are read together.
const BATCH: usize = 32;

/// Sums over the cells of a family.
#[derive(Default, Serialize, Deserialize)]
struct FamilySums {
    /// Links, each counted once: without the copies of duplicating families.
    links: u64,
    /// Those of them in arrays of links between chunks.
    crossing: u64,
    /// Stored records.
    records: u64,
    /// Sum of hashes of required copies minus found copies: 0 if each record has its copies.
    copies: u64,
    /// Links from chunk to chunk.
    steps: StepMultiset,
    /// Links between levels.
    between: StepMultiset,
    /// Pairs of row numbers in the level, in the order of the application, if trees are checked.
    pairs: Vec<(u64, u64)>,
    /// The vertices of the level that have a link, if [`ValidateOptions::coverage`] is on.
    sources: Vec<u64>,
    damaged: bool,
    cells: u64,
    bytes: u64,
}

impl FamilySums {
    /// Adds the values of another part, except for the lists.
    fn join(&mut self, other: &Self) {
        self.links = self.links.saturating_add(other.links);
        self.crossing = self.crossing.saturating_add(other.crossing);
        self.records = self.records.saturating_add(other.records);
        self.copies = self.copies.wrapping_add(other.copies);
        self.steps.join(other.steps);
        self.between.join(other.between);
        self.damaged |= other.damaged;
        self.cells = self.cells.saturating_add(other.cells);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The inputs of the check of a cell.
struct LinkCheckInput<'s> {
    state: &'s LevelState,
    /// The level of all endpoints except the first.
    target: Option<&'s LevelState>,
    family: &'s LinkFamily,
    number: usize,
    array: &'s LinkArray,
    /// Groups of the links inside chunks.
    groups: Option<Arc<GridArray>>,
    kind: Kind,
    deep: bool,
    tree: bool,
    coverage: bool,
    /// For each chunk, the number of its first row among all rows of the level.
    bases: Arc<Vec<u64>>,
    findings: Findings,
}

/// Checks every family of a level.
///
/// # Cost
/// Reads every cell once. Memory: for skeletons about 4 bytes for each vertex and 8 bytes for each stored edge; with [`ValidateOptions::coverage`] 1 bit
/// for each vertex.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(
    run: &mut Session<'_>,
    state: &LevelState,
    all: &[LevelState],
    chains: Option<Chains>,
) -> Result<(), StoreError> {
    let mut steps = StepMultiset::default();
    let mut steps_known = true;
    for family in state.level.link_families() {
        let sums = one_family(run, state, all, family).await?;
        if family.delta() == 0 {
            steps.join(sums.steps);
            steps_known &= !sums.damaged;
        }
    }
    groups::check(run, state).await?;
    let deep = run.options.depth >= Depth::Conformance;
    if let Some(chains) = chains.filter(|_| steps_known && run.options.sample.is_none()) {
        chains.compare(&mut run.findings, state, steps);
    }
    let kind = state.level.store().kind();
    let only = state.level.store().root().zarr_vectors.geometry_types.len() == 1;
    let grid = state.level.vertices().grid_doc().is_some();
    if deep && only && state.number() == 0 {
        let inside = state.level.links(0);
        let place = || Place::at(state.path("links/0"));
        match kind {
            Kind::Graph | Kind::Mesh
                if inside.is_none()
                    && grid
                    && !state.level.refused().iter().any(|one| one.delta == Some(0)) =>
            {
                run.findings.add(
                    Check::FamilyThere,
                    place(),
                    "no family",
                    "the links of the geometry",
                );
            }
            Kind::PointCloud if inside.is_some() => {
                run.findings
                    .add(Check::PointLinks, place(), "a family", "none beside points");
            }
            Kind::Mesh if inside.is_some_and(|one| (1..3).contains(&one.width())) => {
                let width = inside.map_or(0, LinkFamily::width);
                run.findings
                    .add(Check::FaceWidth, place(), width, "3 or more");
            }
            _ => {}
        }
    }
    Ok(())
}

async fn one_family(
    run: &mut Session<'_>,
    state: &LevelState,
    all: &[LevelState],
    family: &LinkFamily,
) -> Result<FamilySums, StoreError> {
    let delta = family.delta();
    let path = format!("{}/links/{}", state.number(), delta_name(delta));
    let target = match delta {
        0 => None,
        _ => i64::from(state.number())
            .checked_add(i64::from(delta))
            .and_then(|number| all.iter().find(|one| i64::from(one.number()) == number)),
    };
    if delta != 0 && target.is_none() && run.options.depth >= Depth::Multiscale {
        let found = format!("delta {delta} of level {}", state.number());
        if run.is_unfinished {
            // A pyramid writes the links to a new level before the root names the level; readers ignore these links.
            run.findings
                .add(Check::Unfinished, Place::at(&*path), found, "none");
            return Ok(FamilySums {
                damaged: true,
                ..FamilySums::default()
            });
        }
        run.findings.add(
            Check::CrossTarget,
            Place::at(&*path),
            found,
            "an existing level",
        );
    }
    let mut sums = FamilySums::default();
    if family.width() == 0 || family.width() > MAX_WIDTH || !run.options.wants_array(&path) {
        sums.damaged = true;
        return Ok(sums);
    }
    let (bases, vertices) = bases(state);
    let bases = Arc::new(bases);
    let deep = run.options.depth >= Depth::Conformance;
    let kind = state.level.store().kind();
    let known = state.is_known() && run.options.sample.is_none();
    let mut tree = (deep && delta == 0 && kind == Kind::Skeleton && known && family.width() == 2)
        .then(|| LevelEdges::new(state, vertices))
        .flatten();
    let mut covered = (run.options.coverage && delta > 0 && known)
        .then(|| usize::try_from(vertices.div_ceil(64)).ok())
        .flatten()
        .map(|words| vec![0_u64; words]);
    let mut groups = None;
    if delta == 0 {
        let found = state
            .level
            .store()
            .grid_array(state.number(), "link_fragments")
            .await;
        let place = || Place::at(state.path("link_fragments"));
        groups = run.keep(Check::NodeRead, place, found)?.flatten();
    }
    for (number, array) in family.arrays().iter().enumerate() {
        let plan = LinkCheckInput {
            state,
            target,
            family,
            number,
            array,
            groups: groups.clone().filter(|_| array.is_intra()),
            kind,
            deep,
            tree: tree.is_some(),
            coverage: covered.is_some(),
            bases: Arc::clone(&bases),
            findings: run.findings.like(),
        };
        plan.orphans(run).await?;
        plan.lonely_groups(run).await?;
        let before = sums.records;
        plan.cells(run, &mut sums, tree.as_mut(), covered.as_mut())
            .await?;
        let records = sums.records.saturating_sub(before);
        for attribute in family.attributes().iter().filter(|_| records > 0) {
            let is_there = attribute.arrays.get(number).is_some_and(Option::is_some);
            if !is_there && attribute.is_complete(family) {
                let found = format!("no array of {} for {records} links", attribute.name);
                let place = Place::at(array.array.path());
                run.findings
                    .add(Check::LinkAttributeThere, place, found, "one");
            }
        }
    }
    run.seen.links = run.seen.links.saturating_add(sums.records);
    if run.options.sample.is_none() && !sums.damaged {
        counts(run, state, family, &path, &sums);
        if sums.copies != 0 {
            let found = "records without their copies, or copies without their record";
            let expected = "one for each chunk that a record touches";
            run.findings
                .add(Check::LinkCopies, Place::at(&*path), found, expected);
        }
        if delta != 0 {
            run.between.insert((state.number(), delta), sums.between);
        }
        if let Some(tree) = tree {
            tree.finish(&mut run.findings, state, &bases, vertices);
        }
        if let Some(covered) = covered {
            coverage(run, state, &path, &bases, vertices, &covered);
        }
    }
    Ok(sums)
}

/// The name of a delta in paths.
fn delta_name(delta: i32) -> String {
    if delta == 0 {
        "0".to_owned()
    } else {
        format!("{delta:+}")
    }
}

/// For each chunk, the number of its first row among all rows of the level; and the number of rows.
fn bases(state: &LevelState) -> (Vec<u64>, u64) {
    let mut next = 0_u64;
    let bases = (0..state.chunks.len())
        .map(|slot| {
            let base = next;
            next = next.saturating_add(state.rows_of(slot).map_or(0, u64::from));
            base
        })
        .collect();
    (bases, next)
}

/// Compares the counts in a family's document with the cells.
fn counts(
    run: &mut Session<'_>,
    state: &LevelState,
    family: &LinkFamily,
    path: &str,
    sums: &FamilySums,
) {
    let doc = family.doc();
    // Before 0.9 the document counts only links between chunks.
    let by_offsets = family.by_offsets();
    let links = if by_offsets {
        sums.links
    } else {
        sums.crossing
    };
    if by_offsets {
        let measured = MeasuredFamily {
            links,
            records: sums.records,
        };
        let families = &mut run.measured(state.number()).families;
        families.insert(family.delta(), measured);
    }
    if let Some(stated) = doc.num_links.filter(|&stated| stated > links)
        && family.is_guessed()
    {
        run.skipped.push(format!(
            "{path}: the backend cannot list, and {links} of {stated} links are found"
        ));
        return;
    }
    if let Some(stated) = doc.num_links.filter(|&stated| stated != links) {
        let place = Place::at(path).pointer("/attributes/num_links");
        run.findings.add(Check::LinkCount, place, stated, links);
    }
    if let Some(stated) = doc
        .num_physical_records
        .filter(|&stated| by_offsets && stated != sums.records)
    {
        let place = Place::at(path).pointer("/attributes/num_physical_records");
        run.findings
            .add(Check::LinkCount, place, stated, sums.records);
    }
}

/// Reports vertices without a link to the coarser level.
fn coverage(
    run: &mut Session<'_>,
    state: &LevelState,
    path: &str,
    bases: &[u64],
    vertices: u64,
    covered: &[u64],
) {
    let has = |at: u64| {
        let word = usize::try_from(at / 64)
            .ok()
            .and_then(|word| covered.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    };
    let Some(first) = (0..vertices).find(|&at| !has(at)) else {
        return;
    };
    let missing = (first..vertices).filter(|&at| !has(at)).count();
    let slot = bases
        .partition_point(|&base| base <= first)
        .saturating_sub(1);
    let chunk = state.chunks.get(slot).map_or(&[][..], ChunkCoord::as_slice);
    let row = first.saturating_sub(bases.get(slot).copied().unwrap_or(0));
    let place = Place::at(path).chunk(chunk).row(row);
    let found = format!("{missing} of {vertices} vertices without a parent");
    run.findings
        .add(Check::ParentThere, place, found, "a parent for each");
}

impl LinkCheckInput<'_> {
    fn place(&self, key: &[i64]) -> Place {
        Place::at(self.array.array.path()).chunk(key)
    }

    fn values(&self) -> impl Iterator<Item = (&zvf_store::LinkAttribute, &Arc<GridArray>)> {
        self.family.attributes().iter().filter_map(|one| {
            let array = one.arrays.get(self.number)?.as_ref()?;
            Some((one, array))
        })
    }

    /// Reports link attributes without links.
    async fn orphans(&self, run: &mut Session<'_>) -> Result<(), StoreError> {
        for (_, values) in self.values() {
            for (key, cell) in self.lonely(run, values).await? {
                if !matches!(cell, Ok(None)) {
                    let place = Place::at(values.path()).chunk(&key);
                    let expected = "none, where there are no links";
                    run.findings
                        .add(Check::AttributeOrphan, place, "a cell", expected);
                }
            }
        }
        Ok(())
    }

    /// The cells of `array` at keys without link cells. Before 0.9 they are found by listing, so empty ones are included.
    async fn lonely(
        &self,
        run: &Session<'_>,
        array: &Arc<GridArray>,
    ) -> Result<Vec<(Vec<i64>, ReadCell)>, StoreError> {
        let links = self.array.array.presence();
        let lonely: Vec<&[i64]> = array
            .presence()
            .iter()
            .filter(|key| !links.contains(key))
            .collect();
        let mut found = Vec::new();
        for part in lonely.chunks(BATCH) {
            let cells = self.state.level.cells_each(&[array], part).await?;
            let cells = cells.into_iter().flatten().flatten();
            found.extend(part.iter().map(|key| key.to_vec()).zip(cells));
            // Each cell gives at most one finding, and findings beyond the limit are only counted.
            if found.len() > run.options.most.max(1 << 16) {
                break;
            }
        }
        Ok(found)
    }

    /// Checks that the groups of chunks without links are empty.
    async fn lonely_groups(&self, run: &mut Session<'_>) -> Result<(), StoreError> {
        let Some(groups) = &self.groups else {
            return Ok(());
        };
        for (key, cell) in self.lonely(run, groups).await? {
            let what = match cell {
                Ok(None) => continue,
                Err(why) => why.to_string(),
                Ok(Some(blob)) => match CheckedFragments::extent_of(&blob) {
                    Ok(0) => continue,
                    Ok(rows) => format!("groups of {rows} links"),
                    Err(error) => error.to_string(),
                },
            };
            let place = Place::at(groups.path()).chunk(&key);
            let expected = "no groups, where there are no links";
            run.findings
                .add(Check::LinkFragments, place, what, expected);
        }
        Ok(())
    }

    /// Reads the cells of the array.
    async fn cells(
        &self,
        run: &mut Session<'_>,
        sums: &mut FamilySums,
        mut tree: Option<&mut LevelEdges>,
        mut covered: Option<&mut Vec<u64>>,
    ) -> Result<(), StoreError> {
        let presence = self.array.array.presence();
        let slots = match run.options.sample {
            Some(sample) => sample.choose(presence.len(), wide(self.number)),
            None => (0..presence.len()).collect(),
        };
        if slots.len() < presence.len() {
            run.skipped.push(format!(
                "{}: {} of {} cells were read",
                self.array.array.path(),
                slots.len(),
                presence.len()
            ));
        }
        let batches: Vec<Vec<&[i64]>> = slots
            .chunks(BATCH)
            .map(|part| part.iter().filter_map(|&at| presence.get(at)).collect())
            .collect();
        let journal = run.journal.clone();
        let work = batches.into_iter().enumerate().map(|(number, keys)| {
            let key = batch_key(self.array.array.path(), number);
            once(journal.clone(), key, async move {
                let values = self.values().map(|(_, array)| array);
                let arrays = [&self.array.array].into_iter().chain(values);
                let arrays: Vec<_> = arrays.chain(&self.groups).collect();
                let cells = self.state.level.cells_each(&arrays, &keys).await?;
                Ok::<_, StoreError>(self.batch(&keys, cells))
            })
            .boxed()
        });
        let mut work = in_turn(work.collect(), run.batches());
        let mut done = 0_u64;
        while let Some((part, findings)) = work.try_next().await? {
            sums.join(&part);
            run.findings.merge(findings);
            run.seen.cells = run.seen.cells.saturating_add(part.cells);
            run.seen.bytes = run.seen.bytes.saturating_add(part.bytes);
            if let Some(tree) = tree.as_deref_mut() {
                let reversed = self.family.parent_first(self.array);
                for (child, parent) in part.pairs {
                    if reversed {
                        tree.add(parent, child)
                    } else {
                        tree.add(child, parent)
                    }
                }
            }
            if let Some(covered) = covered.as_deref_mut() {
                for at in part.sources {
                    let word = usize::try_from(at / 64)
                        .ok()
                        .and_then(|word| covered.get_mut(word));
                    if let Some(word) = word {
                        *word |= 1 << (at % 64);
                    }
                }
            }
            done = done.saturating_add(wide(BATCH));
            run.options.progress.tell(
                self.array.array.path(),
                done.min(wide(slots.len())),
                wide(slots.len()),
            );
        }
        Ok(())
    }

    /// Checks cells of links, each with the cells of its attributes and groups.
    fn batch(&self, keys: &[&[i64]], read: Vec<Vec<Option<ReadCell>>>) -> (FamilySums, Findings) {
        let mut sums = FamilySums::default();
        let mut findings = self.findings.like();
        for cell in read.iter().flatten().flatten() {
            let bytes = cell.as_ref().ok().and_then(Option::as_ref);
            sums.cells = sums.cells.saturating_add(1);
            sums.bytes = sums
                .bytes
                .saturating_add(bytes.map_or(0, |one| wide(one.len())));
        }
        for (&key, cells) in keys.iter().zip(read) {
            let mut cells = cells.into_iter();
            let mut next = || cells.next().flatten().unwrap_or(Ok(None));
            let records = self.cell(key, &next(), &mut sums, &mut findings);
            for (attribute, array) in self.values() {
                let cell = next();
                let place = || Place::at(array.path()).chunk(key);
                match (&cell, records) {
                    (Err(why), _) => {
                        findings.add(Check::CellReads, place(), why, "a cell that decodes");
                    }
                    (_, None) => {}
                    (Ok(None), Some(records)) => {
                        if records > 0 && attribute.is_complete_in(self.family, self.number) {
                            let found = format!("no cell for {records} links");
                            findings.add(Check::LinkAttributeThere, place(), found, "one");
                        }
                    }
                    (Ok(Some(bytes)), Some(records)) => {
                        match attribute.decode(array, bytes.clone(), records) {
                            Ok(values) => {
                                let dtype = DType::little(attribute.dtype.kind);
                                let width = values.row_bytes().checked_div(dtype.size());
                                let form = (dtype, width.unwrap_or(0));
                                let unit = attribute.unit.as_deref();
                                let bytes = (0, &values.bytes()[..]);
                                values::check(&mut findings, place, unit, form, bytes);
                            }
                            Err(fault) => {
                                let (found, expected) = fault.texts();
                                let check = Check::LinkAttributeRows;
                                findings.add(check, place(), found, expected);
                            }
                        }
                    }
                }
            }
            if let Some(groups) = &self.groups {
                self.group_cell(groups, key, &next(), records, &mut findings);
            }
        }
        (sums, findings)
    }

    fn group_cell(
        &self,
        groups: &GridArray,
        key: &[i64],
        cell: &ReadCell,
        records: Option<usize>,
        findings: &mut Findings,
    ) {
        let place = || Place::at(groups.path()).chunk(key);
        match (cell, records) {
            (Err(why), _) => {
                findings.add(Check::CellReads, place(), why, "a cell that decodes");
            }
            (Ok(Some(blob)), Some(records)) => {
                let rows = u32::try_from(records).unwrap_or(u32::MAX);
                let error = match CheckedFragments::examine(blob, rows) {
                    Ok((_, odd)) => odd,
                    Err(fault) => Some(fault.error()),
                };
                if let Some(error) = error {
                    let expected = format!("groups of {records} links");
                    findings.add(Check::LinkFragments, place(), error, expected);
                }
            }
            (Ok(None), Some(records)) if records > 0 => {
                let found = format!("none for {records} links");
                findings.add(Check::LinkFragmentsThere, place(), found, "groups");
            }
            _ => {}
        }
    }

    /// Checks the records of a cell. Returns their number; `None` if the cell cannot be decoded.
    fn cell(
        &self,
        key: &[i64],
        cell: &ReadCell,
        sums: &mut FamilySums,
        findings: &mut Findings,
    ) -> Option<usize> {
        let bytes = match cell {
            Ok(Some(bytes)) => &bytes[..],
            Ok(None) => {
                if !self.array.array.presence().is_listed() {
                    let expected = "a cell, since the presence list names it";
                    findings.add(Check::CellEmpty, self.place(key), "no content", expected);
                    sums.damaged = true;
                }
                return Some(0);
            }
            Err(why) => {
                sums.damaged = true;
                findings.add(
                    Check::CellReads,
                    self.place(key),
                    why,
                    "a cell that decodes",
                );
                return None;
            }
        };
        let mut ends = Vec::new();
        let decoded = self
            .array
            .endpoint_chunks(key, &mut ends)
            .and_then(|()| self.array.decode(key, bytes));
        let records = match decoded {
            Ok(records) => records,
            Err(error) => {
                sums.damaged = true;
                findings.add(Check::LinkCell, self.place(key), error, "records of links");
                return None;
            }
        };
        let count = records.len();
        let copy = self.array.is_copy(&ends);
        sums.records = sums.records.saturating_add(wide(count));
        if !copy {
            sums.links = sums.links.saturating_add(wide(count));
            if !matches!(self.array.placement(), Placement::SameKey) {
                sums.crossing = sums.crossing.saturating_add(wide(count));
            }
        }
        let cell = self.record_cell(key, &ends, copy);
        self.records(&cell, &records, sums, findings);
        Some(count)
    }
}
