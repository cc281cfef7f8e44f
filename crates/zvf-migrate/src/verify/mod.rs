//! Verification of a copy: both stores are opened and read again, and everything is compared.
//!
//! Nothing is used that reads, places, encodes or writes for the copier (`stored.rs` says what reads instead). Objects, links and
//! tables are compared in one way, whatever happened to the chunks: only what a vertex is known by differs (`vertices.rs`).
//! Links, which are stored in other cells of the new store, are compared as multisets.

mod ids;
mod links;
mod pair;
mod stored;
mod vertices;

use tokio::runtime::Handle;
use zvf_encode::WriteError;
use zvf_encode::error::to_index;
use zvf_format::dtype::DTypeKind;
use zvf_format::int::wide;
use zvf_meta::ObjectLayout;
use zvf_store::{ChunkCoord, Groups, Need, Store, TypedArray};

use super::report::Verified;
use super::shapes::is_binned;
use ids::RowMap;
use pair::Pair;
use stored::Stored;
use vertices::{Base, Sequence, Vertices};

/// Compares a store with what it was copied from.
pub(super) fn verify(old: &Store, new: &Store, handle: &Handle) -> Result<Verified, WriteError> {
    if new.levels() != old.levels() {
        let what = format!("levels {:?}, expected {:?}", new.levels(), old.levels());
        return Err(WriteError::differs("the new store", what));
    }
    let same_bins = old.root().base_bin_shape() == new.root().base_bin_shape();
    let mut pairs = Vec::new();
    for &number in old.levels() {
        let level = |store: &Store| handle.block_on(store.level(number, &Need::all()));
        let (old, new) = (level(old)?, level(new)?);
        let same = old.chunk_shape() == new.chunk_shape();
        pairs.push(Pair {
            same_chunks: same,
            same_shapes: same && (same_bins || !is_binned(&old)),
            old: Stored::new(old, handle.clone())?,
            new: Stored::new(new, handle.clone())?,
            number,
        });
    }
    // Links between levels join vertices that are known by the same.
    let same = pairs.iter().all(|pair| pair.same_chunks);
    for pair in &mut pairs {
        pair.same_chunks = same && pair.same_shapes;
    }
    let mut verified = Verified::default();
    for pair in &pairs {
        pair.compare(&pairs, &mut verified)?;
    }
    Ok(verified)
}

impl Pair {
    fn compare(&self, all: &[Self], verified: &mut Verified) -> Result<(), WriteError> {
        let base = Base::draw();
        let rows = self.row_map()?;
        if self.same_chunks {
            let vertices = vertices::compare_chunks(self, links::are_implied(&self.old))?;
            verified.vertices += vertices::count(&vertices);
            self.objects(rows.as_ref(), (&vertices, None), base, verified)?;
            links::compare(self, all, [&vertices, &vertices], verified)?;
        } else {
            let [old, new] = vertices::compare_rows(self, links::are_chains(&self.new), base)?;
            verified.vertices += vertices::count(&old);
            self.objects(rows.as_ref(), (&old, Some(&new)), base, verified)?;
            links::compare(self, all, [&old, &new], verified)?;
        }
        self.tables(rows.as_ref(), verified)?;
        self.groups(verified)
    }

    /// Where the objects of the old level are in the new one; `None` where it has none.
    fn row_map(&self) -> Result<Option<RowMap>, WriteError> {
        let Some(old) = self.old.level.object_index() else {
            return Ok(None);
        };
        let Some(new) = self.new.level.object_index() else {
            let place = self.place("object_index");
            return Err(WriteError::differs(place, "is missing"));
        };
        let handle = &self.old.handle;
        let (old, ids) = (handle.block_on(old.ids())?, handle.block_on(new.ids())?);
        let by_row = new.layout() == Some(ObjectLayout::V1);
        let map = RowMap::new(old, ids, by_row).map_err(|id| {
            let what = match id {
                Some(id) => format!("ids differ: {id} is not there"),
                None => "ids differ".to_owned(),
            };
            WriteError::differs(self.place("object_index/object_ids"), what)
        })?;
        for row in map.gaps() {
            let part = handle.block_on(new.manifest_chunk(new.chunk_of(row)))?;
            let mut entries = 0_u64;
            self.new.each_entry(new, row, part.blob(row), |_, _| {
                entries += 1;
                Ok(())
            })?;
            if entries > 0 {
                let place = self.place(format_args!("object {}", map.new_id(row)));
                return Err(WriteError::differs(place, "is in the copy only"));
            }
        }
        Ok(Some(map))
    }

    /// Compares the sequences of vertices, or where chunks are the same those of fragments, of all objects. Without `new`
    /// the fragments of the copy are known by where they are.
    fn objects(
        &self,
        rows: Option<&RowMap>,
        (old, new): (&Vertices, Option<&Vertices>),
        base: Base,
        verified: &mut Verified,
    ) -> Result<(), WriteError> {
        let indexes = self
            .old
            .level
            .object_index()
            .zip(self.new.level.object_index());
        let Some(((index, copy), rows)) = indexes.zip(rows) else {
            return Ok(());
        };
        self.old.each_manifest(index, |row, manifest| {
            let Some(there) = rows.row(row) else {
                return Ok(());
            };
            let place = || self.place(format_args!("object {}", rows.old_id(row)));
            let (mut wanted, mut found) = (Sequence::EMPTY, Sequence::EMPTY);
            self.old
                .each_entry(index, row, manifest, |chunk, fragment| {
                    // What is not there was reported and left out.
                    let one = old.fragment(&self.old, (chunk, fragment), base);
                    one.into_iter().for_each(|one| wanted.append(one));
                    Ok(())
                })?;
            let part = copy.manifest_chunk(copy.chunk_of(there));
            let part = self.old.handle.block_on(part)?;
            self.new.each_entry(
                copy,
                there,
                part.blob(there),
                |chunk: &ChunkCoord, fragment| {
                    let one = match new {
                        Some(new) => new.fragment(&self.new, (chunk, fragment), base),
                        None => Some(vertices::by_place((chunk, fragment), base)),
                    };
                    let Some(one) = one else {
                        let what = format!(
                            "names fragment {fragment} of chunk {chunk}, which is not there"
                        );
                        return Err(WriteError::differs(place(), what));
                    };
                    found.append(one);
                    Ok(())
                },
            )?;
            if wanted != found {
                let what = match new {
                    None => "its fragments differ".to_owned(),
                    Some(_) => format!(
                        "{} vertices, expected {}, or their positions, attributes or order differ",
                        found.len, wanted.len
                    ),
                };
                return Err(WriteError::differs(place(), what));
            }
            verified.objects += 1;
            Ok(())
        })
    }

    /// Values of objects and groups.
    fn tables(&self, rows: Option<&RowMap>, verified: &mut Verified) -> Result<(), WriteError> {
        let (old, new) = (&self.old.level, &self.new.level);
        let count = |level: &zvf_store::Level| level.object_index().map_or(0, |one| one.len());
        let groups = old.groups().map_or(0, Groups::len);
        let of_objects = (old.object_attributes(), new.object_attributes());
        let of_groups = (old.group_attributes(), new.group_attributes());
        let lists = [
            (of_objects, count(old), count(new), rows),
            (of_groups, groups, groups, None),
        ];
        for ((old, new), from, count, rows) in lists {
            let kept = |table: &&TypedArray| table.dtype().kind != DTypeKind::Object && from > 0;
            for table in old.iter().filter(kept) {
                let Some(copy) = new.iter().find(|copy| copy.name() == table.name()) else {
                    return Err(WriteError::differs(self.place(table.path()), "is missing"));
                };
                self.table(table, copy, (from, count), rows)?;
                verified.values += from;
            }
        }
        Ok(())
    }

    /// Compares a table row for row: so many rows of the old one, and of the new one.
    fn table(
        &self,
        old: &TypedArray,
        new: &TypedArray,
        (from, count): (u64, u64),
        rows: Option<&RowMap>,
    ) -> Result<(), WriteError> {
        let place = || self.place(old.path());
        let handle = &self.old.handle;
        let (values, copies) = (handle.block_on(old.read())?, handle.block_on(new.read())?);
        if wide(copies.rows) != count || values.width != copies.width {
            let what = format!(
                "{} rows of {}, expected {count} of {}",
                copies.rows, copies.width, values.width
            );
            return Err(WriteError::differs(place(), what));
        }
        for row in 0..from {
            let Some(there) = rows.map_or(Some(row), |rows| rows.row(row)) else {
                continue;
            };
            let there = to_index("rows of a table", there)?;
            let row = to_index("rows of a table", row)?;
            let is_absent = row >= values.rows || values.is_absent(row);
            let same = match (is_absent, copies.is_absent(there)) {
                (true, true) => true,
                // Where a type has no value for absence, that was reported; an empty text says it anyway.
                (false, _) => values.row(row) == copies.row(there),
                (true, false) => false,
            };
            if !same {
                return Err(WriteError::differs(place(), format!("row {row} differs")));
            }
        }
        Ok(())
    }

    fn groups(&self, verified: &mut Verified) -> Result<(), WriteError> {
        let Some(old) = self.old.level.groups().filter(|groups| !groups.is_empty()) else {
            return Ok(());
        };
        let handle = &self.old.handle;
        for group in 0..old.len() {
            let place = || self.place(format_args!("group {group}"));
            let new = self.new.level.groups();
            let Some(new) = new.filter(|new| new.len() == old.len()) else {
                return Err(WriteError::differs(place(), "the number of groups differs"));
            };
            let same = handle.block_on(old.members(group))?
                == handle.block_on(new.members(group))?
                && old.name(group) == new.name(group);
            if !same {
                let what = "its members or its name differ";
                return Err(WriteError::differs(place(), what));
            }
            verified.values += 1;
        }
        Ok(())
    }
}
