//! File formats, by their endings, and the kinds of geometry that their files become.

use std::path::Path;

use zvf_write::Kind;

use zvf_meta::Affine;

use crate::Found;
use crate::affine::read_affine;
use crate::error::ConvertError;
use crate::frame::{self, Space};
use crate::options::{Nulls, Options};

/// The unit of all tractograms.
const MILLIMETER: &str = "millimeter";

/// A file format that is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Neuron trees: a line a node.
    Swc,
    /// Tables of separated values with a header line.
    Csv,
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
    /// Tables as Arrow IPC files.
    Arrow,
    /// Tables as Parquet files; read and written with the feature `parquet`.
    Parquet,
    /// Folders of Neuroglancer's precomputed formats: skeletons, meshes or annotations, with `info` in them. Read only.
    Precomputed,
}

impl Format {
    /// Every format, with its endings.
    const ENDINGS: [(&'static str, Self); 17] = [
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
        ("npy", Self::Npy),
        ("npz", Self::Npz),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
        ("arrows", Self::Arrow),
        ("parquet", Self::Parquet),
    ];

    /// The endings of all formats, without the dot.
    pub fn endings() -> impl Iterator<Item = &'static str> {
        Self::ENDINGS.iter().map(|(ending, _)| *ending)
    }

    /// The format of a file, by its ending; of a folder, by the document `info` in it.
    ///
    /// # Errors
    /// Misuse: an ending that none has.
    pub fn of(path: &Path) -> Result<Self, ConvertError> {
        if crate::precomputed::is_folder(path) {
            return Ok(Self::Precomputed);
        }
        let stem = unpacked(path);
        let ending = stem.unwrap_or(path).extension();
        let ending = ending.and_then(|ending| ending.to_str());
        match ending.and_then(Self::from_name) {
            Some(Self::Csv) => Ok(Self::Csv),
            Some(format) if stem.is_none() => Ok(format),
            Some(format) => Err(ConvertError::usage(
                path.display().to_string(),
                format!("{}, packed by gzip", format.name()),
                "a file that is not packed: only those of separated values are read so",
            )),
            None => {
                let known: Vec<String> = Self::endings().map(|name| format!(".{name}")).collect();
                let expected = format!("a file that ends in {}", known.join(", "));
                let found = ending.map_or_else(|| "no ending".to_owned(), |e| format!(".{e}"));
                Err(ConvertError::usage(
                    path.display().to_string(),
                    found,
                    expected,
                ))
            }
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
            Self::Obj => "OBJ",
            Self::Stl => "STL",
            Self::Trk => "TRK",
            Self::Tck => "TCK",
            Self::Trx => "TRX",
            Self::Ply => "PLY",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Arrow => "Arrow",
            Self::Parquet => "Parquet",
            Self::Precomputed => "precomputed",
        }
    }

    /// Whether a file of this format is one table, a vertex a row.
    pub(crate) const fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Npy | Self::Arrow | Self::Parquet)
    }

    /// Whether a file of this format has streamlines, in a frame that the format fixes.
    pub(crate) const fn is_tractogram(self) -> bool {
        matches!(self, Self::Trk | Self::Tck | Self::Trx)
    }

    /// The kinds that a file of this format can become, the usual one first.
    const fn kinds(self) -> &'static [Kind] {
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
            ],
            Self::Csv | Self::Npy | Self::Arrow | Self::Parquet => {
                &[Kind::PointCloud, Kind::Polyline, Kind::Streamline]
            }
        }
    }
}

/// The map of positions that options ask for, and the unit that an image states with it.
pub(crate) fn map(
    format: Format,
    options: &Options,
    unit: Option<(f64, &str)>,
    found: &Found,
) -> Result<(Option<Affine>, Option<&'static str>), ConvertError> {
    let dims = found.extent.dims();
    let named = unit.map(|(_, name)| name);
    let unit = unit
        .map(|(factor, _)| factor)
        .filter(|factor| *factor != 1.0);
    if format.is_tractogram() {
        if options.affine.is_some() || options.scale.is_some() || unit.is_some() {
            let found = format!("one for {}", format.name());
            let expected = "none: the format fixes the frame of its positions, and `--space` chooses between frames";
            return Err(ConvertError::usage(
                "affine, scale or unit with a number",
                found,
                expected,
            ));
        }
        if let Some(name) = named.filter(|name| *name != MILLIMETER) {
            let found = format!("{name} for {}", format.name());
            let expected = "millimeter, or none: the format fixes the unit of its positions";
            return Err(ConvertError::usage("unit", found, expected));
        }
        // TRK is mapped by its reader, and TCK has no voxels.
        let space = options.space.unwrap_or_default();
        let frame = found.frame.as_ref().and_then(frame::split);
        return match (format, space, frame) {
            (Format::Tck, Space::Voxelmm, _) => {
                let expected = "rasmm or file: the header has no voxels";
                Err(ConvertError::usage("space of TCK", "voxelmm", expected))
            }
            (Format::Trx, Space::Voxelmm, Some((source, members))) => {
                let map = frame::grid(&source, &members).and_then(|grid| grid.to_rasmm());
                let map = map.and_then(|map| map.inverse().map_err(|error| error.what));
                let map = map.map_err(|why| {
                    ConvertError::usage(
                        "space of TRX",
                        format!("voxelmm, and the header: {why}"),
                        "rasmm",
                    )
                })?;
                Ok((Some(map), None))
            }
            _ => Ok((None, None)),
        };
    }
    if let Some(name) = named.filter(|_| format == Format::Precomputed)
        && options.scale.is_none()
        && options.affine.is_none()
    {
        let found = format!("{name} for {}", format.name());
        let expected =
            "none: the folder states its units; with --scale or --affine, the unit behind them";
        return Err(ConvertError::usage("unit", found, expected));
    }
    if let Some(space) = options.space {
        let found = format!("{} for {}", space.name(), format.name());
        return Err(ConvertError::usage(
            "space",
            found,
            "none: it is for TRK, TCK and TRX",
        ));
    }
    let scale = match (&options.scale, unit) {
        (Some(_), Some(factor)) => {
            let expected = "one of the two";
            return Err(ConvertError::usage(
                "scale",
                format!("a scale, and {factor} before the unit"),
                expected,
            ));
        }
        (Some(factors), None) => match factors.as_slice() {
            [one] => Some(vec![*one; dims]),
            list if list.len() == dims => Some(list.to_vec()),
            list => {
                let found = format!("{} factors", list.len());
                return Err(ConvertError::usage(
                    "scale",
                    found,
                    format!("1 or {dims}, one an axis"),
                ));
            }
        },
        (None, factor) => factor.map(|factor| vec![factor; dims]),
    };
    if let Some(wrong) = scale
        .iter()
        .flatten()
        .find(|one| **one == 0.0 || !one.is_finite())
    {
        return Err(ConvertError::usage(
            "scale",
            wrong.to_string(),
            "a number that is not 0",
        ));
    }
    let scale = scale.map(|factors| Affine::of_scale(&factors));
    let stated = options
        .affine
        .as_deref()
        .map(|path| read_affine(path, dims))
        .transpose()?;
    let (affine, unit) = stated.map_or((None, None), |stated| (Some(stated.affine), stated.unit));
    if let Some(affine) = &affine {
        affine
            .inverse()
            .map_err(|error| ConvertError::usage("affine", error.what, "three directions"))?;
    }
    let map = match (affine, scale) {
        (Some(affine), Some(scale)) => Some(affine.after(&scale)),
        (affine, scale) => affine.or(scale),
    };
    Ok((map, unit))
}

/// The name of a file that is packed by gzip, without `.gz`.
pub(crate) fn unpacked(path: &Path) -> Option<&Path> {
    let packed = path.extension()?.eq_ignore_ascii_case("gz");
    packed.then(|| path.file_stem().map(Path::new))?
}

/// The kind asked for, if the files can become it and the options of tables are used with tables.
pub(crate) fn kind(format: Format, files: usize, options: &Options) -> Result<Kind, ConvertError> {
    let columns = format.is_table() && format != Format::Npy;
    let columns = columns || matches!(format, Format::Ply | Format::Npz);
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
            format != Format::Csv && options.links().is_none() && options.delimiter.is_some(),
        ),
        (
            "edges or faces",
            !format.is_table() && options.links().is_some(),
        ),
    ];
    if let Some((what, _)) = table_only.iter().find(|(_, given)| *given) {
        let found = format!("one for {}", format.name());
        return Err(ConvertError::usage(*what, found, "none: it is for tables"));
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
            "one, whose rows they name",
        ));
    }
    if options.links().is_some() && options.nulls == Nulls::DropRow {
        let expected = "another one: links name rows by their numbers";
        return Err(ConvertError::usage("nulls", "drop-row", expected));
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
