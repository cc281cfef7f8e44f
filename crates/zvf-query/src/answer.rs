//! The answer of a query: tables as streams of record batches, and a summary.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::future::{BoxFuture, FutureExt};
use futures::sink::SinkExt;
use futures::stream::{BoxStream, Stream, StreamExt};
use futures_channel::mpsc;

use zvf_store::{Class, Store};

use crate::QueryError;

/// One of the tables of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Table {
    /// One row for each vertex: `position`, attributes, and the requested columns.
    Vertices,
    /// One row for each link: `vertices`, rows of the vertex table of the same answer, and link attributes.
    Links,
    /// One row for each object: `object_id`; `start` and `length` in rows of the vertex table if the answer is grouped by object, else the
    /// number of its `vertices` in the answer; object attributes. An object without vertices in the answer has a row only if the query names it by
    /// id or group, or selects it by conditions on objects alone.
    Objects,
}

/// A summary of an answer, complete after its last batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Rows of the vertex table, even if the table was not requested.
    pub vertices: u64,
    /// Rows of the link table.
    pub links: u64,
    /// Rows of the object table.
    pub objects: u64,
    /// The levels that were read: the requested one, then the levels that complete an additive one.
    pub levels: Vec<u32>,
    /// Chunks whose vertices were read.
    pub chunks_read: u64,
    /// Cells that were requested, of all arrays.
    pub cells_read: u64,
    /// Rows of links that were decoded, including rows that are not in the answer.
    pub link_rows_read: u64,
    /// Whether [`Query::limit`](crate::Query::limit) left out rows; always exact.
    pub truncated: bool,
    /// Defects of the store that did not prevent an answer.
    pub warnings: Vec<String>,
}

/// The schemas of the tables that an answer has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schemas {
    pub(crate) vertices: Option<SchemaRef>,
    pub(crate) links: Option<SchemaRef>,
    pub(crate) objects: Option<SchemaRef>,
    /// For each column of the vertex table, whether its type is assumed, because no cell and no document states the width of a row; all values
    /// are null then.
    pub(crate) guessed: Vec<bool>,
}

/// An event of a running query.
#[derive(Debug)]
pub(crate) enum Item {
    Schemas(Schemas),
    Batch(Table, RecordBatch),
    End(Box<Summary>),
}

/// A running query, read batch by batch: first the vertex table, then links, then objects, each in batches of at most
/// [`Query::batch_rows`](crate::Query::batch_rows) rows.
///
/// [`Query::memory_budget`](crate::Query::memory_budget) limits reading ahead, and nothing is read until the next batch is requested. Dropping
/// the answer ends the query.
pub struct Answer {
    items: BoxStream<'static, Result<Item, QueryError>>,
    schemas: Schemas,
    summary: Summary,
    /// Notes about the conditions that were evaluated before the answer.
    remarks: Vec<String>,
    pub(crate) by_object: bool,
    /// Whether the summary is final.
    complete: bool,
    ended: bool,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("schemas", &self.schemas)
            .field("summary", &self.summary)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Answer {
    /// Starts a query and waits for its schemas, which need the first cells: the width of an attribute follows from
    /// its bytes.
    pub(crate) async fn start<F>(run: impl FnOnce(Emit) -> F) -> Result<Self, QueryError>
    where
        F: Future<Output = Result<Summary, QueryError>> + Send + 'static,
    {
        // Nothing happens until the first item is polled.
        let (sender, receiver) = mpsc::channel(0);
        let run: BoxFuture<'static, _> = run(Emit {
            sender,
            here: false,
            last: None,
        })
        .boxed();
        let end = run.map(|summary| summary.map(|summary| Item::End(Box::new(summary))));
        let mut answer = Self {
            items: futures::stream::select(receiver.map(Ok), end.into_stream()).boxed(),
            schemas: Schemas::default(),
            summary: Summary::default(),
            remarks: Vec::new(),
            by_object: false,
            complete: false,
            ended: false,
        };
        loop {
            match answer.items.next().await {
                Some(Ok(Item::Schemas(schemas))) => {
                    answer.schemas = schemas;
                    return Ok(answer);
                }
                Some(Err(error)) => return Err(error),
                Some(Ok(Item::End(summary))) => {
                    answer.summary = *summary;
                    answer.complete = true;
                }
                Some(Ok(_)) => {}
                None => return Ok(answer),
            }
        }
    }

    /// Whether rows are grouped by object, not in chunk order. Such a query is refused if it has [`Query::within`](crate::Query::within).
    #[must_use]
    pub fn is_by_object(&self) -> bool {
        self.by_object
    }

    /// The answer with notes about conditions among its warnings, before the others.
    pub(crate) fn with_remarks(mut self, remarks: Vec<String>) -> Self {
        self.remarks = remarks;
        self.add_remarks();
        self
    }

    fn add_remarks(&mut self) {
        let warnings = &mut self.summary.warnings;
        let new = self.remarks.iter();
        let new: Vec<String> = new
            .filter(|remark| !warnings.contains(remark))
            .cloned()
            .collect();
        warnings.splice(0..0, new);
    }

    /// Schema of a table; `None` if the answer does not have it, because it was not requested or the store has no links or objects.
    pub fn schema(&self, table: Table) -> Option<&SchemaRef> {
        match table {
            Table::Vertices => self.schemas.vertices.as_ref(),
            Table::Links => self.schemas.links.as_ref(),
            Table::Objects => self.schemas.objects.as_ref(),
        }
    }

    /// See [`Schemas::guessed`].
    pub(crate) fn guessed(&self) -> &[bool] {
        &self.schemas.guessed
    }

    /// The next batch; never an empty one. `None` at the end. A table without rows has no batch.
    ///
    /// # Errors
    ///
    /// I/O; malformed cells; a limit. The answer ends with its first error.
    pub async fn next(&mut self) -> Result<Option<(Table, RecordBatch)>, QueryError> {
        StreamExt::next(self).await.transpose()
    }

    /// The summary so far. Counts grow with the batches and are final after the last one.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Reads the rest of the answer.
    ///
    /// # Cost
    ///
    /// Holds the whole answer in memory.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next).
    pub fn collect(mut self) -> BoxFuture<'static, Result<Collected, QueryError>> {
        Box::pin(async move {
            let mut all = Collected {
                schemas: self.schemas.clone(),
                ..Collected::default()
            };
            while let Some((table, batch)) = self.next().await? {
                match table {
                    Table::Vertices => all.vertices.push(batch),
                    Table::Links => all.links.push(batch),
                    Table::Objects => all.objects.push(batch),
                }
            }
            all.summary = self.summary;
            Ok(all)
        })
    }

    fn tally(&mut self, table: Table, rows: usize) {
        let count = match table {
            Table::Vertices => &mut self.summary.vertices,
            Table::Links => &mut self.summary.links,
            Table::Objects => &mut self.summary.objects,
        };
        *count = count.saturating_add(zvf_store::format::int::wide(rows));
    }
}

impl Stream for Answer {
    type Item = Result<(Table, RecordBatch), QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            match self.items.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => self.ended = true,
                Poll::Ready(Some(Err(error))) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(Some(Ok(Item::Schemas(schemas)))) => self.schemas = schemas,
                Poll::Ready(Some(Ok(Item::End(summary)))) => {
                    // The final counts include batches that are still in the channel.
                    self.summary = *summary;
                    self.complete = true;
                    self.add_remarks();
                }
                Poll::Ready(Some(Ok(Item::Batch(table, batch)))) => {
                    if batch.num_rows() == 0 {
                        continue;
                    }
                    if !self.complete {
                        self.tally(table, batch.num_rows());
                    }
                    return Poll::Ready(Some(Ok((table, batch))));
                }
            }
        }
    }
}

/// A whole answer in memory.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Collected {
    schemas: Schemas,
    /// The vertex table.
    pub vertices: Vec<RecordBatch>,
    /// The link table.
    pub links: Vec<RecordBatch>,
    /// The object table.
    pub objects: Vec<RecordBatch>,
    /// The summary of the answer.
    pub summary: Summary,
}

impl Collected {
    /// One table in one batch; `None` when the answer does not have the table.
    ///
    /// # Cost
    ///
    /// Copies the table.
    ///
    /// # Errors
    ///
    /// Limit: a table too large for one batch.
    pub fn table(&self, table: Table) -> Result<Option<RecordBatch>, QueryError> {
        let (schema, batches) = match table {
            Table::Vertices => (&self.schemas.vertices, &self.vertices),
            Table::Links => (&self.schemas.links, &self.links),
            Table::Objects => (&self.schemas.objects, &self.objects),
        };
        let Some(schema) = schema else {
            return Ok(None);
        };
        arrow_select::concat::concat_batches(schema, batches)
            .map(Some)
            .map_err(|_| {
                let found = batches
                    .iter()
                    .map(|batch| zvf_store::format::int::wide(batch.num_rows()))
                    .sum();
                let limit = u64::from(i32::MAX.unsigned_abs());
                QueryError::limit(crate::Place::default(), "rows of one batch", found, limit)
            })
    }
}

/// The sender of the running query.
#[derive(Debug)]
pub(crate) struct Emit {
    sender: mpsc::Sender<Item>,
    /// Whether the query is small enough to run on the thread that polls the answer; only for stores in a local folder.
    pub(crate) here: bool,
    /// The last batch, which is sent after a check that the store did not change.
    last: Option<(Table, RecordBatch)>,
}

impl Emit {
    /// Sends schemas. Must come before the first batch.
    pub(crate) async fn schemas(&mut self, schemas: Schemas) {
        self.put(Item::Schemas(schemas)).await;
    }

    /// Sends the previous batch, and keeps this one.
    pub(crate) async fn batch(&mut self, table: Table, batch: RecordBatch) {
        if batch.num_rows() > 0
            && let Some((table, batch)) = self.last.replace((table, batch))
        {
            self.put(Item::Batch(table, batch)).await;
        }
    }

    /// Sends a batch in pieces of at most `rows` rows, which share its buffers; returns the number of its rows.
    pub(crate) async fn send(&mut self, table: Table, batch: &RecordBatch, rows: usize) -> u64 {
        let rows = rows.max(1);
        for start in (0..batch.num_rows()).step_by(rows) {
            let piece = batch.slice(start, rows.min(batch.num_rows() - start));
            self.batch(table, piece).await;
        }
        zvf_store::format::int::wide(batch.num_rows())
    }

    /// Sends the last batch.
    pub(crate) async fn flush(&mut self) {
        if let Some((table, batch)) = self.last.take() {
            self.put(Item::Batch(table, batch)).await;
        }
    }

    async fn put(&mut self, item: Item) {
        // The channel is closed if the answer was dropped; then this future is dropped, too.
        let _ = self.sender.send(item).await;
    }

    /// Checks that the store did not change, then sends the last batch.
    ///
    /// # Errors
    ///
    /// The errors of the run, or of [`or_changed`]; the store changed; I/O.
    pub(crate) async fn end(
        &mut self,
        run: Result<Summary, QueryError>,
        store: &Store,
        round: u32,
    ) -> Result<Summary, QueryError> {
        let summary = or_changed(run, store, round).await?;
        if self.here {
            store.verify_here(round).await?;
        } else {
            store.verify(round).await?;
        }
        self.flush().await;
        Ok(summary)
    }
}

/// Replaces errors about malformed data if the store changed meanwhile. A change can look like damage: a cell that a document lists and that an
/// edit has removed since.
///
/// # Errors
///
/// The errors of `outcome`; [`IoError::SourceChanged`](zvf_store::IoError::SourceChanged) instead, if a document changed since it was read.
pub(crate) async fn or_changed<T>(
    outcome: Result<T, QueryError>,
    store: &Store,
    round: u32,
) -> Result<T, QueryError> {
    match outcome {
        Err(error) if error.class() == Class::Malformed => match store.verify(round).await {
            Err(changed) if changed.is_changed() => Err(changed.into()),
            _ => Err(error),
        },
        outcome => outcome,
    }
}
