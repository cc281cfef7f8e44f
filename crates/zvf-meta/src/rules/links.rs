//! Rules about link families, their arrays and their attributes.

use super::array::{compare, group_problems};
use super::{ArrayAt, LevelAt, Problem, Problems, Rule};
use crate::error::quote;
use crate::family::{LinkAttributeFamilyDoc, LinkFamilyDoc};
use crate::names::LinkStore;
use crate::role::Role;
use crate::text;

const DELTA: &str = "0, or + or - and a number above 0";

/// The numbers of an array's path; `None` for other arrays and for paths that are malformed.
fn numbers(array: ArrayAt<'_>) -> Option<(i32, Vec<Vec<i64>>)> {
    let (delta, segment) = array.role.link_path()?;
    Some((text::delta(delta)?, text::offsets(segment)?))
}

fn are_zero(offsets: &[Vec<i64>]) -> bool {
    offsets.iter().flatten().all(|&part| part == 0)
}

/// Returns the problems against [`Rule::LinkDeltaName`].
#[must_use]
pub fn link_delta_name(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if let Some((delta, _)) = array
        .role
        .link_path()
        .filter(|(delta, _)| text::delta(delta).is_none())
    {
        problems.add(
            Rule::LinkDeltaName,
            "",
            format_args!("in a family {}", quote(delta)),
            DELTA,
        );
    }
    problems.done()
}

fn delta_agrees(problems: &mut Problems, path: &str, stored: Option<i32>) {
    if let (Some(wanted), Some(stored)) = (text::delta(path), stored)
        && wanted != stored
    {
        problems.add(
            Rule::LinkDelta,
            "/attributes/level_delta",
            stored,
            format_args!("{wanted}, as in the path"),
        );
    }
}

/// Returns the problems against [`Rule::LinkDelta`].
#[must_use]
pub fn link_delta(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if let Some((delta, _)) = array.role.link_path() {
        delta_agrees(&mut problems, delta, array.doc.attributes.level_delta);
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinkSegment`].
#[must_use]
pub fn link_segment(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let Some((_, segment)) = array.role.link_path() else {
        return problems.done();
    };
    let rank = array.level.key_rank();
    let level_has_no_axes = array.level.root.dims() == 0;
    // The family decides; without its document, the array's own word is taken.
    let width = array
        .family
        .and_then(|family| family.link_width)
        .or(array.doc.attributes.link_width);
    let count = width
        .and_then(|width| usize::try_from(width).ok())
        .and_then(|width| width.checked_sub(1));
    let fits = text::offsets(segment).is_some_and(|offsets| {
        let ranks = level_has_no_axes || offsets.iter().all(|offset| offset.len() == rank);
        ranks && count.is_none_or(|count| offsets.len() == count)
    });
    if !fits {
        let count = count.map_or("L - 1".to_owned(), |count| count.to_string());
        let expected = format!("{count} offsets of {rank} signed components");
        problems.add(
            Rule::LinkSegment,
            "",
            format_args!("at {}", quote(segment)),
            expected,
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinkOffsets`].
#[must_use]
pub fn link_offsets(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if let (Some((_, wanted)), Some(found)) = (numbers(array), &array.doc.attributes.offsets)
        && &wanted != found
    {
        let at = "/attributes/offsets";
        problems.add(
            Rule::LinkOffsets,
            at,
            format_args!("{found:?}"),
            format_args!("{wanted:?}, as in the path"),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinkWidth`].
#[must_use]
pub fn link_width(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let family = array.family.and_then(|family| family.link_width);
    if let (Role::Links { .. }, Some(found), Some(wanted)) =
        (array.role, array.doc.attributes.link_width, family)
        && found != wanted
    {
        problems.add(
            Rule::LinkWidth,
            "/attributes/link_width",
            found,
            format_args!("{wanted}, as the family says"),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinkPerm`].
#[must_use]
pub fn link_perm(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if let (Role::Links { .. }, Some((delta, offsets)), Some(found), Some(family)) = (
        array.role,
        numbers(array),
        array.doc.attributes.has_perm,
        array.family,
    ) {
        let wanted = family.has_perm(delta, are_zero(&offsets));
        if found != wanted {
            problems.add(Rule::LinkPerm, "/attributes/has_perm", found, wanted);
        }
    }
    problems.done()
}

/// Returns the problems against [`Rule::LinkCanonical`].
#[must_use]
pub fn link_canonical(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let (Role::Links { segment, .. }, Some((0, offsets)), Some(family)) =
        (array.role, numbers(array), array.family)
    else {
        return problems.done();
    };
    if family.directed || family.store != LinkStore::Canonical {
        return problems.done();
    }
    let negative = offsets.iter().any(|offset| {
        offset
            .iter()
            .find(|&&part| part != 0)
            .is_some_and(|&part| part < 0)
    });
    if negative || !offsets.is_sorted() {
        let expected = "offsets that are lexicographically non-negative and do not fall";
        problems.add(
            Rule::LinkCanonical,
            "",
            format_args!("at {}", quote(segment)),
            expected,
        );
    }
    problems.done()
}

fn family_path(delta: &str) -> String {
    format!("links/{delta}")
}

/// Returns the problems of a link family against [`Rule::Discriminator`] and [`Rule::DiscriminatorThere`].
#[must_use]
pub fn family_discriminator(
    level: LevelAt<'_>,
    delta: &str,
    family: &LinkFamilyDoc,
) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    compare(&mut problems, family.zv_array.as_deref(), "links_family");
    problems.done()
}

/// Returns the problems of a link family against [`Rule::LinkDeltaName`] and [`Rule::LinkDelta`].
#[must_use]
pub fn family_delta(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    if text::delta(delta).is_none() {
        problems.add(
            Rule::LinkDeltaName,
            "",
            format_args!("a family {}", quote(delta)),
            DELTA,
        );
    }
    delta_agrees(&mut problems, delta, family.level_delta);
    problems.done()
}

/// Returns the problems against [`Rule::FamilyPolicy`].
#[must_use]
pub fn family_policy(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    match family.link_width {
        None => problems.add(
            Rule::FamilyPolicy,
            "/attributes/link_width",
            "absent",
            "1 or more",
        ),
        Some(0) => problems.add(Rule::FamilyPolicy, "/attributes/link_width", 0, "1 or more"),
        Some(_) => {}
    }
    if family.sid_ndim.is_none() {
        problems.add(
            Rule::FamilyPolicy,
            "/attributes/sid_ndim",
            "absent",
            level.key_rank(),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::FamilyRank`].
#[must_use]
pub fn family_rank(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    rank(&mut problems, Rule::FamilyRank, level, family.sid_ndim);
    problems.done()
}

/// Compares `sid_ndim` of some document with the rank of the level's keys.
pub(super) fn rank(problems: &mut Problems, rule: Rule, level: LevelAt<'_>, stored: Option<u32>) {
    let wanted = level.key_rank();
    // Without axes there is no rank to compare with.
    let stored = stored.filter(|_| level.root.dims() > 0);
    if let Some(found) = stored.filter(|&found| usize::try_from(found) != Ok(wanted)) {
        problems.add(rule, "/attributes/sid_ndim", found, wanted);
    }
}

/// Returns the problems against [`Rule::FamilyDirected`].
#[must_use]
pub fn family_directed(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    if !family.directed && text::delta(delta).is_some_and(|delta| delta != 0) {
        problems.add(Rule::FamilyDirected, "/attributes/directed", false, true);
    }
    problems.done()
}

/// Returns the problems against [`Rule::FamilyCounts`].
#[must_use]
pub fn family_counts(level: LevelAt<'_>, delta: &str, family: &LinkFamilyDoc) -> Vec<Problem> {
    let mut problems = group_problems(level, &family_path(delta));
    if let (Some(links), Some(rows)) = (family.num_links, family.num_physical_records) {
        let at = "/attributes/num_physical_records";
        match family.store {
            LinkStore::Canonical if rows != links => {
                problems.add(Rule::FamilyCounts, at, rows, links)
            }
            LinkStore::Duplicate if rows < links => {
                problems.add(
                    Rule::FamilyCounts,
                    at,
                    rows,
                    format_args!("{links} or more"),
                );
            }
            LinkStore::Canonical | LinkStore::Duplicate => {}
        }
    }
    problems.done()
}

/// Returns the problems of `link_attributes/<name>/<delta>` against [`Rule::Discriminator`],
/// [`Rule::DiscriminatorThere`], [`Rule::AttributeName`], [`Rule::LinkDeltaName`] and [`Rule::LinkDelta`].
#[must_use]
pub fn link_attribute_family(
    level: LevelAt<'_>,
    name: &str,
    delta: &str,
    family: &LinkAttributeFamilyDoc,
) -> Vec<Problem> {
    let mut problems = group_problems(level, &format!("link_attributes/{name}/{delta}"));
    compare(
        &mut problems,
        family.zv_array.as_deref(),
        "link_attribute_family",
    );
    if family.name.as_deref() != Some(name) {
        let found = family.name.as_deref().map_or("absent".to_owned(), quote);
        problems.add(Rule::AttributeName, "/attributes/name", found, quote(name));
    }
    if text::delta(delta).is_none() {
        problems.add(
            Rule::LinkDeltaName,
            "",
            format_args!("a family {}", quote(delta)),
            DELTA,
        );
    }
    delta_agrees(&mut problems, delta, family.level_delta);
    problems.done()
}
