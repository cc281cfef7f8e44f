//! `zvf append`.

/// The text after the options in the help of `zvf append`.
pub(crate) const APPEND: &str = "\
FILE is of any format that `zvf import` reads, the directory that `zvf query -o DIR` writes, or another store of the same kind and axes, which is
read into memory as a whole. New objects are added with all their vertices and links, or points to a store of points; all of it at once or
not at all.

Objects keep their ids where FILE has some: a column object_id, files named by numbers, the directory of a query, a store. Where files only
number them (streamlines, other names), they get the ids behind the largest of the store. An id that the store has already, or that two files
have, is an error; --new-ids, --id-offset and --id-from-file keep objects apart. Names and other attributes of objects are kept as far as the
store has them. Groups are joined by name.

Numbers are brought to the types of the store, without loss but for longer floats. An attribute that FILE lacks is missing (NaN, no
text), or has the value of --fill NAME=VALUE or of `zvf edit set-attribute NAME --fill VALUE`; one that the store lacks is left out, all
with a remark.

Positions are brought to the axes, units and frame of the store. Files that state a unit or a frame (Arrow and Parquet tables of `zvf query`,
its directories, tractograms, precomputed folders) are converted. Others are mapped as the files were that the store was made from
(`zvf import --unit 8nm`, --scale, --affine: `zvf info` shows it), with a remark; --unit, --scale or --affine replace that for FILE alone.

Examples:
  zvf append neurons.zarrvectors 1734350908.swc
  zvf append tracts.zarrvectors more.trk --json | jq .ids
  zvf append points.zarrvectors new.parquet
  zvf append neurons.zarrvectors other.swc --unit um               # a store in nanometers: positions times 1000
  zcat new.csv.gz | zvf append points.zarrvectors - --format csv
  zvf query other.zarrvectors --objects 7,9 -o two && zvf append brain.zarrvectors two
  zvf append tracts.zarrvectors subject-2.zarrvectors --new-ids
  zvf append tracks.zarrvectors day-2.csv day-3.csv --id-offset 100000";
