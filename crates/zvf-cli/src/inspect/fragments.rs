//! A fragment index: the rows of a chunk that each fragment holds.

use zvf_format::fragments::{FragmentHead, FragmentIndex, RangeEntry, is_range};
use zvf_format::{I64, U32};

use super::dump::{Stopped, Walk};
use crate::output::table::joined;

/// Takes a fragment index apart.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let verdict = FragmentIndex::parse(walk.rest()).and_then(|index| {
        index.verify()?;
        let extent = index.extent()?;
        Ok((extent, index.tiles(extent)))
    });
    let verdict = walk.judge(verdict);
    walk.dump.section("fragment index, head");
    let head = walk.structure::<FragmentHead>(|head, field| match field.name.as_str() {
        "magic" => field.value = format!("{:#010x}", head.magic.get()),
        "R" => field.meaning += &format!("; the other {} are row lists", head.lists()),
        _ => {}
    })?;
    let fragments = head.fragments.get();
    if fragments == 0 {
        walk.conclude("no fragments: the blob ends after its head")?;
        return walk.trailing("after the end; readers ignore it");
    }
    walk.dump.section(
        "bitmap: bit f = byte f/8, bit f%8 from the least significant; 1 = range, 0 = list",
    );
    let (used, padding) = head.bitmap_bytes();
    let bitmap = walk.take(used, "bitmap")?;
    let digits = (0..fragments.min(64)).map(|f| if is_range(bitmap, f) { '1' } else { '0' });
    let more = if fragments > 64 { "…" } else { "" };
    walk.note("bitmap", joined(digits, "") + more, "fragment 0 first");
    if padding > 0 {
        walk.take(padding, "bitmap padding")?;
        let meaning = "to a multiple of 8 bytes; zero when written, ignored when read";
        walk.note("padding", "", meaning);
    }
    let numbers = |range| (0..fragments).filter(move |f| is_range(bitmap, *f) == range);
    ranges(walk, head.ranges.get(), numbers(true))?;
    lists(walk, head.lists(), numbers(false))?;
    walk.trailing("after the end; readers ignore it")?;
    if let Some((extent, tiles)) = verdict {
        walk.conclude(format!("names rows 0..{extent}"))?;
        walk.conclude(if tiles {
            "tiles: the ranges follow each other without gaps, so the chunk's rows can be read without this index"
        } else {
            "does not tile: rows are shared, skipped or out of order"
        })?;
    }
    Ok(())
}

fn ranges(
    walk: &mut Walk<'_, '_>,
    count: u32,
    mut numbers: impl Iterator<Item = u32>,
) -> Result<(), Stopped> {
    if count == 0 {
        return Ok(());
    }
    walk.dump
        .section("range table: start and count of each range, in fragment order");
    let more = "ranges in the same form, checked";
    walk.table(u64::from(count), (0, None), more, |walk, _| {
        let f = numbers.next().ok_or(Stopped)?;
        let entry = walk.structure::<RangeEntry>(|entry, field| {
            let (start, count) = (entry.start.get(), entry.count.get());
            field.meaning = format!("fragment {f}");
            if field.name == "count" {
                field.meaning += &match start.checked_add(count) {
                    Some(_) if count == 0 => ": no rows".to_owned(),
                    Some(end) => format!(": rows {start}..{end}"),
                    None => ": ".to_owned(),
                };
            }
        });
        entry.map(drop)
    })
}

fn lists(
    walk: &mut Walk<'_, '_>,
    count: u32,
    mut numbers: impl Iterator<Item = u32>,
) -> Result<(), Stopped> {
    walk.dump
        .section("row lists: E + 1 offsets into the rows below, then the rows");
    let count = u64::from(count);
    let mut offsets = Vec::new();
    let more = "offsets in the same form, checked";
    walk.table(count + 1, (0, Some(count)), more, |walk, e| {
        let offset = walk.value::<U32>("list offset")?.get();
        let meaning = if e == count {
            "end of the last list = rows in all lists"
        } else {
            "first row of list"
        };
        walk.note(format_args!("offset {e}"), offset, meaning);
        offsets.push(offset);
        Ok(())
    })?;
    let mut lengths = offsets.windows(2).map(|pair| match pair {
        [from, to] => to.saturating_sub(*from),
        _ => 0,
    });
    let more = "lists in the same form, checked";
    walk.table(count, (0, None), more, |walk, _| {
        let (f, length) = numbers.next().zip(lengths.next()).ok_or(Stopped)?;
        let rows = walk.values::<I64>(u64::from(length), "list row")?;
        let more = if rows.len() > 12 { " …" } else { "" };
        let text = joined(rows.iter().take(12), " ") + more;
        walk.note("rows", text, format_args!("fragment {f}: {length} rows"));
        Ok(())
    })
}
