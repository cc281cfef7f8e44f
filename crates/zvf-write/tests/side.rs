//! Content outside the levels: headers, user metadata, parametric objects.

use serde_json::{Value, json};
use zvf_store::Store;
use zvf_write::{
    Batch, Compression, JsonObject, Kind, Parametric, ParametricType, StoreSpec, StoreWriter,
    Values, WriteOptions,
};

use crate::support::{ADDRESS, Memory, check_documents};

fn members(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

fn shapes() -> Parametric {
    Parametric::new()
        .with_type(ParametricType::new(7, "cone", ["a", "b"]))
        .with_object("sphere", [1.0, 2.0, 3.0, 10.0], Some("größe"))
        .with_object("cone", [-1.5, f64::INFINITY], None)
        .with_attribute("weight", Values::from(vec![0.5_f32, 0.25]))
        .with_attribute("label", Values::texts(["a", "bc"]))
        .with_group([1, 0])
        .with_group([])
        .with_group_attribute("size", Values::from(vec![2_u8, 0]))
}

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_compression(Compression::None)
        .with_header("trk", members(json!({"dim": [1, 2], "name": "x"})))
        .with_header("swc", JsonObject::new())
        .with_user_metadata("lab", members(json!({"mouse": 7})))
        .with_parametric(shapes())
}

async fn write(memory: &Memory, spec: StoreSpec) {
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer.push(&Batch::new(vec![1.0_f32, 2.0])).unwrap();
    writer.finish().await.unwrap();
}

#[tokio::test]
async fn what_lies_beside_levels_is_found_again() {
    let memory = Memory::default();
    write(&memory, spec()).await;
    let files = memory.files().await;
    check_documents(&files);
    let store: Store = memory.open().await;
    let side = store.side_groups().await.unwrap();
    assert!(
        side.problems.is_empty() && side.unknown.is_empty(),
        "{side:?}"
    );
    let formats: Vec<&str> = side.headers.iter().map(|one| one.format.as_str()).collect();
    assert_eq!(formats, ["swc", "trk"]);
    let found = side.parametric.unwrap();
    let types: Vec<(&str, usize)> = found
        .types
        .iter()
        .map(|one| (one.name.as_str(), one.coefficients.len()))
        .collect();
    assert_eq!(
        types,
        [("plane", 4), ("line", 6), ("sphere", 4), ("cone", 2)]
    );
    let counts = (found.objects, found.max_row_length, found.named);
    assert_eq!(counts, (Some(2), Some(7), true));
    assert_eq!((found.attributes.len(), found.groups), (2, Some(2)));

    // The rows, byte by byte: number of the type, coefficients, NaN.
    let bytes = &files["parametric/objects/c/0/0"];
    let rows: Vec<f64> = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|one| f64::from_le_bytes(*one))
        .collect();
    assert_eq!(rows[..5], [2.0, 1.0, 2.0, 3.0, 10.0]);
    assert_eq!(rows[7..10], [7.0, -1.5, f64::INFINITY]);
    assert!(rows[5..7].iter().chain(&rows[10..]).all(|one| one.is_nan()));
    assert_eq!(rows.len(), 14);
    let names = String::from_utf8_lossy(&files["parametric/names/c/0"]).into_owned();
    assert!(names.contains("größe") && names.contains("cone_1"));
    let document = |key: &str| serde_json::from_slice::<Value>(&files[key]).unwrap();
    let header = document("headers/trk/zarr.json");
    assert_eq!(header["attributes"], json!({"dim": [1, 2], "name": "x"}));
    let root = document("zarr.json");
    let metadata = &root["attributes"]["user_metadata"];
    assert_eq!(*metadata, json!({"lab": {"mouse": 7}}));
}

#[tokio::test]
async fn shapes_that_cannot_be_are_refused_by_their_place() {
    let bare = Parametric::new;
    let one = || Values::from(vec![1_u8]);
    let cases = [
        (
            bare().with_object("torus", [1.0], None),
            "parametric/objects/0: found type \"torus\"",
        ),
        (
            bare().with_object("plane", [1.0], None),
            "parametric/objects/0: found 1 coefficients, expected 4",
        ),
        (
            bare().with_type(ParametricType::new(2, "ball", ["r"])),
            "parametric/types/ball: found number 2",
        ),
        (
            shapes().with_group([2]),
            "parametric/groups/2: found object 2, expected below 2",
        ),
        (
            shapes().with_attribute("odd", one()),
            "parametric/attributes/odd: found 1 values",
        ),
        (
            shapes().with_attribute("a/b", one()),
            "parametric/attributes/a/b: ",
        ),
    ];
    for (shapes, expected) in cases {
        let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]).with_parametric(shapes);
        let told = spec.check().unwrap_err().to_string();
        assert!(told.starts_with(expected), "{told}");
    }
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2]).with_header("..", JsonObject::new());
    let told = StoreWriter::create("memory:///x", spec, WriteOptions::new()).await;
    assert!(told.unwrap_err().to_string().starts_with("headers/..: "));
}
