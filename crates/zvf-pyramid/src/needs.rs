//! What making levels takes beside the memory budget.

use futures::future::BoxFuture;
use zvf_meta::Kind;
use zvf_store::{Need, Store};

use zvf_encode::{WriteError, WriteOptions};
use zvf_format::int::wide;

/// Bytes for each chunk that an object of points has points in: measured, from 13 with few to 45 with many of them.
const ENTRY: u64 = 48;

/// How many bytes [`build_pyramid`](super::build_pyramid) by the density method may hold beside
/// [`WriteOptions::memory_budget`].
///
/// Points of one object may lie anywhere, so that there may be as many fragments as points, and the manifests of all objects are
/// held. Objects of other kinds are connected: they have far fewer fragments than vertices.
///
/// # Cost
/// Documents of level 0 are read.
///
/// # Errors
/// Malformed data. I/O.
pub fn pyramid_memory<'a>(
    address: &'a str,
    options: &'a WriteOptions,
) -> BoxFuture<'a, Result<u64, WriteError>> {
    Box::pin(async move {
        let store = Store::open_with(address, options.open.clone()).await?;
        if store.kind() != Kind::PointCloud {
            return Ok(0);
        }
        let need = Need {
            objects: true,
            ..Need::nothing()
        };
        let level = store.level(0, &need).await?;
        let Some(objects) = level.object_index() else {
            return Ok(0);
        };
        let chunks = wide(level.vertices().presence().len());
        let fragments = objects.len().saturating_mul(chunks);
        Ok(fragments
            .min(level.doc().vertex_count)
            .saturating_mul(ENTRY))
    })
}
