//! Tables of text as typed columns: separated values and NDJSON. The first reading of all files finds the columns, their types and what
//! else is counted, the second one returns the batches.

mod column;
mod objects;
mod rows;
mod separated;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::attribute::Census;
use super::layout::{Roles, if_unnamed};
use super::tally::Tally;
use super::{Source, TakeBatch, names_of, refused, too_many_texts};
use crate::Format;
use crate::error::{ConvertError, Place, shown};
use crate::ids::IdMap;
use crate::options::{Nulls, Options};
use crate::text::single_holds;
use column::Filling;
use objects::Objects;
use rows::{Rows, bad};
use separated::Separated;

/// Says which columns of a header are what.
type FindRoles = fn(&Path, &Schema, &Options) -> Result<Roles, ConvertError>;

/// Opens a file.
fn open_rows(
    path: &Path,
    format: Format,
    options: &Options,
) -> Result<Box<dyn Rows>, ConvertError> {
    Ok(match format {
        Format::Ndjson => Box::new(Objects::open(path, options)?),
        _ => Box::new(Separated::open(path, options)?),
    })
}

/// What the first reading of all files finds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    names: Vec<String>,
    pub(super) roles: Roles,
    /// By the attributes of the roles.
    columns: Vec<column::Census>,
    /// Whether float32 does not hold all positions.
    pub(super) double: bool,
    rows: u64,
    /// Rows that are left out.
    pub(super) dropped: u64,
    /// Of the rows with a position.
    pub(super) tally: Option<Tally>,
    files: Vec<PathBuf>,
}

impl Survey {
    /// Reads the files; `find` finds the roles of their columns. Also returns the first file as a table.
    ///
    /// Columns that the first line of an NDJSON file lacks are added when a row has them. The file is read again, first for its columns,
    /// where they are of the position or decide which rows are left out, and where a row is wrong: its error may be one of a column.
    pub(super) fn of(
        files: &[PathBuf],
        format: Format,
        options: &Options,
        find: FindRoles,
    ) -> Result<(Self, TextTable), ConvertError> {
        let new = || Self {
            files: files.to_vec(),
            ..Self::default()
        };
        let mut survey = new();
        for (number, file) in files.iter().enumerate() {
            let mut rows = open_rows(file, format, options)?;
            let find = (number == 0).then_some(find);
            if let Some(tally) = &mut survey.tally {
                tally.begin(number);
            }
            if let Err(error) = survey.read(rows.as_mut(), options, find) {
                // Errors of columns come before those of rows.
                rows.find_columns()?;
                match survey.check_columns(rows.as_ref()) {
                    Ok(()) => return Err(error),
                    Err(other) if number > 0 => return Err(other),
                    Err(_) => survey = new(),
                }
                survey.read(rows.as_mut(), options, find)?;
            }
        }
        let Some(first) = files.first() else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let table = TextTable::new(first, format, options, &survey.names);
        let roles = &survey.roles;
        let mut read: Vec<(usize, DataType)> = Vec::new();
        read.extend(roles.position.iter().map(|at| (*at, DataType::Float64)));
        read.extend(roles.object.iter().map(|at| (*at, DataType::Int64)));
        for (census, &at) in survey.columns.iter().zip(&roles.attributes) {
            let kind = census.decide(options.nulls);
            // Whole numbers that no number type holds all of: they are texts only now.
            if kind == DataType::Utf8 && census.overflows() {
                return Err(too_many_texts(first, Place::Whole, table.name(at), options));
            }
            read.push((at, kind));
        }
        Ok((survey, table.reading(read)))
    }

    /// Reads a file. Rows of the first one, which has `find`, may add columns.
    fn read(
        &mut self,
        rows: &mut dyn Rows,
        options: &Options,
        find: Option<FindRoles>,
    ) -> Result<(), ConvertError> {
        self.add_columns(rows, options, find)?;
        let mut known = rows.columns().len();
        let mut position = Vec::new();
        while rows.step()? {
            let rows = &*rows;
            if rows.columns().len() > known {
                known = rows.columns().len();
                self.add_columns(rows, options, find)?;
            }
            self.rows += 1;
            let Self { names, roles, .. } = self;
            let name = |at: usize| names.get(at).map_or("", String::as_str);
            if matches!(options.nulls, Nulls::DropRow | Nulls::Error)
                && let Some(gap) = roles.read().find(|at| rows.value(*at).is_none())
            {
                if options.nulls == Nulls::Error {
                    let (found, expected) = refused(name(gap), "no value".to_owned());
                    return Err(bad(rows, found, expected));
                }
                self.dropped += 1;
                continue;
            }
            position.clear();
            for &at in &roles.position {
                let text = rows.value(at).unwrap_or_default().trim();
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                let value = value.ok_or_else(|| {
                    let expected = format!("a finite number in column {}", shown(name(at)));
                    bad(rows, shown(text), expected)
                })?;
                self.double |= !single_holds(text, value);
                position.push(value);
            }
            let object = roles.object.map(|at| {
                let text = rows.value(at).unwrap_or_default().trim();
                text.parse().map_err(|_| {
                    let name = shown(name(at));
                    let expected = format!(
                        "the id of an object in column {name}, a whole number{}",
                        if_unnamed(options)
                    );
                    bad(rows, shown(text), expected)
                })
            });
            let object = object.transpose()?;
            if !position.is_empty() {
                let tally = match &mut self.tally {
                    Some(tally) => tally,
                    none => {
                        let map = IdMap::new(options.ids, &self.files)?;
                        none.insert(Tally::new(position.len(), None, map, options))
                    }
                };
                tally.extent.add(&position);
                tally.check(rows.path(), rows.place())?;
                let counted = object.map_or(Ok(()), |id| tally.object(id));
                counted.map_err(|(found, expected)| bad(rows, found, expected))?;
            }
            for (census, &at) in self.columns.iter_mut().zip(&roles.attributes) {
                if !census.see(rows.value(at), options.limits.categories, options.nulls) {
                    let (file, place) = (rows.path(), rows.place());
                    return Err(too_many_texts(file, place, name(at), options));
                }
            }
        }
        self.check_columns(rows)
    }

    /// Adds the columns that are known so far, or refuses them where the rows before would have been something else with them.
    fn add_columns(
        &mut self,
        rows: &dyn Rows,
        options: &Options,
        find: Option<FindRoles>,
    ) -> Result<(), ConvertError> {
        let Some(find) = find else {
            return match rows.has_header() {
                true => self.check_columns(rows),
                false => Ok(()),
            };
        };
        let names = rows.columns().to_vec();
        let roles = find(rows.path(), &untyped(&names), options)?;
        let same = roles.position == self.roles.position && roles.object == self.roles.object;
        let kept = matches!(options.nulls, Nulls::Keep | Nulls::Value(_));
        if self.rows > 0 && !(same && (kept || roles.attributes == self.roles.attributes)) {
            return self.check_columns(rows);
        }
        let new = || column::Census::after(self.rows);
        self.columns.resize_with(roles.attributes.len(), new);
        (self.names, self.roles) = (names, roles);
        Ok(())
    }

    fn check_columns(&self, rows: &dyn Rows) -> Result<(), ConvertError> {
        if self.names == rows.columns() {
            return Ok(());
        }
        let names = self.names.join(", ");
        let expected = format!("the columns of the first file: {names}");
        Err(bad(rows, rows.columns().join(", "), expected))
    }

    /// What was seen, by the attributes of the roles.
    pub(super) fn seen(&self) -> Vec<Census> {
        let columns = self.columns.iter();
        columns
            .map(|one| Census::of_fields(one.missing, one.taken))
            .collect()
    }
}

/// Columns without a type.
fn untyped(names: &[String]) -> Schema {
    let fields = names.iter();
    let fields = fields.map(|name| Field::new(name, DataType::Null, true));
    Schema::new(fields.collect::<Vec<_>>())
}

/// An open table. Columns that are not read have no value.
#[derive(Debug, Clone)]
pub(super) struct TextTable {
    path: PathBuf,
    format: Format,
    options: Options,
    read: Vec<usize>,
    schema: SchemaRef,
}

impl TextTable {
    /// A file of which no column is read.
    fn new(path: &Path, format: Format, options: &Options, names: &[String]) -> Self {
        Self {
            path: path.to_owned(),
            format,
            options: options.clone(),
            read: Vec::new(),
            schema: Arc::new(untyped(names)),
        }
    }

    /// A file with all its columns.
    pub(super) fn open(
        path: &Path,
        format: Format,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let mut options = options.clone();
        if options.nulls == Nulls::Error {
            // Some columns may not be used: the caller refuses gaps in the others.
            options.nulls = Nulls::Keep;
        }
        let files = [path.to_owned()];
        Ok(Survey::of(&files, format, &options, Roles::all)?.1)
    }

    /// As texts, whatever they are.
    pub(super) fn texts(
        path: &Path,
        format: Format,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let mut rows = open_rows(path, format, options)?;
        rows.find_columns()?;
        let names = rows.columns();
        let read = (0..names.len()).map(|at| (at, DataType::Utf8)).collect();
        Ok(Self::new(path, format, options, names).reading(read))
    }

    /// Another file with the same columns.
    pub(super) fn at(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// With these columns read, as these types.
    fn reading(mut self, read: Vec<(usize, DataType)>) -> Self {
        let fields = self.schema.fields().iter();
        let mut fields: Vec<Field> = fields.map(|field| field.as_ref().clone()).collect();
        for (at, kind) in read {
            if let Some(field) = fields.get_mut(at) {
                field.set_data_type(kind);
                self.read.push(at);
            }
        }
        self.schema = Arc::new(Schema::new(fields));
        self
    }

    fn name(&self, at: usize) -> &str {
        let field = self.schema.fields().get(at);
        field.map_or("", |field| field.name())
    }
}

impl Source for TextTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, most: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut rows = open_rows(&self.path, self.format, &self.options)?;
        let kinds = self
            .read
            .iter()
            .filter_map(|at| self.schema.fields().get(*at));
        let mut columns: Vec<Filling> = kinds.map(|field| Filling::of(field.data_type())).collect();
        let mut flush = |columns: &mut [Filling], held: usize| {
            let none: ArrayRef = Arc::new(NullArray::new(held));
            let mut all = vec![none; self.schema.fields().len()];
            for (at, column) in self.read.iter().zip(columns) {
                if let Some(slot) = all.get_mut(*at) {
                    *slot = column.finish();
                }
            }
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), all);
            take(&batch.map_err(|error| {
                let expected = "rows of a table";
                ConvertError::malformed(&self.path, Place::Whole, error.to_string(), expected)
            })?)
        };
        let mut held = 0_usize;
        while rows.step()? {
            let gap = |at: &usize| rows.value(*at).is_none();
            if self.options.nulls == Nulls::DropRow && self.read.iter().any(gap) {
                continue;
            }
            for (&at, column) in self.read.iter().zip(&mut columns) {
                let value = rows.value(at);
                if !column.take(value) {
                    let found = shown(value.unwrap_or_default());
                    let found = format!("{found} in column {}", shown(self.name(at)));
                    let expected = "what was there when the file was looked at";
                    return Err(bad(rows.as_ref(), found, expected));
                }
            }
            held = held.saturating_add(1);
            if held >= most {
                flush(&mut columns, held)?;
                held = 0;
            }
        }
        if held > 0 {
            flush(&mut columns, held)?;
        }
        if !names_of(&self.schema).iter().eq(rows.columns()) {
            let expected = "those of when the file was looked at";
            return Err(bad(rows.as_ref(), "other columns", expected));
        }
        Ok(())
    }
}
