//! Checks that the chunks of tables and blobs exist. A missing chunk reads as the fill value, so readers do not notice the loss of a chunk.
//!
//! Writers of this workspace store every chunk and record that (`zvf_stored_chunks`), so that reading a lost chunk fails.

use std::collections::{BTreeSet, HashSet};

use zvf_meta::ArrayDoc;
use zvf_store::StoreError;

use crate::check::Check;
use crate::finding::Place;
use crate::level::LevelState;
use crate::run::Session;

/// Folders of tables.
const TABLES: [&str; 4] = [
    "object_index",
    "object_attributes",
    "group_attributes",
    "groups",
];

/// The maximum number of chunks of one array that are checked.
const MOST: u64 = 1 << 20;

/// Compares the expected chunks of the tables and blobs of a level with the existing ones.
///
/// # Cost
/// One listing for each folder of tables, and for each array of blobs; the documents of tables, and of blobs without a chunk.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(run: &mut Session<'_>, state: &LevelState) -> Result<(), StoreError> {
    let mut folders: BTreeSet<String> = BTreeSet::new();
    if run.options.sample.is_none() {
        let arrays = state.level.arrays();
        let split = arrays.iter().filter(|array| array.has_cell_nodes());
        folders.extend(split.map(|array| array.path().to_owned()));
        if !folders.is_empty() {
            folders.insert(state.path("link_fragments"));
        }
    }
    folders.extend(TABLES.map(|name| state.path(name)));
    for folder in folders {
        if run.options.wants_array(&folder) {
            one(run, state, &folder).await?;
        }
    }
    Ok(())
}

/// Checks the arrays below a folder.
async fn one(run: &mut Session<'_>, state: &LevelState, folder: &str) -> Result<(), StoreError> {
    let raw = state.level.store().raw();
    let keys = match raw.keys(folder).await {
        Ok(Some(keys)) => keys,
        Ok(None) => return Ok(()),
        Err(error) if error.is_defect() => {
            run.skipped.push(format!("{folder}: {error}"));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let there: HashSet<&str> = keys.iter().map(String::as_str).collect();
    let is_table = TABLES
        .iter()
        .any(|name| folder.ends_with(&format!("/{name}")));
    let mut nodes: Vec<&str> = keys
        .iter()
        .filter_map(|key| key.strip_suffix("zarr.json"))
        // Each blob has a node in the folder; its document is read only if its chunk is missing.
        .filter(|node| {
            is_table || !(node.is_empty() || there.contains(format!("{node}c/0").as_str()))
        })
        .collect();
    nodes.sort_unstable();
    for node in nodes {
        let path = format!("{folder}/{node}");
        let bytes = match raw.read(&format!("{path}zarr.json")).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => continue,
            // Defects are reported elsewhere.
            Err(error) if error.is_defect() => continue,
            Err(error) => return Err(error),
        };
        // Invalid documents are reported elsewhere.
        let Ok(doc) = ArrayDoc::parse(&bytes) else {
            continue;
        };
        let path = path.trim_end_matches('/');
        if is_table && may_lack(folder, node, &doc) {
            continue;
        }
        for key in missing(&doc, |key| there.contains(format!("{node}{key}").as_str())) {
            let found = "nothing: all values of the chunk are the fill value";
            let place = Place::at(format!("{path}/{key}"));
            run.findings
                .add(Check::ChunkStored, place, found, "a stored chunk");
        }
    }
    Ok(())
}

/// Whether the chunks of an array are checked elsewhere, or may contain only the fill value: the id 0 of the only object, or groups without stored
/// members.
fn may_lack(folder: &str, node: &str, doc: &ArrayDoc) -> bool {
    let manifests = folder.ends_with("/object_index") && node == "manifests/";
    let one_id = folder.ends_with("/object_index") && doc.shape.first() == Some(&1);
    let ranges = doc.attributes.group_ranges.as_ref().map_or(0, Vec::len);
    let groups =
        folder.ends_with("/groups") && doc.shape.first() == u64::try_from(ranges).ok().as_ref();
    manifests || one_id || groups
}

/// The keys of the chunks of an array that neither exist nor are recorded as stored; reading a missing chunk that is recorded fails.
fn missing(doc: &ArrayDoc, there: impl Fn(&str) -> bool) -> Vec<String> {
    let counts: Option<Vec<u64>> = doc
        .shape
        .iter()
        .zip(&doc.chunk_shape)
        .map(|(extent, chunk)| (*chunk > 0).then(|| extent.div_ceil(*chunk)))
        .collect();
    let Some(counts) = counts.filter(|counts| counts.len() == doc.shape.len()) else {
        return Vec::new();
    };
    let total = counts
        .iter()
        .try_fold(1_u64, |all, &one| all.checked_mul(one));
    let recorded = doc.attributes.stored_chunks.unwrap_or(0);
    let mut keys = Vec::new();
    for number in recorded..total.unwrap_or(MOST).min(MOST) {
        let mut rest = number;
        let mut index: Vec<u64> = Vec::with_capacity(counts.len());
        for &count in counts.iter().rev() {
            index.push(rest.checked_rem(count).unwrap_or(0));
            rest = rest.checked_div(count).unwrap_or(0);
        }
        index.reverse();
        let key = doc.key_encoding.object_key(&index);
        if !there(&key) {
            keys.push(key);
        }
    }
    keys
}
