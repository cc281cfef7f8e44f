//! Distributed writes: several programs write one store. Each writes some chunks, and one of them commits.
//!
//! ```text
//! zvf-unfinished.json   created if absent; states the specification and the required parts
//! zvf-unfinished/ID/    notes and cells of parts: `folder.rs`
//! ───────────────────── all parts are finished
//! commits/N, N.done     the decision which parts the store contains: `log.rs`
//! 0/…                   the cells of these parts, moved; cells of texts; manifests, tables, documents, the level
//! zarr.json             the store exists
//! zvf-unfinished…       removed, the marker last
//! ```
//!
//! Each program writes into its own folder, and then creates the note of the part, unless it exists: the first note decides which folder becomes the
//! part, so the cells of two programs that write the same part never mix. A program writes its claim before it reads the claims of others: if two
//! programs would write the same object, at least one fails before it writes a cell. The next commit finishes an interrupted one according to the
//! recorded decision.

mod merge;
pub(crate) mod part;
pub(crate) mod status;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::writer::StoreWriter;
use zvf_encode::level::checked_groups;
use zvf_encode::parallel::blocking;
use zvf_encode::spec::LinksBy;
use zvf_encode::target::Target;
use zvf_encode::transaction::{ROOT, new_store};
use zvf_encode::{Groups, Outside, StaleFiles, StoreSpec, WriteError, WriteOptions};

pub use merge::{ABSENT_PARTS, Committed};
use part::{PartIdentity, PartOptions, Start, check_begun};
use status::PartsStatus;
use zvf_encode::transaction::partition::{BegunStore, FinishedPart, Outcome, PartitionLog, listed};

/// A distributed write: one store that several programs write.
///
/// One program [begins](Self::begin) the store, and all others [join](Self::join) it. Each creates [writers](Self::writer) of parts with unique names.
/// When all parts are finished, one program [commits](Self::commit).
///
/// # What belongs to one part
/// A chunk (with shards, a shard) belongs to one part. Links connect vertices of one part. An object may have vertices in several parts, unless its
/// vertices are ordered: lines, polylines, streamlines and skeletons. Only one part may have the attributes of an object.
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
///     // Here, or in other programs that join: one writer per part.
///     for (name, x) in [("left", 5.0_f32), ("right", 95.0)] {
///         let mut part = store.writer(name).await?;
///         part.push(&Batch::new(vec![x, 1.0, 1.0]))?;
///         part.finish().await?;
///     }
///     let committed = store.commit(&Groups::default()).await?;
///     assert_eq!(committed.parts, ["left", "right"]);
///     let vertices = committed.summary.map(|summary| summary.vertices);
///     assert_eq!(vertices, Some(2));
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
    /// This program's version and the specification, as stored in the marker.
    details: Value,
    begun_before: bool,
}

/// The specification as stored in the marker, for programs that join.
fn details(spec: &StoreSpec) -> Result<Value, WriteError> {
    let parts = serde_json::to_value((env!("CARGO_PKG_VERSION"), spec));
    parts.map_err(|error| WriteError::bug(error.to_string()))
}

/// The result of beginning a part.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "only one value per part")]
pub enum PartStart {
    /// The part has to be written.
    Writer(StoreWriter),
    /// The part is finished: nothing has to be written.
    Finished(FinishedPart),
}

impl PartedStore {
    /// Begins a distributed write: writes the marker at its address.
    ///
    /// The specification must have bounds; they become the bounds of the store.
    ///
    /// If the same store was already begun, this call joins it: see [`was_begun_before`](Self::was_begun_before).
    ///
    /// # Errors
    /// Misuse: an invalid specification, or one without fixed bounds, with a target before 0.9.2, or with chunks by an attribute whose values are not
    /// stated; other content at the address. I/O.
    pub fn begin<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Self::begin_parts(address, spec, None, options)
    }

    /// Like [`begin`](Self::begin), with declared parts: no other name is accepted, and a commit fails while one of them is missing.
    ///
    /// # Errors
    /// As [`begin`](Self::begin). Misuse: no names, a name twice, or a name that is not a path segment.
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
            let (spec, stale_files) = (store.details.clone(), store.options.stale_files);
            let open = store.options.open.clone();
            let begin = move || {
                new_store::check_address(&place, &open)?;
                if stale_files == StaleFiles::Refuse
                    && let Some(begun) = BegunStore::read(&target)?
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
                let details = BegunStore::details(&spec, names.as_deref());
                new_store::begin(&target, &place, stale_files, details)?;
                // Parts are written into folders of their own, by any program.
                target.unguard();
                Ok(false)
            };
            store.begun_before = blocking(begin).await?;
            Ok(store)
        })
    }

    /// Whether [`begin`](Self::begin) found that the same store was already begun, and joined it.
    #[must_use]
    pub fn was_begun_before(&self) -> bool {
        self.begun_before
    }

    /// Joins a store that another program began, with the same specification.
    ///
    /// # Errors
    /// Misuse: an invalid specification, as for [`begin`](Self::begin); no store, or a different one, was begun there. I/O.
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
            let check = move || match BegunStore::read(&target)? {
                // If the root exists, a commit was interrupted after it wrote the root, and can be finished.
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
        if options.journal.is_some() {
            return Err(WriteError::input(
                "journal",
                "a file",
                "none for parts: a part is written again",
            ));
        }
        if spec.target.rules().links != LinksBy::Offsets {
            let expected = "0.9.2: parts record their links by offsets";
            return Err(WriteError::spec("target", spec.target.version(), expected));
        }
        if spec.bounds.is_none() || spec.outside != Outside::Refuse {
            let expected = "bounds that contain the vertices of all parts: they determine where every chunk is stored";
            return Err(WriteError::spec(
                "bounds",
                "none, or bounds that grow",
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

    /// Creates a writer of one part. Its [`finish`](StoreWriter::finish) writes the cells of the part, but not the store. An interrupted part can be
    /// written again under the same name.
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

    /// Begins a part, unless it is finished. If several programs begin the same part, the first to finish it wins; the others fail when they finish,
    /// unless they wrote the same bytes.
    ///
    /// # Errors
    /// Misuse: a name that is not a path segment, or was not declared; a part that was finished from another input; a store that is being committed, or
    /// was committed without the part; parts that were discarded. I/O.
    pub async fn part(&self, name: &str, options: PartOptions) -> Result<PartStart, WriteError> {
        zvf_encode::spec::check_name("part", name)?;
        let (target, address, spec, part) = (
            Arc::clone(&self.target),
            self.address.clone(),
            self.details.clone(),
            name.to_owned(),
        );
        let begin = move || PartIdentity::begin(&target, &address, (&spec, &part), options);
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

    /// Lists the parts of a begun store; `None` if none was begun.
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

    /// Removes all parts of a begun store, including finished ones. Returns the names of the finished parts.
    ///
    /// # Errors
    /// Misuse: no store was begun there, or it is committed. Busy: it is being committed. I/O: call this function again to remove the rest.
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

    /// Merges the finished parts into the store. Groups are passed here, because their members may be in any part; empty means no groups.
    ///
    /// # Cost
    /// Reads the notes of the parts, a few dozen bytes per fragment, and the codes of texts; moves every other cell (a rename on a disk, a copy on
    /// the server of an object store); writes cells of texts, manifests, tables and documents.
    ///
    /// # Errors
    /// Misuse: a part that was declared, begun, or begun again, and is not finished; no parts; objects that parts must not share, tables that
    /// contradict each other, groups with members that do not exist. Busy: another commit is running. I/O. After an error no store exists and all parts
    /// are kept, unless [`WriteError::is_committed`]; after misuse, parts can be added and [written again](PartOptions::redo).
    pub fn commit<'a>(self, groups: &'a Groups) -> BoxFuture<'a, Result<Committed, WriteError>> {
        self.commit_with(groups, false)
    }

    /// Like [`commit`](Self::commit); with `allow_missing`, parts that were declared or begun may be unfinished. The root of the store lists such parts in
    /// `zvf_absent_parts`. If a finished part was begun again but not finished again, the store contains its earlier data, and
    /// [`Committed::begun_again`] lists the part.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_with<'a>(
        self,
        groups: &'a Groups,
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
}

/// Checks the declared names of all parts.
fn check_names(names: Option<&[String]>) -> Result<(), WriteError> {
    let Some(names) = names else { return Ok(()) };
    if names.is_empty() {
        return Err(WriteError::input("parts", "no names", "at least one"));
    }
    let mut seen = BTreeSet::new();
    for name in names {
        zvf_encode::spec::check_name("parts", name)?;
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

/// Removes all parts, and returns the names of the finished ones.
fn discard(
    target: &Arc<Target>,
    address: &str,
    options: &WriteOptions,
) -> Result<Vec<String>, WriteError> {
    let Some(mut begun) = BegunStore::read(target)? else {
        return Err(WriteError::exists(
            address,
            "no store in parts was begun there",
        ));
    };
    if target.exists(ROOT)? {
        let what = "the store already exists, so its parts cannot be discarded; --commit removes their remaining files";
        return Err(WriteError::exists(address, what));
    }
    let finished = begun.finished(target)?.into_iter().collect();
    let Some(folder) = begun.folder.clone().filter(|_| !begun.discarded) else {
        begun.clear(target, address)?;
        return Ok(finished);
    };
    let lease = merge::committing(target, address, &folder, options)?;
    let log = PartitionLog {
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
            // The parts of an interrupted commit can be discarded, too: while this program holds the lease, no other program can commit.
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
    begun.clear(target, address)?;
    Ok(finished.into_iter().collect())
}
