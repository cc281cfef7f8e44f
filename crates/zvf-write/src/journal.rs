//! What was pushed, kept in a file, so that a writer that was interrupted goes on after its last batch.
//!
//! ```text
//! ┌──────────┬──────┬──────────┬────────┬─────────┐
//! │ kind  u8 │ length u64      │ CRC u32│ payload │   one frame a call, appended and synced before the call returns
//! └──────────┴─────────────────┴────────┴─────────┘
//! payload of a table: see `columns.rs`
//! ```
//!
//! A frame that was cut short by a crash is cut off; any other damage is an error. The file is of one machine and one version of
//! this crate: it is no format to keep data in.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::WriteError;
use crate::batch::{Batch, Groups, Numbering, ObjectTable, Owners};
use crate::columns::{Columns, column, columns, open, signed, unsigned};
use crate::int::{to_index, wide};
use crate::spec::StoreSpec;
use crate::values::Values;

/// What a frame holds.
const SPEC: u8 = 1;
const BATCH: u8 = 2;
const OBJECTS: u8 = 3;
const GROUPS: u8 = 4;

/// Bytes before a payload.
const HEAD: usize = 13;

/// A journal that is written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    sync: bool,
}

/// One call that was kept.
#[derive(Debug)]
pub(crate) enum Call {
    Batch(Batch<'static>),
    Objects(ObjectTable<'static>),
    Groups(Groups<'static>),
}

impl Journal {
    /// Opens a journal, or makes one; hands what it keeps to `replay`, in order.
    ///
    /// # Errors
    /// Misuse: a journal of another specification, or one that another writer has open. I/O, damage.
    pub(crate) fn open(
        path: &Path,
        spec: &StoreSpec,
        sync: bool,
        mut replay: impl FnMut(Call) -> Result<(), WriteError>,
    ) -> Result<Self, WriteError> {
        let failed = |e| WriteError::io(path, e);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let found = "in use by another writer";
                return Err(Self::misused(
                    path,
                    found,
                    "a journal of its own for each writer",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut journal = Self {
            path: path.to_owned(),
            file,
            sync,
        };
        let length = journal.file.metadata().map_err(failed)?.len();
        // What a crash cut short is cut off, so a file that is none of ours must not come so far.
        let mut first = [0; 1];
        let got = (&journal.file).read(&mut first).map_err(failed)?;
        if got > 0 && first != [SPEC] {
            let expected = "a journal, or no file: it would be overwritten";
            return Err(Self::misused(path, "another file", expected));
        }
        journal.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut reader = Frames {
            path,
            file: BufReader::new(journal.file.try_clone().map_err(failed)?),
            at: 0,
            length,
        };
        // The whole specification, as this version spells it.
        let expected = format!("{} {spec:?}", env!("CARGO_PKG_VERSION")).into_bytes();
        match reader.next()? {
            None => {}
            Some((SPEC, found)) if found == expected => {
                while let Some((kind, payload)) = reader.next()? {
                    let call = decode(kind, &payload)
                        .ok_or_else(|| reader.damaged("a batch, or a table"))?;
                    replay(call)?;
                }
            }
            Some((SPEC, _)) => {
                return Err(Self::misused(
                    path,
                    "the journal of another specification, or of another version of this library",
                    "the journal that an interrupted writer of the same store left, or a new file",
                ));
            }
            Some(_) => return Err(reader.damaged("a specification")),
        }
        let end = reader.at;
        drop(reader);
        journal.file.set_len(end).map_err(failed)?;
        journal.file.seek(SeekFrom::Start(end)).map_err(failed)?;
        if end == 0 {
            journal.append(SPEC, &expected)?;
        }
        Ok(journal)
    }

    #[cold]
    fn misused(path: &Path, found: &str, expected: &str) -> WriteError {
        WriteError::input(format!("journal {}", path.display()), found, expected)
    }

    fn append(&mut self, kind: u8, payload: &[u8]) -> Result<(), WriteError> {
        let mut head = vec![kind];
        head.extend_from_slice(&wide(payload.len()).to_le_bytes());
        head.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        let mut write = || -> std::io::Result<()> {
            self.file.write_all(&head)?;
            self.file.write_all(payload)?;
            if self.sync {
                self.file.sync_data()
            } else {
                Ok(())
            }
        };
        write().map_err(|e| WriteError::io(&self.path, e))
    }

    fn append_table(
        &mut self,
        kind: u8,
        document: &Value,
        columns: &Columns,
    ) -> Result<(), WriteError> {
        let table = columns.close(document)?;
        self.append(kind, &table)
    }

    /// Keeps a batch that was taken.
    pub(crate) fn batch(&mut self, batch: &Batch<'_>) -> Result<(), WriteError> {
        let mut columns = Columns::default();
        let positions = columns.add(&batch.positions);
        let objects = match &batch.objects {
            Owners::None => Value::Null,
            Owners::Each(ids) => columns.add(&Values::I64(Cow::Borrowed(ids))),
            Owners::Runs(runs) => {
                let ids: Vec<i64> = runs.iter().map(|(id, _)| *id).collect();
                let counts: Vec<u64> = runs.iter().map(|(_, count)| wide(*count)).collect();
                json!({"ids": columns.add(&Values::from(ids)), "counts": columns.add(&Values::from(counts))})
            }
        };
        let document = json!({
            "positions": positions,
            "objects": objects,
            "attributes": columns.add_all(&batch.attributes),
            "links": columns.add(&Values::U64(Cow::Borrowed(&batch.links))),
            "all": batch.numbering == Numbering::All,
            "link_attributes": columns.add_all(&batch.link_attributes),
        });
        self.append_table(BATCH, &document, &columns)
    }

    /// Keeps a table of objects that was taken.
    pub(crate) fn objects(&mut self, table: &ObjectTable<'_>) -> Result<(), WriteError> {
        let mut columns = Columns::default();
        let document = json!({
            "ids": columns.add(&Values::I64(Cow::Borrowed(&table.ids))),
            "attributes": columns.add_all(&table.attributes),
        });
        self.append_table(OBJECTS, &document, &columns)
    }

    /// Keeps the groups.
    pub(crate) fn groups(&mut self, groups: &Groups<'_>) -> Result<(), WriteError> {
        let mut columns = Columns::default();
        let document = json!({
            "members": groups.members,
            "names": groups.names,
            "attributes": columns.add_all(&groups.attributes),
        });
        self.append_table(GROUPS, &document, &columns)
    }

    /// Removes the file: the store exists.
    pub(crate) fn done(self) -> Result<(), WriteError> {
        drop(self.file);
        std::fs::remove_file(&self.path).map_err(|e| WriteError::Tidying {
            key: self.path.display().to_string(),
            source: Box::new(WriteError::io(&self.path, e)),
        })
    }
}

/// Frames of a journal, as far as they are whole.
struct Frames<'p> {
    path: &'p Path,
    file: BufReader<File>,
    /// End of the last whole frame.
    at: u64,
    length: u64,
}

impl Frames<'_> {
    /// The next frame; `None` at the end, or where a crash cut one short.
    fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>, WriteError> {
        let left = self.length.saturating_sub(self.at);
        let Some(left) = left.checked_sub(wide(HEAD)) else {
            return Ok(None);
        };
        let mut head = [0; HEAD];
        self.fill(&mut head)?;
        let [kind, rest @ ..] = head;
        let (length, sum) = rest.split_at(8);
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        let sum = u32::from_le_bytes(sum.try_into().unwrap_or_default());
        if length > left {
            return Ok(None);
        }
        let mut payload = vec![0; to_index("bytes of a journal's frame", length)?];
        self.fill(&mut payload)?;
        if crc32c::crc32c(&payload) != sum {
            // The last frame may have got its length before its bytes; any other was whole once.
            return if length == left {
                Ok(None)
            } else {
                Err(self.damaged("the bytes that were written"))
            };
        }
        self.at = self.at.saturating_add(wide(HEAD)).saturating_add(length);
        Ok(Some((kind, payload)))
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), WriteError> {
        self.file
            .read_exact(into)
            .map_err(|e| WriteError::io(self.path, e))
    }

    #[cold]
    fn damaged(&self, expected: &str) -> WriteError {
        WriteError::input(
            format!("journal {}, byte {}", self.path.display(), self.at),
            "other bytes",
            expected,
        )
    }
}

/// Takes a frame apart; `None` if it is none of ours.
fn decode(kind: u8, payload: &[u8]) -> Option<Call> {
    let (document, mut rest) = open(payload)?;
    let document = &document;
    let call = match kind {
        // Columns are taken in the order in which they were added.
        BATCH => {
            let positions = column(document.get("positions")?, &mut rest)?;
            let mut batch = Batch::new(positions);
            batch.objects = match document.get("objects")? {
                Value::Null => Owners::None,
                runs if runs.get("ids").is_some() => {
                    let ids = signed(column(runs.get("ids")?, &mut rest)?)?;
                    let counts = unsigned(column(runs.get("counts")?, &mut rest)?)?;
                    let counts = counts.into_iter().map(usize::try_from);
                    let runs = ids.into_iter().zip(counts);
                    let runs = runs.map(|(id, count)| Some((id, count.ok()?)));
                    Owners::Runs(runs.collect::<Option<Vec<_>>>()?.into())
                }
                each => Owners::Each(signed(column(each, &mut rest)?)?.into()),
            };
            batch.attributes = columns(document.get("attributes")?, &mut rest)?;
            batch.links = unsigned(column(document.get("links")?, &mut rest)?)?.into();
            if document.get("all")?.as_bool()? {
                batch.numbering = Numbering::All;
            }
            batch.link_attributes = columns(document.get("link_attributes")?, &mut rest)?;
            Call::Batch(batch)
        }
        OBJECTS => {
            let mut table = ObjectTable::new(signed(column(document.get("ids")?, &mut rest)?)?);
            table.attributes = columns(document.get("attributes")?, &mut rest)?;
            Call::Objects(table)
        }
        GROUPS => Call::Groups(Groups {
            members: serde_json::from_value(document.get("members")?.clone()).ok()?,
            names: serde_json::from_value(document.get("names")?.clone()).ok()?,
            attributes: columns(document.get("attributes")?, &mut rest)?,
        }),
        _ => return None,
    };
    rest.is_empty().then_some(call)
}
