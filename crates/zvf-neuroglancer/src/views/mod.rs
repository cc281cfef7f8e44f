//! Views of a store: each file is encoded from the answer of a query.

mod content;
pub(crate) mod lines;
pub(crate) mod meshes;
pub(crate) mod multilod;
pub(crate) mod points;
pub(crate) mod properties;
pub(crate) mod skeletons;
mod view;

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::error::{Result, ViewError};
use crate::viewed_store::ViewedStore;

pub use content::ViewContent;
pub use view::View;

/// Encodes one file of a view. Its path begins with the folder of the view: `["points", "info"]`.
///
/// # Cost
/// One query, with at most `budget` bytes of decoded cells at a time, and the file in memory.
///
/// # Errors
/// Misuse: no such view, file or object. Limit: a file of more than 64 MiB. The errors of the store and of the query.
pub fn content<'a>(
    store: &'a Arc<ViewedStore>,
    budget: u64,
    path: &'a [&'a str],
) -> BoxFuture<'a, Result<ViewContent>> {
    Box::pin(encoded(store, budget, path))
}

/// Whether the content of a file is cached.
#[must_use]
pub fn is_made(store: &ViewedStore, path: &[&str]) -> bool {
    match path {
        ["multilod", key] => multilod::made(store, key).is_some(),
        _ => false,
    }
}

async fn encoded(store: &Arc<ViewedStore>, budget: u64, path: &[&str]) -> Result<ViewContent> {
    let missing = || ViewError::not_found("no such view, or no such file of it");
    let (view, rest) = path.split_first().ok_or_else(missing)?;
    let view = View::ALL
        .into_iter()
        .find(|one| one.name() == *view && View::of(store.kind()).contains(one))
        .ok_or_else(missing)?;
    match (view, rest) {
        (View::Points, ["info"]) => points::info(store).await,
        (View::Points, [folder, key]) => points::list(store, budget, folder, key).await,
        (View::Lines, ["info"]) => lines::info(store).await,
        (View::Lines, [folder, key]) => lines::list(store, budget, folder, key).await,
        (View::Skeletons, ["info"]) => skeletons::info(store).await,
        (View::Multilod, ["info"]) => Ok(ViewContent::Document(multilod::info(store)?)),
        (View::Meshes, ["info"]) => Ok(ViewContent::Document(meshes::info(store)?)),
        (View::Skeletons | View::Multilod | View::Meshes, ["properties", "info"]) => {
            properties::info(store).await
        }
        (View::Skeletons, [id]) => skeletons::one(store, budget, id).await,
        (View::Multilod, [key]) => multilod::file(store, budget, key).await,
        (View::Meshes, [key]) => meshes::file(store, budget, key).await,
        _ => Err(missing()),
    }
}
