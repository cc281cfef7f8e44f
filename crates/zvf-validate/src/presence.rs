//! Checks that presence lists are exact: compares the objects of an array with its listed cells.
//!
//! Finds objects that are not listed. Listed cells that do not exist are found by the code that reads them.

use std::sync::Arc;

use zvf_meta::ArrayDoc;
use zvf_meta::space::chunk_of_cell;
use zvf_store::{CellWant, ChunkCoord, GridArray, StoreError};

use crate::check::Check;
use crate::finding::Place;
use crate::level::LevelState;
use crate::run::Session;
use zvf_format::int::wide;

/// The number of unlisted cells from which on they are requested.
const BATCH: usize = 1024;

/// The maximum number of unlisted cells that are requested for one array.
const MOST: u64 = 1 << 22;

/// Compares the objects of every array of cells with its presence list.
///
/// # Cost
/// One listing for each array, and the unlisted cells of existing objects; for sharded arrays also the indexes of the shards with unlisted cells.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(run: &mut Session<'_>, state: &LevelState) -> Result<(), StoreError> {
    if run.options.sample.is_some() {
        run.skipped.push(format!(
            "level {}: objects that no presence list names were not searched for",
            state.number()
        ));
        return Ok(());
    }
    for array in arrays(run, state).await? {
        if !run.options.wants_array(array.path()) || array.presence().is_listed() {
            continue;
        }
        if let Some(doc) = array.doc() {
            one(run, state, &array, doc).await?;
        }
    }
    Ok(())
}

/// All arrays of cells of a level.
async fn arrays(
    run: &mut Session<'_>,
    state: &LevelState,
) -> Result<Vec<Arc<GridArray>>, StoreError> {
    let level = &state.level;
    let mut arrays = level.arrays();
    let path = "link_fragments";
    let groups = level.store().grid_array(state.number(), path).await;
    let place = || Place::at(state.path(path));
    arrays.extend(run.keep(Check::NodeRead, place, groups)?.flatten());
    Ok(arrays)
}

async fn one(
    run: &mut Session<'_>,
    state: &LevelState,
    array: &Arc<GridArray>,
    doc: &ArrayDoc,
) -> Result<(), StoreError> {
    let Some(shape) = array.shape().map(<[u64]>::to_vec) else {
        return Ok(());
    };
    let zeros = vec![0; shape.len()];
    let usual = std::iter::once("c").chain(shape.iter().map(|_| "0"));
    if doc.key_encoding.object_key(&zeros) != usual.collect::<Vec<_>>().join("/") {
        // Objects with other names are not searched for.
        return Ok(());
    }
    let keys = state
        .level
        .store()
        .raw()
        .keys(&format!("{}/c", array.path()))
        .await;
    let place = || Place::at(array.path());
    let Some(Some(mut keys)) = run.keep(Check::ObjectStray, place, keys)? else {
        return Ok(());
    };
    keys.sort_unstable();
    // The number of cells in one object along each axis: more than 1 in a shard.
    let side: Vec<u64> = doc.chunk_shape.clone();
    let mut unlisted: Vec<Vec<i64>> = Vec::new();
    let mut asked = 0_u64;
    for key in keys {
        let first = parse(&key, shape.len()).and_then(|index| {
            let first: Option<Vec<u64>> = index
                .iter()
                .zip(&side)
                .map(|(at, side)| at.checked_mul(*side))
                .collect();
            first.filter(|first| first.iter().zip(&shape).all(|(at, extent)| at < extent))
        });
        let Some(first) = first else {
            if !is_temporary(&key) {
                let place = Place::at(format!("{}/c/{key}", array.path()));
                let expected = format!("objects of a grid of {shape:?} cells");
                run.findings
                    .add(Check::ObjectStray, place, "an object", expected);
            }
            continue;
        };
        let cells = ShardCells::new(&first, &side, &shape);
        for index in cells {
            let chunk: Vec<i64> = chunk_of_cell(array.origin(), index).collect();
            if array.presence().contains(&chunk) {
                continue;
            }
            asked = asked.saturating_add(1);
            if asked > MOST {
                break;
            }
            unlisted.push(chunk);
        }
        if unlisted.len() >= BATCH {
            report(run, state, array, std::mem::take(&mut unlisted)).await?;
        }
    }
    if asked > MOST {
        run.skipped.push(format!(
            "{}: more than {MOST} cells that are not listed; the others were not searched for",
            array.path()
        ));
    }
    run.measured.searched.insert(array.path().to_owned());
    report(run, state, array, unlisted).await
}

/// Requests unlisted cells, and reports those with content.
async fn report(
    run: &mut Session<'_>,
    state: &LevelState,
    array: &Arc<GridArray>,
    chunks: Vec<Vec<i64>>,
) -> Result<(), StoreError> {
    if chunks.is_empty() {
        return Ok(());
    }
    let wants = chunks
        .iter()
        .map(|chunk| CellWant::new(array, chunk.as_slice()))
        .collect();
    let store = state.level.store();
    let cells = store
        .fetch_each(state.level.next_round(), wants, |cells| cells)
        .await?;
    for (chunk, cell) in chunks.iter().zip(cells) {
        let found = match cell {
            Ok(None) => continue,
            Ok(Some(bytes)) => {
                if run.options.measure {
                    let unlisted = &mut run.measured.unlisted;
                    let of_array = unlisted.entry(array.path().to_owned()).or_default();
                    of_array.push(ChunkCoord::new(chunk));
                }
                format!("a cell of {} bytes", wide(bytes.len()))
            }
            Err(why) => why.to_string(),
        };
        let place = Place::at(array.path()).chunk(chunk);
        run.findings.add(
            Check::CellListed,
            place,
            found,
            "its key in nonempty_chunks",
        );
    }
    Ok(())
}

/// Whether a key is a temporary name, which a writer renames when the object is complete.
fn is_temporary(key: &str) -> bool {
    key.rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with(".zvf-"))
}

/// The numbers in the key of an object: one per axis of the array, in decimal digits without leading zeros.
fn parse(key: &str, rank: usize) -> Option<Vec<u64>> {
    let plain = |part: &str| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        (digits && (part == "0" || !part.starts_with('0'))).then(|| part.parse().ok())?
    };
    let index: Option<Vec<u64>> = key.split('/').map(plain).collect();
    index.filter(|index| index.len() == rank)
}

/// All cells of an object, in C order.
struct ShardCells {
    first: Vec<u64>,
    end: Vec<u64>,
    next: Option<Vec<u64>>,
}

impl ShardCells {
    fn new(first: &[u64], side: &[u64], shape: &[u64]) -> Self {
        let end = first
            .iter()
            .zip(side)
            .zip(shape)
            .map(|((&at, &side), &extent)| at.saturating_add(side).min(extent))
            .collect();
        Self {
            first: first.to_vec(),
            end,
            next: Some(first.to_vec()),
        }
    }
}

impl Iterator for ShardCells {
    type Item = Vec<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let now = self.next.take()?;
        let mut after = now.clone();
        for axis in (0..after.len()).rev() {
            let (at, first, end) = (
                after.get_mut(axis)?,
                self.first.get(axis)?,
                self.end.get(axis)?,
            );
            *at += 1;
            if *at < *end {
                self.next = Some(after);
                break;
            }
            *at = *first;
        }
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_an_edge_shard() {
        let cells: Vec<Vec<u64>> = ShardCells::new(&[2, 0], &[2, 2], &[3, 2]).collect();
        assert_eq!(cells, [[2, 0], [2, 1]]);
    }

    #[test]
    fn keys_are_plain_numbers() {
        assert_eq!(parse("0/10", 2), Some(vec![0, 10]));
        for bad in ["0", "0/01", "0/-1", "0/x", "0/1/2", "0/", ".zvf-1/0"] {
            assert_eq!(parse(bad, 2), None, "{bad}");
        }
    }
}
