//! `zvf sample`.

/// The text after the options in the help of `zvf sample`.
pub(crate) const SAMPLE: &str = "\
VOLUME is a .tet file, a Caterva or b2nd frame, a Zarr array or OME-Zarr image, or a NIfTI or FreeSurfer file (see
`zvf volume --help`). Element i of an axis is the centre of a voxel.

The map from elements to the axes of the store is --affine (rows of numbers, or a file with them, or a NIfTI or MGH image; from element
indices in the order of the volume's axes), else that of the image itself (NIfTI: the sform, else the qform), else element i is at i. If the
image and the store state different units, places are converted. Axes of images are matched by name if the store has these names, else in
order; axes of time are left out. Positions of tractograms are used in scanner RAS+ millimetres; positions in TrackVis millimetres are
converted.

Floats are interpolated linearly; integers are taken from the nearest element, or interpolated with --order linear, which gives float32
(float64 for float64 and for integers of 32 bits and more). Values of the nearest element keep the type of the volume. A vertex is inside
if 0 <= v <= n-1 on every axis (nearest: -0.5 <= v < n-0.5). Vertices do not change, and the attribute is written completely or not at all.
Stores before 0.9 are refused: copy them with `zvf migrate`.

Examples:
  zvf sample tracts.zarrvectors --volume fa.tet --as fa --affine 2,0,0,-90,0,2,0,-126,0,0,2,-72
  zvf sample synapses.zarrvectors --volume 'labels.ome.zarr#0' --as region --outside 0
  zvf sample tracts.zarrvectors --volume aparc.nii.gz --as label
  zvf sample tracts.zarrvectors --volume md.zarr --as md --affine md.nii.gz
  zvf sample tracts.zarrvectors --volume md.b2nd --as md --affine affine.txt --replace";
