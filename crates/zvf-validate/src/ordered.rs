//! Processes several batches concurrently and returns their results in order.

use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt};

/// Runs the futures, at most `at_once` at a time, and returns their results in order.
///
/// The futures are boxed in a list, because the compiler cannot prove that a stream of unboxed futures is `Send`.
pub(crate) fn in_turn<T>(
    work: Vec<BoxFuture<'_, T>>,
    at_once: usize,
) -> impl Stream<Item = T> + Unpin {
    stream::iter(work).buffered(at_once)
}
