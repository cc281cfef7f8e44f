//! `zvf group`.

/// What the help of `zvf group` says after its options.
pub(crate) const GROUP: &str = "\
--add puts objects into the group NAME, as `zvf edit STORE group add NAME ID..`.

--ends makes groups NAME/A-B of lines, polylines or streamlines by the labels A <= B of a volume at their first and last vertex, in one edit. VOLUME is everything that
`zvf sample` reads, and is placed the same way: NIfTI and MGH by their header, others by --affine or the image itself; an end has the label of the element that contains it.
Label 0 and everything outside of the volume is background: lines with such an end are in none of these groups, and are counted. Existing groups NAME/.. are an error, unless
--replace deletes them first.

--matrix writes a table with a row for each pair of labels: label_a, label_b, count (of lines), mean_length (in units of the axes), and for each --mean the column mean_NAME: the mean over the
lines of the means of their vertices.

The vertices are read once, the part of the volume around the ends once for each 131,072 lines.

Examples:
  zvf group tracts.zarrvectors AF_left --add 3-9 17
  zvf group tracts.zarrvectors aparc --ends aparc.nii.gz --matrix connectome.csv --mean fa
  zvf group tracts.zarrvectors lobes --ends lobes.tet --affine 2,0,0,-90,0,2,0,-126,0,0,2,-72 --replace --json
  zvf query tracts.zarrvectors --groups aparc/1022-2022 -o precentral.trk";
