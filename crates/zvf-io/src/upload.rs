//! Resolves addresses for writers as for readers, and uploads whole files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutPayload};

use crate::location::Location;
use crate::{BackendAnswer, IoError, IoOptions, WriteRequests};

/// The location to which a store is written.
#[derive(Debug, Clone)]
pub enum WriteLocation {
    /// A folder of the local disk.
    Folder(PathBuf),
    /// A prefix of an object store, without a slash at either end; its client does not retry requests.
    Prefix {
        /// The backend.
        store: Arc<dyn ObjectStore>,
        /// The prefix of every key; may be empty.
        prefix: String,
    },
}

impl WriteLocation {
    /// Resolves an address, as [`Kv::open`](crate::Kv::open) does. Sends nothing.
    ///
    /// # Errors
    /// Misuse: an invalid address, or one of a backend that is not compiled in.
    pub fn of(address: &str, options: &IoOptions) -> Result<Self, IoError> {
        Ok(match Location::resolve(address, options)? {
            Location::Local(folder) => Self::Folder(folder),
            Location::Remote { store, prefix, .. } => Self::Prefix { store, prefix },
        })
    }
}

/// Files up to this size are uploaded by one request, larger ones in parts of this size.
const PART: usize = 32 << 20;

/// Uploads a local file to an address, and replaces an existing file. The address is a path, or a URL of any backend that is
/// compiled in.
///
/// # Cost
/// One request up to 32 MiB, else a multipart upload in parts of 32 MiB; one part is in memory. Transient failures are retried
/// according to [`IoOptions::retry`]; a multipart upload is restarted. Readers of an object store see the file only when it is
/// complete. A local path is written by a plain copy.
///
/// # Errors
/// Misuse: an address without a file name, or of a backend that is not compiled in; a file over 32 MiB and a backend without
/// multipart uploads (a web server). I/O: the file cannot be read, or the backend failed.
pub fn put_file<'a>(
    address: &'a str,
    options: &'a IoOptions,
    file: &'a Path,
) -> BoxFuture<'a, Result<(), IoError>> {
    Box::pin(async move {
        let bad = |what: &str| IoError::Address {
            url: address.to_owned(),
            what: what.to_owned(),
        };
        let (folder, name) = address
            .rsplit_once('/')
            .filter(|(folder, name)| !name.is_empty() && !folder.ends_with('/'))
            .ok_or_else(|| bad("found no name after the last slash, expected that of a file"))?;
        let (store, prefix) = match WriteLocation::of(folder, options)? {
            WriteLocation::Folder(folder) => {
                // An error of the copy is one of the target, unless the file cannot be read.
                std::fs::File::open(file).map_err(|error| of_file(file, error))?;
                let to = folder.join(name);
                let copied = std::fs::copy(file, &to).map(|_| ());
                return copied.map_err(|error| of_file(&to, error));
            }
            WriteLocation::Prefix { store, prefix } => (store, prefix),
        };
        // As in addresses that are read.
        let path = object_store::path::Path::from_url_path(name);
        let path = path.and_then(|name| match prefix.is_empty() {
            true => Ok(name),
            false => object_store::path::Path::parse(format!("{prefix}/{name}")),
        });
        let path = path.map_err(|error| bad(&error.to_string()))?;
        let requests = WriteRequests::new(options);
        let answer = requests.put_file(store.as_ref(), name, &path, file).await?;
        answer.map_err(|error| IoError::backend(address, error))
    })
}

impl WriteRequests {
    /// Uploads a local file, as [`put_file`] does.
    ///
    /// # Errors
    /// As [`send`](Self::send); I/O: the file cannot be read.
    pub fn put_file<'a>(
        &'a self,
        store: &'a dyn ObjectStore,
        key: &'a str,
        path: &'a object_store::path::Path,
        file: &'a Path,
    ) -> BoxFuture<'a, Result<BackendAnswer<()>, IoError>> {
        Box::pin(async move {
            let local = |error| of_file(file, error);
            let size = std::fs::metadata(file).map_err(local)?.len();
            if size <= PART as u64 {
                let bytes = Bytes::from(std::fs::read(file).map_err(local)?);
                let put = |_| store.put(path, PutPayload::from_bytes(bytes.clone()));
                let answer = self.send(key, bytes.len(), put).await?;
                return Ok(answer.map(|_| ()));
            }
            let length = usize::try_from(size).unwrap_or(usize::MAX);
            let failed = Mutex::new(None);
            let sent = self.send(key, length, |_| put_parts(store, path, (file, &failed)));
            let sent = sent.await;
            match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(error) => Err(local(error)),
                None => sent,
            }
        })
    }
}

/// The error of a local file.
fn of_file(file: &Path, error: std::io::Error) -> IoError {
    IoError::file(file.display().to_string(), error)
}

/// Uploads a file in parts; aborts the upload after a failure. An error of the local file is put into `failed`.
async fn put_parts(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
    (file, failed): (&Path, &Mutex<Option<std::io::Error>>),
) -> Result<(), Error> {
    // Errors of this kind are final.
    let local = |error: std::io::Error| {
        let source = error.to_string().into();
        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Error::NotSupported { source }
    };
    let mut file = crate::open_file(file).map_err(local)?;
    let mut upload = store.put_multipart(path).await?;
    let sent = async {
        loop {
            let mut part = Vec::new();
            let read = (&mut file).take(PART as u64).read_to_end(&mut part);
            if read.map_err(local)? == 0 {
                return upload.complete().await.map(|_| ());
            }
            upload.put_part(PutPayload::from(part)).await?;
        }
    }
    .await;
    if sent.is_err() {
        // The first error is returned. If the abort fails, too, parts remain in the bucket until it removes them.
        let _ = upload.abort().await;
    }
    sent
}
