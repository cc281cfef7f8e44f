//! Levels 1 and 2: the tree of a store, and the rules about its documents.
//!
//! The tree is read by listing all folders except those of cells, so the number of requests depends on the number of documents and families, not on the
//! number of chunks.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::{FutureExt, TryStreamExt};
use zvf_meta::rules::{Problem, Rule, check_documents};
use zvf_meta::version::is_ruled;
use zvf_meta::{ArrayDoc, LevelDoc, ObjectIndexDoc, OddMember, RootDoc, node_kind, odd_member};
use zvf_store::writing::MARKER;
use zvf_store::{RawStore, StoreError};

use crate::check::{Check, Depth};
use crate::finding::{Findings, Place};
use crate::ordered::in_turn;

/// Maximum number of concurrent requests.
const AT_ONCE: usize = 16;

/// The documents and folders of a store.
#[derive(Debug, Default)]
pub(crate) struct StoreDocuments {
    /// Documents by key.
    pub(crate) documents: BTreeMap<String, Bytes>,
    /// Names of the folders in the root.
    pub(crate) folders: Vec<String>,
    /// Whether the backend can list. If not, only the root is read here.
    pub(crate) listed: bool,
}

/// How deep the folders below a folder with this name in a level are read.
fn depth_of(folder: &str) -> usize {
    match folder {
        "vertex_attributes"
        | "fragment_attributes"
        | "object_attributes"
        | "group_attributes"
        | "object_index" => 1,
        "links" => 2,
        "link_attributes" => 3,
        _ => 0,
    }
}

/// The same before 0.9; `None` for folders that are ignored. There, every chunk of an array has a folder; these folders are not read.
fn depth_before(folder: &str) -> Option<usize> {
    match folder {
        "object_index" | "groups" | "links" | "cross_chunk_links" => Some(1),
        "vertices" | "vertex_fragments" | "link_fragments" | "groupings" => Some(0),
        _ => None,
    }
}

/// Whether a folder inside a level is a folder of the format that must have a document. Before 0.9 the folders of families have none.
fn is_known(path: &str, ruled: bool) -> bool {
    let mut parts = path.split('/').skip(1);
    let first = parts.next().unwrap_or_default();
    if !ruled && matches!(first, "links" | "cross_chunk_links") && parts.next().is_none() {
        return false;
    }
    depth_of(first) > 0 || depth_before(first).is_some()
}

/// Whether a folder belongs to a level that the root does not name, or to links to such a level. An interrupted change may leave such folders; readers
/// ignore them.
fn is_left(path: &str, root: &RootDoc) -> bool {
    let mut parts = path.split('/');
    let level = parts.next().and_then(|level| level.parse::<i64>().ok());
    let Some(level) = level else {
        return false;
    };
    let delta = match parts.next() {
        Some("links") => parts.next(),
        Some("link_attributes") => parts.nth(1),
        _ => None,
    };
    let delta = delta.and_then(|delta| zvf_format::keys::parse_delta(delta).ok());
    let ends = [level, level + delta.map_or(0, i64::from)];
    ends.iter().any(|level| {
        let named = |level| level == 0 || root.multiscales.dataset(level).is_some();
        !u32::try_from(*level).is_ok_and(named)
    })
}

fn is_level(name: &str) -> bool {
    let digits = name.strip_prefix(['-', '+']).unwrap_or(name);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl StoreDocuments {
    /// Reads the tree.
    ///
    /// # Errors
    /// I/O; limits.
    pub(crate) async fn read(raw: &RawStore, findings: &mut Findings) -> Result<Self, StoreError> {
        let mut tree = Self::default();
        let Some(root) = read(raw, "zarr.json", findings).await? else {
            return Ok(tree);
        };
        let ruled = version_of(&root).is_none_or(|text| is_ruled(&text));
        let named = RootDoc::parse(&root).ok();
        tree.documents.insert("zarr.json".to_owned(), root);
        let Some(folders) = raw.folders("").await? else {
            return Ok(tree);
        };
        tree.listed = true;
        let levels: Vec<String> = folders
            .iter()
            .filter(|one| is_level(one))
            .cloned()
            .collect();
        tree.folders = folders;
        let mut open: Vec<(String, usize)> = levels.into_iter().map(|one| (one, 4)).collect();
        let mut paths: Vec<String> = open.iter().map(|(path, _)| path.clone()).collect();
        while !open.is_empty() {
            let work = open.into_iter().map(|(path, depth)| {
                async move {
                    let names = raw.folders(&path).await?;
                    Ok::<_, StoreError>((path, depth, names))
                }
                .boxed()
            });
            let found: Vec<(String, usize, Option<Vec<String>>)> =
                in_turn(work.collect(), AT_ONCE).try_collect().await?;
            open = Vec::new();
            for (path, depth, names) in found {
                for name in names.unwrap_or_default() {
                    // The folder of the chunks of an array.
                    if !ruled && name == "c" {
                        continue;
                    }
                    let below = format!("{path}/{name}");
                    let deeper = match path.contains('/') {
                        true => Some(depth - 1),
                        false if ruled => Some(depth_of(&name)),
                        false => depth_before(&name),
                    };
                    let Some(deeper) = deeper else { continue };
                    paths.push(below.clone());
                    if deeper > 0 {
                        open.push((below, deeper));
                    }
                }
            }
        }
        let work = paths.into_iter().map(|path| {
            async move {
                let key = format!("{path}/zarr.json");
                match raw.read(&key).await {
                    Ok(bytes) => Ok((key, Ok(bytes))),
                    Err(error) if error.is_defect() => Ok((key, Err(error))),
                    Err(error) => Err(error),
                }
            }
            .boxed()
        });
        let read: Vec<(String, Result<Option<Bytes>, StoreError>)> =
            in_turn(work.collect(), AT_ONCE).try_collect().await?;
        let is_missing = read.iter().any(|(_, outcome)| matches!(outcome, Ok(None)));
        let is_unfinished = is_missing && raw.read(MARKER).await?.is_some();
        let named = named.filter(|_| is_unfinished);
        let folder = |key: &str| key.trim_end_matches("/zarr.json").to_owned();
        // Links to a level that the root does not name may be the first ones of their level.
        let first_links = |path: &str| {
            let Some((level, "links" | "link_attributes")) = path.split_once('/') else {
                return false;
            };
            let document = format!("{level}/zarr.json");
            let document = read.iter().find(|(key, _)| *key == document);
            let bytes = document.and_then(|(_, outcome)| outcome.as_ref().ok()?.as_ref());
            let level = bytes.and_then(|bytes| LevelDoc::parse(bytes).ok());
            level.is_some_and(|level| !level.arrays_present.iter().any(|name| name == "links"))
        };
        let left: BTreeSet<String> = match &named {
            None => BTreeSet::new(),
            Some(root) => {
                let keys = read.iter().map(|(key, _)| folder(key));
                keys.filter(|path| is_left(path, root) || first_links(path))
                    .collect()
            }
        };
        let documents: Vec<(String, Option<Bytes>)> = read
            .into_iter()
            .map(|(key, outcome)| match outcome {
                Ok(None) if left.contains(&folder(&key)) => {
                    let found =
                        "a folder without a document, of a level that the root does not name";
                    let place = Place::at(folder(&key));
                    findings.add(Check::Unfinished, place, found, "none");
                    (key, None)
                }
                Ok(None) if is_known(&folder(&key), ruled) => {
                    let place = Place::at(&*key);
                    findings.add(
                        Check::DocumentReads,
                        place,
                        "nothing",
                        "the document of the folder",
                    );
                    (key, None)
                }
                Ok(bytes) => (key, bytes),
                Err(error) => {
                    findings.add(Check::DocumentReads, Place::at(&*key), error, "a document");
                    (key, None)
                }
            })
            .collect();
        let found = documents
            .into_iter()
            .filter_map(|(key, bytes)| Some((key, bytes?)));
        tree.documents.extend(found);
        Ok(tree)
    }

    /// Checks the documents. Returns whether the root can be read.
    pub(crate) fn check(&self, depth: Depth, findings: &mut Findings) -> bool {
        let Some(root) = self.documents.get("zarr.json") else {
            let what = "no readable zarr.json";
            findings.add(
                Check::StoreOpens,
                Place::at("zarr.json"),
                what,
                "the root of a store",
            );
            return false;
        };
        let checked = check_documents(&self.documents);
        let mut readable = true;
        for (key, error) in checked.unreadable {
            let root = key == "zarr.json";
            readable &= !root;
            let check = if root {
                Check::StoreOpens
            } else {
                Check::DocumentReads
            };
            findings.add(check, Place::at(key), error, "a document of this format");
        }
        // The rules do not cover levels of older versions, but in any version a level must be a valid node.
        if readable && version_of(root).is_some_and(|text| !is_ruled(&text)) {
            for (key, bytes) in self.documents.iter().filter(|(key, _)| *key != "zarr.json") {
                self.older_tables(key, bytes, findings);
                older_level(key, bytes, findings);
                if let Err(error) = node_kind(bytes) {
                    findings.add(Check::DocumentReads, Place::at(&**key), error, "a node");
                }
            }
        }
        for (key, bytes) in &self.documents {
            let (pointer, found, expected) = match odd_member(bytes) {
                None => continue,
                Some(OddMember::Unknown(at)) => (at, "an unknown member", "one that Zarr defines"),
                Some(OddMember::Other(at, expected)) => (at, "something else", expected),
                Some(OddMember::Missing(at)) => {
                    (at, "nothing", "the member, which every array has")
                }
            };
            let place = Place::at(&**key).pointer(pointer);
            findings.add(Check::NodeMembers, place, found, expected);
        }
        for problem in checked.problems {
            let check = Check::Document(problem.rule);
            // Without a listing, the levels are unknown.
            let of_levels = matches!(
                problem.rule,
                Rule::LevelsConsecutive | Rule::DatasetStale | Rule::OmeLevels
            );
            if check.depth() <= depth && (self.listed || !of_levels) {
                add(findings, check, problem);
            }
        }
        let has_levels = self.folders.iter().any(|one| one == "0");
        if readable && self.listed && !has_levels {
            let place = Place::at("0");
            findings.add(Check::LevelThere, place, "no folder 0", "level 0");
        }
        self.families(findings);
        if !readable && version_of(root).is_none() {
            return false;
        }
        readable
    }

    /// Reports tables of objects and groups before 0.9 that lack one of their two arrays, or the number of rows (0.7 §10).
    fn older_tables(&self, key: &str, bytes: &Bytes, findings: &mut Findings) {
        let Some(path) = key.strip_suffix("/zarr.json") else {
            return;
        };
        let has = |name: &str| {
            self.documents
                .contains_key(&format!("{path}/{name}/zarr.json"))
        };
        let (data, offsets) = (has("data"), has("offsets"));
        if data != offsets && (path.ends_with("/object_index") || path.ends_with("/groups")) {
            let missing = if data { "offsets" } else { "data" };
            let place = Place::at(format!("{path}/{missing}/zarr.json"));
            let expected = "the other array of the table";
            findings.add(Check::DocumentReads, place, "nothing", expected);
        }
        let manifests = self.documents.get(&format!("{path}/manifests/zarr.json"));
        if path.ends_with("/object_index") && (data || manifests.is_some()) {
            let check = Check::Document(Rule::Manifests);
            let place = || Place::at(key).pointer("/attributes/num_objects");
            let counted = ObjectIndexDoc::parse(bytes).map(|index| index.num_objects);
            let shape = manifests.and_then(|bytes| ArrayDoc::parse(bytes).ok());
            let rows = shape.and_then(|doc| doc.shape.first().copied());
            match (counted, rows) {
                (Ok(Some(objects)), Some(rows)) if objects != rows => {
                    let expected = format!("{rows}, the number of manifests");
                    findings.add(check, place(), objects, expected);
                }
                (Ok(Some(_)), _) => {}
                _ => findings.add(check, place(), "absent", "the number of manifests"),
            }
        }
    }

    /// Reports link groups without a family, and families with an invalid delta (0.9 §19).
    fn families(&self, findings: &mut Findings) {
        for key in self.documents.keys() {
            let Some(path) = key.strip_suffix("/zarr.json") else {
                continue;
            };
            let delta = path
                .rsplit_once("/links/")
                .or_else(|| path.rsplit_once("/cross_chunk_links/"))
                .map(|(_, delta)| delta);
            if let Some(delta) = delta.filter(|one| !one.contains('/'))
                && zvf_format::keys::parse_delta(delta).is_err()
            {
                let expected = "0, or a delta with its sign";
                findings.add(
                    Check::NodeKnown,
                    Place::at(path),
                    "a folder of links",
                    expected,
                );
            }
            if !path.ends_with("/links") {
                continue;
            }
            let below = format!("{path}/");
            let has = self.documents.keys().any(|one| {
                one.strip_prefix(&below)
                    .and_then(|rest| rest.strip_suffix("/zarr.json"))
                    .is_some_and(|delta| zvf_format::keys::parse_delta(delta).is_ok())
            });
            if !has {
                let check = Check::LinksHaveFamilies;
                findings.add(check, Place::at(path), "no family", "one for each delta");
            }
        }
    }
}

/// Checks, for versions before 0.9, that the number in a level's document equals the name of its folder (0.9 §6).
fn older_level(key: &str, bytes: &Bytes, findings: &mut Findings) {
    let folder = key
        .strip_suffix("/zarr.json")
        .and_then(|one| one.parse::<u64>().ok());
    let document: Option<serde_json::Value> =
        folder.and_then(|_| serde_json::from_slice(bytes).ok());
    let pointer = "/attributes/zarr_vectors_level/level";
    let stated = document.as_ref().and_then(|one| one.pointer(pointer));
    if let (Some(folder), Some(stated)) = (folder, stated)
        && stated.as_u64() != Some(folder)
    {
        let check = Check::Document(Rule::LevelNumber);
        findings.add(check, Place::at(key).pointer(pointer), stated, folder);
    }
}

fn add(findings: &mut Findings, check: Check, problem: Problem) {
    let (document, pointer) = problem
        .path
        .split_once('#')
        .unwrap_or((problem.path.as_str(), ""));
    let place = Place::at(document).pointer(pointer);
    findings.add(check, place, problem.found, problem.expected);
}

async fn read(
    raw: &RawStore,
    key: &str,
    findings: &mut Findings,
) -> Result<Option<Bytes>, StoreError> {
    match raw.read(key).await {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.is_defect() => {
            findings.add(Check::DocumentReads, Place::at(key), error, "a document");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The version that the root states; `None` if it states none.
pub(crate) fn version_of(root: &[u8]) -> Option<String> {
    let root: serde_json::Value = serde_json::from_slice(root).ok()?;
    let text = root.pointer("/attributes/zarr_vectors/zv_version")?;
    Some(text.as_str()?.to_owned())
}
