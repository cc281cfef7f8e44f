//! The object table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_buffer::{MutableBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures::future::try_join_all;
use zvf_store::{TypedArray, TypedValues};

use crate::QueryError;
use crate::answer::{Emit, Table};
use crate::columns::arrow;
use crate::error::Place;
use zvf_store::format::int;

/// Columns of the object table in addition to ids and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `start` and `length`: the rows of each object in the vertex table.
    Grouped,
    /// `vertices`: the number of rows of each object in the result.
    Counted,
    /// `vertices`, `chunks`, `fragments`: counts of each object in the level.
    Listed,
}

/// The object table of one level.
#[derive(Debug, Clone)]
pub(crate) struct ObjectTable {
    pub(crate) schema: SchemaRef,
    form: Form,
    attributes: Vec<TypedArray>,
    level: u32,
}

/// One object of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectRow {
    pub(crate) id: i64,
    /// Row of the object index; `None` for an object without one.
    pub(crate) row: Option<u64>,
    /// The numbers of the form of the table, in order.
    pub(crate) numbers: [u64; 3],
}

/// Values of all attributes in all rows, or in some.
#[derive(Debug)]
pub(crate) struct ObjectValues {
    /// The rows, ascending; `None` for all of them.
    rows: Option<Vec<u64>>,
    values: Vec<TypedValues>,
}

impl ObjectValues {
    /// The place of a row among the values.
    fn place(&self, row: u64) -> Option<usize> {
        match &self.rows {
            None => usize::try_from(row).ok(),
            Some(rows) => rows.binary_search(&row).ok(),
        }
    }
}

impl ObjectTable {
    /// The table of a level with some of its attributes. Attributes of unsupported types are left out, with a warning.
    pub(crate) fn new(
        level: u32,
        of_level: &[TypedArray],
        form: Form,
        metadata: HashMap<String, String>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut fields = vec![Field::new("object_id", DataType::Int64, false)];
        fields.extend(
            form.names()
                .iter()
                .map(|name| arrow::placed(Field::new(*name, DataType::UInt64, false))),
        );
        let mut attributes = Vec::new();
        for attribute in of_level {
            let Some(element) = arrow::element_type(attribute.dtype()) else {
                warnings.push(format!(
                    "object attribute {:?} is left out: values of dtype {} cannot be read",
                    attribute.name(),
                    attribute.dtype()
                ));
                continue;
            };
            let width = usize::try_from(attribute.width()).unwrap_or(usize::MAX);
            let name = free_name(attribute.name(), &fields);
            let field = Field::new(name, arrow::row_type(element, width), true);
            fields.push(field.with_metadata(attribute_metadata(attribute)));
            attributes.push(attribute.clone());
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        Self {
            schema,
            form,
            attributes,
            level,
        }
    }

    /// Bytes of all attributes of all rows.
    pub(crate) fn bytes(&self) -> u64 {
        let row = |attribute: &TypedArray| {
            attribute
                .width()
                .saturating_mul(int::wide(attribute.dtype().size()))
        };
        self.attributes
            .iter()
            .map(|attribute| attribute.rows().saturating_mul(row(attribute)))
            .sum()
    }

    /// Reads the attributes of all rows.
    ///
    /// # Errors
    ///
    /// I/O; malformed chunks.
    pub(crate) async fn read_all(&self, round: u32) -> Result<ObjectValues, QueryError> {
        let all = self
            .attributes
            .iter()
            .map(|attribute| attribute.read_rows_in(round, 0..attribute.rows()));
        Ok(ObjectValues {
            rows: None,
            values: try_join_all(all).await?,
        })
    }

    /// Reads the attributes in some rows, in any order.
    ///
    /// # Errors
    ///
    /// I/O; malformed chunks.
    pub(crate) async fn read(
        &self,
        mut rows: Vec<u64>,
        round: u32,
    ) -> Result<ObjectValues, QueryError> {
        rows.sort_unstable();
        rows.dedup();
        let all = self.attributes.iter().map(|attribute| {
            // An attribute with fewer rows has no value for the others.
            let stored = rows.partition_point(|row| *row < attribute.rows());
            attribute.read_some_in(round, rows.get(..stored).unwrap_or(&[]))
        });
        let values = try_join_all(all).await?;
        Ok(ObjectValues {
            values,
            rows: Some(rows),
        })
    }

    /// Sends objects in batches of at most `batch_rows` rows; returns their number. Without `values`, they are read for each batch.
    ///
    /// # Errors
    ///
    /// I/O; malformed chunks.
    pub(crate) async fn send(
        &self,
        mut rows: impl Iterator<Item = ObjectRow>,
        values: Option<&ObjectValues>,
        round: u32,
        batch_rows: usize,
        emit: &mut Emit,
    ) -> Result<u64, QueryError> {
        let mut sent = 0;
        loop {
            let part: Vec<ObjectRow> = rows.by_ref().take(batch_rows.max(1)).collect();
            if part.is_empty() {
                return Ok(sent);
            }
            let batch = self.batch(&part, values, round).await?;
            sent += emit.send(Table::Objects, &batch, batch_rows).await;
        }
    }

    /// One batch; without `values`, they are read.
    ///
    /// # Errors
    ///
    /// I/O; malformed chunks.
    pub(crate) async fn batch(
        &self,
        rows: &[ObjectRow],
        values: Option<&ObjectValues>,
        round: u32,
    ) -> Result<RecordBatch, QueryError> {
        if let Some(values) = values {
            return self.batch_of(rows, values);
        }
        let known = rows.iter().filter_map(|row| row.row).collect();
        self.batch_of(rows, &self.read(known, round).await?)
    }

    fn batch_of(
        &self,
        rows: &[ObjectRow],
        values: &ObjectValues,
    ) -> Result<RecordBatch, QueryError> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        arrays.push(Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|row| row.id),
        )));
        for number in 0..self.form.names().len() {
            let numbers = rows
                .iter()
                .map(|row| row.numbers.get(number).copied().unwrap_or(0))
                .collect();
            arrays.push(arrow::counts(numbers));
        }
        for (attribute, of) in self.attributes.iter().zip(&values.values) {
            let places = rows.iter().map(|row| values.place(row.row?));
            arrays.push(self.column(attribute, of, places)?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(|error| {
            QueryError::malformed(
                Place::array(self.level, "object_attributes"),
                error.to_string(),
            )
        })
    }

    fn column(
        &self,
        attribute: &TypedArray,
        values: &TypedValues,
        places: impl ExactSizeIterator<Item = Option<usize>>,
    ) -> Result<ArrayRef, QueryError> {
        let width = usize::try_from(attribute.width()).unwrap_or(usize::MAX);
        let size = values.dtype.size().saturating_mul(width.max(1));
        let mut bytes = MutableBuffer::with_capacity(places.len().saturating_mul(size));
        let mut valid = Vec::with_capacity(places.len());
        for at in places {
            let found = at.and_then(|at| Some((at, values.row(at)?)));
            match found {
                Some((at, value)) if !(values.is_masked(at) || values.is_absent(at)) => {
                    bytes.extend_from_slice(value);
                    valid.push(true);
                }
                _ => {
                    bytes.extend_zeros(size);
                    valid.push(false);
                }
            }
        }
        let valid = valid.contains(&false).then(|| NullBuffer::from(valid));
        arrow::rows(values.dtype, width.max(1), bytes, valid).map_err(|error| {
            let path = format!("object_attributes/{}", attribute.name());
            QueryError::malformed(Place::array(self.level, &path), error.to_string())
        })
    }
}

/// The name of an attribute's column: its own, unless the table has a column of that name.
pub(crate) fn free_name(name: &str, fields: &[Field]) -> String {
    if fields.iter().any(|field| field.name() == name) {
        format!("attribute:{name}")
    } else {
        name.to_owned()
    }
}

impl Form {
    /// The number of columns of numbers after the ids.
    pub(crate) fn numbers(self) -> usize {
        self.names().len()
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Grouped => &["start", "length"],
            Self::Counted => &["vertices"],
            Self::Listed => &["vertices", "chunks", "fragments"],
        }
    }
}

fn attribute_metadata(attribute: &TypedArray) -> HashMap<String, String> {
    let stored = attribute.attributes();
    let (unit, description) = (stored.unit.as_deref(), stored.description.as_deref());
    let mut metadata = arrow::metadata(unit, description, stored.channel_names.as_deref());
    if let (Some(_), Some(doc)) = (attribute.sentinel(), attribute.doc()) {
        metadata.insert("zvf.absent_value".to_owned(), doc.fill_value.to_string());
    }
    metadata
}
