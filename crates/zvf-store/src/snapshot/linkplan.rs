//! Which documents and listings of link families a level needs next. No I/O.

use std::sync::Arc;

use zvf_format::keys::{format_delta, format_offsets, parse_delta};
use zvf_meta::{Kind, LinkFamilyDoc, LinkStore, LinksConvention, NodeKind, RootDoc, node_kind};

use super::links::is_same_key;
use super::plan::NameFamily;
use super::{SnapshotState, SnapshotTree, document_at};
use crate::container::blob::CHUNK;
use crate::{Deltas, Need, StoreError};
use zvf_io::{Question, is_segment};

impl SnapshotTree {
    /// The deltas of the link families that are requested and may exist; `None` if a listing must be requested first.
    pub(crate) fn deltas_of(
        &self,
        state: &SnapshotState,
        level: u32,
        need: &Need,
    ) -> Option<Vec<i32>> {
        let mut deltas = match &need.link_deltas {
            Deltas::None => Vec::new(),
            Deltas::List(deltas) => deltas.clone(),
            Deltas::All => match state.folders(&format!("{level}/links")) {
                Some(Some(names)) => {
                    let cross = state.folders(&format!("{level}/cross_chunk_links"));
                    let cross = cross.flatten();
                    let cross = cross.iter().flat_map(|names| names.iter());
                    names
                        .iter()
                        .chain(cross)
                        .filter_map(|name| parse_delta(name).ok())
                        .collect()
                }
                None if self.kv.can_list() => return None,
                Some(None) | None => match &self.names {
                    Some(names) if !names.links.is_empty() => {
                        names.links.iter().map(|(delta, _)| *delta).collect()
                    }
                    _ => vec![-1, 0, 1],
                },
            },
        };
        deltas.sort_unstable();
        deltas.dedup();
        Some(deltas)
    }

    /// The segments of a link family, in ASCII order; `None` if a listing must be requested first.
    pub(crate) fn segments_of(
        &self,
        state: &SnapshotState,
        level: u32,
        delta: i32,
    ) -> Option<Vec<String>> {
        let prefix = format!("{level}/links/{}", format_delta(delta));
        let mut segments: Vec<String> = match state.folders(&prefix) {
            Some(Some(names)) => names.iter().filter(|n| is_segment(n)).cloned().collect(),
            None if self.kv.can_list() => return None,
            Some(None) | None => {
                let given = self
                    .names
                    .as_ref()
                    .and_then(|n| n.links.iter().find(|(d, _)| *d == delta));
                match given {
                    Some((_, segments)) => {
                        segments.iter().filter(|n| is_segment(n)).cloned().collect()
                    }
                    None => self.neighbours(state, &prefix, delta),
                }
            }
        };
        segments.sort_unstable();
        Some(segments)
    }

    /// Whether the segments of a family are [guessed](Self::neighbours).
    pub(super) fn guesses(&self, state: &SnapshotState, folder: &str, delta: i32) -> bool {
        let listed = state.folders(folder).flatten().is_some();
        let names = self.names.as_ref();
        let given = names.is_some_and(|names| names.links.iter().any(|(one, _)| *one == delta));
        !listed && !given && !self.kv.can_list()
    }

    /// The segments of links between neighbouring chunks, which are tried if the backend cannot list.
    fn neighbours(&self, state: &SnapshotState, prefix: &str, delta: i32) -> Vec<String> {
        const MOST: usize = 1024;
        let family = state
            .bytes(&format!("{prefix}/zarr.json"))
            .and_then(|b| LinkFamilyDoc::parse(&b).ok());
        let Some(family) = family else {
            return Vec::new();
        };
        let (Some(width), Some(rank)) = (family.link_width, family.sid_ndim) else {
            return Vec::new();
        };
        if width == 1 {
            return vec!["self".to_owned()];
        }
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        let unknown = |which: &str| {
            let warning = format!("the backend cannot list: only link arrays {which} are read");
            self.warnings.links_unknown(warning);
        };
        if rank == 0 || rank > 5 || width > 4 {
            unknown("whose names are given");
            return Vec::new();
        }
        // Offsets of canonical families are lexicographically non-negative and in ascending order (0.9 §13.3).
        let canonical = delta == 0 && !family.directed && family.store == LinkStore::Canonical;
        let mut near: Vec<Vec<i64>> = vec![Vec::new()];
        for _ in 0..rank {
            near = near
                .iter()
                .flat_map(|c| [-1, 0, 1].map(|step| [c.as_slice(), &[step]].concat()))
                .collect();
        }
        near.retain(|c| !canonical || c.as_slice() >= vec![0; rank].as_slice());
        let mut offsets: Vec<(usize, Vec<i64>)> = vec![(0, Vec::new())];
        for _ in 1..width {
            offsets = offsets
                .iter()
                .flat_map(|(least, before)| {
                    let first = if canonical { *least } else { 0 };
                    near.iter()
                        .enumerate()
                        .skip(first)
                        .map(move |(i, c)| (i, [before.as_slice(), c.as_slice()].concat()))
                })
                .take(MOST + 1)
                .collect();
        }
        if offsets.len() > MOST {
            unknown("whose names are given");
            return Vec::new();
        }
        unknown("that join neighbouring chunks, or whose names are given,");
        offsets
            .iter()
            .map(|(_, flat)| format_offsets(flat, rank).to_string())
            .collect()
    }

    /// The documents and listings of link families that can be requested now.
    pub(super) fn plan_links(
        &self,
        state: &SnapshotState,
        level: u32,
        need: &Need,
        questions: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        if need.link_deltas.is_none() {
            return Ok(());
        }
        let deltas = match self.deltas_of(state, level, need) {
            Some(deltas) => deltas,
            None => {
                questions.push(Question::Names(format!("{level}/links")));
                // Requested before it is known whether they exist: this saves a round.
                vec![0, 1, -1]
            }
        };
        if self.may_cross(state, level) {
            self.plan_cross(state, level, need, &deltas, questions)?;
        }
        let names = self.names_of(state, level, NameFamily::Link, need)?;
        if names.is_none() {
            questions.push(Question::Names(format!(
                "{level}/{}",
                NameFamily::Link.folder()
            )));
        }
        for delta in deltas {
            let text = format_delta(delta);
            questions.push(document_at(format_args!("{level}/links/{text}")));
            let target = u32::try_from(i64::from(level) + i64::from(delta)).ok();
            if let Some(target) = target.filter(|t| delta != 0 && state.levels.contains(t)) {
                questions.push(document_at(target));
            }
            let linked = format!("{level}/links/{text}/zarr.json");
            let built = state.grids.contains_key(&format!("{level}/links/{text}"));
            if built || state.bytes(&linked).is_some_and(|bytes| one_array(&bytes)) {
                for name in names.iter().flatten() {
                    questions.push(document_at(format_args!(
                        "{level}/link_attributes/{name}/{text}"
                    )));
                }
                continue;
            }
            if delta == 0 && self.skips_implied(state, level, names.as_deref(), need) {
                continue;
            }
            let Some(segments) = self.segments_of(state, level, delta) else {
                // Before 0.9 the children of this folder are chunks, possibly very many.
                questions.push(Question::Cells(format!("{level}/links/{text}")));
                continue;
            };
            for segment in &segments {
                questions.push(document_at(format_args!("{level}/links/{text}/{segment}")));
                for name in names.iter().flatten() {
                    questions.push(document_at(format_args!(
                        "{level}/link_attributes/{name}/{text}/{segment}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether [`Need::skip_implied_links`] leaves out the arrays of links within a level. `names` are the names of their attributes, if known.
    pub(super) fn skips_implied(
        &self,
        state: &SnapshotState,
        level: u32,
        names: Option<&[String]>,
        need: &Need,
    ) -> bool {
        let implied = |root: &Arc<RootDoc>| {
            root.kind().is_ok_and(Kind::is_chain)
                && root.links_convention().ok() != Some(LinksConvention::Explicit)
        };
        need.skip_implied_links
            && names.is_some_and(<[String]>::is_empty)
            // Without manifests, only stored links connect the rows of two chunks.
            && state.bytes(&format!("{level}/object_index/zarr.json")).is_some()
            && state.root.as_ref().is_some_and(implied)
    }

    /// Whether links between chunks may be stored in the separate folder `cross_chunk_links`, as before 0.9.
    fn may_cross(&self, state: &SnapshotState, level: u32) -> bool {
        match state.folders(&level.to_string()) {
            Some(Some(names)) => names.iter().any(|name| name == "cross_chunk_links"),
            None if self.kv.can_list() => false,
            // The backend cannot list. The folder may exist if `vertices` is a group of chunks, or the links of delta 0 are one array.
            Some(None) | None => ["vertices", "links/0"].iter().any(|path| {
                let key = format!("{level}/{path}/zarr.json");
                state.bytes(&key).is_some_and(|bytes| match *path {
                    "vertices" => node_kind(&bytes).ok() == Some(NodeKind::Group),
                    _ => one_array(&bytes),
                })
            }),
        }
    }

    /// The documents and listings of links between chunks.
    fn plan_cross(
        &self,
        state: &SnapshotState,
        level: u32,
        need: &Need,
        deltas: &[i32],
        questions: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let top = format!("{level}/cross_chunk_links");
        questions.push(document_at(&top));
        if need.link_deltas == Deltas::All && self.kv.can_list() {
            questions.push(Question::Names(top.clone()));
        }
        let names = self.names_of(state, level, NameFamily::CrossLink, need)?;
        let values = NameFamily::CrossLink.folder();
        if names.is_none() {
            questions.push(Question::Names(format!("{level}/{values}")));
        }
        for delta in deltas {
            let text = format_delta(*delta);
            let attributes = names
                .iter()
                .flatten()
                .map(|name| format!("{level}/{values}/{name}/{text}"));
            for path in std::iter::once(format!("{top}/{text}")).chain(attributes) {
                questions.push(document_at(&path));
                if self.kv.can_list() {
                    questions.push(Question::Cells(path.clone()));
                }
                let blob = match state.folders(&path) {
                    Some(Some(names)) => *names == ["data"],
                    None if self.kv.can_list() => false,
                    Some(None) | None => true,
                };
                if blob {
                    questions.push(document_at(format_args!("{path}/data")));
                    questions.push(Question::Document(format!("{path}/data/{CHUNK}")));
                }
            }
        }
        Ok(())
    }
}

/// Whether a node `links/<delta>` represents one array, instead of one array for each set of offsets.
fn one_array(bytes: &[u8]) -> bool {
    match node_kind(bytes) {
        Ok(NodeKind::Array) => true,
        Ok(NodeKind::Group) => LinkFamilyDoc::parse(bytes).is_ok_and(|doc| is_same_key(&doc)),
        Err(_) => false,
    }
}
