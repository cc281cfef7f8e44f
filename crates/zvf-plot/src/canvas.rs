//! The pixels that shapes are drawn into, and the drawing loops.
//!
//! A pixel holds the nearest shape that was drawn there: its depth and 32 bits with its colour or number. Both are
//! one integer that only decreases, so that the picture depends neither on the order of drawing nor on the number of threads.

use crate::pen::{Pen, PenPoint};

/// A pixel without a shape.
const EMPTY: u64 = u64::MAX;

/// Full brightness.
const BRIGHT: u8 = 255;

/// Lines up to this width, in pixels, are stamped along their longer axis; wider ones are drawn as lit round bars, if the canvas is lit.
const THIN: f32 = 5.0;

/// The direction of the light in the picture: right, up, towards the viewer. Of length 1.
const LIGHT: [f32; 3] = [-0.397_36, 0.496_7, 0.771_6];

/// Brightness of unlit surfaces.
const AMBIENT: f32 = 0.35;

/// Pixels with depth.
#[derive(Debug, Clone)]
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u64>,
    /// Brightness of lit surfaces; empty if no surface is lit.
    shades: Vec<u8>,
    tiles: DepthTiles,
}

/// Squares of pixels, with the depth of the farthest pixel of each at its last update. Pixels only get nearer, so a line
/// that is farther away than that in all its tiles is hidden, and its pixels need not be tested.
#[derive(Debug, Clone)]
struct DepthTiles {
    /// Number of tiles in a row.
    across: usize,
    /// Upper bound of the upper halves of pixel keys.
    farthest: Vec<u32>,
    /// Lines whose bounding box began in a tile since its last update.
    lines: Vec<u8>,
}

/// Pixels along a side of a tile.
const TILE: usize = 16;

/// Number of lines after which a tile is updated.
const LINES: u8 = 64;

impl Canvas {
    /// An empty canvas; `lit` ones keep the brightness of surfaces.
    ///
    /// # Cost
    ///
    /// 8 bytes for each pixel, 9 for lit canvases.
    pub(crate) fn new(width: usize, height: usize, lit: bool) -> Self {
        let all = width * height;
        Self {
            width,
            height,
            pixels: vec![EMPTY; all],
            shades: if lit { vec![BRIGHT; all] } else { Vec::new() },
            tiles: DepthTiles::new(width, height),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    /// Takes the nearer value of each pixel of two canvases of the same size.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.shades.is_empty() {
            for (mine, other) in self.pixels.iter_mut().zip(&other.pixels) {
                *mine = (*mine).min(*other);
            }
            return;
        }
        let mine = self.pixels.iter_mut().zip(&mut self.shades);
        for ((pixel, shade), (other, dark)) in mine.zip(other.pixels.iter().zip(&other.shades)) {
            if (*other, *dark) < (*pixel, *shade) {
                (*pixel, *shade) = (*other, *dark);
            }
        }
    }

    /// The pixels, rows from the top: depth, value and brightness; `None` for an empty pixel.
    pub(crate) fn pixels(&self) -> impl Iterator<Item = Option<(f32, u32, u8)>> + '_ {
        self.pixels.iter().enumerate().map(|(at, pixel)| {
            let shade = self.shades.get(at).copied().unwrap_or(BRIGHT);
            (*pixel != EMPTY).then(|| (depth_of(*pixel), low_half(*pixel), shade))
        })
    }

    /// Maps values, such as numbers to colours; the function receives the brightness, which is then reset to full.
    pub(crate) fn map(&mut self, color: impl Fn(u32, u8) -> u32) {
        for (at, pixel) in self.pixels.iter_mut().enumerate() {
            if *pixel != EMPTY {
                let shade = self.shades.get(at).copied().unwrap_or(BRIGHT);
                *pixel = *pixel & !u64::from(u32::MAX) | u64::from(color(low_half(*pixel), shade));
            }
        }
        self.shades = Vec::new();
    }

    /// Sets one pixel, if it is in the picture and not hidden.
    #[inline]
    fn put(&mut self, x: i32, y: i32, key: u64, shade: u8) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x >= self.width {
            return;
        }
        let at = y * self.width + x;
        let Some(pixel) = self.pixels.get_mut(at) else {
            return;
        };
        if key <= *pixel {
            match self.shades.get_mut(at) {
                None => {}
                Some(old) if key == *pixel => *old = shade.min(*old),
                Some(old) => *old = shade,
            }
            *pixel = key;
        }
    }

    /// The columns and rows that a box of the picture covers, `None` if it is outside.
    fn covered(&self, low: [f32; 2], high: [f32; 2]) -> Option<[i32; 4]> {
        let (width, height) = (self.width as f32, self.height as f32);
        let inside = high[0] >= 0.0 && high[1] >= 0.0 && low[0] < width && low[1] < height;
        inside.then(|| {
            [
                low[0].max(0.0) as i32,
                low[1].max(0.0) as i32,
                high[0].min(width - 1.0) as i32,
                high[1].min(height - 1.0) as i32,
            ]
        })
    }

    /// Draws a line of a few pixels' width, as stamps along its longer axis.
    fn thin(&mut self, a: &PenPoint, b: &PenPoint, width: f32) {
        let Some((a, b)) = self.clipped(a, b, width) else {
            return;
        };
        let stamps = ((width + 0.5) as i32).max(1);
        let nearest = a.depth.min(b.depth);
        if self.hides(&a, &b, stamps, nearest) {
            return;
        }
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let steep = dy.abs() > dx.abs();
        let (from, to, slope) = match steep {
            true => (a.y, b.y, dx / dy),
            false => (a.x, b.x, dy / dx),
        };
        let (from, to, start, end) = match from <= to {
            true => (from, to, &a, &b),
            false => (to, from, &b, &a),
        };
        let length = to - from;
        let cross = if steep { start.x } else { start.y };
        let before = (stamps - 1) as f32 / 2.0;
        for step in floor(from)..=floor(to) {
            // The middle of the pixel, or the end of a line that ends before it.
            let along = (step as f32 + 0.5).clamp(from, to) - from;
            let (share, side) = match length > 0.0 {
                true => (along / length, cross + along * slope),
                false => (0.0, cross),
            };
            // Rounding must not make a pixel nearer than both ends; otherwise pixels of hidden lines would appear.
            let depth = (start.depth + share * (end.depth - start.depth)).max(nearest);
            let key = key(depth, PenPoint::mix(start, end, share));
            let across = floor(side - before);
            for stamp in across..across + stamps {
                match steep {
                    true => self.put(stamp, step, key, BRIGHT),
                    false => self.put(step, stamp, key, BRIGHT),
                }
            }
        }
    }

    /// Whether a line is completely hidden. Its pixels are at most `stamps` pixels away from it, and no nearer than `nearest`.
    fn hides(&mut self, a: &PenPoint, b: &PenPoint, stamps: i32, nearest: f32) -> bool {
        let reach = stamps as f32;
        let low = [a.x.min(b.x) - reach, a.y.min(b.y) - reach];
        let high = [a.x.max(b.x) + reach, a.y.max(b.y) + reach];
        let Some([left, top, right, bottom]) = self.covered(low, high) else {
            return true;
        };
        let nearest = (key(nearest, 0) >> 32) as u32;
        let tile = |at: i32| usize::try_from(at).unwrap_or(0) / TILE;
        let (columns, rows) = (tile(left)..=tile(right), tile(top)..=tile(bottom));
        let first = rows.start() * self.tiles.across + columns.start();
        if let Some(lines) = self.tiles.lines.get_mut(first) {
            *lines += 1;
            if *lines >= LINES {
                *lines = 0;
                self.update_tile(*columns.start(), *rows.start());
            }
        }
        let tiles = &self.tiles;
        rows.into_iter().all(|row| {
            let row = row * tiles.across;
            let found = tiles
                .farthest
                .get(row + columns.start()..=row + columns.end());
            found.is_some_and(|found| found.iter().all(|farthest| nearest > *farthest))
        })
    }

    /// Updates the depth of the farthest pixel of a tile.
    fn update_tile(&mut self, column: usize, row: usize) {
        let (left, top) = (column * TILE, row * TILE);
        let right = (left + TILE).min(self.width);
        let rows = top..(top + TILE).min(self.height);
        let farthest = rows
            .filter_map(|y| {
                self.pixels
                    .get(y * self.width + left..y * self.width + right)
            })
            .flatten()
            .max();
        let tile = self
            .tiles
            .farthest
            .get_mut(row * self.tiles.across + column);
        if let (Some(tile), Some(farthest)) = (tile, farthest) {
            *tile = (farthest >> 32) as u32;
        }
    }

    /// The visible part of a line, with a margin of its width.
    fn clipped(&self, a: &PenPoint, b: &PenPoint, width: f32) -> Option<(PenPoint, PenPoint)> {
        let margin = width + 1.0;
        let (wide, tall) = (self.width as f32 + margin, self.height as f32 + margin);
        let inside = |v: &PenPoint| v.x >= -margin && v.y >= -margin && v.x <= wide && v.y <= tall;
        if inside(a) && inside(b) {
            return Some((*a, *b));
        }
        let (mut from, mut to) = (0.0_f32, 1.0_f32);
        let edges = [
            (a.x - b.x, a.x + margin),
            (b.x - a.x, wide - a.x),
            (a.y - b.y, a.y + margin),
            (b.y - a.y, tall - a.y),
        ];
        for (slope, room) in edges {
            if slope == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if slope < 0.0 {
                from = from.max(room / slope);
            } else {
                to = to.min(room / slope);
            }
        }
        (from <= to).then(|| (PenPoint::between(a, b, from), PenPoint::between(a, b, to)))
    }

    /// Draws a round bar between two positions, lit from the upper left. Its radius may differ at the ends.
    fn bar(&mut self, a: &PenPoint, b: &PenPoint) {
        let most = a.radius.max(b.radius);
        let Some((a, b)) = self.clipped(a, b, 2.0 * most) else {
            return;
        };
        let low = [a.x.min(b.x) - most, a.y.min(b.y) - most];
        let high = [a.x.max(b.x) + most, a.y.max(b.y) + most];
        let Some([left, top, right, bottom]) = self.covered(low, high) else {
            return;
        };
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let square = dx * dx + dy * dy;
        for row in top..=bottom {
            for column in left..=right {
                let (x, y) = (column as f32 + 0.5 - a.x, row as f32 + 0.5 - a.y);
                let share = match square > 0.0 {
                    true => ((x * dx + y * dy) / square).clamp(0.0, 1.0),
                    false => 0.0,
                };
                let radius = a.radius + share * (b.radius - a.radius);
                let (x, y) = (x - share * dx, y - share * dy);
                let off = x * x + y * y;
                if off > radius * radius {
                    continue;
                }
                let height = (radius * radius - off).sqrt();
                let bulge = a.bulge + share * (b.bulge - a.bulge);
                let depth = a.depth + share * (b.depth - a.depth) - height * bulge;
                let normal = [x / radius, -y / radius, height / radius];
                let value = PenPoint::mix(&a, &b, share);
                self.put(column, row, key(depth, value), shade(normal));
            }
        }
    }
}

impl Pen for Canvas {
    fn point(&mut self, vertex: &PenPoint) {
        let radius = vertex.radius;
        if radius <= 0.75 {
            let key = key(vertex.depth, vertex.value);
            self.put(
                vertex.x.floor() as i32,
                vertex.y.floor() as i32,
                key,
                BRIGHT,
            );
            return;
        }
        if radius > THIN / 2.0 && !self.shades.is_empty() {
            self.bar(vertex, vertex);
            return;
        }
        let low = [vertex.x - radius, vertex.y - radius];
        let high = [vertex.x + radius, vertex.y + radius];
        let Some([left, top, right, bottom]) = self.covered(low, high) else {
            return;
        };
        let key = key(vertex.depth, vertex.value);
        for row in top..=bottom {
            for column in left..=right {
                let (x, y) = (column as f32 + 0.5 - vertex.x, row as f32 + 0.5 - vertex.y);
                if x * x + y * y <= radius * radius {
                    self.put(column, row, key, BRIGHT);
                }
            }
        }
    }

    fn segment(&mut self, a: &PenPoint, b: &PenPoint) {
        let width = a.radius.max(b.radius) * 2.0;
        if width <= THIN || self.shades.is_empty() {
            self.thin(a, b, width);
        } else {
            self.bar(a, b);
        }
    }

    fn triangle(&mut self, corners: [&PenPoint; 3], normals: [[f32; 3]; 3]) {
        let [a, b, c] = corners;
        let low = [a.x.min(b.x).min(c.x), a.y.min(b.y).min(c.y)];
        let high = [a.x.max(b.x).max(c.x), a.y.max(b.y).max(c.y)];
        let Some([left, top, right, bottom]) = self.covered(low, high) else {
            return;
        };
        // In double precision: corners may be far outside of the picture.
        let at = |v: &PenPoint| (f64::from(v.x), f64::from(v.y));
        let ((ax, ay), (bx, by), (cx, cy)) = (at(a), at(b), at(c));
        let area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
        if area == 0.0 || !area.is_finite() {
            return;
        }
        for row in top..=bottom {
            let y = f64::from(row) + 0.5;
            for column in left..=right {
                let x = f64::from(column) + 0.5;
                let first = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area;
                let second = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area;
                let third = 1.0 - first - second;
                if first < 0.0 || second < 0.0 || third < 0.0 {
                    continue;
                }
                let share = [first as f32, second as f32, third as f32];
                let depth = a.depth * share[0] + b.depth * share[1] + c.depth * share[2];
                let value = PenPoint::blend(corners, share);
                let normal: [f32; 3] = std::array::from_fn(|axis| {
                    let of = |n: [f32; 3]| n.get(axis).copied().unwrap_or(0.0);
                    of(normals[0]) * share[0]
                        + of(normals[1]) * share[1]
                        + of(normals[2]) * share[2]
                });
                self.put(column, row, key(depth, value), surface(normal));
            }
        }
    }
}

impl DepthTiles {
    fn new(width: usize, height: usize) -> Self {
        let across = width.div_ceil(TILE);
        let all = across * height.div_ceil(TILE);
        Self {
            across,
            farthest: vec![u32::MAX; all],
            lines: vec![0; all],
        }
    }
}

/// The pixel of a coordinate. Faster than the library function, which is a call on processors without SSE 4.1.
#[inline]
fn floor(place: f32) -> i32 {
    let whole = place as i32;
    whole.saturating_sub(i32::from(whole as f32 > place))
}

/// Brightness of a surface with a normal.
fn shade(normal: [f32; 3]) -> u8 {
    let light = normal[0] * LIGHT[0] + normal[1] * LIGHT[1] + normal[2] * LIGHT[2];
    // Surfaces that face the viewer have their full colour.
    let full = AMBIENT + (1.0 - AMBIENT) * LIGHT[2];
    ((AMBIENT + (1.0 - AMBIENT) * light.max(0.0)) / full * 255.0).min(255.0) as u8
}

/// Brightness of a two-sided surface: the side towards the viewer is visible.
pub(crate) fn surface(normal: [f32; 3]) -> u8 {
    let length = normal.iter().map(|one| one * one).sum::<f32>().sqrt();
    let sign = if normal[2] < 0.0 { -1.0 } else { 1.0 };
    let scale = if length > 0.0 { sign / length } else { 0.0 };
    shade(normal.map(|one| one * scale))
}

/// Depth and value as one integer; nearer depths give smaller integers.
#[inline]
pub(crate) fn key(depth: f32, value: u32) -> u64 {
    let bits = depth.to_bits();
    let ordered = match bits >> 31 {
        0 => bits | 1 << 31,
        _ => !bits,
    };
    u64::from(ordered) << 32 | u64::from(value)
}

fn depth_of(key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    f32::from_bits(match ordered >> 31 {
        1 => ordered & !(1 << 31),
        _ => !ordered,
    })
}

fn low_half(key: u64) -> u32 {
    (key & u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_by_depth() {
        let depths = [-1e30_f32, -2.0, -1.0, -1e-20, 0.0, 1e-20, 0.5, 3.0, 1e30];
        for pair in depths.windows(2) {
            assert!(key(pair[0], u32::MAX - 1) < key(pair[1], 0), "{pair:?}");
        }
        for depth in depths {
            assert_eq!(depth_of(key(depth, 7)), depth);
            assert_eq!(low_half(key(depth, 7)), 7);
        }
    }
}
