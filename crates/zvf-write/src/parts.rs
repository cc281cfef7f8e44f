//! Several programs that write one store: each some chunks, and one of them the end.
//!
//! ```text
//! zvf-unfinished.json          put if absent; says what store it shall be
//! zvf-unfinished/claims/NAME   put if absent, by each part: the objects that it will write
//! 0/…                          cells of the part's chunks
//! zvf-unfinished/parts/NAME    put if absent: what the part wrote
//! ───────────────────────────  all parts are done
//! 0/…                          manifests, tables, documents, the level
//! zarr.json                    the store exists
//! zvf-unfinished…              removed
//! ```
//!
//! A part puts its claim before it reads those of others: of two that write one chunk at least one fails, before a cell
//! of either is touched.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_store::ChunkCoord;

use crate::batch::Groups;
use crate::chunk_by::Split;
use crate::commit;
use crate::error::{OrBug, narrow};
use crate::finish::{Documents, Level, Summary, finest_doc, write_above};
use crate::form::LinksBy;
use crate::frames::from_bytes;
use crate::links::{Family, Grouped, Stored, StoredCell};
use crate::objects::{Tables, checked_groups};
use crate::part::{CLAIMS, Note, PARTS, Part, bounds, cells, check_begun, encoder};
use crate::prepare::grow;
use crate::progress::Step;
use crate::sorter::{Placed, Sorter};
use crate::spec::{AttributeType, Outside, StoreSpec};
use crate::target::Target;
use crate::writer::{StoreWriter, WriteOptions, blocking};
use crate::{WriteError, inside};
use zvf_format::int::{index, wide};

const NOTES: &str = "zvf-unfinished";

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
///         let mut part = store.writer(name)?;
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
    /// What the marker says of the store: this program's version and the specification.
    details: Value,
}

/// Names a specification in the marker, for the programs that join.
fn details(spec: &StoreSpec) -> Result<Value, WriteError> {
    let parts = serde_json::to_value((env!("CARGO_PKG_VERSION"), spec));
    let parts = parts.map_err(|error| WriteError::bug(error.to_string()))?;
    Ok(json!({"parts": parts}))
}

impl PartedStore {
    /// Marks a place for a store that several programs write.
    ///
    /// The specification needs bounds, which are those of the store, and no categories: their codes depend on the texts of
    /// all parts.
    ///
    /// # Errors
    /// Misuse: such a specification, or something that lies there. I/O.
    pub fn begin<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            let store = Self::new(address, spec, options).await?;
            let (target, place) = (Arc::clone(&store.target), store.address.clone());
            let (details, leftovers) = (store.details.clone(), store.options.leftovers);
            let open = store.options.open.clone();
            let begin = move || {
                inside::check(&place, &open)?;
                commit::begin(&target, &place, leftovers, details)
            };
            blocking(begin).await?;
            Ok(store)
        })
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
            blocking(move || check_begun(&target, &place, &details)).await?;
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
        let category = spec
            .vertex_attributes
            .iter()
            .find(|one| one.values == AttributeType::Category);
        if let Some(one) = category {
            let member = format!("vertex_attributes/{}/values", one.name);
            let expected = "numbers: codes of texts depend on the texts of all parts";
            return Err(WriteError::spec(member, "categories", expected));
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
        })
    }

    /// A writer of one part. Its [`finish`](StoreWriter::finish) writes the cells of the part, and no store yet; a part
    /// that was interrupted is written again under the same name.
    ///
    /// # Errors
    /// Misuse: a name that is no path segment.
    pub fn writer(&self, name: &str) -> Result<StoreWriter, WriteError> {
        crate::names::check_name("part", name)?;
        let part = Part {
            name: name.to_owned(),
            details: self.details.clone(),
        };
        Ok(StoreWriter::of_part(
            Arc::clone(&self.target),
            self.address.clone(),
            self.spec.clone(),
            self.options.clone(),
            part,
        ))
    }

    /// Puts the finished parts together: the store exists after that. Groups are given here, since their members may be of
    /// any part; an empty list is no groups.
    ///
    /// # Cost
    /// Reads what the parts noted, a few dozen bytes a fragment, and no cell; writes manifests, tables and documents.
    ///
    /// # Errors
    /// Misuse: a part that was begun and not finished, no part at all, objects that parts must not share, groups with members
    /// that do not exist. I/O. No store is there after an error, and all parts are still there, unless
    /// [`WriteError::is_committed`].
    pub fn commit<'a>(self, groups: &'a Groups<'a>) -> BoxFuture<'a, Result<Summary, WriteError>> {
        Box::pin(async move {
            let groups = if groups.members.is_empty() {
                Groups::default()
            } else {
                checked_groups(&self.spec, groups)?
            };
            blocking(move || {
                check_begun(&self.target, &self.address, &self.details)?;
                let (root, summary) = self.join_parts(&groups)?;
                commit::commit(&self.target, &self.address, root, Some(NOTES))?;
                Ok(summary)
            })
            .await
        })
    }

    /// What all parts noted.
    fn notes(&self) -> Result<Vec<Note<'static>>, WriteError> {
        let names: BTreeSet<String> = self.target.names(PARTS)?.into_iter().collect();
        for begun in self.target.names(CLAIMS)? {
            if !names.contains(&begun) {
                let found = "begun and not finished";
                return Err(WriteError::input(
                    format!("part {begun}"),
                    found,
                    "finished",
                ));
            }
        }
        if names.is_empty() {
            return Err(WriteError::input("parts", "none", "at least one"));
        }
        let read = |name: String| {
            let bytes = self.target.read(&format!("{PARTS}/{name}"))?;
            bytes
                .and_then(|bytes| from_bytes::<Note<'_>>(&bytes))
                .filter(|note| note.name == name)
                .ok_or_else(|| {
                    let what = format!("the note of part {name} cannot be read");
                    WriteError::exists(&self.address, what)
                })
        };
        names.into_iter().map(read).collect()
    }

    /// Writes everything that parts have together, but the root, whose document is returned.
    fn join_parts(&self, groups: &Groups<'_>) -> Result<(String, Summary), WriteError> {
        let (spec, rank, options) = (&self.spec, self.spec.key_rank(), &self.options);
        let (notes, folder) = (self.notes()?, options.folder());
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
        };
        let mut sorter = level.sorter();
        let mut tables = Tables::new(spec);
        let mut bounds = bounds(spec)?;
        let mut documents = Documents::new(level.vertex_docs(&encoder(spec)?)?);
        for note in &notes {
            self.place(note, &slots, &mut sorter)?;
            if !note.objects.ids.is_empty() {
                tables.push(spec, &note.objects)?;
            }
            if let Some((low, high)) = &note.extent {
                // What rounds beyond the bounds given.
                grow((&mut bounds.0, &mut bounds.1), (low, high));
            }
            let summary = &mut documents.summary;
            summary.vertices += note.vertices;
        }
        self.check_orders(&notes)?;
        documents.summary.chunks = wide(chunks.len());
        let mut placer = level.placer();
        if spec.has_objects() {
            level.write_objects(&mut documents, sorter, &tables, groups, &mut placer)?;
        }
        let stored = if spec.takes_links() {
            joined_family(spec, &notes)
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
