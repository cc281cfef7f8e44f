//! Pages of columns, each checked before the reader sees it: that its head says what is in it, that levels and the numbers of a
//! dictionary's words are in their range, and that there are as many values as are promised.
//!
//! The reader asserts most of this, or takes it for granted. Encodings that are not checked are refused.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::thrift::{I32, STRUCT, Walk};

/// Bytes of a page, unpacked.
const LARGEST: i64 = 256 << 20;
/// A page's head that is longer is none.
const LONGEST_HEAD: u64 = 1 << 16;
/// Values of a list.
const LONGEST_LIST: usize = 1 << 16;

/// The row groups of a file.
pub(super) struct Groups {
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl RowGroups for Groups {
    fn num_rows(&self) -> usize {
        let rows = self.metadata.row_groups().iter();
        let rows = rows.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        rows.fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(Chunks {
            path: self.path.clone(),
            file: Arc::clone(&self.file),
            metadata: Arc::clone(&self.metadata),
            column,
            next: 0,
        }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// One column, row group by row group.
struct Chunks {
    path: PathBuf,
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    next: usize,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_groups().get(self.next)?;
        self.next = self.next.saturating_add(1);
        let open = || -> Result<Box<dyn PageReader>> {
            let chunk = group.columns().get(self.column);
            let chunk = chunk.ok_or_else(|| wrong("a row group without a column"))?;
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let (at, left) = chunk.byte_range();
            Ok(Box::new(Pages {
                pages: SerializedPageReader::new(Arc::clone(&self.file), chunk, rows, None)?,
                file: zvf_store::open_file(&self.path)?,
                at,
                left,
                ahead: false,
                shape: Shape::of(chunk.column_descr()),
                words: None,
            }))
        };
        Some(open())
    }
}

impl PageIterator for Chunks {}

/// What a column's values are.
#[derive(Debug, Clone, Copy)]
struct Shape {
    physical: Type,
    /// Bytes of a value; 0 for truth values and texts.
    size: usize,
    levels: [u64; 2],
}

impl Shape {
    fn of(column: &ColumnDescriptor) -> Self {
        let physical = column.physical_type();
        let size = match physical {
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(0),
            _ => 0,
        };
        let levels = [column.max_rep_level(), column.max_def_level()];
        Self {
            physical,
            size,
            levels: levels.map(|level| u64::try_from(level).unwrap_or(0)),
        }
    }
}

/// The pages of a column in a row group.
struct Pages {
    pages: SerializedPageReader<File>,
    file: File,
    /// Where the next page's head is, and how many bytes there are from there.
    at: u64,
    left: u64,
    /// Whether the next head was looked at.
    ahead: bool,
    shape: Shape,
    /// Words of the dictionary.
    words: Option<u64>,
}

#[cold]
fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Pages {
    /// Checks the head of the next page, and passes over the page.
    fn look(&mut self) -> Result<()> {
        if self.ahead || self.left == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.at))?;
        let most = self.left.min(LONGEST_HEAD);
        (&mut self.file).take(most).read_to_end(&mut bytes)?;
        let size = head(&bytes).ok_or_else(|| wrong("a page without a head"))?;
        let left = self.left.checked_sub(size);
        self.left = left.ok_or_else(|| wrong("a page that is longer than its column"))?;
        self.at = self.at.saturating_add(size);
        self.ahead = true;
        Ok(())
    }
}

/// The bytes of a page with its head; `None` for a head that is none, or that promises what cannot be.
fn head(bytes: &[u8]) -> Option<u64> {
    let mut walk = Walk::new(bytes);
    let (mut last, mut numbers, mut described) = (0, [None; 3], None);
    while let Some((field, kind)) = walk.field(&mut last)? {
        let slot = usize::try_from(field)
            .ok()
            .and_then(|field| field.checked_sub(1));
        match (slot.and_then(|slot| numbers.get_mut(slot)), field, kind) {
            (Some(number), _, I32) => *number = Some(walk.int()?),
            (None, 5 | 7, STRUCT) => {
                described = Some(field);
                walk.skip(kind)?;
            }
            (None, 8, STRUCT) => {
                described = Some(field);
                let mut lengths = [0; 2];
                let mut last = 0;
                while let Some((field, kind)) = walk.field(&mut last)? {
                    match (field, kind) {
                        (5, I32) => lengths[0] = walk.int()?,
                        (6, I32) => lengths[1] = walk.int()?,
                        _ => walk.skip(kind)?,
                    }
                }
                let whole = numbers.get(1).copied().flatten()?;
                let [definition, repetition] = lengths;
                let fits = definition >= 0 && repetition >= 0;
                (fits && definition.checked_add(repetition)? <= whole).then_some(())?;
            }
            _ => walk.skip(kind)?,
        }
    }
    let [Some(kind), Some(unpacked), Some(packed)] = numbers else {
        return None;
    };
    // Data, dictionary, data of version 2, each with the struct that describes it. Nobody writes index pages.
    let known = matches!(
        (kind, described),
        (0, Some(5)) | (2, Some(7)) | (3, Some(8))
    );
    let known = known && (0..=LARGEST).contains(&unpacked);
    let head = u64::try_from(walk.taken()).ok()?;
    head.checked_add(u64::try_from(packed).ok().filter(|_| known)?)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.look()?;
        let page = self.pages.get_next_page()?;
        self.ahead = false;
        if let Some(page) = &page {
            let checked = self.shape.check(page, &mut self.words);
            checked.map_err(|what| wrong(&format!("a page with {what}")))?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.look()?;
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.look()?;
        self.ahead = false;
        self.pages.skip_next_page()
    }
}

/// What of a page is wrong.
type Wrong = &'static str;

impl Shape {
    fn check(self, page: &Page, words: &mut Option<u64>) -> std::result::Result<(), Wrong> {
        match page {
            Page::DictionaryPage {
                buf,
                num_values,
                encoding,
                ..
            } => {
                if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                    return Err("a dictionary of another encoding");
                }
                *words = Some(u64::from(*num_values));
                self.plain(buf, index(*num_values))
            }
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let mut walk = Walk::new(buf);
                let mut part = |max: u64, encoding: Encoding| {
                    if max == 0 {
                        return Ok(&[][..]);
                    }
                    if encoding != Encoding::RLE {
                        return Err("levels of another encoding");
                    }
                    prefixed(&mut walk).ok_or("levels that end behind it")
                };
                let [repetition, definition] = self.levels;
                let repetition = part(repetition, *rep_level_encoding)?;
                let definition = part(definition, *def_level_encoding)?;
                let present = self.levels(repetition, definition, index(*num_values))?;
                self.values(walk.rest(), *encoding, present, *words)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let mut walk = Walk::new(buf);
                let mut part = |length: u32| {
                    let part = walk.take(index(length));
                    part.ok_or("levels that end behind it")
                };
                let repetition = part(*rep_levels_byte_len)?;
                let definition = part(*def_levels_byte_len)?;
                let present = self.levels(repetition, definition, index(*num_values))?;
                self.values(walk.rest(), *encoding, present, *words)
            }
        }
    }

    /// Checks levels; how many values there are.
    fn levels(
        self,
        repetition: &[u8],
        definition: &[u8],
        count: usize,
    ) -> std::result::Result<usize, Wrong> {
        let [most_repeated, most_defined] = self.levels;
        if most_repeated > 0 {
            // A list must not grow without end, and a page begins with one.
            let (mut run, mut begun) = (0_usize, false);
            let mut see = |level: u64, times: usize| {
                begun |= level == 0;
                run = if level == 0 {
                    1
                } else {
                    run.saturating_add(times)
                };
                level <= most_repeated && run <= LONGEST_LIST && begun
            };
            hybrid(repetition, width(most_repeated), count, &mut see)
                .ok_or("repetition levels out of range")?;
        }
        if most_defined == 0 {
            return Ok(count);
        }
        let mut present = 0_usize;
        let mut see = |level: u64, times: usize| {
            if level == most_defined {
                present = present.saturating_add(times);
            }
            level <= most_defined
        };
        hybrid(definition, width(most_defined), count, &mut see)
            .ok_or("definition levels out of range")?;
        Ok(present)
    }

    fn values(
        self,
        bytes: &[u8],
        encoding: Encoding,
        count: usize,
        words: Option<u64>,
    ) -> std::result::Result<(), Wrong> {
        match encoding {
            Encoding::PLAIN => self.plain(bytes, count),
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                let words = words.ok_or("numbers of words, without a dictionary")?;
                if count == 0 {
                    return Ok(());
                }
                let wrong = "numbers of words that the dictionary does not have";
                let (bits, packed) = bytes.split_first().ok_or(wrong)?;
                let mut see = |word: u64, _| word < words;
                let bits = Some(u32::from(*bits)).filter(|bits| *bits <= 32);
                hybrid(packed, bits.ok_or(wrong)?, count, &mut see).ok_or(wrong)
            }
            Encoding::RLE if self.physical == Type::BOOLEAN => {
                let wrong = "fewer truth values than it says";
                let packed = prefixed(&mut Walk::new(bytes)).ok_or(wrong)?;
                hybrid(packed, 1, count, &mut |_, _| true).ok_or(wrong)
            }
            Encoding::BYTE_STREAM_SPLIT if self.size > 0 => {
                let fits = self.size.checked_mul(count) == Some(bytes.len());
                fits.then_some(()).ok_or("fewer values than it says")
            }
            _ => Err(
                "another encoding than plain, dictionary, runs of truth values and split streams",
            ),
        }
    }

    /// Checks values one after another.
    fn plain(self, bytes: &[u8], count: usize) -> std::result::Result<(), Wrong> {
        let wrong = "fewer values than it says";
        let size = match self.physical {
            Type::BOOLEAN => Some(count.div_ceil(8)),
            Type::BYTE_ARRAY => {
                let mut walk = Walk::new(bytes);
                for _ in 0..count {
                    prefixed(&mut walk).ok_or(wrong)?;
                }
                return Ok(());
            }
            _ => self.size.checked_mul(count),
        };
        size.filter(|size| *size <= bytes.len())
            .map(drop)
            .ok_or(wrong)
    }
}

fn index(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Bits of a level.
fn width(most: u64) -> u32 {
    u64::BITS.saturating_sub(most.leading_zeros())
}

/// Bytes behind their length, of 32 bits.
fn prefixed<'b>(walk: &mut Walk<'b>) -> Option<&'b [u8]> {
    let length = walk.take(4)?.try_into().ok().map(u32::from_le_bytes)?;
    walk.take(index(length))
}

/// Walks numbers of so many bits, in runs of one number, or packed by eights; `None` where there are fewer than `count`, or where
/// `see` says that one is wrong.
fn hybrid(
    bytes: &[u8],
    bits: u32,
    count: usize,
    see: &mut dyn FnMut(u64, usize) -> bool,
) -> Option<()> {
    let mut walk = Walk::new(bytes);
    let mut left = count;
    while left > 0 {
        let head = walk
            .unsigned()
            .filter(|head| *head <= u64::from(u32::MAX))?;
        let times = usize::try_from(head >> 1).ok().filter(|times| *times > 0)?;
        if head & 1 == 0 {
            let mut value = [0; 8];
            let raw = walk.take(usize::try_from(bits.div_ceil(8)).ok()?)?;
            value.get_mut(..raw.len())?.copy_from_slice(raw);
            let times = times.min(left);
            see(u64::from_le_bytes(value), times).then_some(())?;
            left = left.saturating_sub(times);
            continue;
        }
        let numbers = times.checked_mul(8)?;
        let wide = usize::try_from(bits).ok()?;
        let packed = walk.take(times.checked_mul(wide)?)?;
        for at in 0..numbers.min(left) {
            let start = at.checked_mul(wide)?;
            let mut value = [0; 8];
            let part = packed.get(start / 8..).unwrap_or_default();
            let part = part.get(..8).unwrap_or(part);
            value.get_mut(..part.len())?.copy_from_slice(part);
            let shifted = u64::from_le_bytes(value) >> (start % 8);
            see(shifted & ((1_u64 << bits) - 1), 1).then_some(())?;
        }
        left = left.saturating_sub(numbers);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that a walk sees.
    fn walked(bytes: &[u8], bits: u32, count: usize) -> Option<Vec<u64>> {
        let mut all = Vec::new();
        hybrid(bytes, bits, count, &mut |value, times| {
            all.extend(std::iter::repeat_n(value, times));
            true
        })?;
        Some(all)
    }

    #[test]
    fn runs_and_packed_numbers_are_walked() {
        // The example of the format's page: 0 to 7 in three bits each; then four times 5.
        let bytes = [0x03, 0x88, 0xc6, 0xfa, 0x08, 0x05];
        assert_eq!(
            walked(&bytes, 3, 12),
            Some(vec![0, 1, 2, 3, 4, 5, 6, 7, 5, 5, 5, 5])
        );
        assert_eq!(walked(&bytes, 3, 13), None);
        assert_eq!(walked(&bytes, 3, 5), Some(vec![0, 1, 2, 3, 4]));
        // Eight numbers of eleven bits: 2047 and zeros; and a run of a number of two bytes.
        let mut wide = vec![0x03, 0xff, 0x07];
        wide.extend([0; 9]);
        wide.extend([0x04, 0x34, 0x02]);
        assert_eq!(
            walked(&wide, 11, 10),
            Some(vec![2047, 0, 0, 0, 0, 0, 0, 0, 0x234, 0x234])
        );
        assert_eq!(walked(&[0x06], 0, 3), Some(vec![0; 3]));
        for wrong in [
            &[0x00][..],
            &[0x01],
            &[0x03, 0x88, 0xc6],
            &[0x08],
            &[0xff; 12],
        ] {
            assert_eq!(walked(wrong, 3, 4), None, "{wrong:?}");
        }
    }
}
