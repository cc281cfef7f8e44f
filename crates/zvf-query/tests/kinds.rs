//! Features that the bundled stores lack: attribute-chunked levels, offsets, odd types, families that store
//! every copy, and slow or limited backends.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use zvf_query::{BBox, Class, Column, Filter, Names, Query, Select, Table, query};
use zvf_store::{OpenOptions, Store};

use crate::make::{Chunk, Links, Made, flat, ragged};
use crate::support::{ask, bundled, column, listed_links, listed_objects, memory, open, sorted};

fn boxed(text: &str) -> Query {
    Query {
        bbox: Some(BBox::parse(text).unwrap()),
        ..Query::default()
    }
}

fn filtered(text: &str) -> Query {
    Query {
        filter: Some(Filter::parse(text).unwrap()),
        ..Query::default()
    }
}

/// Two axes; keys begin with the bin of attribute `gene`.
fn by_gene(values: serde_json::Value) -> Made {
    let mut made = Made::new("point_cloud");
    made.dims = 2;
    made.level = json!({"chunk_dims": ["gene", "x", "y"], "chunk_attribute_name": "gene", "chunk_attribute_values": values});
    for (bin, x, y) in [
        (0, 1.0, 1.0),
        (0, 11.0, 1.0),
        (1, 2.0, 1.0),
        (2, -3.0, 25.0),
        (1, 12.0, 1.0),
    ] {
        let key = [
            bin,
            (x / 10.0_f32).floor() as i64,
            (y / 10.0_f32).floor() as i64,
        ];
        let chunk = made.chunks.entry(key).or_default();
        chunk.rows.push([x, y, 0.0]);
        chunk.fragments = vec![(0..chunk.rows.len() as i64).collect()];
    }
    let manifests = made.chunks.keys().map(|key| vec![(*key, 0)]);
    made.objects = Some((0..).zip(manifests).collect());
    made
}

#[tokio::test]
async fn levels_chunked_by_an_attribute() {
    let store = memory(&by_gene(json!(["g1", "g2", "g3"])).files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("gene"), ["g1", "g1", "g2", "g2", "g3"]);
    assert_eq!(
        got.column("position"),
        ["1.0 1.0", "11.0 1.0", "2.0 1.0", "12.0 1.0", "-3.0 25.0"]
    );
    let got = ask(&store, boxed("0,0:5,5")).await.unwrap();
    assert_eq!(got.column("gene"), ["g1", "g2"]);
    let got = ask(&store, filtered("gene == 'g2' or gene == 'g3'"))
        .await
        .unwrap();
    assert_eq!(got.column("position"), ["2.0 1.0", "12.0 1.0", "-3.0 25.0"]);
    assert_eq!(got.all.summary.chunks_read, 3, "other chunks are not read");
    assert_eq!(
        column(got.objects.as_ref().unwrap(), "object_id"),
        ["2", "3", "4"]
    );
    let got = ask(
        &store,
        Query {
            attributes: Names::None,
            ..filtered("gene > 'g2'")
        },
    )
    .await
    .unwrap();
    assert_eq!(got.rows(), ["position=-3.0 25.0"]);
    let got = ask(
        &store,
        Query {
            objects: Some(vec![4, 0]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("gene"), ["g3", "g1"]);
    let columns = vec![Column::Chunk, Column::Attribute("gene".into())];
    let got = ask(
        &store,
        Query {
            columns,
            ..boxed("-5,20:0,30")
        },
    )
    .await
    .unwrap();
    assert_eq!(got.rows(), ["chunk=2 -1 2; gene=g3"]);
    let numbers = memory(&by_gene(json!([10, 20, 30])).files()).await;
    let got = ask(&numbers, filtered("gene >= 20")).await.unwrap();
    assert_eq!(got.column("gene"), ["20", "20", "30"]);
    // A bin without value.
    let short = memory(&by_gene(json!(["g1", "g2"])).files()).await;
    let error = ask(&short, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed, "{error}");
}

#[tokio::test]
async fn an_offset_moves_positions_and_boxes() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [11.0, 1.0, 1.0], [-5.0, 1.0, 1.0]]);
    made.root = json!({"coordinate_offset": [1000.0, 0.0, -0.5]});
    let store = memory(&made.files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["995.0 1.0 0.5", "1001.0 1.0 0.5", "1011.0 1.0 0.5"]
    );
    let got = ask(&store, boxed("1001,0,0.5:1010,1,0.5")).await.unwrap();
    assert_eq!(got.column("position"), ["1001.0 1.0 0.5"]);
    assert!(
        ask(&store, boxed("0,0,0:20,20,20"))
            .await
            .unwrap()
            .column("position")
            .is_empty()
    );
}

#[tokio::test]
async fn attributes_of_odd_types() {
    let mut made = Made::points(&[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]);
    let chunk = made.chunks.get_mut(&[0, 0, 0]).unwrap();
    let mut add = |name: &str, document: serde_json::Value, bytes: Vec<u8>| {
        made.attributes.insert(name.into(), document);
        chunk.attributes.insert(name.into(), bytes);
    };
    add("flag", json!({"dtype": "bool"}), vec![0, 1]);
    add(
        "big",
        json!({"dtype": ">i4"}),
        vec![0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff],
    );
    let complex = [1.0_f32, -2.0, 3.0, 4.5]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    add("wave", json!({"dtype": "complex64"}), complex);
    let letters = ['a', 'b', 'c', '\0']
        .iter()
        .flat_map(|c| u32::from(*c).to_le_bytes())
        .collect();
    add("word", json!({"dtype": "<U2"}), letters);
    let label = json!({"dtype": "uint8", "encoding": "dictionary", "categories": ["no", "yes"], "unit": "opinion"});
    add("label", label, vec![1, 0]);
    let store = memory(&made.files()).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("flag"), ["0", "1"]);
    assert_eq!(got.column("big"), ["256", "-1"]);
    assert_eq!(got.column("wave"), ["1.0 -2.0", "3.0 4.5"]);
    assert_eq!(got.column("word"), ["ab", "c"]);
    assert_eq!(got.column("label"), ["yes", "no"]);
    let schema = got.vertices.as_ref().unwrap().schema();
    assert_eq!(
        schema.field_with_name("label").unwrap().metadata()["zvf.unit"],
        "opinion"
    );
    assert_eq!(schema.metadata()["zvf.kind"], "point_cloud");
    for (text, numbers) in [
        ("label == 'yes'", vec!["0"]),
        ("flag == true and word < 'd'", vec!["1"]),
        ("big in (256, 7)", vec!["0"]),
        ("word == 'ab' or n == 1", vec!["0", "1"]),
        ("not (n == 0)", vec!["1"]),
        ("n is null", vec![]),
    ] {
        assert_eq!(
            ask(&store, filtered(text)).await.unwrap().column("n"),
            numbers,
            "{text}"
        );
    }
    assert_eq!(
        ask(&store, filtered("wave > 1"))
            .await
            .err()
            .unwrap()
            .class(),
        Class::Misuse
    );
}

/// Triangles over three chunks. Each face is stored once with rotated corners, or once in every chunk that it touches.
fn triangles(store: &'static str) -> Made {
    let mut made = Made::new("mesh");
    let (a, b, c) = ([0, 0, 0], [1, 0, 0], [0, 1, 0]);
    for (chunk, x, y) in [(a, 1.0, 1.0), (b, 11.0, 1.0), (c, 1.0, 11.0)] {
        let rows = vec![[x, y, 1.0], [x + 1.0, y, 1.0]];
        made.chunks.insert(
            chunk,
            Chunk {
                rows,
                fragments: vec![vec![0, 1]],
                ..Chunk::default()
            },
        );
    }
    made.objects = Some(vec![(0, vec![(a, 0), (c, 0), (b, 0)])]);
    // The face (b0, a1, c0): lex order of chunks is a, c, b.
    let mut arrays = BTreeMap::from([(
        "0.0.0_0.0.0".to_owned(),
        BTreeMap::from([(a, flat(&[&[0, 1, 0]]))]),
    )]);
    if store == "canonical" {
        // Placed (a1, c0, b0): original[1] = a1, original[2] = c0, original[0] = b0; s = [1, 2, 0], code 3.
        arrays.insert(
            "0.+1.0_+1.0.0".into(),
            BTreeMap::from([(a, ragged(&[&[3, 1, 0, 0]]))]),
        );
    } else {
        // Lead a: s = [1, 0, 2], code 2: (a1, b0, c0). Lead b: s = [0, 1, 2], code 0. Lead c: s = [2, 0, 1], code 4.
        arrays.insert(
            "+1.0.0_0.+1.0".into(),
            BTreeMap::from([(a, ragged(&[&[2, 1, 0, 0]]))]),
        );
        arrays.insert(
            "-1.0.0_-1.+1.0".into(),
            BTreeMap::from([(b, ragged(&[&[0, 0, 1, 0]]))]),
        );
        arrays.insert(
            "+1.-1.0_0.-1.0".into(),
            BTreeMap::from([(c, ragged(&[&[4, 0, 0, 1]]))]),
        );
    }
    made.links = Some(Links {
        directed: false,
        store,
        width: 3,
        arrays,
    });
    made
}

#[tokio::test]
async fn faces_keep_their_winding_and_come_once() {
    for policy in ["canonical", "duplicate"] {
        let store = memory(&triangles(policy).files()).await;
        for query in [
            Query::default(),
            Query {
                objects: Some(vec![0]),
                ..Query::default()
            },
        ] {
            let got = ask(&store, query).await.unwrap();
            let positions = got.column("position");
            let faces: Vec<Vec<&str>> = got
                .links()
                .iter()
                .map(|ends| ends.iter().map(|end| positions[*end].as_str()).collect())
                .collect();
            let face = vec!["11.0 1.0 1.0", "2.0 1.0 1.0", "1.0 11.0 1.0"];
            let inner = vec!["1.0 1.0 1.0", "2.0 1.0 1.0", "1.0 1.0 1.0"];
            assert_eq!(sorted(faces), sorted(vec![face, inner]), "{policy}");
        }
        let listed = listed_links(&store, 0, 0, false).await;
        let batch = listed.table(Table::Links).unwrap().unwrap();
        assert_eq!(
            sorted(column(&batch, "rows")),
            ["0 1 0", "0 1 0"],
            "{policy}"
        );
        assert!(
            column(&batch, "chunks").contains(&"1 0 0 0 0 0 0 1 0".to_owned()),
            "{policy}"
        );
        assert!(
            ask(&store, boxed("0,0,0:9,20,9"))
                .await
                .unwrap()
                .links()
                .len()
                == 1,
            "{policy}"
        );
    }
}

#[tokio::test]
async fn a_vertex_of_two_objects_comes_once_in_a_box_and_once_for_each_by_id() {
    let mut made = Made::new("graph");
    let chunk = [0, 0, 0];
    let rows = (0..4).map(|x| [x as f32, 1.0, 1.0]).collect();
    made.chunks.insert(
        chunk,
        Chunk {
            rows,
            fragments: vec![vec![0, 1], vec![1, 2], vec![3]],
            ..Chunk::default()
        },
    );
    made.objects = Some(vec![
        (5, vec![(chunk, 0)]),
        (3, vec![(chunk, 1), (chunk, 2)]),
    ]);
    let cells = BTreeMap::from([(chunk, flat(&[&[0, 1], &[1, 2], &[3, 0], &[2, 2]]))]);
    let arrays = BTreeMap::from([("0.0.0".into(), cells)]);
    made.links = Some(Links {
        directed: false,
        store: "canonical",
        width: 2,
        arrays,
    });
    let store = memory(&made.files()).await;
    let columns = vec![
        Column::Row,
        Column::ObjectId,
        Column::ObjectIds,
        Column::Fragment,
    ];
    let got = ask(
        &store,
        Query {
            columns: columns.clone(),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("object_id"), ["5", "5", "3", "3"]);
    assert_eq!(got.column("object_ids"), ["5", "5 3", "3", "3"]);
    assert_eq!(got.column("fragment"), ["0", "0", "1", "2"]);
    assert_eq!(got.links(), [[0, 1], [1, 2], [3, 0], [2, 2]]);
    assert_eq!(
        column(got.objects.as_ref().unwrap(), "vertices"),
        ["2", "3"]
    );
    let got = ask(
        &store,
        Query {
            columns,
            objects: Some(vec![5, 3, 5]),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("row"), ["0", "1", "1", "2", "3", "0", "1"]);
    assert_eq!(
        got.column("object_ids"),
        ["5", "5 3", "5 3", "3", "3", "5", "5 3"]
    );
    // (0,1) in both copies of 5, (1,2) in 3, (3,0) across objects, (2,2) in 3.
    assert_eq!(
        got.links(),
        [vec![0, 1], vec![5, 6], vec![2, 3], vec![4, 0], vec![3, 3]]
    );
    assert_eq!(
        column(got.objects.as_ref().unwrap(), "start"),
        ["0", "2", "5"]
    );
    let listed = listed_objects(&store, 0, false).await;
    let batch = listed.table(Table::Objects).unwrap().unwrap();
    assert_eq!(column(&batch, "object_id"), ["5", "3"]);
    assert_eq!(
        (column(&batch, "vertices"), column(&batch, "fragments")),
        (vec!["2".into(), "3".into()], vec!["1".into(), "2".into()])
    );
}

#[tokio::test]
async fn lines_without_an_object_index_are_linked_inside_fragments() {
    let line = (0..6)
        .map(|at| [at as f32 * 4.0, 1.0, 1.0])
        .collect::<Vec<_>>();
    let mut made = Made::streamlines(&[(0, line)]);
    made.objects = None;
    let got = ask(&memory(&made.files()).await, Query::default())
        .await
        .unwrap();
    assert!(got.objects.is_none());
    assert_eq!(got.links(), [[0, 1], [1, 2], [3, 4]]);
    let cells = BTreeMap::from([([0, 0, 0], ragged(&[&[0, 2, 0]]))]);
    let arrays = BTreeMap::from([("+1.0.0".into(), cells)]);
    made.links = Some(Links {
        directed: false,
        store: "canonical",
        width: 2,
        arrays,
    });
    let got = ask(&memory(&made.files()).await, Query::default())
        .await
        .unwrap();
    assert_eq!(got.links(), [[0, 1], [1, 2], [2, 3], [3, 4]]);
}

#[tokio::test]
async fn dropped_objects_of_a_coarse_level_are_empty() {
    let store = bundled("points_ids").await;
    for level in store.levels().to_vec() {
        let ids = zvf_testkit::case("points_ids")
            .unwrap()
            .objects
            .keys()
            .copied()
            .collect();
        let got = ask(
            &store,
            Query {
                level,
                objects: Some(ids),
                ..Query::default()
            },
        )
        .await
        .unwrap();
        let batch = got.objects.as_ref().unwrap();
        for (length, score) in column(batch, "length").iter().zip(column(batch, "score")) {
            assert_eq!(length == "0", score == "null", "level {level}");
        }
    }
}

#[tokio::test]
async fn chunks_are_selected_whole() {
    let made = Made::points(&[
        [1.0, 1.0, 1.0],
        [9.0, 1.0, 1.0],
        [11.0, 1.0, 1.0],
        [31.0, 1.0, 1.0],
    ]);
    let store = memory(&made.files()).await;
    let got = ask(
        &store,
        Query {
            select: Select::Chunks,
            ..boxed("0,0,0:2,2,2")
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("n"), ["0", "1"]);
    let got = ask(
        &store,
        Query {
            select: Select::Chunks,
            ..filtered("n == 1 or n == 3")
        },
    )
    .await
    .unwrap();
    assert_eq!(got.column("n"), ["0", "1", "3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_at_a_time_is_enough() {
    for case in ["graph", "points_ids"] {
        let folder = zvf_testkit::unpacked(case).unwrap();
        let narrow = OpenOptions::new().with_concurrency(1);
        let disk = Store::open_with(&folder.url().unwrap(), narrow.clone())
            .await
            .unwrap();
        let memory = open(&zvf_testkit::files(case).unwrap(), narrow).await;
        for store in [disk, memory] {
            let bbox = Some(BBox::parse("-inf,-inf,-inf:200,200,200").unwrap());
            for asked in [
                Query {
                    batch_rows: 100,
                    ..Query::default()
                },
                Query {
                    bbox: bbox.clone(),
                    select: Select::Objects,
                    ..Query::default()
                },
                Query {
                    objects: Some((0..50).collect()),
                    ignore_missing: true,
                    ..Query::default()
                },
            ] {
                // Two answers of one store, read alternately.
                let both = async {
                    let mut first = query(&store, asked.clone()).await.unwrap();
                    let mut second = query(&store, asked).await.unwrap();
                    loop {
                        let (a, b) = (first.next().await.unwrap(), second.next().await.unwrap());
                        assert_eq!(a, b, "{case}");
                        if a.is_none() {
                            break;
                        }
                    }
                    assert_eq!(first.summary(), second.summary());
                };
                tokio::time::timeout(Duration::from_secs(60), both)
                    .await
                    .expect(case);
            }
        }
    }
}
