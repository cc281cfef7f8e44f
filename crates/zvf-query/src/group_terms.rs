//! Evaluates the parts of conditions on objects that are about their groups.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow_array::ArrayRef;
use arrow_buffer::{MutableBuffer, NullBuffer};
use futures::future::try_join_all;
use zvf_store::format::dtype::DTypeKind;
use zvf_store::format::int;
use zvf_store::{Groups, Level, Store, TypedArray};

use crate::columns::arrow;
use crate::condition_columns::{columns_of, satisfying, values_of};
use crate::error::{OrBug, existing_attributes, nearest};
use crate::filter::{Expr, Filter, Val, Values, group_value};
use crate::groups::groups_of_objects;
use crate::{Place, Query, QueryError};

/// Values of groups that are not attributes.
const OWN: [&str; 2] = ["name", "number"];

/// The name of the boolean column of a part. It has the prefix of group values, so that no object attribute has the same name.
fn part_column(part: usize) -> String {
    format!("group.{part}")
}

/// Replaces each part of a condition on objects that refers only to groups by a boolean column, which [`memberships`] computes, and adds the part to
/// `parts`. The operands of an `and` that refer only to groups form one part, in any order.
///
/// # Errors
///
/// Misuse: a comparison of a value of groups with another value.
pub(crate) fn without_groups(
    condition: &Expr,
    filter: &Filter,
    parts: &mut Vec<Expr>,
) -> Result<Expr, QueryError> {
    let names = columns_of(condition);
    let is_group = |name: &&String| group_value(name).is_some();
    let Some(group) = names.iter().find(is_group) else {
        return Ok(condition.clone());
    };
    let Some(other) = names.iter().find(|name| !is_group(name)) else {
        parts.push(condition.clone());
        return Ok(Expr::is_true(part_column(parts.len() - 1)));
    };
    let mut replaced = |part: &Expr| without_groups(part, filter, parts);
    Ok(match condition {
        Expr::All(_) => {
            let operands = condition.conjuncts().into_iter().cloned();
            let (of_groups, others): (Vec<Expr>, Vec<Expr>) = operands.partition(|operand| {
                let names = columns_of(operand);
                !names.is_empty() && names.iter().all(|name| is_group(&name))
            });
            let joined = Expr::joined(of_groups);
            let operands = joined.iter().chain(&others).map(replaced);
            Expr::All(operands.collect::<Result<_, _>>()?)
        }
        Expr::Any(operands) => Expr::Any(operands.iter().map(replaced).collect::<Result<_, _>>()?),
        Expr::Not(operand) => Expr::Not(Box::new(replaced(operand)?)),
        _ => {
            return Err(QueryError::misuse(format!(
                "where: `{condition}` compares {group}, which is of groups, with {other}, which is not: expected separate comparisons, joined by \
                 `and` or `or`{}",
                filter.marked(group)
            )));
        }
    })
}

/// Adds a boolean column for each part: true for the objects of the groups that satisfy the part. Adds notes about the parts to `remarks`.
///
/// # Cost
///
/// Reads nothing if there are no parts; otherwise the documents of groups, the group attributes in the parts, and the members of the groups that
/// satisfy a part.
///
/// # Errors
///
/// Misuse: no groups, names that do not exist. I/O; malformed data.
pub(crate) async fn memberships(
    store: &Store,
    query: &Query,
    (parts, filter): (Vec<Expr>, &Filter),
    objects: &[i64],
    into: &mut HashMap<String, Values>,
    remarks: &mut Vec<String>,
) -> Result<(), QueryError> {
    let names: BTreeSet<String> = parts.iter().flat_map(columns_of).collect();
    let Some(first) = names.first() else {
        return Ok(());
    };
    let level = groups_of_objects(store, query).await?;
    let groups = level.as_ref().and_then(Level::groups);
    let (level, groups) = level.as_ref().zip(groups).ok_or_else(|| {
        QueryError::misuse(format!(
            "level {} has no groups: conditions on groups cannot be evaluated{}",
            query.level,
            filter.marked(first)
        ))
    })?;
    let count = usize::try_from(groups.len());
    let count = count.ok().or_bug("more groups than memory")?;
    let mut columns: HashMap<String, Values> = HashMap::new();
    for name in names {
        let column = column(store, level, (groups, count), &name, filter).await?;
        columns.insert(name, column);
    }
    for (number, part) in parts.into_iter().enumerate() {
        let rows = satisfying(vec![part], &columns, count, remarks)?;
        let members = rows.into_iter().map(|row| groups.members(int::wide(row)));
        let members = try_join_all(members).await?;
        let members: HashSet<i64> = members.into_iter().flatten().collect();
        let truth = |id: &i64| Val::Bool(members.contains(id));
        into.insert(
            part_column(number),
            Values::new(objects.iter().map(truth).collect(), DTypeKind::Bool),
        );
    }
    Ok(())
}

/// A value of every group.
async fn column(
    store: &Store,
    level: &Level,
    (groups, count): (&Groups, usize),
    name: &str,
    filter: &Filter,
) -> Result<Values, QueryError> {
    let value = group_value(name).or_bug("a name that is not of groups")?;
    let attributes = || level.group_attributes().iter().map(TypedArray::name);
    let attribute = attributes().position(|one| one == value);
    let attribute = attribute.and_then(|at| level.group_attributes().get(at));
    if let Some(attribute) = attribute {
        return stored(level, attribute, count).await;
    }
    let numbers = 0..groups.len();
    match value {
        "name" => {
            let name = |number| Val::Text(groups.name(number).into_bytes().into());
            let kind = DTypeKind::Utf32 { chars: 1 };
            Ok(Values::new(numbers.map(name).collect(), kind))
        }
        "number" => {
            let number = |number: u64| Val::Int(number.into());
            Ok(Values::new(numbers.map(number).collect(), DTypeKind::U64))
        }
        _ => {
            let names = || {
                attributes().chain(
                    OWN.into_iter()
                        .filter(|own| attributes().all(|name| name != *own)),
                )
            };
            let near = nearest(value, names());
            let near = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
            Err(QueryError::misuse(format!(
                "no group attribute {value:?}{near}: {}{}",
                existing_attributes(store, names()),
                filter.marked(name)
            )))
        }
    }
}

/// The stored rows of an attribute of `count` groups, which may be fewer.
///
/// # Errors
///
/// I/O; malformed data.
pub(crate) async fn attribute_rows(
    level: &Level,
    attribute: &TypedArray,
    count: u64,
) -> Result<ArrayRef, QueryError> {
    let found = attribute.read_rows(0..count).await?;
    let valid: NullBuffer = (0..found.rows).map(|row| !found.is_absent(row)).collect();
    let mut bytes = MutableBuffer::with_capacity(found.bytes.len());
    bytes.extend_from_slice(&found.bytes);
    arrow::rows(found.dtype, found.width, bytes, Some(valid)).map_err(|error| {
        let path = format!("group_attributes/{}", attribute.name());
        QueryError::malformed(Place::array(level.number(), &path), error.to_string())
    })
}

/// An attribute of every group; missing beyond its last row.
async fn stored(level: &Level, attribute: &TypedArray, count: usize) -> Result<Values, QueryError> {
    let array = attribute_rows(level, attribute, int::wide(count)).await?;
    let mut column =
        values_of(array.as_ref(), attribute.attributes().unit.as_ref()).ok_or_else(|| {
            QueryError::misuse(format!(
                "where: group attribute {:?} of type {} cannot be compared",
                attribute.name(),
                array.data_type()
            ))
        })?;
    let whole = count.checked_mul(column.width);
    let whole = whole.or_bug("more values of groups than memory")?;
    column.values.resize(whole, Val::Null);
    Ok(column)
}
