//! The record of one vertex between the batch and its cell.
//!
//! ```text
//! ┌────────┬─────────────┬───────────┬───────────┬──────────────┬──────────────────────────┐
//! │ number │ object      │ root      │ position  │ attributes … │ attributes of fragments… │
//! │ u64    │ i64         │ u8        │ D numbers │              │                          │
//! │        │ if objects  │ skeletons │           │              │                          │
//! └────────┴─────────────┴───────────┴───────────┴──────────────┴──────────────────────────┘
//! ```
//!
//! The number counts vertices as they were pushed; in skeletons as a walk meets them. Categories are codes of 32 bits
//! here.

use std::ops::Range;

use zvf_meta::Kind;

use crate::spec::{AttributeSpec, AttributeType, StoreSpec};

/// Where the parts of a record lie.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) object: Option<usize>,
    pub(crate) root: Option<usize>,
    pub(crate) position: Range<usize>,
    pub(crate) attributes: Vec<Range<usize>>,
    pub(crate) fragment_attributes: Vec<Range<usize>>,
    /// Bytes of one record.
    pub(crate) width: usize,
}

/// Bytes of one row of an attribute in records.
pub(crate) fn row_size(attribute: &AttributeSpec) -> usize {
    let one = match attribute.values {
        AttributeType::Number(number) => number.size(),
        AttributeType::Category | AttributeType::Text => 4,
    };
    one.saturating_mul(attribute.channels)
}

impl Layout {
    pub(crate) fn new(spec: &StoreSpec) -> Self {
        let mut end = 8_usize;
        let mut take = |size: usize| {
            let start = end;
            end = start.saturating_add(size);
            start..end
        };
        let object = spec.has_objects().then(|| take(8).start);
        let root = (spec.kind == Kind::Skeleton).then(|| take(1).start);
        let position = take(spec.dims().saturating_mul(spec.positions.size()));
        let mut each = |list: &[AttributeSpec]| -> Vec<Range<usize>> {
            list.iter().map(|one| take(row_size(one))).collect()
        };
        let attributes = each(&spec.vertex_attributes);
        let fragment_attributes = each(&spec.fragment_attributes);
        Self {
            object,
            root,
            position,
            attributes,
            fragment_attributes,
            width: end,
        }
    }

    /// The number of the vertex.
    pub(crate) fn number(record: &[u8]) -> u64 {
        record
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The object of the vertex; 0 where there are none.
    pub(crate) fn object(&self, record: &[u8]) -> i64 {
        self.object
            .and_then(|at| record.get(at..)?.first_chunk())
            .map_or(0, |bytes| i64::from_le_bytes(*bytes))
    }

    /// The attributes of the fragment that the vertex belongs to, all together.
    pub(crate) fn fragment<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        match self.fragment_attributes.first() {
            Some(first) => record.get(first.start..).unwrap_or_default(),
            None => &[],
        }
    }

    /// Whether a tree begins with the vertex.
    pub(crate) fn is_root(&self, record: &[u8]) -> bool {
        self.root
            .and_then(|at| record.get(at))
            .is_some_and(|&flag| flag != 0)
    }
}
