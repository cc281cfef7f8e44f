//! Downloads input files at URLs to local files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use zvf_convert::{ConvertError, Format, Options, fetch_part};
use zvf_store::StoreError;
use zvf_store::io::{Cap, FileLocation, IoError, ObjectLocation, blocking};

use crate::error::Result;
use crate::output::TemporaryFolder;
use crate::{Context, JobError, JobEvent};

/// Most bytes of a list at a URL, which is read into memory.
const MOST_LIST_BYTES: u64 = 256 << 20;

/// Reads a list of ids or names from a file, or from an object of at most [`MOST_LIST_BYTES`] at a URL. `what` names the operation in errors, such as
/// `read ids from`.
///
/// # Errors
/// I/O; limit; misuse: a URL without a backend.
pub(crate) async fn read_list(file: &str, what: &'static str, context: &Context) -> Result<String> {
    let text = whole_list(file, what, context).await?;
    // Some editors put a byte order mark first.
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

async fn whole_list(file: &str, what: &'static str, context: &Context) -> Result<String> {
    let path = PathBuf::from(file);
    let Some(url) = url(&path) else {
        return local_list(path, what).await;
    };
    let place = FileLocation::resolve(url, &context.write.open.io);
    let place = match place.map_err(failed(url))? {
        FileLocation::Local(path) => return local_list(path, what).await,
        FileLocation::Object(place) => place,
    };
    let cap = Cap {
        what: "bytes of a list at a URL",
        most: MOST_LIST_BYTES,
    };
    let read = place.read(cap).await.map_err(failed(url))?;
    let bytes = read.ok_or_else(|| missing(url))?;
    let text = String::from_utf8(bytes.into());
    let text = text.map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error));
    text.map_err(JobError::file(what, &path))
}

/// The text of a local list.
async fn local_list(path: PathBuf, what: &'static str) -> Result<String> {
    let place = path.clone();
    let read = blocking(move || zvf_store::open_file(&path).and_then(std::io::read_to_string));
    let place_text = place.to_string_lossy();
    let read = read.await.map_err(failed(&place_text))?;
    read.map_err(JobError::file(what, &place))
}

/// Temporary copies of input files at URLs.
#[derive(Debug, Default)]
pub(crate) struct LocalFiles {
    /// The URL of each temporary file.
    urls: BTreeMap<PathBuf, PathBuf>,
    /// Removes the temporary files.
    folder: Option<TemporaryFolder>,
}

impl LocalFiles {
    /// A job with local copies of the files that are at URLs, which are downloaded as a whole.
    pub(crate) async fn of_job<J: Clone>(
        job: &J,
        files: impl FnOnce(&mut J) -> Vec<&mut PathBuf>,
        context: &Context,
    ) -> Result<(J, Self)> {
        let (mut job, mut local) = (job.clone(), Self::default());
        local
            .fetch(files(&mut job), &Options::default(), context)
            .await?;
        Ok((job, local))
    }

    /// Downloads files at URLs to temporary files of the same names, and replaces the URLs by the paths of these files. Of a COPC file, only the part
    /// that the options name is downloaded, if the server supports ranges.
    pub(crate) async fn fetch(
        &mut self,
        files: Vec<&mut PathBuf>,
        options: &Options,
        context: &Context,
    ) -> Result<()> {
        for file in files {
            let Some(url) = url(file) else {
                continue;
            };
            let place = FileLocation::resolve(url, &context.write.open.io);
            let local = match place.map_err(failed(url))? {
                FileLocation::Local(path) => path,
                FileLocation::Object(place) => {
                    let failed = || JobError::file("make a temporary file for", file);
                    let folder = match self.folder.take() {
                        Some(folder) => folder,
                        None => TemporaryFolder::new().map_err(failed())?,
                    };
                    let below = folder.path().join(self.urls.len().to_string());
                    self.folder = Some(folder);
                    std::fs::create_dir(&below).map_err(failed())?;
                    // The name is kept, because its ending and the number in it are read later.
                    let name = Some(place.name()).filter(|name| !name.is_empty());
                    let path = below.join(name.unwrap_or("file"));
                    let to = File::create(&path).map_err(failed())?;
                    fetch(&place, to, url, options, context).await?;
                    self.urls.insert(path.clone(), file.clone());
                    path
                }
            };
            *file = local;
        }
        Ok(())
    }

    /// Replaces the paths of temporary files in an error by their URLs.
    pub(crate) fn named(&self, error: JobError) -> JobError {
        match error {
            JobError::Convert(error) => {
                let mut error = error.renamed(|path| self.urls.get(path).cloned());
                if let ConvertError::Usage {
                    what,
                    found,
                    expected,
                } = &mut error
                {
                    for text in [what, found, expected] {
                        *text = self.named_text(text);
                    }
                }
                JobError::from(error)
            }
            JobError::Table { what, class } => JobError::Table {
                what: self.named_text(&what),
                class,
            },
            JobError::Change { place, source } => self.named(*source).at(&place),
            other => other,
        }
    }

    /// Replaces the paths of temporary files in notes by their URLs.
    pub(crate) fn named_notes(&self, notes: &[String]) -> Vec<String> {
        notes.iter().map(|note| self.named_text(note)).collect()
    }

    fn named_text(&self, text: &str) -> String {
        self.urls.iter().fold(text.to_owned(), |text, (path, url)| {
            text.replace(&*path.to_string_lossy(), &url.to_string_lossy())
        })
    }
}

/// Refuses URLs of files without the ending of a known format, before anything is downloaded.
pub(crate) fn check_endings<'f>(files: impl IntoIterator<Item = &'f PathBuf>) -> Result<()> {
    let urls = files.into_iter().filter_map(|file| url(file));
    // A folder of the local disk has no ending.
    let urls = urls.filter(|url| !url.starts_with("file://"));
    urls.map(path)
        .try_for_each(|path| Format::of(path).map(|_| ()))
        .map_err(JobError::from)
}

/// The text of a URL; `None` for a path.
pub(crate) fn url(file: &Path) -> Option<&str> {
    file.to_str().filter(|text| text.contains("://"))
}

/// A URL without query and fragment.
fn path(url: &str) -> &Path {
    Path::new(url.split(['?', '#']).next().unwrap_or(url))
}

/// The format of a file at a path or URL, by its ending; `None` if it has none that an import knows.
pub(crate) fn format_of(file: &Path) -> Option<Format> {
    Format::of(url(file).map_or(file, path)).ok()
}

/// Whether a file is the URL of a store: a URL without the ending of a known format.
pub(crate) fn is_store_url(file: &Path) -> bool {
    url(file).is_some() && format_of(file).is_none()
}

pub(crate) fn failed(url: &str) -> impl FnOnce(IoError) -> JobError + '_ {
    let store = JobError::store(url);
    move |error| store(StoreError::from(error))
}

/// Downloads a file, or the part of it that the options name.
async fn fetch(
    place: &ObjectLocation,
    to: File,
    url: &str,
    options: &Options,
    context: &Context,
) -> Result<()> {
    let to = match fetch_points(place, to, url, options, context).await? {
        Some(to) => to,
        None => return Ok(()),
    };
    context.event(&JobEvent::Downloading(url));
    let saved = place.save(to, context.downloads()).await;
    let bytes = saved.map_err(failed(url))?.ok_or_else(|| missing(url))?;
    context.event(&JobEvent::Downloaded {
        bytes,
        total: Some(bytes),
    });
    Ok(())
}

fn missing(url: &str) -> JobError {
    JobError::File {
        what: "read",
        path: PathBuf::from(url),
        source: std::io::ErrorKind::NotFound.into(),
    }
}

/// Downloads the part of a file of points that the options name. Returns `to` if the whole file must be downloaded instead.
async fn fetch_points(
    place: &ObjectLocation,
    to: File,
    url: &str,
    options: &Options,
    context: &Context,
) -> Result<Option<File>> {
    let path = PathBuf::from(url);
    let format = options.format.or_else(|| format_of(&path));
    let is_part = options.bbox.is_some() || options.resolution.is_some();
    if !is_part || !matches!(format, Some(Format::Las | Format::Laz)) {
        return Ok(Some(to));
    }
    let from = match place.open_ranges().await {
        Ok(Some(from)) => from,
        Ok(None) => return Err(missing(url)),
        Err(IoError::NotSupported { .. }) => {
            context.warn(&format!(
                "{url}: the server sends no ranges, so the whole file is downloaded"
            ));
            return Ok(Some(to));
        }
        Err(error) => return Err(failed(url)(error)),
    };
    let options = options.clone();
    let copied = blocking(move || fetch_part(&path, &from, &to, &options).map(|done| (done, to)));
    let (is_copied, to) = copied.await.map_err(failed(url))??;
    if !is_copied {
        context.warn(&format!(
            "{url}: the file has no COPC index, so the whole file is downloaded"
        ));
        return Ok(Some(to));
    }
    Ok(None)
}
