//! What is written of a store, and what was.

use zvf_query::{Query, Select};
use zvf_write::Kind;

use super::links::LinksFile;
use crate::options::Limits;

/// What of a store is written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Level, box, objects, groups, filter, limit and vertex attributes. Its select, columns and outputs are not looked at.
    pub query: Query,
    /// What a hit brings along. Default: whole objects where the format or the kind has them in a row (lines, polylines,
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

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// Vertices of the file.
    pub vertices: u64,
    /// Edges or faces of the file; those of chains are implied by the order of vertices and not counted.
    pub links: u64,
    /// Objects of the selection, where the store has any.
    pub objects: u64,
    /// What the format does not hold, and what else was decided.
    pub notes: Vec<String>,
    /// What the store gets wrong.
    pub warnings: Vec<String>,
}

/// The kinds whose objects are rows one after another.
pub fn chained(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}
