//! The rows of the new object index: the rows of the old one or, if ids are row numbers, one row for each number.

use std::sync::Arc;

use bytes::Bytes;
use zvf_store::{IdTable, ManifestChunk, ObjectIndex};

use super::report::Notes;
use super::source::SourceLevel;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, to_index};
use zvf_encode::spec::{ID_END, ID_IS_ROW};
use zvf_format::int::wide;

/// The mapping between the rows of a new table and the rows of the old one.
#[derive(Debug)]
pub(super) struct RowMapping {
    /// Rows of the old table.
    pub(super) from: u64,
    /// The old row of each new row, `None` for a row without an object. The list is `None` if no row moved.
    order: Option<Vec<Option<u64>>>,
}

impl RowMapping {
    /// No row moves.
    pub(super) fn same(count: u64) -> Self {
        Self {
            from: count,
            order: None,
        }
    }

    /// One row for each number from 0 to the largest id (0.8 §10.1).
    ///
    /// # Errors
    /// An id that is negative, or not below [`ID_END`].
    pub(super) fn by_id(ids: &IdTable, path: &str, notes: &Notes) -> Result<Self, WriteError> {
        let count = ids.len();
        if (0..).zip(ids.iter()).all(|(row, id): (i64, i64)| row == id) {
            return Ok(Self::same(count));
        }
        let mut order: Vec<Option<u64>> = Vec::new();
        let (mut before, mut sorted) = (-1, true);
        for (row, id) in (0_u64..).zip(ids.iter()) {
            let Some(at) = u64::try_from(id).ok().filter(|at| *at < ID_END) else {
                let found = format!("an object with the id {id}");
                return Err(WriteError::input(path, found, ID_IS_ROW));
            };
            let at = to_index("objects", at)?;
            if order.len() <= at {
                order.resize(at + 1, None);
            }
            // Of two rows with the same id, readers use the first.
            order
                .get_mut(at)
                .or_bug("no row of an id")?
                .get_or_insert(row);
            sorted &= before < id;
            before = id;
        }
        let gaps = order.iter().filter(|old| old.is_none()).count();
        if gaps > 0 {
            notes.note(format!(
                "{path}: {gaps} rows without vertices were added for ids that no object has"
            ));
        }
        if !sorted {
            notes.note(format!("{path}: rows were sorted by id"));
        }
        Ok(Self {
            from: count,
            order: Some(order),
        })
    }

    /// Rows of the new table.
    pub(super) fn len(&self) -> u64 {
        self.order
            .as_ref()
            .map_or(self.from, |order| wide(order.len()))
    }

    /// The old row of a new one.
    pub(super) fn old(&self, row: u64) -> Option<u64> {
        match &self.order {
            None => (row < self.from).then_some(row),
            Some(order) => order.get(usize::try_from(row).ok()?).copied().flatten(),
        }
    }
}

/// Reads manifests of an index by row, in any order; caches a few chunks.
pub(super) struct ManifestReader<'p> {
    source: &'p SourceLevel,
    index: &'p ObjectIndex,
    kept: Vec<(u64, Arc<ManifestChunk>)>,
}

/// Number of cached chunks of manifests. A few are enough: rows that were appended later are mostly few and close together.
const KEPT: usize = 4;

impl<'p> ManifestReader<'p> {
    pub(super) fn new(source: &'p SourceLevel, index: &'p ObjectIndex) -> Self {
        Self {
            source,
            index,
            kept: Vec::new(),
        }
    }

    /// The manifest of a row; `None` for a row after the last stored one.
    pub(super) fn blob(&mut self, row: u64) -> Result<Option<Bytes>, WriteError> {
        let number = self.index.chunk_of(row);
        if number >= self.index.manifest_chunks() {
            return Ok(None);
        }
        let found = self.kept.iter().position(|(kept, _)| *kept == number);
        match found {
            Some(at) => self.kept.swap(0, at),
            None => {
                let handle = &self.source.handle;
                let part = handle.block_on(self.index.manifest_chunk(number))?;
                self.kept.insert(0, (number, part));
                self.kept.truncate(KEPT);
            }
        }
        let part = self.kept.first().map(|(_, part)| part);
        Ok(part.and_then(|part| {
            let end = part.first_slot() + wide(part.len());
            (row < end).then(|| part.blob_shared(row))
        }))
    }
}
