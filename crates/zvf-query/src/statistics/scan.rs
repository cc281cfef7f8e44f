//! Computes statistics from the batches of a query.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use futures::future::BoxFuture;
use zvf_store::{Level, Names, Need, Store};

use super::chosen::{ChosenChannels, channel_of};
use super::column::{ColumnCounter, Extent};
use super::table::StatisticsTable;
use super::{StatisticsBy, StatisticsKey, StatisticsSection, StatisticsSpec};
use crate::axes::axis_number;
use crate::columns::arrow::is_placed;
use crate::error::{OrBug, existing_attributes};
use crate::groups::groups_of_objects;
use crate::object_ids::object_ids;
use crate::{Answer, Column, Outputs, Query, QueryError, Summary, Table};
use zvf_store::format::int;

/// Largest number of values with exact quantiles in statistics by group. Lower, because each group needs this memory for each column.
const EXACT_OF_GROUPS: usize = 1 << 12;

/// Largest number of values with exact quantiles, in all other statistics.
const EXACT: usize = 1 << 16;

/// The name of the column with the number of vertices of an object.
const COUNT: &str = "count()";

/// Computes the statistics of an answer while it is read.
///
/// # Cost
///
/// One query of the requested columns. Memory for each column: at most 65,536 numbers (4,096 for each group) for each level of its quantile sketch,
/// which has few levels, and the distinct texts. With [`StatisticsBy::Object`] and [`StatisticsBy::Group`] the query is by object.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use zvf_store::{OpenOptions, Store, blocking::Runtime};
/// use zvf_query::{Query, StatisticsScan, StatisticsSpec};
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
///     let mut scan = StatisticsScan::start(&store, Query::default(), StatisticsSpec::default()).await?;
///     while let Some(step) = scan.step().await? {
///         for column in step.sections.iter().flat_map(|section| &section.columns) {
///             println!("{}: {} values", column.name, column.count);
///         }
///     }
///     Ok(())
/// })
/// # }
/// ```
#[derive(Debug)]
pub struct StatisticsScan {
    answer: Answer,
    spec: StatisticsSpec,
    table: StatisticsTable,
    extent: Extent,
    axes: Vec<String>,
    /// The counted axes; `None`: all.
    counted_axes: Option<Vec<String>>,
    /// The counted vertex attributes; `None`: all.
    counted: Option<ChosenChannels>,
    /// The counters of all rows, or of the current object.
    vertices: Counters,
    objects: Counters,
    object: Option<i64>,
    groups: Vec<(u64, String, Counters)>,
    /// The groups of each object, as indices of the list.
    members: HashMap<i64, Vec<usize>>,
    ended: bool,
}

/// The result of one batch.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StatisticsStep {
    /// Rows that were read.
    pub rows: u64,
    /// Complete sections: the section of an object when the next object begins, all others at the end. Objects without vertices in the answer have
    /// none.
    pub sections: Vec<StatisticsSection>,
}

/// The counters of the columns of a table.
#[derive(Debug, Default)]
struct Counters {
    rows: u64,
    /// The columns of the table that are counted.
    places: Vec<usize>,
    columns: Vec<Vec<ColumnCounter>>,
}

impl Counters {
    fn extend(&mut self, batch: &RecordBatch) -> Result<(), QueryError> {
        self.rows += int::wide(batch.num_rows());
        for (place, counters) in self.places.iter().zip(&mut self.columns) {
            let column = batch
                .columns()
                .get(*place)
                .or_bug("a column of another schema")?;
            for counter in counters {
                counter.extend(column)?;
            }
        }
        Ok(())
    }

    fn finish(
        self,
        of: Option<StatisticsKey>,
        extent: &Extent,
    ) -> Result<StatisticsSection, QueryError> {
        let columns = self.columns.into_iter().flatten();
        Ok(StatisticsSection {
            of,
            vertices: self.rows,
            columns: columns
                .map(|column| column.finish(extent))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// The requested columns, by their table.
struct Wanted {
    axes: Option<Vec<String>>,
    attributes: Names,
    /// The vertex attributes, or channels of them, that are counted; `None`: all.
    channels: Option<ChosenChannels>,
    /// Names of columns of the object table.
    objects: Option<Vec<String>>,
}

impl Wanted {
    async fn of(store: &Store, spec: &StatisticsSpec, level: u32) -> Result<Self, QueryError> {
        let Some(names) = &spec.columns else {
            return Ok(Self {
                axes: None,
                attributes: Names::All,
                channels: None,
                objects: None,
            });
        };
        let (mut axes, mut attributes, mut objects) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            if let Some(attribute) = name.strip_prefix("object.") {
                objects.push(attribute.to_owned());
            } else if name == COUNT {
                objects.push(COUNT.to_owned());
            } else if axis_number(store, name).is_some() {
                axes.push(name.clone());
            } else {
                attributes.push(name.strip_prefix("attribute:").unwrap_or(name).to_owned());
            }
        }
        if spec.by.is_some() && !objects.is_empty() {
            return Err(QueryError::misuse(format!(
                "columns: found {COUNT} or an object attribute, expected axes and vertex attributes in statistics of each object or group"
            )));
        }
        let mut known = Vec::new();
        if attributes.iter().any(|name| channel_of(name).is_some()) {
            let need = Need {
                vertex_attributes: Names::All,
                ..Need::nothing()
            };
            let level = store.level(level, &need).await?;
            let all = level.vertex_attributes().iter();
            known.extend(all.map(|attribute| attribute.name.clone()));
        }
        let names = attributes.iter().map(String::as_str);
        let is_attribute = |name: &str| known.iter().any(|one| one == name);
        let channels = ChosenChannels::of(names, is_attribute);
        let attributes = match attributes.is_empty() {
            true => Names::None,
            false => Names::List(channels.attributes()),
        };
        Ok(Self {
            axes: Some(axes),
            attributes,
            channels: Some(channels),
            objects: Some(objects),
        })
    }

    fn any_axis(&self) -> bool {
        self.axes.as_ref().is_none_or(|axes| !axes.is_empty())
    }

    fn any_object(&self) -> bool {
        self.objects
            .as_ref()
            .is_none_or(|objects| !objects.is_empty())
    }

    /// Narrows a query to these columns.
    fn narrow(&self, query: &mut Query, by: bool) {
        let some = self.any_axis() || self.attributes != Names::None;
        query.columns = Vec::new();
        query.columns.extend(by.then_some(Column::ObjectId));
        query
            .columns
            .extend(self.any_axis().then_some(Column::Position));
        query
            .columns
            .extend((self.attributes != Names::None).then_some(Column::Attributes));
        query.attributes = self.attributes.clone();
        query.outputs = Outputs {
            vertices: some || by,
            links: false,
            objects: self.any_object() && !by,
        };
    }
}

impl StatisticsScan {
    /// Starts a query for statistics. Tables, columns and attributes of the query are replaced by those that the statistics need; its other members
    /// select the rows.
    ///
    /// # Errors
    ///
    /// Misuse: unknown columns; columns of objects in a level without an object index, or in statistics by object or group; statistics by object or
    /// group in a store without them; invalid probabilities or bins. The errors of [`query`](crate::query).
    pub fn start(
        store: &Store,
        mut query: Query,
        spec: StatisticsSpec,
    ) -> BoxFuture<'_, Result<Self, QueryError>> {
        Box::pin(async move {
            spec.check()?;
            let wanted = Wanted::of(store, &spec, query.level).await?;
            wanted.narrow(&mut query, spec.by.is_some());
            let (mut groups, mut members) = (Vec::new(), HashMap::new());
            // An object that is requested twice has one section, and counts once in a group.
            if let Some(ids) = query.objects.as_mut().filter(|_| spec.by.is_some()) {
                let mut known = HashSet::new();
                ids.retain(|id| known.insert(*id));
            }
            match spec.by {
                None => {}
                Some(StatisticsBy::Object) => {
                    query.objects = match query.objects.take() {
                        Some(ids) => Some(ids),
                        None if query.is_by_object() => None,
                        None => Some(object_ids(store, query.level, query.own_level_only).await?),
                    };
                }
                Some(StatisticsBy::Group) => {
                    let level = groups_of_objects(store, &query).await?;
                    let found = level.as_ref().and_then(Level::groups);
                    let found = found.ok_or_else(|| {
                        QueryError::misuse(format!(
                            "by: found group, expected object: level {} has no groups",
                            query.level
                        ))
                    })?;
                    let mut numbers = match &query.groups {
                        Some(numbers) => numbers.clone(),
                        None => (0..found.len()).collect(),
                    };
                    let mut known = HashSet::new();
                    numbers.retain(|number| known.insert(*number));
                    for number in &numbers {
                        for id in found.members(*number).await? {
                            let of: &mut Vec<usize> = members.entry(id).or_default();
                            if of.last() != Some(&groups.len()) {
                                of.push(groups.len());
                            }
                        }
                        groups.push((*number, found.name(*number)));
                    }
                    if !query.is_by_object() {
                        query.groups = Some(numbers);
                    }
                }
            }
            let answer = crate::query(store, query).await?;
            let exact = match spec.by {
                Some(StatisticsBy::Group) => EXACT_OF_GROUPS,
                _ => EXACT,
            };
            let extent = Extent {
                probabilities: spec.quantiles.clone(),
                bins: if spec.by.is_some() { 0 } else { spec.bins },
                exact,
            };
            let axes = store.root().axes().iter().map(|axis| axis.name.clone());
            let objects = answer.schema(Table::Objects).map(Arc::clone);
            let objects = match objects {
                Some(schema) => of_objects(store, &schema, wanted.objects.as_deref(), &extent)?,
                None => match wanted.objects.as_deref() {
                    None | Some([]) => Counters::default(),
                    Some(_) => {
                        return Err(QueryError::misuse(
                            "columns: found columns of objects, expected those of vertices: the level has no object index",
                        ));
                    }
                },
            };
            let mut scan = Self {
                vertices: Counters::default(),
                answer,
                table: StatisticsTable::new(&spec, &[]),
                extent,
                axes: axes.collect(),
                counted_axes: wanted.axes,
                counted: wanted.channels,
                objects,
                object: None,
                groups: Vec::new(),
                members,
                spec,
                ended: false,
            };
            scan.vertices = scan.of_vertices()?;
            let tables = [&scan.vertices, &scan.objects];
            let columns = tables.into_iter().flat_map(|table| &table.columns);
            let numbers = columns.flatten().filter_map(ColumnCounter::numbers);
            scan.table = StatisticsTable::new(&scan.spec, &numbers.collect::<Vec<_>>());
            for (number, name) in groups {
                let counters = scan.of_vertices()?;
                scan.groups.push((number, name, counters));
            }
            Ok(scan)
        })
    }

    /// New counters of the vertex table.
    ///
    /// # Errors
    ///
    /// Misuse: a channel that an attribute does not have.
    fn of_vertices(&self) -> Result<Counters, QueryError> {
        let (axes, some) = (&self.axes, &self.counted_axes);
        let mut found = Counters::default();
        let schema = self.answer.schema(Table::Vertices);
        for (place, field) in schema.iter().flat_map(|schema| schema.fields()).enumerate() {
            let counters = match field.name().as_str() {
                "object_id" if self.spec.by.is_some() => continue,
                "position" => {
                    let mut all = ColumnCounter::of(field, axes, &self.extent);
                    all.retain(|one| {
                        some.as_ref()
                            .is_none_or(|some| some.iter().any(|axis| axis == one.name()))
                    });
                    all
                }
                column => {
                    let mut field = field.as_ref().clone();
                    if axes.iter().any(|axis| axis == column) {
                        field = field.with_name(format!("attribute:{column}"));
                    }
                    let counters = ColumnCounter::of(&field, &[], &self.extent);
                    let name = column.strip_prefix("attribute:").unwrap_or(column);
                    match &self.counted {
                        Some(chosen) => chosen.keep(name, counters)?,
                        None => counters,
                    }
                }
            };
            found.places.push(place);
            found.columns.push(counters);
        }
        Ok(found)
    }

    /// Reads one batch. `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`Answer::next`].
    pub fn step(&mut self) -> BoxFuture<'_, Result<Option<StatisticsStep>, QueryError>> {
        Box::pin(async move {
            if self.ended {
                return Ok(None);
            }
            let mut step = StatisticsStep::default();
            match self.answer.next().await? {
                Some((Table::Vertices, batch)) => {
                    step.rows = int::wide(batch.num_rows());
                    match self.spec.by {
                        None => self.vertices.extend(&batch)?,
                        Some(by) => self.by(by, &batch, &mut step.sections)?,
                    }
                }
                Some((Table::Objects, batch)) => self.objects.extend(&batch)?,
                Some((Table::Links, _)) => {}
                None => {
                    self.ended = true;
                    self.last(&mut step.sections)?;
                }
            }
            Ok(Some(step))
        })
    }

    /// The table of the sections.
    #[must_use]
    pub fn table(&self) -> &StatisticsTable {
        &self.table
    }

    /// The summary of the answer.
    pub fn summary(&self) -> &Summary {
        self.answer.summary()
    }

    /// Counts the rows of a batch, separately for each run of rows of one object.
    fn by(
        &mut self,
        by: StatisticsBy,
        batch: &RecordBatch,
        sections: &mut Vec<StatisticsSection>,
    ) -> Result<(), QueryError> {
        let ids = batch.column_by_name("object_id");
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        let ids = ids
            .filter(|ids| ids.null_count() == 0)
            .or_bug("rows of objects without ids")?;
        let mut start = 0;
        for run in ids.values().chunk_by(|a, b| a == b) {
            let rows = batch.slice(start, run.len());
            start += run.len();
            let Some(id) = run.first().copied() else {
                continue;
            };
            match by {
                StatisticsBy::Object => {
                    if self.object != Some(id) {
                        sections.extend(self.object_ended()?);
                        self.object = Some(id);
                    }
                    self.vertices.extend(&rows)?;
                }
                StatisticsBy::Group => {
                    for place in self.members.get(&id).into_iter().flatten() {
                        let (_, _, counters) =
                            self.groups.get_mut(*place).or_bug("a member of no group")?;
                        counters.extend(&rows)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn object_ended(&mut self) -> Result<Option<StatisticsSection>, QueryError> {
        let Some(id) = self.object.take() else {
            return Ok(None);
        };
        let fresh = self.of_vertices()?;
        let done = std::mem::replace(&mut self.vertices, fresh);
        done.finish(Some(StatisticsKey::Object(id)), &self.extent)
            .map(Some)
    }

    fn last(&mut self, sections: &mut Vec<StatisticsSection>) -> Result<(), QueryError> {
        match self.spec.by {
            Some(StatisticsBy::Object) => sections.extend(self.object_ended()?),
            Some(StatisticsBy::Group) => {
                for (number, name, counters) in std::mem::take(&mut self.groups) {
                    let key = StatisticsKey::Group(number, name);
                    sections.push(counters.finish(Some(key), &self.extent)?);
                }
            }
            None => {
                let vertices = std::mem::take(&mut self.vertices);
                let objects = std::mem::take(&mut self.objects);
                let mut section = vertices.finish(None, &self.extent)?;
                section.vertices = self.answer.summary().vertices;
                section
                    .columns
                    .extend(objects.finish(None, &self.extent)?.columns);
                sections.push(section);
            }
        }
        Ok(())
    }
}

/// Counters of the object table.
fn of_objects(
    store: &Store,
    schema: &Schema,
    wanted: Option<&[String]>,
    extent: &Extent,
) -> Result<Counters, QueryError> {
    let mut found = Counters::default();
    let mut names: Vec<String> = Vec::new();
    let chosen = wanted.map(|wanted| {
        let is_attribute = |name: &str| {
            let mut fields = schema.fields().iter().map(|field| field.name().as_str());
            fields.any(|field| field.strip_prefix("attribute:").unwrap_or(field) == name)
        };
        ChosenChannels::of(wanted.iter().map(String::as_str), is_attribute)
    });
    for (place, field) in schema.fields().iter().enumerate() {
        let (name, title) = match (field.name().as_str(), is_placed(field)) {
            // In answers that are grouped by object, the number of vertices is called `length`. Attributes may have these names, too.
            ("length" | "vertices", true) => (COUNT, COUNT.to_owned()),
            ("object_id", _) | (_, true) => continue,
            (column, false) => {
                let name = column.strip_prefix("attribute:").unwrap_or(column);
                (name, format!("object.{name}"))
            }
        };
        names.push(name.to_owned());
        let renamed = field.as_ref().clone().with_name(title);
        let mut counters = ColumnCounter::of(&renamed, &[], extent);
        if let Some(chosen) = &chosen {
            counters = chosen.keep(name, counters)?;
        }
        if !counters.is_empty() {
            found.places.push(place);
            found.columns.push(counters);
        }
    }
    let wanted = chosen.map(|chosen| chosen.attributes()).unwrap_or_default();
    match wanted.iter().find(|name| !names.contains(name)) {
        Some(unknown) => Err(QueryError::misuse(format!(
            "no object attribute {unknown:?}: {}",
            existing_attributes(
                store,
                names
                    .iter()
                    .map(String::as_str)
                    .filter(|name| *name != COUNT)
            )
        ))),
        None => Ok(found),
    }
}
