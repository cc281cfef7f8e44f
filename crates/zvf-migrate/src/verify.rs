//! The second look: both stores are read once more, and everything is compared.
//!
//! Nothing of the writer is used here. Chunks, fragments, manifests and tables are compared byte for byte; links, which lie
//! elsewhere in the new store, as multisets: a sum of hashes of each record, for the ends and for every attribute.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use zvf_format::dtype::DTypeKind;
use zvf_meta::{Kind, ObjectLayout};
use zvf_store::{ChunkCoord, IdTable, LinkFamily, Need, ObjectIndex, Store, TypedArray};

use super::pair::{Pair, hash};
use super::records::Family;
use super::report::{Notes, Verified};
use super::rows::Copied;
use super::source::{Chunk, Column, Rows, Source};
use zvf_write::WriteError;
use zvf_write::int::{index, narrow, to_index, wide};

/// Compares a store with what it was copied from.
pub(super) fn verify(old: &Store, new: &Store, handle: &Handle) -> Result<Verified, WriteError> {
    if new.levels() != old.levels() {
        let what = format!("levels {:?}, expected {:?}", new.levels(), old.levels());
        return Err(WriteError::differs("the new store", what));
    }
    let mut verified = Verified::default();
    let mut pairs = Vec::new();
    for &number in old.levels() {
        // What the first look told is not told again.
        let notes = Notes::default();
        let level = |store: &Store| handle.block_on(store.level(number, &Need::all()));
        pairs.push(Pair {
            old: Source::new(level(old)?, handle.clone(), &notes)?,
            new: Source::new(level(new)?, handle.clone(), &notes)?,
            number,
        });
    }
    for pair in &pairs {
        let same = |other: &Pair| other.old.level.chunk_shape() == other.new.level.chunk_shape();
        if pairs.iter().all(same) && !pair.cuts_bins() {
            pair.check(&mut verified)?;
        } else {
            super::verify_moved::check(pair, &pairs, &mut verified)?;
            pair.tables(&mut verified)?;
            pair.groups(&mut verified)?;
        }
    }
    Ok(verified)
}

/// Whether the fragments of a level are bins (0.9 §10.2).
pub(super) fn is_binned(source: &Source) -> bool {
    let level = &source.level;
    level.number() == 0
        && level.store().kind() == Kind::PointCloud
        && level.object_index().is_none()
        && level.key_rank() == level.dims()
}

/// What is kept of the chunks of the old level.
#[derive(Default)]
struct Kept {
    /// By number of the chunk.
    rows: Vec<u32>,
    fragments: Vec<u32>,
    /// First and last rows of fragments, where links follow from them.
    ends: HashMap<(u32, u32), (u32, u32)>,
}

/// A multiset of links: sums of hashes, one of the ends and one for each attribute.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    count: u64,
    ends: u64,
    values: Vec<u64>,
}

/// The object index of the old level, that of the new one, the ids of the old one, and where their rows are in the new one.
type Indexes<'a> = (&'a ObjectIndex, &'a ObjectIndex, Arc<IdTable>, Copied);

impl Pair {
    /// Whether the fragments of the level are bins, and of another shape than before.
    fn cuts_bins(&self) -> bool {
        let bins = |source: &Source| source.level.store().root().base_bin_shape().to_vec();
        is_binned(&self.old) && bins(&self.old) != bins(&self.new)
    }

    fn check(&self, verified: &mut Verified) -> Result<(), WriteError> {
        let kept = self.chunks(verified)?;
        self.objects(&kept, verified)?;
        self.tables(verified)?;
        self.groups(verified)?;
        self.links(&kept, verified)
    }

    fn chunks(&self, verified: &mut Verified) -> Result<Kept, WriteError> {
        let mut kept = Kept::default();
        let untrusted = self
            .old
            .level
            .links(0)
            .is_some_and(|family| !family.rows_trusted());
        let mut seen = 0_usize;
        for part in self.old.batches() {
            let old = self.old.read(&part)?;
            let there: Vec<u32> = part
                .iter()
                // What is not there is found below.
                .filter_map(|&slot| {
                    self.old
                        .chunk(slot)
                        .map(|chunk| self.new.slot(chunk))
                        .transpose()
                })
                .collect::<Result<_, _>>()?;
            let mut new = self.new.read(&there)?.into_iter().peekable();
            for chunk in old {
                let coord = ChunkCoord::new(self.old.chunk(chunk.slot)?);
                let place = || self.place(format_args!("chunk {coord}"));
                kept.rows.push(chunk.rows);
                kept.fragments
                    .push(narrow("fragments of a chunk", chunk.fragments.len())?);
                if untrusted {
                    for (number, fragment) in (0_u32..).zip(&chunk.fragments) {
                        kept.ends
                            .extend(fragment.ends().map(|ends| ((chunk.slot, number), ends)));
                    }
                }
                let slot = self.new.slot(&coord);
                let Some(copy) = new.next_if(|copy| Some(copy.slot) == slot) else {
                    if chunk.rows > 0 {
                        return Err(WriteError::differs(
                            place(),
                            format!("{} vertices are missing", chunk.rows),
                        ));
                    }
                    continue;
                };
                seen += 1;
                self.chunk(&chunk, &copy)
                    .map_err(|what| WriteError::differs(place(), what))?;
                verified.vertices += u64::from(chunk.rows);
            }
        }
        if seen != self.new.chunks.len() {
            let what = format!("{} chunks, expected {seen}", self.new.chunks.len());
            return Err(WriteError::differs(self.place("vertices"), what));
        }
        Ok(kept)
    }

    fn chunk(&self, old: &Chunk, new: &Chunk) -> Result<(), String> {
        if self.old.position != self.new.position || old.positions != new.positions {
            return Err("positions differ".to_owned());
        }
        let rows = |all: &[Rows]| -> Vec<Vec<u32>> {
            all.iter().map(|one| one.iter().collect()).collect()
        };
        if old.fragments != new.fragments && rows(&old.fragments) != rows(&new.fragments) {
            return Err("fragments differ".to_owned());
        }
        let pairs = [
            (
                &self.old.columns,
                &old.attributes,
                &self.new.columns,
                &new.attributes,
                old.rows,
            ),
            (
                &self.old.fragment_columns,
                &old.fragment_attributes,
                &self.new.fragment_columns,
                &new.fragment_attributes,
                u32::try_from(old.fragments.len()).map_err(|_| "more than 2^32 fragments")?,
            ),
        ];
        for (columns, cells, new_columns, new_cells, rows) in pairs {
            for (column, cell) in columns.iter().zip(cells) {
                let name = column.name();
                let copy = new_columns
                    .iter()
                    .zip(new_cells)
                    .find(|(one, _)| one.name() == name);
                let Some((new_column, copy)) = copy else {
                    return Err(format!("attribute {name:?} is missing"));
                };
                same(column, cell.as_deref(), new_column, copy.as_deref(), rows)
                    .map_err(|what| format!("attribute {name:?}: {what}"))?;
            }
        }
        Ok(())
    }

    /// The object indexes of both, of which the new one has all ids of the old one; `None` where the old level has none.
    pub(super) fn indexes(&self) -> Result<Option<Indexes<'_>>, WriteError> {
        let Some(old) = self.old.level.object_index() else {
            return Ok(None);
        };
        let Some(new) = self.new.level.object_index() else {
            return Err(WriteError::differs(
                self.place("object_index"),
                "is missing",
            ));
        };
        let handle = &self.old.handle;
        let (old_ids, new_ids) = (handle.block_on(old.ids())?, handle.block_on(new.ids())?);
        let by_row = new.layout() == Some(ObjectLayout::V1);
        let copied = Copied::new(&old_ids, &new_ids, by_row).map_err(|id| {
            WriteError::differs(
                self.place("object_index/object_ids"),
                match id {
                    Some(id) => format!("ids differ: {id} is not there"),
                    None => "ids differ".to_owned(),
                },
            )
        })?;
        for row in copied.gaps() {
            let part = handle.block_on(new.manifest_chunk(new.chunk_of(row)))?;
            if !super::entries::entries(part.blob(row), new, row)?.is_empty() {
                let place = self.place(format_args!("object {}", new_ids.id(row)));
                return Err(WriteError::differs(place, "is in the copy only"));
            }
        }
        Ok(Some((old, new, old_ids, copied)))
    }

    /// Ids, and every manifest.
    fn objects(&self, kept: &Kept, verified: &mut Verified) -> Result<(), WriteError> {
        let Some((old, new, ids, copied)) = self.indexes()? else {
            return Ok(());
        };
        let handle = &self.old.handle;
        for part in 0..old.manifest_chunks() {
            let part = handle.block_on(old.manifest_chunk(part))?;
            let first = part.first_slot();
            for row in first..(first + wide(part.len())).min(old.len()) {
                let Some(there) = copied.row(row) else {
                    continue;
                };
                let copies = handle.block_on(new.manifest_chunk(new.chunk_of(there)))?;
                let mut wanted = super::entries::entries(part.blob(row), old, row)?;
                // What is not there was reported and left out.
                wanted.retain(|(chunk, fragment)| {
                    let slot = self.old.slot(chunk).map(index);
                    let of_chunk =
                        slot.and_then(|at| Some((kept.rows.get(at)?, kept.fragments.get(at)?)));
                    of_chunk.is_some_and(|(&rows, &count)| {
                        rows > 0 && (0..i64::from(count)).contains(fragment)
                    })
                });
                let found = super::entries::entries(copies.blob(there), new, there)?;
                if wanted != found {
                    let place = self.place(format_args!("object {}", ids.id(row)));
                    return Err(WriteError::differs(place, "its fragments differ"));
                }
                verified.objects += 1;
            }
        }
        Ok(())
    }

    /// Values of objects and groups.
    fn tables(&self, verified: &mut Verified) -> Result<(), WriteError> {
        let (old, new) = (&self.old.level, &self.new.level);
        let indexes = self.indexes()?;
        let objects = match &indexes {
            Some((old, new, _, copied)) => (old.len(), new.len(), copied),
            None => (0, 0, &Copied::SAME),
        };
        let groups = old.groups().map_or(0, zvf_store::Groups::len);
        let groups = (groups, groups, &Copied::SAME);
        let lists = [
            (old.object_attributes(), new.object_attributes(), objects),
            (old.group_attributes(), new.group_attributes(), groups),
        ];
        for (old, new, rows) in lists {
            let (count, ..) = rows;
            for table in old
                .iter()
                .filter(|table| table.dtype().kind != DTypeKind::Object && count > 0)
            {
                let Some(copy) = new.iter().find(|copy| copy.name() == table.name()) else {
                    return Err(WriteError::differs(self.place(table.path()), "is missing"));
                };
                self.table(table, copy, rows)?;
                verified.values += count;
            }
        }
        Ok(())
    }

    /// Compares a table row for row: so many rows of the old one, and of the new one.
    fn table(
        &self,
        old: &TypedArray,
        new: &TypedArray,
        (from, count, copied): (u64, u64, &Copied),
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
            let Some(there) = copied.row(row) else {
                continue;
            };
            let there = to_index("rows of a table", there)?;
            let row = to_index("rows of a table", row)?;
            let some = row < values.rows && !values.is_absent(row);
            let same = match (some, copies.is_absent(there)) {
                (true, false) => values.row(row) == copies.row(there),
                (false, true) => true,
                // Where a type leaves no word for absence, that was reported; an empty text says it anyway.
                (true, true) => values.row(row) == copies.row(there),
                (false, false) => false,
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
                return Err(WriteError::differs(
                    place(),
                    "its members or its name differ",
                ));
            }
            verified.values += 1;
        }
        Ok(())
    }

    fn links(&self, kept: &Kept, verified: &mut Verified) -> Result<(), WriteError> {
        for family in self.old.level.link_families() {
            let delta = family.delta();
            let wanted = if family.rows_trusted() {
                self.sums(&self.old, family, Some(kept))?
            } else if self.old.level.object_index().is_some() {
                self.chains(kept)?
            } else {
                continue;
            };
            let found = match self.new.level.links(delta) {
                Some(copy) => self.sums(&self.new, copy, None)?,
                None => Sums::default(),
            };
            let place = || self.place(format_args!("links/{delta}"));
            if wanted.count == 0 && found.count == 0 {
                continue;
            }
            if (wanted.count, wanted.ends) != (found.count, found.ends) {
                let what = format!(
                    "{} links, expected {}, or their ends differ",
                    found.count, wanted.count
                );
                return Err(WriteError::differs(place(), what));
            }
            if let Some(at) =
                (0..wanted.values.len()).find(|at| wanted.values.get(*at) != found.values.get(*at))
            {
                let family = Family::new(&self.old, family);
                let order = family.by_name();
                let one = order.get(at).and_then(|(at, _)| family.attributes.get(*at));
                let name = one.map(|one| one.name.clone());
                let what = format!("values of attribute {:?} differ", name.unwrap_or_default());
                return Err(WriteError::differs(place(), what));
            }
            verified.links += wanted.count;
        }
        Ok(())
    }

    /// All links of a family. Of the old one only those whose ends are there: the others were reported.
    fn sums(
        &self,
        source: &Source,
        links: &LinkFamily,
        kept: Option<&Kept>,
    ) -> Result<Sums, WriteError> {
        let family = Family::new(source, links);
        let order = family.by_name();
        let mut sums = Sums {
            values: vec![0; order.len()],
            ..Sums::default()
        };
        let rank = source.level.key_rank().max(1);
        family.each(source, |record| {
            let mut ends = record.chunks.chunks(rank).zip(record.rows).enumerate();
            let here = |slot: Option<u32>, row: u32| {
                let rows = slot.and_then(|slot| kept?.rows.get(index(slot)).copied());
                rows.is_some_and(|rows| row < rows)
            };
            // Ends at another level are checked by its own rows when it is copied.
            let gone = kept.is_some()
                && ends.any(|(which, (chunk, &row))| {
                    (which == 0 || links.delta() == 0) && !here(source.slot(chunk), row)
                });
            if gone {
                return Ok(());
            }
            sums.count += 1;
            let one = hash(&(record.chunks, record.rows));
            sums.ends = sums.ends.wrapping_add(one);
            for (value, sum) in record.values_by(&order).zip(&mut sums.values) {
                *sum = sum.wrapping_add(hash(&(one, value)));
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// The links that manifests imply between chunks.
    fn chains(&self, kept: &Kept) -> Result<Sums, WriteError> {
        let mut sums = Sums::default();
        let Some(objects) = self.old.level.object_index() else {
            return Ok(sums);
        };
        for part in 0..objects.manifest_chunks() {
            let part = self.old.handle.block_on(objects.manifest_chunk(part))?;
            let first = part.first_slot();
            for row in first..(first + wide(part.len())).min(objects.len()) {
                let mut before: Option<(ChunkCoord, u32)> = None;
                for (chunk, fragment) in super::entries::entries(part.blob(row), objects, row)? {
                    let key = self.old.slot(&chunk).zip(u32::try_from(fragment).ok());
                    let Some(&(start, end)) = key.and_then(|key| kept.ends.get(&key)) else {
                        continue;
                    };
                    if let Some((from, last)) = before.filter(|(from, _)| *from != chunk) {
                        let chunks = [from.as_slice(), chunk.as_slice()].concat();
                        sums.count += 1;
                        let one = hash(&(chunks.as_slice(), [last, start].as_slice()));
                        sums.ends = sums.ends.wrapping_add(one);
                    }
                    before = Some((chunk, end));
                }
            }
        }
        Ok(sums)
    }
}

/// Compares a column of a chunk; rows without a value may have the word for absence in the copy.
fn same(
    old: &Column,
    cell: Option<&[u8]>,
    new: &Column,
    copy: Option<&[u8]>,
    rows: u32,
) -> Result<(), String> {
    if (old.dtype, old.width()) != (new.dtype, new.width()) {
        return Err(format!(
            "{} of {}, expected {} of {}",
            new.width(),
            new.dtype,
            old.width(),
            old.dtype
        ));
    }
    let (cell, copy) = (cell.unwrap_or_default(), copy.unwrap_or_default());
    let (same, rest) = copy
        .split_at_checked(cell.len())
        .ok_or("values are missing")?;
    if same != cell {
        return Err("values differ".to_owned());
    }
    let is_absent = |absent: Vec<u8>| rest.chunks(absent.len().max(1)).all(|row| row == absent);
    let all = index(rows) * old.row_bytes();
    if rest.is_empty() || (copy.len() == all && old.absent_row().is_some_and(is_absent)) {
        return Ok(());
    }
    Err("there are values where there were none".to_owned())
}
