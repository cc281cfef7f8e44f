//! Edits by tables as queries return them.

use arrow_array::{Array, RecordBatch};
use futures::future::BoxFuture;

use super::matching::Matching;
use super::{Edit, Fitted, Matched};
use zvf_encode::arrow::{attributes, column, column_type, stated_axes, values};
use zvf_encode::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, Values, WriteError};
use zvf_meta::{Affine, map_of_axes};

/// Columns of vertices that are no attributes.
const OF_VERTICES: [&str; 3] = ["position", "object_id", "vertex"];
/// The column of objects that is no attribute.
const OF_OBJECTS: [&str; 1] = ["object_id"];
/// Columns of links that are no attributes.
const OF_LINKS: [&str; 3] = ["vertices", "object_id", "vertex"];

/// Converts values to the types of the attributes of the same names; others stay unchanged.
fn fit<'s>(
    given: &mut [(String, Values)],
    known: impl Iterator<Item = &'s AttributeSpec> + Clone,
) -> Result<(), WriteError> {
    for (name, values) in given {
        if let Some(one) = known.clone().find(|one| one.name == *name) {
            *values = values.fitted(one)?;
        }
    }
    Ok(())
}

/// Checks that positions have the axes of the store and links its number of ends, because a batch only has all of
/// their numbers together.
fn check_widths(
    spec: &StoreSpec,
    vertices: &RecordBatch,
    links: Option<&RecordBatch>,
) -> Result<(), WriteError> {
    let positions = Some((vertices, "position", spec.dims()));
    let ends = links.map(|links| (links, "vertices", spec.links.width));
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

impl Edit {
    /// The map from the axes that a table states to those of the store; `None` for the identity.
    ///
    /// # Errors
    /// Misuse: another number of axes, or units that cannot be converted.
    fn map_of(&self, vertices: &RecordBatch) -> Result<Option<Affine>, WriteError> {
        let Some(stated) = stated_axes(vertices.schema_ref())? else {
            return Ok(None);
        };
        let map = map_of_axes(&stated, &self.spec().axes).map_err(|differ| {
            WriteError::input("axes of the table", differ.found, differ.expected)
        })?;
        Ok((!map.is_identity()).then_some(map))
    }

    /// Adds vertices of a table as queries return it, and their links of another one, brought to the types of the store; see
    /// [`zvf_encode::arrow`] for the columns. Returns the appended counts, and the attributes that did not fit.
    ///
    /// # Units
    /// Positions are converted from the axes and units that the schema states (`zvf.axes`, `zvf.units`) to those of the store, as is
    /// the attribute `radius` of skeletons and graphs. If either side states no unit, they are used unchanged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, UInt64Array, types::Float64Type};
    /// use zvf_edit::{Edit, Matching};
    /// use zvf_store::blocking::Runtime;
    /// use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let address = folder.path().join("tracts.zarrvectors").to_string_lossy().into_owned();
    /// let places = [Some(vec![Some(1.0), Some(1.0)]), Some(vec![Some(2.0), Some(1.0)])];
    /// let columns: [(&str, ArrayRef); 4] = [
    ///     ("position", Arc::new(FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(places, 2))),
    ///     ("object_id", Arc::new(Int64Array::from(vec![7, 7]))),
    ///     ("vertex", Arc::new(UInt64Array::from(vec![2, 3]))),
    ///     ("rank", Arc::new(Int64Array::from(vec![1, 2]))),
    /// ];
    /// let table = RecordBatch::try_from_iter(columns)?;
    /// Runtime::new()?.wait(async {
    ///     let spec = StoreSpec::new(Kind::Streamline, [10.0; 2]).with_vertex_records(&table.project(&[0, 1, 3])?.schema())?;
    ///     let mut writer = StoreWriter::create(&address, spec, WriteOptions::new()).await?;
    ///     writer.push(&Batch::from_records(&table.project(&[0, 1, 3])?)?)?;
    ///     writer.finish().await?;
    ///     let mut edit = Edit::open(&address, WriteOptions::new()).await?;
    ///     let appended = edit.append_records(&table, None).await?;
    ///     assert!(appended.unknown.contains("vertex"));
    ///     let by_columns = Matching::new();
    ///     edit.put_object_records(&table.project(&[1])?.slice(0, 1), &by_columns).await?;
    ///     // The vertices 2 and 3 of object 7, which were appended.
    ///     edit.set_vertex_records(&table, &by_columns).await?;
    ///     edit.move_records(&table, &by_columns).await?;
    ///     assert_eq!(edit.commit().await?.vertices, 2);
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Batch::from_records`], [`fit`](Self::fit) and [`append`](Self::append).
    pub fn append_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        links: Option<&'a RecordBatch>,
    ) -> BoxFuture<'a, Result<Fitted, WriteError>> {
        Box::pin(async move {
            check_widths(self.spec(), vertices, links)?;
            let mut batch = Batch::from_records(vertices)?;
            if let Some(map) = self.map_of(vertices)? {
                let lengths = matches!(self.spec().kind, Kind::Skeleton | Kind::Graph)
                    .then(|| map.mean_scale(&self.spec().axes));
                batch = batch.mapped(&map, NumberType::F64, lengths);
            }
            if let Some(links) = links {
                batch = batch.with_link_records(links)?;
            }
            let fitted = self.fit(&batch, |id| id)?;
            self.append(&fitted.batch).await?;
            Ok(fitted)
        })
    }

    /// Sets attributes of objects from a table as queries return it, converted to the types of the store. Missing objects are created if
    /// [`Matching::new_objects`] says so.
    ///
    /// # Shape
    /// One row an object, by `object_id` (int64) or as [`Matching`] says; every other column is an attribute.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: objects that do not exist. As [`attributes`], [`Values::fitted`] and [`put_objects`](Self::put_objects).
    pub fn put_object_records<'a>(
        &'a mut self,
        objects: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.load_tables().await?;
            let mut given = attributes(objects, &OF_OBJECTS)?;
            given.retain(|(name, _)| !how.key.contains(name));
            let known = self.tables.values().map(|table| &table.spec);
            fit(&mut given, known)?;
            self.put_object_columns(objects, how, &given).await
        })
    }

    /// Replaces the values of vertex attributes by those of a table as queries return it, converted to the types of the store.
    ///
    /// # Shape
    /// A row a vertex, found as [`Matching`] says: by a key, by the columns `chunk` and `row`, by `object_id` (int64) and `vertex` (uint64: the
    /// place in the object, from 0), by `vertex` alone (the number of the row in a query without selections), by `position`, or by order. Every
    /// other column is an attribute; see [`zvf_encode::arrow`].
    ///
    /// # Cost
    /// As [`set_attribute`](Self::set_attribute) for each attribute.
    ///
    /// # Errors
    /// As [`attributes`], [`Values::fitted`] and [`set_attribute`](Self::set_attribute).
    pub fn set_vertex_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let mut given = attributes(vertices, &OF_VERTICES)?;
            given.retain(|(name, _)| !how.key.contains(name));
            fit(&mut given, self.vertex_attributes().iter())?;
            // Vertices change their chunk, and so their address, with the attribute that cuts chunks.
            given.sort_by_key(|(name, _)| self.is_key(name));
            self.set_vertices(vertices, how, &given).await
        })
    }

    /// Replaces the values of link attributes by those of a table as queries return it, converted to the types of the store.
    ///
    /// # Shape
    /// A row a link, found as [`Matching`] says: by a key, by the column `vertices` (a list of the ends, uint64, as numbers of vertices in a query
    /// without selections), by `object_id` and a list `vertex` of places in the object, as [`set_link_attribute`](Self::set_link_attribute) has
    /// it, or by order. Every other column is an attribute.
    ///
    /// # Cost
    /// As [`set_link_attribute`](Self::set_link_attribute) for each attribute.
    ///
    /// # Errors
    /// As [`attributes`], [`Values::fitted`] and [`set_link_attribute`](Self::set_link_attribute).
    pub fn set_link_records<'a>(
        &'a mut self,
        links: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            let mut given = attributes(links, &OF_LINKS)?;
            given.retain(|(name, _)| !how.key.contains(name));
            fit(&mut given, self.state.spec.links.attributes.iter())?;
            self.set_link_columns(links, how, &given).await
        })
    }

    /// Moves vertices to the positions of a table as queries return it, converted to the type and the units of the store as by
    /// [`append_records`](Self::append_records). Attributes are ignored, except those of the key.
    ///
    /// # Shape
    /// `position`, and the columns that say which vertices are meant, as for [`set_vertex_records`](Self::set_vertex_records).
    ///
    /// # Cost
    /// As [`move_vertices`](Self::move_vertices).
    ///
    /// # Errors
    /// Misuse: a table without `position`, or with other numbers than the store holds; as [`move_vertices`](Self::move_vertices).
    pub fn move_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            check_widths(self.spec(), vertices, None)?;
            let mut given = values("position", column(vertices, "position")?)?;
            if let Some(map) = self.map_of(vertices)? {
                let mapped = Batch::new(given).mapped(&map, NumberType::F64, None);
                given = mapped.positions;
            }
            let positions = self.positions(&given)?;
            self.move_matched(vertices, how, &positions).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::{Float32Type, UInt64Type};
    use arrow_array::{ArrayRef, FixedSizeListArray};

    use super::*;

    fn table(name: &str, column: FixedSizeListArray) -> RecordBatch {
        RecordBatch::try_from_iter([(name, Arc::new(column) as ArrayRef)]).unwrap()
    }

    /// Six numbers are two positions in space or three in a plane, and twelve ends are faces of three or of four corners.
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
        assert!(check_widths(&spec, &vertices(3), Some(&faces(3))).is_ok());
        for (dims, corners, what) in [(2, 3, "position"), (3, 4, "vertices")] {
            let told = check_widths(&spec, &vertices(dims), Some(&faces(corners)));
            let told = told.unwrap_err().to_string();
            assert!(told.contains(what) && told.contains("expected 3"), "{told}");
        }
    }
}
