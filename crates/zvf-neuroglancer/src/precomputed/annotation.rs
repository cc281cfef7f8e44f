//! Annotations: points, lines and polylines with properties.

use serde_json::{Map, Value, json};

use super::{EncodeError, Property, PropertyType, PropertyValues, count, put_floats};

/// Kind of the annotations of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationKind {
    /// One point for each annotation.
    Point,
    /// Two points for each annotation.
    Line,
    /// Any number of points for each annotation.
    Polyline,
}

impl AnnotationKind {
    fn name(self) -> &'static str {
        match self {
            Self::Point => "POINT",
            Self::Line => "LINE",
            Self::Polyline => "POLYLINE",
        }
    }
}

/// One axis of the coordinate space: its name, and the size of one unit of a coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Name; no two axes have the same.
    pub name: String,
    /// Length of one unit, in `unit`.
    pub scale: f64,
    /// `m` or `s`; empty: no unit.
    pub unit: &'static str,
}

/// One level of the spatial index. Levels are additive: every annotation is in exactly one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialLevel {
    /// Folder of the level's cells, relative to `info`.
    pub key: String,
    /// Cells on each axis.
    pub grid_shape: Vec<u64>,
    /// Size of a cell on each axis.
    pub chunk_size: Vec<f64>,
    /// Number of annotations of a cell, from which Neuroglancer computes the density of the level. For points it is the average of all cells, so
    /// some cells have more.
    pub limit: u64,
}

/// The contents of `info` of a collection of annotations.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotationInfo {
    /// Axes.
    pub dimensions: Vec<Dimension>,
    /// Least coordinates; the spatial grids begin there.
    pub lower_bound: Vec<f64>,
    /// Greatest coordinates.
    pub upper_bound: Vec<f64>,
    /// Kind of all annotations.
    pub geometry: AnnotationKind,
    /// Properties, in any order: see [`AnnotationInfo::sort_properties`].
    pub properties: Vec<Property>,
    /// Names of relationships to segments; the lists of each are in the folder `by_NAME`.
    pub relationships: Vec<String>,
    /// Spatial levels, coarse to fine.
    pub spatial: Vec<SpatialLevel>,
}

impl AnnotationInfo {
    /// Returns the permutation of properties into the order in which they are encoded, by the size of their type.
    pub fn sort_properties(properties: &[Property]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..properties.len()).collect();
        order.sort_by_key(|index| properties.get(*index).map(|one| one.kind.rank()));
        order
    }
}

/// The document `info` of a collection of annotations. Properties must be in the order of [`AnnotationInfo::sort_properties`].
#[must_use]
pub fn annotation_info(info: &AnnotationInfo) -> Value {
    let mut dimensions = Map::new();
    for axis in &info.dimensions {
        dimensions.insert(axis.name.clone(), json!([axis.scale, axis.unit]));
    }
    let relationships = info.relationships.iter();
    let spatial = info.spatial.iter();
    json!({
        "@type": "neuroglancer_annotations_v1",
        "dimensions": dimensions,
        "lower_bound": info.lower_bound,
        "upper_bound": info.upper_bound,
        "annotation_type": info.geometry.name(),
        "properties": info.properties.iter().map(Property::document).collect::<Vec<_>>(),
        "relationships": relationships
            .map(|id| json!({"id": id, "key": format!("by_{id}")}))
            .collect::<Vec<_>>(),
        "by_id": {"key": "by_id"},
        "spatial": spatial
            .map(|level| json!({
                "key": level.key,
                "grid_shape": level.grid_shape,
                "chunk_size": level.chunk_size,
                "limit": level.limit,
            }))
            .collect::<Vec<_>>(),
    })
}

/// A list of annotations being encoded: the file of one spatial cell, or of one related segment.
///
/// # Shape
/// `u64` count, then each annotation (geometry, properties, zeros up to a multiple of four), then a `u64` id for each.
#[derive(Debug, Clone)]
pub struct AnnotationList {
    geometry: AnnotationKind,
    rank: usize,
    types: Vec<PropertyType>,
    encoded: Vec<u8>,
    /// The end of each annotation in `encoded`.
    ends: Vec<usize>,
    ids: Vec<u64>,
}

impl AnnotationList {
    /// An empty list of annotations in a space of `rank` axes, with properties of these types in the order of `info`.
    #[must_use]
    pub fn new(geometry: AnnotationKind, rank: usize, types: Vec<PropertyType>) -> Self {
        Self {
            geometry,
            rank,
            types,
            encoded: Vec::new(),
            ends: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Number of annotations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Bytes of the list so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let ids = self.ids.len().saturating_mul(8);
        self.encoded.len().saturating_add(ids).saturating_add(8)
    }

    /// Appends one annotation: the coordinates of its points, and row `row` of each property.
    ///
    /// # Errors
    /// A number of coordinates or properties that the list does not have; a property without the row, or with values of another size. After an
    /// error the list must not be used.
    pub fn push(
        &mut self,
        id: u64,
        points: &[f32],
        properties: &[PropertyValues],
        row: usize,
    ) -> Result<(), EncodeError> {
        match self.geometry {
            AnnotationKind::Point => EncodeError::check("coordinates", points.len(), self.rank)?,
            AnnotationKind::Line => {
                EncodeError::check("coordinates", points.len(), self.rank.saturating_mul(2))?;
            }
            AnnotationKind::Polyline => {
                let over = points.len().checked_rem(self.rank).unwrap_or(points.len());
                EncodeError::check("coordinates after the last point", over, 0)?;
                let points = points.len().checked_div(self.rank).unwrap_or(0);
                let points = count("points of a polyline", points)?;
                self.encoded.extend_from_slice(&points.to_le_bytes());
            }
        }
        put_floats(&mut self.encoded, points);
        EncodeError::check("properties", properties.len(), self.types.len())?;
        for (values, kind) in properties.iter().zip(&self.types) {
            let value = values.get(row).ok_or(EncodeError {
                what: "rows of a property",
                found: values.len(),
                expected: row.saturating_add(1),
            })?;
            EncodeError::check("bytes of a property", value.len(), kind.size())?;
            self.encoded.extend_from_slice(value);
        }
        let whole = self.encoded.len().next_multiple_of(4);
        self.encoded.resize(whole, 0);
        self.ends.push(whole);
        self.ids.push(id);
        Ok(())
    }

    /// The file of the list.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.finish_by(|_| 0)
    }

    /// The file of the list, sorted by `key` of each id. Viewers that draw only a part of a list draw its beginning.
    #[must_use]
    pub fn finish_by(self, key: impl Fn(u64) -> u64) -> Vec<u8> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(self.ends.iter().copied());
        let mut all: Vec<_> = self.ids.iter().copied().zip(spans).collect();
        all.sort_by_key(|(id, _)| key(*id));
        let mut out = Vec::with_capacity(self.bytes());
        out.extend_from_slice(&(all.len() as u64).to_le_bytes());
        for (_, (start, end)) in &all {
            out.extend_from_slice(self.encoded.get(*start..*end).unwrap_or(&[]));
        }
        for (id, _) in &all {
            out.extend_from_slice(&id.to_le_bytes());
        }
        out
    }

    /// The file of the only annotation of the list, in the index by id: the annotation, then what [`relate`](Self::relate) adds.
    ///
    /// # Errors
    /// If the list does not have exactly one annotation; the errors of [`relate`](Self::relate).
    pub fn single(self, relationships: &[Vec<u64>]) -> Result<Vec<u8>, EncodeError> {
        EncodeError::check("annotations", self.ids.len(), 1)?;
        let mut out = self.encoded;
        Self::relate(&mut out, relationships)?;
        Ok(out)
    }

    /// The id and the encoded form of each annotation.
    pub fn each(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(self.ends.iter().copied());
        let encoded = spans.map(|(start, end)| self.encoded.get(start..end).unwrap_or_default());
        self.ids.iter().copied().zip(encoded)
    }

    /// The file of a list of one annotation, from its encoded form.
    #[must_use]
    pub fn of_one(id: u64, encoded: &[u8]) -> Vec<u8> {
        [&1_u64.to_le_bytes(), encoded, &id.to_le_bytes()].concat()
    }

    /// Appends related segments to the file of one annotation: for each relationship a `u32` count and the `u64` ids.
    ///
    /// # Errors
    /// 2^32 segments or more in one relationship.
    pub fn relate(file: &mut Vec<u8>, relationships: &[Vec<u64>]) -> Result<(), EncodeError> {
        for segments in relationships {
            let number = count("related segments", segments.len())?;
            file.extend_from_slice(&number.to_le_bytes());
            for segment in segments {
                file.extend_from_slice(&segment.to_le_bytes());
            }
        }
        Ok(())
    }
}
