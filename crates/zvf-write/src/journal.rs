//! Records pushed batches and tables in a [record log](zvf_encode::transaction::record_log), so that an interrupted writer can continue after its last
//! batch. Each call appends one record before it returns.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use zvf_encode::transaction::record_log::{RecordLog, damaged, from_bytes, misused, to_bytes};
use zvf_encode::{Batch, Groups, ObjectTable, StoreSpec, Summary, WriteError};

/// Kinds of records.
const SPEC: u8 = 1;
const BATCH: u8 = 2;
const OBJECTS: u8 = 3;
const GROUPS: u8 = 4;
/// The marker of the store, recorded before it is written.
const MARK: u8 = 5;
/// All objects but the root are written: the document of the root, and the counts.
const END: u8 = 6;

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: RecordLog,
    /// Replayed calls that the caller has not repeated yet, in order.
    kept: VecDeque<Mark>,
    /// The markers of earlier runs and of this run.
    marks: Vec<Vec<u8>>,
}

/// What a journal records about a store whose writing was begun: its markers and its root.
#[derive(Debug, Default)]
pub(crate) struct BegunStore {
    /// The markers that the runs of the writer wrote.
    pub(crate) marks: Vec<Vec<u8>>,
    /// The root document, which is written last, and the counts of the store.
    pub(crate) end: Option<(String, Summary)>,
}

impl BegunStore {
    /// Reads the marker and end records of a journal; skips all others.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn read(path: &Path) -> Result<Self, WriteError> {
        let mut begun = Self::default();
        for (kind, payload) in RecordLog::peek(path, &[MARK, END])? {
            match kind {
                MARK => begun.marks.push(payload),
                _ => begun.end = from_bytes(&payload),
            }
        }
        Ok(begun)
    }
}

/// Identifies a call by the kind, length and checksum of its record. Calls with equal marks are treated as equal.
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

/// A call, as made by the caller or as recorded.
#[derive(Debug)]
pub(crate) enum Call<'c> {
    Batch(Cow<'c, Batch>),
    Objects(Cow<'c, ObjectTable>),
    Groups(Cow<'c, Groups>),
}

impl Call<'_> {
    /// The kind and payload of its record.
    fn encode(&self) -> Result<(u8, Vec<u8>), WriteError> {
        Ok(match self {
            Self::Batch(batch) => (BATCH, to_bytes(&**batch)?),
            Self::Objects(table) => (OBJECTS, to_bytes(&**table)?),
            Self::Groups(groups) => (GROUPS, to_bytes(&**groups)?),
        })
    }

    fn decode(kind: u8, payload: &[u8]) -> Option<Self> {
        match kind {
            BATCH => from_bytes(payload).map(|batch| Self::Batch(Cow::Owned(batch))),
            OBJECTS => from_bytes(payload).map(|table| Self::Objects(Cow::Owned(table))),
            GROUPS => from_bytes(payload).map(|groups| Self::Groups(Cow::Owned(groups))),
            _ => None,
        }
    }
}

impl Journal {
    /// Opens or creates a journal and passes its recorded calls to `replay`, in order.
    ///
    /// # Errors
    /// Misuse: a journal of another specification, or one that another writer has open. I/O, damage.
    pub(crate) fn open(
        path: &Path,
        spec: &StoreSpec,
        sync: bool,
        mut replay: impl FnMut(Call<'_>) -> Result<(), WriteError>,
    ) -> Result<Self, WriteError> {
        let expected = describe(spec)?;
        let mut empty = true;
        let mut kept = VecDeque::new();
        let mut marks = Vec::new();
        let file = RecordLog::open(path, sync, |at, kind, payload| {
            if !std::mem::take(&mut empty) {
                match kind {
                    MARK => {
                        marks.push(payload.to_vec());
                        return Ok(());
                    }
                    END => return Ok(()),
                    _ => {}
                }
                kept.push_back(Mark::of(kind, payload));
                let call = Call::decode(kind, payload);
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
        let mut journal = Self { file, kept, marks };
        if empty {
            journal.file.append(SPEC, &expected)?;
        }
        Ok(journal)
    }

    /// Records an accepted call.
    pub(crate) fn keep(&mut self, call: &Call<'_>) -> Result<(), WriteError> {
        let (kind, payload) = call.encode()?;
        self.file.append(kind, &payload)
    }

    /// Records the marker of the store that is about to be written.
    pub(crate) fn mark(&mut self, mark: &[u8]) -> Result<(), WriteError> {
        self.marks.push(mark.to_vec());
        self.file.append(MARK, mark)
    }

    /// The recorded markers.
    pub(crate) fn marks(&self) -> &[Vec<u8>] {
        &self.marks
    }

    /// Records that everything but the root is written.
    pub(crate) fn end(&mut self, root: &str, summary: Summary) -> Result<(), WriteError> {
        self.file.append(END, &to_bytes(&(root, summary))?)
    }

    /// Skips a call that the journal has already recorded; returns `false` if no recorded calls are left.
    ///
    /// # Errors
    /// Misuse: the journal has a different call at this place.
    pub(crate) fn skip(&mut self, call: &Call<'_>) -> Result<bool, WriteError> {
        let Some(mark) = self.kept.pop_front() else {
            return Ok(false);
        };
        let (kind, payload) = call.encode()?;
        if mark == Mark::of(kind, &payload) {
            return Ok(true);
        }
        let found = "other data than the journal records: the input changed since it was begun";
        let expected = "the same data again, or a new file";
        Err(misused(self.file.path(), found, expected))
    }

    /// Whether the caller has repeated every replayed call.
    pub(crate) fn is_passed(&self) -> bool {
        self.kept.is_empty()
    }

    /// Removes the file, since the store exists.
    pub(crate) fn done(self) -> Result<(), WriteError> {
        self.file.done()
    }
}

/// The identity of a journal: the version of this library and the specification. Only equal specifications have equal descriptions.
fn describe(spec: &StoreSpec) -> Result<Vec<u8>, WriteError> {
    to_bytes(&(env!("CARGO_PKG_VERSION"), spec))
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::describe;
    use zvf_encode::{
        AttributeSpec, Compression, NumberType, Outside, Parametric, ParametricType, StoreSpec,
        TargetVersion, Values,
    };

    #[test]
    fn another_specification_has_another_description() {
        let plain = || StoreSpec::new(Kind::PointCloud, [10.0; 3]);
        let bounded = |low: f64| plain().with_bounds([low; 3], [100.0; 3], Outside::Refuse);
        let attribute = || AttributeSpec::number("fa", NumberType::F32);
        let curve = |at: f64| Parametric::new().with_object("plane", [at; 4], None);
        let keys = |last: i64| Some(Values::from(vec![0_i64, last]));
        let mut renamed = plain();
        renamed.axes[1].name = "lon".to_owned();
        let mut headers = plain();
        headers
            .headers
            .insert("trk".to_owned(), zvf_meta::JsonObject::new());
        let mut compressed = plain();
        compressed.compression = Compression::ZstdLevel(7);
        let chunk_by = |values: Option<Values>| {
            let spec = plain().with_attribute_chunks(AttributeSpec::number("k", NumberType::I64));
            match values {
                Some(values) => spec.with_attribute_chunk_values(values),
                None => spec,
            }
        };
        let all = [
            plain(),
            StoreSpec::new(Kind::Graph, [10.0; 3]),
            StoreSpec::new(Kind::PointCloud, [10.0, 10.0, 10.000_000_000_000_002]),
            plain().with_unit("um"),
            plain().with_bin_shape([5.0; 3]),
            bounded(0.0),
            bounded(-0.0),
            plain().with_target(TargetVersion::V0_8_1),
            plain().with_vertex_attribute(attribute()),
            plain().with_vertex_attribute(attribute().with_unit("mm")),
            plain().with_vertex_attribute(AttributeSpec::number("fa", NumberType::F64)),
            plain().with_vertex_attribute(AttributeSpec::category("fa")),
            renamed,
            headers,
            compressed,
            chunk_by(None),
            chunk_by(keys(1)),
            chunk_by(keys(2)),
            plain().with_parametric(curve(1.0)),
            plain().with_parametric(curve(2.0)),
            plain().with_parametric(curve(1.0).with_type(ParametricType::new(7, "arc", ["r"]))),
        ];
        let described: Vec<Vec<u8>> = all.iter().map(|one| describe(one).unwrap()).collect();
        for (at, one) in described.iter().enumerate() {
            assert_eq!(*one, describe(&all[at]).unwrap());
            for (other, another) in described.iter().enumerate().skip(at + 1) {
                assert_ne!(one, another, "{at} and {other}");
            }
        }
    }
}
