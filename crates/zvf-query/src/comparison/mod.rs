//! Compares the contents of two stores.

mod between;
mod documents;
mod groups;
mod hashes;
mod unowned;

use std::collections::BTreeMap;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_schema::{DataType, Field, Schema};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use zvf_store::{Need, Store};

use crate::error::OrBug;
use crate::object_ids::object_ids;
use crate::{
    Answer, Column, Outputs, Query, QueryError, Table, check_links_found, list_objects, numbers,
};
use hashes::{Left, Of, RowSets, hash};

/// The differences between two stores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparison {
    /// The first differences, up to the requested number.
    pub differences: Vec<Difference>,
    /// The number of all differences.
    pub total: u64,
    /// Whether there are differences that `total` does not count: at most 262,144 different rows of a table are counted.
    pub more: bool,
    /// Rows of the vertex tables of all levels, in the first and in the second store.
    pub vertices: [u64; 2],
    /// Rows of their link tables, without links between levels.
    pub links: [u64; 2],
    /// Rows of their object tables.
    pub objects: [u64; 2],
    most: usize,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The place: a member of the documents, or a level with an object, vertex or link.
    pub place: String,
    /// The contents of both stores there.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl Comparison {
    /// Whether no difference was found.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.total == 0
    }

    /// The comparison as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let one = |one: &Difference| json!({ "place": one.place, "what": one.what });
        json!({
            "same": self.is_same(),
            "differences": self.differences.iter().map(one).collect::<Vec<_>>(),
            "total": self.total,
            "more": self.more,
            "vertices": self.vertices,
            "links": self.links,
            "objects": self.objects,
        })
    }

    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.total += 1;
        if self.differences.len() < self.most {
            self.differences.push(Difference {
                place: place.into(),
                what: what.into(),
            });
        }
    }

    fn same<T: PartialEq + fmt::Debug>(&mut self, place: &str, old: &T, new: &T) {
        if old != new {
            self.add(place, format!("{old:?} and {new:?}"));
        }
    }

    /// Adds the rows that only one store has. Two different rows of the same place are one difference.
    fn rows(&mut self, sets: RowSets, level: u32, noun: &str) -> Result<(), QueryError> {
        let (left, all) = sets.into_left()?;
        self.more |= !all;
        if left.is_empty() {
            self.add(format!("level {level}"), format!("other rows of {noun}"));
        }
        let mut left = left.into_iter().peekable();
        while let Some(row) = left.next() {
            let place = match row.place.as_str() {
                "" => format!("level {level}, {noun}"),
                place => format!("level {level}, {place}"),
            };
            let pair = |next: &Left| {
                !row.place.is_empty() && next.place == row.place && row.more > 0 && next.more < 0
            };
            if let Some(other) = left.next_if(pair) {
                self.add(place, format!("{} and {}", row.text, other.text));
                continue;
            }
            let which = if row.more > 0 { "first" } else { "second" };
            for _ in 0..row.more.unsigned_abs() {
                self.add(
                    place.clone(),
                    format!("in the {which} store only: {}", row.text),
                );
            }
        }
        Ok(())
    }
}

/// Compares two stores: kind, axes, coordinate reference system, headers of source files such as the frame of a tractogram, metadata of users,
/// levels, names and types of attributes, the rows, links, objects and groups (with their attributes) of every level that both stores have, whether
/// links are directed, and links between levels.
///
/// Does not compare chunks, shards, codecs, versions, the order of rows in chunks, data derived from other data (implied links, the owner column),
/// the record of how a store or a level was made, descriptions and fills of attributes, parametric objects and further kinds of geometry.
///
/// Vertices of objects are identified by the id of the object and their number in it, other vertices by their values; floats are compared by
/// their bits. Ends of links are identified like vertices. `most` differences are returned, all are counted. `progress` gets the number of rows
/// of each step.
///
/// # Cost
///
/// One query of each level of both stores, another one of all rows if vertices may belong to no object (points, graphs and meshes with objects), and
/// each a second time if they differ. Memory: 8 bytes for each vertex of a level for the ends of its links,
/// about 40 bytes for each vertex of two levels of both stores while links between them are compared, and at most 262,144 rows that differ.
///
/// # Errors
///
/// As for [`query`](crate::query) and [`check_links_found`].
///
/// # Examples
///
/// ```no_run
/// # async fn example(a: &zvf_store::Store, b: &zvf_store::Store) -> Result<(), zvf_query::QueryError> {
/// let found = zvf_query::compare(a, b, 10, &mut |_| ()).await?;
/// for difference in &found.differences {
///     println!("{difference}");
/// }
/// # Ok(())
/// # }
/// ```
pub fn compare<'a>(
    old: &'a Store,
    new: &'a Store,
    most: usize,
    progress: &'a mut (dyn FnMut(u64) + Send),
) -> BoxFuture<'a, Result<Comparison, QueryError>> {
    Box::pin(async move {
        let mut found = Comparison {
            most,
            ..Comparison::default()
        };
        found.same("kind", &old.kind().name(), &new.kind().name());
        let axes = |store: &Store| {
            let axes = store.root().axes().iter();
            axes.map(|axis| {
                (
                    axis.name.clone(),
                    axis.kind().to_string(),
                    axis.unit.clone(),
                )
            })
            .collect::<Vec<_>>()
        };
        found.same("axes", &axes(old), &axes(new));
        let (old_system, new_system) = (reference_system(old), reference_system(new));
        if old_system != new_system {
            let text = documents::text;
            found.add(
                "crs",
                format!("{} and {}", text(old_system), text(new_system)),
            );
        }
        documents::headers(&mut found, [old, new]).await?;
        documents::of_root(&mut found, [old, new]);
        found.same("levels", &old.levels().to_vec(), &new.levels().to_vec());
        for number in old
            .levels()
            .iter()
            .filter(|number| new.levels().contains(number))
        {
            let mut pair = Pair {
                stores: [(Of::Old, old), (Of::New, new)],
                level: *number,
                progress,
            };
            for store in [old, new] {
                check_links_found(store, *number).await?;
            }
            pair.objects(&mut found).await?;
            pair.vertices(&mut found).await?;
            pair.unowned(&mut found).await?;
            pair.groups(&mut found).await?;
            pair.between(&mut found).await?;
            documents::of_level(&mut found, [old, new], *number).await?;
        }
        Ok(found)
    })
}

/// The coordinate reference system of a store.
fn reference_system(store: &Store) -> Option<&Value> {
    let system = store.root().zarr_vectors.crs.as_ref();
    system.filter(|system| !system.is_null())
}

/// One level of both stores.
struct Pair<'a> {
    stores: [(Of, &'a Store); 2],
    level: u32,
    progress: &'a mut (dyn FnMut(u64) + Send),
}

/// The properties of a column that have to be equal.
fn described(field: &Field) -> String {
    let unit = field.metadata().get("zvf.unit");
    let unit = unit.map_or_else(String::new, |unit| format!(" in {unit}"));
    format!("{}{unit}", type_name(field.data_type()))
}

/// The name of a type. The type of the codes of categories is a matter of storage.
fn type_name(kind: &DataType) -> String {
    match kind {
        DataType::Dictionary(_, values) => format!("categories of {values}"),
        DataType::FixedSizeList(item, width) => {
            format!("{width} x {}", type_name(item.data_type()))
        }
        other => other.to_string(),
    }
}

impl Pair<'_> {
    /// The columns that both schemas have with one type; others are differences.
    fn columns(
        &self,
        found: &mut Comparison,
        table: &str,
        schemas: &[Option<Schema>; 2],
    ) -> Vec<String> {
        let [Some(old), Some(new)] = schemas else {
            let [old, new] = schemas.each_ref().map(Option::is_some);
            found.same(
                &format!("level {}, a table of {table}", self.level),
                &old,
                &new,
            );
            return Vec::new();
        };
        let mut both = Vec::new();
        let names = |schema: &Schema| -> BTreeMap<String, String> {
            let fields = schema.fields().iter();
            fields
                .map(|field| (field.name().clone(), described(field)))
                .collect()
        };
        let (old, mut new) = (names(old), names(new));
        for (name, what) in old {
            let place = format!("level {}, {table}, column {name:?}", self.level);
            match new.remove(&name) {
                Some(other) if other == what => both.push(name),
                Some(other) => found.add(place, format!("{what} and {other}")),
                None => found.add(place, "in the first store only"),
            }
        }
        for name in new.into_keys() {
            let place = format!("level {}, {table}, column {name:?}", self.level);
            found.add(place, "in the second store only");
        }
        both
    }

    /// Compares ids, numbers of vertices and attributes of objects.
    async fn objects(&mut self, found: &mut Comparison) -> Result<(), QueryError> {
        let mut sets = RowSets::new();
        loop {
            let mut answers = Vec::new();
            for (of, store) in self.stores {
                answers.push((of, list_objects(store, self.level, true).await?));
            }
            let schemas = schemas(&answers, Table::Objects);
            let first = sets.counts() == [0, 0];
            let mut ignored = Comparison::default();
            let report = if first { &mut *found } else { &mut ignored };
            let mut columns = self.columns(report, "objects", &schemas);
            // The numbers of chunks and fragments depend on the chunk shape.
            columns.retain(|name| name != "chunks" && name != "fragments");
            for (of, mut answer) in answers {
                while let Some((_, batch)) = answer.next().await? {
                    let ids = ids(&batch)?;
                    let hashes = hashes::rows(&batch, &columns)?;
                    for (row, (hash, id)) in hashes.into_iter().zip(ids).enumerate() {
                        let id = id.or_bug("an object without an id")?;
                        sets.add(of, hash, || {
                            (format!("object {id}"), text(&batch, row, &columns))
                        })?;
                    }
                }
            }
            match first && !sets.same() {
                true => sets.begin_second_pass(),
                false => break,
            }
        }
        add(&mut found.objects, sets.counts());
        match sets.same() {
            true => Ok(()),
            false => found.rows(sets, self.level, "objects"),
        }
    }

    /// Compares vertices and links.
    async fn vertices(&mut self, found: &mut Comparison) -> Result<(), QueryError> {
        let (mut vertices, mut links) = (RowSets::new(), RowSets::new());
        let mut first = true;
        loop {
            let mut answers = Vec::new();
            for (of, store) in self.stores {
                answers.push((
                    of,
                    crate::query(store, whole_level(store, self.level).await?).await?,
                ));
            }
            let of_vertices = schemas(&answers, Table::Vertices);
            let links_of = schemas(&answers, Table::Links);
            let mut ignored = Comparison::default();
            let report = if first { &mut *found } else { &mut ignored };
            let columns = self.columns(report, "vertices", &of_vertices);
            let mut of_links = self.columns(report, "links", &links_of);
            of_links.retain(|name| name != "vertices");
            for (of, mut answer) in answers {
                // The identity of each vertex, by row.
                let mut places: Vec<u64> = Vec::new();
                let mut object = (None, 0_u64);
                while let Some((table, batch)) = answer.next().await? {
                    if table == Table::Vertices {
                        (self.progress)(hashes::length(&batch));
                        let ids = match batch.column_by_name("object_id") {
                            Some(_) => ids(&batch)?,
                            None => vec![None; batch.num_rows()],
                        };
                        for (row, (values, id)) in hashes::rows(&batch, &columns)?
                            .into_iter()
                            .zip(ids)
                            .enumerate()
                        {
                            object = match id == object.0 && id.is_some() {
                                true => (id, object.1 + 1),
                                false => (id, 0),
                            };
                            let place = id.map_or(values, |_| hash(&object));
                            places.push(place);
                            vertices.add(of, hash(&(place, values)), || {
                                let place = id.map_or_else(String::new, |id| {
                                    format!("object {id}, vertex {}", object.1)
                                });
                                (place, text(&batch, row, &columns))
                            })?;
                        }
                    } else if table == Table::Links {
                        let ends = batch
                            .column_by_name("vertices")
                            .or_bug("links without vertices")?;
                        let (items, width) = numbers::elements(ends);
                        let items = items
                            .as_primitive_opt::<UInt64Type>()
                            .or_bug("ends of links that are not UInt64")?;
                        let values = hashes::rows(&batch, &of_links)?;
                        let rows = items.values().chunks(width.max(1)).zip(values).enumerate();
                        for (row, (ends, values)) in rows {
                            let end = |row: &u64| {
                                usize::try_from(*row)
                                    .ok()
                                    .and_then(|row| places.get(row))
                                    .copied()
                            };
                            let ends = ends.iter().map(end).collect::<Option<Vec<u64>>>();
                            let ends = ends.or_bug("a link of rows that are not returned")?;
                            links.add(of, hash(&(ends, values)), || {
                                (String::new(), text(&batch, row, &["vertices".to_owned()]))
                            })?;
                        }
                    }
                }
            }
            match first && !(vertices.same() && links.same()) {
                true => {
                    vertices.begin_second_pass();
                    links.begin_second_pass();
                    first = false;
                }
                false => break,
            }
        }
        add(&mut found.vertices, vertices.counts());
        add(&mut found.links, links.counts());
        if !vertices.same() {
            found.rows(vertices, self.level, "vertices")?;
        }
        if !links.same() {
            found.rows(links, self.level, "links, by rows of its vertex table")?;
        }
        Ok(())
    }
}

/// All vertices and links, by object if there are objects.
async fn whole_level(store: &Store, number: u32) -> Result<Query, QueryError> {
    let need = Need {
        objects: true,
        ..Need::nothing()
    };
    let level = store.level(number, &need).await?;
    let by_object = level.object_index().is_some();
    let mut columns = vec![Column::Position, Column::Attributes];
    let mut objects = None;
    if by_object {
        columns.push(Column::ObjectId);
        objects = Some(object_ids(store, number, true).await?);
    }
    Ok(Query {
        level: number,
        own_level_only: true,
        objects,
        columns,
        outputs: Outputs {
            vertices: true,
            links: true,
            objects: false,
        },
        ..Query::default()
    })
}

/// The schemas of a table of both answers.
fn schemas(answers: &[(Of, Answer)], table: Table) -> [Option<Schema>; 2] {
    [0, 1].map(|at| {
        let schema = answers.get(at).and_then(|(_, answer)| answer.schema(table));
        schema.map(|schema| schema.as_ref().clone())
    })
}

fn add(to: &mut [u64; 2], counts: [u64; 2]) {
    for (to, count) in to.iter_mut().zip(counts) {
        *to += count;
    }
}

/// The ids of the objects of rows.
fn ids(batch: &RecordBatch) -> Result<Vec<Option<i64>>, QueryError> {
    let ids = batch.column_by_name("object_id");
    let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
    Ok(ids.or_bug("rows of objects without ids")?.iter().collect())
}

/// The values of a row.
fn text(batch: &RecordBatch, row: usize, columns: &[String]) -> String {
    let value = |name: &String| {
        let column = batch.column_by_name(name)?;
        Some(format!("{name} {}", hashes::value_text(column, row)))
    };
    let all: Vec<String> = columns.iter().filter_map(value).collect();
    all.join(", ")
}
