//! Files that contain only the values of one attribute, for the vertices of another file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use zvf_encode::error::OrBug;
use zvf_format::int::wide;
use zvf_write::narrow;

use super::open::read_source;
use crate::bytes::Bytes;
use crate::error::{ConvertError, InFile};
use crate::options::Options;
use crate::table::text::fields::Fields;
use crate::tck::read::{Scalars, scalars};
use crate::text::without_bom;
use crate::{Format, npy};

/// Longest line of values.
const LONGEST_LINE: u64 = 1 << 28;
/// Most bytes of the texts in one Arrow column.
const MOST_TEXT: u64 = i32::MAX as u64;

/// The values of one attribute, from a file without other data: an array of NumPy (`.npy`), track scalars of MRtrix (`.tsf`), or a text
/// file of numbers without a header line.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AttributeFile {
    /// The column NAME, or `NAME_0`, `NAME_1`, … if rows have several values. The numbers of a text file are a column of texts.
    pub values: RecordBatch,
    /// The number of rows of each object, if the file separates objects: by streamlines in `.tsf`, by lines in a text file.
    pub lengths: Option<Vec<u64>>,
}

impl AttributeFile {
    /// Reads such a file as the attribute `name`; `None` if it is a table with names of columns, for [`read_table`](crate::read_table).
    ///
    /// In a text file, each line is a row; a single line has one value for each row. With `by_object`, each line is an object, with one value for each
    /// of its rows. Lines that begin with `#` are left out.
    ///
    /// # Cost
    /// The memory of the values.
    ///
    /// # Errors
    /// I/O. Malformed: a file that violates its format; a text file with a value that is not a number after the first line, or with lines of
    /// different lengths unless `by_object`. Limit: a text file of 2^31 bytes or more.
    pub fn read(
        path: &Path,
        name: &str,
        by_object: bool,
        options: &Options,
    ) -> Result<Option<Self>, ConvertError> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ending.eq_ignore_ascii_case("tsf")) {
            return Self::of_scalars(scalars(path)?, name).map(Some);
        }
        match options.format.map_or_else(|| Format::of(path), Ok)? {
            Format::Npy => {
                let values = read_source(path, &npy::Npy::open_as(path, name)?, options.batch)?;
                let lengths = None;
                Ok(Some(Self { values, lengths }))
            }
            Format::Csv if options.columns_in.is_none() => {
                Self::of_text(path, name, by_object, options)
            }
            _ => Ok(None),
        }
    }

    fn of_scalars(found: Scalars, name: &str) -> Result<Self, ConvertError> {
        let values: ArrayRef = match found.double {
            true => Arc::new(Float64Array::from(found.values)),
            // Exact: the numbers were read as float32.
            false => Arc::new(Float32Array::from_iter_values(
                found.values.into_iter().map(narrow),
            )),
        };
        Ok(Self {
            values: batch(vec![(name.to_owned(), values)])?,
            lengths: Some(found.lengths),
        })
    }

    fn of_text(
        path: &Path,
        name: &str,
        by_object: bool,
        options: &Options,
    ) -> Result<Option<Self>, ConvertError> {
        let fields = Fields::of(options);
        let mut bytes = Bytes::open(path)?;
        let (mut words, mut lengths, mut size) = (Vec::<String>::new(), Vec::new(), 0_u64);
        for number in 1_u64.. {
            let Some(line) = bytes.line(LONGEST_LINE)? else {
                break;
            };
            let text = String::from_utf8_lossy(&line);
            let text = without_bom(&text).trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let of_line = split(text, options);
            let is_first = lengths.is_empty();
            if is_first && of_line.contains(&name) {
                return Ok(None);
            }
            if let Some(word) = of_line.iter().find(|word| fields.number(word).is_none()) {
                if is_first {
                    return Ok(None);
                }
                let expected = "a number: the first line has no names of columns";
                let place = InFile::Line(number);
                return Err(ConvertError::malformed(
                    path,
                    place,
                    format!("{word:?}"),
                    expected,
                ));
            }
            size = size.saturating_add(wide(line.len()));
            if size > MOST_TEXT {
                let what = "bytes of values in a text (an array, .npy, may be larger)";
                return Err(ConvertError::limit(
                    path,
                    InFile::Line(number),
                    what,
                    MOST_TEXT,
                ));
            }
            lengths.push(wide(of_line.len()));
            words.extend(of_line.into_iter().map(str::to_owned));
        }
        if lengths.is_empty() {
            return Ok(None);
        }
        let is_flat = lengths.len() == 1 || lengths.iter().all(|length| *length == 1);
        if is_flat || by_object {
            let values: ArrayRef = Arc::new(StringArray::from(words));
            return Ok(Some(Self {
                values: batch(vec![(name.to_owned(), values)])?,
                lengths: (!is_flat).then_some(lengths),
            }));
        }
        let width = lengths.first().copied().or_bug("lines without lengths")?;
        if let Some(other) = lengths.iter().find(|length| **length != width) {
            let found = format!("lines of {width} and of {other} values");
            let expected = "the same number in each line (--by-object-order: a line for each object, with a value for each of its vertices)";
            return Err(ConvertError::malformed(
                path,
                InFile::Whole,
                found,
                expected,
            ));
        }
        let width = usize::try_from(width).or_bug("more values than memory")?;
        let column = |at: usize| {
            let values = words.iter().skip(at).step_by(width.max(1));
            let values: ArrayRef = Arc::new(StringArray::from_iter_values(values));
            (format!("{name}_{at}"), values)
        };
        Ok(Some(Self {
            values: batch((0..width).map(column).collect())?,
            lengths: None,
        }))
    }
}

/// The fields of a line, separated by the delimiter of the options, else by commas, else by blanks.
fn split<'t>(text: &'t str, options: &Options) -> Vec<&'t str> {
    let comma = (!options.decimal_comma && text.contains(',')).then_some(b',');
    match options.delimiter.or(comma) {
        Some(delimiter) => text.split(char::from(delimiter)).map(str::trim).collect(),
        None => text.split_whitespace().collect(),
    }
}

fn batch(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch, ConvertError> {
    Ok(RecordBatch::try_from_iter(columns).or_bug("columns of different lengths")?)
}
