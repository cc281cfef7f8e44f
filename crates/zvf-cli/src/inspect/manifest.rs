//! A manifest: the fragments of one object, in order.

use zvf_format::I64;
use zvf_format::manifest::{
    BlockMode, FragmentList, FragmentRun, Manifest, ManifestHead, OneFragment,
};

use super::dump::{Dump, Field, Stopped, Walk};
use super::place::{Known, key};
use crate::output::table::counted;

/// Takes a manifest apart; without a key rank, every rank that fits exactly is tried.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8], known: &Known) {
    if bytes.is_empty() {
        dump.section("manifest");
        dump.conclude(
            "no bytes: the object is absent at this level, which reads as an empty manifest",
        );
        return;
    }
    let rank = known.key_rank.or_else(|| guess_rank(bytes)).unwrap_or(3);
    let verdict = Manifest::parse(bytes, rank);
    Walk::new(dump, bytes).judged(verdict, |walk| {
        walk.section(format!(
            "manifest: B blocks, each a chunk of {rank} components and its fragments"
        ));
        body(walk, rank, true)?;
        let references = verdict.map_or(0, |manifest| manifest.fragment_count());
        walk.conclude(format!(
            "the object is {}, their rows concatenated in this order",
            counted(references, "fragment")
        ))
    });
}

/// The key rank with which the bytes are consumed exactly, if there is just one from 2 to 5.
pub(crate) fn guess_rank(bytes: &[u8]) -> Option<usize> {
    let mut fitting = (2..=5).filter(|rank| Manifest::parse(bytes, *rank).is_ok());
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Walks one manifest, shown or not.
pub(super) fn body(walk: &mut Walk<'_, '_>, rank: usize, show: bool) -> Result<(), Stopped> {
    let head = walk.structure::<ManifestHead>(show, |head, field| {
        if head.blocks == 0 {
            field.meaning = "blocks: the object is empty".into();
        }
    })?;
    let blocks = u64::from(head.blocks.get());
    let shown = if show { walk.shown() } else { 0 };
    for b in 0..blocks {
        block(walk, rank, b, b < shown)?;
    }
    let hidden = if show {
        blocks.saturating_sub(shown)
    } else {
        0
    };
    walk.more(hidden, "blocks in the same form, read and found right")
}

/// Walks one block.
fn block(walk: &mut Walk<'_, '_>, rank: usize, b: u64, show: bool) -> Result<(), Stopped> {
    let chunk: Vec<i64> = walk
        .values::<I64>(rank as u64, "chunk component")?
        .iter()
        .map(|part| part.get())
        .collect();
    let key = key(&chunk);
    if show {
        let meaning = format!("block {b}: absolute chunk coordinate");
        walk.note("chunk", &key, meaning);
    }
    let mode = walk.structure::<BlockMode>(show, |block, field| {
        field.meaning = match block.mode {
            0 => "one fragment follows",
            1 => "a run of fragments follows: start, count",
            2 => "a list of fragments follows: n, then n numbers",
            _ => "unknown",
        }
        .into();
    })?;
    let of_chunk = |_: &_, field: &mut Field| {
        field.meaning = format!("fragment {} of chunk {key}", field.value);
    };
    match mode.mode {
        0 => walk.structure::<OneFragment>(show, of_chunk).map(|_| ()),
        1 => walk
            .structure::<FragmentRun>(show, |run, field| {
                let (start, count) = (run.start.get(), run.count.get());
                field.meaning = match field.name.as_str() {
                    "count" => {
                        let end = start.saturating_add(count);
                        format!("fragments {start}..{end} of chunk {key}")
                    }
                    _ => String::new(),
                };
            })
            .map(|_| ()),
        2 => {
            let list = walk.structure::<FragmentList>(show, |_, field| {
                field.meaning = format!("fragments of chunk {key}");
            })?;
            let count = u64::from(list.count.get());
            let shown = if show { walk.shown().min(count) } else { 0 };
            for _ in 0..shown {
                walk.structure::<OneFragment>(show, of_chunk)?;
            }
            walk.values::<OneFragment>(count.saturating_sub(shown), "fragment")
                .map(|_| ())
        }
        mode => Err(walk.fault_last(format!("mode: found {mode}, expected 0, 1 or 2"))),
    }
}
