//! Link rows: which rows of which chunks a record joins.

use zvf_format::dtype::DType;

use super::Context;
use super::dump::{Stopped, Walk};
use super::rows::{element, element_text};
use crate::output::table::counted;

/// What a row of links looks like.
struct Shape {
    /// Endpoints of a record.
    width: usize,
    /// Whether a permutation column comes first.
    perm: bool,
    dtype: DType,
    /// Bytes of a row.
    row_bytes: u64,
}

impl Shape {
    fn of(context: &Context, perm: bool) -> Self {
        let width = context.width.unwrap_or(2).min(1024);
        let dtype = context.dtype.unwrap_or_else(|| super::rows::known("int64"));
        let row_bytes = (width + usize::from(perm)) as u64 * super::rows::item_bytes(dtype);
        Self {
            width,
            perm,
            dtype,
            row_bytes,
        }
    }

    fn columns(&self) -> String {
        let vertices: Vec<String> = (0..self.width).map(|k| format!("v{k}")).collect();
        let perm = if self.perm { "perm, " } else { "" };
        format!("{perm}{} as {}", vertices.join(", "), self.dtype)
    }
}

/// Takes a flat link cell apart: rows and nothing else.
pub(crate) fn walk_flat(walk: &mut Walk<'_, '_>, context: &Context) {
    let shape = Shape::of(context, context.perm.unwrap_or(false));
    walk.section(format!(
        "link rows without a header: {} ({} bytes a row)",
        shape.columns(),
        shape.row_bytes
    ));
    let length = walk.left();
    if rows(walk, &shape, context, length, 0).is_ok() {
        walk.dump().conclude(format!(
            "{} inside this chunk",
            counted(length / shape.row_bytes.max(1), "record")
        ));
    }
}

/// Takes a ragged link cell apart: groups of rows behind a table of offsets.
pub(crate) fn walk_ragged(walk: &mut Walk<'_, '_>, context: &Context) {
    let shape = Shape::of(context, context.perm.unwrap_or(true));
    let _ = groups(walk, &shape, context);
}

fn groups(walk: &mut Walk<'_, '_>, shape: &Shape, context: &Context) -> Result<(), Stopped> {
    let lengths = super::ragged::head(walk)?;
    walk.section(format!(
        "link rows: {} ({} bytes a row)",
        shape.columns(),
        shape.row_bytes
    ));
    let mut record = 0u64;
    for (g, length) in lengths.iter().enumerate() {
        if lengths.len() > 1 {
            walk.dump()
                .remark(&format!("group {g}"), format!("{length} bytes"), "");
        }
        record = record.saturating_add(rows(walk, shape, context, *length, record)?);
    }
    walk.dump().conclude(format!(
        "{} with endpoints in other chunks or levels",
        counted(record, "record")
    ));
    Ok(())
}

/// Walks the rows in the next `length` bytes; gives their number.
fn rows(
    walk: &mut Walk<'_, '_>,
    shape: &Shape,
    context: &Context,
    length: u64,
    first: u64,
) -> Result<u64, Stopped> {
    let Some(count) = length.checked_div(shape.row_bytes) else {
        return Err(walk.fault_here("link rows of zero bytes"));
    };
    let shown = walk.shown();
    let item = super::rows::item_bytes(shape.dtype);
    for i in 0..count {
        let show = i < shown;
        let mut order: Vec<usize> = (0..shape.width).collect();
        if shape.perm {
            let bytes = walk.take(item, "perm")?;
            let code = element(bytes, shape.dtype).unwrap_or(-1);
            let decoded = permutation(code, shape.width);
            if show || decoded.is_none() {
                walk.note(
                    item,
                    "perm",
                    code.to_string(),
                    decoded.as_deref().map(describe).unwrap_or_default(),
                );
            }
            let Some(decoded) = decoded else {
                let most = (1..=shape.width as u64).product::<u64>().saturating_sub(1);
                return Err(walk.fault_back(
                    item,
                    format!(
                        "permutation of record {}: found {code}, expected 0 to {most}",
                        first + i
                    ),
                ));
            };
            order = decoded;
        }
        for k in 0..shape.width {
            let bytes = walk.take(item, "row number")?;
            if show {
                let chunk = context
                    .endpoints
                    .get(k)
                    .map(|chunk| format!(" of {chunk}"))
                    .unwrap_or_default();
                let place = order.get(k).copied().unwrap_or(k);
                // Which level a chunk is of depends on which endpoint lies in it (spec 0.8 §13).
                let level = match context.levels.filter(|_| shape.perm) {
                    Some((near, _)) if place == 0 => format!(" of level {near}"),
                    Some((_, far)) => format!(" of level {far}"),
                    None => String::new(),
                };
                let text = element_text(bytes, shape.dtype);
                let meaning = format!(
                    "record {}, endpoint {place}: row {text}{chunk}{level}",
                    first + i
                );
                walk.note(item, &format!("v{k}"), text, meaning);
            }
        }
    }
    if count > shown {
        walk.dump().remark(
            "…",
            format!("{} more", count - shown),
            "records in the same form",
        );
    }
    let rest = length % shape.row_bytes;
    if rest > 0 {
        let found = format!(
            "link rows: found {rest} bytes after {count} rows, expected rows of {} bytes",
            shape.row_bytes
        );
        let fault = walk.fault_here(found);
        walk.take(rest, "rest")?;
        walk.note(rest, "rest", "", "less than a row");
        return Err(fault);
    }
    Ok(count)
}

/// The order that a Lehmer code stands for: the column at place i is endpoint `order[i]` of the record.
fn permutation(code: i64, width: usize) -> Option<Vec<usize>> {
    let mut rest = usize::try_from(code).ok()?;
    let mut left: Vec<usize> = (0..width).collect();
    let mut order = Vec::with_capacity(width);
    while !left.is_empty() {
        let below: usize = (1..left.len()).try_fold(1usize, |product, i| product.checked_mul(i))?;
        let rank = rest / below;
        rest %= below;
        if rank >= left.len() {
            return None;
        }
        order.push(left.remove(rank));
    }
    Some(order)
}

fn describe(order: &[usize]) -> String {
    if order.iter().enumerate().all(|(i, k)| i == *k) {
        return "the columns are in the application's order".into();
    }
    format!(
        "Lehmer code: the columns are endpoints {} of the record",
        order
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    )
}
