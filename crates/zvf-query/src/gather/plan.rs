//! Plans the reads for chosen objects.

use std::collections::HashMap;
use std::sync::Arc;

use super::batches::{Batch, Batches, cut};
use super::fetch::{Fetch, jobs, renumber};
use super::outlet::Keep;
use super::select::{self, Pick};
use super::step::GatherPlan;
use crate::by_slot::BySlot;
use crate::error::Place;
use crate::gaps::Gaps;
use crate::jobs::Jobs;
use crate::links::records::{LinkCellRef, Touch};
use crate::links::table::LinkTable;
use crate::links::{Rule, groups};
use crate::manifests::{Chooser, Chosen, Entries, Entry};
use crate::plan::chunks::{ChunkTable, Slot};
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader, RowTest};
use crate::scan::plan::Load;
use crate::scan::plan::load;
use crate::vertex_table::Out;
use crate::workers::Workers;
use crate::{QueryError, Select};
use zvf_store::format::int;

/// Manifests that are requested together.
const MANIFESTS: usize = 1 << 14;

/// Bytes that a manifest is assumed to take before the size of manifests is known. Limits the manifests that are decoded together.
const MANIFEST: u64 = 1 << 10;

/// Fewest bytes that a manifest is assumed to take: the record of its place takes more memory than a short manifest itself.
const LEAST_MANIFEST: u64 = 1 << 6;

/// Most chunks that are decoded on the calling thread; each takes about 20 µs.
const FEW_CHUNKS: usize = 16;

/// Above this number of manifests, a table of the listed chunks is worth its cost.
const MANY: usize = 1 << 10;

/// Chunks that a batch may always name: a few, so that their requests are sent together. Budgets below 1 MiB allow only one.
fn least(budget: u64) -> usize {
    if budget < 1 << 20 { 1 } else { 8 }
}

/// The state of a running query by object.
pub(super) struct Run {
    pub(super) picks: Vec<Pick>,
    pub(super) reader: Arc<Reader>,
    pub(super) plan: Arc<GatherPlan>,
    pub(super) fetch: Arc<Fetch>,
    pub(super) load: Load,
    /// The link cells of the answer.
    pub(super) cells: Vec<LinkCellRef>,
    /// Chunks that were read before.
    pub(super) held: HashMap<Slot, Decoded>,
    pub(super) jobs: Jobs<(Batch, Vec<Decoded>)>,
    pub(super) workers: Workers,
    pub(super) last_use: Vec<usize>,
    /// Whether the run begins with a pass over the chunks.
    pub(super) sorted: bool,
    pub(super) pruned: bool,
    /// The parts of the vertex table that links need.
    pub(super) keep: Keep,
    /// Whether fragment indexes are kept after the rows of their chunks were gathered, for links or for the owners of rows.
    pub(super) fragments: bool,
    /// Whether `chunks_read` already counts each chunk.
    pub(super) noted: Vec<bool>,
    pub(super) chunks_read: u64,
    pub(super) cells_read: u64,
    pub(super) gaps: Gaps,
    pub(super) round: u32,
}

impl Run {
    /// Reads the manifests and plans the rest.
    pub(super) async fn plan(
        p: &Prepared,
        picks: Vec<Pick>,
        links: Option<&LinkTable>,
        held: HashMap<Vec<i64>, Decoded>,
        prune: bool,
    ) -> Result<Self, QueryError> {
        let index = select::index(p)?;
        let rows: Vec<u64> = picks.iter().map(|pick| pick.row).collect();
        let whole = p.query.select == Select::Objects;
        let scope = match &p.query.bbox {
            Some(bbox) if prune && !whole => {
                Some(p.reader.grid.candidates(bbox, &p.reader.position.world))
            }
            _ => None,
        };
        let visible = |chunk: &[i64]| {
            whole
                || (scope.as_ref().is_none_or(|scope| scope.contains(chunk))
                    && !p.reader.rules_out(chunk)
                    && (!prune || p.reader.may_meet(chunk)))
        };
        let names: Vec<i64> = picks.iter().map(|pick| pick.id).collect();
        let rank = p.level.key_rank();
        if index.key_rank() != rank {
            let place = Place::array(p.query.level, "object_index");
            return Err(QueryError::malformed(
                place,
                format!("sid_ndim is {}, expected {rank}", index.key_rank()),
            ));
        }
        let many = rows.len() > MANY;
        let rising = rows.is_sorted();
        let listed = many
            .then(|| {
                ChunkTable::from_unsorted(rank, p.level.vertices().presence().iter().collect())
            })
            .flatten();
        let mut chooser = Chooser::new(p.query.level, rank, visible, listed);
        let mut done = 0;
        let manifests = async {
            let (mut rest, mut each) = (rows.as_slice(), MANIFEST);
            while !rest.is_empty() {
                let most = p.query.memory_budget / each;
                let (part, later) = together(rest, rising, index.decoded_together(), most);
                rest = later;
                // With rising rows, no part of the manifests is read twice.
                if many && rising {
                    index.forget_manifests();
                }
                let blobs = index.manifests_in(p.round, part).await?;
                let ids = names.get(done..).unwrap_or(&[]);
                chooser.push(&blobs, ids)?;
                let bytes: u64 = blobs.iter().map(|blob| int::wide(blob.len())).sum();
                each = (bytes / int::wide(part.len()).max(1)).max(LEAST_MANIFEST);
                done += blobs.len();
                if done == part.len() {
                    chooser.reserve(rows.len() - done, part.len());
                }
            }
            Ok::<(), QueryError>(())
        };
        // If all objects are requested, all links are needed.
        let some = links.is_some() && p.rule == Rule::Stored && int::wide(rows.len()) < index.len();
        let groups = async {
            if some {
                groups::array(&p.level).await
            } else {
                Ok(None)
            }
        };
        let ((), groups) = futures::try_join!(manifests, groups)?;
        if many {
            index.forget_manifests();
        }
        drop(rows);
        let Chosen {
            table,
            starts,
            entries,
        } = chooser.finish()?;
        let mut reader = p.reader.clone();
        reader.test.placed = scope.is_some();
        reader.test.worthless_keys = scope.is_none() && p.query.bbox.is_some();
        if whole {
            reader.test = RowTest::default();
            reader.filter = None;
        }
        reader.set_table(table);
        let reader = Arc::new(reader);
        check_grid(&reader, &entries, &starts, &names)?;
        let what = p.what(&p.table, true, !whole);
        let mut cells = match (&p.family, links.and_then(|table| table.family.as_ref())) {
            (Some(family), Some(_)) if p.rule != Rule::Sequential || !family.columns.is_empty() => {
                let touch = if p.rule == Rule::Branches {
                    Touch::Any
                } else {
                    Touch::All
                };
                family.cells(&reader.table, false, touch)?
            }
            _ => Vec::new(),
        };
        if let (Some(family), Some(groups)) = (&p.family, &groups) {
            groups::restrict(family, groups, &reader.table, &entries, &mut cells);
        }
        // Manifests were read in the previous round.
        let round = p.round + 1;
        let chunk_count = reader.table.len();
        // If all objects are requested, all rows are needed.
        let named = (int::wide(names.len()) < index.len()).then(|| {
            let named = |entry: Entry| (entry.slot, (entry.first, entry.count));
            BySlot::new(chunk_count, || entries.iter(0).map(named))
        });
        let load = load(p, &reader, &what);
        let in_parts = named.is_some() && !reader.tests_all() && reader.chunks.reads_parts();
        let here = match in_parts {
            true => chunk_count <= FEW_CHUNKS,
            false => load.is_small(chunk_count),
        };
        let fetch = Arc::new(Fetch {
            reader: Arc::clone(&reader),
            what,
            round,
            named,
            here,
        });
        let held = renumber(held, &reader);
        let plan = GatherPlan {
            reader: Arc::clone(&reader),
            table: p.table.clone(),
            entries,
            starts,
            ids: names,
            most_rows: p.query.batch_rows.max(1).saturating_mul(4),
        };
        let all = p.table.has(Out::ObjectIds);
        let mut run = Self {
            picks,
            gaps: Gaps::new(reader.columns.len()),
            keep: Keep::of(p, links),
            fragments: false,
            noted: vec![false; chunk_count],
            reader,
            plan: Arc::new(plan),
            fetch,
            load,
            cells,
            held,
            jobs: Jobs::none(),
            workers: Workers::new(p.level.store(), round),
            last_use: Vec::new(),
            sorted: false,
            pruned: scope.is_some(),
            chunks_read: int::wide(chunk_count),
            cells_read: 0,
            round,
        };
        run.fragments = all || run.keep == Keep::Pieces && links.is_some();
        run.plan_batches(p);
        Ok(run)
    }

    /// Plans to gather object after object, or, if that would read many chunks again, in one pass over the chunks.
    fn plan_batches(&mut self, p: &Prepared) {
        let batches = self.batches(0);
        let chunks = self.reader.table.len();
        let keep =
            usize::try_from(self.load.budget / 8 / self.load.chunk_bytes()).unwrap_or(usize::MAX);
        // With a limit, the number of objects that are read is unknown.
        if p.query.limit.is_none() && batches.repeats(keep, chunks / 2) > chunks / 2 {
            self.sorted = true;
            return;
        }
        self.start(p, batches);
    }

    /// Splits the entries from `from` on, so that the chunks of a batch take a part of the budget.
    pub(super) fn batches(&self, from: usize) -> Batches {
        let most =
            usize::try_from(self.load.budget / 8 / self.load.chunk_bytes()).unwrap_or(usize::MAX);
        let chunks = self.reader.table.len();
        cut(
            &self.plan.entries,
            from,
            chunks,
            most.max(least(self.load.budget)),
        )
    }

    /// Starts to read batches.
    pub(super) fn start(&mut self, p: &Prepared, batches: Batches) {
        let held = std::mem::take(&mut self.held);
        self.last_use = batches.last_use;
        self.jobs = jobs(p, &self.fetch, batches.list, held, self.cells.clone());
    }
}

/// Splits off the rows whose manifests are requested together. If rows are ascending, the chunks of these manifests, with `chunk` manifests each,
/// have at most `most` manifests together, or are a single chunk.
fn together(rows: &[u64], rising: bool, chunk: u64, most: u64) -> (&[u64], &[u64]) {
    let (mut last, mut decoded) = (None, 0_u64);
    let requested = rows.iter().take(MANIFESTS).take_while(|row| {
        let number = **row / chunk.max(1);
        if rising && last.replace(number) != Some(number) {
            decoded = decoded.saturating_add(chunk);
        }
        decoded <= most.max(chunk)
    });
    let end = requested.count();
    rows.split_at(end)
}

/// Fails if a manifest names a chunk outside the grid.
fn check_grid(
    reader: &Reader,
    entries: &Entries,
    starts: &[usize],
    ids: &[i64],
) -> Result<(), QueryError> {
    let bad = (0_u32..)
        .zip(reader.table.iter())
        .find(|(_, chunk)| !reader.in_grid(chunk));
    let Some((slot, chunk)) = bad else {
        return Ok(());
    };
    let entry = entries.iter(0).position(|entry| entry.slot == slot);
    let after = entry.map(|entry| starts.partition_point(|start| *start <= entry));
    let id = after
        .and_then(|after| ids.get(after.checked_sub(1)?))
        .copied();
    let place = Place::cell(reader.number, "object_index/manifests", chunk).of(id);
    Err(QueryError::malformed(
        place,
        "the manifest names a chunk outside the grid",
    ))
}
