//! Writes shards in one pass over their objects, in bounded memory.
//!
//! Objects are collected in a temporary file, because the number of shards depends on their number and bytes. Then their keys and positions are
//! distributed to temporary files by shard, and each shard is written sequentially.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use zvf_store::Class;

use super::sharding::{Hash, ShardBits, ShardingSpec};

/// Largest average number of objects of a minishard.
const MINISHARD: u64 = 512;

/// Largest average number of objects of a shard, and of their bytes, if the number of shards is chosen.
const SHARD: u64 = 1 << 19;
const SHARD_BYTES: u64 = 256 << 20;

/// Largest number of bits of the shard number, so that a folder does not have too many files.
const MOST_SHARD_BITS: u32 = 20;

/// Largest number of bits of the minishard number: a list of 1 MiB.
const MOST_MINISHARD_BITS: u32 = 16;

/// Bits of the number of temporary files into which the entries of a range of shards are divided.
const SPOOL_BITS: u32 = 7;

/// Number of ignored bits if keys are Morton codes: a block of 8 by 8 by 8 cells shares a minishard.
const BLOCK_BITS: u32 = 9;

/// Entries that are sorted in memory: 3 MiB of them.
const FEW: u64 = 1 << 16;

/// Bytes of a [`SpooledEntry`] in a file.
const ENTRY: usize = 32;

/// The number of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardSize {
    /// By the number of objects and their bytes: about 256 MiB and half a million objects each.
    Auto,
    /// Two to the power of this many; at most 20.
    Bits(u32),
}

/// The result of a [`ShardWriter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharded {
    /// The layout of the shards.
    pub sharding: ShardingSpec,
    /// Files. Shards without objects have none.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
}

/// Why shards were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// A file of the folder could not be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// Two objects have the same key.
    #[error("found two objects of the number {0}, expected one")]
    Twice(u64),
    /// A broken internal invariant.
    #[error("a bug in zvf: {0}; please report it")]
    Bug(&'static str),
}

impl ShardError {
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::File(_) => Class::Io,
            Self::Twice(_) => Class::Malformed,
            Self::Bug(_) => Class::Bug,
        }
    }
}

/// A key, and the position of its object in the temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SpooledEntry {
    key: u64,
    start: u64,
    /// Bytes before the object, which are not part of its range.
    before: u64,
    size: u64,
}

impl SpooledEntry {
    fn put(&self, out: &mut impl Write) -> io::Result<()> {
        for number in [self.key, self.start, self.before, self.size] {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(())
    }

    fn of(bytes: &[u8; ENTRY]) -> Self {
        let (numbers, _) = bytes.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|number| u64::from_le_bytes(*number));
        let mut next = || numbers.next().unwrap_or_default();
        Self {
            key: next(),
            start: next(),
            before: next(),
            size: next(),
        }
    }
}

/// A temporary file that is written first and read afterwards, and the number of entries in it.
#[derive(Debug)]
struct EntrySpool(BufWriter<File>, u64);

impl EntrySpool {
    fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self(BufWriter::with_capacity(1 << 16, file), 0))
    }

    fn into_file(self) -> io::Result<File> {
        let mut file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    fn put(&mut self, entry: &SpooledEntry) -> io::Result<()> {
        self.1 = self.1.saturating_add(1);
        entry.put(&mut self.0)
    }

    /// Calls `take` with each entry, in the order of writing.
    fn entries(
        self,
        take: &mut dyn FnMut(SpooledEntry) -> Result<(), ShardError>,
    ) -> Result<(), ShardError> {
        let mut left = self.1;
        let mut file = BufReader::with_capacity(1 << 16, self.into_file()?);
        let mut bytes = [0; ENTRY];
        while left > 0 {
            file.read_exact(&mut bytes)?;
            take(SpooledEntry::of(&bytes))?;
            left -= 1;
        }
        Ok(())
    }
}

/// Writes the shards of one folder.
///
/// # Cost
/// Twice the bytes of the objects on the disk of the folder. In memory: one object, then up to 150 bytes for each key of the largest shard.
#[derive(Debug)]
pub struct ShardWriter {
    folder: PathBuf,
    data: EntrySpool,
    entries: EntrySpool,
    at: u64,
    count: u64,
    /// Bits of the keys, if they are Morton codes.
    morton: Option<u32>,
    packed: bool,
}

impl ShardWriter {
    /// Shards of objects with ids as keys; `packed`: compressed with gzip.
    ///
    /// # Errors
    /// A temporary file in `folder` cannot be made.
    pub fn by_id(folder: &Path, packed: bool) -> io::Result<Self> {
        Self::new(folder, None, packed)
    }

    /// Shards of cells with Morton codes of `bits` bits as keys, compressed; neighbours share a minishard.
    ///
    /// # Errors
    /// As [`by_id`](Self::by_id).
    pub fn by_cell(folder: &Path, bits: u32) -> io::Result<Self> {
        Self::new(folder, Some(bits), true)
    }

    fn new(folder: &Path, morton: Option<u32>, packed: bool) -> io::Result<Self> {
        Ok(Self {
            folder: folder.to_owned(),
            data: EntrySpool::new(folder)?,
            entries: EntrySpool::new(folder)?,
            at: 0,
            count: 0,
            morton,
            packed,
        })
    }

    /// Adds an object. The bytes of `before` are stored directly before it and never compressed.
    ///
    /// # Errors
    /// I/O.
    pub fn put(&mut self, key: u64, before: &[u8], object: &[u8]) -> io::Result<()> {
        let stored = match self.packed {
            true => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                packed.write_all(object)?;
                Cow::Owned(packed.finish()?)
            }
            false => Cow::Borrowed(object),
        };
        self.data.0.write_all(before)?;
        self.data.0.write_all(&stored)?;
        let entry = SpooledEntry {
            key,
            start: self.at,
            before: before.len() as u64,
            size: stored.len() as u64,
        };
        self.entries.put(&entry)?;
        self.at = self
            .at
            .saturating_add(entry.before.saturating_add(entry.size));
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Objects so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is no object yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Chooses the numbers of bits.
    fn layout(&self, size: ShardSize) -> ShardBits {
        // The smallest number of bits such that each of its parts has at most `most` of `all` on average.
        let bits = |all: u64, most: u64| {
            let parts = all.div_ceil(most).max(1);
            u64::BITS - (parts - 1).leading_zeros()
        };
        let shard_bits = match size {
            ShardSize::Auto => bits(self.count, SHARD).max(bits(self.at, SHARD_BYTES)),
            ShardSize::Bits(bits) => bits,
        };
        let shard_bits = shard_bits.min(MOST_SHARD_BITS);
        let minishard_bits = bits(self.count, MINISHARD).saturating_sub(shard_bits);
        let minishard_bits = minishard_bits.min(MOST_MINISHARD_BITS);
        let used = shard_bits.saturating_add(minishard_bits);
        ShardBits {
            preshift_bits: self
                .morton
                .map_or(0, |bits| bits.saturating_sub(used).min(BLOCK_BITS)),
            hash: match self.morton {
                Some(_) => Hash::Identity,
                None => Hash::Murmur,
            },
            minishard_bits,
            shard_bits,
        }
    }

    /// Writes the shards.
    ///
    /// # Errors
    /// I/O; two objects with the same key.
    pub fn finish(self, size: ShardSize) -> Result<Sharded, ShardError> {
        let layout = self.layout(size);
        let mut done = Sharded {
            sharding: ShardingSpec {
                layout,
                packed_index: true,
                packed_data: self.packed,
            },
            files: 0,
            bytes: 0,
        };
        let Self {
            folder,
            data,
            entries,
            ..
        } = self;
        let mut data = data.into_file()?;
        let shards = 0..1_u64.checked_shl(layout.shard_bits).unwrap_or(u64::MAX);
        spread(&folder, &layout, entries, shards, &mut |shard, entries| {
            let path = folder.join(layout.file_name(shard));
            let bytes = write_shard(&path, &layout, &mut data, entries)?;
            done.files = done.files.saturating_add(1);
            done.bytes = done.bytes.saturating_add(bytes);
            Ok(())
        })?;
        Ok(done)
    }
}

/// Receives the number of a shard and its entries.
type TakeShard<'a> = dyn FnMut(u64, Vec<SpooledEntry>) -> Result<(), ShardError> + 'a;

/// Calls `take` with the entries of each of `shards`, in order. Many entries are sorted with up to 128 temporary files, each for a range of shards; few
/// entries are sorted in memory.
fn spread(
    folder: &Path,
    layout: &ShardBits,
    entries: EntrySpool,
    shards: std::ops::Range<u64>,
    take: &mut TakeShard<'_>,
) -> Result<(), ShardError> {
    let count = shards.end.saturating_sub(shards.start);
    if count <= 1 || entries.1 <= FEW {
        let mut all = Vec::new();
        entries.entries(&mut |entry| {
            all.push((layout.place(entry.key).0, entry));
            Ok(())
        })?;
        all.sort_unstable_by_key(|(shard, entry)| (*shard, entry.key));
        for group in all.chunk_by(|(a, _), (b, _)| a == b) {
            if let Some((shard, _)) = group.first() {
                take(*shard, group.iter().map(|(_, entry)| *entry).collect())?;
            }
        }
        return Ok(());
    }
    let each = count.div_ceil(1 << SPOOL_BITS);
    let mut spools = Vec::new();
    let mut start = shards.start;
    while start < shards.end {
        let end = start.saturating_add(each).min(shards.end);
        spools.push((start..end, EntrySpool::new(folder)?));
        start = end;
    }
    entries.entries(&mut |entry| {
        let (shard, _) = layout.place(entry.key);
        let at = shard.saturating_sub(shards.start).checked_div(each);
        let at = at.and_then(|at| usize::try_from(at).ok());
        let spool = at.and_then(|at| spools.get_mut(at));
        let (_, spool) = spool.ok_or(ShardError::Bug("a key outside of its shards"))?;
        Ok(spool.put(&entry)?)
    })?;
    for (shards, spool) in spools {
        spread(folder, layout, spool, shards, take)?;
    }
    Ok(())
}

/// Writes one shard: the list of minishards, then the objects of each minishard and its index. Returns its bytes.
fn write_shard(
    path: &Path,
    layout: &ShardBits,
    data: &mut File,
    entries: Vec<SpooledEntry>,
) -> Result<u64, ShardError> {
    let mut entries: Vec<(u64, SpooledEntry)> = entries
        .into_iter()
        .map(|entry| (layout.place(entry.key).1, entry))
        .collect();
    entries.sort_unstable_by_key(|(minishard, entry)| (*minishard, entry.key));
    let mut before = None;
    for (_, entry) in &entries {
        if before.replace(entry.key) == Some(entry.key) {
            return Err(ShardError::Twice(entry.key));
        }
    }
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    let list_bytes = layout.list_bytes();
    io::copy(&mut io::repeat(0).take(list_bytes), &mut out)?;
    let (mut ranges, mut stored) = (Vec::new(), Vec::new());
    // Positions after the list of minishards.
    let mut at = 0_u64;
    for group in entries.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((minishard, _)) = group.first() else {
            continue;
        };
        let (mut keys, mut gaps, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut key, mut end) = (0, 0);
        for (_, entry) in group {
            let bytes = entry.before.saturating_add(entry.size);
            let length = usize::try_from(bytes);
            stored.resize(
                length.map_err(|_| ShardError::Bug("an object of 2^32 bytes"))?,
                0,
            );
            data.seek(SeekFrom::Start(entry.start))?;
            data.read_exact(&mut stored)?;
            out.write_all(&stored)?;
            let start = at.saturating_add(entry.before);
            at = at.saturating_add(bytes);
            keys.push(entry.key.wrapping_sub(key));
            gaps.push(start.saturating_sub(end));
            sizes.push(entry.size);
            (key, end) = (entry.key, at);
        }
        let mut index = GzEncoder::new(Vec::new(), Compression::default());
        for number in [keys, gaps, sizes].into_iter().flatten() {
            index.write_all(&number.to_le_bytes())?;
        }
        let index = index.finish()?;
        out.write_all(&index)?;
        let start = at;
        at = at.saturating_add(index.len() as u64);
        ranges.push((*minishard, start, at));
    }
    for (minishard, start, end) in ranges {
        out.seek(SeekFrom::Start(minishard.saturating_mul(16)))?;
        out.write_all(&start.to_le_bytes())?;
        out.write_all(&end.to_le_bytes())?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(list_bytes.saturating_add(at))
}
