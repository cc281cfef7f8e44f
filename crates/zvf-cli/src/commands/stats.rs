//! `zvf stats`: statistics of axes and attributes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, make_array};
use arrow_schema::{DataType, Field, Schema};
use serde_json::json;
use zvf_convert::output::{Style, batch_with_times, write_value};
use zvf_query::{
    ColumnStatistics, QuerySpec, Select, StatisticValue, StatisticsOf, StatisticsScan,
    StatisticsSection, StatisticsSpec, statistics_table,
};
use zvf_store::Need;
use zvf_store::meta::moments::Moments;

use super::listing::{self, chain, object};
use super::select;
use crate::args::StatsArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::table::{TextTable, count, counted, digits};
use crate::output::{FileSink, print_json, print_text};

/// Sections of objects that become one batch.
const TOGETHER: usize = 1024;

/// Texts that are shown of a column.
const SHOWN: usize = 12;

/// Characters of the longest bar of a histogram.
const BAR: u64 = 40;

/// Runs `zvf stats`.
///
/// # Errors
///
/// Usage; as the store and the query say.
pub(crate) fn run(args: &StatsArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    let target = listing::format(args.output.as_deref())?;
    let mut asked = QuerySpec::new();
    select::terms(&args.terms, &mut asked, url, context)?;
    select::level(&args.at, &mut asked);
    asked.select = args.select.map_or(Select::Vertices, Select::from);
    let query = select::resolved(asked, url, context)?;
    let mut spec = StatisticsSpec::default();
    spec.columns.clone_from(&args.columns);
    spec.by = args.by;
    let bins = if context.common.json { spec.bins } else { 0 };
    spec.bins = args.bins.unwrap_or(bins);
    spec.quantiles = args.quantiles.clone().unwrap_or(spec.quantiles);
    let store = context.open(url, args.at.level, Need::nothing())?;
    let scan = StatisticsScan::start(&store, query, spec.clone());
    let mut scan = context.wait_at(url, scan)?;
    let schema = statistics_table(&spec, &[])?.schema();
    let mut sink = match target {
        Some((path, format)) => Some(FileSink::create(path, format, &schema)?),
        None => None,
    };
    let progress = context.progress("vertices");
    let (mut batches, mut waiting, mut vertices) = (Vec::new(), Vec::new(), 0);
    let mut sections = 0;
    let mut whole = None;
    loop {
        let step = context.wait_at(url, scan.step())?;
        let ended = step.is_none();
        if let Some(step) = step {
            progress.add(step.rows);
            vertices += step.rows;
            sections += step.sections.len() as u64;
            waiting.extend(step.sections);
        }
        if waiting.len() >= TOGETHER || (ended && !waiting.is_empty()) {
            let batch = statistics_table(&spec, &waiting)?;
            match &mut sink {
                Some(sink) => sink.write(&batch)?,
                None => batches.push(batch),
            }
            whole = waiting.pop();
            waiting.clear();
        }
        if ended {
            break;
        }
    }
    drop(progress);
    let files: Vec<PathBuf> = sink
        .map(FileSink::finish)
        .transpose()?
        .into_iter()
        .collect();
    let warnings = listing::warnings(&store, &scan.summary().warnings);
    context.warn(&warnings);
    let whole = whole.filter(|_| spec.by.is_none());
    let vertices = whole.as_ref().map_or(vertices, |whole| whole.vertices);
    let levels = &scan.summary().levels;
    if context.common.json {
        let rows = batches
            .iter()
            .flat_map(|batch| (0..batch.num_rows()).map(move |row| object(batch, row)));
        let rows = (spec.by.is_some() && files.is_empty()).then(|| rows.collect::<Vec<_>>());
        let columns = whole.as_ref().map(|whole| {
            whole
                .columns
                .iter()
                .map(ColumnStatistics::to_json)
                .collect::<Vec<_>>()
        });
        let files = files.iter().map(|file| file.display().to_string());
        return print_json(&json!({
            "store": url,
            "kind": store.kind().to_string(),
            "level": args.at.level,
            "levels": levels,
            "vertices": vertices,
            "columns": columns,
            "rows": rows,
            "files": files.collect::<Vec<_>>(),
            "warnings": warnings,
        }));
    }
    if let [file] = files.as_slice() {
        let what = match spec.by {
            None => counted(
                whole.map_or(0, |whole| whole.columns.len() as u64),
                "column",
            ),
            Some(zvf_query::StatisticsBy::Object) => counted(sections, "object"),
            Some(zvf_query::StatisticsBy::Group) => counted(sections, "group"),
        };
        context.remark(&format!("wrote {}: {what}", file.display()));
        return Ok(());
    }
    let mut out = format!(
        "store     {url} ({}, {})\nvertices  {}\n\n",
        store.kind(),
        chain(args.at.level, levels),
        count(vertices)
    );
    match whole {
        Some(whole) => out.push_str(&text(&whole, &spec)),
        None => out.push_str(&rows(&schema, &batches)),
    }
    print_text(&out)
}

/// The rows of objects or groups.
fn rows(schema: &Schema, batches: &[RecordBatch]) -> String {
    let mut table = TextTable::new(schema.fields().iter().map(|field| field.name().clone()));
    for batch in batches {
        table.batch(batch);
    }
    table.render(0)
}

/// The statistics of all rows.
fn text(whole: &StatisticsSection, spec: &StatisticsSpec) -> String {
    let quantiles = spec
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
    for column in &whole.columns {
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
            count(whole.vertices)
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

/// A number that was computed, as one of a column: dates are rounded to their unit.
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

/// A number of a column, as tables of the column show it.
fn shown(field: &Field, number: StatisticValue) -> String {
    let whole = match number {
        StatisticValue::Float(number) => return digits(number),
        StatisticValue::Integer(number) if !is_moment(field) => return number.to_string(),
        StatisticValue::Integer(number) => number,
    };
    let moment = || {
        let array = Int64Array::from(vec![i64::try_from(whole).ok()?]);
        let data = array.into_data().into_builder();
        let array = make_array(data.data_type(field.data_type().clone()).build().ok()?);
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let batch = batch_with_times(&RecordBatch::try_new(schema, vec![array]).ok()?).ok()?;
        let mut text = String::new();
        write_value(&mut text, batch.columns().first()?.as_ref(), 0, Style::Text);
        Some(text)
    };
    moment().unwrap_or_else(|| whole.to_string())
}
