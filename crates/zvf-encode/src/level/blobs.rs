//! Cells as arrays of their own: the group of blobs (0.8 §3.1).
//!
//! ```text
//! <path>/zarr.json         group with the attributes of the family
//! <path>/<key>/zarr.json   uint8, shape [N], one chunk
//! <path>/<key>/c/0         the N bytes, encoded
//! ```

use serde_json::Value;
use zvf_format::keys::format_key;
use zvf_meta::{ArrayAttributes, Codec, DataType, GroupDoc};

use crate::WriteError;
use crate::documents::array::array_doc;
use crate::target::{ObjectPut, Payloads, node};
use zvf_codec::Compression;
use zvf_format::int::wide;

/// The objects of some cells, two per cell. Empty payloads are not stored.
///
/// A blob of zeros is stored like any other, and its document states that it is stored: if its file is lost later, it is not read as zeros.
pub(crate) fn objects(
    path: &str,
    cells: Payloads<'_>,
    compression: &Compression,
) -> Result<Vec<ObjectPut>, WriteError> {
    let mut objects = Vec::new();
    for (key, payload) in cells.into_iter().filter(|(_, payload)| !payload.is_empty()) {
        let size = wide(payload.len());
        let codecs = std::iter::once(Codec::named("bytes")).chain(compression.codecs());
        let doc = array_doc(
            vec![size],
            DataType::named("uint8"),
            vec![size],
            Value::from(0),
            codecs.collect(),
            ArrayAttributes {
                stored_chunks: Some(1),
                ..ArrayAttributes::default()
            },
        );
        let key = format_key(key);
        objects.push((format!("{path}/{key}/c/0"), compression.encode(payload)?));
        objects.push(node(format_args!("{path}/{key}"), doc.to_json()));
    }
    Ok(objects)
}

/// The document of the group that replaces an array.
pub(crate) fn group(attributes: &ArrayAttributes) -> String {
    let attributes = match serde_json::to_value(attributes) {
        Ok(Value::Object(members)) => members,
        _ => zvf_meta::JsonObject::new(),
    };
    GroupDoc {
        attributes,
        ..GroupDoc::default()
    }
    .to_json_line()
}

/// Maps each component of a key to an unsigned number, in the same order.
pub(crate) fn index(key: &[i64]) -> Vec<u64> {
    key.iter()
        .map(|part| part.cast_unsigned() ^ (1 << 63))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_has_a_document_and_a_chunk_by_its_key() {
        let cells: Payloads<'_> = vec![(&[-1, 2], vec![7, 0]), (&[0, 0], Vec::new())];
        let objects = objects("0/vertices", cells, &Compression::None).unwrap();
        let names: Vec<&str> = objects.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(names, ["0/vertices/-1.2/c/0", "0/vertices/-1.2/zarr.json"]);
        assert_eq!(objects[0].1, [7, 0]);
        let doc: Value = serde_json::from_slice(&objects[1].1).unwrap();
        assert_eq!(doc["shape"], serde_json::json!([2]));
        assert_eq!(doc["data_type"], "uint8");
        assert_eq!(doc["codecs"], serde_json::json!([{"name": "bytes"}]));
        assert!(index(&[-1]) < index(&[0]) && index(&[0]) < index(&[7]));
    }
}
