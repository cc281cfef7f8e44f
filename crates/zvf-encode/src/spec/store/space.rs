//! Checks the spatial part of a specification: axes, chunks, bins, shards and bounds.

use std::collections::HashSet;

use zvf_meta::Kind;

use super::StoreSpec;
use crate::WriteError;
use crate::error::OrBug;
use crate::values::number::NumberType;

/// Most cells of a shard, and most bins of a chunk.
const MOST_CELLS: u64 = 1 << 24;

/// Checks that a chunk has at most 2^24 bins. A chunk of points stores one fragment for each of its bins, including empty ones.
///
/// # Errors
/// Misuse: more bins. Bug: bins that do not divide the chunk.
pub fn check_bin_count(chunk_shape: &[f64], bins: &[f64]) -> Result<(), WriteError> {
    let bins =
        zvf_meta::space::bins_per_chunk(chunk_shape, bins).or_bug("bins that were checked")?;
    let count = bins.iter().try_fold(1_u64, |a, &b| a.checked_mul(b));
    if count.is_none_or(|count| count > MOST_CELLS) {
        let expected = format!("at most {MOST_CELLS} bins in a chunk");
        return Err(WriteError::spec(
            "bin_shape",
            format!("{bins:?} bins"),
            expected,
        ));
    }
    Ok(())
}

impl StoreSpec {
    pub(super) fn check_space(&self) -> Result<(), WriteError> {
        let dims = self.dims();
        if !(1..=4).contains(&dims) {
            let found = format!("{dims} numbers");
            return Err(WriteError::spec("chunk_shape", found, "1 to 4"));
        }
        sizes("chunk_shape", &self.chunk_shape)?;
        length("axes", self.axes.len(), dims)?;
        let mut names = HashSet::new();
        for (at, axis) in self.axes.iter().enumerate() {
            let member = format!("axes/{at}/name");
            if axis.name.is_empty() {
                return Err(WriteError::spec(member, "nothing", "a name"));
            }
            if !names.insert(&axis.name) {
                let found = format!("{:?} again", axis.name);
                return Err(WriteError::spec(member, found, "a name of its own"));
            }
        }
        if self.positions == NumberType::Bool {
            return Err(WriteError::spec("positions", "bool", "numbers"));
        }
        let Some(bins) = &self.bin_shape else {
            return Ok(());
        };
        length("bin_shape", bins.len(), dims)?;
        sizes("bin_shape", bins)?;
        if self.kind == Kind::PointCloud && self.objects {
            // The released readers interpret fragment numbers as bin numbers (trap T1), so box queries would lose points.
            let expected =
                "none: points with objects have a fragment for each object instead of bins";
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        for (axis, (chunk, bin)) in self.chunk_shape.iter().zip(bins).enumerate() {
            let count = (chunk / bin).round();
            let divides = count >= 1.0 && (chunk / bin - count).abs() <= 1e-9;
            if !divides || count > 65536.0 {
                let expected = match divides {
                    false => format!("a size that divides the chunk's {chunk}"),
                    true => format!("at most 65536 bins in the chunk's {chunk}"),
                };
                let member = format!("bin_shape/{axis}");
                return Err(WriteError::spec(member, bin.to_string(), expected));
            }
        }
        check_bin_count(&self.chunk_shape, bins)
    }

    pub(super) fn check_bounds(&self) -> Result<(), WriteError> {
        let Some((low, high)) = &self.bounds else {
            return Ok(());
        };
        length("bounds/0", low.len(), self.dims())?;
        length("bounds/1", high.len(), self.dims())?;
        for (axis, (low, high)) in low.iter().zip(high).enumerate() {
            if !(low.is_finite() && high.is_finite() && low <= high) {
                let found = format!("{low} and {high}");
                let expected = "finite corners, the lower one first";
                return Err(WriteError::spec(
                    format!("bounds, axis {axis}"),
                    found,
                    expected,
                ));
            }
        }
        zvf_meta::space::grid_for((low, high), &self.chunk_shape)?;
        Ok(())
    }

    pub(super) fn check_shards(&self) -> Result<(), WriteError> {
        let Some(shards) = self.shard_shape.cells() else {
            return Ok(());
        };
        let member = "shard_shape";
        if self.chunk_by.is_some() && shards.len() != self.key_rank() {
            let found = format!("{} of them", shards.len());
            let expected = format!(
                "{}: one for the attribute, then one for each axis; `--shard-shape` has only those of the axes",
                self.key_rank()
            );
            return Err(WriteError::spec(member, found, expected));
        }
        length(member, shards.len(), self.key_rank())?;
        let cells = shards
            .iter()
            .try_fold(1_u64, |product, &extent| product.checked_mul(extent));
        if !cells.is_some_and(|cells| (1..=MOST_CELLS).contains(&cells)) {
            let expected = format!("1 to {MOST_CELLS} cells in all");
            return Err(WriteError::spec(member, format!("{shards:?}"), expected));
        }
        Ok(())
    }
}

pub(super) fn length(member: &str, found: usize, dims: usize) -> Result<(), WriteError> {
    if found == dims {
        return Ok(());
    }
    let expected = format!("{dims}, one an axis");
    Err(WriteError::spec(
        member,
        format!("{found} of them"),
        expected,
    ))
}

fn sizes(member: &str, sizes: &[f64]) -> Result<(), WriteError> {
    for (axis, size) in sizes.iter().enumerate() {
        if !(size.is_finite() && *size > 0.0) {
            let member = format!("{member}/{axis}");
            return Err(WriteError::spec(member, size.to_string(), "a size above 0"));
        }
    }
    Ok(())
}
