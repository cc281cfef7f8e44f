//! A folder of the local disk that is replaced while it is read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zvf_query::{Query, Table, query};
use zvf_store::Store;
use zvf_trials::altered::{Files, altered};
use zvf_trials::answers::{Told, ask};

fn write(folder: &Path, files: &Files) {
    for (key, bytes) in files {
        let path = folder.join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Exchanges two folders.
fn exchange(home: &Path) {
    let (now, other, aside) = (home.join("now"), home.join("other"), home.join("aside"));
    std::fs::rename(&now, &aside).unwrap();
    std::fs::rename(&other, &now).unwrap();
    std::fs::rename(&aside, &other).unwrap();
}

/// Two stores of one shape in folders `now` and `other`.
fn two(case: &str) -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let files = zvf_testkit::files(case).unwrap();
    write(&home.path().join("now"), &files);
    write(&home.path().join("other"), &altered(&files).unwrap());
    let address = home.path().join("now").to_str().unwrap().to_owned();
    (home, address)
}

async fn both(home: &Path, asked: &Query) -> [Told; 2] {
    let mut told = Vec::new();
    for name in ["now", "other"] {
        let store = Store::open(home.join(name).to_str().unwrap())
            .await
            .unwrap();
        told.push(ask(&store, asked.clone()).await.unwrap());
    }
    told.try_into().unwrap()
}

/// Small pieces, so that a query has many moments.
fn small_pieces() -> Query {
    Query {
        memory_budget: 1,
        batch_rows: 64,
        ..Query::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_swapped_between_two_batches() {
    for case in [
        "0.9/points_ids",
        "0.8/points_ids",
        "0.7/points_ids",
        "0.9/lines",
    ] {
        let (home, address) = two(case);
        let asked = small_pieces();
        let right = both(home.path(), &asked).await;
        assert_ne!(right[0], right[1]);
        let mut errors = 0;
        // 0: after the root is read; 1: after the first cells; then before each batch.
        for moment in 0..12 {
            let [first, second] = &right;
            let answer = async {
                let store = Store::open(&address).await?;
                if moment == 0 {
                    exchange(home.path());
                }
                let mut answer = query(&store, asked.clone()).await?;
                if moment == 1 {
                    exchange(home.path());
                }
                let mut tables: BTreeMap<Table, Vec<_>> = BTreeMap::new();
                let mut count = 2;
                while let Some((table, batch)) = answer.next().await? {
                    if moment == count {
                        exchange(home.path());
                    }
                    count += 1;
                    tables.entry(table).or_default().push(batch);
                }
                Ok::<_, Box<dyn std::error::Error>>(tables)
            };
            match answer.await {
                Err(_) => errors += 1,
                Ok(tables) => {
                    let batches = &tables[&Table::Vertices];
                    let schema = batches[0].schema();
                    let all = arrow_select::concat::concat_batches(&schema, batches).unwrap();
                    let [first, second] = [first, second].map(|told| told.vertices.as_ref());
                    assert!(
                        Some(&all) == first || (!cfg!(unix) && Some(&all) == second),
                        "{case}, moment {moment}: a mixture"
                    );
                }
            }
            // Back to the beginning.
            let now = Store::open(&address).await.unwrap();
            if ask(&now, asked.clone()).await.unwrap() != *right.first().unwrap() {
                exchange(home.path());
            }
        }
        // Where a folder is held open, the one that was opened is read to its end.
        assert_eq!(errors > 0, !cfg!(unix), "{case}: {errors} errors");
    }
}

/// Ends the exchanging thread, however the test ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_swapped_all_the_time() {
    let (home, address) = two("0.9/lines");
    let asked = small_pieces();
    let right = both(home.path(), &asked).await;
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut answers, mut errors) = (0, 0);
    std::thread::scope(|scope| {
        // Also when an assertion fails: the scope waits for its thread.
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                exchange(home.path());
                swaps.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let work = async {
            for _ in 0..150 {
                let told = async {
                    let store = Store::open(&address).await?;
                    Ok::<_, Box<dyn std::error::Error>>(ask(&store, asked.clone()).await?)
                };
                match told.await {
                    Err(_) => errors += 1,
                    Ok(told) => {
                        answers += 1;
                        assert!(right.contains(&told), "a mixture");
                    }
                }
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work));
    });
    assert_eq!(answers + errors, 150);
    assert!(answers > 0);
    assert!(swaps.load(Ordering::Relaxed) > 0);
}
