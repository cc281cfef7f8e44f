//! Levels of stores that are larger than the memory budget: the same levels in bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use zvf_pyramid::{BaseBins, CrossLevel, LevelStep, PyramidReport, PyramidSpec, build_pyramid};
use zvf_testkit::sample::Sample;
use zvf_write::{AttributeSpec, Kind, LinkStore, StoreSpec};

use crate::model::Model;
use crate::pyramid::mixed;
use crate::pyramid_density::{sheet, tree};
use crate::support::{ADDRESS, Memory, block_on};

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

/// Checks that the levels are byte for byte those of a budget that fits everything; returns the memory held.
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
        LevelStep::new(2.0).with_chunk_scale([2, 1, 2]),
    ])
    .with_until(30)
}

#[tokio::test]
async fn a_cloud_far_larger_than_the_budget_keeps_to_it() {
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_bin_shape([2.5; 3]);
    let model = Model::new(spec, points(150_000));
    let budget = 1 << 20;
    let held = same(&model, &steps(), budget).await;
    // The stored positions alone have 12 bytes per vertex.
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
            spec.shard_shape = shards.clone().into();
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

/// Random chains of different lengths, one of them with all vertices in the same place.
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

#[tokio::test]
async fn chunks_by_an_attribute() {
    let key = || AttributeSpec::category("k");
    let spec = StoreSpec::new(Kind::PointCloud, [30.0, 25.0, 40.0]).with_attribute_chunks(key());
    let cloud = Model::new(spec, points(4000));
    let mut lines = chains(Kind::Polyline);
    lines.spec = lines.spec.with_attribute_chunks(key());
    let mut mesh = sheet(60, 3);
    mesh.spec = mesh.spec.with_attribute_chunks(key());
    for model in Sample::new("chunks_by_an_attribute").some([cloud, lines, mesh], 2) {
        same(&model, &sparse(CrossLevel::None, BaseBins::Data), 1 << 16).await;
    }
}

/// Three levels; the second drops objects.
fn sparse(cross: CrossLevel, base: BaseBins) -> PyramidSpec {
    let mut spec = PyramidSpec::new([
        LevelStep::new(1.0),
        LevelStep::new(2.0).with_sparsity(2.0),
        LevelStep::new(2.0),
    ])
    .with_cross_level(cross, 2);
    spec.base = base;
    spec
}

#[tokio::test]
async fn lines_are_thinned_part_by_part() {
    for (cross, base) in Sample::new("lines_are_thinned_part_by_part").some(
        [
            (CrossLevel::None, BaseBins::Data),
            (CrossLevel::Explicit, BaseBins::Stored),
        ],
        2,
    ) {
        let mut model = Model::new(StoreSpec::new(Kind::Line, [12.0, 9.0, 15.0]), Vec::new());
        model.positions = points(8000);
        for (n, position) in model.positions.iter_mut().enumerate() {
            // Many lines between the same few bins.
            let near = (n % 60) as f64 / 4.0 + n as f64 / 16_000.0;
            position.fill(f64::from(near as f32));
        }
        model.ids = Some((0..8000).map(|n| n / 2 * 5 - 77).collect());
        same(&model, &sparse(cross, base), 1 << 17).await;
    }
    let spec = StoreSpec::new(Kind::Line, [12.0, 9.0, 15.0]);
    let mut model = Model::new(spec, points(60_000));
    model.ids = Some((0..60_000).map(|n| n / 2).collect());
    let budget = 1 << 20;
    let held = same(&model, &steps(), budget).await;
    assert!(held <= budget as u64, "{held}");
}

#[tokio::test]
async fn skeletons_are_contracted_some_at_a_time() {
    for (explicit, cross, base) in [
        (false, CrossLevel::None, BaseBins::Data),
        (true, CrossLevel::Explicit, BaseBins::Stored),
    ] {
        let mut model = tree(5, 6000);
        if explicit {
            let given = (model.links, model.ids);
            let spec = StoreSpec::new(Kind::Skeleton, [10.0; 3]).with_explicit_links();
            model = Model::new(spec, model.positions);
            (model.links, model.ids) = given;
        }
        // Blocks and parts have a minimum size.
        let budget = 1 << 19;
        let held = same(&model, &sparse(cross, base), budget).await;
        assert!(held <= budget as u64, "{held}");
    }
}

/// Vertices of 40 objects, some without links; links within and between objects, one vertex with very many links, links from a vertex to itself, and
/// duplicate links.
fn graph(spec: StoreSpec, count: usize) -> Model {
    let mut model = Model::new(spec, points(count));
    model.ids = Some((0..count).map(|n| mixed(n, 40) as i64 * 3 - 20).collect());
    for n in 0..count {
        let near = n.saturating_sub(40 * (1 + mixed(n, 3)));
        match mixed(n, 9) {
            0 => {}
            1 => model.links.push(vec![n, mixed(n + 3, count)]),
            2 => model.links.push(vec![n, count / 2]),
            3 => model
                .links
                .extend([vec![n, n], vec![n, near], vec![near, n]]),
            _ => model.links.push(vec![n, near]),
        }
    }
    // Vertices of one object are near each other, so that links are inside bins.
    let ids = model.ids.clone().unwrap_or_default();
    for (n, (position, id)) in model.positions.iter_mut().zip(ids).enumerate() {
        let along = (n % 500) as f64 / 8.0;
        position[0] = f64::from((id as f64 + along) as f32);
        position[1] = f64::from(((n % 7) as f64 / 2.0) as f32);
    }
    model
}

#[tokio::test]
async fn graphs_are_contracted_part_by_part() {
    let plain = || StoreSpec::new(Kind::Graph, [12.0, 9.0, 15.0]);
    for (spec, cross, base) in Sample::new("graphs_are_contracted_part_by_part").some(
        [
            (plain(), CrossLevel::None, BaseBins::Data),
            (
                plain()
                    .with_explicit_links()
                    .with_link_policy(true, LinkStore::Canonical),
                CrossLevel::Explicit,
                BaseBins::Stored,
            ),
            (
                plain()
                    .with_explicit_links()
                    .with_link_policy(false, LinkStore::Duplicate),
                CrossLevel::Implicit,
                BaseBins::Data,
            ),
        ],
        2,
    ) {
        same(&graph(spec, 5000), &sparse(cross, base), 1 << 16).await;
    }
    let budget = 1 << 20;
    let held = same(
        &graph(plain(), 40_000),
        &sparse(CrossLevel::None, BaseBins::Data),
        budget,
    )
    .await;
    assert!(held <= budget as u64, "{held}");
}

#[tokio::test]
async fn meshes_are_decimated_part_by_part() {
    for (corners, cross, base) in Sample::new("meshes_are_decimated_part_by_part").some(
        [
            (3, CrossLevel::None, BaseBins::Stored),
            (4, CrossLevel::Explicit, BaseBins::Data),
        ],
        2,
    ) {
        let mut model = sheet(60, corners);
        // Three sheets with faces between them; one object loses all faces.
        let ids = (0..3600).map(|n| if n < 4 { 9 } else { n / 1300 });
        model.ids = Some(ids.collect());
        same(&model, &sparse(cross, base), 1 << 16).await;
    }
    let budget = 1 << 20;
    let spec = PyramidSpec::new([LevelStep::new(1.0), LevelStep::new(2.0)]);
    let held = same(&sheet(200, 3), &spec, budget).await;
    assert!(held <= budget as u64, "{held}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_graph_has_the_same_levels(
        places in vec((0_u8..60, 0_u8..20, 0_i64..5), 1..200),
        links in vec((any::<Index>(), any::<Index>()), 0..300),
        bins in 1_u8..6,
        directed: bool,
    ) {
        let mut spec = StoreSpec::new(Kind::Graph, [16.0; 2]);
        if directed {
            spec = spec.with_explicit_links().with_link_policy(true, LinkStore::Canonical);
        }
        let positions = places.iter().map(|(x, y, _)| vec![f64::from(*x), f64::from(*y)]);
        let mut model = Model::new(spec, positions.collect());
        model.ids = Some(places.iter().map(|(_, _, id)| *id).collect());
        let ends = links.iter().map(|(a, b)| vec![a.index(places.len()), b.index(places.len())]);
        model.links = ends.collect();
        let mut spec = sparse(CrossLevel::Explicit, BaseBins::Stored);
        spec.base = BaseBins::Given(vec![16.0 / f64::from(1_u8 << bins); 2]);
        block_on(same(&model, &spec, 1 << 10));
    }
}
