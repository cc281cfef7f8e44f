//! The finer level from which a level is made: a level of the store, or the last one made.

use std::ops::Range;
use std::sync::Arc;

use futures::StreamExt;
use tokio::runtime::Handle;
use zvf_format::manifest::Manifest;
use zvf_store::{
    CheckedFragment, CheckedFragments, ChunkCoord, ChunkParts, ChunkReader, DecodedChunk, Level,
    Names, Need, Store,
};

use zvf_encode::error::{OrBug, internal, narrow, to_index};
use zvf_encode::records::row_of;
use zvf_encode::{NumberType, WriteError, narrow as to_nearest, parallel};
use zvf_format::int::{index, wide};

/// Most fragments that a manifest may name for each of its bytes.
const MOST_OF_BYTE: u64 = 1024;

/// Chunks that are read and processed together.
const BATCH: usize = 64;

/// A level that is read.
#[derive(Debug)]
pub(crate) struct Fine {
    /// Number of the level.
    pub(crate) number: u32,
    pub(crate) dims: usize,
    pub(crate) chunk_shape: Vec<f64>,
    /// Chunks with vertices, in lex order: the slot of a chunk is its index.
    pub(crate) chunks: Arc<Vec<ChunkCoord>>,
    pub(crate) objects: Option<Arc<ObjectFragments>>,
    /// The number of vertices, as far as known before they are read.
    pub(crate) expected: u64,
    rows: PositionSource,
}

#[derive(Debug)]
enum PositionSource {
    /// Cells of a store.
    Stored {
        reader: ChunkReader,
        handle: Handle,
        number: NumberType,
    },
    /// Vertices in memory, chunk by chunk; every row is a fragment.
    Held {
        starts: Vec<u32>,
        positions: Vec<f32>,
    },
}

/// The objects of a level, each with its fragments in order.
#[derive(Debug, Default)]
pub(crate) struct ObjectFragments {
    pub(crate) ids: Vec<i64>,
    /// The ids among them of deleted objects, which have no fragments.
    pub(crate) deleted: Vec<i64>,
    /// The start of the entries of each object, and the end of the last one.
    starts: Vec<usize>,
    /// Slot of the chunk, and number of the fragment.
    entries: Vec<(u32, u32)>,
}

/// The number of the first entry of an object, and its entries: chunk and fragment.
type ObjectEntries<'o> = (usize, &'o [(u32, u32)]);

impl ObjectFragments {
    pub(crate) fn new(ids: Vec<i64>) -> Self {
        Self {
            ids,
            deleted: Vec::new(),
            starts: vec![0],
            entries: Vec::new(),
        }
    }

    pub(crate) fn push_entry(&mut self, slot: u32, fragment: u32) {
        self.entries.push((slot, fragment));
    }

    pub(crate) fn end_object(&mut self) {
        self.starts.push(self.entries.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The entries of an object, and the number of the first one.
    pub(crate) fn entries(&self, row: usize) -> Result<ObjectEntries<'_>, WriteError> {
        let span = self.starts.get(row..).and_then(<[usize]>::first_chunk);
        let &[start, end] = span.or_bug(format_args!("no object in row {row}"))?;
        let entries = self.entries.get(start..end);
        Ok((
            start,
            entries.or_bug("an object that ends before it begins")?,
        ))
    }
}

/// Called with each chunk, and its slot.
pub(crate) type PerChunk<R> = Arc<dyn Fn(usize, FineChunk) -> Result<R, WriteError> + Send + Sync>;

/// The vertices of one chunk.
#[derive(Debug)]
pub(crate) struct FineChunk {
    /// Positions as float32, row by row.
    pub(crate) positions: Vec<f32>,
    /// `None` if every row is a fragment.
    pub(crate) fragments: Option<CheckedFragments>,
}

impl FineChunk {
    /// Applies `work` to the rows of fragment `number`, in their order.
    pub(crate) fn fragment(&self, number: u32, work: impl FnMut(usize)) -> Result<(), WriteError> {
        fragment(self.fragments.as_ref(), number, work)
    }

    /// The position of a row.
    pub(crate) fn position(&self, row: usize, dims: usize) -> Option<&[f32]> {
        row_of(&self.positions, row, dims)
    }

    /// Applies `work` to the rows of all fragments, in their order.
    pub(crate) fn all(&self, dims: usize, work: impl FnMut(usize)) {
        match &self.fragments {
            None => (0..self.positions.len() / dims).for_each(work),
            Some(found) => found
                .iter()
                .flat_map(CheckedFragment::rows)
                .map(index)
                .for_each(work),
        }
    }
}

/// Applies `work` to the rows of one fragment; without fragments every row is one.
pub(crate) fn fragment(
    fragments: Option<&CheckedFragments>,
    number: u32,
    mut work: impl FnMut(usize),
) -> Result<(), WriteError> {
    let Some(found) = fragments else {
        work(index(number));
        return Ok(());
    };
    let Some(fragment) = found.get(number) else {
        return Err(WriteError::data(
            "manifest",
            format!("fragment {number}"),
            format!("below {}, the fragments of its chunk", found.len()),
        ));
    };
    fragment.rows().map(index).for_each(work);
    Ok(())
}

impl Fine {
    /// A level of a store.
    ///
    /// # Errors
    /// Misuse: chunks that are divided by an attribute, positions that are not numbers. Malformed data: no array of fragments, a damaged manifest. I/O.
    pub(crate) fn stored(store: &Store, number: u32, handle: &Handle) -> Result<Self, WriteError> {
        let need = Need {
            objects: true,
            object_attributes: Names::None,
            ..Need::nothing()
        };
        let level = handle.block_on(store.level(number, &need))?;
        let dims = level.dims();
        if level.key_rank() != dims {
            let expected = "chunks that are divided by position alone";
            let found = "chunks that are divided by an attribute";
            return Err(WriteError::input(
                format!("level {number}"),
                found,
                expected,
            ));
        }
        let presence = level.vertices().presence();
        let chunks: Vec<ChunkCoord> = presence.iter().map(ChunkCoord::new).collect();
        narrow("chunks", chunks.len())?;
        let Some(number_type) = NumberType::from_kind(level.vertices().dtype().kind) else {
            let found = level.vertices().dtype().to_string();
            return Err(WriteError::input(level.vertices().path(), found, "numbers"));
        };
        if level.vertex_fragments().is_none() {
            let what = format!("{number}/vertex_fragments");
            return Err(WriteError::data(what, "nothing", "an array"));
        }
        let objects = handle.block_on(objects(&level, &chunks))?;
        Ok(Self {
            number,
            dims,
            chunk_shape: level.chunk_shape().to_vec(),
            chunks: Arc::new(chunks),
            objects: objects.map(Arc::new),
            expected: level.doc().vertex_count,
            rows: PositionSource::Stored {
                reader: level.chunks(ChunkParts::GEOMETRY)?,
                handle: handle.clone(),
                number: number_type,
            },
        })
    }

    /// Creates a level in memory in which each row is a fragment. `starts` has one more number than there are chunks.
    pub(crate) fn held(
        number: u32,
        chunk_shape: Vec<f64>,
        chunks: Arc<Vec<ChunkCoord>>,
        starts: Vec<u32>,
        positions: Vec<f32>,
        objects: Option<Arc<ObjectFragments>>,
    ) -> Self {
        Self {
            number,
            dims: chunk_shape.len(),
            chunk_shape,
            chunks,
            objects,
            expected: starts.last().copied().map_or(0, u64::from),
            rows: PositionSource::Held { starts, positions },
        }
    }

    /// Applies `work` to every chunk, on several threads, and `take` to its results, in the order of the chunks.
    ///
    /// # Cost
    /// Every cell of positions and of fragments is read once; up to 64 chunks for each thread are in memory at a time.
    pub(crate) fn each<R: Send + 'static>(
        &self,
        threads: usize,
        work: &PerChunk<R>,
        mut take: impl FnMut(R) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let dims = self.dims;
        match &self.rows {
            PositionSource::Held { starts, positions } => {
                let job = |slot: usize| {
                    let rows = rows_of(starts, slot)?;
                    let positions = positions.get(rows.start * dims..rows.end * dims);
                    let positions = positions.or_bug("a chunk without positions")?.to_vec();
                    work(
                        slot,
                        FineChunk {
                            positions,
                            fragments: None,
                        },
                    )
                };
                let batches: Vec<Vec<usize>> = (0..self.chunks.len())
                    .collect::<Vec<_>>()
                    .chunks(BATCH)
                    .map(<[usize]>::to_vec)
                    .collect();
                let jobs =
                    |slots: Vec<usize>| slots.into_iter().map(job).collect::<Result<Vec<R>, _>>();
                parallel::ordered(threads, batches.into_iter(), jobs, |done| {
                    done.into_iter().try_for_each(&mut take)
                })
            }
            PositionSource::Stored {
                reader,
                handle,
                number,
            } => {
                let number = *number;
                let slots: Vec<usize> = (0..self.chunks.len()).collect();
                let batches = slots.chunks(BATCH).zip(self.chunks.chunks(BATCH));
                let requests = batches.map(|(slots, coords)| {
                    let coords: Vec<&[i64]> = coords.iter().map(ChunkCoord::as_slice).collect();
                    let (work, slots) = (Arc::clone(work), slots.to_vec());
                    reader.read_map(&coords, move |chunks| {
                        let chunks = slots.into_iter().zip(chunks);
                        chunks
                            .map(|(slot, read)| work(slot, chunk(read, number)))
                            .collect::<Result<Vec<R>, WriteError>>()
                    })
                });
                let requests: Vec<_> = requests.collect();
                handle.block_on(async {
                    let mut answers = futures::stream::iter(requests).buffered(threads.max(1));
                    while let Some(answer) = answers.next().await {
                        answer??.into_iter().try_for_each(&mut take)?;
                    }
                    Ok(())
                })
            }
        }
    }
}

fn chunk(read: DecodedChunk, number: NumberType) -> FineChunk {
    let blocks = read.positions.blocks();
    let positions = blocks.map(|block| to_f32(number, block));
    let joined = positions.reduce(|mut all, mut block| {
        all.append(&mut block);
        all
    });
    FineChunk {
        positions: joined.unwrap_or_default(),
        fragments: Some(read.fragments),
    }
}

/// Stored numbers as float32, rounded once.
#[expect(
    clippy::cast_precision_loss,
    reason = "the method rounds positions to float32"
)]
fn to_f32(number: NumberType, bytes: &[u8]) -> Vec<f32> {
    macro_rules! round {
        ($type:ty, $convert:expr) => {
            bytes
                .as_chunks::<{ size_of::<$type>() }>()
                .0
                .iter()
                .map(|bytes| {
                    let convert: fn($type) -> f32 = $convert;
                    convert(<$type>::from_le_bytes(*bytes))
                })
                .collect()
        };
    }
    match number {
        NumberType::F32 => round!(f32, |v| v),
        // Conversion to float64 would round these numbers twice.
        NumberType::I64 => round!(i64, |v| v as f32),
        NumberType::U64 => round!(u64, |v| v as f32),
        _ => number.to_f64(bytes).into_iter().map(to_nearest).collect(),
    }
}

/// The objects of a level, in row order.
async fn objects(
    level: &Level,
    chunks: &[ChunkCoord],
) -> Result<Option<ObjectFragments>, WriteError> {
    let Some(found) = level.object_index() else {
        return Ok(None);
    };
    let ids = found.ids().await?;
    let mut objects = ObjectFragments::new(ids.iter().collect());
    objects.deleted = found.deleted().to_vec();
    let mut coord = Vec::with_capacity(level.dims());
    for part in 0..found.manifest_chunks() {
        let part = found.manifest_chunk(part).await?;
        let end = part.first_slot() + wide(part.len());
        for slot in part.first_slot()..end {
            let blob = part.blob(slot);
            let what = || format!("manifest of row {slot}");
            let failed = |source: zvf_format::DecodeError| {
                WriteError::data(what(), source.to_string(), "a manifest")
            };
            // An empty blob is an object without vertices (trap T31).
            let manifest = (!blob.is_empty()).then(|| Manifest::parse(blob, level.dims()));
            let manifest = manifest.transpose().map_err(failed)?;
            // A range names any number of fragments in a few bytes.
            let named = manifest.as_ref().map_or(0, Manifest::fragment_count);
            let most = wide(blob.len()).saturating_mul(MOST_OF_BYTE);
            if named > most {
                return Err(WriteError::limit("fragments of an object", named, most));
            }
            for (chunk, number) in manifest
                .iter()
                .flat_map(|manifest| manifest.fragment_refs())
            {
                coord.clear();
                coord.extend(chunk.iter().map(|part| part.get()));
                let found = chunks.binary_search_by(|one| one.as_slice().cmp(&coord));
                let (Ok(slot), Ok(number)) = (found, u32::try_from(number)) else {
                    let found = format!("fragment {number} of chunk {coord:?}");
                    return Err(WriteError::data(what(), found, "an existing fragment"));
                };
                objects.push_entry(narrow("chunks", slot)?, number);
            }
            objects.end_object();
        }
    }
    let rows = to_index("objects", found.len())?;
    while objects.starts.len() <= rows {
        objects.end_object();
    }
    Ok(Some(objects))
}

/// The vertices of a chunk; chunks begin at `starts`.
pub(crate) fn rows_of(starts: &[u32], slot: usize) -> Result<Range<usize>, WriteError> {
    let span = starts.get(slot..).and_then(<[u32]>::first_chunk);
    let &[start, end] = span.or_bug(format_args!("no chunk {slot}"))?;
    internal!(start <= end, "chunk {slot} ends before it begins");
    Ok(index(start)..index(end))
}

#[cfg(test)]
mod tests {
    use super::ObjectFragments;
    use zvf_encode::WriteError;

    #[test]
    fn entries_of_a_missing_object_are_an_error() {
        let mut objects = ObjectFragments::new(vec![7, 8]);
        objects.push_entry(0, 5);
        objects.push_entry(1, 6);
        objects.end_object();
        objects.end_object();
        assert_eq!(objects.entries(0).unwrap(), (0, &[(0, 5), (1, 6)][..]));
        assert_eq!(objects.entries(1).unwrap(), (2, &[][..]));
        assert!(matches!(objects.entries(2), Err(WriteError::Bug { .. })));
    }
}
