//! The result of the first pass over files: a draft of the store that they need.

use serde_json::Value;
use zvf_write::{Axis, Kind, NumberType, StoreSpec};

use crate::shape::VertexExtent;

/// The result of the first pass of a reader.
#[derive(Debug)]
pub(crate) struct FirstPass {
    pub(crate) extent: VertexExtent,
    pub(crate) objects: u64,
    pub(crate) links: u64,
    /// Complete except for the chunk size, which is 1.
    pub(crate) spec: StoreSpec,
    pub(crate) frame: Option<Value>,
    pub(crate) stated: Stated,
    pub(crate) notes: Vec<String>,
}

/// The statements of files about the axes of their positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stated {
    /// Nothing: the axes of the specification are in the order of the coordinates, whatever their names.
    Nothing,
    /// Their names.
    Names,
    /// Their names, and the units of the positions.
    Units,
}

/// A specification for one kind; the chunk size is chosen later.
pub(crate) fn draft(kind: Kind, axes: &[&str], positions: NumberType) -> StoreSpec {
    let axes: Vec<Axis> = axes.iter().map(|name| Axis::new(*name, "space")).collect();
    StoreSpec::new(kind, vec![1.0; axes.len()])
        .with_axes(axes)
        .with_positions(positions)
}

/// float32 or float64.
pub(crate) fn float_type(single: bool) -> NumberType {
    if single {
        NumberType::F32
    } else {
        NumberType::F64
    }
}
