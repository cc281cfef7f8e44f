//! Groups of links that contradict the declaration of the level: an error if their rows are read, never other rows.

use std::collections::BTreeMap;

use serde_json::json;
use zvf_query::{Class, Query};

use crate::make::{Coord, Made, fragment_index, grid, place};
use crate::support::{ask, memory};

const HERE: Coord = [0, 0, 0];
const OTHER: Coord = [1, 0, 0];

/// Two objects with three vertices each in one chunk, a link between each pair of consecutive vertices, and the rows of the
/// links' groups.
fn files(groups: Option<&[Vec<i64>]>) -> BTreeMap<String, Vec<u8>> {
    let positions: Vec<[f32; 3]> = (0..7)
        .map(|at| [[1.0, 12.0][at / 6], at as f32, 1.0])
        .collect();
    let mut made = Made::points_with_ids(&positions, &[4, 4, 4, 9, 9, 9, 9]);
    (made.kind, made.convention) = ("graph", "explicit");
    let here = |row| (HERE, row);
    made.links = Some(place(
        &[
            vec![here(0), here(1)],
            vec![here(3), here(4)],
            vec![here(1), here(2)],
            vec![here(4), here(5)],
            vec![here(5), (OTHER, 0)],
        ],
        true,
    ));
    made.root = json!({"format_capabilities": ["fragment_link_groups"]});
    made.level = json!({"fragment_link_groups": true});
    let mut files = made.files();
    if let Some(groups) = groups {
        let cells = BTreeMap::from([
            (HERE, fragment_index(groups)),
            (OTHER, fragment_index(&[vec![]])),
        ]);
        let document = json!({"zv_array": "link_fragments", "encoding": "fragment_index_v1"});
        grid(
            &mut files,
            "0/link_fragments",
            (HERE, OTHER),
            document,
            &cells,
        );
    }
    files
}

fn object(id: i64) -> Query {
    Query {
        objects: Some(vec![id]),
        ..Query::default()
    }
}

#[tokio::test]
async fn rows_of_an_object_are_those_of_its_groups() {
    let store = memory(&files(Some(&[vec![0, 2], vec![1, 3]]))).await;
    for (id, links, rows) in [(4, 2, 2), (9, 3, 3)] {
        let got = ask(&store, object(id)).await.unwrap();
        assert_eq!(got.links().len(), links);
        assert_eq!(got.all.summary.link_rows_read, rows);
    }
    let first = Query {
        limit: Some(1),
        ..object(9)
    };
    let got = ask(&store, first).await.unwrap();
    assert_eq!((got.all.summary.vertices, got.links().len()), (1, 0));
    let all = Query {
        objects: Some(vec![9, 4]),
        ..Query::default()
    };
    let got = ask(&store, all).await.unwrap();
    assert_eq!((got.links().len(), got.all.summary.link_rows_read), (5, 5));
}

#[tokio::test]
async fn groups_that_are_not_as_claimed_are_malformed() {
    let wrong: [(&[Vec<i64>], &str); 6] = [
        // A link of the other object.
        (&[vec![0, 1], vec![2, 3]], "another fragment"),
        // One link in no group, and one in two.
        (&[vec![0], vec![1, 3]], "groups of 3 links"),
        (&[vec![0, 0], vec![1, 3]], "in two groups"),
        // Too few groups, and too many.
        (&[vec![0, 1, 2, 3]], "no group 1"),
        (&[vec![], vec![1, 3], vec![0, 2]], "3 groups"),
        // A row that the cell does not have.
        (&[vec![0, 2], vec![1, 4]], "groups of 4 links"),
    ];
    for (groups, part) in wrong {
        let store = memory(&files(Some(groups))).await;
        let mut errors = Vec::new();
        for id in [4, 9] {
            match ask(&store, object(id)).await {
                // The wrong row was not read.
                Ok(got) => assert_eq!(
                    got.links().len(),
                    [2, 3][usize::from(id == 9)],
                    "{groups:?}"
                ),
                Err(error) => {
                    assert_eq!(error.class(), Class::Malformed, "{error}");
                    errors.push(error.to_string());
                }
            }
        }
        assert!(
            errors.iter().any(|error| error.contains(part)),
            "{part}: {errors:?}"
        );
        // A query of all links returns all of them.
        let got = ask(&store, Query::default()).await.unwrap();
        assert_eq!(got.links().len(), 5);
    }
}

#[tokio::test]
async fn a_claim_without_groups_is_malformed_where_they_are_needed() {
    let none: &[Vec<i64>] = &[];
    let store = memory(&files(Some(none))).await;
    let error = ask(&store, object(4)).await.err().unwrap();
    assert!(error.to_string().contains("the level claims"), "{error}");
    // Without the array, all links are read.
    let store = memory(&files(None)).await;
    let got = ask(&store, object(4)).await.unwrap();
    assert_eq!((got.links().len(), got.all.summary.link_rows_read), (2, 4));
}
