//! Stored documents of arrays, before the edit.

use std::sync::Arc;

use zvf_encode::WriteError;
use zvf_encode::parallel::blocking;
use zvf_encode::target::Target;
use zvf_meta::ArrayDoc;

use super::Edit;

/// Reads a document of the store.
pub(super) async fn document(edit: &Edit, key: String) -> Result<Option<Vec<u8>>, WriteError> {
    document_at(&edit.target, key).await
}

/// Reads a document of the store at `target`.
pub(super) async fn document_at(
    target: &Arc<Target>,
    key: String,
) -> Result<Option<Vec<u8>>, WriteError> {
    let target = Arc::clone(target);
    blocking(move || target.read(&key)).await
}

pub(super) async fn index_doc(edit: &Edit, name: &str) -> Result<ArrayDoc, WriteError> {
    let path = format!("0/object_index/{name}");
    match document(edit, format!("{path}/zarr.json")).await? {
        Some(bytes) => Ok(ArrayDoc::parse(&bytes)?),
        None => Err(WriteError::unsupported(path, "nothing", "an array")),
    }
}
