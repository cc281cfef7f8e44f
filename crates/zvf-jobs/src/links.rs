//! The job `links`: the stored records of a link family.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use zvf_query::Table;
use zvf_store::format::keys::format_delta;
use zvf_store::meta::Refinement;
use zvf_store::{Deltas, LinkFamily, Names, Need, Store};

use crate::error::Result;
use crate::rows::check_output;
use crate::{Context, DeltaText, JobError, LevelOptions, Listing, TableRows, json_value};

options! {
    /// Lists the stored records of a link family, endpoint by endpoint
    LinksJob {
        /// Path or URL of the store
        store: String,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Levels that the links span: 0 inside the level, +1 to the next coarser, -1 to the next finer
        #[arg(long, value_name = "D", default_value = "0", allow_hyphen_values = true)]
        delta: DeltaText,
        /// At most this many records
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
    }
}

impl LinksJob {
    pub(crate) fn check(&self) -> Result<()> {
        check_output(self.output.as_deref())
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<LinksReport>> {
        async move {
            let (level, delta) = (self.at.level, *self.delta.value());
            let need = Need {
                link_deltas: Deltas::All,
                link_attributes: Names::All,
                ..Need::nothing()
            };
            let store = context.open(&self.store, level, need.clone()).await?;
            let family = self.family(&store, &need).await?;
            let answer = zvf_query::list_links(&store, level, delta, self.at.own_level_only).await;
            let answer = answer.map_err(JobError::query(&self.store))?;
            let limits = (self.output.as_deref(), self.limit, None);
            let progress = context.progress();
            let read = Listing::read(&store, answer, Table::Links, limits, &*progress).await;
            let read = read.map_err(|error| error.at(&self.store))?;
            let width = family.width();
            Ok(LinksReport {
                store: self.store.clone(),
                level,
                levels: read.levels,
                delta: family.delta(),
                width,
                directed: family.directed(),
                records: read.total,
                truncated: read.count < read.total,
                links: read.rows.map(|rows| LinkRows { rows, width }),
                files: read.files,
                warnings: read.warnings,
                count: read.count,
            })
        }
        .boxed()
    }

    /// The family of the level or, if the level is additive, of the first level that completes it and has the family.
    async fn family(&self, store: &Store, need: &Need) -> Result<LinkFamily> {
        let (url, delta) = (&self.store, *self.delta.value());
        let mut there = Vec::new();
        let mut number = self.at.level;
        loop {
            let level = store.level(number, need).await;
            let level = level.map_err(JobError::store(url))?;
            // Without this check, a list that lacks the refused links would look complete.
            let mut refused = level.refused().iter();
            if let Some(refused) = refused.find(|refused| refused.delta == Some(delta)) {
                return Err(JobError::malformed(format!("{url}: {refused}")));
            }
            if let Some(family) = level.links(delta) {
                return Ok(family.clone());
            }
            for family in level.link_families() {
                let delta = format_delta(family.delta()).to_string();
                if !there.contains(&delta) {
                    there.push(delta);
                }
            }
            let alone = self.at.own_level_only || level.doc().refinement == Refinement::Replace;
            match number.checked_add(1).filter(|_| !alone) {
                Some(next) if store.levels().contains(&next) => number = next,
                _ => break,
            }
        }
        let there = match there.is_empty() {
            true => "no link families".to_owned(),
            false => there.join(", "),
        };
        let delta = format_delta(delta);
        Err(JobError::usage(format!(
            "{url}: level {} has no links of delta {delta}, found {there}",
            self.at.level
        )))
    }
}

/// What `links` listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LinksReport {
    /// The store.
    pub store: String,
    /// The level.
    pub level: u32,
    /// The levels that were read.
    pub levels: Vec<u32>,
    /// Levels that the links span.
    pub delta: i32,
    /// Endpoints of a record.
    pub width: usize,
    /// Whether the order of endpoints has a meaning.
    pub directed: bool,
    /// Records of the family.
    pub records: u64,
    /// Whether the limit left out records.
    pub truncated: bool,
    /// The records, unless they were written to a file.
    pub links: Option<LinkRows>,
    /// The file that was written.
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// The number of records that are listed.
    #[serde(skip)]
    pub count: u64,
}

/// Records of links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRows {
    rows: TableRows,
    width: usize,
}

/// A record.
#[derive(Debug)]
pub struct LinkRecord<'r> {
    /// The level, where several were read.
    pub level: Option<Value>,
    /// Chunk and row of each endpoint, in the application's order.
    pub ends: Vec<(Vec<i64>, u64)>,
    batch: &'r RecordBatch,
    row: usize,
}

impl LinkRecord<'_> {
    /// The columns of the attributes, and the row in them.
    pub fn attributes(&self) -> impl Iterator<Item = (&dyn Array, usize)> {
        let columns = self.batch.columns().iter();
        let columns = columns.skip(fixed(self.batch.schema_ref()));
        columns.map(move |column| (column.as_ref(), self.row))
    }
}

/// Columns before the attributes: `chunks` and `rows`, and before them `level` where several were read.
fn fixed(schema: &Schema) -> usize {
    match schema.fields().first() {
        Some(first) if first.name() == "level" => 3,
        _ => 2,
    }
}

impl LinkRows {
    /// The names of the attributes.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        let fields = self.rows.schema.fields().iter();
        let fields = fields.skip(fixed(&self.rows.schema));
        fields.map(|field| field.name().as_str())
    }

    /// Whether several levels were read.
    #[must_use]
    pub fn has_levels(&self) -> bool {
        fixed(&self.rows.schema) == 3
    }

    /// The records, in their order.
    pub fn records(&self) -> impl Iterator<Item = LinkRecord<'_>> {
        let rows = |batch: &RecordBatch| 0..batch.num_rows();
        let batches = self.rows.batches.iter();
        let rows = batches.flat_map(move |batch| rows(batch).map(move |row| (batch, row)));
        rows.filter_map(move |(batch, row)| self.record(batch, row))
    }

    fn record<'r>(&self, batch: &'r RecordBatch, row: usize) -> Option<LinkRecord<'r>> {
        let list = |name: &str| {
            let column = batch.column_by_name(name)?.as_fixed_size_list_opt()?;
            Some(column.value(row))
        };
        let (chunks, rows) = (list("chunks")?, list("rows")?);
        let chunks = chunks.as_primitive_opt::<Int64Type>()?.values();
        let rows = rows.as_primitive_opt::<UInt64Type>()?.values();
        let rank = chunks.len().checked_div(self.width).unwrap_or(0).max(1);
        let chunks = chunks.chunks(rank).map(<[i64]>::to_vec);
        let first = batch.columns().first().filter(|_| self.has_levels());
        Some(LinkRecord {
            level: first.map(|column| json_value(column.as_ref(), row)),
            ends: chunks.zip(rows.iter().copied()).collect(),
            batch,
            row,
        })
    }
}

impl Serialize for LinkRows {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(self.records().map(|record| {
            let ends = record.ends.iter();
            let ends = ends.map(|(chunk, row)| json!({ "chunk": chunk, "row": row }));
            let ends: Vec<Value> = ends.collect();
            let mut link = Map::new();
            link.extend(
                record
                    .level
                    .clone()
                    .map(|level| ("level".to_owned(), level)),
            );
            link.insert("endpoints".into(), ends.into());
            let values = record
                .attributes()
                .map(|(column, row)| json_value(column, row));
            let names = self.attributes().map(str::to_owned);
            link.extend(names.zip(values));
            link
        }))
    }
}
