//! Tables that edits take: what `zvf query` and `zvf links` write, read back, and every other table that `zvf import` reads, brought
//! to the columns and types of a store.
//!
//! Columns have the names that they have in a CSV file: a list is a column for each of its values. Numbers of a file with types are
//! taken as they are, those of a file of text are parsed for the attribute that they are for: both are exact.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use zvf_convert::output::{cells, column_names};
use zvf_convert::{Format, Options, read_table, time_number};
use zvf_edit::Edit;
use zvf_write::arrow::{OF_EDITS, array, column_type, elements, texts, values};
use zvf_write::error::OrBug;
use zvf_write::{AttributeSpec, NumberType, StoreSpec, Values};

use crate::error::{CliError, Result};

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    file: String,
    batch: RecordBatch,
    /// Where a column of the CSV file is in the batch: its name, the column, and the value of a list.
    columns: Vec<(String, usize, usize)>,
    /// The line of the first row; `None` where there are no lines.
    first: Option<usize>,
    /// The column with the object of a row, where one was named.
    object: Option<usize>,
    /// The columns of positions, where they were named.
    position: Vec<usize>,
}

/// What each row of a store with objects has.
const OBJECT: &str = "the id of an object, in each row (`zvf query --select objects` leaves out vertices that belong to none)";

/// A column of an answer, with its name.
type Column = (String, ArrayRef);

impl Table {
    /// Reads a table in the format that is given, or by the ending of its name.
    ///
    /// # Errors
    ///
    /// I/O; a file that is no such table.
    pub(super) fn read(path: &Path, format: Option<&str>) -> Result<Self> {
        let mut options = Options::default();
        options.format = format.and_then(Format::from_name);
        if format == Some("tsv") {
            options.delimiter = Some(b'\t');
        }
        let first = match options.format.map_or_else(|| Format::of(path), Ok)? {
            // The header is line 1.
            Format::Csv => Some(2),
            Format::Ndjson => Some(1),
            _ => None,
        };
        let batch = read_table(path, &options)?;
        let mut table = Self::of(&path.display().to_string(), batch)?;
        table.first = first;
        Ok(table)
    }

    /// A table of an answer.
    ///
    /// # Errors
    ///
    /// A list with a negative size, which Arrow does not make.
    pub(super) fn of(name: &str, batch: RecordBatch) -> Result<Self> {
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
            object: None,
            position: Vec::new(),
        })
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &str {
        &self.file
    }

    /// The table as it is.
    pub(super) fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Names the columns of objects and positions, instead of the usual ones.
    ///
    /// # Errors
    ///
    /// Usage: a column that is not there.
    pub(super) fn name_columns(
        &mut self,
        object: Option<&str>,
        position: Option<&[String]>,
    ) -> Result<()> {
        let find = |name: &str| {
            self.column(name).ok_or_else(|| {
                let names: Vec<&str> = self.columns.iter().map(|(name, ..)| &**name).collect();
                let (file, names) = (&self.file, names.join(", "));
                CliError::usage(format!(
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

    /// Whether a column says to which object a row belongs.
    pub(super) fn has_objects(&self) -> bool {
        self.id_column().is_some()
    }

    /// Columns of a table of objects that are no attributes of the store.
    pub(super) fn unknown_of_objects(&self, known: &[AttributeSpec]) -> BTreeSet<String> {
        let own = [
            "object_id",
            "start",
            "length",
            "vertices",
            "chunks",
            "fragments",
        ];
        self.besides(&own, known)
    }

    /// Columns of a table of links that are no attributes of the store.
    pub(super) fn unknown_of_links(&self, spec: &StoreSpec) -> BTreeSet<String> {
        self.besides(&["vertices"], &spec.links.attributes)
    }

    /// Attributes of an answer besides those of the store.
    fn besides(&self, own: &[&str], known: &[AttributeSpec]) -> BTreeSet<String> {
        let fields = self.batch.schema_ref().fields().iter();
        let names = fields.map(|field| field.name().as_str());
        let names = names.filter(|name| !own.contains(name));
        let names = names.map(|name| name.strip_prefix("attribute:").unwrap_or(name));
        let names = names.filter(|name| known.iter().all(|one| one.name != *name));
        names.map(str::to_owned).collect()
    }

    /// Columns of a table of vertices that are neither positions nor owners nor attributes of the store.
    pub(super) fn unknown(&self, spec: &StoreSpec) -> BTreeSet<String> {
        let mut known = self.position_columns(spec);
        let places = ["chunk", "row", "fragment", "vertex"];
        known.extend(places.iter().flat_map(|name| self.channels(name)));
        known.extend(self.id_column().filter(|_| spec.has_objects()));
        for one in spec.batch_attributes() {
            known.extend(self.channels(&one.name));
        }
        let left = self.columns.iter().enumerate();
        let left = left.filter(|(at, _)| !known.contains(at));
        left.map(|(_, (name, ..))| name.clone()).collect()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(one, ..)| one == name)
    }

    /// The columns `name_0`, `name_1`, …
    fn numbered(&self, name: &str) -> Vec<usize> {
        (0..)
            .map_while(|channel: usize| self.column(&format!("{name}_{channel}")))
            .collect()
    }

    /// The columns of an attribute: its own, or one a channel. Names that a table has for itself stand behind
    /// `attribute:`.
    pub(super) fn channels(&self, name: &str) -> Vec<usize> {
        let of = |name: &str| match self.column(name) {
            Some(at) => vec![at],
            None => self.numbered(name),
        };
        let renamed = of(&format!("attribute:{name}"));
        if renamed.is_empty() {
            of(name)
        } else {
            renamed
        }
    }

    /// The columns of positions: a column an axis, by its name, or one list; none where some are missing.
    fn position_columns(&self, spec: &StoreSpec) -> Vec<usize> {
        if !self.position.is_empty() {
            return match self.position.len() == spec.dims() {
                true => self.position.clone(),
                false => Vec::new(),
            };
        }
        let named = |prefix: &str| -> Vec<usize> {
            let axes = spec.axes.iter();
            axes.filter_map(|axis| self.column(&format!("{prefix}{}", axis.name)))
                .collect()
        };
        // An attribute may be called like an axis; then the axes' columns say so.
        let all = [named("position_"), named(""), self.numbered("position")];
        let mut all = all.into_iter();
        all.find(|columns| columns.len() == spec.dims())
            .unwrap_or_default()
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

    /// The column of the file as it is, where columns are all of one of numbers, and no value of it is missing.
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

    /// The texts of a column.
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

    /// A column in the type of an attribute. A missing float is NaN, a missing moment the number that an import has for it; nothing may be missing of a column that is no attribute: `own` says what it has.
    ///
    /// # Errors
    ///
    /// Usage, where there is no column; malformed, what is no such value.
    fn array(&self, one: &AttributeSpec, columns: &[usize], own: Option<&str>) -> Result<ArrayRef> {
        if columns.is_empty() {
            let (file, name) = (&self.file, &one.name);
            return Err(CliError::usage(format!("{file}: no column {name}")));
        }
        let number = one.values.number();
        let unit = one.unit.as_deref().unwrap_or_default();
        let time = number == Some(NumberType::I64) && time_number("0", unit).is_some();
        if let (Some(_), false, Some(column)) = (number, time, self.whole_column(columns)) {
            if column_type(column.data_type()) == Some((one.values, columns.len())) {
                return Ok(column.clone());
            }
            return Ok(array(
                values(&one.name, column)?.fitted(one)?,
                columns.len(),
            )?);
        }
        macro_rules! parse {
            ($type:ty, $missing:expr) => {
                self.parsed::<$type>(one, columns, own, $missing, |text| text.trim().parse().ok())?
                    .into()
            };
        }
        let optional = own.is_none();
        let values = match number {
            None => {
                let texts = self.cells(columns);
                Values::Text(texts.map(|(_, text)| text.map(Cow::into_owned)).collect())
            }
            // What stands for a missing moment, as an import has it.
            Some(NumberType::I64) if time => {
                let number = |text: &str| time_number(text, unit).flatten();
                self.parsed(one, columns, Some(unit), Some(i64::MIN), number)?
                    .into()
            }
            Some(NumberType::Bool) => {
                let truth = |text: &str| match text.trim() {
                    "true" | "True" | "TRUE" | "1" => Some(true),
                    "false" | "False" | "FALSE" | "0" => Some(false),
                    _ => None,
                };
                self.parsed(one, columns, Some("true or false"), None, truth)?
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
            Some(NumberType::F64) => parse!(f64, optional.then_some(f64::NAN)),
            Some(_) => parse!(f32, optional.then_some(f32::NAN)),
        };
        Ok(array(values, columns.len())?)
    }

    /// The texts of columns, those of a row together, with the numbers of their rows.
    fn cells(&self, columns: &[usize]) -> impl Iterator<Item = (usize, Option<Cow<'_, str>>)> {
        let lists = columns.iter().map(|at| self.texts(*at).into_iter());
        let mut lists: Vec<_> = lists.collect();
        let rows = (0..self.batch.num_rows()).flat_map({
            let width = lists.len();
            move |row| (0..width).map(move |channel| (row, channel))
        });
        rows.map(move |(row, channel)| {
            let next = lists.get_mut(channel).and_then(Iterator::next);
            (row, next.flatten())
        })
    }

    /// The values of the texts of columns; `expected` is the type of the attribute unless it is given.
    fn parsed<T: Copy>(
        &self,
        one: &AttributeSpec,
        columns: &[usize],
        expected: Option<&str>,
        missing: Option<T>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>> {
        let wrong = |row: usize, text: Option<&str>| {
            let found = text.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
            let expected = expected.map_or_else(|| one.values.name(), str::to_owned);
            let place = match self.first {
                Some(first) => format!("line {}", row.saturating_add(first)),
                None => format!("row {row}"),
            };
            let (file, name) = (&self.file, &one.name);
            CliError::malformed(format!(
                "{file}, {place}, column {name}: found {found}, expected {expected}"
            ))
        };
        let value = |(row, text): (usize, Option<Cow<'_, str>>)| {
            let value = text.as_deref().map_or(missing, &parse);
            value.ok_or_else(|| wrong(row, text.as_deref()))
        };
        self.cells(columns).map(value).collect()
    }

    /// Numbers of vertices.
    fn numbers(&self, name: &str, columns: &[usize]) -> Result<Column> {
        let one = AttributeSpec::number(name, NumberType::U64);
        let numbers = self.array(&one, columns, Some("the number of a vertex"))?;
        Ok((name.to_owned(), numbers))
    }

    /// The object of each row; `None` where there is no such column.
    pub(super) fn ids(&self) -> Result<Option<Column>> {
        let one = AttributeSpec::number("object_id", NumberType::I64);
        let ids = self
            .id_column()
            .map(|at| self.array(&one, &[at], Some(OBJECT)));
        Ok(ids.transpose()?.map(|ids| (one.name, ids)))
    }

    /// The positions.
    pub(super) fn positions(&self, spec: &StoreSpec) -> Result<Column> {
        let columns = self.position_columns(spec);
        let mut axes = spec.axes.iter().map(|axis| axis.name.as_str());
        let lost = axes.find(|axis| columns.is_empty() && self.column(axis).is_none());
        let one = AttributeSpec::number(lost.unwrap_or("of positions"), spec.positions);
        let positions = self.array(&one, &columns, Some(&one.values.name()))?;
        Ok(("position".to_owned(), positions))
    }

    /// The values of an attribute.
    ///
    /// # Errors
    ///
    /// Usage, where there is no column; malformed, what is no such value.
    pub(super) fn attribute(&self, one: &AttributeSpec) -> Result<Column> {
        let name = match OF_EDITS.contains(&&*one.name) {
            true => format!("attribute:{}", one.name),
            false => one.name.clone(),
        };
        Ok((name, self.array(one, &self.channels(&one.name), None)?))
    }

    /// A table of columns, and of the attributes that the file has.
    pub(super) fn records(
        &self,
        mut columns: Vec<Column>,
        attributes: &[AttributeSpec],
    ) -> Result<RecordBatch> {
        for one in attributes {
            if !self.channels(&one.name).is_empty() {
                columns.push(self.attribute(one)?);
            }
        }
        Ok(RecordBatch::try_from_iter(columns).or_bug("columns of different lengths")?)
    }

    /// New vertices, with their objects and attributes as far as the store has some.
    pub(super) fn vertices(&self, edit: &Edit) -> Result<RecordBatch> {
        let spec = edit.spec();
        let mut columns = vec![self.positions(spec)?];
        columns.extend(self.ids()?.filter(|_| spec.has_objects()));
        self.records(columns, &edit.vertex_attributes())
    }

    /// New links: their ends are rows of the table of vertices, in columns `vertices_0`, …, or the first ones.
    pub(super) fn links(&self, spec: &StoreSpec) -> Result<RecordBatch> {
        let width = spec.links.width;
        let mut ends = self.numbered("vertices");
        if ends.len() != width {
            ends = (0..width).collect();
        }
        if self.columns.len() < width {
            let file = &self.file;
            return Err(CliError::usage(format!(
                "{file}: expected {width} columns of ends"
            )));
        }
        let ends = self.numbers("vertices", &ends)?;
        self.records(vec![ends], &spec.links.attributes)
    }

    /// The columns that say which vertices are meant: `vertex` and `object_id`; none for all.
    pub(super) fn vertex(&self) -> Result<Vec<Column>> {
        let Some(at) = self.column("vertex") else {
            return Ok(Vec::new());
        };
        let mut columns = vec![self.numbers("vertex", &[at])?];
        columns.extend(self.ids()?);
        Ok(columns)
    }

    /// The columns that say which links are meant: `vertices_0`, …, or `object_id` and `vertex_0`, …; none for all.
    pub(super) fn ends(&self, width: usize) -> Result<Vec<Column>> {
        let (rows, places) = (self.numbered("vertices"), self.numbered("vertex"));
        match self.ids()? {
            _ if rows.len() == width => Ok(vec![self.numbers("vertices", &rows)?]),
            Some(ids) if places.len() == width => Ok(vec![ids, self.numbers("vertex", &places)?]),
            None if rows.is_empty() && places.is_empty() => Ok(Vec::new()),
            _ => Err(CliError::usage(format!(
                "{}: expected columns vertices_0 to vertices_{last}, or object_id and vertex_0 to vertex_{last}, or none of them",
                self.file,
                last = width.saturating_sub(1)
            ))),
        }
    }
}
