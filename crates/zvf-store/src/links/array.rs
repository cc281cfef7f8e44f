//! One array of links, and the placement of its records.

use std::sync::Arc;

use zvf_format::DecodeError;
use zvf_format::dtype::DType;
use zvf_format::links::{self as raw, CellForm};
use zvf_meta::{LinkFamilyDoc, LinkStore};

use super::cell::LinkCell;
use crate::StoreError;
use crate::container::GridArray;
use crate::coord::Dotted;

/// How the chunks of a record's endpoints follow from the coordinate of its cell.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// The cell is stored at the chunk of the first stored endpoint; the others are at fixed offsets (0.9, section 13).
    Offsets {
        /// Offsets of the endpoint chunks 1 to L-1 from the anchor, flat: `(L-1) * K` numbers.
        offsets: Vec<i64>,
        /// Per-axis factors of this level and the target level, for families between levels.
        anchor: Option<Arc<(Vec<i64>, Vec<i64>)>>,
    },
    /// All endpoints are in the chunk with the cell's key, each at its own level. Keys of different grids are
    /// compared as they are (0.7, sections 9.1 and 9.3).
    SameKey,
    /// The coordinate of the cell is the chunks of all endpoints in stored order: `L * K` numbers (0.8, section 9.1).
    Tuple,
}

impl Placement {
    /// The chunks of the endpoints of every record in the cell at `source`, in stored order: `width * K` numbers.
    ///
    /// # Errors
    /// Only for placement by offsets: a wrong number of offsets, or an endpoint beyond 64 bits. `out` is empty then.
    pub fn endpoint_chunks(
        &self,
        source: &[i64],
        width: usize,
        out: &mut Vec<i64>,
    ) -> Result<(), DecodeError> {
        out.clear();
        let Self::Offsets { offsets, anchor } = self else {
            let chunks = if *self == Self::Tuple { 1 } else { width };
            out.extend(std::iter::repeat_n(source, chunks).flatten());
            return Ok(());
        };
        out.resize(width.saturating_mul(source.len()), 0);
        let done = match anchor {
            None => raw::endpoint_chunks(source, source, offsets, out),
            Some(factors) => {
                let mut anchor = vec![0; source.len()];
                raw::anchor(source, &factors.0, &factors.1, &mut anchor)
                    .and_then(|()| raw::endpoint_chunks(source, &anchor, offsets, out))
            }
        };
        done.inspect_err(|_| out.clear())
    }
}

/// One array of a link family.
#[derive(Debug, Clone)]
pub struct LinkArray {
    segment: String,
    placement: Placement,
    form: CellForm,
    /// K.
    chunk_rank: usize,
    delta: i32,
    /// Whether a record that touches several chunks is stored once for each of them.
    copies: bool,
    /// The array.
    pub array: Arc<GridArray>,
}

impl LinkArray {
    /// Parses an array's placement from its segment, and compares it with the document.
    pub(crate) fn at_offsets(
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
        let duplicate = family.store == LinkStore::Duplicate;
        let dtype = dtype(&array)?;
        let form = CellForm::derive(width, delta, &offsets, family.directed, duplicate, dtype);
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
            placement: Placement::Offsets { offsets, anchor },
            form,
            chunk_rank: key_rank,
            delta,
            // Between levels a record is stored once, whatever the policy states (0.9, section 13.3).
            copies: duplicate && delta == 0,
            array,
        })
    }

    /// An array with cells that hold links inside one chunk, or between chunks of the same key at two levels.
    ///
    /// `flat`: cells between levels are plain rows, too, as in padded arrays.
    pub(crate) fn same_key(
        array: Arc<GridArray>,
        delta: i32,
        width: usize,
        flat: bool,
    ) -> Result<Self, StoreError> {
        let form = CellForm {
            link_width: width,
            has_perm: false,
            ragged: delta != 0 && !flat,
            dtype: dtype(&array)?,
        };
        Ok(Self {
            segment: "links".to_owned(),
            placement: Placement::SameKey,
            form,
            chunk_rank: array.key_rank(),
            delta,
            copies: false,
            array,
        })
    }

    /// An array with cells that are looked up by the chunks of all endpoints. `form` is the layout of its cells.
    pub(crate) fn tuple(
        array: Arc<GridArray>,
        delta: i32,
        form: CellForm,
        key_rank: usize,
        duplicate: bool,
    ) -> Self {
        Self {
            segment: "cross_chunk_links".to_owned(),
            placement: Placement::Tuple,
            form,
            chunk_rank: key_rank,
            delta,
            copies: duplicate,
            array,
        }
    }

    /// Name of the array in its family: its offsets, such as `+1.0.0`; before 0.9 the family of arrays that it belongs to, `links` or
    /// `cross_chunk_links`.
    pub fn segment(&self) -> &str {
        &self.segment
    }

    /// How the chunks of endpoints are found.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Offsets of the endpoint chunks 1 to L-1 from the anchor, flat: `(L-1) * K` numbers; none for other placements.
    pub fn offsets(&self) -> &[i64] {
        match &self.placement {
            Placement::Offsets { offsets, .. } => offsets,
            Placement::SameKey | Placement::Tuple => &[],
        }
    }

    /// Whether rows begin with a permutation code.
    pub fn has_perm(&self) -> bool {
        self.form.has_perm
    }

    /// L, endpoints of a record.
    pub fn width(&self) -> usize {
        self.form.link_width
    }

    /// K, components of the chunk of one endpoint.
    pub fn chunk_rank(&self) -> usize {
        self.chunk_rank
    }

    /// Whether all endpoints of every record are in one chunk of this level.
    pub fn is_intra(&self) -> bool {
        match &self.placement {
            Placement::Offsets { .. } => !self.form.ragged,
            Placement::SameKey => self.delta == 0,
            Placement::Tuple => false,
        }
    }

    /// How the cells are laid out.
    pub fn form(&self) -> CellForm {
        self.form
    }

    /// The chunks of the endpoints of every record in the cell at `source`, in stored order: `L * K` numbers.
    ///
    /// Inside a level, all chunks are in that level. Between levels the first endpoint *of the application* is in this level and the others are in the
    /// target level; they are in stored order only if placement is by offsets.
    ///
    /// # Errors
    /// A coordinate of another rank, or an endpoint beyond 64 bits. `out` is empty then.
    pub fn endpoint_chunks(&self, source: &[i64], out: &mut Vec<i64>) -> Result<(), StoreError> {
        if !matches!(self.placement, Placement::Offsets { .. }) {
            out.clear();
            self.array.check_rank(source)?;
        }
        let done = self
            .placement
            .endpoint_chunks(source, self.form.link_width, out);
        done.map_err(|e| self.wrong(source, e))
    }

    /// Whether the records of a cell with these endpoint chunks are copies. The original record is in the cell in which
    /// its smallest chunk comes first.
    ///
    /// All records of a cell have the same endpoint chunks, so either all are copies or none is (0.8, section 9.3).
    pub fn is_copy(&self, ends: &[i64]) -> bool {
        let mut chunks = ends.chunks_exact(self.chunk_rank.max(1));
        self.copies
            && chunks
                .next()
                .is_some_and(|first| chunks.any(|chunk| chunk < first))
    }

    /// A view of the records of one cell; every permutation code has been checked.
    ///
    /// # Errors
    /// A length that is not a whole number of rows, damaged groups, a permutation code out of range, a negative row.
    pub fn decode<'a>(&self, source: &[i64], cell: &'a [u8]) -> Result<LinkCell<'a>, StoreError> {
        let cell = raw::LinkCell::parse(cell, self.form).map_err(|e| self.wrong(source, e))?;
        cell.check().map_err(|e| self.wrong(source, e))?;
        Ok(LinkCell { cell })
    }

    /// A view of the records of one cell, as [`decode`](Self::decode) returns, but permutation codes and negative rows are not checked. For readers
    /// of a few records of a large cell.
    ///
    /// # Errors
    /// A length that is not a whole number of rows, damaged groups.
    pub fn view<'a>(&self, source: &[i64], cell: &'a [u8]) -> Result<LinkCell<'a>, StoreError> {
        let cell = raw::LinkCell::parse(cell, self.form).map_err(|e| self.wrong(source, e))?;
        Ok(LinkCell { cell })
    }

    #[cold]
    fn wrong(&self, source: &[i64], error: DecodeError) -> StoreError {
        StoreError::decode(
            format!("{} at {}", self.array.path(), Dotted(source)),
            error,
        )
    }
}

/// The type of the columns of an array's cells.
pub(crate) fn dtype(array: &GridArray) -> Result<DType, StoreError> {
    let dtype = array.dtype();
    if dtype.is_integer() {
        return Ok(dtype);
    }
    let message = format!("dtype is {dtype}, expected an integer");
    Err(StoreError::malformed(array.path(), message))
}
