//! What is known only once a level has been built: a look at single chunks.
//!
//! Whether a group of blobs says the truth about the type of its vertices: creating a store of 0.8 writes `float32` into
//! the group of `vertices`, and a later writer of `float64` leaves it there. The length of a blob tells: it is twice what
//! the fragment index of the chunk implies.
//!
//! Source: specification 0.8, section 8.1, trap 3.

mod links;

use std::sync::Arc;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::fragments::FragmentIndex;

use super::Tree;
use crate::StoreError;
use crate::cells::{self, CellWant, ShardCache};
use crate::container::{ContainerKind, GridArray};
use crate::level::LevelInner;

/// How many chunks are looked at before the claim is believed.
const MOST: usize = 4;

impl Tree {
    /// Looks at single chunks for what the documents of a level do not tell, or not truly. Returns whether something was
    /// found, so that the level has to be built again.
    ///
    /// # Cost
    /// One round where there is anything to look at: a blob of `vertices` and one of `vertex_fragments`, once a level, and
    /// only for groups of blobs that claim `float32`; and what [`probe_links`](Self::probe_links) asks for.
    ///
    /// # Errors
    /// I/O, where all cells of a family are needed.
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
        Ok(vertices || links?)
    }

    /// Compares the claimed type of a level's vertices with one chunk, once. Returns whether it was corrected.
    async fn probe_vertices(
        &self,
        level: &LevelInner,
        shards: &Arc<ShardCache>,
        base: u32,
    ) -> bool {
        let (vertices, Some(fragments)) = (&level.vertices, &level.vertex_fragments) else {
            return false;
        };
        let claimed = vertices.dtype();
        if vertices.container() != ContainerKind::Blobs
            || claimed.kind != DTypeKind::F32
            || !self.state().probed.insert(level.number)
        {
            return false;
        }
        let chunks: Vec<_> = vertices.presence().iter().take(MOST).collect();
        for (round, chunk) in (base..).zip(chunks) {
            self.reach(round);
            let wants = vec![
                CellWant::new(vertices, chunk),
                CellWant::new(fragments, chunk),
            ];
            let fetched =
                cells::fetch_map(self.kv.clone(), Arc::clone(shards), round, wants, |c| c);
            // What cannot be read is reported by the query that needs it.
            let Ok(found) = fetched.await else {
                continue;
            };
            let [Some(rows), Some(index)] = found.as_slice() else {
                continue;
            };
            let Some(implied) = implied(index, claimed, level.dims) else {
                continue;
            };
            let stored = u64::try_from(rows.len()).unwrap_or(u64::MAX);
            if stored != implied.saturating_mul(2) {
                return false;
            }
            self.warnings.add(format!(
                "{}: dtype is {claimed}, but the cells are twice as long as the fragment index implies: read as float64",
                vertices.path()
            ));
            let order = claimed.order;
            let kind = DTypeKind::F64;
            let corrected = GridArray::retyped(vertices, DType { kind, order });
            self.state()
                .grids
                .insert(vertices.path().to_owned(), Arc::new(corrected));
            return true;
        }
        false
    }
}

/// Bytes of a chunk's vertices by its fragment index; `None` where the index does not tell.
fn implied(index: &[u8], dtype: DType, dims: usize) -> Option<u64> {
    let index = FragmentIndex::parse(index).ok()?;
    let rows = index.extent().ok().filter(|rows| *rows > 0)?;
    if !index.tiles(rows) {
        return None;
    }
    let row = u64::try_from(dtype.size().checked_mul(dims)?).ok()?;
    rows.checked_mul(row)
}
