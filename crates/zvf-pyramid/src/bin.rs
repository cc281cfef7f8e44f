//! Bins of positions.

use rustc_hash::FxHashMap;

use std::fmt;
use std::path::Path;

use super::fine::FineChunk;
use zvf_encode::WriteError;
use zvf_encode::error::{internal, narrow};
use zvf_meta::space::chunk_at;

/// Most axes of a level that can be coarsened.
pub(crate) const MOST_AXES: usize = 4;

/// A bin; missing axes are 0.
pub(crate) type Bin = [i64; MOST_AXES];

/// The memory budget in bytes, threads and temporary folder for building levels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'s> {
    pub(crate) budget: usize,
    pub(crate) threads: usize,
    pub(crate) folder: &'s Path,
}

/// The bin of a position.
// Called once per vertex: see `PointVertex::take`.
#[inline(always)]
pub(crate) fn bin_of<T: Copy + Into<f64> + fmt::Display>(
    position: &[T],
    size: &[f64],
) -> Result<Bin, WriteError> {
    let (axes, sizes) = (position.len(), size.len());
    internal!(
        axes == sizes && axes <= MOST_AXES,
        "{axes} axes in bins of {sizes}"
    );
    let mut bin = [0; MOST_AXES];
    for ((slot, &value), &size) in bin.iter_mut().zip(position).zip(size) {
        *slot = chunk_at(value.into(), size).ok_or_else(|| {
            WriteError::data(
                "position",
                value.to_string(),
                "a finite number within the range of bin numbers",
            )
        })?;
    }
    Ok(bin)
}

/// The bins of one chunk's rows.
#[derive(Debug)]
pub(crate) struct Binned {
    pub(crate) slot: usize,
    pub(crate) chunk: FineChunk,
    /// Its bins, each once.
    pub(crate) bins: Vec<Bin>,
    /// For each row its index in `bins`.
    pub(crate) of: Vec<u32>,
}

impl Binned {
    pub(crate) fn new(
        slot: usize,
        chunk: FineChunk,
        dims: usize,
        size: &[f64],
    ) -> Result<Self, WriteError> {
        let mut numbers: FxHashMap<Bin, u32> = FxHashMap::default();
        let mut bins: Vec<Bin> = Vec::new();
        let mut of = Vec::with_capacity(chunk.positions.len() / dims.max(1));
        // Consecutive rows mostly share a bin.
        let mut last: Option<(Bin, u32)> = None;
        for position in chunk.positions.chunks_exact(dims.max(1)) {
            let bin = bin_of(position, size)?;
            let number = match last {
                Some((known, number)) if known == bin => number,
                _ => {
                    let next = narrow("bins of a chunk", bins.len())?;
                    *numbers.entry(bin).or_insert_with(|| {
                        bins.push(bin);
                        next
                    })
                }
            };
            last = Some((bin, number));
            of.push(number);
        }
        Ok(Self {
            slot,
            chunk,
            bins,
            of,
        })
    }
}
