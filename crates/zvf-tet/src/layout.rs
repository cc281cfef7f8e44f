//! The fixed structures of the container, declared: superblock, record head, index header, index entry, footer tail.
//!
//! ```text
//! 0        Superblock    32 bytes
//! 32       u64           length of the records        } only where there are datasets
//! 40       records       RecordHead, name, padding to 8, shape, chunk shape
//! then     IndexHeader   32 bytes
//! then     Entry         104 bytes for each tile
//! then     payloads
//! end−16   Tail          16 bytes, where bit 0 of the flags is set
//! ```
//!
//! All numbers are little-endian and unaligned, so that a view on any bytes is sound on any machine.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First four bytes of a file.
pub const MAGIC: [u8; 4] = *b"TETR";
/// First four bytes of the chunk index.
pub const INDEX_MAGIC: [u8; 4] = *b"TIDX";
/// Last four bytes of a file with a footer.
pub const TAIL_MAGIC: [u8; 4] = *b"THST";
/// The one layout there is.
pub const LAYOUT_VERSION: u32 = 1;
/// The one version of the chunk index.
pub const INDEX_VERSION: u32 = 1;
/// Bit 0 of the flags: the file ends with a footer.
pub const FLAG_FOOTER: u32 = 1;
/// Most axes of a dataset.
pub const MAX_RANK: usize = 8;
/// Where the length of the records lies.
pub const DIRECTORY_AT: u64 = 32;
/// Where the records begin.
pub const RECORDS_AT: u64 = 40;
/// Bytes of the smallest record: no name, one axis.
pub const RECORD_MIN: u64 = 32;

/// Head of the file: 32 bytes at byte 0.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Superblock {
    /// Always `TETR`.
    pub magic: [u8; 4],
    /// 1. Any other value is refused.
    pub layout_version: U32,
    /// Records of the directory; 0 for an empty file.
    pub dataset_count: U32,
    /// Bit 0: a footer ends the file. Other bits are 0; readers ignore and report them.
    pub flags: U32,
    /// Where the index header lies; 32 in an empty file.
    pub chunk_index_offset: U64,
    /// Bytes of index header and entries; 0 in an empty file.
    pub chunk_index_length: U64,
}
const _: () = assert!(size_of::<Superblock>() == 32 && align_of::<Superblock>() == 1);

/// Head of one dataset record: 16 bytes, then the name.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct RecordHead {
    /// Bytes of the name.
    pub name_len: U32,
    /// Tag of the element type, 1 to 10.
    pub dtype: U32,
    /// Axes, 1 to 8.
    pub ndim: U32,
    /// 0; readers ignore and report other values.
    pub reserved: U32,
}
const _: () = assert!(size_of::<RecordHead>() == 16 && align_of::<RecordHead>() == 1);

/// Head of the chunk index: 32 bytes at `chunk_index_offset`.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IndexHeader {
    /// Always `TIDX`.
    pub magic: [u8; 4],
    /// 1. Any other value is refused.
    pub index_version: U32,
    /// Entries that follow.
    pub entry_count: U64,
    /// The author's wish for memory, in 1/100 percent of what is free; 0 for none.
    pub memory_budget_percent_bps: U16,
    /// 0; readers ignore and report other values.
    pub reserved: U16,
    /// The author's wish for memory in bytes; 0 for none.
    pub memory_budget_bytes: U32,
    /// 0; readers ignore and report other values.
    pub reserved_tail: U64,
}
const _: () = assert!(size_of::<IndexHeader>() == 32 && align_of::<IndexHeader>() == 1);

/// One tile in the chunk index: 104 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Entry {
    /// Number of the record, from 0.
    pub dataset_id: U64,
    /// Place in the grid of tiles, axis 0 first; slots behind the rank are 0 (ignored and reported).
    pub chunk_index: [U64; MAX_RANK],
    /// Where the payload lies in the file.
    pub payload_offset: U64,
    /// Bytes of the decoded tile: elements of the clipped tile times bytes of an element.
    pub raw_byte_len: U64,
    /// Bytes of the payload.
    pub stored_byte_len: U64,
    /// 0 raw, 1 zstd. Anything else is refused.
    pub codec: U32,
    /// 0; readers ignore and report other values.
    pub reserved: U32,
}
const _: () = assert!(size_of::<Entry>() == 104 && align_of::<Entry>() == 1);

/// End of a file with a footer: the last 16 bytes.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Tail {
    /// Bytes of the JSON that ends where the tail begins.
    pub history_json_len: U64,
    /// 1 or 2. Any other value is refused.
    pub history_version: U32,
    /// Always `THST`.
    pub magic: [u8; 4],
}
const _: () = assert!(size_of::<Tail>() == 16 && align_of::<Tail>() == 1);

impl Entry {
    /// End of the payload in the file. None where 64 bits do not hold it.
    #[must_use]
    pub fn payload_stop(&self) -> Option<u64> {
        self.payload_offset
            .get()
            .checked_add(self.stored_byte_len.get())
    }

    /// Whether the tile's place in the grid is `coord`; only the slots of the rank count.
    #[must_use]
    pub fn is_at(&self, coord: &[u64]) -> bool {
        coord.len() <= MAX_RANK
            && self
                .chunk_index
                .iter()
                .zip(coord)
                .all(|(slot, want)| slot.get() == *want)
    }

    /// How the payload is stored. None for a codec this crate does not know.
    #[must_use]
    pub fn codec(&self) -> Option<Codec> {
        Codec::from_tag(self.codec.get())
    }
}

/// How a tile is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// The elements as they are.
    Raw,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// The codec of a tag.
    #[must_use]
    pub const fn from_tag(tag: u32) -> Option<Self> {
        match tag {
            0 => Some(Self::Raw),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The tag in the file.
    #[must_use]
    pub const fn tag(self) -> u32 {
        match self {
            Self::Raw => 0,
            Self::Zstd => 1,
        }
    }

    /// `raw` or `zstd`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
        }
    }
}
