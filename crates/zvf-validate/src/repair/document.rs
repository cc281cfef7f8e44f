//! A plan as a JSON document.

use serde_json::{Value, json};

use super::apply::Applied;
use super::documents::ROOT;
use super::plan::RepairPlan;
use crate::{Report, Severity};

fn counts(report: &Report) -> Value {
    json!({
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    })
}

/// A plan and its result as JSON: changes, remaining findings, and counts of findings before and after.
#[must_use]
pub fn document(plan: &RepairPlan, applied: Option<&Applied>) -> Value {
    let changes: Vec<Value> = plan
        .changes
        .iter()
        .map(|one| {
            let codes = one.checks.iter().map(|check| check.code().to_string());
            json!({
                "document": one.document,
                "pointer": one.pointer,
                "old": one.old,
                "new": one.new,
                "settles": codes.collect::<Vec<_>>(),
                "why": one.why,
            })
        })
        .collect();
    let left: Vec<Value> = plan
        .left
        .iter()
        .map(|one| {
            let info = one.finding.check.info();
            json!({
                "code": info.code.to_string(),
                "title": info.title,
                "severity": info.severity.to_string(),
                "place": one.finding.place.to_string(),
                "found": one.finding.found,
                "expected": one.finding.expected,
                "why": one.why,
            })
        })
        .collect();
    let mut documents: Vec<&str> = plan.documents.iter().map(|one| &*one.key).collect();
    // The root was replaced to add the history.
    if applied.is_some_and(|one| one.documents > documents.len()) {
        documents.push(ROOT);
    }
    json!({
        "store": plan.store,
        "applied": applied.is_some(),
        "backup": applied.and_then(|one| one.backup.as_deref()),
        "documents": documents,
        "changes": changes,
        "left": left,
        "given_up": plan.given_up.iter().map(|one| one.place.to_string()).collect::<Vec<_>>(),
        "before": counts(&plan.before),
        "after": counts(applied.map_or(&plan.after, |one| &one.report)),
    })
}
