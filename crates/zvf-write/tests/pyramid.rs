//! The reference method, computed independently from the input.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use zvf_pyramid::{
    BaseBins, CrossLevel, Existing, LevelReport, LevelStep, Method, PyramidSpec, build_pyramid,
};
use zvf_query::{Column, Query};
use zvf_store::{Deltas, Endpoint, Need};
use zvf_write::{Kind, NumberType, StoreSpec, WriteError};

use crate::model::Model;
use crate::support::{ADDRESS, Memory, ask, block_on, check_documents, column};

pub(crate) async fn build(
    memory: &Memory,
    spec: &PyramidSpec,
) -> Result<Vec<LevelReport>, WriteError> {
    build_pyramid(
        ADDRESS,
        spec,
        &memory.options().with_memory_budget(1 << 16),
        Arc::new(|_| ()),
    )
    .await
    .map(|report| report.levels)
}

fn steps(factors: &[f64]) -> Vec<LevelStep> {
    factors
        .iter()
        .map(|&factor| LevelStep::new(factor))
        .collect()
}

/// A pseudorandom number below `count`.
pub(crate) fn mixed(at: usize, count: usize) -> usize {
    let mut x = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x ^ (x >> 32)) % count as u64) as usize
}

fn scatter(count: usize, low: f64, high: f64) -> Vec<Vec<f64>> {
    (0..count)
        .map(|n| {
            (0..3)
                .map(|axis| low + (high - low) * mixed(n * 3 + axis, 10_007) as f64 / 10_007.0)
                .map(|value| f64::from(value as f32))
                .collect()
        })
        .collect()
}

/// Vertices of a level in its order, with chunk and row.
#[derive(Debug, Clone)]
struct Naive {
    positions: Vec<Vec<f32>>,
    places: Vec<(Vec<i64>, u64)>,
    /// Vertices of each object, in its order.
    objects: BTreeMap<i64, Vec<usize>>,
    /// The representative of each vertex in the coarser level.
    parents: Vec<Option<usize>>,
}

fn cell(position: &[f32], size: &[f64]) -> Vec<i64> {
    let axes = position.iter().zip(size);
    axes.map(|(&p, s)| (f64::from(p) / s).floor() as i64)
        .collect()
}

/// Assigns vertices to chunks in lexicographic order; rows keep their order.
fn settle(positions: Vec<Vec<f32>>, chunk: &[f64]) -> (Naive, Vec<usize>) {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by_key(|&at| cell(&positions[at], chunk));
    let mut place = vec![0; positions.len()];
    let mut level = Naive {
        positions: Vec::new(),
        places: Vec::new(),
        objects: BTreeMap::new(),
        parents: Vec::new(),
    };
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
        let chunk = cell(&positions[old], chunk);
        let row = level
            .places
            .iter()
            .rev()
            .take_while(|(c, _)| *c == chunk)
            .count();
        level.places.push((chunk, row as u64));
        level.positions.push(positions[old].clone());
    }
    (level, place)
}

/// The next level after `fine`, as defined by the format specification.
fn coarsen(fine: &mut Naive, bins: &[f64], chunk: &[f64], kept: &[i64]) -> Naive {
    let gathered: Vec<usize> = match fine.objects.is_empty() {
        true => (0..fine.positions.len()).collect(),
        false => kept
            .iter()
            .flat_map(|id| fine.objects[id].clone())
            .collect(),
    };
    let mut sums: BTreeMap<Vec<u8>, (Vec<f64>, f64)> = BTreeMap::new();
    let key = |position: &[f32]| -> Vec<u8> {
        cell(position, bins)
            .iter()
            .flat_map(|b| b.to_le_bytes())
            .collect()
    };
    for &at in &gathered {
        let (sum, count) = sums
            .entry(key(&fine.positions[at]))
            .or_insert_with(|| (vec![0.0; bins.len()], 0.0));
        for (sum, &value) in sum.iter_mut().zip(&fine.positions[at]) {
            *sum += f64::from(value);
        }
        *count += 1.0;
    }
    let keys: Vec<Vec<u8>> = sums.keys().cloned().collect();
    let means = sums
        .values()
        .map(|(sum, count)| sum.iter().map(|s| (s / count) as f32).collect());
    let (mut level, place) = settle(means.collect(), chunk);
    let of = |position: &[f32]| keys.binary_search(&key(position)).ok().map(|at| place[at]);
    fine.parents = fine.positions.iter().map(|position| of(position)).collect();
    for (&id, rows) in &fine.objects {
        let mut path: Vec<usize> = Vec::new();
        if kept.contains(&id) {
            for &row in rows {
                let parent = fine.parents[row].unwrap();
                if path.last() != Some(&parent) {
                    path.push(parent);
                }
            }
        }
        level.objects.insert(id, path);
    }
    level
}

/// Level 0 as stored, with objects in their order.
async fn level_0(memory: &Memory, chunk: &[f64], objects: bool) -> Naive {
    let store = memory.open().await;
    let columns = vec![Column::Position, Column::Chunk, Column::Row];
    let query = Query {
        columns: columns.clone(),
        ..Query::default()
    };
    let got = ask(&store, query).await;
    let floats = |texts: Vec<String>| -> Vec<Vec<f32>> {
        texts
            .iter()
            .map(|text| {
                text.split(' ')
                    .map(|v| v.parse::<f64>().unwrap() as f32)
                    .collect()
            })
            .collect()
    };
    let (mut level, _) = settle(floats(column(&got.vertices, "position")), chunk);
    if objects {
        let index: BTreeMap<(Vec<i64>, u64), usize> =
            level.places.iter().cloned().zip(0..).collect();
        let need = Need {
            objects: true,
            ..Need::nothing()
        };
        let loaded = store.level(0, &need).await.unwrap();
        let ids: Vec<i64> = loaded
            .object_index()
            .unwrap()
            .ids()
            .await
            .unwrap()
            .iter()
            .collect();
        for id in ids {
            let query = Query {
                objects: Some(vec![id]),
                columns: columns.clone(),
                ..Query::default()
            };
            let got = ask(&store, query).await;
            let places = column(&got.vertices, "chunk")
                .into_iter()
                .zip(column(&got.vertices, "row"));
            let rows = places.map(|(chunk, row)| {
                let chunk = chunk.split(' ').map(|c| c.parse().unwrap()).collect();
                index[&(chunk, row.parse().unwrap())]
            });
            level.objects.insert(id, rows.collect());
        }
    }
    level
}

/// Compares a written level, vertex by vertex.
async fn compare(memory: &Memory, number: u32, wanted: &Naive) {
    let store = memory.open().await;
    let query = Query {
        level: number,
        columns: vec![Column::Position, Column::Chunk, Column::Row],
        ..Query::default()
    };
    let got = ask(&store, query).await;
    let text = |position: &Vec<f32>| {
        let parts = position
            .iter()
            .map(|&v| crate::support::float(f64::from(v)));
        parts.collect::<Vec<_>>().join(" ")
    };
    let positions: Vec<String> = wanted.positions.iter().map(text).collect();
    assert_eq!(
        column(&got.vertices, "position"),
        positions,
        "level {number}"
    );
    for (&id, rows) in &wanted.objects {
        let query = Query {
            level: number,
            objects: Some(vec![id]),
            columns: vec![Column::Position],
            ..Query::default()
        };
        let got = ask(&store, query).await;
        let wanted: Vec<String> = rows.iter().map(|&row| positions[row].clone()).collect();
        assert_eq!(
            column(&got.vertices, "position"),
            wanted,
            "level {number}, object {id}"
        );
    }
}

/// The links of a family as pairs of chunk and row.
pub(crate) type Pair = ((Vec<i64>, i64), (Vec<i64>, i64));

pub(crate) async fn family(memory: &Memory, level: u32, delta: i32) -> Option<Vec<Pair>> {
    let store = memory.open().await;
    let need = Need {
        link_deltas: Deltas::List(vec![delta]),
        ..Need::nothing()
    };
    let loaded = store.level(level, &need).await.unwrap();
    let family = loaded.links(delta)?;
    assert!(family.directed());
    let mut found = Vec::new();
    for array in family.arrays() {
        for source in array.array.presence().iter() {
            let wants = vec![zvf_store::CellWant::new(&array.array, source)];
            let cells = store.fetch(loaded.next_round(), wants).await.unwrap();
            let cell = cells[0].clone().unwrap();
            let records = array.decode(source, &cell).unwrap();
            let mut ends = Vec::new();
            array.endpoint_chunks(source, &mut ends).unwrap();
            for at in 0..records.len() {
                let mut record = [Endpoint::default(); 2];
                assert!(records.record(at, &mut record));
                let place = |end: Endpoint| {
                    let chunk = ends[end.which * source.len()..][..source.len()].to_vec();
                    (chunk, end.row)
                };
                found.push((place(record[0]), place(record[1])));
            }
        }
    }
    found.sort();
    Some(found)
}

async fn compare_links(memory: &Memory, levels: &[Naive], from: usize, to: usize) {
    let mut wanted = Vec::new();
    for at in 0..levels[from].positions.len() {
        let mut up = Some(at);
        for level in &levels[from..to] {
            up = up.and_then(|at| level.parents[at]);
        }
        if let Some(up) = up {
            let place = |level: usize, at: usize| {
                let (chunk, row) = levels[level].places[at].clone();
                (chunk, row as i64)
            };
            wanted.push((place(from, at), place(to, up)));
        }
    }
    wanted.sort();
    let delta = (to - from) as i32;
    assert_eq!(
        family(memory, from as u32, delta).await.as_ref(),
        Some(&wanted)
    );
    let mut back: Vec<_> = wanted.into_iter().map(|(a, b)| (b, a)).collect();
    back.sort();
    assert_eq!(family(memory, to as u32, -delta).await, Some(back));
}

#[tokio::test]
async fn t28_points_are_means_of_bins_in_the_order_of_the_page() {
    let memory = Memory::default();
    let chunk = vec![10.0; 3];
    let spec = StoreSpec::new(Kind::PointCloud, chunk.clone()).with_bin_shape([2.5; 3]);
    let mut model = Model::new(spec, scatter(900, -17.0, 31.0));
    model.budget = 0;
    model.write(memory.options()).await;
    let mut levels = vec![level_0(&memory, &chunk, false).await];
    let spec = PyramidSpec::new(steps(&[2.0, 1.5]))
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, -1);
    let reports = build(&memory, &spec).await.unwrap();
    for bins in [[5.0; 3], [7.5; 3]] {
        let fine = levels.last_mut().unwrap();
        let next = coarsen(fine, &bins, &chunk, &[]);
        levels.push(next);
    }
    check_documents(&memory.files().await);
    for (number, report) in (1..).zip(&reports) {
        compare(&memory, number, &levels[number as usize]).await;
        assert_eq!(
            report.vertices,
            levels[number as usize].positions.len() as u64
        );
    }
    for (from, to) in [(0, 1), (1, 2), (0, 2)] {
        compare_links(&memory, &levels, from, to).await;
    }
}

#[tokio::test]
async fn objects_keep_their_ids_and_t18_links_go_up_from_level_0() {
    let memory = Memory::default();
    let chunk = vec![8.0; 3];
    let spec = StoreSpec::new(Kind::Streamline, chunk.clone()).with_shard_shape([2, 2, 1]);
    let mut model = Model::new(spec, Vec::new());
    let mut ids = Vec::new();
    for (at, (id, size)) in [(4, 60), (-7, 1), (1 << 40, 90), (9, 30), (12, 44)]
        .into_iter()
        .enumerate()
    {
        let start = mixed(at, 40) as f64 - 20.0;
        for n in 0..size {
            let t = n as f64;
            let position = [
                start + t * 0.5,
                (t * 0.3).sin() * 9.0,
                (t * 0.17).cos() * 11.0 + start,
            ];
            model
                .positions
                .push(position.iter().map(|&v| f64::from(v as f32)).collect());
            ids.push(id);
        }
    }
    model.ids = Some(ids);
    model.write(memory.options()).await;
    let mut levels = vec![level_0(&memory, &chunk, true).await];
    // numpy.random.default_rng(5).choice(5, 2, replace=False), sorted: rows of ids in ascending order.
    let rows = [2, 4];
    let all = [-7, 4, 9, 12, 1 << 40];
    let kept: Vec<i64> = rows.iter().map(|&row: &usize| all[row]).collect();
    let spec = PyramidSpec::new(vec![
        LevelStep::new(0.5 * 4.0)
            .with_sparsity(2.0)
            .with_chunk_scale([2, 2, 2]),
    ])
    .with_method(Method::Reference)
    .with_seed(5)
    .with_cross_level(CrossLevel::Explicit, 1);
    let reports = build(&memory, &spec).await.unwrap();
    assert_eq!(reports[0].objects, 2);
    let next = coarsen(&mut levels[0], &[16.0; 3], &[16.0; 3], &kept);
    levels.push(next);
    compare(&memory, 1, &levels[1]).await;
    compare_links(&memory, &levels, 0, 1).await;
    check_documents(&memory.files().await);
}

#[tokio::test]
async fn t29_links_number_rows_where_fragments_do_not_tile_them() {
    let memory = Memory::default();
    let chunk = vec![10.0; 3];
    let spec = StoreSpec::new(Kind::PointCloud, chunk.clone())
        .with_objects()
        .with_compression(zvf_write::Compression::None);
    let mut model = Model::new(spec, scatter(200, 0.0, 29.0));
    model.ids = Some((0..200).map(|n| mixed(n, 3) as i64).collect());
    model.write(memory.options()).await;
    // Every fragment lists its rows in reverse.
    for (key, bytes) in memory.files().await {
        let at = object_store::path::Path::from(format!("some/points.zarrvectors/{key}"));
        let new = if key.starts_with("0/vertex_fragments/c/") {
            let index = zvf_format::fragments::FragmentIndex::parse(&bytes[8..]).unwrap();
            let mut turned = zvf_format::fragments::FragmentIndexBuilder::new();
            for fragment in &index {
                let mut rows: Vec<i64> = fragment.rows().collect();
                rows.reverse();
                turned.push_rows(&rows).unwrap();
            }
            zvf_format::vlen::VlenBuilder::cell(&turned.finish()).unwrap()
        } else if key == "0/zarr.json" {
            String::from_utf8(bytes)
                .unwrap()
                .replace("\"fragments_tile\": true", "\"fragments_tile\": false")
                .into()
        } else {
            continue;
        };
        object_store::ObjectStoreExt::put(&*memory.0, &at, new.into())
            .await
            .unwrap();
    }
    let mut levels = vec![level_0(&memory, &chunk, true).await];
    let ids: Vec<i64> = levels[0].objects.keys().copied().collect();
    let spec = PyramidSpec::new(steps(&[0.5 * 3.0]))
        .with_method(Method::Reference)
        .with_cross_level(CrossLevel::Explicit, 1);
    build(&memory, &spec).await.unwrap();
    let next = coarsen(&mut levels[0], &[15.0; 3], &chunk, &ids);
    levels.push(next);
    compare(&memory, 1, &levels[1]).await;
    compare_links(&memory, &levels, 0, 1).await;
}

#[tokio::test]
async fn positions_of_any_type_are_coarsened() {
    // The package fails for most of these types, or reads them as float32.
    for number in [
        NumberType::F64,
        NumberType::F16,
        NumberType::I16,
        NumberType::U8,
        NumberType::I64,
    ] {
        let memory = Memory::default();
        let positions: Vec<Vec<f64>> = scatter(300, 0.0, 60.0)
            .into_iter()
            .map(|row| row.into_iter().map(f64::floor).collect())
            .collect();
        let spec = StoreSpec::new(Kind::PointCloud, [20.0; 3]).with_positions(number);
        Model::new(spec, positions).write(memory.options()).await;
        let mut level = level_0(&memory, &[20.0; 3], false).await;
        let spec = PyramidSpec::new(steps(&[1.25])).with_method(Method::Reference);
        build(&memory, &spec).await.unwrap();
        compare(
            &memory,
            1,
            &coarsen(&mut level, &[25.0; 3], &[20.0; 3], &[]),
        )
        .await;
    }
}

#[tokio::test]
async fn t19_depth_0_and_none_write_no_links() {
    for (cross, depth) in [
        (CrossLevel::Explicit, 0),
        (CrossLevel::None, 1),
        (CrossLevel::Implicit, 1),
    ] {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]);
        Model::new(spec, scatter(50, 0.0, 30.0))
            .write(memory.options())
            .await;
        let spec = PyramidSpec::new(steps(&[2.0]))
            .with_method(Method::Reference)
            .with_cross_level(cross, depth);
        build(&memory, &spec).await.unwrap();
        let files = memory.files().await;
        let up = files.keys().any(|key| key.starts_with("0/links/+1/"));
        assert_eq!(up, cross == CrossLevel::Implicit && depth > 0);
        assert!(!files.keys().any(|key| key.starts_with("1/links")));
        let root = String::from_utf8(files["zarr.json"].clone()).unwrap();
        assert_eq!(root.contains("multiscale_links"), up);
    }
}

#[tokio::test]
async fn levels_go_on_until_one_is_small_enough() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_bin_shape([2.5; 3]);
    Model::new(spec, scatter(2000, 0.0, 40.0))
        .write(memory.options())
        .await;
    let spec = PyramidSpec::new(steps(&[2.0]))
        .with_method(Method::Reference)
        .with_until(20);
    let reports = build(&memory, &spec).await.unwrap();
    let counts: Vec<u64> = reports.iter().map(|one| one.vertices).collect();
    let (last, before) = counts.split_last().unwrap();
    assert!(
        *last <= 20 && before.iter().all(|&count| count > 20),
        "{counts:?}"
    );
    // A level that cannot shrink ends the pyramid as well.
    let memory = Memory::default();
    let far = vec![vec![0.0, 0.0, 0.0], vec![1000.0, 0.0, 0.0]];
    Model::new(StoreSpec::new(Kind::PointCloud, [10.0; 3]), far)
        .write(memory.options())
        .await;
    let spec = PyramidSpec::new(steps(&[1.0]))
        .with_method(Method::Reference)
        .with_until(1);
    assert_eq!(build(&memory, &spec).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_cannot_be_coarsened_is_refused_and_nothing_is_touched() {
    let memory = Memory::default();
    Model::new(
        StoreSpec::new(Kind::PointCloud, [10.0; 3]),
        scatter(50, 0.0, 30.0),
    )
    .write(memory.options())
    .await;
    let before = memory.files().await;
    let good = PyramidSpec::new(steps(&[2.0])).with_method(Method::Reference);
    let bad = [
        (PyramidSpec::new(steps(&[])), "levels"),
        (PyramidSpec::new(steps(&[0.5])), "levels/0/factor"),
        (PyramidSpec::new(steps(&[f64::NAN])), "levels/0/factor"),
        (
            PyramidSpec::new(vec![LevelStep::new(2.0).with_sparsity(0.9)]),
            "levels/0/sparsity",
        ),
        (
            PyramidSpec::new(vec![LevelStep::new(2.0).with_chunk_scale([2])]),
            "levels/0/chunk_scale",
        ),
        (good.clone().with_cross_level(CrossLevel::None, -2), "depth"),
        (
            PyramidSpec::new(steps(&[2.0]))
                .with_cross_level(CrossLevel::Implicit, 1)
                .with_existing(Existing::Keep),
            "cross_level",
        ),
        (good.clone().with_base(BaseBins::Given(vec![1.0])), "base"),
        (
            good.clone().with_base(BaseBins::Given(vec![3.0; 3])),
            "base",
        ),
        (good.clone().with_base(BaseBins::Data), "base"),
    ];
    for (spec, member) in bad {
        let error = build(&memory, &spec).await.unwrap_err();
        assert!(
            matches!(&error, WriteError::Spec { member: found, .. } if found == member),
            "{error}"
        );
    }
    assert_eq!(memory.files().await, before);
    build(&memory, &good).await.unwrap();
    let with = memory.files().await;
    let error = build(&memory, &good).await.unwrap_err();
    assert!(error.to_string().contains("levels [0, 1]"), "{error}");
    assert_eq!(memory.files().await, with);
    let nowhere = Memory::default();
    assert!(build(&nowhere, &good).await.is_err());
    assert!(nowhere.files().await.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_points_with_objects_are_coarsened_as_the_page_says(
        points in prop::collection::vec(([-300_i32..300, -300..300, -300..300], -3_i64..4), 1..120),
        factors in prop::collection::vec(prop::sample::select(vec![1.0, 1.5, 2.0, 300.0]), 1..3),
    ) {
        block_on(async {
            let memory = Memory::default();
            let chunk = vec![8.0; 3];
            let spec = StoreSpec::new(Kind::PointCloud, chunk.clone()).with_objects();
            let positions = points.iter().map(|(p, _)| p.iter().map(|&v| f64::from(v) / 16.0).collect());
            let mut model = Model::new(spec, positions.collect());
            model.ids = Some(points.iter().map(|(_, id)| *id).collect());
            model.write(memory.options()).await;
            let mut levels = vec![level_0(&memory, &chunk, true).await];
            let spec = PyramidSpec::new(steps(&factors))
                .with_method(Method::Reference)
                .with_cross_level(CrossLevel::Explicit, -1);
            build(&memory, &spec).await.unwrap();
            let ids: Vec<i64> = levels[0].objects.keys().copied().collect();
            let mut bins = chunk.clone();
            for (number, factor) in (1..).zip(&factors) {
                bins.iter_mut().for_each(|bin| *bin *= factor);
                let next = coarsen(levels.last_mut().unwrap(), &bins, &chunk, &ids);
                compare(&memory, number, &next).await;
                levels.push(next);
            }
            for to in 1..levels.len() {
                compare_links(&memory, &levels, 0, to).await;
            }
            check_documents(&memory.files().await);
        });
    }
}
