//! Rules about `zarr_vectors` of the root document.

use std::ops::RangeBounds;

use super::problem::{ProblemList, divides, is_size, list};
use crate::capabilities;
use crate::error::quote;
use crate::names::{
    CrossChunkStrategy, CrossLevelStorage, Kind, LinksConvention, ObjectIndexConvention,
};
use crate::root::RootDoc;
use crate::version::{EXPECTED, Gate, gate};

const AT: &str = "/attributes/zarr_vectors";

pub(super) fn version(root: &RootDoc, problems: &mut ProblemList) {
    let text = &root.zarr_vectors.zv_version;
    if !gate(text).is_open() {
        problems.add(format_args!("{AT}/zv_version"), quote(text), EXPECTED);
    }
}

pub(super) fn version_newer(root: &RootDoc, problems: &mut ProblemList) {
    if let Gate::Newer(version) = root.gate() {
        problems.add(format_args!("{AT}/zv_version"), version, EXPECTED);
    }
}

pub(super) fn required_capabilities(root: &RootDoc, problems: &mut ProblemList) {
    for (index, token) in root.zarr_vectors.required_capabilities.iter().enumerate() {
        if !capabilities::find(token).is_some_and(|known| known.supported) {
            let at = format!("{AT}/required_capabilities/{index}");
            problems.add(at, quote(token), "a capability that this reader supports");
        }
    }
}

pub(super) fn capabilities(root: &RootDoc, problems: &mut ProblemList) {
    for (index, token) in root.zarr_vectors.format_capabilities.iter().enumerate() {
        if capabilities::find(token).is_none() {
            let at = format!("{AT}/format_capabilities/{index}");
            problems.add(at, quote(token), "a known capability");
        }
    }
}

pub(super) fn chunk_shape_length(root: &RootDoc, problems: &mut ProblemList) {
    let shape = &root.zarr_vectors.chunk_shape;
    problems.per_axis(root, format_args!("{AT}/chunk_shape"), shape);
}

pub(super) fn chunk_shape_positive(root: &RootDoc, problems: &mut ProblemList) {
    let shape = &root.zarr_vectors.chunk_shape;
    problems.positive(format_args!("{AT}/chunk_shape"), shape);
}

pub(super) fn bounds_length(root: &RootDoc, problems: &mut ProblemList) {
    let (lo, hi) = &root.zarr_vectors.bounds;
    problems.per_axis(root, format_args!("{AT}/bounds/0"), lo);
    problems.per_axis(root, format_args!("{AT}/bounds/1"), hi);
}

pub(super) fn bounds_order(root: &RootDoc, problems: &mut ProblemList) {
    let (lo, hi) = &root.zarr_vectors.bounds;
    for (axis, (&lo, &hi)) in lo.iter().zip(hi).enumerate() {
        if !lo.is_finite() {
            problems.add(format_args!("{AT}/bounds/0/{axis}"), lo, "a finite number");
        } else if !(lo <= hi && hi.is_finite()) {
            problems.add(
                format_args!("{AT}/bounds/1/{axis}"),
                hi,
                format_args!("{lo} or more"),
            );
        }
    }
}

pub(super) fn geometry_present(root: &RootDoc, problems: &mut ProblemList) {
    if root.zarr_vectors.geometry_types.is_empty() {
        problems.add(format_args!("{AT}/geometry_types"), "empty", Kind::EXPECTED);
    }
}

fn unknown_kinds(root: &RootDoc, among: impl RangeBounds<usize>, problems: &mut ProblemList) {
    let kinds = root.zarr_vectors.geometry_types.iter().enumerate();
    for (index, name) in kinds.filter(|(index, _)| among.contains(index)) {
        if Kind::from_name(name).is_none() {
            let at = format!("{AT}/geometry_types/{index}");
            problems.add(at, quote(name), Kind::EXPECTED);
        }
    }
}

pub(super) fn geometry_first(root: &RootDoc, problems: &mut ProblemList) {
    unknown_kinds(root, ..1, problems);
}

pub(super) fn geometry_known(root: &RootDoc, problems: &mut ProblemList) {
    unknown_kinds(root, 1.., problems);
}

/// Checks that a name, if present, belongs to the closed set of its member.
fn word<T>(
    at: &str,
    word: Option<&String>,
    from_name: fn(&str) -> Option<T>,
    expected: &str,
    problems: &mut ProblemList,
) {
    if let Some(word) = word.filter(|word| from_name(word).is_none()) {
        problems.add(format_args!("{AT}/{at}"), quote(word), expected);
    }
}

pub(super) fn links_convention(root: &RootDoc, problems: &mut ProblemList) {
    let found = root.zarr_vectors.links_convention.as_ref();
    let expected = LinksConvention::EXPECTED;
    word(
        "links_convention",
        found,
        LinksConvention::from_name,
        expected,
        problems,
    );
}

/// Only the first kind counts, because it decides how the store is read; later writers do not change the
/// convention. A store without a convention has no typed data yet.
pub(super) fn links_convention_fits(root: &RootDoc, problems: &mut ProblemList) {
    if let (Some(word), Ok(convention), Ok(kind)) = (
        &root.zarr_vectors.links_convention,
        root.links_convention(),
        root.kind(),
    ) && !kind.allows(convention)
    {
        let allowed: Vec<_> = LinksConvention::ALL
            .iter()
            .filter(|&&one| kind.allows(one))
            .map(|one| one.name())
            .collect();
        let expected = format!("{} for a {kind}", allowed.join(" or "));
        problems.add(format_args!("{AT}/links_convention"), quote(word), expected);
    }
}

pub(super) fn object_index_convention(root: &RootDoc, problems: &mut ProblemList) {
    let found = root.zarr_vectors.object_index_convention.as_ref();
    let expected = ObjectIndexConvention::EXPECTED;
    word(
        "object_index_convention",
        found,
        ObjectIndexConvention::from_name,
        expected,
        problems,
    );
}

pub(super) fn cross_chunk_strategy(root: &RootDoc, problems: &mut ProblemList) {
    let found = root.zarr_vectors.cross_chunk_strategy.as_ref();
    let expected = CrossChunkStrategy::EXPECTED;
    word(
        "cross_chunk_strategy",
        found,
        CrossChunkStrategy::from_name,
        expected,
        problems,
    );
}

pub(super) fn cross_level_storage(root: &RootDoc, problems: &mut ProblemList) {
    let found = root.zarr_vectors.cross_level_storage.as_ref();
    let expected = CrossLevelStorage::EXPECTED;
    word(
        "cross_level_storage",
        found,
        CrossLevelStorage::from_name,
        expected,
        problems,
    );
}

pub(super) fn cross_level_depth(root: &RootDoc, problems: &mut ProblemList) {
    let depth = root.zarr_vectors.cross_level_depth;
    if let Some(depth) = depth.filter(|&depth| depth < -1) {
        problems.add(format_args!("{AT}/cross_level_depth"), depth, "-1 or more");
    }
}

pub(super) fn reduction_factor(root: &RootDoc, problems: &mut ProblemList) {
    let factor = root.zarr_vectors.reduction_factor;
    if let Some(factor) = factor.filter(|&factor| factor < 2) {
        problems.add(format_args!("{AT}/reduction_factor"), factor, "2 or more");
    }
}

pub(super) fn bin_shape_length(root: &RootDoc, problems: &mut ProblemList) {
    if let Some(bins) = &root.zarr_vectors.base_bin_shape {
        problems.per_axis(root, format_args!("{AT}/base_bin_shape"), bins);
    }
}

pub(super) fn bin_shape_positive(root: &RootDoc, problems: &mut ProblemList) {
    if let Some(bins) = &root.zarr_vectors.base_bin_shape {
        problems.positive(format_args!("{AT}/base_bin_shape"), bins);
    }
}

pub(super) fn bins_divide_chunk(root: &RootDoc, problems: &mut ProblemList) {
    let bins = root.zarr_vectors.base_bin_shape.iter().flatten();
    for (axis, (&bin, &chunk)) in bins.zip(&root.zarr_vectors.chunk_shape).enumerate() {
        // Another rule reports invalid sizes.
        if is_size(bin) && is_size(chunk) && !divides(chunk, bin) {
            let at = format!("{AT}/base_bin_shape/{axis}");
            problems.add(at, bin, format_args!("a divisor of the chunk size {chunk}"));
        }
    }
}

pub(super) fn coordinate_offset(root: &RootDoc, problems: &mut ProblemList) {
    if let Some(offset) = &root.zarr_vectors.coordinate_offset {
        let at = format!("{AT}/coordinate_offset");
        problems.per_axis(root, &at, offset);
        if !offset.iter().all(|part| part.is_finite()) {
            problems.add(at, list(offset), "finite numbers");
        }
    }
}
