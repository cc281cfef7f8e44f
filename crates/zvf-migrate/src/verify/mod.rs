//! Verifies a copy: opens and reads both stores again, and compares everything.
//!
//! Chunks, manifests and links are read with `zvf-store`, which shares no code with the encode side. Two levels are equal if the sums of the
//! hashes of their columns, fragments and links are equal. If the shapes of chunks are unchanged, vertices are identified by their place,
//! otherwise by their values (`level.rs`). Objects, tables and groups are compared one by one, not by sums.

mod level;
mod links;
mod owners;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tokio::runtime::Handle;
use zvf_encode::WriteError;
use zvf_encode::error::to_index;
use zvf_format::int::wide;
use zvf_meta::{Kind, ObjectLayout};
use zvf_store::{Groups, IdTable, Need, Store, TypedArray};

use super::reading::each_manifest;
use super::report::Verified;
use super::tables::element;
use level::{ComparedLevel, HashSum};

/// Sums of hashes, by the name of a column or link family.
type HashSums = BTreeMap<String, HashSum>;

/// One level of both stores.
struct LevelPair {
    old: ComparedLevel,
    new: ComparedLevel,
    /// Whether chunks have the same shape in both stores, and for points without objects also bins.
    same_shapes: bool,
}

/// The object ids of both stores.
struct ComparedIds {
    old: Arc<IdTable>,
    new: Arc<IdTable>,
    /// Whether the tables of ids are equal. If not, ids are row numbers in the copy, and rows are found by id.
    same: bool,
}

impl ComparedIds {
    /// The row of an object in the copy. If two old rows have the same id, the first one is copied.
    fn row(&self, row: u64) -> Option<u64> {
        if self.same {
            return Some(row);
        }
        let id = self.old.get(row)?;
        let first = self.old.slot(id) == Some(row);
        first.then(|| self.new.slot(id)).flatten()
    }
}

/// Compares a store with its source.
pub(super) fn verify(old: &Store, new: &Store, handle: &Handle) -> Result<Verified, WriteError> {
    if new.levels() != old.levels() {
        let what = format!("levels {:?}, expected {:?}", new.levels(), old.levels());
        return Err(WriteError::differs("the new store", what));
    }
    let same_bins = old.root().base_bin_shape() == new.root().base_bin_shape();
    let mut pairs = Vec::new();
    for &number in old.levels() {
        let side = |store: &Store| {
            let level = handle.block_on(store.level(number, &Need::all()));
            ComparedLevel::new(level?, handle)
        };
        let (before, after) = (side(old)?, side(new)?);
        let points = old.kind() == Kind::PointCloud && before.level.object_index().is_none();
        let same_shapes = before.level.chunk_shape() == after.level.chunk_shape();
        pairs.push(LevelPair {
            same_shapes: same_shapes && (same_bins || !points || number > 0),
            old: before,
            new: after,
        });
    }
    // Both ends of a link between levels must be identified in the same way.
    let by_place = pairs.iter().all(|pair| pair.same_shapes);
    let mut verified = Verified::default();
    for pair in &mut pairs {
        let (moved, chained) = (!pair.same_shapes, pair.is_chained());
        let wanted = pair.old.scan(by_place, false, false)?;
        let found = pair.new.scan(by_place, moved, chained)?;
        pair.same("vertices", &wanted, &found)?;
        verified.vertices += pair.old.rows();
    }
    for pair in &pairs {
        let ids = pair.ids()?;
        let chains = pair.objects(ids.as_ref(), &mut verified)?;
        if let Some(ids) = &ids
            && !owners::agree(&pair.new, &ids.new)?
        {
            let what = "the owners of fragments differ from those in the manifests";
            return Err(pair.differs("fragment_attributes/object_id", what));
        }
        links::compare(pair, &pairs, (by_place, chains), &mut verified)?;
        pair.tables(ids.as_ref(), &mut verified)?;
        pair.groups(&mut verified)?;
    }
    Ok(verified)
}

impl LevelPair {
    /// An error that names the level.
    fn differs(&self, place: impl std::fmt::Display, what: impl Into<String>) -> WriteError {
        let level = self.old.level.number();
        WriteError::differs(format!("level {level}, {place}"), what)
    }

    /// Compares sums by name. `of` is what they count, for messages.
    fn same(&self, of: &str, wanted: &HashSums, found: &HashSums) -> Result<(), WriteError> {
        for (name, sum) in wanted {
            let what = match found.get(name) {
                Some(other) if other == sum => continue,
                Some(other) if other.count != sum.count => {
                    format!("{} {of}, expected {}", other.count, sum.count)
                }
                Some(_) => "the sums of their hashes differ".to_owned(),
                None => "is missing".to_owned(),
            };
            return Err(self.differs(name, what));
        }
        match found.keys().find(|name| !wanted.contains_key(*name)) {
            Some(name) => Err(self.differs(name, "is in the copy only")),
            None => Ok(()),
        }
    }

    /// Whether the copy derives the links between the fragments of an object from its manifest, because the rows stored in the source are not
    /// trusted, or because fragments changed.
    fn is_chained(&self) -> bool {
        let level = &self.old.level;
        let links = level.links(0);
        let untrusted = links.is_some_and(|links| !links.rows_trusted());
        let moved = !self.same_shapes && level.store().implies_chains();
        level.object_index().is_some() && (untrusted || moved)
    }

    /// Compares ids; `None` without objects.
    fn ids(&self) -> Result<Option<ComparedIds>, WriteError> {
        let (level, handle) = (&self.new.level, &self.new.handle);
        let Some(index) = self.old.level.object_index() else {
            return Ok(None);
        };
        let copy = level.object_index();
        let copy = copy.ok_or_else(|| self.differs("object_index", "is missing"))?;
        let (old, new) = (handle.block_on(index.ids())?, handle.block_on(copy.ids())?);
        let same = old.iter().eq(new.iter());
        if !same {
            // A copy whose ids are row numbers leaves out deleted objects. Any other missing id is an error.
            let by_row = copy.layout() == Some(ObjectLayout::V1);
            let deleted: HashSet<i64> = index.deleted().iter().copied().collect();
            let lost = |id: &i64| match by_row {
                true => new.slot(*id).is_none() && !deleted.contains(id),
                false => true,
            };
            if let Some(id) = old.iter().find(lost) {
                let what = format!("ids differ, such as {id}");
                return Err(self.differs("object_index/object_ids", what));
            }
            for row in (0..new.len()).filter(|row| old.slot(new.id(*row)).is_none()) {
                let part = handle.block_on(copy.manifest_chunk(copy.chunk_of(row)))?;
                if copy.entries(row, part.blob(row))?.next().is_some() {
                    let place = format!("object {}", new.id(row));
                    return Err(self.differs(place, "is in the copy only"));
                }
            }
        }
        Ok(Some(ComparedIds { old, new, same }))
    }

    /// Compares the vertices of each object, in their order. Returns the sum of the hashes of the links between fragments that the manifests of the
    /// copy imply.
    fn objects(
        &self,
        ids: Option<&ComparedIds>,
        verified: &mut Verified,
    ) -> Result<HashSum, WriteError> {
        let mut chains = HashSum::default();
        let indexes = [&self.old, &self.new].map(|side| side.level.object_index());
        let ([Some(index), Some(copy)], Some(ids)) = (indexes, ids) else {
            return Ok(chains);
        };
        each_manifest(index, &self.old.handle, |row, entries| {
            let Some(there) = ids.row(row) else {
                return Ok(());
            };
            // Entries for fragments that the source lacks are not copied; the migration reported them.
            let (wanted, _) = self.old.object(entries, &mut HashSum::default());
            let part = copy.manifest_chunk(copy.chunk_of(there));
            let part = self.new.handle.block_on(part)?;
            let mut entries = copy.entries(there, part.blob(there))?;
            let (found, missing) = self.new.object(&mut entries, &mut chains);
            if wanted != found || missing > 0 {
                let place = format!("object {}", ids.old.id(row));
                let what = "its vertices, their values, their order or its fragments differ";
                return Err(self.differs(place, what));
            }
            verified.objects += 1;
            Ok(())
        })?;
        Ok(chains)
    }

    /// Compares the attributes of objects and groups.
    fn tables(&self, ids: Option<&ComparedIds>, verified: &mut Verified) -> Result<(), WriteError> {
        let (old, new, handle) = (&self.old.level, &self.new.level, &self.old.handle);
        let groups = old.groups().map_or(0, Groups::len);
        let (from, count) = ids.map_or((0, 0), |ids| (ids.old.len(), ids.new.len()));
        let objects = (old.object_attributes(), new.object_attributes());
        let of_groups = (old.group_attributes(), new.group_attributes());
        let lists = [(objects, from, count), (of_groups, groups, groups)];
        for (((tables, copies), from, count), ids) in lists.into_iter().zip([ids, None]) {
            // Other tables were reported as lost.
            let read = |table: &&TypedArray| element(table).is_some() && from > 0;
            for table in tables.iter().filter(read) {
                let copy = copies.iter().find(|copy| copy.name() == table.name());
                let copy = copy.ok_or_else(|| self.differs(table.path(), "is missing"))?;
                let (values, copy) = (
                    handle.block_on(table.read())?,
                    handle.block_on(copy.read())?,
                );
                if (wide(copy.rows), copy.width) != (count, values.width) {
                    let what = format!(
                        "{} rows of {}, expected {count} of {}",
                        copy.rows, copy.width, values.width
                    );
                    return Err(self.differs(table.path(), what));
                }
                for row in 0..from {
                    let there = ids.map_or(Some(row), |ids| ids.row(row));
                    let Some(there) = there else { continue };
                    let at = to_index("rows of a table", row)?;
                    let there = to_index("rows of a table", there)?;
                    let absent = at >= values.rows || values.is_absent(at);
                    // The copy marks absent rows by the fill value. If present values equal it, the migration reported that.
                    let same = if absent {
                        copy.is_absent(there)
                    } else {
                        values.row(at) == copy.row(there)
                    };
                    if !same {
                        return Err(self.differs(table.path(), format!("row {row} differs")));
                    }
                }
                verified.values += from;
            }
        }
        Ok(())
    }

    /// Compares names and members of groups.
    fn groups(&self, verified: &mut Verified) -> Result<(), WriteError> {
        let groups = |side: &ComparedLevel| side.level.groups().map_or(0, Groups::len);
        let handle = &self.old.handle;
        for number in 0..groups(&self.old).max(groups(&self.new)) {
            let group =
                |side: &ComparedLevel| match side.level.groups().filter(|all| number < all.len()) {
                    Some(all) => Ok(Some((
                        all.name(number),
                        handle.block_on(all.members(number))?,
                    ))),
                    None => Ok::<_, WriteError>(None),
                };
            if group(&self.old)? != group(&self.new)? {
                return Err(self.differs(format!("group {number}"), "its members or name differ"));
            }
            verified.values += 1;
        }
        Ok(())
    }
}
