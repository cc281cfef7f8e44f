//! Options of imports.

use std::path::{Path, PathBuf};

use zvf_query::BBox;
use zvf_store::{Stop, StoreError};
use zvf_write::{AttributeType, Kind};

use crate::frame::Space;
use crate::ids::ObjectIds;
use crate::store_frame::StoreFrame;
use crate::{ConvertError, Format};

/// Limits of files. Exceeding one is an error of the class limit, before memory is allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileLimits {
    /// Vertices, over all files. Default 2^40.
    pub vertices: u64,
    /// Items in memory at once: nodes of one SWC file, vertices of one STL file or precomputed object, corners of one face. Default 50 million.
    pub held: u64,
    /// Bytes of a line of text, or of a record of a table. Default 16 MiB.
    pub line: u64,
    /// Columns of a table. Default 4096.
    pub columns: u64,
    /// Different texts of a column. Default one million.
    pub categories: u64,
    /// Bytes of the ids by which links name vertices ([`Options::node_id`]). Default 1 GiB.
    pub ids: u64,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            vertices: 1 << 40,
            held: 50_000_000,
            line: 16 << 20,
            columns: 4096,
            categories: 1_000_000,
            ids: 1 << 30,
        }
    }
}

/// The treatment of missing values in tables. Unless [`Error`](Self::Error) or [`DropRow`](Self::DropRow) is chosen, missing floats are NaN,
/// missing texts stay missing, and missing times are the lowest number, which the description of the attribute states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nulls {
    /// Lossless: whole numbers with missing values become float64 with NaN, or are refused if float64 cannot represent all of them; booleans
    /// with missing values become the texts `true` and `false`.
    #[default]
    Keep,
    /// A missing value is an error.
    Error,
    /// Rows with a missing value are left out, and counted in a note.
    DropRow,
    /// Missing whole numbers become this one, which no row may have.
    Value(i64),
}

impl std::str::FromStr for Nulls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "keep" => Ok(Self::Keep),
            "error" => Ok(Self::Error),
            "drop-row" => Ok(Self::DropRow),
            number => number
                .parse()
                .map(Self::Value)
                .map_err(|_| "expected keep, error, drop-row or a whole number".to_owned()),
        }
    }
}

/// How files are read. By default everything is determined from the files.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The geometry. Default: the usual kind of the format.
    pub kind: Option<Kind>,
    /// Tables: the position columns, one per axis. Default `x`, `y` and, if it exists, `z`.
    pub position: Option<Vec<String>>,
    /// Tables: the column with the object that a row belongs to, a whole number.
    pub object_column: Option<String>,
    /// Tables: the columns that become attributes. Default: all others.
    pub attributes: Option<Vec<String>>,
    /// Tables: columns that are ignored.
    pub exclude: Vec<String>,
    /// Tables: the treatment of missing values.
    pub nulls: Nulls,
    /// Tables of text: the texts that mark a missing value, in every column. Default: `NA`, `NaN` and `null`, in columns without
    /// other texts. An empty field is always missing.
    pub na: Option<Vec<String>>,
    /// Tables of text: whether numbers have a decimal comma.
    pub decimal_comma: bool,
    /// Tables of separated values: the names of the columns, for files without a header line.
    pub columns_in: Option<Vec<String>>,
    /// Tables of text: column types, either numbers or [`AttributeType::Category`] for texts. Default: the narrowest type for all values.
    pub attribute_types: Vec<(String, AttributeType)>,
    /// Tables: columns that get another name, the old and the new one. All other options use the new one.
    pub rename: Vec<(String, String)>,
    /// How the objects of several files get their ids.
    pub ids: ObjectIds,
    /// The format of the files. Default: by their endings.
    pub format: Option<Format>,
    /// Tables: the byte between columns. Default: a comma, a tab in files that end in `.tsv`.
    pub delimiter: Option<u8>,
    /// Tables: another table with the edges, by rows of the vertex table from 0: a graph, or a skeleton.
    pub edges: Option<PathBuf>,
    /// Tables: another table with the faces: a mesh.
    pub faces: Option<PathBuf>,
    /// The columns of the table of links that refer to vertices, in the order of a link. Default: a column `vertices` of lists, or one for each end:
    /// `vertices_0`, …; `source` and `target`, `from` and `to`, `child` and `parent`; `a`, `b`, `c` and, if it exists, `d`.
    pub link_columns: Option<Vec<String>>,
    /// The column of the vertex table by which links refer to vertices: unique integers or texts. Default: links use row numbers of the
    /// vertex table, from 0; refused if a column is named like an id column and its values are not the row numbers.
    pub node_id: Option<String>,
    /// Whether links refer to rows even if the vertex table has a column of ids.
    pub links_by_row: bool,
    /// Units of the axes, separated by commas: a length applies to all axes of space; `AXIS=UNIT` to one axis, with a time for an axis of
    /// time (`um,t=second`). A unit is given by its OME-Zarr name, its symbol or in the plural; a number before it is a scale (`8nm`).
    /// Default: the unit of the format, of the table (`zvf.axes`) or of the image of [`affine`](Self::affine), if one is stated.
    pub unit: Option<String>,
    /// Types of axes by name: `space`, `time` or `channel`. Default: the types in the table (`zvf.axes`), else `time` for `t`, `time`
    /// and `frame`, and `space` for all others.
    pub axis_types: Vec<(String, String)>,
    /// Tractograms: the frame in which positions are stored. Default: [`Space::Rasmm`].
    pub space: Option<Space>,
    /// All formats except tractograms: the file with the affine from positions of the files to positions in the store, see
    /// [`read_affine`](crate::read_affine).
    pub affine: Option<PathBuf>,
    /// All but tractograms: factors of the positions, one for all axes of space or one for each axis; applied before the affine.
    pub scale: Option<Vec<f64>>,
    /// The coordinate reference system of the positions, such as `EPSG:25832` or WKT. Default: from the files (LAS), or none.
    pub crs: Option<String>,
    /// LAS and LAZ: only the points in this box, both ends included, in coordinates of the files. In a COPC file, only the chunks that meet the box
    /// are read.
    pub bbox: Option<BBox>,
    /// COPC: only the points of the levels down to the first one with a spacing of at most this number, in units of the file.
    pub resolution: Option<f64>,
    /// The frame of an existing store, to which positions are converted. [`unit`](Self::unit), [`scale`](Self::scale) and
    /// [`affine`](Self::affine) then describe the files. Default: a new store is made for the files.
    pub into: Option<StoreFrame>,
    /// Whether the files are one part of a distributed write with known bounds. Then they may have no vertices, and members of LAS headers that the
    /// files of one survey do not share (offset, source, software and day) are not stored.
    pub part: bool,
    /// Vertices of a batch, roughly. Default 65 536.
    pub batch: usize,
    /// Limits of files.
    pub limits: FileLimits,
    /// Stops the first pass: between two files, in tables and files of points also within a file.
    pub stop: Option<Stop>,
    /// Whether columns of unsupported types are left out instead of refused.
    pub(crate) loose: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: None,
            position: None,
            object_column: None,
            attributes: None,
            exclude: Vec::new(),
            nulls: Nulls::default(),
            na: None,
            decimal_comma: false,
            columns_in: None,
            attribute_types: Vec::new(),
            rename: Vec::new(),
            ids: ObjectIds::default(),
            format: None,
            delimiter: None,
            edges: None,
            faces: None,
            link_columns: None,
            node_id: None,
            links_by_row: false,
            unit: None,
            axis_types: Vec::new(),
            space: None,
            affine: None,
            scale: None,
            crs: None,
            bbox: None,
            resolution: None,
            into: None,
            part: false,
            batch: 1 << 16,
            limits: FileLimits::default(),
            stop: None,
            loose: false,
        }
    }
}

impl Options {
    /// Fails if a stop was requested through [`stop`](Self::stop).
    pub(crate) fn check_stop(&self) -> Result<(), ConvertError> {
        let checked = self.stop.as_ref().map_or(Ok(()), Stop::check);
        checked.map_err(|error| StoreError::from(error).into())
    }

    /// The table of links, and whether they are faces.
    pub(crate) fn links(&self) -> Option<(&Path, bool)> {
        let faces = self.faces.as_deref().map(|path| (path, true));
        faces.or(self.edges.as_deref().map(|path| (path, false)))
    }

    /// The kinds of geometry that a table of links implies, the default first.
    pub(crate) fn linked(&self) -> Option<&'static [Kind]> {
        Some(match self.links()? {
            (_, true) => &[Kind::Mesh],
            (_, false) => &[Kind::Graph, Kind::Skeleton],
        })
    }
}

/// The requested kind. Fails if the files cannot become it, or if options of tables are used with other files.
pub(crate) fn kind(format: Format, files: usize, options: &Options) -> Result<Kind, ConvertError> {
    let columns = format.is_table() && format != Format::Npy;
    let columns = columns
        || matches!(
            format,
            Format::Ply | Format::Npz | Format::Las | Format::Laz
        );
    let table_only = [
        ("position", !columns && options.position.is_some()),
        (
            "object column",
            !columns && format != Format::Precomputed && options.object_column.is_some(),
        ),
        ("attributes", !columns && options.attributes.is_some()),
        ("exclude", !columns && !options.exclude.is_empty()),
        ("nulls", !columns && options.nulls != Nulls::default()),
        (
            "delimiter",
            !format.is_separated() && options.links().is_none() && options.delimiter.is_some(),
        ),
        (
            "columns in",
            !format.is_separated() && options.columns_in.is_some(),
        ),
        ("rename", !columns && !options.rename.is_empty()),
        (
            "edges or faces",
            !format.is_table() && options.links().is_some(),
        ),
    ];
    if let Some((what, _)) = table_only.iter().find(|(_, given)| *given) {
        let found = format!("one for {}", format.name());
        return Err(ConvertError::usage(*what, found, "none: it is for tables"));
    }
    let points_only = [
        ("bbox", options.bbox.is_some()),
        ("resolution", options.resolution.is_some()),
    ];
    let wrong = points_only.iter().find(|(_, given)| *given);
    if let Some((what, _)) = wrong.filter(|_| !matches!(format, Format::Las | Format::Laz)) {
        let found = format!("one for {}", format.name());
        let expected =
            "none: it is for LAS and LAZ; `zvf query STORE -o FILE` writes a part of a store";
        return Err(ConvertError::usage(*what, found, expected));
    }
    let texts = format.is_text() || options.links().is_some();
    let text_only = [
        ("na", options.na.is_some()),
        ("decimal comma", options.decimal_comma),
        (
            "attribute types",
            !format.is_text() && !options.attribute_types.is_empty(),
        ),
    ];
    let wrong = text_only.iter().find(|(_, given)| *given && !texts);
    if let Some((what, _)) = wrong {
        let found = format!("one for {}", format.name());
        let expected = "none: it is for tables of text, such as CSV and NDJSON";
        return Err(ConvertError::usage(*what, found, expected));
    }
    if options.edges.is_some() && options.faces.is_some() {
        return Err(ConvertError::usage(
            "faces",
            "edges as well",
            "one of the two",
        ));
    }
    if options.links().is_some() && files != 1 {
        let found = format!("{files} tables of vertices");
        return Err(ConvertError::usage(
            "edges or faces",
            found,
            "one: edges and faces name its rows",
        ));
    }
    if options.links().is_some() && options.node_id.is_none() && options.nulls == Nulls::DropRow {
        let expected =
            "another one: links name rows by their numbers (--node-id names vertices by a column)";
        return Err(ConvertError::usage("nulls", "drop-row", expected));
    }
    if options.node_id.is_some() && options.links_by_row {
        let expected = "one of the two";
        return Err(ConvertError::usage(
            "node id",
            "links by row as well",
            expected,
        ));
    }
    if options.links().is_none() && (options.node_id.is_some() || options.links_by_row) {
        let what = if options.links_by_row {
            "links by row"
        } else {
            "node id"
        };
        let expected = "none without a table of edges or faces";
        return Err(ConvertError::usage(what, "one", expected));
    }
    if options.links().is_none() && options.link_columns.is_some() {
        let expected = "none without a table of edges or faces";
        return Err(ConvertError::usage("link columns", "some", expected));
    }
    let kinds = options.linked().unwrap_or(format.kinds());
    let usual = kinds.first().copied().unwrap_or(Kind::PointCloud);
    match options.kind {
        None => Ok(usual),
        Some(kind) if kinds.contains(&kind) => Ok(kind),
        Some(kind) => {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let mut expected = format!("{} for {}", names.join(" or "), format.name());
            match options.links() {
                Some((_, faces)) => {
                    expected.push_str(if faces { " with faces" } else { " with edges" });
                }
                None if format.is_table() => {
                    expected
                        .push_str("; graphs, skeletons and meshes need a table of edges or faces");
                }
                None => {}
            }
            Err(ConvertError::usage("kind", kind.name(), expected))
        }
    }
}
