//! An edit: what it changed so far, and its operations.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use zvf_meta::RootDoc;
use zvf_store::Store;
use zvf_store::owners::is_owner_column;

use super::group_table::GroupTable;
use super::index::EditedIndex;
use super::matching::Scope;
use super::state::EditState;
use super::tables::AttributeTables;
use super::{between, fill, spec};
use zvf_encode::parallel::blocking;
use zvf_encode::target::Target;
use zvf_encode::transaction::{Settled, Transaction};
use zvf_encode::{
    AttributeSpec, Batch, ObjectTable, Values, WriteError, WriteOptions, transaction,
};

/// Selects vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum At<'a> {
    /// All vertices, in the order of a query without selections: chunks by coordinate, rows as they are stored. Includes vertices that the edit has
    /// added, but not those that it has deleted.
    All,
    /// By their number in the order of [`All`](Self::All), counted from 0. Numbers refer to the beginning of the edit: vertices that the edit has
    /// added, deleted or moved do not change them.
    Rows(&'a [u64]),
    /// By object and place in the object, as returned by a read by id. Vertices of polylines and streamlines keep their order; in other objects,
    /// vertices that the edit has added, deleted or moved shift the others.
    Objects(&'a [(i64, u64)]),
}

/// The result of an edit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditSummary {
    /// Vertices of the level after the edit minus those before it.
    pub vertices: i64,
    /// Objects that were added or deleted, or that have changed fragments.
    pub objects: u64,
    /// Chunks with at least one rewritten cell.
    pub chunks: u64,
    /// Groups that were added, deleted or renamed, or that have changed members.
    pub groups: u64,
    /// Stored links after the edit minus those before it.
    pub links: i64,
    /// Zarr objects that were replaced or added.
    pub put: u64,
    /// Zarr objects that were removed.
    pub removed: u64,
}

/// The result of [`Edit::resume`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resumed {
    /// No edit was interrupted.
    Nothing,
    /// An edit was already committed, and is now applied.
    Finished,
    /// An edit was not committed, and is rolled back: the store is as before.
    TakenBack,
}

/// The categories of a vertex attribute.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    /// `None`: the attribute has numbers.
    pub(crate) texts: Option<Vec<String>>,
    pub(crate) missing: Option<i64>,
    pub(crate) changed: bool,
}

/// A new attribute.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub(crate) scope: Scope,
    pub(crate) spec: AttributeSpec,
}

/// A change of level 0 of a store of 0.9, made at once by [`commit`](Self::commit).
///
/// Operations read the data that they need and change it in memory, in the order of the calls. The store does not change before `commit`; after it,
/// every reader of this workspace sees all of the edit or none of it, even after an interruption. Ids of objects and numbers of fragments never change.
/// If another writer changes the store in the meantime, this is detected, and its changes are not replaced. An operation that fails may have been done
/// in part: the edit can then no longer be committed.
///
/// # Cost
/// Reads and writes the changed chunks, their links, and the manifests of the changed objects; reads the table of ids. Of other chunks of these
/// objects, only the fragment indexes are read; of chunks with a changed attribute, only the values of this attribute. If a vertex moves
/// beyond the lower corner of the grid, every cell of the level is written. All this data is held in memory: an operation is refused before it reads its
/// chunks if all chunks of the edit would take more than 16 MiB plus twice the [memory budget](zvf_encode::WriteOptions::memory_budget).
///
/// # Examples
/// See the crate's page.
#[derive(Debug)]
pub struct Edit {
    pub(crate) journal: Transaction,
    pub(crate) target: Arc<Target>,
    pub(crate) root: RootDoc,
    /// The entry for the history of the store.
    pub(crate) history: Option<Value>,
    pub(crate) state: EditState,
    pub(crate) index: Option<EditedIndex>,
    pub(crate) tables: AttributeTables,
    /// The groups after the operations so far; `None` until an operation needs them.
    pub(crate) groups: Option<GroupTable>,
    pub(crate) words: Vec<Words>,
    pub(crate) added: Vec<Added>,
    /// Whether the owner column is written again.
    pub(crate) new_owners: bool,
    /// Fills of vertices, objects and links.
    pub(crate) fills: fill::Fills,
    /// Fills that the commit records.
    pub(crate) recorded: Vec<fill::RecordedFill>,
    pub(crate) broken: Option<String>,
}

impl Edit {
    /// Begins an edit.
    ///
    /// [`WriteOptions::stale_files`] states how an interrupted edit is treated: it is refused, or finished (or rolled back) first, as by
    /// [`resume`](Self::resume).
    ///
    /// # Cost
    /// Opening the store, the table of ids, the cells of one chunk, and a put.
    ///
    /// # Errors
    /// Misuse: no store; another change that is running; a store with a node that an edit could not preserve, which the error names. I/O.
    pub fn open<'a>(
        address: &'a str,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            let (place, open, stale_files) = (
                address.to_owned(),
                options.open.clone(),
                options.stale_files,
            );
            let (durable, lease) = (options.durable, options.lease);
            let (target, journal) = blocking(move || {
                let target = Arc::new(Target::new(&place, &open, durable)?);
                let journal = Transaction::begin(Arc::clone(&target), &place, stale_files, lease)?;
                Ok((target, journal))
            })
            .await?;
            let known = Self::read_state(&journal, address, &options).await;
            match known {
                Ok((root, state, index, words)) => Ok(Self {
                    fills: fill::declared(&root),
                    recorded: Vec::new(),
                    journal,
                    target,
                    root,
                    history: options.history,
                    state,
                    index,
                    tables: AttributeTables::new(),
                    groups: None,
                    words,
                    added: Vec::new(),
                    new_owners: false,
                    broken: None,
                }),
                Err(error) => {
                    blocking(move || {
                        journal.abandon();
                        Ok(())
                    })
                    .await?;
                    Err(error)
                }
            }
        })
    }

    async fn read_state(
        journal: &Transaction,
        address: &str,
        options: &WriteOptions,
    ) -> Result<(RootDoc, EditState, Option<EditedIndex>, Vec<Words>), WriteError> {
        let root = journal.doc()?;
        let store = Store::open_with(address, options.open.clone()).await?;
        if *store.root() != root {
            return Err(WriteError::Changed {
                store: address.to_owned(),
            });
        }
        let level = store.level(0, &spec::need()).await?;
        let (spec, keys) = spec::read(&root, &store, &level).await?;
        let mut words = Vec::new();
        for one in level.vertex_attributes() {
            let Some(texts) = spec::category_texts(one) else {
                let found = "categories that are not texts";
                return Err(WriteError::unsupported(one.array.path(), found, "texts"));
            };
            words.push(Words {
                texts,
                missing: one.fill_code,
                changed: false,
            });
        }
        let index = match level.object_index() {
            Some(stored) => Some(EditedIndex::read(stored).await?),
            None => None,
        };
        Ok((
            root,
            EditState::new(level, spec, keys, options.memory_budget),
            index,
            words,
        ))
    }

    /// Finishes an interrupted edit, or rolls it back if it was not committed.
    ///
    /// # Errors
    /// Misuse: no store, or an interrupted change of another kind. I/O.
    pub fn resume<'a>(
        address: &'a str,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Resumed, WriteError>> {
        Box::pin(async move {
            let (place, open, durable) =
                (address.to_owned(), options.open.clone(), options.durable);
            let settled = blocking(move || {
                let target = Arc::new(Target::new(&place, &open, durable)?);
                transaction::settle(&target, &place, options.lease)
            })
            .await?;
            Ok(match settled {
                Settled::Nothing => Resumed::Nothing,
                Settled::Finished => Resumed::Finished,
                Settled::TakenBack => Resumed::TakenBack,
            })
        })
    }

    /// The specification with which the store could have been written. Categories have the type of their codes.
    #[must_use]
    pub fn spec(&self) -> &zvf_encode::StoreSpec {
        &self.state.spec
    }

    /// The chunks that had no vertices at the beginning of the edit and have some now, with the number of their vertices.
    pub fn new_chunks(&self) -> impl Iterator<Item = (&[i64], usize)> {
        let chunks = self.state.chunks.iter();
        let chunks = chunks.filter_map(|(at, chunk)| Some((at.as_slice(), chunk.as_ref()?)));
        let new = chunks.filter(|(_, chunk)| chunk.before == 0 && !chunk.is_empty());
        new.map(|(at, chunk)| (at, chunk.count()))
    }

    /// The attributes of vertices, in the form in which values are given: categories as texts, not as codes. Categories of only `true` and `false` are
    /// [`AttributeSpec::boolean_texts`].
    #[must_use]
    pub fn vertex_attributes(&self) -> Vec<AttributeSpec> {
        let texts = self.words.iter().map(|words| words.texts.as_deref());
        let texts = texts.chain(std::iter::repeat(None));
        let is_boolean = |text: &String| text == "true" || text == "false";
        let one = |(one, texts): (&AttributeSpec, Option<&[String]>)| match texts {
            None => one.clone(),
            Some(texts) if !texts.is_empty() && texts.iter().all(is_boolean) => {
                AttributeSpec::boolean_texts(&one.name)
            }
            Some(_) => AttributeSpec::category(&one.name),
        };
        self.spec().batch_attributes().zip(texts).map(one).collect()
    }

    /// The specifications of all object attributes.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: a store without objects. I/O.
    pub fn object_attributes(&mut self) -> BoxFuture<'_, Result<Vec<AttributeSpec>, WriteError>> {
        Box::pin(async move {
            self.load_tables().await?;
            Ok(self
                .tables
                .values()
                .map(|table| table.spec.clone())
                .collect())
        })
    }

    /// Adds vertices. The batch has the form for `zvf_write::StoreWriter::push`; its objects are new or, for points, polylines and streamlines,
    /// existing ones, which are extended at their end.
    ///
    /// Links may only connect vertices of the batch. If an attribute splits chunks, the batch has its values; new values come after those that the
    /// level lists.
    ///
    /// # Errors
    /// Misuse: a batch that does not fit the store; an object that cannot be extended. I/O.
    pub fn append<'a>(&'a mut self, batch: &'a Batch) -> BoxFuture<'a, Result<(), WriteError>> {
        self.append_all(std::slice::from_ref(batch))
    }

    /// Like [`append`](Self::append), for several batches that form one: links between batches may connect vertices of all of them.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub fn append_all<'a>(
        &'a mut self,
        batches: &'a [Batch],
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.check_structure().await?;
            self.begin_step();
            let done = Box::pin(self.take(batches)).await;
            self.note(done)
        })
    }

    /// Adds objects without vertices, or sets the attributes of existing ones: one row per object.
    ///
    /// Attributes that the table does not name keep their values.
    ///
    /// # Errors
    /// Misuse: a store without objects, an attribute that does not exist. I/O.
    pub fn put_objects<'a>(
        &'a mut self,
        table: &'a ObjectTable,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = self.take_objects(table).await;
            self.note(done)
        })
    }

    /// Deletes objects with all of their vertices, and the links of these. Their rows stay, so that the rows of other objects do not change: without
    /// vertices, without values, and listed in `zvf_deleted`, until [`vacuum`](crate::vacuum) drops them.
    ///
    /// # Errors
    /// Misuse: an id that does not exist. I/O.
    pub fn delete<'a>(&'a mut self, ids: &'a [i64]) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.check_structure().await?;
            self.begin_step();
            let done = Box::pin(self.drop_objects(ids)).await;
            self.note(done)
        })
    }

    /// Deletes points that belong to no object, by chunk and row in it, as returned by a query in its columns `chunk` and `row`. They refer to the
    /// store at the beginning of the edit, regardless of points that the edit has deleted or moved.
    ///
    /// # Cost
    /// Reads and writes the chunks of these points.
    ///
    /// # Errors
    /// Misuse: a store with objects, where vertices are deleted with their object ([`delete`](Self::delete)); a row that does not exist, or that this
    /// edit has deleted. I/O.
    pub fn delete_points<'a>(
        &'a mut self,
        rows: &'a [(Vec<i64>, u64)],
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.check_structure().await?;
            self.begin_step();
            let done = self.drop_points(rows).await;
            self.note(done)
        })
    }

    /// Moves vertices with their attributes, links and objects. The bounds of the store grow if necessary.
    ///
    /// # Shape
    /// A position for each vertex of `at`, in its order, in world units. Numbers have the stored type; for a stored float type, any float type.
    ///
    /// # Errors
    /// Misuse: positions that do not fit, the same vertex twice, a position outside of every chunk. I/O.
    pub fn move_vertices<'a>(
        &'a mut self,
        at: At<'a>,
        positions: &'a Values,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.check_structure().await?;
            self.begin_step();
            let done = Box::pin(async {
                let spots = self.find(&at).await?;
                self.shift(spots, positions).await
            });
            let done = done.await;
            self.note(done)
        })
    }

    /// Replaces values of a vertex attribute. Vertices are unchanged, unless the attribute splits chunks: then each vertex moves to the chunk of its
    /// value with all its data, as by [`move_vertices`](Self::move_vertices).
    ///
    /// # Cost
    /// Reads the values of the attribute in the chunks of the vertices, and the fragment indexes of the level; writes the values. Other attributes are
    /// not read, unless the attribute splits chunks.
    ///
    /// # Errors
    /// Misuse: an attribute that does not exist, values that do not fit. I/O.
    pub fn set_vertex_attribute<'a>(
        &'a mut self,
        name: &'a str,
        at: At<'a>,
        values: &'a Values,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            if self.is_key(name) {
                self.check_structure().await?;
            }
            self.begin_step();
            let done = Box::pin(async {
                let spots = self.find(&at).await?;
                self.set_column(name, spots, values).await
            });
            let done = done.await;
            self.note(done)
        })
    }

    /// Adds a vertex attribute: a value for every vertex, in the order of [`At::All`].
    ///
    /// # Cost
    /// Reads the fragment indexes of the level; holds the values.
    ///
    /// # Errors
    /// Misuse: a name that is taken, values that do not fit. I/O.
    pub fn add_vertex_attribute<'a>(
        &'a mut self,
        spec: AttributeSpec,
        values: &'a Values,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = Box::pin(self.add_column(spec, values)).await;
            self.note(done)
        })
    }

    /// Replaces values of a link attribute. The links themselves do not change.
    ///
    /// # Shape
    /// `at` has the ends of links, as many vertices per link as the store's links have, one link after another, in the order in which a query returns
    /// them (in any order for undirected links); [`At::Rows`] means rows of the link table of a query without selections. Repeated ends refer to the
    /// next link between them. [`At::All`]: all links, in the order in which they are listed. One row of values per link.
    ///
    /// # Cost
    /// Reads the links that touch the chunks of the first ends, and writes them again.
    ///
    /// # Errors
    /// Misuse: an attribute that does not exist, ends without a stored link between them (links of this edit have their values from their batch),
    /// values that do not fit. I/O.
    pub fn set_link_attribute<'a>(
        &'a mut self,
        name: &'a str,
        at: At<'a>,
        values: &'a Values,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = Box::pin(self.set_links(name, &at, values)).await;
            self.note(done)
        })
    }

    /// Adds a link attribute: numbers for every link, in the order in which links are listed.
    ///
    /// # Cost
    /// Reads and writes all links.
    ///
    /// # Errors
    /// Misuse: a name that is taken, no links or implied links, values that do not fit. I/O. The commit fails if the same edit deletes all links: an
    /// attribute of no links is not stored.
    pub fn add_link_attribute<'a>(
        &'a mut self,
        spec: AttributeSpec,
        values: &'a Values,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = Box::pin(self.add_links(spec, values)).await;
            self.note(done)
        })
    }

    /// Adds an object attribute. Objects have no value of it until [`put_objects`](Self::put_objects) sets one.
    ///
    /// # Errors
    /// Misuse: a store without objects, a name that is taken or invalid. I/O.
    pub fn add_object_attribute(
        &mut self,
        spec: AttributeSpec,
    ) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.begin_step();
            let done = self.add_table(spec).await;
            self.note(done)
        })
    }

    /// Writes the owner column of the level, which states the object of each fragment (0.9 §11.7), or replaces an existing one. With it, queries of a
    /// box find the owners of rows without reading manifests. New stores have it; later edits preserve it.
    ///
    /// # Cost
    /// All manifests; 16 bytes per fragment.
    ///
    /// # Errors
    /// Misuse: a store without objects; an attribute of fragments with the name of the column, and another type.
    pub fn add_owners(&mut self) -> Result<(), WriteError> {
        self.usable()?;
        let done = self.renew_owners();
        self.note(done)
    }

    /// Checks that a change of rows can preserve the structure of the store.
    pub(crate) async fn check_structure(&mut self) -> Result<(), WriteError> {
        let attributes = self.state.level.fragment_attributes();
        if let Some(one) = attributes.iter().find(|one| !is_owner_column(one)) {
            let found = "a fragment attribute that is not an owner column";
            return Err(WriteError::unsupported(
                one.array.path(),
                found,
                "only owner columns if rows are added, deleted or moved",
            ));
        }
        between::check(&between::levels(&self.state).await?)
    }

    pub(crate) fn usable(&self) -> Result<(), WriteError> {
        match &self.broken {
            Some(what) => Err(WriteError::Broken { what: what.clone() }),
            None => Ok(()),
        }
    }

    /// Begins a step that changes the state: if it is interrupted, the edit can no longer be committed.
    pub(crate) fn begin_step(&mut self) {
        self.broken = Some("a step was interrupted".to_owned());
    }

    /// Records the outcome of a step. After a failure the step may have been done in part, so the edit can no longer be committed.
    pub(crate) fn note<T>(&mut self, done: Result<T, WriteError>) -> Result<T, WriteError> {
        self.broken = done.as_ref().err().map(ToString::to_string);
        done
    }
}
