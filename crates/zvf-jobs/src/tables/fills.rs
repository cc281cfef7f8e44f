//! Values that replace missing values in an edit.

use zvf_convert::{time_number, time_text};
use zvf_edit::Edit;
use zvf_write::{AttributeSpec, NumberType};

use crate::FillValue;
use crate::error::Result;

/// Sets the values of attributes that new vertices and links lack.
///
/// # Errors
///
/// As [`set_fill`].
pub(crate) async fn set_fills(edit: &mut Edit, fills: &[(String, FillValue)]) -> Result<()> {
    for (name, text) in fills {
        set_fill(edit, name, text.value()).await?;
    }
    Ok(())
}

/// Sets the value of an attribute that appended vertices, links and objects lack; a date or moment may be given as text such as `2024-01-01`.
///
/// # Errors
///
/// Misuse: no such attribute, or a value that it cannot have. The errors of the store, whose object attributes may be read.
pub async fn set_fill(edit: &mut Edit, name: &str, text: &str) -> Result<()> {
    let mut known = edit.vertex_attributes();
    if edit.spec().has_objects() && !known.iter().any(|one| one.name == *name) {
        known.extend(edit.object_attributes().await?);
    }
    let one = known.iter().find(|one| one.name == *name);
    let text = one.map_or_else(|| text.to_owned(), |one| fill_text(one, text));
    Ok(edit.set_fill(name, &text).await?)
}

/// The text that replaces missing values, by attribute.
pub(super) fn fills(edit: &Edit) -> impl Fn(&str) -> Option<String> {
    |name| edit.fill(name).map(str::to_owned)
}

/// The text of a fill value as edits take it: a date or moment, such as `2024-01-01`, as its number in the unit of the attribute.
#[must_use]
pub fn fill_text(one: &AttributeSpec, text: &str) -> String {
    let unit = one.unit.as_deref().unwrap_or_default();
    let number = time_number(text, unit).flatten();
    let number = number.filter(|_| one.values.number() == Some(NumberType::I64));
    number.map_or_else(|| text.to_owned(), |number| number.to_string())
}

/// A fill in messages: a date, time or duration as its text, not as its number in the unit of the attribute.
pub(crate) fn shown_fill(one: Option<&AttributeSpec>, fill: &str) -> String {
    let one = one.filter(|one| one.values.number() == Some(NumberType::I64));
    let unit = one.and_then(|one| one.unit.as_deref());
    let text = unit.and_then(|unit| time_text(fill, unit));
    text.unwrap_or_else(|| fill.to_owned())
}
