//! The measures of one object.

use zvf_store::meta::Metric;

/// The measures of an object; those that do not apply are missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    pub(super) id: i64,
    pub(super) points: u64,
    pub(super) length: Option<f64>,
    pub(super) tortuosity: Option<f64>,
    pub(super) branches: Option<u64>,
    pub(super) tips: Option<u64>,
    pub(super) strahler: Option<u64>,
    pub(super) faces: Option<u64>,
    pub(super) surface: Option<f64>,
    pub(super) volume: Option<f64>,
    /// The positions of the first and the last vertex; empty without vertices.
    pub(super) first: Vec<f64>,
    pub(super) last: Vec<f64>,
    /// The range on each axis.
    pub(super) bounds: Vec<(f64, f64)>,
    pub(super) means: Vec<Option<f64>>,
}

impl Measured {
    /// A chain with at least one vertex, without bounds and means.
    pub(super) fn chain(
        (id, points, length): (i64, u64, f64),
        metric: Metric,
        first: Vec<f64>,
        last: Vec<f64>,
    ) -> Self {
        let apart = metric.distance(&first, &last);
        Self {
            id,
            points,
            length: Some(length),
            tortuosity: (apart > 0.0).then_some(length / apart),
            first,
            last,
            ..Self::default()
        }
    }

    /// An object without vertices.
    pub(super) fn empty(id: i64) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }
}
