//! Sorted lists of objects that satisfy a condition.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use futures::future::BoxFuture;
use zvf_store::format::int;
use zvf_store::meta::Refinement;
use zvf_store::{Names, Need, Store};

use crate::condition_columns::values_of;
use crate::error::{OrBug, nearest};
use crate::filter::{Filter, Val};
use crate::list::list_chosen;
use crate::object_ids::no_objects;
use crate::object_terms::resolve;
use crate::row_samples::bytes_of;
use crate::{Answer, Place, Query, QueryError, Table};

/// The column of ids, and the prefix of attributes with the name of another column.
const ID: &str = "object_id";
const ATTRIBUTE: &str = "attribute:";

/// A column by which objects are sorted. Its text form is the name; a minus sign before the name means descending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    /// The name of a column of the list of objects.
    pub column: String,
    /// Whether the largest value is first.
    pub descending: bool,
}

impl FromStr for SortKey {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let (column, descending) = match text.strip_prefix('-') {
            Some(column) => (column, true),
            None => (text, false),
        };
        if column.is_empty() {
            let expected = "the name of a column, after - for the largest value first";
            let message = format!("sort: found {text:?}, expected {expected}");
            return Err(QueryError::misuse(message));
        }
        Ok(Self {
            column: column.to_owned(),
            descending,
        })
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.descending { "-" } else { "" };
        write!(f, "{sign}{}", self.column)
    }
}

/// Selects the objects of a level to list, and their order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObjectListing {
    /// The level.
    pub level: u32,
    /// Only the own objects of an additive level.
    pub own_level_only: bool,
    /// A condition on objects: attributes, `object_id`, `count()`, `length()`, `start.x`, `end.x`, and values of their groups.
    pub condition: Option<Filter>,
    /// The columns of the order, the most significant first; ties are ordered by id. Missing values and NaN are last. Empty: the order of the object
    /// index.
    pub sort: Vec<SortKey>,
    /// Largest number of objects.
    pub limit: Option<u64>,
    /// Largest memory for sorted objects, in bytes.
    pub memory_budget: u64,
}

impl Default for ObjectListing {
    fn default() -> Self {
        let Query { memory_budget, .. } = Query::default();
        Self {
            level: 0,
            own_level_only: false,
            condition: None,
            sort: Vec::new(),
            limit: None,
            memory_budget,
        }
    }
}

/// The objects of an [`ObjectListing`], in batches with the columns of [`list_objects`](crate::list_objects).
///
/// # Cost
///
/// As [`list_objects`](crate::list_objects), but only the manifests and attributes of the listed objects are read. A condition is evaluated first.
/// Parts on ids read the table of ids, parts on groups also the attributes of groups and the members of the groups that satisfy them. Parts on
/// attributes and `count()` read the list of all objects, and hold these columns in memory. Parts on lengths and ends read the vertices of the
/// objects that satisfy the other parts. Sorting holds objects in memory: about twice the limit, or all without a limit.
///
/// # Errors
///
/// Misuse: a condition on vertices, an unknown column or one with several values for an object, no object index. Limit: more objects to sort than
/// fit the memory budget. The errors of [`list_objects`](crate::list_objects).
#[derive(Debug)]
pub struct ListedObjects {
    answer: Answer,
    schema: SchemaRef,
    chosen: Option<Arc<HashSet<i64>>>,
    /// The number of all objects, if it is known before they are read.
    known: Option<u64>,
    seen: u64,
    left: u64,
    sorter: Option<Sorter>,
}

impl ListedObjects {
    /// Starts the list.
    ///
    /// # Errors
    ///
    /// The errors listed at [`ListedObjects`].
    pub fn start(store: &Store, listing: ObjectListing) -> BoxFuture<'_, Result<Self, QueryError>> {
        Box::pin(async move {
            let (level, own) = (listing.level, listing.own_level_only);
            // This reads only documents; cells are read when the first batch is requested.
            let mut answer = list_chosen(store, (level, own), None).await?;
            let schema = answer.schema(Table::Objects).cloned();
            let schema = schema.ok_or_else(|| no_objects(level))?;
            let sorter = match listing.sort.as_slice() {
                [] => None,
                keys => Some(Sorter {
                    keys: places(&schema, keys)?,
                    schema: schema.clone(),
                    held: Vec::new(),
                    bytes: 0,
                    limit: listing.limit,
                    budget: listing.memory_budget,
                }),
            };
            let (chosen, remarks) = match listing.condition {
                Some(condition) => {
                    let (ids, remarks) = satisfying(store, (level, own), condition).await?;
                    let ids = Arc::new(ids);
                    answer = list_chosen(store, (level, own), Some(ids.clone())).await?;
                    (Some(ids), remarks)
                }
                None => (None, Vec::new()),
            };
            let answer = answer.with_remarks(remarks);
            let known = match &chosen {
                Some(ids) => Some(int::wide(ids.len())),
                None => count(store, (level, own)).await?,
            };
            Ok(Self {
                answer,
                schema,
                chosen,
                known,
                seen: 0,
                left: listing.limit.unwrap_or(u64::MAX),
                sorter,
            })
        })
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of objects that satisfy the condition, regardless of the limit. Final after [`next`](Self::next) returned `None`.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.known.unwrap_or(self.seen)
    }

    /// The levels and warnings of the list.
    #[must_use]
    pub fn summary(&self) -> &crate::Summary {
        self.answer.summary()
    }

    /// The next objects. `None` at the end.
    ///
    /// # Errors
    ///
    /// The errors listed at [`ListedObjects`].
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        self.read().await
    }

    fn read(&mut self) -> BoxFuture<'_, Result<Option<RecordBatch>, QueryError>> {
        Box::pin(async move {
            if self.left == 0 && self.known.is_some() {
                return Ok(None);
            }
            while let Some((table, batch)) = self.answer.next().await? {
                if table != Table::Objects {
                    continue;
                }
                let batch = match &self.chosen {
                    Some(ids) => among(&batch, ids)?,
                    None => batch,
                };
                self.seen = self.seen.saturating_add(int::wide(batch.num_rows()));
                match &mut self.sorter {
                    Some(sorter) => sorter.push(batch)?,
                    None => match self.limited(batch) {
                        batch if batch.num_rows() > 0 => return Ok(Some(batch)),
                        // Further objects are only counted.
                        _ => {}
                    },
                }
            }
            match self.sorter.take() {
                Some(mut sorter) => Ok(sorter.sort()?.map(|batch| self.limited(batch))),
                None => Ok(None),
            }
        })
    }

    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let take = usize::try_from(self.left).unwrap_or(usize::MAX);
        let take = take.min(batch.num_rows());
        self.left = self.left.saturating_sub(int::wide(take));
        batch.slice(0, take)
    }
}

/// The number of objects of a level; `None` for several levels, whose objects are known only after all are read.
async fn count(
    store: &Store,
    (number, own_level_only): (u32, bool),
) -> Result<Option<u64>, QueryError> {
    let need = Need {
        objects: true,
        object_attributes: Names::All,
        ..Need::nothing()
    };
    let level = store.level(number, &need).await?;
    let alone = own_level_only || level.doc().refinement == Refinement::Replace;
    match level.object_index().filter(|_| alone) {
        Some(index) => Ok(Some(index.ids().await?.count())),
        None => Ok(None),
    }
}

/// The ids of the objects that satisfy a condition, and remarks on the condition.
async fn satisfying(
    store: &Store,
    (level, own_level_only): (u32, bool),
    condition: Filter,
) -> Result<(HashSet<i64>, Vec<String>), QueryError> {
    let query = Query {
        level,
        own_level_only,
        filter: Some(condition),
        ..Query::default()
    };
    let mut remarks = Vec::new();
    let query = resolve(store, query, &mut remarks).await?;
    if let Some(rest) = &query.filter {
        return Err(QueryError::misuse(format!(
            "where: `{rest}` refers to vertices, expected conditions on objects: their attributes, object_id, count(), length(), start.x, end.x, and group.NAME"
        )));
    }
    let ids = query.objects.or_bug("a condition on objects without ids")?;
    Ok((ids.into_iter().collect(), remarks))
}

fn ids(batch: &RecordBatch) -> Result<&[i64], QueryError> {
    let ids = batch.column_by_name(ID);
    let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
    Ok(ids.or_bug("a list of objects without ids")?.values())
}

/// Keeps the rows of the chosen objects.
fn among(batch: &RecordBatch, chosen: &HashSet<i64>) -> Result<RecordBatch, QueryError> {
    let mask = ids(batch)?.iter().map(|id| Some(chosen.contains(id)));
    let batch = filter_record_batch(batch, &mask.collect::<BooleanArray>());
    batch.ok().or_bug("a mask of other rows")
}

/// The index of each key's column, and whether the largest value is first.
fn places(schema: &Schema, keys: &[SortKey]) -> Result<Vec<(usize, bool)>, QueryError> {
    let place = |key: &SortKey| {
        let name = key.column.as_str();
        let found = schema.index_of(name);
        let found = found.or_else(|_| schema.index_of(&format!("{ATTRIBUTE}{name}")));
        let found = found.ok().ok_or_else(|| {
            let names = || schema.fields().iter().map(|field| field.name().as_str());
            let near = nearest(name, names());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
            let names = names().collect::<Vec<_>>().join(", ");
            QueryError::misuse(format!(
                "sort: found {name:?}{near}, expected one of {names}"
            ))
        });
        Ok((found?, key.descending))
    };
    keys.iter().map(place).collect()
}

/// Collects objects in memory and sorts them.
#[derive(Debug)]
struct Sorter {
    keys: Vec<(usize, bool)>,
    schema: SchemaRef,
    held: Vec<RecordBatch>,
    bytes: u64,
    limit: Option<u64>,
    budget: u64,
}

impl Sorter {
    fn push(&mut self, batch: RecordBatch) -> Result<(), QueryError> {
        self.bytes = self.bytes.saturating_add(bytes_of(&batch));
        self.held.push(batch);
        let held = self.held.iter().map(|one| int::wide(one.num_rows()));
        let rows = held.sum::<u64>();
        let many = |limit: u64| rows > limit.saturating_mul(2).saturating_add(1 << 14);
        if self.limit.is_some_and(many) {
            let best = self.sort()?;
            self.bytes = best.as_ref().map_or(0, bytes_of);
            self.held.extend(best);
        }
        if self.bytes > self.budget {
            const WHAT: &str =
                "bytes of objects to sort (a larger memory budget, a limit or a condition helps)";
            let place = Place::default();
            return Err(QueryError::limit(place, WHAT, self.bytes, self.budget));
        }
        Ok(())
    }

    /// Sorts the objects in memory and returns them, up to the limit; `None` if there are none.
    fn sort(&mut self) -> Result<Option<RecordBatch>, QueryError> {
        let held = std::mem::take(&mut self.held);
        let all = concat_batches(&self.schema, &held);
        let all = all.ok().or_bug("batches of different columns")?;
        drop(held);
        let mut columns = Vec::new();
        for (at, descending) in &self.keys {
            let (column, field) = (all.columns().get(*at), self.schema.fields().get(*at));
            let (column, field) = column.zip(field).or_bug("a column that is not there")?;
            let unit = field.metadata().get("zvf.unit");
            let found = values_of(column.as_ref(), unit).filter(|found| found.width == 1);
            let found = found.ok_or_else(|| {
                QueryError::misuse(format!(
                    "sort: found {:?} of type {}, expected a column with one value for each object",
                    field.name(),
                    field.data_type()
                ))
            })?;
            columns.push((found.values, *descending));
        }
        let ids = ids(&all)?;
        let mut rows: Vec<usize> = (0..all.num_rows()).collect();
        rows.sort_unstable_by(|a, b| {
            let keys = columns.iter();
            let mut order =
                keys.map(|(values, down)| compare(values.get(*a), values.get(*b), *down));
            let order = order.find(|order| order.is_ne());
            order.unwrap_or_else(|| ids.get(*a).cmp(&ids.get(*b)))
        });
        let most = self.limit.and_then(|limit| usize::try_from(limit).ok());
        rows.truncate(most.unwrap_or(usize::MAX));
        let rows = rows.into_iter().map(|row| u32::try_from(row).ok());
        let rows = rows.collect::<Option<Vec<u32>>>();
        let rows = rows.or_bug("2^32 objects in memory")?;
        if rows.is_empty() {
            return Ok(None);
        }
        let sorted = take_record_batch(&all, &UInt32Array::from(rows));
        sorted.ok().or_bug("rows beyond their batch").map(Some)
    }
}

/// Compares two values of a column; missing values and NaN are last in both directions.
fn compare(a: Option<&Val<'_>>, b: Option<&Val<'_>>, descending: bool) -> Ordering {
    let present = |value: &&Val<'_>| match value {
        Val::Null => false,
        other => other.double().is_none_or(|number| !number.is_nan()),
    };
    let order = match (a.filter(present), b.filter(present)) {
        (Some(Val::Int(a)), Some(Val::Int(b))) => a.cmp(b),
        (Some(Val::Bool(a)), Some(Val::Bool(b))) => a.cmp(b),
        (Some(Val::Text(a)), Some(Val::Text(b))) => a.cmp(b),
        (Some(a), Some(b)) => a
            .double()
            .partial_cmp(&b.double())
            .unwrap_or(Ordering::Equal),
        (a, b) => return b.is_some().cmp(&a.is_some()),
    };
    if descending { order.reverse() } else { order }
}
