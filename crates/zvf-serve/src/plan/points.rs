//! Which chunks, bands and spatial levels show the points of a store.

use zvf_store::{Level, Store};

use super::grid::ChunkGrid;
use super::{need, scrambled};
use crate::refusal::Answer;

/// Points of an average chunk in the first band.
const FIRST: u64 = 1000;

/// Most points of an average chunk in one band.
const LARGEST: u64 = 1 << 16;

/// Most bands of a level.
const BANDS: usize = 32;

/// One band of one level of the store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Band {
    /// Scrambled numbers of its points.
    from: u64,
    /// The number behind its last one; `None`: no number is.
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

/// Cuts chunks of `average` points into bands that double until they are large.
fn bands(average: u64) -> Vec<Band> {
    let mut sizes = vec![FIRST];
    let mut sum = FIRST;
    while sum < average && sizes.len() < BANDS {
        let next = sum.min(LARGEST);
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
pub(crate) struct Source {
    pub(crate) level: Level,
    pub(crate) grid: ChunkGrid,
    /// The chunk of the first cell, and the cells on each axis; `None`: all chunks are one cell.
    pub(crate) cells: Option<(Vec<i64>, Vec<u64>)>,
    pub(crate) bands: Vec<Band>,
}

/// How the points of a store are shown.
#[derive(Debug)]
pub(crate) struct PointsPlan {
    /// Levels of the store, coarse to fine.
    pub(crate) sources: Vec<Source>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) has_objects: bool,
}

impl PointsPlan {
    /// Reads the documents of the levels.
    ///
    /// # Errors
    /// As the store says.
    pub(crate) async fn read(store: &Store, dims: usize) -> Answer<Self> {
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
        let sources = levels.into_iter().map(|(level, grid)| {
            let chunks = u64::try_from(level.vertices().presence().len()).unwrap_or(u64::MAX);
            let average = level.doc().vertex_count.checked_div(chunks).unwrap_or(0);
            let cells = grid.chunk_at(&lower).and_then(|first| {
                let mut shape = Vec::with_capacity(first.len());
                for ((first, at), cells) in first.iter().zip(&grid.first).zip(&grid.shape) {
                    let before = u64::try_from(at.checked_sub(*first)?).ok()?;
                    shape.push(before.checked_add(*cells)?);
                }
                Some((first, shape))
            });
            Source {
                level,
                grid,
                cells,
                bands: bands(average),
            }
        });
        Ok(Self {
            sources: sources.collect(),
            lower,
            upper,
            has_objects,
        })
    }

    /// The corners of the space of all points.
    pub(crate) fn corners(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    /// The source and the band of a spatial level.
    pub(crate) fn spatial(&self, wanted: u64) -> Option<(usize, &Source, Band)> {
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
async fn chain(store: &Store) -> Answer<Vec<u32>> {
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
            let bands = bands(average);
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
        assert_eq!(bands(900).len(), 1);
        assert_eq!(bands(4000).len(), 3);
    }
}
