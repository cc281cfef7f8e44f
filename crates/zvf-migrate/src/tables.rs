//! Values of objects and groups, and the members of groups.

use serde_json::{Value, json};
use zvf_format::dtype::DTypeKind;
use zvf_meta::ArrayAttributes;
use zvf_store::{TypedArray, TypedValues};

use super::objects::Out;
use super::rows::Rows;
use super::source::Source;
use zvf_format::int::wide;
use zvf_write::WriteError;
use zvf_write::array;
use zvf_write::documents::Docs;
use zvf_write::error::to_index;
use zvf_write::form::IdsIn;
use zvf_write::number::{Fill, NumberType};
use zvf_write::typed::{Element, ROWS, Typed, uniform};

/// The element of a table, where the new store can hold it.
fn element(table: &TypedArray) -> Option<Element> {
    let dtype = table.dtype();
    if let Some(number) = NumberType::ALL
        .iter()
        .find(|number| number.dtype() == dtype)
    {
        return Some(Element::Number(*number));
    }
    match dtype.kind {
        DTypeKind::Utf32 { chars } => Some(Element::Text(usize::try_from(chars).ok()?)),
        DTypeKind::Object => None,
        // Times, complex numbers, bytes: as the old array names them.
        _ => Some(Element::Other {
            data_type: table.doc()?.data_type.clone(),
            size: dtype.size(),
            dtype: dtype.to_string(),
        }),
    }
}

/// Values that could mean "none", the usual one first.
fn candidates(element: &Element, table: &TypedArray) -> Vec<Fill> {
    let mut found: Vec<Fill> = Vec::new();
    let own = table.doc().map(|doc| doc.fill_value.clone());
    if let (Some(sentinel), Some(value)) = (table.sentinel(), own.clone()) {
        found.push((sentinel.to_vec(), value));
    }
    match element {
        Element::Number(number) => {
            found.extend(number.fills());
        }
        Element::Text(_) => found.push((vec![0; element.size()], json!(""))),
        Element::Other { .. } => found.extend(own.map(|value| (table.fill().to_vec(), value))),
    }
    found
}

/// The values of the rows of a new table, and which have none.
fn values_of<'v>(values: &'v TypedValues, rows: &Rows) -> Vec<Option<&'v [u8]>> {
    let one = |row: u64| {
        let at = usize::try_from(rows.old(row)?).ok()?;
        values.row(at).filter(|_| !values.is_absent(at))
    };
    (0..rows.len()).map(one).collect()
}

/// Writes a table of such rows.
fn write_table(
    source: &Source,
    table: &TypedArray,
    rows: &Rows,
    of_groups: bool,
    out: Out<'_>,
) -> Result<Docs, WriteError> {
    let (path, notes, count) = (table.path(), out.notes, rows.from);
    let Some(element) = element(table) else {
        notes.lost(
            path,
            format!(
                "values of type {} have no place in the new store",
                table.dtype()
            ),
        );
        return Ok(Vec::new());
    };
    let values = source.handle.block_on(table.read())?;
    let stored = wide(values.rows);
    if stored > count {
        let what = format!(
            "{} rows beyond the {count} there can be were left out",
            stored - count
        );
        notes.lost(path, what);
    }
    let all = rows.len();
    to_index("rows of a table", all)?;
    let rows = values_of(&values, rows);
    let missing = rows.iter().filter(|row| row.is_none()).count();
    if stored < count && table.sentinel().is_none() {
        let what = "rows that were not stored have no value, and say so";
        notes.repaired(path, what, count - stored);
    }
    let size = element.size().max(1);
    let taken = uniform(rows.iter().flatten().copied(), size);
    let candidates = candidates(&element, table);
    let free = candidates
        .iter()
        .position(|(bytes, _)| !taken.contains(bytes.as_slice()));
    let (fill, means_absence) = match (free, missing) {
        _ if of_groups && missing == 0 => (zero(&element, table), false),
        (Some(at), missing) if at == 0 || missing > 0 || out.ids == IdsIn::Rows => {
            if at > 0 {
                // Trap T24.
                let what = "a real value looked like absence: another one means it now";
                notes.repaired(path, what, wide(missing));
            }
            (candidates.get(at).cloned(), true)
        }
        (_, 0) => (zero(&element, table), false),
        _ => {
            let what = format!(
                "{missing} rows without a value cannot be told from rows with one any more"
            );
            notes.lost(path, what);
            (candidates.first().cloned(), true)
        }
    };
    let fill = fill.unwrap_or_else(|| (vec![0; size], Value::from(0)));
    let width = values.row_size();
    let mut bytes = Vec::with_capacity(rows.len() * width);
    for row in rows {
        match row {
            Some(row) => bytes.extend_from_slice(row),
            None => (0..width / size).for_each(|_| bytes.extend_from_slice(&fill.0)),
        }
    }
    let shape: Vec<u64> = std::iter::once(all)
        .chain(table.shape().into_iter().skip(1))
        .collect();
    let typed = Typed {
        element,
        shape,
        chunk_rows: (!of_groups && out.ids == IdsIn::Table).then_some(ROWS),
        fill,
        bytes,
    };
    let word = if of_groups {
        "groupings_attribute"
    } else {
        "object_attribute"
    };
    let attributes = ArrayAttributes {
        zv_array: Some(word.to_owned()),
        name: Some(table.name().to_owned()),
        dtype: Some(typed.element.dtype()),
        shape: Some(typed.shape.clone()),
        fill_sentinel_meaning: means_absence.then(|| "absent".to_owned()),
        ..super::documents::carried(table.attributes())
    };
    let folder = if of_groups {
        "group_attributes"
    } else {
        "object_attributes"
    };
    let path = format!("{folder}/{}", table.name());
    let (doc, objects) = typed.objects(&path, out.compression, attributes)?;
    out.target.put(objects)?;
    Ok(vec![(path, doc)])
}

fn zero(element: &Element, table: &TypedArray) -> Option<Fill> {
    match element {
        Element::Number(number) => Some((vec![0; number.size()], number.zero())),
        Element::Text(_) => Some((vec![0; element.size()], json!(""))),
        Element::Other { .. } => Some((table.fill().to_vec(), table.doc()?.fill_value.clone())),
    }
}

/// Writes the attributes of objects, a row for each of the index.
pub(super) fn object_attributes(
    source: &Source,
    objects: Option<&Rows>,
    out: Out<'_>,
) -> Result<Docs, WriteError> {
    let mut docs = Vec::new();
    for table in source.level.object_attributes() {
        let Some(rows) = objects else {
            out.notes.lost(
                table.path(),
                "the level has no objects that the values could belong to",
            );
            continue;
        };
        docs.extend(write_table(source, table, rows, false, out)?);
    }
    Ok(docs)
}

/// Writes groups and their attributes; returns how many groups there are.
pub(super) fn groups(source: &Source, out: Out<'_>) -> Result<(Docs, u64), WriteError> {
    let mut docs = Vec::new();
    let groups = source.level.groups();
    let count = groups.map_or(0, zvf_store::Groups::len);
    if let Some(groups) = groups.filter(|_| count > 0) {
        let ranges = groups.attributes().group_ranges.clone().unwrap_or_default();
        let members = (0..count).map(|group| {
            // A range says who the members are: nothing is stored beside it.
            if ranges.iter().any(|range| range.group == group) {
                return Ok(Vec::new());
            }
            Ok(source.handle.block_on(groups.members(group))?)
        });
        let attributes = super::documents::carried(groups.attributes());
        let (doc, objects) = array::groups(members, out.compression, attributes)?;
        out.target.put(objects)?;
        docs.push(("groups".to_owned(), doc));
    }
    for table in source.level.group_attributes() {
        if count == 0 {
            out.notes.lost(
                table.path(),
                "the level has no groups that the values could belong to",
            );
            continue;
        }
        docs.extend(write_table(source, table, &Rows::same(count), true, out)?);
    }
    Ok((docs, count))
}
