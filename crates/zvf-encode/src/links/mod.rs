//! Links between rows, inside and between levels: how they are placed, encoded and described, for every version.
//!
//! | version | arrays | key of a cell |
//! |---|---|---|
//! | 0.9 (§13) | `links/<delta>/<offsets>`, one for each set of offsets | the chunk of the first stored end |
//! | 0.8.1 (0.8 §8.4) | `links/<delta>`: all ends in one chunk | that chunk |
//! | 0.8.1 (0.8 §9) | `cross_chunk_links/<delta>`: ends in several chunks | the chunks of all ends |
//!
//! A [`LinkPlacer`] collects links, one bucket for each cell, and writes them as the [`Policy`] of their [`FamilySpec`] states; [`WrittenFamily`]
//! makes the documents. Values of links are stored in arrays of their own, `link_attributes/<name>/…` and `cross_chunk_link_attributes/<name>/…`.

mod cell;
mod docs;
mod groups;
mod place;
mod policy;
mod queue;

pub use cell::{EncodedLinkCell, LinkCellSink, Missing, WrittenLinkCell};
pub use docs::WrittenFamily;
pub use groups::{ChunkFragments, FragmentRows, Grouped};
pub use place::{LinkEnd, LinkPlacer};
pub use policy::{ArrayKey, FamilySpec, LinkColumn, Policy};
pub(crate) use queue::CUT;
pub use queue::{queued_size, split};

#[cfg(test)]
mod tests;
