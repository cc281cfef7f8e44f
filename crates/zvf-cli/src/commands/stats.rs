//! `zvf stats`: statistics of axes and attributes.

use std::fmt::Write as _;

use arrow_schema::{DataType, Field};
use zvf_jobs::{StatsReport, exact_text};
use zvf_query::{ColumnStatistics, StatisticValue, StatisticsOf};
use zvf_store::meta::moments::Moments;

use super::listing::chain;
use crate::output::table::{TextTable, count, digits, shortest};

/// Most texts of a column that are shown.
const SHOWN: usize = 12;

/// Characters of the longest bar of a histogram.
const BAR: u64 = 40;

/// The statistics for people.
pub(super) fn text(done: &StatsReport) -> String {
    let mut out = format!(
        "store     {} ({}, {})\nvertices  {}\n\n",
        done.store,
        done.kind,
        chain(done.level, &done.levels),
        count(done.vertices)
    );
    match (&done.columns, &done.rows) {
        (Some(columns), _) => out.push_str(&table(columns, done)),
        (None, Some(rows)) => out.push_str(&TextTable::of(rows, TextTable::batch)),
        (None, None) => {}
    }
    out
}

/// The statistics of all rows.
fn table(columns: &[ColumnStatistics], done: &StatsReport) -> String {
    let quantiles = done
        .spec
        .quantiles
        .iter()
        .map(|one| format!("{}%", digits(one * 100.0)));
    let mut titles: Vec<String> = ["column", "type", "count", "missing", "nan", "min"]
        .map(String::from)
        .to_vec();
    titles.extend(quantiles);
    titles.extend(["max", "mean", "std"].map(String::from));
    let mut table = TextTable::new(titles);
    let (mut below, mut inexact) = (String::new(), Vec::new());
    for column in columns {
        let mut row = vec![
            column.name.clone(),
            column.type_name(),
            count(column.count),
            count(column.missing),
            count(column.nan),
        ];
        match &column.values {
            StatisticsOf::Numbers(numbers) => {
                row.push(shown(&column.field, numbers.min));
                let quantiles = numbers.quantiles.iter();
                row.extend(quantiles.map(|(_, value)| rounded(&column.field, *value)));
                row.push(shown(&column.field, numbers.max));
                row.push(rounded(&column.field, numbers.mean));
                row.push(numbers.std.map_or_else(|| "-".to_owned(), digits));
                if numbers.rank_error > 0 {
                    inexact.push(numbers.rank_error);
                }
                if let Some((edges, counts)) = &numbers.histogram {
                    below.push_str(&histogram(column, edges, counts));
                    if numbers.infinite > 0 {
                        let infinite = count(numbers.infinite);
                        let _ = writeln!(below, "  infinite, in no bin: {infinite}");
                    }
                }
            }
            StatisticsOf::Categories(Some(counts)) => {
                let counts = &counts.counts;
                let some = counts.iter().take(SHOWN);
                let some = some.map(|(text, number)| format!("{text} {}", count(*number)));
                let more = counts.len().saturating_sub(SHOWN);
                let mut line = some.collect::<Vec<_>>().join(", ");
                if more > 0 {
                    let _ = write!(line, ", … {} more", count(more as u64));
                }
                let _ = writeln!(
                    below,
                    "\n{}: {} different\n  {line}",
                    column.name,
                    count(counts.len() as u64)
                );
            }
            StatisticsOf::Categories(None) => {
                let _ = writeln!(
                    below,
                    "\n{}: too many different texts to count each",
                    column.name
                );
            }
            _ => {}
        }
        table.row(row);
    }
    let mut out = table.render(0);
    if let Some(worst) = inexact.iter().max() {
        let _ = writeln!(
            out,
            "\nThe ranks of quantiles are within {} of {}.",
            count(*worst),
            count(done.vertices)
        );
    }
    out.push_str(&below);
    out
}

/// A histogram as bars.
fn histogram(column: &ColumnStatistics, edges: &[f64], counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let mut table = TextTable::new(["from", "below", "count", ""]);
    for (edge, number) in edges.windows(2).zip(counts) {
        let [from, to] = edge else { continue };
        let bar = number.saturating_mul(BAR).div_ceil(most);
        let bar = "#".repeat(usize::try_from(bar).unwrap_or(0));
        table.row([
            rounded(&column.field, *from),
            rounded(&column.field, *to),
            count(*number),
            bar,
        ]);
    }
    format!("\n{}\n{}", column.name, table.render(2))
}

/// A computed number as text, in the form of the column's values: dates are rounded to their unit.
fn rounded(field: &Field, number: f64) -> String {
    if !is_moment(field) {
        return digits(number);
    }
    match format!("{number:.0}").parse::<i128>() {
        Ok(number) => shown(field, StatisticValue::Integer(number)),
        Err(_) => digits(number),
    }
}

fn is_moment(field: &Field) -> bool {
    let unit = field.metadata().get("zvf.unit");
    let typed = matches!(
        field.data_type(),
        DataType::Timestamp(..) | DataType::Duration(_)
    );
    typed || unit.is_some_and(|unit| Moments::of_unit(unit).is_some())
}

/// A number of a column, in the form that tables of its values use.
fn shown(field: &Field, number: StatisticValue) -> String {
    match number {
        StatisticValue::Float(number) => shortest(number),
        StatisticValue::Integer(_) => exact_text(field, number),
    }
}
