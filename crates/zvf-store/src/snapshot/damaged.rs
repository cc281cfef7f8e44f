//! Damaged nodes: an error, or left out if the caller wants the rest of a damaged store.

use zvf_format::keys::parse_delta;
use zvf_meta::version::{Gate, is_ruled};
use zvf_meta::{Kind, RootDoc, is_known_family};

use super::plan::NameFamily;
use super::{SeenDocument, SnapshotTree};
use crate::level::{LevelInner, Refused};
use crate::links::LinkArray;
use crate::writing::MARKER;
use crate::{Class, Names, Need, StoreError};

impl SnapshotTree {
    /// Handles an attribute or table that cannot be read. It is an error if the caller named it, or if it is damaged and the store was not
    /// opened to leave out damage. Otherwise it is left out with a warning: its kind is not supported, access is denied, or the store is of a later
    /// version.
    pub(super) fn skip(
        &self,
        family: NameFamily,
        need: &Need,
        path: &str,
        error: StoreError,
        refused: &mut Vec<Refused>,
    ) -> Result<(), StoreError> {
        if matches!(family.wanted(need), Names::List(_)) {
            return Err(error);
        }
        self.leave_out(path, None, error, refused)
    }

    /// Handles a node that cannot be read, as [`skip`](Self::skip) does for one that the caller did not name.
    pub(super) fn leave_out(
        &self,
        path: &str,
        delta: Option<i32>,
        error: StoreError,
        refused: &mut Vec<Refused>,
    ) -> Result<(), StoreError> {
        let newer = {
            let state = self.state();
            let root = state.root.as_deref();
            root.is_some_and(|root| matches!(root.gate(), Gate::Newer(_)))
        };
        let damaged = error.class() != Class::Io && !error.is_unsupported() && !newer;
        if damaged && !self.leave_out_damaged {
            return Err(if delta.is_none() { named(error) } else { error });
        }
        refused.push(self.left_out(path, delta, &error, damaged));
        Ok(())
    }

    /// Warns that a node is left out, and returns the entry for [`LevelInner::refused`].
    pub(super) fn left_out(
        &self,
        path: &str,
        delta: Option<i32>,
        error: &StoreError,
        damaged: bool,
    ) -> Refused {
        self.warnings.left_out(error.to_string());
        Refused {
            path: path.to_owned(),
            delta,
            why: without_key(error),
            damaged,
        }
    }

    /// Fails if the folder of a node is listed but its document does not exist. Links between levels with the marker of a writer are an exception: the
    /// writer has not finished them, and they are not yet a part of the store.
    pub(super) fn check_there(&self, path: &str) -> Result<(), StoreError> {
        let state = self.state();
        let absent = matches!(
            state.documents.get(&format!("{path}/zarr.json")),
            Some(SeenDocument::Absent)
        );
        let named = path
            .rsplit_once('/')
            .is_some_and(|(above, name)| state.lists(above, name));
        let between = path.split('/').any(|part| {
            parse_delta(part).is_ok_and(|delta| delta != 0) && part.starts_with(['+', '-'])
        });
        let writing = between
            && matches!(
                state.documents.get(MARKER),
                Some(SeenDocument::Bytes(_) | SeenDocument::Used)
            );
        if absent && named && !writing {
            return Err(StoreError::malformed(
                format!("{path}/zarr.json"),
                "the document is missing, but its folder exists",
            ));
        }
        Ok(())
    }
}

impl SnapshotTree {
    /// Leaves out nodes that do not exist although documents name them: families in `arrays_present` of the level, and attributes of level 0 in
    /// `attribute_specs` of the root. Checks only folders that were listed.
    pub(super) fn check_named(&self, root: &RootDoc, need: &Need, level: &mut LevelInner) {
        if !matches!(root.gate(), Gate::Supported(_)) {
            return;
        }
        let number = level.number;
        let state = self.state();
        let listed = |path: &str| state.folders(path).flatten();
        let Some(folders) = listed(&number.to_string()) else {
            return;
        };
        let is_there = |name: &String| folders.contains(name);
        let mut lost = Vec::new();
        let named = level.doc.arrays_present.iter();
        for name in named.filter(|name| is_known_family(name) && !is_there(name)) {
            lost.push((
                format!("{number}/{name}"),
                None,
                "arrays_present of its level",
            ));
        }
        // Level 0 of a graph, mesh or skeleton has a family of links between its own vertices, even if it has no links.
        let linked = matches!(root.kind(), Ok(Kind::Graph | Kind::Mesh | Kind::Skeleton))
            && number == 0
            && is_there(&"links".to_owned());
        let links = listed("0/links")
            .filter(|_| linked && level.doc.arrays_present.iter().any(|name| name == "links"));
        let is_own = |name: &String| parse_delta(name).is_ok_and(|delta| delta == 0);
        if links.is_some_and(|names| !names.iter().any(is_own)) {
            let by = "arrays_present of its level, in a store of its kind";
            lost.push(("0/links/0".to_owned(), Some(0), by));
        }
        let objects = level.object_index.as_ref().map_or(0, |index| index.len());
        let families = [
            (NameFamily::Vertex, !level.vertices.presence().is_empty()),
            (NameFamily::Object, objects > 0),
            (
                NameFamily::Link,
                level.links.iter().any(|family| family.delta() == 0),
            ),
        ];
        let scopes = root.zarr_vectors.attribute_specs.as_ref();
        for (family, _) in families
            .into_iter()
            .filter(|(_, rows)| number == 0 && *rows)
        {
            let specs = family
                .scope()
                .and_then(|scope| scopes?.get(scope)?.as_object());
            // If a level is split by an attribute, the chunk keys have its values.
            let split = level.doc.chunk_attribute_name.as_ref();
            for name in specs.into_iter().flat_map(|specs| specs.keys()) {
                if split == Some(name) {
                    continue;
                }
                let of = state.folders_of(number, family);
                let missing = of
                    .iter()
                    .all(|folder| match is_there(&(*folder).to_owned()) {
                        true => listed(&format!("{number}/{folder}"))
                            .is_some_and(|names| !names.contains(name)),
                        false => true,
                    });
                if missing {
                    let path = format!("{number}/{}/{name}", family.folder());
                    let by = "attribute_specs of the root (if it was never written, remove its entry there)";
                    lost.push((path, None, by));
                }
            }
        }
        // From 0.9 on, an attribute of links has values for every family that has links, at least in one of its arrays.
        let own = level.links.iter().find(|family| {
            let has_links = |link: &LinkArray| !link.array.presence().is_empty();
            family.delta() == 0 && family.arrays.iter().any(has_links)
        });
        let wanted = number == 0
            && need.link_attributes == Names::All
            && is_ruled(&root.zarr_vectors.zv_version);
        if let Some(family) = own.filter(|_| wanted) {
            let specs = scopes.and_then(|scopes| scopes.get("link")?.as_object());
            let folder = listed("0/link_attributes");
            let there = |name: &&String| folder.as_ref().is_some_and(|all| all.contains(*name));
            let read = |name: &str| family.attributes.iter().any(|one| one.name == name);
            for name in specs
                .into_iter()
                .flat_map(|specs| specs.keys())
                .filter(there)
            {
                let path = format!("0/link_attributes/{name}");
                let refused = level.refused.iter().any(|one| one.path.starts_with(&path));
                if !refused && !read(name) {
                    let by = "attribute_specs of the root";
                    lost.push((format!("{path}/0"), None, by));
                }
            }
        }
        drop(state);
        for (path, delta, by) in lost {
            let error =
                StoreError::malformed(path.clone(), format!("is missing, but named by {by}"));
            level
                .refused
                .push(self.left_out(&path, delta, &error, true));
        }
    }
}

/// The text of an error without the key at its beginning.
fn without_key(error: &StoreError) -> String {
    let text = error.to_string();
    let key = error.key().unwrap_or_default();
    let rest = text.strip_prefix(&format!("{key}: "));
    rest.unwrap_or(&text).to_owned()
}

/// Adds to the error of an attribute how to read the rest of the level.
fn named(error: StoreError) -> StoreError {
    let Some(key) = error.key().filter(|_| error.class() == Class::Malformed) else {
        return error;
    };
    let what = without_key(&error);
    StoreError::malformed(
        key,
        format!("{what}; restore it, or name the attributes to read without this one"),
    )
}
