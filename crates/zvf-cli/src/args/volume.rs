//! `zvf volume`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `zvf volume`
#[derive(Debug, Args)]
#[command(after_help = "\
VOLUME is a .tet file, a Caterva or b2nd frame (a file, or the folder of a sparse one), a Zarr array or OME-Zarr image, or a NIfTI
(.nii, .nii.gz) or FreeSurfer (.mgh, .mgz) file, by path or URL. The container is detected from its bytes, not from its name. #NAME picks one of several datasets or levels, #@N by number from 0.

Examples:
  zvf volume info fa.tet
  zvf volume info s3://bucket/brain.ome.zarr --anonymous
  zvf volume slice 'fa.tet#fa' --range 0:10,5,::2 -o part.npy
  zvf volume convert fa.b2nd fa.zarr
  zvf volume info t1.nii.gz")]
pub(crate) struct VolumeArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: VolumeCommand,
}

/// What `zvf volume` does.
#[derive(Debug, Subcommand)]
pub(crate) enum VolumeCommand {
    /// Shows the contents of a file or image: datasets, types, shapes, chunks, blocks, codecs, filters, axes
    Info(InfoArgs),
    /// Reads a box, with strides, into a NumPy file or as bare elements
    Slice(SliceArgs),
    /// Writes a volume in another form: .tet, .b2nd or .zarr, by the ending of OUT
    Convert(ConvertArgs),
}

/// `zvf volume info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// File, folder or URL; #NAME or #@N picks
    pub(crate) volume: String,
}

/// `zvf volume slice`
#[derive(Debug, Args)]
#[command(after_help = "\
R is as in NumPy, half-open, one item an axis, separated by commas: start:stop, start:stop:step, or one index, which takes the
axis away. Negative numbers count from the end; axes without an item are whole; ... stands for several of those. Default: all.

Only the tiles, chunks or blocks that the range meets are read; --json says how many.

Examples:
  zvf volume slice fa.tet --range 0:10,5,::2 -o part.npy
  zvf volume slice fa.b2nd --range=-1 -o last.raw --json")]
pub(crate) struct SliceArgs {
    /// File, folder or URL; #NAME or #@N picks
    pub(crate) volume: String,
    /// What is read
    #[arg(long, value_name = "R", default_value = "", allow_hyphen_values = true)]
    pub(crate) range: String,
    /// A name that ends in .npy, or in .raw for the elements' bytes as stored, in C order, without a header
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// `zvf volume convert`
#[derive(Debug, Args)]
#[command(after_help = "\
OUT is a local path. Chunks and blocks are those of the source unless given; elements are compressed with Zstandard unless --raw.
A warning names what the new format cannot hold.

Examples:
  zvf volume convert fa.tet fa.b2nd --chunk-shape 64,64,64 --block-shape 16,16,16
  zvf volume convert 's3://bucket/brain.ome.zarr#2' brain.tet --anonymous")]
pub(crate) struct ConvertArgs {
    /// File, folder or URL; #NAME or #@N picks
    pub(crate) volume: String,
    /// Local path that ends in .tet, .b2nd or .zarr
    pub(crate) out: PathBuf,
    /// Extents of a tile or chunk
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) chunk_shape: Option<Vec<u64>>,
    /// Extents of a block, of b2nd
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) block_shape: Option<Vec<u64>>,
    /// Name of the dataset, of tet
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Does not compress
    #[arg(long)]
    pub(crate) raw: bool,
    /// Replaces an existing file or folder at OUT
    #[arg(long)]
    pub(crate) overwrite: bool,
}
