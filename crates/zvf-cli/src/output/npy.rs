//! NumPy array of the positions: `(N, D)`, the stored number type, C order, header version 1.
//!
//! The header has a fixed size, so that it can be written once N is known: a file gets a place holder first and the header
//! at the end; a pipe cannot be rewound, so the rows wait in a temporary file.

use std::io::{self, Seek, SeekFrom, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::TableWriter;
use crate::error::{CliError, Result};

/// Bytes of magic, version, length and header text: a multiple of 64 that holds any shape of two 64-bit counts.
const HEADER: usize = 128;

/// What the rows of an array are: the descriptor of an element, e.g. `<f4`, and how many a row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    descr: &'static str,
    dims: i32,
}

impl Rows {
    /// The rows of the positions of a vertex table.
    ///
    /// # Errors
    ///
    /// Usage, when the table has no `position` column or its numbers have no NumPy form.
    pub(crate) fn of(schema: &Schema) -> Result<Self> {
        let field = schema.field_with_name("position").map_err(|_| {
            CliError::usage("npy output holds positions only, and position is not among --columns")
        })?;
        let DataType::FixedSizeList(item, dims) = field.data_type() else {
            return Err(CliError::usage(format!(
                "npy output needs positions as lists, found {}",
                field.data_type()
            )));
        };
        let descr = match item.data_type() {
            DataType::Float16 => "<f2",
            DataType::Float32 => "<f4",
            DataType::Float64 => "<f8",
            DataType::Int8 => "|i1",
            DataType::Int16 => "<i2",
            DataType::Int32 => "<i4",
            DataType::Int64 => "<i8",
            DataType::UInt8 => "|u1",
            DataType::UInt16 => "<u2",
            DataType::UInt32 => "<u4",
            DataType::UInt64 => "<u8",
            other => {
                return Err(CliError::usage(format!(
                    "npy output has no element type for positions of {other}"
                )));
            }
        };
        Ok(Self { descr, dims: *dims })
    }
}

/// Writes the positions of a vertex table.
#[derive(Debug)]
pub(crate) struct NpyWriter<F> {
    /// An empty file.
    file: F,
    /// What a row is.
    shape: Rows,
    /// Rows so far.
    rows: u64,
}

impl<F: Write + Seek> NpyWriter<F> {
    /// Begins an array in an empty file.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn new(mut file: F, shape: Rows) -> io::Result<Self> {
        file.write_all(&[0; HEADER])?;
        Ok(Self {
            file,
            shape,
            rows: 0,
        })
    }

    /// Writes the header and gives the file back, rewound to its start.
    fn close(mut self) -> io::Result<F> {
        let Rows { descr, dims } = self.shape;
        let mut text = format!(
            "{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}, {dims}), }}",
            self.rows
        );
        // Magic, version and length take 10 bytes; the text ends with a line break.
        while text.len() < HEADER - 11 {
            text.push(' ');
        }
        text.push('\n');
        let length = u16::try_from(text.len()).map_err(io::Error::other)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(b"\x93NUMPY\x01\x00")?;
        self.file.write_all(&length.to_le_bytes())?;
        self.file.write_all(text.as_bytes())?;
        self.file.flush()?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(self.file)
    }
}

impl<F: Write + Seek> TableWriter for NpyWriter<F> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let Some(column) = batch.column_by_name("position") else {
            return Ok(());
        };
        let list = column.as_fixed_size_list();
        let width = usize::try_from(list.value_length()).unwrap_or(0);
        // A sliced list keeps its whole child; the rows of this batch start at its offset.
        let values = list.values().slice(
            list.offset().saturating_mul(width),
            list.len().saturating_mul(width),
        );
        self.rows = self.rows.saturating_add(list.len() as u64);
        match values.data_type() {
            DataType::Float16 => {
                put::<Float16Type, 2>(&mut self.file, &values, |v| v.to_le_bytes())
            }
            DataType::Float32 => put::<Float32Type, 4>(&mut self.file, &values, f32::to_le_bytes),
            DataType::Float64 => put::<Float64Type, 8>(&mut self.file, &values, f64::to_le_bytes),
            DataType::Int8 => put::<Int8Type, 1>(&mut self.file, &values, i8::to_le_bytes),
            DataType::Int16 => put::<Int16Type, 2>(&mut self.file, &values, i16::to_le_bytes),
            DataType::Int32 => put::<Int32Type, 4>(&mut self.file, &values, i32::to_le_bytes),
            DataType::Int64 => put::<Int64Type, 8>(&mut self.file, &values, i64::to_le_bytes),
            DataType::UInt8 => put::<UInt8Type, 1>(&mut self.file, &values, u8::to_le_bytes),
            DataType::UInt16 => put::<UInt16Type, 2>(&mut self.file, &values, u16::to_le_bytes),
            DataType::UInt32 => put::<UInt32Type, 4>(&mut self.file, &values, u32::to_le_bytes),
            _ => put::<UInt64Type, 8>(&mut self.file, &values, u64::to_le_bytes),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.close().map(drop)
    }
}

/// Writes every value of a primitive array.
fn put<T: ArrowPrimitiveType, const N: usize>(
    file: &mut impl Write,
    values: &dyn Array,
    bytes: impl Fn(T::Native) -> [u8; N],
) -> io::Result<()> {
    let Some(values) = values.as_primitive_opt::<T>() else {
        return Err(io::Error::other("positions changed their type"));
    };
    // One write a block, not one a value.
    let mut block = Vec::with_capacity(N * 4096);
    for part in values.values().chunks(4096) {
        block.clear();
        block.extend(part.iter().flat_map(|value| bytes(*value)));
        file.write_all(&block)?;
    }
    Ok(())
}

/// An array for a pipe: rows wait in a temporary file until their number is known.
#[derive(Debug)]
pub(crate) struct SpooledNpy<W> {
    inner: NpyWriter<std::fs::File>,
    out: W,
}

impl<W: Write> SpooledNpy<W> {
    /// Begins an array that ends on `out`.
    ///
    /// # Errors
    ///
    /// When no temporary file can be made.
    pub(crate) fn new(out: W, shape: Rows) -> io::Result<Self> {
        Ok(Self {
            inner: NpyWriter::new(tempfile::tempfile()?, shape)?,
            out,
        })
    }
}

impl<W: Write> TableWriter for SpooledNpy<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.inner.write(batch)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self { inner, mut out } = *self;
        io::copy(&mut inner.close()?, &mut out)?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{FixedSizeListArray, Float32Array};
    use arrow_schema::Field;

    use super::*;

    fn table() -> Result<RecordBatch> {
        let item = Arc::new(Field::new("item", DataType::Float32, false));
        let list = FixedSizeListArray::new(
            Arc::clone(&item),
            2,
            Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
            None,
        );
        let schema = Schema::new(vec![Field::new(
            "position",
            DataType::FixedSizeList(item, 2),
            false,
        )]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(list)])
            .map_err(|e| CliError::usage(e.to_string()))
    }

    #[test]
    fn header_and_rows_of_a_slice() -> Result<()> {
        let batch = table()?;
        let shape = Rows::of(&batch.schema())?;
        let mut file = Cursor::new(Vec::new());
        let mut writer = NpyWriter::new(&mut file, shape).unwrap();
        writer.write(&batch.slice(1, 2)).unwrap();
        Box::new(writer).finish().unwrap();
        let bytes = file.into_inner();
        assert_eq!(bytes.get(..10), Some(&b"\x93NUMPY\x01\x00\x76\x00"[..]));
        let text = String::from_utf8_lossy(bytes.get(10..128).unwrap_or_default()).into_owned();
        assert_eq!(
            text.trim_end(),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
        );
        assert!(text.ends_with('\n'));
        let values: Vec<f32> = bytes
            .get(128..)
            .unwrap_or_default()
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(values, [3.0, 4.0, 5.0, 6.0]);
        Ok(())
    }

    #[test]
    fn a_table_without_positions_is_refused() {
        assert!(Rows::of(&Schema::empty()).is_err());
    }
}
