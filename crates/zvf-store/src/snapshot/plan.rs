//! Which documents and listings a level needs next. No I/O.

use super::{SnapshotState, SnapshotTree, document_at};
use crate::{KnownNames, Names, Need, StoreError};
use zvf_io::{Question, is_segment};

/// A family of names below one folder of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFamily {
    Vertex,
    Fragment,
    Object,
    Group,
    Link,
    /// Attributes of links between chunks, which have separate arrays in 0.7 and 0.8.
    CrossLink,
}

impl NameFamily {
    /// The name of the folder.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Vertex => "vertex_attributes",
            Self::Fragment => "fragment_attributes",
            Self::Object => "object_attributes",
            Self::Group => "group_attributes",
            Self::Link => "link_attributes",
            Self::CrossLink => "cross_chunk_link_attributes",
        }
    }

    /// The scope of `attribute_specs` that declares such names.
    pub(super) fn scope(self) -> Option<&'static str> {
        match self {
            Self::Vertex => Some("vertex"),
            Self::Object => Some("object"),
            Self::Link | Self::CrossLink => Some("link"),
            Self::Fragment | Self::Group => None,
        }
    }

    pub(super) fn wanted(self, need: &Need) -> &Names {
        match self {
            Self::Vertex => &need.vertex_attributes,
            Self::Fragment => &need.fragment_attributes,
            Self::Object => &need.object_attributes,
            Self::Group => &need.group_attributes,
            Self::Link | Self::CrossLink => &need.link_attributes,
        }
    }

    fn known(self, names: &KnownNames) -> &[String] {
        match self {
            Self::Vertex => &names.vertex_attributes,
            Self::Fragment => &names.fragment_attributes,
            Self::Object => &names.object_attributes,
            Self::Group => &names.group_attributes,
            Self::Link | Self::CrossLink => &names.link_attributes,
        }
    }
}

impl SnapshotState {
    /// The folders with the arrays of a family: padded stores have vertex attributes in `attributes`.
    pub(super) fn folders_of(&self, level: u32, family: NameFamily) -> Vec<&'static str> {
        const PADDED: &str = "attributes";
        let mut folders = vec![family.folder()];
        if family == NameFamily::Vertex && self.may_have(&level.to_string(), PADDED) {
            folders.push(PADDED);
        }
        folders
    }
}

impl SnapshotTree {
    /// The names of a family that are requested and may exist; `None` if a listing must be requested first.
    pub(crate) fn names_of(
        &self,
        state: &SnapshotState,
        level: u32,
        family: NameFamily,
        need: &Need,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let prefix = format!("{level}/{}", family.folder());
        match family.wanted(need) {
            Names::None => Ok(Some(Vec::new())),
            Names::List(names) => {
                for name in names {
                    check_segment(&prefix, name)?;
                }
                let mut names = names.clone();
                names.sort_unstable();
                names.dedup();
                Ok(Some(names))
            }
            Names::All => {
                let mut all = Vec::new();
                for folder in state.folders_of(level, family) {
                    match state.folders(&format!("{level}/{folder}")) {
                        Some(Some(names)) => {
                            all.extend(names.iter().filter(|n| is_segment(n)).cloned());
                        }
                        None if self.kv.can_list() => return Ok(None),
                        // The backend cannot list.
                        Some(None) | None => return Ok(Some(self.declared(state, level, family))),
                    }
                }
                all.sort_unstable();
                all.dedup();
                Ok(Some(all))
            }
        }
    }

    /// The names from the caller or from `attribute_specs`.
    fn declared(&self, state: &SnapshotState, level: u32, family: NameFamily) -> Vec<String> {
        let given = self
            .names
            .as_ref()
            .map(|names| family.known(names))
            .unwrap_or_default();
        if !given.is_empty() {
            return given.iter().filter(|n| is_segment(n)).cloned().collect();
        }
        let Some(root) = &state.root else {
            return Vec::new();
        };
        let Some(scope) = family.scope() else {
            self.warn_of_no_scope(state, level, family);
            return Vec::new();
        };
        let Some(scopes) = &root.zarr_vectors.attribute_specs else {
            self.warnings.names_unknown(
                "the backend cannot list, and the root has no attribute_specs: attributes of vertices, objects and links are read only \
                 where their names are given; download the store, or serve it from a bucket, to read all attributes"
                    .to_owned(),
            );
            return Vec::new();
        };
        self.warnings.add(format!(
            "the backend cannot list: names of {} are taken from attribute_specs where it has them",
            family.folder()
        ));
        let specs = scopes.get(scope).and_then(|specs| specs.as_object());
        specs
            .map(|specs| specs.keys().filter(|n| is_segment(n)).cloned().collect())
            .unwrap_or_default()
    }

    /// Warns that no document lists the names of a family.
    fn warn_of_no_scope(&self, state: &SnapshotState, level: u32, family: NameFamily) {
        if family != NameFamily::Group {
            self.warnings.add(format!(
                "the backend cannot list: {} are read only where their names are given",
                family.folder()
            ));
        } else if state.bytes(&format!("{level}/groups/zarr.json")).is_some() {
            self.warnings.names_unknown(
                "the backend cannot list: attributes of groups are read only where their names are given"
                    .to_owned(),
            );
        }
    }

    /// All documents and listings of a level that can be requested now and have no answer yet.
    pub(crate) fn plan(&self, level: u32, need: &Need) -> Result<Vec<Question>, StoreError> {
        let state = self.state();
        let mut questions = Vec::new();
        let mut document = |path: &str| questions.push(document_at(format_args!("{level}/{path}")));
        document("vertices");
        document("vertex_fragments");
        questions.push(document_at(level));
        if self.kv.can_list() {
            // The families of older generations are found by listing the level's folder.
            questions.push(Question::Names(level.to_string()));
            questions.extend(state.early_listings(level));
        }
        for family in [NameFamily::Vertex, NameFamily::Fragment] {
            match self.names_of(&state, level, family, need)? {
                Some(names) => {
                    for folder in state.folders_of(level, family) {
                        let key = |n| document_at(format_args!("{level}/{folder}/{n}"));
                        questions.extend(names.iter().map(key));
                    }
                }
                None => {
                    let folders = state.folders_of(level, family).into_iter();
                    questions.extend(folders.map(|f| Question::Names(format!("{level}/{f}"))));
                }
            }
        }
        self.plan_objects(&state, level, need, &mut questions)?;
        self.plan_links(&state, level, need, &mut questions)?;
        questions.retain(|question| !state.knows(question));
        Ok(questions)
    }
}

/// Refuses a name that is not a single path segment.
pub(crate) fn check_segment(parent: &str, name: &str) -> Result<(), StoreError> {
    if is_segment(name) {
        Ok(())
    } else {
        Err(StoreError::misuse(format!(
            "{parent}: {name:?} cannot be the name of an array"
        )))
    }
}
