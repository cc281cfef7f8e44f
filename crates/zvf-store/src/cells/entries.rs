//! Inner chunks of one shard, for tables.

use bytes::Bytes;
use futures::future::try_join_all;

use super::Cell;
use super::shard::{self, ShardHead};
use crate::StoreError;
use crate::layout::Shard;
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
    shard: Shard,
    entries: &[u64],
) -> Result<Vec<Option<Bytes>>, StoreError> {
    const BESIDE: u64 = 64 << 10;
    let cap = Cap::cell(kv.limits());
    let mut found = vec![None; entries.len()];
    let first = kv.get(key, shard::first_ask(shard, BESIDE), cap).await?;
    let Some(object) = first else {
        return Ok(found);
    };
    let head = ShardHead::parse(key, shard, object)?;
    let cells: Vec<Cell> = entries
        .iter()
        .enumerate()
        .map(|(want, entry)| Cell {
            want,
            entry: *entry,
            element: 0,
        })
        .collect();
    let chunks = shard::chunks(key, &head, &cells, cap)?;
    // Where a chunk lies is known only from the index: what is asked for after it belongs to the next round.
    let next = kv.round().saturating_add(1);
    let missing = chunks
        .iter()
        .filter(|chunk| chunk.bytes.is_none() && !chunk.range.is_empty());
    let parts = missing.map(|chunk| async {
        let range = chunk.range.clone();
        let object = kv
            .in_round(next)
            .get(key, Ask::Range(range.clone()), cap)
            .await?;
        let object = object
            .ok_or_else(|| StoreError::malformed(key, "the shard vanished while it was read"))?;
        head.check_same(key, &object)?;
        Ok::<_, StoreError>((range.start, object.bytes))
    });
    let mut parts = try_join_all(parts).await?;
    parts.sort_unstable_by_key(|(start, _)| *start);
    for chunk in &chunks {
        let bytes = shard::cut(key, chunk, &parts)?;
        for cell in &chunk.cells {
            if let Some(place) = found.get_mut(cell.want) {
                *place = Some(bytes.clone());
            }
        }
    }
    Ok(found)
}
