//! An interrupted validation continues from its journal, with the same report.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use zvf_store::IoTrace;
use zvf_validate::{Depth, Report, ValidateOptions, validate};

use crate::support::opened;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Files = BTreeMap<String, Vec<u8>>;

/// Stores with several batches of chunks, links between chunks, trees, chains, and levels.
const CASES: &[&str] = &[
    "0.9/streamlines",
    "0.9/skeleton",
    "0.9/points",
    "0.9/graph",
    "0.7/streamlines",
];

/// Each store, and a copy with some damaged cells: findings must survive in a journal, too.
fn stores() -> Outcome<Vec<(String, Files)>> {
    let mut stores = Vec::new();
    for case in zvf_testkit::all_cases()? {
        if !CASES.iter().any(|one| case.starts_with(one)) {
            continue;
        }
        let whole = zvf_testkit::files(&case)?;
        let mut broken = whole.clone();
        let cells = broken
            .iter_mut()
            .filter(|(key, bytes)| !key.ends_with(".json") && !bytes.is_empty());
        for (_, bytes) in cells.step_by(3) {
            let half = bytes.len() / 2;
            bytes.truncate(half);
        }
        stores.push((format!("{case}, damaged"), broken));
        stores.push((case, whole));
    }
    Ok(stores)
}

async fn question(files: &Files) -> Outcome<ValidateOptions> {
    Ok(ValidateOptions::new(Depth::Multiscale)
        .with_coverage(true)
        .with_open(opened(files).await?))
}

/// Validates until progress was reported `steps` times; returns whether the end was reached before.
async fn cut_off(options: &ValidateOptions, steps: usize) -> Outcome<bool> {
    let (told, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let options = options.clone().with_progress({
        let stop = Arc::clone(&stop);
        move |_| {
            if told.fetch_add(1, Ordering::Relaxed) + 1 == steps {
                stop.notify_one();
            }
        }
    });
    // On one thread, and polled first: the validation is dropped as soon as it waits again.
    tokio::select! {
        biased;
        () = stop.notified() => Ok(false),
        report = validate("memory:///", &options) => report.map(|_| true).map_err(Into::into),
    }
}

fn text(report: &Report) -> String {
    format!("{report:#?}")
}

/// The path of a journal in a folder.
fn journal(folder: &Path) -> std::path::PathBuf {
    folder.join("journal")
}

#[tokio::test]
async fn a_validation_that_was_cut_off_anywhere_goes_on_to_the_same_report() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = journal(folder.path());
    let mut resumed = 0;
    for (case, files) in stores()? {
        let options = question(&files).await?;
        let wanted = text(&validate("memory:///", &options).await?);
        let options = options.with_journal(&path);
        for steps in [1, 2, 3, 5, 9] {
            if cut_off(&options, steps).await? {
                assert!(!path.exists(), "{case}: a journal stays");
                continue;
            }
            assert!(path.exists(), "{case}: no journal");
            resumed += 1;
            // Interrupted a second time, later; then the last line is truncated as if it was half written.
            let _ = cut_off(&options, steps + 2).await?;
            if path.exists() {
                let mut lines = std::fs::read(&path)?;
                lines.truncate(lines.len() - lines.len().min(3));
                std::fs::write(&path, lines)?;
            }
            let found = text(&validate("memory:///", &options).await?);
            assert_eq!(found, wanted, "{case}, cut off after {steps} steps");
            assert!(!path.exists(), "{case}: a journal stays");
        }
    }
    assert!(resumed > 20, "only {resumed} were cut off");
    Ok(())
}

#[tokio::test]
async fn cells_of_finished_batches_are_not_read_again() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = journal(folder.path());
    let (_, files) = stores()?
        .into_iter()
        .max_by_key(|(_, files)| files.len())
        .ok_or("no store")?;
    let options = question(&files).await?;
    let requests = async |options: &ValidateOptions| -> Outcome<usize> {
        let trace = IoTrace::on();
        let mut options = options.clone();
        options.open = options.open.with_trace(trace.clone());
        validate("memory:///", &options).await?;
        Ok(trace.take().len())
    };
    let whole = requests(&options).await?;
    let options = options.with_journal(&path);
    // The end of a run removes the journal: keep its content from just before.
    let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (from, to) = (path.clone(), Arc::clone(&kept));
    let watched = options.clone().with_progress(move |_| {
        if let (Ok(text), Ok(mut kept)) = (std::fs::read(&from), to.lock()) {
            *kept = text;
        }
    });
    validate("memory:///", &watched).await?;
    std::fs::write(&path, &*kept.lock().map_err(|_| "poisoned")?)?;
    let again = requests(&options).await?;
    assert!(again < whole, "{again} of {whole} requests");
    Ok(())
}

#[tokio::test]
async fn a_journal_of_something_else_begins_anew() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = journal(folder.path());
    let (_, mut files) = stores()?.pop().ok_or("no store")?;
    let options = question(&files).await?.with_journal(&path);
    assert!(!cut_off(&options, 1).await?);
    let before = std::fs::read_to_string(&path)?;

    // Other options.
    let mut other = options.clone();
    other.depth = Depth::Consistency;
    assert!(!cut_off(&other, 1).await?);
    let head = |text: &str| text.lines().next().map(str::to_owned);
    assert_ne!(head(&before), head(&std::fs::read_to_string(&path)?));

    // Another store: a document with an additional space.
    let document = files.get_mut("zarr.json").ok_or("no root")?;
    document.push(b' ');
    let changed = question(&files).await?.with_journal(&path);
    assert!(!cut_off(&changed, 1).await?);
    assert_ne!(head(&before), head(&std::fs::read_to_string(&path)?));
    let wanted = text(&validate("memory:///", &question(&files).await?).await?);
    assert_eq!(text(&validate("memory:///", &changed).await?), wanted);
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = journal(folder.path());
    let (_, files) = stores()?.pop().ok_or("no store")?;
    let options = question(&files).await?.with_journal(&path);
    for other in [
        "my thesis",
        "{\"journal\": \"of a ship\", \"of\": \"\"}\n",
        "\n\n",
    ] {
        std::fs::write(&path, other)?;
        let refused = validate("memory:///", &options).await;
        let Err(error) = refused else {
            return Err(format!("{other:?} was taken for a journal").into());
        };
        assert!(error.to_string().contains("is not the journal"), "{error}");
        assert_eq!(std::fs::read_to_string(&path)?, other);
    }
    Ok(())
}

#[tokio::test]
async fn a_journal_that_cannot_be_made_is_an_error_of_the_system() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (_, files) = stores()?.pop().ok_or("no store")?;
    let options = question(&files).await?;
    let options = options.with_journal(folder.path().join("none/journal"));
    let Err(error) = validate("memory:///", &options).await else {
        return Err("validated without its journal".into());
    };
    assert_eq!(error.class(), zvf_store::Class::Io, "{error}");
    Ok(())
}
