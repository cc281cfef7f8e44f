//! How many requests, in how many dependent rounds: by the trace, and by the clock of a slow backend.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use zvf_store::format::shard_lengths::{stored_order, to_text};
use zvf_store::format::vlen::VlenBuilder;
use zvf_store::{CellWant, IoTrace, Level, Method, Names, Need, OpenOptions, Store};

use crate::support::{Cells, Files, Tool, all_cells, bundled, cell_of, grids, memory, small};

const DELAY: Duration = Duration::from_millis(100);

async fn slow(files: &Files) -> Arc<Tool> {
    let mut tool = Tool::new(memory(files).await);
    tool.delay = DELAY;
    Arc::new(tool)
}

async fn open(tool: &Arc<Tool>, trace: &IoTrace) -> Store {
    let backend: Arc<Tool> = Arc::clone(tool);
    let options = OpenOptions::new()
        .with_object_store(backend)
        .with_trace(trace.clone())
        .with_concurrency(4096);
    Store::open_with("memory:///", options).await.unwrap()
}

/// The rounds that passed on the clock of a paused runtime.
fn rounds_since(start: tokio::time::Instant) -> u32 {
    let passed = start.elapsed();
    let rounds = passed.as_secs_f64() / DELAY.as_secs_f64();
    assert!(
        (rounds - rounds.round()).abs() < 0.05,
        "{passed:?} is no whole number of rounds"
    );
    rounds.round() as u32
}

fn no_key_twice(tool: &Tool) {
    let keys = tool.keys.lock().unwrap();
    let unique: BTreeSet<&String> = keys.iter().collect();
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(
        unique.len(),
        keys.len(),
        "something was asked for twice: {sorted:?}"
    );
}

fn box_need() -> Need {
    Need {
        vertex_attributes: Names::All,
        ..Need::default()
    }
}

fn box_wants(level: &Level) -> Vec<CellWant> {
    let mut wants = all_cells(level.vertices());
    wants.extend(level.vertex_fragments().iter().flat_map(|a| all_cells(a)));
    wants.extend(
        level
            .vertex_attributes()
            .iter()
            .flat_map(|a| all_cells(&a.array)),
    );
    wants
}

#[tokio::test(start_paused = true)]
async fn a_cold_box_takes_three_rounds() {
    for case in zvf_testkit::cases().unwrap() {
        let tool = slow(&bundled(&case)).await;
        let trace = IoTrace::on();
        let start = tokio::time::Instant::now();
        let store = open(&tool, &trace).await;
        assert_eq!(rounds_since(start), 1, "{case}");
        let level = store.level(0, &box_need()).await.unwrap();
        let wants = box_wants(&level);
        let count = wants.len();
        let cells = store.fetch(level.next_round(), wants).await.unwrap();
        assert_eq!(cells.iter().flatten().count(), count, "{case}");
        assert!(rounds_since(start) <= 3, "{case}: {:?}", start.elapsed());
        assert_eq!(trace.counts().rounds, rounds_since(start), "{case}");
        let requests = trace.take();
        let gets = requests.iter().filter(|r| r.method == Method::Get).count() as u64;
        let lists = requests.iter().filter(|r| r.method == Method::List).count() as u64;
        assert_eq!(
            (gets, lists),
            (
                tool.gets.load(Ordering::SeqCst),
                tool.lists.load(Ordering::SeqCst)
            ),
            "{case}"
        );
        no_key_twice(&tool);
        // Nothing is requested again.
        store.level(0, &box_need()).await.unwrap();
        assert!(trace.take().is_empty(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cold_object_takes_four_rounds() {
    for case in zvf_testkit::cases().unwrap() {
        let tool = slow(&bundled(&case)).await;
        let trace = IoTrace::on();
        let start = tokio::time::Instant::now();
        let store = open(&tool, &trace).await;
        let need = Need {
            objects: true,
            ..box_need()
        };
        let level = store.level(0, &need).await.unwrap();
        let Some(index) = level.object_index() else {
            continue;
        };
        let ids = index.ids().await.unwrap();
        assert!(rounds_since(start) <= 2, "{case}");
        let manifests = index
            .manifests_in(level.next_round(), &[ids.slot(ids.id(0)).unwrap()])
            .await
            .unwrap();
        assert!(!manifests[0].is_empty(), "{case}");
        store
            .fetch(level.next_round() + 1, box_wants(&level))
            .await
            .unwrap();
        assert!(rounds_since(start) <= 4, "{case}: {:?}", start.elapsed());
        assert!(trace.counts().rounds <= 4, "{case}");
        no_key_twice(&tool);
    }
}

#[tokio::test(start_paused = true)]
async fn everything_of_a_level_takes_few_rounds() {
    for case in zvf_testkit::cases().unwrap() {
        let tool = slow(&bundled(&case)).await;
        let store = open(&tool, &IoTrace::off()).await;
        for number in store.levels() {
            let start = tokio::time::Instant::now();
            let level = store.level(*number, &Need::all()).await.unwrap();
            // Level 0 was prefetched; nothing is known yet of another level. Families between levels need one more listing if they span more than one
            // level.
            assert!(
                rounds_since(start) <= if *number == 0 { 1 } else { 2 },
                "{case} {number}: {:?}",
                start.elapsed()
            );
            assert!(!grids(&level).is_empty());
        }
        no_key_twice(&tool);
    }
}

#[tokio::test(start_paused = true)]
async fn small_shards_are_one_request_each() {
    let files = bundled("points_4d_sharded");
    let shards = files
        .keys()
        .filter(|k| k.starts_with("0/vertices/c/"))
        .count();
    let tool = slow(&files).await;
    let store = open(&tool, &IoTrace::off()).await;
    let level = store.level(0, &Need::default()).await.unwrap();
    assert!(level.vertices().is_sharded());
    let before = tool.gets.load(Ordering::SeqCst);
    let start = tokio::time::Instant::now();
    let wants = all_cells(level.vertices());
    assert!(wants.len() > shards);
    store.fetch(3, wants).await.unwrap();
    assert_eq!(tool.gets.load(Ordering::SeqCst) - before, shards as u64);
    assert_eq!(rounds_since(start), 1);
    // The second time, the shards are cached.
    store.fetch(4, all_cells(level.vertices())).await.unwrap();
    assert_eq!(tool.gets.load(Ordering::SeqCst) - before, shards as u64);
}

/// A store with one shard of 8 x 8 cells of 64 KiB: much more than comes with the index.
pub(crate) fn big_shard() -> (Files, Cells) {
    let (files, cells, _) = big_shard_in((0..64).collect());
    (files, cells)
}

/// The same with the cells in this order, and the document of the array.
fn big_shard_in(order: Vec<usize>) -> (Files, Cells, Value) {
    let mut cells = Vec::new();
    let (mut body, mut index) = (Vec::new(), vec![0; 64 * 16]);
    for x in 0..8 {
        for y in 0..8 {
            let chunk = vec![x, y];
            let bytes = cell_of(&chunk)
                .into_iter()
                .cycle()
                .take(64 << 10)
                .collect::<Vec<u8>>();
            cells.push((chunk, bytes));
        }
    }
    for place in order {
        let framed = VlenBuilder::cell(&cells[place].1).unwrap();
        let entry = [body.len() as u64, framed.len() as u64].map(u64::to_le_bytes);
        index[place * 16..][..16].copy_from_slice(&entry.concat());
        body.extend(framed);
    }
    let checksum = crc32c::crc32c(&index);
    body.extend(index);
    body.extend(checksum.to_le_bytes());
    let present: Vec<Vec<i64>> = cells.iter().map(|(c, _)| c.clone()).collect();
    let mut document = crate::support::grid_document(&[8, 8], &[0, 0], &present);
    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([8, 8]);
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 1], "codecs": [{"name": "vlen-bytes", "configuration": {}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end"}}]);
    let mut files = small(2, "point_cloud");
    files.insert(
        "0/vertices/zarr.json".to_owned(),
        document.to_string().into_bytes(),
    );
    files.insert("0/vertices/c/0/0".to_owned(), body);
    (files, cells, document)
}

/// A shard with listed lengths: its cells come in one round with the index, wherever they are, and with as few bytes. A wrong list costs rounds, but
/// is not trusted.
#[tokio::test(start_paused = true)]
async fn cells_of_large_shards_come_with_the_index_where_lengths_are_listed() {
    let (mut files, cells, mut document) = big_shard_in(stored_order(&[8, 8]).unwrap());
    let right = to_text([(64 << 10) + 8; 64]);
    let lists = [
        (right, 1),
        // Another length of the first cell: all positions differ.
        (
            to_text((0..64).map(|at| if at == 0 { 9 } else { (64 << 10) + 8 })),
            2,
        ),
        // Beyond the end of the shard, which is detected from a refused range.
        (to_text([1 << 30; 64]), 3),
        (to_text([1 << 58; 8]), 2),
        (to_text([1; 64]), 2),
        (to_text([1; 65]), 2),
        ("?".to_owned(), 2),
        (String::new(), 2),
    ];
    document["attributes"]["zvf_shard_lengths"] = json!({"c/0/0": lists[0].0});
    let mut listed = files.clone();
    listed.insert(
        "0/vertices/zarr.json".to_owned(),
        document.to_string().into_bytes(),
    );
    // Two cells far from the index; one at it, which comes with it; one near it, which comes with it and with the two cells between them.
    for (wanted, between) in [
        (vec![[0, 0], [3, 1]], 0),
        (vec![[7, 7]], 0),
        (vec![[7, 6], [0, 1]], 2),
    ] {
        for (text, rounds) in &lists {
            document["attributes"]["zvf_shard_lengths"] = json!({"c/0/0": text});
            let bytes = document.to_string().into_bytes();
            files.insert("0/vertices/zarr.json".to_owned(), bytes);
            let tool = slow(&files).await;
            let trace = IoTrace::on();
            let store = open(&tool, &trace).await;
            let level = store.level(0, &Need::default()).await.unwrap();
            trace.take();
            let start = tokio::time::Instant::now();
            let wants = wanted
                .iter()
                .map(|chunk| CellWant::new(level.vertices(), *chunk));
            let found = store.fetch(3, wants.collect()).await.unwrap();
            for (chunk, bytes) in wanted.iter().zip(&found) {
                let place = usize::try_from(chunk[0] * 8 + chunk[1]).unwrap();
                assert_eq!(bytes.as_deref(), Some(cells[place].1.as_slice()), "{text}");
            }
            let passed = rounds_since(start);
            assert!(passed <= *rounds, "{wanted:?} {text}: {passed}");
            if *rounds == 1 {
                let requests = trace.take();
                let read: u64 = requests.iter().filter_map(|one| one.bytes).sum();
                let cells = (wanted.len() as u64 + between) * ((64 << 10) + 8);
                assert!(read <= cells + 64 * 16 + 4, "{requests:?}");
                assert!(between == 0 || requests.len() == 2, "{requests:?}");
                assert!(requests.iter().all(|one| one.round == 3), "{requests:?}");
            }
        }
    }
    // Two batches at the same time: the second waits for the index that the first requested, and not for its own cells.
    let tool = slow(&listed).await;
    let store = open(&tool, &IoTrace::off()).await;
    let level = store.level(0, &Need::default()).await.unwrap();
    let start = tokio::time::Instant::now();
    let one = |chunk: [i64; 2]| store.fetch(3, vec![CellWant::new(level.vertices(), chunk)]);
    let (first, second) = futures::join!(one([0, 0]), one([7, 7]));
    assert!(first.unwrap()[0].is_some() && second.unwrap()[0].is_some());
    assert_eq!(rounds_since(start), 1);
}

#[tokio::test(start_paused = true)]
async fn large_shards_are_an_index_and_merged_ranges() {
    let (files, cells) = big_shard();
    let tool = slow(&files).await;
    let trace = IoTrace::on();
    let store = open(&tool, &trace).await;
    let level = store.level(0, &Need::default()).await.unwrap();
    trace.take();
    let start = tokio::time::Instant::now();
    // A column of the shard: its cells are a row apart, so the gaps are too large to be read along.
    let wants: Vec<CellWant> = (0..8)
        .map(|x| CellWant::new(level.vertices(), [x, 3]))
        .collect();
    let found = store.fetch(3, wants).await.unwrap();
    for (x, bytes) in found.iter().enumerate() {
        assert_eq!(bytes.as_deref(), Some(cells[x * 8 + 3].1.as_slice()));
    }
    assert_eq!(rounds_since(start), 2);
    let requests = trace.take();
    assert_eq!(
        requests.iter().filter(|r| r.round == 3).count(),
        1,
        "{requests:?}"
    );
    assert!(requests.iter().filter(|r| r.round == 4).count() <= 8);
    // The rest of the shard: one range, since the index is known.
    let wants: Vec<CellWant> = (0..4)
        .flat_map(|x| (0..8).map(move |y| [x, y]))
        .map(|c| CellWant::new(level.vertices(), c))
        .collect();
    store.fetch(5, wants).await.unwrap();
    let requests = trace.take();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(requests[0].round, 5, "the index was known");
    assert!(requests[0].bytes.unwrap() > 30 * (64 << 10));
    let wants: Vec<CellWant> = cells
        .iter()
        .map(|(c, _)| CellWant::new(level.vertices(), c.as_slice()))
        .collect();
    for (found, (_, expected)) in store.fetch(6, wants).await.unwrap().iter().zip(&cells) {
        assert_eq!(found.as_deref(), Some(expected.as_slice()));
    }
}

#[tokio::test(start_paused = true)]
async fn large_shards_on_a_disk_are_read_in_parts() {
    let (files, cells) = big_shard();
    let folder = crate::support::on_disk(&files);
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let store = Store::open_with(folder.path().to_str().unwrap(), options)
        .await
        .unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    trace.take();
    let found = store
        .fetch(3, vec![CellWant::new(level.vertices(), [2, 5])])
        .await
        .unwrap();
    assert_eq!(found[0].as_deref(), Some(cells[21].1.as_slice()));
    let requests = trace.take();
    let rounds: Vec<u32> = requests.iter().map(|r| r.round).collect();
    assert_eq!(rounds, [3, 4], "the index, then the chunk: {requests:?}");
    assert!(
        requests
            .iter()
            .all(|r| r.method == Method::Read && r.bytes.unwrap() < 100 << 10),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_limit_holds_for_everything() {
    let files = bundled("points_ids");
    let tool = slow(&files).await;
    let backend: Arc<Tool> = Arc::clone(&tool);
    let options = OpenOptions::new()
        .with_object_store(backend)
        .with_concurrency(3);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    let wants = box_wants(&level);
    let halves = futures::future::join(
        store.fetch(3, wants.iter().take(20).cloned().collect()),
        store.fetch(3, wants.iter().skip(20).take(20).cloned().collect()),
    );
    let (a, b) = halves.await;
    assert_eq!(a.unwrap().len() + b.unwrap().len(), wants.len().min(40));
    assert_eq!(tool.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn equal_wants_are_read_once() {
    let files = bundled("points_ids");
    let tool = Arc::new(Tool::new(memory(&files).await));
    let store = open(&tool, &IoTrace::off()).await;
    let level = store.level(0, &Need::default()).await.unwrap();
    let before = tool.gets.load(Ordering::SeqCst);
    let want = all_cells(level.vertices()).remove(0);
    let cells = store
        .fetch(3, vec![want.clone(), want.clone(), want])
        .await
        .unwrap();
    assert!(cells[0].is_some() && cells[0] == cells[1] && cells[1] == cells[2]);
    assert_eq!(tool.gets.load(Ordering::SeqCst) - before, 1);
}

#[tokio::test]
async fn a_local_batch_is_traced_file_by_file() {
    let unpacked = zvf_testkit::unpacked("points_ids").unwrap();
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let store = Store::open_with(&unpacked.url().unwrap(), options)
        .await
        .unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    trace.take();
    let wants = all_cells(level.vertices());
    let count = wants.len();
    let bytes: usize = store
        .fetch_map(7, wants, |cells| {
            cells.iter().flatten().map(bytes::Bytes::len).sum()
        })
        .await
        .unwrap();
    let requests = trace.take();
    assert_eq!(requests.len(), count);
    assert!(
        bytes > 0
            && requests
                .iter()
                .all(|r| r.round == 7 && r.method == Method::Read && r.bytes.is_some())
    );
}

/// A shard that is replaced while a store is open: an open file stays the old one; if it was closed in the meantime, the change is an error and not a
/// mixture.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_shard_is_never_mixed_with_its_old_index() {
    let (files, cells) = big_shard();
    let backend = memory(&files).await;
    let options = OpenOptions::new().with_object_store(Arc::clone(&backend));
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    let want = |x: i64, y: i64| vec![CellWant::new(level.vertices(), [x, y])];
    assert!(store.fetch(3, want(0, 0)).await.unwrap()[0].is_some());
    let mut other = files["0/vertices/c/0/0"].clone();
    other[100] ^= 1;
    let changed = Files::from([("0/vertices/c/0/0".to_owned(), other)]);
    crate::support::put_all(&*backend, "", &changed).await;
    let error = store.fetch(4, want(0, 1)).await.unwrap_err();
    assert!(error.is_changed(), "{error}");

    let folder = crate::support::on_disk(&files);
    let store = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    let want = |x: i64, y: i64| vec![CellWant::new(level.vertices(), [x, y])];
    assert!(store.fetch(3, want(0, 0)).await.unwrap()[0].is_some());
    let path = folder.path().join("0/vertices/c/0/0");
    std::fs::write(folder.path().join("new"), b"something else").unwrap();
    std::fs::rename(folder.path().join("new"), &path).unwrap();
    let found = store.fetch(4, want(3, 3)).await.unwrap();
    assert_eq!(found[0].as_deref(), Some(cells[27].1.as_slice()));
}

/// Readers that are not polled must not keep permits that others wait for.
#[tokio::test(flavor = "multi_thread")]
async fn readers_that_nobody_polls_keep_no_slot() {
    for local in [true, false] {
        let unpacked = zvf_testkit::unpacked("points_ids").unwrap();
        let mut options = OpenOptions::new().with_concurrency(1);
        let mut url = unpacked.url().unwrap();
        if !local {
            options = options.with_object_store(memory(&bundled("points_ids")).await);
            url = "memory:///".to_owned();
        }
        let store = Store::open_with(&url, options).await.unwrap();
        let level = store.level(0, &Need::all()).await.unwrap();
        let tables = level.object_attributes().to_vec();
        let index = Arc::clone(level.object_index().unwrap());
        let cells: Vec<_> = all_cells(level.vertices());
        let reads = (0..6).map(|i| {
            let (store, index, tables, cells) = (
                store.clone(),
                Arc::clone(&index),
                tables.clone(),
                cells.clone(),
            );
            async move {
                match i % 3 {
                    0 => drop(store.fetch(3, cells).await.unwrap()),
                    1 => drop(index.manifests(&[0]).await.unwrap()),
                    _ => drop(tables[0].read().await.unwrap()),
                }
            }
        });
        let mut stream =
            futures::StreamExt::buffered(futures::stream::iter(reads), 6).boxed_local();
        let walk = async {
            while futures::StreamExt::next(&mut stream).await.is_some() {
                // The owner of the stream waits for something else, and does not poll the stream in the meantime.
                store.fetch(4, cells.clone()).await.unwrap();
                tables[0].read().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), walk)
            .await
            .unwrap();
    }
}

/// Cells that are cached, while clones of the store are in use.
#[tokio::test(flavor = "multi_thread")]
async fn kept_cells_are_not_asked_for_again() {
    let files = bundled("points_ids");
    let plain = crate::support::open_memory(&files).await;
    let expected = crate::support::dump(&plain).await;
    let bytes: u64 = expected.values().flatten().map(|c| c.len() as u64).sum();
    let cells = expected.len() as u64;
    for (limit, again) in [(bytes + 256 * cells, false), (bytes / 4, true), (0, true)] {
        let tool = Arc::new(Tool::new(memory(&files).await));
        let backend: Arc<Tool> = Arc::clone(&tool);
        let trace = IoTrace::on();
        let options = OpenOptions::new()
            .with_object_store(backend)
            .with_trace(trace.clone())
            .with_cell_cache(limit);
        let store = Store::open_with("memory:///", options).await.unwrap();
        assert_eq!(crate::support::dump(&store).await, expected);
        let asked = tool.gets.load(Ordering::SeqCst);
        trace.take();
        assert_eq!(crate::support::dump(&store.clone()).await, expected);
        assert_eq!(tool.gets.load(Ordering::SeqCst) > asked, again, "{limit}");
        assert_eq!(trace.take().is_empty(), !again, "{limit}");
    }
    // On a disk, too, and one batch may be cached in part.
    let folder = crate::support::on_disk(&files);
    let options = OpenOptions::new().with_cell_cache(bytes + 256 * cells);
    let store = Store::open_with(folder.path().to_str().unwrap(), options)
        .await
        .unwrap();
    let level = store.level(0, &Need::default()).await.unwrap();
    let wants = all_cells(level.vertices());
    let half = wants.iter().step_by(2).cloned().collect();
    store.fetch(3, half).await.unwrap();
    let path = folder.path().join("0/vertices/c");
    let twice: Vec<CellWant> = wants.iter().chain(&wants).cloned().collect();
    let found = store.fetch(3, twice).await.unwrap();
    for (want, cell) in wants.iter().chain(&wants).zip(&found) {
        let key = ("0/vertices".to_owned(), want.chunk.to_vec());
        assert_eq!(&expected[&key], cell);
    }
    std::fs::remove_dir_all(path).unwrap();
    assert_eq!(
        store.fetch(4, wants.clone()).await.unwrap(),
        found[..wants.len()]
    );
}
