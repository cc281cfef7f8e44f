//! Reads and writes Caterva arrays on command: one JSON object a line on standard input, one line of answer each.
//!
//! `{"do": "open", "path": P}` keeps the array P open. `{"do": "read", "axes": [[start, stop, step], …], "threads": N,
//! "out": FILE?}` reads from it; the time is taken around the read, the buffer's allocation included. `{"do": "write",
//! …}` writes a file of raw items as an array.
#![allow(clippy::print_stdout, reason = "the answers")]

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use zvf_caterva::{
    Array, Axis, Codec, FirstFilter, LastFilter, NdKind, ReadOptions, Selection, WriteOptions,
    Writer,
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let mut open = None;
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let answer = match answer(&command, &mut open) {
            Ok(answer) => answer,
            Err(error) => json!({"error": format!("{error:#}")}),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn answer(command: &Value, open: &mut Option<Array>) -> anyhow::Result<Value> {
    match text(command, "do")? {
        "open" => {
            let start = Instant::now();
            let array = Array::open(text(command, "path")?)?;
            let seconds = start.elapsed().as_secs_f64();
            let geometry = *array.geometry();
            let answer = json!({
                "seconds": seconds,
                "shape": geometry.shape.to_vec(),
                "chunk": geometry.chunk.to_vec(),
                "block": geometry.block.to_vec(),
                "item": geometry.item,
                "dtype": array.dtype().text(),
            });
            *open = Some(array);
            Ok(answer)
        }
        "read" => read(command, open.as_ref().context("nothing is open")?),
        "vlmeta" => {
            let array = open.as_ref().context("nothing is open")?;
            let found = array.frame().vlmeta(text(command, "name")?, 1 << 20)?;
            Ok(json!({"bytes": found}))
        }
        "write" => write(command),
        other => bail!("no command {other}"),
    }
}

fn text<'a>(command: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    command[key].as_str().with_context(|| format!("no {key}"))
}

fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect()
}

fn read(command: &Value, array: &Array) -> anyhow::Result<Value> {
    let shape = array.geometry().shape;
    let selection = match command["axes"].as_array() {
        None => Selection::all(&shape)?,
        Some(axes) => {
            let axes: Option<Vec<Axis>> = axes
                .iter()
                .map(|axis| match numbers(axis)[..] {
                    [start, stop, step] => Some(Axis::new(start, stop, step)),
                    _ => None,
                })
                .collect();
            Selection::new(&axes.context("an axis is start, stop and step")?, &shape)?
        }
    };
    let threads = command["threads"]
        .as_u64()
        .map_or(0, |n| usize::try_from(n).unwrap_or(0));
    let options = ReadOptions {
        threads,
        ..ReadOptions::default()
    };
    let before = array.counts();
    let start = Instant::now();
    let n = selection.count().unwrap_or(0) * u64::try_from(array.geometry().item)?;
    let mut items = vec![0; usize::try_from(n)?];
    array.read_into(&selection, &mut items, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    let after = array.counts();
    if let Some(path) = command["out"].as_str() {
        std::fs::write(path, &items)?;
    }
    Ok(json!({
        "seconds": seconds,
        "bytes": n,
        "blocks": after.blocks - before.blocks,
        "reads": after.reads - before.reads,
        "read_bytes": after.bytes - before.bytes,
    }))
}

fn write(command: &Value) -> anyhow::Result<Value> {
    let item = usize::try_from(command["item"].as_u64().context("no item")?)?;
    let codec = match text(command, "codec")? {
        "none" => None,
        "blosclz" => Some(Codec::BloscLz),
        "lz4" => Some(Codec::Lz4),
        "zlib" => Some(Codec::Zlib),
        "zstd" => Some(Codec::Zstd),
        other => bail!("no codec {other}"),
    };
    let first = match command["first"].as_str() {
        None => FirstFilter::None,
        Some("delta") => FirstFilter::Delta,
        Some(other) => bail!("no filter {other}"),
    };
    let last = match text(command, "last")? {
        "none" => LastFilter::None,
        "shuffle" => LastFilter::Shuffle,
        "bitshuffle" => LastFilter::BitShuffle,
        other => bail!("no filter {other}"),
    };
    let kind = if command["kind"] == "caterva" {
        NdKind::Caterva
    } else {
        NdKind::B2nd
    };
    let mut options = WriteOptions::new(
        item,
        &numbers(&command["chunk"]),
        &numbers(&command["block"]),
    )
    .with_codec(codec, 5)
    .with_filters(first, last)
    .with_kind(kind);
    if let Some(dtype) = command["dtype"].as_str() {
        options = options.with_dtype(dtype);
    }
    for (name, content) in command["vlmeta"].as_object().into_iter().flatten() {
        let bytes: Vec<u8> = numbers(content)
            .into_iter()
            .filter_map(|n| u8::try_from(n).ok())
            .collect();
        options = options.with_vlmetalayer(name, &bytes);
    }
    let items = std::fs::read(text(command, "in")?)?;
    let start = Instant::now();
    let mut writer = Writer::create(text(command, "path")?, &numbers(&command["shape"]), options)?;
    writer.write_all(&items)?;
    writer.finish()?;
    Ok(json!({"seconds": start.elapsed().as_secs_f64()}))
}
