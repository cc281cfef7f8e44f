//! `zvf head`, `zvf tail` and `zvf sample-rows`: some rows of a store.

use serde_json::json;
use zvf_jobs::{RowSink, TableRows, warnings_of};
use zvf_query::{Outputs, Query, RowSample, Table, last_rows, sample_rows as drawn_rows};
use zvf_store::Store;

use super::listing;
use super::select;
use super::summary::titles;
use crate::args::{HeadArgs, RowArgs, SampleRowsArgs, TailArgs};
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf head`.
///
/// # Errors
///
/// Usage; as the store and the query say.
pub(crate) fn run(args: &HeadArgs, context: &mut Context<'_>) -> Result<()> {
    let args = &args.asked;
    let url = args.store.as_str();
    let (store, mut query) = open(args, context)?;
    query.limit = Some(args.rows);
    let answer = context.wait_at(url, zvf_query::query(&store, query))?;
    let read = listing::read(context, &store, answer, Table::Vertices, None, None);
    let listing = read.map_err(|error| error.at(url))?;
    let told = (&listing.levels[..], &listing.warnings[..]);
    match &listing.rows {
        Some(rows) => show(args, rows, told, None, context),
        None => Ok(()),
    }
}

/// Runs `zvf tail`.
///
/// # Errors
///
/// Usage; as the store and the query say.
pub(crate) fn tail(args: &TailArgs, context: &mut Context<'_>) -> Result<()> {
    let args = &args.asked;
    let (store, query) = open(args, context)?;
    let found = context.wait_at(&args.store, last_rows(&store, query, args.rows))?;
    let warnings = warnings_of(&store, &found.warnings);
    context.warn(&warnings);
    show(
        args,
        &rows_of(&found),
        (&found.levels, &warnings),
        None,
        context,
    )
}

/// Runs `zvf sample-rows`.
///
/// # Errors
///
/// Usage; as the store and the query say; I/O of the file.
pub(crate) fn sample_rows(args: &SampleRowsArgs, context: &mut Context<'_>) -> Result<()> {
    zvf_jobs::table_target(args.output.as_deref())?;
    let url = args.asked.store.as_str();
    let (store, query) = open(&args.asked, context)?;
    let drawn = drawn_rows(&store, query, args.asked.rows, args.seed);
    let found: RowSample = context.wait_at(url, drawn)?;
    let warnings = warnings_of(&store, &found.warnings);
    context.warn(&warnings);
    if args.output.is_none() {
        let told = (&found.levels[..], &warnings[..]);
        return show(
            &args.asked,
            &rows_of(&found),
            told,
            Some(found.seen),
            context,
        );
    }
    let mut sink = RowSink::new(args.output.as_deref(), &found.schema, None)?;
    for batch in &found.batches {
        sink.push(batch)?;
    }
    let (_, files, rows) = sink.finish()?;
    if context.common.json {
        return print_json(&json!({
            "store": url,
            "level": args.asked.at.level,
            "levels": found.levels,
            "rows": rows,
            "of": found.seen,
            "files": files,
            "warnings": warnings,
        }));
    }
    let (file, rows) = (files.join(", "), counted(rows, "row"));
    context.remark(&format!("wrote {file}: {rows} of {}", found.seen));
    Ok(())
}

/// The store, and the query of its vertices.
fn open(args: &RowArgs, context: &mut Context<'_>) -> Result<(Store, Query)> {
    let url = args.store.as_str();
    let mut asked = select::terms(&args.terms, url, context)?;
    args.at.set(&mut asked);
    asked.tables = Outputs {
        vertices: true,
        links: false,
        objects: false,
    };
    if !args.columns.is_empty() {
        asked.set("columns", &args.columns.join(","))?;
    }
    let query = select::resolved(asked, url, context)?;
    let store = context.open(url, args.at.level, query.need())?;
    Ok((store, query))
}

fn rows_of(found: &RowSample) -> TableRows {
    TableRows {
        schema: found.schema.clone(),
        batches: found.batches.clone(),
    }
}

/// Prints rows with the levels and warnings of their answer, and how many rows they are drawn from.
fn show(
    args: &RowArgs,
    rows: &TableRows,
    (levels, warnings): (&[u32], &[String]),
    of: Option<u64>,
    context: &Context<'_>,
) -> Result<()> {
    if context.common.json {
        let mut document = json!({
            "store": args.store,
            "level": args.at.level,
            "levels": levels,
            "rows": rows,
            "warnings": warnings,
        });
        if let Some(of) = of {
            document["of"] = of.into();
        }
        return print_json(&document);
    }
    let mut table = TextTable::new(titles(&rows.schema));
    for batch in &rows.batches {
        table.batch(batch);
    }
    print_text(&table.render(0))
}
