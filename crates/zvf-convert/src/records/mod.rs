//! Vertices as typed columns: Arrow and Parquet tables, NumPy arrays, PLY.

mod arrow;
mod arrow_check;
mod attribute;
mod csv;
mod layout;
pub(crate) mod links;
mod lists;
pub(crate) mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod ply;
pub(crate) mod values;
mod widths;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use zvf_write::{AttributeSpec, Batch, Kind, ObjectTable, Values};

use crate::error::{ConvertError, Place, shown};
use crate::names;
use crate::options::Options;
use crate::shape::Extent;
use crate::{Format, Found, Sink, draft};
use attribute::{Attribute, Census, Decided};
use layout::Layout;
use links::{LinkTable, Links};
use widths::Widths;

type TakeBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), ConvertError> + 'a;
type TakeLink<'a> = dyn FnMut(&[u64], Place) -> Result<(), ConvertError> + 'a;

/// Member of a schema's metadata: the column with the object of a row, unless another one is asked for.
const OBJECT: &str = "object";

/// Member of a field's metadata, and its value, of columns of identifiers of sixteen bytes.
const UUID: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// Whether a column is the index of a data frame that has no name: such columns become no attributes.
pub(crate) fn unnamed(name: &str) -> bool {
    name.is_empty() || (name.starts_with("__index_level_") && name.ends_with("__"))
}

/// What is said of such a column.
pub(crate) fn index_note(name: &str) -> String {
    let name = shown(name);
    format!("column {name} is left out: it is an index without a name")
}

/// Remarks on columns that become nothing without being asked for.
fn left_out(schema: &Schema, options: &Options) -> Vec<String> {
    let names = schema.fields().iter().map(|field| field.name());
    let names = names.filter(|name| {
        options.attributes.is_none() && unnamed(name) && !options.exclude.contains(name)
    });
    names.map(|name| index_note(name)).collect()
}

/// Refuses columns to leave out that are not there.
fn check_exclude(path: &Path, schema: &Schema, options: &Options) -> Result<(), ConvertError> {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    match options
        .exclude
        .iter()
        .find(|one| names().all(|name| name != one.as_str()))
    {
        None => Ok(()),
        Some(other) => {
            let all: Vec<&str> = names().collect();
            let expected = format!(
                "one of the columns of {}: {}",
                path.display(),
                all.join(", ")
            );
            Err(ConvertError::usage("exclude", shown(other), expected))
        }
    }
}

/// The columns of a table that are read: all, or the attributes that are named, but those that are left out. The others are never
/// looked at.
fn chosen(path: &Path, schema: &Schema, options: &Options) -> Result<Vec<usize>, ConvertError> {
    check_exclude(path, schema, options)?;
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
        .filter(|(_, field)| wanted(field.name()))
        .map(|(at, _)| at)
        .collect())
}

/// A file that was opened: its vertices as record batches of one schema, and its links.
trait Source {
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

fn source(path: &Path, format: Format, options: &Options) -> Result<Box<dyn Source>, ConvertError> {
    Ok(match format {
        Format::Csv => Box::new(csv::Csv::open(path, options)?),
        Format::Npy => Box::new(npy::Npy::open(path)?),
        Format::Npz => Box::new(npz::Npz::open(path)?),
        Format::Ply => Box::new(ply::Ply::open(path, options)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::Parquet::open(path, options)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(ConvertError::not_built(path)),
        _ => Box::new(arrow::Arrow::open(path, options)?),
    })
}

/// Reads a table of any format that has columns, as the values that it has: those of separated values are texts. Durations are texts
/// with their unit, identifiers are texts. Hands its batches over; returns the schema.
///
/// # Cost
/// One batch of the file at a time.
///
/// # Errors
/// I/O; a file that is no such table; as `take` says.
pub fn read_table(
    path: &Path,
    options: &Options,
    take: &mut dyn FnMut(&RecordBatch) -> Result<(), ConvertError>,
) -> Result<SchemaRef, ConvertError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let table: Box<dyn Source> = match format {
        Format::Csv => Box::new(csv::Csv::texts(path, options)?),
        Format::Arrow | Format::Parquet | Format::Npy | Format::Npz => {
            let mut options = options.clone();
            options.loose = true;
            source(path, format, &options)?
        }
        other => {
            let expected = "a table: CSV, Arrow, Parquet, NPY or NPZ";
            let what = path.display().to_string();
            return Err(ConvertError::usage(what, other.name(), expected));
        }
    };
    let schema = values::plain(&table.schema());
    table.vertices(options.batch, &mut |batch| {
        let columns = batch.columns().iter().map(values::plain_column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| {
            ConvertError::malformed(path, Place::Whole, error.to_string(), "rows of one table")
        })?;
        take(&batch)
    })?;
    Ok(schema)
}

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct Records {
    files: Vec<PathBuf>,
    format: Format,
    options: Options,
    kind: Kind,
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
    pub(crate) fn survey(
        files: &[PathBuf],
        format: Format,
        options: &Options,
    ) -> Result<(Self, Found), ConvertError> {
        let usual = options.linked().and_then(|kinds| kinds.first().copied());
        let mut known: Option<(Layout, Option<Kind>)> = None;
        let mut extent = Extent::new(1);
        let (mut seen, mut notes): (Vec<Census>, Vec<String>) = (Vec::new(), Vec::new());
        let mut dropped = 0_u64;
        let (mut ids, mut last) = (HashSet::new(), None);
        let mut widths = Widths::default();
        for file in files {
            let source = source(file, format, options)?;
            for note in source.notes() {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            if !matches!(format, Format::Arrow | Format::Parquet) {
                check_exclude(file, &source.schema(), options)?;
            }
            let layout = Layout::of(file, &source.schema(), options)?;
            if known.is_none() {
                extent = Extent::new(layout.axes.len());
                seen.resize_with(layout.attributes.len(), Census::default);
            }
            let (layout, linked) = &*known.get_or_insert((layout.clone(), source.linked()));
            layout.same(file, &source.schema(), options)?;
            let kind = options
                .kind
                .or(*linked)
                .or(usual)
                .unwrap_or(Kind::PointCloud);
            let mut vertices = 0_u64;
            source.vertices(options.batch, &mut |batch| {
                let rows = Rows {
                    file,
                    first: vertices,
                };
                let whole = layout.whole(batch, options.nulls);
                dropped = dropped.saturating_add((batch.num_rows() - whole.num_rows()) as u64);
                let batch = &whole;
                vertices = vertices.saturating_add(batch.num_rows() as u64);
                let positions = layout
                    .positions(batch)
                    .map_err(|(row, what)| rows.bad(row, what))?;
                for position in positions.chunks(layout.axes.len()) {
                    extent.add(position);
                }
                if extent.count() > options.limits.vertices {
                    let limit = options.limits.vertices;
                    return Err(ConvertError::limit(file, Place::Whole, "rows", limit));
                }
                for (number, attribute) in layout.attributes.iter().enumerate() {
                    let Some(column) = batch.columns().get(attribute.column) else {
                        continue;
                    };
                    let Some(census) = seen.get_mut(number) else {
                        continue;
                    };
                    attribute
                        .see(column, options.nulls, census)
                        .map_err(|(row, found)| rows.bad(row, refused(&attribute.name, found)))?;
                    if census.texts() > options.limits.categories {
                        return Err(too_many_texts(file, Place::Whole, &attribute.name, options));
                    }
                }
                for (row, id) in layout
                    .objects(batch)
                    .map_err(|(row, what)| rows.bad(row, what))?
                    .into_iter()
                    .enumerate()
                {
                    let chain = matches!(kind, Kind::Polyline | Kind::Streamline);
                    if last != Some(id) && !ids.insert(id) && chain {
                        let expected = "the rows of an object one after another".to_owned();
                        return Err(
                            rows.bad(row, (format!("object {id} again, after others"), expected))
                        );
                    }
                    last = Some(id);
                }
                Ok(())
            })?;
            source.links(&mut |link, place| {
                if let Some(&end) = link.iter().find(|end| **end >= vertices) {
                    let expected = format!("one of the {vertices} vertices of the file, from 0");
                    return Err(ConvertError::malformed(
                        file,
                        place,
                        format!("vertex {end}"),
                        expected,
                    ));
                }
                widths.see(link.len());
                Ok(())
            })?;
        }
        let Some((layout, linked)) = known else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let kind = options
            .kind
            .or(linked)
            .or(usual)
            .unwrap_or(Kind::PointCloud);
        let table = LinkTable::survey(options, extent.count())?;
        let (width, links) = match &table {
            Some(table) => (table.width, table.links),
            None => widths.decide(kind, linked, &mut notes)?,
        };
        notes.extend(table.iter().flat_map(|table| table.notes.iter().cloned()));
        if kind == Kind::Skeleton {
            whole_in_memory(files, extent.count(), options)?;
        }
        let mut objects = ids.len() as u64;
        let owners = if layout.object.is_some() {
            Owners::Column
        } else if files.len() == 1 && kind == Kind::PointCloud {
            Owners::None
        } else {
            let (ids, by_name) = names::ids(files);
            notes.push(names::note(&ids, by_name));
            objects = ids.len() as u64;
            Owners::Files(ids)
        };
        let axes: Vec<&str> = layout.axes.iter().map(String::as_str).collect();
        let mut spec = draft(kind, &axes, layout.number);
        if kind == Kind::PointCloud && !matches!(owners, Owners::None) {
            spec = spec.with_objects();
        }
        match &table {
            Some(table) => spec = table.specify(spec),
            None if width > 2 => spec = spec.with_link_width(width),
            None => {}
        }
        let path = files.first().map_or(Path::new(""), PathBuf::as_path);
        let mut decided = Vec::new();
        for (attribute, census) in layout.attributes.iter().zip(&seen) {
            let (one, note) = attribute.decide(census, options.nulls).map_err(|found| {
                let (found, expected) = refused(&attribute.name, found);
                ConvertError::malformed(path, Place::Whole, found, expected)
            })?;
            spec = spec.with_vertex_attribute(one.spec.clone());
            decided.push(one);
            notes.extend(note);
        }
        if dropped > 0 {
            notes.push(format!("{dropped} rows with missing values are left out"));
        }
        if matches!(owners, Owners::Files(_)) {
            spec = spec.with_object_attribute(AttributeSpec::text("name"));
        }
        let found = Found {
            extent,
            objects,
            links,
            spec,
            frame: None,
            notes,
        };
        let reader = Self {
            files: files.to_vec(),
            format,
            options: options.clone(),
            kind,
            layout,
            decided,
            owners,
            width,
            table,
        };
        Ok((reader, found))
    }

    /// Whether a column says to which object a vertex belongs.
    pub(crate) fn has_object_column(&self) -> bool {
        matches!(self.owners, Owners::Column)
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut first = 0_u64;
        for (number, file) in self.files.iter().enumerate() {
            let source = source(file, self.format, &self.options)?;
            self.layout.same(file, &source.schema(), &self.options)?;
            let mut vertices = 0_u64;
            let whole = self.kind == Kind::Skeleton;
            let mut held: Vec<RecordBatch> = Vec::new();
            source.vertices(self.options.batch, &mut |batch| {
                let rows = Rows {
                    file,
                    first: vertices,
                };
                let batch = &self.layout.whole(batch, self.options.nulls);
                vertices = vertices.saturating_add(batch.num_rows() as u64);
                if whole {
                    held.push(batch.clone());
                    return Ok(());
                }
                let table = self.table.as_ref().map(|table| (Vec::new(), table.none()));
                self.push(batch, table, &rows, number, sink)
            })?;
            match &self.table {
                Some(table) if whole => {
                    let all = concat_batches(&source.schema(), &held).map_err(|error| {
                        let expected = "rows of one table";
                        ConvertError::malformed(file, Place::Whole, error.to_string(), expected)
                    })?;
                    let links = table.all(vertices)?;
                    let rows = Rows { file, first: 0 };
                    self.push(&all, Some(links), &rows, number, sink)?;
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
                let table = ObjectTable::new(vec![id])
                    .with_attribute("name", Values::texts([names::stem(file)]));
                sink.objects(&table)?;
            }
        }
        Ok(())
    }

    fn push(
        &self,
        batch: &RecordBatch,
        links: Option<Links>,
        rows: &Rows<'_>,
        number: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), ConvertError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let changed = || "what was there when the file was looked at".to_owned();
        // Checked again: the file may have changed.
        self.layout
            .positions(batch)
            .map_err(|(row, what)| rows.bad(row, what))?;
        let Some(positions) = self.layout.values(batch) else {
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
                let id = ids.get(number).copied().unwrap_or_default();
                out = out.with_object_runs(vec![(id, batch.num_rows())]);
            }
            Owners::Column => {
                let ids = self
                    .layout
                    .objects(batch)
                    .map_err(|(row, what)| rows.bad(row, what))?;
                out = if matches!(self.kind, Kind::Polyline | Kind::Streamline) {
                    let runs = ids.chunk_by(|a, b| a == b);
                    let runs = runs.filter_map(|run| Some((*run.first()?, run.len())));
                    out.with_object_runs(runs.collect::<Vec<_>>())
                } else {
                    out.with_object_ids(ids)
                };
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
            } else if let Some((corner, rest)) = link.split_first().filter(|_| self.width == 3) {
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
        let none: Vec<f64> = Vec::new();
        let mut batch = Batch::new(none).with_object_runs(Vec::new());
        for decided in &self.decided {
            batch = batch.with_attribute(&decided.spec.name, decided.none());
        }
        batch
    }
}

/// What is wrong with a column that cannot become an attribute, and what helps.
pub(crate) fn refused(name: &str, found: String) -> (String, String) {
    let expected = format!(
        "a value in each row, or --nulls drop-row, or a whole number that no row has, or --exclude {name}"
    );
    (format!("column {} with {found}", shown(name)), expected)
}

/// A column of texts that are too many to be a category.
pub(crate) fn too_many_texts(
    path: &Path,
    place: Place,
    name: &str,
    options: &Options,
) -> ConvertError {
    let what = format!(
        "different texts in column {}: leave it out with --exclude {name}",
        shown(name)
    );
    ConvertError::limit(path, place, what, options.limits.categories)
}

/// Refuses what is held as a whole and is too large for that.
pub(crate) fn whole_in_memory(
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
struct Rows<'a> {
    file: &'a Path,
    first: u64,
}

impl Rows<'_> {
    #[cold]
    fn bad(&self, row: usize, (found, expected): (String, String)) -> ConvertError {
        let row = self.first.saturating_add(row as u64);
        let found = format!("in row {row}: {found}");
        ConvertError::malformed(self.file, Place::Whole, found, expected)
    }
}
