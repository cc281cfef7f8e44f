//! The records of one link cell.

use zvf_format::links::{self as raw, lehmer};

/// One endpoint of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// Index of its chunk in [`LinkArray::endpoint_chunks`](crate::LinkArray::endpoint_chunks).
    pub which: usize,
    /// Row in the buffer of that chunk.
    pub row: i64,
}

/// The records of one link cell.
#[derive(Debug, Clone, Copy)]
pub struct LinkCell<'a> {
    pub(super) cell: raw::LinkCell<'a>,
}

impl<'a> LinkCell<'a> {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.cell.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.cell.is_empty()
    }

    /// Writes the endpoints of record `i` into `out`, in the order of the application; `false` when there is no such
    /// record or `out` does not have one place for each endpoint.
    ///
    /// A permutation goes from stored to given order: stored endpoint `i` is endpoint `s[i]` of the application (0.8,
    /// section 9.2).
    pub fn record(&self, i: usize, out: &mut [Endpoint]) -> bool {
        let width = self.cell.form().link_width;
        let Some(record) = self.cell.record(i).filter(|_| out.len() == width) else {
            return false;
        };
        if self.cell.form().has_perm {
            let mut placement = [0u8; lehmer::MAX_WIDTH];
            let Some(placement) = placement.get_mut(..width) else {
                return false;
            };
            if record.placement(placement).is_err() {
                return false;
            }
            for (which, original) in placement.iter().enumerate() {
                let Some((place, row)) = out
                    .get_mut(usize::from(*original))
                    .zip(record.placed(which))
                else {
                    return false;
                };
                *place = Endpoint { which, row };
            }
        } else {
            for (which, place) in out.iter_mut().enumerate() {
                let Some(row) = record.placed(which) else {
                    return false;
                };
                *place = Endpoint { which, row };
            }
        }
        true
    }

    /// The view of the format crate: rows as stored, groups, permutation codes.
    pub fn raw(&self) -> raw::LinkCell<'a> {
        self.cell
    }
}
