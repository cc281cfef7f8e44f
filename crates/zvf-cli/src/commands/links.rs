//! The report of `zvf links` for people.

use zvf_convert::output::{Style, write_value};
use zvf_format::keys::format_delta;
use zvf_jobs::{LinkRows, LinksReport};

use super::listing::{chain, more};
use crate::output::table::{TextTable, counted, joined};

/// The report for people.
pub(super) fn text(done: &LinksReport) -> String {
    let levels = done.links.as_ref().is_some_and(LinkRows::has_levels);
    let head = ["record", "level"].map(str::to_owned).into_iter();
    let ends = (0..done.width).map(|k| format!("endpoint {k}"));
    let names = done.links.iter().flat_map(LinkRows::attributes);
    let head = head.take(1 + usize::from(levels)).chain(ends);
    let mut table = TextTable::new(head.chain(names.map(str::to_owned)));
    for record in done.links.iter().flat_map(LinkRows::records) {
        let number = [table.len().to_string()].into_iter();
        let level = record.level.as_ref().map(ToString::to_string);
        let ends = record.ends.iter();
        let ends = ends.map(|(chunk, row)| format!("{}:{row}", joined(chunk, ".")));
        let values = record.attributes().map(|(column, row)| {
            let mut text = String::new();
            write_value(&mut text, column, row, Style::Text);
            text
        });
        let cells: Vec<String> = number.chain(level).chain(ends).chain(values).collect();
        table.row(cells);
    }
    let directed = match done.directed {
        true => "directed",
        false => "undirected",
    };
    format!(
        "{}{}{}, delta {}: {} of {} endpoints, {directed}\n",
        table.render(0),
        more(done.count, done.records),
        chain(done.level, &done.levels),
        format_delta(done.delta),
        counted(done.records, "record"),
        done.width
    )
}
