//! Jobs whose results go to a bucket.

use serde_json::{Value, json};
use zvf_jobs::{Context, Job, JobError};
use zvf_write::WriteOptions;

use crate::support::{signed, write};

/// Runs a job; returns its report.
async fn run(job: Value) -> Result<Value, JobError> {
    let context = Context::new().with_write(WriteOptions::new().with_open(signed()));
    let report = zvf_jobs::run(&Job::from_json(job)?, &context).await?;
    Ok(serde_json::to_value(report).unwrap())
}

#[tokio::test]
async fn a_split_into_a_bucket_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "0.9/real_tractogram");
    let store = folder.path().join("0.9/real_tractogram");
    let split =
        |to: &str| json!({"job": "split", "store": store, "folder": to, "by": ["count", "2"]});
    let first = run(split("s3://edits-7/split")).await.unwrap();
    assert_eq!(
        (first["parts"].as_array().unwrap().len(), &first["skipped"]),
        (2, &json!(0))
    );
    for part in first["parts"].as_array().unwrap() {
        let address = part["file"].as_str().unwrap();
        assert!(address.starts_with("s3://edits-7/split/"), "{address}");
        let found = run(json!({"job": "validate", "store": address, "depth": 5}))
            .await
            .unwrap();
        assert_eq!(found["errors"], 0, "{found}");
    }
    let again = run(split("s3://edits-7/split")).await.unwrap();
    assert_eq!(again["skipped"], 2);
    assert!(!std::path::Path::new("s3:").exists());
    let mut files = split("s3://edits-7/files");
    files["format"] = json!("csv");
    let refused = run(files).await.unwrap_err().to_string();
    assert!(
        refused.contains("folder") && refused.contains("local directory"),
        "{refused}"
    );
}
