//! The message for an address without a store.

use std::path::Path;

use serde_json::Value;

use crate::StoreError;
use crate::snapshot::SnapshotTree;
use crate::writing::MARKER;
use zvf_io::{Ask, Backend, Cap};

/// Most names of existing files in the message.
const NAMED: usize = 5;

/// The error for an address without a root document.
#[cold]
pub(crate) async fn no_store(tree: &SnapshotTree) -> StoreError {
    let error = tree.missing("zarr.json");
    if !error.is_not_found() {
        return error;
    }
    let cap = Cap::document(tree.kv.limits());
    if let Ok(Some(marker)) = tree.kv.in_round(2).get(MARKER, Ask::Whole, cap).await {
        // The marker of a distributed write contains its specification here.
        let marker: Value = serde_json::from_slice(&marker.bytes).unwrap_or_default();
        if marker.pointer("/details/parts").is_some() {
            return StoreError::NoStore {
                store: tree.address.clone(),
                what: "a store in parts was begun there and is not committed yet; `zvf import STORE --status` lists its parts"
                    .to_owned(),
            };
        }
        return StoreError::NoStore {
            store: tree.address.clone(),
            what: format!(
                "an unfinished import or copy ({MARKER} exists, zarr.json does not): its writer is running or was interrupted; if it was interrupted, the same command with --clear-leftovers removes its files and begins again, or continues its --journal"
            ),
        };
    }
    let folders = tree.state().folders("").flatten();
    let what = match tree.kv.backend() {
        Backend::Local(root) => local(root.path(), folders.as_ref().map(|f| f.as_slice())),
        _ => match folders {
            None => {
                "no store there: no object zarr.json at this address, or no such bucket".to_owned()
            }
            Some(names) if names.is_empty() => {
                "no store there: nothing is at this address, expected zarr.json".to_owned()
            }
            Some(names) => instead("no store there: no object zarr.json", &names),
        },
    };
    StoreError::NoStore {
        store: tree.address.clone(),
        what,
    }
}

fn local(root: &Path, folders: Option<&[String]>) -> String {
    match std::fs::metadata(root) {
        Err(_) => "no store there: no such folder".to_owned(),
        Ok(meta) if meta.is_file() => "is a file, expected the folder of a store".to_owned(),
        Ok(meta) if !meta.is_dir() => match zvf_io::special(&meta) {
            Some(kind) => format!("is {kind}, expected the folder of a store"),
            None => "is not a folder".to_owned(),
        },
        Ok(_) if root.join(".zgroup").exists() || root.join(".zarray").exists() => {
            "not a Zarr Vectors store: the folder holds Zarr version 2, expected zarr.json"
                .to_owned()
        }
        Ok(_) => instead(
            "not a Zarr Vectors store: the folder has no zarr.json",
            folders.unwrap_or_default(),
        ),
    }
}

/// Names the files that exist instead.
fn instead(what: &str, names: &[String]) -> String {
    let stores: Vec<&String> = names
        .iter()
        .filter(|n| n.ends_with(".zarrvectors"))
        .collect();
    let all: Vec<&String> = names.iter().collect();
    let shown = if stores.is_empty() { all } else { stores };
    if shown.is_empty() {
        return what.to_owned();
    }
    let mut text = format!("{what}; it holds");
    for (i, name) in shown.iter().take(NAMED).enumerate() {
        text.push_str(if i == 0 { " " } else { ", " });
        text.push_str(name);
    }
    if let Some(more) = shown.len().checked_sub(NAMED).filter(|n| *n > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::instead;

    #[test]
    fn a_few_names_are_shown_and_only_stores_if_there_are_any() {
        let names: Vec<String> = (0..9).map(|i| format!("f{i}")).collect();
        assert_eq!(
            instead("no", &names),
            "no; it holds f0, f1, f2, f3, f4 and 4 more"
        );
        let names = ["a", "b.zarrvectors"].map(str::to_owned);
        assert_eq!(instead("no", &names), "no; it holds b.zarrvectors");
        assert_eq!(instead("no", &[]), "no");
    }
}
