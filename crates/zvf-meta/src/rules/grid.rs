//! Rules about grids and presence lists.

use std::collections::BTreeSet;

use super::{ArrayAt, Problem, Rule, list};
use crate::error::quote;
use crate::space::cell;
use crate::text;

/// Rank, if the array and its level agree on it; otherwise rules about single axes report nothing.
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

/// Returns the problems against [`Rule::GridRank`].
#[must_use]
pub fn grid_rank(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let (found, wanted) = (array.doc.shape.len(), array.level.key_rank());
    if array.role.is_chunk_grid() && array.level.root.dims() > 0 && found != wanted {
        problems.add(
            Rule::GridRank,
            "/shape",
            format_args!("of {found} axes"),
            wanted,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::GridExtent`].
#[must_use]
pub fn grid_extent(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array.role.is_chunk_grid() {
        for axis in array
            .doc
            .shape
            .iter()
            .enumerate()
            .filter(|(_, extent)| **extent == 0)
            .map(|(axis, _)| axis)
        {
            problems.add(
                Rule::GridExtent,
                format_args!("/shape/{axis}"),
                0,
                "1 or more",
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::GridOriginLength`].
#[must_use]
pub fn grid_origin_length(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if let (Some(rank), Some(origin)) = (rank(array), &array.doc.attributes.chunk_grid_origin)
        && origin.len() != rank
    {
        let found = format!("of {} numbers", origin.len());
        problems.add(
            Rule::GridOriginLength,
            "/attributes/chunk_grid_origin",
            found,
            rank,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::GridOriginZero`].
#[must_use]
pub fn grid_origin_zero(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let stored = array
        .doc
        .attributes
        .chunk_grid_origin
        .as_ref()
        .filter(|_| array.role.is_chunk_grid());
    if let Some(origin) = stored.filter(|origin| origin.iter().all(|&part| part == 0)) {
        problems.add(
            Rule::GridOriginZero,
            "/attributes/chunk_grid_origin",
            list(origin),
            "absent",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::GridBounds`].
///
/// A note: arrays of a bulk writer have the grid of their data, smaller or larger (trap T6).
#[must_use]
pub fn grid_bounds(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let declared = array.level.root.declared_grid(array.level.doc);
    if let (Some(rank), Ok(declared)) = (rank(array), declared)
        && declared.shape.len() == rank
        && let Some(origin) = origin(array, rank)
        && (origin != declared.origin || array.doc.shape != declared.shape)
    {
        let found = format!("{} from {}", list(&array.doc.shape), list(&origin));
        let expected = format!("{} from {}", list(&declared.shape), list(&declared.origin));
        problems.add(Rule::GridBounds, "/shape", found, expected);
    }
    problems.done()
}

/// Returns the problems against [`Rule::GridSplit`].
#[must_use]
pub fn grid_split(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let level = array.level.doc;
    let values = level
        .chunk_attribute_values
        .as_ref()
        .filter(|values| level.is_attribute_chunked() && !values.is_empty());
    if let (Some(rank), Some(values)) = (rank(array), values) {
        let extent = array.doc.shape.first().copied().unwrap_or_default();
        if u64::try_from(values.len()) != Ok(extent) {
            problems.add(
                Rule::GridSplit,
                "/shape/0",
                extent,
                format_args!("{}, one a value", values.len()),
            );
        }
        let first = origin(array, rank)
            .and_then(|origin| origin.first().copied())
            .unwrap_or_default();
        if first != 0 {
            problems.add(Rule::GridSplit, "/attributes/chunk_grid_origin/0", first, 0);
        }
    }
    problems.done()
}

const LIST: &str = "/attributes/nonempty_chunks";

/// Returns the problems against [`Rule::PresenceThere`].
#[must_use]
pub fn presence_there(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array.role.is_chunk_grid() && array.doc.attributes.nonempty_chunks.is_none() {
        problems.add(
            Rule::PresenceThere,
            LIST,
            "absent",
            "the keys of all cells with a payload",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::PresenceKeys`].
#[must_use]
pub fn presence_keys(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let rank = array.doc.shape.len();
    let mut parts = Vec::with_capacity(rank);
    for (index, key) in array
        .doc
        .attributes
        .nonempty_chunks
        .iter()
        .flatten()
        .enumerate()
    {
        if !text::chunk_key(key, &mut parts) || parts.len() != rank {
            let expected = format!("{rank} plain numbers joined by dots");
            problems.add(
                Rule::PresenceKeys,
                format_args!("{LIST}/{index}"),
                quote(key),
                expected,
            );
            if problems.is_full() {
                break;
            }
        }
    }
    problems.done()
}

/// Returns the first problem against [`Rule::PresenceOrder`]: the reference looks keys up by binary search.
#[must_use]
pub fn presence_order(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let mut before = "";
    for (index, key) in array
        .doc
        .attributes
        .nonempty_chunks
        .iter()
        .flatten()
        .enumerate()
    {
        if key < before {
            let expected = format!("a key behind {} in ASCII order", quote(before));
            problems.add(
                Rule::PresenceOrder,
                format_args!("{LIST}/{index}"),
                quote(key),
                expected,
            );
            break;
        }
        before = key;
    }
    problems.done()
}

/// Returns the problems against [`Rule::PresenceUnique`].
#[must_use]
pub fn presence_unique(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let Some(keys) = array
        .doc
        .attributes
        .nonempty_chunks
        .as_ref()
        .filter(|keys| !keys.is_sorted())
    else {
        return problems.done();
    };
    let mut seen = BTreeSet::new();
    for (index, key) in keys.iter().enumerate() {
        if !seen.insert(key) {
            problems.add(
                Rule::PresenceUnique,
                format_args!("{LIST}/{index}"),
                quote(key),
                "a key of its own",
            );
            if problems.is_full() {
                break;
            }
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::PresenceInGrid`]: reads of such a level fail.
#[must_use]
pub fn presence_in_grid(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let shape = &array.doc.shape;
    let Some(origin) = origin(array, shape.len()) else {
        return problems.done();
    };
    let mut parts = Vec::with_capacity(shape.len());
    for (index, key) in array
        .doc
        .attributes
        .nonempty_chunks
        .iter()
        .flatten()
        .enumerate()
    {
        // What is no key is another rule's.
        if !text::chunk_key(key, &mut parts) || parts.len() != shape.len() {
            continue;
        }
        let mut axes = parts.iter().zip(&origin).zip(shape);
        if axes
            .any(|((&part, &origin), &extent)| extent > 0 && cell(part, origin, extent).is_none())
        {
            let expected = format!("inside {} from {}", list(shape), list(&origin));
            problems.add(
                Rule::PresenceInGrid,
                format_args!("{LIST}/{index}"),
                quote(key),
                expected,
            );
            if problems.is_full() {
                break;
            }
        }
    }
    problems.done()
}
