//! `zvf export`: a selection of a store as a file of another format.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::Format;
use zvf_convert::export::{ExportOptions, Exported};
use zvf_jobs::{FileExport, Output};
use zvf_query::{Query, Select};
use zvf_store::Store;

use super::{select, splits};
use crate::args::ExportArgs;
use crate::context::Context;
use crate::error::Result;
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
        let mut options = ExportOptions::default();
        options.query = self.query.clone();
        options.select = self.select;
        options.keep_frame = self.keep_frame;
        let export = FileExport {
            file: self.file,
            format: self.format,
            links: self.links.map(|file| (file, self.faces)),
            options,
        };
        Ok(context.wait(export.write(store))??)
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
