//! The copy of a store, level by level.

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use zvf_meta::version::Version;
use zvf_meta::{Kind, LevelDoc, RootDoc};
use zvf_store::{Class, Level, Need, Store, StoreError, Warning};

use super::cells::LevelSink;
use super::family::push_cut;
use super::journal::{Begin, CopyJournal};
use super::migration_run::{LevelCopy, MigrationRun};
use super::new_level::NewLevel;
use super::options::MigrateOptions;
use super::rechunk::CutEdges;
use super::report::{LevelCounts, MigrationReport, Notes, Verified};
use super::rows::RowMapping;
use super::source::SourceLevel;
use super::{cells, documents, extras, family, objects, rechunk, shapes, tables, verify};
use zvf_encode::batches::Corners;
use zvf_encode::documents::Nodes;
use zvf_encode::error::OrBug;
use zvf_encode::level::{stored_as, stored_link_shards};
use zvf_encode::links::{ChunkFragments, FragmentRows, LinkColumn};
use zvf_encode::parallel::blocking;
use zvf_encode::spec::{DocumentMembers, VersionRules};
use zvf_encode::target::Target;
use zvf_encode::transaction::{MARKER, new_store};
use zvf_encode::{ShardShape, WriteError, links};
use zvf_format::int::wide;

/// Copies a store of any supported version into a new store of the [target version](MigrateOptions::target), with all its levels, and compares the
/// two.
///
/// `docs/migration.md` lists what is copied, repaired and reported.
///
/// # Cost
/// Every cell of the old store is read and written once (if rows move, chunks are read twice), manifests are read two or three times, and the
/// verification reads both stores once more. Memory: a few dozen chunks per thread, the
/// [memory budget](zvf_encode::WriteOptions::memory_budget) for links, 12 bytes per chunk, 8 per object, 8 per fragment if links between the parts
/// of chains are rebuilt or links are grouped by fragments, and the tables of objects.
///
/// # Resuming
/// With [`WriteOptions::journal`](zvf_encode::WriteOptions::journal) a copy that was interrupted, or failed with an I/O error, resumes when it
/// is called again with the same store, address and options: completed chunks are not copied again. A source that changed since is refused.
///
/// # Errors
/// The errors of reading the old store; [`IoError::SourceChanged`](zvf_store::IoError::SourceChanged), if another writer changed it in the meantime;
/// misuse, if the new store's address is in use; [`WriteError::Data`] for invalid data, and with [`MigrateOptions::strict`] for everything that
/// cannot be copied; [`WriteError::Differs`] if the verification finds a difference. There is no new store after an error, unless
/// [`WriteError::is_committed`]; with a journal, an I/O error leaves the completed part for the next run.
///
/// # Examples
/// See the crate's page.
pub fn migrate<'a>(
    store: &'a Store,
    address: &'a str,
    options: MigrateOptions,
) -> BoxFuture<'a, Result<MigrationReport, WriteError>> {
    Box::pin(async move {
        let levels = match undamaged(store).await {
            Err(error) if error.class() == Class::Malformed => {
                return Err(match store.verify(0).await {
                    Err(changed) if changed.is_changed() => changed,
                    _ => error,
                }
                .into());
            }
            levels => levels?,
        };
        let (store, address, handle) = (store.clone(), address.to_owned(), Handle::current());
        blocking(move || {
            let job = MigrationRun {
                store,
                levels,
                address,
                handle,
                options,
                notes: Notes::default(),
            };
            job.or_changed(job.run())
        })
        .await
    })
}

/// Compares the contents of two stores: levels, vertices with their attributes, objects, links, tables and groups.
///
/// If the shapes of chunks are the same, hashes of whole columns of chunks are compared. Otherwise hashes of rows are compared, in any order, and
/// each row must be in the chunk of its position. `old` may have defects that [`migrate`] would repair.
///
/// # Cost
/// Every cell of both stores is read once; for links also the chunks of their ends. Memory: 8 bytes per chunk of each store. If shapes differ, 16
/// bytes per fragment of each store, for lines 32 more per fragment of the copy, and for trees 16 per stored edge.
///
/// # Errors
/// [`WriteError::Differs`] with the first difference: level, and object, column, chunk or family of links. The errors of the stores.
pub fn compare<'a>(old: &'a Store, new: &'a Store) -> BoxFuture<'a, Result<Verified, WriteError>> {
    Box::pin(async move {
        let (old, new, handle) = (old.clone(), new.clone(), Handle::current());
        blocking(move || verify::verify(&old, &new, &handle)).await
    })
}

/// The levels of a store, with all their documents. Fails if a document is damaged.
async fn undamaged(store: &Store) -> Result<Vec<Level>, StoreError> {
    store.check_levels()?;
    let mut levels = Vec::new();
    for &number in store.levels() {
        let level = store.level(number, &Need::all()).await?;
        level.check_undamaged()?;
        levels.push(level);
    }
    Ok(levels)
}

/// Removes a journal after a failure that makes it useless. Its own errors are ignored in favour of that failure.
fn forget(journal: Option<CopyJournal<'_>>) {
    let _ = journal.map(CopyJournal::done);
}

impl MigrationRun {
    /// Replaces an error about damage, a difference or a broken invariant by the error about the source, if the source changed in the meantime.
    fn or_changed<T>(&self, outcome: Result<T, WriteError>) -> Result<T, WriteError> {
        match outcome {
            Err(error) if matches!(error.class(), Class::Malformed | Class::Bug) => {
                match self.unchanged() {
                    Err(WriteError::Store(changed)) if changed.is_changed() => {
                        Err(WriteError::Store(changed))
                    }
                    _ => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    /// Fails if a document of the source changed since it was read.
    fn unchanged(&self) -> Result<(), WriteError> {
        let round = self.levels.iter().map(Level::next_round).max();
        let verified = self.store.verify(round.unwrap_or(0));
        Ok(self.handle.block_on(verified)?)
    }

    fn run(&self) -> Result<MigrationReport, WriteError> {
        let write = &self.options.write;
        let target = Target::new(&self.address, &write.open, write.durable)?;
        new_store::check_address(&self.address, &write.open)?;
        let mut journal = match &write.journal {
            Some(path) => Some(CopyJournal::open(path, self, &target, write.durable)?),
            None => None,
        };
        let (address, stale_files) = (&self.address, write.stale_files);
        let begin = match journal.as_mut().map(|one| one.begin(address, stale_files)) {
            Some(Ok(begin)) => begin,
            Some(Err(error)) => {
                // A new journal is removed if nothing was written. After an I/O error there may be a marker, which needs it.
                let new = |one: &CopyJournal<'_>| one.is_new() && error.class() != Class::Io;
                forget(journal.filter(new));
                return Err(error);
            }
            None => {
                let details = serde_json::json!({});
                Begin::Fill(new_store::begin(&target, address, stale_files, details)?)
            }
        };
        // With a journal, the next run resumes from the state after an I/O error.
        // A journal does not continue the copy of a source that has changed.
        let changed =
            |error: &WriteError| matches!(error, WriteError::Store(error) if error.is_changed());
        let stays = |error: &WriteError| {
            write.journal.is_some() && error.class() == Class::Io && !changed(error)
        };
        let (root, mut report, there, mark) = match begin {
            Begin::Commit {
                root,
                report,
                there,
                mark,
            } => {
                // An earlier run, which wrote everything, may have accepted losses.
                if let Err(error) = self.check_losses(&report)
                    && !there
                {
                    new_store::abandon(&target, &mark);
                    forget(journal);
                    return Err(error);
                }
                (root, *report, there, mark)
            }
            Begin::Fill(mark) => match self.fill_unchanged(&target, journal.as_ref()) {
                Ok((root, report)) => {
                    if let Some(journal) = &journal {
                        journal.end(&root, &report)?;
                    }
                    (root, report, false, mark)
                }
                Err(error) => {
                    if !stays(&error) {
                        new_store::abandon(&target, &mark);
                        forget(journal);
                    }
                    return Err(error);
                }
            },
        };
        if there {
            // By now, the marker may be that of another writer, which changes the store.
            target.unguard();
            target.remove_own(MARKER, &mark)?;
        } else {
            new_store::commit(&target, address, root.clone(), &mark, None)?;
        }
        if !self.options.unverified {
            match self.verify() {
                Ok(verified) => report.verified = Some(verified),
                Err(error) if stays(&error) => return Err(error),
                Err(error) => {
                    let details = serde_json::json!({});
                    let removed = new_store::withdraw(&target, address, &root, details);
                    forget(journal);
                    return Err(match removed {
                        Ok(()) => error,
                        Err(removal) => WriteError::Unremoved {
                            store: address.clone(),
                            source: Box::new(error),
                            removal: Box::new(removal),
                        },
                    });
                }
            }
        }
        journal.map_or(Ok(()), CopyJournal::done)?;
        Ok(report)
    }

    fn verify(&self) -> Result<Verified, WriteError> {
        let open = self.options.write.open.clone();
        let new = self
            .handle
            .block_on(Store::open_with(&self.address, open))?;
        verify::verify(&self.store, &new, &self.handle)
    }

    /// Like [`fill`](Self::fill), but fails if the source changed in the meantime.
    fn fill_unchanged(
        &self,
        target: &Target,
        journal: Option<&CopyJournal<'_>>,
    ) -> Result<(String, MigrationReport), WriteError> {
        let filled = self.fill(target, journal)?;
        self.unchanged()?;
        Ok(filled)
    }

    /// Writes all objects except the root, and returns the document of the root.
    fn fill(
        &self,
        target: &Target,
        journal: Option<&CopyJournal<'_>>,
    ) -> Result<(String, MigrationReport), WriteError> {
        self.check_shapes()?;
        if let Some(journal) = journal {
            journal.tell(&self.notes);
        }
        let mut stages = Vec::new();
        for level in &self.levels {
            stages.push(self.stage(level.clone())?);
        }
        let (mut new_level, mut cuts) = (Vec::new(), Vec::new());
        let mut extent = NewLevel::default();
        let (budget, threads) = (self.options.write.memory_budget, self.options.write.threads);
        for stage in &mut stages {
            let below = target.below(stage.source.level.number().to_string());
            let one = if stage.moves {
                let (shape, bins) = (&stage.chunk_shape, stage.bins.clone());
                let folder = self.folder();
                let gathered =
                    rechunk::gather(&stage.source, shape, bins, budget, &folder, &self.notes)?;
                let sorted = gathered.finish()?;
                let grid = self.grid(&stage.source, shape, &sorted.chunks)?;
                stage.cells = self.cells(stage, grid, &sorted.chunks)?;
                let sink = self.sink(stage, &below, journal);
                let (one, cut) = rechunk::write(sink, sorted, threads, budget, &folder)?;
                cuts.push(Some(cut));
                one
            } else {
                cuts.push(None);
                cells::copy(self.sink(stage, &below, journal), threads, budget)?
            };
            extent.widen(one.extent.as_ref());
            new_level.push(one);
        }
        let mut report = MigrationReport {
            from: self.store.root().zarr_vectors.zv_version.clone(),
            to: self.options.target.version().to_owned(),
            ..MigrationReport::default()
        };
        let mut link_groups = false;
        let mut declared = documents::Declarations::default();
        for (at, cut) in cuts.into_iter().enumerate() {
            let (counts, claimed) =
                self.finish_level(&stages, &mut new_level, (at, cut), target, &mut declared)?;
            report.levels.push(counts);
            link_groups |= claimed;
        }
        let rules = self.rules();
        let gone = extras::copy(&self.store, &self.handle, rules, target, &self.notes)?;
        let mut root = self.root(&stages, extent.extent, &gone)?;
        zvf_encode::documents::claim_link_groups(&mut root, link_groups);
        // Readers that cannot list take the names of attributes from `attribute_specs`, which only 0.9 defines.
        let declares = self.rules().members == DocumentMembers::All;
        let specs = &mut root.zarr_vectors.attribute_specs;
        if declares && specs.is_none() && is_before_declarations(self.store.root()) {
            *specs = declared.finish();
        }
        root.record(self.options.write.history.clone());
        for warning in self.store.typed_warnings() {
            match warning {
                Warning::LeftOut(what) | Warning::NamesUnknown(what) => {
                    self.notes.lost("the old store", &what);
                }
                other => self.notes.note(format!("in the old store: {other}")),
            }
        }
        self.notes.finish(&mut report);
        self.check_losses(&report)?;
        Ok((root.to_json(), report))
    }

    /// Refuses losses, if the caller does.
    fn check_losses(&self, report: &MigrationReport) -> Result<(), WriteError> {
        match report.losses.first().filter(|_| self.options.strict) {
            Some(loss) => Err(WriteError::source(loss.place.clone(), loss.what.clone())),
            None => Ok(()),
        }
    }

    fn root(
        &self,
        stages: &[LevelCopy],
        extent: Option<Corners>,
        gone: &[String],
    ) -> Result<RootDoc, WriteError> {
        let levels: Vec<(Level, Vec<f64>)> = stages
            .iter()
            .map(|stage| (stage.source.level.clone(), stage.chunk_shape.clone()))
            .collect();
        let bins = self.base_bins();
        let name = zvf_encode::documents::name_of(&self.address);
        let version = self.options.target;
        let mut root = documents::root(
            &self.store,
            version,
            &levels,
            extent,
            bins,
            &name,
            &self.notes,
        )?;
        // The levels hold the first kind. Further kinds without composite geometry are removed, because readers would look for it.
        let mut first = true;
        root.zarr_vectors
            .geometry_types
            .retain(|kind| std::mem::take(&mut first) || !gone.contains(kind));
        Ok(root)
    }

    /// Prepares a level: its chunks, grid and storage.
    fn stage(&self, level: Level) -> Result<LevelCopy, WriteError> {
        let chunk_shape = self.chunk_shape(&level);
        // If the storage is unknown, the default is used.
        let (stored, shards) = stored_as(&level).unwrap_or_default();
        let link_shards = match &self.options.shard_shape {
            Some(shape) => *shape == ShardShape::Auto,
            None => stored_link_shards(&level).unwrap_or_default(),
        };
        let rank = level.key_rank();
        let source = SourceLevel::new(level, self.handle.clone(), self.rules(), &self.notes)?;
        let binned = shapes::is_binned(&source.level);
        let bins = self.base_bins().unwrap_or_else(|| chunk_shape.clone());
        let moves = chunk_shape != source.level.chunk_shape() || self.cuts_bins(&source);
        if moves && self.store.implies_chains() && source.level.object_index().is_none() {
            let place = source.level.vertices().path().to_owned();
            let what = "fragments of lines without an object index, which new chunks would cut without a link between the parts";
            return Err(WriteError::source(place, what));
        }
        let grid = self.grid(&source, &chunk_shape, &source.chunks)?;
        let shards = match &self.options.shard_shape {
            Some(ShardShape::None) => None,
            Some(ShardShape::Auto) => {
                self.chosen_shards(&grid, chunk_shape.len(), &source, &source.chunks)
            }
            Some(ShardShape::Cells(cells)) => {
                let lead = rank.saturating_sub(cells.len());
                Some(
                    std::iter::repeat_n(1, lead)
                        .chain(cells.iter().copied())
                        .collect(),
                )
            }
            None => shards.filter(|shards| shards.len() == rank),
        };
        let shards = self.shards(&source, shards);
        let compression = self.compression(stored, shards.is_some())?;
        let chunks = source.chunks.iter().map(|chunk| chunk.as_slice());
        let cells = self.rules().cells(grid, shards, compression, chunks)?;
        let cells = cells.with_link_shards(link_shards);
        Ok(LevelCopy {
            source,
            cells,
            chunk_shape,
            moves,
            bins: binned.then_some(bins),
        })
    }

    /// The rules of the version of the new store.
    pub(crate) fn rules(&self) -> VersionRules {
        self.options.target.rules()
    }

    fn sink<'s>(
        &'s self,
        stage: &'s LevelCopy,
        below: &'s zvf_encode::target::Below<'s>,
        journal: Option<&'s CopyJournal<'s>>,
    ) -> LevelSink<'s> {
        LevelSink {
            source: &stage.source,
            cells: &stage.cells,
            target: below,
            chunk_shape: &stage.chunk_shape,
            notes: &self.notes,
            keep_ends: self.makes_chains(stage) || self.groups_links(),
            journal,
            progress: match &self.options.progress {
                Some(progress) => &**progress,
                None => &|_| {},
            },
        }
    }

    /// Whether the links between the parts of chains are made from the manifests, because the rows of stored links are not reliable or the
    /// parts change.
    pub(crate) fn makes_chains(&self, stage: &LevelCopy) -> bool {
        let level = &stage.source.level;
        let untrusted = level.links(0).is_some_and(|family| !family.rows_trusted());
        let chain = self.store.implies_chains();
        level.object_index().is_some() && (untrusted || (stage.moves && chain))
    }

    /// Whether links may be grouped by the fragments of vertices: links inside chunks are stored, and none is implied.
    fn groups_links(&self) -> bool {
        let explicit = match self.store.kind() {
            Kind::Graph | Kind::Mesh => true,
            Kind::Skeleton => !self.store.implies_edges(),
            _ => false,
        };
        explicit && self.rules().members == DocumentMembers::All
    }

    /// The fragments of the chunks of a new level, if links may be grouped by them.
    fn fragments(&self, level: &NewLevel) -> Result<Option<ChunkFragments>, WriteError> {
        if !level.tiles || !self.groups_links() {
            return Ok(None);
        }
        let budget = self.options.write.memory_budget / 16;
        let mut rows = FragmentRows::new(budget, &self.folder());
        for (slot, chunk) in (0_u32..).zip(&level.chunks) {
            rows.note(chunk, level.fragment_rows(slot)?)?;
        }
        Ok(Some(rows.seal()))
    }

    /// Writes the other arrays of a level, and its documents. Also returns whether the level declares that links are grouped by fragments.
    fn finish_level(
        &self,
        stages: &[LevelCopy],
        new_level: &mut [NewLevel],
        (at, cut): (usize, Option<CutEdges>),
        target: &Target,
        declared: &mut documents::Declarations,
    ) -> Result<(LevelCounts, bool), WriteError> {
        let stage = stages.get(at).or_bug(format_args!("no level {at}"))?;
        let here = new_level
            .get_mut(at)
            .or_bug(format_args!("no level {at}"))?;
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
        let mut nodes: Nodes = std::mem::take(&mut here.nodes);
        let mut chains = self.chains(stage);
        let here = &*here;
        let (rules, folder) = (self.rules(), self.folder());
        let out = objects::ObjectsTarget {
            ids: rules.ids,
            compression,
            target: &below,
            cells: &stage.cells,
            budget: write.memory_budget,
            folder: &folder,
            notes: &self.notes,
        };
        let objects = objects::write(source, here, out, |a, b| {
            let Some(chains) = &mut chains else {
                return Ok(());
            };
            let end = |(slot, row): (u32, u32)| Ok::<_, WriteError>((here.chunk(slot)?, row));
            chains.push(&[end(a)?, end(b)?], &[])
        })?;
        let rows = objects.map(|objects| {
            counts.objects = objects.rows.len();
            nodes.extend(objects.nodes);
            objects.rows
        });
        let filled = rows.as_ref().filter(|rows| rows.len() != rows.from);
        let more_objects = filled.map(RowMapping::len);
        let here = new_level.get_mut(at);
        here.or_bug(format_args!("no level {at}"))?.more_objects = more_objects;
        nodes
            .arrays
            .extend(tables::object_attributes(source, rows.as_ref(), out)?);
        let (docs, of_groups) = tables::groups(source, out)?;
        nodes.arrays.extend(docs);
        counts.groups = of_groups;
        let mut placed = Vec::new();
        if let Some(chains) = chains {
            let path = format!("{number}/links/0");
            let what = "links with placeholder rows were rebuilt from the manifests";
            let untrusted = source
                .level
                .links(0)
                .is_some_and(|family| !family.rows_trusted());
            self.notes
                .repaired(&path, what, if untrusted { chains.links() } else { 0 });
            placed.push(chains);
        }
        let mut cut = cut;
        for family in source.level.link_families() {
            placed.extend(self.family(stages, new_level, at, family, &mut cut)?);
        }
        if self.store.implies_edges()
            && let Some(cut) = cut.take()
        {
            let new_level = new_level
                .get_mut(at)
                .or_bug(format_args!("no level {at}"))?;
            // There were no stored edges in addition to the implied ones.
            let mut placer = self.pairs(source, true);
            push_cut(cut, new_level, &[], &mut placer)?;
            placed.push(placer);
        }
        for refused in source.level.refused() {
            if refused.delta.is_some() && !source.handle.block_on(self.store.side_groups())?.listed
            {
                let what = "links cannot be read, since the store cannot be listed: download it, or serve it from a bucket";
                return Err(WriteError::source(refused.path.clone(), what));
            }
            let trees = self.store.kind() == Kind::Skeleton && self.store.implies_edges();
            if trees && refused.delta == Some(0) {
                let why = &refused.why;
                let what = format!(
                    "{why}: without these links vertices would be linked to the ones before them instead of their parents"
                );
                return Err(WriteError::source(refused.path.clone(), what));
            }
            self.notes
                .lost(refused.path.clone(), format!("not read: {}", refused.why));
        }
        let here = new_level.get(at).or_bug(format_args!("no level {at}"))?;
        let sink = links::LinkCellSink {
            cells: &stage.cells,
            target: &below,
            threads: write.threads,
        };
        let missing = |one: &LinkColumn, missing, links| {
            family::report_missing(one, missing, links, &self.notes);
        };
        let fragments = self.fragments(here)?;
        let mut fragment_link_groups = false;
        for placer in placed {
            counts.links += placer.links();
            let inside = placer.family().is_inside();
            let fragments = fragments.as_ref().filter(|_| inside);
            let stored = placer.write(sink, fragments, &missing, |_| {})?;
            fragment_link_groups |= stored.follows_fragments();
            nodes.extend(stored.nodes(&stage.cells)?);
        }
        declared.add(&nodes.arrays, number == 0);
        let present = nodes.families().into_iter().map(str::to_owned).collect();
        nodes.put(&below)?;
        let old = source.level.doc();
        // The parent now has a row for each id.
        let parent = (stages.iter().zip(&*new_level))
            .find(|(stage, _)| Some(stage.source.level.number()) == old.parent_level);
        let inherited = old.inherited_num_objects;
        let inherited = inherited.map(|rows| {
            let more = parent.and_then(|(_, parent)| parent.more_objects);
            more.unwrap_or(rows)
        });
        let own_shape = stage.chunk_shape != self.base_shape();
        let doc = LevelDoc {
            vertex_count: counts.vertices,
            arrays_present: present,
            chunk_shape: (number > 0 && own_shape).then(|| stage.chunk_shape.clone()),
            fragments_tile: rules.members == DocumentMembers::All
                && here.tiles
                && counts.chunks > 0,
            fragment_link_groups,
            inherited_num_objects: inherited,
            ..documents::level(old, number)
        };
        let (stated, found) = (old.vertex_count, counts.vertices);
        let path = format!("{number}/zarr.json");
        if self.options.unverified && found < stated {
            // Missing cells of listed chunks may have been read as empty ones.
            self.notes.lost(
                &path,
                format!(
                    "states {stated} vertices, and {found} were found: chunks are lost, or the number is out of date; a verified copy refuses lost chunks"
                ),
            );
        } else {
            let what = "a stale number of vertices was corrected";
            self.notes.repaired(&path, what, u64::from(stated != found));
        }
        below.put(vec![("zarr.json".to_owned(), doc.to_json().into_bytes())])?;
        Ok((counts, fragment_link_groups))
    }
}

/// Whether a store is of a version without `attribute_specs`.
fn is_before_declarations(root: &RootDoc) -> bool {
    let version = Version::parse(&root.zarr_vectors.zv_version);
    version.is_some_and(|version| version < Version::new(0, 9, 0))
}
