//! Links: the rows and chunks that a record joins.

use zvf_format::I64;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::links::{CellForm, LinkCell, lehmer};
use zvf_store::CellFacts;

use super::dump::{Stopped, Walk};
use super::ragged;
use crate::output::table::{counted, joined};

/// Takes a link cell apart: rows alone, or groups of rows after a table of offsets.
pub(crate) fn walk(
    walk: &mut Walk<'_, '_>,
    known: &CellFacts,
    ragged: bool,
) -> Result<(), Stopped> {
    let dtype = known.dtype.unwrap_or(DType::little(DTypeKind::I64));
    if !dtype.is_integer() {
        return Err(walk.fault_here(format!("link rows: found {dtype}, expected an integer")));
    }
    let form = CellForm {
        link_width: known.width.unwrap_or(2).min(1024),
        has_perm: known.perm.unwrap_or(ragged),
        ragged,
        dtype,
    };
    // Negative rows are not damage here: they are the padding of padded arrays.
    let verdict = LinkCell::parse(walk.rest(), form).and_then(|cell| {
        let mut order = vec![0; form.link_width];
        cell.iter().enumerate().try_for_each(|(i, record)| {
            let at = cell.rows().byte_of(i);
            record.placement(&mut order).map_err(|e| e.shifted(at))
        })
    });
    walk.judge(verdict);
    let groups = match ragged {
        true => ragged::head(walk)?,
        false => vec![walk.left()],
    };
    let row_bytes = (form.row_width() * dtype.size()) as u64;
    walk.dump.section(format_args!(
        "link rows{}: {}{} as {dtype} ({row_bytes} bytes a row)",
        if ragged { "" } else { " without a header" },
        if form.has_perm { "perm, " } else { "" },
        joined((0..form.link_width).map(|k| format!("v{k}")), ", "),
    ));
    let mut records = 0u64;
    for (g, length) in groups.iter().enumerate() {
        if groups.len() > 1 {
            let size = format_args!("{length} bytes");
            walk.dump.remark(format_args!("group {g}"), size, "");
        }
        let count = length.checked_div(row_bytes).ok_or(Stopped)?;
        let more = "records in the same form";
        walk.table(count, (0, None), more, |walk, i| {
            record(walk, form, known, records.saturating_add(i))
        })?;
        records = records.saturating_add(count);
        if length % row_bytes > 0 {
            walk.take(length % row_bytes, "rest")?;
            walk.note("rest", "", "less than a row");
        }
    }
    let place = match ragged {
        true => "with endpoints in other chunks or levels",
        false => "inside this chunk",
    };
    walk.conclude(format!("{} {place}", counted(records, "record")))
}

/// Dumps one record: the order of the endpoints, if it is stored, and their row numbers.
fn record(
    walk: &mut Walk<'_, '_>,
    form: CellForm,
    known: &CellFacts,
    record: u64,
) -> Result<(), Stopped> {
    let number = |walk: &mut Walk<'_, '_>, name| {
        let bytes = walk.take(form.dtype.size() as u64, name)?;
        form.dtype.integer_at(bytes, 0).ok_or(Stopped)
    };
    let mut order = Vec::new();
    if form.has_perm {
        let code = number(walk, "perm")?;
        order = vec![0; form.link_width];
        if lehmer::decode(code, &mut order).is_err() {
            order.clear();
        }
        let meaning = match order.as_slice() {
            [] => String::new(),
            order if order.is_sorted() => "the columns are in the application's order".into(),
            order => format!(
                "Lehmer code: the columns are endpoints {} of the record",
                joined(order, ", ")
            ),
        };
        walk.note("perm", code, meaning);
    }
    for k in 0..form.link_width {
        let row = number(walk, "row number")?;
        let chunk = known.endpoints.get(k);
        let chunk = chunk.map_or_else(String::new, |chunk| format!(" of {chunk}"));
        let place = order.get(k).map_or(k, |place| usize::from(*place));
        // The level of a chunk follows from the endpoint that is in it (spec 0.8 §13).
        let level = known.level_of(place);
        let meaning = format_args!("record {record}, endpoint {place}: row {row}{chunk}{level}");
        walk.note(format_args!("v{k}"), row, meaning);
    }
    Ok(())
}

/// Takes apart link records that contain the chunks of their endpoints (specification 0.7, section 9.4).
pub(crate) fn records(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    let rank = known.key_rank.unwrap_or(3).max(1) as u64;
    let width = known.width.unwrap_or(2).max(1);
    let record = (width as u64)
        .saturating_mul(rank.saturating_add(1))
        .saturating_mul(size_of::<I64>() as u64);
    walk.dump.section(format_args!(
        "link records: {width} endpoints, each {rank} chunk components and a row, int64 ({record} bytes a record), no header"
    ));
    let (left, count) = (walk.left(), walk.left() / record);
    if let Some(stated) = known.real_rows.filter(|stated| *stated != count) {
        return Err(walk.fault_here(format!(
            "link records: found {left} bytes, expected num_links {stated} x {record} bytes"
        )));
    }
    walk.rows((count, record), known.first_row, "rows", |walk, r| {
        for k in 0..width {
            let chunk = joined(walk.values::<I64>(rank, "chunk component")?, ".");
            walk.note("chunk", &chunk, "");
            let (row, level) = (walk.value::<I64>("row number")?.get(), known.level_of(k));
            let meaning =
                format_args!("record {r}, endpoint {k}: row {row} of chunk {chunk}{level}");
            walk.note(format_args!("v{k}"), row, meaning);
            if row < 0 {
                return Err(walk.fault_last(format!(
                    "row number of record {r}: found {row}, expected at least 0"
                )));
            }
        }
        Ok(())
    })?;
    let records = counted(count, "record");
    let conclusion = format!("{records}, endpoints in the application's order");
    walk.whole("link records", "record", (count, record), conclusion)
}
