//! Scans of the flat table, which SQL engines read.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use zvf_query::{ChunkBoxes, Column, Outputs, Query, Split, chunk_boxes};
use zvf_store::{Level, Names, Need};

use crate::border::Bytes;
use crate::errors::{Failure, bug, misuse};
use crate::flat::{self, FlatColumn, FlatNames, Flatten};
use crate::run::{OnInterrupt, wait};
use crate::store::{Answer, Store};
use crate::table::Table;

/// Names of the axes.
fn axes(store: &zvf_store::Store) -> Vec<String> {
    let root = store.root();
    let mut axes: Vec<String> = root.axes().iter().map(|axis| axis.name.clone()).collect();
    for axis in axes.len()..root.dims() {
        axes.push(format!("axis_{axis}"));
    }
    axes
}

/// Starts a piece of a query as a flat table of these columns.
///
/// # Errors
/// The errors of the query; misuse: a column that the flat table does not have.
pub(crate) fn split(
    py: Python<'_>,
    store: &Store,
    split: Split,
    columns: &[String],
) -> PyResult<Answer> {
    let axes = axes(store.inner());
    let start = async {
        let query = split.query()?;
        let level = store.inner().level(query.level, &attributes()).await?;
        let names = names(&axes, &level, &query.columns);
        let asked = names.asked(columns);
        // Batches of other tables are not flat.
        let split = split.with_columns(&asked).vertices_only();
        let answer = split.run(store.inner()).await;
        let answer = answer.map_err(|error| Failure::from(error).at(store.inner().url()))?;
        Ok::<_, Failure>((answer, names, asked))
    };
    let (answer, names, asked) = wait(py, OnInterrupt::Drop, start)?;
    let schema = answer.schema(zvf_query::Table::Vertices).cloned();
    let schema = schema.ok_or_else(|| bug("a split without vertices"))?;
    let mut wanted = Vec::with_capacity(columns.len());
    for name in columns {
        let found = names.column(name, &asked, &schema);
        let found =
            found.ok_or_else(|| misuse(format!("found column {name:?}, which the split lacks")))?;
        wanted.push(found);
    }
    Ok(store
        .answer(answer)
        .flat(Flatten::new(wanted, &asked, &schema)?))
}

/// The attributes of a level, by which names of columns are resolved.
fn attributes() -> Need {
    Need {
        vertex_attributes: Names::All,
        ..Need::nothing()
    }
}

/// The names of the flat table of a query for these columns.
fn names(axes: &[String], level: &Level, columns: &[Column]) -> FlatNames {
    let key = level.doc().chunk_attribute_name.as_deref();
    let chunks = flat::chunk_names(axes, key, level.key_rank());
    let attributes = level.vertex_attributes().iter();
    let attributes = attributes.map(|one| one.name.clone());
    let default = default_columns(true);
    let columns = match columns {
        [] => &default,
        columns => columns,
    };
    FlatNames::new(axes, chunks, columns, attributes.collect())
}

/// The columns of a query that names none.
fn default_columns(owners: bool) -> Vec<Column> {
    let mut columns = vec![Column::Position, Column::Attributes];
    columns.extend(owners.then_some(Column::ObjectId));
    columns.push(Column::Chunk);
    columns
}

/// The flat table of a query.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug)]
pub(crate) struct Flat {
    store: Store,
    query: Query,
    schema: SchemaRef,
    columns: Vec<FlatColumn>,
    /// Components of the coordinates of a chunk.
    rank: usize,
    /// Whether rows are returned in chunk order, so that chunks can be left out.
    by_chunk: bool,
}

impl Flat {
    /// Determines the columns of the flat table of a query.
    ///
    /// # Cost
    /// A query for one row: the width of an attribute is only known from its bytes (trap T8).
    ///
    /// # Errors
    /// The errors of the query.
    pub(crate) fn of(py: Python<'_>, store: &Store, query: Query) -> PyResult<Self> {
        let store = store.clone();
        let mut query = query;
        query.outputs = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
        let learn = async {
            let need = Need {
                objects: true,
                ..attributes()
            };
            let level = store.inner().level(query.level, &need).await?;
            if query.columns.is_empty() {
                query.columns = default_columns(level.object_index().is_some());
            }
            let one = Query {
                limit: Some(1),
                // A few cells determine the widths.
                memory_budget: 1,
                ..query.clone()
            };
            let answer = zvf_query::query(store.inner(), one).await;
            let at = |error| Failure::from(error).at(store.inner().url());
            let mut answer = answer.map_err(at)?;
            let schema = answer.schema(zvf_query::Table::Vertices).cloned();
            // Conditions on objects also make the answer object by object.
            let by_chunk = !answer.is_by_object() && query.limit.is_none();
            // Reads the answer to its end, so that no requests are left running.
            while answer.next().await.map_err(at)?.is_some() {}
            let names = names(&axes(store.inner()), &level, &query.columns);
            Ok::<_, Failure>((schema, names, level.key_rank(), by_chunk))
        };
        let (schema, names, rank, by_chunk) = wait(py, OnInterrupt::Drop, learn)?;
        let schema = schema.ok_or_else(|| bug("a query without vertices"))?;
        let columns = flat::columns(&schema, &names);
        Ok(Self {
            schema: flat::schema(&columns, &schema),
            columns,
            rank,
            by_chunk,
            store,
            query,
        })
    }
}

#[pymethods]
impl Flat {
    /// The columns, as a table without rows.
    fn schema(&self) -> Table {
        Table {
            schema: Arc::clone(&self.schema),
            batches: Vec::new(),
        }
    }

    /// Kinds of the columns: `axis`, `chunk` or `column`, by name.
    fn kinds(&self) -> Vec<(String, &'static str)> {
        let kinds = self.columns.iter();
        kinds
            .map(|column| (column.name().to_owned(), column.kind()))
            .collect()
    }

    /// Whether rows are returned in chunk order, so that chunks can be left out.
    fn by_chunk(&self) -> bool {
        self.by_chunk
    }

    /// The chunks, and the boxes that contain their rows.
    fn boxes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let url = self.store.inner().url();
        let found = async {
            let found = chunk_boxes(self.store.inner(), &self.query).await;
            found.map_err(|error| Failure::from(error).at(url))
        };
        let ChunkBoxes {
            rank,
            dims,
            chunks,
            low,
            high,
            key,
            ..
        } = wait(py, OnInterrupt::Drop, found)?;
        let made = PyDict::new(py);
        made.set_item("rank", rank)?;
        made.set_item("dims", dims)?;
        made.set_item("chunks", Py::new(py, Bytes(Buffer::from_vec(chunks)))?)?;
        made.set_item("low", Py::new(py, Bytes(Buffer::from_vec(low)))?)?;
        made.set_item("high", Py::new(py, Bytes(Buffer::from_vec(high)))?)?;
        made.set_item("key", key.map(|key| json!(key).to_string()))?;
        Ok(made)
    }

    /// Starts a scan of some columns, of all chunks or of those in `chunks`: their concatenated coordinates, in any order.
    fn scan(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        chunks: Option<PyBuffer<i64>>,
    ) -> PyResult<Answer> {
        let mut wanted = Vec::with_capacity(columns.len());
        for name in &columns {
            let found = self.columns.iter().find(|column| column.name() == name);
            let found = found.ok_or_else(|| {
                let names: Vec<&str> = self.columns.iter().map(FlatColumn::name).collect();
                let names = names.join(", ");
                misuse(format!("found column {name:?}, expected one of {names}"))
            })?;
            wanted.push(found.clone());
        }
        let mut query = self.query.clone();
        query.columns.clear();
        for column in &wanted {
            if !query.columns.contains(column.from()) {
                query.columns.push(column.from().clone());
            }
        }
        if query.columns.is_empty() {
            // A scan without columns still counts rows.
            query.columns.push(Column::Row);
        }
        let names = query.columns.iter().filter_map(|column| match column {
            Column::Attribute(name) => Some(name.clone()),
            _ => None,
        });
        query.attributes = Names::List(names.collect());
        if let Some(chunks) = chunks {
            query.within = Some(Arc::new(self.listed(&chunks.to_vec(py)?)?));
        }
        let flatten = Flatten::new(wanted, &query.columns, &self.schema)?;
        let start = async {
            let answer = zvf_query::query(self.store.inner(), query).await;
            answer.map_err(|error| Failure::from(error).at(self.store.inner().url()))
        };
        let answer = wait(py, OnInterrupt::Drop, start)?;
        Ok(self.store.answer(answer).flat(flatten))
    }
}

impl Flat {
    fn listed(&self, flat: &[i64]) -> PyResult<Vec<Vec<i64>>> {
        let rank = self.rank;
        if rank == 0 || !flat.len().is_multiple_of(rank) {
            return Err(bug("a list of chunks of another rank"));
        }
        let mut chunks: Vec<Vec<i64>> = flat.chunks_exact(rank).map(<[i64]>::to_vec).collect();
        chunks.sort_unstable();
        chunks.dedup();
        Ok(chunks)
    }
}
