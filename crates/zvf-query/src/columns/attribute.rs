//! Vertex attributes: their documents, the content of one cell, and the finished column.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use arrow_schema::{ArrowError, DataType, Field};
use bytes::Bytes;
use serde_json::Value;
use zvf_store::format::dtype::{DType, DTypeKind};
use zvf_store::meta::moments::Moments;
use zvf_store::{GridArray, RowValues};

use super::arrow;
use super::gather::{Rows, gather};
use super::scalar;
use crate::error::QueryError;
use crate::filter::{Operand, OperandType};
use zvf_store::format::int;

/// Limit on the bytes of a column with missing values in one batch: a declared width may be wrong, and missing values take memory, too.
const MOST: usize = 1 << 30;

/// One attribute of a level, as its documents describe it.
#[derive(Debug, Clone)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    /// `None`: the value is in the chunk key (levels whose chunks are divided by an attribute), unless `absent`.
    pub(crate) array: Option<Arc<GridArray>>,
    /// Whether only other levels of the chain have the attribute; all values are missing then.
    pub(crate) absent: bool,
    pub(crate) dtype: DType,
    /// Values in a row, if the document declares them.
    pub(crate) declared: Option<usize>,
    pub(crate) categories: Option<Arc<Vec<Value>>>,
    /// The categories as an array, made once.
    pub(crate) dictionary: Option<ArrayRef>,
    pub(crate) fill_code: Option<i64>,
    pub(crate) metadata: HashMap<String, String>,
    /// Set once a cell has several values per row although the empty `row_shape` of the document means one (trap T8); `None` for other documents.
    pub(crate) wider: Option<Arc<AtomicBool>>,
}

/// The content of one cell.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// Not read.
    Unread,
    /// No cell: every value of the chunk is missing (trap T10).
    Missing,
    /// One code for the whole chunk.
    Code(i64),
    /// Rows of `width` elements.
    Rows { values: RowValues, width: usize },
    /// Values of the first `rows` rows; rows that were appended later have none.
    Short {
        values: RowValues,
        width: usize,
        rows: u32,
    },
}

impl Cell {
    /// The cell as an operand of a filter.
    pub(crate) fn operand(&self) -> Operand<'_> {
        match self {
            Self::Unread => Operand::Unread,
            Self::Missing => Operand::Missing,
            Self::Code(code) => Operand::Code(*code),
            Self::Rows { values, width } | Self::Short { values, width, .. } => Operand::Rows {
                bytes: values.bytes(),
                width: *width,
            },
        }
    }

    /// The cell as an operand of a filter over the rows `from .. until`, which are all before or all after the end of a short cell.
    pub(crate) fn operand_of(&self, from: u32, until: u32, size: usize) -> Operand<'_> {
        match self {
            Self::Short { rows, .. } if from >= *rows => Operand::Missing,
            Self::Rows { values, width } | Self::Short { values, width, .. } => {
                let row = width.saturating_mul(size);
                let range =
                    int::index(from).saturating_mul(row)..int::index(until).saturating_mul(row);
                Operand::Rows {
                    bytes: values.bytes().get(range).unwrap_or(&[]),
                    width: *width,
                }
            }
            other => other.operand(),
        }
    }
}

impl ColumnSpec {
    /// The attribute in the chunk keys of a level.
    pub(crate) fn of_key(name: &str, values: &[Value]) -> Self {
        Self {
            name: name.to_owned(),
            array: None,
            absent: false,
            dtype: DType::little(DTypeKind::I64),
            declared: Some(1),
            wider: None,
            categories: Some(Arc::new(values.to_vec())),
            dictionary: Some(arrow::categories(values)),
            fill_code: None,
            metadata: HashMap::new(),
        }
    }

    /// Bytes of a row, if the document states them.
    pub(crate) fn row_bytes(&self) -> usize {
        self.dtype.size().saturating_mul(self.declared.unwrap_or(1))
    }

    /// The type for a filter.
    pub(crate) fn operand_type(&self) -> OperandType {
        let unit = self.metadata.get("zvf.unit");
        // Values of chunk keys have no declared type. Whole numbers among them are an `Int64` array.
        let number = match (&self.categories, &self.dictionary) {
            (None, _) => self.dtype.kind == DTypeKind::I64,
            (Some(_), Some(values)) => {
                self.plain_values() && *values.data_type() == DataType::Int64
            }
            (Some(_), None) => false,
        };
        let moments = unit
            .filter(|_| number)
            .and_then(|unit| Moments::kind_of_unit(unit));
        OperandType {
            dtype: DType {
                kind: moments.unwrap_or(self.dtype.kind),
                ..self.dtype
            },
            categories: self.categories.clone(),
            fill_code: self.fill_code,
            axis: None,
            is_decoded: false,
        }
    }

    /// A cell of `rows` rows. The width of a row follows from the bytes and is checked against the document (trap T8).
    ///
    /// # Errors
    ///
    /// A description of the mismatch; the caller adds the place.
    pub(crate) fn cell(&self, bytes: Bytes, rows: u32) -> Result<Cell, String> {
        let row = self.dtype.size().saturating_mul(int::index(rows));
        let width = match bytes.len().checked_div(row) {
            Some(width) if width.checked_mul(row) == Some(bytes.len()) => width,
            None if bytes.is_empty() => self.declared.unwrap_or(1),
            _ => {
                return Err(format!(
                    "found {} bytes, expected a multiple of {row}: {rows} rows of {}",
                    bytes.len(),
                    self.dtype
                ));
            }
        };
        let values = RowValues::new(width.saturating_mul(self.dtype.size()), bytes);
        self.cell_of(values, rows)
    }

    /// A cell of a chunk with `rows` rows. Every row has a value, or only the first rows if the writer appended vertices without attributes
    /// (`zvf-0.7`, section 17.4).
    ///
    /// # Errors
    ///
    /// A description of the mismatch; the caller adds the place.
    pub(crate) fn cell_of(&self, values: RowValues, rows: u32) -> Result<Cell, String> {
        let width = values.row_bytes().checked_div(self.dtype.size());
        let width = width.unwrap_or(1);
        if let Some(declared) = self
            .declared
            .filter(|declared| *declared != width && rows > 0)
        {
            return Err(format!(
                "found {width} values a row, expected {declared} as stated by row_shape or found in another cell"
            ));
        }
        if let Some(wider) = self.wider.as_ref().filter(|_| width > 1) {
            wider.store(true, Ordering::Relaxed);
        }
        if self.categories.is_some() && width > 1 {
            return Err(format!("found {width} codes a row, expected 1"));
        }
        let found = u32::try_from(values.rows()).ok();
        Ok(
            match found.filter(|found| *found < rows && !values.is_picked()) {
                Some(found) => Cell::Short {
                    values,
                    width,
                    rows: found,
                },
                None => Cell::Rows { values, width },
            },
        )
    }

    /// Checks that every code has a category.
    pub(crate) fn check_codes(&self, cell: &Cell) -> Result<(), String> {
        let Some(categories) = &self.categories else {
            return Ok(());
        };
        let known = i128::from(int::wide(categories.len()));
        let fill = self.fill_code.map(i128::from);
        let mut bad = None;
        let mut check = |code: i128| {
            if !(0..known).contains(&code) && Some(code) != fill {
                bad.get_or_insert(code);
            }
        };
        match cell {
            Cell::Code(code) => check(i128::from(*code)),
            Cell::Rows { values, width } | Cell::Short { values, width, .. } => {
                let bytes = values.bytes();
                let read = scalar::each(self.dtype, bytes, *width, 0, |value| {
                    if let scalar::Scalar::Int(code) = value {
                        check(code);
                    }
                });
                if read.is_err() {
                    return Err(format!(
                        "found codes of type {}, expected integers",
                        self.dtype
                    ));
                }
            }
            Cell::Unread | Cell::Missing => {}
        }
        match bad {
            Some(code) => Err(format!("code {code} has no category: there are {known}")),
            None => Ok(()),
        }
    }

    /// The type of the finished column.
    pub(crate) fn data_type(&self, width: usize) -> Option<DataType> {
        let element = arrow::element_type(self.dtype)?;
        match &self.dictionary {
            Some(values) if self.plain_values() => Some(values.data_type().clone()),
            Some(values) => Some(DataType::Dictionary(
                Box::new(element),
                Box::new(values.data_type().clone()),
            )),
            None => Some(arrow::row_type(element, width)),
        }
    }

    /// The field of the finished column.
    pub(crate) fn field(&self, width: usize) -> Option<Field> {
        Some(
            Field::new(&self.name, self.data_type(width)?, true)
                .with_metadata(self.metadata.clone()),
        )
    }

    /// Whether values are not a dictionary: numbers and booleans of chunk keys.
    fn plain_values(&self) -> bool {
        self.array.is_none()
            && self
                .dictionary
                .as_ref()
                .is_some_and(|values| *values.data_type() != DataType::Utf8)
    }

    /// The finished column of `rows` rows.
    pub(crate) fn finish(
        &self,
        column: Column,
        width: usize,
        rows: usize,
    ) -> Result<ArrayRef, ArrowError> {
        let row = width.saturating_mul(self.dtype.size());
        if !column.missing.is_empty() && rows.saturating_mul(row) > MOST {
            let what = format!("{rows} rows of {row} bytes without values");
            return Err(ArrowError::MemoryError(what));
        }
        let valid = arrow::validity(rows, &column.missing);
        let bytes = column.filled(row, rows);
        match &self.dictionary {
            Some(values) if self.plain_values() => {
                let codes = arrow::elements(self.dtype, bytes, valid)?;
                arrow_select::take::take(values, &codes, None)
            }
            Some(values) => arrow::dictionary(self.dtype, bytes, self.fill_code, values, valid),
            None => arrow::rows(self.dtype, width, bytes, valid),
        }
    }
}

/// Gathered values of one attribute: the bytes of rows with a value, and the ranges of rows without.
#[derive(Debug, Default)]
pub(crate) struct Column {
    /// Values of the rows that have one.
    pub(super) bytes: MutableBuffer,
    /// Values in a row, once a cell was decoded.
    pub(crate) width: Option<usize>,
    /// Start and count of rows without value.
    pub(super) missing: Vec<(usize, usize)>,
    pub(super) rows: usize,
}

impl Column {
    /// An empty column with a capacity.
    pub(crate) fn with_capacity(bytes: u64) -> Self {
        Self {
            bytes: arrow::buffer(bytes),
            ..Self::default()
        }
    }

    /// Appends rows of a cell.
    ///
    /// # Errors
    ///
    /// Inner: a previous cell had another width; the caller adds the place. Outer: bug, a row past the end of the cell.
    pub(crate) fn push(
        &mut self,
        cell: &Cell,
        pick: Rows<'_>,
    ) -> Result<Result<(), String>, QueryError> {
        let count = pick.len();
        if count == 0 {
            return Ok(Ok(()));
        }
        match cell {
            Cell::Unread | Cell::Missing => {
                self.push_missing(count);
                return Ok(Ok(()));
            }
            Cell::Short {
                values,
                width,
                rows,
            } => {
                let known = Cell::Rows {
                    values: values.clone(),
                    width: *width,
                };
                let picked: Vec<u32> = pick.iter().collect();
                for part in picked.chunk_by(|a, b| (a < rows) == (b < rows)) {
                    let has = part.first().is_some_and(|row| row < rows);
                    let cell = if has { &known } else { &Cell::Missing };
                    if let Err(what) = self.push(cell, Rows::List(part))? {
                        return Ok(Err(what));
                    }
                }
                return Ok(Ok(()));
            }
            Cell::Code(code) => {
                self.width = Some(1);
                for _ in 0..count {
                    self.bytes.extend_from_slice(&code.to_le_bytes());
                }
            }
            Cell::Rows { values, width } => {
                if let Err(what) = self.agree(*width) {
                    return Ok(Err(what));
                }
                gather(values, pick, &mut self.bytes)?;
            }
        }
        self.rows += count;
        Ok(Ok(()))
    }

    /// Appends rows without a value.
    pub(crate) fn push_missing(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        match self.missing.last_mut() {
            Some((start, before)) if *start + *before == self.rows => *before += count,
            _ => self.missing.push((self.rows, count)),
        }
        self.rows += count;
    }

    /// Appends the values of `count` rows.
    ///
    /// # Errors
    ///
    /// As the inner result of [`push`](Self::push).
    pub(super) fn push_values(
        &mut self,
        bytes: &[u8],
        width: usize,
        count: usize,
    ) -> Result<(), String> {
        self.agree(width)?;
        self.bytes.extend_from_slice(bytes);
        self.rows += count;
        Ok(())
    }

    fn agree(&mut self, width: usize) -> Result<(), String> {
        match self.width {
            Some(before) if before != width => Err(format!(
                "found {width} values a row, expected {before} as in other chunks"
            )),
            _ => {
                self.width = Some(width);
                Ok(())
            }
        }
    }

    /// Bytes of the values and of the ranges of missing rows.
    pub(crate) fn bytes(&self) -> usize {
        let missing = self.missing.len().saturating_mul(16);
        self.bytes.len().saturating_add(missing)
    }

    /// The bytes, with zeros for rows without a value.
    fn filled(self, row_bytes: usize, rows: usize) -> MutableBuffer {
        if self.missing.is_empty() {
            return self.bytes;
        }
        let mut all = MutableBuffer::new(rows.saturating_mul(row_bytes));
        let (mut from, mut row) = (0_usize, 0_usize);
        for (start, count) in self.missing {
            let until = from.saturating_add((start - row).saturating_mul(row_bytes));
            all.extend_from_slice(self.bytes.as_slice().get(from..until).unwrap_or(&[]));
            all.extend_zeros(count.saturating_mul(row_bytes));
            (from, row) = (until, start + count);
        }
        all.extend_from_slice(self.bytes.as_slice().get(from..).unwrap_or(&[]));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int16Type, Int64Type};

    fn spec(dtype: &str, declared: Option<usize>) -> ColumnSpec {
        ColumnSpec {
            dtype: DType::parse(dtype).unwrap(),
            declared,
            wider: None,
            categories: None,
            dictionary: None,
            ..ColumnSpec::of_key("a", &[])
        }
    }

    #[test]
    fn bytes_decide_the_width() {
        let spec = spec("int16", None);
        let Ok(Cell::Rows { width, .. }) = spec.cell(Bytes::from_static(&[0; 12]), 3) else {
            panic!()
        };
        assert_eq!(width, 2);
        assert!(spec.cell(Bytes::from_static(&[0; 11]), 3).is_err());
        assert!(spec.cell(Bytes::from_static(&[0; 2]), 0).is_err());
        assert!(spec.cell(Bytes::new(), 0).is_ok());
        let declared = super::tests::spec("int16", Some(3));
        assert!(
            declared
                .cell(Bytes::from_static(&[0; 12]), 3)
                .unwrap_err()
                .contains("row_shape")
        );
    }

    #[test]
    fn missing_rows_become_nulls_in_place() {
        let spec = spec("int16", None);
        let mut column = Column::default();
        let cell = spec
            .cell(Bytes::from_static(&[1, 0, 2, 0, 3, 0]), 3)
            .unwrap();
        column
            .push(&Cell::Missing, Rows::Range { start: 0, count: 2 })
            .unwrap()
            .unwrap();
        column.push(&cell, Rows::List(&[0, 2])).unwrap().unwrap();
        column
            .push(&Cell::Missing, Rows::List(&[7]))
            .unwrap()
            .unwrap();
        column.push(&cell, Rows::List(&[1])).unwrap().unwrap();
        let array = spec.finish(column, 1, 6).unwrap();
        let array = array.as_primitive::<Int16Type>();
        assert_eq!(
            array.iter().collect::<Vec<_>>(),
            [None, None, Some(1), Some(3), None, Some(2)]
        );
    }

    #[test]
    fn key_values_come_as_themselves() {
        let numbers = ColumnSpec::of_key("n", &[Value::from(7), Value::from(9)]);
        let mut column = Column::default();
        column
            .push(&Cell::Code(1), Rows::Range { start: 0, count: 2 })
            .unwrap()
            .unwrap();
        let array = numbers.finish(column, 1, 2).unwrap();
        assert_eq!(array.as_primitive::<Int64Type>().values(), &[9, 9]);
        assert!(numbers.check_codes(&Cell::Code(2)).is_err());
        let words = ColumnSpec::of_key("w", &[Value::from("g1")]);
        let mut column = Column::default();
        column
            .push(&Cell::Code(0), Rows::Range { start: 0, count: 1 })
            .unwrap()
            .unwrap();
        let array = words.finish(column, 1, 1).unwrap();
        assert_eq!(Some(array.data_type()), words.data_type(1).as_ref());
    }
}
