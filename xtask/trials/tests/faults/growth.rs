//! What a question costs does not depend on the size of the store: twelve questions of the same answer, in stores of 10,648 and 97,336 objects.
//!
//! Documents are not counted: they list the chunks. Attributes of objects are left out: a table is one chunk, and is read as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use zvf_query::{BBox, Column, Filter, Outputs, Query, Select};
use zvf_store::{IoTrace, Method, Names, OpenOptions, Request, Store};
use zvf_trials::answers::{Told, ask};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ShardShape, StoreSpec, StoreWriter,
    WriteOptions,
};

use crate::support::MEMORY;

/// Objects along each edge of the cube.
const SIDES: [i64; 2] = [22, 46];

/// Vertices of an object.
const VERTICES: usize = 5;

/// How much more a question may cost in the larger store.
const MORE: f64 = 1.3;

/// Most bytes that one object costs beside cells and documents.
const OBJECT: u64 = 64 << 10;

/// The vertices of the object at a place of a lattice: a short walk from a point in its cell, the same in every store.
fn walk(place: [i64; 3], positions: &mut Vec<f32>, values: &mut Vec<f32>) {
    let [x, y, z] = place;
    let mut state = (x.wrapping_mul(73_856_093)
        ^ y.wrapping_mul(19_349_663)
        ^ z.wrapping_mul(83_492_791)) as u64;
    let mut draw = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 40) as f32 / (1 << 24) as f32
    };
    let mut at = place.map(|corner| corner as f32 + draw());
    for _ in 0..VERTICES {
        positions.extend(at);
        values.push(at[0]);
        at = at.map(|value| value + 0.4 * draw() - 0.2);
    }
}

/// Polylines on a lattice of `side` objects along each axis around 0, numbered along z, y and x.
async fn made(side: i64, shards: ShardShape) -> Arc<dyn ObjectStore> {
    let backend: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let spec = StoreSpec::new(Kind::Polyline, [5.0; 3])
        .with_shard_shape(shards)
        .with_vertex_attribute(AttributeSpec::number("value", NumberType::F32));
    let open = OpenOptions::new().with_object_store(Arc::clone(&backend));
    let options = WriteOptions::new().with_open(open);
    let mut writer = StoreWriter::create(MEMORY, spec, options).await.unwrap();
    let low = -side / 2;
    let mut next = 0_i64;
    for x in low..low + side {
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        for y in low..low + side {
            for z in low..low + side {
                walk([x, y, z], &mut positions, &mut values);
            }
        }
        let ids: Vec<i64> = (next..next + side * side).collect();
        let runs: Vec<(i64, usize)> = ids.iter().map(|id| (*id, VERTICES)).collect();
        let batch = Batch::new(&positions[..])
            .with_object_runs(&runs[..])
            .with_attribute("value", &values[..]);
        writer.push(&batch).unwrap();
        next += side * side;
    }
    let members: Vec<i64> = (0..12).map(|one| id_of(side, [0, one - 6, 0])).collect();
    writer.set_groups(&Groups::new(vec![members])).unwrap();
    writer.finish().await.unwrap();
    backend
}

/// The id of the object at a place.
fn id_of(side: i64, place: [i64; 3]) -> i64 {
    let [x, y, z] = place.map(|one| one + side / 2);
    (x * side + y) * side + z
}

/// The questions; without one the store is only opened.
fn questions(side: i64) -> Vec<(&'static str, Option<Query>)> {
    let only = |vertices, links, objects| Outputs {
        vertices,
        links,
        objects,
    };
    let within = Query {
        bbox: Some(BBox::new(vec![-2.0; 3], vec![2.0; 3]).unwrap()),
        outputs: only(true, false, false),
        ..Query::default()
    };
    // Far from each other: no two manifests are stored together, in either store.
    let scattered = (0..8).map(|one| id_of(side, [2 * one - 8, 3, one]));
    let asked = vec![
        (
            "positions in a box",
            Query {
                attributes: Names::None,
                ..within.clone()
            },
        ),
        ("rows in a box", within.clone()),
        (
            "rows in a box, with objects",
            Query {
                columns: vec![Column::Position, Column::Attributes, Column::ObjectId],
                ..within.clone()
            },
        ),
        (
            "rows in a box, with links",
            Query {
                outputs: only(true, true, false),
                ..within.clone()
            },
        ),
        (
            "rows in a box, with a condition",
            Query {
                filter: Some(Filter::parse("value > 0").unwrap()),
                ..within.clone()
            },
        ),
        (
            "objects in a box",
            Query {
                select: Select::Objects,
                ..within.clone()
            },
        ),
        (
            "table of the objects in a box",
            Query {
                outputs: only(false, false, true),
                ..within.clone()
            },
        ),
        (
            "the first rows, with links and objects",
            Query {
                limit: Some(20),
                columns: vec![Column::Position, Column::Attributes, Column::ObjectId],
                ..Query::default()
            },
        ),
        (
            "one object",
            Query {
                objects: Some(vec![id_of(side, [1, 1, 1])]),
                ..Query::default()
            },
        ),
        (
            "eight objects",
            Query {
                objects: Some(scattered.collect()),
                ..Query::default()
            },
        ),
        (
            "a group",
            Query {
                groups: Some(vec![0]),
                outputs: only(true, true, false),
                ..Query::default()
            },
        ),
    ];
    let asked = asked.into_iter().map(|(name, query)| (name, Some(query)));
    std::iter::once(("open", None)).chain(asked).collect()
}

/// Every request of a question to a store that was never opened before, and what it answered.
async fn cost(
    backend: &Arc<dyn ObjectStore>,
    asked: Option<Query>,
) -> (Vec<Request>, Option<Told>) {
    let trace = IoTrace::on();
    let mut options = OpenOptions::new()
        .with_object_store(Arc::clone(backend))
        .with_trace(trace.clone());
    if let Some(asked) = &asked {
        options = options.with_prefetch(asked.level, asked.need());
    }
    let store = Store::open_with(MEMORY, options).await.unwrap();
    let told = match asked {
        Some(asked) => Some(ask(&store, asked).await.unwrap()),
        None => None,
    };
    (trace.take(), told)
}

fn is_document(request: &Request) -> bool {
    request.method == Method::List || request.key.ends_with("zarr.json")
}

/// Requests and bytes of cells and manifests.
fn data(requests: &[Request]) -> (usize, u64) {
    let data = requests.iter().filter(|one| !is_document(one));
    (data.clone().count(), data.filter_map(|one| one.bytes).sum())
}

/// Nothing is asked for twice. At the end of an answer, documents are looked at once more, to see whether they changed.
fn check_once(name: &str, requests: &[Request]) {
    let mut seen = BTreeMap::new();
    for request in requests.iter().filter(|one| one.method == Method::Get) {
        let what = (&request.key, request.offset, request.length);
        let verified = is_document(request) && request.bytes.is_none_or(|bytes| bytes == 0);
        let before = seen.insert(what, request.round).filter(|_| !verified);
        assert_eq!(
            before, None,
            "{name}: {what:?} again in round {}",
            request.round
        );
    }
}

#[tokio::test]
async fn what_a_question_costs_does_not_depend_on_the_size_of_the_store() {
    let [small, large] = SIDES;
    // The default would put the larger store in shards, whose indexes come with their first cells: not in proportion to the answer.
    let [few, many] = [small, large].map(|side| made(side, ShardShape::None));
    let (few, many) = (few.await, many.await);
    let pairs = questions(small).into_iter().zip(questions(large));
    let mut asked = 0;
    let mut dear = Vec::new();
    for ((name, of_few), (_, of_many)) in pairs {
        asked += 1;
        let wants_links = of_many.as_ref().is_none_or(|query| query.outputs.links);
        let (before, answer) = cost(&few, of_few).await;
        let (after, told) = cost(&many, of_many).await;
        check_once(name, &before);
        check_once(name, &after);
        let rows = |told: &Option<Told>| {
            let tables = told
                .iter()
                .flat_map(|told| [&told.vertices, &told.links, &told.objects]);
            tables
                .map(|table| table.as_ref().map(|table| table.num_rows()))
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(&answer), rows(&told), "{name}: another answer");
        let ((requests, bytes), (more_requests, more_bytes)) = (data(&before), data(&after));
        let report = format!(
            "{name}: {requests} requests and {bytes} bytes in the small store, {more_requests} and {more_bytes} in the large one"
        );
        if more_requests as f64 > MORE * requests as f64 || more_bytes as f64 > MORE * bytes as f64
        {
            dear.push(report.clone());
        }
        let documents = |requests: &[Request]| -> BTreeSet<String> {
            let documents = requests.iter().filter(|one| is_document(one));
            documents.map(|one| one.key.clone()).collect()
        };
        assert_eq!(documents(&before), documents(&after), "{name}");
        if name == "one object" {
            let beside =
                |one: &&Request| !is_document(one) && one.key.starts_with("0/object_index/");
            let beside: Vec<&Request> = after.iter().filter(beside).collect();
            let bytes: u64 = beside.iter().filter_map(|one| one.bytes).sum();
            assert!(bytes <= OBJECT, "{bytes} bytes: {beside:?}");
            let ids = after.iter().find(|one| one.key.contains("/object_ids/c"));
            assert_eq!(ids, None, "ids in sequence need no table");
        }
        if ["one object", "eight objects", "a group"].contains(&name) {
            let owners = |key: &String| key.contains("/fragment_attributes/");
            let owners = documents(&after).into_iter().find(owners);
            assert_eq!(owners, None, "{name}: each row comes with its object");
        }
        let links = documents(&after).iter().any(|key| key.contains("/links"));
        assert!(wants_links || !links, "{name}: {:?}", documents(&after));
    }
    assert_eq!(asked, 12);
    assert_eq!(dear, Vec::<String>::new());
}

/// Manifests are read from the end of their shard, with its index: at most 256 KiB in one request, and no further round.
#[tokio::test]
async fn one_object_of_a_store_in_shards_costs_a_part_of_a_shard() {
    const MOST: u64 = 260 << 10;
    let [_, side] = SIDES;
    let store = made(side, ShardShape::default()).await;
    let mut asked = questions(side).into_iter();
    let (_, query) = asked.find(|(name, _)| *name == "one object").unwrap();
    let (requests, told) = cost(&store, query).await;
    assert_eq!(told.unwrap().vertices.unwrap().num_rows(), VERTICES);
    let manifests = requests
        .iter()
        .filter(|one| one.key.contains("/manifests/c/"));
    let bytes: Vec<u64> = manifests.filter_map(|one| one.bytes).collect();
    assert!(bytes.len() == 1 && bytes[0] <= MOST, "{bytes:?}");
}

/// Chunks with few rows first, then full ones: a limit takes more of them than the mean promises, and owners are read as the chunks are.
#[tokio::test]
async fn the_first_rows_have_their_objects_and_links() {
    let backend: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let open = OpenOptions::new().with_object_store(Arc::clone(&backend));
    let options = WriteOptions::new().with_open(open);
    let spec = StoreSpec::new(Kind::Polyline, [10.0; 3]);
    let mut writer = StoreWriter::create(MEMORY, spec, options).await.unwrap();
    // Two objects in each of 40 chunks along x, in an order of ids that is not that of the chunks.
    let (mut positions, mut owners, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in 0..40 {
        for half in 0..2 {
            let id = i64::from(chunk * 37 % 40 * 2 + half);
            let rows = if chunk < 30 { 2 } else { 150 };
            for row in 0..rows {
                positions.extend([chunk as f32 * 10.0 + 1.0, row as f32 / 32.0, half as f32]);
                owners.push(id);
            }
            runs.push((id, rows));
        }
    }
    let batch = Batch::new(&positions[..]).with_object_runs(&runs[..]);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    for limit in [1, 3, 5, 60, 119, 120, 121, 400, 1_500, 3_120] {
        let asked = Query {
            limit: Some(limit as u64),
            columns: vec![Column::Position, Column::ObjectId],
            ..Query::default()
        };
        let (requests, told) = cost(&backend, Some(asked)).await;
        check_once("first rows", &requests);
        let told = told.unwrap();
        let vertices = told.vertices.unwrap();
        let ids = vertices.column_by_name("object_id").unwrap();
        let ids = ids.as_primitive::<Int64Type>().values();
        assert_eq!(ids.as_ref(), &owners[..limit], "{limit}");
        let pairs = owners[..limit].windows(2);
        let links = pairs.filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(told.links.unwrap().num_rows(), links, "{limit}");
        let mut objects = owners[..limit].to_vec();
        objects.dedup();
        assert_eq!(told.objects.unwrap().num_rows(), objects.len(), "{limit}");
    }
}
