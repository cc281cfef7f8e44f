//! Rules about declarations for users: attributes and user metadata.

use serde_json::Value;

use super::{LevelAt, Problem, Problems, Rule};
use crate::error::{describe, quote};
use crate::root::RootDoc;

const AT: &str = "/attributes/zarr_vectors";

/// Returns the problems of the root against [`Rule::UserMetadata`].
#[must_use]
pub fn user_metadata(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    namespaces(&mut problems, root.user_metadata.as_ref());
    problems.done()
}

/// Checks user metadata, of the root or of a level.
fn namespaces(problems: &mut Problems, metadata: Option<&Value>) {
    let at = "/attributes/user_metadata";
    let expected = "namespaces with members";
    match metadata {
        None => {}
        Some(Value::Object(names)) => {
            for (name, members) in names {
                if name.is_empty() || name.contains('/') {
                    problems.add(
                        Rule::UserMetadata,
                        at,
                        format_args!("with {}", quote(name)),
                        expected,
                    );
                } else if !members.is_object() {
                    problems.add(
                        Rule::UserMetadata,
                        format_args!("{at}/{name}"),
                        describe(members),
                        "an object",
                    );
                }
            }
        }
        Some(other) => problems.add(Rule::UserMetadata, at, describe(other), expected),
    }
}

/// Returns the problems against [`Rule::AttributeSpecs`].
#[must_use]
pub fn attribute_specs(root: &RootDoc) -> Vec<Problem> {
    let mut problems = Problems::root();
    let rule = Rule::AttributeSpecs;
    let at = format!("{AT}/attribute_specs");
    for (scope, names) in root.zarr_vectors.attribute_specs.iter().flatten() {
        if !matches!(scope.as_str(), "vertex" | "object" | "link") {
            problems.add(
                rule,
                &at,
                format_args!("scope {}", quote(scope)),
                "vertex, object or link",
            );
            continue;
        }
        let Some(names) = names.as_object() else {
            problems.add(
                rule,
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
                    rule,
                    format_args!("{at}/{scope}"),
                    found,
                    "a dtype for every name",
                );
            }
        }
    }
    problems.done()
}

/// Returns the problems of a level against [`Rule::UserMetadata`].
#[must_use]
pub fn level_user_metadata(level: LevelAt<'_>) -> Vec<Problem> {
    let mut problems = level.problems();
    namespaces(&mut problems, level.doc.user_metadata.as_ref());
    problems.done()
}
