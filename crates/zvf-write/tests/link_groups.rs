//! Groups of links that follow fragments: stated exactly if they do so, after every kind of write, and used by queries.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;
use zvf_edit::{At, Edit};
use zvf_migrate::{MigrateOptions, migrate};
use zvf_pyramid::{LevelStep, Method, PyramidSpec};
use zvf_query::{Column, Query, query};
use zvf_store::{Need, Store};
use zvf_testkit::sample;
use zvf_write::{
    AttributeSpec, Batch, Compression, Groups, Kind, LinkStore, NumberType, Outside, PartedStore,
    StoreSpec, StoreWriter, Values, WriteOptions,
};

use crate::edited_draw::Draw;
use crate::model::Model;
use crate::pyramid_again::{build, remove};
use crate::support::{ADDRESS, Memory, ask, block_on, column, sorted};

/// The levels that state the property, and whether the root lists the capability.
async fn claims(memory: &Memory) -> (Vec<u32>, bool) {
    let store = memory.open().await;
    let mut levels = Vec::new();
    for &number in store.levels() {
        let level = store.level(number, &Need::nothing()).await.unwrap();
        if level.doc().fragment_link_groups {
            levels.push(number);
        }
    }
    let tokens = &store.root().zarr_vectors.format_capabilities;
    let listed = tokens.iter().any(|token| token == "fragment_link_groups");
    assert_eq!(listed, !levels.is_empty());
    (levels, listed)
}

/// Chunk and fragment of each vertex, by its attribute `n`.
async fn places(store: &Store) -> BTreeMap<usize, (String, String)> {
    let asked = Query {
        columns: vec![Column::Chunk, Column::Fragment, Column::Attributes],
        ..Query::default()
    };
    let got = ask(store, asked).await;
    let [chunks, fragments] = ["chunk", "fragment"].map(|name| column(&got.vertices, name));
    let places = chunks.into_iter().zip(fragments);
    got.numbers().into_iter().zip(places).collect()
}

/// Whether no link inside a chunk joins two fragments.
async fn follows(store: &Store, links: &[Vec<usize>]) -> bool {
    let places = places(store).await;
    links.iter().all(|ends| {
        let chunks: BTreeSet<&str> = ends.iter().map(|end| &*places[end].0).collect();
        let fragments: BTreeSet<&str> = ends.iter().map(|end| &*places[end].1).collect();
        chunks.len() > 1 || fragments.len() == 1
    })
}

/// Checks the links of some objects: the links of the whole query result whose ends all belong to these objects.
async fn check_objects(store: &Store, ids: &[i64], chosen: &[i64]) {
    let whole = ask(store, Query::default()).await;
    let asked = Query {
        objects: Some(chosen.to_vec()),
        ..Query::default()
    };
    let some = ask(store, asked).await;
    let mut expected = whole.links();
    expected.retain(|(ends, _)| ends.iter().all(|end| chosen.contains(&ids[*end])));
    assert_eq!(sorted(some.links()), sorted(expected));
}

/// A graph, mesh or explicit skeleton in which some links join two objects.
fn random(seed: u64) -> Model {
    let draw = &mut Draw(seed);
    let count = 3 + draw.below(60);
    let dims = 2 + draw.below(2);
    let kind = [Kind::Graph, Kind::Mesh, Kind::Skeleton][draw.below(3)];
    let mut spec = StoreSpec::new(kind, vec![8.0; dims]);
    match kind {
        Kind::Mesh => spec = spec.with_link_width(3 + draw.below(2)),
        Kind::Skeleton => spec = spec.with_explicit_links(),
        _ if draw.below(2) == 0 => {
            let policies = [(true, LinkStore::Canonical), (false, LinkStore::Duplicate)];
            let (directed, store) = policies[draw.below(2)];
            spec = spec.with_link_policy(directed, store);
        }
        _ => {}
    }
    let by_value = kind != Kind::Skeleton && draw.below(4) == 0;
    if by_value {
        spec = spec
            .with_fragment_attribute(
                AttributeSpec::number("pair", NumberType::F32).with_channels(2),
            )
            .with_fragment_attribute(AttributeSpec::number("run", NumberType::U16));
    }
    if draw.below(3) == 0 {
        spec = spec.with_shard_shape(vec![2; dims]);
    }
    let objects = 1 + draw.below(5);
    let width = spec.links.width;
    let positions = (0..count).map(|_| (0..dims).map(|_| draw.below(120) as f64 / 4.0).collect());
    let mut model = Model::new(spec, positions.collect());
    model.ids = Some(
        (0..count)
            .map(|n| (n * objects / count) as i64 - 2)
            .collect(),
    );
    let ids = model.ids.clone().unwrap();
    let mixing = draw.below(3) == 0;
    if kind == Kind::Skeleton {
        for n in 1..count {
            let parent = n - 1 - draw.below(n.min(3));
            if ids[parent] == ids[n] {
                model.links.push(vec![n, parent]);
            }
        }
        return model;
    }
    for _ in 0..count * 2 {
        let first = draw.below(count);
        let mut ends = vec![first];
        while ends.len() < width {
            let end = draw.below(count);
            if ids[end] == ids[first] || (mixing && draw.below(20) == 0) {
                ends.push(end);
            }
        }
        model.links.push(ends);
    }
    if draw.below(2) == 0 {
        model.links.sort_by_key(|ends| ids[ends[0]]);
    }
    model.cuts = vec![count / 2];
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sample::cases(48, 8), ..ProptestConfig::default() })]

    #[test]
    fn the_claim_is_made_exactly_where_it_holds(seed in any::<u64>()) {
        block_on(async {
            let model = random(seed);
            let memory = model.round_trip(&[]).await;
            let store = memory.open().await;
            let expected = follows(&store, &model.links).await;
            assert_eq!(claims(&memory).await.1, expected);
            let ids = model.ids.clone().unwrap();
            check_objects(&store, &ids, &ids[..1]).await;
            let two: BTreeSet<i64> = [ids[0], ids[ids.len() - 1]].into();
            check_objects(&store, &ids, &Vec::from_iter(two)).await;

            let other = model.rechunked(MigrateOptions::new().with_chunk_shape(vec![12.0; model.spec.dims()]), &[]).await;
            let copied = other.open().await;
            assert_eq!(claims(&other).await.1, follows(&copied, &model.links).await);
            other.check_clean().await;
            check_objects(&copied, &ids, &ids[..1]).await;
        });
    }
}

/// Objects that are lines of vertices, next to each other in four chunks; links from each vertex to the next of its object.
fn rows(objects: usize, length: usize) -> (Model, Vec<i64>) {
    let spec = StoreSpec::new(Kind::Graph, [50.0, 1000.0]).with_compression(Compression::None);
    let count = objects * length;
    let place = |n: usize| {
        vec![
            (n % length) as f64 * 200.0 / length as f64,
            (n / length) as f64,
        ]
    };
    let mut model = Model::new(spec, (0..count).map(place).collect());
    let ids: Vec<i64> = (0..count).map(|n| (n / length) as i64).collect();
    model.ids = Some(ids.clone());
    let inner = (0..count - 1).filter(|n| ids[*n] == ids[n + 1]);
    model.links = inner.map(|n| vec![n, n + 1]).collect();
    (model, ids)
}

#[tokio::test]
async fn of_other_objects_only_links_between_chunks_are_decoded() {
    let (model, ids) = rows(1000, 8);
    let memory = Memory::default();
    model.write(memory.options()).await;
    assert_eq!(claims(&memory).await.0, [0]);
    let asked = || Query {
        objects: Some(vec![417]),
        ..Query::default()
    };
    let store = memory.open().await;
    check_objects(&store, &ids, &[417]).await;
    let found = query(&store, asked()).await.unwrap().collect().await;
    let summary = found.unwrap().summary;
    assert_eq!((summary.links, summary.link_rows_read), (7, 4 + 3 * 1000));

    // Without the stated property: every row of the four chunks.
    let files = memory.files().await;
    let mut level: Value = serde_json::from_slice(&files["0/zarr.json"]).unwrap();
    let block = level.pointer_mut("/attributes/zarr_vectors_level");
    block
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove("fragment_link_groups");
    put(&memory, "0/zarr.json", level.to_string().into_bytes()).await;
    let store = memory.open().await;
    let found = query(&store, asked()).await.unwrap().collect().await;
    let summary = found.unwrap().summary;
    assert_eq!((summary.links, summary.link_rows_read), (7, 7 * 1000));
}

async fn put(memory: &Memory, key: &str, bytes: Vec<u8>) {
    use object_store::ObjectStoreExt;
    let at = object_store::path::Path::from(format!("some/points.zarrvectors/{key}"));
    memory.0.put(&at, bytes.into()).await.unwrap();
}

#[tokio::test]
async fn stores_of_older_versions_and_implied_links_make_no_claim() {
    let (mut model, _) = rows(4, 8);
    model.spec = model.spec.with_target(zvf_write::TargetVersion::V0_8_1);
    let memory = Memory::default();
    model.write(memory.options()).await;
    assert!(claims(&memory).await.0.is_empty());

    let (mut model, _) = rows(4, 8);
    let mut tree = Model::new(
        StoreSpec::new(Kind::Skeleton, [50.0, 1000.0]),
        model.positions,
    );
    tree.ids = model.ids.take();
    tree.links = model
        .links
        .iter()
        .map(|ends| vec![ends[1], ends[0]])
        .collect();
    let memory = tree.round_trip(&[]).await;
    assert!(claims(&memory).await.0.is_empty());
}

#[tokio::test]
async fn edits_keep_the_claim_or_withdraw_it() {
    let (model, mut ids) = rows(6, 8);
    let memory = model.round_trip(&[]).await;
    assert_eq!(claims(&memory).await.0, [0]);
    let open = || Edit::open(ADDRESS, memory.options());
    let next = ids.len();
    let batch = |object: i64, from: usize, links: Vec<u64>| {
        let count = links.len() as u32 / 2;
        Batch::new(vec![10.0, 90.0, 20.0, 90.0, 900.0, 90.0])
            .with_attribute("n", (from as i64..).take(3).collect::<Vec<_>>())
            .with_attribute("vector", vec![0.0_f32; 6])
            .with_attribute("word", Values::texts(["a", "b", "c"]))
            .with_object_ids(vec![object; 3])
            .with_links(links)
            .with_link_attribute("w", (0..count).collect::<Vec<_>>())
    };

    // A new object, with vertices in a new chunk without links.
    let mut edit = open().await.unwrap();
    edit.append(&batch(40, next, vec![0, 1])).await.unwrap();
    edit.commit().await.unwrap();
    ids.extend([40; 3]);
    // An object is deleted; values change; an attribute is added.
    let mut edit = open().await.unwrap();
    edit.delete(&[2]).await.unwrap();
    edit.commit().await.unwrap();
    let mut edit = open().await.unwrap();
    let store = memory.open().await;
    let links = ask(&store, Query::default()).await.links().len() as u32;
    let values = Values::from((0..links).collect::<Vec<_>>());
    edit.set_link_attribute("w", At::All, &values)
        .await
        .unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;
    assert_eq!(claims(&memory).await.0, [0]);
    let store = memory.open().await;
    for object in [0, 40] {
        check_objects(&store, &ids, &[object]).await;
    }

    // A link joins an old and a new object in one chunk.
    let mut edit = open().await.unwrap();
    let two = batch(41, next + 3, vec![0, 1]).with_object_ids(vec![41, 42, 42]);
    edit.append(&two).await.unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;
    assert_eq!(claims(&memory).await, (vec![], false));
}

#[tokio::test]
async fn levels_of_a_pyramid_claim_what_holds() {
    let (model, _) = rows(6, 40);
    let memory = model.round_trip(&[]).await;
    let spec = PyramidSpec::new(vec![LevelStep::new(4.0)]).with_method(Method::Density);
    build(&memory, &spec).await.unwrap();
    memory.check_clean().await;
    let (levels, _) = claims(&memory).await;
    assert!(levels.len() > 1 && levels[0] == 0, "{levels:?}");
    remove(&memory).await.unwrap();
    memory.check_clean().await;
    assert_eq!(claims(&memory).await.0, [0]);
}

#[tokio::test]
async fn a_store_in_parts_makes_the_claim_of_all_of_them() {
    for joined in [false, true] {
        let spec = || {
            StoreSpec::new(Kind::Graph, [10.0; 2]).with_bounds(
                [0.0; 2],
                [40.0, 10.0],
                Outside::Refuse,
            )
        };
        let push = |writer: &mut StoreWriter, x: f32, links: Vec<u64>| {
            let positions = vec![x, 1.0, x, 2.0, x + 10.0, 3.0, x + 10.0, 4.0];
            let batch = Batch::new(positions).with_object_ids(vec![1, 2, 1, 2]);
            writer.push(&batch.with_links(links)).unwrap();
        };
        // In one case, the links of the second part join two objects; in the other, it has no links.
        let links = [vec![0, 2, 3, 3], if joined { vec![0, 1] } else { vec![] }];
        let one = Memory::default();
        let mut writer = StoreWriter::create(ADDRESS, spec(), one.options())
            .await
            .unwrap();
        push(&mut writer, 0.0, links[0].clone());
        push(&mut writer, 20.0, links[1].clone());
        writer.finish().await.unwrap();

        let parts = Memory::default();
        let store = PartedStore::begin(ADDRESS, spec(), parts.options())
            .await
            .unwrap();
        for (name, x, links) in [("a", 0.0, &links[0]), ("b", 20.0, &links[1])] {
            let mut writer = store.writer(name).await.unwrap();
            push(&mut writer, x, links.clone());
            writer.finish().await.unwrap();
        }
        store.commit(&Groups::default()).await.unwrap();
        assert_eq!(parts.files().await, one.files().await);
        parts.check_clean().await;
        assert_eq!(claims(&parts).await.1, !joined);
    }
}

#[tokio::test]
async fn a_plain_copy_keeps_the_claim_and_an_older_one_has_none() {
    let (model, _) = rows(5, 8);
    let memory = model.round_trip(&[]).await;
    let store = memory.open().await;
    for (version, expected) in [
        (zvf_write::TargetVersion::V0_9_2, vec![0]),
        (zvf_write::TargetVersion::V0_8_1, vec![]),
    ] {
        let copy = Memory::default();
        let write: WriteOptions = copy.options();
        let options = MigrateOptions::new().with_target(version).with_write(write);
        migrate(&store, ADDRESS, options).await.unwrap();
        assert_eq!(claims(&copy).await.0, expected);
        copy.check_clean().await;
    }
}
