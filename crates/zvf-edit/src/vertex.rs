//! Identifiers of vertices during an edit, and links between them.

use std::collections::BTreeMap;

use zvf_format::int::halves;
use zvf_store::ChunkCoord;

/// A vertex: the chunk and row where it is stored, or [`FRESH`] and a number.
pub(crate) type Vertex = u64;

/// The chunk of vertices that are not stored yet.
pub(crate) const FRESH: u32 = u32::MAX;

/// The identifier of a stored vertex.
pub(crate) fn stored(slot: u32, row: u32) -> Vertex {
    (u64::from(slot) << 32) | u64::from(row)
}

/// The chunk and row of a vertex, or [`FRESH`] and a number.
pub(crate) fn parts(vertex: Vertex) -> (u32, u32) {
    let [slot, row] = halves(vertex);
    (slot, row)
}

/// A new link: its ends in the order of the application, and its attributes.
#[derive(Debug, Clone)]
pub(crate) struct NewLink {
    pub(crate) ends: Vec<Vertex>,
    pub(crate) attributes: Vec<u8>,
}

impl NewLink {
    /// A link without attributes that continues a chain or a tree.
    pub(crate) fn step(from: Vertex, to: Vertex) -> Self {
        Self {
            ends: vec![from, to],
            attributes: Vec::new(),
        }
    }
}

/// The location of a stored link: the index of its array, its cell, and its record in the cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkAt {
    pub(crate) array: usize,
    pub(crate) chunk: ChunkCoord,
    pub(crate) record: u32,
}

/// New values of links, by link.
pub(crate) type LinkValues = BTreeMap<LinkAt, Vec<u8>>;
