//! Validating a store at the deepest level, and the floor of that: reading and decompressing every object.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use zvf_store::blocking::Runtime;
use zvf_validate::{Depth, ValidateOptions, validate};

use crate::{floor, timed};

/// The store and the variant of a line that asks for a validation.
pub(crate) fn of<'l>(line: &'l str, points: &'l str, lines: &'l str) -> Option<(&'l str, &'l str)> {
    let mut words = line.split_whitespace();
    let store = match words.next()? {
        "points-validate" => points,
        "lines-validate" => lines,
        _ => return None,
    };
    Some((store, words.next()?))
}

/// Nanoseconds and vertices, or bytes of the floor.
pub(crate) fn run(runtime: &Runtime, store: &str, variant: &str) -> Result<(u128, u64)> {
    if let Some(threads) = variant.strip_prefix("floor") {
        let threads = threads.parse()?;
        let files = cells(Path::new(store))?;
        return timed(|| floor::read(&files, threads));
    }
    let options = ValidateOptions::new(Depth::Multiscale);
    let (nanoseconds, report) = timed(|| Ok(runtime.wait(validate(store, &options))?))?;
    ensure!(report.is_ok(), "{store}: {:?}", report.findings);
    Ok((nanoseconds, report.seen.vertices))
}

/// Every object below a folder but the documents.
fn cells(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.file_name() != "zarr.json" {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
