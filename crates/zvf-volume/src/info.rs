//! Properties of a volume, known before any element is read.

use zvf_grid::Dims;

use zvf_meta::StatedAffine;

use crate::Element;

/// How a volume is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeFormat {
    /// A dataset of a TET file.
    Tet,
    /// An array in a contiguous or sparse Blosc2 frame: Caterva or b2nd.
    Caterva,
    /// A Zarr array, single or in an image.
    Zarr,
    /// A NIfTI file.
    Nifti,
    /// A FreeSurfer MGH file.
    Mgh,
}

impl VolumeFormat {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tet => "tet",
            Self::Caterva => "caterva",
            Self::Zarr => "zarr",
            Self::Nifti => "nifti",
            Self::Mgh => "mgh",
        }
    }
}

impl std::fmt::Display for VolumeFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AxisInfo {
    /// Its name, if the volume has one.
    pub name: Option<String>,
    /// Its type, as in OME-Zarr: `space`, `time`, `channel`.
    pub kind: Option<String>,
    /// The unit of its coordinates.
    pub unit: Option<String>,
    /// Position of the centre of element `i`: `offset + scale * i`. `None` if unknown.
    pub place: Option<(f64, f64)>,
}

/// The properties of a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeInfo {
    /// Its name in the file: the name of a dataset, or the path of an array; empty if there is only one.
    pub name: String,
    /// How it is stored.
    pub form: VolumeFormat,
    /// The exact kind: `b2nd`, `caterva`, `sparse b2nd`, `zarr v2`, …
    pub layout: String,
    /// The elements.
    pub element: Element,
    /// Extents, axis 0 the slowest.
    pub shape: Dims,
    /// Extents of a tile or chunk. Image files have no chunks; for them, the extents of the chunks that a conversion writes by default.
    pub chunk: Dims,
    /// Extents of a block inside a chunk (of an inner chunk inside a shard).
    pub block: Option<Dims>,
    /// Codecs.
    pub codecs: Vec<String>,
    /// Filters before the codec.
    pub filters: Vec<String>,
    /// Axes.
    pub axes: Vec<AxisInfo>,
    /// The positions of the elements of an image file: maps the indices of its three axes of space to x, y
    /// and z.
    pub affine: Option<StatedAffine>,
    /// Remarks for the user on how the file is read.
    pub notes: Vec<String>,
}
