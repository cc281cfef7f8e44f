//! Rules about the derived `ome` node. Readers do not use it, so all are warnings.

use super::problem::ProblemList;
use crate::error::describe;
use crate::root::RootDoc;
use crate::text;
use crate::version::{DESCRIBED, Version};

const AT: &str = "/attributes/ome";

pub(super) fn ome_present(root: &RootDoc, problems: &mut ProblemList) {
    let expected = Version::parse(&root.zarr_vectors.zv_version).is_none_or(|one| one >= DESCRIBED);
    if expected && root.ome.is_none() && !root.extra.contains_key("ome") {
        problems.add(AT, "absent", "a collection node");
    }
}

pub(super) fn ome_type(root: &RootDoc, problems: &mut ProblemList) {
    if let Some(other) = root.extra.get("ome") {
        problems.add(
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
                problems.add(format_args!("{AT}/{member}"), found, expected);
            }
        }
        if ome.name.as_deref().is_none_or(str::is_empty) {
            problems.add(format_args!("{AT}/name"), "empty", "a name");
        }
    }
}

pub(super) fn ome_axes(root: &RootDoc, problems: &mut ProblemList) {
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
            // Empty units are left out of the `ome` node.
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
                at,
                format_args!("[{}]", names(&scene)),
                format_args!("[{}]", names(&axes)),
            );
        }
    }
}

pub(super) fn ome_levels(root: &RootDoc, levels: &[&str], problems: &mut ProblemList) {
    if let Some(ome) = &root.ome {
        let mut wanted: Vec<u32> = levels.iter().filter_map(|name| text::level(name)).collect();
        wanted.sort_unstable();
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let found: Vec<&str> = ome.level_names().collect();
        if found != wanted {
            let found = format!("[{}]", found.join(", "));
            problems.add(
                format_args!("{AT}/nodes"),
                found,
                format_args!("[{}]", wanted.join(", ")),
            );
        }
    }
}
