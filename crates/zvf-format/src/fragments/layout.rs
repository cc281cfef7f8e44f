//! Wire structs of the fragment index: `spec/zvf-0.9.md` section 9.1.

use zerocopy::byteorder::little_endian::{I64, U16, U32};

/// The first four bytes, as a little-endian number; stored as `47 46 56 5A`.
pub const MAGIC: u32 = 0x5A56_4647;

/// The first four bytes.
pub const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();

/// The only version of the layout.
pub const VERSION: u16 = 1;

crate::layout! {
    /// Head of one fragment index: 16 bytes, little-endian, at byte 0.
    ///
    /// Another magic, or R above F, is malformed; another version, or any flag, is unsupported.
    pub struct FragmentHead: 16 {
        /// 'ZVFG', least significant byte first
        pub magic: U32,
        /// version of the layout of this blob, not of the store
        pub version: U16,
        /// reserved, must be 0
        pub flags: U16,
        /// number of fragments in this chunk
        pub fragments as "F": U32,
        /// number of fragments that are row ranges
        pub ranges as "R": U32,
    }

    /// One row of the range table: 16 bytes. Row r belongs to the r-th set bit of the bitmap.
    pub struct RangeEntry: 16 {
        /// first row of the fragment in the chunk's row buffer, 0 or more
        pub start: I64,
        /// number of rows, 0 or more
        pub count: I64,
    }
}

impl FragmentHead {
    /// Bytes of the bitmap that hold bits, and bytes of the padding after them.
    #[must_use]
    pub fn bitmap_bytes(&self) -> (u64, u64) {
        let used = u64::from(self.fragments.get()).div_ceil(8);
        (used, used.next_multiple_of(8) - used)
    }

    /// E, the fragments that are row lists.
    #[must_use]
    pub fn lists(&self) -> u32 {
        self.fragments.get().saturating_sub(self.ranges.get())
    }
}

/// Whether fragment `f` is a range, according to the bytes of a bitmap: bit f % 8 of byte f / 8.
#[must_use]
pub fn is_range(bitmap: &[u8], f: u32) -> bool {
    let byte = bitmap.get(crate::int::index(f / 8));
    byte.is_some_and(|byte| byte >> (f % 8) & 1 == 1)
}
