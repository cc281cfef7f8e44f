//! Rules about the object index, typed arrays and groups.

use serde_json::Value;

use super::problem::{ArrayAt, ProblemList, list};
use crate::attributes::ABSENT_TEXTS;
use crate::error::{describe, quote};
use crate::family::ObjectIndexDoc;
use crate::names::ObjectLayout;
use crate::role::Role;

pub(super) fn index_layout(index: &ObjectIndexDoc, problems: &mut ProblemList) {
    // A group that was never filled has no rows to identify.
    if index.num_objects.is_some() && index.layout().is_err() {
        let found = index.layout.as_deref().map_or("absent".to_owned(), quote);
        problems.add("/attributes/layout", found, ObjectLayout::EXPECTED);
    }
}

pub(super) fn index_counts(index: &ObjectIndexDoc, problems: &mut ProblemList) {
    if let (Some(rows), Some(present)) = (index.num_objects, index.num_present)
        && present > rows
    {
        problems.add(
            "/attributes/num_present",
            present,
            format_args!("at most {rows}"),
        );
    }
}

/// The shape is compared only for layout 2: layout 1 ignores the table, which may be stale.
pub(super) fn object_ids(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role != Role::ObjectIds {
        return;
    }
    if array.doc.data_type.name != "int64" {
        problems.add("/data_type", quote(&array.doc.data_type.name), "\"int64\"");
    }
    // If an id of 0 is alone in its chunk, the chunk is not stored (0.9 §4.5).
    if array.doc.fill_value.as_i64() != Some(0) {
        problems.add("/fill_value", &array.doc.fill_value, "0");
    }
    let index = array
        .index
        .filter(|index| index.layout.as_deref() == Some(ObjectLayout::V2.name()));
    if let Some(rows) = index.and_then(|index| index.num_objects)
        && array.doc.shape != [rows]
    {
        problems.add("/shape", list(&array.doc.shape), list(&[rows]));
    }
}

pub(super) fn manifests(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role == Role::Manifests
        && let Some(rows) = array.index.map(|index| index.num_objects.unwrap_or(0))
        && array.doc.shape != [rows]
    {
        problems.add("/shape", list(&array.doc.shape), list(&[rows]));
    }
}

pub(super) fn typed_rank(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let rank = array.doc.shape.len();
    if !array.role.is_vlen() && !(1..=2).contains(&rank) {
        problems.add(
            "/shape",
            format_args!("of {rank} axes"),
            "rows, or rows and channels",
        );
    }
}

pub(super) fn typed_shape(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if !array.role.is_vlen()
        && let Some(stored) = &array.doc.attributes.shape
        && stored != &array.doc.shape
    {
        problems.add("/attributes/shape", list(stored), list(&array.doc.shape));
    }
}

/// The Zarr data type of a numeric `dtype` (0.9 §8.2), or `None` for big-endian, text, date and unknown types.
#[must_use]
pub fn zarr_name(dtype: &str) -> Option<&'static str> {
    let known = [
        ("bool", "b1"),
        ("int8", "i1"),
        ("int16", "i2"),
        ("int32", "i4"),
        ("int64", "i8"),
        ("uint8", "u1"),
        ("uint16", "u2"),
        ("uint32", "u4"),
        ("uint64", "u8"),
        ("float16", "f2"),
        ("float32", "f4"),
        ("float64", "f8"),
        ("complex64", "c8"),
        ("complex128", "c16"),
    ];
    let dtype = dtype.trim_start_matches(['<', '|', '=']);
    known
        .iter()
        .find(|(name, short)| dtype == *name || dtype == *short)
        .map(|(name, _)| *name)
}

/// Applies to numeric types.
pub(super) fn typed_dtype(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let stored = array.doc.attributes.dtype.as_deref();
    let name = array.doc.data_type.name.as_str();
    if !array.role.is_vlen()
        && let (Some(wanted), Some(found)) = (zarr_name(name), stored.and_then(zarr_name))
        && found != wanted
    {
        problems.add("/attributes/dtype", quote(found), quote(wanted));
    }
}

/// The fill value with which object attributes of a Zarr data type declare that a value is absent (0.9 §11.4); `None` for types without one.
#[must_use]
pub fn absent_value(data_type: &str) -> Option<Value> {
    Some(match data_type {
        "float16" | "float32" | "float64" => Value::from("NaN"),
        "int8" => Value::from(i8::MIN),
        "int16" => Value::from(i16::MIN),
        "int32" => Value::from(i32::MIN),
        "int64" => Value::from(i64::MIN),
        "uint8" => Value::from(u8::MAX),
        "uint16" => Value::from(u16::MAX),
        "uint32" => Value::from(u32::MAX),
        "uint64" => Value::from(u64::MAX),
        "fixed_length_utf32" => Value::from(""),
        _ => return None,
    })
}

/// Whether a writer may choose this fill where `wanted`, the sentinel of the type, is a value of some object (trap T24): an infinity, or an integer close
/// to the sentinel. Readers only use the fill value.
fn may_replace(fill: &Value, wanted: &Value) -> bool {
    let whole = |value: &Value| {
        let number = value.as_i64().map(i128::from);
        number.or_else(|| value.as_u64().map(i128::from))
    };
    match (whole(fill), whole(wanted)) {
        (Some(fill), Some(wanted)) => fill.abs_diff(wanted) < 128,
        _ => wanted == "NaN" && (fill == "Infinity" || fill == "-Infinity"),
    }
}

/// Types without a sentinel (bool, complex) pass.
pub(super) fn sentinel(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let absent = array.doc.attributes.fill_sentinel_meaning.as_deref() == Some("absent");
    if !absent || !matches!(array.role, Role::ObjectAttribute { .. }) {
        return;
    }
    let text = array.doc.fill_value.as_str();
    if text.is_some_and(|text| ABSENT_TEXTS.contains(&text)) {
        return;
    }
    let Some(wanted) = absent_value(&array.doc.data_type.name) else {
        return;
    };
    let fill = &array.doc.fill_value;
    if *fill != wanted && !may_replace(fill, &wanted) {
        problems.add("/fill_value", describe(fill), describe(&wanted));
    }
}

/// The number of rows of the groups array.
fn group_rows(array: ArrayAt<'_>) -> Option<u64> {
    if array.role != Role::Groups {
        None
    } else {
        array.doc.shape.first().copied()
    }
}

pub(super) fn group_count(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let (Some(rows), Some(count)) = (group_rows(array), array.doc.attributes.num_groups)
        && rows != count
    {
        problems.add("/attributes/num_groups", count, rows);
    }
}

pub(super) fn group_ranges(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let Some(rows) = group_rows(array) else {
        return;
    };
    for range in array.doc.attributes.group_ranges.iter().flatten() {
        let at = format!("/attributes/group_ranges/{}", range.group);
        if range.group >= rows {
            problems.add(
                at,
                format_args!("of group {}", range.group),
                format_args!("below {rows}"),
            );
        } else if range.stop < range.start {
            let found = list(&[range.start, range.stop]);
            problems.add(at, found, "a stop that is not below the start");
        }
    }
}

pub(super) fn group_names(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let count = array
        .doc
        .attributes
        .group_names
        .as_ref()
        .and_then(|names| u64::try_from(names.len()).ok());
    if let (Some(rows), Some(count)) = (group_rows(array), count)
        && count > rows
    {
        problems.add(
            "/attributes/group_names",
            format_args!("{count} names"),
            format_args!("at most {rows}"),
        );
    }
}
