//! `zvf import`: a new store from files of other formats.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use tempfile::TempDir;
use zvf_convert::{Import, Options, Sink, Space};
use zvf_write::{
    AttributeSpec, AttributeType, Batch, Groups, Kind, ObjectTable, ShardShape, StoreSpec,
    StoreWriter, Summary, WriteError,
};

use super::import_parts;
use crate::args::ImportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};
use crate::progress::Progress;

/// Runs `zvf import`.
///
/// # Errors
///
/// The errors of the files, with line or byte; usage: options that do not fit them, or an address that is in use; the errors of the
/// storage.
pub(crate) fn run(args: &ImportArgs, context: &mut Context<'_>) -> Result<()> {
    if args.status {
        return import_parts::status(&args.store, context);
    }
    if args.discard_parts {
        return import_parts::discard(&args.store, context);
    }
    let (files, _kept) = from_stdin(&args.files, args.format.is_some())?;
    let options = options(args, context.common.memory_budget)?;
    let import = Import::open(&files, &options)?;
    let spec = spec(args, &import)?;
    if import_parts::is_step(args) {
        return import_parts::run(args, (&import, &files), spec, context);
    }
    let chosen = args.chunk_shape.is_none();
    if chosen {
        context.remark(&format!("{} ({})", shape(&spec), import.reason()));
    }
    for note in import.notes() {
        context.remark(note);
    }
    let steps = Arc::new(OnceLock::new());
    let mut write = context
        .write_options(args.clear_leftovers)
        .with_progress(shown(&steps));
    write.journal.clone_from(&args.journal);
    let store = args.store.as_str();
    let mut writer = match context.wait(StoreWriter::create(store, spec.clone(), write))? {
        Ok(writer) => writer,
        Err(error @ WriteError::Exists { root: true, .. }) => {
            let hint = "`zvf append STORE FILE...` adds to a store that is there";
            return Err(CliError::usage(format!("{error}; {hint}")));
        }
        Err(error) => return Err(error.into()),
    };
    if writer.batches() > 0 {
        context.remark(&format!(
            "going on behind {} and {} of the journal",
            counted(writer.batches(), "batch"),
            counted(writer.vertices(), "vertex")
        ));
    }
    read(&import, &mut writer, context.progress("vertices"))?;
    if !writer.is_caught_up() {
        return Err(CliError::usage(format!(
            "--journal: found {}, expected {}: the files end before it does, so they are not those that it was begun with",
            counted(writer.vertices(), "vertex"),
            import.vertices()
        )));
    }
    let _ = steps.set(context.steps());
    let done = context.wait(writer.finish())?;
    drop(steps);
    let summary = match done {
        Ok(summary) => Some(summary),
        Err(error) if error.is_committed() => {
            // The store is whole; only its chunks were not counted for us.
            context.warn(&[error.to_string()]);
            None
        }
        Err(error) => return Err(error.into()),
    };
    if context.common.json {
        return print_json(&document(args, &import, &spec, summary, chosen));
    }
    print_text(&text(store, &import, &spec, summary))
}

/// Shows how far the store is written, once there is a display.
fn shown(steps: &Arc<OnceLock<Progress>>) -> impl Fn(zvf_write::Progress) + Send + Sync + use<> {
    let steps = Arc::clone(steps);
    move |progress| {
        if let Some(display) = steps.get() {
            display.step(progress);
        }
    }
}

/// Reads the files into a writer, after the data that it took from a journal.
fn read(import: &Import, writer: &mut StoreWriter, progress: Progress) -> Result<()> {
    Ok(import.read(&mut Counted { writer, progress })?)
}

/// A writer that reports its progress.
struct Counted<'a> {
    writer: &'a mut StoreWriter,
    progress: Progress,
}

impl Sink for Counted<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        if self.writer.skip_batch(batch)? {
            return Ok(());
        }
        let before = self.writer.vertices();
        self.writer.push(batch)?;
        self.progress
            .add(self.writer.vertices().saturating_sub(before));
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        if self.writer.skip_objects(table)? {
            return Ok(());
        }
        self.writer.push_objects(table)
    }

    fn groups(&mut self, groups: &Groups<'_>) -> std::result::Result<(), WriteError> {
        if self.writer.skip_groups(groups)? {
            return Ok(());
        }
        self.writer.set_groups(groups)
    }
}

/// The files; what standard input gives is kept in a temporary one, since files are read twice.
///
/// # Errors
///
/// Usage: standard input without a format, or twice; I/O.
pub(super) fn from_stdin(
    files: &[PathBuf],
    has_format: bool,
) -> Result<(Vec<PathBuf>, Option<TempDir>)> {
    let dash = |file: &&PathBuf| file.as_os_str() == "-";
    match files.iter().filter(dash).count() {
        0 => return Ok((files.to_vec(), None)),
        1 if has_format => {}
        1 => {
            let message = "-: expected --format FORMAT beside it: standard input has no ending";
            return Err(CliError::usage(message));
        }
        more => {
            let message = format!("-: found it {more} times, expected once");
            return Err(CliError::usage(message));
        }
    }
    let failed =
        |error: std::io::Error| CliError::file("keep", Path::new("standard input"), &error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("stdin");
    let mut file = std::fs::File::create(&path).map_err(failed)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).map_err(failed)?;
    let files = files.iter().map(|file| match dash(&file) {
        true => path.clone(),
        false => file.clone(),
    });
    Ok((files.collect(), Some(folder)))
}

fn options(args: &ImportArgs, memory_budget: Option<u64>) -> Result<Options> {
    let mut options = Options::default();
    if let Some(name) = &args.kind {
        let kind = Kind::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            CliError::usage(format!(
                "--kind: found {name:?}, expected one of {}",
                names.join(", ")
            ))
        })?;
        options.kind = Some(kind);
    }
    options.position.clone_from(&args.position);
    options.object_column.clone_from(&args.object_column);
    options.attributes = match args.attributes.as_slice() {
        [one] if one == "all" => None,
        [one] if one == "none" => Some(Vec::new()),
        names => Some(names.to_vec()),
    };
    options.exclude.clone_from(&args.exclude);
    // As files that are appended, parts are not the first ones.
    options.ids = args.ids.rule(i64::from(args.part.is_some()));
    options.nulls = args.nulls;
    options.format = args.format;
    args.columns.apply(&mut options, memory_budget);
    options.edges.clone_from(&args.edges);
    options.faces.clone_from(&args.faces);
    options.unit.clone_from(&args.unit);
    options.crs.clone_from(&args.crs);
    options.axis_types.clone_from(&args.axis_types);
    options.space = args.space.map(Space::from);
    args.map.set(&mut options);
    Ok(options)
}

/// The specification for the files, changed by the flags.
fn spec(args: &ImportArgs, import: &Import) -> Result<StoreSpec> {
    let mut spec = import.spec().clone();
    if let Some(shape) = &args.chunk_shape {
        if shape.len() != spec.axes.len() {
            let names: Vec<&str> = spec.axes.iter().map(|axis| axis.name.as_str()).collect();
            return Err(CliError::usage(format!(
                "--chunk-shape: found {}, expected {}, for {}",
                counted(shape.len() as u64, "size"),
                spec.axes.len(),
                names.join(", ")
            )));
        }
        spec.chunk_shape.clone_from(shape);
        // The bins were chosen for another chunk.
        spec.bin_shape = None;
    }
    if args.bin_shape.is_some() {
        spec.bin_shape.clone_from(&args.bin_shape);
    }
    spec.shard_shape.clone_from(&args.shard_shape);
    if let Some(name) = &args.chunk_by {
        spec = chunked_by(spec, name, args.bin_shape.is_some())?;
    }
    spec.compression = args.codec.clone();
    spec.target = args.target.into();
    Ok(spec)
}

/// Divides chunks by the value of an attribute, too. Bins are removed unless an option set them; a shard has one value.
fn chunked_by(mut spec: StoreSpec, name: &str, bins: bool) -> Result<StoreSpec> {
    let found = spec
        .vertex_attributes
        .iter()
        .position(|one| one.name == name);
    let Some(at) = found else {
        let names: Vec<&str> = spec
            .vertex_attributes
            .iter()
            .map(|one| &*one.name)
            .collect();
        return Err(CliError::usage(format!(
            "--chunk-by: found {name:?}, expected one of the vertex attributes: {}",
            if names.is_empty() {
                "there are none".to_owned()
            } else {
                names.join(", ")
            }
        )));
    };
    let attribute = spec.vertex_attributes.remove(at);
    if !bins {
        spec.bin_shape = None;
    }
    if let ShardShape::Cells(cells) = &mut spec.shard_shape {
        cells.insert(0, 1);
    }
    Ok(spec.with_attribute_chunks(attribute))
}

fn list(sizes: &[f64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    sizes.join(", ")
}

fn shape(spec: &StoreSpec) -> String {
    let mut text = format!("chunks of {}", list(&spec.chunk_shape));
    if let Some(bins) = &spec.bin_shape {
        text.push_str(&format!(", bins of {}", list(bins)));
    }
    text
}

fn type_name(attribute: &AttributeSpec) -> String {
    match attribute.values {
        AttributeType::Number(number) => number.to_string(),
        AttributeType::Category => "category".to_owned(),
        AttributeType::Text => "text".to_owned(),
    }
}

fn attributes(list: &[AttributeSpec]) -> Value {
    let one = |attribute: &AttributeSpec| {
        json!({
            "name": attribute.name,
            "type": type_name(attribute),
            "channels": attribute.channels,
        })
    };
    list.iter().map(one).collect()
}

fn document(
    args: &ImportArgs,
    import: &Import,
    spec: &StoreSpec,
    summary: Option<Summary>,
    chosen: bool,
) -> Value {
    let (low, high) = import.corners();
    json!({
        "store": args.store,
        "version": spec.target.version(),
        "format": import.format().name(),
        "files": args.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "kind": spec.kind.name(),
        "axes": spec.axes.iter().map(|axis| &axis.name).collect::<Vec<_>>(),
        "units": spec.axes.iter().map(|axis| &axis.unit).collect::<Vec<_>>(),
        "vertices": import.vertices(),
        "chunks": summary.map(|summary| summary.chunks),
        "objects": import.objects(),
        "links": import.links(),
        "links_stored": summary.map(|summary| summary.links),
        "bounds": [low, high],
        "position_type": spec.positions.to_string(),
        "chunk_shape": spec.chunk_shape,
        "bin_shape": spec.bin_shape,
        "chunk_shape_reason": chosen.then(|| import.reason()),
        "chunk_by": spec.chunk_by.as_ref().map(|one| &one.attribute.name),
        "vertex_attributes": attributes(&spec.vertex_attributes),
        "object_attributes": attributes(&spec.object_attributes),
        "link_attributes": attributes(&spec.links.attributes),
        "frame": import.frame(),
        "notes": import.notes(),
    })
}

fn text(store: &str, import: &Import, spec: &StoreSpec, summary: Option<Summary>) -> String {
    let mut parts = vec![counted(import.vertices(), "vertex")];
    if spec.has_objects() {
        parts.push(counted(import.objects(), "object"));
    }
    if spec.takes_links() {
        parts.push(counted(import.links(), "link"));
    }
    parts.extend(summary.map(|summary| counted(summary.chunks, "chunk")));
    let mut out = format!(
        "{store}: {} from {}, {}\n  {}, positions {}\n",
        spec.kind,
        import.format().name(),
        parts.join(", "),
        shape(spec),
        spec.positions
    );
    for (what, list) in [
        ("vertex attributes", &spec.vertex_attributes),
        ("object attributes", &spec.object_attributes),
        ("link attributes", &spec.links.attributes),
    ] {
        if !list.is_empty() {
            let names: Vec<String> = list
                .iter()
                .map(|one| format!("{} {}", one.name, type_name(one)))
                .collect();
            out.push_str(&format!("  {what}: {}\n", names.join(", ")));
        }
    }
    out
}
