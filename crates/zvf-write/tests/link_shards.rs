//! Shards of links, if shards are chosen automatically: larger than those of other cells, kept by edits, copies and coarse levels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zvf_edit::{Edit, Resumed, vacuum};
use zvf_migrate::{MigrateOptions, ShardShape, migrate};
use zvf_pyramid::{CrossLevel, LevelStep, Method, PyramidSpec};
use zvf_query::{BBox, Query};
use zvf_store::Retry;
use zvf_testkit::faults::Dying;
use zvf_testkit::sample::Sample;
use zvf_write::{
    AttributeSpec, Batch, Compression, Kind, LinkStore, NumberType, StoreSpec, StoreWriter,
    WriteError, WriteOptions,
};

use crate::edited_draw::Draw;
use crate::model::Model;
use crate::pyramid::{build, mixed};
use crate::pyramid_again::copy;
use crate::shards::{check_lengths, cold, sharded};
use crate::support::{ADDRESS, Memory, ask, sorted};

/// Chunks along each of three axes: more than a thousand in total, so that shards are chosen.
const CHUNKS: usize = 11;

/// The largest number of cells in a shard of links.
const CELLS: u64 = 2048;

/// The chunk of a vertex of the grid.
fn chunk(n: usize) -> [usize; 3] {
    [0, 1, 2].map(|axis| n / CHUNKS.pow(axis) % CHUNKS)
}

/// A vertex in every chunk and some more, with links inside chunks and to chunks in all directions.
fn model(spec: StoreSpec) -> Model {
    let grid = CHUNKS.pow(3);
    let at = |n: usize, axis: usize| (chunk(n)[axis] * 10 + mixed(n * 3 + axis, 10)) as f64;
    let positions = (0..2 * grid).map(|n| (0..3).map(|axis| at(n, axis)).collect());
    let mut model = Model::new(spec, positions.collect());
    model.ids = Some((0..2 * grid).map(|n| (n % grid / 8) as i64).collect());
    for n in 0..grid {
        model.links.push(vec![n, n + grid]);
        let side = mixed(n, 27);
        let near = [0, 1, 2].map(|axis| {
            let step = side / 3_usize.pow(axis as u32) % 3;
            (chunk(n)[axis] + step).saturating_sub(1).min(CHUNKS - 1)
        });
        let other = near[0] + CHUNKS * (near[1] + CHUNKS * near[2]);
        if other != n {
            model.links.push(vec![n, other]);
        }
    }
    model
}

fn spec(shards: ShardShape) -> StoreSpec {
    StoreSpec::new(Kind::Graph, [10.0; 3])
        .with_objects()
        .with_shard_shape(shards)
        .with_compression(Compression::None)
}

/// The shapes of shards in cells: of each array of links and of their values, by path; and of the vertices.
fn shapes(files: &BTreeMap<String, Vec<u8>>) -> (BTreeMap<String, Vec<u64>>, Option<Vec<u64>>) {
    let mut links = BTreeMap::new();
    let mut vertices = None;
    for (path, doc) in sharded(files) {
        if path.starts_with("0/link") {
            links.insert(path.to_owned(), doc.chunk_shape);
        } else if path == "0/vertices" {
            vertices = Some(doc.chunk_shape);
        }
    }
    (links, vertices)
}

/// Number of objects with cells of links.
fn link_files(files: &BTreeMap<String, Vec<u8>>, level: usize) -> usize {
    let prefix = format!("{level}/link");
    let cells = |key: &&String| key.starts_with(&prefix) && key.contains("/c/");
    files.keys().filter(cells).count()
}

/// Checks that the shards of every array of links are at least as large as those of the vertices, and within the limit.
fn check_shapes(files: &BTreeMap<String, Vec<u8>>) {
    let (links, vertices) = shapes(files);
    let vertices = vertices.expect("shards");
    assert!(!links.is_empty());
    assert!(links.values().any(|shape| *shape != vertices));
    for (path, shape) in &links {
        let mut axes = shape.iter().zip(&vertices);
        assert!(axes.all(|(own, level)| own >= level), "{path}: {shape:?}");
        assert!(shape.iter().product::<u64>() <= CELLS, "{path}: {shape:?}");
        // Values and groups have the same shards as the links.
        let of_links = match path.as_str() {
            "0/link_fragments" => "0/links/0/0.0.0".to_owned(),
            path => path.replace("link_attributes/w", "links"),
        };
        assert_eq!(Some(shape), links.get(&of_links), "{path}");
    }
}

#[tokio::test]
async fn chosen_shards_of_links_hold_more_cells_than_others() {
    let boxes = [
        (vec![8.0, 8.0, 8.0], vec![32.0, 31.0, 11.0]),
        (vec![0.0; 3], vec![9.0; 3]),
    ];
    for (directed, store) in [(false, LinkStore::Canonical), (false, LinkStore::Duplicate)] {
        let spec = |shards| spec(shards).with_link_policy(directed, store);
        let plain = model(spec(ShardShape::None)).round_trip(&boxes).await;
        let plain = plain.files().await;
        let memory = model(spec(ShardShape::Auto)).round_trip(&boxes).await;
        let files = memory.files().await;
        check_shapes(&files);
        check_lengths(&memory).await;
        let (links, _) = shapes(&files);
        let arrays = links.len();
        assert!(arrays > 14, "{arrays} arrays of links");
        // All 1331 chunks fit into one shard.
        let of_links = link_files(&files, 0);
        assert!(of_links <= arrays, "{of_links} files");
        assert!(link_files(&plain, 0) > 20 * of_links);
        // Given shards apply to all arrays.
        let stated = Memory::default();
        model(spec(vec![4; 3].into())).write(stated.options()).await;
        let (links, _) = shapes(&stated.files().await);
        assert!(links.values().all(|shape| *shape == [4; 3]));
    }
}

#[tokio::test]
async fn copies_and_levels_have_shards_of_links_as_the_store_has() {
    let model = model(spec(ShardShape::Auto));
    let memory = model.round_trip(&[]).await;
    let (links, _) = shapes(&memory.files().await);
    for (shards, expected) in [
        (None, Some(links.clone())),
        (Some(ShardShape::Auto), Some(links.clone())),
        (Some(ShardShape::None), None),
    ] {
        let copy = Memory::default();
        let mut options = MigrateOptions::new().with_write(copy.options());
        options.shard_shape = shards;
        let store = memory.open().await;
        let report = migrate(&store, ADDRESS, options).await.unwrap();
        assert_eq!(report.losses, []);
        copy.check_clean().await;
        check_lengths(&copy).await;
        let files = copy.files().await;
        let (found, _) = shapes(&files);
        match expected {
            Some(expected) => assert_eq!(found, expected),
            None => assert!(found.is_empty()),
        }
        model.check(&copy.open().await, &[]).await;
    }
    // Given shards for a store that has separate ones for links.
    let copy = Memory::default();
    let options = MigrateOptions::new()
        .with_write(copy.options())
        .with_shard_shape([2; 3]);
    migrate(&memory.open().await, ADDRESS, options)
        .await
        .unwrap();
    let (found, _) = shapes(&copy.files().await);
    assert!(found.values().all(|shape| *shape == [2; 3]));
    for method in [Method::Density, Method::Reference] {
        let both = Memory::default();
        let options = MigrateOptions::new().with_write(both.options());
        migrate(&memory.open().await, ADDRESS, options)
            .await
            .unwrap();
        let level = PyramidSpec::new(vec![LevelStep::new(1.5)])
            .with_method(method)
            .with_cross_level(CrossLevel::Explicit, 1);
        build(&both, &level).await.unwrap();
        both.check_clean().await;
        check_lengths(&both).await;
        let files = both.files().await;
        let vertices = shapes(&files).1.unwrap();
        let level = sharded(&files);
        let level = level
            .iter()
            .filter(|(path, _)| path.starts_with("1/links/"));
        let own = level.filter(|(_, doc)| doc.chunk_shape != vertices);
        assert!(own.count() > 0, "{method:?}");
    }
}

/// The content of a store of chains.
#[derive(Debug, Clone, Default)]
struct Chains {
    /// Chain by id: the chunk-sized steps from its first vertex.
    chains: BTreeMap<i64, Vec<[f64; 3]>>,
}

fn number(id: i64, at: usize) -> usize {
    usize::try_from(id).unwrap() * 8 + at
}

impl Chains {
    fn drawn(&mut self, id: i64, draw: &mut Draw) {
        // Sometimes outside the grid on either side, and sometimes with links between distant chunks.
        let (low, reach) = match draw.below(4) {
            0 => (-30.0, 160),
            _ => (0.0, 110),
        };
        let mut at = [0, 1, 2].map(|_| low + draw.below(reach) as f64);
        let far = if draw.below(5) == 0 { 35.0 } else { 9.0 };
        let count = 2 + draw.below(4);
        let chain = (0..count).map(|_| {
            at = at.map(|one| one + far * (draw.below(3) as f64 - 1.0));
            at
        });
        let chain = chain.collect();
        self.chains.insert(id, chain);
    }

    fn batch(&self, ids: &[i64]) -> Batch {
        let (mut positions, mut numbers, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut links, mut values) = (Vec::new(), Vec::new());
        for id in ids {
            let chain = &self.chains[id];
            for (at, position) in chain.iter().enumerate() {
                if at > 0 {
                    let row = numbers.len() as u64;
                    links.extend([row - 1, row]);
                    values.push(number(*id, at) as u32);
                }
                positions.extend(*position);
                numbers.push(number(*id, at) as i64);
            }
            runs.push((*id, chain.len()));
        }
        Batch::new(positions)
            .with_object_runs(runs)
            .with_attribute("n", numbers)
            .with_links(links)
            .with_link_attribute("w", values)
    }

    fn rows(&self, inside: impl Fn(&[f64; 3]) -> bool) -> Vec<usize> {
        let all = self.chains.iter().flat_map(|(id, chain)| {
            let rows = chain.iter().enumerate();
            rows.map(|(at, position)| (number(*id, at), position))
        });
        let kept = all.filter(|(_, position)| inside(position));
        kept.map(|(number, _)| number).collect()
    }

    /// The links with both ends inside.
    fn links(&self, inside: impl Fn(&[f64; 3]) -> bool) -> Vec<(Vec<usize>, String)> {
        let mut links = Vec::new();
        for (id, chain) in &self.chains {
            for at in 1..chain.len() {
                if inside(&chain[at - 1]) && inside(&chain[at]) {
                    let (a, b) = (number(*id, at - 1), number(*id, at));
                    links.push((vec![a, b], b.to_string()));
                }
            }
        }
        sorted(links)
    }

    async fn check(&self, memory: &Memory) {
        let store = memory.open().await;
        let of_got = |got: crate::support::Got| {
            let links = got.links().into_iter();
            let links = links.map(|(ends, w)| (sorted(ends), w));
            (sorted(got.numbers()), sorted(links.collect()))
        };
        let all = of_got(ask(&store, Query::default()).await);
        assert_eq!(all, (self.rows(|_| true), self.links(|_| true)));
        let (low, high) = ([17.0; 3], [61.0, 48.0, 55.0]);
        let inside = |position: &[f64; 3]| {
            let axes = position.iter().zip(low).zip(high);
            axes.into_iter()
                .all(|((at, low), high)| low <= *at && *at <= high)
        };
        let bbox = BBox::new(low.to_vec(), high.to_vec()).unwrap();
        let asked = Query {
            bbox: Some(bbox),
            ..Query::default()
        };
        let some = of_got(ask(&store, asked).await);
        assert_eq!(some, (self.rows(inside), self.links(inside)));
    }

    /// A store with chains that begin in every chunk.
    async fn made() -> (Self, Memory) {
        let mut chains = Self::default();
        for n in 0..CHUNKS.pow(3) {
            let mut at = chunk(n).map(|at| at as f64 * 10.0 + 4.0);
            let chain = (0..3).map(|step| {
                let side = mixed(n * 3 + step, 27);
                let now = at;
                for (axis, one) in at.iter_mut().enumerate() {
                    let step = (side / 3_usize.pow(axis as u32) % 3) as f64 - 1.0;
                    *one = (*one + 9.0 * step).clamp(0.0, 109.0);
                }
                now
            });
            chains.chains.insert(n as i64, chain.collect());
        }
        let memory = Memory::default();
        let spec = spec(ShardShape::Auto)
            .with_vertex_attribute(AttributeSpec::number("n", NumberType::I64))
            .with_link_attribute(AttributeSpec::number("w", NumberType::U32));
        let writer = StoreWriter::create(ADDRESS, spec, memory.options()).await;
        let mut writer = writer.unwrap();
        let ids: Vec<i64> = chains.chains.keys().copied().collect();
        writer.push(&chains.batch(&ids)).unwrap();
        writer.finish().await.unwrap();
        (chains, memory)
    }

    /// Deletes some chains and appends others, in one edit.
    async fn change(&mut self, draw: &mut Draw, options: WriteOptions) -> Result<(), WriteError> {
        let mut edit = Edit::open(ADDRESS, options).await?;
        let ids: Vec<i64> = self.chains.keys().copied().collect();
        let gone: BTreeSet<i64> = (0..draw.below(40))
            .map(|_| ids[draw.below(ids.len())])
            .collect();
        let gone: Vec<i64> = gone.into_iter().collect();
        let next = ids.last().unwrap() + 1;
        let new: Vec<i64> = (next..=next + draw.below(3) as i64).collect();
        self.chains.retain(|id, _| !gone.contains(id));
        new.iter().for_each(|id| self.drawn(*id, draw));
        let batch = self.batch(&new);
        if draw.below(2) == 0 {
            edit.append(&batch).await?;
            edit.delete(&gone).await?;
        } else {
            edit.delete(&gone).await?;
            edit.append(&batch).await?;
        }
        edit.commit().await.map(|_| ())
    }
}

#[tokio::test]
async fn edits_in_any_order_keep_shards_of_links() {
    let (chains, memory) = Chains::made().await;
    let (made, _) = shapes(&memory.files().await);
    chains.check(&memory).await;
    let sample = Sample::new("edits of shards of links");
    for seed in sample.some(0..8, 4) {
        let (mut chains, copy) = (chains.clone(), copy(&memory).await);
        let mut draw = Draw(seed);
        for round in 0..5 {
            chains.change(&mut draw, copy.options()).await.unwrap();
            if round == 3 {
                vacuum(ADDRESS, copy.options()).await.unwrap();
            }
            chains.check(&copy).await;
            copy.check_clean().await;
            check_lengths(&copy).await;
            let files = copy.files().await;
            check_shapes(&files);
            let (now, _) = shapes(&files);
            let mut kept = made.iter().filter(|(path, _)| now.contains_key(*path));
            assert!(kept.all(|(path, shape)| now.get(path) == Some(shape)));
        }
    }
}

#[tokio::test]
async fn a_crash_at_every_write_of_an_edit_leaves_the_old_store_or_the_new_one() {
    let (old, base) = Chains::made().await;
    let mut new = old.clone();
    let sample = Sample::new("writes of an edit of shards of links");
    let (mut olds, mut news) = (0, 0);
    for writes in sample.some(1.., 48) {
        let memory = copy(&base).await;
        let dying = Dying::new(memory.0.clone(), writes, writes % 2 == 0);
        let mut open = memory.open_options().with_object_store(Arc::new(dying));
        open.io.retry = Retry::never();
        open.io.concurrency = 1;
        let options = WriteOptions::new().with_open(open).with_threads(1);
        new = old.clone();
        let done = new.change(&mut Draw(5), options).await;
        Edit::resume(ADDRESS, memory.options()).await.unwrap();
        let count = ask(&memory.open().await, Query::default()).await.numbers();
        let is_new = sorted(count) == new.rows(|_| true);
        if is_new {
            new.check(&memory).await;
        } else {
            old.check(&memory).await;
        }
        memory.check_clean().await;
        check_lengths(&memory).await;
        let again = Edit::resume(ADDRESS, memory.options()).await.unwrap();
        assert_eq!(again, Resumed::Nothing);
        (olds, news) = (olds + usize::from(!is_new), news + usize::from(is_new));
        if done.is_ok() {
            assert!(is_new && writes > 20, "{writes} writes");
            break;
        }
    }
    assert_ne!(old.rows(|_| true), new.rows(|_| true));
    assert!(
        news > 0 && (olds > 20 || !sample.is_whole()),
        "{olds} {news}"
    );
}

/// The index of a shard of links is read together with the cells of the shard.
#[tokio::test]
async fn links_take_as_many_rounds_as_without_shards() {
    let asked = || Query {
        objects: Some(vec![17]),
        ..Query::default()
    };
    let plain = Memory::default();
    model(spec(ShardShape::None)).write(plain.options()).await;
    let shards = Memory::default();
    model(spec(ShardShape::Auto)).write(shards.options()).await;
    let (rounds, found) = cold(&plain, asked()).await;
    assert!(!found.is_empty());
    assert_eq!(cold(&shards, asked()).await, (rounds, found));
}
