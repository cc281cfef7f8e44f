//! Documents of arrays.

use serde_json::Value;
use zvf_meta::{ArrayAttributes, ArrayDoc, Codec, DataType, JsonObject, KeyEncoding};

/// An array document.
pub fn array_doc(
    shape: Vec<u64>,
    data_type: DataType,
    chunk_shape: Vec<u64>,
    fill_value: Value,
    codecs: Vec<Codec>,
    attributes: ArrayAttributes,
) -> ArrayDoc {
    ArrayDoc {
        shape,
        data_type,
        chunk_shape,
        chunk_grid: JsonObject::new(),
        key_encoding: KeyEncoding::default(),
        fill_value,
        codecs,
        dimension_names: None,
        attributes,
        storage_transformers: Vec::new(),
        extra: JsonObject::new(),
    }
}
