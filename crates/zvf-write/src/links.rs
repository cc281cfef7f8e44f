//! Step 3: links go to the cells of their arrays (0.9 §13).

use std::collections::HashMap;
use std::path::Path;

use zvf_format::keys::format_offsets;
use zvf_format::links::{
    CellForm, Elem, Endpoint, LinkCellBuilder, canonical_order, duplicate_order,
};
use zvf_meta::{ArrayAttributes, LinkAttributeFamilyDoc, LinkFamilyDoc, LinkStore};

use crate::WriteError;
use crate::bucket::{Bucket, Buckets};
use crate::form::LinksBy;
use crate::int::wide;
use crate::layout::row_size;
use crate::spec::{AttributeSpec, StoreSpec};
use crate::spill::SpillFile;
use crate::tuples::{Policy, Tuples, Valued};

/// Number of an array of the family, and number of the chunk of the first stored endpoint.
type Place = (u32, u32);

/// Puts links into buckets, one for each cell.
#[derive(Debug)]
pub(crate) struct Placer<'s> {
    spec: &'s StoreSpec,
    /// All chunks, in lex order.
    chunks: &'s [&'s [i64]],
    /// Offsets of each array.
    segments: Vec<Vec<i64>>,
    numbers: HashMap<Vec<i64>, u32>,
    buckets: Buckets<Place>,
    /// Links as they were given.
    links: u64,
    /// Rows on disk.
    records: u64,
    offsets: Vec<i64>,
    /// Takes all links, where they are found by their chunks.
    pub(crate) tuples: Option<Tuples>,
}

/// An endpoint: number of its chunk, and row.
pub(crate) type End = (u32, u32);

impl<'s> Placer<'s> {
    pub(crate) fn new(
        spec: &'s StoreSpec,
        chunks: &'s [&'s [i64]],
        budget: usize,
        folder: &Path,
    ) -> Self {
        let mut placer = Self {
            spec,
            chunks,
            segments: Vec::new(),
            numbers: HashMap::new(),
            buckets: Buckets::new(budget, folder),
            links: 0,
            records: 0,
            offsets: Vec::new(),
            tuples: (spec.target.form().links == LinksBy::Chunks)
                .then(|| tuples(spec, budget, folder)),
        };
        if spec.takes_links() && placer.tuples.is_none() {
            // The array of links inside chunks is there even if no link is.
            placer.offsets = vec![0; (spec.links.width - 1).saturating_mul(spec.key_rank())];
            placer.segment();
        }
        placer
    }

    /// Places one link. Ends are in the order of the application.
    pub(crate) fn push(&mut self, ends: &[End], attributes: &[u8]) -> Result<(), WriteError> {
        let failed =
            |source| WriteError::input("link", format!("{source}"), "a link that can be placed");
        let chunks = self.chunks;
        let points: Vec<Endpoint<'_>> = ends
            .iter()
            .filter_map(|&(chunk, row)| {
                let chunk = chunks.get(usize::try_from(chunk).ok()?)?;
                Some(Endpoint {
                    chunk,
                    row: i64::from(row),
                })
            })
            .collect();
        self.links = self.links.saturating_add(1);
        if let Some(tuples) = &mut self.tuples {
            let mut rest = attributes;
            let list = self.spec.links.attributes.iter();
            let values = list.map(|one| {
                let (value, others) = rest.split_at_checked(row_size(one)).unwrap_or_default();
                rest = others;
                Some(value)
            });
            return tuples.push(&points, &values.collect::<Vec<_>>());
        }
        if self.spec.links.store == LinkStore::Duplicate {
            let mut placements = Vec::new();
            duplicate_order(&points, |placement| placements.push(placement.to_vec()))
                .map_err(failed)?;
            for placement in placements {
                self.put(&points, ends, &placement, attributes)?;
            }
            return Ok(());
        }
        let mut placement = vec![0; points.len()];
        if self.spec.links.directed {
            (0_u8..)
                .zip(&mut placement)
                .for_each(|(at, slot)| *slot = at);
        } else {
            canonical_order(&points, &mut placement).map_err(failed)?;
        }
        self.put(&points, ends, &placement, attributes)
    }

    fn put(
        &mut self,
        points: &[Endpoint<'_>],
        ends: &[End],
        placement: &[u8],
        attributes: &[u8],
    ) -> Result<(), WriteError> {
        let mut order = placement.iter().map(|&at| usize::from(at));
        let first = order.next().unwrap_or(0);
        let (Some(source), Some(&(slot, _))) = (points.get(first), ends.get(first)) else {
            return Err(WriteError::bug("a link without ends"));
        };
        let has = |&at: &u8| usize::from(at) < ends.len().min(points.len());
        if !placement.iter().all(has) {
            return Err(WriteError::bug(
                "a link is placed by ends that it does not have",
            ));
        }
        self.offsets.clear();
        for at in order {
            let chunk = points.get(at).map_or(source.chunk, |point| point.chunk);
            for (&to, &from) in chunk.iter().zip(source.chunk) {
                let step = to.checked_sub(from);
                let too_far = || {
                    WriteError::input("link", "chunks further apart than 2^63", "a nearer chunk")
                };
                self.offsets.push(step.ok_or_else(too_far)?);
            }
        }
        let place = (self.segment(), slot);
        let number = self.buckets.number(&place, |&place| place);
        self.buckets.push(number, |out| {
            out.extend_from_slice(placement);
            for &at in placement {
                let row = ends.get(usize::from(at)).map_or(0, |&(_, row)| row);
                out.extend_from_slice(&row.to_le_bytes());
            }
            out.extend_from_slice(attributes);
        })?;
        self.records = self.records.saturating_add(1);
        self.buckets.relieve()
    }

    /// The number of the array with the offsets at hand.
    fn segment(&mut self) -> u32 {
        if let Some(&number) = self.numbers.get(&self.offsets) {
            return number;
        }
        // One a pair of chunks at most, and those are counted in 32 bits.
        let number = u32::try_from(self.segments.len()).unwrap_or(u32::MAX);
        self.segments.push(self.offsets.clone());
        self.numbers.insert(self.offsets.clone(), number);
        number
    }

    /// Links that were placed, each counted once.
    pub(crate) fn links(&self) -> u64 {
        self.links
    }

    /// The family, where there is one, and its cells.
    pub(crate) fn finish(self) -> (Family<'s>, Vec<(Place, Bucket)>, SpillFile) {
        let (cells, file) = self.buckets.finish();
        let family = Family {
            spec: self.spec,
            segments: self.segments,
            links: self.links,
            records: self.records,
        };
        (family, cells, file)
    }
}

/// What takes links that are found by their chunks.
fn tuples(spec: &StoreSpec, budget: usize, folder: &Path) -> Tuples {
    let policy = Policy {
        delta: 0,
        width: spec.links.width,
        directed: spec.links.directed,
        store: spec.links.store,
        rank: spec.key_rank(),
        inner: spec.takes_links(),
    };
    let values = spec.links.attributes.iter().map(|one| Valued {
        name: one.name.clone(),
        size: row_size(one),
        absent: None,
        attributes: ArrayAttributes {
            dtype: Some(one.values.name()),
            ..crate::documents::channels(one)
        },
    });
    Tuples::new(policy, values.collect(), budget, folder)
}

/// The payloads of one cell of links.
#[derive(Debug)]
pub(crate) struct LinkCell {
    pub(crate) rows: Vec<u8>,
    /// One for each attribute.
    pub(crate) attributes: Vec<Vec<u8>>,
    /// How many rows each of them has.
    pub(crate) count: i64,
}

/// A placed family: names, forms and documents of its arrays.
#[derive(Debug)]
pub(crate) struct Family<'s> {
    pub(crate) spec: &'s StoreSpec,
    /// Offsets of each array.
    pub(crate) segments: Vec<Vec<i64>>,
    /// Links as they were given.
    pub(crate) links: u64,
    /// Rows on disk.
    pub(crate) records: u64,
}

impl Family<'_> {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Numbers of the arrays.
    pub(crate) fn arrays(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn offsets(&self, array: u32) -> &[i64] {
        let at = usize::try_from(array).unwrap_or(usize::MAX);
        self.segments.get(at).map_or(&[], Vec::as_slice)
    }

    fn form(&self, array: u32) -> CellForm {
        let links = &self.spec.links;
        let duplicate = links.store == LinkStore::Duplicate;
        CellForm::derive(
            links.width,
            0,
            self.offsets(array),
            links.directed,
            duplicate,
            Elem::I64,
        )
    }

    /// Whether the links of an array lie inside one chunk each.
    pub(crate) fn is_inner(&self, array: u32) -> bool {
        self.offsets(array).iter().all(|&step| step == 0)
    }

    /// The path segment of an array.
    pub(crate) fn segment(&self, array: u32) -> String {
        format_offsets(self.offsets(array), self.spec.key_rank()).to_string()
    }

    /// The payloads of a cell.
    pub(crate) fn cell(&self, array: u32, records: &[u8]) -> Result<LinkCell, WriteError> {
        let width = self.spec.links.width;
        let sizes: Vec<usize> = self.spec.links.attributes.iter().map(row_size).collect();
        let record = sizes.iter().fold(width.saturating_mul(5), |sum, &size| {
            sum.saturating_add(size)
        });
        let mut builder = LinkCellBuilder::new(self.form(array));
        let mut columns = vec![Vec::new(); sizes.len()];
        let mut rows = Vec::with_capacity(width);
        for record in records.chunks_exact(record) {
            let (placement, rest) = record.split_at_checked(width).unwrap_or_default();
            let (stored, mut values) = rest
                .split_at_checked(width.saturating_mul(4))
                .unwrap_or_default();
            rows.clear();
            rows.extend(
                stored
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|row| i64::from(u32::from_le_bytes(*row))),
            );
            builder.push(placement, &rows).map_err(|source| {
                WriteError::encode(format!("links/0/{}", self.segment(array)), source)
            })?;
            for (column, &size) in columns.iter_mut().zip(&sizes) {
                let (value, others) = values.split_at_checked(size).unwrap_or_default();
                column.extend_from_slice(value);
                values = others;
            }
        }
        let count = crate::int::signed(builder.len());
        Ok(LinkCell {
            rows: builder.finish(),
            attributes: columns,
            count,
        })
    }

    /// Attributes of a link array.
    pub(crate) fn links_attributes(&self, array: u32) -> ArrayAttributes {
        ArrayAttributes {
            zv_array: Some("links".to_owned()),
            dtype: Some("int64".to_owned()),
            offsets: Some(self.offset_lists(array)),
            has_perm: Some(self.form(array).has_perm),
            link_width: u32::try_from(self.spec.links.width).ok(),
            level_delta: Some(0),
            ..ArrayAttributes::default()
        }
    }

    /// Attributes of an array of link attributes.
    pub(crate) fn attribute_attributes(&self, array: u32, one: &AttributeSpec) -> ArrayAttributes {
        ArrayAttributes {
            zv_array: Some("link_attribute".to_owned()),
            dtype: Some(one.values.name()),
            offsets: Some(self.offset_lists(array)),
            level_delta: Some(0),
            ..crate::documents::channels(one)
        }
    }

    fn offset_lists(&self, array: u32) -> Vec<Vec<i64>> {
        self.offsets(array)
            .chunks(self.spec.key_rank())
            .map(<[i64]>::to_vec)
            .collect()
    }

    /// The document of `links/0`.
    pub(crate) fn family_doc(&self) -> LinkFamilyDoc {
        LinkFamilyDoc {
            zv_array: Some("links_family".to_owned()),
            level_delta: Some(0),
            link_width: u32::try_from(self.spec.links.width).ok(),
            directed: self.spec.links.directed,
            store: self.spec.links.store,
            sid_ndim: u32::try_from(self.spec.key_rank()).ok(),
            num_links: Some(self.links),
            num_physical_records: Some(self.records),
            ..LinkFamilyDoc::default()
        }
    }

    /// The document of `link_attributes/<name>/0`.
    pub(crate) fn attribute_doc(&self, one: &AttributeSpec) -> LinkAttributeFamilyDoc {
        LinkAttributeFamilyDoc {
            zv_array: Some("link_attribute_family".to_owned()),
            name: Some(one.name.clone()),
            level_delta: Some(0),
            num_links: Some(self.links),
            ..LinkAttributeFamilyDoc::default()
        }
    }
}

/// Marks the child of a queued link of a skeleton that is another fragment's than its parent, by the values of fragments:
/// such a link is stored wherever its rows lie. Numbers of vertices stay below 2^62.
pub(crate) const CUT: u64 = 1 << 63;

/// The endpoints and attributes of a queued link.
pub(crate) fn split(record: &[u8], width: usize) -> (Vec<u64>, &[u8]) {
    let (ends, attributes) = record
        .split_at_checked(width.saturating_mul(8))
        .unwrap_or_default();
    (
        ends.as_chunks::<8>()
            .0
            .iter()
            .map(|end| u64::from_le_bytes(*end))
            .collect(),
        attributes,
    )
}

/// Bytes of a queued link.
pub(crate) fn queued_size(spec: &StoreSpec) -> u64 {
    let ends = wide(spec.links.width).saturating_mul(8);
    spec.links
        .attributes
        .iter()
        .fold(ends, |sum, one| sum.saturating_add(wide(row_size(one))))
}
