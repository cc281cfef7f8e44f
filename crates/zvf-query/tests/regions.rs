//! Regions against brute force: every row, every object, and the chunks that are read.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use zvf_query::numbers::floats;
use zvf_query::{
    BBox, Class, Column, Filter, ObjectRelation, Outputs, Query, QuerySpec, Region, Select, Target,
};
use zvf_store::Store;
use zvf_testkit::sample::Sample;

use crate::make::Made;
use crate::support::{Got, ask, block_on, bundled, column, memory, sorted};

/// The test's own model of a region, which decides independently whether a point is inside.
#[derive(Debug, Clone)]
enum Own {
    Sphere([f64; 3], f64),
    Near(usize, f64, f64),
    /// A triangle with whole coordinates, counter-clockwise, in the plane of two axes.
    Triangle([[f64; 2]; 3], [usize; 2]),
    Both(Box<Own>, Box<Own>),
    Either(Box<Own>, Box<Own>),
    Not(Box<Own>),
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Own {
    fn holds(&self, p: [f64; 3]) -> bool {
        match self {
            Self::Sphere(c, r) => {
                let squares = (0..3).map(|at| (p[at] - c[at]) * (p[at] - c[at]));
                squares.sum::<f64>() <= r * r
            }
            Self::Near(axis, value, distance) => (p[*axis] - value).abs() <= *distance,
            Self::Triangle(corners, axes) => {
                (0..3).all(|at| turns(corners, at, axes.map(|axis| p[axis])) >= 0.0)
            }
            Self::Both(a, b) => a.holds(p) && b.holds(p),
            Self::Either(a, b) => a.holds(p) || b.holds(p),
            Self::Not(one) => !one.holds(p),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Sphere([x, y, z], r) => format!("sphere({x},{y},{z},{r})"),
            Self::Near(axis, value, distance) => {
                format!("near({}={value},{distance})", AXES[*axis])
            }
            Self::Triangle([a, b, c], axes) => {
                let ring = [a, b, c, a].map(|[x, y]| format!("{x} {y}")).join(", ");
                format!(
                    "polygon(POLYGON (({ring})), {}, {})",
                    AXES[axes[0]], AXES[axes[1]]
                )
            }
            Self::Both(a, b) => format!("({}) and ({})", a.text(), b.text()),
            Self::Either(a, b) => format!("({}) or ({})", a.text(), b.text()),
            Self::Not(one) => format!("not ({})", one.text()),
        }
    }

    fn region(&self) -> Region {
        Region::parse(&self.text()).unwrap()
    }

    /// The distance of a box from a single shape: below 0 if they surely meet, above 0 if they surely do not.
    fn gap(&self, low: [f64; 3], high: [f64; 3]) -> f64 {
        let outside = |at: usize, value: f64| (low[at] - value).max(value - high[at]).max(0.0);
        match self {
            Self::Sphere(c, r) => {
                let squares = (0..3).map(|at| outside(at, c[at]).powi(2));
                squares.sum::<f64>().sqrt() - r
            }
            Self::Near(axis, value, distance) => outside(*axis, *value) - distance,
            Self::Triangle(corners, axes) => {
                let (low, high) = (axes.map(|axis| low[axis]), axes.map(|axis| high[axis]));
                // Separating axes: the axes of the box, and the normals of the edges.
                let side = |normal: [f64; 2]| {
                    let along = |p: [f64; 2]| p[0] * normal[0] + p[1] * normal[1];
                    let ours = corners.map(along);
                    let boxes = [
                        [low[0], low[1]],
                        [low[0], high[1]],
                        [high[0], low[1]],
                        [high[0], high[1]],
                    ]
                    .map(along);
                    let ((least, most), (first, last)) = (ends(&ours), ends(&boxes));
                    (first - most).max(least - last)
                };
                let normals = (0..3).map(|at| {
                    let (a, b) = (corners[at], corners[(at + 1) % 3]);
                    let length = (b[0] - a[0]).hypot(b[1] - a[1]);
                    [(b[1] - a[1]) / length, (a[0] - b[0]) / length]
                });
                normals
                    .chain([[1.0, 0.0], [0.0, 1.0]])
                    .map(side)
                    .fold(f64::NEG_INFINITY, f64::max)
            }
            _ => unreachable!("single shapes alone"),
        }
    }
}

fn ends(all: &[f64]) -> (f64, f64) {
    let all = || all.iter().copied();
    (
        all().fold(f64::INFINITY, f64::min),
        all().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Positive if a point is on the left of an edge; exact for half steps below 2^20.
fn turns(corners: &[[f64; 2]; 3], at: usize, p: [f64; 2]) -> f64 {
    let (a, b) = (corners[at], corners[(at + 1) % 3]);
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}

/// Half steps, which often are on chunk borders, on edges, and equal to each other.
fn half() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-80_i32..80).prop_map(|at| f64::from(at) / 2.0),
        (-4_i32..4).prop_map(|at| f64::from(at) * 10.0)
    ]
}

fn position() -> impl Strategy<Value = [f32; 3]> {
    [half(), half(), half()].prop_map(|p| p.map(|one| one as f32))
}

fn shape() -> impl Strategy<Value = Own> {
    let axes = prop_oneof![Just([0, 1]), Just([0, 2]), Just([2, 1])];
    prop_oneof![
        ([half(), half(), half()], 0.0..30.0_f64)
            .prop_map(|(c, r)| Own::Sphere(c, (r * 2.0).round() / 2.0)),
        (0_usize..3, half(), 0_u8..20).prop_map(|(axis, v, d)| Own::Near(axis, v, f64::from(d))),
        ([[half(), half()], [half(), half()], [half(), half()]], axes)
            .prop_filter("a triangle has an area", |([a, b, c], _)| turns(
                &[*a, *b, *c],
                0,
                *c
            ) != 0.0)
            .prop_map(|([a, b, c], axes)| {
                let left = turns(&[a, b, c], 0, c) > 0.0;
                Own::Triangle(if left { [a, b, c] } else { [a, c, b] }, axes)
            }),
    ]
}

fn own() -> impl Strategy<Value = Own> {
    shape().prop_recursive(3, 6, 2, |part| {
        let two = || {
            (
                part.clone().prop_map(Box::new),
                part.clone().prop_map(Box::new),
            )
        };
        prop_oneof![
            two().prop_map(|(a, b)| Own::Both(a, b)),
            two().prop_map(|(a, b)| Own::Either(a, b)),
            part.clone().prop_map(|one| Own::Not(Box::new(one))),
        ]
    })
}

fn bbox() -> impl Strategy<Value = Option<BBox>> {
    let corners = ([half(), half(), half()], [half(), half(), half()]).prop_map(|(a, b)| {
        let side = |pick: fn(f64, f64) -> f64| (0..3).map(|at| pick(a[at], b[at])).collect();
        BBox::new(side(f64::min), side(f64::max)).unwrap()
    });
    proptest::option::of(corners)
}

/// Whether a point is in the region and in the box.
fn inside(own: &Own, bbox: Option<&BBox>, p: &[f32; 3]) -> bool {
    let p = p.map(f64::from);
    own.holds(p) && bbox.is_none_or(|bbox| bbox.contains(&p))
}

fn chunks(positions: &[[f32; 3]]) -> BTreeSet<[i64; 3]> {
    positions.iter().map(|p| Made::chunk_of(*p, 10.0)).collect()
}

fn ids(got: &Got) -> Vec<i64> {
    let ids = column(got.objects.as_ref().unwrap(), "object_id");
    ids.iter().map(|id| id.parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn regions_of_points_hold_what_brute_force_finds(
        positions in proptest::collection::vec(position(), 1..60), own in own(), bbox in bbox(), least in 0_i32..60
    ) {
        block_on(async {
            let store = memory(&Made::points(&positions).files()).await;
            let query = Query { region: Some(own.region()), bbox: bbox.clone(), ..Query::default() };
            let got = ask(&store, query.clone()).await.unwrap();
            let numbers = |least: i32| -> Vec<String> {
                let hits = positions.iter().enumerate();
                let hits = hits.filter(|(at, p)| inside(&own, bbox.as_ref(), p) && *at as i32 >= least);
                sorted(hits.map(|(at, _)| at.to_string()).collect())
            };
            assert_eq!(sorted(got.column("n")), numbers(0), "{}", own.text());
            let filter = Some(Filter::parse(&format!("n >= {least} and x < 30")).unwrap());
            let got = ask(&store, Query { filter, ..query.clone() }).await.unwrap();
            let below = |at: &String| positions[at.parse::<usize>().unwrap()][0] < 30.0;
            let expected: Vec<String> = numbers(least).into_iter().filter(below).collect();
            assert_eq!(sorted(got.column("n")), expected, "{}", own.text());
            // All pieces together have the rows of the answer.
            let pieces = Query { outputs: Outputs { vertices: true, links: false, objects: false }, ..query.clone() };
            let mut found = Vec::new();
            for split in pieces.splits(&store, Target::Count(3)).await.unwrap() {
                found.extend(ask(&store, split.query().unwrap()).await.unwrap().column("n"));
            }
            assert_eq!(sorted(found), numbers(0), "{}", own.text());
            // A limit returns the first rows.
            let all = ask(&store, query.clone()).await.unwrap().column("n");
            let some = ask(&store, Query { limit: Some(2), ..query.clone() }).await.unwrap().column("n");
            assert_eq!(some, all[..all.len().min(2)]);
            // Whole chunks are the chunks of the plan.
            let plan = query.plan(&store).await.unwrap();
            let planned: BTreeSet<String> = plan[0].chunks().map(|chunk| format!("{} {} {}", chunk[0], chunk[1], chunk[2])).collect();
            let got = ask(&store, Query { select: Select::Chunks, columns: vec![Column::Chunk], ..query }).await.unwrap();
            assert_eq!(got.column("chunk").into_iter().collect::<BTreeSet<_>>(), planned);
        });
    }

    #[test]
    fn chunks_that_are_read_are_those_that_meet_the_shape(
        positions in proptest::collection::vec(position(), 1..200), own in shape()
    ) {
        block_on(async {
            let store = memory(&Made::points(&positions).files()).await;
            let got = ask(&store, Query { region: Some(own.region()), ..Query::default() }).await.unwrap();
            let gaps: Vec<f64> = chunks(&positions).into_iter().map(|chunk| {
                let low = chunk.map(|at| at as f64 * 10.0);
                own.gap(low, low.map(|at| at + 10.0))
            }).collect();
            let read = got.all.summary.chunks_read;
            let surely = gaps.iter().filter(|gap| **gap < -1e-3).count() as u64;
            let perhaps = gaps.iter().filter(|gap| **gap <= 1e-3).count() as u64;
            assert!((surely..=perhaps).contains(&read), "{}: {read} of {surely} to {perhaps}", own.text());
        });
    }

    #[test]
    fn objects_are_related_as_brute_force_finds(
        lines in proptest::collection::vec(proptest::collection::vec(position(), 1..12), 1..8),
        own in own(), bbox in bbox()
    ) {
        block_on(async {
            let lines: Vec<(i64, Vec<[f32; 3]>)> = (0..).map(|at: i64| at * 3 - 4).zip(lines).collect();
            let store = memory(&Made::streamlines(&lines).files()).await;
            let query = Query { region: Some(own.region()), bbox: bbox.clone(), ..Query::default() };
            let hit = |p: &[f32; 3]| inside(&own, bbox.as_ref(), p);
            // Rows and the links between these rows.
            let got = ask(&store, query.clone()).await.unwrap();
            let rows = lines.iter().flat_map(|(_, line)| line).filter(|p| hit(p)).count();
            assert_eq!(got.all.summary.vertices, rows as u64, "{}", own.text());
            let pairs = lines.iter().flat_map(|(_, line)| line.windows(2)).filter(|pair| pair.iter().all(hit)).count();
            assert_eq!(got.links().len(), pairs, "{}", own.text());
            for relation in [ObjectRelation::Touching, ObjectRelation::Inside, ObjectRelation::Starting, ObjectRelation::Ending] {
                let holds = |line: &[[f32; 3]]| match relation {
                    ObjectRelation::Touching => line.iter().any(hit),
                    ObjectRelation::Inside => line.iter().all(hit),
                    ObjectRelation::Starting => hit(&line[0]),
                    ObjectRelation::Ending => hit(&line[line.len() - 1]),
                };
                let expected: Vec<&(i64, Vec<[f32; 3]>)> = lines.iter().filter(|(_, line)| holds(line)).collect();
                let query = Query { relation: Some(relation), ..query.clone() };
                let got = ask(&store, query.clone()).await.unwrap();
                let what = format!("{} {}", relation.name(), own.text());
                assert_eq!(ids(&got), expected.iter().map(|(id, _)| *id).collect::<Vec<_>>(), "{what}");
                let all: usize = expected.iter().map(|(_, line)| line.len()).sum();
                assert_eq!(got.all.summary.vertices, all as u64, "{what}");
                // Requested ids are returned in their order.
                let asked: Vec<i64> = lines.iter().rev().map(|(id, _)| *id).collect();
                let got = ask(&store, Query { objects: Some(asked), ..query.clone() }).await.unwrap();
                assert_eq!(ids(&got), expected.iter().rev().map(|(id, _)| *id).collect::<Vec<_>>(), "{what}");
                // Combined with conditions on objects, and in pieces.
                let filter = Some(Filter::parse("count() > 3 and object_id < 12").unwrap());
                let long = |(id, line): &&&(i64, Vec<[f32; 3]>)| line.len() > 3 && *id < 12;
                let query = Query { filter, ..query };
                let mut found = Vec::new();
                for split in query.splits(&store, Target::Count(2)).await.unwrap() {
                    found.extend(ids(&ask(&store, split.query().unwrap()).await.unwrap()));
                }
                assert_eq!(found, expected.iter().filter(long).map(|(id, _)| *id).collect::<Vec<_>>(), "{what}");
            }
        });
    }
}

/// Positions of the rows of a query.
async fn positions(store: &Store, query: Query) -> Vec<Vec<f64>> {
    let dims = store.root().dims();
    let query = Query {
        columns: vec![Column::Position],
        ..query
    };
    let got = ask(store, query).await.unwrap();
    let values = floats(got.vertices.as_ref().unwrap().column(0)).values;
    values.chunks_exact(dims).map(<[f64]>::to_vec).collect()
}

fn written(rows: impl IntoIterator<Item = Vec<f64>>) -> Vec<String> {
    sorted(rows.into_iter().map(|row| format!("{row:?}")).collect())
}

/// The bundled stores have other number types, offsets, additive levels, and keys that do not determine positions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_bundled_levels_are_those_of_brute_force() {
    for case in Sample::new("regions").some(zvf_testkit::cases().unwrap(), 6) {
        let store = bundled(&case).await;
        let axes: Vec<&str> = store
            .root()
            .axes()
            .iter()
            .map(|axis| axis.name.as_str())
            .collect();
        for level in store.levels().to_vec() {
            let all = positions(
                &store,
                Query {
                    level,
                    ..Query::default()
                },
            )
            .await;
            let Some(middle) = all
                .get(all.len() / 2)
                .filter(|row| row.iter().all(|one| one.is_finite()))
                .cloned()
            else {
                continue;
            };
            let (lo, hi) = &store.root().zarr_vectors.bounds;
            let size = lo
                .iter()
                .zip(hi)
                .map(|(lo, hi)| hi - lo)
                .fold(1.0, f64::max);
            let square = |row: &[f64]| {
                row.iter()
                    .zip(&middle)
                    .map(|(a, b)| (a - b) * (a - b))
                    .sum::<f64>()
            };
            let radius = size / 5.0;
            let sphere = Region::sphere(&middle, radius).unwrap();
            let near = Region::near(axes[0], middle[0], radius / 3.0).unwrap();
            let slab = |row: &[f64]| (row[0] - middle[0]).abs() <= radius / 3.0;
            let ball = |row: &[f64]| square(row) <= radius * radius;
            let region = sphere.and(!near);
            let found = positions(
                &store,
                Query {
                    level,
                    region: Some(region),
                    ..Query::default()
                },
            )
            .await;
            let expected = all.iter().filter(|row| ball(row) && !slab(row)).cloned();
            assert_eq!(written(found), written(expected), "{case}, level {level}");
            if axes.len() < 2 {
                continue;
            }
            // A triangle with a vertex at a row.
            let [a, b] = [middle[0], middle[1]];
            let polygon = format!(
                "POLYGON (({a} {b}, {} {b}, {a} {}, {a} {b}))",
                a + radius,
                b + radius
            );
            let plane = format!("`{}`,`{}`", axes[0], axes[1]);
            let region = Region::polygon(&polygon)
                .unwrap()
                .with_plane(&plane)
                .unwrap();
            let found = positions(
                &store,
                Query {
                    level,
                    region: Some(region),
                    ..Query::default()
                },
            )
            .await;
            // Rows near the hypotenuse are not compared, because its ends are rounded.
            let side = |row: &[f64]| (row[0] - a) + (row[1] - b) - radius;
            let clear = |row: &[f64]| side(row).abs() > size * 1e-9;
            let expected = all
                .iter()
                .filter(|row| row[0] >= a && row[1] >= b && side(row) < 0.0 && clear(row));
            let found = found.into_iter().filter(|row| clear(row));
            assert_eq!(
                written(found),
                written(expected.cloned()),
                "{case}, level {level}: {polygon}"
            );
        }
    }
}

#[test]
fn positions_that_are_no_numbers_are_in_no_region() {
    block_on(async {
        let odd = [f32::NAN, 1.0, 1.0];
        let store = memory(&Made::points(&[odd, [1.0, 1.0, 1.0], [1.0, 2.0, 3.0]]).files()).await;
        for (text, rows) in [
            ("near(y=1,0)", 1),
            ("not near(y=1,0)", 1),
            ("box(y=:)", 2),
            ("not box(z=2:)", 1),
        ] {
            let region = Some(Region::parse(text).unwrap());
            let got = ask(
                &store,
                Query {
                    region,
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            assert_eq!(got.all.summary.vertices, rows, "{text}");
        }
    });
}

/// An empty region reads nothing; a region that contains everything returns everything.
#[test]
fn empty_and_huge_regions() {
    block_on(async {
        let positions: Vec<[f32; 3]> = (0..100_i16).map(|at| [f32::from(at), 0.0, 0.0]).collect();
        let store = memory(&Made::points(&positions).files()).await;
        for (text, rows, chunks) in [
            ("sphere(1000,0,0,1)", 0, 0),
            ("polygon(POLYGON EMPTY)", 0, 0),
            ("near(x=5,0) and near(x=95,0)", 0, 0),
            ("near(x=4,0) and near(x=6,0)", 0, 1),
            ("not box(x=:)", 0, 0),
            ("sphere(0,0,0,1e90)", 100, 10),
            ("not polygon(POLYGON EMPTY)", 100, 10),
            ("near(x=5,0) or near(x=95,0)", 2, 2),
        ] {
            let region = Some(Region::parse(text).unwrap());
            let got = ask(
                &store,
                Query {
                    region,
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            let summary = &got.all.summary;
            assert_eq!(
                (summary.vertices, summary.chunks_read),
                (rows, chunks),
                "{text}"
            );
        }
    });
}

/// Rows outside the chunks of their keys are found, with a warning.
#[test]
fn keys_that_say_nothing_leave_no_row_out() {
    block_on(async {
        let positions: Vec<[f32; 3]> = (0..60_i16).map(|at| [f32::from(at), 1.0, 1.0]).collect();
        let store = memory(&Made::placed(&positions, 25.0).files()).await;
        let region = Some(Region::parse("sphere(40,1,1,3) and not near(x=40,0)").unwrap());
        for objects in [None, Some(Select::Chunks)] {
            let select = objects.unwrap_or_default();
            let got = ask(
                &store,
                Query {
                    region: region.clone(),
                    select,
                    ..Query::default()
                },
            )
            .await
            .unwrap();
            let rows = if select == Select::Chunks { 25 } else { 6 };
            assert_eq!(got.all.summary.vertices, rows);
            assert!(
                got.all
                    .summary
                    .warnings
                    .iter()
                    .any(|one| one.contains("all chunks are read"))
            );
        }
    });
}

#[test]
fn regions_of_other_stores_are_refused() {
    block_on(async {
        let store = memory(&Made::points(&[[0.0; 3]]).files()).await;
        for (spec, message) in [
            (
                json!({"sphere": "1,2,3"}),
                "sphere: found a centre of 2 numbers, expected 3",
            ),
            (json!({"near": "t=0,1"}), "near: no axis \"t\""),
            (
                json!({"polygon": "POLYGON EMPTY", "plane": "xt"}),
                "plane: no axis \"t\"",
            ),
            (
                json!({"sphere": "1,2,3,4", "inside": true}),
                "level 0 has no object index",
            ),
        ] {
            let error = QuerySpec::from_json(&spec)
                .unwrap()
                .run(&store)
                .await
                .unwrap_err();
            assert_eq!(error.class(), Class::Misuse, "{spec}");
            assert!(error.to_string().starts_with(message), "{spec}: {error}");
        }
    });
}

/// A description that was written and read again is the same query.
#[test]
fn a_description_keeps_its_region() {
    let given = json!({
        "sphere": [1, 2, 3, 4], "near": "x=0,1", "polygon": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]},
        "plane": "xz", "ending": true
    });
    let spec = QuerySpec::from_json(&given).unwrap();
    let text = serde_json::to_string(&spec).unwrap();
    let expected = r#"{"region":"sphere(1,2,3,4) and near(x=0,1) and polygon(POLYGON ((0 0, 1 0, 1 1, 0 0)))","plane":"x,z","ending":true}"#;
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<QuerySpec>(&text).unwrap(), spec);
    let query = spec.plain().unwrap();
    let region = query.region.unwrap().to_string();
    assert!(
        region.ends_with("polygon(POLYGON ((0 0, 1 0, 1 1, 0 0)), x, z)"),
        "{region}"
    );
    assert_eq!(query.relation, Some(ObjectRelation::Ending));
}
