//! The keyword arguments of the Python package: `python/zvf/_job_options.py` is generated from the schema of the jobs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use zvf_jobs::{Job, schema};

use super::least;

/// The file, from the root of the repository.
const FILE: &str = "python/zvf/_job_options.py";

/// Longest line.
const WIDTH: usize = 150;

/// Options with a type of the package, by job (`""` for all jobs) and name: the package accepts more types than the job, or lists the legal texts.
const NAMED: [(&str, &str, &str); 11] = [
    ("", "kind", "Kind | None"),
    ("export", "bbox", BBOX),
    ("export", "faces", "bool | Path | None"),
    ("split", "bbox", BBOX),
    ("export", "objects", IDS),
    ("split", "objects", IDS),
    ("plot", "bbox", BBOX),
    ("plot", "objects", IDS),
    ("", "scale", "float | Sequence[float] | None"),
    ("sample", "affine", "ArrayLike | Path | None"),
    ("sample", "index", "Mapping[str | int, int] | None"),
];

/// A box, as `Store.query` takes it.
const BBOX: &str = "Box | ArrayLike | Mapping[str, Sequence[float | None]] | str | None";

/// Ids of objects, as `Store.query` takes them.
const IDS: &str = "ArrayLike | range | str | None";

/// The type of a value with a schema.
fn hint(of: &Value) -> String {
    let any = |all: &[Value]| {
        let all: Vec<String> = all.iter().map(hint).collect();
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{of}");
        all.join(" | ")
    };
    for of_any in ["anyOf", "oneOf"] {
        if let Some(all) = of[of_any].as_array() {
            // Constants with their own documentation.
            let (words, all): (Vec<&Value>, Vec<&Value>) =
                all.iter().partition(|one| one.get("const").is_some());
            let words = words.iter().map(|word| word["const"].clone());
            let words = json!({"enum": words.collect::<Vec<_>>()});
            let all = all.into_iter().cloned();
            let all = words["enum"]
                .as_array()
                .filter(|words| !words.is_empty())
                .map(|_| words.clone())
                .into_iter()
                .chain(all);
            return any(&all.collect::<Vec<_>>());
        }
    }
    if let Some(values) = of["enum"].as_array() {
        let (none, values): (Vec<&Value>, Vec<&Value>) =
            values.iter().partition(|one| one.is_null());
        let values: Vec<String> = values.into_iter().map(ToString::to_string).collect();
        let none = if none.is_empty() { "" } else { " | None" };
        return format!("Literal[{}]{none}", values.join(", "));
    }
    let one = |name: &str| match name {
        "string" if of["format"] == "path" => "Path".to_owned(),
        "string" => "str".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "None".to_owned(),
        "array" => match of.get("items") {
            Some(items) => format!("Sequence[{}]", hint(items)),
            None => "Sequence[Any]".to_owned(),
        },
        "object" => match of.get("additionalProperties") {
            Some(Value::Object(item)) => {
                format!("Mapping[str, {}]", hint(&Value::Object(item.clone())))
            }
            _ => "Mapping[str, Any]".to_owned(),
        },
        other => panic!("a type {other} in {of}"),
    };
    match &of["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => {
            let names = names.iter().map(|name| one(name.as_str().unwrap()));
            names.collect::<Vec<_>>().join(" | ")
        }
        other => panic!("no type in {of}: {other}"),
    }
}

/// Replaces flags of the program in a text by keyword arguments, if these are among `members`.
fn with_keywords(text: &str, members: &serde_json::Map<String, Value>) -> String {
    let mut pieces = text.split("--");
    let mut found = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|at: char| !at.is_ascii_lowercase() && at != '-');
        let (flag, rest) = piece.split_at(end.unwrap_or(piece.len()));
        let flag = flag.trim_end_matches('-');
        let keyword = flag.replace('-', "_");
        match members.contains_key(&keyword) {
            true => write!(found, "`{keyword}`{rest}").unwrap(),
            false => write!(found, "--{piece}").unwrap(),
        }
    }
    found
}

/// A documentation string, broken into lines.
fn documented(text: &str) -> String {
    let mut lines = vec![String::from("    \"\"\"")];
    for word in text.replace('\\', "\\\\").split_whitespace() {
        let last = lines.last_mut().unwrap();
        match last.len() + word.len() + 1 + 3 > WIDTH {
            true => lines.push(format!("    {word}")),
            false if last.ends_with('"') => last.push_str(word),
            false => {
                last.push(' ');
                last.push_str(word);
            }
        }
    }
    lines.join("\n") + "\"\"\"\n"
}

/// A default as Python code.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}

fn module() -> String {
    let mut text = "\
\"\"\"The options of jobs, made from their schema by a test of the crate `zvf-jobs`: `ZVF_BLESS=1 cargo test -p zvf-jobs --features volumes,plot python` writes this file.\"\"\"

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._options import JobOptions, Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from ._store import Box
    from ._write import Kind

Path: TypeAlias = str | os.PathLike[str]
"
    .to_owned();
    for name in Job::NAMES {
        let schema = schema(Some(name)).unwrap();
        let required: Vec<&str> = schema["required"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let changes = Job::from_json(least(name)).unwrap().changes().is_some();
        let base = if changes { "JobOptions" } else { "Options" };
        let class = name
            .split('-')
            .map(|word| word[..1].to_uppercase() + &word[1..]);
        writeln!(
            text,
            "\n\nclass {}Options({base}, total=False):",
            class.collect::<String>()
        )
        .unwrap();
        write!(
            text,
            "{}",
            documented(&format!(
                "The options of the job `{name}`: {}.",
                schema["description"].as_str().unwrap()
            ))
        )
        .unwrap();
        let members = schema["properties"].as_object().unwrap();
        for (at, (member, of)) in members
            .iter()
            // No keyword argument of Python can be named `from`; `zvf.run` takes it.
            .filter(|(member, _)| !required.contains(&member.as_str()) && *member != "from")
            .enumerate()
        {
            let named = NAMED
                .iter()
                .find(|(job, one, _)| one == member && ["", name].contains(job));
            let hint = named.map_or_else(|| hint(of), |(.., hint)| (*hint).to_owned());
            let before = if at == 0 { "\n" } else { "" };
            writeln!(text, "{before}    {member}: {hint}").unwrap();
            let about = of["description"].as_str().unwrap().trim_end_matches('.');
            let about = with_keywords(about, members);
            let default = match about.contains("[default") {
                true => String::new(),
                false => format!(". Default: {}", python(&of["default"])),
            };
            text.push_str(&documented(&format!("{about}{default}.")));
        }
    }
    text
}

/// A commit with a new option must also add it to the keyword arguments of Python.
#[test]
fn python_has_the_options_of_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(FILE);
    let made = module();
    if std::env::var_os("ZVF_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = made
        .lines()
        .zip(there.lines())
        .find(|(made, there)| made != there);
    assert!(
        made == there,
        "{FILE} is not what the schema says: {differs:?}; `ZVF_BLESS=1 cargo test -p zvf-jobs --features volumes,plot python` writes it"
    );
}
