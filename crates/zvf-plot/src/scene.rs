//! Combines layers in one picture.

use std::sync::Arc;

use arrow_array::RecordBatch;
use zvf_meta::Kind;
use zvf_query::Table;

use crate::PlotError;
use crate::camera::{Camera, Orientation, Point3, Projection};
use crate::canvas::Canvas;
use crate::color::{Colormap, Rgb, of_few};
use crate::decor::{ColorBar, DecorItem, DecorLayout, Legend};
use crate::density::PixelCounts;
use crate::draw::Lens;
use crate::layer::{Layer, OpenLayer, PlotSpace, Shapes};
use crate::pen::Pen;
use crate::picture::{Light, Picture};
use crate::pool::{DrawnRange, Pool};
use crate::rows::{self, MISSING, Paint};
use crate::svg;

/// Settings of a picture.
#[derive(Debug, Clone)]
pub struct PlotOptions {
    /// Width and height in pixels. Default 1200 by 900.
    pub size: [u32; 2],
    /// The directions that point right and up. Default x and y.
    pub view: Orientation,
    /// The projection. Default orthographic.
    pub projection: Projection,
    /// Colour of the background; `None`: transparent. Default black.
    pub background: Option<Rgb>,
    /// The position in the middle, and units per pixel; `None`: everything is shown.
    pub look_at: Option<(Point3, f64)>,
    /// Axes, scale bar, colour bars and names. Default on; pictures below 200 pixels have none.
    pub decorated: bool,
    /// The share of the background in the farthest shapes, from 0 to 1. Default 0.35.
    pub fading: f32,
    /// Largest number of vertices of a layer that level `auto` draws, and that linked layers hold. Default 10 000 000.
    pub vertices: u64,
    /// Largest number of shapes of an SVG file. Default 50 000.
    pub shapes: usize,
}

impl Default for PlotOptions {
    fn default() -> Self {
        Self {
            size: [1200, 900],
            view: Orientation::XY,
            projection: Projection::Orthographic,
            background: Some(Rgb::BLACK),
            look_at: None,
            decorated: true,
            fading: 0.35,
            vertices: 10_000_000,
            shapes: 50_000,
        }
    }
}

/// The result of drawing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Drawing<P> {
    /// The picture: pixels, or the text of an SVG file.
    pub picture: P,
    /// The camera that was used.
    pub camera: Camera,
    /// One for each layer.
    pub layers: Vec<DrawnLayer>,
    /// Defects of the stores that did not prevent the picture, and content that could not be drawn.
    pub warnings: Vec<String>,
}

/// The drawn part of a layer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DrawnLayer {
    /// The level.
    pub level: u32,
    /// Number of vertices that were read.
    pub vertices: u64,
    /// The numbers at the ends of the colour map, if colours show numbers.
    pub range: Option<(f64, f64)>,
}

/// Pixels of the canvas for one of the picture, in each direction.
const SAMPLES: usize = 2;

/// Largest number of pixels of a picture.
const MOST_PIXELS: u64 = 1 << 26;

/// Largest number of faces that are kept for smooth shading; larger meshes are flat.
const SMOOTH: usize = 4_000_000;

/// Links or vertices of one job.
const JOB: usize = 1 << 16;

/// Draws layers as pixels.
///
/// # Cost
///
/// 32 bytes for each pixel and thread (as many as cores, at most four), and the memory budget of each query. The first
/// million rows of points and chains are kept in memory, for layers with stored links all vertices (20 bytes each, 50 for smooth meshes).
/// Colours by group or by object attributes keep 16 bytes for each object.
///
/// # Errors
///
/// Misuse: no layer, a size that is not from 1 to 2^26 pixels, an attribute, channel, group or object index that a layer needs and does not have.
/// Limit: more linked vertices than [`PlotOptions::vertices`], more than 100 000 groups for colours by group. Also the errors of the queries.
pub async fn plot(layers: &[Layer], options: &PlotOptions) -> Result<Drawing<Picture>, PlotError> {
    let mut scene = Scene::new(layers, options).await?;
    let [width, height] = options.size;
    let (wide, tall) = (width as usize, height as usize);
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    let mut picture = Picture::new(options.size, options.background);
    let mut all: Option<Canvas> = None;
    let mut drawn = Vec::new();
    for (layer, opened) in layers.iter().zip(std::mem::take(&mut scene.opened)) {
        let info = Info::of(&opened);
        if opened.density {
            let lens = scene.lens(layer, &opened, 1);
            let mut pool = Pool::new(threads, move || PixelCounts::new(wide, tall));
            let vertices = draw(opened, lens, &mut pool, &mut scene.warnings).await?;
            let (mut pens, _) = pool.finish().await?;
            let mut counts = pens.pop().unwrap_or_else(|| PixelCounts::new(wide, tall));
            pens.iter().for_each(|one| counts.merge(one));
            let map = layer.colormap.unwrap_or(Colormap::MAGMA);
            let low = layer.range.map_or(1.0, |range| range.0).max(1.0);
            let high = layer
                .range
                .map_or(f64::from(counts.most()), |range| range.1)
                .max(low);
            let counts = counts.counts().iter();
            picture.paint(counts.map(|count| shown(*count, (low, high), map)));
            scene.legend.bars.push(ColorBar {
                title: info.counted().to_owned(),
                map,
                origin: 0.0,
                low,
                high,
                log: true,
            });
            drawn.push(info.drawn(vertices, Some((low, high))));
            continue;
        }
        let lens = scene.lens(layer, &opened, SAMPLES);
        let lit = lens.lit || opened.shapes == Shapes::Faces || opened.columns.radius.is_some();
        let mut pool = Pool::new(threads, move || {
            Canvas::new(wide * SAMPLES, tall * SAMPLES, lit)
        });
        let vertices = draw(opened, lens, &mut pool, &mut scene.warnings).await?;
        let (mut pens, range) = pool.finish().await?;
        let Some(mut canvas) = pens.pop() else {
            return Err(PlotError::bug("a pool without pens"));
        };
        for one in std::mem::take(&mut pens) {
            canvas.merge(&one);
        }
        let colors = NumberColors::of(layer, &info, range);
        canvas.map(|value, bright| colors.color(value, bright));
        match &mut all {
            None => all = Some(canvas),
            Some(all) => all.merge(&canvas),
        }
        drawn.push(info.drawn(vertices, colors.ends(layer, &info)));
        scene.explain(layer, &info, colors);
    }
    if let Some(canvas) = &all {
        let camera = scene.camera.scaled(SAMPLES as f64);
        let light = Light {
            fading: options.fading.clamp(0.0, 1.0),
            relief: true,
        };
        picture.develop(canvas, &camera, SAMPLES, light);
    }
    let layout = DecorLayout::new(options.size, options.decorated);
    picture.decorate(&scene.items(options), layout.text.unwrap_or(16));
    Ok(Drawing {
        picture,
        camera: scene.camera,
        layers: drawn,
        warnings: scene.warnings,
    })
}

/// Draws layers as the text of an SVG file.
///
/// # Cost
///
/// About 100 bytes for each shape, in addition to the memory of layers in [`plot`].
///
/// # Errors
///
/// As [`plot`]. Limit: more than [`PlotOptions::shapes`] shapes. Misuse: densities.
pub async fn plot_svg(
    layers: &[Layer],
    options: &PlotOptions,
) -> Result<Drawing<String>, PlotError> {
    let mut scene = Scene::new(layers, options).await?;
    let most = options.shapes;
    let mut all = svg::SvgShapes::new(most);
    let mut drawn = Vec::new();
    for (layer, opened) in layers.iter().zip(std::mem::take(&mut scene.opened)) {
        if opened.density {
            return Err(PlotError::usage(format!(
                "{}: found density in an SVG file, expected a PNG file for that, or another --color",
                layer.name
            )));
        }
        let info = Info::of(&opened);
        let lens = scene.lens(layer, &opened, 1);
        let mut pool = Pool::new(1, move || svg::SvgShapes::new(most));
        let vertices = draw(opened, lens, &mut pool, &mut scene.warnings).await?;
        let (pens, range) = pool.finish().await?;
        let colors = NumberColors::of(layer, &info, range);
        for one in pens {
            all.append(one, |value| colors.color(value, 255));
        }
        if all.is_over() {
            return Err(PlotError::limit(format!(
                "{}: found more than {most} shapes, expected no more in an SVG file: a PNG file takes any number, a box, objects or a \
                 coarser level select fewer",
                layer.name
            )));
        }
        drawn.push(info.drawn(vertices, colors.ends(layer, &info)));
        scene.explain(layer, &info, colors);
    }
    let layout = DecorLayout::new(options.size, options.decorated);
    let items = scene.items(options);
    let fading = options.fading.clamp(0.0, 1.0);
    let beside = (&*items, layout.text.unwrap_or(16));
    Ok(Drawing {
        picture: all.write(
            options.size,
            &scene.camera,
            options.background,
            fading,
            beside,
        ),
        camera: scene.camera,
        layers: drawn,
        warnings: scene.warnings,
    })
}

/// Layers with their running queries, and the camera.
struct Scene {
    opened: Vec<OpenLayer>,
    camera: Camera,
    legend: Legend,
    warnings: Vec<String>,
    several: bool,
}

/// Data of a layer that is needed after drawing.
struct Info {
    kind: Kind,
    level: u32,
    title: String,
    names: Vec<(Rgb, String)>,
    numeric: bool,
    origin: f64,
    solid: Option<Rgb>,
}

impl Info {
    fn of(opened: &OpenLayer) -> Self {
        let paint = &opened.columns.paint;
        Self {
            kind: opened.kind,
            level: opened.level,
            title: opened.title.clone(),
            names: opened.names.clone(),
            numeric: paint.numeric(),
            origin: opened.columns.origin.unwrap_or_default(),
            solid: match paint {
                Paint::Solid(color) => Some(*color),
                _ => None,
            },
        }
    }

    /// The name of the shapes that densities count.
    fn counted(&self) -> &'static str {
        match self.kind {
            Kind::PointCloud => "points/px",
            Kind::Mesh => "faces/px",
            _ => "lines/px",
        }
    }

    fn drawn(&self, vertices: u64, range: Option<(f64, f64)>) -> DrawnLayer {
        DrawnLayer {
            level: self.level,
            vertices,
            range,
        }
    }
}

/// A lens, and whether wide lines and points are lit.
struct LitLens {
    lens: Lens,
    lit: bool,
}

impl std::ops::Deref for LitLens {
    type Target = Lens;

    fn deref(&self) -> &Lens {
        &self.lens
    }
}

impl Scene {
    async fn new(layers: &[Layer], options: &PlotOptions) -> Result<Self, PlotError> {
        let [width, height] = options.size;
        let pixels = u64::from(width) * u64::from(height);
        if !(1..=MOST_PIXELS).contains(&pixels) {
            return Err(PlotError::usage(format!(
                "size: found {width},{height}, expected from 1 to {MOST_PIXELS} pixels"
            )));
        }
        let first = layers
            .first()
            .ok_or_else(|| PlotError::usage("no store to draw"))?;
        let space = PlotSpace::of(&first.store);
        let mut warnings = Vec::new();
        let mut opened = Vec::new();
        let mut seen: Vec<Point3> = Vec::new();
        for (number, layer) in layers.iter().enumerate() {
            let mut one = OpenLayer::begin(layer, &space, options.vertices, &mut warnings).await?;
            if layers.len() > 1
                && matches!(layer.color, crate::ColorBy::Auto)
                && matches!(one.columns.paint, Paint::Solid(_))
            {
                one.recolor(of_few(number));
            }
            seen.extend(one.extent(layer, &options.view).await?.points());
            opened.push(one);
        }
        if seen.is_empty() {
            warnings.push("nothing to draw: no vertex is selected".to_owned());
        }
        let bars = opened
            .iter()
            .filter(|one| one.density || Info::of(one).numeric)
            .count();
        let layout = DecorLayout::new(options.size, options.decorated);
        let bars = if layout.text.is_some() { bars } else { 0 };
        let inside = layout.inside(bars);
        let camera = match options.look_at {
            None => Camera::fit(options.view, options.projection, &seen, inside),
            Some((point, units)) => {
                let middle = [f64::from(width) / 2.0, f64::from(height) / 2.0];
                Camera::new(options.view, options.projection, point, units, middle)
            }
        };
        let directions = opened
            .iter()
            .any(|one| matches!(one.columns.paint, Paint::Direction));
        Ok(Self {
            opened,
            camera,
            legend: Legend {
                axes: space.names,
                unit: space.unit,
                directions,
                ..Legend::default()
            },
            warnings,
            several: layers.len() > 1,
        })
    }

    /// The lens of a layer on a canvas with `samples` pixels for one of the picture, in each direction.
    fn lens(&self, layer: &Layer, opened: &OpenLayer, samples: usize) -> LitLens {
        let times = samples as f32;
        let line = layer.line_width.unwrap_or(match opened.kind {
            Kind::Skeleton | Kind::Graph => 1.5,
            _ => 1.0,
        });
        let point = layer.point_size.unwrap_or(match opened.vertices {
            _ if opened.kind == Kind::Graph => line * 2.5,
            0..=2_000 => 5.0,
            2_001..=50_000 => 3.0,
            50_001..=500_000 => 1.5,
            _ => 1.0,
        });
        let lens = Lens {
            camera: self.camera.scaled(samples as f64),
            line: line * times / 2.0,
            point: point * times / 2.0,
            least: 0.4 * times,
            scale: opened.columns.radius_scale,
            directions: matches!(opened.columns.paint, Paint::Direction),
            numeric: Info::of(opened).numeric,
        };
        LitLens {
            lens,
            lit: match opened.shapes {
                Shapes::Points => point >= 6.0,
                _ => line >= 4.0,
            },
        }
    }

    /// Adds the colour rule of a layer to the legend.
    fn explain(&mut self, layer: &Layer, info: &Info, colors: NumberColors) {
        if let Some((low, high)) = colors.range {
            self.legend.bars.push(ColorBar {
                title: info.title.clone(),
                map: colors.map,
                origin: info.origin,
                low,
                high,
                log: false,
            });
        }
        if self.several
            && let Some(color) = info.solid
        {
            self.legend.names.push((color, layer.name.clone()));
        }
        self.legend.names.extend(info.names.iter().cloned());
    }

    fn items(&self, options: &PlotOptions) -> Vec<DecorItem> {
        let ground = options.background.unwrap_or(Rgb::WHITE);
        let ink = match ground.luminance() < 0.5 {
            true => Rgb(225, 228, 232),
            false => Rgb(40, 44, 52),
        };
        let layout = DecorLayout::new(options.size, options.decorated);
        layout.items(&self.legend, &self.camera, ink)
    }
}

/// The map from numbers, less the origin of the layer, to colours.
#[derive(Debug, Clone, Copy)]
struct NumberColors {
    map: Colormap,
    /// Whether values are numbers, not colours.
    numeric: bool,
    /// The numbers at the ends; `None` if there is no number.
    range: DrawnRange,
}

impl NumberColors {
    fn of(layer: &Layer, info: &Info, found: DrawnRange) -> Self {
        let given = layer
            .range
            .map(|(low, high)| (low - info.origin, high - info.origin));
        Self {
            map: layer.colormap.unwrap_or_default(),
            numeric: info.numeric,
            range: given.or(found).filter(|_| info.numeric),
        }
    }

    /// The numbers at the ends.
    fn ends(&self, layer: &Layer, info: &Info) -> Option<(f64, f64)> {
        let (low, high) = self.range?;
        let found = (info.origin + low, info.origin + high);
        Some(layer.range.unwrap_or(found))
    }

    fn color(&self, value: u32, bright: u8) -> u32 {
        let color = match self.range {
            None if self.numeric => MISSING,
            None => Rgb::of_bits(value),
            Some((low, high)) => {
                let number = f64::from(f32::from_bits(value));
                match (number.is_nan(), high > low) {
                    (true, _) => MISSING,
                    (_, false) => self.map.at(0.5),
                    _ => self.map.at(((number - low) / (high - low)) as f32),
                }
            }
        };
        match bright {
            255 => color.bits(),
            bright => color.dimmed(f32::from(bright) / 255.0).bits(),
        }
    }
}

/// The colour of a count on a logarithmic scale; none for 0.
fn shown(count: u32, (low, high): (f64, f64), map: Colormap) -> Option<Rgb> {
    let share = match high > low {
        true => (f64::from(count) / low).ln() / (high / low).ln(),
        false => 1.0,
    };
    let share = share.max(0.0);
    // A low count must be visible on a dark background.
    (count > 0).then(|| map.at((0.18 + 0.82 * share) as f32))
}

/// Draws the rest of a layer; returns its number of vertices.
async fn draw<P: Pen>(
    mut opened: OpenLayer,
    lens: LitLens,
    pool: &mut Pool<P>,
    warnings: &mut Vec<String>,
) -> Result<u64, PlotError> {
    let lens = lens.lens;
    match opened.shapes {
        Shapes::Points | Shapes::Chains => unlinked(&mut opened, &lens, pool).await?,
        Shapes::Edges => edges(&mut opened, &lens, pool).await?,
        Shapes::Faces => faces(&mut opened, &lens, pool).await?,
    }
    let summary = opened.answer.summary();
    for warning in &summary.warnings {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    Ok(summary.vertices)
}

async fn unlinked<P: Pen>(
    opened: &mut OpenLayer,
    lens: &Lens,
    pool: &mut Pool<P>,
) -> Result<(), PlotError> {
    let chains = opened.shapes == Shapes::Chains;
    let mut early = std::mem::take(&mut opened.early).into_iter();
    let mut last: Option<RecordBatch> = None;
    loop {
        let batch = match early.next() {
            Some(batch) => batch,
            None => match opened.answer.next().await? {
                Some((Table::Vertices, batch)) => batch,
                Some(_) => continue,
                None => return Ok(()),
            },
        };
        // A chain may continue in the next batch.
        let end = chains.then(|| batch.slice(batch.num_rows().saturating_sub(1), 1));
        let before = std::mem::replace(&mut last, end);
        let (columns, lens) = (opened.columns.clone(), lens.clone());
        pool.run(move |pen| {
            let rows = columns.rows(&batch)?;
            let range = rows.range;
            match chains {
                true => {
                    let before = before.map(|before| columns.rows(&before)).transpose()?;
                    lens.chains(before.as_ref(), &rows, pen);
                }
                false => lens.points(&rows, pen),
            }
            Ok(range)
        })
        .await?;
    }
}

async fn edges<P: Pen>(
    opened: &mut OpenLayer,
    lens: &Lens,
    pool: &mut Pool<P>,
) -> Result<(), PlotError> {
    let held = Arc::new(std::mem::take(&mut opened.held));
    let range = held.range();
    let mut next = opened.links.take();
    let any = next.is_some();
    while let Some(batch) = next {
        let (held, lens) = (Arc::clone(&held), lens.clone());
        pool.run(move |pen| {
            let (links, _) = rows::links(&batch)?;
            held.edges(&lens, &links, pen);
            Ok(range)
        })
        .await?;
        next = next_links(opened).await?;
    }
    if opened.kind == Kind::Graph || !any {
        nodes(&held, lens, pool).await?;
    }
    Ok(())
}

/// Draws vertices as points.
async fn nodes<P: Pen>(
    held: &crate::draw::Shared,
    lens: &Lens,
    pool: &mut Pool<P>,
) -> Result<(), PlotError> {
    let range = held.range();
    let all = u32::try_from(held.len()).unwrap_or(u32::MAX);
    for start in (0..all).step_by(JOB) {
        let (held, lens) = (Arc::clone(held), lens.clone());
        let end = start.saturating_add(JOB as u32).min(all);
        pool.run(move |pen| {
            held.points(&lens, start..end, pen);
            Ok(range)
        })
        .await?;
    }
    Ok(())
}

async fn faces<P: Pen>(
    opened: &mut OpenLayer,
    lens: &Lens,
    pool: &mut Pool<P>,
) -> Result<(), PlotError> {
    let mut held = std::mem::take(&mut opened.held);
    let range = held.range();
    let mut next = opened.links.take();
    let any = next.is_some();
    while let Some(batch) = next.take_if(|_| held.faces() < SMOOTH) {
        let (links, corners) = rows::links(&batch)?;
        held.keep(&links, corners);
        next = next_links(opened).await?;
    }
    if next.is_some() {
        // Too many faces: faces are drawn flat from now on, and are not kept.
        held.flatten();
    }
    let held = Arc::new(held);
    for start in (0..held.faces()).step_by(JOB) {
        let (held, lens) = (Arc::clone(&held), lens.clone());
        pool.run(move |pen| {
            held.kept(&lens, start..(start + JOB).min(held.faces()), pen);
            Ok(range)
        })
        .await?;
    }
    while let Some(batch) = next {
        let (held, lens) = (Arc::clone(&held), lens.clone());
        pool.run(move |pen| {
            let (links, corners) = rows::links(&batch)?;
            held.triangles(&lens, &links, corners, pen);
            Ok(range)
        })
        .await?;
        next = next_links(opened).await?;
    }
    if !any {
        nodes(&held, lens, pool).await?;
    }
    Ok(())
}

async fn next_links(opened: &mut OpenLayer) -> Result<Option<RecordBatch>, PlotError> {
    while let Some((table, batch)) = opened.answer.next().await? {
        if table == Table::Links {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}
