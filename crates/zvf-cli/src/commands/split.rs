//! `zvf split`, and `zvf export` with a template: a store or a file for each part.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::{Format, SplitBy, SplitPart, object_parts, split_parts, write_selection};
use zvf_query::Select;
use zvf_store::{Need, Store};

use super::export::{Job, query};
use super::select;
use crate::args::{ExportArgs, SplitArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// The ending of stores.
const STORE: &str = "zarrvectors";

/// Runs `zvf split`.
///
/// # Errors
///
/// Usage: an attribute, group or format that the store does not have; as the store, the queries and the writers say.
pub(crate) fn run(args: &SplitArgs, context: &mut Context<'_>) -> Result<()> {
    let by = by(&args.by)?;
    let format = args.format.as_deref().map(|ending| {
        let ending = ending.trim_start_matches('.');
        Format::of(Path::new(&format!("part.{ending}"))).map(|format| (format, ending))
    });
    let format = format.transpose()?;
    let spec = select::terms(&args.terms, &args.store, context)?;
    let base = select::resolved(spec, &args.store, context)?;
    let store = context.open(&args.store, 0, Need::all())?;
    let found = context.wait_at(&args.store, split_parts(&store, &base, &by))?;
    zvf_jobs::check_outside(&args.folder)?;
    std::fs::create_dir_all(&args.folder)
        .map_err(|error| CliError::file("create the directory", &args.folder, &error))?;
    context.warn(&found.notes);
    let mut written = Written::default();
    for part in &found.parts {
        let (ending, job) = match &format {
            Some((format, ending)) => (*ending, Some(*format)),
            None => (STORE, None),
        };
        let path = args.folder.join(format!("{}.{ending}", part.name));
        match job {
            Some(format) if !path.exists() => {
                written.file(&store, &path, part, format, context)?;
            }
            None if !path.join("zarr.json").exists() => {
                let address = path.display().to_string();
                let options = context.write_options(args.clear_leftovers);
                let made = write_selection(&store, &part.query, &address, options);
                let made = context.wait_at(&address, made)?;
                written.notes(&made.notes, context);
                match made.vertices {
                    0 => {
                        context.remark(&format!("{}: has no objects or vertices: no part", part.of))
                    }
                    _ => written.add(&path, part, made.vertices, made.objects, false),
                }
            }
            _ => {
                context.remark(&format!(
                    "{}: exists already, left unchanged",
                    path.display()
                ));
                written.add(&path, part, 0, 0, true);
            }
        }
    }
    written.print(&args.store, context)
}

/// Runs `zvf export` with a template: a file for each object.
///
/// # Errors
///
/// Usage: two objects with one name; as `zvf export`.
pub(crate) fn each_object(args: &ExportArgs, context: &mut Context<'_>) -> Result<()> {
    let query = query(args, context)?;
    let template = args.template().unwrap_or_default();
    if args.edges.is_some() || args.faces.is_some() || args.split.is_some() || args.limit.is_some()
    {
        let what = "--edges, --faces, --split, --limit: found one of them, expected none beside a file for each object";
        return Err(CliError::usage(what));
    }
    if template.contains("://") || query.level != 0 {
        let what = "a file for each object: found a URL or another level than 0, expected a path and level 0";
        return Err(CliError::usage(what));
    }
    let format = Format::of(Path::new(template))?;
    let store = context.open(&args.store, 0, Need::all())?;
    let parts = context.wait_at(&args.store, object_parts(&store, &query, template))?;
    let mut written = Written::default();
    for part in &parts {
        let path = PathBuf::from(&part.name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| CliError::file("create the directory", folder, &error))?;
        }
        written.keep_frame = args.keep_frame;
        written.file(&store, &path, part, format, context)?;
    }
    written.print(&args.store, context)
}

/// Parses `--by`.
fn by(words: &[String]) -> Result<SplitBy> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        ["group"] => SplitBy::Group,
        ["attribute", name] => SplitBy::Attribute((*name).to_owned()),
        ["count", count] => match count.parse() {
            Ok(count) if count > 0 => SplitBy::Count(count),
            _ => {
                let what = format!("--by count: found {count:?}, expected a number above 0");
                return Err(CliError::usage(what));
            }
        },
        other => {
            return Err(CliError::usage(format!(
                "--by: found {:?}, expected group, attribute NAME, or count N",
                other.join(" ")
            )));
        }
    })
}

/// The parts that are written.
#[derive(Debug, Default)]
struct Written {
    parts: Vec<Value>,
    skipped: u64,
    vertices: u64,
    objects: u64,
    notes: Vec<String>,
    keep_frame: bool,
}

impl Written {
    /// Exports one part.
    fn file(
        &mut self,
        store: &Store,
        path: &Path,
        part: &SplitPart,
        format: Format,
        context: &mut Context<'_>,
    ) -> Result<()> {
        let job = Job {
            store: store.url(),
            file: path,
            format,
            links: None,
            faces: false,
            query: part.query.clone(),
            select: part.query.objects.as_ref().map(|_| Select::Objects),
            keep_frame: self.keep_frame,
        };
        let done = job.write_quietly(store, context)?;
        let mut notes = done.warnings.clone();
        notes.extend(done.notes.iter().cloned());
        self.notes(&notes, context);
        self.add(path, part, done.vertices, done.objects, false);
        Ok(())
    }

    /// Prints new notes.
    fn notes(&mut self, notes: &[String], context: &mut Context<'_>) {
        let new = notes.iter().filter(|note| !self.notes.contains(note));
        let new: Vec<String> = new.cloned().collect();
        context.warn(&new);
        self.notes.extend(new);
    }

    fn add(&mut self, path: &Path, part: &SplitPart, vertices: u64, objects: u64, skipped: bool) {
        self.vertices += vertices;
        self.objects += objects;
        self.skipped += u64::from(skipped);
        self.parts.push(json!({
            "file": path.display().to_string(),
            "of": part.of,
            "vertices": vertices,
            "objects": objects,
            "skipped": skipped,
        }));
    }

    fn print(&self, store: &str, context: &Context<'_>) -> Result<()> {
        if context.common.json {
            return print_json(&json!({
                "store": store,
                "parts": self.parts,
                "skipped": self.skipped,
                "vertices": self.vertices,
                "objects": self.objects,
                "notes": self.notes,
            }));
        }
        let mut parts = vec![
            counted(self.parts.len() as u64, "part"),
            counted(self.vertices, "vertex"),
        ];
        if self.objects > 0 {
            parts.push(counted(self.objects, "object"));
        }
        if self.skipped > 0 {
            parts.push(format!(
                "{} were there already",
                counted(self.skipped, "part")
            ));
        }
        print_text(&format!("{store}: {}\n", parts.join(", ")))
    }
}
