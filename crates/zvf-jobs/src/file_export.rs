//! A file of another format that is written from a store.

use std::path::{Path, PathBuf};

use zvf_convert::export::{ExportOptions, Exported, LinksFile, export};
use zvf_convert::{ConvertError, Format};
use zvf_store::Store;

use crate::error::Result;
use crate::{JobError, Staged, is_packed, is_special};

/// The warnings of an export, then its notes.
pub(crate) fn remarks(done: &Exported) -> Vec<String> {
    done.warnings.iter().chain(&done.notes).cloned().collect()
}

/// Writes a file from a store, and optionally a second file with a table of links, which may be faces. Each file appears under its name only when it
/// is complete. Separators and compression follow from the names of the files, and so does the format of the second one.
///
/// # Errors
///
/// Misuse: a device or a pipe, a path inside a store. The errors of [`export`]; I/O.
pub(crate) async fn write_file(
    store: &Store,
    (file, format): (&Path, Format),
    links: Option<(&Path, bool)>,
    mut options: ExportOptions,
) -> Result<Exported> {
    let second = links.map(|(file, _)| file);
    for file in [Some(file), second].into_iter().flatten() {
        if is_special(file) {
            return Err(JobError::usage(format!(
                "{}: found a device or a pipe, expected a file: `zvf query --format` writes to those",
                file.display()
            )));
        }
    }
    (options.delimiter, options.gzip) = separated(file);
    let staged = Staged::file(file)?;
    let mut names = vec![(staged.path().to_owned(), file)];
    let mut second = None;
    if let Some((links, faces)) = links {
        let place = Staged::file(links)?;
        names.push((place.path().to_owned(), links));
        let mut table = LinksFile::new(Format::of(links)?, place.path(), faces);
        (table.delimiter, table.gzip) = separated(links);
        options.links = Some(table);
        second = Some(place);
    }
    let done = export(store, format, staged.path(), &options).await;
    let done = done.map_err(|error| renamed(error, &names).at(store.url()))?;
    staged.commit()?;
    second.map_or(Ok(()), |second| second.commit().map(|_| ()))?;
    Ok(done)
}

/// Converts an error; temporary paths in its text become the names of the output files.
fn renamed(error: ConvertError, names: &[(PathBuf, &Path)]) -> JobError {
    let (said, class) = (error.to_string(), error.class());
    let what = names.iter().fold(said.clone(), |what, (temporary, name)| {
        let temporary = temporary.display().to_string();
        what.replace(&temporary, &name.display().to_string())
    });
    match what == said {
        true => error.into(),
        false => JobError::Table { what, class },
    }
}

/// The separator of the columns of a file, if it is not a comma, and whether the file is compressed by gzip.
fn separated(file: &Path) -> (Option<u8>, bool) {
    let gzip = is_packed(file);
    let name = file.file_stem().filter(|_| gzip).map(Path::new);
    let ending = name.unwrap_or(file).extension();
    let tabs = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
    (tabs.then_some(b'\t'), gzip)
}
