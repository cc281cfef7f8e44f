//! Builds an array of blobs from a group node: its chunks, and which of them are packed.
//!
//! A group of blobs has no presence list, so one listing of `vertices` gives the chunks of a level. Other arrays of the level are assumed to have the
//! same chunks, and a missing child is an absent cell, which saves a listing for each array. Arrays with other keys than the chunks of the level, and
//! all arrays of a packed store, are listed themselves.

use std::sync::Arc;

use zvf_format::dtype::DType;
use zvf_meta::space::chunk_of_cell;
use zvf_meta::{ArrayAttributes, ArrayDoc, GroupDoc, NodeKind, RootDoc, node_kind};

use super::{ArrayOrGroup, SnapshotState, SnapshotTree, document_at};
use crate::container::blobs::{Blobs, is_pack};
use crate::container::{Container, ContainerKind, GridArray, SharedArray};
use crate::coord::product;
use crate::presence::Presence;
use crate::{IoError, StoreError};
use zvf_io::{Cap, Question};

/// Facts that the arrays of a level share.
#[derive(Debug, Clone)]
pub(crate) struct LevelArrayFacts {
    /// Components of a chunk coordinate.
    pub(crate) key_rank: usize,
    /// World size of a chunk on each spatial axis.
    pub(crate) chunk_shape: Vec<f64>,
    /// Values of the first component, on levels chunked by an attribute.
    pub(crate) prefixes: Option<u64>,
}

/// How the chunks of a group are found.
enum ChunkOrigin {
    /// These questions have to be answered first.
    Ask(Vec<Question>),
    /// The names of the group's children are the chunks.
    Listed(Arc<Vec<String>>),
    /// The chunks are in the presence list of `vertices`.
    Shared(Arc<Presence>),
    /// The chunks are in the presence list of `vertices`, which is not built yet.
    Later,
    /// The chunks are unknown, because the backend cannot list.
    Unknown,
}

impl SnapshotTree {
    /// The array that the group node at `path` represents. Built once.
    pub(super) fn blob_group(
        &self,
        path: &str,
        group: &GroupDoc,
        missing: DType,
        rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        let attributes = ArrayAttributes::from_group(group)
            .map_err(|e| StoreError::document(format!("{path}/zarr.json"), e))?;
        let incomplete = |attributes| {
            let presence = Arc::new(Presence::from_known(rank, Vec::new()));
            let name = path.to_owned();
            GridArray::from_blobs(name, attributes, missing, Blobs::plain(false), presence)
                .map(|array| Some(Arc::new(array)))
        };
        let (blobs, presence) = match self.chunks_of(path, rank) {
            ChunkOrigin::Ask(questions) => {
                more.extend(questions);
                return incomplete(attributes);
            }
            ChunkOrigin::Later => return incomplete(attributes),
            ChunkOrigin::Shared(presence) => (Blobs::plain(false), presence),
            ChunkOrigin::Listed(names) => {
                let mut packs = Vec::new();
                let mut asked = false;
                for name in names.iter().filter(|name| is_pack(name)) {
                    let question = document_at(format_args!("{path}/{name}"));
                    if self.asks(question, more) {
                        asked = true;
                        continue;
                    }
                    let doc = self.array_doc(&format!("{path}/{name}"))?;
                    packs.extend(doc.map(|doc: ArrayDoc| (name.clone(), doc)));
                }
                if asked {
                    return incomplete(attributes);
                }
                let cap = Cap::cells(self.kv.limits());
                let (blobs, presence) = Blobs::from_listing(path, rank, &names, packs, cap)?;
                (blobs, Arc::new(presence))
            }
            ChunkOrigin::Unknown => (Blobs::plain(false), Arc::new(self.guessed(path, rank)?)),
        };
        let array = GridArray::from_blobs(path.to_owned(), attributes, missing, blobs, presence)?;
        Ok(Some(self.keep(path, array)))
    }

    /// How the chunks of a group are found.
    fn chunks_of(&self, path: &str, rank: usize) -> ChunkOrigin {
        let listed = self.state().folders(path);
        if let Some(Some(names)) = listed {
            return ChunkOrigin::Listed(names);
        }
        let main = level_of(path).map(|level| format!("{level}/vertices"));
        let own = main.as_deref() == Some(path) || main.is_none();
        let vertices = main.filter(|_| !own);
        let facts = level_of(path).and_then(|level| self.state().facts.get(&level).cloned());
        let same_rank = facts.is_some_and(|facts| facts.key_rank == rank);
        let kind = vertices.as_deref().and_then(|main| self.container_of(main));
        let packed = self.state().root.as_deref().is_some_and(is_packed);
        // Chunks of a padded array are found by its fragment index, so the index cannot take them from the array.
        let shares = same_rank
            && !packed
            && matches!(kind, Some(ContainerKind::Grid | ContainerKind::Blobs));
        if shares && let Some(main) = &vertices {
            match self.built(main) {
                None => return ChunkOrigin::Later,
                // Packed although the root does not state it: this array may be packed, too.
                Some(array) if matches!(array.contents(), Container::Blobs(b) if b.is_packed()) => {
                }
                Some(array) => return ChunkOrigin::Shared(Arc::clone(array.shared_presence())),
            }
        }
        match listed {
            None if self.kv.can_list() => ChunkOrigin::Ask(vec![Question::Cells(path.to_owned())]),
            _ => ChunkOrigin::Unknown,
        }
    }

    /// The container of the node at `path`, from its kind and data type; `None` if there is no node or its document cannot be read.
    pub(super) fn container_of(&self, path: &str) -> Option<ContainerKind> {
        if let Some(array) = self.built(path) {
            return Some(array.container());
        }
        Some(match self.node(path).ok()?? {
            ArrayOrGroup::Group(_) => ContainerKind::Blobs,
            ArrayOrGroup::Array(doc) if doc.data_type.is_vlen_bytes() => ContainerKind::Grid,
            ArrayOrGroup::Array(_) => ContainerKind::Padded,
        })
    }

    /// The chunks to try if a backend cannot list: all chunks inside `bounds`.
    fn guessed(&self, path: &str, rank: usize) -> Result<Presence, StoreError> {
        let (root, facts) = {
            let state = self.state();
            let facts = level_of(path).and_then(|level| state.facts.get(&level).cloned());
            (state.root.clone(), facts)
        };
        let (Some(root), Some(facts)) = (root, facts) else {
            return Err(StoreError::misuse(format!(
                "{path}: its chunks are not known: the documents of its level were not read"
            )));
        };
        if is_packed(&root) {
            return Err(StoreError::Io(IoError::NotSupported {
                key: path.to_owned(),
                what: "chunks are packed (shard_layout), and the backend cannot list the packs"
                    .to_owned(),
            }));
        }
        if facts.key_rank != rank {
            self.warnings.add(format!(
                "{path}: there is no list of its cells, and the backend cannot list: no cell is read"
            ));
            return Ok(Presence::from_listing(rank, Vec::new()));
        }
        self.warnings.add(format!(
            "{path}: the backend cannot list: every chunk inside the bounds is requested"
        ));
        let (lo, counts) = spanned(&root, &facts)
            .ok_or_else(|| StoreError::malformed("zarr.json", "bounds span no grid of chunks"))?;
        let total = product(&counts).unwrap_or(u64::MAX);
        Cap::cells(self.kv.limits()).check(path, total)?;
        let mut flat = Vec::new();
        let mut index = vec![0; rank];
        for _ in 0..total {
            flat.extend(chunk_of_cell(&lo, index.iter().copied()));
            super::listed::increment(&mut index, &counts);
        }
        Ok(Presence::from_listing(rank, flat))
    }
}

impl SnapshotState {
    /// The listing that an array of blobs always needs, to be requested together with documents.
    pub(super) fn early_listings(&self, level: u32) -> Vec<Question> {
        // The document of a group is small; the document of an array may have a long presence list and is not read twice.
        const MOST: usize = 64 << 10;
        let is_group = |path: &str| {
            self.bytes(&format!("{path}/zarr.json"))
                .filter(|bytes| bytes.len() <= MOST)
                .is_some_and(|bytes| matches!(node_kind(&bytes), Ok(NodeKind::Group)))
        };
        let mut paths = vec![format!("{level}/vertices")];
        if self.root.as_deref().is_some_and(is_packed) {
            paths.push(format!("{level}/vertex_fragments"));
        }
        paths.retain(|path| !self.grids.contains_key(path) && is_group(path));
        paths.into_iter().map(Question::Cells).collect()
    }
}

/// Whether the root states that chunks are packed (0.7, section 2.6).
fn is_packed(root: &RootDoc) -> bool {
    root.extra.contains_key("shard_layout")
}

/// The level of a path.
pub(super) fn level_of(path: &str) -> Option<u32> {
    zvf_format::keys::parse_level(path.split('/').next()?)
}

/// The first chunk, and the number of chunks on each axis, inside `bounds`.
fn spanned(root: &RootDoc, facts: &LevelArrayFacts) -> Option<(Vec<i64>, Vec<u64>)> {
    let (min, max) = &root.zarr_vectors.bounds;
    let (mut lo, mut counts) = (Vec::new(), Vec::new());
    if let Some(prefixes) = facts.prefixes {
        lo.push(0);
        counts.push(prefixes);
    }
    for ((min, max), size) in min.iter().zip(max).zip(&facts.chunk_shape) {
        let (first, last) = (chunk_at(min / size)?, chunk_at(max / size)?);
        lo.push(first);
        counts.push(
            u64::try_from(last.checked_sub(first)?)
                .ok()?
                .checked_add(1)?,
        );
    }
    (lo.len() == facts.key_rank).then_some((lo, counts))
}

/// The floor of a quotient; `None` from 9e15 on.
fn chunk_at(quotient: f64) -> Option<i64> {
    let floor = quotient.floor();
    #[expect(clippy::cast_possible_truncation, reason = "the magnitude is checked")]
    (floor.abs() < 9e15).then_some(floor as i64)
}
