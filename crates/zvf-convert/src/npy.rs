//! NPY: one array of positions, `(N, D)`. Other formats contain arrays in this format, also of strings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use half::f16;
use zvf_encode::error::OrBug;

use crate::bytes::Bytes;
use crate::error::{ConvertError, shown};
use crate::records::source::{AXES, TableSource, TakeBatch};

/// Most bytes of an array that are in memory at once.
const BATCH: usize = 64 << 20;
/// Longest header.
const LONGEST: usize = 1 << 20;
/// Most characters, and most strings, in an array of strings.
const MOST_CHARACTERS: usize = 1 << 16;

/// The header of an array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NpyHeader {
    element: DataType,
    big: bool,
    /// Number of rows.
    pub(crate) rows: u64,
    /// Numbers in a row.
    width: usize,
    /// Whether the array has two axes.
    listed: bool,
    /// Whether the array is stored by column (Fortran order).
    columns: bool,
}

/// Most columns of an array in Fortran order. Each column has its own reader.
const MOST_COLUMNS: usize = 256;

/// Reads the rows of an array in order: with one reader or, in Fortran order, with one for each column.
pub(crate) struct NpyRows {
    header: NpyHeader,
    parts: Vec<Bytes>,
}

impl NpyRows {
    /// Opens an array. Calls `bytes` once for each reader; it returns the array from its header on.
    pub(crate) fn open(
        known: &NpyHeader,
        bytes: &mut dyn FnMut() -> Result<Bytes, ConvertError>,
    ) -> Result<Self, ConvertError> {
        let count = if known.columns { known.width } else { 1 };
        let column = known
            .row_bytes()
            .and_then(|row| row.checked_div(known.width));
        let column = column.and_then(|size| known.rows.checked_mul(size as u64));
        let mut parts = Vec::new();
        for at in 0..count {
            let mut bytes = bytes()?;
            if NpyHeader::read(&mut bytes)? != *known {
                return Err(bytes.bad(
                    "another header",
                    "that of the first pass: the file changed while it was read",
                ));
            }
            let before = column.and_then(|size| size.checked_mul(at as u64));
            let before = before.ok_or_else(|| {
                bytes.bad(
                    "columns whose size exceeds 64 bits",
                    "columns inside the file",
                )
            })?;
            bytes.skip(before, "columns of the array")?;
            parts.push(bytes);
        }
        Ok(Self {
            header: known.clone(),
            parts,
        })
    }

    /// The next rows as a column.
    pub(crate) fn take(&mut self, rows: usize) -> Result<ArrayRef, ConvertError> {
        let Self { header, parts } = self;
        if !header.columns {
            let first = parts.first_mut().map(|bytes| header.take(bytes, rows));
            return first.unwrap_or_else(|| Ok(Arc::new(arrow_array::NullArray::new(0))));
        }
        let size = header
            .row_bytes()
            .and_then(|row| row.checked_div(header.width));
        let size = size.or_bug("columns of no number type")?;
        let mut raw = vec![0; rows.saturating_mul(size).saturating_mul(header.width)];
        for (at, bytes) in parts.iter_mut().enumerate() {
            let column = bytes.take_some(rows.saturating_mul(size), "a column of the array")?;
            let places = raw.chunks_mut(size.saturating_mul(header.width).max(1));
            for (row, value) in places.zip(column.chunks(size.max(1))) {
                let start = at.saturating_mul(size);
                if let Some(place) = row.get_mut(start..start.saturating_add(size)) {
                    place.copy_from_slice(value);
                }
            }
        }
        match (header.column_of(&raw), parts.first()) {
            (Some(column), _) => Ok(column),
            (None, Some(bytes)) => Err(bytes.bad("elements that are not numbers", "numbers")),
            (None, None) => Ok(Arc::new(arrow_array::NullArray::new(0))),
        }
    }

    /// The error for an array that cannot be read.
    pub(crate) fn bad(&self, found: String, expected: &str) -> ConvertError {
        match self.parts.first() {
            Some(bytes) => bytes.bad(found, expected),
            None => ConvertError::usage("array", found, expected),
        }
    }
}

impl NpyHeader {
    /// Reads the header of an array of one or two axes.
    pub(crate) fn read(bytes: &mut Bytes) -> Result<Self, ConvertError> {
        let text = Self::text(bytes)?;
        parse(&text).ok_or_else(|| {
            let expected = "a header of numbers or booleans, `(N,)` or `(N, D)`";
            bytes.bad(shown(text.trim()), expected)
        })
    }

    /// Reads the text of a header.
    fn text(bytes: &mut Bytes) -> Result<String, ConvertError> {
        let magic: [u8; 6] = bytes.take("the magic of NPY")?;
        if magic != *b"\x93NUMPY" {
            return Err(bytes.bad("other first bytes", "\"\\x93NUMPY\""));
        }
        let [major, _] = bytes.take::<2>("a version")?;
        let length = match major {
            1 => usize::from(u16::from_le_bytes(bytes.take("the length of a header")?)),
            2 | 3 => {
                let length = u32::from_le_bytes(bytes.take("the length of a header")?);
                usize::try_from(length).unwrap_or(usize::MAX)
            }
            other => return Err(bytes.bad(format!("version {other}"), "1, 2 or 3")),
        };
        if length > LONGEST {
            return Err(bytes.bad(
                format!("a header of {length} bytes"),
                format!("at most {LONGEST}"),
            ));
        }
        let text = bytes.take_some(length, "a header")?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The description of a little-endian array without a header, from its number type, its width and its size in bytes; `None` if they do not match,
    /// or the width is 0 or more than 65,536.
    pub(crate) fn raw(element: DataType, width: Option<usize>, size: u64) -> Option<Self> {
        let mut header = Self {
            element,
            big: false,
            rows: 0,
            width: width.unwrap_or(1),
            listed: width.is_some(),
            columns: false,
        };
        if header.width == 0 || header.width > 1 << 16 {
            return None;
        }
        let row = u64::try_from(header.row_bytes()?).ok()?;
        header.rows = size.checked_div(row)?;
        size.is_multiple_of(row).then_some(header)
    }

    /// The Arrow type of the array as a column.
    pub(crate) fn column(&self) -> DataType {
        if !self.listed {
            return self.element.clone();
        }
        let item = Field::new("item", self.element.clone(), false);
        DataType::FixedSizeList(
            Arc::new(item),
            i32::try_from(self.width).unwrap_or(i32::MAX),
        )
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> Option<usize> {
        let size = match &self.element {
            DataType::Boolean => 1,
            other => other.primitive_width()?,
        };
        size.checked_mul(self.width)
    }

    /// `rows`, or as many as fit into [`BATCH`] bytes, but at least 1: the header of a compressed array may state a row of any size.
    pub(crate) fn at_most(&self, rows: usize) -> usize {
        let row = self.row_bytes().unwrap_or(usize::MAX).max(1);
        rows.min(BATCH / row).max(1)
    }

    /// The next rows as a column.
    pub(crate) fn take(&self, bytes: &mut Bytes, rows: usize) -> Result<ArrayRef, ConvertError> {
        let size = self.row_bytes().and_then(|row| row.checked_mul(rows));
        let Some(size) = size else {
            return Err(bytes.bad("rows whose size exceeds the address space", "smaller rows"));
        };
        let raw = bytes.take_some(size, "rows of the array")?;
        let column = self.column_of(&raw);
        column.ok_or_else(|| bytes.bad("elements that are not numbers", "numbers"))
    }

    /// Rows as a column.
    fn column_of(&self, raw: &[u8]) -> Option<ArrayRef> {
        let items = items(&self.element, self.big, raw);
        match (items, self.column()) {
            (Some(items), DataType::FixedSizeList(item, width)) => {
                let list = FixedSizeListArray::try_new(item, width, items, None);
                list.ok().map(|list| Arc::new(list) as ArrayRef)
            }
            (items, _) => items,
        }
    }
}

/// Numbers of one type and byte order.
fn items(element: &DataType, big: bool, raw: &[u8]) -> Option<ArrayRef> {
    macro_rules! list {
        ($type:ty, $native:ty) => {{
            const SIZE: usize = size_of::<$native>();
            let values = raw.chunks_exact(SIZE).filter_map(|bytes| {
                let mut bytes: [u8; SIZE] = bytes.try_into().ok()?;
                if big {
                    bytes.reverse();
                }
                Some(<$native>::from_le_bytes(bytes))
            });
            let array: PrimitiveArray<$type> = PrimitiveArray::from_iter_values(values);
            Arc::new(array) as ArrayRef
        }};
    }
    Some(match element {
        DataType::Boolean => {
            let values: Vec<bool> = raw.iter().map(|byte| *byte != 0).collect();
            Arc::new(BooleanArray::from(values)) as ArrayRef
        }
        DataType::Int8 => list!(Int8Type, i8),
        DataType::Int16 => list!(Int16Type, i16),
        DataType::Int32 => list!(Int32Type, i32),
        DataType::Int64 => list!(Int64Type, i64),
        DataType::UInt8 => list!(UInt8Type, u8),
        DataType::UInt16 => list!(UInt16Type, u16),
        DataType::UInt32 => list!(UInt32Type, u32),
        DataType::UInt64 => list!(UInt64Type, u64),
        DataType::Float16 => list!(Float16Type, f16),
        DataType::Float32 => list!(Float32Type, f32),
        DataType::Float64 => list!(Float64Type, f64),
        _ => return None,
    })
}

/// Reads a one-dimensional array of NumPy strings (such as `<U8`): characters of four bytes, padded with zeros.
///
/// # Errors
/// I/O. Malformed: no NPY header; another type or shape; more than [`MOST_CHARACTERS`] characters or strings; a character that is not a code point.
pub(crate) fn read_texts(bytes: &mut Bytes) -> Result<Vec<String>, ConvertError> {
    let header = NpyHeader::text(bytes)?;
    let found = members(&header).and_then(|(descr, _, shape)| {
        let (big, length) = match descr.split_at_checked(2)? {
            ("<U" | "=U", length) => (false, length),
            (">U", length) => (true, length),
            _ => return None,
        };
        let length: usize = length.parse().ok()?;
        let [rows] = shape.as_slice() else {
            return None;
        };
        let rows = usize::try_from(*rows).ok()?;
        let all = rows.checked_mul(length)?;
        (all <= MOST_CHARACTERS && rows <= MOST_CHARACTERS).then_some((big, length, rows))
    });
    let Some((big, length, rows)) = found else {
        return Err(bytes.bad(shown(header.trim()), "a short array of strings, `(N,)`"));
    };
    let mut texts = Vec::with_capacity(rows);
    for _ in 0..rows {
        let mut text = String::new();
        for _ in 0..length {
            let mut code = bytes.take::<4>("a character")?;
            if big {
                code.reverse();
            }
            let code = u32::from_le_bytes(code);
            let one = char::from_u32(code);
            text.push(one.ok_or_else(|| bytes.bad(format!("{code:#x}"), "a code point"))?);
        }
        texts.push(text.trim_end_matches('\0').to_owned());
    }
    Ok(texts)
}

/// The values in a header, a Python dictionary with three keys: the type, whether the array is in Fortran order, and the shape.
fn members(text: &str) -> Option<(&str, bool, Vec<u64>)> {
    let member = |key: &str| {
        let at = text.find(&format!("'{key}'"))?;
        let rest = text.get(at..)?.split_once(':')?.1;
        Some(rest.trim_start())
    };
    let descr = member("descr")?.strip_prefix('\'')?.split('\'').next()?;
    let columns = match member("fortran_order")? {
        order if order.starts_with("False") => false,
        order if order.starts_with("True") => true,
        _ => return None,
    };
    let shape = member("shape")?.strip_prefix('(')?.split(')').next()?;
    let shape = shape
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let shape: Vec<u64> = shape.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    Some((descr, columns, shape))
}

/// Parses the header of an array of numbers or booleans.
fn parse(text: &str) -> Option<NpyHeader> {
    let (descr, columns, shape) = members(text)?;
    let (rows, width, listed) = match shape.as_slice() {
        [rows] => (*rows, 1, false),
        [rows, width] => (*rows, usize::try_from(*width).ok()?, true),
        _ => return None,
    };
    let (order, name) = descr.split_at_checked(1)?;
    let element = match name {
        "b1" => DataType::Boolean,
        "i1" => DataType::Int8,
        "i2" => DataType::Int16,
        "i4" => DataType::Int32,
        "i8" => DataType::Int64,
        "u1" => DataType::UInt8,
        "u2" => DataType::UInt16,
        "u4" => DataType::UInt32,
        "u8" => DataType::UInt64,
        "f2" => DataType::Float16,
        "f4" => DataType::Float32,
        "f8" => DataType::Float64,
        _ => return None,
    };
    let big = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return None,
    };
    // For one axis or one column both orders are the same.
    let columns = columns && width > 1;
    let most = if columns { MOST_COLUMNS } else { 1 << 16 };
    (width > 0 && width <= most).then_some(NpyHeader {
        element,
        big,
        rows,
        width,
        listed,
        columns,
    })
}

/// An open file: a table with one column.
#[derive(Debug)]
pub(crate) struct Npy {
    path: PathBuf,
    header: NpyHeader,
    schema: SchemaRef,
}

impl Npy {
    /// Opens an array of positions.
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let one = Self::open_as(path, "position")?;
        if !one.header.listed {
            let found = format!("one axis of {} numbers", one.header.rows);
            return Err(Bytes::open(path)?.bad(found, "positions, `(N, D)`"));
        }
        Ok(one)
    }

    /// Opens an array as a column of this name.
    pub(crate) fn open_as(path: &Path, name: &str) -> Result<Self, ConvertError> {
        let mut bytes = Bytes::open(path)?;
        let header = NpyHeader::read(&mut bytes)?;
        let length = std::fs::metadata(path)
            .map_err(|error| ConvertError::io(path, error))?
            .len();
        let size = header.row_bytes().and_then(|row| u64::try_from(row).ok());
        let wanted = size
            .and_then(|row| row.checked_mul(header.rows))
            .and_then(|size| size.checked_add(bytes.at()));
        if wanted != Some(length) {
            let wanted = wanted.map_or_else(
                || "fewer rows".to_owned(),
                |wanted| format!("{wanted} bytes, for {} rows", header.rows),
            );
            return Err(bytes.bad(format!("a file of {length} bytes"), wanted));
        }
        let fields = vec![Field::new(name, header.column(), false)];
        let metadata = HashMap::from([(AXES.to_owned(), "[]".to_owned())]);
        let schema = Schema::new_with_metadata(fields, metadata);
        Ok(Self {
            path: path.to_owned(),
            header,
            schema: Arc::new(schema),
        })
    }
}

impl TableSource for Npy {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut parts = NpyRows::open(&self.header, &mut || Bytes::open(&self.path))?;
        let mut left = self.header.rows;
        while left > 0 {
            let count = self
                .header
                .at_most(rows)
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let column = parts.take(count)?;
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![column]);
            take(&batch.map_err(|error| parts.bad(error.to_string(), "rows of an array"))?)?;
            left = left.saturating_sub(count as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_as_numpy_writes_them() {
        let header = parse("{'descr': '>f4', 'fortran_order': False, 'shape': (7, 3), }").unwrap();
        assert_eq!((header.rows, header.width, header.big), (7, 3, true));
        assert_eq!(header.row_bytes(), Some(12));
        let header = parse("{'descr': '|b1', 'fortran_order': True, 'shape': (7,), }").unwrap();
        assert_eq!((header.rows, header.listed), (7, false));
        for wrong in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (7, 300), }",
            "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (7, 3), }",
            "{'descr': '<U4', 'fortran_order': False, 'shape': (7, 3), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 3, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-7, 3), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (7, 0), }",
            "{'descr': '<f4'",
            "",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
