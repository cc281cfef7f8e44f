//! Names that carry numbers: chunk keys, cell keys, deltas, offset segments, level names.
//!
//! `spec/zvf-0.9.md` sections 1, 3 and 13.1, `spec/zvf-0.8.md` section 9.1.

mod format;
mod number;
mod parse;
#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use format::{
    DeltaText, KeyText, OffsetsText, cmp_ascii, format_delta, format_key, format_offsets,
};
pub use parse::{parse_cell_key, parse_delta, parse_key, parse_level, parse_offsets};

/// The largest rank K of a chunk coordinate that decoders accept. The format names no limit; real
/// stores have at most 5.
pub const MAX_RANK: usize = 16;
