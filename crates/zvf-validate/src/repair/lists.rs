//! Presence lists: the keys of the existing cells, in ASCII order.

use std::collections::{BTreeMap, BTreeSet};

use crate::Check;
use zvf_format::keys::{format_key, parse_key};
use zvf_meta::ArrayDoc;
use zvf_meta::rules::Rule;
use zvf_meta::space::Grid;

use super::documents::{LIST, Look, RepairState, begin_list, document_of, inside};
use super::edit::{Fix, Tier};
use super::nodes::family_of;
use super::options::RepairOptions;

/// Maximum number of components of a key: the axes, and one for the attribute that divides chunks.
const MOST: usize = 32;

/// Edits that can be derived from the documents alone.
pub(crate) fn normal(look: &Look<'_>, memory: &mut RepairState) -> Vec<Fix> {
    let mut edits = Vec::new();
    for finding in look.of_rule(Rule::PresenceThere) {
        edits.extend(begin_list(
            look,
            &document_of(finding),
            finding.check,
            memory,
        ));
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
            edits.push(Fix {
                checks,
                ..Fix::set(&key, LIST, list, Check::CellListed, why).tier(Tier::Opening)
            });
        }
    }
    edits
}

/// Edits that can be derived from the cells.
pub(crate) fn cells(look: &Look<'_>, memory: &RepairState, options: &RepairOptions) -> Vec<Fix> {
    let mut edits = Vec::new();
    for (path, cells) in &look.measured.unlisted {
        let key = format!("{path}/zarr.json");
        let Some(mut keys) = keys_of(look, &key) else {
            continue;
        };
        keys.extend(cells.iter().map(|one| text(one.as_slice())));
        let why = format!("{} stored cells were not listed", cells.len());
        let list: Vec<String> = keys.into_iter().collect();
        let tier = if memory.lists.contains(&key) {
            Tier::Opening
        } else {
            Tier::Listing
        };
        edits.push(Fix::set(&key, LIST, list, Check::CellListed, why).tier(tier));
    }
    let mut gone: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for finding in look.of(Check::CellEmpty) {
        if let Some(chunk) = &finding.place.chunk {
            let of_list = gone.entry(document_of(finding)).or_default();
            of_list.insert(text(chunk.as_slice()));
        }
    }
    for (key, mut gone) in gone {
        if !options.accept_loss {
            // If another array lists the chunk, the cell was lost.
            gone.retain(|chunk| !is_named_elsewhere(look, &key, chunk));
            if !is_counted(look, &key) {
                gone.clear();
            }
        }
        if gone.is_empty() {
            continue;
        }
        // A list is changed once per validation: keys are removed in the next one if keys are added in this one.
        if edits.iter().any(|edit| edit.key == key) {
            continue;
        }
        let Some(mut keys) = keys_of(look, &key) else {
            continue;
        };
        keys.retain(|one| !gone.contains(one));
        let why = format!("{} listed cells have no content", gone.len());
        let list: Vec<String> = keys.into_iter().collect();
        edits.push(Fix::set(&key, LIST, list, Check::CellEmpty, why).tier(Tier::Dropping));
    }
    edits
}

/// Whether the loss of a cell of the array at `key` would be detected by a number in a document: `num_links` of the family, for arrays of links.
/// Always true for other arrays.
fn is_counted(look: &Look<'_>, key: &str) -> bool {
    let Some((level, path)) = inside(key).filter(|(_, path)| path.starts_with("links/")) else {
        return true;
    };
    family_of(look, level, path).is_some_and(|(_, family)| family.num_links.is_some())
}

/// Whether another array with cells for the same rows lists the chunk.
fn is_named_elsewhere(look: &Look<'_>, key: &str, chunk: &str) -> bool {
    let Some(own) = rows_of(key) else {
        return false;
    };
    look.measured.documents.keys().any(|other| {
        other != key
            && rows_of(other) == Some(own)
            && look
                .array(other)
                .and_then(|doc| doc.attributes.nonempty_chunks)
                .is_some_and(|keys| keys.iter().any(|one| one == chunk))
    })
}

/// Identifies the rows that the cells of an array describe: the level, and for links delta and offsets.
fn rows_of(key: &str) -> Option<(&str, &str)> {
    let (level, path) = key.strip_suffix("/zarr.json")?.split_once('/')?;
    let (family, rest) = path.split_once('/').unwrap_or((path, ""));
    match family {
        "vertices" | "vertex_fragments" | "link_fragments" => Some((level, "")),
        "vertex_attributes" | "fragment_attributes" => Some((level, "")),
        "links" => Some((level, rest)),
        "link_attributes" => Some((level, rest.split_once('/')?.1)),
        _ => None,
    }
}

/// The keys of a presence list that can be cells, in ASCII order. Keys outside the grid of the array are kept if the grid itself may be wrong: if
/// another array of the level lists them, or they are inside the bounds of the store.
fn keys_of(look: &Look<'_>, key: &str) -> Option<BTreeSet<String>> {
    let doc = look.array(key)?;
    let grid = grid(&doc)?;
    let (level, _) = inside(key)?;
    if look.key_rank(level)? != doc.shape.len() {
        return None;
    }
    let mut parts = [0_i64; MOST];
    let listed = doc.attributes.nonempty_chunks.as_ref()?;
    let mut keys = BTreeSet::new();
    let mut outside: Vec<(&str, Vec<i64>)> = Vec::new();
    for text in listed.iter() {
        let rank = parse_key(text, &mut parts);
        let chunk = rank.ok().and_then(|rank| parts.get(..rank));
        match chunk.filter(|chunk| chunk.len() == doc.shape.len()) {
            Some(chunk) if grid.index(chunk).is_some() => {
                keys.insert(text.to_owned());
            }
            Some(chunk) => outside.push((text, chunk.to_vec())),
            None => {}
        }
    }
    if !outside.is_empty() {
        let others = listed_by_others(look, level, key);
        let root = look.root.as_ref()?;
        let declared = root.declared_grid(&look.level(level)?).ok();
        for (text, chunk) in outside {
            let is_inside = |grid: &Grid| grid.index(&chunk).is_some();
            if others.contains(text) || declared.as_ref().is_some_and(is_inside) {
                keys.insert(text.to_owned());
            }
        }
    }
    Some(keys)
}

/// The keys that other arrays of a level list.
fn listed_by_others(look: &Look<'_>, level: u32, key: &str) -> BTreeSet<String> {
    let documents = look.measured.documents.keys();
    let others =
        documents.filter(|other| *other != key && inside(other).is_some_and(|(of, _)| of == level));
    let lists = others.filter_map(|other| look.array(other)?.attributes.nonempty_chunks);
    lists
        .flat_map(|keys| keys.iter().map(str::to_owned).collect::<Vec<String>>())
        .collect()
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

#[cfg(test)]
mod tests {
    use super::rows_of;

    #[test]
    fn arrays_of_the_same_rows() {
        let vertices = rows_of("0/vertices/zarr.json");
        assert_eq!(rows_of("0/vertex_attributes/v/zarr.json"), vertices);
        assert_ne!(rows_of("1/vertices/zarr.json"), vertices);
        assert_eq!(
            rows_of("0/link_attributes/w/0/+1.0/zarr.json"),
            rows_of("0/links/0/+1.0/zarr.json")
        );
        assert_ne!(
            rows_of("0/links/0/+1.0/zarr.json"),
            rows_of("0/links/0/0.0/zarr.json")
        );
        assert_eq!(rows_of("0/object_index/zarr.json"), None);
    }
}
