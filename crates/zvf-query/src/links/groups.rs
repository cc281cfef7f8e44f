//! Links of a few objects, in levels that group links by the fragments of their chunk (`fragment_link_groups`; `zvf-0.9`, appendix E): only the
//! rows of these fragments are decoded.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use zvf_store::{CheckedFragments, Endpoint, GridArray, Level};

use super::records::{Family, FoundGroups, LinkCellRef, RecordCell, WantedGroups};
use crate::QueryError;
use crate::columns::gather::Rows;
use crate::error::{OrBug, Place};
use crate::fragments::Fragments;
use crate::manifests::Entries;
use crate::plan::chunks::{ChunkTable, Slot};
use crate::row_map::Key;
use zvf_store::format::int;

/// The array with the groups of links; `None` if the level does not declare that links are grouped by fragments.
///
/// # Errors
///
/// I/O; a damaged document.
pub(crate) async fn array(level: &Level) -> Result<Option<Arc<GridArray>>, QueryError> {
    if !level.doc().fragment_link_groups {
        return Ok(None);
    }
    let array = level.store().grid_array(level.number(), "link_fragments");
    Ok(array.await?)
}

/// Most fragments of a chunk whose groups of links are looked up one by one.
const MOST_FRAGMENTS: usize = 1 << 20;

/// Restricts cells of links inside chunks to the groups of the fragments in `entries`.
pub(crate) fn restrict(
    family: &Family,
    array: &Arc<GridArray>,
    table: &ChunkTable,
    entries: &Entries,
    cells: &mut [LinkCellRef],
) {
    let mut fragments: Vec<Option<Vec<u32>>> = vec![Some(Vec::new()); table.len()];
    for entry in entries.iter(0) {
        let Some(place) = fragments.get_mut(int::index(entry.slot)) else {
            continue;
        };
        // A range of fragments may have any length before the index of the chunk is read. All links of the chunk are decoded then.
        let known = place.as_ref().map_or(0, Vec::len);
        if known.saturating_add(int::index(entry.count)) > MOST_FRAGMENTS {
            *place = None;
        } else if let Some(of_chunk) = place {
            of_chunk.extend(entry.fragments());
        }
    }
    for cell in cells {
        let links = family.links.arrays().get(cell.array);
        if !links.is_some_and(|links| links.is_intra()) {
            continue;
        }
        let of_chunk = table.slot(&cell.source);
        let of_chunk = of_chunk.and_then(|slot| fragments.get_mut(int::index(slot)));
        if let Some(of_chunk) = of_chunk.and_then(Option::as_mut) {
            let mut fragments = std::mem::take(of_chunk);
            fragments.sort_unstable();
            fragments.dedup();
            cell.groups = Some(Arc::new(WantedGroups {
                array: Arc::clone(array),
                fragments,
            }));
        }
    }
}

impl Family {
    fn false_claim(&self, at: &LinkCellRef, what: impl std::fmt::Display) -> QueryError {
        let place = Place::cell(self.level, "link_fragments", &at.source);
        let what = format!("{what}, although the level claims that links are grouped by fragment");
        QueryError::malformed(place, what)
    }

    /// Decodes the records in the requested groups of a cell, in the order of their rows. Consumes cells in the order of
    /// [`wants`](Self::wants).
    ///
    /// # Errors
    ///
    /// Malformed cells; groups that contradict the declaration of the level.
    pub(super) fn decode_groups(
        &self,
        at: LinkCellRef,
        wanted: &WantedGroups,
        table: &ChunkTable,
        cells: &mut impl Iterator<Item = Option<Bytes>>,
    ) -> Result<RecordCell, QueryError> {
        let place = || Place::cell(self.level, &self.path(at.array), &at.source);
        let Some(array) = self.links.arrays().get(at.array) else {
            return Err(QueryError::malformed(place(), "no such array"));
        };
        let bytes = cells.next().flatten().unwrap_or_default();
        let groups = match wanted.array.presence().contains(&at.source) {
            true => cells.next().flatten().unwrap_or_default(),
            false => Bytes::new(),
        };
        let cell = array.view(&at.source, &bytes)?;
        let count = u32::try_from(cell.len()).ok();
        let count = count.or_bug("more records than 32 bits count")?;
        let broken = |error| self.false_claim(&at, format!("groups of {count} links: {error}"));
        let stored = CheckedFragments::decode(&groups, Some(count)).map_err(broken)?;
        let grouped: usize = stored.iter().map(|group| group.len()).sum();
        if grouped != int::index(count) {
            let what = format!("groups of {grouped} links, the chunk has {count}");
            return Err(self.false_claim(&at, what));
        }
        let mut found: Vec<(u32, u32)> = Vec::new();
        for &fragment in &wanted.fragments {
            let Some(group) = stored.get(fragment) else {
                let what = format!("no group {fragment} among {}", stored.len());
                return Err(self.false_claim(&at, what));
            };
            found.extend(group.rows().map(|row| (row, fragment)));
        }
        found.sort_unstable();
        if let Some([(row, _), _]) = found.array_windows().find(|[(a, _), (b, _)]| a == b) {
            return Err(self.false_claim(&at, format!("link {row} is in two groups")));
        }
        let slot = table.slot(&at.source);
        let mut record = vec![Endpoint::default(); self.width()];
        let mut keys = Vec::with_capacity(found.len().saturating_mul(self.width()));
        for &(row, _) in &found {
            if !cell.record(int::index(row), &mut record) {
                let what = format!("record {row} cannot be read");
                return Err(QueryError::malformed(place(), what));
            }
            for end in &record {
                let Ok(end) = u32::try_from(end.row) else {
                    let what = format!("record {row} names row {}, outside every chunk", end.row);
                    return Err(QueryError::malformed(place(), what));
                };
                keys.push(slot.map_or(Key::OUTSIDE, |slot| Key::new(slot, end)));
            }
        }
        self.rows_read
            .fetch_add(int::wide(found.len()), Ordering::Relaxed);
        let attributes = self.attributes(&at, cell.len(), cell.len(), cells)?;
        Ok(RecordCell {
            parent_first: self.links.parent_first(array),
            keys,
            attributes,
            groups: Some(FoundGroups {
                slot,
                count: stored.len(),
                group: found.iter().map(|(_, group)| *group).collect(),
                rows: found.iter().map(|(row, _)| *row).collect(),
            }),
            at,
        })
    }

    /// Checks that all ends of the links of a group are in the fragment of the group.
    ///
    /// # Errors
    ///
    /// Malformed: the declaration of the level is wrong.
    pub(crate) fn check_groups<'f>(
        &self,
        cell: &RecordCell,
        fragments: impl Fn(Slot) -> Option<&'f Fragments>,
    ) -> Result<(), QueryError> {
        let Some(groups) = &cell.groups else {
            return Ok(());
        };
        // A chunk after the limit of a query is not read, and none of its links is in the answer.
        let Some(fragments) = groups.slot.and_then(fragments) else {
            return Ok(());
        };
        if fragments.len() != int::index(groups.count) {
            let (count, fragments) = (groups.count, fragments.len());
            let what = format!("{count} groups, the chunk has {fragments} fragments");
            return Err(self.false_claim(&cell.at, what));
        }
        // A list of rows is sorted once for consecutive links of its group.
        let mut list: Option<(u32, Vec<u32>)> = None;
        let records = cell.keys.chunks_exact(self.width().max(1));
        for ((keys, &group), row) in records.zip(&groups.group).zip(&groups.rows) {
            let has = match fragments.get(group) {
                Some(Rows::Range { start, count }) => {
                    let rows = start..start.saturating_add(count);
                    keys.iter().all(|key| rows.contains(&key.row()))
                }
                Some(Rows::List(rows)) => {
                    let list = match &mut list {
                        Some((known, list)) if *known == group => list,
                        other => {
                            let mut rows = rows.to_vec();
                            rows.sort_unstable();
                            &mut other.insert((group, rows)).1
                        }
                    };
                    keys.iter()
                        .all(|key| list.binary_search(&key.row()).is_ok())
                }
                None => false,
            };
            if !has {
                let what = format!("link {row} of group {group} has an end in another fragment");
                return Err(self.false_claim(&cell.at, what));
            }
        }
        Ok(())
    }
}
