//! [`QuerySpec`], the description of a query that the program, Python, the server and splits share.

mod ids;
mod member;
mod piece;
mod place;
mod unique;

use futures::future::{BoxFuture, try_join_all};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use zvf_store::{Names, Need, Store};

use crate::object_ids::no_objects;
use crate::prepare::chain;
use crate::region::Plane;
use crate::{
    Answer, BBox, ChunkRange, Column, Filter, ObjectPlaces, ObjectRelation, Outputs, Query,
    QueryError, Region, Select, group_numbers,
};

pub use ids::{IdRanges, label_ranges};
pub use piece::{PieceOf, StateTag};
pub use unique::UniqueJson;

/// A query before it is resolved against a store; the program, Python, the server and splits make a [`Query`] from it.
///
/// Groups may be given by name, and `split` may select a piece of the answer. The JSON has a member for each part that is not
/// the default. An unknown member or an invalid value is an error that begins with the path of the member. The text form of each
/// member, which flags and query strings have, is also accepted as a JSON string.
///
/// | member | text | JSON other than the text |
/// |---|---|---|
/// | `level` | `0` | number |
/// | `bbox` | `0,0,0:10,10,10`, or ranges of some axes: `x=0:10,y=5:` | `[[0, 0, 0], [10, 10, 10]]`, `{"x": [0, 10], "y": [5, null]}` |
/// | `region` | `sphere(1,2,3,4) and not near(x=0,1)`: see [`Region`] | |
/// | `sphere` | `1,2,3,4`: the centre, then the radius | `[1, 2, 3, 4]` |
/// | `near` | `x=0,1`: an axis, a coordinate and a distance | |
/// | `polygon` | well-known text, or GeoJSON | GeoJSON |
/// | `plane` | `xz`, `lon,lat`, `xy,z=0:10`: for polygons without a plane | |
/// | `touching`, `inside`, `starting`, `ending` | `true`, `false`: whole objects by their relation to box and region; at most one of them | boolean |
/// | `passing` | `sphere(1,2,3,4) and not ending(box(x=0:1))`: see [`ObjectPlaces`] | |
/// | `objects` | `1,5-9`: see [`IdRanges`] | `[1, "5-9"]` |
/// | `groups` | `AF_left,2`: names or numbers | `["AF_left", 2]` |
/// | `where` | `fa > 0.5` | |
/// | `limit` | `1000` | number |
/// | `select` | `vertices`, `objects`, `chunks` | |
/// | `attributes` | `all`, `none`, `fa,md` | list |
/// | `columns` | `position,row` | list |
/// | `tables` | `vertices,links,objects` | list |
/// | `owners`, `own_level_only`, `ignore_missing` | `true`, `false` | boolean |
/// | `split` | `3/16` | |
/// | `chunks` | | `{"from": [0, 0], "until": [1, 0]}` |
/// | `batch_rows`, `memory_budget` | `65536` | number |
///
/// Box, region, sphere, slab and polygon combine by intersection; serialized JSON has them as one `region`, next to the box. A box of named axes is
/// part of the region: `box(x=0:10,y=5:)`.
///
/// ```
/// use zvf_query::QuerySpec;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let spec = QuerySpec::new().with_level(1).with_where("fa > 0.5")?.with_limit(1000);
/// let text = serde_json::to_string(&spec)?;
/// assert_eq!(text, r#"{"level":1,"where":"fa > 0.5","limit":1000}"#);
/// assert_eq!(serde_json::from_str::<QuerySpec>(&text)?, spec);
/// let wrong = serde_json::from_str::<QuerySpec>(r#"{"limit": -1}"#);
/// assert!(wrong.is_err_and(|error| error.to_string().starts_with("limit: found -1, expected a whole number")));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct QuerySpec {
    /// Level number; 0 is full resolution.
    pub level: u32,
    /// Box in world coordinates, inclusive on both sides.
    pub bbox: Option<BBox>,
    /// A region of space; combined with a box by intersection.
    pub region: Option<Region>,
    /// The plane for the polygons of the region that do not state one.
    pub(crate) plane: Option<Plane>,
    /// Whole objects by their relation to box and region; the member has the name of the relation.
    pub relation: Option<ObjectRelation>,
    /// A condition on objects by their relations to several regions.
    pub passing: Option<ObjectPlaces>,
    /// Object ids, in the order of the answer.
    pub objects: Option<IdRanges>,
    /// Groups by name or number.
    pub groups: Option<Vec<GroupRef>>,
    /// Condition; the member is called `where`.
    pub condition: Option<Filter>,
    /// Largest number of vertices.
    pub limit: Option<u64>,
    /// The rows that a match adds to the answer.
    pub select: Select,
    /// Vertex attributes of the answer.
    pub attributes: Names,
    /// Columns of the vertex table, in this order. Empty: position, then the attributes.
    pub columns: Vec<Column>,
    /// Tables of the answer.
    pub tables: Outputs,
    /// Without [`columns`](Self::columns): also `object_id`, if the level has an object index.
    pub owners: bool,
    /// Only the own content of an additive level.
    pub own_level_only: bool,
    /// Whether missing ids are skipped instead of refused.
    pub ignore_missing: bool,
    /// One of several pieces of the answer.
    pub split: Option<PieceOf>,
    /// Only rows of these chunks.
    pub chunks: Option<ChunkRange>,
    /// Largest number of rows of one record batch.
    pub batch_rows: usize,
    /// Decoded bytes in memory at once.
    pub memory_budget: u64,
}

impl Default for QuerySpec {
    fn default() -> Self {
        let Query {
            level,
            select,
            attributes,
            columns,
            owners,
            own_level_only,
            ignore_missing,
            outputs,
            batch_rows,
            memory_budget,
            ..
        } = Query::default();
        Self {
            level,
            bbox: None,
            region: None,
            plane: None,
            relation: None,
            passing: None,
            objects: None,
            groups: None,
            condition: None,
            limit: None,
            select,
            attributes,
            columns,
            tables: outputs,
            owners,
            own_level_only,
            ignore_missing,
            split: None,
            chunks: None,
            batch_rows,
            memory_budget,
        }
    }
}

/// A requested group of objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum GroupRef {
    /// By its number.
    Number(u64),
    /// By its name, or by its number as text; see [`zvf_store::group_of`].
    Word(String),
}

impl QuerySpec {
    /// Selects all of level 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the level.
    #[must_use]
    pub fn with_level(mut self, level: u32) -> Self {
        self.level = level;
        self
    }

    /// Selects the inside of a box.
    #[must_use]
    pub fn with_bbox(mut self, bbox: BBox) -> Self {
        self.bbox = Some(bbox);
        self
    }

    /// Selects the inside of a region.
    #[must_use]
    pub fn with_region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// Selects whole objects by their relation to box and region.
    #[must_use]
    pub fn with_relation(mut self, relation: ObjectRelation) -> Self {
        self.relation = Some(relation);
        self
    }

    /// Selects objects by their relations to several regions.
    #[must_use]
    pub fn with_passing(mut self, places: ObjectPlaces) -> Self {
        self.passing = Some(places);
        self
    }

    /// Selects objects by their ids.
    #[must_use]
    pub fn with_objects(mut self, ids: impl IntoIterator<Item = i64>) -> Self {
        self.objects = Some(ids.into_iter().collect());
        self
    }

    /// Selects the objects of groups.
    #[must_use]
    pub fn with_groups(mut self, groups: impl IntoIterator<Item = GroupRef>) -> Self {
        self.groups = Some(groups.into_iter().collect());
        self
    }

    /// Adds a condition.
    ///
    /// # Errors
    ///
    /// Misuse, as [`Filter::parse`].
    pub fn with_where(mut self, text: &str) -> Result<Self, QueryError> {
        self.condition = Some(Filter::parse(text)?);
        Ok(self)
    }

    /// Sets the largest number of vertices.
    #[must_use]
    pub fn with_limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Sets the rows that a match adds to the answer.
    #[must_use]
    pub fn with_select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Sets the columns of the vertex table.
    ///
    /// # Errors
    ///
    /// Misuse: an empty name.
    pub fn with_columns<'n>(
        mut self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, QueryError> {
        let columns = names.into_iter().map(str::parse);
        self.columns = columns.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Sets the tables of the answer.
    #[must_use]
    pub fn with_tables(mut self, tables: Outputs) -> Self {
        self.tables = tables;
        self
    }

    /// Selects one of several pieces of the answer.
    #[must_use]
    pub fn with_split(mut self, piece: PieceOf) -> Self {
        self.split = Some(piece);
        self
    }

    /// Checks that the members are compatible.
    ///
    /// # Errors
    ///
    /// Misuse: batches of 0 rows, a split with a limit, a plane without a polygon that needs it, a relation without box and region, whole chunks
    /// selected by a relation.
    pub fn check(&self) -> Result<(), QueryError> {
        let wrong = |what: &str| Err(QueryError::misuse(what));
        if self.batch_rows == 0 {
            return wrong("batch_rows: found 0, expected at least 1");
        }
        if self.split.is_some() && self.limit.is_some() {
            return wrong(
                "split: found one with a limit, expected only one of them: the rows within a limit are known only when they are read",
            );
        }
        self.check_place()
    }

    /// The query, if groups are given by number and no split is requested.
    ///
    /// # Errors
    ///
    /// Misuse: incompatible members, a group name, a split. Limit: ranges of more than 100 million ids, which only [`resolve`](Self::resolve) takes.
    pub fn plain(&self) -> Result<Query, QueryError> {
        self.check()?;
        let number = |group: &GroupRef| match group {
            GroupRef::Number(number) => Ok(*number),
            GroupRef::Word(word) => Err(QueryError::misuse(format!(
                "groups: found the name {word:?}, expected numbers before the store is read"
            ))),
        };
        let groups = self.groups.iter().flatten().map(number);
        let groups = groups.collect::<Result<Vec<u64>, _>>()?;
        if self.split.is_some() {
            return Err(QueryError::misuse(
                "split: found a piece, expected none before the store is read",
            ));
        }
        let objects = self.objects.as_ref().map(IdRanges::listed).transpose()?;
        Ok(self.with_numbers(objects, self.groups.is_some().then_some(groups)))
    }

    /// The query, with these objects and groups.
    fn with_numbers(&self, objects: Option<Vec<i64>>, groups: Option<Vec<u64>>) -> Query {
        // Attributes that are not among the named columns are not read.
        let named = !self.columns.is_empty() && !self.columns.contains(&Column::Attributes);
        let attributes = if named {
            let names = self.columns.iter().filter_map(|column| match column {
                Column::Attribute(name) => Some(name.clone()),
                _ => None,
            });
            Names::List(names.collect())
        } else {
            self.attributes.clone()
        };
        Query {
            level: self.level,
            bbox: self.bbox.clone(),
            region: self.placed_region(),
            relation: self.relation,
            passing: self.placed_passing(),
            objects,
            groups,
            filter: self.condition.clone(),
            limit: self.limit,
            limit_cuts_objects: false,
            select: self.select,
            attributes,
            columns: self.columns.clone(),
            owners: self.owners,
            own_level_only: self.own_level_only,
            ignore_missing: self.ignore_missing,
            outputs: self.tables,
            chunks: self.chunks.clone(),
            within: None,
            batch_rows: self.batch_rows,
            memory_budget: self.memory_budget,
        }
    }

    /// Whether names, long ranges of ids or a piece must be resolved with the store.
    #[must_use]
    pub fn needs_store(&self) -> bool {
        self.split.is_some()
            || self.objects.as_ref().is_some_and(IdRanges::has_long)
            || (self.groups.iter().flatten()).any(|group| matches!(group, GroupRef::Word(_)))
    }

    /// The query for a store: looks up the groups that are given by name, the objects in ranges of more than 1024 ids, and the requested split.
    ///
    /// # Cost
    ///
    /// Reads nothing if there are no names of groups, no long ranges and no split. Otherwise as [`group_numbers`] and [`Query::splits`], and the ids of the level.
    ///
    /// # Errors
    ///
    /// Misuse: incompatible members, a group that does not exist, an id of a long range that no object has. Limit: more than 100 million ids. I/O. For
    /// a split, the errors of [`Query::piece`].
    pub fn resolve<'a>(&'a self, store: &'a Store) -> BoxFuture<'a, Result<Query, QueryError>> {
        Box::pin(async move {
            if !self.needs_store() {
                return self.plain();
            }
            self.check()?;
            let mut numbers = Vec::new();
            for group in self.groups.iter().flatten() {
                match group {
                    GroupRef::Number(number) => numbers.push(*number),
                    GroupRef::Word(word) => {
                        let words = std::slice::from_ref(word);
                        numbers.extend(group_numbers(store, self.level, words).await?);
                    }
                }
            }
            let objects = match &self.objects {
                Some(ids) if ids.has_long() => Some(self.existing(store, ids).await?),
                Some(ids) => Some(ids.listed()?),
                None => None,
            };
            let query = self.with_numbers(objects, self.groups.is_some().then_some(numbers));
            match self.split {
                Some(piece) => query.piece(store, piece).await,
                None => Ok(query),
            }
        })
    }

    /// The `ids` that objects of the level have, or objects of the levels that complete it. An id of no object is an error, unless missing ones are
    /// ignored.
    async fn existing(&self, store: &Store, ids: &IdRanges) -> Result<Vec<i64>, QueryError> {
        let need = Need {
            objects: true,
            ..Need::nothing()
        };
        let levels = chain(store, self.level, self.own_level_only, &need).await?;
        let indexes = levels.iter().filter_map(|level| level.object_index());
        let tables = try_join_all(indexes.map(|index| index.ids())).await?;
        if tables.is_empty() {
            return Err(no_objects(self.level));
        }
        let count = tables
            .iter()
            .fold(0_u64, |sum, ids| sum.saturating_add(ids.count()));
        let has = |id| tables.iter().any(|ids| ids.slot(id).is_some());
        let all = || {
            tables
                .iter()
                .flat_map(|ids| ids.objects())
                .map(|(_, id)| id)
        };
        ids.among(count, has, all, self.ignore_missing)
    }

    /// Runs the query on a store.
    ///
    /// # Errors
    ///
    /// The errors of [`resolve`](Self::resolve) and of [`query`](crate::query).
    pub fn run<'a>(&'a self, store: &'a Store) -> BoxFuture<'a, Result<Answer, QueryError>> {
        Box::pin(async move { crate::query(store, self.resolve(store).await?).await })
    }
}

impl Query {
    /// The description of the query; [`within`](Self::within) is not part of it.
    pub(crate) fn spec(&self) -> QuerySpec {
        let groups = self.groups.as_ref();
        QuerySpec {
            level: self.level,
            bbox: self.bbox.clone(),
            region: self.region.clone(),
            plane: None,
            relation: self.relation,
            passing: self.passing.clone(),
            objects: self.objects.clone().map(IdRanges::from),
            groups: groups.map(|numbers| numbers.iter().copied().map(GroupRef::Number).collect()),
            condition: self.filter.clone(),
            limit: self.limit,
            select: self.select,
            attributes: self.attributes.clone(),
            columns: self.columns.clone(),
            tables: self.outputs,
            owners: self.owners,
            own_level_only: self.own_level_only,
            ignore_missing: self.ignore_missing,
            split: None,
            chunks: self.chunks.clone(),
            batch_rows: self.batch_rows,
            memory_budget: self.memory_budget,
        }
    }
}

impl Serialize for QuerySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for QuerySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_json(&value).map_err(D::Error::custom)
    }
}
