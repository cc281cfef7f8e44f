//! Step 2: the records of one chunk become its cells.

use zvf_format::fragments::FragmentIndexBuilder;
use zvf_meta::Kind;
use zvf_meta::space::{bins_per_chunk, chunk_at};

use crate::WriteError;
use crate::categories::Dictionary;
use crate::int::{narrow, signed64, wide};
use crate::layout::Layout;
use crate::number::NumberType;
use crate::sorter::Placed;
use crate::spec::StoreSpec;

/// How the rows of a chunk become fragments (0.9 §10.2).
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cut {
    /// One fragment a bin, empty ones too; numbers of bins along each axis.
    Bins(Vec<u64>),
    /// One fragment an object.
    Objects,
    /// One fragment for each run of vertices that follow each other in their object.
    Runs,
    /// One fragment a tree: no row but the first has no parent.
    Trees,
}

/// Everything that is the same for all chunks.
#[derive(Debug)]
pub(crate) struct Encoder<'s> {
    spec: &'s StoreSpec,
    layout: Layout,
    dictionaries: Vec<Option<Dictionary>>,
    cut: Cut,
    /// Whether the vertex of each row is asked for.
    vertices: bool,
}

/// The cells of one chunk, and what the rest of the store must know of it.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Payload of `vertices`.
    pub(crate) positions: Vec<u8>,
    /// Payload of `vertex_fragments`.
    pub(crate) fragments: Vec<u8>,
    /// Payloads of the attributes, in the order of the specification.
    pub(crate) attributes: Vec<Vec<u8>>,
    /// The fragments of objects.
    pub(crate) placed: Vec<Placed>,
    /// The vertex of each row, where links ask for it.
    pub(crate) vertices: Vec<u64>,
}

/// A record and what it is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Bin or object.
    group: i64,
    number: u64,
    record: usize,
}

impl<'s> Encoder<'s> {
    pub(crate) fn new(
        spec: &'s StoreSpec,
        layout: Layout,
        dictionaries: Vec<Option<Dictionary>>,
    ) -> Self {
        let cut = match spec.kind {
            Kind::PointCloud if !spec.objects => {
                let bins = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
                Cut::Bins(bins_per_chunk(&spec.chunk_shape, bins).unwrap_or_default())
            }
            Kind::PointCloud | Kind::Graph | Kind::Mesh => Cut::Objects,
            Kind::Line | Kind::Polyline | Kind::Streamline => Cut::Runs,
            Kind::Skeleton => Cut::Trees,
        };
        let vertices = spec.takes_links();
        Self {
            spec,
            layout,
            dictionaries,
            cut,
            vertices,
        }
    }

    /// The stored dtype and the categories of attribute `at`.
    pub(crate) fn dictionary(&self, at: usize) -> Option<&Dictionary> {
        self.dictionaries.get(at)?.as_ref()
    }

    /// Makes the cells of a chunk. `slot` is its number among all chunks.
    ///
    /// # Cost
    /// O(rows log rows); memory for the records and once more for the cells.
    pub(crate) fn encode(
        &self,
        chunk: &[i64],
        slot: u32,
        records: &[u8],
    ) -> Result<Encoded, WriteError> {
        let keys = self.sorted(chunk, records);
        narrow("rows of one chunk", keys.len())?;
        let record = |key: &Key| self.record(records, key.record);
        let (fragments, placed) = self.fragments(slot, &keys, records)?;
        let mut positions =
            Vec::with_capacity(keys.len().saturating_mul(self.layout.position.len()));
        for key in &keys {
            positions.extend_from_slice(
                record(key)
                    .get(self.layout.position.clone())
                    .unwrap_or_default(),
            );
        }
        let mut attributes = Vec::new();
        for (range, dictionary) in self.layout.attributes.iter().zip(&self.dictionaries) {
            let mut cell = Vec::with_capacity(keys.len().saturating_mul(range.len()));
            for key in &keys {
                let value = record(key).get(range.clone()).unwrap_or_default();
                match (dictionary, value.first_chunk()) {
                    (Some(dictionary), Some(code)) => dictionary.put(*code, &mut cell),
                    _ => cell.extend_from_slice(value),
                }
            }
            attributes.push(cell);
        }
        let vertices = if self.vertices {
            keys.iter().map(|key| key.number).collect()
        } else {
            Vec::new()
        };
        Ok(Encoded {
            positions,
            fragments,
            attributes,
            placed,
            vertices,
        })
    }

    fn record<'r>(&self, records: &'r [u8], at: usize) -> &'r [u8] {
        let start = at.saturating_mul(self.layout.width);
        records
            .get(start..start.saturating_add(self.layout.width))
            .unwrap_or_default()
    }

    /// The records by group, then in the order of their vertices.
    fn sorted(&self, chunk: &[i64], records: &[u8]) -> Vec<Key> {
        let bins = match &self.cut {
            Cut::Bins(bins) => Some(bins).filter(|bins| bins.iter().any(|&count| count > 1)),
            _ => None,
        };
        // The positions of all rows at once: a buffer for each would cost more than the bins.
        let mut positions = Vec::new();
        if bins.is_some() {
            let rows = records.chunks_exact(self.layout.width);
            let parts = rows.filter_map(|record| record.get(self.layout.position.clone()));
            let stored: Vec<u8> = parts.flatten().copied().collect();
            positions = self.spec.positions.to_f64(&stored);
        }
        let mut positions = positions.chunks_exact(self.spec.dims());
        let mut keys: Vec<Key> = records
            .chunks_exact(self.layout.width)
            .enumerate()
            .map(|(at, record)| Key {
                group: match bins {
                    Some(bins) => bin(self.spec, chunk, bins, positions.next().unwrap_or_default()),
                    None => self.layout.object(record),
                },
                number: Layout::number(record),
                record: at,
            })
            .collect();
        keys.sort_unstable();
        keys
    }

    fn fragments(
        &self,
        slot: u32,
        keys: &[Key],
        records: &[u8],
    ) -> Result<(Vec<u8>, Vec<Placed>), WriteError> {
        let mut index = FragmentIndexBuilder::new();
        let failed = |source| WriteError::encode("vertex_fragments", source);
        if let Cut::Bins(bins) = &self.cut {
            let count = bins.iter().product::<u64>();
            let mut start = 0_usize;
            for bin in 0..signed64("bins", count)? {
                let rest = keys.get(start..).unwrap_or_default();
                let rows = if count == 1 {
                    rest.len()
                } else {
                    rest.partition_point(|key| key.group <= bin)
                };
                index
                    .push_range(
                        signed64("rows", wide(start))?,
                        signed64("rows", wide(rows))?,
                    )
                    .map_err(failed)?;
                start = start.saturating_add(rows);
            }
            return Ok((index.finish(), Vec::new()));
        }
        let mut placed: Vec<Placed> = Vec::new();
        let mut before: Option<&Key> = None;
        for (row, key) in (0_u32..).zip(keys) {
            let goes_on = before.is_some_and(|before| {
                before.group == key.group
                    && match self.cut {
                        Cut::Runs => before.number.checked_add(1) == Some(key.number),
                        Cut::Trees => !self.layout.is_root(self.record(records, key.record)),
                        _ => true,
                    }
            });
            before = Some(key);
            match placed.last_mut() {
                Some(fragment) if goes_on => fragment.rows = fragment.rows.saturating_add(1),
                _ => {
                    let fragment = narrow("fragments of one chunk", placed.len())?;
                    let order = match self.cut {
                        Cut::Runs => key.number,
                        _ => (u64::from(slot) << 32) | u64::from(fragment),
                    };
                    placed.push(Placed {
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
        for fragment in &placed {
            index
                .push_range(i64::from(fragment.row), i64::from(fragment.rows))
                .map_err(failed)?;
        }
        Ok((index.finish(), placed))
    }

    /// The stored dtype of attribute `at`, as numpy spells it.
    pub(crate) fn stored_type(&self, at: usize) -> NumberType {
        use crate::spec::AttributeType;
        match self.spec.vertex_attributes.get(at).map(|one| one.values) {
            Some(AttributeType::Number(number)) => number,
            _ => self
                .dictionary(at)
                .map_or(NumberType::U8, |dictionary| dictionary.number),
        }
    }
}

/// The number of a row's bin in its chunk, axis 0 slowest. A position that rounds into the bins of a neighbour stays
/// in its own chunk (trap T13).
pub(crate) fn bin(spec: &StoreSpec, chunk: &[i64], bins: &[u64], position: &[f64]) -> i64 {
    let sizes = spec.bin_shape.as_deref().unwrap_or(&spec.chunk_shape);
    let axes = position.iter().zip(sizes).zip(chunk).zip(bins);
    axes.fold(0, |number, (((&value, &size), &chunk), &bins)| {
        // There are at most 2^24 bins.
        let bins = i64::try_from(bins).unwrap_or(i64::MAX);
        let all = chunk_at(value, size).unwrap_or(i64::MIN);
        let first = chunk.saturating_mul(bins);
        let local = all.saturating_sub(first).clamp(0, bins.saturating_sub(1));
        number.saturating_mul(bins).saturating_add(local)
    })
}
