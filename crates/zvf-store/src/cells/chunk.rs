//! Cells of variable-length arrays: a stored object is a chunk of them, or a shard of such chunks.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use zvf_format::vlen::VlenChunk;

use super::decoder::{BatchCells, Decoder};
use super::later::StoredCell;
use super::request::{Get, RequestBytes, SizeAndTag};
use super::shard::{FoundHead, Guess, ShardRead, WantedCell};
use crate::container::GridArray;
use crate::coord::Dotted;
use crate::layout::{CellLayout, ShardLayout};
use crate::{ChunkCoord, StoreError, codec};
use zvf_codec::{Data, StoredBytes};
use zvf_io::{Ask, Cap, Kv, Object};

/// A stored object and the wanted cells in it.
#[derive(Debug)]
pub(super) struct ObjectWant {
    array: Arc<GridArray>,
    key: String,
    /// For each cell: place in the batch, entry of the shard, element of the chunk.
    cells: Vec<WantedCell>,
    /// The chunk of each cell.
    chunks: Vec<ChunkCoord>,
    /// Whether cells in a presence list must exist.
    ///
    /// A store that is removed or replaced loses cells before its documents; without this check the missing cells
    /// would be taken for empty ones.
    must_exist: bool,
    /// The state of reading a shard.
    shard: Option<ShardRead>,
    /// The chunks of the shard to read, in the order of requests if each chunk has a separate one.
    missing: Vec<usize>,
    /// Chunks that are read when they are used.
    taken: Vec<usize>,
    /// Whether chunks of one cell are decoded when they are used.
    pub(super) later: bool,
}

impl ObjectWant {
    /// The object at `key`, without cells yet; `verify`: whether changes of the store are detected.
    pub(super) fn new(array: Arc<GridArray>, key: &str, verify: bool) -> Self {
        Self {
            must_exist: verify && array.attributes().nonempty_chunks.is_some(),
            array,
            key: key.to_owned(),
            cells: Vec::new(),
            chunks: Vec::new(),
            shard: None,
            missing: Vec::new(),
            taken: Vec::new(),
            later: false,
        }
    }

    pub(super) fn add(&mut self, cell: WantedCell, chunk: ChunkCoord) {
        self.cells.push(cell);
        self.chunks.push(chunk);
    }

    /// The only cell of a chunk that is decoded when it is used.
    fn later_cell<'c>(&self, cells: &'c [WantedCell]) -> Option<&'c WantedCell> {
        let layout = self.array.layout()?;
        match cells {
            [cell] if self.later && layout.elements == 1 && layout.chain.decodes_ranges() => {
                Some(cell)
            }
            _ => None,
        }
    }

    /// A chunk that is decoded when it is used.
    fn stored(&self, name: String, stored: StoredBytes, cells: &BatchCells) -> StoredCell {
        StoredCell {
            name,
            array: Arc::clone(&self.array),
            stored,
            cap: cells.cap,
            spent: Arc::clone(&cells.spent),
        }
    }

    /// Checks the cells that are not stored: all cells except those in `there`. They are empty; it is an error if a presence list names one of them.
    fn absent(&self, there: &HashSet<usize>) -> Result<(), StoreError> {
        let mut listed = self.cells.iter().zip(&self.chunks);
        let gone = listed.find(|(cell, chunk)| {
            self.must_exist && !there.contains(&cell.want) && self.array.presence().contains(chunk)
        });
        match gone {
            None => Ok(()),
            Some((_, chunk)) => Err(StoreError::malformed(
                format!("{} at {}", self.array.path(), Dotted(chunk)),
                format!(
                    "nonempty_chunks lists chunk {}, but {} does not contain it",
                    Dotted(chunk),
                    self.key
                ),
            )),
        }
    }
}

impl Decoder for ObjectWant {
    fn shard(&self) -> Option<(&str, ShardLayout)> {
        Some((&self.key, self.array.layout()?.shard?))
    }

    fn guess(&self, cap: Cap) -> Option<Guess> {
        let layout = self.array.layout().filter(|layout| layout.elements == 1)?;
        layout.shard.filter(|shard| shard.at_end)?;
        let listed = self.array.attributes().shard_lengths.as_ref()?;
        let key = self.key.strip_prefix(self.array.path())?;
        let text = listed.get(key.strip_prefix('/')?)?.as_str()?;
        let fits = |size| cap.check(&self.key, size).is_ok();
        Guess::of(text, &layout.object, &self.cells, fits)
    }

    fn take_head(
        &mut self,
        head: FoundHead,
        beside: Vec<Object>,
        cap: Cap,
    ) -> Result<(), StoreError> {
        let Some(head) = head else {
            return self.absent(&HashSet::new());
        };
        let mut read = ShardRead::new(&self.key, head, &self.cells, cap)?;
        read.take_beside(&self.key, beside);
        let chunks = read.chunks().iter();
        if chunks.clone().map(|chunk| chunk.cells.len()).sum::<usize>() < self.cells.len() {
            let there = chunks.flat_map(|chunk| chunk.cells.iter().map(|cell| cell.want));
            self.absent(&there.collect())?;
        }
        self.missing = read.missing_chunks();
        self.shard = Some(read);
        Ok(())
    }

    fn requests(&self, kv: &Kv) -> Result<Vec<Get>, StoreError> {
        let get = |ask| Get::new(&self.key, ask, Cap::cell(kv.limits()));
        let reads_ranges = self
            .array
            .layout()
            .is_some_and(|it| it.chain.reads_ranges());
        Ok(match (&self.shard, self.shard()) {
            // One request for each chunk: on a local disk only parts of it are read.
            (Some(read), _) if reads_ranges && self.later && kv.is_local() => {
                let chunks = self.missing.iter().filter_map(|at| read.chunks().get(*at));
                let gets = chunks.map(|chunk| Get {
                    in_ranges: self.later_cell(&chunk.cells).is_some(),
                    ..get(Ask::Range(chunk.range.clone()))
                });
                gets.collect()
            }
            (Some(read), _) => read.requests(&self.key, kv),
            (None, Some(_)) => Vec::new(),
            (None, None) => {
                vec![Get {
                    in_ranges: reads_ranges && self.later_cell(&self.cells).is_some(),
                    ..get(Ask::Whole)
                }]
            }
        })
    }

    fn take(
        &mut self,
        _: usize,
        part: Option<RequestBytes<'_>>,
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        match (&mut self.shard, part, self.array.layout()) {
            (Some(read), part, _) => read.take(&self.key, part),
            (None, Some(part), Some(layout)) => {
                if let Some(cell) = self.later_cell(&self.cells) {
                    let stored = StoredBytes::Memory(part.data.into_bytes());
                    cells.put_later(cell.want, self.stored(self.key.clone(), stored, cells));
                    return Ok(());
                }
                decode(&self.key, layout, part.data, &self.cells, cells)
            }
            (None, _, _) => self.absent(&HashSet::new()),
        }
    }

    fn take_source(
        &mut self,
        request: usize,
        (stored, state): (StoredBytes, SizeAndTag),
        cells: &mut BatchCells,
    ) -> Result<(), StoreError> {
        let chunk = match &self.shard {
            Some(read) => {
                read.check_state(&self.key, state)?;
                let chunk = self
                    .missing
                    .get(request)
                    .and_then(|at| read.chunks().get(*at));
                Some(chunk.ok_or_else(|| StoreError::bug("ranges that were not requested"))?)
            }
            None => None,
        };
        let (of, name) = match chunk {
            Some(chunk) => (&chunk.cells, chunk.name(&self.key)),
            None => (&self.cells, self.key.clone()),
        };
        let cell = self.later_cell(of);
        let cell = cell.ok_or_else(|| StoreError::bug("ranges of several cells"))?;
        cells.put_later(cell.want, self.stored(name, stored, cells));
        self.taken.extend(self.missing.get(request));
        Ok(())
    }

    fn finish(self: Box<Self>, cells: &mut BatchCells) -> Result<(), StoreError> {
        let (Some(read), Some(layout)) = (&self.shard, self.array.layout()) else {
            return Ok(());
        };
        for (at, chunk) in read.chunks().iter().enumerate() {
            if self.taken.contains(&at) {
                continue;
            }
            let bytes = read.bytes_of(&self.key, chunk)?;
            if let Some(cell) = self.later_cell(&chunk.cells) {
                let (name, stored) = (chunk.name(&self.key), StoredBytes::Memory(bytes));
                cells.put_later(cell.want, self.stored(name, stored, cells));
                continue;
            }
            let data = Data::Shared(bytes);
            decode(&self.key, layout, data, &chunk.cells, cells)
                .map_err(|error| error.renamed(chunk.name(&self.key)))?;
        }
        Ok(())
    }
}

/// Decodes a chunk and copies its elements to the requested cells.
fn decode(
    key: &str,
    layout: &CellLayout,
    data: Data<'_>,
    wants: &[WantedCell],
    cells: &mut BatchCells,
) -> Result<(), StoreError> {
    let data = codec::decode(&layout.chain, key, data, cells.cap)?;
    cells.spend(key, data.as_slice().len())?;
    if let ([cell], 1) = (wants, layout.elements) {
        *cells.slot(cell.want)? = single(key, data)?;
        return Ok(());
    }
    let bytes = data.into_bytes();
    let chunk =
        VlenChunk::parse(&bytes, layout.elements).map_err(|e| StoreError::decode(key, e))?;
    for cell in wants {
        let element = u32::try_from(cell.element)
            .ok()
            .and_then(|i| chunk.get(i))
            .unwrap_or_default();
        *cells.slot(cell.want)? = (!element.is_empty()).then(|| bytes.slice_ref(element));
    }
    Ok(())
}

/// The only element of a chunk: a count of 1, a length, the bytes. Shared bytes are not copied.
fn single(key: &str, data: Data<'_>) -> Result<Option<Bytes>, StoreError> {
    let length = VlenChunk::parse_cell(data.as_slice())
        .map_err(|e| StoreError::decode(key, e))?
        .len();
    if length == 0 {
        return Ok(None);
    }
    match data {
        Data::Shared(mut bytes) if bytes.len() >= length.saturating_add(8) => {
            bytes.advance(8);
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        data => Ok(data.slice(8..length.saturating_add(8))),
    }
}
