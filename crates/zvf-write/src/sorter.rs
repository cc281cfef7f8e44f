//! Fragments of all chunks, sorted by object: from these, manifests are made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use crate::WriteError;
use crate::error::OrBug;
use crate::int::wide;
use crate::record::{records, take_array};
use crate::spill::{Part, SpillFile};

/// One fragment of one object: where it lies, and its place in the object.
///
/// Sorted by object, then by `order`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed {
    /// The object.
    pub object: i64,
    /// Place in the object: number of the first vertex where objects are chains, else number of the chunk.
    pub order: u64,
    /// Number of the chunk, in lex order.
    pub chunk: u32,
    /// Number of the fragment in its chunk.
    pub fragment: u32,
    /// First row.
    pub row: u32,
    /// How many rows.
    pub rows: u32,
}

/// Bytes of one that was written.
pub(crate) const SIZE: usize = 32;

impl Placed {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.object.to_le_bytes());
        out.extend_from_slice(&self.order.to_le_bytes());
        for number in [self.chunk, self.fragment, self.row, self.rows] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Fragments that were written behind each other.
    ///
    /// # Errors
    /// Bug: bytes that are no whole number of them.
    pub(crate) fn read_all(bytes: &[u8]) -> Result<Vec<Self>, WriteError> {
        records(bytes, SIZE)?.map(Self::read).collect()
    }

    fn read(mut bytes: &[u8]) -> Result<Self, WriteError> {
        let rest = &mut bytes;
        Ok(Self {
            object: i64::from_le_bytes(take_array(rest)?),
            order: u64::from_le_bytes(take_array(rest)?),
            chunk: u32::from_le_bytes(take_array(rest)?),
            fragment: u32::from_le_bytes(take_array(rest)?),
            row: u32::from_le_bytes(take_array(rest)?),
            rows: u32::from_le_bytes(take_array(rest)?),
        })
    }
}

/// Sorts any number of fragments in bounded memory: sorted runs go to a file and are merged.
#[derive(Debug)]
pub struct Sorter {
    held: Vec<Placed>,
    most: usize,
    runs: Vec<Part>,
    file: SpillFile,
}

impl Sorter {
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            held: Vec::new(),
            most: (budget / SIZE).max(1024),
            runs: Vec::new(),
            file: SpillFile::new(folder),
        }
    }

    pub fn push(&mut self, placed: Placed) -> Result<(), WriteError> {
        self.held.push(placed);
        if self.held.len() < self.most {
            return Ok(());
        }
        self.held.sort_unstable();
        let mut bytes = Vec::with_capacity(self.held.len() * SIZE);
        for placed in self.held.drain(..) {
            placed.write(&mut bytes);
        }
        self.runs.push(self.file.append(&bytes)?);
        Ok(())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        let spilled: u64 = self.runs.iter().map(|run| run.len).sum();
        spilled / wide(SIZE) + wide(self.held.len())
    }

    /// Everything in order.
    pub fn finish(mut self) -> Result<Sorted, WriteError> {
        self.held.sort_unstable();
        let share = (self.most * SIZE / self.runs.len().max(1)).max(64 * SIZE);
        let block = share - share % SIZE;
        let mut runs: Vec<Run> = self
            .runs
            .into_iter()
            .map(|rest| Run {
                rest,
                block,
                buffer: Vec::new(),
                at: 0,
            })
            .collect();
        runs.push(Run::of_memory(&self.held));
        let mut sorted = Sorted {
            runs,
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
struct Run {
    rest: Part,
    block: usize,
    buffer: Vec<u8>,
    at: usize,
}

impl Run {
    fn of_memory(held: &[Placed]) -> Self {
        let mut buffer = Vec::with_capacity(held.len() * SIZE);
        for placed in held {
            placed.write(&mut buffer);
        }
        Self {
            rest: Part::default(),
            block: SIZE,
            buffer,
            at: 0,
        }
    }

    fn next(&mut self, file: &SpillFile) -> Result<Option<Placed>, WriteError> {
        if self.at >= self.buffer.len() && self.rest.len > 0 {
            self.buffer.clear();
            let take = self.rest.len.min(wide(self.block));
            file.read(SpillFile::slice(self.rest, 0, take), &mut self.buffer)?;
            self.rest = SpillFile::slice(self.rest, take, u64::MAX);
            self.at = 0;
        }
        if self.at >= self.buffer.len() {
            return Ok(None);
        }
        let bytes = self.buffer.get(self.at..self.at + SIZE);
        self.at += SIZE;
        Placed::read(bytes.or_bug("a run ends inside a fragment")?).map(Some)
    }
}

/// The merge of all runs.
#[derive(Debug)]
pub struct Sorted {
    runs: Vec<Run>,
    heap: BinaryHeap<Reverse<(Placed, usize)>>,
    file: SpillFile,
}

impl Sorted {
    fn refill(&mut self, run: usize) -> Result<(), WriteError> {
        let from = self
            .runs
            .get_mut(run)
            .or_bug(format_args!("no run {run}"))?;
        if let Some(placed) = from.next(&self.file)? {
            self.heap.push(Reverse((placed, run)));
        }
        Ok(())
    }

    /// The object of the next fragment.
    pub(crate) fn peek(&self) -> Option<i64> {
        self.heap.peek().map(|Reverse((placed, _))| placed.object)
    }

    /// The next one.
    pub fn pop(&mut self) -> Result<Option<Placed>, WriteError> {
        let Some(Reverse((placed, run))) = self.heap.pop() else {
            return Ok(None);
        };
        self.refill(run)?;
        Ok(Some(placed))
    }

    /// All fragments of one object, if it is the next one.
    pub(crate) fn take(&mut self, object: i64, into: &mut Vec<Placed>) -> Result<(), WriteError> {
        into.clear();
        while self.peek() == Some(object) {
            into.extend(self.pop()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, Sorter};
    use crate::WriteError;

    #[test]
    fn fragments_come_back_sorted_through_files() {
        for budget in [0, 1 << 20] {
            let mut sorter = Sorter::new(budget, &std::env::temp_dir());
            let mut all = Vec::new();
            for i in 0..20_000_u32 {
                let mixed = i.wrapping_mul(2_654_435_761);
                let placed = Placed {
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

    #[test]
    fn a_misread_fragment_is_a_bug() {
        assert_eq!(Placed::read_all(&[1; 64]).unwrap().len(), 2);
        for length in [1, 31, 33] {
            let found = Placed::read_all(&vec![1; length]);
            assert!(matches!(found, Err(WriteError::Bug { .. })), "{length}");
        }
    }
}
