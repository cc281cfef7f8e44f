//! The page of the documentation with the options of every job, from their schema.

use std::path::Path;

use serde_json::Value;
use zvf_jobs::{Job, schema};

/// A type in words, without null, which means the same as an omitted option.
fn words(of: &Value) -> Vec<String> {
    let several = of["anyOf"].as_array().or(of["oneOf"].as_array());
    if let Some(several) = several {
        return several.iter().flat_map(words).collect();
    }
    let values = of["enum"].as_array().map(Vec::as_slice);
    let values = values.or(of.get("const").map(std::slice::from_ref));
    if let Some(values) = values {
        let values = values.iter().filter(|value| !value.is_null());
        return values.map(|value| format!("`{value}`")).collect();
    }
    let names = of["type"].as_array().map(Vec::as_slice);
    let names = names.unwrap_or(std::slice::from_ref(&of["type"]));
    let names = names.iter().filter_map(Value::as_str);
    names
        .filter(|name| *name != "null")
        .map(
            |name| match (name, of.get("items").or(of.get("additionalProperties"))) {
                ("array" | "object", Some(items)) => {
                    format!("{name} of {}", words(items).join(", "))
                }
                _ => name.to_owned(),
            },
        )
        .collect()
}

#[test]
fn the_page_has_the_options_of_every_job() {
    let mut page = "\
# Options of jobs

The members of a [job file](guide.md#jobs-as-files), of `zvf.run` in Python and of the structs of `zvf-jobs`, as `zvf schema` prints them. Options without a default are optional, except for those marked `required`.
[Command line](commands.md) has the same options as flags. `ZVF_BLESS=1 cargo test -p zvf-jobs --features volumes,plot page` writes this page.
"
    .to_owned();
    for name in Job::NAMES {
        let schema = schema(Some(name)).unwrap();
        let required = schema["required"].as_array().unwrap();
        let description = schema["description"].as_str().unwrap();
        page += &format!(
            "\n## `{name}`\n\n{description}.\n\n| option | type | default | |\n|---|---|---|---|\n"
        );
        let members = schema["properties"].as_object().unwrap();
        for (member, of) in members.iter().filter(|(member, _)| *member != "job") {
            let types = words(of).join(", ");
            let default = match &of["default"] {
                Value::Null if required.contains(&member.as_str().into()) => "required".to_owned(),
                Value::Null => String::new(),
                default => format!("`{default}`"),
            };
            let about = of["description"].as_str().unwrap().replace('\n', " ");
            assert!(!about.contains('|'), "{name}: {member}: {about}");
            page += &format!("| `{member}` | {types} | {default} | {about} |\n");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/jobs.md");
    if std::env::var_os("ZVF_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(page == found, "run with ZVF_BLESS=1: {differs:?}");
}
