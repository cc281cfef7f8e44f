//! A ragged blob: groups of bytes behind a table of byte offsets.

use super::dump::{Stopped, Walk};

/// Takes a ragged blob apart; the groups stay bytes.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) {
    let _ = blob(walk);
}

fn blob(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let lengths = head(walk)?;
    walk.section("data: the groups back to back");
    let shown = walk.shown();
    for (g, length) in (0u64..).zip(&lengths) {
        walk.take(*length, "group")?;
        if g < shown {
            walk.note(
                *length,
                &format!("group {g}"),
                format!("{length} bytes"),
                "",
            );
        }
    }
    let groups = lengths.len() as u64;
    if groups > shown {
        walk.dump()
            .remark("…", format!("{} more", groups - shown), "groups");
    }
    Ok(())
}

/// Walks count and offsets; gives the length of every group. The cursor stands at the data afterwards.
pub(crate) fn head(walk: &mut Walk<'_, '_>) -> Result<Vec<u64>, Stopped> {
    walk.section("ragged blob: Gn groups, the byte offset of each inside the data, the data");
    if walk.len() < 8 {
        let left = walk.left();
        walk.take(left, "bytes")?;
        walk.note(left, "bytes", "", "fewer than 8 bytes: no groups");
        return Ok(Vec::new());
    }
    let groups = walk.i64("Gn")?;
    walk.note(
        8,
        "Gn",
        groups.to_string(),
        "groups; always a 64-bit number, whatever the rows are",
    );
    if groups < 0 {
        return Err(walk.fault_back(8, format!("Gn: found {groups}, expected at least 0")));
    }
    let groups = groups.unsigned_abs();
    let data = walk.left().checked_sub(groups.saturating_mul(8));
    let shown = walk.shown();
    let mut offsets: Vec<u64> = Vec::new();
    let mut before = 0i64;
    for g in 0..groups {
        let offset = walk.i64("group offset")?;
        if g < shown {
            walk.note(
                8,
                &format!("offset {g}"),
                offset.to_string(),
                format!("where group {g} begins inside the data"),
            );
        }
        if g == 0 && offset != 0 {
            return Err(
                walk.fault_back(8, format!("first group offset: found {offset}, expected 0"))
            );
        }
        if offset < before {
            return Err(walk.fault_back(
                8,
                format!("group offset {g}: found {offset}, expected at least {before}"),
            ));
        }
        // Without room for the whole table the next read says that it is cut short.
        if let Some(data) = data.filter(|data| offset.unsigned_abs() > *data) {
            return Err(walk.fault_back(
                8,
                format!(
                    "group offset {g}: found {offset}, expected at most the {data} bytes of data"
                ),
            ));
        }
        before = offset;
        offsets.push(offset.unsigned_abs());
    }
    if groups > shown {
        walk.dump().remark(
            "…",
            format!("{} more", groups - shown),
            "offsets, read and found right",
        );
    }
    let end = walk.left();
    if offsets.is_empty() && end > 0 {
        return Err(walk.fault_here(format!(
            "data: found {end} bytes without a group, expected the end"
        )));
    }
    let ends = offsets.iter().copied().skip(1).chain([end]);
    Ok(offsets
        .iter()
        .zip(ends)
        .map(|(from, to)| to.saturating_sub(*from))
        .collect())
}
