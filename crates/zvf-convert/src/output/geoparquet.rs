//! The metadata of GeoParquet 1.1: the columns of geometries, their kinds, bounds and coordinate reference systems.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use serde_json::{Map, Value, json};

/// The key of the metadata in the file.
pub(super) const KEY: &str = "geo";

/// Columns of well-known binary, with the kinds and bounds of the rows so far.
#[derive(Debug)]
pub(super) struct GeoColumns(Vec<GeoColumn>);

#[derive(Debug)]
struct GeoColumn {
    at: usize,
    name: String,
    /// Null if none is stated: readers interpret a missing member as longitude and latitude.
    crs: Value,
    /// WKB codes of the kinds of geometries.
    kinds: BTreeSet<u32>,
    /// The lowest and the highest coordinate of each axis; empty before the first row.
    bounds: Vec<(f64, f64)>,
    /// Whether a row is not a point; only points are decoded.
    other: bool,
}

impl GeoColumns {
    pub(super) fn of(schema: &Schema) -> Self {
        let fields = schema.fields().iter().enumerate();
        let columns = fields.filter(|(_, field)| is_geometry(field));
        let columns = columns.map(|(at, field)| GeoColumn {
            at,
            name: field.name().clone(),
            crs: crs_of(field),
            kinds: BTreeSet::new(),
            bounds: Vec::new(),
            other: false,
        });
        Self(columns.collect())
    }

    /// Adds the rows of a batch.
    pub(super) fn see(&mut self, batch: &RecordBatch) {
        for column in &mut self.0 {
            let found = batch.columns().get(column.at);
            let values = found.and_then(|values| values.as_binary_opt::<i32>());
            for value in values.into_iter().flatten().flatten() {
                column.see(value);
            }
        }
    }

    /// The metadata; `None` without a column of geometries.
    pub(super) fn document(&self) -> Option<String> {
        let primary = self.0.first()?;
        let columns = self.0.iter();
        let columns = columns.map(|column| (column.name.clone(), column.document()));
        let columns: Map<String, Value> = columns.collect();
        let document = json!({
            "version": "1.1.0",
            "primary_column": primary.name,
            "columns": columns,
        });
        Some(document.to_string())
    }
}

impl GeoColumn {
    fn see(&mut self, value: &[u8]) {
        let Some((&[1, a, b, c, d], rest)) = value.split_first_chunk::<5>() else {
            self.other = true;
            return;
        };
        let kind = u32::from_le_bytes([a, b, c, d]);
        self.kinds.insert(kind);
        let (numbers, tail) = rest.as_chunks::<8>();
        if !matches!((kind, numbers.len()), (1, 2) | (1001, 3)) || !tail.is_empty() {
            self.other = true;
            return;
        }
        let numbers = numbers.iter().map(|number| f64::from_le_bytes(*number));
        if self.bounds.is_empty() {
            self.bounds = numbers.map(|number| (number, number)).collect();
            return;
        }
        for ((low, high), number) in self.bounds.iter_mut().zip(numbers) {
            *low = low.min(number);
            *high = high.max(number);
        }
    }

    fn document(&self) -> Value {
        let names = self.kinds.iter().map(|kind| match kind {
            1 => Some("Point"),
            1001 => Some("Point Z"),
            _ => None,
        });
        // An empty list: any kind.
        let names: Vec<&str> = names.collect::<Option<_>>().unwrap_or_default();
        let mut found = json!({
            "encoding": "WKB",
            "geometry_types": if self.other { Vec::new() } else { names },
            "crs": self.crs,
        });
        let finite = self
            .bounds
            .iter()
            .all(|(low, high)| low.is_finite() && high.is_finite());
        if let (false, false, true, Some(members)) = (
            self.other,
            self.bounds.is_empty(),
            finite,
            found.as_object_mut(),
        ) {
            let low = self.bounds.iter().map(|(low, _)| *low);
            let high = self.bounds.iter().map(|(_, high)| *high);
            members.insert("bbox".to_owned(), low.chain(high).collect());
        }
        found
    }
}

fn is_geometry(field: &Field) -> bool {
    let extension = field.metadata().get("ARROW:extension:name");
    *field.data_type() == DataType::Binary && extension.is_some_and(|name| name == "geoarrow.wkb")
}

/// The coordinate reference system in the metadata of the extension type.
fn crs_of(field: &Field) -> Value {
    let metadata = field.metadata().get("ARROW:extension:metadata");
    let metadata = metadata.and_then(|text| serde_json::from_str::<Value>(text).ok());
    metadata
        .and_then(|mut members| members.get_mut("crs").map(Value::take))
        .unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::BinaryArray;

    use super::*;

    fn point(kind: u32, numbers: &[f64]) -> Vec<u8> {
        let mut bytes = vec![1];
        bytes.extend(kind.to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    fn document(metadata: &str, rows: &[Option<&[u8]>]) -> Option<Value> {
        let pairs = [
            ("ARROW:extension:name", "geoarrow.wkb"),
            ("ARROW:extension:metadata", metadata),
        ];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let field = Field::new("geometry", DataType::Binary, true).with_metadata(pairs.into());
        let schema = Arc::new(Schema::new(vec![
            Field::new("b", DataType::Binary, true),
            field,
        ]));
        let plain = Arc::new(BinaryArray::from(vec![Some(&b"x"[..]); rows.len()]));
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![plain, Arc::new(BinaryArray::from(rows.to_vec()))],
        );
        let mut columns = GeoColumns::of(&schema);
        columns.see(&batch.unwrap());
        columns
            .document()
            .map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn points_have_their_kind_bounds_and_crs() {
        let rows = [
            point(1001, &[1.0, -2.0, 3.0]),
            point(1001, &[-1.0, 5.0, 3.0]),
        ];
        let rows = [Some(&*rows[0]), None, Some(&*rows[1])];
        let found = document(r#"{"crs": "EPSG:28992"}"#, &rows).unwrap();
        let column = json!({
            "encoding": "WKB", "geometry_types": ["Point Z"], "crs": "EPSG:28992",
            "bbox": [-1.0, -2.0, 3.0, 1.0, 5.0, 3.0],
        });
        let columns = json!({ "geometry": column });
        assert_eq!(
            found,
            json!({"version": "1.1.0", "primary_column": "geometry", "columns": columns})
        );
    }

    #[test]
    fn what_is_not_known_is_not_stated() {
        let empty = json!({"encoding": "WKB", "geometry_types": [], "crs": null});
        assert_eq!(document("{}", &[]).unwrap()["columns"]["geometry"], empty);
        let line = point(2, &[]);
        assert_eq!(
            document("not json", &[Some(&line), Some(b"")]).unwrap()["columns"]["geometry"],
            empty
        );
        let far = point(1, &[f64::INFINITY, 0.0]);
        assert_eq!(
            document("{}", &[Some(&far)]).unwrap()["columns"]["geometry"].get("bbox"),
            None
        );
        assert_eq!(GeoColumns::of(&Schema::empty()).document(), None);
    }
}
