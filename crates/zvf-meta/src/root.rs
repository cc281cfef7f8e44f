//! The root document.

use serde_json::Value;

use crate::capabilities::check_required;
use crate::error::{MetaError, quote};
use crate::json::{Builder, FromJson, JsonObject, Members, Pointer, ToJson, parse_object};
use crate::multiscales::{Axis, LevelTransform, Multiscales};
use crate::names::{Kind, LinksConvention};
use crate::node::{NodeKind, pretty, take_head};
use crate::ome::Ome;
use crate::version::{self, Gate, Version};

/// The document `zarr.json` at the root of a store.
///
/// Source: 0.9 §5.
#[derive(Clone, Debug, PartialEq)]
pub struct RootDoc {
    /// `attributes.zarr_vectors`.
    pub zarr_vectors: ZarrVectors,
    /// `attributes.multiscales`: axes and level transforms.
    pub multiscales: Multiscales,
    /// `attributes.ome`: a derived description that readers do not use.
    pub ome: Option<Ome>,
    /// `attributes.user_metadata`: namespace to members (§16.3).
    pub user_metadata: Option<Value>,
    /// Unknown members of `attributes`.
    pub extra: JsonObject,
    /// Unknown members next to `attributes`.
    pub node_extra: JsonObject,
}

/// The members of `attributes.zarr_vectors`.
///
/// All lengths are in world units along the axes, in axis order; `D` is the number of axes.
///
/// Source: 0.9 §5.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZarrVectors {
    /// Format version as text; see [`version::gate`].
    pub zv_version: String,
    /// Tokens of the features that the writer used; see [`capabilities`](crate::capabilities).
    pub format_capabilities: Vec<String>,
    /// Tokens that every reader must support; mostly empty.
    pub required_capabilities: Vec<String>,
    /// World size of a level-0 chunk, `D` numbers above 0.
    pub chunk_shape: Vec<f64>,
    /// Lowest and highest corner of the data, both inclusive, `D` numbers each.
    pub bounds: (Vec<f64>, Vec<f64>),
    /// Geometry kinds; the first decides how the store is read.
    pub geometry_types: Vec<String>,
    /// Edge length of a level-0 bin, `D` numbers; absent means [`chunk_shape`](Self::chunk_shape).
    pub base_bin_shape: Option<Vec<f64>>,
    /// Word of [`LinksConvention`]; absent means `implicit_sequential`.
    pub links_convention: Option<String>,
    /// Word of [`ObjectIndexConvention`](crate::ObjectIndexConvention); no reader uses it.
    pub object_index_convention: Option<String>,
    /// Word of [`CrossChunkStrategy`](crate::CrossChunkStrategy); informative.
    pub cross_chunk_strategy: Option<String>,
    /// Coordinate reference system, opaque.
    pub crs: Option<Value>,
    /// The number of levels that links span; -1 means all. Absent means 1.
    pub cross_level_depth: Option<i64>,
    /// Word of [`CrossLevelStorage`](crate::CrossLevelStorage); absent means `explicit`.
    pub cross_level_storage: Option<String>,
    /// Informative, 2 or more. Absent means 8.
    pub reduction_factor: Option<i64>,
    /// Declared attributes: scope to name to specification. Arrays may be missing nevertheless.
    pub attribute_specs: Option<JsonObject>,
    /// How new object indexes store manifests: `vlen` or `dense`. Each index states its own layout.
    pub manifest_layout: Option<String>,
    /// World position minus stored position, `D` numbers (§15.7); absent means zeros.
    pub coordinate_offset: Option<Vec<f64>>,
    /// Unknown members.
    pub extra: JsonObject,
}

const BLOCK: &str = "/attributes/zarr_vectors";

impl RootDoc {
    /// Parses a root document.
    ///
    /// The version is not checked here, so that a tool can show an old store; readers call [`admit`](Self::admit).
    ///
    /// An `ome` node of another shape is no error, since readers do not use it: it is kept in
    /// [`extra`](Self::extra).
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON, describe no Zarr v3 group, or a member is missing or of another type. If the
    /// store states an older version, that is the error.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetaError> {
        let document = parse_object("root", bytes)?;
        let version = stated_version(&document);
        Self::from_document(document).map_err(|error| match version {
            Some(text) if matches!(version::gate(&text), Gate::Older(_)) => {
                MetaError::version(&text, version::EXPECTED)
            }
            _ => error,
        })
    }

    fn from_document(document: JsonObject) -> Result<Self, MetaError> {
        let at = Pointer::Prefix("");
        let mut node = Members::new(document, &at);
        take_head(&mut node, NodeKind::Group)?;
        let at = Pointer::Prefix("/attributes");
        let mut attributes = Members::new(node.required("attributes")?, &at);
        Ok(Self {
            zarr_vectors: attributes.required("zarr_vectors")?,
            multiscales: attributes.required("multiscales")?,
            ome: attributes.lenient("ome"),
            user_metadata: attributes.optional("user_metadata")?,
            extra: attributes.rest(),
            node_extra: node.rest(),
        })
    }

    /// Returns the document as a JSON value: known members in the order of the reference, then unknown ones.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut attributes = Builder::default();
        attributes
            .put("zarr_vectors", &self.zarr_vectors)
            .put("multiscales", &self.multiscales)
            .put_some("ome", self.ome.as_ref())
            .put_some("user_metadata", self.user_metadata.as_ref());
        let mut node = Builder::default();
        node.put("attributes", &attributes.finish(&self.extra))
            .put("zarr_format", &3u32)
            .put("node_type", "group");
        Value::Object(node.finish(&self.node_extra))
    }

    /// Writes the document, indented by two blanks.
    #[must_use]
    pub fn to_json(&self) -> String {
        pretty(&self.to_value())
    }

    /// Returns the axes in column order.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        self.multiscales.axes()
    }

    /// Returns `D`, the number of axes.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.axes().len()
    }

    /// Returns the first geometry kind, which decides how the store is read.
    ///
    /// # Errors
    ///
    /// If `geometry_types` is empty or its first word is unknown.
    pub fn kind(&self) -> Result<Kind, MetaError> {
        let at = "/attributes/zarr_vectors/geometry_types/0";
        let name = self
            .zarr_vectors
            .geometry_types
            .first()
            .ok_or_else(|| MetaError::missing(at, Kind::EXPECTED))?;
        Kind::from_name(name).ok_or_else(|| MetaError::unexpected(at, quote(name), Kind::EXPECTED))
    }

    /// Returns the link convention, `implicit_sequential` if the document states none.
    ///
    /// # Errors
    ///
    /// If the word is unknown.
    pub fn links_convention(&self) -> Result<LinksConvention, MetaError> {
        match &self.zarr_vectors.links_convention {
            None => Ok(LinksConvention::default()),
            Some(name) => LinksConvention::from_name(name).ok_or_else(|| {
                let at = "/attributes/zarr_vectors/links_convention";
                MetaError::unexpected(at, quote(name), LinksConvention::EXPECTED)
            }),
        }
    }

    /// Checks the version of the store.
    #[must_use]
    pub fn gate(&self) -> Gate {
        version::gate(&self.zarr_vectors.zv_version)
    }

    /// Decides whether this crate may read the store, by its version and its required capabilities.
    ///
    /// Returns the version if it is newer than all known ones, for a warning.
    ///
    /// # Errors
    ///
    /// [`MetaError::Version`] for an older version or an invalid text, [`MetaError::Capability`] for an unknown required
    /// capability.
    pub fn admit(&self) -> Result<Option<Version>, MetaError> {
        let newer = match self.gate() {
            Gate::Supported(_) => None,
            Gate::Newer(version) => Some(version),
            Gate::Older(_) | Gate::Malformed => {
                return Err(MetaError::version(
                    &self.zarr_vectors.zv_version,
                    version::EXPECTED,
                ));
            }
        };
        check_required(&self.zarr_vectors.required_capabilities)?;
        Ok(newer)
    }

    /// Returns the transforms that `multiscales` holds for a level: the first dataset whose path is its number.
    #[must_use]
    pub fn level_transform(&self, level: u32) -> Option<LevelTransform<'_>> {
        self.multiscales.transform(level)
    }
}

/// The version that a root document states, also under the name that stores before 0.5 used.
fn stated_version(document: &JsonObject) -> Option<String> {
    let block = document.get("attributes")?.get("zarr_vectors")?;
    let text = block
        .get("zv_version")
        .or_else(|| block.get("format_version"))?;
    text.as_str().map(str::to_owned)
}

/// Two corners, read from and written as a list of two lists.
struct Corners((Vec<f64>, Vec<f64>));

impl FromJson for Corners {
    const EXPECTED: &'static str = "two arrays of numbers";

    fn from_json(value: Value, at: &Pointer<'_>) -> Result<Self, MetaError> {
        let corners = <Vec<Vec<f64>>>::from_json(value, at)?;
        let count = corners.len();
        let mut corners = corners.into_iter();
        match (corners.next(), corners.next(), corners.next()) {
            (Some(lo), Some(hi), None) => Ok(Self((lo, hi))),
            _ => Err(MetaError::unexpected(
                at,
                format!("an array of {count}"),
                Self::EXPECTED,
            )),
        }
    }
}

impl FromJson for ZarrVectors {
    const EXPECTED: &'static str = "an object";

    fn from_json(value: Value, _: &Pointer<'_>) -> Result<Self, MetaError> {
        let at = Pointer::Prefix(BLOCK);
        let mut members = Members::of(value, &at)?;
        Ok(Self {
            zv_version: members.required("zv_version")?,
            format_capabilities: members.optional("format_capabilities")?.unwrap_or_default(),
            required_capabilities: members
                .optional("required_capabilities")?
                .unwrap_or_default(),
            chunk_shape: members.required("chunk_shape")?,
            bounds: members.required::<Corners>("bounds")?.0,
            geometry_types: members.required("geometry_types")?,
            base_bin_shape: members.optional("base_bin_shape")?,
            links_convention: members.optional("links_convention")?,
            object_index_convention: members.optional("object_index_convention")?,
            cross_chunk_strategy: members.optional("cross_chunk_strategy")?,
            crs: members.optional("crs")?,
            cross_level_depth: members.optional("cross_level_depth")?,
            cross_level_storage: members.optional("cross_level_storage")?,
            reduction_factor: members.optional("reduction_factor")?,
            attribute_specs: members.optional("attribute_specs")?,
            manifest_layout: members.optional("manifest_layout")?,
            coordinate_offset: members.optional("coordinate_offset")?,
            extra: members.rest(),
        })
    }
}

impl ToJson for ZarrVectors {
    fn to_json(&self) -> Value {
        let mut map = Builder::default();
        map.put("zv_version", &self.zv_version)
            .put("format_capabilities", &self.format_capabilities);
        if !self.required_capabilities.is_empty() {
            map.put("required_capabilities", &self.required_capabilities);
        }
        map.put("chunk_shape", &self.chunk_shape)
            .put(
                "bounds",
                &vec![self.bounds.0.to_json(), self.bounds.1.to_json()],
            )
            .put("geometry_types", &self.geometry_types)
            .put_some("base_bin_shape", self.base_bin_shape.as_ref())
            .put_some("links_convention", self.links_convention.as_ref())
            .put_some(
                "object_index_convention",
                self.object_index_convention.as_ref(),
            )
            .put_some("cross_chunk_strategy", self.cross_chunk_strategy.as_ref())
            .put_some("crs", self.crs.as_ref())
            .put_some("cross_level_depth", self.cross_level_depth.as_ref())
            .put_some("cross_level_storage", self.cross_level_storage.as_ref())
            .put_some("reduction_factor", self.reduction_factor.as_ref())
            .put_some("attribute_specs", self.attribute_specs.as_ref())
            .put_some("manifest_layout", self.manifest_layout.as_ref())
            .put_some("coordinate_offset", self.coordinate_offset.as_ref());
        Value::Object(map.finish(&self.extra))
    }
}

#[cfg(test)]
mod tests;
