//! `case.json`: the queries to run on a bundled store, and their results.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::archive::side_file;

/// The queries of one bundled store, and their results. Rows are numbered as in the input, see [`crate::Truth`].
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Geometry kind as the root document names it, e.g. `streamline`.
    pub kind: String,
    /// Boxes and the rows inside.
    pub queries: Vec<BoxQuery>,
    /// Object id to its rows, in the object's order.
    pub objects: BTreeMap<i64, Vec<usize>>,
    /// Group number to the object ids of its members, in order.
    pub groups: BTreeMap<u64, Vec<i64>>,
    /// Whether the release that wrote the store dropped the attribute of links between chunks.
    pub link_weight_incomplete: bool,
    /// Each must occur in a warning of the store or a query, and each warning must contain one of them; empty if there must be no warnings.
    pub warnings: Vec<String>,
    /// Strings in the error message of a store that must be refused; empty for other stores.
    pub expect: Vec<String>,
    /// The whole document, for members that only one case has.
    pub document: Value,
}

/// One box and the input rows inside it.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxQuery {
    /// The level of the query.
    pub level: u32,
    /// Lower corner, inclusive, in world units: one number for each axis.
    pub lo: Vec<f64>,
    /// Upper corner, inclusive.
    pub hi: Vec<f64>,
    /// Input rows inside, ascending.
    pub rows: Vec<usize>,
    /// Whether the query returns only what is stored in the level itself, instead of its complete content.
    pub own_level_only: bool,
}

/// Reads the queries of one case.
///
/// # Errors
///
/// For an unknown case or an invalid `case.json`.
pub fn case(name: &str) -> Result<Case> {
    let document: Value = serde_json::from_slice(&side_file(name, "case.json")?)?;
    parse(&document).with_context(|| format!("case.json of {name}"))
}

fn parse(document: &Value) -> Result<Case> {
    let mut queries = Vec::new();
    for query in document["queries"].as_array().into_iter().flatten() {
        let level = query["level"].as_u64().context("no level")?;
        queries.push(BoxQuery {
            level: u32::try_from(level)?,
            lo: list(&query["bbox"][0], Value::as_f64).context("no lower corner")?,
            hi: list(&query["bbox"][1], Value::as_f64).context("no upper corner")?,
            rows: list(&query["rows"], as_usize).context("no rows")?,
            own_level_only: query["own_level_only"].as_bool().unwrap_or(false),
        });
    }
    Ok(Case {
        kind: document["kind"].as_str().context("no kind")?.to_owned(),
        queries,
        objects: table(&document["objects"], as_usize)?,
        groups: table(&document["groups"], Value::as_i64)?,
        link_weight_incomplete: document["link_weight_incomplete"]
            .as_bool()
            .unwrap_or(false),
        warnings: texts(&document["warnings"]),
        expect: texts(&document["expect"]),
        document: document.clone(),
    })
}

/// A list of strings; empty for any other value.
fn texts(value: &Value) -> Vec<String> {
    list(value, |item| item.as_str().map(str::to_owned)).unwrap_or_default()
}

/// An object whose names are numbers and whose values are lists; empty for any other value.
fn table<K, T>(value: &Value, item: fn(&Value) -> Option<T>) -> Result<BTreeMap<K, Vec<T>>>
where
    K: Ord + std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let mut found = BTreeMap::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        found.insert(
            key.parse()?,
            list(value, item).with_context(|| format!("no list at {key}"))?,
        );
    }
    Ok(found)
}

fn list<T>(value: &Value, item: fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

fn as_usize(value: &Value) -> Option<usize> {
    value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_every_case_exist_in_its_input() {
        for name in crate::all_cases().unwrap() {
            let case = case(&name).unwrap();
            let rows = crate::truth(&name).unwrap().positions.rows();
            assert!(!case.queries.is_empty(), "{name}");
            assert!(
                case.queries
                    .iter()
                    .flat_map(|query| &query.rows)
                    .all(|row| *row < rows),
                "{name}"
            );
            assert!(
                case.objects.values().flatten().all(|row| *row < rows),
                "{name}"
            );
        }
    }

    #[test]
    fn groups_hold_object_ids() {
        let case = case("points_ids").unwrap();
        assert_eq!(case.groups[&0], [3, 17]);
        assert_eq!(case.groups[&1], [4096]);
    }
}
