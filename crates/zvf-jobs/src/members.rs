//! Members of jobs: how they are read, and their schema.

use schemars::SchemaGenerator;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serde_path_to_error::Segment;

use crate::JobError;

/// A value for a message, shortened if it is long.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}..", text.get(..at).unwrap_or(&text)),
        None => text,
    }
}

/// Reads the options of a job from its members. `required` have to be there.
pub(crate) fn options<T: DeserializeOwned>(
    members: Map<String, Value>,
    required: &[&str],
) -> Result<T, JobError> {
    for name in required {
        if !members.contains_key(*name) {
            return Err(JobError::option(name, "nothing", "a path or URL"));
        }
    }
    let value = Value::from(members);
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let mut path = String::new();
        let mut found = Some(&value);
        for segment in error.path() {
            match segment {
                Segment::Seq { index } => {
                    path.push_str(&format!("[{index}]"));
                    found = found.and_then(|list| list.get(index));
                }
                Segment::Map { key } => {
                    path.push_str(key);
                    found = found.and_then(|map| map.get(key));
                }
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        let said = error.inner().to_string();
        if said.starts_with("unknown field") {
            return JobError::option(&path, "an unknown member", &expected(&said));
        }
        let found = found.map_or_else(|| "nothing".to_owned(), shown);
        JobError::option(&path, found, &expected(&said))
    })
}

/// What was expected, in the message of a decoder.
fn expected(said: &str) -> String {
    let (_, expected) = said.rsplit_once("expected ").unwrap_or(("", said));
    match expected {
        "f64" => "a number".to_owned(),
        "i64" => "a whole number".to_owned(),
        "u8" | "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "path string" | "string or map" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        other => other.replace('`', "").replacen("one of ", "", 1),
    }
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
