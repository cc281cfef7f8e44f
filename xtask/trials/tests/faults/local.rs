//! A folder of the local disk that is replaced while it is read.

use std::collections::BTreeMap;
use std::path::Path;

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
                        Some(&all) == first || Some(&all) == second,
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
        assert!(errors > 0, "{case}: nothing was noticed");
    }
}
