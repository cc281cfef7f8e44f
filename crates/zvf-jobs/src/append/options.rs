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
        /// Files of one format, directories that `zvf query -o DIR` wrote, or stores; paths or URLs. A URL is taken as a file if its ending is that
        /// of a known format or --format is given, else as a store
        #[arg(value_name = "FILE|DIR|STORE", required = true, num_args = 1..)]
        files: Vec<PathBuf>,
        /// The format of the files, e.g. csv, ndjson, trk [default: by their endings]; needed where FILE is - (standard input)
        #[arg(long, value_name = "FORMAT")]
        format: Option<FormatName>,
        /// Tables (.csv .tsv .ndjson .arrow .parquet): a second table, path or URL, with the links, which name rows of the first one from 0, or values of its column --node-id
        #[arg(long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        links: Option<PathBuf>,
        /// How the columns of tables are read.
        #[command(flatten)]
        #[serde(flatten)]
        columns: ColumnOptions,
        /// Tables: the column that says to which object a row belongs, by a whole number [default: object_id]
        #[arg(long, value_name = "COLUMN")]
        object_column: Option<String>,
        /// Tables: the columns of a position, one an axis [default: the names of the axes]
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
