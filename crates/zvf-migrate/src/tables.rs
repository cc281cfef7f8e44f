//! Values of objects and groups, and the members of groups.

use zvf_format::dtype::DTypeKind;
use zvf_meta::ArrayDoc;
use zvf_store::TypedArray;

use super::objects::ObjectsTarget;
use super::rows::RowMapping;
use super::source::SourceLevel;
use zvf_encode::documents::Docs;
use zvf_encode::error::to_index;
use zvf_encode::spec::IdsIn;
use zvf_encode::tables::{Absence, ElementType, EncodedRows, ROWS, TableOf};
use zvf_encode::values::Fill;
use zvf_encode::{WriteError, documents};
use zvf_format::int::wide;

/// The element type of a table, if the new store can hold it.
pub(crate) fn element(table: &TypedArray) -> Option<ElementType> {
    let dtype = table.dtype();
    if dtype.kind == DTypeKind::Object {
        return None;
    }
    ElementType::of(dtype).or_else(|| {
        // Times, complex numbers, bytes: by the name in the old array.
        let doc = table.doc()?;
        Some(ElementType::Other {
            data_type: Box::new(doc.data_type.clone()),
            size: dtype.size(),
            dtype: dtype.to_string(),
            fill: (table.fill().to_vec(), doc.fill_value.clone()),
        })
    })
}

/// Writes a table with these rows.
fn write_table(
    source: &SourceLevel,
    table: &TypedArray,
    rows: &RowMapping,
    of: TableOf,
    out: ObjectsTarget<'_>,
) -> Result<Option<(String, ArrayDoc)>, WriteError> {
    let (path, notes, count) = (table.path(), out.notes, rows.from);
    let Some(element) = element(table) else {
        notes.lost(
            path,
            format!(
                "values of type {} cannot be stored in the new store",
                table.dtype()
            ),
        );
        return Ok(None);
    };
    let values = source.handle.block_on(table.read())?;
    let stored = wide(values.rows);
    if stored > count {
        let what = format!(
            "{} rows beyond the {count} that exist were left out",
            stored - count
        );
        notes.lost(path, what);
    }
    let all = rows.len();
    to_index("rows of a table", all)?;
    let inner = table.shape().into_iter().skip(1).collect();
    let unit = table.attributes().unit.as_deref();
    let mut new = EncodedRows::new(element, inner, values.row_size()).of_unit(unit);
    for row in 0..all {
        let at = rows.old(row).and_then(|row| usize::try_from(row).ok());
        let at = at.filter(|at| !values.is_absent(*at));
        new.push(at.and_then(|at| values.row(at)))?;
    }
    let missing = wide(new.missing());
    if stored < count && table.sentinel().is_none() {
        let what = "rows that were not stored are marked as missing";
        notes.repaired(path, what, count - stored);
    }
    let own = table.sentinel().zip(table.doc());
    let own = own.map(|(sentinel, doc)| (sentinel.to_vec(), doc.fill_value.clone()));
    let in_rows = out.ids == IdsIn::Rows;
    let candidates: Vec<Fill> = own.into_iter().chain(new.element().fills()).collect();
    let absence = match of {
        TableOf::Groups if missing == 0 => Absence::Unused(new.element().zero()),
        _ => new.absence(&candidates, in_rows),
    };
    let (fill, means_absence) = match absence {
        Absence::Distinct(fill) => {
            if candidates.first() != Some(&fill) {
                // Trap T24.
                let what = "a value equalled the sentinel of missing values, so another sentinel was chosen";
                notes.repaired(path, what, missing);
            }
            (fill, true)
        }
        Absence::Unused(zero) => (zero, false),
        Absence::Ambiguous { fill, .. } => {
            let what = format!(
                "{missing} rows without a value can no longer be distinguished from rows with one"
            );
            notes.lost(path, what);
            (fill, true)
        }
        Absence::Impossible => return Err(WriteError::bug("a type without a fill")),
    };
    let chunk_rows = (of == TableOf::Objects && !in_rows).then_some(ROWS);
    let typed = new.finish(fill, means_absence, chunk_rows);
    let given = super::documents::carried(table.attributes());
    typed
        .write(of, table.name(), given, out.compression, out.target)
        .map(Some)
}

/// Writes the attributes of objects, with a row for each row of the index.
pub(super) fn object_attributes(
    source: &SourceLevel,
    objects: Option<&RowMapping>,
    out: ObjectsTarget<'_>,
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
        docs.extend(write_table(source, table, rows, TableOf::Objects, out)?);
    }
    Ok(docs)
}

/// Writes groups and their attributes; returns the number of groups.
pub(super) fn groups(
    source: &SourceLevel,
    out: ObjectsTarget<'_>,
) -> Result<(Docs, u64), WriteError> {
    let mut docs = Vec::new();
    let groups = source.level.groups();
    let count = groups.map_or(0, zvf_store::Groups::len);
    if let Some(groups) = groups.filter(|_| count > 0) {
        let ranges = groups.attributes().group_ranges.clone().unwrap_or_default();
        let members = (0..count).map(|group| {
            // Members that are a range are stored only as the range.
            if ranges.iter().any(|range| range.group == group) {
                return Ok(Vec::new());
            }
            Ok(source.handle.block_on(groups.members(group))?)
        });
        let attributes = super::documents::carried(groups.attributes());
        let (doc, objects) = documents::groups(members, out.compression, attributes)?;
        out.target.put(objects)?;
        docs.push(("groups".to_owned(), doc));
    }
    for table in source.level.group_attributes() {
        if count == 0 {
            // If all groups were deleted, the table has no rows, and nothing is lost.
            if table.shape().first() != Some(&0) {
                out.notes.lost(
                    table.path(),
                    "the level has no groups that the values could belong to",
                );
            }
            continue;
        }
        let rows = RowMapping::same(count);
        docs.extend(write_table(source, table, &rows, TableOf::Groups, out)?);
    }
    Ok((docs, count))
}
