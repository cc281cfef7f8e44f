//! Records the completed part of a copy in a file outside the store, so that an interrupted copy can resume.
//!
//! ```text
//! BEGIN   the source and the options; the marker at the new store's address
//! JOB     chunks of a level that are written and durable, and notes about them; any number
//! END     all objects are written: the document of the root, and the report
//! ```
//!
//! Recorded chunks are not written again. They are not read again either, unless rows move: then all chunks are read to compute the
//! destinations of rows. Objects, tables, links and documents depend on all chunks and are rebuilt.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::migration_run::MigrationRun;
use super::new_level::CopiedChunk;
use super::report::{Loss, MigrationReport, Notes, Repair};
use zvf_encode::target::Target;
use zvf_encode::transaction::record_log::{RecordLog, damaged, from_bytes, misused, to_bytes};
use zvf_encode::transaction::{ROOT, new_mark, new_store};
use zvf_encode::{StaleFiles, WriteError};
use zvf_format::int::wide;

const BEGIN: u8 = 1;
const JOB: u8 = 2;
const END: u8 = 3;

const OTHER_VERSION: &str = "the journal of another version of this library";
const EXPECTED: &str = "the journal that this copy left when it was interrupted, or a new file";

/// Shortest time between writes to the journal, if each of them costs a sync of the file system.
const EVERY: Duration = Duration::from_secs(1);

/// The journal of a copy.
#[derive(Debug)]
pub(super) struct CopyJournal<'t> {
    target: &'t Target,
    identity: Value,
    /// The chunks that earlier runs wrote, by level and number.
    chunks: HashMap<(u32, u32), CopiedChunk>,
    /// The notes of earlier runs about these chunks.
    told: Notes,
    marks: Vec<Vec<u8>>,
    end: Option<(String, MigrationReport)>,
    inner: Mutex<JournalInner>,
}

#[derive(Debug)]
struct JournalInner {
    file: RecordLog,
    /// Records of chunks that may not be durable yet.
    waiting: Vec<Vec<u8>>,
    /// When records were appended last; `None`: never in this run.
    last: Option<Instant>,
    durable: bool,
}

/// The point at which a copy begins or resumes.
#[derive(Debug)]
pub(super) enum Begin {
    /// Writes all chunks that earlier runs did not write, and everything after them. Holds the marker.
    Fill(Vec<u8>),
    /// Everything except the root is written, and the root as well if `there`: only the commit is left.
    Commit {
        root: String,
        report: Box<MigrationReport>,
        there: bool,
        mark: Vec<u8>,
    },
}

impl<'t> CopyJournal<'t> {
    /// Opens or creates a journal.
    ///
    /// # Errors
    /// Misuse: the journal belongs to another copy or to a store that has changed since, or another copy has it open. I/O, damage.
    pub(super) fn open(
        path: &Path,
        job: &MigrationRun,
        target: &'t Target,
        durable: bool,
    ) -> Result<Self, WriteError> {
        let identity = identity(job);
        let (mut marks, mut end) = (Vec::new(), None);
        let mut chunks = HashMap::new();
        let told = Notes::default();
        let file = RecordLog::open(path, durable, |at, kind, payload| {
            let bad = || damaged(path, at, "a record of a copy");
            match kind {
                BEGIN => {
                    let begun = from_bytes(payload);
                    let (copy, begun): (Value, String) =
                        begun.ok_or_else(|| misused(path, OTHER_VERSION, EXPECTED))?;
                    check(path, &copy, &identity)?;
                    marks.push(begun.into_bytes());
                }
                JOB if !marks.is_empty() => {
                    let (level, done, repairs, losses, more): (
                        u32,
                        Vec<CopiedChunk>,
                        Vec<Repair>,
                        Vec<Loss>,
                        u64,
                    ) = from_bytes(payload).ok_or_else(bad)?;
                    chunks.extend(done.into_iter().map(|done| ((level, done.slot), done)));
                    told.add((repairs, losses, more));
                }
                END if !marks.is_empty() => end = Some(from_bytes(payload).ok_or_else(bad)?),
                _ => return Err(bad()),
            }
            Ok(())
        })?;
        Ok(Self {
            target,
            identity,
            chunks,
            told,
            marks,
            end,
            inner: Mutex::new(JournalInner {
                file,
                waiting: Vec::new(),
                last: None,
                durable,
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, JournalInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Determines where to resume, and writes the marker of a new copy.
    ///
    /// An earlier run is resumed only if its marker exists. Otherwise a new copy begins, if [`new_store::check`] accepts the address.
    pub(super) fn begin(
        &mut self,
        address: &str,
        stale_files: StaleFiles,
    ) -> Result<Begin, WriteError> {
        if let Some((root, report)) = self.end.take() {
            let found = self.target.read(ROOT)?;
            let there = found.as_deref() == Some(root.as_bytes());
            let taken = match there {
                // The store is complete: at most the marker of an earlier run is left.
                true => self.marks.last().cloned(),
                false if found.is_none() => self.take_over(address)?,
                false => None,
            };
            if let Some(mark) = taken {
                self.target.remove_temporary()?;
                return Ok(Begin::Commit {
                    root,
                    report: Box::new(report),
                    there,
                    mark,
                });
            }
        } else if self.target.exists(ROOT)? {
            // Refused below, with the message that all writers have.
        } else if let Some(mark) = self.take_over(address)? {
            self.target.remove_temporary()?;
            return Ok(Begin::Fill(mark));
        }
        new_store::check(self.target, address, stale_files)?;
        self.chunks.clear();
        self.told = Notes::default();
        let mut inner = self.lock();
        inner.file.clear()?;
        let mark = self.record_mark(&mut inner)?;
        drop(inner);
        new_store::begin_as(self.target, address, stale_files, &mark)?;
        Ok(Begin::Fill(mark))
    }

    /// Replaces the marker of an earlier run by a new one, which names this process; `None` if the address has no such marker.
    fn take_over(&self, address: &str) -> Result<Option<Vec<u8>>, WriteError> {
        if !new_store::is_marked_by(self.target, &self.marks)? {
            return Ok(None);
        }
        let mark = self.record_mark(&mut self.lock())?;
        let taken = new_store::take_over(self.target, address, &self.marks, &mark)?;
        Ok(taken.then_some(mark))
    }

    /// Makes a marker, and records it before it is written, so that a later run recognizes it as this copy's.
    fn record_mark(&self, inner: &mut JournalInner) -> Result<Vec<u8>, WriteError> {
        let mark = new_mark(json!({}));
        let record = to_bytes(&(&self.identity, String::from_utf8_lossy(&mark)))?;
        inner.file.append(BEGIN, &record)?;
        Ok(mark)
    }

    /// Whether there was no journal, or an empty one.
    pub(super) fn is_new(&self) -> bool {
        self.marks.is_empty()
    }

    /// Whether earlier runs wrote any chunks.
    pub(super) fn goes_on(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Adds the notes of earlier runs about the chunks that they wrote.
    pub(super) fn tell(&self, notes: &Notes) {
        notes.absorb(&self.told);
    }

    /// The summaries of some chunks, if all of them are written.
    pub(super) fn written(&self, level: u32, slots: &[u32]) -> Option<Vec<&CopiedChunk>> {
        slots
            .iter()
            .map(|slot| self.chunks.get(&(level, *slot)))
            .collect()
    }

    /// Records chunks with written cells, and notes about them.
    pub(super) fn keep<'d>(
        &self,
        level: u32,
        done: impl Iterator<Item = &'d CopiedChunk>,
        notes: &Notes,
    ) -> Result<(), WriteError> {
        let (repairs, losses, more) = notes.so_far();
        let record = to_bytes(&(level, done.collect::<Vec<_>>(), repairs, losses, more))?;
        let mut inner = self.lock();
        inner.waiting.push(record);
        let soon = inner.durable && inner.last.is_some_and(|last| last.elapsed() < EVERY);
        if soon {
            return Ok(());
        }
        self.flush(&mut inner)
    }

    fn flush(&self, inner: &mut JournalInner) -> Result<(), WriteError> {
        // Only durable chunks are recorded.
        self.target.barrier()?;
        let waiting = std::mem::take(&mut inner.waiting);
        inner.file.append_all(JOB, &waiting)?;
        inner.last = Some(Instant::now());
        Ok(())
    }

    /// Records that everything is written.
    pub(super) fn end(&self, root: &str, report: &MigrationReport) -> Result<(), WriteError> {
        let mut inner = self.lock();
        self.flush(&mut inner)?;
        inner.file.append(END, &to_bytes(&(root, report))?)
    }

    /// Removes the file; the copy cannot be resumed after that.
    pub(super) fn done(self) -> Result<(), WriteError> {
        let inner = self.inner.into_inner();
        inner.unwrap_or_else(PoisonError::into_inner).file.done()
    }
}

/// Identifies the copy: the documents of the source with their states, and the options.
fn identity(job: &MigrationRun) -> Value {
    // Only these documents; others may be read later, or by other users of this handle.
    let mut keys = vec![ROOT.to_owned()];
    let mut digest = Sha256::new();
    // Each part is prefixed with its length, so that different lists never give the same bytes.
    let mut add = |part: &[u8]| {
        digest.update(wide(part.len()).to_le_bytes());
        digest.update(part);
    };
    add(job.store.root().to_json().as_bytes());
    for level in &job.levels {
        add(level.doc().to_json().as_bytes());
        let chunks = level.vertices().presence().iter();
        let chunks = chunks.flatten().flat_map(|at| at.to_le_bytes());
        add(&chunks.collect::<Vec<u8>>());
        let nodes = ["", "vertices/", "object_index/"];
        keys.extend(nodes.map(|node| format!("{}/{node}{ROOT}", level.number())));
    }
    let mut documents = job.store.documents();
    documents.sort_unstable();
    for (key, state) in documents {
        if keys.contains(&key) {
            add(json!([key, state]).to_string().as_bytes());
        }
    }
    let source: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "source": format!("sha256:{source}"),
        "options": describe(&job.options),
    })
}

/// The options as text, because numbers that are read back from JSON may differ in the last bit.
fn describe(options: &super::MigrateOptions) -> String {
    let options = json!({
        "target": options.target.version(),
        "compression": options.compression,
        "shard_shape": options.shard_shape.as_ref().map(ToString::to_string),
        "chunk_shape": options.chunk_shape,
        "bin_shape": options.bin_shape,
    });
    options.to_string()
}

fn check(path: &Path, found: &Value, expected: &Value) -> Result<(), WriteError> {
    let words = [
        ("version", OTHER_VERSION),
        ("options", "the journal of a copy with other options"),
        (
            "source",
            "the journal of a copy of another store, or the store was changed since",
        ),
    ];
    for (member, words) in words {
        if found[member] != expected[member] {
            return Err(misused(path, words, EXPECTED));
        }
    }
    Ok(())
}
