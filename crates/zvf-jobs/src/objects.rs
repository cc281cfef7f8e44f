//! The job `objects`: lists the objects of a level.

use std::path::PathBuf;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_query::{Filter, ListedObjects, ObjectListing, stale_level};
use zvf_store::{Names, Need, Store};

use crate::error::Result;
use crate::rows::{RowSink, check_output, warnings_of};
use crate::selection::of_member;
use crate::{Context, JobError, LevelOptions, TableRows};

options! {
    /// Lists the objects of a level with their sizes and attributes
    ObjectsJob {
        /// Path or URL of the store
        store: String,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// A condition on objects, e.g. `count() > 100 and kind == 'axon'`; `zvf query --help` has all forms
        #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
        r#where: Option<String>,
        /// Sorts by these columns, ascending, or descending after a minus sign: --sort=-vertices,name. Missing values come last; objects with equal
        /// values are ordered by id [default: the order of the store]
        #[arg(long, value_name = "[-]COLUMN,..", value_delimiter = ',', allow_hyphen_values = true)]
        sort: Vec<String>,
        /// At most this many objects
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
    }
}

impl ObjectsJob {
    fn listing(&self) -> Result<ObjectListing> {
        let mut listing = ObjectListing::default();
        listing.level = self.at.level;
        listing.own_level_only = self.at.own_level_only;
        let condition = self.r#where.as_deref().map(Filter::parse).transpose();
        listing.condition = condition.map_err(of_member)?;
        let keys = self.sort.iter().map(|key| key.parse());
        listing.sort = keys
            .collect::<std::result::Result<_, _>>()
            .map_err(of_member)?;
        listing.limit = self.limit;
        Ok(listing)
    }

    pub(crate) fn check(&self) -> Result<()> {
        check_output(self.output.as_deref())?;
        self.listing().map(|_| ())
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<ObjectsReport>> {
        async move {
            let need = Need {
                objects: true,
                object_attributes: Names::All,
                ..Need::nothing()
            };
            let store = context.open(&self.store, self.at.level, need).await?;
            self.of_store(&store, context).await
        }
        .boxed()
    }

    /// Lists the objects of a store that is open.
    ///
    /// # Errors
    ///
    /// Misuse: wrong options, no object index. Limit: more objects to sort than fit the memory budget. The errors of the store and the output.
    pub async fn of_store(&self, store: &Store, context: &Context) -> Result<ObjectsReport> {
        let failed = || JobError::query(store.url());
        let mut listing = self.listing()?;
        listing.memory_budget = context.memory_budget.unwrap_or(listing.memory_budget);
        let mut listed = ListedObjects::start(store, listing)
            .await
            .map_err(failed())?;
        let mut sink = RowSink::new(self.output.as_deref(), listed.schema(), None)?;
        let total = listed.total();
        context.total(self.limit.map_or(total, |limit| total.min(limit)));
        let progress = context.progress();
        while let Some(batch) = listed.next().await.map_err(failed())? {
            progress(sink.push(&batch)?);
        }
        let (objects, files, count) = sink.finish()?;
        let summary = listed.summary();
        // If the limit cuts the list, the query does not add the warnings that come at its end.
        let stale = stale_level(store, self.at.level);
        let warnings: Vec<String> = summary.warnings.iter().cloned().chain(stale).collect();
        Ok(ObjectsReport {
            store: store.url().to_owned(),
            level: self.at.level,
            levels: summary.levels.clone(),
            total: listed.total(),
            truncated: count < listed.total(),
            objects,
            files,
            warnings: warnings_of(store, &warnings),
            count,
        })
    }
}

/// The report of `objects`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ObjectsReport {
    /// The store.
    pub store: String,
    /// The level.
    pub level: u32,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// The number of objects that satisfy the condition.
    pub total: u64,
    /// Whether the limit left out objects.
    pub truncated: bool,
    /// The objects, unless they were written to a file: `object_id`, `vertices`, `chunks`, `fragments`, and their attributes.
    pub objects: Option<TableRows>,
    /// The file that was written.
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// The number of objects that are listed.
    #[serde(skip)]
    pub count: u64,
}
