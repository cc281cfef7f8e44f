//! Maps the axes of a volume to the axes of positions.

use std::collections::HashSet;

use zvf_meta::{Affine, Axis, StatedAffine, map_of_axes};

use crate::{AxisInfo, AxisUse, Volume, VolumeError, VolumeInfo, affine_of_axes};

/// The axes of positions to which the affine of an image file maps.
const WORLD: [&str; 3] = ["x", "y", "z"];

/// The map from the axes of a volume to the axes of a store.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct VolumePlacement {
    /// Maps elements to the picked axes, in the units of the store.
    pub to_world: Affine,
    /// The axes of the store that the map produces.
    pub picked: Vec<usize>,
    /// Remarks about conversions of units.
    pub remarks: Vec<String>,
}

impl Volume {
    /// Determines which axes of the volume are in space, and the index on every other axis. Axes of another kind are not in space; if the volume has more
    /// axes of space than positions have (`dims`), axes with one element are not treated as axes of space either. `index` gives the index on an axis, by
    /// name or number; it is `None` if the caller offers no way to give one.
    ///
    /// # Errors
    ///
    /// Misuse: an axis that is not in space and has several elements, but no index; an index on an axis that does not exist; two indices on one axis.
    pub fn axis_uses(
        &self,
        index: Option<&[(String, u64)]>,
        dims: usize,
    ) -> Result<Vec<AxisUse>, VolumeError> {
        let info = self.info();
        let mut uses: Vec<AxisUse> = info
            .axes
            .iter()
            .zip(info.shape.iter())
            .enumerate()
            .map(|(at, (axis, extent))| match axis.kind.as_deref() {
                None | Some("space") => Ok(AxisUse::Space),
                Some(_) if *extent == 1 => Ok(AxisUse::Index(0)),
                Some(kind) => {
                    let name = axis.name.as_deref().unwrap_or("?");
                    let Some(index) = index else {
                        return Err(VolumeError::misuse(format!(
                            "axis {name} ({kind}) has {extent} indices, expected one: a volume in space alone"
                        )));
                    };
                    if index.iter().any(|(one, _)| info.axis_at(one) == Some(at)) {
                        return Ok(AxisUse::Index(0));
                    }
                    Err(VolumeError::misuse(format!(
                        "axis {name} ({kind}) has {extent} indices: --index {name}=N selects one"
                    )))
                }
            })
            .collect::<Result<_, _>>()?;
        let mut taken = HashSet::new();
        for (axis, index) in index.unwrap_or(&[]) {
            let at = info.axis_at(axis);
            match at.and_then(|at| Some((at, uses.get_mut(at)?))) {
                Some((at, _)) if !taken.insert(at) => {
                    let what = format!("--index {axis}={index}: the axis already has an index");
                    return Err(VolumeError::misuse(what));
                }
                Some((_, slot)) => *slot = AxisUse::Index(*index),
                None => {
                    let what = format!("--index {axis}={index}: no such axis");
                    return Err(VolumeError::misuse(what));
                }
            }
        }
        // Axes with one element that exceed the number of axes of the store.
        let space = |uses: &[AxisUse]| uses.iter().filter(|one| **one == AxisUse::Space).count();
        let is_spatial = |at: usize| {
            let name = info.axes.get(at).and_then(|axis| axis.name.as_deref());
            name.is_some_and(|name| {
                ["x", "y", "z"]
                    .iter()
                    .any(|one| name.eq_ignore_ascii_case(one))
            })
        };
        // Axes with the names of space are dropped last.
        for spatial in [false, true] {
            for at in (0..uses.len())
                .rev()
                .filter(|at| is_spatial(*at) == spatial)
            {
                if space(&uses) > dims
                    && info.shape.get(at) == Some(&1)
                    && let Some(slot) = uses.get_mut(at)
                {
                    *slot = AxisUse::Index(0);
                }
            }
        }
        Ok(uses)
    }
}

impl VolumeInfo {
    /// The number of the axis that is given by its name or its number.
    fn axis_at(&self, axis: &str) -> Option<usize> {
        let named = self
            .axes
            .iter()
            .position(|one| one.name.as_deref() == Some(axis));
        let numbered = || axis.parse().ok().filter(|at| *at < self.axes.len());
        named.or_else(numbered)
    }
}

impl VolumePlacement {
    /// The axes of a store to which `count` axes without names are matched in order: its axes of space, if there are `count` of them, else all.
    #[must_use]
    pub fn in_order(world: &[Axis], count: usize) -> Vec<usize> {
        let space = world.iter().enumerate().filter(|(_, axis)| axis.is_space());
        let space: Vec<usize> = space.map(|(at, _)| at).collect();
        match space.len() == count {
            true => space,
            false => (0..world.len()).collect(),
        }
    }

    /// Determines the map from elements to positions of a store with these axes: `stated`, else the map of the volume, else element i is at i. Axes
    /// are matched by name if the store has all of their names, otherwise in order; the affine of an image maps to x, y and z, stated numbers to the axes in order.
    ///
    /// # Errors
    ///
    /// Misuse: numbers of axes that differ, two axes of space with one name, the affine of an image without all of its three axes, a unit that cannot be
    /// converted.
    pub fn new(
        volume: &Volume,
        uses: &[AxisUse],
        stated: Option<&StatedAffine>,
        world: &[Axis],
    ) -> Result<Self, VolumeError> {
        let info = volume.info();
        let names: Vec<&str> = world.iter().map(|axis| axis.name.as_str()).collect();
        let space: Vec<&AxisInfo> = info
            .axes
            .iter()
            .zip(uses)
            .filter(|(_, one)| **one == AxisUse::Space)
            .map(|(axis, _)| axis)
            .collect();
        if info.affine.is_some() && stated.is_none() && space.len() != WORLD.len() {
            return Err(VolumeError::misuse(
                "the affine of the image maps its axes i, j and k together: only other axes can have an index",
            ));
        }
        // Axes are matched by name, if the store has every axis name of the volume, or `x`, `y` and `z` for the affine of an image.
        let of_image = match stated {
            Some(stated) => stated.source.is_some(),
            None => info.affine.is_some(),
        };
        let of_world = of_image.then(|| WORLD.map(Some).to_vec());
        let wanted =
            of_world.unwrap_or_else(|| space.iter().map(|axis| axis.name.as_deref()).collect());
        let by_name: Option<Vec<usize>> = wanted
            .iter()
            .map(|wanted| names.iter().position(|name| Some(*name) == *wanted))
            .collect();
        let by_name = by_name.filter(|_| stated.is_none() || of_image);
        let twice = by_name.as_ref().and_then(|found| {
            let mut seen = HashSet::new();
            found.iter().copied().find(|at| !seen.insert(*at))
        });
        if let Some(name) = twice.and_then(|at| names.get(at)) {
            return Err(VolumeError::misuse(format!(
                "two axes of the volume are called {name}: --affine maps them in the order of the axes, or an index, given by the number of the axis, fixes one of them"
            )));
        }
        let (mut picked, order) = match by_name {
            Some(found) if of_image => (found, (0..space.len()).collect()),
            Some(found) => {
                let mut picked = found.clone();
                picked.sort_unstable();
                let place = |axis: &usize| picked.iter().position(|one| one == axis).unwrap_or(0);
                let order: Vec<usize> = found.iter().map(place).collect();
                (picked, order)
            }
            None => (
                Self::in_order(world, space.len()),
                (0..space.len()).collect(),
            ),
        };
        if picked.len() != space.len() {
            return Err(VolumeError::misuse(format!(
                "{} axes in space, the store has {} ({}): an index fixes those that are not in space",
                space.len(),
                names.len(),
                names.join(", ")
            )));
        }
        picked.truncate(space.len());
        let to: Vec<Axis> = picked
            .iter()
            .filter_map(|at| world.get(*at).cloned())
            .collect();
        let mut remarks = Vec::new();
        let image = volume.address();
        let to_world = match stated {
            Some(stated) => {
                let units = to.iter().map(|_| stated.unit.map(str::to_owned)).collect();
                match stated.source {
                    Some(_) => converted("the affine", &stated.affine, units, &to, &mut remarks)?,
                    None => stated.affine.clone(),
                }
            }
            None if let Some(stated) = &info.affine => {
                let units = to.iter().map(|_| stated.unit.map(str::to_owned)).collect();
                if let Some(source) = &stated.source {
                    remarks.push(format!("{image}: places are those of the {source}"));
                }
                converted(image, &stated.affine, units, &to, &mut remarks)?
            }
            None => {
                // Indexed by axis of the store.
                let mut units = vec![None; to.len()];
                let mut placed = false;
                for (axis, row) in space.iter().zip(&order) {
                    if let Some(slot) = units.get_mut(*row) {
                        *slot = axis.place.and(axis.unit.clone());
                    }
                    placed |= axis.place.is_some();
                }
                let map = affine_of_axes(&space, &order);
                match placed {
                    true => converted(image, &map, units, &to, &mut remarks)?,
                    false => map,
                }
            }
        };
        Ok(Self {
            to_world,
            picked,
            remarks,
        })
    }
}

/// Converts a map in the units of an image to the units of the store. `units` holds the unit of the image along each axis of the store.
///
/// # Errors
///
/// Misuse: a unit that cannot be converted to the unit of the store.
fn converted(
    image: &str,
    map: &Affine,
    units: Vec<Option<String>>,
    to: &[Axis],
    remarks: &mut Vec<String>,
) -> Result<Affine, VolumeError> {
    let axes = to.iter().zip(units);
    let from: Vec<Axis> = axes
        .map(|(axis, unit)| Axis {
            unit,
            ..axis.clone()
        })
        .collect();
    let last = map_of_axes(&from, to).map_err(|why| {
        VolumeError::misuse(format!(
            "{image}: units: {why} in the store; --affine with rows of numbers gives the positions of elements"
        ))
    })?;
    let list = |axes: &[Axis]| {
        let mut units: Vec<&str> = axes
            .iter()
            .filter_map(|axis| axis.unit.as_deref())
            .collect();
        units.dedup();
        units.join(", ")
    };
    if !last.is_identity() {
        let (found, own) = (list(&from), list(to));
        remarks.push(format!(
            "{image} states places in {found}: they were converted to {own}, the unit of the store"
        ));
        return Ok(last.after(map));
    }
    let lacks = |one: &[Axis], other: &[Axis]| {
        let mut pairs = one.iter().zip(other);
        pairs.any(|(one, other)| one.unit.is_none() && other.unit.is_some())
    };
    if lacks(&from, to) {
        remarks.push(format!(
            "{image} states no unit: places are taken to be in {}, as positions of the store",
            list(to)
        ));
    } else if lacks(to, &from) {
        remarks.push(format!(
            "the store states no unit: positions are taken to be in {}, as places of {image}",
            list(&from)
        ));
    }
    Ok(map.clone())
}
