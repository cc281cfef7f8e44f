//! `zvf query` and `zvf get`: a table on stdout, plans, and the report for people.

use std::fmt::Write as _;
use std::io::{BufWriter, stdout};

use arrow_schema::Schema;
use zvf_convert::output::axis_names;
use zvf_jobs::{QueryAnswered, QueryJob, QueryReport, TableRows};

use super::listing::chain;
use super::{explain, export, jobs};
use crate::args::QueryArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{TextTable, count, counted, joined, shortest};
use crate::output::{BUFFER, print_text};

/// Shows what a query would read.
///
/// # Errors
///
/// The errors of the store and the documents.
pub(super) fn explained(args: &QueryArgs, context: &mut Context<'_>) -> Result<()> {
    let (job, _) = args.job();
    let with = context.of_jobs();
    let opened = context.wait(job.open(&with))?;
    let (store, query) = opened.map_err(|error| jobs::by_flag("query", error))?;
    explain::run(&job.store, &store, &query, context)
}

/// Whether the table of vertices goes to stdout.
pub(super) fn is_printed((job, print_job): &(QueryJob, bool)) -> bool {
    !print_job && job.result.output.is_none() && job.result.format.is_some()
}

/// Prints the table of vertices.
///
/// # Errors
///
/// The errors of the store and the query; usage, with --json.
pub(super) fn print(name: &str, job: QueryJob, context: &mut Context<'_>) -> Result<()> {
    if context.common.json {
        return Err(CliError::usage(
            "--json and --format both want stdout: give -o OUT for the table",
        ));
    }
    let given = job.clone().into();
    let with = jobs::running(&given, context);
    let out = BufWriter::with_capacity(BUFFER, stdout());
    let done = context.wait(job.write_table(Box::new(out), &with))?;
    drop(with);
    let done = done.map_err(|error| jobs::by_flag(name, error))?;
    context.warn(&done.warnings);
    Ok(())
}

/// Shows a report: files on stderr, or a summary.
///
/// # Errors
///
/// I/O.
pub(super) fn show(report: &QueryReport, context: &Context<'_>) -> Result<()> {
    let done = match report {
        QueryReport::File(done) => {
            context.remark(&format!("wrote {}", export::line(done)));
            return Ok(());
        }
        QueryReport::Answer(done) => done,
        _ => return Ok(()),
    };
    for file in &done.files {
        let (rows, what) = done.counted(file);
        context.remark(&format!("wrote {file}: {}", counted(rows, what)));
    }
    match done.files.is_empty() {
        true => print_text(&text(done)),
        false => Ok(()),
    }
}

/// The summary for people.
fn text(done: &QueryAnswered) -> String {
    let mut out = String::new();
    let mut head = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<10}{value}");
    };
    let levels = chain(done.level, &done.levels);
    head("store", format!("{} ({}, {levels})", done.store, done.kind));
    let cut = if done.truncated {
        ", cut by --limit"
    } else {
        ""
    };
    head("vertices", format!("{}{cut}", count(done.vertices)));
    if let Some(links) = done.links {
        head("links", count(links));
    }
    if let Some(objects) = done.objects {
        head("objects", count(objects));
    }
    if let Some([lo, hi]) = &done.bounds {
        let rows = done.first_vertices.as_ref();
        let names = rows
            .map(|rows| axis_names(&rows.schema))
            .unwrap_or_default();
        let axes = lo.iter().zip(hi).enumerate();
        let axes = axes.map(|(i, (lo, hi))| match names.get(i) {
            Some(name) => format!("{name} {} to {}", shortest(*lo), shortest(*hi)),
            None => format!("{} to {}", shortest(*lo), shortest(*hi)),
        });
        head("bounds", joined(axes, ", "));
    }
    let (chunks, cells) = (done.chunks_read, done.cells_read);
    let read = [counted(chunks, "chunk"), counted(cells, "cell")];
    head("read", read.join(", "));
    let objects = done.objects.unwrap_or(0);
    for (rows, all, what) in [
        (&done.first_vertices, done.vertices, "vertices"),
        (&done.first_objects, objects, "objects"),
    ] {
        if let Some(rows) = rows {
            let _ = write!(out, "\n{}", first(rows, all, what));
        }
    }
    out
}

/// The first rows of a table under a title.
fn first(rows: &TableRows, all: u64, what: &str) -> String {
    let table = titled(rows);
    let shown = table.len() as u64;
    let title = if shown < all {
        format!("first {shown} of {} {what}", count(all))
    } else {
        what.to_owned()
    };
    format!("{title}\n{}", table.render(2))
}

/// Rows with the titles of their columns.
pub(super) fn titled(rows: &TableRows) -> TextTable {
    let mut table = TextTable::new(titles(&rows.schema));
    for batch in &rows.batches {
        table.batch(batch);
    }
    table
}

/// Column titles; positions are one column titled by the axes.
fn titles(schema: &Schema) -> Vec<String> {
    let axes = axis_names(schema);
    let title = |name: &str| match name == "position" && !axes.is_empty() {
        true => axes.join(" "),
        false => name.to_owned(),
    };
    let fields = schema.fields().iter();
    fields.map(|field| title(field.name())).collect()
}
