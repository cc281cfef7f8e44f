//! Rules about level groups and their documents.

use super::{LevelAt, Problem, Problems, Rule, divides, list};
use crate::error::quote;
use crate::root::RootDoc;
use crate::text;

const AT: &str = "/attributes/zarr_vectors_level";

/// Returns the problems against [`Rule::LevelName`], for the given names of level groups: those that a lenient
/// reader would accept as a number (trap T33).
#[must_use]
pub fn level_names(_: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    let mut list = Vec::new();
    for name in levels.iter().filter(|name| text::level(name).is_none()) {
        let mut problems = Problems::of(format!("{name}/zarr.json"));
        problems.add(
            Rule::LevelName,
            "",
            format_args!("in a group {}", quote(name)),
            "a plain decimal number",
        );
        list.extend(problems.done());
    }
    list
}

/// Returns the problems against [`Rule::LevelsConsecutive`], for the given names of level groups.
#[must_use]
pub fn levels_consecutive(_: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    let mut problems = Problems::root();
    let mut numbers: Vec<u32> = levels.iter().filter_map(|name| text::level(name)).collect();
    numbers.sort_unstable();
    if numbers.is_empty()
        || !numbers
            .iter()
            .zip(0..)
            .all(|(&found, wanted)| found == wanted)
    {
        problems.add(
            Rule::LevelsConsecutive,
            "",
            format_args!("over levels {}", list(&numbers)),
            "levels 0, 1, ...",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelNumber`].
#[must_use]
pub fn level_number(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    if text::level(level.name).is_some_and(|number| number != level.doc.level) {
        problems.add(
            Rule::LevelNumber,
            format_args!("{AT}/level"),
            level.doc.level,
            level.name,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelChunkLength`].
#[must_use]
pub fn level_chunk_length(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let dims = level.root.dims();
    if let Some(shape) = level
        .doc
        .chunk_shape
        .as_ref()
        .filter(|shape| dims > 0 && shape.len() != dims)
    {
        let found = format!("of {} numbers", shape.len());
        problems.add(
            Rule::LevelChunkLength,
            format_args!("{AT}/chunk_shape"),
            found,
            format_args!("{dims}, one an axis"),
        );
    }
    problems.done()
}

fn positive(
    level: LevelAt<'_>,
    rule: Rule,
    member: &str,
    sizes: Option<&Vec<f64>>,
) -> Vec<Problem> {
    let mut problems = level.problems();
    for (axis, &size) in sizes.into_iter().flatten().enumerate() {
        if !(size > 0.0 && size.is_finite()) {
            problems.add(
                rule,
                format_args!("{AT}/{member}/{axis}"),
                size,
                "a finite size above 0",
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelChunkPositive`].
#[must_use]
pub fn level_chunk_positive(level: LevelAt<'_>) -> Vec<Problem> {
    positive(
        level,
        Rule::LevelChunkPositive,
        "chunk_shape",
        level.doc.chunk_shape.as_ref(),
    )
}

/// Returns the problems against [`Rule::LevelChunkNests`].
#[must_use]
pub fn level_chunk_nests(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let own = level.doc.chunk_shape.as_deref().unwrap_or_default();
    for (axis, (&own, &base)) in own
        .iter()
        .zip(&level.root.zarr_vectors.chunk_shape)
        .enumerate()
    {
        if own > 0.0 && own.is_finite() && base > 0.0 && !divides(own, base) {
            let at = format!("{AT}/chunk_shape/{axis}");
            problems.add(
                Rule::LevelChunkNests,
                at,
                own,
                format_args!("a whole multiple of {base}"),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelChunkBins`].
///
/// Only the level's own chunk shape is checked; chunks of the root's size may be smaller than coarse bins, and
/// another rule checks those of level 0.
#[must_use]
pub fn level_chunk_bins(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let (Some(chunk), Some(bins)) = (&level.doc.chunk_shape, level.root.bin_shape(level.doc))
    else {
        return problems.done();
    };
    for (axis, (&chunk, &bin)) in chunk.iter().zip(&bins).enumerate() {
        if bin > 0.0 && bin <= chunk && chunk.is_finite() && !divides(chunk, bin) {
            let at = format!("{AT}/chunk_shape/{axis}");
            problems.add(
                Rule::LevelChunkBins,
                at,
                chunk,
                format_args!("a whole multiple of the bin {bin}"),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelParentAbsent`].
#[must_use]
pub fn level_parent_absent(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    if let Some(parent) = level.doc.parent_level.filter(|_| level.doc.level == 0) {
        problems.add(
            Rule::LevelParentAbsent,
            format_args!("{AT}/parent_level"),
            parent,
            "null at level 0",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelParent`].
#[must_use]
pub fn level_parent(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let own = level.doc.level;
    if own > 0 && level.doc.parent_level.is_none_or(|parent| parent >= own) {
        let found = level
            .doc
            .parent_level
            .map_or("absent".to_owned(), |parent| parent.to_string());
        problems.add(
            Rule::LevelParent,
            format_args!("{AT}/parent_level"),
            found,
            format_args!("a level below {own}"),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelSparsity`].
#[must_use]
pub fn level_sparsity(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let sparsity = level.doc.object_sparsity;
    if !(sparsity > 0.0 && sparsity <= 1.0) {
        problems.add(
            Rule::LevelSparsity,
            format_args!("{AT}/object_sparsity"),
            sparsity,
            "above 0 and at most 1",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelSplitPair`].
#[must_use]
pub fn level_split_pair(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let (absent, present) = match (
        &level.doc.chunk_attribute_name,
        &level.doc.chunk_attribute_values,
    ) {
        (Some(_), None) => ("chunk_attribute_values", "chunk_attribute_name"),
        (None, Some(_)) => ("chunk_attribute_name", "chunk_attribute_values"),
        _ => return problems.done(),
    };
    problems.add(
        Rule::LevelSplitPair,
        format_args!("{AT}/{absent}"),
        "absent",
        format_args!("there as {present} is"),
    );
    problems.done()
}

/// Returns the problems against [`Rule::LevelSplitValues`].
#[must_use]
pub fn level_split_values(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    if level
        .doc
        .chunk_attribute_values
        .as_ref()
        .is_some_and(Vec::is_empty)
    {
        problems.add(
            Rule::LevelSplitValues,
            format_args!("{AT}/chunk_attribute_values"),
            "empty",
            "one value a bin",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelSplitDims`].
///
/// In a level rechunked by another dimension the first name is that dimension; only the axes after it are checked then.
#[must_use]
pub fn level_split_dims(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let axes = level.root.axes().iter().map(|axis| axis.name.as_str());
    let name = level.doc.chunk_attribute_name.as_deref();
    let dims: Vec<&str> = match &level.doc.chunk_dims {
        Some(dims) => dims.iter().map(String::as_str).collect(),
        None if name.is_none() => return problems.done(),
        None => Vec::new(),
    };
    let first = name.or(dims.first().copied());
    if level.root.dims() > 0
        && !dims
            .iter()
            .copied()
            .eq(first.into_iter().chain(axes.clone()))
    {
        let expected: Vec<&str> = first.into_iter().chain(axes).collect();
        let expected = format!("[{}]", expected.join(", "));
        problems.add(
            Rule::LevelSplitDims,
            format_args!("{AT}/chunk_dims"),
            list(&dims),
            expected,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelPreservesIds`].
#[must_use]
pub fn level_preserves_ids(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let doc = level.doc;
    // A coarse level without any parent is another rule's.
    if doc.preserves_object_ids && (doc.level == 0 || doc.inherited_num_objects.is_none()) {
        let found = if doc.level == 0 {
            "true at level 0"
        } else {
            "true without inherited_num_objects"
        };
        let expected = "a coarse level, a parent and the parent's object count";
        problems.add(
            Rule::LevelPreservesIds,
            format_args!("{AT}/preserves_object_ids"),
            found,
            expected,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelBinLength`].
#[must_use]
pub fn level_bin_length(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let dims = level.root.dims();
    let doc = level.doc;
    for (member, numbers) in [
        ("bin_shape", &doc.bin_shape),
        ("bin_ratio", &doc.bin_ratio),
        ("bin_size", &doc.bin_size),
    ] {
        if let Some(numbers) = numbers
            .as_ref()
            .filter(|numbers| dims > 0 && numbers.len() != dims)
        {
            let found = format!("of {} numbers", numbers.len());
            problems.add(
                Rule::LevelBinLength,
                format_args!("{AT}/{member}"),
                found,
                format_args!("{dims}, one an axis"),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelBinPositive`].
#[must_use]
pub fn level_bin_positive(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = positive(
        level,
        Rule::LevelBinPositive,
        "bin_shape",
        level.doc.bin_shape.as_ref(),
    );
    problems.extend(positive(
        level,
        Rule::LevelBinPositive,
        "bin_size",
        level.doc.bin_size.as_ref(),
    ));
    problems
}

/// Returns the problems against [`Rule::LevelBinRatio`].
#[must_use]
pub fn level_bin_ratio(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    for (axis, &ratio) in level.doc.bin_ratio.iter().flatten().enumerate() {
        if !(ratio >= 1.0 && ratio.is_finite()) {
            problems.add(
                Rule::LevelBinRatio,
                format_args!("{AT}/bin_ratio/{axis}"),
                ratio,
                "1 or more",
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelZeroBins`]: rebinning leaves a stale one.
#[must_use]
pub fn level_zero_bins(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    if level.doc.level == 0
        && let Some(bins) = level.doc.bin_shape.as_ref().or(level.doc.bin_size.as_ref())
    {
        problems.add(
            Rule::LevelZeroBins,
            format_args!("{AT}/bin_shape"),
            list(bins),
            "absent: bins are in the root",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LevelBinsKnown`].
#[must_use]
pub fn level_bins_known(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    let number = level.doc.level;
    let stored = level
        .root
        .level_transform(number)
        .is_some_and(|transform| transform.translation().is_some());
    if number > 0 && !stored && level.doc.bin_shape.is_none() && level.doc.bin_size.is_none() {
        let expected = "a translation in multiscales, or a bin shape here";
        problems.add(
            Rule::LevelBinsKnown,
            format_args!("{AT}/bin_shape"),
            "absent",
            expected,
        );
    }
    problems.done()
}
