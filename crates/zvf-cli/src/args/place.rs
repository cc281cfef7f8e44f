//! Where positions of files belong: options that commands which add files share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zvf_convert::{Options, Space};

/// The map of the positions of files.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MapArgs {
    /// Positions are mapped by the affine of FILE, an image (.nii, .nii.gz, .mgz) or a text of 4x4 numbers; not for tractograms
    #[arg(long, value_name = "FILE")]
    pub(crate) affine: Option<PathBuf>,
    /// Positions are multiplied by S, before --affine; one number for all axes of space; not for tractograms
    #[arg(
        long,
        value_name = "S|SX,SY,..",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) scale: Option<Vec<f64>>,
}

impl MapArgs {
    /// Sets what is given.
    pub(crate) fn set(&self, options: &mut Options) {
        options.affine.clone_from(&self.affine);
        options.scale.clone_from(&self.scale);
    }
}

/// Unit, frame and map of the positions of files.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Units of the files, e.g. micrometer, um, nm; 8nm multiplies positions by 8; t=ms is the unit of an axis of time. Positions are
    /// converted to the units of the store [default: as the files state, else the map with which the store was made]
    #[arg(long, value_name = "UNIT,..")]
    pub(crate) unit: Option<String>,
    #[command(flatten)]
    pub(crate) map: MapArgs,
    /// Tractograms: the frame in which positions are stored [default: that of the store]
    #[arg(long, value_enum, value_name = "FRAME")]
    pub(crate) space: Option<SpaceArg>,
}

impl PlaceArgs {
    /// Sets what is given.
    pub(crate) fn set(&self, options: &mut Options) {
        options.unit.clone_from(&self.unit);
        self.map.set(options);
        options.space = self.space.map(Space::from);
    }
}

/// Frames of tractograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpaceArg {
    /// Scanner RAS+ millimetres, as nibabel loads them
    Rasmm,
    /// TrackVis millimetres: from the corner of the first voxel, along the axes of the image
    Voxelmm,
    /// As in the file: voxelmm for TRK, rasmm for TCK and TRX
    File,
}

impl From<SpaceArg> for Space {
    fn from(space: SpaceArg) -> Self {
        match space {
            SpaceArg::Rasmm => Self::Rasmm,
            SpaceArg::Voxelmm => Self::Voxelmm,
            SpaceArg::File => Self::File,
        }
    }
}
