//! Finds the elements of a volume that have certain labels, as runs of consecutive elements.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use futures::future::BoxFuture;
use zvf_format::dtype::{ByteOrder, DType, DTypeKind};
use zvf_format::int::wide;
use zvf_grid::{Axis, MAX_RANK, Selection};

use crate::element::number;
use crate::{AxisUse, Volume, VolumeError, VolumeFormat};

/// Bytes that one read takes, unless a chunk is larger.
const WINDOW: u64 = 64 << 20;

/// Size in bytes of the largest chunk that is read as a whole; larger chunks are read in parts.
const LARGEST: u64 = 256 << 20;

/// Maximum number of labels in a message.
const LISTED: usize = 20;

/// First element and number of elements, in C order over the axes of space.
type ElementRun = (u64, u64);

impl Volume {
    /// Returns the elements that have one of the `labels`, given as ranges; without labels, the elements that are not 0. The result is a list of
    /// ascending, separate runs (first element, count), numbered in C order over the axes of space. NaN and fractional numbers are not labels.
    ///
    /// # Cost
    ///
    /// Every chunk is read once, 64 MiB at a time; chunks above 256 MiB in parts. Memory: sixteen bytes for each run, at most for four times `most`
    /// runs.
    ///
    /// # Errors
    ///
    /// Misuse: elements that are not numbers; no element with a label of one of the ranges; only zeros; `axes` that do not fit the volume. Limit: more
    /// than `most` runs. As [`read`](Self::read).
    pub fn runs_of_labels<'a>(
        &'a self,
        axes: &'a [AxisUse],
        labels: &'a [RangeInclusive<i64>],
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<ElementRun>, VolumeError>> {
        Box::pin(async move {
            let info = self.info();
            let Some(dtype) = info.element.number else {
                let text = &info.element.text;
                return Err(VolumeError::misuse(format!(
                    "elements {text}: only numbers are labels"
                )));
            };
            if axes.len() != info.shape.len() {
                return Err(VolumeError::misuse(
                    "axis uses that do not match the axes of the volume",
                ));
            }
            let extents = of_space(axes, info.shape.iter());
            if extents.is_empty() {
                return Err(VolumeError::misuse(
                    "found no axis of space, expected one at least",
                ));
            }
            let count = extents
                .iter()
                .try_fold(1_u64, |all, one| all.checked_mul(*one));
            if count.is_none() {
                return Err(VolumeError::misuse("more elements than can be counted"));
            }
            let mut window = of_space(axes, info.chunk.iter());
            let forward = matches!(info.form, VolumeFormat::Nifti | VolumeFormat::Mgh);
            fit(&mut window, &extents, dtype.size(), forward);
            let mut found = LabelRuns::new(labels, dtype, most);
            let mut low = vec![0_u64; extents.len()];
            loop {
                let ends = low.iter().zip(&window).zip(&extents);
                let high: Vec<u64> = ends
                    .map(|((low, window), extent)| low.saturating_add(*window).min(*extent))
                    .collect();
                if low.iter().zip(&high).all(|(low, high)| low < high) {
                    let mut space = low.iter().zip(&high);
                    let mut selected = Vec::with_capacity(axes.len());
                    for one in axes {
                        selected.push(match one {
                            AxisUse::Index(index) => Axis::at(*index),
                            AxisUse::Space => {
                                let (low, high) = space.next().ok_or_else(|| {
                                    VolumeError::bug("fewer axes of space than before")
                                })?;
                                Axis::new(*low, *high, 1)
                            }
                        });
                    }
                    let selection = Selection::new(&selected, &info.shape)?;
                    let (bytes, _) = self.read(&selection).await?;
                    found.take(&bytes, (&low, &high), &extents)?;
                }
                // Advances to the next window, the last axis first.
                let mut axis = low.len();
                loop {
                    let Some(before) = axis.checked_sub(1) else {
                        return found.finish();
                    };
                    axis = before;
                    if let (Some(at), Some(end), Some(extent)) =
                        (low.get_mut(axis), high.get(axis), extents.get(axis))
                    {
                        if end < extent {
                            *at = *end;
                            break;
                        }
                        *at = 0;
                    }
                }
            }
        })
    }
}

/// Those of the `numbers`, one per axis, that belong to axes of space.
fn of_space<'n>(axes: &[AxisUse], numbers: impl Iterator<Item = &'n u64>) -> Vec<u64> {
    let pairs = axes.iter().zip(numbers);
    let space = pairs.filter(|(one, _)| **one == AxisUse::Space);
    space.map(|(_, number)| *number).collect()
}

/// Enlarges or reduces the extents of a chunk to a window of about [`WINDOW`] bytes; `size` is the number of bytes of an element. With `forward`,
/// neighbours along the first axis are adjacent in the file, so windows are enlarged along the first axes first.
fn fit(window: &mut [u64], extents: &[u64], size: usize, forward: bool) {
    let size = wide(size).max(1);
    for (window, extent) in window.iter_mut().zip(extents) {
        *window = (*window).clamp(1, (*extent).max(1));
    }
    let bytes = |window: &[u64]| {
        window
            .iter()
            .fold(size, |all, one| all.saturating_mul(*one))
    };
    while bytes(window) > LARGEST {
        let Some(longest) = window.iter_mut().max() else {
            return;
        };
        *longest = longest.div_ceil(2);
    }
    let mut order: Vec<usize> = (0..window.len()).collect();
    if !forward {
        order.reverse();
    }
    for axis in order {
        let times = (WINDOW / bytes(window)).max(1);
        if let (Some(window), Some(extent)) = (window.get_mut(axis), extents.get(axis)) {
            *window = window.saturating_mul(times).min((*extent).max(1));
        }
    }
}

/// Collects the runs of elements.
struct LabelRuns {
    /// The given ranges, ascending; if empty, all labels except 0.
    labels: Vec<RangeInclusive<i64>>,
    /// The disjoint [parts](parts()) of the ranges, ascending, and whether an element with a label in the part was found.
    parts: Vec<(RangeInclusive<i64>, bool)>,
    /// Some labels that were found, for error messages.
    others: BTreeSet<i64>,
    dtype: DType,
    runs: Vec<ElementRun>,
    most: usize,
}

impl LabelRuns {
    fn new(labels: &[RangeInclusive<i64>], dtype: DType, most: usize) -> Self {
        let mut labels = labels.to_vec();
        labels.sort_unstable_by_key(|range| (*range.start(), *range.end()));
        labels.dedup();
        Self {
            parts: parts(&labels),
            labels,
            others: BTreeSet::new(),
            dtype,
            runs: Vec::new(),
            most,
        }
    }

    /// Adds the elements of a box.
    fn take(
        &mut self,
        bytes: &[u8],
        (low, high): (&[u64], &[u64]),
        extents: &[u64],
    ) -> Result<(), VolumeError> {
        let size = self.dtype.size().max(1);
        let (Some((first, rest)), Some(last)) = (low.split_last(), high.last()) else {
            return Err(VolumeError::bug("a window without axes"));
        };
        let width = usize::try_from(last - first)
            .map_err(|_| VolumeError::bug("a row longer than memory"))?;
        let mut at = [0; MAX_RANK];
        at.iter_mut().zip(rest).for_each(|(at, low)| *at = *low);
        for row in bytes.chunks_exact(width.saturating_mul(size)) {
            let places = at.iter().take(rest.len()).chain([first]);
            let start = places
                .zip(extents)
                .fold(0, |all: u64, (at, extent)| all * extent + at);
            self.row(row, size, start)?;
            for axis in (0..rest.len()).rev() {
                at[axis] += 1;
                if high.get(axis).is_some_and(|high| at[axis] < *high) {
                    break;
                }
                let Some(low) = low.get(axis) else {
                    return Err(VolumeError::bug("a window of fewer axes than before"));
                };
                at[axis] = *low;
            }
        }
        Ok(())
    }

    /// Adds adjacent elements.
    fn row(&mut self, row: &[u8], size: usize, start: u64) -> Result<(), VolumeError> {
        let mut at = start;
        // Most neighbouring elements are equal.
        for same in row.chunk_by_size(size) {
            let count = wide(same.len() / size);
            if self.belongs(same.get(..size).unwrap_or(same)) {
                match self.runs.last_mut() {
                    Some((first, length)) if *first + *length == at => *length += count,
                    _ => self.runs.push((at, count)),
                }
            }
            at += count;
        }
        if self.runs.len() > self.most.saturating_mul(4) {
            self.join();
            if self.runs.len() > self.most.saturating_mul(4) {
                return Err(self.too_many());
            }
        }
        Ok(())
    }

    /// Whether an element has a wanted label.
    fn belongs(&mut self, element: &[u8]) -> bool {
        let label = whole(self.dtype, element);
        if let Some(label) = label.filter(|_| self.others.len() <= LISTED) {
            self.others.insert(label);
        }
        if self.labels.is_empty() {
            let value = number(self.dtype, element);
            return value != 0.0 && !value.is_nan();
        }
        let Some(label) = label else {
            return false;
        };
        let at = self.parts.partition_point(|(part, _)| *part.end() < label);
        let part = self.parts.get_mut(at);
        let part = part.filter(|(part, _)| part.contains(&label));
        part.map(|(_, seen)| *seen = true).is_some()
    }

    /// Whether an element has a label of a given range.
    fn has_one_of(&self, range: &RangeInclusive<i64>) -> bool {
        let before = |part: &RangeInclusive<i64>| part.start() < range.start();
        let first = self.parts.partition_point(|(part, _)| before(part));
        let parts = self.parts.iter().skip(first);
        let mut parts = parts.take_while(|(part, _)| part.start() <= range.end());
        parts.any(|(_, seen)| *seen)
    }

    /// Sorts the runs and joins adjacent ones.
    fn join(&mut self) {
        self.runs.sort_unstable();
        self.runs.dedup_by(|next, before| {
            let meets = before.0 + before.1 == next.0;
            before.1 += if meets { next.1 } else { 0 };
            meets
        });
    }

    fn too_many(&self) -> VolumeError {
        let bytes = |runs: usize| wide(runs.saturating_mul(size_of::<ElementRun>()));
        VolumeError::Limit {
            what: "runs of neighbouring elements with these labels (a coarser level of the image has fewer)".to_owned(),
            found: bytes(self.runs.len()),
            limit: bytes(self.most),
        }
    }

    fn finish(mut self) -> Result<Vec<ElementRun>, VolumeError> {
        let missing = self.labels.iter().filter(|range| !self.has_one_of(range));
        let missing: Vec<String> = missing
            .map(|range| match range.start() == range.end() {
                true => range.start().to_string(),
                false => format!("{}-{}", range.start(), range.end()),
            })
            .take(LISTED)
            .collect();
        if !missing.is_empty() {
            let others: Vec<String> = self.others.iter().map(ToString::to_string).collect();
            let mut there = others.get(..LISTED).unwrap_or(&others).join(", ");
            if others.len() > LISTED {
                there.push_str(", others");
            }
            if others.is_empty() {
                "no other whole numbers below 2^63".clone_into(&mut there);
            }
            return Err(VolumeError::misuse(format!(
                "labels: no element is {}; there are {there}",
                missing.join(", ")
            )));
        }
        self.join();
        if self.runs.len() > self.most {
            return Err(self.too_many());
        }
        match self.runs.is_empty() {
            true => Err(VolumeError::misuse("no element is other than 0")),
            false => Ok(self.runs),
        }
    }
}

/// Divides the ranges into disjoint parts, ascending, so that each range is a union of parts.
fn parts(ranges: &[RangeInclusive<i64>]) -> Vec<(RangeInclusive<i64>, bool)> {
    // For each label: the number of ranges that contain it, minus the number that contain the label before it.
    let mut changes = BTreeMap::<i64, i64>::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        *changes.entry(*range.start()).or_default() += 1;
        if let Some(after) = range.end().checked_add(1) {
            *changes.entry(after).or_default() -= 1;
        }
    }
    let ends = changes.keys().skip(1).map(|next| next - 1);
    let mut open = 0;
    let mut parts = Vec::with_capacity(changes.len());
    for ((first, change), last) in changes.iter().zip(ends.chain([i64::MAX])) {
        open += change;
        if open > 0 {
            parts.push((*first..=last, false));
        }
    }
    parts
}

/// Cuts bytes into runs of equal elements.
trait EqualElements {
    fn chunk_by_size(&self, size: usize) -> impl Iterator<Item = &[u8]>;
}

impl EqualElements for [u8] {
    fn chunk_by_size(&self, size: usize) -> impl Iterator<Item = &[u8]> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let first = rest.get(..size).filter(|first| !first.is_empty())?;
            let same = rest
                .chunks_exact(size)
                .take_while(|one| *one == first)
                .count();
            let (run, after) = rest.split_at_checked(same * size)?;
            rest = after;
            Some(run)
        })
    }
}

/// The value of an element, if it is a whole number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the value is whole and between -2^63 and 2^63"
)]
fn whole(dtype: DType, element: &[u8]) -> Option<i64> {
    let eight = || {
        let mut bytes: [u8; 8] = *element.first_chunk()?;
        if dtype.order == ByteOrder::Big {
            bytes.reverse();
        }
        Some(bytes)
    };
    match dtype.kind {
        DTypeKind::I64 => Some(i64::from_le_bytes(eight()?)),
        DTypeKind::U64 => i64::try_from(u64::from_le_bytes(eight()?)).ok(),
        _ => {
            let value = number(dtype, element);
            let end = -(i64::MIN as f64);
            (value.fract() == 0.0 && -end <= value && value < end).then_some(value as i64)
        }
    }
}
