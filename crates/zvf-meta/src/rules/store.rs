//! All rules over all documents of a store.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{
    check_array, check_level, check_link_attribute_family, check_link_family, check_object_index,
    check_root, check_store,
};
use super::problem::{ArrayAt, LevelAt, Problem};
use super::table::Rule;
use crate::array::ArrayDoc;
use crate::error::MetaError;
use crate::family::{LinkAttributeFamilyDoc, LinkFamilyDoc, ObjectIndexDoc};
use crate::level::LevelDoc;
use crate::names::ObjectLayout;
use crate::node::{GroupDoc, NodeKind, node_kind};
use crate::role::Role;
use crate::root::RootDoc;
use crate::version::is_ruled;

/// The result of [`check_documents`].
#[derive(Debug, Default)]
pub struct CheckedDocuments {
    /// Broken rules, in the order root, store, levels, and inside a level by path.
    pub problems: Vec<Problem>,
    /// Documents that cannot be parsed, or that are groups instead of arrays or vice versa, by key. Rules that depend on them are not checked.
    pub unreadable: Vec<(String, MetaError)>,
}

/// Applies every rule to the documents of one store. For a store before 0.9 only the root is checked: the rules
/// concern the arrays and families of 0.9.
///
/// # Shape
///
/// `documents` maps the key of each `zarr.json` inside the store (`zarr.json`, `0/zarr.json`,
/// `0/vertices/zarr.json`, ...) to its bytes. Other keys are ignored, and so are documents outside of level groups.
///
/// # Cost
///
/// Every document inside a level is parsed two or three times. Families and object indexes are kept while their level is checked.
///
/// # Examples
///
/// ```
/// use std::collections::BTreeMap;
/// use zvf_meta::rules::check_documents;
/// let checked = check_documents(&BTreeMap::<String, Vec<u8>>::new());
/// assert_eq!(checked.unreadable.len(), 1); // there is no root
/// ```
#[must_use]
pub fn check_documents<B: AsRef<[u8]>>(documents: &BTreeMap<String, B>) -> CheckedDocuments {
    let mut checked = CheckedDocuments::default();
    let root = match documents.get("zarr.json") {
        None => Err(MetaError::missing("", "a root document")),
        Some(bytes) => RootDoc::parse(bytes.as_ref()),
    };
    let root = match root {
        Ok(root) => root,
        Err(error) => {
            checked.unreadable.push(("zarr.json".to_owned(), error));
            return checked;
        }
    };
    checked.problems.extend(check_root(&root));
    if !is_ruled(&root.zarr_vectors.zv_version) {
        return checked;
    }
    let nodes: BTreeMap<&str, &[u8]> = documents
        .iter()
        .filter_map(|(key, bytes)| Some((key.strip_suffix("/zarr.json")?, bytes.as_ref())))
        .collect();
    let levels: Vec<&str> = nodes
        .keys()
        .copied()
        .filter(|path| is_level(path))
        .collect();
    checked.problems.extend(check_store(&root, &levels));
    for name in levels {
        let Some(doc) = nodes
            .get(name)
            .and_then(|bytes| read(&mut checked, name, bytes, LevelDoc::parse))
        else {
            continue;
        };
        let level = LevelAt {
            root: &root,
            name,
            doc: &doc,
        };
        checked.problems.extend(check_level(level));
        check_inside(&mut checked, level, &nodes);
    }
    checked
}

/// Whether a lenient reader would accept the path as the number of a level: digits with or without a sign.
fn is_level(path: &str) -> bool {
    let digits = path.strip_prefix(['-', '+']).unwrap_or(path);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn read<T>(
    checked: &mut CheckedDocuments,
    path: &str,
    bytes: &[u8],
    parse: fn(&[u8]) -> Result<T, MetaError>,
) -> Option<T> {
    match parse(bytes) {
        Ok(document) => Some(document),
        Err(error) => {
            checked
                .unreadable
                .push((format!("{path}/zarr.json"), error));
            None
        }
    }
}

/// Checks families first, because rules about arrays need their policy.
fn check_inside(checked: &mut CheckedDocuments, level: LevelAt<'_>, nodes: &BTreeMap<&str, &[u8]>) {
    let inside: BTreeMap<&str, (&str, &[u8])> = nodes
        .iter()
        .filter_map(|(&full, &bytes)| {
            Some((
                full.strip_prefix(level.name)?.strip_prefix('/')?,
                (full, bytes),
            ))
        })
        .collect();
    checked
        .problems
        .extend(level_arrays(level, &inside.keys().copied().collect()));
    let mut index = None;
    let mut families: BTreeMap<&str, LinkFamilyDoc> = BTreeMap::new();
    let mut arrays = Vec::new();
    for (&path, &(full, bytes)) in &inside {
        match read(checked, full, bytes, node_kind) {
            None => {}
            Some(NodeKind::Array) if is_group(path) => misplaced(checked, full, "array", "group"),
            Some(NodeKind::Group) if Role::of(path).is_some_and(|role| !is_other(role)) => {
                misplaced(checked, full, "group", "array");
            }
            Some(NodeKind::Array) => arrays.push((path, full, bytes)),
            Some(NodeKind::Group) => {
                let parts: Vec<&str> = path.split('/').collect();
                match parts.as_slice() {
                    ["object_index"] => {
                        index = read(checked, full, bytes, ObjectIndexDoc::parse);
                        checked.problems.extend(
                            index
                                .iter()
                                .flat_map(|index| check_object_index(level, index)),
                        );
                    }
                    ["links", delta] => {
                        if let Some(family) = read(checked, full, bytes, LinkFamilyDoc::parse) {
                            checked
                                .problems
                                .extend(check_link_family(level, delta, &family));
                            families.insert(delta, family);
                        }
                    }
                    ["link_attributes", name, delta] => {
                        if let Some(family) =
                            read(checked, full, bytes, LinkAttributeFamilyDoc::parse)
                        {
                            checked
                                .problems
                                .extend(check_link_attribute_family(level, name, delta, &family));
                        }
                    }
                    _ => {
                        read(checked, full, bytes, GroupDoc::parse);
                    }
                }
            }
        }
    }
    if let Some(index) = &index {
        let found = index_tables(level, index, |path| inside.contains_key(path));
        checked.problems.extend(found);
    }
    for (path, full, bytes) in arrays {
        let Some(role) = Role::of(path) else { continue };
        let Some(doc) = read(checked, full, bytes, ArrayDoc::parse) else {
            continue;
        };
        let family = role.link_path().and_then(|(delta, _)| families.get(delta));
        let array = ArrayAt {
            level,
            path,
            role,
            doc: &doc,
            family,
            index: index.as_ref(),
        };
        checked.problems.extend(check_array(array));
        checked.problems.extend(unnamed_keys(level, path, bytes));
    }
}

/// Reports [`Rule::KeyEncoding`] for an array without that member: readers use the default, but Zarr requires
/// the member.
fn unnamed_keys(level: LevelAt<'_>, path: &str, bytes: &[u8]) -> Vec<Problem> {
    #[derive(serde::Deserialize)]
    struct KeyEncodingMember {
        chunk_key_encoding: Option<serde::de::IgnoredAny>,
    }
    let mut problems = level.problems_at(path);
    if serde_json::from_slice::<KeyEncodingMember>(bytes)
        .is_ok_and(|head| head.chunk_key_encoding.is_none())
    {
        let at = "/chunk_key_encoding";
        problems
            .of(Rule::KeyEncoding)
            .add(at, "absent", "default with '/'");
    }
    problems.list
}

/// Whether the path belongs to a group of the format.
fn is_group(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [one] => matches!(
            *one,
            "object_index"
                | "links"
                | "link_attributes"
                | "vertex_attributes"
                | "object_attributes"
                | "group_attributes"
                | "fragment_attributes"
        ),
        ["links" | "link_attributes", _] | ["link_attributes", _, _] => true,
        _ => false,
    }
}

/// Whether nodes of this role may also be groups, which contain arrays of other layouts.
fn is_other(role: Role<'_>) -> bool {
    matches!(
        role,
        Role::CompositeVertices { .. } | Role::CompositeLinks { .. }
    )
}

fn misplaced(
    checked: &mut CheckedDocuments,
    path: &str,
    found: &'static str,
    expected: &'static str,
) {
    let error = MetaError::unexpected("/node_type", found, expected);
    checked
        .unreadable
        .push((format!("{path}/zarr.json"), error));
}

/// Reports missing tables of an object index.
fn index_tables(
    level: LevelAt<'_>,
    index: &ObjectIndexDoc,
    has: impl Fn(&str) -> bool,
) -> Vec<Problem> {
    let mut problems = level.problems_at("object_index");
    if index.num_objects.is_none_or(|rows| rows == 0) {
        return problems.list;
    }
    let path = "object_index/manifests";
    if !has(path) && !has("object_index/manifest_blocks") {
        problems
            .of(Rule::Manifests)
            .add("", "without an array manifests", "one");
    }
    if index.layout.as_deref() == Some(ObjectLayout::V2.name()) && !has("object_index/object_ids") {
        problems
            .of(Rule::ObjectIds)
            .add("", "without an array object_ids", "one");
    }
    problems.list
}

/// Reports missing arrays of a level; `paths` has the paths of all nodes inside the level.
fn level_arrays(level: LevelAt<'_>, paths: &BTreeSet<&str>) -> Vec<Problem> {
    let mut problems = level.problems();
    let composite = paths
        .iter()
        .any(|path| matches!(Role::of(path), Some(Role::CompositeVertices { .. })));
    if !paths.contains("vertices") && !composite {
        let problems = problems.of(Rule::LevelVertices);
        problems.add("", "without an array vertices", "one in every level");
    } else if !paths.contains("vertex_fragments") && !composite {
        let problems = problems.of(Rule::LevelFragments);
        let found = "without an array vertex_fragments";
        problems.add("", found, "one beside vertices");
    }
    problems.list
}
