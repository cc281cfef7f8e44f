//! The job `stats`: statistics of axes and attributes.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, make_array};
use arrow_schema::{DataType, Field, Schema};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_convert::output::{Style, batch_with_times, write_value};
use zvf_query::{
    ColumnStatistics, Select, StatisticValue, StatisticsBy, StatisticsScan, StatisticsSpec,
};
use zvf_store::format::int;

use crate::error::Result;
use crate::rows::{RowSink, check_output, warnings_of};
use crate::selection::of_member;
use crate::{
    Context, JobError, LevelOptions, SelectName, SelectionOptions, StatisticsUnit, TableRows,
};

/// Objects or groups whose statistics form one batch.
const TOGETHER: usize = 1024;

options! {
    /// Shows ranges, means, quantiles, counts and histograms of axes and attributes
    StatsJob {
        /// Path or URL of the store
        store: String,
        /// Which rows are used
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// Which rows count: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: vertices]
        #[arg(long, value_enum)]
        select: Option<SelectName>,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Axes and attributes, `NAME[1]` for one channel [default: all]; object.NAME is an attribute of objects, count() the number of vertices of an object
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        columns: Option<Vec<String>>,
        /// Statistics of each `object` or `group`
        #[arg(long, value_name = "object|group")]
        by: Option<StatisticsUnit>,
        /// Shows histograms of at most N bins, at least 4; 0: none [default with --json: 32]
        #[arg(long, value_name = "N")]
        bins: Option<usize>,
        /// Probabilities of the quantiles [default: 0.05,0.25,0.5,0.75,0.95]
        #[arg(long, value_name = "P,..", value_delimiter = ',')]
        quantiles: Option<Vec<f64>>,
        /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
    }
}

impl StatsJob {
    fn spec(&self) -> StatisticsSpec {
        let mut spec = StatisticsSpec::default();
        spec.columns.clone_from(&self.columns);
        spec.by = self.by.as_ref().map(|by| *by.value());
        spec.bins = self.bins.unwrap_or(spec.bins);
        spec.quantiles = self.quantiles.clone().unwrap_or(spec.quantiles);
        spec
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.terms.check()?;
        SelectName::check(self.select, self.terms.place.relation())?;
        check_output(self.output.as_deref())?;
        self.spec().check().map_err(of_member)
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<StatsReport>> {
        async move {
            let spec = self.spec();
            let select = self.select.map_or(Select::Vertices, Select::from);
            let place = (self.store.as_str(), &self.at);
            let opened = self
                .terms
                .open(place, context, |asked| asked.select = select);
            let (store, query) = opened.await?;
            let failed = || JobError::query(&self.store);
            context.total_of(&store, &query).await?;
            let scan = StatisticsScan::start(&store, query, spec.clone()).await;
            let mut scan = scan.map_err(failed())?;
            let table = scan.table().clone();
            let mut sink = RowSink::new(self.output.as_deref(), table.schema(), None)?;
            let progress = context.progress();
            let (mut waiting, mut vertices, mut sections) = (Vec::new(), 0, 0);
            let mut whole = None;
            loop {
                let step = scan.step().await.map_err(failed())?;
                let ended = step.is_none();
                if let Some(step) = step {
                    progress(step.rows);
                    vertices += step.rows;
                    sections += int::wide(step.sections.len());
                    waiting.extend(step.sections);
                }
                if waiting.len() >= TOGETHER || (ended && !waiting.is_empty()) {
                    sink.push(&table.batch(&waiting, &exact_text).map_err(failed())?)?;
                    whole = waiting.pop().filter(|_| spec.by.is_none());
                    waiting.clear();
                }
                if ended {
                    break;
                }
            }
            let (rows, files, _) = sink.finish()?;
            let summary = scan.summary();
            Ok(StatsReport {
                store: self.store.clone(),
                kind: store.kind().to_string(),
                level: self.at.level,
                levels: summary.levels.clone(),
                vertices: whole.as_ref().map_or(vertices, |whole| whole.vertices),
                columns: whole.map(|whole| whole.columns),
                rows: rows.filter(|_| spec.by.is_some()),
                files,
                warnings: warnings_of(&store, &summary.warnings),
                sections,
                spec,
            })
        }
        .boxed()
    }
}

/// The report of `stats`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StatsReport {
    /// The store.
    pub store: String,
    /// Its kind.
    pub kind: String,
    /// The level.
    pub level: u32,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// Rows of the vertex table.
    pub vertices: u64,
    /// The statistics of all rows; `None` if they are computed for each object or group.
    pub columns: Option<Vec<ColumnStatistics>>,
    /// The statistics of each object or group, unless they were written to a file.
    pub rows: Option<TableRows>,
    /// The file that was written.
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// Objects or groups.
    #[serde(skip)]
    pub sections: u64,
    /// The requested statistics.
    #[serde(skip)]
    pub spec: StatisticsSpec,
}

impl StatsReport {
    /// The number of rows in the file, and their name.
    pub(crate) fn counted(&self) -> (u64, &'static str) {
        match self.spec.by {
            Some(StatisticsBy::Object) => (self.sections, "object"),
            Some(StatisticsBy::Group) => (self.sections, "group"),
            None => (
                int::wide(self.columns.as_ref().map_or(0, Vec::len)),
                "column",
            ),
        }
    }
}

/// A number of a column as text with all its digits; dates, times and durations as in tables.
#[must_use]
pub fn exact_text(field: &Field, number: StatisticValue) -> String {
    let number = match number {
        StatisticValue::Float(number) => return number.to_string(),
        StatisticValue::Integer(number) => number,
    };
    // Dates, times and durations are stored as 64-bit integers.
    let wide = matches!(
        field.data_type(),
        DataType::Int64 | DataType::Timestamp(..) | DataType::Duration(_)
    );
    let text = || {
        let array = Int64Array::from(vec![i64::try_from(number).ok()?]);
        let data = array.into_data().into_builder();
        let array = make_array(data.data_type(field.data_type().clone()).build().ok()?);
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let batch = batch_with_times(&RecordBatch::try_new(schema, vec![array]).ok()?).ok()?;
        let mut text = String::new();
        write_value(&mut text, batch.columns().first()?.as_ref(), 0, Style::Text);
        Some(text)
    };
    let text = wide.then(text).flatten();
    text.unwrap_or_else(|| number.to_string())
}
