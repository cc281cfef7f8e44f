//! Evaluates conditions on objects before vertices are read: finds the objects that satisfy them.

use std::collections::{HashMap, HashSet};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use zvf_store::format::dtype::DTypeKind;
use zvf_store::meta::Refinement;
use zvf_store::{Level, Names, Need, Store, TypedArray, nearest_f16};

use crate::axes::axis_number;
use crate::columns::scalar::narrow;
use crate::condition_columns::{columns_of, decided, satisfying, values_of};
use crate::error::{OrBug, existing, existing_attributes, nearest};
use crate::filter::{
    Expr, Filter, Joint, Val, Values, end_of, exactly, group_value, is_geometry, is_of_object,
};
use crate::group_terms::{memberships, without_groups};
use crate::groups::groups_of_objects;
use crate::links::Rule;
use crate::list::check_links_read;
use crate::object_ids::{no_objects, object_ids};
use crate::statistics::CompensatedSum;
use crate::whole_objects::{WholeObjects, length_metric};
use crate::{Measures, Query, QueryError, Select, Table, list_objects};

/// Number of objects with their vertices and links in memory at once.
const BATCH: usize = 4096;

/// The name of the id of an object.
const ID: &str = "object_id";

/// The name of the length of an object.
const LENGTH: &str = "length()";

/// Replaces the conditions on objects in a query by the ids of the objects that satisfy them. Parts that also refer to vertices remain, with the
/// values of these objects. Adds notes about the conditions to `remarks`.
///
/// # Cost
///
/// Nothing without such conditions. Conditions on `object_id` read the table of ids, conditions on groups also the attributes of groups and the members
/// of the groups that satisfy them. Conditions on attributes and `count()` have the cost of [`list_objects`]. Conditions on lengths and ends read the
/// vertices of the objects that satisfy the other conditions.
///
/// # Errors
///
/// Misuse: names that do not exist, no object index, selecting whole chunks by a part that refers to vertices and objects. I/O; malformed data.
pub(crate) async fn resolve(
    store: &Store,
    query: Query,
    remarks: &mut Vec<String>,
) -> Result<Query, QueryError> {
    let chosen = |filter: &&Filter| filter.joint().is_none();
    let Some(mut filter) = query.filter.as_ref().filter(chosen).cloned() else {
        return Ok(query);
    };
    resolve_exact_names(store, &query, &mut filter).await?;
    let attributes = object_attributes(store, &query, &filter).await?;
    let is_own = |name: &String| is_of_object(name) || attributes.contains(name);
    let (mut of_objects, mut of_both, mut of_rows) = (Vec::new(), Vec::new(), Vec::new());
    for part in filter.conjuncts() {
        let names = columns_of(part);
        let parts = match (names.iter().any(is_own), names.iter().all(is_own)) {
            (true, true) => &mut of_objects,
            (true, false) => &mut of_both,
            (false, _) => &mut of_rows,
        };
        parts.push(part.clone());
    }
    if of_objects.is_empty() && of_both.is_empty() {
        return Ok(query);
    }
    if let (Some(part), Select::Chunks) = (of_both.first(), query.select) {
        return Err(QueryError::misuse(format!(
            "where: `{part}` refers to vertices and to objects, which selects no whole chunks: expected a selection of vertices or objects"
        )));
    }
    let condition = Expr::joined(of_rows.iter().chain(&of_both).cloned().collect());
    let parts = Parts {
        filter: &filter,
        of_rows: Expr::joined(of_rows),
        of_objects: Expr::joined(of_objects),
        of_both: Expr::joined(of_both),
    };
    let Chosen {
        all,
        objects: chosen,
        joint,
    } = choose(store, &query, parts, &is_own, remarks).await?;
    let objects = match &query.objects {
        None => chosen,
        Some(asked) => {
            let (all, chosen): (HashSet<i64>, HashSet<i64>) =
                (all.into_iter().collect(), chosen.into_iter().collect());
            // Missing ids are refused later, or ignored.
            let kept = asked.iter().copied();
            kept.filter(|id| chosen.contains(id) || !all.contains(id))
                .collect()
        }
    };
    let filter = condition.map(Filter::of).map(|filter| match joint {
        Some(joint) => filter.with_joint(joint),
        None => filter,
    });
    Ok(Query {
        objects: Some(objects),
        filter,
        ..query
    })
}

/// The parts of a condition that `and` joins.
struct Parts<'f> {
    filter: &'f Filter,
    /// The parts that refer to vertices alone.
    of_rows: Option<Expr>,
    /// The parts that refer to objects alone.
    of_objects: Option<Expr>,
    of_both: Option<Expr>,
}

/// The objects that a condition selects, by row of the object index.
struct Chosen {
    /// All objects.
    all: Vec<i64>,
    objects: Vec<i64>,
    joint: Option<Joint>,
}

/// Resolves names in backquotes. If no vertex attribute has the name, it is replaced by the name of the object or group attribute; if no attribute
/// has it, it is resolved like a name without quotes.
pub(crate) async fn resolve_exact_names(
    store: &Store,
    query: &Query,
    filter: &mut Filter,
) -> Result<(), QueryError> {
    let mut open = filter.exact_names();
    if open.is_empty() {
        return Ok(());
    }
    let need = Need {
        object_attributes: Names::All,
        ..query.need()
    };
    let level = Box::pin(store.level(query.level, &need)).await?;
    open.retain(|name| !is_of_vertices(&level, name));
    if open.is_empty() {
        return Ok(());
    }
    let mut renamed: HashMap<String, String> = HashMap::new();
    let of_groups = groups_of_objects(store, query).await?;
    for name in open {
        let is = |attribute: &TypedArray| attribute.name() == name;
        let of_groups = of_groups.iter().flat_map(Level::group_attributes);
        let new = if level.object_index().is_some() && level.object_attributes().iter().any(is) {
            format!("object.{name}")
        } else if of_groups.into_iter().any(is) {
            format!("group.{name}")
        } else {
            name.clone()
        };
        renamed.insert(name, new);
    }
    filter.rename(&|name| renamed.get(&exactly(name)?).cloned());
    Ok(())
}

/// Whether a vertex attribute, or the attribute of chunk keys, has this name.
fn is_of_vertices(level: &Level, name: &str) -> bool {
    let key = level.doc().chunk_attribute_name.as_deref();
    let mut attributes = level.vertex_attributes().iter();
    key == Some(name) || attributes.any(|attribute| attribute.name == name)
}

/// The names in a condition that are object attributes, and neither vertex attributes nor axes.
pub(crate) async fn object_attributes(
    store: &Store,
    query: &Query,
    filter: &Filter,
) -> Result<Vec<String>, QueryError> {
    let mut open = filter.names();
    open.retain(|name| !is_of_object(name) && axis_number(store, name).is_none());
    if open.is_empty() {
        return Ok(open);
    }
    // These documents are read by the query, too.
    let level = Box::pin(store.level(query.level, &query.need())).await?;
    open.retain(|name| !is_of_vertices(&level, name));
    if open.is_empty() || level.object_index().is_none() {
        return Ok(Vec::new());
    }
    let need = Need {
        object_attributes: Names::All,
        ..query.need()
    };
    let level = Box::pin(store.level(query.level, &need)).await?;
    open.retain(|name| {
        let mut attributes = level.object_attributes().iter();
        attributes.any(|attribute| attribute.name() == name)
    });
    Ok(open)
}

/// Evaluates the parts that refer to objects.
async fn choose(
    store: &Store,
    query: &Query,
    parts: Parts<'_>,
    is_own: &(dyn Fn(&String) -> bool + Sync),
    remarks: &mut Vec<String>,
) -> Result<Chosen, QueryError> {
    let Parts {
        filter,
        of_rows,
        of_objects,
        of_both,
    } = parts;
    let mut of_groups = Vec::new();
    let mut plain = |part: Option<Expr>| {
        let part = part.as_ref();
        part.map(|part| without_groups(part, filter, &mut of_groups))
            .transpose()
    };
    let (condition, joint) = (plain(of_objects)?, plain(of_both)?);
    let operands = condition.iter().flat_map(Expr::conjuncts).cloned();
    let (late, mut early): (Vec<Expr>, Vec<Expr>) =
        operands.partition(|part| columns_of(part).iter().any(|name| is_geometry(name)));
    let mut of_joint: Vec<String> = joint.iter().flat_map(columns_of).collect();
    of_joint.retain(is_own);
    let is_listed = |name: &String| name != ID && !is_geometry(name) && group_value(name).is_none();
    let table: HashSet<String> = (early.iter().chain(&late).flat_map(columns_of))
        .chain(of_joint.iter().cloned())
        .filter(is_listed)
        .collect();
    let mut named = early.iter().chain(&late).flat_map(columns_of);
    let with_ids = named.any(|name| name == ID) || of_joint.iter().any(|name| name == ID);
    let (all, mut columns) = listed(store, query, &table, with_ids, filter).await?;
    memberships(
        store,
        query,
        (of_groups, filter),
        &all,
        &mut columns,
        remarks,
    )
    .await?;
    early.extend(joint.iter().map(|joint| decided(joint, &columns)));
    let mut rows = satisfying(early, &columns, all.len(), remarks)?;
    // The lengths and ends of the chosen objects, for the parts that refer to vertices and objects.
    let of_ends = of_joint.iter().filter(|name| is_geometry(name)).cloned();
    let no_values = || Values::new(Vec::new(), DTypeKind::F64);
    let mut measured: HashMap<String, Values> = of_ends.map(|name| (name, no_values())).collect();
    let wanted: HashSet<String> = (late.iter().flat_map(columns_of))
        .chain(measured.keys().cloned())
        .collect();
    if !wanted.is_empty() {
        let mut kept = Vec::new();
        let ends = ends_of(store, query, &wanted, filter).await?;
        let most = ends.most();
        for some in rows.chunks(most) {
            let some_ids: Vec<i64> = some
                .iter()
                .filter_map(|row| all.get(*row).copied())
                .collect();
            let mut part: HashMap<String, Values> = HashMap::new();
            for (name, column) in columns.iter().filter(|(name, _)| wanted.contains(*name)) {
                part.insert(name.clone(), column.rows(some)?);
            }
            measure(store, query, &some_ids, &ends, (&mut part, remarks)).await?;
            let passing = satisfying(late.clone(), &part, some.len(), remarks)?;
            for (name, known) in &mut measured {
                let column = part.get(name).or_bug("a length or end that was not read")?;
                known.append(column.rows(&passing)?);
            }
            kept.extend(passing.into_iter().filter_map(|row| some.get(row).copied()));
        }
        rows = kept;
    }
    let objects: Vec<i64> = rows
        .iter()
        .filter_map(|row| all.get(*row).copied())
        .collect();
    let joint = match joint {
        None => None,
        Some(condition) => {
            let mut own = Vec::with_capacity(of_joint.len());
            for name in of_joint {
                let found = match columns.get(&name) {
                    Some(column) => Some(column.rows(&rows)?),
                    None => measured.remove(&name),
                };
                own.push((name, found.or_bug("a column that was not read")?));
            }
            Some(Joint::new((of_rows, condition), &objects, own))
        }
    };
    Ok(Chosen {
        all,
        objects,
        joint,
    })
}

/// The ids of all objects, and these columns of the list of objects; with `with_ids` also the ids as a column.
async fn listed(
    store: &Store,
    query: &Query,
    names: &HashSet<String>,
    with_ids: bool,
    filter: &Filter,
) -> Result<(Vec<i64>, HashMap<String, Values>), QueryError> {
    let mut columns: HashMap<String, Values> = HashMap::new();
    let all = if names.is_empty() {
        object_ids(store, query.level, query.own_level_only).await?
    } else {
        let answer = list_objects(store, query.level, query.own_level_only).await?;
        let listed = answer.collect().await?.table(Table::Objects)?;
        let listed = listed.ok_or_else(|| no_objects(query.level))?;
        for name in names {
            let values = listed_column(store, &listed, name, filter)?;
            columns.insert(name.clone(), values);
        }
        let ids = listed.column_by_name(ID);
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        ids.or_bug("a table of objects without ids")?
            .values()
            .to_vec()
    };
    if with_ids {
        let ids = all.iter().map(|id| Val::Int((*id).into())).collect();
        columns.insert(ID.to_owned(), Values::new(ids, DTypeKind::I64));
    }
    Ok((all, columns))
}

/// The ids of all objects of a level, and the values of the names in an expression that refer to objects.
///
/// # Errors
///
/// As [`resolve`]; misuse: values of groups, because an object can be in several groups.
pub(crate) async fn object_columns(
    store: &Store,
    query: &Query,
    names: Vec<String>,
    filter: &Filter,
) -> Result<(Vec<i64>, HashMap<String, Values>), QueryError> {
    if let Some(name) = names.iter().find(|name| group_value(name).is_some()) {
        return Err(QueryError::misuse(format!(
            "expression: found {name}, expected no values of groups: an object can be in several groups{}",
            filter.marked(name)
        )));
    }
    let with_ids = names.iter().any(|name| name == ID);
    let names = names.into_iter().filter(|name| name != ID);
    let (measured, table): (HashSet<String>, HashSet<String>) =
        names.partition(|name| is_geometry(name));
    let (all, mut columns) = listed(store, query, &table, with_ids, filter).await?;
    if measured.is_empty() {
        return Ok((all, columns));
    }
    let ends = ends_of(store, query, &measured, filter).await?;
    for name in &measured {
        let none = Values::new(Vec::new(), DTypeKind::F64);
        columns.insert(name.clone(), none);
    }
    for some in all.chunks(ends.most()) {
        let mut part: HashMap<String, Values> = HashMap::new();
        measure(store, query, some, &ends, (&mut part, &mut Vec::new())).await?;
        for (name, values) in part {
            let known = columns.get_mut(&name);
            known.or_bug("an unrequested measure")?.append(values);
        }
    }
    Ok((all, columns))
}

/// A column of the list of objects.
fn listed_column(
    store: &Store,
    listed: &RecordBatch,
    name: &str,
    filter: &Filter,
) -> Result<Values, QueryError> {
    const OWN: [&str; 4] = ["object_id", "vertices", "chunks", "fragments"];
    let attribute = name.strip_prefix("object.").unwrap_or(name);
    let schema = listed.schema();
    let found = match name {
        "count()" => schema.column_with_name("vertices"),
        _ => (schema.column_with_name(&format!("attribute:{attribute}"))).or_else(|| {
            let own = OWN.contains(&attribute);
            schema.column_with_name(attribute).filter(|_| !own)
        }),
    };
    let found = found.and_then(|(at, field)| Some((listed.columns().get(at)?, field)));
    let Some((found, field)) = found else {
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let names: Vec<&str> = names.filter(|name| !OWN.contains(name)).collect();
        let near = nearest(attribute, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
        return Err(QueryError::misuse(format!(
            "no object attribute {attribute:?}{near}: {}{}",
            existing_attributes(store, names.into_iter()),
            filter.marked(name)
        )));
    };
    values_of(found.as_ref(), field.metadata().get("zvf.unit")).ok_or_else(|| {
        QueryError::misuse(format!(
            "where: object attribute {attribute:?} of type {} cannot be compared",
            found.data_type()
        ))
    })
}

/// The lengths and ends that a condition refers to.
struct Wanted<'n> {
    lengths: bool,
    /// Name, whether it is the last vertex, and axis.
    ends: Vec<(&'n String, bool, usize)>,
    /// The number type of positions.
    positions: DTypeKind,
    /// Whether lengths and ends are computed from the rows, without reading links.
    by_rows: bool,
}

impl Wanted<'_> {
    /// How many objects are read at a time: links other than those between consecutive rows are held in memory.
    fn most(&self) -> usize {
        match self.by_rows {
            true => usize::MAX,
            false => BATCH,
        }
    }

    /// A coordinate in the float type of positions, so that conditions compare it with numbers as they compare an axis.
    fn coordinate(&self, number: f64) -> Val<'static> {
        match self.positions {
            DTypeKind::F16 => Val::F16(nearest_f16(number)),
            DTypeKind::F32 => Val::F32(narrow(number)),
            _ => Val::F64(number),
        }
    }
}

/// The lengths and ends among the names of a condition.
///
/// # Errors
///
/// Misuse: an axis that does not exist; axes with different units for a length.
async fn ends_of<'n>(
    store: &Store,
    query: &Query,
    names: &'n HashSet<String>,
    filter: &Filter,
) -> Result<Wanted<'n>, QueryError> {
    let mut ends = Vec::new();
    for name in names {
        let Some((end, axis)) = end_of(name) else {
            continue;
        };
        let Some(axis) = axis_number(store, axis) else {
            let axes = store.root().axes().iter().map(|axis| axis.name.as_str());
            return Err(QueryError::misuse(format!(
                "no axis {axis:?}: {}{}",
                existing(axes),
                filter.marked(name)
            )));
        };
        ends.push((name, end, axis));
    }
    if names.contains(LENGTH) {
        length_metric(store)?;
    }
    // These documents are read by the query, too.
    let level = Box::pin(store.level(query.level, &query.need())).await?;
    let positions = level.vertices().dtype().kind;
    // The rows of several levels are read object by object.
    let single = level.doc().refinement != Refinement::Add || query.own_level_only;
    // Ends that float64 does not hold exactly are read with the objects.
    let rounded = matches!(positions, DTypeKind::I64 | DTypeKind::U64) && !ends.is_empty();
    Ok(Wanted {
        lengths: names.contains(LENGTH),
        ends,
        positions,
        by_rows: Rule::of_store(store) == Rule::Sequential && !rounded && single,
    })
}

/// Adds lengths and ends of some objects to `into`, and the warnings of the reads to `remarks`.
async fn measure(
    store: &Store,
    query: &Query,
    ids: &[i64],
    wanted: &Wanted<'_>,
    (into, remarks): (&mut HashMap<String, Values>, &mut Vec<String>),
) -> Result<(), QueryError> {
    let warnings = match wanted.by_rows {
        true => chains(store, query, ids, wanted, into).await?,
        false => linked(store, query, ids, wanted, into).await?,
    };
    for warning in warnings {
        if !remarks.contains(&warning) {
            remarks.push(warning);
        }
    }
    Ok(())
}

/// Lengths and ends of lines, polylines and streamlines whose links follow from the order of rows: their chunks are read once.
async fn chains(
    store: &Store,
    query: &Query,
    ids: &[i64],
    wanted: &Wanted<'_>,
    into: &mut HashMap<String, Values>,
) -> Result<Vec<String>, QueryError> {
    let asked = Query {
        level: query.level,
        own_level_only: query.own_level_only,
        memory_budget: query.memory_budget,
        ..Query::default()
    };
    let objects = ids.iter().map(|id| (*id, 0)).collect();
    let measures = Measures::of_objects(store, asked, objects, &[]).await?;
    let measures = measures.with_ends()?;
    let axes: Vec<&str> = store
        .root()
        .axes()
        .iter()
        .map(|axis| axis.name.as_str())
        .collect();
    let mut columns: Vec<(&str, String, Vec<Val<'static>>)> = Vec::new();
    for (name, end, axis) in &wanted.ends {
        let axis = axes
            .get(*axis)
            .or_bug("an axis that the store does not have")?;
        let column = format!("{}_{axis}", if *end { "end" } else { "start" });
        columns.push((name.as_str(), column, Vec::new()));
    }
    if wanted.lengths {
        columns.push((LENGTH, "length".to_owned(), Vec::new()));
    }
    let chosen = columns
        .iter()
        .map(|(_, column, _)| (column.as_str(), column.as_str()));
    let mut measures = measures.with_columns(chosen)?;
    while let Some(batch) = measures.next().await? {
        for (name, column, into) in &mut columns {
            let found = batch.column_by_name(column);
            let found = found.and_then(|found| found.as_primitive_opt::<Float64Type>());
            let found = found.or_bug("a measure that is not there")?;
            // A line without vertices has a length, and no ends.
            into.extend(found.iter().map(|value| match (*name == LENGTH, value) {
                (true, value) => Val::F64(value.unwrap_or(0.0)),
                (false, Some(value)) => wanted.coordinate(value),
                (false, None) => Val::Null,
            }));
        }
    }
    for (name, _, values) in columns {
        (values.len() == ids.len())
            .then_some(())
            .or_bug("measures of other objects")?;
        into.insert(name.to_owned(), Values::new(values, DTypeKind::F64));
    }
    Ok(measures.warnings().to_vec())
}

/// Lengths and ends of other objects, with their links in memory.
async fn linked(
    store: &Store,
    query: &Query,
    ids: &[i64],
    wanted: &Wanted<'_>,
    into: &mut HashMap<String, Values>,
) -> Result<Vec<String>, QueryError> {
    if wanted.lengths {
        check_links_read(store, query.level).await?;
    }
    let found = WholeObjects::read(store, query, ids, wanted.lengths, Names::None).await?;
    // In the number type of positions.
    let positions = found.vertices.column_by_name("position");
    let positions = positions.and_then(|positions| values_of(positions.as_ref(), None));
    let positions = positions.or_bug("vertices without positions")?;
    for (name, end, axis) in &wanted.ends {
        let value = |(start, count): &(usize, usize)| {
            let row = match end {
                true => count.checked_sub(1).map(|last| start.saturating_add(last)),
                false => (*count > 0).then_some(*start),
            };
            let value = row.and_then(|row| {
                let start = row.checked_mul(found.dims())?;
                positions.values.get(start.checked_add(*axis)?)
            });
            value.cloned().unwrap_or(Val::Null)
        };
        let values = found.rows.iter().map(value).collect();
        into.insert((*name).clone(), Values::new(values, DTypeKind::F64));
    }
    if wanted.lengths {
        let metric = found.metric();
        let (width, links) = found
            .links
            .as_ref()
            .ok_or_else(|| QueryError::misuse("length() needs links, and the store has none"))?;
        if *width != 2 {
            return Err(QueryError::misuse(format!(
                "length() needs links of 2 vertices, and those of the store have {width}"
            )));
        }
        let length = |own: &Vec<usize>| {
            // As in measures of objects.
            let mut sum = CompensatedSum::default();
            let (pairs, _) = own.as_chunks::<2>();
            for [a, b] in pairs {
                let (from, to) = found.ends(*a, *b)?;
                sum.add(metric.distance(from, to));
            }
            Ok(Val::F64(sum.value()))
        };
        let lengths = links
            .iter()
            .map(length)
            .collect::<Result<_, QueryError>>()?;
        into.insert(LENGTH.to_owned(), Values::new(lengths, DTypeKind::F64));
    }
    Ok(found.warnings)
}
