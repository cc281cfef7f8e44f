//! Cells that are rows of numbers and nothing else: positions, attributes, ids of a group.

use std::fmt::Write as _;

use zvf_format::I64;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};

use super::dump::{Stopped, Walk};
use super::place::Known;
use crate::args::BlobArg;
use crate::output::table::counted;

/// Takes rows apart.
pub(crate) fn rows(walk: &mut Walk<'_, '_>, blob: BlobArg, known: &Known) -> Result<(), Stopped> {
    let vertices = blob == BlobArg::Vertices;
    let dtype = known.dtype.unwrap_or(DType::DEFAULT);
    let named = Some(known.columns.len()).filter(|columns| *columns > 0);
    let width = known
        .width
        .or(named)
        .unwrap_or(if vertices { 3 } else { 1 })
        .max(1);
    let item = item_bytes(dtype);
    let row_bytes = item.saturating_mul(width as u64);
    let what = if vertices {
        "positions"
    } else {
        "attribute rows"
    };
    walk.section(format!(
        "{what}: {width} x {dtype} a row ({row_bytes} bytes), no header"
    ));
    if draco(walk, vertices)? {
        return Ok(());
    }
    let stored = walk.left() / row_bytes.max(1);
    let count = known.real_rows.unwrap_or(stored).min(stored);
    walk.rows(count, row_bytes, known.first_row, |walk, i| {
        let bytes = walk.take(row_bytes, "row")?;
        let mut text = String::new();
        let mut outside = String::new();
        for (k, item) in bytes
            .chunks_exact(usize::try_from(item).unwrap_or(usize::MAX).max(1))
            .enumerate()
        {
            let value = element_text(item, dtype);
            let value = category(known, item, dtype).unwrap_or(value);
            let gap = if k == 0 { "" } else { ", " };
            let _ = match known.columns.get(k) {
                Some(name) => write!(text, "{gap}{name} = {value}"),
                None => write!(text, "{gap}{value}"),
            };
            if vertices && value == "NaN" {
                outside = "not a number: in no box".into();
            }
        }
        walk.note(&format!("row {i}"), text, outside);
        Ok(())
    })?;
    if stored > count {
        let padding = stored.saturating_sub(count).saturating_mul(row_bytes);
        walk.take(padding, "padding")?;
        walk.note(
            "padding",
            counted(stored.saturating_sub(count), "row"),
            "chunks are stored whole: the fill value after the array's last row",
        );
    }
    walk.whole(what, count, "row", row_bytes)?;
    walk.dump().conclude(counted(count, "row"));
    Ok(())
}

/// A Draco bitstream in place of rows is named and left alone.
fn draco(walk: &mut Walk<'_, '_>, vertices: bool) -> Result<bool, Stopped> {
    if !vertices || !walk.rest().starts_with(b"DRACO") {
        return Ok(false);
    }
    walk.take(5, "magic")?;
    walk.note("magic", "'DRACO'", "a Draco bitstream, not rows");
    Err(walk.fault_last("encoding draco is not supported: found a Draco bitstream, expected rows"))
}

/// Takes the members of a group apart.
pub(crate) fn group(walk: &mut Walk<'_, '_>, known: &Known) -> Result<(), Stopped> {
    let several = !known.offsets.is_empty();
    walk.section(if several {
        "groups: ids of the objects of all groups back to back, 8 bytes each; `offsets` says where each begins"
    } else {
        "group: ids of its objects, 8 bytes each"
    });
    let item = size_of::<I64>() as u64;
    let count = walk.left() / item;
    // The first member of the requested group.
    let start = usize::try_from(known.first_row)
        .ok()
        .and_then(|group| known.offsets.get(group))
        .map_or(0, |offset| offset / item);
    walk.rows(count, item, start, |walk, i| {
        for (group, offset) in known.offsets.iter().enumerate() {
            if several && *offset == walk.at() {
                walk.dump().remark(&format!("group {group}"), "", "");
            }
        }
        let id = walk.value::<I64>("object id")?.get();
        walk.note(
            &format!("member {i}"),
            id.to_string(),
            "object id, not a row of the object index",
        );
        Ok(())
    })?;
    walk.whole("group", count, "id", item)?;
    walk.dump().conclude(counted(count, "object"));
    Ok(())
}

/// A type by its name, or the default one.
pub(crate) fn known(name: &str) -> DType {
    DType::parse(name).unwrap_or(DType::DEFAULT)
}

/// Bytes of one element.
pub(crate) fn item_bytes(dtype: DType) -> u64 {
    dtype.size() as u64
}

/// The value of a dictionary code.
fn category(known: &Known, bytes: &[u8], dtype: DType) -> Option<String> {
    if known.categories.is_empty() {
        return None;
    }
    let code = dtype.integer_at(bytes, 0)?;
    let value = usize::try_from(code)
        .ok()
        .and_then(|code| known.categories.get(code));
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

/// Any element as text.
pub(crate) fn element_text(bytes: &[u8], dtype: DType) -> String {
    text(bytes, dtype).unwrap_or_else(|| format!("{} bytes of {dtype}", bytes.len()))
}

fn text(bytes: &[u8], dtype: DType) -> Option<String> {
    Some(match dtype.kind {
        DTypeKind::Bool => match bytes.first()? {
            0 => "false".into(),
            1 => "true".into(),
            other => format!("{other} (neither 0 nor 1)"),
        },
        DTypeKind::F16 => format!(
            "{:?}",
            half::f16::from_le_bytes(little(bytes, dtype)?).to_f32()
        ),
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
            let points = bytes
                .chunks_exact(4)
                .filter_map(|c| little::<4>(c, dtype))
                .map(u32::from_le_bytes);
            let text: String = points
                .map(|p| char::from_u32(p).unwrap_or('\u{fffd}'))
                .collect();
            format!("{:?}", text.trim_end_matches('\0'))
        }
        DTypeKind::Bytes { .. } => format!(
            "{:?}",
            String::from_utf8_lossy(bytes).trim_end_matches('\0')
        ),
        DTypeKind::Datetime { unit } | DTypeKind::Timedelta { unit } => {
            let value = i64::from_le_bytes(little(bytes, dtype)?);
            if value == i64::MIN {
                "not a time".into()
            } else {
                format!("{value} {}", unit.name())
            }
        }
        DTypeKind::Object => "an address in the memory of the program that wrote it".into(),
        _ => dtype.integer_at(bytes, 0)?.to_string(),
    })
}
