//! Measures of whole objects: lengths, bounds, branches, surfaces, volumes, means of attributes.

mod chains;
mod measured;
mod mesh;
mod object;
mod table;
mod tree;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::{Schema, SchemaRef};
use futures::future::BoxFuture;
use zvf_store::meta::Kind;
use zvf_store::meta::Metric;
use zvf_store::{Names, Need, Store};

use crate::error::{OrBug, nearest};
use crate::links::Rule;
use crate::list::check_links_read;
use crate::object_ids::object_ids;
use crate::prepare::chain;
use crate::whole_objects::{WholeObjects, length_metric};
use crate::{Answer, Column, Outputs, Query, QueryError, Select, Table, list_objects, numbers};
use chains::{ChainMeasures, object_bytes};
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
/// | `tortuosity` | lines, polylines, streamlines | length, divided by the distance between the ends; missing if that is 0 |
/// | `branches`, `tips` | skeletons, graphs | vertices with three or more neighbours, vertices with one |
/// | `strahler` | skeletons | Strahler order of the root; missing if the links do not form a forest |
/// | `faces`, `surface` | meshes | number and area of the faces |
/// | `volume` | meshes in three dimensions | enclosed volume; missing unless the surface is closed and its faces have one orientation |
/// | `min_x`, `max_x`, .. | all | bounds on each axis |
/// | `mean_NAME` | on request | mean of a vertex attribute, missing values and NaN left out; `mean_NAME_0`, .. of several channels |
///
/// All are float64 except ids and counts. Objects without vertices have no length, bounds or means.
///
/// # Units
///
/// Stored world coordinates. Lengths, surfaces and distances are measured in space: axes of time and channels are ignored, and all others must have
/// the same unit.
///
/// # Cost
///
/// Reads the ids or the list of objects, then the vertices of the selected objects. If links are implied by the order of rows, the vertices are read
/// once: without means chunk by chunk, with means object by object, which takes several times as long. A pass chunk by chunk takes as many lines as
/// fit in twice the memory budget, at 72 bytes each in three dimensions and 120 with bounds. More lines take several passes, and the first batch is
/// returned after the first pass. Points are read once, object by object. For other kinds, batches of objects with about a million vertices are read
/// with their links, each by its own query.
///
/// # Errors
///
/// Misuse: no object index, axes with different units, an unknown attribute, an attribute without numbers, attributes with the same column name.
/// Unsupported: links that cannot be read. Errors of [`query`](crate::query).
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
    /// The id and the number of vertices of each object.
    objects: Vec<(i64, u64)>,
    /// The index of the next object.
    next: usize,
    attributes: Names,
    table: MeasureTable,
    source: Source,
    /// The columns of the table that are returned, and their schema; `None`: all.
    chosen: Option<(Vec<usize>, SchemaRef)>,
    warnings: Vec<String>,
}

/// The way to read the objects.
#[derive(Debug)]
enum Source {
    /// Lines, polylines and streamlines in passes over their chunks: the measures of the last pass, and how many of them were returned.
    Chains(Option<(ChainMeasures, usize)>),
    /// The vertices of objects whose links follow from the order of rows, and the current object.
    Rows(Box<Answer>, PathMeter),
    /// Objects with their links, some at a time.
    Linked,
}

impl Measures {
    /// Selects the objects by a query, as [`Select::Objects`] does, and the attributes to average.
    ///
    /// # Errors
    ///
    /// The errors listed at [`Measures`].
    pub fn start<'a>(
        store: &'a Store,
        query: Query,
        means: &'a [String],
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            if store.kind() != Kind::PointCloud {
                length_metric(store)?;
            }
            let by_rows = is_by_rows(store, &query).await?;
            if !by_rows && store.kind() != Kind::PointCloud {
                check_links_read(store, query.level).await?;
            }
            let (objects, warnings) = select(store, &query, by_rows).await?;
            let measures = Self::read_objects(store, query, objects, (means, by_rows)).await?;
            Ok(Self {
                warnings,
                ..measures
            })
        })
    }

    /// Measures known objects, given by their ids and numbers of vertices. The numbers limit the batches of objects with stored links.
    pub(crate) fn of_objects<'a>(
        store: &'a Store,
        query: Query,
        objects: Vec<(i64, u64)>,
        means: &'a [String],
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            let by_rows = is_by_rows(store, &query).await?;
            Self::read_objects(store, query, objects, (means, by_rows)).await
        })
    }

    /// Measures known objects. `by_rows`: whether their links are implied by the order of rows.
    fn read_objects<'a>(
        store: &'a Store,
        query: Query,
        objects: Vec<(i64, u64)>,
        (means, by_rows): (&'a [String], bool),
    ) -> BoxFuture<'a, Result<Self, QueryError>> {
        Box::pin(async move {
            let kind = store.kind();
            let attributes = match means {
                [] => Names::None,
                names => Names::List(names.to_vec()),
            };
            let axes = store.root().axes();
            let (table, source) = if by_rows && means.is_empty() {
                // The chunks are read in passes.
                let table = MeasureTable::new(kind, axes, &Schema::empty(), means)?;
                (table, Source::Chains(None))
            } else {
                // The types of attributes are in the schema of the vertices.
                let ids = objects.iter().map(|(id, _)| *id).collect();
                let answer = rows(store, &query, ids, attributes.clone()).await?;
                let schema = answer
                    .schema(Table::Vertices)
                    .or_bug("an answer without vertices")?;
                let table = MeasureTable::new(kind, axes, schema, means)?;
                let meter = PathMeter::new(axes.len(), Metric::of(axes), table.means());
                let source = match by_rows || kind == Kind::PointCloud {
                    true => Source::Rows(Box::new(answer), meter),
                    false => Source::Linked,
                };
                (table, source)
            };
            Ok(Self {
                store: store.clone(),
                query,
                kind,
                objects,
                next: 0,
                attributes,
                table,
                source,
                chosen: None,
                warnings: Vec::new(),
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
                    "measure: found the name {name:?} twice, expected a different name for each measure, other than {ID}"
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
        self.table.add_ends(self.store.root().axes());
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

    /// The warnings of the reads so far, such as missing values of an attribute.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The next batch. `None` at the end.
    ///
    /// # Errors
    ///
    /// The errors listed at [`Measures`].
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        self.read().await
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Option<RecordBatch>, QueryError>> {
        Box::pin(async move {
            let mut done = Vec::new();
            while done.is_empty() && self.next < self.objects.len() {
                match &mut self.source {
                    Source::Chains(_) => done = self.chains().await?,
                    Source::Rows(answer, meter) => {
                        let Some((table, batch)) = answer.next().await? else {
                            add_new(&mut self.warnings, &answer.summary().warnings);
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
                    Source::Linked => {
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
                        let found = found.await?;
                        add_new(&mut self.warnings, &found.warnings);
                        done = object::measure(self.kind, &ids, &found, &self.table)?;
                    }
                }
            }
            match done.is_empty() {
                true => Ok(None),
                false => self.returned(self.table.batch(&done)?).map(Some),
            }
        })
    }

    /// The next lines of the last pass, or the first ones of the next pass.
    async fn chains(&mut self) -> Result<Vec<Measured>, QueryError> {
        let dims = self.store.root().dims();
        let chosen = self.chosen.as_ref().map(|(chosen, _)| chosen.as_slice());
        let bounds = self.table.has_bounds(chosen);
        let rest = self
            .objects
            .get(self.next..)
            .or_bug("objects beyond the last")?;
        let Source::Chains(pass) = &mut self.source else {
            return Err(QueryError::bug("measures of other objects than lines"));
        };
        let (found, taken) = match pass {
            Some(pass) => pass,
            None => {
                let memory = self.query.memory_budget.saturating_mul(2);
                let most = memory / object_bytes(dims, bounds);
                let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
                let ids: Vec<i64> = rest.iter().take(most).map(|(id, _)| *id).collect();
                let found = ChainMeasures::read(&self.store, &self.query, &ids, bounds).await?;
                pass.insert((found, 0))
            }
        };
        let range = *taken..found.len().min(taken.saturating_add(OBJECTS));
        let mut done = Vec::with_capacity(range.len());
        let mut remeasured = Vec::new();
        for (number, (id, _)) in range.clone().zip(rest) {
            if found.with_empty_entries.contains(&number) {
                remeasured.push(*id);
            }
            done.push(found.measured(number, *id)?);
        }
        self.next = self.next.saturating_add(range.len());
        *taken = range.end;
        if *taken == found.len() {
            *pass = None;
        }
        if !remeasured.is_empty() {
            let mut answer = rows(&self.store, &self.query, remeasured, Names::None).await?;
            let mut meter = PathMeter::new(dims, Metric::of(self.store.root().axes()), 0);
            let mut measured: HashMap<i64, Measured> = HashMap::new();
            while let Some((_, batch)) = answer.next().await? {
                let some = meter.extend(&batch, &self.table)?.into_iter();
                measured.extend(some.map(|one| (one.id, one)));
            }
            measured.extend(meter.end().map(|one| (one.id, one)));
            for one in &mut done {
                if let Some(known) = measured.remove(&one.id) {
                    *one = known;
                }
            }
        }
        Ok(done)
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

/// Whether the rows of an object are one chain: the order of rows implies the links, and all rows are in one level. Rows in several levels that complete
/// each other are not linked across levels.
async fn is_by_rows(store: &Store, query: &Query) -> Result<bool, QueryError> {
    if Rule::of_store(store) != Rule::Sequential {
        return Ok(false);
    }
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let levels = chain(store, query.level, query.own_level_only, &need).await?;
    Ok(levels.len() == 1)
}

/// The rows of objects, object by object.
async fn rows(
    store: &Store,
    query: &Query,
    ids: Vec<i64>,
    attributes: Names,
) -> Result<Answer, QueryError> {
    let rows = Query {
        objects: Some(ids),
        columns: vec![Column::ObjectId, Column::Position, Column::Attributes],
        attributes,
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
    crate::query(store, rows).await
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

/// Adds the warnings that are not known yet.
fn add_new(known: &mut Vec<String>, found: &[String]) {
    for warning in found {
        if !known.contains(warning) {
            known.push(warning.clone());
        }
    }
}

/// Ids of the selected objects, each once, with numbers of vertices, and warnings. The numbers are 0 if the order of rows implies the links, because
/// such objects are not read in batches.
async fn select(
    store: &Store,
    query: &Query,
    by_rows: bool,
) -> Result<(Vec<(i64, u64)>, Vec<String>), QueryError> {
    let whole = !query.is_spatial()
        && query.filter.is_none()
        && query.relation.is_none()
        && query.passing.is_none();
    let all = whole
        && !query.is_by_object()
        && query.limit.is_none()
        && query.chunks.is_none()
        && query.within.is_none();
    if all && by_rows {
        let ids = object_ids(store, query.level, query.own_level_only).await?;
        return Ok((ids.into_iter().map(|id| (id, 0)).collect(), Vec::new()));
    }
    let (answer, counts) = if all {
        let answer = list_objects(store, query.level, query.own_level_only).await?;
        (answer, "vertices")
    } else {
        let asked = Query {
            select: match whole && query.is_by_object() {
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
    let answer = answer.collect().await?;
    let listed = answer.table(Table::Objects)?;
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
    let objects = all.filter(|(id, _)| known.insert(*id)).collect();
    Ok((objects, answer.summary.warnings))
}

/// The values of a column of the vertices, with NaN for missing ones, and the number of values in a row.
fn column(batch: &RecordBatch, name: &str) -> Result<(Vec<f64>, usize), QueryError> {
    let schema = batch.schema_ref();
    let found = schema.column_with_name(name);
    let found = found.and_then(|(at, field)| Some((batch.columns().get(at)?, field)));
    let (column, field) = found.or_bug(format_args!("vertices without {name}"))?;
    let (_, width) = numbers::elements(column);
    let values = numbers::measured(field, column, 0.0).values;
    Ok((values, width.max(1)))
}
