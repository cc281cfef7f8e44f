//! How the cells of a store lie, for levels that shall lie alike (trap T7).

use tokio::runtime::Handle;
use zvf_meta::Codec;
use zvf_store::{Need, Store};

use crate::WriteError;
use crate::codec::Compression;

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
    let rest = codecs.get(1..).unwrap_or_default();
    let found = compression(rest);
    // What is not known is not imitated: every array says for itself how it is compressed.
    let usable = found.filter(|one| one.check().is_ok());
    Ok((usable.unwrap_or(Compression::Zstd), shards))
}

/// The compression of a codec list behind `vlen-bytes`.
fn compression(codecs: &[Codec]) -> Option<Compression> {
    let (last, before) = match codecs {
        [] => return Some(Compression::None),
        [before @ .., last] => (last, before),
    };
    if last.name == "crc32c" {
        let inner = compression(before)?;
        return (!matches!(inner, Compression::Checksum(_)))
            .then(|| Compression::Checksum(Box::new(inner)));
    }
    if !before.is_empty() {
        return None;
    }
    let level = last
        .configuration
        .get("level")
        .and_then(serde_json::Value::as_i64);
    match (last.name.as_str(), level) {
        ("zstd", None | Some(0)) => Some(Compression::Zstd),
        ("zstd", Some(level)) => Some(Compression::ZstdLevel(i32::try_from(level).ok()?)),
        ("gzip", level) => Some(Compression::Gzip(u32::try_from(level.unwrap_or(5)).ok()?)),
        ("blosc", _) => Some(Compression::Blosc),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::compression;
    use crate::codec::Compression;

    #[test]
    fn compressions_come_back_from_their_documents() {
        let checked = Compression::Checksum(Box::new(Compression::Gzip(3)));
        for one in [
            Compression::None,
            Compression::Zstd,
            Compression::ZstdLevel(9),
            Compression::Gzip(6),
            Compression::Blosc,
            checked,
        ] {
            assert_eq!(compression(&one.codecs()), Some(one));
        }
    }
}
