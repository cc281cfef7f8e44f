//! Errors of a file and their positions: [`TetError`], its [`Class`], and [`Warnings`].

use core::fmt;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a fault, with the names of `spec/tet-v1.md` 10.1.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$doc])* $name,)*
        }

        impl Class {
            /// Every class.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in the specification, such as `bad_magic`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

classes! {
    /// The file or a region is too short for its content.
    Truncated = "truncated",
    /// The file does not begin with `TETR`.
    BadMagic = "bad_magic",
    /// A layout version that this crate does not support.
    UnsupportedLayoutVersion = "unsupported_layout_version",
    /// The chunk index is not inside the file.
    IndexOutOfBounds = "index_out_of_bounds",
    /// An empty file with index fields other than (32, 0); strict profile.
    EmptyFileFields = "empty_file_fields",
    /// More datasets than the bytes can hold records.
    DatasetCountTooLarge = "dataset_count_too_large",
    /// A rank outside 1 to 8.
    BadRank = "bad_rank",
    /// A name that is not UTF-8.
    BadNameUtf8 = "bad_name_utf8",
    /// Records that do not end where the directory ends.
    DirectoryLengthMismatch = "directory_length_mismatch",
    /// An index that does not begin at the end of the directory.
    IndexOffsetMismatch = "index_offset_mismatch",
    /// The index does not begin with `TIDX`.
    BadIndexMagic = "bad_index_magic",
    /// A version of the index that this crate does not support.
    UnsupportedIndexVersion = "unsupported_index_version",
    /// An index whose length does not match its number of entries.
    IndexLengthMismatch = "index_length_mismatch",
    /// The flags announce a footer, but the file does not end with one.
    FooterMissing = "footer_missing",
    /// A version of the footer that this crate does not support.
    UnsupportedHistoryVersion = "unsupported_history_version",
    /// A footer that is not between the index and the tail.
    FooterOutOfBounds = "footer_out_of_bounds",
    /// A footer, or metadata, that is not the expected JSON.
    FooterJson = "footer_json",
    /// Metadata both inside the footer and in a spill that `metadata_ref` points to.
    FooterRefConflict = "footer_ref_conflict",
    /// A spill that is not before the footer.
    SpillOutOfBounds = "spill_out_of_bounds",
    /// A codec other than raw and zstd.
    UnknownCodec = "unknown_codec",
    /// A raw tile whose raw and stored lengths differ.
    RawStoredMismatch = "raw_stored_mismatch",
    /// A payload that is not inside the file, or overlaps the footer.
    PayloadOutOfBounds = "payload_out_of_bounds",
    /// An element type that this crate does not support.
    UnknownDtype = "unknown_dtype",
    /// A shape or chunk shape with a 0.
    ZeroExtent = "zero_extent",
    /// A dataset with a size or grid of more than 64 bits.
    SizeOverflow = "size_overflow",
    /// An entry of a dataset that does not exist.
    BadDatasetId = "bad_dataset_id",
    /// More or fewer entries than tiles.
    ChunkCountMismatch = "chunk_count_mismatch",
    /// An entry outside its grid.
    ChunkOutOfGrid = "chunk_out_of_grid",
    /// A raw length that differs from the length of the clipped tile.
    TileLengthMismatch = "tile_length_mismatch",
    /// Two entries for one tile.
    DuplicateChunk = "duplicate_chunk",
    /// Two payloads that share bytes.
    PayloadOverlap = "payload_overlap",
    /// A payload that begins before the end of the index; strict profile.
    PayloadOverlapsMetadata = "payload_overlaps_metadata",
    /// A zone map or index under version 1 of the footer; strict profile.
    SpillInV1 = "spill_in_v1",
    /// Spills that do not follow each other; strict profile.
    SpillNotAdjacent = "spill_not_adjacent",
    /// A payload that does not decompress.
    ZstdDecode = "zstd_decode",
    /// A payload that decompresses to another length.
    DecodedLengthMismatch = "decoded_length_mismatch",
    /// A warning: flag bits that this crate does not know.
    UnknownFlag = "unknown_flag",
    /// A warning: reserved fields, padding or unused slots that are not 0.
    ReservedNonzero = "reserved_nonzero",
    /// A warning: entries that are not in canonical order.
    NotCanonical = "not_canonical",
    /// A warning: bytes between payloads, or payloads in another order than their entries.
    PayloadGap = "payload_gap",
    /// A warning: unused bytes after the last payload.
    TrailingBytes = "trailing_bytes",
    /// Not a fault of the file: too little storage for the checks of a file whose entries are not in canonical order, or
    /// whose payloads are not in the order of the entries.
    ScratchTooSmall = "scratch_too_small",
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// This number.
    Exactly(u64),
    /// This number or more.
    AtLeast(u64),
    /// This number or less.
    AtMost(u64),
    /// A description.
    Text(&'static str),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Exactly(value) => write!(f, "{value}"),
            Self::AtLeast(value) => write!(f, "at least {value}"),
            Self::AtMost(value) => write!(f, "at most {value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The structure of a file that a field belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldOwner {
    /// The file.
    File,
    /// The record with this number.
    Dataset(u64),
    /// The index entry with this number.
    Entry(u64),
}

/// A fault of a file: its class, the field and its byte, the value found and the value expected.
///
/// ```
/// use zvf_tet::{Profile, Tet};
///
/// let error = Tet::parse(b"TETS", 32, Profile::Strict).unwrap_err();
/// assert_eq!(error.class().name(), "truncated");
/// assert_eq!(error.to_string(), "truncated: superblock at byte 0: 4 found, expected at least 32");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TetError {
    class: Class,
    what: &'static str,
    place: FieldOwner,
    at: u64,
    found: u64,
    expected: Expected,
}

impl TetError {
    #[cold]
    pub(crate) const fn new(
        class: Class,
        what: &'static str,
        at: u64,
        found: u64,
        expected: Expected,
    ) -> Self {
        Self {
            class,
            what,
            place: FieldOwner::File,
            at,
            found,
            expected,
        }
    }

    #[cold]
    pub(crate) const fn of(self, place: FieldOwner) -> Self {
        Self { place, ..self }
    }

    /// The kind of fault.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The field, in the terms of the specification.
    #[must_use]
    pub const fn what(&self) -> &'static str {
        self.what
    }

    /// The structure that the field belongs to.
    #[must_use]
    pub const fn place(&self) -> FieldOwner {
        self.place
    }

    /// The byte of the file at which the field begins.
    #[must_use]
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// The found value.
    #[must_use]
    pub const fn found(&self) -> u64 {
        self.found
    }

    /// The expected value.
    #[must_use]
    pub const fn expected(&self) -> Expected {
        self.expected
    }
}

impl fmt::Display for TetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.class)?;
        match self.place {
            FieldOwner::File => {}
            FieldOwner::Dataset(number) => write!(f, "dataset {number}: ")?,
            FieldOwner::Entry(number) => write!(f, "entry {number}: ")?,
        }
        write!(
            f,
            "{} at byte {}: {} found, expected {}",
            self.what, self.at, self.found, self.expected
        )
    }
}

impl core::error::Error for TetError {}

/// How strictly a file is checked, `spec/tet-v1.md` 10.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Files that the reference decodes correctly are accepted.
    Lenient,
    /// Also refuses payloads that overlap the index or each other, misplaced spills, and empty files with
    /// unusual index fields.
    #[default]
    Strict,
}

/// One kind of irregularity: how often it occurs, and where first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// The kind of irregularity.
    pub class: Class,
    /// The first such field.
    pub what: &'static str,
    /// The byte of the file at which that field begins.
    pub at: u64,
    /// How often it occurs.
    pub count: u64,
}

/// Warnings about a valid file: at most one [`Warning`] of each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Warnings {
    slots: [Option<Warning>; 5],
}

impl Warnings {
    /// Counts a warning of this class; `what` and `at` are stored for the first one.
    pub(crate) fn add(&mut self, class: Class, what: &'static str, at: u64) {
        for slot in &mut self.slots {
            match slot {
                Some(warning) if warning.class == class => {
                    warning.count = warning.count.saturating_add(1);
                    return;
                }
                Some(_) => {}
                None => {
                    *slot = Some(Warning {
                        class,
                        what,
                        at,
                        count: 1,
                    });
                    return;
                }
            }
        }
    }

    /// The warnings, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = Warning> + '_ {
        self.slots.iter().flatten().copied()
    }

    /// Whether there are no warnings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}
