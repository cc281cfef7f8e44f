//! Documents of arrays, and arrays of byte strings in one chunk.

use serde_json::{Value, json};
use zvf_format::vlen::VlenBuilder;
use zvf_meta::{ArrayAttributes, ArrayDoc, Codec, DataType, JsonObject, KeyEncoding};

use crate::WriteError;
use crate::target::ObjectPut;
use zvf_codec::{CodecSample, Compression};

/// Bytes of one number in the cells of fragments, links and manifests, and in lists of ids.
pub const INDEX: usize = 8;

/// The document of an array.
pub(crate) fn array_doc(
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

/// The document of an array of byte strings in one chunk, and the chunk, if there are strings.
pub(crate) fn byte_strings(
    path: &str,
    rows: VlenBuilder,
    compression: &Compression,
    attributes: ArrayAttributes,
) -> Result<(ArrayDoc, Vec<ObjectPut>), WriteError> {
    let count = u64::from(rows.len());
    let rows = rows.finish();
    let compression = compression.chosen(INDEX, &sample_of(&rows)?)?;
    let attributes = ArrayAttributes {
        stored_chunks: Some(count.min(1)),
        ..attributes
    };
    let doc = array_doc(
        vec![count],
        DataType::named("variable_length_bytes"),
        vec![count.max(1)],
        Value::from(""),
        vlen_codecs(&compression),
        attributes,
    );
    let mut chunks = Vec::new();
    if count > 0 {
        chunks.push((format!("{path}/c/0"), compression.encode(rows)?));
    }
    Ok((doc, chunks))
}

/// A sample of an array with one chunk, or of its first chunk.
pub(crate) fn sample_of(chunk: &[u8]) -> Result<CodecSample, WriteError> {
    CodecSample::of([chunk.len()], |_, most| {
        Ok(chunk.get(..most).unwrap_or(chunk).to_vec())
    })
}

/// Lists of ids, such as the members of groups, as byte strings.
pub(crate) fn id_lists<L: AsRef<[i64]>>(
    path: &str,
    lists: impl Iterator<Item = Result<L, WriteError>>,
) -> Result<VlenBuilder, WriteError> {
    let mut rows = VlenBuilder::new();
    for list in lists {
        let list = list?;
        let bytes: Vec<u8> = list
            .as_ref()
            .iter()
            .flat_map(|id| id.to_le_bytes())
            .collect();
        rows.push(&bytes)
            .map_err(|source| WriteError::encode(path, source))?;
    }
    Ok(rows)
}

/// The array `groups` of groups with these members.
pub fn groups<L: AsRef<[i64]>>(
    members: impl Iterator<Item = Result<L, WriteError>>,
    compression: &Compression,
    attributes: ArrayAttributes,
) -> Result<(ArrayDoc, Vec<ObjectPut>), WriteError> {
    let rows = id_lists("groups", members)?;
    let attributes = ArrayAttributes {
        zv_array: Some("groups".to_owned()),
        num_groups: Some(u64::from(rows.len())),
        ..attributes
    };
    byte_strings("groups", rows, compression, attributes)
}

/// The codecs of an array of byte strings.
pub(crate) fn vlen_codecs(compression: &Compression) -> Vec<Codec> {
    let first = Codec {
        configuration: json!({}),
        ..Codec::named("vlen-bytes")
    };
    std::iter::once(first).chain(compression.codecs()).collect()
}
