//! The axes of annotations: converts `dimensions` to the units and the order of axes in stores.

use serde_json::Value;
use zvf_meta::Affine;
use zvf_write::Axis;

use super::info::JsonFile;
use crate::error::{ConvertError, shown};

/// Most axes of a space. Neuroglancer displays three of them.
const MOST_AXES: usize = 16;

/// Units of length for axes, largest first, in metres.
const LENGTHS: [(&str, f64); 5] = [
    ("meter", 1.0),
    ("millimeter", 1e-3),
    ("micrometer", 1e-6),
    ("nanometer", 1e-9),
    ("picometer", 1e-12),
];
/// Units of time for axes, largest first, in seconds.
const TIMES: [(&str, f64); 4] = [
    ("second", 1.0),
    ("millisecond", 1e-3),
    ("microsecond", 1e-6),
    ("nanosecond", 1e-9),
];

/// One member of `dimensions`.
struct DimensionMember<'v> {
    /// Its place among the stored coordinates.
    column: usize,
    name: &'v str,
    scale: f64,
    unit: &'v str,
}

/// The axes, time before space, and the map from stored coordinates to them; `None` for the identity.
///
/// All axes of length get the same unit: the largest that does not exceed their smallest scale, or else the smallest unit. The same holds for axes
/// of time.
///
/// # Errors
/// Malformed: no dimensions, more than 16, one without a positive finite scale and a unit, or scales that have no valid map.
pub(super) fn of(info: &JsonFile) -> Result<(Vec<Axis>, Option<Affine>), ConvertError> {
    let mut found = dimensions(info)?;
    found.sort_by_key(|one| one.unit != "s");
    let rank = found.len();
    let (mut axes, mut rows) = (Vec::new(), Vec::new());
    for one in &found {
        let same = found.iter().filter(|other| other.unit == one.unit);
        let least = same.map(|one| one.scale).fold(f64::INFINITY, f64::min);
        let (unit, factor) = unit(one, least);
        let mut axis = Axis::new(one.name, if one.unit == "s" { "time" } else { "space" });
        axis.unit = Some(unit.to_owned()).filter(|unit| !unit.is_empty());
        axes.push(axis);
        let row = (0..rank).map(|column| if column == one.column { factor } else { 0.0 });
        rows.extend(row.chain([0.0]));
    }
    let map = Affine::from_rows(&rows, rank);
    let map = map.map_err(|error| info.bad(error.what, "scales of axes"))?;
    Ok((axes, (!map.is_identity()).then_some(map)))
}

fn dimensions(info: &JsonFile) -> Result<Vec<DimensionMember<'_>>, ConvertError> {
    let dimensions = info.value.get("dimensions").and_then(Value::as_object);
    let dimensions = dimensions.filter(|one| (1..=MOST_AXES).contains(&one.len()));
    let dimensions = dimensions
        .ok_or_else(|| info.bad("dimensions", format!("an object of 1 to {MOST_AXES} axes")))?;
    let mut found = Vec::new();
    for (column, (name, value)) in dimensions.iter().enumerate() {
        let scale = value.get(0).and_then(Value::as_f64);
        let scale = scale.filter(|scale| scale.is_finite() && *scale > 0.0);
        let unit = value.get(1).and_then(Value::as_str);
        let (Some(scale), Some(unit)) = (scale, unit) else {
            let found = format!("dimension {}", shown(name));
            return Err(info.bad(found, "a list of a scale and a unit"));
        };
        found.push(DimensionMember {
            column,
            name,
            scale,
            unit,
        });
    }
    Ok(found)
}

/// The unit of an axis, where `least` is the smallest scale, and the number of these units in one step of a stored coordinate.
fn unit<'v>(one: &DimensionMember<'v>, least: f64) -> (&'v str, f64) {
    let known: &[(&'static str, f64)] = match one.unit {
        "m" => &LENGTHS,
        "s" => &TIMES,
        _ => &[],
    };
    let fitting = known.iter().find(|(_, size)| least / size >= 1.0 - 1e-9);
    match fitting.or(known.last()) {
        Some((name, size)) => (*name, rounded(one.scale / size)),
        None => (one.unit, one.scale),
    }
}

/// Removes the rounding error of a division of decimal fractions from a factor.
fn rounded(factor: f64) -> f64 {
    let whole = factor.round();
    match (factor - whole).abs() <= 1e-9 * whole {
        true => whole,
        false => factor,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Names and units of axes, and the rows of the map without its last one.
    fn axes(json: &str) -> (Vec<(String, String)>, Vec<Vec<f64>>) {
        let info = JsonFile {
            path: PathBuf::from("info"),
            value: serde_json::from_str(json).unwrap(),
        };
        let (axes, map) = of(&info).unwrap();
        let axes = axes
            .into_iter()
            .map(|one| (one.name, one.unit.unwrap_or_default()));
        let mut rows = map.map_or_else(Vec::new, |map| map.rows());
        rows.pop();
        (axes.collect(), rows)
    }

    fn text(name: &str, unit: &str) -> (String, String) {
        (name.to_owned(), unit.to_owned())
    }

    #[test]
    fn scales_that_are_units_need_no_map() {
        let (found, map) = axes(r#"{"dimensions":{"x":[1e-6,"m"],"y":[1e-6,"m"],"c":[1,""]}}"#);
        let want = [
            text("x", "micrometer"),
            text("y", "micrometer"),
            text("c", ""),
        ];
        assert_eq!(found, want);
        assert!(map.is_empty());
    }

    #[test]
    fn lengths_get_the_unit_of_the_smallest_scale() {
        let (found, map) = axes(r#"{"dimensions":{"x":[4e-9,"m"],"y":[4e-9,"m"],"z":[1e-6,"m"]}}"#);
        assert!(found.iter().all(|(_, unit)| unit == "nanometer"));
        assert_eq!(
            map,
            [
                [4.0, 0.0, 0.0, 0.0],
                [0.0, 4.0, 0.0, 0.0],
                [0.0, 0.0, 1000.0, 0.0]
            ]
        );
    }

    #[test]
    fn time_is_the_first_axis_of_a_store() {
        let (found, map) = axes(r#"{"dimensions":{"x":[1,"m"],"t":[0.002,"s"]}}"#);
        assert_eq!(found, [text("t", "millisecond"), text("x", "meter")]);
        assert_eq!(map, [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]);
    }
}
