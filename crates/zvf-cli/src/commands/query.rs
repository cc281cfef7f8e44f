//! `zvf query` and `zvf get`: a selection, written or summed up.

use std::collections::BTreeSet;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use zvf_convert::{Format, groups_of, groups_table};
use zvf_jobs::Output;
#[cfg(feature = "parquet")]
use zvf_jobs::TableFormat;
use zvf_query::{Query, Select, Table};

use super::explain;
use super::export::Job;
use super::select;
use super::splits;
use super::summary::{Digest, Report};
use crate::args::{GetArgs, QueryArgs, ResultArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::dir::GROUPS;
use crate::output::table::counted;
use crate::output::{Sink, Target, print_json, print_text};

/// Runs `zvf query`.
///
/// # Errors
///
/// As the store, the query and the output say.
pub(crate) fn query(args: &QueryArgs, context: &mut Context<'_>) -> Result<()> {
    let output = output(&args.store, &args.result, context)?;
    let target = target(&args.result, output.as_ref(), context)?;
    let mut query = select::of_query(args, &target, context)?;
    if let Some(split) = args.split {
        query = match &target {
            Target::Export(_, format) => {
                let file = (*format, args.select.map(Select::from), false);
                splits::of_file(&args.store, &query, file, split, context)?
            }
            _ => splits::one(&args.store, &query, split, context)?,
        };
    }
    if args.explain {
        return explain::run(&args.store, &query, context);
    }
    match (&target, output) {
        (Target::Export(_, format), Some(output)) => {
            let select = args.select.map(Select::from);
            export(&args.store, query, (output, *format), select, context)
        }
        (target, output) => run(&args.store, query, (target, output), context),
    }
}

/// Runs `zvf get`.
///
/// # Errors
///
/// As [`query`].
pub(crate) fn get(args: &GetArgs, context: &mut Context<'_>) -> Result<()> {
    let output = output(&args.store, &args.result, context)?;
    let target = target(&args.result, output.as_ref(), context)?;
    let query = select::of_get(args, &target, context)?;
    match (&target, output) {
        (Target::Export(_, format), Some(output)) => {
            export(&args.store, query, (output, *format), None, context)
        }
        (target, output) => run(&args.store, query, (target, output), context),
    }
}

fn output(store: &str, args: &ResultArgs, context: &Context<'_>) -> Result<Option<Output>> {
    let of = |given: &PathBuf| Output::of(given, store, &context.options().io);
    Ok(args.output.as_ref().map(of).transpose()?)
}

fn target(args: &ResultArgs, output: Option<&Output>, context: &Context<'_>) -> Result<Target> {
    let target = Target::of(output.map(Output::path), args.format)?;
    #[cfg(feature = "parquet")]
    let target = match target {
        Target::Export(file, Format::Parquet) if !args.columns.is_empty() => {
            Target::File(file, TableFormat::Parquet)
        }
        other => other,
    };
    if context.common.json && matches!(target, Target::Stdout(_)) {
        return Err(CliError::usage(
            "--json and --format both want stdout: give -o OUT for the table",
        ));
    }
    if let (Target::Export(file, _), false) = (&target, args.columns.is_empty()) {
        return Err(CliError::usage(format!(
            "--columns: found some for {}, expected none: they are for .arrow, .csv, .ndjson, .parquet and directories; --attributes chooses \
             attributes",
            file.display()
        )));
    }
    Ok(target)
}

/// Writes a file as `zvf export` does.
fn export(
    store: &str,
    query: Query,
    (output, format): (Output, Format),
    select: Option<Select>,
    context: &mut Context<'_>,
) -> Result<()> {
    let file = output.path().to_owned();
    let mut job = Job {
        store,
        file: &file,
        format,
        links: None,
        faces: false,
        query,
        select,
        keep_frame: false,
    };
    let done = job.write(context)?;
    let sent = context.sent(output, vec![file.clone()])?;
    job.file = sent.first().unwrap_or(&file);
    if context.common.json {
        return print_json(&job.document(&done));
    }
    context.remark(&format!("wrote {}", job.line(&done)));
    Ok(())
}

fn run(
    url: &str,
    query: Query,
    (target, output): (&Target, Option<Output>),
    context: &mut Context<'_>,
) -> Result<()> {
    let level = query.level;
    let store = context.open(url, level, query.need())?;
    let mut answer = context.wait_at(url, zvf_query::query(&store, query))?;
    let (has_links, has_objects) = (
        answer.schema(Table::Links).is_some(),
        answer.schema(Table::Objects).is_some(),
    );
    let mut sink = Sink::open(target, |table| answer.schema(table).map(AsRef::as_ref))?;
    let mut digest = Digest::default();
    let progress = context.progress("vertices");
    let grouped = has_objects && matches!(target, Target::Directory(_));
    let mut members = BTreeSet::new();
    while let Some((table, batch)) = context.wait_at(url, answer.next())? {
        digest.look(table, &batch);
        if grouped && table == Table::Objects {
            let ids = batch.column_by_name("object_id");
            let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
            members.extend(ids.iter().flat_map(|ids| ids.values().iter().copied()));
        }
        if table == Table::Vertices {
            progress.add(batch.num_rows() as u64);
        }
        sink.write(table, &batch)?;
    }
    drop(progress);
    let mut left = Vec::new();
    let mut groups = 0;
    if grouped {
        let found = context.wait(groups_of(&store, level, Some(&members)))?;
        let found = found.map_err(|e| CliError::from(e).at(url))?;
        if let Some((found, notes)) = found.filter(|(found, _)| !found.members().is_empty()) {
            let table = groups_table(&found, &store);
            sink.groups(&table.map_err(|e| CliError::from(e).at(url))?)?;
            groups = found.members().len() as u64;
            left = notes;
        }
    }
    let mut files = sink.finish()?;
    if let Some(output) = output {
        files = context.sent(output, files)?;
    }
    let summary = answer.summary();
    let warnings = zvf_jobs::warnings_of(&store, &summary.warnings);
    context.warn(&warnings);
    for note in &left {
        context.remark(note);
    }
    let traffic = context.traffic();
    let kind = store.kind().to_string();
    let report = Report {
        store: url,
        kind,
        level,
        summary,
        has_links,
        has_objects,
        digest: &digest,
        files: &files,
        warnings: &warnings,
        traffic,
    };
    if context.common.json {
        return print_json(&report.document());
    }
    if *target == Target::Summary {
        return print_text(&report.text());
    }
    for file in &files {
        let rows = match file.file_name().and_then(|name| name.to_str()) {
            Some("links.arrow") => counted(summary.links, "link"),
            Some("objects.arrow") => counted(summary.objects, "object"),
            Some(GROUPS) => counted(groups, "group"),
            _ => counted(summary.vertices, "vertex"),
        };
        context.remark(&format!("wrote {}: {rows}", file.display()));
    }
    Ok(())
}
