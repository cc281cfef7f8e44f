//! Cells that contain only rows: positions, attributes, ids of a group, and the byte offsets, masks and names of versions before 0.9
//! (specification 0.7, sections 10 and 11.1).

use zvf_format::I64;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_store::CellFacts;

use super::dump::{Stopped, Walk};
use crate::output::table::{counted, joined};

/// Takes rows of positions or of an attribute apart.
pub(crate) fn rows(
    walk: &mut Walk<'_, '_>,
    known: &CellFacts,
    vertices: bool,
) -> Result<(), Stopped> {
    let dtype = known.dtype.unwrap_or(DType::DEFAULT);
    let (least, what) = match vertices {
        true => (3, "positions"),
        false => (1, "attribute rows"),
    };
    let named = Some(known.columns.len()).filter(|columns| *columns > 0);
    let width = known.width.or(named).unwrap_or(least).max(1);
    let row_bytes = (dtype.size() as u64).saturating_mul(width as u64);
    walk.dump.section(format_args!(
        "{what}: {width} x {dtype} a row ({row_bytes} bytes), no header"
    ));
    if vertices && walk.rest().starts_with(b"DRACO") {
        walk.take(5, "magic")?;
        walk.note("magic", "'DRACO'", "a Draco bitstream, not rows");
        return Err(walk.fault_last(
            "encoding draco is not supported: found a Draco bitstream, expected rows",
        ));
    }
    let stored = walk.left() / row_bytes.max(1);
    let count = known.real_rows.unwrap_or(stored).min(stored);
    walk.rows((count, row_bytes), known.first_row, "rows", |walk, i| {
        let items = walk
            .take(row_bytes, "row")?
            .chunks_exact(dtype.size().max(1));
        let values = items.map(|item| category(known, item, dtype).or_else(|| text(item, dtype)));
        let values: Option<Vec<_>> = values.collect();
        let unread = |_: ()| walk.fault_last(format!("row {i}: expected {dtype}"));
        let values = values.ok_or(()).map_err(unread)?;
        let outside = match vertices && values.iter().any(|value| value == "NaN") {
            true => "NaN: inside no box",
            false => "",
        };
        let named = values
            .into_iter()
            .enumerate()
            .map(|(k, value)| match known.columns.get(k) {
                Some(name) => format!("{name} = {value}"),
                None => value,
            });
        walk.note(format_args!("row {i}"), joined(named, ", "), outside);
        Ok(())
    })?;
    if stored > count {
        let padding = stored - count;
        walk.take(padding.saturating_mul(row_bytes), "padding")?;
        let meaning = "chunks are stored whole: the fill value after the array's last row";
        walk.note("padding", counted(padding, "row"), meaning);
    }
    walk.whole(what, "row", (count, row_bytes), counted(count, "row"))
}

/// Takes the members of a group apart.
pub(crate) fn group(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    walk.dump.section(match known.offsets.is_empty() {
        true => "group: ids of its objects, 8 bytes each",
        false => {
            "groups: ids of the objects of all groups back to back, 8 bytes each; `offsets` has the start of each"
        }
    });
    let item = size_of::<I64>() as u64;
    let count = walk.left() / item;
    // The first member of the requested group.
    let group = usize::try_from(known.first_row).ok();
    let start = group.and_then(|group| known.offsets.get(group));
    let first = start.map_or(0, |offset| offset / item);
    walk.rows((count, item), first, "rows", |walk, i| {
        let at = walk.at();
        let groups = known.offsets.iter().enumerate();
        for (group, _) in groups.filter(|(_, offset)| **offset == at) {
            walk.dump.remark(format_args!("group {group}"), "", "");
        }
        let id = walk.value::<I64>("object id")?;
        let meaning = "object id, not a row of the object index";
        walk.note(format_args!("member {i}"), id, meaning);
        Ok(())
    })?;
    walk.whole("group", "id", (count, item), counted(count, "object"))
}

/// Takes a table of byte offsets apart.
pub(crate) fn offsets(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    walk.dump.section(
        "byte offsets into `data`, int64: where each row begins; the last ends with the data",
    );
    let item = size_of::<I64>() as u64;
    let (count, mut before) = (walk.left() / item, 0);
    let more = "offsets, checked";
    walk.table(count, (known.first_row, None), more, |walk, row| {
        let value = walk.value::<I64>("offset")?.get();
        let meaning = match row.checked_sub(1) {
            None => "row 0 begins here".to_owned(),
            Some(last) => {
                let length = value.saturating_sub(before);
                format!("row {row} begins here; row {last} has {length} bytes")
            }
        };
        walk.note(format_args!("offset {row}"), value, meaning);
        if value < before || (row == 0 && value != 0) {
            let least = match row {
                0 => "0".to_owned(),
                _ => format!("at least {before}"),
            };
            return Err(walk.fault_last(format!("offset {row}: found {value}, expected {least}")));
        }
        before = value;
        Ok(())
    })?;
    walk.whole("offsets", "offset", (count, item), counted(count, "offset"))
}

/// Takes a mask of present rows apart.
pub(crate) fn mask(walk: &mut Walk<'_, '_>, known: &CellFacts) -> Result<(), Stopped> {
    walk.dump
        .section("present mask: one byte a row, 1 where the row is a value");
    let rows = counted(walk.left(), "row");
    let present = walk.rest().iter().filter(|byte| **byte != 0).count();
    walk.rows((walk.left(), 1), known.first_row, "rows", |walk, row| {
        let byte = walk.value::<u8>("present")?;
        let meaning = match byte {
            0 => "absent: the row in `data` is zeros, which are not a value",
            1 => "a value",
            _ => "neither 0 nor 1",
        };
        walk.note(format_args!("row {row}"), byte, meaning);
        Ok(())
    })?;
    walk.conclude(format!("{present} of {rows} have a value"))
}

/// Takes a list of names apart.
pub(crate) fn names(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    walk.dump
        .section("names: UTF-8, one a line, no line break at the end");
    let mut lines = walk.rest().split(|byte| *byte == b'\n');
    let count = lines.clone().count() as u64;
    walk.table(count, (0, None), "names", |walk, row| {
        let line = lines.next().ok_or(Stopped)?;
        let length = (line.len() as u64).saturating_add(u64::from(row + 1 < count));
        walk.take(length, "name")?;
        let text = std::str::from_utf8(line);
        let text = text.map_err(|_| walk.fault_last(format!("name {row}: expected UTF-8")))?;
        walk.note(format_args!("name {row}"), format_args!("{text:?}"), "");
        Ok(())
    })?;
    walk.conclude(counted(count, "name"))
}

/// The value of a dictionary code.
fn category(known: &CellFacts, bytes: &[u8], dtype: DType) -> Option<String> {
    if known.categories.is_empty() {
        return None;
    }
    let code = dtype.integer_at(bytes, 0)?;
    let value = usize::try_from(code).ok();
    let value = value.and_then(|code| known.categories.get(code));
    Some(match value {
        Some(value) => format!("{code} ({value})"),
        None => format!("{code} (no such category)"),
    })
}

/// The bytes of an element, least significant first.
fn little<const N: usize>(bytes: &[u8], dtype: DType) -> Option<[u8; N]> {
    let mut bytes: [u8; N] = *bytes.first_chunk()?;
    if dtype.order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

/// An element as text; `None` if the number of bytes is not the size of its type.
fn text(bytes: &[u8], dtype: DType) -> Option<String> {
    Some(match dtype.kind {
        DTypeKind::Bool => match bytes.first()? {
            0 => "false".into(),
            1 => "true".into(),
            other => format!("{other} (neither 0 nor 1)"),
        },
        DTypeKind::F16 => {
            let value = half::f16::from_le_bytes(little(bytes, dtype)?);
            format!("{:?}", value.to_f32())
        }
        DTypeKind::F32 => format!("{:?}", f32::from_le_bytes(little(bytes, dtype)?)),
        DTypeKind::F64 => format!("{:?}", f64::from_le_bytes(little(bytes, dtype)?)),
        DTypeKind::C64 | DTypeKind::C128 => {
            let (re, im) = bytes.split_at_checked(bytes.len() / 2)?;
            let kind = match dtype.kind {
                DTypeKind::C64 => DTypeKind::F32,
                _ => DTypeKind::F64,
            };
            let part = DType { kind, ..dtype };
            format!("{} + {}i", text(re, part)?, text(im, part)?)
        }
        DTypeKind::U64 => u64::from_le_bytes(little(bytes, dtype)?).to_string(),
        DTypeKind::Utf32 { .. } => {
            let points = bytes.chunks_exact(4).filter_map(|c| little(c, dtype));
            let letters = points.map(u32::from_le_bytes).map(char::from_u32);
            let text: String = letters.map(|c| c.unwrap_or('\u{fffd}')).collect();
            format!("{:?}", text.trim_end_matches('\0'))
        }
        DTypeKind::Bytes { .. } => {
            let text = String::from_utf8_lossy(bytes);
            format!("{:?}", text.trim_end_matches('\0'))
        }
        DTypeKind::Datetime { unit } | DTypeKind::Timedelta { unit } => {
            let value = i64::from_le_bytes(little(bytes, dtype)?);
            match value {
                i64::MIN => "not a time".into(),
                value => format!("{value} {}", unit.name()),
            }
        }
        DTypeKind::Object => "an address in the memory of the program that wrote it".into(),
        _ => dtype.integer_at(bytes, 0)?.to_string(),
    })
}
