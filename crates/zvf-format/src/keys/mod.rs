//! Names that contain numbers: chunk keys, cell keys, deltas, offset segments, level names.
//!
//! `spec/zvf-0.9.md` sections 1, 3 and 13.1, `spec/zvf-0.8.md` section 9.1.
//!
//! ```text
//! key      := number ("." number){K-1}            -1.0.12       vertices, presence lists
//! cell key := number ("." number){L K - 1}        0.0.0.1.0.0   cross-chunk cells of 0.8
//! number   := "0" | "-"? [1-9][0-9]*
//!
//! delta    := signed                              +1            links/<delta>
//! offsets  := "self" | offset ("_" offset){L-2}   +1.0.0_0.0.-1 links/<delta>/<offsets>
//! offset   := signed ("." signed){K-1}
//! signed   := "0" | "+" n | "-" n                 the sign is required
//!
//! level    := "0" | [1-9][0-9]*                   10            <store>/<level>
//! ```
//!
//! Parsers fill slices of the caller and `Display` values write texts, without a heap. Keys
//! have exactly one spelling. For signed numbers, a redundant zero (`+01`) is read, as in the
//! reference, but never written.
//!
//! Presence lists and link numbering are sorted by the *text*, which differs from the order of the
//! numbers: [`cmp_ascii`].

mod format;
mod number;
mod parse;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;

pub use format::{
    DeltaText, KeyText, OffsetsText, cmp_ascii, format_delta, format_key, format_offsets,
};
pub use parse::{parse_cell_key, parse_delta, parse_key, parse_level, parse_offsets};

/// The largest rank K of a chunk coordinate that decoders accept. The format defines no limit; real
/// stores have at most 5.
pub const MAX_RANK: usize = 16;
