//! Rules about declarations for users: attributes and user metadata.

use serde_json::Value;

use super::problem::{LevelAt, ProblemList};
use crate::error::{describe, quote};
use crate::root::RootDoc;

const AT: &str = "/attributes/zarr_vectors";

pub(super) fn user_metadata(root: &RootDoc, problems: &mut ProblemList) {
    namespaces(root.user_metadata.as_ref(), problems);
}

/// Checks the user metadata of the root or of a level.
fn namespaces(metadata: Option<&Value>, problems: &mut ProblemList) {
    let at = "/attributes/user_metadata";
    let expected = "namespaces with members";
    match metadata {
        None => {}
        Some(Value::Object(names)) => {
            for (name, members) in names {
                if name.is_empty() || name.contains('/') {
                    problems.add(at, format_args!("with {}", quote(name)), expected);
                } else if !members.is_object() {
                    problems.add(format_args!("{at}/{name}"), describe(members), "an object");
                }
            }
        }
        Some(other) => problems.add(at, describe(other), expected),
    }
}

pub(super) fn attribute_specs(root: &RootDoc, problems: &mut ProblemList) {
    let at = format!("{AT}/attribute_specs");
    for (scope, names) in root.zarr_vectors.attribute_specs.iter().flatten() {
        if !matches!(scope.as_str(), "vertex" | "object" | "link") {
            problems.add(
                &at,
                format_args!("scope {}", quote(scope)),
                "vertex, object or link",
            );
            continue;
        }
        let Some(names) = names.as_object() else {
            problems.add(
                format_args!("{at}/{scope}"),
                describe(names),
                "an object of names",
            );
            continue;
        };
        for (name, spec) in names {
            if !spec.get("dtype").is_some_and(Value::is_string) {
                let found = format!("{} without a dtype", quote(name));
                problems.add(
                    format_args!("{at}/{scope}"),
                    found,
                    "a dtype for every name",
                );
            }
        }
    }
}

pub(super) fn level_user_metadata(level: LevelAt<'_>, problems: &mut ProblemList) {
    namespaces(level.doc.user_metadata.as_ref(), problems);
}
