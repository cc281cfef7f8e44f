//! Vertices as typed columns: tables of text, Arrow and Parquet tables, NumPy arrays, PLY.

mod arrow;
mod arrow_check;
mod attribute;
mod layout;
pub(crate) mod links;
mod lists;
pub(crate) mod nodes;
pub(crate) mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod ply;
pub(crate) mod rename;
mod survey;
mod tally;
pub(crate) mod text_table;
pub(crate) mod values;
mod widths;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use zvf_write::error::OrBug;
use zvf_write::{Batch, Kind, Values};

use crate::error::{ConvertError, Place, shown};
use crate::ids::IdMap;
use crate::names;
use crate::options::Options;
use crate::{Format, Sink};
use attribute::{Attribute, Decided};
use layout::Layout;
use links::{LinkTable, Links};
use text_table::TextTable;

type TakeBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), ConvertError> + 'a;
type TakeLink<'a> = dyn FnMut(&[u64], Place) -> Result<(), ConvertError> + 'a;

/// Member of a schema's metadata: the column with the object of a row, unless another one is asked for.
const OBJECT: &str = "object";

/// Member of a field's metadata, and its value, of columns of identifiers of sixteen bytes.
const UUID: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// Whether a column is the index of a data frame that has no name: such columns become no attributes.
fn unnamed(name: &str) -> bool {
    name.is_empty() || (name.starts_with("__index_level_") && name.ends_with("__"))
}

/// The names of the columns of a table.
fn names_of(schema: &Schema) -> Vec<&str> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().as_str()).collect()
}

/// Remarks on columns that become nothing without being asked for.
fn left_out(schema: &Schema, options: &Options) -> Vec<String> {
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

/// Refuses columns to leave out that are not there.
fn check_exclude(path: &Path, names: &[&str], options: &Options) -> Result<(), ConvertError> {
    let mut asked = options.exclude.iter();
    match asked.find(|one| !names.contains(&one.as_str())) {
        None => Ok(()),
        Some(other) => {
            let all = names.join(", ");
            let expected = format!("one of the columns of {}: {all}", path.display());
            Err(ConvertError::usage("exclude", shown(other), expected))
        }
    }
}

/// The columns of a table that are read: all, or the attributes that are named, but those that are left out. The others are never
/// looked at.
fn chosen(path: &Path, schema: &Schema, options: &Options) -> Result<Vec<usize>, ConvertError> {
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
            || (name == "object_id"
                && options.object_column.is_none()
                && !options.exclude.contains(name))
            || match &options.position {
                Some(named) => named.contains(name),
                None => usual.iter().any(|one| name.eq_ignore_ascii_case(one)),
            }
    };
    let held =
        |field: &Field| !options.loose || Attribute::of(field, 0).is_some() || lists::listed(field);
    let fields = schema.fields().iter().enumerate();
    let fields = fields.filter(|(_, field)| held(field));
    Ok(fields
        .filter(|(_, field)| {
            wanted(field.name()) || nodes::is_watched(field.name(), field.data_type(), options)
        })
        .map(|(at, _)| at)
        .collect())
}

/// A file that was opened: its vertices as record batches of one schema, and its links. Each call reads the file again.
trait Source: std::fmt::Debug + Send + Sync {
    fn schema(&self) -> SchemaRef;

    /// Hands the vertices over, from the first, in batches of about so many rows.
    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError>;

    /// The kind that the links of the file make of it.
    fn linked(&self) -> Option<Kind> {
        None
    }

    /// Hands edges or faces over, by rows of the file.
    fn links(&self, _: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        Ok(())
    }

    /// What of the file is passed over.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A file whose columns have other names.
#[derive(Debug)]
struct Renamed<S> {
    source: S,
    schema: SchemaRef,
}

impl<S: Source + 'static> Renamed<S> {
    fn of(source: S, options: &Options) -> Box<dyn Source> {
        if options.rename.is_empty() {
            return Box::new(source);
        }
        let schema = rename::schema(&source.schema(), options);
        Box::new(Self { source, schema })
    }
}

impl<S: Source> Source for Renamed<S> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        self.source.vertices(rows, &mut |batch| {
            let batch = batch.clone().with_schema(Arc::clone(&self.schema));
            take(&batch.map_err(|error| {
                let expected = "columns with other names";
                ConvertError::usage("rename", error.to_string(), expected)
            })?)
        })
    }

    fn linked(&self) -> Option<Kind> {
        self.source.linked()
    }

    fn links(&self, take: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        self.source.links(take)
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }
}

fn source(path: &Path, format: Format, options: &Options) -> Result<Box<dyn Source>, ConvertError> {
    Ok(match format {
        _ if format.is_text() => Box::new(TextTable::open(path, format, options)?),
        Format::Npy => Renamed::of(npy::Npy::open(path)?, options),
        Format::Npz => Renamed::of(npz::Npz::open(path)?, options),
        Format::Ply => Renamed::of(ply::Ply::open(path, options)?, options),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::Parquet::open(path, options)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(ConvertError::not_built(path)),
        _ => Box::new(arrow::Arrow::open(path, options)?),
    })
}

/// Reads a table of any format that has columns, as the values that it has: those of a table of text are texts. Durations are texts
/// with their unit, identifiers are texts.
///
/// # Cost
/// The memory of the table, twice where a file has several batches.
///
/// # Errors
/// I/O; a file that is no such table.
pub fn read_table(path: &Path, options: &Options) -> Result<RecordBatch, ConvertError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let table: Box<dyn Source> = match format {
        _ if format.is_text() => Box::new(TextTable::texts(path, format, options)?),
        Format::Arrow | Format::Parquet | Format::Npy | Format::Npz => {
            let mut options = options.clone();
            options.loose = true;
            source(path, format, &options)?
        }
        other => {
            let expected = "a table: CSV, NDJSON, Arrow, Parquet, NPY or NPZ";
            let what = path.display().to_string();
            return Err(ConvertError::usage(what, other.name(), expected));
        }
    };
    let wrong = |error: ArrowError| {
        let expected = "rows of one table";
        ConvertError::malformed(path, Place::Whole, error.to_string(), expected)
    };
    let schema = values::plain(&table.schema());
    let mut batches = Vec::new();
    table.vertices(options.batch, &mut |batch| {
        let columns = batch.columns().iter().map(values::plain_column).collect();
        batches.push(RecordBatch::try_new(Arc::clone(&schema), columns).map_err(wrong)?);
        Ok(())
    })?;
    concat_batches(&schema, &batches).map_err(wrong)
}

/// Reads an Arrow file as it is.
pub(crate) fn read_arrow(path: &Path) -> Result<RecordBatch, ConvertError> {
    arrow::whole(path)
}

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Records {
    files: Vec<PathBuf>,
    format: Format,
    options: Options,
    kind: Kind,
    /// The first file of tables of text, with the types that the first reading found.
    text: Option<TextTable>,
    layout: Layout,
    /// What becomes of the attributes of the layout.
    decided: Vec<Decided>,
    owners: Owners,
    /// Ends of a link; 0 where the kind takes none.
    width: usize,
    /// A table of links beside that of the vertices.
    table: Option<LinkTable>,
}

/// Which object a row belongs to.
#[derive(Debug)]
enum Owners {
    None,
    /// The one of its file.
    Files(Vec<i64>),
    /// The one that its column says.
    Column,
}

impl Records {
    /// Whether a column says to which object a vertex belongs.
    pub(crate) fn has_object_column(&self) -> bool {
        matches!(self.owners, Owners::Column)
    }

    /// Opens a file again.
    fn open(&self, file: &Path) -> Result<Box<dyn Source>, ConvertError> {
        if let Some(text) = &self.text {
            return Ok(Box::new(text.at(file)));
        }
        let source = source(file, self.format, &self.options)?;
        self.layout.same(file, &source.schema(), &self.options)?;
        Ok(source)
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut first = 0_u64;
        let mut ids = IdMap::new(self.options.ids, &self.files)?;
        for (number, file) in self.files.iter().enumerate() {
            let source = self.open(file)?;
            let mut vertices = 0_u64;
            let whole = self.kind == Kind::Skeleton;
            let mut held: Vec<RecordBatch> = Vec::new();
            source.vertices(self.options.batch, &mut |batch| {
                let rows = RowNumbers {
                    file,
                    first: vertices,
                };
                let batch = &self.layout.whole(batch, self.options.nulls)?;
                vertices = vertices.saturating_add(batch.num_rows() as u64);
                if whole {
                    held.push(batch.clone());
                    return Ok(());
                }
                let table = self.table.as_ref().map(|table| (Vec::new(), table.none()));
                self.push(batch, table, &rows, (number, &mut ids), sink)
            })?;
            match &self.table {
                Some(table) if whole => {
                    let all = concat_batches(&source.schema(), &held).map_err(|error| {
                        let expected = "rows of one table";
                        ConvertError::malformed(file, Place::Whole, error.to_string(), expected)
                    })?;
                    let links = table.all(vertices)?;
                    let rows = RowNumbers { file, first: 0 };
                    self.push(&all, Some(links), &rows, (number, &mut ids), sink)?;
                }
                Some(table) => table.read(vertices, &mut |ends, attributes| {
                    let mut batch = self.empty().with_links_between_batches(ends);
                    for (name, values) in attributes {
                        batch = batch.with_link_attribute(name, values);
                    }
                    Ok(sink.batch(&batch)?)
                })?,
                None if self.width > 0 => self.links(source.as_ref(), first, vertices, sink)?,
                None => {}
            }
            first = first.saturating_add(vertices);
            if let Owners::Files(ids) = &self.owners
                && let Some(&id) = ids.get(number)
            {
                sink.objects(&names::object(id, file))?;
            }
        }
        Ok(())
    }

    fn push(
        &self,
        batch: &RecordBatch,
        links: Option<Links>,
        rows: &RowNumbers<'_>,
        (number, map): (usize, &mut IdMap),
        sink: &mut dyn Sink,
    ) -> Result<(), ConvertError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let changed = || "what was there when the file was looked at".to_owned();
        // Checked again: the file may have changed.
        let checked = self.layout.positions(batch);
        let checked = checked.map_err(|(row, what)| rows.bad(row, what))?;
        let Some(positions) = self.layout.values(batch, checked) else {
            return Err(rows.bad(0, ("other columns".to_owned(), changed())));
        };
        let mut out = Batch::new(positions);
        if let Some((ends, attributes)) = links {
            out = out.with_links(ends);
            for (name, values) in attributes {
                out = out.with_link_attribute(name, values);
            }
        }
        match &self.owners {
            Owners::None => {}
            Owners::Files(ids) => {
                let id = *ids.get(number).or_bug("a file without an object")?;
                out = out.with_object_runs(vec![(id, batch.num_rows())]);
            }
            Owners::Column => {
                let ids = self.layout.objects(batch, &self.options);
                let ids = ids.map_err(|(row, what)| rows.bad(row, what))?;
                let mut runs: Vec<(i64, usize)> = Vec::new();
                let mut row = 0;
                for run in ids.chunk_by(|a, b| a == b) {
                    if let Some(id) = run.first() {
                        let id = map.id(number, *id).map_err(|what| rows.bad(row, what))?;
                        runs.push((id, run.len()));
                    }
                    row = row.saturating_add(run.len());
                }
                out = out.with_object_runs(runs);
            }
        }
        for (attribute, decided) in self.layout.attributes.iter().zip(&self.decided) {
            let column = batch.columns().get(attribute.column);
            let values = column.and_then(|column| attribute.values(column, decided));
            let Some(values) = values else {
                let found = format!("other values of {}", shown(&attribute.name));
                return Err(rows.bad(0, (found, changed())));
            };
            out = out.with_attribute(&attribute.name, values);
        }
        Ok(sink.batch(&out)?)
    }

    /// Hands links over, counted through all files.
    fn links(
        &self,
        source: &dyn Source,
        first: u64,
        vertices: u64,
        sink: &mut dyn Sink,
    ) -> Result<(), ConvertError> {
        let mut held: Vec<u64> = Vec::new();
        let mut flush = |held: &mut Vec<u64>| {
            let batch = self.empty().with_links_between_batches(&held[..]);
            let done = sink.batch(&batch);
            held.clear();
            done.map_err(ConvertError::from)
        };
        source.links(&mut |link, place| {
            if link.iter().any(|end| *end >= vertices) {
                let file = self.files.first().map_or(Path::new(""), PathBuf::as_path);
                let expected = "vertices of the file, as when it was looked at";
                return Err(ConvertError::malformed(file, place, "other ends", expected));
            }
            let number = |end: &u64| first.saturating_add(*end);
            if link.len() == self.width {
                held.extend(link.iter().map(number));
            } else if self.width != 3 {
                let file = self.files.first().map_or(Path::new(""), PathBuf::as_path);
                let found = format!("a link of {} ends", link.len());
                let expected = format!("{}, as when the file was looked at", self.width);
                return Err(ConvertError::malformed(file, place, found, expected));
            } else if let Some((corner, rest)) = link.split_first() {
                for pair in rest.windows(2) {
                    held.push(number(corner));
                    held.extend(pair.iter().map(number));
                }
            }
            if held.len() / self.width >= self.options.batch {
                flush(&mut held)?;
            }
            Ok(())
        })?;
        if !held.is_empty() {
            flush(&mut held)?;
        }
        Ok(())
    }

    /// A batch of no vertex, with all attributes.
    fn empty(&self) -> Batch<'static> {
        let none = Values::of_bytes(self.layout.number, &[]);
        let mut batch = Batch::new(none).with_object_runs(Vec::new());
        for decided in &self.decided {
            batch = batch.with_attribute(&decided.spec.name, decided.none());
        }
        batch
    }
}

/// What is wrong with a column that cannot become an attribute, and what helps.
fn refused(name: &str, found: String) -> (String, String) {
    let expected = format!(
        "a value in each row, or --nulls drop-row, or a whole number that no row has, or --exclude {name}"
    );
    (format!("column {} with {found}", shown(name)), expected)
}

/// A column of texts that are too many to be a category.
fn too_many_texts(path: &Path, place: Place, name: &str, options: &Options) -> ConvertError {
    let what = format!(
        "different texts in column {}: leave it out with --exclude {name}",
        shown(name)
    );
    ConvertError::limit(path, place, what, options.limits.categories)
}

/// Refuses what is held as a whole and is too large for that.
fn whole_in_memory(
    files: &[PathBuf],
    vertices: u64,
    options: &Options,
) -> Result<(), ConvertError> {
    let limit = options.limits.held;
    let path = files.first().map_or(Path::new(""), PathBuf::as_path);
    if vertices > limit {
        let what = "nodes of a skeleton";
        return Err(ConvertError::limit(path, Place::Whole, what, limit));
    }
    Ok(())
}

/// Where the rows of a batch stand in their file.
struct RowNumbers<'a> {
    file: &'a Path,
    first: u64,
}

impl RowNumbers<'_> {
    #[cold]
    fn bad(&self, row: usize, (found, expected): (String, String)) -> ConvertError {
        let row = self.first.saturating_add(row as u64);
        let found = format!("in row {row}: {found}");
        ConvertError::malformed(self.file, Place::Whole, found, expected)
    }
}
