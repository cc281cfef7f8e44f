//! Rules about level groups and their documents.

use super::problem::{LevelAt, Problem, ProblemList, divides, is_size, list};
use super::table::Rule;
use crate::error::quote;
use crate::text;

const AT: &str = "/attributes/zarr_vectors_level";

/// Reports names of level groups that are not plain decimal numbers, but that a lenient reader would accept (trap T33).
pub(super) fn level_names(levels: &[&str]) -> Vec<Problem> {
    let odd = levels.iter().filter(|name| text::level(name).is_none());
    odd.flat_map(|name| {
        let mut problems = ProblemList::of_document(format!("{name}/zarr.json"));
        let found = format!("in a group {}", quote(name));
        problems
            .of(Rule::LevelName)
            .add("", found, "a plain decimal number");
        problems.list
    })
    .collect()
}

pub(super) fn levels_consecutive(levels: &[&str], problems: &mut ProblemList) {
    let mut numbers: Vec<u32> = levels.iter().filter_map(|name| text::level(name)).collect();
    numbers.sort_unstable();
    let mut pairs = numbers.iter().zip(0..);
    if numbers.is_empty() || !pairs.all(|(&found, wanted)| found == wanted) {
        let found = format!("over levels {}", list(&numbers));
        problems.add("", found, "levels 0, 1, ...");
    }
}

pub(super) fn level_number(level: LevelAt<'_>, problems: &mut ProblemList) {
    if text::level(level.name).is_some_and(|number| number != level.doc.level) {
        problems.add(format_args!("{AT}/level"), level.doc.level, level.name);
    }
}

pub(super) fn level_chunk_length(level: LevelAt<'_>, problems: &mut ProblemList) {
    if let Some(shape) = &level.doc.chunk_shape {
        problems.per_axis(level.root, format_args!("{AT}/chunk_shape"), shape);
    }
}

pub(super) fn level_chunk_positive(level: LevelAt<'_>, problems: &mut ProblemList) {
    if let Some(shape) = &level.doc.chunk_shape {
        problems.positive(format_args!("{AT}/chunk_shape"), shape);
    }
}

pub(super) fn level_chunk_nests(level: LevelAt<'_>, problems: &mut ProblemList) {
    let own = level.doc.chunk_shape.iter().flatten();
    let base = &level.root.zarr_vectors.chunk_shape;
    for (axis, (&own, &base)) in own.zip(base).enumerate() {
        if is_size(own) && base > 0.0 && !divides(own, base) {
            let at = format!("{AT}/chunk_shape/{axis}");
            problems.add(at, own, format_args!("a whole multiple of {base}"));
        }
    }
}

/// Applies only to levels with their own chunk shape: chunks of the root's shape may be smaller than coarse bins, and level 0 has another
/// rule.
pub(super) fn level_chunk_bins(level: LevelAt<'_>, problems: &mut ProblemList) {
    let (Some(chunk), Some(bins)) = (&level.doc.chunk_shape, level.root.bin_shape(level.doc))
    else {
        return;
    };
    for (axis, (&chunk, &bin)) in chunk.iter().zip(&bins).enumerate() {
        if bin > 0.0 && bin <= chunk && chunk.is_finite() && !divides(chunk, bin) {
            let at = format!("{AT}/chunk_shape/{axis}");
            problems.add(at, chunk, format_args!("a whole multiple of the bin {bin}"));
        }
    }
}

pub(super) fn level_parent_absent(level: LevelAt<'_>, problems: &mut ProblemList) {
    if let Some(parent) = level.doc.parent_level.filter(|_| level.doc.level == 0) {
        problems.add(format_args!("{AT}/parent_level"), parent, "null at level 0");
    }
}

pub(super) fn level_parent(level: LevelAt<'_>, problems: &mut ProblemList) {
    let own = level.doc.level;
    if own > 0 && level.doc.parent_level.is_none_or(|parent| parent >= own) {
        let found = level
            .doc
            .parent_level
            .map_or("absent".to_owned(), |parent| parent.to_string());
        problems.add(
            format_args!("{AT}/parent_level"),
            found,
            format_args!("a level below {own}"),
        );
    }
}

pub(super) fn level_sparsity(level: LevelAt<'_>, problems: &mut ProblemList) {
    let sparsity = level.doc.object_sparsity;
    if !(sparsity > 0.0 && sparsity <= 1.0) {
        problems.add(
            format_args!("{AT}/object_sparsity"),
            sparsity,
            "above 0 and at most 1",
        );
    }
}

pub(super) fn level_split_pair(level: LevelAt<'_>, problems: &mut ProblemList) {
    let (absent, present) = match (
        &level.doc.chunk_attribute_name,
        &level.doc.chunk_attribute_values,
    ) {
        (Some(_), None) => ("chunk_attribute_values", "chunk_attribute_name"),
        (None, Some(_)) => ("chunk_attribute_name", "chunk_attribute_values"),
        _ => return,
    };
    problems.add(
        format_args!("{AT}/{absent}"),
        "absent",
        format_args!("present, as {present} is"),
    );
}

pub(super) fn level_split_values(level: LevelAt<'_>, problems: &mut ProblemList) {
    let values = &level.doc.chunk_attribute_values;
    if values.as_ref().is_some_and(Vec::is_empty) {
        let at = format!("{AT}/chunk_attribute_values");
        problems.add(at, "empty", "one value per bin");
    }
}

/// A level that was rechunked by another dimension has that dimension's name first; then only the axes after it are compared.
pub(super) fn level_split_dims(level: LevelAt<'_>, problems: &mut ProblemList) {
    let axes = level.root.axes().iter().map(|axis| axis.name.as_str());
    let name = level.doc.chunk_attribute_name.as_deref();
    let dims: Vec<&str> = match &level.doc.chunk_dims {
        Some(dims) => dims.iter().map(String::as_str).collect(),
        None if name.is_none() => return,
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
        problems.add(format_args!("{AT}/chunk_dims"), list(&dims), expected);
    }
}

pub(super) fn level_preserves_ids(level: LevelAt<'_>, problems: &mut ProblemList) {
    let doc = level.doc;
    // Another rule reports a coarse level without a parent.
    if doc.preserves_object_ids && (doc.level == 0 || doc.inherited_num_objects.is_none()) {
        let found = if doc.level == 0 {
            "true at level 0"
        } else {
            "true without inherited_num_objects"
        };
        let expected = "a coarse level, a parent and the parent's object count";
        problems.add(format_args!("{AT}/preserves_object_ids"), found, expected);
    }
}

pub(super) fn level_bin_length(level: LevelAt<'_>, problems: &mut ProblemList) {
    let doc = level.doc;
    for (member, numbers) in [
        ("bin_shape", &doc.bin_shape),
        ("bin_ratio", &doc.bin_ratio),
        ("bin_size", &doc.bin_size),
    ] {
        if let Some(numbers) = numbers {
            problems.per_axis(level.root, format_args!("{AT}/{member}"), numbers);
        }
    }
}

pub(super) fn level_bin_positive(level: LevelAt<'_>, problems: &mut ProblemList) {
    for (member, sizes) in [
        ("bin_shape", &level.doc.bin_shape),
        ("bin_size", &level.doc.bin_size),
    ] {
        let sizes = sizes.as_deref().unwrap_or_default();
        problems.positive(format_args!("{AT}/{member}"), sizes);
    }
}

pub(super) fn level_bin_ratio(level: LevelAt<'_>, problems: &mut ProblemList) {
    for (axis, &ratio) in level.doc.bin_ratio.iter().flatten().enumerate() {
        if !(ratio >= 1.0 && ratio.is_finite()) {
            problems.add(format_args!("{AT}/bin_ratio/{axis}"), ratio, "1 or more");
        }
    }
}

/// Such a member can remain after a change of the bins of level 0.
pub(super) fn level_zero_bins(level: LevelAt<'_>, problems: &mut ProblemList) {
    if level.doc.level == 0
        && let Some(bins) = level.doc.bin_shape.as_ref().or(level.doc.bin_size.as_ref())
    {
        problems.add(
            format_args!("{AT}/bin_shape"),
            list(bins),
            "absent: bins are in the root",
        );
    }
}

pub(super) fn level_bins_known(level: LevelAt<'_>, problems: &mut ProblemList) {
    let number = level.doc.level;
    let stored = level
        .root
        .level_transform(number)
        .is_some_and(|transform| transform.translation().is_some());
    if number > 0 && !stored && level.doc.bin_shape.is_none() && level.doc.bin_size.is_none() {
        let expected = "a translation in multiscales, or a bin shape here";
        problems.add(format_args!("{AT}/bin_shape"), "absent", expected);
    }
}
