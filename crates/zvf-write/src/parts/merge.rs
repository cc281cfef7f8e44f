//! The commit of a distributed write: decides once which parts the store contains, and writes the store from these parts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zvf_meta::RootDoc;
use zvf_store::ChunkCoord;
use zvf_store::owners::OWNER_COLUMN;

use super::PartedStore;
use super::part::{Note, bounds, cells, check_begun, encoder};
use crate::finish::{finest_doc, write_above};
use zvf_encode::batches::{ChunkSplit, Dictionary, grow};
use zvf_encode::error::{OrBug, narrow};
use zvf_encode::level::{
    LevelCells, LevelDocuments, LevelWriter, PushedObjectTables, check_chains, check_objects,
    part_texts as texts,
};
use zvf_encode::links::{FamilySpec, Grouped, WrittenFamily, WrittenLinkCell};
use zvf_encode::records::{PlacedRows, Sorter};
use zvf_encode::target::{Target, is_temporary};
use zvf_encode::transaction::partition::{
    BegunStore, ChosenPart, ChosenParts, FinishedPart, NOTES, Outcome, PartitionFolder,
    PartitionLog, PartitionState, listed,
};
use zvf_encode::transaction::record_log::from_bytes;
use zvf_encode::transaction::{Lease, MARKER, ROOT, is_free, mark};
use zvf_encode::{
    AttributeType, Groups, Holder, Step, StoreSpec, Summary, WriteError, WriteOptions, parallel,
};
use zvf_format::int::{index, wide};

/// The member of a root that names the parts that were absent when the store was committed.
pub const ABSENT_PARTS: &str = "zvf_absent_parts";

/// The advice in errors about parts that contradict each other.
const REDO: &str = "--redo writes one of them again";

/// Pairs of the key of a cell in the folder of its part, and its final key.
type Moves = Vec<(String, String)>;

/// Number of objects that are moved together.
const MOVED: usize = 256;

/// A committed store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Committed {
    /// Counts of the store; `None` if an interrupted earlier commit had finished all but the cleanup.
    pub summary: Option<Summary>,
    /// Names of the parts that the store contains.
    pub parts: Vec<String>,
    /// Names of parts that were declared or begun, but are not in the store.
    pub absent: Vec<String>,
    /// Names of finished parts that were begun again but not finished again. The store contains their earlier data.
    #[serde(default)]
    pub begun_again: Vec<String>,
}

/// The root document and its counts, recorded before the root is written.
#[derive(Debug, Serialize, Deserialize)]
struct RootNote {
    root: String,
    committed: Committed,
}

/// Notes, keys and dictionaries of the chosen parts.
struct LoadedParts {
    notes: Vec<Note<'static>>,
    finished: Vec<FinishedPart>,
    /// The keys of the cells of each part that are not moved yet.
    keys: Vec<Vec<String>>,
    /// The joined dictionaries of all parts.
    dictionaries: Vec<Option<Dictionary>>,
}

impl PartedStore {
    /// Makes the store from the parts, or finishes what an earlier commit began.
    pub(super) fn commit_parts(
        &self,
        groups: &Groups,
        allow_missing: bool,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        if let Some(begun) = BegunStore::read(target)?
            && target.exists(ROOT)?
        {
            begun.check(&self.address, &self.details)?;
            return self.tidied_again(&begun);
        }
        let begun = check_begun(target, &self.address, &self.details)?;
        let lease = committing(&self.target, &self.address, begun.folder()?, &self.options)?;
        if target.exists(ROOT)? {
            // The previous holder of the lease wrote the root after the check above, and is now removing the notes.
            lease.end()?;
            return Err(WriteError::changed(&self.address));
        }
        target.fence(&self.address, lease.watch());
        let done = self.commit_under(begun.folder()?, groups, allow_missing);
        // The lease must not be renewed after the folder is removed.
        let ended = lease.end();
        let committed = done?;
        ended.and_then(|()| tidy(target, &begun)).map_err(tidying)?;
        Ok(committed)
    }

    /// Removes the files of an earlier commit that wrote the root but did not finish.
    fn tidied_again(&self, begun: &BegunStore) -> Result<Committed, WriteError> {
        let (target, folder) = (&*self.target, begun.folder()?);
        let note = target.read(&folder.below("root"))?;
        let note = note.and_then(|bytes| serde_json::from_slice::<RootNote>(&bytes).ok());
        let committed = match note {
            Some(note) if target.read(ROOT)?.as_deref() == Some(note.root.as_bytes()) => {
                note.committed
            }
            // The note of the root is removed after all others.
            None if folder.rounds(target)?.is_empty() => Committed {
                summary: None,
                parts: Vec::new(),
                absent: Vec::new(),
                begun_again: Vec::new(),
            },
            _ => {
                let what = "another program created a store there while the parts were written";
                return Err(WriteError::exists(&self.address, what));
            }
        };
        let tidied = target.remove_temporary();
        tidied.and_then(|()| tidy(target, begun)).map_err(tidying)?;
        Ok(committed)
    }

    /// Decides which parts the store contains, unless an earlier commit decided it, and makes the store.
    fn commit_under(
        &self,
        folder: &PartitionFolder,
        groups: &Groups,
        allow_missing: bool,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        let log = PartitionLog { target, folder };
        loop {
            let (choice, loaded) = match log.look()? {
                Ok(number) => {
                    let (choice, loaded) = match self.choose(folder, groups, allow_missing) {
                        Ok(chosen) => chosen,
                        // No parts are chosen, so parts can still be added and written again.
                        Err(error) => {
                            log.decide(number, &Outcome::Nothing)?;
                            return Err(error);
                        }
                    };
                    match log.decide(number, &Outcome::Chosen(choice.clone()))? {
                        Outcome::Chosen(found) if found == choice => (choice, loaded),
                        // A part was finished meanwhile, or another program made the decision.
                        _ => {
                            check_begun(target, &self.address, &self.details)?;
                            continue;
                        }
                    }
                }
                Err(PartitionState::Chosen(choice)) => {
                    // A killed commit may have left temporary files.
                    target.remove_temporary()?;
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
                begun_again: choice.begun_again.clone(),
            };
            return self.make(folder, (&choice, loaded), committed, groups);
        }
    }

    /// Returns the finished parts, if they and the groups form a valid store. All checks of their data happen here and not in [`make`](Self::make),
    /// because no part can be changed after the decision.
    fn choose(
        &self,
        folder: &PartitionFolder,
        groups: &Groups,
        allow_missing: bool,
    ) -> Result<(ChosenParts, LoadedParts), WriteError> {
        let target = &*self.target;
        let rounds = folder.rounds(target)?;
        let begun = PartitionFolder::owners(target, &folder.begun())?;
        let declared = BegunStore::read(target)?.and_then(|begun| begun.names);
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
        let mut choice = ChosenParts {
            absent,
            ..ChosenParts::default()
        };
        for (name, round) in rounds {
            let found = folder.note(target, &self.address, (&name, round))?;
            let found = found.ok_or_else(|| self.unreadable(&name))?;
            choice.parts.push(ChosenPart {
                name,
                owner: found.owner,
                round,
            });
        }
        choice.begun_again = begun_again(target, folder, &choice.parts, &begun)?;
        let (absent, again) = (&choice.absent, &choice.begun_again);
        let complete = absent.is_empty() && again.is_empty();
        if !complete && !allow_missing {
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
            let mut expected = "all of them finished".to_owned();
            let allow = "; --allow-missing commits without the others";
            match again.first() {
                None => expected.push_str(allow),
                Some(first) => {
                    let again = listed(again.iter().map(String::as_str));
                    missing.push(format!("begun again and not finished: {again}"));
                    expected.push_str(&format!(
                        " (`--part {first} --redo` writes part {first} again){allow}, and with the earlier data of parts that were begun again"
                    ));
                }
            }
            let finished = choice.parts.len() - again.len();
            let found = format!("{finished} finished; {}", missing.join("; "));
            return Err(WriteError::input("parts", found, expected));
        }
        if choice.parts.is_empty() {
            return Err(WriteError::input("parts", "none", "at least one"));
        }
        let loaded = self.load(folder, &choice)?;
        for ((part, finished), keys) in choice.parts.iter().zip(&loaded.finished).zip(&loaded.keys)
        {
            if wide(keys.len()) != finished.put {
                let what = format!(
                    "found {} objects of part {}, expected {}; --redo writes it again",
                    keys.len(),
                    part.name,
                    finished.put
                );
                return Err(WriteError::source(NOTES, what));
            }
        }
        self.check(&loaded.notes, groups)?;
        Ok((choice, loaded))
    }

    #[cold]
    fn unreadable(&self, name: &str) -> WriteError {
        let what = format!("the note of part {name} cannot be read");
        WriteError::exists(&self.address, what)
    }

    /// Reads the notes and dictionaries of the parts, and lists their cells.
    fn load(
        &self,
        folder: &PartitionFolder,
        choice: &ChosenParts,
    ) -> Result<LoadedParts, WriteError> {
        let target = &*self.target;
        let (mut notes, mut finished) = (Vec::new(), Vec::new());
        let (mut keys, mut text_keys) = (Vec::new(), Vec::new());
        for ChosenPart { name, owner, round } in &choice.parts {
            let found = folder.note(target, &self.address, (name, *round))?;
            let work = folder.work(name, owner);
            let bytes = target.read(&format!("{work}/note"))?;
            let note = bytes
                .and_then(|bytes| from_bytes::<Note<'_>>(&bytes))
                .filter(|note| note.name == *name);
            let both = found.filter(|found| found.owner == *owner).zip(note);
            let (found, note) = both.ok_or_else(|| self.unreadable(name))?;
            finished.push(found);
            notes.push(note);
            keys.push(target.keys_below(&format!("{work}/0"))?);
            text_keys.push(format!("{work}/texts"));
        }
        Ok(LoadedParts {
            notes,
            finished,
            keys,
            dictionaries: texts::joined(&self.spec, target, &text_keys)?,
        })
    }

    /// Checks that parts and groups form one store. No two parts write the same chunk or shard, share an object with ordered vertices, or have attributes
    /// of the same object; chains, tables and groups can be stored.
    fn check(&self, notes: &[Note<'_>], groups: &Groups) -> Result<(), WriteError> {
        let (rank, cells) = (self.spec.key_rank(), cells(&self.spec)?);
        let mut owners: HashMap<Vec<u64>, &str> = HashMap::new();
        for note in notes {
            for chunk in note.chunks.chunks_exact(rank) {
                let object = cells.object_index(chunk)?;
                let owner = *owners.entry(object).or_insert(&note.name);
                if owner != note.name {
                    let what = format!(
                        "parts {owner} and {} both have vertices in chunk {chunk:?}; {REDO}, with other data",
                        note.name
                    );
                    return Err(WriteError::exists(&self.address, what));
                }
            }
        }
        self.check_orders(notes)?;
        for note in notes {
            check_chains(self.spec.kind, &note.placed)?;
        }
        let mut rows: HashMap<i64, &str> = HashMap::new();
        for note in notes {
            for id in &note.objects.ids {
                if let Some(other) = rows.insert(*id, &note.name) {
                    let found = format!("rows in parts {other} and {}", note.name);
                    let expected = format!("one; {REDO}, with other object ids");
                    return Err(WriteError::input(format!("object {id}"), found, expected));
                }
            }
        }
        let tables = self.tables(notes)?;
        if !self.spec.has_objects() {
            return Ok(());
        }
        let mut ids = tables.ids().to_vec();
        for note in notes {
            // All fragments of an object are consecutive.
            let objects = note.placed.chunk_by(|a, b| a.object == b.object);
            ids.extend(
                objects
                    .flat_map(|placed| placed.first())
                    .map(|one| one.object),
            );
        }
        ids.sort_unstable();
        ids.dedup();
        check_objects(&self.spec, &tables, groups, &ids)
    }

    fn tables(&self, notes: &[Note<'_>]) -> Result<PushedObjectTables, WriteError> {
        let mut tables = PushedObjectTables::new(&self.spec);
        for note in notes.iter().filter(|note| !note.objects.ids.is_empty()) {
            tables.push(&self.spec, &note.objects)?;
        }
        Ok(tables)
    }

    /// Makes the store from the chosen parts. Continues an interrupted commit.
    fn make(
        &self,
        folder: &PartitionFolder,
        (choice, loaded): (&ChosenParts, LoadedParts),
        mut committed: Committed,
        groups: &Groups,
    ) -> Result<Committed, WriteError> {
        let target = &*self.target;
        let cells = cells(&self.spec)?;
        let LoadedParts {
            notes,
            finished,
            keys,
            dictionaries,
        } = loaded;
        notes.iter().for_each(|note| cells.list(&note.shards));
        self.place_cells(folder, choice, (&finished, keys), &dictionaries, &cells)?;
        // An interrupted commit may have written other groups.
        target.remove_below("0/groups")?;
        target.remove_below("0/group_attributes")?;
        let (root, summary) = self.join_parts(&notes, dictionaries, groups, &cells)?;
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
            let what = "another program created a store there while this one was written";
            return Err(WriteError::exists(&self.address, what));
        }
        Ok(note.committed)
    }

    /// Moves the cells of all parts to their final keys, and writes the cells of categorical attributes, whose codes depend on all parts.
    fn place_cells(
        &self,
        folder: &PartitionFolder,
        choice: &ChosenParts,
        (finished, keys): (&[FinishedPart], Vec<Vec<String>>),
        dictionaries: &[Option<Dictionary>],
        cells: &LevelCells,
    ) -> Result<(), WriteError> {
        let (target, spec, threads) = (&*self.target, &self.spec, self.options.threads);
        let folders = choice
            .parts
            .iter()
            .map(|part| folder.work(&part.name, &part.owner));
        let folders: Vec<String> = folders.collect();
        let mut found = 0;
        let mut parts = Vec::new();
        for (work, keys) in folders.iter().zip(keys) {
            let below = format!("{work}/0/");
            let (mut moves, mut codes) = (Vec::new(), Vec::new());
            for key in keys {
                let Some(path) = key.strip_prefix(&below) else {
                    continue;
                };
                if path.starts_with(&format!("{}/", texts::CODES)) {
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
            let what = format!("found {found} objects in all parts, expected {expected}");
            return Err(WriteError::source(NOTES, what));
        }
        let below = target.below("0").unseen();
        for ((moves, codes), from) in parts.into_iter().zip(&folders) {
            let moves: Vec<Vec<(String, String)>> =
                moves.chunks(MOVED).map(<[_]>::to_vec).collect();
            let work = |some| target.move_unseen(some);
            parallel::each(threads, moves.into_iter(), work, |()| Ok(()))?;
            let place = (target, cells, threads);
            texts::write(spec, &below, place, dictionaries, (from, codes))?;
        }
        Ok(())
    }

    /// Number of cells that an earlier commit moved.
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
        let (links, owners) = (self.spec.takes_links(), self.spec.stores_owners());
        let is_moved = |key: &&String| {
            let mut path = key.split('/').skip(1);
            let of_a_part = match path.next() {
                Some("vertices" | "vertex_fragments") => true,
                // The commit itself writes the owner column, so it is not moved from a part.
                Some("fragment_attributes") => !owners || path.next() != Some(OWNER_COLUMN),
                Some("vertex_attributes") => path.next().is_some_and(|name| !texts.contains(name)),
                Some(family) => links && (family.contains("link")),
                None => false,
            };
            // A killed commit may have left an incomplete document.
            let document = is_temporary(key) || key.ends_with("/zarr.json");
            of_a_part && !document && !still.contains(key.as_str())
        };
        let there = self.target.keys_below("0")?;
        Ok(wide(there.iter().filter(is_moved).count()))
    }

    /// Writes everything that parts share except the root, and returns the document of the root.
    fn join_parts(
        &self,
        notes: &[Note<'_>],
        dictionaries: Vec<Option<Dictionary>>,
        groups: &Groups,
        cells: &LevelCells,
    ) -> Result<(String, Summary), WriteError> {
        let (spec, rank, options) = (&self.spec, self.spec.key_rank(), &self.options);
        let folder = options.folder();
        let below = self.target.below("0");
        let mut chunks: Vec<&[i64]> = notes
            .iter()
            .flat_map(|note| note.chunks.chunks_exact(rank))
            .collect();
        chunks.sort_unstable();
        narrow("chunks", chunks.len())?;
        let slots: HashMap<&[i64], u32> = chunks.iter().copied().zip(0_u32..).collect();
        let level = LevelWriter {
            spec,
            target: &below,
            cells,
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
        let mut documents = LevelDocuments::new(level.vertex_docs(&encoder)?);
        let tables = self.tables(notes)?;
        for note in notes {
            self.place(note, &slots, &mut sorter)?;
            if let Some((low, high)) = &note.extent {
                // Values may be rounded to values outside the given bounds.
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
        documents.links(&stored, cells)?;
        let doc = ChunkSplit::describe(ChunkSplit::known(spec), spec, finest_doc());
        let (doc, summary) = documents.put(&below, doc)?;
        let (target, address) = (&self.target, &self.address);
        let history = options.history.clone();
        let root = write_above((spec, history), target, &below, address, (bounds, &doc))?;
        Ok((root, summary))
    }

    /// Adds the fragments of a part to `sorter`, with chunk numbers that count the chunks of all parts.
    fn place(
        &self,
        note: &Note<'_>,
        slots: &HashMap<&[i64], u32>,
        sorter: &mut Sorter<PlacedRows>,
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
                    "a fragment in a chunk that the part does not have",
                    "fragments in chunks of the part",
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

    /// Checks that each object with ordered vertices is in only one part.
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
                        format!(
                            "all of them in one part; {REDO}, with other data or other object ids"
                        ),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Names of finished parts that another program began again but did not finish.
fn begun_again(
    target: &Target,
    folder: &PartitionFolder,
    parts: &[ChosenPart],
    begun: &[(String, String)],
) -> Result<Vec<String>, WriteError> {
    let mut again = BTreeSet::new();
    let parts: HashMap<&str, &ChosenPart> = parts.iter().map(|part| (&*part.name, part)).collect();
    for (name, owner) in begun {
        let Some(part) = parts.get(&**name).filter(|part| part.owner != *owner) else {
            continue;
        };
        let note = folder.begun_part(target, (name, owner))?;
        if note.is_some_and(|note| note.round > part.round) {
            again.insert(name.clone());
        }
    }
    Ok(again.into_iter().collect())
}

/// The chunks with link groups: all chunks of all parts; `None` if the store cannot have such groups.
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

/// The link family of all parts. Its cells are already written.
fn joined_family(spec: &StoreSpec, notes: &[Note<'_>]) -> WrittenFamily {
    let keys = notes.iter().flat_map(|note| {
        let size = spec.links.width * spec.key_rank();
        note.cells.chunks_exact(size.max(1))
    });
    let cells = keys.map(|key| WrittenLinkCell {
        key: ChunkCoord::new(key),
        records: 0,
        valued: vec![true; spec.links.attributes.len()],
        grouped: true,
    });
    WrittenFamily {
        family: FamilySpec::of(spec),
        cells: cells.collect(),
        links: notes.iter().map(|note| note.links).sum(),
        records: notes.iter().map(|note| note.records).sum(),
        groups: groups(spec, notes),
    }
}

/// Takes the lease that a commit and the removal of parts require. The lease of a program that has ended is taken over.
pub(super) fn committing(
    target: &Arc<Target>,
    address: &str,
    folder: &PartitionFolder,
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
    let what = format!("another commit of its parts is running{by}");
    Err(WriteError::busy(address, what))
}

/// Removes the notes of a finished store; the marker is removed last.
fn tidy(target: &Target, begun: &BegunStore) -> Result<(), WriteError> {
    let folder = begun.folder()?;
    for group in ["work", "claims", "begun", "commits", "parts"] {
        target.remove_below(&folder.below(group))?;
    }
    // The note of the root is removed after all other notes: from it, the next commit reports the result of this one.
    target.remove(&folder.below("root"))?;
    target.remove_below(NOTES)?;
    target.remove_own(MARKER, begun.bytes()).map(|_| ())
}

#[cold]
fn tidying(source: WriteError) -> WriteError {
    WriteError::Tidying {
        key: MARKER.to_owned(),
        source: Box::new(source),
    }
}
