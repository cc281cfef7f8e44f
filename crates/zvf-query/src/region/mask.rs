//! Masks: regions of volume elements, as runs along the last axis of the volume.
//!
//! A position belongs to the element whose voxel contains it ([`element_at`]), as in samples of the nearest element. Volumes have up to three axes;
//! here all have three, with leading axes of extent 1.

use std::fmt;

use zvf_store::format::int;
use zvf_store::meta::{Affine, element_at};

use super::Overlap;
use super::cursor::{LARGEST, written, written_name};

/// Most elements of the volume of a mask.
pub(super) const MOST_ELEMENTS: u64 = 1 << 40;

/// Most runs of neighbouring elements, in the order of the volume.
pub(super) const MOST_RUNS: usize = 1 << 22;

/// Most rows along the last axis of the box around the elements of a mask.
const MOST_ROWS: u64 = 1 << 24;

/// Largest error, in elements, of a map followed by its inverse, at the corners of the volume.
const MOST_ERROR: f64 = 1e-4;

/// Fraction of an element by which blocks are enlarged to allow for rounding.
const SLACK: f64 = 1e-2;

/// An element of the volume.
type Element = [u64; 3];

/// A box of positions: the lower and upper end by axis.
pub(super) type Block = [(f64, f64); 3];

/// The elements of a volume in the mask, with the map to positions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mask {
    /// The axes of the store for the results of the map.
    axes: Vec<String>,
    /// Extents of the volume, one for each axis.
    shape: Vec<u64>,
    /// The map from elements to positions, both with three axes.
    to_world: Affine,
    to_element: Affine,
    /// Whether the axes of the volume differ from the axes of the store.
    is_skew: bool,
    extents: Element,
    /// First and last element of the box around the mask.
    low: Element,
    high: Element,
    /// The first run of each row of this box in `runs`, and the end.
    starts: Vec<u32>,
    /// First and last element along the last axis, rising within a row.
    runs: Vec<[u32; 2]>,
}

/// Converts a number of rows to `usize`.
fn counted(count: u64) -> Result<usize, String> {
    usize::try_from(count).map_err(|_| format!("found {count} rows, more than memory can hold"))
}

impl Mask {
    /// A mask with an axis for each number of `shape`. `to_world` maps elements to positions on `axes` of the store. Each run is its first element
    /// and the number of consecutive elements, with the last axis of the volume fastest.
    ///
    /// # Errors
    ///
    /// A message: not one to three axes, a repeated axis, no elements or too many, runs that are not ascending or leave the volume, a map without a
    /// usable inverse.
    pub(super) fn new(
        axes: Vec<String>,
        shape: Vec<u64>,
        to_world: &Affine,
        runs: &[(u64, u64)],
    ) -> Result<Self, String> {
        let rank = shape.len();
        if !(1..=3).contains(&rank) || axes.len() != rank || to_world.rank() != rank {
            return Err(format!(
                "found a volume of {rank} axes, {} names and a map of {} axes, expected as many of each, at most 3",
                axes.len(),
                to_world.rank()
            ));
        }
        if let Some(twice) = (1..rank).find_map(|at| {
            let (before, rest) = axes.split_at_checked(at)?;
            rest.first().filter(|name| before.contains(name))
        }) {
            return Err(format!("found the axis {twice:?} twice, expected it once"));
        }
        let pad = 3 - rank;
        let mut extents = [1; 3];
        for (slot, extent) in extents.iter_mut().skip(pad).zip(&shape) {
            *slot = *extent;
        }
        let count = extents
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(*one));
        let count = count.filter(|count| (1..=MOST_ELEMENTS).contains(count));
        let is_long = u32::try_from(extents[2]).is_err();
        let Some(count) = count.filter(|_| !is_long) else {
            return Err(format!(
                "found a volume of {}, expected 1 to {MOST_ELEMENTS} elements, and at most {} along its last axis: a coarser level of the image may do",
                by_extents(&shape),
                u32::MAX
            ));
        };
        if runs.len() > MOST_RUNS {
            return Err(format!(
                "found {} runs of neighbouring elements, expected at most {MOST_RUNS}: a coarser level of the image may do",
                runs.len()
            ));
        }
        let places: Vec<usize> = (pad..3).collect();
        let to_world = to_world.embedded(&places, 3);
        let numbers = to_world.rows();
        let mut numbers = numbers.iter().flatten();
        if numbers.any(|one| !one.is_finite() || one.abs() > LARGEST) {
            return Err(
                "found a number in the affine that is not finite or above 1e100".to_owned(),
            );
        }
        let to_element = to_world.inverse().map_err(|error| error.what)?;
        check_inverse(&to_world, &to_element, extents)?;
        let is_skew =
            (0..3).any(|row| (0..3).filter(|at| to_element.at(row, *at) != 0.0).count() > 1);
        let mut mask = Self {
            axes,
            shape,
            to_world,
            to_element,
            is_skew,
            extents,
            low: [u64::MAX; 3],
            high: [0; 3],
            starts: Vec::new(),
            runs: Vec::new(),
        };
        mask.index(runs, count)?;
        Ok(mask)
    }

    /// Splits runs at the ends of rows.
    fn index(&mut self, runs: &[(u64, u64)], count: u64) -> Result<(), String> {
        let [_, rows, columns] = self.extents;
        let place = |at: u64| [at / columns / rows, at / columns % rows, at % columns];
        let mut next = 0;
        for (first, length) in runs {
            let end = first.checked_add(*length).filter(|end| *end <= count);
            let Some(end) = end.filter(|_| *first >= next && *length > 0) else {
                return Err(format!(
                    "found a run of {length} elements at {first}, expected one that begins at {next} or later and ends at {count} or before"
                ));
            };
            next = end;
            let (a, b) = (place(*first), place(end - 1));
            // A run over several rows or planes covers all columns or rows of the box.
            let from = match (a[0] == b[0], a[1] == b[1]) {
                (true, true) => a,
                (true, false) => [a[0], a[1], 0],
                (false, _) => [a[0], 0, 0],
            };
            let until = match (a[0] == b[0], a[1] == b[1]) {
                (true, true) => b,
                (true, false) => [b[0], b[1], columns - 1],
                (false, _) => [b[0], rows - 1, columns - 1],
            };
            for axis in 0..3 {
                self.low[axis] = self.low[axis].min(from[axis]);
                self.high[axis] = self.high[axis].max(until[axis]);
            }
        }
        if runs.is_empty() {
            return Err("found no element that belongs to it, expected at least one".to_owned());
        }
        let height = self.high[1] - self.low[1] + 1;
        let all = (self.high[0] - self.low[0] + 1).saturating_mul(height);
        if all > MOST_ROWS {
            return Err(format!(
                "found {all} rows in the box around its elements, expected at most {MOST_ROWS}: a coarser level of the image may do"
            ));
        }
        let mut done = 0;
        self.starts = Vec::with_capacity(counted(all.saturating_add(1))?);
        for (first, length) in runs {
            let (mut at, end) = (*first, first + length);
            while at < end {
                let [plane, row, column] = place(at);
                let number = (plane - self.low[0]) * height + row - self.low[1];
                // A row without a run begins where the next row begins.
                while done <= number {
                    self.starts.push(self.position()?);
                    done += 1;
                }
                let last = (column + (end - at)).min(columns) - 1;
                let ends = [column, last].map(u32::try_from);
                let [Ok(column), Ok(last)] = ends else {
                    return Err("found a row that is too long".to_owned());
                };
                at += u64::from(last - column) + 1;
                let begun = self.starts.last().map_or(0, |start| int::index(*start));
                let own = self.runs.get_mut(begun..).unwrap_or_default();
                match own.last_mut() {
                    // The next run begins where the previous one ends.
                    Some(before) if before[1].checked_add(1) == Some(column) => before[1] = last,
                    _ => self.runs.push([column, last]),
                }
            }
        }
        while done <= all {
            self.starts.push(self.position()?);
            done += 1;
        }
        Ok(())
    }

    /// Number of runs so far.
    fn position(&self) -> Result<u32, String> {
        u32::try_from(self.runs.len()).map_err(|_| "found too many runs".to_owned())
    }

    /// The axes of the store for positions, each with its index among the three.
    pub(super) fn axes(&self) -> impl Iterator<Item = (usize, &str)> {
        let pad = 3 - self.axes.len();
        self.axes
            .iter()
            .enumerate()
            .map(move |(at, name)| (at + pad, name.as_str()))
    }

    /// Whether a position is in the voxel of an element of the mask.
    pub(super) fn covers(&self, position: [f64; 3]) -> bool {
        let mut place = [0.0; 3];
        self.to_element.apply(&position, &mut place);
        let mut element = [0; 3];
        for axis in 0..3 {
            match element_at(place[axis], self.extents[axis]) {
                Some(at) => element[axis] = at,
                None => return false,
            }
        }
        let within = |axis: usize| (self.low[axis]..=self.high[axis]).contains(&element[axis]);
        (0..3).all(within)
            && self.row(element[0], element[1]).is_some_and(|runs| {
                first_run(runs, element[2]).is_some_and(|run| u64::from(run[0]) <= element[2])
            })
    }

    /// The runs of a row in the box.
    fn row(&self, plane: u64, row: u64) -> Option<&[[u32; 2]]> {
        let height = self.high[1] - self.low[1] + 1;
        let number = (plane - self.low[0]) * height + row - self.low[1];
        let number = usize::try_from(number).ok()?;
        let ends = self.starts.get(number..number.checked_add(2)?)?;
        let [start, end] = ends else { return None };
        self.runs.get(int::index(*start)..int::index(*end))
    }

    /// The overlap with a block, which may be infinite. If the axes of the volume differ from the axes of the store, blocks whose border is closer to
    /// a voxel's border than a hundredth of a voxel are also `Crosses`.
    pub(super) fn overlap(&self, block: &Block) -> Overlap {
        // Rounding is monotonic, so all positions of the block are between these.
        let spans = span(&self.to_element, block);
        let (mut low, mut high, mut whole) = ([0; 3], [0; 3], true);
        for axis in 0..3 {
            let (least, most) = spans[axis];
            let extent = self.extents[axis];
            let ends = (element_at(least, extent), element_at(most, extent));
            whole &= ends.0.is_some() && ends.1.is_some();
            // An end outside of the volume is clamped to the border, unless the whole block is outside.
            (low[axis], high[axis]) = match ends {
                (Some(low), Some(high)) => (low, high),
                (Some(low), None) => (low, extent - 1),
                (None, Some(high)) => (0, high),
                (None, None) if least < 0.0 && most > 0.0 => (0, extent - 1),
                (None, None) => return Overlap::Outside,
            };
        }
        let within = |axis: usize| self.low[axis] <= low[axis] && high[axis] <= self.high[axis];
        if whole && (0..3).all(within) && self.has_all(low, high) {
            return Overlap::Inside;
        }
        for axis in 0..3 {
            low[axis] = low[axis].max(self.low[axis]);
            high[axis] = high[axis].min(self.high[axis]);
            if low[axis] > high[axis] {
                return Overlap::Outside;
            }
        }
        match self.meets(low, high, block) {
            true => Overlap::Crosses,
            false => Overlap::Outside,
        }
    }

    /// Whether all elements of a box are in the mask; the box is inside the box around the mask.
    fn has_all(&self, low: Element, high: Element) -> bool {
        let mut rows =
            (low[0]..=high[0]).flat_map(|plane| (low[1]..=high[1]).map(move |row| (plane, row)));
        rows.all(|(plane, row)| {
            let run = self
                .row(plane, row)
                .and_then(|runs| first_run(runs, low[2]));
            run.is_some_and(|run| u64::from(run[0]) <= low[2] && high[2] <= u64::from(run[1]))
        })
    }

    /// Whether the voxel of an element of the mask in a box intersects `block`; the box contains all elements of the block.
    fn meets(&self, low: Element, high: Element, block: &Block) -> bool {
        let bounds = self.bounds();
        let mut clipped = *block;
        for ((low, high), (least, most)) in clipped.iter_mut().zip(bounds) {
            (*low, *high) = (low.max(least), high.min(most));
            if *low > *high {
                return false;
            }
        }
        if self.is_skew && self.covers(clipped.map(|(low, high)| low.midpoint(high))) {
            return true;
        }
        let turned = Turned::new(&self.to_element, &clipped);
        for plane in low[0]..=high[0] {
            for row in low[1]..=high[1] {
                let runs = self.row(plane, row).unwrap_or(&[]);
                let from = runs.partition_point(|run| u64::from(run[1]) < low[2]);
                for run in runs.iter().skip(from) {
                    let (first, last) = (
                        u64::from(run[0]).max(low[2]),
                        u64::from(run[1]).min(high[2]),
                    );
                    if first > last {
                        break;
                    }
                    if !self.is_skew || turned.meets([(plane, plane), (row, row), (first, last)]) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// A box around all positions in the mask.
    pub(super) fn bounds(&self) -> Block {
        let ends = [0, 1, 2].map(|axis| (lower(self.low[axis]), upper(self.high[axis])));
        span(
            &self.to_world,
            &ends.map(|(low, high)| (low - SLACK, high + SLACK)),
        )
    }
}

/// The first run of a row that does not end before an element.
fn first_run(runs: &[[u32; 2]], element: u64) -> Option<&[u32; 2]> {
    runs.get(runs.partition_point(|run| u64::from(run[1]) < element))
}

/// The lower end of the voxel of an element.
#[expect(clippy::cast_precision_loss, reason = "elements are below 2^40")]
fn lower(element: u64) -> f64 {
    element as f64 - 0.5
}

/// The upper end of the voxel of an element.
fn upper(element: u64) -> f64 {
    lower(element) + 1.0
}

fn by_extents(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("{} elements", extents.join(" x "))
}

/// The least and the largest value of an affine map in a block, on each axis, with the rounding of [`Affine::apply`].
fn span(map: &Affine, block: &Block) -> Block {
    let mut offset = [0.0; 3];
    map.apply(&[0.0; 3], &mut offset);
    [0, 1, 2].map(|row| {
        let (mut least, mut most) = (offset[row], offset[row]);
        for (column, (low, high)) in block.iter().enumerate() {
            let factor = map.at(row, column);
            if factor > 0.0 {
                (least, most) = (least + factor * low, most + factor * high);
            } else if factor < 0.0 {
                (least, most) = (least + factor * high, most + factor * low);
            }
        }
        // The sum of opposite infinities is NaN.
        let known = |one: f64, other: f64| if one.is_nan() { other } else { one };
        (known(least, f64::NEG_INFINITY), known(most, f64::INFINITY))
    })
}

/// Refuses a map whose inverse is not accurate enough.
fn check_inverse(to_world: &Affine, to_element: &Affine, extents: Element) -> Result<(), String> {
    for corner in 0..8 {
        let element = [0, 1, 2].map(|axis: usize| match corner >> axis & 1 {
            0 => lower(0),
            _ => upper(extents[axis].saturating_sub(1)),
        });
        let (mut position, mut back) = ([0.0; 3], [0.0; 3]);
        to_world.apply(&element, &mut position);
        to_element.apply(&position, &mut back);
        let mut errors = element.iter().zip(back).map(|(a, b)| (a - b).abs());
        if errors.any(|error| error.is_nan() || error > MOST_ERROR) {
            return Err(format!(
                "found an affine whose inverse misses elements by more than {MOST_ERROR}, expected axes that are not nearly in one plane"
            ));
        }
    }
    Ok(())
}

/// A block of positions in element coordinates: a parallelepiped, tested against boxes by separating axes.
struct Turned {
    middle: [f64; 3],
    /// Half of each edge.
    edges: [[f64; 3]; 3],
}

impl Turned {
    fn new(to_element: &Affine, block: &Block) -> Self {
        let mut middle = [0.0; 3];
        to_element.apply(&block.map(|(low, high)| low.midpoint(high)), &mut middle);
        let edges = [0, 1, 2].map(|column| {
            let half = block[column].1 / 2.0 - block[column].0 / 2.0;
            [0, 1, 2].map(|row| to_element.at(row, column) * half)
        });
        Self { middle, edges }
    }

    /// Whether the voxels of a box of elements intersect the block, or are closer than [`SLACK`].
    fn meets(&self, elements: [(u64, u64); 3]) -> bool {
        let ends = elements.map(|(first, last)| (lower(first) - SLACK, upper(last) + SLACK));
        let from = [0, 1, 2].map(|axis| self.middle[axis] - ends[axis].0.midpoint(ends[axis].1));
        let half = ends.map(|(low, high)| (high - low) / 2.0);
        const UNITS: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let [a, b, c] = self.edges;
        let faces = [cross(a, b), cross(b, c), cross(c, a)];
        let pairs = UNITS
            .iter()
            .flat_map(|unit| self.edges.iter().map(|edge| cross(*unit, *edge)));
        let mut axes = UNITS.into_iter().chain(faces).chain(pairs);
        axes.all(|axis| {
            let own: f64 = self.edges.iter().map(|edge| dot(axis, *edge).abs()).sum();
            let other: f64 = axis
                .iter()
                .zip(half)
                .map(|(one, half)| one.abs() * half)
                .sum();
            dot(axis, from).abs() <= own + other
        })
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

impl fmt::Display for Mask {
    /// Writes the axes of the store, the extents, the rows of the affine, and two numbers for each run: the distance from the end of the previous run,
    /// and the length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pad = 3 - self.axes.len();
        for (at, name) in self.axes.iter().enumerate() {
            write!(
                f,
                "{}{}",
                if at == 0 { "" } else { " " },
                written_name(name)
            )?;
        }
        for (at, extent) in self.shape.iter().enumerate() {
            write!(f, "{}{extent}", if at == 0 { "; " } else { " " })?;
        }
        for (at, row) in self.to_world.rows().iter().take(3).skip(pad).enumerate() {
            let numbers: Vec<String> = row.iter().skip(pad).map(|one| written(*one)).collect();
            write!(
                f,
                "{}{}",
                if at == 0 { "; " } else { ", " },
                numbers.join(" ")
            )?;
        }
        let [_, rows, columns] = self.extents;
        let (mut end, mut open): (u64, Option<u64>) = (0, None);
        let mut first = true;
        // A run that continues in the next row is written as one run.
        let mut put = |f: &mut fmt::Formatter<'_>, gap: u64, length: u64| {
            let comma = if std::mem::take(&mut first) {
                "; "
            } else {
                ","
            };
            write!(f, "{comma}{gap} {length}")
        };
        let mut gap = 0;
        for plane in self.low[0]..=self.high[0] {
            for row in self.low[1]..=self.high[1] {
                for run in self.row(plane, row).unwrap_or(&[]) {
                    let at = (plane * rows + row) * columns + u64::from(run[0]);
                    let length = u64::from(run[1] - run[0]) + 1;
                    open = Some(match open {
                        Some(before) if at == end => before + length,
                        Some(before) => {
                            put(f, gap, before)?;
                            gap = at - end;
                            length
                        }
                        None => {
                            gap = at;
                            length
                        }
                    });
                    end = at + length;
                }
            }
        }
        open.map_or(Ok(()), |length| put(f, gap, length))
    }
}
