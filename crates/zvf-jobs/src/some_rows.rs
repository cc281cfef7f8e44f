//! The jobs `head`, `tail` and `sample-rows`: some rows of a store or a selection.

use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_query::{Outputs, Query, RowSample, Table, last_rows, sample_rows};
use zvf_store::Store;

use crate::error::Result;
use crate::rows::{RowSink, check_output, warnings_of};
use crate::selection::{opened, set_columns};
use crate::{Context, JobError, LevelOptions, Listing, SelectionOptions, TableRows};

options! {
    /// Rows of a store or a selection
    RowOptions {
        /// Path or URL of the store
        store: String,
        /// Number of rows
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        rows: u64 = 10,
        /// Which rows are meant
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Columns: position, chunk, row, fragment, object_id, object_ids or attribute names
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        columns: Vec<String>,
    }
}

options! {
    /// Shows the first rows of a store or a selection
    HeadJob {
        /// The rows, and which of them
        #[command(flatten)]
        #[serde(flatten)]
        asked: RowOptions,
    }
}

options! {
    /// Shows the last rows of a store or a selection
    TailJob {
        /// The rows, and which of them
        #[command(flatten)]
        #[serde(flatten)]
        asked: RowOptions,
    }
}

options! {
    /// Draws rows of a store or a selection at random
    SampleRowsJob {
        /// The rows, and which of them
        #[command(flatten)]
        #[serde(flatten)]
        asked: RowOptions,
        /// Number that decides which rows are drawn
        #[arg(long, value_name = "N", default_value_t = 0)]
        seed: u64,
        /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
    }
}

impl RowOptions {
    fn check(&self) -> Result<()> {
        self.terms.check()?;
        set_columns(&mut zvf_query::QuerySpec::new(), &self.columns)
    }

    /// The store, and the query of its vertices.
    async fn open(&self, context: &Context) -> Result<(Store, Query)> {
        let mut spec = self.terms.read(&self.store, context).await?;
        self.at.set(&mut spec);
        spec.tables = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
        spec.owners = true;
        set_columns(&mut spec, &self.columns)?;
        opened(&spec, &self.store, context).await
    }

    /// The report of rows that were found.
    fn report(&self, store: &Store, found: RowSample, output: Option<&Path>) -> Result<RowsReport> {
        let mut sink = RowSink::new(output, &found.schema, None)?;
        for batch in &found.batches {
            sink.push(batch)?;
        }
        let (rows, files, count) = sink.finish()?;
        Ok(RowsReport {
            store: self.store.clone(),
            level: self.at.level,
            levels: found.levels,
            rows: rows.map_or(FoundRows::Count(count), FoundRows::Rows),
            of: None,
            files,
            warnings: warnings_of(store, &found.warnings),
        })
    }
}

impl HeadJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.asked.check()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<RowsReport>> {
        async move {
            let (store, mut query) = self.asked.open(context).await?;
            query.limit = Some(self.asked.rows);
            query.limit_cuts_objects = true;
            let answer = zvf_query::query(&store, query).await;
            let answer = answer.map_err(JobError::query(&self.asked.store))?;
            let all = (None, None, None);
            let progress = context.progress();
            let read = Listing::read(&store, answer, Table::Vertices, all, &*progress).await?;
            Ok(RowsReport {
                store: self.asked.store.clone(),
                level: self.asked.at.level,
                levels: read.levels,
                rows: read
                    .rows
                    .map_or(FoundRows::Count(read.count), FoundRows::Rows),
                of: None,
                files: read.files,
                warnings: read.warnings,
            })
        }
        .boxed()
    }
}

impl TailJob {
    pub(crate) fn check(&self) -> Result<()> {
        self.asked.check()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<RowsReport>> {
        async move {
            let (store, query) = self.asked.open(context).await?;
            let found = last_rows(&store, query, self.asked.rows).await;
            let found = found.map_err(JobError::query(&self.asked.store))?;
            self.asked.report(&store, found, None)
        }
        .boxed()
    }
}

impl SampleRowsJob {
    pub(crate) fn check(&self) -> Result<()> {
        check_output(self.output.as_deref())?;
        self.asked.check()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<RowsReport>> {
        async move {
            let (store, query) = self.asked.open(context).await?;
            let found = sample_rows(&store, query, self.asked.rows, self.seed).await;
            let found = found.map_err(JobError::query(&self.asked.store))?;
            let of = found.seen;
            let report = self.asked.report(&store, found, self.output.as_deref())?;
            Ok(RowsReport {
                of: Some(of),
                ..report
            })
        }
        .boxed()
    }
}

/// What `head`, `tail` or `sample-rows` found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowsReport {
    /// The store.
    pub store: String,
    /// The level.
    pub level: u32,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// The rows, or their number if they were written to a file.
    pub rows: FoundRows,
    /// The number of rows from which they are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The file that was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
}

/// Rows, or the number of rows in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FoundRows {
    /// The rows.
    Rows(TableRows),
    /// Their number.
    Count(u64),
}
