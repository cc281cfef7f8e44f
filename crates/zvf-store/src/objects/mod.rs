//! The object index: ids, rows, manifests.
//!
//! The documents determine in which of three forms manifests are stored; all are returned as the same bytes.
//!
//! Source: specification 0.9, sections 11.1 to 11.3; 0.7, section 10.2; dense manifests of 0.9.4.

mod deleted;
mod dense;
mod ids;
mod lookup;
mod manifests;
mod split;
mod stated;

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use zvf_format::manifest::Manifest;
use zvf_meta::{ObjectIndexDoc, ObjectLayout};

use crate::typed::TypedArray;
use crate::warnings::Warnings;
use crate::{ChunkCoord, StoreError};
use zvf_io::Once;
use zvf_io::{Kv, driven};

pub(crate) use dense::Dense;
pub use ids::IdTable;
use ids::{IdSource, LookUps};
pub use manifests::ManifestChunk;
pub(crate) use manifests::Manifests;
pub(crate) use split::SplitManifests;
pub use stated::{are_rows, state_ids};

/// The objects of one level: a table of ids and a manifest for each row.
///
/// Row numbers (slots) count the rows of the table; ids are the application's names of objects. They are not the
/// same unless the layout declares it (trap T17).
#[derive(Debug)]
pub struct ObjectIndex {
    kv: Kv,
    doc: ObjectIndexDoc,
    /// CRC-32C of the document.
    checksum: u32,
    key_rank: usize,
    source: Arc<IdSource>,
    manifests: Option<Manifests>,
}

/// The document of an index.
#[derive(Debug)]
pub(crate) struct IndexDocument<'d> {
    pub(crate) key: &'d str,
    /// The stored bytes.
    pub(crate) bytes: &'d [u8],
    pub(crate) doc: ObjectIndexDoc,
}

/// The stored parts of an object index.
#[derive(Debug)]
pub(crate) struct IndexParts {
    /// The layout that was found, which may differ from the stated one; `None` for two blobs.
    pub(crate) layout: Option<ObjectLayout>,
    pub(crate) manifests: Option<Manifests>,
    /// The table of ids.
    pub(crate) table: Option<TypedArray>,
}

impl ObjectIndex {
    /// Creates an index from its parts.
    ///
    /// # Errors
    /// Malformed: an invalid list of deleted objects.
    pub(crate) fn new(
        kv: &Kv,
        IndexDocument { key, bytes, doc }: IndexDocument<'_>,
        key_rank: usize,
        parts: IndexParts,
        warnings: Arc<Warnings>,
    ) -> Result<Self, StoreError> {
        let IndexParts {
            layout,
            manifests,
            table,
        } = parts;
        let stored = manifests.as_ref().map_or(0, Manifests::stored);
        // The number of objects is written last: rows past it were written without a commit.
        let rows = doc.num_objects.unwrap_or(0).min(stored);
        let path = manifests
            .as_ref()
            .map_or("object_index", Manifests::path)
            .to_owned();
        let source = IdSource {
            layout,
            deleted: deleted::parse(&doc, rows, key)?,
            rows,
            stored,
            path,
            table,
            ids: Once::default(),
            lookups: LookUps::default(),
            warnings,
        };
        Ok(Self {
            kv: kv.clone(),
            doc,
            checksum: crc32c::crc32c(bytes),
            key_rank,
            source: Arc::new(source),
            manifests,
        })
    }

    /// Number of rows, with or without a manifest, including rows of deleted objects; 0 for an index that was created and never filled.
    pub fn len(&self) -> u64 {
        self.source.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Components of the chunk coordinates inside manifests.
    pub fn key_rank(&self) -> usize {
        self.key_rank
    }

    /// The index's document.
    pub fn doc(&self) -> &ObjectIndexDoc {
        &self.doc
    }

    /// CRC-32C of the index's document, as it is stored.
    pub(crate) fn checksum(&self) -> u32 {
        self.checksum
    }

    /// The form in which manifests are stored, as found, which may differ from the stated one; `None` for two blobs, `data` and `offsets`.
    pub fn layout(&self) -> Option<ObjectLayout> {
        self.source.layout
    }

    /// The ids of all rows, and which objects are deleted; loaded by the first call.
    ///
    /// # Cost
    /// No requests if there is no table, or it states that ids are row numbers. Otherwise at most one request for each stored chunk
    /// of the table; 8 bytes per row, and a map if the ids are not sorted.
    ///
    /// # Errors
    /// I/O; a damaged table. Ids that occur twice are a warning: the first row wins.
    pub async fn ids(&self) -> Result<Arc<IdTable>, StoreError> {
        self.ids_in(self.kv.round()).await
    }

    /// Whether [`ids`](Self::ids) would send requests: there is a table of ids that are not row numbers, and it was not read yet.
    pub(crate) fn has_unread_ids(&self) -> bool {
        let source = &self.source;
        source.ids.get().is_none() && source.table.is_some() && !source.states_rows()
    }

    /// Like [`ids`](Self::ids), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`ids`](Self::ids).
    pub fn ids_in(&self, round: u32) -> BoxFuture<'_, Result<Arc<IdTable>, StoreError>> {
        Box::pin(async move {
            if let Some(ids) = self.source.ids.get() {
                return Ok(ids);
            }
            let source = Arc::clone(&self.source);
            // Several callers may wait for one load, so it runs as a task, which does not depend on any of them being polled.
            driven(async move { source.ids.get_or_load(source.load(round)).await }).await
        })
    }

    /// Whether [`rows_of_in`](Self::rows_of_in) finds ids without reading the whole table of ids, which was not read yet.
    pub fn looks_up(&self) -> bool {
        self.source.ids.get().is_none() && self.source.divided().is_some()
    }

    /// The rows of some objects; `None` for an id that no object has.
    ///
    /// # Cost
    /// Nothing if the ids are row numbers, or the table was read. If the table states the first ids of its chunks, one request for each chunk that can have
    /// one of the ids; the index keeps up to 64 chunks for later calls. Otherwise as [`ids`](Self::ids).
    ///
    /// # Errors
    /// As [`ids`](Self::ids).
    pub fn rows_of_in<'a>(
        &'a self,
        round: u32,
        ids: &'a [i64],
    ) -> BoxFuture<'a, Result<Vec<Option<u64>>, StoreError>> {
        Box::pin(async move {
            if self.looks_up()
                && let Some(rows) = self.source.look_up(ids, round).await?
            {
                return Ok(rows);
            }
            let table = self.ids_in(round).await?;
            Ok(ids.iter().map(|id| table.slot(*id)).collect())
        })
    }

    /// The first row whose id differs from what the table of ids states about its chunks, and the stated id.
    ///
    /// # Cost
    /// No requests.
    pub fn misstated_id(&self, ids: &IdTable) -> Option<(u64, i64)> {
        self.source.misstated(ids)
    }

    /// The ids in the table of an index that states that ids are row numbers. [`ids`](Self::ids) does not read that table; this checks the
    /// statement.
    ///
    /// # Errors
    /// As [`ids`](Self::ids).
    pub fn stated_ids_in(
        &self,
        round: u32,
    ) -> BoxFuture<'_, Result<Option<Arc<IdTable>>, StoreError>> {
        Box::pin(async move {
            match self
                .source
                .table
                .as_ref()
                .filter(|_| self.source.states_rows())
            {
                Some(table) if !self.is_empty() => self.source.read(table, round).await.map(Some),
                _ => Ok(None),
            }
        })
    }

    /// Number of chunks in which the manifests are loaded: stored chunks of up to 16384 rows in stores of the reference.
    pub fn manifest_chunks(&self) -> u64 {
        match &self.manifests {
            Some(manifests) => self.len().div_ceil(manifests.per_part()),
            None => 0,
        }
    }

    /// The chunk of manifests that holds a row.
    pub fn chunk_of(&self, slot: u64) -> u64 {
        self.manifests.as_ref().map_or(0, |m| slot / m.per_part())
    }

    /// Number of manifests that are decoded together to get one of them: all of a stored chunk, or of a chunk inside a shard.
    pub fn decoded_together(&self) -> u64 {
        self.manifests.as_ref().map_or(1, Manifests::per_chunk)
    }

    /// The manifests of chunk `i`, loaded once and shared.
    ///
    /// # Cost
    /// At most one request if the chunk is one object, and two if the manifests are two blobs. Chunks inside a shard need its index, too. Dense
    /// manifests need two rounds: for the spans, then for their blocks.
    ///
    /// # Errors
    /// I/O; damaged framing; [`Class::Misuse`](crate::Class::Misuse) past the last chunk.
    pub async fn manifest_chunk(&self, i: u64) -> Result<Arc<ManifestChunk>, StoreError> {
        self.manifest_chunk_in(self.kv.round(), i).await
    }

    /// Like [`manifest_chunk`](Self::manifest_chunk), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub fn manifest_chunk_in(
        &self,
        round: u32,
        i: u64,
    ) -> BoxFuture<'_, Result<Arc<ManifestChunk>, StoreError>> {
        Box::pin(async move {
            let Some(manifests) = &self.manifests else {
                return Err(StoreError::misuse("the object index has no manifests"));
            };
            let part = manifests
                .part(&self.kv.in_round(round), i, self.len())
                .await?;
            Ok(Arc::new(part))
        })
    }

    /// The manifest of a row: chunks and fragments, in the order of the object.
    ///
    /// # Cost
    /// A few bytes can name 2^32 fragments. Whether chunks and fragments exist is not checked.
    ///
    /// # Errors
    /// A damaged manifest.
    pub fn entries<'m>(
        &self,
        slot: u64,
        manifest: &'m [u8],
    ) -> Result<impl Iterator<Item = (ChunkCoord, i64)> + use<'m>, StoreError> {
        let parsed = Manifest::parse(manifest, self.key_rank);
        let place = || format!("{}, row {slot}", self.source.path);
        let blocks = parsed.map_err(|source| StoreError::decode(place(), source))?;
        Ok(blocks.blocks().flat_map(|block| {
            let chunk: Vec<i64> = block.chunk.iter().map(|part| part.get()).collect();
            let chunk = ChunkCoord::new(&chunk);
            let fragments = block.fragments.iter();
            fragments.map(move |fragment| (chunk.clone(), fragment))
        }))
    }

    /// Frees the memory of loaded manifests; they are read again on demand.
    pub fn forget_manifests(&self) {
        if let Some(manifests) = &self.manifests {
            manifests.forget();
        }
    }

    /// The manifests of the given rows, in that order; a row past the end has none.
    ///
    /// # Cost
    /// The requests for each chunk that is not loaded yet, all at once; dense manifests need two rounds.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub async fn manifests(&self, slots: &[u64]) -> Result<Vec<Bytes>, StoreError> {
        self.manifests_in(self.kv.round(), slots).await
    }

    /// Like [`manifests`](Self::manifests), as part of the given round of requests.
    ///
    /// # Errors
    /// As [`manifest_chunk`](Self::manifest_chunk).
    pub fn manifests_in<'a>(
        &'a self,
        round: u32,
        slots: &'a [u64],
    ) -> BoxFuture<'a, Result<Vec<Bytes>, StoreError>> {
        Box::pin(async move {
            match &self.manifests {
                Some(manifests) => {
                    manifests
                        .of(&self.kv.in_round(round), slots, self.len())
                        .await
                }
                None => Ok(vec![Bytes::new(); slots.len()]),
            }
        })
    }
}
