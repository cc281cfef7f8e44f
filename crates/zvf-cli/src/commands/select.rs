//! Builds queries from flags.

use zvf_jobs::{JobError, SelectName, SelectionOptions};
use zvf_query::{Query, QuerySpec};
use zvf_store::Need;

use crate::context::Context;
use crate::error::{CliError, Result};

/// The terms of a selection of a store as a description.
///
/// # Errors
///
/// Usage; the errors of the files that regions name.
pub(crate) fn terms(
    args: &SelectionOptions,
    url: &str,
    context: &mut Context<'_>,
) -> Result<QuerySpec> {
    let with = context.of_jobs();
    context.wait(args.read(url, &with))?.map_err(by_flag)
}

/// The error of a term: labels and relations, which are no members of queries, are named as their flags.
fn by_flag(error: JobError) -> CliError {
    const FLAGS: [&str; 5] = ["labels", "touching", "inside", "starting", "ending"];
    match error {
        JobError::Option { path, what } if FLAGS.contains(&&*path) => CliError::usage(format!(
            "--{path}: {}",
            what.replace("`select`", "--select")
        )),
        error => error.into(),
    }
}

/// Checks that a relation is requested of whole objects only.
///
/// # Errors
///
/// Usage.
pub(crate) fn related(select: Option<SelectName>, spec: &QuerySpec) -> Result<()> {
    SelectName::check(select, spec.relation).map_err(by_flag)
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
