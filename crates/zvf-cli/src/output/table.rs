//! Aligned text for people: columns of a small table, sizes, counts.

use std::fmt::{Display, Write as _};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use zvf_convert::output::{Style, write_value};
use zvf_jobs::TableRows;
pub(crate) use zvf_jobs::words::{count, counted, size};

/// Longest text of one value in a table, in characters.
const WIDEST: usize = 48;

/// Rows of text under a header; numbers are aligned at the right.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with these column titles.
    pub(crate) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Self {
            header: header.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// The text of a table of batches; `add` adds the rows of one batch.
    pub(crate) fn of(rows: &TableRows, add: fn(&mut Self, &RecordBatch)) -> String {
        let mut table = Self::new(
            rows.schema
                .fields()
                .iter()
                .map(|field| field.name().clone()),
        );
        for batch in &rows.batches {
            add(&mut table, batch);
        }
        table.render(0)
    }

    /// Adds a row; values that are missing at its end stay blank.
    pub(crate) fn row<S: Into<String>>(&mut self, values: impl IntoIterator<Item = S>) {
        self.rows.push(
            values
                .into_iter()
                .map(|value| shorten(&value.into()))
                .collect(),
        );
    }

    /// Adds the rows of a batch; the elements of lists are separated by spaces.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) {
        for row in 0..batch.num_rows() {
            self.row(batch.columns().iter().map(|column| value(column, row)));
        }
    }

    /// Adds the rows of a batch of computed numbers, in [`digits`].
    pub(crate) fn computed(&mut self, batch: &RecordBatch) {
        for row in 0..batch.num_rows() {
            self.row(batch.columns().iter().map(|column| {
                match column.as_primitive_opt::<Float64Type>() {
                    Some(numbers) if numbers.is_valid(row) => digits(numbers.value(row)),
                    Some(_) => String::new(),
                    None => value(column, row),
                }
            }));
        }
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The table, with every line indented by `indent` spaces and ended by a line break.
    pub(crate) fn render(&self, indent: usize) -> String {
        let rows = || [&self.header].into_iter().chain(&self.rows);
        let columns = rows().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, i: usize| row.get(i).cloned().unwrap_or_default();
        let width = |i: usize| rows().map(|row| cell(row, i).chars().count()).max();
        let widths: Vec<usize> = (0..columns).filter_map(width).collect();
        let numeric = |i: usize| self.rows.iter().all(|row| is_number(&cell(row, i)));
        let numeric = (0..columns).map(|i| !self.rows.is_empty() && numeric(i));
        let numeric: Vec<bool> = numeric.collect();
        let mut out = String::new();
        for row in rows() {
            let mut line = " ".repeat(indent);
            for (i, (&width, &numeric)) in widths.iter().zip(&numeric).enumerate() {
                if i > 0 {
                    line.push_str("  ");
                }
                let text = cell(row, i);
                let pad = " ".repeat(width.saturating_sub(text.chars().count()));
                let _ = if numeric {
                    write!(line, "{pad}{text}")
                } else {
                    write!(line, "{text}{pad}")
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// A value of a column as text.
fn value(column: &ArrayRef, row: usize) -> String {
    let mut text = String::new();
    write_value(&mut text, column.as_ref(), row, Style::Text);
    text
}

/// Whether a value is aligned like a number: numbers, lists of numbers, empty texts and `-`.
fn is_number(text: &str) -> bool {
    text.is_empty()
        || text == "-"
        || text
            .split([' ', ','])
            .all(|part| part.replace(',', "").parse::<f64>().is_ok())
}

/// A value without control characters, cut to [`WIDEST`] characters.
fn shorten(text: &str) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if clean.chars().count() <= WIDEST {
        return clean;
    }
    clean.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// A number as a short text: the fewest digits that read back as this float32, or float64, with an exponent if it is very large or small, so
/// that [`shorten`] does not cut it.
pub(crate) fn shortest(number: f64) -> String {
    let size = number.abs();
    let far = number.is_finite() && number != 0.0 && !(1e-5..1e16).contains(&size);
    #[expect(clippy::cast_possible_truncation, reason = "compared afterwards")]
    let single = number as f32;
    match (f64::from(single) == number, far) {
        (true, false) => single.to_string(),
        (true, true) => format!("{single:e}"),
        (false, false) => number.to_string(),
        (false, true) => format!("{number:e}"),
    }
}

/// A computed number: eight significant digits, but all digits before the decimal point.
pub(crate) fn digits(number: f64) -> String {
    let rounded = match (1e7..1e16).contains(&number.abs()) {
        true => format!("{number:.0}"),
        false => format!("{number:.7e}"),
    };
    rounded.parse().map_or(rounded, shortest)
}

/// The values as texts, separated by `between`.
pub(crate) fn joined(values: impl IntoIterator<Item: Display>, between: &str) -> String {
    let texts: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(between)
}

/// Each count with its noun; counts of 0 are left out.
pub(crate) fn tally<'n>(
    counts: impl IntoIterator<Item = (u64, &'n str)>,
) -> impl Iterator<Item = String> {
    let some = counts.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, one)| counted(n, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_size() {
        for (number, exact, computed) in [
            (0.1_f32.into(), "0.1", "0.1"),
            (1.0 / 3.0, "0.3333333333333333", "0.33333333"),
            (5_336_000.062_5, "5336000.0625", "5336000.1"),
            (1_700_000_049.25, "1700000049.25", "1700000049"),
            (1e-60, "1e-60", "1e-60"),
            (2e60, "2e60", "2e60"),
            (0.0, "0", "0"),
            (f64::NEG_INFINITY, "-inf", "-inf"),
        ] {
            assert_eq!(shortest(number), exact);
            assert_eq!(digits(number), computed);
        }
    }

    #[test]
    fn columns_align() {
        let mut table = TextTable::new(["id", "name"]);
        table.row(["7", "glia"]);
        table.row(["-400", "n"]);
        assert_eq!(table.render(2), "    id  name\n     7  glia\n  -400  n\n");
        assert_eq!(table.len(), 2);
    }
}
