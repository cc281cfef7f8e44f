//! The presence of arrays without a list: their objects, listed once.

use std::collections::HashSet;

use zvf_meta::space::chunk_of_cell;
use zvf_meta::{ArrayDoc, KeyScheme, LevelDoc};

use super::SnapshotTree;
use crate::StoreError;
use crate::container::{ContainerKind, GridArray};
use crate::coord::product;
use crate::presence::Presence;
use zvf_format::int::wide;
use zvf_io::Cap;

impl SnapshotTree {
    /// Whether the level of an array states that its writers add presence lists when they have finished: cells are listed until then.
    fn is_deferred(&self, path: &str) -> bool {
        let level = path.split('/').next().unwrap_or_default();
        let doc = self.document(&format!("{level}/zarr.json"));
        let doc = doc.and_then(|bytes| LevelDoc::parse(&bytes).ok());
        doc.is_some_and(|doc| doc.presence_is_deferred())
    }

    /// The presence of an array without a list: the objects that exist, or every cell if they cannot be listed.
    pub(super) fn listed_presence(&self, array: &GridArray) -> Result<Presence, StoreError> {
        let path = array.path();
        let rank = array.key_rank();
        let Some(doc) = array.doc() else {
            return Ok(Presence::default());
        };
        let cap = Cap::cells(self.kv.limits());
        let objects = self.state().objects(path);
        let mut flat = Vec::new();
        let mut block = |index: &[u64]| push_block(array, index, &mut flat, cap);
        match objects {
            Some(keys) => {
                if array.container() != ContainerKind::Padded && !self.is_deferred(path) {
                    self.warnings.add(format!(
                        "{path}: no list nonempty_chunks, so its objects were listed"
                    ));
                }
                // A chunk of a padded array may have several objects.
                let mut seen = HashSet::new();
                let mut outside = Vec::new();
                for key in keys.iter() {
                    let index = parse_object_key(doc, key, doc.shape.len());
                    let Some(mut index) = index.filter(|index| in_shape(doc, index)) else {
                        if key != "zarr.json" {
                            outside.push(key);
                        }
                        continue;
                    };
                    index.truncate(rank);
                    if rank == doc.shape.len() || seen.insert(index.clone()) {
                        block(&index)?;
                    }
                }
                if let Some(key) = outside.first() {
                    self.warnings.add(format!(
                        "{path}: {} objects are not chunks of an array of shape {:?}, such as {key:?}: they are not read",
                        outside.len(),
                        doc.shape
                    ));
                }
            }
            None => {
                self.warnings.add(format!(
                    "{path}: no list nonempty_chunks, and the backend cannot list: every chunk of the grid is requested"
                ));
                let counts: Vec<u64> = doc
                    .shape
                    .iter()
                    .zip(&doc.chunk_shape)
                    .take(rank)
                    .map(|(n, c)| n.div_ceil((*c).max(1)))
                    .collect();
                let total = product(&counts).unwrap_or(u64::MAX);
                cap.check(path, total)?;
                let mut index = vec![0; rank];
                for _ in 0..total {
                    block(&index)?;
                    increment(&mut index, &counts);
                }
            }
        }
        Ok(Presence::from_listing(rank, flat))
    }
}

/// Whether a chunk begins inside its array.
fn in_shape(doc: &ArrayDoc, index: &[u64]) -> bool {
    let mut axes = index.iter().zip(&doc.chunk_shape).zip(&doc.shape);
    axes.all(|((i, chunk), shape)| i.saturating_mul(*chunk) < *shape)
}

/// Adds all cells of a stored object, as absolute coordinates.
fn push_block(
    array: &GridArray,
    index: &[u64],
    flat: &mut Vec<i64>,
    cap: Cap,
) -> Result<(), StoreError> {
    let Some(doc) = array.doc() else {
        return Ok(());
    };
    let mut lo = Vec::with_capacity(index.len());
    let mut counts = Vec::with_capacity(index.len());
    for ((i, chunk), shape) in index.iter().zip(&doc.chunk_shape).zip(&doc.shape) {
        let start = i.saturating_mul(*chunk);
        if start >= *shape {
            return Ok(());
        }
        lo.push(start);
        counts.push((*chunk).min(shape - start));
    }
    let total = product(&counts).unwrap_or(u64::MAX);
    let have = wide(flat.len() / index.len().max(1));
    cap.check(array.path(), total.saturating_add(have))?;
    let mut inside = vec![0; index.len()];
    for _ in 0..total {
        let cell = inside.iter().zip(&lo).map(|(i, start)| i + start);
        flat.extend(chunk_of_cell(array.origin(), cell));
        increment(&mut inside, &counts);
    }
    Ok(())
}

/// The next index in C order.
pub(super) fn increment(index: &mut [u64], counts: &[u64]) {
    for (i, count) in index.iter_mut().zip(counts).rev() {
        *i += 1;
        if *i < *count {
            return;
        }
        *i = 0;
    }
}

/// The index of an object, from its key inside the array.
fn parse_object_key(doc: &ArrayDoc, key: &str, rank: usize) -> Option<Vec<u64>> {
    let separator = doc.key_encoding.separator;
    let numbers = match doc.key_encoding.scheme {
        KeyScheme::Default => key.strip_prefix('c')?.strip_prefix(separator)?,
        KeyScheme::V2 => key,
    };
    let index: Option<Vec<u64>> = numbers.split(separator).map(|n| n.parse().ok()).collect();
    index.filter(|index| index.len() == rank)
}
