//! Several writers of one store: together they write what one would, and no two of them the same cell.

use std::sync::Arc;

use zvf_store::{OpenOptions, Retry, Store};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, Leftovers, NumberType, ObjectTable, Outside, PartedStore,
    StoreSpec, StoreWriter, Values, WriteError, WriteOptions,
};

use crate::support::{ADDRESS, Memory, check_documents};
use zvf_testkit::faults::Dying;

const NAMES: [&str; 3] = ["left", "middle", "right"];

fn spec(kind: Kind) -> StoreSpec {
    let spec = StoreSpec::new(kind, [10.0; 2])
        .with_bounds([0.0; 2], [89.0, 30.0], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    if kind == Kind::PointCloud {
        spec.with_bin_shape([5.0; 2])
    } else {
        spec.with_object_attribute(AttributeSpec::text("name"))
    }
}

/// Vertices of one part: 30 units wide, in 3 chunks along the axis. Objects of graphs and meshes go through all parts.
fn push(writer: &mut StoreWriter, kind: Kind, part: usize) -> Result<(), WriteError> {
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

fn groups(kind: Kind) -> Groups<'static> {
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
            // In any order, from programs of their own.
            for part in [2, 0, 1] {
                let joined = PartedStore::join(ADDRESS, spec(), memory.options())
                    .await
                    .unwrap();
                let mut writer = joined.writer(NAMES[part]).unwrap();
                push(&mut writer, kind, part).unwrap();
                let summary = writer.finish().await.unwrap();
                vertices += summary.vertices;
                chunks += summary.chunks;
                let there = Store::open_with(ADDRESS, memory.open_options()).await;
                assert!(there.is_err(), "no store before the end");
            }
            let summary = store.commit(&groups(kind)).await.unwrap();
            assert_eq!(summary, whole);
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
    // A shard reaches from the first part into the second.
    let spec = || spec(Kind::Graph).with_shard_shape([4, 3]);
    let store = PartedStore::begin(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let mut left = store.writer("left").unwrap();
    push(&mut left, Kind::Graph, 0).unwrap();
    left.finish().await.unwrap();
    let before = memory.files().await;
    let mut middle = store.writer("middle").unwrap();
    push(&mut middle, Kind::Graph, 1).unwrap();
    let told = middle.finish().await.unwrap_err().to_string();
    assert!(told.contains("parts middle and left both"), "{told}");
    assert_eq!(
        memory.files().await,
        before,
        "nothing of the other was touched"
    );
    // The rest is a store.
    assert_eq!(store.commit(&Groups::default()).await.unwrap().vertices, 24);
}

#[tokio::test]
async fn what_is_not_finished_is_not_committed() {
    let memory = Memory::default();
    let kind = Kind::Streamline;
    let begin = || PartedStore::begin(ADDRESS, spec(kind), memory.options());
    let store = begin().await.unwrap();
    let told = begin().await.unwrap_err().to_string();
    assert!(told.contains("unfinished"), "{told}");
    let other = PartedStore::join(ADDRESS, spec(Kind::Graph), memory.options()).await;
    assert!(
        other
            .unwrap_err()
            .to_string()
            .contains("another specification")
    );

    // A part dies between its claim and its note.
    let dying = Dying::new(memory.0.clone(), 3, true);
    let mut open = OpenOptions::new().with_object_store(Arc::new(dying));
    open.io.retry = Retry::never();
    let options = WriteOptions::new().with_open(open).with_threads(1);
    let dies = PartedStore::join(ADDRESS, spec(kind), options)
        .await
        .unwrap();
    let mut writer = dies.writer("left").unwrap();
    push(&mut writer, kind, 0).unwrap();
    writer.finish().await.unwrap_err();
    let again = || PartedStore::join(ADDRESS, spec(kind), memory.options());
    let told = store.commit(&Groups::default()).await.unwrap_err();
    assert!(
        told.to_string()
            .contains("part left: found begun and not finished"),
        "{told}"
    );
    // Under the same name it is written again, once.
    let mut writer = again().await.unwrap().writer("left").unwrap();
    push(&mut writer, kind, 0).unwrap();
    writer.finish().await.unwrap();
    let mut writer = again().await.unwrap().writer("left").unwrap();
    push(&mut writer, kind, 0).unwrap();
    let told = writer.finish().await.unwrap_err().to_string();
    assert!(told.contains("part left was finished before"), "{told}");
    // A streamline that goes through two parts has no order.
    let mut writer = again().await.unwrap().writer("right").unwrap();
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
    // The place can be taken over as after any interrupted writer.
    let options = memory.options().with_leftovers(Leftovers::Remove);
    let fresh = PartedStore::begin(ADDRESS, spec(kind), options)
        .await
        .unwrap();
    assert!(
        fresh.commit(&Groups::default()).await.is_err(),
        "no part at all"
    );
}

#[tokio::test]
async fn what_parts_cannot_agree_on_is_refused() {
    let memory = Memory::default();
    let free = StoreSpec::new(Kind::PointCloud, [10.0; 2]);
    let told = PartedStore::begin(ADDRESS, free.clone(), memory.options()).await;
    assert!(told.unwrap_err().to_string().starts_with("bounds: "));
    let words = free
        .with_bounds([0.0; 2], [9.0; 2], Outside::Refuse)
        .with_vertex_attribute(AttributeSpec::category("type"));
    let told = PartedStore::begin(ADDRESS, words, memory.options()).await;
    assert!(
        told.unwrap_err()
            .to_string()
            .starts_with("vertex_attributes/type/values: ")
    );
    assert!(memory.files().await.is_empty());
}
