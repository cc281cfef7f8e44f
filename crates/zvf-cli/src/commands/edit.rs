//! `zvf edit`: changes of an existing store.

mod delete;

use std::collections::HashSet;

use serde_json::json;
use zvf_convert::Options;
use zvf_edit::{Edit, EditSummary, Matched, Matching, Resumed, Scope, SetAttribute};
use zvf_jobs::{
    EditPlace, EditTable, EditTables, PlaceOptions, edit_remarks, fill_text, set_fills,
};
use zvf_query::IdRanges;
use zvf_store::Need;
use zvf_write::WriteError;

use super::select;
use crate::args::{EditArgs, EditWhat, GroupWhat, MatchArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};

/// Runs `zvf edit`.
///
/// # Errors
///
/// Usage: a table that does not fit, a store that cannot be edited. The errors of the storage.
pub(crate) fn run(args: &EditArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    // The table is read first, so that a table that cannot be read does not leave the store marked as being changed.
    let mut remarks = Vec::new();
    let mut matched: Option<Matched> = None;
    let done = match &args.what {
        EditWhat::Resume => return resume(store, context),
        EditWhat::Delete { ids, terms, .. } if ids.is_empty() => {
            match delete::run(store, terms, context)? {
                Some(done) => done,
                None => return Ok(()),
            }
        }
        EditWhat::Delete {
            ids,
            ignore_missing,
            ..
        } => {
            let ids = select::ids_of(ids)?;
            change(store, context, async |edit| {
                let ids = existing(edit, &ids, *ignore_missing)?;
                Ok(edit.delete(&ids).await?)
            })?
        }
        EditWhat::Append {
            file,
            links,
            columns,
            place,
            fill,
        } => {
            let mut options = Options::default();
            columns.apply(&mut options, context.common.memory_budget);
            let mut tables = EditTables::read(file, None, links.as_deref(), &options)?;
            let placed = place_of(store, place, context)?.new_vertices(&mut tables)?;
            change(store, context, async |edit| {
                set_fills(edit, fill)?;
                remarks = append(edit, &tables).await?;
                remarks.extend(placed);
                Ok(())
            })?
        }
        EditWhat::AddOwners => change(store, context, async |edit| Ok(edit.add_owners()?))?,
        EditWhat::Group(what) => change(store, context, async |edit| group(edit, what).await)?,
        EditWhat::Move {
            from,
            columns,
            matching,
        } => {
            let mut table = EditTable::read_as(from, None, &columns.options())?;
            let place = place_of(store, &PlaceOptions::default(), context)?;
            remarks = place.stored_vertices(&mut table)?;
            change(store, context, async |edit| {
                let how = how(matching);
                let mut columns = match how.key.is_empty() {
                    true => table.places(edit.spec(), false)?,
                    false => table.keys(&how.key, &edit.vertex_attributes())?,
                };
                columns.push(table.positions(edit.spec())?);
                let records = table.records(columns, &[], |_| None)?;
                matched = Some(edit.move_records(&records, &how).await?);
                Ok(())
            })?
        }
        EditWhat::SetAttribute {
            name,
            from,
            columns,
            matching,
            object,
            link,
            type_,
            fill,
            new_objects,
        } => {
            let scope = match (object, link) {
                (true, _) => Scope::Object,
                (_, true) => Scope::Link,
                _ => Scope::Vertex,
            };
            let mut how = how(matching).with_new_objects(*new_objects);
            let table = from.as_deref().map(|from| {
                let along = how.by_object_order && scope == Scope::Vertex;
                EditTable::of_attribute(from, name, along, &columns.options())
            });
            let table = table.transpose()?;
            if let Some(table) = table.as_ref().filter(|table| table.is_divided()) {
                if scope != Scope::Vertex {
                    let file = table.name();
                    let message = format!(
                        "{file}: has values of vertices, expected values of {}",
                        scope.plural()
                    );
                    return Err(CliError::usage(message));
                }
                how.by_object_order |= !matching.by_order && matching.key.is_empty();
            }
            change(store, context, async |edit| {
                if let Some(table) = &table {
                    table.check_lengths(edit).await?;
                }
                let set = SetAttribute::new(scope, name).with_matching(how);
                let (type_, fill) = (type_.as_deref(), fill.as_deref());
                let (done, said) = set_attribute(edit, table.as_ref(), set, type_, fill).await?;
                remarks = said;
                matched = Some(done);
                Ok(())
            })?
        }
    };
    for remark in &remarks {
        context.remark(remark);
    }
    if context.common.json {
        let mut document = json!({
            "store": store,
            "notes": remarks,
            "vertices": done.vertices,
            "objects": done.objects,
            "groups": done.groups,
            "links": done.links,
            "chunks": done.chunks,
            "put": done.put,
            "removed": done.removed,
        });
        if let Some(one) = matched {
            document["matched"] = json!({
                "by": one.by,
                "rows": one.found,
                "of": one.of,
                "ignored": one.ignored,
            });
        }
        return print_json(&document);
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

/// The objects for the words of a user: ids, ranges of ids, lists in files, or names.
async fn members_of(edit: &mut Edit, words: &[String]) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for word in words {
        let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | ',' | '+' | ' ');
        if word.starts_with('@') || word.chars().all(digits) {
            found.extend(existing(edit, &zvf_jobs::read_ids(word)?, false)?);
        } else {
            let name = word.strip_prefix("name:").unwrap_or(word);
            found.push(edit.object_named(name).await?);
        }
    }
    Ok(found)
}

/// The objects of the store with these ids; none for a store without objects, which the edit refuses.
fn existing(edit: &Edit, ids: &IdRanges, ignore_missing: bool) -> Result<Vec<i64>> {
    if !edit.spec().has_objects() {
        return Ok(Vec::new());
    }
    let known: HashSet<i64> = edit.object_ids().collect();
    let has = |id| known.contains(&id);
    Ok(ids.among(
        known.len() as u64,
        has,
        || edit.object_ids(),
        ignore_missing,
    )?)
}

fn resume(store: &str, context: &mut Context<'_>) -> Result<()> {
    let options = context.write_options(false);
    let found = context.wait(Edit::resume(store, options))?;
    let found = found.map_err(|e| CliError::from(e).at(store))?;
    let (word, line) = match found {
        Resumed::Finished => (
            "finished",
            "the interrupted edit was committed and is completed now",
        ),
        Resumed::TakenBack => (
            "taken back",
            "the interrupted edit was not committed and is undone",
        ),
        _ => ("nothing", "no edit was interrupted"),
    };
    if context.common.json {
        return print_json(&json!({"store": store, "resumed": word}));
    }
    print_text(&format!("{store}: {line}\n"))
}

/// The frame of a store, for the positions of files.
fn place_of(store: &str, options: &PlaceOptions, context: &mut Context<'_>) -> Result<EditPlace> {
    let opened = context.open(store, 0, Need::nothing())?;
    context.wait_at(store, EditPlace::of(&opened, options))
}

/// Begins an edit.
pub(super) fn opened(store: &str, context: &mut Context<'_>) -> Result<Edit> {
    let options = context.write_options(false);
    match context.wait(Edit::open(store, options))? {
        Ok(edit) => Ok(edit),
        Err(error @ WriteError::Busy { .. }) => Err(busy(&error)),
        Err(error) => Err(CliError::from(error).at(store)),
    }
}

/// The error for a store that another program changes.
pub(super) fn busy(error: &WriteError) -> CliError {
    let hint = "if its writer is dead, `zvf edit STORE resume` completes or undoes its edit";
    CliError::new(Class::Busy, format!("{error}; {hint}"))
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

/// Makes one edit; abandons it after an error.
pub(super) fn finish(
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

/// Adds vertices with their links; returns notes for the user.
async fn append(edit: &mut Edit, tables: &EditTables) -> Result<Vec<String>> {
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
    let ids = tables.ids.as_ref();
    let links = links.map(|links| links.links(edit, ids)).transpose()?;
    let fitted = edit.append_records(&vertices, links.as_ref()).await?;
    Ok(edit_remarks(
        edit,
        &tables.vertices.unknown(edit.spec()),
        &fitted.missing,
        &fitted.filled,
    ))
}

/// The matching of the rows of a table with the rows of the store.
fn how(args: &MatchArgs) -> Matching {
    let mut how = Matching::by_key(args.key.clone()).with_ignore_missing(args.ignore_missing);
    how.by_order = args.by_order;
    how.by_object_order = args.by_object_order;
    how
}

/// Sets values of an attribute of vertices, objects or links, or adds the attribute; returns the result for the rows, and notes for the user.
async fn set_attribute(
    edit: &mut Edit,
    table: Option<&EditTable>,
    mut set: SetAttribute,
    type_: Option<&str>,
    fill: Option<&str>,
) -> Result<(Matched, Vec<String>)> {
    let (scope, name) = (set.scope, set.name.clone());
    let known = match scope {
        Scope::Object => edit.object_attributes().await?,
        Scope::Link => edit.spec().links.attributes.clone(),
        Scope::Vertex => edit.vertex_attributes(),
    };
    if let Some(type_) = type_ {
        let channels = table.map_or(1, |table| table.channels(&name).len().max(1));
        set = set.with_type(type_, channels)?;
    }
    let known_one = known.iter().find(|one| one.name == name);
    let Some(one) = set.new.as_ref().or(known_one).cloned() else {
        let message = format!("no {} attribute {name}; --type TYPE adds it", scope.name());
        return Err(CliError::usage(message));
    };
    let fill = fill.map(|text| fill_text(&one, text));
    if let Some(fill) = &fill {
        set = set.with_fill(fill);
    }
    let Some(table) = table else {
        return Ok((edit.set_attribute(&set, None).await?, Vec::new()));
    };
    let mut columns = match (scope, set.matching.key.is_empty()) {
        (_, false) => table.keys(&set.matching.key, &known)?,
        (Scope::Object, _) => Vec::from_iter(table.ids()?),
        (Scope::Link, _) => table.ends(edit.spec().links.width)?,
        (Scope::Vertex, _) => table.places(edit.spec(), true)?,
    };
    columns.push(table.given(&one, fill.as_deref())?);
    let records = table.records(columns, &[], |_| None)?;
    let matched = edit.set_attribute(&set, Some(&records)).await?;
    let remarks = matched.remarks(&set);
    Ok((matched, remarks))
}
