//! One level of a chain at work.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use futures::stream::StreamExt;

use crate::QueryError;
use crate::answer::{Count, Item, Items, Schemas, Summary, Table, VerticesEnd};

/// The answer of one level, read one table at a time. Nothing is read ahead of what the level's own budget allows.
pub(crate) struct PartAnswer {
    pub(crate) level: u32,
    items: Items,
    pub(crate) schemas: Schemas,
    /// The first batch of a later table than the one that is read.
    held: Option<(Table, RecordBatch)>,
    /// By object: numbers of objects and their next rows, of rows that were not taken yet.
    pub(crate) runs: VecDeque<(u32, u64)>,
    pub(crate) vertices: Option<VerticesEnd>,
    pub(crate) counts: Vec<Count>,
    pub(crate) summary: Summary,
    ended: bool,
}

impl PartAnswer {
    /// Starts a level and waits for its schemas.
    ///
    /// # Errors
    ///
    /// Those of the level's query.
    pub(crate) async fn start(level: u32, items: Items) -> Result<Self, QueryError> {
        let mut part = Self {
            level,
            items,
            schemas: Schemas::default(),
            held: None,
            runs: VecDeque::new(),
            vertices: None,
            counts: Vec::new(),
            summary: Summary::default(),
            ended: false,
        };
        while let Some(item) = part.items.next().await.transpose()? {
            match item {
                Item::Schemas(schemas) => {
                    part.schemas = schemas;
                    return Ok(part);
                }
                other => part.take(other),
            }
        }
        part.ended = true;
        Ok(part)
    }

    /// The next batch of a table; `None` at its end. Batches of earlier tables are dropped.
    ///
    /// # Errors
    ///
    /// Those of the level's query.
    pub(crate) async fn next(&mut self, table: Table) -> Result<Option<RecordBatch>, QueryError> {
        loop {
            match self.held.take() {
                Some((of, batch)) if of == table => return Ok(Some(batch)),
                Some((of, batch)) if of > table => {
                    self.held = Some((of, batch));
                    return Ok(None);
                }
                _ => {}
            }
            if table == Table::Vertices && self.vertices.is_some() {
                return Ok(None);
            }
            if !self.step().await? {
                return Ok(None);
            }
        }
    }

    /// Takes the next item, whatever it is; whether there was one.
    ///
    /// # Errors
    ///
    /// Those of the level's query.
    pub(crate) async fn step(&mut self) -> Result<bool, QueryError> {
        if self.ended {
            return Ok(false);
        }
        match self.items.next().await.transpose()? {
            Some(item) => self.take(item),
            None => self.ended = true,
        }
        Ok(!self.ended)
    }

    /// The batch that the last [`step`](Self::step) brought, when it is one of vertices.
    pub(crate) fn stepped(&mut self) -> Option<RecordBatch> {
        match self.held.take() {
            Some((Table::Vertices, batch)) => Some(batch),
            other => {
                self.held = other;
                None
            }
        }
    }

    /// Reads to the end; what comes is not kept, except counts and the summary.
    ///
    /// # Errors
    ///
    /// Those of the level's query.
    pub(crate) async fn finish(&mut self) -> Result<(), QueryError> {
        while self.step().await? {
            self.held = None;
        }
        Ok(())
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Schemas(schemas) => self.schemas = schemas,
            Item::Batch(table, batch) => self.held = Some((table, batch)),
            Item::Runs(runs) => {
                for (pick, rows) in runs {
                    match self.runs.back_mut() {
                        Some((last, sum)) if *last == pick => *sum += rows,
                        _ => self.runs.push_back((pick, rows)),
                    }
                }
            }
            Item::Vertices(end) => self.vertices = Some(end),
            Item::Counts(counts) => self.counts = counts,
            Item::End(summary) => self.summary = *summary,
        }
    }
}

/// Adds what a level says about itself to the summary of its chain.
pub(crate) fn add(summary: &mut Summary, part: &Summary) {
    summary.chunks_read = summary.chunks_read.saturating_add(part.chunks_read);
    summary.cells_read = summary.cells_read.saturating_add(part.cells_read);
    summary.link_rows_read = summary.link_rows_read.saturating_add(part.link_rows_read);
    for warning in &part.warnings {
        if !summary.warnings.contains(warning) {
            summary.warnings.push(warning.clone());
        }
    }
}
