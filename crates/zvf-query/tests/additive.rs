//! Additive levels: the answer of a level is its own data and the data of the levels that complete it, finest first. Expected
//! results come from the input of each level.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_query::{
    BBox, Class, Column, Filter, Names, Outputs, Query, Select, Table, list_links, list_objects,
};

use crate::make::{Line, Made, place};
use crate::support::{Got, ask, column, float, listed_links, listed_objects, memory, sorted};

type Files = BTreeMap<String, Vec<u8>>;

/// A store of several levels. All but the last are additive, unless a level's own block states another refinement.
pub(crate) fn stack(levels: &[Made]) -> Files {
    let mut files = Files::new();
    for (number, made) in levels.iter().enumerate() {
        for (key, bytes) in made.files() {
            match key.strip_prefix("0/") {
                Some("zarr.json") => {
                    let mut document: Value = serde_json::from_slice(&bytes).unwrap();
                    let block = &mut document["attributes"]["zarr_vectors_level"];
                    block["level"] = json!(number);
                    if number > 0 {
                        block["parent_level"] = json!(number - 1);
                    }
                    if number + 1 < levels.len() && block["refinement"].is_null() {
                        block["refinement"] = json!("add");
                    }
                    files.insert(format!("{number}/zarr.json"), document.to_string().into());
                }
                Some(rest) => {
                    files.insert(format!("{number}/{rest}"), bytes);
                }
                None if number == 0 => {
                    files.insert(key, bytes);
                }
                None => {}
            }
        }
    }
    let mut root: Value = serde_json::from_slice(&files["zarr.json"]).unwrap();
    let block = &mut root["attributes"]["zarr_vectors"];
    block["format_capabilities"] = json!(["additive_levels"]);
    block["required_capabilities"] = json!(["additive_levels"]);
    files.insert("zarr.json".into(), root.to_string().into());
    files
}

/// A level whose chunks are `size` wide.
fn wide(mut made: Made, size: f64) -> Made {
    made.level = json!({"chunk_shape": [size, size, size]});
    made
}

pub(crate) fn text(position: &[f32; 3]) -> String {
    position.map(|p| float(f64::from(p))).join(" ")
}

fn texts(positions: &[[f32; 3]]) -> Vec<String> {
    positions.iter().map(text).collect()
}

fn own(query: Query) -> Query {
    Query {
        own_level_only: true,
        ..query
    }
}

/// Three levels of points; attribute `n` counts in each.
fn three() -> [Vec<[f32; 3]>; 3] {
    [
        vec![[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [12.0, 1.0, 1.0]],
        vec![[3.0, 1.0, 1.0], [25.0, 1.0, 1.0]],
        vec![[4.0, 1.0, 1.0], [45.0, 1.0, 1.0]],
    ]
}

fn three_levels() -> Vec<Made> {
    let [a, b, c] = three();
    vec![
        Made::points(&a),
        wide(Made::placed(&b, 20.0), 20.0),
        wide(Made::placed(&c, 40.0), 40.0),
    ]
}

#[tokio::test]
async fn points_of_all_levels_come_finest_first() {
    let store = memory(&stack(&three_levels())).await;
    let [a, b, c] = three().map(|level| texts(&level));
    let all = [a.clone(), b.clone(), c.clone()].concat();
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("position"), all);
    assert_eq!(got.column("n"), ["0", "1", "2", "0", "1", "0", "1"]);
    assert_eq!(got.all.summary.levels, [0, 1, 2]);
    assert!(got.all.summary.warnings.is_empty(), "{:?}", got.all.summary);
    let coarser = Query {
        level: 1,
        ..Query::default()
    };
    let got = ask(&store, coarser.clone()).await.unwrap();
    assert_eq!(got.column("position"), [b.clone(), c].concat());
    assert_eq!(got.all.summary.levels, [1, 2]);
    for (level, expected) in [(0, &a), (1, &b)] {
        let query = Query {
            level,
            ..own(Query::default())
        };
        let got = ask(&store, query).await.unwrap();
        assert_eq!(got.column("position"), *expected);
        assert_eq!(got.all.summary.levels, [level]);
    }
    let boxed = Query {
        bbox: Some(BBox::parse("2,0,0:25,1,1").unwrap()),
        ..Query::default()
    };
    let got = ask(&store, boxed.clone()).await.unwrap();
    let inside = [
        "2.0 1.0 1.0",
        "12.0 1.0 1.0",
        "3.0 1.0 1.0",
        "25.0 1.0 1.0",
        "4.0 1.0 1.0",
    ];
    assert_eq!(got.column("position"), inside);
    let filtered = Query {
        filter: Some(Filter::parse("n == 1").unwrap()),
        ..boxed
    };
    let got = ask(&store, filtered).await.unwrap();
    assert_eq!(got.column("position"), ["2.0 1.0 1.0", "25.0 1.0 1.0"]);
}

#[tokio::test]
async fn a_limit_counts_over_the_chain() {
    let store = memory(&stack(&three_levels())).await;
    let all = three().concat().iter().map(text).collect::<Vec<_>>();
    for limit in 0..10_usize {
        for vertices in [true, false] {
            let outputs = Outputs {
                vertices,
                ..Outputs::default()
            };
            let query = Query {
                limit: Some(limit as u64),
                outputs,
                batch_rows: 2,
                ..Query::default()
            };
            let got = ask(&store, query).await.unwrap();
            assert_eq!(got.all.summary.vertices as usize, limit.min(all.len()));
            assert_eq!(got.all.summary.truncated, limit < all.len(), "{limit}");
            if vertices {
                assert_eq!(got.column("position"), all[..limit.min(all.len())]);
            }
        }
    }
}

#[tokio::test]
async fn whole_chunks_are_those_that_overlap() {
    let fine = vec![[1.0, 1.0, 1.0], [35.0, 1.0, 1.0]];
    // Chunks are 30 wide on level 1, and 10 on level 2.
    let middle = vec![[29.0, 1.0, 1.0], [31.0, 1.0, 1.0]];
    let last = vec![[8.0, 1.0, 1.0], [15.0, 1.0, 1.0]];
    let levels = [
        wide(Made::placed(&fine, 20.0), 20.0),
        wide(Made::placed(&middle, 30.0), 30.0),
        Made::points(&last),
    ];
    let store = memory(&stack(&levels)).await;
    let query = Query {
        bbox: Some(BBox::parse("0,0,0:2,2,2").unwrap()),
        select: Select::Chunks,
        ..Query::default()
    };
    // The box meets chunk 0 to 20 of level 0. Chunk 0 to 30 of level 1 and chunks 0 and 1 of level 2 overlap this chunk.
    let got = ask(&store, query.clone()).await.unwrap();
    assert_eq!(
        got.column("position"),
        ["1.0 1.0 1.0", "29.0 1.0 1.0", "8.0 1.0 1.0", "15.0 1.0 1.0"]
    );
    let alone = Query { level: 2, ..query };
    assert_eq!(
        ask(&store, alone).await.unwrap().column("position"),
        ["8.0 1.0 1.0"]
    );
}

#[tokio::test]
async fn an_additive_level_without_next_level_is_malformed() {
    let [a, ..] = three();
    let mut only = Made::points(&a);
    only.level = json!({"refinement": "add"});
    let store = memory(&stack(std::slice::from_ref(&only))).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed);
    assert_eq!(
        error.to_string(),
        "level 0: refinement is \"add\", and there is no level 1 to complete it"
    );
    assert!(list_objects(&store, 0, false).await.is_err());
    assert!(list_links(&store, 0, 0, false).await.is_err());
    let got = ask(&store, own(Query::default())).await.unwrap();
    assert_eq!(got.column("position"), texts(&a));
    // A chain ends at the first level with the refinement `replace`; further levels are not read.
    let mut levels = three_levels();
    levels[1].level["refinement"] = json!("replace");
    let store = memory(&stack(&levels)).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.all.summary.levels, [0, 1]);
    assert_eq!(got.all.summary.vertices, 5);
    // Any other word is malformed.
    levels[1].level["refinement"] = json!("multiply");
    let store = memory(&stack(&levels)).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed);
    assert!(error.to_string().contains("refinement"), "{error}");
}

#[tokio::test]
async fn an_attribute_that_one_level_lacks_is_null_there() {
    let mut levels = three_levels();
    levels[1].attributes.clear();
    let triple = |chunk: &mut crate::make::Chunk| {
        let values = (0..chunk.rows.len() * 3).flat_map(|at| (at as f32).to_le_bytes());
        chunk.attributes.insert("v".into(), values.collect());
    };
    levels[2]
        .attributes
        .insert("v".into(), json!({"dtype": "float32"}));
    levels[2].chunks.values_mut().for_each(triple);
    let store = memory(&stack(&levels)).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("n"), ["0", "1", "2", "null", "null", "0", "1"]);
    let null = "null";
    assert_eq!(
        got.column("v"),
        [null, null, null, null, null, "0.0 1.0 2.0", "0.0 1.0 2.0"]
    );
    let warned = |name: &str, level: u32| {
        let start = format!("level {level}, attribute {name}: ");
        got.all
            .summary
            .warnings
            .iter()
            .any(|warning| warning.starts_with(&start))
    };
    assert!(warned("n", 1) && warned("v", 0) && warned("v", 1) && !warned("n", 0));
    for (filter, expected) in [
        ("n is null", vec!["null", "null"]),
        ("n == 1", vec!["1", "1"]),
        ("n is null or n == 0", vec!["0", "null", "null", "0"]),
    ] {
        let query = Query {
            filter: Some(Filter::parse(filter).unwrap()),
            columns: vec![Column::Attribute("n".into()), Column::Position],
            ..Query::default()
        };
        let got = ask(&store, query).await.unwrap();
        assert_eq!(got.column("n"), expected, "{filter}");
        let schema = got.vertices.unwrap().schema();
        assert_eq!(schema.field(0).name(), "n");
    }
    // A name of an attribute that only a coarser level has is known; a name that no level has is an error.
    let named = |name: &str| Query {
        attributes: Names::List(vec![name.into()]),
        ..Query::default()
    };
    assert_eq!(ask(&store, named("v")).await.unwrap().column("v").len(), 7);
    for query in [named("w"), own(named("v"))] {
        assert_eq!(
            ask(&store, query).await.err().unwrap().class(),
            Class::Misuse
        );
    }
}

#[tokio::test]
async fn values_of_two_types_come_in_one_that_holds_both() {
    let mut levels = three_levels();
    levels.truncate(2);
    let words = |categories: Value| json!({"dtype": "int8", "encoding": "dictionary", "categories": categories, "_FillValue": -1});
    for (level, categories) in [(0, json!(["a", "b"])), (1, json!(["b", "c", "d"]))] {
        levels[level]
            .attributes
            .insert("word".into(), words(categories));
        levels[level]
            .attributes
            .insert("same".into(), words(json!(["x", "y"])));
        let dtype = ["float32", "float64"][level];
        levels[level]
            .attributes
            .insert("size".into(), json!({"dtype": dtype}));
        for chunk in levels[level].chunks.values_mut() {
            let rows = chunk.rows.len();
            chunk
                .attributes
                .insert("word".into(), (0..rows).map(|row| row as u8).collect());
            chunk.attributes.insert("same".into(), vec![0xFF; rows]);
            let size = if level == 0 {
                0.1_f32.to_le_bytes().to_vec()
            } else {
                0.1_f64.to_le_bytes().to_vec()
            };
            chunk.attributes.insert("size".into(), size.repeat(rows));
        }
    }
    let store = memory(&stack(&levels)).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.column("word"), ["a", "b", "a", "b", "b"]);
    assert_eq!(got.column("same"), ["null"; 5]);
    let single = float(f64::from(0.1_f32));
    assert_eq!(
        got.column("size"),
        [&single, &single, &single, "0.1", "0.1"]
    );
    let schema = got.vertices.as_ref().unwrap().schema();
    let kind = |name: &str| {
        schema
            .field_with_name(name)
            .unwrap()
            .data_type()
            .to_string()
    };
    assert_eq!(
        (kind("word").as_str(), kind("size").as_str()),
        ("Utf8", "Float64")
    );
    assert!(kind("same").starts_with("Dictionary"));
    // Numbers and texts have no common type; each level alone can be read.
    levels[1]
        .attributes
        .insert("word".into(), json!({"dtype": "int8"}));
    let store = memory(&stack(&levels)).await;
    let error = ask(&store, Query::default()).await.err().unwrap();
    assert_eq!(error.class(), Class::Malformed);
    assert!(
        error
            .to_string()
            .starts_with("level 1, array vertices: column \"word\""),
        "{error}"
    );
    assert!(ask(&store, own(Query::default())).await.is_ok());
}

/// Lines with ids 0, 1, … whose vertices differ in their second coordinate.
pub(crate) fn lines(levels: &[Vec<Line>], sizes: &[f64]) -> Vec<Made> {
    levels
        .iter()
        .zip(sizes)
        .map(|(lines, size)| {
            if *size == 10.0 {
                Made::streamlines(lines)
            } else {
                // Chunks of the builder are 10 wide: positions are scaled down to be placed, then scaled back.
                let factor = (*size / 10.0) as f32;
                let small: Vec<Line> = lines
                    .iter()
                    .map(|(id, line)| (*id, line.iter().map(|p| p.map(|at| at / factor)).collect()))
                    .collect();
                let mut made = Made::streamlines(&small);
                for chunk in made.chunks.values_mut() {
                    for row in &mut chunk.rows {
                        *row = row.map(|at| at * factor);
                    }
                }
                wide(made, *size)
            }
        })
        .collect()
}

fn line(from: f32, y: f32, count: usize) -> Vec<[f32; 3]> {
    (0..count)
        .map(|at| [from + 4.0 * at as f32, y + 0.5 * at as f32, 1.0])
        .collect()
}

#[tokio::test]
async fn objects_come_from_the_level_they_live_on() {
    let (a, b, c, d) = (
        line(1.0, 1.0, 6),
        line(2.0, 8.0, 4),
        line(3.0, 20.0, 5),
        line(30.0, 8.0, 3),
    );
    let levels = [
        vec![(7, a.clone()), (5, vec![])],
        // Object 5 has vertices on two levels.
        vec![(5, b.clone()), (9, c.clone())],
        vec![(5, d.clone())],
    ];
    let store = memory(&stack(&lines(&levels, &[10.0, 20.0, 40.0]))).await;
    let query = Query {
        objects: Some(vec![9, 5, 7, 9]),
        columns: vec![Column::ObjectId, Column::Position],
        ..Query::default()
    };
    let five = [b.clone(), d.clone()].concat();
    let all = [c.clone(), five.clone(), a.clone(), c.clone()].concat();
    for batch_rows in [1, 3, 1000] {
        let got = ask(
            &store,
            Query {
                batch_rows,
                ..query.clone()
            },
        )
        .await
        .unwrap();
        assert_eq!(got.column("position"), texts(&all));
        let ids = [vec!["9"; 5], vec!["5"; 7], vec!["7"; 6], vec!["9"; 5]].concat();
        assert_eq!(got.column("object_id"), ids);
        let objects = got.objects.as_ref().unwrap();
        assert_eq!(column(objects, "object_id"), ["9", "5", "7", "9"]);
        assert_eq!(column(objects, "start"), ["0", "5", "12", "18"]);
        assert_eq!(column(objects, "length"), ["5", "7", "6", "5"]);
        // No link joins rows of two levels.
        let joined = |at: usize| ![4, 8, 11, 17].contains(&at);
        let links: Vec<Vec<usize>> = (0..22)
            .filter(|at| joined(*at))
            .map(|at| vec![at, at + 1])
            .collect();
        assert_eq!(sorted(got.links()), links);
        assert!(
            got.all
                .vertices
                .iter()
                .all(|batch| batch.num_rows() <= batch_rows)
        );
    }
    let unknown = Query {
        objects: Some(vec![7, 8]),
        ..Query::default()
    };
    assert_eq!(
        ask(&store, unknown.clone()).await.err().unwrap().class(),
        Class::Misuse
    );
    let skipped = Query {
        ignore_missing: true,
        ..unknown
    };
    assert_eq!(
        ask(&store, skipped).await.unwrap().column("position"),
        texts(&a)
    );
    let alone = own(Query {
        objects: Some(vec![9]),
        ..Query::default()
    });
    assert_eq!(
        ask(&store, alone).await.err().unwrap().class(),
        Class::Misuse
    );
    // A box that meets an object on one level selects the whole object, with its rows of all levels.
    let boxed = Query {
        bbox: Some(BBox::parse("29,7,0:31,9,2").unwrap()),
        select: Select::Objects,
        ..Query::default()
    };
    let got = ask(&store, boxed).await.unwrap();
    assert_eq!(got.column("position"), texts(&five));
    assert_eq!(column(got.objects.as_ref().unwrap(), "object_id"), ["5"]);
    // In chunk order, the rows of an object on all levels are counted together.
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(got.all.summary.vertices, 18);
    let objects = got.objects.as_ref().unwrap();
    let counts: Vec<_> = column(objects, "object_id")
        .into_iter()
        .zip(column(objects, "vertices"))
        .collect();
    let expected =
        [("7", "6"), ("5", "7"), ("9", "5")].map(|(id, n)| (id.to_owned(), n.to_owned()));
    assert_eq!(counts, expected);
    let listed = listed_objects(&store, 0, false).await;
    assert_eq!(listed.summary.levels, [0, 1, 2]);
    let listed = listed.table(Table::Objects).unwrap().unwrap();
    assert_eq!(column(&listed, "object_id"), ["7", "5", "9"]);
    assert_eq!(column(&listed, "vertices"), ["6", "7", "5"]);
    let alone = listed_objects(&store, 0, true).await;
    let alone = alone.table(Table::Objects).unwrap().unwrap();
    assert_eq!(column(&alone, "object_id"), ["7", "5"]);
    assert_eq!(column(&alone, "vertices"), ["6", "0"]);
}

/// A plain array with one float for each object; NaN marks a missing value.
fn object_attribute(files: &mut Files, level: u32, name: &str, values: &[f32]) {
    let count = values.len();
    let attributes = json!({"zv_array": "object_attribute", "name": name, "dtype": "float32", "shape": [count],
        "fill_sentinel_meaning": "absent"});
    let document = json!({
        "shape": [count], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "NaN",
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": attributes,
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    });
    crate::make::group(files, &format!("{level}/object_attributes"), json!({}));
    let path = format!("{level}/object_attributes/{name}");
    files.insert(format!("{path}/zarr.json"), document.to_string().into());
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    files.insert(format!("{path}/c/0"), bytes.collect());
}

#[tokio::test]
async fn object_attributes_come_from_where_they_are() {
    let levels = [
        vec![(7, line(1.0, 1.0, 2)), (5, vec![])],
        vec![(5, line(1.0, 9.0, 3)), (9, line(2.0, 5.0, 2))],
    ];
    let mut files = stack(&lines(&levels, &[10.0, 10.0]));
    // Level 0 has 7 and, wrongly, 5; level 1 has 5, and no value for 9.
    object_attribute(&mut files, 0, "w", &[0.5, 99.0]);
    object_attribute(&mut files, 1, "w", &[2.5, f32::NAN]);
    object_attribute(&mut files, 0, "v", &[f32::NAN, 4.0]);
    let store = memory(&files).await;
    let by_id = Query {
        objects: Some(vec![5, 7, 9]),
        ..Query::default()
    };
    let got = ask(&store, by_id).await.unwrap();
    let objects = got.objects.as_ref().unwrap();
    assert_eq!(column(objects, "w"), ["2.5", "0.5", "null"]);
    assert_eq!(column(objects, "v"), ["4.0", "null", "null"]);
    let got = ask(&store, Query::default()).await.unwrap();
    let objects = got.objects.as_ref().unwrap();
    assert_eq!(column(objects, "object_id"), ["7", "5", "9"]);
    assert_eq!(column(objects, "w"), ["0.5", "2.5", "null"]);
    let listed = listed_objects(&store, 0, false).await;
    let listed = listed.table(Table::Objects).unwrap().unwrap();
    assert_eq!(column(&listed, "w"), ["0.5", "2.5", "null"]);
    assert_eq!(column(&listed, "v"), ["null", "4.0", "null"]);
}

/// Links as pairs of positions.
pub(crate) fn edges(got: &Got) -> Vec<String> {
    let positions = got.column("position");
    let ends = |ends: &Vec<usize>| {
        ends.iter()
            .map(|end| positions[*end].clone())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    sorted(got.links().iter().map(ends).collect())
}

/// A graph: in each chunk, the vertices of one object are in one fragment.
fn graph(positions: &[[f32; 3]], ids: &[i64], links: &[[usize; 2]]) -> Made {
    let mut made = Made::points_with_ids(positions, ids);
    (made.kind, made.convention) = ("graph", "explicit");
    let at = |wanted: &[f32; 3]| {
        let rows = made.chunks.iter().flat_map(|(coord, chunk)| {
            (0_i64..).zip(&chunk.rows).map(|(row, p)| (*coord, row, *p))
        });
        rows.into_iter()
            .find(|(_, _, p)| p == wanted)
            .map(|(coord, row, _)| (coord, row))
            .unwrap()
    };
    let records: Vec<Vec<_>> = links
        .iter()
        .map(|ends| ends.iter().map(|end| at(&positions[*end])).collect())
        .collect();
    made.links = Some(place(&records, false));
    made
}

#[tokio::test]
async fn links_of_graphs_are_renumbered() {
    let fine = vec![[1.0, 0.0, 0.0], [11.0, 1.0, 0.0], [2.0, 2.0, 0.0]];
    let coarse = vec![[3.0, 3.0, 0.0], [4.0, 4.0, 0.0], [25.0, 5.0, 0.0]];
    let levels = [
        graph(&fine, &[1, 1, 2], &[[0, 1], [2, 0]]),
        graph(&coarse, &[3, 3, 2], &[[0, 1], [1, 2], [2, 2]]),
    ];
    let store = memory(&stack(&levels)).await;
    let edge = |from: &[f32; 3], to: &[f32; 3]| format!("{} | {}", text(from), text(to));
    let all = vec![
        edge(&fine[0], &fine[1]),
        edge(&fine[2], &fine[0]),
        edge(&coarse[0], &coarse[1]),
        edge(&coarse[1], &coarse[2]),
        edge(&coarse[2], &coarse[2]),
    ];
    assert_eq!(
        edges(&ask(&store, Query::default()).await.unwrap()),
        sorted(all.clone())
    );
    let few = Query {
        limit: Some(5),
        ..Query::default()
    };
    // The last row is not in the answer, nor are its two links.
    assert_eq!(
        edges(&ask(&store, few).await.unwrap()),
        sorted(all[..3].to_vec())
    );
    let objects = Query {
        objects: Some(vec![2, 3]),
        ..Query::default()
    };
    assert_eq!(
        edges(&ask(&store, objects).await.unwrap()),
        sorted(all[2..].to_vec())
    );
    let listed = listed_links(&store, 0, 0, false).await;
    let table = listed.table(Table::Links).unwrap().unwrap();
    assert_eq!(column(&table, "level"), ["0", "0", "1", "1", "1"]);
    assert_eq!(listed.summary.levels, [0, 1]);
    let alone = listed_links(&store, 0, 0, true).await;
    assert!(
        alone
            .table(Table::Links)
            .unwrap()
            .unwrap()
            .column_by_name("level")
            .is_none()
    );
    assert_eq!(alone.summary.links, 2);
    // A level without links adds vertices only.
    let mut bare = levels;
    bare[1].links = None;
    let store = memory(&stack(&bare)).await;
    let got = ask(&store, Query::default()).await.unwrap();
    assert_eq!(
        (got.all.summary.vertices, edges(&got)),
        (6, sorted(all[..2].to_vec()))
    );
}
