//! `zvf objects`: the objects of a level, their sizes and attributes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::{Map, Value, json};
use zvf_query::Table;
use zvf_store::{Names, Need};

use crate::args::{FormatArg, ObjectsArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted};
use crate::output::value::{Style, write_value};
use crate::output::{FileSink, format_of, print_json, print_text};

/// Runs `zvf objects`.
///
/// # Errors
///
/// Usage, when the level has no object index or the output's ending is none of a table; as the store says.
pub(crate) fn run(args: &ObjectsArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    let format = match &args.output {
        None => None,
        Some(path) => Some((path, format_of(path).filter(|format| *format != FormatArg::Npy).ok_or_else(|| {
            CliError::usage(format!("{}: expected a name that ends in .csv, .ndjson or .arrow", path.display()))
        })?)),
    };
    let need = Need { objects: true, object_attributes: Names::All, ..Need::nothing() };
    let store = context.open(url, args.level, need.clone())?;
    let level = context.wait(store.level(args.level, &need))?.map_err(|e| CliError::from(e).at(url))?;
    let Some(total) = level.object_index().map(|index| index.len()) else {
        return Err(CliError::usage(format!("{url}: level {} has no object index", args.level)));
    };
    let mut answer = context.wait(zvf_query::list_objects(&store, args.level))?.map_err(|e| CliError::from(e).at(url))?;
    let schema = answer.schema(Table::Objects).cloned();
    let mut sink = match (&format, &schema) {
        (Some((path, format)), Some(schema)) => Some(FileSink::create(path, *format, schema)?),
        _ => None,
    };
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut kept: Vec<RecordBatch> = Vec::new();
    let mut rows = 0u64;
    let progress = context.progress("objects");
    while rows < limit {
        let Some((table, batch)) = context.wait(answer.next())?.map_err(|e| CliError::from(e).at(url))? else { break };
        if table != Table::Objects {
            continue;
        }
        let take = usize::try_from(limit.saturating_sub(rows)).unwrap_or(usize::MAX).min(batch.num_rows());
        let batch = batch.slice(0, take);
        rows = rows.saturating_add(take as u64);
        progress.add(take as u64);
        match &mut sink {
            Some(sink) => sink.write(&batch)?,
            None => kept.push(batch),
        }
    }
    drop(progress);
    let mut warnings = store.warnings();
    for warning in &answer.summary().warnings {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let file = sink.map(FileSink::finish).transpose()?;
    context.warn(&warnings);
    if context.common.json {
        let objects: Vec<Value> = kept.iter().flat_map(members).collect();
        return print_json(&json!({
            "store": url,
            "level": args.level,
            "total": total,
            "truncated": rows < total,
            "objects": if file.is_none() { Value::Array(objects) } else { Value::Null },
            "files": file.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "warnings": warnings,
        }));
    }
    match file {
        Some(file) => context.remark(&format!("wrote {}: {}", file.display(), counted(rows, "object"))),
        None => print_text(&text(args.level, total, schema.as_ref(), &kept))?,
    }
    Ok(())
}

/// The rows of a batch as JSON objects.
fn members(batch: &RecordBatch) -> Vec<Value> {
    let schema = batch.schema();
    let row = |row: usize| {
        let mut members = Map::new();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            let mut text = String::new();
            write_value(&mut text, column.as_ref(), row, Style::Json);
            members.insert(field.name().clone(), serde_json::from_str(&text).unwrap_or(Value::Null));
        }
        Value::Object(members)
    };
    (0..batch.num_rows()).map(row).collect()
}

fn text(level: u32, total: u64, schema: Option<&SchemaRef>, batches: &[RecordBatch]) -> String {
    let titles = schema.iter().flat_map(|schema| schema.fields().iter().map(|field| field.name().clone()));
    let mut table = TextTable::new(titles);
    for batch in batches {
        table.batch(batch);
    }
    let left = total.saturating_sub(table.len() as u64);
    let mut out = table.render(0);
    if left > 0 {
        out.push_str(&format!("… {} more\n", count(left)));
    }
    out.push_str(&format!("level {level}: {}\n", counted(total, "object")));
    out
}
