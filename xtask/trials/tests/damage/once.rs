//! Facts that a store states in one place alone: with another value it is another store, which is as valid.

use serde_json::Value;

use crate::alter::Case;
use crate::base::Base;

/// Members whose value nothing else in a store repeats, by the end of their pointer or a part of it.
const ONCE: &[&str] = &[
    // What codes, rows and groups stand for.
    "/attributes/categories",
    "/attributes/fill_code",
    "/attributes/_FillValue",
    "/attributes/group_names",
    "/attributes/group_ranges",
    "/attributes/channel_names",
    "/chunk_attribute_values",
    "/chunk_attribute_name",
    // Which values of a table stand for "no value".
    "/fill_value",
    "/attributes/fill_sentinel_meaning",
    // Where the stored numbers lie in the world.
    "/coordinate_offset",
    // The order of bytes.
    "/configuration/endian",
];

/// Whether nothing else in the store contradicts what the case states.
pub(crate) fn is_stated_once(base: &Base, case: &Case) -> bool {
    let pointer = case.pointer.as_str();
    if ONCE.iter().any(|part| pointer.contains(part)) {
        return true;
    }
    // A kind of geometry with the same convention of links.
    if pointer.starts_with("/attributes/zarr_vectors/geometry_types") {
        return case.bytes.is_some();
    }
    // A skeleton may have all of its links stored, as `padded/skeleton` has: what others imply is another forest, and so is what the
    // rows of that one imply.
    let conventions = ["explicit", "implicit_sequential_with_branches"];
    if pointer == "/attributes/zarr_vectors/links_convention"
        && conventions.iter().any(|one| after_is(case, one))
    {
        return is_skeleton(base);
    }
    // Nothing says how many values a row of the attribute has: its bytes are as many of another type.
    let document: Option<Value> =
        (base.files.get(&case.key)).and_then(|bytes| serde_json::from_slice(bytes).ok());
    let states = |name: &str| {
        let document = document.as_ref();
        document.is_some_and(|one| one["attributes"].get(name).is_some())
    };
    if pointer == "/attributes/dtype"
        && case.key.contains("/vertex_attributes/")
        && !states("row_shape")
        && !states("channel_names")
        && !is_declared(base, case)
    {
        return true;
    }
    let types = pointer == "/attributes/dtype" || pointer == "/data_type";
    types && same_size(base, case) && !is_declared(base, case)
}

/// Whether both types have elements of one size: bytes do not tell them apart.
fn same_size(base: &Base, case: &Case) -> bool {
    let size = |bytes: &[u8]| {
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let text = document.pointer(&case.pointer)?.as_str()?.to_owned();
        zvf_format::dtype::DType::parse(&text)
            .ok()
            .map(|one| one.size())
    };
    let before = base.files.get(&case.key).and_then(|bytes| size(bytes));
    let after = case.bytes.as_ref().and_then(|bytes| size(bytes));
    before.is_some() && before == after
}

/// Whether the root, or the array beside it, states the type as well.
fn is_declared(base: &Base, case: &Case) -> bool {
    let document =
        |key: &str| -> Option<Value> { serde_json::from_slice(base.files.get(key)?).ok() };
    if let Some(own) = document(&case.key)
        && own
            .pointer("/attributes/dtype")
            .is_some_and(Value::is_string)
        && own
            .pointer("/data_type")
            .is_some_and(|one| *one == own["attributes"]["dtype"])
    {
        return true;
    }
    let mut parts = case.key.split('/');
    let (level, family, name) = (parts.next(), parts.next(), parts.next());
    let scope = match family {
        Some("vertex_attributes") => "vertex",
        Some("object_attributes") => "object",
        Some("link_attributes") => "link",
        _ => return false,
    };
    let root = document("zarr.json").unwrap_or_default();
    let at = format!(
        "/attributes/zarr_vectors/attribute_specs/{scope}/{}/dtype",
        name.unwrap_or_default()
    );
    level == Some("0") && root.pointer(&at).is_some()
}

/// Whether the case sets its member to a text.
fn after_is(case: &Case, text: &str) -> bool {
    let after: Option<Value> =
        (case.bytes.as_ref()).and_then(|bytes| serde_json::from_slice(bytes).ok());
    after.is_some_and(|after| after.pointer(&case.pointer).and_then(Value::as_str) == Some(text))
}

/// Whether the store is one of skeletons.
fn is_skeleton(base: &Base) -> bool {
    let root = base.files.get("zarr.json");
    let root: Option<Value> = root.and_then(|bytes| serde_json::from_slice(bytes).ok());
    let kinds = root
        .as_ref()
        .map(|root| &root["attributes"]["zarr_vectors"]["geometry_types"]);
    kinds.is_some_and(|kinds| *kinds == serde_json::json!(["skeleton"]))
}
