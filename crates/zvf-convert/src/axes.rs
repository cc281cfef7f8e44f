//! Types of axes.

use zvf_meta::{Affine, map_of_axes};
use zvf_write::Axis;

use crate::ConvertError;
#[cfg(doc)]
use crate::Options;
use crate::error::shown;
use crate::transform::axis_units;

/// The types of axes.
const TYPES: [&str; 3] = ["space", "time", "channel"];

/// The names of the axes of a file that does not name them.
pub(crate) const UNNAMED_AXES: [&str; 4] = ["x", "y", "z", "w"];

/// The note about four coordinates without names: often, the first of them is a time.
pub(crate) const UNNAMED: &str = "the file does not name its four axes: they are x, y, z and w, all of space (--axis x:time makes the first one time)";

/// Whether the axes have the four names that unnamed coordinates get.
pub(crate) fn are_four(axes: &[Axis]) -> bool {
    axes.iter().map(|axis| axis.name.as_str()).eq(UNNAMED_AXES)
}

/// Sets the types of axes that the caller named.
///
/// # Errors
/// Misuse: an unknown axis or type.
pub(crate) fn set_types(axes: &mut [Axis], types: &[(String, String)]) -> Result<(), ConvertError> {
    for (name, kind) in types {
        if !TYPES.contains(&kind.as_str()) {
            let expected = format!("one of {}", TYPES.join(", "));
            return Err(ConvertError::usage(
                "type of an axis",
                shown(kind),
                expected,
            ));
        }
        let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
        let Some(axis) = axes.iter_mut().find(|axis| axis.name == *name) else {
            let expected = format!("one of {}", names.join(", "));
            return Err(ConvertError::usage("axis", shown(name), expected));
        };
        axis.type_ = Some(kind.clone());
    }
    Ok(())
}

/// Notes about axes of space whose names suggest time, unless the caller stated their types. They are scaled and measured like all axes of space.
pub(crate) fn perhaps_time(axes: &[Axis], types: &[(String, String)]) -> Vec<String> {
    let suggests_time = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.contains("time") || name.contains("frame") || name.ends_with("_t")
    };
    let axes = axes
        .iter()
        .filter(|axis| axis.is_space() && suggests_time(&axis.name));
    let axes = axes.filter(|axis| !types.iter().any(|(name, _)| *name == axis.name));
    let note = |axis: &Axis| {
        let name = &axis.name;
        format!(
            "axis {name} is one of space, also for units and scales; --axis {name}:time makes it one of time, {name}:space confirms it"
        )
    };
    axes.map(note).collect()
}

/// Sets the units of axes from the text of [`Options::unit`]; returns the factor of each axis.
///
/// # Errors
/// Misuse: an unknown unit or axis.
pub fn set_units(axes: &mut [Axis], text: &str) -> Result<Vec<f64>, ConvertError> {
    let units = axis_units(Some(text), axes)?;
    for (axis, unit) in axes.iter_mut().zip(&units) {
        axis.unit = unit.name.map(str::to_owned).or(axis.unit.take());
    }
    Ok(units.iter().map(|unit| unit.factor).collect())
}

/// The permutation that brings positions along `from` into the order of `to`; `None` if the order is the same.
pub(crate) fn order(from: &[Axis], to: &[Axis]) -> Option<Affine> {
    let bare = |axes: &[Axis]| -> Vec<Axis> {
        let axes = axes.iter();
        axes.map(|axis| Axis::new(&axis.name, axis.kind()))
            .collect()
    };
    let map = map_of_axes(&bare(from), &bare(to)).ok()?;
    (!map.is_identity()).then_some(map)
}

/// Checks the axes: first time, then channels, then space; beside axes of other types, at least two of space.
///
/// # Errors
/// Misuse, with advice.
pub fn check(axes: &[Axis]) -> Result<(), ConvertError> {
    let first_space = axes.iter().position(Axis::is_space).unwrap_or(axes.len());
    let late = axes.iter().enumerate().find(|(at, axis)| {
        *at > first_space && !axis.is_space()
            || axis.kind() == "time" && axes.iter().take(*at).any(|one| one.kind() != "time")
    });
    if let Some((at, axis)) = late {
        let mut order: Vec<&Axis> = axes.iter().collect();
        order.sort_by_key(|axis| match axis.kind() {
            "time" => 0,
            "space" => 2,
            _ => 1,
        });
        let order: Vec<&str> = order.iter().map(|axis| axis.name.as_str()).collect();
        let before: Vec<&str> = axes
            .iter()
            .take(at)
            .map(|axis| axis.name.as_str())
            .collect();
        return Err(ConvertError::usage(
            "axes",
            format!(
                "{} of type {} after {}",
                axis.name,
                axis.kind(),
                before.join(", ")
            ),
            format!(
                "time, then channels, then space, as in {}; or --axis {}:space (in Python {}:space among the axes)",
                order.join(","),
                axis.name,
                axis.name
            ),
        ));
    }
    let space = axes.iter().filter(|axis| axis.is_space()).count();
    let other = axes.iter().find(|axis| !axis.is_space());
    if let Some(other) = other.filter(|_| axes.len() > 1 && space < 2) {
        return Err(ConvertError::usage(
            "axes",
            format!(
                "{space} of type space beside {} of type {}",
                other.name,
                other.kind()
            ),
            format!(
                "two or more of type space; --axis {}:space makes it one",
                other.name
            ),
        ));
    }
    Ok(())
}
