//! Manifests by row, for every kind of storage.

use std::sync::Arc;

use bytes::Bytes;

use super::dense::Dense;
use super::split::SplitManifests;
use crate::StoreError;
use crate::elements::Elements;
use crate::ragged::RaggedArray;
use zvf_io::Kv;

/// The storage of the manifests of a level.
#[derive(Debug, Clone)]
pub(crate) enum Manifests {
    /// One element of a variable-length array for each object (0.9, section 11.2).
    Vlen(Arc<RaggedArray>),
    /// One blob of all manifests and one of byte offsets (0.7, section 10.2).
    Split(Arc<SplitManifests>),
    /// Arrays of integers (0.9.4, dense manifests).
    Dense(Arc<Dense>),
}

impl Manifests {
    /// Path of the array that counts the rows.
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Vlen(array) => array.path(),
            Self::Split(split) => split.path(),
            Self::Dense(dense) => dense.path(),
        }
    }

    /// Number of stored rows.
    pub(crate) fn stored(&self) -> u64 {
        match self {
            Self::Vlen(array) => array.rows(),
            Self::Split(split) => split.rows(),
            Self::Dense(dense) => dense.rows(),
        }
    }

    /// Rows of one part that is loaded at once; at least 1.
    pub(super) fn per_part(&self) -> u64 {
        match self {
            Self::Vlen(array) => array.object_rows(),
            Self::Split(split) => split.rows(),
            Self::Dense(dense) => dense.per_part(),
        }
        .max(1)
    }

    /// Rows that are decoded together for one of them; at least 1.
    pub(super) fn per_chunk(&self) -> u64 {
        match self {
            Self::Vlen(array) => array.chunk_rows().max(1),
            Self::Split(_) | Self::Dense(_) => self.per_part(),
        }
    }

    /// Drops loaded parts, if they are cached one by one.
    pub(super) fn forget(&self) {
        match self {
            Self::Vlen(array) => array.forget(),
            // Of no use: `Split` loads all manifests as one part, and the cached pieces of `Dense` may be needed for other rows.
            Self::Split(_) | Self::Dense(_) => {}
        }
    }

    /// The manifests of part `i` of the first `rows` rows.
    pub(super) async fn part(
        &self,
        kv: &Kv,
        i: u64,
        rows: u64,
    ) -> Result<ManifestChunk, StoreError> {
        let first = i.saturating_mul(self.per_part());
        if first >= rows {
            return Err(StoreError::misuse(format!(
                "{}: chunk {i} requested, there are {}",
                self.path(),
                rows.div_ceil(self.per_part())
            )));
        }
        let end = first.saturating_add(self.per_part()).min(rows);
        let all = end.saturating_sub(first);
        let (per_piece, pieces) = match self {
            Self::Vlen(array) => {
                let chunks = array.chunks_of_object(i);
                (array.chunk_rows(), array.chunks(kv, &chunks).await?)
            }
            Self::Split(split) => (all, vec![split.load(kv).await?]),
            Self::Dense(dense) => (all, vec![dense.part(kv.round(), first..end).await?]),
        };
        let number = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        Ok(ManifestChunk {
            first,
            per_piece: number(per_piece).max(1),
            pieces,
            rows: number(all),
        })
    }

    /// The manifests of some of the first `rows` rows, in the given order; empty for rows past the end.
    pub(super) async fn of(
        &self,
        kv: &Kv,
        slots: &[u64],
        rows: u64,
    ) -> Result<Vec<Bytes>, StoreError> {
        match self {
            Self::Vlen(array) => {
                // Rows past the number of objects were written without a commit.
                let known = slots.iter().map(|slot| match *slot < rows {
                    true => *slot,
                    false => u64::MAX,
                });
                array.elements(kv, &known.collect::<Vec<_>>()).await
            }
            Self::Split(_) => {
                let part = self.part(kv, 0, rows).await?;
                Ok(slots.iter().map(|slot| part.blob_shared(*slot)).collect())
            }
            // Parts of a dense index may be large, and are never loaded for one object.
            Self::Dense(dense) => dense.of(kv.round(), slots, rows).await,
        }
    }
}

/// The manifests of consecutive rows.
#[derive(Debug, Clone)]
pub struct ManifestChunk {
    first: u64,
    rows: usize,
    /// The manifests: `per_piece` in each piece.
    pieces: Vec<Arc<Elements>>,
    per_piece: usize,
}

impl ManifestChunk {
    /// The first row.
    pub fn first_slot(&self) -> u64 {
        self.first
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of the chunk in memory.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.weight()).sum()
    }

    /// The manifest of a row of the level; empty if the row has none, or is in another chunk.
    ///
    /// # Shape
    /// The bytes of section 11.3 of the page on 0.9, for every storage.
    pub fn blob(&self, slot: u64) -> &[u8] {
        let manifest = self.place(slot).and_then(|(piece, i)| piece.get(i));
        manifest.unwrap_or_default()
    }

    /// Like [`blob`](Self::blob), sharing the chunk's bytes.
    pub fn blob_shared(&self, slot: u64) -> Bytes {
        let manifest = self.place(slot).and_then(|(piece, i)| piece.get_shared(i));
        manifest.unwrap_or_default()
    }

    fn place(&self, slot: u64) -> Option<(&Elements, usize)> {
        let row = usize::try_from(slot.checked_sub(self.first)?).ok()?;
        let piece = self.pieces.get(row.checked_div(self.per_piece)?)?;
        (row < self.rows).then(|| (piece.as_ref(), row % self.per_piece))
    }
}
