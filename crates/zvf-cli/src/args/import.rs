//! `zvf import`.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, ValueEnum};
use zvf_convert::{Format, Nulls};
use zvf_write::{Compression, ShardShape, TargetVersion};

use super::columns::ColumnArgs;
use super::common::IdArgs;
use super::place::{MapArgs, SpaceArg};

/// `zvf import`
#[derive(Debug, Args)]
#[command(
    override_usage = "zvf import [OPTIONS] <FILE>... <STORE>",
    after_help = "\
What a file becomes follows from its ending, unless --kind says otherwise:
  .swc        skeleton (or graph); one object a file
  .csv .tsv .txt
              point_cloud, a vertex a row; with --object-column also polyline or streamline; .csv.gz and the like, too
  .arrow .feather .ipc .arrows
              the same, of an Arrow IPC file or stream; a position may be one column of lists
  .parquet    the same, of a Parquet file
  .ndjson .jsonl
              the same, of JSON objects, one a line; a list is a column for each of its values
  .xyz        point_cloud: rows of numbers between blanks, without a header: x, y, z and more
  .npy        point_cloud: positions, (N, D)
  .npz        by its arrays: positions (N, D), edges (M, 2) or faces (M, 3 or 4), object_id (N,), others attributes
  .obj .stl   mesh of triangles, or of quads; one object a file
  .ply        mesh where it has faces, graph where it has edges, else point_cloud; properties are attributes
  .las .laz   point_cloud, COPC files as well; all fields are attributes, positions are float64, the CRS is kept
  .trk .tck .trx
              streamline (or polyline); one object a streamline
  a folder with the file `info`
              one of Neuroglancer's precomputed formats, sharded or not: skeletons, meshes (legacy or multi-resolution) or
              annotations (points, lines, polylines), in nanometres or the units of `info`

A table (.csv .tsv .arrow .parquet .ndjson .npy) may have a table of links beside it: with --edges it becomes a graph, or a skeleton with
--kind skeleton (child, then parent), with --faces a mesh. Other columns are attributes of the links. Links name rows of the table,
from 0, or with --node-id values of its column. Where a column id, node_id or index does not count the rows, one has to be said.

Tables of text: lines that begin with # before the first one are comments, which may have the names of the columns. Whole numbers that no
type holds, numbers beyond float64 or with separators of thousands, and quotes that are never closed are refused.

Several files of one format make one store. Files named by numbers keep them as object ids. Ids that two files have are an error: --id-offset,
--id-from-file and --new-ids keep their objects apart. The store is there as a whole or not at all.

Positions of tractograms are stored as scanner RAS+ millimetres, as nibabel loads them; --space voxelmm or file stores others. The
header and the affine that was applied are kept in the store's `headers`, so that `zvf export` restores the frame of a TRK. Positions of
other formats are those of the files, unless --scale, --affine or a number before the unit (8nm) transform them; `zvf append` does the
same with files that it adds. Axes named t, time or frame are of type time: they come first, have a unit of their own (--unit um,t=second),
and no length scales them.

Examples:
  zvf import 1734350788.swc 1734350908.swc neurons.zarrvectors --unit nanometer
  zvf import hemibrain.swc neuron.zarrvectors --unit 8nm           # voxels of 8 nm: 8 times the numbers, in nanometers
  zvf import spots.csv spots.zarrvectors --affine t1.nii.gz        # voxels of an image, to where the image has them
  zvf import synapses.csv synapses.zarrvectors --attributes type,confidence
  zvf import flight.parquet flight.zarrvectors --exclude gps_week,raw --nulls -1
  duckdb -csv -c 'from lidar' | zvf import - lidar.zarrvectors --format csv
  zvf import cells.csv cells.zarrvectors --position cx,cy,cz --object-column cell
  zvf import spots.csv movie.zarrvectors --position t,x,y,z --unit 0.5um,t=30s
  zvf import nodes.parquet vessels.zarrvectors --edges edges.parquet --link-columns node1,node2
  zvf import cells.csv lineage.zarrvectors --edges divisions.csv --node-id cell_id
  zvf import punkte.csv points.zarrvectors --decimal , --na -,k.A. --rename 'Zelle/Typ=type'
  zvf import tile1.laz tile2.laz area.zarrvectors
  zvf import scan.txt scan.zarrvectors --columns-in x,y,z,intensity
  zvf import corners.npy surface.zarrvectors --faces triangles.npy
  zvf import huge.csv huge.zarrvectors --journal huge.journal      # the same line again resumes after a crash
  zvf import mesh.obj s3://bucket/mesh.zarrvectors --chunk-shape 4096,4096,4096 --codec none
  zvf import spots.csv spots.zarrvectors --chunk-by gene
  zvf import tile-0.csv all.zarrvectors --begin --parts 20 --chunk-shape 9,9 --bounds 0,0:90,90
  zvf import tile-7.csv all.zarrvectors --part 7 --chunk-shape 9,9 --bounds 0,0:90,90
  zvf import all.zarrvectors --status
  zvf import tracks.trk tracks.zarrvectors --json | jq .frame
  zvf import segmentation/skeletons neurons.zarrvectors            # a folder of Neuroglancer's skeletons"
)]
pub(crate) struct ImportArgs {
    /// Files of one format or one folder with `info`, then the path or URL of the new store, where nothing may be yet
    #[arg(value_names = ["FILE", "STORE"], required = true, num_args = 1..)]
    paths: Vec<PathBuf>,
    /// All paths but the last one.
    #[arg(skip)]
    pub(crate) files: Vec<PathBuf>,
    /// The last path.
    #[arg(skip)]
    pub(crate) store: String,
    /// The geometry, e.g. point_cloud, polyline, streamline, graph, skeleton, mesh
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Tables: the columns of a position, one for each axis [default: x,y and, if present, z]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) position: Option<Vec<String>>,
    /// Tables: the column with the object of a row, a whole number [default: object_id, if present]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) object_column: Option<String>,
    /// Which ids objects get, where several files have some
    #[command(flatten)]
    pub(crate) ids: IdArgs,
    /// Tables: the columns that become attributes, of all others: all, none or names
    #[arg(
        long,
        value_name = "all|none|NAME,..",
        value_delimiter = ',',
        default_value = "all"
    )]
    pub(crate) attributes: Vec<String>,
    /// Tables: columns that are left out, and never looked at
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
    /// Tables: the treatment of missing values: keep (whole numbers become float64 with NaN if it holds them all, truth values
    /// the texts true and false), error, drop-row, or a whole number that no row has. Floats are NaN, texts stay missing
    #[arg(
        long,
        value_name = "keep|error|drop-row|NUMBER",
        default_value = "keep",
        allow_negative_numbers = true
    )]
    pub(crate) nulls: Nulls,
    /// The format of the files, e.g. csv, parquet, arrow [default: by their endings]; needed where FILE is - (standard input)
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format: Option<Format>,
    /// How the columns of tables are read.
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Tables: another table with edges, a row an edge
    #[arg(long, value_name = "FILE", conflicts_with = "faces")]
    pub(crate) edges: Option<PathBuf>,
    /// Tables: another table with faces, a row a face of three or four corners
    #[arg(long, value_name = "FILE")]
    pub(crate) faces: Option<PathBuf>,
    /// Unit of all axes of space, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=second is the unit of one axis, um,t=second both
    /// [default: as the format, the table or the image of --affine states]
    #[arg(long, value_name = "UNIT,..")]
    pub(crate) unit: Option<String>,
    /// Coordinate reference system of the positions, e.g. EPSG:25832, or WKT [default: as LAS files state]
    #[arg(long, value_name = "CRS")]
    pub(crate) crs: Option<String>,
    /// Types of axes: space, time or channel [default: time for t, time and frame, space for all others]
    #[arg(long = "axis", value_name = "NAME:TYPE,..", value_delimiter = ',', value_parser = axis_type)]
    pub(crate) axis_types: Vec<(String, String)>,
    /// Tractograms: the frame in which positions are stored [default: rasmm]
    #[arg(long, value_enum, value_name = "FRAME")]
    pub(crate) space: Option<SpaceArg>,
    #[command(flatten)]
    pub(crate) map: MapArgs,
    /// Size of a chunk on each axis [default: chosen from the data, and said]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = zvf_jobs::parse_size)]
    pub(crate) chunk_shape: Option<Vec<f64>>,
    /// Size of a bin on each axis: a whole part of the chunk's [default: chosen for points without objects]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',', value_parser = zvf_jobs::parse_size)]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// How chunks are compressed: auto (the codec of each array follows its data), none, zstd,
    /// zstd:LEVEL, gzip, gzip:LEVEL, blosc (LZ4 over shuffled bytes: faster to read and write),
    /// or a list of Zarr codecs in JSON
    #[arg(long, value_name = "CODEC", default_value = "auto")]
    pub(crate) codec: Compression,
    /// Chunks of a shard along each axis; auto: from 1000 chunks on at most 128 files an array, or shards of up to 8 MiB; none: every
    /// chunk is a file of its own, so that an edit writes fewer bytes
    #[arg(long, value_name = "X,Y,..|auto|none", default_value = "auto")]
    pub(crate) shard_shape: ShardShape,
    /// Divides chunks by the value of a vertex attribute, too: truth values, whole numbers or texts. The value is in the keys of
    /// chunks then; useful if queries name one of few values
    #[arg(long, value_name = "NAME")]
    pub(crate) chunk_by: Option<String>,
    /// Version of the format
    #[arg(long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
    pub(crate) target: TargetArg,
    /// Records the data that were read in FILE until the store is complete: the same command resumes after a crash, if the files are
    /// the same
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Removes what an interrupted import left at STORE; a finished store or finished parts are never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
    /// One store by several programs: begins it. Then each program writes a --part, and at the end one runs --commit, all with
    /// the same options; the columns of FILE define the attributes of the store. Repeating it is success
    #[arg(long, group = "step", requires_all = ["bounds", "chunk_shape"], conflicts_with = "journal")]
    pub(crate) begin: bool,
    /// With --begin: the parts that must come, as their number (20 is 0 to 19), names, or a file of names, one a line. No other
    /// part is taken, and --commit refuses while one is missing
    #[arg(
        long,
        value_name = "N|NAME,..|@FILE",
        value_delimiter = ',',
        requires = "begin"
    )]
    pub(crate) parts: Option<Vec<String>>,
    /// Writes the files as the part of that name: chunks that no other part has. Again by the same name, if it was interrupted; a
    /// part that is finished is success, and nothing is written
    #[arg(long, value_name = "NAME", group = "step", requires_all = ["bounds", "chunk_shape"], conflicts_with_all = ["journal", "clear_leftovers"])]
    pub(crate) part: Option<String>,
    /// With --part: writes the part once more, in the place of the one that is finished
    #[arg(long, requires = "part")]
    pub(crate) redo: bool,
    /// Puts the parts together: the store is there after that. Again, if it was interrupted
    #[arg(long, group = "step", requires_all = ["bounds", "chunk_shape"], conflicts_with_all = ["journal", "clear_leftovers"])]
    pub(crate) commit: bool,
    /// With --commit: also without parts that were declared or begun and are not finished; the store names these in its root, as
    /// `zvf_absent_parts`
    #[arg(long, requires = "commit")]
    pub(crate) allow_missing: bool,
    /// Lists the parts of a begun store: waiting, begun by whom and when, finished. STORE is the only path
    #[arg(long, group = "step", conflicts_with_all = ["journal", "clear_leftovers"])]
    pub(crate) status: bool,
    /// Removes all parts of a begun store, finished ones, too, and says which. STORE is the only path
    #[arg(long, group = "step", conflicts_with_all = ["journal", "clear_leftovers"])]
    pub(crate) discard_parts: bool,
    /// The corners that all parts keep to
    #[arg(
        long,
        value_name = "LO:HI",
        requires = "step",
        allow_hyphen_values = true
    )]
    pub(crate) bounds: Option<String>,
}

impl ImportArgs {
    /// Separates the paths. They are one argument, because options may be between them.
    ///
    /// # Errors
    ///
    /// Fewer than two paths, or a store with a name that is not Unicode.
    pub(super) fn settle(&mut self) -> Result<(), clap::Error> {
        let mut paths = std::mem::take(&mut self.paths);
        let alone = self.status || self.discard_parts;
        let store = paths.pop().filter(|_| paths.is_empty() == alone);
        let store = store.map(|store| store.into_os_string().into_string());
        if let Some(Ok(store)) = store {
            (self.files, self.store) = (paths, store);
            return Ok(());
        }
        let (kind, what) = match store {
            None if alone => (
                ErrorKind::TooManyValues,
                "found several paths, expected the store alone",
            ),
            None => (
                ErrorKind::MissingRequiredArgument,
                "found one path, expected files and then the store",
            ),
            Some(_) => (ErrorKind::InvalidUtf8, "the path of the store is not UTF-8"),
        };
        let mut program = super::Cli::command();
        program.build();
        Err(match program.find_subcommand_mut("import") {
            Some(import) => import.error(kind, what),
            None => program.error(kind, what),
        })
    }
}

/// `NAME:TYPE`
fn axis_type(text: &str) -> Result<(String, String), String> {
    let (name, kind) = text.rsplit_once(':').ok_or("expected NAME:TYPE")?;
    Ok((name.to_owned(), kind.to_owned()))
}

/// Versions of the format that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetArg {
    /// 0.9.2
    #[value(name = "0.9.2")]
    V0_9_2,
    /// 0.8.1, flat: an array for every chunk; ids of objects are row numbers
    #[value(name = "0.8.1")]
    V0_8_1,
}

impl From<TargetArg> for TargetVersion {
    fn from(target: TargetArg) -> Self {
        match target {
            TargetArg::V0_9_2 => Self::V0_9_2,
            TargetArg::V0_8_1 => Self::V0_8_1,
        }
    }
}

/// A format by one of its endings.
fn format(text: &str) -> Result<Format, String> {
    let name = text.trim_start_matches('.');
    Format::from_name(name).ok_or_else(|| {
        format!("found {text:?}, expected precomputed, or an ending such as csv, tsv, arrow, parquet or npy")
    })
}
