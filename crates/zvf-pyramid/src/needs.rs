//! Memory for building levels, in addition to the memory budget.

use futures::future::BoxFuture;
use zvf_meta::Kind;
use zvf_store::{Need, Store};

use zvf_encode::{WriteError, WriteOptions};
use zvf_format::int::wide;

/// Bytes for each chunk in which an object of points has points: measured, from 13 for few to 45 for many of them.
const ENTRY: u64 = 48;

/// How many bytes [`build_pyramid`](super::build_pyramid) by the density method may hold in addition to [`WriteOptions::memory_budget`].
///
/// Points of one object may be anywhere, so there may be as many fragments as points, and the manifests of all objects are
/// held. Objects of other kinds are connected: they have far fewer fragments than vertices.
///
/// # Cost
/// Reads documents of level 0.
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
