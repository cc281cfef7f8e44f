//! Addresses, names with odd characters, backends that fail, refuse, or cannot list.

use std::sync::Arc;

use serde_json::json;
use zvf_store::blocking::Runtime;
use zvf_store::{CellWant, Class, KnownNames, Names, Need, OpenOptions, Store};

use crate::support::{
    Files, Tool, add_grid, all_cells, bundled, cell_of, dump, edit, memory, on_disk, small,
};

const ODD: [&str; 8] = ["größe", "a~b", "50%", "50%25", "a b", "+1", "ü#?&", "日本"];

fn odd_names() -> Files {
    let mut files = small(2, "point_cloud");
    add_grid(
        &mut files,
        "0/vertices",
        &[2, 2],
        &[0, 0],
        &[(vec![0, 1], cell_of(&[0, 1]))],
    );
    for (i, name) in ODD.iter().enumerate() {
        let cell = cell_of(&[i as i64, 0]);
        add_grid(
            &mut files,
            &format!("0/vertex_attributes/{name}"),
            &[2, 2],
            &[0, 0],
            &[(vec![1, 1], cell)],
        );
    }
    files
}

async fn check_odd(store: Store) {
    let mut sorted = ODD.to_vec();
    sorted.sort_unstable();
    for names in [
        Names::All,
        Names::List(ODD.iter().map(ToString::to_string).collect()),
    ] {
        let level = store
            .level(
                0,
                &Need {
                    vertex_attributes: names,
                    ..Need::default()
                },
            )
            .await
            .unwrap();
        let found: Vec<&str> = level
            .vertex_attributes()
            .iter()
            .map(|a| a.name.as_str())
            .collect();
        assert_eq!(found, sorted);
        for attribute in level.vertex_attributes() {
            let i = ODD.iter().position(|n| *n == attribute.name).unwrap();
            let cells = store.fetch(2, all_cells(&attribute.array)).await.unwrap();
            assert_eq!(
                cells[0].as_deref(),
                Some(cell_of(&[i as i64, 0]).as_slice()),
                "{}",
                attribute.name
            );
        }
    }
    assert!(store.warnings().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_with_odd_characters() {
    let files = odd_names();
    let backend = memory(&files).await;
    check_odd(
        Store::open_with("memory:///", OpenOptions::new().with_object_store(backend))
            .await
            .unwrap(),
    )
    .await;
    // Also below a prefix with such characters, and on disk, by path and by URL.
    let moved: Files = files
        .iter()
        .map(|(k, v)| (format!("data/größe 50%/{k}"), v.clone()))
        .collect();
    let backend = memory(&moved).await;
    let url = "memory:///data/gr%C3%B6%C3%9Fe%2050%25";
    check_odd(
        Store::open_with(url, OpenOptions::new().with_object_store(backend))
            .await
            .unwrap(),
    )
    .await;
    let folder = on_disk(&moved);
    let path = folder.path().join("data/größe 50%");
    check_odd(Store::open(path.to_str().unwrap()).await.unwrap()).await;
    let url = url::Url::from_file_path(&path).unwrap();
    check_odd(Store::open(url.as_str()).await.unwrap()).await;
    // The files of a disk through the object store's own backend.
    let disk = object_store::local::LocalFileSystem::new_with_prefix(&path).unwrap();
    check_odd(
        Store::open_with(
            "memory:///",
            OpenOptions::new().with_object_store(Arc::new(disk)),
        )
        .await
        .unwrap(),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_cannot_leave_the_store() {
    let folder = on_disk(&odd_names());
    let store = Store::open(folder.path().to_str().unwrap()).await.unwrap();
    for name in ["..", ".", "", "a/b", "../../zarr.json", "/etc", "a\0b"] {
        let need = Need {
            vertex_attributes: Names::List(vec![name.to_owned()]),
            ..Need::default()
        };
        assert_eq!(
            store.level(0, &need).await.unwrap_err().class(),
            Class::Misuse,
            "{name:?}"
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_apart() {
    let error = Store::open("/nonexistent/store.zarrvectors")
        .await
        .unwrap_err();
    assert!(error.is_not_found() && !error.is_transient(), "{error}");
    assert_eq!(error.class(), Class::Io);
    assert!(
        error.to_string().contains("/nonexistent/store.zarrvectors"),
        "{error}"
    );
    assert!(
        error.to_string().contains("no store there: no such folder"),
        "{error}"
    );
    let folder = on_disk(&Files::from([(
        "a.zarrvectors/zarr.json".to_owned(),
        vec![],
    )]));
    let error = Store::open(folder.path().to_str().unwrap())
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the folder has no zarr.json; it holds a.zarrvectors"),
        "{error}"
    );
    let file = folder.path().join("a.zarrvectors/zarr.json");
    let error = Store::open(file.to_str().unwrap()).await.unwrap_err();
    assert!(
        error.to_string().contains("is a file, expected the folder"),
        "{error}"
    );
    let error = crate::support::try_open(&Files::new(), OpenOptions::new())
        .await
        .unwrap_err();
    assert!(
        error.is_not_found() && error.to_string().contains("nothing is at"),
        "{error}"
    );
    let folder = on_disk(&Files::from([("zarr.json/x".to_owned(), vec![])]));
    assert_eq!(
        Store::open(folder.path().to_str().unwrap())
            .await
            .unwrap_err()
            .class(),
        Class::Malformed
    );
    let mut files = odd_names();
    files.insert(
        "zarr.json".to_owned(),
        br#"{"zarr_format":3,"node_type":"group","attributes":{}}"#.to_vec(),
    );
    let error = crate::support::try_open(&files, OpenOptions::new())
        .await
        .unwrap_err();
    assert_eq!(error.class(), Class::Malformed);
    assert!(error.to_string().contains("zarr_vectors"), "{error}");
    let error = Store::open("memory:///x").await.unwrap_err();
    assert_eq!(error.class(), Class::Misuse);
}

type Make = fn() -> object_store::Error;

fn denied() -> object_store::Error {
    object_store::Error::PermissionDenied {
        path: String::new(),
        source: "no".into(),
    }
}

fn failed() -> object_store::Error {
    object_store::Error::Generic {
        store: "tool",
        source: "the line is cut".into(),
    }
}

async fn faulty(files: &Files, on: &'static str, make: Make) -> OpenOptions {
    let mut tool = Tool::new(memory(files).await);
    tool.fault = Some(Box::new(move |key| (key.contains(on)).then(make)));
    OpenOptions::new().with_object_store(Arc::new(tool))
}

#[tokio::test]
async fn absent_denied_and_failed_are_three_things() {
    let files = bundled("points_ids");
    // The root.
    let error = Store::open_with("memory:///", faulty(&files, "zarr.json", denied).await)
        .await
        .unwrap_err();
    assert!(
        error.is_denied() && error.class() == Class::Io && !error.is_transient(),
        "{error}"
    );
    let error = Store::open_with("memory:///", faulty(&files, "zarr.json", failed).await)
        .await
        .unwrap_err();
    assert!(
        error.is_transient() && error.to_string().contains("the line is cut"),
        "{error}"
    );
    assert!(std::error::Error::source(&error).is_some());
    // A document that is not needed may be denied.
    let store = Store::open_with("memory:///", faulty(&files, "object_index", denied).await)
        .await
        .unwrap();
    let level = store.level(0, &Need::nothing()).await.unwrap();
    assert!(level.object_index().is_none());
    // A document that a listing names exists, so "denied" does not mean absent.
    let error = store.level(0, &Need::all()).await.unwrap_err();
    assert!(error.is_denied(), "{error}");
    // Buckets that cannot be listed answer "denied" for objects that do not exist.
    let mut tool = Tool::new(memory(&files).await);
    tool.can_list = false;
    tool.fault = Some(Box::new(|key| key.contains("object_index").then(denied)));
    let options = OpenOptions::new().with_object_store(Arc::new(tool));
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    assert!(level.object_index().is_none());
    // Access to a necessary document may not be denied, and a failure is never taken for absence.
    let store = Store::open_with(
        "memory:///",
        faulty(&files, "0/vertices/zarr", denied).await,
    )
    .await
    .unwrap();
    assert!(
        store
            .level(0, &Need::default())
            .await
            .unwrap_err()
            .is_denied()
    );
    let error = Store::open_with("memory:///", faulty(&files, "object_index", failed).await)
        .await
        .unwrap_err();
    assert!(error.is_transient());
    // Cells.
    for (make, transient) in [(denied as Make, false), (failed as Make, true)] {
        let store = Store::open_with("memory:///", faulty(&files, "0/vertices/c/", make).await)
            .await
            .unwrap();
        let level = store.level(0, &Need::default()).await.unwrap();
        let error = store
            .fetch(3, all_cells(level.vertices()))
            .await
            .unwrap_err();
        assert_eq!(
            (error.is_transient(), error.is_denied()),
            (transient, !transient)
        );
        assert!(error.key().unwrap().starts_with("0/vertices/c/"));
    }
}

async fn unlistable(files: &Files) -> OpenOptions {
    let mut tool = Tool::new(memory(files).await);
    tool.can_list = false;
    OpenOptions::new().with_object_store(Arc::new(tool))
}

#[tokio::test]
async fn a_backend_that_cannot_list() {
    let mut files = odd_names();
    edit(&mut files, "zarr.json", |d| {
        d["attributes"]["zarr_vectors"]["attribute_specs"] =
            json!({"vertex": {"größe": {"dtype": "float32"}, "missing": {"dtype": "int8"}}});
    });
    let store = Store::open_with("memory:///", unlistable(&files).await)
        .await
        .unwrap();
    assert_eq!(store.levels(), [0]);
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(
        level
            .vertex_attributes()
            .iter()
            .map(|a| a.name.as_str())
            .collect::<Vec<_>>(),
        ["größe"]
    );
    assert!(
        store.warnings().iter().any(|w| w.contains("cannot list")),
        "{:?}",
        store.warnings()
    );
    // Names that the caller knows come first.
    let mut names = KnownNames::default();
    names.vertex_attributes = vec!["a~b".to_owned(), "50%".to_owned()];
    names.levels = vec![0];
    let options = unlistable(&files).await.with_names(names);
    let store = Store::open_with("memory:///", options).await.unwrap();
    let level = store.level(0, &Need::all()).await.unwrap();
    assert_eq!(level.vertex_attributes().len(), 2);
    // A name that is requested explicitly needs no listing.
    let need = Need {
        vertex_attributes: Names::List(vec!["日本".to_owned()]),
        ..Need::default()
    };
    assert_eq!(
        store
            .level(0, &need)
            .await
            .unwrap()
            .vertex_attributes()
            .len(),
        1
    );
}

#[tokio::test]
async fn links_on_a_backend_that_cannot_list() {
    for case in ["graph", "mesh", "real_skeleton", "streamlines"] {
        let files = bundled(case);
        let listed = crate::support::open_memory(&files).await;
        let blind = Store::open_with("memory:///", unlistable(&files).await)
            .await
            .unwrap();
        let need = Need {
            link_deltas: zvf_store::Deltas::List(vec![0]),
            ..Need::default()
        };
        let (a, b) = (
            listed.level(0, &need).await.unwrap(),
            blind.level(0, &need).await.unwrap(),
        );
        let segments = |level: &zvf_store::Level| -> Vec<String> {
            level
                .links(0)
                .map(|f| f.arrays().iter().map(|a| a.segment().to_owned()).collect())
                .unwrap_or_default()
        };
        // Arrays of neighbouring chunks are tried; the lack of others is a warning.
        let (all, found) = (segments(&a), segments(&b));
        assert!(found.iter().all(|s| all.contains(s)), "{case}");
        let near = |s: &&String| s.split(['_', '.']).all(|c| matches!(c, "0" | "+1" | "-1"));
        assert_eq!(
            all.iter().filter(near).count(),
            found.len(),
            "{case}: {all:?} {found:?}"
        );
        assert!(
            blind.warnings().iter().any(|w| w.contains("link arrays")),
            "{:?}",
            blind.warnings()
        );
    }
}

#[test]
fn the_blocking_facade_reads_and_outside_a_runtime_nothing_panics() {
    let unpacked = zvf_testkit::unpacked("lines").unwrap();
    let url = unpacked.url().unwrap();
    let error = futures::FutureExt::now_or_never(Store::open(&url))
        .unwrap()
        .unwrap_err();
    assert_eq!(error.class(), Class::Misuse);
    assert!(error.to_string().contains("runtime"), "{error}");
    let runtime = Runtime::new().unwrap();
    let store = runtime.wait(Store::open(&url)).unwrap();
    assert!(!runtime.wait(dump(&store)).is_empty());
    let level = runtime.wait(store.level(0, &Need::default())).unwrap();
    let vertices = Arc::clone(level.vertices());
    let chunks: Vec<Vec<i64>> = vertices.presence().iter().map(<[i64]>::to_vec).collect();
    let expected = chunks.len();
    let stream = futures::StreamExt::then(futures::stream::iter(chunks), move |chunk| {
        let want = CellWant::new(&vertices, chunk.as_slice());
        store.fetch_map(3, vec![want], |cells| cells.len())
    });
    assert_eq!(
        runtime.iter(stream).map(Result::unwrap).sum::<usize>(),
        expected
    );
}
