//! Annotations: points, lines and polylines, by id or by cells of a spatial index.
//!
//! A file by id is one annotation and its related segments; a cell is a `u64` count, the annotations, their ids. An annotation is its
//! points as `f32` (for a polyline after their `u32` count), then the properties of 4 bytes, of 2 bytes and of 1 byte, and zeros up
//! to a multiple of 4.

use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;
use zvf_encode::error::OrBug;
use zvf_meta::Affine;
use zvf_write::{AttributeSpec, Axis, Kind, NumberType};

use super::axes;
use super::collect::{CollectedColumn, CollectedObject};
use super::info::{JsonFile, number_type};
use super::record::{ObjectBytes, ObjectCursor};
use super::source::{SegmentSource, number, sharding};
use crate::error::{ConvertError, InFile, shown};
use crate::options::FileLimits;

/// A collection of annotations.
#[derive(Debug)]
pub(super) struct Annotations {
    pub(super) kind: Kind,
    pub(super) axes: Vec<Axis>,
    /// The map from stored coordinates to the axes.
    pub(super) map: Option<Affine>,
    /// Properties in their stored order.
    pub(super) properties: Vec<CollectedColumn>,
    /// Names of the relationships to read.
    pub(super) relationships: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Whether the sources are files by id; otherwise they are cells.
    by_id: bool,
    sources: Vec<SegmentSource>,
}

/// The sources of annotations: files by id, or cells.
struct Indexes {
    by_id: SegmentSource,
    cells: Vec<SegmentSource>,
}

impl Indexes {
    fn open(info: &JsonFile, limits: &FileLimits) -> Result<Self, ConvertError> {
        let folder = |owner: &Value, key: &dyn Fn(&str) -> Option<u64>| {
            let folder = info.below(info.text(owner, "key")?)?;
            let sharding = sharding(info, owner)?;
            match folder.is_dir() {
                true => SegmentSource::open(&folder, sharding, limits, key),
                false => Ok(SegmentSource::Files {
                    folder: PathBuf::new(),
                    names: Vec::new(),
                }),
            }
        };
        let by_id = info.value.get("by_id").unwrap_or(&Value::Null);
        let by_id = folder(by_id, &number)?;
        let mut cells = Vec::new();
        for level in info.list(&info.value, "spatial")? {
            let cell = |name: &str| {
                let mut parts = name.split('_');
                parts.all(|part| number(part).is_some()).then_some(0)
            };
            cells.push(folder(level, &cell)?);
        }
        Ok(Self { by_id, cells })
    }
}

impl Annotations {
    /// Parses `info` and opens the sources of annotations.
    ///
    /// # Errors
    /// Malformed documents; kinds of annotations that stores do not support; I/O.
    pub(super) fn open(info: &JsonFile, limits: &FileLimits) -> Result<Self, ConvertError> {
        let kind = match info.text(&info.value, "annotation_type")? {
            text if text.eq_ignore_ascii_case("point") => Kind::PointCloud,
            text if text.eq_ignore_ascii_case("line") => Kind::Line,
            text if text.eq_ignore_ascii_case("polyline") => Kind::Polyline,
            other => {
                let found = format!("annotations of the type {}", shown(other));
                return Err(info.bad(found, "POINT, LINE or POLYLINE"));
            }
        };
        let (axes, map) = axes::of(info)?;
        let properties = properties(info, kind == Kind::PointCloud)?;
        let mut relationships = Vec::new();
        for one in info.list(&info.value, "relationships")? {
            relationships.push(info.text(one, "id")?.to_owned());
        }
        let indexes = Indexes::open(info, limits)?;
        let no_cells = indexes.cells.iter().all(SegmentSource::is_empty);
        if indexes.by_id.is_empty() && no_cells {
            return Err(info.bad("neither annotations by id nor cells", "one of the two"));
        }
        let mut notes = Vec::new();
        // Cells need fewer files, but lack related segments, and repeat a line that crosses several cells.
        let wants_id = kind != Kind::PointCloud || !relationships.is_empty() || no_cells;
        let by_id = wants_id && !indexes.by_id.is_empty();
        if !by_id && !relationships.is_empty() {
            let names = relationships.join(", ");
            notes.push(format!(
                "relationships are not kept: there is no index of annotations by id ({names})"
            ));
            relationships.clear();
        }
        Ok(Self {
            kind,
            axes,
            map,
            properties,
            relationships,
            notes,
            by_id,
            sources: match by_id {
                true => vec![indexes.by_id],
                false => indexes.cells,
            },
        })
    }

    /// The columns of points: ids, then the properties.
    pub(super) fn columns(&self) -> Vec<CollectedColumn> {
        let id = AttributeSpec::number(self.free_name("annotation_id"), NumberType::U64);
        let mut columns = vec![CollectedColumn::number(id, NumberType::U64)];
        columns.extend(self.properties.iter().cloned());
        columns
    }

    /// A name that differs from all properties.
    pub(super) fn free_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.properties.iter().any(|field| field.spec.name == name) {
            name.push('_');
        }
        name
    }

    /// Passes on all annotations, each once: points of a cell together, lines one by one.
    ///
    /// # Cost
    /// The memory of one cell; with a spatial index but none by id also 8 bytes for each line.
    ///
    /// # Errors
    /// The errors of `take`; malformed files, by byte; I/O; limits.
    pub(super) fn visit(
        &self,
        limits: &FileLimits,
        take: &mut dyn FnMut(CollectedObject, &ObjectBytes) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut seen = HashSet::new();
        for source in &self.sources {
            source.visit(limits, &mut |record| match self.by_id {
                true => take(self.one(&record)?, &record),
                false => self.cell(&record, limits, &mut seen, take),
            })?;
        }
        Ok(())
    }

    fn is_points(&self) -> bool {
        self.kind == Kind::PointCloud
    }

    /// Appends an annotation's points, and its properties to the columns of points or to the row of a line.
    fn geometry(
        &self,
        cursor: &mut ObjectCursor<'_>,
        shape: &mut CollectedObject,
    ) -> Result<(), ConvertError> {
        let points = match self.kind {
            Kind::PointCloud => 1,
            Kind::Line => 2,
            _ => cursor.count("a number of points")?,
        };
        let numbers = points.saturating_mul(self.axes.len());
        let positions = cursor.floats(numbers, "coordinates")?;
        shape.positions.extend(positions);
        let mut bytes = 0_usize;
        let columns = match self.is_points() {
            true => &mut shape.columns,
            false => &mut shape.row,
        };
        // The first column of points is their ids.
        let skipped = usize::from(self.is_points());
        columns.resize(self.properties.len().saturating_add(skipped), Vec::new());
        for (field, into) in self.properties.iter().zip(columns.iter_mut().skip(skipped)) {
            let size = field.row_bytes();
            into.extend_from_slice(cursor.take(1, size, &field.spec.name)?);
            bytes = bytes.saturating_add(size);
        }
        let padding = bytes.next_multiple_of(4).saturating_sub(bytes);
        cursor.take(1, padding, "padding")?;
        Ok(())
    }

    /// Decodes an annotation of the index by id.
    fn one(&self, record: &ObjectBytes) -> Result<CollectedObject, ConvertError> {
        let mut cursor = record.cursor();
        let mut shape = CollectedObject {
            key: record.key,
            ..CollectedObject::default()
        };
        self.geometry(&mut cursor, &mut shape)?;
        if self.is_points() {
            ids_of(&mut shape)?.extend(record.key.to_le_bytes());
        }
        for name in &self.relationships {
            let count = cursor.count("a number of related segments")?;
            shape.related.push(cursor.ids(count, name)?);
        }
        cursor.end()?;
        Ok(shape)
    }

    /// Decodes a cell of the spatial index, and passes its annotations to `take`.
    fn cell(
        &self,
        record: &ObjectBytes,
        limits: &FileLimits,
        seen: &mut HashSet<u64>,
        take: &mut dyn FnMut(CollectedObject, &ObjectBytes) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut cursor = record.cursor();
        let count = cursor.u64("a number of annotations")?;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if self.is_points() {
            let mut shape = CollectedObject::default();
            for _ in 0..count {
                self.geometry(&mut cursor, &mut shape)?;
            }
            shape
                .columns
                .resize(self.properties.len().saturating_add(1), Vec::new());
            let ids = cursor.take(count, 8, "ids of annotations")?;
            ids_of(&mut shape)?.extend_from_slice(ids);
            cursor.end()?;
            return take(shape, record);
        }
        let mut shapes = Vec::new();
        for _ in 0..count {
            let mut shape = CollectedObject::default();
            self.geometry(&mut cursor, &mut shape)?;
            shapes.push(shape);
        }
        let ids = cursor.ids(count, "ids of annotations")?;
        cursor.end()?;
        for (mut shape, id) in shapes.into_iter().zip(ids) {
            if !seen.insert(id) {
                continue;
            }
            if seen.len() as u64 > limits.held {
                let what = "annotations without an index by id";
                return Err(ConvertError::limit(
                    &record.path,
                    InFile::Whole,
                    what,
                    limits.held,
                ));
            }
            shape.key = id;
            take(shape, record)?;
        }
        Ok(())
    }
}

/// The id column of points, which comes before the properties.
fn ids_of(shape: &mut CollectedObject) -> Result<&mut Vec<u8>, ConvertError> {
    let column = shape.columns.first_mut();
    Ok(column.or_bug("points without a column of ids")?)
}

/// The properties, in their stored order.
fn properties(info: &JsonFile, points: bool) -> Result<Vec<CollectedColumn>, ConvertError> {
    let mut found: Vec<CollectedColumn> = Vec::new();
    for one in info.list(&info.value, "properties")? {
        let name = info.text(one, "id")?;
        let kind = info.text(one, "type")?;
        if found.iter().any(|field| field.spec.name == name) {
            return Err(info.bad(
                format!("a second property {}", shown(name)),
                "different names",
            ));
        }
        let colour: Option<&[&str]> = match kind {
            "rgb" => Some(&["r", "g", "b"]),
            "rgba" => Some(&["r", "g", "b", "a"]),
            _ => None,
        };
        let number = match colour {
            Some(_) => Some(NumberType::U8),
            None => number_type(kind),
        };
        let number = number.ok_or_else(|| {
            let found = format!("property {} of the type {}", shown(name), shown(kind));
            info.bad(
                found,
                "rgb, rgba, float32, or a whole number of at most 32 bits",
            )
        })?;
        let labels = labels(info, one)?;
        let mut spec = match (colour, labels.is_empty()) {
            (Some(names), _) => AttributeSpec::number(name, number)
                .with_channels(names.len())
                .with_channel_names(names.iter().copied()),
            (None, true) => AttributeSpec::number(name, number),
            (None, false) if points => AttributeSpec::category(name),
            (None, false) => AttributeSpec::text(name),
        };
        if let Some(text) = one.get("description").and_then(Value::as_str) {
            spec = spec.with_description(text);
        }
        found.push(match colour {
            Some(_) => CollectedColumn::number(spec, number),
            None => CollectedColumn::labelled(spec, number, labels),
        });
    }
    // Properties of four bytes come first, then of two, then of one; a colour is aligned as its bytes.
    found.sort_by_key(|field| match field.row_bytes() {
        4 if field.spec.channels == 1 => 0,
        2 => 1,
        _ => 2,
    });
    Ok(found)
}

/// The names of the values of an enumerated property.
fn labels(info: &JsonFile, property: &Value) -> Result<Vec<(f64, String)>, ConvertError> {
    let values = info.list(property, "enum_values")?;
    let labels = info.list(property, "enum_labels")?;
    let pairs = values.iter().zip(labels);
    let pairs = pairs.map(|(value, label)| Some((value.as_f64()?, label.as_str()?.to_owned())));
    let pairs: Option<Vec<(f64, String)>> = pairs.collect();
    let pairs = pairs.filter(|_| values.len() == labels.len());
    pairs.ok_or_else(|| info.bad("enum_values and enum_labels", "as many numbers as texts"))
}
