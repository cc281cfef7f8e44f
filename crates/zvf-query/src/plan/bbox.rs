//! Axis-aligned boxes in world coordinates.

use std::fmt;

use crate::QueryError;

/// An axis-aligned box in world coordinates, inclusive on both sides.
///
/// # Shape
///
/// `lo` and `hi` have one number for each axis, in the axis order of the store, and `lo` is at most `hi`. Infinities are allowed.
///
/// # Units
///
/// World units: the stored value plus `coordinate_offset`, see `zvf-0.9`, section 15.7.
#[derive(Debug, Clone, PartialEq)]
pub struct BBox {
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl BBox {
    /// Makes a box from its corners.
    ///
    /// # Errors
    ///
    /// Misuse: corners of different lengths, no axes, a NaN coordinate, or a lower corner above the upper one, because a box with swapped corners
    /// would silently select nothing.
    pub fn new(lo: Vec<f64>, hi: Vec<f64>) -> Result<Self, QueryError> {
        if lo.len() != hi.len() {
            return Err(QueryError::misuse(format!(
                "bbox: found corners of {} and {} coordinates, expected the same number for both",
                lo.len(),
                hi.len()
            )));
        }
        if lo.is_empty() {
            return Err(QueryError::misuse(
                "bbox: found no axis, expected at least one",
            ));
        }
        if lo.iter().chain(&hi).any(|corner| corner.is_nan()) {
            return Err(QueryError::misuse(
                "bbox: found a corner that is not a number, expected numbers, inf or -inf",
            ));
        }
        let inverted = lo.iter().zip(&hi).position(|(lo, hi)| lo > hi);
        if let Some((axis, (from, to))) = inverted.and_then(|axis| {
            let corners = (lo.get(axis)?, hi.get(axis)?);
            Some((axis, corners))
        }) {
            return Err(QueryError::misuse(format!(
                "bbox, axis {axis}: found {from} to {to}, expected a lower corner that is not above the upper one: LO:HI"
            )));
        }
        Ok(Self { lo, hi })
    }

    /// Parses `LO:HI`, each a comma-separated list of numbers in axis order, e.g. `0,0,0:10,10,10`; `inf` and
    /// `-inf` are numbers here, `nan` is not.
    ///
    /// # Errors
    ///
    /// Misuse: a text without a colon, a coordinate that is not a number, corners that [`new`](Self::new) refuses.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let Some((lo, hi)) = text.split_once(':') else {
            return Err(QueryError::misuse(format!(
                "bbox: found {text:?}, expected LO:HI, each with one number per axis between commas, or ranges of axes such as x=0:10,y=5:"
            )));
        };
        Self::new(corner(lo)?, corner(hi)?)
    }

    /// Lower corner, inclusive.
    pub fn lo(&self) -> &[f64] {
        &self.lo
    }

    /// Upper corner, inclusive.
    pub fn hi(&self) -> &[f64] {
        &self.hi
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.lo.len()
    }

    /// Whether `lo <= p <= hi` on every axis; a NaN coordinate is in no box.
    pub fn contains(&self, position: &[f64]) -> bool {
        position.len() == self.lo.len()
            && position
                .iter()
                .zip(&self.lo)
                .zip(&self.hi)
                .all(|((p, lo), hi)| lo <= p && p <= hi)
    }
}

impl fmt::Display for BBox {
    /// Writes the form that [`parse`](BBox::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (side, corner) in [("", &self.lo), (":", &self.hi)] {
            f.write_str(side)?;
            for (axis, number) in corner.iter().enumerate() {
                write!(f, "{}{number}", if axis == 0 { "" } else { "," })?;
            }
        }
        Ok(())
    }
}

fn corner(text: &str) -> Result<Vec<f64>, QueryError> {
    text.split(',')
        .map(|part| {
            let part = part.trim();
            part.parse::<f64>().map_err(|_| {
                QueryError::misuse(format!(
                    "bbox: found the coordinate {part:?}, expected a number, inf or -inf"
                ))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_on_axes_has_corners_or_ranges() {
        let on = |text| BBox::parse_on(text, &["x", "y", "z"]);
        let corners = |bbox: BBox| (bbox.lo().to_vec(), bbox.hi().to_vec());
        const INF: f64 = f64::INFINITY;
        let found = corners(on("z=-1:2,x=:5").unwrap());
        assert_eq!(found, (vec![-INF, -INF, -1.0], vec![5.0, INF, 2.0]));
        let found = corners(on("0,1,2:3,4,5").unwrap());
        assert_eq!(found, (vec![0.0, 1.0, 2.0], vec![3.0, 4.0, 5.0]));
        for (wrong, said) in [
            (
                "0,1:3,4",
                "found corners of 2 coordinates, expected 3, for x, y, z",
            ),
            ("t=0:1", "no axis \"t\""),
            ("x=2:1", "x"),
            ("x", "expected LO:HI"),
        ] {
            let error = on(wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn corners_may_be_infinite_and_negative() {
        let bbox = BBox::parse("-inf,-2.5 , 0:inf,1e3,0").unwrap();
        assert_eq!(bbox.lo(), [f64::NEG_INFINITY, -2.5, 0.0]);
        assert_eq!(bbox.hi(), [f64::INFINITY, 1000.0, 0.0]);
        assert!(bbox.contains(&[1e300, 0.0, 0.0]));
        assert!(!bbox.contains(&[f64::NAN, 0.0, 0.0]));
    }

    #[test]
    fn what_is_no_box_is_misuse() {
        for text in [
            "", "1,2,3", "1:2,3", "nan:1", "1:nan", "1,:2,3", "a:b", "1:2:3",
        ] {
            let error = BBox::parse(text).unwrap_err();
            assert_eq!(error.class(), zvf_store::Class::Misuse, "{text}: {error}");
        }
    }

    #[test]
    fn an_inverted_box_is_misuse() {
        for (text, axis) in [
            ("1,0:0,5", 0),
            ("0,5:1,4.5", 1),
            ("inf:-inf", 0),
            ("0,0,inf:1,1,9", 2),
        ] {
            let error = BBox::parse(text).unwrap_err();
            assert_eq!(error.class(), zvf_store::Class::Misuse, "{text}: {error}");
            let place = format!("bbox, axis {axis}: ");
            assert!(error.to_string().starts_with(&place), "{text}: {error}");
        }
        assert!(BBox::new(vec![2.0], vec![1.0]).is_err());
        // One point, one plane and everything are boxes.
        for text in ["1,0:1,0", "-0.0:0.0", "0.0:-0.0", "-inf:inf", "inf:inf"] {
            assert!(BBox::parse(text).is_ok(), "{text}");
        }
    }
}
