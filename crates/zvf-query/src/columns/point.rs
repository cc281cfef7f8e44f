//! The column `geometry`: positions as points in well-known binary.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use zvf_store::Store;
use zvf_store::format::int;
use zvf_store::meta::{Axis, axes_of_space};

use super::arrow::placed;
use crate::QueryError;
use crate::error::{OrBug, Place};

/// The name of the column, unless an attribute or an axis has that name.
pub(crate) const GEOMETRY: &str = "geometry";

/// Codes of ISO well-known binary: a point of two and of three coordinates.
const POINT: u32 = 1;
const POINT_Z: u32 = 1001;

/// Bytes before the coordinates: byte order, then the code.
const HEAD: usize = 5;

/// The conversion of positions to points.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    /// The axes of the coordinates.
    axes: Vec<usize>,
    /// Their names, if documents state them.
    names: Vec<Option<String>>,
    crs: Option<Value>,
}

impl Points {
    /// The conversion for a store: its axes of space, x or longitude first, then y or latitude; in the order of the store if no axes have such names.
    ///
    /// # Errors
    ///
    /// Misuse: fewer than two or more than three axes of space.
    pub(crate) fn of(store: &Store) -> Result<Self, QueryError> {
        let root = store.root();
        let axes = axes_of(root.axes(), root.dims()).ok_or_else(|| {
            let names: Vec<&str> = root.axes().iter().map(|axis| axis.name.as_str()).collect();
            let names = names.join(", ");
            let dims = root.dims();
            QueryError::misuse(format!(
                "columns: geometry is a point of two or three axes of space, found {dims} axes ({names})"
            ))
        })?;
        let crs = root.zarr_vectors.crs.as_ref().and_then(known_crs);
        let name = |axis: &usize| root.axes().get(*axis).map(|axis| axis.name.clone());
        let names = axes.iter().map(name).collect();
        Ok(Self { axes, names, crs })
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        let coordinates = self.axes.len().saturating_mul(size_of::<f64>());
        HEAD.saturating_add(coordinates)
    }

    /// The field with the extension type `geoarrow.wkb` and the coordinate reference system; `zvf.coordinates` in its metadata names the axes.
    pub(crate) fn field(&self, name: String) -> Field {
        let field = placed(Field::new(name, DataType::Binary, true));
        let crs = self.crs.as_ref();
        let crs = crs.map_or_else(|| json!({}), |crs| json!({ "crs": crs }));
        let mut metadata: HashMap<String, String> = field.metadata().clone();
        let pairs = [
            ("ARROW:extension:name", "geoarrow.wkb".to_owned()),
            ("ARROW:extension:metadata", crs.to_string()),
            ("zvf.coordinates", json!(self.names).to_string()),
        ];
        metadata.extend(pairs.map(|(key, value)| (key.to_owned(), value)));
        field.with_metadata(metadata)
    }

    /// Positions with `dims` numbers each as points. A position with a NaN coordinate is null.
    ///
    /// # Errors
    ///
    /// Limit: more bytes than the offsets of an Arrow array can count. Bug: an axis that positions do not have.
    pub(crate) fn array(&self, numbers: &[f64], dims: usize) -> Result<ArrayRef, QueryError> {
        let rows = numbers.len().checked_div(dims);
        let rows = rows.or_bug("positions without axes")?;
        let width = self.row_bytes();
        let bytes = rows.saturating_mul(width);
        if i32::try_from(bytes).is_err() {
            let most = u64::from(i32::MAX.unsigned_abs());
            let what = "bytes of geometry in a batch (a smaller batch_rows helps)";
            return Err(QueryError::limit(
                Place::default(),
                what,
                int::wide(bytes),
                most,
            ));
        }
        let code = if self.axes.len() == 3 { POINT_Z } else { POINT };
        let mut values = Vec::with_capacity(bytes);
        let mut known = Vec::with_capacity(rows);
        for position in numbers.chunks_exact(dims) {
            let mut is_known = true;
            values.push(1);
            values.extend(code.to_le_bytes());
            for axis in &self.axes {
                let coordinate = position.get(*axis).or_bug("an axis without coordinates")?;
                is_known &= !coordinate.is_nan();
                values.extend(coordinate.to_le_bytes());
            }
            known.push(is_known);
        }
        let offsets = OffsetBuffer::from_repeated_length(width, rows);
        let nulls = NullBuffer::new(BooleanBuffer::from(known));
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        let array = BinaryArray::try_new(offsets, values.into(), nulls);
        Ok(Arc::new(array.ok().or_bug("points of unequal lengths")?))
    }
}

/// The axes of a point in the order of its coordinates; axes without a description count as space.
fn axes_of(axes: &[Axis], dims: usize) -> Option<Vec<usize>> {
    let space = axes_of_space(axes, dims);
    (2..=3).contains(&space.len()).then_some(space)
}

/// The coordinate reference system of a document in a form that readers of geometries support: PROJJSON, a code such as `EPSG:28992`, or
/// well-known text. For a code with a vertical system (`EPSG:25832+7837`), the horizontal one. `None` for other texts and objects.
fn known_crs(crs: &Value) -> Option<Value> {
    match crs {
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str);
            let known = kind.is_some_and(|kind| kind.ends_with("CRS"));
            (known && members.contains_key("name")).then(|| crs.clone())
        }
        Value::String(text) => {
            let keyword = text.split_once('[').map_or("", |(word, _)| word.trim());
            if keyword.ends_with("CRS") || keyword.ends_with("CS") {
                return Some(crs.clone());
            }
            let horizontal = text.split_once('+').map_or(&**text, |(first, _)| first);
            let (authority, code) = horizontal.split_once(':')?;
            let word = |text: &str| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            };
            (word(authority) && word(code)).then(|| Value::from(horizontal))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis::named(*name)).collect()
    }

    #[test]
    fn coordinates_are_x_y_z_in_any_order_of_the_axes() {
        for (names, found) in [
            (&["x", "y", "z"][..], Some(vec![0, 1, 2])),
            (&["z", "y", "x"], Some(vec![2, 1, 0])),
            (&["t", "Y", "X"], Some(vec![2, 1])),
            (&["lat", "lon"], Some(vec![1, 0])),
            (&["r", "a", "s"], Some(vec![0, 1, 2])),
            (&["x", "y", "z", "w"], None),
            (&["t", "x"], None),
        ] {
            assert_eq!(axes_of(&axes(names), names.len()), found, "{names:?}");
        }
        assert_eq!(axes_of(&[], 2), Some(vec![0, 1]));
    }

    #[test]
    fn points_are_well_known_binary() {
        let points = Points {
            axes: vec![1, 0],
            names: Vec::new(),
            crs: None,
        };
        let array = points.array(&[1.5, -2.0, f64::NAN, 0.0], 2).unwrap();
        let array = array.as_binary::<i32>();
        let bytes = [
            &[1, 1, 0, 0, 0][..],
            &(-2.0_f64).to_le_bytes(),
            &1.5_f64.to_le_bytes(),
        ];
        assert_eq!(array.value(0), bytes.concat());
        assert!(array.is_null(1) && array.len() == 2);
        assert_eq!(points.array(&[], 2).unwrap().len(), 0);
    }

    #[test]
    fn a_crs_is_one_that_readers_know() {
        let projjson = json!({"type": "GeographicCRS", "name": "WGS 84"});
        let texts = [
            "EPSG:28992",
            "OGC:CRS84",
            "GEOGCS[\"WGS 84\"]",
            "PROJCRS[\"x\"]",
        ];
        for known in texts.map(Value::from).into_iter().chain([projjson]) {
            assert_eq!(known_crs(&known), Some(known));
        }
        let compound = json!("EPSG:25832+7837");
        assert_eq!(known_crs(&compound), Some(json!("EPSG:25832")));
        let affine = json!({"affine": []});
        for other in [
            json!("scanner"),
            json!(""),
            json!("a:"),
            affine,
            json!(4326),
        ] {
            assert_eq!(known_crs(&other), None);
        }
    }
}
