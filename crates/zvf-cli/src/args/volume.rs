//! `zvf volume`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `zvf volume`
#[derive(Debug, Args)]
#[command(after_help = help!("volume"))]
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
    /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
    pub(crate) volume: String,
}

/// `zvf volume slice`
#[derive(Debug, Args)]
#[command(after_help = help!("volume-slice"))]
pub(crate) struct SliceArgs {
    /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
    pub(crate) volume: String,
    /// The range to read
    #[arg(long, value_name = "R", default_value = "", allow_hyphen_values = true)]
    pub(crate) range: String,
    /// A name that ends in .npy, or in .raw for the bytes of the elements in C order, without a header; `volume info` shows their type
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
}

/// `zvf volume convert`
#[derive(Debug, Args)]
#[command(after_help = help!("volume-convert"))]
pub(crate) struct ConvertArgs {
    /// File, folder or URL; #NAME or #@N selects one of several datasets or levels
    pub(crate) volume: String,
    /// Local path that ends in .tet, .b2nd or .zarr
    pub(crate) out: PathBuf,
    /// Extents of a tile or chunk
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) chunk_shape: Option<Vec<u64>>,
    /// Extents of a block, only for .b2nd
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) block_shape: Option<Vec<u64>>,
    /// Name of the dataset, only for .tet
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Does not compress
    #[arg(long)]
    pub(crate) raw: bool,
    /// Replaces an existing file at OUT; if OUT ends in .zarr, also an existing folder
    #[arg(long)]
    pub(crate) overwrite: bool,
}
