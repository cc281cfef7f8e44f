//! From flags to a query.

use std::path::Path;

use zvf_query::{BBox, Column, Filter, Outputs, Query};
use zvf_store::{Deltas, Names, Need};

use crate::args::{GetArgs, QueryArgs, ResultArgs, TermArgs};
use crate::error::{CliError, Result};
use crate::output::Target;

/// The query that the flags of `zvf query` describe.
///
/// # Errors
///
/// Usage, for values that cannot be read; I/O, for id files.
pub(crate) fn of_query(args: &QueryArgs, target: &Target, budget: Option<u64>) -> Result<Query> {
    let mut query = base(&args.result, target, budget)?;
    terms(&args.terms, &mut query)?;
    query.select = args.select.into();
    query.ignore_missing = args.ignore_missing;
    Ok(query)
}

/// Puts the terms of a selection into a query.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn terms(args: &TermArgs, query: &mut Query) -> Result<()> {
    query.objects = args.objects.as_deref().map(ids).transpose()?;
    query.bbox = args.bbox.as_deref().map(BBox::parse).transpose()?;
    query.groups.clone_from(&args.groups);
    query.filter = args.filter.as_deref().map(Filter::parse).transpose()?;
    Ok(())
}

/// The query that the arguments of `zvf get` describe.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn of_get(args: &GetArgs, target: &Target, budget: Option<u64>) -> Result<Query> {
    let mut query = base(&args.result, target, budget)?;
    let mut objects = Vec::new();
    for text in &args.ids {
        objects.extend(ids(text)?);
    }
    query.objects = Some(objects);
    query.ignore_missing = args.ignore_missing;
    Ok(query)
}

fn base(args: &ResultArgs, target: &Target, budget: Option<u64>) -> Result<Query> {
    let column = |name: &String| name.trim().parse::<Column>().map_err(CliError::from);
    let columns = args
        .columns
        .iter()
        .map(column)
        .collect::<Result<Vec<_>>>()?;
    let mut query = Query {
        level: args.level,
        own_level_only: args.own_level_only,
        limit: args.limit,
        columns,
        attributes: names(&args.attributes)?,
        ..Query::default()
    };
    if target.vertices_only() {
        query.outputs = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
    }
    if let Some(bytes) = budget {
        query.memory_budget = bytes;
    }
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

/// Ids between commas, or those of `@FILE`.
pub(super) fn ids(text: &str) -> Result<Vec<i64>> {
    let (place, text) = match text.strip_prefix('@') {
        Some(file) => {
            let path = Path::new(file);
            let text = std::fs::read_to_string(path)
                .map_err(|e| CliError::file("read ids from", path, &e))?;
            (file.to_owned(), text)
        }
        None => ("object ids".to_owned(), text.to_owned()),
    };
    let words = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.parse::<i64>().map_err(|_| {
                CliError::usage(format!(
                    "{place}: found {word:?}, expected a whole number of 64 bits"
                ))
            })
        })
        .collect()
}

/// What of a level a query needs, so that it can be asked for along with the root.
pub(crate) fn need(query: &Query) -> Need {
    let mut need = Need::nothing();
    need.vertex_attributes = match &query.filter {
        // The filter may name attributes that the output does not have.
        Some(_) => Names::All,
        None => query.attributes.clone(),
    };
    need.objects = true;
    need.groups = query.groups.is_some();
    if query.outputs.links {
        need.link_deltas = Deltas::List(vec![0]);
        need.link_attributes = Names::All;
    }
    if query.outputs.objects {
        need.object_attributes = Names::All;
    }
    need
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_list_and_of_a_file() -> std::io::Result<()> {
        assert_eq!(ids("-4,7, 9").unwrap(), [-4, 7, 9]);
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "1 2\n3,\t4\n")?;
        assert_eq!(
            ids(&format!("@{}", file.path().display())).unwrap(),
            [1, 2, 3, 4]
        );
        let error = ids("1,x").unwrap_err().to_string();
        assert_eq!(
            error,
            "object ids: found \"x\", expected a whole number of 64 bits"
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
