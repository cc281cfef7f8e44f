//! Random damage: validation always gives a report, which names the damage.

use std::collections::BTreeSet;
use std::error::Error;

use zvf_badstores::Verdict;

use crate::detection::Bases;

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found() -> Result<(), Box<dyn Error>> {
    let (mut broken, mut missed, mut targets) = (0, Vec::new(), BTreeSet::new());
    let told = |trial: crate::detection::Trial, _: &zvf_badstores::Objects| {
        targets.insert((trial.target, trial.kind()));
        broken += usize::from(matches!(trial.verdict, Verdict::Broken(_)));
        if trial.is_missed() {
            missed.push(trial.line());
        }
        Ok(())
    };
    Bases::default().run(200, 5, told).await?;
    assert!(broken > 100, "{broken} of 200 break a rule");
    // Nine kinds, two of which apply only to documents, on three targets.
    assert!(targets.len() > 15, "{targets:?}");
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    Ok(())
}
