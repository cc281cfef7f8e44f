//! Batches of chains; long chains are divided into pieces.

use super::paged::{PagedReader, PagedRecords};
use super::points::PointVertex;
use zvf_encode::WriteError;

/// Most vertices of one chain that are simplified together. The ends of a piece are kept, so that chains of any length need limited memory. The
/// length does not depend on the memory budget, so that levels do not depend on it either.
const LONGEST: usize = 1 << 16;
/// Vertices that are passed to a thread together.
const MANY: usize = 1 << 13;

/// Some consecutive chains.
#[derive(Debug, Default)]
pub(super) struct ChainRun {
    positions: Vec<f64>,
    /// For each chain the number of its first vertex, and the number of its vertices here.
    chains: Vec<(u32, usize)>,
}

impl ChainRun {
    /// For each chain the number of its first vertex, and its positions.
    pub(super) fn lines(&self, dims: usize) -> impl Iterator<Item = (u32, Vec<&[f64]>)> {
        let mut rows = self.positions.chunks_exact(dims.max(1));
        let chains = self.chains.iter();
        chains.map(move |&(first, count)| (first, rows.by_ref().take(count).collect()))
    }
}

/// All chains of a level.
#[derive(Debug)]
pub(super) struct ChainRuns<'s> {
    records: PagedReader<'s>,
    dims: usize,
    /// The number of the next vertex.
    next: u32,
    /// The last vertex of a piece inside a chain: the next piece begins with it.
    last: Option<PointVertex>,
}

impl<'s> ChainRuns<'s> {
    pub(super) fn new(vertices: &'s PagedRecords, dims: usize) -> Self {
        Self {
            records: vertices.records(),
            dims,
            next: 0,
            last: None,
        }
    }

    fn piece(&mut self) -> Result<Option<ChainRun>, WriteError> {
        let mut piece = ChainRun::default();
        let mut count = 0_usize;
        let mut owner = None;
        if let Some(last) = self.last.take() {
            owner = Some(last.object);
            piece.take(&last, self.dims);
            piece.chains.push((self.next - 1, 1));
            count = 1;
        }
        while let Some(record) = self.records.peek()? {
            let point = PointVertex::take(&mut &*record, self.dims)?;
            let same = owner == Some(point.object);
            if !same && count >= MANY {
                break;
            }
            let length = piece.chains.last().map_or(0, |(_, count)| *count);
            if same && length >= LONGEST {
                self.last = piece.last(owner, self.dims);
                break;
            }
            piece.take(&point, self.dims);
            match piece.chains.last_mut().filter(|_| same) {
                Some((_, count)) => *count += 1,
                None => piece.chains.push((self.next, 1)),
            }
            owner = Some(point.object);
            count += 1;
            self.next += 1;
            self.records.next();
        }
        Ok((count > 0).then_some(piece))
    }
}

impl ChainRun {
    fn take(&mut self, point: &PointVertex, dims: usize) {
        self.positions.extend_from_slice(point.axes(dims));
    }

    /// The last vertex of the run.
    fn last(&self, owner: Option<u32>, dims: usize) -> Option<PointVertex> {
        let mut position = [0.0; crate::bin::MOST_AXES];
        let start = self.positions.len().checked_sub(dims)?;
        let axes = self.positions.get(start..)?;
        position
            .iter_mut()
            .zip(axes)
            .for_each(|(to, from)| *to = *from);
        Some(PointVertex {
            place: 0,
            object: owner?,
            position,
        })
    }
}

impl Iterator for ChainRuns<'_> {
    type Item = Result<ChainRun, WriteError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.piece().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{ChainRuns, LONGEST, MANY};
    use crate::bin::Means;
    use crate::density::paged::{MemoryContext, PagedRecords};
    use crate::density::points::PointVertex;
    use crate::meter::Meter;

    #[test]
    fn pieces_of_a_long_chain_share_their_ends() {
        let folder = std::env::temp_dir();
        let means = Means {
            budget: 1 << 16,
            threads: 1,
            folder: &folder,
        };
        let context = MemoryContext {
            means,
            meter: Meter::default(),
        };
        let mut paged = PagedRecords::new(PointVertex::size(1), &context);
        let lengths = [1, MANY, 3, 2 * LONGEST + 5, 2, 0, 7];
        let mut record = Vec::new();
        let mut number = 0;
        for (object, length) in (0..).zip(lengths) {
            for _ in 0..length {
                record.clear();
                let position = [f64::from(number), 0.0, 0.0, 0.0];
                PointVertex {
                    place: number,
                    object,
                    position,
                }
                .write(1, &mut record);
                paged.push(&record).unwrap();
                number += 1;
            }
        }
        let mut found = Vec::new();
        for piece in ChainRuns::new(&paged, 1) {
            for (first, line) in piece.unwrap().lines(1) {
                for (at, position) in (first..).zip(&line) {
                    assert_eq!(position, &[f64::from(at)]);
                }
                found.push((first as usize, line.len()));
            }
        }
        let long = MANY + 4;
        assert_eq!(
            found,
            [
                (0, 1),
                (1, MANY),
                (1 + MANY, 3),
                (long, LONGEST),
                (long + LONGEST - 1, LONGEST),
                (long + 2 * LONGEST - 2, 7),
                (long + 2 * LONGEST + 5, 2),
                (long + 2 * LONGEST + 7, 7),
            ]
        );
    }
}
