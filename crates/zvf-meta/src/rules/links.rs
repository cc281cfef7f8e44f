//! Rules about link families, their arrays and their attributes.

use super::problem::{ArrayAt, LevelAt, ProblemList};
use super::table::Rule;
use crate::error::quote;
use crate::family::LinkFamilyDoc;
use crate::names::LinkStore;
use crate::role::Role;
use crate::text;

const DELTA: &str = "0, or + or - and a number above 0";

/// The delta and the offsets in the path of a link array; `None` for other arrays and for malformed paths.
fn numbers(array: ArrayAt<'_>) -> Option<(i32, Vec<Vec<i64>>)> {
    let (delta, segment) = array.role.link_path()?;
    Some((text::delta(delta)?, text::offsets(segment)?))
}

fn are_zero(offsets: &[Vec<i64>]) -> bool {
    offsets.iter().flatten().all(|&part| part == 0)
}

pub(super) fn link_delta_name(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let Some((delta, _)) = array
        .role
        .link_path()
        .filter(|(delta, _)| text::delta(delta).is_none())
    {
        problems.add("", format_args!("in a family {}", quote(delta)), DELTA);
    }
}

/// Compares the delta in a document with the delta in its path.
fn delta_agrees(path: &str, stored: Option<i32>, problems: &mut ProblemList) {
    if let (Some(wanted), Some(stored)) = (text::delta(path), stored)
        && wanted != stored
    {
        let expected = format!("{wanted}, as in the path");
        problems.add("/attributes/level_delta", stored, expected);
    }
}

pub(super) fn link_delta(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let Some((delta, _)) = array.role.link_path() {
        delta_agrees(delta, array.doc.attributes.level_delta, problems);
    }
}

pub(super) fn link_segment(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let Some((_, segment)) = array.role.link_path() else {
        return;
    };
    let rank = array.level.key_rank();
    let level_has_no_axes = array.level.root.dims() == 0;
    // The link width of the family document; that of the array if the family has none.
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
        problems.add("", format_args!("at {}", quote(segment)), expected);
    }
}

pub(super) fn link_offsets(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let (Some((_, wanted)), Some(found)) = (numbers(array), &array.doc.attributes.offsets)
        && &wanted != found
    {
        let at = "/attributes/offsets";
        problems.add(
            at,
            format_args!("{found:?}"),
            format_args!("{wanted:?}, as in the path"),
        );
    }
}

pub(super) fn link_width(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let family = array.family.and_then(|family| family.link_width);
    if let (Role::Links { .. }, Some(found), Some(wanted)) =
        (array.role, array.doc.attributes.link_width, family)
        && found != wanted
    {
        problems.add(
            "/attributes/link_width",
            found,
            format_args!("{wanted}, as in the family"),
        );
    }
}

pub(super) fn link_perm(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let (Role::Links { .. }, Some((delta, offsets)), Some(found), Some(family)) = (
        array.role,
        numbers(array),
        array.doc.attributes.has_perm,
        array.family,
    ) {
        let wanted = family.has_perm(delta, are_zero(&offsets));
        if found != wanted {
            problems.add("/attributes/has_perm", found, wanted);
        }
    }
}

pub(super) fn link_canonical(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let (Role::Links { segment, .. }, Some((0, offsets)), Some(family)) =
        (array.role, numbers(array), array.family)
    else {
        return;
    };
    if family.directed || family.store != LinkStore::Canonical {
        return;
    }
    let negative = offsets.iter().any(|offset| {
        offset
            .iter()
            .find(|&&part| part != 0)
            .is_some_and(|&part| part < 0)
    });
    if negative || !offsets.is_sorted() {
        let expected = "offsets that are lexicographically non-negative and in ascending order";
        problems.add("", format_args!("at {}", quote(segment)), expected);
    }
}

/// Checks the delta of a family, in its path and in its document.
pub(super) fn family_delta(path: &str, stored: Option<i32>, problems: &mut ProblemList) {
    if text::delta(path).is_none() {
        let found = format!("a family {}", quote(path));
        problems.of(Rule::LinkDeltaName).add("", found, DELTA);
    }
    delta_agrees(path, stored, problems.of(Rule::LinkDelta));
}

pub(super) fn family_policy(
    level: LevelAt<'_>,
    family: &LinkFamilyDoc,
    problems: &mut ProblemList,
) {
    match family.link_width {
        None => problems.add("/attributes/link_width", "absent", "1 or more"),
        Some(0) => problems.add("/attributes/link_width", 0, "1 or more"),
        Some(_) => {}
    }
    if family.sid_ndim.is_none() {
        problems.add("/attributes/sid_ndim", "absent", level.key_rank());
    }
}

/// Compares the `sid_ndim` of a document with the rank of the level's keys.
pub(super) fn key_rank(level: LevelAt<'_>, stored: Option<u32>, problems: &mut ProblemList) {
    let wanted = level.key_rank();
    // Without axes there is no rank to compare with.
    let stored = stored.filter(|_| level.root.dims() > 0);
    if let Some(found) = stored.filter(|&found| usize::try_from(found) != Ok(wanted)) {
        problems.add("/attributes/sid_ndim", found, wanted);
    }
}

pub(super) fn family_directed(delta: &str, family: &LinkFamilyDoc, problems: &mut ProblemList) {
    if !family.directed && text::delta(delta).is_some_and(|delta| delta != 0) {
        problems.add("/attributes/directed", false, true);
    }
}

pub(super) fn family_counts(family: &LinkFamilyDoc, problems: &mut ProblemList) {
    if let (Some(links), Some(rows)) = (family.num_links, family.num_physical_records) {
        let at = "/attributes/num_physical_records";
        match family.store {
            LinkStore::Canonical if rows != links => problems.add(at, rows, links),
            LinkStore::Duplicate if rows < links => {
                problems.add(at, rows, format_args!("{links} or more"));
            }
            LinkStore::Canonical | LinkStore::Duplicate => {}
        }
    }
}
