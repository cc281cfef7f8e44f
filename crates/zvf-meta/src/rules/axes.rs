//! Rules about `multiscales`: axes and level transforms.

use std::collections::BTreeSet;

use super::problem::{ProblemList, close, is_size, list};
use crate::error::{describe, quote};
use crate::multiscales::{Dataset, Multiscale, Transform};
use crate::root::RootDoc;
use crate::text;

const AT: &str = "/attributes/multiscales";

pub(super) fn multiscales_single(root: &RootDoc, problems: &mut ProblemList) {
    let count = root.multiscales.entries.len();
    // Without entries there are no axes, which another rule reports.
    if count > 1 {
        problems.add(AT, format_args!("of {count} entries"), "1 entry");
    }
}

pub(super) fn multiscales_format(root: &RootDoc, problems: &mut ProblemList) {
    if let Some(entry) = root.multiscales.entries.first() {
        let version = entry.version.as_deref().unwrap_or("absent");
        if version != "0.4" {
            problems.add(format_args!("{AT}/0/version"), quote(version), "\"0.4\"");
        }
        let format = entry
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get("format")?.as_str())
            .unwrap_or("absent");
        if format != "zarr_vectors" {
            let at = format!("{AT}/0/metadata/format");
            problems.add(at, quote(format), "\"zarr_vectors\"");
        }
    }
}

pub(super) fn axes_present(root: &RootDoc, problems: &mut ProblemList) {
    if root.dims() == 0 {
        problems.add(format_args!("{AT}/0/axes"), "empty", "one entry per axis");
    }
}

/// A warning: stores with one axis exist and are read (trap T32).
pub(super) fn axes_count(root: &RootDoc, problems: &mut ProblemList) {
    if root.dims() == 1 {
        problems.add(format_args!("{AT}/0/axes"), "of 1 axis", "2 or more");
    }
}

pub(super) fn axes_space(root: &RootDoc, problems: &mut ProblemList) {
    let space = root
        .axes()
        .iter()
        .filter(|axis| axis.kind() == "space")
        .count();
    if root.dims() >= 2 && space < 2 {
        let found = format!("with {space} axes of type space");
        problems.add(format_args!("{AT}/0/axes"), found, "2 or more");
    }
}

pub(super) fn axes_unique(root: &RootDoc, problems: &mut ProblemList) {
    let mut seen = BTreeSet::new();
    for (index, axis) in root.axes().iter().enumerate() {
        if !seen.insert(&axis.name) {
            let at = format!("{AT}/0/axes/{index}/name");
            problems.add(at, quote(&axis.name), "a unique name");
        }
    }
}

pub(super) fn axes_order(root: &RootDoc, problems: &mut ProblemList) {
    let rank = |kind: &str| match kind {
        "time" => 0,
        "channel" => 1,
        "space" => 3,
        _ => 2,
    };
    for (index, (before, axis)) in root
        .axes()
        .iter()
        .zip(root.axes().iter().skip(1))
        .enumerate()
    {
        if rank(axis.kind()) < rank(before.kind()) {
            let at = format!("{AT}/0/axes/{}/type", index + 1);
            let expected = format!(
                "the order time, channel, other, space, in which it is not after {}",
                quote(before.kind())
            );
            problems.add(at, quote(axis.kind()), expected);
        }
    }
}

/// All datasets, each with its JSON pointer.
fn datasets(root: &RootDoc) -> impl Iterator<Item = (String, &Dataset)> {
    let entries: &[Multiscale] = &root.multiscales.entries;
    entries.iter().enumerate().flat_map(|(entry, multiscale)| {
        let sets = multiscale.datasets.iter().enumerate();
        sets.map(move |(index, dataset)| (format!("{AT}/{entry}/datasets/{index}"), dataset))
    })
}

/// The first dataset of each level; readers use only these.
fn leading(root: &RootDoc) -> impl Iterator<Item = (String, u32, &Dataset)> {
    let mut seen = BTreeSet::new();
    datasets(root).filter_map(move |(at, dataset)| {
        let level = text::level(&dataset.path)?;
        seen.insert(level).then_some((at, level, dataset))
    })
}

pub(super) fn dataset_path(root: &RootDoc, problems: &mut ProblemList) {
    for (at, dataset) in datasets(root) {
        if text::level(&dataset.path).is_none() {
            problems.add(
                format_args!("{at}/path"),
                quote(&dataset.path),
                "a level number",
            );
        }
    }
}

pub(super) fn dataset_unique(root: &RootDoc, problems: &mut ProblemList) {
    let mut seen = BTreeSet::new();
    for (at, dataset) in datasets(root) {
        if !seen.insert(&dataset.path) {
            let found = quote(&dataset.path);
            problems.add(format_args!("{at}/path"), found, "a unique path");
        }
    }
}

pub(super) fn dataset_order(root: &RootDoc, problems: &mut ProblemList) {
    let mut before: Option<u32> = None;
    for (at, level, _) in leading(root) {
        if let Some(before) = before.filter(|before| level < *before) {
            let expected = format!("a level after {before}");
            problems.add(
                format_args!("{at}/path"),
                format_args!("level {level}"),
                expected,
            );
        }
        before = Some(level);
    }
}

pub(super) fn dataset_present(root: &RootDoc, levels: &[&str], problems: &mut ProblemList) {
    for level in levels.iter().filter_map(|name| text::level(name)) {
        if root.multiscales.dataset(level).is_none() {
            let found = format!("without level {level}");
            problems.add(
                format_args!("{AT}/0/datasets"),
                found,
                "a dataset for every level",
            );
        }
    }
}

/// Finds datasets of removed levels.
pub(super) fn dataset_stale(root: &RootDoc, levels: &[&str], problems: &mut ProblemList) {
    let known: BTreeSet<_> = levels.iter().filter_map(|name| text::level(name)).collect();
    for (at, level, _) in leading(root) {
        if !known.contains(&level) {
            problems.add(at, format_args!("of level {level}"), "a level of the store");
        }
    }
}

pub(super) fn transform_length(root: &RootDoc, problems: &mut ProblemList) {
    let dims = root.dims();
    for (at, _, dataset) in leading(root).filter(|_| dims > 0) {
        let transform = dataset.transform();
        for numbers in [transform.scale(), transform.translation()]
            .into_iter()
            .flatten()
        {
            if numbers.len() != dims {
                let found = format!("of {} numbers", numbers.len());
                let at = format!("{at}/coordinateTransformations");
                problems.add(at, found, format_args!("{dims}, one an axis"));
            }
        }
        // Readers ignore other transforms, and transforms without numbers.
        let other = |one: &&Transform| matches!(one, Transform::Other(members) if members.get("type").is_none_or(|kind| kind != "identity"));
        if let Some(Transform::Other(members)) = dataset.transforms.iter().find(other) {
            let found = members
                .get("type")
                .map_or("of no type".to_owned(), describe);
            let at = format!("{at}/coordinateTransformations");
            problems.add(at, found, "a scale or translation with its numbers");
        }
    }
}

pub(super) fn scale_positive(root: &RootDoc, problems: &mut ProblemList) {
    for (at, _, dataset) in leading(root) {
        let scale = dataset.transform().scale().unwrap_or_default();
        if !scale.iter().all(|&fold| is_size(fold)) {
            let at = format!("{at}/coordinateTransformations");
            problems.add(
                at,
                format_args!("scale {}", list(scale)),
                "finite factors above 0",
            );
        }
    }
}

pub(super) fn scale_base(root: &RootDoc, problems: &mut ProblemList) {
    for (at, _, dataset) in leading(root).filter(|(_, level, _)| *level == 0) {
        let scale = dataset.transform().scale().unwrap_or_default();
        // Another rule reports a scale of 0 or less.
        if scale.iter().all(|&fold| is_size(fold)) && !scale.iter().all(|&fold| close(fold, 1.0)) {
            let at = format!("{at}/coordinateTransformations");
            problems.add(
                at,
                format_args!("scale {}", list(scale)),
                "1 along every axis",
            );
        }
    }
}

/// A writer that shifts coordinates replaces this translation by the shift (trap T35), so both half a bin and the shift
/// are valid.
pub(super) fn translation_base(root: &RootDoc, problems: &mut ProblemList) {
    let Some((at, _, dataset)) = leading(root).find(|(_, level, _)| *level == 0) else {
        return;
    };
    let base = root.base_bin_shape();
    let zeros = vec![0.0; base.len().min(root.dims())];
    // An absent translation means zeros, which never equal half a bin.
    let found = dataset.transform().translation().unwrap_or(&zeros);
    let halves: Vec<f64> = base.iter().map(|bin| bin / 2.0).collect();
    let same = |wanted: &[f64]| {
        wanted.len() == found.len()
            && wanted
                .iter()
                .zip(found)
                .all(|(&wanted, &found)| close(wanted, found))
    };
    let shifted = root.zarr_vectors.coordinate_offset.as_deref();
    // Other rules report lists of wrong length and invalid sizes.
    let sane = found.len() == halves.len() && base.iter().all(|&bin| is_size(bin));
    if sane && !same(&halves) && !shifted.is_some_and(same) {
        let at = format!("{at}/coordinateTransformations");
        let expected = list(shifted.unwrap_or(&halves));
        problems.add(at, format_args!("translation {}", list(found)), expected);
    }
}

pub(super) fn translation_coarse(root: &RootDoc, problems: &mut ProblemList) {
    for (at, _, dataset) in leading(root).filter(|(_, level, _)| *level > 0) {
        let halves = dataset.transform().translation().unwrap_or_default();
        if !halves.iter().all(|&half| is_size(half)) {
            let at = format!("{at}/coordinateTransformations");
            let found = format!("translation {}", list(halves));
            problems.add(at, found, "finite half bins above 0");
        }
    }
}

pub(super) fn scale_matches_bins(root: &RootDoc, problems: &mut ProblemList) {
    let base = root.base_bin_shape();
    for (at, _, dataset) in leading(root).filter(|(_, level, _)| *level > 0) {
        let transform = dataset.transform();
        let (Some(scale), Some(bins)) = (transform.scale(), transform.bin_shape()) else {
            continue;
        };
        let sane =
            |sizes: &[f64]| sizes.len() == root.dims() && sizes.iter().all(|&size| is_size(size));
        if !(sane(scale) && sane(&bins) && sane(base)) {
            continue;
        }
        let wanted: Vec<f64> = bins
            .iter()
            .zip(base)
            .map(|(bin, base)| bin / base)
            .collect();
        if !scale
            .iter()
            .zip(&wanted)
            .all(|(&found, &wanted)| (found - wanted).abs() <= 1e-6 * wanted)
        {
            let at = format!("{at}/coordinateTransformations");
            problems.add(at, format_args!("scale {}", list(scale)), list(&wanted));
        }
    }
}
