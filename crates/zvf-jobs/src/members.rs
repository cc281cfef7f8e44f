//! Members of jobs: how they are read, and their schema.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

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

/// Reads the options of a job from its members. Those in `required` must be present; all others have a default.
pub(crate) fn options<T: DeserializeOwned + JsonSchema>(
    members: Map<String, Value>,
    required: &[&str],
) -> Result<T, JobError> {
    for name in required {
        if !members.contains_key(*name) {
            let expected = match *name {
                "files" => "a list of paths",
                "file" | "folder" | "from" => "a path",
                "group" => "the name or number of a group",
                "new_name" => "a name",
                "objects" => "ids of objects",
                "sources" | "stores" => "a list of paths or URLs",
                "tolerance" => "a number",
                "kind" => "the name of a kind",
                "name" => "the name of an attribute",
                "chunk_shape" => "a size for each axis",
                "bounds" => "two corners",
                "by" => "group, attribute NAME, region, or count N",
                _ => "a path or URL",
            };
            return Err(JobError::option(name, "nothing", expected));
        }
    }
    // Checked here, since serde cannot detect unknown members of flattened structs.
    let known = properties::<T>();
    if let Some(name) = members.keys().find(|name| !known.contains_key(*name)) {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let expected = names.join(", ");
        return Err(JobError::option(name, "an unknown member", &expected));
    }
    let read = T::deserialize(Value::Object(members.clone()));
    read.map_err(|error| {
        let wrong = members
            .iter()
            .find_map(|(name, value)| wrong_member::<T>(name, value));
        let (path, found, said) = wrong.unwrap_or_else(|| {
            (
                "job".to_owned(),
                Value::from(members.clone()),
                error.to_string(),
            )
        });
        JobError::option(&path, shown(&found), &expected(&said))
    })
}

/// The path of the wrong value in a member, the value, and the message of the decoder; `None` if the member can be decoded.
fn wrong_member<T: DeserializeOwned>(name: &str, value: &Value) -> Option<(String, Value, String)> {
    let said = |value: Value| {
        let read = T::deserialize(json!({name: value}));
        read.err().map(|error| error.to_string())
    };
    let whole = said(value.clone())?;
    // If the empty list or object is accepted, one of the items is wrong.
    let inner = match value {
        Value::Array(items) if said(json!([])).is_none() => {
            items.iter().enumerate().find_map(|(at, item)| {
                Some((format!("{name}[{at}]"), item.clone(), said(json!([item]))?))
            })
        }
        Value::Object(members) if said(json!({})).is_none() => {
            members.iter().find_map(|(key, item)| {
                Some((
                    format!("{name}.{key}"),
                    item.clone(),
                    said(json!({key: item}))?,
                ))
            })
        }
        _ => None,
    };
    Some(inner.unwrap_or_else(|| (name.to_owned(), value.clone(), whole)))
}

/// The expected type or value in a message of serde, as text for users.
fn expected(said: &str) -> String {
    let (_, expected) = said.rsplit_once("expected ").unwrap_or(("", said));
    match expected {
        "f64" => "a number".to_owned(),
        "i64" => "a whole number".to_owned(),
        "u8" | "u32" | "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "path string" | "string or map" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        other => other.replace('`', "").replacen("one of ", "", 1),
    }
}

/// The schema of options, without references to named schemas.
fn inline<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|all| {
        all.inline_subschemas = true;
        all.meta_schema = None;
    });
    SchemaGenerator::new(settings).into_root_schema_for::<T>()
}

/// The members of options, with their schemas.
fn properties<T: JsonSchema>() -> Map<String, Value> {
    match inline::<T>().ensure_object().shift_remove("properties") {
        Some(Value::Object(found)) => found,
        _ => Map::new(),
    }
}

/// The schema of the options `T` of the job with this name.
pub(crate) fn of_options<T: JsonSchema>(name: &str, required: &[&str]) -> Map<String, Value> {
    let mut properties = Map::from_iter([("job".to_owned(), json!({"const": name}))]);
    properties.extend(self::properties::<T>());
    for name in required {
        if let Some(Value::Object(one)) = properties.get_mut(*name) {
            one.shift_remove("default");
        }
    }
    let all: Vec<&str> = std::iter::once("job")
        .chain(required.iter().copied())
        .collect();
    let mut schema = inline::<T>();
    let members = schema.ensure_object();
    members.insert("title".to_owned(), name.into());
    members.insert("required".to_owned(), all.into());
    members.insert("properties".to_owned(), properties.into());
    members.insert("additionalProperties".to_owned(), false.into());
    members.shift_remove("default");
    std::mem::take(members)
}
