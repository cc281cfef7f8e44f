//! The journal of a validation: a local file with the results so far, from which a repeated run of the same validation continues.
//!
//! The file has one JSON value per line: a head with the store and the options, then one line for each batch of cells. If an interruption left an
//! incomplete line, its cells are read again. Only results of chunks and links are recorded, which are nearly all that a validation reads; every run
//! reads documents, listings, manifests and tables.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::documents::StoreDocuments;
use crate::error::ValidateError;
use crate::options::ValidateOptions;

/// The value of `journal` in the head.
const NAME: &str = "zvf validate";
/// Maximum length of the head, in bytes; limits what is read from a file that is not a journal.
const LONGEST_HEAD: u64 = 4096;

#[derive(Serialize, Deserialize)]
struct JournalHead {
    journal: String,
    /// Identifies the program, the options and the documents of the store.
    of: String,
}

#[derive(Serialize, Deserialize)]
struct JournalLine<T> {
    key: String,
    done: T,
}

/// Only the key of a line.
#[derive(Deserialize)]
struct JournalKey {
    key: String,
}

/// The file, and the positions of the batches in it.
#[derive(Clone)]
pub(crate) struct ValidationJournal {
    path: Arc<PathBuf>,
    state: Arc<Mutex<JournalState>>,
}

struct JournalState {
    file: File,
    /// Start and length of the line of each batch from an earlier run.
    kept: HashMap<String, (u64, usize)>,
    /// The error after which nothing more is written.
    failed: Option<String>,
}

impl ValidationJournal {
    /// Opens or creates the journal of this store and these options. The journal of another store, of other options or of other documents is cleared.
    ///
    /// # Errors
    /// The file cannot be opened or created, or is not a journal.
    pub(crate) fn open(
        path: &Path,
        url: &str,
        (options, tree): (&ValidateOptions, &StoreDocuments),
    ) -> Result<Self, ValidateError> {
        let text = |why: String| format!("journal {}: {why}", path.display());
        let failed = |error: std::io::Error| ValidateError::Journal {
            what: text(error.to_string()),
        };
        let of = fingerprint(url, options, tree);
        let mut open = OpenOptions::new();
        let opened = open.read(true).write(true).create(true).open(path);
        let mut file = opened.map_err(failed)?;
        let kept = read(&file, &of).map_err(failed)?;
        let head = JournalHead {
            journal: NAME.to_owned(),
            of,
        };
        let (kept, end) = match kept {
            FileContent::Other => {
                let what = text("is not the journal of a validation".to_owned());
                return Err(ValidateError::Misuse { what });
            }
            FileContent::New => (HashMap::new(), 0),
            FileContent::Lines { kept, end } => (kept, end),
        };
        let ready = file
            .set_len(end)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .and_then(|_| match end {
                0 => write_line(&mut file, &head),
                _ => Ok(()),
            });
        ready.map_err(failed)?;
        Ok(Self {
            path: Arc::new(path.to_owned()),
            state: Arc::new(Mutex::new(JournalState {
                file,
                kept,
                failed: None,
            })),
        })
    }

    /// The recorded result of a batch from an earlier run.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, length) = state.kept.remove(key)?;
        let mut text = vec![0; length];
        let read = state
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| state.file.read_exact(&mut text));
        // Later lines are appended to the end again.
        let back = state.file.seek(SeekFrom::End(0));
        read.and(back.map(|_| ())).ok()?;
        let line: JournalLine<T> = serde_json::from_slice(&text).ok()?;
        Some(line.done)
    }

    /// Records the result of a batch. After a failed write nothing more is recorded; [`Self::end`] returns that error.
    pub(crate) fn put<T: Serialize>(&self, key: String, done: &T) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_some() {
            return;
        }
        if let Err(error) = write_line(&mut state.file, &JournalLine { key, done }) {
            state.failed = Some(error.to_string());
        }
    }

    /// Removes the file at the end of a run. Returns the first error of writing or removing it.
    pub(crate) fn end(&self) -> Option<String> {
        let failed = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.failed.clone()
        };
        let removed = std::fs::remove_file(&*self.path).err();
        let why = failed.or_else(|| removed.map(|error| error.to_string()))?;
        Some(format!("journal {}: {why}", self.path.display()))
    }
}

impl fmt::Debug for ValidationJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Journal").field(&self.path).finish()
    }
}

/// The name of a batch: the first array that it reads, and the number of the batch in this array.
pub(crate) fn batch_key(path: &str, number: usize) -> String {
    format!("{path} {number}")
}

/// Processes a batch, or returns its recorded result.
///
/// # Errors
/// The errors of the batch.
pub(crate) async fn once<T, E>(
    journal: Option<ValidationJournal>,
    key: String,
    batch: impl Future<Output = Result<T, E>>,
) -> Result<T, E>
where
    T: Serialize + DeserializeOwned,
{
    let Some(journal) = journal else {
        return batch.await;
    };
    if let Some(done) = journal.get(&key) {
        return Ok(done);
    }
    let done = batch.await?;
    journal.put(key, &done);
    Ok(done)
}

/// Identifies the program, the store, the options and the documents: the result of a batch depends on these and on the cells.
fn fingerprint(url: &str, options: &ValidateOptions, tree: &StoreDocuments) -> String {
    let ValidateOptions {
        depth,
        levels,
        arrays,
        sample,
        most,
        coverage,
        // Options that do not change the result of a batch.
        profile: _,
        measure: _,
        journal: _,
        progress: _,
        open: _,
    } = options;
    let question = json!({
        "depth": depth.number(),
        "levels": levels,
        "arrays": arrays,
        "sample": sample.map(|one| (one.cells, one.seed)),
        "most": most,
        "coverage": coverage,
    });
    let mut digest = Sha256::new();
    // The length before each part makes the bytes of different lists of parts different.
    let mut add = |part: &[u8]| {
        digest.update(length(part).to_le_bytes());
        digest.update(part);
    };
    add(url.as_bytes());
    add(question.to_string().as_bytes());
    for (path, document) in &tree.documents {
        add(path.as_bytes());
        add(document);
    }
    let version = env!("CARGO_PKG_VERSION");
    let digest: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{version} sha256:{digest}")
}

/// The content of a file that may be a journal.
enum FileContent {
    /// Not a journal.
    Other,
    /// Empty, or the journal of another validation, which is cleared.
    New,
    /// The complete lines, and the position after the last one.
    Lines {
        kept: HashMap<String, (u64, usize)>,
        end: u64,
    },
}

fn read(file: &File, of: &str) -> std::io::Result<FileContent> {
    let mut reader = BufReader::new(file);
    let mut head = Vec::new();
    (&mut reader)
        .take(LONGEST_HEAD)
        .read_until(b'\n', &mut head)?;
    if head.is_empty() {
        return Ok(FileContent::New);
    }
    match serde_json::from_slice::<JournalHead>(&head) {
        Ok(known) if known.journal != NAME => return Ok(FileContent::Other),
        Ok(known) if known.of != of => return Ok(FileContent::New),
        Ok(_) => {}
        Err(_) => return Ok(FileContent::Other),
    }
    let mut end = length(&head);
    let mut kept = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        // A line without its end was being written when the run was interrupted.
        if line.last() != Some(&b'\n') {
            return Ok(FileContent::Lines { kept, end });
        }
        if let Ok(JournalKey { key }) = serde_json::from_slice(&line) {
            kept.insert(key, (end, line.len()));
        }
        end = end.saturating_add(length(&line));
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Writes a line with one call, so that an interruption can only cut off its end.
fn write_line(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(line).map_err(std::io::Error::other)?;
    text.push(b'\n');
    file.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Depth, Sample};
    use bytes::Bytes;

    #[test]
    fn the_identity_of_a_job_is_the_same_in_every_build() {
        let sample = Sample { cells: 5, seed: 7 };
        let options = ValidateOptions::new(Depth::Consistency)
            .with_levels([0, 2])
            .with_arrays(["vertices"])
            .with_sample(sample)
            .with_most(9)
            .with_coverage(true);
        let documents = [("zarr.json", r#"{"a":1}"#), ("0/zarr.json", "{}")];
        let documents = documents.map(|(key, text)| (key.to_owned(), Bytes::from(text)));
        let tree = StoreDocuments {
            documents: documents.into(),
            ..StoreDocuments::default()
        };
        // Computed with hashlib.sha256 of Python, each part after its length as 64 bits: the address, the options as JSON, then key and bytes of each document.
        let digest = "dbd4695d1236727c0f7f1e9c8e2947b9e3a69b7a822199e523ea4f4049c1396e";
        let version = env!("CARGO_PKG_VERSION");
        let found = fingerprint("a.zv", &options, &tree);
        assert_eq!(found, format!("{version} sha256:{digest}"));
        assert_ne!(found, fingerprint("b.zv", &options, &tree));
        let other = fingerprint("a.zv", &options.with_levels([0]), &tree);
        assert_ne!(found, other);
    }
}
