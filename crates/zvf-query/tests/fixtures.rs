//! All queries of every bundled store, compared by content with the input.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zvf_query::{BBox, Query};
use zvf_store::Store;
use zvf_testkit::{Case, Column, Truth, Values};

use crate::support::{Got, ask, bundled, column, float, sorted};

/// A row of the input as text.
fn cell(column: &Column, row: usize) -> String {
    let width = column.width();
    let text = |at: usize| match &column.values {
        Values::Float(values) => float(values[at]),
        Values::Int(values) => values[at].to_string(),
        Values::Uint(values) => values[at].to_string(),
        Values::Text(values) => values[at].clone(),
    };
    (row * width..(row + 1) * width)
        .map(text)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A vertex of the input as text, in the form of [`Got::rows`].
fn vertex(truth: &Truth, row: usize) -> String {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for (name, values) in &truth.attributes {
        parts.insert(name.clone(), cell(values, row));
    }
    parts.insert("position".into(), cell(&truth.positions, row));
    parts
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// The rows of an answer, without attributes that the truth does not have.
fn rows_of(truth: &Truth, got: &Got) -> Vec<String> {
    got.rows_of(
        truth
            .attributes
            .keys()
            .cloned()
            .chain(["position".to_owned()])
            .collect(),
    )
}

fn position(truth: &Truth, row: usize) -> String {
    cell(&truth.positions, row)
}

fn pairs(column: &Column) -> Vec<Vec<usize>> {
    let width = column.width();
    column
        .i64s()
        .unwrap()
        .chunks(width)
        .map(|row| row.iter().map(|v| *v as usize).collect())
        .collect()
}

/// The chunk of every row, by the rule on the format's pages.
fn chunks_of(store: &Store, truth: &Truth) -> Vec<Vec<i64>> {
    let shape = &store.root().zarr_vectors.chunk_shape;
    let positions = truth.positions.f64s().unwrap();
    let axis = |(p, edge): (&f64, &f64)| (p / edge).floor() as i64;
    let of = |row: &[f64]| row.iter().zip(shape).map(axis).collect();
    positions.chunks(shape.len()).map(of).collect()
}

/// Links that a result of these rows must have, as tuples of positions with the link's attributes.
fn expected_links(
    store: &Store,
    case: &Case,
    truth: &Truth,
    rows: &BTreeSet<usize>,
) -> Vec<String> {
    let tuple = |ends: &[usize]| {
        ends.iter()
            .map(|row| position(truth, *row))
            .collect::<Vec<_>>()
    };
    let inside = |ends: &[usize]| ends.iter().all(|row| rows.contains(row));
    let chunks = chunks_of(store, truth);
    let crosses = |ends: &[usize]| ends.iter().any(|row| chunks[*row] != chunks[ends[0]]);
    let mut found = Vec::new();
    match case.kind.as_str() {
        "graph" | "skeleton" => {
            for (number, ends) in pairs(truth.edges.as_ref().unwrap()).iter().enumerate() {
                if inside(ends) {
                    let mut text = tuple(ends);
                    if case.kind == "graph" {
                        // Releases before 0.9 lost the attributes of links across chunks: exactly these are null.
                        let lost = case.link_weight_incomplete && crosses(ends);
                        for (name, values) in &truth.link_attributes {
                            let value = if lost {
                                "null".to_owned()
                            } else {
                                cell(values, number)
                            };
                            text.push(format!("{name}={value}"));
                        }
                    }
                    found.push(text.join(" | "));
                }
            }
        }
        "mesh" => {
            for ends in pairs(truth.faces.as_ref().unwrap()) {
                if inside(&ends) {
                    found.push(cyclic(tuple(&ends)).join(" | "));
                }
            }
        }
        "line" | "polyline" | "streamline" => {
            for object in case.objects.values() {
                for pair in object.windows(2) {
                    if inside(pair) {
                        found.push(tuple(pair).join(" | "));
                    }
                }
            }
        }
        _ => {}
    }
    sorted(found)
}

/// A cyclic tuple begins with its smallest member.
fn cyclic(mut ends: Vec<String>) -> Vec<String> {
    let least = (0..ends.len()).min_by_key(|at| {
        let mut turned = ends.clone();
        turned.rotate_left(*at);
        turned
    });
    ends.rotate_left(least.unwrap_or(0));
    ends
}

fn got_links(case: &Case, got: &Got) -> Vec<String> {
    let positions = got.column("position");
    let Some(batch) = &got.links else {
        return Vec::new();
    };
    let names: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .skip(1)
        .map(|field| field.name().clone())
        .collect();
    let columns: Vec<Vec<String>> = names.iter().map(|name| column(batch, name)).collect();
    let text = |(number, ends): (usize, &Vec<usize>)| {
        let mut text: Vec<String> = ends.iter().map(|row| positions[*row].clone()).collect();
        if case.kind == "mesh" {
            text = cyclic(text);
        }
        if case.kind == "graph" {
            for (name, column) in names.iter().zip(&columns) {
                text.push(format!("{name}={}", column[number]));
            }
        }
        text.join(" | ")
    };
    sorted(got.links().iter().enumerate().map(text).collect())
}

async fn check_boxes(name: &str, store: &Store, copied: bool) {
    let (case, truth) = (
        zvf_testkit::case(name).unwrap(),
        zvf_testkit::truth(name).unwrap(),
    );
    let mut warned = Vec::new();
    for (number, asked) in case.queries.iter().enumerate() {
        let bbox = BBox::new(asked.lo.clone(), asked.hi.clone()).unwrap();
        let got = ask(
            store,
            Query {
                level: asked.level,
                bbox: Some(bbox),
                own_level_only: asked.own_level_only,
                ..Query::default()
            },
        )
        .await
        .unwrap();
        let rows: BTreeSet<usize> = asked.rows.iter().copied().collect();
        let expected = sorted(rows.iter().map(|row| vertex(&truth, *row)).collect());
        assert_eq!(
            sorted(rows_of(&truth, &got)),
            expected,
            "{name}, box {number}"
        );
        assert_eq!(
            got_links(&case, &got),
            expected_links(store, &case, &truth, &rows),
            "{name}, links of box {number}"
        );
        if !case.objects.is_empty() && got.objects.is_some() {
            check_counts(name, &case, &truth, &got, &rows);
        }
        warned.extend(check_warnings(name, &case, store, &got));
    }
    // A copy has fewer warnings.
    for wanted in case.warnings.iter().filter(|_| !copied) {
        assert!(
            warned.iter().any(|text| text.contains(wanted)),
            "{name}: no warning of {wanted} in {warned:?}"
        );
    }
}

/// Checks that a query has no warnings except those of the case; returns its warnings.
fn check_warnings(name: &str, case: &Case, store: &Store, got: &Got) -> Vec<String> {
    let mut found = store.warnings();
    found.extend(got.all.summary.warnings.iter().cloned());
    let known = |text: &&String| case.warnings.iter().any(|wanted| text.contains(wanted));
    assert_eq!(found.iter().find(|text| !known(text)), None, "{name}");
    found
}

/// The object table of a box: how many rows of each object, and the attributes.
fn check_counts(name: &str, case: &Case, truth: &Truth, got: &Got, rows: &BTreeSet<usize>) {
    let batch = got.objects.as_ref().unwrap();
    let count = |object: &Vec<usize>| {
        object
            .iter()
            .collect::<BTreeSet<_>>()
            .intersection(&rows.iter().collect())
            .count()
    };
    let counts = case
        .objects
        .iter()
        .map(|(id, object)| (id.to_string(), count(object).to_string()));
    let expected: Vec<(String, String)> = counts.filter(|(_, count)| count != "0").collect();
    let found: Vec<(String, String)> = column(batch, "object_id")
        .into_iter()
        .zip(column(batch, "vertices"))
        .collect();
    assert_eq!(sorted(found), sorted(expected), "{name}, objects");
    check_object_attributes(name, truth, got);
}

fn check_object_attributes(name: &str, truth: &Truth, got: &Got) {
    let Some(ids) = &truth.object_ids else { return };
    let batch = got.objects.as_ref().unwrap();
    let place: HashMap<String, usize> = (0..ids.rows()).map(|row| (cell(ids, row), row)).collect();
    for (attribute, values) in &truth.object_attributes {
        // An attribute with the name of a column of the table has a prefix.
        let own = attribute == "length" && batch.column_by_name("start").is_some();
        let attribute = if own {
            format!("attribute:{attribute}")
        } else {
            attribute.clone()
        };
        for (id, value) in column(batch, "object_id")
            .iter()
            .zip(column(batch, &attribute))
        {
            assert_eq!(
                value,
                cell(values, place[id]),
                "{name}, object {id}, {attribute}"
            );
        }
    }
}

async fn check_objects(name: &str, store: &Store) {
    let (case, truth) = (
        zvf_testkit::case(name).unwrap(),
        zvf_testkit::truth(name).unwrap(),
    );
    let ordered = matches!(case.kind.as_str(), "line" | "polyline" | "streamline");
    for (id, rows) in &case.objects {
        let got = ask(
            store,
            Query {
                objects: Some(vec![*id]),
                ..Query::default()
            },
        )
        .await
        .unwrap();
        let expected: Vec<String> = rows.iter().map(|row| vertex(&truth, *row)).collect();
        if ordered {
            assert_eq!(rows_of(&truth, &got), expected, "{name}, object {id}");
        } else {
            assert_eq!(
                sorted(rows_of(&truth, &got)),
                sorted(expected),
                "{name}, object {id}"
            );
        }
        let of: BTreeSet<usize> = rows.iter().copied().collect();
        let one = Case {
            objects: BTreeMap::from([(*id, rows.clone())]),
            ..case.clone()
        };
        assert_eq!(
            got_links(&one, &got),
            expected_links(store, &one, &truth, &of),
            "{name}, links of object {id}"
        );
        let objects = got.objects.as_ref().unwrap();
        assert_eq!(column(objects, "object_id"), [id.to_string()]);
        assert_eq!(column(objects, "start"), ["0"]);
        assert_eq!(column(objects, "length"), [rows.len().to_string()]);
        check_object_attributes(name, &truth, &got);
    }
    if case.objects.is_empty() {
        return;
    }
    // All objects at once, the last first.
    let ids: Vec<i64> = case.objects.keys().rev().copied().collect();
    let got = ask(
        store,
        Query {
            objects: Some(ids.clone()),
            ..Query::default()
        },
    )
    .await
    .unwrap();
    let all = rows_of(&truth, &got);
    let objects = got.objects.as_ref().unwrap();
    assert_eq!(
        column(objects, "object_id"),
        ids.iter().map(i64::to_string).collect::<Vec<_>>()
    );
    let number = |text: &String| text.parse::<usize>().unwrap();
    let spans = column(objects, "start")
        .iter()
        .map(number)
        .zip(
            column(objects, "length")
                .iter()
                .map(number)
                .collect::<Vec<_>>(),
        )
        .collect::<Vec<_>>();
    for (id, (start, length)) in ids.iter().zip(spans) {
        let expected: Vec<String> = case.objects[id]
            .iter()
            .map(|row| vertex(&truth, *row))
            .collect();
        let found = all[start..start + length].to_vec();
        if ordered {
            assert_eq!(found, expected, "{name}, object {id} of all");
        } else {
            assert_eq!(
                sorted(found),
                sorted(expected),
                "{name}, object {id} of all"
            );
        }
    }
    let every: BTreeSet<usize> = case.objects.values().flatten().copied().collect();
    let rows: usize = case.objects.values().map(Vec::len).sum();
    let expected = if every.len() == rows || ordered {
        expected_links(store, &case, &truth, &every)
    } else {
        // Shared rows are returned once for each object.
        let of = |rows: &Vec<usize>| rows.iter().copied().collect();
        let each = case
            .objects
            .values()
            .flat_map(|rows| expected_links(store, &case, &truth, &of(rows)));
        sorted(each.collect())
    };
    assert_eq!(
        got_links(&case, &got),
        expected,
        "{name}, links of all objects"
    );
}

async fn check_groups(name: &str, store: &Store) {
    let (case, truth) = (
        zvf_testkit::case(name).unwrap(),
        zvf_testkit::truth(name).unwrap(),
    );
    for (group, members) in &case.groups {
        let got = ask(
            store,
            Query {
                groups: Some(vec![*group]),
                ..Query::default()
            },
        )
        .await
        .unwrap();
        let ids: BTreeSet<i64> = members.iter().copied().collect();
        let expected: Vec<String> = ids
            .iter()
            .filter_map(|id| case.objects.get(id))
            .flatten()
            .map(|row| vertex(&truth, *row))
            .collect();
        assert_eq!(
            sorted(rows_of(&truth, &got)),
            sorted(expected),
            "{name}, group {group}"
        );
        let found = column(got.objects.as_ref().unwrap(), "object_id");
        assert_eq!(found, ids.iter().map(i64::to_string).collect::<Vec<_>>());
    }
}

/// Runs all queries of one case.
pub(crate) async fn check(name: &str, store: &Store) {
    check_store(name, store, false).await;
}

/// Runs all queries of one case on the store or on a copy that `zvf-write` made of it.
pub(crate) async fn check_store(name: &str, store: &Store, copied: bool) {
    check_boxes(name, store, copied).await;
    check_objects(name, store).await;
    check_groups(name, store).await;
}

macro_rules! cases {
    ($($name:ident),*) => {$(
        mod $name {
            #[tokio::test]
            async fn in_memory() {
                super::check(stringify!($name), &super::bundled(stringify!($name)).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn on_disk() {
                let folder = zvf_testkit::unpacked(stringify!($name)).unwrap();
                let store = zvf_store::Store::open(&folder.url().unwrap()).await.unwrap();
                super::check(stringify!($name), &store).await;
            }
        }
    )*};
}

cases!(
    graph,
    lines,
    mesh,
    points_2d_f8,
    points_4d_sharded,
    points_bins,
    points_ids,
    real_mesh,
    real_skeleton,
    real_synapses,
    real_tractogram,
    skeleton,
    streamlines
);

#[test]
fn every_bundled_store_is_asked() {
    assert_eq!(zvf_testkit::cases().unwrap().len(), 13);
}
