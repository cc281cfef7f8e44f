//! What making levels takes beside the memory budget.

use futures::future::BoxFuture;
use zvf_store::{Names, Need, Store};

use zvf_write::int::wide;
use zvf_write::{WriteError, WriteOptions};

/// How many bytes [`build_pyramid`](super::build_pyramid) by the density method may hold beside
/// [`WriteOptions::memory_budget`].
///
/// Vertices are read object by object, in two readings. A chunk that several objects cross stays decoded until the last of them was
/// read: at the worst all chunks do, with all attributes. Nothing is held so where there are no objects.
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
        let need = Need {
            vertex_attributes: Names::All,
            objects: true,
            ..Need::nothing()
        };
        let level = store.level(0, &need).await?;
        if level.object_index().is_none() {
            return Ok(0);
        }
        let position = level.dims().saturating_mul(level.vertices().dtype().size());
        let attributes = level.vertex_attributes().iter().map(|one| {
            let width = one.declared_width.unwrap_or(1);
            width.saturating_mul(wide(one.dtype.size()))
        });
        let row = attributes.fold(wide(position), u64::saturating_add);
        Ok(level.doc().vertex_count.saturating_mul(row))
    })
}
