//! Attributes of vertices and fragments: the width of their rows.

use std::sync::OnceLock;

use bytes::Bytes;
use half::f16;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::int::{index, wide};

use super::values::RowValues;
use crate::codec::little_endian;
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
    /// Values in a row of the first cell that was read.
    width: OnceLock<usize>,
}

impl ChunkColumn {
    pub(super) fn new(attribute: &VertexAttribute) -> Result<Self, StoreError> {
        let declared = attribute.declared_width.unwrap_or(1).max(1);
        let size = attribute.dtype.size();
        let fits = usize::try_from(declared)
            .ok()
            .filter(|declared| declared.checked_mul(size).is_some());
        let too_wide = || {
            let most = wide(usize::MAX / size.max(1));
            StoreError::limit(attribute.array.path(), "values of a row", declared, most)
        };
        Ok(Self {
            attribute: attribute.clone(),
            declared: fits.ok_or_else(too_wide)?,
            width: OnceLock::new(),
        })
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

    /// Values in a row: as in the cells that were read, which all agree; as declared before one was read.
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

    /// Bytes of a row in a cell of `length` bytes of a chunk with `rows` rows: the length of the cell decides how wide a row is (trap T8).
    /// `None`: no row has a value. The cell may have fewer rows than the chunk, never more.
    ///
    /// # Errors
    /// What is wrong with the cell.
    pub(super) fn row_bytes_of(&self, length: usize, rows: u32) -> Result<Option<usize>, String> {
        let size = self.attribute.dtype.size();
        let all = size.saturating_mul(index(rows));
        let declared = self.declared.saturating_mul(size).max(1);
        // If points were appended without values, only the first rows have stored values (0.7, section 17.4).
        let some = self.attribute.array.may_lack_rows()
            && length.is_multiple_of(declared)
            && length / declared < index(rows);
        let width = match length.checked_div(all) {
            _ if some => self.declared,
            Some(width) if width > 0 && width.checked_mul(all) == Some(length) => width,
            _ => {
                return Err(format!(
                    "found {length} bytes, expected a multiple of {all}: {rows} rows of {}",
                    self.dtype()
                ));
            }
        };
        Ok((length > 0).then(|| width.saturating_mul(size)))
    }

    /// The values of a cell of a chunk with `rows` rows. The cell must have complete rows, at most `rows`, with the width of previous cells.
    /// `None` without values.
    ///
    /// # Errors
    /// What is wrong with the cell.
    pub(super) fn decode(&self, cell: Bytes, rows: u32) -> Result<Option<RowValues>, String> {
        let Some(row) = self.row_bytes_of(cell.len(), rows)? else {
            return Ok(None);
        };
        let width = row.checked_div(self.attribute.dtype.size()).unwrap_or(0);
        let first = *self.width.get_or_init(|| width);
        if first != width {
            return Err(format!(
                "found {width} values a row, expected {first} as in other chunks"
            ));
        }
        let values = little_endian(self.attribute.dtype, cell);
        Ok(Some(RowValues::new(row, values)))
    }
}
