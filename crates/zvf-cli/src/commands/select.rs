//! From flags to a query.

use std::path::Path;

use zvf_query::{BBox, Column, Filter, Outputs, Query, Select, group_numbers};
use zvf_store::{Names, Need};

use crate::args::{GetArgs, QueryArgs, ResultArgs, TermArgs};
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::Target;

/// The query that the flags of `zvf query` describe.
///
/// # Errors
///
/// Usage, for values that cannot be read; I/O, for id files; as the store says, where groups are named.
pub(crate) fn of_query(
    args: &QueryArgs,
    target: &Target,
    context: &mut Context<'_>,
) -> Result<Query> {
    let level = args.result.at.level;
    let mut query = terms(&args.terms, (&args.store, level), context)?;
    query.select = args.select.map_or(Select::Vertices, Select::from);
    result(&args.result, target, query)
}

/// The query of the terms of a selection of a level of a store, within the budget of memory.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn terms(
    args: &TermArgs,
    (url, level): (&str, u32),
    context: &mut Context<'_>,
) -> Result<Query> {
    let groups = match &args.groups {
        None => None,
        Some(words) => {
            let need = Need {
                groups: true,
                ..Need::nothing()
            };
            let store = context.open(url, level, need)?;
            Some(context.wait_at(url, group_numbers(&store, level, words))?)
        }
    };
    Ok(Query {
        objects: args.objects.as_deref().map(ids).transpose()?,
        bbox: args.bbox.as_deref().map(BBox::parse).transpose()?,
        groups,
        filter: args.filter.as_deref().map(Filter::parse).transpose()?,
        ignore_missing: args.ignore_missing,
        ..within(context.common.memory_budget)
    })
}

/// A query of everything, within a budget of memory.
fn within(budget: Option<u64>) -> Query {
    let all = Query::default();
    Query {
        memory_budget: budget.unwrap_or(all.memory_budget),
        ..all
    }
}

/// The query that the arguments of `zvf get` describe.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn of_get(args: &GetArgs, target: &Target, budget: Option<u64>) -> Result<Query> {
    let mut objects = Vec::new();
    for text in &args.ids {
        objects.extend(ids(text)?);
    }
    let query = Query {
        objects: Some(objects),
        ignore_missing: args.ignore_missing,
        ..within(budget)
    };
    result(&args.result, target, query)
}

/// The query with the tables and columns that are written.
fn result(args: &ResultArgs, target: &Target, query: Query) -> Result<Query> {
    let column = |name: &String| name.trim().parse::<Column>().map_err(CliError::from);
    let columns = args
        .columns
        .iter()
        .map(column)
        .collect::<Result<Vec<_>>>()?;
    let mut query = Query {
        level: args.at.level,
        own_level_only: args.at.own_level_only,
        limit: args.limit,
        columns,
        attributes: names(&args.attributes)?,
        ..query
    };
    if target.vertices_only() {
        query.outputs = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
    }
    query.owners = target.has_owners();
    Ok(query)
}

/// `all`, `none`, or names between commas.
pub(super) fn names(text: &str) -> Result<Names> {
    match text.trim() {
        "all" => Ok(Names::All),
        "none" => Ok(Names::None),
        list => {
            let names: Vec<String> = list.split(',').map(|name| name.trim().to_owned()).collect();
            if names.iter().any(String::is_empty) {
                return Err(CliError::usage(format!(
                    "--attributes: found {text:?}, expected all, none or names between commas"
                )));
            }
            Ok(Names::List(names))
        }
    }
}

/// Ids between commas, or from `@FILE`.
pub(super) fn ids(text: &str) -> Result<Vec<i64>> {
    let (place, text) = match text.strip_prefix('@') {
        Some(file) => {
            let path = Path::new(file);
            let text = zvf_store::open_file(path)
                .and_then(std::io::read_to_string)
                .map_err(|e| CliError::file("read ids from", path, &e))?;
            (file.to_owned(), text)
        }
        None => ("object ids".to_owned(), text.to_owned()),
    };
    let words = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty());
    let mut ids = Vec::new();
    for word in words {
        let Some((first, last)) = range(word) else {
            return Err(CliError::usage(format!(
                "{place}: found {word:?}, expected a whole number of 64 bits, or two as in 1-5"
            )));
        };
        let count = last.abs_diff(first).saturating_add(ids.len() as u64);
        if count >= MOST_IDS {
            return Err(CliError::new(
                Class::Limit,
                format!("{place}: found {word:?}, expected at most {MOST_IDS} ids"),
            ));
        }
        ids.extend(first..=last);
    }
    Ok(ids)
}

/// Ids of one selection.
const MOST_IDS: u64 = 100_000_000;

/// One id, or the first and the last of a range such as `1-5`.
fn range(word: &str) -> Option<(i64, i64)> {
    if let Ok(id) = word.parse() {
        return Some((id, id));
    }
    // The first character may be a sign.
    let (at, _) = word.char_indices().skip(1).find(|(_, c)| *c == '-')?;
    let (first, last) = (word.get(..at)?, word.get(at..)?.strip_prefix('-')?);
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_list_and_of_a_file() -> std::io::Result<()> {
        assert_eq!(ids("-4,7, 9").unwrap(), [-4, 7, 9]);
        assert_eq!(ids("1-3 8").unwrap(), [1, 2, 3, 8]);
        assert_eq!(ids("-4--2,5-5").unwrap(), [-4, -3, -2, 5]);
        for wrong in [
            "3-1",
            "1-",
            "1-2-3",
            "a-b",
            "1..3",
            "0-100000000",
            "-9223372036854775808-9223372036854775807",
        ] {
            assert!(ids(wrong).is_err(), "{wrong}");
        }
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "1 2\n3,\t4\n")?;
        assert_eq!(
            ids(&format!("@{}", file.path().display())).unwrap(),
            [1, 2, 3, 4]
        );
        let error = ids("1,x").unwrap_err().to_string();
        assert_eq!(
            error,
            "object ids: found \"x\", expected a whole number of 64 bits, or two as in 1-5"
        );
        assert!(ids("@/no/such/file").is_err());
        Ok(())
    }

    #[test]
    fn attribute_names() {
        assert_eq!(names("all").unwrap(), Names::All);
        assert_eq!(
            names("a, b").unwrap(),
            Names::List(vec!["a".into(), "b".into()])
        );
        assert!(names("a,,b").is_err());
    }
}
