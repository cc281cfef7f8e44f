//! Updates links between levels: links to a row of level 0 are renumbered when the row moves in its chunk, and removed when it is deleted or leaves
//! the chunk.

use std::collections::BTreeMap;

use zvf_format::links::LinkCellBuilder;
use zvf_meta::LinkFamilyDoc;
use zvf_store::{
    CellWant, ChunkCoord, Deltas, Endpoint, Level, LinkArray, LinkFamily, Names, Need, Placement,
};

use super::grid::GridEdit;
use super::links::{entry, next_cell};
use super::state::{EditState, NewRows};
use super::vertex::stored;
use zvf_encode::WriteError;
use zvf_encode::batches::row_bytes;
use zvf_encode::error::OrBug;
use zvf_encode::records::row_of;
use zvf_format::int::wide;

/// The changes of links between levels.
#[derive(Debug, Default)]
pub(super) struct CrossLevelEdit {
    pub(super) arrays: BTreeMap<String, GridEdit>,
    /// Paths and documents of families.
    pub(super) groups: Vec<(String, String)>,
}

/// The levels with links that may refer to rows of level 0.
pub(super) async fn levels(state: &EditState) -> Result<Vec<Level>, WriteError> {
    let store = state.level.store().clone();
    let mut levels = vec![state.level.clone()];
    for &number in store.levels().iter().filter(|number| **number > 0) {
        let mut need = Need::nothing();
        need.link_deltas = Deltas::All;
        need.link_attributes = Names::All;
        let level = store.level(number, &need).await?;
        // Links that cannot be read would keep the numbers of moved rows.
        level.check_complete()?;
        levels.push(level);
    }
    Ok(levels)
}

/// The ends of the records of a family that are in level 0; `None` if there are none, or if the family has links inside a level.
fn side(level: &Level, family: &LinkFamily) -> Option<LinkEndSide> {
    let number = i64::from(level.number());
    let delta = i64::from(family.delta());
    match (number, number + delta) {
        _ if delta == 0 => None,
        (0, _) => Some(LinkEndSide::First),
        (_, 0) => Some(LinkEndSide::Others),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkEndSide {
    First,
    Others,
}

impl LinkEndSide {
    fn holds(self, which: usize) -> bool {
        (which == 0) == (self == Self::First)
    }
}

/// Refuses families that are not stored by offsets, or whose rows begin with a permutation code.
pub(super) fn check(levels: &[Level]) -> Result<(), WriteError> {
    for level in levels {
        for family in level
            .link_families()
            .iter()
            .filter(|family| side(level, family).is_some())
        {
            for array in family.arrays() {
                let by_offsets = matches!(array.placement(), Placement::Offsets { .. });
                if !by_offsets || array.has_perm() {
                    let found = "links between levels in another layout";
                    return Err(WriteError::unsupported(
                        array.array.path(),
                        found,
                        "links by offsets",
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Renumbers the rows of level 0 in all links between levels. A link is removed if its vertex was deleted, moved to another chunk, or belongs to an
/// object with new fragments.
pub(super) async fn follow(
    state: &mut EditState,
    levels: &[Level],
    places: &NewRows,
) -> Result<CrossLevelEdit, WriteError> {
    let mut between = CrossLevelEdit::default();
    for level in levels {
        for family in level.link_families() {
            let Some(side) = side(level, family) else {
                continue;
            };
            let mut gone = 0_u64;
            for (number, array) in family.arrays().iter().enumerate() {
                gone += of_array(
                    state,
                    level,
                    family,
                    (number, array),
                    side,
                    places,
                    &mut between,
                )
                .await?;
            }
            if gone > 0 {
                let path = format!("{}/links/{:+}", level.number(), family.delta());
                let less = |count: Option<u64>| match count.map(|count| count.checked_sub(gone)) {
                    Some(None) => {
                        let found = format!("a count below the {gone} links that the edit removes");
                        let expected = "a correct count: `zvf repair` counts the links again";
                        Err(WriteError::unsupported(path.clone(), found, expected))
                    }
                    left => Ok(left.flatten()),
                };
                let doc = LinkFamilyDoc {
                    num_links: less(family.doc().num_links)?,
                    num_physical_records: less(family.doc().num_physical_records)?,
                    ..family.doc().clone()
                };
                between.groups.push((path, doc.to_group().to_json_line()));
            }
        }
    }
    Ok(between)
}

/// Renumbers the rows of level 0 in one array of a family. Returns the number of removed records.
async fn of_array(
    state: &mut EditState,
    level: &Level,
    family: &LinkFamily,
    (number, array): (usize, &LinkArray),
    side: LinkEndSide,
    places: &NewRows,
    between: &mut CrossLevelEdit,
) -> Result<u64, WriteError> {
    let rank = array.chunk_rank().max(1);
    let mut ends = Vec::new();
    let mut cells: Vec<(ChunkCoord, Vec<u32>)> = Vec::new();
    for source in array.array.presence().iter() {
        array.endpoint_chunks(source, &mut ends)?;
        let mut slots = Vec::new();
        let mut touched = false;
        for (which, chunk) in ends.chunks_exact(rank).enumerate() {
            let slot = if side.holds(which) {
                state.slot(chunk)?
            } else {
                u32::MAX
            };
            touched |= side.holds(which) && state.chunk(slot).is_some_and(|chunk| chunk.moved);
            slots.push(slot);
        }
        if touched {
            cells.push((ChunkCoord::new(source), slots));
        }
    }
    let attributes: Vec<_> = family
        .attributes()
        .iter()
        .filter_map(|one| one.arrays.get(number)?.as_ref().map(|values| (one, values)))
        .collect();
    let mut wants = Vec::new();
    for (source, _) in &cells {
        wants.push(CellWant::new(&array.array, source.as_slice()));
        wants.extend(
            attributes
                .iter()
                .map(|(_, values)| CellWant::new(values, source.as_slice())),
        );
    }
    let mut found = level
        .store()
        .fetch(level.next_round(), wants)
        .await?
        .into_iter();
    let mut gone = 0_u64;
    for (source, slots) in cells {
        let payload = next_cell(&mut found)?;
        let cell = array.decode(&source, &payload)?;
        let mut builder = LinkCellBuilder::new(array.form());
        let placement: Vec<u8> = (0_u8..).take(array.width()).collect();
        let mut record = vec![Endpoint::default(); array.width()];
        let mut kept = Vec::new();
        for at in 0..cell.len() {
            if !cell.record(at, &mut record) {
                let place = format!("{} at {:?}", array.array.path(), source.as_slice());
                return Err(WriteError::source(
                    place,
                    format!("record {at} cannot be read"),
                ));
            }
            let mut new = Vec::with_capacity(record.len());
            for end in &record {
                let slot = *slots
                    .get(end.which)
                    .or_bug("a link with more ends than chunks")?;
                let place = || {
                    let vertex = stored(slot, u32::try_from(end.row).ok()?);
                    let place = state.place(places, vertex)?;
                    (place.0 == slot).then_some(i64::from(place.1))
                };
                // If the vertex of an end was removed, the link is removed.
                new.extend(if side.holds(end.which) {
                    place()
                } else {
                    Some(end.row)
                });
            }
            if new.len() == record.len() {
                let failed = |source| WriteError::encode(array.array.path().to_owned(), source);
                builder.push(&placement, &new).map_err(failed)?;
                kept.push(at);
            }
        }
        gone += wide(cell.len() - kept.len());
        let payload = if kept.is_empty() {
            Vec::new()
        } else {
            builder.finish()
        };
        entry(&mut between.arrays, &array.array)?.set(&source, payload);
        for (one, values) in &attributes {
            let column = next_cell(&mut found)?;
            let size = row_bytes("values of a link", one.width, one.dtype)?;
            let mut left = Vec::new();
            for at in &kept {
                let value = row_of(&column, *at, size).ok_or_else(|| {
                    let place = format!("{} at {:?}", values.path(), source.as_slice());
                    WriteError::source(place, format!("no value of link {at}"))
                })?;
                left.extend_from_slice(value);
            }
            entry(&mut between.arrays, values)?.set(&source, left);
        }
    }
    Ok(gone)
}
