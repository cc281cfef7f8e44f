//! Columns of lists without a fixed length in the schema. If all lists have the same length, they are read as lists of that length.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, OffsetSizeTrait, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use crate::error::{ConvertError, InFile, shown};

/// Whether a table has a column of lists without a fixed length.
pub(crate) fn any(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| listed(field))
}

/// Whether a column has lists of numbers or booleans without a fixed length.
pub(crate) fn listed(field: &Field) -> bool {
    match field.data_type() {
        DataType::List(item) | DataType::LargeList(item) => {
            let item = item.data_type();
            item.is_numeric() || *item == DataType::Boolean
        }
        _ => false,
    }
}

/// The length of the lists of each column; `None` while it is unknown.
#[derive(Debug)]
pub(crate) struct ListLengths(Vec<Option<i32>>);

impl ListLengths {
    /// Records the length of the first present list of each column; returns whether all are known.
    pub(crate) fn see(&mut self, batch: &RecordBatch) -> bool {
        for (width, column) in self.0.iter_mut().zip(batch.columns()) {
            if width.is_some() {
                continue;
            }
            let Some(row) = (0..column.len()).find(|row| column.is_valid(*row)) else {
                continue;
            };
            *width = Some(match column.as_list_opt::<i32>() {
                Some(list) => list.value_length(row),
                None => column
                    .as_list_opt::<i64>()
                    .and_then(|list| i32::try_from(list.value_length(row)).ok())
                    .unwrap_or(0),
            });
        }
        self.0.iter().all(Option::is_some)
    }
}

/// The schema with lists of fixed length: that of the first list that is present. To find it, `look` passes batches to [`ListLengths::see`].
pub(crate) fn found(
    schema: &SchemaRef,
    look: impl FnOnce(&mut ListLengths) -> Result<(), ConvertError> + Send,
) -> Result<SchemaRef, ConvertError> {
    if !any(schema) {
        return Ok(Arc::clone(schema));
    }
    // Other columns need no length.
    let fields = schema.fields().iter();
    let mut widths = ListLengths(fields.map(|field| (!listed(field)).then_some(1)).collect());
    look(&mut widths)?;
    let fields = schema.fields().iter().zip(&widths.0).map(|(field, width)| {
        let mut field = field.as_ref().clone();
        if let (true, DataType::List(item) | DataType::LargeList(item)) =
            (listed(&field), field.data_type().clone())
        {
            let width = width.unwrap_or(1).max(1);
            field.set_data_type(DataType::FixedSizeList(item, width));
        }
        field
    });
    let fields: Vec<Field> = fields.collect();
    Ok(Arc::new(Schema::new_with_metadata(
        fields,
        schema.metadata().clone(),
    )))
}

/// The most rows of a batch, which limits its memory: missing lists of a fixed length take space, too.
pub(crate) fn at_most(schema: &Schema) -> usize {
    const VALUES: usize = 1 << 22;
    let widths = schema.fields().iter().map(|field| match field.data_type() {
        DataType::FixedSizeList(_, width) => usize::try_from(*width).unwrap_or(1),
        _ => 1,
    });
    VALUES
        .checked_div(widths.max().unwrap_or(1))
        .unwrap_or(1)
        .max(1)
}

/// Converts the lists of a batch to the length in the schema.
pub(crate) fn fixed(
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
            let nulls = column.nulls().cloned();
            FixedSizeListArray::try_new(Arc::clone(item), *width, items, nulls).ok()
        });
        list.map(|list| Arc::new(list) as ArrayRef).ok_or_else(|| {
            let found = format!("column {} with lists of other lengths", shown(field.name()));
            let expected = format!(
                "{width} values in each, as in the first list; --exclude leaves the column out"
            );
            ConvertError::malformed(path, InFile::Whole, found, expected)
        })
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|error| {
        ConvertError::malformed(path, InFile::Whole, error.to_string(), "rows of one table")
    })
}

/// The values of lists of this length; the values of missing lists are missing.
fn items<O: OffsetSizeTrait>(
    list: &arrow_array::GenericListArray<O>,
    width: i32,
) -> Option<ArrayRef> {
    let width = usize::try_from(width).ok()?;
    let wide = |ends: &[O]| match ends {
        [start, end] => end.as_usize().checked_sub(start.as_usize()) == Some(width),
        _ => false,
    };
    let ends = || list.offsets().windows(2);
    if list.null_count() == 0 && ends().all(wide) {
        let start = list.offsets().first()?.as_usize();
        return Some(list.values().slice(start, width.checked_mul(list.len())?));
    }
    let mut places: Vec<Option<u64>> = Vec::with_capacity(width.checked_mul(list.len())?);
    for (row, ends) in ends().enumerate() {
        let there = list.is_valid(row);
        let start = ends.first()?.as_usize() as u64;
        (!there || wide(ends)).then_some(())?;
        places.extend((start..).take(width).map(|place| there.then_some(place)));
    }
    take(list.values(), &UInt64Array::from(places), None).ok()
}
