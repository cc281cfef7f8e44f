//! Declarations of the fixed structures of the container: superblock, record head, index header, index entry, footer
//! tail.
//!
//! ```text
//! 0        Superblock    32 bytes
//! 32       u64           length of the records        } only where there are datasets
//! 40       records       RecordHead, name, padding to 8, shape, chunk shape
//! then     IndexHeader   32 bytes
//! then     IndexEntry    104 bytes for each tile
//! then     payloads
//! end−16   FooterTail    16 bytes, where bit 0 of the flags is set
//! ```
//!
//! All numbers are little-endian and unaligned, so a view of any bytes is sound on any machine.

use zerocopy::little_endian::{U16, U32, U64};

/// First four bytes of a file.
pub const MAGIC: [u8; 4] = *b"TETR";
/// First four bytes of the chunk index.
pub const INDEX_MAGIC: [u8; 4] = *b"TIDX";
/// Last four bytes of a file with a footer.
pub const TAIL_MAGIC: [u8; 4] = *b"THST";
/// The only layout version.
pub const LAYOUT_VERSION: u32 = 1;
/// The only version of the chunk index.
pub const INDEX_VERSION: u32 = 1;
/// Bit 0 of the flags: the file ends with a footer.
pub const FLAG_FOOTER: u32 = 1;
/// Most axes of a dataset.
pub const MAX_RANK: usize = 8;
/// Offset of the length of the records.
pub const DIRECTORY_AT: u64 = 32;
/// Offset of the first record.
pub const RECORDS_AT: u64 = 40;
/// Bytes of the smallest record: no name, one axis.
pub const RECORD_MIN: u64 = 32;

zvf_format::layout! {
    /// Head of the file: 32 bytes at byte 0.
    pub struct Superblock: 32 {
        /// always TETR
        pub magic: [u8; 4],
        /// 1; any other value is refused
        pub layout_version: U32,
        /// records in the directory; 0 in an empty file
        pub dataset_count: U32,
        /// bit 0: the file ends with a footer; the other bits are 0, or ignored and reported
        pub flags: U32,
        /// offset of the index header in the file; 32 in an empty file
        pub chunk_index_offset: U64,
        /// bytes of index header and entries; 0 in an empty file
        pub chunk_index_length: U64,
    }

    /// Head of the directory: 8 bytes at [`DIRECTORY_AT`], only where there are datasets.
    pub struct DirectoryHead: 8 {
        /// bytes of all records
        pub dataset_blob_len: U64,
    }

    /// Head of one dataset record: 16 bytes, then the name, then shape and chunk shape of `ndim` numbers each.
    pub struct RecordHead: 16 {
        /// bytes of the name, without its padding to a multiple of 8
        pub name_len: U32,
        /// tag of the element type, 1 to 10
        pub dtype: U32,
        /// axes, 1 to 8
        pub ndim: U32,
        /// 0; other values are ignored and reported
        pub reserved: U32,
    }

    /// Head of the chunk index: 32 bytes at `chunk_index_offset`.
    pub struct IndexHeader: 32 {
        /// always TIDX
        pub magic: [u8; 4],
        /// 1; any other value is refused
        pub index_version: U32,
        /// tiles of all datasets
        pub entry_count: U64,
        /// recommended memory budget, in 1/100 percent of the free memory; 0: not set
        pub memory_budget_percent_bps: U16,
        /// 0; other values are ignored and reported
        pub reserved: U16,
        /// recommended memory budget in bytes; 0: not set
        pub memory_budget_bytes: U32,
        /// 0; other values are ignored and reported
        pub reserved_tail as "reserved": U64,
    }

    /// One tile in the chunk index: 104 bytes.
    pub struct IndexEntry: 104 {
        /// number of the dataset's record, from 0
        pub dataset_id: U64,
        /// place of the tile in the grid, axis 0 first; 0 for axes that the dataset does not have (other values are ignored and reported)
        pub chunk_index: [U64; MAX_RANK],
        /// offset of the tile in the file
        pub payload_offset: U64,
        /// uncompressed bytes: elements of the tile, clipped at the edge of the dataset, times the bytes of an element
        pub raw_byte_len: U64,
        /// bytes of the tile in the file
        pub stored_byte_len: U64,
        /// 0: not compressed, 1: zstd; anything else is refused
        pub codec: U32,
        /// 0; other values are ignored and reported
        pub reserved: U32,
    }

    /// End of a file with a footer: the last 16 bytes.
    pub struct FooterTail: 16 {
        /// bytes of the JSON text before the footer
        pub history_json_len: U64,
        /// 1 or 2; any other value is refused
        pub history_version: U32,
        /// always THST
        pub magic: [u8; 4],
    }
}

impl RecordHead {
    /// Bytes of the name and of the padding after it; at most 2^32 + 7.
    #[must_use]
    pub fn padded_name(&self) -> u64 {
        u64::from(self.name_len.get()).next_multiple_of(8)
    }
}

impl IndexEntry {
    /// End of the payload in the file. `None` if the end exceeds 64 bits.
    #[must_use]
    pub fn payload_stop(&self) -> Option<u64> {
        self.payload_offset
            .get()
            .checked_add(self.stored_byte_len.get())
    }

    /// Whether the tile's coordinate in the grid is `coord`; only the slots of the rank count.
    #[must_use]
    pub fn is_at(&self, coord: &[u64]) -> bool {
        coord.len() <= MAX_RANK
            && self
                .chunk_index
                .iter()
                .zip(coord)
                .all(|(slot, want)| slot.get() == *want)
    }

    /// How the payload is stored. `None` for a codec that this crate does not know.
    #[must_use]
    pub fn codec(&self) -> Option<TileCodec> {
        TileCodec::from_tag(self.codec.get())
    }
}

/// How a tile is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileCodec {
    /// The elements as they are.
    Raw,
    /// Zstandard frames.
    Zstd,
}

impl TileCodec {
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
