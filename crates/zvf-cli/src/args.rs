//! The command line: every command, its flags and the examples in its `--help`.
//!
//! Names and meanings here are a contract with scripts. Add to them; do not change them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use zvf_query::Select;
use zvf_write::{Compression, TargetVersion};

/// Looks at, queries and takes apart Zarr Vectors stores.
///
/// STORE is a path or a URL: file://, s3://, gs://, az://, http(s)://, memory://. Credentials and endpoints come from the
/// usual environment variables of each cloud.
#[derive(Debug, Parser)]
#[command(
    name = "zvf",
    version,
    propagate_version = true,
    max_term_width = 110,
    after_help = "\
Exit codes: 0 done, 1 the validator found something, 2 wrong usage, 3 I/O, 4 malformed data, 5 a limit was reached, 130 interrupted.

Examples:
  zvf info brain.zarrvectors
  zvf query brain.zarrvectors --bbox 0,0,0:10,10,10 -o box.arrow
  zvf get s3://bucket/brain.zarrvectors 7 42 -o two-neurons"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Flags that every command takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Says what a store holds: version, kind, axes, bounds, levels, arrays, codecs and layout
    Info(InfoArgs),
    /// Selects vertices, links and objects by box, object, group or attribute
    Query(QueryArgs),
    /// Reads whole objects by id, in the order asked
    Get(GetArgs),
    /// Lists the objects of a level with their sizes and attributes
    Objects(ObjectsArgs),
    /// Lists the stored records of a link family, endpoint by endpoint
    Links(LinksArgs),
    /// Takes one blob apart byte by byte and explains every field
    Inspect(InspectArgs),
    /// Makes a new store from files: SWC, CSV, Arrow, Parquet, NPY, NPZ, OBJ, PLY, STL, TRK, TCK or TRX
    Import(ImportArgs),
    /// Makes a new store without any vertex
    Create(crate::commands::create::CreateArgs),
    /// Writes a selection of a store as a file of another format, by its ending
    Export(crate::commands::export::ExportArgs),
    /// Copies a store of any version into a new one of 0.9.2 or 0.8.1, and compares the two
    Migrate(crate::commands::migrate::MigrateArgs),
    /// Copies a store into chunks, bins or shards of another shape, and compares the two
    Rechunk(crate::commands::rechunk::RechunkArgs),
    /// Adds coarse levels: thinned points, simplified lines, contracted graphs, decimated meshes
    Pyramid(crate::commands::pyramid::PyramidArgs),
    /// Changes a store: appends, deletes and moves, sets attributes; all of an edit at once
    Edit(crate::commands::edit::EditArgs),
    /// Drops the rows of deleted objects and removes what no reader asks for
    Vacuum(crate::commands::vacuum::VacuumArgs),
    /// Looks whether a store can be trusted: structure, documents, cells, meaning, levels
    Validate(crate::commands::validate::ValidateArgs),
    /// Makes the documents of a store right again where they follow from its cells; says what it would do first
    Repair(crate::commands::repair::RepairArgs),
    /// Samples a dense volume at every vertex and keeps the values as a vertex attribute
    Sample(crate::commands::sample::SampleArgs),
    /// Reads and converts dense volumes: TET files, Caterva and b2nd frames, Zarr images
    Volume(crate::commands::volume::VolumeArgs),
    /// Prints a completion script for a shell
    Completions(CompletionsArgs),
}

/// Flags that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Machine output: one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No warnings, no progress, no remarks on stderr; errors are still said
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Says on stderr how many requests and bytes the work took
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// No progress bars (there are none anyway unless stderr is a terminal)
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Requests in flight at once
    #[arg(long, global = true, value_name = "N", value_parser = positive)]
    pub(crate) concurrency: Option<usize>,
    /// How often a request that failed is sent again, where the failure may pass; 0 = never [default: 4]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long one request may take with all its retries before the work fails [default: 30 a try, 60 in all]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Does not look again at the end whether the store changed meanwhile
    #[arg(long, global = true)]
    pub(crate) no_verify: bool,
    /// Most decoded bytes on their way at once, e.g. 512M or 2GiB (M = MiB; MB = 10^6) [default: 64M]
    #[arg(long, global = true, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_budget: Option<u64>,
    /// Writes one JSON line a request to FILE: round, method, key, offset, length, bytes, microseconds, attempt, failed
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) trace_io: Option<PathBuf>,
    /// Sends no credentials (public buckets)
    #[arg(long, global = true)]
    pub(crate) anonymous: bool,
    /// An option of the storage backend, e.g. region=eu-central-1; may be given several times
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) store_option: Vec<(String, String)>,
}

/// `zvf info`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf info brain.zarrvectors
  zvf info brain.zarrvectors --json | jq '.levels[].vertices'
  zvf info https://example.org/brain.zarrvectors --count")]
pub(crate) struct InfoArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Count vertices from the data instead of trusting the metadata
    #[arg(long)]
    pub(crate) count: bool,
}

/// The terms of a selection, which combine with AND
#[derive(Debug, Args)]
pub(crate) struct TermArgs {
    /// Vertices inside this box, both ends included; components in axis order; inf and -inf allowed
    #[arg(long, value_name = "LO:HI", allow_hyphen_values = true)]
    pub(crate) bbox: Option<String>,
    /// Whole objects by id, in the order asked: a list, or @FILE with ids between blanks, commas or lines
    #[arg(long, value_name = "ID,..|@FILE", allow_hyphen_values = true)]
    pub(crate) objects: Option<String>,
    /// Whole objects of these groups, by group number
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) groups: Option<Vec<u64>>,
    /// Comparisons on vertex attributes joined with and/or, e.g. 'intensity > 0.5 and label == 3'
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
}

/// `zvf query`
#[derive(Debug, Args)]
#[command(after_help = "\
Selections combine with AND. Without -o and --format a summary is printed.

OUT ending in .arrow, .csv, .ndjson or .npy gets the vertex table (npy: positions only); any other OUT becomes a
directory with vertices.arrow, links.arrow when the geometry has links, objects.arrow when there is an object index.
CSV has one column an axis and a channel (name_0, name_1, ..); absent values are empty. NDJSON has null for absent values and
the strings \"NaN\", \"Infinity\", \"-Infinity\" for what JSON lacks.

Examples:
  zvf query brain.zarrvectors --bbox 0,0,0:10,10,10
  zvf query brain.zarrvectors --bbox -10,-10,-inf:5,5,inf --where 'intensity > 0.5 and label == 3' -o box.csv
  zvf query tracts.zarrvectors --bbox 60,80,60:80,90,70 --select objects -o bundle
  zvf query brain.zarrvectors --objects @ids.txt --columns position,object_id --format ndjson
  zvf query brain.zarrvectors --groups 0,2 --level 1 --limit 1000 --json")]
pub(crate) struct QueryArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Which rows are meant
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box
    #[arg(long, value_enum, default_value_t = SelectArg::Vertices)]
    pub(crate) select: SelectArg,
    /// Ids that the store does not have are left out instead of being an error
    #[arg(long)]
    pub(crate) ignore_missing: bool,
    /// What is written and how
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// `zvf get`
#[derive(Debug, Args)]
#[command(after_help = "\
An id that the store does not have is an error unless --ignore-missing is given. Negative ids are fine as they are.

Examples:
  zvf get brain.zarrvectors 7
  zvf get brain.zarrvectors -4 7 4611686018427387904 -o neurons
  zvf get tracts.zarrvectors @ids.txt --level 1 --attributes none --format csv")]
pub(crate) struct GetArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Object ids, or @FILE with ids between blanks, commas or lines
    #[arg(required = true, value_name = "ID", allow_negative_numbers = true)]
    pub(crate) ids: Vec<String>,
    /// Ids that the store does not have are left out instead of being an error
    #[arg(long)]
    pub(crate) ignore_missing: bool,
    /// What is written and how
    #[command(flatten)]
    pub(crate) result: ResultArgs,
}

/// What `query` and `get` write and how.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Resolution level; 0 is the finest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: u32,
    /// Of an additive level only its own content, not that of the coarser levels which complete it
    #[arg(long)]
    pub(crate) own_level_only: bool,
    /// The first N vertices; with --select objects whole objects while they fit
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Attributes to read: all, none, or names (which also work where the storage cannot list)
    #[arg(long, value_name = "all|none|NAME,..", default_value = "all")]
    pub(crate) attributes: String,
    /// Columns of the vertex table: position, chunk, row, fragment, object_id, object_ids or attribute names
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Where the result goes: a file by its ending, or a directory
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the vertex table, on stdout unless -o is given
    #[arg(long, value_enum, value_name = "F")]
    pub(crate) format: Option<FormatArg>,
}

/// `zvf objects`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf objects brain.zarrvectors
  zvf objects brain.zarrvectors --level 1 --limit 20
  zvf objects brain.zarrvectors -o objects.csv")]
pub(crate) struct ObjectsArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Resolution level; 0 is the finest
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: u32,
    /// Of an additive level only its own content, not that of the coarser levels which complete it
    #[arg(long)]
    pub(crate) own_level_only: bool,
    /// At most this many objects
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Writes a file by its ending instead of a table: .csv, .ndjson or .arrow
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// `zvf links`
#[derive(Debug, Args)]
#[command(after_help = "\
A record is shown in the order the application gave its endpoints, each as chunk:row. Edges that the geometry implies are
not stored and not listed; `zvf query` gives those.

Examples:
  zvf links brain.zarrvectors
  zvf links brain.zarrvectors --delta +1 --limit 20
  zvf links brain.zarrvectors --level 1 --delta -1 --json")]
pub(crate) struct LinksArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Resolution level that holds the family
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) level: u32,
    /// Of an additive level only its own content, not that of the coarser levels which complete it
    #[arg(long)]
    pub(crate) own_level_only: bool,
    /// Levels that the links span: 0 inside the level, +1 to the next coarser, -1 to the next finer
    #[arg(
        long,
        value_name = "D",
        default_value = "0",
        allow_hyphen_values = true
    )]
    pub(crate) delta: String,
    /// At most this many records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Writes a file by its ending instead of a table: .csv, .ndjson or .arrow
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// `zvf inspect`
#[derive(Debug, Args)]
#[command(after_help = "\
FILE alone is one file: a chunk inside a store is understood with the metadata of its array, anything else is recognised by
its magic or structure, or named with --as. With STORE, say which blob: an array and a chunk key, an array and a row (object
index, groups), the key of an object, or the key of a document.

Damage is shown where it is: everything readable before it, then what is wrong and at which byte (exit code 4).

Examples:
  zvf inspect brain.zarrvectors '0/vertex_fragments 0.0.0'
  zvf inspect brain.zarrvectors 0/links/0/+1.0.0 3.4.2
  zvf inspect brain.zarrvectors '0/object_index/manifests 7'
  zvf inspect old.zarrvectors 0/vertices/0.1.2
  zvf inspect old.zarrvectors 0/cross_chunk_links/0/data --rows 3
  zvf inspect brain.zarrvectors 0/vertices/zarr.json
  zvf inspect brain.zarrvectors/0/vertices/c/0/0/0
  zvf inspect dumped.bin --as manifest --key-rank 3")]
pub(crate) struct InspectArgs {
    /// A file, or the path or URL of a store when PATH follows
    #[arg(value_name = "FILE|STORE")]
    pub(crate) target: String,
    /// What to take apart inside the store: an array (with a chunk key or row), an object or a document
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The chunk key or row, unless PATH ends with it
    #[arg(value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) key: Option<String>,
    /// Read the bytes as this, whatever they look like
    #[arg(long = "as", value_enum, value_name = "TYPE")]
    pub(crate) blob: Option<BlobArg>,
    /// Components of a chunk key (manifests, links)
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) key_rank: Option<u32>,
    /// Columns of a row: axes of vertices, channels of an attribute, endpoints of a link
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) width: Option<u32>,
    /// Element type of rows, e.g. float32, int64, >f4
    #[arg(long, value_name = "DTYPE")]
    pub(crate) dtype: Option<String>,
    /// Link rows begin with a permutation column
    #[arg(long)]
    pub(crate) perm: bool,
    /// Rows shown of each table
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) rows: usize,
}

/// `zvf import`
#[derive(Debug, Args)]
#[command(after_help = "\
What a file becomes follows from its ending, unless --kind says otherwise:
  .swc        skeleton (or graph); one object a file
  .csv .tsv   point_cloud, a vertex a row; with --object-column also polyline or streamline
  .arrow      the same, of an Arrow IPC file; a position may be one column of lists
  .parquet    the same, of a Parquet file
  .npy        point_cloud: positions, (N, D)
  .npz        by its arrays: positions (N, D), edges (M, 2) or faces (M, 3 or 4), object_id (N,), others attributes
  .obj .stl   mesh of triangles, or of quads; one object a file
  .ply        mesh where it has faces, graph where it has edges, else point_cloud; properties are attributes
  .trk .tck .trx
              streamline (or polyline); one object a streamline

A table (.csv .tsv .arrow .parquet .npy) may have a table of links beside it, which names its rows, from 0: with --edges it becomes
a graph, or a skeleton with --kind skeleton (child, then parent), with --faces a mesh. Other columns are attributes of the links.

Several files of one format make one store. Files named by numbers keep them as object ids. Positions are never transformed;
what a header says (affine, voxel sizes) is kept in the store's `headers`. The store is there as a whole or not at all.

Examples:
  zvf import 1734350788.swc 1734350908.swc neurons.zarrvectors --unit nanometer
  zvf import synapses.csv synapses.zarrvectors --attributes type,confidence
  zvf import cells.csv cells.zarrvectors --position cx,cy,cz --object-column cell
  zvf import nodes.parquet vessels.zarrvectors --edges edges.parquet --link-columns node1,node2
  zvf import corners.npy surface.zarrvectors --faces triangles.npy
  zvf import huge.csv huge.zarrvectors --journal huge.journal      # again after a crash: goes on
  zvf import mesh.obj s3://bucket/mesh.zarrvectors --chunk-shape 4096,4096,4096 --codec none
  zvf import spots.csv spots.zarrvectors --chunk-by gene
  zvf import tracks.trk tracks.zarrvectors --json | jq .frame")]
pub(crate) struct ImportArgs {
    /// Files of one format
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// Path or URL of the new store; nothing may lie there
    #[arg(required = true)]
    pub(crate) store: String,
    /// The geometry, e.g. point_cloud, polyline, streamline, graph, skeleton, mesh
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Tables: the columns of a position, one an axis [default: x,y and, where there is one, z]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) position: Option<Vec<String>>,
    /// Tables: the column that says to which object a row belongs, by a whole number
    #[arg(long, value_name = "COLUMN")]
    pub(crate) object_column: Option<String>,
    /// Tables: the columns that become attributes, of all others: all, none or names
    #[arg(
        long,
        value_name = "all|none|NAME,..",
        value_delimiter = ',',
        default_value = "all"
    )]
    pub(crate) attributes: Vec<String>,
    /// Tables: the one character between columns; `tab` for a tab [default: a comma, a tab in .tsv]
    #[arg(long, value_name = "C", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Tables: another table with edges, a row an edge
    #[arg(long, value_name = "FILE", conflicts_with = "faces")]
    pub(crate) edges: Option<PathBuf>,
    /// Tables: another table with faces, a row a face of three or four corners
    #[arg(long, value_name = "FILE")]
    pub(crate) faces: Option<PathBuf>,
    /// The columns of --edges or --faces that name vertices [default: vertices, or vertices_0, vertices_1, ..; source, target;
    /// from, to; child, parent; a, b, c]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) link_columns: Option<Vec<String>>,
    /// Unit of all axes, e.g. micrometer [default: what the format says]
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Size of a chunk on each axis [default: chosen from the data, and said]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) chunk_shape: Option<Vec<f64>>,
    /// Size of a bin on each axis: a whole part of the chunk's [default: chosen for points without objects]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) bin_shape: Option<Vec<f64>>,
    /// How chunks are compressed: none, zstd, zstd:LEVEL, gzip, gzip:LEVEL, blosc, or a list of Zarr codecs in JSON
    #[arg(long, value_name = "CODEC", default_value = "zstd")]
    pub(crate) codec: Compression,
    /// Chunks of a shard along each axis [default: every chunk is a file of its own]
    #[arg(long, value_name = "X,Y,..", value_delimiter = ',')]
    pub(crate) shard_shape: Option<Vec<u64>>,
    /// Cuts chunks by the value of a vertex attribute, too: truth values, whole numbers or texts. It lies in the keys of
    /// chunks then; worth it where questions name one of few values
    #[arg(long, value_name = "NAME")]
    pub(crate) chunk_by: Option<String>,
    /// Version of the format
    #[arg(long, value_enum, value_name = "VERSION", default_value = "0.9.2")]
    pub(crate) target: TargetArg,
    /// Keeps what was read in FILE until the store is there: the same command goes on behind it after a crash, if the files are
    /// the same
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Removes what an interrupted import left at STORE; a finished store is never touched
    #[arg(long)]
    pub(crate) clear_leftovers: bool,
}

/// `zvf completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf completions bash > ~/.local/share/bash-completion/completions/zvf
  zvf completions zsh > ~/.zfunc/_zvf
  zvf completions fish > ~/.config/fish/completions/zvf.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
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

/// What a query keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelectArg {
    /// Rows inside the box
    Vertices,
    /// Whole objects with at least one vertex inside
    Objects,
    /// Whole chunks that meet the box
    Chunks,
}

impl From<SelectArg> for Select {
    fn from(select: SelectArg) -> Self {
        match select {
            SelectArg::Vertices => Self::Vertices,
            SelectArg::Objects => Self::Objects,
            SelectArg::Chunks => Self::Chunks,
        }
    }
}

/// Formats of the vertex table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object a line
    Ndjson,
    /// Arrow IPC file
    Arrow,
    /// NumPy array of the positions, (N, D), stored dtype
    Npy,
}

/// Kinds of blob `inspect` can be told to expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BlobArg {
    /// The fragments of one chunk
    FragmentIndex,
    /// The fragments of one object
    Manifest,
    /// Link rows without a header (intra-chunk links)
    Links,
    /// Link rows behind a group table (cross-chunk and cross-level links)
    RaggedLinks,
    /// A group table and bytes
    Ragged,
    /// A vlen-bytes chunk: element count, then length and bytes of each
    Vlen,
    /// A shard: inner chunks and the index at its end
    Shard,
    /// Positions
    Vertices,
    /// Rows of an attribute
    Attribute,
    /// Object ids of one group, or of all groups one after another
    Group,
    /// Link records with the chunks of their endpoints, without a header (cross-chunk links before 0.8)
    Records,
    /// Manifests back to back (object index of 0.6)
    Manifests,
    /// Byte offsets of rows
    Offsets,
    /// One byte a row: present or not
    Mask,
    /// Names, one a line
    Names,
    /// Several chunks packed into one; their index stands in the document
    #[value(skip)]
    Packed,
    /// A zarr.json document
    Json,
    /// A TET file
    Tet,
    /// A Blosc2 frame with a Caterva or b2nd array
    Caterva,
}

/// A count of at least one.
fn positive(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("found 0, expected at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) => Err(format!("found {text:?}, expected a whole number")),
    }
}

/// A time in seconds, a millisecond to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(format!(
            "found {text:?}, expected seconds from 0.001 to 86400"
        )),
    }
}

/// A size with an optional unit: `512M`, `2GiB`, `1e9` is not one.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("found {text:?}, expected a size such as 65536, 512M, 2GiB or 1GB");
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let number = number.parse::<u64>().map_err(|_| wrong())?;
    let scale: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(scale) {
        Some(0) => Err("found 0, expected at least 1 byte".into()),
        Some(n) => Ok(n),
        None => Err(format!(
            "found {text:?}, expected at most {} bytes",
            u64::MAX
        )),
    }
}

/// One character of one byte.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(format!(
            "found {text:?}, expected one character such as ; or the word tab"
        )),
    }
}

/// `KEY=VALUE`; the value may be empty or hold more `=`.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err(format!("found {text:?}, expected KEY=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("512M"), Ok(512 << 20));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("1 GB"), Ok(1_000_000_000));
        assert_eq!(bytes("65536"), Ok(65536));
        for wrong in ["", "M", "0", "1.5G", "-1", "99999999999T", "1é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e99", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_with_a_leading_minus_are_values() -> Result<(), clap::Error> {
        let cli = Cli::try_parse_from([
            "zvf",
            "query",
            "s",
            "--bbox",
            "-10,-10:5,5",
            "--objects",
            "-4,7",
        ])?;
        let Command::Query(query) = cli.command else {
            panic!("query")
        };
        assert_eq!(query.terms.bbox.as_deref(), Some("-10,-10:5,5"));
        assert_eq!(query.terms.objects.as_deref(), Some("-4,7"));
        let cli = Cli::try_parse_from(["zvf", "get", "s", "-4", "7", "--json", "-o", "x"])?;
        assert!(cli.common.json);
        let Command::Get(get) = cli.command else {
            panic!("get")
        };
        assert_eq!(get.ids, ["-4", "7"]);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "0/vertices", "-1.0.2"])?;
        let Command::Inspect(inspect) = cli.command else {
            panic!("inspect")
        };
        assert_eq!(
            (inspect.path.as_deref(), inspect.key.as_deref()),
            (Some("0/vertices"), Some("-1.0.2"))
        );
        let cli = Cli::try_parse_from([
            "zvf",
            "inspect",
            "s",
            "0/vertices",
            "1.0.2",
            "--json",
            "--rows",
            "3",
        ])?;
        assert!(cli.common.json);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "--json"])?;
        assert!(cli.common.json);
        let cli = Cli::try_parse_from(["zvf", "inspect", "s", "p", "--json"])?;
        assert!(cli.common.json);
        Ok(())
    }

    #[test]
    fn every_command_has_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(help.contains("Examples:\n  zvf "), "{}", command.get_name());
        }
    }
}
