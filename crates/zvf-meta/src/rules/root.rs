//! Rules about `zarr_vectors` of the root document.

use super::{Problem, Problems, Rule, divides, list};
use crate::capabilities;
use crate::error::quote;
use crate::names::{
    CrossChunkStrategy, CrossLevelStorage, Kind, LinksConvention, ObjectIndexConvention,
};
use crate::root::RootDoc;
use crate::version::{EXPECTED, Gate, gate};

const AT: &str = "/attributes/zarr_vectors";

/// Returns the problems against [`Rule::Version`].
#[must_use]
pub fn version(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let text = &root.zarr_vectors.zv_version;
    if !gate(text).is_open() {
        problems.add(
            Rule::Version,
            format_args!("{AT}/zv_version"),
            quote(text),
            EXPECTED,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::VersionNewer`].
#[must_use]
pub fn version_newer(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Gate::Newer(version) = root.gate() {
        problems.add(
            Rule::VersionNewer,
            format_args!("{AT}/zv_version"),
            version,
            EXPECTED,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::RequiredCapabilities`].
#[must_use]
pub fn required_capabilities(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    for (index, token) in root.zarr_vectors.required_capabilities.iter().enumerate() {
        if !capabilities::find(token).is_some_and(|known| known.supported) {
            let at = format!("{AT}/required_capabilities/{index}");
            problems.add(
                Rule::RequiredCapabilities,
                at,
                quote(token),
                "a known capability",
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::Capabilities`].
#[must_use]
pub fn capabilities(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    for (index, token) in root.zarr_vectors.format_capabilities.iter().enumerate() {
        if capabilities::find(token).is_none() {
            let at = format!("{AT}/format_capabilities/{index}");
            problems.add(Rule::Capabilities, at, quote(token), "a known capability");
        }
    }
    problems.done()
}

/// Checks for one number for each axis. Without axes nothing is compared; [`Rule::AxesPresent`] reports that.
fn length(problems: &mut Problems, rule: Rule, root: &RootDoc, at: &str, found: usize) {
    let dims = root.dims();
    if dims > 0 && found != dims {
        problems.add(
            rule,
            format_args!("{AT}/{at}"),
            format_args!("of {found} numbers"),
            format_args!("{dims}, one an axis"),
        );
    }
}

fn positive(problems: &mut Problems, rule: Rule, at: &str, sizes: &[f64]) {
    for (axis, &size) in sizes.iter().enumerate() {
        if !(size > 0.0 && size.is_finite()) {
            problems.add(
                rule,
                format_args!("{AT}/{at}/{axis}"),
                size,
                "a finite size above 0",
            );
        }
    }
}

/// Returns the problems against [`Rule::ChunkShapeLength`].
#[must_use]
pub fn chunk_shape_length(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    length(
        &mut problems,
        Rule::ChunkShapeLength,
        root,
        "chunk_shape",
        root.zarr_vectors.chunk_shape.len(),
    );
    problems.done()
}

/// Returns the problems against [`Rule::ChunkShapePositive`].
#[must_use]
pub fn chunk_shape_positive(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    positive(
        &mut problems,
        Rule::ChunkShapePositive,
        "chunk_shape",
        &root.zarr_vectors.chunk_shape,
    );
    problems.done()
}

/// Returns the problems against [`Rule::BoundsLength`].
#[must_use]
pub fn bounds_length(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let (lo, hi) = &root.zarr_vectors.bounds;
    length(
        &mut problems,
        Rule::BoundsLength,
        root,
        "bounds/0",
        lo.len(),
    );
    length(
        &mut problems,
        Rule::BoundsLength,
        root,
        "bounds/1",
        hi.len(),
    );
    problems.done()
}

/// Returns the problems against [`Rule::BoundsOrder`].
#[must_use]
pub fn bounds_order(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let (lo, hi) = &root.zarr_vectors.bounds;
    for (axis, (&lo, &hi)) in lo.iter().zip(hi).enumerate() {
        if !lo.is_finite() {
            problems.add(
                Rule::BoundsOrder,
                format_args!("{AT}/bounds/0/{axis}"),
                lo,
                "a finite number",
            );
        } else if !(lo <= hi && hi.is_finite()) {
            problems.add(
                Rule::BoundsOrder,
                format_args!("{AT}/bounds/1/{axis}"),
                hi,
                format_args!("{lo} or more"),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::GeometryPresent`].
#[must_use]
pub fn geometry_present(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if root.zarr_vectors.geometry_types.is_empty() {
        problems.add(
            Rule::GeometryPresent,
            format_args!("{AT}/geometry_types"),
            "empty",
            Kind::EXPECTED,
        );
    }
    problems.done()
}

fn unknown_kinds(root: &RootDoc, rule: Rule, skip: usize, take: usize) -> Vec<Problem> {
    let mut problems = Problems::root();
    for (index, name) in root
        .zarr_vectors
        .geometry_types
        .iter()
        .enumerate()
        .skip(skip)
        .take(take)
    {
        if Kind::from_name(name).is_none() {
            problems.add(
                rule,
                format_args!("{AT}/geometry_types/{index}"),
                quote(name),
                Kind::EXPECTED,
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::GeometryFirst`].
#[must_use]
pub fn geometry_first(root: &RootDoc) -> Vec<Problem> {
    unknown_kinds(root, Rule::GeometryFirst, 0, 1)
}

/// Returns the problems against [`Rule::GeometryKnown`].
#[must_use]
pub fn geometry_known(root: &RootDoc) -> Vec<Problem> {
    unknown_kinds(root, Rule::GeometryKnown, 1, usize::MAX)
}

fn word(
    rule: Rule,
    at: &str,
    word: Option<&String>,
    known: fn(&str) -> bool,
    expected: &str,
) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(word) = word.filter(|word| !known(word)) {
        problems.add(rule, format_args!("{AT}/{at}"), quote(word), expected);
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinksConvention`].
#[must_use]
pub fn links_convention(root: &RootDoc) -> Vec<Problem> {
    word(
        Rule::LinksConvention,
        "links_convention",
        root.zarr_vectors.links_convention.as_ref(),
        |word| LinksConvention::from_name(word).is_some(),
        LinksConvention::EXPECTED,
    )
}

/// Returns the problems against [`Rule::LinksConventionFits`].
///
/// Only the first kind is checked: it decides how the store is read, and later writers do not change the convention. A
/// store without a convention has no typed data yet.
#[must_use]
pub fn links_convention_fits(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
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
        problems.add(
            Rule::LinksConventionFits,
            format_args!("{AT}/links_convention"),
            quote(word),
            expected,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::ObjectIndexConvention`].
#[must_use]
pub fn object_index_convention(root: &RootDoc) -> Vec<Problem> {
    word(
        Rule::ObjectIndexConvention,
        "object_index_convention",
        root.zarr_vectors.object_index_convention.as_ref(),
        |word| ObjectIndexConvention::from_name(word).is_some(),
        ObjectIndexConvention::EXPECTED,
    )
}

/// Returns the problems against [`Rule::CrossChunkStrategy`].
#[must_use]
pub fn cross_chunk_strategy(root: &RootDoc) -> Vec<Problem> {
    word(
        Rule::CrossChunkStrategy,
        "cross_chunk_strategy",
        root.zarr_vectors.cross_chunk_strategy.as_ref(),
        |word| CrossChunkStrategy::from_name(word).is_some(),
        CrossChunkStrategy::EXPECTED,
    )
}

/// Returns the problems against [`Rule::CrossLevelStorage`].
#[must_use]
pub fn cross_level_storage(root: &RootDoc) -> Vec<Problem> {
    word(
        Rule::CrossLevelStorage,
        "cross_level_storage",
        root.zarr_vectors.cross_level_storage.as_ref(),
        |word| CrossLevelStorage::from_name(word).is_some(),
        CrossLevelStorage::EXPECTED,
    )
}

/// Returns the problems against [`Rule::CrossLevelDepth`].
#[must_use]
pub fn cross_level_depth(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(depth) = root
        .zarr_vectors
        .cross_level_depth
        .filter(|&depth| depth < -1)
    {
        problems.add(
            Rule::CrossLevelDepth,
            format_args!("{AT}/cross_level_depth"),
            depth,
            "-1 or more",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::ReductionFactor`].
#[must_use]
pub fn reduction_factor(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(factor) = root
        .zarr_vectors
        .reduction_factor
        .filter(|&factor| factor < 2)
    {
        problems.add(
            Rule::ReductionFactor,
            format_args!("{AT}/reduction_factor"),
            factor,
            "2 or more",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::BinShapeLength`].
#[must_use]
pub fn bin_shape_length(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(bins) = &root.zarr_vectors.base_bin_shape {
        length(
            &mut problems,
            Rule::BinShapeLength,
            root,
            "base_bin_shape",
            bins.len(),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::BinShapePositive`].
#[must_use]
pub fn bin_shape_positive(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let bins = root
        .zarr_vectors
        .base_bin_shape
        .as_deref()
        .unwrap_or_default();
    positive(
        &mut problems,
        Rule::BinShapePositive,
        "base_bin_shape",
        bins,
    );
    problems.done()
}

/// Returns the problems against [`Rule::BinsDivideChunk`].
#[must_use]
pub fn bins_divide_chunk(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let bins = root
        .zarr_vectors
        .base_bin_shape
        .as_deref()
        .unwrap_or_default();
    for (axis, (&bin, &chunk)) in bins.iter().zip(&root.zarr_vectors.chunk_shape).enumerate() {
        // Sizes that are no sizes are another rule's.
        if bin > 0.0 && bin.is_finite() && chunk > 0.0 && chunk.is_finite() && !divides(chunk, bin)
        {
            let at = format!("{AT}/base_bin_shape/{axis}");
            problems.add(
                Rule::BinsDivideChunk,
                at,
                bin,
                format_args!("a divisor of the chunk size {chunk}"),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::CoordinateOffset`].
#[must_use]
pub fn coordinate_offset(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(offset) = &root.zarr_vectors.coordinate_offset {
        length(
            &mut problems,
            Rule::CoordinateOffset,
            root,
            "coordinate_offset",
            offset.len(),
        );
        if !offset.iter().all(|part| part.is_finite()) {
            let at = format!("{AT}/coordinate_offset");
            problems.add(Rule::CoordinateOffset, at, list(offset), "finite numbers");
        }
    }
    problems.done()
}
