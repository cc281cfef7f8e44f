//! Tables with one column for each axis, as in data frames.

use std::borrow::Cow;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Field;
use zvf_meta::Axis;

use super::{array, column_type, rebuilt, values};
use crate::WriteError;
use crate::error::OrBug;
use crate::spec::store::{AttributeSpec, AttributeType};
use crate::values::column::Values;
use crate::values::number::NumberType;

/// The table with its positions in the column `position`. If a table has a column for each axis instead, with the name of the axis, these columns become
/// `position`, at the place of the first. All other tables are returned unchanged.
///
/// The numbers keep their type if all these columns have the same, and become float64 otherwise.
///
/// # Cost
/// Two copies of the positions if they are joined.
///
/// # Errors
/// Misuse: a column of another type than numbers, or numbers that float64 cannot represent. Malformed data: missing whole numbers.
pub(super) fn with_positions<'t>(
    table: &'t RecordBatch,
    axes: &[Axis],
) -> Result<Cow<'t, RecordBatch>, WriteError> {
    let schema = table.schema_ref();
    let mut places = Vec::with_capacity(axes.len());
    if schema.column_with_name("position").is_none() {
        let named = axes.iter();
        let named = named.filter_map(|axis| Some(schema.column_with_name(&axis.name)?.0));
        places.extend(named);
    }
    if places.len() != axes.len() {
        return Ok(Cow::Borrowed(table));
    }
    let Some(first) = places.iter().min() else {
        return Ok(Cow::Borrowed(table));
    };
    let position = joined(table, &places)?;
    let mut fields = Vec::with_capacity(schema.fields().len());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(schema.fields().len());
    for (at, (field, column)) in schema.fields().iter().zip(table.columns()).enumerate() {
        if at == *first {
            let kind = position.data_type().clone();
            fields.push(Field::new("position", kind, false));
            columns.push(position.clone());
        }
        if !places.contains(&at) {
            fields.push(field.as_ref().clone());
            columns.push(column.clone());
        }
    }
    Ok(Cow::Owned(rebuilt(table, fields, columns)?))
}

/// Joins columns of numbers into one column of lists, one list per row.
fn joined(table: &RecordBatch, places: &[usize]) -> Result<ArrayRef, WriteError> {
    let mut lists: Vec<(&str, Values)> = Vec::with_capacity(places.len());
    let mut kinds: Vec<NumberType> = Vec::with_capacity(places.len());
    for &at in places {
        let (field, column) = (table.schema_ref().field(at), table.column(at));
        let Some((AttributeType::Number(kind), 1)) = column_type(column.data_type()) else {
            let (what, found) = (format!("column {}", field.name()), column.data_type());
            let expected = "one number per row, because the column has the name of an axis";
            return Err(WriteError::input(what, found.to_string(), expected));
        };
        kinds.push(kind);
        lists.push((field.name(), values(field.name(), column)?));
    }
    let same = kinds.iter().all(|kind| Some(kind) == kinds.first());
    let kind = kinds.first().copied().filter(|_| same);
    let kind = kind.unwrap_or(NumberType::F64);
    let (size, all) = (kind.size(), places.len());
    let mut bytes = vec![0; table.num_rows() * all * size];
    for (axis, (name, list)) in lists.into_iter().enumerate() {
        let list = list.fitted(&AttributeSpec::number(name, kind))?;
        let stored = list.bytes_as(kind).or_bug("numbers of another type")?;
        let out = bytes.chunks_exact_mut(size).skip(axis).step_by(all);
        for (out, value) in out.zip(stored.chunks_exact(size)) {
            out.copy_from_slice(value);
        }
    }
    array(Values::of_bytes(kind, &bytes), all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Float64Type};
    use arrow_array::{Float32Array, Float64Array, Int64Array, StringArray};
    use arrow_schema::DataType;

    use super::*;
    use crate::{Kind, StoreSpec};

    fn frame(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn axes(names: &[&str]) -> Vec<Axis> {
        names.iter().map(|name| Axis::named(*name)).collect()
    }

    #[test]
    fn columns_of_axes_become_positions() {
        let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0]));
        let y: ArrayRef = Arc::new(Float32Array::from(vec![3.0, 4.0]));
        let n: ArrayRef = Arc::new(Int64Array::from(vec![7, 8]));
        let table = frame(vec![("n", n.clone()), ("y", y.clone()), ("x", x.clone())]);
        let found = with_positions(&table, &axes(&["x", "y"])).unwrap();
        let schema = found.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|one| one.name().as_str())
            .collect();
        assert_eq!(names, ["n", "position"]);
        let list = found.column(1).as_fixed_size_list();
        let numbers = list.values().as_primitive::<Float32Type>();
        assert_eq!(numbers.values(), &[1.0, 3.0, 2.0, 4.0]);
        // Of different types.
        let table = frame(vec![("x", n.clone()), ("y", y.clone())]);
        let found = with_positions(&table, &axes(&["x", "y"])).unwrap();
        let list = found.column(0).as_fixed_size_list();
        let numbers = list.values().as_primitive::<Float64Type>();
        assert_eq!(numbers.values(), &[7.0, 3.0, 8.0, 4.0]);
        let spec = StoreSpec::new(Kind::PointCloud, [1.0; 2]);
        let spec = spec.with_vertex_records(&table.schema()).unwrap();
        assert_eq!(
            (spec.positions, spec.vertex_attributes.len()),
            (NumberType::F64, 0)
        );
        assert_eq!(
            spec.batch_of_records(&table, None)
                .unwrap()
                .positions()
                .len(),
            4
        );
        // One axis is missing.
        let spec = StoreSpec::new(Kind::PointCloud, [1.0; 3]);
        let told = spec.with_vertex_records(&table.schema()).unwrap_err();
        assert!(
            told.to_string().contains("a column for each of x, y, z"),
            "{told}"
        );
    }

    #[test]
    fn other_tables_stay_as_they_are() {
        let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
        let place = array(Values::from(vec![1.0, 2.0]), 2).unwrap();
        // An attribute may have the name of an axis.
        let table = frame(vec![
            ("x", x.clone()),
            ("y", x.clone()),
            ("position", place),
        ]);
        let found = with_positions(&table, &axes(&["x", "y"])).unwrap();
        assert_eq!(*found, table);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let table = frame(vec![("x", x), ("y", text)]);
        let told = with_positions(&table, &axes(&["x", "y"])).unwrap_err();
        let expected = format!("column y: found {}", DataType::Utf8);
        assert!(told.to_string().contains(&expected), "{told}");
    }
}
