//! A ragged blob: a table of byte offsets, then groups of bytes.

use zvf_format::I64;
use zvf_format::ragged::{RaggedBlob, RaggedHead};

use super::dump::{Stopped, Walk};

/// Takes a ragged blob apart; the groups stay bytes.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.judge(RaggedBlob::parse(walk.rest()));
    let mut lengths = head(walk)?.into_iter();
    walk.dump.section("data: the groups back to back");
    let count = lengths.len() as u64;
    walk.table(count, (0, None), "groups", |walk, g| {
        let length = lengths.next().ok_or(Stopped)?;
        walk.take(length, "group")?;
        let size = format_args!("{length} bytes");
        walk.note(format_args!("group {g}"), size, "");
        Ok(())
    })
}

/// Reads count and offsets; returns the length of every group. Leaves the cursor at the data.
pub(crate) fn head(walk: &mut Walk<'_, '_>) -> Result<Vec<u64>, Stopped> {
    walk.dump
        .section("ragged blob: Gn groups, the byte offset of each inside the data, the data");
    let left = walk.left();
    if left < size_of::<RaggedHead>() as u64 {
        walk.take(left, "bytes")?;
        walk.note("bytes", "", "fewer than 8 bytes: no groups");
        return Ok(Vec::new());
    }
    let head = walk.structure::<RaggedHead>(|_, _| {})?;
    let mut offsets: Vec<u64> = Vec::new();
    let (count, more) = (head.groups.get(), "offsets, checked");
    walk.table(count.unsigned_abs(), (0, None), more, |walk, g| {
        let offset = walk.value::<I64>("group offset")?.get();
        let meaning = format_args!("where group {g} begins inside the data");
        walk.note(format_args!("offset {g}"), offset, meaning);
        offsets.push(offset.unsigned_abs());
        Ok(())
    })?;
    let ends = offsets.iter().copied().skip(1).chain([walk.left()]);
    let pairs = offsets.iter().zip(ends);
    Ok(pairs.map(|(from, to)| to.saturating_sub(*from)).collect())
}
