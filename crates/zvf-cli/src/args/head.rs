//! Help of `zvf head`, `zvf tail` and `zvf sample-rows`

/// What the help of `zvf head` says after its options.
pub(crate) const HEAD: &str = "\
The rows are those that `zvf query` returns first: chunks in the order of their coordinates, or objects in the given order. Only the chunks
that have these rows are read.

Examples:
  zvf head brain.zarrvectors
  zvf head brain.zarrvectors -n 3 --columns position,object_id,intensity
  zvf head tracts.zarrvectors --objects 7 -n 5 --json";

/// What the help of `zvf tail` says after its options.
pub(crate) const TAIL: &str = "\
The rows are those that `zvf query` returns last: chunks in the order of their coordinates, or objects in the given order. The query is read from its end in pieces of about
262,144 rows, until there are enough rows.

Examples:
  zvf tail brain.zarrvectors
  zvf tail brain.zarrvectors -n 3 --columns position,object_id,intensity
  zvf tail tracts.zarrvectors --objects 7 -n 5 --json";

/// What the help of `zvf sample-rows` says after its options.
pub(crate) const SAMPLE_ROWS: &str = "\
Each row of the selection is drawn with the same probability, and none twice; the same seed draws the same rows from the same store. The selection is read once.
The rows that are drawn have to fit the memory budget. They are in the order of the query.

Examples:
  zvf sample-rows brain.zarrvectors -n 1000 -o sample.csv
  zvf sample-rows scan.zarrvectors -n 5 --seed 7 --where 'classification == 2' --json
  zvf sample-rows points.zarrvectors -n 100000 --columns x,y,z -o sample.parquet";
