//! A ragged blob: a table of byte offsets, then groups of bytes.

use zvf_format::I64;
use zvf_format::ragged::{RaggedBlob, RaggedHead};

use super::dump::{Dump, Stopped, Walk};

/// Takes a ragged blob apart; the groups stay bytes.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8]) {
    Walk::new(dump, bytes).judged(RaggedBlob::parse(bytes), |walk| {
        let lengths = head(walk)?;
        walk.section("data: the groups back to back");
        let shown = walk.dump().rows;
        for (g, length) in lengths.iter().enumerate() {
            walk.take(*length, "group")?;
            if g < shown {
                walk.note(&format!("group {g}"), format!("{length} bytes"), "");
            }
        }
        walk.more(lengths.len().saturating_sub(shown) as u64, "groups")
    });
}

/// Reads count and offsets; returns the length of every group. Leaves the cursor at the data.
pub(crate) fn head(walk: &mut Walk<'_, '_>) -> Result<Vec<u64>, Stopped> {
    walk.section("ragged blob: Gn groups, the byte offset of each inside the data, the data");
    let left = walk.left();
    if left < size_of::<RaggedHead>() as u64 {
        walk.take(left, "bytes")?;
        walk.note("bytes", "", "fewer than 8 bytes: no groups");
        return Ok(Vec::new());
    }
    let head = walk.structure::<RaggedHead>(true, |_, _| {})?;
    let groups = head.groups.get().unsigned_abs();
    let shown = walk.shown();
    let mut offsets: Vec<u64> = Vec::new();
    for g in 0..groups {
        let offset = walk.value::<I64>("group offset")?.get();
        if g < shown {
            let meaning = format!("where group {g} begins inside the data");
            walk.note(&format!("offset {g}"), offset.to_string(), meaning);
        }
        offsets.push(offset.unsigned_abs());
    }
    walk.more(
        groups.saturating_sub(shown),
        "offsets, read and found right",
    )?;
    let ends = offsets.iter().copied().skip(1).chain([walk.left()]);
    Ok(offsets
        .iter()
        .zip(ends)
        .map(|(from, to)| to.saturating_sub(*from))
        .collect())
}
