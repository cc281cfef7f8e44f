//! The order of fragments by their occurrence in manifests.

use super::source::SourceLevel;
use zvf_encode::WriteError;
use zvf_encode::error::{OrBug, to_index};
use zvf_format::int::{index, wide};

/// Marks fragments that no manifest has named so far.
const NONE: u64 = u64::MAX;
/// Start of the order of fragments that no object names, after all others.
pub(super) const UNNAMED: u64 = 1 << 62;

/// The order of fragments, and which of them are named exactly once in all manifests.
#[derive(Debug, Default)]
pub(super) struct FragmentOrder {
    order: Vec<u64>,
    alone: Vec<bool>,
}

impl FragmentOrder {
    pub(super) fn of(&self, fragment: u64) -> Result<u64, WriteError> {
        let order = self.order.get(to_index("fragments", fragment)?);
        order
            .copied()
            .or_bug(format_args!("no fragment {fragment}"))
    }

    pub(super) fn alone(&self, fragment: u64) -> Result<bool, WriteError> {
        let alone = self.alone.get(to_index("fragments", fragment)?);
        alone
            .copied()
            .or_bug(format_args!("no fragment {fragment}"))
    }
}

/// Number of the first fragment of each chunk, and the end.
pub(super) fn fragment_starts(source: &SourceLevel) -> Result<Vec<u64>, WriteError> {
    let (mut starts, mut end) = (vec![0_u64], 0_u64);
    for part in source.batches() {
        for chunk in source.read(&part)? {
            end += wide(chunk.fragments.len());
            starts.push(end);
        }
    }
    Ok(starts)
}

/// Fragments in the order in which manifests name them; with `by_number` in the order of their numbers, for kinds in which the lowest
/// fragment of a row has a meaning.
pub(super) fn order(
    source: &SourceLevel,
    starts: &[u64],
    by_number: bool,
) -> Result<FragmentOrder, WriteError> {
    let count = *starts.last().or_bug("no end of the fragments")?;
    let count = to_index("fragments", count)?;
    let mut found = FragmentOrder {
        order: vec![NONE; count],
        alone: vec![false; count],
    };
    let mut next = 0_u64;
    source.each_manifest(|_, manifest| {
        for (chunk, fragment) in manifest {
            let at = source.slot(&chunk).and_then(|slot| {
                let [start, end] = *starts.get(index(slot)..)?.first_chunk()?;
                let at = start.checked_add(u64::try_from(fragment).ok()?)?;
                (at < end).then_some(at)
            });
            // A missing fragment is reported when the manifests are written.
            let Some(at) = at else { continue };
            let at = to_index("fragments", at)?;
            let order = found.order.get_mut(at);
            let order = order.or_bug("a fragment without an order")?;
            let alone = found.alone.get_mut(at);
            *alone.or_bug("a fragment without an order")? = *order == NONE;
            if *order == NONE {
                *order = next;
            }
            // A repeated fragment leaves a gap, because the fragments before and after it are not consecutive.
            next += 1;
        }
        // A gap, so that the next object's first fragment does not follow this one's last.
        next += 1;
        Ok(())
    })?;
    for (number, order) in (0_u64..).zip(&mut found.order) {
        if by_number {
            *order = number;
        } else if *order == NONE {
            *order = UNNAMED + number * 2;
        }
    }
    if by_number {
        found.alone.fill(false);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::FragmentOrder;
    use zvf_encode::WriteError;

    #[test]
    fn a_fragment_that_there_is_not_has_no_place() {
        let order = FragmentOrder {
            order: vec![3],
            alone: vec![true],
        };
        assert_eq!((order.of(0).unwrap(), order.alone(0).unwrap()), (3, true));
        assert!(matches!(order.of(1), Err(WriteError::Bug { .. })));
        assert!(matches!(order.alone(1), Err(WriteError::Bug { .. })));
    }
}
