//! Links between chunks in a family of nodes of their own: `cross_chunk_links/<delta>`.
//!
//! The form of such a node follows from the node and its children (specification 0.8, section 9.7). Two side dialects and a table of global vertex
//! numbers use the same path; they are refused by name.

use std::sync::Arc;

use zvf_format::keys::format_delta;
use zvf_format::links::CellForm;
use zvf_meta::{ArrayDoc, LinkFamilyDoc, LinkStore};

use super::SnapshotTree;
use super::links::{LinkNode, LinksLevel, MISSING_LINK, check_rank, check_width, empty};
use crate::StoreError;
use crate::container::blob::{self, decode_child};
use crate::level::Refused;
use crate::links::records::RecordsByCell;
use crate::links::{LinkArray, LinkFamily};
use zvf_codec::Data;
use zvf_io::{Cap, Question};

/// The form of a node `cross_chunk_links/<delta>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CrossLinksNode {
    /// Created and never written.
    Empty,
    /// One blob of records for all chunks (0.7, section 9.4).
    Records,
    /// One cell for each tuple of chunks, in any container (0.8, sections 9.1, 3.4 and 9.8).
    Cells,
    /// Not supported, with the reason.
    Refused(String),
}

/// Detects the form of a node from its document and the names of its children; `None` = they cannot be listed.
pub(super) fn identify(
    node: Option<&LinkNode>,
    policy: &LinkFamilyDoc,
    children: Option<&[String]>,
    has_data: bool,
    key_rank: usize,
) -> CrossLinksNode {
    let cells = policy
        .link_width
        .and_then(|width| usize::try_from(width).ok())
        .and_then(|width| width.checked_mul(key_rank));
    if let Some(LinkNode::Array(doc)) = node {
        return identify_array(doc, policy, cells);
    }
    let refuse = |why: String| CrossLinksNode::Refused(why);
    let k =
        "it is the dialect of one array for each number of chunks (k1, k2, ...), which is not read";
    let leaf = "it is the dialect of nested leaves (partitioned_v1), which is not read";
    match policy.layout.as_deref() {
        None | Some("flat_cells") => {}
        Some("sharded_v1") => return refuse(k.to_owned()),
        Some("partitioned_v1") => return refuse(leaf.to_owned()),
        Some(other) => return refuse(format!("layout is {other:?}, which is not known")),
    }
    let Some(children) = children else {
        return match (has_data, policy.sid_ndim, policy.num_links) {
            (true, _, _) => CrossLinksNode::Records,
            (false, None, _) | (false, _, Some(0)) => CrossLinksNode::Empty,
            _ => refuse("the backend cannot list, so that its cells cannot be found".to_owned()),
        };
    };
    let arity = |name: &str| {
        let numbers = name.split('.').filter(|n| {
            let digits = n.strip_prefix('-').unwrap_or(n);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        });
        let count = numbers.count();
        (count == name.split('.').count()).then_some(count)
    };
    let is_k = |name: &str| {
        name.strip_prefix('k')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    // Several keys may be packed into one child (0.7, section 2.6).
    let children: Vec<&str> = children.iter().map(String::as_str).collect();
    let is_cell =
        |name: &&str| arity(name).is_some() && arity(name) == cells || name.starts_with("__shard_");
    if children.is_empty() {
        CrossLinksNode::Empty
    } else if children == ["data"] {
        CrossLinksNode::Records
    } else if children.iter().all(is_cell) {
        CrossLinksNode::Cells
    } else if children.iter().all(|name| is_k(name)) {
        refuse(k.to_owned())
    } else if children.iter().all(|name| arity(name) == Some(key_rank)) {
        refuse(leaf.to_owned())
    } else {
        let strange = children.iter().find(|name| !is_cell(name));
        refuse(format!(
            "child {:?} is not a cell of {} endpoints with {key_rank} numbers each",
            strange.unwrap_or(&""),
            policy.link_width.unwrap_or_default()
        ))
    }
}

fn identify_array(doc: &ArrayDoc, policy: &LinkFamilyDoc, cells: Option<usize>) -> CrossLinksNode {
    let packed = policy.layout.as_deref() == Some("packed_sharded") && doc.shape.len() == 1;
    if doc.data_type.is_vlen_bytes()
        && (packed || cells.is_some_and(|rank| doc.shape.len() == rank))
    {
        return CrossLinksNode::Cells;
    }
    if !doc.data_type.is_vlen_bytes() {
        return CrossLinksNode::Refused(format!(
            "an array of {} with shape {:?}: a table of global vertex numbers, whose encoding is not published",
            doc.data_type.name, doc.shape
        ));
    }
    CrossLinksNode::Refused(format!(
        "an array with {} axes and layout {:?}, expected one axis for each number of a cell's key",
        doc.shape.len(),
        policy.layout.as_deref().unwrap_or_default()
    ))
}

impl SnapshotTree {
    /// Adds the links between chunks of one delta to a family, which is created if it does not exist yet.
    pub(super) fn cross_chunk(
        &self,
        place: LinksLevel<'_>,
        delta: i32,
        family: &mut Option<LinkFamily>,
        refused: &mut Vec<Refused>,
        more: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let level = place.level;
        let mut refuse = |path: &str, why: String| {
            refused.push(Refused {
                path: path.to_owned(),
                delta: Some(delta),
                why,
                damaged: false,
            });
        };
        let top = format!("{level}/cross_chunk_links");
        if delta == 0
            && let Some(LinkNode::Array(doc)) = self.link_node(&top)?
        {
            let form = identify_array(&doc, &LinkFamilyDoc::default(), None);
            if let CrossLinksNode::Refused(why) = form {
                refuse(&top, why);
            }
            return Ok(());
        }
        let path = format!("{top}/{}", format_delta(delta));
        let node = self.link_node(&path)?;
        let listed = self.state().folders(&path).flatten();
        let has_data = self.document(&format!("{path}/data/zarr.json")).is_some();
        if node.is_none() && !has_data && listed.as_ref().is_none_or(|names| names.is_empty()) {
            return Ok(());
        }
        let policy = match &node {
            Some(node) => node.policy(&path)?,
            None => LinkFamilyDoc::default(),
        };
        let children = listed.as_ref().map(|names| names.as_slice());
        let form = identify(node.as_ref(), &policy, children, has_data, place.key_rank);
        if let CrossLinksNode::Refused(why) = form {
            refuse(&path, why);
            return Ok(());
        }
        let own = family.get_or_insert_with(|| empty(delta, policy.clone()));
        if form == CrossLinksNode::Empty {
            // The width of a family that was never written is 2 for any geometry (0.7, section 9.4).
            return Ok(());
        }
        let Some(width) = policy.link_width else {
            let error = StoreError::malformed(
                format!("{path}/zarr.json"),
                "link_width is missing: the links cannot be read",
            );
            return self.leave_out(&path, Some(delta), error, refused);
        };
        let key = format!("{path}/zarr.json");
        let width = check_width(&key, width, 1)?;
        if own.width != 0 && own.width != width {
            let why = format!(
                "link_width is {width}, but {} in {}",
                own.width,
                own.arrays.first().map_or("links", |a| a.array.path())
            );
            let delta = Some(delta);
            refused.push(Refused {
                path,
                delta,
                why,
                damaged: false,
            });
            return Ok(());
        }
        if let Some(rank) = policy.sid_ndim {
            check_rank(&key, rank, place.key_rank)?;
        }
        let array = match form {
            CrossLinksNode::Records => self.records(place, &path, delta, &policy, width)?,
            _ => self.cells(place, &path, delta, &policy, width, more)?,
        };
        own.width = width;
        own.doc = policy;
        own.arrays.extend(array);
        Ok(())
    }

    /// Cells of 0.8: one group for each record, each row a permutation code and the rows of the endpoints.
    fn cells(
        &self,
        place: LinksLevel<'_>,
        path: &str,
        delta: i32,
        policy: &LinkFamilyDoc,
        width: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<LinkArray>, StoreError> {
        let rank = width.saturating_mul(place.key_rank);
        let Some(array) = self.grid(path, MISSING_LINK, rank, more)? else {
            return Ok(None);
        };
        let form = CellForm {
            link_width: width,
            has_perm: true,
            ragged: true,
            dtype: crate::links::dtype(&array)?,
        };
        let duplicate = policy.store == LinkStore::Duplicate;
        Ok(Some(LinkArray::tuple(
            array,
            delta,
            form,
            place.key_rank,
            duplicate,
        )))
    }

    /// Records of 0.7: one blob, divided into cells.
    fn records(
        &self,
        place: LinksLevel<'_>,
        path: &str,
        delta: i32,
        policy: &LinkFamilyDoc,
        width: usize,
    ) -> Result<Option<LinkArray>, StoreError> {
        let data = format!("{path}/data");
        let array = match self.built(&data) {
            Some(array) => array,
            None => {
                let Some((_, bytes)) = self.blob_at(&data)? else {
                    return Ok(None);
                };
                let cut =
                    RecordsByCell::new(&data, &bytes, policy.num_links, width, place.key_rank)?;
                let attributes = self.group_attributes(path)?;
                let array = cut.links(&bytes, attributes, width, place.key_rank)?;
                self.state().cuts.insert(path.to_owned(), Arc::new(cut));
                self.keep_blob(&data, array)
            }
        };
        let form = CellForm {
            link_width: width,
            has_perm: false,
            ragged: false,
            dtype: crate::links::dtype(&array)?,
        };
        Ok(Some(LinkArray::tuple(
            array,
            delta,
            form,
            place.key_rank,
            false,
        )))
    }

    /// One blob that was requested like a document, with the document that describes it.
    pub(super) fn blob_at(
        &self,
        path: &str,
    ) -> Result<Option<(ArrayDoc, bytes::Bytes)>, StoreError> {
        let Some(doc) = self.array_doc(path)? else {
            return self.check_there(path).map(|()| None);
        };
        let stored = self.document(&format!("{path}/{}", blob::CHUNK));
        let cap = Cap::cell(self.kv.limits());
        let bytes = decode_child(path, &doc, stored.map(Data::Shared), cap)?;
        Ok(Some((doc, bytes)))
    }
}
