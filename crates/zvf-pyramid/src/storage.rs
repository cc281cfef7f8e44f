//! How the cells of a store lie, for levels that shall lie alike (trap T7).

use tokio::runtime::Handle;
use zvf_store::{Need, Store};

use zvf_codec::Compression;
use zvf_write::WriteError;

/// Compression and shard shape of the positions of level 0.
///
/// # Errors
/// Misuse: codecs that this crate does not write. I/O.
pub(crate) fn of_level(
    store: &Store,
    handle: &Handle,
) -> Result<(Compression, Option<Vec<u64>>), WriteError> {
    let level = handle.block_on(store.level(0, &Need::nothing()))?;
    let vertices = level.vertices();
    let Some(doc) = vertices.doc() else {
        return Ok((Compression::Zstd, None));
    };
    let sharding = doc.sharding()?;
    let (codecs, shards) = match &sharding {
        Some(inner) => (&inner.codecs, Some(doc.chunk_shape.clone())),
        None => (&doc.codecs, None),
    };
    // What is not known is not imitated: every array says for itself how it is compressed.
    let found = Compression::of(codecs.get(1..).unwrap_or_default());
    Ok((found.unwrap_or_default(), shards))
}
