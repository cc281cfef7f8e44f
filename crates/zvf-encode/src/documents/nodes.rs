//! The documents of a level, which are written after all its cells.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zvf_meta::{ArrayAttributes, KeyList};

use crate::WriteError;
use crate::documents::build;
use crate::documents::build::Docs;
use crate::level::blobs;
use crate::level::shard::{CellContainer, LevelCells};
use crate::target::{Below, node};
use crate::values::text_list::TextList;

/// The documents of a level, by path, until they are written.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Documents of arrays by their paths in the level.
    pub arrays: Docs,
    /// Documents of groups with attributes of their own, by path.
    pub groups: BTreeMap<String, String>,
    /// Groups that represent arrays of cells.
    cell_groups: BTreeMap<String, String>,
    /// The categories of arrays, by path; they are added to the documents when these are written.
    texts: BTreeMap<String, Arc<TextList>>,
}

impl Nodes {
    /// Adds the document of an array of cells, or of the group that represents it in 0.8.1; `present` lists the chunks that have a cell.
    pub fn cells(
        &mut self,
        cells: &LevelCells,
        path: impl Into<String>,
        present: KeyList,
        attributes: ArrayAttributes,
    ) {
        match cells.container {
            CellContainer::Grid => {
                let path = path.into();
                let doc = build::grid_doc(cells, &path, present, attributes);
                self.arrays.push((path, doc));
            }
            CellContainer::Blobs => self.add_cell_group(path, blobs::group(&attributes)),
        }
    }

    /// Adds the node of an array of cells with codes of these texts.
    pub(crate) fn coded_cells(
        &mut self,
        cells: &LevelCells,
        path: String,
        present: KeyList,
        mut attributes: ArrayAttributes,
        texts: &Arc<TextList>,
    ) {
        match cells.container {
            CellContainer::Grid => {
                self.texts.insert(path.clone(), Arc::clone(texts));
            }
            CellContainer::Blobs => {
                attributes.categories = Some(texts.iter().map(Into::into).collect());
            }
        }
        self.cells(cells, path, present, attributes);
    }

    /// Adds the group that represents an array of cells.
    pub(crate) fn add_cell_group(&mut self, path: impl Into<String>, document: String) {
        self.cell_groups.insert(path.into(), document);
    }

    /// Adds all documents of `other`, another part of the level.
    pub fn extend(&mut self, other: Self) {
        self.arrays.extend(other.arrays);
        self.groups.extend(other.groups);
        self.cell_groups.extend(other.cell_groups);
        self.texts.extend(other.texts);
    }

    /// Returns the families that have an array, for `arrays_present` of the level, in the order of the format page.
    pub fn families(&self) -> Vec<&'static str> {
        const ALL: [&str; 11] = [
            "vertices",
            "vertex_attributes",
            "links",
            "link_attributes",
            "cross_chunk_links",
            "cross_chunk_link_attributes",
            "object_index",
            "object_attributes",
            "groups",
            "group_attributes",
            "fragment_attributes",
        ];
        let arrays = self.arrays.iter().map(|(path, _)| path.as_str());
        let paths = arrays.chain(self.cell_groups.keys().map(String::as_str));
        let heads: BTreeSet<&str> = paths.filter_map(|path| path.split('/').next()).collect();
        ALL.into_iter()
            .filter(|name| heads.contains(name))
            .collect()
    }

    /// Writes all documents, and a plain group for every other path above them.
    ///
    /// # Cost
    /// Memory: the bytes of the largest document with texts, and of all other documents.
    pub fn put(self, target: &Below<'_>) -> Result<(), WriteError> {
        let mut groups = self.groups;
        groups.extend(self.cell_groups);
        let arrays = self.arrays.iter().map(|(path, _)| path.as_str());
        let mut between = BTreeSet::new();
        for mut path in arrays.chain(groups.keys().map(String::as_str)) {
            while let Some((above, _)) = path.rsplit_once('/') {
                between.insert(above.to_owned());
                path = above;
            }
        }
        for path in between {
            groups.entry(path).or_insert_with(build::plain_group);
        }
        let mut all = Vec::new();
        for (path, doc) in self.arrays {
            match self.texts.get(&path) {
                Some(texts) => {
                    let json = doc.to_json_of(texts.iter());
                    let json = json.map_err(|error| WriteError::bug(format!("{path}: {error}")))?;
                    target.put(vec![node(path, json)])?;
                }
                None => all.push(node(path, doc.to_json())),
            }
        }
        all.extend(groups.into_iter().map(|(path, json)| node(path, json)));
        target.put(all)
    }
}
