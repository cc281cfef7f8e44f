//! States, ranges and listings of single objects, for programs that serve or copy a store.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::context::Context;
use crate::folder::{Folder, FolderEntry};
use crate::kv::{Backend, Kv};
#[cfg(feature = "backends")]
use crate::remote::{Got, Remote, Use, WantedPart};
#[cfg(feature = "backends")]
use crate::task::driven;
use crate::task::on_worker;
use crate::versions::ReportedState;
use crate::{Ask, Cap, IoError, local};
use zvf_grid::int::wide;

/// The state of one stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectState {
    /// Bytes.
    pub size: u64,
    /// The validator of the content: the ETag of the backend, without quotes; on a local disk, inode and time of the last write.
    pub etag: Option<String>,
}

impl ObjectState {
    /// A state with only a size.
    #[must_use]
    pub fn of_size(size: u64) -> Self {
        Self { size, etag: None }
    }
}

/// Objects by key, each with its state.
pub type ObjectStates = Vec<(String, ObjectState)>;

/// A range of one stored object.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ObjectPart {
    /// The bytes.
    pub bytes: Bytes,
    /// The state of the object when they were read.
    pub state: ObjectState,
}

/// The folders and objects directly below a prefix, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Names of folders.
    pub folders: Vec<String>,
    /// Names of objects.
    pub objects: Vec<String>,
}

impl Kv {
    /// The state of one object; `None` if it does not exist, is not a file, or is a link out of the local folder.
    ///
    /// # Errors
    /// I/O.
    pub fn object_state<'a>(
        &'a self,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<ObjectState>, IoError>> {
        Box::pin(async move {
            match self.backend() {
                Backend::Local(root) => {
                    let key = key.to_owned();
                    let look = move |root: &Folder, context: &Context| {
                        if !is_file_within(root, &key)? {
                            return Ok(None);
                        }
                        let state = local::state(root, context, &key)?;
                        Ok(state.map(|state| ObjectState {
                            size: state.size,
                            etag: state.etag,
                        }))
                    };
                    self.on_disk(root, look).await?
                }
                Backend::Caller(_) => {
                    // An answer with any part states the size of the object.
                    let first = Ask::Range(0..1);
                    let object = self.get(key, first, Cap::cell(self.limits())).await?;
                    Ok(object.map(|object| ObjectState {
                        size: object.size,
                        etag: object.etag.map(unquoted),
                    }))
                }
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    let (context, remote) = (Context::clone(self), remote.clone());
                    let key = key.to_owned();
                    driven(async move {
                        let got = remote.state_or_byte(&context, &key).await?;
                        Ok(got.map(|got| ObjectState {
                            size: got.state.size,
                            etag: got.state.etag.map(unquoted),
                        }))
                    })
                    .await
                }
            }
        })
    }

    /// A range of one object; `None` as for [`object_state`](Self::object_state).
    ///
    /// # Errors
    /// I/O; limit, for a range of more than [`Limits::cell_bytes`](crate::Limits::cell_bytes).
    pub fn object_range<'a>(
        &'a self,
        key: &'a str,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Option<ObjectPart>, IoError>> {
        Box::pin(async move {
            if let Backend::Local(root) = self.backend() {
                let (root, key) = (Arc::clone(root), key.to_owned());
                let within = on_worker(move || is_file_within(&root, &key)).await??;
                if !within {
                    return Ok(None);
                }
            }
            let object = self
                .get(key, Ask::Range(range), Cap::cell(self.limits()))
                .await?;
            Ok(object.map(|object| ObjectPart {
                bytes: object.bytes,
                state: ObjectState {
                    size: object.size,
                    etag: object.etag.map(unquoted),
                },
            }))
        })
    }

    /// All objects of the address with their states, in ascending order of their keys; `None` when the backend cannot list. Names that
    /// are not UTF-8 are left out.
    ///
    /// # Cost
    /// One listing, with as many pages as the backend needs; on a local disk one `stat` for each file.
    ///
    /// # Errors
    /// I/O; malformed: a symbolic link to a folder in a local folder; limit, for more objects than
    /// [`Limits::cells_per_query`](crate::Limits::cells_per_query).
    pub fn objects(&self) -> BoxFuture<'_, Result<Option<ObjectStates>, IoError>> {
        Box::pin(async move {
            let cap = Cap::cells(self.limits());
            let mut found = match self.backend() {
                Backend::Local(root) => {
                    let list = move |root: &Folder, _: &Context| local::files(root, cap);
                    self.on_disk(root, list).await??
                }
                Backend::Caller(_) => return Ok(None),
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    let (context, remote) = (Context::clone(self), remote.clone());
                    let list = driven(async move { remote.objects(&context).await });
                    match list.await? {
                        Some(found) => found,
                        None => return Ok(None),
                    }
                }
            };
            found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let reported = |(key, state): (String, ReportedState)| {
                let (size, etag) = (state.size, state.etag.map(unquoted));
                (key, ObjectState { size, etag })
            };
            Ok(Some(found.into_iter().map(reported).collect()))
        })
    }

    /// Folders and objects directly below a prefix; `None` when the backend cannot list.
    ///
    /// # Errors
    /// I/O; limit, for more names than [`Limits::listed_names`](crate::Limits::listed_names).
    pub fn listing<'a>(
        &'a self,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Option<Listing>, IoError>> {
        Box::pin(async move {
            let cap = Cap::names(self.limits());
            match self.backend() {
                Backend::Local(root) => {
                    let prefix = prefix.to_owned();
                    let list = move |root: &Folder, _: &Context| local_listing(root, &prefix, cap);
                    self.on_disk(root, list).await?.map(Some)
                }
                Backend::Caller(_) => Ok(None),
                #[cfg(feature = "backends")]
                Backend::Remote(remote) => {
                    let (context, remote) = (Context::clone(self), remote.clone());
                    let prefix = prefix.to_owned();
                    driven(async move {
                        let Some(found) = remote.delimited(&context, &prefix).await? else {
                            return Ok(None);
                        };
                        let mut listing = Listing::default();
                        let objects = found.objects.iter().map(|meta| &meta.location);
                        let folders = found.common_prefixes.iter();
                        listing.folders.extend(folders.filter_map(last_name));
                        listing.objects.extend(objects.filter_map(last_name));
                        listing.finish(&prefix, cap).map(Some)
                    })
                    .await
                }
            }
        })
    }
}

#[cfg(feature = "backends")]
fn last_name(path: &object_store::path::Path) -> Option<String> {
    path.filename().map(str::to_owned)
}

/// An ETag of HTTP without its quotes and the mark of a weak one (`W/`).
fn unquoted(etag: String) -> String {
    etag.trim_start_matches("W/").trim_matches('"').to_owned()
}

impl Listing {
    fn finish(mut self, prefix: &str, cap: Cap) -> Result<Self, IoError> {
        let found = self.folders.len().saturating_add(self.objects.len());
        cap.check(prefix, wide(found))?;
        self.folders.sort_unstable();
        self.objects.sort_unstable();
        Ok(self)
    }
}

#[cfg(feature = "backends")]
impl Remote {
    /// The state of an object, from a request for its first byte if the server refuses HEAD.
    async fn state_or_byte(&self, context: &Context, key: &str) -> Result<Option<Got>, IoError> {
        let purpose = || Use {
            cap: Cap::cell(context.limits()),
            role: None,
        };
        match self.send(context, key, WantedPart::State, purpose()).await {
            Ok(Some(found)) => {
                self.has_head();
                Ok(Some(found))
            }
            Ok(None) if self.had_head() => Ok(None),
            Err(error) if error.is_transient() => Err(error),
            // The client takes status 405, of a server without HEAD, for an absent object.
            _ => {
                self.send(context, key, WantedPart::Bytes(Ask::Range(0..1)), purpose())
                    .await
            }
        }
    }
}

/// Whether a key is a regular file inside the real path of the folder: symbolic links out of a store are not followed.
fn is_file_within(root: &Folder, key: &str) -> Result<bool, IoError> {
    kind_within(root, key).map(|kind| kind == Some(FolderEntry::File))
}

/// The kind of the file or folder at a key, after symbolic links; `None` if it does not exist, is outside the folder, or is of another kind.
fn kind_within(root: &Folder, key: &str) -> Result<Option<FolderEntry>, IoError> {
    let missing = |error: &std::io::Error| {
        matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename
        ) || is_loop(error)
    };
    let real = root.path().canonicalize().and_then(|top| {
        let real = top.join(key).canonicalize()?;
        let inside = real.starts_with(&top);
        Ok((inside, real.metadata()?))
    });
    match real {
        Ok((false, _)) => Ok(None),
        Ok((true, meta)) if meta.is_file() => Ok(Some(FolderEntry::File)),
        Ok((true, meta)) if meta.is_dir() => Ok(Some(FolderEntry::Folder)),
        Ok((true, _)) => Ok(None),
        Err(error) if missing(&error) => Ok(None),
        Err(error) => Err(IoError::file(key, error)),
    }
}

/// Whether symbolic links form a cycle, which counts as absent.
#[cfg(unix)]
fn is_loop(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &std::io::Error) -> bool {
    false
}

fn local_listing(root: &Folder, prefix: &str, cap: Cap) -> Result<Listing, IoError> {
    let mut listing = Listing::default();
    if kind_within(root, prefix)? != Some(FolderEntry::Folder) {
        return Ok(listing);
    }
    let mut count = 0u64;
    local::entries(root, prefix, &mut |name, entry| {
        count = count.saturating_add(1);
        cap.check(prefix, count)?;
        let kind = match entry {
            FolderEntry::Other => kind_within(root, &local::below(prefix, &name))?,
            known => Some(known),
        };
        match kind {
            Some(FolderEntry::Folder) => listing.folders.push(name),
            Some(FolderEntry::File) => listing.objects.push(name),
            _ => {}
        }
        Ok(())
    })?;
    listing.finish(prefix, cap)
}
