//! What a path names.

use bytes::Bytes;
use zvf_meta::Codec;

use super::facts::CellFacts;
use super::kind::CellKind;
use super::numbers::sized;
use crate::Limits;

/// What a path of a store names.
#[derive(Debug)]
pub enum Located {
    /// The document with this key.
    Document(String),
    /// An object of an array.
    Object(Box<LocatedObject>),
}

/// An object of an array, and the requested element of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct LocatedObject {
    /// The array.
    pub array: String,
    /// The key of the object.
    pub key: String,
    /// Entries and requested entry of the shard's index; `None` if the array is not sharded.
    pub shard: Option<CellFacts>,
    /// Whether the index is at the end of the shard.
    pub index_at_end: bool,
    /// Codecs of the object, or of an inner chunk of the shard.
    pub codecs: Vec<Codec>,
    /// Bytes that the document of a blob states; `None` if the array is not a blob.
    pub stated: Option<u64>,
    /// The container of several elements in which the payload is: [`CellKind::Vlen`] or [`CellKind::Packed`].
    pub container: Option<CellKind>,
    /// The kind of the payload.
    pub kind: CellKind,
    /// Facts about it.
    pub facts: CellFacts,
}

impl LocatedObject {
    /// The content of a blob without a stored object: the fill value, zero (specification 0.7, section 2.3). `None` if the array is not a blob, or
    /// larger than [`Limits::cell_bytes`].
    #[must_use]
    pub fn zeros(&self, limits: &Limits) -> Option<Bytes> {
        let stated = self.stated.filter(|stated| *stated <= limits.cell_bytes)?;
        Some(vec![0; sized(stated)?].into())
    }
}
