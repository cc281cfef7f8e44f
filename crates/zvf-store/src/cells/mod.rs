//! From wanted cells to their bytes: planning, reading, decoding.
//!
//! On a local disk one batch is one blocking task that reads, decodes and runs the caller's function. Elsewhere
//! the objects of a batch are asked for together, and decoding and the function run on a worker thread.

mod blobs;
pub(crate) mod cache;
mod entries;
mod local_disk;
mod padded;
mod shard;
mod unit;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;
use futures::try_join;
use tokio::sync::OwnedSemaphorePermit;

use crate::container::{Container, GridArray};
use crate::coord::Dotted;
use crate::layout::{Reader, object_key};
use crate::{ChunkCoord, StoreError};
use zvf_io::{Ask, Backend, Cap, Folder, Handover, Kv, blocking, driven};

use blobs::{BlobWant, PackWant};
pub(crate) use entries::fetch_entries;
use local_disk::Disk;
use padded::{BlockWant, Trim};
pub(crate) use shard::ShardCache;
use shard::ShardHead;
use unit::{Unit, slot};

/// One cell that is wanted.
#[derive(Debug, Clone)]
pub struct CellWant {
    /// The array.
    pub array: Arc<GridArray>,
    /// The chunk, in absolute coordinates.
    pub chunk: ChunkCoord,
}

impl CellWant {
    /// A cell of an array.
    pub fn new(array: &Arc<GridArray>, chunk: impl Into<ChunkCoord>) -> Self {
        Self {
            array: Arc::clone(array),
            chunk: chunk.into(),
        }
    }
}

/// A stored object and the wanted cells in it.
#[derive(Debug)]
struct ObjectWant {
    array: Arc<GridArray>,
    key: String,
    /// For each cell: place in the batch, entry of the shard, element of the chunk.
    cells: Vec<Cell>,
    /// The chunk of each cell.
    chunks: Vec<ChunkCoord>,
}

impl ObjectWant {
    /// Nothing lies where cells were looked for: they are empty, unless a presence list says that they are not.
    ///
    /// A store that is removed or replaced loses cells while its documents still stand, and without this the cells
    /// that are gone would be taken for empty ones.
    fn absent(&self, kv: &Kv, cells: impl Fn(&Cell) -> bool) -> Result<(), StoreError> {
        if !kv.versions().is_on() || self.array.attributes().nonempty_chunks.is_none() {
            return Ok(());
        }
        let gone = self
            .cells
            .iter()
            .zip(&self.chunks)
            .find(|(cell, chunk)| cells(cell) && self.array.presence().contains(chunk));
        match gone {
            None => Ok(()),
            Some((_, chunk)) => Err(StoreError::malformed(
                format!("{} at {}", self.array.path(), Dotted(chunk)),
                format!(
                    "nonempty_chunks lists chunk {}, but {} does not hold it",
                    Dotted(chunk),
                    self.key
                ),
            )),
        }
    }

    /// As [`absent`](Self::absent), for the cells of a shard that are in none of the chunks it has.
    fn absent_from(&self, kv: &Kv, chunks: &[shard::ShardChunk]) -> Result<(), StoreError> {
        let there: usize = chunks.iter().map(|chunk| chunk.cells.len()).sum();
        if there == self.cells.len() {
            return Ok(());
        }
        let there: HashSet<usize> = chunks
            .iter()
            .flat_map(|chunk| chunk.cells.iter().map(|cell| cell.want))
            .collect();
        self.absent(kv, |cell| !there.contains(&cell.want))
    }
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    want: usize,
    entry: u64,
    element: u64,
}

/// What a batch needs.
#[derive(Debug, Default)]
struct Plan {
    objects: Vec<ObjectWant>,
    blobs: Vec<BlobWant>,
    packs: Vec<PackWant>,
    blocks: Vec<BlockWant>,
    trims: Vec<Trim>,
    /// Cells of arrays that only the generic reader understands.
    generic: Vec<(usize, CellWant)>,
    /// Cells that need not be read.
    ready: Vec<(usize, Bytes)>,
    cells: usize,
    /// How many of the cells were asked for; the others are read beside them.
    asked: usize,
}

impl Plan {
    /// The places of the results; what need not be read stands there already.
    fn slots(&self) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut cells = vec![None; self.cells];
        for (want, bytes) in &self.ready {
            *slot(&mut cells, *want)? = Some(bytes.clone());
        }
        Ok(cells)
    }

    /// Cuts padding off, and leaves what was asked for.
    fn finish(
        &self,
        cells: &mut Vec<Option<Bytes>>,
        cap: Cap,
        budget: &mut Budget,
    ) -> Result<(), StoreError> {
        padded::trim(&self.trims, cells, cap, budget)?;
        cells.truncate(self.asked);
        Ok(())
    }
}

/// Sorts wants by the objects they lie in. Equal wants share their bytes.
fn plan(wants: Vec<CellWant>) -> Result<Plan, StoreError> {
    let mut sorter = Sorter {
        plan: Plan {
            cells: wants.len(),
            asked: wants.len(),
            ..Plan::default()
        },
        seen: HashMap::with_capacity(wants.len()),
        ..Sorter::default()
    };
    for (want, cell) in wants.into_iter().enumerate() {
        sorter.add(want, cell)?;
    }
    // Cells that are wanted because padded ones are; those may want others in turn.
    loop {
        let more = std::mem::take(&mut sorter.padded.more);
        if more.is_empty() {
            return Ok(sorter.plan);
        }
        let first = sorter.plan.cells;
        sorter.plan.cells = first.saturating_add(more.len());
        for (want, cell) in more.into_iter().enumerate() {
            sorter.add(first.saturating_add(want), cell)?;
        }
    }
}

/// A plan in the making.
#[derive(Default)]
struct Sorter {
    plan: Plan,
    seen: HashMap<String, usize>,
    index: Vec<u64>,
    blobs: blobs::Sorter,
    padded: padded::Sorter,
}

impl Sorter {
    fn add(&mut self, want: usize, cell: CellWant) -> Result<(), StoreError> {
        let CellWant { array, chunk } = cell;
        let reader = match array.contents() {
            Container::Grid(reader) => {
                array.cell_index(&chunk, &mut self.index)?;
                reader
            }
            Container::Blobs(group) => {
                array.check_rank(&chunk)?;
                self.blobs
                    .add(want, (&array, &chunk), group, &mut self.plan);
                return Ok(());
            }
            Container::Padded(padded) => {
                array.cell_index(&chunk, &mut self.index)?;
                let (places, cell) = ((want, self.plan.cells), CellWant::new(&array, chunk));
                return self
                    .padded
                    .add(places, cell, padded, &self.index, &mut self.plan);
            }
            Container::Packed(packed) => {
                array.check_rank(&chunk)?;
                let at = array.presence().position(&chunk);
                let Some(element) = at.and_then(|at| packed.element(at)) else {
                    return Ok(());
                };
                self.index.clear();
                self.index.push(element);
                &packed.reader
            }
            Container::Records(records) => {
                array.check_rank(&chunk)?;
                let at = array.presence().position(&chunk);
                let bytes = at.and_then(|at| records.get(at));
                self.plan.ready.extend(bytes.map(|bytes| (want, bytes)));
                return Ok(());
            }
        };
        let (layout, doc) = match (reader, array.doc()) {
            (Reader::Own(layout), Some(doc)) => (layout, doc),
            (Reader::Unsupported(what), _) => {
                return Err(StoreError::unsupported(array.path(), what.clone()));
            }
            _ => {
                self.plan.generic.push((want, CellWant { array, chunk }));
                return Ok(());
            }
        };
        let place = layout.place(&self.index);
        let key = object_key(array.path(), doc, &place.object);
        let entry = Cell {
            want,
            entry: place.entry,
            element: place.element,
        };
        let objects = &mut self.plan.objects;
        match self.seen.get(&key).and_then(|at| objects.get_mut(*at)) {
            Some(object) => {
                object.cells.push(entry);
                object.chunks.push(chunk);
            }
            None => {
                self.seen.insert(key.clone(), objects.len());
                objects.push(ObjectWant {
                    array,
                    key,
                    cells: vec![entry],
                    chunks: vec![chunk],
                });
            }
        }
        Ok(())
    }
}

/// What is done with cells as soon as they are decoded.
pub(crate) type Then = Box<dyn FnOnce(Vec<Option<Bytes>>) + Send>;

/// Reads and decodes cells, then runs `then` on them. `cells[i]` belongs to `wants[i]`; `None` = empty or missing.
pub(crate) async fn fetch(
    kv: Kv,
    shards: Arc<ShardCache>,
    wants: Vec<CellWant>,
    then: Then,
) -> Result<(), StoreError> {
    let count = u64::try_from(wants.len()).unwrap_or(u64::MAX);
    if count > kv.limits().cells_per_query {
        return Err(StoreError::limit(
            "cells of one call",
            "cells_per_query",
            count,
            kv.limits().cells_per_query,
        ));
    }
    let plan = plan(wants)?;
    // With a slot at hand the work starts at the first poll and needs no task of its own.
    if let Backend::Local(root) = kv.backend()
        && plan.generic.is_empty()
        && let Some(permit) = kv.free_slot()
    {
        let cells = plan.slots()?;
        return read_files(&kv, root, shards, (plan, cells), permit, then).await;
    }
    driven(fetch_all(kv, shards, plan, then)).await
}

/// Reads and decodes cells. `cells[i]` belongs to `wants[i]`; `None` = empty or missing.
pub(crate) async fn fetch_cells(
    kv: Kv,
    shards: Arc<ShardCache>,
    wants: Vec<CellWant>,
) -> Result<Vec<Option<Bytes>>, StoreError> {
    let (to, result) = Handover::pair();
    let then = Box::new(move |cells| to.put(cells));
    fetch(kv, shards, wants, then).await?;
    Ok(result.take()?)
}

/// Reads and decodes cells of local files and runs `then` on them, in one blocking task.
async fn read_files(
    kv: &Kv,
    root: &Arc<Folder>,
    shards: Arc<ShardCache>,
    (plan, mut cells): (Plan, Vec<Option<Bytes>>),
    permit: OwnedSemaphorePermit,
    then: Then,
) -> Result<(), StoreError> {
    let (kv, root) = (kv.clone(), Arc::clone(root));
    blocking(move || {
        let mut budget = Budget::new(&kv);
        let disk = Disk {
            kv: &kv,
            root: &root,
            shards: &shards,
        };
        for object in &plan.objects {
            disk.read(object, &mut cells, &mut budget)?;
        }
        for blob in &plan.blobs {
            disk.read_blob(blob, &mut cells, &mut budget)?;
        }
        for pack in &plan.packs {
            disk.read_pack(pack, &mut cells, &mut budget)?;
        }
        for block in &plan.blocks {
            disk.read_block(block, &mut cells, &mut budget)?;
        }
        plan.finish(&mut cells, Cap::cell(kv.limits()), &mut budget)?;
        drop(permit);
        then(cells);
        Ok(())
    })
    .await?
}

/// Reads the cells of a plan one request at a time for generic ones, all at once for the others.
async fn fetch_all(
    kv: Kv,
    shards: Arc<ShardCache>,
    mut plan: Plan,
    then: Then,
) -> Result<(), StoreError> {
    let mut cells = plan.slots()?;
    for (want, cell) in &plan.generic {
        let bytes = crate::generic::read_cell(&kv, &cell.array, &cell.chunk).await?;
        *slot(&mut cells, *want)? = bytes;
    }
    match kv.backend() {
        Backend::Local(root) => {
            let permit = kv.slot().await?;
            read_files(&kv, root, shards, (plan, cells), permit, then).await
        }
        Backend::Remote(_) => {
            let fetched = std::mem::take(&mut plan.objects)
                .into_iter()
                .map(|object| fetch_remote(&kv, &shards, object));
            let blobs = std::mem::take(&mut plan.blobs);
            let blobs = blobs.into_iter().map(|blob| blob.fetch(&kv));
            let packs = std::mem::take(&mut plan.packs);
            let packs = packs.into_iter().map(|pack| pack.fetch(&kv));
            let blocks = std::mem::take(&mut plan.blocks);
            let blocks = blocks.into_iter().map(|block| block.fetch(&kv));
            let (units, blobs, packs, blocks) = try_join!(
                try_join_all(fetched),
                try_join_all(blobs),
                try_join_all(packs),
                try_join_all(blocks)
            )?;
            let kv = kv.clone();
            blocking(move || {
                let (mut budget, cap) = (Budget::new(&kv), Cap::cell(kv.limits()));
                for unit in units.into_iter().flatten() {
                    unit.decode(&mut cells, cap, &mut budget)?;
                }
                for blob in blobs {
                    blob.decode(&mut cells, cap, &mut budget)?;
                }
                for pack in packs {
                    pack.decode(&mut cells, cap, &mut budget)?;
                }
                for block in blocks {
                    block.decode(&mut cells, cap, &mut budget)?;
                }
                plan.finish(&mut cells, cap, &mut budget)?;
                then(cells);
                Ok(())
            })
            .await?
        }
    }
}

/// Decoded bytes that one batch may still make.
#[derive(Debug)]
pub(crate) struct Budget {
    spent: u64,
    limit: u64,
}

impl Budget {
    fn new(kv: &Kv) -> Self {
        Self {
            spent: 0,
            limit: kv.limits().batch_bytes,
        }
    }

    fn spend(&mut self, key: &str, bytes: usize) -> Result<(), StoreError> {
        self.spent = self
            .spent
            .saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.spent > self.limit {
            return Err(StoreError::limit(
                key,
                "batch_bytes",
                self.spent,
                self.limit,
            ));
        }
        Ok(())
    }
}

/// Fetches what is needed of one object from a backend.
async fn fetch_remote(
    kv: &Kv,
    shards: &ShardCache,
    object: ObjectWant,
) -> Result<Vec<Unit>, StoreError> {
    let Some(layout) = object.array.layout() else {
        return Ok(Vec::new());
    };
    let cap = Cap::cell(kv.limits());
    let Some(shard) = layout.shard else {
        let bytes = kv
            .get_polled(&object.key, Ask::Whole, cap)
            .await?
            .map(|o| o.bytes);
        if bytes.is_none() {
            object.absent(kv, |_| true)?;
        }
        return Ok(bytes
            .map(|bytes| Unit::new(&object, bytes, object.cells.clone()))
            .into_iter()
            .collect());
    };
    let key = object.key.as_str();
    // Where a chunk lies is known only from the index: what is asked for after it belongs to the next round.
    let next = kv
        .round()
        .saturating_add(u32::from(shards.ready(key).is_none()));
    let head = shards
        .get_or_fetch(key, async {
            let object = kv
                .get_polled(key, shard::first_ask(shard, kv.merge().gap), cap)
                .await?;
            object
                .map(|o| ShardHead::parse(key, shard, o).map(Arc::new))
                .transpose()
        })
        .await?;
    let Some(head) = head else {
        object.absent(kv, |_| true)?;
        return Ok(Vec::new());
    };
    let chunks = shard::chunks(key, &head, &object.cells, cap)?;
    object.absent_from(kv, &chunks)?;
    let missing: Vec<Range<u64>> = chunks
        .iter()
        .filter(|c| c.bytes.is_none())
        .map(|c| c.range.clone())
        .collect();
    let head = &head;
    let kv = &kv.in_round(next);
    let requests = kv.requests(missing).into_iter().map(|range| async move {
        let object = kv.get_polled(key, Ask::Range(range.clone()), cap).await?;
        let object = object
            .ok_or_else(|| StoreError::malformed(key, "the shard vanished while it was read"))?;
        head.check_same(key, &object)?;
        Ok::<_, StoreError>((range.start, object.bytes))
    });
    let parts = try_join_all(requests).await?;
    chunks
        .into_iter()
        .map(|chunk| {
            let bytes = shard::cut(key, &chunk, &parts)?;
            let name = chunk.name(key);
            Ok(Unit::new(&object, bytes, chunk.cells).with_name(name))
        })
        .collect()
}
