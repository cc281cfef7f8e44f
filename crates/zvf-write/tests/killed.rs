//! A process that is killed at any time while it writes to the local disk: there is no store, or a complete one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec, build_pyramid};
use zvf_query::Query;
use zvf_store::Store;
use zvf_testkit::sample::Sample;
use zvf_write::{
    AttributeSpec, Batch, Kind, NumberType, StaleFiles, StoreSpec, StoreWriter, TargetVersion,
    WriteOptions,
};

use crate::support::{ask, block_on, check_documents, unfenced};

/// Passes the address to the process that will be killed.
const PLACE: &str = "ZVF_WRITE_TEST_PLACE";
/// Passes the address of a store that the process adds levels to.
const LEVELS: &str = "ZVF_WRITE_TEST_LEVELS";
const POINTS: usize = 3000;

/// The version to write, if not the newest.
const TARGET: &str = "ZVF_WRITE_TEST_TARGET";

async fn write(
    address: &str,
    target: TargetVersion,
    stale_files: StaleFiles,
) -> Result<(), zvf_write::WriteError> {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3])
        .with_target(target)
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    let options = WriteOptions::new()
        .with_stale_files(stale_files)
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

async fn add_levels(address: &str, stale_files: StaleFiles) -> Result<(), zvf_write::WriteError> {
    let spec = PyramidSpec::new([2.0, 2.0].map(LevelStep::new))
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, 2);
    let options = WriteOptions::new()
        .with_stale_files(stale_files)
        .with_durable(false);
    build_pyramid(address, &spec, &options, Arc::new(|_| ()))
        .await
        .map(|_| ())
}

/// The process that is killed: this test, started by the tests below.
#[test]
fn the_victim() {
    if let Ok(place) = std::env::var(PLACE) {
        let target = match std::env::var(TARGET) {
            Ok(_) => TargetVersion::V0_8_1,
            Err(_) => TargetVersion::V0_9_2,
        };
        block_on(write(&place, target, StaleFiles::Refuse)).unwrap();
    }
    if let Ok(place) = std::env::var(LEVELS) {
        block_on(add_levels(&place, StaleFiles::Refuse)).unwrap();
    }
}

fn start(variables: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["killed::the_victim", "--exact"])
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a process at twelve moments of its run, or at four of them, each time at a new address.
struct Killer<'v> {
    /// Environment variables of the process, except for the address.
    variables: &'v [(&'v str, &'v str)],
    /// The environment variable for the address.
    name: &'v str,
    folder: tempfile::TempDir,
    /// How long the process runs if it is not killed. It only determines the moments of the kills.
    long: Duration,
}

impl<'v> Killer<'v> {
    /// Lets one process run to its end in `whole.zv`, which `ready` prepares.
    fn new(name: &'v str, variables: &'v [(&'v str, &'v str)], ready: impl Fn(&Path)) -> Self {
        let mut killer = Self {
            variables,
            name,
            folder: tempfile::tempdir().unwrap(),
            long: Duration::ZERO,
        };
        ready(&killer.whole());
        let began = Instant::now();
        assert!(killer.start(&killer.whole()).wait().unwrap().success());
        killer.long = began.elapsed();
        killer
    }

    /// The address of the process that was not killed.
    fn whole(&self) -> PathBuf {
        self.folder.path().join("whole.zv")
    }

    fn start(&self, place: &Path) -> Child {
        let mut variables = self.variables.to_vec();
        variables.push((self.name, place.to_str().unwrap()));
        start(&variables)
    }

    fn each(&self, ready: impl Fn(&Path), check: impl Fn(u32, &Path)) {
        let sample = Sample::new(self.name);
        for run in sample.some(0..12_u32, 3) {
            let place = self.folder.path().join(format!("{run}.zv"));
            ready(&place);
            let mut victim = self.start(&place);
            let share = self.long.mul_f64(f64::from(run) / 10.0);
            std::thread::sleep(share.min(Duration::from_secs(5)));
            // It may already have ended.
            let _ = victim.kill();
            victim.wait().unwrap();
            check(run, &place);
        }
    }
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

fn kill_writers(target: TargetVersion, variables: &[(&str, &str)]) {
    let killer = Killer::new(PLACE, variables, |_| ());
    block_on(is_whole(&killer.whole()));
    killer.each(
        |_| (),
        |_, place| {
            block_on(async {
                let address = place.to_str().unwrap();
                if !place.join("zarr.json").exists() {
                    assert!(Store::open(address).await.is_err());
                    write(address, target, StaleFiles::Remove).await.unwrap();
                }
                is_whole(place).await;
            });
        },
    );
}

#[test]
fn a_killed_writer_leaves_nothing_or_all() {
    kill_writers(TargetVersion::V0_9_2, &[]);
}

#[test]
fn a_killed_writer_of_0_8_1_leaves_nothing_or_all() {
    kill_writers(TargetVersion::V0_8_1, &[(TARGET, "0.8.1")]);
}

#[test]
fn a_killed_pyramid_leaves_level_0_or_all_levels() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("whole.zv");
    let written = write(
        base.to_str().unwrap(),
        TargetVersion::V0_9_2,
        StaleFiles::Refuse,
    );
    block_on(written).unwrap();
    let base = files(&base);
    let first = |place: &Path| {
        for (key, bytes) in &base {
            let path = place.join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
    };
    let killer = Killer::new(LEVELS, &[], first);
    let complete = files(&killer.whole());
    killer.each(first, |run, place| {
        block_on(async {
            let address = place.to_str().unwrap();
            let store = Store::open(address).await.unwrap();
            if store.levels().len() > 1 {
                is_whole(place).await;
            } else {
                assert_eq!(ask(&store, Query::default()).await.numbers().len(), POINTS);
                add_levels(address, StaleFiles::Remove).await.unwrap();
            }
            let mut found = files(place);
            // The marker may be left, and temporary files that were being renamed to it or to the root.
            found.retain(|key, _| !key.contains(".zvf-") && key != "zvf-unfinished.json");
            // A rollback of levels leaves a mark in the root, so that no running writer can take this root for the one it read.
            found
                .entry("zarr.json".to_owned())
                .and_modify(|root| *root = unfenced(root));
            assert!(found == complete, "run {run}");
        });
    });
}
