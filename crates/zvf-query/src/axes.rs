//! Resolves names of attributes and axes in conditions.

use zvf_store::Store;

use crate::columns::attribute::ColumnSpec;
use crate::columns::position::PositionSpec;
use crate::filter::{OperandType, exactly};
use crate::region::BoundRegion;
use crate::{BBox, Query, QueryError, Region};

/// The number of the axis with this name.
pub(crate) fn axis_number(store: &Store, name: &str) -> Option<usize> {
    let mut axes = store.root().axes().iter();
    axes.position(|axis| axis.name == name)
}

/// The number and type of the operand that a name refers to: a column, or an axis if no column has this name. Axes are channels of the positions,
/// which are the operand after the last column.
///
/// # Errors
///
/// Misuse: no such name.
pub(crate) fn operand(
    store: &Store,
    columns: &[ColumnSpec],
    position: &PositionSpec,
    name: &str,
) -> Result<(usize, OperandType), QueryError> {
    let exact = exactly(name);
    let attribute = exact.as_deref().unwrap_or(name);
    let found = columns.iter().position(|column| column.name == attribute);
    let found = found.and_then(|at| Some((at, columns.get(at)?.operand_type())));
    let axis = |axis| {
        let kind = OperandType {
            dtype: position.little_dtype(),
            categories: None,
            fill_code: None,
            axis: Some(axis),
            is_decoded: false,
        };
        (columns.len(), kind)
    };
    let found = found.or_else(|| axis_number(store, name).map(axis));
    found.ok_or_else(|| {
        QueryError::misuse(format!(
            "the filter names attribute {name:?}, which does not exist"
        ))
    })
}

/// The region of a query, resolved for the axes of the store.
///
/// # Errors
///
/// The errors of [`Region::bind`](crate::Region).
pub(crate) fn bound_region(
    store: &Store,
    query: &Query,
) -> Result<Option<BoundRegion>, QueryError> {
    let region = query.region.as_ref();
    let bind = |region: &Region| region.bind(store.root().axes());
    region.map(bind).transpose()
}

/// The box of a query, intersected with the ranges of axes that its condition requires. `None` if the condition requires no range, or if the
/// intersection is empty: the box of the query then applies unchanged.
pub(crate) fn narrowed(
    store: &Store,
    query: &Query,
    columns: &[ColumnSpec],
    position: &PositionSpec,
) -> Option<BBox> {
    let axis = |name: &str| {
        let attribute = columns.iter().any(|column| column.name == name);
        axis_number(store, name).filter(|_| !attribute)
    };
    let rounded = |number: f64| position.rounded(number);
    let ranges = query
        .filter
        .as_ref()?
        .ranges(position.dims, &axis, &rounded)?;
    let mut corners: (Vec<f64>, Vec<f64>) = ranges.into_iter().unzip();
    if let Some(bbox) = &query.bbox {
        let sides = corners.0.iter_mut().zip(&mut corners.1);
        for ((low, high), (lo, hi)) in sides.zip(bbox.lo().iter().zip(bbox.hi())) {
            (*low, *high) = (low.max(*lo), high.min(*hi));
        }
    }
    // If the intersection is empty, evaluating the condition rejects all rows.
    BBox::new(corners.0, corners.1).ok()
}
