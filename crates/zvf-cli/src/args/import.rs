//! `zvf import`.

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use zvf_jobs::{ImportJob, Job};

use super::JobArgs;

/// `zvf import`
#[derive(Debug, Args)]
#[command(
    override_usage = "zvf import [OPTIONS] <FILE>... <STORE>",
    after_help = "\
The ending of a file determines the format and the kind of the store, unless --kind states another:
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
from 0, or with --node-id values of its column. If a column id, node_id or index exists that does not count the rows, --node-id or --links-by-row is required.

Tables of text: lines that begin with # before the first one are comments, which may have the names of the columns. Whole numbers that no
type holds, numbers beyond float64 or with separators of thousands, and quotes that are never closed are refused.

Several files of one format become one store. If files are named by numbers, these are the object ids. Equal ids in two files are an error, which
--id-offset, --id-from-file and --new-ids avoid. The store is written completely or not at all.

Positions of tractograms are stored as scanner RAS+ millimetres, as nibabel loads them; --space voxelmm or file stores others. The
header and the affine that was applied are kept in the store's `headers`, so that `zvf export` restores the frame of a TRK. Positions of
other formats are stored unchanged unless --scale, --affine or a number before the unit (8nm) transforms them; `zvf append` transforms
added files in the same way. Axes named t, time or frame are of type time: they come first, have a unit of their own (--unit um,t=second),
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
  zvf import country.copc.laz town.zarrvectors --bbox x=691000:692000,y=5336000:5337000 --resolution 1
  zvf import https://example.org/country.copc.laz town.zarrvectors --bbox x=691000:692000,y=5336000:5337000   # requests that part alone
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
    /// Files of one format (paths or URLs) or one folder with `info`, then the path or URL of the new store, where nothing may be yet
    #[arg(value_names = ["FILE", "STORE"], required = true, num_args = 1..)]
    paths: Vec<PathBuf>,
    /// What is imported, and how.
    #[command(flatten)]
    pub(crate) of_job: JobArgs<ImportJob>,
    /// Lists the parts of a begun store: waiting, begun by whom and when, finished. STORE is the only path
    #[arg(long, conflicts_with_all = ["discard_parts", "begin", "part", "commit", "bounds", "journal", "clear_leftovers", "print_job"])]
    pub(crate) status: bool,
    /// Removes all parts of a begun store, finished ones, too, and says which. STORE is the only path
    #[arg(long, conflicts_with_all = ["begin", "part", "commit", "bounds", "journal", "clear_leftovers", "print_job"])]
    pub(crate) discard_parts: bool,
}

impl ImportArgs {
    /// The job, and whether it is printed only; `None` if parts are listed or removed.
    pub(crate) fn job(&self) -> Option<(Job, bool)> {
        (!self.status && !self.discard_parts).then(|| self.of_job.job())
    }

    /// The store.
    pub(crate) fn store(&self) -> &str {
        &self.of_job.job.store
    }

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
            let job = &mut self.of_job.job;
            (job.files, job.store) = (paths, store);
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
        let mut program = super::Cli::described();
        Err(match program.find_subcommand_mut("import") {
            Some(import) => import.error(kind, what),
            None => program.error(kind, what),
        })
    }
}
