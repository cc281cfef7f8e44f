//! The views of a store as files, for buckets and web servers that know nothing of stores.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use zvf_store::{Class, Store};

use crate::opened::Opened;
use crate::refusal::Refusal;
use crate::views::{Content, View, content, lines, points};

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Folders of views, as in the paths of the server.
    pub views: Vec<&'static str>,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Attributes that no view can show.
    pub left_out: Vec<String>,
}

/// Why the views were not written. What was written before stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A view cannot be made.
    #[error("{path}: {message}")]
    View {
        /// The file of the view.
        path: String,
        /// What is wrong.
        message: String,
        /// The class of the failure.
        class: Class,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl ExportError {
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::View { class, .. } => *class,
            Self::File { .. } => Class::Io,
        }
    }
}

/// Writes every view of a store below `folder`, which has to exist: the same files that the server sends, unsharded.
///
/// # Cost
/// One file for each object in each of its views, and for each point; each is made in memory. Chunks of points are read once for each band of
/// the spatial index and once for the files by id.
///
/// # Errors
/// As the store and its queries say; an object of more than 64 MiB; I/O.
pub fn export_precomputed<'a>(
    store: Store,
    folder: &'a Path,
    memory_budget: u64,
) -> BoxFuture<'a, Result<Exported, ExportError>> {
    Box::pin(async move {
        let opened = Arc::new(Opened::new(store, Arc::default()));
        let mut writer = Writer {
            opened,
            folder,
            budget: memory_budget,
            done: Exported::default(),
        };
        for view in View::of(writer.opened.kind()) {
            writer.done.views.push(view.name());
            writer.view(*view).await?;
        }
        writer.done.left_out.sort();
        writer.done.left_out.dedup();
        Ok(writer.done)
    })
}

struct Writer<'a> {
    opened: Arc<Opened>,
    folder: &'a Path,
    budget: u64,
    done: Exported,
}

/// The failure of a view.
fn failed(path: &str, refusal: &Refusal) -> ExportError {
    ExportError::View {
        path: path.to_owned(),
        message: refusal.message().to_owned(),
        class: refusal.class(),
    }
}

impl Writer<'_> {
    async fn view(&mut self, view: View) -> Result<(), ExportError> {
        let name = view.name();
        let info = self.file(&[name, "info"]).await?;
        let left_out = info.as_ref().map(|info| &info["zvf"]["left_out"]);
        let left_out = left_out.and_then(Value::as_array).into_iter().flatten();
        let left_out = left_out.filter_map(|one| one.as_str().map(str::to_owned));
        self.done.left_out.extend(left_out);
        let objects = self.opened.objects().await;
        let objects = objects.map_err(|refusal| failed(name, &refusal))?;
        let segments = objects.first(usize::MAX);
        match view {
            View::Points => {
                let cells = points::cells(&self.opened).await;
                for (folder, key) in cells.map_err(|refusal| failed(name, &refusal))? {
                    self.file(&[name, &folder, &key]).await?;
                }
                let chunks = points::chunk_numbers(&self.opened).await;
                for chunk in chunks.map_err(|refusal| failed(name, &refusal))? {
                    let files = points::by_ids(&self.opened, self.budget, chunk).await;
                    for (id, bytes) in files.map_err(|refusal| failed(name, &refusal))? {
                        self.put(&[name, "by_id", &id.to_string()], &bytes)?;
                    }
                }
                if objects.exist {
                    for segment in segments {
                        self.file(&[name, "by_object", &segment.to_string()])
                            .await?;
                    }
                }
            }
            View::Lines => {
                let levels = lines::levels(&self.opened).await;
                let cell = vec!["0"; self.opened.dims()].join("_");
                for level in 0..levels.map_err(|refusal| failed(name, &refusal))? {
                    self.file(&[name, &format!("s{level}"), &cell]).await?;
                }
                // An object of one vertex is no line.
                let drawn = (0..objects.len()).filter(|number| objects.vertices(*number) > 1);
                for segment in drawn.filter_map(|number| objects.segment(number)) {
                    let key = segment.to_string();
                    self.file(&[name, "by_id", &key]).await?;
                    self.file(&[name, "by_object", &key]).await?;
                }
            }
            View::Skeletons => {
                self.file(&[name, "properties", "info"]).await?;
                for segment in segments {
                    self.file(&[name, &segment.to_string()]).await?;
                }
            }
            View::Meshes => {
                self.file(&[name, "properties", "info"]).await?;
                for segment in segments {
                    let manifest = self.file(&[name, &format!("{segment}:0")]).await?;
                    let fragments = manifest.as_ref().map(|manifest| &manifest["fragments"]);
                    let fragments = fragments.and_then(Value::as_array).into_iter().flatten();
                    for fragment in fragments.filter_map(Value::as_str) {
                        self.file(&[name, fragment]).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes one file; returns it where it is a document.
    async fn file(&mut self, path: &[&str]) -> Result<Option<Value>, ExportError> {
        let content = content(&self.opened, self.budget, path).await;
        match content.map_err(|refusal| failed(&path.join("/"), &refusal))? {
            Content::File(bytes) => self.put(path, &bytes).map(|()| None),
            Content::Document(document) => {
                self.put(path, document.to_string().as_bytes())?;
                Ok(Some(document))
            }
        }
    }

    fn put(&mut self, path: &[&str], bytes: &[u8]) -> Result<(), ExportError> {
        let mut file = self.folder.to_owned();
        file.extend(path);
        let failed = |source| ExportError::File {
            path: file.clone(),
            source,
        };
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&file, bytes).map_err(failed)?;
        self.done.files = self.done.files.saturating_add(1);
        self.done.bytes = self.done.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }
}
