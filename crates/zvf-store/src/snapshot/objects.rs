//! Builds the object index, groups and their tables from documents.

use std::sync::Arc;

use zvf_meta::{ArrayAttributes, NodeKind, ObjectIndexDoc, ObjectLayout, node_kind};

use super::plan::NameFamily;
use super::{ArrayOrGroup, SnapshotState, SnapshotTree, attributes_of_group, document_at};
use crate::blob_array::BlobArray;
use crate::groups::{Groups, MemberLists};
use crate::level::Refused;
use crate::objects::{Dense, IndexDocument, IndexParts, Manifests, ObjectIndex, SplitManifests};
use crate::ragged::RaggedArray;
use crate::typed::TypedArray;
use crate::{Need, StoreError};
use zvf_io::{Cap, Question};

impl SnapshotTree {
    /// The documents of objects, groups and their tables that can be requested now.
    pub(super) fn plan_objects(
        &self,
        state: &SnapshotState,
        level: u32,
        need: &Need,
        questions: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let mut document = |path: String| questions.push(document_at(path));
        if need.objects {
            let index = format!("{level}/object_index");
            document(index.clone());
            document(format!("{index}/manifests"));
            document(format!("{index}/object_ids"));
            for child in other_children(state, &index) {
                document(format!("{index}/{child}"));
            }
        }
        if need.groups {
            let groups = format!("{level}/groups");
            document(groups.clone());
            if state.is_group(&groups) {
                document(format!("{groups}/data"));
                document(format!("{groups}/offsets"));
            }
            // Padded member lists are in another folder.
            if state.may_have(&level.to_string(), "groupings") {
                document(format!("{level}/groupings"));
            }
        }
        for family in [NameFamily::Object, NameFamily::Group] {
            let folder = format!("{level}/{}", family.folder());
            let Some(names) = self.names_of(state, level, family, need)? else {
                questions.push(Question::Names(folder));
                continue;
            };
            for name in names {
                let path = format!("{folder}/{name}");
                if let Some(attributes) = state.group_attributes(&path) {
                    questions.push(document_at(format_args!("{path}/data")));
                    if attributes.has_present_mask == Some(true) {
                        questions.push(document_at(format_args!("{path}/present_mask")));
                    }
                }
                questions.push(document_at(&path));
            }
        }
        Ok(())
    }

    /// The typed tables of a family, by name.
    pub(super) fn tables(
        &self,
        level: u32,
        family: NameFamily,
        need: &Need,
        refused: &mut Vec<Refused>,
    ) -> Result<Vec<TypedArray>, StoreError> {
        let names = self
            .names_of(&self.state(), level, family, need)?
            .unwrap_or_default();
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let path = format!("{level}/{}/{name}", family.folder());
            let table = self.table(family, path.clone(), name.clone());
            let table = table.and_then(|table| {
                if let Some(table) = &table {
                    self.compare_table((level, family), table)?;
                }
                Ok(table)
            });
            match table {
                Ok(Some(table)) => tables.push(table),
                Ok(None) => {}
                Err(error) => self.skip(family, need, &path, error, refused)?,
            }
        }
        Ok(tables)
    }

    /// One table: an array, or a group of blobs.
    fn table(
        &self,
        family: NameFamily,
        path: String,
        name: String,
    ) -> Result<Option<TypedArray>, StoreError> {
        let kv = self.next_kv();
        match self.node(&path)? {
            None => Ok(None),
            Some(ArrayOrGroup::Array(doc)) => {
                TypedArray::new(&kv, path, name, *doc, Cap::rows(kv.limits())).map(Some)
            }
            Some(ArrayOrGroup::Group(_)) => {
                let attributes = self.group_attributes(&path)?;
                let Some(data) = self.blob_array(format!("{path}/data"))? else {
                    if attributes.shape.is_none() && attributes.dtype.is_none() {
                        return self.check_placeholder(&path).map(|()| None);
                    }
                    return Err(self.missing(&format!("{path}/data/zarr.json")));
                };
                // Tables of groups have no mask (0.7, section 10.5).
                if family == NameFamily::Object && attributes.has_present_mask.is_none() {
                    return Err(StoreError::malformed(
                        format!("{path}/zarr.json"),
                        "has_present_mask is missing: it is not known which objects have a value",
                    ));
                }
                let mask = if attributes.has_present_mask == Some(true) {
                    let mask = format!("{path}/present_mask");
                    let found = self.blob_array(mask.clone())?;
                    let missing = || {
                        StoreError::malformed(
                            mask,
                            "has_present_mask is true, but there is no mask",
                        )
                    };
                    Some(found.ok_or_else(missing)?)
                } else {
                    None
                };
                TypedArray::of_blobs(&kv, path, name, attributes, data, mask).map(Some)
            }
        }
    }

    /// One blob, if it exists.
    fn blob_array(&self, path: String) -> Result<Option<BlobArray>, StoreError> {
        let doc = self.array_doc(&path)?;
        doc.map(|doc| BlobArray::new(path, &doc)).transpose()
    }

    /// One table of the object index, if it exists.
    fn index_table(&self, path: String, most: Cap) -> Result<Option<TypedArray>, StoreError> {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let doc = self.array_doc(&path)?;
        doc.map(|doc| TypedArray::new(&self.next_kv(), path, name, doc, most))
            .transpose()
    }

    /// The object index of a level, if its documents exist. Built once.
    pub(crate) fn object_index(
        &self,
        level: u32,
        key_rank: usize,
    ) -> Result<Option<Arc<ObjectIndex>>, StoreError> {
        if let Some(index) = self.state().object_indexes.get(&level) {
            return Ok(Some(Arc::clone(index)));
        }
        let folder = format!("{level}/object_index");
        let key = format!("{folder}/zarr.json");
        let Some(bytes) = self.document(&key) else {
            return self.check_there(&folder).map(|()| None);
        };
        let doc =
            ObjectIndexDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
        let stated = doc
            .sid_ndim
            .map_or(Some(key_rank), |n| usize::try_from(n).ok());
        if stated != Some(key_rank) {
            return Err(StoreError::malformed(
                key,
                format!(
                    "sid_ndim is {}, expected {key_rank}",
                    doc.sid_ndim.unwrap_or_default()
                ),
            ));
        }
        let parts = self.index_parts(&folder, &doc, key_rank)?;
        match (doc.num_objects, &parts.manifests) {
            (Some(stated), None) if stated > 0 => {
                return Err(StoreError::malformed(
                    key,
                    format!("num_objects is {stated}, but there are no manifests"),
                ));
            }
            (Some(stated), Some(manifests)) if stated != manifests.stored() => {
                self.warnings.add(format!(
                    "{key}: num_objects is {stated}, but there are {} manifests",
                    manifests.stored()
                ));
            }
            _ => {}
        }
        let (kv, warnings) = (self.next_kv(), Arc::clone(&self.warnings));
        let document = IndexDocument {
            key: &key,
            bytes: &bytes,
            doc,
        };
        let index = ObjectIndex::new(&kv, document, key_rank, parts, warnings)?;
        let index = Arc::new(index);
        self.state()
            .object_indexes
            .insert(level, Arc::clone(&index));
        Ok(Some(index))
    }

    /// Determines how an index stores its manifests: as the stated layout requires. Exception: if there is no array of manifests but there are dense
    /// manifests, these are used, whatever the document states.
    fn index_parts(
        &self,
        folder: &str,
        doc: &ObjectIndexDoc,
        key_rank: usize,
    ) -> Result<IndexParts, StoreError> {
        let limits = self.kv.limits();
        let child = |name: &str| format!("{folder}/{name}");
        let path = child("manifests");
        let manifests = self.array_doc(&path)?;
        let table = |most| self.index_table(child("object_ids"), most);
        let mut parts = IndexParts {
            layout: None,
            manifests: None,
            table: None,
        };
        let Some(objects) = doc.num_objects else {
            // The document of an index that was created but never filled lacks num_objects.
            let filled = manifests.is_some_and(|doc| doc.shape.first().is_none_or(|n| *n > 0))
                || self.array_doc(&child("data"))?.is_some();
            if filled {
                return Err(StoreError::malformed(
                    format!("{folder}/zarr.json"),
                    "num_objects is missing, but there are manifests",
                ));
            }
            if doc.zv_array.is_none() && self.is_ruled() {
                return Err(StoreError::malformed(
                    format!("{folder}/zarr.json"),
                    "zv_array and num_objects are missing: this is not the document of an object index",
                ));
            }
            return Ok(parts);
        };
        let named = match &doc.layout {
            Some(_) => Some(
                doc.layout()
                    .map_err(|e| StoreError::document(format!("{folder}/zarr.json"), e))?,
            ),
            None => None,
        };
        let dense = named == Some(ObjectLayout::Dense) || manifests.is_none();
        if dense
            && let Some(spans) = self.index_table(child("manifest_spans"), Cap::rows(limits))?
        {
            // The limit on rows does not apply, because this table is never read whole.
            let cap = Cap {
                most: u64::MAX,
                ..Cap::rows(limits)
            };
            let Some(blocks) = self.index_table(child("manifest_blocks"), cap)? else {
                return Err(self.missing(&format!("{}/zarr.json", child("manifest_blocks"))));
            };
            parts.layout = Some(ObjectLayout::Dense);
            parts.manifests = Some(Manifests::Dense(Arc::new(Dense::new(
                spans, blocks, key_rank, limits,
            )?)));
            // The table may have ids of objects that were not committed.
            parts.table = table(Cap::rows(limits))?;
            return Ok(parts);
        }
        if named.is_none()
            && let (Some(data), Some(offsets)) = (
                self.blob_array(child("data"))?,
                self.blob_array(child("offsets"))?,
            )
        {
            Cap::rows(limits).check(&format!("{folder}/zarr.json"), objects)?;
            parts.manifests = Some(Manifests::Split(Arc::new(SplitManifests::new(
                data, offsets, objects,
            )?)));
            return Ok(parts);
        }
        // Without a layout, the meaning of rows is unknown and is not guessed.
        let layout = match named {
            Some(layout) => layout,
            None if objects == 0 => return Ok(parts),
            None => doc
                .layout()
                .map_err(|e| StoreError::document(format!("{folder}/zarr.json"), e))?,
        };
        if let Some(doc) = &manifests {
            self.compare_keys(folder, &path, doc);
        }
        parts.layout = Some(layout);
        parts.table = table(Cap::rows(limits))?;
        if parts.table.is_none() && layout == ObjectLayout::V2 && objects > 0 {
            return Err(StoreError::malformed(
                format!("{}/zarr.json", child("object_ids")),
                format!("is missing: the ids of the {objects} objects are not known"),
            ));
        }
        parts.manifests = manifests
            .map(|doc| RaggedArray::new(path, doc, limits))
            .transpose()?
            .map(|array| array.with_filled(doc.num_present, &self.warnings))
            .map(|array| Manifests::Vlen(Arc::new(array)));
        Ok(parts)
    }

    /// The groups of a level, if they exist. Built once.
    pub(super) fn groups(&self, level: u32) -> Result<Option<Arc<Groups>>, StoreError> {
        if let Some(groups) = self.state().groups.get(&level) {
            return Ok(Some(Arc::clone(groups)));
        }
        let path = format!("{level}/groups");
        let (attributes, members) = match self.node(&path)? {
            Some(ArrayOrGroup::Array(doc)) => {
                let attributes = doc.attributes.clone();
                self.compare_keys(&level.to_string(), &path, &doc);
                let array = RaggedArray::new(path, *doc, self.kv.limits())?;
                self.compare_group_count(&attributes, &array);
                (attributes, MemberLists::Ragged(Arc::new(array)))
            }
            Some(ArrayOrGroup::Group(_)) => {
                let attributes = self.group_attributes(&path)?;
                let data = self.blob_array(format!("{path}/data"))?;
                let offsets = self.blob_array(format!("{path}/offsets"))?;
                let (Some(data), Some(offsets)) = (data, offsets) else {
                    return self.check_placeholder(&path).map(|()| None);
                };
                let (data, offsets) = (Arc::new(data), Arc::new(offsets));
                (attributes, MemberLists::Split { data, offsets })
            }
            None => {
                let path = format!("{level}/groupings");
                let Some(table) = self.index_table(path, Cap::rows(self.kv.limits()))? else {
                    return Ok(None);
                };
                if let Some(doc) = table.doc() {
                    self.compare_keys(&level.to_string(), table.path(), doc);
                }
                (
                    table.attributes().clone(),
                    MemberLists::Padded(Box::new(table)),
                )
            }
        };
        let groups = Arc::new(Groups::new(&self.next_kv(), attributes, members)?);
        self.state().groups.insert(level, Arc::clone(&groups));
        Ok(Some(groups))
    }
}

impl SnapshotTree {
    /// Warns if an array of groups has fewer rows than its attributes state.
    fn compare_group_count(&self, attributes: &ArrayAttributes, array: &RaggedArray) {
        let names = attributes.group_names.as_ref();
        let names = names.and_then(|names| u64::try_from(names.len()).ok());
        let stated = names.max(attributes.num_groups).unwrap_or(0);
        if stated > array.rows() {
            self.warnings.add(format!(
                "{}/zarr.json: {stated} groups are stated, but there are {}: groups are missing",
                array.path(),
                array.rows()
            ));
        }
    }
}

/// The children of an object index that are requested if its document may refer to them.
fn other_children(state: &SnapshotState, index: &str) -> &'static [&'static str] {
    let bytes = state.bytes(&format!("{index}/zarr.json"));
    let Some(doc) = bytes.and_then(|bytes| ObjectIndexDoc::parse(&bytes).ok()) else {
        return &[];
    };
    let manifests = state.exists(&format!("{index}/manifests/zarr.json"));
    match (doc.num_objects, doc.layout.as_deref()) {
        (None, _) => &["data"],
        (Some(_), Some(layout)) if layout == ObjectLayout::Dense.name() => {
            &["manifest_spans", "manifest_blocks"]
        }
        (Some(1..), Some(_)) if !manifests => &["manifest_spans", "manifest_blocks"],
        (Some(_), Some(_)) => &[],
        (Some(_), None) => &["data", "offsets", "manifest_spans", "manifest_blocks"],
    }
}

impl SnapshotState {
    /// Whether a level has a table of ids beside manifests, and all documents of its object index are known: an index that is built from fewer may have
    /// other manifests.
    pub(crate) fn has_ids(&self, level: u32) -> bool {
        let index = format!("{level}/object_index");
        let exists = |part: &&str| self.exists(&format!("{index}{part}/zarr.json"));
        let knows = |child: &&str| self.knows(&document_at(format_args!("{index}/{child}")));
        ["", "/manifests", "/object_ids"].iter().all(exists)
            && other_children(self, &index).iter().all(knows)
    }

    /// Whether the node at a path is known to be a group.
    fn is_group(&self, path: &str) -> bool {
        self.bytes(&format!("{path}/zarr.json"))
            .is_some_and(|bytes| node_kind(&bytes).ok() == Some(NodeKind::Group))
    }

    /// The attributes of the group at a path, if they are known.
    fn group_attributes(&self, path: &str) -> Option<ArrayAttributes> {
        attributes_of_group(&self.bytes(&format!("{path}/zarr.json"))?).ok()
    }
}
