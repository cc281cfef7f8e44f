//! `zvf diff`

/// The text after the options in the help of `zvf diff`.
pub(crate) const DIFF: &str = "\
Kind, axes, levels, names and types of attributes, and the vertices, objects, links and groups of every level are compared. Chunks, shards, codecs,
versions of the format and the order of rows in chunks do not count: vertices of objects are identified by the id of the object and their
number in it, all others by their values; floats are equal if their bits are.

Exit codes: 0 the stores have the same contents, 1 they differ. The first differences are printed, and how many there are.

Examples:
  zvf diff before.zarrvectors after.zarrvectors
  zvf diff local.zarrvectors s3://bucket/copy.zarrvectors --limit 100
  zvf diff a.zarrvectors b.zarrvectors --json";
