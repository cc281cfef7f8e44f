//! The writer: create, push, finish.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use crate::finish;
use crate::journal::{BegunStore, Call, Journal};
use crate::parts::part::PartIdentity;
use zvf_encode::batches::Router;
use zvf_encode::level::{LevelInput, PushedObjectTables, checked_groups};
use zvf_encode::parallel::blocking;
use zvf_encode::target::Target;
use zvf_encode::transaction::{MARKER, ROOT, new_store};
use zvf_encode::{
    Batch, Groups, ObjectTable, ShardShape, StoreSpec, Summary, WriteError, WriteOptions,
};

/// Writes one new store of one level.
///
/// The address stays empty until [`finish`](Self::finish), and no store exists before its last step: see the documentation of the crate. A dropped
/// writer leaves no files except its [journal](WriteOptions::journal) and, if it writes a part, the note that the part was begun, which
/// [`abandon`](Self::abandon) removes.
#[derive(Debug)]
pub struct StoreWriter {
    target: Arc<Target>,
    address: String,
    spec: Arc<StoreSpec>,
    options: WriteOptions,
    router: Router,
    tables: PushedObjectTables,
    groups: Groups,
    /// Number of tables of objects pushed so far.
    taken: u64,
    journal: Option<Journal>,
    /// The part to write, if this is a distributed write.
    part: Option<PartIdentity>,
    broken: Option<String>,
    /// The counts of the store, if an earlier run with the same journal completed the store, but was interrupted before it removed the journal.
    complete: Option<Summary>,
}

impl StoreWriter {
    /// Creates a writer of a new store. With a journal, replays its records.
    ///
    /// # Cost
    /// Two requests and one listing; in a bucket, one request more for each folder above the address. Nothing is written to the address. With a
    /// journal, reads it and pushes its batches again, which may write temporary files.
    ///
    /// # Errors
    /// Misuse: a specification that contradicts itself, an invalid address, an address that is not empty or inside a store; a journal of another
    /// specification, or one that is damaged. Busy: another writer is running at the address, or has the journal open. I/O.
    pub fn create<'a>(
        address: &'a str,
        spec: StoreSpec,
        options: WriteOptions,
    ) -> BoxFuture<'a, Result<Self, WriteError>> {
        Box::pin(async move {
            spec.check()?;
            let (place, open, stale_files) = (
                address.to_owned(),
                options.open.clone(),
                options.stale_files,
            );
            let (durable, journal) = (options.durable, options.journal.clone());
            let (target, complete) = blocking(move || {
                let target = Target::new(&place, &open, durable)?;
                new_store::check_address(&place, &open)?;
                let begun = journal.map(|path| BegunStore::read(&path)).transpose()?;
                let begun = begun.unwrap_or_default();
                if let Some((root, summary)) = begun.end
                    && target.read(ROOT)?.as_deref() == Some(root.as_bytes())
                {
                    return Ok((target, Some(summary)));
                }
                if !new_store::is_marked_by(&target, &begun.marks)? {
                    new_store::check(&target, &place, stale_files)?;
                }
                Ok((target, None))
            })
            .await?;
            let mut writer = Self::new(Arc::new(target), address.to_owned(), spec, options);
            writer.complete = complete;
            if let Some(path) = writer.options.journal.clone() {
                writer = blocking(move || writer.replay(&path)).await?;
            }
            Ok(writer)
        })
    }

    fn new(target: Arc<Target>, address: String, spec: StoreSpec, options: WriteOptions) -> Self {
        let folder = options.folder();
        Self {
            target,
            address,
            journal: None,
            part: None,
            router: Router::new(&spec, options.memory_budget, &folder)
                .with_threads(options.threads),
            tables: PushedObjectTables::new(&spec),
            groups: Groups::default(),
            taken: 0,
            spec: Arc::new(spec),
            options,
            broken: None,
            complete: None,
        }
    }

    /// A writer of one part of a distributed write.
    pub(crate) fn of_part(
        target: Arc<Target>,
        address: String,
        spec: StoreSpec,
        options: WriteOptions,
        part: PartIdentity,
    ) -> Self {
        Self {
            part: Some(part),
            ..Self::new(target, address, spec, options)
        }
    }

    /// Replays a journal and keeps it open.
    fn replay(mut self, path: &Path) -> Result<Self, WriteError> {
        let (spec, durable) = (Arc::clone(&self.spec), self.options.durable);
        let journal = Journal::open(path, &spec, durable, |call| match call {
            Call::Batch(batch) => self.push(&batch),
            Call::Objects(table) => self.push_objects(&table),
            Call::Groups(groups) => self.set_groups(&groups),
        })?;
        self.journal = Some(journal);
        Ok(self)
    }

    /// Records a failure after which the state of the writer is undefined.
    fn note<T>(&mut self, done: Result<T, WriteError>) -> Result<T, WriteError> {
        if let Err(error @ (WriteError::Io { .. } | WriteError::Limit { .. })) = &done {
            self.broken = Some(error.to_string());
        }
        done
    }

    /// Records an accepted call in the journal.
    fn keep(&mut self, call: &Call<'_>) -> Result<(), WriteError> {
        if self.complete.is_some() && self.journal.is_some() {
            let what = "the store is complete, but the input has more than the journal: remove the journal, and append the rest to the store";
            let error = WriteError::exists(&self.address, what);
            self.broken = Some(error.to_string());
            return Err(error);
        }
        let journal = self.journal.as_mut();
        let done = journal.map_or(Ok(()), |journal| journal.keep(call));
        self.note(done)
    }

    fn skip(&mut self, call: &Call<'_>) -> Result<bool, WriteError> {
        let journal = self.journal.as_mut();
        let done = journal.map_or(Ok(false), |journal| journal.skip(call));
        if let Err(error) = &done {
            self.broken = Some(error.to_string());
        }
        done
    }

    /// Skips a batch that is in the [journal](WriteOptions::journal), for a caller that restarts and pushes everything again, in the same order.
    /// Returns `false` if the batch is new and must be pushed.
    ///
    /// # Cost
    /// Serializes the batch, unless all records of the journal have been repeated.
    ///
    /// # Errors
    /// Misuse: the next record of the journal differs from the batch in kind, length or checksum. The caller must then drop the writer, which does not
    /// refuse further calls.
    pub fn skip_batch(&mut self, batch: &Batch) -> Result<bool, WriteError> {
        self.skip(&Call::Batch(Cow::Borrowed(batch)))
    }

    /// Like [`skip_batch`](Self::skip_batch), for a table of objects.
    ///
    /// # Errors
    /// As [`skip_batch`](Self::skip_batch).
    pub fn skip_objects(&mut self, table: &ObjectTable) -> Result<bool, WriteError> {
        self.skip(&Call::Objects(Cow::Borrowed(table)))
    }

    /// Like [`skip_batch`](Self::skip_batch), for groups.
    ///
    /// # Errors
    /// As [`skip_batch`](Self::skip_batch).
    pub fn skip_groups(&mut self, groups: &Groups) -> Result<bool, WriteError> {
        self.skip(&Call::Groups(Cow::Borrowed(groups)))
    }

    /// Whether the caller has repeated every record of the journal. A caller that restarts its input checks this at the end, because remaining
    /// records did not come from the same input.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        self.journal.as_ref().is_none_or(Journal::is_passed)
    }

    /// Pushes a table of vertices and a table of their links, as queries return them, in the axes and units of the store; see
    /// [`StoreSpec::batch_of_records`].
    ///
    /// # Cost
    /// As [`push`](Self::push).
    ///
    /// # Errors
    /// As [`StoreSpec::batch_of_records`] and [`push`](Self::push).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, types::Float32Type};
    /// use zvf_store::blocking::Runtime;
    /// use zvf_write::{Kind, StoreSpec, StoreWriter, WriteOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let address = folder.path().join("tracts.zarrvectors").to_string_lossy().into_owned();
    /// let places = [Some(vec![Some(1.0), Some(1.0)]), Some(vec![Some(9.0), Some(2.0)]), Some(vec![Some(9.5), Some(3.0)])];
    /// let columns: [(&str, ArrayRef); 3] = [
    ///     ("position", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(places, 2))),
    ///     ("fa", Arc::new(Float32Array::from(vec![0.5, 0.25, 0.75]))),
    ///     ("object_id", Arc::new(Int64Array::from(vec![7, 7, 7]))),
    /// ];
    /// let table = RecordBatch::try_from_iter(columns)?;
    ///
    /// let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]).with_vertex_records(&table.schema())?;
    /// Runtime::new()?.wait(async {
    ///     let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
    ///     writer.push_records(&table, None)?;
    ///     assert_eq!(writer.finish().await?.vertices, 3);
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn push_records(
        &mut self,
        vertices: &RecordBatch,
        links: Option<&RecordBatch>,
    ) -> Result<(), WriteError> {
        self.push(&self.spec.batch_of_records(vertices, links)?)
    }

    /// Pushes a table of objects as queries return it.
    ///
    /// # Errors
    /// As [`StoreSpec::objects_of_records`] and [`push_objects`](Self::push_objects).
    pub fn push_object_records(&mut self, objects: &RecordBatch) -> Result<(), WriteError> {
        self.push_objects(&self.spec.objects_of_records(objects)?)
    }

    /// Pushes a batch of vertices. Its values are in the axes and units of the store.
    ///
    /// # Cost
    /// O(vertices), and writes to temporary files above the memory budget. A caller that must not wait for a disk should call it on another thread.
    ///
    /// # Errors
    /// Misuse: a batch that does not fit the specification; the error names the column and row, the batch has no effect, and the writer remains
    /// usable. Limit: too many categories. I/O on temporary files or the journal. After a limit or I/O the writer is unusable.
    pub fn push(&mut self, batch: &Batch) -> Result<(), WriteError> {
        self.usable()?;
        let done = self.router.push(&self.spec, batch);
        self.note(done)?;
        self.keep(&Call::Batch(Cow::Borrowed(batch)))
    }

    /// Pushes a table of objects. Objects without vertices are stored, too.
    ///
    /// # Errors
    /// Misuse: a table that does not fit the specification, or an object that already has a row; the table has no effect. I/O on the journal: the
    /// writer is unusable afterwards.
    pub fn push_objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.usable()?;
        self.tables.push(&self.spec, table)?;
        self.taken += 1;
        self.keep(&Call::Objects(Cow::Borrowed(table)))
    }

    /// Sets the groups. A second call replaces them.
    ///
    /// # Errors
    /// Misuse: a store without objects, or a writer of a part; names or attributes that do not fit the number of groups. [`finish`](Self::finish)
    /// checks whether the members exist. I/O on the journal: the writer is unusable afterwards.
    pub fn set_groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.usable()?;
        if self.part.is_some() {
            let expected = "none: pass the groups to PartedStore::commit (Rust), or import all files at once, without parts";
            return Err(WriteError::input("groups of a part", "some", expected));
        }
        self.groups = checked_groups(&self.spec, groups)?;
        self.keep(&Call::Groups(Cow::Borrowed(groups)))
    }

    /// Number of vertices pushed so far, which is the number of the next vertex in [links between batches](Batch::with_links_between_batches).
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.router.vertices
    }

    /// Number of batches pushed so far, including batches replayed from a [journal](WriteOptions::journal).
    #[must_use]
    pub fn batches(&self) -> u64 {
        self.router.batches
    }

    /// Number of tables of objects pushed so far, including tables replayed from a [journal](WriteOptions::journal).
    #[must_use]
    pub fn tables(&self) -> u64 {
        self.taken
    }

    fn usable(&self) -> Result<(), WriteError> {
        match &self.broken {
            Some(what) => Err(WriteError::Broken { what: what.clone() }),
            None => Ok(()),
        }
    }

    /// Abandons the writer. If it writes a part, removes the note that the part was begun; otherwise there is nothing to remove.
    pub fn abandon(self) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(part) = self.part {
                let target = self.target;
                let abandon = move || {
                    part.abandon(&target);
                    Ok(())
                };
                // If this fails, the commit removes the rest.
                let _ = blocking(abandon).await;
            }
        })
    }

    /// Writes the store.
    ///
    /// # Cost
    /// Every cell is encoded and written once, on several threads. Memory: see [`WriteOptions::memory_budget`].
    ///
    /// # Errors
    /// Misuse: no vertices and no bounds; chains with vertices that are not contiguous; groups with members that do not exist; an
    /// address that is no longer empty; a writer that an earlier error made unusable. Busy: another writer is running at the address, or has taken it
    /// over. Limits. I/O. No store exists after an error, unless [`WriteError::is_committed`].
    pub fn finish(self) -> BoxFuture<'static, Result<Summary, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let folder = self.options.folder();
            let (target, address) = (self.target, self.address);
            let (stale_files, history) = (self.options.stale_files, self.options.history);
            let input = LevelInput {
                link_shards: self.spec.shard_shape == ShardShape::Auto,
                spec: self.spec,
                router: self.router,
                tables: self.tables,
                groups: self.groups,
                folder,
                budget: self.options.memory_budget,
                threads: self.options.threads,
                watch: self.options.watch,
            };
            let (mut journal, part, complete) = (self.journal, self.part, self.complete);
            blocking(move || {
                let of_journal = journal.as_mut();
                let summary = match (part, complete) {
                    (Some(part), _) => part.write(input, &target, &address)?,
                    (None, Some(summary)) => {
                        let mark = target.read(MARKER)?;
                        let own = of_journal
                            .zip(mark)
                            .filter(|(journal, mark)| journal.marks().contains(mark));
                        if let Some((_, mark)) = own {
                            new_store::tidy(&target, &address, &mark, None)?;
                        }
                        summary
                    }
                    (None, None) => {
                        finish::write(input, &target, &address, (stale_files, history), of_journal)?
                    }
                };
                // The store is complete, so the journal is no longer needed.
                journal.map_or(Ok(()), Journal::done)?;
                Ok(summary)
            })
            .await
        })
    }
}
