//! Selects whole objects by their relation to a box and a region.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use zvf_store::Store;

use crate::axes::bound_region;
use crate::bits::Bits;
use crate::error::OrBug;
use crate::numbers::floats;
use crate::region::BoundRegion;
use crate::{
    BBox, Column, Names, ObjectRelation, Outputs, Query, QueryError, Select, Table, object_terms,
    passing,
};

/// Replaces conditions on objects, and the relations of objects to boxes and regions, by the ids of the objects. Adds notes about the conditions to
/// `remarks`.
///
/// # Cost
///
/// Nothing without conditions. With them, the cost of conditions on objects; for every relation except touching also one read of the vertices of
/// each object that touches the region, and one bit of memory for each of these vertices.
///
/// # Errors
///
/// Misuse, as for a query; no object index. I/O; malformed data.
pub(crate) async fn resolve(
    store: &Store,
    query: Query,
    remarks: &mut Vec<String>,
) -> Result<Query, QueryError> {
    let query = object_terms::resolve(store, query, remarks).await?;
    let query = passing::resolve(store, query).await?;
    let Some(relation) = query.relation else {
        return whole_objects(store, query, remarks).await;
    };
    let touching = Query {
        relation: None,
        select: Select::Objects,
        ..query
    };
    if relation == ObjectRelation::Touching {
        return whole_objects(store, touching, remarks).await;
    }
    let ids = Box::pin(related(store, &touching, relation)).await?;
    let related = Query {
        objects: Some(ids),
        groups: None,
        bbox: None,
        region: None,
        ..touching
    };
    whole_objects(store, related, remarks).await
}

/// In a query of whole objects, replaces a condition that refers to vertices and objects by the ids of the objects with a row that satisfies all
/// conditions.
///
/// # Cost
///
/// Nothing without such a condition. Otherwise the cost of the same query for rows, without its columns.
///
/// # Errors
///
/// The errors of the query.
async fn whole_objects(
    store: &Store,
    query: Query,
    remarks: &mut Vec<String>,
) -> Result<Query, QueryError> {
    let is_joint = query.filter.iter().any(|filter| filter.joint().is_some());
    if !is_joint || query.select != Select::Objects {
        return Ok(query);
    }
    let rows = Query {
        relation: None,
        select: Select::Vertices,
        limit: None,
        attributes: Names::None,
        columns: vec![Column::ObjectId],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..query.clone()
    };
    let mut answer = crate::query(store, rows).await?;
    let mut hits: HashSet<i64> = HashSet::new();
    while let Some((table, batch)) = answer.next().await? {
        let ids = batch.column_by_name("object_id");
        let ids = ids.filter(|_| table == Table::Vertices);
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        hits.extend(ids.or_bug("rows of objects without ids")?.values());
    }
    for warning in &answer.summary().warnings {
        if !remarks.contains(warning) {
            remarks.push(warning.clone());
        }
    }
    let mut objects = query.objects.or_bug("objects that were not chosen")?;
    objects.retain(|id| hits.contains(id));
    Ok(Query {
        objects: Some(objects),
        groups: None,
        bbox: None,
        region: None,
        filter: None,
        ..query
    })
}

/// The objects with the relation to the region, in the order of the answer.
async fn related(
    store: &Store,
    touching: &Query,
    relation: ObjectRelation,
) -> Result<Vec<i64>, QueryError> {
    let asked = Query {
        filter: None,
        limit: None,
        attributes: Names::None,
        columns: vec![Column::Position],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: true,
        },
        chunks: None,
        within: None,
        ..touching.clone()
    };
    let test = PlaceTest::new(store, &asked)?;
    let dims = store.root().dims().max(1);
    let mut answer = crate::query(store, asked).await?;
    let mut inside = Bits::default();
    let mut ids = Vec::new();
    while let Some((table, batch)) = answer.next().await? {
        match table {
            Table::Vertices => {
                let column = batch.column_by_name("position");
                let column = column.or_bug("vertices without positions")?;
                let rows = floats(column).values;
                for row in rows.chunks_exact(dims) {
                    inside.push(test.contains(row));
                }
            }
            Table::Objects => {
                let numbers = |name: &str| {
                    let column = batch.column_by_name(name);
                    column.and_then(|column| column.as_primitive_opt::<UInt64Type>())
                };
                let (starts, lengths) = numbers("start")
                    .zip(numbers("length"))
                    .or_bug("objects without rows")?;
                let own = batch.column_by_name("object_id");
                let own = own.and_then(|own| own.as_primitive_opt::<Int64Type>());
                let own = own.or_bug("objects without ids")?;
                let rows = starts.values().iter().zip(lengths.values());
                for ((start, length), id) in rows.zip(own.values()) {
                    let (start, length) =
                        (usize::try_from(*start).ok(), usize::try_from(*length).ok());
                    let rows = start
                        .zip(length)
                        .map(|(start, length)| start..start.saturating_add(length));
                    let mut rows = rows.or_bug("more rows than there is memory")?;
                    (rows.end <= inside.len())
                        .then_some(())
                        .or_bug("an object before its vertices")?;
                    let holds = match relation {
                        ObjectRelation::Inside => {
                            !rows.is_empty() && rows.all(|row| inside.get(row))
                        }
                        ObjectRelation::Starting => rows.next().is_some_and(|row| inside.get(row)),
                        ObjectRelation::Ending => {
                            rows.next_back().is_some_and(|row| inside.get(row))
                        }
                        ObjectRelation::Touching => rows.any(|row| inside.get(row)),
                    };
                    if holds {
                        ids.push(*id);
                    }
                }
            }
            Table::Links => {}
        }
    }
    Ok(ids)
}

/// Tests whether vertices are inside.
struct PlaceTest {
    bbox: Option<BBox>,
    region: Option<BoundRegion>,
}

impl PlaceTest {
    fn new(store: &Store, query: &Query) -> Result<Self, QueryError> {
        Ok(Self {
            bbox: query.bbox.clone(),
            region: bound_region(store, query)?,
        })
    }

    fn contains(&self, position: &[f64]) -> bool {
        self.bbox
            .as_ref()
            .is_none_or(|bbox| bbox.contains(position))
            && position.iter().all(|one| !one.is_nan())
            && self
                .region
                .as_ref()
                .is_none_or(|region| region.contains(position))
    }
}
