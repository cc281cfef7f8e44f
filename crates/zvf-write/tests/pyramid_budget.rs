//! Levels of stores that are larger than the memory budget: the same levels, in bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use zvf_write::{
    BaseBins, CrossLevel, Kind, LevelStep, PyramidReport, PyramidSpec, StoreSpec, build_pyramid,
};

use crate::model::Model;
use crate::pyramid::mixed;
use crate::support::{ADDRESS, Memory};

async fn levels(
    model: &Model,
    spec: &PyramidSpec,
    budget: usize,
) -> (BTreeMap<String, Vec<u8>>, PyramidReport) {
    let memory = Memory::default();
    model.write(memory.options()).await;
    let options = memory.options().with_memory_budget(budget);
    let report = build_pyramid(ADDRESS, spec, &options, Arc::new(|_| ()))
        .await
        .unwrap();
    (memory.files().await, report)
}

/// The levels are those of a budget that holds everything, to the byte; what is held is returned.
async fn same(model: &Model, spec: &PyramidSpec, budget: usize) -> u64 {
    let (wanted, mut whole) = levels(model, spec, 1 << 30).await;
    let (found, mut some) = levels(model, spec, budget).await;
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        wanted.keys().collect::<Vec<_>>()
    );
    for (key, bytes) in &wanted {
        assert_eq!(found.get(key), Some(bytes), "{key}");
    }
    let held = some.held;
    assert_ne!(held, whole.held);
    (some.held, whole.held) = (0, 0);
    assert_eq!(some, whole);
    held
}

fn points(count: usize) -> Vec<Vec<f64>> {
    let axis = |at: usize| mixed(at, 8_000) as f64 / 64.0 - 60.0;
    (0..count)
        .map(|n| (0..3).map(|one| axis(n * 3 + one)).collect())
        .collect()
}

fn steps() -> PyramidSpec {
    PyramidSpec::new([
        LevelStep::new(2.0),
        LevelStep::new(1.5).with_chunk_scale([2, 1, 2]),
    ])
    .with_until(30)
}

#[tokio::test]
async fn a_cloud_far_larger_than_the_budget_keeps_to_it() {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_bin_shape([2.5; 3]);
    let model = Model::new(spec, points(150_000));
    let budget = 1 << 20;
    let held = same(&model, &steps(), budget).await;
    // Positions as they are stored, without anything else, are 12 bytes a vertex.
    assert!(150_000 * 12 > budget as u64);
    assert!(held <= budget as u64, "{held}");
}

#[tokio::test]
async fn a_cloud_of_one_bin_keeps_to_the_budget() {
    let model = Model::new(StoreSpec::new(Kind::PointCloud, [40.0; 3]), points(60_000));
    let spec = PyramidSpec::new([LevelStep::new(1000.0)]);
    let held = same(&model, &spec, 1 << 20).await;
    assert!(held <= 1 << 20, "{held}");
}

#[tokio::test]
async fn clouds_with_objects_bins_of_the_data_and_links_between_levels() {
    for (cross, shards) in [
        (CrossLevel::None, None),
        (CrossLevel::Explicit, None),
        (CrossLevel::Explicit, Some(vec![3, 2, 2])),
    ] {
        for objects in [false, true] {
            let mut spec = StoreSpec::new(Kind::PointCloud, [30.0, 25.0, 40.0]);
            spec.shard_shape.clone_from(&shards);
            let mut model = Model::new(spec, points(4000));
            let ids = (0..4000).map(|n| mixed(n, 40) as i64 * 3 - 20);
            if objects {
                model.spec = model.spec.with_objects();
                model.ids = Some(ids.collect());
            }
            let mut spec = PyramidSpec::new([
                LevelStep::new(2.0),
                LevelStep::new(2.0).with_sparsity(2.0),
                LevelStep::new(3.0),
            ])
            .with_cross_level(cross, 2);
            spec.base = BaseBins::Data;
            same(&model, &spec, 1 << 16).await;
        }
    }
}

/// Chains of different lengths that wander, one of them without steps.
fn chains(kind: Kind) -> Model {
    let mut model = Model::new(StoreSpec::new(kind, [12.0, 9.0, 15.0]), Vec::new());
    let mut ids = Vec::new();
    for chain in 0..300_usize {
        let start = mixed(chain + 7, 60) as f64 - 30.0;
        for n in 0..1 + mixed(chain, 60) {
            let t = if chain == 5 { 0.0 } else { n as f64 };
            let wave = (t * 0.4 + chain as f64).sin() * 6.0;
            let position = [start + t * 0.5, wave, (t * 0.2).cos() * 8.0 + start * 0.5];
            let rounded = position.map(|axis| f64::from(axis as f32));
            model.positions.push(rounded.to_vec());
            ids.push(chain as i64 * 3 - 10);
        }
    }
    model.ids = Some(ids);
    model
}

#[tokio::test]
async fn chains_are_simplified_some_at_a_time() {
    for (kind, cross, base) in [
        (Kind::Streamline, CrossLevel::None, BaseBins::Data),
        (Kind::Polyline, CrossLevel::Explicit, BaseBins::Stored),
    ] {
        let mut spec = PyramidSpec::new([
            LevelStep::new(1.0),
            LevelStep::new(2.0).with_sparsity(3.0),
            LevelStep::new(2.0),
        ])
        .with_cross_level(cross, 2);
        spec.base = base;
        let budget = 1 << 18;
        let held = same(&chains(kind), &spec, budget).await;
        assert!(held <= budget as u64, "{held}");
    }
}
