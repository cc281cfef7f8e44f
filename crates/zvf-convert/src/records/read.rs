//! The second pass over files of vertices: passes typed columns to a sink.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use zvf_encode::error::OrBug;
use zvf_write::{Batch, Kind, Values};

use super::attribute::Decided;
use super::layout::ColumnRoles;
use super::links::{Links, SurveyedLinks};
use super::open::source;
use super::source::TableSource;
use crate::Format;
use crate::error::{ConvertError, InFile, shown};
use crate::ids::IdMap;
use crate::names;
use crate::options::Options;
use crate::sink::Sink;
use crate::table::text::OpenTextTable;

/// Files to be read again.
#[derive(Debug)]
pub(crate) struct RecordFiles {
    pub(super) files: Vec<PathBuf>,
    pub(super) format: Format,
    pub(super) options: Options,
    pub(super) kind: Kind,
    /// The first file of tables of text, with the types that the first reading found.
    pub(super) text: Option<OpenTextTable>,
    pub(super) layout: ColumnRoles,
    /// How the attributes of the layout are stored.
    pub(super) decided: Vec<Decided>,
    pub(super) owners: RowOwners,
    /// The number of ends of a link; 0 without links.
    pub(super) width: usize,
    /// A table of links beside the vertex table.
    pub(super) table: Option<SurveyedLinks>,
}

/// How the object of a row is determined.
#[derive(Debug)]
pub(super) enum RowOwners {
    None,
    /// Each file is an object: the ids by file.
    Files(Vec<i64>),
    /// A column has the id of the object.
    Column,
}

impl RecordFiles {
    /// Whether a column has the objects of the vertices.
    pub(crate) fn has_object_column(&self) -> bool {
        matches!(self.owners, RowOwners::Column)
    }

    /// Opens a file again.
    fn open(&self, file: &Path) -> Result<Box<dyn TableSource>, ConvertError> {
        if let Some(text) = &self.text {
            return Ok(Box::new(text.at(file)));
        }
        let source = source(file, self.format, &self.options)?;
        if ColumnRoles::of(file, &source.schema(), &self.options)? != self.layout {
            return Err(ConvertError::file_changed(file, "other columns"));
        }
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
                        ConvertError::malformed(file, InFile::Whole, error.to_string(), expected)
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
            if let RowOwners::Files(ids) = &self.owners
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
        let changed =
            || "the content of the first pass: the file changed while it was read".to_owned();
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
            RowOwners::None => {}
            RowOwners::Files(ids) => {
                let id = *ids.get(number).or_bug("a file without an object")?;
                out = out.with_object_runs(vec![(id, batch.num_rows())]);
            }
            RowOwners::Column => {
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

    /// Passes links on, with vertices counted through all files.
    fn links(
        &self,
        source: &dyn TableSource,
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
                let expected = "vertices of the file: it changed while it was read";
                return Err(ConvertError::malformed(file, place, "other ends", expected));
            }
            let number = |end: &u64| first.saturating_add(*end);
            if link.len() == self.width {
                held.extend(link.iter().map(number));
            } else if self.width != 3 {
                let file = self.files.first().map_or(Path::new(""), PathBuf::as_path);
                let found = format!("a link of {} ends", link.len());
                let expected = format!(
                    "{}, as in the first pass: the file changed while it was read",
                    self.width
                );
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

    /// A batch without vertices, with all attributes.
    fn empty(&self) -> Batch {
        let none = Values::of_bytes(self.layout.number, &[]);
        let mut batch = Batch::new(none).with_object_runs(Vec::new());
        for decided in &self.decided {
            batch = batch.with_attribute(&decided.spec.name, decided.none());
        }
        batch
    }
}

/// Refuses a skeleton that exceeds the limit of nodes in memory.
pub(super) fn whole_in_memory(
    files: &[PathBuf],
    vertices: u64,
    options: &Options,
) -> Result<(), ConvertError> {
    let limit = options.limits.held;
    let path = files.first().map_or(Path::new(""), PathBuf::as_path);
    if vertices > limit {
        let what = "nodes of a skeleton";
        return Err(ConvertError::limit(path, InFile::Whole, what, limit));
    }
    Ok(())
}

/// The row numbers of a batch in its file.
pub(super) struct RowNumbers<'a> {
    pub(super) file: &'a Path,
    pub(super) first: u64,
}

impl RowNumbers<'_> {
    #[cold]
    pub(super) fn bad(&self, row: usize, (found, expected): (String, String)) -> ConvertError {
        let row = self.first.saturating_add(row as u64);
        let found = format!("in row {row}: {found}");
        ConvertError::malformed(self.file, InFile::Whole, found, expected)
    }
}
