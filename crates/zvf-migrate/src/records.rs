//! Records of links as an old store has them: endpoints in the order of the application, with their values.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use zvf_format::dtype::DTypeKind;
use zvf_format::keys::cmp_ascii;
use zvf_meta::{Kind, LinksConvention};
use zvf_store::{Endpoint, GridArray, LinkAttribute, LinkFamily};

use super::source::{BATCH, Source};
use zvf_encode::error::OrBug;
use zvf_encode::records::row_of;
use zvf_encode::{NumberType, WriteError};
use zvf_format::int::wide;

/// One record: for each endpoint its chunk and row, and for each attribute the bytes of its value.
#[derive(Debug)]
pub(super) struct Record<'r> {
    /// K numbers for each endpoint.
    pub(super) chunks: &'r [i64],
    pub(super) rows: &'r [u32],
    pub(super) values: &'r [Option<&'r [u8]>],
}

/// What was read of a family.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Read {
    /// Pairs that were turned around.
    pub(super) turned: u64,
    /// Links of the arrays that `num_links` [counts](LinkFamily::counts).
    pub(super) counted: u64,
}

/// A family, and those of its attributes whose values can be carried.
#[derive(Debug)]
pub(super) struct Family<'f> {
    pub(super) links: &'f LinkFamily,
    pub(super) attributes: Vec<&'f LinkAttribute>,
    /// Endpoints of pairs between chunks are turned around (trap T5).
    reversed: bool,
}

/// Whether edges of trees are implied by the order of rows.
pub(super) fn is_implied_tree(source: &Source) -> bool {
    let store = source.level.store();
    // The convention that holds where none is stated.
    let convention = store.root().links_convention().unwrap_or_default();
    store.kind() == Kind::Skeleton && convention == LinksConvention::ImplicitSequentialWithBranches
}

/// Bytes of a value of an attribute.
pub(super) fn value_bytes(attribute: &LinkAttribute) -> Result<usize, WriteError> {
    zvf_encode::batches::row_bytes("values of a link", attribute.width, attribute.dtype)
}

/// A value of an attribute that means absence, where the type has one.
pub(super) fn absent(attribute: &LinkAttribute) -> Option<Vec<u8>> {
    NumberType::from_kind(attribute.dtype.kind)?.nan()
}

impl<'f> Family<'f> {
    pub(super) fn new(source: &Source, links: &'f LinkFamily) -> Self {
        let attributes = links.attributes().iter();
        Self {
            links,
            attributes: attributes
                .filter(|one| one.dtype.kind != DTypeKind::Object)
                .collect(),
            reversed: is_implied_tree(source),
        }
    }

    /// Calls `each` with every record, copies of duplicate families once.
    ///
    /// # Errors
    /// I/O; damaged cells; values that are not as many as records.
    pub(super) fn each(
        &self,
        source: &Source,
        mut each: impl FnMut(&Record<'_>) -> Result<(), WriteError>,
    ) -> Result<Read, WriteError> {
        let mut read = Read::default();
        for (number, array) in self.links.arrays().iter().enumerate() {
            let counted = u64::from(self.links.counts(array));
            let mut each = |record: &Record<'_>| {
                read.counted += counted;
                each(record)
            };
            let mut keys: Vec<&[i64]> = array.array.presence().iter().collect();
            keys.sort_unstable_by(|a, b| cmp_ascii(a, b));
            let of: Vec<Option<&Arc<GridArray>>> = self
                .attributes
                .iter()
                .map(|one| one.arrays.get(number).and_then(Option::as_ref))
                .collect();
            let reversed = self.reversed && self.links.parent_first(array) && array.width() == 2;
            let arrays = [&array.array].into_iter();
            let arrays: Vec<_> = arrays.chain(of.iter().copied().flatten()).collect();
            let asked = |one: &Arc<GridArray>, key: &[i64]| one.presence().contains(key);
            for part in keys.chunks(BATCH) {
                let cells = source.level.cells(&arrays, part, asked);
                for (key, cells) in part.iter().zip(source.handle.block_on(cells)?) {
                    let mut cells = cells.into_iter();
                    // A cell that is not stored is an empty one.
                    let cell = cells.next().flatten().unwrap_or_default();
                    let value = |one: &Option<&Arc<GridArray>>| {
                        let array = (*one)?;
                        let cell = cells.next().flatten();
                        cell.map(|bytes| array.little_endian(bytes))
                    };
                    let values: Vec<Option<Bytes>> = of.iter().map(value).collect();
                    read.turned += self.cell(number, key, &cell, &values, reversed, &mut each)?;
                }
            }
        }
        Ok(read)
    }

    fn cell(
        &self,
        number: usize,
        key: &[i64],
        cell: &[u8],
        values: &[Option<Bytes>],
        reversed: bool,
        each: &mut impl FnMut(&Record<'_>) -> Result<(), WriteError>,
    ) -> Result<u64, WriteError> {
        let array = self.links.arrays().get(number);
        let array = array.or_bug(format_args!("no array {number} of links"))?;
        let place = || format!("{} at {key:?}", array.array.path());
        let mut ends = Vec::new();
        array.endpoint_chunks(key, &mut ends)?;
        if array.is_copy(&ends) {
            return Ok(0);
        }
        let cell = array.decode(key, cell)?;
        let mut columns: Vec<Option<(&[u8], usize)>> = Vec::new();
        for (attribute, bytes) in self.attributes.iter().zip(values) {
            let size = value_bytes(attribute)?;
            let column = bytes.as_deref().filter(|bytes| !bytes.is_empty());
            if let Some(bytes) = column.filter(|b| Some(b.len()) != cell.len().checked_mul(size)) {
                let what = format!(
                    "link attribute {:?} has {} bytes, expected {size} for each of {} records",
                    attribute.name,
                    bytes.len(),
                    cell.len()
                );
                return Err(WriteError::source(place(), what));
            }
            columns.push(column.map(|bytes| (bytes, size)));
        }
        let rank = array.chunk_rank().max(1);
        let mut record = vec![Endpoint::default(); array.width()];
        let (mut chunks, mut rows) = (Vec::new(), Vec::new());
        let mut turned = 0_u64;
        for i in 0..cell.len() {
            if !cell.record(i, &mut record) {
                return Err(WriteError::source(
                    place(),
                    format!("record {i} cannot be read"),
                ));
            }
            if reversed {
                record.reverse();
                turned += 1;
            }
            chunks.clear();
            rows.clear();
            for end in &record {
                let chunk = row_of(&ends, end.which, rank);
                chunks.extend(chunk.or_bug("a link with more ends than chunks")?);
                // A row that no chunk can have is one that is not there.
                rows.push(u32::try_from(end.row).unwrap_or(u32::MAX));
            }
            let mut values: Vec<Option<&[u8]>> = Vec::with_capacity(columns.len());
            for column in &columns {
                values.push(match column {
                    Some((bytes, size)) => {
                        Some(row_of(bytes, i, *size).or_bug("a link without a value")?)
                    }
                    None => None,
                });
            }
            each(&Record {
                chunks: &chunks,
                rows: &rows,
                values: &values,
            })?;
        }
        Ok(turned)
    }

    /// Cells of the family, for messages and estimates.
    pub(super) fn cells(&self) -> u64 {
        let arrays = self.links.arrays().iter();
        arrays.map(|one| wide(one.array.presence().len())).sum()
    }

    /// Attributes that cannot be carried.
    pub(super) fn lost(&self) -> Vec<&str> {
        let kept: HashSet<&str> = self
            .attributes
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let all = self.links.attributes().iter().map(|one| one.name.as_str());
        all.filter(|name| !kept.contains(name)).collect()
    }
}
