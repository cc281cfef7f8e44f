//! The checks that need all entries: counts, tiles, duplicates, overlaps; steps 15 to 19.
//!
//! A file in canonical order is checked in one pass without storage: row *i* is compared with the *i*-th tile that must
//! exist. For any other order, row numbers are sorted in storage of the caller, one number for each entry. A grid is
//! iterated only after its size was compared with the number of entries.

use zvf_grid::Dims;

use crate::error::{Class, Expected, FieldOwner, Profile, TetError, Warnings};
use crate::footer::FooterRefs;
use crate::layout::{FLAG_FOOTER, IndexEntry};
use crate::record::DatasetGeometry;
use crate::view::Tet;
use zvf_grid::int::wide;

/// The result of the checks of a file.
#[derive(Debug, Clone, Copy)]
pub struct Proof {
    /// Entries are in the order of datasets and tiles, so the row of a tile can be computed.
    pub canonical: bool,
    /// Payloads follow each other without gaps from the end of the index on, in the order of the entries.
    pub packed: bool,
    /// The byte at or before which all payloads end: the end of the file, or where the footer and its spills begin.
    pub payload_end: u64,
    /// The warnings.
    pub warnings: Warnings,
}

impl<'a> Tet<'a> {
    /// Makes all checks of a whole file in memory, steps 1 to 19. `scratch` needs one number for each entry if the file
    /// is not in canonical order, or its payloads are not in the order of the entries; it may be empty otherwise.
    ///
    /// # Errors
    /// Every class of these steps; [`Class::ScratchTooSmall`].
    ///
    /// # Panics
    /// Never.
    ///
    /// # Examples
    ///
    /// ```
    /// use zvf_tet::{Profile, Tet};
    ///
    /// let mut file = *b"TETR\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /// let (tet, proof) = Tet::open_in(&file, Profile::Strict, &mut [])?;
    /// assert_eq!((tet.records().count(), proof.payload_end), (0, 32));
    ///
    /// file[4] = 2;
    /// let error = Tet::open_in(&file, Profile::Strict, &mut []).unwrap_err();
    /// assert_eq!(error.class().name(), "unsupported_layout_version");
    /// # Ok::<(), zvf_tet::TetError>(())
    /// ```
    pub fn open_in(
        bytes: &'a [u8],
        profile: Profile,
        scratch: &mut [u64],
    ) -> Result<(Self, Proof), TetError> {
        let tet = Self::parse(bytes, wide(bytes.len()), profile)?;
        let footer = if tet.has_footer() {
            Some(FooterRefs::of_file(bytes, tet.index_stop())?)
        } else {
            None
        };
        let proof = tet.prove(profile, footer.as_ref(), scratch)?;
        Ok((tet, proof))
    }

    /// [`Self::open_in`] with storage from the heap, if it is needed: eight bytes for each entry.
    ///
    /// # Errors
    /// As [`Self::open_in`], without [`Class::ScratchTooSmall`].
    #[cfg(feature = "alloc")]
    pub fn open(bytes: &'a [u8], profile: Profile) -> Result<(Self, Proof), TetError> {
        match Self::open_in(bytes, profile, &mut []) {
            Err(error) if error.class() == Class::ScratchTooSmall => {
                let need = Self::parse(bytes, wide(bytes.len()), profile)?
                    .entries()
                    .len();
                Self::open_in(bytes, profile, &mut alloc::vec![0; need])
            }
            answer => answer,
        }
    }

    /// Steps 13 and 15 to 19, after the footer was scanned.
    ///
    /// # Cost
    /// O(1) for each entry of a canonical file with ascending payloads; else a sort of row numbers.
    ///
    /// # Errors
    /// The classes of these steps; [`Class::ScratchTooSmall`].
    pub fn prove(
        &self,
        profile: Profile,
        footer: Option<&FooterRefs>,
        scratch: &mut [u64],
    ) -> Result<Proof, TetError> {
        let payload_end = footer.map_or(self.file_len(), |footer| footer.payload_end);
        self.check_payloads(payload_end)?;
        let mut warnings = Warnings::default();
        self.warn(&mut warnings);
        let total = self.check_records(&mut warnings)?;
        let canonical = self.check_counts(total)?;
        if canonical {
            self.check_tiles_in_order(&mut warnings)?;
        } else {
            warnings.add(Class::NotCanonical, "chunk index", self.entry_at(0));
            self.check_tiles_sorted(self.storage(scratch)?, &mut warnings)?;
        }
        let packed = self.check_spans(profile, scratch, payload_end, &mut warnings)?;
        if let Some(footer) = footer {
            footer.check(profile)?;
        }
        Ok(Proof {
            canonical,
            packed,
            payload_end,
            warnings,
        })
    }

    /// The part of the caller's storage that is needed, or an error with the needed size.
    fn storage<'s>(&self, scratch: &'s mut [u64]) -> Result<&'s mut [u64], TetError> {
        let (have, need) = (scratch.len(), self.entries().len());
        scratch.get_mut(..need).ok_or_else(|| {
            TetError::new(
                Class::ScratchTooSmall,
                "storage for row numbers",
                0,
                wide(have),
                Expected::AtLeast(wide(need)),
            )
        })
    }

    /// Adds warnings about flags and reserved fields of superblock and index header, and about bytes after an empty file.
    fn warn(&self, warnings: &mut Warnings) {
        if self.superblock().flags.get() & !FLAG_FOOTER != 0 {
            warnings.add(Class::UnknownFlag, "flags", 12);
        }
        let Some(header) = self.index_header() else {
            if self.file_len() > 32 && !self.has_footer() {
                warnings.add(Class::TrailingBytes, "bytes of an empty file", 32);
            }
            return;
        };
        let at = self.superblock().chunk_index_offset.get();
        if header.reserved.get() != 0 {
            warnings.add(Class::ReservedNonzero, "index header reserved", at + 18);
        }
        if header.reserved_tail.get() != 0 {
            warnings.add(Class::ReservedNonzero, "index header reserved", at + 24);
        }
    }

    /// Step 15; returns the expected number of entries.
    fn check_records(&self, warnings: &mut Warnings) -> Result<u64, TetError> {
        let mut total = 0_u64;
        for record in self.records() {
            record.warn(warnings);
            let geometry = record.check()?;
            total = total.saturating_add(geometry.tiles);
        }
        Ok(total)
    }

    /// Step 16, ids and the number of all entries; returns whether all are in canonical order.
    fn check_counts(&self, total: u64) -> Result<bool, TetError> {
        let datasets = u64::from(self.superblock().dataset_count.get());
        for (row, entry) in (0..).zip(self.entries()) {
            let id = entry.dataset_id.get();
            if id >= datasets {
                return Err(TetError::new(
                    Class::BadDatasetId,
                    "dataset_id",
                    self.entry_at(row),
                    id,
                    Expected::AtMost(datasets.saturating_sub(1)),
                )
                .of(FieldOwner::Entry(row)));
            }
        }
        let found = wide(self.entries().len());
        if found != total {
            let at = self.superblock().chunk_index_offset.get().saturating_add(8);
            return Err(TetError::new(
                Class::ChunkCountMismatch,
                "entry_count",
                at,
                found,
                Expected::Exactly(total),
            ));
        }
        // From here on, iterating all grids takes as many steps as there are entries.
        let mut entries = self.entries().iter();
        for record in self.records() {
            let geometry = record.check()?;
            let mut coord = Odometer::new(&geometry.grid);
            for _ in 0..geometry.tiles {
                let fits = entries.next().is_some_and(|entry| {
                    entry.dataset_id.get() == record.number() && entry.is_at(coord.coord())
                });
                if !fits {
                    return Ok(false);
                }
                coord.step();
            }
        }
        Ok(true)
    }

    /// Step 17 for a canonical file: only lengths, because the order proves the rest.
    fn check_tiles_in_order(&self, warnings: &mut Warnings) -> Result<(), TetError> {
        let mut rows = (0..).zip(self.entries());
        for record in self.records() {
            let geometry = record.check()?;
            for (row, entry) in rows
                .by_ref()
                .take(usize::try_from(geometry.tiles).unwrap_or(0))
            {
                self.check_tile(row, entry, &geometry, warnings)?;
            }
        }
        Ok(())
    }

    /// Steps 16, 17 and duplicates for any order.
    fn check_tiles_sorted(
        &self,
        rows: &mut [u64],
        warnings: &mut Warnings,
    ) -> Result<(), TetError> {
        let entries = self.entries();
        let of = |row: u64| usize::try_from(row).ok().and_then(|row| entries.get(row));
        let id = |row: u64| of(row).map_or(u64::MAX, |entry| entry.dataset_id.get());
        self.sort_rows(rows)?;
        let mut start = 0;
        for record in self.records() {
            let found = rows
                .get(start..)
                .unwrap_or(&[])
                .partition_point(|row| id(*row) <= record.number());
            let geometry = record.check()?;
            if wide(found) != geometry.tiles {
                return Err(TetError::new(
                    Class::ChunkCountMismatch,
                    "entries of the dataset",
                    record.at(),
                    wide(found),
                    Expected::Exactly(geometry.tiles),
                )
                .of(FieldOwner::Dataset(record.number())));
            }
            start += found;
        }
        let mut rest = &rows[..];
        for record in self.records() {
            let geometry = record.check()?;
            let (run, left) = rest
                .split_at_checked(usize::try_from(geometry.tiles).unwrap_or(0))
                .unwrap_or((rest, &[]));
            rest = left;
            let mut before: Option<&IndexEntry> = None;
            let mut twice = None;
            for row in run {
                let Some(entry) = of(*row) else { continue };
                self.check_tile(*row, entry, &geometry, warnings)?;
                let coord = coordinates(entry);
                let coord = coord.get(..geometry.grid.len()).unwrap_or(&[]);
                if twice.is_none() && before.is_some_and(|before| before.is_at(coord)) {
                    twice = Some(*row);
                }
                before = Some(entry);
            }
            if let Some(row) = twice {
                return Err(TetError::new(
                    Class::DuplicateChunk,
                    "chunk_index",
                    self.entry_at(row) + 8,
                    row,
                    Expected::Text(
                        "one entry for each tile: this row is the second entry of its tile",
                    ),
                )
                .of(FieldOwner::Entry(row)));
            }
        }
        Ok(())
    }

    /// Fills `rows` with all row numbers, sorted by dataset and coordinate. Position *i* then holds the row of the entry
    /// that would be row *i* in a canonical file. `rows` has one number for each entry.
    ///
    /// # Errors
    /// [`Class::ScratchTooSmall`].
    pub fn sort_rows(&self, rows: &mut [u64]) -> Result<(), TetError> {
        let entries = self.entries();
        let of = |row: u64| usize::try_from(row).ok().and_then(|row| entries.get(row));
        let rows = self.storage(rows)?;
        for (row, slot) in (0..).zip(rows.iter_mut()) {
            *slot = row;
        }
        rows.sort_unstable_by_key(|row| {
            (
                of(*row).map_or(u64::MAX, |entry| entry.dataset_id.get()),
                *row,
            )
        });
        let mut rest = &mut rows[..];
        for record in self.records() {
            let rank = record.rank();
            let run = rest.partition_point(|row| {
                of(*row).is_some_and(|entry| entry.dataset_id.get() <= record.number())
            });
            let Some((run, left)) = rest.split_at_mut_checked(run) else {
                break;
            };
            run.sort_unstable_by(|a, b| {
                let key = |row: u64| of(row).map(coordinates).unwrap_or_default();
                let (a_key, b_key) = (key(*a), key(*b));
                let (a_key, b_key) = (a_key.get(..rank), b_key.get(..rank));
                a_key.cmp(&b_key).then(a.cmp(b))
            });
            rest = left;
        }
        Ok(())
    }

    /// Step 17 for one entry.
    fn check_tile(
        &self,
        row: u64,
        entry: &IndexEntry,
        geometry: &DatasetGeometry,
        warnings: &mut Warnings,
    ) -> Result<(), TetError> {
        let at = self.entry_at(row);
        let coord = coordinates(entry);
        let (coord, unused) = coord
            .split_at_checked(geometry.grid.len())
            .unwrap_or((&coord, &[]));
        for (axis, (c, tiles)) in coord.iter().zip(geometry.grid.iter()).enumerate() {
            if c >= tiles {
                return Err(TetError::new(
                    Class::ChunkOutOfGrid,
                    "chunk_index",
                    at + 8 + 8 * wide(axis),
                    *c,
                    Expected::AtMost(tiles - 1),
                )
                .of(FieldOwner::Entry(row)));
            }
        }
        let raw = entry.raw_byte_len.get();
        let tile = geometry.tile_bytes(coord);
        if tile != Some(raw) {
            return Err(TetError::new(
                Class::TileLengthMismatch,
                "raw_byte_len",
                at + 80,
                raw,
                Expected::Exactly(tile.unwrap_or(u64::MAX)),
            )
            .of(FieldOwner::Entry(row)));
        }
        if unused.iter().any(|slot| *slot != 0) {
            let at = at + 8 + 8 * wide(coord.len());
            warnings.add(Class::ReservedNonzero, "unused slots of chunk_index", at);
        }
        if entry.reserved.get() != 0 {
            warnings.add(Class::ReservedNonzero, "entry reserved", at + 100);
        }
        Ok(())
    }

    /// Steps 18 (equal offsets) and 19 (payloads that overlap the index or each other); returns whether all payloads are
    /// packed.
    fn check_spans(
        &self,
        profile: Profile,
        scratch: &mut [u64],
        payload_end: u64,
        warnings: &mut Warnings,
    ) -> Result<bool, TetError> {
        let front = self.index_stop();
        let (mut next, mut packed, mut ascending) = (front, true, true);
        let mut early = None;
        for (row, entry) in (0..).zip(self.entries()) {
            let (offset, stored) = (entry.payload_offset.get(), entry.stored_byte_len.get());
            if offset < front && early.is_none() {
                early = Some((row, offset));
            }
            if offset != next {
                packed = false;
                warnings.add(Class::PayloadGap, "payload_offset", self.entry_at(row) + 72);
            }
            if stored == 0 {
                continue;
            }
            ascending &= offset >= next;
            next = offset.saturating_add(stored);
        }
        let overlap = if ascending {
            None
        } else {
            self.overlap(self.storage(scratch)?)
        };
        let fault = |row, class, found, expected| {
            TetError::new(
                class,
                "payload_offset",
                self.entry_at(row) + 72,
                found,
                expected,
            )
            .of(FieldOwner::Entry(row))
        };
        let shared = |overlap: Overlap| {
            fault(
                overlap.row,
                Class::PayloadOverlap,
                overlap.offset,
                Expected::AtLeast(overlap.free),
            )
        };
        if let Some(overlap) = overlap
            && overlap.same
        {
            return Err(shared(overlap));
        }
        if profile == Profile::Strict {
            if let Some((row, offset)) = early {
                return Err(fault(
                    row,
                    Class::PayloadOverlapsMetadata,
                    offset,
                    Expected::AtLeast(front),
                ));
            }
            if let Some(overlap) = overlap {
                return Err(shared(overlap));
            }
        }
        if ascending && next < payload_end && !self.entries().is_empty() {
            warnings.add(Class::TrailingBytes, "bytes after the payloads", next);
        }
        Ok(packed)
    }

    /// Finds two payloads that share bytes; two with the same offset take precedence.
    fn overlap(&self, rows: &mut [u64]) -> Option<Overlap> {
        let entries = self.entries();
        let span = |row: u64| {
            let entry = entries.get(usize::try_from(row).ok()?)?;
            Some((entry.payload_offset.get(), entry.stored_byte_len.get()))
        };
        for (row, slot) in (0..).zip(rows.iter_mut()) {
            *slot = row;
        }
        rows.sort_unstable_by_key(|row| (span(*row), *row));
        let (mut free, mut last, mut first) = (0, None, None);
        for row in rows {
            let Some((offset, stored)) = span(*row) else {
                continue;
            };
            if stored == 0 {
                continue;
            }
            let same = last == Some(offset);
            if same || (offset < free && first.is_none()) {
                let found = Overlap {
                    row: *row,
                    offset,
                    free,
                    same,
                };
                if same {
                    return Some(found);
                }
                first = Some(found);
            }
            last = Some(offset);
            free = free.max(offset.saturating_add(stored));
        }
        first
    }
}

/// The payload of entry `row` begins at `offset`, before `free`, where the previous payload ends.
#[derive(Debug, Clone, Copy)]
struct Overlap {
    row: u64,
    offset: u64,
    free: u64,
    /// Both begin at the same byte.
    same: bool,
}

/// All eight slots.
fn coordinates(entry: &IndexEntry) -> [u64; crate::layout::MAX_RANK] {
    entry.chunk_index.map(zerocopy::little_endian::U64::get)
}

/// Iterates over the coordinates of a grid in C order.
struct Odometer<'g> {
    grid: &'g Dims,
    coord: Dims,
}

impl<'g> Odometer<'g> {
    fn new(grid: &'g Dims) -> Self {
        let mut coord = *grid;
        coord.as_mut().fill(0);
        Self { grid, coord }
    }

    fn coord(&self) -> &[u64] {
        &self.coord
    }

    fn step(&mut self) {
        for (c, tiles) in self.coord.as_mut().iter_mut().zip(self.grid.iter()).rev() {
            *c += 1;
            if *c < *tiles {
                return;
            }
            *c = 0;
        }
    }
}
