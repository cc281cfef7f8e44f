//! Pictures as sixels: bands of six rows, drawn once for each colour in them, of at most 256.
//!
//! Source: VT330/VT340 Programmer Reference Manual, volume 2, chapter 14.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Red, green and blue in percent, as in this format.
type Percent = [u8; 3];

/// Rows of one band.
const BAND: usize = 6;

/// Most colours: terminals have this many registers.
const COLORS: usize = 256;

/// A picture as sixels: its width and height, and the four bytes of each pixel, row by row.
pub(crate) fn sixels([width, height]: [u32; 2], rgba: &[u8]) -> String {
    let pixels: Vec<Option<Percent>> = rgba.chunks_exact(4).map(percent).collect();
    let (palette, registers) = palette(&pixels);
    // One pixel for each dot; pixels without a colour are not drawn.
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    for (register, [red, green, blue]) in palette.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = write!(out, "#{register};2;{red};{green};{blue}");
    }
    let width = (width as usize).max(1);
    for (number, band) in pixels.chunks(BAND * width).enumerate() {
        if number > 0 {
            out.push('-');
        }
        // For each colour, which of the rows of a column have it.
        let mut columns: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        for (y, row) in band.chunks(width).enumerate() {
            for (x, color) in row.iter().enumerate() {
                let Some(register) = color.and_then(|color| registers.get(&color)) else {
                    continue;
                };
                let columns = columns.entry(*register).or_insert_with(|| vec![0; width]);
                if let Some(rows) = columns.get_mut(x) {
                    *rows |= 1 << y;
                }
            }
        }
        for (number, (register, columns)) in columns.iter().enumerate() {
            if number > 0 {
                out.push('$');
            }
            let _ = write!(out, "#{register}");
            runs(columns, &mut out);
        }
    }
    out.push_str("\x1b\\\n");
    out
}

/// The colour of a pixel.
fn percent(pixel: &[u8]) -> Option<Percent> {
    let [red, green, blue, alpha] = pixel.try_into().ok()?;
    let of = |value: u8| u8::try_from((u32::from(value) * 100 + 127) / 255).unwrap_or(100);
    (alpha >= 128).then(|| [of(red), of(green), of(blue)])
}

/// Columns as characters, with counts for repeated ones; empty columns at the end are left out.
fn runs(columns: &[u8], out: &mut String) {
    let end = columns.iter().rposition(|rows| *rows != 0);
    let columns = columns.get(..=end.unwrap_or(0)).unwrap_or_default();
    for run in columns.chunk_by(|one, other| one == other) {
        let Some(rows) = run.first() else { continue };
        let letter = char::from(b'?' + rows);
        if run.len() > 3 {
            let _ = write!(out, "!{}{letter}", run.len());
        } else {
            out.extend(run.iter().map(|_| letter));
        }
    }
}

/// At most [`COLORS`] colours, and for each colour of the pixels the index of the colour that replaces it.
///
/// Median cut: the colours of the picture are one group, and the group of the largest weight is cut until there are enough.
fn palette(pixels: &[Option<Percent>]) -> (Vec<Percent>, BTreeMap<Percent, u8>) {
    let mut counts: BTreeMap<Percent, u64> = BTreeMap::new();
    for color in pixels.iter().flatten() {
        *counts.entry(*color).or_default() += 1;
    }
    let mut groups = vec![Group::new(counts.into_iter().collect())];
    while groups.len() < COLORS {
        let widest = (0..groups.len()).max_by_key(|at| groups.get(*at).map(Group::weight));
        let Some(cut) = widest.and_then(|at| groups.get_mut(at)?.cut()) else {
            break;
        };
        groups.push(cut);
    }
    let mut registers = BTreeMap::new();
    let mut palette = Vec::new();
    for (one, register) in groups.iter().zip(0..=u8::MAX) {
        registers.extend(one.colors.iter().map(|(color, _)| (*color, register)));
        palette.push(one.mean());
    }
    (palette, registers)
}

/// Colours with one replacement, and the number of pixels of each.
struct Group {
    colors: Vec<(Percent, u64)>,
    /// The channel in which they differ most, and by how much.
    channel: usize,
    extent: u8,
}

impl Group {
    fn new(colors: Vec<(Percent, u64)>) -> Self {
        let extent = |channel: usize| {
            let values = colors.iter().filter_map(|(color, _)| color.get(channel));
            let (least, most) = (values.clone().min(), values.max());
            most.zip(least).map_or(0, |(most, least)| most - least)
        };
        let channel = (0..3).max_by_key(|channel| extent(*channel)).unwrap_or(0);
        Self {
            extent: extent(channel),
            channel,
            colors,
        }
    }

    /// The improvement by a cut. The extent has a double weight, so that rare colours, such as the colours of a small object, are kept next to a
    /// large background.
    fn weight(&self) -> u64 {
        let pixels: u64 = self.colors.iter().map(|(_, count)| count).sum();
        pixels * u64::from(self.extent).pow(2)
    }

    /// Keeps about the lower half of the pixels and returns the upper one; `None` for a single colour.
    fn cut(&mut self) -> Option<Self> {
        if self.colors.len() < 2 {
            return None;
        }
        let mut colors = std::mem::take(&mut self.colors);
        let channel = self.channel;
        colors.sort_by_key(|(color, _)| (color.get(channel).copied(), *color));
        let half = colors.iter().map(|(_, count)| count).sum::<u64>() / 2;
        let mut below = 0;
        let at = colors.iter().position(|(_, count)| {
            below += count;
            below > half
        });
        let at = at.unwrap_or(0);
        // Colours with the same value in this channel are not separated. The values differ, so that neither part is empty.
        let value = colors
            .get(at)
            .and_then(|(color, _)| color.get(channel).copied());
        let start = colors.partition_point(|(color, _)| color.get(channel).copied() < value);
        let end = colors.partition_point(|(color, _)| color.get(channel).copied() <= value);
        let before = start > 0 && (end == colors.len() || at - start <= end - at);
        let upper = colors.split_off(if before { start } else { end });
        *self = Self::new(colors);
        Some(Self::new(upper))
    }

    /// The mean of the pixels.
    fn mean(&self) -> Percent {
        let pixels: u64 = self.colors.iter().map(|(_, count)| count).sum();
        let mean = |channel: usize| {
            let all = self
                .colors
                .iter()
                .filter_map(|(color, count)| Some(u64::from(*color.get(channel)?) * count));
            let mean = (all.sum::<u64>() + pixels / 2) / pixels.max(1);
            u8::try_from(mean).unwrap_or(100)
        };
        [mean(0), mean(1), mean(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_picture_has_these_sixels() {
        let (red, clear) = ([255, 0, 0, 255], [0, 0, 0, 0]);
        let blue = [0, 0, 255, 255];
        // Seven rows of five pixels: all red, except for a blue lower right corner and one pixel without a colour.
        let mut pixels = [red; 35];
        pixels[34] = blue;
        pixels[1] = clear;
        let text = sixels([5, 7], &pixels.concat());
        let (head, data) = text.split_at(text.find("#0;").unwrap());
        assert_eq!(head, "\x1bP0;1;0q\"1;1;5;7");
        let wanted = "#0;2;0;0;100#1;2;100;0;0#1~}~~~-#0!4?@$#1!4@\x1b\\\n";
        let swapped = "#0;2;100;0;0#1;2;0;0;100#0~}~~~-#0!4@$#1!4?@\x1b\\\n";
        assert!(data == wanted || data == swapped, "{data:?}");
    }

    #[test]
    fn few_colours_are_kept_and_many_are_gathered() {
        let few: Vec<Option<Percent>> = (0..100).map(|n| Some([n, 100 - n, n / 2])).collect();
        let (colors, registers) = palette(&few);
        assert_eq!(colors.len(), 100);
        for color in few.into_iter().flatten() {
            assert_eq!(colors[usize::from(registers[&color])], color);
        }
        let many: Vec<Option<Percent>> = (0..1000_u32)
            .map(|n| {
                let digit = |by: u32| u8::try_from(n / by % 10 * 10).unwrap();
                Some([digit(1), digit(10), digit(100)])
            })
            .collect();
        let (colors, registers) = palette(&many);
        assert_eq!((colors.len(), registers.len()), (256, 1000));
        for color in many.into_iter().flatten() {
            let found = colors[usize::from(registers[&color])];
            let far = color.iter().zip(found).map(|(a, b)| a.abs_diff(b)).max();
            assert!(far <= Some(10), "{color:?} {found:?}");
        }
        assert_eq!(palette(&[None]).1.len(), 0);
    }
}
