//! JSON Schema of jobs.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::Job;

/// The JSON Schema of the job with a name, or, without one, of a job file: any job, or a list of them. `None` if there is no such job.
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
    let any = Job::NAMES.map(|name| json!({"$ref": format!("#/$defs/{name}")}));
    Some(json!({
        "$schema": DIALECT,
        "title": "A job of zvf, or a list of them",
        "anyOf": [{"oneOf": any}, {"type": "array", "items": {"oneOf": any}}],
        "$defs": jobs,
    }))
}

/// The schema of the options `T` of the job with this name.
pub(crate) fn of_options<T: schemars::JsonSchema>(
    name: &str,
    required: &[&str],
) -> Map<String, Value> {
    let settings = schemars::generate::SchemaSettings::draft2020_12();
    let settings = settings.with(|all| {
        all.inline_subschemas = true;
        all.meta_schema = None;
    });
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let members = schema.ensure_object();
    let mut properties = Map::from_iter([("job".to_owned(), json!({"const": name}))]);
    if let Some(Value::Object(found)) = members.shift_remove("properties") {
        properties.extend(found);
    }
    for name in required {
        if let Some(Value::Object(one)) = properties.get_mut(*name) {
            one.shift_remove("default");
        }
    }
    let all: Vec<&str> = std::iter::once("job")
        .chain(required.iter().copied())
        .collect();
    members.insert("title".to_owned(), name.into());
    members.insert("required".to_owned(), all.into());
    members.insert("properties".to_owned(), properties.into());
    members.shift_remove("default");
    std::mem::take(members)
}
