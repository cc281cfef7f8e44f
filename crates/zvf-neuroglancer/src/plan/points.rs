//! The chunks, bands and spatial levels of the view of points.

use std::ops::Range;

use zvf_meta::Kind;
use zvf_query::largest_chunk;
use zvf_store::{Level, Store};

use super::grid::ChunkGrid;
use super::{need, scrambled};
use crate::error::Result;

/// Points of an average chunk in the first band.
const FIRST: u64 = 1000;

/// Largest number of points of an average chunk in one band.
const LARGEST: u64 = 1 << 16;

/// Bytes of one band of the largest chunk.
const BAND_BYTES: u64 = 3 << 20;

/// Largest number of bands of a level.
const BANDS: usize = 256;

/// Largest number of chunks whose rows are counted. Beyond it the largest chunk is assumed to have [`SKEW`] times the points of an average one.
const COUNTED: usize = 1 << 16;
const SKEW: u64 = 16;

/// One band of one level of the store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    /// The start of its scrambled numbers.
    from: u64,
    /// The end of its scrambled numbers (exclusive); `None`: unbounded.
    until: Option<u64>,
    /// Points of an average chunk.
    pub(crate) points: u64,
}

impl Band {
    /// Whether a point is in the band.
    pub(crate) fn holds(&self, id: u64) -> bool {
        let number = scrambled(id);
        number >= self.from && self.until.is_none_or(|until| number < until)
    }
}

/// Cuts chunks into bands, each as large as all bands before it, up to 3 MiB for a band of the largest chunk. `average` and `largest`
/// are points of a chunk, `row` the bytes of an annotation.
fn bands(average: u64, largest: u64, row: u64) -> Vec<Band> {
    let most = (BAND_BYTES / row.max(1)).max(1);
    // Points of an average chunk in a band that has `most` points of the largest chunk.
    let share = u128::from(most) * u128::from(average) / u128::from(largest.max(average).max(1));
    let limit = u64::try_from(share).unwrap_or(u64::MAX).clamp(1, LARGEST);
    let mut sizes = vec![FIRST.min(limit)];
    let mut sum = FIRST.min(limit);
    while sum < average && sizes.len() < BANDS {
        let next = sum.min(limit);
        sizes.push(next);
        sum = sum.saturating_add(next);
    }
    let share = |points: u64| {
        let share = u128::from(points) * (u128::from(u64::MAX) + 1) / u128::from(sum.max(1));
        u64::try_from(share).ok()
    };
    let mut found = Vec::with_capacity(sizes.len());
    let (mut start, mut from) = (0u64, 0u64);
    for points in sizes {
        start = start.saturating_add(points);
        let until = share(start);
        let points = u128::from(points) * u128::from(average.max(1)) / u128::from(sum.max(1));
        found.push(Band {
            from,
            until,
            points: u64::try_from(points).unwrap_or(u64::MAX).max(1),
        });
        from = until.unwrap_or(u64::MAX);
    }
    found
}

/// One level of the store.
#[derive(Debug)]
pub(crate) struct AnnotatedLevel {
    pub(crate) level: Level,
    pub(crate) grid: ChunkGrid,
    /// The chunk of the first cell, and the cells on each axis; `None`: all chunks are one cell.
    pub(crate) cells: Option<(Vec<i64>, Vec<u64>)>,
    pub(crate) bands: Vec<Band>,
    /// Points of the largest chunk; an estimate if they were not counted.
    pub(crate) largest: u64,
}

impl AnnotatedLevel {
    /// The chunk of a cell; `None`: all chunks are one cell.
    pub(crate) fn chunk_of(&self, cell: &[i64]) -> Option<Vec<i64>> {
        let (first, _) = self.cells.as_ref()?;
        let at = first.iter().zip(cell);
        Some(
            at.map(|(first, cell)| first.saturating_add(*cell))
                .collect(),
        )
    }

    /// Runs of bands, each with at most `most` bytes of the largest chunk, at `row` bytes for each annotation; a run has at least one band.
    pub(crate) fn runs(&self, row: u64, most: u64) -> Vec<Range<usize>> {
        let all: u64 = self.bands.iter().map(|band| band.points).sum();
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut room = 0;
        for (number, band) in self.bands.iter().enumerate() {
            let points =
                u128::from(band.points) * u128::from(self.largest) / u128::from(all.max(1));
            let bytes = u64::try_from(points)
                .unwrap_or(u64::MAX)
                .saturating_mul(row);
            match found.last_mut() {
                Some(run) if bytes <= room => run.end = number.saturating_add(1),
                _ => {
                    room = most;
                    found.push(number..number.saturating_add(1));
                }
            }
            room = room.saturating_sub(bytes);
        }
        found
    }
}

/// The plan of the view of points.
#[derive(Debug)]
pub(crate) struct PointsPlan {
    /// Levels of the store, coarse to fine.
    pub(crate) sources: Vec<AnnotatedLevel>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) has_objects: bool,
    /// Bytes of an annotation in a list, with its id.
    pub(crate) row: u64,
}

impl PointsPlan {
    /// Reads the documents of the levels.
    ///
    /// # Errors
    /// The errors of the store.
    ///
    /// # Cost
    /// Reads the fragment index of every chunk, for point clouds and levels of up to 65 536 chunks.
    pub(crate) async fn read(store: &Store, dims: usize, row: u64) -> Result<Self> {
        let mut levels = Vec::new();
        for number in chain(store).await? {
            let level = store.level(number, &need()).await?;
            if let Some(grid) = ChunkGrid::of(&level)? {
                levels.push((level, grid));
            }
        }
        levels.reverse();
        let has_objects = levels
            .iter()
            .any(|(level, _)| level.object_index().is_some());
        let mut lower = vec![f64::INFINITY; dims];
        let mut upper = vec![f64::NEG_INFINITY; dims];
        for (_, grid) in &levels {
            for (lower, found) in lower.iter_mut().zip(grid.lower()) {
                *lower = lower.min(found);
            }
            for (upper, found) in upper.iter_mut().zip(grid.upper()) {
                *upper = upper.max(found);
            }
        }
        if levels.is_empty() {
            (lower, upper) = (vec![0.0; dims], vec![1.0; dims]);
        }
        let mut sources = Vec::with_capacity(levels.len());
        for (level, grid) in levels {
            let count = level.vertices().presence().len();
            let chunks = u64::try_from(count).unwrap_or(u64::MAX);
            let average = level.doc().vertex_count.checked_div(chunks).unwrap_or(0);
            let counted = match store.kind() == Kind::PointCloud && count <= COUNTED {
                true => largest_chunk(&level).await?,
                false => None,
            };
            let largest = counted.unwrap_or(average.saturating_mul(SKEW));
            let cells = grid.chunk_at(&lower).and_then(|first| {
                let mut shape = Vec::with_capacity(first.len());
                for ((first, at), cells) in first.iter().zip(&grid.first).zip(&grid.shape) {
                    let before = u64::try_from(at.checked_sub(*first)?).ok()?;
                    shape.push(before.checked_add(*cells)?);
                }
                Some((first, shape))
            });
            sources.push(AnnotatedLevel {
                level,
                grid,
                cells,
                bands: bands(average, largest, row),
                largest,
            });
        }
        Ok(Self {
            sources,
            row,
            lower,
            upper,
            has_objects,
        })
    }

    /// The corners of the bounding box of all points.
    pub(crate) fn corners(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    /// The source and the band of a spatial level.
    pub(crate) fn spatial(&self, wanted: u64) -> Option<(usize, &AnnotatedLevel, Band)> {
        let mut all = self
            .sources
            .iter()
            .enumerate()
            .flat_map(|(number, source)| {
                let bands = source.bands.iter();
                bands.map(move |band| (number, source, *band))
            });
        all.nth(usize::try_from(wanted).ok()?)
    }
}

/// Level 0 and the levels that complete it, fine to coarse.
async fn chain(store: &Store) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for &number in store.levels() {
        found.push(number);
        let level = store.level(number, &need()).await?;
        if level.doc().refinement == zvf_meta::Refinement::Replace {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_every_number_once() {
        for average in [0, 1, 999, 1001, 50_000, 3_000_000, u64::MAX / 2] {
            let bands = bands(average, average, 20);
            assert!(bands.len() <= BANDS);
            assert_eq!(bands.first().map(|band| band.from), Some(0));
            assert_eq!(bands.last().map(|band| band.until), Some(None));
            for pair in bands.windows(2) {
                assert_eq!(pair[0].until, Some(pair[1].from));
            }
            for id in 0..1000 {
                assert_eq!(bands.iter().filter(|band| band.holds(id)).count(), 1);
            }
        }
        assert_eq!(bands(900, 900, 20).len(), 1);
        assert_eq!(bands(4000, 4000, 20).len(), 3);
    }

    #[test]
    fn bands_of_the_largest_chunk_have_three_mebibytes() {
        for (average, largest, row) in [
            (4300, 450_000, 20),
            (400, 4_000_000, 60),
            (65_536, 65_536, 2000),
        ] {
            let bands = bands(average, largest, row);
            let all: u64 = bands.iter().map(|band| band.points).sum();
            for band in &bands {
                let points = band.points * largest / all;
                assert!(
                    points * row <= BAND_BYTES * 5 / 4,
                    "{points} of {largest}, {row} bytes"
                );
            }
        }
    }
}
