//! Reads cells from an object store or a web server: the requests of all decoders are sent together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::future::{join, join_all, try_join_all};

use super::decoder::{BatchCells, Decoder};
use super::shard::{FirstAsks, ShardCache, ShardHead};
use crate::StoreError;
use zvf_io::{Ask, Cap, IoError, Kv, Object};

/// A decoder, and the objects that were fetched for its requests.
#[derive(Debug)]
pub(super) struct AnsweredDecoder {
    decoder: Box<dyn Decoder>,
    objects: Vec<Option<Object>>,
}

/// Fetches the objects and ranges that a decoder requests, after the index of its shard if it reads from one.
pub(super) async fn fetch(
    kv: &Kv,
    shards: &ShardCache,
    mut decoder: Box<dyn Decoder>,
) -> Result<AnsweredDecoder, StoreError> {
    let mut round = kv.round();
    if let Some((key, shard)) = decoder.shard() {
        let (key, cap) = (key.to_owned(), Cap::cell(kv.limits()));
        let is_new = shards.heads.ready(&key).is_none();
        // The position of a chunk in the shard is known only from the index, so the requests after the index belong to the next round.
        round = round.saturating_add(u32::from(is_new));
        let guess = decoder.guess(cap).filter(|_| is_new);
        let FirstAsks {
            index,
            with_index,
            mut beside,
        } = FirstAsks::of(shard, guess, kv, cap);
        let (leads, with_head) = (AtomicBool::new(false), OnceLock::new());
        let load = async {
            leads.store(true, Ordering::Relaxed);
            let Some(object) = kv.get_polled(&key, index, cap).await? else {
                return Ok(None);
            };
            let part = with_index.is_some().then(|| object.clone());
            let mut head = ShardHead::parse(&key, shard, object)?;
            if let Some(part) = part {
                // These chunks are used now, and not cached with the index.
                head = head.without_tail();
                let _ = with_head.set(part);
            }
            Ok(Some(Arc::new(head)))
        };
        let head = shards.heads.get_polled(key.clone(), load);
        // Polled after `head`: `leads` then states whether this batch sends the request for the index.
        let beside = async {
            if !leads.load(Ordering::Relaxed) {
                beside.extend(with_index.clone());
            }
            let beside = beside.into_iter();
            join_all(beside.map(|range| kv.get_polled(&key, Ask::Range(range), cap))).await
        };
        let (head, beside) = join(head, beside).await;
        // Failed reads at expected positions are ignored: the chunk is read at the position in the index, where failures count.
        let beside = beside.into_iter().filter_map(|part| part.ok().flatten());
        let beside = beside.chain(with_head.into_inner());
        decoder.take_head(head?, beside.collect(), cap)?;
    }
    let (kv, gets) = (&kv.in_round(round), decoder.requests(kv)?);
    let answers = gets.iter().map(|get| async move {
        match kv.get_polled(&get.key, get.ask.clone(), get.cap).await {
            Err(IoError::Denied { .. }) if get.denied_is_absent => Ok(Ok(None)),
            Err(error) if get.depends => Ok(Err(error)),
            answer => answer.map(Ok),
        }
    });
    let answers = try_join_all(answers).await?;
    let mut objects: Vec<Option<Object>> = Vec::with_capacity(answers.len());
    for answer in answers {
        let is_needed = objects.last().is_none_or(Option::is_some);
        objects.push(match answer {
            Err(_) if !is_needed => None,
            answer => answer?,
        });
    }
    Ok(AnsweredDecoder { decoder, objects })
}

impl AnsweredDecoder {
    /// Decodes the fetched bytes.
    pub(super) fn decode(self, cells: &mut BatchCells) -> Result<(), StoreError> {
        let mut decoder = self.decoder;
        for (request, object) in self.objects.into_iter().enumerate() {
            if decoder.needs(request) {
                decoder.take(request, object.map(Into::into), cells)?;
            }
        }
        decoder.finish(cells)
    }
}
