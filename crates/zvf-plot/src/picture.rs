//! The finished picture: combines layers of pixels with depth, adds text, and encodes PNG.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster};

use crate::PlotError;
use crate::camera::Camera;
use crate::canvas::Canvas;
use crate::color::Rgb;
use crate::decor::{Anchor, DecorItem};
use crate::sixel::sixels;

/// A picture: rows from the top, four bytes for each pixel, red, green, blue and opacity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

/// How strongly nearer neighbours darken a pixel, relative to the depth of the whole scene.
const RELIEF: f32 = 24.0;

/// The least brightness of a pixel that is darkened by nearer neighbours.
const RELIEF_LEAST: f32 = 0.45;

impl Picture {
    /// A picture of one colour, or a transparent one.
    pub(crate) fn new(size: [u32; 2], ground: Option<Rgb>) -> Self {
        let Rgb(r, g, b) = ground.unwrap_or(Rgb::BLACK);
        let pixel = [r, g, b, if ground.is_some() { 255 } else { 0 }];
        let all = size[0] as usize * size[1] as usize;
        Self {
            width: size[0],
            height: size[1],
            rgba: pixel.repeat(all),
        }
    }

    /// A picture of the given pixels, rows from the top, red, green, blue and opacity.
    ///
    /// # Errors
    ///
    /// Misuse: another number of bytes than four for each pixel.
    pub fn of_rgba(width: u32, height: u32, rgba: Vec<u8>) -> Result<Self, PlotError> {
        let all = u64::from(width) * u64::from(height) * 4;
        if rgba.len() as u64 != all {
            return Err(PlotError::usage(format!(
                "found {} bytes for a picture of {width}x{height} pixels, expected {all}",
                rgba.len()
            )));
        }
        Ok(Self {
            width,
            height,
            rgba,
        })
    }

    /// Pixels in a row.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Red, green, blue and opacity of every pixel, rows from the top.
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// The picture as a PNG file.
    ///
    /// # Errors
    ///
    /// If the encoder fails, which happens only for a picture without pixels.
    pub fn to_png(&self) -> Result<Vec<u8>, PlotError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let opaque = self.rgba.chunks_exact(4).all(|pixel| pixel[3] == 255);
        if opaque {
            // An opaque picture needs no fourth channel.
            encoder.set_color(png::ColorType::Rgb);
            let rgb: Vec<u8> = self
                .rgba
                .chunks_exact(4)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect();
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&rgb)?;
            writer.finish()?;
        } else {
            encoder.set_color(png::ColorType::Rgba);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.rgba)?;
            writer.finish()?;
        }
        Ok(bytes)
    }

    /// The picture as sixels, which terminals such as foot and xterm draw, and a line feed: at most 256 colours, chosen by median cut. Pixels that are
    /// more than half transparent are left out.
    pub fn to_sixels(&self) -> String {
        sixels([self.width, self.height], &self.rgba)
    }

    /// A smaller picture: every pixel is the mean of the pixels that it replaces.
    #[must_use]
    pub fn shrunk(&self, width: u32, height: u32) -> Self {
        if self.width == 0 || self.height == 0 {
            return self.clone();
        }
        let (width, height) = (width.clamp(1, self.width), height.clamp(1, self.height));
        let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
        let edge =
            |at: u32, of: u32, all: u32| (u64::from(at) * u64::from(all) / u64::from(of)) as usize;
        for y in 0..height {
            let rows = edge(y, height, self.height)..edge(y + 1, height, self.height);
            for x in 0..width {
                let columns = edge(x, width, self.width)..edge(x + 1, width, self.width);
                let mut sum = [0_u64; 4];
                let mut count = 0;
                for row in rows.clone() {
                    for column in columns.clone() {
                        let at = (row * self.width as usize + column) * 4;
                        let pixel = self.rgba.get(at..at + 4).unwrap_or_default();
                        for (sum, value) in sum.iter_mut().zip(pixel) {
                            *sum += u64::from(*value);
                        }
                        count += 1;
                    }
                }
                rgba.extend(sum.map(|sum| (sum / count.max(1)) as u8));
            }
        }
        Self {
            width,
            height,
            rgba,
        }
    }

    /// Blends a colour over a pixel with opacity `share`.
    fn blend(&mut self, x: i64, y: i64, color: Rgb, share: f32) {
        if x < 0 || y < 0 || x >= i64::from(self.width) || y >= i64::from(self.height) {
            return;
        }
        let at = (y as usize * self.width as usize + x as usize) * 4;
        let Some(pixel) = self.rgba.get_mut(at..at + 4) else {
            return;
        };
        let under = f32::from(pixel[3]) / 255.0 * (1.0 - share);
        let all = under + share;
        if all <= 0.0 {
            return;
        }
        let new = Rgb(pixel[0], pixel[1], pixel[2]).mix(color, share / all);
        pixel.copy_from_slice(&[new.0, new.1, new.2, (all * 255.0).round() as u8]);
    }

    /// Colours whole pixels; `None` leaves a pixel unchanged.
    pub(crate) fn paint(&mut self, colors: impl Iterator<Item = Option<Rgb>>) {
        for (pixel, color) in self.rgba.chunks_exact_mut(4).zip(colors) {
            if let Some(Rgb(r, g, b)) = color {
                pixel.copy_from_slice(&[r, g, b, 255]);
            }
        }
    }

    /// Draws a canvas of colours over the picture, with `times` canvas pixels for one picture pixel in each direction. `fading` mixes the background
    /// into distant shapes, and `relief` darkens shapes behind an edge.
    pub(crate) fn develop(&mut self, canvas: &Canvas, camera: &Camera, times: usize, light: Light) {
        let (wide, tall) = (canvas.width(), canvas.height());
        let away = |seen: Option<(f32, u32, u8)>| {
            seen.map_or(f32::INFINITY, |(depth, ..)| {
                camera.away(f64::from(depth)) as f32
            })
        };
        let depths: Vec<f32> = canvas.pixels().map(away).collect();
        let (near, far) = depths
            .iter()
            .filter(|one| one.is_finite())
            .fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), one| {
                (low.min(*one), high.max(*one))
            });
        let range = (far - near).max(f32::MIN_POSITIVE);
        let width = self.width as usize;
        let samples = (times * times) as f32;
        let mut row = vec![[0.0_f32; 4]; width];
        for (at, seen) in canvas.pixels().enumerate() {
            let (x, y) = (at % wide, at / wide);
            if let (Some((_, color, _)), Some(sum)) = (seen, row.get_mut(x / times)) {
                let own = depths.get(at).copied().unwrap_or(near);
                let mut hidden = 0.0;
                if light.relief {
                    let (left, right) = (x.saturating_sub(times), (x + times).min(wide - 1));
                    let (up, down) = (y.saturating_sub(times), (y + times).min(tall - 1));
                    let depth = |at: usize| match depths.get(at) {
                        // The background is behind everything.
                        Some(other) if other.is_finite() => *other,
                        _ => own,
                    };
                    let sides = [
                        (depth(y * wide + left), depth(y * wide + right)),
                        (depth(up * wide + x), depth(down * wide + x)),
                    ];
                    // No darkening on slopes and on bulges.
                    for (one, other) in sides {
                        hidden += ((own - one) + (own - other)).clamp(0.0, range);
                    }
                }
                let relief = (-hidden / 2.0 / range * RELIEF).exp().max(RELIEF_LEAST);
                let fade = 1.0 - light.fading * (own - near) / range;
                let color = Rgb::of_bits(color).dimmed(relief);
                for (sum, value) in sum.iter_mut().zip([color.0, color.1, color.2]) {
                    *sum += f32::from(value) * fade;
                }
                if let Some(sum) = sum.last_mut() {
                    *sum += fade;
                }
            }
            if x + 1 == wide && (y + 1) % times == 0 {
                for (x, sum) in row.iter_mut().enumerate() {
                    let [r, g, b, weight] = *sum;
                    if weight > 0.0 {
                        let channel = |one: f32| (one / weight).round().clamp(0.0, 255.0) as u8;
                        let color = Rgb(channel(r), channel(g), channel(b));
                        self.blend(x as i64, (y / times) as i64, color, weight / samples);
                    }
                    *sum = [0.0; 4];
                }
            }
        }
    }

    /// Draws decorations, with text of this height in pixels.
    pub(crate) fn decorate(&mut self, items: &[DecorItem], height: u8) {
        for item in items {
            match item {
                DecorItem::Rect(rect, color) => self.fill(*rect, |_| *color),
                DecorItem::Gradient(rect, map) => self.fill(*rect, |up| map.at(up)),
                DecorItem::Line(a, b, width, color) => self.stroke(*a, *b, *width, *color),
                DecorItem::Text {
                    at,
                    anchor,
                    text,
                    color,
                } => self.write(*at, *anchor, text, *color, height),
            }
        }
    }

    /// Fills a rectangle with colours by the height above its lower edge, from 0 to 1.
    fn fill(&mut self, rect: [f32; 4], color: impl Fn(f32) -> Rgb) {
        let [left, top, width, height] = rect;
        for y in top.floor() as i64..(top + height).ceil() as i64 {
            // The part of the pixel that is inside.
            let tall = overlap(y as f32, top, top + height);
            let up = 1.0 - (y as f32 + 0.5 - top) / height;
            for x in left.floor() as i64..(left + width).ceil() as i64 {
                self.blend(
                    x,
                    y,
                    color(up),
                    tall * overlap(x as f32, left, left + width),
                );
            }
        }
    }

    /// A straight line with smooth edges and round ends.
    fn stroke(&mut self, a: [f32; 2], b: [f32; 2], width: f32, color: Rgb) {
        let reach = width / 2.0 + 1.0;
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        let square = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
        let range = |a: f32, b: f32| {
            (
                (a.min(b) - reach).floor() as i64,
                (a.max(b) + reach).ceil() as i64,
            )
        };
        let ((left, right), (top, bottom)) = (range(a[0], b[0]), range(a[1], b[1]));
        for row in top..=bottom {
            for column in left..=right {
                let (x, y) = (column as f32 + 0.5 - a[0], row as f32 + 0.5 - a[1]);
                let share = ((x * dx + y * dy) / square).clamp(0.0, 1.0);
                let off = (x - share * dx).hypot(y - share * dy);
                let inside = (width / 2.0 + 0.5 - off).clamp(0.0, 1.0);
                if inside > 0.0 {
                    self.blend(column, row, color, inside);
                }
            }
        }
    }

    /// A line of text.
    fn write(&mut self, at: [f32; 2], anchor: Anchor, text: &str, color: Rgb, height: u8) {
        let size = if height > 16 {
            RasterHeight::Size24
        } else {
            RasterHeight::Size16
        };
        let letter = |c: char| {
            get_raster(c, FontWeight::Regular, size)
                .or_else(|| get_raster('?', FontWeight::Regular, size))
        };
        let letters: Vec<_> = text.chars().filter_map(letter).collect();
        let width: usize = letters.iter().map(|one| one.width()).sum();
        let before = match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width as f32 / 2.0,
        };
        let mut left = (at[0] - before).round() as i64;
        let top = (at[1] - f32::from(height) / 2.0).round() as i64;
        for one in letters {
            for (row, y) in one.rows().zip(top..) {
                for (light, x) in row.iter().zip(left..) {
                    if *light > 0 {
                        self.blend(x, y, color, f32::from(*light) / 255.0);
                    }
                }
            }
            left += one.width() as i64;
        }
    }
}

/// Depth cues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Light {
    /// The share of the background in the farthest shapes, from 0 to 1.
    pub(crate) fading: f32,
    /// Whether shapes behind an edge are darker.
    pub(crate) relief: bool,
}

/// The share of a pixel, from `at` to `at + 1`, that is in a range.
fn overlap(at: f32, low: f32, high: f32) -> f32 {
    ((at + 1.0).min(high) - at.max(low)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinking_takes_the_means_of_pixels() {
        let mut picture = Picture::new([4, 2], Some(Rgb::BLACK));
        let white = [Some(Rgb::WHITE), None, None, None];
        picture.paint(white.into_iter().chain(white));
        let small = picture.shrunk(2, 1);
        assert_eq!(small.rgba(), [127, 127, 127, 255, 0, 0, 0, 255]);
    }

    #[test]
    fn a_color_over_a_transparent_pixel_keeps_its_opacity() {
        let mut picture = Picture::new([1, 1], None);
        picture.blend(0, 0, Rgb(200, 100, 0), 0.5);
        assert_eq!(picture.rgba(), [200, 100, 0, 128]);
        picture.blend(0, 0, Rgb(0, 0, 0), 1.0);
        assert_eq!(picture.rgba(), [0, 0, 0, 255]);
        picture.blend(5, -1, Rgb::WHITE, 1.0);
    }

    #[test]
    fn png_files_have_the_pixels_of_the_picture() {
        for ground in [None, Some(Rgb(9, 8, 7))] {
            let mut picture = Picture::new([3, 2], ground);
            picture.blend(1, 1, Rgb(255, 0, 0), 1.0);
            let bytes = picture.to_png().unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(bytes))
                .read_info()
                .unwrap();
            let mut read = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut read).unwrap();
            assert_eq!((info.width, info.height), (3, 2));
            let channels = info.color_type.samples();
            for (found, wanted) in read.chunks(channels).zip(picture.rgba().chunks(4)) {
                assert_eq!(found, wanted.get(..channels).unwrap());
            }
        }
    }
}
