//! The element types of attributes: compares the documents of the attributes with the declaration of the root.

use serde_json::Value;
use zvf_format::dtype::{DType, DTypeKind};
use zvf_meta::{ArrayAttributes, ArrayDoc, KeyScheme};

use super::MISSING;
use super::SnapshotTree;
use super::blobs::level_of;
use super::plan::NameFamily;
use crate::container::{ContainerKind, GridArray, SharedArray};
use crate::level::LevelInner;
use crate::{StoreError, TypedArray};
use zvf_io::Question;

/// The element type of an attribute in `attribute_specs`.
enum Declared {
    /// Numbers of this type.
    Number(DType),
    /// Texts, which are stored as codes of categories.
    Text,
}

impl SnapshotTree {
    /// The root's declaration of an attribute.
    fn spec_of(&self, family: NameFamily, name: &str) -> Option<Declared> {
        let root = self.state().root.clone()?;
        let scopes = root.zarr_vectors.attribute_specs.as_ref()?;
        let spec = scopes.get(family.scope()?)?.get(name)?;
        let text = spec.get("dtype").and_then(Value::as_str)?;
        match DType::parse(text) {
            Ok(dtype) => Some(Declared::Number(dtype)),
            Err(_) if matches!(text, "str" | "string") => Some(Declared::Text),
            Err(_) => None,
        }
    }

    /// The array of an attribute, if it exists, with the type that its document states. If the document states none, the type is the one that the
    /// root declares; if neither states one, the type is unknown.
    ///
    /// # Errors
    /// As [`grid`](Self::grid); a type that contradicts `attribute_specs`; no type at all, from 0.8.1 on: a group of
    /// blobs without a type is read as `float32` with a warning (0.7, section 17, trap 4).
    pub(super) fn typed_grid(
        &self,
        path: &str,
        family: NameFamily,
        name: &str,
        key_rank: usize,
        more: &mut Vec<Question>,
    ) -> Result<Option<SharedArray>, StoreError> {
        let declared = self.spec_of(family, name);
        let missing = match &declared {
            Some(Declared::Number(dtype)) => *dtype,
            Some(Declared::Text) | None => MISSING,
        };
        let array = match self.grid(path, missing, key_rank, more) {
            Ok(Some(array)) => array,
            Ok(None) => return Ok(None),
            // The declared type is supported, so an unsupported type of the array is damage.
            Err(error) if declared.is_some() && error.is_unsupported() => {
                return Err(StoreError::malformed(
                    format!("{path}/zarr.json"),
                    format!(
                        "{error}, but attribute_specs of the root declares a type that is supported"
                    ),
                ));
            }
            Err(error) => return Err(error),
        };
        let wrong = |what: String| Err(StoreError::malformed(format!("{path}/zarr.json"), what));
        let attributes = array.attributes();
        self.compare_statements(family, (path, name), attributes);
        let stated = attributes.dtype.as_deref();
        match (&declared, stated) {
            (Some(Declared::Number(declared)), Some(_)) if attributes.categories.is_none() => {
                self.check_type(path, &array.dtype(), declared)?;
            }
            (Some(Declared::Text), Some(_)) if attributes.categories.is_none() => {
                return wrong(
                    "no categories, but attribute_specs of the root declares texts".to_owned(),
                );
            }
            (Some(Declared::Number(declared)), None) if is_typed_by_text(&array) => {
                self.warnings.add(format!(
                    "{path}/zarr.json: no dtype, read as {declared}, which attribute_specs of the root declares"
                ));
            }
            (_, None) if array.container() == ContainerKind::Blobs => self.warnings.add(format!(
                "{path}: no dtype, the elements are read as {MISSING}"
            )),
            (_, None) if is_typed_by_text(&array) => {
                return wrong(
                    "no dtype, and attribute_specs of the root has none: the type of the values is not known"
                        .to_owned(),
                );
            }
            _ => {}
        }
        Ok(Some(array))
    }

    /// Warns if the document of an attribute states another name than that of its folder (the folder may belong to the other attribute), or another unit
    /// than the root declares.
    fn compare_statements(
        &self,
        family: NameFamily,
        (path, name): (&str, &str),
        attributes: &ArrayAttributes,
    ) {
        if !self.is_ruled() {
            return;
        }
        if let Some(stated) = attributes.name.as_deref().filter(|stated| *stated != name) {
            self.warnings.add(format!(
                "{path}/zarr.json: name is {stated:?}, expected {name:?}: the values may be those of {stated}"
            ));
        }
        let root = self.state().root.clone();
        let scopes = root
            .as_ref()
            .and_then(|root| root.zarr_vectors.attribute_specs.as_ref());
        let spec = family
            .scope()
            .and_then(|scope| scopes?.get(scope)?.get(name));
        let declared = spec.and_then(|spec| spec.get("unit")?.as_str());
        let stated = attributes.unit.as_deref();
        if let Some(declared) = declared.filter(|declared| stated != Some(*declared)) {
            let found = stated.map_or("no unit".to_owned(), |unit| format!("unit is {unit:?}"));
            self.warnings.add(format!(
                "{path}/zarr.json: {found}, but attribute_specs of the root declares {declared:?}"
            ));
        }
    }

    /// Refuses a number type that differs from the declared one. Exception, with a warning: floats on a coarse level, which may hold means of whole numbers.
    fn check_type(&self, path: &str, found: &DType, declared: &DType) -> Result<(), StoreError> {
        if found == declared {
            return Ok(());
        }
        let key = format!("{path}/zarr.json");
        let differ =
            format!("dtype is {found}, but attribute_specs of the root declares {declared}");
        if found.is_float() && !declared.is_float() && level_of(path) != Some(0) {
            self.warnings.add(format!("{key}: {differ}"));
            return Ok(());
        }
        Err(StoreError::malformed(key, differ))
    }

    /// Warns if the attributes of a table contradict its array.
    ///
    /// # Errors
    /// A number type that contradicts `attribute_specs`.
    pub(super) fn compare_table(
        &self,
        (level, family): (u32, NameFamily),
        table: &TypedArray,
    ) -> Result<(), StoreError> {
        let Some(doc) = table.doc() else {
            return Ok(());
        };
        let attributes = table.attributes();
        self.compare_statements(family, (table.path(), table.name()), attributes);
        let number = !matches!(table.dtype().kind, DTypeKind::Utf32 { .. });
        if let Some(Declared::Number(declared)) = self.spec_of(family, table.name())
            && number
            && attributes.categories.is_none()
        {
            let native = |dtype: DType| DType::little(dtype.kind);
            self.check_type(table.path(), &native(table.dtype()), &native(declared))?;
        }
        let stated = attributes.dtype.as_deref();
        let vertices = self.vertices_of(level);
        let padded = vertices.map(|array| array.container() == ContainerKind::Padded);
        if stated.is_none() && padded == Some(false) {
            // All writers state the type, together with the meaning of the fill value, except in stores with padded arrays.
            self.warnings.add(format!(
                "{}/zarr.json: no dtype in its attributes: rows without a value may read as the fill value",
                table.path()
            ));
        }
        if let Some(stated) = stated
            && DType::parse(stated).is_ok_and(|stated| stated.kind != table.dtype().kind)
        {
            self.warnings.add(format!(
                "{}/zarr.json: data_type is {}, but dtype is {stated:?}",
                table.path(),
                table.dtype()
            ));
        }
        if let Some(stated) = attributes
            .shape
            .as_ref()
            .filter(|stated| **stated != doc.shape)
        {
            self.warnings.add(format!(
                "{}/zarr.json: shape is {:?}, but {stated:?} in its attributes",
                table.path(),
                doc.shape
            ));
        }
        self.compare_keys(&level.to_string(), table.path(), doc);
        Ok(())
    }

    /// The array of a level's vertices, if it is built.
    fn vertices_of(&self, level: u32) -> Option<SharedArray> {
        self.built(&format!("{level}/vertices"))
    }

    /// Warns if the chunk keys of an array have another encoding than those of the level's vertices. If the vertices are a group of blobs, compares with
    /// the encoding that writers of such stores use. Chunks that are not found read as the fill value.
    pub(super) fn compare_keys(&self, folder: &str, path: &str, doc: &ArrayDoc) {
        let level = level_of(folder).unwrap_or_default();
        let known = |doc: &ArrayDoc| (doc.key_encoding.scheme, doc.key_encoding.separator);
        let (scheme, separator) = match self.vertices_of(level) {
            Some(vertices) => vertices.doc().map_or((KeyScheme::Default, '/'), known),
            // The vertices are not built yet.
            None => match self.array_doc(&format!("{level}/vertices")) {
                Ok(Some(vertices)) => known(&vertices),
                _ => return,
            },
        };
        let own = &doc.key_encoding;
        if own.scheme != scheme || own.separator != separator {
            self.warnings.add(format!(
                "{path}/zarr.json: chunk_key_encoding is {:?} with {:?}, expected {scheme:?} with {separator:?} as in {level}/vertices: \
                 chunks that are not found read as the fill value",
                own.scheme, own.separator
            ));
        }
    }

    /// Warns of tables with another number of rows than the object index, of lists of chunks of different lengths, and of a missing fragment index.
    pub(super) fn compare_rows(&self, level: &LevelInner) {
        if let Some(index) = &level.object_index {
            for table in &level.object_attributes {
                if table.rows() != index.len() {
                    self.warnings.add(format!(
                        "{}: {} rows, but there are {} objects",
                        table.path(),
                        table.rows(),
                        index.len()
                    ));
                }
            }
        }
        let count = |array: &GridArray| {
            let listed = array.attributes().nonempty_chunks.as_ref();
            listed.map(|keys| keys.len())
        };
        if let Some(fragments) = &level.vertex_fragments
            && let (Some(vertices), Some(fragments)) = (count(&level.vertices), count(fragments))
            && vertices != fragments
        {
            self.warnings.add(format!(
                "level {}: {vertices} chunks of vertices are listed, but {fragments} chunks of vertex_fragments",
                level.number
            ));
        }
        let mut present = level.doc.arrays_present.iter();
        if level.vertex_fragments.is_none()
            && count(&level.vertices) > Some(0)
            && present.any(|name| name == "object_index")
            && self.is_ruled()
        {
            self.warnings.add(format!(
                "{}/vertex_fragments: is missing: the objects of rows are not known",
                level.number
            ));
        }
    }

    /// Warns if the document of the positions states no type: they are read as `float32` (0.9, section 8.2).
    pub(super) fn warn_of_positions(&self, vertices: &GridArray) {
        if vertices.attributes().dtype.is_none() && vertices.container() == ContainerKind::Grid {
            self.warnings.add(format!(
                "{}/zarr.json: no dtype, positions are read as {MISSING}",
                vertices.path()
            ));
        }
    }
}

/// Whether only the attribute `dtype` states the type of elements inside cells.
fn is_typed_by_text(array: &GridArray) -> bool {
    matches!(
        array.container(),
        ContainerKind::Grid | ContainerKind::Packed
    )
}
