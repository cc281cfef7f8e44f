//! From flags to a query.

use std::path::Path;

use zvf_convert::MaskSource;
use zvf_query::{IdRanges, Outputs, Query, QuerySpec, Region, Select};
use zvf_store::Need;

use crate::args::{GetArgs, LevelArgs, QueryArgs, RegionArgs, ResultArgs, SelectArg, TermArgs};
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
    let mut spec = QuerySpec::new();
    terms(&args.terms, &mut spec, &args.store, context)?;
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
    region(&args.region, &mut spec, &args.store, context)?;
    result(&args.result, target, &mut spec)?;
    resolved(spec, &args.store, context)
}

/// Adds the terms of a selection of a store to a description.
///
/// # Errors
///
/// As [`of_query`].
pub(crate) fn terms(
    args: &TermArgs,
    spec: &mut QuerySpec,
    url: &str,
    context: &mut Context<'_>,
) -> Result<()> {
    if let Some(text) = &args.objects {
        spec.objects = Some(ids(text)?);
    }
    let groups = args.groups.as_ref().map(|words| words.join(","));
    member(spec, "bbox", args.bbox.as_deref())?;
    region(&args.region, spec, url, context)?;
    member(spec, "groups", groups.as_deref())?;
    member(spec, "where", args.filter.as_deref())?;
    spec.ignore_missing = args.ignore_missing;
    Ok(())
}

/// Adds parts of space to a description of what is asked of a store; reads the files that they name.
///
/// # Errors
///
/// Usage; I/O.
pub(crate) fn region(
    args: &RegionArgs,
    spec: &mut QuerySpec,
    url: &str,
    context: &mut Context<'_>,
) -> Result<()> {
    member(spec, "sphere", args.sphere.as_deref())?;
    member(spec, "near", args.near.as_deref())?;
    if let Some(text) = &args.polygon {
        spec.intersect(zvf_convert::polygon_region(text)?);
    }
    member(spec, "plane", args.plane.as_deref())?;
    if let Some(file) = &args.mesh {
        spec.intersect(match args.hull {
            true => zvf_convert::hull_region(file)?,
            false => zvf_convert::mesh_region(file)?,
        });
    }
    let mut mask = |source: &MaskSource| mask(source, url, context);
    if let Some(volume) = &args.mask {
        let labels = args.labels.as_deref();
        let labels = labels.map(|text| IdRanges::parse(text)?.listed());
        let labels = labels.transpose();
        let labels = labels.map_err(|_| {
            let found = args.labels.as_deref().unwrap_or_default();
            CliError::usage(format!(
                "--labels: found {found:?}, expected whole numbers and ranges such as 1-5"
            ))
        })?;
        if labels.as_ref().is_some_and(Vec::is_empty) {
            return Err(CliError::usage(
                "--labels: found none, expected at least one",
            ));
        }
        spec.intersect(mask(&MaskSource {
            volume: volume.clone(),
            labels: labels.unwrap_or_default(),
            affine: args.mask_affine.clone(),
        })?);
    }
    if let Some(text) = &args.region {
        spec.intersect(zvf_convert::region(text, &mut mask)?);
    }
    for text in &args.passing {
        spec.pass(zvf_convert::object_places(text, &mut mask)?);
    }
    spec.relation = args.relation();
    Ok(())
}

/// Reads a mask for a store.
#[cfg(feature = "volumes")]
fn mask(source: &MaskSource, url: &str, context: &mut Context<'_>) -> Result<Region> {
    let store = context.open(url, 0, Need::nothing())?;
    let io = context.options().io;
    let read = context.wait(zvf_convert::mask_region(&store, source, &io))?;
    let (region, remarks) = read.map_err(|error| CliError::from(error).at(&source.volume))?;
    for remark in &remarks {
        context.remark(remark);
    }
    Ok(region)
}

/// Masks need a build that reads volumes.
#[cfg(not(feature = "volumes"))]
fn mask(source: &MaskSource, _: &str, _: &mut Context<'_>) -> Result<Region> {
    Err(CliError::usage(format!(
        "{}: this program was built without the feature `volumes`, which reads masks",
        source.volume
    )))
}

/// Checks that a relation is requested of whole objects only.
///
/// # Errors
///
/// Usage.
pub(crate) fn related(select: Option<SelectArg>, spec: &QuerySpec) -> Result<()> {
    let other = match select {
        Some(SelectArg::Vertices) => "vertices",
        Some(SelectArg::Chunks) => "chunks",
        Some(SelectArg::Objects) | None => return Ok(()),
    };
    match spec.relation {
        Some(relation) => Err(CliError::usage(format!(
            "--{}: found --select {other} beside it, expected whole objects: --select objects, or none",
            relation.name()
        ))),
        None => Ok(()),
    }
}

/// Sets a member of a description, if its flag is given.
///
/// # Errors
///
/// Usage.
pub(crate) fn member(spec: &mut QuerySpec, member: &str, text: Option<&str>) -> Result<()> {
    Ok(text.map_or(Ok(()), |text| spec.set(member, text))?)
}

/// Adds the level that is read.
pub(crate) fn level(args: &LevelArgs, spec: &mut QuerySpec) {
    spec.level = args.level;
    spec.own_level_only = args.own_level_only;
}

/// The query of a description, within the budget of memory. The store is opened where groups are named.
///
/// # Errors
///
/// As the store says.
pub(crate) fn resolved(mut spec: QuerySpec, url: &str, context: &mut Context<'_>) -> Result<Query> {
    if let Some(budget) = context.common.memory_budget {
        spec.memory_budget = budget;
    }
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
    level(&args.at, spec);
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

/// Ids and ranges of ids between commas, or from `@FILE`.
///
/// # Errors
///
/// Usage; I/O.
pub(super) fn ids(text: &str) -> Result<IdRanges> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(IdRanges::parse(text)?);
    };
    let path = Path::new(file);
    let text = zvf_store::open_file(path)
        .and_then(std::io::read_to_string)
        .map_err(|e| CliError::file("read ids from", path, &e))?;
    IdRanges::parse(&text).map_err(|e| CliError::from(e).at(file))
}

/// The ids of several words, each as of [`ids`].
///
/// # Errors
///
/// As [`ids`].
pub(super) fn ids_of(words: &[String]) -> Result<IdRanges> {
    let mut found = IdRanges::default();
    for word in words {
        found.append(&ids(word)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_list_and_of_a_file() -> std::io::Result<()> {
        let ids = |text: &str| ids(text).and_then(|ids| Ok(ids.listed()?));
        assert_eq!(ids("-4,7, 9").unwrap(), [-4, 7, 9]);
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "1 2\n3,\t4\n")?;
        assert_eq!(
            ids(&format!("@{}", file.path().display())).unwrap(),
            [1, 2, 3, 4]
        );
        assert!(ids("@/no/such/file").is_err());
        std::fs::write(file.path(), "1 x")?;
        let error = ids(&format!("@{}", file.path().display())).unwrap_err();
        let path = file.path().display().to_string();
        assert!(error.to_string().contains(&path), "{error}");
        Ok(())
    }
}
