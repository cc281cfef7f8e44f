//! Stored documents of arrays, before the edit.

use std::sync::Arc;

use zvf_encode::WriteError;
use zvf_encode::parallel::blocking;
use zvf_encode::target::Target;
use zvf_meta::ArrayDoc;

/// Reads a document of the store at `target`.
pub(super) async fn document(
    target: &Arc<Target>,
    key: String,
) -> Result<Option<Vec<u8>>, WriteError> {
    let target = Arc::clone(target);
    blocking(move || target.read(&key)).await
}

/// Reads the document of an array of the object index.
pub(super) async fn index_doc(target: &Arc<Target>, name: &str) -> Result<ArrayDoc, WriteError> {
    let path = format!("0/object_index/{name}");
    match document(target, format!("{path}/zarr.json")).await? {
        Some(bytes) => Ok(ArrayDoc::parse(&bytes)?),
        None => Err(WriteError::unsupported(path, "nothing", "an array")),
    }
}
