//! From documents to a level.

use std::sync::Arc;

use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::keys::format_delta;
use zvf_meta::{ArrayDoc, KeyScheme, LevelDoc, LinkFamilyDoc, NodeKind, ObjectIndexDoc, RootDoc, node_kind};

use super::Tree;
use super::plan::Family;
use crate::grid::{GridArray, Shared};
use crate::groups::Groups;
use crate::kv::Question;
use crate::level::{LevelInner, VertexAttribute};
use crate::links::{LinkArray, LinkAttribute, LinkFamily};
use crate::objects::ObjectIndex;
use crate::presence::Presence;
use crate::ragged::RaggedArray;
use crate::typed::TypedArray;
use crate::{Names, Need, StoreError};

/// Type of a grid array whose document does not say.
const MISSING: DType = DType::little(DTypeKind::F32);
const MISSING_LINK: DType = DType::little(DTypeKind::I64);

impl Tree {
    /// Builds a level from what was asked. Listings that turn out to be needed are added to `more`; the level is
    /// complete only when none were.
    pub(crate) fn build(
        &self,
        root: &RootDoc,
        level: u32,
        need: &Need,
        more: &mut Vec<Question>,
    ) -> Result<LevelInner, StoreError> {
        let key = format!("{level}/zarr.json");
        let bytes = self.document(&key).ok_or_else(|| self.missing(&key))?;
        let doc = LevelDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
        let dims = root.dims();
        let key_rank = doc.key_rank(dims);
        let chunk_shape = self.chunk_shape(root, &doc, &key)?;
        let bin_shape = bin_shape(root, level, &doc);

        let vertices = self.required_grid(&format!("{level}/vertices"), more)?;
        if vertices.key_rank() != key_rank {
            return Err(StoreError::malformed(
                format!("{level}/vertices/zarr.json"),
                format!("the grid has {} axes, expected {key_rank}", vertices.key_rank()),
            ));
        }
        let vertex_fragments = self.grid(&format!("{level}/vertex_fragments"), MISSING, more)?;
        let vertex_attributes = self.attributes(level, Family::Vertex, need, more)?;
        let fragment_attributes = self.attributes(level, Family::Fragment, need, more)?;
        let object_index = if need.objects { self.object_index(level, key_rank)? } else { None };
        let object_attributes = self.tables(level, Family::Object, need)?;
        let group_attributes = self.tables(level, Family::Group, need)?;
        let groups = if need.groups { self.groups(level)? } else { None };
        let links = self.links(root, level, need, key_rank, &chunk_shape, more)?;
        let next_round = self.state().rounds.saturating_add(1);
        Ok(LevelInner {
            number: level,
            doc,
            dims,
            key_rank,
            chunk_shape,
            bin_shape,
            vertices,
            vertex_fragments,
            vertex_attributes,
            fragment_attributes,
            object_index,
            object_attributes,
            groups,
            group_attributes,
            links,
            next_round,
        })
    }

    fn chunk_shape(&self, root: &RootDoc, doc: &LevelDoc, key: &str) -> Result<Vec<f64>, StoreError> {
        let (shape, key) = match &doc.chunk_shape {
            Some(shape) => (shape, key),
            None => (&root.zarr_vectors.chunk_shape, "zarr.json"),
        };
        if shape.len() != root.dims() || shape.iter().any(|size| !size.is_finite() || *size <= 0.0) {
            return Err(StoreError::malformed(
                key,
                format!("chunk_shape is {shape:?}, expected {} sizes above 0", root.dims()),
            ));
        }
        Ok(shape.clone())
    }

    fn required_grid(&self, path: &str, more: &mut Vec<Question>) -> Result<Shared, StoreError> {
        let key = format!("{path}/zarr.json");
        if let Some(bytes) = self.document(&key)
            && matches!(node_kind(&bytes), Ok(NodeKind::Group))
        {
            return Err(StoreError::unsupported(key, "a group of chunks, the container of versions before 0.9,"));
        }
        self.grid(path, MISSING, more)?.ok_or_else(|| self.missing(&key))
    }

    /// A chunk-grid array, when it exists. Built once.
    fn grid(&self, path: &str, missing: DType, more: &mut Vec<Question>) -> Result<Option<Shared>, StoreError> {
        if let Some(array) = self.state().grids.get(path) {
            return Ok(Some(Arc::clone(array)));
        }
        let Some(doc) = self.array_doc(path)? else { return Ok(None) };
        let lacks = GridArray::lacks_presence(&doc);
        let mut array = GridArray::new(path.to_owned(), doc, missing, &self.kv.limits)?;
        if lacks {
            let question = Question::Keys(path.to_owned());
            if !self.state().knows(&question) {
                more.push(question);
                return Ok(Some(Arc::new(array)));
            }
            let listed = self.listed_presence(&array)?;
            array = array.with_listing(listed);
        }
        let array = Arc::new(array);
        self.used(path);
        self.state().grids.insert(path.to_owned(), Arc::clone(&array));
        Ok(Some(array))
    }

    /// The presence of an array without a list: the objects that exist, or every cell where they cannot be listed.
    fn listed_presence(&self, array: &GridArray) -> Result<Presence, StoreError> {
        let path = array.path();
        let (doc, rank) = (array.doc(), array.key_rank());
        let limit = self.kv.limits.cells_per_query;
        let objects = self.state().objects(path);
        let mut flat = Vec::new();
        let mut block = |index: &[u64]| push_block(array, index, &mut flat, limit);
        match objects {
            Some(keys) => {
                self.warnings.add(format!("{path}: no list nonempty_chunks, so its objects were listed"));
                for key in keys.iter() {
                    if let Some(index) = parse_object_key(doc, key, rank) {
                        block(&index)?;
                    }
                }
            }
            None => {
                self.warnings.add(format!(
                    "{path}: no list nonempty_chunks, and the backend cannot list: every chunk of the grid is tried"
                ));
                let counts: Vec<u64> =
                    doc.shape.iter().zip(&doc.chunk_shape).map(|(n, c)| n.div_ceil((*c).max(1))).collect();
                let total = counts.iter().try_fold(1u64, |n, c| n.checked_mul(*c)).unwrap_or(u64::MAX);
                if total > limit {
                    return Err(StoreError::limit(path, "cells_per_query", total, limit));
                }
                let mut index = vec![0; rank];
                for _ in 0..total {
                    block(&index)?;
                    increment(&mut index, &counts);
                }
            }
        }
        Ok(Presence::from_listing(rank, flat))
    }

    fn attributes(
        &self,
        level: u32,
        family: Family,
        need: &Need,
        more: &mut Vec<Question>,
    ) -> Result<Vec<VertexAttribute>, StoreError> {
        let names = self.names_of(&self.state(), level, family, need)?.unwrap_or_default();
        let mut attributes = Vec::with_capacity(names.len());
        for name in names {
            let path = format!("{level}/{}/{name}", family.folder());
            match self.grid(&path, MISSING, more) {
                Ok(Some(array)) => attributes.push(VertexAttribute::new(name, array)),
                Ok(None) => {}
                Err(error) => self.skip(family, need, error)?,
            }
        }
        Ok(attributes)
    }

    fn tables(&self, level: u32, family: Family, need: &Need) -> Result<Vec<TypedArray>, StoreError> {
        let names = self.names_of(&self.state(), level, family, need)?.unwrap_or_default();
        let round = self.state().rounds.saturating_add(1);
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let path = format!("{level}/{}/{name}", family.folder());
            let table = self.array_doc(&path).and_then(|doc| {
                doc.map(|doc| TypedArray::new(&self.kv, round, path, name, doc, &self.kv.limits)).transpose()
            });
            match table {
                Ok(Some(table)) => tables.push(table),
                Ok(None) => {}
                Err(error) => self.skip(family, need, error)?,
            }
        }
        Ok(tables)
    }

    /// An attribute that cannot be read spoils only a query that names it.
    fn skip(&self, family: Family, need: &Need, error: StoreError) -> Result<(), StoreError> {
        let names = match family {
            Family::Vertex => &need.vertex_attributes,
            Family::Fragment => &need.fragment_attributes,
            Family::Object => &need.object_attributes,
            Family::Group => &need.group_attributes,
            Family::Link => &need.link_attributes,
        };
        if matches!(names, Names::List(_)) {
            return Err(error);
        }
        self.warnings.add(format!("left out: {error}"));
        Ok(())
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
        let Some(bytes) = self.document(&key) else { return Ok(None) };
        let doc = ObjectIndexDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
        if doc.num_objects.is_some() {
            doc.layout().map_err(|e| StoreError::document(key.clone(), e))?;
        }
        let stated = doc.sid_ndim.map_or(Some(key_rank), |n| usize::try_from(n).ok());
        if stated != Some(key_rank) {
            return Err(StoreError::malformed(
                key,
                format!("sid_ndim is {}, expected {key_rank}", doc.sid_ndim.unwrap_or_default()),
            ));
        }
        let limits = &self.kv.limits;
        let path = format!("{level}/object_index/manifests");
        let manifests = self.array_doc(&path)?.map(|doc| RaggedArray::new(path.clone(), doc, limits)).transpose()?;
        if let (Some(stated), None) = (doc.num_objects.filter(|n| *n > 0), &manifests) {
            return Err(StoreError::malformed(key, format!("num_objects is {stated}, but there are no manifests")));
        }
        if let (Some(stated), Some(manifests)) = (doc.num_objects, &manifests)
            && stated != manifests.rows()
        {
            self.warnings.add(format!("{key}: num_objects is {stated}, but there are {} manifests", manifests.rows()));
        }
        let round = self.state().rounds.saturating_add(1);
        let path = format!("{level}/object_index/object_ids");
        let ids = self
            .array_doc(&path)?
            .map(|doc| TypedArray::new(&self.kv, round, path, "object_ids".to_owned(), doc, limits))
            .transpose()?;
        let index = ObjectIndex::new(&self.kv, round, doc, key_rank, manifests, ids, Arc::clone(&self.warnings));
        let index = Arc::new(index);
        self.state().object_indexes.insert(level, Arc::clone(&index));
        Ok(Some(index))
    }

    fn groups(&self, level: u32) -> Result<Option<Arc<Groups>>, StoreError> {
        if let Some(groups) = self.state().groups.get(&level) {
            return Ok(Some(Arc::clone(groups)));
        }
        let path = format!("{level}/groups");
        let Some(doc) = self.array_doc(&path)? else { return Ok(None) };
        let round = self.state().rounds.saturating_add(1);
        let members = RaggedArray::new(path, doc, &self.kv.limits)?;
        let groups = Arc::new(Groups::new(&self.kv, round, members));
        self.state().groups.insert(level, Arc::clone(&groups));
        Ok(Some(groups))
    }

    fn links(
        &self,
        root: &RootDoc,
        level: u32,
        need: &Need,
        key_rank: usize,
        chunk_shape: &[f64],
        more: &mut Vec<Question>,
    ) -> Result<Vec<LinkFamily>, StoreError> {
        let deltas = self.deltas_of(&self.state(), level, need).unwrap_or_default();
        let mut families = Vec::new();
        for delta in deltas {
            let folder = format!("{level}/links/{}", format_delta(delta));
            let key = format!("{folder}/zarr.json");
            let Some(bytes) = self.document(&key) else { continue };
            let doc = LinkFamilyDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
            let mut family =
                LinkFamily { delta, doc, width: 0, arrays: Vec::new(), attributes: Vec::new() };
            // A family without policy reads as empty (13.2).
            let (Some(width), Some(rank)) = (family.doc.link_width, family.doc.sid_ndim) else {
                families.push(family);
                continue;
            };
            if usize::try_from(rank) != Ok(key_rank) {
                return Err(StoreError::malformed(key, format!("sid_ndim is {rank}, expected {key_rank}")));
            }
            if !(1..=255).contains(&width) {
                return Err(StoreError::malformed(key, format!("link_width is {width}, expected 1 to 255")));
            }
            family.width = usize::try_from(width).unwrap_or(0);
            let anchor = match delta {
                0 => None,
                _ => Some(Arc::new(self.factors(root, level, delta, key_rank, chunk_shape)?)),
            };
            let segments = self.segments_of(&self.state(), level, delta).unwrap_or_default();
            for segment in segments {
                let Some(array) = self.grid(&format!("{folder}/{segment}"), MISSING_LINK, more)? else { continue };
                let anchor = anchor.clone();
                let array =
                    LinkArray::new(segment, array, delta, &family.doc, family.width, key_rank, anchor)?;
                family.arrays.push(array);
            }
            self.link_attributes(level, need, &mut family, more)?;
            families.push(family);
        }
        Ok(families)
    }

    fn link_attributes(
        &self,
        level: u32,
        need: &Need,
        family: &mut LinkFamily,
        more: &mut Vec<Question>,
    ) -> Result<(), StoreError> {
        let names = self.names_of(&self.state(), level, Family::Link, need)?.unwrap_or_default();
        let delta = format_delta(family.delta);
        for name in names {
            let mut arrays = Vec::with_capacity(family.arrays.len());
            let mut failed = None;
            for link in &family.arrays {
                let path = format!("{level}/link_attributes/{name}/{delta}/{}", link.segment());
                match self.grid(&path, MISSING, more) {
                    Ok(array) => arrays.push(array),
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                self.skip(Family::Link, need, error)?;
                continue;
            }
            let Some(first) = arrays.iter().flatten().next() else { continue };
            let attributes = &first.doc().attributes;
            let width = match &attributes.row_shape {
                Some(shape) => shape.iter().try_fold(1u64, |n, c| n.checked_mul(*c)).unwrap_or(u64::MAX),
                None => 1,
            };
            let (dtype, unit) = (first.dtype(), attributes.unit.clone());
            if let Some(other) = arrays.iter().flatten().find(|a| a.dtype() != dtype) {
                let error = StoreError::malformed(
                    other.path(),
                    format!("dtype is {}, but {} in another array of the attribute", other.dtype(), dtype),
                );
                self.skip(Family::Link, need, error)?;
                continue;
            }
            family.attributes.push(LinkAttribute { name, dtype, width, unit, arrays });
        }
        Ok(())
    }

    /// Chunk shapes of this level and the target level as multiples of the root's, with leading ones up to K (13.6).
    fn factors(
        &self,
        root: &RootDoc,
        level: u32,
        delta: i32,
        key_rank: usize,
        chunk_shape: &[f64],
    ) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let base = &root.zarr_vectors.chunk_shape;
        let factors = |shape: &[f64]| -> Vec<i64> {
            let lead = key_rank.saturating_sub(shape.len());
            let ones = std::iter::repeat_n(1, lead);
            #[expect(clippy::cast_possible_truncation, reason = "a float saturates, and a factor below 1 is refused")]
            ones.chain(shape.iter().zip(base).map(|(own, root)| (own / root).round_ties_even() as i64)).collect()
        };
        let source = factors(chunk_shape);
        let target = u32::try_from(i64::from(level) + i64::from(delta)).ok();
        let key = target.map(|t| format!("{t}/zarr.json"));
        let target = match key.as_ref().and_then(|key| self.document(key)) {
            None => source.clone(),
            Some(bytes) => {
                let key = key.unwrap_or_default();
                let doc = LevelDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
                factors(&self.chunk_shape(root, &doc, &key)?)
            }
        };
        Ok((source, target))
    }
}

/// Sizes of bins (5.2): level 0 from the root, the others from the transform, else from the level's own block.
fn bin_shape(root: &RootDoc, level: u32, doc: &LevelDoc) -> Option<Vec<f64>> {
    let legal = |shape: &Vec<f64>| shape.len() == root.dims() && shape.iter().all(|s| s.is_finite() && *s > 0.0);
    if level == 0 {
        return root.zarr_vectors.base_bin_shape.clone().filter(legal);
    }
    let transformed = root.level_transform(level).and_then(|t| t.bin_shape()).filter(legal);
    transformed.or_else(|| doc.bin_shape.clone().filter(legal)).or_else(|| doc.bin_size.clone().filter(legal))
}

/// Adds all cells of a stored object, as absolute coordinates.
fn push_block(array: &GridArray, index: &[u64], flat: &mut Vec<i64>, limit: u64) -> Result<(), StoreError> {
    let doc = array.doc();
    let mut lo = Vec::with_capacity(index.len());
    let mut counts = Vec::with_capacity(index.len());
    for ((i, chunk), shape) in index.iter().zip(&doc.chunk_shape).zip(&doc.shape) {
        let start = i.saturating_mul(*chunk);
        if start >= *shape {
            return Ok(());
        }
        lo.push(start);
        counts.push((*chunk).min(shape - start));
    }
    let total = counts.iter().try_fold(1u64, |n, c| n.checked_mul(*c)).unwrap_or(u64::MAX);
    let have = u64::try_from(flat.len() / index.len().max(1)).unwrap_or(u64::MAX);
    if total.saturating_add(have) > limit {
        return Err(StoreError::limit(array.path(), "cells_per_query", total.saturating_add(have), limit));
    }
    let mut inside = vec![0; index.len()];
    for _ in 0..total {
        for ((i, start), origin) in inside.iter().zip(&lo).zip(array.origin()) {
            flat.push(i64::try_from(i + start).unwrap_or(i64::MAX).saturating_add(*origin));
        }
        increment(&mut inside, &counts);
    }
    Ok(())
}

/// The next index in C order.
fn increment(index: &mut [u64], counts: &[u64]) {
    for (i, count) in index.iter_mut().zip(counts).rev() {
        *i += 1;
        if *i < *count {
            return;
        }
        *i = 0;
    }
}

/// The index of an object, from its key inside the array.
fn parse_object_key(doc: &ArrayDoc, key: &str, rank: usize) -> Option<Vec<u64>> {
    let separator = doc.key_encoding.separator;
    let numbers = match doc.key_encoding.scheme {
        KeyScheme::Default => key.strip_prefix('c')?.strip_prefix(separator)?,
        KeyScheme::V2 => key,
    };
    let index: Option<Vec<u64>> = numbers.split(separator).map(|n| n.parse().ok()).collect();
    index.filter(|index| index.len() == rank)
}
