//! What was pushed, kept in a file of [frames](crate::frames), so that a writer that was interrupted goes on after its last
//! batch. One frame a call, appended before the call returns; the payload of a table: see `columns.rs`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use serde_json::{Value, json};

use crate::WriteError;
use crate::batch::{Batch, Groups, Numbering, ObjectTable, Owners};
use crate::columns::{Columns, column, columns, open, signed, unsigned};
use crate::describe;
use crate::frames::{FrameFile, damaged, misused};
use crate::int::wide;
use crate::spec::StoreSpec;
use crate::values::Values;

/// What a frame holds.
const SPEC: u8 = 1;
const BATCH: u8 = 2;
const OBJECTS: u8 = 3;
const GROUPS: u8 = 4;

/// A journal that is written.
#[derive(Debug)]
pub(crate) struct Journal {
    file: FrameFile,
    /// Calls that were replayed and did not come again yet, in order.
    kept: VecDeque<Mark>,
}

/// What tells a call from others: two of one mark are taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    kind: u8,
    length: usize,
    sum: u32,
}

impl Mark {
    fn of(kind: u8, payload: &[u8]) -> Self {
        Self {
            kind,
            length: payload.len(),
            sum: crc32c::crc32c(payload),
        }
    }
}

/// A call as it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Given<'g> {
    Batch(&'g Batch<'g>),
    Objects(&'g ObjectTable<'g>),
    Groups(&'g Groups<'g>),
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
        let expected = describe::spec(spec)?;
        let mut empty = true;
        let mut kept = VecDeque::new();
        let file = FrameFile::open(path, sync, SPEC, |at, kind, payload| {
            if !std::mem::take(&mut empty) {
                kept.push_back(Mark::of(kind, payload));
                let call = decode(kind, payload);
                return replay(call.ok_or_else(|| damaged(path, at, "a batch, or a table"))?);
            }
            match kind {
                SPEC if payload == expected => Ok(()),
                SPEC => Err(misused(
                    path,
                    "the journal of another specification, or of another version of this library",
                    "the journal that an interrupted writer of the same store left, or a new file",
                )),
                _ => Err(damaged(path, at, "a specification")),
            }
        })?;
        let mut journal = Self { file, kept };
        if empty {
            journal.file.append(SPEC, &expected)?;
        }
        Ok(journal)
    }

    /// Keeps a call that was taken.
    pub(crate) fn keep(&mut self, given: Given<'_>) -> Result<(), WriteError> {
        let (kind, payload) = encode(given)?;
        self.file.append(kind, &payload)
    }

    /// Passes over a call that the journal has; `false`: it has none any more.
    ///
    /// # Errors
    /// Misuse: another call than the one in its place.
    pub(crate) fn skip(&mut self, given: Given<'_>) -> Result<bool, WriteError> {
        let Some(mark) = self.kept.pop_front() else {
            return Ok(false);
        };
        let (kind, payload) = encode(given)?;
        if mark == Mark::of(kind, &payload) {
            return Ok(true);
        }
        let found = "other data than it keeps: what it was begun with has changed";
        let expected = "the same data again, or a new file";
        Err(misused(self.file.path(), found, expected))
    }

    /// Whether every call that was replayed came again.
    pub(crate) fn is_passed(&self) -> bool {
        self.kept.is_empty()
    }

    /// Removes the file: the store exists.
    pub(crate) fn done(self) -> Result<(), WriteError> {
        self.file.done()
    }
}

/// The kind and payload of a call's frame.
fn encode(given: Given<'_>) -> Result<(u8, Vec<u8>), WriteError> {
    let mut columns = Columns::default();
    let (kind, document) = match given {
        Given::Batch(batch) => (BATCH, batch_document(batch, &mut columns)?),
        Given::Objects(table) => {
            let document = json!({
                "ids": columns.add(&Values::I64(Cow::Borrowed(&table.ids)))?,
                "attributes": columns.add_all(&table.attributes)?,
            });
            (OBJECTS, document)
        }
        Given::Groups(groups) => {
            let document = json!({
                "members": groups.members,
                "names": groups.names,
                "attributes": columns.add_all(&groups.attributes)?,
            });
            (GROUPS, document)
        }
    };
    Ok((kind, columns.close(&document)?))
}

fn batch_document(batch: &Batch<'_>, columns: &mut Columns) -> Result<Value, WriteError> {
    let positions = columns.add(&batch.positions)?;
    let objects = match &batch.objects {
        Owners::None => Value::Null,
        Owners::Each(ids) => columns.add(&Values::I64(Cow::Borrowed(ids)))?,
        Owners::Runs(runs) => {
            let ids: Vec<i64> = runs.iter().map(|(id, _)| *id).collect();
            let counts: Vec<u64> = runs.iter().map(|(_, count)| wide(*count)).collect();
            json!({"ids": columns.add(&Values::from(ids))?, "counts": columns.add(&Values::from(counts))?})
        }
    };
    Ok(json!({
        "positions": positions,
        "objects": objects,
        "attributes": columns.add_all(&batch.attributes)?,
        "fragment_attributes": columns.add_all(&batch.fragment_attributes)?,
        "links": columns.add(&Values::U64(Cow::Borrowed(&batch.links)))?,
        "all": batch.numbering == Numbering::All,
        "link_attributes": columns.add_all(&batch.link_attributes)?,
    }))
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
            batch.fragment_attributes = columns(document.get("fragment_attributes")?, &mut rest)?;
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
