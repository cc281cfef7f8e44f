//! The object that each fragment belongs to: according to the manifests, and to the owner column (0.9 §11.7).

use futures::{FutureExt, TryStreamExt};
use zvf_store::owners::{NOBODY, OWNER_COLUMN, OwnerColumn, SEVERAL};
use zvf_store::{ChunkCoord, StoreError};

use crate::check::Check;
use crate::finding::{Findings, Place};
use crate::level::LevelState;
use crate::ordered::in_turn;
use crate::run::Session;
use zvf_format::int::{index, wide};

/// The fragments that manifests name, as bits.
pub(crate) struct Named {
    bases: Vec<usize>,
    seen: Vec<u64>,
    /// The owner of each fragment, if there is a column to compare with.
    owners: Option<Vec<i64>>,
}

impl Named {
    pub(crate) fn new(state: &LevelState, owners: bool) -> Self {
        let bases = state.fragment_bases();
        let count = bases.last().copied().unwrap_or(0);
        Self {
            seen: vec![0; count.div_ceil(64)],
            owners: owners.then(|| vec![NOBODY; count]),
            bases,
        }
    }

    pub(crate) fn add(&mut self, slot: usize, fragment: u32, id: i64) {
        let Some(at) = self.at(slot, fragment) else {
            return;
        };
        let fresh = !self.has(at);
        if let Some(word) = self.seen.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
        if let Some(owner) = self.owners.as_mut().and_then(|all| all.get_mut(at)) {
            *owner = if fresh || *owner == id { id } else { SEVERAL };
        }
    }

    fn at(&self, slot: usize, fragment: u32) -> Option<usize> {
        self.bases.get(slot)?.checked_add(index(fragment))
    }

    fn has(&self, at: usize) -> bool {
        self.seen
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Reports fragments with rows that are in no manifest, one finding per chunk.
    pub(crate) fn orphans(&self, run: &mut Session<'_>, state: &LevelState) {
        for (slot, chunk) in state.chunks.iter().enumerate() {
            let Some(count) = state.fragments_of(slot) else {
                continue;
            };
            if state.rows_of(slot).is_none_or(|rows| rows == 0) {
                continue;
            }
            let lost = (0..count).filter(|&fragment| {
                !state.is_empty(slot, fragment)
                    && self.at(slot, fragment).is_some_and(|at| !self.has(at))
            });
            let mut lost = lost.peekable();
            let Some(&first) = lost.peek() else { continue };
            let found = format!("{} fragments of no object", lost.count());
            let place = Place::at(state.path("vertex_fragments"))
                .chunk(chunk.as_slice())
                .fragment(u64::from(first));
            run.findings
                .add(Check::FragmentOwner, place, found, "an object for each");
        }
    }
}

/// Compares the owner column with the manifests.
pub(crate) async fn check_column(
    run: &mut Session<'_>,
    state: &LevelState,
    named: &Named,
) -> Result<(), StoreError> {
    let Some(owners) = &named.owners else {
        return Ok(());
    };
    let column = state
        .level
        .fragment_attributes()
        .iter()
        .find(|one| one.name == OWNER_COLUMN);
    let Some(column) = column else { return Ok(()) };
    if let OwnerColumn::Stale(_) = state.level.owner_column() {
        let place = Place::at(column.array.path());
        let found = "a column that was made with another document of the object index";
        run.findings.add(
            Check::OwnerColumnCurrent,
            place,
            found,
            "a column that was made with the stored one",
        );
    }
    let Some((least, _)) = column.dtype.integer_bounds() else {
        return Ok(());
    };
    let is_listed = |slot: &usize| {
        let chunk = state.chunks.get(*slot);
        chunk.is_some_and(|one| column.array.presence().contains(one.as_slice()))
    };
    let (listed, others): (Vec<usize>, Vec<usize>) = (0..state.chunks.len()).partition(is_listed);
    let parts: Vec<Vec<usize>> = listed.chunks(64).map(<[usize]>::to_vec).collect();
    let work = parts.into_iter().map(|slots| {
        async move {
            let chunks = slots.iter().filter_map(|&slot| state.chunks.get(slot));
            let chunks: Vec<&[i64]> = chunks.map(ChunkCoord::as_slice).collect();
            let cells = state.level.cells_each(&[&column.array], &chunks).await?;
            Ok::<_, StoreError>((slots, cells))
        }
        .boxed()
    });
    let mut work = in_turn(work.collect(), run.batches());
    // Reports missing rows of a signed column. An unsigned one, of another writer, must have a row for each fragment: the checks of all fragment
    // attributes report missing ones.
    let lacks = |findings: &mut Findings, slot: usize, rows: usize| {
        let base = named.bases.get(slot).copied().unwrap_or(0);
        let end = named.bases.get(slot.saturating_add(1)).copied();
        let rest = base.saturating_add(rows)..end.unwrap_or(base);
        let lost =
            rest.filter(|at| least < 0 && owners.get(*at).is_some_and(|owner| *owner != NOBODY));
        let mut lost = lost.peekable();
        let Some(&first) = lost.peek() else { return };
        let chunk = state.chunks.get(slot).map_or(&[][..], |one| one.as_slice());
        let place = Place::at(column.array.path())
            .chunk(chunk)
            .fragment(wide(first.saturating_sub(base)));
        let found = format!("no owner of {} fragments of objects", lost.count());
        findings.add(Check::OwnerColumn, place, found, "one, as in the manifests");
    };
    for slot in others {
        lacks(&mut run.findings, slot, 0);
    }
    while let Some((slots, cells)) = work.try_next().await? {
        for (slot, cell) in slots.into_iter().zip(cells.into_iter().flatten()) {
            let (Some(Ok(Some(bytes))), Some(base)) = (cell, named.bases.get(slot).copied()) else {
                continue;
            };
            lacks(
                &mut run.findings,
                slot,
                bytes.len() / column.dtype.size().max(1),
            );
            for (at, value) in bytes.chunks_exact(column.dtype.size()).enumerate() {
                let (Some(value), Some(&owner)) = (
                    column.dtype.integer_at(value, 0),
                    owners.get(base.saturating_add(at)),
                ) else {
                    continue;
                };
                // An unsigned column cannot represent the values for no owner and several owners.
                if value == owner || (least == 0 && owner < 0) {
                    continue;
                }
                let chunk = state.chunks.get(slot).map_or(&[][..], |one| one.as_slice());
                let place = Place::at(column.array.path())
                    .chunk(chunk)
                    .fragment(wide(at));
                run.findings.add(
                    Check::OwnerColumn,
                    place,
                    value,
                    format!("{owner}, as in the manifests"),
                );
            }
        }
    }
    Ok(())
}
