//! The owner column: queries that use it have the same results as with manifests, but read no manifests.

use std::collections::{BTreeMap, BTreeSet};

use zvf_edit::{Edit, vacuum};
use zvf_query::{BBox, Column, Outputs, Query, Select, Table, query};
use zvf_store::format::manifest::Manifest;
use zvf_store::owners::{CHECKSUM, NOBODY, OwnerColumn, SEVERAL};
use zvf_store::{IoTrace, Need, Store};
use zvf_write::{AttributeSpec, Batch, Kind, NumberType, ShardShape, StoreSpec, StoreWriter};

use crate::edited_draw::Draw;
use crate::support::{ADDRESS, Memory, block_on, check_documents, column};

const KINDS: [Kind; 7] = [
    Kind::PointCloud,
    Kind::Line,
    Kind::Polyline,
    Kind::Streamline,
    Kind::Skeleton,
    Kind::Graph,
    Kind::Mesh,
];

/// Objects that begin anywhere in a cube and continue in random directions; their density does not depend on their number.
async fn write(spec: StoreSpec, objects: usize, seed: u64) -> Memory {
    let (memory, mut draw) = (Memory::default(), Draw(seed));
    let side = (objects as f64).cbrt() * 8.0;
    let steps = if spec.kind == Kind::Line { 2 } else { 12 };
    let (mut positions, mut ids) = (Vec::new(), Vec::new());
    for object in 0..objects {
        let mut at: Vec<f64> = (0..3)
            .map(|_| draw.below(1000) as f64 / 1000.0 * side)
            .collect();
        for _ in 0..steps {
            positions.extend(at.iter().map(|p| *p as f32));
            // The order of ids is not that of the locations.
            ids.push((object * 7 % objects) as i64 * 3);
            for p in &mut at {
                *p = (*p + draw.below(7) as f64 - 3.0).clamp(0.0, side);
            }
        }
    }
    let n: Vec<i64> = (0..).take(ids.len()).collect();
    let spec = spec.with_vertex_attribute(AttributeSpec::number("n", NumberType::I64));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let batch = Batch::new(positions)
        .with_object_ids(ids)
        .with_attribute("n", n);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    memory
}

fn spec(kind: Kind) -> StoreSpec {
    let spec = StoreSpec::new(kind, [10.0; 3]);
    match kind {
        Kind::PointCloud => spec.with_objects(),
        _ => spec,
    }
}

fn some_box() -> Option<BBox> {
    Some(BBox::parse("4,4,4:22,22,22").unwrap())
}

/// Queries whose results depend on objects.
fn questions() -> Vec<(&'static str, Query)> {
    let rows = |columns: Vec<Column>| Query {
        columns,
        outputs: Outputs {
            links: false,
            objects: false,
            ..Outputs::default()
        },
        ..Query::default()
    };
    let owned = || rows(vec![Column::Attributes, Column::ObjectId]);
    let objects = |links| Outputs {
        links,
        objects: true,
        ..Outputs::default()
    };
    vec![
        (
            "positions",
            Query {
                bbox: some_box(),
                ..rows(vec![Column::Position])
            },
        ),
        (
            "rows",
            Query {
                bbox: some_box(),
                ..owned()
            },
        ),
        (
            "all owners",
            Query {
                bbox: some_box(),
                ..rows(vec![Column::Attributes, Column::ObjectIds])
            },
        ),
        ("every row", owned()),
        (
            "few rows",
            Query {
                limit: Some(5),
                ..owned()
            },
        ),
        (
            "counts",
            Query {
                bbox: some_box(),
                outputs: objects(false),
                ..Query::default()
            },
        ),
        (
            "links",
            Query {
                bbox: some_box(),
                outputs: objects(true),
                ..owned()
            },
        ),
        (
            "all links",
            Query {
                outputs: objects(true),
                ..owned()
            },
        ),
        (
            "chunks",
            Query {
                bbox: some_box(),
                select: Select::Chunks,
                ..owned()
            },
        ),
        (
            "whole objects",
            Query {
                bbox: some_box(),
                select: Select::Objects,
                outputs: objects(true),
                ..Query::default()
            },
        ),
        (
            "whole objects, all owners",
            Query {
                bbox: some_box(),
                select: Select::Objects,
                columns: vec![Column::Attributes, Column::ObjectIds],
                ..Query::default()
            },
        ),
        (
            "some objects",
            Query {
                objects: Some(vec![9, 3]),
                bbox: some_box(),
                ..Query::default()
            },
        ),
    ]
}

/// Every table of a query result as text, and the warnings.
async fn answer(store: &Store, asked: &Query) -> (BTreeMap<String, Vec<String>>, Vec<String>) {
    let all = query(store, asked.clone())
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    let mut found = BTreeMap::new();
    for table in [Table::Vertices, Table::Links, Table::Objects] {
        let Some(batch) = all.table(table).unwrap() else {
            continue;
        };
        for field in batch.schema().fields() {
            found.insert(
                format!("{table:?} {}", field.name()),
                column(&batch, field.name()),
            );
        }
    }
    (found, all.summary.warnings)
}

#[tokio::test]
async fn answers_are_those_without_the_column() {
    for kind in KINDS {
        let with = write(spec(kind), 60, 7).await;
        let without = write(spec(kind).without_fragment_owners(), 60, 7).await;
        check_documents(&with.files().await);
        with.check_clean().await;
        let [with, without] = [with.open().await, without.open().await];
        let level = with.level(0, &Need::all()).await.unwrap();
        assert!(level.owner_column().current().is_some(), "{kind:?}");
        for (name, asked) in questions() {
            let (got, wanted) = (answer(&with, &asked).await, answer(&without, &asked).await);
            assert_eq!(got, wanted, "{kind:?}, {name}");
            assert!(got.1.is_empty(), "{kind:?}, {name}: {:?}", got.1);
        }
    }
}

const OWNERS: &str = "fragment_attributes/object_id/c/";

/// The cost of a query of a newly opened store: requests for each part of the object index, all requests, and bytes without documents and without the
/// first reads of shards of owners; and the number of rows in the result.
async fn cost(memory: &Memory, asked: &Query) -> (BTreeMap<String, usize>, usize, u64, u64) {
    let trace = IoTrace::on();
    let options = memory.open_options().with_trace(trace.clone());
    let store = Store::open_with(ADDRESS, options).await.unwrap();
    let all = query(&store, asked.clone()).await.unwrap();
    let rows = all.collect().await.unwrap().summary.vertices;
    let (mut parts, mut data) = (BTreeMap::new(), 0);
    let requests = trace.take();
    let (mut seen, mut shards) = (BTreeSet::new(), BTreeSet::new());
    for request in &requests {
        let bytes = request.bytes.unwrap_or(0);
        if !request.key.ends_with("zarr.json") {
            data += bytes;
        }
        if request.key.contains(OWNERS) && shards.insert(&request.key) {
            // Its index is read with the end of the shard, which is the whole shard here: not in proportion to the query result.
            assert!(bytes <= 16 << 10, "{bytes} bytes of {}", request.key);
            data -= bytes;
        }
        for part in ["manifests/c/", "object_ids/c/", OWNERS] {
            if request.key.contains(part) {
                *parts.entry(part.to_owned()).or_default() += 1;
                let what = (request.key.clone(), request.offset, request.length);
                assert!(seen.insert(what), "{} twice", request.key);
            }
        }
    }
    (parts, requests.len(), data, rows)
}

#[tokio::test]
async fn boxes_read_no_manifests() {
    let memory = write(spec(Kind::Streamline), 300, 3).await;
    let read = async |name: &str| {
        let all = questions();
        let (_, asked) = all.iter().find(|(one, _)| *one == name).unwrap();
        let (parts, ..) = cost(&memory, asked).await;
        ["manifests/c/", "object_ids/c/", OWNERS].map(|part| parts.contains_key(part))
    };
    assert_eq!(read("positions").await, [false; 3]);
    assert_eq!(read("rows").await, [false, false, true]);
    assert_eq!(read("all owners").await, [false, false, true]);
    assert!(!read("counts").await[0]);
    assert!(read("links").await[0] && read("whole objects").await[0]);
}

/// Without documents, rows of a box of the same size have the same cost in stores of two sizes.
#[tokio::test]
async fn questions_cost_what_their_answers_weigh() {
    // The larger store would have shards, whose indexes are read with their first cells: not in proportion to the query result.
    let lines = || spec(Kind::Streamline).with_shard_shape(ShardShape::None);
    let small = write(lines(), 400, 5).await;
    let large = write(lines(), 4000, 5).await;
    let cells = |asked: &Query| Query {
        bbox: Some(BBox::parse("5,5,5:45,45,45").unwrap()),
        ..asked.clone()
    };
    for (name, asked) in questions() {
        if !["positions", "rows", "all owners", "chunks"].contains(&name) {
            continue;
        }
        let (_, few, little, rows) = cost(&small, &cells(&asked)).await;
        let (_, many, much, more) = cost(&large, &cells(&asked)).await;
        assert!(rows > 300 && more > 300, "{rows} and {more} rows");
        let [little, much] =
            [(little, rows), (much, more)].map(|(bytes, rows)| bytes as f64 / rows as f64);
        let bounded = |a: f64, b: f64| b <= a * 1.3;
        assert!(
            bounded(few as f64, many as f64),
            "{name}: {few} and {many} requests"
        );
        assert!(
            bounded(little, much),
            "{name}: {little} and {much} bytes a row"
        );
    }
}

/// Another writer changes which object has which fragments, while all numbers of the index stay the same.
#[tokio::test]
async fn a_column_is_not_used_once_the_index_was_written_again() {
    let memory = write(spec(Kind::Polyline), 40, 11).await;
    let files = memory.files().await;
    let key = "0/object_index/zarr.json";
    assert_eq!(files[key].last(), Some(&b'\n'));
    // The manifests of two objects are swapped.
    let manifests = "0/object_index/manifests/c/0";
    let chunk = zstd::decode_all(&*files[manifests]).unwrap();
    let mut rows = Vec::new();
    let mut rest = &chunk[4..];
    while let Some((length, more)) = rest.split_first_chunk::<4>() {
        let (row, more) = more.split_at(u32::from_le_bytes(*length) as usize);
        rows.push(row);
        rest = more;
    }
    rows.swap(0, 1);
    let mut swapped = chunk[..4].to_vec();
    for row in rows {
        swapped.extend(u32::try_from(row.len()).unwrap().to_le_bytes());
        swapped.extend(row);
    }
    memory
        .put(manifests, zstd::encode_all(&*swapped, 0).unwrap())
        .await;
    // The document ends with a brace, as in the released writer.
    memory.put(key, files[key].trim_ascii_end().to_vec()).await;

    let without = Memory::default();
    for (key, bytes) in memory.files().await {
        if !key.starts_with("0/fragment_attributes") {
            without.put(&key, bytes).await;
        }
    }
    let (stale, none) = (memory.open().await, without.open().await);
    for (name, asked) in questions() {
        let ((got, warnings), (wanted, _)) =
            (answer(&stale, &asked).await, answer(&none, &asked).await);
        assert_eq!(got, wanted, "{name}");
        let warned = warnings.iter().any(|one| one.contains("add-owners"));
        let needless = ["positions", "some objects"].contains(&name);
        assert!(warned || needless, "{name}: {warnings:?}");
    }
    // An edit updates it.
    let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
    edit.delete(&[0]).await.unwrap();
    edit.commit().await.unwrap();
    memory.check_clean().await;
    let store = memory.open().await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.owner_column().current().is_some());
    vacuum(ADDRESS, memory.options()).await.unwrap();
    memory.check_clean().await;
    let store = memory.open().await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.owner_column().current().is_some());
}

/// The document of the column was cut: owners of most chunks are not found in it.
#[tokio::test]
async fn a_column_that_lists_cells_outside_of_its_shape_is_not_used() {
    let memory = write(spec(Kind::Polyline), 300, 19).await;
    let key = "0/fragment_attributes/object_id/zarr.json";
    let intact = memory.open().await;
    for divisor in [u64::MAX, 2] {
        let files = memory.files().await;
        let mut doc: serde_json::Value = serde_json::from_slice(&files[key]).unwrap();
        for extent in doc["shape"].as_array_mut().unwrap() {
            *extent = (extent.as_u64().unwrap() / divisor).into();
        }
        let cut = Memory::default();
        for (key, bytes) in files {
            cut.put(&key, bytes).await;
        }
        cut.put(key, doc.to_string().into_bytes()).await;
        let store = cut.open().await;
        for (name, asked) in questions() {
            let (got, warnings) = answer(&store, &asked).await;
            assert_eq!(got, answer(&intact, &asked).await.0, "{name}");
            let warned = warnings.iter().any(|one| one.contains("add-owners"));
            let needless = ["positions", "some objects"].contains(&name);
            assert!(warned || needless, "{name}: {warnings:?}");
        }
        let mut edit = Edit::open(ADDRESS, cut.options()).await.unwrap();
        edit.add_owners().unwrap();
        edit.commit().await.unwrap();
        cut.check_clean().await;
    }
}

/// Two cells of fragments were exchanged: one chunk then has more owners than fragments.
#[tokio::test]
async fn owners_of_fragments_that_a_chunk_lacks_are_an_error() {
    let memory = write(spec(Kind::Polyline), 60, 23).await;
    let files = memory.files().await;
    let cells = files.iter();
    let mut cells: Vec<_> = cells
        .filter(|(key, _)| key.starts_with("0/vertex_fragments/c/"))
        .map(|(key, bytes)| (zstd::decode_all(&**bytes).unwrap().len(), key))
        .collect();
    cells.sort();
    let ((small, one), (large, other)) = (cells[0], cells[cells.len() - 1]);
    assert!(small < large);
    memory.put(one, files[other].clone()).await;
    memory.put(other, files[one].clone()).await;
    let store = memory.open().await;
    for (name, asked) in questions() {
        if ["rows", "all owners"].contains(&name) {
            let found = match query(&store, asked).await {
                Ok(answer) => answer.collect().await.err(),
                Err(error) => Some(error),
            };
            let error = found.expect(name).to_string();
            assert!(error.contains("fragment"), "{error}");
        }
    }
}

/// A copy lost a shard: neither queries nor edits may take its fragments for fragments without owners.
#[test]
fn a_lost_shard_of_the_column_is_an_error() {
    block_on(async {
        let whole = write(spec(Kind::Polyline), 300, 17).await;
        let lossy = Memory::default();
        let files = whole.files().await;
        let shards: Vec<_> = files.keys().filter(|key| key.contains(OWNERS)).collect();
        assert!(shards.len() > 1, "{shards:?}");
        for (key, bytes) in &files {
            if key != shards[0] {
                lossy.put(key, bytes.clone()).await;
            }
        }
        for verify in [true, false] {
            let options = lossy.open_options().with_verify(verify);
            let store = Store::open_with(ADDRESS, options).await.unwrap();
            for (name, asked) in questions() {
                let found = match query(&store, asked).await {
                    Ok(answer) => answer.collect().await.err(),
                    Err(error) => Some(error),
                };
                match name {
                    "rows" | "all owners" => {
                        let error = found.expect(name).to_string();
                        assert!(error.contains("fragment_attributes/object_id"), "{error}");
                    }
                    "positions" | "some objects" => assert!(found.is_none(), "{name}: {found:?}"),
                    _ => {}
                }
            }
        }
        let mut edit = Edit::open(ADDRESS, lossy.options()).await.unwrap();
        edit.delete(&[0, 3]).await.unwrap();
        let error = edit.commit().await.unwrap_err().to_string();
        assert!(error.contains("fragment_attributes/object_id"), "{error}");
        // The column can be restored from the manifests.
        let mut edit = Edit::open(ADDRESS, lossy.options()).await.unwrap();
        edit.add_owners().unwrap();
        edit.commit().await.unwrap();
        lossy.check_clean().await;
    });
}

#[test]
fn a_store_without_the_column_gets_it() {
    block_on(async {
        let with = write(spec(Kind::Graph), 50, 13).await;
        let memory = write(spec(Kind::Graph).without_fragment_owners(), 50, 13).await;
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        edit.add_owners().unwrap();
        let done = edit.commit().await.unwrap();
        assert_eq!((done.vertices, done.objects, done.chunks), (0, 0, 0));
        memory.check_clean().await;
        let [found, wanted] = [memory.files().await, with.files().await];
        let of_index =
            |key: &String| key.contains("fragment_attributes") || key.contains("object_index");
        let keys = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
            files.keys().filter(|key| of_index(key)).cloned().collect()
        };
        assert_eq!(keys(&found), keys(&wanted));
        for key in keys(&found) {
            let text = |files: &BTreeMap<String, Vec<u8>>| {
                String::from_utf8_lossy(&files[&key]).into_owned()
            };
            assert_eq!(text(&found), text(&wanted), "{key}");
        }
        // Adding it again does not change it.
        let mut edit = Edit::open(ADDRESS, memory.options()).await.unwrap();
        edit.add_owners().unwrap();
        edit.commit().await.unwrap();
        let again = memory.files().await;
        assert!(keys(&again).iter().all(|key| again[key] == found[key]));
    });
}

/// Ids that mean no owner and several owners in the column.
#[test]
fn a_column_that_cannot_name_its_objects_is_not_used() {
    block_on(async {
        for id in [-1, -2] {
            let memory = Memory::default();
            let positions = vec![1.0_f32, 1.0, 1.0, 2.0, 2.0, 2.0];
            let batch = Batch::new(positions).with_object_ids(vec![id, 4]);
            let spec = spec(Kind::PointCloud);
            let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
                .await
                .unwrap();
            writer.push(&batch).unwrap();
            writer.finish().await.unwrap();
            memory.check_clean().await;
            let store = memory.open().await;
            let level = store.level(0, &Need::all()).await.unwrap();
            assert!(matches!(level.owner_column(), OwnerColumn::None));
            let attributes = level.fragment_attributes()[0].array.attributes();
            assert!(!attributes.extra.contains_key(CHECKSUM));
            let asked = Query {
                columns: vec![Column::ObjectId],
                ..Query::default()
            };
            let (got, _) = answer(&store, &asked).await;
            assert_eq!(got["Vertices object_id"], [id.to_string(), "4".to_owned()]);
        }
    });
}

/// The owner column has the same owner for every fragment as the manifests, and its document states that it is current.
pub(crate) async fn check_owners(memory: &Memory) {
    let store = memory.open().await;
    let level = store.level(0, &zvf_store::Need::all()).await.unwrap();
    let Some(index) = level.object_index() else {
        return;
    };
    let ids = index.ids().await.unwrap();
    let OwnerColumn::Current(column) = level.owner_column() else {
        let found = level.owner_column();
        assert!(
            ids.iter().any(|id| [NOBODY, SEVERAL].contains(&id)),
            "{found:?}"
        );
        return;
    };
    let mut wanted: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
    let rows: Vec<u64> = (0..index.len()).collect();
    for (row, blob) in rows.iter().zip(index.manifests(&rows).await.unwrap()) {
        let manifest = Manifest::parse(&blob, index.key_rank()).unwrap();
        for (chunk, fragment) in manifest.fragment_refs() {
            let chunk = chunk.iter().map(|part| part.get()).collect();
            let owners = wanted.entry(chunk).or_default();
            let at = usize::try_from(fragment).unwrap();
            owners.resize(owners.len().max(at + 1), NOBODY);
            assert_eq!(std::mem::replace(&mut owners[at], ids.id(*row)), NOBODY);
        }
    }
    let mut found: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
    for chunk in column.array.presence().iter() {
        let want = zvf_store::CellWant::new(&column.array, chunk);
        let cells = store.fetch(level.next_round(), vec![want]).await.unwrap();
        let (owners, rest) = cells[0].as_ref().unwrap().as_chunks::<8>();
        assert!(rest.is_empty());
        let owners = owners.iter().map(|id| i64::from_le_bytes(*id)).collect();
        found.insert(chunk.to_vec(), owners);
    }
    assert_eq!(found, wanted);
}
