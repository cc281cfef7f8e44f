//! Points of tables with a column of geometry: GeoParquet, and the GeoArrow types `geoarrow.wkb`, `ogc.wkb` and `geoarrow.point`.
//!
//! Without columns of coordinates, points of well-known binary become a column of lists with two or three numbers, which is the column of positions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float64Builder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use zvf_encode::error::OrBug;

use super::source::{AXES, CRS, ChangedColumns, POSITION, TableSource, UUID, with_schema};
use crate::error::{ConvertError, InFile, shown};
use crate::options::Options;

/// Key of the metadata of a GeoParquet file.
pub(crate) const GEO: &str = "geo";

/// Key of the name of a [coordinate reference system without a code](StatedCrs::WithoutCode).
const CRS_WITHOUT_CODE: &str = "zvf.crs_without_code";

/// Names of GeoArrow types with points.
const WKB: [&str; 2] = ["geoarrow.wkb", "ogc.wkb"];
const POINT: &str = "geoarrow.point";

/// The coordinate reference system of a GeoParquet file that states none.
const NO_CRS: &str = "OGC:CRS84";

/// The expected geometry in errors, with a way to convert other geometry to points.
const POINTS: &str =
    "points: GeoPandas makes a row of each vertex with get_coordinates(include_z=True)";

/// Marks the column of geometry as the column of positions, if the table has no other. `geo` is the metadata of a GeoParquet
/// file; Arrow files have the same in their schema.
pub(crate) fn marked(schema: SchemaRef, geo: Option<&str>, options: &Options) -> SchemaRef {
    let geo = geo.or_else(|| schema.metadata().get(GEO).map(String::as_str));
    let Some((at, crs)) = stated(&schema, geo) else {
        return schema;
    };
    let name = schema.field(at).name().clone();
    let is_position = |other: &str| match &options.position {
        Some(named) => named.iter().any(|one| one == other),
        None => ["position", "positions", "x", "y"]
            .iter()
            .any(|one| other.eq_ignore_ascii_case(one)),
    };
    let mut others = schema.fields().iter().filter(|field| *field.name() != name);
    if others.any(|field| is_position(field.name())) || options.exclude.contains(&name) {
        return schema;
    }
    let mut metadata = schema.metadata().clone();
    metadata.insert(POSITION.to_owned(), name);
    match crs {
        StatedCrs::None => {}
        StatedCrs::Named(crs) => {
            metadata
                .entry(CRS.to_owned())
                .or_insert_with(|| json!(crs).to_string());
        }
        StatedCrs::WithoutCode(name) => {
            metadata.insert(CRS_WITHOUT_CODE.to_owned(), name);
        }
    }
    Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata))
}

/// A note about a coordinate reference system that the store does not get.
pub(crate) fn note(schema: &Schema, options: &Options) -> Option<String> {
    let name = schema.metadata().get(CRS_WITHOUT_CODE);
    let name = name.filter(|_| options.crs.is_none() && !schema.metadata().contains_key(CRS))?;
    Some(format!(
        "the coordinate reference system {} is left out: it has no code of an authority (--crs states one)",
        shown(name)
    ))
}

/// The coordinate reference system that a file states.
enum StatedCrs {
    /// None, or an unknown one.
    None,
    /// One by authority and code, or by another text.
    Named(String),
    /// A description without authority and code, by its name.
    WithoutCode(String),
}

/// The column of geometry and its coordinate reference system, from the metadata of the file or of the column.
fn stated(schema: &Schema, geo: Option<&str>) -> Option<(usize, StatedCrs)> {
    if let Some(geo) = geo {
        let geo: Value = serde_json::from_str(geo).ok()?;
        let name = geo.get("primary_column")?.as_str()?;
        let column = geo.get("columns")?.get(name)?;
        let crs = match column.get("crs") {
            None => StatedCrs::Named(NO_CRS.to_owned()),
            Some(crs) => StatedCrs::of(crs),
        };
        return Some((schema.index_of(name).ok()?, crs));
    }
    let mut fields = schema.fields().iter().enumerate();
    fields.find_map(|(at, field)| {
        let kind = field.metadata().get(UUID.0)?;
        let is_known = WKB.contains(&&**kind) || (kind == POINT && !has_measure(field.data_type()));
        if !is_known {
            return None;
        }
        let more = field.metadata().get("ARROW:extension:metadata");
        let more: Option<Value> = more.and_then(|more| serde_json::from_str(more).ok());
        let crs = more.as_ref().and_then(|more| more.get("crs"));
        Some((at, crs.map_or(StatedCrs::None, StatedCrs::of)))
    })
}

/// Whether points are lists with a measure, which would be read as a coordinate.
fn has_measure(kind: &DataType) -> bool {
    matches!(kind, DataType::FixedSizeList(item, _) if item.name().ends_with('m'))
}

impl StatedCrs {
    /// From a text, or from a description in PROJJSON.
    fn of(crs: &Value) -> Self {
        let code = |id: &Value| {
            let code = id.get("code")?;
            let code = code
                .as_str()
                .map_or_else(|| code.to_string(), str::to_owned);
            Some(format!("{}:{code}", id.get("authority")?.as_str()?))
        };
        match crs {
            Value::Null => Self::None,
            Value::String(text) => Self::Named(text.clone()),
            _ => match crs.get("id").and_then(code) {
                Some(code) => Self::Named(code),
                None => {
                    let name = crs.get("name").and_then(Value::as_str);
                    Self::WithoutCode(name.unwrap_or("without a name").to_owned())
                }
            },
        }
    }
}

/// The table with points as lists of numbers; a table without a [marked] column of points is returned unchanged. In a table that is read
/// loosely, the column gets the name `position`.
///
/// # Cost
/// Reads the rows up to the first point.
pub(crate) fn as_positions(
    path: &Path,
    source: Box<dyn TableSource>,
    options: &Options,
) -> Result<Box<dyn TableSource>, ConvertError> {
    let schema = source.schema();
    let name = schema.metadata().get(POSITION);
    let at = name.and_then(|name| schema.index_of(name).ok());
    let Some(at) = at.filter(|at| is_points(schema.field(*at).data_type())) else {
        return Ok(source);
    };
    let mut dims = None;
    // Reading ends with this error at the first point.
    let found = || ConvertError::usage("points", "one", "one");
    let read = source.vertices(1024, &mut |batch| {
        let column = batch.columns().get(at).or_bug("a field without a column")?;
        for row in 0..column.len() {
            dims = point(path, column, row, 0)?.map(|point| point.len());
            if dims.is_some() {
                return Err(found());
            }
        }
        Ok(())
    });
    let dims = match (dims, read) {
        (Some(dims), _) => dims,
        (None, read) => read.map(|()| 3)?,
    };
    let list = DataType::FixedSizeList(item(), i32::try_from(dims).or_bug("axes of a point")?);
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(place, field)| match place == at {
        true if options.loose => Field::new("position", list.clone(), true),
        true => Field::new(field.name(), list.clone(), true),
        false => field.as_ref().clone(),
    });
    let fields: Vec<Field> = fields.collect();
    let mut metadata: HashMap<String, String> = schema.metadata().clone();
    let names = json!(["x", "y", "z"].iter().take(dims).collect::<Vec<_>>());
    metadata.insert(AXES.to_owned(), names.to_string());
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let points = Points {
        path: path.to_owned(),
        schema: Arc::clone(&schema),
        at,
        dims,
    };
    let change = move |batch: &RecordBatch, first| points.decoded(batch, first);
    Ok(Box::new(ChangedColumns::new(source, schema, change)))
}

/// The points of a table as lists of numbers.
#[derive(Debug)]
struct Points {
    path: PathBuf,
    /// The schema with lists.
    schema: SchemaRef,
    /// The index of the column.
    at: usize,
    dims: usize,
}

/// The items of the lists.
fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float64, true))
}

/// Whether a column can have points that are not lists.
fn is_points(kind: &DataType) -> bool {
    match kind {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Struct(fields) => {
            let numbers = |field: &Arc<Field>| *field.data_type() == DataType::Float64;
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            fields.iter().all(numbers) && [&["x", "y"][..], &["x", "y", "z"]].contains(&&*names)
        }
        _ => false,
    }
}

impl Points {
    fn decoded(&self, batch: &RecordBatch, before: usize) -> Result<RecordBatch, ConvertError> {
        let points = batch
            .columns()
            .get(self.at)
            .or_bug("a field without a column")?;
        let width = i32::try_from(self.dims).or_bug("axes of a point")?;
        let mut lists = FixedSizeListBuilder::new(Float64Builder::new(), width).with_field(item());
        for row in 0..points.len() {
            match point(&self.path, points, row, before)? {
                Some(point) if point.len() == self.dims => {
                    point
                        .iter()
                        .for_each(|one| lists.values().append_value(*one));
                    lists.append(true);
                }
                Some(point) => {
                    let found =
                        format!("a point of {} numbers in row {}", point.len(), before + row);
                    let expected = format!("{}, as the first point has", self.dims);
                    return Err(ConvertError::malformed(
                        &self.path,
                        InFile::Whole,
                        found,
                        expected,
                    ));
                }
                None => {
                    lists.values().append_nulls(self.dims);
                    lists.append(false);
                }
            }
        }
        let mut columns = batch.columns().to_vec();
        let place = columns
            .get_mut(self.at)
            .or_bug("a field without a column")?;
        *place = Arc::new(lists.finish());
        with_schema(&self.schema, columns, batch.num_rows())
    }
}

/// The numbers of the point in a row; `None` if it is missing. `before` is the number of rows before the column, for errors.
fn point(
    path: &Path,
    column: &ArrayRef,
    row: usize,
    before: usize,
) -> Result<Option<Vec<f64>>, ConvertError> {
    if column.is_null(row) {
        return Ok(None);
    }
    if let Some(fields) = column.as_struct_opt() {
        let axes = fields.columns().iter();
        let axes =
            axes.filter_map(|axis| axis.as_primitive_opt::<arrow_array::types::Float64Type>());
        let point = axes.map(|axis| {
            if axis.is_null(row) {
                f64::NAN
            } else {
                axis.value(row)
            }
        });
        return Ok(Some(point.collect()));
    }
    let bytes = match column.data_type() {
        DataType::Binary => column.as_binary_opt::<i32>().map(|all| all.value(row)),
        DataType::LargeBinary => column.as_binary_opt::<i64>().map(|all| all.value(row)),
        _ => column.as_binary_view_opt().map(|all| all.value(row)),
    };
    let bytes = bytes.or_bug("a column of bytes of another type")?;
    decoded_point(bytes).map(Some).map_err(|found| {
        let place = before.saturating_add(row);
        let found = format!("{found} in row {place}");
        ConvertError::malformed(path, InFile::Whole, found, POINTS)
    })
}

/// Reads the coordinates of a point in well-known binary, in the variant of ISO or of PostGIS. The error names the geometry that was found instead.
fn decoded_point(bytes: &[u8]) -> Result<Vec<f64>, String> {
    let cut = || "bytes that are not well-known binary".to_owned();
    let (order, rest) = bytes.split_first().ok_or_else(cut)?;
    let is_little = match order {
        0 => false,
        1 => true,
        _ => return Err(cut()),
    };
    let (kind, mut rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let kind = u32::from_le_bytes(little(*kind, is_little));
    const SRID: u32 = 1 << 29;
    const M: u32 = 1 << 30;
    const Z: u32 = 1 << 31;
    if kind & SRID != 0 {
        rest = rest.split_first_chunk::<4>().ok_or_else(cut)?.1;
    }
    let plain = kind & !(SRID | M | Z);
    let has_m = kind & M != 0 || matches!(plain / 1000, 2 | 3);
    let has_z = kind & Z != 0 || matches!(plain / 1000, 1 | 3);
    let name = match plain % 1000 {
        1 if !has_m => "",
        1 => "a point with a measure",
        2 => "a line",
        3 => "a polygon",
        4 => "a multipoint",
        5 => "a multiline",
        6 => "a multipolygon",
        7 => "a collection",
        _ => return Err(cut()),
    };
    if !name.is_empty() {
        return Err(name.to_owned());
    }
    let (numbers, end) = rest.as_chunks::<8>();
    let dims = if has_z { 3 } else { 2 };
    if numbers.len() != dims || !end.is_empty() {
        return Err(cut());
    }
    let number = |bytes: &[u8; 8]| f64::from_le_bytes(little(*bytes, is_little));
    Ok(numbers.iter().map(number).collect())
}

/// The bytes of a number, the lowest first.
fn little<const N: usize>(mut bytes: [u8; N], is_little: bool) -> [u8; N] {
    if !is_little {
        bytes.reverse();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measure is not a coordinate.
    #[test]
    fn only_x_y_and_z_are_coordinates() {
        let fields = |names: &[&str]| {
            let fields = names.iter();
            let fields = fields.map(|name| Field::new(*name, DataType::Float64, true));
            DataType::Struct(fields.collect())
        };
        assert!(is_points(&fields(&["x", "y"])) && is_points(&fields(&["x", "y", "z"])));
        for names in [
            &["x", "y", "m"][..],
            &["x", "y", "z", "m"],
            &["y", "x"],
            &["x"],
        ] {
            assert!(!is_points(&fields(names)), "{names:?}");
        }
        for (name, measured) in [("xy", false), ("xyz", false), ("xym", true), ("xyzm", true)] {
            let item = Arc::new(Field::new(name, DataType::Float64, true));
            assert_eq!(
                has_measure(&DataType::FixedSizeList(item, 3)),
                measured,
                "{name}"
            );
        }
    }

    #[test]
    fn points_of_either_order_and_dialect_are_read() {
        let little = |kind: u32, more: &[u8], numbers: &[f64]| {
            let head = [&[1][..], &kind.to_le_bytes(), more].concat();
            let numbers = numbers.iter().flat_map(|one| one.to_le_bytes());
            [head, numbers.collect()].concat()
        };
        let (two, three) = ([1.5, -2.0], [1.5, -2.0, 7.0]);
        assert_eq!(decoded_point(&little(1, &[], &two)).unwrap(), two);
        assert_eq!(decoded_point(&little(1001, &[], &three)).unwrap(), three);
        assert_eq!(
            decoded_point(&little(0x8000_0001, &[], &three)).unwrap(),
            three
        );
        assert_eq!(
            decoded_point(&little(0xa000_0001, &[0xe6, 0x10, 0, 0], &three)).unwrap(),
            three
        );
        let swapped = |number: f64| super::little(number.to_le_bytes(), false);
        let big = [&[0, 0, 0, 0, 1][..], &swapped(1.5), &swapped(-2.0)];
        assert_eq!(decoded_point(&big.concat()).unwrap(), two);
        assert_eq!(decoded_point(&little(2, &[], &two)).unwrap_err(), "a line");
        assert_eq!(
            decoded_point(&little(2001, &[], &three)).unwrap_err(),
            "a point with a measure"
        );
        let whole = little(1001, &[], &three);
        for end in 0..whole.len() {
            assert!(decoded_point(&whole[..end]).is_err(), "{end}");
        }
        assert!(decoded_point(&[whole, vec![0]].concat()).is_err());
    }
}
