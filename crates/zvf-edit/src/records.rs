//! Edits by tables as queries return them.

use arrow_array::RecordBatch;
use futures::future::BoxFuture;

use super::{At, Edit, Fitted};
use zvf_meta::{Affine, map_of_axes};
use zvf_write::arrow::{attributes, column, numbers, stated_axes, values};
use zvf_write::batch::{Batch, ObjectTable};
use zvf_write::spec::AttributeSpec;
use zvf_write::values::Values;
use zvf_write::{Kind, NumberType, WriteError};

/// Columns of vertices that are no attributes.
const OF_VERTICES: [&str; 3] = ["position", "object_id", "vertex"];
/// Columns of links that are no attributes.
const OF_LINKS: [&str; 3] = ["vertices", "object_id", "vertex"];

/// Which vertices the rows of a table address, or the ends of which links: [`At`], owned.
#[derive(Debug)]
enum Addresses {
    All,
    Rows(Vec<u64>),
    Objects(Vec<(i64, u64)>),
}

impl Addresses {
    /// By a column of numbers: of places in the objects where there is a column `object_id`.
    fn of(table: &RecordBatch, name: &str) -> Result<Self, WriteError> {
        let Some(column) = table.column_by_name(name) else {
            return Ok(Self::All);
        };
        let rows = numbers(name, column)?.into_owned();
        let ids = table.column_by_name("object_id");
        let Some(ids) = ids.filter(|_| name == "vertex") else {
            return Ok(Self::Rows(rows));
        };
        let ids = numbers::<i64>("object_id", ids)?;
        let width = rows.len().checked_div(ids.len()).unwrap_or(0);
        let ids = ids.iter().flat_map(|id| std::iter::repeat_n(*id, width));
        Ok(Self::Objects(ids.zip(rows).collect()))
    }

    fn at(&self) -> At<'_> {
        match self {
            Self::All => At::All,
            Self::Rows(rows) => At::Rows(rows),
            Self::Objects(places) => At::Objects(places),
        }
    }
}

/// Brings values to the types of the attributes; those of other names stay as they are.
fn fit<'s>(
    given: &mut [(String, Values<'_>)],
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
    /// The map from the axes that a table states to those of the store; `None` where positions are to be taken as they are.
    ///
    /// # Errors
    /// Misuse: another number of axes, or units that cannot be converted.
    fn map_of(&self, vertices: &RecordBatch) -> Result<Option<Affine>, WriteError> {
        let Some(stated) = stated_axes(vertices.schema_ref())? else {
            return Ok(None);
        };
        let map = map_of_axes(&stated, &self.spec().axes).map_err(|why| {
            let (found, expected) = why.split_once(", expected ").unwrap_or((&why, "others"));
            WriteError::input("axes of the table", found, expected)
        })?;
        Ok((!map.is_identity()).then_some(map))
    }

    /// Adds vertices of a table as queries return it, and their links of another one, brought to the types of the store; see
    /// [`zvf_write::arrow`] for the columns. Returns what was appended, and which attributes did not fit.
    ///
    /// # Units
    /// Positions are converted from the axes and units that the schema states (`zvf.axes`, `zvf.units`) to those of the store, and so is
    /// the attribute `radius` of skeletons and graphs. Without a unit on one of the sides they are taken as they are.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, UInt64Array, types::Float64Type};
    /// use zvf_edit::Edit;
    /// use zvf_store::blocking::Runtime;
    /// use zvf_write::{Kind, StoreSpec, StoreWriter, WriteOptions};
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
    ///     writer.push_records(&table.project(&[0, 1, 3])?)?;
    ///     writer.finish().await?;
    ///     let mut edit = Edit::open(&address, WriteOptions::new()).await?;
    ///     let appended = edit.append_records(&table, None).await?;
    ///     assert!(appended.unknown.contains("vertex"));
    ///     edit.put_object_records(&table.project(&[1])?.slice(0, 1)).await?;
    ///     // The vertices 2 and 3 of object 7, which were appended.
    ///     edit.set_vertex_records(&table).await?;
    ///     edit.move_records(&table).await?;
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

    /// Adds objects, or sets their attributes, from a table as queries return it, brought to the types of the store.
    ///
    /// # Shape
    /// One row an object: `object_id` (int64); every other column is an attribute.
    ///
    /// # Cost
    /// Reads all object attributes, once.
    ///
    /// # Errors
    /// As [`ObjectTable::from_records`], [`Values::fitted`] and [`put_objects`](Self::put_objects).
    pub fn put_object_records<'a>(
        &'a mut self,
        objects: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let mut table = ObjectTable::from_records(objects)?;
            self.load_tables().await?;
            let known = self.tables.values().map(|table| &table.spec);
            fit(&mut table.attributes, known)?;
            self.put_objects(&table).await
        })
    }

    /// Replaces the values of vertex attributes by those of a table as queries return it, brought to the types of the store.
    ///
    /// # Shape
    /// The columns `object_id` (int64) and `vertex` (uint64: the place in the object, from 0), or `vertex` alone, address a vertex for each row
    /// ([`At`]); without `vertex`, the rows are all vertices in the order of a query without selections. `position` is ignored,
    /// every other column is an attribute; see [`zvf_write::arrow`].
    ///
    /// # Cost
    /// As [`set_vertex_attribute`](Self::set_vertex_attribute) for each attribute.
    ///
    /// # Errors
    /// As [`attributes`], [`Values::fitted`] and [`set_vertex_attribute`](Self::set_vertex_attribute).
    pub fn set_vertex_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let addresses = Addresses::of(vertices, "vertex")?;
            let mut given = attributes(vertices, &OF_VERTICES)?;
            fit(&mut given, self.vertex_attributes().iter())?;
            // Vertices change their chunk, and so their address, with the attribute that cuts chunks.
            given.sort_by_key(|(name, _)| self.is_key(name));
            for (name, values) in &given {
                self.set_vertex_attribute(name, addresses.at(), values)
                    .await?;
            }
            Ok(())
        })
    }

    /// Replaces the values of link attributes by those of a table as queries return it, brought to the types of the store.
    ///
    /// # Shape
    /// The column `vertices` (a list of the ends, uint64, as numbers of vertices in a query without selections), or `object_id` and a list
    /// `vertex` of places in the object, addresses a link for each row as [`set_link_attribute`](Self::set_link_attribute) has
    /// it; without them, the rows are all links in the order in which they are listed. Every other column is an attribute.
    ///
    /// # Cost
    /// As [`set_link_attribute`](Self::set_link_attribute) for each attribute.
    ///
    /// # Errors
    /// As [`attributes`], [`Values::fitted`] and [`set_link_attribute`](Self::set_link_attribute).
    pub fn set_link_records<'a>(
        &'a mut self,
        links: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let by_rows = links.column_by_name("vertices").is_some();
            let name = if by_rows { "vertices" } else { "vertex" };
            let addresses = Addresses::of(links, name)?;
            let mut given = attributes(links, &OF_LINKS)?;
            fit(&mut given, self.state.spec.links.attributes.iter())?;
            for (name, values) in &given {
                self.set_link_attribute(name, addresses.at(), values)
                    .await?;
            }
            Ok(())
        })
    }

    /// Moves vertices to the positions of a table as queries return it, brought to the type and the units of the store as by
    /// [`append_records`](Self::append_records). Attributes are ignored.
    ///
    /// # Shape
    /// `position`, and the columns that address vertices as for [`set_vertex_records`](Self::set_vertex_records).
    ///
    /// # Cost
    /// As [`move_vertices`](Self::move_vertices).
    ///
    /// # Errors
    /// Misuse: a table without `position`, or with other numbers than the store holds; as [`move_vertices`](Self::move_vertices).
    pub fn move_records<'a>(
        &'a mut self,
        vertices: &'a RecordBatch,
    ) -> BoxFuture<'a, Result<(), WriteError>> {
        Box::pin(async move {
            let addresses = Addresses::of(vertices, "vertex")?;
            let mut given = values("position", column(vertices, "position")?)?;
            if let Some(map) = self.map_of(vertices)? {
                let mapped = Batch::new(given).mapped(&map, NumberType::F64, None);
                given = mapped.positions;
            }
            let positions = self.positions(&given)?;
            self.move_vertices(addresses.at(), &positions).await
        })
    }
}
