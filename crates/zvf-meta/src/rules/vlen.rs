//! Rules about how arrays are stored: data types, fill values, codecs, keys.

use super::problem::{ArrayAt, ProblemList, list};
use crate::codec::Codec;
use crate::error::{describe, quote};
use crate::key_encoding::KeyScheme;

pub(super) fn no_storage_transformers(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let count = array.doc.storage_transformers.len();
    if count > 0 {
        problems.add(
            "/storage_transformers",
            format_args!("an array of {count}"),
            "empty",
        );
    }
}

pub(super) fn key_encoding(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let encoding = &array.doc.key_encoding;
    if encoding.scheme != KeyScheme::Default || encoding.separator != '/' {
        let found = format!("{:?} with {:?}", encoding.scheme, encoding.separator).to_lowercase();
        problems.add("/chunk_key_encoding", found, "default with '/'");
    }
}

pub(super) fn vlen_data_type(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role.is_vlen() && !array.doc.data_type.is_vlen_bytes() {
        let found = quote(&array.doc.data_type.name);
        problems.add("/data_type", found, "\"variable_length_bytes\"");
    }
}

pub(super) fn vlen_fill(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role.is_vlen() && array.doc.fill_value != "" {
        problems.add("/fill_value", describe(&array.doc.fill_value), "\"\"");
    }
}

/// The codecs that convert elements to bytes (for sharded arrays, the inner ones), and the JSON pointer of the first
/// one. Without codecs if the configuration of shards is unreadable.
fn inner(array: ArrayAt<'_>) -> (Vec<Codec>, &'static str) {
    match array.doc.sharding() {
        Ok(None) => (array.doc.codecs.clone(), "/codecs/0"),
        Ok(Some(sharding)) => (sharding.codecs, "/codecs/0/configuration/codecs/0"),
        Err(_) => (Vec::new(), "/codecs/0/configuration"),
    }
}

fn first_codec(array: ArrayAt<'_>, wanted: &str, problems: &mut ProblemList) {
    let (codecs, at) = inner(array);
    let found = codecs.first().map_or("absent", |codec| codec.name.as_str());
    if found != wanted {
        problems.add(at, quote(found), format_args!("{wanted:?}"));
    }
}

pub(super) fn vlen_codecs(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role.is_vlen() {
        first_codec(array, "vlen-bytes", problems);
    }
}

pub(super) fn typed_codecs(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if !array.role.is_vlen() {
        first_codec(array, "bytes", problems);
    }
}

pub(super) fn grid_chunks(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if !array.role.is_chunk_grid() {
        return;
    }
    let at = "/chunk_grid/configuration/chunk_shape";
    match array.doc.sharding() {
        // The codec rules report an unreadable configuration of shards.
        Err(_) => {}
        Ok(None) => {
            if array.doc.chunk_shape.iter().any(|&extent| extent != 1) {
                problems.add(
                    at,
                    list(&array.doc.chunk_shape),
                    "1 along every axis, or shards",
                );
            }
        }
        Ok(Some(sharding)) => {
            if sharding.chunk_shape.len() != array.doc.shape.len()
                || sharding.chunk_shape.iter().any(|&extent| extent != 1)
            {
                let at = "/codecs/0/configuration/chunk_shape";
                problems.add(at, list(&sharding.chunk_shape), "1 along every axis");
            }
        }
    }
}
