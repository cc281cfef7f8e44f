//! Selects objects by their relations to several regions.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::future::BoxFuture;
use zvf_store::Store;

use crate::bits::Bits;
use crate::error::OrBug;
use crate::object_ids::object_ids;
use crate::{Names, ObjectRelation, Outputs, Query, QueryError, Region, Select, Table};

/// Replaces the condition [`Query::passing`] with the ids of the objects that satisfy it.
///
/// # Cost
///
/// Nothing without a condition. Otherwise, for each relation to a region, one query for the objects with this relation, without their vertices.
/// Memory: the ids of all objects, and a bit for each object and relation.
///
/// # Errors
///
/// Misuse: no object index, regions that do not fit the store. I/O; malformed data.
pub(crate) async fn resolve(store: &Store, query: Query) -> Result<Query, QueryError> {
    let Some(places) = query.passing.clone() else {
        return Ok(query);
    };
    let query = Query {
        passing: None,
        ..query
    };
    let all = object_ids(store, query.level, query.own_level_only).await?;
    let known: HashSet<i64> = match &query.objects {
        Some(_) => all.iter().copied().collect(),
        None => HashSet::new(),
    };
    // Ids that do not exist are kept: the query refuses or ignores them later.
    let candidates = match &query.objects {
        Some(asked) => asked.clone(),
        None => all,
    };
    let mut found = Vec::new();
    for (relation, region) in places.relations() {
        let related: HashSet<i64> = related_ids(store, &query, relation, region).await?;
        let mut bits = Bits::default();
        candidates
            .iter()
            .for_each(|id| bits.push(related.contains(id)));
        found.push(bits);
    }
    let is_unknown = |id: &i64| query.objects.is_some() && !known.contains(id);
    let holds =
        |at: usize| places.holds(&|number| found.get(number).is_some_and(|bits| bits.get(at)));
    let chosen = candidates.iter().enumerate();
    let chosen = chosen.filter(|(at, id)| is_unknown(id) || holds(*at));
    Ok(Query {
        objects: Some(chosen.map(|(_, id)| *id).collect()),
        ..query
    })
}

/// The ids of the objects with this relation to a region, among the objects that the query names, if any.
fn related_ids<'a>(
    store: &'a Store,
    query: &'a Query,
    relation: ObjectRelation,
    region: Region,
) -> BoxFuture<'a, Result<HashSet<i64>, QueryError>> {
    Box::pin(async move {
        let asked = Query {
            region: Some(region),
            relation: Some(relation),
            bbox: None,
            filter: None,
            limit: None,
            select: Select::Objects,
            attributes: Names::None,
            columns: Vec::new(),
            outputs: Outputs {
                vertices: false,
                links: false,
                objects: true,
            },
            chunks: None,
            within: None,
            ..query.clone()
        };
        let mut answer = crate::query(store, asked).await?;
        let mut ids = HashSet::new();
        while let Some((table, batch)) = answer.next().await? {
            if table == Table::Objects {
                let own = batch.column_by_name("object_id");
                let own = own.and_then(|own| own.as_primitive_opt::<Int64Type>());
                ids.extend(own.or_bug("objects without ids")?.values());
            }
        }
        Ok(ids)
    })
}
