//! Manifests against the kept rows: how many vertices each object has in the result, and which links join fragments.

use zvf_store::IdTable;

use crate::error::Place;
use crate::kept::{KeptTable, Key};
use crate::reader::Reader;
use crate::walk::{Entry, Walk};
use crate::{QueryError, int};

/// What the manifests say about a result.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Object row and how many rows of the result belong to it; only objects with at least one.
    pub(crate) counts: Vec<(u32, u64)>,
    /// Links between consecutive fragments of an object, in rows of the result, sorted, each once.
    pub(crate) bridges: Vec<(u64, u64)>,
    /// Which fragments belong to some object.
    pub(crate) used: Used,
}

/// One flag for each fragment of each chunk.
#[derive(Debug, Default)]
pub(crate) struct Used {
    starts: Vec<usize>,
    flags: Vec<bool>,
}

impl Used {
    fn new(kept: &KeptTable) -> Self {
        let mut used = Self::default();
        let mut next = 0;
        for chunk in &kept.chunks {
            used.starts.push(next);
            next += chunk
                .fragments
                .as_ref()
                .map_or(0, |fragments| fragments.len());
        }
        used.flags = vec![false; next];
        used
    }

    /// The flags of one chunk, by fragment.
    pub(crate) fn of(&self, slot: u32) -> &[bool] {
        let start = self.starts.get(int::at(slot)).copied().unwrap_or(0);
        let end = self
            .starts
            .get(int::at(slot) + 1)
            .copied()
            .unwrap_or(self.flags.len());
        self.flags.get(start..end).unwrap_or(&[])
    }

    fn mark(&mut self, slot: u32, fragment: u32) {
        let start = self
            .starts
            .get(int::at(slot))
            .copied()
            .unwrap_or(usize::MAX);
        if let Some(flag) = self.flags.get_mut(start.saturating_add(int::at(fragment))) {
            *flag = true;
        }
    }
}

/// Most fragments of one object. A range of fragments takes 16 bytes of a manifest, however many it names.
const MOST: usize = 1 << 24;

#[cold]
fn too_many(reader: &Reader, id: Option<i64>) -> QueryError {
    let place = Place::array(reader.number, "object_index/manifests").of(id);
    QueryError::limit(
        place,
        "fragments of one object",
        int::wide(MOST) + 1,
        int::wide(MOST),
    )
}

/// Counts and joins.
///
/// # Errors
///
/// Malformed: a manifest that names a fragment the chunk does not have.
pub(crate) fn resolve(
    reader: &Reader,
    walk: &Walk,
    kept: &KeptTable,
    joins: bool,
    ids: &IdTable,
) -> Result<Resolved, QueryError> {
    let mut found = Resolved {
        used: Used::new(kept),
        ..Resolved::default()
    };
    let mut bridges: Vec<(Key, Key)> = Vec::new();
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    for (row, entries) in walk.objects() {
        let mut total = 0_u64;
        let mut last: Option<Key> = None;
        let mut exact = true;
        pieces.clear();
        for entry in entries {
            let chunk = kept.get(entry.slot).filter(|_| entry.slot != Entry::GAP);
            let Some((chunk, fragments)) =
                chunk.and_then(|chunk| Some((chunk, chunk.fragments.as_ref()?)))
            else {
                last = None;
                continue;
            };
            if chunk.rows.is_none() {
                last = None;
                continue;
            }
            exact &= fragments.disjoint();
            for fragment in entry.fragments() {
                let Some(rows) = fragments.get(fragment) else {
                    return Err(no_fragment(
                        reader,
                        entry.slot,
                        fragment,
                        fragments.len(),
                        ids.get(u64::from(row)),
                    ));
                };
                if pieces.len() >= MOST {
                    return Err(too_many(reader, ids.get(u64::from(row))));
                }
                found.used.mark(entry.slot, fragment);
                pieces.push((entry.slot, fragment));
                total += rows.kept(&chunk.kept);
                if let Some((first, end)) = rows.ends() {
                    if let Some(last) = last.filter(|_| joins) {
                        bridges.push((last, Key::new(entry.slot, first)));
                    }
                    last = Some(Key::new(entry.slot, end));
                }
            }
        }
        pieces.sort_unstable();
        if !exact
            || pieces
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if a == b))
        {
            total = distinct(&pieces, kept);
        }
        if total > 0 {
            found.counts.push((row, total));
        }
    }
    let both = |(a, b): &(Key, Key)| Some((kept.global(*a)?, kept.global(*b)?));
    found.bridges = bridges
        .iter()
        .filter_map(both)
        .filter(|(a, b)| a != b)
        .collect();
    found.bridges.sort_unstable();
    found.bridges.dedup();
    Ok(found)
}

/// Kept rows of fragments that may overlap, each counted once.
fn distinct(pieces: &[(u32, u32)], kept: &KeptTable) -> u64 {
    let mut rows: Vec<Key> = Vec::new();
    for (slot, fragment) in pieces {
        let Some(chunk) = kept.get(*slot) else {
            continue;
        };
        let Some(fragment) = chunk
            .fragments
            .as_ref()
            .and_then(|fragments| fragments.get(*fragment))
        else {
            continue;
        };
        rows.extend(
            fragment
                .iter()
                .filter(|row| chunk.kept.rank(*row).is_some())
                .map(|row| Key::new(*slot, row)),
        );
    }
    rows.sort_unstable();
    rows.dedup();
    int::wide(rows.len())
}

/// A manifest names a fragment that its chunk does not have.
#[cold]
pub(crate) fn no_fragment(
    reader: &Reader,
    slot: u32,
    fragment: u32,
    count: usize,
    id: Option<i64>,
) -> QueryError {
    let place = Place::cell(
        reader.number,
        "object_index/manifests",
        reader.table.get(slot),
    )
    .of(id);
    QueryError::malformed(
        place,
        format!("the manifest names fragment {fragment}, the chunk has {count}"),
    )
}
