//! `zvf append`: more objects or points from files of any format.

mod numbers;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use serde_json::{Value, json};
use zvf_convert::{
    Format, Import, ObjectIds, Options, Sink, Whole, check_joinable, in_chains, read_groups,
};
use zvf_edit::{Edit, EditSummary};
use zvf_encode::error::OrBug;
use zvf_query::Query;
use zvf_store::{Need, Store};
use zvf_write::{AttributeSpec, Batch, Groups, Kind, ObjectTable, StoreSpec, WriteError};

use super::super::import::from_stdin;
use super::place::Place;
use super::table::Table;
use super::{Tables, finish, opened, remarks, set_fills};
use crate::args::AppendArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};
use numbers::Numbers;

/// Ids that are listed one by one for people.
const LISTED: usize = 8;

/// Runs `zvf append`.
///
/// # Errors
///
/// Usage: files that do not fit the store, ids that are taken; as the files and the storage say.
pub(crate) fn run(args: &AppendArgs, context: &mut Context<'_>) -> Result<()> {
    let store = args.store.as_str();
    let (files, _kept) = from_stdin(&args.files, args.format.is_some())?;
    let given = Given::read(args, &files, context)?;
    let edit = opened(store, context)?;
    let mut numbers = match &given {
        // The reader kept the objects of several files apart.
        Given::Import(import) => {
            let mut numbers = Numbers::of(&edit, ObjectIds::Kept, &[])?;
            numbers.keep = import.names_objects() && !args.ids.new_ids;
            numbers
        }
        Given::Tables(_) => Numbers::of(&edit, args.ids.rule(1), &files)?,
    };
    let mut remarks = Vec::new();
    let done = finish(store, edit, context, async |edit| {
        set_fills(edit, &args.fill)?;
        remarks = given.append(edit, &mut numbers, args.ids.rule(1)).await?;
        Ok(())
    })?;
    for remark in &remarks {
        context.remark(remark);
    }
    let ids = numbers.ids();
    if context.common.json {
        return print_json(&document(args, &done, &ids, &remarks));
    }
    let vertices = counted(done.vertices.unsigned_abs(), "vertex");
    let chunks = counted(done.chunks, "chunk");
    let mut line = format!("{store}: {vertices} appended, in {chunks}");
    if !ids.is_empty() {
        line.push_str(&format!(
            "; {} {}",
            if ids.len() == 1 { "object" } else { "objects" },
            listed(&ids)
        ));
    }
    print_text(&format!("{line}\n"))
}

fn document(args: &AppendArgs, done: &EditSummary, ids: &[i64], remarks: &[String]) -> Value {
    json!({
        "store": args.store,
        "files": args.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "vertices": done.vertices,
        "links_stored": done.links,
        "objects": ids.len(),
        "ids": ids,
        "chunks": done.chunks,
        "put": done.put,
        "removed": done.removed,
        "notes": remarks,
    })
}

/// Ids for people: runs as `3-9`, not too many.
fn listed(ids: &[i64]) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &id in ids {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => runs.push((id, id)),
        }
    }
    let shown = runs.iter().take(LISTED).map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if runs.len() > LISTED {
        text.push_str(&format!(", .. ({} in all)", count(ids.len() as u64)));
    }
    text
}

/// The sources that the arguments name, read as far as necessary before the store is marked as being changed.
enum Given {
    Tables(Vec<Answered>),
    Import(Box<Import>),
}

/// Tables as queries return them: a file, a folder, or a whole store.
#[derive(Debug)]
struct Answered {
    tables: Tables,
    objects: Option<Table>,
    groups: Option<Groups<'static>>,
    notes: Vec<String>,
}

impl From<Tables> for Answered {
    fn from(tables: Tables) -> Self {
        Self {
            tables,
            objects: None,
            groups: None,
            notes: Vec::new(),
        }
    }
}

/// Whether a path is a store, or could be the address of one.
fn is_store(path: &Path) -> bool {
    path.join("zarr.json").is_file() || path.to_string_lossy().contains("://")
}

/// Whether a path is a folder that a query wrote.
fn is_answer(path: &Path) -> bool {
    path.is_dir() && path.join("vertices.arrow").exists()
}

impl Given {
    fn read(args: &AppendArgs, files: &[PathBuf], context: &mut Context<'_>) -> Result<Self> {
        let format = args.format.as_deref();
        let place = Place::of(&args.store, &args.place, context)?;
        let mut options = Options::default();
        let columns = &args.columns;
        columns.apply(&mut options, context.common.memory_budget);
        let table = |file: &PathBuf| is_table(file, format);
        let answer = |file: &PathBuf| is_answer(file) || (format.is_none() && is_store(file));
        if files.iter().all(answer) {
            let store = context.open(&args.store, 0, Need::nothing())?;
            let one = |file: &PathBuf| match is_answer(file) {
                true => of_folder(args, file, &options, &store, &place),
                false => of_store(file, &store, &place, context),
            };
            return Ok(Self::Tables(files.iter().map(one).collect::<Result<_>>()?));
        }
        if files.iter().all(table) {
            if args.links.is_some() && files.len() > 1 {
                let found = counted(files.len() as u64, "table");
                return Err(CliError::usage(format!(
                    "--links: found {found} of vertices, expected one"
                )));
            }
            let read = |file: &PathBuf| {
                let mut tables = Tables::read(file, format, args.links.as_deref(), &options)?;
                tables
                    .vertices
                    .name_columns(args.object_column.as_deref(), args.position.as_deref())?;
                let notes = place.new_vertices(&mut tables)?;
                Ok(Answered {
                    notes,
                    ..Answered::from(tables)
                })
            };
            return Ok(Self::Tables(files.iter().map(read).collect::<Result<_>>()?));
        }
        if args.links.is_some() || args.object_column.is_some() || args.position.is_some() {
            return Err(CliError::usage(
                "--links, --object-column, --position: found one of them, expected tables of vertices: .csv, .tsv, .ndjson, .arrow or .parquet",
            ));
        }
        if columns.any() {
            return Err(CliError::usage(
                "found options of columns, expected tables of vertices: .csv, .tsv, .xyz, .ndjson, .arrow or .parquet",
            ));
        }
        let import = import(args, files, place.options(), context)?;
        Ok(Self::Import(Box::new(import)))
    }

    /// Appends it to a store; returns remarks for people.
    async fn append(
        &self,
        edit: &mut Edit,
        numbers: &mut Numbers,
        rule: ObjectIds,
    ) -> Result<Vec<String>> {
        let tables =
            matches!(self, Self::Tables(list) if list.iter().all(|one| one.objects.is_none()));
        let known = match edit.spec().has_objects() && !tables {
            true => edit.object_attributes().await?,
            false => Vec::new(),
        };
        let mut notes = Vec::new();
        let mut gathered = Gathered {
            edit,
            numbers,
            file: 0,
            rule,
            batches: Vec::new(),
            objects: Vec::new(),
            groups: Vec::new(),
            known,
            unknown: BTreeSet::new(),
            missing: BTreeSet::new(),
            filled: BTreeSet::new(),
            quads: None,
        };
        match self {
            Self::Tables(list) => {
                for (file, one) in list.iter().enumerate() {
                    gathered.file = file;
                    // New ids follow the order of the table of objects, not of chunks.
                    gathered.described(one)?;
                    gathered.table(&one.tables, &mut notes)?;
                    notes.extend(one.notes.iter().cloned());
                }
            }
            Self::Import(import) => {
                gathered.quads = cut_quads(import, gathered.edit.spec())?.then_some(0);
                import.read(&mut gathered)?;
            }
        }
        let quads = gathered.quads.filter(|quads| *quads > 0);
        notes.extend(quads.map(|quads| {
            format!(
                "{} of four corners were cut into triangles from their first corner, as the store has them",
                counted(quads, "face")
            )
        }));
        let Gathered {
            batches,
            objects,
            groups,
            unknown,
            missing,
            filled,
            ..
        } = gathered;
        numbers.check()?;
        edit.append_all(&batches).await?;
        for table in &objects {
            edit.put_objects(table).await?;
        }
        let mut left = BTreeSet::new();
        if edit.spec().has_objects() {
            for one in &groups {
                left.extend(edit.add_groups(one).await?);
            }
        } else if !groups.is_empty() {
            notes.push("left out: groups of the files, since the store has no objects".to_owned());
        }
        let mut remarks = remarks(edit, &unknown, &missing, &filled);
        if !left.is_empty() {
            let list = left.into_iter().collect::<Vec<_>>().join(", ");
            remarks.push(format!(
                "left out, since groups of the store have no such attribute: {list}"
            ));
        }
        if let Self::Import(import) = self {
            notes.extend_from_slice(import.placement());
        }
        notes.dedup();
        remarks.extend(notes);
        Ok(remarks)
    }
}

/// Reads a folder that a query wrote.
fn of_folder(
    args: &AppendArgs,
    folder: &Path,
    options: &Options,
    store: &Store,
    place: &Place,
) -> Result<Answered> {
    let there = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
    let links = args.links.clone().or_else(|| there("links.arrow"));
    let file = folder.join("vertices.arrow");
    let mut tables = Tables::read(&file, None, links.as_deref(), options)?;
    if let (true, Some(links)) = (is_chain(store.kind()), &tables.links) {
        let sorted = in_chains(&file, tables.vertices.batch(), links.batch())?;
        tables.vertices = Table::of(tables.vertices.name(), sorted)?;
    }
    let objects = there("objects.arrow");
    let objects = objects.map(|file| Table::read(&file, None)).transpose()?;
    let groups = there("groups.arrow");
    let groups = groups.map(|file| read_groups(&file)).transpose()?;
    let groups = groups.as_ref().map(Groups::from_records).transpose()?;
    let mut notes = place.new_vertices(&mut tables)?;
    if tables.links.is_some() && !is_chain(store.kind()) && store.kind() == Kind::PointCloud {
        notes.push("left out: links, since points have none".to_owned());
    }
    Ok(Answered {
        tables,
        objects,
        groups: groups.map(owned),
        notes,
    })
}

/// Reads another store, of the same kind and axes.
fn of_store(
    path: &Path,
    own: &Store,
    place: &Place,
    context: &mut Context<'_>,
) -> Result<Answered> {
    let url = path.to_string_lossy().into_owned();
    let budget = context.common.memory_budget;
    let budget = budget.unwrap_or_else(|| zvf_write::WriteOptions::new().memory_budget as u64);
    let store = context.open(&url, 0, Query::default().need())?;
    context.wait(check_joinable(&store, own))??;
    let whole = context.wait(Whole::read(&store, budget))?;
    let whole = whole.map_err(|e| CliError::from(e).at(&url))?;
    let table = |batch: RecordBatch| Table::of(&url, batch);
    let mut tables = Tables {
        vertices: table(whole.vertices)?,
        links: whole.links.map(table).transpose()?,
        ids: None,
    };
    let mut notes = whole.notes;
    notes.extend(place.new_vertices(&mut tables)?);
    Ok(Answered {
        tables,
        objects: whole.objects.map(table).transpose()?,
        groups: whole.groups,
        notes,
    })
}

/// Groups that borrow nothing.
fn owned(groups: Groups<'_>) -> Groups<'static> {
    let mut out = Groups::new(groups.members().to_vec()).with_names(groups.names().to_vec());
    for (name, values) in groups.attributes() {
        out = out.with_attribute(name, values.clone().into_owned());
    }
    out
}

/// Whether the links of a kind follow from the order of its vertices.
fn is_chain(kind: Kind) -> bool {
    matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline)
}

/// Whether a file is a text table. Its timestamps and missing values have no type, so they are converted to what the store uses.
fn is_table(file: &Path, format: Option<&str>) -> bool {
    let known = match format {
        Some(name) => Format::from_name(name),
        None => Format::of(file).ok(),
    };
    matches!(
        known,
        Some(Format::Csv | Format::Xyz | Format::Ndjson | Format::Arrow | Format::Parquet)
    )
}

fn import(
    args: &AppendArgs,
    files: &[PathBuf],
    mut options: Options,
    context: &mut Context<'_>,
) -> Result<Import> {
    let store = context.open(&args.store, 0, Need::nothing())?;
    options.kind = Some(store.kind());
    options.format = args.format.as_deref().and_then(Format::from_name);
    options.ids = args.ids.rule(1);
    Ok(Import::open(files, &options)?)
}

/// Whether faces of four corners are cut into triangles, since the store has these.
///
/// # Errors
///
/// Usage: faces of three corners for a store of faces of four.
fn cut_quads(import: &Import, spec: &StoreSpec) -> Result<bool> {
    let (theirs, own) = (import.spec().links.width, spec.links.width);
    if spec.kind != Kind::Mesh || theirs == own || import.links() == 0 {
        return Ok(false);
    }
    match (theirs, own) {
        (4, 3) => Ok(true),
        _ => Err(CliError::usage(format!(
            "faces: found {theirs} corners, expected {own} as in the store; `zvf import` makes a store of triangles of all files together"
        ))),
    }
}

/// Faces of four corners as two triangles each, from their first corner.
fn triangles(quads: &[u64]) -> Vec<u64> {
    let (quads, _) = quads.as_chunks::<4>();
    let cut = |&[a, b, c, d]: &[u64; 4]| [a, b, c, a, c, d];
    quads.iter().flat_map(cut).collect()
}

/// Takes all batches of a reader or of tables, in the types of the store.
struct Gathered<'e> {
    edit: &'e Edit,
    numbers: &'e mut Numbers,
    /// The number of the table that is read.
    file: usize,
    rule: ObjectIds,
    batches: Vec<Batch<'static>>,
    objects: Vec<ObjectTable<'static>>,
    groups: Vec<Groups<'static>>,
    /// The object attributes of the store.
    known: Vec<AttributeSpec>,
    unknown: BTreeSet<String>,
    missing: BTreeSet<String>,
    filled: BTreeSet<String>,
    /// Faces of four corners that were cut into triangles, if they are.
    quads: Option<u64>,
}

impl Gathered<'_> {
    /// Takes a table of vertices with its links.
    fn table(&mut self, tables: &Tables, notes: &mut Vec<String>) -> Result<()> {
        let (edit, spec) = (self.edit, self.edit.spec());
        let vertices = tables.vertices.vertices(edit)?;
        let mut batch = Batch::from_records(&vertices)?;
        let rows = vertices.num_rows();
        let named = vertices.column_by_name("object_id").is_some();
        if spec.has_objects() && !named {
            // Without ids: one object, or one for each line of two vertices.
            let size = match spec.kind {
                Kind::Line => 2,
                _ => rows.max(1),
            };
            let mut ids = Vec::with_capacity(rows);
            let mut last = (None, 0);
            for row in 0..rows {
                let at = i64::try_from(row / size).or_bug("more objects than ids")?;
                if last.0 != Some(at) {
                    last = (Some(at), self.numbers.of_unnamed(self.file, at, self.rule));
                }
                ids.push(last.1);
            }
            batch = batch.with_object_ids(ids);
        } else if !spec.has_objects() && tables.vertices.has_objects() {
            notes.push(
                "left out: which object a vertex belongs to, since the store has no objects"
                    .to_owned(),
            );
        }
        let links = tables.links.as_ref().filter(|_| spec.takes_links());
        if let Some(links) = links {
            self.unknown.extend(links.unknown_of_links(spec)?);
        }
        let ids = tables.ids.as_ref();
        let links = links.map(|links| links.links(edit, ids)).transpose()?;
        if let Some(links) = &links {
            batch = batch.with_link_records(links)?;
        }
        let file = self.file;
        let numbers = &mut *self.numbers;
        let fitted = match named {
            true => edit.fit(&batch, |id| numbers.of_file(file, id))?,
            false => edit.fit(&batch, |id| id)?,
        };
        self.batches.push(fitted.batch);
        self.unknown.extend(fitted.unknown);
        self.missing.extend(fitted.missing);
        self.filled.extend(fitted.filled);
        self.unknown.extend(tables.vertices.unknown(spec));
        Ok(())
    }

    /// Takes the tables of objects and groups of an answer.
    fn described(&mut self, one: &Answered) -> Result<()> {
        if let Some(objects) = &one.objects
            && self.edit.spec().has_objects()
            && let Some(ids) = objects.ids()?
        {
            self.unknown.extend(objects.unknown_of_objects(&self.known));
            let records = objects.records(vec![ids], &self.known, |_| None)?;
            self.objects(&ObjectTable::from_records(&records)?)?;
        }
        if let Some(groups) = &one.groups {
            self.groups(groups)?;
        }
        Ok(())
    }
}

impl Sink for Gathered<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut *self.numbers);
        let mut batch = Cow::Borrowed(batch);
        if let Some(quads) = &mut self.quads {
            let cut = triangles(&batch.links);
            *quads = quads.saturating_add(cut.len() as u64 / 6);
            batch.to_mut().links = cut.into();
        }
        let fitted = self.edit.fit(&batch, |id| numbers.of_file(file, id))?;
        self.batches.push(fitted.batch);
        self.unknown.extend(fitted.unknown);
        self.missing.extend(fitted.missing);
        self.filled.extend(fitted.filled);
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut *self.numbers);
        let ids = table.ids().iter().map(|id| numbers.of_file(file, *id));
        let mut fitted = ObjectTable::new(ids.collect::<Vec<_>>());
        for (name, values) in table.attributes() {
            match self.known.iter().find(|one| one.name == name) {
                Some(one) => fitted = fitted.with_attribute(name, values.fitted(one)?),
                None => {
                    self.unknown.insert(name.to_owned());
                }
            }
        }
        if self.edit.spec().has_objects() {
            self.objects.push(fitted);
        }
        Ok(())
    }

    fn groups(&mut self, groups: &Groups<'_>) -> std::result::Result<(), WriteError> {
        let (file, numbers) = (self.file, &mut *self.numbers);
        let members = groups.members().iter();
        let members = members.map(|ids| ids.iter().map(|id| numbers.of_file(file, *id)).collect());
        let mut fitted = Groups::new(members.collect()).with_names(groups.names().to_vec());
        for (name, values) in groups.attributes() {
            fitted = fitted.with_attribute(name, values.clone().into_owned());
        }
        self.groups.push(fitted);
        Ok(())
    }
}
