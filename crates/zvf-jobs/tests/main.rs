//! Tests of the jobs: options that are read or refused, schemas, and runs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

#[cfg(all(feature = "plot", feature = "volumes"))]
mod page;
#[cfg(all(feature = "plot", feature = "volumes"))]
mod python;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use zvf_jobs::{Context, ImportReport, Job, JobError, JobReport, Jobs, parse, run, schema};

/// Wrong job files with the errors that the program and Python print, too.
const WRONG: &str = include_str!("wrong.json");

/// The options of a job, from its schema.
fn properties(name: &str) -> Vec<(String, Value)> {
    let schema = schema(Some(name)).unwrap();
    let all = schema["properties"].as_object().unwrap();
    all.iter()
        .filter(|(name, _)| *name != "job")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A minimal valid job.
fn least(name: &str) -> Value {
    let mut job = json!({"job": name});
    for member in schema(Some(name)).unwrap()["required"].as_array().unwrap() {
        match member.as_str().unwrap() {
            "job" => {}
            "files" => job["files"] = json!(["a.csv"]),
            "stores" => job["stores"] = json!(["a.zv"]),
            "output" if name == "volume-slice" => job["output"] = json!("a.npy"),
            "output" if name == "volume-convert" => job["output"] = json!("a.tet"),
            "output" => job["output"] = json!("a.png"),
            "sources" => job["sources"] = json!(["a.zv", "b.zv"]),
            "kind" => job["kind"] = json!("mesh"),
            "chunk_shape" => job["chunk_shape"] = json!([1.0, 1.0]),
            "bounds" => job["bounds"] = json!("0,0:1,1"),
            "objects" => job["objects"] = json!(["a"]),
            "tolerance" => job["tolerance"] = json!(0.5),
            "file" => job["file"] = json!("a.csv"),
            "by" => job["by"] = json!(["group"]),
            store => job[store] = json!("a.zv"),
        }
    }
    match name {
        "rechunk" => job["codec"] = json!("zstd"),
        "resample" => job["points"] = json!(3),
        "edit-delete" => job["objects"] = json!([7, "9-12"]),
        "edit-set-attribute" => job["fill"] = json!(0.5),
        "group" => job["add"] = json!([7]),
        _ => {}
    }
    job
}

#[test]
fn wrong_jobs_are_refused_by_member() {
    let all: Vec<(Value, String)> = serde_json::from_str(WRONG).unwrap();
    assert!(all.len() >= 360);
    let known = |job: &Value| {
        let is = |names: &[&str]| names.contains(&job["job"].as_str().unwrap_or(""));
        (cfg!(feature = "volumes")
            || !is(&[
                "sample",
                "group",
                "volume-slice",
                "volume-convert",
                "volume-info",
            ]))
            && (cfg!(feature = "plot") || !is(&["plot"]))
    };
    for (job, expected) in all.into_iter().filter(|(job, _)| known(job)) {
        let error = parse(&job.to_string()).unwrap_err();
        let expected = expected.replace("{jobs}", &Job::NAMES.join(", "));
        assert_eq!(error.to_string(), expected, "{job}");
        assert!(matches!(error, JobError::Option { .. }), "{job}");
    }
    let error = parse("{\"job\": ").unwrap_err().to_string();
    assert!(
        error.starts_with("job file: found text that is not JSON"),
        "{error}"
    );
    let twice = r#"[{"job": "vacuum", "store": "a.zv", "store": "b.zv"}]"#;
    let error = parse(twice).unwrap_err().to_string();
    assert!(
        error.starts_with("job file: found the member \"store\" twice at line 1"),
        "{error}"
    );
}

#[test]
fn every_option_is_documented_and_has_its_default() {
    for name in Job::NAMES {
        let short = least(name);
        let job = Job::from_json(short.clone()).unwrap();
        assert_eq!((job.name(), job.to_json().unwrap()), (name, short.clone()));
        let mut long = short.clone();
        for (member, of) in properties(name) {
            assert!(
                of["description"].as_str().unwrap().len() > 8,
                "{name}.{member}"
            );
            match of.get("default") {
                None => assert!(short.get(&member).is_some(), "{name}.{member}"),
                Some(default) if short.get(&member).is_none() => long[&member] = default.clone(),
                Some(_) => {}
            }
        }
        // A job in which all defaults are stated is the same job.
        assert_eq!(Job::from_json(long).unwrap(), job);
    }
    let all = schema(None).unwrap();
    assert_eq!(all["$defs"].as_object().unwrap().len(), Job::NAMES.len());
    assert_eq!(schema(Some("inspect")), None);
}

#[test]
fn values_are_written_as_they_were_read() {
    let job = json!({
        "job": "rechunk", "source": "a", "target": "b", "codec": ["gzip"], "shard_shape": [4, 2], "chunk_shape": [1.5, 2.0],
    });
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let job = json!({"job": "pyramid", "store": "a", "factors": [2.0], "chunk_scale": [[2, 1]], "cross_links": "none", "cross_depth": -1});
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let job = json!({
        "job": "import", "files": ["a.csv", "-"], "store": "a", "id_offset": -5, "attributes": ["a", "all"], "nulls": -1, "format": "tsv",
        "delimiter": "tab", "decimal": ",", "rename": {"z": "a", "b": "c"}, "attribute_types": {"n": "int64", "a": "text"}, "edges": "e.csv",
        "axis_types": {"t": "time"}, "space": "file", "scale": [0.5], "codec": "zstd:3", "shard_shape": "none", "version": "0.8.1",
    });
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let job = json!({"job": "merge", "sources": ["a", "b"], "target": "c", "id_offset": 1000});
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    #[cfg(feature = "volumes")]
    {
        let job = json!({
            "job": "sample", "store": "a", "volume": "v.tet", "name": "n", "order": "nearest", "outside": "nan", "index": {"c": 2},
        });
        assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    }
    #[cfg(feature = "plot")]
    {
        let job = json!({
            "job": "plot", "stores": ["a", "b"], "output": "p.png", "level": 2, "color": ["fa[1]", "red"], "colormap": "turbo", "range": [0, 0.5],
            "up": "-y", "perspective": 30.0, "center": [1.0, -2.0, 0.5], "units_per_pixel": 0.25, "size": [64, 48], "background": "transparent",
            "point_size": 0.1,
        });
        assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    }
    let job = json!({
        "job": "edit-set-attribute", "store": "a", "name": "n", "from": "n.csv", "key": ["id"], "type": "int64", "fill": -1, "rename": {"a": "b"},
    });
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let job = json!({"job": "edit-delete", "store": "a", "bbox": [[0, 0], [1, 1]], "inside": true, "select": "objects", "dry_run": true});
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    // A text is split into a list of words.
    let of = |objects: Value| {
        let job = json!({"job": "edit-group-add", "store": "a", "group": "g", "objects": objects});
        Job::from_json(job).unwrap()
    };
    assert_eq!(of(json!("3-9,Anna")), of(json!(["3-9", "Anna"])));
    let Ok(Jobs::List(jobs)) = parse("[]") else {
        panic!("a list")
    };
    assert!(jobs.is_empty());
}

#[tokio::test]
async fn an_import_reports_what_it_decides() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = (folder.path().join("a.csv"), folder.path().join("a.zv"));
    std::fs::write(&file, "x;y;n\n1,5;2;3\n4;5;\n").unwrap();
    let job = json!({
        "job": "import", "files": [file], "store": store, "decimal": ",", "nulls": -1, "rename": {"n": "m"}, "attribute_types": {"m": "int64"},
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let (told, read) = (Arc::clone(&events), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&read);
    let context = Context::new()
        .with_events(Arc::new(move |event| {
            let name = format!("{event:?}");
            let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            told.lock().unwrap().push(name.to_owned());
        }))
        .with_progress(Arc::new(move |done| {
            counted.fetch_add(done, Ordering::Relaxed);
        }));
    let job = Job::from_json(job).unwrap();
    let JobReport::Import(ImportReport::Store(done)) = run(&job, &context).await.unwrap() else {
        panic!("a store")
    };
    assert_eq!((done.vertices, read.load(Ordering::Relaxed)), (2, 2));
    assert_eq!(done.bounds, [vec![1.5, 2.0], vec![4.0, 5.0]]);
    let attribute = &done.vertex_attributes[0];
    assert_eq!((&*attribute.name, &*attribute.values), ("m", "int64"));
    let events = events.lock().unwrap().clone();
    assert_eq!(events.first().map(String::as_str), Some("ChunksChosen"));
    assert_eq!(events.last().map(String::as_str), Some("Writing"));

    // An existing store is not replaced, and a request to stop ends the work before anything is written.
    let error = run(&job, &context).await.unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Misuse, "{error}");
    let stop = zvf_store::Stop::default();
    stop.ask();
    let open = zvf_store::OpenOptions::new().with_stop(stop);
    let write = zvf_encode::WriteOptions::new().with_open(open);
    let Job::Import(mut other) = job else {
        panic!("an import")
    };
    other.store = folder.path().join("b.zv").display().to_string();
    assert!(
        run(&other.clone().into(), &Context::new().with_write(write))
            .await
            .is_err()
    );
    assert!(!folder.path().join("b.zv").exists());
}

#[tokio::test]
async fn a_job_gives_a_typed_report() {
    let case = zvf_testkit::unpacked("points_ids").unwrap();
    let store = case.path().display().to_string();
    let job = Job::from_json(json!({"job": "validate", "store": store, "depth": 4})).unwrap();
    let context = Context::new();
    let JobReport::Validate(done) = run(&job, &context).await.unwrap() else {
        panic!("a validation")
    };
    assert!(done.0.is_ok());
    assert_eq!(
        serde_json::to_value(&done).unwrap(),
        zvf_validate::json(&done.0)
    );

    // A journal inside a store would replace its files.
    let inside = case.path().join("0/journal");
    let job = json!({"job": "validate", "store": store, "resume": inside});
    let error = run(&Job::from_json(job).unwrap(), &context)
        .await
        .unwrap_err();
    assert!(error.to_string().starts_with("resume: found "), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("expected a place outside of every store"),
        "{error}"
    );

    let nowhere = Job::from_json(json!({"job": "vacuum", "store": "/nowhere/a.zv"})).unwrap();
    let error = run(&nowhere, &context).await.unwrap_err();
    assert_eq!(error.place(), Some("/nowhere/a.zv"));
    assert_eq!(error.class(), zvf_store::Class::Io, "{error}");
}

#[cfg(feature = "plot")]
#[tokio::test]
async fn a_picture_is_returned_or_written() {
    use zvf_jobs::PlotPicture;
    let case = zvf_testkit::unpacked("real_skeleton").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.png");
    let job = json!({
        "job": "plot", "stores": [case.path()], "output": file, "view": "x-z", "size": [40, 30], "center": [1, 2, 3], "units_per_pixel": 50,
    });
    let Job::Plot(mut job) = Job::from_json(job).unwrap() else {
        panic!("a picture")
    };
    let context = Context::new();
    let (picture, report) = job.draw(&context).await.unwrap();
    assert!(report.file.is_none() && !file.exists());
    let layer = &report.layers[0];
    // The skeleton has this number of vertices.
    assert_eq!((layer.level, layer.vertices), (0, 4465));
    let camera = &report.camera;
    assert_eq!(
        (camera.target, camera.target_pixel),
        ([1.0, 2.0, 3.0], [20.0, 15.0])
    );
    assert_eq!((camera.units_per_pixel, camera.distance), (50.0, None));
    let PlotPicture::Pixels(pixels) = &picture else {
        panic!("pixels")
    };
    assert_eq!((pixels.width(), pixels.height()), (40, 30));
    let JobReport::Plot(done) = run(&job.clone().into(), &context).await.unwrap() else {
        panic!("a report")
    };
    assert_eq!(done.file.as_deref(), file.to_str());
    assert_eq!((done.layers, done.camera), (report.layers, report.camera));
    assert_eq!(std::fs::read(&file).unwrap(), *picture.to_bytes().unwrap());

    // Without an output `write` writes nothing, but running the job requires an output.
    job.output = None;
    job.format = Some(zvf_jobs::PictureFormat::Svg);
    let (picture, _) = job.draw(&context).await.unwrap();
    assert!(matches!(&picture, PlotPicture::Svg(text) if text.starts_with("<svg ")));
    assert_eq!(job.write(&picture, &context).await.unwrap(), None);
    let error = run(&job.into(), &context).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "output: found nothing, expected a path or URL"
    );
}

#[tokio::test]
async fn objects_that_are_sorted_fit_the_memory_budget() {
    let case = zvf_testkit::unpacked("streamlines").unwrap();
    let job = json!({"job": "objects", "store": case.path(), "sort": ["-vertices"]});
    let job = Job::from_json(job).unwrap();
    let JobReport::Objects(all) = run(&job, &Context::new()).await.unwrap() else {
        panic!("objects")
    };
    assert!(all.count > 1 && !all.truncated);
    let small = Context::new().with_memory_budget(Some(100));
    let error = run(&job, &small).await.unwrap_err();
    assert_eq!(error.class(), zvf_store::Class::Limit, "{error}");
    assert!(
        error
            .to_string()
            .contains("a larger memory budget, a limit or a condition helps"),
        "{error}"
    );
}
