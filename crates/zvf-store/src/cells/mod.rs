//! From wanted cells to their bytes: planning, reading, decoding.
//!
//! A plan is a list of decoders, one for each stored object, blob, pack or block. On a local disk one batch is one task
//! that reads, decodes and runs the caller's function. Elsewhere the requests of all decoders are sent together, and
//! decoding and the function run on a worker thread.

mod blobs;
pub(crate) mod cache;
mod chunk;
mod decoder;
mod kept_files;
pub(crate) mod later;
mod local_disk;
mod padded;
mod remote;
mod request;
mod shard;
mod table;
mod want;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::sync::OwnedSemaphorePermit;

use crate::StoreError;
use crate::container::Container;
use crate::container::blobs::{BlobSlot, Blobs};
use crate::container::padded::Padded;
use crate::layout::{ChunkDecoding, object_key};
use zvf_io::{Backend, Cap, Folder, Handover, Kv, driven, on_worker};

use blobs::{BlobWant, PackPart, PackWant};
use chunk::ObjectWant;
use decoder::{BatchCells, Decoder};
use later::FetchedCell;
use local_disk::Disk;
use padded::{BlockWant, Trim};
pub(crate) use shard::ShardCache;
use shard::WantedCell;
use table::TableWant;
pub(crate) use table::{ChunkWant, TableObjects};
pub use want::{CellWant, ReadCell};
pub(crate) use want::{dealt, wanted};
use zvf_format::int::wide;

/// The reads of a batch.
#[derive(Debug, Default)]
struct ReadPlan {
    decoders: Vec<Box<dyn Decoder>>,
    trims: Vec<Trim>,
    /// Cells of arrays that only the generic reader understands.
    generic: Vec<(usize, CellWant)>,
    /// Cells that need not be read.
    ready: Vec<(usize, Bytes)>,
    cells: usize,
    /// How many of the cells the caller requested; the others are companions.
    asked: usize,
}

impl ReadPlan {
    /// Groups requested cells by the objects that contain them. Equal requests share their bytes.
    fn new(wants: Vec<CellWant>, mode: Mode, kv: &Kv) -> Result<Self, StoreError> {
        let asked = wants.len();
        let mut sorter = ReadPlanner {
            verify: kv.versions().is_on(),
            ..ReadPlanner::default()
        };
        // The companions of padded cells may need companions themselves.
        let mut more = wants;
        while !more.is_empty() {
            let first = sorter.plan.cells;
            sorter.plan.cells = first.saturating_add(more.len());
            for (want, cell) in more.into_iter().enumerate() {
                sorter.add(first.saturating_add(want), cell)?;
            }
            more = std::mem::take(&mut sorter.more);
        }
        let mut plan = sorter.plan;
        plan.asked = asked;
        // Cells of padded arrays need the decoded bytes of their companions.
        if mode.later && plan.trims.is_empty() {
            let objects = sorter.objects.decoders.iter_mut();
            objects.for_each(|object| object.later = true);
        }
        let decoders = &mut plan.decoders;
        decoders.extend(sorter.objects.into_decoders());
        decoders.extend(sorter.blobs.into_decoders());
        decoders.extend(sorter.packs.into_decoders());
        decoders.extend(sorter.blocks.into_decoders());
        Ok(plan)
    }
}

impl ReadPlan {
    /// Groups wanted chunks of a table by the objects that contain them.
    fn of_table(table: &Arc<TableObjects>, wants: &[ChunkWant]) -> Result<Self, StoreError> {
        let mut objects: ByKey<TableWant> = ByKey::default();
        for (want, chunk) in wants.iter().enumerate() {
            let object = objects.get(chunk.key.clone(), |key| {
                TableWant::new(Arc::clone(table), key)
            })?;
            object.cells.push(WantedCell {
                want,
                entry: chunk.entry,
                element: 0,
            });
        }
        Ok(Self {
            decoders: objects.into_decoders().collect(),
            cells: wants.len(),
            asked: wants.len(),
            ..Self::default()
        })
    }
}

/// Sorts wanted cells into the reads of a [`ReadPlan`].
#[derive(Default)]
struct ReadPlanner {
    plan: ReadPlan,
    objects: ByKey<ObjectWant>,
    blobs: ByKey<BlobWant>,
    packs: ByKey<PackWant>,
    blocks: ByKey<BlockWant>,
    /// Companion cells of other cells; they follow the cells of the plan.
    more: Vec<CellWant>,
    index: Vec<u64>,
    /// Whether changes of the store are detected.
    verify: bool,
}

impl ReadPlanner {
    fn add(&mut self, want: usize, cell: CellWant) -> Result<(), StoreError> {
        let array = Arc::clone(&cell.array);
        let reader = match array.contents() {
            Container::Grid(reader) => {
                array.cell_index(&cell.chunk, &mut self.index)?;
                reader
            }
            Container::Blobs(group) => {
                array.check_rank(&cell.chunk)?;
                return self.add_blob(want, cell, group);
            }
            Container::Padded(padded) => {
                array.cell_index(&cell.chunk, &mut self.index)?;
                return self.add_block(want, cell, padded);
            }
            Container::Packed(packed) => {
                array.check_rank(&cell.chunk)?;
                let at = array.presence().position(&cell.chunk);
                let Some(element) = at.and_then(|at| packed.element(at)) else {
                    return Ok(());
                };
                self.index.clear();
                self.index.push(element);
                &packed.reader
            }
            Container::Records(records) => {
                array.check_rank(&cell.chunk)?;
                let at = array.presence().position(&cell.chunk);
                let bytes = at.and_then(|at| records.get(at));
                self.plan.ready.extend(bytes.map(|bytes| (want, bytes)));
                return Ok(());
            }
        };
        let (layout, doc) = match (reader, array.doc()) {
            (ChunkDecoding::Own(layout), Some(doc)) => (layout, doc),
            (ChunkDecoding::Unsupported(what), _) => {
                return Err(StoreError::unsupported(array.path(), what.clone()));
            }
            _ => {
                self.plan.generic.push((want, cell));
                return Ok(());
            }
        };
        let place = layout.place(&self.index);
        let key = object_key(array.path(), doc, &place.object);
        let new = |key: &str| ObjectWant::new(cell.array, key, self.verify);
        let place = WantedCell {
            want,
            entry: place.entry,
            element: place.element,
        };
        self.objects.get(key, new)?.add(place, cell.chunk);
        Ok(())
    }

    /// Adds a blob, or a part of a pack. Adds nothing if the presence list of the array does not name the chunk.
    fn add_blob(&mut self, want: usize, cell: CellWant, group: &Blobs) -> Result<(), StoreError> {
        let CellWant { array, chunk } = cell;
        match array.presence().position(&chunk).map(|at| group.slot(at)) {
            None => {}
            Some(BlobSlot::Plain) => {
                let path = format!("{}/{chunk}", array.path());
                let new = |path: &str| BlobWant::new(path, group.listed);
                self.blobs.get(path, new)?.wants.push(want);
            }
            Some(BlobSlot::Packed(pack, offset, length)) => {
                let key = format!("{}/{pack}", array.path());
                let pack = self.packs.get(key, |_| PackWant::new(array, pack))?;
                pack.parts.push(PackPart {
                    want,
                    offset,
                    length,
                });
            }
        }
        Ok(())
    }

    /// Adds a block, and the cell that determines its rows.
    fn add_block(
        &mut self,
        want: usize,
        cell: CellWant,
        padded: &Padded,
    ) -> Result<(), StoreError> {
        let companion = padded
            .count
            .companion()
            .filter(|other| other.in_grid(&cell.chunk) && other.presence().contains(&cell.chunk));
        let place = companion.map(|_| self.plan.cells.saturating_add(self.more.len()));
        let companion = companion.map(|other| CellWant::new(other, cell.chunk.clone()));
        self.more.extend(companion);
        self.plan.trims.push(Trim {
            want,
            cell: cell.clone(),
            companion: place,
        });
        let Some(doc) = cell.array.doc() else {
            return Ok(());
        };
        match &padded.reader {
            ChunkDecoding::Own(_) => {}
            ChunkDecoding::Generic => {
                self.plan.generic.push((want, cell));
                return Ok(());
            }
            ChunkDecoding::Unsupported(what) => {
                return Err(StoreError::unsupported(cell.array.path(), what.clone()));
            }
        }
        let pieces = padded.pieces(doc, &self.index).into_iter();
        let keys = pieces.map(|index| object_key(cell.array.path(), doc, &index));
        let keys: Vec<String> = keys.collect();
        if let Some(first) = keys.first().cloned() {
            let new = |_: &str| BlockWant::new(Arc::clone(&cell.array), keys);
            self.blocks.get(first, new)?.wants.push(want);
        }
        Ok(())
    }
}

/// Decoders of one container in the order in which they were first requested, one for each key.
struct ByKey<D> {
    decoders: Vec<Box<D>>,
    places: HashMap<String, usize>,
}

impl<D> Default for ByKey<D> {
    fn default() -> Self {
        Self {
            decoders: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<D: Decoder + 'static> ByKey<D> {
    /// The decoder of a key, made when it is wanted for the first time.
    fn get(&mut self, key: String, new: impl FnOnce(&str) -> D) -> Result<&mut D, StoreError> {
        let at = match self.places.entry(key) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                self.decoders.push(Box::new(new(place.key())));
                *place.insert(self.decoders.len() - 1)
            }
        };
        let decoder = self.decoders.get_mut(at);
        let decoder = decoder.ok_or_else(|| StoreError::misuse("a decoder was not kept"))?;
        Ok(decoder)
    }

    fn into_decoders(self) -> impl Iterator<Item = Box<dyn Decoder>> {
        let decoders = self.decoders.into_iter();
        decoders.map(|decoder| -> Box<dyn Decoder> { decoder })
    }
}

/// How a batch is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mode {
    /// Whether cells are decoded only when they are used, if each is a separate chunk with codecs of this crate.
    pub(crate) later: bool,
    /// Whether files of the local disk are read on the calling thread.
    pub(crate) here: bool,
}

/// The function that receives the cells of a batch as soon as they are read.
pub(crate) type Then = Box<dyn FnOnce(Vec<Option<FetchedCell>>) + Send>;

/// Reads and decodes cells, then runs `then` on them. `cells[i]` belongs to `wants[i]`; `None` = empty or missing.
pub(crate) async fn fetch(
    kv: Kv,
    shards: Arc<ShardCache>,
    wants: Vec<CellWant>,
    mode: Mode,
    then: Then,
) -> Result<(), StoreError> {
    Cap::cells(kv.limits()).check("cells of one call", wide(wants.len()))?;
    let plan = ReadPlan::new(wants, mode, &kv)?;
    fetch_plan(kv, shards, plan, mode, then).await
}

/// Reads and decodes chunks of a table. `chunks[i]` belongs to `wants[i]`; `None` = missing.
pub(crate) async fn fetch_table(
    kv: Kv,
    shards: Arc<ShardCache>,
    table: &Arc<TableObjects>,
    wants: &[ChunkWant],
    mode: Mode,
) -> Result<Vec<Option<Bytes>>, StoreError> {
    Cap::cells(kv.limits()).check(&table.path, wide(wants.len()))?;
    let plan = ReadPlan::of_table(table, wants)?;
    let (to, result) = Handover::pair();
    let then = Box::new(move |cells| to.put(decoded(cells)));
    fetch_plan(kv, shards, plan, mode, then).await?;
    result.take()?
}

async fn fetch_plan(
    kv: Kv,
    shards: Arc<ShardCache>,
    plan: ReadPlan,
    mode: Mode,
    then: Then,
) -> Result<(), StoreError> {
    let cells = BatchCells::new(plan.cells, &plan.ready, &kv)?;
    // If a permit is free, the work starts at the first poll and needs no separate task.
    if let Backend::Local(root) = kv.backend()
        && plan.generic.is_empty()
        && let Some(permit) = kv.free_slot()
    {
        if mode.here {
            return read_here(&kv, root, &shards, (plan, cells), permit, then);
        }
        return read_files(&kv, root, shards, (plan, cells), permit, then).await;
    }
    driven(fetch_all(kv, shards, (plan, cells), then)).await
}

/// Reads and decodes cells. `cells[i]` belongs to `wants[i]`; `None` = empty or missing.
pub(crate) async fn fetch_cells(
    kv: Kv,
    shards: Arc<ShardCache>,
    wants: Vec<CellWant>,
) -> Result<Vec<Option<Bytes>>, StoreError> {
    let (to, result) = Handover::pair();
    let then = Box::new(move |cells| to.put(decoded(cells)));
    fetch(kv, shards, wants, Mode::default(), then).await?;
    result.take()?
}

/// All bytes of every cell.
///
/// # Errors
/// As [`FetchedCell::open`], for cells that are not decoded yet.
pub(crate) fn decoded(cells: Vec<Option<FetchedCell>>) -> Result<Vec<Option<Bytes>>, StoreError> {
    let cells = cells.into_iter();
    let whole = |cell: Option<FetchedCell>| cell.map_or(Ok(None), FetchedCell::whole);
    cells.map(whole).collect()
}

/// Reads and decodes cells of local files and runs `then` on them, on a worker thread.
async fn read_files(
    kv: &Kv,
    root: &Arc<Folder>,
    shards: Arc<ShardCache>,
    plan: (ReadPlan, BatchCells),
    permit: OwnedSemaphorePermit,
    then: Then,
) -> Result<(), StoreError> {
    let (kv, root) = (kv.clone(), Arc::clone(root));
    on_worker(move || read_here(&kv, &root, &shards, plan, permit, then)).await?
}

/// Reads and decodes cells of local files and runs `then` on them.
fn read_here(
    kv: &Kv,
    root: &Arc<Folder>,
    shards: &ShardCache,
    (plan, mut cells): (ReadPlan, BatchCells),
    permit: OwnedSemaphorePermit,
    then: Then,
) -> Result<(), StoreError> {
    let disk = Disk { kv, root, shards };
    for decoder in plan.decoders {
        disk.read(decoder, &mut cells)?;
    }
    padded::trim(&plan.trims, &mut cells)?;
    let cells = cells.into_asked(plan.asked);
    // Some cells are read only when they are decoded. The permit is then held until `then` returns.
    let reads = |cell: &Option<FetchedCell>| matches!(cell, Some(FetchedCell::Stored(_)));
    let permit = Some(permit).filter(|_| cells.iter().any(reads));
    then(cells);
    drop(permit);
    Ok(())
}

/// Reads the cells of a plan: generic ones one request at a time, all others together.
async fn fetch_all(
    kv: Kv,
    shards: Arc<ShardCache>,
    (mut plan, mut cells): (ReadPlan, BatchCells),
    then: Then,
) -> Result<(), StoreError> {
    for (want, cell) in &plan.generic {
        let bytes = crate::generic::read_cell(&kv, &cell.array, &cell.chunk).await?;
        *cells.slot(*want)? = bytes;
    }
    match kv.backend() {
        Backend::Local(root) => {
            let permit = kv.slot().await?;
            read_files(&kv, root, shards, (plan, cells), permit, then).await
        }
        _ => {
            let decoders = std::mem::take(&mut plan.decoders).into_iter();
            let fetched = decoders.map(|decoder| remote::fetch(&kv, &shards, decoder));
            let fetched = try_join_all(fetched).await?;
            on_worker(move || {
                for one in fetched {
                    one.decode(&mut cells)?;
                }
                padded::trim(&plan.trims, &mut cells)?;
                then(cells.into_asked(plan.asked));
                Ok(())
            })
            .await?
        }
    }
}
