//! `zvf volume`: dense volumes in TET files, Caterva and b2nd frames, Zarr images, NIfTI and MGH files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use zvf_jobs::{Staged, is_special};
use zvf_volume::{AxisRanges, ConvertOptions, Counts, Volume, VolumeInfo, convert, npy_header};

use crate::args::volume::{ConvertArgs, InfoArgs, SliceArgs, VolumeArgs, VolumeCommand};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted, size};
use crate::output::{print_json, print_text};

/// Bytes of a result that are read at a time.
const PIECE: u64 = 64 << 20;

/// Runs `zvf volume`.
///
/// # Errors
///
/// As the subcommand.
pub(crate) fn run(args: &VolumeArgs, context: &mut Context<'_>) -> Result<()> {
    match &args.command {
        VolumeCommand::Info(args) => info(args, context),
        VolumeCommand::Slice(args) => slice(args, context),
        VolumeCommand::Convert(args) => converted(args, context),
    }
}

fn info(args: &InfoArgs, context: &mut Context<'_>) -> Result<()> {
    let address = args.volume.as_str();
    let options = context.options();
    let volumes = context.wait_at(address, Volume::list(address, &options.io))?;
    if context.common.json {
        let list: Vec<Value> = volumes.iter().map(|one| described(one.info())).collect();
        return print_json(&json!({"volume": address, "datasets": list}));
    }
    let mut text = format!(
        "{address}: {}\n",
        counted(count_of(volumes.len()), "volume")
    );
    for (number, volume) in volumes.iter().enumerate() {
        tell(&mut text, number, volume.info());
    }
    print_text(&text)
}

fn count_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn described(info: &VolumeInfo) -> Value {
    let axes: Vec<Value> = info
        .axes
        .iter()
        .map(|axis| {
            json!({
                "name": axis.name,
                "type": axis.kind,
                "unit": axis.unit,
                "offset": axis.place.map(|(offset, _)| offset),
                "scale": axis.place.map(|(_, scale)| scale),
            })
        })
        .collect();
    json!({
        "name": info.name,
        "form": info.form.name(),
        "layout": info.layout,
        "dtype": info.element.text,
        "itemsize": info.element.size,
        "shape": &info.shape[..],
        "chunks": &info.chunk[..],
        "blocks": info.block.as_ref().map(|block| block.to_vec()),
        "codecs": info.codecs,
        "filters": info.filters,
        "axes": axes,
        "affine": info.affine.as_ref().map(|stated| stated.affine.rows()),
        "affine_from": info.affine.as_ref().and_then(|stated| stated.source.as_ref()),
        "affine_unit": info.affine.as_ref().and_then(|stated| stated.unit),
        "notes": info.notes,
    })
}

fn by(extents: &[u64]) -> String {
    let texts: Vec<String> = extents.iter().map(u64::to_string).collect();
    match texts.is_empty() {
        true => "one element".to_owned(),
        false => texts.join(" x "),
    }
}

fn numbers(row: &[f64]) -> String {
    let texts: Vec<String> = row.iter().map(f64::to_string).collect();
    texts.join("  ")
}

fn tell(text: &mut String, number: usize, info: &VolumeInfo) {
    let name = if info.name.is_empty() {
        String::new()
    } else {
        format!(" {:?}", info.name)
    };
    let bytes = info.shape.count().map_or(u64::MAX, |one| {
        one.saturating_mul(count_of(info.element.size))
    });
    let _ = writeln!(text, "\n@{number}{name}: {}", info.layout);
    let _ = writeln!(
        text,
        "  elements  {} of {} ({})",
        by(&info.shape),
        info.element.text,
        size(bytes)
    );
    let _ = write!(text, "  chunks    {}", by(&info.chunk));
    if let Some(block) = &info.block {
        let _ = write!(text, ", blocks {}", by(block));
    }
    text.push('\n');
    if !info.codecs.is_empty() || !info.filters.is_empty() {
        let all: Vec<&str> = info
            .filters
            .iter()
            .chain(&info.codecs)
            .map(String::as_str)
            .collect();
        let _ = writeln!(text, "  codecs    {}", all.join(", "));
    }
    if let Some(stated) = &info.affine {
        let _ = writeln!(
            text,
            "  affine    {}, {}",
            stated.source.as_deref().unwrap_or("numbers"),
            stated.unit.unwrap_or("no unit")
        );
        for row in stated.affine.rows().iter().take(3) {
            let _ = writeln!(text, "            {}", numbers(row));
        }
    }
    for note in &info.notes {
        let _ = writeln!(text, "  note      {note}");
    }
    for (at, axis) in info.axes.iter().enumerate() {
        if axis.name.is_none() && axis.place.is_none() {
            continue;
        }
        let _ = write!(
            text,
            "  axis {at}    {}",
            axis.name.as_deref().unwrap_or("?")
        );
        if let Some((offset, scale)) = axis.place {
            let _ = write!(text, ", element i at {offset} + {scale} i");
        }
        if let Some(unit) = &axis.unit {
            let _ = write!(text, " {unit}");
        }
        text.push('\n');
    }
}

fn counts_of(counts: Counts) -> Value {
    json!({
        "chunks": counts.chunks,
        "blocks": counts.blocks,
        "bytes": counts.bytes,
        "requests": counts.requests,
    })
}

fn slice(args: &SliceArgs, context: &mut Context<'_>) -> Result<()> {
    let address = args.volume.as_str();
    let at = |error: zvf_volume::VolumeError| CliError::from(error).at(address);
    let is_npy = match args.output.extension().and_then(|one| one.to_str()) {
        Some("npy") => true,
        Some("raw") => false,
        _ => {
            return Err(CliError::usage(format!(
                "{}: a name is needed that ends in .npy or .raw",
                args.output.display()
            )));
        }
    };
    let options = context.options();
    let volume = context
        .wait(Volume::open(address, &options.io))?
        .map_err(at)?;
    let info = volume.info();
    for note in &info.notes {
        context.remark(&format!("{address}: {note}"));
    }
    let range = AxisRanges::parse(&args.range, &info.shape).map_err(at)?;
    let shape = range.result_shape().map_err(at)?;
    let item = count_of(info.element.size);
    let bytes = range
        .selection
        .count()
        .and_then(|elements| elements.checked_mul(item))
        .ok_or_else(|| {
            CliError::usage(format!(
                "{address}: the range holds more bytes than 64 bits count"
            ))
        })?;
    let failed = |error: std::io::Error| CliError::file("write", &args.output, &error);
    let staged = match is_special(&args.output) {
        true => None,
        false => Some(Staged::file(&args.output)?),
    };
    let path: &Path = staged.as_ref().map_or(&args.output, |one| one.path());
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    if is_npy {
        file.write_all(&npy_header(&info.element, &shape))
            .map_err(failed)?;
    }
    let mut counts = Counts::default();
    let progress = context.progress("bytes");
    // Pieces are written one after another, so only one is in memory.
    for piece in range.selection.slabs(&info.chunk, bytes.div_ceil(PIECE)) {
        let (elements, took) = context.wait(volume.read(&piece))?.map_err(at)?;
        file.write_all(&elements).map_err(failed)?;
        progress.add(count_of(elements.len()));
        counts.add(took);
    }
    file.flush().map_err(failed)?;
    drop(file);
    if let Some(staged) = staged {
        staged.commit()?;
    }
    if context.common.json {
        return print_json(&json!({
            "volume": address,
            "output": args.output,
            "dtype": info.element.text,
            "shape": &shape[..],
            "bytes": bytes,
            "read": counts_of(counts),
            "chunks": counts.chunks,
            "blocks": counts.blocks,
        }));
    }
    print_text(&format!(
        "{}: {} of {} ({}), from {} and {}\n",
        args.output.display(),
        by(&shape),
        info.element.text,
        size(bytes),
        counted(counts.chunks, "chunk"),
        counted(counts.blocks, "block"),
    ))
}

fn converted(args: &ConvertArgs, context: &mut Context<'_>) -> Result<()> {
    let address = args.volume.as_str();
    let at = |error: zvf_volume::VolumeError| CliError::from(error).at(address);
    let options = context.options();
    let volume = context
        .wait(Volume::open(address, &options.io))?
        .map_err(at)?;
    for note in &volume.info().notes {
        context.remark(&format!("{address}: {note}"));
    }
    let mut wanted = ConvertOptions::default();
    wanted.chunk.clone_from(&args.chunk_shape);
    wanted.block.clone_from(&args.block_shape);
    wanted.name.clone_from(&args.name);
    wanted.raw = args.raw;
    wanted.overwrite = args.overwrite;
    let progress = context.progress("chunks");
    let told = move |_, _| progress.add(1);
    let done = context
        .wait_unless_stopped(convert(&volume, &args.out, &wanted, told))?
        .map_err(at)?;
    if context.common.json {
        return print_json(&json!({
            "volume": address,
            "output": args.out,
            "form": done.form.name(),
            "elements": done.elements,
            "read": counts_of(done.counts),
            "lost": done.lost,
        }));
    }
    let lost: Vec<String> = done
        .lost
        .iter()
        .map(|what| format!("{} does not hold {what}", args.out.display()))
        .collect();
    context.warn(&lost);
    print_text(&format!(
        "{}: {} written as {}\n",
        args.out.display(),
        count(done.elements),
        done.form
    ))
}
