//! Detects chunks with few vertices, and proposes larger ones.

use std::collections::BTreeSet;

use zvf_edit::Edit;

use crate::words::{argument, counted};

/// Vertices that imports aim at for a chunk.
const WANTED: u64 = 10_000;

/// An edit with at most this many new chunks causes no remark.
const MANY_CHUNKS: usize = 1000;

/// New chunks with at least this mean number of vertices cause no remark.
const FEW_VERTICES: u64 = 10;

/// The smallest power of two by which chunks must grow along each axis to have half of [`WANTED`] vertices on average, and that average. If no factor
/// is large enough, the one after which larger factors no longer reduce the number of chunks; `None` if none reduces it. `rows` is the number of
/// vertices in `chunks`, `dims` the number of axes.
pub(crate) fn larger(chunks: &[&[i64]], dims: usize, rows: u64) -> Option<(u32, u64)> {
    let (mut found, mut fewest) = (None, chunks.len());
    for times in (1..31).map(|power| 1_u32 << power) {
        let merged: BTreeSet<Vec<i64>> = chunks
            .iter()
            .map(|chunk| {
                // A leading component is a value of the attribute that divides chunks; chunks with different values are not merged.
                let front = chunk.len().saturating_sub(dims);
                let parts = chunk.iter().enumerate();
                let parts = parts.map(|(at, part)| match at < front {
                    true => *part,
                    false => part.div_euclid(i64::from(times)),
                });
                parts.collect()
            })
            .collect();
        let mean = rows.checked_div(merged.len() as u64)?;
        if merged.len() < fewest {
            fewest = merged.len();
            found = Some((times, mean));
        }
        if mean >= WANTED / 2 || merged.len() < 2 {
            break;
        }
    }
    found
}

/// A chunk shape multiplied by `times`, as text for the option `--chunk-shape`.
pub(crate) fn enlarged(shape: &[f64], times: u32) -> String {
    let sizes = shape.iter().map(|size| size * f64::from(times));
    let sizes: Vec<String> = sizes.map(|size| size.to_string()).collect();
    sizes.join(",")
}

/// A remark about an edit that made many small chunks: more than 1000 new chunks with fewer than 10 vertices on average.
#[must_use]
pub fn small_chunks(edit: &Edit, store: &str) -> Option<String> {
    let (chunks, counts): (Vec<&[i64]>, Vec<usize>) = edit.new_chunks().unzip();
    let vertices = counts.iter().sum::<usize>() as u64;
    let each = vertices / (chunks.len() as u64).max(1);
    if chunks.len() <= MANY_CHUNKS || each >= FEW_VERTICES {
        return None;
    }
    let spec = edit.spec();
    let (times, _) = larger(&chunks, spec.dims(), vertices)?;
    Some(format!(
        "{} with {} each on average, which are slow to write and to read: `zvf rechunk {} NEW --chunk-shape {}` copies the store with larger chunks, before or after this; `zvf import` of all files together chooses a shape",
        counted(chunks.len() as u64, "new chunk"),
        counted(each, "vertex"),
        argument(store),
        enlarged(&spec.chunk_shape, times)
    ))
}
