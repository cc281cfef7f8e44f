//! Defects of the cells of a chunk. Most readers stop at a defect with an error; reports list all of them.

use std::fmt::Display;
use std::sync::Arc;

use zvf_format::DecodeError;

use super::fragments::FragmentFault;
use crate::{ChunkCoord, GridArray, StoreError};

/// Which cell of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkCell {
    /// `vertices`.
    Vertices,
    /// `vertex_fragments`.
    Fragments,
    /// A vertex attribute.
    VertexColumn,
    /// A fragment attribute.
    FragmentColumn,
}

/// A defect of a cell. The enum is exhaustive, so that reports handle every kind.
#[derive(Debug, Clone)]
pub enum CellFault {
    /// The cell cannot be read.
    Unreadable(StoreError),
    /// The presence list names the cell, but it is missing or empty. Readers treat it as empty.
    Empty,
    /// An attribute has no cell, although the chunk has this number of rows. Readers treat the attribute as absent.
    Missing(u32),
    /// There is no fragment index, although the chunk has this number of rows.
    NoFragments(u32),
    /// The cell does not consist of complete rows. Readers ignore values in chunks without rows.
    Rows {
        /// The content of the cell.
        found: String,
        /// The expected content.
        expected: String,
    },
    /// The fragment index is damaged, or has rows that the chunk does not have. Readers tolerate the latter in chunks without rows.
    Fragments(FragmentFault),
    /// The fragment index has padding that is not zero, or bytes after the last table. Readers ignore both.
    Padding(DecodeError),
}

impl CellFault {
    #[cold]
    pub(crate) fn rows(found: impl Display, expected: impl Display) -> Self {
        Self::Rows {
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The found content of the cell, and the expected content.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        let (found, expected) = match self {
            Self::Unreadable(error) => (error.to_string(), "a cell that decodes"),
            Self::Empty => (
                "no content".to_owned(),
                "a cell, since the presence list names it",
            ),
            Self::Missing(rows) => (format!("no cell for {rows} vertices"), "one"),
            Self::NoFragments(rows) => (format!("no fragment index for {rows} vertices"), "one"),
            Self::Rows { found, expected } => (found.clone(), expected.as_str()),
            Self::Fragments(FragmentFault::Rows { rows, error, .. }) => {
                return (
                    error.to_string(),
                    format!("rows below {rows}, the number of rows of the chunk"),
                );
            }
            Self::Fragments(FragmentFault::Index(error)) => (error.to_string(), "a fragment index"),
            Self::Padding(error) => (
                error.to_string(),
                "padding of zeros, and no bytes after the last table",
            ),
        };
        (found, expected.to_owned())
    }

    /// The error of a reader that stops at the defect.
    #[cold]
    pub(crate) fn error(self, array: &GridArray, chunk: &ChunkCoord) -> StoreError {
        let place = format!("{} at {chunk}", array.path());
        match self {
            Self::Unreadable(error) => error,
            Self::Fragments(fault) => StoreError::decode(place, fault.error()),
            Self::NoFragments(rows) => {
                let what = format!("no fragment index for a chunk of {rows} rows");
                StoreError::malformed(place, what)
            }
            Self::Rows { .. } | Self::Empty | Self::Missing(_) | Self::Padding(_) => {
                let (found, expected) = self.texts();
                StoreError::malformed(place, format!("found {found}, expected {expected}"))
            }
        }
    }
}

/// One defect of a chunk.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChunkFault {
    /// The kind of the array.
    pub cell: ChunkCell,
    /// The array.
    pub array: Arc<GridArray>,
    /// The defect.
    pub fault: CellFault,
}

/// Receives the defects of one chunk while it is decoded.
#[derive(Debug)]
pub(super) struct FaultSink {
    /// Whether defects are listed. Otherwise the first one that readers do not tolerate is an error.
    reports: bool,
    pub(super) coord: ChunkCoord,
    pub(super) list: Vec<ChunkFault>,
}

impl FaultSink {
    pub(super) fn new(reports: bool, coord: ChunkCoord) -> Self {
        let list = Vec::new();
        Self {
            reports,
            coord,
            list,
        }
    }

    /// The content of a cell; `None` if it has a defect.
    ///
    /// # Errors
    /// The defect, unless defects are listed.
    pub(super) fn keep<T>(
        &mut self,
        cell: ChunkCell,
        array: &Arc<GridArray>,
        found: Result<T, CellFault>,
    ) -> Result<Option<T>, StoreError> {
        match found {
            Ok(found) => return Ok(Some(found)),
            Err(fault) if self.reports => self.note(cell, array, fault),
            Err(fault) => return Err(fault.error(array, &self.coord)),
        }
        Ok(None)
    }

    /// Lists a defect that readers tolerate. Does nothing unless defects are listed.
    pub(super) fn note(&mut self, cell: ChunkCell, array: &Arc<GridArray>, fault: CellFault) {
        if self.reports {
            let array = Arc::clone(array);
            self.list.push(ChunkFault { cell, array, fault });
        }
    }
}
