//! Checks positions: whether they are finite, in their chunk, in their bin and in the bounds.

use zvf_store::{CheckedFragment, CheckedFragments};

use super::ChunkCheckInput;
use crate::check::Check;
use crate::finding::{Findings, Place};
use crate::numbers::{self, CoordinateExtent};
use zvf_format::int::{index, wide};

impl ChunkCheckInput {
    /// Checks the positions of a chunk. Returns their extent.
    pub(super) fn positions(
        &self,
        chunk: &[i64],
        bytes: &[u8],
        fragments: Option<&CheckedFragments>,
        findings: &mut Findings,
    ) -> CoordinateExtent {
        let row = self.dims.saturating_mul(self.dtype.size()).max(1);
        let bins = self
            .bins
            .as_ref()
            .filter(|_| self.places)
            .zip(fragments)
            .filter(|((_, bins), fragments)| {
                let all = bins
                    .iter()
                    .fold(1_u64, |product, &one| product.saturating_mul(one));
                all > 1 && u64::from(fragments.len()) == all && fragments.are_ranges()
            });
        let mut extent = CoordinateExtent::empty(self.dims);
        if let Some(((shape, counts), fragments)) = bins {
            for (number, fragment) in (0_u64..).zip(fragments.iter()) {
                let CheckedFragment::Range { start, count } = fragment else {
                    continue;
                };
                let at = |rows: u32| index(rows).saturating_mul(row);
                let Some(part) = bytes.get(at(start)..at(start.saturating_add(count))) else {
                    continue;
                };
                if part.is_empty() {
                    continue;
                }
                let of = numbers::extent(self.dtype, part, self.dims);
                let local = local_bin(number, counts);
                let edges = chunk.iter().zip(&local).zip(counts).zip(shape);
                let outside = edges.zip(of.low.iter().zip(&of.high)).any(
                    |((((&chunk, &local), &count), &size), (&low, &high))| {
                        let first = i128::from(chunk) * i128::from(count) + i128::from(local);
                        let from = i64::try_from(first).unwrap_or(i64::MAX) as f64 * size;
                        !self.within(low, high, from, from + size)
                    },
                );
                if outside && of.finite {
                    let place = Place::at(&*self.vertices).chunk(chunk).fragment(number);
                    let found = format!("{:?} to {:?}", of.low, of.high);
                    findings.add(
                        Check::VertexBin,
                        place,
                        found,
                        format!("points of bin {local:?}"),
                    );
                }
                extent.join(&of);
            }
            // Some rows may be in no fragment.
            if !u32::try_from(bytes.len() / row).is_ok_and(|rows| fragments.tile(rows)) {
                extent = numbers::extent(self.dtype, bytes, self.dims);
            }
        } else {
            extent = numbers::extent(self.dtype, bytes, self.dims);
        }
        let place = |at: usize| Place::at(&*self.vertices).chunk(chunk).row(wide(at));
        if !extent.finite {
            for (at, vertex) in numbers::rows(self.dtype, bytes)
                .chunks_exact(self.dims.max(1))
                .enumerate()
            {
                if vertex.iter().any(|one| !one.is_finite()) {
                    findings.add(
                        Check::Finite,
                        place(at),
                        format!("{vertex:?}"),
                        "finite coordinates",
                    );
                }
            }
        }
        if !self.places {
            return extent;
        }
        let Some(coordinates) = chunk.get(chunk.len().saturating_sub(self.dims)..) else {
            return extent;
        };
        if let Some(values) = self.split {
            let first = chunk.first().copied().unwrap_or(0);
            if u64::try_from(first).is_ok_and(|one| one < values) {
            } else {
                let place = Place::at(&*self.vertices).chunk(chunk);
                let expected = format!("0 to {}", values.saturating_sub(1));
                findings.add(Check::ChunkAttribute, place, first, expected);
            }
        }
        let edges: Vec<(f64, f64)> = coordinates
            .iter()
            .zip(&self.chunk_shape)
            .map(|(&at, &size)| (at as f64 * size, at.saturating_add(1) as f64 * size))
            .collect();
        self.outside(bytes, &extent, &edges, Check::VertexChunk, place, findings);
        if let Some((low, high)) = &self.bounds {
            let edges: Vec<(f64, f64)> = low.iter().copied().zip(high.iter().copied()).collect();
            self.outside(bytes, &extent, &edges, Check::VertexBounds, place, findings);
        }
        extent
    }

    /// Reports rows outside `edges`, the lower and upper limit on each axis.
    fn outside(
        &self,
        bytes: &[u8],
        extent: &CoordinateExtent,
        edges: &[(f64, f64)],
        check: Check,
        place: impl Fn(usize) -> Place,
        findings: &mut Findings,
    ) {
        let mut sides = extent.low.iter().zip(&extent.high).zip(edges);
        if sides.all(|((&low, &high), &(from, to))| self.within(low, high, from, to)) {
            return;
        }
        for (at, vertex) in numbers::rows(self.dtype, bytes)
            .chunks_exact(self.dims.max(1))
            .enumerate()
        {
            let mut axes = vertex.iter().zip(edges);
            if axes.any(|(&one, &(from, to))| one.is_finite() && !self.within(one, one, from, to)) {
                let (low, high): (Vec<f64>, Vec<f64>) = edges.iter().copied().unzip();
                findings.add(
                    check,
                    place(at),
                    format!("{vertex:?}"),
                    format!("{low:?} to {high:?}"),
                );
            }
        }
    }

    /// Whether `low` and `high` are between `from` and `to`, with a tolerance of one rounding step of their type.
    fn within(&self, low: f64, high: f64, from: f64, to: f64) -> bool {
        low >= from - numbers::step(self.dtype, from).max(numbers::step(self.dtype, low))
            && high <= to + numbers::step(self.dtype, to).max(numbers::step(self.dtype, high))
    }
}

/// The bin of a fragment number: row-major, axis 0 slowest (0.9 §10.2).
fn local_bin(number: u64, counts: &[u64]) -> Vec<u64> {
    let mut left = number;
    let mut local: Vec<u64> = counts
        .iter()
        .rev()
        .map(|&count| {
            let at = left.checked_rem(count).unwrap_or(0);
            left = left.checked_div(count).unwrap_or(0);
            at
        })
        .collect();
    local.reverse();
    local
}
