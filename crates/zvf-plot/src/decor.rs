//! Decorations: colour bars, a scale bar, the axes, names of layers and groups.

use crate::camera::Camera;
use crate::color::{Colormap, Rgb, of_direction};
use crate::scale;

/// An item that is drawn over the picture. Lengths are in pixels; y counts from the top.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DecorItem {
    /// A filled rectangle: left, top, width, height.
    Rect([f32; 4], Rgb),
    /// A line.
    Line([f32; 2], [f32; 2], f32, Rgb),
    /// A rectangle with a colour gradient from its lower edge to its upper one.
    Gradient([f32; 4], Colormap),
    /// A line of text; y is its middle.
    Text {
        at: [f32; 2],
        anchor: Anchor,
        text: String,
        color: Rgb,
    },
}

/// The part of a text that is placed at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
}

/// A colour bar: a range of numbers and their colours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColorBar {
    pub(crate) title: String,
    pub(crate) map: Colormap,
    /// The number that was subtracted from both ends.
    pub(crate) origin: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether the scale is logarithmic; it then begins at 1.
    pub(crate) log: bool,
}

/// The contents of the decorations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Legend {
    pub(crate) bars: Vec<ColorBar>,
    /// Colours and names of layers and groups.
    pub(crate) names: Vec<(Rgb, String)>,
    /// Names of the three axes.
    pub(crate) axes: [String; 3],
    /// Unit of all axes.
    pub(crate) unit: Option<String>,
    /// Whether the axes have the colours of directions.
    pub(crate) directions: bool,
}

/// Sizes of the decorations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecorLayout {
    pub(crate) width: f32,
    pub(crate) height: f32,
    /// Height of text; `None` if there are no decorations.
    pub(crate) text: Option<u8>,
}

/// Most layers and groups that are listed by name; the others are counted.
const NAMES: usize = 12;

impl DecorLayout {
    /// The layout for a picture of this size; without decorations if `decorated` is false, or the picture is too small for text.
    pub(crate) fn new(size: [u32; 2], decorated: bool) -> Self {
        let (width, height) = (size[0] as f32, size[1] as f32);
        let text = match width.min(height) {
            _ if !decorated => None,
            small if small < 200.0 => None,
            small if small < 1100.0 => Some(16),
            _ => Some(24),
        };
        Self {
            width,
            height,
            text,
        }
    }

    /// Scale relative to text of 16 pixels.
    fn unit(self) -> f32 {
        f32::from(self.text.unwrap_or(0)) / 16.0
    }

    /// The rectangle for the data: left, top, right, bottom.
    pub(crate) fn inside(self, bars: usize) -> [f64; 4] {
        let margin = 0.03 * self.width.min(self.height);
        let unit = self.unit();
        let bars = (self.bar_width() * bars as f32 * unit).min(self.width * 0.5);
        let below = if self.text.is_some() {
            30.0 * unit
        } else {
            0.0
        };
        [
            margin,
            margin,
            self.width - margin - bars,
            self.height - margin - below,
        ]
        .map(f64::from)
    }

    /// Width of a colour bar with its numbers, for text of 16 pixels.
    fn bar_width(self) -> f32 {
        100.0
    }

    /// All decorations.
    pub(crate) fn items(self, legend: &Legend, camera: &Camera, ink: Rgb) -> Vec<DecorItem> {
        let mut items = Vec::new();
        if self.text.is_none() {
            return items;
        }
        self.axes(legend, camera, ink, &mut items);
        self.scale_bar(legend, camera, ink, &mut items);
        for (number, bar) in legend.bars.iter().enumerate() {
            self.bar(bar, legend.bars.len() - number, ink, &mut items);
        }
        self.names(legend, ink, &mut items);
        items
    }

    /// Arrows along the axes, in the lower left corner.
    fn axes(self, legend: &Legend, camera: &Camera, ink: Rgb, items: &mut Vec<DecorItem>) {
        let unit = self.unit();
        let reach = 30.0 * unit;
        let view = camera.view();
        // Space for arrows and letters that point left or down.
        let below = |direction: [f64; 3]| {
            let lowest = direction.into_iter().fold(0.0, f64::min) as f32;
            -lowest * (reach + 16.0 * unit) + 22.0 * unit
        };
        let origin = [below(view.right()), self.height - below(view.up())];
        let mut arrows: Vec<(f64, DecorItem, DecorItem)> = Vec::new();
        for (axis, name) in legend.axes.iter().enumerate() {
            let of = |direction: [f64; 3]| direction.get(axis).copied().unwrap_or(0.0);
            let (right, up) = (of(view.right()) as f32, of(view.up()) as f32);
            let length = right.hypot(up);
            // An axis that points at the viewer has no direction in the picture.
            if name.is_empty() || length < 0.08 {
                continue;
            }
            let color = match legend.directions {
                true => {
                    let mut direction = [0.0; 3];
                    if let Some(one) = direction.get_mut(axis) {
                        *one = 1.0;
                    }
                    of_direction(direction).mix(Rgb::WHITE, 0.25)
                }
                false => ink.mix(Rgb(128, 128, 128), 0.3),
            };
            let end = [origin[0] + right * reach, origin[1] - up * reach];
            let label = 9.0 * unit / length;
            let at = [end[0] + right * label, end[1] - up * label];
            let line = DecorItem::Line(origin, end, 2.0 * unit, color);
            let text = DecorItem::Text {
                at,
                anchor: Anchor::Middle,
                text: name.clone(),
                color,
            };
            arrows.push((of(view.back()), line, text));
        }
        // Arrows that point to the viewer are drawn last.
        arrows.sort_by(|a, b| a.0.total_cmp(&b.0));
        items.extend(arrows.into_iter().flat_map(|(_, line, text)| [line, text]));
    }

    /// A bar of a round length in the lower right corner, to the left of the colour bars.
    fn scale_bar(self, legend: &Legend, camera: &Camera, ink: Rgb, items: &mut Vec<DecorItem>) {
        let unit = self.unit();
        let room = f64::from(self.width) * 0.2;
        let length = scale::round_down(room * camera.units_per_pixel());
        let pixels = (length / camera.units_per_pixel()) as f32;
        let right = self.width - 20.0 * unit - self.bar_width() * legend.bars.len() as f32 * unit;
        let y = self.height - 18.0 * unit;
        let left = right - pixels;
        let color = ink.mix(Rgb(128, 128, 128), 0.15);
        items.push(DecorItem::Rect(
            [left, y - 1.5 * unit, pixels, 3.0 * unit],
            color,
        ));
        items.push(DecorItem::Text {
            at: [(left + right) / 2.0, y - 12.0 * unit],
            anchor: Anchor::Middle,
            text: scale::length(length, legend.unit.as_deref()),
            color,
        });
    }

    /// A colour bar; `from_right` counts from the right edge, from 1.
    fn bar(self, bar: &ColorBar, from_right: usize, ink: Rgb, items: &mut Vec<DecorItem>) {
        let unit = self.unit();
        let column = self.bar_width() * unit;
        let left = self.width - column * from_right as f32 + 8.0 * unit;
        let top = 44.0 * unit;
        let ticks = BarTicks::of(bar);
        let below = if ticks.base.is_some() { 70.0 } else { 50.0 };
        let height = (self.height - top - below * unit).max(unit);
        let wide = 14.0 * unit;
        items.push(DecorItem::Gradient([left, top, wide, height], bar.map));
        // As many letters as fit.
        let letters = (column / (8.0 * unit)) as usize;
        items.push(DecorItem::Text {
            at: [left, 24.0 * unit],
            anchor: Anchor::Start,
            text: shortened(&bar.title, letters.saturating_sub(1)),
            color: ink,
        });
        if let Some(base) = ticks.base {
            let long = base.chars().count() as f32 * 8.0 * unit;
            items.push(DecorItem::Text {
                at: [
                    left.min(self.width - long - 4.0 * unit),
                    top + height + 16.0 * unit,
                ],
                anchor: Anchor::Start,
                text: base,
                color: ink,
            });
        }
        for (share, text) in ticks.ticks {
            let y = top + height * (1.0 - share);
            let end = left + wide;
            items.push(DecorItem::Line([end, y], [end + 4.0 * unit, y], unit, ink));
            items.push(DecorItem::Text {
                at: [end + 7.0 * unit, y],
                anchor: Anchor::Start,
                text,
                color: ink,
            });
        }
    }

    /// Names with their colours, in the upper left corner.
    fn names(self, legend: &Legend, ink: Rgb, items: &mut Vec<DecorItem>) {
        let unit = self.unit();
        let line = 20.0 * unit;
        let room = ((self.height / 2.0) / line) as usize;
        let shown = legend.names.len().min(NAMES).min(room.max(1));
        let mut y = 20.0 * unit;
        for (color, name) in legend.names.iter().take(shown) {
            let side = 10.0 * unit;
            items.push(DecorItem::Rect(
                [16.0 * unit, y - side / 2.0, side, side],
                *color,
            ));
            items.push(DecorItem::Text {
                at: [33.0 * unit, y],
                anchor: Anchor::Start,
                text: shortened(name, 32),
                color: ink,
            });
            y += line;
        }
        let rest = legend.names.len() - shown;
        if rest > 0 {
            items.push(DecorItem::Text {
                at: [33.0 * unit, y],
                anchor: Anchor::Start,
                text: format!("and {rest} more"),
                color: ink,
            });
        }
    }
}

/// The ticks of a colour bar.
struct BarTicks {
    /// The position from 0 to 1, and the label.
    ticks: Vec<(f32, String)>,
    /// The number to which the labels are relative; `None` if the labels are the numbers themselves.
    base: Option<String>,
}

impl BarTicks {
    fn of(bar: &ColorBar) -> Self {
        let (low, high) = (bar.origin + bar.low, bar.origin + bar.high);
        let shares = |ticks: &[f64], share: &dyn Fn(f64) -> f64| -> Vec<f32> {
            let share = |tick: &f64| {
                if bar.high > bar.low {
                    share(*tick)
                } else {
                    0.5
                }
            };
            ticks.iter().map(|tick| share(tick) as f32).collect()
        };
        let texts = |ticks: &[f64]| -> Vec<String> {
            ticks.iter().map(|tick| scale::number(*tick)).collect()
        };
        if bar.log {
            let ticks = scale::powers(high);
            let places = shares(&ticks, &|tick| tick.ln() / high.ln());
            let ticks = places.into_iter().zip(texts(&ticks)).collect();
            return Self { ticks, base: None };
        }
        let span = bar.high - bar.low;
        let ticks = scale::ticks(low, high, 5);
        let mut own = texts(&ticks);
        let places = shares(&ticks, &|tick| (tick - low) / span);
        let all = own.len();
        own.dedup();
        if own.len() == all && (all > 1 || span <= 0.0) {
            let ticks = places.into_iter().zip(own).collect();
            return Self { ticks, base: None };
        }
        let ticks = scale::ticks(0.0, span, 5);
        let places = shares(&ticks, &|tick| tick / span);
        let texts = texts(&ticks).into_iter().map(|text| format!("+{text}"));
        Self {
            ticks: places.into_iter().zip(texts).collect(),
            base: Some(scale::sum(bar.origin, bar.low)),
        }
    }
}

fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(2)).collect();
    format!("{kept}..")
}
