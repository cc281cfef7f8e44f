//! Wire structs of a manifest: `spec/zvf-0.9.md` section 11.3.

use zerocopy::byteorder::little_endian::{I64, U32};

/// Largest possible fragment number: a fragment index holds at most 2^32 - 1 fragments.
pub(super) const LAST_FRAGMENT: i64 = 0xFFFF_FFFE;

crate::layout! {
    /// Head of a manifest.
    pub struct ManifestHead: 4 {
        /// number of blocks, in the object's order
        pub blocks as "B": U32,
    }

    /// After the chunk coordinate of a block: how it names fragments.
    pub struct BlockMode: 1 {
        /// 0: one fragment, 1: a run, 2: a list
        pub mode: u8,
    }

    /// Mode 0: one fragment.
    pub struct OneFragment: 8 {
        /// number of the fragment in its chunk
        pub fragment: I64,
    }

    /// Mode 1: fragments `start .. start + count`.
    pub struct FragmentRun: 16 {
        /// first fragment
        pub start: I64,
        /// number of fragments, 0 or more
        pub count: I64,
    }

    /// Mode 2: the head of a list of fragments.
    pub struct FragmentList: 4 {
        /// number of fragments that follow
        pub count as "n": U32,
    }
}
