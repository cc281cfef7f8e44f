//! Attributes of objects and groups, objects without vertices, groups.

use serde_json::json;
use zvf_pyramid::{LevelStep, Method, PyramidSpec};
use zvf_query::{Query, list_objects};
use zvf_write::{
    AttributeSpec, Batch, Groups, Kind, NumberType, ObjectTable, StoreSpec, StoreWriter, Values,
    WriteError,
};

use crate::pyramid::build;
use crate::support::{ADDRESS, Memory, ask, check_documents, column};

fn spec() -> StoreSpec {
    StoreSpec::new(Kind::Polyline, [10.0; 2])
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32).with_unit("count"))
        .with_object_attribute(AttributeSpec::number("age", NumberType::I16))
        .with_object_attribute(AttributeSpec::number("axis", NumberType::F64).with_channels(2))
        .with_object_attribute(AttributeSpec::text("label"))
}

async fn writer(memory: &Memory) -> StoreWriter {
    let mut writer = StoreWriter::create(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    let runs = [(7, 2), (-2, 1), (9, 1)];
    let batch = Batch::new(vec![1.0_f32, 1.0, 12.0, 1.0, 3.0, 3.0, -5.0, 2.0]);
    let batch = batch
        .with_object_runs(&runs[..])
        .with_attribute("n", vec![0, 1, 2, 3]);
    writer.push(&batch).unwrap();
    writer
}

async fn listed(memory: &Memory) -> arrow_array::RecordBatch {
    let store = memory.open().await;
    let all = list_objects(&store, 0, false)
        .await
        .unwrap()
        .collect()
        .await
        .unwrap();
    all.table(zvf_query::Table::Objects).unwrap().unwrap()
}

#[tokio::test]
async fn objects_without_a_row_have_no_value_and_without_vertices_they_exist() {
    let memory = Memory::default();
    let mut writer = writer(&memory).await;
    let table = ObjectTable::new(&[9_i64, 100, 7][..])
        .with_attribute(
            "label",
            Values::optional_texts([Some("größe"), None, Some("a")]),
        )
        .with_attribute("age", vec![1_i16, 2, 3])
        .with_attribute("axis", vec![0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
    writer.push_objects(&table).unwrap();
    let twice = writer.push_objects(&table).unwrap_err();
    assert!(
        matches!(&twice, WriteError::Input { what, .. } if what == "object 9"),
        "{twice}"
    );
    assert_eq!(writer.finish().await.unwrap().objects, 4);
    check_documents(&memory.files().await);
    let objects = listed(&memory).await;
    assert_eq!(column(&objects, "object_id"), ["-2", "7", "9", "100"]);
    assert_eq!(column(&objects, "age"), ["null", "3", "1", "2"]);
    let schema = objects.schema();
    let field = schema.field_with_name("age").unwrap();
    assert_eq!(field.metadata()["zvf.absent_value"], "-32768");
    assert_eq!(
        column(&objects, "axis"),
        ["null", "4.5 5.5", "0.5 1.5", "2.5 3.5"]
    );
    assert_eq!(column(&objects, "label"), ["null", "a", "größe", "null"]);
}

#[tokio::test]
async fn t24_the_sentinel_is_a_value_where_nothing_is_absent() {
    // Trap T24: the smallest int16 and NaN mean absence, but not here; beside an object without a value, another number does.
    for (rows, fills) in [
        (3, [json!(0), json!(0.0)]),
        (2, [json!(-32767), json!("-Infinity")]),
    ] {
        let memory = Memory::default();
        let mut writer = writer(&memory).await;
        let ids = [7_i64, -2, 9];
        let table = ObjectTable::new(&ids[..rows])
            .with_attribute("age", &[i16::MIN, 5, 6][..rows])
            .with_attribute("axis", vec![f64::NAN; rows * 2])
            .with_attribute("label", Values::texts(vec![""; rows]));
        writer.push_objects(&table).unwrap();
        writer.finish().await.unwrap();
        let files = memory.files().await;
        check_documents(&files);
        for (name, fill) in ["age", "axis"].into_iter().zip(fills) {
            let doc = &files[&format!("0/object_attributes/{name}/zarr.json")];
            let doc: serde_json::Value = serde_json::from_slice(doc).unwrap();
            assert_eq!(doc["fill_value"], fill);
        }
        let objects = listed(&memory).await;
        let last = |value: &'static str| if rows == 3 { value } else { "null" };
        assert_eq!(column(&objects, "age"), ["5", "-32768", last("6")]);
        assert_eq!(
            column(&objects, "axis"),
            ["nan nan", "nan nan", last("nan nan")]
        );
        assert_eq!(column(&objects, "label"), ["", "", last("")]);
    }
}

/// Rows without a number keep none, also beside rows with NaN, and when an edit adds objects or removes a value.
#[tokio::test]
async fn rows_without_a_number_keep_none() {
    let memory = Memory::default();
    let mut writer = writer(&memory).await;
    let table = ObjectTable::new(&[7_i64, -2, 9][..])
        .with_gaps("age", vec![1_i16, 2, 3], [1].into())
        .with_gaps("axis", vec![f64::NAN; 6], [2].into())
        .with_attribute("label", Values::texts(["a", "b", "c"]));
    let records = table.to_records(&spec()).unwrap();
    let back = ObjectTable::from_records(&records).unwrap();
    assert_eq!(back.to_records(&spec()).unwrap(), records);
    assert_eq!(back.absent, table.absent);
    let wrong = ObjectTable::new(&[7_i64][..])
        .with_gaps("age", vec![1_i16], [1].into())
        .with_attribute("axis", vec![0.0; 2])
        .with_attribute("label", Values::texts(["a"]));
    let error = writer.push_objects(&wrong).unwrap_err().to_string();
    assert!(error.contains("missing values in rows"), "{error}");
    writer.push_objects(&back).unwrap();
    writer.finish().await.unwrap();
    check_documents(&memory.files().await);
    let objects = listed(&memory).await;
    assert_eq!(column(&objects, "age"), ["null", "1", "3"]);
    assert_eq!(column(&objects, "axis"), ["nan nan", "nan nan", "null"]);

    let mut edit = zvf_edit::Edit::open(ADDRESS, memory.options())
        .await
        .unwrap();
    let more = ObjectTable::new(&[12_i64, 7][..])
        .with_gaps("age", vec![4_i16, 0], [1].into())
        .with_gaps("axis", vec![0.5; 4], [0].into());
    edit.put_objects(&more).await.unwrap();
    edit.commit().await.unwrap();
    check_documents(&memory.files().await);
    let objects = listed(&memory).await;
    assert_eq!(column(&objects, "age"), ["null", "null", "3", "4"]);
    assert_eq!(
        column(&objects, "axis"),
        ["nan nan", "0.5 0.5", "null", "null"]
    );
}

/// Empty texts and missing ones differ, also when an edit of another object adds the first of one of them.
#[tokio::test]
async fn empty_texts_are_no_missing_ones() {
    for (first, then, wanted) in [
        (
            [Some(""), Some("x"), None],
            Some("y"),
            ["", "x", "null", "y"],
        ),
        (
            [Some(""), Some("x"), Some("\u{2400}")],
            None,
            ["", "x", "\u{2400}", "null"],
        ),
        (
            [None, Some("x"), Some("y")],
            Some(""),
            ["null", "x", "y", ""],
        ),
    ] {
        let memory = Memory::default();
        let spec = StoreSpec::new(Kind::Polyline, [10.0; 2])
            .with_object_attribute(AttributeSpec::text("label"));
        let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
            .await
            .unwrap();
        let ids = [0_i64, 1, 2];
        writer
            .push(&Batch::new(vec![1.0_f32; 6]).with_object_ids(&ids[..]))
            .unwrap();
        let table =
            ObjectTable::new(&ids[..]).with_attribute("label", Values::optional_texts(first));
        writer.push_objects(&table).unwrap();
        writer.finish().await.unwrap();
        let texts = first.map(|text| text.unwrap_or("null"));
        assert_eq!(column(&listed(&memory).await, "label"), texts);
        let mut edit = zvf_edit::Edit::open(ADDRESS, memory.options())
            .await
            .unwrap();
        let more = Batch::new(vec![2.0_f32; 2]).with_object_ids(&[3_i64][..]);
        edit.append(&more).await.unwrap();
        let table =
            ObjectTable::new(&[3_i64][..]).with_attribute("label", Values::optional_texts([then]));
        edit.put_objects(&table).await.unwrap();
        edit.commit().await.unwrap();
        check_documents(&memory.files().await);
        assert_eq!(column(&listed(&memory).await, "label"), wanted);
    }
}

#[tokio::test]
async fn t24_a_value_of_level_0_is_not_absence_on_coarser_levels() {
    for (sparsity, fill) in [(1.0, 0), (1.6, i64::from(i16::MIN) + 1)] {
        let memory = Memory::default();
        let mut writer = writer(&memory).await;
        let table = ObjectTable::new(&[7_i64, -2, 9][..])
            .with_attribute("age", vec![i16::MIN; 3])
            .with_attribute("axis", vec![0.5; 6])
            .with_attribute("label", Values::texts(["a", "b", "c"]));
        writer.push_objects(&table).unwrap();
        writer.finish().await.unwrap();
        let steps = vec![LevelStep::new(1.0).with_sparsity(sparsity)];
        let levels = PyramidSpec::new(steps).with_method(Method::Reference);
        build(&memory, &levels).await.unwrap();
        let files = memory.files().await;
        let doc = files["1/object_attributes/age/zarr.json"].clone();
        let doc: serde_json::Value = serde_json::from_slice(&doc).unwrap();
        let meaning = doc["attributes"].get("fill_sentinel_meaning");
        assert_eq!(meaning.is_some(), sparsity > 1.0);
        assert_eq!(doc["fill_value"], fill);
    }
}

#[tokio::test]
async fn groups_have_members_names_and_attributes() {
    let memory = Memory::default();
    let mut writer = writer(&memory).await;
    let table = ObjectTable::new(&[7_i64, -2, 9][..])
        .with_attribute("age", vec![1_i16, 2, 3])
        .with_attribute("axis", vec![0.5; 6])
        .with_attribute("label", Values::texts(["a", "b", "c"]));
    writer.push_objects(&table).unwrap();
    let groups = Groups::new(vec![vec![9, -2], vec![], vec![7]])
        .with_names(["left", "none", "right"])
        .with_attribute("weight", vec![1.0_f32, 2.0, 3.0])
        .with_gaps("share", vec![f64::NAN; 3], [1])
        .with_attribute("note", Values::optional_texts([Some(""), None, Some("b")]));
    let back = Groups::from_records(&groups.to_records(&spec()).unwrap()).unwrap();
    assert_eq!(back.absent, groups.absent);
    writer.set_groups(&back).unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    check_documents(&files);
    let doc: serde_json::Value = serde_json::from_slice(&files["0/groups/zarr.json"]).unwrap();
    assert_eq!(
        doc["attributes"]["group_names"],
        serde_json::json!(["left", "none", "right"])
    );
    let store = memory.open().await;
    let need = zvf_store::Need {
        groups: true,
        group_attributes: zvf_store::Names::All,
        ..zvf_store::Need::nothing()
    };
    let level = store.level(0, &need).await.unwrap();
    let notes = level.group_attributes();
    let notes = notes.iter().find(|one| one.name() == "note").unwrap();
    let notes = notes.read().await.unwrap();
    assert_eq!(
        [0, 1, 2].map(|row| notes.is_absent(row)),
        [false, true, false]
    );
    // A missing number stays missing beside NaN.
    let shares = level.group_attributes();
    let shares = shares.iter().find(|one| one.name() == "share").unwrap();
    let shares = shares.read().await.unwrap();
    assert_eq!(
        [0, 1, 2].map(|row| shares.is_absent(row)),
        [false, true, false]
    );
    let mut stored = Groups::new(groups.members().to_vec());
    assert!(stored.add_stored("share", &shares, &[1, 2]).unwrap());
    assert!(stored.lacks("share", 0) && !stored.lacks("share", 1));
    for (groups, numbers) in [
        (vec![0], vec![2, 3]),
        (vec![2], vec![0, 1]),
        (vec![0, 2], vec![2, 0, 1, 3]),
    ] {
        let got = ask(
            &store,
            Query {
                groups: Some(groups),
                ..Query::default()
            },
        )
        .await;
        assert_eq!(got.numbers(), numbers);
    }
}

/// Groups keep their values when groups of the same names are added; notes name other values, but no missing ones.
#[tokio::test]
async fn values_of_existing_groups_are_kept_with_a_note() {
    let memory = Memory::default();
    let mut writer = writer(&memory).await;
    let groups = |names: [&str; 3]| Groups::new(vec![vec![9], vec![7], vec![-2]]).with_names(names);
    let own = groups(["a", "b", "c"])
        .with_attribute("weight", vec![1.0_f32, 2.0, 3.0])
        .with_gaps("count", vec![1_i32, 2, 3], [2]);
    let table = ObjectTable::new(&[7_i64][..])
        .with_attribute("age", vec![1_i16])
        .with_attribute("axis", vec![0.5; 2])
        .with_attribute("label", Values::texts(["a"]));
    writer.push_objects(&table).unwrap();
    writer.set_groups(&own).unwrap();
    writer.finish().await.unwrap();
    let mut edit = zvf_edit::Edit::open(ADDRESS, memory.options())
        .await
        .unwrap();
    let more = groups(["b", "c", "d"])
        .with_attribute("weight", vec![2.5_f32, f32::NAN, 4.0])
        .with_attribute("count", vec![2_i32, 3, 4])
        .with_attribute("other", vec![1_i32; 3]);
    let added = edit.add_groups(&more).await.unwrap();
    assert_eq!(Vec::from_iter(added.unknown), ["other"]);
    let wanted = [
        "left out: attribute \"weight\" of group \"b\", which keeps its value in the store",
        "left out: attribute \"count\" of group \"c\", which has no value in the store",
    ];
    assert_eq!(added.kept, wanted);
    edit.commit().await.unwrap();
    check_documents(&memory.files().await);
}

#[tokio::test]
async fn a_group_of_strangers_is_refused() {
    let memory = Memory::default();
    let mut writer = writer(&memory).await;
    writer.set_groups(&Groups::new(vec![vec![7, 8]])).unwrap();
    let error = writer.finish().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "group 0: found object 8, expected objects of this store"
    );
}

#[tokio::test]
async fn more_objects_than_one_chunk_of_manifests() {
    let memory = Memory::default();
    let spec = StoreSpec::new(Kind::PointCloud, [1000.0; 2])
        .with_objects()
        .with_vertex_attribute(AttributeSpec::number("n", NumberType::I32));
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    let count = 20_000;
    let positions: Vec<f32> = (0..count).flat_map(|n| [(n % 2000) as f32, 1.0]).collect();
    let ids: Vec<i64> = (0..i64::from(count)).map(|n| n * 3).collect();
    writer
        .push(
            &Batch::new(positions)
                .with_object_ids(ids)
                .with_attribute("n", (0..count).collect::<Vec<_>>()),
        )
        .unwrap();
    assert_eq!(writer.finish().await.unwrap().objects, 20_000);
    check_documents(&memory.files().await);
    let objects = vec![3 * 19_999, 0, 3 * 16_384, 3 * 16_383];
    let got = ask(
        &memory.open().await,
        Query {
            objects: Some(objects),
            ..Query::default()
        },
    )
    .await;
    assert_eq!(got.numbers(), [19_999, 0, 16_384, 16_383]);
}

/// A query of one object decodes a whole chunk of manifests: chunks have fewer manifests if these are large.
#[tokio::test]
async fn large_manifests_lie_in_smaller_chunks() {
    let memory = Memory::default();
    let (objects, vertices) = (3_000_i64, 50_i64);
    let mut writer = StoreWriter::create(ADDRESS, spec(), memory.options())
        .await
        .unwrap();
    // Each vertex of an object is in a different chunk.
    let all = (0..objects).flat_map(|id| (0..vertices).map(move |at| (id, at)));
    let (mut positions, mut ids, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (id, at) in all {
        positions.extend([(at * 10) as f32 + 0.5, (id % 7) as f32]);
        ids.push(id);
        numbers.push((id * vertices + at) as i32);
    }
    let batch = Batch::new(positions);
    let batch = batch.with_object_ids(ids).with_attribute("n", numbers);
    writer.push(&batch).unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    check_documents(&files);
    let document: serde_json::Value =
        serde_json::from_slice(&files["0/object_index/manifests/zarr.json"]).unwrap();
    let rows = document["chunk_grid"]["configuration"]["chunk_shape"][0]
        .as_u64()
        .unwrap();
    assert!(rows.is_power_of_two() && rows < 3_000, "{rows}");
    let last = (3_000 - 1) / rows;
    assert!(files.contains_key(&format!("0/object_index/manifests/c/{last}")));
    let asked = Query {
        objects: Some(vec![2_999, 0, rows as i64, rows as i64 - 1]),
        ..Query::default()
    };
    let got = ask(&memory.open().await, asked).await;
    let expected = [2_999, 0, rows as i64, rows as i64 - 1];
    let expected = expected.map(|id| (0..vertices).map(move |at| id * vertices + at));
    let expected: Vec<usize> = expected
        .into_iter()
        .flatten()
        .map(|number| number as usize)
        .collect();
    assert_eq!(got.numbers(), expected);
}

#[tokio::test]
async fn what_lies_beside_the_levels_is_read_back() {
    let memory = Memory::default();
    let header = serde_json::json!({"voxel_order": "RAS", "dim": [64, 64, 32]});
    let spec = StoreSpec::new(Kind::PointCloud, [10.0; 2])
        .with_coordinate_offset([1000.0, -3.5])
        .with_header("trk", header.as_object().unwrap().clone())
        .with_user_metadata(
            "lab",
            serde_json::json!({"session": 7})
                .as_object()
                .unwrap()
                .clone(),
        );
    let mut writer = StoreWriter::create(ADDRESS, spec, memory.options())
        .await
        .unwrap();
    writer.push(&Batch::new(&[1.5_f32, 2.0][..])).unwrap();
    writer.finish().await.unwrap();
    let files = memory.files().await;
    check_documents(&files);
    let stored: serde_json::Value =
        serde_json::from_slice(&files["headers/trk/zarr.json"]).unwrap();
    assert_eq!(stored["attributes"], header);
    let store = memory.open().await;
    let side = store.side_groups().await.unwrap();
    assert_eq!(side.headers.len(), 1);
    assert_eq!(side.headers[0].format, "trk");
    let root = store.root();
    assert_eq!(
        root.user_metadata,
        Some(serde_json::json!({"lab": {"session": 7}}))
    );
    let got = ask(&store, zvf_query::Query::default()).await;
    assert_eq!(column(&got.vertices, "position"), ["1001.5 -1.5"]);

    // A copy has all of it.
    let copy = Memory::default();
    let options = zvf_migrate::MigrateOptions::new().with_write(copy.options());
    let report = zvf_migrate::migrate(&store, ADDRESS, options)
        .await
        .unwrap();
    assert_eq!((report.losses, report.repairs), (Vec::new(), Vec::new()));
    assert_eq!(
        copy.files().await["headers/trk/zarr.json"],
        files["headers/trk/zarr.json"]
    );
    let root_of_copy = copy.open().await.root().clone();
    assert_eq!(root_of_copy.zarr_vectors, root.zarr_vectors);
    assert_eq!(root_of_copy.user_metadata, root.user_metadata);
    let got = ask(&copy.open().await, zvf_query::Query::default()).await;
    assert_eq!(column(&got.vertices, "position"), ["1001.5 -1.5"]);
}
