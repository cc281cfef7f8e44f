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
