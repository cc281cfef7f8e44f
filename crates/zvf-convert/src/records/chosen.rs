//! Which columns of a table are read.

use std::collections::HashMap;
use std::path::Path;

use arrow_schema::{Field, Schema};

use super::attribute::AttributeColumn;
use super::columns::{check_exclude, names_of, unnamed};
use super::source::{OBJECT, POSITION};
use super::{lists, nodes};
use crate::error::{ConvertError, shown};
use crate::options::Options;

/// Notes about columns that are ignored although the user did not exclude them.
pub(crate) fn left_out(schema: &Schema, options: &Options) -> Vec<String> {
    let names = names_of(schema).into_iter().filter(|name| {
        options.attributes.is_none()
            && unnamed(name)
            && options.exclude.iter().all(|one| one != name)
    });
    let note = |name| {
        format!(
            "column {} is left out: it is an index without a name",
            shown(name)
        )
    };
    names.map(note).collect()
}

/// The columns of a table that are read: all or the requested attributes, without the excluded ones. Others are never decoded.
pub(crate) fn chosen(
    path: &Path,
    schema: &Schema,
    options: &Options,
) -> Result<Vec<usize>, ConvertError> {
    check_exclude(path, &names_of(schema), options)?;
    let usual = ["position", "positions", "x", "y", "z"];
    let wanted = |name: &String| {
        let Some(attributes) = &options.attributes else {
            return !options.exclude.contains(name) && !unnamed(name)
                || options.position.iter().flatten().any(|one| one == name)
                || options.object_column.as_ref() == Some(name);
        };
        attributes.contains(name)
            || options.object_column.as_ref() == Some(name)
            || schema.metadata().get(OBJECT) == Some(name)
            || (options.position.is_none() && schema.metadata().get(POSITION) == Some(name))
            || (name == "object_id"
                && options.object_column.is_none()
                && !options.exclude.contains(name))
            || match &options.position {
                Some(named) => named.contains(name),
                None => usual.iter().any(|one| name.eq_ignore_ascii_case(one)),
            }
    };
    let fields = schema.fields().iter().enumerate();
    let located = schema.metadata().get(POSITION);
    let fields = fields
        .filter(|(_, field)| !options.loose || is_held(field) || located == Some(field.name()));
    Ok(fields
        .filter(|(_, field)| {
            wanted(field.name()) || nodes::is_watched(field.name(), field.data_type(), options)
        })
        .map(|(at, _)| at)
        .collect())
}

/// Whether an attribute can have the type of a column.
fn is_held(field: &Field) -> bool {
    AttributeColumn::of(field, 0).is_some() || lists::listed(field)
}

/// Prefix of a key in the metadata of a table, followed by the name of a column that was not read. The value is the type of the column.
const UNREAD: &str = "zvf.unread.";

/// The metadata of a table without the columns that are not read. If columns of unsupported types are left out, it has their types.
pub(crate) fn metadata_of(schema: &Schema, options: &Options) -> HashMap<String, String> {
    let mut found = schema.metadata().clone();
    let others = schema.fields().iter();
    let others = others.filter(|field| options.loose && !is_held(field));
    found.extend(others.map(|field| {
        let name = format!("{UNREAD}{}", field.name());
        (name, field.data_type().to_string())
    }));
    found
}

/// The type of a column that [`read_table`](crate::read_table) left out because no attribute can have it.
#[must_use]
pub fn unread_type<'s>(schema: &'s Schema, name: &str) -> Option<&'s str> {
    let found = schema.metadata().get(&format!("{UNREAD}{name}"));
    found.map(String::as_str)
}
