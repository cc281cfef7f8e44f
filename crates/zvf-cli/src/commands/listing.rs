//! What `zvf objects` and `zvf links` share: one table, listed up to a limit, kept for the terminal or written to a file.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::{Map, Value};
use zvf_convert::output::{Style, write_value};
use zvf_query::{Answer, Table};
use zvf_store::Store;

use crate::args::FormatArg;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count};
use crate::output::{FileSink, table_format};

/// A table that was read.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Its schema, when the answer has the table.
    pub(crate) schema: Option<SchemaRef>,
    /// Its rows, unless they went to a file.
    pub(crate) batches: Vec<RecordBatch>,
    /// How many rows were listed.
    pub(crate) rows: u64,
    /// How many there are.
    pub(crate) total: u64,
    /// The levels that were read, if more than the requested one.
    pub(crate) levels: Vec<u32>,
    /// The file written.
    pub(crate) file: Option<PathBuf>,
    /// Violations of the format in the store.
    pub(crate) warnings: Vec<String>,
}

impl Listing {
    /// The rows that were listed as text, and how many were not.
    pub(crate) fn text(&self, table: &TextTable) -> String {
        let mut out = table.render(0);
        let left = self.total.saturating_sub(self.rows);
        if left > 0 {
            out.push_str(&format!("… {} more\n", count(left)));
        }
        out
    }
}

/// The format of an output file for a table.
///
/// # Errors
///
/// Usage, when the ending is none of a table.
pub(crate) fn format(output: Option<&Path>) -> Result<Option<(&Path, FormatArg)>> {
    let Some(path) = output else { return Ok(None) };
    match table_format(path) {
        Some(format) => Ok(Some((path, format))),
        None => Err(CliError::usage(format!(
            "{}: expected a name that ends in .csv, .ndjson, .arrow or .parquet",
            path.display()
        ))),
    }
}

/// Reads one table of an answer, to a file or to memory. `total` is the number of its rows if that is known: then
/// nothing is read past the limit; otherwise all rows are counted.
///
/// # Errors
///
/// The errors of the query and the output.
pub(crate) fn read(
    context: &mut Context<'_>,
    store: &Store,
    mut answer: Answer,
    table: Table,
    target: Option<(&Path, FormatArg)>,
    limit: Option<u64>,
    total: Option<u64>,
) -> Result<Listing> {
    let schema = answer.schema(table).cloned();
    let mut sink = match (target, &schema) {
        (Some((path, format)), Some(schema)) => Some(FileSink::create(path, format, schema)?),
        _ => None,
    };
    let limit = limit.unwrap_or(u64::MAX);
    let (mut rows, mut seen) = (0u64, 0u64);
    let mut batches = Vec::new();
    let progress = context.progress("rows");
    while total.is_none() || rows < limit {
        let Some((of, batch)) = context.wait(answer.next())?? else {
            break;
        };
        if of != table {
            continue;
        }
        seen = seen.saturating_add(batch.num_rows() as u64);
        let take = usize::try_from(limit.saturating_sub(rows))
            .unwrap_or(usize::MAX)
            .min(batch.num_rows());
        if take == 0 {
            continue;
        }
        let batch = batch.slice(0, take);
        rows = rows.saturating_add(take as u64);
        progress.add(take as u64);
        match &mut sink {
            Some(sink) => sink.write(&batch)?,
            None => batches.push(batch),
        }
    }
    drop(progress);
    let warnings = warnings(store, &answer.summary().warnings);
    let file = sink.map(FileSink::finish).transpose()?;
    context.warn(&warnings);
    Ok(Listing {
        schema,
        batches,
        rows,
        total: total.unwrap_or(seen),
        levels: answer.summary().levels.clone(),
        file,
        warnings,
    })
}

/// The warnings of a store, then the warnings of a query, each once.
pub(crate) fn warnings(store: &Store, of_query: &[String]) -> Vec<String> {
    let mut warnings = store.warnings();
    for warning in of_query {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    warnings
}

/// The level, and those that complete it: `level 0`, `level 0 with 1, 2`.
pub(crate) fn chain(level: u32, levels: &[u32]) -> String {
    let more: Vec<String> = levels.iter().skip(1).map(ToString::to_string).collect();
    if more.is_empty() {
        format!("level {level}")
    } else {
        format!("level {level} with {}", more.join(", "))
    }
}

/// The value in a row of a column as JSON.
pub(crate) fn member(column: &dyn arrow_array::Array, row: usize) -> Value {
    let mut text = String::new();
    write_value(&mut text, column, row, Style::Json);
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// A row of a batch as a JSON object.
pub(crate) fn object(batch: &RecordBatch, row: usize) -> Map<String, Value> {
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    columns
        .map(|(field, column)| (field.name().clone(), member(column.as_ref(), row)))
        .collect()
}
