//! Links of exported vertices: their ends, and a second table for them.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{RecordBatch, UInt64Array};
use zvf_encode::error::OrBug;
use zvf_query::numbers::elements;
use zvf_write::Kind;

use crate::{ConvertError, Format};

/// The ends of the links of a batch, as rows of the vertices, and how many a link has.
///
/// # Errors
/// Bug: the batch is not a table of links.
pub(crate) fn ends(batch: &RecordBatch) -> Result<(UInt64Array, usize), ConvertError> {
    let column = batch.column_by_name("vertices");
    let (ends, width) = elements(column.or_bug("links without ends")?);
    let ends = ends.as_primitive_opt::<UInt64Type>();
    Ok((
        ends.or_bug("ends of links that are not rows")?.clone(),
        width,
    ))
}

/// A table of links beside a table of vertices: one row for each link, with a column `vertices` of rows of the vertex table, from 0, and the
/// attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinksFile {
    /// A format of tables.
    pub format: Format,
    /// The file, which is replaced.
    pub path: PathBuf,
    /// Whether the table has faces instead of edges.
    pub faces: bool,
    /// Separated values: the byte between columns. Default: a comma.
    pub delimiter: Option<u8>,
    /// Separated values: whether the file is compressed with gzip.
    pub gzip: bool,
}

impl LinksFile {
    /// A table of edges, or of faces.
    #[must_use]
    pub fn new(format: Format, path: impl Into<PathBuf>, faces: bool) -> Self {
        Self {
            format,
            path: path.into(),
            faces,
            delimiter: None,
            gzip: false,
        }
    }

    /// Replaces [`delimiter`](Self::delimiter).
    #[must_use]
    pub fn with_delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = Some(delimiter);
        self
    }

    /// Fails unless a store of this kind has such links, and a file of `format` can have a table of links beside it.
    pub(crate) fn fits(&self, format: Format, kind: Kind) -> Result<(), ConvertError> {
        let what = if self.faces { "faces" } else { "edges" };
        let written =
            |format: Format| format.is_table() && !matches!(format, Format::Ndjson | Format::Xyz);
        if !written(format) || !written(self.format) {
            let found = format!(
                "a file of {} beside one of {}",
                self.format.name(),
                format.name()
            );
            let expected = "tables: CSV, NPY, Arrow or Parquet";
            return Err(ConvertError::usage(what, found, expected));
        }
        let fits = match kind {
            Kind::Mesh => self.faces,
            Kind::Graph | Kind::Skeleton => !self.faces,
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let found = format!("a store of kind {kind}");
        let expected = if self.faces {
            "mesh"
        } else {
            "graph or skeleton"
        };
        Err(ConvertError::usage(what, found, expected))
    }
}
