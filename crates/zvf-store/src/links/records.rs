//! The flat records of 0.7, divided into cells when the family is loaded.
//!
//! One blob has all links between chunks of a family. It is divided into cells by the chunks of the endpoints, which gives
//! the same shape as in 0.8: the coordinate of a cell is the chunks of all endpoints, and
//! a row of it has the rows of the endpoints of one record, in the order of the application. Attributes are stored next to the records and
//! divided the same way.
//!
//! Source: specification 0.7, sections 9.4 and 9.5.

use std::collections::BTreeMap;

use bytes::Bytes;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::links::legacy::FlatRecords;
use zvf_meta::ArrayAttributes;

use crate::container::GridArray;
use crate::{ChunkCoord, StoreError};
use zvf_format::int::wide;

/// Type of the rows in these cells.
pub(crate) const ROWS: DType = DType::little(DTypeKind::I64);

/// The records of a family, sorted into cells.
#[derive(Debug)]
pub(crate) struct RecordsByCell {
    path: String,
    rank: usize,
    /// For each cell, the indices of its records in the blob, ascending.
    cells: BTreeMap<ChunkCoord, Vec<usize>>,
    records: usize,
}

/// Bytes of `count` records.
fn expected(count: u64, width: usize, key_rank: usize) -> Option<u64> {
    let record = u64::try_from(width)
        .ok()?
        .checked_mul(u64::try_from(key_rank).ok()?.checked_add(1)?)?;
    count.checked_mul(record)?.checked_mul(8)
}

impl RecordsByCell {
    /// Sorts the records of a blob into cells.
    ///
    /// # Errors
    /// Malformed: a blob whose length does not fit `stated` records, or is no whole number of records. Limit: a width or rank of 0.
    pub(crate) fn new(
        path: &str,
        blob: &[u8],
        stated: Option<u64>,
        width: usize,
        key_rank: usize,
    ) -> Result<Self, StoreError> {
        if let Some(count) = stated
            && expected(count, width, key_rank) != Some(wide(blob.len()))
        {
            return Err(StoreError::malformed(
                path,
                format!(
                    "{} bytes found, expected those of {count} records of {width} endpoints with {} numbers of 8 bytes",
                    blob.len(),
                    key_rank.saturating_add(1)
                ),
            ));
        }
        let records = FlatRecords::parse(blob, width, key_rank)
            .map_err(|e| StoreError::decode(path.to_owned(), e))?;
        let mut cells: BTreeMap<ChunkCoord, Vec<usize>> = BTreeMap::new();
        let mut coord = Vec::with_capacity(width.saturating_mul(key_rank));
        for i in 0..records.len() {
            coord.clear();
            for e in 0..width {
                if let Some((chunk, _)) = records.endpoint(i, e) {
                    coord.extend(chunk.iter().map(|c| c.get()));
                }
            }
            match cells.get_mut(coord.as_slice()) {
                Some(numbers) => numbers.push(i),
                None => {
                    cells.insert(ChunkCoord::new(&coord), vec![i]);
                }
            }
        }
        Ok(Self {
            path: path.to_owned(),
            rank: width.saturating_mul(key_rank),
            cells,
            records: records.len(),
        })
    }

    /// The array with the rows of the endpoints; `blob` is the blob that was sorted into cells.
    ///
    /// # Errors
    /// None for a blob that [`new`](Self::new) accepted.
    pub(crate) fn links(
        &self,
        blob: &[u8],
        attributes: ArrayAttributes,
        width: usize,
        key_rank: usize,
    ) -> Result<GridArray, StoreError> {
        let records = FlatRecords::parse(blob, width, key_rank)
            .map_err(|e| StoreError::decode(self.path.clone(), e))?;
        let cells = self.gather(|number, out| {
            for e in 0..width {
                if let Some((_, row)) = records.endpoint(number, e) {
                    out.extend_from_slice(&row.to_le_bytes());
                }
            }
        });
        GridArray::from_memory(self.path.clone(), attributes, ROWS, self.rank, cells)
    }

    /// The array of an attribute: `blob` holds one row for each record, in the order of the records.
    ///
    /// # Errors
    /// Malformed: a blob without a whole number of elements for each record.
    pub(crate) fn attribute(
        &self,
        path: &str,
        blob: &[u8],
        attributes: ArrayAttributes,
        dtype: DType,
    ) -> Result<GridArray, StoreError> {
        let row = blob.len().checked_div(self.records).unwrap_or(0);
        let size = dtype.size().max(1);
        if row.checked_mul(self.records) != Some(blob.len()) || !row.is_multiple_of(size) {
            return Err(StoreError::malformed(
                path,
                format!(
                    "{} bytes found, expected a whole number of {dtype} for each of {} links",
                    blob.len(),
                    self.records
                ),
            ));
        }
        let cells = self.gather(|number, out| {
            let from = number.saturating_mul(row);
            if let Some(bytes) = blob.get(from..from.saturating_add(row)) {
                out.extend_from_slice(bytes);
            }
        });
        GridArray::from_memory(path.to_owned(), attributes, dtype, self.rank, cells)
    }

    /// Number of records.
    #[cfg(test)]
    fn records(&self) -> usize {
        self.records
    }

    fn gather(&self, mut row: impl FnMut(usize, &mut Vec<u8>)) -> Vec<(ChunkCoord, Bytes)> {
        self.cells
            .iter()
            .map(|(coord, numbers)| {
                let mut bytes = Vec::new();
                numbers.iter().for_each(|number| row(*number, &mut bytes));
                (coord.clone(), bytes.into())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use zvf_format::dtype::DType;
    use zvf_meta::ArrayAttributes;

    use super::RecordsByCell;
    use crate::container::Container;

    fn blob(numbers: &[i64]) -> Vec<u8> {
        numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// Section 20.5 of the specification: edges 2-3 and 4-0 of a graph in two chunks, and one edge more.
    const GRAPH: [i64; 24] = [
        0, 0, 0, 2, 1, 0, 0, 0, // edge (2,3)
        1, 0, 0, 1, 0, 0, 0, 0, // edge (4,0)
        0, 0, 0, 7, 1, 0, 0, 5,
    ];

    #[test]
    fn records_of_one_tuple_of_chunks_are_one_cell() {
        let bytes = blob(&GRAPH);
        let cut = RecordsByCell::new("p", &bytes, Some(3), 2, 3).unwrap();
        let array = cut.links(&bytes, ArrayAttributes::default(), 2, 3).unwrap();
        let cells: Vec<&[i64]> = array.presence().iter().collect();
        assert_eq!(cells, [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]);
        let Container::Records(records) = array.contents() else {
            panic!("cells in memory");
        };
        assert_eq!(records.get(0).unwrap(), blob(&[2, 0, 7, 5]));
        assert_eq!(records.get(1).unwrap(), blob(&[1, 0]));
        let weights: Vec<u8> = [0.3f32, 0.5, 0.7]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        let float = DType::parse("float32").unwrap();
        let array = cut
            .attribute("w", &weights, ArrayAttributes::default(), float)
            .unwrap();
        let Container::Records(records) = array.contents() else {
            panic!("cells in memory");
        };
        let pair: Vec<u8> = [0.3f32, 0.7].iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(records.get(0).unwrap(), pair);
        assert!(
            cut.attribute("w", &weights[1..], ArrayAttributes::default(), float)
                .is_err()
        );
    }

    #[test]
    fn lengths_that_disagree_with_num_links_are_refused() {
        let bytes = blob(&GRAPH);
        for stated in [0, 2, 4, u64::MAX, u64::MAX / 64] {
            let error = RecordsByCell::new("p", &bytes, Some(stated), 2, 3).unwrap_err();
            assert!(error.to_string().contains("192 bytes found"), "{error}");
        }
        assert!(RecordsByCell::new("p", &bytes[..191], None, 2, 3).is_err());
        assert!(RecordsByCell::new("p", &bytes, None, 0, 3).is_err());
        assert_eq!(
            RecordsByCell::new("p", &[], Some(0), 3, 3)
                .unwrap()
                .records(),
            0
        );
    }
}
