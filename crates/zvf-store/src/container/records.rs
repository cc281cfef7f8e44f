//! Cells held in memory, taken from one blob when the level was loaded.
//!
//! Source: specification 0.7, sections 9.4 and 9.5.

use bytes::Bytes;

use crate::presence::Presence;
use crate::{ChunkCoord, StoreError};

/// Cells in the lex order of their coordinates, which the array's [`Presence`] holds.
#[derive(Debug, Clone)]
pub(crate) struct CellRecords(Vec<Bytes>);

impl CellRecords {
    /// Sorts cells by coordinate.
    ///
    /// # Errors
    /// A coordinate of another rank, or one that occurs twice.
    pub(super) fn new(
        path: &str,
        rank: usize,
        mut cells: Vec<(ChunkCoord, Bytes)>,
    ) -> Result<(Self, Presence), StoreError> {
        cells.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut flat = Vec::with_capacity(cells.len().saturating_mul(rank));
        let mut before: Option<&ChunkCoord> = None;
        for (coord, _) in &cells {
            if coord.len() != rank || rank == 0 {
                return Err(StoreError::malformed(
                    path,
                    format!(
                        "cell {coord} has {} components, expected {rank}",
                        coord.len()
                    ),
                ));
            }
            if before == Some(coord) {
                return Err(StoreError::malformed(
                    path,
                    format!("cell {coord} occurs twice"),
                ));
            }
            flat.extend_from_slice(coord);
            before = Some(coord);
        }
        let presence = Presence::from_known(rank, flat);
        Ok((
            Self(cells.into_iter().map(|(_, bytes)| bytes).collect()),
            presence,
        ))
    }

    /// The `at`-th cell in lex order; `None` if it is empty or there is none.
    pub(crate) fn get(&self, at: usize) -> Option<Bytes> {
        self.0.get(at).filter(|bytes| !bytes.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use zvf_format::dtype::DType;
    use zvf_meta::ArrayAttributes;

    use crate::{ChunkCoord, GridArray};

    fn array(cells: Vec<(ChunkCoord, Bytes)>) -> Result<GridArray, crate::StoreError> {
        let attributes = ArrayAttributes::default();
        GridArray::from_memory("0/x".to_owned(), attributes, DType::DEFAULT, 2, cells)
    }

    #[test]
    fn cells_are_sorted_by_number() {
        let cell = |at: [i64; 2], text: &'static str| (ChunkCoord::from(at), Bytes::from(text));
        let made = array(vec![
            cell([10, 0], "b"),
            cell([2, 0], "a"),
            cell([-1, 5], "c"),
        ])
        .unwrap();
        let order: Vec<&[i64]> = made.presence().iter().collect();
        assert_eq!(order, [[-1, 5], [2, 0], [10, 0]]);
        assert!(!made.presence().is_listed());
        let super::super::Container::Records(records) = made.contents() else {
            panic!("cells in memory are records");
        };
        assert_eq!(records.get(1).unwrap(), "a");
        assert_eq!(records.get(3), None);
    }

    #[test]
    fn wrong_coordinates_are_refused() {
        let cell = |at: &[i64]| (ChunkCoord::new(at), Bytes::from("x"));
        assert!(array(vec![cell(&[1, 2]), cell(&[1])]).is_err());
        let twice = array(vec![cell(&[1, 2]), cell(&[3, 4]), cell(&[1, 2])]);
        assert!(twice.unwrap_err().to_string().contains("1.2 occurs twice"));
    }
}
