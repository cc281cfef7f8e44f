//! Boxes of named axes and ranges of ids, compared with the equivalent corners and lists.

use serde_json::json;
use zvf_query::numbers::floats;
use zvf_query::{BBox, Class, Column, ObjectRelation, Query, QuerySpec, Select};
use zvf_store::Store;

use crate::additive::{lines, stack};
use crate::support::{ask, bundled, column, memory};

async fn asked(store: &Store, spec: serde_json::Value) -> Result<Query, String> {
    let spec = QuerySpec::from_json(&spec).map_err(|error| error.to_string())?;
    let query = spec.resolve(store).await;
    query.map_err(|error| {
        assert_eq!(error.class(), Class::Misuse, "{error}");
        error.to_string()
    })
}

/// The test filters the rows of the whole store, axis by axis.
#[tokio::test]
async fn boxes_of_named_axes_are_boxes_with_infinite_ends() {
    for case in ["points_ids", "streamlines", "points_4d_sharded"] {
        let store = bundled(case).await;
        let axes: Vec<String> = store.root().axes().iter().map(|a| a.name.clone()).collect();
        let columns = ["chunk", "row", "position"];
        let all = QuerySpec::new().with_columns(columns).unwrap();
        let all = ask(&store, all.plain().unwrap()).await.unwrap();
        let positions = all.vertices.as_ref().unwrap();
        let positions = floats(positions.column_by_name("position").unwrap()).values;
        let column = |at: usize| -> Vec<f64> {
            let of_axis = positions.iter().skip(at).step_by(axes.len());
            of_axis.copied().collect()
        };
        let at = axes.len() - 1;
        let mut sorted = column(at);
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[sorted.len() / 4], sorted[sorted.len() * 3 / 4]);
        let inside = |value: f64| low <= value && value <= high;
        let keep: Vec<bool> = column(at).into_iter().map(inside).collect();
        let rows = all.rows().into_iter().zip(&keep);
        let wanted: Vec<String> = rows
            .filter(|(_, keep)| **keep)
            .map(|(row, _)| row)
            .collect();
        assert!(!wanted.is_empty() && wanted.len() < keep.len(), "{case}");
        let axis = axes[at].as_str();
        let infinite = |number: f64, sign: &str| {
            let ends = (0..at).map(|_| format!("{sign}inf"));
            ends.chain([number.to_string()])
                .collect::<Vec<_>>()
                .join(",")
        };
        let corners = format!("{}:{}", infinite(low, "-"), infinite(high, ""));
        let first = axes[0].as_str();
        for bbox in [
            json!(format!("{axis}={low}:{high}")),
            json!(format!("{axis}={low}:,{axis}=:{high}")),
            json!({ axis: [low, high], first: [null, "inf"] }),
        ] {
            let columns = columns.join(",");
            let spec = json!({"bbox": bbox, "columns": columns});
            let query = asked(&store, spec.clone()).await.unwrap();
            assert_eq!(ask(&store, query).await.unwrap().rows(), wanted, "{spec}");
            for select in [Select::Objects, Select::Chunks] {
                let mut spec = json!({"bbox": bbox, "columns": columns, "select": select.name()});
                let named = asked(&store, spec.clone()).await.unwrap();
                spec["bbox"] = json!(corners);
                let plain = asked(&store, spec.clone()).await.unwrap();
                match (ask(&store, named).await, ask(&store, plain).await) {
                    (Ok(named), Ok(plain)) => assert_eq!(named.rows(), plain.rows(), "{spec}"),
                    (named, plain) => assert!(named.is_err() && plain.is_err(), "{spec}"),
                }
            }
        }
        let query = asked(&store, json!({"bbox": "depth=0:1"})).await.unwrap();
        let error = ask(&store, query).await.err().unwrap();
        assert_eq!(error.class(), Class::Misuse);
        let names = format!("no axis \"depth\": there are {}", axes.join(", "));
        assert!(error.to_string().contains(&names), "{error}");
    }
}

/// A long range selects the ids that a filter of the list of objects selects.
#[tokio::test]
async fn ranges_mean_the_objects_of_the_store() {
    let store = bundled("points_ids").await;
    let listed = crate::support::listed_objects(&store, 0, false).await;
    let listed = listed.table(zvf_query::Table::Objects).unwrap().unwrap();
    let mut ids: Vec<i64> = column(&listed, "object_id")
        .iter()
        .map(|id| id.parse().unwrap())
        .collect();
    ids.sort_unstable();
    for (range, first, last) in [
        ("0-1000000000000000000", 0, 1_000_000_000_000_000_000),
        (
            "-9223372036854775808-9223372036854775807",
            i64::MIN,
            i64::MAX,
        ),
        ("-100000-2000", -100_000, 2000),
        ("0-50", 0, 50),
    ] {
        let wanted: Vec<i64> = ids
            .iter()
            .copied()
            .filter(|id| (first..=last).contains(id))
            .collect();
        let spec =
            json!({"objects": range, "ignore_missing": true, "columns": "object_id,position"});
        let query = asked(&store, spec).await.unwrap();
        let mut found = query.objects.clone().unwrap();
        found.retain(|id| ids.contains(id));
        assert_eq!(found, wanted, "{range}");
        let listed = json!({"objects": wanted, "columns": "object_id,position"});
        let listed = asked(&store, listed).await.unwrap();
        let listed = ask(&store, listed).await.unwrap().rows();
        assert_eq!(ask(&store, query).await.unwrap().rows(), listed, "{range}");
    }
    let error = asked(&store, json!({"objects": "0-1000000000000000000"})).await;
    let count = format!("at most the {} ids that the store has", ids.len());
    let error = error.unwrap_err();
    assert!(error.contains(&count), "{error}");
    let graph = bundled("points_4d_sharded").await;
    let error = asked(&graph, json!({"objects": "0-1000000"})).await;
    let error = error.unwrap_err();
    assert!(error.contains("no object index"), "{error}");
}

/// A limit that cuts objects returns the first rows of whole objects, on one level and on two.
#[tokio::test]
async fn a_limit_that_cuts_objects_is_their_first_rows() {
    let line = |y: f32, count: usize| -> Vec<[f32; 3]> {
        (0..count).map(|at| [4.0 * at as f32, y, 1.0]).collect()
    };
    let levels = [
        vec![(7, line(1.0, 6)), (2, line(3.0, 9))],
        vec![(5, line(2.0, 4))],
    ];
    for levels in [&levels[..1], &levels[..]] {
        let store = memory(&stack(&lines(levels, &[10.0, 20.0][..levels.len()]))).await;
        let query = |relation: Option<ObjectRelation>| Query {
            bbox: Some(BBox::new(vec![9.0, 0.0, 0.0], vec![13.0, 9.0, 9.0]).unwrap()),
            relation,
            select: match relation {
                Some(_) => Select::Vertices,
                None => Select::Objects,
            },
            columns: vec![Column::ObjectId, Column::Position],
            ..Query::default()
        };
        for relation in [
            None,
            Some(ObjectRelation::Touching),
            Some(ObjectRelation::Starting),
        ] {
            let all = ask(&store, query(relation)).await.unwrap().rows();
            let none = relation == Some(ObjectRelation::Starting);
            assert_eq!(all.is_empty(), none);
            for limit in 0..all.len() + 2 {
                for batch_rows in [1, 1000] {
                    let asked = Query {
                        limit: Some(limit as u64),
                        limit_cuts_objects: true,
                        batch_rows,
                        ..query(relation)
                    };
                    let found = ask(&store, asked.clone()).await.unwrap();
                    assert_eq!(found.rows(), all[..limit.min(all.len())], "{limit}");
                    assert_eq!(found.all.summary.truncated, limit < all.len(), "{limit}");
                    let whole = Query {
                        limit_cuts_objects: false,
                        ..asked
                    };
                    let whole = ask(&store, whole).await.unwrap().rows();
                    assert!(whole.len() <= limit && all.starts_with(&whole), "{limit}");
                }
            }
        }
    }
}
