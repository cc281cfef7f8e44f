//! Conditions on axes and on objects, compared with brute force.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use object_store::memory::InMemory;
use object_store::{ObjectStoreExt, path::Path};
use zvf_query::{
    BBox, Column, Filter, ListedObjects, ObjectListing, Query, QuerySpec, Select, Target,
};
use zvf_store::{OpenOptions, Store};
use zvf_write::{Batch, Groups, Kind, StoreSpec, StoreWriter, Values, WriteOptions};

use crate::make::Made;
use crate::support::{Got, ask, bundled, column, listed_objects, memory};

fn asked(text: &str) -> Query {
    Query {
        filter: Some(Filter::parse(text).unwrap()),
        columns: vec![Column::Position, Column::Chunk, Column::Row],
        ..Query::default()
    }
}

fn lines() -> Made {
    let line = |id: i64, start: f32, steps: usize, step: f32| {
        let rows = (0..steps).map(|number| [start + step * number as f32, 5.0, id as f32]);
        (id, rows.collect::<Vec<[f32; 3]>>())
    };
    Made::streamlines(&[
        line(7, 0.0, 5, 4.0),
        line(-3, 50.0, 3, -10.0),
        line(9, 12.0, 1, 0.0),
        line(4, 30.0, 20, 1.5),
    ])
}

fn ids(got: &Got) -> Vec<String> {
    column(got.objects.as_ref().unwrap(), "object_id")
}

#[tokio::test]
async fn axes_are_conditions_that_leave_chunks_out() {
    let store = bundled("streamlines").await;
    let (lo, hi) = store.root().zarr_vectors.bounds.clone();
    let middle = |axis: usize| f64::midpoint(lo[axis], hi[axis]);
    let (x, y) = (middle(0), middle(1));
    let all = ask(&store, asked("x is not nan")).await.unwrap();
    let bbox = Query {
        bbox: Some(BBox::new(vec![lo[0], lo[1], lo[2]], vec![x, y, hi[2]]).unwrap()),
        filter: None,
        ..asked("x > 0")
    };
    let by_box = ask(&store, bbox.clone()).await.unwrap();
    let axes = store.root().axes();
    let (a, b) = (&axes[0].name, &axes[1].name);
    let text = format!("{a} <= {x} and {b} <= {y}");
    let by_axis = ask(&store, asked(&text)).await.unwrap();
    assert!(!by_axis.rows().is_empty());
    assert_eq!(by_axis.rows(), by_box.rows());
    assert_eq!(
        by_axis.all.summary.chunks_read,
        by_box.all.summary.chunks_read
    );
    assert!(by_axis.all.summary.chunks_read < all.all.summary.chunks_read);
    // Whole chunks and whole objects, and conditions that no box can express.
    for select in [Select::Chunks, Select::Objects] {
        let found = ask(
            &store,
            Query {
                select,
                ..asked(&text)
            },
        )
        .await
        .unwrap();
        let expected = ask(
            &store,
            Query {
                select,
                ..bbox.clone()
            },
        )
        .await
        .unwrap();
        if select == Select::Objects {
            assert_eq!(found.rows(), expected.rows());
        } else {
            // A box selects the chunks that it meets, a condition only chunks with a row that satisfies it.
            assert!(found.rows().len() <= expected.rows().len());
        }
    }
    let above = ask(&store, asked(&format!("{a} + 1 > {b}"))).await.unwrap();
    let below = ask(&store, asked(&format!("{a} + 1 <= {b}")))
        .await
        .unwrap();
    assert!(!above.rows().is_empty() && !below.rows().is_empty());
    assert_eq!(above.rows().len() + below.rows().len(), all.rows().len());
    let plan = asked(&text).plan(&store).await.unwrap();
    let chunks = plan.iter().map(|level| level.chunks().count() as u64);
    assert_eq!(chunks.sum::<u64>(), by_axis.all.summary.chunks_read);
}

#[tokio::test]
async fn axes_are_columns_of_their_own() {
    let points = [[1.0, -2.0, 3.5], [5.0, 0.25, 0.0], [6.0, 7.0, -8.0]];
    let store = memory(&Made::points(&points).files()).await;
    let columns = ["z", "row", "x", "position", "x"].map(|name| name.parse().unwrap());
    let query = Query {
        columns: columns.to_vec(),
        filter: Some(Filter::parse("x > 1").unwrap()),
        ..Query::default()
    };
    let got = ask(&store, query).await.unwrap();
    let table = got.vertices.as_ref().unwrap();
    let schema = table.schema();
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(names, ["z", "row", "x", "position"]);
    assert_eq!(
        table.column(2).data_type(),
        &arrow_schema::DataType::Float32
    );
    let rows = column(table, "position");
    for (at, axis) in [(0, "x"), (2, "z")] {
        let wanted = rows
            .iter()
            .map(|row| row.split(' ').nth(at).unwrap().to_owned());
        assert_eq!(column(table, axis), wanted.collect::<Vec<_>>());
    }
    assert_eq!(column(table, "x").len(), 2);
    for names in [vec!["w"], vec!["position", "attributes", "X"]] {
        let columns = names
            .into_iter()
            .map(|name| name.parse().unwrap())
            .collect();
        let query = Query {
            columns,
            ..Query::default()
        };
        assert!(ask(&store, query).await.is_err());
    }
}

#[tokio::test]
async fn positions_are_points_of_well_known_binary() {
    let points = [[1.0, -2.0, 3.5], [5.0, 0.25, 0.0], [6.0, 7.0, -8.0]];
    let store = memory(&Made::points(&points).files()).await;
    let query = Query {
        columns: ["geometry", "x"].map(|name| name.parse().unwrap()).to_vec(),
        filter: Some(Filter::parse("x > 1").unwrap()),
        ..Query::default()
    };
    let got = ask(&store, query).await.unwrap();
    let table = got.vertices.as_ref().unwrap();
    let field = table.schema().field(0).clone();
    assert_eq!(field.data_type(), &arrow_schema::DataType::Binary);
    let extension = ["ARROW:extension:name", "zvf.column"].map(|key| &*field.metadata()[key]);
    assert_eq!(extension, ["geoarrow.wkb", "place"]);
    let found = table.column(0).as_binary::<i32>();
    assert_eq!(found.len(), 2);
    let mut wanted: Vec<Vec<u8>> = Vec::new();
    for point in points.iter().skip(1) {
        let mut bytes = vec![1];
        bytes.extend(1001_u32.to_le_bytes());
        bytes.extend(point.iter().flat_map(|one| f64::from(*one).to_le_bytes()));
        wanted.push(bytes);
    }
    // Rows are in the order of chunks.
    let mut found: Vec<Vec<u8>> = found.iter().flatten().map(<[u8]>::to_vec).collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    // In a condition, `geometry` can only be the name of an attribute.
    let error = Query {
        filter: Some(Filter::parse("geometry > 1").unwrap()),
        ..Query::default()
    };
    assert!(ask(&store, error).await.is_err());
}

#[tokio::test]
async fn a_box_and_a_condition_on_axes_both_hold() {
    let points = [
        [1.0, 0.0, 0.0],
        [5.0, 0.0, 0.0],
        [6.0, 0.0, 0.0],
        [15.0, 0.0, 0.0],
    ];
    let store = memory(&Made::points(&points).files()).await;
    for (bbox, text, rows) in [
        (Some("0,0,0:1,1,1"), "x between 5 and 6", 0),
        (Some("0,0,0:5,1,1"), "x >= 5", 1),
        (Some("0,0,0:20,1,1"), "x > 5 and x <= 15", 2),
        (None, "x > 5 and x < 5", 0),
        (None, "5 <= x", 3),
        (None, "x in (1, 15)", 2),
        (None, "not x > 5", 2),
    ] {
        let query = Query {
            bbox: bbox.map(|text| BBox::parse(text).unwrap()),
            ..asked(text)
        };
        let got = ask(&store, query).await.unwrap();
        assert_eq!(got.all.summary.vertices, rows, "{bbox:?} {text}");
    }
}

#[tokio::test]
async fn conditions_of_objects_choose_objects() {
    let store = memory(&lines().files()).await;
    for (text, expected) in [
        ("object_id == 4", vec!["4"]),
        ("object_id between -5 and 7", vec!["7", "-3", "4"]),
        ("object_id in (9, 100)", vec!["9"]),
        ("count() >= 5", vec!["7", "4"]),
        ("length() > 19 and count() < 10", vec!["-3"]),
        ("length() == 16 or object_id == 9", vec!["7", "9"]),
        ("length() == 0", vec!["9"]),
        ("length() / count() > 3", vec!["7", "-3"]),
        ("start.x > end.x", vec!["-3"]),
        ("start.x between 10 and 40 and not end.x > 50", vec!["9"]),
        ("start.z == object_id", vec!["7", "-3", "9", "4"]),
        ("object_id > 1000", vec![]),
    ] {
        let got = ask(&store, asked(text)).await.unwrap();
        assert_eq!(ids(&got), expected, "{text}");
    }
    // Together with conditions on vertices, ids and splits.
    let both = asked("object_id > 0 and s >= 4 and x > 1");
    let got = ask(&store, both.clone()).await.unwrap();
    let rows = got.rows().len();
    assert_eq!(rows, 1 + 16);
    let mut split_rows = 0;
    for split in both.splits(&store, Target::Count(3)).await.unwrap() {
        split_rows += ask(&store, split.query().unwrap())
            .await
            .unwrap()
            .rows()
            .len();
    }
    assert_eq!(split_rows, rows);
    let some = Query {
        objects: Some(vec![9, 7]),
        ..asked("count() > 1")
    };
    assert_eq!(ids(&ask(&store, some).await.unwrap()), ["7"]);
    let unknown = Query {
        objects: Some(vec![9, 8]),
        ..asked("count() > 1")
    };
    let error = ask(&store, unknown).await.err().unwrap().to_string();
    assert!(error.contains("no object 8"), "{error}");
}

#[tokio::test]
async fn ends_are_compared_in_the_type_of_positions() {
    let made = Made::streamlines(&[
        (1, vec![[0.3, 1.0, 2.0], [5.0, 1.0, 2.0]]),
        (2, vec![[0.4, 1.0, 2.0], [0.3, 1.0, 2.0]]),
    ]);
    let store = memory(&made.files()).await;
    // The float32 that is shown as 0.3 is larger than 0.3.
    for (text, expected) in [
        ("start.x == 0.3", vec!["1"]),
        ("start.x <= 0.3", vec!["1"]),
        ("start.x > 0.3", vec!["2"]),
        ("not start.x > 0.3", vec!["1"]),
        ("end.x in (0.3, 7)", vec!["2"]),
        ("0.3 >= end.x", vec!["2"]),
        ("start.x between 0.3 and 0.4", vec!["1", "2"]),
    ] {
        let got = ask(&store, asked(text)).await.unwrap();
        assert_eq!(ids(&got), expected, "{text}");
    }
    // Of the four vertices, one is beyond the first vertex of its line.
    let beyond = asked("x > start.x and (start.x == 0.3 or x < 0)");
    assert_eq!(ask(&store, beyond).await.unwrap().rows().len(), 1);
    // Vertices of skeletons are read with their links.
    let store = bundled("real_skeleton").await;
    let axis = store.root().axes()[0].name.clone();
    let whole = Query {
        columns: vec![Column::Attribute(axis.clone())],
        ..asked("count() > 0")
    };
    let got = ask(&store, whole).await.unwrap();
    let (first, id) = (&got.column(&axis)[0], &ids(&got)[0]);
    let text = format!("start.{axis} == {first}");
    let found = ask(&store, asked(&text)).await.unwrap();
    assert!(ids(&found).contains(id), "{text}");
}

#[tokio::test]
async fn attributes_of_objects_are_names_too() {
    let mut seen = 0;
    for case in [
        "streamlines",
        "points_ids",
        "real_tractogram",
        "real_skeleton",
    ] {
        let store = bundled(case).await;
        let listed = listed_objects(&store, 0, false).await;
        let Some(table) = listed.table(zvf_query::Table::Objects).unwrap() else {
            continue;
        };
        let all = column(&table, "object_id");
        for field in table.schema().fields().iter().skip(4) {
            let name = field.name();
            let values = column(&table, name);
            let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
            let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
                continue;
            };
            let limit = numbers[numbers.len() / 2];
            let expected: Vec<&String> = (all.iter().zip(&numbers))
                .filter_map(|(id, number)| (*number > limit).then_some(id))
                .collect();
            for name in [format!("`object.{name}`"), format!("`{name}`")] {
                let text = format!("{name} > {limit}");
                let got = ask(&store, asked(&text)).await.unwrap();
                assert_eq!(
                    ids(&got).iter().collect::<Vec<_>>(),
                    expected,
                    "{case}: {text}"
                );
            }
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// A group of the store of [`grouped`].
struct Bundle {
    name: &'static str,
    weight: f32,
    side: Option<&'static str>,
    range: [i32; 2],
    members: &'static [i64],
}

const BUNDLES: [Bundle; 5] = [
    Bundle {
        name: "AF_left",
        weight: 1.0,
        side: Some("left"),
        range: [3, 5],
        members: &[7, -3, 30],
    },
    Bundle {
        name: "AF_right",
        weight: 4.5,
        side: Some("right"),
        range: [0, 9],
        members: &[4, -3],
    },
    Bundle {
        name: "CST",
        weight: 3.0,
        side: None,
        range: [2, 2],
        members: &[7, 9, 4],
    },
    Bundle {
        name: "empty",
        weight: 100.0,
        side: Some("left"),
        range: [-1, 0],
        members: &[],
    },
    Bundle {
        name: "odd",
        weight: f32::NAN,
        side: None,
        range: [7, 6],
        members: &[12, 9],
    },
];

/// Ids of lines and their numbers of vertices. The last line is in no group.
const LINES: [(i64, usize); 7] = [
    (7, 5),
    (-3, 3),
    (9, 1),
    (4, 20),
    (12, 2),
    (30, 11),
    (50, 30),
];

async fn grouped() -> Store {
    let backend = Arc::new(InMemory::new());
    let open = OpenOptions::new().with_object_store(backend.clone());
    let options = WriteOptions::new().with_open(open.clone());
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 3]).with_objects();
    let mut writer = StoreWriter::create("memory:///", spec, options)
        .await
        .unwrap();
    for (id, count) in LINES {
        let rows = (0..count).flat_map(|row| [row as f32, 5.0, id as f32]);
        let batch = Batch::new(rows.collect::<Vec<f32>>());
        writer
            .push(&batch.with_object_ids(vec![id; count]))
            .unwrap();
    }
    let sides = BUNDLES.iter().map(|one| one.side.map(str::to_owned));
    let weights: Vec<f32> = BUNDLES.iter().map(|one| one.weight).collect();
    let ranges: Vec<i32> = BUNDLES.iter().flat_map(|one| one.range).collect();
    let groups = Groups::new(BUNDLES.iter().map(|one| one.members.to_vec()).collect())
        .with_names(BUNDLES.iter().map(|one| one.name))
        .with_attribute("weight", weights)
        .with_attribute("side", Values::Text(sides.collect()))
        .with_attribute("range", ranges);
    writer.set_groups(&groups).unwrap();
    writer.finish().await.unwrap();
    // Empty texts are values, unless the document states that they mark missing values.
    let path = Path::from("0/group_attributes/side/zarr.json");
    let bytes = backend.get(&path).await.unwrap().bytes().await.unwrap();
    let mut document: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    document["attributes"]["fill_sentinel_meaning"] = "absent".into();
    backend
        .put(&path, document.to_string().into())
        .await
        .unwrap();
    Store::open_with("memory:///", open).await.unwrap()
}

/// Whether an object is a member of a group that satisfies a test.
type Any<'a> = &'a dyn Fn(&dyn Fn(usize, &Bundle) -> bool) -> bool;

/// Whether an object with an id and some vertices satisfies a condition.
type Truth = fn(Any<'_>, i64, usize) -> bool;

#[tokio::test]
async fn conditions_on_groups_choose_their_members() {
    let store = grouped().await;
    let conditions: [(&str, Truth); 23] = [
        ("group.weight > 2", |any, _, _| {
            any(&|_, of| of.weight > 2.0)
        }),
        ("group.weight is nan", |any, _, _| {
            any(&|_, of| of.weight.is_nan())
        }),
        ("group.number in (0, 4)", |any, _, _| {
            any(&|g, _| g == 0 || g == 4)
        }),
        ("group.side is null", |any, _, _| {
            any(&|_, of| of.side.is_none())
        }),
        // A missing value is unknown, and so is its negation.
        ("not group.side == 'left'", |any, _, _| {
            any(&|_, of| of.side.is_some_and(|side| side != "left"))
        }),
        ("group.range[1] > 5", |any, _, _| {
            any(&|_, of| of.range[1] > 5)
        }),
        ("group.range[0] == group.range[1]", |any, _, _| {
            any(&|_, of| of.range[0] == of.range[1])
        }),
        ("group.weight * 2 > group.number + 6", |any, _, _| {
            any(&|g, of| of.weight * 2.0 > g as f32 + 6.0)
        }),
        ("group.name like 'AF%'", |any, _, _| {
            any(&|_, of| of.name.starts_with("AF"))
        }),
        (
            "group.name == 'empty' or group.name == 'nothing'",
            |_, _, _| false,
        ),
        // One group satisfies everything that `and` joins, in any order.
        ("group.weight > 2 and group.name like 'AF%'", |any, _, _| {
            any(&|_, of| of.weight > 2.0 && of.name.starts_with("AF"))
        }),
        (
            "group.weight < 2 and object_id > 0 and group.number < 2 and count() < 9",
            |any, id, count| any(&|g, of| of.weight < 2.0 && g < 2) && id > 0 && count < 9,
        ),
        (
            "(group.weight > 2 and count() > 3) and (group.side == 'left' and count() < 9)",
            |any, _, count| {
                any(&|_, of| of.weight > 2.0 && of.side == Some("left")) && count > 3 && count < 9
            },
        ),
        (
            "group.number == 1 and (group.side == 'right' and group.weight > 4)",
            |any, _, _| any(&|g, of| g == 1 && of.side == Some("right") && of.weight > 4.0),
        ),
        // Parts that `or` or an object separates may be satisfied by different groups.
        (
            "(group.name == 'CST' or object_id == 30) and group.name like 'AF%'",
            |any, id, _| {
                (any(&|_, of| of.name == "CST") || id == 30)
                    && any(&|_, of| of.name.starts_with("AF"))
            },
        ),
        ("group.name == 'CST' or length() > 10", |any, _, count| {
            any(&|_, of| of.name == "CST") || count > 11
        }),
        ("group.name == 'CST' and length() > 3", |any, _, count| {
            any(&|_, of| of.name == "CST") && count > 4
        }),
        // `not` of groups alone requires another group; if an object is referred to, it applies to the object.
        ("not group.name == 'CST'", |any, _, _| {
            any(&|_, of| of.name != "CST")
        }),
        (
            "not (group.name == 'CST' or object_id is null)",
            |any, _, _| !any(&|_, of| of.name == "CST"),
        ),
        ("not (group.weight > 2 and count() > 3)", |any, _, count| {
            !(any(&|_, of| of.weight > 2.0) && count > 3)
        }),
        ("group.number >= 0", |any, _, _| any(&|_, _| true)),
        ("not (group.number >= 0 or count() < 0)", |any, _, _| {
            !any(&|_, _| true)
        }),
        (
            "group.number == 0 and (group.weight > 4 or count() > 10 and group.side is null)",
            |any, _, count| {
                any(&|g, _| g == 0)
                    && (any(&|_, of| of.weight > 4.0)
                        || count > 10 && any(&|_, of| of.side.is_none()))
            },
        ),
    ];
    let mut selective = 0;
    for (text, truth) in conditions {
        let holds = |(id, count): &(i64, usize)| {
            let any = |test: &dyn Fn(usize, &Bundle) -> bool| {
                let own = BUNDLES.iter().enumerate();
                own.filter(|(_, of)| of.members.contains(id))
                    .any(|(g, of)| test(g, of))
            };
            truth(&any, *id, *count)
        };
        let mut expected: Vec<i64> = LINES
            .iter()
            .filter(|one| holds(one))
            .map(|one| one.0)
            .collect();
        expected.sort_unstable();
        selective += usize::from(!expected.is_empty() && expected.len() < LINES.len());
        let sorted = |ids: Vec<String>| {
            let mut ids: Vec<i64> = ids.iter().map(|id| id.parse().unwrap()).collect();
            ids.sort_unstable();
            ids
        };
        let got = ask(&store, asked(text)).await.unwrap();
        assert_eq!(sorted(ids(&got)), expected, "{text}");
        // Lists of objects take the same conditions, and queries of their vertices, too.
        let mut listing = ObjectListing::default();
        listing.condition = Some(Filter::parse(text).unwrap());
        let mut listed = ListedObjects::start(&store, listing).await.unwrap();
        let mut found = Vec::new();
        while let Some(batch) = listed.next().await.unwrap() {
            found.extend(column(&batch, "object_id"));
        }
        assert_eq!(sorted(found), expected, "{text}");
        let both = ask(&store, asked(&format!("({text}) and x >= 2")))
            .await
            .unwrap();
        let kept = LINES.iter().filter(|(id, _)| expected.contains(id));
        let rows: usize = kept.map(|(_, count)| count.saturating_sub(2)).sum();
        assert_eq!(both.rows().len(), rows, "{text}");
    }
    assert!(selective > 15);
}

#[tokio::test]
async fn groups_of_bundled_stores_are_conditions() {
    let mut seen = 0;
    for name in zvf_testkit::all_cases().unwrap() {
        let case = zvf_testkit::case(&name).unwrap();
        if case.groups.is_empty() {
            continue;
        }
        let store = bundled(&name).await;
        for (group, members) in &case.groups {
            let text = format!("group.number = {group}");
            let got = ask(&store, asked(&text)).await.unwrap();
            let mut members: Vec<String> = members.iter().map(i64::to_string).collect();
            let mut found = ids(&got);
            members.sort();
            members.dedup();
            found.sort();
            assert_eq!(found, members, "{name}: {text}");
            seen += usize::from(!members.is_empty());
        }
    }
    assert!(seen > 10, "{seen}");
}

#[tokio::test]
async fn names_of_groups_that_are_not_there_are_marked() {
    let store = grouped().await;
    for (text, parts) in [
        (
            "count() > 1 and group.wieght > 1",
            [
                "no group attribute \"wieght\" (did you mean \"weight\"?): there are range, side, weight, name, number",
                "\n  count() > 1 and group.wieght > 1\n                  ^",
            ],
        ),
        (
            "group.number > object_id",
            [
                "compares group.number, which is of groups, with object_id, which is not",
                "\n  ^",
            ],
        ),
        (
            "group.number > x",
            [
                "compares group.number, which is of groups, with x, which is not",
                "\n  ^",
            ],
        ),
        (
            "group.side > 1",
            ["`group.side` is a text", "`1`, which is a number"],
        ),
        ("group.range > 1", ["has 2 channels", "group.range[0]"]),
    ] {
        let error = ask(&store, asked(text)).await.err().unwrap().to_string();
        for part in parts {
            assert!(error.contains(part), "{text}: {error}");
        }
    }
    let without = memory(&lines().files()).await;
    let error = ask(&without, asked("object_id > 1 and group.name == 'CST'"));
    let error = error.await.err().unwrap().to_string();
    assert!(error.contains("level 0 has no groups"), "{error}");
    assert!(error.ends_with("\n                    ^"), "{error}");
}

#[tokio::test]
async fn names_that_are_not_there_are_marked() {
    let store = memory(&lines().files()).await;
    for (text, parts) in [
        (
            "x > 0 and ss > 1",
            [
                "no vertex attribute \"ss\" on level 0 (did you mean \"s\"?)",
                "\n            ^",
            ],
        ),
        (
            "object.weight > 1",
            ["no object attribute \"weight\"", "\n  ^"],
        ),
        ("start.q > 1", ["no axis \"q\": there are", "\n  ^"]),
    ] {
        let error = ask(&store, asked(text)).await.err().unwrap().to_string();
        for part in parts {
            assert!(error.contains(part), "{text}: {error}");
        }
    }
    let points = memory(&Made::points(&[[1.0, 2.0, 3.0]]).files()).await;
    let error = ask(&points, asked("object_id > 1"))
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("no object index"), "{error}");
}

#[tokio::test]
async fn a_description_in_json_is_the_query() {
    let store = memory(&lines().files()).await;
    let spec = QuerySpec::new()
        .with_where("object_id > 0 and s < 2")
        .unwrap()
        .with_columns(["row", "s"])
        .unwrap();
    let text = serde_json::to_string(&spec).unwrap();
    let again: QuerySpec = serde_json::from_str(&text).unwrap();
    assert_eq!(again, spec);
    let query = again.resolve(&store).await.unwrap();
    let expected = ask(&store, spec.plain().unwrap()).await.unwrap();
    assert_eq!(ask(&store, query).await.unwrap().rows(), expected.rows());
    assert_eq!(expected.rows().len(), 5);
    let piece = spec.with_split("1/2".parse().unwrap());
    let piece = piece.resolve(&store).await.unwrap();
    assert!(ask(&store, piece).await.unwrap().rows().len() < 5);
}
