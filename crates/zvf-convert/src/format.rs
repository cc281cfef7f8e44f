//! File formats, by their endings, and the kinds of geometry that their files become.

use std::path::Path;

use zvf_write::Kind;

use crate::error::ConvertError;

/// A file format that is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Neuron trees: one line for each node.
    Swc,
    /// Tables of separated values with a header line.
    Csv,
    /// Tables as JSON, one object per line. Read only.
    Ndjson,
    /// Points as rows of numbers between blanks, without a header line: `x`, `y`, `z` and more. Read only.
    Xyz,
    /// Wavefront meshes.
    Obj,
    /// Triangles by their corners, text or binary.
    Stl,
    /// TrackVis streamlines.
    Trk,
    /// MRtrix streamlines.
    Tck,
    /// Streamlines as raw arrays in an archive.
    Trx,
    /// Polygons: vertices with properties, faces or edges; text or binary.
    Ply,
    /// One NumPy array: positions.
    Npy,
    /// NumPy arrays by name, in an archive: `positions` `(N, D)`; `edges` `(M, 2)` or `faces` `(M, 3)` or `(M, 4)`, by vertices from
    /// 0; `object_id` `(N,)`; any other of `(N,)` or `(N, C)` is an attribute.
    Npz,
    /// Points of laser scanners: LAS 1.0 to 1.4, point formats 0 to 10. Files are read as their header says, also LAZ and COPC with the
    /// feature `laz`.
    Las,
    /// LAS, compressed; with the feature `laz`. COPC is read only.
    Laz,
    /// Tables as Arrow IPC files.
    Arrow,
    /// Tables as Parquet files; read and written with the feature `parquet`.
    Parquet,
    /// Folders of Neuroglancer's precomputed formats: skeletons, meshes or annotations, with `info` in them. Read only.
    Precomputed,
}

/// The ending of a name, without the ending of its compression.
fn ending(path: &Path) -> Option<&str> {
    unpacked(path).unwrap_or(path).extension()?.to_str()
}

/// The error for an ending that is none of `known`.
fn unknown(path: &Path, known: impl Iterator<Item = &'static str>) -> ConvertError {
    let known: Vec<String> = known.map(|name| format!(".{name}")).collect();
    let expected = format!("a file that ends in {}", known.join(", "));
    let found = ending(path).map_or_else(|| "no ending".to_owned(), |name| format!(".{name}"));
    ConvertError::usage(path.display().to_string(), found, expected)
}

impl Format {
    /// All formats with a header of their own; LAZ shares the header of LAS.
    pub(crate) const ALL: [Self; 16] = [
        Self::Swc,
        Self::Csv,
        Self::Ndjson,
        Self::Xyz,
        Self::Obj,
        Self::Stl,
        Self::Trk,
        Self::Tck,
        Self::Trx,
        Self::Ply,
        Self::Las,
        Self::Npy,
        Self::Npz,
        Self::Arrow,
        Self::Parquet,
        Self::Precomputed,
    ];

    /// The endings of files, each with its format.
    const ENDINGS: [(&'static str, Self); 22] = [
        ("swc", Self::Swc),
        ("csv", Self::Csv),
        ("tsv", Self::Csv),
        ("txt", Self::Csv),
        ("obj", Self::Obj),
        ("stl", Self::Stl),
        ("trk", Self::Trk),
        ("tck", Self::Tck),
        ("trx", Self::Trx),
        ("ply", Self::Ply),
        ("las", Self::Las),
        ("laz", Self::Laz),
        ("npy", Self::Npy),
        ("npz", Self::Npz),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
        ("arrows", Self::Arrow),
        ("parquet", Self::Parquet),
        ("ndjson", Self::Ndjson),
        ("jsonl", Self::Ndjson),
        ("xyz", Self::Xyz),
    ];

    /// The endings of all formats, without the dot.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        Self::ENDINGS.iter().map(|(ending, _)| *ending)
    }

    /// The endings of the formats that exports write, without the dot.
    pub fn written_endings() -> impl Iterator<Item = &'static str> {
        let written = |(_, format): &&(_, Self)| !matches!(format, Self::Ndjson | Self::Xyz);
        let found = Self::ENDINGS.iter().filter(written);
        found.map(|(ending, _)| *ending)
    }

    /// The format of a file that is written, by its ending.
    ///
    /// # Errors
    /// Misuse: an unknown ending (the error lists those that exports write); a gzip-compressed file that is not CSV or XYZ.
    pub fn of_output(path: &Path) -> Result<Self, ConvertError> {
        Self::of(path).map_err(|error| match ending(path).and_then(Self::from_name) {
            Some(_) => error,
            None => unknown(path, Self::written_endings()),
        })
    }

    /// The format of a file, by its ending; of a folder, by the document `info` in it.
    ///
    /// # Errors
    /// Misuse: an unknown ending; a gzip-compressed file that is not CSV or XYZ.
    pub fn of(path: &Path) -> Result<Self, ConvertError> {
        if path.is_dir() && path.join("info").is_file() {
            return Ok(Self::Precomputed);
        }
        let stem = unpacked(path);
        match ending(path).and_then(Self::from_name) {
            Some(format @ (Self::Csv | Self::Xyz)) => Ok(format),
            Some(format) if stem.is_none() => Ok(format),
            Some(format) => Err(ConvertError::usage(
                path.display().to_string(),
                format!("{} compressed by gzip", format.name()),
                "an uncompressed file: only tables of separated values are read compressed",
            )),
            None => Err(unknown(path, Self::endings())),
        }
    }

    /// The format of files with this ending, which is also its name for options.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        if lower == "precomputed" {
            return Some(Self::Precomputed);
        }
        let found = Self::ENDINGS.iter().find(|(name, _)| lower == *name);
        found.map(|(_, format)| *format)
    }

    /// The name of the format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Swc => "SWC",
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
            Self::Xyz => "XYZ",
            Self::Obj => "OBJ",
            Self::Stl => "STL",
            Self::Trk => "TRK",
            Self::Tck => "TCK",
            Self::Trx => "TRX",
            Self::Ply => "PLY",
            Self::Las => "LAS",
            Self::Laz => "LAZ",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
            Self::Precomputed => "precomputed",
        }
    }

    /// The name of the header that a store keeps for files of this format.
    pub(crate) fn header(self) -> String {
        self.as_read().name().to_lowercase()
    }

    /// The format whose reader is used: LAZ is read as LAS, whose header states the compression.
    pub(crate) const fn as_read(self) -> Self {
        match self {
            Self::Laz => Self::Las,
            other => other,
        }
    }

    /// Whether the attribute `radius` of nodes is a length that is mapped with the positions.
    pub(crate) const fn has_radii(self) -> bool {
        matches!(self, Self::Swc | Self::Precomputed)
    }

    /// Whether a file of this format is one table with a row for each vertex.
    #[must_use]
    pub const fn is_table(self) -> bool {
        matches!(
            self,
            Self::Csv | Self::Ndjson | Self::Xyz | Self::Npy | Self::Arrow | Self::Parquet
        )
    }

    /// Whether the format is a table of text, which has no column types.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Ndjson | Self::Xyz)
    }

    /// Whether the format separates columns by a character.
    pub(crate) const fn is_separated(self) -> bool {
        matches!(self, Self::Csv | Self::Xyz)
    }

    /// Whether a file of this format has streamlines, in a frame that the format fixes.
    pub(crate) const fn is_tractogram(self) -> bool {
        matches!(self, Self::Trk | Self::Tck | Self::Trx)
    }

    /// The kinds that a file of this format can become, the usual one first.
    pub(crate) const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Swc => &[Kind::Skeleton, Kind::Graph],
            Self::Precomputed => Kind::ALL,
            Self::Obj | Self::Stl => &[Kind::Mesh],
            Self::Trk | Self::Tck | Self::Trx => &[Kind::Streamline, Kind::Polyline],
            Self::Ply | Self::Npz => &[
                Kind::PointCloud,
                Kind::Mesh,
                Kind::Graph,
                Kind::Polyline,
                Kind::Streamline,
                Kind::Line,
            ],
            Self::Las | Self::Laz => &[Kind::PointCloud],
            Self::Csv | Self::Ndjson | Self::Xyz | Self::Npy | Self::Arrow | Self::Parquet => &[
                Kind::PointCloud,
                Kind::Polyline,
                Kind::Streamline,
                Kind::Line,
            ],
        }
    }
}

/// The name of a gzip-compressed file without `.gz`.
pub(crate) fn unpacked(path: &Path) -> Option<&Path> {
    let packed = path.extension()?.eq_ignore_ascii_case("gz");
    packed.then(|| path.file_stem().map(Path::new))?
}

/// The file's name without its ending.
pub(crate) fn stem(path: &Path) -> String {
    let path = unpacked(path).unwrap_or(path);
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}
