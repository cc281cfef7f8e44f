//! A shard: inner chunks back to back, and at its end the index that says where each lies.

use super::Context;
use super::dump::{Stopped, Walk};

/// Bytes of one entry of the index.
const ENTRY: u64 = 16;
/// Bytes of the checksum behind the index.
const CHECKSUM: u64 = 4;
/// What offset and length of an absent inner chunk are.
const ABSENT: u64 = u64::MAX;

/// Takes a shard apart; the inner chunks stay bytes.
pub(crate) fn walk(walk: &mut Walk<'_, '_>, context: &Context) {
    let _ = index(walk, context);
}

/// Walks the index; gives the bytes of the inner chunk asked for, if it is there.
pub(crate) fn index<'a>(
    walk: &mut Walk<'_, 'a>,
    context: &Context,
) -> Result<Option<&'a [u8]>, Stopped> {
    let all = walk.rest();
    let entries = context.entries.or_else(|| guess_entries(all)).unwrap_or(1);
    let length = entries.saturating_mul(ENTRY).saturating_add(CHECKSUM);
    walk.section("shard: inner chunks back to back, then the index");
    let Some(data) = walk.len().checked_sub(length) else {
        return Err(walk.fault_here(format!(
            "shard index cut short: found {} bytes, expected {length} for {entries} entries",
            walk.len()
        )));
    };
    walk.take(data, "inner chunks")?;
    walk.note(
        data,
        "data",
        format!("{data} bytes"),
        "inner chunks in any order; the index says where each lies",
    );
    walk.section(format!(
        "shard index: {entries} entries in C order of the inner chunks"
    ));
    let table = usize::try_from(entries.saturating_mul(ENTRY))
        .ok()
        .and_then(|length| walk.rest().get(..length))
        .unwrap_or_default();
    let shown = walk.shown();
    let wanted = context.element;
    let mut found = None;
    let mut present = 0u64;
    let mut hidden = 0u64;
    for i in 0..entries {
        let offset = walk.u64("offset")?;
        let nbytes = walk.u64("nbytes")?;
        let absent = offset == ABSENT && nbytes == ABSENT;
        present += u64::from(!absent);
        if i < shown || Some(i) == wanted {
            if hidden > 0 {
                walk.dump().remark("…", format!("{hidden} more"), "entries");
                hidden = 0;
            }
            let place = if Some(i) == wanted {
                ", taken apart below"
            } else {
                ""
            };
            if absent {
                walk.note(
                    ENTRY,
                    &format!("entry {i}"),
                    "absent",
                    "offset and length 2^64 - 1: no such inner chunk",
                );
            } else {
                walk.note(
                    ENTRY,
                    &format!("entry {i}"),
                    format!("{nbytes} bytes at {offset}"),
                    format!("inner chunk {i}{place}"),
                );
            }
        } else {
            hidden += 1;
        }
        if absent {
            continue;
        }
        let end = offset.checked_add(nbytes).filter(|end| *end <= data);
        let Some(end) = end else {
            return Err(walk.fault_back(
                ENTRY,
                format!(
                    "entry {i}: found {nbytes} bytes at {offset}, expected an end of at most {data}"
                ),
            ));
        };
        if Some(i) == wanted {
            found = usize::try_from(offset)
                .ok()
                .zip(usize::try_from(end).ok())
                .and_then(|(from, to)| all.get(from..to));
        }
    }
    if hidden > 0 {
        walk.dump().remark("…", format!("{hidden} more"), "entries");
    }
    let stored = walk.u32("checksum")?;
    let computed = crc32c::crc32c(table);
    walk.note(
        4,
        "crc32c",
        format!("{stored:#010x}"),
        "Castagnoli checksum of the index",
    );
    if stored != computed {
        return Err(walk.fault_back(
            4,
            format!("checksum of the index: found {stored:#010x}, expected {computed:#010x}"),
        ));
    }
    walk.dump()
        .conclude(format!("{present} of {entries} inner chunks are present"));
    Ok(found)
}

/// The number of entries for which the checksum at the end is right.
pub(crate) fn guess_entries(bytes: &[u8]) -> Option<u64> {
    let (body, tail) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    let stored = u32::from_le_bytes(*tail.first_chunk()?);
    // Only numbers of entries whose first entry can be one are worth a checksum.
    (1..=4096usize).find_map(|entries| {
        let start = body.len().checked_sub(entries.checked_mul(16)?)?;
        let table = body.get(start..)?;
        let (offset, rest) = table.split_first_chunk::<8>()?;
        let (offset, nbytes) = (
            u64::from_le_bytes(*offset),
            u64::from_le_bytes(*rest.first_chunk::<8>()?),
        );
        let absent = offset == ABSENT && nbytes == ABSENT;
        let inside = offset
            .checked_add(nbytes)
            .is_some_and(|end| end <= start as u64);
        ((absent || inside) && crc32c::crc32c(table) == stored).then_some(entries as u64)
    })
}
