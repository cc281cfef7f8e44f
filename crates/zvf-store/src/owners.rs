//! The owner column of a level: the object of each fragment (0.9 §11.7), and whether it agrees with the manifests.
//!
//! The column is derived from the manifests, and becomes wrong if a program changes the manifests but not the column. A column is therefore used only if
//! it states the checksum of the current document of the object index, because every writer of manifests also writes this document. If a column refers
//! to the document, the document ends with a line feed. Other writers end it with a brace, so that the checksum changes even if all numbers stay the
//! same.

use serde_json::Value;
use zvf_meta::{ArrayAttributes, ObjectIndexDoc};

use crate::{ChunkCoord, GridArray, ObjectIndex, StoreError, VertexAttribute};

/// Name of the column among the attributes of fragments.
pub const OWNER_COLUMN: &str = "object_id";

/// Owner of a fragment that no manifest names.
pub const NOBODY: i64 = -1;

/// Owner of a fragment that the manifests of several objects name.
pub const SEVERAL: i64 = -2;

/// The attribute of the column that holds the checksum of the index's document: CRC-32C, eight digits.
pub const CHECKSUM: &str = "zvf_index_crc32c";

/// The owner column of a level.
#[derive(Debug, Clone, Copy)]
pub enum OwnerColumn<'l> {
    /// There is no column, it was not requested, or it does not state the document that it was made from.
    None,
    /// It was made from the stored manifests.
    Current(&'l VertexAttribute),
    /// The object index was written again since it was made.
    Stale(&'l VertexAttribute),
    /// Its list of cells contradicts its shape: owners of some chunks would not be found.
    Contradictory(&'l VertexAttribute),
}

impl<'l> OwnerColumn<'l> {
    /// Finds the column among the attributes of fragments; `index` is the object index of the level.
    pub(crate) fn find(attributes: &'l [VertexAttribute], index: Option<&ObjectIndex>) -> Self {
        let column = attributes.iter().find(|one| is_owner_column(one));
        let stated = column.and_then(|one| one.array.attributes().extra.get(CHECKSUM));
        match (column, stated, index) {
            (Some(column), Some(stated), Some(index)) if *stated == stamp_of(index.checksum()) => {
                match column.array.check_presence() {
                    Ok(()) => Self::Current(column),
                    Err(_) => Self::Contradictory(column),
                }
            }
            (Some(column), Some(_), Some(_)) => Self::Stale(column),
            _ => Self::None,
        }
    }

    /// The column, if it was made from the stored manifests.
    #[must_use]
    pub fn current(self) -> Option<&'l VertexAttribute> {
        match self {
            Self::Current(column) => Some(column),
            Self::None | Self::Stale(_) | Self::Contradictory(_) => None,
        }
    }
}

/// Whether an attribute of fragments is an owner column: its type distinguishes it from plain ids that another writer stores under the same name.
#[must_use]
pub fn is_owner_column(attribute: &VertexAttribute) -> bool {
    attribute.name == OWNER_COLUMN
        && attribute.dtype == zvf_format::dtype::DType::I64
        && attribute.declared_width.unwrap_or(1) == 1
}

/// The owners in a cell that an owner column lists: one for each fragment, up to the last fragment with an owner.
///
/// # Errors
/// Malformed, with the array and the chunk: the cell is not stored, or does not consist of whole rows.
pub fn owners_in(
    column: &GridArray,
    chunk: &ChunkCoord,
    cell: Option<&[u8]>,
) -> Result<Vec<i64>, StoreError> {
    let malformed =
        |what: String| StoreError::malformed(format!("{} at {chunk}", column.path()), what);
    let Some(cell) = cell else {
        let what = "nonempty_chunks lists the cell, but it is not stored";
        return Err(malformed(what.to_owned()));
    };
    let (owners, rest) = cell.as_chunks();
    if !rest.is_empty() {
        let what = format!("found {} bytes, expected a multiple of 8", cell.len());
        return Err(malformed(what));
    }
    Ok(owners.iter().map(|id| i64::from_le_bytes(*id)).collect())
}

/// The text of an object index document that an owner column can refer to with [`state_owners_of`]; it ends with a line feed.
#[must_use]
pub fn index_document(doc: &ObjectIndexDoc) -> String {
    let mut text = doc.to_json();
    text.push('\n');
    text
}

/// States in the attributes of an owner column that it was made with this document of the object index.
pub fn state_owners_of(column: &mut ArrayAttributes, index_document: &[u8]) {
    let stamp = stamp_of(crc32c::crc32c(index_document));
    column.extra.insert(CHECKSUM.to_owned(), stamp);
}

/// Marks an owner column as unusable: readers ignore it.
pub fn withdraw_owners(column: &mut ArrayAttributes) {
    column.extra.remove(CHECKSUM);
}

fn stamp_of(checksum: u32) -> Value {
    Value::from(format!("{checksum:08x}"))
}
