//! The links of a level in both stores, as multisets: sums of the hashes of their ends, and of ends and values.

use std::collections::{BTreeSet, HashMap, VecDeque};

use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_format::int::index;
use zvf_meta::LinksConvention;
use zvf_store::{ChunkCoord, LinkFamily};

use super::pair::Pair;
use super::stored::{Link, Stored, link_attributes};
use super::vertices::{self, Vertices, hash};
use crate::report::Verified;

/// A multiset of links.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    count: u64,
    /// The sum of the hashes of ends.
    ends: u64,
    /// For each attribute, by name, the sum of the hashes of ends and of the values up to its own.
    values: Vec<u64>,
}

impl Sums {
    fn of(family: &LinkFamily) -> Self {
        Self {
            values: vec![0; link_attributes(family).len()],
            ..Self::default()
        }
    }

    fn add(&mut self, ends: u64, values: &[Option<&[u8]>]) {
        self.count += 1;
        self.ends = self.ends.wrapping_add(ends);
        let mut one = ends;
        for (value, sum) in values.iter().zip(&mut self.values) {
            one = hash(&(one, value));
            *sum = sum.wrapping_add(one);
        }
    }
}

/// Hashes of the rows of the chunks that were asked for last.
struct Cache<'s> {
    stored: &'s Stored,
    names: Vec<&'s str>,
    hashes: HashMap<u32, Vec<u64>>,
    /// The oldest first.
    order: VecDeque<u32>,
    /// Rows of all of them.
    rows: usize,
}

/// Most rows whose hashes are cached: 16 MiB of them.
const MOST_ROWS: usize = 1 << 21;

/// Most chunks whose hashes are cached.
const MOST_CHUNKS: usize = 512;

impl<'s> Cache<'s> {
    fn new(stored: &'s Stored) -> Self {
        Self {
            stored,
            names: vertices::names(stored),
            hashes: HashMap::new(),
            order: VecDeque::new(),
            rows: 0,
        }
    }

    /// The hash of a row; `None`: it is not there.
    fn row(&mut self, chunk: &[i64], row: u32) -> Result<Option<u64>, WriteError> {
        let Some(slot) = self.stored.slot(chunk) else {
            return Ok(None);
        };
        if !self.hashes.contains_key(&slot) {
            let read = self.stored.read(&[slot])?;
            let (_, chunk) = read.first().or_bug("a chunk that was not read")?;
            let mut sums = vec![0; self.names.len() + 1];
            let hashes = vertices::hash_rows(self.stored, chunk, &self.names, &mut sums)?;
            self.rows += hashes.len();
            self.hashes.insert(slot, hashes);
            self.order.push_back(slot);
            while self.order.len() > 1
                && (self.rows > MOST_ROWS || self.order.len() > MOST_CHUNKS)
                && let Some(oldest) = self.order.pop_front()
            {
                let gone = self.hashes.remove(&oldest);
                self.rows -= gone.or_bug("a chunk that is not cached")?.len();
            }
        }
        let hashes = self.hashes.get(&slot);
        Ok(hashes.and_then(|rows| rows.get(index(row)).copied()))
    }
}

/// What the ends of links are known by.
enum Ends<'s> {
    /// Their chunks and rows. Rows that the level itself does not have were reported, where it is the first store's.
    Places(Option<&'s Vertices>),
    /// What the vertices hold, of the level itself and of the other one.
    Values(Box<[Cache<'s>; 2]>),
}

impl Ends<'_> {
    /// The hash of the ends of a link; `None`: one of them is not there.
    fn hash(
        &mut self,
        stored: &Stored,
        delta: i32,
        link: &Link<'_>,
    ) -> Result<Option<u64>, WriteError> {
        let rank = stored.level.key_rank().max(1);
        let mut ends = link.chunks.chunks(rank).zip(link.rows).enumerate();
        let is_near = |which: usize| which == 0 || delta == 0;
        match self {
            Self::Places(vertices) => {
                let gone = ends.any(|(which, (chunk, row))| {
                    let rows = |vertices: &Vertices| {
                        let at = index(stored.slot(chunk)?);
                        vertices.rows.get(at).copied()
                    };
                    let gone = |known| rows(known).is_none_or(|rows| *row >= rows);
                    is_near(which) && vertices.is_some_and(gone)
                });
                Ok((!gone).then(|| hash(&(link.chunks, link.rows))))
            }
            Self::Values(caches) => {
                let [near, far] = &mut **caches;
                let mut hashes = Vec::with_capacity(link.rows.len());
                for (which, (chunk, row)) in ends {
                    let cache = if is_near(which) {
                        &mut *near
                    } else {
                        &mut *far
                    };
                    match cache.row(chunk, *row)? {
                        Some(end) => hashes.push(end),
                        None => return Ok(None),
                    }
                }
                Ok(Some(vertices::edge(&hashes)))
            }
        }
    }
}

/// All links of a family whose ends are there.
fn sums(
    stored: &Stored,
    family: Option<&LinkFamily>,
    mut ends: Ends<'_>,
) -> Result<Sums, WriteError> {
    let Some(family) = family else {
        return Ok(Sums::default());
    };
    let mut sums = Sums::of(family);
    stored.each_link(family, |link| {
        if let Some(ends) = ends.hash(stored, family.delta(), link)? {
            sums.add(ends, link.values);
        }
        Ok(())
    })?;
    Ok(sums)
}

/// The links that manifests imply between the fragments of an object that are in different chunks.
fn chains(stored: &Stored, ends: &vertices::Ends) -> Result<Sums, WriteError> {
    let mut sums = Sums::default();
    let Some(objects) = stored.level.object_index() else {
        return Ok(sums);
    };
    stored.each_manifest(objects, |row, manifest| {
        let mut before: Option<(ChunkCoord, u32)> = None;
        stored.each_entry(objects, row, manifest, |chunk, fragment| {
            let key = stored.slot(chunk).zip(u32::try_from(fragment).ok());
            let Some(&(first, last)) = key.and_then(|key| ends.get(&key)) else {
                return Ok(());
            };
            if let Some((from, row)) = before.take().filter(|(from, _)| from != chunk) {
                let chunks = [from.as_slice(), chunk.as_slice()].concat();
                sums.add(hash(&(&chunks[..], &[row, first][..])), &[]);
            }
            before = Some((chunk.clone(), last));
            Ok(())
        })
    })?;
    Ok(sums)
}

/// Whether links of the level follow from its manifests: those that are stored name no rows (0.7 §12.3).
pub(super) fn are_implied(stored: &Stored) -> bool {
    let untrusted = |family: &LinkFamily| !family.rows_trusted();
    stored.level.links(0).is_some_and(untrusted)
}

/// Whether the level has objects of linked rows.
pub(super) fn are_chains(stored: &Stored) -> bool {
    stored.level.object_index().is_some() && stored.level.store().kind().is_chain()
}

/// Compares the links of a level, of all deltas.
pub(super) fn compare(
    pair: &Pair,
    all: &[Pair],
    [old, new]: [&Vertices; 2],
    verified: &mut Verified,
) -> Result<(), WriteError> {
    let level = &pair.old.level;
    let families = [level, &pair.new.level].map(|one| one.link_families().iter());
    let mut deltas: BTreeSet<i32> = families
        .into_iter()
        .flatten()
        .map(LinkFamily::delta)
        .collect();
    let tree = !pair.same_chunks && pair.old.is_tree();
    if tree {
        deltas.insert(0);
    }
    for delta in deltas {
        let family = level.links(delta);
        let copied = pair.new.level.links(delta);
        let (mut wanted, mut found);
        if pair.same_chunks {
            found = sums(&pair.new, copied, Ends::Places(None))?;
            wanted = match family.filter(|family| !family.rows_trusted()) {
                None => sums(&pair.old, family, Ends::Places(Some(old)))?,
                Some(_) if level.object_index().is_some() => chains(&pair.old, &old.ends)?,
                Some(_) => continue,
            };
        } else if delta == 0 && are_chains(&pair.old) {
            // The order of an object's vertices says what is linked. What is stored of it, between chunks, has to be that.
            let convention = pair.new.level.store().root().links_convention();
            if convention.is_ok_and(|one| one == LinksConvention::Explicit) {
                continue;
            }
            found = sums(&pair.new, copied, Ends::Places(None))?;
            wanted = chains(&pair.new, &new.ends)?;
            found.values.clear();
        } else {
            let number = i64::from(pair.number) + i64::from(delta);
            let Some(other) = all.iter().find(|one| i64::from(one.number) == number) else {
                continue;
            };
            let ends = |near, far| Ends::Values(Box::new([near, far].map(Cache::new)));
            wanted = sums(&pair.old, family, ends(&pair.old, &other.old))?;
            found = sums(&pair.new, copied, ends(&pair.new, &other.new))?;
        }
        if tree && delta == 0 {
            for (sums, vertices) in [(&mut wanted, old), (&mut found, new)] {
                sums.count += vertices.edges.0;
                sums.ends = sums.ends.wrapping_add(vertices.edges.1);
                // Edges that were implied before have no values, and stored ones have some.
                sums.values.clear();
            }
        }
        let differs = |what| {
            Err(WriteError::differs(
                pair.place(format_args!("links/{delta}")),
                what,
            ))
        };
        if (wanted.count, wanted.ends) != (found.count, found.ends) {
            return differs(format!(
                "{} links, expected {}, or their ends differ",
                found.count, wanted.count
            ));
        }
        if wanted.count > 0 && wanted.values != found.values {
            let at = wanted
                .values
                .iter()
                .zip(&found.values)
                .position(|(a, b)| a != b);
            let names = family.map(link_attributes).unwrap_or_default();
            return differs(match at.and_then(|at| names.get(at)) {
                Some(one) => format!("values of attribute {:?} differ", one.name),
                None => "attributes differ".to_owned(),
            });
        }
        verified.links += wanted.count;
    }
    Ok(())
}
