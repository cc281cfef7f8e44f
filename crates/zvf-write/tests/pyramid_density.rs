//! The density method: required properties of a coarse level, independent of the choice of vertices.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zvf_pyramid::{LevelReport, LevelStep, PyramidSpec};
use zvf_query::Query;
use zvf_write::{AttributeSpec, Axis, Batch, Groups, Kind, NumberType, StoreSpec, StoreWriter};

use crate::model::Model;
use crate::pyramid::{build, mixed};
use crate::support::{ADDRESS, Got, Memory, ask, block_on, check_documents, column};

async fn levels(model: &Model, factors: &[f64]) -> (Memory, Vec<LevelReport>) {
    let memory = Memory::default();
    model.write(memory.options()).await;
    let steps: Vec<LevelStep> = factors
        .iter()
        .map(|&factor| LevelStep::new(factor))
        .collect();
    let reports = build(&memory, &PyramidSpec::new(steps)).await.unwrap();
    check_documents(&memory.files().await);
    (memory, reports)
}

async fn read(memory: &Memory, level: u32) -> Got {
    let query = Query {
        level,
        ..Query::default()
    };
    ask(&memory.open().await, query).await
}

/// Checks that every vertex of a level is a vertex of the input, with its position and attributes, and occurs once.
fn same_vertices(model: &Model, got: &Got) -> Vec<usize> {
    let numbers = got.numbers();
    let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!(distinct.len(), numbers.len());
    let positions = column(&got.vertices, "position");
    let words = column(&got.vertices, "word");
    let vectors = column(&got.vertices, "vector");
    for (at, &n) in numbers.iter().enumerate() {
        let wanted: Vec<String> = model.positions[n]
            .iter()
            .map(|&v| crate::support::float(v))
            .collect();
        assert_eq!(positions[at], wanted.join(" "));
        let word = if n % 5 != 3 {
            format!("word {}", n % 7)
        } else {
            "null".to_owned()
        };
        assert_eq!(words[at], word);
        let vector = [n as f64 * 0.5, -(n as f64)].map(crate::support::float);
        assert_eq!(vectors[at], vector.join(" "));
    }
    numbers
}

fn bin(position: &[f64], size: f64) -> Vec<i64> {
    position.iter().map(|p| (p / size).floor() as i64).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

fn scatter(count: usize, dims: usize, span: usize) -> Vec<Vec<f64>> {
    (0..count)
        .map(|n| {
            (0..dims)
                .map(|axis| mixed(n * dims + axis, span * 8) as f64 / 8.0 - span as f64 / 2.0)
                .collect()
        })
        .collect()
}

#[tokio::test]
async fn points_are_thinned_to_one_a_bin() {
    let spec = StoreSpec::new(Kind::PointCloud, [16.0; 3]).with_bin_shape([4.0; 3]);
    let model = Model::new(spec, scatter(3000, 3, 60));
    let (memory, reports) = levels(&model, &[2.0, 2.0]).await;
    for (report, size) in reports.iter().zip([8.0, 16.0]) {
        let got = read(&memory, report.level).await;
        let numbers = same_vertices(&model, &got);
        let all: BTreeSet<Vec<i64>> = model.positions.iter().map(|p| bin(p, size)).collect();
        let kept: BTreeSet<Vec<i64>> = numbers
            .iter()
            .map(|&n| bin(&model.positions[n], size))
            .collect();
        assert_eq!((kept.len(), &kept), (numbers.len(), &all));
        let bound = report.error_bound.unwrap();
        for position in &model.positions {
            let near = numbers
                .iter()
                .map(|&n| distance(position, &model.positions[n]));
            assert!(near.fold(f64::INFINITY, f64::min) <= bound + 1e-9);
        }
        assert!(bound <= 2.0 * 16.0 * 3.0_f64.sqrt());
    }
}

/// Random chains, with the object of each vertex.
fn chains(count: usize, kind: Kind) -> Model {
    let mut model = Model::new(StoreSpec::new(kind, [12.0, 9.0, 15.0]), Vec::new());
    let mut ids = Vec::new();
    for chain in 0..count {
        let size = if kind == Kind::Line {
            2
        } else {
            mixed(chain, 50)
        };
        let start = mixed(chain + 7, 60) as f64 - 30.0;
        for n in 0..size {
            let t = n as f64;
            let wave = (t * 0.4 + chain as f64).sin() * 6.0;
            model.positions.push(vec![
                start + t * 0.5,
                wave,
                (t * 0.2).cos() * 8.0 + start * 0.5,
            ]);
            ids.push(chain as i64 * 3 - 10);
        }
    }
    for position in &mut model.positions {
        position.iter_mut().for_each(|v| *v = f64::from(*v as f32));
    }
    model.ids = Some(ids);
    model
}

fn from_segment(p: &[f64], a: &[f64], b: &[f64]) -> f64 {
    let length: f64 = a.iter().zip(b).map(|(a, b)| (b - a) * (b - a)).sum();
    let along: f64 = p
        .iter()
        .zip(a)
        .zip(b)
        .map(|((p, a), b)| (p - a) * (b - a))
        .sum();
    let share = if length > 0.0 {
        (along / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let near: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + share * (b - a)).collect();
    distance(p, &near)
}

#[tokio::test]
async fn streamlines_are_simplified_within_the_bound_and_keep_their_ends() {
    let model = chains(40, Kind::Streamline);
    let (memory, reports) = levels(&model, &[0.25 * 4.0, 2.0]).await;
    let ids = model.ids.clone().unwrap();
    let mut before = model.positions.len();
    for report in &reports {
        let bound = report.error_bound.unwrap();
        let mut total = 0;
        for id in ids.iter().copied().collect::<BTreeSet<_>>() {
            let query = Query {
                level: report.level,
                objects: Some(vec![id]),
                ..Query::default()
            };
            let got = ask(&memory.open().await, query).await;
            let kept = same_vertices(&model, &got);
            total += kept.len();
            let own: Vec<usize> = (0..ids.len()).filter(|&n| ids[n] == id).collect();
            assert_eq!((kept.first(), kept.last()), (own.first(), own.last()));
            assert!(kept.is_sorted());
            for &n in &own {
                let at = kept.partition_point(|&k| k <= n) - 1;
                let next = kept[(at + 1).min(kept.len() - 1)];
                let (a, b) = (&model.positions[kept[at]], &model.positions[next]);
                assert!(from_segment(&model.positions[n], a, b) <= bound + 1e-9);
            }
        }
        assert_eq!(total as u64, report.vertices);
        assert!(total < before);
        before = total;
    }
    // Objects keep their rows of attributes, even objects without vertices.
    assert_eq!(reports[1].objects, reports[0].objects);
}

#[tokio::test]
async fn t22_lines_stay_lines() {
    let model = chains(200, Kind::Line);
    let (memory, reports) = levels(&model, &[2.0]).await;
    let got = read(&memory, 1).await;
    let numbers = same_vertices(&model, &got);
    assert_eq!(numbers.len() % 2, 0);
    assert_eq!(reports[0].objects * 2, reports[0].vertices);
    let size = [24.0, 18.0, 30.0];
    let key = |line: usize| {
        let mut ends = [2 * line, 2 * line + 1].map(|n| {
            let axes = model.positions[n].iter().zip(size);
            axes.map(|(p, s)| (p / s).floor() as i64)
                .collect::<Vec<_>>()
        });
        ends.sort();
        ends
    };
    let all: BTreeSet<_> = (0..200).map(key).collect();
    let kept: BTreeSet<usize> = numbers.iter().map(|n| n / 2).collect();
    assert_eq!(
        kept.iter().map(|&line| key(line)).collect::<BTreeSet<_>>(),
        all
    );
    assert_eq!(kept.len(), all.len());
}

/// Connected components of the links: the smallest vertex of each component, for every vertex.
fn components(vertices: &BTreeSet<usize>, links: &[Vec<usize>]) -> BTreeMap<usize, usize> {
    let mut name: BTreeMap<usize, usize> = vertices.iter().map(|&v| (v, v)).collect();
    loop {
        let mut changed = false;
        for link in links {
            let least = link.iter().map(|v| name[v]).min().unwrap();
            for v in link {
                changed |= name.insert(*v, least) != Some(least);
            }
        }
        if !changed {
            return name;
        }
    }
}

pub(crate) fn tree(seed: usize, count: usize) -> Model {
    let mut model = Model::new(StoreSpec::new(Kind::Skeleton, [10.0; 3]), Vec::new());
    let mut ids = Vec::new();
    let mut last_root = 0;
    for n in 0..count {
        let new = n == 0 || mixed(n + seed, 60) == 0;
        if new {
            last_root = n;
            model.positions.push(scatter(n + 1, 3, 50)[n].clone());
        } else {
            let back = if mixed(n * 7 + seed, 4) == 0 {
                mixed(n, n - last_root) + 1
            } else {
                1
            };
            let parent = n - back.min(n - last_root);
            let step = [1.0, 0.5, -0.75].map(|s| s * (mixed(n * 11 + seed, 5) as f64 - 1.5));
            let near = model.positions[parent].iter().zip(step).map(|(p, s)| p + s);
            let position = near.collect();
            model.positions.push(position);
            model.links.push(vec![n, parent]);
        }
        ids.push(last_root as i64);
    }
    model.ids = Some(ids);
    model
}

fn check_tree(model: &Model, got: &Got, report: &LevelReport) {
    let numbers = same_vertices(model, got);
    let kept: BTreeSet<usize> = numbers.iter().copied().collect();
    let links: Vec<Vec<usize>> = got.links().into_iter().map(|(link, _)| link).collect();
    let ids = model.ids.as_ref().unwrap();
    let children: BTreeSet<usize> = links.iter().map(|link| link[0]).collect();
    assert_eq!(
        children.len(),
        links.len(),
        "a vertex has one parent at most"
    );
    assert!(
        links
            .iter()
            .all(|link| link[0] != link[1] && ids[link[0]] == ids[link[1]])
    );
    // Trees stay connected and separate: there are as many links as vertices minus trees.
    let all: BTreeSet<usize> = (0..model.positions.len()).collect();
    let before = components(&all, &model.links);
    let after = components(&kept, &links);
    let trees = |names: &BTreeMap<usize, usize>| names.values().collect::<BTreeSet<_>>().len();
    assert_eq!(links.len(), kept.len() - trees(&after));
    assert_eq!(trees(&after), trees(&before));
    let bound = report.error_bound.unwrap();
    for n in all {
        let near = kept.iter().filter(|&&k| before[&k] == before[&n]);
        let near = near.map(|&k| distance(&model.positions[k], &model.positions[n]));
        assert!(near.fold(f64::INFINITY, f64::min) <= bound + 1e-9);
    }
}

#[tokio::test]
async fn t22_trees_stay_trees() {
    for explicit in [false, true] {
        let mut model = tree(3, 400);
        if explicit {
            let given = (model.links, model.ids);
            let spec = StoreSpec::new(Kind::Skeleton, [10.0; 3]).with_explicit_links();
            model = Model::new(spec, model.positions);
            (model.links, model.ids) = given;
        }
        let (memory, reports) = levels(&model, &[1.0, 2.0]).await;
        for report in &reports {
            check_tree(&model, &read(&memory, report.level).await, report);
        }
        assert!(reports[1].vertices < reports[0].vertices && reports[0].vertices < 200);
    }
}

#[tokio::test]
async fn t22_graphs_keep_their_edges_once() {
    for directed in [false, true] {
        let spec = StoreSpec::new(Kind::Graph, [10.0; 2])
            .with_link_policy(directed, zvf_write::LinkStore::Canonical);
        let mut model = Model::new(spec, scatter(300, 2, 40));
        model.ids = Some((0..300).map(|n| (n % 2) as i64).collect());
        model.links = (0..900)
            .map(|n| vec![mixed(n * 2, 300), mixed(n * 2 + 1, 300)])
            .collect();
        let (memory, reports) = levels(&model, &[1.0]).await;
        let got = read(&memory, 1).await;
        let numbers = same_vertices(&model, &got);
        assert!(numbers.len() < 300, "{} and {reports:?}", numbers.len());
        let kept: BTreeSet<usize> = numbers.iter().copied().collect();
        let links = got.links();
        let mut seen = BTreeSet::new();
        for (link, weight) in &links {
            assert_ne!(link[0], link[1]);
            let pair = if directed {
                link.clone()
            } else {
                crate::support::sorted(link.clone())
            };
            assert!(seen.insert(pair));
            // A remaining link comes from a link of the input whose ends are in the same bins.
            let of = &model.links[weight.parse::<usize>().unwrap()];
            for (end, from) in link.iter().zip(of) {
                assert_eq!(
                    bin(&model.positions[*end], 10.0),
                    bin(&model.positions[*from], 10.0)
                );
            }
        }
        // Connected vertices are still connected.
        let all: BTreeSet<usize> = (0..300).collect();
        let before = components(&all, &model.links);
        let plain: Vec<Vec<usize>> = links.into_iter().map(|(link, _)| link).collect();
        let after = components(&kept, &plain);
        for (a, b) in kept.iter().zip(kept.iter().skip(1)) {
            assert_eq!(before[a] == before[b], after[a] == after[b]);
        }
        assert_eq!(reports[0].links, plain.len() as u64);
    }
}

/// An uneven sheet of triangles or quads over many chunks.
pub(crate) fn sheet(width: usize, corners: usize) -> Model {
    let spec = StoreSpec::new(Kind::Mesh, [4.0; 3]).with_link_width(corners);
    let mut model = Model::new(spec, Vec::new());
    for x in 0..width {
        for y in 0..width {
            let z = ((x as f64) * 0.3).sin() * 3.0 + ((y as f64) * 0.2).cos() * 2.0;
            model.positions.push(vec![
                x as f64 * 0.5 - 7.0,
                y as f64 * 0.5 - 6.0,
                f64::from(z as f32),
            ]);
        }
    }
    for x in 1..width {
        for y in 1..width {
            let (a, b) = ((x - 1) * width + y - 1, (x - 1) * width + y);
            let (c, d) = (x * width + y, x * width + y - 1);
            if corners == 4 {
                model.links.push(vec![a, b, c, d]);
            } else {
                model.links.push(vec![a, b, c]);
                model.links.push(vec![a, c, d]);
            }
        }
    }
    model.ids = Some(vec![0; width * width]);
    model
}

#[tokio::test]
async fn t22_meshes_have_no_seams_and_no_faces_without_area() {
    for corners in [3, 4] {
        let model = sheet(40, corners);
        let (memory, reports) = levels(&model, &[0.5 * 2.0]).await;
        let got = read(&memory, 1).await;
        let numbers = same_vertices(&model, &got);
        let faces: Vec<Vec<usize>> = got.links().into_iter().map(|(face, _)| face).collect();
        assert!(!faces.is_empty() && faces.len() * 4 < model.links.len());
        assert_eq!(reports[0].links, faces.len() as u64);
        // The representative of a vertex is the only kept vertex of its bin, over all chunks.
        let bins: BTreeMap<Vec<i64>, usize> = numbers
            .iter()
            .map(|&n| (bin(&model.positions[n], 4.0), n))
            .collect();
        assert_eq!(bins.len(), numbers.len());
        let mut wanted: BTreeSet<Vec<usize>> = BTreeSet::new();
        for face in &model.links {
            let mut ring: Vec<usize> = Vec::new();
            for &n in face {
                // Every bin keeps a vertex here, because the sheet has no isolated parts.
                let stand_in = bins[&bin(&model.positions[n], 4.0)];
                if ring.last() != Some(&stand_in) {
                    ring.push(stand_in);
                }
            }
            while ring.len() > 1 && ring.first() == ring.last() {
                ring.pop();
            }
            let distinct: BTreeSet<usize> = ring.iter().copied().collect();
            if ring.len() >= 3 && distinct.len() == ring.len() {
                let first = (0..ring.len()).min_by_key(|&at| ring[at]).unwrap();
                ring.rotate_left(first);
                wanted.insert(ring);
            }
        }
        let mut found = BTreeSet::new();
        for face in &faces {
            let mut ring = face.clone();
            ring.dedup();
            let first = (0..ring.len()).min_by_key(|&at| ring[at]).unwrap();
            ring.rotate_left(first);
            assert!(found.insert(ring), "a face twice");
        }
        assert_eq!(found, wanted);
        let used: BTreeSet<usize> = faces.iter().flatten().copied().collect();
        assert_eq!(used, numbers.iter().copied().collect());
    }
}

#[tokio::test]
async fn t7_and_t21_levels_have_codecs_shards_groups_and_object_attributes() {
    use zvf_write::{AttributeSpec, Batch, Compression, NumberType, ObjectTable, Values};
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 2])
        .with_object_attribute(AttributeSpec::text("name"))
        .with_object_attribute(AttributeSpec::number("size", NumberType::I16))
        .with_compression(Compression::Gzip(4))
        .with_shard_shape([2, 2]);
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let rows: Vec<f32> = (0..60).flat_map(|n| [n as f32, (n % 7) as f32]).collect();
    let runs = [(3, 20), (8, 25), (11, 15)];
    writer
        .push(&Batch::new(rows).with_object_runs(&runs[..]))
        .unwrap();
    let table = ObjectTable::new(&[11_i64, 3][..])
        .with_attribute("name", Values::texts(["eleven", "three"]))
        .with_attribute("size", &[7_i16, 5][..]);
    writer.push_objects(&table).unwrap();
    writer
        .set_groups(
            &Groups::new(vec![vec![3, 11], vec![8]])
                .with_names(["odd", "even"])
                .with_gaps("weight", &[9_u8, 0][..], [1]),
        )
        .unwrap();
    writer.finish().await.unwrap();
    let steps = vec![LevelStep::new(1.0), LevelStep::new(2.0).with_sparsity(3.0)];
    let reports = build(&memory, &PyramidSpec::new(steps)).await.unwrap();
    assert_eq!((reports[0].objects, reports[1].objects), (3, 1));
    let files = memory.files().await;
    check_documents(&files);
    for level in ["1", "2"] {
        let vertices = |level: &str| -> serde_json::Value {
            serde_json::from_slice(&files[&format!("{level}/vertices/zarr.json")]).unwrap()
        };
        assert_eq!(vertices(level)["codecs"], vertices("0")["codecs"]);
        assert_eq!(vertices(level)["chunk_grid"], vertices("0")["chunk_grid"]);
    }
    let (objects, finest) = (
        read(&memory, 1).await.objects.unwrap(),
        read(&memory, 0).await.objects.unwrap(),
    );
    assert_eq!(column(&objects, "object_id"), ["3", "8", "11"]);
    assert_eq!(column(&objects, "name"), column(&finest, "name"));
    assert_eq!(column(&objects, "name")[2], "eleven");
    assert_eq!(column(&objects, "size"), column(&finest, "size"));
    assert_eq!(column(&objects, "size")[0], "5");
    let query = Query {
        level: 1,
        groups: Some(vec![1]),
        ..Query::default()
    };
    let got = ask(&memory.open().await, query).await;
    assert_eq!(column(&got.objects.unwrap(), "object_id"), ["8"]);
    let need = zvf_store::Need {
        groups: true,
        group_attributes: zvf_store::Names::All,
        ..zvf_store::Need::nothing()
    };
    for level in [0, 1] {
        let level = memory.open().await.level(level, &need).await.unwrap();
        let weight = level.group_attributes()[0].read().await.unwrap();
        assert_eq!(weight.bytes[0], 9);
        assert_eq!([0, 1].map(|row| weight.is_absent(row)), [false, true]);
    }
}

#[tokio::test]
async fn attributes_of_links_are_described_at_every_level() {
    let weight = AttributeSpec::number("weight", NumberType::F32)
        .with_channels(2)
        .with_unit("millimeter")
        .with_description("widths of an edge")
        .with_channel_names(["thin", "thick"]);
    let spec = StoreSpec::new(Kind::Graph, [10.0; 2]).with_link_attribute(weight);
    let memory = Memory::default();
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let positions: Vec<f64> = (0..40).flat_map(|n| [f64::from(n), 1.0]).collect();
    let values: Vec<f32> = (0..78_u8).map(f32::from).collect();
    let batch = Batch::new(positions)
        .with_links((0..39).flat_map(|at| [at, at + 1]).collect::<Vec<u64>>())
        .with_link_attribute("weight", values);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    build(&memory, &PyramidSpec::new(vec![LevelStep::new(4.0)]))
        .await
        .unwrap();
    let files = memory.files().await;
    let stated = |level: &str| -> Vec<serde_json::Value> {
        let below = format!("{level}/link_attributes/weight/");
        let arrays = files.iter().filter(|(key, _)| {
            key.starts_with(&below) && key.ends_with("/zarr.json") && key.matches('/').count() > 4
        });
        let members = ["unit", "description", "channel_names"];
        let of_one = |(_, bytes): (_, &Vec<u8>)| -> serde_json::Value {
            let document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
            members
                .iter()
                .map(|name| document["attributes"][name].clone())
                .collect()
        };
        let mut all: Vec<_> = arrays.map(of_one).collect();
        all.dedup();
        all
    };
    let expected = serde_json::json!(["millimeter", "widths of an edge", ["thin", "thick"]]);
    assert_eq!(
        (stated("0"), stated("1")),
        (vec![expected.clone()], vec![expected])
    );
}

#[tokio::test]
async fn levels_of_chunks_by_an_attribute_are_cut_by_it_too() {
    let by = |mut model: Model, key: AttributeSpec| {
        model.spec = model.spec.with_attribute_chunks(key);
        model
    };
    let number = |number| AttributeSpec::number("k", number);
    let points = || {
        Model::new(
            StoreSpec::new(Kind::PointCloud, [12.0; 3]),
            scatter(900, 3, 40),
        )
    };
    let mut objects = points();
    objects.spec = objects.spec.with_objects();
    objects.ids = Some((0..900).map(|n| mixed(n, 7) as i64).collect());
    for model in [
        by(points(), AttributeSpec::category("k")),
        by(objects, number(NumberType::I16)),
        by(chains(30, Kind::Streamline), AttributeSpec::category("k")),
        by(tree(3, 500), number(NumberType::Bool)),
        by(sheet(30, 3), number(NumberType::U64)),
    ] {
        let (memory, reports) = levels(&model, &[1.0, 2.0]).await;
        memory.check_clean().await;
        for level in [1, 2] {
            let got = read(&memory, level).await;
            let numbers = same_vertices(&model, &got);
            assert_eq!(reports[level as usize - 1].vertices, numbers.len() as u64);
            assert!(!numbers.is_empty() && numbers.len() < model.positions.len());
            let shown: Vec<String> = numbers.iter().map(|&n| model.shown_key(n)).collect();
            assert_eq!(column(&got.vertices, "k"), shown);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_forest_stays_one(seed in 0_usize..1000, count in 1_usize..150, factor in 1_u32..30) {
        block_on(async {
            let model = tree(seed, count);
            let (memory, reports) = levels(&model, &[f64::from(factor)]).await;
            check_tree(&model, &read(&memory, 1).await, &reports[0]);
        });
    }
}

/// Vertices that move in a square of side 32 for 64 frames of length `frame`; chunks have `chunk` frames.
fn moving(kind: Kind, frame: f64, chunk: f64) -> Model {
    let axes = [("t", "time"), ("y", "space"), ("x", "space")];
    let mut spec = StoreSpec::new(kind, [chunk * frame, 16.0, 16.0])
        .with_axes(axes.map(|(name, kind)| Axis::new(name, kind)).to_vec());
    if kind == Kind::PointCloud || kind == Kind::Graph || kind == Kind::Mesh {
        spec = spec.with_bin_shape([frame, 4.0, 4.0]);
    }
    if kind == Kind::Mesh {
        spec = spec.with_link_width(3);
    }
    let count = 64 * 66;
    let positions = (0..count).map(|n| {
        // At any time within a frame.
        let time = (n / 66) as f64 + mixed(n, 8) as f64 / 8.0;
        let axis = |seed: usize| mixed(n * 2 + seed, 256) as f64 / 8.0;
        vec![time * frame, axis(0), axis(1)]
    });
    let mut model = Model::new(spec, positions.collect());
    match kind {
        Kind::PointCloud => {}
        Kind::Line => model.ids = Some((0..count as i64).map(|n| n / 2).collect()),
        Kind::Polyline => model.ids = Some((0..count as i64).map(|n| n / 11).collect()),
        Kind::Graph => model.links = (1..count).map(|n| vec![n - 1, n]).collect(),
        _ => {
            model.links = (0..count / 3)
                .map(|n| vec![3 * n, 3 * n + 1, 3 * n + 2])
                .collect()
        }
    }
    model
}

async fn kept(model: &Model, spec: &PyramidSpec) -> Vec<(Vec<usize>, Option<f64>)> {
    let memory = Memory::default();
    model.write(memory.options()).await;
    let mut found = Vec::new();
    for report in build(&memory, spec).await.unwrap() {
        let mut numbers = same_vertices(model, &read(&memory, report.level).await);
        numbers.sort_unstable();
        found.push((numbers, report.error_bound));
    }
    found
}

/// The kept vertices, and the distances of others from them, do not depend on the unit of time.
#[tokio::test]
async fn distances_and_bounds_are_those_of_space() {
    let spec = PyramidSpec::new([LevelStep::new(2.0), LevelStep::new(2.0)]);
    for kind in [Kind::PointCloud, Kind::Graph, Kind::Mesh] {
        let levels = kept(&moving(kind, 1.0, 4.0), &spec).await;
        let mut most = 0.0;
        for ((numbers, bound), side) in levels.iter().zip([8.0, 16.0]) {
            // No two points of a bin are farther apart.
            most += side * 2.0_f64.sqrt();
            let bound = bound.unwrap();
            assert!(
                !numbers.is_empty() && bound > 0.0 && bound <= most,
                "{kind}: {bound}"
            );
        }
        assert_eq!(
            levels,
            kept(&moving(kind, 1024.0, 4.0), &spec).await,
            "{kind}"
        );
    }
}

/// On the curve that selects points, lines and objects, time is scaled by its own extent only.
#[tokio::test]
async fn levels_chosen_by_data_do_not_compare_time_with_space() {
    let spec = PyramidSpec::automatic(300);
    for kind in [Kind::PointCloud, Kind::Line, Kind::Polyline] {
        let model = moving(kind, 1.0, 1.0);
        let levels = kept(&model, &spec).await;
        for (frame, chunk) in [(1.0, 64.0), (1024.0, 1.0), (1024.0, 64.0)] {
            let other = kept(&moving(kind, frame, chunk), &spec).await;
            assert_eq!(levels, other, "{kind}, {frame}, {chunk}");
        }
        if kind != Kind::PointCloud {
            continue;
        }
        // Every quarter of space and every half of time keeps its share.
        let part = |n: usize| {
            let [t, y, x] = *model.positions[n] else {
                panic!()
            };
            (t < 32.0, y < 16.0, x < 16.0)
        };
        for (numbers, _) in &levels {
            let share = numbers.len() as f64 / model.positions.len() as f64;
            let (mut all, mut some) = (BTreeMap::new(), BTreeMap::new());
            (0..model.positions.len()).for_each(|n| *all.entry(part(n)).or_insert(0.0) += 1.0);
            numbers
                .iter()
                .for_each(|&n| *some.entry(part(n)).or_insert(0.0) += 1.0);
            for (part, all) in all {
                let found: f64 = some.get(&part).copied().unwrap_or_default();
                assert!(
                    (found - all * share).abs() <= 2.0,
                    "{part:?}: {found} of {all}"
                );
            }
        }
    }
}
