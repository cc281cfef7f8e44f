//! Damage in documents: a result never lacks data silently.

use serde_json::{Value, json};
use zvf_store::{ChunkParts, Class, Need, OpenOptions, Store};

use crate::support::{Files, add_grid, bundled, edit, memory, open_memory, small};

/// A store of one chunk of points with an attribute.
fn points() -> Files {
    let mut files = small(2, "point_cloud");
    add_grid(&mut files, "0/vertices", &[4, 4], &[-2, 0], &[]);
    add_grid(&mut files, "0/vertex_attributes/v", &[4, 4], &[-2, 0], &[]);
    files
}

const V: &str = "0/vertex_attributes/v/zarr.json";

async fn lenient(files: &Files) -> Store {
    let mut options = OpenOptions::new().with_object_store(memory(files).await);
    options.leave_out_damaged = true;
    Store::open_with("memory:///", options).await.unwrap()
}

/// A part that is left out is an error, or known to programs that change a level.
#[tokio::test]
async fn a_damaged_attribute_is_an_error_or_known_to_be_left_out() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("without codecs", |doc| {
            doc.as_object_mut().unwrap().remove("codecs");
        }),
        ("without shape", |doc| {
            doc.as_object_mut().unwrap().remove("shape");
        }),
        ("another zarr_format", |doc| doc["zarr_format"] = json!(4)),
        ("another data_type", |doc| doc["data_type"] = json!("x")),
        ("another rank", |doc| doc["shape"] = json!([4])),
    ];
    let whole = open_memory(&points()).await;
    let level = whole.level(0, &Need::all()).await.unwrap();
    level.check_complete().unwrap();
    assert_eq!(level.vertex_attributes().len(), 1);
    for (name, change) in changes {
        let mut files = points();
        edit(&mut files, V, change);
        let store = open_memory(&files).await;
        let supported = match store.level(0, &Need::all()).await {
            Err(error) => {
                assert_eq!(error.class(), Class::Malformed, "{name}: {error}");
                assert!(error.to_string().contains(V), "{name}: {error}");
                true
            }
            // A later release may support the type.
            Ok(_) => {
                assert_eq!(name, "another data_type");
                assert_eq!(store.warnings().len(), 1, "{:?}", store.warnings());
                false
            }
        };
        let level = lenient(&files).await.level(0, &Need::all()).await.unwrap();
        assert!(level.vertex_attributes().is_empty(), "{name}");
        assert_eq!(level.refused()[0].path, "0/vertex_attributes/v", "{name}");
        assert_eq!(level.refused()[0].damaged, supported, "{name}");
        let error = level.check_complete().unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{name}");
    }
    let mut files = points();
    files.get_mut(V).unwrap().truncate(40);
    let store = open_memory(&files).await;
    assert!(store.level(0, &Need::all()).await.is_err());
}

#[tokio::test]
async fn a_folder_without_its_document_is_an_error() {
    for (case, key) in [
        ("graph", "0/links/0/zarr.json"),
        ("lines", "0/object_index/zarr.json"),
        ("lines", "0/vertex_fragments/zarr.json"),
    ] {
        let mut files = bundled(case);
        files.remove(key).unwrap();
        let store = open_memory(&files).await;
        let error = store.level(0, &Need::all()).await.unwrap_err();
        assert_eq!(error.key(), Some(key), "{error}");
    }
}

/// Adversarial A2: the links of a family without policy are not lost silently.
#[tokio::test]
async fn links_without_policy_are_an_error() {
    for case in ["graph", "mesh"] {
        for member in ["link_width", "sid_ndim"] {
            for counted in [true, false] {
                let mut files = bundled(case);
                edit(&mut files, "0/links/0/zarr.json", |doc| {
                    let attributes = doc["attributes"].as_object_mut().unwrap();
                    attributes.remove(member).unwrap();
                    if !counted {
                        attributes.remove("num_links");
                        attributes.remove("num_physical_records");
                    }
                });
                let store = open_memory(&files).await;
                let error = store.level(0, &Need::all()).await.unwrap_err();
                assert_eq!(error.class(), Class::Malformed);
                assert!(error.to_string().contains(member), "{error}");
                let level = lenient(&files).await.level(0, &Need::all()).await.unwrap();
                assert_eq!(level.refused()[0].delta, Some(0));
                assert!(level.check_complete().is_err());
            }
        }
    }
}

/// Adversarial A3: the root's `attribute_specs` give a missing type; without them there is no result.
#[tokio::test]
async fn an_attribute_without_a_type_is_what_the_root_says() {
    let specs = |files: &mut Files, dtype: &str| {
        edit(files, "zarr.json", |doc| {
            doc["attributes"]["zarr_vectors"]["attribute_specs"] =
                json!({"vertex": {"v": {"dtype": dtype}}});
        });
    };
    let typed = |files: &mut Files, dtype: Option<&str>| {
        edit(files, V, |doc| {
            let attributes = doc["attributes"].as_object_mut().unwrap();
            attributes.remove("dtype");
            if let Some(dtype) = dtype {
                attributes.insert("dtype".to_owned(), json!(dtype));
            }
        });
    };
    let mut files = points();
    typed(&mut files, None);
    let store = open_memory(&files).await;
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.to_string().contains("no dtype"), "{error}");

    specs(&mut files, "int32");
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.vertex_attributes()[0].dtype.to_string(), "int32");
    assert!(store.warnings().iter().any(|one| one.contains("no dtype")));

    typed(&mut files, Some("<i4"));
    let store = open_memory(&files).await;
    store.level(0, &Need::all()).await.unwrap();
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());

    typed(&mut files, Some("float32"));
    let store = open_memory(&files).await;
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.to_string().contains("attribute_specs"), "{error}");
}

/// Nodes that documents name and that do not exist: a warning, and an error for changes and copies.
#[tokio::test]
async fn what_is_named_and_missing_is_left_out() {
    let without = |files: &Files, folder: &str| -> Files {
        let kept = files.iter().filter(|(key, _)| !key.starts_with(folder));
        kept.map(|(key, bytes)| (key.clone(), bytes.clone()))
            .collect()
    };
    let mut named = points();
    add_grid(
        &mut named,
        "0/vertices",
        &[4, 4],
        &[-2, 0],
        &[(vec![-2, 0], Vec::new())],
    );
    edit(&mut named, "zarr.json", |doc| {
        doc["attributes"]["zarr_vectors"]["attribute_specs"] =
            json!({"vertex": {"v": {"dtype": "float32"}}});
    });
    for (files, folder) in [
        (&named, "0/vertex_attributes/v/"),
        (&named, "0/vertex_attributes/"),
        (&bundled("graph"), "0/links/"),
        (&bundled("lines"), "0/object_index/"),
    ] {
        let whole = open_memory(files).await;
        let level = whole.level(0, &Need::all()).await.unwrap();
        level.check_complete().unwrap();
        let store = open_memory(&without(files, folder)).await;
        let level = store.level(0, &Need::all()).await.unwrap();
        let path = folder.trim_end_matches('/');
        let refused = level.refused().first().unwrap();
        assert!(refused.path.starts_with(path), "{folder}: {refused}");
        assert!(refused.damaged, "{folder}");
        assert!(level.check_complete().is_err(), "{folder}");
        let warnings = store.warnings();
        assert!(
            warnings.iter().any(|one| one.contains("is missing")),
            "{folder}: {warnings:?}"
        );
    }
}

/// The document of the links is requested alone: its loss is detected from the names in its folder.
#[tokio::test]
async fn links_without_a_document_are_an_error_for_every_need() {
    let mut files = bundled("graph");
    files.remove("0/links/0/zarr.json").unwrap();
    let store = open_memory(&files).await;
    let mut need = Need::nothing();
    need.link_deltas = zvf_store::Deltas::List(vec![0]);
    let error = store.level(0, &need).await.unwrap_err();
    assert_eq!(error.key(), Some("0/links/0/zarr.json"), "{error}");
}

#[tokio::test]
async fn ids_and_manifests_that_are_lost_are_errors() {
    let mut files = bundled("lines");
    files.remove("0/object_index/object_ids/zarr.json").unwrap();
    let store = open_memory(&files).await;
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert_eq!(
        error.key(),
        Some("0/object_index/object_ids/zarr.json"),
        "{error}"
    );

    let mut files = bundled("lines");
    files.remove("0/object_index/manifests/c/0").unwrap();
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let index = level.object_index().unwrap();
    let error = index.manifests(&[0]).await.unwrap_err();
    assert!(error.to_string().contains("num_present"), "{error}");
}

#[tokio::test]
async fn the_type_of_an_attribute_is_the_declared_one() {
    for wrong in [">i4", "x", "str", "int64"] {
        let mut files = points();
        edit(&mut files, "zarr.json", |doc| {
            doc["attributes"]["zarr_vectors"]["attribute_specs"] =
                json!({"vertex": {"v": {"dtype": "int32"}}});
        });
        edit(&mut files, V, |doc| {
            doc["attributes"]["dtype"] = json!(wrong)
        });
        let store = open_memory(&files).await;
        let error = store.level(0, &Need::all()).await.unwrap_err();
        assert_eq!(error.class(), Class::Malformed, "{wrong}: {error}");
    }
}

/// A row may have more bytes than memory by its document: refused before anything is read or reserved.
#[tokio::test]
async fn rows_that_do_not_fit_in_memory_are_a_limit() {
    let mut files = points();
    edit(&mut files, V, |doc| {
        doc["attributes"]["row_shape"] = json!([u64::MAX / 2]);
    });
    let store = open_memory(&files).await;
    let level = store.level(0, &Need::all()).await.unwrap();
    let error = level.chunks(ChunkParts::all_of(&level)).unwrap_err();
    assert_eq!(error.class(), Class::Limit, "{error}");
    assert!(error.to_string().contains("vertex_attributes/v"), "{error}");
}
