//! `zvf measure`

/// The text after the options in the help of `zvf measure`.
pub(crate) const MEASURE: &str = "\
Whole objects are measured, those with a vertex in the selection. Columns are object_id and points, and
  lines, polylines, streamlines   length, tortuosity (length / distance of the ends)
  skeletons                       length (of cable), branches (vertices with three neighbours or more), tips (with one), strahler
  graphs                          length, branches, tips
  meshes                          faces, surface, volume (missing unless the surface is closed)
  all                             min_x, max_x, .. for each axis; mean_NAME for each --mean
Lengths are in the units of the axes, all axes count.

--as writes measures as attributes of the objects, in one edit, instead of a table; --as length,strahler=order gives them other names. An existing attribute is
replaced if it has the type of the measure (float64; uint64 for counts), else the edit is refused. Objects without the measure get no
value; objects outside of the selection keep theirs.

Examples:
  zvf measure neurons.zarrvectors
  zvf measure tracts.zarrvectors --where 'length() > 40' --mean fa,md -o tracts.csv
  zvf measure tracts.zarrvectors --groups AF_left --json
  zvf measure tracts.zarrvectors --as length,mean_fa=fa --mean fa
  zvf measure meshes.zarrvectors --limit 10";
