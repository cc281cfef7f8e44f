//! `zvf stats`

/// The text after the options in the help of `zvf stats`.
pub(crate) const STATS: &str = "\
For every axis, vertex attribute and object attribute: the number of values, missing values and NaN, minimum, maximum, mean, standard
deviation (of a sample) and quantiles; for texts and categories, how often each occurs. Integers and their sums are exact. Quantiles are
exact up to 65,536 values of a column; above that the column `rank_error` has the largest number of places by which the rank of a
quantile may be wrong. Bins of histograms are a power of two wide, and their counts are exact.

With --by there is a row for each object or group and each column of the vertices. -o writes these rows as .csv, .ndjson, .arrow or .parquet.

Examples:
  zvf stats brain.zarrvectors
  zvf stats brain.zarrvectors --columns x,y,intensity --bins 20
  zvf stats tracts.zarrvectors --bbox 60,80,60:80,90,70 --where 'fa > 0.2' --json
  zvf stats tracts.zarrvectors --by group --columns fa -o bundles.csv
  zvf stats tracts.zarrvectors --columns 'count(),object.weight'";
