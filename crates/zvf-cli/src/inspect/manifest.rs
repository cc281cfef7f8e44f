//! A manifest: the fragments of one object, in order.

use super::dump::{Stopped, Walk};
use super::{Context, key};
use crate::output::table::counted;

/// Fragments are counted in 32 bits, so a chunk's last fragment has at most this number.
const LAST: i64 = u32::MAX as i64 - 1;

/// Takes a manifest apart; without a key rank, every rank that fits exactly is tried.
pub(crate) fn walk(walk: &mut Walk<'_, '_>, context: &Context) {
    if walk.len() == 0 {
        walk.section("manifest");
        walk.dump().conclude(
            "no bytes: the object is absent at this level, which reads as an empty manifest",
        );
        return;
    }
    let rank = context
        .key_rank
        .or_else(|| guess_rank(walk.rest()))
        .unwrap_or(3);
    let _ = blob(walk, rank);
}

/// The key rank with which the bytes are consumed exactly, if there is just one from 2 to 5.
pub(crate) fn guess_rank(bytes: &[u8]) -> Option<usize> {
    let mut fitting =
        (2..=5).filter(|rank| zvf_format::manifest::Manifest::parse(bytes, *rank).is_ok());
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

fn blob(walk: &mut Walk<'_, '_>, rank: usize) -> Result<(), Stopped> {
    walk.section(format!(
        "manifest: B blocks, each a chunk of {rank} components and its fragments"
    ));
    let references = body(walk, rank, true)?;
    let left = walk.left();
    if left > 0 {
        return Err(walk.fault_here(format!(
            "after the last block: found {left} more bytes, expected the end"
        )));
    }
    walk.dump().conclude(format!(
        "the object is {}, their rows concatenated in this order",
        counted(references, "fragment")
    ));
    Ok(())
}

/// Walks one manifest, shown or not; gives the number of fragments it names.
pub(super) fn body(walk: &mut Walk<'_, '_>, rank: usize, show: bool) -> Result<u64, Stopped> {
    let blocks = u64::from(walk.u32("B")?);
    if show {
        let meaning = match blocks {
            0 => "blocks: the object is empty",
            _ => "blocks, in the object's order",
        };
        walk.note(4, "B", blocks.to_string(), meaning);
    }
    let shown = if show { walk.shown() } else { 0 };
    let mut references = 0u64;
    for b in 0..blocks {
        references = references.saturating_add(block(walk, rank, b, b < shown)?);
    }
    if show && blocks > shown {
        walk.dump().remark(
            "…",
            format!("{} more", blocks - shown),
            "blocks in the same form, read and found right",
        );
    }
    Ok(references)
}

/// Walks one block; gives the number of fragments it names.
fn block(walk: &mut Walk<'_, '_>, rank: usize, b: u64, show: bool) -> Result<u64, Stopped> {
    let mut chunk = Vec::with_capacity(rank);
    for _ in 0..rank {
        chunk.push(walk.i64("chunk component")?);
    }
    let key = key(&chunk);
    if show {
        walk.note(
            8 * rank as u64,
            "chunk",
            &key,
            format!("block {b}: absolute chunk coordinate"),
        );
    }
    let mode = walk.take(1, "mode")?.first().copied().unwrap_or(0);
    if show {
        let meaning = match mode {
            0 => "one fragment follows",
            1 => "a run of fragments follows: start, count",
            2 => "a list of fragments follows: n, then n numbers",
            _ => "unknown",
        };
        walk.note(1, "mode", mode.to_string(), meaning);
    }
    match mode {
        0 => {
            number(walk, "fragment", show, LAST, |f| {
                format!("fragment {f} of chunk {key}")
            })?;
            Ok(1)
        }
        1 => {
            let start = number(walk, "start", show, LAST + 1, |_| String::new())?;
            let meaning = |count| {
                format!(
                    "fragments {start}..{} of chunk {key}",
                    start.saturating_add(count)
                )
            };
            let count = number(walk, "count", show, LAST + 1 - start, meaning)?;
            Ok(count.unsigned_abs())
        }
        2 => {
            let n = walk.u32("n")?;
            if show {
                walk.note(4, "n", n.to_string(), format!("fragments of chunk {key}"));
            }
            let shown = if show { walk.shown() } else { 0 };
            for i in 0..u64::from(n) {
                number(walk, "fragment", i < shown, LAST, |f| {
                    format!("fragment {f} of chunk {key}")
                })?;
            }
            Ok(u64::from(n))
        }
        other => Err(walk.fault_back(
            1,
            format!("mode of block {b}: found {other}, expected 0, 1 or 2"),
        )),
    }
}

/// Reads one number from 0 to `most`.
fn number(
    walk: &mut Walk<'_, '_>,
    name: &str,
    show: bool,
    most: i64,
    meaning: impl FnOnce(i64) -> String,
) -> Result<i64, Stopped> {
    let value = walk.i64(name)?;
    let fits = (0..=most).contains(&value);
    if show || !fits {
        walk.note(
            8,
            name,
            value.to_string(),
            if fits { meaning(value) } else { String::new() },
        );
    }
    if fits {
        Ok(value)
    } else {
        Err(walk.fault_back(8, format!("{name}: found {value}, expected 0 to {most}")))
    }
}
