//! The table of ids and rows of an object index.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};

use zvf_meta::ObjectLayout;

use super::stated::{IDS, ROWS};
use crate::StoreError;
use crate::typed::{TypedArray, TypedValues};
use crate::warnings::Warnings;
use zvf_format::int::wide;
use zvf_io::Once;
use zvf_io::blocking;

/// The source of the id table, and the table.
#[derive(Debug)]
pub(super) struct IdSource {
    pub(super) layout: Option<ObjectLayout>,
    /// Ids of objects that no longer exist, ascending.
    pub(super) deleted: Arc<[i64]>,
    pub(super) rows: u64,
    /// Stored manifests: more than `rows` if the last ones were never committed.
    pub(super) stored: u64,
    pub(super) path: String,
    pub(super) table: Option<TypedArray>,
    pub(super) ids: Once<Arc<IdTable>, StoreError>,
    pub(super) lookups: LookUps,
    pub(super) warnings: Arc<Warnings>,
}

/// The chunks of a table that [look-ups](super::lookup) have read.
#[derive(Debug, Default)]
pub(super) struct LookUps {
    /// The first ids of all chunks, as stated.
    pub(super) first: OnceLock<Option<Vec<i64>>>,
    pub(super) chunks: Mutex<BTreeMap<usize, Arc<[i64]>>>,
}

impl IdSource {
    pub(super) async fn load(&self, round: u32) -> Result<Arc<IdTable>, StoreError> {
        let (rows, path) = (self.rows, self.path.as_str());
        // Only in these two layouts does a table assign ids to rows; in other layouts it is stale.
        let named = matches!(self.layout, Some(ObjectLayout::V2 | ObjectLayout::Dense));
        let Some(table) = self.table.as_ref().filter(|_| named && rows > 0) else {
            return Ok(Arc::new(IdTable::rows(rows).without(&self.deleted)));
        };
        // With lists of manifests, a table of another length is ignored: rows are ids.
        let dense = self.layout == Some(ObjectLayout::Dense);
        if dense && table.width() == 1 && table.rows() < rows {
            let lost = rows - table.rows();
            let what = format!(
                "has {} rows for {rows} objects: the ids of {lost} are lost",
                table.rows()
            );
            return Err(StoreError::malformed(table.path(), what));
        }
        let fits = table.rows() == rows || table.rows() == self.stored
            // Rows and ids are appended separately: there may be ids of rows that are not committed.
            || dense && table.rows() > rows;
        if !fits || table.width() != 1 {
            self.warnings.add(format!(
                "{path}: the id table has {} rows for {rows} manifests, so row numbers are taken as ids",
                table.rows()
            ));
            return Ok(Arc::new(IdTable::rows(rows).without(&self.deleted)));
        }
        if self.states_rows() {
            return Ok(Arc::new(IdTable::rows(rows).without(&self.deleted)));
        }
        self.read(table, round).await
    }

    /// Whether the table states that its ids are row numbers.
    pub(super) fn states_rows(&self) -> bool {
        let stated = self.table.as_ref().map(|table| &table.attributes().extra);
        stated.is_some_and(|extra| extra.get(IDS).is_some_and(|ids| ids == ROWS))
    }

    /// The ids of the table, regardless of its attribute.
    pub(super) async fn read(
        &self,
        table: &TypedArray,
        round: u32,
    ) -> Result<Arc<IdTable>, StoreError> {
        let values = table.read_rows_in(round, 0..self.rows).await?;
        let (stored, deleted) = (table.clone(), Arc::clone(&self.deleted));
        let found = blocking(move || {
            let ids = ids_of(&stored, &values)?;
            Ok::<_, StoreError>(IdTable::new(ids).without(&deleted))
        })
        .await??;
        if found.repeated > 0 {
            self.warnings.add(format!(
                "{}: {} rows have the id of an earlier row: only the first row of an id is used",
                table.path(),
                found.repeated
            ));
        }
        Ok(Arc::new(found))
    }
}

/// The ids in rows of a table.
pub(super) fn ids_of(table: &TypedArray, values: &TypedValues) -> Result<Vec<i64>, StoreError> {
    values.to_i64().ok_or_else(|| {
        let found = format!("ids are {}, expected integers within 64 bits", values.dtype);
        StoreError::malformed(table.path(), found)
    })
}

/// The id of each row, and the row of each id.
///
/// Rows of deleted objects have an id, but are not found by it: these objects do not exist.
#[derive(Debug, Clone)]
pub struct IdTable {
    form: StoredIds,
    repeated: usize,
    /// Rows of deleted objects, ascending.
    deleted: Vec<u64>,
}

#[derive(Debug, Clone)]
enum StoredIds {
    /// The row number is the id.
    Rows(u64),
    /// Ascending ids.
    Sorted(Vec<i64>),
    /// Any ids; the map is made by the first look-up.
    Any(Vec<i64>, OnceLock<HashMap<i64, u64>>),
}

impl IdTable {
    /// The table of an index with row numbers as ids.
    fn rows(count: u64) -> Self {
        Self {
            form: StoredIds::Rows(count),
            repeated: 0,
            deleted: Vec::new(),
        }
    }

    /// A table of ids. Checks whether they are sorted.
    fn new(ids: Vec<i64>) -> Self {
        if ids.is_sorted_by(|a, b| a < b) {
            return Self {
                form: StoredIds::Sorted(ids),
                repeated: 0,
                deleted: Vec::new(),
            };
        }
        let map = invert(&ids);
        let repeated = ids.len() - map.len();
        Self {
            form: StoredIds::Any(ids, OnceLock::from(map)),
            repeated,
            deleted: Vec::new(),
        }
    }

    /// The table with some objects deleted. Ids that no row has are ignored.
    fn without(mut self, deleted: &[i64]) -> Self {
        let mut rows: Vec<u64> = match &self.form {
            // An id may be repeated.
            StoredIds::Any(ids, _) if !deleted.is_empty() => {
                let deleted: HashSet<i64> = deleted.iter().copied().collect();
                let rows = ids.iter().enumerate();
                let rows = rows.filter(|(_, id)| deleted.contains(id));
                rows.map(|(row, _)| wide(row)).collect()
            }
            _ => deleted.iter().filter_map(|id| self.row(*id)).collect(),
        };
        rows.sort_unstable();
        self.deleted = rows;
        self
    }

    /// Number of rows, including those of deleted objects.
    pub fn len(&self) -> u64 {
        match &self.form {
            StoredIds::Rows(count) => *count,
            StoredIds::Sorted(ids) | StoredIds::Any(ids, _) => wide(ids.len()),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row; `None` past the end.
    pub fn get(&self, slot: u64) -> Option<i64> {
        match &self.form {
            StoredIds::Rows(count) => (slot < *count).then(|| i64::try_from(slot).ok()).flatten(),
            StoredIds::Sorted(ids) | StoredIds::Any(ids, _) => {
                ids.get(usize::try_from(slot).ok()?).copied()
            }
        }
    }

    /// The id of a row; -1 past the end.
    pub fn id(&self, slot: u64) -> i64 {
        self.get(slot).unwrap_or(-1)
    }

    /// The row of an object, the first one for a repeated id; `None` if the object does not exist or is deleted.
    /// Binary search, or one look-up in a map.
    pub fn slot(&self, id: i64) -> Option<u64> {
        self.row(id).filter(|slot| !self.is_deleted(*slot))
    }

    /// Whether a row belongs to a deleted object.
    pub fn is_deleted(&self, slot: u64) -> bool {
        self.deleted.binary_search(&slot).is_ok()
    }

    /// Whether a row is that of an object which exists: it is not deleted, and the first row of its id.
    pub fn has(&self, slot: u64) -> bool {
        let is_first = || self.repeated == 0 || self.row(self.id(slot)) == Some(slot);
        slot < self.len() && !self.is_deleted(slot) && is_first()
    }

    /// Objects that exist, by row: row and id.
    pub fn objects(&self) -> impl Iterator<Item = (u64, i64)> + '_ {
        (0..self.len())
            .filter(|slot| self.has(*slot))
            .map(|slot| (slot, self.id(slot)))
    }

    /// Number of objects that exist.
    pub fn count(&self) -> u64 {
        if self.repeated > 0 {
            return wide(self.objects().count());
        }
        let deleted = wide(self.deleted.len());
        self.len().saturating_sub(deleted)
    }

    /// The row of an id, whether its object exists or is deleted.
    fn row(&self, id: i64) -> Option<u64> {
        match &self.form {
            StoredIds::Rows(count) => u64::try_from(id).ok().filter(|slot| slot < count),
            StoredIds::Sorted(ids) => ids
                .binary_search(&id)
                .ok()
                .and_then(|i| u64::try_from(i).ok()),
            StoredIds::Any(ids, map) => map.get_or_init(|| invert(ids)).get(&id).copied(),
        }
    }

    /// Rows with an id that an earlier row has too.
    pub fn repeated(&self) -> usize {
        self.repeated
    }

    /// The ids in row order, including those of deleted objects.
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
        assert_eq!(any.objects().collect::<Vec<_>>(), [(0, 9), (1, -4), (2, 7)]);
        assert_eq!(any.count(), 3);
        let rows = IdTable::rows(3);
        assert_eq!(
            (rows.slot(2), rows.slot(3), rows.slot(-1), rows.get(3)),
            (Some(2), None, None, None)
        );
        assert_eq!(rows.iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn deleted_objects_keep_their_row_and_do_not_exist() {
        // No row has the id 5.
        let deleted = [-4, 2, 5, 7];
        let tables = [
            (IdTable::new(vec![-4, 7, 8]), vec![(2, 8)]),
            (IdTable::new(vec![9, 7, -4, 1]), vec![(0, 9), (3, 1)]),
            (IdTable::new(vec![7, 9, 7, 1]), vec![(1, 9), (3, 1)]),
            (IdTable::rows(4), vec![(0, 0), (1, 1), (3, 3)]),
        ];
        for (table, left) in tables {
            let all: Vec<i64> = table.iter().collect();
            let table = table.without(&deleted);
            assert_eq!(table.objects().collect::<Vec<_>>(), left);
            assert_eq!(table.count(), left.len() as u64);
            assert_eq!(table.iter().collect::<Vec<_>>(), all);
            for (slot, id) in (0..).zip(all) {
                let exists = left.contains(&(slot, id));
                assert_eq!(table.slot(id), exists.then_some(slot));
                assert_eq!(table.is_deleted(slot), !exists);
            }
        }
    }
}
