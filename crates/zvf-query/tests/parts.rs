//! Stores whose cells are frames of small blocks give the same answers as stores whose cells are decoded whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_blosc::{Codec, Encoder, FirstFilter, Generation, LastFilter, Settings};
use zvf_query::{BBox, Column, Filter, Names, Query, Select};
use zvf_store::meta::ArrayDoc;
use zvf_store::{IoTrace, Limits, Need, OpenOptions, Store, undo_codecs};

use crate::support::{ask, memory};

/// The files with positions and attributes of vertices in Blosc frames of blocks of 96 bytes.
fn in_blocks(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let mut made = files.clone();
    let settings = Settings::new(4, 96)
        .with_format(Generation::Blosc1)
        .with_codec(Some(Codec::Lz4))
        .with_filters(FirstFilter::None, LastFilter::Shuffle);
    let mut encoder = Encoder::new(settings).unwrap();
    let arrays = files.iter().filter_map(|(key, document)| {
        let path = key.strip_suffix("/zarr.json")?;
        let (_, rest) = path.split_once('/')?;
        let wanted = rest == "vertices" || rest.starts_with("vertex_attributes/");
        Some((path, document)).filter(|_| wanted)
    });
    for (path, document) in arrays {
        let Ok(doc) = ArrayDoc::parse(document) else {
            continue;
        };
        assert_eq!(doc.codecs[0].name, "vlen-bytes");
        for (key, object) in files.range(format!("{path}/c/")..format!("{path}/c0")) {
            let stored = object.clone().into();
            let chunk = undo_codecs(key, &doc.codecs[1..], stored, &Limits::default()).unwrap();
            let mut frame = Vec::new();
            encoder.encode(&chunk, &mut frame).unwrap();
            made.insert(key.clone(), frame);
        }
        let mut document: Value = serde_json::from_slice(document).unwrap();
        document["codecs"] = json!([{"name": "vlen-bytes", "configuration": {}}, {"name": "blosc", "configuration": {
            "typesize": 4, "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 96}}]);
        made.insert(
            format!("{path}/zarr.json"),
            document.to_string().into_bytes(),
        );
    }
    made
}

/// Queries of few and of many objects, of boxes and of filters.
async fn queries(store: &Store) -> Vec<Query> {
    let level = store.level(0, &Need::all()).await.unwrap();
    let (lo, hi) = store.root().zarr_vectors.bounds.clone();
    let half: Vec<f64> = lo
        .iter()
        .zip(&hi)
        .map(|(lo, hi)| lo + (hi - lo) * 0.4)
        .collect();
    let boxes = [
        None,
        Some(BBox::new(lo.clone(), half).unwrap()),
        Some(BBox::new(lo, hi).unwrap()),
    ];
    let mut found = Vec::new();
    let mut objects = vec![None];
    if let Some(index) = level.object_index() {
        let ids = index.ids().await.unwrap();
        let ids: Vec<i64> = ids.objects().map(|(_, id)| id).collect();
        objects.extend(ids.iter().take(6).map(|id| Some(vec![*id])));
        objects.push(Some(ids.iter().rev().step_by(3).copied().collect()));
    }
    let number = level
        .vertex_attributes()
        .iter()
        .find(|one| one.categories.is_none());
    let filters = [
        None,
        number.and_then(|one| Filter::parse(&format!("{} > 1", one.name)).ok()),
    ];
    let indexed = level.object_index().is_some();
    for objects in objects {
        for bbox in &boxes {
            for filter in &filters {
                for select in [Select::Vertices, Select::Objects, Select::Chunks] {
                    if select == Select::Objects && !indexed
                        || select == Select::Chunks && objects.is_some()
                    {
                        continue;
                    }
                    found.push(Query {
                        objects: objects.clone(),
                        bbox: bbox.clone(),
                        filter: filter.clone(),
                        attributes: Names::All,
                        select,
                        ..Query::default()
                    });
                }
            }
        }
        found.push(Query {
            objects,
            columns: vec![
                Column::Row,
                Column::Attributes,
                Column::Fragment,
                Column::Position,
            ],
            memory_budget: 1 << 12,
            ..Query::default()
        });
    }
    found
}

fn on_disk(files: &BTreeMap<String, Vec<u8>>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (key, bytes) in files {
        let path = folder.path().join(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

#[tokio::test]
async fn cells_in_blocks_give_the_same_answers() {
    let mut compared = 0;
    for case in zvf_testkit::cases().unwrap() {
        let files = zvf_testkit::files(&case).unwrap();
        let sharded = |document: &[u8]| {
            document
                .windows(17)
                .any(|part| part == b"sharding_indexed\"")
        };
        if files
            .iter()
            .any(|(key, document)| key.ends_with("zarr.json") && sharded(document))
        {
            continue;
        }
        let blocks = in_blocks(&files);
        let folder = on_disk(&blocks);
        let local = Store::open(folder.path().to_str().unwrap()).await.unwrap();
        let (whole, parts) = (memory(&files).await, memory(&blocks).await);
        let cached = crate::support::open(&blocks, OpenOptions::new().with_cell_cache(1 << 20));
        let cached = cached.await;
        for query in queries(&whole).await {
            let name = format!("{case} {query:?}");
            let expected = ask(&whole, query.clone()).await;
            for store in [&parts, &local, &cached] {
                let found = ask(store, query.clone()).await;
                match (&expected, found) {
                    (Ok(expected), Ok(found)) => {
                        assert_eq!(expected.vertices, found.vertices, "{name}");
                        assert_eq!(expected.links, found.links, "{name}");
                        assert_eq!(expected.objects, found.objects, "{name}");
                        assert_eq!(expected.all.summary, found.all.summary, "{name}");
                        compared += 1;
                    }
                    (Err(expected), Err(found)) => {
                        assert_eq!(expected.to_string(), found.to_string(), "{name}");
                    }
                    (expected, found) => {
                        panic!("{name}: {:?}, {:?}", expected.is_ok(), found.is_ok())
                    }
                }
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[tokio::test]
async fn fragments_of_a_chunk_are_read_once_by_an_open_store() {
    let files = in_blocks(&zvf_testkit::files("streamlines").unwrap());
    let folder = on_disk(&files);
    let trace = IoTrace::on();
    let options = OpenOptions::new().with_trace(trace.clone());
    let store = Store::open_with(folder.path().to_str().unwrap(), options);
    let store = store.await.unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    let id = ids.objects().map(|(_, id)| id).next().unwrap();
    let query = || Query {
        objects: Some(vec![id]),
        ..Query::default()
    };
    drop(trace.take());
    let first = ask(&store, query()).await.unwrap();
    let fragments = |key: &str| key.starts_with("0/vertex_fragments/c/");
    assert!(trace.take().iter().any(|one| fragments(&one.key)));
    let again = ask(&store, query()).await.unwrap();
    assert_eq!(first.vertices, again.vertices);
    assert_eq!(first.all.summary, again.all.summary);
    let requests = trace.take();
    assert!(
        !requests.iter().any(|one| fragments(&one.key)),
        "{requests:?}"
    );
    let mut keys = requests.iter().map(|one| one.key.as_str());
    let cell = keys.find(|key| key.starts_with("0/vertices/c/")).unwrap();

    // The cell now has positions of another length, but the documents are unchanged.
    let mut frame = Vec::new();
    let settings = Settings::new(4, 96).with_format(Generation::Blosc1);
    let mut chunk = vec![1, 0, 0, 0, 12, 0, 0, 0];
    chunk.extend([0; 12]);
    Encoder::new(settings)
        .unwrap()
        .encode(&chunk, &mut frame)
        .unwrap();
    std::fs::write(folder.path().join(cell), frame).unwrap();
    let error = ask(&store, query()).await.err().unwrap();
    assert!(error.to_string().contains("as before"), "{error}");
}
