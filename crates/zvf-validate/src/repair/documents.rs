//! The documents and measured numbers of one validation, and fixes of documents that cannot be read.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Check, Finding, Measured, Report};
use bytes::Bytes;
use serde_json::{Value, json};
use zvf_format::keys::{parse_delta, parse_level};
use zvf_meta::rules::Rule;
use zvf_meta::{ArrayDoc, LevelDoc, RootDoc};

use super::edit::{Fix, Tier};

/// The key of the root document.
pub(crate) const ROOT: &str = "zarr.json";

/// The location of the presence list in the document of an array.
pub(crate) const LIST: &str = "/attributes/nonempty_chunks";

/// The result of one validation of a store.
pub(crate) struct Look<'r> {
    pub(crate) report: &'r Report,
    pub(crate) measured: &'r Measured,
    pub(crate) root: Option<RootDoc>,
}

impl<'r> Look<'r> {
    pub(crate) fn new(report: &'r Report, measured: &'r Measured) -> Self {
        let root = measured.documents.get(ROOT);
        Self {
            report,
            measured,
            root: root.and_then(|bytes| RootDoc::parse(bytes).ok()),
        }
    }

    pub(crate) fn bytes(&self, key: &str) -> Option<&'r Bytes> {
        self.measured.documents.get(key)
    }

    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_slice(self.bytes(key)?).ok()
    }

    pub(crate) fn array(&self, key: &str) -> Option<ArrayDoc> {
        ArrayDoc::parse(self.bytes(key)?).ok()
    }

    pub(crate) fn level(&self, level: u32) -> Option<LevelDoc> {
        LevelDoc::parse(self.bytes(&format!("{level}/zarr.json"))?).ok()
    }

    /// Number of components in the chunk keys of a level, from the axes of the root; `None` if the array of vertices has another rank.
    pub(crate) fn key_rank(&self, level: u32) -> Option<usize> {
        let dims = self.root.as_ref()?.dims();
        let rank = Some(self.level(level)?.key_rank(dims)).filter(|_| dims > 0)?;
        let vertices = self.array(&format!("{level}/vertices/zarr.json"));
        vertices
            .is_none_or(|doc| doc.shape.len() == rank)
            .then_some(rank)
    }

    /// The levels that have a document.
    pub(crate) fn levels(&self) -> BTreeSet<u32> {
        let keys = self.measured.documents.keys();
        keys.filter_map(|key| parse_level(key.strip_suffix("/zarr.json")?))
            .collect()
    }

    /// Levels without a folder that are named by a dataset and also by the `ome` node or the links of another level: their data may be lost.
    pub(crate) fn lost_levels(&self) -> BTreeSet<u32> {
        let (Some(root), Some(folders)) = (&self.root, &self.measured.folders) else {
            return BTreeSet::new();
        };
        let named: BTreeSet<u32> = root
            .ome
            .iter()
            .flat_map(|ome| ome.level_names())
            .filter_map(parse_level)
            .collect();
        let linked = |level: u32| {
            self.measured.documents.keys().any(|key| {
                let delta = inside(key).and_then(|(of, path)| {
                    let delta = parse_delta(path.strip_prefix("links/")?).ok()?;
                    of.checked_add_signed(delta).filter(|_| delta != 0)
                });
                delta == Some(level)
            })
        };
        let entries = root.multiscales.entries.iter();
        let datasets = entries.flat_map(|entry| &entry.datasets);
        let levels = self.levels();
        datasets
            .filter_map(|one| parse_level(&one.path))
            .filter(|level| !levels.contains(level) && !folders.contains(&level.to_string()))
            .filter(|level| named.contains(level) || linked(*level))
            .collect()
    }

    /// Findings of a check.
    pub(crate) fn of(&self, check: Check) -> impl Iterator<Item = &'r Finding> {
        let findings = self.report.findings.iter();
        findings.filter(move |one| one.check == check)
    }

    /// Findings of a rule about documents.
    pub(crate) fn of_rule(&self, rule: Rule) -> impl Iterator<Item = &'r Finding> {
        self.of(Check::Document(rule))
    }

    pub(crate) fn has(&self, check: Check) -> bool {
        self.of(check).next().is_some()
    }
}

/// The key of the document of a finding. A finding names a document, or the array or family of the document.
pub(crate) fn document_of(finding: &Finding) -> String {
    let path = finding.place.path.as_str();
    if path == ROOT || path.ends_with("/zarr.json") {
        path.to_owned()
    } else if path.is_empty() {
        ROOT.to_owned()
    } else {
        format!("{path}/zarr.json")
    }
}

/// The level of a document's node, and the path of the node in the level.
pub(crate) fn inside(key: &str) -> Option<(u32, &str)> {
    let node = key.strip_suffix("/zarr.json")?;
    let (level, path) = node.split_once('/').unwrap_or((node, ""));
    Some((parse_level(level)?, path))
}

/// The state that a repair carries from one validation to the next.
#[derive(Debug, Default)]
pub(crate) struct RepairState {
    /// Whether the bounds are a placeholder.
    pub(crate) bounds: bool,
    /// Levels whose vertex count is a placeholder.
    pub(crate) counts: BTreeSet<u32>,
    /// Documents of the arrays whose presence lists are being rebuilt.
    pub(crate) lists: BTreeSet<String>,
}

/// Fixes of documents that cannot be read because of a member that can be derived.
pub(crate) fn openings(look: &Look<'_>, memory: &mut RepairState) -> Vec<Fix> {
    let mut edits = Vec::new();
    if look.root.is_none() && look.has(Check::StoreOpens) {
        edits.extend(bounds_of_root(look, memory));
    }
    for finding in look.of(Check::DocumentReads) {
        let key = document_of(finding);
        match inside(&key) {
            Some((level, "")) => edits.extend(members_of_level(look, &key, level, memory)),
            Some(_) => edits.extend(list_of_array(look, &key, memory)),
            None => {}
        }
    }
    edits
}

/// Replaces absent or invalid bounds with zeros until the vertices are read.
fn bounds_of_root(look: &Look<'_>, memory: &mut RepairState) -> Option<Fix> {
    const AT: &str = "/attributes/zarr_vectors/bounds";
    let mut root = look.value(ROOT)?;
    let dims = root
        .pointer("/attributes/multiscales/0/axes")?
        .as_array()?
        .len();
    let zeros = json!([vec![0.0; dims], vec![0.0; dims]]);
    let block = root.pointer_mut("/attributes/zarr_vectors")?;
    block
        .as_object_mut()?
        .insert("bounds".to_owned(), zeros.clone());
    // Everything else in the document must be valid.
    RootDoc::parse(root.to_string().as_bytes()).ok()?;
    if look
        .value(ROOT)?
        .pointer("/attributes/zarr_vectors/coordinate_offset")
        .is_some()
    {
        return None;
    }
    memory.bounds = true;
    let why = "a placeholder until the vertices are read";
    Some(Fix::set(ROOT, AT, zeros, Check::StoreOpens, why).tier(Tier::Opening))
}

fn members_of_level(look: &Look<'_>, key: &str, level: u32, memory: &mut RepairState) -> Vec<Fix> {
    const BLOCK: &str = "/attributes/zarr_vectors_level";
    let Some(document) = look.value(key) else {
        return Vec::new();
    };
    let Some(block) = document.pointer(BLOCK).filter(|one| one.is_object()) else {
        return Vec::new();
    };
    let number = |name: &str| block.get(name).and_then(Value::as_u64);
    let texts = |value: &Value| {
        let list = value.as_array();
        list.is_some_and(|list| list.iter().all(Value::is_string))
    };
    let mut edits = Vec::new();
    let mut set = |name: &str, value: Value, why: &str| {
        let pointer = format!("{BLOCK}/{name}");
        let edit = Fix::set(key, &pointer, value, Check::DocumentReads, why);
        edits.push(edit.tier(Tier::Opening));
    };
    if number("level").is_none_or(|found| u32::try_from(found).is_err()) {
        set("level", level.into(), "the name of its folder");
    }
    let mut counts = false;
    if number("vertex_count").is_none() {
        set(
            "vertex_count",
            0.into(),
            "a placeholder until the vertices are counted",
        );
        counts = true;
    }
    if !block.get("arrays_present").is_some_and(texts) {
        let families = families(&look.measured.documents, level);
        set(
            "arrays_present",
            families.into(),
            "the folders of the level",
        );
    }
    // Everything else in the document must be valid.
    let mut repaired = document;
    for edit in &edits {
        let name = edit.pointer.rsplit('/').next().unwrap_or_default();
        if let (Some(Value::Object(block)), Some(value)) =
            (repaired.pointer_mut(BLOCK), &edit.value)
        {
            block.insert(name.to_owned(), value.clone());
        }
    }
    if LevelDoc::parse(repaired.to_string().as_bytes()).is_err() {
        return Vec::new();
    }
    if counts {
        memory.counts.insert(level);
    }
    edits
}

/// Names of the families and arrays of a level.
fn families(documents: &BTreeMap<String, Bytes>, level: u32) -> Vec<String> {
    let prefix = format!("{level}/");
    let names = documents.keys().filter_map(|key| {
        let (name, _) = key.strip_prefix(&prefix)?.split_once('/')?;
        Some(name.to_owned())
    });
    names.collect::<BTreeSet<String>>().into_iter().collect()
}

/// Starts to rebuild a presence list that is not a list of texts.
fn list_of_array(look: &Look<'_>, key: &str, memory: &mut RepairState) -> Option<Fix> {
    let mut document = look.value(key)?;
    let attributes = document.pointer_mut("/attributes")?.as_object_mut()?;
    attributes.get("nonempty_chunks")?;
    attributes.insert("nonempty_chunks".to_owned(), json!([]));
    ArrayDoc::parse(document.to_string().as_bytes()).ok()?;
    begin_list(look, key, Check::DocumentReads, memory)
}

/// Starts an empty presence list, if the storage can list objects; the next validation finds its cells.
pub(crate) fn begin_list(
    look: &Look<'_>,
    key: &str,
    check: Check,
    memory: &mut RepairState,
) -> Option<Fix> {
    look.measured.folders.as_ref()?;
    memory.lists.insert(key.to_owned());
    let why = "a placeholder until the cells are found";
    Some(Fix::set(key, LIST, json!([]), check, why).tier(Tier::Opening))
}
