//! Response bodies that are slow, never end, break off, or are shorter or longer than announced.

use std::time::Duration;

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use object_store::Result;

use super::rule::{Fault, reset};

/// Applies the fault to a complete body; faults of other kinds leave it unchanged.
pub(super) fn spoil(fault: &Fault, whole: Bytes) -> BoxStream<'static, Result<Bytes>> {
    let half = whole.slice(..whole.len() / 2);
    match fault {
        Fault::SlowBody { piece, pause } => slow(whole, (*piece).max(1), *pause),
        Fault::EndlessBody => futures::stream::iter([Ok(half)])
            .chain(futures::stream::pending())
            .boxed(),
        Fault::BrokenBody => futures::stream::iter([Ok(half), Err(reset())]).boxed(),
        Fault::ShortBody => futures::stream::iter([Ok(half)]).boxed(),
        Fault::LongBody => {
            let more = Bytes::from_static(b"and more than was announced");
            futures::stream::iter([Ok(whole), Ok(more)]).boxed()
        }
        _ => futures::stream::iter([Ok(whole)]).boxed(),
    }
}

/// Whether the fault changes the body.
pub(super) fn spoils(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::SlowBody { .. }
            | Fault::EndlessBody
            | Fault::BrokenBody
            | Fault::ShortBody
            | Fault::LongBody
    )
}

fn slow(whole: Bytes, piece: usize, pause: Duration) -> BoxStream<'static, Result<Bytes>> {
    futures::stream::unfold(whole, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let first = rest.split_to(piece.min(rest.len()));
        Some((Ok(first), rest))
    })
    .boxed()
}
