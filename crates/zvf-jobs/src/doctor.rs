//! The job `doctor`: measures which changes would make a store smaller or faster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use zvf_codec::{CodecError, CodecSample, Compression};
use zvf_encode::ShardShape;
use zvf_encode::level::{arrays_of_vertices, most_links};
use zvf_store::meta::STALE;
use zvf_store::meta::space::Grid;
use zvf_store::writing::MARKER;
use zvf_store::{
    CellWant, GridArray, Level, Need, Store, StoreError, Usage,
    owners::{OwnerColumn, is_owner_column},
};

use crate::chunk_size::{enlarged, larger};
use crate::words::argument;
use crate::{Context, JobError};

/// Most bytes of a cell that are encoded again.
const PART: usize = 1 << 20;

/// Most cells of an array that are encoded again.
const CELLS: usize = 16;

/// Most chunks that are read to count their vertices.
const CHUNKS: usize = 256;

/// The array of groups of links, below its level.
const LINK_FRAGMENTS: &str = "link_fragments";

/// Bytes of an endpoint of a link that are assumed to choose the shards of links.
const LINK_END: u64 = 5;

/// With fewer chunks, their size is not examined.
const SEVERAL: usize = 16;

/// Another codec is advised if it saves at least this percentage and this many bytes.
const LEAST_PERCENT: u64 = 5;
const LEAST_BYTES: u64 = 16 << 10;

/// A recommended change: a number of the store as measured, the number after the change, and the command that makes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The subject: `codec`, `shards`, `chunk-shape`, `owners`, `stale-levels`, `leftovers` or `deleted`.
    pub about: &'static str,
    /// The measurement in words.
    pub measured: String,
    /// The measured number.
    pub before: u64,
    /// The expected number after the change.
    pub after: u64,
    /// The unit of the two numbers: `bytes`, `files`, `vertices`, `chunks`, `objects`.
    pub unit: &'static str,
    /// The command that makes the change; replace `NEW` by the address of the copy.
    pub command: String,
}

/// The report of `doctor`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DoctorReport {
    /// The store.
    pub store: String,
    /// Files of the store; `None` if the store cannot be listed.
    pub files: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// Changes that would make the store smaller or faster.
    pub advice: Vec<Advice>,
    /// Subjects that were not examined, with the reason, and other remarks.
    pub notes: Vec<String>,
}

options! {
    /// Measures what would make a store smaller or faster, and names the commands for it
    DoctorJob {
        /// Path or URL of the store
        store: String,
    }
}

impl DoctorJob {
    /// Vertices of a chunk, by the median of a level, below which larger chunks are advised.
    pub const FEW_VERTICES: u64 = 1_000;

    pub(crate) fn check(&self) -> Result<(), JobError> {
        Ok(())
    }

    /// Measures a store; nothing is changed.
    ///
    /// # Cost
    ///
    /// Two listings of the store; up to 16 cells of each array of level 0, of which the first 1 MiB is encoded again, one array at a
    /// time; the positions of up to 256 chunks, eight at a time; up to 30 passes over the list of chunks.
    pub(crate) async fn run(&self, context: &Context) -> Result<DoctorReport, JobError> {
        let store = context.open(&self.store, 0, Need::all()).await?;
        let mut report = DoctorReport {
            store: self.store.clone(),
            files: None,
            bytes: None,
            advice: Vec::new(),
            notes: Vec::new(),
        };
        let examined = examine(&self.store, &store, context, &mut report).await;
        // A concurrent edit can look like damage, or mix two states in the report.
        let examined = match store.verify(0).await {
            Err(changed) if changed.is_changed() => Err(changed),
            _ => examined,
        };
        examined.map_err(JobError::store(&self.store))?;
        Ok(report)
    }
}

/// The shard shapes that would be chosen for the link arrays of a level, their attributes and their groups, by the path of the array. Every cell
/// of a family is assumed to have the mean number of links, or none if the document states no number; then only the number of cells bounds a shard.
fn link_shards(level: &Level, grid: &Grid, chosen: &[u64]) -> BTreeMap<String, Vec<u64>> {
    let mut shards = BTreeMap::new();
    for family in level.link_families() {
        let counted = family.arrays().iter().filter(|one| family.counts(one));
        let cells: usize = counted.map(|one| one.array.presence().len()).sum();
        let links = family.stated_links().unwrap_or_default();
        let each = links.saturating_mul(LINK_END * family.width() as u64);
        let each = each.checked_div(cells as u64).unwrap_or_default();
        for (at, one) in family.arrays().iter().enumerate() {
            let places = one.array.presence().iter();
            let places = places.filter_map(|chunk| Some((grid.index(chunk)?, each)));
            let shape = ShardShape::Auto.of_links(grid, chosen, &places.collect::<Vec<_>>());
            let values = family.attributes().iter();
            let values = values.filter_map(|values| values.arrays.get(at)?.as_deref());
            let groups = one.is_intra() && family.delta() == 0;
            let groups = groups.then(|| format!("0/{LINK_FRAGMENTS}"));
            let arrays = values.chain([&*one.array]);
            for path in arrays.map(|one| one.path().to_owned()).chain(groups) {
                shards.insert(path, shape.clone());
            }
        }
    }
    shards
}

/// Adds all findings to a report.
async fn examine(
    address: &str,
    store: &Store,
    context: &Context,
    report: &mut DoctorReport,
) -> Result<(), StoreError> {
    let address = &*argument(address);
    let level = store.level(0, &Need::all()).await?;
    let all = store.raw().usage("").await?;
    report.files = all.map(|one| one.objects);
    report.bytes = all.map(|one| one.bytes);
    let mut doctor = Doctor {
        address,
        store,
        level: &level,
        report,
    };
    if level.vertices().doc().is_none() {
        let version = store.root().zarr_vectors.zv_version.clone();
        doctor.report.notes.push(format!(
            "a store of version {version}: codecs and shards are not examined; `zvf migrate {address} NEW --to 0.9.2` makes a copy with new ones"
        ));
    } else {
        doctor.codecs().await?;
        doctor.shards(all).await?;
    }
    doctor.chunks().await?;
    doctor.owners().await?;
    doctor.stale();
    let marker = match store.raw().read(MARKER).await {
        // Buckets that deny listings report a missing object as access denied.
        Err(error) if error.is_denied() => None,
        marker => marker?,
    };
    if marker.is_some() {
        doctor.report.notes.push(format!(
            "a change is running or was interrupted ({MARKER} exists): if its writer is dead, `zvf edit {address} resume` completes or undoes it"
        ));
    }
    let left = zvf_edit::find_leftovers(store, context.writing(false)).await;
    let found = match left {
        Ok(left) => left.len() as u64,
        Err(error) => {
            let note = format!("stale files of edits were not searched for: {error}");
            doctor.report.notes.push(note);
            0
        }
    };
    doctor.removable(found).await
}

/// The store while it is measured.
struct Doctor<'d> {
    address: &'d str,
    store: &'d Store,
    level: &'d Level,
    report: &'d mut DoctorReport,
}

/// At most `most` indices below `count`, spread evenly.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |at| at * count / taken.max(1))
}

/// Bytes of the cells of an array with their present codec and with the chosen one.
struct EncodedSizes {
    stored: u64,
    again: u64,
}

impl Doctor<'_> {
    /// Bytes of one number of an array.
    fn items(array: &GridArray) -> usize {
        array.dtype().size()
    }

    /// The compression with which an array is stored; `None` if this build does not write it.
    fn compression(array: &GridArray) -> Option<Compression> {
        let doc = array.doc()?;
        let sharding = doc.sharding().ok()?;
        let codecs = sharding.as_ref().map_or(&doc.codecs, |one| &one.codecs);
        Compression::behind("vlen-bytes", codecs)
    }

    /// Up to [`CELLS`] existing cells of an array, each cut to [`PART`] bytes.
    async fn cells(&self, array: &Arc<GridArray>) -> Result<Vec<Vec<u8>>, StoreError> {
        let presence = array.presence();
        let mut cells = Vec::new();
        for at in spread(presence.len(), CELLS) {
            let Some(chunk) = presence.get(at) else {
                continue;
            };
            let want = vec![CellWant::new(array, chunk)];
            let found = self.store.fetch(self.level.next_round(), want).await?;
            cells.extend(found.into_iter().flatten().map(|cell| {
                let part = cell.get(..PART).unwrap_or(&cell);
                part.to_vec()
            }));
        }
        Ok(cells)
    }

    /// Encodes cells with their present codec and with the codec that `auto` would choose.
    ///
    /// # Errors
    ///
    /// A codec that fails.
    fn again(
        stored: &Compression,
        items: usize,
        cells: &[Vec<u8>],
    ) -> Result<EncodedSizes, CodecError> {
        let sample = CodecSample::of(cells.iter().map(Vec::len), |at, most| {
            let cell = cells.iter().skip(at).take(1).flatten();
            Ok::<_, CodecError>(cell.take(most).copied().collect())
        })?;
        let chosen = Compression::Auto.chosen(items, &sample)?;
        let bytes = |by: &Compression| -> Result<u64, CodecError> {
            let mut sum = 0;
            for cell in cells {
                sum += by.encode(cell.clone())?.len() as u64;
            }
            Ok(sum)
        };
        Ok(EncodedSizes {
            stored: bytes(stored)?,
            again: bytes(&chosen)?,
        })
    }

    async fn codecs(&mut self) -> Result<(), StoreError> {
        let (mut before, mut after, mut cells) = (0_u64, 0_u64, 0);
        let mut unknown = Vec::new();
        for array in self.level.arrays() {
            let Some(stored) = Self::compression(&array) else {
                unknown.push(array.path().to_owned());
                continue;
            };
            let Some(usage) = self.store.raw().usage(array.path()).await? else {
                let note = "codecs are not examined: the store cannot be listed".to_owned();
                self.report.notes.push(note);
                return Ok(());
            };
            let sampled = self.cells(&array).await?;
            let found = match Self::again(&stored, Self::items(&array), &sampled) {
                Ok(found) if found.stored > 0 => found,
                // An array without cells.
                Ok(_) => continue,
                Err(error) => {
                    let note = format!("the codec of {} is not examined: {error}", array.path());
                    self.report.notes.push(note);
                    continue;
                }
            };
            cells += sampled.len();
            let scaled = u128::from(usage.bytes) * u128::from(found.again);
            let scaled = scaled.checked_div(u128::from(found.stored));
            let scaled = scaled.and_then(|bytes| u64::try_from(bytes).ok());
            before += usage.bytes;
            after += scaled.unwrap_or(usage.bytes);
        }
        if !unknown.is_empty() {
            self.report.notes.push(format!(
                "arrays with codecs that this program does not write, which are not examined: {}",
                unknown.join(", ")
            ));
        }
        let saved = before.saturating_sub(after);
        if saved >= LEAST_BYTES && saved >= before / 100 * LEAST_PERCENT {
            self.report.advice.push(Advice {
                about: "codec",
                measured: format!(
                    "{cells} cells of the arrays of level 0, encoded again by the codec that suits each array, scaled to all cells"
                ),
                before,
                after,
                unit: "bytes",
                command: format!("zvf rechunk {} NEW --codec auto", self.address),
            });
        }
        Ok(())
    }

    /// Compares the number of files with and without shards.
    async fn shards(&mut self, all: Option<Usage>) -> Result<(), StoreError> {
        let (level, root) = (self.level, self.store.root());
        let vertices = level.vertices();
        let (Some(all), Some(shape)) = (all, vertices.shape()) else {
            return Ok(());
        };
        if vertices.is_sharded() {
            return Ok(());
        }
        let grid = Grid {
            origin: vertices.origin().to_vec(),
            shape: shape.to_vec(),
        };
        let presence = vertices.presence();
        let attributes = level.vertex_attributes().iter();
        let attributes = attributes.map(|one| {
            let width = usize::try_from(one.declared_width.unwrap_or(1)).unwrap_or(usize::MAX);
            one.dtype.size().saturating_mul(width)
        });
        let row = attributes.fold(vertices.dtype().size() * root.dims(), usize::saturating_add);
        let rows = level.doc().vertex_count;
        let bytes = rows
            .saturating_mul(row as u64)
            .checked_div(presence.len() as u64);
        let chunks = presence.iter().map(|chunk| (chunk, bytes.unwrap_or(0)));
        let arrays = arrays_of_vertices(level);
        let most = most_links(level);
        let chosen = ShardShape::Auto.of_level(&grid, root.dims(), arrays, most, chunks);
        let Some(chosen) = chosen else { return Ok(()) };
        let links = link_shards(level, &grid, &chosen);
        let mut after = all.objects;
        let mut arrays = level.arrays();
        if !level.link_families().is_empty() {
            arrays.extend(self.store.grid_array(0, LINK_FRAGMENTS).await?);
        }
        for array in arrays.iter().filter(|array| !array.is_sharded()) {
            let presence = array.presence();
            let chosen = links.get(array.path()).unwrap_or(&chosen);
            let shards: BTreeSet<Vec<u64>> = presence
                .iter()
                .filter_map(|chunk| {
                    let index = grid.index(chunk)?;
                    let of = index.iter().zip(chosen).map(|(at, n)| at / (*n).max(1));
                    Some(of.collect())
                })
                .collect();
            let cells = presence.len() as u64;
            after = after.saturating_sub(cells.saturating_sub(shards.len() as u64));
        }
        let mean = all.bytes.checked_div(all.objects).unwrap_or(0);
        self.report.advice.push(Advice {
            about: "shards",
            measured: format!(
                "files of {mean} bytes on average; cells of level 0 in shards instead"
            ),
            before: all.objects,
            after,
            unit: "files",
            command: format!("zvf rechunk {} NEW --shard-shape auto", self.address),
        });
        Ok(())
    }

    /// Checks whether chunks have too few vertices.
    async fn chunks(&mut self) -> Result<(), StoreError> {
        let vertices = self.level.vertices();
        let presence = vertices.presence();
        if presence.len() < SEVERAL {
            return Ok(());
        }
        let row = (vertices.dtype().size() * self.store.root().dims()).max(1);
        let mut counts = Vec::new();
        let places: Vec<usize> = spread(presence.len(), CHUNKS).collect();
        for some in places.chunks(8) {
            let chunks = some.iter().filter_map(|at| presence.get(*at));
            let wants = chunks.map(|chunk| CellWant::new(vertices, chunk)).collect();
            let round = self.level.next_round();
            let sizes = self.store.fetch_map(round, wants, |cells| {
                let cells = cells.into_iter().flatten();
                cells.map(|cell| cell.len()).collect::<Vec<_>>()
            });
            counts.extend(sizes.await?.into_iter().map(|bytes| (bytes / row) as u64));
        }
        counts.sort_unstable();
        let at = |share: usize| counts.get(counts.len().saturating_sub(1) * share / 10);
        let (Some(low), Some(middle), Some(high)) = (at(1), at(5), at(9)) else {
            return Ok(());
        };
        if *middle >= DoctorJob::FEW_VERTICES {
            return Ok(());
        }
        let sum: u64 = counts.iter().sum();
        let rows = u128::from(sum) * presence.len() as u128 / counts.len().max(1) as u128;
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let chunks: Vec<&[i64]> = presence.iter().collect();
        let shape = self.level.chunk_shape();
        let Some((times, after)) = larger(&chunks, shape.len(), rows) else {
            return Ok(());
        };
        self.report.advice.push(Advice {
            about: "chunk-shape",
            measured: format!(
                "vertices of {} of {} chunks: median {middle}, one in ten has {low} or fewer, one in ten {high} or more; mean of chunks {times} times as long",
                counts.len(),
                presence.len()
            ),
            before: *middle,
            after,
            unit: "vertices",
            command: format!(
                "zvf rechunk {} NEW --chunk-shape {}",
                self.address,
                enlarged(shape, times)
            ),
        });
        Ok(())
    }

    /// Checks for the owner column; without it, box queries read manifests.
    async fn owners(&mut self) -> Result<(), StoreError> {
        if self.level.object_index().is_none() || self.level.vertices().doc().is_none() {
            return Ok(());
        }
        let is_there = self.level.fragment_attributes().iter().any(is_owner_column);
        let why = match self.level.owner_column() {
            OwnerColumn::Current(_) => return Ok(()),
            OwnerColumn::Stale(_) => "another writer changed objects since it was made",
            OwnerColumn::Contradictory(_) => "it lists cells outside of its shape",
            OwnerColumn::None if is_there => {
                "its writer did not record the object index that it was made from"
            }
            OwnerColumn::None => "it does not exist",
        };
        let Some(index) = self.store.raw().usage("0/object_index").await? else {
            return Ok(());
        };
        self.report.advice.push(Advice {
            about: "owners",
            measured: format!(
                "bytes of the object index that a box query reads, because the owner column cannot be used ({why}); with it, a box query reads the column of its chunks instead"
            ),
            before: index.bytes,
            after: 0,
            unit: "bytes",
            command: format!("zvf edit {} add-owners", self.address),
        });
        Ok(())
    }

    /// Checks for coarse levels that are older than the last edit.
    fn stale(&mut self) {
        let stale = self.store.root().extra.get(STALE);
        let Some(stale) = stale.filter(|_| self.store.levels().len() > 1) else {
            return;
        };
        let chunks = stale.get("chunks").and_then(|list| list.as_array());
        let chunks = chunks.map_or(0, Vec::len) as u64;
        self.report.advice.push(Advice {
            about: "stale-levels",
            measured: "chunks that were edited since the coarse levels were made".to_owned(),
            before: chunks,
            after: 0,
            unit: "chunks",
            command: format!("zvf pyramid {} --refresh", self.address),
        });
    }

    /// Checks for data that `zvf vacuum` would remove: rows of deleted objects, and `files` stale files.
    async fn removable(&mut self, files: u64) -> Result<(), StoreError> {
        let index = self.level.object_index();
        let deleted = index.map_or(0, |index| index.deleted().len()) as u64;
        // A damaged index may list more deleted objects than it has rows; then no level fits.
        let rows = index.and_then(|index| index.len().checked_sub(deleted));
        let need = Need {
            objects: true,
            skip_ids: true,
            ..Need::nothing()
        };
        let mut keeping = Vec::new();
        for number in self.store.levels().iter().filter(|&&number| number != 0) {
            let level = self.store.level(*number, &need).await?;
            if deleted > 0 && !rows.is_some_and(|rows| level.fits_objects(rows)) {
                keeping.push(number.to_string());
            }
        }
        if !keeping.is_empty() {
            self.report.notes.push(format!(
                "deleted objects that still have a row in the object index: {deleted}, and files that no reader uses: {files}; `zvf vacuum` removes them only without the \
                 coarse levels that keep these rows ({}): `zvf pyramid {address} --refresh` makes the levels again, `zvf pyramid {address} --remove` removes them",
                keeping.join(", "),
                address = self.address
            ));
            return Ok(());
        }
        for (about, measured, before, unit) in [
            (
                "deleted",
                "deleted objects that still have a row in the object index",
                deleted,
                "objects",
            ),
            ("leftovers", "files that no reader uses", files, "files"),
        ] {
            if before > 0 {
                self.report.advice.push(Advice {
                    about,
                    measured: measured.to_owned(),
                    before,
                    after: 0,
                    unit,
                    command: format!("zvf vacuum {}", self.address),
                });
            }
        }
        Ok(())
    }
}
