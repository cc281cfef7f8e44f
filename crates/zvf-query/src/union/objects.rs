//! The object table of a chain of levels: an object has one row, regardless of its levels.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::SchemaRef;
use zvf_store::format::int;
use zvf_store::{IdTable, Level, ObjectIndex};

use super::schema::{self, Source, fitted, wrong};
use crate::QueryError;
use crate::answer::{Emit, Table};
use crate::objects::{Form, ObjectRow, ObjectTable, ObjectValues};

/// The object tables of all levels that have an object index.
#[derive(Debug)]
pub(crate) struct ObjectUnion {
    pub(crate) schema: SchemaRef,
    levels: Vec<OneLevel>,
    form: Form,
}

#[derive(Debug)]
struct OneLevel {
    /// Place in the chain.
    at: usize,
    number: u32,
    table: ObjectTable,
    index: Arc<ObjectIndex>,
}

/// One object of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnionRow {
    pub(crate) id: i64,
    /// The numbers of the form of the table, in order.
    pub(crate) numbers: [u64; 3],
    /// The levels with vertices of the object, as bits by place in the chain.
    pub(crate) live: u64,
}

/// The bit of a place in the chain. A chain has at most 64 levels.
pub(crate) fn bit(at: usize) -> u64 {
    u32::try_from(at)
        .ok()
        .and_then(|at| 1_u64.checked_shl(at))
        .unwrap_or(0)
}

impl ObjectUnion {
    /// The table of a chain; `None` if no level has an object index.
    ///
    /// # Errors
    ///
    /// Unsupported: an attribute with values on two levels that fit no common type.
    pub(crate) fn new(
        chain: &[Level],
        form: Form,
        metadata: &HashMap<String, String>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>, QueryError> {
        let mut levels = Vec::new();
        for (at, level) in chain.iter().enumerate() {
            if let Some(index) = level.object_index() {
                levels.push(OneLevel {
                    at,
                    number: level.number(),
                    table: ObjectTable::new(
                        level.number(),
                        level.object_attributes(),
                        form,
                        metadata.clone(),
                        warnings,
                    ),
                    index: Arc::clone(index),
                });
            }
        }
        let sources: Vec<Source<'_>> = levels
            .iter()
            .map(|level| Source::new(level.number, &level.table.schema))
            .collect();
        let schema = schema::schema("object_attributes", &sources)?;
        Ok(schema.map(|schema| Self {
            schema,
            levels,
            form,
        }))
    }

    /// Sends objects in batches of at most `batch_rows` rows; returns their number.
    ///
    /// Attributes come from a level that has vertices of the object, else from another level that has a value.
    ///
    /// # Cost
    ///
    /// Reads the attributes of a level once if they take at most `budget` bytes and the answer has more than a sixteenth of the level's objects. Otherwise
    /// reads for each batch the chunks with its rows.
    ///
    /// # Errors
    ///
    /// I/O; malformed chunks.
    pub(crate) async fn send(
        &self,
        rows: &[UnionRow],
        round: u32,
        batch_rows: usize,
        budget: u64,
        emit: &mut Emit,
    ) -> Result<u64, QueryError> {
        let mut whole = Vec::with_capacity(self.levels.len());
        for level in &self.levels {
            let many = int::wide(rows.len()) > level.index.len() / 16;
            let small = level.table.bytes() <= budget;
            whole.push(if small && many && !rows.is_empty() {
                Some(level.table.read_all(round).await?)
            } else {
                None
            });
        }
        let mut sent = 0;
        for rows in rows.chunks(batch_rows.max(1)) {
            let batch = self.batch(rows, &whole, round).await?;
            sent += emit.send(Table::Objects, &batch, batch_rows).await;
        }
        Ok(sent)
    }

    async fn batch(
        &self,
        rows: &[UnionRow],
        whole: &[Option<ObjectValues>],
        round: u32,
    ) -> Result<RecordBatch, QueryError> {
        let mut batches = Vec::with_capacity(self.levels.len());
        for (level, whole) in self.levels.iter().zip(whole) {
            let ids = level.index.ids_in(round).await?;
            let own = level.rows(rows, &ids);
            let batch = level.table.batch(&own, whole.as_ref(), round).await?;
            batches.push(fitted(
                level.number,
                "object_attributes",
                &self.schema,
                &batch,
            )?);
        }
        let columns =
            (0..self.schema.fields().len()).map(|column| self.column(column, rows, &batches));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
        let level = self.levels.first().map_or(0, |level| level.number);
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| wrong(level, "object_attributes", &error))
    }

    /// One column: each value from the first level that has one; levels with vertices of the object come before others.
    fn column(
        &self,
        column: usize,
        rows: &[UnionRow],
        batches: &[RecordBatch],
    ) -> Result<ArrayRef, QueryError> {
        let parts = || {
            let arrays = batches
                .iter()
                .filter_map(|batch| batch.columns().get(column));
            self.levels.iter().zip(arrays)
        };
        let to = self.schema.field(column).data_type();
        let mut found = match parts().next() {
            // Ids and numbers are the same on all levels.
            Some((_, array)) if batches.len() == 1 || column <= self.form.numbers() => {
                return Ok(Arc::clone(array));
            }
            _ => new_null_array(to, rows.len()),
        };
        for live in [true, false] {
            for (level, array) in parts() {
                let take = rows.iter().enumerate().map(|(at, row)| {
                    let lives = row.live & bit(level.at) != 0;
                    found.is_null(at) && array.is_valid(at) && (lives || !live)
                });
                let take: BooleanArray = take.map(Some).collect();
                if take.true_count() > 0 {
                    found = arrow_select::zip::zip(&take, array, &found)
                        .map_err(|error| wrong(level.number, "object_attributes", &error))?;
                }
            }
        }
        Ok(found)
    }
}

impl OneLevel {
    /// The objects as rows of the level's object table.
    fn rows(&self, rows: &[UnionRow], ids: &IdTable) -> Vec<ObjectRow> {
        rows.iter()
            .map(|row| ObjectRow {
                id: row.id,
                row: ids.slot(row.id),
                numbers: row.numbers,
            })
            .collect()
    }
}

/// Numbers of rows by object id, summed over levels, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    places: HashMap<i64, usize>,
    pub(crate) rows: Vec<UnionRow>,
}

impl Sums {
    /// Adds rows of an object at a place of the chain.
    pub(crate) fn add(&mut self, at: usize, id: i64, numbers: [u64; 3]) {
        let place = *self.places.entry(id).or_insert_with(|| {
            self.rows.push(UnionRow {
                id,
                numbers: [0; 3],
                live: 0,
            });
            self.rows.len() - 1
        });
        if let Some(row) = self.rows.get_mut(place) {
            for (sum, number) in row.numbers.iter_mut().zip(numbers) {
                *sum = sum.saturating_add(number);
            }
            if numbers.iter().any(|number| *number > 0) {
                row.live |= bit(at);
            }
        }
    }
}
