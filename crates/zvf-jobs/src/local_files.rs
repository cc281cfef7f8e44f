//! Input files at URLs, as local files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zvf_convert::{Format, Options, fetch_part};
use zvf_store::StoreError;
use zvf_store::io::{FileLocation, IoError, ObjectLocation, blocking};

use crate::error::Result;
use crate::{Context, JobError, JobEvent};

/// Files on the local disk, some of them temporary.
#[derive(Debug)]
pub(crate) struct LocalFiles {
    pub(crate) files: Vec<PathBuf>,
    /// The URLs of the temporary files.
    urls: BTreeMap<PathBuf, PathBuf>,
    /// Removes the temporary files.
    _folder: Option<TempDir>,
}

impl LocalFiles {
    /// The files that these options read. Files at URLs are downloaded to temporary files of the same names; of COPC files only
    /// the part that the options name, if the server sends ranges.
    pub(crate) async fn of(
        files: &[PathBuf],
        options: &Options,
        context: &Context,
    ) -> Result<Self> {
        let mut local = Vec::with_capacity(files.len());
        let (mut folder, mut urls) = (None, BTreeMap::new());
        for (number, file) in files.iter().enumerate() {
            let url = file.to_str().filter(|text| text.contains("://"));
            let Some(url) = url else {
                local.push(file.clone());
                continue;
            };
            let failed = || failed(url);
            match FileLocation::resolve(url, &context.write.open.io).map_err(failed())? {
                FileLocation::Local(path) => local.push(path),
                FileLocation::Object(place) => {
                    let file_error = |source| JobError::File {
                        what: "make a temporary file for",
                        path: file.clone(),
                        source,
                    };
                    let top = match folder.take() {
                        Some(top) => top,
                        None => tempfile::tempdir().map_err(file_error)?,
                    };
                    let below = top.path().join(number.to_string());
                    std::fs::create_dir(&below).map_err(file_error)?;
                    let path = below.join(name(url));
                    let to = File::create(&path).map_err(file_error)?;
                    fetch(&place, to, url, options, context).await?;
                    urls.insert(path.clone(), file.clone());
                    local.push(path);
                    folder = Some(top);
                }
            }
        }
        Ok(Self {
            files: local,
            urls,
            _folder: folder,
        })
    }

    /// The error with the URL of a temporary file instead of its path.
    pub(crate) fn named(&self, error: JobError) -> JobError {
        match error {
            JobError::Convert(error) => {
                JobError::from(error.renamed(|path| self.urls.get(path).cloned()))
            }
            other => other,
        }
    }
}

/// The name of the file at a URL: its ending and its number are read.
fn name(url: &str) -> &Path {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    Path::new(path.rsplit('/').next().unwrap_or(path))
        .file_name()
        .map_or(Path::new("file"), Path::new)
}

fn failed(url: &str) -> impl FnOnce(IoError) -> JobError + '_ {
    let store = JobError::store(url);
    move |error| store(StoreError::from(error))
}

/// Copies a file, or the part of it that the options name.
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
    match place.save(to).await.map_err(failed(url))? {
        Some(_) => Ok(()),
        None => Err(missing(url)),
    }
}

fn missing(url: &str) -> JobError {
    JobError::File {
        what: "read",
        path: PathBuf::from(url),
        source: std::io::ErrorKind::NotFound.into(),
    }
}

/// Copies a part of a file of points; returns the local file if all of it is needed.
async fn fetch_points(
    place: &ObjectLocation,
    to: File,
    url: &str,
    options: &Options,
    context: &Context,
) -> Result<Option<File>> {
    let path = PathBuf::from(url);
    let format = options.format.or_else(|| Format::of(&path).ok());
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
            "{url}: there is no index of COPC, so the whole file is downloaded"
        ));
        return Ok(Some(to));
    }
    Ok(None)
}
