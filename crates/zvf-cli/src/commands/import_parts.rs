//! `zvf import --begin`, `--part` and `--commit`: one store of several programs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::{Import, Sink};
use zvf_query::BBox;
use zvf_write::{
    Attempt, Batch, FinishedPart, Groups, ObjectTable, Outside, PartOptions, PartStart, PartStatus,
    PartedStore, PartsStage, PartsStatus, StoreSpec, StoreWriter, WriteError,
};

use crate::args::ImportArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Whether the command is a step of a store in parts.
pub(super) fn is_step(args: &ImportArgs) -> bool {
    args.begin || args.commit || args.part.is_some() || args.status || args.discard_parts
}

/// Runs one step. All steps describe the store by the same options and by files with the same columns.
///
/// # Errors
///
/// Usage: bounds that are no box of the store's axes; parts that do not fit one another; as the files and the storage say.
pub(super) fn run(
    args: &ImportArgs,
    (import, files): (&Import, &[PathBuf]),
    mut spec: StoreSpec,
    context: &mut Context<'_>,
) -> Result<()> {
    let bounds = BBox::parse(args.bounds.as_deref().unwrap_or_default())
        .map_err(|error| CliError::usage(format!("--bounds: {error}")))?;
    if bounds.dims() != spec.axes.len() {
        let found = bounds.dims();
        let expected = spec.axes.len();
        return Err(CliError::usage(format!(
            "--bounds: found {found} axes, expected {expected}"
        )));
    }
    spec.bounds = Some((bounds.lo().to_vec(), bounds.hi().to_vec()));
    spec.outside = Outside::Refuse;
    // Files have names of their own; the store is named after its address.
    spec.name = None;
    let store = args.store.as_str();
    let write = context.write_options(args.clear_leftovers);
    if args.begin {
        let names = args.parts.as_deref().map(part_names).transpose()?;
        let begun = PartedStore::begin_parts(store, spec, names.clone(), write);
        let before = context.wait(begun)??.was_begun_before();
        return begun_said(store, names.as_deref(), before, context);
    }
    let numbered = spec.has_objects() && !import.names_objects();
    let parted = context.wait(PartedStore::join(store, spec, write))?;
    let parted = parted.map_err(refused)?;
    match &args.part {
        Some(name) => {
            if numbered {
                context.remark(NUMBERED);
            }
            part(args, name, (import, files), &parted, context)
        }
        None => commit(args, parted, context),
    }
}

/// The ways to keep the objects of parts apart.
const NUMBERED: &str = "objects of files that name none are numbered from 0 in each part, and no two parts can have the same: a column \
    object_id (--object-column), files named by numbers, --id-from-file or --id-offset with another number in each part keep them apart";

/// An error of the place of a store in parts, with what makes parts alike.
fn refused(error: WriteError) -> CliError {
    match error {
        WriteError::Exists { root: false, .. } => CliError::usage(format!(
            "{error}; all parts have the same options and types of columns: --attribute-type NAME=TYPE gives a column of text one type in all, \
             and --nulls NUMBER keeps whole numbers that are missing in some"
        )),
        error => error.into(),
    }
}

/// The names of parts: so many numbers, names, or the lines of a file.
fn part_names(given: &[String]) -> Result<Vec<String>> {
    const MOST: usize = 1_000_000;
    let too_many =
        |found: String| CliError::usage(format!("--parts: found {found}, expected {MOST} at most"));
    let names = match given {
        [one] if one.starts_with('@') => {
            let path = Path::new(one.trim_start_matches('@'));
            let text = std::fs::read_to_string(path)
                .map_err(|error| CliError::file("read", path, &error))?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        }
        [one] if one.bytes().all(|byte| byte.is_ascii_digit()) => {
            let count = one.parse::<usize>().ok().filter(|count| *count <= MOST);
            let count = count.ok_or_else(|| too_many(one.clone()))?;
            (0..count).map(|number| number.to_string()).collect()
        }
        names => names.to_vec(),
    };
    match names.len() {
        count if count > MOST => Err(too_many(count.to_string())),
        _ => Ok(names),
    }
}

fn begun_said(
    store: &str,
    names: Option<&[String]>,
    before: bool,
    context: &Context<'_>,
) -> Result<()> {
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "step": "begun",
            "begun_before": before,
            "parts": names,
        }));
    }
    let how = if before {
        "begun before, with the same options"
    } else {
        "begun"
    };
    let parts = names.map_or_else(String::new, |names| {
        format!(", for {}", counted(names.len() as u64, "part"))
    });
    print_text(&format!("{store}: {how}{parts}\n"))
}

fn part(
    args: &ImportArgs,
    name: &str,
    (import, files): (&Import, &[PathBuf]),
    parted: &PartedStore,
    context: &mut Context<'_>,
) -> Result<()> {
    let tables = [&args.edges, &args.faces].into_iter().flatten();
    let inputs = files.iter().chain(tables).map(PathBuf::as_path);
    let options = PartOptions::new()
        .with_redo(args.redo)
        .with_input_files(inputs)?;
    let mut writer = match context.wait(parted.part(name, options))?? {
        PartStart::Writer(writer) => writer,
        PartStart::Finished(found) => {
            let counts = (found.vertices, found.chunks, found.objects);
            return part_said(args, name, false, counts, context);
        }
    };
    if let Err(error) = import.read(&mut Part(&mut writer)) {
        context.wait(writer.abandon())?;
        return Err(error.into());
    }
    let done = context.wait(writer.finish())??;
    part_said(
        args,
        name,
        true,
        (done.vertices, done.chunks, done.objects),
        context,
    )
}

fn part_said(
    args: &ImportArgs,
    name: &str,
    written: bool,
    (vertices, chunks, objects): (u64, u64, u64),
    context: &Context<'_>,
) -> Result<()> {
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "step": format!("part {name}"),
            "written": written,
            "vertices": vertices,
            "chunks": chunks,
            "objects": objects,
        }));
    }
    let how = if written {
        ""
    } else {
        " was finished before, and nothing is written; it has"
    };
    let (vertices, chunks) = (counted(vertices, "vertex"), counted(chunks, "chunk"));
    let comma = if written { "," } else { "" };
    print_text(&format!(
        "{}: part {name}{how}{comma} {vertices}, {chunks}\n",
        args.store
    ))
}

fn commit(args: &ImportArgs, parted: PartedStore, context: &mut Context<'_>) -> Result<()> {
    let done = context.wait(parted.commit_with(&Groups::default(), args.allow_missing))??;
    if !done.absent.is_empty() {
        context.warn(&[format!(
            "{}: committed without the parts {}; the root of the store names them",
            args.store,
            done.absent.join(", ")
        )]);
    }
    let summary = done.summary;
    if context.common.json {
        return print_json(&json!({
            "store": args.store,
            "step": "committed",
            "vertices": summary.map(|one| one.vertices),
            "chunks": summary.map(|one| one.chunks),
            "objects": summary.map(|one| one.objects),
            "links": summary.map(|one| one.links),
            "parts": done.parts,
            "absent": done.absent,
        }));
    }
    let counts = summary.map_or_else(String::new, |one| {
        format!(
            ", {}, {}",
            counted(one.vertices, "vertex"),
            counted(one.chunks, "chunk")
        )
    });
    let parts = if done.parts.is_empty() {
        String::new()
    } else {
        let count = counted(done.parts.len() as u64, "part");
        format!(", of {count}: {}", done.parts.join(", "))
    };
    print_text(&format!("{}: committed{counts}{parts}\n", args.store))
}

/// The parts of a store that was begun; `None` if none was.
pub(super) fn status_of(store: &str, context: &mut Context<'_>) -> Result<Option<PartsStatus>> {
    let options = context.write_options(false);
    Ok(context.wait(PartedStore::status(store, &options))??)
}

/// Runs `zvf import --status`.
///
/// # Errors
///
/// Usage: no store in parts was begun; errors of the storage.
pub(super) fn status(store: &str, context: &mut Context<'_>) -> Result<()> {
    match status_of(store, context)? {
        Some(status) => print_status(store, &status, context),
        None => {
            let what = "no store in parts is begun there, or it is committed; `zvf info` says what is there";
            Err(CliError::usage(format!("{store}: {what}")))
        }
    }
}

/// Prints what has become of parts.
pub(super) fn print_status(store: &str, status: &PartsStatus, context: &Context<'_>) -> Result<()> {
    if context.common.json {
        let mut document = json!({"store": store});
        if let (Some(all), Value::Object(members)) = (document.as_object_mut(), status.document()) {
            all.extend(members);
        }
        return print_json(&document);
    }
    let stage = match status.stage {
        PartsStage::Begun => "parts are written; --commit makes the store",
        PartsStage::Committing => {
            "its parts are being put together, or that was interrupted; --commit finishes it"
        }
        PartsStage::Committed => {
            "the store is complete; --commit removes the leftover files of its parts"
        }
        PartsStage::Discarded => {
            "its parts are being removed, or that was interrupted; --discard-parts finishes it"
        }
        other => other.name(),
    };
    let mut text = format!("{store}: {stage}\n");
    let count = |state| status.names(state).len();
    let expected = if status.declared {
        format!(", {} declared", status.parts.len())
    } else {
        String::new()
    };
    text.push_str(&format!(
        "{} finished, {} begun, {} waiting{expected}\n",
        count("finished"),
        count("begun"),
        count("waiting")
    ));
    for part in &status.parts {
        text.push_str(&format!("  {}: {}\n", part.name, state(part)));
    }
    print_text(&text)
}

fn state(part: &PartStatus) -> String {
    let begun = || {
        part.begun
            .iter()
            .map(attempt)
            .collect::<Vec<_>>()
            .join("; ")
    };
    match &part.finished {
        None if part.begun.is_empty() => "waiting".to_owned(),
        None => format!("begun by {}", begun()),
        Some(found) if part.begun.is_empty() => finished(found),
        Some(found) => format!("{}; begun again by {}", finished(found), begun()),
    }
}

fn finished(found: &FinishedPart) -> String {
    format!(
        "finished, {}, {}, {}; by {} ({})",
        counted(found.vertices, "vertex"),
        counted(found.chunks, "chunk"),
        counted(found.objects, "object"),
        found.by,
        found.owner
    )
}

fn attempt(one: &Attempt) -> String {
    match &one.by {
        Some(by) if by.has_ended() => format!("{by} ({}), which has ended", one.owner),
        Some(by) => format!("{by} ({})", one.owner),
        None => one.owner.clone(),
    }
}

/// Runs `zvf import --discard-parts`.
///
/// # Errors
///
/// Usage: no store in parts was begun; errors of the storage.
pub(super) fn discard(store: &str, context: &mut Context<'_>) -> Result<()> {
    if let Some(status) = status_of(store, context)? {
        let names = status.names("finished");
        if !names.is_empty() {
            context.remark(&format!(
                "{store}: removing {}: {}",
                counted(names.len() as u64, "finished part"),
                names.join(", ")
            ));
        }
    }
    let options = context.write_options(false);
    let names = context.wait(PartedStore::discard(store, options))??;
    if context.common.json {
        return print_json(&json!({"store": store, "step": "discarded", "finished": names}));
    }
    let what = match names.len() {
        0 => "no part was finished".to_owned(),
        count => format!(
            "{} removed: {}",
            counted(count as u64, "finished part"),
            names.join(", ")
        ),
    };
    print_text(&format!("{store}: discarded; {what}\n"))
}

/// A part, which takes no groups: their members may be of any part.
struct Part<'w>(&'w mut StoreWriter);

impl Sink for Part<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        self.0.push(batch)
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        self.0.push_objects(table)
    }

    fn groups(&mut self, _: &Groups<'_>) -> std::result::Result<(), WriteError> {
        let expected = "none in a file of a part: their members may be of any part";
        Err(WriteError::input("groups", "some", expected))
    }
}
