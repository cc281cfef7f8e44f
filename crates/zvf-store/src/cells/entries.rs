//! Inner chunks of one shard, for tables.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;

use super::shard::{self, ShardHead, ShardRead, WantedCell};
use crate::StoreError;
use crate::layout::ShardLayout;
use zvf_io::{Ask, Cap, Kv};

/// The stored bytes of some inner chunks of the shard at `key`, by their numbers in its index; `None` for those that
/// are not stored.
///
/// # Cost
/// One request for a small shard, else one for the index and one for each chunk.
///
/// # Errors
/// I/O; a damaged index; a shard that changes in between.
pub(crate) async fn fetch_entries(
    kv: &Kv,
    key: &str,
    shard: ShardLayout,
    entries: &[u64],
) -> Result<Vec<Option<Bytes>>, StoreError> {
    const BESIDE: u64 = 64 << 10;
    let cap = Cap::cell(kv.limits());
    let mut found = vec![None; entries.len()];
    let first = kv.get(key, shard::first_ask(shard, BESIDE), cap).await?;
    let Some(object) = first else {
        return Ok(found);
    };
    let head = Arc::new(ShardHead::parse(key, shard, object)?);
    let cells = entries.iter().enumerate().map(|(want, entry)| WantedCell {
        want,
        entry: *entry,
        element: 0,
    });
    let mut read = ShardRead::new(key, head, &cells.collect::<Vec<_>>(), cap)?;
    // The place of a chunk is known only from the index: requests after it belong to the next round.
    let kv = kv.in_round(kv.round().saturating_add(1));
    let ranges = read.missing().into_iter();
    let parts = try_join_all(ranges.map(|range| kv.get(key, Ask::Range(range), cap)));
    for object in parts.await? {
        read.take(key, object.map(Into::into))?;
    }
    for chunk in read.chunks() {
        let bytes = read.bytes_of(key, chunk)?;
        for cell in &chunk.cells {
            let place = found.get_mut(cell.want);
            let place = place.ok_or_else(|| StoreError::bug("a cell that was not asked for"))?;
            *place = Some(bytes.clone());
        }
    }
    Ok(found)
}
