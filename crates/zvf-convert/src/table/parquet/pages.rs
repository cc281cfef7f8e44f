//! Bounds the allocations for pages before the reader decompresses them. Sizes in page headers are limited, a page decompresses to no
//! more than its header states, and the lengths of lists are limited.
//!
//! Other defects of a page are found by the reader itself, on a thread of its own ([`crate::isolate`]).

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, copy};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use zvf_store::format::int::index;

use super::thrift::{I32, STRUCT, ThriftReader};

/// Most bytes of a page after decompression.
const LARGEST: i64 = 256 << 20;
/// Most bytes of the header of a page.
const LONGEST_HEAD: u64 = 1 << 16;
/// Most values of a list.
const LONGEST_LIST: usize = 1 << 16;

/// The row groups of a file; each page is checked before it is unpacked.
pub(super) struct CheckedRowGroups {
    pub(super) path: PathBuf,
    pub(super) file: Arc<File>,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl RowGroups for CheckedRowGroups {
    fn num_rows(&self) -> usize {
        let rows = self.metadata.row_groups().iter();
        let rows = rows.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        rows.fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(ColumnChunks {
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
struct ColumnChunks {
    path: PathBuf,
    file: Arc<File>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    next: usize,
}

impl Iterator for ColumnChunks {
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
                repeated: u64::try_from(chunk.column_descr().max_rep_level()).unwrap_or(0),
                packed: chunk.compression(),
            }))
        };
        Some(open())
    }
}

impl PageIterator for ColumnChunks {}

/// The pages of a column in a row group.
struct Pages {
    pages: SerializedPageReader<File>,
    file: File,
    /// The position of the next page header, and the number of bytes of the column from there.
    at: u64,
    left: u64,
    /// Whether the next page header was checked.
    ahead: bool,
    /// The highest repetition level: 0 for a column without lists.
    repeated: u64,
    packed: Compression,
}

#[cold]
fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Pages {
    /// Checks the header of the next page, and moves to the page after it.
    fn look(&mut self) -> Result<()> {
        if self.ahead || self.left == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.at))?;
        let most = self.left.min(LONGEST_HEAD);
        (&mut self.file).take(most).read_to_end(&mut bytes)?;
        let head = head(&bytes).ok_or_else(|| wrong("a page without a valid header"))?;
        let size = head.size.saturating_add(head.packed);
        let left = self.left.checked_sub(size);
        let start = self.at.saturating_add(head.size).saturating_add(head.plain);
        self.file.seek(SeekFrom::Start(start))?;
        let part = (&mut self.file).take(head.packed.saturating_sub(head.plain));
        if unpacks_to_more(self.packed, part, head.unpacked) {
            return Err(wrong("a page whose data are longer than its header states"));
        }
        self.left = left.ok_or_else(|| wrong("a page that is longer than its column"))?;
        self.at = self.at.saturating_add(size);
        self.ahead = true;
        Ok(())
    }
}

/// Whether compressed bytes unpack to more than `most`. Other decoders stop at the stated size themselves.
fn unpacks_to_more(packed: Compression, part: impl Read, most: u64) -> bool {
    let most = most.saturating_add(1);
    let mut sink = std::io::sink();
    // The reader reports damaged streams itself.
    let count = match packed {
        Compression::GZIP(_) => copy(&mut MultiGzDecoder::new(part).take(most), &mut sink),
        Compression::BROTLI(_) => {
            let mut bytes = brotli::Decompressor::new(part, 1 << 16).take(most);
            copy(&mut bytes, &mut sink)
        }
        Compression::LZ4 => copy(&mut FrameDecoder::new(part).take(most), &mut sink),
        _ => return false,
    };
    count.is_ok_and(|count| count >= most)
}

/// The header of a page.
struct PageHeader {
    /// Bytes of the header itself.
    size: u64,
    /// Bytes of the page in the file.
    packed: u64,
    /// Bytes of levels, which are not compressed, at the beginning of the page.
    plain: u64,
    unpacked: u64,
}

/// Parses the header of a page; `None` if it is invalid or has impossible sizes.
fn head(bytes: &[u8]) -> Option<PageHeader> {
    let mut walk = ThriftReader::new(bytes);
    let (mut last, mut numbers, mut plain) = (0, [None; 3], 0);
    while let Some((field, kind)) = walk.field(&mut last)? {
        let slot = usize::try_from(field)
            .ok()
            .and_then(|field| field.checked_sub(1));
        match (slot.and_then(|slot| numbers.get_mut(slot)), field, kind) {
            (Some(number), _, I32) => *number = Some(walk.int()?),
            (None, 8, STRUCT) => {
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
                plain = definition.checked_add(repetition)?;
                (fits && plain <= whole).then_some(())?;
            }
            _ => walk.skip(kind)?,
        }
    }
    let [Some(kind), Some(unpacked), Some(packed)] = numbers else {
        return None;
    };
    // Data, dictionary, data of version 2. The reader would skip pages of other kinds and read the next header unchecked.
    let fits = matches!(kind, 0 | 2 | 3) && (0..=LARGEST).contains(&unpacked);
    Some(PageHeader {
        size: u64::try_from(walk.taken()).ok()?,
        packed: u64::try_from(packed).ok().filter(|_| fits)?,
        plain: u64::try_from(plain).ok()?,
        unpacked: u64::try_from(unpacked).ok()?,
    })
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
        let (mut run, mut begun, most) = (0_usize, false, self.repeated);
        let mut see = |level: u64, times: usize| {
            begun |= level == 0;
            run = match level {
                0 => 1,
                _ => run.saturating_add(times),
            };
            level <= most && run <= LONGEST_LIST && begun
        };
        let mut check =
            |levels: &[u8], count| hybrid(levels, width(most), count, &mut see).is_some();
        if let Some(page) = &page
            && !lists(page, most, &mut check)
        {
            return Err(wrong("a page with repetition levels out of range"));
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

/// Checks that lists are not too long, and that a page begins with a new list. This is needed because a few bytes of
/// run-length encoded levels can declare a list of any length.
fn lists(page: &Page, most: u64, check: &mut dyn FnMut(&[u8], usize) -> bool) -> bool {
    match page {
        Page::DictionaryPage { .. } => true,
        _ if most == 0 => true,
        Page::DataPage {
            buf,
            num_values,
            rep_level_encoding,
            ..
        } => {
            let levels = prefixed(&mut ThriftReader::new(buf));
            *rep_level_encoding == Encoding::RLE
                && levels.is_some_and(|levels| check(levels, index(*num_values)))
        }
        Page::DataPageV2 {
            buf,
            num_values,
            rep_levels_byte_len,
            ..
        } => {
            let levels = ThriftReader::new(buf).take(index(*rep_levels_byte_len));
            levels.is_some_and(|levels| check(levels, index(*num_values)))
        }
    }
}

/// The number of bits of a level of at most `most`.
fn width(most: u64) -> u32 {
    u64::BITS.saturating_sub(most.leading_zeros())
}

/// Bytes with a 32-bit length before them.
fn prefixed<'b>(walk: &mut ThriftReader<'b>) -> Option<&'b [u8]> {
    let length = walk.take(4)?.try_into().ok().map(u32::from_le_bytes)?;
    walk.take(index(length))
}

/// Decodes `bits`-wide integers in the RLE/bit-packed hybrid encoding; `None` if there are fewer than `count`, or if `see` refuses one.
fn hybrid(
    bytes: &[u8],
    bits: u32,
    count: usize,
    see: &mut dyn FnMut(u64, usize) -> bool,
) -> Option<()> {
    let mut walk = ThriftReader::new(bytes);
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

    /// The decoded numbers.
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
        // The example in the documentation of Parquet: 0 to 7 in three bits each; then four times 5.
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
