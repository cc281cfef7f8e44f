//! The root document.

use serde_json::Value;

use crate::capabilities::check_required;
use crate::document::{Defaulted, MemberRule, Optional, Required, UnlessDefault, document};
use crate::error::{MetaError, quote};
use crate::json::{Builder, FromJson, JsonObject, Members, ToJson, parse_object};
use crate::multiscales::{Axis, LevelTransform, Multiscales};
use crate::names::{Kind, LinksConvention};
use crate::node::{NodeKind, group_value, pretty, take_node};
use crate::ome::Ome;
use crate::version::{self, Gate, Version};

document! {
    /// The document `zarr.json` at the root of a store.
    ///
    /// Source: 0.9 §5.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RootDoc {
        /// The store: what makes this Zarr group a Zarr Vectors store.
        pub zarr_vectors: ZarrVectors = Required("zarr_vectors"),
        /// Axes and the bin shapes of the levels (NGFF 0.4 shape).
        pub multiscales: Multiscales = Required("multiscales"),
        /// Derived, for other tools; readers of this format ignore it.
        pub ome: Option<Ome> = Lenient("ome"),
        /// Members that users add, by namespace; each namespace has an object (§16.3).
        pub user_metadata: Option<Value> = Optional("user_metadata"),
    }
    beside {
        /// Unknown members next to `attributes`.
        pub node_extra: JsonObject,
    }
}

document! {
    /// The members of `attributes.zarr_vectors`.
    ///
    /// All lengths are in world units along the axes, in axis order; `D` is the number of axes.
    ///
    /// Source: 0.9 §5.1.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ZarrVectors {
        /// Format version, as text; 0.9.x share one layout. See [`version::gate`].
        pub zv_version: String = Required("zv_version"),
        /// Tokens of the optional parts of the format that the writer used; unknown ones are kept. See [`capabilities`](crate::capabilities).
        pub format_capabilities: Vec<String> = Defaulted("format_capabilities"),
        /// Tokens that every reader must support; mostly empty.
        pub required_capabilities: Vec<String> = UnlessDefault("required_capabilities"),
        /// Edges of a chunk of level 0, world units, axis order. `D` numbers above 0.
        pub chunk_shape: Vec<f64> = Required("chunk_shape"),
        /// Smallest and largest corner of the data, both included. `D` numbers each.
        pub bounds: (Vec<f64>, Vec<f64>) = TwoCorners("bounds"),
        /// Geometry kinds; the first one decides how the store is read.
        pub geometry_types: Vec<String> = Required("geometry_types"),
        /// Edges of a bin of level 0: `D` numbers. Absent means [`chunk_shape`](Self::chunk_shape): one bin for each chunk.
        pub base_bin_shape: Option<Vec<f64>> = Optional("base_bin_shape"),
        /// Which edges are implied by row order and which are stored. A value of [`LinksConvention`]; absent means `implicit_sequential`.
        pub links_convention: Option<String> = Optional("links_convention"),
        /// Informative. A value of [`ObjectIndexConvention`](crate::ObjectIndexConvention); no reader uses it.
        pub object_index_convention: Option<String> = Optional("object_index_convention"),
        /// Informative. A value of [`CrossChunkStrategy`](crate::CrossChunkStrategy).
        pub cross_chunk_strategy: Option<String> = Optional("cross_chunk_strategy"),
        /// Coordinate reference system, opaque.
        pub crs: Option<Value> = Optional("crs"),
        /// How many levels cross-level links span; -1 = all. Absent means 1.
        pub cross_level_depth: Option<i64> = Optional("cross_level_depth"),
        /// Whether cross-level links are stored: none, implicit, explicit. A value of [`CrossLevelStorage`](crate::CrossLevelStorage); absent means
        /// `explicit`.
        pub cross_level_storage: Option<String> = Optional("cross_level_storage"),
        /// Informative. 2 or more; absent means 8.
        pub reduction_factor: Option<i64> = Optional("reduction_factor"),
        /// Declared attributes; their arrays may be missing. Scope to name to specification.
        pub attribute_specs: Option<JsonObject> = Optional("attribute_specs"),
        /// How new object indexes store manifests: vlen or dense. Each index states its own layout.
        pub manifest_layout: Option<String> = Optional("manifest_layout"),
        /// Added to stored coordinates to give world coordinates: `D` numbers (§15.7). Absent means zeros.
        pub coordinate_offset: Option<Vec<f64>> = Optional("coordinate_offset"),
    }
}

/// The member of the root's attributes that lists the chunks of level 0 that edits changed since the coarse levels were made.
pub const STALE: &str = "zvf_stale";

/// The member of the root's attributes that lists the jobs that created and changed the store, oldest first; zvf writes it.
const HISTORY: &str = "zvf_history";

/// Most entries of the history that are kept: the first one, and the newest ones.
const MOST_ENTRIES: usize = 100;

/// The member of an attribute in [`ZarrVectors::attribute_specs`] with the value for new rows that have none; zvf writes it.
pub const FILL: &str = "zvf_fill";

impl RootDoc {
    /// The history of the store, oldest entry first; empty if the member is absent or not a list.
    #[must_use]
    pub fn history(&self) -> &[Value] {
        let entries = self.extra.get(HISTORY).and_then(Value::as_array);
        entries.map_or(&[], Vec::as_slice)
    }

    /// Adds an entry, if there is one, to the history. If there are more than 100, the first and the newest are kept. A member with the same name
    /// that is not a list, which zvf does not write, is left unchanged.
    pub fn record(&mut self, entry: Option<Value>) {
        let Some(entry) = entry else { return };
        let entries = self.extra.entry(HISTORY);
        if let Value::Array(entries) = entries.or_insert_with(|| Value::Array(Vec::new())) {
            entries.push(entry);
            let surplus = entries.len().saturating_sub(MOST_ENTRIES);
            entries.drain(1..=surplus);
        }
    }

    /// Parses a root document.
    ///
    /// The version is not checked here, so that a tool can show an old store; readers call [`admit`](Self::admit).
    ///
    /// An `ome` member of another type is not an error, because readers do not use it; it is kept in [`extra`](Self::extra).
    ///
    /// # Errors
    ///
    /// If the bytes are not JSON or not a Zarr v3 group, or if a member is missing or has another type. If the store states an older version, the
    /// error is about the version.
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
        let mut node = take_node(document, NodeKind::Group)?;
        let attributes: Self = node.required("attributes")?;
        Ok(Self {
            node_extra: node.rest(),
            ..attributes
        })
    }

    /// Returns the document as a JSON value: known members in the order of the reference, then unknown ones.
    #[must_use]
    pub fn to_value(&self) -> Value {
        group_value(&self.members(), &self.node_extra)
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
    /// If `geometry_types` is empty or its first entry is unknown.
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
    /// If the convention is unknown.
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
    /// [`MetaError::Version`] for an older or invalid version, [`MetaError::Capability`] for an unknown required
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

    /// Returns the transforms of a level in `multiscales`, from the first dataset whose path is its number.
    #[must_use]
    pub fn level_transform(&self, level: u32) -> Option<LevelTransform<'_>> {
        self.multiscales.transform(level)
    }
}

/// The version that a root document states in `zv_version`, or in `format_version`, the name before 0.5.
fn stated_version(document: &JsonObject) -> Option<String> {
    let block = document.get("attributes")?.get("zarr_vectors")?;
    let text = block
        .get("zv_version")
        .or_else(|| block.get("format_version"))?;
    text.as_str().map(str::to_owned)
}

/// A required member with two corners: a list of two lists.
struct TwoCorners;

impl MemberRule<(Vec<f64>, Vec<f64>)> for TwoCorners {
    fn take(members: &mut Members<'_>, name: &str) -> Result<(Vec<f64>, Vec<f64>), MetaError> {
        const EXPECTED: &str = "two arrays of numbers";
        let Some(corners) = members.optional::<Vec<Vec<f64>>>(name)? else {
            return Err(MetaError::missing(members.place(name), EXPECTED));
        };
        let found = format!("an array of {}", corners.len());
        <[_; 2]>::try_from(corners)
            .map(<(_, _)>::from)
            .map_err(|_| MetaError::unexpected(members.place(name), found, EXPECTED))
    }

    fn put(map: &mut Builder, name: &str, (lo, hi): &(Vec<f64>, Vec<f64>)) {
        map.put(name, &vec![lo.to_json(), hi.to_json()]);
    }
}

/// An optional member that readers do not use. If its value has another type, it is kept among the unknown members.
struct Lenient;

impl<T: FromJson + ToJson> MemberRule<Option<T>> for Lenient {
    fn take(members: &mut Members<'_>, name: &str) -> Result<Option<T>, MetaError> {
        Ok(members.lenient(name))
    }

    fn put(map: &mut Builder, name: &str, value: &Option<T>) {
        Optional::put(map, name, value);
    }
}

#[cfg(test)]
mod tests;
