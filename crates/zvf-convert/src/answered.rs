//! Data to append to a store from answers of queries: tables in a folder that a query wrote, or a whole store.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;
use futures::future::BoxFuture;
use zvf_encode::error::OrBug;
use zvf_query::{Column, LevelPlan, Outputs, Query, Select, Table, list_objects, query};
use zvf_store::{Class, Level, Names, Need, Store};
use zvf_write::{Groups, Kind, StoreSpec};

use crate::error::{ConvertError, InFile, shown};
use crate::table::arrow;

/// The number of vertices that a query of a store with objects returns, and of those that belong to no object.
///
/// # Cost
/// A pass over the owners of all rows.
pub(crate) async fn count_owners(
    store: &Store,
    selection: &Query,
) -> Result<(usize, usize), ConvertError> {
    let owners = Query {
        columns: vec![Column::ObjectId],
        attributes: Names::None,
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..selection.clone()
    };
    let (mut answer, mut rows, mut orphans) = (query(store, owners).await?, 0, 0);
    while let Some((_, batch)) = answer.next().await? {
        let ids = batch.column_by_name("object_id");
        let ids = ids.or_bug("vertices without their owners")?;
        rows += ids.len();
        orphans += ids.null_count();
    }
    Ok((rows, orphans))
}

/// Level 0 of a store as the tables that [`zvf_query::query`] returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct Whole {
    /// The vertices, with `object_id`: object after object, each in its own order; points without objects in stored order.
    pub vertices: RecordBatch,
    /// The links; their ends are row numbers of `vertices`.
    pub links: Option<RecordBatch>,
    /// The objects, including those without vertices; `None` if the store has no objects.
    pub objects: Option<RecordBatch>,
    /// The groups; `None` if the store has no groups.
    pub groups: Option<Groups>,
    /// Notes about data that is left out or repeated.
    pub notes: Vec<String>,
}

impl Whole {
    /// Reads level 0 of a store, within a budget of memory.
    ///
    /// # Cost
    /// Reads the level once or twice and holds its tables in memory. Fails if appending them would need more than twice the budget.
    ///
    /// # Errors
    /// Misuse: a store with objects has vertices that belong to none; a store without vertices; more than the budget allows. The errors of the query.
    pub fn read(store: &Store, budget: u64) -> BoxFuture<'_, Result<Self, ConvertError>> {
        Box::pin(async move {
            zvf_query::check_links_found(store, 0).await?;
            let mut notes = Vec::new();
            let mut all = Query {
                memory_budget: budget.min(Query::default().memory_budget),
                ..Query::default()
            };
            let plans = all.plan(store).await?;
            let need = Need {
                objects: true,
                vertex_attributes: Names::All,
                ..Need::nothing()
            };
            let level = store.level(0, &need).await?;
            let bytes: u64 = plans.iter().map(LevelPlan::bytes).sum();
            let rows: u64 = plans.iter().map(LevelPlan::rows).sum();
            let held = held_by_edit(store.kind(), &level, rows, bytes);
            if held > budget.saturating_mul(2) {
                let found = format!(
                    "{rows} vertices, for which an edit needs about {held} bytes of memory"
                );
                let expected = format!(
                    "at most {}: `zvf merge` writes a new store of both within the budget, --memory-budget {} is enough for all vertices, or `zvf query {} --objects .. -o DIR` selects some objects",
                    budget.saturating_mul(2),
                    held.div_ceil(2),
                    store.url()
                );
                return Err(ConvertError::usage(store.url(), found, expected));
            }
            let mut objects = None;
            if level.object_index().is_some() {
                let (rows, orphans) = count_owners(store, &all).await?;
                if orphans > 0 {
                    let found = format!("{orphans} vertices that belong to no object");
                    let expected = format!(
                        "objects only: `zvf query {} --select objects -o DIR` leaves out the others, and `zvf append` reads DIR",
                        store.url()
                    );
                    return Err(ConvertError::usage(store.url(), found, expected));
                }
                let list = list_objects(store, 0, false).await?.collect().await?;
                let list = list.table(Table::Objects)?;
                let ids = list
                    .as_ref()
                    .and_then(|list| list.column_by_name("object_id"));
                let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
                all.objects = ids.map(|ids| ids.values().to_vec());
                all.select = Select::Objects;
                all.owners = true;
                objects = list.map(|list| (list, rows));
            }
            all.outputs.objects = false;
            let answer = query(store, all).await?.collect().await?;
            let nothing = || ConvertError::usage(store.url(), "no vertices", "some");
            let vertices = answer.table(Table::Vertices)?.ok_or_else(nothing)?;
            let links = answer.table(Table::Links)?;
            notes.extend(answer.summary.warnings.iter().cloned());
            notes.extend(store.names_unknown());
            if let Some((_, once)) = &objects
                && let Some(more) = vertices
                    .num_rows()
                    .checked_sub(*once)
                    .filter(|more| *more > 0)
            {
                notes.push(format!(
                    "vertices that objects share are appended once for each of the objects: {more} more in all"
                ));
            }
            let groups = groups_of(store, 0, None).await?;
            let groups = groups.map(|(groups, left)| {
                notes.extend(left);
                groups
            });
            Ok(Self {
                vertices,
                links,
                objects: objects.map(|(list, _)| list),
                groups,
                notes,
            })
        })
    }
}

/// The memory that appending a whole level needs, in bytes: its tables, the rows made from them, and the encoded data. The factors are measured.
fn held_by_edit(kind: Kind, level: &Level, rows: u64, bytes: u64) -> u64 {
    let texts = level.vertex_attributes().iter();
    let texts = texts.filter(|one| one.categories.is_some()).count() as u64;
    let objects = u64::from(level.object_index().is_some());
    // A graph has about one link per vertex, a mesh about two faces.
    let links = match kind {
        Kind::Graph | Kind::Skeleton => 160,
        Kind::Mesh => 400,
        _ => 0,
    };
    let row = 96 + 64 * objects + 64_u64.saturating_mul(texts) + links;
    bytes
        .saturating_mul(4)
        .saturating_add(rows.saturating_mul(row))
}

/// Groups, and remarks on attributes of groups that are left out.
pub type GroupsFound = (Groups, Vec<String>);

/// The groups of a level (of level 0 if the level has none), reduced to the objects in `members` if it is given.
/// Groups that have members, but none of them in `members`, are left out. Groups without members are kept, and so are groups whose members were all
/// deleted. The notes name attributes that are left out.
///
/// # Cost
/// Reads all groups and their attributes, and checks that the store did not change.
///
/// # Errors
/// The errors of the store.
pub fn groups_of<'a>(
    store: &'a Store,
    level: u32,
    members: Option<&'a BTreeSet<i64>>,
) -> BoxFuture<'a, Result<Option<GroupsFound>, ConvertError>> {
    Box::pin(async move {
        let found = found_groups(store, level, members).await;
        of_one_state(store, found).await
    })
}

/// Returns `read`, the result of reading from a store, if the store has not changed. Needed for reads after the last check by a query. Malformed data
/// is reported as a change if the store has changed.
///
/// # Errors
/// [`IoError::SourceChanged`](zvf_store::IoError::SourceChanged); else the errors of `read`; I/O.
pub(crate) async fn of_one_state<T>(
    store: &Store,
    read: Result<T, ConvertError>,
) -> Result<T, ConvertError> {
    if matches!(&read, Err(error) if error.class() != Class::Malformed) {
        return read;
    }
    match store.verify(0).await {
        Err(error) if read.is_ok() || error.is_changed() => Err(error.into()),
        _ => read,
    }
}

fn found_groups<'a>(
    store: &'a Store,
    level: u32,
    members: Option<&'a BTreeSet<i64>>,
) -> BoxFuture<'a, Result<Option<GroupsFound>, ConvertError>> {
    Box::pin(async move {
        let need = Need {
            groups: true,
            objects: true,
            group_attributes: Names::All,
            ..Need::nothing()
        };
        let mut found = store.level(level, &need).await?;
        if found.groups().is_none() && level != 0 && store.levels().contains(&0) {
            found = store.level(0, &need).await?;
        }
        let Some(groups) = found.groups() else {
            return Ok(None);
        };
        let deleted: BTreeSet<i64> = match found.object_index() {
            Some(index) => index.deleted().iter().copied().collect(),
            None => BTreeSet::new(),
        };
        let is_member = |id: &i64| members.is_none_or(|members| members.contains(id));
        let (mut names, mut lists, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (row, number) in (0..groups.len()).enumerate() {
            let mut ids = groups.members(number).await?;
            ids.retain(|id| !deleted.contains(id));
            let empty = ids.is_empty();
            ids.retain(is_member);
            if empty || !ids.is_empty() {
                names.push(groups.name(number));
                lists.push(ids);
                rows.push(row);
            }
        }
        let mut out = Groups::new(lists).with_names(names);
        let mut notes = Vec::new();
        for attribute in found.group_attributes() {
            let name = attribute.name();
            let stored = attribute.read().await?;
            if !out.add_stored(name, &stored, &rows)? {
                notes.push(format!(
                    "attribute {} of groups is left out: its values are neither numbers nor texts, or booleans of which some are missing",
                    shown(name)
                ));
            }
        }
        Ok(Some((out, notes)))
    })
}

/// Groups as a table, with the names and units of the axes of their store in its metadata.
///
/// # Errors
/// Limit: 2^31 members or more in all groups, or 2 GiB of texts in one column.
pub fn groups_table(groups: &Groups, store: &Store) -> Result<RecordBatch, ConvertError> {
    let root = store.root();
    let sizes = vec![1.0; root.axes().len()];
    let spec = StoreSpec::new(store.kind(), sizes).with_axes(root.axes().to_vec());
    Ok(groups.to_records(&spec)?)
}

/// Reads a file with a table of groups, as [`groups_table`] returns it.
///
/// # Cost
/// The memory of the table.
///
/// # Errors
/// I/O; a file that is not such a table.
pub fn read_groups(path: &Path) -> Result<RecordBatch, ConvertError> {
    arrow::whole(path)
}

/// Reorders the rows of chains, such as polylines: object by object, each in the order of its links, which refer to rows of the table.
///
/// # Errors
/// Malformed data: the links of an object do not join its rows into one chain.
pub fn in_chains(
    path: &Path,
    vertices: &RecordBatch,
    links: &RecordBatch,
) -> Result<RecordBatch, ConvertError> {
    let wrong = |found: String, expected: &str| {
        ConvertError::malformed(path, InFile::Whole, found, expected)
    };
    let ids = vertices.column_by_name("object_id");
    let Some(ids) = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>()) else {
        return Ok(vertices.clone());
    };
    let ends = links.column_by_name("vertices");
    let ends = ends.and_then(|ends| ends.as_fixed_size_list_opt());
    let ends = ends.filter(|ends| ends.value_length() == 2);
    let Some(ends) = ends.and_then(|ends| ends.values().as_primitive_opt::<UInt64Type>()) else {
        let expected = "a column vertices with the two ends of each link";
        return Err(wrong(
            "a table of links without such a column".to_owned(),
            expected,
        ));
    };
    let rows = vertices.num_rows();
    let id = |row: usize| ids.is_valid(row).then(|| ids.value(row));
    let mut next: Vec<Option<usize>> = vec![None; rows];
    let mut follows = vec![false; rows];
    for pair in ends.values().chunks_exact(2) {
        let ends = pair.iter().map(|end| usize::try_from(*end).ok());
        let ends: Option<Vec<usize>> = ends.map(|end| end.filter(|end| *end < rows)).collect();
        let Some(&[from, to]) = ends.as_deref() else {
            return Err(wrong(format!("a link of {pair:?}"), "rows of the vertices"));
        };
        let (Some(after), Some(joined)) = (next.get_mut(from), follows.get_mut(to)) else {
            continue;
        };
        if after.is_some() || *joined || id(from) != id(to) {
            let found = format!(
                "a link from row {from} to row {to}; the rows are in different objects, or one of them has another link in the same direction"
            );
            return Err(wrong(
                found,
                "chains: at most one link before and after a row",
            ));
        }
        (*after, *joined) = (Some(to), true);
    }
    let mut first: HashMap<Option<i64>, usize> = HashMap::new();
    let mut order: Vec<Option<usize>> = Vec::new();
    let mut taken = 0_usize;
    let mut sorted: Vec<u64> = Vec::with_capacity(rows);
    for row in 0..rows {
        let id = id(row);
        let start = follows.get(row) == Some(&false);
        let known = first.entry(id).or_insert_with(|| {
            order.push(None);
            order.len().saturating_sub(1)
        });
        let Some(slot) = order.get_mut(*known).filter(|_| start) else {
            continue;
        };
        if slot.is_some() {
            let found = match id {
                Some(id) => format!("object {id} in pieces that no link joins"),
                None => "rows of no object".to_owned(),
            };
            let expected = "whole objects: `zvf query --select objects -o DIR` writes them";
            return Err(wrong(found, expected));
        }
        *slot = Some(row);
    }
    for start in order {
        let mut at = start;
        while let Some(row) = at {
            sorted.push(row as u64);
            taken = taken.saturating_add(1);
            at = next.get(row).copied().flatten().filter(|_| taken <= rows);
        }
    }
    if sorted.len() != rows {
        let expected = "chains, each of which has a first row";
        return Err(wrong("links that form a ring".to_owned(), expected));
    }
    let sorted = UInt64Array::from(sorted);
    take_record_batch(vertices, &sorted)
        .map_err(|error| wrong(error.to_string(), "rows of one table"))
}

/// Whether the schema of a table declares its rows to be in chunk order.
pub(crate) fn is_in_chunk_order(schema: &arrow_schema::Schema) -> bool {
    schema
        .metadata()
        .get("zvf.order")
        .is_some_and(|order| order == "chunk")
}

/// The level with the groups of the objects of a level: level 0 if a coarse level has none, but its objects have the same ids.
///
/// # Errors
/// The errors of the store.
pub(crate) async fn level_of_groups(
    store: &Store,
    number: u32,
    need: &Need,
) -> Result<Level, ConvertError> {
    let level = store.level(number, need).await?;
    let is_coarse = number != 0 && store.levels().contains(&0);
    match level.groups().is_none() && is_coarse && level.doc().preserves_object_ids {
        true => Ok(store.level(0, need).await?),
        false => Ok(level),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::types::UInt64Type as U64;
    use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array};

    fn ordered(ids: &[i64], links: &[[u64; 2]]) -> Result<Vec<u64>, String> {
        let number = UInt64Array::from_iter_values(0..ids.len() as u64);
        let columns: [(&str, ArrayRef); 2] = [
            ("object_id", Arc::new(Int64Array::from(ids.to_vec()))),
            ("number", Arc::new(number)),
        ];
        let vertices = RecordBatch::try_from_iter(columns).unwrap();
        let links = links.iter().map(|link| Some(link.map(Some)));
        let ends = FixedSizeListArray::from_iter_primitive::<U64, _, _>(links, 2);
        let links = RecordBatch::try_from_iter([("vertices", Arc::new(ends) as ArrayRef)]).unwrap();
        let found = in_chains(Path::new("d"), &vertices, &links);
        let found = found.map_err(|error| error.to_string())?;
        let column = found.column_by_name("number").unwrap();
        Ok(column.as_primitive::<U64>().values().to_vec())
    }

    #[test]
    fn rows_of_chains_follow_their_links() {
        let ids = [7, 9, 7, 7, 9];
        assert_eq!(
            ordered(&ids, &[[3, 0], [0, 2], [4, 1]]).unwrap(),
            [3, 0, 2, 4, 1]
        );
        assert_eq!(ordered(&[5], &[]).unwrap(), [0]);
        assert_eq!(ordered(&[], &[]).unwrap(), [] as [u64; 0]);
        for (links, what) in [
            (&[[3, 0], [4, 1]][..], "object 7 in pieces"),
            (&[[3, 0], [0, 3], [4, 1]], "ring"),
            (&[[3, 0], [0, 2], [2, 3], [4, 1]], "ring"),
            (&[[0, 1]], "row 1"),
            (&[[0, 5]], "[0, 5]"),
            (&[[0, 2], [0, 3]], "row 3"),
        ] {
            let error = ordered(&ids, links).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
