//! Documents that exist and cannot be read.
//!
//! Buckets that forbid listing answer "denied" also for missing objects, so a denied document may not exist. If a listing names the node, it does
//! exist, and results without it would be silently incomplete.

use super::plan::NameFamily;
use super::{SeenDocument, SnapshotState, SnapshotTree};
use crate::level::Refused;
use crate::{Names, Need, StoreError};

const FAMILIES: [NameFamily; 6] = [
    NameFamily::Vertex,
    NameFamily::Fragment,
    NameFamily::Object,
    NameFamily::Group,
    NameFamily::Link,
    NameFamily::CrossLink,
];

impl SnapshotTree {
    /// Refuses a level if access to a necessary document is denied. An attribute that the caller did not name is left out with a warning.
    ///
    /// # Errors
    /// Denied, with the key.
    pub(super) fn check_denied(
        &self,
        level: u32,
        need: &Need,
        refused: &mut Vec<Refused>,
    ) -> Result<(), StoreError> {
        let prefix = format!("{level}/");
        let mut denied: Vec<String> = {
            let state = self.state();
            let found = state.documents.iter().filter(|(key, document)| {
                matches!(document, SeenDocument::Denied(_))
                    && key.starts_with(&prefix)
                    && state.is_listed(node_of(key))
            });
            found.map(|(key, _)| key.clone()).collect()
        };
        denied.sort_unstable();
        for key in denied {
            let folder = key
                .strip_prefix(&prefix)
                .and_then(|key| key.split_once('/'));
            let folder = folder.map_or("", |(folder, _)| folder);
            let family = FAMILIES.into_iter().find(|family| {
                folder == family.folder()
                    || (*family == NameFamily::Vertex && folder == "attributes")
            });
            match (family, folder) {
                (Some(family), _) if *family.wanted(need) == Names::None => {}
                (Some(family), _) => {
                    self.skip(family, need, node_of(&key), self.missing(&key), refused)?;
                }
                (None, "object_index") if !need.objects => {}
                (None, "groups") if !need.groups => {}
                (None, "links" | "cross_chunk_links") if need.link_deltas.is_none() => {}
                (None, _) => return Err(self.missing(&key)),
            }
        }
        Ok(())
    }
}

impl SnapshotState {
    /// Whether the nearest listed folder above a node names the node or its ancestor.
    fn is_listed(&self, path: &str) -> bool {
        let mut path = path;
        while let Some((above, name)) = path.rsplit_once('/') {
            match self.folders.get(above) {
                Some(Some(names)) => return names.iter().any(|one| one == name),
                Some(None) => return false,
                None => path = above,
            }
        }
        false
    }
}

/// The node that a document describes.
fn node_of(key: &str) -> &str {
    key.strip_suffix("/zarr.json").unwrap_or(key)
}
