//! Tables that edits take: what `zvf query` and `zvf links` write, read back, and every other table that `zvf import` reads.
//!
//! Columns have the names that they have in a CSV file: a list is a column for each of its values. Numbers of a file with types are
//! taken as they are, those of a file of text are parsed for the attribute that they are for: both are exact.

use std::borrow::Cow;
use std::path::Path;
use std::str::FromStr;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use zvf_convert::output::{cells, column_names};
use zvf_convert::{Format, Options, read_table, time_number};
use zvf_edit::At;
use zvf_write::arrow::{column_type, elements, texts, values};
use zvf_write::{AttributeSpec, AttributeType, NumberType, StoreSpec, Values};

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
}

/// A value with the number of its row.
type Cell<'t> = (usize, Option<Cow<'t, str>>);

impl Table {
    /// No column.
    pub(super) fn empty() -> Self {
        Self {
            file: String::new(),
            batch: RecordBatch::new_empty(Schema::empty().into()),
            columns: Vec::new(),
            first: None,
        }
    }

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
        let mut places = Vec::new();
        for (at, column) in batch.columns().iter().enumerate() {
            let (_, width) = elements(column)?;
            places.extend((0..width).map(|channel| (at, channel)));
        }
        let names = column_names(batch.schema_ref()).into_iter();
        let columns = names.zip(places);
        Ok(Self {
            file: path.display().to_string(),
            columns: columns
                .map(|(name, (at, channel))| (name, at, channel))
                .collect(),
            batch,
            first,
        })
    }

    /// Something else stands in a row of a column.
    fn wrong(&self, row: usize, column: &str, found: Option<&str>, expected: &str) -> CliError {
        let found = found.map_or_else(|| "nothing".to_owned(), |text| format!("{text:?}"));
        let place = match self.first {
            Some(first) => format!("line {}", row.saturating_add(first)),
            None => format!("row {row}"),
        };
        CliError::malformed(format!(
            "{}, {place}, column {column}: found {found}, expected {expected}",
            self.file
        ))
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Columns of a table of vertices that are neither positions nor owners nor attributes of the store.
    pub(super) fn unknown(&self, spec: &StoreSpec) -> Vec<String> {
        let mut known: Vec<usize> = ["chunk", "position"]
            .iter()
            .flat_map(|name| self.numbered(name))
            .collect();
        for name in ["object_id", "object_ids", "row", "fragment", "vertex"] {
            known.extend(self.column(name));
        }
        for axis in &spec.axes {
            known.extend(self.column(&axis.name));
            known.extend(self.column(&format!("position_{}", axis.name)));
        }
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

    /// The columns as one of numbers, where they are one in the file and no value of it is missing.
    fn whole_column(&self, columns: &[usize]) -> Result<Option<&ArrayRef>> {
        let places = columns.iter().filter_map(|at| self.columns.get(*at));
        let places: Vec<(usize, usize)> = places.map(|(_, at, channel)| (*at, *channel)).collect();
        let Some(column) = places
            .first()
            .and_then(|(at, _)| self.batch.columns().get(*at))
        else {
            return Ok(None);
        };
        let (items, width) = elements(column)?;
        if column.null_count() > 0 || items.null_count() > 0 {
            return Ok(None);
        }
        let first = places.first().map_or(0, |(at, _)| *at);
        let all = (0..width).map(|channel| (first, channel));
        let number = column_type(column.data_type());
        let number = matches!(number, Some((AttributeType::Number(_), _)));
        Ok((number && all.eq(places)).then_some(column))
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

    fn cells(&self, columns: &[usize], what: &str) -> Result<Vec<Cell<'_>>> {
        if columns.is_empty() {
            return Err(CliError::usage(format!("{}: no column {what}", self.file)));
        }
        let mut lists: Vec<_> = columns.iter().map(|at| self.texts(*at)).collect();
        let mut cells = Vec::new();
        for row in 0..self.len() {
            for list in &mut lists {
                cells.push((row, list.get_mut(row).and_then(Option::take)));
            }
        }
        Ok(cells)
    }

    /// The positions: a column an axis, by its name, or one list.
    ///
    /// # Errors
    ///
    /// Usage, where there is none; malformed, what is no number.
    pub(super) fn positions(&self, spec: &StoreSpec) -> Result<Values<'static>> {
        let named = |prefix: &str| -> Vec<usize> {
            let names = spec.axes.iter();
            names
                .filter_map(|axis| self.column(&format!("{prefix}{}", axis.name)))
                .collect()
        };
        // An attribute may be called like an axis; then the axes' columns say so.
        let all = [named("position_"), named(""), self.numbered("position")];
        let Some(columns) = all.iter().find(|columns| columns.len() == spec.dims()) else {
            let missing = spec
                .axes
                .iter()
                .find(|axis| self.column(&axis.name).is_none());
            let name = missing.map_or("position", |axis| axis.name.as_str());
            return Err(CliError::usage(format!("{}: no column {name}", self.file)));
        };
        let one = AttributeSpec::number("of positions", spec.positions);
        self.numbers(&one, spec.positions, columns, "")
    }

    /// The object of each row; `None` where there is no such column.
    ///
    /// # Errors
    ///
    /// Malformed: what is no id.
    pub(super) fn ids(&self) -> Result<Option<Vec<i64>>> {
        let names = ["object_id", "object_ids"];
        let Some(at) = names.iter().find_map(|name| self.column(name)) else {
            return Ok(None);
        };
        self.whole(&[at], "object_id", "an id").map(Some)
    }

    /// Whole numbers.
    fn whole<T: FromStr>(&self, columns: &[usize], what: &str, expected: &str) -> Result<Vec<T>> {
        self.parsed(columns, what, expected, "")
    }

    /// Values that are parsed; one that is missing is that of the text `missing`.
    fn parsed<T: FromStr>(
        &self,
        columns: &[usize],
        what: &str,
        expected: &str,
        missing: &str,
    ) -> Result<Vec<T>> {
        let value = |(row, text): Cell<'_>| {
            let text = text.as_deref();
            let value = text.unwrap_or(missing).trim().parse();
            value.map_err(|_| self.wrong(row, what, text, expected))
        };
        self.cells(columns, what)?.into_iter().map(value).collect()
    }

    /// The values of an attribute. A float that is missing is NaN.
    ///
    /// # Errors
    ///
    /// Usage, where there is no column; malformed, what is no such value.
    pub(super) fn values(&self, one: &AttributeSpec) -> Result<Values<'static>> {
        let columns = self.channels(&one.name);
        match one.values {
            AttributeType::Number(NumberType::I64) if one.unit.as_deref().is_some_and(is_time) => {
                let unit = one.unit.as_deref().unwrap_or_default();
                let number = |(row, text): Cell<'_>| match text.as_deref() {
                    // What stands for a missing moment, as an import has it.
                    None => Ok(i64::MIN),
                    Some(text) => time_number(text, unit)
                        .flatten()
                        .ok_or_else(|| self.wrong(row, &one.name, Some(text), unit)),
                };
                let cells = self.cells(&columns, &one.name)?.into_iter();
                Ok(cells.map(number).collect::<Result<Vec<i64>>>()?.into())
            }
            AttributeType::Number(number) => self.numbers(one, number, &columns, "NaN"),
            AttributeType::Category | AttributeType::Text => {
                let cells = self.cells(&columns, &one.name)?.into_iter();
                let texts = cells.map(|(_, text)| text.map(Cow::into_owned));
                Ok(Values::Text(texts.collect()))
            }
        }
    }

    /// Numbers for an attribute; a float that is missing is that of the text `missing`.
    fn numbers(
        &self,
        one: &AttributeSpec,
        number: NumberType,
        columns: &[usize],
        missing: &str,
    ) -> Result<Values<'static>> {
        if let Some(column) = self.whole_column(columns)? {
            return Ok(values(&one.name, column)?.fitted(one)?);
        }
        let expected = number.to_string();
        macro_rules! parse {
            ($type:ty, $missing:expr) => {
                self.parsed::<$type>(columns, &one.name, &expected, $missing)?
                    .into()
            };
        }
        Ok(match number {
            NumberType::Bool => {
                let flag = |(row, text): Cell<'_>| match text.as_deref().unwrap_or_default().trim()
                {
                    "true" | "True" | "TRUE" | "1" => Ok(true),
                    "false" | "False" | "FALSE" | "0" => Ok(false),
                    _ => Err(self.wrong(row, &one.name, text.as_deref(), "true or false")),
                };
                let cells = self.cells(columns, &one.name)?.into_iter();
                cells.map(flag).collect::<Result<Vec<bool>>>()?.into()
            }
            NumberType::I8 => parse!(i8, ""),
            NumberType::I16 => parse!(i16, ""),
            NumberType::I32 => parse!(i32, ""),
            NumberType::I64 => parse!(i64, ""),
            NumberType::U8 => parse!(u8, ""),
            NumberType::U16 => parse!(u16, ""),
            NumberType::U32 => parse!(u32, ""),
            NumberType::U64 => parse!(u64, ""),
            NumberType::F16 | NumberType::F32 => parse!(f32, missing),
            NumberType::F64 => parse!(f64, missing),
        })
    }

    /// The ends of new links, as rows of the table of vertices: columns `vertices_0`, …, or the first ones.
    ///
    /// # Errors
    ///
    /// Usage, where there are too few columns; malformed, what is no row number.
    pub(super) fn rows(&self, width: usize) -> Result<Vec<u64>> {
        let mut columns = self.numbered("vertices");
        if columns.len() != width {
            columns = (0..width.min(self.columns.len())).collect();
        }
        if columns.len() != width {
            let file = &self.file;
            return Err(CliError::usage(format!(
                "{file}: expected {width} columns of ends"
            )));
        }
        self.whole(&columns, "of ends", "a row number")
    }
}

/// Whether a unit is one of moments, dates, times or durations.
fn is_time(unit: &str) -> bool {
    time_number("0", unit).is_some()
}

/// Which vertices a table is about, or which links.
#[derive(Debug)]
pub(super) enum Place {
    All,
    Rows(Vec<u64>),
    Objects(Vec<(i64, u64)>),
}

impl Place {
    /// The vertices: columns `vertex` and `object_id`.
    pub(super) fn of(table: &Table) -> Result<Self> {
        let Some(at) = table.column("vertex") else {
            return Ok(Self::All);
        };
        let rows = table.whole(&[at], "vertex", "the number of a vertex")?;
        Ok(match table.ids()? {
            Some(ids) => Self::Objects(ids.into_iter().zip(rows).collect()),
            None => Self::Rows(rows),
        })
    }

    /// The ends of links: columns `vertices_0`, …, or `object_id` and `vertex_0`, …
    pub(super) fn of_links(table: &Table, width: usize) -> Result<Self> {
        let expected = "the number of a vertex";
        let rows = table.numbered("vertices");
        if rows.len() == width {
            return Ok(Self::Rows(table.whole(&rows, "vertices_0", expected)?));
        }
        let places = table.numbered("vertex");
        match table.ids()? {
            Some(ids) if places.len() == width => {
                let places: Vec<u64> = table.whole(&places, "vertex_0", expected)?;
                let ids = ids
                    .into_iter()
                    .flat_map(|id| std::iter::repeat_n(id, width));
                Ok(Self::Objects(ids.zip(places).collect()))
            }
            None if rows.is_empty() && places.is_empty() => Ok(Self::All),
            _ => Err(CliError::usage(format!(
                "{}: expected columns vertices_0 to vertices_{last}, or object_id and vertex_0 to vertex_{last}, or none of them",
                table.file,
                last = width.saturating_sub(1)
            ))),
        }
    }

    pub(super) fn at(&self) -> At<'_> {
        match self {
            Self::All => At::All,
            Self::Rows(rows) => At::Rows(rows),
            Self::Objects(places) => At::Objects(places),
        }
    }
}
