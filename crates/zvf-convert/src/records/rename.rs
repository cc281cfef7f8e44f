//! Renames columns: as the user requested, and to names that a store can hold.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use super::attribute::AttributeColumn;
use super::chosen::unread_type;
use super::columns::names_of;
use crate::error::{ConvertError, shown};
use crate::options::Options;

/// The name of a column after the requested renames.
fn new_name<'n>(name: &'n str, options: &'n Options) -> &'n str {
    let mut pairs = options.rename.iter();
    let pair = pairs.find(|(old, _)| old == name);
    pair.map_or(name, |(_, new)| new)
}

/// The column names of a table after the requested renames.
pub(crate) fn renamed(names: &[String], options: &Options) -> Vec<String> {
    let names = names.iter();
    names
        .map(|name| new_name(name, options).to_owned())
        .collect()
}

/// A schema after the requested renames.
pub(crate) fn schema(own: &SchemaRef, options: &Options) -> SchemaRef {
    if options.rename.is_empty() {
        return Arc::clone(own);
    }
    let fields = own.fields().iter().map(|field| {
        let name = new_name(field.name(), options);
        field.as_ref().clone().with_name(name)
    });
    let fields: Vec<Field> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, own.metadata().clone()))
}

/// Refuses renames and types of columns that none of the tables has. The schemas already have the new names; columns that were left out count.
///
/// # Errors
/// Misuse: the first such rename or type.
pub fn check_named(tables: &[&Schema], options: &Options) -> Result<(), ConvertError> {
    let renames = options.rename.iter();
    let renames = renames.map(|(old, new)| ("rename", old, new));
    let types = options.attribute_types.iter();
    let types = types.map(|(name, _)| ("attribute types", name, name));
    for (option, given, name) in renames.chain(types) {
        let has = |table: &&Schema| {
            let mut fields = table.fields().iter();
            fields.any(|field| field.name() == name) || unread_type(table, name).is_some()
        };
        if !tables.iter().any(has) {
            let names = tables.iter().flat_map(|table| names_of(table));
            let names: Vec<&str> = names.collect();
            let expected = format!("one of the columns: {}", names.join(", "));
            return Err(ConvertError::usage(option, shown(given), expected));
        }
    }
    Ok(())
}

/// Gives attributes whose names a store cannot hold new names, which no column of the table has.
pub(crate) fn hold(attributes: &mut [AttributeColumn], schema: &Schema) {
    let mut taken: HashSet<String> = names_of(schema).into_iter().map(str::to_owned).collect();
    for attribute in attributes {
        if !zvf_write::is_name(&attribute.name) {
            attribute.name = held(&attribute.name, &taken);
            taken.insert(attribute.name.clone());
        }
    }
}

/// Column names as names of attributes; names that a store cannot hold are replaced as in an import.
#[must_use]
pub fn held_names(names: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = names.iter().map(|&name| name.to_owned()).collect();
    let one = |&name: &&str| {
        if zvf_write::is_name(name) || super::columns::unnamed(name) {
            return name.to_owned();
        }
        let held = held(name, &taken);
        taken.insert(held.clone());
        held
    };
    names.iter().map(one).collect()
}

/// Remarks on attributes that [`hold`] renamed.
pub(crate) fn notes(attributes: &[AttributeColumn], schema: &Schema) -> Vec<String> {
    let notes = attributes.iter().filter_map(|attribute| {
        let name = schema.fields().get(attribute.column)?.name();
        (*name != attribute.name).then(|| {
            format!(
                "column {} becomes the attribute {}: a store cannot hold its name (--rename gives another one)",
                shown(name),
                attribute.name
            )
        })
    });
    notes.collect()
}

/// A name that a store can hold and that is not in `taken`: the name itself, or one without the forbidden characters.
fn held(name: &str, taken: &HashSet<String>) -> String {
    if zvf_write::is_name(name) {
        return name.to_owned();
    }
    let other = |c: char| matches!(c, '/' | '\\') || c.is_control();
    let mut held = name.replace(other, "_");
    if held.is_empty()
        || held.starts_with("__")
        || held.starts_with(".zvf-")
        || matches!(&*held, "." | "..")
    {
        let rest = held.trim_start_matches(['_', '.']);
        held = match rest {
            "" => "column".to_owned(),
            rest => format!("_{rest}"),
        };
    }
    if held == "zarr.json" {
        held = "zarr_json".to_owned();
    }
    // Leaves space for a number.
    while held.len() > 180 {
        held.pop();
    }
    let numbered = (2_u64..).map(|number| format!("{held}_{number}"));
    let mut names = std::iter::once(held.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_that_a_store_holds() {
        let taken = HashSet::from(["a_b".to_owned()]);
        for (name, want) in [
            ("gene", "gene"),
            ("gene/name", "gene_name"),
            ("a/b", "a_b_2"),
            ("a\\b", "a_b_2"),
            ("__index", "_index"),
            ("..", "column"),
            ("zarr.json", "zarr_json"),
            ("tab\there", "tab_here"),
        ] {
            let name = held(name, &taken);
            assert_eq!(name, want);
        }
        let long = held(&"ä".repeat(150), &taken);
        assert!(zvf_write::is_name(&long) && long.len() == 180);
    }
}
