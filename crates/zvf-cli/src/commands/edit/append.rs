//! `zvf append`: more objects or points from files of any format.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_convert::{Format, Frame, Import, Options, Sink, Space};
use zvf_edit::{Edit, EditSummary};
use zvf_meta::units;
use zvf_store::{Need, Store};
use zvf_write::{Batch, Groups, Kind, ObjectTable, Values, WriteError};

use super::super::import::from_stdin;
use super::table::Table;
use super::{Tables, finish, opened, vertices, with_links};
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
    let mut remarks = BTreeSet::new();
    let done = context.wait(finish(edit, async |edit: &mut Edit| {
        given.append(edit, &mut numbers, &mut remarks).await
    }))?;
    let done = done.map_err(|e| e.at(store))?;
    for remark in &remarks {
        context.remark(remark);
    }
    let ids: Vec<i64> = numbers
        .given
        .values()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if context.common.json {
        return print_json(&document(args, &done, &ids, &remarks));
    }
    let mut line = format!(
        "{store}: {} appended",
        counted(done.vertices.unsigned_abs(), "vertex")
    );
    line.push_str(&format!(", in {}", counted(done.chunks, "chunk")));
    if !ids.is_empty() {
        line.push_str(&format!(
            "; {} {}",
            if ids.len() == 1 { "object" } else { "objects" },
            listed(&ids)
        ));
    }
    print_text(&format!("{line}\n"))
}

fn document(
    args: &AppendArgs,
    done: &EditSummary,
    ids: &[i64],
    remarks: &BTreeSet<String>,
) -> Value {
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
        let next = match taken.last() {
            None => Some(0),
            Some(last) => last.checked_add(1),
        };
        Self {
            taken,
            keep: !renumber,
            given: BTreeMap::new(),
            next: next.map(|next| next.max(0)),
        }
    }

    /// The id in the store for one of the files.
    fn of_file(&mut self, id: i64) -> i64 {
        if let Some(known) = self.given.get(&id) {
            return *known;
        }
        let number = if self.keep {
            id
        } else {
            self.next.unwrap_or(i64::MAX)
        };
        if !self.keep {
            self.next = number.checked_add(1);
        }
        self.given.insert(id, number);
        number
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
    /// Tables of vertices, each with its links, and one of objects.
    Tables(Vec<Tables>, Option<Table>),
    Import(Box<Import>),
}

impl Given {
    fn read(args: &AppendArgs, files: &[PathBuf], context: &mut Context<'_>) -> Result<Self> {
        let format = args.format.as_deref();
        if let [folder] = files
            && folder.is_dir()
            && folder.join("vertices.arrow").exists()
        {
            let there = |name: &str| Some(folder.join(name)).filter(|file| file.exists());
            let links = args.links.clone().or_else(|| there("links.arrow"));
            let tables = Tables::of(&folder.join("vertices.arrow"), None, links.as_deref())?;
            let objects = there("objects.arrow");
            let objects = objects.map(|file| Table::read(&file, None)).transpose()?;
            return Ok(Self::Tables(vec![tables], objects));
        }
        if files.iter().all(|file| is_table(file, format)) {
            if args.links.is_some() && files.len() > 1 {
                let found = counted(files.len() as u64, "table");
                return Err(CliError::usage(format!(
                    "--links: found {found} of vertices, expected one"
                )));
            }
            let read = |file: &PathBuf| Tables::of(file, format, args.links.as_deref());
            let tables = files.iter().map(read).collect::<Result<_>>()?;
            return Ok(Self::Tables(tables, None));
        }
        if args.links.is_some() {
            return Err(CliError::usage(
                "--links: found a table of links, expected tables of vertices: .csv, .tsv, .ndjson, .arrow or .parquet",
            ));
        }
        let store = context.open(&args.store, 0, Need::nothing())?;
        let import = import(args, files, &store)?;
        let frame = context.wait(Frame::of_store(&store))?;
        let frame = frame.map_err(|e| CliError::from(e).at(&args.store))?;
        check_frame(&import, &store, frame.as_ref()).map_err(|e| e.at(&args.store))?;
        Ok(Self::Import(Box::new(import)))
    }

    async fn append(
        &self,
        edit: &mut Edit,
        numbers: &mut Numbers,
        remarks: &mut BTreeSet<String>,
    ) -> Result<()> {
        match self {
            Self::Tables(tables, objects) => {
                for one in tables {
                    append_table(edit, one, numbers, remarks).await?;
                }
                match objects {
                    Some(objects) => put_objects(edit, objects, numbers).await,
                    None => Ok(()),
                }
            }
            Self::Import(import) => append_import(edit, import, numbers, remarks).await,
        }
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
        Some(Format::Csv | Format::Ndjson | Format::Arrow | Format::Parquet)
    )
}

fn import(args: &AppendArgs, files: &[PathBuf], store: &Store) -> Result<Import> {
    let mut options = Options::default();
    options.kind = Some(store.kind());
    options.unit.clone_from(&args.unit);
    options.format = args.format.as_deref().and_then(Format::from_name);
    Ok(Import::open(files, &options)?)
}

/// Refuses files of another unit or frame than the store's, as far as both say.
fn check_frame(import: &Import, store: &Store, own: Option<&Frame>) -> Result<()> {
    for (own, theirs) in store.root().axes().iter().zip(&import.spec().axes) {
        if let (Some(own_unit), Some(unit)) = (&own.unit, &theirs.unit)
            && !units::same(own_unit, unit)
        {
            return Err(CliError::usage(format!(
                "axis {}: found {unit} in the files, expected {own_unit} as in the store; --unit {own_unit} says that they are in that",
                own.name
            )));
        }
    }
    let theirs = import.frame().and_then(|frame| frame.get("space"));
    let (Some(own), Some(theirs)) = (own, theirs.and_then(Value::as_str)) else {
        return Ok(());
    };
    if let Some(problem) = own.problem() {
        return Err(CliError::usage(format!(
            "frame: found {problem} in the store's {}, expected the frame of its positions: the files have {theirs}",
            own.place()
        )));
    }
    match own.space().map(Space::name) {
        Some(own_space) if own_space != theirs => Err(CliError::usage(format!(
            "frame: found positions in {theirs}, expected {own_space} as in the store's {}",
            own.place()
        ))),
        _ => Ok(()),
    }
}

/// Appends one table, which is typed by the store.
async fn append_table(
    edit: &mut Edit,
    tables: &Tables,
    numbers: &mut Numbers,
    remarks: &mut BTreeSet<String>,
) -> Result<()> {
    let spec = edit.spec().clone();
    let mut batch = vertices(edit, &spec, &tables.main)?;
    if spec.has_objects() {
        let ids = match tables.main.ids()? {
            Some(ids) => ids,
            None => {
                let rows = tables.main.len();
                // Without ids: one object, or one for each line of two vertices.
                numbers.keep = false;
                let size = if spec.kind == Kind::Line {
                    2
                } else {
                    rows.max(1)
                };
                let first = numbers.given.len();
                (0..rows)
                    .map(|row| i64::try_from(first.saturating_add(row / size)).unwrap_or(i64::MAX))
                    .collect()
            }
        };
        let ids: Vec<i64> = ids.into_iter().map(|id| numbers.of_file(id)).collect();
        batch = batch.with_object_ids(ids);
    }
    remarks.extend(tables.left_out(&spec));
    if let Some(links) = tables.links.as_ref().filter(|_| spec.takes_links()) {
        batch = with_links(batch, &spec, links)?;
    }
    numbers.check()?;
    Ok(edit.append(&batch).await?)
}

/// Sets the attributes of objects from a table of them.
async fn put_objects(edit: &mut Edit, table: &Table, numbers: &mut Numbers) -> Result<()> {
    let Some(ids) = table.ids()? else {
        return Ok(());
    };
    if !edit.spec().has_objects() {
        return Ok(());
    }
    let ids: Vec<i64> = ids.into_iter().map(|id| numbers.of_file(id)).collect();
    numbers.check()?;
    let mut objects = ObjectTable::new(ids);
    for one in edit.object_attributes().await? {
        if !table.channels(&one.name).is_empty() {
            objects = objects.with_attribute(&one.name, table.values(&one)?);
        }
    }
    Ok(edit.put_objects(&objects).await?)
}

/// Appends what a reader of another format gives.
async fn append_import(
    edit: &mut Edit,
    import: &Import,
    numbers: &mut Numbers,
    remarks: &mut BTreeSet<String>,
) -> Result<()> {
    numbers.keep &= import.names_objects();
    let known = match edit.spec().has_objects() {
        true => edit.object_attributes().await?,
        false => Vec::new(),
    };
    let mut gathered = Gathered {
        edit,
        numbers: RefCell::new(numbers),
        batches: Vec::new(),
        tables: Vec::new(),
        unknown: BTreeSet::new(),
        missing: BTreeSet::new(),
        grouped: false,
    };
    import.read(&mut gathered)?;
    let Gathered {
        batches,
        tables,
        mut unknown,
        missing,
        grouped,
        ..
    } = gathered;
    numbers.check()?;
    edit.append_all(&batches).await?;
    for (ids, attributes) in tables {
        let mut objects = ObjectTable::new(ids);
        for (name, values) in attributes {
            match known.iter().find(|one| one.name == name) {
                Some(one) => objects = objects.with_attribute(&name, values.fitted(one)?),
                None => {
                    unknown.insert(name);
                }
            }
        }
        if edit.spec().has_objects() {
            edit.put_objects(&objects).await?;
        }
    }
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    if !unknown.is_empty() {
        remarks.insert(format!(
            "left out, since the store has no such attribute: {}",
            list(&unknown)
        ));
    }
    if !missing.is_empty() {
        remarks.insert(format!(
            "missing for the new vertices, since the files have no such attribute: {}",
            list(&missing)
        ));
    }
    if grouped {
        remarks.insert("left out: groups of the files".to_owned());
    }
    Ok(())
}

/// Object attributes as a reader gives them.
type Attributes = Vec<(String, Values<'static>)>;

/// Takes all batches of a reader, in the types of the store.
struct Gathered<'e> {
    edit: &'e Edit,
    numbers: RefCell<&'e mut Numbers>,
    batches: Vec<Batch<'static>>,
    tables: Vec<(Vec<i64>, Attributes)>,
    unknown: BTreeSet<String>,
    missing: BTreeSet<String>,
    grouped: bool,
}

impl Sink for Gathered<'_> {
    fn batch(&mut self, batch: &Batch<'_>) -> std::result::Result<(), WriteError> {
        let numbers = &self.numbers;
        let fitted = self
            .edit
            .fit(batch, |id| numbers.borrow_mut().of_file(id))?;
        self.batches.push(fitted.batch);
        self.unknown.extend(fitted.unknown);
        self.missing.extend(fitted.missing);
        Ok(())
    }

    fn objects(&mut self, table: &ObjectTable<'_>) -> std::result::Result<(), WriteError> {
        let mut numbers = self.numbers.borrow_mut();
        let ids = table.ids().iter().map(|id| numbers.of_file(*id)).collect();
        let attributes = table
            .attributes()
            .map(|(name, values)| (name.to_owned(), values.clone().into_owned()));
        self.tables.push((ids, attributes.collect()));
        Ok(())
    }

    fn groups(&mut self, _: &Groups<'_>) -> std::result::Result<(), WriteError> {
        self.grouped = true;
        Ok(())
    }
}
