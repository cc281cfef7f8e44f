//! Records by key, with a memory budget beyond which they are spilled: the first step of every write.

use std::borrow::{Borrow, Cow};
use std::hash::Hash;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::WriteError;
use crate::error::{OrBug, to_index};
use crate::records::spill::{SpillFile, SpillRange};
use zvf_format::int::wide;

/// Records by key: a bucket for each key, with its records in the order in which they were pushed.
#[derive(Debug)]
pub struct Buckets<K> {
    /// Keys are counts and coordinates of the caller's own data, so a fast hash without protection against chosen collisions suffices.
    numbers: FxHashMap<K, usize>,
    buckets: Vec<Bucket>,
    /// Bytes reserved in memory.
    memory: usize,
    budget: usize,
    file: SpillFile,
}

/// The records of one key.
#[derive(Debug, Default)]
pub struct Bucket {
    parts: Vec<SpillRange>,
    tail: Vec<u8>,
}

impl<K: Eq + Hash> Buckets<K> {
    /// Creates an empty collection. About `budget` bytes are held in memory, more goes to a temporary file in `folder`.
    pub fn new(budget: usize, folder: &Path) -> Self {
        Self {
            numbers: FxHashMap::default(),
            buckets: Vec::new(),
            memory: 0,
            budget,
            file: SpillFile::new(folder),
        }
    }

    /// Creates a bucket for each of these keys; buckets are numbered in the order of the keys.
    pub fn of(keys: impl IntoIterator<Item = K>, budget: usize, folder: &Path) -> Self
    where
        K: Copy,
    {
        let mut buckets = Self::new(budget, folder);
        for key in keys {
            buckets.number(&key, |&key| key);
        }
        buckets
    }

    /// The number of the bucket for a key; `own` makes the key of a new bucket. Numbers stay valid.
    pub fn number<Q>(&mut self, key: &Q, own: impl FnOnce(&Q) -> K) -> usize
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.buckets.len();
        self.numbers.insert(own(key), number);
        self.buckets.push(Bucket::default());
        number
    }

    /// Appends a record to a bucket: the bytes that `write` appends.
    ///
    /// # Errors
    /// Bug: a number without a bucket.
    pub fn push(
        &mut self,
        number: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), WriteError> {
        let bucket = self.buckets.get_mut(number);
        let bucket = bucket.or_bug(format_args!("no bucket {number}"))?;
        let before = bucket.tail.capacity();
        if let Some(last) = bucket.parts.last().filter(|_| before == 0) {
            // Batches resemble each other: reserve the size of the last spill instead of growing in small steps.
            let usual = to_index("bytes of a bucket", last.len.min(1 << 16))?;
            bucket.tail.reserve(usual);
        }
        write(&mut bucket.tail);
        self.memory += bucket.tail.capacity() - before;
        Ok(())
    }

    /// Bytes reserved in memory.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Spills all buckets if they exceed the budget. To be called after some records were pushed.
    ///
    /// # Errors
    /// I/O of the temporary file.
    pub fn relieve(&mut self) -> Result<(), WriteError> {
        if self.memory <= self.budget {
            return Ok(());
        }
        let full = self
            .buckets
            .iter_mut()
            .filter(|bucket| !bucket.tail.is_empty());
        let tails = full.map(|bucket| {
            let tail = std::mem::take(&mut bucket.tail);
            (bucket, tail)
        });
        self.file
            .append_all(tails, |bucket, part| bucket.parts.push(part))?;
        self.memory = 0;
        Ok(())
    }

    /// Returns all keys with their buckets, in the order in which they were added, and the file that the buckets are read from.
    pub fn finish(self) -> (Vec<(K, Bucket)>, SpillFile) {
        // Keys are numbered 0, 1, 2, …, so sorting by number gives the order of the buckets.
        let mut keys: Vec<(K, usize)> = self.numbers.into_iter().collect();
        keys.sort_unstable_by_key(|(_, number)| *number);
        let keys = keys.into_iter().map(|(key, _)| key);
        (keys.zip(self.buckets).collect(), self.file)
    }
}

impl Bucket {
    /// Bytes of all records.
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| part.len).sum::<u64>() + wide(self.tail.len())
    }

    /// Reads the records piece by piece, in the order in which they were pushed; a piece has whole records.
    pub fn pieces(
        &self,
        file: &SpillFile,
    ) -> impl Iterator<Item = Result<Cow<'_, [u8]>, WriteError>> {
        let spilled = self.parts.iter().map(|part| {
            let mut bytes = Vec::new();
            file.read(*part, &mut bytes)?;
            Ok(Cow::Owned(bytes))
        });
        spilled.chain(std::iter::once(Ok(Cow::Borrowed(&*self.tail))))
    }

    /// Reads all records, in the order in which they were pushed.
    pub fn read(self, file: &SpillFile) -> Result<Vec<u8>, WriteError> {
        if self.parts.is_empty() {
            return Ok(self.tail);
        }
        let mut all = Vec::with_capacity(to_index("bytes of a chunk", self.size())?);
        for part in self.parts {
            file.read(part, &mut all)?;
        }
        all.extend_from_slice(&self.tail);
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::Buckets;
    use crate::WriteError;

    #[test]
    fn buckets_keep_their_order_through_spills() {
        for budget in [0, 100, 1 << 20] {
            let mut buckets: Buckets<String> = Buckets::new(budget, &std::env::temp_dir());
            for i in 0..1000_u32 {
                let key = format!("{}", i % 7);
                let number = buckets.number(key.as_str(), str::to_owned);
                let write = |out: &mut Vec<u8>| out.extend_from_slice(&i.to_le_bytes());
                buckets.push(number, write).unwrap();
                buckets.relieve().unwrap();
            }
            let last = buckets.buckets.len();
            assert!(matches!(
                buckets.push(last, |_| {}),
                Err(WriteError::Bug { .. })
            ));
            let (all, file) = buckets.finish();
            assert_eq!(all.len(), 7);
            for (key, bucket) in all {
                let rest: u32 = key.parse().unwrap();
                let wanted: Vec<u8> = (0..1000_u32)
                    .filter(|i| i % 7 == rest)
                    .flat_map(u32::to_le_bytes)
                    .collect();
                assert_eq!(bucket.size(), wanted.len() as u64);
                assert_eq!(bucket.read(&file).unwrap(), wanted);
            }
        }
    }
}
