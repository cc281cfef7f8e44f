//! Several threads that load levels of one open store at the same time.

use std::sync::Barrier;

use serde_json::json;
use zvf_store::blocking::Runtime;
use zvf_store::{Level, Need, Store};

use crate::link_values::{beside, inside};
use crate::support::{Files, bundled, on_disk};

const THREADS: usize = 8;

/// What a level has: its arrays with the number of their chunks, its tables, its objects, and the columns of link attributes.
fn contents(level: &Level) -> Vec<(String, usize)> {
    let arrays = level.arrays();
    let arrays = arrays
        .iter()
        .map(|array| (array.path().to_owned(), array.presence().len()));
    let objects = level.object_index().map_or(0, |index| index.len());
    let families = level.link_families().iter();
    let columns = families.flat_map(|family| family.attributes()).map(|one| {
        let name = format!("columns of {}", one.name);
        (name, usize::try_from(one.width).unwrap())
    });
    arrays
        .chain(columns)
        .chain([
            (
                "vertex attributes".to_owned(),
                level.vertex_attributes().len(),
            ),
            (
                "object attributes".to_owned(),
                level.object_attributes().len(),
            ),
            ("objects".to_owned(), usize::try_from(objects).unwrap()),
            ("links".to_owned(), level.link_families().len()),
        ])
        .collect()
}

/// Opens a store `times` times, and loads level 0 in all threads at once: each has what a thread alone gets, and so has the next one.
fn check(files: &Files, times: usize) {
    let folder = on_disk(files);
    let address = folder.path().display().to_string();
    let runtime = Runtime::new().unwrap();
    let need = Need::all();
    let open = || runtime.wait(Store::open(&address)).unwrap();
    let load = |store: &Store| contents(&runtime.wait(store.level(0, &need)).unwrap());
    let expected = load(&open());
    for _ in 0..times {
        let (store, barrier) = (open(), Barrier::new(THREADS));
        let found: Vec<_> = std::thread::scope(|scope| {
            let one = || {
                barrier.wait();
                load(&store)
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for found in found {
            assert_eq!(found, expected);
        }
        assert_eq!(load(&store), expected);
    }
}

#[test]
fn a_level_that_many_threads_load_has_all_attributes() {
    let mut files = bundled("0.9/points_ids");
    let own = "0/vertex_attributes/intensity/";
    let copied: Vec<(String, Vec<u8>)> = files
        .iter()
        .filter_map(|(key, bytes)| Some((key.strip_prefix(own)?.to_owned(), bytes.clone())))
        .collect();
    assert!(!copied.is_empty());
    for number in 0..60 {
        for (name, bytes) in &copied {
            let key = format!("0/vertex_attributes/copy{number}/{name}");
            files.insert(key, bytes.clone());
        }
    }
    check(&files, 100);
}

#[test]
fn a_level_that_many_threads_load_is_whole_in_every_generation() {
    for case in [
        "0.7/packed_points",
        "0.7/graph_attributes",
        "0.8/duplicate_graph",
        "0.8/real_skeleton",
        "0.9/real_skeleton",
        "padded/graph",
        "padded/mesh",
    ] {
        check(&bundled(case), 20);
    }
}

/// Copies the files of the attribute `w`, below `folder`, to further attributes.
fn with_copies(mut files: Files, folder: &str) -> Files {
    let own = format!("{folder}/w/");
    let copied: Vec<(String, Vec<u8>)> = files
        .iter()
        .filter_map(|(key, bytes)| Some((key.strip_prefix(&own)?.to_owned(), bytes.clone())))
        .collect();
    assert!(!copied.is_empty());
    for number in 0..40 {
        for (name, bytes) in &copied {
            files.insert(format!("{folder}/copy{number}/{name}"), bytes.clone());
        }
    }
    files
}

#[test]
fn facts_of_link_attributes_that_one_thread_finds_reach_all() {
    let columns = inside("w", [&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0]]);
    check(&with_copies(columns, "0/link_attributes"), 60);
    let values = beside(json!({}), json!({}), &[1.0, 2.0, 3.0, 4.0]);
    check(&with_copies(values, "0/cross_chunk_link_attributes"), 60);
}
