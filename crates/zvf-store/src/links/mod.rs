//! Link families: records of endpoints, given in the order of the application.
//!
//! A family has all links of a level that span the same number of levels. There are three [`Placement`]s: ways to store its records in
//! arrays and to find the chunks of their endpoints. The placement of an array follows from its
//! node, never from the version of the store.
//!
//! | placement | a cell is stored at | endpoint chunks |
//! |---|---|---|
//! | [`Placement::Offsets`] | the chunk of the first stored endpoint | that chunk, and its anchor plus the array's offsets |
//! | [`Placement::SameKey`] | the key of every endpoint | that key, at every level |
//! | [`Placement::Tuple`] | the chunks of all endpoints, concatenated | the parts of the key |
//!
//! Sources: specification 0.9, section 13; 0.8, sections 8.4 to 9.8; 0.7, section 9.

mod array;
mod cell;
mod near;
mod reader;
pub(crate) mod records;

use std::sync::Arc;

use zvf_format::dtype::DType;
use zvf_meta::{ArrayAttributes, LinkFamilyDoc, LinkStore};

use crate::container::GridArray;

pub(crate) use array::dtype;
pub use array::{LinkArray, Placement};
pub use cell::{Endpoint, LinkCell};
pub use near::{Chunks, Touch};
pub use reader::{DecodedLinks, LinkBatch, LinkReader, StoredLink};

/// The links of one level that span `delta` levels.
#[derive(Debug, Clone)]
pub struct LinkFamily {
    pub(crate) delta: i32,
    pub(crate) doc: LinkFamilyDoc,
    pub(crate) width: usize,
    pub(crate) rows_trusted: bool,
    pub(crate) arrays: Vec<LinkArray>,
    pub(crate) attributes: Vec<LinkAttribute>,
    pub(crate) guessed: bool,
}

impl LinkFamily {
    /// How many levels the links span; 0 for links inside the level.
    pub fn delta(&self) -> i32 {
        self.delta
    }

    /// Whether the names of the arrays are guessed, because the backend cannot list: arrays of links between distant chunks are not among them.
    pub fn is_guessed(&self) -> bool {
        self.guessed
    }

    /// L, endpoints of a record; 0 for a family without policy, which reads as empty.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether links are directed: the order of the endpoints is part of the link. In other families, the order is only the order in which the application
    /// gave them.
    pub fn directed(&self) -> bool {
        self.doc.directed
    }

    /// Whether each record is stored once, or once for each chunk that it touches.
    pub fn store(&self) -> LinkStore {
        self.doc.store
    }

    /// The document of the family; if it has two nodes, the one of the links between chunks.
    pub fn doc(&self) -> &LinkFamilyDoc {
        &self.doc
    }

    /// Whether links are placed by the offsets of their chunks, as in 0.9.
    pub fn by_offsets(&self) -> bool {
        let offsets = |one: &LinkArray| matches!(one.placement(), Placement::Offsets { .. });
        self.arrays.iter().all(offsets)
    }

    /// How many links the document states for the arrays that it [counts](Self::counts). The number may be out of date (0.9, section 13.2).
    pub fn stated_links(&self) -> Option<u64> {
        let counted = self.arrays.is_empty() || self.arrays.iter().any(|one| self.counts(one));
        self.doc.num_links.filter(|_| counted)
    }

    /// Whether `num_links` counts the links of an array: before 0.9 it counts only links between chunks.
    pub fn counts(&self, array: &LinkArray) -> bool {
        !matches!(array.placement(), Placement::SameKey)
    }

    /// The arrays, in the order of record numbers: ASCII order of segments (0.9, section 13.5); before 0.9 first the
    /// links inside chunks, then those between them.
    pub fn arrays(&self) -> &[LinkArray] {
        &self.arrays
    }

    /// The link attributes that were requested and exist.
    pub fn attributes(&self) -> &[LinkAttribute] {
        &self.attributes
    }

    /// Whether the rows of records are correct. The writers of lines, polylines and streamlines before 0.9 put row 0 at both ends of every record
    /// between chunks (0.7, sections 12.3 and 12.4). Such records only show which chunks an object passes through; its manifest has the order.
    pub fn rows_trusted(&self) -> bool {
        self.rows_trusted
    }

    /// Whether records of skeletons in that array point from parent to child. All others point from child to parent.
    ///
    /// Only streamed skeletons of 0.9 have such records, in directed families, between chunks (trap T5).
    pub fn parent_first(&self, array: &LinkArray) -> bool {
        self.doc.directed
            && self.delta == 0
            && !array.is_intra()
            && matches!(array.placement(), Placement::Offsets { .. })
    }
}

/// One attribute of the links of a family.
///
/// # Shape
/// For each link array of the family, in the same order, the array with one row of values for each stored record;
/// `None` if the attribute has no such array.
#[derive(Debug, Clone)]
pub struct LinkAttribute {
    /// Name.
    pub name: String,
    /// Type of the elements.
    pub dtype: DType,
    /// Elements of a row.
    pub width: u64,
    /// Unit of the values.
    pub unit: Option<String>,
    /// One entry for each array of the family; `None` if the attribute has no array for it.
    pub arrays: Vec<Option<Arc<GridArray>>>,
}

impl LinkAttribute {
    /// The attributes of its first array, such as its description; `None` if it has no array.
    pub fn stated(&self) -> Option<&ArrayAttributes> {
        let array = self.arrays.iter().flatten().next()?;
        Some(array.attributes())
    }

    /// Whether every link has a value: true in 0.9, unless the document of the attribute states otherwise. Some writers before 0.9 give values only
    /// to links inside chunks (0.8, doubt 6).
    pub fn is_complete(&self, family: &LinkFamily) -> bool {
        let mut arrays = self.arrays.iter().flatten();
        let partial = arrays.any(|one| one.attributes().links_without_values == Some(true));
        family.by_offsets() && !partial
    }

    /// Whether every link of one array of the family has a value. Before 0.9, this is true if the attribute has an array for the links' array.
    pub fn is_complete_in(&self, family: &LinkFamily, array: usize) -> bool {
        let beside = self.arrays.get(array).is_some_and(Option::is_some);
        self.is_complete(family) || beside && !family.by_offsets()
    }
}
