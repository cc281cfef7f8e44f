//! `zvf append`: more objects or points from files of any format.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::{Format, Import, Options, Sink};
use zvf_edit::{Edit, EditSummary};
use zvf_store::Need;
use zvf_write::error::OrBug;
use zvf_write::{AttributeSpec, Batch, Groups, Kind, ObjectTable, WriteError};

use super::super::import::from_stdin;
use super::place::Place;
use super::table::Table;
use super::{Tables, finish, opened, remarks, set_fills};
use crate::args::AppendArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

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
    let mut numbers = Numbers::of(&edit, args.new_ids);
    let mut remarks = Vec::new();
    let done = finish(store, edit, context, async |edit| {
        set_fills(edit, &args.fill)?;
        remarks = given.append(edit, &mut numbers).await?;
        Ok(())
    })?;
    for remark in &remarks {
        context.remark(remark);
    }
    let ids: BTreeSet<i64> = numbers.given.into_values().collect();
    let ids = Vec::from_iter(ids);
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

/// The ids that objects of the files get in the store.
#[derive(Debug)]
struct Numbers {
    taken: BTreeSet<i64>,
    /// Whether ids of the files are kept.
    keep: bool,
    /// By the id in the files.
    given: BTreeMap<i64, i64>,
    next: Option<i64>,
}

impl Numbers {
    fn of(edit: &Edit, renumber: bool) -> Self {
        let taken: BTreeSet<i64> = edit.object_ids().collect();
        let next = taken.last().map_or(Some(0), |last| last.checked_add(1));
        Self {
            taken,
            keep: !renumber,
            given: BTreeMap::new(),
            next: next.map(|next| next.max(0)),
        }
    }

    /// The id in the store for one of the files.
    fn of_file(&mut self, id: i64) -> i64 {
        let (keep, next) = (self.keep, &mut self.next);
        *self.given.entry(id).or_insert_with(|| {
            if keep {
                return id;
            }
            // Where no id is left, objects get the last one, and `check` refuses them.
            let number = next.unwrap_or(i64::MAX);
            *next = number.checked_add(1);
            number
        })
    }

    /// # Errors
    ///
    /// Usage: an id that the store has already.
    fn check(&self) -> Result<()> {
        let distinct: BTreeSet<i64> = self.given.values().copied().collect();
        if distinct.len() < self.given.len() {
            return Err(CliError::usage(format!(
                "objects: found {} in the files, expected no more than there are ids above {}: the largest id is {}",
                self.given.len(),
                self.taken.last().copied().unwrap_or_default(),
                i64::MAX
            )));
        }
        let clash: Vec<i64> = self
            .given
            .values()
            .filter(|id| self.taken.contains(id))
            .copied()
            .collect();
        match clash.first() {
            None => Ok(()),
            Some(_) => Err(CliError::usage(format!(
                "object {}: the store has {} already; --new-ids gives new ids, `zvf edit STORE delete` removes old objects, and \
                 `zvf edit STORE append` continues points, polylines and streamlines",
                listed(&clash),
                if clash.len() == 1 { "it" } else { "them" }
            ))),
        }
    }
}

/// What the arguments name, read as far as it has to be before the store is marked as being changed.
enum Given {
    /// Tables of vertices, each with its links, and one of objects; what became of their positions.
    Tables(Vec<Tables>, Option<Table>, Vec<String>),
    Import(Box<Import>),
}

impl Given {
    fn read(args: &AppendArgs, files: &[PathBuf], context: &mut Context<'_>) -> Result<Self> {
        let format = args.format.as_deref();
        let place = Place::of(&args.store, &args.place, context)?;
        let mut options = Options::default();
        let columns = &args.columns;
        columns.apply(&mut options, context.common.memory_budget);
        if let [folder] = files
            && folder.is_dir()
            && folder.join("vertices.arrow").exists()
        {
            let there = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
            let links = args.links.clone().or_else(|| there("links.arrow"));
            let vertices = folder.join("vertices.arrow");
            let mut tables = Tables::read(&vertices, None, links.as_deref(), &options)?;
            let remarks = place.new_vertices(&mut tables)?;
            let objects = there("objects.arrow");
            let objects = objects.map(|file| Table::read(&file, None)).transpose()?;
            return Ok(Self::Tables(vec![tables], objects, remarks));
        }
        if files.iter().all(|file| is_table(file, format)) {
            if args.links.is_some() && files.len() > 1 {
                let found = counted(files.len() as u64, "table");
                return Err(CliError::usage(format!(
                    "--links: found {found} of vertices, expected one"
                )));
            }
            let read = |file: &PathBuf| Tables::read(file, format, args.links.as_deref(), &options);
            let mut tables = files.iter().map(read).collect::<Result<Vec<_>>>()?;
            let mut remarks = Vec::new();
            for one in &mut tables {
                remarks.extend(place.new_vertices(one)?);
            }
            remarks.dedup();
            return Ok(Self::Tables(tables, None, remarks));
        }
        if args.links.is_some() {
            return Err(CliError::usage(
                "--links: found a table of links, expected tables of vertices: .csv, .tsv, .ndjson, .arrow or .parquet",
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
    async fn append(&self, edit: &mut Edit, numbers: &mut Numbers) -> Result<Vec<String>> {
        let named = edit.spec().has_objects() && !matches!(self, Self::Tables(_, None, _));
        let known = match named {
            true => edit.object_attributes().await?,
            false => Vec::new(),
        };
        let mut gathered = Gathered {
            edit,
            numbers,
            batches: Vec::new(),
            objects: Vec::new(),
            known,
            unknown: BTreeSet::new(),
            missing: BTreeSet::new(),
            filled: BTreeSet::new(),
            grouped: false,
        };
        match self {
            Self::Tables(tables, objects, _) => {
                for one in tables {
                    gathered.table(one)?;
                }
                let objects = objects.as_ref().filter(|_| edit.spec().has_objects());
                if let Some(objects) = objects
                    && let Some(ids) = objects.ids()?
                {
                    let records = objects.records(vec![ids], &gathered.known, |_| None)?;
                    gathered.objects(&ObjectTable::from_records(&records)?)?;
                }
            }
            Self::Import(import) => {
                gathered.numbers.keep &= import.names_objects();
                import.read(&mut gathered)?;
            }
        }
        let Gathered {
            batches,
            objects,
            unknown,
            missing,
            filled,
            grouped,
            ..
        } = gathered;
        numbers.check()?;
        edit.append_all(&batches).await?;
        for table in &objects {
            edit.put_objects(table).await?;
        }
        let mut remarks = remarks(edit, &unknown, &missing, &filled);
        remarks.extend_from_slice(match self {
            Self::Tables(_, _, placed) => placed,
            Self::Import(import) => import.placement(),
        });
        remarks.extend(grouped.then(|| "left out: groups of the files".to_owned()));
        Ok(remarks)
    }
}

/// A file that is read as a table of texts: its moments and gaps are brought to those of the store.
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
    Ok(Import::open(files, &options)?)
}

/// Takes all batches of a reader or of tables, in the types of the store.
struct Gathered<'e> {
    edit: &'e Edit,
    numbers: &'e mut Numbers,
    batches: Vec<Batch<'static>>,
    objects: Vec<ObjectTable<'static>>,
    /// The object attributes of the store.
    known: Vec<AttributeSpec>,
    unknown: BTreeSet<String>,
    missing: BTreeSet<String>,
    filled: BTreeSet<String>,
    grouped: bool,
}

impl Gathered<'_> {
    /// Takes a table of vertices with its links.
    fn table(&mut self, tables: &Tables) -> Result<()> {
        let (edit, spec) = (self.edit, self.edit.spec());
        let vertices = tables.vertices.vertices(edit)?;
        let mut batch = Batch::from_records(&vertices)?;
        if spec.has_objects() && vertices.column_by_name("object_id").is_none() {
            // Without ids: one object, or one for each line of two vertices.
            let numbers = &mut *self.numbers;
            numbers.keep = false;
            let rows = vertices.num_rows();
            let size = if spec.kind == Kind::Line {
                2
            } else {
                rows.max(1)
            };
            let first = numbers.given.len();
            let id = |row| i64::try_from(first + row / size).or_bug("more objects than ids");
            let ids = (0..rows)
                .map(id)
                .collect::<std::result::Result<Vec<_>, WriteError>>();
            batch = batch.with_object_ids(ids?);
        }
        let links = tables.links.as_ref().filter(|_| spec.takes_links());
        let ids = tables.ids.as_ref();
        let links = links.map(|links| links.links(edit, ids)).transpose()?;
        if let Some(links) = &links {
            batch = batch.with_link_records(links)?;
        }
        self.batch(&batch)?;
        self.unknown.extend(tables.vertices.unknown(spec));
        Ok(())
    }
}

impl Sink for Gathered<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        let fitted = self.edit.fit(batch, |id| self.numbers.of_file(id))?;
        self.batches.push(fitted.batch);
        self.unknown.extend(fitted.unknown);
        self.missing.extend(fitted.missing);
        self.filled.extend(fitted.filled);
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        let ids = table.ids().iter().map(|id| self.numbers.of_file(*id));
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

    fn groups(&mut self, _: &Groups<'_>) -> std::result::Result<(), WriteError> {
        self.grouped = true;
        Ok(())
    }
}
