//! `zvf volume`: dense volumes in TET files, Caterva and b2nd frames, Zarr images and NIfTI and MGH files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use zvf_format::int::wide;
use zvf_jobs::{Staged, is_special};
use zvf_volume::{AxisRanges, ConvertOptions, Counts, Volume, VolumeInfo, convert, npy_header};

use crate::args::volume::{ConvertArgs, InfoArgs, SliceArgs, VolumeArgs, VolumeCommand};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted, joined, size};
use crate::output::{print_json, print_text};

/// Bytes of a result that are read at a time.
const PIECE: u64 = 64 << 20;

/// Runs `zvf volume`.
///
/// # Errors
///
/// The errors of the subcommand.
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
    let count = counted(wide(volumes.len()), "volume");
    let mut text = format!("{address}: {count}\n");
    for (number, volume) in volumes.iter().enumerate() {
        tell(&mut text, number, volume.info());
    }
    print_text(&text)
}

fn described(info: &VolumeInfo) -> Value {
    let axes = info.axes.iter().map(|axis| {
        json!({
            "name": axis.name,
            "type": axis.kind,
            "unit": axis.unit,
            "offset": axis.place.map(|(offset, _)| offset),
            "scale": axis.place.map(|(_, scale)| scale),
        })
    });
    let affine = info.affine.as_ref();
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
        "axes": axes.collect::<Vec<_>>(),
        "affine": affine.map(|stated| stated.affine.rows()),
        "affine_from": affine.and_then(|stated| stated.source.as_ref()),
        "affine_unit": affine.and_then(|stated| stated.unit),
        "notes": info.notes,
    })
}

fn by(extents: &[u64]) -> String {
    match extents.is_empty() {
        true => "one element".to_owned(),
        false => joined(extents, " x "),
    }
}

fn tell(text: &mut String, number: usize, info: &VolumeInfo) {
    let mut name = String::new();
    if !info.name.is_empty() {
        name = format!(" {:?}", info.name);
    }
    let _ = writeln!(text, "\n@{number}{name}: {}", info.layout);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<10}{value}");
    };
    let (elements, item) = (info.shape.count(), wide(info.element.size));
    let bytes = elements.map_or(u64::MAX, |count| count.saturating_mul(item));
    let (shape, element) = (by(&info.shape), &info.element.text);
    line(
        "elements",
        format!("{shape} of {element} ({})", size(bytes)),
    );
    let block = info.block.as_ref();
    let block = block.map(|block| format!(", blocks {}", by(block)));
    line("chunks", by(&info.chunk) + &block.unwrap_or_default());
    if !info.codecs.is_empty() || !info.filters.is_empty() {
        line(
            "codecs",
            joined(info.filters.iter().chain(&info.codecs), ", "),
        );
    }
    if let Some(stated) = &info.affine {
        let source = stated.source.as_deref().unwrap_or("numbers");
        let unit = stated.unit.unwrap_or("no unit");
        line("affine", format!("{source}, {unit}"));
        for row in stated.affine.rows().iter().take(3) {
            line("", joined(row, "  "));
        }
    }
    for note in &info.notes {
        line("note", note.clone());
    }
    for (at, axis) in info.axes.iter().enumerate() {
        if axis.name.is_none() && axis.place.is_none() {
            continue;
        }
        let mut value = axis.name.clone().unwrap_or_else(|| "?".to_owned());
        if let Some((offset, scale)) = axis.place {
            let _ = write!(value, ", element i at {offset} + {scale} i");
        }
        if let Some(unit) = &axis.unit {
            let _ = write!(value, " {unit}");
        }
        line(&format!("axis {at}"), value);
    }
}

/// Opens a volume, and prints the remarks about it.
fn opened(address: &str, context: &mut Context<'_>) -> Result<Volume> {
    let options = context.options();
    let volume = context.wait_at(address, Volume::open(address, &options.io))?;
    for note in &volume.info().notes {
        context.remark(&format!("{address}: {note}"));
    }
    Ok(volume)
}

fn slice(args: &SliceArgs, context: &mut Context<'_>) -> Result<()> {
    let address = args.volume.as_str();
    let at = |error: zvf_volume::VolumeError| CliError::from(error).at(address);
    let is_npy = match args.output.extension().and_then(|one| one.to_str()) {
        Some("npy") => true,
        Some("raw") => false,
        _ => {
            return Err(CliError::usage(format!(
                "{}: expected a name that ends in .npy or .raw",
                args.output.display()
            )));
        }
    };
    let volume = opened(address, context)?;
    let info = volume.info();
    let range = AxisRanges::parse(&args.range, &info.shape).map_err(at)?;
    let shape = range.result_shape().map_err(at)?;
    let item = wide(info.element.size);
    let elements = range.selection.count();
    let bytes = elements
        .and_then(|count| count.checked_mul(item))
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
        let (elements, took) = context.wait_at(address, volume.read(&piece))?;
        file.write_all(&elements).map_err(failed)?;
        progress.add(wide(elements.len()));
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
            "read": counts,
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
    let volume = opened(address, context)?;
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
            "read": done.counts,
            "lost": done.lost,
        }));
    }
    let (out, lost) = (args.out.display(), done.lost.iter());
    let lost: Vec<_> = lost
        .map(|what| format!("{out} does not hold {what}"))
        .collect();
    context.warn(&lost);
    let (elements, form) = (count(done.elements), done.form);
    print_text(&format!("{out}: {elements} written as {form}\n"))
}
