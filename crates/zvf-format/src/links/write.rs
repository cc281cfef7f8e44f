//! The encoder: [`LinkCellBuilder`].

use alloc::vec::Vec;

use super::cell::CellForm;
use super::lehmer;
use crate::dtype::{ByteOrder, DType};
use crate::error::{EncodeError, Expected};
use crate::int::{signed, wide};
use crate::ragged::RaggedBuilder;

/// Collects the rows of one link cell and writes it, flat or ragged depending on its layout.
///
/// # Examples
///
/// ```
/// use zvf_format::dtype::DType;
/// use zvf_format::links::{CellForm, LinkCell, LinkCellBuilder};
///
/// let form = CellForm::derive(2, 0, &[1, 0], false, false, DType::I64);
/// let mut builder = LinkCellBuilder::new(form);
/// builder.push(&[1, 0], &[7, 3])?; // stored endpoint 0 is endpoint 1 of the application
/// let bytes = builder.finish();
/// let mut rows = [0; 2];
/// LinkCell::parse(&bytes, form)?.record(0).ok_or("one record")?.restore(&mut rows)?;
/// assert_eq!(rows, [3, 7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct LinkCellBuilder {
    form: CellForm,
    groups: RaggedBuilder,
    group: Vec<u8>,
    rows: usize,
}

impl LinkCellBuilder {
    /// Starts a cell without rows.
    #[must_use]
    pub fn new(form: CellForm) -> Self {
        Self {
            form,
            groups: RaggedBuilder::new(),
            group: Vec::new(),
            rows: 0,
        }
    }

    /// Number of pushed rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends a record: its placement s, and its rows in stored order.
    ///
    /// # Errors
    /// If the element type is not an integer; if either slice does not have L entries; if the layout has no permutation column
    /// and s is not the identity; if it has one and s is not a permutation of at most 8 endpoints, or its code does not fit the
    /// element type; if a row is negative or does not fit the element type. The builder is then unchanged.
    pub fn push(&mut self, placement: &[u8], placed: &[i64]) -> Result<(), EncodeError> {
        let width = self.form.link_width;
        for found in [placement.len(), placed.len()] {
            if found != width {
                let expected = Expected::Exactly(signed(width));
                return Err(EncodeError::new(
                    "link width",
                    self.rows,
                    signed(found),
                    expected,
                ));
            }
        }
        let Some((_, most)) = self.form.dtype.integer_bounds() else {
            let size = signed(self.form.dtype.size());
            let expected = Expected::Text("an integer type");
            return Err(EncodeError::new(
                "link column width",
                self.rows,
                size,
                expected,
            ));
        };
        for (item, &row) in placed.iter().enumerate() {
            if row < 0 || row > most {
                let expected = if row < 0 {
                    Expected::AtLeast(0)
                } else {
                    Expected::AtMost(most)
                };
                return Err(EncodeError::new("link row", item, row, expected));
            }
        }
        if self.form.has_perm {
            let code = lehmer::encode(placement)
                .map(i64::from)
                .filter(|&code| code <= most);
            let Some(code) = code else {
                let expected = Expected::Text("a permutation whose code fits the element type");
                return Err(EncodeError::new(
                    "link placement",
                    self.rows,
                    signed(width),
                    expected,
                ));
            };
            self.put(code);
        } else if let Some((item, &place)) = placement
            .iter()
            .enumerate()
            .find(|&(i, &place)| wide(i) != u64::from(place))
        {
            let expected = Expected::Exactly(signed(item));
            return Err(EncodeError::new(
                "link placement",
                item,
                i64::from(place),
                expected,
            ));
        }
        for &row in placed {
            self.put(row);
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the current group; the next record begins another one. Only ragged cells have groups; in a flat cell this does
    /// nothing, because its groups are in `link_fragments`. An empty group is kept.
    pub fn end_group(&mut self) {
        if self.form.ragged {
            self.groups.push(&self.group);
            self.group.clear();
        }
    }

    /// Writes the cell. Records after the last [`end_group`](Self::end_group) form the last group.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if !self.form.ragged {
            return self.group;
        }
        if !self.group.is_empty() {
            self.end_group();
        }
        self.groups.finish()
    }

    /// Appends one column; the value was checked to fit.
    fn put(&mut self, value: i64) {
        // The usual type, copied with a known width.
        if self.form.dtype == DType::I64 {
            self.group.extend_from_slice(&value.to_le_bytes());
            return;
        }
        let size = self.form.dtype.size();
        let bytes = value.to_le_bytes();
        let low = bytes.get(..size).unwrap_or(&bytes);
        if self.form.dtype.order == ByteOrder::Big {
            self.group.extend(low.iter().rev());
        } else {
            self.group.extend_from_slice(low);
        }
    }
}
