//! Builds link attributes from documents.

use zvf_format::keys::{format_delta, parse_delta};

use super::MISSING;
use super::links::LinksLevel;
use super::plan::NameFamily;
use super::{SeenDocument, SnapshotTree};
use crate::container::{ContainerKind, GridArray, SharedArray};
use crate::coord::product;
use crate::level::Refused;
use crate::links::{LinkArray, LinkAttribute, LinkFamily, Placement};
use crate::types::stated_dtype;
use crate::{Class, Names, Need, StoreError};
use zvf_io::Question;

impl SnapshotTree {
    /// Adds the requested attributes of a family that exist.
    pub(super) fn link_attributes(
        &self,
        place: LinksLevel<'_>,
        need: &Need,
        family: &mut LinkFamily,
        refused: &mut Vec<Refused>,
        more: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let mut names = Vec::new();
        for kind in [NameFamily::Link, NameFamily::CrossLink] {
            let found = self.names_of(&self.state(), place.level, kind, need)?;
            names.extend(found.unwrap_or_default());
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            match self.link_attribute(place, family, &name, more) {
                Ok(None) => {}
                Ok(Some(attribute)) => family.attributes.push(attribute),
                Err(error) => {
                    let delta = format_delta(family.delta);
                    let path = format!("{}/link_attributes/{name}/{delta}", place.level);
                    // Before 0.9, some values cannot be assigned to links (0.8, doubt 6). This is not damage.
                    let tuple = |link: &LinkArray| *link.placement() == Placement::Tuple;
                    let doubt = family.arrays.iter().any(tuple) && error.class() != Class::Io;
                    if doubt && need.link_attributes == Names::All {
                        refused.push(self.left_out(&path, None, &error, false));
                    } else {
                        self.skip(NameFamily::Link, need, &path, error, refused)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn link_attribute(
        &self,
        place: LinksLevel<'_>,
        family: &LinkFamily,
        name: &str,
        more: &mut Vec<Question>,
    ) -> Result<Option<LinkAttribute>, StoreError> {
        let mut arrays = Vec::with_capacity(family.arrays.len());
        for link in &family.arrays {
            arrays.push(self.values_of(place, family, link, name, more)?);
        }
        let Some(first) = arrays.iter().flatten().next() else {
            return Ok(None);
        };
        let dtype = first.dtype();
        // Cells are compared only after all requested documents were read.
        if more.is_empty() {
            for (link, values) in family.arrays.iter().zip(&arrays) {
                if let Some(values) = values {
                    self.compare_cells(link, values)?;
                }
            }
        }
        if let Some(other) = arrays.iter().flatten().find(|a| a.dtype() != dtype) {
            return Err(StoreError::malformed(
                other.path(),
                format!(
                    "dtype is {}, but {dtype} in another array of the attribute",
                    other.dtype(),
                ),
            ));
        }
        let declared = arrays.iter().flatten().find_map(|array| width_of(array));
        Ok(Some(LinkAttribute {
            name: name.to_owned(),
            dtype,
            width: declared.unwrap_or(1),
            unit: first.attributes().unit.clone(),
            arrays,
        }))
    }

    /// Warns if values are stored in other cells than their links; refuses an invalid list of cells.
    fn compare_cells(&self, link: &LinkArray, values: &GridArray) -> Result<(), StoreError> {
        if values.container() != ContainerKind::Blobs {
            values.check_presence()?;
        }
        let (cells, valued) = (link.array.presence().len(), values.presence().len());
        // Before 0.9, links and values are stored in the same cells (0.8, doubt 6). There are two exceptions: values in one blob have no cells of their own,
        // and writers add empty cells to groups of blobs. In 0.9, cells of links may have no values if the store was copied from such a store.
        let differ = match link.placement() {
            Placement::Offsets { .. } => false,
            Placement::SameKey if values.container() == ContainerKind::Grid => valued != cells,
            Placement::SameKey => valued < cells,
            Placement::Tuple => valued > 0 && valued < cells,
        };
        if differ {
            self.warnings.add(format!(
                "{}: {valued} cells of values for {cells} cells of links: links or their values are missing",
                values.path()
            ));
        }
        Ok(())
    }

    /// Warns if an attribute has a folder, but no document for the only family of links. Writers that give values only to links inside chunks make no
    /// folder for links between chunks (0.8, doubt 6).
    fn compare_names(&self, level: u32, kind: NameFamily, name: &str, delta: &str) {
        let state = self.state();
        let folder = format!("{level}/{}", kind.folder());
        let path = format!("{folder}/{name}/{delta}");
        let absent = matches!(
            state.documents.get(&format!("{path}/zarr.json")),
            Some(SeenDocument::Absent)
        );
        let named = state.lists(&folder, name);
        let links = match kind {
            NameFamily::CrossLink => "cross_chunk_links",
            _ => "links",
        };
        let families = state.folders(&format!("{level}/{links}")).flatten();
        let alone = families.is_none_or(|names| {
            let mut others = names.iter().filter(|one| *one != delta);
            others.all(|one| parse_delta(one).is_err())
        });
        drop(state);
        if absent && named && alone {
            self.warnings.add(format!(
                "{path}/zarr.json: the document is missing, but {folder}/{name} exists: values of {links} are null"
            ));
        }
    }

    /// The array with the values of one attribute for one array of links.
    fn values_of(
        &self,
        place: LinksLevel<'_>,
        family: &LinkFamily,
        link: &LinkArray,
        name: &str,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        let (level, delta) = (place.level, format_delta(family.delta));
        match link.placement() {
            Placement::Offsets { .. } => {
                let path = format!("{level}/link_attributes/{name}/{delta}/{}", link.segment());
                self.typed_grid(&path, NameFamily::Link, name, place.key_rank, more)
            }
            Placement::SameKey => {
                let path = format!("{level}/link_attributes/{name}/{delta}");
                let array = self.typed_grid(&path, NameFamily::Link, name, place.key_rank, more)?;
                if array.is_none() && !link.array.presence().is_empty() {
                    self.compare_names(level, NameFamily::Link, name, &delta.to_string());
                }
                Ok(array)
            }
            Placement::Tuple => {
                let path = format!("{level}/cross_chunk_link_attributes/{name}/{delta}");
                let links = format!("{level}/cross_chunk_links/{delta}");
                let cut = self.state().cuts.get(&links).cloned();
                if let Some(cut) = cut {
                    return self.cut_values(&path, &cut);
                }
                match self.loose_values(&path, family, link)? {
                    Some(array) => Ok(Some(array)),
                    None => {
                        let rank = link.array.key_rank();
                        let array =
                            self.typed_grid(&path, NameFamily::CrossLink, name, rank, more)?;
                        if array.is_none() && !link.array.presence().is_empty() {
                            self.compare_names(
                                level,
                                NameFamily::CrossLink,
                                name,
                                &delta.to_string(),
                            );
                        }
                        Ok(array)
                    }
                }
            }
        }
    }

    /// The values of records that were divided into cells (0.7, section 9.5).
    fn cut_values(
        &self,
        path: &str,
        cut: &crate::links::records::RecordsByCell,
    ) -> Result<Option<SharedArray>, StoreError> {
        let data = format!("{path}/data");
        if let Some(array) = self.built(&data) {
            return Ok(Some(array));
        }
        let Some((_, bytes)) = self.blob_at(&data)? else {
            return Ok(None);
        };
        let attributes = self.group_attributes(path)?;
        let dtype = stated_dtype(path, &attributes)?.unwrap_or(MISSING);
        let array = cut.attribute(&data, &bytes, attributes, dtype)?;
        Ok(Some(self.keep_blob(&data, array)))
    }
}

/// Elements of a row: `row_shape`, else the axes after the rows in `shape`, else the probed width.
pub(super) fn width_of(array: &GridArray) -> Option<u64> {
    let attributes = array.attributes();
    let shape = match (&attributes.row_shape, &attributes.shape) {
        (Some(shape), _) => shape.as_slice(),
        (None, Some(shape)) => shape.get(1..)?,
        (None, None) => return array.row_width(),
    };
    Some(product(shape).unwrap_or(u64::MAX))
}
