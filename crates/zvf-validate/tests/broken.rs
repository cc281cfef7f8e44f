//! Stores that are broken in one way each, and the check that must report it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use zvf_badstores::{Break, Files};
use zvf_store::Limits;
use zvf_validate::{Check, Report};

use crate::support::{checked, covered, viewed};
use zvf_testkit::sample::Sample;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The report of a broken store. Coverage is only checked if the break is about it.
async fn report(one: &Break) -> Outcome<Report> {
    let files = one.files()?.objects;
    if one.check == Check::ParentThere.info().title {
        covered(&files).await
    } else if one.check.starts_with("viewer-") {
        viewed(&files).await
    } else {
        checked(&files, Limits::default()).await
    }
}

/// Objects that the break did not change, but that the report calls unreadable.
fn contradictions(one: &Break, report: &Report) -> Outcome<Vec<String>> {
    let (before, after) = (zvf_testkit::files(one.case)?, one.files()?.objects);
    let same: BTreeSet<&str> = after
        .iter()
        .filter(|(key, bytes)| before.get(*key) == Some(*bytes))
        .filter_map(|(key, _)| key.strip_suffix("/zarr.json"))
        .collect();
    let wrong = report.findings.iter().filter(|finding| {
        finding.check == Check::DocumentReads
            && same.contains(finding.place.path.trim_end_matches("/zarr.json"))
    });
    Ok(wrong.map(ToString::to_string).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_break_is_found() -> Outcome {
    let mut missed = Vec::new();
    for one in Sample::new("breaks").some(zvf_badstores::breaks(), 3) {
        let (case, what, title) = (one.case, one.name, one.check);
        let report = match report(&one).await {
            Ok(report) => report,
            Err(error) => {
                missed.push(format!("{case}, {what}: {error}"));
                continue;
            }
        };
        let wanted = Check::all().into_iter().find(|info| info.title == title);
        let wanted = wanted.ok_or_else(|| format!("no check is called {title}"))?;
        if report.count_of(wanted.check) == 0 {
            let found: Vec<String> = report
                .findings
                .iter()
                .take(6)
                .map(ToString::to_string)
                .collect();
            missed.push(format!("{case}, {what}: no {title}, but {found:#?}"));
        }
        for wrong in contradictions(&one, &report)? {
            missed.push(format!("{case}, {what}: untouched, but {wrong}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    Ok(())
}

/// A bundled store without findings of the viewer profile: with units.
fn with_units(case: &str) -> Outcome<Files> {
    let mut files = Files::of(case)?;
    for axis in 0..3 {
        let unit = format!("/attributes/multiscales/0/axes/{axis}/unit");
        files.set("zarr.json", &unit, serde_json::json!("micrometer"))?;
    }
    Ok(files)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_viewer_profile_finds_only_what_was_broken() -> Outcome {
    let viewer = |report: &Report| -> BTreeSet<&'static str> {
        let titles = report.counts.keys().map(|check| check.info().title);
        titles.filter(|one| one.starts_with("viewer-")).collect()
    };
    let mut seen = 0;
    for one in zvf_badstores::breaks().filter(|one| one.check.starts_with("viewer-")) {
        if one.check == Check::ViewerAxes.info().title {
            continue;
        }
        let mut files = with_units(one.case)?;
        let before = viewed(&files.objects).await?;
        assert!(
            viewer(&before).is_empty(),
            "{}: {:?}",
            one.case,
            before.findings
        );
        one.apply(&mut files)?;
        let after = viewed(&files.objects).await?;
        assert!(viewer(&after).contains(one.check), "{}", one.name);
        // Without the profile there are no such findings.
        assert!(viewer(&checked(&files.objects, Limits::default()).await?).is_empty());
        seen += 1;
    }
    assert_eq!(seen, 8);
    Ok(())
}

#[test]
fn every_check_has_a_break() {
    let broken: BTreeSet<&str> = zvf_badstores::breaks().map(|one| one.check).collect();
    let all: Vec<&str> = Check::all().iter().map(|info| info.title).collect();
    let without: Vec<&&str> = all.iter().filter(|one| !broken.contains(**one)).collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn every_break_has_a_name_of_its_own() {
    let mut names = BTreeMap::new();
    for one in zvf_badstores::breaks() {
        let twice = names.insert(one.folder(), one.case);
        assert_eq!(twice, None, "{}", one.name);
    }
}

/// There are breaks for every version, every kind and every way to store a level.
#[test]
fn breaks_are_of_every_version_and_kind() -> Outcome {
    let mut seen = BTreeSet::new();
    for one in zvf_badstores::breaks() {
        let (version, _) = one.case.split_once('/').ok_or("a case without a version")?;
        seen.insert(version.to_owned());
        seen.insert(zvf_testkit::case(one.case)?.kind);
    }
    let wanted = [
        "0.6",
        "0.7",
        "0.8",
        "0.9",
        "point_cloud",
        "line",
        "polyline",
        "streamline",
        "graph",
        "skeleton",
        "mesh",
    ];
    let missing: Vec<&&str> = wanted.iter().filter(|one| !seen.contains(**one)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    Ok(())
}
