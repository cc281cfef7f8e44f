//! The links of a level in both stores, as multisets: sums of the hashes of their ends, and of ends and values.

use std::collections::{BTreeSet, HashMap};

use zvf_encode::WriteError;
use zvf_format::int::index;
use zvf_store::{LinkFamily, StoredLink};

use super::super::reading::each_link;
use super::super::report::Verified;
use super::level::{ComparedLevel, HashSum, hash, join, place};
use super::{HashSums, LevelPair};

/// Most rows with cached hashes in addition to one chunk: 16 MiB.
const MOST_ROWS: usize = 1 << 21;

/// Most chunks with cached hashes.
const MOST_CHUNKS: usize = 512;

/// The identity of the ends of links: their places, or the hashes of their vertices.
struct EndIdentities<'s> {
    side: &'s ComparedLevel,
    /// The level of the far ends.
    other: &'s ComparedLevel,
    by_place: bool,
    /// Whether these are links of the source. The copy leaves out, and reports, links of the source with an end that does not exist.
    of_source: bool,
    /// Hashes of rows by chunk; the key also states whether the chunk is in the other level.
    cached: HashMap<(bool, u32), Vec<u64>>,
    rows: usize,
}

impl EndIdentities<'_> {
    /// The hash of the ends of a link; `None` if the copy leaves it out.
    fn hash(&mut self, link: &StoredLink<'_>, delta: i32) -> Result<Option<u64>, WriteError> {
        let rank = self.side.level.key_rank().max(1);
        let mut ends = None;
        for (which, (chunk, &row)) in link.chunks.chunks(rank).zip(link.rows).enumerate() {
            let one = match self.end(which > 0 && delta != 0, chunk, row)? {
                Some(one) => one,
                None if self.of_source => return Ok(None),
                // A missing end in the copy is a difference: no link has this hash.
                None => 0,
            };
            ends = Some(ends.map_or(one, |ends| join(ends, one)));
        }
        Ok(ends)
    }

    /// The identity of an end in this level or the `far` one; `None` if the vertex does not exist.
    fn end(&mut self, far: bool, chunk: &[i64], row: u32) -> Result<Option<u64>, WriteError> {
        let side = if far { self.other } else { self.side };
        if self.by_place {
            // If places identify ends, the copy is compared by place without a lookup.
            let there = !self.of_source || side.has(chunk, row);
            return Ok(there.then(|| place(chunk, row)));
        }
        let Some(slot) = side.slot(chunk) else {
            return Ok(None);
        };
        if !self.cached.contains_key(&(far, slot)) {
            if self.rows > MOST_ROWS || self.cached.len() >= MOST_CHUNKS {
                self.cached.clear();
                self.rows = 0;
            }
            let hashes = side.hashes(slot)?;
            self.rows += hashes.len();
            self.cached.insert((far, slot), hashes);
        }
        let rows = self.cached.get(&(far, slot));
        Ok(rows.and_then(|rows| rows.get(index(row)).copied()))
    }

    /// The sums of all links of a family, and of their values.
    fn sums(mut self, family: Option<&LinkFamily>) -> Result<(HashSum, HashSums), WriteError> {
        let (mut links, mut values) = (HashSum::default(), HashSums::default());
        let side = self.side;
        let Some(family) = family else {
            return Ok((links, values));
        };
        let reader = side.level.link_reader(family);
        let columns = reader
            .attributes()
            .iter()
            .map(|one| (one.absent_row(), HashSum::default()));
        let mut columns: Vec<_> = columns.collect();
        each_link(&reader, &side.handle, |_, link| {
            let Some(mut one) = self.hash(link, family.delta())? else {
                return Ok(());
            };
            links.add(1, one);
            for (value, (absent, sum)) in link.values.iter().zip(&mut columns) {
                one = join(
                    one,
                    hash(&value.filter(|value| absent.as_deref() != Some(value))),
                );
                sum.add(1, one);
            }
            Ok(())
        })?;
        for (attribute, (_, sum)) in reader.attributes().iter().zip(columns) {
            values.insert(
                format!("links/{}, attribute {:?}", family.delta(), attribute.name),
                sum,
            );
        }
        Ok((links, values))
    }
}

/// Compares the links of a level, for all deltas. `chains` are the links that the manifests of the copy imply.
pub(super) fn compare(
    pair: &LevelPair,
    all: &[LevelPair],
    (by_place, chains): (bool, HashSum),
    verified: &mut Verified,
) -> Result<(), WriteError> {
    let (old, new) = (&pair.old.level, &pair.new.level);
    let families = old.link_families().iter().chain(new.link_families());
    let mut deltas: BTreeSet<i32> = families.map(LinkFamily::delta).collect();
    let trees = !by_place && old.store().implies_edges();
    deltas.extend(trees.then_some(0));
    for delta in deltas {
        let number = i64::from(old.number()) + i64::from(delta);
        let mut levels = all.iter();
        let Some(other) = levels.find(|one| i64::from(one.old.level.number()) == number) else {
            continue;
        };
        let chained = delta == 0 && pair.is_chained();
        let ends = |side, other, of_source| EndIdentities {
            side,
            other,
            by_place: by_place || chained,
            of_source,
            cached: HashMap::new(),
            rows: 0,
        };
        let (mut found, mut values) = ends(&pair.new, &other.new, false).sums(new.links(delta))?;
        let (mut wanted, mut expected) = (chains, HashSums::new());
        if chained {
            values.clear();
        } else if old.links(delta).is_none_or(LinkFamily::rows_trusted) {
            (wanted, expected) = ends(&pair.old, &other.old, true).sums(old.links(delta))?;
        } else {
            continue;
        }
        if trees && delta == 0 {
            for (links, edges) in [(&mut wanted, pair.old.edges), (&mut found, pair.new.edges)] {
                links.count += edges.count;
                links.hashes = links.hashes.wrapping_add(edges.hashes);
            }
            // Implied edges have no values, so values cannot be compared.
            values.clear();
            expected.clear();
        }
        let name = format!("links/{delta}");
        let sums = |links| HashSums::from([(name.clone(), links)]);
        pair.same("links", &sums(wanted), &sums(found))?;
        if wanted.count > 0 {
            pair.same("links with values", &expected, &values)?;
        }
        verified.links += wanted.count;
    }
    Ok(())
}
