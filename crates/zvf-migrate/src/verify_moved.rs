//! The second look where rows went to other chunks: by what rows hold, not by where they are.
//!
//! A vertex is known by a hash of its position and all its values. The vertices of a level, and its links, are compared as
//! multisets: as sums of such hashes. An object is a sequence: its hash is that of a number with the hashes of its vertices
//! for digits, in a field of 2^61 - 1 elements and with a base that is drawn anew each time, so that hashes of fragments join
//! to the hash of the object whatever the fragments are.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};

use zvf_store::LinkFamily;

use super::pair::{Pair, hash};
use super::records::{Family, is_implied_tree};
use super::report::Verified;
use super::source::{Chunk, Source};
use zvf_write::WriteError;
use zvf_write::error::OrBug;
use zvf_write::int::{halves128, index, wide};
use zvf_write::record::row_of;

const FIELD: u64 = (1 << 61) - 1;

fn times(a: u64, b: u64) -> u64 {
    let [_, product] = halves128(u128::from(a) * u128::from(b) % u128::from(FIELD));
    product
}

fn plus(a: u64, b: u64) -> u64 {
    // Both are below 2^61.
    (a + b) % FIELD
}

/// The hash of a sequence of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sequence {
    hash: u64,
    /// The base to the power of the length.
    power: u64,
    len: u64,
}

impl Sequence {
    const EMPTY: Self = Self {
        hash: 0,
        power: 1,
        len: 0,
    };

    fn push(&mut self, base: u64, vertex: u64) {
        self.hash = plus(times(self.hash, base), vertex % FIELD);
        self.power = times(self.power, base);
        self.len += 1;
    }

    fn append(&mut self, other: Self) {
        self.hash = plus(times(self.hash, other.power), other.hash);
        self.power = times(self.power, other.power);
        self.len += other.len;
    }
}

/// Hashes of the rows of a chunk: of everything, and the sums for positions and for each attribute.
fn rows(source: &Source, chunk: &Chunk, names: &[String], sums: &mut [u64]) -> Vec<u64> {
    let size = source.position_bytes().max(1);
    let mut all = Vec::with_capacity(index(chunk.rows));
    for (row, position) in chunk.positions.chunks_exact(size).enumerate() {
        let place = hash(&position);
        let mut one = place;
        // One sum for positions, and one for each name.
        let mut sums = sums.iter_mut();
        if let Some(sum) = sums.next() {
            *sum = sum.wrapping_add(place);
        }
        for (name, sum) in names.iter().zip(sums) {
            let mut columns = source.columns.iter().zip(&chunk.attributes);
            let found = columns.find(|(column, _)| column.name() == name);
            let value = found.and_then(|(column, cell)| {
                let value = row_of(cell.as_ref()?, row, column.row_bytes())?;
                // The word for absence is absence.
                (column.absent_row().as_deref() != Some(value)).then_some(value)
            });
            let value = hash(&(place, value));
            *sum = sum.wrapping_add(value);
            one = hash(&(one, value));
        }
        all.push(one);
    }
    all
}

/// One store's side of a level.
struct Side<'s> {
    source: &'s Source,
    /// Sums over all rows: positions, then attributes.
    sums: Vec<u64>,
    vertices: u64,
    fragments: HashMap<(u32, u32), Sequence>,
    /// Sum of the edges that the order of rows implies, and how many; of trees.
    edges: (u64, u64),
}

/// Hashes of rows of chunks that were asked for last.
struct Cache<'s> {
    source: &'s Source,
    names: Vec<String>,
    kept: HashMap<u32, Vec<u64>>,
    order: VecDeque<u32>,
    /// Rows of all that are kept.
    rows: usize,
}

/// Rows whose hashes are kept: 16 MiB of them.
const KEPT: usize = 1 << 21;

impl<'s> Cache<'s> {
    fn new(source: &'s Source) -> Self {
        Self {
            source,
            names: names(source),
            kept: HashMap::new(),
            order: VecDeque::new(),
            rows: 0,
        }
    }

    fn row(&mut self, chunk: &[i64], row: u32) -> Result<Option<u64>, WriteError> {
        let Some(slot) = self.source.slot(chunk) else {
            return Ok(None);
        };
        if !self.kept.contains_key(&slot) {
            let read = self.source.read(&[slot])?;
            let mut sums = vec![0; self.names.len() + 1];
            let chunk = read.first().or_bug("a chunk that was not read")?;
            let hashes = rows(self.source, chunk, &self.names, &mut sums);
            self.rows += hashes.len();
            self.kept.insert(slot, hashes);
            self.order.push_back(slot);
            while self.order.len() > 1
                && (self.rows > KEPT || self.order.len() > 512)
                && let Some(oldest) = self.order.pop_front()
            {
                let gone = self.kept.remove(&oldest);
                self.rows -= gone.or_bug("a chunk that is not kept")?.len();
            }
        }
        Ok(self
            .kept
            .get(&slot)
            .and_then(|rows| rows.get(index(row)).copied()))
    }
}

fn names(source: &Source) -> Vec<String> {
    let mut names: Vec<String> = source
        .columns
        .iter()
        .map(|one| one.name().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Children whose parent is stored, by chunk and row.
type Children = HashSet<(u32, u32)>;

fn side<'s>(
    source: &'s Source,
    names: &[String],
    base: u64,
    children: Option<&Children>,
) -> Result<Side<'s>, WriteError> {
    let mut side = Side {
        source,
        sums: vec![0; names.len() + 1],
        vertices: 0,
        fragments: HashMap::new(),
        edges: (0, 0),
    };
    for part in source.batches() {
        for chunk in source.read(&part)? {
            let hashes = rows(source, &chunk, names, &mut side.sums);
            side.vertices += u64::from(chunk.rows);
            let mut seen = vec![false; hashes.len()];
            for (number, fragment) in (0_u32..).zip(&chunk.fragments) {
                let mut sequence = Sequence::EMPTY;
                let mut before: Option<u64> = None;
                for row in fragment.iter() {
                    let vertex = *hashes.get(index(row)).or_bug("a fragment of no row")?;
                    sequence.push(base, vertex);
                    // The lowest fragment of a row says what its parent is.
                    let seen = seen.get_mut(index(row)).or_bug("a fragment of no row")?;
                    let first = !std::mem::replace(seen, true);
                    if let (Some(children), Some(parent)) = (children, before.filter(|_| first))
                        && !children.contains(&(chunk.slot, row))
                    {
                        side.edges.0 = side.edges.0.wrapping_add(hash(&(vertex, parent)));
                        side.edges.1 += 1;
                    }
                    before = Some(vertex);
                }
                side.fragments.insert((chunk.slot, number), sequence);
            }
        }
    }
    Ok(side)
}

/// The children of stored edges.
fn children(source: &Source) -> Result<Children, WriteError> {
    let mut found = Children::new();
    let rank = source.level.key_rank().max(1);
    if let Some(links) = source.level.links(0) {
        Family::new(source, links).each(source, |record| {
            let chunk = record.chunks.get(..rank).or_bug("a link without ends")?;
            if let (Some(slot), Some(&row)) = (source.slot(chunk), record.rows.first()) {
                found.insert((slot, row));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Compares a level of two stores whose chunks differ.
pub(super) fn check(pair: &Pair, all: &[Pair], verified: &mut Verified) -> Result<(), WriteError> {
    let mut drawn = RandomState::new().build_hasher();
    drawn.write_u32(pair.number);
    let base = drawn.finish() % (FIELD - 2) + 2;
    let tree = is_implied_tree(&pair.old);
    let stored = |source: &Source| {
        if tree {
            children(source).map(Some)
        } else {
            Ok(None)
        }
    };
    let names = names(&pair.old);
    let old = side(&pair.old, &names, base, stored(&pair.old)?.as_ref())?;
    let new = side(&pair.new, &names, base, stored(&pair.new)?.as_ref())?;
    if old.vertices != new.vertices {
        let what = format!("{} vertices, expected {}", new.vertices, old.vertices);
        return Err(WriteError::differs(pair.place("vertices"), what));
    }
    let differs = old
        .sums
        .iter()
        .zip(&new.sums)
        .position(|(old, new)| old != new);
    if let Some(at) = differs {
        let name = at.checked_sub(1).and_then(|at| names.get(at));
        let what = name.map_or_else(
            || "positions".to_owned(),
            |name| format!("attribute {name:?}"),
        );
        return Err(WriteError::differs(pair.place(what), "values differ"));
    }
    verified.vertices += old.vertices;
    objects(pair, &old, &new, verified)?;
    links(pair, all, (&old, &new), verified)
}

/// Every object is the same sequence of vertices.
fn objects(
    pair: &Pair,
    old: &Side<'_>,
    new: &Side<'_>,
    verified: &mut Verified,
) -> Result<(), WriteError> {
    let Some((index_, copy, ids, copied)) = pair.indexes()? else {
        return Ok(());
    };
    let handle = &pair.old.handle;
    let whole = |side: &Side<'_>, objects: &zvf_store::ObjectIndex, blob: &[u8], row: u64| {
        let mut whole = Sequence::EMPTY;
        for (chunk, fragment) in super::entries::entries(blob, objects, row)? {
            let key = side.source.slot(&chunk).zip(u32::try_from(fragment).ok());
            if let Some(part) = key.and_then(|key| side.fragments.get(&key)) {
                whole.append(*part);
            }
        }
        Ok::<_, WriteError>(whole)
    };
    for part in 0..index_.manifest_chunks() {
        let part = handle.block_on(index_.manifest_chunk(part))?;
        let first = part.first_slot();
        for row in first..(first + wide(part.len())).min(index_.len()) {
            let Some(there) = copied.row(row) else {
                continue;
            };
            let copies = handle.block_on(copy.manifest_chunk(copy.chunk_of(there)))?;
            let wanted = whole(old, index_, part.blob(row), row)?;
            let found = whole(new, copy, copies.blob(there), there)?;
            if wanted != found {
                let place = pair.place(format_args!("object {}", ids.id(row)));
                let what = format!(
                    "{} vertices, expected {}, or their positions, attributes or order differ",
                    found.len, wanted.len
                );
                return Err(WriteError::differs(place, what));
            }
            verified.objects += 1;
        }
    }
    Ok(())
}

/// Every link joins the same vertices.
fn links(
    pair: &Pair,
    all: &[Pair],
    (old, new): (&Side<'_>, &Side<'_>),
    verified: &mut Verified,
) -> Result<(), WriteError> {
    use zvf_meta::Kind::{Line, Polyline, Streamline};
    let kind = pair.old.level.store().kind();
    let chain =
        matches!(kind, Line | Polyline | Streamline) && pair.old.level.object_index().is_some();
    let mut deltas: Vec<i32> = pair
        .old
        .level
        .link_families()
        .iter()
        .map(LinkFamily::delta)
        .collect();
    if is_implied_tree(&pair.old) && !deltas.contains(&0) {
        deltas.push(0);
    }
    for delta in deltas {
        // The order of an object's vertices says all there is of these.
        if delta == 0 && chain {
            continue;
        }
        let number = i64::from(pair.number) + i64::from(delta);
        let Some(other) = all.iter().find(|other| i64::from(other.number) == number) else {
            continue;
        };
        let mut wanted = sums(&pair.old, &other.old, delta)?;
        let mut found = sums(&pair.new, &other.new, delta)?;
        if delta == 0 {
            for (sums, side) in [(&mut wanted, old), (&mut found, new)] {
                sums.0 += side.edges.1;
                sums.1 = sums.1.wrapping_add(side.edges.0);
            }
        }
        // Edges that were implied before have no values, and stored ones have some.
        let same_values = is_implied_tree(&pair.old) || wanted.2 == found.2;
        if (wanted.0, wanted.1) != (found.0, found.1) || !same_values {
            let what = format!(
                "{} links, expected {}, or their ends or values differ",
                found.0, wanted.0
            );
            return Err(WriteError::differs(
                pair.place(format_args!("links/{delta}")),
                what,
            ));
        }
        verified.links += wanted.0;
    }
    Ok(())
}

/// How many links a family has, the sum of their ends, and that of ends and values.
fn sums(here: &Source, there: &Source, delta: i32) -> Result<(u64, u64, u64), WriteError> {
    let mut sums = (0_u64, 0_u64, 0_u64);
    let Some(links) = here.level.links(delta) else {
        return Ok(sums);
    };
    let family = Family::new(here, links);
    let order = family.by_name();
    let (mut near, mut far) = (Cache::new(here), Cache::new(there));
    let rank = here.level.key_rank().max(1);
    family.each(here, |record| {
        let mut ends = Vec::new();
        for (which, (chunk, &row)) in record.chunks.chunks(rank).zip(record.rows).enumerate() {
            let cache = if which == 0 || delta == 0 {
                &mut near
            } else {
                &mut far
            };
            match cache.row(chunk, row)? {
                Some(end) => ends.push(end),
                // What is not there was reported and left out.
                None => return Ok(()),
            }
        }
        let ends = match ends.as_slice() {
            [child, parent] => hash(&(*child, *parent)),
            more => hash(&more),
        };
        sums.0 += 1;
        sums.1 = sums.1.wrapping_add(ends);
        let mut one = ends;
        for value in record.values_by(&order) {
            one = hash(&(one, value));
        }
        sums.2 = sums.2.wrapping_add(one);
        Ok(())
    })?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::Sequence;

    #[test]
    fn hashes_of_parts_join() {
        let whole = |parts: &[&[u64]]| {
            let mut all = Sequence::EMPTY;
            for part in parts {
                let mut one = Sequence::EMPTY;
                part.iter().for_each(|vertex| one.push(1_234_567, *vertex));
                all.append(one);
            }
            all
        };
        let wanted = whole(&[&[5, 9, u64::MAX, 7]]);
        assert_eq!(whole(&[&[5], &[], &[9, u64::MAX], &[7]]), wanted);
        assert_ne!(whole(&[&[9, 5], &[u64::MAX, 7]]), wanted);
        assert_ne!(whole(&[&[5, 9, u64::MAX, 7, 0]]), wanted);
    }
}
