//! Rules about how arrays are stored: data types, fill values, codecs, keys.

use super::{ArrayAt, Problem, Rule, list};
use crate::codec::Codec;
use crate::error::{describe, quote};
use crate::key_encoding::KeyScheme;

/// Returns the problems against [`Rule::StorageTransformers`].
#[must_use]
pub fn no_storage_transformers(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let count = array.doc.storage_transformers.len();
    if count > 0 {
        problems.add(
            Rule::StorageTransformers,
            "/storage_transformers",
            format_args!("an array of {count}"),
            "empty",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::KeyEncoding`].
#[must_use]
pub fn key_encoding(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let encoding = &array.doc.key_encoding;
    if encoding.scheme != KeyScheme::Default || encoding.separator != '/' {
        let found = format!("{:?} with {:?}", encoding.scheme, encoding.separator).to_lowercase();
        problems.add(
            Rule::KeyEncoding,
            "/chunk_key_encoding",
            found,
            "default with '/'",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::VlenDataType`].
#[must_use]
pub fn vlen_data_type(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array.role.is_vlen() && !array.doc.data_type.is_vlen_bytes() {
        let found = quote(&array.doc.data_type.name);
        problems.add(
            Rule::VlenDataType,
            "/data_type",
            found,
            "\"variable_length_bytes\"",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::VlenFill`].
#[must_use]
pub fn vlen_fill(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array.role.is_vlen() && array.doc.fill_value != "" {
        problems.add(
            Rule::VlenFill,
            "/fill_value",
            describe(&array.doc.fill_value),
            "\"\"",
        );
    }
    problems.done()
}

/// The codecs that convert elements to bytes; inside shards, the inner ones. None for an unreadable configuration.
fn inner(array: ArrayAt<'_>) -> (Vec<Codec>, &'static str) {
    match array.doc.sharding() {
        Ok(None) => (array.doc.codecs.clone(), "/codecs/0"),
        Ok(Some(sharding)) => (sharding.codecs, "/codecs/0/configuration/codecs/0"),
        Err(_) => (Vec::new(), "/codecs/0/configuration"),
    }
}

fn first_codec(array: ArrayAt<'_>, rule: Rule, wanted: &str) -> Vec<Problem> {
    let mut problems = array.problems();
    let (codecs, at) = inner(array);
    let found = codecs.first().map_or("absent", |codec| codec.name.as_str());
    if found != wanted {
        problems.add(rule, at, quote(found), format_args!("{wanted:?}"));
    }
    problems.done()
}

/// Returns the problems against [`Rule::VlenCodecs`].
#[must_use]
pub fn vlen_codecs(array: ArrayAt<'_>) -> Vec<Problem> {
    if array.role.is_vlen() {
        first_codec(array, Rule::VlenCodecs, "vlen-bytes")
    } else {
        Vec::new()
    }
}

/// Returns the problems against [`Rule::TypedCodecs`].
#[must_use]
pub fn typed_codecs(array: ArrayAt<'_>) -> Vec<Problem> {
    if array.role.is_vlen() {
        Vec::new()
    } else {
        first_codec(array, Rule::TypedCodecs, "bytes")
    }
}

/// Returns the problems against [`Rule::GridChunks`].
#[must_use]
pub fn grid_chunks(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if !array.role.is_chunk_grid() {
        return problems.done();
    }
    let at = "/chunk_grid/configuration/chunk_shape";
    match array.doc.sharding() {
        // An unreadable configuration of shards is a problem of the codecs.
        Err(_) => {}
        Ok(None) => {
            if array.doc.chunk_shape.iter().any(|&extent| extent != 1) {
                problems.add(
                    Rule::GridChunks,
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
                problems.add(
                    Rule::GridChunks,
                    at,
                    list(&sharding.chunk_shape),
                    "1 along every axis",
                );
            }
        }
    }
    problems.done()
}
