//! Converts row numbers at the beginning of the edit to current ones: query results have the row numbers of the store, and the edit may have deleted or
//! moved rows since.

use super::edit::Edit;
use super::state::EditState;
use super::vertex::stored;
use zvf_encode::WriteError;
use zvf_encode::error::{narrow, to_index};
use zvf_format::int::{index, wide};

/// A row of a chunk at the beginning of the edit: slot and row.
pub(super) type OpenedRow = (u32, u32);

impl EditState {
    /// Whether rows were added, deleted or moved.
    pub(super) fn has_moved_rows(&self) -> bool {
        let mut chunks = self.chunks.iter().filter_map(|(_, chunk)| chunk.as_ref());
        chunks.any(|chunk| chunk.moved)
    }

    /// Number of rows of a [measured](Self::measure) chunk at the beginning of the edit.
    pub(super) fn opened_len(&self, slot: u32) -> u64 {
        match self.chunk(slot) {
            Some(chunk) => wide(chunk.before),
            None => wide(self.sizes(slot).iter().sum()),
        }
    }
}

impl Edit {
    /// Like [`first_rows`](Self::first_rows), for the store at the beginning of the edit.
    pub(super) async fn opened_rows(&mut self) -> Result<(Vec<(u64, u32)>, u64), WriteError> {
        self.rows_before(EditState::opened_len).await
    }

    /// The current numbers of vertices from their numbers at the beginning of the edit; `None` if a vertex did not exist, or was deleted.
    pub(super) async fn numbered(
        &mut self,
        numbers: impl IntoIterator<Item = Option<u64>> + Send,
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let (firsts, total) = self.opened_rows().await?;
        let there = numbers
            .into_iter()
            .map(|number| number.filter(|number| *number < total));
        let there: Vec<Option<u64>> = there.collect();
        if !self.state.has_moved_rows() {
            return Ok(there);
        }
        let mut rows = Vec::with_capacity(there.len());
        for number in there {
            let found = number.and_then(|number| {
                let behind = firsts.partition_point(|(first, _)| *first <= number);
                let (first, slot) = firsts.get(behind.checked_sub(1)?)?;
                Some((*slot, number - first))
            });
            rows.push(match found {
                Some((slot, row)) => Some((
                    slot,
                    narrow("rows of one chunk", to_index("rows of one chunk", row)?)?,
                )),
                None => None,
            });
        }
        self.present(&rows).await
    }

    /// The current numbers of vertices; `None` if one was deleted.
    pub(super) async fn present(
        &mut self,
        rows: &[Option<OpenedRow>],
    ) -> Result<Vec<Option<u64>>, WriteError> {
        let (firsts, _) = self.first_rows().await?;
        let mut first_of = vec![0; self.state.chunks.len()];
        for (first, slot) in firsts {
            if let Some(place) = first_of.get_mut(index(slot)) {
                *place = first;
            }
        }
        let places = self.state.places()?;
        let number = |row: &Option<OpenedRow>| {
            let (slot, row) = (*row)?;
            let mut name = stored(slot, row);
            while let Some(new) = self.state.renamed.get(&name) {
                name = *new;
            }
            let (slot, row) = self.state.place(&places, name)?;
            Some(first_of.get(index(slot))? + u64::from(row))
        };
        Ok(rows.iter().map(number).collect())
    }

    /// Refuses places in objects if the edit may have changed them: only in chains do rows that leave a chunk keep their order in the object.
    pub(super) fn check_places_in_objects(&self) -> Result<(), WriteError> {
        match self.state.spec.kind.is_chain() {
            true => Ok(()),
            false => self.check_unmoved("places in objects"),
        }
    }

    /// Refuses `what` if rows have moved in the edit.
    pub(super) fn check_unmoved(&self, what: &str) -> Result<(), WriteError> {
        if !self.state.has_moved_rows() {
            return Ok(());
        }
        let found = "an edit that has added, deleted or moved vertices";
        let expected = "an edit without such changes: make this change before the others, or commit them first";
        Err(WriteError::input(what, found, expected))
    }
}
