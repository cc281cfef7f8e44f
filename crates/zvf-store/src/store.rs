//! An open store, and its levels.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_meta::rules::{Rule, check_root_for};
use zvf_meta::version::Gate;
use zvf_meta::{Kind, LevelDoc, LinksConvention, RootDoc};

use crate::cells::cache::CellCache;
use crate::cells::later::FetchedCell;
use crate::cells::{self, CellWant, Mode, ReadCell, ShardCache};
use crate::chunks::{KnownChunks, known_chunks};
use crate::level::{LevelInner, Refused, VertexAttribute};
use crate::owners::OwnerColumn;
use crate::snapshot::SnapshotTree;
use crate::snapshot::levels::{finished, levels, lost};
use crate::warnings::Warning;
use crate::writing::{MARKER, Redo};
use crate::{
    GridArray, Groups, IoError, IoTrace, Limits, LinkFamily, Need, ObjectIndex, OpenOptions,
    RawStore, StoreError, TypedArray,
};
use zvf_io::{Handover, Kv, Question};

/// An open store: a snapshot of its documents, and access to its cells. Cheap to clone.
///
/// Documents are read only once. All methods that read need a tokio runtime, see [`blocking`](crate::blocking) for programs without one.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

#[derive(Debug)]
struct StoreInner {
    url: String,
    tree: SnapshotTree,
    root: Arc<RootDoc>,
    kind: Kind,
    levels: Vec<u32>,
    shards: Arc<ShardCache>,
    cells: Option<Arc<CellCache>>,
    known: KnownChunks,
    /// The most recently loaded levels.
    recent: Mutex<VecDeque<(Need, Arc<LevelInner>)>>,
}

/// Most rounds of requests that loading a level may take.
const ROUNDS: usize = 16;

/// Most attempts to open a store whose root names another edit at each attempt, and the number of levels that are cached.
const OPENINGS: usize = 5;
const RECENT: usize = 16;

impl Store {
    /// Opens a store by path or URL.
    ///
    /// # Cost
    /// One round of requests: the root, and the documents of level 0, see [`OpenOptions::prefetch_need`]. Two more if the root names an
    /// edit that is not complete yet: the changed objects are read from its folder.
    ///
    /// # Errors
    /// No store at the address; access denied or another I/O error; a malformed root; a version below 0.6;
    /// [`IoError::SourceChanged`](zvf_io::IoError::SourceChanged) if the root names another edit at each attempt.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, OpenOptions::default()).await
    }

    /// Opens a store with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with<'a>(
        url: &'a str,
        options: OpenOptions,
    ) -> BoxFuture<'a, Result<Self, StoreError>> {
        Box::pin(async move {
            let mut redo: Option<Redo> = None;
            for _ in 0..OPENINGS {
                let mut kv = Kv::open(url, &options.io)?;
                let replaces = redo.is_some();
                if let Some(redo) = redo.take() {
                    kv = kv.under(redo.into_overlay(), options.io.verify);
                }
                match Self::open_once(kv, url, &options).await {
                    Ok((store, None)) => return Ok(store),
                    Ok((_, Some(other))) => redo = other,
                    // The edit was completed in the meantime.
                    Err(StoreError::Io(error)) if replaces && error.is_changed() => {}
                    Err(error) => return Err(error),
                }
            }
            Err(StoreError::Io(IoError::SourceChanged {
                key: "zarr.json".to_owned(),
                first: "a root that names an edit".to_owned(),
                now: format!("another edit at each of {OPENINGS} attempts"),
            }))
        })
    }

    /// Opens a store with the redo log of `kv` applied. If the root now names another edit, or no edit, the second value is this edit, and the store
    /// must not be used.
    async fn open_once(
        kv: Kv,
        url: &str,
        options: &OpenOptions,
    ) -> Result<(Self, Option<Option<Redo>>), StoreError> {
        let under = kv.overlay().map(str::to_owned);
        let shards = Arc::new(ShardCache::new(options.io.limits.cache_bytes));
        let tree = SnapshotTree::new(kv, url.to_owned(), options);
        let mut questions = tree.plan(options.prefetch_level, &options.prefetch_need)?;
        questions.push(Question::Document("zarr.json".to_owned()));
        if tree.kv.can_list() {
            questions.push(Question::Names(String::new()));
        }
        tree.ask(questions).await?;

        let Some(bytes) = tree.document("zarr.json") else {
            return Err(crate::missing::no_store(&tree).await);
        };
        let root = match RootDoc::parse(&bytes) {
            Ok(root) => Arc::new(root),
            Err(error) => return Err(refused_root(&bytes, error)),
        };
        match root.admit() {
            Ok(None) => {}
            Ok(Some(newer)) => tree.warnings.add(format!(
                "zv_version {newer} is newer than {}: additions of newer versions are not read",
                zvf_meta::version::NEWEST
            )),
            Err(error) => return Err(refused_root(&bytes, error)),
        }
        let kind = if root.zarr_vectors.geometry_types.is_empty() {
            tree.warnings
                .add("geometry_types is empty: the store is read as points".to_owned());
            Kind::PointCloud
        } else {
            root.kind()
                .map_err(|e| StoreError::document("zarr.json", e))?
        };
        if root.dims() == 0 || root.dims() > 16 {
            return Err(StoreError::malformed(
                "zarr.json",
                format!("multiscales has {} axes, expected 1 to 16", root.dims()),
            ));
        }
        let conventions = [Rule::LinksConvention, Rule::LinksConventionFits];
        for problem in check_root_for(&root, &conventions) {
            tree.warnings.add(format!(
                "{} is {}, expected {}",
                problem.path, problem.found, problem.expected
            ));
        }
        let levels = finished(&tree, &root, levels(&tree, &root)).await?;
        if let Some(level) = lost(&root, &levels) {
            tree.warnings.add(level_lost(level));
        }
        {
            let mut state = tree.state();
            state.root = Some(Arc::clone(&root));
            state.levels.clone_from(&levels);
        }
        tree.kv.versions().settle();
        let named = Redo::named(&root.extra)?;
        let other = match named {
            named if named == under => None,
            None => Some(None),
            Some(id) => Some(Redo::read(&tree.kv.in_round(2), &id).await?),
        };
        let url = url.to_owned();
        let store = Self {
            inner: Arc::new(StoreInner {
                url,
                tree,
                root,
                kind,
                levels,
                shards,
                cells: CellCache::new(options.cell_cache_bytes),
                known: known_chunks(options.io.limits.cache_bytes),
                recent: Mutex::default(),
            }),
        };
        Ok((store, other))
    }

    /// The root document.
    pub fn root(&self) -> &RootDoc {
        &self.inner.root
    }

    /// The geometry kind that decides how the store is read.
    pub fn kind(&self) -> Kind {
        self.inner.kind
    }

    /// Whether the order of rows implies the edges of trees, from each row to the previous row of its fragment: in skeletons, unless the
    /// root states that links are explicit.
    pub fn implies_edges(&self) -> bool {
        self.kind() == Kind::Skeleton && !self.states_explicit_links()
    }

    /// Whether the order of rows implies links from each row of an object to the next: in lines, polylines and streamlines, unless the
    /// root states that links are explicit.
    pub fn implies_chains(&self) -> bool {
        self.kind().is_chain() && !self.states_explicit_links()
    }

    fn states_explicit_links(&self) -> bool {
        let convention = self.root().links_convention();
        convention.is_ok_and(|one| one == LinksConvention::Explicit)
    }

    /// The address as it was passed to [`open`](Self::open).
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// The levels that exist, ascending. Names that are not plain numbers are not levels (trap T33).
    pub fn levels(&self) -> &[u32] {
        &self.inner.levels
    }

    /// Fails if a level that the root names does not exist.
    ///
    /// # Errors
    /// Malformed: a level is missing.
    pub fn check_levels(&self) -> Result<(), StoreError> {
        match lost(self.root(), self.levels()) {
            None => Ok(()),
            Some(level) => Err(StoreError::malformed("zarr.json", level_lost(level))),
        }
    }

    /// The documents of this snapshot, by key, each with the ETag that it had when it was read. For files of a local disk, inode and modification time
    /// replace the ETag.
    pub fn documents(&self) -> Vec<(String, Option<String>)> {
        self.inner.tree.state().etags()
    }

    /// Problems found so far that did not prevent reading, as texts: violations of the format, and parts of the store that are not read.
    pub fn warnings(&self) -> Vec<String> {
        self.typed_warnings()
            .iter()
            .map(Warning::to_string)
            .collect()
    }

    /// The [warnings](Self::warnings) with their kind.
    pub fn typed_warnings(&self) -> Vec<Warning> {
        self.inner.tree.warnings.list()
    }

    pub(crate) fn tree(&self) -> &SnapshotTree {
        &self.inner.tree
    }

    /// The number of rows and the fragments of chunks that were read in parts.
    pub(crate) fn known_chunks(&self) -> &KnownChunks {
        &self.inner.known
    }

    /// The record of requests.
    pub fn trace(&self) -> &IoTrace {
        self.inner.tree.kv.trace()
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        self.inner.tree.kv.limits()
    }

    /// Access to the objects of the store by key, for data that this crate does not decode.
    pub fn raw(&self) -> RawStore {
        RawStore::of(self.inner.tree.kv.clone())
    }

    /// Whether cells are files of the local disk: many small batches are efficient there, elsewhere few large ones.
    pub fn is_local(&self) -> bool {
        self.inner.tree.kv.is_local()
    }

    /// Checks that the documents from which a result was read are unchanged. Call it once, after all reads for the result. Does nothing if
    /// [`IoOptions::verify`](zvf_io::IoOptions::verify) is off.
    ///
    /// # Changes that are detected
    /// - By this call: a root, a level, an array or a table whose document was written again or removed since it was read, even with the same
    ///   content; on a local disk by inode, time and size, elsewhere by ETag, time and size.
    /// - By every read from a backend: an object whose state differs from the last read, and an object that was written after the store was opened.
    ///
    /// On Unix a local folder is held open: if it is moved away and replaced by another one, reading continues in the old folder, and the result is
    /// complete.
    ///
    /// # Changes that are not detected
    /// A cell that is overwritten while the documents stay the same. On a local disk this is never detected, since the check would cost as much as
    /// reading. Elsewhere it is not detected if the backend reports no time, or if it reports whole seconds and the cell was written in the second in
    /// which the store was opened, or by a clock that is slow.
    ///
    /// # Cost
    /// One round: a HEAD request for the root, for each ancestor of the documents that were read, and for each document of the level
    /// that was requested together with the root, whether it existed or not. Documents that are less than 15 minutes old are requested by GET instead, if
    /// the backend states times in whole seconds. If the root is less than 15 minutes old, or its time is unknown, the listings of that first round
    /// are repeated. If nothing was read since the last check, only the root is requested. On a local disk, one `stat` for each document.
    ///
    /// # Errors
    /// [`IoError::SourceChanged`](zvf_io::IoError::SourceChanged); I/O.
    pub fn verify(&self, round: u32) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { Ok(self.inner.tree.kv.in_round(round).verify(false).await?) })
    }

    /// Like [`verify`](Self::verify), but files of the local disk are checked on the calling thread: this takes a few microseconds for
    /// each document, and saves a switch of threads.
    ///
    /// # Errors
    /// As [`verify`](Self::verify).
    pub fn verify_here(&self, round: u32) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { Ok(self.inner.tree.kv.in_round(round).verify(true).await?) })
    }

    /// Loads the documents of a level that `need` names and that are not loaded yet.
    ///
    /// # Cost
    /// At most one round of requests if the level was prefetched by [`OpenOptions`], else two, including the ids of objects. Documents are cached.
    ///
    /// # Errors
    /// [`StoreError::NoSuchLevel`]; I/O; malformed documents. A malformed document of an attribute is not an error if the need names only other
    /// attributes ([`Names::List`](crate::Names::List)). Under [`Names::All`](crate::Names::All), an attribute is left out with a warning and listed
    /// in [`Level::refused`] if its kind is not supported or access is denied.
    pub fn level<'a>(
        &'a self,
        number: u32,
        need: &'a Need,
    ) -> BoxFuture<'a, Result<Level, StoreError>> {
        Box::pin(async move {
            let inner = &self.inner;
            if !inner.levels.contains(&number) {
                return Err(StoreError::NoSuchLevel {
                    level: number,
                    levels: inner.levels.clone(),
                });
            }
            if let Some(ready) = self.recent(number, need) {
                return Ok(Level {
                    store: self.clone(),
                    inner: ready,
                });
            }
            // Every round requests all known names; names found in one round are requested in the next. The tree of a level is about four rounds deep,
            // and building it may add rounds for listings, packs and the probe of one chunk.
            let (mut level, mut looked) = (None, false);
            for _ in 0..ROUNDS {
                let questions = inner.tree.plan(number, need)?;
                let (asked, ids) =
                    futures::join!(inner.tree.ask(questions), self.prefetch_ids(number, need));
                ids?;
                if asked? {
                    continue;
                }
                let mut more = Vec::new();
                let built = match inner.tree.build(&inner.root, number, need, &mut more) {
                    Ok(built) => built,
                    // A node without a document is damage, unless a writer has yet to write the document: its marker is then requested.
                    Err(_) if !looked => {
                        looked = true;
                        let marker = Question::Document(MARKER.to_owned());
                        inner.tree.ask(vec![marker]).await?;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let Some(mut built) = built.filter(|_| more.is_empty()) else {
                    inner.tree.ask(more).await?;
                    continue;
                };
                if inner.tree.probe(&built, &inner.shards).await? {
                    continue;
                }
                // Probing a chunk also counts as a round.
                built.next_round = inner.tree.state().rounds.saturating_add(1);
                level = Some(built);
                break;
            }
            let Some(level) = level else {
                return Err(too_deep(&format!("{number}/zarr.json")));
            };
            inner.tree.kv.versions().use_level(number);
            let level = Arc::new(level);
            let mut recent = inner.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if recent.len() >= RECENT {
                recent.pop_front();
            }
            recent.push_back((need.clone(), Arc::clone(&level)));
            drop(recent);
            Ok(Level {
                store: self.clone(),
                inner: level,
            })
        })
    }

    fn recent(&self, number: u32, need: &Need) -> Option<Arc<LevelInner>> {
        let recent = &self.inner.recent;
        let recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent
            .iter()
            .find(|(n, level)| level.number == number && n == need)
            .map(|(_, level)| Arc::clone(level))
    }

    /// Loads the id table together with the documents, if it is known to exist and is short. I/O errors are returned, because all retries have failed;
    /// malformed ids are reported when they are used.
    async fn prefetch_ids(&self, level: u32, need: &Need) -> Result<(), StoreError> {
        const MOST: u64 = 1 << 22;
        // Looking up ids in longer tables takes one more round of requests, and far fewer bytes.
        const LOOKED_UP: u64 = 1 << 17;
        if !need.objects || need.skip_ids {
            return Ok(());
        }
        let tree = &self.inner.tree;
        let next = {
            let state = tree.state();
            if !state.has_ids(level) || !state.exists(&format!("{level}/zarr.json")) {
                return Ok(());
            }
            state.rounds.saturating_add(1)
        };
        let key = format!("{level}/zarr.json");
        let Some(doc) = tree
            .document(&key)
            .and_then(|bytes| LevelDoc::parse(&bytes).ok())
        else {
            return Ok(());
        };
        let key_rank = doc.key_rank(self.inner.root.dims());
        // The object index is checked against the chunk keys of the vertices: build those first, so that their document is parsed once. Failures and
        // further questions are ignored here; they occur again when the level is built, which reports them.
        let _ = tree.named_grid(&format!("{level}/vertices"), key_rank, &mut Vec::new());
        let index = match tree.object_index(level, key_rank) {
            Ok(Some(index)) if index.len() > LOOKED_UP && index.looks_up() => return Ok(()),
            Ok(Some(index)) if index.len() <= MOST && index.has_unread_ids() => index,
            _ => return Ok(()),
        };
        let ids = index.ids_in(next).await;
        tree.made_round(next);
        match ids {
            Err(error) if error.class() == crate::Class::Io => Err(error),
            _ => Ok(()),
        }
    }

    /// An array of cells by its level and the path below it, such as `link_fragments`; `None` if there is none.
    ///
    /// For arrays that [`Level`] does not provide.
    ///
    /// # Cost
    /// One round of requests for the documents of the array and the level, the first time; one or two more rounds if the format has no list of the
    /// cells.
    ///
    /// # Errors
    /// Misuse, for a path with an empty, `.` or `..` segment; I/O; a malformed document.
    pub fn grid_array<'a>(
        &'a self,
        level: u32,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<GridArray>>, StoreError>> {
        Box::pin(async move {
            for segment in path.split('/') {
                crate::snapshot::plan::check_segment(&level.to_string(), segment)?;
            }
            let tree = &self.inner.tree;
            let (path, of_level) = (format!("{level}/{path}"), format!("{level}/zarr.json"));
            let keys = [format!("{path}/zarr.json"), of_level.clone()];
            tree.ask(keys.map(Question::Document).to_vec()).await?;
            // In levels chunked by an attribute, keys have one more component.
            let doc = tree.document(&of_level);
            let doc = doc.and_then(|bytes| LevelDoc::parse(&bytes).ok());
            let dims = self.inner.root.dims();
            let key_rank = doc.map_or(dims, |doc| doc.key_rank(dims));
            // If there is no presence list, the cells are listed and their packs are read.
            for _ in 0..ROUNDS {
                let mut more = Vec::new();
                let array = tree.named_grid(&path, key_rank, &mut more)?;
                if more.is_empty() {
                    return Ok(array);
                }
                tree.ask(more).await?;
            }
            Err(too_deep(&format!("{path}/zarr.json")))
        })
    }

    /// Reads cells, then runs `f` on them on a worker thread.
    ///
    /// `cells[i]` belongs to `wants[i]`; it is `None` if the cell is empty or missing. On a local disk, reading, decoding and `f` are one task; elsewhere
    /// all objects are requested together. `f` runs on one of a few worker threads, and must not wait for other reads. Neighbouring ranges of a shard are
    /// merged into one request; equal wants are read once. `round` is recorded in the trace. Cells from the cache (see
    /// [`OpenOptions::cell_cache_bytes`]) are neither requested nor in the trace.
    ///
    /// # Cost
    /// One dependent round of requests; two for shards that are larger than the tail that comes with their index.
    ///
    /// # Errors
    /// A coordinate outside the array's grid; I/O; damaged cells; missing cells that a presence list names, see
    /// [`IoOptions::verify`](zvf_io::IoOptions::verify); a limit; a codec that is not supported.
    pub fn fetch_map<R, F>(
        &self,
        round: u32,
        wants: Vec<CellWant>,
        f: F,
    ) -> impl Future<Output = Result<R, StoreError>> + Send + 'static + use<R, F>
    where
        R: Send + 'static,
        F: FnOnce(Vec<Option<Bytes>>) -> R + Send + 'static,
    {
        let (to, result) = Handover::pair();
        let then = move |cells| to.put(cells::decoded(cells).map(f));
        let work = self.fetch_and(round, wants, Mode::default(), Box::new(then));
        async move {
            work.await?;
            result.take()?
        }
    }

    /// Like [`fetch_map`](Self::fetch_map), but with a boxed function, so that the type of the future does not depend on it.
    pub(crate) fn fetch_and(
        &self,
        round: u32,
        wants: Vec<CellWant>,
        mode: Mode,
        then: cells::Then,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let kv = self.inner.tree.kv.in_round(round);
        let shards = Arc::clone(&self.inner.shards);
        let cache = self.inner.cells.clone();
        Box::pin(async move {
            let Some(cache) = cache else {
                return cells::fetch(kv, shards, wants, mode, then).await;
            };
            // The cache stores decoded cells.
            let mode = Mode {
                later: false,
                ..mode
            };
            let (ready, places, rest) = cache.split(wants).into_parts();
            let names = rest.clone();
            let (to, failed) = Handover::pair();
            let join = move |fresh| match cells::decoded(fresh) {
                Ok(fresh) => {
                    let cells = cache.merge(ready, &places, names, fresh).into_iter();
                    then(cells.map(|cell| cell.map(FetchedCell::Decoded)).collect());
                    to.put(Ok(()));
                }
                Err(error) => to.put(Err(error)),
            };
            cells::fetch(kv, shards, rest, mode, Box::new(join)).await?;
            failed.take()?
        })
    }

    /// Reads cells. [`fetch_map`](Self::fetch_map) saves a switch of threads if the cells are processed at once.
    ///
    /// # Errors
    /// As [`fetch_map`](Self::fetch_map).
    pub async fn fetch(
        &self,
        round: u32,
        wants: Vec<CellWant>,
    ) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.fetch_map(round, wants, |cells| cells).await
    }

    /// Like [`fetch_map`](Self::fetch_map), for reports: a cell that cannot be read does not hide the others.
    ///
    /// # Cost
    /// As [`fetch_map`](Self::fetch_map). If a cell cannot be read, all cells are read again one by one, and `f` runs on the calling thread.
    ///
    /// # Errors
    /// As [`fetch_map`](Self::fetch_map), except for [defects](StoreError::is_defect), which `f` receives.
    pub fn fetch_each<R, F>(
        &self,
        round: u32,
        wants: Vec<CellWant>,
        f: F,
    ) -> BoxFuture<'static, Result<R, StoreError>>
    where
        R: Send + 'static,
        F: FnOnce(Vec<ReadCell>) -> R + Clone + Send + 'static,
    {
        let (store, again) = (self.clone(), f.clone());
        Box::pin(async move {
            let all = move |cells: Vec<_>| f(cells.into_iter().map(Ok).collect());
            match store.fetch_map(round, wants.clone(), all).await {
                Err(error) if error.is_defect() => {}
                done => return done,
            }
            let mut cells = Vec::with_capacity(wants.len());
            for want in wants {
                cells.push(match store.fetch(round, vec![want]).await {
                    Err(error) if !error.is_defect() => return Err(error),
                    cell => cell.map(|mut one| one.pop().flatten()),
                });
            }
            Ok(again(cells))
        })
    }
}

/// One resolution level. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Level {
    store: Store,
    inner: Arc<LevelInner>,
}

impl Level {
    /// Number of the level; 0 is full resolution.
    pub fn number(&self) -> u32 {
        self.inner.number
    }

    /// The level's document.
    pub fn doc(&self) -> &LevelDoc {
        &self.inner.doc
    }

    /// D, the number of spatial axes: the numbers in a row of `vertices`.
    pub fn dims(&self) -> usize {
        self.inner.dims
    }

    /// K, components of a chunk coordinate: D, or D + 1 on levels chunked by an attribute.
    pub fn key_rank(&self) -> usize {
        self.inner.key_rank
    }

    /// World size of a chunk on each of the D axes: from the level, or from the root if the level has none.
    pub fn chunk_shape(&self) -> &[f64] {
        &self.inner.chunk_shape
    }

    /// World size of a bin on each of the D axes, if stated: `base_bin_shape` on level 0, twice the translation on
    /// the levels above.
    pub fn bin_shape(&self) -> Option<&[f64]> {
        self.inner.bin_shape.as_deref()
    }

    /// Positions: cells of N rows of D elements.
    pub fn vertices(&self) -> &Arc<GridArray> {
        &self.inner.vertices
    }

    /// Fragment indexes.
    pub fn vertex_fragments(&self) -> Option<&Arc<GridArray>> {
        self.inner.vertex_fragments.as_ref()
    }

    /// The vertex attributes that were requested and exist, by name.
    pub fn vertex_attributes(&self) -> &[VertexAttribute] {
        &self.inner.vertex_attributes
    }

    /// The fragment attributes that were requested and exist, by name.
    pub fn fragment_attributes(&self) -> &[VertexAttribute] {
        &self.inner.fragment_attributes
    }

    /// The owner column of fragments, if the fragment attributes and the object index were requested.
    #[must_use]
    pub fn owner_column(&self) -> OwnerColumn<'_> {
        OwnerColumn::find(
            self.fragment_attributes(),
            self.object_index().map(Arc::as_ref),
        )
    }

    /// The object index, if it was requested and exists.
    pub fn object_index(&self) -> Option<&Arc<ObjectIndex>> {
        self.inner.object_index.as_ref()
    }

    /// The object attributes that were requested and exist, by name. Row i belongs to row i of the object index.
    pub fn object_attributes(&self) -> &[TypedArray] {
        &self.inner.object_attributes
    }

    /// The groups, if they were requested and exist.
    pub fn groups(&self) -> Option<&Groups> {
        self.inner.groups.as_deref()
    }

    /// The group attributes that were requested and exist, by name.
    pub fn group_attributes(&self) -> &[TypedArray] {
        &self.inner.group_attributes
    }

    /// The link family of a delta, if it was requested and exists.
    pub fn links(&self, delta: i32) -> Option<&LinkFamily> {
        self.inner.links.iter().find(|family| family.delta == delta)
    }

    /// All link families that were requested and exist, by delta.
    pub fn link_families(&self) -> &[LinkFamily] {
        &self.inner.links
    }

    /// All arrays of cells that were requested and exist, except `link_fragments`, which a level does not load.
    #[must_use]
    pub fn arrays(&self) -> Vec<Arc<GridArray>> {
        let mut arrays = vec![Arc::clone(self.vertices())];
        arrays.extend(self.vertex_fragments().cloned());
        let attributes = self.vertex_attributes().iter();
        let attributes = attributes.chain(self.fragment_attributes());
        arrays.extend(attributes.map(|one| Arc::clone(&one.array)));
        for family in self.link_families() {
            arrays.extend(family.arrays().iter().map(|one| Arc::clone(&one.array)));
            let values = family.attributes().iter().flat_map(|one| &one.arrays);
            arrays.extend(values.flatten().cloned());
        }
        arrays
    }

    /// Requested attributes, tables and links that exist and were left out, with the reason.
    pub fn refused(&self) -> &[Refused] {
        &self.inner.refused
    }

    /// Fails if unsupported or damaged parts of the level were left out. If a program changes or copies the level, these parts no longer match their
    /// vertices, objects and links.
    ///
    /// # Errors
    /// Malformed, with the path of the first node that was left out, and the reason.
    pub fn check_complete(&self) -> Result<(), StoreError> {
        self.inner.refused.first().map_or(Ok(()), Refused::error)
    }

    /// Fails if damaged parts of the level were left out. Unsupported parts are accepted: a copy lists them in its report, and does not change the
    /// source.
    ///
    /// # Errors
    /// As [`Level::check_complete`].
    pub fn check_undamaged(&self) -> Result<(), StoreError> {
        let damaged = self.inner.refused.iter().find(|one| one.damaged);
        damaged.map_or(Ok(()), Refused::error)
    }

    /// The number of the round of requests after those that loaded this level: the first one to pass to
    /// [`Store::fetch_map`].
    pub fn next_round(&self) -> u32 {
        self.inner.next_round
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }
}

fn level_lost(level: u32) -> String {
    format!("level {level} is missing, but named by multiscales of the root")
}

/// The error for a root that cannot be read. It reports an unsupported version even if other members are missing.
#[cold]
fn refused_root(bytes: &[u8], error: zvf_meta::MetaError) -> StoreError {
    let found = serde_json::from_slice::<serde_json::Value>(bytes)
        .ok()
        .and_then(|root| {
            let block = root.pointer("/attributes/zarr_vectors")?;
            // Stores before 0.5 name this member `format_version`.
            let text = block
                .get("zv_version")
                .or_else(|| block.get("format_version"))?;
            Some(text.as_str()?.to_owned())
        });
    match found {
        Some(found) => match zvf_meta::version::gate(&found) {
            Gate::Older(_) => StoreError::Version {
                found,
                supported: zvf_meta::version::OLDER,
            },
            Gate::Malformed => StoreError::Version {
                found,
                supported: zvf_meta::version::EXPECTED,
            },
            Gate::Supported(_) | Gate::Newer(_) => StoreError::document("zarr.json", error),
        },
        None => StoreError::document("zarr.json", error),
    }
}

/// The error for documents that still refer to further documents after all rounds.
#[cold]
fn too_deep(key: &str) -> StoreError {
    let what = format!("documents still refer to further documents after {ROUNDS} rounds");
    StoreError::malformed(key, what)
}
