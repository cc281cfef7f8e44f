//! A process that is killed while it writes to the local disk, at any time: there is no store, or all of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zvf_query::Query;
use zvf_store::Store;
use zvf_write::{
    AttributeSpec, Batch, CrossLevel, Kind, Leftovers, LevelStep, Method, NumberType, PyramidSpec,
    StoreSpec, StoreWriter, WriteOptions, build_pyramid,
};

use crate::support::{ask, block_on, check_documents};

/// Names the place to the process that is to be killed.
const PLACE: &str = "ZVF_WRITE_TEST_PLACE";
/// Names the place of a store that it adds levels to.
const LEVELS: &str = "ZVF_WRITE_TEST_LEVELS";
const POINTS: usize = 3000;

async fn write(address: &str, leftovers: Leftovers) -> Result<(), zvf_write::WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3])
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    let options = WriteOptions::new()
        .with_leftovers(leftovers)
        .with_durable(false)
        .with_memory_budget(0);
    let mut writer = StoreWriter::create(address, spec, options).await?;
    for part in 0..3 {
        let numbers: Vec<i32> = (part * 1000..part * 1000 + 1000).collect();
        let positions: Vec<f32> = numbers
            .iter()
            .flat_map(|n| [n % 80, n / 80 % 70, n * 7 % 60])
            .map(|p| p as f32)
            .collect();
        let ids: Vec<i64> = numbers.iter().map(|n| i64::from(n % 17)).collect();
        writer.push(
            &Batch::new(positions)
                .with_object_ids(ids)
                .with_attribute("n", numbers),
        )?;
    }
    writer.finish().await.map(|_| ())
}

async fn add_levels(address: &str, leftovers: Leftovers) -> Result<(), zvf_write::WriteError> {
    let spec = PyramidSpec::new([2.0, 2.0].map(LevelStep::new))
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, 2);
    let options = WriteOptions::new()
        .with_leftovers(leftovers)
        .with_durable(false);
    build_pyramid(address, &spec, &options, Arc::new(|_| ()))
        .await
        .map(|_| ())
}

/// The process that is killed: this test, started by the ones below.
#[test]
fn the_victim() {
    if let Ok(place) = std::env::var(PLACE) {
        block_on(write(&place, Leftovers::Refuse)).unwrap();
    }
    if let Ok(place) = std::env::var(LEVELS) {
        block_on(add_levels(&place, Leftovers::Refuse)).unwrap();
    }
}

fn start(name: &str, place: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["killed::the_victim", "--exact"])
        .env(name, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Every file, by its key.
fn files(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![place.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let key = path
                    .strip_prefix(place)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                found.insert(key, std::fs::read(path).unwrap());
            }
        }
    }
    found
}

async fn is_whole(place: &Path) {
    let mut documents = files(place);
    documents.retain(|key, _| key.ends_with("zarr.json"));
    check_documents(&documents);
    let store = Store::open(place.to_str().unwrap()).await.unwrap();
    let mut numbers = ask(&store, Query::default()).await.numbers();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..POINTS).collect::<Vec<_>>());
}

#[test]
fn a_killed_writer_leaves_nothing_or_all() {
    let folder = tempfile::tempdir().unwrap();
    // One undisturbed run tells how long there is something to kill; nothing depends on it but where kills fall.
    let whole = folder.path().join("whole.zv");
    let began = Instant::now();
    assert!(start(PLACE, &whole).wait().unwrap().success());
    let long = began.elapsed();
    block_on(is_whole(&whole));
    for run in 0..12_u32 {
        let place = folder.path().join(format!("{run}.zv"));
        let mut victim = start(PLACE, &place);
        std::thread::sleep(
            long.mul_f64(f64::from(run) / 10.0)
                .min(Duration::from_secs(5)),
        );
        // It may be gone already.
        let _ = victim.kill();
        victim.wait().unwrap();
        block_on(async {
            let address = place.to_str().unwrap();
            if !place.join("zarr.json").exists() {
                assert!(Store::open(address).await.is_err());
                write(address, Leftovers::Remove).await.unwrap();
            }
            is_whole(&place).await;
        });
    }
}

#[test]
fn a_killed_pyramid_leaves_level_0_or_all_levels() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.zv");
    block_on(write(whole.to_str().unwrap(), Leftovers::Refuse)).unwrap();
    let base = files(&whole);
    let began = Instant::now();
    assert!(start(LEVELS, &whole).wait().unwrap().success());
    let long = began.elapsed();
    let complete = files(&whole);
    for run in 0..12_u32 {
        let place = folder.path().join(format!("{run}.zv"));
        for (key, bytes) in &base {
            let path = place.join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let mut victim = start(LEVELS, &place);
        std::thread::sleep(
            long.mul_f64(f64::from(run) / 10.0)
                .min(Duration::from_secs(5)),
        );
        // It may be gone already.
        let _ = victim.kill();
        victim.wait().unwrap();
        block_on(async {
            let address = place.to_str().unwrap();
            let store = Store::open(address).await.unwrap();
            if store.levels().len() > 1 {
                is_whole(&place).await;
            } else {
                assert_eq!(ask(&store, Query::default()).await.numbers().len(), POINTS);
                add_levels(address, Leftovers::Remove).await.unwrap();
            }
            let mut found = files(&place);
            // The marker may be left, and files that it and the root got their names from.
            found.retain(|key, _| !key.contains(".zvf-") && key != "zvf-unfinished.json");
            assert!(found == complete, "run {run}");
        });
    }
}
