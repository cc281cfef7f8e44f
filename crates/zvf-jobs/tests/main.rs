//! Tests of the jobs: what is read, refused, described and run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

use serde_json::{Value, json};
use zvf_jobs::{Context, Job, JobError, JobReport, Jobs, parse, run, schema};

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

/// A job with what it needs.
fn least(name: &str) -> Value {
    let mut job = json!({"job": name});
    for member in schema(Some(name)).unwrap()["required"].as_array().unwrap() {
        if member != "job" {
            job[member.as_str().unwrap()] = json!("a.zv");
        }
    }
    if name == "rechunk" {
        job["codec"] = json!("zstd");
    }
    job
}

#[test]
fn wrong_jobs_are_refused_by_member() {
    let all: Vec<(Value, String)> = serde_json::from_str(WRONG).unwrap();
    assert!(all.len() >= 60);
    for (job, expected) in all {
        let error = parse(&job.to_string()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{job}");
        assert!(matches!(error, JobError::Option { .. }), "{job}");
    }
    let error = parse("{\"job\": ").unwrap_err().to_string();
    assert!(
        error.starts_with("job file: found text that is no JSON"),
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
        // A job that states all defaults is the same one.
        assert_eq!(Job::from_json(long).unwrap(), job);
    }
    let all = schema(None).unwrap();
    assert_eq!(all["$defs"].as_object().unwrap().len(), Job::NAMES.len());
    assert_eq!(schema(Some("query")), None);
}

#[test]
fn values_are_written_as_they_were_read() {
    let job = json!({
        "job": "rechunk", "source": "a", "target": "b", "codec": ["gzip"], "shard_shape": [4, 2], "chunk_shape": [1.5, 2.0],
    });
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let job = json!({"job": "pyramid", "store": "a", "factors": [2.0], "chunk_scale": [[2, 1]], "cross_links": "none", "cross_depth": -1});
    assert_eq!(Job::from_json(job.clone()).unwrap().to_json().unwrap(), job);
    let Ok(Jobs::List(jobs)) = parse("[]") else {
        panic!("a list")
    };
    assert!(jobs.is_empty());
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

    // A journal inside of a store would replace its files.
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
    assert_eq!(error.class(), zvf_store::Class::Misuse, "{error}");
}
