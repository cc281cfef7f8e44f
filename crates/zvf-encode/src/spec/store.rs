//! [`StoreSpec`], the description of a store to write, and its check.

mod space;

use std::collections::{BTreeMap, HashSet};

use serde::{Serialize, Serializer};
use serde_json::Value;
use zvf_format::links::lehmer::MAX_WIDTH;
use zvf_meta::moments::Moments;
use zvf_meta::{Axis, JsonObject, Kind, LinkStore, LinksConvention};

pub use space::check_bin_count;

use crate::WriteError;
use crate::spec::names::check_name;
use crate::spec::parametric::Parametric;
use crate::spec::shard_shape::ShardShape;
use crate::values::column::Values;
use crate::values::number::NumberType;
use zvf_codec::Compression;

use space::length;

/// The format version that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[non_exhaustive]
pub enum TargetVersion {
    /// 0.9.2: one array of cells per family, links by offset.
    #[default]
    V0_9_2,
    /// 0.8.1, flat: one array per cell, links by their chunks, and row numbers as the ids of objects.
    V0_8_1,
}

impl TargetVersion {
    /// The text of `zv_version`.
    #[must_use]
    pub const fn version(self) -> &'static str {
        match self {
            Self::V0_9_2 => "0.9.2",
            Self::V0_8_1 => "0.8.1",
        }
    }
}

/// The treatment of a vertex outside the given [`bounds`](StoreSpec::bounds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub enum Outside {
    /// The batch is refused.
    #[default]
    Refuse,
    /// The bounds grow.
    Grow,
}

/// The type of the values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum AttributeType {
    /// Numbers of one type.
    Number(NumberType),
    /// Texts from a small set, stored as codes; a text may be missing. For vertices.
    Category,
    /// Any texts, stored in full. For objects and groups.
    Text,
}

/// One attribute, declared before the first batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AttributeSpec {
    /// Its name: a path segment, so without `/`.
    pub name: String,
    /// The type of its values.
    pub values: AttributeType,
    /// Values of one row. Default 1.
    pub channels: usize,
    /// One name per channel. Default `ch0`, `ch1`, … if there are several.
    pub channel_names: Option<Vec<String>>,
    /// Unit of the values.
    pub unit: Option<String>,
    /// A description of the values.
    pub description: Option<String>,
}

/// The description of booleans with missing values.
const BOOLEAN_TEXTS: &str = "true, false, or missing";

impl AttributeSpec {
    /// Numbers, one per row.
    #[must_use]
    pub fn number(name: impl Into<String>, number: NumberType) -> Self {
        Self::new(name.into(), AttributeType::Number(number))
    }

    /// Texts from a small set, one per row: for vertices.
    #[must_use]
    pub fn category(name: impl Into<String>) -> Self {
        Self::new(name.into(), AttributeType::Category)
    }

    /// Booleans with missing values, stored as the texts `true` and `false`, one per row: for vertices. They are marked by their description, so that all
    /// parts of a distributed write have equal attributes.
    #[must_use]
    pub fn boolean_texts(name: impl Into<String>) -> Self {
        Self::category(name).with_description(BOOLEAN_TEXTS)
    }

    /// Whether this is an attribute of [`boolean_texts`](Self::boolean_texts).
    #[must_use]
    pub fn has_boolean_texts(&self) -> bool {
        self.values == AttributeType::Category && self.description.as_deref() == Some(BOOLEAN_TEXTS)
    }

    /// Any texts, one per row: for objects and groups.
    #[must_use]
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name.into(), AttributeType::Text)
    }

    fn new(name: String, values: AttributeType) -> Self {
        Self {
            name,
            values,
            channels: 1,
            channel_names: None,
            unit: None,
            description: None,
        }
    }

    /// Sets [`channels`](Self::channels).
    #[must_use]
    pub fn with_channels(mut self, channels: usize) -> Self {
        self.channels = channels;
        self
    }

    /// Sets the channels by their names.
    #[must_use]
    pub fn with_channel_names<T: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = T>,
    ) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.channels = names.len();
        self.channel_names = Some(names);
        self
    }

    /// Sets [`unit`](Self::unit).
    #[must_use]
    pub fn with_unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Whether the unit makes the numbers dates, times or durations: the smallest number means missing.
    #[must_use]
    pub fn has_moments(&self) -> bool {
        self.moments().is_some()
    }

    /// Whether values are whole numbers, but neither booleans nor dates, times or durations. Objects may lack such values.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let number = self.values.number();
        number.is_some_and(|number| !number.is_float() && number != NumberType::Bool)
            && !self.has_moments()
    }

    fn moments(&self) -> Option<Moments> {
        self.unit.as_deref().and_then(Moments::of_unit)
    }

    /// Checks values against the type and unit: floats must not become infinite in a shorter type; days, times of day and dates must be in range.
    /// `of` names the owner of the attribute in errors.
    ///
    /// # Errors
    /// Misuse: the first value that is out of range, with its row.
    pub fn check_values(&self, of: &str, values: &Values) -> Result<(), WriteError> {
        if let Some(number) = self.values.number()
            && let Some(at) = values.first_beyond(number)
        {
            let row = at / self.channels.max(1);
            let found = values.to_f64().get(at).copied().unwrap_or(f64::INFINITY);
            let found = format!("{found:e} in row {row}");
            let what = format!("{of} {}", self.name);
            let expected = format!("numbers that {number} can represent");
            return Err(WriteError::input(what, found, expected));
        }
        let (Some(moments), Values::I64(numbers)) = (self.moments(), values) else {
            return Ok(());
        };
        match moments.first_odd(numbers.iter().copied()) {
            None => Ok(()),
            Some((at, number)) => {
                let row = at / self.channels.max(1);
                let unit = self.unit.as_deref().unwrap_or_default();
                let found = format!("{number} in row {row} ({unit})");
                let what = format!("{of} {}", self.name);
                Err(WriteError::input(what, found, moments.expected()))
            }
        }
    }

    /// Sets [`description`](Self::description).
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The names of channels in a document: none for one channel without a name.
    pub(crate) fn shown_channels(&self) -> Option<Vec<String>> {
        match &self.channel_names {
            Some(names) => Some(names.clone()),
            None if self.channels == 1 => None,
            None => Some((0..self.channels).map(|at| format!("ch{at}")).collect()),
        }
    }
}

fn kind<S: Serializer>(kind: &Kind, to: S) -> Result<S::Ok, S::Error> {
    kind.name().serialize(to)
}

fn link_store<S: Serializer>(store: &LinkStore, to: S) -> Result<S::Ok, S::Error> {
    store.name().serialize(to)
}

fn axes<S: Serializer>(axes: &[Axis], to: S) -> Result<S::Ok, S::Error> {
    let axes = axes.iter();
    to.collect_seq(axes.map(|one| (&one.name, &one.type_, &one.unit, &one.extra)))
}

/// How links are stored (0.9 §13.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LinkSpec {
    /// Endpoints of one link: 2 for graphs and skeletons, 3 for triangles, 4 for quads.
    pub width: usize,
    /// Links keep their direction: no endpoint is moved, no permutation is stored.
    pub directed: bool,
    /// Whether a link is stored once, or once for each chunk that it touches.
    #[serde(serialize_with = "link_store")]
    pub store: LinkStore,
    /// Skeletons: store every edge, instead of only those that the order of rows does not imply.
    pub explicit: bool,
    /// Attributes of links: graphs and skeletons with explicit links.
    pub attributes: Vec<AttributeSpec>,
}

impl LinkSpec {
    fn of(kind: Kind) -> Self {
        Self {
            width: if kind == Kind::Mesh { 3 } else { 2 },
            directed: false,
            store: LinkStore::Canonical,
            explicit: matches!(kind, Kind::Graph | Kind::Mesh),
            attributes: Vec::new(),
        }
    }
}

/// An attribute that splits chunks, in addition to positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChunkBy {
    /// The attribute: one boolean, integer or text per vertex. It is stored in the keys of chunks, and in an array only if [`stored`](Self::stored).
    pub attribute: AttributeSpec,
    /// All permitted values. Default: the values in the data.
    pub values: Option<Values>,
    /// Whether it is also stored in an array, as the released writers of graphs and meshes do. True only for existing stores that are edited.
    pub stored: bool,
}

impl ChunkBy {
    /// The attribute as the documents of a store describe it.
    #[must_use]
    pub fn found(attribute: AttributeSpec, stored: bool) -> Self {
        Self {
            attribute,
            values: None,
            stored,
        }
    }
}

/// The description of a store to write. [`check`](Self::check) checks it as a whole, before anything is written.
///
/// # Units
/// Lengths are world units along the axes, one number per axis.
///
/// # Examples
///
/// ```
/// use zvf_encode::{AttributeSpec, Kind, NumberType, StoreSpec};
///
/// let spec = StoreSpec::new(Kind::Streamline, [50.0; 3])
///     .with_unit("millimeter")
///     .with_vertex_attribute(AttributeSpec::number("fa", NumberType::F32))
///     .with_object_attribute(AttributeSpec::text("bundle"));
/// assert!(spec.check().is_ok());
///
/// let error = spec.with_bin_shape([20.0, 25.0, 25.0]).check().unwrap_err();
/// assert_eq!(error.to_string(), "bin_shape/0: found 20, expected a size that divides the chunk's 50");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StoreSpec {
    /// The geometry.
    #[serde(serialize_with = "kind")]
    pub kind: Kind,
    /// Axes in column order. Default `x`, `y`, `z`, `w`, of type `space`, without a unit.
    #[serde(serialize_with = "axes")]
    pub axes: Vec<Axis>,
    /// Size of a chunk.
    pub chunk_shape: Vec<f64>,
    /// Size of a bin: it divides the chunk. Only point clouds without objects have bins.
    pub bin_shape: Option<Vec<f64>>,
    /// The bounds of the store. Default: the bounds of the data. They are extended if rounding to the stored number type moves a vertex beyond them.
    pub bounds: Option<(Vec<f64>, Vec<f64>)>,
    /// How vertices outside the bounds are treated.
    pub outside: Outside,
    /// The number type of positions. Default `float32`.
    pub positions: NumberType,
    /// Point clouds: whether points belong to objects. All other kinds always have objects.
    pub objects: bool,
    /// Attributes of vertices.
    pub vertex_attributes: Vec<AttributeSpec>,
    /// An attribute that also splits chunks. Default none.
    pub chunk_by: Option<ChunkBy>,
    /// Attributes of fragments; a fragment ends where any of them changes. Default none.
    pub fragment_attributes: Vec<AttributeSpec>,
    /// Whether the object of each fragment is stored, in `fragment_attributes/object_id` (0.9 §11.7). Default: in stores of 0.9 with objects.
    pub fragment_owners: Option<bool>,
    /// Attributes of objects.
    pub object_attributes: Vec<AttributeSpec>,
    /// How links are stored, and their attributes.
    pub links: LinkSpec,
    /// How chunks are compressed. Default [`Compression::Auto`]: the codec of each array follows its data; in stores of 0.8.1 and in distributed
    /// writes, zstd.
    pub compression: Compression,
    /// Which cells are stored together. Default [`ShardShape::Auto`]: shards are chosen from the data, if all arrays together have at least 2,000 cells.
    pub shard_shape: ShardShape,
    /// The format version.
    pub target: TargetVersion,
    /// Name of the store in its description for other tools. Default: the last part of its address.
    pub name: Option<String>,
    /// Coordinate reference system, opaque.
    pub crs: Option<Value>,
    /// World position minus stored position, one number per axis (0.9 §15.7). Default none.
    pub coordinate_offset: Option<Vec<f64>>,
    /// Headers of source files by their format, such as `trk`: opaque (0.9 §16.2).
    pub headers: BTreeMap<String, JsonObject>,
    /// Members defined by users, by namespace, in the root's document: opaque (0.9 §16.3).
    pub user_metadata: BTreeMap<String, JsonObject>,
    /// Objects given by coefficients.
    pub parametric: Option<Parametric>,
}

impl StoreSpec {
    /// A store of one kind, with a chunk size for each axis.
    #[must_use]
    pub fn new(kind: Kind, chunk_shape: impl Into<Vec<f64>>) -> Self {
        let chunk_shape = chunk_shape.into();
        let names = ["x", "y", "z", "w"].iter().map(|&name| name.to_owned());
        let more = (4..).map(|axis| format!("dim{axis}"));
        let axes = names
            .chain(more)
            .take(chunk_shape.len())
            .map(|name| Axis::new(name, "space"))
            .collect();
        Self {
            kind,
            axes,
            chunk_shape,
            bin_shape: None,
            bounds: None,
            outside: Outside::Refuse,
            positions: NumberType::F32,
            objects: kind != Kind::PointCloud,
            vertex_attributes: Vec::new(),
            chunk_by: None,
            fragment_attributes: Vec::new(),
            fragment_owners: None,
            object_attributes: Vec::new(),
            links: LinkSpec::of(kind),
            compression: Compression::Auto,
            shard_shape: ShardShape::default(),
            target: TargetVersion::default(),
            name: None,
            crs: None,
            coordinate_offset: None,
            headers: BTreeMap::new(),
            user_metadata: BTreeMap::new(),
            parametric: None,
        }
    }

    /// Sets the format version.
    #[must_use]
    pub fn with_target(mut self, target: TargetVersion) -> Self {
        self.target = target;
        self
    }

    /// Replaces the axes.
    #[must_use]
    pub fn with_axes(mut self, axes: Vec<Axis>) -> Self {
        self.axes = axes;
        self
    }

    /// Gives every axis of type `space` the same unit, such as `micrometer`.
    #[must_use]
    pub fn with_unit(mut self, unit: &str) -> Self {
        for axis in self.axes.iter_mut().filter(|axis| axis.kind() == "space") {
            axis.unit = Some(unit.to_owned());
        }
        self
    }

    /// Divides chunks into bins.
    #[must_use]
    pub fn with_bin_shape(mut self, bin_shape: impl Into<Vec<f64>>) -> Self {
        self.bin_shape = Some(bin_shape.into());
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn with_bounds(
        mut self,
        low: impl Into<Vec<f64>>,
        high: impl Into<Vec<f64>>,
        outside: Outside,
    ) -> Self {
        self.bounds = Some((low.into(), high.into()));
        self.outside = outside;
        self
    }

    /// Sets the number type of positions.
    #[must_use]
    pub fn with_positions(mut self, number: NumberType) -> Self {
        self.positions = number;
        self
    }

    /// Point clouds: points belong to objects.
    #[must_use]
    pub fn with_objects(mut self) -> Self {
        self.objects = true;
        self
    }

    /// Declares an attribute of vertices.
    #[must_use]
    pub fn with_vertex_attribute(mut self, attribute: AttributeSpec) -> Self {
        self.vertex_attributes.push(attribute);
        self
    }

    /// Declares an attribute of objects.
    #[must_use]
    pub fn with_object_attribute(mut self, attribute: AttributeSpec) -> Self {
        self.object_attributes.push(attribute);
        self
    }

    /// Declares an attribute of links.
    #[must_use]
    pub fn with_link_attribute(mut self, attribute: AttributeSpec) -> Self {
        self.links.attributes.push(attribute);
        self
    }

    /// Sets the number of endpoints of a link: 4 for a mesh of quads.
    #[must_use]
    pub fn with_link_width(mut self, width: usize) -> Self {
        self.links.width = width;
        self
    }

    /// Sets how links are placed.
    #[must_use]
    pub fn with_link_policy(mut self, directed: bool, store: LinkStore) -> Self {
        (self.links.directed, self.links.store) = (directed, store);
        self
    }

    /// Skeletons: every edge is stored.
    #[must_use]
    pub fn with_explicit_links(mut self) -> Self {
        self.links.explicit = true;
        self
    }

    /// The compression of chunks, as the rules of the version require.
    pub(crate) fn settled_compression(&self) -> Compression {
        self.target.rules().compression(&self.compression)
    }

    /// Sets how chunks are compressed.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the offset that readers add to stored positions to get world positions. Pushed positions are stored positions: the offset is not subtracted
    /// from them.
    #[must_use]
    pub fn with_coordinate_offset(mut self, offset: impl Into<Vec<f64>>) -> Self {
        self.coordinate_offset = Some(offset.into());
        self
    }

    /// Sets how cells are combined in shards; with an empty list, every cell is a separate object.
    #[must_use]
    pub fn with_shard_shape(mut self, cells: impl Into<ShardShape>) -> Self {
        self.shard_shape = cells.into();
        self
    }

    /// Stores the header of a source file, by the name of its format.
    #[must_use]
    pub fn with_header(mut self, format: impl Into<String>, header: JsonObject) -> Self {
        self.headers.insert(format.into(), header);
        self
    }

    /// Stores members defined by users, below a namespace.
    #[must_use]
    pub fn with_user_metadata(mut self, namespace: impl Into<String>, members: JsonObject) -> Self {
        self.user_metadata.insert(namespace.into(), members);
        self
    }

    /// Adds objects given by coefficients.
    #[must_use]
    pub fn with_parametric(mut self, parametric: Parametric) -> Self {
        self.parametric = Some(parametric);
        self
    }

    /// Number of axes.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.chunk_shape.len()
    }

    /// Whether vertices belong to objects.
    #[must_use]
    pub fn has_objects(&self) -> bool {
        self.objects || self.kind != Kind::PointCloud
    }

    /// The value of `links_convention`.
    #[must_use]
    pub fn convention(&self) -> LinksConvention {
        match self.kind {
            Kind::Graph | Kind::Mesh => LinksConvention::Explicit,
            Kind::Skeleton if self.links.explicit => LinksConvention::Explicit,
            Kind::Skeleton => LinksConvention::ImplicitSequentialWithBranches,
            _ => LinksConvention::ImplicitSequential,
        }
    }

    /// Whether batches may have links: graphs, skeletons and meshes.
    #[must_use]
    pub fn takes_links(&self) -> bool {
        matches!(self.kind, Kind::Graph | Kind::Skeleton | Kind::Mesh)
    }

    /// Checks the specification.
    ///
    /// # Errors
    /// The first invalid member, by its name.
    pub fn check(&self) -> Result<(), WriteError> {
        self.check_space()?;
        self.check_bounds()?;
        self.check_attributes()?;
        self.check_chunk_by()?;
        self.check_fragments()?;
        self.check_links()?;
        self.compression.check()?;
        self.check_side()?;
        self.check_document()?;
        self.target.rules().check(self)?;
        self.check_shards()
    }

    fn check_side(&self) -> Result<(), WriteError> {
        if let Some(offset) = &self.coordinate_offset {
            length("coordinate_offset", offset.len(), self.dims())?;
            if let Some(part) = offset.iter().find(|part| !part.is_finite()) {
                let found = part.to_string();
                return Err(WriteError::spec(
                    "coordinate_offset",
                    found,
                    "finite numbers",
                ));
            }
        }
        check_named("headers", &self.headers)?;
        check_named("user_metadata", &self.user_metadata)?;
        self.parametric.as_ref().map_or(Ok(()), Parametric::check)
    }

    /// The given bounds, extended to the values that they are rounded to in the stored number type.
    pub fn reach(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let (low, high) = self.bounds.as_ref()?;
        let round = |value: &f64| self.positions.round(*value);
        Some((
            low.iter().map(|low| low.min(round(low))).collect(),
            high.iter().map(|high| high.max(round(high))).collect(),
        ))
    }

    fn check_attributes(&self) -> Result<(), WriteError> {
        use AttributeType::{Category, Number, Text};
        check_list(
            "vertex_attributes",
            &self.vertex_attributes,
            |values| match values {
                Number(_) | Category => Ok(()),
                Text => Err("a number type or `Category`"),
            },
        )?;
        let key = self.chunk_by.as_ref().map(|one| one.attribute.clone());
        check_list("chunk_by", key.as_slice(), Self::chunk_by_type)?;
        check_list(
            "object_attributes",
            &self.object_attributes,
            |values| match values {
                Number(_) | Text => Ok(()),
                Category => Err("a number type or `Text`"),
            },
        )?;
        check_list(
            "links/attributes",
            &self.links.attributes,
            AttributeType::numbers_only,
        )?;
        if !self.has_objects() && !self.object_attributes.is_empty() {
            let found = format!("{} attributes", self.object_attributes.len());
            return Err(WriteError::spec(
                "object_attributes",
                found,
                "none without objects",
            ));
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), WriteError> {
        let links = &self.links;
        let legal = match self.kind {
            Kind::Mesh => 3..=MAX_WIDTH,
            _ => 2..=2,
        };
        if !legal.contains(&links.width) {
            let expected = format!("{} to {} for this kind", legal.start(), legal.end());
            return Err(WriteError::spec(
                "links/width",
                links.width.to_string(),
                expected,
            ));
        }
        if links.explicit && !self.takes_links() {
            let expected = "false: this kind is linked by the order of its rows";
            return Err(WriteError::spec("links/explicit", "true", expected));
        }
        if !links.explicit && matches!(self.kind, Kind::Graph | Kind::Mesh) {
            return Err(WriteError::spec(
                "links/explicit",
                "false",
                "true for this kind",
            ));
        }
        let policy = links.directed || links.store == LinkStore::Duplicate;
        if policy && !links.explicit {
            // Readers of implied links detect the streamed form, with reversed records, from `directed` (0.9 §14.3).
            let expected = "undirected links with the policy canonical where links are implied";
            return Err(WriteError::spec(
                "links",
                "directed links, or links with the policy duplicate",
                expected,
            ));
        }
        if !links.attributes.is_empty() && !links.explicit {
            let expected =
                "none where links are implied: such links are not stored, so they have no values";
            let found = format!("{} attributes", links.attributes.len());
            return Err(WriteError::spec("links/attributes", found, expected));
        }
        Ok(())
    }
}

pub(crate) fn check_list(
    member: &str,
    list: &[AttributeSpec],
    legal: impl Fn(AttributeType) -> Result<(), &'static str>,
) -> Result<(), WriteError> {
    let mut names = HashSet::new();
    for (at, one) in list.iter().enumerate() {
        let here = |part: &str| format!("{member}/{}/{part}", one.name);
        check_name(&format!("{member}/{at}/name"), &one.name)?;
        if !names.insert(&one.name) {
            let found = format!("{:?} again", one.name);
            return Err(WriteError::spec(
                format!("{member}/{at}/name"),
                found,
                "a name of its own",
            ));
        }
        legal(one.values).map_err(|expected| {
            WriteError::spec(here("values"), format!("{:?}", one.values), expected)
        })?;
        let most = match one.values {
            AttributeType::Number(_) => 65536,
            AttributeType::Category | AttributeType::Text => 1,
        };
        if !(1..=most).contains(&one.channels) {
            let expected = format!("1 to {most}");
            return Err(WriteError::spec(
                here("channels"),
                one.channels.to_string(),
                expected,
            ));
        }
        if let Some(names) = &one.channel_names
            && names.len() != one.channels
        {
            let found = format!("{} names", names.len());
            let expected = format!("{}, one per channel", one.channels);
            return Err(WriteError::spec(here("channel_names"), found, expected));
        }
    }
    Ok(())
}

/// Checks members that must be JSON objects, each below a name that is one path segment.
fn check_named(member: &str, named: &BTreeMap<String, JsonObject>) -> Result<(), WriteError> {
    named
        .keys()
        .try_for_each(|name| check_name(&format!("{member}/{name}"), name))
}
