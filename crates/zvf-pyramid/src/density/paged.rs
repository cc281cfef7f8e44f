//! Records in files: read in order, block by block, or grouped by the block of the record that they refer to.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::bin::Means;
use crate::bins::NONE;
use crate::meter::{Meter, MeteredBytes};
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, internal, narrow, to_index};
use zvf_encode::records::{Bucket, Buckets, SpillFile, SpillRange};
use zvf_format::int::{index, wide};

/// The resources for processing records.
#[derive(Debug, Clone)]
pub(super) struct MemoryContext<'d> {
    pub(super) means: Means<'d>,
    pub(super) meter: Meter,
}

impl MemoryContext<'_> {
    /// Number of records in a block; each takes some hundred bytes of memory.
    fn block(&self) -> u32 {
        u32::try_from(self.means.budget >> 11).map_or(1 << 16, |many| many.clamp(1 << 8, 1 << 16))
    }
}

/// Records of one width, numbered in the order of insertion. Complete blocks are in a file.
#[derive(Debug)]
pub(super) struct PagedRecords {
    width: usize,
    /// Records of a block.
    block: u32,
    count: u32,
    tail: Vec<u8>,
    parts: Vec<SpillRange>,
    file: SpillFile,
}

impl PagedRecords {
    pub(super) fn new(width: usize, context: &MemoryContext<'_>) -> Self {
        Self {
            width,
            block: context.block(),
            count: 0,
            tail: Vec::new(),
            parts: Vec::new(),
            file: SpillFile::new(context.means.folder),
        }
    }

    /// An empty one for records of the same width.
    pub(super) fn like(&self, context: &MemoryContext<'_>) -> Self {
        Self::new(self.width, context)
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Appends a record.
    ///
    /// # Errors
    /// More than 2^32 - 2 records; I/O.
    pub(super) fn push(&mut self, record: &[u8]) -> Result<(), WriteError> {
        internal!(
            record.len() == self.width,
            "a record of {} bytes among those of {}",
            record.len(),
            self.width
        );
        let next = self.count.checked_add(1).filter(|next| *next < NONE);
        let limit = u64::from(NONE);
        self.count = next.ok_or_else(|| WriteError::limit("vertices or links", limit, limit))?;
        self.tail.extend_from_slice(record);
        if self.tail.len() >= index(self.block) * self.width {
            self.parts.push(self.file.append(&self.tail)?);
            self.tail.clear();
        }
        Ok(())
    }

    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// The number of blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.count.div_ceil(self.block)
    }

    /// Reads the records of a block and returns the number of the first one.
    pub(super) fn read(&self, block: u32, out: &mut Vec<u8>) -> Result<u32, WriteError> {
        out.clear();
        match self.parts.get(index(block)) {
            Some(part) => self.file.read(*part, out)?,
            None if block < self.blocks() => out.extend_from_slice(&self.tail),
            None => return Err(WriteError::bug(format!("no block {block}"))),
        }
        Ok(block * self.block)
    }

    /// All records in order.
    pub(super) fn records(&self) -> PagedReader<'_> {
        PagedReader {
            paged: self,
            bytes: Vec::new(),
            block: 0,
            at: 0,
        }
    }

    /// Applies `take` to all records in order, with their numbers.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(u32, &[u8]) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut records = self.records();
        for number in 0..self.count {
            let record = records.peek()?;
            take(number, record.or_bug(format_args!("no record {number}"))?)?;
            records.next();
        }
        Ok(())
    }
}

/// Iterates over paged records.
#[derive(Debug)]
pub(super) struct PagedReader<'s> {
    paged: &'s PagedRecords,
    bytes: Vec<u8>,
    /// The next block.
    block: u32,
    at: usize,
}

impl PagedReader<'_> {
    /// The next record.
    pub(super) fn peek(&mut self) -> Result<Option<&[u8]>, WriteError> {
        if self.at >= self.bytes.len() {
            if self.block >= self.paged.blocks() {
                return Ok(None);
            }
            self.paged.read(self.block, &mut self.bytes)?;
            self.block += 1;
            self.at = 0;
        }
        let record = self.bytes.get(self.at..self.at + self.paged.width);
        record.or_bug("a record is cut short").map(Some)
    }

    pub(super) fn next(&mut self) {
        self.at += self.paged.width;
    }
}

/// The 32-bit number at an index of a record.
///
/// # Errors
/// Bug: the record is shorter.
#[track_caller]
pub(super) fn word(record: &[u8], at: usize) -> Result<u32, WriteError> {
    let word = record.as_chunks::<4>().0.get(at);
    let word = word.or_bug(format_args!(
        "a record of {} bytes has no number {at}",
        record.len()
    ))?;
    Ok(u32::from_le_bytes(*word))
}

/// The 32-bit numbers of a record.
pub(super) fn words(record: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let words = record.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word))
}

/// Collects records by the block of the paged record that they refer to.
#[derive(Debug)]
pub(super) struct Shuffle {
    buckets: Buckets<u32>,
    block: u32,
    held: MeteredBytes,
}

impl Shuffle {
    pub(super) fn new(context: &MemoryContext<'_>) -> Self {
        Self {
            buckets: Buckets::new(context.means.budget / 8, context.means.folder),
            block: context.block(),
            held: MeteredBytes::new(&context.meter),
        }
    }

    /// Adds the bytes that `write` appends to the block of the record with this number.
    pub(super) fn push(
        &mut self,
        number: u32,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), WriteError> {
        let block = number / self.block;
        let bucket = self.buckets.number(&block, |&block| block);
        push(&mut self.buckets, &mut self.held, bucket, write)
    }

    pub(super) fn finish(self) -> Shuffled {
        let (buckets, file) = self.buckets.finish();
        Shuffled {
            buckets: buckets.into_iter().collect(),
            file,
            _held: self.held,
        }
    }
}

fn push(
    buckets: &mut Buckets<u32>,
    held: &mut MeteredBytes,
    bucket: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), WriteError> {
    buckets.push(bucket, write)?;
    held.set(buckets.memory());
    buckets.relieve()?;
    held.set(buckets.memory());
    Ok(())
}

/// Records by the block that they refer to.
#[derive(Debug)]
pub(super) struct Shuffled {
    buckets: FxHashMap<u32, Bucket>,
    file: SpillFile,
    _held: MeteredBytes,
}

impl Shuffled {
    /// The records of a block, in the order in which they were added, piece by piece.
    pub(super) fn pieces(
        &self,
        block: u32,
    ) -> impl Iterator<Item = Result<Cow<'_, [u8]>, WriteError>> {
        let bucket = self.buckets.get(&block).into_iter();
        bucket.flat_map(|bucket| bucket.pieces(&self.file))
    }
}

/// Records divided into parts by a hash; each part fits in memory.
#[derive(Debug)]
pub(super) struct Partitions {
    /// One bucket per part, in their order.
    buckets: Buckets<u32>,
    count: usize,
    held: MeteredBytes,
}

impl Partitions {
    /// Parts for records of `bytes` bytes in total.
    pub(super) fn new(bytes: u64, context: &MemoryContext<'_>) -> Result<Self, WriteError> {
        let means = context.means;
        let share = wide(means.budget / (means.threads * 32).max(1)).max(1 << 14);
        let least = (wide(means.threads) * 2).clamp(1, 4096);
        let parts = to_index("parts", (bytes / share).clamp(least, 4096))?;
        Self::of(parts, context)
    }

    /// Creates `parts` parts.
    pub(super) fn of(parts: usize, context: &MemoryContext<'_>) -> Result<Self, WriteError> {
        let keys = 0..narrow("parts", parts)?;
        Ok(Self {
            buckets: Buckets::of(keys, context.means.budget / 4, context.means.folder),
            count: parts,
            held: MeteredBytes::new(&context.meter),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds the bytes that `write` appends to the part of a hash.
    pub(super) fn push(
        &mut self,
        hash: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), WriteError> {
        let part = to_index("parts", hash % wide(self.count).max(1))?;
        push(&mut self.buckets, &mut self.held, part, write)
    }

    /// The parts in the order of their numbers. Their memory is counted until the last result is dropped.
    pub(super) fn finish(self) -> (Vec<Bucket>, SpillFile, MeteredBytes) {
        let (buckets, file) = self.buckets.finish();
        let buckets = buckets.into_iter().map(|(_, bucket)| bucket).collect();
        (buckets, file, self.held)
    }
}

/// A set of numbers: an eighth of a byte per possible number, and half as much for ranks.
#[derive(Debug, Default)]
pub(super) struct BitSet {
    words: Vec<u64>,
    /// The number of members before each word.
    ranks: Vec<u32>,
}

impl BitSet {
    pub(super) fn new(count: u32) -> Self {
        Self {
            words: vec![0; index(count).div_ceil(64)],
            ranks: Vec::new(),
        }
    }

    /// Adds a number.
    ///
    /// # Errors
    /// Bug: a number beyond the set. The methods below have the same errors.
    pub(super) fn set(&mut self, number: u32) -> Result<(), WriteError> {
        let word = self.words.get_mut(index(number / 64));
        *word.or_bug(format_args!("no mark for {number}"))? |= 1 << (number % 64);
        Ok(())
    }

    /// Whether a number is in the set; [`NONE`] never is.
    pub(super) fn has(&self, number: u32) -> Result<bool, WriteError> {
        if number == NONE {
            return Ok(false);
        }
        let word = self.words.get(index(number / 64));
        let word = word.or_bug(format_args!("no mark for {number}"))?;
        Ok(word >> (number % 64) & 1 == 1)
    }

    /// Counts the members, after all are set.
    pub(super) fn count(&mut self) {
        let mut sum = 0_u32;
        self.ranks.clear();
        for word in &self.words {
            self.ranks.push(sum);
            sum += word.count_ones();
        }
    }

    /// The number of members before a number; `None` if it is not a member.
    pub(super) fn rank(&self, number: u32) -> Result<Option<u32>, WriteError> {
        if number == NONE {
            return Ok(None);
        }
        let at = index(number / 64);
        let (word, rank) = self
            .words
            .get(at)
            .zip(self.ranks.get(at))
            .or_bug("marks are not counted")?;
        let below = word & ((1 << (number % 64)) - 1);
        Ok(self.has(number)?.then(|| rank + below.count_ones()))
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::{BitSet, MemoryContext, PagedRecords, Partitions, Shuffle, word, words};
    use crate::bin::Means;
    use crate::meter::Meter;
    use zvf_encode::WriteError;

    fn context(folder: &std::path::Path) -> MemoryContext<'_> {
        let means = Means {
            budget: 1 << 16,
            threads: 2,
            folder,
        };
        MemoryContext {
            means,
            meter: Meter::default(),
        }
    }

    #[test]
    fn records_are_found_by_number() {
        let folder = std::env::temp_dir();
        let mut paged = PagedRecords::new(12, &context(&folder));
        for i in 0..1000_u32 {
            paged
                .push([i, i * 2, i * 3].map(u32::to_le_bytes).as_flattened())
                .unwrap();
        }
        assert_eq!((paged.len(), paged.blocks()), (1000, 4));
        let mut bytes = Vec::new();
        assert_eq!(paged.read(2, &mut bytes).unwrap(), 512);
        assert_eq!((bytes.len(), word(&bytes, 1).unwrap()), (256 * 12, 1024));
        let mut next = 0;
        paged
            .each(|number, record| {
                assert_eq!(number, next);
                assert!(words(record).eq([next, next * 2, next * 3]));
                next += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(next, 1000);
        let none = PagedRecords::new(4, &context(&folder));
        assert_eq!(none.blocks(), 0);
        none.each(|_, _| panic!("no record")).unwrap();
    }

    #[test]
    fn shuffled_records_are_read_by_block_in_order() {
        let folder = std::env::temp_dir();
        let context = context(&folder);
        let mut shuffle = Shuffle::new(&context);
        let mut parts = Partitions::of(3, &context).unwrap();
        for i in 0..20_000_u32 {
            let number = i.wrapping_mul(2_654_435_761) % 1000;
            shuffle
                .push(number, |out| out.extend_from_slice(&i.to_le_bytes()))
                .unwrap();
            parts
                .push(u64::from(i), |out| out.extend_from_slice(&i.to_le_bytes()))
                .unwrap();
        }
        let found = shuffle.finish();
        for block in 0..4 {
            let all: Vec<u32> = found
                .pieces(block)
                .flat_map(|piece| words(&piece.unwrap()).collect::<Vec<_>>())
                .collect();
            let wanted =
                (0..20_000_u32).filter(|i| i.wrapping_mul(2_654_435_761) % 1000 / 256 == block);
            assert!(wanted.eq(all));
        }
        let (buckets, file, held) = parts.finish();
        assert!(context.meter.most() <= 1 << 15);
        drop(held);
        for (bucket, rest) in buckets.into_iter().zip(0..) {
            let bytes = bucket.read(&file).unwrap();
            assert!(words(&bytes).eq((0..20_000).filter(|i| i % 3 == rest)));
        }
    }

    #[test]
    fn marks_are_counted() {
        let mut marks = BitSet::new(200);
        let set = [0, 63, 64, 65, 128, 199];
        set.iter().for_each(|&number| marks.set(number).unwrap());
        marks.count();
        for (rank, number) in (0..).zip(set) {
            assert_eq!(marks.rank(number).unwrap(), Some(rank));
        }
        for number in [1, 66, 198, 200, u32::MAX] {
            assert_eq!(
                (marks.has(number).unwrap(), marks.rank(number).unwrap()),
                (false, None)
            );
        }
    }

    #[test]
    fn nothing_is_dropped_silently() {
        let folder = std::env::temp_dir();
        let context = context(&folder);
        let bug = |found: Result<(), WriteError>| matches!(found, Err(WriteError::Bug { .. }));
        let mut paged = PagedRecords::new(8, &context);
        paged.push(&[0; 8]).unwrap();
        assert!(bug(paged.push(&[0; 7])));
        assert!(bug(paged.read(1, &mut Vec::new()).map(|_| ())));
        assert!(bug(word(&[0; 7], 1).map(|_| ())));
        // A word has 64 numbers.
        let mut marks = BitSet::new(64);
        marks.set(63).unwrap();
        assert!(bug(marks.set(64)));
        assert!(bug(marks.has(64).map(|_| ())));
        assert!(bug(marks.rank(63).map(|_| ())));
        marks.count();
        assert_eq!(marks.rank(63).unwrap(), Some(0));
        assert!(bug(Partitions::of(0, &context).unwrap().push(5, |_| {})));
    }
}
