//! A dump as text and as JSON.

use std::fmt::Write as _;

use super::dump::{Dump, Field, hex};

/// Bytes on one line of text.
const LINE: usize = 16;

/// The dump as text for people.
pub(crate) fn text(dump: &Dump) -> String {
    let mut out = String::new();
    for (name, value) in &dump.head {
        let _ = writeln!(out, "{name:<9} {value}");
    }
    for section in &dump.sections {
        let _ = writeln!(out, "\n{}", section.title);
        let width = |of: &dyn Fn(&Field) -> usize| section.fields.iter().map(of).max().unwrap_or(0);
        let name = width(&|field| field.name.chars().count()).min(28);
        let value = width(&|field| field.value.chars().count()).min(56);
        let hex = width(&|field| field.bytes.len().min(LINE));
        for field in &section.fields {
            line(&mut out, field, hex * 3, name, value);
        }
    }
    if !dump.conclusions.is_empty() {
        out.push('\n');
        for conclusion in &dump.conclusions {
            let _ = writeln!(out, "= {conclusion}");
        }
    }
    if let Some(fault) = &dump.fault {
        let _ = writeln!(out, "\n! byte {}: {}", fault.at, fault.message);
    }
    out
}

/// Writes one field: offset, bytes, name, value, meaning; long byte strings continue on the next lines.
fn line(out: &mut String, field: &Field, hex_width: usize, name_width: usize, value_width: usize) {
    let mut parts = field.bytes.chunks(LINE);
    let offset = field.at.map(|at| format!("{at:#06x}")).unwrap_or_default();
    let mut text = String::from("  ");
    // A section without any bytes (a document) has no columns for them.
    if hex_width > 0 || field.at.is_some() {
        let _ = write!(
            text,
            "{offset:<8}{:<hex_width$} ",
            hex(parts.next().unwrap_or_default())
        );
    }
    let _ = write!(
        text,
        "{:<name_width$}  {:<value_width$}  {}",
        field.name, field.value, field.meaning
    );
    out.push_str(text.trim_end());
    out.push('\n');
    let mut at = field.at.unwrap_or(0);
    for part in parts {
        at = at.saturating_add(LINE as u64);
        let _ = writeln!(out, "  {:<8}{}", format!("{at:#06x}"), hex(part));
    }
    let hidden = field.length.saturating_sub(field.bytes.len() as u64);
    if hidden > 0 && !field.bytes.is_empty() {
        let _ = writeln!(out, "          … {hidden} more bytes");
    }
}
