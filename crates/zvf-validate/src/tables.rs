//! Tables: attributes of objects and groups, and the members of groups.

use std::collections::HashSet;

use zvf_format::dtype::DTypeKind;
use zvf_store::{StoreError, TypedArray};

use crate::check::Check;
use crate::finding::Place;
use crate::level::LevelState;
use crate::run::Session;
use crate::values;

/// Number of rows that are read together.
const ROWS: u64 = 1 << 16;

/// Reads every table of a level.
///
/// # Cost
/// Reads every chunk of every table once, and the ids of objects if there are groups.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(run: &mut Session<'_>, state: &LevelState) -> Result<(), StoreError> {
    let objects = state.level.object_index().map(|index| index.len());
    let groups = state.level.groups().map(zvf_store::Groups::len);
    let lists = [
        (
            state.level.object_attributes(),
            objects,
            Check::ObjectAttributeRows,
            "objects",
        ),
        (
            state.level.group_attributes(),
            groups,
            Check::GroupAttributeRows,
            "groups",
        ),
    ];
    for (tables, rows, check, what) in lists {
        for table in tables {
            if run.options.wants_array(table.path()) && table.dtype().kind != DTypeKind::Object {
                one(run, state, table, rows, check, what).await?;
            }
        }
    }
    members(run, state).await
}

async fn one(
    run: &mut Session<'_>,
    state: &LevelState,
    table: &TypedArray,
    rows: Option<u64>,
    check: Check,
    what: &str,
) -> Result<(), StoreError> {
    let rows = rows.unwrap_or(0);
    if table.rows() != rows {
        let found = format!("{} rows", table.rows());
        run.findings.add(
            check,
            Place::at(table.path()),
            found,
            format!("{rows}, one for each of the {what}"),
        );
    }
    let round = state.level.next_round();
    let mut from = 0;
    while from < table.rows() {
        let to = from.saturating_add(ROWS).min(table.rows());
        let values = table.read_rows_in(round, from..to).await;
        let place = || Place::at(table.path()).row(from);
        if let Some(values) = run.keep(Check::ObjectTableReads, place, values)? {
            let place = || Place::at(table.path());
            let unit = table.attributes().unit.as_deref();
            let form = (values.dtype, values.width);
            values::check(&mut run.findings, place, unit, form, (from, &values.bytes));
        }
        from = to;
    }
    Ok(())
}

async fn members(run: &mut Session<'_>, state: &LevelState) -> Result<(), StoreError> {
    let Some(groups) = state.level.groups() else {
        return Ok(());
    };
    let path = state.path("groups");
    if !run.options.wants_array(&path) {
        return Ok(());
    }
    let round = state.level.next_round();
    let ids: Option<HashSet<i64>> = match state.level.object_index() {
        None => None,
        Some(index) => {
            let ids = index.ids_in(round).await;
            let place = || Place::at(state.path("object_index/object_ids"));
            run.keep(Check::ObjectTableReads, place, ids)?
                .map(|ids| ids.iter().collect())
        }
    };
    for group in 0..groups.len() {
        let members = groups.members_in(round, group).await;
        let place = || Place::at(path.clone()).row(group);
        let Some(members) = run.keep(Check::GroupMembersRead, place, members)? else {
            continue;
        };
        let Some(ids) = &ids else { continue };
        for id in members {
            if !ids.contains(&id) {
                let place = Place::at(path.clone()).row(group).object(id);
                run.findings
                    .add(Check::GroupMember, place, "an id of no object", "an object");
            }
        }
    }
    Ok(())
}
