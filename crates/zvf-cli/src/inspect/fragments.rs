//! A fragment index: which rows of a chunk each fragment holds.

use super::dump::{Stopped, Walk};

/// `ZVFG` read as a little-endian number.
const MAGIC: u32 = 0x5A56_4647;

/// Takes a fragment index apart.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) {
    let _ = blob(walk);
}

fn blob(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.section("fragment index, head");
    let magic = walk.u32("magic")?;
    walk.note(
        4,
        "magic",
        format!("{magic:#010x}"),
        if magic == MAGIC {
            "'ZVFG', least significant byte first"
        } else {
            ""
        },
    );
    if magic != MAGIC {
        return Err(walk.fault_back(
            4,
            format!("magic: found {magic:#010x}, expected {MAGIC:#010x}"),
        ));
    }
    let version = walk.u16("version")?;
    walk.note(
        2,
        "version",
        version.to_string(),
        "layout of this blob, not of the store",
    );
    if version != 1 {
        return Err(walk.fault_back(2, format!("version: found {version}, expected 1")));
    }
    let flags = walk.u16("flags")?;
    walk.note(2, "flags", flags.to_string(), "reserved, must be 0");
    if flags != 0 {
        return Err(walk.fault_back(2, format!("flags: found {flags}, expected 0")));
    }
    let fragments = u64::from(walk.u32("F")?);
    walk.note(4, "F", fragments.to_string(), "fragments in this chunk");
    let ranges = u64::from(walk.u32("R")?);
    let lists = fragments.saturating_sub(ranges);
    walk.note(
        4,
        "R",
        ranges.to_string(),
        format!("of them are row ranges; the other {lists} are row lists"),
    );
    if ranges > fragments {
        return Err(walk.fault_back(
            4,
            format!("R: found {ranges}, expected at most F = {fragments}"),
        ));
    }
    if fragments == 0 {
        walk.dump()
            .conclude("no fragments: the blob ends after its head");
        walk.trailing("after the end; readers ignore it");
        return Ok(());
    }
    let bitmap = bitmap(walk, fragments, ranges)?;
    let mut extent = 0u64;
    let tiles = range_table(walk, bitmap, fragments, ranges, &mut extent)?;
    list_table(walk, bitmap, fragments, lists, &mut extent)?;
    walk.trailing("after the end; readers ignore it");
    walk.dump().conclude(format!("names rows 0..{extent}"));
    walk.dump().conclude(if tiles && lists == 0 {
        "tiles: the ranges follow each other without gaps, so the chunk's rows can be read without this index".to_owned()
    } else {
        "does not tile: rows are shared, skipped or out of order".to_owned()
    });
    Ok(())
}

/// Whether fragment `f` is a range.
fn is_range(bitmap: &[u8], f: u64) -> bool {
    let byte = usize::try_from(f / 8)
        .ok()
        .and_then(|at| bitmap.get(at))
        .copied()
        .unwrap_or(0);
    byte >> (f % 8) & 1 == 1
}

/// The numbers of the fragments of one kind, in order.
fn of_kind(bitmap: &[u8], fragments: u64, range: bool) -> impl Iterator<Item = u64> + '_ {
    (0..fragments).filter(move |f| is_range(bitmap, *f) == range)
}

fn bitmap<'a>(walk: &mut Walk<'_, 'a>, fragments: u64, ranges: u64) -> Result<&'a [u8], Stopped> {
    walk.section(
        "bitmap: bit f = byte f/8, bit f%8 from the least significant; 1 = range, 0 = list",
    );
    let used = fragments.div_ceil(8);
    let bitmap = walk.take(used, "bitmap")?;
    let shown = 64;
    let digits: String = (0..fragments.min(shown))
        .map(|f| if is_range(bitmap, f) { '1' } else { '0' })
        .collect();
    let more = if fragments > shown { "…" } else { "" };
    walk.note(
        used,
        "bitmap",
        format!("{digits}{more}"),
        "fragment 0 first",
    );
    let set = (0..fragments).filter(|f| is_range(bitmap, *f)).count() as u64;
    let padding = used.next_multiple_of(8).saturating_sub(used);
    if padding > 0 {
        walk.take(padding, "bitmap padding")?;
        walk.note(
            padding,
            "padding",
            "",
            "to a multiple of 8 bytes; zero when written, ignored when read",
        );
    }
    if set != ranges {
        return Err(walk.fault_back(
            used + padding,
            format!("bitmap: found {set} set bits, expected R = {ranges}"),
        ));
    }
    Ok(bitmap)
}

/// Walks the range table; says whether its ranges tile.
fn range_table(
    walk: &mut Walk<'_, '_>,
    bitmap: &[u8],
    fragments: u64,
    ranges: u64,
    extent: &mut u64,
) -> Result<bool, Stopped> {
    if ranges == 0 {
        return Ok(false);
    }
    walk.section("range table: start and count of each range, in fragment order");
    // The whole table must be there before the lists behind it mean anything.
    let table = walk.len().saturating_sub(walk.at());
    let mut tiles = true;
    let mut next = 0i64;
    let shown = walk.shown();
    for (r, f) in (0u64..).zip(of_kind(bitmap, fragments, true)) {
        let start = walk.i64("range start")?;
        if r < shown {
            walk.note(8, "start", start.to_string(), format!("fragment {f}"));
        }
        if start < 0 {
            return Err(walk.fault_back(
                8,
                format!("start of fragment {f}: found {start}, expected at least 0"),
            ));
        }
        let count = walk.i64("range count")?;
        let end = start.checked_add(count).filter(|_| count >= 0);
        if r < shown {
            let rows = match end {
                Some(_) if count == 0 => "no rows".to_owned(),
                Some(end) => format!("rows {start}..{end}"),
                None => String::new(),
            };
            walk.note(
                8,
                "count",
                count.to_string(),
                format!("fragment {f}: {rows}"),
            );
        }
        let Some(end) = end else {
            return Err(walk.fault_back(8, format!("count of fragment {f}: found {count}, expected at least 0 and an end below 2^63")));
        };
        tiles &= start == next;
        next = end;
        *extent = (*extent).max(end.unsigned_abs());
    }
    if ranges > shown {
        let left = ranges - shown;
        walk.dump().remark(
            "…",
            format!("{left} more"),
            format!(
                "ranges in the same form, {} bytes, read and found right",
                table.min(left * 16)
            ),
        );
    }
    Ok(tiles)
}

fn list_table(
    walk: &mut Walk<'_, '_>,
    bitmap: &[u8],
    fragments: u64,
    lists: u64,
    extent: &mut u64,
) -> Result<(), Stopped> {
    walk.section("row lists: E + 1 offsets into the rows below, then the rows");
    let shown = walk.shown();
    let mut offsets = Vec::new();
    let mut before = 0u32;
    for e in 0..=lists {
        let offset = walk.u32("list offset")?;
        if e < shown || e == lists {
            let meaning = if e == lists {
                "end of the last list = rows in all lists"
            } else {
                "first row of list"
            };
            walk.note(4, &format!("offset {e}"), offset.to_string(), meaning);
        }
        if e == 0 && offset != 0 {
            return Err(
                walk.fault_back(4, format!("first list offset: found {offset}, expected 0"))
            );
        }
        if offset < before {
            return Err(walk.fault_back(
                4,
                format!("list offset {e}: found {offset}, expected at least {before}"),
            ));
        }
        before = offset;
        offsets.push(u64::from(offset));
    }
    let numbers = of_kind(bitmap, fragments, false);
    for ((e, f), pair) in (0u64..).zip(numbers).zip(offsets.windows(2)) {
        let [from, to] = pair else { continue };
        let length = to.saturating_sub(*from);
        let mut text = String::new();
        for i in 0..length {
            let row = walk.i64("list row")?;
            if !(0..i64::MAX).contains(&row) {
                walk.note(8, "row", row.to_string(), format!("fragment {f}"));
                return Err(walk.fault_back(
                    8,
                    format!(
                        "row {i} of fragment {f}: found {row}, expected 0 to {}",
                        i64::MAX - 1
                    ),
                ));
            }
            *extent = (*extent).max(row.unsigned_abs().saturating_add(1));
            if i < 12 {
                text.push_str(&format!("{}{row}", if i == 0 { "" } else { " " }));
            } else if i == 12 {
                text.push_str(" …");
            }
        }
        if e < shown {
            walk.note(
                length * 8,
                "rows",
                text,
                format!("fragment {f}: {length} rows"),
            );
        }
    }
    if lists > shown {
        walk.dump().remark(
            "…",
            format!("{} more", lists - shown),
            "lists in the same form, read and found right",
        );
    }
    Ok(())
}
