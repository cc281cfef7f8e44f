//! Rows of tables: in a report, or in a file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use zvf_convert::output::{Style, batch_with_times, with_times, write_value};
use zvf_query::{Answer, Table};
use zvf_store::Store;
use zvf_store::format::int;

use crate::error::Result;
use crate::{JobError, TableFile, TableFormat};

/// The rows of a table. Rows are serialized one at a time, as a list of objects, because a `Value` for each row takes fifty times the memory of the
/// columns. Dates, times and durations are columns of their Arrow types; if one of them is outside the range of its type, the batch keeps the stored
/// numbers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TableRows {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

impl TableRows {
    /// A table without rows, for the batches of an answer.
    pub(crate) fn new(schema: &Schema) -> Self {
        Self {
            schema: Arc::new(with_times(schema)),
            batches: Vec::new(),
        }
    }

    /// Adds the rows of a batch.
    pub(crate) fn push(&mut self, batch: RecordBatch) {
        self.batches.push(batch_with_times(&batch).unwrap_or(batch));
    }
}

impl Serialize for TableRows {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let rows = |batch| (0..RecordBatch::num_rows(batch)).map(move |row| json_row(batch, row));
        to.collect_seq(self.batches.iter().flat_map(rows))
    }
}

/// The value in a row of a column, as JSON.
#[must_use]
pub fn json_value(column: &dyn Array, row: usize) -> Value {
    let mut text = String::new();
    write_value(&mut text, column, row, Style::Json);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// A row of a batch as a JSON object.
#[must_use]
pub fn json_row(batch: &RecordBatch, row: usize) -> Map<String, Value> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    columns
        .map(|(field, column)| (field.name().clone(), json_value(column.as_ref(), row)))
        .collect()
}

/// Collects the rows of a table up to a limit, in a file or in memory.
#[derive(Debug)]
pub struct RowSink {
    file: Option<TableFile>,
    rows: TableRows,
    left: u64,
    count: u64,
}

impl RowSink {
    /// Begins the table: for a file by its ending, or for memory.
    ///
    /// # Errors
    ///
    /// Misuse: an ending that is not the ending of a table format, a file in a store. I/O.
    pub fn new(output: Option<&Path>, schema: &SchemaRef, limit: Option<u64>) -> Result<Self> {
        let file = table_target(output)?;
        let file = file.map(|(path, format)| TableFile::create(path, format, schema));
        Ok(Self {
            file: file.transpose()?,
            rows: TableRows::new(schema),
            left: limit.unwrap_or(u64::MAX),
            count: 0,
        })
    }

    /// Whether the limit is reached.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Adds rows up to the limit; returns their number.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<u64> {
        let take = usize::try_from(self.left).unwrap_or(usize::MAX);
        let take = take.min(batch.num_rows());
        if take == 0 {
            return Ok(0);
        }
        let batch = batch.slice(0, take);
        match &mut self.file {
            Some(file) => file.write(&batch)?,
            None => self.rows.push(batch),
        }
        let took = int::wide(take);
        self.left = self.left.saturating_sub(took);
        self.count = self.count.saturating_add(took);
        Ok(took)
    }

    /// Completes the file. Returns the rows (`None` if they are in a file), the names of files and the number of rows.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<(Option<TableRows>, Vec<String>, u64)> {
        let Self {
            file, rows, count, ..
        } = self;
        match file.map(TableFile::finish).transpose()? {
            Some(path) => Ok((None, vec![path.display().to_string()], count)),
            None => Ok((Some(rows), Vec::new(), count)),
        }
    }
}

/// The format of an output file for a table.
///
/// # Errors
///
/// Misuse: an ending that is not the ending of a table format.
pub fn table_target(output: Option<&Path>) -> Result<Option<(&Path, TableFormat)>> {
    let format = output.map(|path| TableFormat::of_table(path).map(|format| (path, format)));
    format.transpose()
}

/// One table of an answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listing {
    /// Its first rows, unless they were written to a file.
    pub rows: Option<TableRows>,
    /// Rows that were listed.
    pub count: u64,
    /// All rows of the table.
    pub total: u64,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// The file that was written.
    pub files: Vec<String>,
    /// Violations of the format in the store.
    pub warnings: Vec<String>,
}

impl Listing {
    /// Reads a table of an answer, to a file or to memory. With a known number of rows (`total`) nothing is read past the limit;
    /// otherwise all rows are counted.
    ///
    /// # Errors
    ///
    /// Misuse: an answer without this table. The errors of the query and the output.
    pub async fn read(
        store: &Store,
        mut answer: Answer,
        table: Table,
        (output, limit, total): (Option<&Path>, Option<u64>, Option<u64>),
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Self> {
        let schema = answer.schema(table).cloned();
        let schema = schema.ok_or_else(|| JobError::usage("found no such table in the answer"))?;
        let mut sink = RowSink::new(output, &schema, limit)?;
        let mut seen = 0_u64;
        while total.is_none() || !sink.is_full() {
            let next = answer.next().await;
            let Some((of, batch)) = next.map_err(JobError::query(store.url()))? else {
                break;
            };
            if of == table {
                seen = seen.saturating_add(int::wide(batch.num_rows()));
                progress(sink.push(&batch)?);
            }
        }
        let (rows, files, count) = sink.finish()?;
        let summary = answer.summary();
        Ok(Self {
            rows,
            count,
            total: total.unwrap_or(seen),
            levels: summary.levels.clone(),
            files,
            warnings: warnings_of(store, &summary.warnings),
        })
    }
}

/// Refuses an output whose ending is not that of a table.
pub(crate) fn check_output(output: Option<&Path>) -> Result<()> {
    match output.map(|path| (path, TableFormat::of_table(path))) {
        Some((path, Err(_))) => {
            let expected = "a name that ends in .csv, .ndjson, .arrow or .parquet";
            Err(JobError::option("output", path.display(), expected))
        }
        _ => Ok(()),
    }
}

/// The warnings of a store, then the warnings of a query, each once.
#[must_use]
pub fn warnings_of(store: &Store, query: &[String]) -> Vec<String> {
    let mut warnings = store.warnings();
    for warning in query {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings
}
