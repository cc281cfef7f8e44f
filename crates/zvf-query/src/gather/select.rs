//! Finds the objects that a query requests by ids and groups.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::future::try_join_all;
use zvf_store::{Level, ObjectIndex, StoreError};

use crate::QueryError;
use crate::error::{OrBug, existing};
use crate::object_ids::no_objects;
use crate::prepare::Prepared;

/// One object of the answer, and its row in the object index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) id: i64,
    pub(crate) row: u64,
}

/// The object index of a query that needs one.
///
/// # Errors
///
/// Misuse: the level has no object index.
pub(crate) fn index(p: &Prepared) -> Result<&Arc<ObjectIndex>, QueryError> {
    let index = p.level.object_index();
    index.ok_or_else(|| no_objects(p.query.level))
}

/// The objects that a query requests by ids or groups, in the order of [`named`]. `None` if it has neither: all objects are requested.
///
/// # Errors
///
/// Misuse: an id that no object has, unless missing ones are ignored; a group that does not exist; groups in a store without groups. I/O.
pub(crate) async fn picks(
    p: &Prepared,
    index: &ObjectIndex,
) -> Result<Option<Vec<Pick>>, QueryError> {
    if p.query.objects.is_none() && p.query.groups.is_none() {
        return Ok(None);
    }
    let listed = p.query.objects.as_deref();
    let rows = async {
        let rows = match listed {
            Some(ids) => index.rows_of_in(p.round, ids).await?,
            None => Vec::new(),
        };
        Ok::<_, QueryError>(rows)
    };
    let early = async { Ok(early_manifests(p, index).await) };
    let (mut rows, members, failed) = futures::try_join!(rows, members(p), early)?;
    let asked = match (listed, &members) {
        (None, Some(members)) => {
            rows = index.rows_of_in(p.round, members).await?;
            members.as_slice()
        }
        (listed, _) => listed.unwrap_or_default(),
    };
    let rows: HashMap<i64, u64> = (asked.iter().copied().zip(rows))
        .filter_map(|(id, row)| Some((id, row?)))
        .collect();
    let ids = named(p, members, &|id| rows.contains_key(&id))?;
    let pick = |id: i64| {
        Some(Pick {
            id,
            row: *rows.get(&id)?,
        })
    };
    let picks: Vec<Pick> = ids.into_iter().filter_map(pick).collect();
    // An early request that failed is an error only if the chunk is needed. It is not repeated.
    let needed = |chunk| picks.iter().any(|pick| index.chunk_of(pick.row) == chunk);
    if let Some((_, error)) = failed.into_iter().find(|(chunk, _)| needed(*chunk)) {
        return Err(error.into());
    }
    Ok(Some(picks))
}

/// The ids that a query requests, in the order of the answer. If the query has `objects`: these ids in their order; if it also has groups, only
/// those that are members of them. Otherwise: the members of the groups, ascending. Members that are not `known` have no vertices on any level, and
/// are left out.
///
/// # Errors
///
/// Misuse: an id that no object has, unless missing ones are ignored.
pub(crate) fn named(
    p: &Prepared,
    members: Option<Vec<i64>>,
    known: &dyn Fn(i64) -> bool,
) -> Result<Vec<i64>, QueryError> {
    let Some(asked) = &p.query.objects else {
        let mut members = members.or_bug("objects by neither id nor group")?;
        members.sort_unstable();
        members.dedup();
        members.retain(|id| known(*id));
        return Ok(members);
    };
    let members: Option<HashSet<i64>> = members.map(|members| members.into_iter().collect());
    let mut ids = Vec::with_capacity(asked.len());
    for id in asked {
        if !known(*id) {
            if p.query.ignore_missing {
                continue;
            }
            return Err(QueryError::misuse(format!(
                "no object {id} on level {}",
                p.query.level
            )));
        }
        if members.as_ref().is_none_or(|members| members.contains(id)) {
            ids.push(*id);
        }
    }
    Ok(ids)
}

/// Every object of the level, by row.
///
/// # Errors
///
/// Misuse: no object index. I/O.
pub(crate) async fn all(p: &Prepared) -> Result<Vec<Pick>, QueryError> {
    let ids = index(p)?.ids_in(p.round).await?;
    Ok(ids.objects().map(|(row, id)| Pick { id, row }).collect())
}

/// Members of the requested groups; `None` if the query has no groups. A coarse level without groups that keeps the object ids of level 0 has the
/// groups of level 0 (trap T21).
pub(crate) async fn members(p: &Prepared) -> Result<Option<Vec<i64>>, QueryError> {
    let Some(groups) = &p.query.groups else {
        return Ok(None);
    };
    let base: Level;
    let found = match (p.level.groups(), &p.base) {
        (Some(found), _) => found,
        (None, Some(level)) if p.level.doc().preserves_object_ids => {
            base = level.clone();
            base.groups()
                .ok_or_else(|| QueryError::misuse("the store has no groups"))?
        }
        _ => {
            return Err(QueryError::misuse(format!(
                "level {} has no groups",
                p.query.level
            )));
        }
    };
    if let Some(group) = groups.iter().find(|group| **group >= found.len()) {
        let names: Vec<String> = (0..found.len().min(20))
            .map(|group| format!("{group} ({})", found.name(group)))
            .collect();
        return Err(QueryError::misuse(format!(
            "no group {group}: {}",
            existing(names.iter().map(String::as_str))
        )));
    }
    let all = try_join_all(groups.iter().map(|group| found.members_in(p.round, *group))).await?;
    Ok(Some(all.into_iter().flatten().collect()))
}

/// If there are few chunks of manifests and the query has groups, requests all these chunks together with the groups, which saves a round trip.
/// The index caches them. Returns the chunks that failed; they matter only if they are needed.
async fn early_manifests(p: &Prepared, index: &ObjectIndex) -> Vec<(u64, StoreError)> {
    const MOST: u64 = 32;
    if p.query.groups.is_none() || index.manifest_chunks() > MOST {
        return Vec::new();
    }
    let chunks = (0..index.manifest_chunks()).map(|chunk| async move {
        let loaded = index.manifest_chunk_in(p.round, chunk).await;
        loaded.err().map(|error| (chunk, error))
    });
    let failed = futures::future::join_all(chunks).await;
    failed.into_iter().flatten().collect()
}
