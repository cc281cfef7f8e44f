//! Stores of 0.8.1: our reader finds the pushed data, a reader of raw files finds the same, and copies keep it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use zvf_edit::Edit;
use zvf_meta::Kind;
use zvf_migrate::{MigrateOptions, migrate};
use zvf_pyramid::{PyramidSpec, build_pyramid};
use zvf_store::{Need, Store};
use zvf_testkit::sample;
use zvf_write::{
    AttributeSpec, Batch, Compression, Groups, JsonObject, LinkStore, NumberType, ObjectTable,
    Outside, Parametric, PartedStore, StoreSpec, StoreWriter, TargetVersion, Values, WriteOptions,
};

use crate::model::{Model, run};
use crate::random::{Shape, model, pick, reshape};
use crate::raw::{Raw, Record, i64s, ranges};
use crate::support::{ADDRESS, Memory, block_on, sorted};

const MAINLINE: TargetVersion = TargetVersion::V0_8_1;

/// The stored value of a fragment, by one of its vertices.
type ValueOf<'v> = &'v dyn Fn(usize) -> Vec<u8>;

/// Compares the files of a store with the input.
struct Check<'c> {
    raw: &'c Raw,
    model: &'c Model,
    /// The vertex of the input for each row of each chunk.
    numbers: BTreeMap<Vec<i64>, Vec<usize>>,
}

impl<'c> Check<'c> {
    fn new(raw: &'c Raw, model: &'c Model) -> Self {
        let rank = model.spec.key_rank();
        let numbers = raw.cells("0/vertex_attributes/n", rank).into_iter();
        let numbers = numbers
            .map(|(key, bytes)| (key, i64s(&bytes).into_iter().map(|n| n as usize).collect()))
            .collect();
        Self {
            raw,
            model,
            numbers,
        }
    }

    fn all(&self) {
        let root = self.raw.attributes("");
        assert_eq!(root["zarr_vectors"]["zv_version"], "0.8.1");
        let level = &self.raw.attributes("0")["zarr_vectors_level"];
        assert_eq!(level["vertex_count"], self.model.positions.len());
        self.vertices();
        self.fragments();
        self.words();
        let objects = self.objects();
        self.links();
        assert_eq!(objects.is_some(), self.model.spec.has_objects());
    }

    /// Every position is in the chunk that it belongs to, and fragments tile their chunks.
    fn vertices(&self) {
        let (model, rank) = (self.model, self.model.spec.key_rank());
        let cells = self.raw.cells("0/vertices", rank);
        let fragments = self.raw.cells("0/vertex_fragments", rank);
        assert!(cells.keys().eq(fragments.keys()) && cells.keys().eq(self.numbers.keys()));
        let values = self.values();
        let mut seen = Vec::new();
        for (chunk, bytes) in &cells {
            let rows = &self.numbers[chunk];
            seen.extend(rows.iter().copied());
            let wanted: Vec<f64> = rows
                .iter()
                .flat_map(|n| model.positions[*n].clone())
                .collect();
            assert_eq!(floats(model.spec.positions, bytes), wanted);
            for n in rows {
                let place = model.positions[*n].iter().zip(&model.spec.chunk_shape);
                let place: Vec<i64> = place.map(|(p, c)| (p / c).floor() as i64).collect();
                let (lead, at) = chunk.split_at(rank - model.spec.dims());
                assert_eq!(place, at);
                // The first component of the key is the position of the value in the list (§6.3).
                if let [lead] = lead {
                    assert_eq!(values[*lead as usize], model.shown_key(*n));
                }
            }
            let mut next = 0;
            for (start, count) in ranges(&fragments[chunk]) {
                assert_eq!(start, next);
                next += count;
            }
            assert_eq!(next as usize, rows.len());
        }
        assert_eq!(sorted(seen), (0..model.positions.len()).collect::<Vec<_>>());
    }

    /// The values that split chunks: sorted, each once (§6.3).
    fn values(&self) -> Vec<String> {
        let level = &self.raw.attributes("0")["zarr_vectors_level"];
        let Some(one) = &self.model.spec.chunk_by else {
            assert!(level.get("chunk_attribute_values").is_none());
            return Vec::new();
        };
        assert_eq!(level["chunk_attribute_name"], *one.attribute.name);
        assert_eq!(level["chunk_dims"][0], *one.attribute.name);
        let list = level["chunk_attribute_values"].as_array().unwrap();
        let numbers: Vec<i64> = list.iter().filter_map(|value| value.as_i64()).collect();
        let texts: Vec<&str> = list.iter().filter_map(|value| value.as_str()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b) && texts.is_sorted_by(|a, b| a < b));
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => u8::from(*flag).to_string(),
            value => value.to_string(),
        };
        list.iter().map(shown).collect()
    }

    /// One row per fragment, in the order of the fragments (§8.3): the common value of all its vertices.
    fn fragments(&self) {
        let (spec, rank) = (&self.model.spec, self.model.spec.key_rank());
        let fragments = self.raw.cells("0/vertex_fragments", rank);
        let columns: [(&str, bool, usize, ValueOf<'_>); 3] = [
            ("run", spec.fragment_attributes.is_empty(), 2, &|n| {
                run(n).to_le_bytes().to_vec()
            }),
            ("pair", spec.fragment_attributes.is_empty(), 8, &|n| {
                [f32::from(run(n)).to_le_bytes(), (-0.5_f32).to_le_bytes()].concat()
            }),
            ("object_id", !spec.stores_owners(), 8, &|n| {
                self.model
                    .ids
                    .as_ref()
                    .map_or(0, |ids| ids[n])
                    .to_le_bytes()
                    .to_vec()
            }),
        ];
        for (name, absent, size, value) in columns {
            let path = format!("0/fragment_attributes/{name}");
            assert_eq!(self.raw.has(&path), !absent, "{name}");
            if absent {
                continue;
            }
            let attributes = self.raw.attributes(&path);
            assert_eq!(
                (&attributes["zv_array"], &attributes["name"]),
                (&json!("fragment_attribute"), &json!(name))
            );
            let cells = self.raw.cells(&path, rank);
            assert!(cells.keys().eq(fragments.keys()), "{name}");
            for (chunk, bytes) in cells {
                let ranges = ranges(&fragments[&chunk]);
                assert_eq!(bytes.len(), ranges.len() * size, "{name} at {chunk:?}");
                for (found, (start, count)) in bytes.chunks(size).zip(ranges) {
                    let rows = start as usize..(start + count) as usize;
                    let wanted = self.numbers[&chunk][rows].iter().map(|n| value(*n));
                    wanted.for_each(|wanted| assert_eq!(found, wanted, "{name}"));
                }
            }
        }
    }

    /// Texts are codes of categories.
    fn words(&self) {
        let path = "0/vertex_attributes/word";
        let attributes = self.raw.attributes(path);
        assert_eq!(attributes["encoding"], "dictionary");
        for (chunk, bytes) in self.raw.cells(path, self.model.spec.key_rank()) {
            // There are few texts, so codes have one byte.
            for (n, code) in self.numbers[&chunk].iter().zip(bytes) {
                let text = match crate::model::word(*n) {
                    Some(text) => json!(text),
                    None => {
                        assert_eq!(i64::from(code.cast_signed()), -1);
                        assert_eq!(attributes["_FillValue"], -1);
                        continue;
                    }
                };
                assert_eq!(attributes["categories"][usize::from(code)], text);
            }
        }
    }

    /// Rows of the index are ids; an id without an object has an empty row.
    fn objects(&self) -> Option<()> {
        let (model, rank) = (self.model, self.model.spec.key_rank());
        if !self.raw.has("0/object_index") {
            return None;
        }
        let mut members: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (n, id) in model.ids.iter().flatten().enumerate() {
            members.entry(*id).or_default().push(n);
        }
        let manifests = self.raw.manifests(rank);
        assert_eq!(manifests.len() as i64, members.keys().max().unwrap() + 1);
        let fragments = self.raw.cells("0/vertex_fragments", rank);
        for (id, entries) in (0_i64..).zip(manifests) {
            let mut found = Vec::new();
            for (chunk, fragment) in entries {
                let (start, count) = ranges(&fragments[&chunk])[fragment as usize];
                let rows = start as usize..(start + count) as usize;
                found.extend(self.numbers[&chunk][rows].iter().copied());
            }
            let found = if model.is_chain() {
                found
            } else {
                sorted(found)
            };
            assert_eq!(found, members.get(&id).cloned().unwrap_or_default(), "{id}");
        }
        Some(())
    }

    fn ends(&self, record: &Record) -> Vec<usize> {
        record
            .iter()
            .map(|(chunk, row)| self.numbers[chunk][*row as usize])
            .collect()
    }

    /// Finds every link of the input once, with its number as value; for skeletons also the links that the order of rows implies.
    fn links(&self) {
        let (spec, rank) = (&self.model.spec, self.model.spec.key_rank());
        let explicit = spec.links.explicit;
        let value = |cells: &BTreeMap<Vec<i64>, Vec<u8>>, key: &Vec<i64>, at: usize| {
            let bytes = &cells[key][4 * at..4 * at + 4];
            u32::from_le_bytes(bytes.try_into().unwrap()).to_string()
        };
        let valued = |path: &str, rank: usize| {
            if explicit && self.raw.has(path) {
                self.raw.cells(path, rank)
            } else {
                BTreeMap::new()
            }
        };
        let mut found = Vec::new();
        let values = valued("0/link_attributes/w/0", rank);
        for (record, at) in self.raw.inside(rank) {
            let chunk = record[0].0.clone();
            let value = if explicit {
                value(&values, &chunk, at)
            } else {
                String::new()
            };
            found.push((self.ends(&record), value));
        }
        let values = valued("0/cross_chunk_link_attributes/w/0", rank * spec.links.width);
        let mut across = 0;
        for (record, key, at) in self.raw.across(rank) {
            let lead = &key[..rank];
            assert!(record.iter().any(|(chunk, _)| chunk != lead), "{record:?}");
            // Exactly one copy of a record begins with its smallest chunk (§9.3).
            if spec.links.store == LinkStore::Duplicate
                && record.iter().any(|(chunk, _)| chunk.as_slice() < lead)
            {
                continue;
            }
            across += 1;
            let value = if explicit {
                value(&values, &key, at)
            } else {
                String::new()
            };
            found.push((self.ends(&record), value));
        }
        if self.raw.has("0/cross_chunk_links/0") {
            assert_eq!(
                self.raw.attributes("0/cross_chunk_links/0")["num_links"],
                across
            );
        }
        if !explicit && spec.kind == Kind::Skeleton {
            self.imply(&mut found);
        } else if self.model.is_chain() {
            self.join(&mut found);
        }
        assert_eq!(sorted(found), sorted(self.model.all_links()));
    }

    /// The parent of a row is the row before it in its fragment, unless a link states otherwise (§12).
    fn imply(&self, found: &mut Vec<(Vec<usize>, String)>) {
        let children: BTreeSet<usize> = found.iter().map(|(ends, _)| ends[0]).collect();
        for (chunk, bytes) in self
            .raw
            .cells("0/vertex_fragments", self.model.spec.key_rank())
        {
            for (start, count) in ranges(&bytes) {
                let rows = &self.numbers[&chunk][start as usize..(start + count) as usize];
                for pair in rows.windows(2).filter(|pair| !children.contains(&pair[1])) {
                    found.push((vec![pair[1], pair[0]], String::new()));
                }
            }
        }
    }

    /// Consecutive rows of a fragment are joined, and consecutive fragments of an object in one chunk; joins between chunks are stored.
    fn join(&self, found: &mut Vec<(Vec<usize>, String)>) {
        let rank = self.model.spec.key_rank();
        let fragments = self.raw.cells("0/vertex_fragments", rank);
        let rows = |(chunk, fragment): &(Vec<i64>, i64)| {
            let (start, count) = ranges(&fragments[chunk])[*fragment as usize];
            self.numbers[chunk][start as usize..(start + count) as usize].to_vec()
        };
        for manifest in self.raw.manifests(rank) {
            for pair in manifest.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
                let ends = vec![*rows(&pair[0]).last().unwrap(), rows(&pair[1])[0]];
                found.push((ends, String::new()));
            }
        }
        for (chunk, bytes) in self
            .raw
            .cells("0/vertex_fragments", self.model.spec.key_rank())
        {
            for (start, count) in ranges(&bytes) {
                let rows = &self.numbers[&chunk][start as usize..(start + count) as usize];
                found.extend(rows.windows(2).map(|pair| (pair.to_vec(), String::new())));
            }
        }
    }
}

fn floats(number: NumberType, bytes: &[u8]) -> Vec<f64> {
    macro_rules! cast {
        ($($variant:ident => $type:ty),*) => {
            match number {
                NumberType::F16 => bytes.as_chunks().0.iter()
                    .map(|b| half::f16::from_le_bytes(*b).to_f64()).collect(),
                $(NumberType::$variant => bytes.as_chunks().0.iter()
                    .map(|b| <$type>::from_le_bytes(*b) as f64).collect(),)*
                other => panic!("{other}"),
            }
        };
    }
    cast!(F32 => f32, F64 => f64, I8 => i8, I16 => i16, I64 => i64)
}

/// Writes a model as 0.8.1, reads it in both ways, and copies it to the newest version and back.
async fn there_and_back(model: &mut Model, shape: Shape, draws: &[u64]) {
    let newest = model.clone();
    model.spec.target = MAINLINE;
    let boxes = [shape.bbox];
    let memory = model.round_trip(&boxes).await;
    Check::new(&Raw(memory.files().await), model).all();
    // A copy into other chunks splits fragments of points without objects again: their values are lost, which is reported.
    let lost = !model.spec.has_objects() && !model.spec.fragment_attributes.is_empty();
    if !lost {
        model.rechunked(reshape(model, draws), &boxes).await;
    }
    // From the newest version to 0.8.1, and back.
    let to = MigrateOptions::new().with_target(MAINLINE);
    let copy = newest.rechunked(to, &boxes).await;
    // A copy has the owner column if its source has one, which is the default only in the newest version.
    let mut copied = model.clone();
    copied.spec.fragment_owners = Some(newest.spec.stores_owners());
    Check::new(&Raw(copy.files().await), &copied).all();
    let back = Memory::default();
    let write = back.options().with_memory_budget(0);
    let options = MigrateOptions::new().with_write(write);
    let report = migrate(&copy.open().await, ADDRESS, options).await.unwrap();
    assert_eq!((report.to.as_str(), &*report.losses), ("0.9.2", &[][..]));
    newest.check(&back.open().await, &boxes).await;
    newest.check_fragments(&back.open().await).await;
    if !lost {
        let to = reshape(model, draws).with_target(MAINLINE);
        newest.rechunked(to, &boxes).await;
    }
}

/// Shards begin at chunk 0, so data is moved to positive chunks.
fn upward(model: &mut Model) {
    if model.spec.shard_shape.cells().is_some() {
        let all = model.positions.iter_mut().flatten();
        all.for_each(|position| *position += 30.0);
    }
}

/// Ids of objects that are possible row numbers.
const IDS: [i64; 5] = [0, 7, 40, 3, 4];

fn some_ids(model: &Model, draws: &[u64]) -> Vec<i64> {
    let draws = draws.iter().cycle().take(model.positions.len());
    draws.map(|draw| IDS[pick(*draw, 5)]).collect()
}

/// Whether all chunks are at 0 or above, which copies into shards need, too.
fn fits(model: &Model) -> bool {
    model
        .positions
        .iter()
        .flatten()
        .all(|position| *position >= 0.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sample::cases(24, 4), ..ProptestConfig::default() })]

    #[test]
    fn points((mut model, shape, draws) in model(Kind::PointCloud, false)) {
        upward(&mut model);
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }

    #[test]
    fn points_of_objects((mut model, shape, draws) in model(Kind::PointCloud, true)) {
        upward(&mut model);
        model.ids = Some(some_ids(&model, &draws));
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }

    #[test]
    fn streamlines((mut model, shape, draws) in model(Kind::Streamline, false)) {
        upward(&mut model);
        let mut objects = 0_i64;
        let ids = draws.iter().cycle().take(model.positions.len()).map(|draw| {
            objects += i64::from(draw % 6 == 0);
            objects * 3
        });
        model.ids = Some(ids.collect());
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }

    #[test]
    fn graphs((mut model, shape, draws) in model(Kind::Graph, false), policy in 0_u8..4) {
        upward(&mut model);
        let store = if policy > 1 { LinkStore::Duplicate } else { LinkStore::Canonical };
        model.spec = model.spec.with_link_policy(policy % 2 == 1, store);
        let count = model.positions.len();
        model.ids = Some(some_ids(&model, &draws));
        model.links = draws.chunks(2).map(|pair| pair.iter().map(|draw| pick(*draw, count)).collect()).collect();
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }

    #[test]
    fn meshes((mut model, shape, draws) in model(Kind::Mesh, false), width in 3_usize..5, copies in any::<bool>()) {
        upward(&mut model);
        let store = if copies { LinkStore::Duplicate } else { LinkStore::Canonical };
        model.spec = model.spec.with_link_width(width).with_link_policy(false, store);
        let count = model.positions.len();
        model.ids = Some(some_ids(&model, &draws));
        model.links = draws.chunks_exact(width).map(|ends| ends.iter().map(|draw| pick(*draw, count)).collect()).collect();
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }

    #[test]
    fn skeletons((mut model, shape, draws) in model(Kind::Skeleton, false), explicit in any::<bool>()) {
        upward(&mut model);
        crate::random::grow_trees(&mut model, &draws, explicit, IDS);
        let draws = if fits(&model) { draws } else { vec![0; 200] };
        block_on(there_and_back(&mut model, shape, &draws));
    }
}

fn spec(kind: Kind) -> StoreSpec {
    StoreSpec::new(kind, [10.0; 3]).with_target(MAINLINE)
}

/// The minimal store, file by file: names, documents and bytes.
#[test]
fn the_minimal_store_has_the_files_of_the_page() {
    let files = block_on(async {
        let memory = Memory::default();
        let spec = spec(Kind::Polyline).with_compression(Compression::None);
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let batch = Batch::new(&[1.0_f32, 2.0, 3.0, -1.0, 2.0, 3.0][..]);
        writer.push(&batch.with_object_ids(&[1, 1][..])).unwrap();
        writer.finish().await.unwrap();
        memory.files().await
    });
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "0/cross_chunk_links/0/-1.0.0.0.0.0/c/0",
            "0/cross_chunk_links/0/-1.0.0.0.0.0/zarr.json",
            "0/cross_chunk_links/0/zarr.json",
            "0/cross_chunk_links/zarr.json",
            "0/object_index/manifests/c/0",
            "0/object_index/manifests/zarr.json",
            "0/object_index/zarr.json",
            "0/vertex_fragments/-1.0.0/c/0",
            "0/vertex_fragments/-1.0.0/zarr.json",
            "0/vertex_fragments/0.0.0/c/0",
            "0/vertex_fragments/0.0.0/zarr.json",
            "0/vertex_fragments/zarr.json",
            "0/vertices/-1.0.0/c/0",
            "0/vertices/-1.0.0/zarr.json",
            "0/vertices/0.0.0/c/0",
            "0/vertices/0.0.0/zarr.json",
            "0/vertices/zarr.json",
            "0/zarr.json",
            "zarr.json",
        ]
    );
    let numbers = |list: &[i64]| -> Vec<u8> { list.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let floats =
        |list: [f32; 3]| -> Vec<u8> { list.iter().flat_map(|n| n.to_le_bytes()).collect() };
    assert_eq!(files["0/vertices/0.0.0/c/0"], floats([1.0, 2.0, 3.0]));
    assert_eq!(files["0/vertices/-1.0.0/c/0"], floats([-1.0, 2.0, 3.0]));
    // K = 1, its offset; permutation 1, because the second vertex is in the smaller chunk; rows.
    assert_eq!(
        files["0/cross_chunk_links/0/-1.0.0.0.0.0/c/0"],
        numbers(&[1, 0, 1, 0, 0])
    );
    let mut index = vec![0x47, 0x46, 0x56, 0x5a, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    index.extend(numbers(&[1, 0, 1]));
    index.extend([0; 4]);
    assert_eq!(files["0/vertex_fragments/0.0.0/c/0"], index);
    // Two manifests: an empty one, and one with two blocks of 33 bytes.
    let mut manifests = vec![2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 70, 0, 0, 0, 2, 0, 0, 0];
    for chunk in [0, -1] {
        manifests.extend(numbers(&[chunk, 0, 0]));
        manifests.push(0);
        manifests.extend(numbers(&[0]));
    }
    assert_eq!(files["0/object_index/manifests/c/0"], manifests);
    let raw = Raw(files);
    assert_eq!(
        raw.attributes("0/cross_chunk_links/0"),
        json!({"zv_array": "cross_chunk_links", "sid_ndim": 3, "level_delta": 0, "link_width": 2, "num_links": 1,
               "num_physical_records": 1, "directed": false, "store": "canonical"})
    );
    assert_eq!(
        raw.attributes("0/object_index"),
        json!({"zv_array": "object_index", "num_objects": 2, "sid_ndim": 3, "layout": "vlen_manifests_v1"})
    );
    assert_eq!(
        raw.attributes("0/vertices"),
        json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"})
    );
    let root = raw.attributes("");
    assert!(root.get("ome").is_none());
    let level = &raw.attributes("0")["zarr_vectors_level"];
    assert!(level.get("fragments_tile").is_none());
}

/// Tables, groups and content outside the levels: as our reader and the raw files have them, and after a copy.
#[test]
fn tables_groups_and_side_folders() {
    block_on(async {
        let memory = Memory::default();
        let mut header = JsonObject::new();
        header.insert("dim".to_owned(), json!([1, 2]));
        let shapes = Parametric::new().with_object("sphere", [1.0, 2.0, 3.0, 4.0], Some("soma"));
        let spec = spec(Kind::PointCloud)
            .with_objects()
            .with_object_attribute(AttributeSpec::number("score", NumberType::F32))
            .with_object_attribute(AttributeSpec::number("rank", NumberType::I16))
            .with_object_attribute(AttributeSpec::number("full", NumberType::U8).with_channels(2))
            .with_object_attribute(AttributeSpec::text("name"))
            .with_header("trk", header)
            .with_user_metadata("lab", JsonObject::new())
            .with_parametric(shapes);
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let batch = Batch::new(&[1.0_f32, 2.0, 3.0, -15.0, 2.0, 3.0][..]);
        writer.push(&batch.with_object_ids(&[1, 3][..])).unwrap();
        // Object 0 has no row, object 2 has neither row nor vertex.
        let table = ObjectTable::new(&[1_i64, 3][..])
            .with_attribute("score", &[0.5_f32, f32::NAN][..])
            .with_attribute("rank", &[-7_i16, 4][..])
            .with_attribute("full", &[255_u8, 1, 2, 3][..])
            .with_attribute("name", Values::texts(["a", "größe"]));
        writer.push_objects(&table).unwrap();
        let groups = Groups::new(vec![vec![1, 3], Vec::new(), vec![3]])
            .with_names(["both", "none", "three"])
            .with_attribute("weight", &[1.5_f64, 0.0, 2.5][..]);
        writer.set_groups(&groups).unwrap();
        let summary = writer.finish().await.unwrap();
        assert_eq!((summary.objects, summary.vertices), (4, 2));

        let raw = Raw(memory.files().await);
        let doc = raw.document("0/object_attributes/rank");
        assert_eq!(
            (&doc["shape"], &doc["fill_value"]),
            (&json!([4]), &json!(i16::MIN))
        );
        let rank: Vec<u8> = [i16::MIN, -7, i16::MIN, 4]
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        assert_eq!(raw.plain("0/object_attributes/rank").unwrap(), rank);
        assert_eq!(
            raw.plain("0/object_attributes/full").unwrap(),
            [255, 255, 255, 1, 255, 255, 2, 3]
        );
        assert_eq!(
            raw.attributes("0/groups"),
            json!({
                "zv_array": "groups",
                "zvf_stored_chunks": 1,
                "num_groups": 3,
                "group_names": ["both", "none", "three"]
            })
        );
        let members: Vec<Vec<i64>> = raw.ragged("0/groups").iter().map(|one| i64s(one)).collect();
        assert_eq!(members, [vec![1, 3], Vec::new(), vec![3]]);
        assert_eq!(raw.attributes("headers/trk"), json!({"dim": [1, 2]}));
        assert_eq!(raw.plain("parametric/objects").unwrap().len(), 7 * 8);

        check_tables(&memory.open().await).await;
        let newest = Memory::default();
        let options = MigrateOptions::new()
            .with_write(newest.options())
            .with_strict(true);
        migrate(&memory.open().await, ADDRESS, options)
            .await
            .unwrap();
        check_tables(&newest.open().await).await;
        let again = Memory::default();
        let options = MigrateOptions::new()
            .with_write(again.options())
            .with_target(MAINLINE)
            .with_strict(true);
        migrate(&newest.open().await, ADDRESS, options)
            .await
            .unwrap();
        check_tables(&again.open().await).await;
        // Everything except the documents of the root and of levels is the same, file by file.
        let files = again.files().await;
        for (key, bytes) in raw.0.iter().filter(|(key, _)| key.matches('/').count() > 1) {
            let found = files.get(key).unwrap_or_else(|| panic!("no {key}"));
            if key.ends_with(".json") {
                let [a, b] = [bytes, found]
                    .map(|json| serde_json::from_slice::<serde_json::Value>(json).unwrap());
                assert_eq!(a, b, "{key}");
            } else {
                assert_eq!(bytes, found, "{key}");
            }
        }
    });
}

async fn check_tables(store: &Store) {
    let level = store.level(0, &Need::all()).await.unwrap();
    let index = level.object_index().unwrap();
    let ids: Vec<i64> = index.ids().await.unwrap().iter().collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    let mut absent = Vec::new();
    for table in level.object_attributes() {
        let values = table.read().await.unwrap();
        let none: Vec<usize> = (0..4).filter(|row| values.is_absent(*row)).collect();
        absent.push((table.name().to_owned(), none));
    }
    let wanted = [
        ("full", vec![0, 2]),
        ("name", vec![0, 2]),
        ("rank", vec![0, 2]),
        // For objects, NaN also means that there is no value (trap T24).
        ("score", vec![0, 2, 3]),
    ];
    assert_eq!(absent, wanted.map(|(name, rows)| (name.to_owned(), rows)));
    let groups = level.groups().unwrap();
    assert_eq!((groups.len(), groups.name(2)), (3, "three".to_owned()));
    assert_eq!(groups.members(0).await.unwrap(), [1, 3]);
    let side = store.side_groups().await.unwrap();
    assert_eq!(side.headers.len(), 1);
    assert!(side.parametric.is_some());
    assert_eq!(store.root().user_metadata, Some(json!({"lab": {}})));
}

/// A value looks like the mark of absence, but every object has a value: another value marks absence (0.8 §10.2).
#[test]
fn the_fill_of_a_table_is_no_real_value() {
    block_on(async {
        let memory = Memory::default();
        let spec = spec(Kind::PointCloud)
            .with_objects()
            .with_object_attribute(AttributeSpec::number("rank", NumberType::I8));
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let table = ObjectTable::new(&[0_i64, 1][..]).with_attribute("rank", &[i8::MIN, 0][..]);
        writer.push_objects(&table).unwrap();
        writer
            .push(&Batch::new(&[1.0_f32; 3][..]).with_object_ids(&[1][..]))
            .unwrap();
        writer.finish().await.unwrap();
        let raw = Raw(memory.files().await);
        let doc = raw.document("0/object_attributes/rank");
        assert_eq!(doc["fill_value"], json!(-127));
        assert_eq!(doc["attributes"]["fill_sentinel_meaning"], "absent");
        let store = memory.open().await;
        let level = store.level(0, &Need::all()).await.unwrap();
        let values = level.object_attributes()[0].read().await.unwrap();
        assert!(!values.is_absent(0) && !values.is_absent(1));
    });
}

#[test]
fn what_has_no_place_is_refused_where_it_comes_in() {
    block_on(async {
        let create = async |spec: StoreSpec| {
            let memory = Memory::default();
            StoreWriter::create(ADDRESS, spec, memory.options()).await
        };
        let mut writer = create(spec(Kind::PointCloud).with_objects()).await.unwrap();
        for id in [-1, 1 << 26] {
            let batch = Batch::new(&[1.0_f32; 3][..]).with_object_ids(vec![id]);
            let told = writer.push(&batch).unwrap_err().to_string();
            assert!(
                told.contains(&format!("id {id}")) && told.contains("number of its row"),
                "{told}"
            );
            let told = writer
                .push_objects(&ObjectTable::new(vec![id]))
                .unwrap_err();
            assert!(told.to_string().contains("number of its row"), "{told}");
        }
        assert_eq!(writer.vertices(), 0);
        let sharded = spec(Kind::PointCloud).with_shard_shape([2; 3]);
        let mut writer = create(sharded.clone()).await.unwrap();
        let told = writer
            .push(&Batch::new(&[1.0_f32, -0.5, 1.0][..]))
            .unwrap_err();
        assert!(told.to_string().contains("axis 1: found -0.5"), "{told}");
        writer.push(&Batch::new(&[1.0_f32, 0.5, 1.0][..])).unwrap();
        writer.finish().await.unwrap();
        let bounded = sharded.with_bounds([-5.0; 3], [5.0; 3], Outside::Refuse);
        let told = create(bounded).await.unwrap_err().to_string();
        assert!(told.starts_with("bounds/0/0"), "{told}");

        // A store whose ids are not row numbers cannot be copied either, and nothing is left behind.
        let (memory, copy) = (Memory::default(), Memory::default());
        let newest = StoreSpec::new(Kind::PointCloud, [10.0; 3]).with_objects();
        let mut writer = StoreWriter::create(ADDRESS, newest, memory.options())
            .await
            .unwrap();
        writer
            .push(&Batch::new(&[1.0_f32; 3][..]).with_object_ids(&[-4][..]))
            .unwrap();
        writer.finish().await.unwrap();
        let options = MigrateOptions::new()
            .with_write(copy.options())
            .with_target(MAINLINE);
        let told = migrate(&memory.open().await, ADDRESS, options)
            .await
            .unwrap_err();
        assert!(told.to_string().contains("the id -4"), "{told}");
        assert!(copy.files().await.is_empty());
    });
}

/// Edits, coarse levels and distributed writes need 0.9, and fail otherwise.
#[test]
fn what_is_of_the_newest_version_alone_says_so() {
    block_on(async {
        let bounded = spec(Kind::PointCloud).with_bounds([0.0; 3], [9.0; 3], Outside::Refuse);
        let memory = Memory::default();
        let told = PartedStore::begin(ADDRESS, bounded.clone(), memory.options())
            .await
            .unwrap_err();
        assert!(told.to_string().contains("target: found 0.8.1"), "{told}");
        assert!(memory.files().await.is_empty());
        let mut writer = StoreWriter::create(ADDRESS, bounded, memory.options())
            .await
            .unwrap();
        writer.push(&Batch::new(&[1.0_f32; 3][..])).unwrap();
        writer.finish().await.unwrap();
        let before = memory.files().await;
        let told = Edit::open(ADDRESS, memory.options()).await.unwrap_err();
        assert!(told.to_string().contains("version 0.8.1"), "{told}");
        let levels = PyramidSpec::new([zvf_pyramid::LevelStep::new(2.0)]);
        let options: WriteOptions = memory.options();
        let told = build_pyramid(ADDRESS, &levels, &options, Arc::new(|_| ()))
            .await
            .unwrap_err();
        assert!(told.to_string().contains("0.9"), "{told}");
        assert_eq!(memory.files().await, before);
    });
}
