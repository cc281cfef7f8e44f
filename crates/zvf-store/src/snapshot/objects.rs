//! From documents to the object index, groups and their tables.

use std::sync::Arc;

use zvf_meta::ObjectIndexDoc;

use super::plan::Family;
use super::{State, Tree};
use crate::groups::Groups;
use crate::kv::Question;
use crate::objects::ObjectIndex;
use crate::ragged::RaggedArray;
use crate::typed::TypedArray;
use crate::{Need, StoreError};

impl Tree {
    /// The documents of objects, groups and their tables that can be asked for now.
    pub(super) fn plan_objects(
        &self,
        state: &State,
        level: u32,
        need: &Need,
        questions: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let mut document =
            |path: &str| questions.push(Question::Document(format!("{level}/{path}/zarr.json")));
        if need.objects {
            document("object_index");
            document("object_index/manifests");
            document("object_index/object_ids");
        }
        if need.groups {
            document("groups");
        }
        for family in [Family::Object, Family::Group] {
            match self.names_of(state, level, family, need)? {
                Some(names) => questions.extend(names.iter().map(|n| {
                    Question::Document(format!("{level}/{}/{n}/zarr.json", family.folder()))
                })),
                None => questions.push(Question::Names(format!("{level}/{}", family.folder()))),
            }
        }
        Ok(())
    }

    /// The typed tables of a family, by name.
    pub(super) fn tables(
        &self,
        level: u32,
        family: Family,
        need: &Need,
    ) -> Result<Vec<TypedArray>, StoreError> {
        let names = self
            .names_of(&self.state(), level, family, need)?
            .unwrap_or_default();
        let round = self.state().rounds.saturating_add(1);
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let path = format!("{level}/{}/{name}", family.folder());
            let table = self.array_doc(&path).and_then(|doc| {
                doc.map(|doc| TypedArray::new(&self.kv, round, path, name, doc, &self.kv.limits))
                    .transpose()
            });
            match table {
                Ok(Some(table)) => tables.push(table),
                Ok(None) => {}
                Err(error) => self.skip(family, need, error)?,
            }
        }
        Ok(tables)
    }

    /// The object index of a level, when its documents are there. Built once.
    pub(crate) fn object_index(
        &self,
        level: u32,
        key_rank: usize,
    ) -> Result<Option<Arc<ObjectIndex>>, StoreError> {
        if let Some(index) = self.state().object_indexes.get(&level) {
            return Ok(Some(Arc::clone(index)));
        }
        let key = format!("{level}/object_index/zarr.json");
        let Some(bytes) = self.document(&key) else {
            return Ok(None);
        };
        let doc =
            ObjectIndexDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
        if doc.num_objects.is_some() {
            doc.layout()
                .map_err(|e| StoreError::document(key.clone(), e))?;
        }
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
        let limits = &self.kv.limits;
        let path = format!("{level}/object_index/manifests");
        let manifests = self
            .array_doc(&path)?
            .map(|doc| RaggedArray::new(path.clone(), doc, limits))
            .transpose()?;
        if let (Some(stated), None) = (doc.num_objects.filter(|n| *n > 0), &manifests) {
            return Err(StoreError::malformed(
                key,
                format!("num_objects is {stated}, but there are no manifests"),
            ));
        }
        if let (Some(stated), Some(manifests)) = (doc.num_objects, &manifests)
            && stated != manifests.rows()
        {
            self.warnings.add(format!(
                "{key}: num_objects is {stated}, but there are {} manifests",
                manifests.rows()
            ));
        }
        let round = self.state().rounds.saturating_add(1);
        let path = format!("{level}/object_index/object_ids");
        let ids = self
            .array_doc(&path)?
            .map(|doc| TypedArray::new(&self.kv, round, path, "object_ids".to_owned(), doc, limits))
            .transpose()?;
        let index = ObjectIndex::new(
            &self.kv,
            round,
            doc,
            key_rank,
            manifests,
            ids,
            Arc::clone(&self.warnings),
        );
        let index = Arc::new(index);
        self.state()
            .object_indexes
            .insert(level, Arc::clone(&index));
        Ok(Some(index))
    }

    /// The groups of a level, when they exist. Built once.
    pub(super) fn groups(&self, level: u32) -> Result<Option<Arc<Groups>>, StoreError> {
        if let Some(groups) = self.state().groups.get(&level) {
            return Ok(Some(Arc::clone(groups)));
        }
        let path = format!("{level}/groups");
        let Some(doc) = self.array_doc(&path)? else {
            return Ok(None);
        };
        let round = self.state().rounds.saturating_add(1);
        let members = RaggedArray::new(path, doc, &self.kv.limits)?;
        let groups = Arc::new(Groups::new(&self.kv, round, members));
        self.state().groups.insert(level, Arc::clone(&groups));
        Ok(Some(groups))
    }
}
