//! Builds queries from flags.

use zvf_jobs::{JobError, RegionOptions, SelectName, SelectionOptions, read_ids};
use zvf_query::{IdRanges, Outputs, Query, QuerySpec, Select};
use zvf_store::Need;

use crate::args::{GetArgs, QueryArgs, ResultArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
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
    let mut spec = terms(&args.terms, &args.store, context)?;
    spec.select = args.select.map_or(Select::Vertices, Select::from);
    related(args.select, &spec)?;
    result(&args.result, target, &mut spec)?;
    resolved(spec, &args.store, context)
}

/// The query that the arguments of `zvf get` describe.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn of_get(args: &GetArgs, target: &Target, context: &mut Context<'_>) -> Result<Query> {
    let mut spec = QuerySpec::new();
    spec.objects = Some(ids_of(&args.ids)?);
    spec.ignore_missing = args.ignore_missing;
    let mut spec = region(&args.region, spec, &args.store, context)?;
    result(&args.result, target, &mut spec)?;
    resolved(spec, &args.store, context)
}

/// The terms of a selection of a store as a description.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn terms(
    args: &SelectionOptions,
    url: &str,
    context: &mut Context<'_>,
) -> Result<QuerySpec> {
    let with = context.of_jobs();
    context.wait(args.read(url, &with))?.map_err(by_flag)
}

/// The error of a term: labels, which are no member of queries, are named as the flag.
fn by_flag(error: JobError) -> CliError {
    match error {
        JobError::Option { path, what } if path == "labels" => {
            CliError::usage(format!("--labels: {what}"))
        }
        error => error.into(),
    }
}

/// Adds regions to the description of a query; reads the files that they name.
///
/// # Errors
///
/// Usage; I/O.
pub(crate) fn region(
    args: &RegionOptions,
    spec: QuerySpec,
    url: &str,
    context: &mut Context<'_>,
) -> Result<QuerySpec> {
    let with = context.of_jobs();
    context.wait(args.read(spec, url, &with))?.map_err(by_flag)
}

/// Checks that a relation is requested of whole objects only.
///
/// # Errors
///
/// Usage.
pub(crate) fn related(select: Option<SelectName>, spec: &QuerySpec) -> Result<()> {
    let other = match select {
        Some(SelectName::Vertices) => "vertices",
        Some(SelectName::Chunks) => "chunks",
        Some(SelectName::Objects) | None => return Ok(()),
    };
    match spec.relation {
        Some(relation) => Err(CliError::usage(format!(
            "--{}: found --select {other} beside it, expected whole objects: --select objects, or none",
            relation.name()
        ))),
        None => Ok(()),
    }
}

/// The query of a description. The store is opened where groups are named.
///
/// # Errors
///
/// As the store says.
pub(crate) fn resolved(spec: QuerySpec, url: &str, context: &mut Context<'_>) -> Result<Query> {
    if !spec.needs_store() {
        return Ok(spec.plain()?);
    }
    let need = Need {
        groups: true,
        ..Need::nothing()
    };
    let store = context.open(url, spec.level, need)?;
    context.wait_at(url, spec.resolve(&store))
}

/// Adds the tables and columns that are written.
fn result(args: &ResultArgs, target: &Target, spec: &mut QuerySpec) -> Result<()> {
    args.at.set(spec);
    spec.limit = args.limit;
    if !args.columns.is_empty() {
        spec.set("columns", &args.columns.join(","))?;
    }
    spec.set("attributes", &args.attributes)?;
    if target.vertices_only() {
        spec.tables = Outputs {
            vertices: true,
            links: false,
            objects: false,
        };
    }
    spec.owners = target.has_owners();
    Ok(())
}

/// The ids of several words, each as of [`read_ids`].
///
/// # Errors
///
/// As [`read_ids`].
pub(super) fn ids_of(words: &[String]) -> Result<IdRanges> {
    let mut found = IdRanges::default();
    for word in words {
        found.append(&read_ids(word)?);
    }
    Ok(found)
}
