//! Sets attributes of objects from the columns of a table, such as computed measures.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Field;
use futures::future::BoxFuture;
use zvf_encode::arrow::{check_unit, column_type, described, values, without_nulls};
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, AttributeType, WriteError};

use super::edit::Edit;
use super::tabular;

/// The column of ids.
const ID: &str = "object_id";

impl Edit {
    /// Sets attributes of objects to the columns of a table, regardless of their earlier values. Missing attributes are added, with the type of the
    /// column and the unit and description in the metadata of its field (`zvf.unit`, `zvf.description`).
    ///
    /// # Shape
    /// One row per object, by `object_id` (int64); every other column sets the attribute of its name, with one number or text per row. A null removes
    /// the value of the object. Objects without a row keep their values; they have no value of a new attribute. A table without rows adds the
    /// attributes, and checks existing ones.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: no column `object_id`, an object that does not exist or has two rows, lists, a column of another type or unit than the attribute of its
    /// name. Malformed data: a row without an id. I/O.
    pub fn set_object_columns<'a>(
        &'a mut self,
        table: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = Box::pin(self.take_object_columns(table)).await;
            self.note(done)
        })
    }

    async fn take_object_columns(&mut self, table: &RecordBatch) -> Result<(), WriteError> {
        self.load_tables().await?;
        let ids = tabular::plain(table, ID).ok_or_else(|| {
            let names = table.schema_ref().fields().iter();
            let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
            WriteError::input("columns", names.join(", "), format!("one named {ID}"))
        })?;
        let ids = tabular::wholes(ID, &ids)?.into_iter().enumerate();
        let ids = ids.map(|(row, id)| {
            id.and_then(|id| i64::try_from(id).ok()).ok_or_else(|| {
                WriteError::data(format!("column {ID}, row {row}"), "no id", "a whole number")
            })
        });
        let ids: Vec<i64> = ids.collect::<Result<_, _>>()?;
        let rows = self.rows_of(&ids)?;
        let mut unique = rows.clone();
        unique.sort_unstable();
        unique.dedup();
        if unique.len() != rows.len() {
            return Err(WriteError::input("objects", "an id twice", "each id once"));
        }
        let schema = table.schema();
        let fields = schema.fields().iter().zip(table.columns());
        let columns: Vec<(&Arc<Field>, &ArrayRef)> =
            fields.filter(|(field, _)| field.name() != ID).collect();
        // Everything is checked before any change.
        let mut new = Vec::new();
        for (field, column) in &columns {
            let spec = self.spec_of(field, column)?;
            if !self.tables.contains_key(field.name()) {
                new.push(spec);
            }
        }
        for spec in new {
            self.add_table(spec).await?;
        }
        for (field, column) in columns {
            let nulls = column.logical_nulls();
            let whole = without_nulls(column)?;
            let table = self.tables.get_mut(field.name());
            let table = table.or_bug("values of no attribute")?;
            table.set(&rows, &values(field.name(), &whole)?)?;
            for (row, at) in rows.iter().zip(0..) {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(at)) {
                    table.forget(*row);
                }
            }
        }
        Ok(())
    }

    /// The specification of the attribute of a column.
    ///
    /// # Errors
    /// Misuse: a type that attributes of objects cannot have; a type or unit that differs from the existing attribute.
    fn spec_of(&self, field: &Field, column: &ArrayRef) -> Result<AttributeSpec, WriteError> {
        let name = field.name();
        let what = || format!("object attribute {name}");
        let spec = match column_type(column.data_type()) {
            Some((AttributeType::Number(number), 1)) => AttributeSpec::number(name, number),
            Some((AttributeType::Category, 1)) => AttributeSpec::text(name),
            _ => {
                let found = column.data_type().to_string();
                return Err(WriteError::input(what(), found, "one number or text a row"));
            }
        };
        let spec = described(spec, field)?;
        let Some(table) = self.tables.get(name) else {
            return Ok(spec);
        };
        let known = &table.spec;
        if check_unit(spec.unit.as_deref(), known).is_err() {
            let unit = |spec: &AttributeSpec| {
                let unit = spec.unit.as_deref();
                unit.map_or_else(|| "no unit".to_owned(), |unit| format!("the unit {unit}"))
            };
            let expected = format!(
                "{} as the store has, or an attribute of another name",
                unit(known)
            );
            return Err(WriteError::input(what(), unit(&spec), expected));
        }
        if (known.values, known.channels) != (spec.values, 1) {
            let found = format!("{} values", spec.values.name());
            let expected = format!(
                "{} as the store has, {} a row, or an attribute of another name",
                known.values.name(),
                known.channels
            );
            return Err(WriteError::input(what(), found, expected));
        }
        Ok(spec)
    }
}
