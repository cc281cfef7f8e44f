//! Parts of a store as stores.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use zvf_convert::{SplitBy, split_parts, write_selection};
use zvf_query::Query;
use zvf_store::{Stop, Store};

use crate::errors::{Failure, misuse};
use crate::jobs::{at, reading};
use crate::run::{OnInterrupt, wait};
use crate::store::Access;
use crate::writer::Writing;

/// Writes a store for each group, value of an attribute, or of so many parts.
#[pyfunction]
pub(crate) fn split(
    py: Python<'_>,
    url: String,
    folder: PathBuf,
    attribute: Option<String>,
    count: Option<u32>,
    writing: Writing,
    access: Access,
) -> PyResult<String> {
    let by = match (attribute, count) {
        (None, None) => SplitBy::Group,
        (Some(name), None) => SplitBy::Attribute(name),
        (None, Some(count)) if count > 0 => SplitBy::Count(count),
        _ => {
            return Err(misuse(
                "found attribute and count, expected one of them, or none for groups; counts above 0",
            ));
        }
    };
    let stop = Stop::default();
    let (open, write) = (reading(&access, &stop)?, writing.options(&stop)?);
    std::fs::create_dir_all(&folder)?;
    let job = async {
        let store = Store::open_with(&url, open).await.map_err(at(&url))?;
        let found = split_parts(&store, &Query::default(), &by).await;
        let found = found.map_err(at(&url))?;
        let (mut parts, mut notes) = (Vec::new(), found.notes);
        for part in found.parts {
            let path = folder.join(format!("{}.zarrvectors", part.name));
            let file = path.display().to_string();
            let skipped = path.join("zarr.json").exists();
            let made = match skipped {
                true => None,
                false => {
                    let made = write_selection(&store, &part.query, &file, write.clone()).await;
                    Some(made.map_err(at::<zvf_convert::ConvertError>(&file))?)
                }
            };
            let (vertices, objects) = made
                .as_ref()
                .map_or((0, 0), |one| (one.vertices, one.objects));
            if skipped || vertices > 0 {
                parts.push(json!({
                    "file": file, "of": part.of, "vertices": vertices, "objects": objects, "skipped": skipped,
                }));
            }
            notes.extend(made.into_iter().flat_map(|one| one.notes));
        }
        notes.dedup();
        Ok::<_, Failure>((parts, notes))
    };
    let (parts, notes) = wait(py, OnInterrupt::Ask(&stop), job)?;
    Ok(json!({"store": url, "parts": parts, "notes": notes}).to_string())
}
