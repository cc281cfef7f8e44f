//! `zvf sample`.

use clap::{Args, ValueEnum};

/// `zvf sample`
#[derive(Debug, Args)]
#[command(after_help = "\
VOLUME is a .tet file, a Caterva or b2nd frame, a Zarr array or OME-Zarr image, or a NIfTI or FreeSurfer file (see
`zvf volume --help`). Element i of an axis is the centre of a voxel. Where elements are in the world of the store is stated by --affine (from element indices, in the order of the
volume's axes, to the axes of the store: rows of numbers, or a file with them, or a NIfTI or MGH image), else by the image itself
(NIfTI: the sform, else the qform), else element i is at i. If an image states a unit and the store another one, places are converted. Axes of images that the store names as well
are matched by name, others in order; axes of time are left out. The world of a tractogram is
that of the scanner (RAS+ millimetres): positions that are stored in TrackVis millimetres are converted.

Floats are sampled linearly, integers at the nearest element unless --order linear asks for values between them: that gives float32
(float64 for float64 and for integers of 32 bits and more); nearest keeps the type of the volume. A vertex is inside
where 0 <= v <= n-1 on every axis (nearest: -0.5 <= v < n-0.5). Vertices are not touched; the attribute is there at once or not at all.
Stores before 0.9 are refused: copy them with `zvf migrate`.

Examples:
  zvf sample tracts.zarrvectors --volume fa.tet --as fa --affine 2,0,0,-90,0,2,0,-126,0,0,2,-72
  zvf sample synapses.zarrvectors --volume 'labels.ome.zarr#0' --as region --outside 0
  zvf sample tracts.zarrvectors --volume aparc.nii.gz --as label
  zvf sample tracts.zarrvectors --volume md.zarr --as md --affine md.nii.gz
  zvf sample tracts.zarrvectors --volume md.b2nd --as md --affine affine.txt --replace")]
pub(crate) struct SampleArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// File, folder or URL of the volume; #NAME or #@N picks
    #[arg(long, value_name = "VOLUME")]
    pub(crate) volume: String,
    /// Name of the vertex attribute
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) name: String,
    /// Map from element indices to the world: numbers by rows, a file with them, or a NIfTI or MGH image
    #[arg(long, value_name = "NUMBERS|FILE", allow_hyphen_values = true)]
    pub(crate) affine: Option<String>,
    /// Positions of a tractogram are used as they are stored, in whatever frame that is
    #[arg(long)]
    pub(crate) keep_frame: bool,
    /// How a value between elements is found [default: linear for floats, nearest for integers, which may be labels]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) order: Option<OrderArg>,
    /// Value of vertices outside of the volume [default: NaN, or 0 for integers]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) outside: Option<f64>,
    /// Index of an axis that is not in space, by its name or number: a channel, a time
    #[arg(long, value_name = "AXIS=N", value_delimiter = ',', value_parser = index)]
    pub(crate) index: Vec<(String, u64)>,
    /// Replaces an attribute of that name
    #[arg(long)]
    pub(crate) replace: bool,
}

/// How a value between elements is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// The element of the voxel around the vertex; for labels
    Nearest,
    /// Linear between the centres of voxels
    Linear,
}

/// `AXIS=N`
fn index(text: &str) -> std::result::Result<(String, u64), String> {
    let (axis, number) = text.split_once('=').ok_or("expected AXIS=N")?;
    let number = number.parse().map_err(|_| "expected a number behind =")?;
    Ok((axis.to_owned(), number))
}
