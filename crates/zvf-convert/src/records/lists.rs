//! Columns of lists whose lengths a schema does not say: those of one length are read as lists of that length.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::TakeBatch;
use crate::error::{ConvertError, Place, shown};

/// Whether there is such a column.
pub(super) fn any(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| listed(field))
}

/// Whether a column is of such lists.
pub(super) fn listed(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) => {
            let item = item.data_type();
            item.is_numeric() || *item == DataType::Boolean
        }
        _ => false,
    }
}

/// The schema with lists of the length of the first one, which `first` hands over.
pub(super) fn found(
    schema: &SchemaRef,
    first: impl FnOnce(&mut TakeBatch<'_>) -> Result<(), ConvertError>,
) -> Result<SchemaRef, ConvertError> {
    if !any(schema) {
        return Ok(Arc::clone(schema));
    }
    let mut fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| (**field).clone())
        .collect();
    let mut seen = false;
    first(&mut |batch| {
        if !seen && batch.num_rows() > 0 {
            seen = true;
            for (field, column) in fields.iter_mut().zip(batch.columns()) {
                fix(field, Some(column));
            }
        }
        Ok(())
    })?;
    if !seen {
        fields.iter_mut().for_each(|field| fix(field, None));
    }
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        schema.metadata().clone(),
    )))
}

fn fix(field: &mut Field, column: Option<&ArrayRef>) {
    if !listed(field) {
        return;
    }
    if let DataType::List(item) | DataType::LargeList(item) = field.data_type().clone() {
        let width = column.map_or(1, |column| match column.as_list_opt::<i32>() {
            Some(list) => list.value_length(0),
            None => column
                .as_list_opt::<i64>()
                .and_then(|list| i32::try_from(list.value_length(0)).ok())
                .unwrap_or(0),
        });
        field.set_data_type(DataType::FixedSizeList(item, width.max(1)));
    }
}

/// A batch whose lists have the length that the schema says.
pub(super) fn fixed(
    path: &Path,
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<RecordBatch, ConvertError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| {
        let (DataType::FixedSizeList(item, width), DataType::List(_) | DataType::LargeList(_)) =
            (field.data_type(), column.data_type())
        else {
            return Ok(Arc::clone(column));
        };
        let list = match column.as_list_opt::<i32>() {
            Some(list) => items(list, *width),
            None => column
                .as_list_opt::<i64>()
                .and_then(|list| items(list, *width)),
        };
        let list = list.and_then(|items| {
            FixedSizeListArray::try_new(Arc::clone(item), *width, items, None).ok()
        });
        list.map(|list| Arc::new(list) as ArrayRef).ok_or_else(|| {
            let found = format!("column {} with lists of other lengths", shown(field.name()));
            let expected =
                format!("{width} values in each, as in the first; --exclude leaves the column out");
            ConvertError::malformed(path, Place::Whole, found, expected)
        })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|error| {
        ConvertError::malformed(path, Place::Whole, error.to_string(), "rows of one table")
    })
}

/// The values of lists that all have this length.
fn items<O: OffsetSizeTrait>(
    list: &arrow_array::GenericListArray<O>,
    width: i32,
) -> Option<ArrayRef> {
    let width = usize::try_from(width).ok()?;
    let wide = |ends: &[O]| match ends {
        [start, end] => end.as_usize().checked_sub(start.as_usize()) == Some(width),
        _ => false,
    };
    (list.null_count() == 0 && list.offsets().windows(2).all(wide)).then_some(())?;
    let start = list.offsets().first()?.as_usize();
    Some(list.values().slice(start, width.checked_mul(list.len())?))
}
