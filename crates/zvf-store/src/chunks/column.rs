//! Attributes of vertices and fragments: the width of their rows.

use std::sync::OnceLock;

use bytes::Bytes;
use half::f16;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::int::{index, wide};

use super::fault::{CellFault, ChunkCell};
use super::values::RowValues;
use crate::codec::little_endian;
use crate::owners::is_owner_column;
use crate::{StoreError, VertexAttribute};

/// NaN, least significant byte first; `None` for types without NaN.
pub(crate) fn nan(kind: DTypeKind) -> Option<Vec<u8>> {
    match kind {
        DTypeKind::F16 => Some(f16::NAN.to_le_bytes().to_vec()),
        DTypeKind::F32 => Some(f32::NAN.to_le_bytes().to_vec()),
        DTypeKind::F64 => Some(f64::NAN.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// An attribute of vertices or fragments whose values are read.
#[derive(Debug)]
pub struct ChunkColumn {
    attribute: VertexAttribute,
    /// Values in a row, as declared by the document.
    declared: usize,
    of: ChunkCell,
    /// Whether a cell may have values of the first rows only.
    may_lack: bool,
    /// Values in a row of the first cell that was read.
    width: OnceLock<usize>,
}

impl ChunkColumn {
    pub(super) fn new(attribute: &VertexAttribute, of: ChunkCell) -> Self {
        let declared = attribute.declared_width.unwrap_or(1).max(1);
        // A column of owners ends with the last fragment that has one (0.9, section 11.7).
        let owners = of == ChunkCell::FragmentColumn && is_owner_column(attribute);
        Self {
            attribute: attribute.clone(),
            // `check` refuses columns with rows of so many values before a cell is read.
            declared: usize::try_from(declared).unwrap_or(usize::MAX),
            may_lack: attribute.array.may_lack_rows() || owners,
            of,
            width: OnceLock::new(),
        }
    }

    /// Fails if a declared row has more bytes than `usize` can count.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let size = self.attribute.dtype.size();
        if self.declared.checked_mul(size).is_some() {
            return Ok(());
        }
        let most = wide(usize::MAX / size.max(1));
        let (path, declared) = (self.attribute.array.path(), wide(self.declared));
        Err(StoreError::limit(path, "values of a row", declared, most))
    }

    /// Name of the attribute.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.attribute.name
    }

    /// The attribute.
    #[must_use]
    pub fn attribute(&self) -> &VertexAttribute {
        &self.attribute
    }

    /// Type of a decoded value: little-endian.
    #[must_use]
    pub fn dtype(&self) -> DType {
        DType::little(self.attribute.dtype.kind)
    }

    /// Values in a row. Before a cell is read, the declared number; afterwards the number in the cells, which is the same in all of them.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width.get().copied().unwrap_or(self.declared)
    }

    /// Bytes of a row, by [`width`](Self::width).
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        // Cannot overflow: a width from a cell has its bytes in memory, and the declared one was checked.
        self.width().saturating_mul(self.attribute.dtype.size())
    }

    /// A row of the value that means absence: its code, or NaN; `None` if the type has neither.
    #[must_use]
    pub fn absent_row(&self) -> Option<Vec<u8>> {
        let size = self.attribute.dtype.size();
        let value = match (&self.attribute.categories, self.attribute.dtype.kind) {
            (Some(_), _) => self
                .attribute
                .fill_code?
                .to_le_bytes()
                .get(..size)?
                .to_vec(),
            (None, kind) => nan(kind)?,
        };
        Some(value.repeat(self.width()))
    }

    /// The kind of its cells: of vertices or of fragments.
    #[must_use]
    pub fn cell(&self) -> ChunkCell {
        self.of
    }

    /// Bytes of a row in a cell of `length` bytes of a chunk with `rows` rows: the length of the cell determines the width of a row (trap T8).
    /// `None`: no row has a value. The cell may have fewer rows than the chunk, never more.
    pub(super) fn row_bytes_of(
        &self,
        length: usize,
        rows: u32,
    ) -> Result<Option<usize>, CellFault> {
        let size = self.attribute.dtype.size();
        let all = size.saturating_mul(index(rows));
        let declared = self.declared.saturating_mul(size).max(1);
        // If points were appended without values, only the first rows have stored values (0.7, section 17.4).
        let some =
            self.may_lack && length.is_multiple_of(declared) && length / declared < index(rows);
        let width = match length.checked_div(all) {
            _ if some => self.declared,
            Some(width) if width > 0 && width.checked_mul(all) == Some(length) => width,
            _ => {
                let dtype = self.attribute.dtype;
                let expected = format!("a multiple of {all}: {rows} rows of {dtype}");
                return Err(CellFault::rows(format_args!("{length} bytes"), expected));
            }
        };
        Ok((length > 0).then(|| width.saturating_mul(size)))
    }

    /// The values of a cell of a chunk with `rows` rows. The cell must have complete rows, at most `rows`. `None` without values.
    pub(super) fn decode(&self, cell: Bytes, rows: u32) -> Result<Option<RowValues>, CellFault> {
        let row = self.row_bytes_of(cell.len(), rows)?;
        let values = |row| RowValues::new(row, little_endian(self.attribute.dtype, cell));
        Ok(row.map(values))
    }

    /// Values in a row of a decoded cell.
    #[must_use]
    pub fn width_of(&self, values: &RowValues) -> usize {
        let size = self.attribute.dtype.size();
        values.row_bytes().checked_div(size).unwrap_or(0)
    }

    /// Refuses rows of another width than in the cells before.
    pub(super) fn check_width(&self, values: &RowValues) -> Result<(), CellFault> {
        let width = self.width_of(values);
        let first = *self.width.get_or_init(|| width);
        if first != width {
            let found = format_args!("{width} values a row");
            let expected = format_args!("{first} as in other chunks");
            return Err(CellFault::rows(found, expected));
        }
        Ok(())
    }

    /// Compares the width of rows with the declared one: attributes of fragments are as wide as declared (0.9, section 12.2), attributes of vertices
    /// are as wide as their bytes (section 12.1). Readers tolerate other widths.
    pub(super) fn check_declared(&self, values: &RowValues, rows: u32) -> Result<(), CellFault> {
        let declares = self.attribute.array.attributes().row_shape.is_some();
        let declared = self.attribute.declared_width.unwrap_or(1);
        if self.of == ChunkCell::FragmentColumn
            && declares
            && wide(self.width_of(values)) != declared
        {
            let found = format_args!("{} bytes", values.bytes().len());
            let dtype = self.attribute.dtype;
            return Err(CellFault::rows(
                found,
                format_args!("{rows} rows of {declared} {dtype}"),
            ));
        }
        Ok(())
    }
}
