//! Stores whose parts contradict each other: an error of the right class with its place, never a panic.

use std::collections::BTreeMap;

use serde_json::json;
use zvf_query::{BBox, Class, Query, QueryError, Select, list_links, list_objects};
use zvf_store::OpenOptions;

use crate::make::{Links, Made, flat, manifest_blob, vlen};
use crate::make_legacy::{Crossing, Legacy};
use crate::support::{ask, listed_links, memory, try_open};

/// Two streamlines over three chunks.
fn lines() -> Made {
    let line = |y: f32| {
        (0..6)
            .map(|at| [at as f32 * 5.0, y, 1.0])
            .collect::<Vec<_>>()
    };
    Made::streamlines(&[(4, line(1.0)), (9, line(2.0))])
}

/// Runs several kinds of queries; returns the first error.
async fn first_error(made: &Made) -> QueryError {
    first_error_of(&made.files()).await
}

async fn first_error_of(files: &BTreeMap<String, Vec<u8>>) -> QueryError {
    let store = memory(files).await;
    let bbox = Some(BBox::parse("-100,-100,-100:100,100,100").unwrap());
    let mut first = None;
    for query in [
        Query::default(),
        Query {
            bbox: bbox.clone(),
            ..Query::default()
        },
        Query {
            objects: Some(vec![9, 4]),
            ignore_missing: true,
            ..Query::default()
        },
        Query {
            bbox,
            select: Select::Objects,
            ..Query::default()
        },
    ] {
        if let Err(error) = ask(&store, query).await {
            first.get_or_insert(error);
        }
    }
    first.expect("nothing was refused")
}

fn says(error: &QueryError, class: Class, parts: &[&str]) {
    assert_eq!(error.class(), class, "{error}");
    for part in parts {
        assert!(
            error.to_string().contains(part),
            "{error} does not say {part}"
        );
    }
}

#[tokio::test]
async fn a_manifest_that_names_a_missing_chunk() {
    let mut made = lines();
    made.objects.as_mut().unwrap()[1].1.push(([1, 0, 7], 0));
    says(
        &first_error(&made).await,
        Class::Malformed,
        &[
            "level 0",
            "object_index/manifests",
            "chunk 1.0.7",
            "object 9",
        ],
    );
    let store = memory(&made.files()).await;
    let query = Query {
        objects: Some(vec![9]),
        ..Query::default()
    };
    let error = ask(&store, query).await.err().unwrap();
    says(&error, Class::Malformed, &["chunk 1.0.7", "object 9"]);
    // The other object is intact.
    assert!(
        ask(
            &store,
            Query {
                objects: Some(vec![4]),
                ..Query::default()
            }
        )
        .await
        .is_ok()
    );
    assert!(
        list_objects(&store, 0, false)
            .await
            .unwrap()
            .collect()
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_manifest_that_names_a_missing_fragment() {
    let mut made = lines();
    made.objects.as_mut().unwrap()[0].1[1].1 = 5;
    says(
        &first_error(&made).await,
        Class::Malformed,
        &["fragment 5", "chunk 1.0.0", "object 4"],
    );
    let store = memory(&made.files()).await;
    let error = ask(
        &store,
        Query {
            objects: Some(vec![4]),
            ..Query::default()
        },
    )
    .await
    .err()
    .unwrap();
    says(
        &error,
        Class::Malformed,
        &["fragment 5", "chunk 1.0.0", "object 4"],
    );
}

#[tokio::test]
async fn manifests_cut_short_or_huge() {
    let whole = manifest_blob(&vec![([0, 0, 0], 0), ([1, 0, 0], 0)]);
    for length in 1..whole.len() {
        let mut files = lines().files();
        let elements = [whole[..length].to_vec(), manifest_blob(&Vec::new())];
        files.insert("0/object_index/manifests/c/0".into(), vlen(&elements));
        says(
            &first_error_of(&files).await,
            Class::Malformed,
            &["object_index/manifests", "object 4"],
        );
    }
    // A range of four thousand million fragments.
    let mut blob = 1_u32.to_le_bytes().to_vec();
    blob.extend([0_i64; 3].iter().flat_map(|at| at.to_le_bytes()));
    blob.push(1);
    blob.extend(0_i64.to_le_bytes());
    blob.extend(0xFFFF_FFFE_i64.to_le_bytes());
    let mut files = lines().files();
    files.insert(
        "0/object_index/manifests/c/0".into(),
        vlen(&[blob, Vec::new()]),
    );
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["fragment", "chunk 0.0.0", "object 4"],
    );
}

#[tokio::test]
async fn fragments_outside_the_buffer_and_damaged_ones() {
    let mut made = lines();
    made.chunks.get_mut(&[1, 0, 0]).unwrap().fragments[0].push(77);
    says(
        &first_error(&made).await,
        Class::Malformed,
        &["level 0", "vertex_fragments", "chunk 1.0.0"],
    );
    let files = lines().files();
    let key = "0/vertex_fragments/c/1/0/0";
    for cut in (8..files[key].len()).step_by(7) {
        let mut files = files.clone();
        let blob = files[key][8..cut].to_vec();
        files.insert(key.into(), vlen(&[blob]));
        first_error_of(&files).await;
    }
    let mut files = files;
    files.remove(key);
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["vertex_fragments", "chunk 1.0.0"],
    );
}

#[tokio::test]
async fn lengths_that_do_not_fit() {
    let mut made = lines();
    made.chunks
        .get_mut(&[1, 0, 0])
        .unwrap()
        .attributes
        .get_mut("s")
        .unwrap()
        .pop();
    says(
        &first_error(&made).await,
        Class::Malformed,
        &["level 0", "vertex_attributes/s", "chunk 1.0.0"],
    );
    let mut files = lines().files();
    files.insert("0/vertices/c/1/0/0".into(), vlen(&[vec![0; 13]]));
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["level 0", "array vertices", "chunk 1.0.0", "13 bytes"],
    );
}

#[tokio::test]
async fn listed_vertices_that_are_not_there_are_an_error_or_a_warning() {
    let mut files = lines().files();
    files.remove("0/vertices/c/1/0/0");
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["vertices", "chunk 1.0.0"],
    );
    // Without verification, the missing chunks count as empty, with a warning.
    let loosely = OpenOptions::new().with_verify(false);
    let store = try_open(&files, loosely).await.unwrap();
    for query in [
        Query::default(),
        Query {
            objects: Some(vec![4, 9]),
            ..Query::default()
        },
    ] {
        let got = ask(&store, query).await.unwrap();
        assert_eq!(got.all.summary.vertices, 8);
        assert!(
            got.all
                .summary
                .warnings
                .iter()
                .any(|warning| warning.contains("vertices")),
            "{:?}",
            got.all.summary
        );
        // No link crosses the gap.
        assert_eq!(got.links().len(), 4);
    }
}

/// A graph of three vertices.
fn graph(rows: &[&[i64]]) -> Made {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]]);
    (made.kind, made.convention) = ("graph", "explicit");
    made.objects = Some(vec![(4, vec![([0, 0, 0], 0)])]);
    let cells = BTreeMap::from([([0, 0, 0], flat(rows))]);
    made.links = Some(Links {
        directed: false,
        store: "canonical",
        width: 2,
        arrays: BTreeMap::from([("0.0.0".into(), cells)]),
    });
    made
}

#[tokio::test]
async fn links_to_rows_that_are_not_there() {
    let store = memory(&graph(&[&[0, 1], &[2, 2], &[0, 1]]).files()).await;
    assert_eq!(
        ask(&store, Query::default()).await.unwrap().links(),
        [[0, 1], [2, 2], [0, 1]]
    );
    let listed = listed_links(&store, 0, 0, false).await;
    assert_eq!(listed.summary.links, 3);
    assert_eq!(
        list_links(&store, 0, 1, false).await.err().unwrap().class(),
        Class::Misuse
    );
    for row in [3, -1, i64::MAX, i64::MIN] {
        let made = graph(&[&[0, 1], &[1, row]]);
        says(
            &first_error(&made).await,
            Class::Malformed,
            &["links/0/0.0.0"],
        );
    }
    let mut files = graph(&[&[0, 1]]).files();
    files.insert("0/links/0/0.0.0/c/0/0/0".into(), vlen(&[vec![0; 17]]));
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["links/0/0.0.0"],
    );
}

#[tokio::test]
async fn draco_is_refused_by_name() {
    let mut files = lines().files();
    let text = String::from_utf8(files["0/vertices/zarr.json"].clone()).unwrap();
    files.insert(
        "0/vertices/zarr.json".into(),
        text.replace("\"raw\"", "\"draco\"").into_bytes(),
    );
    says(
        &first_error_of(&files).await,
        Class::Malformed,
        &["level 0", "vertices", "draco"],
    );
}

#[tokio::test]
async fn codes_without_category_and_values_that_are_addresses() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0]]);
    made.attributes.insert(
        "c".into(),
        json!({"dtype": "int8", "categories": ["x"], "encoding": "dictionary", "_FillValue": -1}),
    );
    made.chunks
        .get_mut(&[0, 0, 0])
        .unwrap()
        .attributes
        .insert("c".into(), vec![1]);
    let store = memory(&made.files()).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    says(
        &error,
        Class::Malformed,
        &["vertex_attributes/c", "chunk 0.0.0", "code 1"],
    );
    for (code, value) in [(0, "x"), (0xFF, "null")] {
        made.chunks
            .get_mut(&[0, 0, 0])
            .unwrap()
            .attributes
            .insert("c".into(), vec![code]);
        let got = ask(&memory(&made.files()).await, Query::default())
            .await
            .unwrap();
        assert_eq!(got.column("c"), [value]);
    }
    made.attributes
        .insert("c".into(), json!({"dtype": "object"}));
    made.chunks
        .get_mut(&[0, 0, 0])
        .unwrap()
        .attributes
        .insert("c".into(), vec![0; 8]);
    let store = memory(&made.files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert!(got.vertices.as_ref().unwrap().column_by_name("c").is_none());
    assert!(got.all.summary.warnings[0].contains("\"c\""));
    let query = Query {
        attributes: zvf_query::Names::List(vec!["c".into()]),
        ..Query::default()
    };
    says(
        &ask(&store, query).await.err().unwrap(),
        Class::Malformed,
        &["vertex_attributes/c", "object"],
    );
}

#[tokio::test]
async fn widths_that_are_only_claimed() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [11.0, 1.0, 1.0]]);
    for width in [1_u64 << 31, 1 << 40, u64::MAX] {
        made.attributes.insert(
            "w".into(),
            json!({"dtype": "float64", "row_shape": [width]}),
        );
        let store = memory(&made.files()).await;
        for query in [
            Query::default(),
            Query {
                limit: Some(1),
                ..Query::default()
            },
        ] {
            let error = ask(&store, query).await.err().unwrap();
            assert_ne!(error.class(), Class::Io, "{error}");
        }
        let query = Query {
            attributes: zvf_query::Names::List(vec!["n".into()]),
            ..Query::default()
        };
        assert!(ask(&store, query).await.is_ok());
    }
}

#[tokio::test]
async fn ranges_of_fragments_that_multiply() {
    // A few hundred bytes that repeatedly name thousands of fragments each.
    let mut made = lines();
    let chunk = made.chunks.get_mut(&[0, 0, 0]).unwrap();
    chunk.fragments.extend(vec![Vec::new(); 200_000]);
    let mut files = made.files();
    let mut blob = 200_u32.to_le_bytes().to_vec();
    for _ in 0..200 {
        blob.extend([0_i64; 3].iter().flat_map(|at| at.to_le_bytes()));
        blob.push(1);
        blob.extend(0_i64.to_le_bytes());
        blob.extend(200_000_i64.to_le_bytes());
    }
    files.insert(
        "0/object_index/manifests/c/0".into(),
        vlen(&[blob, Vec::new()]),
    );
    let store = memory(&files).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    says(
        &error,
        Class::Limit,
        &["object_index/manifests", "object 4"],
    );
}

#[tokio::test]
async fn questions_that_cannot_be() {
    let store = memory(&Made::points(&[[1.0, 1.0, 1.0]]).files()).await;
    for (query, what) in [
        (
            Query {
                bbox: Some(BBox::parse("0,0:1,1").unwrap()),
                ..Query::default()
            },
            "2 axes",
        ),
        (
            Query {
                objects: Some(vec![1]),
                ..Query::default()
            },
            "object index",
        ),
        (
            Query {
                groups: Some(vec![1]),
                ..Query::default()
            },
            "object index",
        ),
        (
            Query {
                select: Select::Objects,
                ..Query::default()
            },
            "object index",
        ),
        (
            Query {
                level: 3,
                ..Query::default()
            },
            "no level 3",
        ),
        (
            Query {
                filter: Some(zvf_query::Filter::parse("q > 1").unwrap()),
                ..Query::default()
            },
            "\"q\"",
        ),
        (
            Query {
                filter: Some(zvf_query::Filter::parse("n == 'x'").unwrap()),
                ..Query::default()
            },
            "int32",
        ),
    ] {
        says(
            &ask(&store, query).await.err().unwrap(),
            Class::Misuse,
            &[what],
        );
    }
}

#[tokio::test]
async fn every_damaged_file_gives_an_answer_or_an_error() {
    let mut made = lines();
    made.links = Some(Links {
        directed: false,
        store: "canonical",
        width: 2,
        arrays: BTreeMap::new(),
    });
    damage(&made.files(), "/c/", 24).await;
}

/// Cuts and changes every file whose key contains `part`, at about `places` places. Each query must return an answer, or an error that reports
/// bad data.
async fn damage(files: &BTreeMap<String, Vec<u8>>, part: &str, places: usize) {
    for key in files.keys().filter(|key| key.contains(part)) {
        let length = files[key].len();
        for at in (0..length).step_by(length / places + 1) {
            for change in 0..3 {
                let mut files = files.clone();
                let bytes = files.get_mut(key).unwrap();
                match change {
                    0 => bytes.truncate(at),
                    1 => bytes[at] ^= 0x81,
                    _ => bytes[at] = bytes[at].wrapping_add(1),
                }
                let store = match try_open(&files, OpenOptions::new()).await {
                    Ok(store) => store,
                    Err(error) => {
                        assert_ne!(error.class(), Class::Io, "{key}, byte {at}: {error}");
                        continue;
                    }
                };
                let boxed = Query {
                    bbox: Some(BBox::parse("1,0,0:12,3,3").unwrap()),
                    ..Query::default()
                };
                let objects = Query {
                    objects: Some(vec![1, 9, 0, 4]),
                    ignore_missing: true,
                    ..Query::default()
                };
                for query in [Query::default(), boxed, objects] {
                    if let Err(error) = ask(&store, query).await {
                        assert_ne!(error.class(), Class::Io, "{key}, byte {at}: {error}");
                    }
                }
            }
        }
    }
}

/// Streamlines with records, and a graph with attributed edges, for the older layouts.
fn older() -> Vec<Legacy> {
    let line = |y: f32| {
        (0..5)
            .map(|at| [at as f32 * 5.0, y, 1.0])
            .collect::<Vec<_>>()
    };
    let lines = Made::streamlines(&[(0, line(1.0)), (1, line(2.0))]);
    let crossing = vec![([0, 0, 0], 0), ([1, 0, 0], 0)];
    let mut split = Legacy::v7(lines).with_links(&[crossing.clone(), crossing]);
    split.split = true;
    let nodes = [
        [1.0, 1.0, 1.0],
        [2.0, 1.0, 1.0],
        [11.0, 1.0, 1.0],
        [12.0, 1.0, 1.0],
    ];
    let mut graph = Made::points_with_ids(&nodes, &[0, 0, 1, 1]);
    (graph.kind, graph.convention) = ("graph", "explicit");
    let (a, b) = ([0, 0, 0], [1, 0, 0]);
    let records = [
        vec![(a, 0), (a, 1)],
        vec![(a, 1), (b, 0)],
        vec![(b, 1), (b, 0)],
        vec![(b, 1), (a, 0)],
    ];
    let weights = Some(vec![0.5, 1.5, 2.5, 3.5]);
    let mut old = Legacy::v7(graph.clone()).with_links(&records);
    old.weights.clone_from(&weights);
    let mut cells = Legacy::v8(graph.clone()).with_links(&records);
    cells.weights.clone_from(&weights);
    let mut copies = cells.clone();
    copies.crossing = Crossing::Cells {
        directed: true,
        duplicate: true,
    };
    vec![split, old, cells, copies]
}

#[tokio::test]
async fn every_damaged_blob_of_an_older_store_gives_an_answer_or_an_error() {
    for legacy in older() {
        damage(&legacy.files(), "/c/", 12).await;
    }
}

#[tokio::test]
async fn every_damaged_document_of_an_older_store_gives_an_answer_or_an_error() {
    for legacy in older() {
        damage(&legacy.files(), "zarr.json", 6).await;
    }
}

#[tokio::test]
async fn an_older_store_without_one_of_its_files_gives_an_answer_or_an_error() {
    for legacy in older() {
        let files = legacy.files();
        for key in files.keys() {
            let mut files = files.clone();
            files.remove(key);
            let Ok(store) = try_open(&files, OpenOptions::new()).await else {
                continue;
            };
            for query in [
                Query::default(),
                Query {
                    objects: Some(vec![1, 0]),
                    ignore_missing: true,
                    ..Query::default()
                },
            ] {
                if let Err(error) = ask(&store, query).await {
                    // The error names an object that is required and missing.
                    let named = error.to_string().contains("no object");
                    assert!(
                        error.class() != Class::Io || named,
                        "without {key}: {error}"
                    );
                }
            }
        }
    }
}

/// A child whose name is almost a key is not a chunk. The message lists such children, since no other list of a group shows them.
#[tokio::test]
async fn children_that_are_no_chunks_are_an_error_or_a_warning() {
    let legacy = Legacy::v7(Made::points(&[[1.0, 1.0, 1.0], [12.0, 1.0, 1.0]]));
    let mut files = legacy.files();
    legacy.blob(&mut files, "0/vertices", "01.0.0", vec![0; 12]);
    let store = memory(&files).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    says(&error, Class::Malformed, &["names of children", "01.0.0"]);
    let boxed = Query {
        bbox: Some(BBox::parse("0,0,0:5,5,5").unwrap()),
        ..Query::default()
    };
    let got = ask(&store, boxed).await.unwrap();
    assert_eq!(got.column("position"), ["1.0 1.0 1.0"]);
    let warnings = got.all.summary.warnings.join("\n");
    assert!(warnings.contains("names of children"), "{warnings}");
    assert!(warnings.contains("01.0.0"), "{warnings}");
    assert!(!warnings.contains("nonempty_chunks"), "{warnings}");
}
