//! Edits of members of the root that repeat properties of levels: the `ome` node, capabilities, bounds.

use crate::Check;
use serde_json::json;
use zvf_meta::capabilities::{FRAGMENT_LINK_GROUPS, MULTISCALE_LINKS, SHARED_FRAGMENTS};
use zvf_meta::rules::Rule;

use super::RepairOptions;
use super::documents::{Look, ROOT, RepairState, inside};
use super::edit::{Fix, Tier};
use super::nodes::LINK_GROUPS;

/// Edits of the root document.
pub(crate) fn edits(look: &Look<'_>, memory: &RepairState, options: &RepairOptions) -> Vec<Fix> {
    let mut edits = Vec::new();
    edits.extend(bounds(look, memory));
    edits.extend(ome(look, options));
    edits.extend(capabilities(look, options));
    edits
}

/// Widens the bounds to contain every vertex of level 0.
fn bounds(look: &Look<'_>, memory: &RepairState) -> Option<Fix> {
    const AT: &str = "/attributes/zarr_vectors/bounds";
    let root = look.root.as_ref()?;
    // With an offset, it is undefined whether the bounds include it.
    if root.zarr_vectors.coordinate_offset.is_some() {
        return None;
    }
    let broken = [
        Check::VertexBounds,
        Check::Document(Rule::BoundsLength),
        Check::Document(Rule::BoundsOrder),
    ];
    let mut checks: Vec<Check> = broken.into_iter().filter(|one| look.has(*one)).collect();
    if memory.bounds {
        checks.push(Check::StoreOpens);
    }
    if checks.is_empty() {
        return None;
    }
    let (low, high) = look.measured.levels.get(&0)?.extent.as_ref()?;
    let (old_low, old_high) = &root.zarr_vectors.bounds;
    let fits = !memory.bounds && old_low.len() == low.len() && old_high.len() == high.len();
    let finite = |one: &f64| one.is_finite();
    let mut corners = (low.clone(), high.clone());
    if fits && old_low.iter().all(finite) && old_high.iter().all(finite) {
        for (axis, (a, b)) in old_low.iter().zip(old_high).enumerate() {
            if let Some(low) = corners.0.get_mut(axis) {
                *low = low.min(a.min(*b));
            }
            if let Some(high) = corners.1.get_mut(axis) {
                *high = high.max(a.max(*b));
            }
        }
    }
    let why = "the vertices of level 0";
    let edit = Fix::set(
        ROOT,
        AT,
        json!([corners.0, corners.1]),
        Check::StoreOpens,
        why,
    );
    Some(Fix { checks, ..edit }.tier(Tier::Counted))
}

/// Rebuilds the `ome` node for other tools; keeps members of other writers, and levels that may be lost.
fn ome(look: &Look<'_>, options: &RepairOptions) -> Option<Fix> {
    let rules = [
        Rule::OmePresent,
        Rule::OmeType,
        Rule::OmeAxes,
        Rule::OmeLevels,
    ];
    let checks: Vec<Check> = rules
        .into_iter()
        .map(Check::Document)
        .filter(|one| options.wants(*one) && look.has(*one))
        .collect();
    let root = look.root.as_ref().filter(|_| !checks.is_empty())?;
    let mut renewed = root.clone();
    let name = zvf_encode::store_name(&look.report.store);
    let mut levels = look.levels();
    if !options.accept_loss {
        levels.extend(look.lost_levels());
    }
    zvf_encode::renew_ome(&mut renewed, levels, &name);
    let node = renewed.ome?.to_value();
    let why = "the existing levels, and the axes";
    let edit = Fix::set(ROOT, "/attributes/ome", node, Check::StoreOpens, why);
    Some(Fix { checks, ..edit })
}

/// Corrects the capabilities that depend on levels.
fn capabilities(look: &Look<'_>, options: &RepairOptions) -> Option<Fix> {
    const AT: &str = "/attributes/zarr_vectors/format_capabilities";
    let tokens = [
        Check::CrossCapability,
        Check::SharedCapability,
        Check::LinkGroupCapability,
    ];
    let checks: Vec<Check> = tokens
        .into_iter()
        .chain(LINK_GROUPS)
        .filter(|one| options.wants(*one) && look.has(*one))
        .collect();
    let root = look.root.as_ref().filter(|_| !checks.is_empty())?;
    let mut tokens = root.zarr_vectors.format_capabilities.clone();
    if checks.contains(&Check::CrossCapability) {
        let between = look.measured.documents.keys().any(|key| {
            let path = inside(key).map(|(_, path)| path);
            let delta = path.and_then(|path| path.strip_prefix("links/"));
            delta.is_some_and(|delta| delta != "0" && !delta.contains('/'))
        });
        // If there are no families between levels, the token may be the only sign that they were lost.
        if between || options.accept_loss {
            tokens.retain(|token| token != MULTISCALE_LINKS);
        }
        if between {
            tokens.push(MULTISCALE_LINKS.to_owned());
        }
    }
    if checks.contains(&Check::SharedCapability) {
        tokens.push(SHARED_FRAGMENTS.to_owned());
    }
    let groups =
        |check: &Check| *check == Check::LinkGroupCapability || LINK_GROUPS.contains(check);
    if checks.iter().any(groups) {
        // A wrong declaration is removed in this repair.
        let wrong = |level| {
            let mut found = LINK_GROUPS.into_iter().flat_map(|check| look.of(check));
            found.any(|one| one.place.level == Some(level))
        };
        let claims = |level| {
            look.level(level)
                .is_some_and(|doc| doc.fragment_link_groups)
        };
        let claimed = look
            .levels()
            .into_iter()
            .any(|level| claims(level) && !wrong(level));
        tokens.retain(|token| token != FRAGMENT_LINK_GROUPS);
        if claimed {
            tokens.push(FRAGMENT_LINK_GROUPS.to_owned());
        }
    }
    if tokens == root.zarr_vectors.format_capabilities {
        return None;
    }
    let why = "the existing levels";
    let edit = Fix::set(ROOT, AT, tokens, Check::StoreOpens, why);
    Some(Fix { checks, ..edit })
}
