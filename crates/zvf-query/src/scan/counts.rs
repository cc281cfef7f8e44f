//! The number of rows of each chunk.

use super::pass::Scan;
use super::run::ask;
use crate::answer::or_changed;
use crate::error::OrBug;
use crate::prepare::prepare;
use crate::{Outputs, Query, QueryError};
use zvf_store::Store;
use zvf_store::format::int;

/// Coordinates of chunks with their numbers of rows, in the order of an answer.
pub(crate) type CountedChunks = Vec<(Vec<i64>, u64)>;

/// The chunks of an answer, with their numbers of rows.
#[derive(Debug, Default)]
pub(crate) struct ChunkCounts {
    pub(crate) chunks: CountedChunks,
    /// Defects of the store that did not prevent an answer.
    pub(crate) warnings: Vec<String>,
}

/// Counts the rows that a query selects in each chunk. The query must be in the order of chunks, read one level, have no limit, and have its
/// conditions on objects resolved. `each` is called with the number of rows of every chunk as it is read.
///
/// # Cost
///
/// That of the query without its columns: only the data of its conditions is read. Of positions that no condition needs, only the length of their
/// cells is needed; on a local disk, only that is decoded.
///
/// # Errors
///
/// As [`query`](crate::query).
pub(crate) async fn count(
    store: &Store,
    query: Query,
    mut each: impl FnMut(u64) + Send,
) -> Result<ChunkCounts, QueryError> {
    let query = Query {
        outputs: Outputs {
            vertices: false,
            links: false,
            objects: false,
        },
        ..query
    };
    // The documents of a level are the second round of requests, cells the third.
    let prepared = or_changed(Box::pin(prepare(store, query)).await, store, 2).await?;
    let mut prepared = prepared.into_iter();
    let one = prepared.next().filter(|_| prepared.len() == 0);
    let mut p = one.or_bug("counts of several levels")?;
    let counts = async {
        let ask = ask(&mut p)?;
        let mut scan = Scan::start(&p, &ask).await?;
        let mut found = ChunkCounts::default();
        while let Some((group, _)) = scan.next().await? {
            for (slot, chunk) in &group.chunks {
                let rows = int::wide(chunk.kept.len());
                each(rows);
                found
                    .chunks
                    .push((scan.reader.table.get(*slot).to_vec(), rows));
            }
        }
        scan.remarks();
        found.warnings = p.warnings;
        found.warnings.append(&mut scan.warnings);
        Ok(found)
    };
    or_changed(counts.await, store, 3).await
}
