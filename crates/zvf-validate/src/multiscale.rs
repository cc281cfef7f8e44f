//! Checks of level 5: relations between levels.

use zvf_meta::capabilities;
use zvf_meta::version::is_ruled;
use zvf_store::{Store, StoreError};

use crate::check::Check;
use crate::finding::Place;
use crate::level::LevelState;
use crate::run::Session;
use zvf_format::int::wide;
use zvf_meta::STALE;

/// Returns `check`, or [`Check::LevelStale`] if the finer level is a level 0 that was edited later: then a difference is not damage.
fn unless_stale(store: &Store, finer: u32, check: Check) -> Check {
    match finer == 0 && store.root().extra.contains_key(STALE) {
        true => Check::LevelStale,
        false => check,
    }
}

/// Reports coarse levels that were not rebuilt after an edit.
pub(crate) fn stale(run: &mut Session<'_>, store: &Store) {
    let Some(stale) = store.root().extra.get(STALE) else {
        return;
    };
    let chunks = stale.get("chunks").and_then(serde_json::Value::as_array);
    let found = match chunks.map_or(0, Vec::len) {
        0 => "an edit of objects since".to_owned(),
        count => format!("an edit of {count} chunks since"),
    };
    let place = Place::at("zarr.json").pointer(format!("/attributes/{STALE}"));
    run.findings.add(Check::LevelStale, place, found, "none");
}

/// Compares levels.
///
/// # Errors
/// Failed requests. Defects of the store are findings.
pub(crate) async fn check(
    run: &mut Session<'_>,
    store: &Store,
    states: &[LevelState],
) -> Result<(), StoreError> {
    for pair in states.windows(2) {
        let [fine, coarse] = pair else { continue };
        let known = fine.is_known() && coarse.is_known();
        if known && coarse.vertices() > fine.vertices() {
            let place = Place::at(coarse.path("vertices"));
            let found = format!("{} vertices", coarse.vertices());
            let expected = format!(
                "at most {}, those of level {}",
                fine.vertices(),
                fine.number()
            );
            let check = unless_stale(store, fine.number(), Check::CountsFall);
            run.findings.add(check, place, found, expected);
        }
    }
    for state in states {
        objects(run, store, state, states).await?;
    }
    mirrors(run);
    capability(run, store, states);
    Ok(())
}

/// Checks the object ids that a level preserves, and the number of objects that it states for its parent.
async fn objects(
    run: &mut Session<'_>,
    store: &Store,
    state: &LevelState,
    states: &[LevelState],
) -> Result<(), StoreError> {
    let doc = state.level.doc();
    let parent = doc
        .parent_level
        .and_then(|one| states.iter().find(|level| level.number() == one));
    let Some(parent) = parent else { return Ok(()) };
    // Rows of deleted objects may have been omitted when the level was made.
    let (rows, deleted) = parent
        .level
        .object_index()
        .map_or((0, 0), |index| (index.len(), wide(index.deleted().len())));
    if let Some(stated) = doc
        .inherited_num_objects
        .filter(|stated| !(rows.saturating_sub(deleted)..=rows).contains(stated))
    {
        let place = Place::at(state.path("zarr.json"))
            .pointer("/attributes/zarr_vectors_level/inherited_num_objects");
        let check = unless_stale(store, parent.number(), Check::InheritedCount);
        run.findings.add(check, place, stated, rows);
    }
    if !doc.preserves_object_ids {
        return Ok(());
    }
    let (Some(mine), Some(theirs)) = (state.level.object_index(), parent.level.object_index())
    else {
        let place = Place::at(state.path("object_index"));
        run.findings.add(
            Check::IdsKept,
            place,
            "no object index",
            "the ids of the parent level",
        );
        return Ok(());
    };
    let place = || Place::at(state.path("object_index/object_ids"));
    let ids = mine.ids_in(state.level.next_round()).await;
    let Some(ids) = run.keep(Check::ObjectTableReads, place, ids)? else {
        return Ok(());
    };
    let wanted = theirs.ids_in(parent.level.next_round()).await;
    let there = || Place::at(parent.path("object_index/object_ids"));
    let Some(wanted) = run.keep(Check::ObjectTableReads, there, wanted)? else {
        return Ok(());
    };
    let same = |a: &mut dyn Iterator<Item = i64>, b: &mut dyn Iterator<Item = i64>| a.eq(b);
    let all = same(&mut ids.iter(), &mut wanted.iter());
    let existing = || {
        let (mut a, mut b) = (ids.objects(), wanted.objects());
        same(
            &mut a.by_ref().map(|(_, id)| id),
            &mut b.by_ref().map(|(_, id)| id),
        )
    };
    if !all && !existing() {
        let mut pairs = (0_u64..).zip(ids.iter().zip(wanted.iter()));
        let (found, expected) = match pairs.find(|(_, (mine, theirs))| mine != theirs) {
            Some((row, (mine, theirs))) => (
                format!("object {mine} in row {row}"),
                format!("object {theirs}, as in level {}", parent.number()),
            ),
            None => (
                format!("{} ids", ids.len()),
                format!("the {} ids of level {}", wanted.len(), parent.number()),
            ),
        };
        let check = unless_stale(store, parent.number(), Check::IdsKept);
        run.findings.add(check, place(), found, expected);
    }
    Ok(())
}

/// Checks that families between the same two levels, in opposite directions, have the same links.
fn mirrors(run: &mut Session<'_>) {
    let between = std::mem::take(&mut run.between);
    for (&(level, delta), there) in between.range(..).filter(|((_, delta), _)| *delta > 0) {
        let Some(target) = level.checked_add_signed(delta) else {
            continue;
        };
        let Some(back) = between.get(&(target, delta.saturating_neg())) else {
            continue;
        };
        if there != back {
            let place = Place::at(format!("{target}/links/-{delta}"));
            let found = format!("{} links back from level {target}", back.count);
            let expected = format!(
                "the {} links of {level}/links/+{delta}, reversed",
                there.count
            );
            run.findings.add(Check::CrossMirror, place, found, expected);
        }
    }
}

/// Checks the capabilities in the root that depend on levels.
fn capability(run: &mut Session<'_>, store: &Store, states: &[LevelState]) {
    // Writers before 0.9 write hardly any capabilities (0.8 §14).
    if !is_ruled(&store.root().zarr_vectors.zv_version) {
        return;
    }
    let tokens = &store.root().zarr_vectors.format_capabilities;
    let claims = |token: &str| tokens.iter().any(|one| one == token);
    let place = || Place::at("zarr.json").pointer("/attributes/zarr_vectors/format_capabilities");
    let has = states.iter().any(|state| {
        state
            .level
            .link_families()
            .iter()
            .any(|one| one.delta() != 0)
    });
    let token = capabilities::MULTISCALE_LINKS;
    if has != claims(token) && (has || states.len() > 1) {
        let (found, expected) = if has {
            ("absent", "present, since there are families between levels")
        } else {
            ("present", "families between levels")
        };
        run.findings.add(
            Check::CrossCapability,
            place(),
            format!("{found} ({token})"),
            expected,
        );
    }
    // A level without vertices has no shared fragments, whatever its document states.
    let shared = states.iter().find(|state| {
        let doc = state.level.doc();
        doc.shared_fragments && doc.vertex_count > 0
    });
    let token = capabilities::SHARED_FRAGMENTS;
    if let Some(state) = shared.filter(|_| !claims(token)) {
        let expected = format!("{token}, since level {} shares fragments", state.number());
        run.findings
            .add(Check::SharedCapability, place(), "absent", expected);
    }
}
