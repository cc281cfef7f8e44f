//! Requests the chunks and link cells of a result by object.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, try_join_all};

use super::batches::Batch;
use crate::QueryError;
use crate::by_slot::BySlot;
use crate::columns::attribute::Cell;
use crate::columns::gather::Kept;
use crate::jobs::Jobs;
use crate::links::records::LinkCellRef;
use crate::plan::chunks::Slot;
use crate::prepare::Prepared;
use crate::reader::{Decoded, Reader, What};
use crate::scan::plan::load;

/// Most chunks of one task.
const CHUNKS: usize = 16;

/// Fewest chunks of one task; for fewer, another thread costs more than it saves.
const LEAST: usize = 3;

/// How chunks are read.
#[derive(Debug)]
pub(crate) struct Fetch {
    pub(crate) reader: Arc<Reader>,
    pub(crate) what: What,
    pub(crate) round: u32,
    /// The requested fragments of each chunk, by first number and count; `None` if all may be needed.
    pub(crate) named: Option<BySlot<(u32, u32)>>,
    /// Whether chunks are read on the calling thread.
    pub(crate) here: bool,
}

impl Fetch {
    /// Reads chunks. Only missing cells are read for chunks in `held`.
    pub(crate) fn chunks(
        self: &Arc<Self>,
        slots: Vec<Slot>,
        mut held: HashMap<Slot, Decoded>,
    ) -> BoxFuture<'static, Result<Vec<Decoded>, QueryError>> {
        let mut parts = Vec::new();
        let most = match self.here {
            true => slots.len().max(1),
            false => slots.len().div_ceil(2).clamp(LEAST, CHUNKS),
        };
        for slots in slots.chunks(most) {
            let mut work: Vec<(Slot, What, Option<Decoded>)> = Vec::with_capacity(slots.len());
            for slot in slots {
                let known = held.remove(slot);
                let what = match &known {
                    Some(chunk) => What {
                        vertices: false,
                        positions: false,
                        fragments: false,
                        attributes: self
                            .what
                            .attributes
                            .iter()
                            .zip(&chunk.cells)
                            .map(|(wanted, cell)| *wanted && matches!(cell, Cell::Unread))
                            .collect(),
                    },
                    None => self.what.clone(),
                };
                work.push((*slot, what, known));
            }
            let wanted: Vec<_> = work
                .iter()
                .map(|(slot, what, _)| (*slot, what.clone()))
                .collect();
            let fetch = Arc::clone(self);
            parts.push(
                self.reader
                    .open(self.round, wanted, self.here, move |chunks| {
                        let reader = &fetch.reader;
                        let decode = |((slot, what, known), open)| {
                            let named = fetch.named.as_ref().map(|named| named.of(slot));
                            match known {
                                Some(chunk) => reader.complete(chunk, &what, open, named),
                                None => reader.decode(slot, &what, open, named),
                            }
                        };
                        work.into_iter()
                            .zip(chunks)
                            .map(decode)
                            .collect::<Result<Vec<_>, _>>()
                    }),
            );
        }
        async move { Ok(try_join_all(parts).await?.into_iter().flatten().collect()) }.boxed()
    }
}

/// Chunks that were read before, renumbered for this reader.
pub(crate) fn renumber(
    held: HashMap<Vec<i64>, Decoded>,
    reader: &Reader,
) -> HashMap<Slot, Decoded> {
    let renumbered = held.into_iter().filter_map(|(chunk, decoded)| {
        let slot = reader.table.slot(&chunk)?;
        let kept = Kept::All(decoded.rows);
        let decoded = Decoded {
            slot,
            kept,
            ..decoded
        };
        Some((slot, decoded))
    });
    renumbered.collect()
}

/// The jobs in order: for each batch, the chunks that it is the first to name; then link cells. The budget limits how many are in flight.
pub(crate) fn jobs(
    p: &Prepared,
    fetch: &Arc<Fetch>,
    batches: Vec<Batch>,
    mut held: HashMap<Slot, Decoded>,
    links: Vec<LinkCellRef>,
) -> Jobs<(Batch, Vec<Decoded>)> {
    let window = window(p, fetch);
    let (reader, round) = (Arc::clone(&fetch.reader), fetch.round);
    let fetch = Arc::clone(fetch);
    let chunks = batches.into_iter().map(move |batch| {
        let known = batch.new.iter();
        let known = known.filter_map(|slot| Some((*slot, held.remove(slot)?)));
        let run = fetch.chunks(batch.new.clone(), known.collect());
        async move { Ok((batch, run.await?)) }.boxed()
    });
    Jobs::new(&reader, round, chunks, p.link_parts(links), window)
}

/// Batches in flight.
fn window(p: &Prepared, fetch: &Fetch) -> usize {
    let load = load(p, &fetch.reader, &fetch.what);
    let rows = load.rows_per_chunk.max(1024).saturating_mul(32);
    let bytes = rows.saturating_mul(load.row_bytes).max(1);
    usize::try_from((p.query.memory_budget / bytes.saturating_mul(4).max(1)).clamp(2, 32))
        .unwrap_or(2)
}
