//! Values that replace missing values in an edit.

use zvf_convert::{time_number, time_text};
use zvf_edit::{Edit, Scope};
use zvf_write::{AttributeSpec, NumberType};

use crate::error::Result;
use crate::{FillValue, JobError};

/// Sets the fill values of several attributes.
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

/// Sets the fill value of each attribute with this name, of vertices, links and objects: appended ones without a value get it. A date or moment may be
/// given as text such as `2024-01-01`.
///
/// # Errors
///
/// Misuse: no such attribute, or a value that it cannot have. The errors of reading the object attributes.
pub async fn set_fill(edit: &mut Edit, name: &str, text: &str) -> Result<()> {
    let objects = match edit.spec().has_objects() {
        true => edit.object_attributes().await?,
        false => Vec::new(),
    };
    let scopes = [
        (Scope::Vertex, edit.vertex_attributes()),
        (Scope::Link, edit.spec().links.attributes.clone()),
        (Scope::Object, objects),
    ];
    let mut found = false;
    for (scope, known) in scopes {
        if let Some(one) = known.iter().find(|one| one.name == *name) {
            edit.set_fill(scope, name, &fill_text(one, text)).await?;
            found = true;
        }
    }
    match found {
        true => Ok(()),
        false => Err(JobError::usage(format!(
            "fill of attribute {name}: found nothing, expected an attribute of the vertices, links or objects of this store"
        ))),
    }
}

/// A function from the name of an attribute to its fill value as text.
pub(super) fn fills(edit: &Edit, scope: Scope) -> impl Fn(&str) -> Option<String> {
    move |name| edit.fill(scope, name).map(str::to_owned)
}

/// A fill value in the form that edits parse: a date or moment, such as `2024-01-01`, as its number in the unit of the attribute.
#[must_use]
pub fn fill_text(one: &AttributeSpec, text: &str) -> String {
    let unit = one.unit.as_deref().unwrap_or_default();
    let number = time_number(text, unit).flatten();
    let number = number.filter(|_| one.values.number() == Some(NumberType::I64));
    number.map_or_else(|| text.to_owned(), |number| number.to_string())
}

/// A fill value for messages: dates, times and durations are shown as such, not as numbers in the unit of the attribute.
pub(crate) fn shown_fill(one: Option<&AttributeSpec>, fill: &str) -> String {
    let one = one.filter(|one| one.values.number() == Some(NumberType::I64));
    let unit = one.and_then(|one| one.unit.as_deref());
    let text = unit.and_then(|unit| time_text(fill, unit));
    text.unwrap_or_else(|| fill.to_owned())
}
