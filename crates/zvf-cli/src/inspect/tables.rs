//! Blobs that versions before 0.9 keep beside the chunks: link records of a whole level, concatenated manifests, byte
//! offsets, masks, names, and several chunks packed into one.
//!
//! Source: specification 0.7, sections 2.6, 9.4, 10 and 11.1.

use zvf_format::I64;
use zvf_format::manifest::Manifest;

use super::dump::{Stopped, Walk, reason};
use super::manifest;
use super::place::{Child, Known, key};
use crate::output::table::counted;

/// Takes link records apart that carry the chunks of their endpoints.
pub(crate) fn records(walk: &mut Walk<'_, '_>, known: &Known) -> Result<(), Stopped> {
    let rank = known.key_rank.unwrap_or(3).max(1) as u64;
    let width = known.width.unwrap_or(2).max(1);
    let record = (width as u64)
        .saturating_mul(rank.saturating_add(1))
        .saturating_mul(size_of::<I64>() as u64);
    walk.section(format!(
        "link records: {width} endpoints, each {rank} chunk components and a row, int64 ({record} bytes a record), no header"
    ));
    let count = walk.left() / record;
    if let Some(stated) = known.real_rows.filter(|stated| *stated != count) {
        return Err(walk.fault_here(format!(
            "link records: found {} bytes, expected num_links {stated} x {record} bytes",
            walk.left()
        )));
    }
    walk.rows(count, record, known.first_row, |walk, r| {
        for k in 0..width {
            let chunk = walk.values::<I64>(rank, "chunk component")?;
            let chunk: Vec<i64> = chunk.iter().map(|part| part.get()).collect();
            let (chunk, level) = (key(&chunk), known.level_of(k));
            walk.note("chunk", &chunk, "");
            let row = walk.value::<I64>("row number")?.get();
            let meaning = format!("record {r}, endpoint {k}: row {row} of chunk {chunk}{level}");
            walk.note(&format!("v{k}"), row.to_string(), meaning);
            if row < 0 {
                return Err(walk.fault_last(format!(
                    "row number of record {r}: found {row}, expected at least 0"
                )));
            }
        }
        Ok(())
    })?;
    walk.whole("link records", count, "record", record)?;
    walk.dump().conclude(format!(
        "{}, endpoints in the application's order",
        counted(count, "record")
    ));
    Ok(())
}

/// Takes concatenated manifests apart; the offsets say where each begins, else each is followed by the next.
pub(crate) fn manifests(walk: &mut Walk<'_, '_>, known: &Known) -> Result<(), Stopped> {
    let rank = known.key_rank.unwrap_or(3);
    walk.section(format!(
        "manifests of all objects back to back, chunks of {rank} components; `offsets` says where each begins"
    ));
    let shown = walk.shown();
    let first = known.first_row;
    let (mut object, mut hidden) = (0u64, 0u64);
    loop {
        let start = offset(known, object);
        if known.offsets.is_empty() && walk.left() == 0
            || start.is_none() && !known.offsets.is_empty()
        {
            break;
        }
        if let Some(start) = start.filter(|start| *start != walk.at()) {
            return Err(walk.fault_here(format!(
                "manifest of row {object}: the one before ends at {}, expected {start} as offsets say",
                walk.at()
            )));
        }
        let show = object >= first && object < first.saturating_add(shown);
        // Rows without bytes are objects that are absent here.
        let end = offset(known, object.saturating_add(1)).unwrap_or(walk.len());
        let empty = !known.offsets.is_empty() && end == walk.at();
        if show {
            let what = if empty { "no bytes: absent" } else { "" };
            walk.dump().remark(&format!("row {object}"), what, "");
        } else {
            hidden = hidden.saturating_add(1);
        }
        if !empty {
            let (start, bytes) = (walk.at(), walk.rest());
            manifest::body(walk, rank, show)?;
            let length = usize::try_from(walk.at() - start).unwrap_or(usize::MAX);
            if let Err(error) = Manifest::parse(bytes.get(..length).unwrap_or(bytes), rank) {
                let at = start.saturating_add(error.at());
                return Err(walk.dump().fault(at, reason(&error)));
            }
        }
        object = object.saturating_add(1);
    }
    let what = "manifests, read and found right; name a row to see it";
    walk.more(hidden, what)?;
    if walk.left() > 0 {
        return Err(walk.fault_here(format!(
            "manifests: found {} bytes after the last, expected the end",
            walk.left()
        )));
    }
    walk.dump().conclude(counted(object, "manifest"));
    Ok(())
}

/// Where row `object` begins; a table may or may not have one more offset, the end (spec 0.7 §10.2).
fn offset(known: &Known, object: u64) -> Option<u64> {
    let at = usize::try_from(object).ok()?;
    known.offsets.get(at).copied()
}

/// Takes a table of byte offsets apart.
pub(crate) fn offsets(walk: &mut Walk<'_, '_>, known: &Known) -> Result<(), Stopped> {
    walk.section(
        "byte offsets into `data`, int64: where each row begins; the last ends with the data",
    );
    let count = walk.left() / size_of::<I64>() as u64;
    let (first, shown) = (known.first_row, walk.shown());
    let mut before = 0i64;
    for row in 0..count {
        let value = walk.value::<I64>("offset")?.get();
        if row >= first && row < first.saturating_add(shown) {
            let length = value.saturating_sub(before);
            let meaning = match row {
                0 => "row 0 begins here".to_owned(),
                _ => format!("row {row} begins here; row {} has {length} bytes", row - 1),
            };
            walk.note(&format!("offset {row}"), value.to_string(), meaning);
        }
        if value < before || (row == 0 && value != 0) {
            let least = if row == 0 {
                "0".to_owned()
            } else {
                format!("at least {before}")
            };
            return Err(walk.fault_last(format!("offset {row}: found {value}, expected {least}")));
        }
        before = value;
    }
    walk.more(count.saturating_sub(shown), "offsets, read and found right")?;
    walk.whole("offsets", count, "offset", size_of::<I64>() as u64)?;
    walk.dump().conclude(counted(count, "offset"));
    Ok(())
}

/// Takes a mask of present rows apart.
pub(crate) fn mask(walk: &mut Walk<'_, '_>, known: &Known) -> Result<(), Stopped> {
    walk.section("present mask: one byte a row, 1 where the row is a value");
    let (count, shown, first) = (walk.left(), walk.shown(), known.first_row);
    let mut present = 0u64;
    for row in 0..count {
        let byte = walk.take(1, "present")?.first().copied().unwrap_or(0);
        if row >= first && row < first.saturating_add(shown) {
            let meaning = match byte {
                0 => "absent: the row in `data` is zeros and means nothing",
                1 => "a value",
                _ => "neither 0 nor 1",
            };
            walk.note(&format!("row {row}"), byte.to_string(), meaning);
        }
        present = present.saturating_add(u64::from(byte != 0));
    }
    walk.more(count.saturating_sub(shown), "rows")?;
    walk.dump().conclude(format!(
        "{present} of {} have a value",
        counted(count, "row")
    ));
    Ok(())
}

/// Takes a list of names apart.
pub(crate) fn names(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.section("names: UTF-8, one a line, no line break at the end");
    let shown = walk.shown();
    let lines: Vec<&[u8]> = walk.rest().split(|byte| *byte == b'\n').collect();
    let count = lines.len() as u64;
    for (row, line) in (0u64..).zip(lines) {
        let length = (line.len() as u64).saturating_add(u64::from(row.saturating_add(1) < count));
        walk.take(length, "name")?;
        let Ok(text) = std::str::from_utf8(line) else {
            return Err(walk.fault_last(format!("name {row}: expected UTF-8")));
        };
        if row < shown {
            walk.note(&format!("name {row}"), format!("{text:?}"), "");
        }
    }
    walk.more(count.saturating_sub(shown), "names")?;
    walk.dump().conclude(counted(count, "name"));
    Ok(())
}

/// Takes a packed chunk apart; returns the bytes of the requested key.
pub(crate) fn packed<'a>(
    walk: &mut Walk<'_, 'a>,
    child: &Child,
) -> Result<Option<&'a [u8]>, Stopped> {
    let entries = child.packed.as_deref().unwrap_or_default();
    walk.section(
        "packed chunks: the blobs of several keys back to back; `shard_index` says where each lies",
    );
    let (all, shown) = (walk.rest(), walk.shown());
    let mut found = None;
    for (i, entry) in (0u64..).zip(entries) {
        let wanted = child.wanted.as_ref() == Some(entry);
        let range = entry.offset.checked_add(entry.length).and_then(|end| {
            all.get(usize::try_from(entry.offset).ok()?..usize::try_from(end).ok()?)
        });
        let Some(bytes) = range else {
            return Err(walk.fault_here(format!(
                "shard_index of {:?}: found {} bytes at {}, expected an end of at most {}",
                entry.key,
                entry.length,
                entry.offset,
                all.len()
            )));
        };
        if wanted {
            found = Some(bytes);
        }
        if wanted || i < shown {
            walk.dump().remark(
                &entry.key,
                format!("{} bytes at {}", entry.length, entry.offset),
                if wanted { "taken apart below" } else { "" },
            );
        }
    }
    let count = entries.len() as u64;
    walk.more(count.saturating_sub(shown), "keys")?;
    walk.dump().conclude(counted(count, "packed chunk"));
    Ok(found)
}
