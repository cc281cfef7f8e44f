//! Stores that are broken in one way each, and the check that has to say so.

use std::error::Error;

use zvf_store::Limits;
use zvf_validate::Check;

use crate::support::checked;

#[tokio::test(flavor = "multi_thread")]
async fn every_break_is_found() -> Result<(), Box<dyn Error>> {
    let mut missed = Vec::new();
    for one in zvf_badstores::breaks() {
        let (case, what, title) = (one.case, one.name, one.check);
        let files = match one.files() {
            Ok(files) => files,
            Err(error) => {
                missed.push(format!("{case}, {what}: {error}"));
                continue;
            }
        };
        let report = checked(&files.objects, Limits::default()).await?;
        let wanted = Check::all().into_iter().find(|info| info.title == title);
        let wanted = wanted.ok_or_else(|| format!("no check is called {title}"))?;
        if report.count_of(wanted.check) == 0 {
            let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            missed.push(format!("{case}, {what}: no {title}, but {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    Ok(())
}
