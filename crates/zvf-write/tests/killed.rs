//! A process that is killed while it writes to the local disk, at any time: there is no store, or all of it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zvf_query::Query;
use zvf_store::Store;
use zvf_write::{
    AttributeSpec, Batch, Kind, Leftovers, NumberType, StoreSpec, StoreWriter, WriteOptions,
};

use crate::support::{ask, block_on, check_documents};

/// Names the place to the process that is to be killed.
const PLACE: &str = "ZVF_WRITE_TEST_PLACE";
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

/// The process that is killed: this test, started by the one below.
#[test]
fn the_victim() {
    if let Ok(place) = std::env::var(PLACE) {
        block_on(write(&place, Leftovers::Refuse)).unwrap();
    }
}

fn start(place: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["killed::the_victim", "--exact"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

async fn is_whole(place: &Path) {
    let mut documents = std::collections::BTreeMap::new();
    let mut folders = vec![place.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "zarr.json") {
                let key = path
                    .strip_prefix(place)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .replace('\\', "/");
                documents.insert(key, std::fs::read(path).unwrap());
            }
        }
    }
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
    assert!(start(&whole).wait().unwrap().success());
    let long = began.elapsed();
    block_on(is_whole(&whole));
    for run in 0..12_u32 {
        let place = folder.path().join(format!("{run}.zv"));
        let mut victim = start(&place);
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
