//! Builds a level from documents.

use std::sync::Arc;

use zvf_format::dtype::DType;
use zvf_meta::{LevelDoc, RootDoc, odd_value};

use super::blobs::{LevelArrayFacts, level_of};
use super::plan::NameFamily;
use super::{ArrayOrGroup, MISSING, SnapshotTree, links};
use crate::container::packed::is_packed;
use crate::container::{GridArray, SharedArray};
use crate::level::{LevelInner, Refused, VertexAttribute};
use crate::{Need, StoreError};
use zvf_format::int::wide;
use zvf_io::Question;

impl SnapshotTree {
    /// Builds an array of cells from its document; `None` if there is none. Adds further listings that it needs to `more`; the array is complete only if there
    /// are none.
    pub(crate) fn named_grid(
        &self,
        path: &str,
        key_rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        let _alone = self.alone();
        let built = self.grid(path, MISSING, key_rank, more)?;
        self.only_open(more);
        Ok(built)
    }

    /// Keeps only the questions that have no answer yet.
    fn only_open(&self, questions: &mut Vec<Question>) {
        let state = self.state();
        questions.retain(|question| !state.knows(question));
    }

    /// Builds a level from the answers so far; `None` if a question of its [`plan`](Self::plan) has no answer yet. Adds the questions that it needs to `more`; the
    /// level is complete only if there are none.
    pub(crate) fn build(
        &self,
        root: &RootDoc,
        level: u32,
        need: &Need,
        more: &mut Vec<Question>,
    ) -> Result<Option<LevelInner>, StoreError> {
        let _alone = self.alone();
        // Another caller may have recorded a listing since this one planned.
        *more = self.plan(level, need)?;
        if !more.is_empty() {
            return Ok(None);
        }
        self.check_families(root, level)?;
        let mut refused = Vec::new();
        self.check_denied(level, need, &mut refused)?;
        let built = self
            .build_level(root, level, need, refused, more)
            .map_err(|error| self.of_version(root, error))?;
        self.only_open(more);
        Ok(Some(built))
    }

    fn build_level(
        &self,
        root: &RootDoc,
        level: u32,
        need: &Need,
        mut refused: Vec<Refused>,
        more: &mut Vec<Question>,
    ) -> Result<LevelInner, StoreError> {
        let key = format!("{level}/zarr.json");
        let bytes = self.document(&key).ok_or_else(|| self.missing(&key))?;
        let doc = LevelDoc::parse(&bytes).map_err(|e| StoreError::document(key.clone(), e))?;
        if doc.level != level && self.is_ruled() {
            self.warnings.add(format!(
                "{key}: level is {}, expected {level}: the folder may be that of level {}",
                doc.level, doc.level
            ));
        }
        let values = doc.chunk_attribute_values.as_deref().unwrap_or_default();
        if let Some((at, odd)) = odd_value(values) {
            let what = format!(
                "chunk_attribute_values/{at} is {odd}, expected values that are all texts, all booleans or all numbers"
            );
            return Err(StoreError::malformed(key, what));
        }
        let dims = root.dims();
        let key_rank = doc.key_rank(dims);
        let chunk_shape = self.chunk_shape(root, &doc, &key)?;
        let bin_shape = bin_shape(root, level, &doc);
        self.state().facts.insert(
            level,
            LevelArrayFacts {
                key_rank,
                chunk_shape: chunk_shape.clone(),
                prefixes: (key_rank > dims).then(|| {
                    let values = doc.chunk_attribute_values.as_ref();
                    values.map_or(1, |v| wide(v.len()))
                }),
            },
        );

        let vertices = self.required_grid(&format!("{level}/vertices"), key_rank, more)?;
        if let Some(width) = vertices.row_width()
            && u64::try_from(dims) != Ok(width)
        {
            return Err(StoreError::malformed(
                format!("{level}/vertices/zarr.json"),
                format!("a row has {width} elements, expected {dims} of the axes"),
            ));
        }
        self.warn_of_positions(&vertices);
        let vertex_fragments = self.grid(
            &format!("{level}/vertex_fragments"),
            MISSING,
            key_rank,
            more,
        )?;
        let mut attributes =
            |family| self.attributes(level, family, need, key_rank, &mut refused, more);
        let vertex_attributes = attributes(NameFamily::Vertex)?;
        let fragment_attributes = attributes(NameFamily::Fragment)?;
        if level == 0 && doc.bin_shape.is_some() && !vertex_attributes.is_empty() {
            self.rebinned();
        }
        let object_index = if need.objects {
            self.object_index(level, key_rank)?
        } else {
            None
        };
        let object_attributes = self.tables(level, NameFamily::Object, need, &mut refused)?;
        let group_attributes = self.tables(level, NameFamily::Group, need, &mut refused)?;
        let groups = if need.groups {
            self.groups(level)?
        } else {
            None
        };
        let place = links::LinksLevel {
            root,
            level,
            key_rank,
            chunk_shape: &chunk_shape,
        };
        let links = self.links(place, need, &mut refused, more)?;
        let next_round = {
            let state = self.state();
            let of_level = |one: &&Refused| level_of(&one.path) == Some(level);
            refused.extend(state.left_out.iter().filter(of_level).cloned());
            state.rounds.saturating_add(1)
        };
        let mut built = LevelInner {
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
            refused,
            next_round,
        };
        self.compare_rows(&built);
        // Only once, when the level is complete.
        if more.is_empty() {
            self.check_named(root, need, &mut built);
        }
        Ok(built)
    }

    pub(super) fn chunk_shape(
        &self,
        root: &RootDoc,
        doc: &LevelDoc,
        key: &str,
    ) -> Result<Vec<f64>, StoreError> {
        let (shape, key) = match &doc.chunk_shape {
            Some(shape) => (shape, key),
            None => (&root.zarr_vectors.chunk_shape, "zarr.json"),
        };
        if shape.len() != root.dims() || shape.iter().any(|size| !size.is_finite() || *size <= 0.0)
        {
            return Err(StoreError::malformed(
                key,
                format!(
                    "chunk_shape is {shape:?}, expected {} sizes above 0",
                    root.dims()
                ),
            ));
        }
        Ok(shape.clone())
    }

    fn required_grid(
        &self,
        path: &str,
        key_rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<SharedArray, StoreError> {
        let key = format!("{path}/zarr.json");
        self.grid(path, MISSING, key_rank, more)?
            .ok_or_else(|| self.missing(&key))
    }

    /// A chunk-grid array; `None` if it does not exist. Built once.
    pub(super) fn grid(
        &self,
        path: &str,
        missing: DType,
        key_rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        if let Some(array) = self.built(path) {
            return Ok(Some(array));
        }
        let doc = match self.node(path)? {
            Some(ArrayOrGroup::Array(doc)) => *doc,
            Some(ArrayOrGroup::Group(group)) => {
                return self.blob_group(path, &group, missing, key_rank, more);
            }
            None => return Ok(None),
        };
        if is_packed(&doc) {
            let limits = self.kv.limits();
            let array = GridArray::from_packed(path.to_owned(), doc, missing, key_rank, limits)?;
            return Ok(Some(self.keep(path, array)));
        }
        if !doc.data_type.is_vlen_bytes() {
            return self.padded_array(path, doc, key_rank, more);
        }
        let lacks = GridArray::lacks_presence(&doc);
        let mut array = GridArray::new(path.to_owned(), doc, missing, self.kv.limits())?;
        if array.key_rank() != key_rank {
            return Err(StoreError::malformed(
                format!("{path}/zarr.json"),
                format!(
                    "the grid has {} axes, expected {key_rank}",
                    array.key_rank()
                ),
            ));
        }
        if lacks {
            if self.asks(Question::Keys(path.to_owned()), more) {
                return Ok(Some(Arc::new(array)));
            }
            let listed = self.listed_presence(&array)?;
            array = array.with_presence(Arc::new(listed));
        }
        Ok(Some(self.keep(path, array)))
    }

    /// Warns that attributes may belong to other rows: only re-binning writes `bin_shape` into level 0, and it sorts rows without their attributes
    /// (0.7, section 17, trap 2). Nothing in the store records whether the order changed.
    #[cold]
    fn rebinned(&self) {
        self.warnings.add(
            "level 0 has a bin_shape of its own, so it was re-binned, which \
             reorders vertices but not their attributes: attribute values may belong to other vertices"
                .to_owned(),
        );
    }

    fn attributes(
        &self,
        level: u32,
        family: NameFamily,
        need: &Need,
        key_rank: usize,
        refused: &mut Vec<Refused>,
        more: &mut Vec<Question>,
    ) -> Result<Vec<VertexAttribute>, StoreError> {
        let (names, folders) = {
            let state = self.state();
            let names = self.names_of(&state, level, family, need)?;
            (names.unwrap_or_default(), state.folders_of(level, family))
        };
        let mut attributes = Vec::with_capacity(names.len());
        for name in names {
            for folder in &folders {
                let path = format!("{level}/{folder}/{name}");
                match self.typed_grid(&path, family, &name, key_rank, more) {
                    Ok(Some(array)) => {
                        match odd_category(&array) {
                            None => {
                                self.warn_of_repeated(&array);
                                attributes.push(VertexAttribute::new(name, array));
                            }
                            Some(error) => self.skip(family, need, &path, error, refused)?,
                        }
                        break;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        self.skip(family, need, &path, error, refused)?;
                        break;
                    }
                }
            }
        }
        Ok(attributes)
    }

    /// Warns if two codes have the same value: one of the categories may be damaged.
    fn warn_of_repeated(&self, array: &GridArray) {
        if let Some((at, repeated)) = array.attributes().repeated_category() {
            self.warnings.add(format!(
                "{}/zarr.json: category {at} is {repeated}, the same as an earlier one: if one of them is wrong, wrong values are read for its code",
                array.path()
            ));
        }
    }
}

/// The error for an attribute with categories of several types, or with a `_FillValue` that is the code of a category: other values would be read.
fn odd_category(array: &GridArray) -> Option<StoreError> {
    let attributes = array.attributes();
    let what = if let Some((at, odd)) = attributes.odd_category() {
        format!(
            "category {at} is {odd}, expected categories that are all texts, all booleans or all numbers"
        )
    } else {
        let code = attributes.fill_of_category()?;
        format!(
            "_FillValue is {code}, the code of a category, expected -1 or another number that is not a code; set _FillValue in the document, or remove it if no value is missing"
        )
    };
    Some(StoreError::malformed(
        format!("{}/zarr.json", array.path()),
        what,
    ))
}

/// Sizes of bins (5.2): level 0 from the root, the others from the transform, else from the level's own block.
fn bin_shape(root: &RootDoc, level: u32, doc: &LevelDoc) -> Option<Vec<f64>> {
    let legal = |shape: &Vec<f64>| {
        shape.len() == root.dims() && shape.iter().all(|s| s.is_finite() && *s > 0.0)
    };
    if level == 0 {
        return root.zarr_vectors.base_bin_shape.clone().filter(legal);
    }
    let transformed = root
        .level_transform(level)
        .and_then(|t| t.bin_shape())
        .filter(legal);
    transformed
        .or_else(|| doc.bin_shape.clone().filter(legal))
        .or_else(|| doc.bin_size.clone().filter(legal))
}
