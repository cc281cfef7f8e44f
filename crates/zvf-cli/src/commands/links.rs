//! `zvf links`: the stored records of a link family.

use std::collections::BTreeMap;

use serde_json::{Value, json};
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
    let delta = zvf_format::keys::parse_delta(&args.delta)
        .map_err(|e| CliError::usage(format!("--delta: found {:?}, expected 0, +1 or -1 and the like: {e}", args.delta)))?;
    let need = Need { link_deltas: Deltas::All, ..Need::nothing() };
    let store = context.open(url, args.level, need.clone())?;
    let level = context.wait(store.level(args.level, &need))?.map_err(|e| CliError::from(e).at(url))?;
    let Some(family) = level.links(delta) else {
        let there: Vec<String> = level.link_deltas().iter().map(|delta| zvf_format::keys::format_delta(*delta).to_string()).collect();
        let there = if there.is_empty() { "no link families".to_owned() } else { there.join(", ") };
        return Err(CliError::usage(format!("{url}: level {} has no links of delta {}, found {there}", args.level, args.delta)));
    };
    let mut records = Vec::new();
    let mut total = 0u64;
    let limit = args.limit.unwrap_or(u64::MAX);
    let progress = context.progress("records");
    for array in family.arrays() {
        // The order of a family is that of the segments, then of the keys as text (not as numbers), then of the rows.
        let sorted: BTreeMap<String, ChunkCoord> =
            array.array().presence().iter().map(|chunk| (key(chunk), ChunkCoord::from(chunk))).collect();
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
    let wants = chunks.iter().map(|chunk| CellWant { array: array.array().clone(), chunk: chunk.clone() }).collect();
    let cells = context.wait(level.store().fetch_map(3, wants, |cells| cells))??;
    let rank = level.key_rank();
    let mut flat = Vec::new();
    for (chunk, cell) in chunks.iter().zip(cells) {
        let Some(cell) = cell else { continue };
        let cell = array.decode(chunk, &cell)?;
        flat.clear();
        array.endpoint_chunks(chunk, &mut flat);
        let mut ends = vec![Endpoint::default(); array.width()];
        for i in 0..cell.len() {
            *total += 1;
            if (records.len() as u64) < limit {
                cell.record(i, &mut ends);
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
    let delta = zvf_format::keys::format_delta(family.delta());
    out.push_str(&format!("level {}, delta {delta}: {} records of {} endpoints, {directed}\n", args.level, count(total), family.width()));
    out
}
