//! Encodes small pictures as SVG files: lines as paths, points as circles, faces as polygons.

use std::fmt::Write;

use crate::camera::Camera;
use crate::color::Rgb;
use crate::decor::{Anchor, DecorItem};
use crate::pen::{Pen, PenPoint};

/// Shapes of an SVG file, to be drawn from far to near.
#[derive(Debug, Clone, Default)]
pub(crate) struct SvgShapes {
    shapes: Vec<SvgShape>,
    /// Largest number of shapes.
    most: usize,
    /// Whether more than `most` shapes were drawn.
    over: bool,
}

#[derive(Debug, Clone)]
struct SvgShape {
    depth: f32,
    value: u32,
    numeric: bool,
    /// From 0 to 1.
    bright: f32,
    form: SvgOutline,
}

#[derive(Debug, Clone)]
enum SvgOutline {
    Circle([f32; 2], f32),
    Path(Vec<[f32; 2]>, f32),
    Face([[f32; 2]; 3]),
}

impl SvgShapes {
    /// A list of at most `most` shapes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    /// Whether there were more shapes than allowed.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    fn push(&mut self, shape: SvgShape) {
        match self.shapes.len() < self.most {
            true => self.shapes.push(shape),
            false => self.over = true,
        }
    }

    /// Appends the shapes of another layer, and converts its numbers to colours.
    pub(crate) fn append(&mut self, other: Self, color: impl Fn(u32) -> u32) {
        self.over |= other.over;
        for mut shape in other.shapes {
            if shape.numeric {
                shape.value = color(shape.value);
                shape.numeric = false;
            }
            self.push(shape);
        }
    }

    /// Writes the file.
    pub(crate) fn write(
        mut self,
        size: [u32; 2],
        camera: &Camera,
        ground: Option<Rgb>,
        fading: f32,
        (items, text): (&[DecorItem], u8),
    ) -> String {
        self.shapes.sort_by(|a, b| b.depth.total_cmp(&a.depth));
        let away = |shape: &SvgShape| camera.away(f64::from(shape.depth)) as f32;
        let far = self.shapes.first().map_or(0.0, away);
        let near = self.shapes.last().map_or(0.0, away);
        let [width, height] = size;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
        );
        // Writing to a String does not fail.
        if let Some(ground) = ground {
            let _ = writeln!(
                out,
                "<rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>"
            );
        }
        let _ = writeln!(
            out,
            "<g stroke-linecap=\"round\" stroke-linejoin=\"round\">"
        );
        for shape in &self.shapes {
            let share = (away(shape) - near) / (far - near).max(f32::MIN_POSITIVE);
            let color = Rgb::of_bits(shape.value)
                .dimmed(shape.bright)
                .mix(ground.unwrap_or(Rgb::WHITE), fading * share);
            match &shape.form {
                SvgOutline::Circle([x, y], radius) => {
                    let _ = writeln!(
                        out,
                        "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\" fill=\"{color}\"/>"
                    );
                }
                SvgOutline::Path(points, wide) => {
                    let mut path = String::new();
                    for (number, [x, y]) in points.iter().enumerate() {
                        let command = if number == 0 { 'M' } else { 'L' };
                        let _ = write!(path, "{command}{x:.2} {y:.2}");
                    }
                    let _ = writeln!(
                        out,
                        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{wide:.2}\"/>"
                    );
                }
                SvgOutline::Face(corners) => {
                    let points: Vec<String> = corners
                        .iter()
                        .map(|[x, y]| format!("{x:.2},{y:.2}"))
                        .collect();
                    // A thin edge of the same colour hides the gap between two faces.
                    let _ = writeln!(
                        out,
                        "<polygon points=\"{}\" fill=\"{color}\" stroke=\"{color}\" stroke-width=\"0.3\"/>",
                        points.join(" ")
                    );
                }
            }
        }
        let _ = writeln!(out, "</g>");
        for (number, item) in items.iter().enumerate() {
            beside(&mut out, item, number, text);
        }
        out.push_str("</svg>\n");
        out
    }
}

/// Writes a decoration.
fn beside(out: &mut String, item: &DecorItem, number: usize, height: u8) {
    let _ = match item {
        DecorItem::Rect([x, y, width, height], color) => writeln!(
            out,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{color}\"/>"
        ),
        DecorItem::Line([x, y], [to_x, to_y], width, color) => writeln!(
            out,
            "<line x1=\"{x:.2}\" y1=\"{y:.2}\" x2=\"{to_x:.2}\" y2=\"{to_y:.2}\" stroke=\"{color}\" stroke-width=\"{width:.2}\"/>"
        ),
        DecorItem::Gradient([x, y, width, height], map) => {
            let mut stops = String::new();
            for step in 0..=16_u8 {
                let share = f32::from(step) / 16.0;
                let _ = write!(
                    stops,
                    "<stop offset=\"{share}\" stop-color=\"{}\"/>",
                    map.at(share)
                );
            }
            writeln!(
                out,
                "<linearGradient id=\"map{number}\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">{stops}</linearGradient>\n\
                 <rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"url(#map{number})\"/>"
            )
        }
        DecorItem::Text {
            at: [x, y],
            anchor,
            text,
            color,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
            };
            let size = f32::from(height) * 0.8;
            writeln!(
                out,
                "<text x=\"{x:.2}\" y=\"{y:.2}\" dy=\"0.35em\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{size:.1}\" \
                 fill=\"{color}\">{}</text>",
                escaped(text)
            )
        }
    };
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML allows neither most control characters nor these two.
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push(' ')
            }
            letter => out.push(letter),
        }
    }
    out
}

impl Pen for SvgShapes {
    fn point(&mut self, vertex: &PenPoint) {
        self.push(SvgShape {
            depth: vertex.depth,
            value: vertex.value,
            numeric: vertex.numeric,
            bright: 1.0,
            form: SvgOutline::Circle([vertex.x, vertex.y], vertex.radius.max(0.5)),
        });
    }

    fn segment(&mut self, a: &PenPoint, b: &PenPoint) {
        let value = PenPoint::mix(a, b, 0.5);
        let width = a.radius + b.radius;
        // The next segment of a chain extends the path if its style is the same.
        if let Some(last) = self.shapes.last_mut()
            && last.value == value
            && let SvgOutline::Path(points, wide) = &mut last.form
            && points.last() == Some(&[a.x, a.y])
            && (*wide - width).abs() < 0.05
            && points.len() < 1000
        {
            points.push([b.x, b.y]);
            last.depth = last.depth.min(a.depth.midpoint(b.depth));
            return;
        }
        self.push(SvgShape {
            depth: a.depth.midpoint(b.depth),
            value,
            numeric: a.numeric,
            bright: 1.0,
            form: SvgOutline::Path(vec![[a.x, a.y], [b.x, b.y]], width),
        });
    }

    fn triangle(&mut self, corners: [&PenPoint; 3], normals: [[f32; 3]; 3]) {
        let third = 1.0 / 3.0;
        let mean: [f32; 3] = std::array::from_fn(|axis| {
            let of = |normal: &[f32; 3]| normal.get(axis).copied().unwrap_or(0.0);
            normals.iter().map(of).sum()
        });
        self.push(SvgShape {
            depth: corners.iter().map(|one| one.depth).sum::<f32>() / 3.0,
            value: PenPoint::blend(corners, [third; 3]),
            numeric: corners[0].numeric,
            bright: f32::from(crate::canvas::surface(mean)) / 255.0,
            form: SvgOutline::Face(corners.map(|one| [one.x, one.y])),
        });
    }
}
