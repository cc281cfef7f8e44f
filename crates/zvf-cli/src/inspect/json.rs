//! The members of a `zarr.json` document, with the meaning of those that Zarr and this format define.

use serde_json::Value;

use super::dump::{Dump, Stopped, Walk};
use crate::output::table::{counted, joined};

/// Members that are shown as a whole.
const WHOLE: &[&str] = &[
    "shape",
    "codecs",
    "chunk_key_encoding",
    "attributes.nonempty_chunks",
    "attributes.categories",
    "attributes.zvf_shard_lengths",
    "attributes.ome",
];

/// Dumps a document.
pub(crate) fn walk(walk: &mut Walk<'_, '_>) -> Result<(), Stopped> {
    let bytes = walk.rest();
    let document: Value = serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let at = byte_of(bytes, line, column);
        walk.dump.section("text before the damage");
        let start = at.saturating_sub(64);
        let tail = bytes.get(start..at).unwrap_or_default();
        let text = String::from_utf8_lossy(tail);
        let _ = walk.take(start as u64, "text");
        if walk.take(tail.len() as u64, "text").is_ok() {
            let text = joined(text.split_whitespace(), " ");
            walk.note("text", text, "the end of the valid JSON");
        }
        let reason = error.to_string();
        let reason = reason.split(" at line").next().unwrap_or_default();
        walk.fault_here(format!(
            "not a JSON document: {reason} (line {line}, column {column})"
        ))
    })?;
    let kind = document.get("node_type").and_then(Value::as_str);
    let (kind, length) = (kind.unwrap_or("JSON"), bytes.len());
    walk.dump
        .section(format_args!("{kind} document, {length} bytes"));
    let Value::Object(members) = &document else {
        let found = short(&document);
        return Err(walk.fault_here(format!("document: found {found}, expected an object")));
    };
    for (name, value) in members {
        member(walk.dump, name, value, 0);
    }
    Ok(())
}

/// Shows one member, and below it its own members, unless it is shown as a whole.
fn member(dump: &mut Dump, path: &str, value: &Value, depth: usize) {
    let name = path.rsplit('.').next().unwrap_or(path);
    let meaning = zvf_meta::meaning(path).unwrap_or_default();
    let title = format!("{}{name}", "  ".repeat(depth));
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) if !members.is_empty() && depth < 6 && !WHOLE.contains(&path) => {
            let count = counted(members.len() as u64, "member");
            dump.remark(title, count, meaning);
            members
                .iter()
                .map(|(name, value)| (name.clone(), value))
                .collect()
        }
        Value::Array(items) if path == "attributes.multiscales" => {
            dump.remark(title, counted(items.len() as u64, "item"), meaning);
            let items = items.iter().take(dump.rows).enumerate();
            items.map(|(i, item)| (i.to_string(), item)).collect()
        }
        other => return dump.remark(title, short(other), meaning),
    };
    for (name, value) in members {
        member(dump, &format!("{path}.{name}"), value, depth + 1);
    }
}

/// A value on one line; long lists begin with the number of their items.
fn short(value: &Value) -> String {
    const MOST: usize = 56;
    let text = value.to_string();
    if text.chars().count() <= MOST {
        return text;
    }
    let head: String = text.chars().take(MOST - 1).collect();
    match value {
        Value::Array(items) => format!("{} items: {head}…", items.len()),
        _ => format!("{head}…"),
    }
}

/// The byte at a line and column, both counted from 1; column 0 is the start of the line.
fn byte_of(bytes: &[u8], line: usize, column: usize) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let start: usize = lines.take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    (start + column.saturating_sub(1)).min(bytes.len())
}
