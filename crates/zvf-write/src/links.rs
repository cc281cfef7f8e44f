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
use crate::error::{OrBug, internal};
use crate::form::LinksBy;
use crate::int::{index, narrow};
use crate::layout::row_size;
use crate::record::{records, take, take_link};
use crate::spec::{AttributeSpec, StoreSpec};
use crate::spill::SpillFile;
use crate::tuples::{Policy, Tuples, Valued};

/// Number of an array of the family, and number of the chunk of the first stored endpoint.
type Place = (u32, u32);

/// Puts links into buckets, one for each cell.
#[derive(Debug)]
pub struct Placer<'s> {
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
    pub fn new(spec: &'s StoreSpec, chunks: &'s [&'s [i64]], budget: usize, folder: &Path) -> Self {
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
            let inside = vec![0; (spec.links.width - 1) * spec.key_rank()];
            placer.numbers.insert(inside.clone(), 0);
            placer.segments.push(inside);
        }
        placer
    }

    /// Places one link. Ends are in the order of the application.
    pub fn push(&mut self, ends: &[End], attributes: &[u8]) -> Result<(), WriteError> {
        let failed =
            |source| WriteError::input("link", format!("{source}"), "a link that can be placed");
        let chunks = self.chunks;
        let points: Vec<Endpoint<'_>> = ends
            .iter()
            .map(|&(chunk, row)| {
                let chunk = chunks.get(index(chunk));
                Ok(Endpoint {
                    chunk: chunk.or_bug("a link to no chunk")?,
                    row: i64::from(row),
                })
            })
            .collect::<Result<_, WriteError>>()?;
        self.links += 1;
        if let Some(tuples) = &mut self.tuples {
            let mut rest = attributes;
            let list = self.spec.links.attributes.iter();
            let values = list.map(|one| take(&mut rest, row_size(one)).map(Some));
            return tuples.push(&points, &values.collect::<Result<Vec<_>, _>>()?);
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
        let first = order.next().or_bug("a link without ends")?;
        let (Some(source), Some(&(slot, _))) = (points.get(first), ends.get(first)) else {
            return Err(WriteError::bug("a link that begins at no end"));
        };
        let has = |&at: &u8| usize::from(at) < ends.len().min(points.len());
        internal!(
            placement.iter().all(has),
            "a link is placed by ends that it does not have"
        );
        self.offsets.clear();
        for at in order {
            let point = points.get(at).or_bug("a link without this end")?;
            for (&to, &from) in point.chunk.iter().zip(source.chunk) {
                let step = to.checked_sub(from);
                let too_far = || {
                    WriteError::input("link", "chunks further apart than 2^63", "a nearer chunk")
                };
                self.offsets.push(step.ok_or_else(too_far)?);
            }
        }
        let place = (self.segment()?, slot);
        let number = self.buckets.number(&place, |&place| place);
        self.buckets.push(number, |out| {
            out.extend_from_slice(placement);
            for &at in placement {
                // Every end was found above.
                let row = ends.get(usize::from(at)).map(|(_, row)| row.to_le_bytes());
                out.extend(row.into_iter().flatten());
            }
            out.extend_from_slice(attributes);
        })?;
        self.records += 1;
        self.buckets.relieve()
    }

    /// The number of the array with the offsets at hand.
    fn segment(&mut self) -> Result<u32, WriteError> {
        if let Some(&number) = self.numbers.get(&self.offsets) {
            return Ok(number);
        }
        let number = narrow("arrays of links", self.segments.len())?;
        self.segments.push(self.offsets.clone());
        self.numbers.insert(self.offsets.clone(), number);
        Ok(number)
    }

    /// Links that were placed, each counted once.
    pub(crate) fn links(&self) -> u64 {
        self.links
    }

    /// The family, where there is one, and its cells.
    pub fn finish(self) -> (Family<'s>, Vec<(Place, Bucket)>, SpillFile) {
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
pub struct LinkCell {
    pub rows: Vec<u8>,
    /// One for each attribute.
    pub attributes: Vec<Vec<u8>>,
    /// How many rows each of them has.
    pub count: i64,
}

/// A placed family: names, forms and documents of its arrays.
#[derive(Debug)]
pub struct Family<'s> {
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
    pub(crate) fn arrays(&self) -> impl Iterator<Item = u32> {
        (0_u32..).zip(&self.segments).map(|(number, _)| number)
    }

    pub(crate) fn offsets(&self, array: u32) -> Result<&[i64], WriteError> {
        let offsets = self.segments.get(index(array)).map(Vec::as_slice);
        offsets.or_bug(format_args!("no array {array} of links"))
    }

    fn form(&self, array: u32) -> Result<CellForm, WriteError> {
        let links = &self.spec.links;
        let duplicate = links.store == LinkStore::Duplicate;
        Ok(CellForm::derive(
            links.width,
            0,
            self.offsets(array)?,
            links.directed,
            duplicate,
            Elem::I64,
        ))
    }

    /// Whether the links of an array lie inside one chunk each.
    pub fn is_inner(&self, array: u32) -> Result<bool, WriteError> {
        Ok(self.offsets(array)?.iter().all(|&step| step == 0))
    }

    /// The path segment of an array.
    pub fn segment(&self, array: u32) -> Result<String, WriteError> {
        Ok(format_offsets(self.offsets(array)?, self.spec.key_rank()).to_string())
    }

    /// The payloads of a cell.
    pub fn cell(&self, array: u32, bytes: &[u8]) -> Result<LinkCell, WriteError> {
        let width = self.spec.links.width;
        let sizes: Vec<usize> = self.spec.links.attributes.iter().map(row_size).collect();
        let record = width * 5 + sizes.iter().sum::<usize>();
        let mut builder = LinkCellBuilder::new(self.form(array)?);
        let segment = self.segment(array)?;
        let mut columns = vec![Vec::new(); sizes.len()];
        for mut record in records(bytes, record)? {
            let (placement, rows) = take_link(&mut record, width)?;
            builder
                .push(placement, &rows)
                .map_err(|source| WriteError::encode(format!("links/0/{segment}"), source))?;
            for (column, &size) in columns.iter_mut().zip(&sizes) {
                column.extend_from_slice(take(&mut record, size)?);
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
    pub fn links_attributes(&self, array: u32) -> Result<ArrayAttributes, WriteError> {
        Ok(ArrayAttributes {
            zv_array: Some("links".to_owned()),
            dtype: Some("int64".to_owned()),
            offsets: Some(self.offset_lists(array)?),
            has_perm: Some(self.form(array)?.has_perm),
            link_width: u32::try_from(self.spec.links.width).ok(),
            level_delta: Some(0),
            ..ArrayAttributes::default()
        })
    }

    /// Attributes of an array of link attributes.
    pub fn attribute_attributes(
        &self,
        array: u32,
        one: &AttributeSpec,
    ) -> Result<ArrayAttributes, WriteError> {
        Ok(ArrayAttributes {
            zv_array: Some("link_attribute".to_owned()),
            dtype: Some(one.values.name()),
            offsets: Some(self.offset_lists(array)?),
            level_delta: Some(0),
            ..crate::documents::channels(one)
        })
    }

    fn offset_lists(&self, array: u32) -> Result<Vec<Vec<i64>>, WriteError> {
        let lists = self.offsets(array)?.chunks(self.spec.key_rank());
        Ok(lists.map(<[i64]>::to_vec).collect())
    }

    /// The document of `links/0`.
    pub fn family_doc(&self) -> LinkFamilyDoc {
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
    pub fn attribute_doc(&self, one: &AttributeSpec) -> LinkAttributeFamilyDoc {
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
pub fn split(mut record: &[u8], width: usize) -> Result<(Vec<u64>, &[u8]), WriteError> {
    let ends = take(&mut record, width * 8)?;
    Ok((
        ends.as_chunks::<8>()
            .0
            .iter()
            .map(|end| u64::from_le_bytes(*end))
            .collect(),
        record,
    ))
}

/// Bytes of a queued link.
pub fn queued_size(spec: &StoreSpec) -> usize {
    let values = spec.links.attributes.iter().map(row_size);
    spec.links.width * 8 + values.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::{Placer, split};
    use crate::WriteError;
    use crate::spec::StoreSpec;

    #[test]
    fn no_link_is_left_out() {
        let spec = StoreSpec::new(Kind::Graph, [10.0; 1]);
        let chunks: [&[i64]; 2] = [&[0], &[1]];
        let mut placer = Placer::new(&spec, &chunks, 1 << 20, &std::env::temp_dir());
        placer.push(&[(0, 3), (1, 4)], &[]).unwrap();
        let bug = |found: Result<usize, WriteError>| matches!(found, Err(WriteError::Bug { .. }));
        assert!(bug(placer.push(&[(0, 3), (2, 4)], &[]).map(|()| 0)));
        let (family, cells, file) = placer.finish();
        let [((array, slot), bucket)] = <[_; 1]>::try_from(cells).unwrap();
        assert_eq!(
            (array, slot, family.offsets(array).unwrap()),
            (1, 0, &[1][..])
        );
        let records = bucket.read(&file).unwrap();
        assert_eq!(family.cell(array, &records).unwrap().count, 1);
        assert!(bug(family
            .cell(array, &records[1..])
            .map(|cell| cell.rows.len())));
        assert!(bug(family.offsets(2).map(<[i64]>::len)));
        assert!(bug(split(&[0; 15], 2).map(|(ends, _)| ends.len())));
    }
}
