//! One variable-length array, plain or sharded: the element at a chunk's index is its cell.
//!
//! Source: specification 0.9, section 7; 0.8, section 3.4.

use zvf_meta::ArrayDoc;

use crate::layout::{Layout, Refused};
use crate::{Limits, StoreError};

/// How an array's cells are read.
#[derive(Debug)]
pub(crate) enum Reader {
    /// Framing and codecs of this crate.
    Own(Layout),
    /// The generic Zarr reader.
    Generic,
    /// Not at all: the name of the codec that is missing.
    Unsupported(String),
}

/// The key of a stored object of any array.
pub(crate) fn object_key(path: &str, doc: &ArrayDoc, index: &[u64]) -> String {
    format!("{path}/{}", doc.key_encoding.object_key(index))
}

/// Chooses who reads a variable-length array.
pub(crate) fn reader(path: &str, doc: &ArrayDoc, limits: &Limits) -> Result<Reader, StoreError> {
    if !doc.data_type.is_vlen_bytes() {
        return Err(StoreError::malformed(
            format!("{path}/zarr.json"),
            format!(
                "data_type is {:?}, expected \"variable_length_bytes\"",
                doc.data_type.name
            ),
        ));
    }
    match &doc.fill_value {
        serde_json::Value::String(text) if text.is_empty() => {}
        serde_json::Value::Array(list) if list.is_empty() => {}
        serde_json::Value::Null => {}
        other => return Ok(Reader::Unsupported(format!("fill_value {other}"))),
    }
    if let Some(transformer) = doc.storage_transformers.first() {
        return Ok(Reader::Unsupported(format!(
            "storage transformer {transformer}"
        )));
    }
    match Layout::new(path, doc, limits) {
        Ok(layout) => Ok(Reader::Own(layout)),
        Err(Refused::Error(error)) => Err(error),
        Err(Refused::Foreign(name))
            if cfg!(feature = "zarrs") && !name.contains("blosc inside shards") =>
        {
            Ok(Reader::Generic)
        }
        Err(Refused::Foreign(name)) => Ok(Reader::Unsupported(name)),
    }
}
