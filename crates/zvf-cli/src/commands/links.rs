//! `zvf links`: the stored records of a link family.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use zvf_format::keys::format_delta;
use zvf_store::{CellWant, ChunkCoord, Deltas, Endpoint, Level, LinkArray, LinkFamily, Need};

use crate::args::LinksArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::inspect::key;
use crate::output::table::{TextTable, count};
use crate::output::{print_json, print_text};

/// Cells that are fetched together.
const BATCH: usize = 4096;

/// Runs `zvf links`.
///
/// # Errors
///
/// Usage, when there is no such level or family; as the store says.
pub(crate) fn run(args: &LinksArgs, context: &mut Context<'_>) -> Result<()> {
    let url = args.store.as_str();
    // `1` is as good as `+1` on a command line.
    let delta: i32 = args
        .delta
        .parse()
        .map_err(|_| CliError::usage(format!("--delta: found {:?}, expected 0, +1, -1 and the like", args.delta)))?;
    let need = Need { link_deltas: Deltas::All, ..Need::nothing() };
    let store = context.open(url, args.level, need.clone())?;
    let level = context.wait(store.level(args.level, &need))?.map_err(|e| CliError::from(e).at(url))?;
    let Some(family) = level.links(delta) else {
        let there: Vec<String> = level.link_families().iter().map(|family| format_delta(family.delta()).to_string()).collect();
        let there = if there.is_empty() { "no link families".to_owned() } else { there.join(", ") };
        return Err(CliError::usage(format!("{url}: level {} has no links of delta {}, found {there}", args.level, format_delta(delta))));
    };
    let mut records = Vec::new();
    let mut total = 0u64;
    let limit = args.limit.unwrap_or(u64::MAX);
    let progress = context.progress("records");
    for array in family.arrays() {
        // The order of a family is that of the segments, then of the keys as text (not as numbers), then of the rows.
        let sorted: BTreeMap<String, ChunkCoord> =
            array.array.presence().iter().map(|chunk| (key(chunk), ChunkCoord::from(chunk))).collect();
        let chunks: Vec<ChunkCoord> = sorted.into_values().collect();
        for batch in chunks.chunks(BATCH) {
            let before = total;
            read(context, &level, array, batch, limit, &mut total, &mut records).map_err(|e| e.at(url))?;
            progress.add(total - before);
        }
    }
    drop(progress);
    let warnings = store.warnings();
    context.warn(&warnings);
    if context.common.json {
        return print_json(&document(args, family, total, &records, &warnings));
    }
    print_text(&text(args, family, total, &records))
}

/// One record: the array it stands in and its endpoints in the application's order.
struct Record {
    segment: String,
    endpoints: Vec<(Vec<i64>, i64)>,
}

fn read(
    context: &mut Context<'_>,
    level: &Level,
    array: &LinkArray,
    chunks: &[ChunkCoord],
    limit: u64,
    total: &mut u64,
    records: &mut Vec<Record>,
) -> Result<()> {
    let wants = chunks.iter().map(|chunk| CellWant { array: Arc::clone(&array.array), chunk: chunk.clone() }).collect();
    let cells = context.wait(level.store().fetch(level.next_round(), wants))??;
    let rank = level.key_rank();
    let mut flat = Vec::new();
    for (chunk, cell) in chunks.iter().zip(cells) {
        let Some(cell) = cell else { continue };
        let cell = array.decode(chunk, &cell)?;
        flat.clear();
        array.endpoint_chunks(chunk, &mut flat)?;
        let mut ends = vec![Endpoint::default(); array.width()];
        for i in 0..cell.len() {
            *total += 1;
            if (records.len() as u64) < limit {
                if !cell.record(i, &mut ends) {
                    continue;
                }
                let endpoint = |end: &Endpoint| {
                    let chunk = flat.chunks(rank.max(1)).nth(end.which).unwrap_or_default();
                    (chunk.to_vec(), end.row)
                };
                records.push(Record { segment: array.segment().to_owned(), endpoints: ends.iter().map(endpoint).collect() });
            }
        }
    }
    Ok(())
}

fn document(args: &LinksArgs, family: &LinkFamily, total: u64, records: &[Record], warnings: &[String]) -> Value {
    let listed: Vec<Value> = records
        .iter()
        .map(|record| {
            let ends: Vec<Value> = record.endpoints.iter().map(|(chunk, row)| json!({ "chunk": chunk, "row": row })).collect();
            json!({ "segment": record.segment, "endpoints": ends })
        })
        .collect();
    json!({
        "store": args.store,
        "level": args.level,
        "delta": family.delta(),
        "width": family.width(),
        "directed": family.directed(),
        "records": total,
        "truncated": (records.len() as u64) < total,
        "links": listed,
        "warnings": warnings,
    })
}

fn text(args: &LinksArgs, family: &LinkFamily, total: u64, records: &[Record]) -> String {
    let ends = (0..family.width()).map(|k| format!("endpoint {k}"));
    let mut table = TextTable::new(["segment".to_owned()].into_iter().chain(ends));
    for record in records {
        let ends = record.endpoints.iter().map(|(chunk, row)| format!("{}:{row}", key(chunk)));
        table.row([record.segment.clone()].into_iter().chain(ends));
    }
    let mut out = table.render(0);
    let left = total.saturating_sub(records.len() as u64);
    if left > 0 {
        out.push_str(&format!("… {} more\n", count(left)));
    }
    let directed = if family.directed() { "directed" } else { "undirected" };
    let delta = format_delta(family.delta());
    out.push_str(&format!("level {}, delta {delta}: {} records of {} endpoints, {directed}\n", args.level, count(total), family.width()));
    out
}
