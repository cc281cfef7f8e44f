//! `zvf stats`

use std::path::PathBuf;

use clap::Args;
use zvf_query::StatisticsBy;

use super::{LevelArgs, SelectArg, TermArgs};

/// `zvf stats`
#[derive(Debug, Args)]
#[command(after_help = "\
Of every axis, vertex attribute and object attribute: values that are present, missing or NaN, least and greatest value, mean, standard
deviation (of a sample), quantiles; of texts and categories, how often each occurs. Integers and their sums are exact. Quantiles are
exact up to 65,536 values of a column; above that the column `rank_error` has the largest number of places by which the rank of a
quantile may be wrong. Bins of histograms are a power of two wide, and their counts are exact.

With --by each object or group has a row for each column of the vertices. -o writes these rows as .csv, .ndjson, .arrow or .parquet.

Examples:
  zvf stats brain.zarrvectors
  zvf stats brain.zarrvectors --columns x,y,intensity --bins 20
  zvf stats tracts.zarrvectors --bbox 60,80,60:80,90,70 --where 'fa > 0.2' --json
  zvf stats tracts.zarrvectors --by group --columns fa -o bundles.csv
  zvf stats tracts.zarrvectors --columns 'count(),object.weight'")]
pub(crate) struct StatsArgs {
    /// Path or URL of the store
    pub(crate) store: String,
    /// Which rows are meant
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    /// Which rows count: those inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices]
    #[arg(long, value_enum)]
    pub(crate) select: Option<SelectArg>,
    /// Which level is read
    #[command(flatten)]
    pub(crate) at: LevelArgs,
    /// Axes and attributes [default: all]; object.NAME is an attribute of objects, count() the number of vertices of an object
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Statistics of each `object` or `group`
    #[arg(long, value_name = "object|group")]
    pub(crate) by: Option<StatisticsBy>,
    /// Shows histograms of at most N bins, at least 4; 0: none [default with --json: 32]
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<usize>,
    /// Probabilities of the quantiles [default: 0.05,0.25,0.5,0.75,0.95]
    #[arg(long, value_name = "P,..", value_delimiter = ',')]
    pub(crate) quantiles: Option<Vec<f64>>,
    /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}
