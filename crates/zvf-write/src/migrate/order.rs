//! The order of fragments: as objects name them.

use super::source::Source;
use crate::WriteError;
use crate::int::{index, to_index, wide};

/// No fragment was named so far.
const NONE: u64 = u64::MAX;
/// Fragments that no object names come behind the others.
pub(super) const UNNAMED: u64 = 1 << 62;

/// The order of fragments, and which of them belong to one object alone.
#[derive(Debug, Default)]
pub(super) struct Order {
    order: Vec<u64>,
    alone: Vec<bool>,
}

impl Order {
    pub(super) fn of(&self, fragment: u64) -> u64 {
        let at = usize::try_from(fragment).ok();
        let order = at.and_then(|at| self.order.get(at)).copied();
        order.unwrap_or(NONE)
    }

    pub(super) fn alone(&self, fragment: u64) -> bool {
        let at = usize::try_from(fragment).ok();
        at.and_then(|at| self.alone.get(at))
            .copied()
            .unwrap_or(false)
    }
}

/// Number of the first fragment of each chunk, and the end.
pub(super) fn fragment_starts(source: &Source) -> Result<Vec<u64>, WriteError> {
    let mut starts = vec![0_u64];
    for part in source.batches() {
        for chunk in source.read(&part)? {
            let before = starts.last().copied().unwrap_or_default();
            starts.push(before.saturating_add(wide(chunk.fragments.len())));
        }
    }
    Ok(starts)
}

/// Fragments in the order in which objects name them. `by_number`: as they are numbered, for kinds in which the lowest
/// fragment of a row has a meaning.
pub(super) fn order(source: &Source, starts: &[u64], by_number: bool) -> Result<Order, WriteError> {
    let count = to_index("fragments", starts.last().copied().unwrap_or_default())?;
    let mut found = Order {
        order: vec![NONE; count],
        alone: vec![false; count],
    };
    let mut next = 0_u64;
    if let Some(objects) = source.level.object_index() {
        for part in 0..objects.manifest_chunks() {
            let part = source.handle.block_on(objects.manifest_chunk(part))?;
            let first = part.first_slot();
            for row in first..first.saturating_add(wide(part.len())).min(objects.len()) {
                for (chunk, fragment) in super::objects::entries(part.blob(row), objects, row)? {
                    let start = source.slot(&chunk).and_then(|slot| starts.get(index(slot)));
                    let at = start.zip(u64::try_from(fragment).ok());
                    let at =
                        at.and_then(|(start, at)| usize::try_from(start.checked_add(at)?).ok());
                    let Some(at) = at else { continue };
                    let (Some(order), Some(alone)) =
                        (found.order.get_mut(at), found.alone.get_mut(at))
                    else {
                        continue;
                    };
                    *alone = *order == NONE;
                    if *order == NONE {
                        *order = next;
                    }
                    // A fragment that was met before leaves a gap: what comes before and behind it is not neighbours.
                    next = next.saturating_add(1);
                }
                // A gap, so that the next object's first fragment does not follow this one's last.
                next = next.saturating_add(1);
            }
        }
    }
    for (number, order) in (0_u64..).zip(&mut found.order) {
        if by_number {
            *order = number;
        } else if *order == NONE {
            *order = UNNAMED.saturating_add(number.saturating_mul(2));
        }
    }
    if by_number {
        found.alone.fill(false);
    }
    Ok(found)
}
