//! Errors and ambiguities of real stores, each named after the specification's trap or section.

use serde_json::{Value, json};
use zvf_store::format::vlen::VlenBuilder;
use zvf_store::{CellWant, Class, ContainerKind, Names, Need, OpenOptions, Store, StoreError};

use crate::support::{
    Cells, Files, add_grid, all_cells, cell_of, edit, group, key_text, on_disk, open_memory, small,
    try_open,
};

fn cells(chunks: &[[i64; 2]]) -> Cells {
    chunks.iter().map(|c| (c.to_vec(), cell_of(c))).collect()
}

pub(crate) fn plain() -> Files {
    let mut files = small(2, "point_cloud");
    add_grid(
        &mut files,
        "0/vertices",
        &[4, 4],
        &[-2, 0],
        &cells(&[[-2, 0], [-1, 3], [1, 1]]),
    );
    files
}

/// A one-dimensional array of byte strings, one chunk.
fn ragged(elements: &[&[u8]], attributes: &Value) -> (Vec<u8>, Vec<u8>) {
    let document = json!({
        "shape": [elements.len()], "data_type": "bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [elements.len()]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "", "codecs": [{"name": "vlen-bytes"}],
        "attributes": attributes, "zarr_format": 3, "node_type": "array"
    });
    let mut chunk = VlenBuilder::new();
    for element in elements {
        chunk.push(element).unwrap();
    }
    (document.to_string().into_bytes(), chunk.finish())
}

fn add_objects(files: &mut Files, layout: &str, ids: &[i64], manifests: &[&[u8]]) {
    files.insert(
        "0/object_index/zarr.json".to_owned(),
        group(&json!({"zv_array": "object_index", "num_objects": manifests.len(), "sid_ndim": 2, "layout": layout,
            "object_ids_sorted": true})),
    );
    let (document, chunk) = ragged(manifests, &json!({}));
    files.insert("0/object_index/manifests/zarr.json".to_owned(), document);
    files.insert("0/object_index/manifests/c/0".to_owned(), chunk);
    let document = json!({
        "shape": [ids.len()], "data_type": "int64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [ids.len().max(1)]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {}, "zarr_format": 3, "node_type": "array"
    });
    files.insert(
        "0/object_index/object_ids/zarr.json".to_owned(),
        document.to_string().into_bytes(),
    );
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    if ids.iter().any(|id| *id != 0) {
        files.insert("0/object_index/object_ids/c/0".to_owned(), bytes);
    }
}

fn objects() -> Need {
    Need {
        objects: true,
        ..Need::default()
    }
}

#[tokio::test]
async fn t4_the_version_gate_is_executed() {
    for (version, open) in [
        ("0.9", true),
        ("0.9.0", true),
        ("0.9.2.dev3", true),
        ("0.9.7", true),
        ("1.0.0", true),
    ] {
        let mut files = plain();
        edit(&mut files, "zarr.json", |d| {
            d["attributes"]["zarr_vectors"]["zv_version"] = json!(version)
        });
        let store = try_open(&files, Default::default()).await.unwrap();
        assert!(open);
        let newer = matches!(version, "1.0.0" | "0.9.7");
        assert!(
            newer || store.warnings().is_empty(),
            "{version}: {:?}",
            store.warnings()
        );
        assert!(version != "1.0.0" || store.warnings().iter().any(|w| w.contains("1.0.0")));
    }
    for version in ["0.5.1", "0.4.0", "abc", "", "v0.9.2"] {
        let mut files = plain();
        edit(&mut files, "zarr.json", |d| {
            d["attributes"]["zarr_vectors"]["zv_version"] = json!(version)
        });
        let error = try_open(&files, Default::default()).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Version { .. }),
            "{version}: {error}"
        );
        assert_eq!(error.class(), Class::Malformed);
        assert!(error.to_string().contains(version), "{error}");
    }
    // An old root lacks members that 0.9 requires: it is still refused because of its version.
    let mut files = plain();
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["zv_version"] = json!("0.5.0");
        d["attributes"]
            .as_object_mut()
            .unwrap()
            .remove("multiscales");
    });
    assert!(matches!(
        try_open(&files, Default::default()).await.unwrap_err(),
        StoreError::Version { .. }
    ));
}

#[tokio::test]
async fn t6_every_array_has_its_own_origin() {
    let mut files = plain();
    add_grid(
        &mut files,
        "0/vertex_attributes/a",
        &[21, 21],
        &[-10, -10],
        &cells(&[[-2, 0], [1, 1], [9, 9]]),
    );
    let store = open_memory(&files).await;
    let need = Need {
        vertex_attributes: Names::All,
        ..Need::default()
    };
    let level = store.level(0, &need).await.unwrap();
    let attribute = &level.vertex_attributes()[0];
    assert_eq!(
        (attribute.array.origin(), level.vertices().origin()),
        (&[-10i64, -10][..], &[-2i64, 0][..])
    );
    for array in [level.vertices(), &attribute.array] {
        for want in all_cells(array) {
            let expected = cell_of(&want.chunk);
            assert_eq!(
                store.fetch(2, vec![want]).await.unwrap()[0].as_deref(),
                Some(expected.as_slice())
            );
        }
    }
    // A chunk inside one grid may be outside another.
    let outside = store
        .fetch(2, vec![CellWant::new(level.vertices(), [9, 9])])
        .await
        .unwrap_err();
    assert_eq!(outside.class(), Class::Malformed);
    assert!(outside.to_string().contains("9.9"), "{outside}");
    let rank = store
        .fetch(2, vec![CellWant::new(level.vertices(), [0, 0, 0])])
        .await
        .unwrap_err();
    assert_eq!(rank.class(), Class::Malformed);
}

#[tokio::test]
async fn t17_ids_are_looked_up_in_the_table() {
    let empty = [0u8; 4];
    let mut files = plain();
    // The flag claims a sorted table; it is not.
    add_objects(
        &mut files,
        "vlen_manifests_v2",
        &[7, -4, 1 << 40],
        &[&empty, &empty, &empty],
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &objects()).await.unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    assert_eq!(
        [ids.slot(-4), ids.slot(7), ids.slot(1 << 40), ids.slot(0)],
        [Some(1), Some(0), Some(2), None]
    );

    // Version 1 of the layout: the row is the id, regardless of a stale table.
    let mut files = plain();
    add_objects(
        &mut files,
        "vlen_manifests_v1",
        &[7, -4, 9],
        &[&empty, &empty, &empty],
    );
    let level = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    assert_eq!([ids.slot(7), ids.slot(2)], [None, Some(2)]);

    // A table of another length than the manifests: rows are ids here, too.
    let mut files = plain();
    add_objects(
        &mut files,
        "vlen_manifests_v2",
        &[7, 8],
        &[&empty, &empty, &empty],
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &objects()).await.unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    assert_eq!([ids.slot(7), ids.slot(2)], [None, Some(2)]);
    assert_eq!(store.warnings().len(), 1);

    // An id that occurs twice: the first row counts, and there is a warning.
    let mut files = plain();
    add_objects(
        &mut files,
        "vlen_manifests_v2",
        &[5, 3, 5],
        &[&empty, &empty, &empty],
    );
    let store = open_memory(&files).await;
    let level = store.level(0, &objects()).await.unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    assert_eq!((ids.slot(5), ids.repeated()), (Some(0), 1));
    assert!(store.warnings()[0].contains("the id of an earlier row"));
}

#[tokio::test]
async fn s4_5_an_elided_id_table_is_full_of_its_fill_value() {
    let mut files = plain();
    add_objects(&mut files, "vlen_manifests_v2", &[0], &[&[0u8; 4]]);
    assert!(!files.contains_key("0/object_index/object_ids/c/0"));
    let level = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap();
    let ids = level.object_index().unwrap().ids().await.unwrap();
    assert_eq!((ids.len(), ids.slot(0)), (1, Some(0)));
}

#[tokio::test]
async fn s11_1_an_index_that_was_never_filled_has_no_objects() {
    let mut files = plain();
    files.insert(
        "0/object_index/zarr.json".to_owned(),
        group(&json!({"zv_array": "object_index"})),
    );
    let level = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap();
    let index = level.object_index().unwrap();
    assert_eq!((index.len(), index.manifest_chunks()), (0, 0));
    assert!(index.ids().await.unwrap().is_empty());
    assert_eq!(index.manifests(&[3]).await.unwrap(), [bytes::Bytes::new()]);

    files.insert(
        "0/object_index/zarr.json".to_owned(),
        group(&json!({"num_objects": 1, "sid_ndim": 2, "layout": "vlen_manifests_v7"})),
    );
    let error = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("vlen_manifests_v7"), "{error}");
}

#[tokio::test]
async fn t31_an_empty_manifest_is_no_manifest() {
    let one = [
        1u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    ];
    let mut files = plain();
    add_objects(
        &mut files,
        "vlen_manifests_v2",
        &[1, 2, 3],
        &[&[], &one, &[0; 4]],
    );
    let level = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap();
    let index = level.object_index().unwrap();
    let blobs = index.manifests(&[0, 1, 2, 99]).await.unwrap();
    assert_eq!(blobs, [&[][..], &one, &[0; 4], &[]]);
    for blob in &blobs {
        zvf_store::format::manifest::Manifest::parse(blob, 2).unwrap();
    }
    // The whole chunk may be missing: every row is empty then.
    files.remove("0/object_index/manifests/c/0");
    let level = open_memory(&files)
        .await
        .level(0, &objects())
        .await
        .unwrap();
    let chunk = level
        .object_index()
        .unwrap()
        .manifest_chunk(0)
        .await
        .unwrap();
    assert_eq!((chunk.len(), chunk.blob(1)), (3, &[][..]));
    assert_eq!(
        level
            .object_index()
            .unwrap()
            .manifest_chunk(1)
            .await
            .unwrap_err()
            .class(),
        Class::Misuse
    );
}

#[tokio::test]
async fn t33_level_names_are_plain_numbers() {
    let mut files = plain();
    for name in ["-1", "01", "1a", "+2", "parametric", "3", "10"] {
        let level = files["0/zarr.json"].clone();
        files.insert(format!("{name}/zarr.json"), level);
    }
    let store = open_memory(&files).await;
    assert_eq!(store.levels(), [0, 3, 10]);
    let error = store.level(1, &Need::default()).await.unwrap_err();
    assert_eq!(
        (error.class(), error.to_string().as_str()),
        (Class::Misuse, "no level 1: the store has levels 0, 3, 10")
    );
    // Listed, but without documents.
    let mut files = plain();
    files.insert("4/vertices/c/0/0".to_owned(), vec![1]);
    let store = open_memory(&files).await;
    let error = store.level(4, &Need::default()).await.unwrap_err();
    assert!(
        error.is_not_found() && error.class() == Class::Io,
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_a_missing_presence_list_is_replaced_by_a_listing() {
    let mut files = plain();
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["attributes"]
            .as_object_mut()
            .unwrap()
            .remove("nonempty_chunks");
    });
    let folder = on_disk(&files);
    let local = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    for store in [open_memory(&files).await, local] {
        let level = store.level(0, &Need::default()).await.unwrap();
        let presence = level.vertices().presence();
        assert!(presence.is_listed());
        assert_eq!(
            presence.iter().map(key_text).collect::<Vec<_>>(),
            ["-2.0", "-1.3", "1.1"]
        );
        assert!(
            store.warnings()[0].contains("nonempty_chunks"),
            "{:?}",
            store.warnings()
        );
        let found = store.fetch(2, all_cells(level.vertices())).await.unwrap();
        assert_eq!(found[1].as_deref(), Some(cell_of(&[-1, 3]).as_slice()));
    }
    // While writers run, the lists are not written yet: no damage to warn of.
    let mut deferred = files.clone();
    edit(&mut deferred, "0/zarr.json", |d| {
        d["attributes"]["zarr_vectors_presence"] = json!("deferred");
    });
    let store = open_memory(&deferred).await;
    let level = store.level(0, &Need::default()).await.unwrap();
    assert_eq!(level.vertices().presence().len(), 3);
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    // A shard does not show which of its cells have content: every cell of a shard is a candidate.
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["chunk_grid"]["configuration"]["chunk_shape"] = json!([3, 4])
    });
    let level = open_memory(&files)
        .await
        .level(0, &Need::default())
        .await
        .unwrap();
    assert_eq!(level.vertices().presence().len(), 12);
}

#[tokio::test]
async fn s7_4_bad_presence_lists_are_noticed() {
    let mut files = plain();
    edit(&mut files, "0/vertices/zarr.json", |d| {
        d["attributes"]["nonempty_chunks"] = json!(["-2.0", "-2.0", "9.9", "x", "1.1"]);
    });
    let level = open_memory(&files)
        .await
        .level(0, &Need::default())
        .await
        .unwrap();
    let presence = level.vertices().presence();
    assert_eq!((presence.len(), presence.problems().len()), (2, 3));
    let error = level.vertices().check_presence().unwrap_err();
    assert_eq!(
        (error.class(), error.key()),
        (Class::Malformed, Some("0/vertices/zarr.json"))
    );
    // A listed cell whose object is missing is lost. A reader without verify takes it for empty.
    files.remove("0/vertices/c/3/1");
    let folder = crate::support::on_disk(&files);
    let path = folder.path().to_str().unwrap();
    for verify in [true, false] {
        let options = OpenOptions::new().with_verify(verify);
        let stores = [
            try_open(&files, options.clone()).await.unwrap(),
            Store::open_with(path, options).await.unwrap(),
        ];
        for store in stores {
            let level = store.level(0, &Need::default()).await.unwrap();
            let fetch =
                |chunk: [i64; 2]| store.fetch(2, vec![CellWant::new(level.vertices(), chunk)]);
            // A cell that is not listed is empty either way.
            assert_eq!(fetch([0, 0]).await.unwrap(), [None]);
            match fetch([1, 1]).await {
                Ok(cells) => assert!(!verify && cells == [None]),
                Err(error) => {
                    assert!(verify && error.class() == Class::Malformed);
                    assert_eq!(error.key(), Some("0/vertices at 1.1"));
                }
            }
        }
    }
}

#[tokio::test]
async fn s12_attributes_that_cannot_be_read_spoil_only_queries_that_want_them() {
    let mut files = plain();
    add_grid(
        &mut files,
        "0/vertex_attributes/good",
        &[4, 4],
        &[-2, 0],
        &cells(&[[-2, 0]]),
    );
    files.insert(
        "0/vertex_attributes/bad/zarr.json".to_owned(),
        b"{".to_vec(),
    );
    let all = Need {
        vertex_attributes: Names::All,
        ..Need::default()
    };
    let store = open_memory(&files).await;
    let error = store.level(0, &all).await.unwrap_err();
    assert_eq!(error.class(), Class::Malformed);
    assert_eq!(error.key(), Some("0/vertex_attributes/bad/zarr.json"));
    let good = Need {
        vertex_attributes: Names::List(vec!["good".to_owned()]),
        ..Need::default()
    };
    let level = store.level(0, &good).await.unwrap();
    assert_eq!(level.vertex_attributes().len(), 1);
    let named = Need {
        vertex_attributes: Names::List(vec!["bad".to_owned()]),
        ..Need::default()
    };
    assert_eq!(
        store.level(0, &named).await.unwrap_err().class(),
        Class::Malformed
    );
    let absent = Need {
        vertex_attributes: Names::List(vec!["nobody".to_owned()]),
        ..Need::default()
    };
    assert!(
        store
            .level(0, &absent)
            .await
            .unwrap()
            .vertex_attributes()
            .is_empty()
    );
}

#[tokio::test]
async fn s3_the_container_is_told_by_the_node_and_not_by_the_version() {
    let mut files = plain();
    files.retain(|key, _| !key.starts_with("0/vertices/"));
    files.insert("0/vertices/zarr.json".to_owned(), group(&json!({})));
    let level = open_memory(&files)
        .await
        .level(0, &Need::default())
        .await
        .unwrap();
    assert_eq!(level.vertices().container(), ContainerKind::Blobs);
    assert!(level.vertices().presence().is_empty());
}

#[tokio::test]
async fn s11_5_groups_are_lists_or_ranges() {
    let members: Vec<u8> = [7i64, -3].iter().flat_map(|m| m.to_le_bytes()).collect();
    let mut files = plain();
    let (document, chunk) = ragged(
        &[&members, &[], &[]],
        &json!({"zv_array": "groups", "num_groups": 3, "group_ranges": {"2": [4, 7]}, "group_names": ["a"]}),
    );
    files.insert("0/groups/zarr.json".to_owned(), document);
    files.insert("0/groups/c/0".to_owned(), chunk);
    let level = open_memory(&files)
        .await
        .level(
            0,
            &Need {
                groups: true,
                ..Need::default()
            },
        )
        .await
        .unwrap();
    let groups = level.groups().unwrap();
    assert_eq!(
        (groups.len(), groups.name(0), groups.name(2)),
        (3, "a".to_owned(), "group_2".to_owned())
    );
    assert_eq!(groups.members(0).await.unwrap(), [7, -3]);
    assert!(groups.members(1).await.unwrap().is_empty());
    assert_eq!(groups.members(2).await.unwrap(), [4, 5, 6]);
    assert_eq!(groups.members(3).await.unwrap_err().class(), Class::Misuse);
    assert_eq!((groups.find("group_1"), groups.find("b")), (Some(1), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_2_keys_are_made_as_the_document_says() {
    for (encoding, separator, key) in [
        ("default", ".", "0/vertices/c.3.1"),
        ("v2", ".", "0/vertices/3.1"),
        ("v2", "/", "0/vertices/3/1"),
    ] {
        let mut files = plain();
        let moved = files.remove("0/vertices/c/3/1").unwrap();
        files.insert(key.to_owned(), moved);
        edit(&mut files, "0/vertices/zarr.json", |d| {
            d["chunk_key_encoding"] =
                json!({"name": encoding, "configuration": {"separator": separator}});
            d["attributes"]
                .as_object_mut()
                .unwrap()
                .remove("nonempty_chunks");
        });
        files.retain(|key, _| !key.starts_with("0/vertices/c/"));
        let folder = on_disk(&files);
        let local = Store::open(folder.path().to_str().unwrap()).await.unwrap();
        for store in [open_memory(&files).await, local] {
            let level = store.level(0, &Need::default()).await.unwrap();
            let wants = all_cells(level.vertices());
            assert_eq!(wants.len(), 1, "{key}");
            let cells = store.fetch(2, wants).await.unwrap();
            assert_eq!(
                cells[0].as_deref(),
                Some(cell_of(&[1, 1]).as_slice()),
                "{key}"
            );
        }
    }
}

#[tokio::test]
async fn s4_2_documents_that_promise_something_else_are_refused() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (|d| d["fill_value"] = json!("AAAA"), "fill_value"),
        (|d| d["data_type"] = json!("int8"), "int8"),
        (
            |d| d["chunk_grid"]["configuration"]["chunk_shape"] = json!([1]),
            "chunk_shape",
        ),
        (
            |d| d["chunk_grid"]["configuration"]["chunk_shape"] = json!([1, 0]),
            "chunk_shape",
        ),
        (
            |d| d["attributes"]["chunk_grid_origin"] = json!([1]),
            "chunk_grid_origin",
        ),
        (|d| d["attributes"]["dtype"] = json!("float7"), "float7"),
    ];
    for (change, word) in changes {
        let mut files = plain();
        edit(&mut files, "0/vertices/zarr.json", change);
        let store = open_memory(&files).await;
        let error = match store.level(0, &Need::default()).await {
            Err(error) => error,
            Ok(level) => store
                .fetch(2, all_cells(level.vertices()))
                .await
                .unwrap_err(),
        };
        assert_eq!(error.class(), Class::Malformed, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    // An attribute of another rank than its level.
    let mut files = plain();
    add_grid(
        &mut files,
        "0/vertex_attributes/a",
        &[4],
        &[0],
        &[(vec![1], vec![1; 4])],
    );
    let need = Need {
        vertex_attributes: Names::List(vec!["a".to_owned()]),
        ..Need::default()
    };
    let error = open_memory(&files).await.level(0, &need).await.unwrap_err();
    assert!(error.to_string().contains("expected 2"), "{error}");
}

#[tokio::test]
async fn s5_1_a_store_without_a_kind_is_read_as_points() {
    let mut files = plain();
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["geometry_types"] = json!([])
    });
    let store = open_memory(&files).await;
    assert_eq!(store.kind(), zvf_store::meta::Kind::PointCloud);
    assert!(store.warnings()[0].contains("geometry_types"));
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["geometry_types"] = json!(["blob"])
    });
    let error = try_open(&files, Default::default()).await.unwrap_err();
    assert!(error.to_string().contains("blob"), "{error}");
}
