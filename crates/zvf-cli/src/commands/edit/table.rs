//! Tables of texts: what `zvf query` and `zvf links` write, read back.
//!
//! NDJSON and every table that `zvf import` reads become the same: columns as a CSV file has them (a list is a column for each of its
//! values), and a text for each value, which is exact, since floats are written with the digits that read back as the same value.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Map, Value};
use zvf_convert::output::{cells, column_names};
use zvf_convert::{Format, Options, read_table, time_number};
use zvf_edit::At;
use zvf_write::{AttributeSpec, AttributeType, NumberType, StoreSpec, Values};

use crate::error::{CliError, Result};

/// Whether a table is NDJSON, by the format that is given or by the ending of its name.
pub(super) fn is_ndjson(path: &Path, format: Option<&str>) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let name = format.or(ending).map(str::to_ascii_lowercase);
    matches!(name.as_deref(), Some("ndjson" | "jsonl"))
}

/// A table of texts.
#[derive(Debug, Default)]
pub(super) struct Table {
    file: String,
    names: Vec<String>,
    /// `None`: no value.
    rows: Vec<Vec<Option<String>>>,
    /// The line of the first row; `None` where there are no lines.
    first: Option<usize>,
}

/// A value with the number of its row.
type Cell<'t> = (usize, Option<&'t str>);

impl Table {
    /// Reads a table in the format that is given, or by the ending of its name: `ndjson`, or one of those that an import reads.
    ///
    /// # Errors
    ///
    /// I/O; a file that is no such table.
    pub(super) fn read(path: &Path, format: Option<&str>) -> Result<Self> {
        let mut table = match is_ndjson(path, format) {
            true => Self::ndjson(path)?,
            false => {
                let mut table = Self::default();
                let mut options = Options::default();
                options.format = format.and_then(Format::from_name);
                if format == Some("tsv") {
                    options.delimiter = Some(b'\t');
                }
                if options.format.map_or_else(|| Format::of(path), Ok)? == Format::Csv {
                    // The header is line 1.
                    table.first = Some(2);
                }
                let schema = read_table(path, &options, &mut |batch| {
                    table.rows.extend(cells(batch));
                    Ok(())
                })?;
                table.names = column_names(&schema);
                table
            }
        };
        table.file = path.display().to_string();
        Ok(table)
    }

    fn ndjson(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| CliError::file("read", path, &error);
        let mut table = Self {
            first: Some(1),
            ..Self::default()
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        let lines = BufReader::new(File::open(path).map_err(failed)?).lines();
        for (at, line) in lines.enumerate() {
            let line = line.map_err(failed)?;
            let wrong = |what: &str| {
                let line = at.saturating_add(1);
                CliError::malformed(format!("{}, line {line}: {what}", path.display()))
            };
            let members: Map<String, Value> =
                serde_json::from_str(&line).map_err(|error| wrong(&error.to_string()))?;
            let mut row = Vec::new();
            for (name, text) in flat(members).map_err(|what| wrong(&what))? {
                let at = *places.entry(name.clone()).or_insert_with(|| {
                    table.names.push(name);
                    table.names.len().saturating_sub(1)
                });
                if row.len() <= at {
                    row.resize(at.saturating_add(1), None);
                }
                if let Some(place) = row.get_mut(at) {
                    *place = text;
                }
            }
            table.rows.push(row);
        }
        Ok(table)
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
        self.rows.len()
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
        let left = self.names.iter().enumerate();
        let left = left.filter(|(at, _)| !known.contains(at));
        left.map(|(_, name)| name.clone()).collect()
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
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

    fn cells(&self, columns: &[usize], what: &str) -> Result<Vec<Cell<'_>>> {
        if columns.is_empty() {
            return Err(CliError::usage(format!("{}: no column {what}", self.file)));
        }
        let mut cells = Vec::new();
        for (line, row) in self.rows.iter().enumerate() {
            for &at in columns {
                cells.push((line, row.get(at).and_then(Option::as_deref)));
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
        let cells = self.cells(columns, "of positions")?;
        self.numbers("of positions", spec.positions, &cells, false)
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
    fn whole<T: std::str::FromStr>(
        &self,
        columns: &[usize],
        what: &str,
        expected: &str,
    ) -> Result<Vec<T>> {
        let cells = self.cells(columns, what)?.into_iter();
        cells
            .map(|(line, text)| {
                let number = text.unwrap_or_default().trim().parse();
                number.map_err(|_| self.wrong(line, what, text, expected))
            })
            .collect()
    }

    /// The values of an attribute. A float that is missing is NaN.
    ///
    /// # Errors
    ///
    /// Usage, where there is no column; malformed, what is no such value.
    pub(super) fn values(&self, one: &AttributeSpec) -> Result<Values<'static>> {
        let columns = self.channels(&one.name);
        let cells = self.cells(&columns, &one.name)?;
        match one.values {
            AttributeType::Number(NumberType::I64) if one.unit.as_deref().is_some_and(is_time) => {
                let unit = one.unit.as_deref().unwrap_or_default();
                let number = |(line, text): &Cell<'_>| match text {
                    // What stands for a missing moment, as an import has it.
                    None => Ok(i64::MIN),
                    Some(text) => time_number(text, unit)
                        .flatten()
                        .ok_or_else(|| self.wrong(*line, &one.name, Some(text), unit)),
                };
                let numbers = cells.iter().map(number);
                Ok(numbers.collect::<Result<Vec<i64>>>()?.into())
            }
            AttributeType::Number(number) => self.numbers(&one.name, number, &cells, true),
            AttributeType::Category | AttributeType::Text => {
                let texts = cells.iter().map(|(_, text)| text.map(str::to_owned));
                Ok(Values::Text(texts.collect()))
            }
        }
    }

    fn numbers(
        &self,
        what: &str,
        number: NumberType,
        cells: &[Cell<'_>],
        missing: bool,
    ) -> Result<Values<'static>> {
        let expected = number.to_string();
        macro_rules! parse {
            ($type:ty) => {
                parse!($type, "")
            };
            ($type:ty, $missing:expr) => {{
                let mut numbers: Vec<$type> = Vec::with_capacity(cells.len());
                for (line, text) in cells {
                    let one = text.unwrap_or($missing).trim().parse();
                    numbers.push(one.map_err(|_| self.wrong(*line, what, *text, &expected))?);
                }
                numbers
            }};
        }
        let nan = if missing { "NaN" } else { "" };
        Ok(match number {
            NumberType::Bool => {
                let flag = |(line, text): &Cell<'_>| match text.unwrap_or_default().trim() {
                    "true" | "True" | "TRUE" | "1" => Ok(true),
                    "false" | "False" | "FALSE" | "0" => Ok(false),
                    _ => Err(self.wrong(*line, what, *text, "true or false")),
                };
                cells
                    .iter()
                    .map(flag)
                    .collect::<Result<Vec<bool>>>()?
                    .into()
            }
            NumberType::I8 => parse!(i8).into(),
            NumberType::I16 => parse!(i16).into(),
            NumberType::I32 => parse!(i32).into(),
            NumberType::I64 => parse!(i64).into(),
            NumberType::U8 => parse!(u8).into(),
            NumberType::U16 => parse!(u16).into(),
            NumberType::U32 => parse!(u32).into(),
            NumberType::U64 => parse!(u64).into(),
            NumberType::F16 | NumberType::F32 => parse!(f32, nan).into(),
            NumberType::F64 => parse!(f64, nan).into(),
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
            columns = (0..width.min(self.names.len())).collect();
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

/// The columns of one line: lists as a column for each of their values, but lists of owners as one text.
fn flat(members: Map<String, Value>) -> std::result::Result<Vec<(String, Option<String>)>, String> {
    let text = |name: &str, value: Value| match value {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::String(text) => Ok(Some(text)),
        Value::Array(_) | Value::Object(_) => Err(format!(
            "member {name:?}: expected a value or a list of values"
        )),
    };
    let mut columns = Vec::new();
    for (name, value) in members {
        match value {
            Value::Array(list) if name == "object_ids" => {
                let texts = list.into_iter().map(|one| text(&name, one));
                let texts: Vec<String> = texts
                    .map(|one| one.map(Option::unwrap_or_default))
                    .collect::<std::result::Result<_, _>>()?;
                columns.push((name, Some(texts.join(" "))));
            }
            Value::Array(list) => {
                for (channel, one) in list.into_iter().enumerate() {
                    columns.push((format!("{name}_{channel}"), text(&name, one)?));
                }
            }
            value => {
                let value = text(&name, value)?;
                columns.push((name, value));
            }
        }
    }
    Ok(columns)
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
