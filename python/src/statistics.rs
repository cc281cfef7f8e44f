//! Statistics and measures of queries.

use pyo3::prelude::*;
use zvf_query::{Measures, Query, StatisticsScan, StatisticsSection, StatisticsSpec};
use zvf_store::Store;

use crate::errors::Failure;
use crate::table::Table;

/// The requested statistics.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    columns: Option<Vec<String>>,
    by: Option<String>,
    bins: usize,
    quantiles: Vec<f64>,
}

impl Wanted {
    /// # Errors
    /// Misuse: `by` is neither `object` nor `group`.
    pub(crate) fn spec(self) -> PyResult<StatisticsSpec> {
        let mut spec = StatisticsSpec::default();
        let by = self.by.as_deref().map(str::parse);
        spec.by = by.transpose().map_err(Failure::from)?;
        spec.columns = self.columns;
        spec.bins = self.bins;
        spec.quantiles = self.quantiles;
        Ok(spec)
    }
}

/// Computes all sections. Returns them and the warnings.
pub(crate) async fn sections(
    store: &Store,
    query: Query,
    spec: StatisticsSpec,
) -> Result<(Vec<StatisticsSection>, Vec<String>), Failure> {
    let mut scan = StatisticsScan::start(store, query, spec).await?;
    let mut sections = Vec::new();
    while let Some(step) = scan.step().await? {
        sections.extend(step.sections);
    }
    Ok((sections, scan.summary().warnings.clone()))
}

/// Measures objects. Returns a table and the warnings.
pub(crate) async fn measures(
    store: &Store,
    query: Query,
    means: &[String],
) -> Result<(Table, Vec<String>), Failure> {
    let mut measures = Measures::start(store, query, means).await?;
    let schema = measures.schema();
    let mut batches = Vec::new();
    while let Some(batch) = measures.next().await? {
        batches.push(batch);
    }
    let warnings = measures.warnings().to_vec();
    Ok((Table { schema, batches }, warnings))
}
