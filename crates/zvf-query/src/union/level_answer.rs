//! The answer of one level of a chain, as input for the answer of the chain.

use arrow_array::RecordBatch;

use super::links::Placement;
use crate::QueryError;
use crate::answer::{Answer, Emit, Summary, Table};

/// The answer of one level, read one table at a time. Read-ahead is limited by the level's own budget.
pub(super) struct LevelAnswer {
    pub(super) level: u32,
    pub(super) answer: Answer,
    /// The first batch of the next table.
    later: Option<(Table, RecordBatch)>,
    /// The positions of the level's rows in the vertex table of the chain.
    pub(super) placement: Placement,
}

impl LevelAnswer {
    /// Starts a level and waits for its schemas.
    ///
    /// # Errors
    ///
    /// Errors of the query of the level.
    pub(super) async fn start<F>(
        level: u32,
        run: impl FnOnce(Emit) -> F,
    ) -> Result<Self, QueryError>
    where
        F: Future<Output = Result<Summary, QueryError>> + Send + 'static,
    {
        Ok(Self {
            level,
            answer: Answer::start(run).await?,
            later: None,
            placement: Placement::default(),
        })
    }

    /// The next batch of a table; `None` at its end. Batches of earlier tables are dropped.
    ///
    /// # Errors
    ///
    /// Errors of the query of the level.
    pub(super) async fn next(&mut self, table: Table) -> Result<Option<RecordBatch>, QueryError> {
        loop {
            let next = match self.later.take() {
                Some(later) => Some(later),
                None => self.answer.next().await?,
            };
            match next {
                None => return Ok(None),
                Some((found, batch)) if found == table => return Ok(Some(batch)),
                Some(later) if later.0 > table => {
                    self.later = Some(later);
                    return Ok(None);
                }
                Some(_) => {}
            }
        }
    }

    /// Reads the rest of the answer, and adds the summary of the level to the summary of the chain.
    ///
    /// # Errors
    ///
    /// Errors of the query of the level.
    pub(super) async fn finish(&mut self, summary: &mut Summary) -> Result<(), QueryError> {
        while self.answer.next().await?.is_some() {}
        let own = self.answer.summary();
        summary.chunks_read = summary.chunks_read.saturating_add(own.chunks_read);
        summary.cells_read = summary.cells_read.saturating_add(own.cells_read);
        summary.link_rows_read = summary.link_rows_read.saturating_add(own.link_rows_read);
        for warning in &own.warnings {
            if !summary.warnings.contains(warning) {
                summary.warnings.push(warning.clone());
            }
        }
        Ok(())
    }
}
