//! Expands folders and patterns in lists of input files.

use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use zvf_convert::Format;
use zvf_store::RawStore;
use zvf_store::io::{FileLocation, blocking};

use crate::error::Result;
use crate::local_files::{failed, url};
use crate::{Context, JobError};

/// As in a shell: `*` and `?` match no `/`, and no dot at the beginning of a name.
const RULES: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// Replaces each pattern (`*.swc`, `run-?/[ab].csv`, `s3://bucket/scans/*.laz`) by the files that match, and each folder by the files directly in it
/// that have a known ending (with `any_ending`, by all files in it), in the order of their names. Folders that are [one input](is_input) remain, and
/// so do other paths.
///
/// # Cost
/// Reads folders of the local disk. For a URL, one listing of the folder; the pattern may be in the last part of the URL alone.
///
/// # Errors
/// Usage: an invalid pattern, or one that no file matches; a folder without such files; a server that cannot list. I/O.
pub(crate) async fn expanded(
    files: &[PathBuf],
    any_ending: bool,
    context: &Context,
) -> Result<Vec<PathBuf>> {
    let mut found = Vec::with_capacity(files.len());
    for file in files {
        let some = match place(file, context)? {
            Place::Remote(url) => at_url(url, any_ending, context).await?,
            Place::Local(path) => {
                let found = blocking(move || on_disk(&path, any_ending)).await;
                found.map_err(failed(&file.to_string_lossy()))??
            }
        };
        match some {
            None => found.push(file.clone()),
            Some(some) if some.is_empty() => {
                return Err(JobError::usage(format!(
                    "{}: found no file, expected a pattern that matches files, or a folder with files of known endings (--format takes any)",
                    file.display()
                )));
            }
            Some(some) => found.extend(some),
        }
    }
    Ok(found)
}

/// The location of an input, or of the files that match a pattern.
enum Place<'f> {
    Local(PathBuf),
    Remote(&'f str),
}

/// The location of an input; a `file:` URL is handled as a path.
fn place<'f>(file: &'f Path, context: &Context) -> Result<Place<'f>> {
    let Some(url) = url(file) else {
        return Ok(Place::Local(file.to_owned()));
    };
    if !url.starts_with("file://") {
        return Ok(Place::Remote(url));
    }
    // An unescaped `?` would begin the query of the URL.
    let escaped = url.replace('?', "%3F");
    match FileLocation::resolve(&escaped, &context.write.open.io).map_err(failed(url))? {
        FileLocation::Local(path) => Ok(Place::Local(path)),
        FileLocation::Object(_) => Ok(Place::Remote(url)),
    }
}

/// Whether a name has a known ending.
fn is_known(name: &Path) -> bool {
    Format::of(name).is_ok()
}

/// Whether a folder is one input: a precomputed folder, a store, or a folder that a query wrote.
fn is_input(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).is_file();
    // The ending of a folder does not matter: `points.parquet` may be a folder of files, as cluster programs write it.
    let is_precomputed = matches!(Format::of(folder), Ok(Format::Precomputed));
    is_precomputed || has("zarr.json") || has("vertices.arrow")
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn pattern(text: &str) -> Result<Pattern> {
    Pattern::new(text).map_err(|error| JobError::usage(format!("{text}: {error}")))
}

/// The files in a folder, or those that match a pattern; `None` if the path is one input file or folder itself.
fn on_disk(path: &Path, any_ending: bool) -> Result<Option<Vec<PathBuf>>> {
    let failed = || JobError::file("list the files of", path);
    if path.is_dir() {
        if is_input(path) {
            return Ok(None);
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let file = entry.path();
            // A broken symbolic link is kept, so that reading it fails with an error that names it.
            if !is_hidden && !file.is_dir() && (any_ending || is_known(&file)) {
                found.push(file);
            }
        }
        found.sort();
        return Ok(Some(found));
    }
    let Some(text) = path.to_str().filter(|text| is_pattern(text)) else {
        return Ok(None);
    };
    if path.exists() {
        return Ok(None);
    }
    pattern(text)?;
    let matches = glob::glob_with(text, RULES);
    let matches = matches.map_err(|error| JobError::usage(format!("{text}: {error}")))?;
    let found: std::result::Result<Vec<PathBuf>, _> = matches.collect();
    let mut found =
        found.map_err(|error| JobError::file("list the files of", path)(error.into()))?;
    // Folders that are not an input are left out.
    found.retain(|found| !found.is_dir() || is_input(found));
    Ok(Some(found))
}

/// The URLs of the objects in a folder, or of the objects that match a pattern; `None` if the URL names one input.
async fn at_url(url: &str, any_ending: bool, context: &Context) -> Result<Option<Vec<PathBuf>>> {
    // Web servers have no listings, and a `?` begins the query of their URLs.
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(None);
    }
    let Some((folder, name)) = url.rsplit_once('/') else {
        return Ok(None);
    };
    if !name.is_empty() && !is_pattern(name) {
        return Ok(None);
    }
    let store = RawStore::open(folder, &context.write.open.io);
    let store = store.map_err(JobError::store(url))?;
    let listed = store.listing("").await.map_err(JobError::store(url))?;
    let Some(listed) = listed else {
        return Err(JobError::usage(format!(
            "{url}: the server cannot list files, expected the URL of each file"
        )));
    };
    // A store.
    if name.is_empty() && listed.objects.iter().any(|name| name == "zarr.json") {
        return Ok(None);
    }
    let wanted = match name {
        "" => None,
        name => Some(pattern(name)?),
    };
    let is_wanted = |name: &String| match &wanted {
        Some(pattern) => pattern.matches_with(name, RULES),
        None => !name.starts_with('.') && (any_ending || is_known(Path::new(name))),
    };
    let names = listed.objects.iter().filter(|name| is_wanted(name));
    Ok(Some(
        names
            .map(|name| PathBuf::from(format!("{folder}/{}", escaped(name))))
            .collect(),
    ))
}

/// A name as part of a URL.
pub(crate) fn escaped(name: &str) -> String {
    // `%` is escaped first, because the other escapes contain it.
    let name = name.replace('%', "%25");
    name.replace('#', "%23").replace('?', "%3F")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_in_urls_are_escaped() {
        for (name, wanted) in [
            ("scan 1.laz", "scan 1.laz"),
            ("a%41.csv", "a%2541.csv"),
            ("run#2?.csv", "run%232%3F.csv"),
            ("\u{fc}[1]+.csv", "\u{fc}[1]+.csv"),
        ] {
            assert_eq!(escaped(name), wanted);
        }
    }
}
