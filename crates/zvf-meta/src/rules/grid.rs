//! Rules about grids and presence lists.

use std::collections::BTreeSet;

use super::problem::{ArrayAt, ProblemList, list};
use crate::error::quote;
use crate::space::cell;
use crate::text;

/// The keys of the presence list.
fn keys(array: ArrayAt<'_>) -> impl Iterator<Item = &str> {
    array.doc.attributes.nonempty_chunks.iter().flatten()
}

/// The rank, if the array and its level agree on it; otherwise rules about single axes report
/// nothing.
fn rank(array: ArrayAt<'_>) -> Option<usize> {
    let rank = array.level.key_rank();
    (array.role.is_chunk_grid() && array.doc.shape.len() == rank).then_some(rank)
}

/// The origin as stored, zeros if absent; `None` if its length is wrong.
fn origin(array: ArrayAt<'_>, rank: usize) -> Option<Vec<i64>> {
    match &array.doc.attributes.chunk_grid_origin {
        None => Some(vec![0; rank]),
        Some(origin) => (origin.len() == rank).then(|| origin.clone()),
    }
}

pub(super) fn grid_rank(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let (found, wanted) = (array.doc.shape.len(), array.level.key_rank());
    if array.role.is_chunk_grid() && array.level.root.dims() > 0 && found != wanted {
        problems.add("/shape", format_args!("of {found} axes"), wanted);
    }
}

pub(super) fn grid_extent(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role.is_chunk_grid() {
        for axis in array
            .doc
            .shape
            .iter()
            .enumerate()
            .filter(|(_, extent)| **extent == 0)
            .map(|(axis, _)| axis)
        {
            problems.add(format_args!("/shape/{axis}"), 0, "1 or more");
        }
    }
}

pub(super) fn grid_origin_length(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let (Some(rank), Some(origin)) = (rank(array), &array.doc.attributes.chunk_grid_origin)
        && origin.len() != rank
    {
        let found = format!("of {} numbers", origin.len());
        problems.add("/attributes/chunk_grid_origin", found, rank);
    }
}

pub(super) fn grid_origin_zero(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let stored = array
        .doc
        .attributes
        .chunk_grid_origin
        .as_ref()
        .filter(|_| array.role.is_chunk_grid());
    if let Some(origin) = stored.filter(|origin| origin.iter().all(|&part| part == 0)) {
        problems.add("/attributes/chunk_grid_origin", list(origin), "absent");
    }
}

/// Only a note: the grid of a bulk writer fits the data, and may be smaller or larger than declared (trap T6).
pub(super) fn grid_bounds(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let declared = array.level.root.declared_grid(array.level.doc);
    if let (Some(rank), Ok(declared)) = (rank(array), declared)
        && declared.shape.len() == rank
        && let Some(origin) = origin(array, rank)
        && (origin != declared.origin || array.doc.shape != declared.shape)
    {
        let found = format!("{} from {}", list(&array.doc.shape), list(&origin));
        let expected = format!("{} from {}", list(&declared.shape), list(&declared.origin));
        problems.add("/shape", found, expected);
    }
}

pub(super) fn grid_split(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let level = array.level.doc;
    let values = level
        .chunk_attribute_values
        .as_ref()
        .filter(|values| level.is_attribute_chunked() && !values.is_empty());
    if let (Some(rank), Some(values)) = (rank(array), values) {
        let extent = array.doc.shape.first().copied().unwrap_or_default();
        if u64::try_from(values.len()) != Ok(extent) {
            problems.add(
                "/shape/0",
                extent,
                format_args!("{}, one per value", values.len()),
            );
        }
        let first = origin(array, rank)
            .and_then(|origin| origin.first().copied())
            .unwrap_or_default();
        if first != 0 {
            problems.add("/attributes/chunk_grid_origin/0", first, 0);
        }
    }
}

const LIST: &str = "/attributes/nonempty_chunks";

pub(super) fn presence_there(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.role.is_chunk_grid() && array.doc.attributes.nonempty_chunks.is_none() {
        problems.add(LIST, "absent", "the keys of all cells with a payload");
    }
}

pub(super) fn presence_keys(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let rank = array.doc.shape.len();
    let mut parts = Vec::with_capacity(rank);
    for (index, key) in keys(array).enumerate() {
        if !text::chunk_key(key, &mut parts) || parts.len() != rank {
            let expected = format!("{rank} plain numbers joined by dots");
            problems.add(format_args!("{LIST}/{index}"), quote(key), expected);
            if problems.is_full() {
                break;
            }
        }
    }
}

/// Only the first violation is reported. The reference looks keys up by binary search.
pub(super) fn presence_order(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let mut before = "";
    for (index, key) in keys(array).enumerate() {
        if key < before {
            let expected = format!("a key after {} in ASCII order", quote(before));
            problems.add(format_args!("{LIST}/{index}"), quote(key), expected);
            break;
        }
        before = key;
    }
}

pub(super) fn presence_unique(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let Some(keys) = array
        .doc
        .attributes
        .nonempty_chunks
        .as_ref()
        .filter(|keys| !keys.is_sorted())
    else {
        return;
    };
    let mut seen = BTreeSet::new();
    for (index, key) in keys.iter().enumerate() {
        if !seen.insert(key) {
            problems.add(
                format_args!("{LIST}/{index}"),
                quote(key),
                "a key that is listed once",
            );
            if problems.is_full() {
                break;
            }
        }
    }
}

/// Reading a level fails if a key is outside the grid.
pub(super) fn presence_in_grid(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let shape = &array.doc.shape;
    let Some(origin) = origin(array, shape.len()) else {
        return;
    };
    let mut parts = Vec::with_capacity(shape.len());
    for (index, key) in keys(array).enumerate() {
        // Another rule reports malformed keys.
        if !text::chunk_key(key, &mut parts) || parts.len() != shape.len() {
            continue;
        }
        let mut axes = parts.iter().zip(&origin).zip(shape);
        if axes
            .any(|((&part, &origin), &extent)| extent > 0 && cell(part, origin, extent).is_none())
        {
            let expected = format!("inside {} from {}", list(shape), list(&origin));
            problems.add(format_args!("{LIST}/{index}"), quote(key), expected);
            if problems.is_full() {
                break;
            }
        }
    }
}
