//! Reads tables of text (separated values and NDJSON) as typed columns. The first pass over all files determines the columns and their
//! types and counts rows and objects; the second pass returns the batches.

mod column;
pub(crate) mod fields;
mod objects;
mod rows;
mod separated;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use zvf_write::{AttributeType, NumberType};

use crate::Format;
use crate::error::{ConvertError, InFile, shown};
use crate::ids::IdMap;
use crate::options::{Nulls, Options};
use crate::records::attribute::ValueCensus;
use crate::records::columns::{names_of, refused, too_many_texts};
use crate::records::layout::{Roles, if_unnamed};
use crate::records::nodes::NodeCensus;
use crate::records::source::{TableSource, TakeBatch};
use crate::records::tally::VertexTally;
use crate::text::{finite, no_finite, single_holds};
use column::Filling;
use fields::Fields;
use objects::ObjectLines;
use rows::{TextRows, bad};
use separated::Separated;

/// Number of rows between two checks for a requested stop.
const STOP_CHECK: u64 = 1 << 12;

/// How often files are read again until the columns of texts are known.
const MOST_ROUNDS: usize = 8;

/// Assigns roles to the columns of a header.
type FindRoles = fn(&Path, &Schema, &Options) -> Result<Roles, ConvertError>;

/// Opens a file.
fn open_rows(
    path: &Path,
    format: Format,
    options: &Options,
) -> Result<Box<dyn TextRows>, ConvertError> {
    Ok(match format {
        Format::Ndjson => Box::new(ObjectLines::open(path, options)?),
        _ => Box::new(Separated::open(path, format, options)?),
    })
}

/// The result of the first pass over all files.
#[derive(Debug)]
pub(crate) struct Survey {
    fields: Fields,
    names: Vec<String>,
    pub(crate) roles: Roles,
    /// The census of each attribute.
    columns: Vec<column::TextCensus>,
    /// The type of each attribute.
    kinds: Vec<DataType>,
    /// Whether float32 does not hold all positions.
    pub(crate) double: bool,
    rows: u64,
    /// Rows that are left out.
    pub(crate) dropped: u64,
    /// Counts of the rows with a position.
    pub(crate) tally: Option<VertexTally>,
    /// Names of the text columns, if rows with a missing value are dropped or refused: in a text column, a word for a missing value is a text.
    texts: Option<HashSet<String>>,
    /// Notes for the user about automatic choices.
    notes: Vec<String>,
    /// The census of columns that links may refer to.
    pub(crate) nodes: Option<NodeCensus>,
    /// Whether a field occurred that is missing only if its column does not hold texts.
    doubtful: bool,
    files: Vec<PathBuf>,
}

impl Survey {
    fn new(options: &Options, texts: Option<HashSet<String>>) -> Self {
        Self {
            fields: Fields::of(options),
            names: Vec::new(),
            roles: Roles::default(),
            columns: Vec::new(),
            kinds: Vec::new(),
            double: false,
            rows: 0,
            dropped: 0,
            tally: None,
            texts,
            files: Vec::new(),
            notes: Vec::new(),
            nodes: None,
            doubtful: false,
        }
    }

    /// Reads the files; `find` finds the roles of their columns. Also returns the first file as a table.
    ///
    /// Columns that the first line of an NDJSON file lacks are added when a row has them. The file is read again with all its columns if they
    /// belong to the position or decide which rows are dropped, or if a row is wrong. If rows with missing values are dropped or refused, and
    /// a word for a missing value occurred, all files are read again, because in a column of texts the word is a text.
    pub(crate) fn of(
        files: &[PathBuf],
        format: Format,
        options: &Options,
        find: FindRoles,
    ) -> Result<(Self, OpenTextTable), ConvertError> {
        let mut survey = Self::all(files, format, options, find, None)?;
        let mut rounds = match survey.doubtful {
            true if matches!(options.nulls, Nulls::DropRow | Nulls::Error) => MOST_ROUNDS,
            _ => 0,
        };
        // Rows that are left out in one pass may be those with the texts of a column.
        while rounds > 0 {
            rounds -= 1;
            let texts = survey.named().filter(|(name, census)| {
                let kind = census.decide(name, &survey.fields, options.nulls);
                matches!(kind, Ok(DataType::Utf8))
            });
            let texts = texts.map(|(name, _)| name.to_owned()).collect();
            if survey.texts.as_ref() == Some(&texts) {
                break;
            }
            survey = Self::all(files, format, options, find, Some(texts))?;
        }
        let Some(first) = files.first() else {
            return Err(ConvertError::usage("files", "none", "at least one"));
        };
        for (name, _) in &options.attribute_types {
            if options.links().is_none() && !survey.names.contains(name) {
                let expected = format!("one of the columns: {}", survey.names.join(", "));
                return Err(ConvertError::usage(
                    "attribute types",
                    shown(name),
                    expected,
                ));
            }
            let mut own = survey.roles.position.iter().chain(&survey.roles.object);
            if options.links().is_none() && own.any(|at| survey.names.get(*at) == Some(name)) {
                let expected =
                    "a column that becomes an attribute, neither of positions nor of objects";
                return Err(ConvertError::usage(
                    "attribute types",
                    shown(name),
                    expected,
                ));
            }
        }
        let table = OpenTextTable::new(first, format, options, &survey.names);
        let roles = &survey.roles;
        let mut read: Vec<(usize, DataType)> = Vec::new();
        read.extend(roles.position.iter().map(|at| (*at, DataType::Float64)));
        read.extend(roles.object.iter().map(|at| (*at, DataType::Int64)));
        let mut kinds = Vec::new();
        for (census, &at) in survey.columns.iter().zip(&roles.attributes) {
            let name = table.name(at);
            let kind = census.decide(name, &survey.fields, options.nulls);
            let kind = kind.map_err(|(found, expected)| {
                let what = format!("{} in column {}", shown(&found.text), shown(name));
                ConvertError::malformed(&found.path, found.place, what, expected)
            })?;
            // Numbers that begin with zeros are counted as texts only when the type is decided.
            if kind == DataType::Utf8 && census.overflows() {
                return Err(too_many_texts(first, InFile::Whole, name, options));
            }
            kinds.push(kind.clone());
            read.push((at, kind));
        }
        survey.kinds = kinds;
        Ok((survey, table.reading(read)))
    }

    /// Reads all files; `texts` are the text columns, if they are known.
    fn all(
        files: &[PathBuf],
        format: Format,
        options: &Options,
        find: FindRoles,
        texts: Option<HashSet<String>>,
    ) -> Result<Self, ConvertError> {
        let new = || Self {
            files: files.to_vec(),
            ..Self::new(options, texts.clone())
        };
        let mut survey = new();
        for (number, file) in files.iter().enumerate() {
            let mut rows = open_rows(file, format, options)?;
            for note in rows.notes() {
                if !survey.notes.contains(note) {
                    survey.notes.push(note.clone());
                }
            }
            let find = (number == 0).then_some(find);
            if let Some(tally) = &mut survey.tally {
                tally.begin(number);
            }
            if let Err(error) = survey.read(rows.as_mut(), options, find) {
                options.check_stop()?;
                // Errors about columns take precedence over errors in rows.
                rows.find_columns()?;
                match survey.check_columns(rows.as_ref()) {
                    Ok(()) => return Err(error),
                    Err(other) if number > 0 => return Err(other),
                    Err(_) => survey = new(),
                }
                survey.read(rows.as_mut(), options, find)?;
            }
        }
        Ok(survey)
    }

    /// The columns of attributes, with their names.
    fn named(&self) -> impl Iterator<Item = (&str, &column::TextCensus)> {
        let pairs = self.roles.attributes.iter().zip(&self.columns);
        pairs.map(|(at, census)| (self.names.get(*at).map_or("", String::as_str), census))
    }

    /// The first requested column without a value in the current row. While the text columns are unknown, words for a missing value
    /// do not count as missing.
    fn gap(&mut self, rows: &dyn TextRows) -> Option<usize> {
        let Self { roles, fields, .. } = &*self;
        let plain = roles.position.iter().chain(&roles.object);
        let gap = plain
            .copied()
            .find(|at| fields.value(rows.value(*at), false).is_none());
        if gap.is_some() {
            return gap;
        }
        let mut doubtful = false;
        let gap = roles.attributes.iter().copied().find(|&at| {
            let field = rows.value(at);
            let name = self.names.get(at);
            let texts = match (&self.texts, name) {
                (Some(texts), Some(name)) => texts.contains(name),
                _ => {
                    doubtful |=
                        fields.given(field).is_some() && fields.value(field, false).is_none();
                    true
                }
            };
            fields.value(field, texts).is_none()
        });
        self.doubtful |= doubtful;
        gap
    }

    /// Reads a file. Rows of the first one, which has `find`, may add columns.
    fn read(
        &mut self,
        rows: &mut dyn TextRows,
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
            if self.rows.is_multiple_of(STOP_CHECK) {
                options.check_stop()?;
            }
            self.rows += 1;
            if matches!(options.nulls, Nulls::DropRow | Nulls::Error)
                && let Some(gap) = self.gap(rows)
            {
                if options.nulls == Nulls::Error {
                    let name = self.names.get(gap).map_or("", String::as_str);
                    let (found, expected) = refused(name, "no value".to_owned());
                    return Err(bad(rows, found, expected));
                }
                self.dropped += 1;
                continue;
            }
            let Self {
                names,
                roles,
                fields,
                nodes,
                ..
            } = self;
            let name = |at: usize| names.get(at).map_or("", String::as_str);
            position.clear();
            for &at in &roles.position {
                let text = rows.value(at).unwrap_or_default().trim();
                let plain = fields.plain(text);
                let value = finite(&plain).ok_or_else(|| {
                    let expected = format!("{} in column {}", no_finite(&plain), shown(name(at)));
                    let expected = match fields.hint(text) {
                        Some(hint) => format!("{expected}; {hint}"),
                        None => expected,
                    };
                    bad(rows, shown(text), expected)
                })?;
                self.double |= !single_holds(&plain, value);
                position.push(value);
            }
            let object = roles.object.map(|at| {
                let text = rows.value(at).unwrap_or_default().trim();
                fields.whole(text).ok_or_else(|| {
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
                        none.insert(VertexTally::new(position.len(), None, map, options))
                    }
                };
                tally.extent.add(&position);
                tally.check(rows.path(), rows.place())?;
                let counted = object.map_or(Ok(()), |id| tally.object(id));
                counted.map_err(|(found, expected)| bad(rows, found, expected))?;
            }
            for (number, &at) in roles.nodes.iter().enumerate() {
                let new = || {
                    NodeCensus::new(
                        roles.nodes.iter().map(|at| name(*at).to_owned()).collect(),
                        options,
                    )
                };
                let nodes = nodes.get_or_insert_with(new);
                let seen = nodes.field(number, fields.given(rows.value(at)));
                seen.map_err(|(found, expected)| bad(rows, found, expected))?;
            }
            let place = || (rows.path().to_owned(), rows.place());
            for (census, &at) in self.columns.iter_mut().zip(&roles.attributes) {
                let most = options.limits.categories;
                if !census.see(rows.value(at), fields, most, options.nulls, &place) {
                    let (file, place) = (rows.path(), rows.place());
                    return Err(too_many_texts(file, place, name(at), options));
                }
            }
        }
        self.check_columns(rows)
    }

    /// Adds new columns; fails if they change how earlier rows are read.
    fn add_columns(
        &mut self,
        rows: &dyn TextRows,
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
        let same = roles.position == self.roles.position
            && roles.object == self.roles.object
            && roles.nodes == self.roles.nodes;
        let kept = matches!(options.nulls, Nulls::Keep | Nulls::Value(_));
        if self.rows > 0 && !(same && (kept || roles.attributes == self.roles.attributes)) {
            return self.check_columns(rows);
        }
        let columns = roles.attributes.iter().skip(self.columns.len());
        let columns = columns.map(|at| {
            let name = names.get(*at);
            let mut asked = options.attribute_types.iter();
            let asked = asked.find(|(asked, _)| Some(asked) == name);
            let asked = asked.map(|(_, kind)| type_of(*kind)).transpose()?;
            Ok(column::TextCensus::after(self.rows, asked))
        });
        let columns = columns.collect::<Result<Vec<_>, ConvertError>>()?;
        self.columns.extend(columns);
        (self.names, self.roles) = (names, roles);
        Ok(())
    }

    fn check_columns(&self, rows: &dyn TextRows) -> Result<(), ConvertError> {
        if self.names == rows.columns() {
            return Ok(());
        }
        let names = self.names.join(", ");
        let expected = format!(
            "the columns of the first file: {names}; `zvf append` adds a file with other columns"
        );
        Err(bad(rows, rows.columns().join(", "), expected))
    }

    /// The census of each attribute, in the order of the roles.
    pub(crate) fn seen(&self) -> Vec<ValueCensus> {
        let columns = self.columns.iter().zip(&self.kinds);
        columns.map(|(one, kind)| one.seen(kind)).collect()
    }

    /// Notes for the user about automatic choices.
    pub(crate) fn notes(&self) -> Vec<String> {
        let columns = self.named().zip(&self.kinds);
        let notes = columns.map(|((name, census), kind)| census.note(name, kind));
        self.notes.iter().cloned().chain(notes.flatten()).collect()
    }
}

/// The Arrow type for a requested attribute type.
fn type_of(kind: AttributeType) -> Result<DataType, ConvertError> {
    Ok(match kind {
        AttributeType::Category | AttributeType::Text => DataType::Utf8,
        AttributeType::Number(number) => match number {
            NumberType::Bool => DataType::Boolean,
            NumberType::I8 => DataType::Int8,
            NumberType::I16 => DataType::Int16,
            NumberType::I32 => DataType::Int32,
            NumberType::I64 => DataType::Int64,
            NumberType::U8 => DataType::UInt8,
            NumberType::U16 => DataType::UInt16,
            NumberType::U32 => DataType::UInt32,
            NumberType::U64 => DataType::UInt64,
            NumberType::F32 => DataType::Float32,
            NumberType::F64 => DataType::Float64,
            other => {
                let expected = "text, bool, or a number type of 8 to 64 bits that is not float16";
                let found = other.to_string();
                return Err(ConvertError::usage("attribute types", found, expected));
            }
        },
    })
}

/// Columns without a type.
fn untyped(names: &[String]) -> Schema {
    let fields = names.iter();
    let fields = fields.map(|name| Field::new(name, DataType::Null, true));
    Schema::new(fields.collect::<Vec<_>>())
}

/// An open table. Columns that are not read have no value.
#[derive(Debug, Clone)]
pub(crate) struct OpenTextTable {
    path: PathBuf,
    format: Format,
    options: Options,
    read: Vec<usize>,
    schema: SchemaRef,
}

impl OpenTextTable {
    /// A file with no column selected.
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
    pub(crate) fn open(
        path: &Path,
        format: Format,
        options: &Options,
    ) -> Result<Self, ConvertError> {
        let mut options = options.clone();
        if options.nulls == Nulls::Error {
            // The caller refuses missing values, but only in the columns that it uses.
            options.nulls = Nulls::Keep;
        }
        let files = [path.to_owned()];
        Ok(Survey::of(&files, format, &options, Roles::all)?.1)
    }

    /// A file with all its columns as texts.
    pub(crate) fn texts(
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
    pub(crate) fn at(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Sets the columns to read and their types.
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

impl TableSource for OpenTextTable {
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
                ConvertError::malformed(&self.path, InFile::Whole, error.to_string(), expected)
            })?)
        };
        let mut held = 0_usize;
        let fields = Fields::of(&self.options);
        let texts = self.read.iter().map(|at| {
            let field = self.schema.fields().get(*at);
            field.is_some_and(|field| *field.data_type() == DataType::Utf8)
        });
        let texts: Vec<bool> = texts.collect();
        while rows.step()? {
            let gap =
                |(at, texts): (&usize, &bool)| fields.value(rows.value(*at), *texts).is_none();
            if self.options.nulls == Nulls::DropRow && self.read.iter().zip(&texts).any(gap) {
                continue;
            }
            for (&at, column) in self.read.iter().zip(&mut columns) {
                let value = rows.value(at);
                if !column.take(value, &fields) {
                    let found = shown(value.unwrap_or_default());
                    let found = format!("{found} in column {}", shown(self.name(at)));
                    let expected =
                        "the content of the first pass: the file changed while it was read";
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
            let expected = "those of the first pass: the file changed while it was read";
            return Err(bad(rows.as_ref(), "other columns", expected));
        }
        Ok(())
    }
}
