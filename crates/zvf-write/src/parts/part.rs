//! One part of a distributed write: the chunks that one program writes, and their note.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zvf_store::ChunkCoord;

use zvf_encode::batches::{ChunkSplit, Corners, Dictionary, VertexLayout};
use zvf_encode::error::OrBug;
use zvf_encode::level::{
    CellContainer, ChunkEncoder, LevelCells, LevelInput, LevelWriter, RowsWritten, ShardTexts,
    check_chains, part_texts as texts,
};
use zvf_encode::records::PlacedRows;
use zvf_encode::target::{ObjectTally, Target, checksum};
use zvf_encode::transaction::ROOT;
use zvf_encode::transaction::partition::{
    BegunPart, BegunStore, FinishedPart, PartitionFolder, PartitionLog, PartitionState, listed,
    owner,
};
use zvf_encode::transaction::record_log::to_bytes;
use zvf_encode::values::packed;
use zvf_encode::{
    Compression, Holder, ObjectTable, StoreSpec, Summary, WriteError, documents, level,
};
use zvf_format::int::wide;

/// Reads the marker of a distributed write. Fails if none was begun here, if it has another specification, or if the store already exists.
pub(crate) fn check_begun(
    target: &Target,
    address: &str,
    spec: &Value,
) -> Result<BegunStore, WriteError> {
    let exists = |what: &str| Err(WriteError::exists(address, what));
    let begun = BegunStore::read(target)?;
    if target.exists(ROOT)? {
        return exists(
            "the store already exists: its parts were committed, or another program created it; `zvf append` adds to it",
        );
    }
    match begun {
        Some(begun) => {
            begun.check(address, spec)?;
            Ok(begun)
        }
        None => exists("no store was begun there"),
    }
}

/// The bounds of the specification; `begin` refuses specifications without bounds.
pub(crate) fn bounds(spec: &StoreSpec) -> Result<Corners, WriteError> {
    spec.bounds
        .clone()
        .or_bug("a store in parts without bounds")
}

pub(crate) fn cells(spec: &StoreSpec) -> Result<LevelCells, WriteError> {
    let reach = spec.reach().or_bug("a store in parts without bounds")?;
    let grid = documents::grid(&reach, &spec.chunk_shape)?;
    let grid = ChunkSplit::grid(ChunkSplit::known(spec).as_ref(), grid);
    // No program sees all cells, so codecs cannot be chosen from the data.
    let compression = match &spec.compression {
        Compression::Auto => Compression::Zstd,
        stated => stated.clone(),
    };
    // The number of chunks is unknown, too, so shards are not chosen automatically.
    let shards = spec.shard_shape.cells().cloned();
    Ok(LevelCells::new(
        grid,
        shards,
        compression,
        CellContainer::Grid,
    ))
}

pub(crate) fn encoder(
    spec: &StoreSpec,
    dictionaries: Vec<Option<Dictionary>>,
) -> Result<ChunkEncoder<'_>, WriteError> {
    ChunkEncoder::new(spec, VertexLayout::new(spec), dictionaries)
}

/// The data of a part that the commit reads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Note<'n> {
    pub(crate) name: String,
    pub(crate) vertices: u64,
    pub(crate) extent: Option<Corners>,
    #[serde(with = "packed")]
    pub(crate) chunks: Cow<'n, [i64]>,
    pub(crate) placed: Vec<PlacedRows>,
    pub(crate) objects: ObjectTable,
    pub(crate) links: u64,
    pub(crate) records: u64,
    /// Keys of the cells of links.
    #[serde(with = "packed")]
    pub(crate) cells: Cow<'n, [i64]>,
    /// Whether groups of links follow fragments in every chunk of the part; `None` if the store cannot have such groups.
    pub(crate) link_groups: Option<bool>,
    /// The lengths of the cells of large shards.
    #[serde(default)]
    pub(crate) shards: ShardTexts,
}

/// The claim of a program: the objects that it will write, and the round in which it writes its part.
#[derive(Debug, Serialize, Deserialize)]
struct PartClaim {
    round: u32,
    objects: BTreeSet<Vec<u64>>,
}

/// Options of a part.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PartOptions {
    /// Whether to write a finished part again and replace it. Default false.
    pub redo: bool,
    /// Identifies the input, for example by checksums of its files and the options that select what is read. A finished part counts as the same part
    /// only if it has the same input. Default none: only names are compared.
    pub input: Option<String>,
}

impl PartOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces [`redo`](Self::redo).
    #[must_use]
    pub fn with_redo(mut self, redo: bool) -> Self {
        self.redo = redo;
        self
    }

    /// Identifies the input by the lengths and checksums of its files. If one of them is not a file, the input is not changed; without an
    /// input, only names are compared.
    ///
    /// # Cost
    /// Reads the files once.
    ///
    /// # Errors
    /// I/O.
    pub fn with_input_files<'f>(
        self,
        files: impl IntoIterator<Item = &'f Path>,
    ) -> Result<Self, WriteError> {
        let mut names = Vec::new();
        let mut buffer = vec![0_u8; 1 << 16];
        for path in files {
            let failed = |error| WriteError::io(path, error);
            if !std::fs::metadata(path).map_err(failed)?.is_file() {
                return Ok(self);
            }
            let mut file = std::fs::File::open(path).map_err(failed)?;
            let (mut length, mut sum) = (0_u64, 0_u32);
            loop {
                let read = file.read(&mut buffer).map_err(failed)?;
                let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
                    break;
                };
                length += wide(read);
                sum = crc32c::crc32c_append(sum, bytes);
            }
            names.push(format!("{length}-{sum:08x}"));
        }
        Ok(self.with_input(names.join(" ")))
    }

    /// Replaces [`input`](Self::input).
    #[must_use]
    pub fn with_input(mut self, input: impl Into<String>) -> Self {
        self.input = Some(input.into());
        self
    }
}

/// The part that a writer writes, and the identity of the writer.
#[derive(Debug, Clone)]
pub(crate) struct PartIdentity {
    pub(crate) name: String,
    /// The version and the specification.
    spec: Value,
    begun: BegunStore,
    folder: PartitionFolder,
    owner: String,
    by: Holder,
    round: u32,
    input: Option<String>,
}

/// The result of starting a part.
#[derive(Debug)]
pub(crate) enum Start {
    New(Box<PartIdentity>),
    Finished(FinishedPart),
}

impl PartIdentity {
    /// Records that a program begins a part, unless the part is finished.
    pub(crate) fn begin(
        target: &Target,
        address: &str,
        (spec, name): (&Value, &str),
        options: PartOptions,
    ) -> Result<Start, WriteError> {
        let begun = check_begun(target, address, spec)?;
        let folder = begun.folder()?.clone();
        if let Some(names) = &begun.names
            && !names.iter().any(|known| known == name)
        {
            let known = listed(names.iter().map(String::as_str));
            let expected = format!("one of those that --begin declared: {known}");
            return Err(WriteError::input("part", format!("{name:?}"), expected));
        }
        let last = folder.rounds(target)?.get(name).copied();
        let mut part = Self {
            name: name.to_owned(),
            spec: spec.clone(),
            begun,
            folder,
            owner: owner(),
            by: Holder::current(),
            round: 0,
            input: options.input,
        };
        if let Some(last) = last
            && let Some(found) = part.folder.note(target, address, (name, last))?
        {
            if !options.redo {
                part.check_same_input(address, &found)?;
                part.settle(target, address, &found.owner)?;
                return Ok(Start::Finished(found));
            }
            part.round = last.checked_add(1).or_bug("more than 2^32 rounds")?;
        }
        part.check_open(target, address)?;
        let note = BegunPart {
            by: part.by.clone(),
            round: part.round,
        };
        let note = serde_json::to_vec(&note).or_bug("the note that a part is begun")?;
        target.put_new(&part.folder.begun_by(name, &part.owner), note)?;
        Ok(Start::New(Box::new(part)))
    }

    /// Fails if a commit has chosen its parts, or all parts were discarded.
    fn check_open(&self, target: &Target, address: &str) -> Result<(), WriteError> {
        match self.log(target).state()? {
            PartitionState::Open | PartitionState::Looking(_) => Ok(()),
            PartitionState::Chosen(_) => {
                let what = format!(
                    "the store is being committed, so part {} can no longer be written; `--commit` finishes it",
                    self.name
                );
                Err(WriteError::exists(address, what))
            }
            PartitionState::Discarded => Err(self.discarded(address)),
        }
    }

    fn log<'l>(&'l self, target: &'l Target) -> PartitionLog<'l> {
        let folder = &self.folder;
        PartitionLog { target, folder }
    }

    fn discarded(&self, address: &str) -> WriteError {
        let what = format!("part {}: all parts were discarded", self.name);
        WriteError::exists(address, what)
    }

    /// Checks that a finished part had the same input as this one, if both inputs are known.
    fn check_same_input(&self, address: &str, found: &FinishedPart) -> Result<(), WriteError> {
        match (&self.input, &found.input) {
            (Some(own), Some(other)) if own != other => Err(self.finished_otherwise(
                address,
                found,
                "from another input, or with other options",
            )),
            _ => Ok(()),
        }
    }

    fn finished_otherwise(&self, address: &str, found: &FinishedPart, how: &str) -> WriteError {
        let what = format!(
            "part {} was finished before {how}, by {}; nothing was written; --redo replaces it",
            self.name, found.by
        );
        WriteError::exists(address, what)
    }

    /// Waits until no commit is choosing parts. Fails if parts were chosen and this part is not one of them.
    fn settle(&self, target: &Target, address: &str, owner: &str) -> Result<(), WriteError> {
        match self.log(target).settled()? {
            PartitionState::Chosen(choice) if choice.has(&self.name, owner) => Ok(()),
            PartitionState::Chosen(_) => {
                let what = format!(
                    "the store was committed without part {}, before the part was finished",
                    self.name
                );
                Err(WriteError::exists(address, what))
            }
            PartitionState::Discarded => Err(self.discarded(address)),
            // A commit removes its decision after it wrote the root and before it removes the marker. So if the marker exists, no commit has finished.
            PartitionState::Open | PartitionState::Looking(_) if self.begun.is_there(target)? => {
                Ok(())
            }
            PartitionState::Open | PartitionState::Looking(_) => {
                let what = format!(
                    "the store was committed or discarded while part {} was being finished: it is not known whether the store contains it",
                    self.name
                );
                Err(WriteError::exists(address, what))
            }
        }
    }

    /// Removes the notes and cells of this program, which does not finish the part.
    pub(crate) fn abandon(&self, target: &Target) {
        Self::forget(target, &self.folder, (&self.name, &self.owner));
        if matches!(self.begun.is_there(target), Ok(false)) {
            // This program may have created its folders again after another program removed the folders of all parts.
            let groups = ["work/x", "claims/x", "begun/x"].map(|group| self.folder.below(group));
            target.prune(groups.iter().map(String::as_str));
        }
    }

    /// Removes the notes and cells of a program that cannot finish the part any more. The commit removes what this call fails to remove.
    fn forget(target: &Target, folder: &PartitionFolder, (name, owner): (&str, &str)) {
        let _ = target.remove(&folder.claim_of(name, owner));
        let _ = target.remove_below(&folder.work(name, owner));
        let _ = target.remove(&folder.begun_by(name, owner));
    }

    /// Writes the cells of a part and their note.
    pub(crate) fn write(
        self,
        input: LevelInput,
        target: &Target,
        address: &str,
    ) -> Result<Summary, WriteError> {
        let (note, summary) = match self.prepare(input, target, address) {
            Ok(done) => done,
            Err(error) => {
                self.abandon(target);
                // The error may be due to another program that finished the part and removed the cells of this one.
                let round = (&*self.name, self.round);
                return match self.folder.note(target, address, round) {
                    Ok(Some(found)) => self.beaten(target, address, &found, None),
                    _ => Err(error),
                };
            }
        };
        let bytes = serde_json::to_vec(&note).or_bug("the note of a part")?;
        // If this fails, the note may exist nevertheless, so its cells must not be removed.
        let ours = target.put_new(&self.folder.decision(&self.name, self.round), bytes)?;
        if !ours {
            self.abandon(target);
            let found = self
                .folder
                .note(target, address, (&self.name, self.round))?;
            let Some(found) = found else {
                return Err(self.discarded(address));
            };
            return self.beaten(target, address, &found, Some(&note));
        }
        self.settle(target, address, &self.owner)?;
        self.forget_others(target);
        Ok(summary)
    }

    /// The result if another program finished the part first: an error, unless both wrote the same data. `own` is the note of this program; without it,
    /// the inputs are compared.
    fn beaten(
        &self,
        target: &Target,
        address: &str,
        found: &FinishedPart,
        own: Option<&FinishedPart>,
    ) -> Result<Summary, WriteError> {
        let same = match own {
            Some(own) => (own.put, own.sum) == (found.put, found.sum),
            None => self.input.is_some() && self.input == found.input,
        };
        if !same {
            let how = "with other data";
            return Err(self.finished_otherwise(address, found, how));
        }
        self.settle(target, address, &found.owner)?;
        let mut summary = Summary::default();
        summary.vertices = found.vertices;
        summary.chunks = found.chunks;
        summary.objects = found.objects;
        summary.links = found.links;
        Ok(summary)
    }

    /// Removes the notes and cells of other programs that began this part and can no longer finish it.
    fn forget_others(&self, target: &Target) {
        let Ok(all) = PartitionFolder::owners(target, &self.folder.begun()) else {
            return;
        };
        for (name, owner) in all {
            if name != self.name || owner == self.owner {
                continue;
            }
            // A program in a later round can still finish.
            let begun = self.folder.begun_part(target, (&name, &owner));
            if let Ok(Some(begun)) = begun
                && begun.round <= self.round
            {
                Self::forget(target, &self.folder, (&name, &owner));
            }
        }
    }

    fn prepare(
        &self,
        input: LevelInput,
        target: &Target,
        address: &str,
    ) -> Result<(FinishedPart, Summary), WriteError> {
        let now = check_begun(target, address, &self.spec)?;
        if now.folder.as_ref() != Some(&self.folder) {
            return Err(self.discarded(address));
        }
        self.check_open(target, address)?;
        let (note, texts, tally, summary) = self.fill(input, target, address)?;
        let work = self.folder.work(&self.name, &self.owner);
        let mut sum = tally.sum();
        for (name, bytes) in [("note", note), ("texts", texts)] {
            sum = sum.wrapping_add(checksum(name, &bytes));
            target.put(vec![(format!("{work}/{name}"), bytes)])?;
        }
        target.barrier()?;
        let note = FinishedPart {
            owner: self.owner.clone(),
            by: self.by.clone(),
            vertices: summary.vertices,
            chunks: summary.chunks,
            objects: summary.objects,
            links: summary.links,
            input: self.input.clone(),
            put: tally.count(),
            sum,
        };
        Ok((note, summary))
    }

    fn fill(
        &self,
        input: LevelInput,
        target: &Target,
        address: &str,
    ) -> Result<(Vec<u8>, Vec<u8>, ObjectTally, Summary), WriteError> {
        let LevelInput {
            spec,
            // Not used: every program writes whole shards.
            link_shards: _,
            router,
            tables,
            groups: _,
            folder,
            budget,
            threads,
            watch,
        } = input;
        tables.check(&spec)?;
        let tally = ObjectTally::default();
        let work = format!("{}/0", self.folder.work(&self.name, &self.owner));
        let (spec, below) = (&*spec, target.below(work).unseen().tallied(&tally));
        let cells = cells(spec)?;
        let dictionaries = level::dictionaries(spec, router.categories)?;
        let texts = texts::of_part(&dictionaries)?;
        let widened = dictionaries
            .into_iter()
            .map(|one| one.map(Dictionary::widened));
        let encoder = encoder(spec, widened.collect())?;
        let (coords, buckets, file, _) = level::by_chunk(spec, router.rows, router.keys)?;
        let chunks: Vec<&[i64]> = coords.iter().map(ChunkCoord::as_slice).collect();
        self.claim(target, address, &cells, &chunks)?;
        let level = LevelWriter {
            spec,
            target: &below,
            cells: &cells,
            chunks: &chunks,
            folder: &folder,
            budget,
            threads,
            watch: &watch,
            codes: true,
        };
        let RowsWritten {
            sorter,
            mut places,
            fragments,
        } = level.write_rows(&encoder, buckets, &file, router.vertices)?;
        let queue = (router.links, router.link_count);
        let (placer, fragments) = (level.placer(), fragments.as_ref());
        let stored = level.write_queued(queue, places.as_mut(), placer, fragments)?;
        let mut summary = Summary::default();
        summary.vertices = router.vertices;
        summary.chunks = wide(chunks.len());
        summary.links = stored.links;
        let mut placed = Vec::new();
        let mut sorted = sorter.finish()?;
        let mut some = Vec::new();
        while let Some(object) = sorted.peek() {
            sorted.take(object, &mut some)?;
            placed.append(&mut some);
            summary.objects += 1;
        }
        // The commit makes the same check; here it fails before the part is finished.
        check_chains(spec.kind, &placed)?;
        let keys: Vec<&[i64]> = stored.cells.iter().map(|cell| &*cell.key).collect();
        let note = Note {
            name: self.name.clone(),
            vertices: router.vertices,
            extent: router.extent,
            chunks: chunks.concat().into(),
            placed,
            objects: tables.table(spec),
            links: stored.links,
            records: stored.records,
            cells: keys.concat().into(),
            link_groups: stored.groups.as_ref().map(|groups| groups.everywhere),
            shards: cells.listed(),
        };
        let note = to_bytes(&note)?;
        Ok((note, texts, tally, summary))
    }

    /// Writes the claim of this program, then reads the claims of other parts. If two programs claim the same object, at least one of them sees the
    /// other claim, because both write before they read.
    fn claim(
        &self,
        target: &Target,
        address: &str,
        cells: &LevelCells,
        chunks: &[&[i64]],
    ) -> Result<(), WriteError> {
        let mut objects = BTreeSet::new();
        for chunk in chunks {
            objects.insert(cells.object_index(chunk)?);
        }
        let key = self.folder.claim_of(&self.name, &self.owner);
        let claim = PartClaim {
            round: self.round,
            objects,
        };
        target.put_new(&key, serde_json::to_vec(&claim).or_bug("a claim")?)?;
        let mut rounds: Option<BTreeMap<String, u32>> = None;
        for (other, by) in PartitionFolder::owners(target, &self.folder.claims())? {
            if other == self.name {
                continue;
            }
            let Some(bytes) = target.read(&self.folder.claim_of(&other, &by))? else {
                // The claim was removed after it was listed.
                continue;
            };
            let Some(theirs) = claimed(&bytes) else {
                let what = format!("the claim of part {other} cannot be read");
                return Err(WriteError::exists(address, what));
            };
            let Some(object) = claim.objects.intersection(&theirs.objects).next() else {
                continue;
            };
            let rounds = match &mut rounds {
                Some(rounds) => rounds,
                None => rounds.insert(self.folder.rounds(target)?),
            };
            let what = format!(
                "parts {} and {other} both have vertices in cell {object:?} of the grid",
                self.name
            );
            match rounds.get(&other).copied() {
                // Another program finished that part, so the program with this claim can no longer finish it.
                Some(last) if last > theirs.round => {}
                Some(last) if last == theirs.round => {
                    let found = self.folder.note(target, address, (&other, last))?;
                    if found.is_some_and(|found| found.owner == by) {
                        return Err(WriteError::exists(address, what));
                    }
                }
                _ => {
                    let begun = self.folder.begun_part(target, (&other, &by))?;
                    let begun = begun.map(|begun| begun.by);
                    if begun.as_ref().is_some_and(Holder::has_ended) {
                        // The program with this claim has ended, so it cannot finish the part.
                        continue;
                    }
                    let begun = begun.map_or_else(String::new, |by| format!(" by {by}"));
                    let what = format!(
                        "{what}; part {other} was begun{begun}, and is not finished: only one of the two parts can have these vertices"
                    );
                    return Err(WriteError::busy(address, what));
                }
            }
        }
        Ok(())
    }
}

fn claimed(bytes: &[u8]) -> Option<PartClaim> {
    serde_json::from_slice(bytes).ok()
}
