//! `zvf import`: a new store from files of other formats.

use std::path::{Path, PathBuf};

use zvf_jobs::{ImportJob, ImportReport, JobError, StoreImported, TemporaryFolder};
use zvf_write::{StoreSpec, WriteError};

use super::import_parts;
use crate::error::{CliError, Result};
use crate::output::table::{counted, joined};

/// Copies standard input (the file name `-`) to a temporary file, because files are read twice.
///
/// # Errors
///
/// Usage: standard input without a format, or twice; I/O.
pub(super) fn from_stdin(
    files: &mut [PathBuf],
    has_format: bool,
) -> Result<Option<TemporaryFolder>> {
    let mut dashes = files.iter_mut().filter(|file| file.as_os_str() == "-");
    let Some(file) = dashes.next() else {
        return Ok(None);
    };
    let more = dashes.count();
    if more > 0 {
        let message = format!(
            "standard input: found - {} times, expected it once",
            more + 1
        );
        return Err(CliError::usage(message));
    }
    if !has_format {
        let message =
            "standard input: found no --format, expected one, because - has no file ending";
        return Err(CliError::usage(message));
    }
    let failed =
        |error: std::io::Error| CliError::file("keep", Path::new("standard input"), &error);
    let folder = TemporaryFolder::new().map_err(failed)?;
    let path = folder.path().join("stdin");
    let mut kept = std::fs::File::create(&path).map_err(failed)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut kept).map_err(failed)?;
    *file = path;
    Ok(Some(folder))
}

/// The error of an import, with advice.
pub(super) fn failure(job: &ImportJob, error: JobError) -> CliError {
    match error {
        JobError::Write { source, place } => match *source {
            error @ WriteError::Exists { root: true, .. } if !job.is_step() => {
                let hint = "`zvf append STORE FILE...` adds to an existing store";
                CliError::usage(format!("{error}; {hint}"))
            }
            error => CliError::from(error).at(&place),
        },
        other => other.into(),
    }
}

/// The shape of chunks and bins, for people.
pub(super) fn shape(spec: &StoreSpec) -> String {
    let mut text = format!("chunks of {}", joined(&spec.chunk_shape, ", "));
    if let Some(bins) = &spec.bin_shape {
        text.push_str(&format!(", bins of {}", joined(bins, ", ")));
    }
    text
}

/// The text of the report.
pub(super) fn text(report: &ImportReport) -> String {
    let maybe = |count: &Option<u64>, word| count.map(|count| counted(count, word));
    match report {
        ImportReport::Store(done) => of_store(done),
        ImportReport::Begun {
            store,
            begun_before,
            parts,
            ..
        } => {
            let how = match begun_before {
                true => "begun before, with the same options",
                false => "begun",
            };
            let parts = parts.as_ref().map_or_else(String::new, |names| {
                format!(", for {}", counted(names.len() as u64, "part"))
            });
            format!("{store}: {how}{parts}\n")
        }
        ImportReport::Part {
            store,
            step,
            written,
            vertices,
            chunks,
            ..
        } => {
            let how = match written {
                true => ",".to_owned(),
                false => format!(
                    " was finished before, and nothing is written (`--{step} --redo` writes it again); it has"
                ),
            };
            let (vertices, chunks) = (counted(*vertices, "vertex"), counted(*chunks, "chunk"));
            format!("{store}: {step}{how} {vertices}, {chunks}\n")
        }
        ImportReport::Committed {
            store,
            vertices,
            chunks,
            parts,
            ..
        } => {
            let mut all = vec!["committed".to_owned()];
            all.extend(maybe(vertices, "vertex"));
            all.extend(maybe(chunks, "chunk"));
            if !parts.is_empty() {
                let count = counted(parts.len() as u64, "part");
                all.push(format!("of {count}: {}", parts.join(", ")));
            }
            format!("{store}: {}\n", all.join(", "))
        }
        ImportReport::Status(info) => import_parts::text(info),
        ImportReport::Discarded {
            store, finished, ..
        } => {
            let what = match finished.len() {
                0 => "no part was finished".to_owned(),
                count => format!(
                    "{} removed: {}",
                    counted(count as u64, "finished part"),
                    finished.join(", ")
                ),
            };
            format!("{store}: discarded; {what}\n")
        }
        _ => String::new(),
    }
}

fn of_store(done: &StoreImported) -> String {
    let spec = &done.spec;
    let mut parts = vec![counted(done.vertices, "vertex")];
    if spec.has_objects() {
        parts.push(counted(done.objects, "object"));
    }
    if spec.takes_links() {
        parts.push(counted(done.links, "link"));
    }
    parts.extend(done.chunks.map(|chunks| counted(chunks, "chunk")));
    let mut out = format!(
        "{}: {} from {}, {}\n  {}, positions {}\n",
        done.store,
        spec.kind,
        done.format,
        parts.join(", "),
        shape(spec),
        spec.positions
    );
    for (what, list) in [
        ("vertex attributes", &done.vertex_attributes),
        ("object attributes", &done.object_attributes),
        ("link attributes", &done.link_attributes),
    ] {
        if !list.is_empty() {
            let names = list
                .iter()
                .map(|one| format!("{} {}", one.name, one.values));
            out.push_str(&format!("  {what}: {}\n", joined(names, ", ")));
        }
    }
    out
}
