//! The object index during an edit: ids and manifests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use zvf_format::manifest::{Manifest, ManifestBuilder};
use zvf_meta::{ArrayDoc, ObjectIndexDoc, ObjectLayout};
use zvf_store::{ObjectIndex, StoreError};

use super::counts::recount;
use super::grid::unwritten;
use super::state::{EditState, FragmentAt};
use zvf_codec::Compression;
use zvf_encode::WriteError;
use zvf_encode::error::OrBug;
use zvf_encode::level::ManifestLayout;
use zvf_encode::tables::Typed;
use zvf_encode::target::{ObjectPut, node};
use zvf_format::int::wide;

/// The path of the index.
const PATH: &str = "0/object_index";

/// Most fragments that a manifest may name; a larger number indicates damage.
const MOST: u64 = 1 << 32;

/// Ids and manifests.
#[derive(Debug)]
pub(crate) struct EditedIndex {
    stored: Arc<ObjectIndex>,
    /// The id of each row.
    pub(crate) ids: Vec<i64>,
    rows: HashMap<i64, usize>,
    /// Number of stored rows.
    pub(crate) before: usize,
    /// Manifests that were read or set, by row.
    manifests: BTreeMap<usize, Vec<FragmentAt>>,
    /// Rows with a changed manifest.
    pub(crate) changed: BTreeSet<usize>,
    /// Whether the manifest of a row had fragments when it was read; an object without vertices has none.
    present: BTreeMap<usize, bool>,
    /// Chunks that manifests named before they were changed.
    pub(crate) left: BTreeSet<u32>,
    /// Ids of deleted objects.
    pub(crate) deleted: BTreeSet<i64>,
}

impl EditedIndex {
    pub(crate) async fn read(stored: &Arc<ObjectIndex>) -> Result<Self, WriteError> {
        match stored.layout() {
            Some(ObjectLayout::V2) => {}
            other => {
                let found = format!("layout {other:?}");
                return Err(WriteError::unsupported(
                    PATH,
                    found,
                    "layout vlen_manifests_v2",
                ));
            }
        }
        let ids: Vec<i64> = stored.ids().await?.iter().collect();
        let rows: HashMap<i64, usize> = ids.iter().copied().zip(0..).collect();
        if rows.len() != ids.len() || wide(ids.len()) != stored.len() {
            return Err(WriteError::unsupported(
                PATH,
                "ids that repeat or are missing",
                "one id a row",
            ));
        }
        // Deleted objects whose row was dropped by another writer are no longer listed.
        let deleted = stored.deleted().iter().copied();
        let deleted = deleted.filter(|id| rows.contains_key(id)).collect();
        Ok(Self {
            stored: Arc::clone(stored),
            before: ids.len(),
            ids,
            rows,
            manifests: BTreeMap::new(),
            changed: BTreeSet::new(),
            present: BTreeMap::new(),
            left: BTreeSet::new(),
            deleted,
        })
    }

    /// The stored index.
    pub(crate) fn stored(&self) -> &ObjectIndex {
        &self.stored
    }

    /// The row of an object.
    pub(crate) fn row(&self, id: i64) -> Option<usize> {
        self.rows.get(&id).copied()
    }

    /// Adds a row without fragments at the end, and returns it.
    pub(crate) fn add(&mut self, id: i64) -> usize {
        let row = self.ids.len();
        self.ids.push(id);
        self.rows.insert(id, row);
        self.manifests.insert(row, Vec::new());
        self.present.insert(row, false);
        self.changed.insert(row);
        row
    }

    /// Revives deleted objects; returns their rows.
    pub(crate) async fn revive(
        &mut self,
        state: &mut EditState,
        ids: impl Iterator<Item = i64>,
    ) -> Result<BTreeSet<usize>, WriteError> {
        let again: Vec<i64> = ids.filter(|id| self.deleted.remove(id)).collect();
        let rows: BTreeSet<usize> = again.iter().filter_map(|id| self.row(*id)).collect();
        // The list of deleted objects is part of the document, which is written with the manifests.
        self.peek(state, &rows).await?;
        self.changed.extend(&rows);
        Ok(rows)
    }

    /// The fragments of the object in a row; empty if its manifest was not read.
    pub(crate) fn blocks(&self, row: usize) -> &[FragmentAt] {
        self.manifests.get(&row).map_or(&[], Vec::as_slice)
    }

    fn id(&self, row: usize) -> Result<i64, WriteError> {
        let id = self.ids.get(row).copied();
        id.or_bug(format_args!("no object in row {row}"))
    }

    pub(crate) fn set(&mut self, row: usize, blocks: Vec<FragmentAt>) {
        let before = self.manifests.insert(row, blocks);
        let before = before.unwrap_or_default();
        self.left.extend(before.iter().map(|block| block.0));
        self.changed.insert(row);
    }

    /// The ids of objects with a changed manifest.
    pub(crate) fn ids_of_changed(&self) -> impl Iterator<Item = i64> + '_ {
        let rows = self.changed.iter();
        rows.filter_map(|row| self.ids.get(*row)).copied()
    }

    /// Rows whose manifest was read.
    pub(crate) fn known(&self) -> impl Iterator<Item = usize> + '_ {
        self.manifests.keys().copied()
    }

    /// Moves the fragments of `left` that manifests of `rows` name to `owners`, by row. The manifests must have been read.
    pub(crate) fn owners(
        &self,
        rows: &[usize],
        left: &mut BTreeSet<FragmentAt>,
        owners: &mut BTreeMap<usize, BTreeSet<FragmentAt>>,
    ) {
        for &row in rows {
            for block in self.blocks(row) {
                if left.remove(block) {
                    owners.entry(row).or_default().insert(*block);
                }
            }
        }
    }

    /// Reads manifests of objects that must not share fragments, and the chunks that they name.
    pub(crate) async fn load(
        &mut self,
        state: &mut EditState,
        rows: &BTreeSet<usize>,
    ) -> Result<(), WriteError> {
        self.peek_apart(state, rows).await?;
        state.load(self.slots(rows)).await?;
        for block in rows.iter().flat_map(|&row| self.blocks(row)) {
            state.fragment(*block)?;
        }
        Ok(())
    }

    /// The chunks that manifests name; they must have been read.
    pub(crate) fn slots(&self, rows: &BTreeSet<usize>) -> BTreeSet<u32> {
        let blocks = rows.iter().flat_map(|&row| self.blocks(row));
        blocks.map(|block| block.0).collect()
    }

    /// Reads manifests of objects that must not share fragments.
    pub(crate) async fn peek_apart(
        &mut self,
        state: &mut EditState,
        rows: &BTreeSet<usize>,
    ) -> Result<(), WriteError> {
        self.peek(state, rows).await?;
        self.check_apart(rows)
    }

    /// Refuses objects that share a fragment, because a change of one would also change the other.
    fn check_apart(&self, rows: &BTreeSet<usize>) -> Result<(), WriteError> {
        let mut seen = BTreeSet::new();
        for &row in rows {
            if self.blocks(row).iter().any(|block| !seen.insert(*block)) {
                let id = self.id(row)?;
                let found = format!("a fragment of object {id} that manifests name twice");
                let expected = "fragments that belong to one object";
                let path = format!("{PATH}/manifests");
                return Err(WriteError::unsupported(path, found, expected));
            }
        }
        Ok(())
    }

    /// Reads the manifests that were not read before.
    pub(crate) async fn peek(
        &mut self,
        state: &mut EditState,
        rows: &BTreeSet<usize>,
    ) -> Result<(), WriteError> {
        let missing: Vec<usize> = rows
            .iter()
            .copied()
            .filter(|row| !self.manifests.contains_key(row))
            .collect();
        let places: Vec<u64> = missing.iter().map(|&row| wide(row)).collect();
        let blobs = self
            .stored
            .manifests_in(state.level.next_round(), &places)
            .await?;
        let rank = state.level.key_rank();
        for (row, blob) in missing.into_iter().zip(blobs) {
            let mut blocks = Vec::new();
            // A row that was never written is an empty object (trap T31).
            if !blob.is_empty() {
                let id = self.id(row)?;
                let manifest =
                    Manifest::parse(&blob, rank).map_err(|source| StoreError::Decode {
                        key: format!("{PATH}/manifests, object {id}"),
                        source,
                    })?;
                let count = manifest.fragment_count();
                if count > (wide(blob.len()) * 1024).min(MOST) {
                    return Err(WriteError::limit("fragments of an object", count, MOST));
                }
                for (chunk, fragment) in manifest.fragment_refs() {
                    let chunk: Vec<i64> = chunk.iter().map(|c| c.get()).collect();
                    let fragment = u32::try_from(fragment).map_err(|_| {
                        WriteError::limit("fragments of one chunk", count, u64::from(u32::MAX))
                    })?;
                    blocks.push((state.slot(&chunk)?, fragment));
                }
            }
            self.present.insert(row, !blocks.is_empty());
            self.manifests.insert(row, blocks);
        }
        Ok(())
    }

    /// Whether the ids ascend.
    fn is_sorted(&self) -> bool {
        self.ids.is_sorted()
    }

    /// The document of the index after the edit.
    ///
    /// # Errors
    /// Malformed data: a document that counts fewer objects than the edit changes.
    pub(crate) fn doc(&self) -> Result<ObjectIndexDoc, WriteError> {
        let mut doc = self.stored.doc().clone();
        doc.num_objects = Some(wide(self.ids.len()));
        if let Some(count) = &mut doc.num_present {
            let is = |row: &&usize| !self.blocks(**row).is_empty();
            // Rows without an entry are new.
            let was = |row: &&usize| self.present.get(*row).is_some_and(|was| *was);
            let gone = wide(self.changed.iter().filter(was).count());
            let now = wide(self.changed.iter().filter(is).count());
            *count = recount(PATH, "num_present", *count, gone, now)?;
        }
        if doc.object_ids_sorted.is_some() {
            doc.object_ids_sorted = Some(self.is_sorted());
        }
        ObjectIndex::list_deleted(&mut doc, self.deleted.iter().copied());
        Ok(doc)
    }

    /// The objects to put for the id table, if there are new ids, or rows that were never committed and that the manifests lose.
    pub(crate) fn id_objects(&self, doc: &ArrayDoc) -> Result<Vec<ObjectPut>, WriteError> {
        if self.ids.len() == self.before && doc.shape == [wide(self.before)] {
            return Ok(Vec::new());
        }
        table_of_ids(&self.ids, doc)
    }

    /// The objects to put for the changed manifests and for the document that counts them.
    pub(crate) async fn manifest_objects(
        &self,
        state: &EditState,
        doc: &ArrayDoc,
    ) -> Result<Vec<ObjectPut>, WriteError> {
        let layout = manifest_layout(doc)?;
        let bucket = layout.rows()?;
        let touched: BTreeSet<usize> = self
            .changed
            .iter()
            .filter_map(|row| row.checked_div(bucket))
            .collect();
        let (mut objects, mut doc) = (Vec::new(), doc.clone());
        for number in touched {
            let first = number * bucket;
            let end = (first + bucket).min(self.ids.len());
            let mut old = None;
            if first < self.before {
                let of_bucket = self.stored.chunk_of(wide(first));
                let round = state.level.next_round();
                old = Some(self.stored.manifest_chunk_in(round, of_bucket).await?);
            }
            let manifests = (first..end).map(|row| {
                if self.changed.contains(&row) {
                    return self.blob(state, row).map(Cow::Owned);
                }
                let stored = old.as_ref().map_or(&[][..], |chunk| chunk.blob(wide(row)));
                Ok(Cow::Borrowed(stored))
            });
            let encoded = layout.encode(manifests)?;
            encoded.list(wide(number), &mut doc.attributes);
            objects.push((format!("{PATH}/manifests/c/{number}"), encoded.bytes));
        }
        let rows = wide(self.ids.len());
        // The chunks of new rows are written. Whether the others are stored stays unknown if the old document does not record it.
        let chunks = rows.div_ceil(wide(bucket));
        doc.attributes.stored_chunks = doc.attributes.stored_chunks.map(|_| chunks);
        doc.shape = vec![rows];
        objects.push(node(format_args!("{PATH}/manifests"), doc.to_json()));
        Ok(objects)
    }

    /// The manifest of an object, with one fragment per block.
    fn blob(&self, state: &EditState, row: usize) -> Result<Vec<u8>, WriteError> {
        let id = self.id(row)?;
        let failed = |source| WriteError::encode(format!("manifest of object {id}"), source);
        let mut manifest = ManifestBuilder::new(state.level.key_rank()).map_err(failed)?;
        // A manifest that was not read must not be replaced by an empty one.
        let blocks = self.manifests.get(&row);
        for (slot, fragment) in blocks.or_bug(format_args!("object {id} was not read"))? {
            manifest
                .push(state.coord(*slot)?, i64::from(*fragment))
                .map_err(failed)?;
        }
        Ok(manifest.finish())
    }
}

/// How the manifests of an array are stored; fails if an edit cannot preserve it.
pub(crate) fn manifest_layout(doc: &ArrayDoc) -> Result<ManifestLayout, WriteError> {
    let layout = ManifestLayout::of(doc)?;
    layout.ok_or_else(|| unwritten(&format!("{PATH}/manifests"), &doc.codecs))
}

/// The objects to put for a table of ids and its document. Without ids there is no chunk: a caller that drops all
/// rows must remove the existing one.
pub(crate) fn table_of_ids(ids: &[i64], doc: &ArrayDoc) -> Result<Vec<ObjectPut>, WriteError> {
    let path = format!("{PATH}/object_ids");
    let fill = doc.fill_value.as_i64().ok_or_else(|| {
        let found = format!("fill value {}", doc.fill_value);
        WriteError::unsupported(path.clone(), found, "a whole number of 64 bits")
    })?;
    let compression = table_codecs(&path, doc)?;
    let attributes = doc.attributes.clone();
    let (new, mut objects) = Typed::ids(ids, fill, &path, &compression, attributes)?;
    let doc = ArrayDoc {
        shape: new.shape,
        chunk_shape: new.chunk_shape,
        attributes: new.attributes,
        ..doc.clone()
    };
    objects.push(node(path, doc.to_json()));
    Ok(objects)
}

/// The compression of a table; fails if it is not stored in plain chunks.
pub(crate) fn table_codecs(path: &str, doc: &ArrayDoc) -> Result<Compression, WriteError> {
    let little = |configuration: &Value| {
        configuration
            .get("endian")
            .is_none_or(|endian| endian.as_str() == Some("little"))
    };
    let first = doc.codecs.first();
    let plain = doc.key_encoding == zvf_meta::KeyEncoding::default()
        && first.is_some_and(|first| little(&first.configuration));
    let compression = Compression::behind("bytes", &doc.codecs).filter(|_| plain);
    compression.ok_or_else(|| unwritten(path, &doc.codecs))
}
