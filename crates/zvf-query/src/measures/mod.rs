//! Measures of whole objects: lengths, bounds, branches, surfaces, volumes, means of attributes.

mod measured;
mod mesh;
mod object;
mod table;
mod tree;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::{Schema, SchemaRef};
use futures::future::BoxFuture;
use zvf_store::meta::Kind;
use zvf_store::{Names, Store};

use crate::error::{OrBug, nearest};
use crate::links::Rule;
use crate::whole_objects::WholeObjects;
use crate::{Answer, Column, Outputs, Query, QueryError, Select, Table, list_objects, numbers};
use measured::Measured;
use object::PathMeter;
use table::MeasureTable;
use zvf_store::format::int;

/// Most vertices of a batch of objects in memory with their links, unless a single object has more.
const VERTICES: u64 = 1 << 20;

/// The column of ids.
const ID: &str = "object_id";

/// Most objects of a batch.
const OBJECTS: usize = 1 << 14;

/// The measures of the objects of a level, in batches.
///
/// # Shape
///
/// One row for each object, in the order of the query or of the object index:
///
/// | column | kinds | meaning |
/// |---|---|---|
/// | `object_id` | all | |
/// | `points` | all | vertices |
/// | `length` | all kinds with links of two vertices | sum of the lengths of the links |
/// | `tortuosity` | lines, polylines, streamlines | length, divided by the distance of both ends; missing if that is 0 |
/// | `branches`, `tips` | skeletons, graphs | vertices with three or more neighbours, vertices with one |
/// | `strahler` | skeletons | Strahler order of the root; missing if the links do not form a forest |
/// | `faces`, `surface` | meshes | number and area of the faces |
/// | `volume` | meshes in three dimensions | enclosed volume; missing unless the surface is closed and its faces have one orientation |
/// | `min_x`, `max_x`, .. | all | bounds on each axis |
/// | `mean_NAME` | on request | mean of a vertex attribute, missing values and NaN left out; `mean_NAME_0`, .. of several channels |
///
/// All are float64 except ids and counts. Objects without vertices have no length, bounds and means.
///
/// # Units
///
/// Stored world coordinates, over all axes, including time.
///
/// # Cost
///
/// The list of objects, then the vertices of the selected ones, once, if their links are implied by the order of rows. For other kinds, batches of
/// objects with about a million vertices are read with their links, each by its own query.
///
/// # Errors
///
/// Misuse: no object index, an unknown attribute, an attribute without numbers. Errors of [`query`](crate::query).
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use zvf_store::{OpenOptions, Store, blocking::Runtime};
/// use zvf_query::{Measures, Query};
///
/// # async fn bundled() -> Result<Store, Box<dyn std::error::Error>> {
/// #     use object_store::{ObjectStoreExt, memory::InMemory, path::Path};
/// #     let backend = InMemory::new();
/// #     for (key, bytes) in zvf_testkit::files("streamlines")? {
/// #         backend.put(&Path::parse(key)?, bytes.into()).await?;
/// #     }
/// #     let options = OpenOptions::new().with_object_store(Arc::new(backend));
/// #     Ok(Store::open_with("memory:///", options).await?)
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// Runtime::new()?.wait(async {
///     let store = bundled().await?;
///     let mut measures = Measures::start(&store, Query::default(), &[]).await?;
///     while let Some(batch) = measures.next().await? {
///         assert!(batch.column_by_name("tortuosity").is_some());
///     }
///     Ok(())
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct Measures {
    store: Store,
    query: Query,
    kind: Kind,
    /// Ids and numbers of vertices, and the next one.
    objects: Vec<(i64, u64)>,
    next: usize,
    attributes: Names,
    table: MeasureTable,
    /// The vertices of objects whose links follow from the order of rows, and the current object.
    paths: Option<(Answer, PathMeter)>,
    /// The columns of the table that are returned, and their schema; `None`: all.
    chosen: Option<(Vec<usize>, SchemaRef)>,
}

impl Measures {
    /// Selects the objects by a query, as [`Select::Objects`] does, and the attributes to average.
    ///
    /// # Errors
    ///
    /// As the type says.
    pub fn start<'a>(
        store: &'a Store,
        query: Query,
        means: &'a [String],
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            let objects = select(store, &query).await?;
            Self::of_objects(store, query, objects, means).await
        })
    }

    /// The measures of objects that are known: ids, and numbers of vertices, which may be 0 for kinds that are chains.
    pub(crate) fn of_objects<'a>(
        store: &'a Store,
        query: Query,
        objects: Vec<(i64, u64)>,
        means: &'a [String],
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            let kind = store.kind();
            let rule = Rule::of(kind, store.root().links_convention().ok());
            let attributes = match means {
                [] => Names::None,
                names => Names::List(names.to_vec()),
            };
            let paths = Query {
                objects: Some(objects.iter().map(|(id, _)| *id).collect()),
                columns: vec![Column::ObjectId, Column::Position, Column::Attributes],
                attributes: attributes.clone(),
                outputs: Outputs {
                    vertices: true,
                    links: false,
                    objects: false,
                },
                level: query.level,
                own_level_only: query.own_level_only,
                memory_budget: query.memory_budget,
                batch_rows: query.batch_rows,
                ..Query::default()
            };
            // The types of attributes are in the schema of the vertices.
            let answer = crate::query(store, paths).await?;
            let schema = answer
                .schema(Table::Vertices)
                .or_bug("an answer without vertices")?;
            let axes: Vec<String> = store
                .root()
                .axes()
                .iter()
                .map(|axis| axis.name.clone())
                .collect();
            let table = MeasureTable::new(kind, &axes, schema, means)?;
            let meter = PathMeter::new(axes.len(), table.means());
            let paths =
                (rule == Rule::Sequential || kind == Kind::PointCloud).then_some((answer, meter));
            Ok(Self {
                store: store.clone(),
                query,
                kind,
                objects,
                next: 0,
                attributes,
                table,
                paths,
                chosen: None,
            })
        })
    }

    /// Restricts the table to `object_id` and some measures, with new names.
    ///
    /// # Errors
    ///
    /// Misuse: an unknown measure, a name that is repeated or is `object_id`.
    pub fn with_columns<'n>(
        mut self,
        columns: impl IntoIterator<Item = (&'n str, &'n str)>,
    ) -> Result<Self, QueryError> {
        let all = self.table.schema();
        let id = all.index_of(ID).ok().or_bug("a table without ids")?;
        let mut indexes = vec![id];
        let mut fields = vec![all.field(id).clone()];
        for (measure, name) in columns {
            let index = all.index_of(measure).ok().filter(|index| *index != id);
            let Some(index) = index else {
                let names = || all.fields().iter().map(|field| field.name().as_str());
                let names = || names().filter(|name| *name != ID);
                let near = nearest(measure, names());
                let near =
                    near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
                return Err(QueryError::misuse(format!(
                    "measure: found {measure:?}{near}, expected one of {}",
                    names().collect::<Vec<_>>().join(", ")
                )));
            };
            if fields.iter().any(|field| field.name() == name) {
                return Err(QueryError::misuse(format!(
                    "measure: found the name {name:?} twice, expected another one for each measure, and not {ID}"
                )));
            }
            indexes.push(index);
            fields.push(all.field(index).clone().with_name(name));
        }
        self.chosen = Some((indexes, Arc::new(Schema::new(fields))));
        Ok(self)
    }

    /// Adds the positions of the first and the last vertex of lines, polylines and streamlines to the table: `start_x`, .., `end_x`, .. for each
    /// axis, float64, missing for objects without vertices. Call it before [`with_columns`](Self::with_columns), which can then select them.
    ///
    /// # Errors
    ///
    /// Misuse: a kind without ends.
    pub fn with_ends(mut self) -> Result<Self, QueryError> {
        if !self.kind.is_chain() {
            return Err(QueryError::misuse(format!(
                "ends: found a store of kind {}, expected lines, polylines or streamlines",
                self.kind
            )));
        }
        let axes = self.store.root().axes().iter();
        let axes: Vec<String> = axes.map(|axis| axis.name.clone()).collect();
        self.table.add_ends(&axes);
        Ok(self)
    }

    /// The columns of the table.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.chosen {
            Some((_, schema)) => Arc::clone(schema),
            None => Arc::clone(self.table.schema()),
        }
    }

    /// Number of objects in all batches.
    #[must_use]
    pub fn len(&self) -> u64 {
        int::wide(self.objects.len())
    }

    /// Whether no object is selected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The next batch. `None` at the end.
    ///
    /// # Errors
    ///
    /// As the type says.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        self.read().await
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Option<RecordBatch>, QueryError>> {
        Box::pin(async move {
            let mut done = Vec::new();
            while done.is_empty() && self.next < self.objects.len() {
                match &mut self.paths {
                    Some((answer, meter)) => {
                        let Some((table, batch)) = answer.next().await? else {
                            done.extend(meter.end());
                            let rest = self.objects.get(self.next..);
                            done = in_order(rest.or_bug("objects beyond the last")?, done)?;
                            self.next = self.objects.len();
                            break;
                        };
                        if table == Table::Vertices {
                            done = meter.extend(&batch, &self.table)?;
                        }
                        // Objects without vertices are inserted between the others.
                        let last = done.last().map(|object| object.id);
                        let rest = self.objects.get(self.next..);
                        let rest = rest.or_bug("objects beyond the last")?;
                        let end = last.and_then(|last| rest.iter().position(|(id, _)| *id == last));
                        if let Some(end) = end {
                            self.next += end + 1;
                            let until = rest.get(..=end).or_bug("an object that is not there")?;
                            done = in_order(until, done)?;
                        }
                    }
                    None => {
                        let batch = self.batch();
                        self.next = batch.end;
                        let ids = self.objects.get(batch);
                        let ids = ids.or_bug("objects beyond the last")?;
                        let ids: Vec<i64> = ids.iter().map(|(id, _)| *id).collect();
                        let found = WholeObjects::read(
                            &self.store,
                            &self.query,
                            &ids,
                            true,
                            self.attributes.clone(),
                        );
                        done = object::measure(self.kind, &ids, &found.await?, &self.table)?;
                    }
                }
            }
            match done.is_empty() {
                true => Ok(None),
                false => self.returned(self.table.batch(&done)?).map(Some),
            }
        })
    }

    /// The returned columns of a batch.
    fn returned(&self, batch: RecordBatch) -> Result<RecordBatch, QueryError> {
        let Some((indexes, schema)) = &self.chosen else {
            return Ok(batch);
        };
        let columns = batch.project(indexes).ok();
        let columns = columns.or_bug("columns that the table does not have")?;
        let named = RecordBatch::try_new(Arc::clone(schema), columns.columns().to_vec());
        named.ok().or_bug("measures that do not fit their columns")
    }

    /// The next objects that are read together.
    fn batch(&self) -> Range<usize> {
        let mut vertices = 0_u64;
        let mut end = self.next;
        for (_, count) in self.objects.iter().skip(self.next).take(OBJECTS) {
            vertices = vertices.saturating_add(*count);
            if vertices > VERTICES && end > self.next {
                break;
            }
            end += 1;
        }
        self.next..end
    }
}

/// Inserts objects without vertices between the others.
fn in_order(all: &[(i64, u64)], found: Vec<Measured>) -> Result<Vec<Measured>, QueryError> {
    let mut found = found.into_iter().peekable();
    let mut rows = Vec::with_capacity(all.len());
    for (id, _) in all {
        let measured = found.next_if(|object| object.id == *id);
        rows.push(measured.unwrap_or_else(|| Measured::empty(*id)));
    }
    found
        .peek()
        .is_none()
        .then_some(())
        .or_bug("objects in another order than asked for")?;
    Ok(rows)
}

/// Ids and numbers of vertices of the selected objects, each once.
async fn select(store: &Store, query: &Query) -> Result<Vec<(i64, u64)>, QueryError> {
    let whole = !query.is_spatial()
        && query.filter.is_none()
        && query.relation.is_none()
        && query.passing.is_none();
    let (answer, counts) = if whole && !query.is_by_object() {
        let answer = list_objects(store, query.level, query.own_level_only).await?;
        (answer, "vertices")
    } else {
        let asked = Query {
            select: match whole {
                true => query.select,
                false => Select::Objects,
            },
            attributes: Names::None,
            columns: Vec::new(),
            outputs: Outputs {
                vertices: false,
                links: false,
                objects: true,
            },
            ..query.clone()
        };
        (crate::query(store, asked).await?, "length")
    };
    let listed = answer.collect().await?.table(Table::Objects)?;
    let listed = listed.ok_or_else(|| {
        QueryError::misuse(format!(
            "level {} has no object index: there are no objects to measure",
            query.level
        ))
    })?;
    let ids = listed.column_by_name("object_id");
    let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
    let ids = ids
        .or_bug("a table of objects without ids")?
        .values()
        .iter();
    let counts = listed.column_by_name(counts);
    let counts = counts.and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
    let counts = counts
        .or_bug("a table of objects without counts")?
        .values()
        .iter();
    let mut known = std::collections::HashSet::new();
    let all = ids.copied().zip(counts.copied());
    Ok(all.filter(|(id, _)| known.insert(*id)).collect())
}

/// The values of a column of the vertices, with NaN for missing ones, and the number of values in a row.
fn column(batch: &RecordBatch, name: &str) -> Result<(Vec<f64>, usize), QueryError> {
    let column = batch
        .column_by_name(name)
        .or_bug(format_args!("vertices without {name}"))?;
    let (_, width) = numbers::elements(column);
    Ok((numbers::floats(column).values, width.max(1)))
}
