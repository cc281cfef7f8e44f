//! Tables of text as typed columns: separated values and NDJSON. The types of all columns are found by a first reading of all files.

mod column;
mod objects;
mod rows;
mod separated;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::attribute::Census;
use super::layout::Roles;
use super::{Source, TakeBatch, names_of, refused, too_many_texts};
use crate::Format;
use crate::error::{ConvertError, Place, shown};
use crate::options::{Nulls, Options};
use crate::text::single_holds;
use column::Filling;
use objects::Objects;
pub(super) use rows::{Rows, bad};
use separated::Separated;

/// Takes a row: its position, and its object where a column says it.
type TakeRow<'a> = dyn FnMut(&dyn Rows, &[f64], Option<i64>) -> Result<(), ConvertError> + 'a;

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

/// What a first reading of all files finds.
#[derive(Debug)]
pub(super) struct Survey {
    /// The first file.
    pub(super) table: TextTable,
    pub(super) roles: Roles,
    /// By the attributes of the roles.
    pub(super) seen: Vec<Census>,
    /// Whether float32 holds all positions.
    pub(super) single: bool,
    /// Rows that are left out.
    pub(super) dropped: u64,
}

impl Survey {
    /// Reads the files, whose columns are what `roles` makes of their header.
    pub(super) fn of(
        files: &[PathBuf],
        format: Format,
        options: &Options,
        roles: FindRoles,
        take: &mut TakeRow<'_>,
    ) -> Result<Self, ConvertError> {
        let mut known: Option<(TextTable, Roles)> = None;
        let mut columns: Vec<column::Census> = Vec::new();
        let (mut single, mut dropped) = (true, 0_u64);
        let mut position = Vec::new();
        for file in files {
            let mut rows = open_rows(file, format, options)?;
            let header = rows.header()?;
            let (table, roles) = match &known {
                None => {
                    let table = TextTable::new(file, format, options, &header);
                    let roles = roles(file, &table.schema, options)?;
                    columns.resize_with(roles.attributes.len(), column::Census::default);
                    known.insert((table, roles))
                }
                Some(known) => known,
            };
            if !table.has(&header) {
                let names = names_of(&table.schema).join(", ");
                let expected = format!("the columns of the first file: {names}");
                return Err(bad(rows.as_ref(), header.join(", "), expected));
            }
            while rows.step()? {
                let rows = rows.as_ref();
                let gap = || roles.read().find(|at| rows.value(*at).is_none());
                match options.nulls {
                    Nulls::DropRow if gap().is_some() => {
                        dropped = dropped.saturating_add(1);
                        continue;
                    }
                    Nulls::Error => {
                        if let Some(at) = gap() {
                            let (found, expected) = refused(table.name(at), "no value".to_owned());
                            return Err(bad(rows, found, expected));
                        }
                    }
                    _ => {}
                }
                position.clear();
                for &at in &roles.position {
                    let text = rows.value(at).unwrap_or_default().trim();
                    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                    let value = value.ok_or_else(|| {
                        let name = shown(table.name(at));
                        bad(
                            rows,
                            shown(text),
                            format!("a finite number in column {name}"),
                        )
                    })?;
                    single &= single_holds(text, value);
                    position.push(value);
                }
                let object = roles.object.map(|at| {
                    let text = rows.value(at).unwrap_or_default().trim();
                    text.parse().map_err(|_| {
                        let name = shown(table.name(at));
                        let expected =
                            format!("the id of an object in column {name}, a whole number");
                        bad(rows, shown(text), expected)
                    })
                });
                take(rows, &position, object.transpose()?)?;
                for (census, &at) in columns.iter_mut().zip(&roles.attributes) {
                    if !census.see(rows.value(at), options.limits.categories, options.nulls) {
                        return Err(too_many_texts(file, rows.place(), table.name(at), options));
                    }
                }
            }
        }
        let Some((table, roles)) = known else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        let mut read: Vec<(usize, DataType)> = Vec::new();
        read.extend(roles.position.iter().map(|at| (*at, DataType::Float64)));
        read.extend(roles.object.iter().map(|at| (*at, DataType::Int64)));
        for (census, &at) in columns.iter().zip(&roles.attributes) {
            let kind = census.decide(options.nulls);
            // Whole numbers that no number type holds all of: they are texts only now.
            if kind == DataType::Utf8 && census.overflows() {
                let name = table.name(at);
                return Err(too_many_texts(&table.path, Place::Whole, name, options));
            }
            read.push((at, kind));
        }
        let seen = columns.iter();
        Ok(Self {
            table: table.reading(read),
            seen: seen
                .map(|one| Census::of_fields(one.missing, one.taken))
                .collect(),
            roles,
            single,
            dropped,
        })
    }
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
    fn new(path: &Path, format: Format, options: &Options, header: &[String]) -> Self {
        let fields = header.iter();
        let fields = fields.map(|name| Field::new(name, DataType::Null, true));
        Self {
            path: path.to_owned(),
            format,
            options: options.clone(),
            read: Vec::new(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
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
        let take = &mut |_: &dyn Rows, _: &[f64], _| Ok(());
        Ok(Survey::of(&files, format, &options, Roles::all, take)?.table)
    }

    /// As texts, whatever they are.
    pub(super) fn texts(
        path: &Path,
        format: Format,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let header = open_rows(path, format, options)?.header()?;
        let read = (0..header.len()).map(|at| (at, DataType::Utf8)).collect();
        Ok(Self::new(path, format, options, &header).reading(read))
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

    /// Whether these are the names of the columns.
    fn has(&self, header: &[String]) -> bool {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name()).eq(header)
    }
}

impl Source for TextTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, most: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut rows = open_rows(&self.path, self.format, &self.options)?;
        if !self.has(&rows.header()?) {
            let expected = "those of when the file was looked at";
            return Err(bad(rows.as_ref(), "other columns", expected));
        }
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
        Ok(())
    }
}
