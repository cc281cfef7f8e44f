//! Converts tables to the axes and units of a store.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{Field, Schema};
use zvf_meta::moments::{MomentScale, Moments};
use zvf_meta::{Affine, Kind, map_of_axes, radius_factor, units};

use super::axes::with_positions;
use super::{
    OF_EDITS, UNIT, attribute_name, column_type, described, elements, rebuilt, stated_axes,
};
use crate::WriteError;
use crate::batches::batch::{Batch, ObjectTable};
use crate::error::OrBug;
use crate::spec::store::{AttributeSpec, StoreSpec};
use crate::values::number::NumberType;

/// Checks the unit that a table states for the values of an attribute.
///
/// Accepts any values if the table or the store states no unit. Exception: dates, moments, times and durations are refused if the store states no
/// unit, because its values are plain numbers.
///
/// # Errors
/// Misuse: another unit.
pub fn check_unit(found: Option<&str>, stored: &AttributeSpec) -> Result<(), WriteError> {
    let Some(found) = found else {
        return Ok(());
    };
    let expected = match stored.unit.as_deref() {
        Some(unit) if !units::same(found, unit) => format!("{unit} as in the store"),
        None if Moments::of_unit(found).is_some() => {
            "numbers without a unit, as in the store".to_owned()
        }
        _ => return Ok(()),
    };
    Err(WriteError::input(
        format!("column {}", stored.name),
        format!("the unit {found}"),
        expected,
    ))
}

/// Checks the names of channels and the number for missing values that a column states; see [`AttributeSpec::other_meaning`].
fn check_meaning(field: &Field, own: &AttributeSpec) -> Result<(), WriteError> {
    let stated = described(AttributeSpec::text(&own.name), field)?;
    let Some((found, expected)) = stated.other_meaning(own) else {
        return Ok(());
    };
    let what = format!("column {}", own.name);
    let expected = format!("{expected} as in the store");
    Err(WriteError::input(what, found, expected))
}

/// The unit that a table states for the values of an attribute.
#[must_use]
pub fn stated_unit<'s>(schema: &'s Schema, name: &str) -> Option<&'s str> {
    let mut fields = schema.fields().iter();
    let field = fields.find(|field| attribute_name(schema, field, &OF_EDITS) == Some(name))?;
    field.metadata().get(UNIT).map(String::as_str)
}

/// The attribute that a column holds: the column has the name of the attribute or, for one channel of it, the name and a number (`NAME_0`).
fn attribute_of<'s>(
    schema: &Schema,
    field: &Field,
    stored: impl Fn(&str) -> Option<&'s AttributeSpec>,
) -> Option<&'s AttributeSpec> {
    let name = attribute_name(schema, field, &OF_EDITS)?;
    stored(name).or_else(|| {
        let (name, channel) = name.rsplit_once('_')?;
        let channel: usize = channel.parse().ok()?;
        stored(name).filter(|one| channel < one.channels && one.channels > 1)
    })
}

/// Converts the columns of a table to the units of a store; `stored` returns the attribute of the store with a name. Moments, dates, times of day and
/// durations are converted if that is exact; other columns must have the unit of the store.
///
/// # Cost
/// One copy of the columns that are converted.
///
/// # Errors
/// As [`check_unit`]. Misuse: moments that cannot be expressed in the unit of the store; other names of channels, or another number for missing values
/// (see [`AttributeSpec::other_meaning`]).
pub fn in_stored_units<'s>(
    table: &RecordBatch,
    stored: impl Fn(&str) -> Option<&'s AttributeSpec>,
) -> Result<RecordBatch, WriteError> {
    let schema = table.schema_ref();
    let mut fields = Vec::with_capacity(table.num_columns());
    let mut columns = Vec::with_capacity(table.num_columns());
    for (field, column) in schema.fields().iter().zip(table.columns()) {
        let found = field.metadata().get(UNIT);
        let one = attribute_of(schema, field, &stored);
        if let Some(own) = one {
            check_meaning(field, own)?;
        }
        let (mut field, mut column) = (field.as_ref().clone(), Arc::clone(column));
        if let (Some(found), Some(one)) = (found, one) {
            let numbers = column.as_primitive_opt::<Int64Type>();
            let unit = one.unit.as_deref().filter(|unit| found != unit);
            let scale = unit.and_then(|unit| Some((unit, MomentScale::between(found, unit)?)));
            if let (Some((unit, scale)), Some(numbers)) = (scale, numbers) {
                column = scaled(numbers, scale, (&one.name, unit))?;
                let mut metadata = field.metadata().clone();
                metadata.insert(UNIT.to_owned(), unit.to_owned());
                field.set_metadata(metadata);
            } else {
                check_unit(Some(found), one)?;
            }
        }
        fields.push(field);
        columns.push(column);
    }
    rebuilt(table, fields, columns)
}

/// The moments of an attribute in the unit of a store.
fn scaled(
    numbers: &Int64Array,
    scale: MomentScale,
    (name, unit): (&str, &str),
) -> Result<ArrayRef, WriteError> {
    let convert = |number: i64| scale.apply(number).ok_or(number);
    let scaled = numbers.iter().map(|number| number.map(convert).transpose());
    let scaled: Result<Int64Array, i64> = scaled.collect();
    let scaled = scaled.map_err(|number| {
        let expected = format!("a time that the unit {unit} represents exactly");
        WriteError::input(format!("column {name}"), number.to_string(), expected)
    })?;
    Ok(Arc::new(scaled))
}

impl StoreSpec {
    /// Checks that each position of a table has as many numbers as the store has axes, and that its links have as many ends as those in the store. In
    /// a batch this can no longer be checked, because it has only a flat list of numbers.
    ///
    /// # Errors
    /// Misuse: another number.
    pub fn check_widths(
        &self,
        vertices: &RecordBatch,
        links: Option<&RecordBatch>,
    ) -> Result<(), WriteError> {
        let positions = Some((vertices, "position", self.dims()));
        let ends = links.map(|links| (links, "vertices", self.links.width));
        for (table, name, expected) in positions.into_iter().chain(ends) {
            let kind = table.column_by_name(name).map(Array::data_type);
            let width = kind.and_then(column_type).map(|(_, width)| width);
            if let Some(found) = width.filter(|found| *found != expected) {
                let what = format!("column {name}");
                let found = format!("{found} numbers a row");
                let expected = format!("{expected}, as in the store");
                return Err(WriteError::input(what, found, expected));
            }
        }
        Ok(())
    }

    /// The map that converts positions of a table to the axes and units of the store; `None` if they are the same, or if the table states none.
    ///
    /// # Errors
    /// Misuse: another number of axes, or units that cannot be converted.
    pub fn map_of_records(&self, schema: &Schema) -> Result<Option<Affine>, WriteError> {
        let Some(stated) = stated_axes(schema)? else {
            return Ok(None);
        };
        let map = map_of_axes(&stated, &self.axes);
        let map = map.map_err(|differ| {
            WriteError::input("axes of the table", differ.found, differ.expected)
        })?;
        Ok((!map.is_identity()).then_some(map))
    }

    /// Converts a table of vertices, as queries return it, and an optional table of links to a batch in the axes and units of this store. Instead of
    /// `position`, the table may have a column of numbers for each axis, by its name.
    ///
    /// # Units
    /// Positions, and the attribute `radius` of skeletons and graphs, are converted to the axes and units of the store if the schema states others
    /// (`zvf.axes`, `zvf.units`). They are unchanged if the store or the table states no unit. A unit that `radius` itself states, in the table or in
    /// the store, takes precedence over the unit of the positions; see [`radius_factor`]. Other attributes must have the unit of the store; see
    /// [`in_stored_units`].
    ///
    /// # Cost
    /// Columns that need no conversion are not copied.
    ///
    /// # Errors
    /// As [`Batch::from_records`] and [`in_stored_units`]. Misuse: positions or links of another width.
    pub fn batch_of_records(
        &self,
        vertices: &RecordBatch,
        links: Option<&RecordBatch>,
    ) -> Result<Batch, WriteError> {
        let vertices = &*with_positions(vertices, &self.axes)?;
        self.check_widths(vertices, links)?;
        let schema = vertices.schema();
        let map = self.map_of_records(&schema)?;
        let stated = stated_axes(&schema)?.unwrap_or_default();
        let radii = matches!(self.kind, Kind::Skeleton | Kind::Graph);
        let mut own = self.vertex_attributes.iter();
        let own = own.find(|one| one.name == "radius");
        let equal = Affine::identity(self.axes.len());
        let mut lengths = None;
        if radii
            && !stated.is_empty()
            && let Some(own) = own
        {
            let from = (&*stated, stated_unit(&schema, "radius"));
            let to = (&*self.axes, own.unit.as_deref());
            let factor = radius_factor(map.as_ref().unwrap_or(&equal), from, to);
            if factor.is_none() && map.is_some() {
                let expected =
                    "a unit of length, of radius or of all space axes, in both table and store";
                return Err(WriteError::input("radius", "units that differ", expected));
            }
            lengths = factor.filter(|factor| *factor != 1.0);
        }
        let vertices = in_stored_units(vertices, |name| {
            let mut all = self.batch_attributes();
            all.find(|one| one.name == name && (lengths.is_none() || name != "radius"))
        })?;
        let mut batch = Batch::from_records(&vertices)?;
        match (&map, lengths) {
            (Some(map), lengths) => batch = batch.mapped(map, NumberType::F64, lengths),
            (None, Some(factor)) => {
                batch = batch.map_attribute("radius", |values| values.scaled(factor));
            }
            (None, None) => {}
        }
        if let Some(links) = links {
            let links = in_stored_units(links, |name| {
                self.links.attributes.iter().find(|one| one.name == name)
            })?;
            batch = batch.with_link_records(&links)?;
        }
        Ok(batch)
    }

    /// The objects of a table as queries return it, in the units of this store.
    ///
    /// # Shape
    /// One row per object: `object_id`, and a column for each attribute.
    ///
    /// # Errors
    /// As [`ObjectTable::from_records`] and [`in_stored_units`].
    pub fn objects_of_records(&self, objects: &RecordBatch) -> Result<ObjectTable, WriteError> {
        let stored = |name: &str| self.object_attributes.iter().find(|one| one.name == name);
        ObjectTable::from_records(&in_stored_units(objects, stored)?)
    }

    /// The table with its column `position` converted to the axes and units of this store. A table without this column, or whose schema does not
    /// state other axes, is returned unchanged.
    ///
    /// # Cost
    /// One copy of the positions if they are converted.
    ///
    /// # Errors
    /// As [`map_of_records`](Self::map_of_records). Misuse: positions of another width.
    pub fn in_stored_axes(&self, table: &RecordBatch) -> Result<RecordBatch, WriteError> {
        let schema = table.schema_ref();
        let Some((at, _)) = schema.column_with_name("position") else {
            return Ok(table.clone());
        };
        let Some(map) = self.map_of_records(schema)? else {
            return Ok(table.clone());
        };
        self.check_widths(table, None)?;
        let column = table.columns().get(at).or_bug("a field without a column")?;
        let mapped = Batch::new(super::values("position", column)?);
        let mapped = mapped.mapped(&map, NumberType::F64, None).positions;
        let (_, width) = elements(column)?;
        let list = super::array(mapped, width)?;
        let mut fields: Vec<Field> = schema
            .fields()
            .iter()
            .map(|one| one.as_ref().clone())
            .collect();
        let mut columns = table.columns().to_vec();
        let places = fields.get_mut(at).zip(columns.get_mut(at));
        let (field, column) = places.or_bug("a field without a column")?;
        field.set_data_type(list.data_type().clone());
        *column = list;
        rebuilt(table, fields, columns)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Float32Type, UInt64Type};
    use arrow_array::{FixedSizeListArray, Float64Array};

    use super::*;

    fn table(name: &str, column: FixedSizeListArray) -> RecordBatch {
        RecordBatch::try_from_iter([(name, Arc::new(column) as ArrayRef)]).unwrap()
    }

    /// Six numbers could be two positions in space or three in a plane, and twelve ends could be faces with three corners or with four.
    #[test]
    fn rows_of_another_width_are_refused() {
        let spec = StoreSpec::new(Kind::Mesh, [1.0; 3]);
        let vertices = |dims: i32| {
            let row = (0..dims).map(|_| Some(1.0));
            let rows = [Some(row.collect::<Vec<_>>())];
            let list = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, dims);
            table("position", list)
        };
        let faces = |corners: i32| {
            let face = (0..corners).map(|_| Some(0));
            let rows = [Some(face.collect::<Vec<_>>())];
            let list = FixedSizeListArray::from_iter_primitive::<UInt64Type, _, _>(rows, corners);
            table("vertices", list)
        };
        assert!(spec.check_widths(&vertices(3), Some(&faces(3))).is_ok());
        for (dims, corners, what) in [(2, 3, "position"), (3, 4, "vertices")] {
            let told = spec.check_widths(&vertices(dims), Some(&faces(corners)));
            let told = told.unwrap_err().to_string();
            assert!(told.contains(what) && told.contains("expected 3"), "{told}");
        }
    }

    /// A column in a unit.
    fn stated(column: ArrayRef, unit: &str) -> RecordBatch {
        let metadata = [(UNIT.to_owned(), unit.to_owned())].into();
        let field = Field::new("v", column.data_type().clone(), true).with_metadata(metadata);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
    }

    #[test]
    fn other_units_are_refused_and_moments_converted() {
        let floats = || Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
        let spec = AttributeSpec::number("v", NumberType::F64);
        let micro = spec.clone().with_unit("um");
        let told = |unit: &str, stored: &AttributeSpec| {
            in_stored_units(&stated(floats(), unit), |_| Some(stored)).map_err(|e| e.to_string())
        };
        let refused = told("nm", &micro).unwrap_err();
        assert!(
            refused.contains("found the unit nm, expected um as in the store"),
            "{refused}"
        );
        for (unit, stored) in [("um", &micro), ("micrometer", &micro), ("nm", &spec)] {
            assert!(told(unit, stored).is_ok(), "{unit}");
        }
        let days = "days since 1970-01-01";
        assert!(told(days, &spec).is_err());
        let stored = AttributeSpec::number("v", NumberType::I64).with_unit(days);
        let day = 86_400_000_000_i64;
        let numbers = |list: Vec<Option<i64>>| {
            let column: ArrayRef = Arc::new(Int64Array::from(list));
            let table = stated(column, "microseconds since 1970-01-01T00:00:00");
            in_stored_units(&table, |_| Some(&stored))
        };
        let found = numbers(vec![Some(3 * day), None, Some(i64::MIN)]).unwrap();
        let expected = Int64Array::from(vec![Some(3), None, Some(i64::MIN)]);
        assert_eq!(found.column(0).as_primitive::<Int64Type>(), &expected);
        let told = numbers(vec![Some(day + 1)]).unwrap_err().to_string();
        assert!(told.contains("represents exactly"), "{told}");
    }
}
