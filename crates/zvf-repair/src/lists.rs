//! Presence lists: the keys of the cells that are there, in ASCII order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use zvf_format::keys::{format_key, parse_key};
use zvf_meta::ArrayDoc;
use zvf_meta::rules::Rule;
use zvf_meta::space::Grid;
use zvf_validate::Check;

use crate::documents::{Look, Memory, document_of};
use crate::edit::{Edit, Tier};

const LIST: &str = "/attributes/nonempty_chunks";

/// Most components of a key: axes, and one for an attribute.
const MOST: usize = 32;

/// Begins a list anew, where the storage lists its objects: the cells come when they are found.
pub(crate) fn begin(look: &Look<'_>, key: &str, check: Check, memory: &mut Memory) -> Option<Edit> {
    look.measured.folders.as_ref()?;
    memory.lists.insert(key.to_owned());
    let why = "until the cells are found";
    Some(Edit::set(key, LIST, json!([]), check, why).tier(Tier::Opening))
}

/// Edits that follow from the documents alone.
pub(crate) fn normal(look: &Look<'_>, memory: &mut Memory) -> Vec<Edit> {
    let mut edits = Vec::new();
    for finding in look.of_rule(Rule::PresenceThere) {
        edits.extend(begin(look, &document_of(finding), finding.check, memory));
    }
    let mut wrong: BTreeMap<String, Vec<Check>> = BTreeMap::new();
    for rule in [
        Rule::PresenceKeys,
        Rule::PresenceOrder,
        Rule::PresenceUnique,
        Rule::PresenceInGrid,
    ] {
        for finding in look.of_rule(rule) {
            let checks = wrong.entry(document_of(finding)).or_default();
            if !checks.contains(&finding.check) {
                checks.push(finding.check);
            }
        }
    }
    for (key, checks) in wrong {
        if let Some(keys) = keys_of(look, &key) {
            let why = "its keys that can be cells, once each, in ASCII order";
            let list: Vec<String> = keys.into_iter().collect();
            edits.push(Edit {
                checks,
                ..Edit::set(&key, LIST, list, Check::CellListed, why).tier(Tier::Opening)
            });
        }
    }
    edits
}

/// Edits that follow from the cells.
pub(crate) fn cells(look: &Look<'_>, memory: &Memory) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (path, cells) in &look.measured.unlisted {
        let key = format!("{path}/zarr.json");
        let Some(mut keys) = keys_of(look, &key) else {
            continue;
        };
        keys.extend(cells.iter().map(|one| text(one.as_slice())));
        let why = format!("{} more cells that are there", cells.len());
        let list: Vec<String> = keys.into_iter().collect();
        let tier = if memory.lists.contains(&key) {
            Tier::Opening
        } else {
            Tier::Listing
        };
        edits.push(Edit::set(&key, LIST, list, Check::CellListed, why).tier(tier));
    }
    let mut gone: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in look.of(Check::CellEmpty) {
        if let Some(chunk) = &finding.place.chunk {
            let of_list = gone.entry(document_of(finding)).or_default();
            of_list.insert(text(chunk.as_slice()));
        }
    }
    for (key, gone) in gone {
        // What comes and what goes is one list: going waits for the next look.
        if edits.iter().any(|edit| edit.key == key) {
            continue;
        }
        let Some(mut keys) = keys_of(look, &key) else {
            continue;
        };
        keys.retain(|one| !gone.contains(one));
        let why = format!("{} cells that hold nothing go", gone.len());
        let list: Vec<String> = keys.into_iter().collect();
        edits.push(Edit::set(&key, LIST, list, Check::CellEmpty, why).tier(Tier::Dropping));
    }
    edits
}

/// The keys of a list that can be cells of the array's grid; sorted as text they are in ASCII order.
fn keys_of(look: &Look<'_>, key: &str) -> Option<BTreeSet<String>> {
    let doc = look.array(key)?;
    let grid = grid(&doc)?;
    let mut parts = [0_i64; MOST];
    let listed = doc.attributes.nonempty_chunks.as_ref()?;
    let keys = listed.iter().filter(|text| {
        let rank = parse_key(text, &mut parts);
        let chunk = rank.ok().and_then(|rank| parts.get(..rank));
        chunk.is_some_and(|chunk| grid.index(chunk).is_some())
    });
    Some(keys.map(str::to_owned).collect())
}

fn grid(doc: &ArrayDoc) -> Option<Grid> {
    let rank = doc.shape.len();
    let origin = doc.attributes.chunk_grid_origin.clone();
    let origin = origin.unwrap_or_else(|| vec![0; rank]);
    (origin.len() == rank).then(|| Grid {
        origin,
        shape: doc.shape.clone(),
    })
}

fn text(chunk: &[i64]) -> String {
    format_key(chunk).to_string()
}
