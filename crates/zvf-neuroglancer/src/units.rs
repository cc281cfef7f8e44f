//! Units of axes, converted to metres and seconds for Neuroglancer.

use zvf_meta::{Axis, units};

use crate::precomputed::Dimension;

/// The axes of a store as dimensions of Neuroglancer.
///
/// # Units
/// A unit of length is converted to metres, one of time to seconds; axes of other units, or none, have the scale 1 and no unit.
pub(crate) fn dimensions(axes: &[Axis]) -> Vec<Dimension> {
    let mut found: Vec<Dimension> = Vec::with_capacity(axes.len());
    for axis in axes {
        let unit = axis.unit.as_deref().unwrap_or("");
        let (scale, unit) = match (units::metres(unit), units::seconds(unit)) {
            (Some(scale), _) => (scale, "m"),
            (None, Some(scale)) => (scale, "s"),
            (None, None) => (1.0, ""),
        };
        let taken: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        let name = identifier(&axis.name, &taken);
        found.push(Dimension { name, scale, unit });
    }
    found
}

/// Nanometres of one unit of each of the three axes of space. An axis without a unit of length is assumed to be in nanometres; if a store
/// has two axes of space, the third number is 1.
pub(crate) fn nanometres<'d>(dimensions: impl IntoIterator<Item = &'d Dimension>) -> [f64; 3] {
    let mut scales = [1.0; 3];
    for (scale, axis) in scales.iter_mut().zip(dimensions) {
        if axis.unit == "m" {
            *scale = axis.scale * 1e9;
        }
    }
    scales
}

/// A name that Neuroglancer accepts, `[a-z][a-zA-Z0-9_]*`, different from all `taken` ones.
pub(crate) fn identifier(name: &str, taken: &[&str]) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut plain: String = name
        .chars()
        .map(|c| if legal(c) { c } else { '_' })
        .collect();
    match plain.chars().next() {
        Some(first) if first.is_ascii_lowercase() => {}
        Some(first) if first.is_ascii_uppercase() => {
            plain.replace_range(..1, &first.to_ascii_lowercase().to_string());
        }
        _ => plain.insert(0, 'a'),
    }
    let mut found = plain.clone();
    let mut number = 1;
    while taken.contains(&found.as_str()) {
        number += 1;
        found = format!("{plain}_{number}");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_metres_and_seconds() {
        let axis = |name: &str, unit: Option<&str>| {
            let mut axis = Axis::new(name, "space");
            axis.unit = unit.map(str::to_owned);
            axis
        };
        let axes = [
            axis("x", Some("micrometer")),
            axis("y", Some("8 furlongs")),
            axis("z", Some("mm")),
            axis("t", Some("ms")),
        ];
        let found = dimensions(&axes);
        let scales: Vec<(f64, &str)> = found.iter().map(|one| (one.scale, one.unit)).collect();
        assert_eq!(scales, [(1e-6, "m"), (1.0, ""), (1e-3, "m"), (1e-3, "s")]);
        let [x, y, z] = nanometres(&found);
        assert!((x - 1e3).abs() < 1e-6 && (z - 1e6).abs() < 1e-3);
        assert!((y - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn names_become_identifiers() {
        assert_eq!(identifier("fa", &[]), "fa");
        assert_eq!(identifier("FA mean (%)", &[]), "fA_mean____");
        assert_eq!(identifier("2nd", &[]), "a2nd");
        assert_eq!(identifier("größe", &[]), "gr__e");
        assert_eq!(identifier("", &["a"]), "a_2");
    }
}
