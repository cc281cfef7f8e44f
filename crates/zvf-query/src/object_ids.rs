//! The ids of the objects of a level.

use std::collections::HashSet;

use zvf_store::{Level, Need, Store};

use crate::QueryError;
use crate::prepare::chain;

/// The ids of the objects of a level.
///
/// # Errors
///
/// Misuse: no such level, no objects. I/O.
pub(crate) async fn object_ids(
    store: &Store,
    level: u32,
    own_level_only: bool,
) -> Result<Vec<i64>, QueryError> {
    let need = Need {
        objects: true,
        ..Need::default()
    };
    let levels = chain(store, level, own_level_only, &need).await?;
    ids_of(&levels, level).await
}

/// The ids of the objects of a chain of levels.
pub(crate) async fn ids_of(levels: &[Level], number: u32) -> Result<Vec<i64>, QueryError> {
    let mut all: Vec<i64> = Vec::new();
    let mut known: HashSet<i64> = HashSet::new();
    let mut any = false;
    for level in levels {
        let Some(index) = level.object_index() else {
            continue;
        };
        any = true;
        let ids = index.ids_in(level.next_round()).await?;
        let more = levels.len() > 1;
        all.extend(
            ids.objects()
                .map(|(_, id)| id)
                .filter(|id| !more || known.insert(*id)),
        );
    }
    if !any {
        return Err(no_objects(number));
    }
    Ok(all)
}

/// The error for a query by objects of a level without an object index.
#[cold]
pub(crate) fn no_objects(level: u32) -> QueryError {
    QueryError::misuse(format!(
        "level {level} has no object index: objects and groups cannot be requested"
    ))
}
