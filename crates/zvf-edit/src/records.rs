//! Edits from tables in the form that queries return.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use super::edit::Edit;
use super::matching::{Matching, Scope};
use super::{Fitted, Matched};
use zvf_encode::arrow::{attributes, column, object_attributes, values};
use zvf_encode::{AttributeSpec, Values, WriteError};

/// Columns of vertices that are not attributes.
const OF_VERTICES: [&str; 3] = ["position", "object_id", "vertex"];
/// Columns of links that are not attributes.
const OF_LINKS: [&str; 3] = ["vertices", "object_id", "vertex"];

/// Converts values to the types of the attributes of the same names; values of other names stay unchanged.
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

impl Edit {
    /// Adds the vertices of a table in the form that queries return, and their links from another one, converted to the types of the store; see
    /// [`zvf_encode::arrow`] for the columns. Returns the appended counts, and the attributes that did not fit.
    ///
    /// # Units
    /// As [`StoreSpec::batch_of_records`](zvf_encode::StoreSpec::batch_of_records).
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
    /// As [`batch_of_records`](zvf_encode::StoreSpec::batch_of_records), [`fit`](Self::fit) and [`append`](Self::append).
    pub fn append_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        links: Option<&'a RecordBatch>,
    ) -> BoxFuture<'a, Result<Fitted, WriteError>> {
        Box::pin(async move {
            let batch = self.spec().batch_of_records(vertices, links)?;
            let fitted = self.fit(&batch, |id| id)?;
            self.append(&fitted.batch).await?;
            Ok(fitted)
        })
    }

    /// Sets attributes of objects from a table in the form that queries return, converted to the types of the store. Missing objects are created if
    /// [`Matching::new_objects`] is set.
    ///
    /// # Shape
    /// One row per object, matched by `object_id` (int64) or as [`Matching`] states; every other column is an attribute. A null removes the value of the
    /// object; booleans must have none.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// Misuse: objects that do not exist. As [`object_attributes`], [`Values::fitted`] and [`put_objects`](Self::put_objects).
    pub fn put_object_records<'a>(
        &'a mut self,
        objects: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.load_tables().await?;
            let objects = self.in_stored_units((Scope::Object, |_: &str| true), None, objects);
            let objects = objects.await?;
            let (mut given, mut gaps) = (Vec::new(), BTreeMap::new());
            for (name, values, absent) in object_attributes(&objects)? {
                if !how.key.contains(&name) {
                    gaps.insert(name.clone(), absent);
                    given.push((name, values));
                }
            }
            let known = self.tables.values().map(|table| &table.spec);
            fit(&mut given, known)?;
            self.put_object_columns(&objects, how, &given, &gaps).await
        })
    }

    /// Replaces values of vertex attributes from a table in the form that queries return, converted to the types of the store.
    ///
    /// # Shape
    /// One row per vertex, matched as [`Matching`] states: by a key, by the columns `chunk` and `row`, by `object_id` (int64) and `vertex` (uint64:
    /// the place in the object, from 0), by `vertex` alone (the number of the row in a query without selections), by `position`, or by order. Every
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
            let vertices = self.in_stored_units((Scope::Vertex, |_: &str| true), None, vertices);
            let vertices = vertices.await?;
            let mut given = attributes(&vertices, &OF_VERTICES)?;
            given.retain(|(name, _)| !how.key.contains(name));
            fit(&mut given, self.vertex_attributes().iter())?;
            // The attribute that splits chunks is set last, because it moves vertices to other chunks and so changes their addresses.
            given.sort_by_key(|(name, _)| self.is_key(name));
            let done = Box::pin(self.set_vertices(&vertices, how, &given)).await;
            self.note(done)
        })
    }

    /// Replaces values of link attributes from a table in the form that queries return, converted to the types of the store.
    ///
    /// # Shape
    /// One row per link, matched as [`Matching`] states: by a key, by the column `vertices` (a list of the ends, uint64, as numbers of vertices in a
    /// query without selections), by `object_id` and a list `vertex` of places in the object (see [`set_link_attribute`](Self::set_link_attribute)),
    /// or by order. Every other column is an attribute.
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
            let links = self.in_stored_units((Scope::Link, |_: &str| true), None, links);
            let links = links.await?;
            let mut given = attributes(&links, &OF_LINKS)?;
            given.retain(|(name, _)| !how.key.contains(name));
            fit(&mut given, self.state.spec.links.attributes.iter())?;
            self.begin_step();
            let done = Box::pin(self.set_link_columns(&links, how, &given)).await;
            self.note(done)
        })
    }

    /// Moves vertices to the positions of a table in the form that queries return, converted to the type and the units of the store as in
    /// [`append_records`](Self::append_records). Attributes are ignored, except for attributes of the key.
    ///
    /// # Shape
    /// `position`, and columns that select the vertices, as for [`set_vertex_records`](Self::set_vertex_records).
    ///
    /// # Cost
    /// As [`move_vertices`](Self::move_vertices).
    ///
    /// # Errors
    /// Misuse: a table without `position`, or with numbers that the store cannot represent; as [`move_vertices`](Self::move_vertices).
    pub fn move_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
        how: &'a Matching,
    ) -> BoxFuture<'a, Result<Matched, WriteError>> {
        Box::pin(async move {
            self.usable()?;
            self.spec().check_widths(vertices, None)?;
            let used = |name: &str| how.key.iter().any(|key| key == name);
            let vertices = self.in_stored_units((Scope::Vertex, used), None, vertices);
            let vertices = vertices.await?;
            let given = values("position", column(&vertices, "position")?)?;
            let positions = self.positions(&given)?;
            self.move_matched(&vertices, how, &positions).await
        })
    }
}
