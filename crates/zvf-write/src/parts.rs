//! Several programs that write one store: each some chunks, and one of them the end.
//!
//! ```text
//! zvf-unfinished.json   put if absent; says what store it shall be, and which parts must come
//! zvf-unfinished/<id>/  what parts note and write: `parts_folder.rs`
//! ───────────────────── all parts are finished
//! commits/N, N.done     which parts the store has, decided once: `parts_log.rs`
//! 0/…                   the cells of these parts, moved; cells of texts; manifests, tables, documents, the level
//! zarr.json             the store exists
//! zvf-unfinished…       removed, the marker last
//! ```
//!
//! A program writes into a folder of its own, and a note that is put if absent decides whose folder is the part: two
//! programs of one name never mix. A claim is put before those of others are read: of two that write one object at least
//! one fails, before it writes a cell. A commit that was interrupted is finished by the next one, as it was decided.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zvf_meta::RootDoc;
use zvf_store::ChunkCoord;

use crate::batch::Groups;
use crate::categories::Dictionary;
use crate::chunk_by::Split;
use crate::commit::{self, Leftovers, MARKER, ROOT, mark};
use crate::error::{OrBug, narrow};
use crate::finish::{Documents, Level, Summary, finest_doc, write_above};
use crate::form::LinksBy;
use crate::frames::from_bytes;
use crate::holder::Holder;
use crate::lease::{Lease, is_free};
use crate::links::{Family, Grouped, Stored, StoredCell};
use crate::objects::{Tables, checked_groups};
use crate::part::{Note, Part, PartOptions, Start, bounds, cells, check_begun, encoder};
use crate::parts_folder::{Begun, FinishedPart, Folder, NOTES, listed};
use crate::parts_log::{Choice, Chosen, Log, Outcome, State};
use crate::parts_status::PartsStatus;
use crate::prepare::grow;
use crate::progress::Step;
use crate::sorter::{Placed, Sorter};
use crate::spec::{AttributeType, Outside, StoreSpec};
use crate::target::Target;
use crate::writer::{StoreWriter, WriteOptions, blocking};
use crate::{WriteError, inside, parallel, parts_texts};
use zvf_format::int::{index, wide};

/// The member of a root that names the parts which were absent when the store was committed.
pub const ABSENT_PARTS: &str = "zvf_absent_parts";

/// Keys of cells, and where they belong.
type Moves = Vec<(String, String)>;

/// Objects that are moved together.
const MOVED: usize = 256;

/// One store that several programs write.
///
/// One of them [begins](Self::begin) it, all others [join](Self::join); each makes [writers](Self::writer) of parts that have
/// names of their own; when all have finished, one [commits](Self::commit).
///
/// # What parts are
/// A chunk (where cells lie in shards, a shard) is of one part. Links join vertices of one part. An object may have
/// vertices in several parts, but not where its vertices have an order: lines, polylines, streamlines and skeletons.
/// An object has a row of attributes in one part at most.
///
/// # Examples
///
/// ```
/// use zvf_store::blocking::Runtime;
/// use zvf_write::{Batch, Groups, Kind, Outside, PartedStore, StoreSpec, WriteOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let address = folder.path().join("cells.zarrvectors").to_string_lossy().into_owned();
/// let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_bounds([0.0; 3], [100.0; 3], Outside::Refuse);
/// Runtime::new()?.wait(async {
///     let store = PartedStore::begin(&address, spec, WriteOptions::new()).await?;
///     // Here, or in other programs that join: one writer a part.
///     for (name, x) in [("left", 5.0_f32), ("right", 95.0)] {
///         let mut part = store.writer(name).await?;
///         part.push(&Batch::new(vec![x, 1.0, 1.0]))?;
///         part.finish().await?;
///     }
///     let summary = store.commit(&Groups::default()).await?;
///     assert_eq!((summary.vertices, summary.chunks), (2, 2));
///     Ok(())
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct PartedStore {
    target: Arc<Target>,
    address: String,
    spec: StoreSpec,
    options: WriteOptions,
    /// This program's version and the specification, as the marker has them.
    details: Value,
    begun_before: bool,
}

/// A specification as the marker has it, for the programs that join.
fn details(spec: &StoreSpec) -> Result<Value, WriteError> {
    let parts = serde_json::to_value((env!("CARGO_PKG_VERSION"), spec));
    parts.map_err(|error| WriteError::bug(error.to_string()))
}

/// How a part begins.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one a part")]
pub enum PartStart {
    /// It is to be written.
    Writer(StoreWriter),
    /// It is finished: nothing is to be written.
    Finished(FinishedPart),
}

/// A store that was committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Committed {
    /// What the store holds; `None` where an earlier commit was interrupted at its very end, so that this one only tidied up.
    pub summary: Option<Summary>,
    /// Names of the parts that the store has.
    pub parts: Vec<String>,
    /// Names of parts that were declared or begun, and that the store does not have.
    pub absent: Vec<String>,
}

/// What is noted of the root before it is put.
#[derive(Debug, Serialize, Deserialize)]
struct RootNote {
    root: String,
    committed: Committed,
}

/// The parts of a choice, as they were noted.
struct Loaded {
    notes: Vec<Note<'static>>,
    finished: Vec<FinishedPart>,
}

impl PartedStore {
    /// Marks a place for a store that several programs write.
    ///
    /// The specification needs bounds, which are those of the store.
    ///
    /// Where the same was begun before, that is what is joined: see [`was_begun_before`](Self::was_begun_before).
    ///
    /// # Errors
    /// Misuse: such a specification, or something else that is there. I/O.
    pub fn begin<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Self::begin_parts(address, spec, None, options)
    }

    /// As [`begin`](Self::begin), of a store of these parts: no other name is taken, and a commit refuses while one of them is
    /// missing.
    ///
    /// # Errors
    /// As [`begin`](Self::begin). Misuse: no names, a name twice or one that is no path segment.
    pub fn begin_parts<'a>(
        address: &'a str,
        spec: StoreSpec,
        names: Option<Vec<String>>,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            check_names(names.as_deref())?;
            let mut store = Self::new(address, spec, options).await?;
            let (target, place) = (Arc::clone(&store.target), store.address.clone());
            let (spec, leftovers) = (store.details.clone(), store.options.leftovers);
            let open = store.options.open.clone();
            let begin = move || {
                inside::check(&place, &open)?;
                if leftovers == Leftovers::Refuse
                    && let Some(begun) = Begun::read(&target)?
                    && !target.exists(ROOT)?
                {
                    begun.check(&place, &spec)?;
                    if begun.names != names {
                        let text = |names: &Option<Vec<String>>| match names {
                            Some(names) => listed(names.iter().map(String::as_str)),
                            None => "any parts".to_owned(),
                        };
                        let (there, here) = (text(&begun.names), text(&names));
                        let what =
                            format!("it was begun with other parts: {there} there and {here} here");
                        return Err(WriteError::exists(&place, what));
                    }
                    return Ok(true);
                }
                let details = Begun::details(&spec, names.as_deref());
                commit::begin(&target, &place, leftovers, details)?;
                Ok(false)
            };
            store.begun_before = blocking(begin).await?;
            Ok(store)
        })
    }

    /// Whether [`begin`](Self::begin) found that the same store was begun already, and joined it.
    #[must_use]
    pub fn was_begun_before(&self) -> bool {
        self.begun_before
    }

    /// Joins a store that another program began, with the same specification.
    ///
    /// # Errors
    /// Misuse: nothing was begun there, or something else. I/O.
    pub fn join<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            let store = Self::new(address, spec, options).await?;
            let (target, place, details) = (
                Arc::clone(&store.target),
                store.address.clone(),
                store.details.clone(),
            );
            let check = move || match Begun::read(&target)? {
                // A commit that was interrupted at its end is still to be finished.
                Some(begun) if target.exists(ROOT)? => begun.check(&place, &details),
                _ => check_begun(&target, &place, &details).map(drop),
            };
            blocking(check).await?;
            Ok(store)
        })
    }

    async fn new(
        address: &str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> Result<Self, WriteError> {
        spec.check()?;
        if spec.target.form().links != LinksBy::Offsets {
            let expected = "0.9.2: parts note their links by offsets";
            return Err(WriteError::spec("target", spec.target.version(), expected));
        }
        if spec.bounds.is_none() || spec.outside != Outside::Refuse {
            let expected = "corners that all parts keep to: they decide where every chunk lies";
            return Err(WriteError::spec(
                "bounds",
                "none, or such that grow",
                expected,
            ));
        }
        if spec
            .chunk_by
            .as_ref()
            .is_some_and(|one| one.values.is_none())
        {
            let expected = "all of them: ranks depend on the values of all parts";
            return Err(WriteError::spec("chunk_by/values", "none", expected));
        }
        let (place, open, durable) = (address.to_owned(), options.open.clone(), options.durable);
        let target = blocking(move || Target::new(&place, &open, durable)).await?;
        Ok(Self {
            target: Arc::new(target),
            address: address.to_owned(),
            details: details(&spec)?,
            spec,
            options,
            begun_before: false,
        })
    }

    /// A writer of one part. Its [`finish`](StoreWriter::finish) writes the cells of the part, and no store yet; a part
    /// that was interrupted is written again under the same name.
    ///
    /// # Errors
    /// As [`part`](Self::part). Misuse: the part is finished.
    pub async fn writer(&self, name: &str) -> Result<StoreWriter, WriteError> {
        match self.part(name, PartOptions::new()).await? {
            PartStart::Writer(writer) => Ok(writer),
            PartStart::Finished(found) => {
                let what = format!("part {name} was finished before, by {}", found.by);
                Err(WriteError::exists(&self.address, what))
            }
        }
    }

    /// Begins a part, unless it is finished. The program that is first to finish a part is the one that writes it; another one
    /// that began the same part fails when it finishes, unless it wrote the same bytes.
    ///
    /// # Errors
    /// Misuse: a name that is no path segment, or was not declared; a part that was finished from another input; a store that
    /// is committed without the part. I/O.
    pub async fn part(&self, name: &str, options: PartOptions) -> Result<PartStart, WriteError> {
        crate::names::check_name("part", name)?;
        let (target, address, spec, part) = (
            Arc::clone(&self.target),
            self.address.clone(),
            self.details.clone(),
            name.to_owned(),
        );
        let begin = move || Part::begin(&target, &address, (&spec, &part), options);
        match blocking(begin).await? {
            Start::Finished(found) => Ok(PartStart::Finished(found)),
            Start::New(part) => Ok(PartStart::Writer(StoreWriter::of_part(
                Arc::clone(&self.target),
                self.address.clone(),
                self.spec.clone(),
                self.options.clone(),
                *part,
            ))),
        }
    }

    /// Lists the parts of a store that was begun; `None` where none was.
    ///
    /// # Errors
    /// I/O; notes that cannot be read.
    pub fn status<'a>(
        address: &'a str,
        options: &'a WriteOptions,
    ) -> BoxFuture<'a, Result<Option<PartsStatus>, WriteError>> {
        Box::pin(async move {
            let (place, open, durable) =
                (address.to_owned(), options.open.clone(), options.durable);
            let read = move || {
                let target = Target::new(&place, &open, durable)?;
                PartsStatus::read(&target, &place)
            };
            blocking(read).await
        })
    }

    /// Removes all parts of a store that was begun, finished ones, too. Returns the names of those that were finished.
    ///
    /// # Errors
    /// Misuse: no store was begun there, or it is committed. Busy: it is being committed. I/O: again, what is left is removed.
    pub fn discard<'a>(
        address: &'a str,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Vec<String>, WriteError>> {
        Box::pin(async move {
            let place = address.to_owned();
            let discard = move || {
                let target = Target::new(&place, &options.open, options.durable)?;
                discard(&Arc::new(target), &place, &options)
            };
            blocking(discard).await
        })
    }

    /// Puts the finished parts together: the store exists after that. Groups are given here, since their members may be of
    /// any part; an empty list is no groups.
    ///
    /// # Cost
    /// Reads what the parts noted, a few dozen bytes a fragment, and the codes of texts; moves every other cell (a rename on a disk, a
    /// copy on the server of an object store); writes cells of texts, manifests, tables and documents.
    ///
    /// # Errors
    /// Misuse: a part that was declared or begun and is not finished, no part at all, objects that parts must not share, groups with
    /// members that do not exist. Busy: another commit is at work. I/O. No store is there after an error, and all parts are
    /// still there, unless [`WriteError::is_committed`].
    pub fn commit<'a>(
        self,
        groups: &'a Groups<'a>,
    ) -> BoxFuture<'a, Result<Committed, WriteError>> {
        self.commit_with(groups, false)
    }

    /// As [`commit`](Self::commit); with `allow_missing` also without parts that were declared or begun and are not finished. The
    /// root of the store names these, as `zvf_absent_parts`.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_with<'a>(
        self,
        groups: &'a Groups<'a>,
        allow_missing: bool,
    ) -> BoxFuture<'a, Result<Committed, WriteError>> {
        Box::pin(async move {
            let groups = if groups.members.is_empty() {
                Groups::default()
            } else {
                checked_groups(&self.spec, groups)?
            };
            blocking(move || self.commit_parts(&groups, allow_missing)).await
        })
    }

    fn commit_parts(
        &self,
        groups: &Groups<'_>,
        allow_missing: bool,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        if let Some(begun) = Begun::read(target)?
            && target.exists(ROOT)?
        {
            begun.check(&self.address, &self.details)?;
            return self.tidied_again(&begun);
        }
        let begun = check_begun(target, &self.address, &self.details)?;
        let lease = committing(&self.target, &self.address, begun.folder()?, &self.options)?;
        target.fence(&self.address, lease.watch());
        let done = self.commit_under(begun.folder()?, groups, allow_missing);
        // A renewal must not come after the folder is removed.
        let ended = lease.end();
        let committed = done?;
        ended.and_then(|()| tidy(target, &begun)).map_err(tidying)?;
        Ok(committed)
    }

    /// Removes what an earlier commit left that put the root.
    fn tidied_again(&self, begun: &Begun) -> Result<Committed, WriteError> {
        let (target, folder) = (&*self.target, begun.folder()?);
        let note = target.read(&folder.below("root"))?;
        let note = note.and_then(|bytes| serde_json::from_slice::<RootNote>(&bytes).ok());
        let committed = match note {
            Some(note) if target.read(ROOT)?.as_deref() == Some(note.root.as_bytes()) => {
                note.committed
            }
            // The note is removed after all others.
            None if folder.rounds(target)?.is_empty() => Committed {
                summary: None,
                parts: Vec::new(),
                absent: Vec::new(),
            },
            _ => {
                let what = "another store appeared while the parts were written";
                return Err(WriteError::exists(&self.address, what));
            }
        };
        tidy(target, begun).map_err(tidying)?;
        Ok(committed)
    }

    /// Decides which parts the store has, unless that is decided, and makes it.
    fn commit_under(
        &self,
        folder: &Folder,
        groups: &Groups<'_>,
        allow_missing: bool,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        let log = Log { target, folder };
        loop {
            let (choice, loaded) = match log.look()? {
                Ok(number) => {
                    let (choice, loaded) = match self.choose(folder, allow_missing) {
                        Ok(chosen) => chosen,
                        Err(error) => {
                            log.decide(number, &Outcome::Nothing)?;
                            return Err(error);
                        }
                    };
                    match log.decide(number, &Outcome::Chosen(choice.clone()))? {
                        Outcome::Chosen(found) if found == choice => (choice, loaded),
                        // A part did not wait for this commit, or another program decided.
                        _ => {
                            check_begun(target, &self.address, &self.details)?;
                            continue;
                        }
                    }
                }
                Err(State::Chosen(choice)) => {
                    let loaded = self.load(folder, &choice)?;
                    (choice, loaded)
                }
                Err(_) => {
                    let what = "the parts were discarded";
                    return Err(WriteError::exists(&self.address, what));
                }
            };
            let committed = Committed {
                summary: None,
                parts: choice.parts.iter().map(|part| part.name.clone()).collect(),
                absent: choice.absent.clone(),
            };
            return self.make(folder, (&choice, &loaded), committed, groups);
        }
    }

    /// The finished parts, if they make a store.
    fn choose(&self, folder: &Folder, allow_missing: bool) -> Result<(Choice, Loaded), WriteError> {
        let target = &*self.target;
        let rounds = folder.rounds(target)?;
        let begun = Folder::owners(target, &folder.begun())?;
        let declared = Begun::read(target)?.and_then(|begun| begun.names);
        let names: Vec<String> = match declared {
            Some(names) => names,
            None => {
                let names: BTreeSet<&String> = begun.iter().map(|(name, _)| name).collect();
                names.into_iter().cloned().collect()
            }
        };
        let absent: Vec<String> = names
            .into_iter()
            .filter(|name| !rounds.contains_key(name))
            .collect();
        if !absent.is_empty() && !allow_missing {
            let known: BTreeSet<&str> = begun.iter().map(|(name, _)| &**name).collect();
            let (open, waiting): (Vec<&str>, Vec<&str>) = absent
                .iter()
                .map(String::as_str)
                .partition(|name| known.contains(name));
            let mut missing = Vec::new();
            if !open.is_empty() {
                missing.push(format!("begun and not finished: {}", listed(open)));
            }
            if !waiting.is_empty() {
                missing.push(format!("not begun: {}", listed(waiting)));
            }
            let found = format!("{} finished; {}", rounds.len(), missing.join("; "));
            let expected = "all of them finished; --allow-missing commits without them";
            return Err(WriteError::input("parts", found, expected));
        }
        if rounds.is_empty() {
            return Err(WriteError::input("parts", "none", "at least one"));
        }
        let mut choice = Choice {
            absent,
            ..Choice::default()
        };
        for (name, round) in rounds {
            let found = folder.note(target, &self.address, (&name, round))?;
            let found = found.ok_or_else(|| self.unreadable(&name))?;
            choice.parts.push(Chosen {
                name,
                owner: found.owner,
                round,
            });
        }
        let loaded = self.load(folder, &choice)?;
        self.check(&loaded.notes)?;
        Ok((choice, loaded))
    }

    #[cold]
    fn unreadable(&self, name: &str) -> WriteError {
        let what = format!("the note of part {name} cannot be read");
        WriteError::exists(&self.address, what)
    }

    /// Reads what the parts noted.
    fn load(&self, folder: &Folder, choice: &Choice) -> Result<Loaded, WriteError> {
        let target = &*self.target;
        let (mut notes, mut finished) = (Vec::new(), Vec::new());
        for Chosen { name, owner, round } in &choice.parts {
            let found = folder.note(target, &self.address, (name, *round))?;
            let bytes = target.read(&format!("{}/note", folder.work(name, owner)))?;
            let note = bytes
                .and_then(|bytes| from_bytes::<Note<'_>>(&bytes))
                .filter(|note| note.name == *name);
            let both = found.filter(|found| found.owner == *owner).zip(note);
            let (found, note) = both.ok_or_else(|| self.unreadable(name))?;
            finished.push(found);
            notes.push(note);
        }
        Ok(Loaded { notes, finished })
    }

    /// Whether parts make one store: no two of them write one object, and none has what another one must not have, too.
    fn check(&self, notes: &[Note<'_>]) -> Result<(), WriteError> {
        let (rank, cells) = (self.spec.key_rank(), cells(&self.spec)?);
        let mut owners: HashMap<Vec<u64>, &str> = HashMap::new();
        for note in notes {
            for chunk in note.chunks.chunks_exact(rank) {
                let object = cells.object_index(chunk)?;
                let owner = *owners.entry(object).or_insert(&note.name);
                if owner != note.name {
                    let what = format!(
                        "parts {owner} and {} both have vertices in chunk {chunk:?}; --redo writes one of them again, of other data",
                        note.name
                    );
                    return Err(WriteError::exists(&self.address, what));
                }
            }
        }
        self.check_orders(notes)?;
        self.tables(notes).map(drop)
    }

    fn tables(&self, notes: &[Note<'_>]) -> Result<Tables, WriteError> {
        let mut tables = Tables::new(&self.spec);
        for note in notes.iter().filter(|note| !note.objects.ids.is_empty()) {
            tables.push(&self.spec, &note.objects)?;
        }
        Ok(tables)
    }

    /// Makes the store of the parts that were chosen. All of it may have been done before, as far as an earlier commit came.
    fn make(
        &self,
        folder: &Folder,
        (choice, loaded): (&Choice, &Loaded),
        mut committed: Committed,
        groups: &Groups<'_>,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        let dictionaries = self.place_cells(folder, choice, &loaded.finished)?;
        let (root, summary) = self.join_parts(&loaded.notes, dictionaries, groups)?;
        committed.summary = Some(summary);
        let root = match committed.absent.is_empty() {
            true => root,
            false => {
                let mut root = RootDoc::parse(root.as_bytes())?;
                root.extra
                    .insert(ABSENT_PARTS.to_owned(), json!(committed.absent));
                root.to_json()
            }
        };
        let note = RootNote { root, committed };
        let bytes = serde_json::to_vec(&note).or_bug("the note of a root")?;
        target.put(vec![(folder.below("root"), bytes)])?;
        target.barrier()?;
        target.may_write()?;
        let put = target.put_new(ROOT, note.root.clone().into_bytes())?;
        if !put && target.read(ROOT)?.as_deref() != Some(note.root.as_bytes()) {
            let what = "another store appeared while this one was written";
            return Err(WriteError::exists(&self.address, what));
        }
        Ok(note.committed)
    }

    /// Moves the cells of all parts to where they belong, and writes those of texts. Returns the dictionaries.
    fn place_cells(
        &self,
        folder: &Folder,
        choice: &Choice,
        finished: &[FinishedPart],
    ) -> Result<Vec<Option<Dictionary>>, WriteError> {
        let (target, spec, threads) = (&*self.target, &self.spec, self.options.threads);
        let folders = choice
            .parts
            .iter()
            .map(|part| folder.work(&part.name, &part.owner));
        let folders: Vec<String> = folders.collect();
        let texts: Vec<String> = folders.iter().map(|work| format!("{work}/texts")).collect();
        let dictionaries = parts_texts::joined(spec, target, &texts)?;
        let mut found = 0;
        let mut parts = Vec::new();
        for work in &folders {
            let below = format!("{work}/0/");
            let (mut moves, mut codes) = (Vec::new(), Vec::new());
            for key in target.keys_below(&format!("{work}/0"))? {
                let Some(path) = key.strip_prefix(&below) else {
                    continue;
                };
                if path.starts_with(&format!("{}/", parts_texts::CODES)) {
                    codes.push(key);
                } else {
                    let to = format!("0/{path}");
                    moves.push((key, to));
                }
            }
            found += wide(moves.len() + codes.len());
            parts.push((moves, codes));
        }
        let expected: u64 = finished.iter().map(|part| part.put).sum();
        if found != expected {
            found += self.moved_before(&parts)?;
        }
        if found != expected {
            let what = format!("found {found} objects of all parts, expected {expected}");
            return Err(WriteError::source(NOTES, what));
        }
        let cells = cells(spec)?;
        let below = target.below("0").unseen();
        for ((moves, codes), texts) in parts.into_iter().zip(&texts) {
            let moves: Vec<Vec<(String, String)>> =
                moves.chunks(MOVED).map(<[_]>::to_vec).collect();
            let work = |some| target.move_unseen(some);
            parallel::each(threads, moves.into_iter(), work, |()| Ok(()))?;
            let place = (target, &cells, threads);
            parts_texts::write(spec, &below, place, &dictionaries, (texts, codes))?;
        }
        Ok(dictionaries)
    }

    /// How many cells an earlier commit moved.
    fn moved_before(&self, parts: &[(Moves, Vec<String>)]) -> Result<u64, WriteError> {
        let still: BTreeSet<&str> = parts
            .iter()
            .flat_map(|(moves, _)| moves)
            .map(|(_, to)| &**to)
            .collect();
        let texts: BTreeSet<&str> = self
            .spec
            .vertex_attributes
            .iter()
            .filter(|one| one.values == AttributeType::Category)
            .map(|one| &*one.name)
            .collect();
        let links = self.spec.takes_links();
        let is_moved = |key: &&String| {
            let mut path = key.split('/').skip(1);
            let of_a_part = match path.next() {
                Some("vertices" | "vertex_fragments" | "fragment_attributes") => true,
                Some("vertex_attributes") => path.next().is_some_and(|name| !texts.contains(name)),
                Some(family) => links && (family.contains("link")),
                None => false,
            };
            of_a_part && !key.ends_with("/zarr.json") && !still.contains(key.as_str())
        };
        let there = self.target.keys_below("0")?;
        Ok(wide(there.iter().filter(is_moved).count()))
    }

    /// Writes everything that parts have together, but the root, whose document is returned.
    fn join_parts(
        &self,
        notes: &[Note<'_>],
        dictionaries: Vec<Option<Dictionary>>,
        groups: &Groups<'_>,
    ) -> Result<(String, Summary), WriteError> {
        let (spec, rank, options) = (&self.spec, self.spec.key_rank(), &self.options);
        let folder = options.folder();
        let below = self.target.below("0");
        let cells = cells(spec)?;
        let mut chunks: Vec<&[i64]> = notes
            .iter()
            .flat_map(|note| note.chunks.chunks_exact(rank))
            .collect();
        chunks.sort_unstable();
        narrow("chunks", chunks.len())?;
        let slots: HashMap<&[i64], u32> = chunks.iter().copied().zip(0_u32..).collect();
        let level = Level {
            spec,
            target: &below,
            cells: &cells,
            chunks: &chunks,
            folder: &folder,
            budget: options.memory_budget,
            threads: options.threads,
            watch: &options.watch,
            codes: false,
        };
        let mut sorter = level.sorter();
        let mut bounds = bounds(spec)?;
        let encoder = encoder(spec, dictionaries)?;
        let mut documents = Documents::new(level.vertex_docs(&encoder)?);
        let tables = self.tables(notes)?;
        for note in notes {
            self.place(note, &slots, &mut sorter)?;
            if let Some((low, high)) = &note.extent {
                // What rounds beyond the bounds given.
                grow((&mut bounds.0, &mut bounds.1), (low, high));
            }
            let summary = &mut documents.summary;
            summary.vertices += note.vertices;
        }
        documents.summary.chunks = wide(chunks.len());
        let mut placer = level.placer();
        if spec.has_objects() {
            level.write_objects(&mut documents, sorter, &tables, groups, &mut placer)?;
        }
        let stored = if spec.takes_links() {
            joined_family(spec, notes)
        } else {
            let steps = options.watch.step(Step::Links, placer.links());
            level.write_links(placer, None, steps)?
        };
        documents.links(&stored, &cells)?;
        let doc = Split::describe(Split::known(spec), spec, finest_doc());
        let (doc, summary) = documents.put(&below, doc)?;
        let (target, address) = (&self.target, &self.address);
        let root = write_above(spec, target, &below, address, (bounds, &doc))?;
        Ok((root, summary))
    }

    /// Takes the fragments of a part, with the numbers that its chunks have among all.
    fn place(
        &self,
        note: &Note<'_>,
        slots: &HashMap<&[i64], u32>,
        sorter: &mut Sorter<Placed>,
    ) -> Result<(), WriteError> {
        let own: Vec<u32> = note
            .chunks
            .chunks_exact(self.spec.key_rank())
            .map(|chunk| {
                slots
                    .get(chunk)
                    .copied()
                    .or_bug("a chunk of a part has no number")
            })
            .collect::<Result<_, _>>()?;
        for mut placed in note.placed.iter().copied() {
            let Some(&slot) = own.get(index(placed.chunk)) else {
                let what = format!("part {}", note.name);
                return Err(WriteError::input(
                    what,
                    "a fragment of no chunk",
                    "its own chunks",
                ));
            };
            placed.chunk = slot;
            if !self.spec.kind.is_chain() {
                placed.order = (u64::from(slot) << 32) | u64::from(placed.fragment);
            }
            sorter.push(placed)?;
        }
        Ok(())
    }

    /// Objects whose vertices have an order are whole in one part.
    fn check_orders(&self, notes: &[Note<'_>]) -> Result<(), WriteError> {
        if !(self.spec.kind.is_chain() || self.spec.kind == zvf_meta::Kind::Skeleton) {
            return Ok(());
        }
        let mut owners: HashMap<i64, &str> = HashMap::new();
        for note in notes {
            for placed in &note.placed {
                let owner = *owners.entry(placed.object).or_insert(&note.name);
                if owner != note.name {
                    let found = format!("vertices in parts {owner} and {}", note.name);
                    return Err(WriteError::input(
                        format!("object {}", placed.object),
                        found,
                        "all of them in one part",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The groups of links, which have a cell in every chunk of a part where they may follow fragments.
fn groups(spec: &StoreSpec, notes: &[Note<'_>]) -> Option<Grouped> {
    let following = notes.iter().map(|note| note.link_groups);
    let following: Vec<bool> = following.collect::<Option<_>>()?;
    let chunks = notes
        .iter()
        .flat_map(|note| note.chunks.chunks_exact(spec.key_rank()));
    Some(Grouped {
        chunks: chunks.map(ChunkCoord::new).collect(),
        everywhere: following.iter().all(|follows| *follows),
    })
}

/// The links of all parts, whose cells are written.
fn joined_family(spec: &StoreSpec, notes: &[Note<'_>]) -> Stored {
    let keys = notes.iter().flat_map(|note| {
        let size = spec.links.width * spec.key_rank();
        note.cells.chunks_exact(size.max(1))
    });
    let cells = keys.map(|key| StoredCell {
        key: ChunkCoord::new(key),
        records: 0,
        valued: vec![true; spec.links.attributes.len()],
        grouped: true,
    });
    Stored {
        family: Family::of(spec),
        cells: cells.collect(),
        links: notes.iter().map(|note| note.links).sum(),
        records: notes.iter().map(|note| note.records).sum(),
        groups: groups(spec, notes),
    }
}

/// Whether these can be the parts of a store.
fn check_names(names: Option<&[String]>) -> Result<(), WriteError> {
    let Some(names) = names else { return Ok(()) };
    if names.is_empty() {
        return Err(WriteError::input("parts", "no names", "at least one"));
    }
    let mut seen = BTreeSet::new();
    for name in names {
        crate::names::check_name("parts", name)?;
        if !seen.insert(name) {
            return Err(WriteError::input(
                "parts",
                format!("{name:?} twice"),
                "each name once",
            ));
        }
    }
    Ok(())
}

/// Keeps other commits away while this one works, and takes over from one that has ended.
fn committing(
    target: &Arc<Target>,
    address: &str,
    folder: &Folder,
    options: &WriteOptions,
) -> Result<Lease, WriteError> {
    let key = folder.below("committing");
    let marker = || mark("the parts of a store are being put together", json!({}));
    if let Some(lease) = Lease::begin(target, &key, marker(), options.lease)? {
        return Ok(lease);
    }
    let mut by = String::new();
    if let Some(seen) = target.see(&key)? {
        let holder = Holder::of_marker(&seen.bytes);
        let found: Value = serde_json::from_slice(&seen.bytes).unwrap_or_default();
        let ended = holder.as_ref().is_some_and(Holder::has_ended);
        if ended || is_free(target, &found, &seen, (&seen, false))? {
            let taken = Lease::take(target, &key, marker(), options.lease, &seen)?;
            if let Some(lease) = taken {
                return Ok(lease);
            }
        }
        by = holder.map_or_else(String::new, |holder| format!(", of {holder}"));
    }
    let what = format!("another commit of its parts is at work{by}");
    Err(WriteError::busy(address, what))
}

/// Removes the notes of a store that is there, and the marker last.
fn tidy(target: &Target, begun: &Begun) -> Result<(), WriteError> {
    let folder = begun.folder()?;
    for group in ["work", "claims", "begun", "commits", "parts"] {
        target.remove_below(&folder.below(group))?;
    }
    // The note of the root is the last one, by which the next commit knows what was done.
    target.remove(&folder.below("root"))?;
    target.remove_below(NOTES)?;
    target.remove_own(MARKER, begun.bytes())
}

#[cold]
fn tidying(source: WriteError) -> WriteError {
    WriteError::Tidying {
        key: MARKER.to_owned(),
        source: Box::new(source),
    }
}

/// Removes all parts, and returns which of them were finished.
fn discard(
    target: &Arc<Target>,
    address: &str,
    options: &WriteOptions,
) -> Result<Vec<String>, WriteError> {
    let Some(mut begun) = Begun::read(target)? else {
        return Err(WriteError::exists(
            address,
            "no store in parts was begun there",
        ));
    };
    if target.exists(ROOT)? {
        let what = "the store is there already, and its parts are not removed; --commit removes what is left of them";
        return Err(WriteError::exists(address, what));
    }
    let finished = begun.finished(target)?.into_iter().collect();
    let Some(folder) = begun.folder.clone().filter(|_| !begun.discarded) else {
        begun.clear(target)?;
        return Ok(finished);
    };
    let lease = committing(target, address, &folder, options)?;
    let log = Log {
        target,
        folder: &folder,
    };
    if target.exists(ROOT)? {
        lease.end()?;
        return Err(WriteError::changed(address));
    }
    let decided = loop {
        match log.look() {
            Ok(Ok(number)) => match log.decide(number, &Outcome::Discarded) {
                Ok(Outcome::Discarded) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            },
            // A commit that was interrupted may be discarded, too: the lease keeps all others away.
            Ok(Err(_)) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let finished = decided.and_then(|()| {
        let finished = begun.finished(target)?;
        begun.mark_discarded(target, address)?;
        Ok(finished)
    });
    lease.end()?;
    let finished = finished?;
    begun.clear(target)?;
    Ok(finished.into_iter().collect())
}

/// Refuses to remove finished parts, or to write where others write parts; nothing where the marker is another's.
pub(crate) fn check_unfinished(
    target: &Target,
    address: &str,
    leftovers: Leftovers,
) -> Result<(), WriteError> {
    let Some(begun) = Begun::read(target)? else {
        return Ok(());
    };
    let finished = begun.finished(target)?;
    let what = match (finished.is_empty(), leftovers) {
        (true, Leftovers::Remove) => return Ok(()),
        (true, Leftovers::Refuse) => {
            "an unfinished store in parts was begun there; `zvf import STORE --status` lists its parts, --clear-leftovers removes what was begun"
                .to_owned()
        }
        (false, _) => {
            let (count, names) = (finished.len(), listed(finished.iter().map(String::as_str)));
            let parts = if count == 1 { "part" } else { "parts" };
            format!(
                "an unfinished store with {count} finished {parts} ({names}) is there, and finished parts are not removed; `zvf import STORE --status` \
                 lists them, --commit makes the store of them, --discard-parts removes them"
            )
        }
    };
    Err(WriteError::exists(address, what))
}

/// Removes a store in parts of which no part is finished; whether there was one.
pub(crate) fn clear_unfinished(target: &Target, address: &str) -> Result<bool, WriteError> {
    let Some(mut begun) = Begun::read(target)? else {
        return Ok(false);
    };
    if let Some(folder) = begun.folder.clone().filter(|_| !begun.discarded) {
        let log = Log {
            target,
            folder: &folder,
        };
        while let Ok(number) = log.look()? {
            if let Err(error) = check_unfinished(target, address, Leftovers::Remove) {
                log.decide(number, &Outcome::Nothing)?;
                return Err(error);
            }
            log.decide(number, &Outcome::Discarded)?;
        }
        if let State::Chosen(_) = log.state()? {
            check_unfinished(target, address, Leftovers::Remove)?;
        }
        begun.mark_discarded(target, address)?;
    } else {
        check_unfinished(target, address, Leftovers::Remove)?;
    }
    begun.clear(target)?;
    Ok(true)
}
