//! Objects with their rows, and what a read returns of them.

use std::collections::BTreeMap;

/// Lanes of a store.
pub(super) const LANES: i64 = 3;

/// One vertex: its position in quarters, and its values; `w` in halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) at: [i32; 3],
    pub(super) n: i64,
    pub(super) w: i32,
    pub(super) t: &'static str,
}

/// One object: its vertices in their order, and its own value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) rows: Vec<Row>,
    pub(super) v: Option<i64>,
}

/// The objects of one lane.
pub(super) type State = BTreeMap<i64, Object>;

/// What a read returned: lines for each object.
pub(super) type Answer = BTreeMap<i64, Vec<String>>;
