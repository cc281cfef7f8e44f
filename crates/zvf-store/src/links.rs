//! Link families: records of endpoints, given in the order of the application.
//!
//! Source: specification 0.9, section 13.

use std::sync::Arc;

use zvf_format::dtype::DType;
use zvf_format::links::{self as raw, CellForm, Elem, lehmer};
use zvf_meta::{LinkFamilyDoc, LinkStore};

use crate::StoreError;
use crate::container::GridArray;
use crate::coord::Dotted;

/// The links of one level that span `delta` levels.
#[derive(Debug, Clone)]
pub struct LinkFamily {
    pub(crate) delta: i32,
    pub(crate) doc: LinkFamilyDoc,
    pub(crate) width: usize,
    pub(crate) arrays: Vec<LinkArray>,
    pub(crate) attributes: Vec<LinkAttribute>,
}

impl LinkFamily {
    /// How many levels the links span; 0 for links inside the level.
    pub fn delta(&self) -> i32 {
        self.delta
    }

    /// L, endpoints of a record; 0 for a family without policy, which reads as empty.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether the order of endpoints has a meaning beyond the application's own.
    pub fn directed(&self) -> bool {
        self.doc.directed
    }

    /// Whether each record is stored once or once for each chunk it touches.
    pub fn store(&self) -> LinkStore {
        self.doc.store
    }

    /// The family's document.
    pub fn doc(&self) -> &LinkFamilyDoc {
        &self.doc
    }

    /// The arrays, in ASCII order of their segments: the order of record numbers (13.5).
    pub fn arrays(&self) -> &[LinkArray] {
        &self.arrays
    }

    /// The link attributes that were asked for and exist.
    pub fn attributes(&self) -> &[LinkAttribute] {
        &self.attributes
    }
}

/// One array of a link family: the records whose other endpoints lie at the same chunk offsets.
#[derive(Debug, Clone)]
pub struct LinkArray {
    segment: String,
    offsets: Vec<i64>,
    form: CellForm,
    /// Per-axis factors of this level and the target level, for families between levels.
    anchor: Option<Arc<(Vec<i64>, Vec<i64>)>>,
    /// The chunk-grid array.
    pub array: Arc<GridArray>,
}

impl LinkArray {
    /// Reads an array's placement out of its segment, and compares it with what the document says.
    pub(crate) fn new(
        segment: String,
        array: Arc<GridArray>,
        delta: i32,
        family: &LinkFamilyDoc,
        width: usize,
        key_rank: usize,
        anchor: Option<Arc<(Vec<i64>, Vec<i64>)>>,
    ) -> Result<Self, StoreError> {
        let path = || array.path().to_owned();
        let mut offsets = vec![0; width.saturating_sub(1).saturating_mul(key_rank)];
        let used = zvf_format::keys::parse_offsets(&segment, key_rank, width, &mut offsets)
            .map_err(|e| StoreError::decode(path(), e))?;
        offsets.truncate(used);
        if let Some(stated) = &array.attributes().offsets {
            let flat: Vec<i64> = stated.iter().flatten().copied().collect();
            if flat != offsets || stated.iter().any(|one| one.len() != key_rank) {
                return Err(StoreError::malformed(
                    path(),
                    format!("attribute offsets is {stated:?}, but the array is named {segment:?}"),
                ));
            }
        }
        let elem = Elem::from_dtype(array.dtype()).ok_or_else(|| {
            StoreError::malformed(
                path(),
                format!("dtype is {}, expected an integer", array.dtype()),
            )
        })?;
        let duplicate = family.store == LinkStore::Duplicate;
        let form = CellForm::derive(width, delta, &offsets, family.directed, duplicate, elem);
        if let Some(stated) = array.attributes().has_perm
            && stated != form.has_perm
        {
            return Err(StoreError::malformed(
                path(),
                format!(
                    "has_perm is {stated}, but the family's policy gives {}",
                    form.has_perm
                ),
            ));
        }
        Ok(Self {
            segment,
            offsets,
            form,
            anchor,
            array,
        })
    }

    /// Last segment of the array's path, such as `+1.0.0`.
    pub fn segment(&self) -> &str {
        &self.segment
    }

    /// Offsets of the endpoint chunks 1 to L-1 from the anchor, flat: `(L-1) * K` numbers.
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// Whether rows begin with a permutation code.
    pub fn has_perm(&self) -> bool {
        self.form.has_perm
    }

    /// L, endpoints of a record.
    pub fn width(&self) -> usize {
        self.form.link_width
    }

    /// Whether all endpoints lie in the source chunk, at the same level.
    pub fn is_intra(&self) -> bool {
        !self.form.ragged
    }

    /// How the cells are laid out.
    pub fn form(&self) -> CellForm {
        self.form
    }

    /// The chunks of the endpoints of every record in the cell at `source`, in stored order: `L * K` numbers.
    ///
    /// The first is the source; for a family between levels the others are chunks of the target level.
    ///
    /// # Errors
    /// A coordinate of another rank, or an endpoint beyond 64 bits. `out` is empty then.
    pub fn endpoint_chunks(&self, source: &[i64], out: &mut Vec<i64>) -> Result<(), StoreError> {
        let wrong =
            |e| StoreError::decode(format!("{} at {}", self.array.path(), Dotted(source)), e);
        out.clear();
        out.resize(self.form.link_width.saturating_mul(source.len()), 0);
        let done = match &self.anchor {
            None => raw::endpoint_chunks(source, source, &self.offsets, out),
            Some(factors) => {
                let mut anchor = vec![0; source.len()];
                raw::anchor(source, &factors.0, &factors.1, &mut anchor)
                    .and_then(|()| raw::endpoint_chunks(source, &anchor, &self.offsets, out))
            }
        };
        done.map_err(|e| {
            out.clear();
            wrong(e)
        })
    }

    /// A view of the records of one cell; every permutation code has been checked.
    ///
    /// # Errors
    /// A length that is no whole number of rows, damaged groups, a permutation code out of range, a negative row.
    pub fn decode<'a>(&self, source: &[i64], cell: &'a [u8]) -> Result<LinkCell<'a>, StoreError> {
        let wrong =
            |e| StoreError::decode(format!("{} at {}", self.array.path(), Dotted(source)), e);
        let cell = raw::LinkCell::parse(cell, self.form).map_err(wrong)?;
        cell.check().map_err(wrong)?;
        Ok(LinkCell { cell })
    }
}

/// One endpoint of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// Which of [`LinkArray::endpoint_chunks`] it lies in.
    pub which: usize,
    /// Row in the buffer of that chunk.
    pub row: i64,
}

/// The records of one link cell.
#[derive(Debug, Clone, Copy)]
pub struct LinkCell<'a> {
    cell: raw::LinkCell<'a>,
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

/// One attribute of the links of a family.
///
/// # Shape
/// For each link array of the family, in the same order, the array whose cells hold one row for each stored record;
/// `None` where the attribute has no such array.
#[derive(Debug, Clone)]
pub struct LinkAttribute {
    /// Name.
    pub name: String,
    /// Type of the elements.
    pub dtype: DType,
    /// Elements of a row.
    pub width: u64,
    /// Unit of the values.
    pub unit: Option<String>,
    /// One place for each array of the family.
    pub arrays: Vec<Option<Arc<GridArray>>>,
}
