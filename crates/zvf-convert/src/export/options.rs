//! Options and report of an export.

use zvf_query::{Query, Select};
use zvf_write::Kind;

use super::links::LinksFile;
use crate::options::Limits;

/// Selects the data to write.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Level, box, objects, groups, filter, limit and vertex attributes. Its select, columns and outputs are not looked at.
    pub query: Query,
    /// Which rows are written for a hit. Default: whole objects for formats and kinds that store them one after another (lines, polylines,
    /// streamlines), else the vertices alone.
    pub select: Option<Select>,
    /// Separated values: what separates columns. Default: a comma.
    pub delimiter: Option<u8>,
    /// Tables: another table for the links of a graph, skeleton or mesh. Default: none, and that they are not kept is said.
    pub links: Option<LinksFile>,
    /// Separated values: the file is packed by gzip.
    pub gzip: bool,
    /// TRK, TCK and TRX: positions are written as they are stored, in whatever frame that is. Default: no, they become those that
    /// the format asks for.
    pub keep_frame: bool,
    /// How much may be held.
    pub limits: Limits,
}

/// The report of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Vertices of the file.
    pub vertices: u64,
    /// Edges or faces in the file, without those of chains, which the order of vertices implies.
    pub links: u64,
    /// Objects of the selection; `None` if the store has no objects.
    pub objects: u64,
    /// Remarks on data that the format cannot hold, and on decisions that the export took.
    pub notes: Vec<String>,
    /// Defects of the store that the export met.
    pub warnings: Vec<String>,
}

/// Whether objects of this kind are chains of rows.
pub fn chained(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}
