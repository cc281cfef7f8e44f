//! A fragment index: which rows of a chunk each fragment holds.

use zvf_format::fragments::{FragmentHead, FragmentIndex, RangeEntry, is_range};
use zvf_format::{I64, U32};

use super::dump::{Dump, Stopped, Walk};

/// Takes a fragment index apart.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8]) {
    let verdict = FragmentIndex::parse(bytes).and_then(|index| {
        index.verify()?;
        let extent = index.extent()?;
        Ok((extent, index.tiles(extent)))
    });
    Walk::new(dump, bytes).judged(verdict, |walk| blob(walk, verdict.ok()));
}

fn blob(walk: &mut Walk<'_, '_>, verdict: Option<(u64, bool)>) -> Result<(), Stopped> {
    walk.section("fragment index, head");
    let head = walk.structure::<FragmentHead>(true, |head, field| match field.name.as_str() {
        "magic" => field.value = format!("{:#010x}", head.magic.get()),
        "R" => field.meaning += &format!("; the other {} are row lists", head.lists()),
        _ => {}
    })?;
    if head.fragments == 0 {
        walk.conclude("no fragments: the blob ends after its head")?;
        return walk.trailing("after the end; readers ignore it");
    }
    let bitmap = bitmap(walk, head)?;
    let numbers = |range| {
        (0..head.fragments.get()).filter(move |fragment| is_range(bitmap, *fragment) == range)
    };
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

fn bitmap<'a>(walk: &mut Walk<'_, 'a>, head: &FragmentHead) -> Result<&'a [u8], Stopped> {
    walk.section(
        "bitmap: bit f = byte f/8, bit f%8 from the least significant; 1 = range, 0 = list",
    );
    let (used, padding) = head.bitmap_bytes();
    let bitmap = walk.take(used, "bitmap")?;
    let (fragments, shown) = (head.fragments.get(), 64);
    let digits: String = (0..fragments.min(shown))
        .map(|f| if is_range(bitmap, f) { '1' } else { '0' })
        .collect();
    let more = if fragments > shown { "…" } else { "" };
    walk.note("bitmap", format!("{digits}{more}"), "fragment 0 first");
    if padding > 0 {
        walk.take(padding, "bitmap padding")?;
        walk.note(
            "padding",
            "",
            "to a multiple of 8 bytes; zero when written, ignored when read",
        );
    }
    Ok(bitmap)
}

fn ranges(
    walk: &mut Walk<'_, '_>,
    count: u32,
    numbers: impl Iterator<Item = u32>,
) -> Result<(), Stopped> {
    if count == 0 {
        return Ok(());
    }
    walk.section("range table: start and count of each range, in fragment order");
    for f in numbers.take(walk.dump().rows) {
        walk.structure::<RangeEntry>(true, |entry, field| {
            let (start, count) = (entry.start.get(), entry.count.get());
            let rows = match start.checked_add(count) {
                Some(_) if count == 0 => "no rows".to_owned(),
                Some(end) => format!("rows {start}..{end}"),
                None => String::new(),
            };
            field.meaning = match field.name.as_str() {
                "count" => format!("fragment {f}: {rows}"),
                _ => format!("fragment {f}"),
            };
        })?;
    }
    let left = u64::from(count).saturating_sub(walk.shown());
    let bytes = left.saturating_mul(size_of::<RangeEntry>() as u64);
    let what = format!("ranges in the same form, {bytes} bytes, read and found right");
    walk.pass::<RangeEntry>(left, "range", what)
}

fn lists(
    walk: &mut Walk<'_, '_>,
    count: u32,
    numbers: impl Iterator<Item = u32>,
) -> Result<(), Stopped> {
    walk.section("row lists: E + 1 offsets into the rows below, then the rows");
    let (count, shown) = (u64::from(count), walk.shown());
    let mut offsets = Vec::new();
    for e in 0..=count {
        let offset = walk.value::<U32>("list offset")?.get();
        if e < shown || e == count {
            let meaning = if e == count {
                "end of the last list = rows in all lists"
            } else {
                "first row of list"
            };
            walk.note(&format!("offset {e}"), offset.to_string(), meaning);
        }
        offsets.push(offset);
    }
    for ((e, f), pair) in (0u64..).zip(numbers).zip(offsets.windows(2)) {
        let [from, to] = pair else { continue };
        let length = to.saturating_sub(*from);
        let rows = walk.values::<I64>(u64::from(length), "list row")?;
        if e < shown {
            let text: Vec<_> = rows.iter().take(12).map(|row| row.to_string()).collect();
            let more = if rows.len() > 12 { " …" } else { "" };
            let meaning = format!("fragment {f}: {length} rows");
            walk.note("rows", text.join(" ") + more, meaning);
        }
    }
    walk.more(
        count.saturating_sub(shown),
        "lists in the same form, read and found right",
    )
}
