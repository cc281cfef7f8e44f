//! Converts columns of Arrow tables to columns of a store.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use zvf_write::Values;
pub(crate) use zvf_write::arrow::column_type as kind;

/// The values of a column; UUIDs as texts. `None` for a type that a store does not hold, or if integers are missing,
/// which callers exclude.
pub(crate) fn values(column: &ArrayRef) -> Option<Values> {
    if matches!(column.data_type(), DataType::FixedSizeBinary(16)) {
        return Some(Values::optional_texts(texts(column)));
    }
    zvf_write::arrow::values("", column).ok()
}

/// The schema of a table after [`plain_column`]: durations, UUIDs and columns without a type are texts; all columns are nullable.
pub(crate) fn plain(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let text = matches!(
            field.data_type(),
            DataType::Duration(_) | DataType::FixedSizeBinary(16) | DataType::Null
        );
        match text {
            true => Field::new(field.name(), DataType::Utf8, true),
            false => field.as_ref().clone().with_nullable(true),
        }
    });
    let fields: Vec<Field> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Converts durations to texts with their unit, and UUIDs to texts. A column without a type becomes missing texts; other columns do not change.
pub(crate) fn plain_column(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Duration(unit) => {
            let word = crate::time::word(*unit);
            let numbers = crate::time::numbers(column).unwrap_or_default().into_iter();
            let texts = numbers.map(|number| number.map(|number| format!("{number} {word}")));
            Arc::new(texts.collect::<StringArray>())
        }
        DataType::FixedSizeBinary(16) => {
            Arc::new(texts(column).into_iter().collect::<StringArray>())
        }
        DataType::Null => Arc::new(StringArray::new_null(column.len())),
        _ => Arc::clone(column),
    }
}

/// A table with durations as texts with their unit, such as `5 milliseconds`, so that they cannot be mistaken for numbers of another unit; with
/// UUIDs (16-byte binaries) as texts; and with columns without a type as missing texts.
///
/// # Errors
///
/// Columns of another length than the table, which Arrow does not make.
pub fn with_plain_columns(table: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = table.columns().iter().map(plain_column).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(table.num_rows()));
    RecordBatch::try_new_with_options(plain(&table.schema()), columns, &rows)
}

/// A UUID as text: digits in groups of 8, 4, 4, 4 and 12.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The integers of a column; empty for other types. The value of a missing integer is unspecified.
pub(crate) fn wide(items: &ArrayRef) -> Box<dyn Iterator<Item = i128> + '_> {
    macro_rules! wide {
        ($($data:ident $type:ty),*) => {
            match items.data_type() {
                $(DataType::$data => {
                    let list = items.as_primitive::<$type>().values();
                    Box::new(list.iter().map(|value| i128::from(*value)))
                })*
                _ => Box::new(std::iter::empty()),
            }
        };
    }
    wide!(
        Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
        UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type
    )
}

/// The texts of a column of texts, of a dictionary of texts, or of UUIDs; empty for other columns.
pub(crate) fn texts(column: &ArrayRef) -> Vec<Option<Cow<'_, str>>> {
    match column.as_fixed_size_binary_opt() {
        Some(list) if list.value_length() == 16 => list
            .iter()
            .map(|bytes| bytes.map(|bytes| Cow::Owned(uuid(bytes))))
            .collect(),
        _ => zvf_write::arrow::texts(column).unwrap_or_default(),
    }
}
