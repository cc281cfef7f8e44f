//! Columns of a query result as columns of a batch.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_schema::Field;
use arrow_select::take::{TakeOptions, take};
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, AttributeType, Values, WriteError, arrow};

/// Rows of a column, in the order of `rows`.
///
/// # Errors
/// Malformed data: a missing value in a column of numbers. Misuse: a type that cannot be written.
pub(super) fn rows(name: &str, column: &ArrayRef, rows: &[u32]) -> Result<Values, WriteError> {
    let checked = Some(TakeOptions { check_bounds: true });
    let rows = UInt32Array::from(rows.to_vec());
    let taken = take(column, &rows, checked);
    let taken = taken.or_bug(format_args!("rows that {name} does not have"))?;
    let values = arrow::values(name, &taken)?;
    if taken.null_count() > 0 && values.number_type().is_some() {
        let expected = "a value for every vertex";
        return Err(WriteError::data(name, "rows without a value", expected));
    }
    Ok(values)
}

/// The declaration of an attribute of vertices or links.
pub(super) fn declare(name: &str, column: &ArrayRef) -> Result<AttributeSpec, WriteError> {
    let field = Field::new(name, column.data_type().clone(), true);
    arrow::declare(&field, AttributeType::Category)
}

/// Numbers of any type as f64.
pub(super) fn to_f64(column: &ArrayRef) -> Result<Vec<f64>, WriteError> {
    Ok(arrow::values("position", column)?.to_f64())
}
