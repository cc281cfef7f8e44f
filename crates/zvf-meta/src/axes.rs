//! Axes by their names, and the conversion of positions between two lists of axes.

use crate::{Affine, Axis, units};

/// Names of axes of time.
const TIMES: [&str; 3] = ["t", "time", "frame"];

/// Names of the first and the second coordinate in space.
const FIRST: [&str; 3] = ["x", "lon", "longitude"];
const SECOND: [&str; 3] = ["y", "lat", "latitude"];

impl Axis {
    /// Creates an axis without a unit. Its type follows from its name: `time` for `t`, `time` and `frame`, in any case, else `space`.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        let time = TIMES.iter().any(|time| name.eq_ignore_ascii_case(time));
        Self::new(name, if time { "time" } else { "space" })
    }

    /// Whether positions along the axis are in space. Lengths, scales and distances apply only there.
    #[must_use]
    pub fn is_space(&self) -> bool {
        self.kind() == "space"
    }
}

/// The reason why positions cannot be converted between two lists of axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxesDiffer {
    /// The found value, such as `axis z in voxel`.
    pub found: String,
    /// The expected value.
    pub expected: String,
}

impl std::fmt::Display for AxesDiffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

impl std::error::Error for AxesDiffer {}

/// The map from positions along the axes `from` to positions along the axes `to`. Axes are matched by name if `from` has all names of `to`, otherwise
/// by order. Positions are converted between units if both axes have one, and are otherwise unchanged.
///
/// # Errors
/// Different numbers of axes; units that cannot be converted into each other.
pub fn map_of_axes(from: &[Axis], to: &[Axis]) -> Result<Affine, AxesDiffer> {
    if from.len() != to.len() {
        return Err(AxesDiffer {
            found: format!("{} axes", from.len()),
            expected: to.len().to_string(),
        });
    }
    let by_name: Option<Vec<usize>> = to
        .iter()
        .map(|axis| from.iter().position(|one| one.name == axis.name))
        .collect();
    let columns = by_name.unwrap_or_else(|| (0..to.len()).collect());
    let rank = to.len();
    let mut rows = Vec::with_capacity(rank.saturating_mul(rank.saturating_add(1)));
    for (axis, &column) in to.iter().zip(&columns) {
        let stated = from.get(column).and_then(|one| one.unit.as_deref());
        let factor = match (stated, axis.unit.as_deref()) {
            (Some(found), Some(expected)) => {
                units::factor(found, expected).ok_or_else(|| AxesDiffer {
                    found: format!("axis {} in {found}", axis.name),
                    expected: format!("{expected} or a unit that can be converted to it"),
                })?
            }
            _ => 1.0,
        };
        rows.extend((0..rank).map(|at| if at == column { factor } else { 0.0 }));
        rows.push(0.0);
    }
    Affine::from_rows(&rows, rank).map_err(|error| AxesDiffer {
        found: error.what,
        expected: "another map".to_owned(),
    })
}

/// The indexes of the axes of space among `dims` axes: x or longitude, then y or latitude, then z, then the others. Unless axes for both x and y are
/// found, they keep their order. Axes that `axes` does not describe count as space.
#[must_use]
pub fn axes_of_space(axes: &[Axis], dims: usize) -> Vec<usize> {
    let space = (0..dims).filter(|axis| axes.get(*axis).is_none_or(Axis::is_space));
    let space: Vec<usize> = space.collect();
    let named = |names: &[&str]| {
        let is = |axis: &Axis| names.iter().any(|one| axis.name.eq_ignore_ascii_case(one));
        let mut space = space.iter();
        space.find(|axis| axes.get(**axis).is_some_and(is)).copied()
    };
    let (Some(first), Some(second)) = (named(&FIRST), named(&SECOND)) else {
        return space;
    };
    let ordered: Vec<usize> = [first, second].into_iter().chain(named(&["z"])).collect();
    let rest = space.iter().filter(|axis| !ordered.contains(axis));
    ordered.iter().chain(rest).copied().collect()
}

/// The unit of the axes of space, as spelled by the first one; `None` if an axis of space has no unit or another one, or if there is none.
#[must_use]
pub fn unit_of_space(axes: &[Axis]) -> Option<&str> {
    let mut units = axes.iter().filter(|axis| axis.is_space());
    let first = units.next()?.unit.as_deref()?;
    let same = |axis: &Axis| {
        let unit = axis.unit.as_deref();
        unit.is_some_and(|unit| units::same(unit, first))
    };
    units.all(same).then_some(first)
}

/// The factor for values of an attribute `radius`, which are lengths, if `map` converts positions along the axes `from` to positions along the axes `to`.
/// The text next to each list of axes is the unit that the attribute itself states on that side; without one, its values are in the unit of the
/// positions.
///
/// `None` if the units cannot be converted into each other, or if the attribute states a unit on one side only and the positions of the other side have
/// none.
///
/// # Examples
///
/// ```
/// use zvf_meta::{Axis, map_of_axes, radius_factor};
///
/// let axes = |unit: &str| ["x", "y"].map(|name| Axis { unit: Some(unit.to_owned()), ..Axis::named(name) });
/// let (from, to) = (axes("nm"), axes("um"));
/// let map = map_of_axes(&from, &to)?;
/// assert_eq!(radius_factor(&map, (&from, None), (&to, None)), Some(0.001));
/// assert_eq!(radius_factor(&map, (&from, Some("um")), (&to, Some("micrometer"))), Some(1.0));
/// assert_eq!(radius_factor(&map, (&from, Some("um")), (&to, None)), Some(1.0));
/// assert_eq!(radius_factor(&map, (&from, None), (&to, Some("mm"))), Some(1e-6));
/// assert_eq!(radius_factor(&map, (&from, Some("pixel")), (&to, None)), None);
/// # Ok::<(), zvf_meta::AxesDiffer>(())
/// ```
#[must_use]
pub fn radius_factor(
    map: &Affine,
    from: (&[Axis], Option<&str>),
    to: (&[Axis], Option<&str>),
) -> Option<f64> {
    if from.1.is_none() && to.1.is_none() {
        return Some(map.mean_scale(to.0));
    }
    let own = |(axes, stated)| match stated {
        Some(unit) => Some(unit),
        None => unit_of_space(axes),
    };
    units::factor(own(from)?, own(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(list: &[(&str, Option<&str>)]) -> Vec<Axis> {
        let axis = |(name, unit): &(&str, Option<&str>)| Axis {
            unit: unit.map(str::to_owned),
            ..Axis::named(*name)
        };
        list.iter().map(axis).collect()
    }

    #[test]
    fn names_of_time_are_of_type_time() {
        for (name, kind) in [
            ("t", "time"),
            ("T", "time"),
            ("Time", "time"),
            ("frame", "time"),
            ("x", "space"),
            ("c", "space"),
            ("timepoint", "space"),
        ] {
            assert_eq!(Axis::named(name).kind(), kind, "{name}");
        }
    }

    #[test]
    fn positions_are_converted_by_name_and_unit() {
        let from = axes(&[
            ("t", Some("ms")),
            ("y", Some("um")),
            ("x", Some("mm")),
            ("z", None),
        ]);
        let to = axes(&[
            ("t", Some("second")),
            ("x", Some("nanometer")),
            ("y", Some("nanometer")),
            ("z", Some("nanometer")),
        ]);
        let map = map_of_axes(&from, &to).unwrap();
        let mut out = [0.0; 4];
        map.apply(&[2000.0, 3.0, 4.0, 5.0], &mut out);
        assert_eq!(out, [2.0, 4e6, 3e3, 5.0]);
    }

    #[test]
    fn axes_of_other_names_belong_together_in_order() {
        let from = axes(&[("x", Some("um")), ("y", None)]);
        let to = axes(&[("cx", Some("nm")), ("cy", None)]);
        let map = map_of_axes(&from, &to).unwrap();
        let mut out = [0.0; 2];
        map.apply(&[1.0, 2.0], &mut out);
        assert_eq!(out, [1e3, 2.0]);
    }

    #[test]
    fn what_cannot_be_converted_is_refused() {
        let of = |unit| axes(&[("x", Some(unit)), ("y", None)]);
        let error = map_of_axes(&of("voxel"), &of("nm")).unwrap_err();
        assert_eq!(error.found, "axis x in voxel");
        assert!(error.expected.starts_with("nm or "), "{error}");
        assert!(map_of_axes(&of("s"), &of("nm")).is_err());
        assert!(map_of_axes(&of("um"), &axes(&[("x", None)])).is_err());
    }
}
