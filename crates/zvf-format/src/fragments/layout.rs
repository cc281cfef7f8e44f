//! Wire structs of the fragment index: `spec/zvf-0.9.md` section 9.1.

use zerocopy::byteorder::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first four bytes, as a little-endian number: `47 46 56 5A` in a dump.
pub const MAGIC: u32 = 0x5A56_4647;

/// The only version of the layout there is.
pub const VERSION: u16 = 1;

/// Head of one fragment index: 16 bytes, little-endian, at byte 0.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FragmentHead {
    /// Always [`MAGIC`]; anything else is refused as malformed.
    pub magic: U32,
    /// Always [`VERSION`]; any other value is refused as unsupported.
    pub version: U16,
    /// Reserved, zero; any other value is refused as unsupported.
    pub flags: U16,
    /// F, the number of fragments.
    pub fragments: U32,
    /// R, how many of them are ranges; more than `fragments` is refused.
    pub ranges: U32,
}
const _: () = assert!(size_of::<FragmentHead>() == 16 && align_of::<FragmentHead>() == 1);

/// One row of the range table: 16 bytes. Row r belongs to the r-th set bit of the bitmap.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RangeEntry {
    /// First row of the fragment in the chunk's row buffer; never negative.
    pub start: I64,
    /// Number of rows; never negative, may be 0.
    pub count: I64,
}
const _: () = assert!(size_of::<RangeEntry>() == 16 && align_of::<RangeEntry>() == 1);
