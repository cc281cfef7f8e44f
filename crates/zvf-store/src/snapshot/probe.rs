//! Facts that are read from single chunks after a level has been built.
//!
//! A group of blobs may state a wrong type of its vertices: creating a store of 0.8 writes `float32` into the group of `vertices`, and a later writer
//! of `float64` does not correct it. The length of a blob shows it: it is twice the length that the fragment index of the chunk implies.
//!
//! Source: specification 0.8, section 8.1, trap 3.

mod links;

use std::sync::Arc;

use zvf_format::dtype::{DType, DTypeKind};

use super::SnapshotTree;
use crate::StoreError;
use crate::cells::{self, CellWant, ShardCache};
use crate::chunks::CheckedFragments;
use crate::container::{ContainerKind, GridArray, SharedArray};
use crate::level::LevelInner;
use zvf_format::int::wide;
use zvf_io::{Kv, driven};

/// How many chunks are read before the stated type is accepted.
const MOST: usize = 4;

/// The result of probing chunks of a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeResult {
    /// The cells are twice as long as the stated type implies.
    doubled: bool,
    /// The last round of requests.
    round: u32,
}

impl SnapshotTree {
    /// Probes single chunks for facts that the documents of a level lack or may state wrongly. Returns whether one was found that the level was built
    /// without, so that the level has to be built again.
    ///
    /// # Cost
    /// One round if anything is probed: a blob of `vertices` and one of `vertex_fragments`, once per level, and only for groups of blobs that state
    /// `float32`; and the cost of [`probe_links`](Self::probe_links).
    ///
    /// # Errors
    /// I/O, if all cells of a family are needed or a failure may be temporary: the level is not loaded, and the next load probes again. A chunk that stays
    /// unreadable is not an error: the query that needs it reports it.
    pub(crate) async fn probe(
        &self,
        level: &LevelInner,
        shards: &Arc<ShardCache>,
    ) -> Result<bool, StoreError> {
        let base = self.state().rounds.saturating_add(1);
        let (vertices, links) = futures::join!(
            self.probe_vertices(level, shards, base),
            self.probe_links(level, shards, base)
        );
        Ok(vertices? || links?)
    }

    /// Compares the stated type of a level's vertices with one chunk, once. Returns whether it was corrected.
    async fn probe_vertices(
        &self,
        level: &LevelInner,
        shards: &Arc<ShardCache>,
        base: u32,
    ) -> Result<bool, StoreError> {
        let (vertices, Some(fragments)) = (&level.vertices, &level.vertex_fragments) else {
            return Ok(false);
        };
        let claimed = vertices.dtype();
        if vertices.container() != ContainerKind::Blobs || claimed.kind != DTypeKind::F32 {
            return Ok(false);
        }
        let once = {
            let mut state = self.state();
            Arc::clone(state.probed.entry(level.number).or_default())
        };
        let finding = match once.get() {
            Some(finding) => finding,
            None => {
                let look = look(
                    (self.kv.clone(), Arc::clone(shards)),
                    base,
                    (Arc::clone(vertices), Arc::clone(fragments)),
                    level.dims,
                );
                driven(async move { once.get_or_load(look).await }).await?
            }
        };
        let mut state = self.state();
        state.rounds = state.rounds.max(finding.round);
        if !finding.doubled {
            return Ok(false);
        }
        self.warnings.add(format!(
            "{}: dtype is {claimed}, but the cells are twice as long as the fragment index implies: read as float64",
            vertices.path()
        ));
        let order = claimed.order;
        let kind = DTypeKind::F64;
        let corrected = GridArray::clone(vertices).retyped(DType { kind, order });
        let path = vertices.path().to_owned();
        state.grids.insert(path, Arc::new(corrected));
        Ok(true)
    }
}

/// Probes chunks until one shows the type, the first one in round `base`.
async fn look(
    (kv, shards): (Kv, Arc<ShardCache>),
    base: u32,
    (vertices, fragments): (SharedArray, SharedArray),
    dims: usize,
) -> Result<ProbeResult, StoreError> {
    let claimed = vertices.dtype();
    let chunks: Vec<_> = vertices.presence().iter().take(MOST).collect();
    let mut last = base;
    for (round, chunk) in (base..).zip(chunks) {
        last = round;
        let wants = vec![
            CellWant::new(&vertices, chunk),
            CellWant::new(&fragments, chunk),
        ];
        let fetched = cells::fetch_cells(kv.in_round(round), Arc::clone(&shards), wants);
        let found = match fetched.await {
            Ok(found) => found,
            Err(error) if error.is_transient() => return Err(error),
            // The query that needs the chunk reports that it is damaged or denied.
            Err(_) => continue,
        };
        let [Some(rows), Some(index)] = found.as_slice() else {
            continue;
        };
        let Some(implied) = implied(index, claimed, dims) else {
            continue;
        };
        let stored = wide(rows.len());
        let doubled = stored == implied.saturating_mul(2);
        return Ok(ProbeResult { doubled, round });
    }
    Ok(ProbeResult {
        doubled: false,
        round: last,
    })
}

/// Bytes of a chunk's vertices according to its fragment index; `None` if they do not follow from it.
fn implied(index: &[u8], dtype: DType, dims: usize) -> Option<u64> {
    let fragments = CheckedFragments::decode(index, None).ok()?;
    let rows = fragments.extent();
    if rows == 0 || !fragments.tile(rows) {
        return None;
    }
    let row = u64::try_from(dtype.size().checked_mul(dims)?).ok()?;
    u64::from(rows).checked_mul(row)
}
