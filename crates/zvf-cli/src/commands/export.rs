//! `zvf export`: a selection of a store as a file of another format.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use zvf_convert::Format;
use zvf_convert::export::{ExportOptions, Exported, LinksFile, export};
use zvf_query::{Query, Select};

use super::select;
use crate::args::{SelectArg, TermArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::place::{Staged, is_special};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// `zvf export`
#[derive(Debug, Args)]
#[command(after_help = "\
The format follows from the ending of FILE:
  .csv .tsv     every kind: a row a vertex, with its attributes and its object
  .arrow .parquet
                the same, typed
  .npy          every kind: positions alone, (N, D)
  .npz          every kind: positions, numbers by name, edges or faces, object_id where there are several
  .swc          skeleton, or graph without rings: type, radius, node_id
  .obj          mesh; edges and chains as lines: colours
  .ply          every kind: numbers as properties, faces or edges, object_id where there are several
  .stl          mesh: triangles, binary
  .trk          line, polyline, streamline: numbers as scalars and properties, the header of the file imported
  .tck          line, polyline, streamline: the header of the file imported
  .trx          line, polyline, streamline: numbers of their type as dpv and dps, groups with dpg, the frame of the file imported

A table may have the links of a graph, skeleton or mesh beside it: --edges or --faces writes a second table, which names the rows of
the first one from 0 and has the attributes of the links. `zvf import` reads both.

Coordinates and numbers come out as they are stored, and are never transformed. What the format has no place for is named
in a warning. Lines, polylines and streamlines are written as whole objects. FILE is there as a whole or not at all.

Examples:
  zvf export neurons.zarrvectors 1734350788.swc --objects 1734350788
  zvf export mesh.zarrvectors mesh.obj
  zvf export tracks.zarrvectors bundle.trk --bbox 60,80,60:80,90,70
  zvf export synapses.zarrvectors sure.csv --where 'confidence > 0.9' --attributes type,confidence
  zvf export vessels.zarrvectors nodes.parquet --edges edges.parquet")]
pub(crate) struct ExportArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// The file to write; one that is there is replaced
    pub(crate) file: PathBuf,
    /// Which rows are meant
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects
    /// for lines, polylines and streamlines, else vertices]
    #[arg(long, value_enum)]
    pub(crate) select: Option<SelectArg>,
    /// Ids that the store does not have are left out instead of being an error
    #[arg(long)]
    pub(crate) ignore_missing: bool,
    /// Resolution level; 0 is the finest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: u32,
    /// Of an additive level only its own content, not that of the coarser levels which complete it
    #[arg(long)]
    pub(crate) own_level_only: bool,
    /// The first N vertices; of whole objects as many as fit
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Attributes of vertices to write: all, none, or names
    #[arg(long, value_name = "all|none|NAME,..", default_value = "all")]
    pub(crate) attributes: String,
    /// Tables: another table for the edges of a graph or skeleton
    #[arg(long, value_name = "FILE", conflicts_with = "faces")]
    pub(crate) edges: Option<PathBuf>,
    /// Tables: another table for the faces of a mesh
    #[arg(long, value_name = "FILE")]
    pub(crate) faces: Option<PathBuf>,
}

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
