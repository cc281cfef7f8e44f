//! Coarse levels that change after they were made: each is compared with newly made levels.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use zvf_edit::{At, Edit, vacuum};
use zvf_migrate::{MigrateOptions, migrate};
use zvf_pyramid::{
    CrossLevel, Existing, LevelStep, Method, PyramidReport, PyramidSpec, build_pyramid,
    refresh_pyramid, remove_pyramid,
};
use zvf_store::Need;
use zvf_testkit::sample;
use zvf_write::{Batch, Kind, StoreSpec, StoreWriter, WriteError, WriteOptions};

use crate::edited::Model;
use crate::edited_draw::{Draw, KINDS, spec};
use crate::support::{ADDRESS, Memory, ask, block_on, check_documents, column};

/// Objects by key; documents as values, since the order of their members does not matter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Document(Value),
    Cells(Vec<u8>),
}

pub(crate) async fn contents(memory: &Memory) -> BTreeMap<String, Content> {
    let files = memory.files().await.into_iter();
    let content = |(key, bytes): (String, Vec<u8>)| {
        let content = if key.ends_with(".json") {
            let mut document: Value = serde_json::from_slice(&bytes).unwrap();
            // The mark of the last change is different in every store.
            if let Some(attributes) = document
                .get_mut("attributes")
                .and_then(Value::as_object_mut)
            {
                attributes.remove("zvf_edited");
            }
            Content::Document(document)
        } else {
            Content::Cells(bytes)
        };
        (key, content)
    };
    files.map(content).collect()
}

/// Checks that the objects are the same, with the same content; names the first that differs.
pub(crate) fn assert_same(a: &BTreeMap<String, Content>, b: &BTreeMap<String, Content>) {
    let keys = |all: &BTreeMap<String, Content>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(a), keys(b));
    for (key, content) in a {
        assert_eq!(content, &b[key], "{key}");
    }
}

pub(crate) async fn build(
    memory: &Memory,
    spec: &PyramidSpec,
) -> Result<PyramidReport, WriteError> {
    build_pyramid(ADDRESS, spec, &memory.options(), Arc::new(|_| ())).await
}

pub(crate) async fn refresh(memory: &Memory) -> Result<PyramidReport, WriteError> {
    refresh_pyramid(ADDRESS, &memory.options(), Arc::new(|_| ())).await
}

pub(crate) async fn remove(memory: &Memory) -> Result<PyramidReport, WriteError> {
    remove_pyramid(ADDRESS, &memory.options()).await
}

pub(crate) async fn copy(memory: &Memory) -> Memory {
    use object_store::ObjectStoreExt;
    let other = Memory::default();
    for (key, bytes) in memory.files().await {
        let at = object_store::path::Path::from(format!("some/points.zarrvectors/{key}"));
        other.0.put(&at, bytes.into()).await.unwrap();
    }
    other
}

/// Specifications that differ in everything that a refresh must repeat.
fn pyramid(number: usize) -> PyramidSpec {
    let steps = match number % 4 {
        0 => vec![LevelStep::new(1.0), LevelStep::new(2.0)],
        1 => vec![
            LevelStep::new(0.4 * 3.0).with_sparsity(1.7),
            LevelStep::new(3.0).with_sparsity(2.0),
        ],
        2 => vec![LevelStep::new(2.0).with_chunk_scale([2, 1])],
        _ => vec![LevelStep::new(1.0); 3],
    };
    let spec = PyramidSpec::new(steps).with_seed(u64::MAX - 7);
    let spec = match number / 4 % 3 {
        0 => spec.with_cross_level(CrossLevel::Explicit, 2),
        1 => spec.with_cross_level(CrossLevel::Implicit, -1),
        _ => spec,
    };
    let reference = number / 12 % 2 == 1;
    spec.with_method(if reference {
        Method::Reference
    } else {
        Method::Density
    })
}

/// The attribute `size` of the objects of a level.
async fn sizes(memory: &Memory, level: u32) -> BTreeMap<String, String> {
    let query = zvf_query::Query {
        level,
        ..zvf_query::Query::default()
    };
    // If no rows are left, there is no batch, and so no table.
    let Some(objects) = ask(&memory.open().await, query).await.objects else {
        return BTreeMap::new();
    };
    let ids = column(&objects, "object_id").into_iter();
    ids.zip(column(&objects, "size")).collect()
}

/// Number of different pyramids.
const PYRAMIDS: usize = 24;

/// Chunks grow along the first two axes, for any number of axes.
fn fitted(mut spec: PyramidSpec, dims: usize) -> PyramidSpec {
    for step in &mut spec.levels {
        if !step.chunk_scale.is_empty() {
            step.chunk_scale.resize(dims, 1);
        }
    }
    spec
}

/// Edits a store with levels and a copy without them; the refreshed levels are the same as newly made levels of the copy.
async fn edited_and_refreshed(which: usize, pyramid_number: usize, seed: u64, edits: &[Vec<u8>]) {
    let mut draw = Draw(seed);
    let mut model = Model::new(spec(which, &mut draw));
    let with = Memory::default();
    model.write(&with, &mut draw).await;
    let without = copy(&with).await;
    let spec = fitted(pyramid(pyramid_number), model.spec.dims());
    build(&with, &spec).await.unwrap();
    for operations in edits {
        let (mut other, mut again) = (model.clone(), draw.clone());
        for (memory, model, draw) in [
            (&with, &mut model, &mut draw),
            (&without, &mut other, &mut again),
        ] {
            let order = model.order(memory).await;
            let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
            for (at, what) in operations.iter().enumerate() {
                let order = (at == 0).then_some(&order);
                model.step(&mut edit, *what, draw, order).await.unwrap();
            }
            edit.commit().await.unwrap();
        }
    }
    let store = with.open().await;
    let stale = store.root().extra.contains_key("zvf_stale");
    let report = refresh(&with).await.unwrap();
    assert_eq!(report.was_stale, stale);
    assert_eq!(report.levels.is_empty(), !stale);
    model.check(&with).await;
    with.check_clean().await;
    let anew = build(&without, &spec).await.unwrap();
    if stale {
        assert_eq!(report.levels, anew.levels);
    }
    assert_same(&contents(&with).await, &contents(&without).await);
    check_documents(&with.files().await);
    if model.spec.has_objects() && spec.method == Some(Method::Density) {
        let (finest, coarse) = (sizes(&with, 0).await, sizes(&with, 1).await);
        for (id, size) in coarse {
            // Query results need not have objects without vertices.
            assert_eq!(finest.get(&id).unwrap_or(&size), &size, "object {id}");
        }
    }
    // A second refresh has nothing to do.
    let before = with.files().await;
    assert_eq!(refresh(&with).await.unwrap().levels, []);
    assert_eq!(with.files().await, before);
}

/// An edit of chains without links left the group `0/links`, which only levels had made before; a refresh removed the group.
#[test]
fn edits_without_links_make_no_group_of_links() {
    let edits = [vec![3, 6], vec![0, 2, 2]];
    block_on(edited_and_refreshed(
        2,
        0,
        2_020_123_196_688_911_044,
        &edits,
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sample::cases(120, 12), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn refreshed_levels_are_those_of_the_edited_store(
        which in 0..KINDS,
        pyramid in 0..PYRAMIDS,
        seed in any::<u64>(),
        edits in prop::collection::vec(prop::collection::vec(0_u8..8, 1..4), 1..3),
    ) {
        block_on(edited_and_refreshed(which, pyramid, seed, &edits));
    }

    #[test]
    fn levels_that_go_leave_the_store_as_it_was(
        which in 0..KINDS,
        first in 0..PYRAMIDS,
        second in 0..PYRAMIDS,
        seed in any::<u64>(),
    ) {
        block_on(async {
            let mut draw = Draw(seed);
            let mut model = Model::new(spec(which, &mut draw));
            let memory = Memory::default();
            model.write(&memory, &mut draw).await;
            let before = contents(&memory).await;
            let plain = copy(&memory).await;
            let [first, second] = [first, second].map(|n| fitted(pyramid(n), model.spec.dims()));
            let levels = build(&memory, &first).await.unwrap().levels;
            // Levels that replace them are the same as in a store that had none before.
            let replacing = second.clone().with_existing(Existing::Replace);
            let replaced = build(&memory, &replacing).await.unwrap();
            assert_eq!(replaced.before, levels.len() as u64);
            build(&plain, &second).await.unwrap();
            assert_same(&contents(&memory).await, &contents(&plain).await);
            let removed = remove(&memory).await.unwrap();
            assert_eq!(removed.before, second.levels.len() as u64);
            assert_same(&contents(&memory).await, &before);
            assert!(remove(&memory).await.is_err());
        });
    }

    #[test]
    fn levels_on_top_are_those_of_one_run(
        which in 0..KINDS,
        seed in any::<u64>(),
        number in 0..PYRAMIDS,
        at in 1_usize..3,
    ) {
        block_on(async {
            let mut draw = Draw(seed);
            let mut model = Model::new(spec(which, &mut draw));
            let memory = Memory::default();
            model.write(&memory, &mut draw).await;
            let other = copy(&memory).await;
            let mut whole = fitted(pyramid(number), model.spec.dims());
            // Chunks of a level's own size must hold whole bins.
            let own_chunks = whole.levels.iter().any(|step| !step.chunk_scale.is_empty());
            let factor = if own_chunks { 2.0 } else { 1.5 };
            whole.levels.push(LevelStep::new(factor).with_sparsity(1.5));
            let (first, then) = whole.levels.split_at(at.min(whole.levels.len() - 1));
            let mut below = whole.clone();
            below.levels = first.to_vec();
            build(&memory, &below).await.unwrap();
            let above = PyramidSpec::new(then.to_vec())
                .with_seed(whole.seed)
                .with_existing(Existing::Keep);
            let added = build(&memory, &above).await.unwrap();
            let once = build(&other, &whole).await.unwrap();
            assert_eq!(added.levels, once.levels);
            assert_same(&contents(&memory).await, &contents(&other).await);
        });
    }
}

fn grid() -> crate::model::Model {
    let positions = (0..64).map(|n| vec![f64::from(n % 8) * 3.0, f64::from(n / 8) * 3.0]);
    let store = StoreSpec::new(Kind::PointCloud, [8.0; 2]).with_objects();
    let mut model = crate::model::Model::new(store, positions.collect());
    model.ids = Some((0..64).map(|n| n / 4).collect());
    model
}

async fn delete(memory: &Memory, id: i64) {
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.delete(&[id]).await.unwrap();
    edit.commit().await.unwrap();
}

#[tokio::test]
async fn only_what_differs_is_written() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    let spec = PyramidSpec::new([LevelStep::new(1.0)]);
    build(&memory, &spec).await.unwrap();
    let before = memory.files().await;
    // Object 2 has the kept point of the first chunk; in its other chunk, the point of another object is kept.
    delete(&memory, 2).await;
    let edited = memory.files().await;
    let report = refresh(&memory).await.unwrap();
    let after = memory.files().await;
    let changed: Vec<&String> = after
        .iter()
        .filter(|(key, bytes)| edited.get(*key) != Some(bytes) && key.as_str() != "zarr.json")
        .map(|(key, _)| key)
        .collect();
    // The document of the level is always written, since it is removed first.
    let put = report.put as usize;
    assert!(
        (changed.len()..=changed.len() + 1).contains(&put),
        "{changed:?}"
    );
    // Cells of the chunk that the object was in, and documents, but not of the other eight chunks.
    let cells = |key: &&&String| key.contains("/vertices/c/");
    assert_eq!(changed.iter().filter(cells).count(), 1, "{changed:?}");
    assert!(
        before
            .keys()
            .filter(|key| key.starts_with("1/vertices/c/"))
            .count()
            == 9
    );
}

/// The ids of the objects of a level, row by row.
async fn row_ids(memory: &Memory, level: u32) -> Vec<i64> {
    let store = memory.open().await;
    let level = store.level(level, &Need::all()).await.unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    ids.objects().map(|(_, id)| id).collect()
}

#[tokio::test]
async fn rows_of_objects_are_in_the_order_of_level_0() {
    for method in [Method::Density, Method::Reference] {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::PointCloud, [8.0; 2]).with_objects();
        let writer = StoreWriter::create(ADDRESS, spec, memory.options());
        let mut writer = writer.await.unwrap();
        let rows: Vec<f32> = (0..64)
            .flat_map(|n| [(n % 8) as f32 * 3.0, (n / 8) as f32 * 3.0])
            .collect();
        let ids: Vec<i64> = (0..64).map(|n| n / 4).collect();
        let batch = Batch::new(rows).with_object_ids(ids);
        writer.push(&batch).unwrap();
        writer.finish().await.unwrap();
        delete(&memory, 2).await;
        // Its id is the first in order, and its row is the last.
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        let batch = Batch::new(vec![1.0_f32, 1.0, 20.0, 20.0]).with_object_ids(vec![-7_i64, -7]);
        edit.append(&batch).await.unwrap();
        edit.commit().await.unwrap();
        let spec = PyramidSpec::new([LevelStep::new(2.0), LevelStep::new(2.0)]);
        build(&memory, &spec.with_method(method)).await.unwrap();
        let finest = row_ids(&memory, 0).await;
        assert_eq!(finest.last(), Some(&-7));
        for level in 1..3 {
            assert_eq!(row_ids(&memory, level).await, finest, "{method:?}");
        }
        memory.check_clean().await;
    }
}

#[tokio::test]
async fn what_cannot_be_made_again_is_refused_and_not_touched() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    // No levels.
    assert!(refresh(&memory).await.is_err());
    let spec = PyramidSpec::new([LevelStep::new(2.0).with_sparsity(2.0)])
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, 1);
    build(&memory, &spec).await.unwrap();
    delete(&memory, 3).await;
    let keep = PyramidSpec::new([LevelStep::new(2.0)]).with_existing(Existing::Keep);
    let told = build(&memory, &keep).await.unwrap_err();
    assert!(told.to_string().contains("out of date"), "{told}");
    // A change of the documents, and whether levels can be refreshed afterwards.
    type Change = fn(&mut Value, &mut Value);
    let cases: [(&str, Change, bool); 6] = [
        ("as it is", |_, _| {}, true),
        // A level of the package: which objects it selected is unknown.
        (
            "the seed",
            |level, _| {
                level.as_object_mut().unwrap().remove("coarsening").unwrap();
            },
            false,
        ),
        (
            "the seed, of nothing that is drawn",
            |level, _| {
                level.as_object_mut().unwrap().remove("coarsening").unwrap();
                level["object_sparsity"] = 1.0.into();
            },
            true,
        ),
        (
            "the method",
            |level, _| level["coarsening_method"] = "clustering".into(),
            false,
        ),
        (
            "the level below",
            |level, _| level["parent_level"] = Value::Null,
            false,
        ),
        (
            "the links",
            |_, root| root["zarr_vectors"]["cross_level_storage"] = "none".into(),
            false,
        ),
    ];
    for (what, change, possible) in cases {
        use object_store::ObjectStoreExt;
        let memory = copy(&memory).await;
        let files = memory.files().await;
        let parse = |key: &str| serde_json::from_slice::<Value>(&files[key]).unwrap();
        let (mut level, mut root) = (parse("1/zarr.json"), parse("zarr.json"));
        change(
            &mut level["attributes"]["zarr_vectors_level"],
            &mut root["attributes"],
        );
        for (key, document) in [("1/zarr.json", level), ("zarr.json", root)] {
            let at = object_store::path::Path::from(format!("some/points.zarrvectors/{key}"));
            memory
                .0
                .put(&at, document.to_string().into())
                .await
                .unwrap();
        }
        let before = memory.files().await;
        match refresh(&memory).await {
            Ok(report) => assert!(possible && report.levels.len() == 1, "{what}"),
            Err(error) => {
                assert!(
                    !possible && error.to_string().contains("--replace replaces"),
                    "{what}: {error}"
                );
                assert_eq!(memory.files().await, before, "{what}");
            }
        }
        let replace = spec.clone().with_existing(Existing::Replace);
        assert_eq!(
            build(&memory, &replace).await.unwrap().levels.len(),
            1,
            "{what}"
        );
    }
}

#[tokio::test]
async fn vacuum_goes_on_once_no_level_keeps_rows() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    build(&memory, &PyramidSpec::new([LevelStep::new(2.0)]))
        .await
        .unwrap();
    delete(&memory, 5).await;
    let told = vacuum(ADDRESS, memory.options()).await.unwrap_err();
    let told = told.to_string();
    assert!(
        told.contains("--refresh") && told.contains("--remove"),
        "{told}"
    );
    remove(&memory).await.unwrap();
    assert_eq!(vacuum(ADDRESS, memory.options()).await.unwrap().rows, 1);
    assert!(!memory.open().await.root().extra.contains_key("zvf_stale"));
}

/// The rows of level 1, as text.
async fn rows(memory: &Memory) -> String {
    let query = zvf_query::Query {
        level: 1,
        ..zvf_query::Query::default()
    };
    format!(
        "{:?}",
        ask(&memory.open().await, query).await.vertices.columns()
    )
}

/// A level that was made after objects were deleted has no rows for them, so a vacuum need not wait until it is removed.
#[tokio::test]
async fn vacuum_keeps_levels_without_rows_of_deleted_objects() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    let spec = PyramidSpec::new([LevelStep::new(2.0)]);
    build(&memory, &spec).await.unwrap();
    delete(&memory, 5).await;
    refresh(&memory).await.unwrap();
    memory.check_clean().await;
    let coarse = rows(&memory).await;
    assert_eq!(vacuum(ADDRESS, memory.options()).await.unwrap().rows, 1);
    memory.check_clean().await;
    assert_eq!(rows(&memory).await, coarse);
    // The next level is the same as in a store that had no levels at the time.
    let plain = copy(&memory).await;
    remove(&plain).await.unwrap();
    build(&plain, &spec).await.unwrap();
    let replace = spec.with_existing(Existing::Replace);
    build(&memory, &replace).await.unwrap();
    assert_same(&contents(&memory).await, &contents(&plain).await);
}

async fn copied(memory: &Memory) -> Memory {
    let copy = Memory::default();
    let options = MigrateOptions::new().with_write(copy.options());
    migrate(&memory.open().await, ADDRESS, options)
        .await
        .unwrap();
    copy
}

/// The numbers of links from level 0 to level 1, and back.
async fn links_between(memory: &Memory) -> [u64; 2] {
    let files = memory.files().await;
    ["0/links/+1", "1/links/-1"].map(|family| {
        let document: Value =
            serde_json::from_slice(&files[&format!("{family}/zarr.json")]).unwrap();
        document["attributes"]["num_links"].as_u64().unwrap()
    })
}

/// A copy lists `links` for level 0 of points if there are links to other levels; the name stayed when the last of them were removed.
#[tokio::test]
async fn copies_without_their_levels_list_no_links() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    let spec = PyramidSpec::new([LevelStep::new(2.0)]);
    let linked = spec.clone().with_cross_level(CrossLevel::Explicit, 1);
    build(&memory, &linked).await.unwrap();
    let [removed, replaced] = [copied(&memory).await, copied(&memory).await];
    remove(&removed).await.unwrap();
    let replace = spec.with_existing(Existing::Replace);
    build(&replaced, &replace).await.unwrap();
    for store in [removed, replaced] {
        assert!(!store.files().await.contains_key("0/links/zarr.json"));
        store.check_clean().await;
    }
}

/// A copy left out families between levels from which edits had removed every link, and its levels could not be refreshed.
#[tokio::test]
async fn copies_keep_families_between_levels_that_lost_all_links() {
    let memory = Memory::default();
    grid().write(memory.options()).await;
    let spec = PyramidSpec::new([LevelStep::new(2.0)]);
    let linked = spec.with_cross_level(CrossLevel::Explicit, 1);
    build(&memory, &linked).await.unwrap();
    // Every vertex enters another chunk.
    let far = (0..64).flat_map(|n| [f64::from(n % 8) * 3.0 + 100.0, f64::from(n / 8) * 3.0]);
    let far: Vec<f64> = far.collect();
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.move_vertices(At::All, &far.into()).await.unwrap();
    edit.commit().await.unwrap();
    let copy = copied(&memory).await;
    assert_eq!(links_between(&copy).await, [0, 0]);
    refresh(&copy).await.unwrap();
    assert_eq!(links_between(&copy).await, [64, 64]);
    copy.check_clean().await;
}

/// Every folder and file below a folder.
fn tree(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.clone());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn on_a_disk_no_empty_folders_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let address = folder.path().join("a.zarrvectors");
    let address = address.to_string_lossy().into_owned();
    let options = WriteOptions::new().with_durable(false);
    let spec = StoreSpec::new(Kind::PointCloud, [8.0; 2]);
    let mut writer = StoreWriter::create(&address, spec, options.clone())
        .await
        .unwrap();
    let numbers: Vec<f32> = (0..200).map(|n| (n % 31) as f32).collect();
    writer.push(&Batch::new(numbers)).unwrap();
    writer.finish().await.unwrap();
    let before = tree(folder.path());
    let spec = pyramid(0).with_existing(Existing::Replace);
    for _ in 0..2 {
        build_pyramid(&address, &spec, &options, Arc::new(|_| ()))
            .await
            .unwrap();
    }
    assert!(tree(folder.path()).len() > before.len());
    remove_pyramid(&address, &options).await.unwrap();
    assert_eq!(tree(folder.path()), before);
}
