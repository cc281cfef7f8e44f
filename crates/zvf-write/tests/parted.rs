//! Distributed writes: the parts make the same store as one writer would, and no two parts write the same cell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use object_store::ObjectStoreExt;
use zvf_query::Query;
use zvf_store::{OpenOptions, Retry, Store};
use zvf_write::{
    AttributeSpec, Batch, Class, Groups, Kind, NumberType, ObjectTable, Outside, PartOptions,
    PartStart, PartedStore, StaleFiles, StoreSpec, StoreWriter, Values, WriteError, WriteOptions,
};

use crate::support::{ADDRESS, Memory, ask, check_documents};
use zvf_testkit::faults::{Dying, Fault, Sort, Trouble, Unsteady};
use zvf_testkit::sample::Sample;

pub(crate) const NAMES: [&str; 3] = ["left", "middle", "right"];

pub(crate) fn spec(kind: Kind) -> StoreSpec {
    let spec = StoreSpec::new(kind, [10.0; 2])
        .with_bounds([0.0; 2], [89.0, 30.0], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    if kind == Kind::PointCloud {
        spec.with_bin_shape([5.0; 2])
    } else {
        spec.with_object_attribute(AttributeSpec::text("name"))
    }
}

/// Vertices of one part: 30 units wide, in 3 chunks along the axis. Objects of graphs and meshes have vertices in all parts.
pub(crate) fn push(writer: &mut StoreWriter, kind: Kind, part: usize) -> Result<(), WriteError> {
    let shared = matches!(kind, Kind::Graph | Kind::Mesh);
    let n: Vec<i32> = (0..24)
        .map(|n| i32::try_from(part).unwrap() * 24 + n)
        .collect();
    let left = part as f64 * 30.0;
    let positions: Vec<f64> = n
        .iter()
        .flat_map(|n| [left + f64::from(n * 7 % 29), f64::from(n * 11 % 30)])
        .collect();
    let mut batch = Batch::new(positions).with_attribute("n", &n);
    if kind != Kind::PointCloud {
        let id = |n: i32| {
            if shared {
                i64::from(n % 5) - 2
            } else {
                i64::from(n / 6) * 3
            }
        };
        let ids: Vec<i64> = n.iter().map(|n| id(*n)).collect();
        let names = Values::texts([format!("of {}", NAMES[part])]);
        writer.push_objects(
            &ObjectTable::new(vec![1000 - part as i64]).with_attribute("name", names),
        )?;
        batch = batch.with_object_ids(ids);
    }
    let links: Vec<u64> = match kind {
        Kind::Graph => (0..23).flat_map(|at| [at, (at * 5 + 3) % 24]).collect(),
        Kind::Mesh => (0..20).flat_map(|at| [at, at + 3, at + 1]).collect(),
        Kind::Skeleton => (0..24)
            .filter(|at| at % 6 != 0)
            .flat_map(|at| [at, at - 1 - (at % 6) / 4])
            .collect(),
        _ => Vec::new(),
    };
    if !links.is_empty() {
        batch = batch.with_links(links);
    }
    writer.push(&batch)
}

pub(crate) fn groups(kind: Kind) -> Groups {
    if kind == Kind::PointCloud {
        Groups::default()
    } else {
        Groups::new(vec![vec![1000, 998], vec![0]]).with_names(["ends", "zero"])
    }
}

#[tokio::test]
async fn parts_together_are_the_store_that_one_writer_makes() {
    for kind in [
        Kind::PointCloud,
        Kind::Streamline,
        Kind::Graph,
        Kind::Skeleton,
        Kind::Mesh,
    ] {
        for shards in [None, Some([3, 2])] {
            let spec = || match shards {
                Some(shards) => spec(kind).with_shard_shape(shards),
                None => spec(kind),
            };
            let one = Memory::default();
            let mut writer = StoreWriter::create(ADDRESS, spec(), one.options())
                .await
                .unwrap();
            for part in 0..3 {
                push(&mut writer, kind, part).unwrap();
            }
            if kind != Kind::PointCloud {
                writer.set_groups(&groups(kind)).unwrap();
            }
            let whole = writer.finish().await.unwrap();
            let expected = one.files().await;

            let memory = Memory::default();
            let store = PartedStore::begin(ADDRESS, spec(), memory.options())
                .await
                .unwrap();
            let (mut vertices, mut chunks) = (0, 0);
            // In any order, each from another program.
            for part in [2, 0, 1] {
                let joined = PartedStore::join(ADDRESS, spec(), memory.options())
                    .await
                    .unwrap();
                let mut writer = joined.writer(NAMES[part]).await.unwrap();
                push(&mut writer, kind, part).unwrap();
                let summary = writer.finish().await.unwrap();
                vertices += summary.vertices;
                chunks += summary.chunks;
                let there = Store::open_with(ADDRESS, memory.open_options()).await;
                assert!(there.is_err(), "no store before the end");
            }
            let committed = store.commit(&groups(kind)).await.unwrap();
            assert_eq!(committed.summary, Some(whole));
            assert_eq!(committed.parts, ["left", "middle", "right"]);
            assert_eq!((vertices, chunks), (whole.vertices, whole.chunks));
            let files = memory.files().await;
            check_documents(&files);
            let names = |files: &std::collections::BTreeMap<String, _>| {
                files.keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(names(&files), names(&expected));
            for (key, bytes) in &files {
                assert_eq!(bytes, &expected[key], "{kind:?}, {key}");
            }
        }
    }
}

#[tokio::test]
async fn two_parts_that_want_one_cell_are_told_before_they_write() {
    let memory = Memory::default();
    // A shard extends from the first part into the second.
    let spec = || spec(Kind::Graph).with_shard_shape([4, 3]);
    let store = PartedStore::begin(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let mut left = store.writer("left").await.unwrap();
    push(&mut left, Kind::Graph, 0).unwrap();
    left.finish().await.unwrap();
    let before = memory.files().await;
    let mut middle = store.writer("middle").await.unwrap();
    push(&mut middle, Kind::Graph, 1).unwrap();
    let told = middle.finish().await.unwrap_err().to_string();
    assert!(told.contains("parts middle and left both"), "{told}");
    assert_eq!(
        memory.files().await,
        before,
        "nothing of the other was touched"
    );
    // The other part can be committed.
    let committed = store.commit(&Groups::default()).await.unwrap();
    assert_eq!(committed.summary.unwrap().vertices, 24);
}

#[tokio::test]
async fn what_is_not_finished_is_not_committed() {
    let memory = Memory::default();
    let kind = Kind::Streamline;
    let begin = || PartedStore::begin(ADDRESS, spec(kind), memory.options());
    let store = begin().await.unwrap();
    assert!(!store.was_begun_before());
    assert!(begin().await.unwrap().was_begun_before());
    let told = PartedStore::begin(ADDRESS, spec(Kind::Graph), memory.options()).await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("parts with other options"), "{told}");
    assert!(
        told.contains("kind is \"streamline\" there and \"graph\" here"),
        "{told}"
    );
    let told = StoreWriter::create(ADDRESS, spec(kind), memory.options()).await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("an unfinished store in parts"), "{told}");
    let other = PartedStore::join(ADDRESS, spec(Kind::Graph), memory.options()).await;
    assert!(
        other
            .unwrap_err()
            .to_string()
            .contains("parts with other options")
    );

    // A part dies after its claim and before its note.
    let dying = Dying::new(memory.0.clone(), 3, true);
    let mut open = OpenOptions::new().with_object_store(Arc::new(dying));
    open.io.retry = Retry::never();
    let options = WriteOptions::new().with_open(open).with_threads(1);
    let dies = PartedStore::join(ADDRESS, spec(kind), options)
        .await
        .unwrap();
    let mut writer = dies.writer("left").await.unwrap();
    push(&mut writer, kind, 0).unwrap();
    writer.finish().await.unwrap_err();
    let again = || PartedStore::join(ADDRESS, spec(kind), memory.options());
    let told = store.commit(&Groups::default()).await.unwrap_err();
    assert!(
        told.to_string()
            .contains("parts: found 0 finished; begun and not finished: left"),
        "{told}"
    );
    // It can be written again under the same name, but only once.
    let mut writer = again().await.unwrap().writer("left").await.unwrap();
    push(&mut writer, kind, 0).unwrap();
    writer.finish().await.unwrap();
    let told = again().await.unwrap().writer("left").await;
    let told = told.unwrap_err().to_string();
    assert!(told.contains("part left was finished before"), "{told}");
    // A streamline with vertices in two parts has no order.
    let mut writer = again().await.unwrap().writer("right").await.unwrap();
    let far = Batch::new(vec![75.0_f64, 5.0])
        .with_object_ids(vec![0])
        .with_attribute("n", vec![7]);
    writer.push(&far).unwrap();
    writer.finish().await.unwrap();
    let told = again().await.unwrap().commit(&Groups::default()).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("object 0: found vertices in parts left and right"),
        "{told}"
    );
    assert!(
        Store::open_with(ADDRESS, memory.open_options())
            .await
            .is_err()
    );
    // Finished parts cannot be taken over, only discarded.
    let before = memory.files().await;
    let options = || memory.options().with_stale_files(StaleFiles::Remove);
    let told = [
        PartedStore::begin(ADDRESS, spec(kind), options())
            .await
            .unwrap_err(),
        StoreWriter::create(ADDRESS, spec(kind), options())
            .await
            .unwrap_err(),
    ];
    for told in told.map(|told| told.to_string()) {
        assert!(told.contains("2 finished parts (left, right)"), "{told}");
        assert!(told.contains("--discard-parts"), "{told}");
    }
    assert_eq!(memory.files().await, before);
    let discarded = PartedStore::discard(ADDRESS, memory.options()).await;
    assert_eq!(discarded.unwrap(), ["left", "right"]);
    assert!(memory.files().await.is_empty());
    let fresh = begin().await.unwrap();
    // Without a finished part nothing can be lost.
    let cleared = PartedStore::begin(ADDRESS, spec(kind), options())
        .await
        .unwrap();
    assert!(!cleared.was_begun_before());
    assert!(
        fresh.commit(&Groups::default()).await.is_err(),
        "no part at all"
    );
}

/// Rows of texts of one part; the dictionaries of the parts are completely different, and some texts are missing.
pub(crate) fn texts(part: usize) -> Vec<Option<String>> {
    (0..24)
        .map(|row| match (part, row % 5) {
            (1, 3) => None,
            (_, at) => Some(format!("{}{}", ["z", "a", "m"][part], at * (part + 1))),
        })
        .collect()
}

#[tokio::test]
async fn texts_of_parts_are_those_of_one_writer() {
    for shards in [None, Some([3, 2])] {
        for missing in [false, true] {
            let spec = || {
                let spec = spec(Kind::Graph)
                    .with_vertex_attribute(AttributeSpec::category("type"))
                    .with_vertex_attribute(AttributeSpec::number("w", NumberType::F32))
                    .with_vertex_attribute(AttributeSpec::category("one"));
                match shards {
                    Some(shards) => spec.with_shard_shape(shards),
                    None => spec,
                }
            };
            let push = |writer: &mut StoreWriter, part: usize| {
                let n: Vec<i32> = (0..24).map(|n| part as i32 * 24 + n).collect();
                let left = part as f64 * 30.0;
                let positions: Vec<f64> = n
                    .iter()
                    .flat_map(|n| [left + f64::from(n * 7 % 29), f64::from(n * 11 % 30)])
                    .collect();
                let mut words = texts(part);
                if !missing {
                    words.iter_mut().for_each(|word| {
                        word.get_or_insert_with(String::new);
                    });
                }
                let weights: Vec<f32> = n.iter().map(|n| *n as f32).collect();
                let batch = Batch::new(positions)
                    .with_object_ids(n.iter().map(|n| i64::from(n % 5)).collect::<Vec<_>>())
                    .with_attribute("n", &n)
                    .with_attribute("type", Values::optional_texts(words))
                    .with_attribute("w", &weights)
                    .with_attribute("one", Values::texts(vec!["same"; 24]));
                writer.push(&batch)
            };
            let one = Memory::default();
            let mut writer = StoreWriter::create(ADDRESS, spec(), one.options())
                .await
                .unwrap();
            (0..3).for_each(|part| push(&mut writer, part).unwrap());
            writer.finish().await.unwrap();

            let memory = Memory::default();
            let store = PartedStore::begin(ADDRESS, spec(), memory.options())
                .await
                .unwrap();
            for part in [1, 2, 0] {
                let mut writer = store.writer(NAMES[part]).await.unwrap();
                push(&mut writer, part).unwrap();
                writer.finish().await.unwrap();
            }
            store.commit(&Groups::default()).await.unwrap();
            assert_eq!(memory.files().await, one.files().await);
            memory.check_clean().await;
        }
    }
}

/// Points of one part, with a number that identifies the input.
pub(crate) async fn points(
    store: &PartedStore,
    name: &str,
    options: PartOptions,
    number: i32,
) -> Result<bool, WriteError> {
    let PartStart::Writer(mut writer) = store.part(name, options).await? else {
        return Ok(false);
    };
    push_points(&mut writer, name, number)?;
    writer.finish().await.map(|_| true)
}

pub(crate) fn push_points(
    writer: &mut StoreWriter,
    name: &str,
    number: i32,
) -> Result<(), WriteError> {
    let at = NAMES.iter().position(|known| *known == name).unwrap();
    let left = at as f64 * 30.0;
    let positions: Vec<f64> = (0..24)
        .flat_map(|n| [left + f64::from(n % 24), f64::from(n * 11 % 30)])
        .collect();
    writer.push(&Batch::new(positions).with_attribute("n", vec![number; 24]))
}

/// The numbers in a store, and how many rows have each.
pub(crate) async fn numbers(memory: &Memory) -> BTreeMap<i32, usize> {
    let answer = ask(&memory.open().await, Query::default()).await;
    let column = answer.vertices.column_by_name("n").unwrap();
    let mut counts = BTreeMap::new();
    for number in column.as_primitive::<Int32Type>().values() {
        *counts.entry(*number).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn of_two_programs_of_one_name_one_is_the_part() {
    let memory = Memory::default();
    let spec = || spec(Kind::PointCloud);
    let store = PartedStore::begin(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let begin = async |name| match store.part(name, PartOptions::new()).await.unwrap() {
        PartStart::Writer(writer) => writer,
        PartStart::Finished(_) => panic!("{name} is not finished"),
    };
    // Other data: the second program to finish fails, and leaves nothing behind.
    let (mut first, mut second) = (begin("left").await, begin("left").await);
    push_points(&mut first, "left", 1).unwrap();
    push_points(&mut second, "left", 2).unwrap();
    second.finish().await.unwrap();
    let told = first.finish().await.unwrap_err();
    assert!(told.to_string().contains("with other data"), "{told}");
    assert_eq!(told.class(), Class::Misuse);
    // The same data: both succeed.
    let (mut first, mut second) = (begin("middle").await, begin("middle").await);
    push_points(&mut first, "middle", 3).unwrap();
    push_points(&mut second, "middle", 3).unwrap();
    second.finish().await.unwrap();
    first.finish().await.unwrap();
    // Begun again, it is finished; with another known input it is refused.
    let input = |text: &str| PartOptions::new().with_input(text);
    assert!(points(&store, "right", input("a"), 4).await.unwrap());
    assert!(!points(&store, "right", input("a"), 4).await.unwrap());
    let told = points(&store, "right", input("b"), 5).await.unwrap_err();
    assert!(told.to_string().contains("from another input"), "{told}");
    let redo = input("b").with_redo(true);
    assert!(points(&store, "right", redo, 5).await.unwrap());
    let status = PartedStore::status(ADDRESS, &memory.options())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.names("finished"), ["left", "middle", "right"]);
    assert!(status.parts.iter().all(|part| part.begun.is_empty()));
    store.commit(&Groups::default()).await.unwrap();
    assert_eq!(
        numbers(&memory).await,
        BTreeMap::from([(2, 24), (3, 24), (5, 24)])
    );
    memory.check_clean().await;
    let left = memory.files().await;
    assert!(!left.keys().any(|key| key.contains("unfinished")));
}

#[tokio::test]
async fn declared_parts_must_come() {
    let memory = Memory::default();
    let names = || Some(NAMES.map(str::to_owned).to_vec());
    let begin =
        |names| PartedStore::begin_parts(ADDRESS, spec(Kind::PointCloud), names, memory.options());
    let store = begin(names()).await.unwrap();
    assert!(begin(names()).await.unwrap().was_begun_before());
    let told = begin(None).await.unwrap_err().to_string();
    assert!(told.contains("begun with other parts"), "{told}");
    for names in [vec![], vec!["a".to_owned(); 2], vec!["a/b".to_owned()]] {
        begin(Some(names)).await.unwrap_err();
    }
    let told = points(&store, "other", PartOptions::new(), 1).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("\"other\"") && told.contains("left, middle, right"),
        "{told}"
    );
    points(&store, "left", PartOptions::new(), 1).await.unwrap();
    let begun = store.writer("right").await.unwrap();
    let again = || begin(names());
    let told = again().await.unwrap().commit(&Groups::default()).await;
    let told = told.unwrap_err().to_string();
    assert!(
        told.contains("1 finished; begun and not finished: right; not begun: middle"),
        "{told}"
    );
    begun.abandon().await;
    let status = PartedStore::status(ADDRESS, &memory.options())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.names("waiting"), ["middle", "right"]);
    let done = again()
        .await
        .unwrap()
        .commit_with(&Groups::default(), true)
        .await
        .unwrap();
    assert_eq!(done.absent, ["middle", "right"]);
    let root = memory.files().await.remove("zarr.json").unwrap();
    let root: serde_json::Value = serde_json::from_slice(&root).unwrap();
    assert_eq!(
        root["attributes"][zvf_write::ABSENT_PARTS],
        serde_json::json!(["middle", "right"])
    );
    memory.check_clean().await;
    let told = points(&store, "middle", PartOptions::new(), 1).await;
    assert!(told.unwrap_err().to_string().contains("zvf append"));
}

/// Options of a program that dies during a write.
pub(crate) fn dying(memory: &Memory, writes: usize, through: bool) -> WriteOptions {
    let dying = Dying::new(memory.0.clone(), writes, through);
    let mut open = OpenOptions::new().with_object_store(Arc::new(dying));
    open.io.retry = Retry::never();
    open.io.concurrency = 1;
    WriteOptions::new().with_open(open).with_threads(1)
}

/// Removes the marker by which a dead commit keeps others away, as its expiry would.
pub(crate) async fn expire(memory: &Memory) {
    for key in memory.files().await.into_keys() {
        if key.ends_with("/committing") {
            let path = format!("some/points.zarrvectors/{key}");
            memory.0.delete(&path.as_str().into()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_part_that_dies_at_any_write_is_written_again() {
    for through in [false, true] {
        for writes in 1.. {
            let memory = Memory::default();
            let spec = || spec(Kind::PointCloud);
            let store = PartedStore::begin(ADDRESS, spec(), memory.options())
                .await
                .unwrap();
            let dies = PartedStore::join(ADDRESS, spec(), dying(&memory, writes, through))
                .await
                .unwrap();
            let died = points(&dies, "left", PartOptions::new(), 1).await;
            let status = PartedStore::status(ADDRESS, &memory.options())
                .await
                .unwrap()
                .unwrap();
            let finished = !status.names("finished").is_empty();
            if died.is_ok() {
                assert!(finished);
            }
            // One program with the rest of the data, and one with other data in the same place.
            points(&store, "middle", PartOptions::new(), 2)
                .await
                .unwrap();
            let written = points(&store, "left", PartOptions::new(), 3).await.unwrap();
            assert_eq!(written, !finished, "write {writes}");
            store.commit(&Groups::default()).await.unwrap();
            let left = if finished { 1 } else { 3 };
            assert_eq!(
                numbers(&memory).await,
                BTreeMap::from([(left, 24), (2, 24)])
            );
            memory.check_clean().await;
            if died.is_ok() {
                assert!(writes > 8, "{writes} writes");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_commit_that_dies_at_any_write_is_finished_by_the_next() {
    let spec = || {
        spec(Kind::Graph)
            .with_vertex_attribute(AttributeSpec::category("type"))
            .with_shard_shape([3, 3])
    };
    let write = async |store: &PartedStore, part: usize| {
        let mut writer = store.writer(NAMES[part]).await.unwrap();
        let n: Vec<i32> = (0..24).collect();
        let left = part as f64 * 30.0;
        let positions: Vec<f64> = n
            .iter()
            .flat_map(|n| [left + f64::from(n * 7 % 29), f64::from(n * 11 % 30)])
            .collect();
        let batch = Batch::new(positions)
            .with_object_ids(n.iter().map(|n| i64::from(n % 5)).collect::<Vec<_>>())
            .with_attribute("n", &n)
            .with_attribute("type", Values::optional_texts(texts(part)))
            .with_links((0..23).flat_map(|at| [at, at + 1]).collect::<Vec<u64>>());
        writer.push(&batch).unwrap();
        writer.finish().await.unwrap();
    };
    let (mut with_groups, mut without) = (None, None);
    let sample = Sample::new("writes of a commit of parts");
    for through in [false, true] {
        for writes in sample.some(1.., 5) {
            let memory = Memory::default();
            let store = PartedStore::begin(ADDRESS, spec(), memory.options())
                .await
                .unwrap();
            for part in 0..3 {
                write(&store, part).await;
            }
            let join = |options| PartedStore::join(ADDRESS, spec(), options);
            let dies = join(dying(&memory, writes, through)).await.unwrap();
            // What it wrote of its groups is not in the store that the next one makes, which has none.
            let asked = Groups::new(vec![vec![1, 2], vec![0]]).with_names(["ends", "zero"]);
            let died = dies.commit(&asked).await;
            let there = Store::open_with(ADDRESS, memory.open_options())
                .await
                .is_ok();
            match &died {
                Ok(_) => assert!(there),
                Err(error) if error.is_committed() => assert!(there),
                Err(_) => {}
            }
            let status = PartedStore::status(ADDRESS, &memory.options())
                .await
                .unwrap();
            assert!(status.is_some() || there, "write {writes}");
            expire(&memory).await;
            match join(memory.options()).await {
                Ok(again) => {
                    again.commit(&Groups::default()).await.unwrap();
                }
                // Nothing was left to do.
                Err(error) => {
                    assert!(there && status.is_none(), "write {writes}: {error}");
                }
            }
            let files = memory.files().await;
            let expected = match there {
                true => &mut with_groups,
                false => &mut without,
            };
            let expected = expected.get_or_insert_with(|| files.clone());
            assert_eq!(&files, expected, "write {writes}");
            let grouped = files.keys().any(|key| key.starts_with("0/groups"));
            assert_eq!(grouped, there, "write {writes}");
            memory.check_clean().await;
            if died.is_ok() {
                assert!(writes > 30, "{writes} writes");
                break;
            }
        }
    }
}

#[tokio::test]
async fn removals_that_die_at_any_write_are_finished_by_the_next() {
    for writes in 1.. {
        let memory = Memory::default();
        let spec = || spec(Kind::PointCloud);
        let store = PartedStore::begin(ADDRESS, spec(), memory.options())
            .await
            .unwrap();
        points(&store, "left", PartOptions::new(), 1).await.unwrap();
        let mut late = store.writer("right").await.unwrap();
        push_points(&mut late, "right", 2).unwrap();
        let died = PartedStore::discard(ADDRESS, dying(&memory, writes, false)).await;
        expire(&memory).await;
        if !memory.files().await.is_empty() {
            PartedStore::discard(ADDRESS, memory.options())
                .await
                .unwrap();
        }
        assert!(memory.files().await.is_empty(), "write {writes}");
        // The store was begun again in the meantime: a late part of the earlier one is refused.
        PartedStore::begin(ADDRESS, spec(), memory.options())
            .await
            .unwrap();
        late.finish().await.unwrap_err();
        let status = PartedStore::status(ADDRESS, &memory.options())
            .await
            .unwrap()
            .unwrap();
        assert!(status.parts.is_empty(), "{status:?}");
        if died.is_ok() {
            assert!(writes > 5, "{writes} writes");
            break;
        }
    }
}

/// A store of points with one part.
pub(crate) async fn with_a_part(memory: &Memory) -> PartedStore {
    let store = PartedStore::begin(ADDRESS, spec(Kind::PointCloud), memory.options())
        .await
        .unwrap();
    points(&store, "left", PartOptions::new(), 1).await.unwrap();
    store
}

/// A commit that dies while it looks at the parts does not block them for long, and no finished part is lost.
#[tokio::test]
async fn a_part_that_ends_while_a_commit_hangs_is_in_the_next_one() {
    let memory = Memory::default();
    let (store, spec) = (with_a_part(&memory).await, || spec(Kind::PointCloud));
    // It writes the marker of the commit and the note that it looks at the parts, and then dies.
    let dies = PartedStore::join(ADDRESS, spec(), dying(&memory, 2, true))
        .await
        .unwrap();
    dies.commit(&Groups::default()).await.unwrap_err();
    assert!(
        points(&store, "right", PartOptions::new(), 2)
            .await
            .unwrap()
    );
    let busy = PartedStore::join(ADDRESS, spec(), memory.options())
        .await
        .unwrap()
        .commit(&Groups::default())
        .await
        .unwrap_err();
    assert_eq!(busy.class(), Class::Busy, "{busy}");
    assert!(busy.to_string().contains("try again"), "{busy}");
    expire(&memory).await;
    let done = store.commit(&Groups::default()).await.unwrap();
    assert_eq!(done.parts, ["left", "right"]);
    assert_eq!(numbers(&memory).await, BTreeMap::from([(1, 24), (2, 24)]));
}

/// The second of two commits requests the lease after the first has put the root: it fails as busy, and reads no notes.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_comes_late_is_busy() {
    let memory = Memory::default();
    let (store, spec) = (with_a_part(&memory).await, || spec(Kind::PointCloud));
    let delay = Trouble::Before(Fault::Delay(Duration::from_secs(1)));
    let slow = Unsteady::new(memory.0.clone(), Sort::PutNew, delay, 0..1);
    let open = OpenOptions::new().with_object_store(Arc::new(slow.clone()));
    let late = PartedStore::join(ADDRESS, spec(), WriteOptions::new().with_open(open))
        .await
        .unwrap();
    let late = tokio::spawn(async move { late.commit(&Groups::default()).await });
    while slow.came() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    store.commit(&Groups::default()).await.unwrap();
    let told = late.await.unwrap().unwrap_err();
    assert_eq!(told.class(), Class::Busy, "{told}");
    assert_eq!(numbers(&memory).await, BTreeMap::from([(1, 24)]));
    memory.check_clean().await;
}

#[tokio::test]
async fn what_parts_cannot_agree_on_is_refused() {
    let memory = Memory::default();
    let free = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let told = PartedStore::begin(ADDRESS, free, memory.options()).await;
    assert!(told.unwrap_err().to_string().starts_with("bounds: "));
    assert!(memory.files().await.is_empty());
}
