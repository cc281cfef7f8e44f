//! The fragment index, ZVFG version 1: the rows of each fragment of a chunk.
//!
//! `spec/zvf-0.9.md` section 9, `spec/zvf-0.8.md` and `spec/zvf-0.7.md` section 7: the layout is
//! the same in every version since 0.6. One blob is the cell of one chunk in `vertex_fragments`
//! (over vertex rows) or `link_fragments` (over link rows).
//!
//! ```text
//! byte  0      4    6    8        12       16
//!       ┌──────┬────┬────┬────────┬────────┬─────────────────────────────────┐
//!       │magic │ver.│flag│ F      │ R      │ bitmap: bit f set = f is a range│
//!       │"GFVZ"│ 1  │ 0  │        │        │ ceil(F/8) bytes, padded to 8    │
//!       └──────┴────┴────┴────────┴────────┴─────────────────────────────────┘
//!         the blob ends here when F = 0 ──┘
//!       ┌───────────────────────────────────────────┐
//!       │ R x (i64 start, i64 count)                │ row r: the r-th set bit, not fragment r
//!       ├───────────────────────────────────────────┤
//!       │ (E + 1) x u32 offset     E = F - R        │ counts rows, begins at 0, never falls
//!       ├───────────────────────────────────────────┤
//!       │ T x i64 row              T = last offset  │ may be only 4-byte aligned
//!       └───────────────────────────────────────────┘
//! ```
//!
//! # Levels of checking
//!
//! | call | cost | proves |
//! |---|---|---|
//! | [`FragmentIndex::parse`] | O(1) | every table is inside the blob |
//! | [`FragmentIndex::verify`] | O(F/64 + E) | the tables agree: popcount is R, offsets never fall |
//! | [`FragmentIndex::check_rows`] | and O(R + T) | every row is in the buffer; a reader may gather |
//! | [`FragmentIndex::check`] | the same | every write-time invariant, padding and length too |
//!
//! Padding bits and bytes are ignored on read, and zero on write. An empty list is a fragment, distinct from an empty range.
//!
//! # Cost of access
//!
//! [`FragmentIndex::is_range`] is one bit test. [`FragmentIndex::iter`] visits fragments in order, at constant cost per
//! step, and suits nearly every reader. [`FragmentIndex::get`] counts the bits before f, one word at a time;
//! [`RankDirectory`] stores these counts.
//!
//! Measured with `cargo bench -p zvf-format` on a two-core x86-64 server with other work running;
//! 10 000 fragments, all of them ranges or half of them lists:
//!
//! | step | ranges | half lists |
//! |---|---|---|
//! | `parse` | 4 ns | 4 ns |
//! | `verify` | 0.1 µs | 2 µs |
//! | `check_rows` | 10 µs | 13 µs |
//! | `iter`, every fragment once | 10 µs | 11 µs |
//! | `get` of a random fragment | 75 ns | 55 ns |
//! | [`RankDirectory::get`] of a random fragment | 5 ns | 5 ns |
//! | building the directory | 0.3 µs | 0.3 µs |
//!
//! So `get` costs about 1 ns for every 64 fragments before f. At 10 000 fragments, the directory pays off from the
//! fifth random access on. Below some 500 fragments, or for access in order, it never does.

mod check;
mod iter;
mod layout;
mod parse;
mod rank;
#[cfg(feature = "alloc")]
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use iter::{FragmentIter, RowIter};
pub use layout::{FragmentHead, MAGIC, MAGIC_BYTES, RangeEntry, VERSION, is_range};
pub use parse::{Fragment, FragmentIndex, TableOffsets};
pub use rank::RankDirectory;
#[cfg(feature = "alloc")]
pub use write::FragmentIndexBuilder;
