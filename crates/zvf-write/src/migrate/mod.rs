//! Copies of stores: old ones brought to the version that is written, and new shapes of chunks, bins and shards.
//!
//! ```text
//! vertices   chunk for chunk, of all levels         cells
//! objects    manifests, ids, values, groups         objects, tables
//! links      record for record, to all levels       records, links
//! the rest   headers, parametric objects, …         side
//! documents  what is not understood is kept         documents
//! ── the root makes the store ──
//! a second look at both stores                      verify
//! ```
//!
//! A chunk keeps its rows and its fragments in their order, so that every answer about the new store is that about the
//! old one. Only where the shape of chunks changes, or that of bins, rows move ([`Moved`](moved::Moved)): objects keep
//! their vertices in their order all the same.

mod cells;
mod documents;
mod laid;
mod links;
mod moved;
mod objects;
mod records;
mod relay;
mod report;
mod side;
mod source;
mod tables;
mod verify;
mod verify_moved;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use zvf_meta::{Kind, LevelDoc, LinkStore};
use zvf_store::{Level, LinkFamily, Need, Store};

pub use report::{LevelCounts, Loss, Repair, Report, Verified};

use crate::WriteError;
use crate::codec::Compression;
use crate::commit;
use crate::finish::{families, put_documents};
use crate::int::wide;
use crate::objects::Docs;
use crate::prepare::Corners;
use crate::shard::Cells;
use crate::spill::Spool;
use crate::target::Target;
use crate::writer::{WriteOptions, blocking};
use cells::Sink;
use laid::Laid;
use links::{End, Placer, Policy, Valued};
use records::Family;
use report::Notes;
use source::Source;

/// Told how many vertices were copied since it was told last.
pub type MigrateProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// How a store is copied.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct MigrateOptions {
    /// Memory, threads, the backend of the new store.
    pub write: WriteOptions,
    /// How chunks are compressed. Default: as level 0 of the old store, where that can be told, else zstd.
    pub compression: Option<Compression>,
    /// Cells of a shard along each spatial axis; an empty list: no shards. Default: as each level of the old store.
    pub shard_shape: Option<Vec<u64>>,
    /// World size of a chunk of level 0. Coarser levels keep their multiple of it. Default: as it is.
    pub chunk_shape: Option<Vec<f64>>,
    /// World size of a bin of level 0: a whole part of the chunk. Default: as it is, where it is one of the new chunk.
    pub bin_shape: Option<Vec<f64>>,
    /// Whether anything that cannot be carried is an error.
    pub strict: bool,
    /// Whether the second look is left out.
    pub unverified: bool,
    /// Told how the copy goes on.
    pub progress: Option<MigrateProgress>,
}

impl std::fmt::Debug for MigrateOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MigrateOptions")
            .field("write", &self.write)
            .field("compression", &self.compression)
            .field("shard_shape", &self.shard_shape)
            .field("chunk_shape", &self.chunk_shape)
            .field("bin_shape", &self.bin_shape)
            .field("strict", &self.strict)
            .field("unverified", &self.unverified)
            .finish_non_exhaustive()
    }
}

impl MigrateOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces [`write`](Self::write).
    #[must_use]
    pub fn with_write(mut self, write: WriteOptions) -> Self {
        self.write = write;
        self
    }

    /// Replaces [`compression`](Self::compression).
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Replaces [`shard_shape`](Self::shard_shape).
    #[must_use]
    pub fn with_shard_shape(mut self, cells: impl Into<Vec<u64>>) -> Self {
        self.shard_shape = Some(cells.into());
        self
    }

    /// Replaces [`chunk_shape`](Self::chunk_shape).
    #[must_use]
    pub fn with_chunk_shape(mut self, shape: impl Into<Vec<f64>>) -> Self {
        self.chunk_shape = Some(shape.into());
        self
    }

    /// Replaces [`bin_shape`](Self::bin_shape).
    #[must_use]
    pub fn with_bin_shape(mut self, shape: impl Into<Vec<f64>>) -> Self {
        self.bin_shape = Some(shape.into());
        self
    }

    /// Replaces [`strict`](Self::strict).
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Replaces [`unverified`](Self::unverified).
    #[must_use]
    pub fn with_unverified(mut self, unverified: bool) -> Self {
        self.unverified = unverified;
        self
    }

    /// Replaces [`progress`](Self::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: MigrateProgress) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// Copies a store of any version that is read into a new store of 0.9.2, with all its levels, and compares the two.
///
/// What is carried, repaired and reported stands in `docs/migration.md`.
///
/// # Cost
/// Every cell of the old store is read once and written once, and both are read once more by the second look. Memory: a
/// few dozen chunks a thread, the [memory budget](WriteOptions::memory_budget) for links, 12 bytes a chunk, 8 an object,
/// 8 a fragment where links between the parts of chains are made anew, and the tables of objects.
///
/// # Errors
/// As the old store says; misuse, where something lies at the new one's place; [`WriteError::Source`] for what no reader
/// may guess about, and with [`MigrateOptions::strict`] for everything that cannot be carried;
/// [`WriteError::Differs`] if the second look finds a difference. There is no new store after an error, unless
/// [`WriteError::is_committed`].
///
/// # Examples
///
/// ```no_run
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// use zvf_store::Store;
/// use zvf_write::{MigrateOptions, migrate};
///
/// let old = Store::open("old.zarrvectors").await?;
/// let report = migrate(&old, "new.zarrvectors", MigrateOptions::new()).await?;
/// for loss in &report.losses {
///     eprintln!("{}: {}", loss.place, loss.what);
/// }
/// # Ok(())
/// # }
/// ```
pub async fn migrate(
    store: &Store,
    address: &str,
    options: MigrateOptions,
) -> Result<Report, WriteError> {
    let mut levels = Vec::new();
    for &number in store.levels() {
        levels.push(store.level(number, &Need::all()).await?);
    }
    let (store, address, handle) = (store.clone(), address.to_owned(), Handle::current());
    blocking(move || {
        let job = Job {
            store,
            levels,
            address,
            handle,
            options,
            notes: Notes::default(),
        };
        job.run()
    })
    .await
}

/// Compares two stores by what they hold: levels, vertices with their attributes, objects, links, tables and groups.
///
/// Where the shapes of chunks are the same, chunks are compared byte for byte; else by hashes of what rows hold, in any
/// order of rows. `old` may hold what [`migrate`] would repair.
///
/// # Cost
/// Every cell of both stores is read once, of links also the chunks of their ends. Memory: 8 bytes a chunk; where shapes
/// differ 40 bytes a fragment, and of trees 16 a stored edge.
///
/// # Errors
/// [`WriteError::Differs`] with the first difference: level, and chunk, object or attribute. As the stores say.
pub async fn compare(old: &Store, new: &Store) -> Result<Verified, WriteError> {
    let (old, new, handle) = (old.clone(), new.clone(), Handle::current());
    blocking(move || verify::verify(&old, &new, &handle)).await
}

/// Bytes of the cells of a chunk, about.
fn chunk_bytes(source: &Source) -> u64 {
    let columns = source.columns.iter().map(source::Column::row_bytes);
    let row = columns.fold(source.position_bytes(), usize::saturating_add);
    let rows = source.level.doc().vertex_count / wide(source.chunks.len()).max(1);
    rows.max(1).saturating_mul(wide(row).max(1))
}

/// One copy.
struct Job {
    store: Store,
    levels: Vec<Level>,
    address: String,
    handle: Handle,
    options: MigrateOptions,
    notes: Notes,
}

/// One level on its way.
struct Stage {
    source: Source,
    cells: Cells,
    chunk_shape: Vec<f64>,
    /// Rows go to other chunks or fragments.
    moves: bool,
    /// Bins that fragments are, where they are bins and rows move.
    bins: Option<Vec<f64>>,
}

impl Job {
    fn run(&self) -> Result<Report, WriteError> {
        let write = &self.options.write;
        let target = Target::new(&self.address, &write.open, write.durable)?;
        let begun = commit::begin(
            &target,
            &self.address,
            write.leftovers,
            serde_json::json!({}),
        )?;
        let mut report = match self.fill(&target) {
            Ok((root, report)) => {
                commit::commit(&target, &self.address, root, None)?;
                report
            }
            Err(error) => {
                commit::abandon(&target, &begun);
                return Err(error);
            }
        };
        if !self.options.unverified {
            match self.verify() {
                Ok(verified) => report.verified = Some(verified),
                Err(error) => {
                    // What is not a copy is not left as one.
                    target.remove(commit::ROOT)?;
                    target.clear(commit::ROOT)?;
                    return Err(error);
                }
            }
        }
        Ok(report)
    }

    fn verify(&self) -> Result<Verified, WriteError> {
        let open = self.options.write.open.clone();
        let new = self
            .handle
            .block_on(Store::open_with(&self.address, open))?;
        verify::verify(&self.store, &new, &self.handle)
    }

    /// Writes everything but the root, whose document is returned.
    fn fill(&self, target: &Target) -> Result<(String, Report), WriteError> {
        self.check_shapes()?;
        let mut stages = Vec::new();
        for level in &self.levels {
            stages.push(self.stage(level.clone())?);
        }
        let (mut laid, mut cuts) = (Vec::new(), Vec::new());
        let mut extent = Laid::default();
        let (budget, threads) = (self.options.write.memory_budget, self.options.write.threads);
        for stage in &mut stages {
            let below = target.below(stage.source.level.number().to_string());
            let one = if stage.moves {
                let (shape, bins) = (&stage.chunk_shape, stage.bins.clone());
                let folder = self.folder();
                let gathered =
                    relay::gather(&stage.source, shape, bins, budget, &folder, &self.notes)?;
                let sorted = gathered.finish();
                stage.cells.grid = self.grid(&stage.source, shape, &sorted.chunks)?;
                let sink = self.sink(stage, &below);
                let (one, cut) = relay::write(sink, sorted, threads, budget, &folder)?;
                cuts.push(Some(cut));
                one
            } else {
                cuts.push(None);
                cells::copy(self.sink(stage, &below), threads)?
            };
            extent.widen(one.extent.clone());
            laid.push(one);
        }
        let mut report = Report {
            from: self.store.root().zarr_vectors.zv_version.clone(),
            to: crate::TargetVersion::V0_9_2.version().to_owned(),
            ..Report::default()
        };
        for (at, cut) in cuts.into_iter().enumerate() {
            report
                .levels
                .push(self.finish_level(&stages, &mut laid, at, cut, target)?);
        }
        side::copy(&self.store, &self.handle, target, &self.notes)?;
        let root = self.root(&stages, extent.extent)?;
        for warning in self.store.warnings() {
            match warning.strip_prefix("left out: ") {
                Some(what) => self.notes.lost("the old store", what),
                None => self.notes.note(format!("of the old store: {warning}")),
            }
        }
        self.notes.finish(&mut report);
        if let Some(loss) = report.losses.first().filter(|_| self.options.strict) {
            return Err(WriteError::source(loss.place.clone(), loss.what.clone()));
        }
        Ok((root, report))
    }

    fn root(&self, stages: &[Stage], extent: Option<Corners>) -> Result<String, WriteError> {
        let levels: Vec<(Level, Vec<f64>)> = stages
            .iter()
            .map(|stage| (stage.source.level.clone(), stage.chunk_shape.clone()))
            .collect();
        let bins = self.base_bins();
        let name = crate::documents::name_of(&self.address);
        let root = documents::root(&self.store, &levels, extent, bins, &name, &self.notes)?;
        Ok(root.to_json())
    }

    /// Prepares a level: its chunks, its grid, how it is stored.
    fn stage(&self, level: Level) -> Result<Stage, WriteError> {
        let chunk_shape = self.chunk_shape(&level);
        let (stored, shards) = documents::storage(level.vertices());
        let rank = level.key_rank();
        let source = Source::new(level, self.handle.clone(), &self.notes)?;
        let binned = verify::is_binned(&source);
        let bins = self.base_bins().unwrap_or_else(|| chunk_shape.clone());
        let moves = chunk_shape != source.level.chunk_shape() || self.cuts_bins(&source);
        let grid = self.grid(&source, &chunk_shape, &source.chunks)?;
        let shards = match &self.options.shard_shape {
            Some(cells) if cells.is_empty() => None,
            Some(cells) => {
                let lead = rank.saturating_sub(cells.len());
                Some(
                    std::iter::repeat_n(1, lead)
                        .chain(cells.iter().copied())
                        .collect(),
                )
            }
            None => shards.filter(|shards| shards.len() == rank),
        };
        let compression = self.options.compression.clone().or(stored);
        Ok(Stage {
            source,
            cells: Cells {
                grid,
                shards,
                compression: compression.unwrap_or(Compression::Zstd),
            },
            chunk_shape,
            moves,
            bins: binned.then_some(bins),
        })
    }

    /// The grid of a level over the store's bounds, with room for its chunks.
    fn grid(
        &self,
        source: &Source,
        chunk_shape: &[f64],
        chunks: &[zvf_store::ChunkCoord],
    ) -> Result<zvf_meta::space::Grid, WriteError> {
        let bounds = &self.store.root().zarr_vectors.bounds;
        let mut grid = zvf_meta::space::grid_for((&bounds.0, &bounds.1), chunk_shape)?;
        if source.level.key_rank() > chunk_shape.len() {
            let values = source.level.doc().chunk_attribute_values.as_ref();
            grid = grid.with_bins(values.map_or(1, |values| wide(values.len()).max(1)));
        }
        Ok(laid::with_room(
            grid,
            chunks.iter().map(zvf_store::ChunkCoord::as_slice),
        ))
    }

    /// World size of a chunk of the new level 0.
    fn base_shape(&self) -> Vec<f64> {
        let old = &self.store.root().zarr_vectors.chunk_shape;
        self.options
            .chunk_shape
            .clone()
            .unwrap_or_else(|| old.clone())
    }

    /// World size of a chunk of a new level: as many of level 0 as before.
    fn chunk_shape(&self, level: &Level) -> Vec<f64> {
        let old = &self.store.root().zarr_vectors.chunk_shape;
        match &self.options.chunk_shape {
            None => level.chunk_shape().to_vec(),
            Some(new) => {
                let axes = level.chunk_shape().iter().zip(old).zip(new);
                axes.map(|((own, base), new)| (own / base).round().max(1.0) * new)
                    .collect()
            }
        }
    }

    /// World size of a bin of the new level 0, where it is not the chunk.
    fn base_bins(&self) -> Option<Vec<f64>> {
        if self.options.bin_shape.is_some() {
            return self.options.bin_shape.clone();
        }
        let old = self.store.root().zarr_vectors.base_bin_shape.clone()?;
        if divides(&old, &self.base_shape()) {
            return Some(old);
        }
        self.notes.note(format!(
            "bins of {old:?} are no whole part of the new chunk: there are none"
        ));
        None
    }

    /// Checks the shapes that were asked for.
    fn check_shapes(&self) -> Result<(), WriteError> {
        let dims = self.store.root().dims();
        let of = |member: &str, shape: &Option<Vec<f64>>| match shape {
            Some(shape) if shape.len() != dims => {
                let found = format!("{} numbers", shape.len());
                Err(WriteError::spec(
                    member,
                    found,
                    format!("{dims}, one an axis"),
                ))
            }
            Some(shape) if !shape.iter().all(|size| size.is_finite() && *size > 0.0) => Err(
                WriteError::spec(member, format!("{shape:?}"), "sizes above 0"),
            ),
            _ => Ok(()),
        };
        of("chunk_shape", &self.options.chunk_shape)?;
        of("bin_shape", &self.options.bin_shape)?;
        if let Some(cells) = self
            .options
            .shard_shape
            .as_ref()
            .filter(|cells| !cells.is_empty())
        {
            let all = cells
                .iter()
                .try_fold(1_u64, |all, &cells| all.checked_mul(cells));
            if cells.len() != dims || !all.is_some_and(|all| (1..=1 << 24).contains(&all)) {
                let expected = format!("{dims} numbers above 0, at most 2^24 cells in all");
                return Err(WriteError::spec(
                    "shard_shape",
                    format!("{cells:?}"),
                    expected,
                ));
            }
        }
        if let Some(compression) = &self.options.compression {
            compression.check()?;
        }
        if self.options.chunk_shape.is_some() {
            self.check_coarse_bins()?;
        }
        let Some(bins) = &self.options.bin_shape else {
            return Ok(());
        };
        let chunk = self.base_shape();
        if !divides(bins, &chunk) {
            let expected = format!("a whole part of the chunk's {chunk:?}");
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        let of_objects = self
            .levels
            .iter()
            .any(|level| level.number() == 0 && level.object_index().is_some());
        if self.store.kind() == Kind::PointCloud && of_objects {
            // Released readers take fragment numbers for bin numbers (trap T1).
            let expected = "none where points have objects, which are their fragments then";
            return Err(WriteError::spec("bin_shape", format!("{bins:?}"), expected));
        }
        Ok(())
    }

    /// A chunk of a coarser level is a whole multiple of its bin, where it is not smaller (0.9 §6).
    fn check_coarse_bins(&self) -> Result<(), WriteError> {
        for level in self.levels.iter().filter(|level| level.number() > 0) {
            let chunk = self.chunk_shape(level);
            for (axis, (bin, chunk)) in level
                .bin_shape()
                .into_iter()
                .flatten()
                .zip(&chunk)
                .enumerate()
            {
                let count = chunk / bin;
                if *bin <= *chunk && (count - count.round()).abs() > 1e-9 {
                    let number = level.number();
                    let found = format!("{chunk} on axis {axis} of level {number}");
                    let expected =
                        format!("a whole multiple of the level's bin {bin}, or less than it");
                    return Err(WriteError::spec("chunk_shape", found, expected));
                }
            }
        }
        Ok(())
    }

    fn sink<'s>(&'s self, stage: &'s Stage, below: &'s crate::target::Below<'s>) -> Sink<'s> {
        Sink {
            source: &stage.source,
            cells: &stage.cells,
            target: below,
            chunk_shape: &stage.chunk_shape,
            notes: &self.notes,
            keep_ends: self.makes_chains(stage),
            progress: match &self.options.progress {
                Some(progress) => &**progress,
                None => &|_| {},
            },
        }
    }

    /// Whether the fragments of a level are bins of another shape than before.
    fn cuts_bins(&self, source: &Source) -> bool {
        let new = self.base_bins().unwrap_or_else(|| self.base_shape());
        verify::is_binned(source) && new != self.store.root().base_bin_shape()
    }

    /// Whether the links between the parts of chains are made from the manifests: those that are stored name no rows, or
    /// the parts are others now.
    fn makes_chains(&self, stage: &Stage) -> bool {
        let level = &stage.source.level;
        let untrusted = level.links(0).is_some_and(|family| !family.rows_trusted());
        let kind = self.store.kind();
        let chain = matches!(kind, Kind::Line | Kind::Polyline | Kind::Streamline);
        level.object_index().is_some() && (untrusted || (stage.moves && chain))
    }

    /// Writes what a level has beside vertices, and its documents.
    fn finish_level(
        &self,
        stages: &[Stage],
        laid: &mut [Laid],
        at: usize,
        cut: Option<Spool>,
        target: &Target,
    ) -> Result<LevelCounts, WriteError> {
        let (Some(stage), Some(here)) = (stages.get(at), laid.get_mut(at)) else {
            return Ok(LevelCounts::default());
        };
        let source = &stage.source;
        let number = source.level.number();
        let below = target.below(number.to_string());
        let write = &self.options.write;
        let compression = &stage.cells.compression;
        let mut counts = LevelCounts {
            level: number,
            vertices: here.rows,
            chunks: wide(here.chunk_rows.iter().filter(|rows| **rows > 0).count()),
            fragments: here.all_fragments(),
            ..LevelCounts::default()
        };
        let mut arrays: Docs = std::mem::take(&mut here.arrays);
        let mut groups: BTreeMap<String, String> = BTreeMap::new();
        let mut chains = self.chains(stage)?;
        let here = &*here;
        let objects = objects::write(source, here, compression, &below, &self.notes, |a, b| {
            let Some(chains) = &mut chains else {
                return Ok(());
            };
            let end = |(slot, row): (u32, u32)| End {
                slot,
                chunk: here.chunk(slot),
                row,
            };
            chains.push(&[end(a), end(b)], &[])
        })?;
        let count = objects.as_ref().map(|objects| wide(objects.ids.len()));
        if let Some(objects) = objects {
            counts.objects = wide(objects.ids.len());
            arrays.extend(objects.arrays);
            let doc = objects.doc.to_group().to_json_line();
            groups.insert("object_index".to_owned(), doc);
        }
        arrays.extend(tables::object_attributes(
            source,
            count,
            compression,
            &below,
            &self.notes,
        )?);
        let (docs, of_groups) = tables::groups(source, compression, &below, &self.notes)?;
        arrays.extend(docs);
        counts.groups = of_groups;
        let mut placed = Vec::new();
        if let Some(chains) = chains {
            let path = format!("{number}/links/0");
            let what = "links with made-up rows were made anew from the manifests";
            let untrusted = source
                .level
                .links(0)
                .is_some_and(|family| !family.rows_trusted());
            self.notes
                .repaired(&path, what, if untrusted { chains.links } else { 0 });
            placed.push(chains);
        }
        let mut cut = cut;
        for family in source.level.link_families() {
            placed.extend(self.family(stages, laid, at, family, &mut cut)?);
        }
        if records::is_implied_tree(source)
            && let Some(laid) = laid.get_mut(at)
            && let Some(cut) = cut.take()
        {
            // There were no stored edges beside the implied ones.
            let mut placer = self.pairs(source, true);
            push_cut(cut, laid, &[], &mut placer)?;
            placed.push(placer);
        }
        for refused in source.level.refused() {
            self.notes.lost(
                refused.path.clone(),
                format!("links that are not read: {}", refused.why),
            );
        }
        let Some(here) = laid.get(at) else {
            return Ok(counts);
        };
        for placer in placed {
            counts.links = counts.links.saturating_add(placer.links);
            let threads = write.threads;
            let (docs, documents) =
                placer.write(&here.chunks, &stage.cells, &below, threads, &self.notes)?;
            arrays.extend(docs);
            groups.extend(documents);
        }
        let present = families(&arrays).into_iter().map(str::to_owned).collect();
        put_documents(&below, arrays, groups)?;
        let old = source.level.doc();
        let own_shape = stage.chunk_shape != self.base_shape();
        let doc = LevelDoc {
            vertex_count: counts.vertices,
            arrays_present: present,
            chunk_shape: (number > 0 && own_shape).then(|| stage.chunk_shape.clone()),
            fragments_tile: here.tiles && counts.chunks > 0,
            ..documents::level(old, number)
        };
        let stale = old.vertex_count != counts.vertices;
        let path = format!("{number}/zarr.json");
        self.notes.repaired(
            &path,
            "a stale number of vertices was corrected",
            u64::from(stale),
        );
        below.put(vec![("zarr.json".to_owned(), doc.to_json().into_bytes())])?;
        Ok(counts)
    }

    /// A placer for links that are made from the manifests.
    fn chains(&self, stage: &Stage) -> Result<Option<Placer>, WriteError> {
        Ok(self
            .makes_chains(stage)
            .then(|| self.pairs(&stage.source, false)))
    }

    /// A placer of pairs without attributes.
    fn pairs(&self, source: &Source, inner: bool) -> Placer {
        let policy = Policy {
            delta: 0,
            width: 2,
            directed: false,
            store: LinkStore::Canonical,
            elem: zvf_format::links::Elem::I64,
            factors: None,
            rank: source.level.key_rank(),
            inner,
        };
        let budget = self.options.write.memory_budget / 8;
        Placer::new(policy, Vec::new(), budget, &self.folder())
    }

    fn folder(&self) -> std::path::PathBuf {
        let folder = self.options.write.temporary_folder.clone();
        folder.unwrap_or_else(std::env::temp_dir)
    }

    /// Places the links of one family.
    fn family(
        &self,
        stages: &[Stage],
        laid: &mut [Laid],
        at: usize,
        links: &LinkFamily,
        cut: &mut Option<Spool>,
    ) -> Result<Option<Placer>, WriteError> {
        let Some(stage) = stages.get(at) else {
            return Ok(None);
        };
        let source = &stage.source;
        let number = source.level.number();
        let path = format!(
            "{number}/links/{}",
            zvf_format::keys::format_delta(links.delta())
        );
        if links.width() == 0 {
            return Ok(None);
        }
        if !links.rows_trusted() {
            if source.level.object_index().is_none() {
                self.notes.lost(
                    path,
                    "records whose rows are made up, and no manifests that tell better",
                );
            }
            return Ok(None);
        }
        if links.delta() == 0 && self.makes_chains(stage) {
            if !links.attributes().is_empty() {
                self.notes.lost(
                    path,
                    "attributes of links that are made anew are not carried",
                );
            }
            return Ok(None);
        }
        let there = self.other_level(stages, at, links.delta());
        let Some(there) = there else {
            self.notes.lost(path, "links to a level that is not there");
            return Ok(None);
        };
        let family = Family::new(source, links);
        for name in family.lost() {
            self.notes.lost(
                format!("{path}, attribute {name}"),
                "holds memory addresses, no values",
            );
        }
        let kind = self.store.kind();
        if kind == Kind::Mesh && links.delta() == 0 && links.width() < 3 && family.cells() == 0 {
            self.notes.repaired(
                &path,
                "a placeholder that says two ends a face is not carried",
                1,
            );
            return Ok(None);
        }
        let mut placer = self.placer(stage, stages.get(there), &family)?;
        let mut gone = 0_u64;
        let mut ends: Vec<(u32, u32)> = Vec::new();
        let rank = source.level.key_rank().max(1);
        let tree = records::is_implied_tree(source) && links.delta() == 0;
        let mut children: Vec<u64> = Vec::new();
        let turned = family.each(source, |record| {
            ends.clear();
            for (which, (chunk, &row)) in record.chunks.chunks(rank).zip(record.rows).enumerate() {
                let level = if which == 0 { at } else { there };
                let (Some(stage), Some(laid)) = (stages.get(level), laid.get_mut(level)) else {
                    continue;
                };
                let slot = stage.source.slot(chunk);
                let old = slot.filter(|slot| u64::from(row) < old_rows(laid, *slot));
                let Some(slot) = old else { continue };
                if tree && which == 0 {
                    note_child(&mut children, laid, slot, row);
                }
                ends.push(laid.place(slot, row)?);
            }
            if ends.len() != record.rows.len() {
                gone = gone.saturating_add(1);
                return Ok(());
            }
            let end = |(which, &(slot, row)): (usize, &(u32, u32))| {
                let level = if which == 0 { at } else { there };
                End {
                    slot,
                    chunk: laid.get(level).map_or(&[][..], |laid| laid.chunk(slot)),
                    row,
                }
            };
            let ends: Vec<End<'_>> = ends.iter().enumerate().map(end).collect();
            placer.push(&ends, record.values)
        })?;
        // Trap T5.
        let what = "pairs from parent to child were turned around";
        self.notes.repaired(&path, what, turned);
        if gone > 0 {
            let what = format!("{gone} links to vertices that are not there were left out");
            self.notes.lost(path, what);
        }
        if tree
            && let Some(laid) = laid.get_mut(at)
            && let Some(cut) = cut.take()
        {
            push_cut(cut, laid, &children, &mut placer)?;
        }
        Ok(Some(placer))
    }

    /// The place in the list of the level that links of a family go to.
    fn other_level(&self, stages: &[Stage], at: usize, delta: i32) -> Option<usize> {
        let stage = stages.get(at)?;
        let number = i64::from(stage.source.level.number()).checked_add(i64::from(delta))?;
        let found = |one: &Stage| {
            i64::from(one.source.level.number()) == number
                && one.source.level.key_rank() == stage.source.level.key_rank()
        };
        stages.iter().position(found)
    }

    fn placer(
        &self,
        stage: &Stage,
        there: Option<&Stage>,
        family: &Family<'_>,
    ) -> Result<Placer, WriteError> {
        let (source, links) = (&stage.source, family.links);
        let tree = records::is_implied_tree(source) && links.delta() == 0;
        let elems: Vec<_> = links
            .arrays()
            .iter()
            .map(|array| array.form().elem)
            .collect();
        let elem = elems
            .first()
            .copied()
            .unwrap_or(zvf_format::links::Elem::I64);
        let same = elems.iter().all(|one| *one == elem);
        let mut values = Vec::new();
        for attribute in &family.attributes {
            values.push(Valued::new(attribute, records::value_bytes(attribute)?));
        }
        let kind = self.store.kind();
        let policy = Policy {
            delta: links.delta(),
            width: links.width(),
            directed: links.delta() != 0 || (links.directed() && !tree),
            store: if tree {
                LinkStore::Canonical
            } else {
                links.store()
            },
            elem: if same {
                links::little_elem(elem)
            } else {
                zvf_format::links::Elem::I64
            },
            factors: (links.delta() != 0).then(|| self.factors(stage, there)),
            rank: source.level.key_rank(),
            inner: links.delta() == 0 && matches!(kind, Kind::Graph | Kind::Skeleton | Kind::Mesh),
        };
        let folder = self.folder();
        let budget = self.options.write.memory_budget / 8;
        Ok(Placer::new(policy, values, budget, &folder))
    }

    /// Chunk shapes of two levels in those of the root, with leading ones up to K (0.9 §13.6).
    fn factors(&self, here: &Stage, there: Option<&Stage>) -> (Vec<i64>, Vec<i64>) {
        let base = self.base_shape();
        let of = |stage: &Stage| -> Vec<i64> {
            let lead = stage.source.level.key_rank().saturating_sub(base.len());
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float saturates, and a factor below 1 is refused where it is used"
            )]
            let factor = |(own, root): (&f64, &f64)| (own / root).round_ties_even() as i64;
            let own = stage.chunk_shape.iter().zip(&base).map(factor);
            std::iter::repeat_n(1, lead).chain(own).collect()
        };
        (of(here), of(there.unwrap_or(here)))
    }
}

/// Whether bins are a whole part of a chunk on each axis.
fn divides(bins: &[f64], chunk: &[f64]) -> bool {
    bins.len() == chunk.len()
        && bins.iter().zip(chunk).all(|(bin, chunk)| {
            let count = (chunk / bin).round();
            (1.0..=65536.0).contains(&count) && (chunk / bin - count).abs() <= 1e-9
        })
}

/// Notes that the parent of an old row is stored: one bit a vertex, where rows move.
fn note_child(children: &mut Vec<u64>, laid: &Laid, slot: u32, row: u32) {
    let Some(moved) = &laid.moved else { return };
    let vertex = moved.vertex(slot, row);
    let Ok(word) = usize::try_from(vertex / 64) else {
        return;
    };
    if children.len() <= word {
        children.resize(word.saturating_add(1), 0);
    }
    if let Some(word) = children.get_mut(word) {
        *word |= 1 << (vertex % 64);
    }
}

/// Places edges that were implied by the order of rows and are not any more, but for children whose parent is stored.
fn push_cut(
    cut: Spool,
    laid: &mut Laid,
    children: &[u64],
    placer: &mut Placer,
) -> Result<(), WriteError> {
    for piece in cut.pieces() {
        for pair in piece?.as_chunks::<16>().0 {
            let ends = [pair.first_chunk::<8>(), pair.last_chunk::<8>()];
            let [Some(child), Some(parent)] =
                ends.map(|end| end.map(|end| u64::from_le_bytes(*end)))
            else {
                continue;
            };
            let word = usize::try_from(child / 64)
                .ok()
                .and_then(|at| children.get(at));
            if word.is_some_and(|word| (word >> (child % 64)) & 1 == 1) {
                continue;
            }
            let (Some(child), Some(parent)) = (laid.vertex(child)?, laid.vertex(parent)?) else {
                continue;
            };
            let end = |(slot, row): (u32, u32)| End {
                slot,
                chunk: laid.chunk(slot),
                row,
            };
            let ends = [end(child), end(parent)];
            placer.push(&ends, &vec![None; placer.values()])?;
        }
    }
    Ok(())
}

/// Rows of a chunk of the old level.
fn old_rows(laid: &Laid, slot: u32) -> u64 {
    match &laid.moved {
        Some(moved) => moved.rows(slot),
        None => {
            let rows = laid.chunk_rows.get(crate::int::index(slot)).copied();
            u64::from(rows.unwrap_or_default())
        }
    }
}
