//! Edits of the datasets of `multiscales`: one per level, with its downsampling factor as scale and half a bin as translation.

use std::collections::BTreeSet;

use crate::Check;
use serde_json::{Value, json};
use zvf_format::keys::parse_level;
use zvf_meta::rules::Rule;
use zvf_meta::{Dataset, RootDoc};

use super::RepairOptions;
use super::documents::{Look, ROOT};
use super::edit::Fix;

const AT: &str = "/attributes/multiscales/0/datasets";

/// The rules about datasets.
const RULES: &[Rule] = &[
    Rule::DatasetPath,
    Rule::DatasetUnique,
    Rule::DatasetOrder,
    Rule::DatasetPresent,
    Rule::DatasetStale,
    Rule::ScaleBase,
    Rule::TranslationBase,
    Rule::TransformLength,
    Rule::ScalePositive,
    Rule::TranslationCoarse,
    Rule::ScaleMatchesBins,
    Rule::LevelBinsKnown,
];

/// Corrects the list of datasets if a selected check has a finding about it.
pub(crate) fn edits(look: &Look<'_>, options: &RepairOptions) -> Option<Fix> {
    let broken = |rule: &Rule| {
        let check = Check::Document(*rule);
        options.wants(check) && look.has(check)
    };
    let broken: Vec<Rule> = RULES.iter().copied().filter(broken).collect();
    let root = look.root.as_ref().filter(|_| !broken.is_empty())?;
    // If there are several entries, it is unknown which is meant.
    let [entry] = root.multiscales.entries.as_slice() else {
        return None;
    };
    let document = look.value(ROOT)?;
    let mut list: Vec<Value> = match document.pointer(AT) {
        Some(list) => list.as_array()?.clone(),
        None => Vec::new(),
    };
    let levels = look.levels();
    if broken.contains(&Rule::DatasetPath) {
        let named = |level: &u32| {
            entry
                .datasets
                .iter()
                .any(|one| one.path == level.to_string())
        };
        if levels.iter().all(named) {
            list.retain(|one| level_of(one).is_some());
        }
    }
    if broken.contains(&Rule::DatasetUnique) {
        let mut seen: Vec<Value> = Vec::new();
        for one in std::mem::take(&mut list) {
            match seen
                .iter()
                .find(|other| other.get("path") == one.get("path"))
            {
                Some(other) if one.get("path").is_some_and(Value::is_string) => {
                    // If two datasets with one path differ, it is unknown which one is right, or whether one belongs to another level.
                    if *other != one {
                        return None;
                    }
                }
                _ => seen.push(one),
            }
        }
        list = seen;
    }
    if broken.contains(&Rule::DatasetStale)
        && let Some(folders) = &look.measured.folders
    {
        let lost = match options.accept_loss {
            true => BTreeSet::new(),
            false => look.lost_levels(),
        };
        list.retain(|one| {
            level_of(one).is_none_or(|level| {
                levels.contains(&level)
                    || lost.contains(&level)
                    || folders.contains(&level.to_string())
            })
        });
    }
    if broken.contains(&Rule::DatasetPresent) {
        for level in &levels {
            if !list.iter().any(|one| level_of(one) == Some(*level)) {
                list.push(json!({"path": level.to_string()}));
            }
        }
        sort(&mut list);
    }
    if broken.contains(&Rule::DatasetOrder) {
        sort(&mut list);
    }
    for one in &mut list {
        if let Some(level) = level_of(one).filter(|level| levels.contains(level)) {
            transforms(look, root, level, one, &broken);
        }
    }
    let checks = broken.into_iter().map(Check::Document).collect();
    let why = "the existing levels, and their bins";
    Some(Fix {
        checks,
        ..Fix::set(ROOT, AT, list, Check::StoreOpens, why)
    })
}

fn level_of(dataset: &Value) -> Option<u32> {
    parse_level(dataset.get("path")?.as_str()?)
}

fn sort(list: &mut [Value]) {
    list.sort_by_key(|one| level_of(one).unwrap_or(u32::MAX));
}

/// Corrects the scale and translation of a dataset, if they can be derived.
fn transforms(look: &Look<'_>, root: &RootDoc, level: u32, one: &mut Value, broken: &[Rule]) {
    let base = root.base_bin_shape();
    let sane = |sizes: &[f64]| {
        sizes.len() == root.dims() && sizes.iter().all(|&size| size > 0.0 && size.is_finite())
    };
    if !sane(base) {
        return;
    }
    let (scale, translation) = stored(root, level, one);
    let is_new = scale.is_none() && translation.is_none();
    let scale = scale.filter(|one| sane(one));
    let half = translation.filter(|one| sane(one));
    let ones = vec![1.0; root.dims()];
    let (new_scale, new_half) = if level == 0 {
        let offset = root.zarr_vectors.coordinate_offset.clone();
        let halves = base.iter().map(|bin| bin / 2.0).collect();
        (
            ones,
            offset
                .filter(|one| one.len() == root.dims())
                .unwrap_or(halves),
        )
    } else {
        let doc = look.level(level);
        let own = doc.as_ref().and_then(|doc| {
            let bins = doc.bin_shape.clone().or_else(|| doc.bin_size.clone())?;
            sane(&bins).then_some(bins)
        });
        let by_fold = |fold: &[f64]| -> Vec<f64> {
            fold.iter()
                .zip(base)
                .map(|(fold, bin)| fold * bin)
                .collect()
        };
        let fold = doc.and_then(|doc| doc.bin_ratio).filter(|fold| sane(fold));
        let by_half: Option<Vec<f64>> = half
            .as_ref()
            .map(|half| half.iter().map(|half| half * 2.0).collect());
        let by_scale = scale.as_deref().map(by_fold);
        let bins = match (&by_half, &by_scale) {
            // They contradict each other: the bins in the level's document decide, if they equal one of them.
            (Some(a), Some(b)) if !close(a, b) => own.filter(|own| close(own, a) || close(own, b)),
            _ => by_half
                .clone()
                .or(own)
                .or_else(|| by_scale.clone())
                .or_else(|| fold.as_deref().map(by_fold)),
        };
        let Some(bins) = bins else { return };
        (
            bins.iter()
                .zip(base)
                .map(|(bin, base)| bin / base)
                .collect(),
            bins.iter().map(|bin| bin / 2.0).collect(),
        )
    };
    let any = |rules: &[Rule]| is_new || rules.iter().any(|rule| broken.contains(rule));
    let right =
        |found: Option<&Vec<f64>>, wanted: &[f64]| found.is_some_and(|found| close(found, wanted));
    let of_scale = [
        Rule::ScaleBase,
        Rule::TransformLength,
        Rule::ScalePositive,
        Rule::ScaleMatchesBins,
    ];
    let of_half = [
        Rule::TranslationBase,
        Rule::TransformLength,
        Rule::TranslationCoarse,
        Rule::ScaleMatchesBins,
        Rule::LevelBinsKnown,
    ];
    if any(&of_scale) && !right(scale.as_ref(), &new_scale) {
        set(one, "scale", &new_scale);
    }
    if any(&of_half) && !right(half.as_ref(), &new_half) {
        set(one, "translation", &new_half);
    }
}

/// The stated scale and translation.
fn stored(root: &RootDoc, level: u32, one: &Value) -> (Option<Vec<f64>>, Option<Vec<f64>>) {
    let known = root.multiscales.dataset(level).map(Dataset::transform);
    // A dataset that this repair added has no transforms.
    let there = one.get("coordinateTransformations").is_some();
    let Some(transform) = known.filter(|_| there) else {
        return (None, None);
    };
    let owned = |numbers: Option<&[f64]>| numbers.map(<[f64]>::to_vec);
    (owned(transform.scale()), owned(transform.translation()))
}

/// Whether numbers are equal up to rounding.
fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| (a - b).abs() <= 1e-6 * a.abs().max(b.abs()))
}

/// Replaces a transform of a dataset, or appends it.
fn set(dataset: &mut Value, kind: &str, numbers: &[f64]) {
    let Some(members) = dataset.as_object_mut() else {
        return;
    };
    let list = members
        .entry("coordinateTransformations")
        .or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else {
        return;
    };
    let is_kind = |one: &Value| one.get("type").and_then(Value::as_str) == Some(kind);
    match list.iter_mut().find(|one| is_kind(one)) {
        Some(Value::Object(one)) => {
            one.insert(kind.to_owned(), json!(numbers));
        }
        _ => list.push(json!({"type": kind, kind: numbers})),
    }
}
