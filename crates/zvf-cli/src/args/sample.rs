//! `zvf sample`.

/// The text after the options in the help of `zvf sample`.
pub(crate) const SAMPLE: &str = "\
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
  zvf sample tracts.zarrvectors --volume md.b2nd --as md --affine affine.txt --replace";
