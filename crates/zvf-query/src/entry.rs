//! The entry point of queries.

use futures::future::BoxFuture;
use zvf_store::Store;

use crate::{
    Answer, Query, QueryError, Select, answer, gather, object_relation, prepare, scan, union,
};

/// Runs a query.
///
/// Returns as soon as the schemas are known, after the first cells were read: the width of an attribute follows from its bytes (trap T8). The
/// rest is read when batches are requested.
///
/// # Cost
///
/// One round of requests for documents that are not loaded yet; then one for a query by box, two for a query by objects. Conditions on objects are
/// evaluated first: conditions on ids read the table of ids, conditions on attributes and `count()` the fragment indexes, and conditions on lengths and
/// ends the vertices of the objects that satisfy the other conditions.
///
/// Cells are read twice only if
///
/// - objects need more chunks at a time than fit the memory budget (at most half of the chunks; then the rest is read in one pass),
/// - the first cells show that chunk keys are unusable, so that all chunks are read (trap T12), or
/// - objects share most of their rows and are larger than the budget.
///
/// # Errors
///
/// Misuse: a level, attribute, object id or group that does not exist, a box of other dimensions, objects where there
/// is no object index, a filter that does not fit the types of its values. I/O; malformed or unsupported data; a limit.
///
/// # Examples
///
/// See the crate's page.
pub fn query<'a>(store: &'a Store, query: Query) -> BoxFuture<'a, Result<Answer, QueryError>> {
    Box::pin(async move {
        let mut remarks = Vec::new();
        let named = query.objects.is_some() || query.groups.is_some();
        let query = object_relation::resolve(store, query, &mut remarks).await?;
        let by_object = query.is_by_object();
        let empty_objects = query.select != Select::Objects && (named || !query.has_conditions());
        let alone = !query.outputs.links && !query.outputs.objects;
        let some = query.chunks.is_some() || query.within.is_some();
        if some && (by_object || !alone) {
            return Err(QueryError::misuse(
                "a range or list of chunks (a split) returns the vertex table alone, and cannot select whole objects: with --select objects, splits are divided by object",
            ));
        }
        let prepared = Box::pin(prepare::prepare(store, query)).await;
        // The documents of a level are the second round of requests.
        let mut levels = answer::or_changed(prepared, store, 2).await?;
        for level in &mut levels {
            level.empty_objects = empty_objects;
        }
        let only = if levels.len() == 1 {
            levels.pop()
        } else {
            None
        };
        let first = levels.iter().chain(&only).map(|p| p.round).max();
        // Cells take one round of requests; an answer by object takes one more before it, for manifests.
        let reading = 1 + u32::from(by_object);
        let (store, last) = (store.clone(), first.unwrap_or(0).saturating_add(reading));
        Answer::start(|mut emit| async move {
            let run = match (only, by_object) {
                (Some(prepared), true) => gather::run::run(prepared, &mut emit).await,
                (Some(prepared), false) => scan::run::run(prepared, &mut emit).await,
                (None, true) => union::by_object::run(levels, &mut emit).await,
                (None, false) => union::in_chunk_order::run(levels, &mut emit).await,
            };
            emit.end(run, &store, last).await
        })
        .await
        .map(|mut answer| {
            answer.by_object = by_object;
            answer.with_remarks(remarks)
        })
    })
}
