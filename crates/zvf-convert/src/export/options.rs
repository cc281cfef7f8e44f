//! Options and report of an export.

use std::fmt;
use std::sync::Arc;

use zvf_query::{Query, Select};
use zvf_write::Kind;

use super::links::LinksFile;
use crate::options::FileLimits;

/// Selects the data to write.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Level, box, objects, groups, filter, passing, limit and vertex attributes. The select, columns and outputs of the query are ignored.
    pub query: Query,
    /// The rows that are written for each hit of the query. Default: whole objects for formats and kinds that store them one after another (lines,
    /// polylines, streamlines), else the vertices alone.
    pub select: Option<Select>,
    /// Separated values: the byte between columns. Default: a comma.
    pub delimiter: Option<u8>,
    /// Tables: another table for the links of a graph, skeleton or mesh. Default: none, and a note about the missing links.
    pub links: Option<LinksFile>,
    /// Separated values: whether the file is compressed with gzip.
    pub gzip: bool,
    /// TRK, TCK and TRX: whether positions are written unchanged, in any frame. Default: no, they are converted to the frame of the
    /// format.
    pub keep_frame: bool,
    /// Limits of memory.
    pub limits: FileLimits,
    /// Reports the rows that were read.
    pub progress: ExportProgress,
}

/// Receives the progress of an export: the number of vertex rows read so far, and the number to read in all, if it is known in advance. SWC, LAS
/// and LAZ read all rows twice, because the beginning of such a file depends on its last rows.
#[derive(Clone, Default)]
pub struct ExportProgress(Option<Arc<ExportProgressFn>>);

type ExportProgressFn = dyn Fn(u64, Option<u64>) + Send + Sync;

impl ExportProgress {
    /// Calls `told` after each batch of vertices that was read.
    #[must_use]
    pub fn to(told: impl Fn(u64, Option<u64>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    pub(crate) fn tell(&self, read: u64, total: Option<u64>) {
        if let Some(told) = &self.0 {
            told(read, total);
        }
    }
}

impl fmt::Debug for ExportProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExportProgress")
            .field(&self.0.is_some())
            .finish()
    }
}

/// The report of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Vertices of the file.
    pub vertices: u64,
    /// Edges or faces in the file, except the links of chains, which are implied by the order of vertices.
    pub links: u64,
    /// Objects of the selection; 0 if the store has no objects.
    pub objects: u64,
    /// Notes about data that the format cannot store, and about automatic choices.
    pub notes: Vec<String>,
    /// Defects of the store.
    pub warnings: Vec<String>,
}

/// Whether objects of this kind are lists of rows, whose order implies the links.
pub fn chained(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}
