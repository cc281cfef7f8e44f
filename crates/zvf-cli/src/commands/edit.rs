//! `zvf edit`: changes of a store that exists.

pub(super) mod append;
mod delete;
mod table;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use zvf_edit::{Edit, EditSummary, Resumed};
use zvf_write::arrow::values;
use zvf_write::{AttributeSpec, NumberType, WriteError};

use super::select;
use crate::args::{EditArgs, EditWhat, GroupWhat};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};
use table::Table;

/// Runs `zvf edit`.
///
/// # Errors
///
/// Usage, when a table does not fit or the store cannot be edited; as the storage says.
pub(crate) fn run(args: &EditArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    // A table that cannot be read must not leave a store marked as being changed: it is read first.
    let mut remarks = Vec::new();
    let done = match &args.what {
        EditWhat::Resume => return resume(store, context),
        EditWhat::Delete { ids, terms } if ids.is_empty() => {
            match delete::run(store, terms, context)? {
                Some(done) => done,
                None => return Ok(()),
            }
        }
        EditWhat::Delete { ids, .. } => {
            change(store, context, async |edit| Ok(edit.delete(ids).await?))?
        }
        EditWhat::Append { file, links } => {
            let tables = Tables::read(file, None, links.as_deref())?;
            change(store, context, async |edit| {
                remarks = append(edit, &tables).await?;
                Ok(())
            })?
        }
        EditWhat::Group(what) => change(store, context, async |edit| group(edit, what).await)?,
        EditWhat::Move { from } => {
            let table = Table::read(from, None)?;
            change(store, context, async |edit| {
                let mut columns = table.vertex()?;
                columns.push(table.positions(edit.spec())?);
                Ok(edit.move_records(&table.records(columns, &[])?).await?)
            })?
        }
        EditWhat::SetAttribute {
            name,
            from,
            object,
            link,
            type_,
        } => {
            let table = Table::read(from, None)?;
            let scope = match (object, link) {
                (true, _) => Scope::Object,
                (_, true) => Scope::Link,
                _ => Scope::Vertex,
            };
            change(store, context, async |edit| {
                set_attribute(edit, &table, scope, name, type_.as_deref()).await
            })?
        }
    };
    for remark in &remarks {
        context.remark(remark);
    }
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "notes": remarks,
            "vertices": done.vertices,
            "objects": done.objects,
            "groups": done.groups,
            "links": done.links,
            "chunks": done.chunks,
            "put": done.put,
            "removed": done.removed,
        }));
    }
    let groups = match done.groups {
        0 => String::new(),
        groups => format!("{}, ", counted(groups, "group")),
    };
    print_text(&format!(
        "{store}: {:+} vertices, {:+} links; {groups}{} and {} changed, {} written, {} removed\n",
        done.vertices,
        done.links,
        counted(done.objects, "object"),
        counted(done.chunks, "chunk"),
        counted(done.put, "file"),
        counted(done.removed, "file"),
    ))
}

/// Changes a group.
async fn group(edit: &mut Edit, what: &GroupWhat) -> Result<()> {
    match what {
        GroupWhat::Add { group, members } => {
            let ids = members_of(edit, members).await?;
            edit.add_to_group(group, &ids).await?;
        }
        GroupWhat::Remove { group, members } => {
            let ids = members_of(edit, members).await?;
            edit.remove_from_group(group, &ids).await?;
        }
        GroupWhat::Rename { group, name } => edit.rename_group(group, name).await?,
        GroupWhat::Delete { group } => edit.delete_group(group).await?,
    }
    Ok(())
}

/// The objects that words mean: ids, ranges of them, lists in files, or names.
async fn members_of(edit: &mut Edit, words: &[String]) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for word in words {
        let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | ',' | '+' | ' ');
        if word.starts_with('@') || word.chars().all(digits) {
            found.extend(select::ids(word)?);
        } else {
            let name = word.strip_prefix("name:").unwrap_or(word);
            found.push(edit.object_named(name).await?);
        }
    }
    Ok(found)
}

fn resume(store: &str, context: &mut Context<'_>) -> Result<()> {
    let options = context.write_options(false);
    let found = context.wait(Edit::resume(store, options))?;
    let found = found.map_err(|e| CliError::from(e).at(store))?;
    let (word, line) = match found {
        Resumed::Finished => (
            "finished",
            "the interrupted edit counts, and is carried out now",
        ),
        Resumed::TakenBack => (
            "taken back",
            "the interrupted edit did not count, and is taken back",
        ),
        _ => ("nothing", "no edit was interrupted"),
    };
    if context.common.json {
        return print_json(&json!({"store": store, "resumed": word}));
    }
    print_text(&format!("{store}: {line}\n"))
}

/// Begins an edit.
fn opened(store: &str, context: &mut Context<'_>) -> Result<Edit> {
    let options = context.write_options(false);
    match context.wait(Edit::open(store, options))? {
        Ok(edit) => Ok(edit),
        Err(error @ WriteError::Busy { .. }) => {
            let hint =
                "if its writer is dead, `zvf edit STORE resume` finishes it or takes it back";
            Err(CliError::usage(format!("{error}; {hint}")))
        }
        Err(error) => Err(CliError::from(error).at(store)),
    }
}

/// Begins an edit and makes it.
fn change(
    store: &str,
    context: &mut Context<'_>,
    make: impl AsyncFnOnce(&mut Edit) -> Result<()>,
) -> Result<EditSummary> {
    let edit = opened(store, context)?;
    finish(store, edit, context, make)
}

/// Makes one edit; gives it up where something does not fit.
fn finish(
    store: &str,
    mut edit: Edit,
    context: &mut Context<'_>,
    make: impl AsyncFnOnce(&mut Edit) -> Result<()>,
) -> Result<EditSummary> {
    let done = context.wait(async {
        if let Err(error) = make(&mut edit).await {
            edit.abandon().await?;
            return Err(error);
        }
        Ok(edit.commit().await?)
    })?;
    done.map_err(|e| e.at(store))
}

/// Adds vertices with their links; returns remarks for people.
async fn append(edit: &mut Edit, tables: &Tables) -> Result<Vec<String>> {
    let vertices = tables.vertices.vertices(edit)?;
    let has_objects = edit.spec().has_objects() && edit.object_ids().next().is_some();
    if has_objects && vertices.column_by_name("object_id").is_none() {
        // Without ids, the vertices would become object 0.
        let expected = "one: it says to which object a vertex belongs; `zvf append` gives new objects their ids";
        return Err(CliError::usage(format!(
            "found no column object_id, expected {expected}"
        )));
    }
    let links = tables.links.as_ref();
    let links = links.map(|links| links.links(edit.spec())).transpose()?;
    let fitted = edit.append_records(&vertices, links.as_ref()).await?;
    Ok(remarks(
        &tables.vertices.unknown(edit.spec()),
        &fitted.missing,
    ))
}

/// What an attribute belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Vertex,
    Object,
    Link,
}

impl Scope {
    const fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Object => "object",
            Self::Link => "link",
        }
    }
}

/// Sets values of an attribute of vertices, objects or links, or adds it.
async fn set_attribute(
    edit: &mut Edit,
    table: &Table,
    scope: Scope,
    name: &str,
    type_: Option<&str>,
) -> Result<()> {
    let links = &edit.spec().links;
    let (mut columns, known) = match scope {
        Scope::Object => {
            let ids = table.ids()?;
            let ids = ids.ok_or_else(|| CliError::usage("no column object_id"))?;
            (vec![ids], edit.object_attributes().await?)
        }
        Scope::Link => (table.ends(links.width)?, links.attributes.clone()),
        Scope::Vertex => (table.vertex()?, edit.vertex_attributes()),
    };
    let one = match (type_, known.into_iter().find(|one| one.name == name)) {
        (None, Some(known)) => known,
        (None, None) => {
            let message = format!("no {} attribute {name}; --type TYPE adds it", scope.name());
            return Err(CliError::usage(message));
        }
        (Some("text"), _) if scope == Scope::Object => AttributeSpec::text(name),
        (Some("text"), _) => AttributeSpec::category(name),
        (Some(word), _) => {
            let expected = "text or a number type such as float32";
            let wrong = || CliError::usage(format!("--type: found {word:?}, expected {expected}"));
            let number = NumberType::from_name(word).ok_or_else(wrong)?;
            let channels = table.channels(name).len().max(1);
            AttributeSpec::number(name, number).with_channels(channels)
        }
    };
    columns.push(table.attribute(&one)?);
    let records = table.records(columns, &[])?;
    match (scope, type_) {
        (Scope::Object, _) => {
            if type_.is_some() {
                edit.add_object_attribute(one).await?;
            }
            edit.put_object_records(&records).await?;
        }
        (Scope::Link, None) => edit.set_link_records(&records).await?,
        (Scope::Vertex, None) => edit.set_vertex_records(&records).await?,
        (Scope::Vertex | Scope::Link, Some(_)) => {
            let [column] = records.columns() else {
                let all = match scope {
                    Scope::Link => "link, in the order of `zvf links`, without columns of ends",
                    _ => "vertex, without columns vertex and object_id",
                };
                let message = format!("a new attribute takes a value for every {all}");
                return Err(CliError::usage(message));
            };
            let values = values(name, column)?.fitted(&one)?;
            match scope {
                Scope::Link => edit.add_link_attribute(one, &values).await?,
                _ => edit.add_vertex_attribute(one, &values).await?,
            }
        }
    }
    Ok(())
}

/// What an append says of attributes that only the files have, or only the store.
fn remarks(unknown: &BTreeSet<String>, missing: &BTreeSet<String>) -> Vec<String> {
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let mut remarks = Vec::new();
    if !unknown.is_empty() {
        remarks.push(format!(
            "left out, since the store has no such attribute: {}",
            list(unknown)
        ));
    }
    if !missing.is_empty() {
        remarks.push(format!(
            "missing for the new vertices, since the files have no such attribute: {}",
            list(missing)
        ));
    }
    remarks
}

/// The files of an append.
#[derive(Debug)]
struct Tables {
    vertices: Table,
    links: Option<Table>,
}

impl Tables {
    /// Reads them; the table of vertices in the format that is given, or by the ending of its name.
    fn read(vertices: &Path, format: Option<&str>, links: Option<&Path>) -> Result<Self> {
        let links = links.map(|links| Table::read(links, None));
        Ok(Self {
            vertices: Table::read(vertices, format)?,
            links: links.transpose()?,
        })
    }
}
