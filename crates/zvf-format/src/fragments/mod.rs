//! The fragment index, ZVFG version 1: which rows of a chunk belong together.
//!
//! `spec/zvf-0.9.md` section 9, `spec/zvf-0.8.md` and `spec/zvf-0.7.md` section 7: the layout is
//! the same in every version since 0.6. One blob is the cell of one chunk in `vertex_fragments`
//! (over vertex rows) or `link_fragments` (over link rows).

mod check;
mod iter;
mod layout;
mod parse;
mod rank;
#[cfg(all(test, feature = "alloc"))]
mod tests;
#[cfg(feature = "alloc")]
mod write;

pub use iter::{FragmentIter, RowIter};
pub use layout::{FragmentHead, MAGIC, RangeEntry, VERSION};
pub use parse::{Fragment, FragmentIndex, TableOffsets};
pub use rank::RankDirectory;
#[cfg(feature = "alloc")]
pub use write::FragmentIndexBuilder;
