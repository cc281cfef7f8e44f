//! Results at a URL: files are written to a temporary folder, and uploaded when they are complete.

use std::path::{Path, PathBuf};

use zvf_encode::error::OrBug;
use zvf_store::writing::{WriteLocation, put_file};
use zvf_store::{IoOptions, StoreError};

use super::staged::TemporaryFolder;
use crate::error::Result;
use crate::input_files::escaped;
use crate::{Context, JobError};

/// The local path to which a result is written, and the URL to which it is then uploaded, if there is one.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    upload: Option<Upload>,
}

#[derive(Debug)]
struct Upload {
    /// The URL of the folder that gets the files.
    above: String,
    /// The folder in which the files are written. Dropping it removes them.
    folder: TemporaryFolder,
}

impl Output {
    /// The output for a path or URL; a `file:` URL is handled as a path.
    ///
    /// # Errors
    ///
    /// Usage: a URL without a name, of an unknown backend, or in the store that is read. I/O: the temporary folder.
    pub fn of(given: &Path, store: &str, io: &IoOptions) -> Result<Self> {
        let url = given.to_str().filter(|text| text.contains("://"));
        let Some(url) = url else {
            return Ok(Self {
                path: given.to_owned(),
                upload: None,
            });
        };
        let address = url.trim_end_matches('/');
        let store = store.trim_end_matches('/');
        // Whether a local path is inside a store is checked when the file is created.
        if address
            .strip_prefix(store)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        {
            return Err(JobError::usage(format!(
                "{url}: is in the store {store}, expected a place outside of every store"
            )));
        }
        let (above, name) = address
            .rsplit_once('/')
            .filter(|(above, name)| !name.is_empty() && !above.ends_with('/'))
            .ok_or_else(|| {
                JobError::usage(format!(
                    "{url}: found no name after the bucket or host, expected that of a file or directory"
                ))
            })?;
        // A trailing slash marks a directory.
        let end = if url.ends_with('/') { "/" } else { "" };
        if let WriteLocation::Folder(path) =
            WriteLocation::of(address, io).map_err(StoreError::from)?
        {
            let mut path = path.into_os_string();
            path.push(end);
            return Ok(Self {
                path: path.into(),
                upload: None,
            });
        }
        let folder =
            TemporaryFolder::new().map_err(JobError::file("make a temporary folder for", given))?;
        Ok(Self {
            path: folder.path().join(format!("{name}{end}")),
            upload: Some(Upload {
                above: above.to_owned(),
                folder,
            }),
        })
    }

    /// Whether another output has the same place.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        /// The place of a file whose folder may be written in several ways.
        fn located(path: &Path) -> Option<PathBuf> {
            let folder = path.parent()?;
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        }
        match (&self.upload, &other.upload) {
            (Some(own), Some(upload)) => {
                own.above == upload.above && self.path.file_name() == other.path.file_name()
            }
            (None, None) => {
                let (own, theirs) = (located(&self.path), located(&other.path));
                self.path == other.path || (own.is_some() && own == theirs)
            }
            _ => false,
        }
    }

    /// The local path to write the result to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends the files to their target in the order in which they were made; returns their paths or URLs there.
    ///
    /// # Errors
    ///
    /// The errors of the backend.
    pub async fn send(self, files: Vec<PathBuf>, context: &Context) -> Result<Vec<PathBuf>> {
        let Some(upload) = self.upload else {
            return Ok(files);
        };
        let io = &context.write.open.io;
        let mut sent = Vec::new();
        for file in files {
            let name = file.strip_prefix(upload.folder.path()).ok();
            let name = name.or_bug("a file in no folder for uploads")?;
            // The first part is from the URL, and escaped there if necessary.
            let parts = name.iter().map(|part| part.to_string_lossy()).enumerate();
            let parts = parts.map(|(at, part)| match at {
                0 => part.into_owned(),
                _ => escaped(&part),
            });
            let name = parts.collect::<Vec<_>>().join("/");
            let address = format!("{}/{name}", upload.above);
            let put = put_file(&address, io, &file).await;
            put.map_err(|error| JobError::from(StoreError::from(error)).at(&address))?;
            sent.push(PathBuf::from(address));
        }
        Ok(sent)
    }
}
