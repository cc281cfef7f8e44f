//! From chosen objects to what must be read.

use std::collections::HashMap;
use std::sync::Arc;

use zvf_store::IdTable;

use super::batches::cut;
use super::fetch::{Fetch, jobs};
use super::gather::GatherPlan;
use super::run::Run;
use super::select::{self, Pick};
use crate::error::Place;
use crate::links::Rule;
use crate::links::records::Touch;
use crate::links::table::LinkTable;
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader, RowTest, What};
use crate::vertex_table::Out;
use crate::walk::{Chosen, Entry, choose};
use crate::{QueryError, Select, int};

impl Run {
    /// Reads the manifests and plans the rest.
    pub(super) async fn plan(
        p: &Prepared,
        ids: Arc<IdTable>,
        picks: Vec<Pick>,
        links: Option<&LinkTable>,
        held: HashMap<Vec<i64>, Decoded>,
        prune: bool,
    ) -> Result<Self, QueryError> {
        let index = select::index(p)?;
        let rows: Vec<u64> = picks.iter().map(|pick| pick.row).collect();
        let blobs = index.manifests_in(p.round, &rows).await?;
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
                    && !p.reader.rules_out(chunk))
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
        let Chosen {
            table,
            starts,
            entries,
        } = choose(&blobs, &names, p.query.level, rank, visible)?;
        let mut reader = p.reader.clone();
        reader.test.placed = scope.is_some();
        reader.test.worthless_keys = scope.is_none() && p.query.bbox.is_some();
        if whole {
            reader.test = RowTest::default();
            reader.filter = None;
        }
        reader.set_table(table);
        let reader = Arc::new(reader);
        let owners: Vec<u32> = owners(&starts);
        check_grid(&reader, &entries, &owners, &names)?;
        let filtered = |name: &String| {
            !whole
                && p.query
                    .filter
                    .as_ref()
                    .is_some_and(|filter| filter.names().contains(name))
        };
        let what = What {
            vertices: true,
            fragments: true,
            attributes: reader
                .columns
                .iter()
                .enumerate()
                .map(|(index, column)| p.table.has(Out::Attribute(index)) || filtered(&column.name))
                .collect(),
        };
        let batches = cut(&entries, reader.table.len());
        let cells = match (&p.family, links.and_then(|table| table.family.as_ref())) {
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
        // Manifests came in the round before.
        let round = p.round + 1;
        let chunk_count = reader.table.len();
        let fetch = Arc::new(Fetch {
            reader: Arc::clone(&reader),
            what,
            round,
        });
        let jobs = jobs(p, &fetch, batches.list, held, cells);
        let plan = GatherPlan {
            reader: Arc::clone(&reader),
            table: p.table.clone(),
            entries,
            picks: owners,
            ids: names,
            most_rows: p.query.batch_rows.max(1).saturating_mul(4),
        };
        Ok(Self {
            ids,
            empty: blobs.iter().map(|blob| blob.len() <= 4).collect(),
            picks,
            missing: vec![0; reader.columns.len()],
            short: vec![0; reader.columns.len()],
            reader,
            plan: Arc::new(plan),
            fetch,
            jobs,
            ready_links: None,
            last_use: batches.last_use,
            pruned: scope.is_some(),
            chunks_read: int::wide(chunk_count),
            cells_read: 0,
            round,
        })
    }
}

/// Number of the object of each entry.
fn owners(starts: &[usize]) -> Vec<u32> {
    let spans = starts.windows(2).map(|pair| match pair {
        [start, end] => end.saturating_sub(*start),
        _ => 0,
    });
    (0_u32..)
        .zip(spans)
        .flat_map(|(pick, count)| std::iter::repeat_n(pick, count))
        .collect()
}

/// Manifests may only name chunks that the grid can hold.
fn check_grid(
    reader: &Reader,
    entries: &[Entry],
    owners: &[u32],
    ids: &[i64],
) -> Result<(), QueryError> {
    let bad = (0_u32..)
        .zip(reader.table.iter())
        .find(|(_, chunk)| !reader.in_grid(chunk));
    let Some((slot, chunk)) = bad else {
        return Ok(());
    };
    let owner = entries
        .iter()
        .position(|entry| entry.slot == slot)
        .and_then(|at| owners.get(at));
    let id = owner.and_then(|owner| ids.get(int::at(*owner))).copied();
    let place = Place::cell(reader.number, "object_index/manifests", chunk).of(id);
    Err(QueryError::malformed(
        place,
        "the manifest names a chunk outside the grid",
    ))
}
