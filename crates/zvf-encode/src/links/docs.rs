//! The documents of a family.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_meta::{ArrayAttributes, JsonObject, LinkAttributeFamilyDoc, LinkFamilyDoc};
use zvf_store::ChunkCoord;

use super::cell::WrittenLinkCell;
use super::groups::Grouped;
use super::policy::{ArrayKey, FamilySpec, LinkColumn};
use crate::documents::nodes::Nodes;
use crate::error::OrBug;
use crate::level::shard::LevelCells;
use crate::spec::target_version::LinksBy;
use crate::{WriteError, documents};

/// A family of links with written cells: the input of its documents.
#[derive(Debug)]
pub struct WrittenFamily {
    /// The family.
    pub family: FamilySpec,
    /// The cells with links.
    pub cells: Vec<WrittenLinkCell>,
    /// Links, each counted once.
    pub links: u64,
    /// Stored links, including copies.
    pub records: u64,
    /// Groups of links inside chunks, if they follow fragments.
    pub groups: Option<Grouped>,
}

/// The cells of one array, with their keys.
type Present<'s> = Vec<(&'s [i64], &'s WrittenLinkCell)>;

impl WrittenFamily {
    /// Whether the groups of links inside chunks follow the fragments of every chunk, as `fragment_link_groups` of a level claims.
    pub fn follows_fragments(&self) -> bool {
        let groups = self.groups.as_ref();
        groups.is_some_and(|groups| groups.everywhere && !groups.chunks.is_empty())
    }

    /// The documents of arrays and groups; empty if there are no links to describe.
    pub fn nodes(&self, cells: &LevelCells) -> Result<Nodes, WriteError> {
        let policy = &self.family.policy;
        let mut nodes = Nodes::default();
        let zeros = vec![0; policy.width * policy.rank];
        let mut arrays: BTreeMap<ArrayKey<'_>, Present<'_>> = BTreeMap::new();
        if policy.inner {
            let inner = match policy.by {
                LinksBy::Offsets => self.family.array(&zeros)?.0,
                LinksBy::Chunks => ArrayKey::Inside,
            };
            arrays.insert(inner, Vec::new());
        }
        for cell in &self.cells {
            let (array, chunk) = self.family.array(&cell.key)?;
            arrays.entry(array).or_default().push((chunk, cell));
        }
        let (mut links, mut records) = (self.links, self.records);
        if let Some(inside) = arrays.get(&ArrayKey::Inside) {
            // 0.8 counts links between chunks only.
            let inside: u64 = inside.iter().map(|(_, cell)| cell.records).sum();
            links = links.checked_sub(inside).or_bug("too few links")?;
            records = records.checked_sub(inside).or_bug("too few records")?;
        }
        for (&array, present) in &arrays {
            self.describe(array, present, cells, (links, records), &mut nodes)?;
        }
        if policy.by == LinksBy::Offsets && !arrays.is_empty() {
            let doc = self.family_doc("links_family", (links, records));
            let path = |attribute| self.family.path(ArrayKey::Inside, attribute);
            nodes.groups.insert(path(None), doc);
            for one in &self.family.columns {
                let doc = LinkAttributeFamilyDoc {
                    zv_array: Some("link_attribute_family".to_owned()),
                    name: Some(one.name.clone()),
                    level_delta: Some(policy.delta),
                    num_links: Some(links),
                    ..LinkAttributeFamilyDoc::default()
                };
                let doc = doc.to_group().to_json_line();
                nodes.groups.insert(path(Some(&one.name)), doc);
            }
        }
        Ok(nodes)
    }

    /// Adds the documents of one array, and of the arrays with its values and groups.
    fn describe(
        &self,
        array: ArrayKey<'_>,
        present: &Present<'_>,
        cells: &LevelCells,
        counts: (u64, u64),
        nodes: &mut Nodes,
    ) -> Result<(), WriteError> {
        let family = &self.family;
        let cells = &family.cells_of(array, cells);
        let keys = documents::presence(present.iter().map(|(chunk, _)| *chunk))?;
        let path = family.path(array, None);
        if array == ArrayKey::Across {
            nodes.add_cell_group(path, self.family_doc("cross_chunk_links", counts));
        } else {
            nodes.cells(cells, path, keys.clone(), family.array_attributes(array));
        }
        if !family.form(array).ragged {
            let attributes = documents::fragments("link_fragments");
            let keys = match &self.groups {
                Some(groups) => {
                    documents::presence(groups.chunks.iter().map(ChunkCoord::as_slice))?
                }
                None => keys,
            };
            nodes.cells(cells, "link_fragments", keys, attributes);
        }
        for (at, one) in family.columns.iter().enumerate() {
            let mut chunks = Vec::new();
            for (chunk, cell) in present {
                if is_valued(cell, at)? {
                    chunks.push(*chunk);
                }
            }
            // Readers would take an array without any values for one whose values were lost.
            if chunks.is_empty() && !present.is_empty() {
                continue;
            }
            let keys = documents::presence(chunks)?;
            let mut attributes = family.value_attributes(array, one);
            match array {
                ArrayKey::Offsets(_) if !one.complete => {
                    // Not set for complete attributes: readers then warn if the source has lost values.
                    let lacks = |cell: &WrittenLinkCell| cell.valued.get(at) == Some(&false);
                    attributes.links_without_values = self.cells.iter().any(lacks).then_some(true);
                }
                ArrayKey::Across => {
                    let count = Value::from(counts.0);
                    attributes.extra.insert("num_links".to_owned(), count);
                }
                ArrayKey::Offsets(_) | ArrayKey::Inside => {}
            }
            nodes.cells(cells, family.path(array, Some(&one.name)), keys, attributes);
        }
        Ok(())
    }

    /// The document of the group `links/<delta>` or `cross_chunk_links/<delta>`.
    fn family_doc(&self, word: &str, (links, records): (u64, u64)) -> String {
        let policy = &self.family.policy;
        let doc = LinkFamilyDoc {
            zv_array: Some(word.to_owned()),
            level_delta: Some(policy.delta),
            link_width: u32::try_from(policy.width).ok(),
            directed: policy.directed,
            store: policy.store,
            sid_ndim: u32::try_from(policy.rank).ok(),
            num_links: Some(links),
            num_physical_records: Some(records),
            ..LinkFamilyDoc::default()
        };
        doc.to_group().to_json_line()
    }
}

/// Whether an attribute has values in a cell.
fn is_valued(cell: &WrittenLinkCell, at: usize) -> Result<bool, WriteError> {
    let valued = cell.valued.get(at).copied();
    valued.or_bug("a cell without this attribute")
}

impl FamilySpec {
    fn offset_lists(&self, array: ArrayKey<'_>) -> Option<Vec<Vec<i64>>> {
        let ArrayKey::Offsets(offsets) = array else {
            return None;
        };
        let lists = offsets.chunks(self.policy.rank.max(1));
        Some(lists.map(<[i64]>::to_vec).collect())
    }

    /// Attributes of an array of links.
    fn array_attributes(&self, array: ArrayKey<'_>) -> ArrayAttributes {
        let policy = &self.policy;
        let offsets = self.offset_lists(array);
        let mut extra = JsonObject::new();
        if array == ArrayKey::Inside && policy.delta == 0 {
            // The policy of the links between chunks is stored here, since there may be no array of such links.
            extra.insert("directed".to_owned(), json!(policy.directed));
            extra.insert("store".to_owned(), json!(policy.store.name()));
        }
        ArrayAttributes {
            zv_array: Some("links".to_owned()),
            dtype: Some(policy.dtype.to_string()),
            has_perm: offsets.is_some().then(|| self.form(array).has_perm),
            offsets,
            link_width: u32::try_from(policy.width).ok(),
            level_delta: Some(policy.delta),
            extra,
            ..ArrayAttributes::default()
        }
    }

    /// Attributes of the array with the values of an attribute.
    fn value_attributes(&self, array: ArrayKey<'_>, one: &LinkColumn) -> ArrayAttributes {
        let word = match array {
            ArrayKey::Across => "cross_chunk_link_attribute",
            ArrayKey::Offsets(_) | ArrayKey::Inside => "link_attribute",
        };
        ArrayAttributes {
            zv_array: Some(word.to_owned()),
            name: Some(one.name.clone()),
            offsets: self.offset_lists(array),
            level_delta: Some(self.policy.delta),
            ..one.attributes.clone()
        }
    }
}
