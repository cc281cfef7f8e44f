//! Every break from the tests of the validator: a repair changes no payload, adds no finding, and is complete after one run.

use zvf_validate::repair::{RepairError, apply, plan};
use zvf_validate::{Check, Severity};

use super::support::{ADDRESS, Memory, Outcome};
use zvf_testkit::sample::Sample;

/// The result for a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Became {
    Refused,
    Same,
    Changed,
}

async fn one(broken: &zvf_badstores::Break) -> Outcome<Became> {
    let files = broken.files()?;
    let memory = Memory::with(&files).await?;
    let plan = match plan(ADDRESS, &memory.options()).await {
        Ok(plan) => plan,
        // All other errors are refusals: an older version, an unfinished writer, or no recognizable store.
        Err(error @ (RepairError::Write(_) | RepairError::Store(_))) => {
            return Err(error.into());
        }
        Err(_) => return Ok(Became::Refused),
    };
    let applied = apply(&plan, None, &memory.options()).await?;
    for (check, count) in &applied.report.counts {
        let before = plan.before.counts.get(check).copied().unwrap_or(0);
        // While a level declares that all rows are covered, missing rows are not reported; the repair removes the declaration.
        let behind = *check == Check::RowsCovered && plan.before.count_of(Check::FragmentsTile) > 0;
        if check.info().severity != Severity::Note && before == 0 && !behind {
            return Err(format!("{count} times {} that was not there", check.info().title).into());
        }
    }
    let after = memory.files().await?;
    if after.payloads() != files.payloads() {
        return Err("something else than documents changed".into());
    }
    let again = zvf_validate::repair::plan(ADDRESS, &memory.options()).await?;
    if !again.changes.is_empty() {
        return Err(format!("a second repair changes {:?}", again.changes).into());
    }
    Ok(if after == files {
        Became::Same
    } else {
        Became::Changed
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn no_broken_store_gets_worse() {
    let (mut failed, mut became) = (Vec::new(), Vec::new());
    let sample = Sample::new("swept");
    for broken in sample.some(zvf_badstores::breaks(), 5) {
        match one(&broken).await {
            Ok(one) => became.push(one),
            Err(error) => failed.push(format!("{} {}: {error}", broken.case, broken.name)),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let count = |wanted| became.iter().filter(|one| **one == wanted).count();
    let (changed, same) = (count(Became::Changed), count(Became::Same));
    assert!(
        !sample.is_whole() || changed > 60 && same > 20,
        "{changed} {same}"
    );
}
