//! Cells, each with its own fate: one damaged cell does not hide the others of its batch.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt};
use zvf_store::{CellWant, Store, StoreError};

use crate::error::is_finding;

/// The result of reading one cell.
#[derive(Debug, Clone)]
pub(crate) enum ReadCell {
    /// Missing or empty.
    Absent,
    /// Its decoded bytes.
    There(Bytes),
    /// Why it cannot be read.
    Broken(String),
}

impl ReadCell {
    /// The bytes of a cell that was read.
    pub(crate) fn bytes(&self) -> Option<&Bytes> {
        match self {
            Self::There(bytes) => Some(bytes),
            Self::Absent | Self::Broken(_) => None,
        }
    }
}

impl From<Option<Bytes>> for ReadCell {
    fn from(cell: Option<Bytes>) -> Self {
        cell.map_or(Self::Absent, Self::There)
    }
}

/// Reads cells and runs `f` on the worker that read them. If one cell of the batch cannot be read, all are read again one by one.
///
/// # Errors
/// Access denied, failed requests, a store that changed. Defects of the store are findings.
pub(crate) async fn fetch_map<R, F>(
    store: &Store,
    round: u32,
    wants: Vec<CellWant>,
    f: F,
) -> Result<R, StoreError>
where
    R: Send + 'static,
    F: FnOnce(Vec<ReadCell>) -> R + Clone + Send + 'static,
{
    let again = f.clone();
    let together = store.fetch_map(round, wants.clone(), move |cells| {
        f(cells.into_iter().map(ReadCell::from).collect())
    });
    match together.await {
        Ok(done) => return Ok(done),
        Err(error) if is_finding(&error) => {}
        Err(error) => return Err(error),
    }
    let mut cells = Vec::with_capacity(wants.len());
    for want in wants {
        cells.push(match store.fetch(round, vec![want]).await {
            Ok(mut one) => one.pop().flatten().into(),
            Err(error) if is_finding(&error) => ReadCell::Broken(error.to_string()),
            Err(error) => return Err(error),
        });
    }
    Ok(again(cells))
}

/// Runs the futures, at most `at_once` at a time, and returns their results in order.
///
/// The futures are boxed in a list, because the compiler cannot prove that a stream of unboxed ones is `Send`.
pub(crate) fn in_turn<T>(
    work: Vec<BoxFuture<'_, T>>,
    at_once: usize,
) -> impl Stream<Item = T> + Unpin {
    stream::iter(work).buffered(at_once)
}
