//! Input tables of edits: output of `zvf query` and `zvf links`, and all tables that `zvf import` reads, converted to the columns and types
//! of a store.
//!
//! Columns are named as in CSV output: a list has a column for each of its values. Numbers from typed files (Arrow, Parquet) keep their type;
//! numbers in text files are parsed as the type of their attribute. Values are rounded only to the precision of float types.

mod columns;
mod objects;
mod units;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, SchemaRef};
use zvf_convert::output::{batch_with_times, cells, column_names};
use zvf_convert::{
    AttributeFile, Fields, Format, NodeIds, Options, PositionConversion, check_named,
    check_node_rows, link_ends, read_table, time_number, with_plain_columns,
};
use zvf_edit::{Edit, Scope, axis_columns};
use zvf_encode::decimal;
use zvf_encode::error::OrBug;
use zvf_write::arrow::{
    OF_EDITS, array, check_unit, column_type, elements, is_place, texts, values,
};
use zvf_write::{AttributeSpec, Batch, NumberType, StoreSpec, Values, WriteError, narrow};

use super::fills::fills;
use crate::JobError;
use crate::error::Result;

/// An input table of an edit.
#[derive(Debug)]
pub(crate) struct EditTable {
    file: String,
    batch: RecordBatch,
    /// For each column of the CSV form: its name, the column of the batch, and the index in its list.
    columns: Vec<(String, usize, usize)>,
    /// The line of the first row; `None` if the file has no lines.
    first: Option<usize>,
    /// Whether values have no types, as in CSV.
    is_untyped: bool,
    /// The column with the object of a row, if one was named.
    object: Option<usize>,
    /// The columns of positions, if they were named.
    position: Vec<usize>,
    /// The columns with the ends of links, if named.
    link_columns: Option<Vec<String>>,
    /// How positions are converted to those of the store.
    placed: Option<PositionConversion>,
    /// How texts are read as values.
    fields: Fields,
    /// The number of rows of each object, if the file states it.
    lengths: Option<Vec<u64>>,
}

/// The expected value in messages about a missing or wrong id of an object.
const OBJECT: &str = "the id of an object, in each row (`zvf query --select objects` leaves out vertices that belong to none)";

/// A column for an edit, with its name.
pub(crate) type EditColumn = (String, ArrayRef);

impl EditTable {
    /// Reads a table in the given format, or by the ending of its name, with columns read as the options state.
    ///
    /// # Errors
    ///
    /// I/O; a file that is not such a table.
    pub(crate) fn read_as(path: &Path, format: Option<&str>, options: &Options) -> Result<Self> {
        let mut options = options.clone();
        options.format = format.and_then(Format::from_name);
        if format == Some("tsv") {
            options.delimiter = Some(b'\t');
        }
        let format = options.format.map_or_else(|| Format::of(path), Ok)?;
        let first = match format {
            // The header is line 1.
            Format::Csv => Some(2 - usize::from(options.columns_in.is_some())),
            Format::Xyz | Format::Ndjson => Some(1),
            _ => None,
        };
        let batch = read_table(path, &options)?;
        let mut table = Self::of(&path.display().to_string(), batch)?;
        (table.first, table.fields) = (first, Fields::of(&options));
        table.is_untyped = matches!(format, Format::Csv | Format::Xyz);
        table.link_columns = options.link_columns;
        Ok(table)
    }

    /// A table from a record batch. Integers with a unit of dates or times become dates or times, as in files that queries write; durations become
    /// texts with their unit.
    ///
    /// # Errors
    ///
    /// A number that is not a date or time of its unit; a list with a negative size, which Arrow does not make.
    pub(crate) fn of(name: &str, batch: RecordBatch) -> Result<Self> {
        let batch = batch_with_times(&batch)
            .map_err(|error| JobError::malformed(format!("{name}: {error}")))?;
        let batch = with_plain_columns(&batch).or_bug("columns of different lengths")?;
        let mut names = column_names(batch.schema_ref()).into_iter();
        let mut columns = Vec::new();
        for (at, column) in batch.columns().iter().enumerate() {
            let (_, width) = elements(column)?;
            let named = names.by_ref().take(width).enumerate();
            columns.extend(named.map(|(channel, name)| (name, at, channel)));
        }
        Ok(Self {
            file: name.to_owned(),
            columns,
            batch,
            first: None,
            is_untyped: false,
            placed: None,
            fields: Fields::of(&Options::default()),
            object: None,
            position: Vec::new(),
            link_columns: None,
            lengths: None,
        })
    }

    /// Reads the values of an attribute from a table or from a file of values alone. With `along`, a line of a text file has the values of one object.
    ///
    /// # Errors
    ///
    /// I/O; a file that is neither.
    pub(crate) fn of_attribute(
        path: &Path,
        name: &str,
        along: bool,
        options: &Options,
    ) -> Result<Self> {
        let Some(found) = AttributeFile::read(path, name, along, options)? else {
            let table = Self::read_as(path, None, options)?;
            check_named(&[table.batch.schema_ref()], options)?;
            return Ok(table);
        };
        let mut table = Self::of(&path.display().to_string(), found.values)?;
        (table.lengths, table.fields) = (found.lengths, Fields::of(options));
        Ok(table)
    }

    /// Whether the file states the number of values of each object.
    pub(crate) fn is_divided(&self) -> bool {
        self.lengths.is_some()
    }

    /// Checks that the objects of a store have as many vertices as the file has values for them.
    ///
    /// # Errors
    ///
    /// Usage: another number of objects, or of vertices of one; I/O.
    pub(crate) async fn check_lengths(&self, edit: &mut Edit) -> Result<()> {
        let Some(lengths) = &self.lengths else {
            return Ok(());
        };
        let objects = edit.object_lengths().await?;
        let (file, found, of) = (&self.file, lengths.len(), objects.len());
        if found != of {
            return Err(JobError::usage(format!(
                "{file}: found values of {found} objects, expected {of}, as the store has"
            )));
        }
        let mut pairs = objects.iter().zip(lengths);
        match pairs.find(|((_, vertices), found)| vertices != *found) {
            Some(((id, vertices), found)) => Err(JobError::usage(format!(
                "{file}: found {found} values of object {id}, expected {vertices}, one for each of its vertices"
            ))),
            None => Ok(()),
        }
    }

    /// The name of the file, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.file
    }

    /// The table as it was read.
    pub(crate) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Sets the columns of objects and positions, instead of those with the usual names.
    ///
    /// # Errors
    ///
    /// Usage: a column that does not exist.
    pub(crate) fn name_columns(
        &mut self,
        object: Option<&str>,
        position: Option<&[String]>,
    ) -> Result<()> {
        let find = |name: &str| {
            self.column(name).ok_or_else(|| {
                let names: Vec<&str> = self.columns.iter().map(|(name, ..)| &**name).collect();
                let (file, names) = (&self.file, names.join(", "));
                JobError::usage(format!(
                    "{file}: found no column {name}, expected one of {names}"
                ))
            })
        };
        let object = object.map(find).transpose()?;
        let position = position.unwrap_or_default().iter();
        let position = position.map(|name| find(name)).collect::<Result<_>>()?;
        (self.object, self.position) = (object, position);
        Ok(())
    }

    /// Whether a column has the object of each row.
    pub(crate) fn has_objects(&self) -> bool {
        self.id_column().is_some()
    }

    /// Columns of a table of objects that are not attributes of the store.
    pub(crate) fn unknown_of_objects(&self, known: &[AttributeSpec]) -> BTreeSet<String> {
        self.besides(&["object_id"], known)
    }

    /// Columns of a table of links that are neither their ends nor attributes of the store.
    ///
    /// # Errors
    ///
    /// Usage: no columns of ends, or another number of ends than links of the store have.
    pub(crate) fn unknown_of_links(&self, spec: &StoreSpec) -> Result<BTreeSet<String>> {
        let ends = self.ends_by_row(spec.links.width)?;
        let ends = ends.iter().filter_map(|at| self.columns.get(*at));
        let fields = self.batch.schema_ref().fields();
        let ends = ends.filter_map(|(_, at, _)| fields.get(*at));
        let ends: Vec<&str> = ends.map(|field| field.name().as_str()).collect();
        Ok(self.besides(&ends, &spec.links.attributes))
    }

    /// The columns of the ends of links, which are rows or ids of a table of vertices.
    ///
    /// # Errors
    ///
    /// Usage: no such columns, or another number of ends than links of the store have.
    fn ends_by_row(&self, width: usize) -> Result<Vec<usize>> {
        let path = Path::new(&self.file);
        let named = self.link_columns.as_deref();
        let found = link_ends(path, self.batch.schema_ref(), width > 2, named)?;
        let of = |end: &usize| {
            let all = self.columns.iter().enumerate();
            let all = all.filter(|(_, (_, at, _))| at == end);
            all.map(|(column, _)| column).collect::<Vec<_>>()
        };
        let ends: Vec<usize> = found.iter().flat_map(of).collect();
        if ends.len() == width {
            return Ok(ends);
        }
        let names = ends.iter().filter_map(|at| self.columns.get(*at));
        let names: Vec<&str> = names.map(|(name, ..)| name.as_str()).collect();
        let cut = match (ends.len(), width) {
            (4, 3) => "; faces of a mesh file, such as .ply, are cut into triangles",
            _ => "",
        };
        Err(JobError::usage(format!(
            "{}: found {} ends of a link ({}), expected {width} as in the store (--link-columns names them){cut}",
            self.file,
            ends.len(),
            names.join(", ")
        )))
    }

    /// The columns of a table that are neither in `own`, nor places of rows, nor attributes of the store.
    fn besides(&self, own: &[&str], known: &[AttributeSpec]) -> BTreeSet<String> {
        let fields = self.batch.schema_ref().fields().iter();
        let names = fields.filter(|field| !is_place(field));
        let names = names.map(|field| field.name().as_str());
        let names = names.filter(|name| !own.contains(name));
        let names = names.map(|name| name.strip_prefix("attribute:").unwrap_or(name));
        let names = names.filter(|name| known.iter().all(|one| one.name != *name));
        names.map(str::to_owned).collect()
    }

    /// The Arrow schema, with the metadata of the file.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    /// Sets how positions are converted to those of the store.
    pub(crate) fn place(&mut self, placed: PositionConversion) {
        self.placed = Some(placed);
    }

    /// Columns of a table of vertices that are neither positions, nor places of rows, nor ids of objects, nor attributes of the store.
    pub(crate) fn unknown(&self, spec: &StoreSpec) -> BTreeSet<String> {
        let mut known = self.position_columns(spec, false);
        known.extend((0..self.columns.len()).filter(|at| self.is_place(*at)));
        // Text files do not mark the columns with the places of rows, and other programs drop the marks.
        let chunks: Vec<usize> = self
            .column("chunk")
            .map_or_else(|| self.numbered("chunk"), |at| vec![at]);
        if self.first.is_some() || !chunks.is_empty() {
            let places = ["row", "fragment", "vertex"];
            known.extend(places.iter().filter_map(|name| self.column(name)));
            known.extend(chunks);
        }
        known.extend(self.id_column().filter(|_| spec.has_objects()));
        for one in spec.batch_attributes() {
            known.extend(self.own_columns(one));
        }
        let left = self.columns.iter().enumerate();
        let left = left.filter(|(at, _)| !known.contains(at));
        left.map(|(_, (name, ..))| name.clone()).collect()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(one, ..)| one == name)
    }

    /// The columns of positions: one list, or one column per axis, by its name; empty if some are missing.
    fn position_columns(&self, spec: &StoreSpec, loose: bool) -> Vec<usize> {
        if !self.position.is_empty() {
            return match self.position.len() == spec.dims() {
                true => self.position.clone(),
                false => Vec::new(),
            };
        }
        let list = self.list("position");
        if list.len() == spec.dims() {
            return list;
        }
        let names = axis_columns(spec, loose, |name| self.column(name).is_some());
        names.iter().filter_map(|name| self.column(name)).collect()
    }

    /// The column of the object of each row.
    fn id_column(&self) -> Option<usize> {
        if self.object.is_some() {
            return self.object;
        }
        ["object_id", "object_ids"]
            .iter()
            .find_map(|name| self.column(name))
    }

    /// The column of the batch itself, if `columns` are exactly its values, they are numbers, and none is missing.
    fn whole_column(&self, columns: &[usize]) -> Option<&ArrayRef> {
        let first = *columns.first()?;
        let (_, at, 0) = self.columns.get(first)? else {
            return None;
        };
        let column = self.batch.columns().get(*at)?;
        let (items, width) = elements(column).ok()?;
        let (kind, _) = column_type(column.data_type())?;
        let all = columns.iter().copied().eq(first..first.checked_add(width)?);
        let gaps = column.null_count() > 0 || items.null_count() > 0;
        (kind.number().is_some() && all && !gaps).then_some(column)
    }

    /// The values of a column as texts.
    fn texts(&self, at: usize) -> Vec<Option<Cow<'_, str>>> {
        let Some((_, at, channel)) = self.columns.get(at) else {
            return Vec::new();
        };
        let column = self.batch.columns().get(*at);
        if let Some(texts) = column.and_then(texts) {
            return texts;
        }
        let column = self.batch.project(&[*at]).ok();
        let rows = column.iter().flat_map(cells);
        let text = rows.map(|mut row| row.get_mut(*channel).and_then(Option::take));
        text.map(|text| text.map(Cow::Owned)).collect()
    }

    /// A column in the type of an attribute. `fill` replaces missing values; without it, a missing float is NaN, and a missing time is the number
    /// that an import uses. A column that is not an attribute must not have missing values; `own` describes its values in errors.
    ///
    /// # Errors
    ///
    /// Usage: a missing column, another unit; malformed: a value that is missing or that the type does not have.
    fn array(
        &self,
        one: &AttributeSpec,
        columns: &[usize],
        own: Option<&str>,
        fill: Option<&str>,
    ) -> Result<ArrayRef> {
        if columns.is_empty() {
            self.check_is_read(&one.name)?;
            let (file, name) = (&self.file, &one.name);
            return Err(JobError::usage(format!(
                "{file}: found no column {name}, expected one"
            )));
        }
        let number = one.values.number();
        let unit = one.unit.as_deref().unwrap_or_default();
        let time = number == Some(NumberType::I64) && time_number("0", unit).is_some();
        // Columns of date and time types are converted below; integers are in the unit that the column states.
        let stated = self.unit(columns);
        let stated = stated.filter(|_| !time || self.is_of(columns, &DataType::Int64));
        check_unit(stated.as_deref(), one)
            .map_err(|error| JobError::usage(format!("{}: {error}", self.file)))?;
        if let (Some(_), false, Some(column)) = (number, time, self.whole_column(columns)) {
            if column_type(column.data_type()) == Some((one.values, columns.len())) {
                return Ok(column.clone());
            }
            return Ok(array(
                values(&one.name, column)?.fitted(one)?,
                columns.len(),
            )?);
        }
        let optional = own.is_none();
        macro_rules! parse {
            ($type:ty, $missing:expr) => {{
                let parse = |text: &str| self.fields.whole::<$type>(text);
                let missing = fill.map_or($missing, parse);
                self.parsed(one, columns, (own, optional), missing, parse)?
                    .into()
            }};
        }
        let float = |text: &str| number.and_then(|number| decimal::float(text.trim(), number));
        let values = match number {
            None => {
                let texts = self.text_values(one, columns).into_iter();
                let fill = fill.map(Cow::Borrowed);
                Values::optional_texts(texts.map(|text| text.or_else(|| fill.clone())))
            }
            // `i64::MIN` is the number that imports use for a missing time.
            Some(NumberType::I64) if time => {
                let number = |text: &str| {
                    let number = time_number(text, unit).flatten();
                    let day = || Self::day_at_midnight(text).filter(|_| unit.starts_with("days "));
                    number.or_else(|| time_number(day()?, unit).flatten())
                };
                let missing = fill.and_then(|text| text.parse().ok());
                let missing = missing.or(Some(i64::MIN));
                self.parsed(one, columns, (Some(unit), optional), missing, number)?
                    .into()
            }
            Some(NumberType::Bool) => {
                let truth = |text: &str| match text.trim() {
                    "1" => Some(true),
                    "0" => Some(false),
                    text => Fields::boolean(text),
                };
                let missing = fill.and_then(truth);
                self.parsed(
                    one,
                    columns,
                    (Some("true or false"), optional),
                    missing,
                    truth,
                )?
                .into()
            }
            Some(NumberType::I8) => parse!(i8, None),
            Some(NumberType::I16) => parse!(i16, None),
            Some(NumberType::I32) => parse!(i32, None),
            Some(NumberType::I64) => parse!(i64, None),
            Some(NumberType::U8) => parse!(u8, None),
            Some(NumberType::U16) => parse!(u16, None),
            Some(NumberType::U32) => parse!(u32, None),
            Some(NumberType::U64) => parse!(u64, None),
            // Floats of typed files are rounded, as they are without missing values; texts that the type does not hold are refused below.
            Some(number) if number.is_float() && self.are_floats(columns) => {
                let missing = fill.map_or(optional.then_some(f64::NAN), float);
                let value = |text: &str| text.parse().ok();
                let wide = self.parsed(one, columns, (own, optional), missing, value)?;
                Values::from(wide).fitted(one)?
            }
            Some(NumberType::F64) => {
                let missing = fill.map_or(optional.then_some(f64::NAN), float);
                self.parsed(one, columns, (own, optional), missing, |text| {
                    self.fields.float(text, NumberType::F64)
                })?
                .into()
            }
            Some(number) => {
                let missing = fill.map_or(optional.then_some(f64::NAN), float);
                let missing = missing.map(narrow);
                // `narrow` is exact, because the text was parsed as this type.
                let value = |text: &str| self.fields.float(text, number).map(narrow);
                self.parsed(one, columns, (own, optional), missing, value)?
                    .into()
            }
        };
        Ok(array(values, columns.len())?)
    }

    /// Parses the texts of columns. `expected` describes the values in errors; `None`: by the type of the attribute. `is_attribute`: whether options can
    /// give a value to rows without one.
    fn parsed<T: Copy>(
        &self,
        one: &AttributeSpec,
        columns: &[usize],
        (expected, is_attribute): (Option<&str>, bool),
        missing: Option<T>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>> {
        let is_float = one.values.number().is_some_and(NumberType::is_float);
        let wrong = |row: usize, text: Option<&str>| {
            let found = text.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
            let expected = expected.map_or_else(|| one.values.name(), str::to_owned);
            let place = match self.first {
                Some(first) => format!("line {}", row.saturating_add(first)),
                None => format!("row {row}"),
            };
            let (file, name) = (&self.file, &one.name);
            let given = self.fields.value(text, false);
            let rounded = is_float && given.is_some_and(|text| self.fields.number(text).is_some());
            let ways = match (given, is_attribute) {
                (None, true) => format!(
                    ", which cannot be missing: append --fill {name}=VALUE, or --fill VALUE of set-attribute {name}, gives such rows one"
                ),
                (None, false) => ", which cannot be missing".to_owned(),
                (Some(_), _) if rounded => {
                    "; the store would hold another number: write it rounded, or as text of another attribute".to_owned()
                }
                (Some(_), _) => String::new(),
            };
            JobError::malformed(format!(
                "{file}, {place}, column {name}: found {found}, expected {expected}{ways}"
            ))
        };
        let value = |(row, text): (usize, Option<Cow<'_, str>>)| {
            let given = self.fields.value(text.as_deref(), false);
            let value = given.map_or(missing, &parse);
            value.ok_or_else(|| wrong(row, text.as_deref()))
        };
        self.cells(columns, is_float).map(value).collect()
    }

    /// A column of numbers of vertices or rows.
    fn numbers(&self, name: &str, columns: &[usize]) -> Result<EditColumn> {
        let one = AttributeSpec::number(name, NumberType::U64);
        let numbers = self.array(&one, columns, Some("the number of a vertex"), None)?;
        Ok((name.to_owned(), numbers))
    }

    /// The object of each row; `None` if there is no such column.
    pub(crate) fn ids(&self) -> Result<Option<EditColumn>> {
        let one = AttributeSpec::number("object_id", NumberType::I64);
        let ids = self
            .id_column()
            .map(|at| self.array(&one, &[at], Some(OBJECT), None));
        Ok(ids.transpose()?.map(|ids| (one.name, ids)))
    }

    /// The positions.
    pub(crate) fn positions(&self, spec: &StoreSpec) -> Result<EditColumn> {
        let columns = self.position_columns(spec, false);
        let mut axes = spec.axes.iter().map(|axis| axis.name.as_str());
        let lost = axes.find(|axis| columns.is_empty() && self.column(axis).is_none());
        let name = lost.unwrap_or("of positions");
        let map = self.placed.as_ref().and_then(|placed| placed.map.as_ref());
        let number = map.map_or(spec.positions, |_| NumberType::F64);
        let one = AttributeSpec::number(name, number);
        let mut positions = self.array(&one, &columns, Some(&one.values.name()), None)?;
        if let Some(map) = map {
            let mapped = Batch::new(values(name, &positions)?).mapped(map, NumberType::F64, None);
            positions = array(mapped.positions().clone(), spec.dims())?;
        }
        Ok(("position".to_owned(), positions))
    }

    /// The values of an attribute.
    ///
    /// # Errors
    ///
    /// Usage: a missing column; malformed: another value.
    fn attribute(&self, one: &AttributeSpec, fill: Option<&str>) -> Result<EditColumn> {
        let name = match OF_EDITS.contains(&&*one.name) {
            true => format!("attribute:{}", one.name),
            false => one.name.clone(),
        };
        Ok((name, self.own_array(one, fill)?))
    }

    /// The values of an attribute, under a name that no other column has; missing ones are `fill`, if there is one.
    ///
    /// # Errors
    ///
    /// Usage: a missing column; malformed: another value.
    pub(crate) fn given(&self, one: &AttributeSpec, fill: Option<&str>) -> Result<EditColumn> {
        Ok((
            format!("attribute:{}", one.name),
            self.own_array(one, fill)?,
        ))
    }

    /// The columns of a key as stored in the file, except times, which are numbers in the unit of their attribute.
    pub(crate) fn keys(
        &self,
        names: &[String],
        known: &[AttributeSpec],
    ) -> Result<Vec<EditColumn>> {
        let one = |name: &String| {
            let attribute = known.iter().find(|one| one.name == *name);
            let channels = attribute.map_or(1, |one| one.channels);
            let mut columns = self.channels(name, Some(channels));
            if columns.is_empty() && name == "object_id" {
                columns.extend(self.id_column());
            }
            let (file, first) = (&self.file, columns.first().copied());
            let found = first.and_then(|first| self.columns.get(first));
            let (Some((_, at, _)), [_]) = (found, &*columns) else {
                let found = columns.len();
                return Err(JobError::usage(format!(
                    "{file}: --key {name}: found {found} columns of this name, expected one"
                )));
            };
            let moment = attribute.filter(|one| {
                let unit = one.unit.as_deref().unwrap_or_default();
                time_number("0", unit).is_some()
            });
            if let Some(booleans) = attribute.filter(|one| one.has_boolean_texts()) {
                let column = self.array(booleans, &columns, None, None)?;
                return Ok((format!("attribute:{name}"), column));
            }
            let column = match (moment, self.batch.columns().get(*at)) {
                (Some(moment), _) => {
                    let numbers = self.array(moment, &columns, Some("a moment"), None)?;
                    self.without_gaps(&numbers, first.or_bug("a column without a number")?)?
                }
                // Decimals, and times that the store holds as texts of a category.
                (None, Some(column)) if column_type(column.data_type()).is_none() => {
                    self.text_column(first.or_bug("a column without a number")?)
                }
                (None, Some(column)) => column.clone(),
                (None, None) => {
                    return Err(WriteError::bug("a column that its table does not have").into());
                }
            };
            Ok((format!("attribute:{name}"), column))
        };
        names.iter().map(one).collect()
    }

    /// The numbers of a column of dates, times or durations; missing where the column has no value.
    fn without_gaps(&self, numbers: &ArrayRef, column: usize) -> Result<ArrayRef> {
        let numbers = numbers.as_primitive_opt::<Int64Type>();
        let numbers = numbers.or_bug("times that are not int64")?.values();
        let given = |(number, text): (&i64, Option<Cow<'_, str>>)| {
            let text = self.fields.value(text.as_deref(), false);
            text.map(|_| *number)
        };
        let numbers = numbers.iter().zip(self.texts(column)).map(given);
        Ok(Arc::new(numbers.collect::<Int64Array>()))
    }

    /// The columns that identify the vertices of the rows; with `by_position` also the positions.
    pub(crate) fn places(&self, spec: &StoreSpec, by_position: bool) -> Result<Vec<EditColumn>> {
        let mut columns = Vec::new();
        let chunk = match self.column("chunk") {
            Some(at) => vec![at],
            None => self.numbered("chunk"),
        };
        if let (false, Some(row)) = (chunk.is_empty(), self.column("row")) {
            let one = AttributeSpec::number("chunk", NumberType::I64);
            let numbers = self.array(&one, &chunk, Some("the number of a chunk"), None)?;
            columns.push(("chunk".to_owned(), numbers));
            columns.push(self.numbers("row", &[row])?);
        }
        if let Some(at) = self.column("vertex") {
            columns.push(self.numbers("vertex", &[at])?);
        }
        if spec.has_objects() {
            columns.extend(self.ids()?);
        }
        let axes = self.position_columns(spec, true);
        let mapped = self.placed.as_ref().is_some_and(|one| one.map.is_some());
        if by_position && !axes.is_empty() && mapped {
            columns.push(self.positions(spec)?);
        } else if by_position && !axes.is_empty() {
            // Numbers in text files are rounded as in an import: to float64 first.
            let number = match spec.positions.is_float() {
                true => NumberType::F64,
                false => spec.positions,
            };
            let one = AttributeSpec::number("position", number);
            if let Some(list) = self.whole_column(&axes) {
                columns.push(("position".to_owned(), list.clone()));
                return Ok(columns);
            }
            for (axis, at) in axes.into_iter().enumerate() {
                let column = match self.whole_column(&[at]) {
                    Some(column) => column.clone(),
                    None => self.array(&one, &[at], Some("a position"), None)?,
                };
                columns.push((format!("position_{axis}"), column));
            }
        }
        Ok(columns)
    }

    /// A table of these columns and of those `attributes` that the file has, with the level that the file states.
    pub(crate) fn records(
        &self,
        mut columns: Vec<EditColumn>,
        attributes: &[AttributeSpec],
        fill: impl Fn(&str) -> Option<String>,
    ) -> Result<RecordBatch> {
        for one in attributes {
            if self.has(one) {
                columns.push(self.attribute(one, fill(&one.name).as_deref())?);
            } else {
                self.check_is_read(&one.name)?;
            }
        }
        self.on_its_level(columns)
    }

    /// New vertices, with their objects and those attributes that the store has.
    pub(crate) fn vertices(&self, edit: &Edit) -> Result<RecordBatch> {
        let spec = edit.spec();
        let mut columns = vec![self.positions(spec)?];
        columns.extend(self.ids()?.filter(|_| spec.has_objects()));
        self.records(
            columns,
            &edit.vertex_attributes(),
            fills(edit, Scope::Vertex),
        )
    }

    /// New links: their ends are rows or ids of the table of vertices.
    pub(crate) fn links(&self, edit: &Edit, ids: Option<&NodeIds>) -> Result<RecordBatch> {
        let spec = edit.spec();
        let width = spec.links.width;
        let ends = self.ends_by_row(width)?;
        let ends = match ids {
            None => self.numbers("vertices", &ends)?,
            Some(ids) => {
                let columns = ends.iter().map(|at| Ok(ids.find(&self.text_column(*at))?));
                let columns = columns.collect::<Result<Vec<Vec<u64>>>>()?;
                let rows = (0..self.batch.num_rows())
                    .flat_map(|row| columns.iter().map(move |one| one.get(row)));
                let rows = rows.flatten().copied().collect::<Vec<u64>>();
                ("vertices".to_owned(), array(Values::from(rows), width)?)
            }
        };
        self.records(vec![ends], &spec.links.attributes, fills(edit, Scope::Link))
    }

    fn text_column(&self, at: usize) -> ArrayRef {
        Arc::new(self.texts(at).into_iter().collect::<StringArray>())
    }

    /// The ids of the vertices of this table that links refer to, in the column that options name; `None` if links refer to rows.
    ///
    /// # Errors
    ///
    /// Usage: no such column; repeated ids; a column that may have ids while no option states what links refer to.
    pub(crate) fn node_ids(&self, links: &Self, options: &Options) -> Result<Option<NodeIds>> {
        if let Some(name) = &options.node_id {
            let at = self.column(name).ok_or_else(|| {
                let file = &self.file;
                JobError::usage(format!(
                    "{file}: found no column {name}, expected one, as --node-id names it"
                ))
            })?;
            let ids = NodeIds::of(name, &self.text_column(at), options.limits.ids)?;
            return Ok(Some(ids));
        }
        let all = links.columns.iter().map(|(name, ..)| name.as_str());
        let ends: Vec<&str> = match &links.link_columns {
            Some(named) => named.iter().map(String::as_str).collect(),
            None => all.collect(),
        };
        if !options.links_by_row && !ends.iter().any(|name| name.starts_with("vertices")) {
            let texts = (0..self.columns.len()).map(|at| self.text_column(at));
            let texts: Vec<ArrayRef> = texts.collect();
            let names = self.columns.iter().map(|(name, ..)| name.as_str());
            let ends = format!("columns {}", ends.join(", "));
            check_node_rows(names.zip(&texts), &ends)?;
        }
        Ok(None)
    }

    /// The columns that identify links: `vertices_0`, …, or `chunks_0`, … and `rows_0`, …, or `object_id` and `vertex_0`, …;
    /// none for all links.
    pub(crate) fn ends(&self, width: usize) -> Result<Vec<EditColumn>> {
        let (rows, places) = (self.numbered("vertices"), self.numbered("vertex"));
        // These two are columns of `zvf links`.
        let (chunks, at) = (self.numbered("chunks"), self.numbered("rows"));
        if rows.is_empty() && !chunks.is_empty() && at.len() == width {
            let one = AttributeSpec::number("chunks", NumberType::I64);
            let numbers = self.array(&one, &chunks, Some("the number of a chunk"), None)?;
            let chunks = ("chunks".to_owned(), numbers);
            return Ok(vec![chunks, self.numbers("rows", &at)?]);
        }
        match self.ids()? {
            _ if rows.len() == width => Ok(vec![self.numbers("vertices", &rows)?]),
            Some(ids) if places.len() == width => Ok(vec![ids, self.numbers("vertex", &places)?]),
            None if rows.is_empty() && places.is_empty() => Ok(Vec::new()),
            _ => Err(JobError::usage(format!(
                "{}: expected columns vertices_0 to vertices_{last}, or object_id and vertex_0 to vertex_{last}, or none of them",
                self.file,
                last = width.saturating_sub(1)
            ))),
        }
    }
}
