//! Makes a store from the pushed batches: its only level, the root document, and the commit.

use std::sync::Arc;

use serde_json::{Value, json};
use zvf_encode::batches::Corners;
use zvf_encode::level::{LevelInput, write_arrays};
use zvf_encode::target::{Below, Target};
use zvf_encode::transaction::{new_mark, new_store};
use zvf_encode::{StaleFiles, StoreSpec, Summary, WriteError, documents};
use zvf_meta::LevelDoc;

use crate::journal::Journal;

/// Writes the store. On failure, tries to remove what it wrote. With a journal, replaces the objects of an interrupted run of the same writer.
pub(crate) fn write(
    input: LevelInput,
    target: &Target,
    address: &str,
    (stale_files, history): (StaleFiles, Option<Value>),
    mut journal: Option<&mut Journal>,
) -> Result<Summary, WriteError> {
    let begun = new_mark(json!({}));
    let mut again = false;
    if let Some(journal) = &mut journal {
        // The marker is recorded in the journal before it is written, so that a later run recognizes it as its own.
        journal.mark(&begun)?;
        again = new_store::begin_again(target, address, journal.marks(), &begun)?;
    }
    if !again {
        new_store::begin_as(target, address, stale_files, &begun)?;
    }
    let filled = fill(input, target, address, history);
    let filled = filled.and_then(|(root, summary)| {
        if let Some(journal) = journal {
            journal.end(&root, summary)?;
        }
        Ok((root, summary))
    });
    match filled {
        Ok((root, summary)) => {
            new_store::commit(target, address, root, &begun, None).map(|()| summary)
        }
        Err(error) => {
            new_store::abandon(target, &begun);
            Err(error)
        }
    }
}

/// Writes everything except the root, and returns the root document.
fn fill(
    mut input: LevelInput,
    target: &Target,
    address: &str,
    history: Option<Value>,
) -> Result<(String, Summary), WriteError> {
    let spec = Arc::clone(&input.spec);
    let bounds = bounds(&spec, input.router.extent.take())?;
    // The root is written last, so no reader finds these cells before they are complete.
    let below = target.below("0").unseen();
    let (doc, summary, _) = write_arrays(input, &bounds, &below, finest_doc())?;
    let root = write_above((&spec, history), target, &below, address, (bounds, &doc))?;
    Ok((root, summary))
}

/// The document of level 0 before the arrays of the level are known.
pub(crate) fn finest_doc() -> LevelDoc {
    LevelDoc {
        object_sparsity: 1.0,
        coarsening_method: Some("none".to_owned()),
        ..LevelDoc::default()
    }
}

/// Writes the document of level 0 and the data outside levels; returns the document of the root, with an entry of the history.
pub(crate) fn write_above(
    (spec, history): (&StoreSpec, Option<Value>),
    target: &Target,
    below: &Below<'_>,
    address: &str,
    (bounds, doc): (Corners, &LevelDoc),
) -> Result<String, WriteError> {
    below.put(vec![("zarr.json".to_owned(), doc.to_json().into_bytes())])?;
    documents::write_extras(spec, target)?;
    let name = spec.name.clone();
    let name = name.unwrap_or_else(|| documents::name_of(address));
    let mut root = documents::root(spec, bounds, &name);
    documents::claim_link_groups(&mut root, doc.fragment_link_groups);
    root.record(history);
    Ok(root.to_json())
}

/// The declared bounds: the bounds of the specification, extended to `extent`, because vertices may be outside or rounded to values outside.
fn bounds(spec: &StoreSpec, extent: Option<Corners>) -> Result<Corners, WriteError> {
    match (spec.bounds.clone(), extent) {
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (Some((low, high)), Some((from, to))) => Ok((
            low.iter().zip(from).map(|(a, b)| a.min(b)).collect(),
            high.iter().zip(to).map(|(a, b)| a.max(b)).collect(),
        )),
        (None, None) => Err(WriteError::input(
            "vertices",
            "none",
            "at least one, or bounds in the specification",
        )),
    }
}
