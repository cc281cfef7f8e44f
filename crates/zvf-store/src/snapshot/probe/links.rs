//! Facts about link attributes that are read from cells of links: the number of columns if no document declares it, and the assignment of values in a
//! single array to records.
//!
//! Source: specification 0.7, section 9.2; 0.8, sections 8.2 and 9.6, doubt 6.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::join_all;
use zvf_format::dtype::DType;
use zvf_format::keys::format_key;
use zvf_meta::{ArrayAttributes, LinkStore};

use crate::cells::{self, CellWant, ShardCache};
use crate::container::{ContainerKind, GridArray, SharedArray};
use crate::coord::product;
use crate::level::LevelInner;
use crate::links::{LinkArray, LinkFamily, Placement};
use crate::snapshot::MISSING;
use crate::snapshot::SnapshotTree;
use crate::snapshot::linkattributes::width_of;
use crate::types::stated_dtype;
use crate::{ChunkCoord, Class, StoreError};
use zvf_format::int::wide;

/// How many cells are read before an attribute is assumed to have one column.
const MOST: u32 = 4;

/// Values that are stored in one array for all cells of links, before they are assigned to the links.
struct Loose<'l> {
    link: &'l LinkArray,
    values: &'l SharedArray,
}

impl SnapshotTree {
    /// Probes cells for facts that the documents of link attributes lack, once for each attribute. Returns whether there is a fact that the level was built
    /// without: found now, or by another caller since the level was built.
    ///
    /// # Cost
    /// From round `base` on: one link cell and one cell of values for each attribute without a declared width, at most
    /// four times, one after another; all link cells of a family with values in one array.
    ///
    /// # Errors
    /// I/O while all cells of a family are read; failures of single cells that may be temporary, and changes of the store: the next load probes again.
    pub(super) async fn probe_links(
        &self,
        level: &LevelInner,
        shards: &Arc<ShardCache>,
        base: u32,
    ) -> Result<bool, StoreError> {
        let mut silent = Vec::new();
        let mut loose = Vec::new();
        let mut found = false;
        for family in &level.links {
            for attribute in &family.attributes {
                let pairs: Vec<(&LinkArray, &SharedArray)> = family
                    .arrays
                    .iter()
                    .zip(&attribute.arrays)
                    .filter_map(|(link, values)| Some((link, values.as_ref()?)))
                    .collect();
                let width = pairs.iter().find_map(|(_, values)| width_of(values));
                found |= width.is_some_and(|width| width != attribute.width);
                let places = pairs.iter().filter(|pair| is_in_memory(pair));
                let mut open = None;
                for (link, values) in places {
                    match self.built(values.path()) {
                        None => open = open.or(Some(Loose { link, values })),
                        Some(built) => found |= !Arc::ptr_eq(&built, values),
                    }
                }
                match open {
                    Some(one) => loose.push(one),
                    None if width.is_none() => silent.push(pairs),
                    None => {}
                }
            }
        }
        // Boxed, because the compiler does not prove the unboxed iterator to be `Send`.
        let silent = silent.into_iter();
        let widths = join_all(silent.map(|pairs| self.detect_width(pairs, shards, base).boxed()));
        let loose = loose.into_iter();
        let places = join_all(loose.map(|one| self.place(one, shards, base).boxed()));
        let (widths, places) = futures::join!(widths, places);
        for outcome in widths.into_iter().chain(places) {
            found |= outcome?;
        }
        Ok(found)
    }

    /// Detects the number of columns of one attribute from the bytes of its cell and the number of records in the link cell. Returns whether it is
    /// not 1.
    async fn detect_width(
        &self,
        pairs: Vec<(&LinkArray, &SharedArray)>,
        shards: &Arc<ShardCache>,
        base: u32,
    ) -> Result<bool, StoreError> {
        let chunks = pairs.iter().flat_map(|(link, values)| {
            let chunks = link.array.presence().iter();
            chunks.map(move |chunk| (*link, *values, chunk))
        });
        let rounds = base..base.saturating_add(MOST);
        let tries: Vec<_> = rounds.zip(chunks).collect();
        for (round, (link, values, chunk)) in tries {
            self.reach(round);
            let wants = vec![
                CellWant::new(&link.array, chunk),
                CellWant::new(values, chunk),
            ];
            let found =
                cells::fetch_cells(self.kv.in_round(round), Arc::clone(shards), wants).await;
            let found = match found {
                Ok(found) => found,
                // The level is not loaded, so the next caller probes again.
                Err(error) if error.is_transient() || error.is_changed() => return Err(error),
                // The query that needs the cell reports the failure.
                Err(error) if error.class() == Class::Io => return Ok(false),
                Err(_) => continue,
            };
            let [Some(records), Some(bytes)] = found.as_slice() else {
                continue;
            };
            let Ok(cell) = link.decode(chunk, records) else {
                continue;
            };
            if let Some(width) = columns(bytes.len(), cell.len(), values.dtype()) {
                values.set_row_width(width);
                return Ok(width != 1);
            }
        }
        if let Some((_, values)) = pairs.first() {
            values.set_row_width(1);
        }
        Ok(false)
    }

    /// Records that a round was used.
    pub(super) fn reach(&self, round: u32) {
        let mut state = self.state();
        state.rounds = state.rounds.max(round);
    }

    /// A placeholder for values in one array until they are assigned to records; `None` if there are none.
    ///
    /// # Errors
    /// Values that violate a rule of the format page (0.8, doubt 6).
    pub(in crate::snapshot) fn loose_values(
        &self,
        path: &str,
        family: &LinkFamily,
        link: &LinkArray,
    ) -> Result<Option<SharedArray>, StoreError> {
        let data = format!("{path}/data");
        if let Some(array) = self.built(&data) {
            return Ok(Some(array));
        }
        let named = self.state().lists(path, "data");
        let Some((_, bytes)) = self.blob_at(&data)? else {
            return if named {
                Err(StoreError::malformed(
                    path,
                    "found a child \"data\" beside cells, expected one of them: it is not known which holds the values",
                ))
            } else {
                Ok(None)
            };
        };
        if family.doc.store == LinkStore::Duplicate {
            return Err(StoreError::malformed(
                data,
                "values in one array beside links that are stored once for each chunk: it is not known which value belongs to which link",
            ));
        }
        let attributes = self.group_attributes(path)?;
        let dtype = stated_dtype(path, &attributes)?.unwrap_or(MISSING);
        let rows = attributes.shape.as_ref().and_then(|shape| shape.first());
        let stated = family.doc.num_links;
        let Some(rows) = rows.filter(|rows| stated.is_none_or(|stated| stated == **rows)) else {
            return Err(StoreError::malformed(
                format!("{path}/zarr.json"),
                format!(
                    "shape is {:?}, and the cells have {} links: values in one array are read only if its shape has one row for each link",
                    attributes.shape,
                    stated.map_or("an unknown number of".to_owned(), |n| n.to_string())
                ),
            ));
        };
        let width = width_in(&attributes);
        let expected = width
            .and_then(|width| width.checked_mul(*rows))
            .and_then(|n| n.checked_mul(u64::try_from(dtype.size()).ok()?));
        if expected != Some(wide(bytes.len())) {
            return Err(StoreError::malformed(
                data,
                format!(
                    "{} bytes found, expected those of shape {:?} of {dtype}",
                    bytes.len(),
                    attributes.shape
                ),
            ));
        }
        let rank = link.array.key_rank();
        GridArray::from_memory(data, attributes, dtype, rank, Vec::new())
            .map(|array| Some(Arc::new(array)))
    }

    /// Divides values in one array into cells: the cells of the links in the order of their keys as text, and the records of each in stored order
    /// (0.8, section 9.6).
    async fn place(
        &self,
        Loose { link, values }: Loose<'_>,
        shards: &Arc<ShardCache>,
        base: u32,
    ) -> Result<bool, StoreError> {
        self.reach(base);
        let mut chunks: Vec<(String, ChunkCoord)> = link
            .array
            .presence()
            .iter()
            .map(|chunk| (format_key(chunk).to_string(), ChunkCoord::new(chunk)))
            .collect();
        chunks.sort_unstable();
        let wants = chunks
            .iter()
            .map(|(_, chunk)| CellWant::new(&link.array, chunk.clone()))
            .collect();
        let cells = cells::fetch_cells(self.kv.in_round(base), Arc::clone(shards), wants).await;
        let _alone = self.alone();
        // Another caller assigned the values meanwhile.
        if self.built(values.path()).is_some() {
            return Ok(true);
        }
        let cut = cells.and_then(|cells| self.cut_loose(link, values, &chunks, &cells));
        let array = cut.or_else(|error| {
            if error.class() == Class::Io {
                return Err(error);
            }
            // The links can be read, but not their values.
            let left_out = self.left_out(values.path(), None, &error, false);
            self.state().left_out.push(left_out);
            let attributes = values.attributes().clone();
            let path = values.path().to_owned();
            GridArray::from_memory(
                path,
                attributes,
                values.dtype(),
                values.key_rank(),
                Vec::new(),
            )
        })?;
        self.keep_blob(values.path(), array);
        Ok(true)
    }

    fn cut_loose(
        &self,
        link: &LinkArray,
        values: &GridArray,
        chunks: &[(String, ChunkCoord)],
        cells: &[Option<Bytes>],
    ) -> Result<GridArray, StoreError> {
        let path = values.path();
        let attributes = values.attributes().clone();
        let bytes = self
            .blob_at(path)?
            .map(|(_, bytes)| bytes)
            .unwrap_or_default();
        let row = width_in(&attributes)
            .and_then(|width| usize::try_from(width).ok())
            .and_then(|width| width.checked_mul(values.dtype().size()))
            .unwrap_or(usize::MAX);
        let mut found = Vec::with_capacity(chunks.len());
        let (mut at, mut records) = (0_usize, 0_usize);
        for ((_, chunk), cell) in chunks.iter().zip(cells) {
            let Some(cell) = cell else { continue };
            let count = link.decode(chunk, cell)?.len();
            records = records.saturating_add(count);
            let end = at.saturating_add(count.saturating_mul(row));
            if let Some(part) = (end <= bytes.len()).then(|| bytes.slice(at..end)) {
                found.push((chunk.clone(), part));
            }
            at = end;
        }
        if at != bytes.len() {
            return Err(StoreError::malformed(
                path,
                format!(
                    "{} bytes found, expected rows of {row} for each of {records} links in cells",
                    bytes.len()
                ),
            ));
        }
        GridArray::from_memory(
            path.to_owned(),
            attributes,
            values.dtype(),
            values.key_rank(),
            found,
        )
    }
}

/// Whether values of links are in memory: as a placeholder until they are assigned to the records of cells, or assigned to them.
fn is_in_memory((link, values): &(&LinkArray, &SharedArray)) -> bool {
    *link.placement() == Placement::Tuple
        && link.array.container() != ContainerKind::Records
        && values.container() == ContainerKind::Records
}

/// Elements of a row that a group states in its `shape`.
fn width_in(attributes: &ArrayAttributes) -> Option<u64> {
    let shape = attributes.shape.as_ref()?.get(1..)?;
    product(shape)
}

/// Elements of a row, if `bytes` are a whole number of elements for each of `rows` rows.
fn columns(bytes: usize, rows: usize, dtype: DType) -> Option<u64> {
    let row = rows.checked_mul(dtype.size()).filter(|row| *row > 0)?;
    let width = bytes.checked_div(row).filter(|width| *width > 0)?;
    if width.checked_mul(row)? != bytes {
        return None;
    }
    u64::try_from(width).ok()
}

#[cfg(test)]
mod tests {
    use zvf_format::dtype::DType;

    use super::columns;

    #[test]
    fn columns_are_whole() {
        let float = DType::parse("float32").unwrap();
        assert_eq!(columns(24, 3, float), Some(2));
        assert_eq!(columns(12, 3, float), Some(1));
        for (bytes, rows) in [
            (0, 3),
            (12, 0),
            (20, 3),
            (4, 3),
            (usize::MAX, 1),
            (8, usize::MAX),
        ] {
            assert_eq!(columns(bytes, rows, float), None, "{bytes} {rows}");
        }
    }
}
