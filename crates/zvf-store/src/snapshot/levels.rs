//! The levels of a store.

use zvf_format::keys::parse_level;
use zvf_io::Question;
use zvf_meta::RootDoc;

use super::SnapshotTree;
use crate::StoreError;
use crate::writing::MARKER;

/// The levels: folders of the root that are numbers; if they cannot be listed, the levels that the caller named, else the datasets of `multiscales`.
pub(crate) fn levels(tree: &SnapshotTree, root: &RootDoc) -> Vec<u32> {
    let listed = tree.state().folders("").flatten();
    let mut levels: Vec<u32> = match (listed, &tree.names) {
        (Some(names), _) => names.iter().filter_map(|name| parse_level(name)).collect(),
        (None, Some(names)) if !names.levels.is_empty() => names.levels.clone(),
        (None, _) => {
            tree.warnings
                .add("the backend cannot list: levels are taken from multiscales".to_owned());
            named(root).collect()
        }
    };
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// The levels that the root names.
fn named(root: &RootDoc) -> impl Iterator<Item = u32> {
    let sets = root.multiscales.entries.iter();
    let sets = sets.flat_map(|entry| &entry.datasets);
    sets.filter_map(|set| parse_level(&set.path))
}

/// The first level that the root names but that does not exist.
pub(crate) fn lost(root: &RootDoc, levels: &[u32]) -> Option<u32> {
    named(root).find(|level| !levels.contains(level))
}

/// Removes from the list the levels that a writer has not finished: the root does not name them, and the store has the marker of a writer. Writers add
/// a new level to the root last.
///
/// # Cost
/// None if the root names all levels; else one request.
pub(crate) async fn finished(
    tree: &SnapshotTree,
    root: &RootDoc,
    levels: Vec<u32>,
) -> Result<Vec<u32>, StoreError> {
    let named = |level: &u32| *level == 0 || root.multiscales.dataset(*level).is_some();
    if levels.iter().all(named) {
        return Ok(levels);
    }
    let marker = Question::Document(MARKER.to_owned());
    tree.ask(vec![marker]).await?;
    if tree.document(MARKER).is_none() {
        return Ok(levels);
    }
    Ok(levels.into_iter().filter(named).collect())
}
