//! Reads the objects of a folder from single files or from `neuroglancer_uint64_sharded_v1` shards.
//!
//! All objects of a shard are listed from its indexes, so the hash of keys is not needed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use zvf_neuroglancer::shards::ShardingSpec;

use super::info::JsonFile;
use super::record::{ObjectBytes, most};
use crate::error::{ConvertError, InFile};
use crate::options::FileLimits;

/// Most bytes of the list of minishards, and of one unpacked minishard index.
const MOST_INDEX: u64 = 64 << 20;

/// Receives objects one after another.
pub(super) type TakeRecord<'a> = dyn FnMut(ObjectBytes) -> Result<(), ConvertError> + 'a;

/// The objects of a folder.
#[derive(Debug)]
pub(super) enum SegmentSource {
    /// One file for each object: keys and names, in the order of the keys.
    Files {
        folder: PathBuf,
        names: Vec<(u64, String)>,
    },
    /// The paths of shards, in the order of their numbers.
    Shards {
        files: Vec<PathBuf>,
        sharding: ShardingSpec,
    },
}

/// The member `sharding` of a document; `None` if it is absent or null.
///
/// # Errors
/// Malformed: another kind of sharding.
pub(super) fn sharding(
    info: &JsonFile,
    owner: &Value,
) -> Result<Option<ShardingSpec>, ConvertError> {
    let value = owner.get("sharding").filter(|value| !value.is_null());
    let found = value.map(ShardingSpec::parse).transpose();
    found.map_err(|error| info.bad(error.found, error.expected))
}

/// The names in a folder for which `key` returns a key, in the order of keys. `key` gets the names without an ending `.gz`.
///
/// # Errors
/// I/O; malformed: a file with and without `.gz`; more files than limits allow.
fn names(
    folder: &Path,
    limits: &FileLimits,
    key: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<(u64, String)>, ConvertError> {
    let failed = |error| ConvertError::io(folder, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(key) = key(name.strip_suffix(".gz").unwrap_or(name)) {
            if found.len() as u64 >= limits.held {
                let what = "objects in files of their own";
                return Err(ConvertError::limit(
                    folder,
                    InFile::Whole,
                    what,
                    limits.held,
                ));
            }
            found.push((key, name.to_owned()));
        }
    }
    found.sort_unstable();
    let twice = |pair: &&[(u64, String)]| match pair {
        [(_, raw), (_, packed)] => packed.strip_suffix(".gz") == Some(raw),
        _ => false,
    };
    match found.windows(2).find(twice) {
        Some([(_, name), ..]) => Err(ConvertError::malformed(
            folder,
            InFile::Whole,
            format!("{name} and {name}.gz"),
            "one of the two",
        )),
        _ => Ok(found),
    }
}

/// Parses a number as Neuroglancer writes it: without leading zeros.
pub(super) fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl SegmentSource {
    /// Opens the objects of `folder`: in shards, or in files with names from which `key` parses numbers.
    ///
    /// # Errors
    /// I/O; malformed: a file with and without `.gz`; more files than limits allow.
    pub(super) fn open(
        folder: &Path,
        sharding: Option<ShardingSpec>,
        limits: &FileLimits,
        key: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Self, ConvertError> {
        let Some(sharding) = sharding else {
            return Ok(Self::Files {
                folder: folder.to_owned(),
                names: names(folder, limits, key)?,
            });
        };
        let shard = |name: &str| {
            let stem = name.strip_suffix(".shard")?;
            u64::from_str_radix(stem, 16).ok()
        };
        let files = names(folder, limits, &shard)?;
        let files = files.into_iter().map(|(_, name)| folder.join(name));
        Ok(Self::Shards {
            files: files.collect(),
            sharding,
        })
    }

    /// Whether there is neither a file nor a shard.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Files { names, .. } => names.is_empty(),
            Self::Shards { files, .. } => files.is_empty(),
        }
    }

    /// Calls `take` with every object once, always in the same order.
    ///
    /// # Cost
    /// The memory of one object and one minishard index.
    ///
    /// # Errors
    /// The errors of `take`; I/O; malformed shards; limits.
    pub(super) fn visit(
        &self,
        limits: &FileLimits,
        take: &mut TakeRecord<'_>,
    ) -> Result<(), ConvertError> {
        let most = most(limits.held);
        match self {
            Self::Files { folder, names } => {
                for (key, name) in names {
                    take(ObjectBytes::read(&folder.join(name), *key, most)?)?;
                }
            }
            Self::Shards { files, sharding } => {
                for file in files {
                    ShardFile::open(file)?.visit(sharding, most, take)?;
                }
            }
        }
        Ok(())
    }
}

/// An open shard.
#[derive(Debug)]
pub(super) struct ShardFile {
    path: Arc<Path>,
    file: File,
    length: u64,
}

impl ShardFile {
    pub(super) fn open(path: &Path) -> Result<Self, ConvertError> {
        let failed = |error| ConvertError::io(path, error);
        let file = zvf_store::open_file(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Self {
            path: path.into(),
            file,
            length,
        })
    }

    /// A range of the file.
    ///
    /// # Errors
    /// I/O; malformed: a range beyond the file; limit: more than `most` bytes.
    pub(super) fn range(
        &mut self,
        start: u64,
        size: u64,
        what: &str,
        most: u64,
    ) -> Result<Vec<u8>, ConvertError> {
        let place = InFile::Byte(start);
        let end = start.checked_add(size).filter(|end| *end <= self.length);
        if end.is_none() {
            let found = format!("{size} bytes of {what} in a file of {} bytes", self.length);
            return Err(ConvertError::malformed(
                &self.path,
                place,
                found,
                "a range inside the file",
            ));
        }
        if size > most {
            return Err(ConvertError::limit(
                &self.path,
                place,
                format!("bytes of {what}"),
                most,
            ));
        }
        let mut bytes = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| (&mut self.file).take(size).read_to_end(&mut bytes));
        let got = read.map_err(|error| ConvertError::io(&self.path, error))?;
        if got as u64 != size {
            let found = format!("the end of the file after {got} bytes");
            let expected = format!("{what}, {size} bytes");
            return Err(ConvertError::malformed(&self.path, place, found, expected));
        }
        Ok(bytes)
    }

    fn visit(
        &mut self,
        sharding: &ShardingSpec,
        most: u64,
        take: &mut TakeRecord<'_>,
    ) -> Result<(), ConvertError> {
        let list_bytes = sharding.layout.list_bytes();
        let list = self.range(0, list_bytes, "the list of minishards", MOST_INDEX)?;
        let (numbers, _) = list.as_chunks::<8>();
        let (ranges, _) = numbers.as_chunks::<2>();
        // Objects do not overlap, so all sizes together are at most the size of the file. This keeps overlapping ranges
        // in a damaged index from multiplying the work.
        let mut left = self.length;
        for (number, range) in ranges.iter().enumerate() {
            let [start, end] = range.map(u64::from_le_bytes);
            if start == end {
                continue;
            }
            let place = (number as u64).saturating_mul(16);
            let size = end.checked_sub(start).filter(|size| *size <= left);
            let start = start.checked_add(list_bytes);
            let (Some(size), Some(start)) = (size, start) else {
                let found = format!("a minishard index from {start:?} to {end}");
                let expected = "a range of the file that no other part uses";
                return Err(ConvertError::malformed(
                    &self.path,
                    InFile::Byte(place),
                    found,
                    expected,
                ));
            };
            left = left.saturating_sub(size);
            let index = ObjectBytes {
                bytes: self.range(start, size, "a minishard index", MOST_INDEX)?,
                path: Arc::clone(&self.path),
                key: number as u64,
                start,
                packed: false,
            };
            let index = match sharding.packed_index {
                true => index.unpacked(MOST_INDEX)?,
                false => index,
            };
            self.minishard(&index, list_bytes, &mut left, sharding, most, take)?;
        }
        Ok(())
    }

    fn minishard(
        &mut self,
        index: &ObjectBytes,
        list_bytes: u64,
        left: &mut u64,
        sharding: &ShardingSpec,
        most: u64,
        take: &mut TakeRecord<'_>,
    ) -> Result<(), ConvertError> {
        let mut cursor = index.cursor();
        let count = index.bytes.len() / 24;
        let keys = cursor.ids(count, "keys of a minishard")?;
        let gaps = cursor.ids(count, "offsets of a minishard")?;
        let sizes = cursor.ids(count, "sizes of a minishard")?;
        cursor.end()?;
        let (mut key, mut end) = (0_u64, list_bytes);
        for ((step, gap), size) in keys.iter().zip(&gaps).zip(&sizes) {
            // Keys are sorted, but the format allows differences that wrap around.
            key = key.wrapping_add(*step);
            let start = end.checked_add(*gap);
            let fits = start.is_some_and(|start| start <= self.length) && *size <= *left;
            let Some(start) = start.filter(|_| fits) else {
                let found = format!("object {key} of {size} bytes after a gap of {gap}");
                let expected = "a range of the file that no other part uses".to_owned();
                return Err(index.bad(0, found, expected));
            };
            *left = left.saturating_sub(*size);
            end = start.saturating_add(*size);
            if *size == 0 {
                continue;
            }
            let record = ObjectBytes {
                bytes: self.range(start, *size, "an object", most)?,
                path: Arc::clone(&self.path),
                key,
                start,
                packed: false,
            };
            take(match sharding.packed_data {
                true => record.unpacked(most)?,
                false => record,
            })?;
        }
        Ok(())
    }
}
