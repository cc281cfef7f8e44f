//! `zvf measure`: lengths, branches, surfaces and means of each object.

use arrow_array::RecordBatch;
use serde_json::json;
use zvf_query::{Measures, QuerySpec};
use zvf_store::{Need, Store};

use super::edit::{finish, opened};
use super::listing::{self, object};
use super::select;
use crate::args::MeasureArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted};
use crate::output::{FileSink, print_json, print_text};

/// Starts to measure the selected objects.
fn start(args: &MeasureArgs, context: &mut Context<'_>) -> Result<(Store, Measures)> {
    let url = args.store.as_str();
    let mut asked = QuerySpec::new();
    select::terms(&args.terms, &mut asked, url, context)?;
    select::level(&args.at, &mut asked);
    let query = select::resolved(asked, url, context)?;
    let store = context.open(url, args.at.level, Need::nothing())?;
    let measures = context.wait_at(url, Measures::start(&store, query, &args.mean))?;
    Ok((store, measures))
}

/// Writes measures as attributes of the objects.
fn write(args: &MeasureArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    if args.at.level != 0 {
        let level = args.at.level;
        return Err(CliError::usage(format!(
            "--as: found it with --level {level}, expected level 0, whose objects have attributes"
        )));
    }
    let columns: Vec<(&str, &str)> = args
        .attributes
        .iter()
        .map(|word| word.split_once('=').unwrap_or((word, word)))
        .collect();
    // No other writer changes the store between the query and the edit: the edit begins first.
    let edit = opened(url, context)?;
    let started = start(args, context).and_then(|(store, measures)| {
        let measures = measures.with_columns(columns.iter().copied());
        Ok((store, measures.map_err(CliError::from)?))
    });
    let (store, mut measures) = match started {
        Ok(started) => started,
        Err(error) => {
            context.wait(edit.abandon())??;
            return Err(error);
        }
    };
    let progress = context.progress("objects");
    let mut objects = 0;
    let done = finish(url, edit, context, async |edit| {
        // Types are checked before anything is measured.
        let none = RecordBatch::new_empty(measures.schema());
        edit.set_object_columns(&none).await?;
        while let Some(batch) = measures.next().await? {
            edit.set_object_columns(&batch).await?;
            objects += batch.num_rows() as u64;
            progress.add(batch.num_rows() as u64);
        }
        Ok(())
    })?;
    drop(progress);
    let warnings = listing::warnings(&store, &[]);
    context.warn(&warnings);
    let names: Vec<&str> = columns.iter().map(|(_, name)| *name).collect();
    if context.common.json {
        return print_json(&json!({
            "store": url,
            "kind": store.kind().to_string(),
            "attributes": names,
            "objects": objects,
            "put": done.put,
            "removed": done.removed,
            "warnings": warnings,
        }));
    }
    print_text(&format!(
        "{url}: {} of {}: {}\n",
        counted(names.len() as u64, "attribute"),
        counted(objects, "object"),
        names.join(", ")
    ))
}

/// Runs `zvf measure`.
///
/// # Errors
///
/// Usage; as the store and the query say.
pub(crate) fn run(args: &MeasureArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    if !args.attributes.is_empty() {
        return write(args, context);
    }
    let target = listing::format(args.output.as_deref())?;
    let (store, mut measures) = start(args, context)?;
    let schema = measures.schema();
    let mut sink = match target {
        Some((path, format)) => Some(FileSink::create(path, format, &schema)?),
        None => None,
    };
    let limit = args.limit.unwrap_or(u64::MAX);
    let (mut batches, mut rows) = (Vec::new(), 0_u64);
    let progress = context.progress("objects");
    while rows < limit {
        let Some(batch) = context.wait_at(url, measures.next())? else {
            break;
        };
        let left = usize::try_from(limit - rows).unwrap_or(usize::MAX);
        let batch = batch.slice(0, left.min(batch.num_rows()));
        rows += batch.num_rows() as u64;
        progress.add(batch.num_rows() as u64);
        match &mut sink {
            Some(sink) => sink.write(&batch)?,
            None => batches.push(batch),
        }
    }
    drop(progress);
    let file = sink.map(FileSink::finish).transpose()?;
    let warnings = listing::warnings(&store, &[]);
    context.warn(&warnings);
    if context.common.json {
        let objects = batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| object(batch, row)));
        let objects = file.is_none().then(|| objects.collect::<Vec<_>>());
        let files = file.iter().map(|file| file.display().to_string());
        return print_json(&json!({
            "store": url,
            "kind": store.kind().to_string(),
            "level": args.at.level,
            "total": measures.len(),
            "objects": objects,
            "files": files.collect::<Vec<_>>(),
            "warnings": warnings,
        }));
    }
    if let Some(file) = file {
        context.remark(&format!(
            "wrote {}: {}",
            file.display(),
            counted(rows, "object")
        ));
        return Ok(());
    }
    let mut table = TextTable::new(schema.fields().iter().map(|field| field.name().clone()));
    for batch in &batches {
        table.computed(batch);
    }
    let mut out = table.render(0);
    let left = measures.len().saturating_sub(rows);
    if left > 0 {
        out.push_str(&format!("… {} more\n", count(left)));
    }
    print_text(&out)
}
