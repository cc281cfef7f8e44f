//! Shards: the choice of their shape, the lengths in documents after every kind of write, and the rounds of queries without a cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use zvf_edit::{Edit, vacuum};
use zvf_format::shard::ShardIndex;
use zvf_format::shard_lengths;
use zvf_meta::ArrayDoc;
use zvf_migrate::{MigrateOptions, ShardShape, migrate};
use zvf_pyramid::{LevelStep, Method, PyramidSpec};
use zvf_query::{BBox, Query};
use zvf_store::{IoTrace, OpenOptions, Retry, Store};
use zvf_testkit::faults::Dying;
use zvf_write::{
    AttributeSpec, Batch, Compression, Groups, Kind, NumberType, ObjectTable, Outside, PartedStore,
    StoreSpec, StoreWriter, TargetVersion, WriteOptions,
};

use crate::pyramid::{build, mixed};
use crate::support::{ADDRESS, Memory, ask, check_documents, sorted};

/// Points of 50 objects in `cells` chunks along each of three axes.
async fn points(spec: StoreSpec, cells: usize, count: usize) -> Memory {
    let memory = Memory::default();
    let spec = spec
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let extent = cells * 10;
    // Every chunk has a point.
    let chunk = |n: usize, axis: usize| n / cells.pow(axis as u32) % cells * 10;
    let at = |n: usize, axis: usize| chunk(n, axis) + mixed(n * 3 + axis, 97) * 10 / 97;
    let positions: Vec<f64> = (0..count)
        .flat_map(|n| (0..3).map(move |axis| at(n, axis).min(extent - 1) as f64))
        .collect();
    let numbers: Vec<i32> = (0..count).map(|n| n as i32).collect();
    let ids: Vec<i64> = (0..count).map(|n| (n / cells % 50) as i64).collect();
    let batch = Batch::new(positions)
        .with_attribute("n", &numbers)
        .with_object_ids(ids);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    memory
}

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_compression(Compression::None)
}

/// The documents of arrays in shards, by path.
pub(crate) fn sharded(files: &BTreeMap<String, Vec<u8>>) -> Vec<(&str, ArrayDoc)> {
    let docs = files.iter().filter_map(|(key, bytes)| {
        let doc = ArrayDoc::parse(bytes).ok()?;
        let path = key.strip_suffix("/zarr.json")?;
        doc.sharding().unwrap().map(|_| (path, doc))
    });
    docs.collect()
}

/// Checks that the documents list the lengths of exactly the large shards, as in their indexes. Returns the number of large shards.
pub(crate) async fn check_lengths(memory: &Memory) -> usize {
    let files = memory.files().await;
    check_documents(&files);
    let mut count = 0;
    for (path, doc) in sharded(&files) {
        let listed = doc.attributes.shard_lengths.clone().unwrap_or_default();
        let inner = doc.sharding().unwrap().unwrap().chunk_shape;
        let places = doc.chunk_shape.iter().zip(&inner);
        let places: Vec<u64> = places.map(|(all, inner)| all / inner).collect();
        let prefix = format!("{path}/");
        let shards = files.iter().filter_map(|(key, bytes)| {
            let key = key.strip_prefix(&prefix)?;
            key.starts_with("c/").then_some((key, bytes))
        });
        let mut large = 0;
        for (key, bytes) in shards {
            let index = ShardIndex::parse(bytes, places.iter().product()).unwrap();
            if index.data().len() <= 64 << 10 {
                assert!(!listed.contains_key(key), "{path}/{key}");
                continue;
            }
            large += 1;
            let text = listed[key].as_str().unwrap();
            let ranges = shard_lengths::ranges(text, &places).unwrap();
            for (entry, range) in index.entries().iter().zip(ranges) {
                let stored = match entry.is_absent() {
                    true => 0..0,
                    false => entry.offset.get()..entry.offset.get() + entry.nbytes.get(),
                };
                assert_eq!(range, stored, "{path}/{key}");
            }
        }
        assert_eq!(listed.len(), large, "{path}");
        count += large;
    }
    count
}

#[tokio::test]
async fn documents_list_the_lengths_of_large_shards_however_they_were_written() {
    let memory = points(spec().with_shard_shape([4, 4, 2]), 4, 26_000).await;
    let made = check_lengths(&memory).await;
    assert_eq!(made, 2, "positions alone are large");
    memory.check_clean().await;
    // A deletion; a chunk in another place, which moves the origin of the grid; objects that a vacuum moves.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.delete(&[3, 17]).await.unwrap();
    edit.commit().await.unwrap();
    assert_eq!(check_lengths(&memory).await, 2);
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    let far = Batch::new(vec![-25.0, 5.0, 5.0])
        .with_attribute("n", vec![26_000_i32])
        .with_object_ids(vec![99]);
    edit.append(&far).await.unwrap();
    edit.commit().await.unwrap();
    assert!(check_lengths(&memory).await > 0);
    vacuum(ADDRESS, memory.options()).await.unwrap();
    let before = check_lengths(&memory).await;
    assert!(before > 0);
    let level = PyramidSpec::new(vec![LevelStep::new(2.0)]).with_method(Method::Density);
    build(&memory, &level).await.unwrap();
    assert!(check_lengths(&memory).await >= before);
    memory.check_clean().await;
    let copy = Memory::default();
    let options = MigrateOptions::new()
        .with_write(copy.options())
        .with_shard_shape([4, 4, 4]);
    let store = memory.open().await;
    migrate(&store, ADDRESS, options).await.unwrap();
    assert!(check_lengths(&copy).await > 0);
    copy.check_clean().await;
}

#[tokio::test]
async fn parts_list_the_lengths_that_one_writer_lists() {
    let spec = || {
        spec()
            .with_shard_shape([4, 4, 2])
            .with_bounds([0.0; 3], [39.0; 3], Outside::Refuse)
    };
    let half = |part: usize| {
        let positions = (0..6400).flat_map(|n| {
            let at = |axis: usize, size: usize| mixed(n * 3 + axis, size) as f64;
            [at(0, 40), at(1, 40), at(2, 20) + part as f64 * 20.0]
        });
        Batch::new(positions.collect::<Vec<f64>>())
    };
    let one = Memory::default();
    let writer = StoreWriter::create(ADDRESS, spec(), one.options());
    let mut writer = writer.await.unwrap();
    for part in [0, 1] {
        writer.push(&half(part)).unwrap();
    }
    writer.finish().await.unwrap();
    let parted = Memory::default();
    let store = PartedStore::begin(ADDRESS, spec(), parted.options());
    let store = store.await.unwrap();
    for part in [1, 0] {
        let mut writer = store.writer(&format!("part {part}")).await.unwrap();
        writer.push(&half(part)).unwrap();
        writer.finish().await.unwrap();
    }
    store.commit(&Groups::default()).await.unwrap();
    assert_eq!(check_lengths(&parted).await, 2);
    assert!(parted.files().await == one.files().await, "other bytes");
}

#[tokio::test]
async fn a_copy_that_goes_on_lists_the_lengths_of_earlier_shards() {
    let source = points(spec(), 4, 12_800).await;
    let store = source.open().await;
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let options = |backend: Arc<dyn ObjectStore>| {
        let mut open = OpenOptions::new().with_object_store(backend);
        open.io.retry = Retry::never();
        open.io.concurrency = 1;
        let mut write = WriteOptions::new().with_open(open).with_threads(1);
        write.journal = Some(journal.clone());
        MigrateOptions::new()
            .with_write(write)
            .with_shard_shape([4, 4, 2])
    };
    let whole = Memory::default();
    let done = migrate(&store, ADDRESS, options(whole.0.clone())).await;
    done.unwrap();
    assert!(check_lengths(&whole).await >= 2);
    let expected = whole.files().await;
    for at in [6, 9, 12] {
        let memory = Memory::default();
        let dying = Arc::new(Dying::new(memory.0.clone(), at, true));
        let died = migrate(&store, ADDRESS, options(dying)).await;
        assert!(died.is_err() && journal.exists(), "write {at}");
        let done = migrate(&store, ADDRESS, options(memory.0.clone())).await;
        done.unwrap();
        assert!(memory.files().await == expected, "write {at}: other bytes");
    }
}

/// The rounds and numbers of the first query of a newly opened store.
pub(crate) async fn cold(memory: &Memory, asked: Query) -> (u32, Vec<usize>) {
    let trace = IoTrace::on();
    let options = memory.open_options().with_trace(trace.clone());
    // The final check for changes of the store is not part of the query.
    let options = options.with_verify(false);
    let store = Store::open_with(ADDRESS, options).await.unwrap();
    let found = ask(&store, asked).await.numbers();
    let rounds = trace.take().iter().map(|request| request.round).max();
    (rounds.unwrap(), sorted(found))
}

#[tokio::test]
async fn cold_questions_to_large_shards_take_no_further_round() {
    let plain = points(spec(), 4, 30_000).await;
    let shards = points(spec().with_shard_shape([4; 3]), 4, 30_000).await;
    assert_eq!(check_lengths(&shards).await, 2);
    let boxed = || Query {
        bbox: Some(BBox::new(vec![1.0; 3], vec![4.0; 3]).unwrap()),
        ..Query::default()
    };
    let one = || Query {
        objects: Some(vec![17]),
        ..Query::default()
    };
    let questions: [fn() -> Query; 2] = [boxed, one];
    for asked in questions {
        let (rounds, found) = cold(&plain, asked()).await;
        assert!(!found.is_empty());
        assert_eq!(cold(&shards, asked()).await, (rounds, found));
    }
    // Without the lengths, reading the index takes another round.
    let files = shards.files().await;
    for (path, mut doc) in sharded(&files) {
        doc.attributes.shard_lengths = None;
        let path = Path::from(format!("some/points.zarrvectors/{path}/zarr.json"));
        let document = doc.to_json().into_bytes();
        shards.0.put(&path, document.into()).await.unwrap();
    }
    let (rounds, found) = cold(&plain, boxed()).await;
    assert_eq!(cold(&shards, boxed()).await, (rounds + 1, found));
}

#[tokio::test]
async fn shards_are_chosen_from_two_thousand_cells_on() {
    let auto = || spec().with_shard_shape(ShardShape::Auto);
    let shape = |files: &BTreeMap<String, Vec<u8>>| {
        let doc = ArrayDoc::parse(&files["0/vertices/zarr.json"]).unwrap();
        doc.sharding().unwrap().map(|_| doc.chunk_shape)
    };
    let few = points(auto(), 8, 512).await.files().await;
    assert_eq!(shape(&few), None);
    let older = points(auto().with_target(TargetVersion::V0_8_1), 10, 1000).await;
    assert!(!older.files().await.contains_key("0/vertices/zarr.json/c"));
    let chosen = points(auto(), 10, 1000).await;
    let files = chosen.files().await;
    assert_eq!(shape(&files), Some(vec![2, 2, 4]));
    assert!(files.len() < 500, "{} files", files.len());
    chosen.check_clean().await;
    let plain = points(spec(), 10, 1000).await;
    let numbers = ask(&plain.open().await, Query::default()).await.numbers();
    assert_eq!(
        sorted(ask(&chosen.open().await, Query::default()).await.numbers()),
        sorted(numbers)
    );
    // The shards of a copy are chosen from the chunks of the copy.
    for (chunk, shards) in [(None, Some(vec![2, 2, 4])), (Some([20.0; 3]), None)] {
        let copy = Memory::default();
        let mut options = MigrateOptions::new()
            .with_write(copy.options())
            .with_shard_shape(ShardShape::Auto);
        if let Some(chunk) = chunk {
            options = options.with_chunk_shape(chunk);
        }
        let store = plain.open().await;
        migrate(&store, ADDRESS, options).await.unwrap();
        assert_eq!(shape(&copy.files().await), shards, "{chunk:?}");
        copy.check_clean().await;
    }
    let edited = {
        let mut edit = Edit::open(ADDRESS, chosen.options()).await.unwrap();
        edit.put_objects(&ObjectTable::new(vec![70])).await.unwrap();
        edit.delete(&[5]).await.unwrap();
        edit.commit().await.unwrap();
        ask(&chosen.open().await, Query::default()).await.numbers()
    };
    assert_eq!(edited.len(), 980);
    chosen.check_clean().await;
}

/// The cells of an array in shards as they are stored, by chunk.
fn stored_cells(files: &BTreeMap<String, Vec<u8>>, path: &str) -> BTreeMap<Vec<i64>, Vec<u8>> {
    let docs = sharded(files);
    let (_, doc) = docs.iter().find(|(of, _)| *of == path).unwrap();
    let shape = &doc.chunk_shape;
    let origin = doc.attributes.chunk_grid_origin.clone();
    let origin = origin.unwrap_or_else(|| vec![0; shape.len()]);
    let mut cells = BTreeMap::new();
    for (key, bytes) in files {
        let Some(shard) = key.strip_prefix(&format!("{path}/c/")) else {
            continue;
        };
        let shard: Vec<u64> = shard.split('/').map(|at| at.parse().unwrap()).collect();
        let count: u64 = shape.iter().product();
        let index = ShardIndex::parse(bytes, count).unwrap();
        for place in 0..count {
            let Some(cell) = index.get(place as usize) else {
                continue;
            };
            let mut rest = place;
            let mut chunk = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                let at = shard[axis] * shape[axis] + rest % shape[axis];
                chunk[axis] = at as i64 + origin[axis];
                rest /= shape[axis];
            }
            cells.insert(chunk, cell.to_vec());
        }
    }
    cells
}

/// Appends one point.
async fn append(memory: &Memory, at: [f64; 3]) -> Result<(), zvf_write::WriteError> {
    let mut edit = Edit::open(ADDRESS, memory.options()).await?;
    let point = Batch::new(at.to_vec())
        .with_attribute("n", vec![-1_i32])
        .with_object_ids(vec![7]);
    if let Err(error) = edit.append(&point).await {
        edit.abandon().await.unwrap();
        return Err(error);
    }
    edit.commit().await.map(|_| ())
}

#[tokio::test]
async fn cells_that_stay_in_a_changed_shard_keep_their_bytes() {
    const PATH: &str = "0/vertices";
    let spec = spec()
        .with_shard_shape([2, 2, 2])
        .with_compression(Compression::Zstd);
    let memory = points(spec, 4, 5000).await;
    // Damage that the index does not show, in a neighbour of the changing chunk: it must still be found afterwards.
    let files = memory.files().await;
    let key = format!("{PATH}/c/0/0/0");
    let mut shard = files[&key].clone();
    let index = ShardIndex::parse(&shard, 8).unwrap();
    let [chunk, neighbour] = [0, 1].map(|place: usize| index.entries()[place].offset.get());
    assert_ne!(chunk, neighbour);
    shard[neighbour as usize + 2] ^= 0xff;
    memory.put(&key, shard).await;
    let before = stored_cells(&memory.files().await, PATH);
    append(&memory, [5.0, 5.0, 5.0]).await.unwrap();
    let mut after = stored_cells(&memory.files().await, PATH);
    assert_ne!(
        after.insert(vec![0, 0, 0], before[&vec![0, 0, 0]].clone()),
        None
    );
    assert_eq!(after, before);
    // The origin of the grid moves: the same cells in other shards.
    append(&memory, [-25.0, 5.0, 5.0]).await.unwrap();
    let mut moved = stored_cells(&memory.files().await, PATH);
    assert!(moved.remove(&vec![-3, 0, 0]).is_some());
    moved.insert(vec![0, 0, 0], before[&vec![0, 0, 0]].clone());
    assert_eq!(moved, before);
    let store = memory.open().await;
    let error = zvf_query::query(&store, Query::default()).await;
    let error = match error {
        Ok(answer) => answer.collect().await.err(),
        Err(error) => Some(error),
    };
    let error = error.expect("the damage is still there").to_string();
    assert!(error.contains(PATH), "{error}");
}

/// A new shard without a listed cell would look as if the cell had never existed.
#[tokio::test]
async fn a_lost_cell_in_a_changed_shard_is_an_error() {
    let memory = points(spec().with_shard_shape([2, 2, 2]), 4, 5000).await;
    let key = "0/vertices/c/0/0/0";
    let whole = memory.files().await[key].clone();
    let mut shard = whole.clone();
    let index = shard.len() - 8 * 16 - 4;
    // Marks the cell of chunk (0, 0, 1) as absent, with a valid checksum.
    shard[index + 16..index + 32].fill(0xff);
    let end = shard.len() - 4;
    let sum = crc32c::crc32c(&shard[index..end]);
    shard[end..].copy_from_slice(&sum.to_le_bytes());
    memory.put(key, shard.clone()).await;
    let error = append(&memory, [5.0, 5.0, 5.0])
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(key) && error.contains("[0, 0, 1]"),
        "{error}"
    );
    assert_eq!(memory.files().await[key], shard, "nothing was written");
    // A damaged index.
    shard[end] ^= 1;
    memory.put(key, shard).await;
    assert!(append(&memory, [5.0, 5.0, 5.0]).await.is_err());
    memory.put(key, whole).await;
    append(&memory, [5.0, 5.0, 5.0]).await.unwrap();
    memory.check_clean().await;
}
