//! Copies that differ from their source: verification reports each kind of damage, in chunks of the same shape and of another one.

use std::collections::BTreeMap;
use std::fs;

use zvf_encode::{
    AttributeSpec, Batch, Compression, Groups, Kind, NumberType, ObjectTable, StoreSpec, Values,
    WriteError, WriteOptions,
};
use zvf_format::manifest::{Manifest, ManifestBuilder};
use zvf_migrate::{MigrateOptions, Verified, compare, migrate};
use zvf_store::blocking::Runtime;
use zvf_store::{Class, Need, Store};
use zvf_write::StoreWriter;

use crate::made::Made;

/// Three objects to write; the last one leaves a chunk and returns to it.
#[derive(Clone)]
struct Input {
    kind: Kind,
    chunk: f64,
    positions: Vec<f32>,
    runs: Vec<(i64, usize)>,
    mass: Option<Vec<f64>>,
    links: Vec<u64>,
    weights: Vec<u16>,
    ids: Vec<i64>,
    /// `None`: the object has no value.
    names: Vec<Option<&'static str>>,
    sizes: Vec<i32>,
    groups: Vec<Vec<i64>>,
    group_names: [&'static str; 2],
    scores: [f32; 2],
}

impl Input {
    fn new(kind: Kind, chunk: f64) -> Self {
        let graph = kind == Kind::Graph;
        Self {
            kind,
            chunk,
            positions: vec![
                1., 1., 9., 2., 12., 2., 25., 3., -3., 0., -4., 0., 31., 1., 41., 1., 30., 2.,
            ],
            runs: vec![(7, 4), (9, 2), (11, 3)],
            mass: Some(vec![1., 2., 3., 4., 5., 6., 7., f64::NAN, 9.]),
            links: if graph {
                vec![0, 1, 2, 1, 3, 5, 6, 8]
            } else {
                Vec::new()
            },
            weights: if graph {
                vec![10, 20, 30, 40]
            } else {
                Vec::new()
            },
            ids: vec![7, 9, 11],
            names: vec![Some("CST"), Some("AF"), None],
            sizes: vec![70, 90, 110],
            groups: vec![vec![9, 7], vec![11]],
            group_names: ["left", "middle"],
            scores: [0.5, 0.25],
        }
    }

    async fn write(&self) -> Made {
        let made = Made::new();
        let mut spec = StoreSpec::new(self.kind, [self.chunk; 2])
            .with_compression(Compression::None)
            .with_object_attribute(AttributeSpec::text("name"))
            .with_object_attribute(AttributeSpec::number("size", NumberType::I32));
        if self.mass.is_some() {
            spec = spec.with_vertex_attribute(AttributeSpec::number("mass", NumberType::F64));
        }
        if self.kind == Kind::Graph {
            spec = spec.with_link_attribute(AttributeSpec::number("weight", NumberType::U16));
        }
        let options = WriteOptions::new().with_threads(1).with_durable(false);
        let mut writer = StoreWriter::create(&made.address(), spec, options)
            .await
            .unwrap();
        let mut batch = Batch::new(&self.positions[..]).with_object_runs(&self.runs[..]);
        if let Some(mass) = &self.mass {
            batch = batch.with_attribute("mass", &mass[..]);
        }
        if self.kind == Kind::Graph {
            batch = batch
                .with_links(&self.links[..])
                .with_link_attribute("weight", &self.weights[..]);
        }
        writer.push(&batch).unwrap();
        let names = self.names.iter().map(|name| name.map(str::to_owned));
        let table = ObjectTable::new(&self.ids[..])
            .with_attribute("name", Values::Text(names.collect()))
            .with_attribute("size", &self.sizes[..]);
        writer.push_objects(&table).unwrap();
        let groups = Groups::new(self.groups.clone())
            .with_names(self.group_names.iter().take(self.groups.len()).copied())
            .with_attribute("score", &self.scores[..self.groups.len()]);
        writer.set_groups(&groups).unwrap();
        writer.finish().await.unwrap();
        made
    }
}

async fn compared(one: &Made, other: &Made) -> Result<Verified, WriteError> {
    compare(&one.open().await, &other.open().await).await
}

/// The copy differs, and the message states where.
fn assert_differs(case: &str, found: Result<Verified, WriteError>, wanted: &str) {
    let error = found.expect_err(case);
    assert!(
        matches!(error, WriteError::Differs { .. }),
        "{case}: {error}"
    );
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        error.to_string().contains(wanted),
        "{case}: {error}, expected {wanted}"
    );
}

/// Points without objects; two of them have the same position.
async fn twins(chunk: f64, b: [i32; 3]) -> Made {
    let made = Made::new();
    let spec = StoreSpec::new(Kind::PointCloud, [chunk; 2])
        .with_vertex_attribute(AttributeSpec::number("a", NumberType::I32))
        .with_vertex_attribute(AttributeSpec::number("b", NumberType::I32));
    let options = WriteOptions::new().with_durable(false);
    let mut writer = StoreWriter::create(&made.address(), spec, options)
        .await
        .unwrap();
    let batch = Batch::new(&[1_f32, 1., 1., 1., 35., 2.][..])
        .with_attribute("a", &[1_i32, 2, 3][..])
        .with_attribute("b", &b[..]);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    made
}

#[tokio::test]
async fn values_of_a_row_stay_together() {
    let source = twins(10.0, [10, 20, 30]).await;
    for chunk in [10.0, 20.0] {
        compared(&source, &twins(chunk, [10, 20, 30]).await)
            .await
            .unwrap();
        // Each attribute has the same values at each position.
        let swapped = twins(chunk, [20, 10, 30]).await;
        assert_differs("swapped", compared(&source, &swapped).await, "level 0");
    }
}

type Change = fn(&mut Input);

/// Errors that a wrong copier could make for any kind, and the place that verification names.
const CHANGES: &[(&str, Change, &str)] = &[
    (
        "position bit",
        |i| i.positions[4] = f32::from_bits(12_f32.to_bits() ^ 1),
        "level 0",
    ),
    (
        "attribute value",
        |i| i.mass.as_mut().unwrap()[3] = 4.5,
        "\"mass\"",
    ),
    (
        "attribute values swapped",
        |i| i.mass.as_mut().unwrap().swap(0, 3),
        "\"mass\"",
    ),
    (
        "value that becomes absent",
        |i| i.mass.as_mut().unwrap()[3] = f64::NAN,
        "\"mass\"",
    ),
    (
        "absent value that becomes one",
        |i| i.mass.as_mut().unwrap()[7] = 0.0,
        "\"mass\"",
    ),
    ("missing attribute", |i| i.mass = None, "\"mass\""),
    (
        "vertex in another chunk",
        |i| i.positions[4] = 22.0,
        "level 0",
    ),
    (
        "vertex twice",
        |i| {
            i.positions.extend([30., 2.]);
            i.mass.as_mut().unwrap().push(9.0);
            i.runs[2].1 = 4;
        },
        "level 0",
    ),
    (
        "order of vertices",
        |i| {
            i.positions.swap(12, 16);
            i.positions.swap(13, 17);
            i.mass.as_mut().unwrap().swap(6, 8);
            if i.kind == Kind::Graph {
                i.links.swap(6, 7);
            }
        },
        "level 0",
    ),
    (
        "vertices of two objects",
        |i| i.runs = vec![(9, 4), (7, 2), (11, 3)],
        "level 0",
    ),
    (
        "missing vertex",
        |i| {
            i.positions.drain(10..12);
            i.mass.as_mut().unwrap().remove(5);
            i.runs[1].1 = 1;
            if i.kind == Kind::Graph {
                (i.links, i.weights) = (vec![0, 1, 2, 1, 5, 7], vec![10, 20, 40]);
            }
        },
        "level 0",
    ),
    (
        "vertex of another object",
        |i| i.runs = vec![(7, 3), (9, 3), (11, 3)],
        "level 0",
    ),
    (
        "missing object",
        |i| {
            i.ids.pop();
            i.names.pop();
            i.sizes.pop();
            i.runs = vec![(7, 4), (9, 5)];
            i.groups[1] = Vec::new();
        },
        "object_ids",
    ),
    (
        "extra object",
        |i| {
            i.ids.push(13);
            i.names.push(Some("UF"));
            i.sizes.push(130);
        },
        "object_ids",
    ),
    (
        "object id",
        |i| {
            i.ids[1] = 8;
            i.runs[1].0 = 8;
            i.groups[0][0] = 8;
        },
        "object_ids",
    ),
    (
        "object attribute",
        |i| i.sizes[1] = 91,
        "object_attributes/size",
    ),
    (
        "text of an object",
        |i| i.names[1] = Some("SLF"),
        "object_attributes/name",
    ),
    (
        "text that becomes absent",
        |i| i.names[1] = None,
        "object_attributes/name",
    ),
    (
        "absent text that becomes one",
        |i| i.names[2] = Some("CC"),
        "object_attributes/name",
    ),
    (
        "attributes of two objects",
        |i| i.names.swap(0, 1),
        "object_attributes/name",
    ),
    ("missing group", |i| i.groups.truncate(1), "group"),
    ("group member", |i| i.groups[1][0] = 9, "group 1"),
    (
        "order of group members",
        |i| i.groups[0].reverse(),
        "group 0",
    ),
    (
        "missing group member",
        |i| i.groups[0].truncate(1),
        "group 0",
    ),
    ("extra group member", |i| i.groups[1].push(7), "group 1"),
    ("group name", |i| i.group_names[1] = "right", "group 1"),
    (
        "group attribute",
        |i| i.scores[1] = 0.125,
        "group_attributes/score",
    ),
];

/// The same for the links of a graph.
const LINK_CHANGES: &[(&str, Change, &str)] = &[
    ("link end", |i| i.links[3] = 3, "links/0"),
    ("link turned around", |i| i.links.swap(2, 3), "links/0"),
    ("link attribute", |i| i.weights[1] = 21, "links/0"),
    (
        "link attributes swapped",
        |i| i.weights.swap(0, 1),
        "links/0",
    ),
    (
        "missing link",
        |i| {
            i.links.truncate(6);
            i.weights.pop();
        },
        "3 links, expected 4",
    ),
    (
        "extra link",
        |i| {
            i.links.extend([7, 8]);
            i.weights.push(50);
        },
        "5 links, expected 4",
    ),
    (
        "link twice",
        |i| {
            i.links.extend([6, 8]);
            i.weights.push(40);
        },
        "5 links, expected 4",
    ),
];

#[test]
fn every_change_of_a_copy_is_reported() {
    Runtime::new().unwrap().wait(async {
        for kind in [Kind::Streamline, Kind::Graph] {
            let one = Input::new(kind, 10.0).write().await;
            for chunk in [10.0, 16.0] {
                let right = Input::new(kind, chunk);
                let verified = compared(&one, &right.write().await).await.unwrap();
                assert_eq!((verified.vertices, verified.objects), (9, 3));
                let links = if kind == Kind::Graph {
                    LINK_CHANGES
                } else {
                    &[]
                };
                for (case, change, wanted) in CHANGES.iter().chain(links) {
                    let mut other = right.clone();
                    change(&mut other);
                    let found = compared(&one, &other.write().await).await;
                    assert_differs(&format!("{case}, {kind:?}, {chunk}"), found, wanted);
                }
            }
        }
    });
}

/// A store of one batch of 2D positions.
async fn written(spec: StoreSpec, batch: &Batch, table: &ObjectTable) -> Made {
    let made = Made::new();
    let options = WriteOptions::new().with_threads(1).with_durable(false);
    let spec = spec.with_compression(Compression::None);
    let writer = StoreWriter::create(&made.address(), spec, options).await;
    let mut writer = writer.unwrap();
    writer.push(batch).unwrap();
    writer.push_objects(table).unwrap();
    writer.finish().await.unwrap();
    made
}

/// Missing numbers of objects are absent.
#[test]
fn numbers_of_objects_that_become_absent_or_present_are_reported() {
    Runtime::new().unwrap().wait(async {
        let write = async |chunk: f64, ids: &[i64], sizes: &[i32]| {
            let spec = StoreSpec::new(Kind::Streamline, [chunk; 2])
                .with_object_attribute(AttributeSpec::number("size", NumberType::I32));
            let batch = Batch::new(&[1_f32, 1., 12., 2., 3., 3., 25., 4.][..])
                .with_object_runs(&[(7, 2), (9, 2)][..]);
            let table = ObjectTable::new(ids).with_attribute("size", sizes);
            written(spec, &batch, &table).await
        };
        let (both, one) = (write(10.0, &[7, 9], &[70, 90]), write(10.0, &[7], &[70]));
        let (both, one) = (both.await, one.await);
        for chunk in [10.0, 16.0] {
            let copy = write(chunk, &[7], &[70]).await;
            compared(&one, &copy).await.unwrap();
            assert_differs("absent", compared(&both, &copy).await, "size");
            let copy = write(chunk, &[7, 9], &[70, 0]).await;
            assert_differs("present", compared(&one, &copy).await, "size");
        }
    });
}

#[test]
fn values_of_fragments_are_compared_where_chunks_stay() {
    Runtime::new().unwrap().wait(async {
        let write = async |runs: [u8; 4]| {
            let spec = StoreSpec::new(Kind::Streamline, [10.0; 2])
                .with_fragment_attribute(AttributeSpec::number("run", NumberType::U8));
            let batch = Batch::new(&[1_f32, 1., 2., 2., 3., 3., 25., 4.][..])
                .with_object_runs(&[(7, 4)][..])
                .with_fragment_attribute("run", &runs[..]);
            written(spec, &batch, &ObjectTable::new(&[7_i64][..])).await
        };
        let one = write([1, 1, 2, 3]).await;
        compared(&one, &write([1, 1, 2, 3]).await).await.unwrap();
        for (other, place) in [([2, 2, 1, 3], "\"run\""), ([1, 2, 2, 3], "fragments")] {
            assert_differs("run", compared(&one, &write(other).await).await, place);
        }
    });
}

/// Edges of trees are implied by the order of rows, or stored.
#[test]
fn nodes_of_trees_with_other_parents_are_reported() {
    Runtime::new().unwrap().wait(async {
        let write = async |chunk: f64, links: &[u64]| {
            let spec = StoreSpec::new(Kind::Skeleton, [chunk; 2]);
            let positions = [1_f32, 1., 5., 2., 12., 3., 14., 4., 25., 5., 27., 6.];
            let batch = Batch::new(&positions[..])
                .with_object_runs(&[(7, 6)][..])
                .with_links(links);
            written(spec, &batch, &ObjectTable::new(&[7_i64][..])).await
        };
        let links = [1, 0, 2, 1, 3, 2, 4, 3, 5, 1];
        let one = write(10.0, &links).await;
        for chunk in [10.0, 16.0, 4.0] {
            compared(&one, &write(chunk, &links).await).await.unwrap();
            for (child, parent) in [(2, 0), (3, 1), (4, 2), (5, 0), (5, 4)] {
                let mut other = links;
                other[child * 2 - 1] = parent;
                let found = compared(&one, &write(chunk, &other).await).await;
                assert_differs(&format!("{parent} of {child}, {chunk}"), found, "level 0");
            }
            let shorter = write(chunk, &links[..8]).await;
            assert_differs("root", compared(&one, &shorter).await, "level 0");
        }
    });
}

#[test]
fn faces_with_other_corners_are_reported() {
    Runtime::new().unwrap().wait(async {
        let write = async |chunk: f64, links: &[u64]| {
            let spec = StoreSpec::new(Kind::Mesh, [chunk; 3]);
            let places = [1_f32, 5., 12., 14., 22.].map(|x| [x, x / 5.0, 1.0]);
            let batch = Batch::new(places.concat())
                .with_object_runs(&[(7, 5)][..])
                .with_links(links);
            written(spec, &batch, &ObjectTable::new(&[7_i64][..])).await
        };
        let links = [0, 1, 2, 0, 2, 3, 4, 0, 3];
        let one = write(10.0, &links).await;
        for chunk in [10.0, 16.0] {
            compared(&one, &write(chunk, &links).await).await.unwrap();
            for (case, other) in [
                ("corner", &[0, 1, 2, 0, 2, 3, 4, 1, 3][..]),
                ("turned over", &[0, 1, 2, 0, 3, 2, 4, 0, 3]),
                ("corner first", &[0, 1, 2, 2, 3, 0, 4, 0, 3]),
                ("missing", &[0, 1, 2, 0, 2, 3]),
                ("twice", &[0, 1, 2, 0, 2, 3, 4, 0, 3, 0, 1, 2]),
            ] {
                let found = compared(&one, &write(chunk, other).await).await;
                assert_differs(case, found, "links/0");
            }
        }
    });
}

/// The manifest of an object with its entries in reverse order.
async fn turned(store: &Store, id: i64) -> (Vec<u8>, Vec<u8>) {
    let level = store.level(0, &Need::all()).await.unwrap();
    let index = level.object_index().unwrap();
    let row = index.ids().await.unwrap().slot(id).unwrap();
    let part = index.manifest_chunk(index.chunk_of(row)).await.unwrap();
    let blob = part.blob(row).to_vec();
    let manifest = Manifest::parse(&blob, 2).unwrap();
    let mut entries = Vec::new();
    for block in manifest.blocks() {
        let chunk: Vec<i64> = block.chunk.iter().map(|part| part.get()).collect();
        entries.extend(
            block
                .fragments
                .iter()
                .map(|fragment| (chunk.clone(), fragment)),
        );
    }
    let mut other = ManifestBuilder::new(2).unwrap();
    for (chunk, fragment) in entries.iter().rev() {
        other.push(chunk, *fragment).unwrap();
    }
    (blob, other.finish())
}

#[test]
fn fragments_of_an_object_in_another_order_are_reported() {
    Runtime::new().unwrap().wait(async {
        for (kind, chunk) in [Kind::Streamline, Kind::Graph]
            .into_iter()
            .flat_map(|kind| [(kind, 10.0), (kind, 16.0)])
        {
            let one = Input::new(kind, 10.0).write().await;
            let other = Input::new(kind, chunk).write().await;
            let (from, to) = turned(&other.open().await, 11).await;
            assert_ne!(from, to);
            other.patch("0/object_index/", &from, &to);
            assert_differs("fragments", compared(&one, &other).await, "object 11");
        }
    });
}

/// Two points that are stored in each other's chunks.
#[test]
fn vertices_in_other_chunks_are_reported() {
    Runtime::new().unwrap().wait(async {
        let write = async |chunk: f64| {
            let made = Made::new();
            let spec =
                StoreSpec::new(Kind::PointCloud, [chunk; 2]).with_compression(Compression::None);
            let options = WriteOptions::new().with_threads(1).with_durable(false);
            let mut writer = StoreWriter::create(&made.address(), spec, options)
                .await
                .unwrap();
            writer.push(&Batch::new(&[1_f32, 1., 25., 3.][..])).unwrap();
            writer.finish().await.unwrap();
            made
        };
        for chunk in [10.0, 16.0] {
            let (one, other) = (write(10.0).await, write(chunk).await);
            compared(&one, &other).await.unwrap();
            let cells = other.cells();
            let mut vertices = cells
                .iter()
                .filter(|(name, _)| name.starts_with("0/vertices/"));
            let (a, b) = (vertices.next().unwrap().1, vertices.next().unwrap().1);
            let (of_a, of_b) = (fs::read(a).unwrap(), fs::read(b).unwrap());
            fs::write(a, of_b).unwrap();
            fs::write(b, of_a).unwrap();
            assert_differs("chunks", compared(&one, &other).await, "level 0");
        }
    });
}

/// Copies a bundled store so that its cells can be changed byte for byte.
async fn copied(case: &str, chunk: Option<f64>) -> (zvf_testkit::TempStore, Made) {
    let old = zvf_testkit::unpacked(case).unwrap();
    let made = Made::new();
    let store = Store::open(&old.url().unwrap()).await.unwrap();
    let mut options = MigrateOptions::new()
        .with_compression(Compression::None)
        .with_shard_shape([]);
    if let Some(times) = chunk {
        let level = store.level(0, &Need::default()).await.unwrap();
        let shape: Vec<f64> = level
            .chunk_shape()
            .iter()
            .map(|size| size * times)
            .collect();
        options = options.with_chunk_shape(shape);
    }
    migrate(&store, &made.address(), options).await.unwrap();
    (old, made)
}

/// Changes one byte after another below some folders of a copy; returns the number of changes, and those that were not reported.
async fn changed_bytes(old: &Store, new: &Made, folder: &str, step: usize) -> (usize, Vec<String>) {
    let (mut count, mut unseen) = (0, Vec::new());
    for (name, path) in new.cells() {
        // Rows after the last one of a table fill its stored chunk, and have no meaning. Groups of links are a hint that every copy rebuilds
        // (docs/migration.md).
        let meaningless = ["object_attributes", "link_fragments"];
        if !name.contains(folder) || meaningless.iter().any(|one| name.contains(one)) {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(step) {
            let mut other = bytes.clone();
            other[at] ^= 1;
            fs::write(&path, other).unwrap();
            count += 1;
            match compare(old, &new.open().await).await {
                Ok(_) => unseen.push(format!("{name}, byte {at} of {}", bytes.len())),
                Err(error) => assert_eq!(error.class(), Class::Malformed, "{error}"),
            }
        }
        fs::write(&path, bytes).unwrap();
    }
    (count, unseen)
}

#[test]
fn every_changed_byte_of_a_cell_is_reported() {
    Runtime::new().unwrap().wait(async {
        for (kind, chunk) in [Kind::Streamline, Kind::Graph]
            .into_iter()
            .flat_map(|kind| [(kind, 10.0), (kind, 16.0)])
        {
            let (old, new) = (Input::new(kind, 10.0), Input::new(kind, chunk));
            let (old, new) = (old.write().await, new.write().await);
            let store = old.open().await;
            let (count, unseen) = changed_bytes(&store, &new, "0/", 3).await;
            let (links, unseen_links) = changed_bytes(&store, &new, "0/links/", 2).await;
            assert!(links > 0 && unseen_links.is_empty(), "{unseen_links:#?}");
            // Padding of the bits that distinguish lists from ranges, which readers ignore.
            let padding = |name: &String| name.starts_with("0/vertex_fragments/");
            assert!(unseen.iter().all(padding), "{unseen:#?}");
            assert!(unseen.len() * 20 < count, "{} of {count}", unseen.len());
        }
    });
}

#[test]
fn changed_bytes_of_copies_of_older_stores_are_reported() {
    Runtime::new().unwrap().wait(async {
        for case in ["0.9/skeleton", "0.8/mesh", "0.7/lines", "0.6/streamlines"] {
            for chunk in [None, Some(2.0)] {
                let (old, new) = copied(case, chunk).await;
                let old = Store::open(&old.url().unwrap()).await.unwrap();
                let mut all = 0;
                for folder in [
                    "/vertices/",
                    "/manifests/",
                    "/vertex_attributes/",
                    "/links/",
                ] {
                    let (count, unseen) = changed_bytes(&old, &new, folder, 811).await;
                    all += count;
                    assert!(unseen.is_empty(), "{case}, {chunk:?}: {unseen:#?}");
                }
                assert!(all > 10, "{case}: {all}");
            }
        }
    });
}

#[test]
fn every_changed_byte_of_links_between_levels_is_reported() {
    Runtime::new().unwrap().wait(async {
        for chunk in [None, Some(2.0)] {
            let (old, new) = copied("0.8/pyramid_cells", chunk).await;
            let old = Store::open(&old.url().unwrap()).await.unwrap();
            let (count, unseen) = changed_bytes(&old, &new, "/links/", 211).await;
            assert!(count > 10 && unseen.is_empty(), "{count}: {unseen:#?}");
        }
    });
}

#[test]
fn copies_are_the_same_whatever_chunk_is_done_first() {
    Runtime::new().unwrap().wait(async {
        let old = Made::new();
        let spec = StoreSpec::new(Kind::Skeleton, [100.0; 3]);
        let mut writer = StoreWriter::create(&old.address(), spec, WriteOptions::new())
            .await
            .unwrap();
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for tree in 0..60_i64 {
            let nodes = 400_usize;
            let mut positions: Vec<f32> = (0..3).map(|_| random(300) as f32).collect();
            let mut links = Vec::new();
            for node in 1..nodes as u64 {
                // Some nodes are branches.
                let back = if random(9) == 0 { random(30) } else { 0 };
                let parent = (node - 1).saturating_sub(back);
                for axis in 0..3 {
                    let from = positions[parent as usize * 3 + axis];
                    positions.push(from + random(9) as f32 - 4.0);
                }
                links.extend([node, parent]);
            }
            let batch = Batch::new(positions)
                .with_object_ids(vec![tree; nodes])
                .with_links(links);
            writer.push(&batch).unwrap();
        }
        writer.finish().await.unwrap();
        let store = old.open().await;
        let mut first = None;
        // Each job has 256 chunks; several run at the same time.
        for threads in [1, 4, 4, 4, 4] {
            let new = Made::new();
            let options = MigrateOptions::new()
                .with_chunk_shape([15.0; 3])
                .with_shard_shape([])
                .with_write(WriteOptions::new().with_threads(threads));
            migrate(&store, &new.address(), options).await.unwrap();
            let cells: BTreeMap<String, Vec<u8>> = new
                .cells()
                .into_iter()
                .map(|(name, file)| (name, fs::read(file).unwrap()))
                .collect();
            let chunks = cells.keys().filter(|name| name.starts_with("0/vertices/"));
            assert!(chunks.count() > 1024);
            let first = first.get_or_insert_with(|| cells.clone());
            let other = cells
                .iter()
                .find(|(name, bytes)| first.get(*name) != Some(*bytes));
            assert_eq!(other.map(|(name, _)| name), None);
            assert_eq!(cells.len(), first.len());
        }
    });
}
