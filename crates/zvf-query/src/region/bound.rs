//! A region, resolved for the axes of a store, with tests of positions and boxes.

use std::sync::Arc;

use zvf_store::meta::{AxesDiffer, Axis, Metric, axes_of_space};

use super::mask::Mask;
use super::mesh::{Block, Mesh};
use super::polygon::{Polygons, Rectangle};
use super::{AxisRange, Overlap, Region, Shape};
use crate::error::existing;
use crate::{BBox, QueryError};

/// A resolved region.
#[derive(Debug, Clone)]
pub(crate) struct BoundRegion {
    shape: BoundShape,
    dims: usize,
}

#[derive(Debug, Clone)]
enum BoundShape {
    All(Vec<BoundShape>),
    Any(Vec<BoundShape>),
    Not(Box<BoundShape>),
    Sphere {
        /// The number of axes of time and channels. They are the first axes of the store, and the center has no coordinate on them.
        before: usize,
        center: Vec<f64>,
        radius: f64,
    },
    Near {
        axis: usize,
        value: f64,
        distance: f64,
    },
    Box(Vec<(usize, f64, f64)>),
    Polygon {
        polygons: Arc<Polygons>,
        plane: [usize; 2],
    },
    Mesh {
        mesh: Arc<Mesh>,
        space: [usize; 3],
    },
    Mask {
        mask: Arc<Mask>,
        /// The axes of the store that are axes of the volume; `None`: the coordinate is 0.
        space: [Option<usize>; 3],
    },
}

impl Region {
    /// Resolves the region for the axes of a store.
    ///
    /// # Errors
    ///
    /// Misuse: a sphere of other dimensions or in a store with several units, names of axes that the store does not have, a polygon or a mesh in a
    /// store with too few axes of space.
    pub(crate) fn bind(&self, axes: &[Axis]) -> Result<BoundRegion, QueryError> {
        let metric = Metric::of_lengths(axes);
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        let space = axes_of_space(axes, axes.len());
        let shape = bind(&self.shape, &names, (&space, metric.as_ref()))?;
        Ok(BoundRegion {
            shape,
            dims: axes.len(),
        })
    }
}

impl BBox {
    /// Parses a box on these axes: its corners, as [`parse`](Self::parse) does, or ranges of some axes (`x=0:10,y=5:`); the others are not limited.
    ///
    /// # Errors
    ///
    /// Misuse: a text of another form, corners of another number of axes, an axis that is not one of these.
    pub fn parse_on(text: &str, axes: &[&str]) -> Result<Self, QueryError> {
        if text.contains('=') {
            let axes: Vec<Axis> = axes.iter().map(|axis| Axis::named(*axis)).collect();
            return Region::of_member("bbox", text)?.bind(&axes)?.bounds(None);
        }
        let bbox = Self::parse(text)?;
        match bbox.dims() == axes.len() {
            true => Ok(bbox),
            false => Err(QueryError::misuse(format!(
                "bbox: found corners of {} coordinates, expected {}, for {}",
                bbox.dims(),
                axes.len(),
                axes.join(", ")
            ))),
        }
    }
}

fn axis_of(member: &str, name: &str, axes: &[&str]) -> Result<usize, QueryError> {
    let found = axes.iter().position(|axis| *axis == name);
    found.ok_or_else(|| {
        let names = existing(axes.iter().copied());
        QueryError::misuse(format!("{member}: no axis {name:?}: {names}"))
    })
}

fn bind(
    shape: &Shape,
    axes: &[&str],
    (space, metric): (&[usize], Result<&Metric, &AxesDiffer>),
) -> Result<BoundShape, QueryError> {
    let each = |parts: &[Shape]| -> Result<Vec<BoundShape>, QueryError> {
        parts
            .iter()
            .map(|part| bind(part, axes, (space, metric)))
            .collect()
    };
    Ok(match shape {
        Shape::All(parts) => BoundShape::All(each(parts)?),
        Shape::Any(parts) => BoundShape::Any(each(parts)?),
        Shape::Not(part) => BoundShape::Not(Box::new(bind(part, axes, (space, metric))?)),
        Shape::Sphere { center, radius } => {
            let metric = metric.map_err(|differ| {
                let way = "a box and near() take each axis in its own unit";
                QueryError::misuse(format!("sphere: {differ}: {way}"))
            })?;
            let space = metric.space(axes);
            if center.len() != space.len() {
                return Err(QueryError::misuse(format!(
                    "sphere: found a centre of {} numbers, expected {}, one for each axis of space ({}), then the radius",
                    center.len(),
                    space.len(),
                    space.join(", ")
                )));
            }
            BoundShape::Sphere {
                before: metric.before(),
                center: center.clone(),
                radius: *radius,
            }
        }
        Shape::Near {
            axis,
            value,
            distance,
        } => BoundShape::Near {
            axis: axis_of("near", axis, axes)?,
            value: *value,
            distance: *distance,
        },
        Shape::Box(ranges) => {
            let range =
                |(axis, low, high): &AxisRange| Ok((axis_of("box", axis, axes)?, *low, *high));
            BoundShape::Box(
                ranges
                    .iter()
                    .map(range)
                    .collect::<Result<_, QueryError>>()?,
            )
        }
        Shape::Mesh(mesh) => {
            let &[x, y, z, ..] = space else {
                return Err(QueryError::misuse(format!(
                    "mesh: found a store of {} axes of space, expected three or more",
                    space.len()
                )));
            };
            let space = [x, y, z];
            let mesh = Arc::clone(mesh);
            BoundShape::Mesh { mesh, space }
        }
        Shape::Mask(mask) => {
            let mut space = [None; 3];
            for (place, name) in mask.axes() {
                if let Some(slot) = space.get_mut(place) {
                    *slot = Some(axis_of("mask", name, axes)?);
                }
            }
            let mask = Arc::clone(mask);
            BoundShape::Mask { mask, space }
        }
        Shape::Objects(..) => {
            return Err(QueryError::bug("a relation of objects among places"));
        }
        Shape::Polygon { polygons, plane } => {
            let plane = match (plane, space) {
                (Some([first, second]), _) => [
                    axis_of("plane", first, axes)?,
                    axis_of("plane", second, axes)?,
                ],
                (None, &[x, y, ..]) => [x, y],
                (None, _) => {
                    return Err(QueryError::misuse(format!(
                        "polygon: found a store of {} axes of space, expected two or more, or a plane that names two of its axes ({})",
                        space.len(),
                        axes.join(", ")
                    )));
                }
            };
            BoundShape::Polygon {
                polygons: Arc::clone(polygons),
                plane,
            }
        }
    })
}

impl BoundRegion {
    /// Whether a position without NaN coordinates is in the region.
    pub(crate) fn contains(&self, position: &[f64]) -> bool {
        self.shape.contains(position)
    }

    /// The overlap with the box between two corners.
    pub(crate) fn overlap(&self, low: &[f64], high: &[f64]) -> Overlap {
        self.shape.overlap(low, high)
    }

    /// A box around the intersection of the region with another box; an arbitrary box if they do not intersect.
    pub(crate) fn bounds(&self, within: Option<&BBox>) -> Result<BBox, QueryError> {
        let all = || vec![(f64::NEG_INFINITY, f64::INFINITY); self.dims];
        let mut found = all();
        self.shape.bound(&mut found);
        if let Some(bbox) = within {
            for ((low, high), (lo, hi)) in found.iter_mut().zip(bbox.lo().iter().zip(bbox.hi())) {
                (*low, *high) = (low.max(*lo), high.min(*hi));
            }
        }
        if found.iter().any(|(low, high)| low > high) {
            // The box need not be exact, because region and box are also tested.
            if let Some(bbox) = within {
                return Ok(bbox.clone());
            }
            found = all();
        }
        let (low, high) = found.into_iter().unzip();
        BBox::new(low, high)
    }
}

/// The coordinate of an axis. Positions and corners have all axes of the store.
fn at(position: &[f64], axis: usize) -> f64 {
    position.get(axis).copied().unwrap_or(f64::NAN)
}

impl BoundShape {
    fn contains(&self, position: &[f64]) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.contains(position)),
            Self::Any(parts) => parts.iter().any(|part| part.contains(position)),
            Self::Not(part) => !part.contains(position),
            Self::Sphere {
                before,
                center,
                radius,
            } => {
                let space = position.iter().skip(*before).zip(center);
                distance(space.map(|(a, b)| a - b)) <= *radius
            }
            Self::Near {
                axis,
                value,
                distance,
            } => (at(position, *axis) - value).abs() <= *distance,
            Self::Box(ranges) => ranges.iter().all(|(axis, low, high)| {
                let one = at(position, *axis);
                *low <= one && one <= *high
            }),
            Self::Polygon { polygons, plane } => {
                polygons.covers(plane.map(|axis| at(position, axis)))
            }
            Self::Mesh { mesh, space } => mesh.covers(space.map(|axis| at(position, axis))),
            Self::Mask { mask, space } => {
                mask.covers(space.map(|axis| axis.map_or(0.0, |axis| at(position, axis))))
            }
        }
    }

    fn overlap(&self, low: &[f64], high: &[f64]) -> Overlap {
        let part = |part: &Self| part.overlap(low, high);
        match self {
            // An intersection is the complement of the union of the complements of its parts.
            Self::All(parts) => {
                Overlap::any(parts.iter().map(|one| part(one).inverted())).inverted()
            }
            Self::Any(parts) => Overlap::any(parts.iter().map(part)),
            Self::Not(one) => part(one).inverted(),
            // Rounding is monotonic, so the computed distance of every position in the block is between the computed distances of its nearest
            // and its farthest point.
            Self::Sphere {
                before,
                center,
                radius,
            } => {
                let axes = || low.iter().zip(high).skip(*before).zip(center);
                let nearest = axes().map(|((low, high), one)| (low - one).max(one - high).max(0.0));
                let farthest = axes().map(|((low, high), one)| (high - one).max(one - low));
                if distance(nearest) > *radius {
                    Overlap::Outside
                } else if distance(farthest) <= *radius {
                    Overlap::Inside
                } else {
                    Overlap::Crosses
                }
            }
            Self::Near {
                axis,
                value,
                distance,
            } => {
                let (low, high) = (at(low, *axis), at(high, *axis));
                if (low - value).max(value - high) > *distance {
                    Overlap::Outside
                } else if (high - value).max(value - low) <= *distance {
                    Overlap::Inside
                } else {
                    Overlap::Crosses
                }
            }
            Self::Box(ranges) => {
                let ranges = || {
                    ranges
                        .iter()
                        .map(|(axis, lo, hi)| (at(low, *axis), at(high, *axis), lo, hi))
                };
                if ranges().any(|(low, high, lo, hi)| high < *lo || low > *hi) {
                    Overlap::Outside
                } else if ranges().all(|(low, high, lo, hi)| *lo <= low && high <= *hi) {
                    Overlap::Inside
                } else {
                    Overlap::Crosses
                }
            }
            Self::Polygon { polygons, plane } => {
                let rectangle: Rectangle = plane.map(|axis| (at(low, axis), at(high, axis)));
                polygons.overlap(&rectangle)
            }
            Self::Mesh { mesh, space } => {
                let block: Block = space.map(|axis| (at(low, axis), at(high, axis)));
                mesh.overlap(&block)
            }
            Self::Mask { mask, space } => {
                let ends = |axis: usize| (at(low, axis), at(high, axis));
                mask.overlap(&space.map(|axis| axis.map_or((0.0, 0.0), ends)))
            }
        }
    }

    /// Narrows the ranges of axes to the bounds of the region.
    fn bound(&self, into: &mut [(f64, f64)]) {
        let mut narrow = |axis: usize, low: f64, high: f64| {
            if let Some(range) = into.get_mut(axis) {
                *range = (range.0.max(low), range.1.min(high));
            }
        };
        // Slightly wider, because the test with rounded differences may accept positions beyond the exact ends.
        let around = |value: f64, distance: f64| {
            let slack = (value.abs() + distance) * 1e-15;
            (value - distance - slack, value + distance + slack)
        };
        match self {
            Self::All(parts) => parts.iter().for_each(|part| part.bound(into)),
            Self::Any(parts) => {
                let mut union: Option<Vec<(f64, f64)>> = None;
                for part in parts {
                    let mut own = into.to_vec();
                    part.bound(&mut own);
                    // An empty part adds nothing.
                    if own.iter().any(|(low, high)| low > high) {
                        continue;
                    }
                    union = Some(match union {
                        None => own,
                        Some(union) => {
                            let both = union.iter().zip(&own);
                            both.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect()
                        }
                    });
                }
                match union {
                    Some(union) => into.copy_from_slice(&union),
                    None => into.fill((f64::INFINITY, f64::NEG_INFINITY)),
                }
            }
            Self::Not(_) => {}
            Self::Sphere {
                before,
                center,
                radius,
            } => {
                for (axis, one) in (*before..).zip(center) {
                    let (low, high) = around(*one, *radius);
                    narrow(axis, low, high);
                }
            }
            Self::Near {
                axis,
                value,
                distance,
            } => {
                let (low, high) = around(*value, *distance);
                narrow(*axis, low, high);
            }
            Self::Box(ranges) => ranges
                .iter()
                .for_each(|(axis, low, high)| narrow(*axis, *low, *high)),
            Self::Mesh { mesh, space } => {
                for (axis, (low, high)) in space.iter().zip(mesh.bounds()) {
                    narrow(*axis, low, high);
                }
            }
            Self::Mask { mask, space } => {
                for (axis, (low, high)) in space.iter().zip(mask.bounds()) {
                    if let Some(axis) = axis {
                        narrow(*axis, low, high);
                    }
                }
            }
            Self::Polygon { polygons, plane } => match polygons.bounds() {
                Some(bounds) => {
                    for (axis, (low, high)) in plane.iter().zip(bounds) {
                        narrow(*axis, low, high);
                    }
                }
                None => into.fill((f64::INFINITY, f64::NEG_INFINITY)),
            },
        }
    }
}

/// A distance, rounded as in NumPy. A comparison of squares would exclude some points at exactly the radius.
fn distance(differences: impl Iterator<Item = f64>) -> f64 {
    differences.fold(0.0, |sum, one| sum + one * one).sqrt()
}
