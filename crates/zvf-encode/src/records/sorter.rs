//! Fragments of all chunks, sorted by object: the input of manifests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::records::record::typed;
use crate::records::spill::{SpillFile, SpillRange};
use zvf_format::int::wide;

/// One fragment of one object: its chunk and number, and its position in the object.
///
/// Sorted by object, then by `order`.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    Immutable,
    Serialize,
    Deserialize,
)]
#[repr(C)]
pub struct PlacedRows {
    /// The object.
    pub object: i64,
    /// Place in the object: number of the first vertex if objects are chains, else the numbers of chunk (upper 32 bits) and fragment (lower 32 bits).
    pub order: u64,
    /// Number of the chunk, in lexicographic order.
    pub chunk: u32,
    /// Number of the fragment in its chunk.
    pub fragment: u32,
    /// First row.
    pub(crate) row: u32,
    /// Number of rows.
    pub(crate) rows: u32,
}

/// A record that a [`Sorter`] sorts: of fixed size, ordered by its members.
pub trait SortRecord: Copy + Ord + FromBytes + IntoBytes + Immutable {}

impl<T: Copy + Ord + FromBytes + IntoBytes + Immutable> SortRecord for T {}

/// Sorts any number of records in bounded memory: sorted runs go to a file and are merged.
#[derive(Debug)]
pub struct Sorter<T> {
    held: Vec<T>,
    most: usize,
    runs: Vec<SpillRange>,
    file: SpillFile,
}

impl<T: SortRecord> Sorter<T> {
    /// An empty sorter. About `budget` bytes are held in memory, more goes to a temporary file in `folder`.
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            held: Vec::new(),
            most: (budget / size_of::<T>()).max(1024),
            runs: Vec::new(),
            file: SpillFile::new(folder),
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// I/O of the temporary file.
    pub fn push(&mut self, record: T) -> Result<(), WriteError> {
        self.held.push(record);
        if self.held.len() < self.most {
            return Ok(());
        }
        self.held.sort_unstable();
        self.runs.push(self.file.append(self.held.as_bytes())?);
        self.held.clear();
        Ok(())
    }

    /// Number of records.
    pub(crate) fn len(&self) -> u64 {
        let spilled: u64 = self.runs.iter().map(|run| run.len).sum();
        spilled / wide(size_of::<T>()) + wide(self.held.len())
    }

    /// Returns all records in order.
    ///
    /// # Errors
    /// I/O of the temporary file.
    pub fn finish(mut self) -> Result<Sorted<T>, WriteError> {
        self.held.sort_unstable();
        // Every spilled run has the same share of the memory.
        let block = (self.most / self.runs.len().max(1)).max(64) * size_of::<T>();
        let spilled = self.runs.into_iter().map(|rest| SortedRun {
            rest,
            block,
            buffer: Vec::new().into_iter(),
        });
        let held = SortedRun {
            rest: SpillRange::default(),
            block,
            buffer: self.held.into_iter(),
        };
        let mut sorted = Sorted {
            runs: spilled.chain([held]).collect(),
            heap: BinaryHeap::new(),
            file: self.file,
        };
        for run in 0..sorted.runs.len() {
            sorted.refill(run)?;
        }
        Ok(sorted)
    }
}

/// A sorted run, read block by block.
#[derive(Debug)]
struct SortedRun<T> {
    rest: SpillRange,
    block: usize,
    buffer: std::vec::IntoIter<T>,
}

impl<T: SortRecord> SortedRun<T> {
    fn next(&mut self, file: &SpillFile) -> Result<Option<T>, WriteError> {
        if self.buffer.len() == 0 && self.rest.len > 0 {
            let take = self.rest.len.min(wide(self.block));
            let mut bytes = Vec::with_capacity(to_index("bytes of a run", take)?);
            file.read(SpillFile::slice(self.rest, 0, take), &mut bytes)?;
            self.rest = SpillFile::slice(self.rest, take, u64::MAX);
            let block: Vec<T> = typed(&bytes)?.collect::<Result<_, _>>()?;
            self.buffer = block.into_iter();
        }
        Ok(self.buffer.next())
    }
}

/// The merge of all runs.
#[derive(Debug)]
pub struct Sorted<T> {
    runs: Vec<SortedRun<T>>,
    heap: BinaryHeap<Reverse<(T, usize)>>,
    file: SpillFile,
}

impl<T: SortRecord> Sorted<T> {
    fn refill(&mut self, run: usize) -> Result<(), WriteError> {
        let from = self
            .runs
            .get_mut(run)
            .or_bug(format_args!("no run {run}"))?;
        if let Some(record) = from.next(&self.file)? {
            self.heap.push(Reverse((record, run)));
        }
        Ok(())
    }

    /// Returns the next record.
    ///
    /// # Errors
    /// I/O of the temporary file.
    pub fn pop(&mut self) -> Result<Option<T>, WriteError> {
        let Some(Reverse((record, run))) = self.heap.pop() else {
            return Ok(None);
        };
        self.refill(run)?;
        Ok(Some(record))
    }
}

impl Sorted<PlacedRows> {
    /// Returns the object of the next fragment.
    pub fn peek(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((placed, _))| placed.object)
    }

    /// Replaces `into` by all fragments of an object; it becomes empty if the next fragment belongs to another object.
    pub fn take(&mut self, object: i64, into: &mut Vec<PlacedRows>) -> Result<(), WriteError> {
        into.clear();
        while self.peek() == Some(object) {
            into.extend(self.pop()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PlacedRows, Sorter};

    #[test]
    fn fragments_come_back_sorted_through_files() {
        for budget in [0, 1 << 20] {
            let mut sorter = Sorter::new(budget, &std::env::temp_dir());
            let mut all = Vec::new();
            for i in 0..20_000_u32 {
                let mixed = i.wrapping_mul(2_654_435_761);
                let placed = PlacedRows {
                    object: i64::from(mixed % 97) - 48,
                    order: u64::from(mixed >> 7),
                    chunk: i,
                    fragment: i / 3,
                    row: 5,
                    rows: mixed,
                };
                all.push(placed);
                sorter.push(placed).unwrap();
            }
            all.sort();
            let mut sorted = sorter.finish().unwrap();
            let (mut back, mut some) = (Vec::new(), Vec::new());
            while let Some(object) = sorted.peek() {
                sorted.take(object, &mut some).unwrap();
                assert!(some.iter().all(|placed| placed.object == object));
                back.append(&mut some);
            }
            assert_eq!(back, all);
        }
    }
}
