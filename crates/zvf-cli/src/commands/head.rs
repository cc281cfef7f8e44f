//! `zvf head`, `zvf tail` and `zvf sample-rows`: some rows of a store.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::json;
use zvf_query::{
    Outputs, Query, QuerySpec, RowSample, Table, last_rows, sample_rows as drawn_rows,
};
use zvf_store::Store;

use super::listing::{self, object};
use super::select;
use super::summary::titles;
use crate::args::{HeadArgs, RowArgs, SampleRowsArgs, TailArgs};
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, counted};
use crate::output::{FileSink, print_json, print_text};

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
    let read = listing::read(context, &store, answer, Table::Vertices, None, None, None);
    let listing = read.map_err(|error| error.at(url))?;
    show(
        args,
        (listing.schema.as_ref(), &listing.batches),
        (&listing.levels, &listing.warnings),
        None,
        context,
    )
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
    let warnings = listing::warnings(&store, &found.warnings);
    context.warn(&warnings);
    let rows = (Some(&found.schema), &found.batches[..]);
    show(args, rows, (&found.levels, &warnings), None, context)
}

/// Runs `zvf sample-rows`.
///
/// # Errors
///
/// Usage; as the store and the query say; I/O of the file.
pub(crate) fn sample_rows(args: &SampleRowsArgs, context: &mut Context<'_>) -> Result<()> {
    let target = listing::format(args.output.as_deref())?;
    let url = args.asked.store.as_str();
    let (store, query) = open(&args.asked, context)?;
    let drawn = drawn_rows(&store, query, args.asked.rows, args.seed);
    let found: RowSample = context.wait_at(url, drawn)?;
    let warnings = listing::warnings(&store, &found.warnings);
    context.warn(&warnings);
    let Some((path, format)) = target else {
        let rows = (Some(&found.schema), &found.batches[..]);
        let told = (&found.levels[..], &warnings[..]);
        return show(&args.asked, rows, told, Some(found.seen), context);
    };
    let mut sink = FileSink::create(path, format, &found.schema)?;
    let mut rows = 0;
    for batch in &found.batches {
        sink.write(batch)?;
        rows += batch.num_rows() as u64;
    }
    let file = sink.finish()?;
    if context.common.json {
        return print_json(&json!({
            "store": url,
            "level": args.asked.at.level,
            "levels": found.levels,
            "rows": rows,
            "of": found.seen,
            "files": [file.display().to_string()],
            "warnings": warnings,
        }));
    }
    context.remark(&format!(
        "wrote {}: {} of {}",
        file.display(),
        counted(rows, "row"),
        found.seen
    ));
    Ok(())
}

/// The store, and the query of its vertices.
fn open(args: &RowArgs, context: &mut Context<'_>) -> Result<(Store, Query)> {
    let url = args.store.as_str();
    let mut asked = QuerySpec::new();
    select::terms(&args.terms, &mut asked, url, context)?;
    select::level(&args.at, &mut asked);
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

/// Prints rows with the levels and warnings of their answer, and how many rows they are drawn from.
fn show(
    args: &RowArgs,
    (schema, batches): (Option<&SchemaRef>, &[RecordBatch]),
    (levels, warnings): (&[u32], &[String]),
    of: Option<u64>,
    context: &Context<'_>,
) -> Result<()> {
    if context.common.json {
        let rows = batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| object(batch, row)));
        let mut document = json!({
            "store": args.store,
            "level": args.at.level,
            "levels": levels,
            "rows": rows.collect::<Vec<_>>(),
            "warnings": warnings,
        });
        if let Some(of) = of {
            document["of"] = of.into();
        }
        return print_json(&document);
    }
    let titles = schema.map(|schema| titles(schema));
    let mut table = TextTable::new(titles.unwrap_or_default());
    for batch in batches {
        table.batch(batch);
    }
    print_text(&table.render(0))
}
