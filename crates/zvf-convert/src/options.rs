//! What a caller may say about files.

use zvf_write::Kind;

/// How much a file may hold. What is more is an error of class limit, before it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Vertices, over all files. Default 2^40.
    pub vertices: u64,
    /// Nodes of one SWC file, vertices of one STL file, corners of one face: what is held at once. Default 50 million.
    pub held: u64,
    /// Bytes of a line of text, or of a record of a table. Default 16 MiB.
    pub line: u64,
    /// Columns of a table. Default 4096.
    pub columns: u64,
    /// Different texts of a column. Default one million.
    pub categories: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            vertices: 1 << 40,
            held: 50_000_000,
            line: 16 << 20,
            columns: 4096,
            categories: 1_000_000,
        }
    }
}

/// How files are read. The default finds everything in the files.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The geometry. Default: that of the format.
    pub kind: Option<Kind>,
    /// Tables: the columns of a position, one an axis. Default `x`, `y` and, where there is one, `z`.
    pub position: Option<Vec<String>>,
    /// Tables: the column with the object that a row belongs to, a whole number.
    pub object_column: Option<String>,
    /// Tables: the columns that become attributes. Default: all others.
    pub attributes: Option<Vec<String>>,
    /// Tables: what separates columns. Default: a comma, a tab in files that end in `.tsv`.
    pub delimiter: Option<u8>,
    /// Unit of all axes. Default: that of the format, if it has one.
    pub unit: Option<String>,
    /// Vertices of a batch, roughly. Default 65 536.
    pub batch: usize,
    /// How much a file may hold.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: None,
            position: None,
            object_column: None,
            attributes: None,
            delimiter: None,
            unit: None,
            batch: 1 << 16,
            limits: Limits::default(),
        }
    }
}
