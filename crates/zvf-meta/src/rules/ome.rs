//! Rules about the derived `ome` node. Readers do not use it, so all are warnings.

use super::{Problem, Problems, Rule};
use crate::error::describe;
use crate::root::RootDoc;
use crate::text;
use crate::version::{DESCRIBED, Version};

const AT: &str = "/attributes/ome";

/// Returns the problems against [`Rule::OmePresent`].
#[must_use]
pub fn ome_present(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let expected = Version::parse(&root.zarr_vectors.zv_version).is_none_or(|one| one >= DESCRIBED);
    if expected && root.ome.is_none() && !root.extra.contains_key("ome") {
        problems.add(Rule::OmePresent, AT, "absent", "a collection node");
    }
    problems.done()
}

/// Returns the problems against [`Rule::OmeType`].
#[must_use]
pub fn ome_type(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(other) = root.extra.get("ome") {
        problems.add(
            Rule::OmeType,
            AT,
            describe(other),
            "a collection node with a list of nodes",
        );
    }
    if let Some(ome) = &root.ome {
        for (member, found, expected) in [
            ("version", &ome.version, "0.6"),
            ("type", &ome.type_, "collection"),
        ] {
            if found.as_deref() != Some(expected) {
                let found = found.as_deref().unwrap_or("absent");
                problems.add(
                    Rule::OmeType,
                    format_args!("{AT}/{member}"),
                    found,
                    expected,
                );
            }
        }
        if ome.name.as_deref().is_none_or(str::is_empty) {
            problems.add(Rule::OmeType, format_args!("{AT}/name"), "empty", "a name");
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::OmeAxes`].
#[must_use]
pub fn ome_axes(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    // Without axes there is nothing to compare with.
    if let Some(ome) = root.ome.as_ref().filter(|_| root.dims() > 0) {
        let scene = ome.scene_axes().unwrap_or_default();
        let scene: Vec<_> = scene
            .iter()
            .map(|axis| (axis.name.as_str(), axis.kind(), axis.unit.as_deref()))
            .collect();
        let axes: Vec<_> = root
            .axes()
            .iter()
            // Empty values are left out of the copy.
            .map(|axis| {
                (
                    axis.name.as_str(),
                    axis.kind(),
                    axis.unit.as_deref().filter(|unit| !unit.is_empty()),
                )
            })
            .collect();
        if scene != axes {
            let names = |axes: &[(&str, &str, Option<&str>)]| {
                let shown: Vec<_> = axes
                    .iter()
                    .map(|(name, kind, unit)| {
                        format!("{name} {kind} {}", unit.unwrap_or_default())
                            .trim_end()
                            .to_owned()
                    })
                    .collect();
                shown.join(", ")
            };
            let at = format!("{AT}/attributes/scene/coordinateSystems/0/axes");
            problems.add(
                Rule::OmeAxes,
                at,
                format_args!("[{}]", names(&scene)),
                format_args!("[{}]", names(&axes)),
            );
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::OmeLevels`], for the given groups of the root.
#[must_use]
pub fn ome_levels(root: &RootDoc, levels: &[&str]) -> Vec<Problem> {
    let mut problems = Problems::root();
    if let Some(ome) = &root.ome {
        let mut wanted: Vec<u32> = levels.iter().filter_map(|name| text::level(name)).collect();
        wanted.sort_unstable();
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let found: Vec<&str> = ome.level_names().collect();
        if found != wanted {
            let found = format!("[{}]", found.join(", "));
            problems.add(
                Rule::OmeLevels,
                format_args!("{AT}/nodes"),
                found,
                format_args!("[{}]", wanted.join(", ")),
            );
        }
    }
    problems.done()
}
