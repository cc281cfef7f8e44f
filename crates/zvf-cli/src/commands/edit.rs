//! `zvf edit`: changes of a store that exists.

mod table;

use serde_json::json;
use zvf_write::{
    AttributeSpec, Batch, Edit, EditSummary, NumberType, ObjectTable, Resumed, StoreSpec,
    WriteError, WriteOptions,
};

use crate::args::{EditArgs, EditWhat};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_json, print_text};
use table::{Place, Table};

/// Runs `zvf edit`.
///
/// # Errors
///
/// Usage, when a table does not fit or the store cannot be edited; as the storage says.
pub(crate) fn run(args: &EditArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    let options = WriteOptions::new().with_open(context.options());
    if matches!(args.what, EditWhat::Resume) {
        let found = context
            .wait(Edit::resume(store, options))?
            .map_err(|e| CliError::from(e).at(store))?;
        return resumed(store, found, context);
    }
    // A table that cannot be read must not leave a store marked as being changed.
    let tables = Tables::read(&args.what)?;
    let edit = match context.wait(Edit::open(store, options))? {
        Ok(edit) => edit,
        Err(error @ WriteError::Busy { .. }) => {
            let hint =
                "if its writer is dead, `zvf edit STORE resume` finishes it or takes it back";
            return Err(CliError::usage(format!("{error}; {hint}")));
        }
        Err(error) => return Err(CliError::from(error).at(store)),
    };
    let done = context.wait(change(edit, &args.what, &tables))?;
    let done = done.map_err(|e| e.at(store))?;
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "vertices": done.vertices,
            "objects": done.objects,
            "links": done.links,
            "chunks": done.chunks,
            "put": done.put,
            "removed": done.removed,
        }));
    }
    print_text(&format!(
        "{store}: {:+} vertices, {:+} links; {} and {} changed, {} written, {} removed\n",
        done.vertices,
        done.links,
        counted(done.objects, "object"),
        counted(done.chunks, "chunk"),
        counted(done.put, "file"),
        counted(done.removed, "file"),
    ))
}

fn resumed(store: &str, found: Resumed, context: &Context<'_>) -> Result<()> {
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

/// Makes one edit; gives it up where something does not fit.
async fn change(mut edit: Edit, what: &EditWhat, tables: &Tables) -> Result<EditSummary> {
    match prepare(&mut edit, what, tables).await {
        Ok(()) => match edit.commit().await {
            Ok(done) => Ok(done),
            Err(error) => Err(error.into()),
        },
        Err(error) => {
            edit.abandon().await?;
            Err(error)
        }
    }
}

async fn prepare(edit: &mut Edit, what: &EditWhat, tables: &Tables) -> Result<()> {
    let spec = edit.spec().clone();
    let table = &tables.main;
    match what {
        EditWhat::Delete { ids } => edit.delete(ids).await?,
        EditWhat::Append { .. } => edit.append(&batch(edit, &spec, tables)?).await?,
        EditWhat::Move { .. } => {
            let positions = table.positions(&spec)?;
            let place = Place::of(table)?;
            edit.move_vertices(place.at(), &positions).await?;
        }
        EditWhat::SetAttribute {
            name,
            object: true,
            type_,
            ..
        } => {
            let known = edit.object_attribute(name).await?;
            let one = match (type_, known) {
                (None, Some(known)) => known,
                (None, None) => {
                    let message = format!("no object attribute {name}; --type TYPE adds it");
                    return Err(CliError::usage(message));
                }
                (Some(word), _) => {
                    let channels = table.channels(name).len().max(1);
                    let one = typed(name, word, channels, AttributeSpec::text)?;
                    edit.add_object_attribute(one.clone()).await?;
                    one
                }
            };
            let ids = table
                .ids()?
                .ok_or_else(|| CliError::usage("no column object_id"))?;
            let values = table.values(&one)?;
            edit.put_objects(&ObjectTable::new(ids).with_attribute(name, values))
                .await?;
        }
        EditWhat::SetAttribute {
            name,
            link: true,
            type_,
            ..
        } => set_link(edit, &spec, table, name, type_.as_deref()).await?,
        EditWhat::SetAttribute {
            name,
            type_: Some(word),
            ..
        } => {
            let channels = table.channels(name).len().max(1);
            let one = typed(name, word, channels, AttributeSpec::category)?;
            let values = table.values(&one)?;
            if !matches!(Place::of(table)?, Place::All) {
                let message = "a new attribute takes a value for every vertex, without columns vertex and object_id";
                return Err(CliError::usage(message));
            }
            edit.add_vertex_attribute(one, &values).await?;
        }
        EditWhat::SetAttribute { name, .. } => {
            let known = spec.batch_attributes().find(|one| one.name == *name);
            let Some(known) = known else {
                let message = format!("no vertex attribute {name}; --type TYPE adds it");
                return Err(CliError::usage(message));
            };
            let values = table.values(&worded(edit, known))?;
            let place = Place::of(table)?;
            edit.set_vertex_attribute(name, place.at(), &values).await?;
        }
        EditWhat::Resume => {}
    }
    Ok(())
}

/// Sets values of a link attribute, or adds it.
async fn set_link(
    edit: &mut Edit,
    spec: &StoreSpec,
    table: &Table,
    name: &str,
    type_: Option<&str>,
) -> Result<()> {
    let place = Place::of_links(table, spec.links.width)?;
    let known = spec.links.attributes.iter().find(|one| one.name == name);
    match (type_, known) {
        (None, Some(known)) => {
            let values = table.values(known)?;
            edit.set_link_attribute(name, place.at(), &values).await?;
        }
        (None, None) => {
            let message = format!("no link attribute {name}; --type TYPE adds it");
            return Err(CliError::usage(message));
        }
        (Some(word), _) => {
            if !matches!(place, Place::All) {
                let message = "a new attribute takes a value for every link, in the order of `zvf links`, without columns of ends";
                return Err(CliError::usage(message));
            }
            let channels = table.channels(name).len().max(1);
            let one = typed(name, word, channels, AttributeSpec::category)?;
            let values = table.values(&one)?;
            edit.add_link_attribute(one, &values).await?;
        }
    }
    Ok(())
}

/// An attribute as values for it are given: texts where it holds codes.
fn worded(edit: &Edit, one: &AttributeSpec) -> AttributeSpec {
    if edit.is_categorical(&one.name) {
        AttributeSpec::category(&one.name)
    } else {
        one.clone()
    }
}

fn typed(
    name: &str,
    word: &str,
    channels: usize,
    text: fn(String) -> AttributeSpec,
) -> Result<AttributeSpec> {
    if word == "text" {
        return Ok(text(name.to_owned()));
    }
    match NumberType::from_name(word) {
        Some(number) => Ok(AttributeSpec::number(name, number).with_channels(channels)),
        None => Err(CliError::usage(format!(
            "--type: found {word:?}, expected text or a number type such as float32"
        ))),
    }
}

/// The batch of `append`.
fn batch(edit: &Edit, spec: &StoreSpec, tables: &Tables) -> Result<Batch<'static>> {
    let table = &tables.main;
    let mut batch = Batch::new(table.positions(spec)?);
    if let Some(ids) = table.ids()? {
        batch = batch.with_object_ids(ids);
    }
    for one in spec.batch_attributes() {
        batch = batch.with_attribute(&one.name, table.values(&worded(edit, one))?);
    }
    if let Some(links) = &tables.links {
        batch = batch.with_links(links.rows(spec.links.width)?);
        for one in &spec.links.attributes {
            batch = batch.with_link_attribute(&one.name, links.values(one)?);
        }
    }
    Ok(batch)
}

/// The files of an edit.
#[derive(Debug, Default)]
struct Tables {
    main: Table,
    links: Option<Table>,
}

impl Tables {
    fn read(what: &EditWhat) -> Result<Self> {
        let mut tables = Self::default();
        match what {
            EditWhat::Append { file, links } => {
                tables.main = Table::read(file)?;
                tables.links = links.as_deref().map(Table::read).transpose()?;
            }
            EditWhat::Move { from } | EditWhat::SetAttribute { from, .. } => {
                tables.main = Table::read(from)?;
            }
            EditWhat::Delete { .. } | EditWhat::Resume => {}
        }
        Ok(tables)
    }
}
