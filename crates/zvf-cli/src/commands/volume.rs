//! The reports of `zvf volume` as text.

use std::fmt::Write as _;

use zvf_format::int::wide;
use zvf_jobs::{VolumeConvertReport, VolumeInfoReport, VolumeSliceReport};
use zvf_volume::VolumeInfo;

use crate::output::table::{count, counted, joined, size};

/// The volumes of a file or image.
pub(super) fn info(done: &VolumeInfoReport) -> String {
    let count = counted(wide(done.datasets.len()), "volume");
    let mut text = format!("{}: {count}\n", done.volume);
    for (number, one) in done.datasets.iter().enumerate() {
        describe(&mut text, number, one);
    }
    text
}

/// The output file of a slice: its shape, its element type, its size, and the number of chunks and blocks that were read.
pub(super) fn sliced(done: &VolumeSliceReport) -> String {
    format!(
        "{}: {} of {} ({}), from {} and {}\n",
        done.output,
        by(&done.shape),
        done.dtype,
        size(done.bytes),
        counted(done.chunks, "chunk"),
        counted(done.blocks, "block"),
    )
}

/// The new file or folder: its number of elements and its container.
pub(super) fn converted(done: &VolumeConvertReport) -> String {
    let (elements, form) = (count(done.elements), done.form);
    format!("{}: {elements} written as {form}\n", done.output)
}

fn by(extents: &[u64]) -> String {
    match extents.is_empty() {
        true => "one element".to_owned(),
        false => joined(extents, " x "),
    }
}

fn describe(text: &mut String, number: usize, info: &VolumeInfo) {
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
