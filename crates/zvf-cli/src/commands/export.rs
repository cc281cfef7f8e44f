//! `zvf export`: a selection of a store as a file of another format.

use std::path::Path;

use serde_json::{Value, json};
use zvf_convert::Format;
use zvf_convert::export::{ExportOptions, Exported, LinksFile, export};
use zvf_query::{Query, Select};

use super::select;
use crate::args::ExportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::place::{Staged, is_special};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs `zvf export`.
///
/// # Errors
///
/// Usage, for a format that does not hold the store's kind; as the store, the query and the file say.
pub(crate) fn run(args: &ExportArgs, context: &mut Context<'_>) -> Result<()> {
    let format = Format::of(&args.file)?;
    let links = args.edges.as_ref().or(args.faces.as_ref());
    for file in std::iter::once(&args.file).chain(links) {
        if is_special(file) {
            return Err(CliError::usage(format!(
                "{}: found a device or a pipe, expected a file: `zvf query --format` writes to those",
                file.display()
            )));
        }
    }
    if links == Some(&args.file) {
        return Err(CliError::usage(format!(
            "{}: found the same file for vertices and links, expected two",
            args.file.display()
        )));
    }
    let mut options = options(args, context)?;
    let store = context.open(&args.store, args.level, select::need(&options.query))?;
    let staged = Staged::file(&args.file)?;
    let mut second = None;
    if let Some(file) = links {
        let place = Staged::file(file)?;
        let mut table = LinksFile::new(Format::of(file)?, place.path(), args.faces.is_some());
        table.delimiter = delimiter(file);
        options.links = Some(table);
        second = Some((place, file));
    }
    let done = context
        .wait(export(&store, format, staged.path(), &options))?
        .map_err(|error| {
            let error = renamed(error.into(), staged.path(), &args.file);
            let error = match &second {
                Some((place, file)) => renamed(error, place.path(), file),
                None => error,
            };
            error.at(&args.store)
        })?;
    staged.commit()?;
    if let Some((place, _)) = second {
        place.commit()?;
    }
    let mut warnings = done.warnings.clone();
    warnings.extend(done.notes.iter().cloned());
    context.warn(&warnings);
    if context.common.json {
        return print_json(&document(args, format, &done));
    }
    print_text(&text(args, format, &done))
}

/// The error, with the name that the file was to have.
fn renamed(error: CliError, temporary: &Path, name: &Path) -> CliError {
    let (temporary, name) = (temporary.display().to_string(), name.display().to_string());
    CliError::new(error.class(), error.to_string().replace(&temporary, &name))
}

fn options(args: &ExportArgs, context: &Context<'_>) -> Result<ExportOptions> {
    let mut query = Query {
        level: args.level,
        own_level_only: args.own_level_only,
        limit: args.limit,
        ignore_missing: args.ignore_missing,
        attributes: select::names(&args.attributes)?,
        ..Query::default()
    };
    select::terms(&args.terms, &mut query)?;
    if let Some(bytes) = context.common.memory_budget {
        query.memory_budget = bytes;
    }
    let mut options = ExportOptions::default();
    options.query = query;
    options.select = args.select.map(Select::from);
    options.delimiter = delimiter(&args.file);
    Ok(options)
}

/// What separates the columns of a file, where it is no comma.
fn delimiter(file: &Path) -> Option<u8> {
    let tabs = file.extension();
    let tabs = tabs.is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
    tabs.then_some(b'\t')
}

fn document(args: &ExportArgs, format: Format, done: &Exported) -> Value {
    json!({
        "store": args.store,
        "file": args.file.display().to_string(),
        "format": format.name(),
        "links_file": args.edges.as_ref().or(args.faces.as_ref()).map(|file| file.display().to_string()),
        "level": args.level,
        "vertices": done.vertices,
        "links": done.links,
        "objects": done.objects,
        "notes": done.notes,
        "warnings": done.warnings,
    })
}

fn text(args: &ExportArgs, format: Format, done: &Exported) -> String {
    let mut parts = vec![counted(done.vertices, "vertex")];
    if done.links > 0 {
        parts.push(counted(done.links, "link"));
    }
    if done.objects > 0 {
        parts.push(counted(done.objects, "object"));
    }
    format!(
        "{}: {}, {}\n",
        args.file.display(),
        format.name(),
        parts.join(", ")
    )
}
