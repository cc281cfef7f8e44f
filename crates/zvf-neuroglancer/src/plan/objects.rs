//! The objects of level 0: their segments in the viewer, sizes and attributes.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_query::{Table, list_objects};
use zvf_store::Store;

use crate::error::{Result, ViewError};

/// The segment that represents a level without objects.
pub(crate) const WHOLE: u64 = 1;

/// The objects of a store.
///
/// Segments of Neuroglancer are unsigned: an object's id is its segment, unless any id is negative; then the segments of all objects
/// are their numbers in the order of the object index, from 1.
#[derive(Debug, Default)]
pub(crate) struct ObjectSegments {
    ids: Vec<i64>,
    vertices: Vec<u64>,
    /// Numbers of objects, by id ascending.
    by_id: Vec<u32>,
    pub(crate) numbered: bool,
    /// Whether the store has an object index.
    pub(crate) exist: bool,
    /// The object table.
    pub(crate) batches: Vec<RecordBatch>,
}

impl ObjectSegments {
    /// Reads the list of objects.
    ///
    /// # Cost
    /// Reads the fragment index of every chunk; keeps the object table.
    ///
    /// # Errors
    /// The errors of the list of objects; Malformed for a list without ids or numbers of vertices; Limit for 2^32 objects or more.
    pub(crate) async fn read(store: &Store) -> Result<Self> {
        let mut found = Self::default();
        let mut answer = list_objects(store, 0, false).await?;
        found.exist = answer.schema(Table::Objects).is_some();
        while let Some(item) = answer.next().await? {
            let (Table::Objects, batch) = item else {
                continue;
            };
            let ids = batch.column_by_name("object_id");
            let ids = ids.and_then(|column| column.as_primitive_opt::<Int64Type>());
            let vertices = batch.column_by_name("vertices");
            let vertices = vertices.and_then(|column| column.as_primitive_opt::<UInt64Type>());
            let (Some(ids), Some(vertices)) = (ids, vertices) else {
                return Err(ViewError::malformed("the list of objects has no ids"));
            };
            found.ids.extend(ids.values());
            found.vertices.extend(vertices.values());
            found.batches.push(batch);
        }
        let count = u32::try_from(found.ids.len());
        let count = count.map_err(|_| ViewError::too_large("2^32 objects or more"))?;
        found.numbered = found.ids.iter().any(|id| *id < 0);
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by_key(|number| found.id(*number));
        found.by_id = order;
        Ok(found)
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.ids.len()).unwrap_or(u32::MAX)
    }

    /// The id of an object by its number.
    pub(crate) fn id(&self, number: u32) -> Option<i64> {
        self.ids.get(usize::try_from(number).ok()?).copied()
    }

    /// Vertices of an object by its number.
    pub(crate) fn vertices(&self, number: u32) -> u64 {
        let index = usize::try_from(number).ok();
        let found = index.and_then(|index| self.vertices.get(index));
        found.copied().unwrap_or(0)
    }

    /// The segment of an object by its number.
    pub(crate) fn segment(&self, number: u32) -> Option<u64> {
        match self.numbered {
            true => Some(u64::from(number) + 1),
            false => u64::try_from(self.id(number)?).ok(),
        }
    }

    fn number_of(&self, id: i64) -> Option<u32> {
        let found = self
            .by_id
            .binary_search_by_key(&Some(id), |number| self.id(*number));
        self.by_id.get(found.ok()?).copied()
    }

    /// The segment of an object by its id; `None` if no object has this id.
    pub(crate) fn segment_of(&self, id: i64) -> Option<u64> {
        self.segment(self.number_of(id)?)
    }

    /// The id of the object of a segment.
    ///
    /// # Errors
    /// Not found.
    pub(crate) fn find(&self, segment: u64) -> Result<i64> {
        let number = match self.numbered {
            true => segment
                .checked_sub(1)
                .and_then(|number| u32::try_from(number).ok()),
            false => i64::try_from(segment)
                .ok()
                .and_then(|id| self.number_of(id)),
        };
        number
            .and_then(|number| self.id(number))
            .ok_or_else(|| ViewError::not_found("no such object"))
    }

    /// The segments of the first `most` objects with vertices; [`WHOLE`] for a level without an object index.
    pub(crate) fn first(&self, most: usize) -> Vec<u64> {
        if !self.exist {
            return vec![WHOLE];
        }
        let drawn = (0..self.len()).filter(|number| self.vertices(*number) > 0);
        drawn
            .filter_map(|number| self.segment(number))
            .take(most)
            .collect()
    }
}
