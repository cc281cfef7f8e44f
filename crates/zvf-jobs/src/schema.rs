//! JSON Schema of jobs.

use serde_json::{Map, Value, json};

use crate::Job;

/// The JSON Schema of the job with this name. Without a name, the schema of a job file: one job, or a list of jobs. `None` if no job has the name.
///
/// Each option has its documentation, type and default.
///
/// ```
/// let schema = zvf_jobs::schema(Some("validate")).ok_or("no such job")?;
/// assert_eq!(schema["properties"]["depth"]["default"], 3);
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn schema(name: Option<&str>) -> Option<Value> {
    const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
    if let Some(name) = name {
        let mut members = Map::from_iter([("$schema".to_owned(), DIALECT.into())]);
        members.extend(Job::schema_of(name)?);
        return Some(members.into());
    }
    let one = |name: &&str| Some(((*name).to_owned(), Job::schema_of(name)?.into()));
    let jobs: Map<String, Value> = Job::NAMES.iter().filter_map(one).collect();
    let any = Job::NAMES.iter();
    let any = any.map(|name| json!({"$ref": format!("#/$defs/{name}")}));
    let any: Vec<Value> = any.collect();
    Some(json!({
        "$schema": DIALECT,
        "title": "A job of zvf, or a list of them",
        "anyOf": [{"oneOf": any}, {"type": "array", "items": {"oneOf": any}}],
        "$defs": jobs,
    }))
}
