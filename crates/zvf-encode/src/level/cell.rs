//! Encodes the records of a chunk as its cells.

use std::ops::Range;

use zvf_format::fragments::FragmentIndexBuilder;
use zvf_meta::Kind;
use zvf_meta::space::{bins_per_chunk, chunk_at};

use crate::WriteError;
use crate::batches::categories::Dictionary;
use crate::batches::copy::{gather, together};
use crate::batches::layout::VertexLayout;
use crate::error::{OrBug, internal, narrow, signed64, to_index};
use crate::records::record::{records, row_of};
use crate::records::sorter::PlacedRows;
use crate::spec::store::StoreSpec;
use crate::values::number::NumberType;
use zvf_format::int::{index, signed, wide};

/// How the rows of a chunk become fragments (0.9 §10.2).
#[derive(Debug, Clone, PartialEq, Eq)]
enum FragmentCut {
    /// One fragment per bin, including empty ones; numbers of bins along each axis.
    Bins(Vec<u64>),
    /// One fragment per object, and per value of the fragment attributes.
    Objects,
    /// One fragment for each run of consecutive vertices of an object.
    Runs,
    /// One fragment per tree: only the first row has no parent.
    Trees,
}

/// Encodes the records of chunks: sorts rows, cuts them into fragments, and produces the payloads of cells.
#[derive(Debug)]
pub struct ChunkEncoder<'s> {
    spec: &'s StoreSpec,
    layout: VertexLayout,
    dictionaries: Vec<Option<Dictionary>>,
    cut: FragmentCut,
    /// Whether [`EncodedChunk::vertices`] is filled.
    pub(crate) vertices: bool,
}

/// The payloads of the cells of one chunk, and the placement of its rows.
#[derive(Debug)]
pub struct EncodedChunk {
    /// Payload of `vertices`.
    pub positions: Vec<u8>,
    /// Payload of `vertex_fragments`.
    pub fragments: Vec<u8>,
    /// Payloads of the attributes, in the order of the specification.
    pub attributes: Vec<Vec<u8>>,
    /// Payloads of the attributes of fragments, in the order of the specification.
    pub(crate) fragment_attributes: Vec<Vec<u8>>,
    /// The fragments of objects.
    pub placed: Vec<PlacedRows>,
    /// The number of the vertex of each row, if links refer to vertices or the caller traces them; else empty.
    pub vertices: Vec<u64>,
}

/// A record and its sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RecordKey {
    /// Bin or object.
    group: i64,
    number: u64,
    record: usize,
}

impl<'s> ChunkEncoder<'s> {
    /// Creates an encoder of chunks for records of this layout. `dictionaries` has an entry for each vertex attribute: the texts of a
    /// category, `None` for numbers.
    ///
    /// # Errors
    /// Bug: bins that do not divide the chunk, which [`StoreSpec::check`] refuses.
    pub fn new(
        spec: &'s StoreSpec,
        layout: VertexLayout,
        dictionaries: Vec<Option<Dictionary>>,
    ) -> Result<Self, WriteError> {
        let cut = match spec.kind {
            Kind::PointCloud if !spec.objects && !spec.cuts_by_value() => {
                let bins = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
                let bins = bins_per_chunk(&spec.chunk_shape, bins);
                FragmentCut::Bins(bins.or_bug("bins that do not divide the chunk")?)
            }
            Kind::PointCloud | Kind::Graph | Kind::Mesh => FragmentCut::Objects,
            Kind::Line | Kind::Polyline | Kind::Streamline => FragmentCut::Runs,
            Kind::Skeleton => FragmentCut::Trees,
        };
        let vertices = spec.takes_links();
        Ok(Self {
            spec,
            layout,
            dictionaries,
            cut,
            vertices,
        })
    }

    /// Whether [`EncodedChunk::vertices`] is filled even if there are no links.
    pub(crate) fn with_vertices(mut self, vertices: bool) -> Self {
        self.vertices |= vertices;
        self
    }

    /// Bytes of one record.
    pub(crate) fn record_size(&self) -> u64 {
        wide(self.layout.width).max(1)
    }

    /// The dictionary of attribute `at`; `None` for numbers.
    pub(crate) fn dictionary(&self, at: usize) -> Option<&Dictionary> {
        self.dictionaries.get(at)?.as_ref()
    }

    /// Encodes the records of a chunk. `slot` is its number among all chunks.
    ///
    /// # Cost
    /// O(rows log rows); memory for the records and once more for the cells.
    pub fn encode(
        &self,
        chunk: &[i64],
        slot: u32,
        records: &[u8],
    ) -> Result<EncodedChunk, WriteError> {
        let keys = self.sorted(chunk, records)?;
        narrow("rows of one chunk", keys.len())?;
        let (fragments, placed) = self.fragments(slot, &keys, records)?;
        let fragment_attributes = self.fragment_attributes(&keys, &placed, records)?;
        let column = |range: &Range<usize>| {
            let order = keys.iter().map(|key| key.record);
            gather(records, self.layout.width, range.start, range.len(), order)
        };
        let positions = column(&self.layout.position)?;
        let mut attributes = Vec::new();
        for (range, dictionary) in self.layout.attributes.iter().zip(&self.dictionaries) {
            let values = column(range)?;
            attributes.push(match dictionary {
                Some(dictionary) => {
                    let mut cell = Vec::with_capacity(values.len());
                    let (codes, _) = values.as_chunks();
                    for code in codes {
                        dictionary.put(*code, &mut cell)?;
                    }
                    cell
                }
                None => values,
            });
        }
        let vertices = if self.vertices {
            keys.iter().map(|key| key.number).collect()
        } else {
            Vec::new()
        };
        Ok(EncodedChunk {
            positions,
            fragments,
            attributes,
            fragment_attributes,
            // Points without objects have fragments that no manifest lists.
            placed: if self.spec.has_objects() {
                placed
            } else {
                Vec::new()
            },
            vertices,
        })
    }

    fn record<'r>(&self, records: &'r [u8], at: usize) -> Result<&'r [u8], WriteError> {
        row_of(records, at, self.layout.width).or_bug(format_args!("no record {at}"))
    }

    /// The records sorted by group, then by the numbers of their vertices; within an object, equal values of fragment attributes are together.
    fn sorted(&self, chunk: &[i64], bytes: &[u8]) -> Result<Vec<RecordKey>, WriteError> {
        let rows = records(bytes, self.layout.width)?.enumerate();
        let key = |group: i64, (at, record): (usize, &[u8])| -> Result<RecordKey, WriteError> {
            Ok(RecordKey {
                group,
                number: VertexLayout::number(record)?,
                record: at,
            })
        };
        let FragmentCut::Bins(bins) = &self.cut else {
            let mut keys = rows
                .map(|row| key(self.layout.object(row.1)?, row))
                .collect::<Result<Vec<RecordKey>, _>>()?;
            keys.sort_unstable();
            if self.cut == FragmentCut::Objects && self.spec.cuts_by_value() {
                let value = |key: &RecordKey| self.layout.fragment(self.record(bytes, key.record)?);
                for object in keys.chunk_by_mut(|a, b| a.group == b.group) {
                    together(object, value)?;
                }
            }
            return Ok(keys);
        };
        if bins.iter().all(|&count| count == 1) {
            return Ok(in_order(
                rows.map(|row| key(0, row)).collect::<Result<_, _>>()?,
            ));
        }
        let groups = self.bins(chunk, bins, bytes)?;
        let many = groups.iter().max().map_or(0, |&last| last as usize + 1);
        let mut places = vec![0_usize; many];
        for &group in &groups {
            if let Some(place) = places.get_mut(group as usize) {
                *place += 1;
            }
        }
        let mut sum = 0_usize;
        for place in &mut places {
            let count = std::mem::replace(place, sum);
            sum += count;
        }
        internal!(
            sum == rows.len(),
            "{sum} of {} rows are in bins",
            rows.len()
        );
        let nothing = RecordKey {
            group: 0,
            number: 0,
            record: 0,
        };
        let mut keys = vec![nothing; groups.len()];
        for (&group, row) in groups.iter().zip(rows) {
            if let Some(place) = places.get_mut(group as usize) {
                if let Some(slot) = keys.get_mut(*place) {
                    *slot = key(i64::from(group), row)?;
                }
                *place += 1;
            }
        }
        Ok(in_order(keys))
    }

    /// The number of each row's bin in its chunk, axis 0 slowest.
    fn bins(&self, chunk: &[i64], bins: &[u64], records: &[u8]) -> Result<Vec<u32>, WriteError> {
        let (dims, layout) = (self.spec.dims(), &self.layout);
        let rows = records.len() / layout.width;
        let (at, width) = (layout.position.start, layout.position.len());
        let stored = gather(records, layout.width, at, width, 0..rows)?;
        let positions = self.spec.positions.to_f64(&stored);
        let sizes = self
            .spec
            .bin_shape
            .as_deref()
            .unwrap_or(&self.spec.chunk_shape);
        let mut numbers = vec![0_u32; rows];
        for (axis, ((&size, &chunk), &bins)) in sizes.iter().zip(chunk).zip(bins).enumerate() {
            let bins = u32::try_from(bins).or_bug("more than 2^24 bins")?;
            let column = positions.iter().skip(axis).step_by(dims);
            for (&value, number) in column.zip(&mut numbers) {
                // `local` is below `bins`, so `number` stays below the product of all bins.
                let local = local_bin(value, size, chunk, i64::from(bins))? as u32;
                *number = *number * bins + local;
            }
        }
        Ok(numbers)
    }

    fn fragments(
        &self,
        slot: u32,
        keys: &[RecordKey],
        records: &[u8],
    ) -> Result<(Vec<u8>, Vec<PlacedRows>), WriteError> {
        if let FragmentCut::Bins(bins) = &self.cut {
            let count = bins.iter().product::<u64>();
            let (mut start, mut counts) = (0_usize, Vec::with_capacity(to_index("bins", count)?));
            for bin in 0..signed64("bins", count)? {
                let rest = keys.get(start..).or_bug("bins beyond the rows")?;
                let rows = if count == 1 {
                    rest.len()
                } else {
                    rest.partition_point(|key| key.group <= bin)
                };
                counts.push(narrow("rows of one chunk", rows)?);
                start += rows;
            }
            let counts = counts.into_iter().map(index);
            return Ok((fragment_index("vertex_fragments", counts)?, Vec::new()));
        }
        let mut placed: Vec<PlacedRows> = Vec::new();
        let mut before: Option<&RecordKey> = None;
        // Skip this without values: comparing empty slices took a quarter of an import's CPU time.
        let by_value = self.spec.cuts_by_value();
        for (row, key) in (0_u32..).zip(keys) {
            let fragment =
                |key: &RecordKey| self.layout.fragment(self.record(records, key.record)?);
            let continues = match before {
                Some(before) => {
                    before.group == key.group
                        && (!by_value || fragment(before)? == fragment(key)?)
                        && match self.cut {
                            FragmentCut::Runs => before.number.checked_add(1) == Some(key.number),
                            FragmentCut::Trees => {
                                !self.layout.is_root(self.record(records, key.record)?)?
                            }
                            _ => true,
                        }
                }
                None => false,
            };
            before = Some(key);
            match placed.last_mut() {
                Some(fragment) if continues => fragment.rows += 1,
                _ => {
                    let fragment = narrow("fragments of one chunk", placed.len())?;
                    let order = match self.cut {
                        FragmentCut::Runs => key.number,
                        _ => (u64::from(slot) << 32) | u64::from(fragment),
                    };
                    placed.push(PlacedRows {
                        object: key.group,
                        order,
                        chunk: slot,
                        fragment,
                        row,
                        rows: 1,
                    });
                }
            }
        }
        let rows = placed.iter().map(|fragment| index(fragment.rows));
        Ok((fragment_index("vertex_fragments", rows)?, placed))
    }

    /// The values of fragments, taken from their first rows.
    fn fragment_attributes(
        &self,
        keys: &[RecordKey],
        placed: &[PlacedRows],
        records: &[u8],
    ) -> Result<Vec<Vec<u8>>, WriteError> {
        let mut firsts = Vec::with_capacity(placed.len());
        for one in placed {
            firsts.push(
                keys.get(index(one.row))
                    .or_bug("a fragment without rows")?
                    .record,
            );
        }
        let column = |range: &Range<usize>| {
            let order = firsts.iter().copied();
            gather(records, self.layout.width, range.start, range.len(), order)
        };
        let ranges = self.layout.fragment_attributes.iter();
        ranges.map(column).collect()
    }

    /// The stored number type of attribute `at`.
    pub(crate) fn stored_type(&self, at: usize) -> Result<NumberType, WriteError> {
        let attribute = self.spec.vertex_attributes.get(at);
        let number = attribute.and_then(|one| one.values.number());
        let coded = || self.dictionary(at).map(|one| one.number);
        number.or_else(coded).or_bug("texts without a dictionary")
    }
}

/// Encodes the index of consecutive fragments: `counts` are the rows of each.
///
/// # Errors
/// Limit: more rows or fragments than an index can count; `array` names it in the error.
pub fn fragment_index(
    array: &'static str,
    counts: impl IntoIterator<Item = usize>,
) -> Result<Vec<u8>, WriteError> {
    let mut index = FragmentIndexBuilder::new();
    let mut start = 0_usize;
    for count in counts {
        let pushed = index.push_range(signed(start), signed(count));
        pushed.map_err(|source| WriteError::encode(array, source))?;
        start += count;
    }
    Ok(index.finish())
}

/// Sorts keys; the keys of points are nearly always sorted already.
fn in_order(mut keys: Vec<RecordKey>) -> Vec<RecordKey> {
    if !keys.is_sorted() {
        keys.sort_unstable();
    }
    keys
}

/// The number of a position's bin in its chunk along one axis. A position that rounds into the bins of a neighbour stays in
/// its own chunk (trap T13).
fn local_bin(value: f64, size: f64, chunk: i64, bins: i64) -> Result<i64, WriteError> {
    match (chunk_at(value, size), chunk.checked_mul(bins)) {
        (Some(all), Some(first)) => Ok(all.saturating_sub(first).clamp(0, bins - 1)),
        _ => {
            let expected = "a number whose bin number fits 64 bits";
            Err(WriteError::input("positions", value.to_string(), expected))
        }
    }
}

/// The number of a position's bin in its chunk, axis 0 slowest.
pub fn bin_of(
    position: &[f64],
    sizes: &[f64],
    chunk: &[i64],
    bins: &[u64],
) -> Result<i64, WriteError> {
    let mut axes = position.iter().zip(sizes).zip(chunk).zip(bins);
    axes.try_fold(0_i64, |number, (((&value, &size), &chunk), &bins)| {
        let bins = signed64("bins", bins)?;
        let local = local_bin(value, size, chunk, bins)?;
        let number = number
            .checked_mul(bins)
            .and_then(|number| number.checked_add(local));
        number
            .ok_or_else(|| WriteError::limit("bins of a chunk", u64::MAX, i64::MAX.unsigned_abs()))
    })
}

#[cfg(test)]
mod tests {
    use zvf_meta::Kind;

    use super::ChunkEncoder;
    use crate::WriteError;
    use crate::batches::layout::VertexLayout;
    use crate::spec::store::StoreSpec;

    #[test]
    fn no_row_of_a_chunk_is_left_out() {
        for spec in [
            StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_bin_shape([5.0; 3]),
            StoreSpec::new(Kind::Streamline, [10.0; 3]),
        ] {
            let encoder = ChunkEncoder::new(&spec, VertexLayout::new(&spec), Vec::new()).unwrap();
            let records = vec![0; 3 * VertexLayout::new(&spec).width];
            let whole = encoder.encode(&[0; 3], 0, &records).unwrap();
            assert_eq!(whole.positions.len(), 3 * 12);
            let cut = encoder.encode(&[0; 3], 0, &records[1..]);
            assert!(matches!(cut, Err(WriteError::Bug { .. })));
        }
    }
}
