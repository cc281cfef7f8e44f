//! The options of `append`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::error::Result;
use crate::values::pairs;
use crate::{ColumnOptions, FillValue, FormatName, IdOptions, JobError, PartOptions, PlaceOptions};

options! {
    /// Adds objects or points to a store, from files of any format that `zvf import` reads
    AppendJob {
        /// Path or URL of the store
        store: String,
        /// Files of one format, directories that `zvf query -o DIR` wrote, or stores; paths or URLs. A URL is a file if it has the ending of a known
        /// format, or if --format is given; any other URL is a store
        #[arg(value_name = "FILE|DIR|STORE", required = true, num_args = 1..)]
        files: Vec<PathBuf>,
        /// The format of the files, e.g. csv, ndjson, trk [default: by their endings]; needed where FILE is - (standard input)
        #[arg(long, value_name = "FORMAT")]
        format: Option<FormatName>,
        /// Tables (.csv .tsv .ndjson .arrow .parquet): a second table with the links, a path or URL. Links name rows of the first table, counted from 0, or values of its column --node-id
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        links: Option<PathBuf>,
        /// How the columns of tables are read.
        #[command(flatten)]
        #[serde(flatten)]
        columns: ColumnOptions,
        /// Tables: the column with the object of a row, a whole number [default: object_id]
        #[arg(long, value_name = "COLUMN")]
        object_column: Option<String>,
        /// Tables: the columns of a position, one for each axis [default: the names of the axes]
        #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
        position: Option<Vec<String>>,
        /// Which ids objects get.
        #[command(flatten)]
        #[serde(flatten)]
        ids: IdOptions,
        /// Where the positions of the files belong.
        #[command(flatten)]
        #[serde(flatten)]
        place: PlaceOptions,
        /// Which part of the files.
        #[command(flatten)]
        #[serde(flatten)]
        points: PartOptions,
        /// Value of the attribute NAME for new vertices or objects without one in the files; repeatable
        #[arg(long, value_name = "NAME=VALUE", value_parser = crate::parse_pair::<FillValue>, allow_hyphen_values = true)]
        #[serde(with = "pairs")]
        #[schemars(with = "BTreeMap<String, FillValue>")]
        fill: Vec<(String, FillValue)>,
    }
}

impl AppendJob {
    pub(crate) fn check(&self) -> Result<()> {
        if self.files.is_empty() {
            return Err(JobError::option(
                "files",
                "an empty list",
                "at least one file",
            ));
        }
        self.ids.check()?;
        self.points.check()?;
        self.columns.check()
    }
}
