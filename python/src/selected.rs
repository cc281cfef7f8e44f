//! Boxes and ids of selections, as Python passes them.

use pyo3::prelude::*;
use zvf_edit::Edit;
use zvf_query::{BBox, IdRanges, QueryError, QuerySpec};

/// A box: its corners, or a text.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) enum SelectedBox {
    Text(String),
    Corners(Vec<f64>, Vec<f64>),
}

impl SelectedBox {
    /// Adds the box to the description of a query.
    pub(crate) fn add_to(self, spec: &mut QuerySpec) -> Result<(), QueryError> {
        match self {
            Self::Text(text) => spec.set("bbox", &text)?,
            Self::Corners(low, high) => spec.bbox = Some(BBox::new(low, high)?),
        }
        Ok(())
    }
}

/// Ids of objects: a list, or a text with ranges.
#[derive(Debug, Clone, FromPyObject)]
pub(crate) enum SelectedIds {
    Text(String),
    List(Vec<i64>),
}

impl SelectedIds {
    /// The ids and ranges.
    pub(crate) fn ranges(self) -> Result<IdRanges, QueryError> {
        match self {
            Self::Text(text) => IdRanges::parse(&text),
            Self::List(ids) => Ok(ids.into()),
        }
    }

    /// The ids that the store has; an id that no object has is an error unless `ignore_missing` is set. Empty for a store without objects,
    /// which the edit refuses.
    pub(crate) fn existing(
        self,
        edit: &Edit,
        ignore_missing: bool,
    ) -> Result<Vec<i64>, QueryError> {
        zvf_jobs::existing_ids(edit, &self.ranges()?, ignore_missing)
    }
}
