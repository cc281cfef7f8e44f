//! The placement of a record, and the chunks of a placed record (13.3, 13.5, 13.6).

use core::cmp::Ordering;

use super::lehmer::MAX_WIDTH;
use crate::error::{DecodeError, Expected};
use crate::int::{low32, signed, wide};

/// One endpoint of a record, in the application's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint<'a> {
    /// Absolute chunk coordinate.
    pub chunk: &'a [i64],
    /// Buffer row in that chunk.
    pub row: i64,
}

impl Endpoint<'_> {
    /// The order of canonical placement: by chunk numbers, from the first axis on, then by row.
    #[must_use]
    pub fn canonical_cmp(&self, other: &Self) -> Ordering {
        self.chunk.cmp(other.chunk).then(self.row.cmp(&other.row))
    }
}

/// The placement s of an undirected canonical record: endpoints sorted by (chunk, row), stable. A
/// record inside one chunk keeps its order. So does every record of a directed family, for which this
/// function is not needed.
///
/// # Shape
/// Fills `out`, of length L: stored endpoint i is endpoint `out[i]` of the application.
///
/// # Errors
/// Limit above [`MAX_WIDTH`] endpoints; malformed if the lengths differ.
///
/// # Panics
/// Never.
pub fn canonical_order(endpoints: &[Endpoint<'_>], out: &mut [u8]) -> Result<(), DecodeError> {
    identity(endpoints, out)?;
    let crosses = endpoints
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.chunk != b.chunk));
    if crosses {
        sort(endpoints, out);
    }
    Ok(())
}

/// The placements of a record in a `duplicate` family, one for each distinct chunk, in ascending
/// order of chunks. The smallest endpoint in the chunk comes first, the others in the application's
/// order.
///
/// Calls `visit` with each placement.
///
/// # Errors
/// As [`canonical_order`].
///
/// # Panics
/// Never.
pub fn duplicate_order(
    endpoints: &[Endpoint<'_>],
    mut visit: impl FnMut(&[u8]),
) -> Result<(), DecodeError> {
    let width = endpoints.len();
    let (mut sorted, mut placement) = ([0; MAX_WIDTH], [0; MAX_WIDTH]);
    let (Some(sorted), Some(placement)) = (sorted.get_mut(..width), placement.get_mut(..width))
    else {
        return Err(DecodeError::limit(
            "link width",
            0,
            wide(width),
            wide(MAX_WIDTH),
        ));
    };
    identity(endpoints, sorted)?;
    if endpoints
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if a.chunk == b.chunk))
    {
        visit(sorted);
        return Ok(());
    }
    sort(endpoints, sorted);
    let mut before: Option<&[i64]> = None;
    for &lead in sorted.iter() {
        let Some(endpoint) = endpoints.get(usize::from(lead)) else {
            continue;
        };
        if before == Some(endpoint.chunk) {
            continue;
        }
        before = Some(endpoint.chunk);
        let others = (0..low32(width))
            .map(|i| i.to_le_bytes()[0])
            .filter(|&i| i != lead);
        for (slot, place) in placement
            .iter_mut()
            .zip(core::iter::once(lead).chain(others))
        {
            *slot = place;
        }
        visit(placement);
    }
    Ok(())
}

/// Fills `out` with `0, 1, 2, …`; fails if its length differs or exceeds [`MAX_WIDTH`].
fn identity(endpoints: &[Endpoint<'_>], out: &mut [u8]) -> Result<(), DecodeError> {
    let width = endpoints.len();
    if width > MAX_WIDTH {
        return Err(DecodeError::limit(
            "link width",
            0,
            wide(width),
            wide(MAX_WIDTH),
        ));
    }
    if out.len() != width {
        let expected = Expected::Exactly(signed(width));
        return Err(DecodeError::malformed(
            "link width",
            0,
            signed(out.len()),
            expected,
        ));
    }
    for (i, slot) in out.iter_mut().enumerate() {
        *slot = low32(i).to_le_bytes()[0];
    }
    Ok(())
}

/// Sorts positions by their endpoints, and ties by position. `core` has no stable sort, but the
/// position makes every key distinct.
fn sort(endpoints: &[Endpoint<'_>], out: &mut [u8]) {
    out.sort_unstable_by(|&a, &b| {
        match (endpoints.get(usize::from(a)), endpoints.get(usize::from(b))) {
            (Some(x), Some(y)) => x.canonical_cmp(y).then(a.cmp(&b)),
            _ => a.cmp(&b),
        }
    });
}

/// The anchor of a source chunk at the target level: `floor(source * r_source / r_target)` on each
/// axis (13.6). With equal grids the anchor is the source.
///
/// # Units
/// `r_source` and `r_target` are the chunk shapes of the two levels as multiples of the root's.
///
/// # Errors
/// Malformed for a factor below 1 or slices of different lengths; limit if a product exceeds
/// 64 bits. The position in the error is the axis.
///
/// # Panics
/// Never.
pub fn anchor(
    source: &[i64],
    r_source: &[i64],
    r_target: &[i64],
    out: &mut [i64],
) -> Result<(), DecodeError> {
    let rank = source.len();
    for found in [r_source.len(), r_target.len(), out.len()] {
        if found != rank {
            let expected = Expected::Exactly(signed(rank));
            return Err(DecodeError::malformed(
                "chunk coordinate rank",
                0,
                signed(found),
                expected,
            ));
        }
    }
    let factors = r_source.iter().zip(r_target);
    for (axis, ((slot, &component), (&from, &to))) in
        out.iter_mut().zip(source).zip(factors).enumerate()
    {
        for factor in [from, to] {
            if factor < 1 {
                let at = wide(axis);
                return Err(DecodeError::malformed(
                    "level chunk factor",
                    at,
                    factor,
                    Expected::AtLeast(1),
                ));
            }
        }
        let Some(product) = component.checked_mul(from) else {
            let (found, limit) = (
                component.unsigned_abs(),
                i64::MAX.unsigned_abs() / from.unsigned_abs(),
            );
            return Err(DecodeError::limit("link anchor", wide(axis), found, limit));
        };
        // The divisor is positive, so the Euclidean quotient is the floor.
        *slot = product.div_euclid(to);
    }
    Ok(())
}

/// The chunks of all endpoints of the records in one cell, in stored order: the source, then the
/// anchor plus each offset.
///
/// # Shape
/// `source` and `anchor` have K numbers, `offsets` (L - 1) K; fills the first L K numbers of `out`.
///
/// # Errors
/// Malformed if `source` is empty, `anchor` has another rank, or `offsets` is not a whole number of
/// coordinates; limit if `out` is too short or a sum exceeds 64 bits.
///
/// # Panics
/// Never.
pub fn endpoint_chunks(
    source: &[i64],
    anchor: &[i64],
    offsets: &[i64],
    out: &mut [i64],
) -> Result<(), DecodeError> {
    let rank = source.len();
    if rank == 0 || anchor.len() != rank || !offsets.len().is_multiple_of(rank) {
        let expected = Expected::Text("whole chunk coordinates");
        return Err(DecodeError::malformed(
            "link offsets",
            0,
            signed(offsets.len()),
            expected,
        ));
    }
    let need = rank.saturating_add(offsets.len());
    let room = out.len();
    let Some((first, others)) = out
        .get_mut(..need)
        .and_then(|out| out.split_at_mut_checked(rank))
    else {
        return Err(DecodeError::limit(
            "link endpoint chunks",
            0,
            wide(need),
            wide(room),
        ));
    };
    first.copy_from_slice(source);
    for (k, (chunk, offset)) in others
        .chunks_exact_mut(rank)
        .zip(offsets.chunks_exact(rank))
        .enumerate()
    {
        for ((slot, &base), &step) in chunk.iter_mut().zip(anchor).zip(offset) {
            let Some(sum) = base.checked_add(step) else {
                let limit = i64::MAX.unsigned_abs();
                return Err(DecodeError::limit(
                    "link endpoint chunk",
                    wide(k),
                    step.unsigned_abs(),
                    limit,
                ));
            };
            *slot = sum;
        }
    }
    Ok(())
}
