//! Comma-separated values: a header line, then one line per row.
//!
//! Positions become one column per axis, several channels `name_0`, `name_1`, …; lists are joined with blanks, dictionary
//! codes become their values, absent values are empty.

use std::io::{self, Write};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use zvf_query::numbers::elements;

use super::value::{Style, write_value};
use super::{TableWriter, batch_with_times};

/// Writes one table as CSV.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    inner: csv::Writer<W>,
    text: String,
}

impl<W: Write> CsvWriter<W> {
    /// Begins a file with its header line.
    ///
    /// # Errors
    ///
    /// When the header cannot be written.
    pub fn new(out: W, schema: &Schema) -> io::Result<Self> {
        Self::with_delimiter(out, schema, b',')
    }

    /// Begins a file with its header line and another byte between columns.
    ///
    /// # Errors
    ///
    /// When the header cannot be written.
    pub fn with_delimiter(out: W, schema: &Schema, delimiter: u8) -> io::Result<Self> {
        let mut inner = csv::WriterBuilder::new()
            .buffer_capacity(1 << 16)
            .delimiter(delimiter)
            .from_writer(out);
        inner.write_record(column_names(schema)).map_err(io_error)?;
        Ok(Self {
            inner,
            text: String::new(),
        })
    }

    /// Flushes the buffer, and returns the inner writer.
    ///
    /// # Errors
    ///
    /// I/O.
    pub(crate) fn into_inner(self) -> io::Result<W> {
        self.inner
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)
    }
}

impl<W: Write> TableWriter for CsvWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let batch = &batch_with_times(batch)?;
        let columns: Vec<Flat<'_>> = batch.columns().iter().map(Flat::of).collect();
        for row in 0..batch.num_rows() {
            for column in &columns {
                for channel in 0..column.width {
                    self.text.clear();
                    column.write(&mut self.text, row, channel);
                    self.inner.write_field(&self.text).map_err(io_error)?;
                }
            }
            self.inner.write_record(None::<&[u8]>).map_err(io_error)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A flattened column: a list of fixed size becomes one text column for each element; every other type becomes one.
#[derive(Debug)]
struct Flat<'a> {
    rows: &'a ArrayRef,
    /// The elements of all rows, for a list of fixed size.
    elements: Option<ArrayRef>,
    width: usize,
}

impl<'a> Flat<'a> {
    fn of(rows: &'a ArrayRef) -> Self {
        let listed = matches!(rows.data_type(), DataType::FixedSizeList(..));
        let (elements, width) = elements(rows);
        Self {
            rows,
            elements: listed.then_some(elements),
            width,
        }
    }

    fn is_absent(&self, row: usize, channel: usize) -> bool {
        let at = row.saturating_mul(self.width).saturating_add(channel);
        let element = self.elements.as_ref();
        self.rows.is_null(row) || element.is_some_and(|all| at < all.len() && all.is_null(at))
    }

    fn write(&self, out: &mut String, row: usize, channel: usize) {
        match &self.elements {
            None => write_value(out, self.rows.as_ref(), row, Style::Text),
            Some(_) if self.rows.is_null(row) => {}
            Some(elements) => {
                let at = row.saturating_mul(self.width).saturating_add(channel);
                write_value(out, elements.as_ref(), at, Style::Text);
            }
        }
    }
}

/// The rows of a batch as texts of its flattened columns; `None` for a missing value.
#[must_use]
pub fn cells(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let columns: Vec<Flat<'_>> = batch.columns().iter().map(Flat::of).collect();
    let text = |column: &Flat<'_>, row: usize, channel: usize| {
        let mut text = String::new();
        column.write(&mut text, row, channel);
        (!column.is_absent(row, channel)).then_some(text)
    };
    let row = |row: usize| {
        let cells = columns
            .iter()
            .flat_map(|column| (0..column.width).map(move |channel| text(column, row, channel)));
        cells.collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The header: names of the flattened columns. The channels of `v` are `v_0`, `v_1`, ..., or `v[0]`, `v[1]`, ... if another column has such a name.
#[must_use]
pub fn column_names(schema: &Schema) -> Vec<String> {
    let axes = super::axis_names(schema);
    let mut names = Vec::new();
    let is_column = |name: &str| schema.fields().iter().any(|other| other.name() == name);
    // Attributes may be called `x` or `position_x`, too. In this case, all columns of positions have a prefix, or numbers.
    let prefix = ["", "position_"].into_iter().find(|prefix| {
        let mut names = axes.iter().map(|axis| format!("{prefix}{axis}"));
        !names.any(|name| is_column(&name))
    });
    for field in schema.fields() {
        let DataType::FixedSizeList(_, width) = field.data_type() else {
            names.push(field.name().clone());
            continue;
        };
        let width = usize::try_from(*width).unwrap_or(0);
        let plain = |channel: usize| format!("{}_{channel}", field.name());
        let clashes = (0..width).any(|channel| is_column(&plain(channel)));
        for channel in 0..width {
            let axis = axes.get(channel).filter(|_| field.name() == "position");
            names.push(match axis.zip(prefix) {
                Some((axis, prefix)) => format!("{prefix}{axis}"),
                None if clashes => format!("{}[{channel}]", field.name()),
                None => plain(channel),
            });
        }
    }
    names
}

/// The I/O error inside a CSV error, or the CSV error as an I/O error.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    }
}
