//! `zvf append`.

/// The text after the options in the help of `zvf append`.
pub(crate) const APPEND: &str = "\
FILE has any format that `zvf import` reads, or is a directory written by `zvf query -o DIR`, or another store of the same kind and axes,
which must fit in memory. New objects are added with all their vertices and links; stores of points without objects get points. Either
everything is added or nothing.

Objects keep ids that FILE states: a column object_id, files named by numbers, the directory of a query, a store. Others (streamlines, files
with other names) are numbered after the largest id of the store. An id that the store or two files already have is an error;
--new-ids, --id-offset and --id-from-file avoid it. Attributes of objects, such as names, are kept if the store has them. Groups are joined
by name.

Values are converted to the types of the store; values that do not fit are an error, but floats are rounded. If FILE lacks an attribute,
its values are missing (NaN, no text), or the value of --fill NAME=VALUE or of `zvf edit set-attribute NAME --fill VALUE`. Attributes that
the store lacks are left out. Both are reported.

Positions are converted to the axes, units and frame of the store if FILE states its own (Arrow and Parquet tables of `zvf query`,
its directories, tractograms, precomputed folders). Positions of other files are transformed as in the import that made the store
(`zvf import --unit 8nm`, --scale, --affine; `zvf info` shows it); --unit, --scale or --affine state another transform for FILE.

Examples:
  zvf append neurons.zarrvectors 1734350908.swc
  zvf append tracts.zarrvectors more.trk --json | jq .ids
  zvf append points.zarrvectors new.parquet
  zvf append neurons.zarrvectors other.swc --unit um               # a store in nanometers: positions times 1000
  zcat new.csv.gz | zvf append points.zarrvectors - --format csv
  zvf query other.zarrvectors --objects 7,9 -o two && zvf append brain.zarrvectors two
  zvf append tracts.zarrvectors subject-2.zarrvectors --new-ids
  zvf append tracks.zarrvectors day-2.csv day-3.csv --id-offset 100000";
