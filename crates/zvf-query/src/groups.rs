//! Groups by their names.

use futures::future::BoxFuture;
use zvf_store::{Level, Names, Need, Store};

use crate::prepare::chain;
use crate::{Query, QueryError};

/// Converts names or numbers of groups to the numbers that [`Query::groups`](crate::Query::groups) takes; see
/// [`zvf_store::group_of`] for how a string is interpreted. A level without groups uses the groups of level 0, as in a query.
///
/// # Cost
/// The documents of the level, and of level 0 if the level has no groups.
///
/// # Errors
/// Misuse: a string that matches no group, or two groups; a level without groups. I/O.
pub fn group_numbers<'a>(
    store: &'a Store,
    level: u32,
    names: &'a [String],
) -> BoxFuture<'a, Result<Vec<u64>, QueryError>> {
    Box::pin(async move {
        let found = level_with_groups(store, level, &only_groups()).await?;
        let Some(groups) = found.groups() else {
            let name = names.first().map_or("", String::as_str);
            return Err(QueryError::misuse(format!(
                "groups: found {name:?}, expected none: the level has no groups"
            )));
        };
        let numbers = names.iter().map(|name| groups.number(name));
        Ok(numbers.collect::<Result<_, _>>()?)
    })
}

/// Names and members of groups.
pub(crate) fn only_groups() -> Need {
    Need {
        groups: true,
        ..Need::nothing()
    }
}

/// A level with its groups: level 0 if it has none.
pub(crate) async fn level_with_groups(
    store: &Store,
    level: u32,
    need: &Need,
) -> Result<Level, QueryError> {
    let found = store.level(level, need).await?;
    if found.groups().is_none() && level != 0 && store.levels().contains(&0) {
        return Ok(store.level(0, need).await?);
    }
    Ok(found)
}

/// The level whose groups apply to the objects of a query, with all attributes of groups: the first level of the query's chain that has groups; else
/// level 0, if the objects have the ids of level 0, as for [`Query::groups`]. `None` if there are no groups.
pub(crate) async fn groups_of_objects(
    store: &Store,
    query: &Query,
) -> Result<Option<Level>, QueryError> {
    let need = Need {
        groups: true,
        group_attributes: Names::All,
        ..Need::nothing()
    };
    let levels = chain(store, query.level, query.own_level_only, &need).await?;
    if let Some(found) = levels.iter().find(|level| level.groups().is_some()) {
        return Ok(Some(found.clone()));
    }
    let same_ids = |level: &Level| level.number() != 0 && level.doc().preserves_object_ids;
    if !levels.first().is_some_and(same_ids) || !store.levels().contains(&0) {
        return Ok(None);
    }
    let found = store.level(0, &need).await?;
    Ok(found.groups().is_some().then_some(found))
}
