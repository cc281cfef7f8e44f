//! `zvf export`: a selection of a store as a file of another format.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::Format;
use zvf_convert::export::{ExportOptions, Exported, LinksFile, export};
use zvf_jobs::{Output, Staged, is_packed, is_special};
use zvf_query::{Query, Select};
use zvf_store::Store;

use super::{select, splits};
use crate::args::ExportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs `zvf export`.
///
/// # Errors
///
/// Usage, for a format that does not hold the store's kind; as the store, the query and the file say.
pub(crate) fn run(args: &ExportArgs, context: &mut Context<'_>) -> Result<()> {
    if args.format.is_some() {
        return super::precomputed::run(args, context);
    }
    let output = Output::of(args.file(), &args.store, &context.options().io)?;
    let file = output.path().to_owned();
    let links = args.edges.as_deref().or(args.faces.as_deref());
    let second = links.map(|given| Output::of(given, &args.store, &context.options().io));
    let second = second.transpose()?;
    let links = second.as_ref().map(|second| second.path().to_owned());
    let (format, select) = (Format::of(&file)?, args.select.map(Select::from));
    let mut query = query(args, context)?;
    if let Some(split) = args.split {
        let file = (format, select, links.is_some());
        query = splits::of_file(&args.store, &query, file, split, context)?;
    }
    let mut job = Job {
        store: &args.store,
        file: &file,
        format,
        links: links.as_deref(),
        faces: args.faces.is_some(),
        query,
        select,
        keep_frame: args.keep_frame,
    };
    let done = job.write(context)?;
    let sent = context.sent(output, vec![file.clone()])?;
    job.file = sent.first().unwrap_or(&file);
    let sent = match (second, &links) {
        (Some(second), Some(links)) => context.sent(second, vec![links.clone()])?,
        _ => Vec::new(),
    };
    job.links = sent.first().map(PathBuf::as_path);
    if context.common.json {
        return print_json(&job.document(&done));
    }
    print_text(&format!("{}\n", job.line(&done)))
}

/// One file to write.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) store: &'a str,
    pub(super) file: &'a Path,
    pub(super) format: Format,
    /// The second table, for links.
    pub(super) links: Option<&'a Path>,
    /// Whether these links are faces.
    pub(super) faces: bool,
    pub(super) query: Query,
    pub(super) select: Option<Select>,
    /// Positions of tractograms as they are stored.
    pub(super) keep_frame: bool,
}

impl Job<'_> {
    /// Writes the file; it is there as a whole or not at all.
    ///
    /// # Errors
    ///
    /// As [`run`].
    pub(super) fn write(&self, context: &mut Context<'_>) -> Result<Exported> {
        let store = context.open(self.store, self.query.level, self.query.need())?;
        let done = self.write_quietly(&store, context)?;
        let mut warnings = done.warnings.clone();
        warnings.extend(done.notes.iter().cloned());
        context.warn(&warnings);
        Ok(done)
    }

    /// As [`write`](Self::write), of a store that is open, without saying the notes and warnings.
    ///
    /// # Errors
    ///
    /// As [`run`].
    pub(super) fn write_quietly(
        &self,
        store: &Store,
        context: &mut Context<'_>,
    ) -> Result<Exported> {
        let links = self.links;
        for file in std::iter::once(self.file).chain(links) {
            if is_special(file) {
                return Err(CliError::usage(format!(
                    "{}: found a device or a pipe, expected a file: `zvf query --format` writes to those",
                    file.display()
                )));
            }
        }
        if links == Some(self.file) {
            return Err(CliError::usage(format!(
                "{}: found the same file for vertices and links, expected two",
                self.file.display()
            )));
        }
        let mut options = ExportOptions::default();
        options.query = self.query.clone();
        options.select = self.select;
        (options.delimiter, options.gzip) = separated(self.file);
        options.keep_frame = self.keep_frame;
        let staged = Staged::file(self.file)?;
        let mut second = None;
        if let Some(file) = links {
            let place = Staged::file(file)?;
            let mut table = LinksFile::new(Format::of(file)?, place.path(), self.faces);
            (table.delimiter, table.gzip) = separated(file);
            options.links = Some(table);
            second = Some((place, file));
        }
        let done = context
            .wait(export(store, self.format, staged.path(), &options))?
            .map_err(|error| {
                let error = renamed(error.into(), staged.path(), self.file);
                let error = match &second {
                    Some((place, file)) => renamed(error, place.path(), file),
                    None => error,
                };
                error.at(self.store)
            })?;
        staged.commit()?;
        if let Some((place, _)) = second {
            place.commit()?;
        }
        Ok(done)
    }

    /// The result, for programs.
    pub(super) fn document(&self, done: &Exported) -> Value {
        let file = self.file.display().to_string();
        let links = self.links.map(|file| file.display().to_string());
        let files: Vec<&String> = std::iter::once(&file).chain(&links).collect();
        json!({
            "store": self.store,
            "file": file,
            "format": self.format.name(),
            "links_file": links,
            "files": files,
            "level": self.query.level,
            "vertices": done.vertices,
            "links": done.links,
            "objects": done.objects,
            "notes": done.notes,
            "warnings": done.warnings,
        })
    }

    /// The result, in one line.
    pub(super) fn line(&self, done: &Exported) -> String {
        let mut parts = vec![counted(done.vertices, "vertex")];
        if done.links > 0 {
            parts.push(counted(done.links, "link"));
        }
        if done.objects > 0 {
            parts.push(counted(done.objects, "object"));
        }
        format!(
            "{}: {}, {}",
            self.file.display(),
            self.format.name(),
            parts.join(", ")
        )
    }
}

/// The error, with the name that the file was to have.
fn renamed(error: CliError, temporary: &Path, name: &Path) -> CliError {
    let (temporary, name) = (temporary.display().to_string(), name.display().to_string());
    CliError::new(error.class(), error.to_string().replace(&temporary, &name))
}

/// The query that the flags describe.
///
/// # Errors
///
/// As [`run`].
pub(super) fn query(args: &ExportArgs, context: &mut Context<'_>) -> Result<Query> {
    let mut spec = select::terms(&args.terms, &args.store, context)?;
    select::related(args.select, &spec)?;
    args.at.set(&mut spec);
    spec.limit = args.limit;
    spec.set("attributes", &args.attributes)?;
    select::resolved(spec, &args.store, context)
}

/// The separator of the columns of a file, if it is not a comma, and whether the file is compressed by gzip.
fn separated(file: &Path) -> (Option<u8>, bool) {
    let gzip = is_packed(file);
    let name = file.file_stem().filter(|_| gzip).map(Path::new);
    let ending = name.unwrap_or(file).extension();
    let tabs = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
    (tabs.then_some(b'\t'), gzip)
}
