//! NumPy arrays of positions or ends of links: shape `(N, D)`, the stored number type, C order, header version 1.
//!
//! The header has a fixed size, so that it can be written once N is known: files get a placeholder first and the header at the end; for
//! pipes, which cannot be rewound, the rows are collected in a temporary file.

use std::io::{self, Seek, SeekFrom, Write};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use zvf_query::numbers::elements;

use super::TableWriter;
use super::raw::{descr, write_raw};
use crate::error::ConvertError;

/// Size of magic, version, length and header text in bytes: a multiple of 64 with room for any shape of two 64-bit counts.
const HEADER: usize = 128;

/// The header of an array in C order, of version 1: at least `least` bytes, rounded up to a multiple of 64.
///
/// # Errors
///
/// When it is longer than version 1 allows.
pub(crate) fn header(descr: &str, shape: &str, least: usize) -> io::Result<Vec<u8>> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version and length take 10 bytes; the text ends with a line break.
    let size = text.len().saturating_add(11).max(least);
    let length = size.next_multiple_of(64).saturating_sub(10);
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend(
        u16::try_from(length)
            .map_err(io::Error::other)?
            .to_le_bytes(),
    );
    writeln!(head, "{text:0$}", length.saturating_sub(1))?;
    Ok(head)
}

/// The type of the rows of an array: the descriptor of an element, e.g. `<f4`, and the number of elements in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NpyRowType {
    column: &'static str,
    descr: &'static str,
    dims: i32,
}

impl NpyRowType {
    /// The rows of the positions of a vertex table.
    ///
    /// # Errors
    ///
    /// Usage, when the table has no column `position` of lists of numbers that NumPy has.
    pub fn of(schema: &Schema) -> Result<Self, ConvertError> {
        Self::in_column(schema, "position")
    }

    /// The rows of the ends of a table of links.
    ///
    /// # Errors
    ///
    /// Usage, when the table has no column `vertices` of lists of numbers that NumPy has.
    pub fn of_links(schema: &Schema) -> Result<Self, ConvertError> {
        Self::in_column(schema, "vertices")
    }

    fn in_column(schema: &Schema, column: &'static str) -> Result<Self, ConvertError> {
        let field = schema.field_with_name(column).map_err(|_| {
            let found = format!("a table without a column {column}");
            let expected = "a table with this column, the only one that is written";
            ConvertError::usage("npy output", found, expected)
        })?;
        let DataType::FixedSizeList(item, dims) = field.data_type() else {
            let found = field.data_type().to_string();
            return Err(ConvertError::usage(
                "npy output",
                found,
                format!("{column} as lists"),
            ));
        };
        let Some(descr) = descr(item.data_type()) else {
            let found = format!("{column} of {}", item.data_type());
            return Err(ConvertError::usage("npy output", found, "numbers"));
        };
        Ok(Self {
            column,
            descr,
            dims: *dims,
        })
    }
}

/// Writes the positions of a vertex table, or the ends of a table of links.
#[derive(Debug)]
pub struct NpyWriter<F> {
    /// Begins with a placeholder for the header.
    file: F,
    /// The type of a row.
    shape: NpyRowType,
    /// Rows so far.
    rows: u64,
}

impl<F: Write + Seek> NpyWriter<F> {
    /// Begins an array in an empty file.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn new(mut file: F, shape: NpyRowType) -> io::Result<Self> {
        file.write_all(&[0; HEADER])?;
        Ok(Self {
            file,
            shape,
            rows: 0,
        })
    }

    /// Writes the header and returns the file, rewound to its start.
    fn close(mut self) -> io::Result<F> {
        let NpyRowType { descr, dims, .. } = self.shape;
        let head = header(descr, &format!("({}, {dims})", self.rows), HEADER)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&head)?;
        self.file.flush()?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(self.file)
    }
}

impl<F: Write + Seek> TableWriter for NpyWriter<F> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let Some(column) = batch.column_by_name(self.shape.column) else {
            return Ok(());
        };
        self.rows = self.rows.saturating_add(column.len() as u64);
        write_raw(&mut self.file, elements(column).0.as_ref())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.close().map(drop)
    }
}

/// Writes an array to a pipe: rows are collected in a temporary file until their number is known.
#[derive(Debug)]
pub struct SpooledNpy<W> {
    inner: NpyWriter<std::fs::File>,
    out: W,
}

impl<W: Write> SpooledNpy<W> {
    /// Begins an array that is written to `out` at the end.
    ///
    /// # Errors
    ///
    /// When no temporary file can be made.
    pub fn new(out: W, shape: NpyRowType) -> io::Result<Self> {
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

    fn table() -> RecordBatch {
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
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(list)]).unwrap()
    }

    #[test]
    fn header_and_rows_of_a_slice() {
        let batch = table();
        let shape = NpyRowType::of(&batch.schema()).unwrap();
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
    }

    #[test]
    fn a_table_without_positions_is_refused() {
        assert!(NpyRowType::of(&Schema::empty()).is_err());
    }
}
