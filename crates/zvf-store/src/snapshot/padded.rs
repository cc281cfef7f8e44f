//! Builds a padded array from the document of a numeric array: how its rows are counted, and which chunks it has.

use std::sync::Arc;

use zvf_meta::ArrayDoc;

use super::MISSING;
use super::blobs::level_of;
use super::{SnapshotTree, document_at};
use crate::StoreError;
use crate::container::padded::Count;
use crate::container::{ContainerKind, GridArray, SharedArray};
use zvf_io::Question;

/// How the rows of an array of a level are counted.
enum By {
    /// The array's own padding.
    Fill,
    /// The array is a fragment index.
    Index,
    /// The rows that this fragment index names; without it, the rows of another padded array.
    Rows(String, Option<String>),
    /// The number of fragments in this fragment index.
    Fragments(String),
}

/// How the rows of the array at `path` are counted.
fn by(path: &str) -> By {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [level, "vertices"] => By::Rows(format!("{level}/vertex_fragments"), None),
        [level, "attributes" | "vertex_attributes", _] => By::Rows(
            format!("{level}/vertex_fragments"),
            Some(format!("{level}/vertices")),
        ),
        [level, "fragment_attributes", _] => By::Fragments(format!("{level}/vertex_fragments")),
        [level, "links", "0"] => By::Rows(format!("{level}/link_fragments"), None),
        [level, "link_attributes", _, "0"] => By::Rows(
            format!("{level}/link_fragments"),
            Some(format!("{level}/links/0")),
        ),
        [_, "vertex_fragments" | "link_fragments"] => By::Index,
        _ => By::Fill,
    }
}

impl SnapshotTree {
    /// A padded array. Built once.
    pub(super) fn padded_array(
        &self,
        path: &str,
        doc: ArrayDoc,
        rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        let listed = !GridArray::lacks_presence(&doc);
        let array = GridArray::from_padded(path.to_owned(), doc, rank, self.kv.limits())?;
        let level = level_of(path);
        let before = more.len();
        let count = match by(path) {
            _ if level.is_none() => Count::Fill,
            By::Fill => Count::Fill,
            By::Index => Count::Index,
            By::Fragments(index) => self
                .companion(&index, rank, more)?
                .map_or(Count::Fill, Count::Fragments),
            By::Rows(index, other) => match self.companion(&index, rank, more)? {
                Some(index) => Count::Extent(index),
                None => match other {
                    Some(other) => self
                        .companion(&other, rank, more)?
                        .filter(|other| other.container() == ContainerKind::Padded)
                        .map_or(Count::Fill, Count::Rows),
                    None => Count::Fill,
                },
            },
        };
        if more.len() > before {
            return Ok(Some(Arc::new(array)));
        }
        if let Some(companion) = count.companion() {
            self.compare_grids(&array, companion, rank)?;
        }
        let mut array = array;
        if !listed {
            let presence = match count.companion() {
                Some(companion) => Arc::clone(companion.shared_presence()),
                None => {
                    if self.asks(Question::Keys(path.to_owned()), more) {
                        return Ok(Some(Arc::new(array)));
                    }
                    Arc::new(self.listed_presence(&array)?)
                }
            };
            array = array.with_presence(presence);
        }
        Ok(Some(self.keep(path, array.counted_by(count))))
    }

    /// Refuses an array with other chunks than the array that counts its rows: a missing chunk would read as fill.
    fn compare_grids(
        &self,
        array: &GridArray,
        companion: &GridArray,
        rank: usize,
    ) -> Result<(), StoreError> {
        let (Some(doc), Some(other)) = (array.doc(), companion.doc()) else {
            return Ok(());
        };
        let grids = [doc, other].map(|doc| doc.shape.get(..rank));
        if grids[0] == grids[1] && doc.key_encoding == other.key_encoding {
            return Ok(());
        }
        Err(StoreError::malformed(
            format!("{}/zarr.json", array.path()),
            format!(
                "shape is {:?} and chunk_key_encoding {:?}, but {:?} and {:?} of {}",
                doc.shape,
                doc.key_encoding,
                other.shape,
                other.key_encoding,
                companion.path()
            ),
        ))
    }

    /// An array that counts the rows of another. Adds its document to `more` if it has not been requested yet.
    fn companion(
        &self,
        path: &str,
        rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        if self.asks(document_at(path), more) {
            return Ok(None);
        }
        self.grid(path, MISSING, rank, more)
    }
}
