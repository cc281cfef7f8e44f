//! The object index: ids, rows, manifests.
//!
//! Source: specification 0.9, sections 11.1 to 11.3.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::sync::OnceCell;
use zvf_meta::{ObjectIndexDoc, ObjectLayout};

use crate::StoreError;
use crate::kv::{Kv, blocking, driven};
use crate::ragged::{RaggedArray, RaggedChunk};
use crate::typed::TypedArray;
use crate::warnings::Warnings;

/// The objects of one level: a table of ids and a manifest for each row.
///
/// Row numbers (slots) count the rows of the table; ids are what the application calls an object. They are not the
/// same unless the layout says so (trap T17).
#[derive(Debug)]
pub struct ObjectIndex {
    kv: Kv,
    round: u32,
    key_rank: usize,
    source: Arc<IdSource>,
    manifests: Option<Arc<RaggedArray>>,
}

/// What the id table is made from, and the table.
#[derive(Debug)]
struct IdSource {
    doc: ObjectIndexDoc,
    rows: u64,
    path: String,
    table: Option<TypedArray>,
    ids: OnceCell<Arc<IdTable>>,
    warnings: Arc<Warnings>,
}

impl ObjectIndex {
    pub(crate) fn new(
        kv: &Kv,
        round: u32,
        doc: ObjectIndexDoc,
        key_rank: usize,
        manifests: Option<RaggedArray>,
        table: Option<TypedArray>,
        warnings: Arc<Warnings>,
    ) -> Self {
        let rows = match (&manifests, doc.num_objects) {
            (Some(manifests), Some(_)) => manifests.rows(),
            _ => 0,
        };
        let path = manifests
            .as_ref()
            .map_or("object_index", RaggedArray::path)
            .to_owned();
        let source = IdSource {
            doc,
            rows,
            path,
            table,
            ids: OnceCell::new(),
            warnings,
        };
        Self {
            kv: kv.clone(),
            round,
            key_rank,
            source: Arc::new(source),
            manifests: manifests.map(Arc::new),
        }
    }

    /// Number of rows, with or without a manifest; 0 for an index that was created and never filled.
    pub fn len(&self) -> u64 {
        self.source.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Components of the chunk coordinates inside manifests.
    pub fn key_rank(&self) -> usize {
        self.key_rank
    }

    /// The index's document.
    pub fn doc(&self) -> &ObjectIndexDoc {
        &self.source.doc
    }

    /// The ids of all rows, loaded by the first call.
    ///
    /// # Cost
    /// At most one request; 8 bytes a row, and a map where the ids are not sorted.
    ///
    /// # Errors
    /// I/O; a damaged table. Ids that come twice are a warning: the first row wins.
    pub async fn ids(&self) -> Result<Arc<IdTable>, StoreError> {
        self.ids_in(self.round).await
    }

    /// As [`ids`](Self::ids), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`ids`](Self::ids).
    pub async fn ids_in(&self, round: u32) -> Result<Arc<IdTable>, StoreError> {
        if let Some(ids) = self.source.ids.get() {
            return Ok(Arc::clone(ids));
        }
        let source = Arc::clone(&self.source);
        // Others may wait for the one who loads, so it goes on while nobody polls it.
        driven(async move {
            source
                .ids
                .get_or_try_init(|| source.load(round))
                .await
                .cloned()
        })
        .await
    }

    /// Stored objects of the manifest array; one holds up to 16384 rows in stores of the reference.
    pub fn manifest_chunks(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.manifests.as_ref().map_or(0, |m| m.chunks())
        }
    }

    /// The chunk of manifests that holds a row.
    pub fn chunk_of(&self, slot: u64) -> u64 {
        self.manifests.as_ref().map_or(0, |m| m.chunk_of(slot))
    }

    /// The manifests of chunk `i`, loaded once and shared.
    ///
    /// # Cost
    /// At most one request.
    ///
    /// # Errors
    /// I/O; damaged framing; [`Class::Misuse`](crate::Class::Misuse) past the last chunk.
    pub async fn manifest_chunk(&self, i: u64) -> Result<Arc<ManifestChunk>, StoreError> {
        self.manifest_chunk_in(self.round, i).await
    }

    /// As [`manifest_chunk`](Self::manifest_chunk), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub async fn manifest_chunk_in(
        &self,
        round: u32,
        i: u64,
    ) -> Result<Arc<ManifestChunk>, StoreError> {
        let Some(manifests) = &self.manifests else {
            return Err(StoreError::misuse("the object index has no manifests"));
        };
        let chunk = manifests.chunk(&self.kv, round, i).await?;
        let per_chunk = manifests.doc().chunk_shape.first().copied().unwrap_or(1);
        let rows = manifests.rows().saturating_sub(chunk.first).min(per_chunk);
        Ok(Arc::new(ManifestChunk {
            chunk,
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
        }))
    }

    /// The manifests of the given rows, in that order; a row past the end has none.
    ///
    /// # Cost
    /// One request for each chunk that is not loaded yet, all at once.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub async fn manifests(&self, slots: &[u64]) -> Result<Vec<Bytes>, StoreError> {
        self.manifests_in(self.round, slots).await
    }

    /// As [`manifests`](Self::manifests), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub async fn manifests_in(&self, round: u32, slots: &[u64]) -> Result<Vec<Bytes>, StoreError> {
        let rows = self.len();
        let mut numbers: Vec<u64> = slots
            .iter()
            .filter(|s| **s < rows)
            .map(|s| self.chunk_of(*s))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let chunks =
            try_join_all(numbers.iter().map(|n| self.manifest_chunk_in(round, *n))).await?;
        Ok(slots
            .iter()
            .map(|slot| {
                let at = numbers.binary_search(&self.chunk_of(*slot)).ok();
                let chunk = at.filter(|_| *slot < rows).and_then(|at| chunks.get(at));
                chunk.map(|c| c.blob_shared(*slot)).unwrap_or_default()
            })
            .collect())
    }
}

impl IdSource {
    async fn load(&self, round: u32) -> Result<Arc<IdTable>, StoreError> {
        let (rows, path) = (self.rows, self.path.as_str());
        if rows == 0 {
            return Ok(Arc::new(IdTable::rows(0)));
        }
        let layout = self
            .doc
            .layout()
            .map_err(|e| StoreError::document("object_index/zarr.json", e))?;
        let table = match (&self.table, layout) {
            // Dense manifests have an id table or none, as the second layout.
            (_, ObjectLayout::V1) | (None, _) => return Ok(Arc::new(IdTable::rows(rows))),
            (Some(table), ObjectLayout::V2 | ObjectLayout::Dense)
                if table.rows() != rows || table.width() != 1 =>
            {
                self.warnings.add(format!(
                    "{path}: the id table has {} rows for {rows} manifests, so row numbers are taken as ids",
                    table.rows()
                ));
                return Ok(Arc::new(IdTable::rows(rows)));
            }
            (Some(table), ObjectLayout::V2 | ObjectLayout::Dense) => table,
        };
        let values = table.read_in(round).await?;
        let path = table.path().to_owned();
        let named = path.clone();
        let table = blocking(move || {
            let ids = values.to_i64().ok_or_else(|| {
                StoreError::malformed(
                    named,
                    format!("ids are {}, expected integers within 64 bits", values.dtype),
                )
            })?;
            Ok::<_, StoreError>(IdTable::new(ids))
        })
        .await??;
        if table.repeated > 0 {
            self.warnings.add(format!(
                "{path}: {} ids come more than once: the first row of each counts",
                table.repeated
            ));
        }
        Ok(Arc::new(table))
    }
}

/// The manifests of consecutive rows.
#[derive(Debug, Clone)]
pub struct ManifestChunk {
    chunk: Arc<RaggedChunk>,
    rows: usize,
}

impl ManifestChunk {
    /// The first row.
    pub fn first_slot(&self) -> u64 {
        self.chunk.first
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The manifest of a row of the level; empty when the row has none, or lies in another chunk.
    pub fn blob(&self, slot: u64) -> &[u8] {
        self.place(slot)
            .and_then(|i| self.chunk.get(i))
            .unwrap_or_default()
    }

    /// As [`blob`](Self::blob), sharing the chunk's bytes.
    pub fn blob_shared(&self, slot: u64) -> Bytes {
        self.place(slot)
            .and_then(|i| self.chunk.get_shared(i))
            .unwrap_or_default()
    }

    fn place(&self, slot: u64) -> Option<usize> {
        usize::try_from(slot.checked_sub(self.chunk.first)?)
            .ok()
            .filter(|i| *i < self.chunk.len())
    }
}

/// Which id each row has, and back.
#[derive(Debug, Clone)]
pub struct IdTable {
    form: Form,
    repeated: usize,
}

#[derive(Debug, Clone)]
enum Form {
    /// The row number is the id.
    Rows(u64),
    /// Rising ids.
    Sorted(Vec<i64>),
    /// Any ids; the map is made by the first look-up.
    Any(Vec<i64>, OnceLock<HashMap<i64, u64>>),
}

impl IdTable {
    /// The table of an index whose ids are row numbers.
    fn rows(count: u64) -> Self {
        Self {
            form: Form::Rows(count),
            repeated: 0,
        }
    }

    /// A table of ids. Whether they are sorted is looked at, not believed.
    fn new(ids: Vec<i64>) -> Self {
        if ids.is_sorted_by(|a, b| a < b) {
            return Self {
                form: Form::Sorted(ids),
                repeated: 0,
            };
        }
        let map = invert(&ids);
        let repeated = ids.len() - map.len();
        Self {
            form: Form::Any(ids, OnceLock::from(map)),
            repeated,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        match &self.form {
            Form::Rows(count) => *count,
            Form::Sorted(ids) | Form::Any(ids, _) => u64::try_from(ids.len()).unwrap_or(u64::MAX),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row; `None` past the end.
    pub fn get(&self, slot: u64) -> Option<i64> {
        match &self.form {
            Form::Rows(count) => (slot < *count).then(|| i64::try_from(slot).ok()).flatten(),
            Form::Sorted(ids) | Form::Any(ids, _) => ids.get(usize::try_from(slot).ok()?).copied(),
        }
    }

    /// The id of a row; -1 past the end.
    pub fn id(&self, slot: u64) -> i64 {
        self.get(slot).unwrap_or(-1)
    }

    /// The row of an id, the first one where it comes twice. Binary search, or one look-up in a map.
    pub fn slot(&self, id: i64) -> Option<u64> {
        match &self.form {
            Form::Rows(count) => u64::try_from(id).ok().filter(|slot| slot < count),
            Form::Sorted(ids) => ids
                .binary_search(&id)
                .ok()
                .and_then(|i| u64::try_from(i).ok()),
            Form::Any(ids, map) => map.get_or_init(|| invert(ids)).get(&id).copied(),
        }
    }

    /// Rows whose id stands in an earlier row already.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// The ids in row order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|slot| self.id(slot))
    }
}

fn invert(ids: &[i64]) -> HashMap<i64, u64> {
    let mut map = HashMap::with_capacity(ids.len());
    for (slot, id) in (0u64..).zip(ids) {
        map.entry(*id).or_insert(slot);
    }
    map
}

#[cfg(test)]
mod tests {
    use super::IdTable;

    #[test]
    fn sorted_any_and_row_tables_answer_alike() {
        let sorted = IdTable::new(vec![-4, 7, 1 << 62]);
        assert_eq!(
            (sorted.slot(7), sorted.slot(0), sorted.get(2)),
            (Some(1), None, Some(1 << 62))
        );
        let any = IdTable::new(vec![9, -4, 7, 9]);
        assert_eq!(
            (any.slot(9), any.slot(7), any.repeated(), any.get(3)),
            (Some(0), Some(2), 1, Some(9))
        );
        let rows = IdTable::rows(3);
        assert_eq!(
            (rows.slot(2), rows.slot(3), rows.slot(-1), rows.get(3)),
            (Some(2), None, None, None)
        );
        assert_eq!(rows.iter().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
