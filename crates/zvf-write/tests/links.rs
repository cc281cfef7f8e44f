//! Graphs, skeletons, meshes.

use zvf_write::{Kind, LinkStore, StoreSpec};

use crate::model::Model;

fn scattered(count: usize, dims: usize) -> Vec<Vec<f64>> {
    let spread = |n: usize, axis: usize| {
        ((n * [37, 53, 71, 29][axis] + n * n * 11) % 97) as f64 / 2.0 - 24.0
    };
    (0..count)
        .map(|n| (0..dims).map(|axis| spread(n, axis)).collect())
        .collect()
}

const BOXES: [([f64; 3], [f64; 3]); 2] = [([-24.0; 3], [10.0; 3]), ([0.0; 3], [24.0; 3])];

fn boxes() -> Vec<(Vec<f64>, Vec<f64>)> {
    BOXES
        .iter()
        .map(|(low, high)| (low.to_vec(), high.to_vec()))
        .collect()
}

#[tokio::test]
async fn graphs_under_every_policy() {
    let policies = [
        (false, LinkStore::Canonical),
        (true, LinkStore::Canonical),
        (false, LinkStore::Duplicate),
    ];
    for (directed, store) in policies {
        for (shards, budget) in [(None, 1 << 20), (Some(vec![3, 2, 2]), 0)] {
            let mut spec = StoreSpec::new(Kind::Graph, [8.0; 3]).with_link_policy(directed, store);
            spec.shard_shape = shards.into();
            let mut model = Model::new(spec, scattered(150, 3));
            model.ids = Some((0..150).map(|n| [5, -9, 1 << 50][n * n % 3]).collect());
            // Including loops, duplicates and both directions.
            model.links = (0..400)
                .map(|n| vec![n * 7 % 150, (n * n + 3) % 150])
                .collect();
            model
                .links
                .extend([vec![4, 4], vec![1, 2], vec![2, 1], vec![1, 2]]);
            model.cuts = vec![10, 11, 90];
            model.budget = budget;
            model.round_trip(&boxes()).await;
        }
    }
}

#[tokio::test]
async fn meshes_of_triangles_and_quads_keep_their_winding() {
    for width in [3, 4] {
        let spec = StoreSpec::new(Kind::Mesh, [8.0; 3]).with_link_width(width);
        let mut model = Model::new(spec, scattered(120, 3));
        model.ids = Some((0..120).map(|n| n / 50).collect());
        model.links = (0..300)
            .map(|n| {
                (0..width)
                    .map(|k| (n * (k + 2) * 5 + k * 31) % 120)
                    .collect()
            })
            .collect();
        model.cuts = vec![60];
        model.round_trip(&boxes()).await;
    }
}

/// A forest: parents come before or after their children.
fn forest(count: usize) -> Vec<Vec<usize>> {
    let mixed = |n: usize| (n * 77 + 5) % count;
    (1..count)
        .filter(|n| n % 40 != 0)
        .map(|n| {
            vec![
                mixed(n),
                mixed(if n % 3 == 0 {
                    n / 40 * 40 + (n % 40) / 2
                } else {
                    n - 1
                }),
            ]
        })
        .collect()
}

#[tokio::test]
async fn skeletons_with_many_trees_implied_and_explicit() {
    for explicit in [false, true] {
        let mut spec = StoreSpec::new(Kind::Skeleton, [16.0; 3]);
        if explicit {
            spec = spec.with_explicit_links();
        }
        let mut model = Model::new(spec, scattered(200, 3));
        model.links = forest(200);
        // The trees belong to two objects: several roots per object.
        let mut root = vec![0; 200];
        let mut parent = vec![None; 200];
        model
            .links
            .iter()
            .for_each(|pair| parent[pair[0]] = Some(pair[1]));
        for (n, slot) in root.iter_mut().enumerate() {
            let mut at = n;
            while let Some(above) = parent[at] {
                at = above;
            }
            *slot = at;
        }
        model.ids = Some(root.iter().map(|root| [3, -3][root % 2]).collect());
        model.round_trip(&boxes()).await;
    }
}

#[tokio::test]
async fn a_chain_of_nodes_stores_no_link_inside_a_chunk() {
    let mut model = Model::new(
        StoreSpec::new(Kind::Skeleton, [1000.0; 3]),
        scattered(100, 3),
    );
    model.ids = Some(vec![0; 100]);
    model.links = (1..100).map(|n| vec![n, n - 1]).collect();
    for position in &mut model.positions {
        position.iter_mut().for_each(|p| *p += 100.0);
    }
    let memory = crate::support::Memory::default();
    assert_eq!(model.write(memory.options()).await.links, 0);
    model.check(&memory.open().await, &[]).await;
    let files = memory.files().await;
    assert!(files.contains_key("0/links/0/0.0.0/zarr.json"));
    assert!(files.contains_key("0/link_fragments/zarr.json"));
}

#[tokio::test]
async fn the_worked_example_of_link_attributes() {
    // Appendix B of the format specification, on one pair of axes: links are not numbered in the order of input.
    let mut model = Model::new(StoreSpec::new(Kind::Graph, [10.0; 2]), scattered(6, 2));
    model.ids = Some(vec![0; 6]);
    model.links = [
        [0, 1],
        [1, 0],
        [1, 2],
        [2, 1],
        [3, 2],
        [4, 0],
        [5, 4],
        [0, 0],
    ]
    .map(Vec::from)
    .to_vec();
    model.round_trip(&[]).await;
}
