//! Borrowed views of superblock, directory and chunk index, which form the front of a file; steps 1 to 11 and 13 of the checks.

use zerocopy::FromBytes;

use crate::error::{Class, Expected, FieldOwner, Profile, TetError};
use crate::layout::{
    DIRECTORY_AT, DirectoryHead, FLAG_FOOTER, INDEX_MAGIC, INDEX_VERSION, IndexEntry, IndexHeader,
    LAYOUT_VERSION, MAGIC, RECORD_MIN, RECORDS_AT, Superblock,
};
use crate::record::{Record, Records};
use zvf_grid::int::wide;

/// Superblock, directory and chunk index of a file, as views of its first bytes.
///
/// Creating it costs a pass over the records; entries are not read. The bytes need not be aligned.
#[derive(Debug, Clone, Copy)]
pub struct Tet<'a> {
    superblock: &'a Superblock,
    file_len: u64,
    records: &'a [u8],
    header: Option<&'a IndexHeader>,
    entries: &'a [IndexEntry],
}

/// Steps 1 to 4: checks the superblock, and that the index is inside the file.
fn superblock(head: &[u8], file_len: u64) -> Result<&Superblock, TetError> {
    let have = file_len.min(wide(head.len()));
    let Ok((block, _)) = Superblock::ref_from_prefix(head) else {
        return Err(truncated("superblock", 0, have, 32));
    };
    if have < 32 {
        return Err(truncated("superblock", 0, have, 32));
    }
    if block.magic != MAGIC {
        let found = u64::from(u32::from_le_bytes(block.magic));
        let expected = Expected::Text("`TETR`");
        return Err(TetError::new(Class::BadMagic, "magic", 0, found, expected));
    }
    let version = block.layout_version.get();
    if version != LAYOUT_VERSION {
        return Err(TetError::new(
            Class::UnsupportedLayoutVersion,
            "layout_version",
            4,
            u64::from(version),
            Expected::Exactly(u64::from(LAYOUT_VERSION)),
        ));
    }
    let (offset, length) = (
        block.chunk_index_offset.get(),
        block.chunk_index_length.get(),
    );
    if offset
        .checked_add(length)
        .is_none_or(|stop| stop > file_len)
    {
        return Err(TetError::new(
            Class::IndexOutOfBounds,
            "chunk_index_offset + chunk_index_length",
            16,
            offset.saturating_add(length),
            Expected::AtMost(file_len),
        ));
    }
    Ok(block)
}

#[cold]
fn truncated(what: &'static str, at: u64, found: u64, need: u64) -> TetError {
    TetError::new(Class::Truncated, what, at, found, Expected::AtLeast(need))
}

/// Returns how many bytes from the start of a file [`Tet::parse`] needs: up to the end of the index, or of a damaged
/// directory that ends after it. `first` holds the first 40 bytes, or all if the file is shorter. The result is never
/// more than `file_len`.
///
/// # Errors
/// Steps 1 to 4 and 6 of the checks: [`Class::Truncated`], [`Class::BadMagic`], [`Class::UnsupportedLayoutVersion`],
/// [`Class::IndexOutOfBounds`].
pub fn head_len(first: &[u8], file_len: u64) -> Result<u64, TetError> {
    let block = superblock(first, file_len)?;
    if block.dataset_count.get() == 0 {
        return Ok(32);
    }
    let (_, stop) = directory(first, file_len)?;
    let index = block
        .chunk_index_offset
        .get()
        .saturating_add(block.chunk_index_length.get());
    Ok(stop.max(index))
}

/// Step 6: the length and the end of the records.
fn directory(head: &[u8], file_len: u64) -> Result<(u64, u64), TetError> {
    let length = head
        .get(32..)
        .and_then(|rest| DirectoryHead::ref_from_prefix(rest).ok())
        .map(|(directory, _)| directory.dataset_blob_len.get())
        .filter(|_| file_len >= RECORDS_AT)
        .ok_or_else(|| {
            let have = file_len.min(wide(head.len()));
            truncated("dataset_blob_len", DIRECTORY_AT, have, RECORDS_AT)
        })?;
    match RECORDS_AT.checked_add(length) {
        Some(stop) if stop <= file_len => Ok((length, stop)),
        stop => Err(truncated(
            "dataset records",
            RECORDS_AT,
            file_len,
            stop.unwrap_or(u64::MAX),
        )),
    }
}

impl<'a> Tet<'a> {
    /// Parses the front of a file of `file_len` bytes: steps 1 to 11 of the checks. `head` holds at least the number of
    /// first bytes that [`head_len`] returns.
    ///
    /// # Cost
    /// One pass over the records; entries are not read.
    ///
    /// # Errors
    /// The classes of these steps; [`Class::Truncated`] if `head` is too short.
    ///
    /// # Panics
    /// Never.
    pub fn parse(head: &'a [u8], file_len: u64, profile: Profile) -> Result<Self, TetError> {
        let block = superblock(head, file_len)?;
        let (offset, length) = (
            block.chunk_index_offset.get(),
            block.chunk_index_length.get(),
        );
        let count = u64::from(block.dataset_count.get());
        if count == 0 {
            if profile == Profile::Strict && (offset, length) != (32, 0) {
                let (what, at, found, expected) = if offset == 32 {
                    ("chunk_index_length", 24, length, 0)
                } else {
                    ("chunk_index_offset", 16, offset, 32)
                };
                return Err(TetError::new(
                    Class::EmptyFileFields,
                    what,
                    at,
                    found,
                    Expected::Exactly(expected),
                ));
            }
            return Ok(Self {
                superblock: block,
                file_len,
                records: &[],
                header: None,
                entries: &[],
            });
        }
        let (blob, stop) = directory(head, file_len)?;
        if count
            .checked_mul(RECORD_MIN)
            .is_none_or(|least| least > blob)
        {
            return Err(TetError::new(
                Class::DatasetCountTooLarge,
                "dataset_count",
                8,
                count,
                Expected::AtMost(blob / RECORD_MIN),
            ));
        }
        let records = part(head, RECORDS_AT, stop)
            .ok_or_else(|| truncated("dataset records", RECORDS_AT, wide(head.len()), stop))?;
        let mut unread = Records::new(records, count);
        while let Some(record) = unread.advance() {
            record?;
        }
        if unread.left() != 0 {
            return Err(TetError::new(
                Class::DirectoryLengthMismatch,
                "dataset_blob_len",
                DIRECTORY_AT,
                blob,
                Expected::Exactly(blob - wide(unread.left())),
            ));
        }
        let base = stop.checked_next_multiple_of(8).unwrap_or(u64::MAX);
        if offset != base {
            return Err(TetError::new(
                Class::IndexOffsetMismatch,
                "chunk_index_offset",
                16,
                offset,
                Expected::Exactly(base),
            ));
        }
        let (header, entries) = index(head, offset, length)?;
        Ok(Self {
            superblock: block,
            file_len,
            records,
            header: Some(header),
            entries,
        })
    }

    /// The superblock.
    #[must_use]
    pub const fn superblock(&self) -> &'a Superblock {
        self.superblock
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Whether the flags announce a footer.
    #[must_use]
    pub fn has_footer(&self) -> bool {
        self.superblock.flags.get() & FLAG_FOOTER != 0
    }

    /// The datasets, in the order of their numbers.
    #[must_use]
    pub fn records(&self) -> Records<'a> {
        Records::new(self.records, u64::from(self.superblock.dataset_count.get()))
    }

    /// The first dataset with this name; names need not be unique.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<Record<'a>> {
        self.records().find(|record| record.name() == name)
    }

    /// Header of the chunk index; `None` in an empty file.
    #[must_use]
    pub const fn index_header(&self) -> Option<&'a IndexHeader> {
        self.header
    }

    /// The index entries, in the order of the file.
    #[must_use]
    pub const fn entries(&self) -> &'a [IndexEntry] {
        self.entries
    }

    /// Byte of the file at which entry number `row` begins.
    #[must_use]
    pub fn entry_at(&self, row: u64) -> u64 {
        self.superblock
            .chunk_index_offset
            .get()
            .saturating_add(32)
            .saturating_add(row.saturating_mul(104))
    }

    /// End of the front, which consists of superblock, directory and index.
    #[must_use]
    pub fn index_stop(&self) -> u64 {
        match self.header {
            Some(_) => self.entry_at(wide(self.entries.len())),
            None => 32,
        }
    }

    /// Step 13 of the checks: codecs are known, raw lengths agree, payloads end at `payload_end` or before.
    ///
    /// # Cost
    /// One pass over the entries.
    ///
    /// # Errors
    /// [`Class::UnknownCodec`], [`Class::RawStoredMismatch`], [`Class::PayloadOutOfBounds`].
    pub fn check_payloads(&self, payload_end: u64) -> Result<(), TetError> {
        for (row, entry) in (0..).zip(self.entries) {
            let fault = |class, what, field, found, expected| {
                TetError::new(class, what, self.entry_at(row) + field, found, expected)
                    .of(FieldOwner::Entry(row))
            };
            let (raw, stored) = (entry.raw_byte_len.get(), entry.stored_byte_len.get());
            match entry.codec.get() {
                0 if raw != stored => {
                    return Err(fault(
                        Class::RawStoredMismatch,
                        "stored_byte_len",
                        88,
                        stored,
                        Expected::Exactly(raw),
                    ));
                }
                0 | 1 => {}
                codec => {
                    return Err(fault(
                        Class::UnknownCodec,
                        "codec",
                        96,
                        u64::from(codec),
                        Expected::Text("0 or 1"),
                    ));
                }
            }
            if entry.payload_stop().is_none_or(|stop| stop > payload_end) {
                return Err(fault(
                    Class::PayloadOutOfBounds,
                    "payload_offset + stored_byte_len",
                    72,
                    entry.payload_stop().unwrap_or(u64::MAX),
                    Expected::AtMost(payload_end),
                ));
            }
        }
        Ok(())
    }

    /// Finds the entry of the tile at `coord` of dataset `id`, whose entries begin at row `first_row` in canonical order.
    /// If the computed row holds another entry, all entries are searched. See
    /// [`Proof::canonical`](crate::Proof::canonical).
    ///
    /// # Cost
    /// O(rank) in a canonical file, otherwise a pass over the entries.
    #[must_use]
    pub fn find(
        &self,
        id: u64,
        first_row: u64,
        grid: &zvf_grid::Dims,
        coord: &[u64],
    ) -> Option<(u64, &'a IndexEntry)> {
        let fits = |entry: &IndexEntry| entry.dataset_id.get() == id && entry.is_at(coord);
        let row = first_row.checked_add(grid.position(coord)?)?;
        if let Some(entry) = usize::try_from(row)
            .ok()
            .and_then(|row| self.entries.get(row))
            && fits(entry)
        {
            return Some((row, entry));
        }
        (0..).zip(self.entries).find(|(_, entry)| fits(entry))
    }
}

/// Bytes `start .. stop` of the file, if `head` has them.
fn part(head: &[u8], start: u64, stop: u64) -> Option<&[u8]> {
    head.get(usize::try_from(start).ok()?..usize::try_from(stop).ok()?)
}

/// Step 11: checks the index of `length` bytes at `offset`.
fn index(head: &[u8], offset: u64, length: u64) -> Result<(&IndexHeader, &[IndexEntry]), TetError> {
    let stop = offset.saturating_add(length);
    let bytes = part(head, offset, stop)
        .ok_or_else(|| truncated("chunk index", offset, wide(head.len()), stop))?;
    let Ok((header, rest)) = IndexHeader::ref_from_prefix(bytes) else {
        return Err(truncated("chunk index", offset, length, 32));
    };
    if header.magic != INDEX_MAGIC {
        return Err(TetError::new(
            Class::BadIndexMagic,
            "index magic",
            offset,
            u64::from(u32::from_le_bytes(header.magic)),
            Expected::Text("`TIDX`"),
        ));
    }
    let version = header.index_version.get();
    if version != INDEX_VERSION {
        return Err(TetError::new(
            Class::UnsupportedIndexVersion,
            "index_version",
            offset + 4,
            u64::from(version),
            Expected::Exactly(u64::from(INDEX_VERSION)),
        ));
    }
    let count = header.entry_count.get();
    let need = count
        .checked_mul(104)
        .and_then(|bytes| bytes.checked_add(32));
    let entries = <[IndexEntry]>::ref_from_bytes(rest)
        .ok()
        .filter(|entries| need == Some(length) && wide(entries.len()) == count);
    match entries {
        Some(entries) => Ok((header, entries)),
        None => Err(TetError::new(
            Class::IndexLengthMismatch,
            "chunk_index_length",
            24,
            length,
            Expected::Exactly(need.unwrap_or(u64::MAX)),
        )),
    }
}
