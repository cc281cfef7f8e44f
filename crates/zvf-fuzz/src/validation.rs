//! Runs the whole validator on a store in memory: an input selects a store and lists changes of its objects.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use zvf_pyramid::{CrossLevel, LevelStep, PyramidSpec, build_pyramid};
use zvf_store::OpenOptions;
use zvf_validate::{Depth, Sample, ValidateOptions, validate};
use zvf_write::{
    AttributeSpec, Batch, Compression, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter,
    WriteOptions,
};

use crate::store::{limits, wait};

/// Small stores of every version, kind and container. Those in `made` are written by [`made`]: uncompressed, with coarse levels.
const BASES: [&str; 26] = [
    "made/points",
    "made/lines",
    "made/skeletons",
    "made/mesh",
    "0.9/lines",
    "0.9/skeleton",
    "0.9/points_ids",
    "0.9/graph",
    "0.9.4/additive_graph",
    "0.9.4/additive_streamlines",
    "0.9.4/dense_rows",
    "0.8/pyramid_cells",
    "0.8/sentinels",
    "0.8/directed_graph",
    "0.8/duplicate_mesh",
    "0.8/quads",
    "0.7/chunked_points",
    "0.7/graph_attributes",
    "0.7/masks",
    "0.7/pyramid",
    "0.7/forest",
    "0.7/sides",
    "0.6/streamlines",
    "padded/graph",
    "padded/skeleton",
    "padded/streamlines",
];

/// The replacement of a value of a document.
fn absurd(which: u8) -> Value {
    match which % 16 {
        0 => json!(null),
        1 => json!(-1),
        2 => json!(0),
        3 => json!(u64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e308),
        6 => json!(0.5),
        7 => json!(""),
        8 => json!("../../x"),
        9 => json!([]),
        10 => json!({}),
        11 => json!([[], [0, [0, {"": null}]]]),
        12 => json!(true),
        13 => json!("0.0.0"),
        14 => json!([u64::MAX, u64::MAX, u64::MAX]),
        _ => json!(1_u64 << 40),
    }
}

type Objects = BTreeMap<String, Vec<u8>>;

/// The objects of a store, and a backend with them; each case gets a copy of the backend.
struct Base {
    objects: Objects,
    keys: Vec<String>,
    memory: InMemory,
}

fn base(which: usize) -> &'static Base {
    static ALL: [OnceLock<Base>; BASES.len()] = [const { OnceLock::new() }; BASES.len()];
    let at = which % BASES.len();
    ALL[at].get_or_init(|| {
        let memory = InMemory::new();
        let objects = if let Some(kind) = BASES[at].strip_prefix("made/") {
            wait(made(kind)).expect("a store that is written")
        } else {
            zvf_testkit::files(BASES[at]).expect("a bundled store")
        };
        for (key, bytes) in &objects {
            wait(memory.put(&Path::from(key.as_str()), bytes.clone().into())).expect("memory");
        }
        Base {
            keys: objects.keys().cloned().collect(),
            objects,
            memory,
        }
    })
}

/// Eight objects of four vertices in chunks of ten, with two coarse levels, attributes and a group.
async fn made(kind: &str) -> Result<Objects, Box<dyn std::error::Error>> {
    let memory = Arc::new(InMemory::new());
    let open = OpenOptions::new().with_object_store(memory.clone());
    let options = WriteOptions::new().with_open(open).with_threads(1);
    let (kind, width) = match kind {
        "points" => (Kind::PointCloud, 0),
        "lines" => (Kind::Streamline, 0),
        "skeletons" => (Kind::Skeleton, 2),
        _ => (Kind::Mesh, 3),
    };
    let mut spec = StoreSpec::new(kind, [10.0; 2])
        .with_compression(Compression::None)
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::U16));
    if kind == Kind::PointCloud {
        spec = spec.with_objects();
    }
    let objects = spec.has_objects();
    if objects {
        spec = spec.with_object_attribute(AttributeSpec::number("size", NumberType::F32));
    }
    let rows = 0..32_u16;
    let positions: Vec<f32> = rows
        .clone()
        .flat_map(|n| [f32::from(n % 9) * 3.0, f32::from(n / 4) * 4.0 - 9.0])
        .collect();
    let mut batch = Batch::new(positions).with_attribute("n", rows.clone().collect::<Vec<u16>>());
    if objects {
        let ids: Vec<i64> = rows.clone().map(|n| i64::from(n / 4) * 3 - 5).collect();
        batch = batch.with_object_ids(ids);
    }
    // Each vertex of an object is linked to the one before it; the faces of a mesh are three consecutive vertices.
    if width > 0 {
        let ends = rows.filter(|n| n % 4 + 1 >= width).flat_map(|n| {
            let ends: Vec<u64> = (0..width).map(|back| u64::from(n - back)).collect();
            ends
        });
        batch = batch.with_links(ends.collect::<Vec<u64>>());
    }
    let address = "memory:///made.zarrvectors";
    let mut writer = StoreWriter::create(address, spec, options.clone()).await?;
    writer.push(&batch)?;
    if objects {
        let table = ObjectTable::new(vec![-5_i64, 1]).with_attribute("size", vec![0.5_f32, 2.0]);
        writer.push_objects(&table)?;
    }
    writer.finish().await?;
    let steps = vec![LevelStep::new(2.0), LevelStep::new(2.0)];
    let levels = PyramidSpec::new(steps).with_cross_level(CrossLevel::Explicit, 1);
    build_pyramid(address, &levels, &options, Arc::new(|_| ())).await?;
    let mut objects = Objects::new();
    let all: Vec<_> = memory.list(None).try_collect().await?;
    for meta in all {
        let bytes = memory.get(&meta.location).await?.bytes().await?;
        let key = meta.location.as_ref().split_once('/').map(|(_, key)| key);
        objects.insert(
            key.ok_or("a key outside the store")?.to_owned(),
            bytes.to_vec(),
        );
    }
    Ok(objects)
}

/// Reads parameters from an input; after its end, bytes are 0.
struct Script<'d>(&'d [u8]);

impl<'d> Script<'d> {
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    fn bytes(&mut self, count: usize) -> &'d [u8] {
        let (first, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        first
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        let wide = u16::from_le_bytes([self.byte(), self.byte()]);
        usize::from(wide) % end.max(1)
    }
}

/// Visits the values of a document in order, and replaces the value with the index `at`.
fn change(value: &mut Value, at: &mut usize, new: &mut Option<Value>) {
    if *at == 0 {
        if let Some(new) = new.take() {
            *value = new;
        }
        return;
    }
    *at -= 1;
    match value {
        Value::Array(list) => {
            for one in list {
                change(one, at, new);
                if new.is_none() {
                    return;
                }
            }
        }
        Value::Object(members) => {
            for (_, one) in members.iter_mut() {
                change(one, at, new);
                if new.is_none() {
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Edits an object. A Zstandard frame is decompressed before and compressed again after the edit; other objects are edited as stored.
fn inside(bytes: &[u8], edit: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let packed = bytes.starts_with(&MAGIC);
    let plain = packed.then(|| zstd::bulk::decompress(bytes, 1 << 20).ok());
    let mut plain = plain.flatten().unwrap_or_else(|| bytes.to_vec());
    edit(&mut plain);
    if packed {
        return zstd::bulk::compress(&plain, 1).expect("memory");
    }
    plain
}

/// Makes one change to the objects of a store.
fn step(script: &mut Script<'_>, base: &Base, objects: &mut Objects) {
    let (what, key) = (
        script.byte(),
        base.keys[script.below(base.keys.len())].clone(),
    );
    let Some(bytes) = objects.get(&key).cloned() else {
        return;
    };
    let new = match what % 8 {
        // Replaces one value of a document.
        0..=2 if key.ends_with(".json") => {
            let Ok(mut document) = serde_json::from_slice::<Value>(&bytes) else {
                return;
            };
            let (mut at, new) = (script.below(256), absurd(script.byte()));
            change(&mut document, &mut at, &mut Some(new));
            document.to_string().into_bytes()
        }
        0..=1 => inside(&bytes, |plain| {
            let at = script.below(plain.len());
            let width = 1 + script.below(8);
            let new = script.bytes(width);
            for (place, byte) in plain.iter_mut().skip(at).zip(new) {
                *place = *byte;
            }
        }),
        2 => inside(&bytes, |plain| {
            // Replaces an aligned 64-bit number by a small, a large or a negative one.
            let at = script.below(plain.len() / 8 + 1) * 8;
            let number = i64::from(script.byte() as i8) << script.byte().min(56);
            for (place, byte) in plain.iter_mut().skip(at).zip(number.to_le_bytes()) {
                *place = byte;
            }
        }),
        3 => inside(&bytes, |plain| {
            let at = script.below(plain.len());
            plain.truncate(at);
        }),
        4 => inside(&bytes, |plain| {
            let at = script.below(plain.len());
            let count = script.below(32);
            plain.splice(at..at, script.bytes(count).iter().copied());
        }),
        5 => {
            let mut bytes = bytes;
            let (at, bit) = (script.below(bytes.len()), script.byte() % 8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            bytes
        }
        6 => {
            let other = &base.keys[script.below(base.keys.len())];
            base.objects[other].clone()
        }
        _ => {
            objects.remove(&key);
            return;
        }
    };
    objects.insert(key, new);
}

/// Validates a store with up to eight changes.
///
/// Parameters: the store, and the options of the validation; then for each change its kind, the object, and the position and bytes in the object.
///
/// # Panics
///
/// If two validations of the same store give different reports, or a report cannot be written.
pub fn broken_store(data: &[u8]) {
    let mut script = Script(data);
    let base = base(usize::from(script.byte()));
    let how = script.byte();
    let mut objects = base.objects.clone();
    for _ in 0..8 {
        if script.0.is_empty() {
            break;
        }
        step(&mut script, base, &mut objects);
    }
    let memory = base.memory.fork();
    for key in &base.keys {
        let path = Path::from(key.as_str());
        match objects.get(key) {
            None => wait(memory.delete(&path)).expect("memory"),
            Some(bytes) if *bytes != base.objects[key] => {
                wait(memory.put(&path, bytes.clone().into())).expect("memory");
            }
            Some(_) => {}
        }
    }
    let memory: Arc<dyn ObjectStore> = Arc::new(memory);
    let open = OpenOptions::new()
        .with_limits(limits())
        .with_object_store(memory);
    let depths = [
        Depth::Multiscale,
        Depth::Multiscale,
        Depth::Multiscale,
        Depth::Metadata,
    ];
    let mut options = ValidateOptions::new(depths[usize::from(how) % 4])
        .with_open(open)
        .with_coverage(how & 4 != 0)
        .with_most(16);
    if how & 24 == 24 {
        options = options.with_sample(Sample { cells: 2, seed: 7 });
    }
    let report = || wait(validate("memory:///", &options));
    let Ok(first) = report() else {
        // The root document is missing or no longer describes a store.
        return;
    };
    let text = zvf_validate::json(&first).to_string();
    assert!(!zvf_validate::sarif(&first).to_string().is_empty());
    assert!(zvf_validate::junit(&first).ends_with(">\n"));
    if how & 224 == 224 {
        let again = report().expect("as before");
        assert_eq!(text, zvf_validate::json(&again).to_string());
    }
}
