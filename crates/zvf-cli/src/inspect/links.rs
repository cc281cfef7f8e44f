//! Link rows: the rows and chunks that a record joins.

use zvf_format::DecodeError;
use zvf_format::links::{CellForm, LinkCell, lehmer};

use super::dump::{Dump, Stopped, Walk};
use super::place::Known;
use crate::output::table::counted;

/// Takes a link cell apart: rows alone, or groups of rows after a table of offsets.
pub(crate) fn walk(dump: &mut Dump, bytes: &[u8], known: &Known, ragged: bool) {
    let dtype = known.dtype.unwrap_or_else(|| super::rows::known("int64"));
    if !dtype.is_integer() {
        dump.fault(0, format!("link rows: found {dtype}, expected an integer"));
        return;
    }
    let form = CellForm {
        link_width: known.width.unwrap_or(2).min(1024),
        has_perm: known.perm.unwrap_or(ragged),
        ragged,
        dtype,
    };
    // Negative rows are no damage here: the padding of padded arrays.
    let verdict = LinkCell::parse(bytes, form).and_then(|cell| {
        let mut order = vec![0; form.link_width];
        cell.iter().enumerate().try_for_each(|(i, record)| {
            let at = cell.rows().byte_of(i);
            record.placement(&mut order).map_err(|e| e.shifted(at))
        })
    });
    Walk::new(dump, bytes).judged(verdict, |walk| cell(walk, &form, known));
}

fn cell(walk: &mut Walk<'_, '_>, form: &CellForm, known: &Known) -> Result<(), Stopped> {
    let groups = match form.ragged {
        true => super::ragged::head(walk)?,
        false => vec![walk.left()],
    };
    let vertices: Vec<String> = (0..form.link_width).map(|k| format!("v{k}")).collect();
    walk.section(format!(
        "link rows{}: {}{} as {} ({} bytes a row)",
        if form.ragged { "" } else { " without a header" },
        if form.has_perm { "perm, " } else { "" },
        vertices.join(", "),
        form.dtype,
        row_bytes(form),
    ));
    let mut records = 0u64;
    for (g, length) in groups.iter().enumerate() {
        if groups.len() > 1 {
            walk.dump()
                .remark(&format!("group {g}"), format!("{length} bytes"), "");
        }
        records = records.saturating_add(rows(walk, form, known, *length, records)?);
    }
    let place = match form.ragged {
        true => "with endpoints in other chunks or levels",
        false => "inside this chunk",
    };
    walk.conclude(format!("{} {place}", counted(records, "record")))
}

fn row_bytes(form: &CellForm) -> u64 {
    (form.row_width() * form.dtype.size()) as u64
}

/// Walks the rows in the next `length` bytes; gives their number.
fn rows(
    walk: &mut Walk<'_, '_>,
    form: &CellForm,
    known: &Known,
    length: u64,
    first: u64,
) -> Result<u64, Stopped> {
    let count = length.checked_div(row_bytes(form)).ok_or(Stopped)?;
    let item = form.dtype.size() as u64;
    let shown = walk.shown().min(count);
    for record in first..first.saturating_add(shown) {
        let mut order = None;
        if form.has_perm {
            let code = form
                .dtype
                .integer_at(walk.take(item, "perm")?, 0)
                .unwrap_or(-1);
            let decoded = permutation(code, form.link_width);
            let meaning = decoded.as_deref().map(describe).unwrap_or_default();
            walk.note("perm", code.to_string(), meaning);
            order = decoded.ok();
        }
        for k in 0..form.link_width {
            let row = form
                .dtype
                .integer_at(walk.take(item, "row number")?, 0)
                .unwrap_or(-1);
            let chunk = known.endpoints.get(k);
            let chunk = chunk
                .map(|chunk| format!(" of {chunk}"))
                .unwrap_or_default();
            let place = order.as_ref().and_then(|order| order.get(k));
            let place = place.map_or(k, |place| usize::from(*place));
            // The level of a chunk follows from the endpoint that is in it (spec 0.8 §13).
            let level = match form.has_perm {
                true => known.level_of(place),
                false => String::new(),
            };
            let meaning = format!("record {record}, endpoint {place}: row {row}{chunk}{level}");
            walk.note(&format!("v{k}"), row.to_string(), meaning);
        }
    }
    let hidden = count.saturating_sub(shown);
    walk.take(hidden.saturating_mul(row_bytes(form)), "link rows")?;
    walk.more(hidden, "records in the same form")?;
    let rest = length % row_bytes(form);
    walk.take(rest, "rest")?;
    if rest > 0 {
        walk.note("rest", "", "less than a row");
    }
    Ok(count)
}

/// The order of a Lehmer code: the column at place i is endpoint `order[i]` of the record.
fn permutation(code: i64, width: usize) -> Result<Vec<u8>, DecodeError> {
    let mut order = vec![0; width];
    lehmer::decode(code, &mut order)?;
    Ok(order)
}

fn describe(order: &[u8]) -> String {
    if order.is_sorted() {
        return "the columns are in the application's order".into();
    }
    let order: Vec<_> = order.iter().map(ToString::to_string).collect();
    format!(
        "Lehmer code: the columns are endpoints {} of the record",
        order.join(", ")
    )
}
