//! The job `measure`: measures objects, and writes a table or object attributes.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_edit::Edit;
use zvf_query::{Measures, stale_level};
use zvf_store::Store;
use zvf_store::format::int;

use crate::checks::at_most_one;
use crate::edit::{begin, end, or_abandon};
use crate::error::Result;
use crate::rows::{RowSink, check_output, warnings_of};
use crate::{Context, JobError, LevelOptions, SelectionOptions, TableRows};

options! {
    /// Measures whole objects: length, branches, surface, volume, bounds, means of attributes
    MeasureJob {
        /// Path or URL of the store
        store: String,
        /// Which objects are meant
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// Which level is read
        #[command(flatten)]
        #[serde(flatten)]
        at: LevelOptions,
        /// Adds the mean of these vertex attributes
        #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
        mean: Vec<String>,
        /// Writes these measures as attributes of the objects, each under its own name or under the name ATTRIBUTE
        #[arg(long = "as", value_name = "NAME[=ATTRIBUTE],..", value_delimiter = ',', conflicts_with_all = ["limit", "output"])]
        attributes: Vec<String>,
        /// At most this many objects
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        /// Writes a file by its ending instead of a table: .csv, .ndjson, .arrow or .parquet
        #[arg(short, long, value_name = "OUT")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
    }
}

impl MeasureJob {
    /// Names of measures, each with the name of the attribute that stores it.
    fn columns(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.attributes.iter();
        words.map(|word| word.split_once('=').unwrap_or((word, word)))
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.terms.check()?;
        check_output(self.output.as_deref())?;
        let attributes = ("attributes", !self.attributes.is_empty());
        at_most_one(&[attributes, ("limit", self.limit.is_some())])?;
        at_most_one(&[attributes, ("output", self.output.is_some())])?;
        if attributes.1 && self.at.level != 0 {
            let found = format!("it with level {}", self.at.level);
            let expected = "level 0, whose objects have attributes";
            return Err(JobError::option("attributes", found, expected));
        }
        Ok(())
    }

    async fn start(&self, context: &Context) -> Result<(Store, Measures)> {
        let place = (self.store.as_str(), &self.at);
        let (store, query) = self.terms.open(place, context, |_| ()).await?;
        let measures = Measures::start(&store, query, &self.mean).await;
        let measures = measures.and_then(|measures| match self.attributes.is_empty() {
            true => Ok(measures),
            false => measures.with_columns(self.columns()),
        });
        Ok((store, measures.map_err(JobError::query(&self.store))?))
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<MeasureReport>> {
        async move {
            match self.attributes.is_empty() {
                true => self.table(context).await.map(MeasureReport::Table),
                false => self.write(context).await.map(MeasureReport::Attributes),
            }
        }
        .boxed()
    }

    async fn table(&self, context: &Context) -> Result<MeasuredTable> {
        let (store, mut measures) = self.start(context).await?;
        let mut sink = RowSink::new(self.output.as_deref(), &measures.schema(), self.limit)?;
        context.total(
            self.limit
                .map_or(measures.len(), |limit| limit.min(measures.len())),
        );
        let progress = context.progress();
        while !sink.is_full() {
            let next = measures.next().await;
            let Some(batch) = next.map_err(JobError::query(&self.store))? else {
                break;
            };
            progress(sink.push(&batch)?);
        }
        let (objects, files, rows) = sink.finish()?;
        let stale = stale_level(&store, self.at.level);
        let warnings: Vec<String> = measures.warnings().iter().cloned().chain(stale).collect();
        Ok(MeasuredTable {
            store: self.store.clone(),
            kind: store.kind().to_string(),
            level: self.at.level,
            total: measures.len(),
            objects,
            files,
            warnings: warnings_of(&store, &warnings),
            rows,
        })
    }

    /// Writes measures as attributes of the objects.
    async fn write(&self, context: &Context) -> Result<MeasuredAttributes> {
        // The edit is opened before the query runs, so that no other writer changes the store between the two.
        let edit = begin(&self.store, context).await?;
        let (mut edit, (store, mut measures)) = or_abandon(edit, self.start(context).await).await?;
        context.total(measures.len());
        let set = set_measures(&mut edit, &mut measures, &*context.progress()).await;
        let (done, objects) = end(edit, &self.store, set).await?;
        Ok(MeasuredAttributes {
            store: self.store.clone(),
            kind: store.kind().to_string(),
            attributes: self.columns().map(|(_, name)| name.to_owned()).collect(),
            objects,
            put: done.put,
            removed: done.removed,
            warnings: warnings_of(&store, measures.warnings()),
        })
    }
}

/// Stores measures as object attributes with the names of their columns. Returns the number of objects. Calls `progress` with the number of objects
/// of each step.
///
/// # Errors
///
/// Misuse: an attribute that exists with another type. The errors of the query and the edit.
pub async fn set_measures(
    edit: &mut Edit,
    measures: &mut Measures,
    progress: &(dyn Fn(u64) + Send + Sync),
) -> Result<u64> {
    // Types are checked before anything is measured.
    let none = RecordBatch::new_empty(measures.schema());
    edit.set_object_columns(&none).await?;
    let mut objects = 0;
    while let Some(batch) = measures.next().await.map_err(JobError::query(""))? {
        edit.set_object_columns(&batch).await?;
        let rows = int::wide(batch.num_rows());
        objects += rows;
        progress(rows);
    }
    Ok(objects)
}

/// The report of `measure`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum MeasureReport {
    /// A table.
    Table(MeasuredTable),
    /// Attributes of the objects.
    Attributes(MeasuredAttributes),
}

/// Measures as a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeasuredTable {
    /// The store.
    pub store: String,
    /// Its kind.
    pub kind: String,
    /// The level.
    pub level: u32,
    /// The number of the selected objects.
    pub total: u64,
    /// The measures, unless they were written to a file.
    pub objects: Option<TableRows>,
    /// The file that was written.
    pub files: Vec<String>,
    /// Violations of the format.
    pub warnings: Vec<String>,
    /// Objects of the table.
    #[serde(skip)]
    pub rows: u64,
}

/// Measures that became attributes of the objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MeasuredAttributes {
    /// The store.
    pub store: String,
    /// Its kind.
    pub kind: String,
    /// The names of the attributes.
    pub attributes: Vec<String>,
    /// Objects that were measured.
    pub objects: u64,
    /// Objects of the storage that the edit replaced or added.
    pub put: u64,
    /// Objects of the storage that the edit removed.
    pub removed: u64,
    /// Violations of the format.
    pub warnings: Vec<String>,
}
