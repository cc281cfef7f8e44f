//! Checks the edges of files that become polylines or streamlines, whose links follow from the order of rows.

use std::path::Path;

use crate::error::{ConvertError, InFile};

/// The rows of one file, and for each whether an edge links it to the row before.
#[derive(Debug, Default)]
pub(crate) struct ChainRows {
    rows: Vec<ChainRow>,
    last: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChainRow {
    First,
    Unlinked,
    Linked,
}

impl ChainRows {
    /// Adds rows: one for each element of `ids`, the id of its object; if `ids` is empty, `rows` rows of the only object of the file.
    pub(crate) fn push(&mut self, rows: usize, ids: &[i64]) {
        let only = std::iter::repeat_n(&0, if ids.is_empty() { rows } else { 0 });
        for id in ids.iter().chain(only) {
            self.rows.push(match self.last == Some(*id) {
                true => ChainRow::Unlinked,
                false => ChainRow::First,
            });
            self.last = Some(*id);
        }
    }

    /// Records an edge.
    ///
    /// # Errors
    /// Malformed data: the edge does not link a row to the next row of the same object.
    pub(crate) fn see(
        &mut self,
        ends: &[u64],
        file: &Path,
        place: InFile,
    ) -> Result<(), ConvertError> {
        let (low, high) = (ends.iter().min(), ends.iter().max());
        let next = low
            .zip(high)
            .filter(|(low, high)| low.checked_add(1) == Some(**high));
        let row = next.and_then(|(_, high)| self.rows.get_mut(usize::try_from(*high).ok()?));
        match row {
            Some(row) if *row != ChainRow::First => {
                *row = ChainRow::Linked;
                Ok(())
            }
            _ => {
                let ends: Vec<String> = ends.iter().map(u64::to_string).collect();
                Err(other_order(
                    file,
                    place,
                    format!("an edge of vertices {}", ends.join(" and ")),
                ))
            }
        }
    }

    /// Fails if a row is not linked to the one before it in its object.
    pub(crate) fn finish(&self, file: &Path) -> Result<(), ConvertError> {
        // The first row of a file is the first one of an object.
        let mut pairs = self.rows.iter().skip(1).enumerate();
        match pairs.find(|(_, row)| **row == ChainRow::Unlinked) {
            None => Ok(()),
            Some((before, _)) => {
                let found = format!("no edge of vertices {before} and {}", before + 1);
                Err(other_order(file, InFile::Whole, found))
            }
        }
    }
}

#[cold]
fn other_order(file: &Path, place: InFile, found: String) -> ConvertError {
    let expected =
        "only edges from each vertex to the next one of its object; --kind graph keeps all edges";
    ConvertError::malformed(file, place, found, expected)
}
