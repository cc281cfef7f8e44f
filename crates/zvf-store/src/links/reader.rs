//! The links of a family in the order of the application, cell by cell, with their values.
//!
//! For programs that read all links, such as copies: handles placement, permutations, copies in duplicate families and the order of streamed pairs
//! (trap T5). Queries read only the cells that a box or an object needs, without this module.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_format::dtype::DTypeKind;
use zvf_format::int::wide;
use zvf_format::keys::cmp_ascii;

use super::{Endpoint, LinkArray, LinkAttribute, LinkFamily};
use crate::chunks::{CellFault, RowValues};
use crate::{ChunkCoord, GridArray, Level, StoreError};

/// Most cells that are read together.
const BATCH: usize = 32;

/// Reads all links of one family.
#[derive(Debug)]
pub struct LinkReader<'l> {
    level: &'l Level,
    family: &'l LinkFamily,
    attributes: Vec<&'l LinkAttribute>,
}

/// Cells of one array of a family that are read together.
#[derive(Debug)]
pub struct LinkBatch<'l> {
    array: usize,
    keys: Vec<&'l [i64]>,
}

/// The links of one cell.
#[derive(Debug)]
pub struct DecodedLinks<'l> {
    links: &'l LinkArray,
    key: &'l [i64],
    ends: Vec<i64>,
    records: Bytes,
    /// For each attribute its cell, if it has one.
    values: Vec<Option<(&'l LinkAttribute, &'l Arc<GridArray>, Bytes)>>,
    /// Number of the array in [`LinkFamily::arrays`].
    pub array: usize,
    /// Whether pairs are stored from parent to child, and are returned in reverse order (trap T5).
    pub turned: bool,
}

/// One link.
#[derive(Debug)]
pub struct StoredLink<'r> {
    /// The chunks of the ends in the order of the application, K numbers each.
    pub chunks: &'r [i64],
    /// The rows of the ends in their chunks; 4294967295 means a row number beyond any chunk.
    pub rows: &'r [u32],
    /// The value of each of [`LinkReader::attributes`], little-endian; `None` in a cell without values.
    pub values: &'r [Option<&'r [u8]>],
}

impl Level {
    /// A reader of all links of one of the level's families. Attributes of type `object` are left out (trap T14).
    #[must_use]
    pub fn link_reader<'l>(&'l self, family: &'l LinkFamily) -> LinkReader<'l> {
        let attributes = family.attributes().iter();
        LinkReader {
            level: self,
            family,
            attributes: attributes
                .filter(|one| one.dtype.kind != DTypeKind::Object)
                .collect(),
        }
    }
}

impl<'l> LinkReader<'l> {
    /// The attributes with values to read.
    #[must_use]
    pub fn attributes(&self) -> &[&'l LinkAttribute] {
        &self.attributes
    }

    /// All cells in the order of record numbers (0.9, section 13.5), as many at a time as are read together.
    #[must_use]
    pub fn batches(&self) -> Vec<LinkBatch<'l>> {
        let mut batches = Vec::new();
        for (array, links) in self.family.arrays().iter().enumerate() {
            let mut keys: Vec<&[i64]> = links.array.presence().iter().collect();
            keys.sort_unstable_by(|a, b| cmp_ascii(a, b));
            let keys = keys.chunks(BATCH).map(<[_]>::to_vec);
            batches.extend(keys.map(|keys| LinkBatch { array, keys }));
        }
        batches
    }

    /// Reads cells.
    ///
    /// # Cost
    /// One round of requests. All cells of the batch are in memory.
    ///
    /// # Errors
    /// The errors of [`Store::fetch_map`](crate::Store::fetch_map).
    pub fn read<'r>(
        &'r self,
        batch: &'r LinkBatch<'l>,
    ) -> BoxFuture<'r, Result<Vec<DecodedLinks<'l>>, StoreError>> {
        Box::pin(async move {
            let number = batch.array;
            let links = self.family.arrays().get(number);
            let links =
                links.ok_or_else(|| StoreError::bug("a batch without an array of links"))?;
            let values = self.attributes.iter();
            let values: Vec<Option<(&LinkAttribute, &Arc<GridArray>)>> = values
                .map(|one| Some((*one, one.arrays.get(number)?.as_ref()?)))
                .collect();
            let beside = values.iter().flatten().map(|(_, array)| *array);
            let arrays: Vec<_> = [&links.array].into_iter().chain(beside).collect();
            let asked = |one: &Arc<GridArray>, key: &[i64]| one.presence().contains(key);
            let cells = self.level.cells(&arrays, &batch.keys, asked).await?;
            let turned = self.level.store().implies_edges()
                && self.family.parent_first(links)
                && links.width() == 2;
            let mut found = Vec::with_capacity(batch.keys.len());
            for (key, cells) in batch.keys.iter().zip(cells) {
                let mut cells = cells.into_iter();
                // A cell that is not stored is empty.
                let records = cells.next().flatten().unwrap_or_default();
                let values = values.iter().map(|value| {
                    let (attribute, array) = (*value)?;
                    let cell = cells.next().flatten().filter(|cell| !cell.is_empty());
                    Some((attribute, array, cell?))
                });
                let values = values.collect();
                let mut ends = Vec::new();
                links.endpoint_chunks(key, &mut ends)?;
                found.push(DecodedLinks {
                    links,
                    key,
                    ends,
                    records,
                    values,
                    array: number,
                    turned,
                });
            }
            Ok(found)
        })
    }
}

impl DecodedLinks<'_> {
    /// Calls `each` with every link in stored order; never if all of them are copies of links in another cell.
    ///
    /// # Errors
    /// The errors of `each`. Malformed: damaged cells, or another number of values than of links.
    pub fn each<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(&StoredLink<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.links.is_copy(&self.ends) {
            return Ok(());
        }
        let wrong = |what: String| {
            let place = format!(
                "{} at {}",
                self.links.array.path(),
                ChunkCoord::new(self.key)
            );
            StoreError::malformed(place, what)
        };
        let cell = self.links.decode(self.key, &self.records)?;
        let columns = self.values.iter().map(|values| {
            let Some((attribute, array, values)) = values else {
                return Ok(None);
            };
            let values = attribute.decode(array, values.clone(), cell.len());
            let values = values.map_err(|fault| fault.error(array, &ChunkCoord::new(self.key)));
            values.map(Some)
        });
        let columns = columns.collect::<Result<Vec<_>, StoreError>>()?;
        let rank = self.links.chunk_rank().max(1);
        let mut record = vec![Endpoint::default(); self.links.width()];
        let (mut chunks, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..cell.len() {
            if !cell.record(number, &mut record) {
                return Err(wrong(format!("record {number} cannot be read")).into());
            }
            if self.turned {
                record.reverse();
            }
            chunks.clear();
            rows.clear();
            for end in &record {
                let chunk = self.ends.chunks_exact(rank).nth(end.which);
                let chunk = chunk
                    .ok_or_else(|| StoreError::bug("an endpoint of a link without a chunk"))?;
                chunks.extend_from_slice(chunk);
                rows.push(u32::try_from(end.row).unwrap_or(u32::MAX));
            }
            let number = u32::try_from(number).ok();
            values.clear();
            values.extend(columns.iter().map(|one| one.as_ref()?.row(number?)));
            each(&StoredLink {
                chunks: &chunks,
                rows: &rows,
                values: &values,
            })?;
        }
        Ok(())
    }
}

impl LinkAttribute {
    /// Bytes of a row of values.
    ///
    /// # Errors
    /// Limit: more bytes than memory can have.
    pub fn row_bytes(&self) -> Result<usize, StoreError> {
        let size = self.dtype.size();
        let width = usize::try_from(self.width).ok();
        width
            .and_then(|width| width.checked_mul(size))
            .ok_or_else(|| {
                let most = wide(usize::MAX / size.max(1));
                StoreError::limit(&self.name, "values of a link", self.width, most)
            })
    }

    /// The values in a cell of `array`, one of the attribute's arrays, for a cell of `links` links.
    ///
    /// # Errors
    /// The cell does not have one row for each link; a row has more bytes than memory can have.
    pub fn decode(
        &self,
        array: &GridArray,
        cell: Bytes,
        links: usize,
    ) -> Result<RowValues, CellFault> {
        let row = self.row_bytes().map_err(CellFault::Unreadable)?;
        if row.checked_mul(links) != Some(cell.len()) {
            let expected = format_args!("{row} for each of {links} links");
            return Err(CellFault::rows(
                format_args!("{} bytes", cell.len()),
                expected,
            ));
        }
        Ok(RowValues::new(row, array.little_endian(cell)))
    }

    /// A row of the value for missing data, NaN; `None` if the type has no NaN.
    #[must_use]
    pub fn absent_row(&self) -> Option<Vec<u8>> {
        let width = usize::try_from(self.width).ok()?.max(1);
        Some(crate::chunks::nan(self.dtype.kind)?.repeat(width))
    }
}
