//! Manifests in shards: their array, queries for few objects, edits, damage.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use zvf_edit::{Edit, Scope, SetAttribute, vacuum};
use zvf_meta::ArrayDoc;
use zvf_migrate::{MigrateOptions, migrate};
use zvf_pyramid::{LevelStep, Method, PyramidSpec, build_pyramid};
use zvf_query::{Filter, ListedObjects, ObjectListing, Query};
use zvf_store::{CallerStep, CallerStore, IoTrace, Object, OpenOptions, Store};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, StoreWriter, TargetVersion};

use crate::pyramid::mixed;
use crate::shards::{check_lengths, cold, sharded};
use crate::support::{ADDRESS, Memory, ask, check_documents, column, sorted};

const MANIFESTS: &str = "0/object_index/manifests";

/// Lines of three vertices with consecutive numbers: the first number is three times the id.
fn batch(ids: impl Iterator<Item = i64>) -> Batch {
    let (mut positions, mut numbers, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for id in ids {
        let number = usize::try_from(id).unwrap();
        for vertex in 0..3 {
            let at = |axis| mixed(number * 3 + axis, 32) as f64 + f64::from(vertex) * 2.5;
            positions.extend([at(0), at(1), at(2)]);
            numbers.push(i32::try_from(number).unwrap() * 3 + vertex);
        }
        runs.push((id, 3));
    }
    Batch::new(positions)
        .with_object_runs(runs)
        .with_attribute("n", numbers)
}

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::Streamline, [8.0; 3])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32))
}

async fn lines(spec: StoreSpec, count: i64) -> Memory {
    let memory = Memory::default();
    let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
    let mut writer = writer.unwrap();
    writer.push(&batch(0..count)).unwrap();
    writer.finish().await.unwrap();
    memory
}

fn numbers(ids: impl IntoIterator<Item = i64>) -> Vec<usize> {
    let ids = ids.into_iter().map(|id| usize::try_from(id).unwrap());
    ids.flat_map(|id| id * 3..id * 3 + 3).collect()
}

fn of(objects: Vec<i64>) -> Query {
    Query {
        objects: Some(objects),
        ..Query::default()
    }
}

/// Number of manifests in a shard, and in a chunk of it; `None`: no shards.
fn shape(files: &BTreeMap<String, Vec<u8>>) -> Option<(u64, u64)> {
    let docs = sharded(files);
    let (_, doc) = docs.iter().find(|(path, _)| *path == MANIFESTS)?;
    let inner = doc.sharding().unwrap().unwrap().chunk_shape;
    Some((doc.chunk_shape[0], inner[0]))
}

fn stored(files: &BTreeMap<String, Vec<u8>>) -> usize {
    let prefix = format!("{MANIFESTS}/c/");
    files.keys().filter(|key| key.starts_with(&prefix)).count()
}

#[tokio::test]
async fn manifests_are_in_shards_where_cells_are_and_they_are_many() {
    let sharded = || spec().with_shard_shape([2; 3]);
    for (spec, count, expected, files) in [
        (spec(), 1300, None, 3),
        (sharded(), 511, None, 1),
        (sharded(), 512, Some((16_384, 128)), 1),
        (sharded().with_target(TargetVersion::V0_8_1), 1300, None, 3),
    ] {
        let memory = lines(spec, count).await;
        let found = memory.files().await;
        check_documents(&found);
        assert_eq!(
            (shape(&found), stored(&found)),
            (expected, files),
            "{count}"
        );
        let store = memory.open().await;
        let all = ask(&store, Query::default()).await.numbers();
        assert_eq!(sorted(all), numbers(0..count));
        for id in [0, 127, 128, 300, count - 1] {
            assert_eq!(ask(&store, of(vec![id])).await.numbers(), numbers([id]));
        }
    }
}

#[tokio::test]
async fn manifests_in_shards_change_as_others_do() {
    const COUNT: i64 = 16_380;
    let memory = lines(spec().with_shard_shape([4; 3]), COUNT).await;
    check_lengths(&memory).await;
    let doc = &memory.files().await[&format!("{MANIFESTS}/zarr.json")];
    let listed = ArrayDoc::parse(doc).unwrap().attributes.shard_lengths;
    assert_eq!(listed.map(|shards| shards.len()), Some(1));
    memory.check_clean().await;
    // Rows after the end of the first shard, rows in its middle, and rows that become empty.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.append(&batch(COUNT..COUNT + 10)).await.unwrap();
    edit.delete(&[5, 9000]).await.unwrap();
    edit.commit().await.unwrap();
    let files = memory.files().await;
    assert_eq!((shape(&files), stored(&files)), (Some((16_384, 128)), 2));
    check_lengths(&memory).await;
    memory.check_clean().await;
    let kept = || (0..COUNT + 10).filter(|id| ![5, 9000].contains(id));
    let check = async |memory: &Memory| {
        let store = memory.open().await;
        let all = ask(&store, Query::default()).await.numbers();
        assert_eq!(sorted(all), numbers(kept()));
        let some = vec![COUNT + 9, 4, 6, 127, 128, 8999, 9001, COUNT, COUNT - 1, 0];
        let found = ask(&store, of(some.clone())).await.numbers();
        assert_eq!(found, numbers(some), "in the given order");
    };
    check(&memory).await;
    vacuum(ADDRESS, memory.options()).await.unwrap();
    let files = memory.files().await;
    let doc = ArrayDoc::parse(&files[&format!("{MANIFESTS}/zarr.json")]).unwrap();
    assert_eq!((doc.shape, stored(&files)), (vec![16_388], 2));
    check_lengths(&memory).await;
    check(&memory).await;
    memory.check_clean().await;
    // Less than a shard is left: its second object is deleted.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.delete(&(6..16).collect::<Vec<_>>()).await.unwrap();
    edit.commit().await.unwrap();
    vacuum(ADDRESS, memory.options()).await.unwrap();
    assert_eq!(stored(&memory.files().await), 1);
    check_lengths(&memory).await;
    memory.check_clean().await;
    let level = PyramidSpec::new(vec![LevelStep::new(2.0)]).with_method(Method::Density);
    // A small budget would divide so many objects into thousands of parts.
    let large = memory.options().with_memory_budget(1 << 24);
    build_pyramid(ADDRESS, &level, &large, Arc::new(|_| ()))
        .await
        .unwrap();
    memory.check_clean().await;
    // A copy without shards does not have them, a copy with shards has them again.
    for (cells, expected) in [(vec![], None), (vec![2; 3], Some((16_384, 128)))] {
        let copy = Memory::default();
        let options = MigrateOptions::new()
            .with_write(copy.options())
            .with_shard_shape(cells);
        let store = memory.open().await;
        migrate(&store, ADDRESS, options).await.unwrap();
        assert_eq!(shape(&copy.files().await), expected);
        check_lengths(&copy).await;
        copy.check_clean().await;
        let found = ask(&copy.open().await, of(vec![16_389, 17])).await;
        assert_eq!(found.numbers(), numbers([16_389, 17]));
    }
}

#[tokio::test]
async fn a_value_for_a_vertex_of_an_object_reads_no_manifests_of_others() {
    let memory = lines(spec(), 1300).await;
    assert_eq!(stored(&memory.files().await), 3);
    let trace = IoTrace::on();
    let open = memory.open_options().with_trace(trace.clone());
    let columns: [(&str, ArrayRef); 3] = [
        ("object_id", Arc::new(Int64Array::from(vec![700]))),
        ("vertex", Arc::new(Int64Array::from(vec![1]))),
        ("n", Arc::new(Int32Array::from(vec![-7]))),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut edit = Edit::open(ADDRESS, memory.options().with_open(open))
        .await
        .unwrap();
    let set = SetAttribute::new(Scope::Vertex, "n");
    edit.set_attribute(&set, Some(&rows)).await.unwrap();
    edit.commit().await.unwrap();
    let requests = trace.take();
    let prefix = format!("{MANIFESTS}/c/");
    let read = requests.iter().filter(|one| one.key.starts_with(&prefix));
    assert_eq!(read.count(), 1);
    let found = ask(&memory.open().await, of(vec![700])).await;
    assert_eq!(column(&found.vertices, "n"), ["2100", "-7", "2102"]);
    memory.check_clean().await;
}

#[tokio::test]
async fn a_list_of_few_objects_reads_few_manifests() {
    let memory = lines(spec(), 1300).await;
    for (condition, ids, parts) in [
        ("object_id = 700", &["700"][..], 1),
        (
            "object_id in (1200, 5, 1299, 5000)",
            &["5", "1200", "1299"],
            2,
        ),
        ("object_id > 5000", &[], 0),
        ("count() < 3", &[], 3),
    ] {
        let trace = IoTrace::on();
        let open = memory.open_options().with_trace(trace.clone());
        let store = Store::open_with(ADDRESS, open).await.unwrap();
        let mut listing = ObjectListing::default();
        listing.condition = Some(Filter::parse(condition).unwrap());
        let mut listed = ListedObjects::start(&store, listing).await.unwrap();
        let (mut found, mut lengths) = (Vec::new(), Vec::new());
        while let Some(batch) = listed.next().await.unwrap() {
            found.extend(column(&batch, "object_id"));
            lengths.extend(column(&batch, "vertices"));
        }
        assert_eq!(found, ids, "{condition}");
        assert_eq!(listed.total(), ids.len() as u64, "{condition}");
        assert!(lengths.iter().all(|length| length == "3"), "{lengths:?}");
        let requests = trace.take();
        let prefix = format!("{MANIFESTS}/c/");
        let read = requests.iter().filter(|one| one.key.starts_with(&prefix));
        assert_eq!(read.count(), parts, "{condition}");
    }
}

#[tokio::test]
async fn a_lost_shard_of_manifests_is_an_error() {
    let memory = lines(spec().with_shard_shape([4; 3]), 16_400).await;
    let files = memory.files().await;
    assert_eq!(stored(&files), 2);
    let key = format!("{MANIFESTS}/c/1");
    memory.remove(&key).await;
    let store = memory.open().await;
    let error = |asked: Query| async {
        match zvf_query::query(&store, asked).await {
            Ok(answer) => answer.collect().await.err(),
            Err(error) => Some(error),
        }
    };
    assert!(error(of(vec![3])).await.is_none());
    let found = error(of(vec![16_399])).await.expect("its manifest is gone");
    assert!(found.to_string().contains(&key), "{found}");
    // The index of the shard has no entry for a chunk, although all its rows are written.
    let mut shard = files[&key].clone();
    let index = shard.len() - 128 * 16 - 4;
    shard[index..index + 16].fill(0xff);
    let end = shard.len() - 4;
    let sum = crc32c::crc32c(&shard[index..end]);
    shard[end..].copy_from_slice(&sum.to_le_bytes());
    memory.put(&key, shard).await;
    let store = memory.open().await;
    let answer = zvf_query::query(&store, of(vec![16_399])).await;
    assert!(answer.is_err(), "the chunk is gone");
}

#[tokio::test]
async fn one_object_takes_as_many_rounds_as_without_shards() {
    const COUNT: i64 = 40_000;
    let plain = lines(spec(), COUNT).await;
    let shards = lines(spec().with_shard_shape([4; 3]), COUNT).await;
    assert!(check_lengths(&shards).await >= 3);
    for ids in [
        vec![17],
        vec![0, 20_000, 39_999],
        (0..400).map(|n| n * 97).collect(),
    ] {
        let expected = sorted(numbers(ids.clone()));
        let (rounds, found) = cold(&plain, of(ids.clone())).await;
        assert_eq!(found, expected);
        assert_eq!(cold(&shards, of(ids)).await, (rounds, expected));
    }
}

/// Number of rounds of requests, as counted by a caller that sends them itself; and the numbers in the query result.
async fn steps(memory: &Memory, asked: Query) -> (u32, Vec<usize>) {
    let files = memory.files().await;
    let caller = CallerStore::new();
    let options = OpenOptions::new()
        .with_caller_store(caller.clone())
        .with_verify(false);
    let mut run = caller
        .run(async {
            let store = Store::open_with("files", options).await.unwrap();
            ask(&store, asked).await.numbers()
        })
        .unwrap();
    let mut steps = 0;
    loop {
        match run.step().unwrap() {
            CallerStep::Done(numbers) => return (steps, sorted(numbers)),
            CallerStep::Fetch(wanted) => {
                steps += 1;
                for one in wanted {
                    let found = files.get(&one.key).map(|bytes| {
                        let range = one.ask.of(bytes.len() as u64);
                        let (start, end) = (range.start as usize, range.end as usize);
                        Object::new(bytes[start..end].to_vec(), range.start, bytes.len() as u64)
                    });
                    run.answer(one.id, Ok(found)).unwrap();
                }
            }
        }
    }
}

/// The memory budget counts decoded chunks, not the shards that contain them.
#[tokio::test]
async fn manifests_of_few_objects_in_many_shards_are_requested_together() {
    const COUNT: i64 = 40_000;
    let asked = |ids: &[i64]| Query {
        memory_budget: 4 << 20,
        ..of(ids.to_vec())
    };
    for shards in [vec![], vec![4; 3]] {
        let memory = lines(spec().with_shard_shape(shards.clone()), COUNT).await;
        let (one, _) = steps(&memory, asked(&[17])).await;
        let far = [17, 16_390, 20_000, 33_000, 39_999];
        let expected = (one, numbers(far));
        assert_eq!(steps(&memory, asked(&far)).await, expected, "{shards:?}");
    }
}
