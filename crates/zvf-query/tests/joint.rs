//! Conditions with parts that refer to vertices and to objects, compared with loops over the input lines.

use std::sync::Arc;

use object_store::memory::InMemory;
use zvf_query::{BBox, Column, Filter, ObjectRelation, Query, Select, Target};
use zvf_store::{OpenOptions, Store};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteOptions,
};

use crate::make::Made;
use crate::support::{Got, ask, column, memory, sorted};

/// A line with values for its vertices and for itself.
pub(crate) struct Line {
    pub(crate) id: i64,
    pub(crate) rows: Vec<[f32; 3]>,
    pub(crate) s: Vec<f32>,
    /// Object attributes; `None`: the object table does not have the line.
    pub(crate) own: Option<(i32, &'static str)>,
}

impl Line {
    fn start(&self) -> [f32; 3] {
        self.rows[0]
    }

    fn end(&self) -> [f32; 3] {
        self.rows[self.rows.len() - 1]
    }

    fn count(&self) -> f32 {
        self.rows.len() as f32
    }

    pub(crate) fn length(&self) -> f64 {
        let step = |pair: &[[f32; 3]]| {
            let squares = (0..3).map(|axis| f64::from(pair[0][axis] - pair[1][axis]).powi(2));
            squares.sum::<f64>().sqrt()
        };
        self.rows.windows(2).map(step).sum()
    }

    fn is_in_a_bundle(&self) -> bool {
        self.id % 3 == 0
    }
}

/// Lines through several chunks, by id.
pub(crate) fn lines() -> Vec<Line> {
    // A small generator, so that values have no pattern.
    let mut state = 12345_u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let line = |number: i64| {
        let count = 1 + next(12);
        let mut at = [0; 3].map(|_: i32| next(40) as f32);
        let rows: Vec<[f32; 3]> = (0..count)
            .map(|_| {
                at = at.map(|one| (one + next(9) as f32 - 4.0).clamp(0.0, 39.0));
                at
            })
            .collect();
        Line {
            id: (number * 7) % 61,
            s: rows.iter().map(|_| next(12) as f32).collect(),
            rows,
            own: (number % 5 != 0)
                .then(|| ((number % 4) as i32, ["a", "b", "cc"][number as usize % 3])),
        }
    };
    let mut lines: Vec<Line> = (0..60).map(line).collect();
    lines.sort_by_key(|line| line.id);
    lines
}

pub(crate) async fn stored(lines: &[Line]) -> Store {
    let backend = Arc::new(InMemory::new());
    let open = OpenOptions::new().with_object_store(backend);
    let options = WriteOptions::new().with_open(open.clone());
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 3])
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("s", NumberType::F32))
        .with_object_attribute(AttributeSpec::number("w", NumberType::I32))
        .with_object_attribute(AttributeSpec::text("class"));
    let mut writer = StoreWriter::create("memory:///", spec, options)
        .await
        .unwrap();
    for line in lines {
        let batch = Batch::new(line.rows.concat())
            .with_object_ids(vec![line.id; line.rows.len()])
            .with_attribute("s", line.s.clone());
        writer.push(&batch).unwrap();
    }
    let known: Vec<&Line> = lines.iter().filter(|line| line.own.is_some()).collect();
    let ids: Vec<i64> = known.iter().map(|line| line.id).collect();
    let own = known.iter().filter_map(|line| line.own);
    let (w, class): (Vec<i32>, Vec<&str>) = own.unzip();
    let class = class.into_iter().map(|one| Some(one.to_owned()));
    let table = ObjectTable::new(ids)
        .with_attribute("w", w)
        .with_attribute("class", Values::Text(class.collect()));
    writer.push_objects(&table).unwrap();
    let members = lines.iter().filter(|line| line.is_in_a_bundle());
    let groups = Groups::new(vec![members.map(|line| line.id).collect()]).with_names(["AF"]);
    writer.set_groups(&groups).unwrap();
    writer.finish().await.unwrap();
    Store::open_with("memory:///", open).await.unwrap()
}

/// Whether a row of a line satisfies a condition; `None`: unknown.
type Truth = fn(&Line, usize) -> Option<bool>;

/// Three-valued `or`.
fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    or(a.map(|a| !a), b.map(|b| !b)).map(|both| !both)
}

fn w(line: &Line) -> Option<i32> {
    line.own.map(|(w, _)| w)
}

fn class(line: &Line) -> Option<&str> {
    line.own.map(|(_, class)| class)
}

const CONDITIONS: [(&str, Truth); 16] = [
    ("s > 8 or object.w > 2", |line, row| {
        or(Some(line.s[row] > 8.0), w(line).map(|w| w > 2))
    }),
    ("x < start.x", |line, row| {
        Some(line.rows[row][0] < line.start()[0])
    }),
    ("s * 2 > count() and z < 20", |line, row| {
        Some(line.s[row] * 2.0 > line.count() && line.rows[row][2] < 20.0)
    }),
    ("not (s > 5 and class = 'a')", |line, row| {
        or(Some(line.s[row] <= 5.0), class(line).map(|one| one != "a"))
    }),
    ("(w = 1 and s > 8) or (w = 2 and s < 2)", |line, row| {
        let s = line.s[row];
        or(
            and(w(line).map(|w| w == 1), Some(s > 8.0)),
            and(w(line).map(|w| w == 2), Some(s < 2.0)),
        )
    }),
    ("s > 9 or group.name = 'AF'", |line, row| {
        Some(line.s[row] > 9.0 || line.is_in_a_bundle())
    }),
    (
        "group.number = 0 and (s = 3 or class like 'c%')",
        |line, row| {
            let like = class(line).map(|one| one.starts_with('c'));
            let either = or(Some(line.s[row] == 3.0), like);
            and(Some(line.is_in_a_bundle()), either)
        },
    ),
    ("y > end.y or length() > 30", |line, row| {
        Some(line.rows[row][1] > line.end()[1] || line.length() > 30.0)
    }),
    ("s between start.x and end.x", |line, row| {
        let s = line.s[row];
        Some(line.start()[0] <= s && s <= line.end()[0])
    }),
    ("s in (count(), 3, object_id)", |line, row| {
        let s = line.s[row];
        Some(s == line.count() || s == 3.0 || s == line.id as f32)
    }),
    ("object_id > 20 and (s > 5 or w > 1)", |line, row| {
        let either = or(Some(line.s[row] > 5.0), w(line).map(|w| w > 1));
        and(Some(line.id > 20), either)
    }),
    ("length() > 10 and (x > 30 or count() < 4)", |line, row| {
        Some(line.length() > 10.0 && (line.rows[row][0] > 30.0 || line.count() < 4.0))
    }),
    ("w is null or not s != w", |line, row| {
        or(
            Some(w(line).is_none()),
            w(line).map(|w| f64::from(line.s[row]) == f64::from(w)),
        )
    }),
    (
        "x + y < start.x + start.y and s < 6 and w >= 0",
        |line, row| {
            let sum = |of: [f32; 3]| of[0] + of[1];
            and(
                Some(sum(line.rows[row]) < sum(line.start()) && line.s[row] < 6.0),
                w(line).map(|w| w >= 0),
            )
        },
    ),
    ("w > 1000 and s > 0 or w < -1000", |line, _| {
        w(line).map(|_| false)
    }),
    ("min(s, count()) > 6", |line, row| {
        Some(line.s[row].min(line.count()) > 6.0)
    }),
];

fn asked(text: &str) -> Query {
    Query {
        filter: Some(Filter::parse(text).unwrap()),
        columns: vec![Column::ObjectId, Column::Position],
        ..Query::default()
    }
}

fn shown(row: &[f32; 3]) -> String {
    row.map(|number| format!("{number:?}")).join(" ")
}

/// The ids and positions of an answer.
fn found(got: &Got) -> Vec<(String, String)> {
    let ids = got.column("object_id").into_iter();
    ids.zip(got.column("position")).collect()
}

/// The rows of lines that satisfy a condition and a test of the position, in the form of [`found`].
fn expected<'l>(
    lines: impl IntoIterator<Item = &'l Line>,
    truth: Truth,
    place: &dyn Fn(&[f32; 3]) -> bool,
) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for line in lines {
        for (number, row) in line.rows.iter().enumerate() {
            if truth(line, number) == Some(true) && place(row) {
                rows.push((line.id.to_string(), shown(row)));
            }
        }
    }
    rows
}

#[tokio::test]
async fn rows_are_tested_with_the_values_of_their_objects() {
    let lines = lines();
    let store = stored(&lines).await;
    let mut some = 0;
    for (text, truth) in CONDITIONS {
        let truths = expected(&lines, truth, &|_| true);
        some += usize::from(!truths.is_empty());
        for memory_budget in [1, 64 << 20] {
            let query = Query {
                memory_budget,
                ..asked(text)
            };
            let got = ask(&store, query).await.unwrap();
            assert_eq!(found(&got), truths, "{text}");
            // Consecutive vertices that are both in the answer.
            let links = lines.iter().map(|line| {
                let holds = |row| truth(line, row) == Some(true);
                (1..line.rows.len())
                    .filter(|row| holds(*row) && holds(row - 1))
                    .count()
            });
            assert_eq!(got.links().len(), links.sum::<usize>(), "{text}");
        }
        // A box, and objects in another order, one of them twice.
        let inside = |row: &[f32; 3]| row[0] >= 5.0 && row[0] <= 20.0 && row[1] <= 30.0;
        let bbox = BBox::new(vec![5.0, 0.0, 0.0], vec![20.0, 30.0, 40.0]).unwrap();
        let boxed = Query {
            bbox: Some(bbox.clone()),
            ..asked(text)
        };
        let got = ask(&store, boxed.clone()).await.unwrap();
        assert_eq!(found(&got), expected(&lines, truth, &inside), "{text}");
        let picks = [50, 7, 31, 7, 20].map(|number: usize| &lines[number]);
        let picked = Query {
            objects: Some(picks.iter().map(|line| line.id).collect()),
            ..boxed.clone()
        };
        let got = ask(&store, picked).await.unwrap();
        assert_eq!(found(&got), expected(picks, truth, &inside), "{text}");
        // Whole objects with at least one such row.
        let hits = |place: &dyn Fn(&[f32; 3]) -> bool| {
            let hit = |line: &&Line| !expected([*line], truth, place).is_empty();
            lines.iter().filter(hit).collect::<Vec<_>>()
        };
        for (query, whole) in [
            (asked(text), hits(&|_| true)),
            (boxed.clone(), hits(&inside)),
        ] {
            let query = Query {
                select: Select::Objects,
                ..query
            };
            let got = ask(&store, query).await.unwrap();
            let rows = expected(whole, |_, _| Some(true), &|_| true);
            assert_eq!(found(&got), rows, "{text}");
        }
        // A relation to the box refers to all vertices of an object, and one of them must satisfy the condition.
        let starting = Query {
            relation: Some(ObjectRelation::Starting),
            ..boxed
        };
        let got = ask(&store, starting).await.unwrap();
        let starts = hits(&|_| true)
            .into_iter()
            .filter(|line| inside(&line.start()));
        let rows = expected(starts, |_, _| Some(true), &|_| true);
        assert_eq!(found(&got), rows, "{text}");
    }
    assert_eq!(some, CONDITIONS.len() - 1);
}

#[tokio::test]
async fn objects_for_which_a_part_is_false_are_not_read() {
    let store = stored(&lines()).await;
    let chunks = async |query: Query| {
        let got = ask(&store, query).await.unwrap();
        (found(&got).len(), got.all.summary.chunks_read)
    };
    let none = "w > 1000 and s >= 0 or w < -1000 and x > start.x";
    assert_eq!(chunks(asked(none)).await, (0, 0));
    let two = "object_id = 7 and s >= 0 or object_id = 14 and (s >= 0 or count() > 100)";
    let named = Query {
        objects: Some(vec![7, 14]),
        filter: None,
        ..asked("x > 0")
    };
    let named = chunks(named).await;
    assert_eq!(chunks(asked(two)).await, named);
    assert!(named.1 < chunks(asked("s >= 0 or w > 0")).await.1);
}

#[tokio::test]
async fn limits_groups_and_splits_hold_too() {
    let lines = lines();
    let store = stored(&lines).await;
    for (text, truth) in CONDITIONS {
        let truths = expected(&lines, truth, &|_| true);
        let limited = Query {
            limit: Some(5),
            ..asked(text)
        };
        let got = ask(&store, limited).await.unwrap();
        assert_eq!(found(&got), truths[..truths.len().min(5)], "{text}");
        assert_eq!(got.all.summary.truncated, truths.len() > 5, "{text}");
        let grouped = Query {
            groups: Some(vec![0]),
            ..asked(text)
        };
        let got = ask(&store, grouped).await.unwrap();
        let members = lines.iter().filter(|line| line.is_in_a_bundle());
        let members = sorted(expected(members, truth, &|_| true));
        assert_eq!(sorted(found(&got)), members, "{text}");
        let mut rows = Vec::new();
        for split in asked(text).splits(&store, Target::Count(3)).await.unwrap() {
            rows.extend(found(&ask(&store, split.query().unwrap()).await.unwrap()));
        }
        assert_eq!(rows, truths, "{text}");
        let described = asked(text).plan(&store).await.unwrap();
        assert_eq!(described.len(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_shared_vertex_is_tested_with_each_of_its_objects() {
    let line =
        |id: i64, count: usize| (id, (0..count).map(|x| [x as f32 * 4.0, 5.0, 5.0]).collect());
    let mut made = Made::streamlines(&[line(7, 9), line(8, 3)]);
    let objects = made.objects.as_mut().unwrap();
    let shared = objects[0].1.clone();
    objects.push((9, shared));
    let store = memory(&made.files()).await;
    let got = ask(&store, asked("x < 10 or object_id = 9")).await.unwrap();
    let counts = |got: &Got| {
        let ids = column(got.objects.as_ref().unwrap(), "object_id");
        let lengths = column(got.objects.as_ref().unwrap(), "length");
        ids.into_iter().zip(lengths).collect::<Vec<_>>()
    };
    let pair = |id: &str, count: &str| (id.to_owned(), count.to_owned());
    let all = [pair("7", "3"), pair("8", "3"), pair("9", "9")];
    assert_eq!(counts(&got), all);
    let whole = Query {
        select: Select::Objects,
        ..asked("x > 30 and object_id != 7 or x < 0 and object_id = 7")
    };
    assert_eq!(counts(&ask(&store, whole).await.unwrap()), [pair("9", "9")]);
}

#[tokio::test]
async fn objects_without_rows_are_listed_only_where_they_are_named() {
    let store = stored(&lines()).await;
    let listed = |got: &Got| {
        let table = got.objects.as_ref().unwrap();
        (column(table, "object_id"), column(table, "length"))
    };
    let condition = "x > start.x and object_id != 7";
    let got = ask(&store, asked(condition)).await.unwrap();
    let (ids, lengths) = listed(&got);
    assert!(!ids.is_empty() && !lengths.contains(&"0".to_owned()));
    // Rows of the same objects, and no object that has none.
    let mut owners: Vec<String> = got.column("object_id");
    owners.dedup();
    assert_eq!(ids, owners);
    let bbox = BBox::new(vec![-1.0; 3], vec![-0.5; 3]).unwrap();
    let nowhere = |condition| Query {
        bbox: Some(bbox.clone()),
        ..asked(condition)
    };
    let got = ask(&store, nowhere("object_id >= 0")).await.unwrap();
    assert_eq!(got.all.summary.objects, 0);
    // Ids that the query names are listed.
    let named = Query {
        objects: Some(vec![lines()[2].id, lines()[1].id]),
        ..nowhere("object_id >= 0")
    };
    let got = ask(&store, named).await.unwrap();
    assert_eq!(listed(&got).1, ["0", "0"]);
}

#[tokio::test]
async fn what_cannot_be_tested_is_refused() {
    let store = stored(&lines()).await;
    for (query, parts) in [
        (
            asked("class > 5 or s > 1"),
            ["`class` is a text", "`5`, which is a number"],
        ),
        (
            asked("s > 1 or group.number > x"),
            ["compares group.number, which is of groups, with x", "^"],
        ),
        (
            asked("s > 1 or start.q > 1"),
            ["no axis \"q\": there are", "^"],
        ),
        (
            asked("ss > 1 or w > 1"),
            [
                "no vertex attribute \"ss\" on level 0 (did you mean \"s\"?)",
                "^",
            ],
        ),
        (
            Query {
                select: Select::Chunks,
                ..asked("s > 1 or w > 1")
            },
            ["`s > 1 or w > 1`", "selects no whole chunks"],
        ),
    ] {
        let error = ask(&store, query).await.err().unwrap().to_string();
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[tokio::test]
async fn vertices_of_no_object_are_named_in_a_warning() {
    let points = [
        [1.0, 1.0, 1.0],
        [2.0, 2.0, 2.0],
        [15.0, 1.0, 1.0],
        [16.0, 1.0, 1.0],
    ];
    let store = memory(&Made::points_with_ids(&points, &[3, 5, 3, 5]).files()).await;
    let got = ask(&store, asked("x > 15 or object_id = 3")).await.unwrap();
    let rows = [("3", points[0]), ("3", points[2]), ("5", points[3])];
    let rows = rows.map(|(id, row)| (id.to_owned(), shown(&row)));
    assert_eq!(found(&got), rows);
    let warnings = &got.all.summary.warnings;
    assert!(
        warnings
            .iter()
            .any(|one| one.contains("vertices of no object are not in the answer")),
        "{warnings:?}"
    );
}
