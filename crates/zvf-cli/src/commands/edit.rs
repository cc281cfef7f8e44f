//! `zvf edit`: changes of a store that exists.

pub(super) mod append;
mod delete;
mod table;

use std::path::Path;

use serde_json::json;
use zvf_edit::{Edit, EditSummary, Resumed};
use zvf_write::{AttributeSpec, Batch, NumberType, ObjectTable, StoreSpec, WriteError};

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
    let options = context.write_options(false);
    if matches!(args.what, EditWhat::Resume) {
        let found = context
            .wait(Edit::resume(store, options))?
            .map_err(|e| CliError::from(e).at(store))?;
        return resumed(store, found, context);
    }
    let mut left_out = None;
    let done = match &args.what {
        EditWhat::Delete { ids, terms, .. } if ids.is_empty() => {
            match delete::run(store, terms, context)? {
                Some(done) => done,
                None => return Ok(()),
            }
        }
        what => {
            // A table that cannot be read must not leave a store marked as being changed.
            let tables = Tables::read(what)?;
            let edit = opened(store, context)?;
            let change = async |edit: &mut Edit| {
                if matches!(what, EditWhat::Append { .. }) {
                    left_out = tables.left_out(edit.spec());
                }
                prepare(edit, what, &tables).await
            };
            let done = context.wait(finish(edit, change))?;
            done.map_err(|e| e.at(store))?
        }
    };
    if let Some(remark) = &left_out {
        context.remark(remark);
    }
    if context.common.json {
        return print_json(&json!({
            "store": store,
            "notes": left_out.iter().collect::<Vec<_>>(),
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

/// Makes one edit; gives it up where something does not fit.
async fn finish(
    mut edit: Edit,
    make: impl AsyncFnOnce(&mut Edit) -> Result<()>,
) -> Result<EditSummary> {
    match make(&mut edit).await {
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
        EditWhat::Delete { ids, .. } => edit.delete(ids).await?,
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
    let mut batch = vertices(edit, spec, &tables.main)?;
    if let Some(ids) = tables.main.ids()? {
        batch = batch.with_object_ids(ids);
    } else if spec.has_objects() && edit.object_ids().next().is_some() {
        // Without ids, the vertices would become object 0.
        let expected = "one: it says to which object a vertex belongs; `zvf append` gives new objects their ids";
        return Err(CliError::usage(format!(
            "found no column object_id, expected {expected}"
        )));
    }
    match &tables.links {
        Some(links) => with_links(batch, spec, links),
        None => Ok(batch),
    }
}

/// Vertices with their attributes, without objects and links.
fn vertices(edit: &Edit, spec: &StoreSpec, table: &Table) -> Result<Batch<'static>> {
    let mut batch = Batch::new(table.positions(spec)?);
    for one in spec.batch_attributes() {
        batch = batch.with_attribute(&one.name, table.values(&worded(edit, one))?);
    }
    Ok(batch)
}

/// The same with links.
fn with_links(batch: Batch<'static>, spec: &StoreSpec, links: &Table) -> Result<Batch<'static>> {
    let mut batch = batch.with_links(links.rows(spec.links.width)?);
    for one in &spec.links.attributes {
        batch = batch.with_link_attribute(&one.name, links.values(one)?);
    }
    Ok(batch)
}

/// The files of an edit.
#[derive(Debug)]
struct Tables {
    main: Table,
    links: Option<Table>,
}

impl Tables {
    /// Reads them; the table of vertices in the format that is given, or by the ending of its name.
    fn of(vertices: &Path, format: Option<&str>, links: Option<&Path>) -> Result<Self> {
        let links = links.map(|links| Table::read(links, None));
        Ok(Self {
            main: Table::read(vertices, format)?,
            links: links.transpose()?,
        })
    }

    /// What an append does not keep of the table of vertices, for people.
    fn left_out(&self, spec: &StoreSpec) -> Option<String> {
        let unknown = self.main.unknown(spec);
        (!unknown.is_empty()).then(|| {
            format!(
                "left out, since the store has no such attribute: {}",
                unknown.join(", ")
            )
        })
    }

    fn read(what: &EditWhat) -> Result<Self> {
        match what {
            EditWhat::Append { file, links } => Self::of(file, None, links.as_deref()),
            EditWhat::Move { from } | EditWhat::SetAttribute { from, .. } => {
                Self::of(from, None, None)
            }
            EditWhat::Delete { .. } | EditWhat::Resume => Ok(Self {
                main: Table::empty(),
                links: None,
            }),
        }
    }
}
