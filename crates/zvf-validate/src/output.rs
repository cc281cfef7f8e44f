//! A report as a document for programs, and the table of checks as a Markdown page.

use std::fmt::Write;

use serde_json::{Value, json as value};
use zvf_meta::rules::Severity;

use crate::check::{Check, CheckInfo, Depth};
use crate::finding::Finding;
use crate::report::Report;

/// The report as JSON: the options, the findings, all counts.
#[must_use]
pub fn json(report: &Report) -> Value {
    let findings: Vec<Value> = report.findings.iter().map(finding).collect();
    let counts: Vec<Value> = report
        .counts
        .iter()
        .map(|(check, count)| value!({"code": check.code().to_string(), "count": count}))
        .collect();
    value!({
        "store": report.store,
        "version": report.version,
        "kind": report.kind,
        "level": report.depth.number(),
        "ok": report.is_ok(),
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
        "findings": findings,
        "counts": counts,
        "skipped": report.skipped,
        "seen": {
            "documents": report.seen.documents,
            "levels": report.seen.levels,
            "cells": report.seen.cells,
            "bytes": report.seen.bytes,
            "vertices": report.seen.vertices,
            "links": report.seen.links,
            "objects": report.seen.objects,
        },
    })
}

fn finding(finding: &Finding) -> Value {
    let info = finding.check.info();
    let place = &finding.place;
    let mut one = value!({
        "code": info.code.to_string(),
        "title": info.title,
        "severity": info.severity.to_string(),
        "path": place.path,
        "found": finding.found,
        "expected": finding.expected,
        "hint": info.hint,
    });
    if let Some(members) = one.as_object_mut() {
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members.insert(name.to_owned(), value);
            }
        };
        put("resolution_level", place.level.map(Value::from));
        put("pointer", place.pointer.clone().map(Value::from));
        put(
            "chunk",
            place
                .chunk
                .as_ref()
                .map(|chunk| Value::from(chunk.as_slice().to_vec())),
        );
        put("object", place.object.map(Value::from));
        put("fragment", place.fragment.map(Value::from));
        put("row", place.row.map(Value::from));
        put("byte", place.byte.map(Value::from));
    }
    one
}

/// The report as SARIF 2.1.0: one run, with one rule for each check that has findings.
#[must_use]
pub fn sarif(report: &Report) -> Value {
    let level = |severity: Severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let rules: Vec<Value> = report
        .counts
        .keys()
        .map(|check| {
            let info = check.info();
            value!({
                "id": info.code.to_string(),
                "name": info.title,
                "shortDescription": {"text": info.rule},
                "help": {"text": info.hint},
                "defaultConfiguration": {"level": level(info.severity)},
                "properties": {"source": info.source, "versions": info.versions, "kinds": info.kinds},
            })
        })
        .collect();
    let results: Vec<Value> = report
        .findings
        .iter()
        .map(|one| {
            value!({
                "ruleId": one.check.code().to_string(),
                "level": level(one.severity()),
                "message": {"text": format!("found {}, expected {}", one.found, one.expected)},
                "locations": [{
                    "physicalLocation": {"artifactLocation": {"uri": one.place.path}},
                    "logicalLocations": [{"fullyQualifiedName": one.place.to_string()}],
                }],
            })
        })
        .collect();
    value!({
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{
            "tool": {"driver": {
                "name": "zvf validate",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
            "properties": {"store": report.store, "skipped": report.skipped},
        }],
    })
}

/// The report as `JUnit` XML, with one case for each check up to the depth of the report, including checks that options excluded. Errors are failures;
/// notes and warnings are in the output of the case.
#[must_use]
pub fn junit(report: &Report) -> String {
    let asked: Vec<CheckInfo> = Check::all()
        .into_iter()
        .filter(|info| info.code.depth <= report.depth)
        .collect();
    let failed = report
        .counts
        .keys()
        .filter(|check| check.severity() == Severity::Error)
        .count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">",
        escape(&report.store),
        asked.len()
    );
    for info in asked {
        let _ = write!(
            xml,
            "  <testcase classname=\"{}\" name=\"{}\"",
            info.code,
            escape(info.title)
        );
        let count = report.count_of(info.check);
        if count == 0 {
            xml.push_str("/>\n");
            continue;
        }
        let mut text = String::new();
        for one in report.findings.iter().filter(|one| one.check == info.check) {
            let _ = writeln!(text, "{one}");
        }
        let text = escape(&text);
        let _ = match info.severity {
            Severity::Error => writeln!(
                xml,
                ">\n    <failure message=\"{count} times: {}\">{text}</failure>\n  </testcase>",
                escape(info.rule)
            ),
            Severity::Warning | Severity::Note => {
                writeln!(xml, ">\n    <system-out>{text}</system-out>\n  </testcase>")
            }
        };
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// Escapes text for XML; characters that XML does not allow become question marks.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('?')
            }
            letter => out.push(letter),
        }
    }
    out
}

/// The table of checks as Markdown: `docs/checks.md` without its first and last paragraphs.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::new();
    for depth in Depth::ALL {
        let title = match depth {
            Depth::Structure => "Level 1: structure",
            Depth::Metadata => "Level 2: metadata",
            Depth::Consistency => "Level 3: consistency",
            Depth::Conformance => "Level 4: conformance",
            Depth::Multiscale => "Level 5: relations between levels",
        };
        let _ = writeln!(page, "## {title}\n");
        page.push_str("| code | name | severity | rule | source | versions | kinds | hint | `zvf repair` |\n|---|---|---|---|---|---|---|---|---|\n");
        for info in Check::all()
            .into_iter()
            .filter(|info| info.code.depth == depth)
        {
            let CheckInfo {
                code,
                severity,
                title,
                rule,
                source,
                versions,
                kinds,
                hint,
                check,
            } = info;
            let repair = check.repairable();
            let _ = writeln!(
                page,
                "| {code} | {title} | {severity} | {rule} | {source} | {versions} | {kinds} | {hint} | {repair} |"
            );
        }
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_is_escaped() {
        assert_eq!(escape("a<b & \"c\"\u{7}"), "a&lt;b &amp; &quot;c&quot;?");
    }
}
