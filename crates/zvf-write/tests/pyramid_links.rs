//! Links between levels of the density method: the representative of each vertex, computed from the input.

use std::collections::{BTreeMap, BTreeSet};

use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec};
use zvf_query::{Column, Query};
use zvf_write::{Kind, StoreSpec};

use crate::model::Model;
use crate::pyramid::{family, mixed};
use crate::pyramid_again::build;
use crate::support::{Memory, ask, check_documents, column};

const SIZE: f64 = 3.0;

fn bin(model: &Model, vertex: usize, size: f64) -> Vec<i64> {
    let axes = model.positions[vertex].iter();
    axes.map(|value| (value / size).floor() as i64).collect()
}

fn distance(model: &Model, a: usize, b: usize) -> f64 {
    let axes = model.positions[a].iter().zip(&model.positions[b]);
    axes.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The vertex of the input for each chunk and row of a level.
async fn places(memory: &Memory, level: u32) -> BTreeMap<(Vec<i64>, i64), usize> {
    let query = Query {
        level,
        columns: vec![Column::Chunk, Column::Row, Column::Attributes],
        ..Query::default()
    };
    let got = ask(&memory.open().await, query).await;
    let chunks = column(&got.vertices, "chunk");
    let rows = column(&got.vertices, "row");
    let numbers = got.numbers().into_iter();
    numbers
        .zip(chunks.iter().zip(&rows))
        .map(|(n, (chunk, row))| {
            let chunk = chunk.split(' ').map(|part| part.parse().unwrap());
            ((chunk.collect(), row.parse().unwrap()), n)
        })
        .collect()
}

/// The representative of each vertex of one level in another, as vertices of the input; checks that the links back are the same.
async fn stand_ins(memory: &Memory, from: u32, to: u32) -> BTreeMap<usize, usize> {
    let (fine, coarse) = (places(memory, from).await, places(memory, to).await);
    let delta = i32::try_from(to - from).unwrap();
    let up = family(memory, from, delta).await.unwrap();
    let mut down = family(memory, to, -delta).await.unwrap();
    down.iter_mut().for_each(|(a, b)| std::mem::swap(a, b));
    down.sort();
    assert_eq!(up, down);
    let mut found = BTreeMap::new();
    for (a, b) in up {
        assert_eq!(
            found.insert(fine[&a], coarse[&b]),
            None,
            "two stand for one"
        );
    }
    found
}

/// Two levels of a model, with links across one and two levels.
async fn made(model: &Model, sparsity: f64) -> Memory {
    let memory = Memory::default();
    model.write(memory.options()).await;
    let second = LevelStep::new(2.0).with_sparsity(sparsity);
    let base = zvf_pyramid::BaseBins::Given(vec![SIZE; model.spec.dims()]);
    let spec = PyramidSpec::new([LevelStep::new(1.0), second])
        .with_method(Method::Density)
        .with_base(base)
        .with_cross_level(CrossLevel::Explicit, 2);
    build(&memory, &spec).await.unwrap();
    check_documents(&memory.files().await);
    let tokens = memory
        .open()
        .await
        .root()
        .zarr_vectors
        .format_capabilities
        .clone();
    assert!(tokens.iter().any(|token| token == "multiscale_links"));
    memory
}

/// Checks the properties common to all kinds; returns the vertices and their representatives in the first step.
async fn check(model: &Model, memory: &Memory) -> BTreeMap<usize, usize> {
    let first = stand_ins(memory, 0, 1).await;
    let second = stand_ins(memory, 1, 2).await;
    let both: BTreeMap<usize, usize> = first
        .iter()
        .filter_map(|(n, up)| Some((*n, *second.get(up)?)))
        .collect();
    assert_eq!(stand_ins(memory, 0, 2).await, both);
    for (steps, level) in [(&first, 1), (&second, 2)] {
        let stays: BTreeSet<usize> = places(memory, level).await.into_values().collect();
        assert!(!stays.is_empty());
        for (n, up) in steps {
            assert_eq!(stays.contains(n), n == up, "what stays stands for itself");
            if let Some(ids) = model.ids.as_ref().filter(|_| !one_a_bin(model)) {
                assert_eq!(ids[*n], ids[*up], "an object stands for itself");
            }
        }
    }
    first
}

/// Points share bins, and lines represent each other, whatever their objects.
fn one_a_bin(model: &Model) -> bool {
    matches!(model.spec.kind, Kind::PointCloud | Kind::Line)
}

fn scattered(kind: Kind, count: usize) -> Model {
    let positions = (0..count).map(|n| {
        (0..2)
            .map(|axis| mixed(n * 2 + axis, 4000) as f64 / 100.0)
            .map(|value| f64::from(value as f32))
            .collect()
    });
    Model::new(StoreSpec::new(kind, [6.0; 2]), positions.collect())
}

#[tokio::test]
async fn a_point_of_the_bin_stands_for_all_of_it() {
    for objects in [false, true] {
        let mut model = scattered(Kind::PointCloud, 500);
        if objects {
            model.spec.objects = true;
            model.ids = Some((0..500).map(|n| (n % 9) as i64).collect());
        }
        let memory = made(&model, 1.0).await;
        let first = check(&model, &memory).await;
        assert_eq!(first.len(), 500);
        for (&n, &up) in &first {
            assert_eq!(bin(&model, n, SIZE), bin(&model, up, SIZE));
        }
        for (&n, &up) in &stand_ins(&memory, 1, 2).await {
            assert_eq!(bin(&model, n, 2.0 * SIZE), bin(&model, up, 2.0 * SIZE));
        }
    }
}

#[tokio::test]
async fn objects_that_were_dropped_have_no_stand_in() {
    let mut model = scattered(Kind::PointCloud, 300);
    model.spec.objects = true;
    model.ids = Some((0..300).map(|n| (n / 30) as i64).collect());
    let memory = made(&model, 4.0).await;
    check(&model, &memory).await;
    let kept = stand_ins(&memory, 1, 2).await;
    let ids = model.ids.as_ref().unwrap();
    let objects: BTreeSet<i64> = kept.keys().map(|&n| ids[n]).collect();
    let all: BTreeSet<i64> = places(&memory, 1).await.values().map(|&n| ids[n]).collect();
    // A quarter of ten, rounded to even.
    assert_eq!((objects.len(), all.len()), (2, 10));
    for (_, n) in places(&memory, 1).await {
        assert_eq!(kept.contains_key(&n), objects.contains(&ids[n]));
    }
}

#[tokio::test]
async fn the_nearer_neighbour_that_stays_stands_for_a_vertex_of_a_chain() {
    for kind in [Kind::Polyline, Kind::Streamline] {
        let mut model = Model::new(StoreSpec::new(kind, [6.0; 2]), Vec::new());
        let mut ids = Vec::new();
        for line in 0..12 {
            let mut at = [mixed(line, 30) as f64, mixed(line + 50, 30) as f64];
            for step in 0..40 {
                at[0] += (mixed(line * 40 + step, 9) as f64 - 3.0) / 4.0;
                at[1] += (mixed(line * 77 + step, 9) as f64 - 4.0) / 4.0;
                model.positions.push(at.to_vec());
                ids.push(line as i64);
            }
        }
        model.ids = Some(ids);
        let memory = made(&model, 1.0).await;
        let first = check(&model, &memory).await;
        assert_eq!(first.len(), model.positions.len());
        let ids = model.ids.as_ref().unwrap();
        let mut stays: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for n in places(&memory, 1).await.into_values() {
            stays.entry(ids[n]).or_default().push(n);
        }
        for (&n, &up) in &first {
            let kept = stays.get_mut(&ids[n]).unwrap();
            kept.sort_unstable();
            let next = kept.partition_point(|&one| one < n);
            let before = kept[next.saturating_sub(1)];
            let (near, far) = match up == kept[next] {
                true => (kept[next], before),
                false => (before, kept[next]),
            };
            assert_eq!(up, near);
            assert!(distance(&model, n, near) <= distance(&model, n, far));
        }
        assert!(first.values().collect::<BTreeSet<_>>().len() < first.len());
    }
}

#[tokio::test]
async fn ends_of_lines_are_stood_for_by_ends_in_their_bins() {
    let mut model = scattered(Kind::Line, 600);
    for line in 0..300 {
        // Short lines in few bins, so that many have both bins in common.
        for axis in 0..2 {
            model.positions[2 * line][axis] = mixed(line * 3 + axis, 90) as f64 / 10.0;
            model.positions[2 * line + 1][axis] = mixed(line * 5 + axis, 90) as f64 / 10.0;
        }
    }
    model.ids = Some((0..600).map(|n| (n / 2) as i64).collect());
    let memory = made(&model, 1.0).await;
    let first = check(&model, &memory).await;
    assert_eq!(first.len(), 600);
    let mut crossed = 0;
    for line in 0..300 {
        let (a, b) = (first[&(2 * line)], first[&(2 * line + 1)]);
        // Both ends are represented by the ends of one line.
        assert_eq!(a / 2, b / 2);
        assert_ne!(a, b);
        crossed += usize::from(a % 2 == 1);
        let longest = |a: usize, b: usize| {
            distance(&model, 2 * line, a).max(distance(&model, 2 * line + 1, b))
        };
        assert!(longest(a, b) <= longest(b, a));
    }
    assert!(crossed > 0);
}

#[tokio::test]
async fn a_connected_vertex_of_the_bin_stands_for_those_of_graphs_and_meshes() {
    for kind in [Kind::Graph, Kind::Skeleton, Kind::Mesh] {
        let mut model = Model::new(StoreSpec::new(kind, [6.0; 2]), Vec::new());
        let width = 24_usize;
        for n in 0..width * width {
            let (x, y) = (n % width, n / width);
            let shift = (mixed(n, 10) as f64) / 16.0;
            model.positions.push(vec![x as f64 + shift, y as f64]);
        }
        for n in 0..width * width {
            let (x, y) = (n % width, n / width);
            match kind {
                Kind::Mesh if x > 0 && y > 0 => {
                    model.links.push(vec![n, n - 1, n - width]);
                    model.links.push(vec![n - 1, n - width, n - width - 1]);
                }
                // Combs: each row begins at the first column.
                Kind::Skeleton | Kind::Graph if x > 0 => model.links.push(vec![n, n - 1]),
                Kind::Skeleton | Kind::Graph if y > 0 => model.links.push(vec![n, n - width]),
                _ => {}
            }
        }
        model.ids = Some(vec![0; width * width]);
        let memory = made(&model, 1.0).await;
        let first = check(&model, &memory).await;
        assert_eq!(first.len(), width * width, "{kind:?}");
        for (&n, &up) in &first {
            assert_eq!(bin(&model, n, SIZE), bin(&model, up, SIZE), "{kind:?}");
        }
        if kind != Kind::Mesh {
            // Rows of a comb are connected only through the first column.
            for (&n, &up) in &first {
                let joined = bin(&model, n - n % width, SIZE) == bin(&model, n, SIZE);
                assert!(n / width == up / width || joined, "{kind:?}: {n} and {up}");
            }
        }
        assert!(first.values().collect::<BTreeSet<_>>().len() < first.len() / 2);
    }
}
