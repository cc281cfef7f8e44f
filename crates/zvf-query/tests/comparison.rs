//! Differences between two stores.

use serde_json::{Value, json};
use zvf_query::{Difference, compare};
use zvf_store::Store;

use crate::make::Made;
use crate::support::memory;

async fn with_system(system: Value) -> Store {
    let mut made = Made::points(&[[1.0, 2.0, 3.0]]);
    made.root["crs"] = system;
    memory(&made.files()).await
}

#[tokio::test]
async fn coordinate_reference_systems_are_compared() {
    let text = |differences: &[Difference]| -> Vec<String> {
        differences.iter().map(ToString::to_string).collect()
    };
    let (utm, degrees) = (json!("EPSG:25832"), json!("EPSG:4326"));
    for (a, b, wanted) in [
        (&utm, &degrees, vec!["crs: EPSG:25832 and EPSG:4326"]),
        (&utm, &Value::Null, vec!["crs: EPSG:25832 and none"]),
        (&utm, &utm, vec![]),
        (&Value::Null, &Value::Null, vec![]),
    ] {
        let (a, b) = (with_system(a.clone()).await, with_system(b.clone()).await);
        let found = compare(&a, &b, 10, &mut |_| ()).await.unwrap();
        assert_eq!(text(&found.differences), wanted);
    }
}

#[tokio::test]
async fn vertices_of_no_object_are_compared_by_their_values() {
    let places = [
        [1.0, 1.0, 1.0],
        [2.0, 1.0, 1.0],
        [3.0, 1.0, 1.0],
        [14.0, 1.0, 1.0],
    ];
    let stored = async |last: [f32; 3]| {
        let [a, b, c, _] = places;
        let mut made = Made::points_with_ids(&[a, b, c, last], &[0, 0, 1, 1]);
        // No object has the vertices of the second one now.
        made.objects.as_mut().unwrap().pop();
        memory(&made.files()).await
    };
    let (old, same) = (stored(places[3]).await, stored(places[3]).await);
    let other = stored([15.0, 1.0, 1.0]).await;
    let found = compare(&old, &same, 9, &mut |_| ()).await.unwrap();
    assert!(found.is_same(), "{:?}", found.differences);
    assert_eq!(found.vertices, [4, 4]);
    let found = compare(&old, &other, 9, &mut |_| ()).await.unwrap();
    let told: Vec<String> = found.differences.iter().map(ToString::to_string).collect();
    let of_vertices = told
        .iter()
        .filter(|one| one.contains("vertices of no object"));
    assert_eq!(of_vertices.count(), 2, "{told:?}");
}
