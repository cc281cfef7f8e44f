//! The vertices of a level in both stores.
//!
//! A vertex is known by its chunk and row where both stores have the same chunks, which are then compared byte for byte; else
//! by a hash of its position and all its values, and the vertices of both stores are compared as multisets, by sums of such
//! hashes. An object is a sequence of vertices or of fragments: its hash is that of a number with their hashes for
//! digits, in a field of 2^61 - 1 elements and with a new random base each time, so that hashes of fragments join to
//! the hash of the object regardless of the fragments.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};

use zvf_encode::error::OrBug;
use zvf_encode::{NumberType, WriteError};
use zvf_format::int::{halves128, index};
use zvf_store::{CheckedFragment, ChunkColumn, ChunkCoord, DecodedChunk, RowValues};

use super::pair::Pair;
use super::stored::Stored;

/// The hash of anything.
pub(super) fn hash(part: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}

const FIELD: u64 = (1 << 61) - 1;

fn times(a: u64, b: u64) -> u64 {
    let [_, product] = halves128(u128::from(a) * u128::from(b) % u128::from(FIELD));
    product
}

/// The base of the hashes of sequences.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base(u64);

impl Base {
    pub(super) fn draw() -> Self {
        Self(RandomState::new().build_hasher().finish() % (FIELD - 2) + 2)
    }
}

/// The hash of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    hash: u64,
    /// The base to the power of the length.
    power: u64,
    pub(super) len: u64,
}

impl Sequence {
    pub(super) const EMPTY: Self = Self {
        hash: 0,
        power: 1,
        len: 0,
    };

    pub(super) fn push(&mut self, Base(base): Base, element: u64) {
        // Both terms are below 2^61.
        self.hash = (times(self.hash, base) + element % FIELD) % FIELD;
        self.power = times(self.power, base);
        self.len += 1;
    }

    pub(super) fn append(&mut self, other: Self) {
        self.hash = (times(self.hash, other.power) + other.hash) % FIELD;
        self.power = times(self.power, other.power);
        self.len += other.len;
    }
}

/// First and last rows of fragments, by chunk and fragment.
pub(super) type Ends = HashMap<(u32, u32), (u32, u32)>;

/// The fragments of all chunks.
#[derive(Debug)]
enum Fragments {
    /// How many there are in each chunk, where chunks are the same.
    Counts(Vec<u32>),
    /// The vertices of each.
    Sequences(Vec<Vec<Sequence>>),
}

/// The first and last row of a fragment by chunk and number, unless it is empty.
fn ends_of(
    slot: u32,
    (number, fragment): (u32, CheckedFragment<'_>),
) -> Option<((u32, u32), (u32, u32))> {
    Some(((slot, number), fragment.ends()?))
}

/// What one store has of a level.
#[derive(Debug)]
pub(super) struct Vertices {
    /// By number of the chunk.
    pub(super) rows: Vec<u32>,
    fragments: Fragments,
    /// Where links follow from them.
    pub(super) ends: Ends,
    /// How many edges of trees the order of rows implies, and the sum of their hashes.
    pub(super) edges: (u64, u64),
}

impl Vertices {
    /// The hash of a fragment that a manifest names; `None`: it is not there.
    pub(super) fn fragment(
        &self,
        stored: &Stored,
        (chunk, fragment): (&ChunkCoord, i64),
        base: Base,
    ) -> Option<Sequence> {
        let at = index(stored.slot(chunk)?);
        self.rows.get(at).filter(|rows| **rows > 0)?;
        let number = usize::try_from(fragment).ok()?;
        match &self.fragments {
            Fragments::Counts(counts) => {
                (number < index(*counts.get(at)?)).then(|| by_place((chunk, fragment), base))
            }
            Fragments::Sequences(all) => all.get(at)?.get(number).copied(),
        }
    }
}

/// The hash of a fragment by where it is.
pub(super) fn by_place((chunk, fragment): (&ChunkCoord, i64), base: Base) -> Sequence {
    let mut one = Sequence::EMPTY;
    one.push(base, hash(&(chunk.as_slice(), fragment)));
    one
}

/// Compares chunks that are the same in both stores, byte for byte. `ends`: keep those of the first store's fragments.
pub(super) fn compare_chunks(pair: &Pair, ends: bool) -> Result<Vertices, WriteError> {
    let (old, new) = (&pair.old, &pair.new);
    let (mut rows, mut counts, mut kept) = (Vec::new(), Vec::new(), Ends::new());
    let mut seen = 0_usize;
    for slots in old.batches() {
        let mut there = Vec::new();
        for &slot in &slots {
            there.extend(new.slot(old.chunk(slot)?));
        }
        let mut copies = new.read(&there)?.into_iter().peekable();
        for (slot, chunk) in old.read(&slots)? {
            let coord = &chunk.coord;
            let differs =
                |what| WriteError::differs(pair.place(format_args!("chunk {coord}")), what);
            rows.push(chunk.rows);
            counts.push(chunk.fragments.len());
            if ends {
                let fragments = (0..).zip(chunk.fragments.iter());
                kept.extend(fragments.filter_map(|fragment| ends_of(slot, fragment)));
            }
            match copies.next_if(|(_, copy)| copy.coord == *coord) {
                Some((_, copy)) => {
                    seen += 1;
                    if let Some(what) = difference(pair, &chunk, &copy) {
                        return Err(differs(what));
                    }
                }
                None if chunk.rows > 0 => {
                    return Err(differs(format!("{} vertices are missing", chunk.rows)));
                }
                None => {}
            }
        }
    }
    if seen != new.chunks.len() {
        let what = format!("{} chunks, expected {seen}", new.chunks.len());
        return Err(WriteError::differs(pair.place("vertices"), what));
    }
    Ok(Vertices {
        rows,
        fragments: Fragments::Counts(counts),
        ends: kept,
        edges: (0, 0),
    })
}

/// What differs between a chunk and its copy.
fn difference(pair: &Pair, old: &DecodedChunk, new: &DecodedChunk) -> Option<String> {
    if pair.old.position != pair.new.position || old.positions != new.positions {
        return Some("positions differ".to_owned());
    }
    if old.fragments != new.fragments {
        return Some("fragments differ".to_owned());
    }
    let [old_reader, new_reader] = [&pair.old.reader, &pair.new.reader];
    let lists = [
        (
            (old_reader.columns(), &old.columns),
            (new_reader.columns(), &new.columns),
            old.rows,
        ),
        (
            (old_reader.fragment_columns(), &old.fragment_columns),
            (new_reader.fragment_columns(), &new.fragment_columns),
            old.fragments.len(),
        ),
    ];
    for ((columns, values), (copied, copies), rows) in lists {
        for (column, values) in columns.iter().zip(values) {
            let name = column.name();
            let mut found = copied.iter().zip(copies);
            let Some((copy, copies)) = found.find(|(copy, _)| copy.name() == name) else {
                return Some(format!("attribute {name:?} is missing"));
            };
            let [values, copies] = [values, copies].map(Option::as_ref);
            if let Some(what) = difference_of_values((column, values), (copy, copies), rows) {
                return Some(format!("attribute {name:?}: {what}"));
            }
        }
    }
    None
}

/// What differs between a column of a chunk and its copy, in which rows without a value may have the one that means absence.
fn difference_of_values(
    (old, values): (&ChunkColumn, Option<&RowValues>),
    (new, copies): (&ChunkColumn, Option<&RowValues>),
    rows: u32,
) -> Option<String> {
    let (wanted, found) = ((old.width(), old.dtype()), (new.width(), new.dtype()));
    if wanted != found {
        return Some(format!(
            "{} of {}, expected {} of {}",
            found.0, found.1, wanted.0, wanted.1
        ));
    }
    if values == copies {
        return None;
    }
    let count = |values: Option<&RowValues>| values.map_or(0, RowValues::rows);
    if count(copies) < count(values) {
        return Some("values are missing".to_owned());
    }
    let absent = (count(copies) == index(rows))
        .then(|| old.absent_row())
        .flatten();
    for row in 0..rows {
        let [value, copy] = [values, copies].map(|values| values?.row(row));
        match (value, copy) {
            (Some(value), Some(copy)) if value != copy => return Some("values differ".to_owned()),
            (None, Some(copy)) if absent.as_deref() != Some(copy) => {
                return Some("there are values where there were none".to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Names of all attributes.
pub(super) fn names(stored: &Stored) -> Vec<&str> {
    stored
        .reader
        .columns()
        .iter()
        .map(ChunkColumn::name)
        .collect()
}

/// Hashes of the rows of a chunk. Adds to the sums of those of all positions, and of all attributes.
pub(super) fn hash_rows(
    stored: &Stored,
    chunk: &DecodedChunk,
    names: &[&str],
    sums: &mut [u64],
) -> Result<Vec<u64>, WriteError> {
    let (of_positions, of_values) = sums.split_first_mut().or_bug("no sum of positions")?;
    let mut hashes = Vec::with_capacity(index(chunk.rows));
    for position in (0..chunk.rows).filter_map(|row| chunk.positions.row(row)) {
        let one = hash(&position);
        *of_positions = of_positions.wrapping_add(one);
        hashes.push((one, one));
    }
    for (name, sum) in names.iter().zip(of_values) {
        let mut columns = stored.reader.columns().iter().zip(&chunk.columns);
        let found = columns.find(|(column, _)| column.name() == *name);
        let absent = found.and_then(|(column, _)| column.absent_row());
        for (row, (position, all)) in (0_u32..).zip(&mut hashes) {
            let value = found.and_then(|(_, values)| values.as_ref()?.row(row));
            let value = value.filter(|value| absent.as_deref() != Some(value));
            let value = hash(&(*position, value));
            *sum = sum.wrapping_add(value);
            *all = hash(&(*all, value));
        }
    }
    Ok(hashes.into_iter().map(|(_, all)| all).collect())
}

/// Rows whose positions are looked at together.
const ROWS: usize = 4096;

/// How many vertices of a chunk have a place in another one, further than rounding explains (trap T13).
fn displaced(stored: &Stored, chunk: &DecodedChunk) -> Result<usize, WriteError> {
    let (coord, shape) = (&chunk.coord, stored.level.chunk_shape());
    let number = NumberType::from_kind(stored.position.kind);
    let number = number.or_bug("positions of no number type")?;
    let epsilon = if number == NumberType::F16 {
        2e-3
    } else {
        1e-6
    };
    // What chunks are keyed by beside their place comes first.
    let lead = coord.len().checked_sub(shape.len());
    let lead = lead.or_bug("a chunk of fewer components than axes")?;
    let bounds = |(at, size): (&i64, &f64)| {
        #[expect(clippy::cast_precision_loss, reason = "the bounds are widened")]
        let (low, high) = (*at as f64 * size, (*at as f64 + 1.0) * size);
        let slack = epsilon * low.abs().max(high.abs());
        low - slack..=high + slack
    };
    let bounds: Vec<_> = coord.iter().skip(lead).zip(shape).map(bounds).collect();
    let mut found = 0;
    let blocks = chunk.positions.blocks();
    for rows in blocks.flat_map(|block| block.chunks(stored.position_bytes() * ROWS)) {
        for position in number.to_f64(rows).chunks_exact(bounds.len().max(1)) {
            let mut axes = position.iter().zip(&bounds);
            let away = |(value, bounds): (&f64, &std::ops::RangeInclusive<f64>)| {
                value.is_finite() && !bounds.contains(value)
            };
            found += usize::from(axes.any(away));
        }
    }
    Ok(found)
}

/// The vertices of one store by what they hold, and the sums of their hashes. `ends`: keep those of
/// fragments. `placed`: each vertex is in the chunk of its position.
fn scan(
    stored: &Stored,
    (names, ends, placed): (&[&str], bool, Option<&Pair>),
    base: Base,
) -> Result<(Vertices, Vec<u64>), WriteError> {
    let children = stored.is_tree().then(|| children(stored)).transpose()?;
    let (mut rows, mut fragments, mut kept) = (Vec::new(), Vec::new(), Ends::new());
    let (mut edges, mut sums) = ((0_u64, 0_u64), vec![0; names.len() + 1]);
    for slots in stored.batches() {
        for (slot, chunk) in stored.read(&slots)? {
            if let Some(pair) = placed {
                let away = displaced(stored, &chunk)?;
                if away > 0 {
                    let place = pair.place(format_args!("chunk {}", chunk.coord));
                    let what = format!("{away} vertices have their places in other chunks");
                    return Err(WriteError::differs(place, what));
                }
            }
            let hashes = hash_rows(stored, &chunk, names, &mut sums)?;
            let mut seen = vec![false; if children.is_some() { hashes.len() } else { 0 }];
            let mut sequences = Vec::with_capacity(index(chunk.fragments.len()));
            for (number, fragment) in (0..).zip(chunk.fragments.iter()) {
                if ends {
                    kept.extend(ends_of(slot, (number, fragment)));
                }
                let mut sequence = Sequence::EMPTY;
                let mut before: Option<u64> = None;
                for row in fragment.rows() {
                    let vertex = *hashes.get(index(row)).or_bug("a fragment of no row")?;
                    sequence.push(base, vertex);
                    if let Some(children) = &children {
                        // The lowest fragment of a row says what its parent is, unless a stored edge does.
                        let seen = seen.get_mut(index(row)).or_bug("a fragment of no row")?;
                        let first = !std::mem::replace(seen, true);
                        let implied = first && !children.contains(&(slot, row));
                        if let Some(parent) = before.filter(|_| implied) {
                            edges.0 += 1;
                            edges.1 = edges.1.wrapping_add(edge(&[vertex, parent]));
                        }
                        before = Some(vertex);
                    }
                }
                sequences.push(sequence);
            }
            rows.push(chunk.rows);
            fragments.push(sequences);
        }
    }
    let vertices = Vertices {
        rows,
        fragments: Fragments::Sequences(fragments),
        ends: kept,
        edges,
    };
    Ok((vertices, sums))
}

/// The hash of a link of vertices that are known by what they hold.
pub(super) fn edge(ends: &[u64]) -> u64 {
    hash(&ends)
}

/// The children of stored edges, by chunk and row.
fn children(stored: &Stored) -> Result<HashSet<(u32, u32)>, WriteError> {
    let mut found = HashSet::new();
    let rank = stored.level.key_rank().max(1);
    if let Some(links) = stored.level.links(0) {
        stored.each_link(links, |link| {
            let chunk = link.chunks.get(..rank).or_bug("a link without ends")?;
            if let (Some(slot), Some(&row)) = (stored.slot(chunk), link.rows.first()) {
                found.insert((slot, row));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Compares the vertices of chunks that are not the same, as multisets. `ends`: keep those of the copy's fragments.
pub(super) fn compare_rows(
    pair: &Pair,
    ends: bool,
    base: Base,
) -> Result<[Vertices; 2], WriteError> {
    let names = names(&pair.old);
    // Where shapes are the same, rows stay in the chunks that they were in.
    let placed = (!pair.same_shapes).then_some(pair);
    let (old, wanted) = scan(&pair.old, (&names, false, None), base)?;
    let (new, found) = scan(&pair.new, (&names, ends, placed), base)?;
    let [there, expected] = [&new, &old].map(count);
    if there != expected {
        let what = format!("{there} vertices, expected {expected}");
        return Err(WriteError::differs(pair.place("vertices"), what));
    }
    if let Some(at) = wanted.iter().zip(&found).position(|(a, b)| a != b) {
        let name = at.checked_sub(1).and_then(|at| names.get(at));
        let what = name.map_or_else(
            || "positions".to_owned(),
            |name| format!("attribute {name:?}"),
        );
        return Err(WriteError::differs(pair.place(what), "values differ"));
    }
    Ok([old, new])
}

/// How many vertices a store has.
pub(super) fn count(vertices: &Vertices) -> u64 {
    vertices.rows.iter().map(|rows| u64::from(*rows)).sum()
}

#[cfg(test)]
mod tests {
    use super::{Base, Sequence};

    #[test]
    fn hashes_of_parts_join() {
        let whole = |parts: &[&[u64]]| {
            let mut all = Sequence::EMPTY;
            for part in parts {
                let mut one = Sequence::EMPTY;
                part.iter()
                    .for_each(|vertex| one.push(Base(1_234_567), *vertex));
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
