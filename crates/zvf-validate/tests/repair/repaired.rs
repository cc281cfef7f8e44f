//! Each break is resolved by changing documents alone, and the repaired store reads like the good one.

use std::collections::BTreeSet;

use zvf_validate::repair::{apply, plan};
use zvf_validate::{Check, Repairable, Report};

use super::breaks::{BREAKS, Break};
use super::support::{ADDRESS, Memory, Outcome, good};
use zvf_testkit::sample::Sample;

fn titles(report: &Report) -> BTreeSet<&'static str> {
    report.counts.keys().map(|one| one.info().title).collect()
}

/// Breaks a store and repairs it.
async fn one(broken: &Break) -> Outcome {
    let good = good(broken.case).await?;
    let memory = Memory::with(&good).await?;
    let wanted = memory.seen().await?;
    let clean = plan(ADDRESS, &memory.options()).await?;
    if !clean.changes.is_empty() {
        return Err(format!("the good store would be changed: {:?}", clean.changes).into());
    }

    let mut files = good.clone();
    (broken.run)(&mut files)?;
    let memory = Memory::with(&files).await?;
    // If the payloads differ, the repaired store is expected to have the changed content.
    let wanted = if files.payloads() == good.payloads() {
        wanted
    } else {
        memory.seen().await?
    };
    let plan = plan(ADDRESS, &memory.options()).await?;
    if memory.files().await? != files {
        return Err("a plan changed the store".into());
    }
    if !titles(&plan.before).contains(broken.check) {
        return Err(format!("not found, but {:?}", titles(&plan.before)).into());
    }
    let applied = apply(&plan, None, &memory.options()).await?;
    let found: Vec<String> = applied
        .report
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    let allowed = titles(&clean.before);
    if let Some(other) = titles(&applied.report)
        .iter()
        .find(|one| !allowed.contains(*one))
    {
        let left: Vec<String> = plan.left.iter().map(|one| one.why.clone()).collect();
        let planned = plan.changes.len();
        return Err(format!("{other} is left after {planned} changes: {found:#?} {left:?}").into());
    }
    let after = memory.files().await?;
    if after.payloads() != files.payloads() || !after.objects.keys().eq(files.objects.keys()) {
        return Err("something else than documents changed".into());
    }
    if memory.seen().await? != wanted {
        return Err("it reads otherwise".into());
    }
    let again = zvf_validate::repair::plan(ADDRESS, &memory.options()).await?;
    if !again.changes.is_empty() {
        return Err(format!("a second repair changes {:?}", again.changes).into());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_break_of_documents_is_repaired() {
    let mut failed = Vec::new();
    for broken in Sample::new("repaired").some(BREAKS, 3) {
        if let Err(error) = one(broken).await {
            failed.push(format!("{} {}: {error}", broken.case, broken.check));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_check_that_is_settled_has_a_break() {
    let broken: BTreeSet<&str> = BREAKS.iter().map(|one| one.check).collect();
    for info in Check::all() {
        let settled = !matches!(info.check.repairable(), Repairable::Never(_));
        assert_eq!(broken.contains(info.title), settled, "{}", info.title);
    }
}
