//! The job `plot`: a picture of one or several stores.

mod values;

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use zvf_plot::{
    Camera, Drawing, Layer, Orientation, Picture, PlotOptions, Projection, plot, plot_svg,
};
use zvf_query::Select;

use crate::checks::{at_most_one, needs};
use crate::error::Result;
use crate::selection::opened;
use crate::{
    Context, JobError, Output, SelectName, SelectionOptions, Staged, check_outside, is_special,
};
pub use values::{
    ColorRange, ColorText, ColormapName, DrawnLevel, Ground, PictureFormat, PictureSize, UpText,
};

/// Legal numbers of `vertices`.
const VERTICES: RangeInclusive<u64> = 1..=1_000_000_000;

/// Legal degrees of `perspective`.
const ANGLES: RangeInclusive<f64> = 1.0..=150.0;

/// Legal units of a pixel.
const UNITS: RangeInclusive<f64> = 1e-30..=1e30;

/// Legal sizes in pixels of points and lines.
const PIXELS: RangeInclusive<f64> = 0.1..=1000.0;

/// Legal values of `fading`.
const SHARES: RangeInclusive<f64> = 0.0..=1.0;

options! {
    /// Draws one or several stores as a picture: PNG or SVG
    PlotJob {
        /// Paths or URLs of stores
        #[arg(required = true, value_name = "STORE")]
        stores: Vec<String>,
        /// The picture: a path or URL that ends in .png or .svg
        #[arg(short, long, value_name = "FILE")]
        #[schemars(extend("format" = "path"))]
        output: Option<PathBuf>,
        /// Format of the picture, if the name of the output does not state it [default: png]
        #[arg(long, value_enum, value_name = "F")]
        format: Option<PictureFormat>,
        /// Which rows are used
        #[command(flatten)]
        #[serde(flatten)]
        terms: SelectionOptions,
        /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects
        /// for lines, polylines and streamlines, else vertices]
        #[arg(long, value_enum)]
        select: Option<SelectName>,
        /// Resolution level, 0 is the finest; auto: chosen by --vertices
        #[arg(long, value_name = "auto|N", default_value = "auto")]
        level: DrawnLevel = DrawnLevel::default(),
        /// --level auto draws the finest level with at most N selected vertices, else the coarsest; on any level, more than N vertices with stored links are an error
        #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(VERTICES))]
        vertices: u64 = 10_000_000,
        /// Reads only the own content of an additive level, without the coarser levels that complete it
        #[arg(long)]
        own_level_only: bool,
        /// What the colours show
        #[arg(long, value_name = "BY")]
        color: Vec<ColorText>,
        /// Colours of numbers: viridis, magma, inferno, plasma, turbo, cividis, greys, blues, reds, rdbu, spectral or rainbow [default: viridis, for densities magma]
        #[arg(long, value_name = "MAP")]
        colormap: Option<ColormapName>,
        /// The numbers at the ends of the colours [default: the smallest and the largest one drawn]
        #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
        range: Option<ColorRange>,
        /// Axes to the right and up, iso, or azimuth and elevation
        #[arg(long, value_name = "xy|xz|yz|iso|AZ,EL", default_value = "xy", allow_hyphen_values = true)]
        view: String = "xy".to_owned(),
        /// The axis that points up in iso and AZ,EL: x, y or z, with a minus sign if it points down [default: z]
        #[arg(long, value_name = "AXIS", allow_hyphen_values = true)]
        up: Option<UpText>,
        /// Draws near things larger; DEGREES is the angle of view, 30 unless given
        #[arg(long, value_name = "DEGREES", num_args = 0..=1, require_equals = true, default_missing_value = "30", value_parser = |text: &str| number(text, &ANGLES))]
        perspective: Option<f64>,
        /// The position in the middle of the picture; needs --units-per-pixel
        #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', allow_hyphen_values = true, requires = "units_per_pixel")]
        center: Option<Vec<f64>>,
        /// Width of a pixel at --center, in units of the first store
        #[arg(long, value_name = "U", requires = "center", value_parser = |text: &str| number(text, &UNITS))]
        units_per_pixel: Option<f64>,
        /// Width and height in pixels
        #[arg(long, value_name = "W,H", default_value = "1200,900")]
        size: PictureSize = PictureSize::default(),
        /// The background: a colour, or transparent
        #[arg(long, value_name = "COLOR", default_value = "black")]
        background: Ground = Ground::default(),
        /// Diameter of points in pixels [default: from 1 to 5, by their number]
        #[arg(long, value_name = "PX", value_parser = |text: &str| number(text, &PIXELS))]
        point_size: Option<f64>,
        /// Width of lines in pixels [default: 1; for skeletons the attribute radius, in units of the store]
        #[arg(long, value_name = "PX", value_parser = |text: &str| number(text, &PIXELS))]
        line_width: Option<f64>,
        /// The vertex attribute that is the radius of lines, in units of the store
        #[arg(long, value_name = "NAME", conflicts_with = "line_width")]
        radius: Option<String>,
        /// How much the farthest things fade into the background, from 0 to 1
        #[arg(long, value_name = "F", default_value_t = 0.35, value_parser = |text: &str| number(text, &SHARES))]
        fading: f64 = 0.35,
        /// The data alone, without axes, scale bar, colour bars and names
        #[arg(long)]
        bare: bool,
    }
}

fn expected<T: Display>(legal: &RangeInclusive<T>) -> String {
    format!("a number from {} to {}", legal.start(), legal.end())
}

/// Reads a number of a command line.
#[cfg(feature = "clap")]
fn number(text: &str, legal: &RangeInclusive<f64>) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(found) if legal.contains(&found) => Ok(found),
        _ => Err(format!("found {text:?}, expected {}", expected(legal))),
    }
}

/// A picture as pixels, or as the text of an SVG file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PlotPicture {
    /// Pixels.
    Pixels(Picture),
    /// The text of an SVG file.
    Svg(String),
}

impl PlotPicture {
    /// The bytes of a file: PNG or SVG.
    ///
    /// # Errors
    ///
    /// The errors of the PNG encoder.
    pub fn to_bytes(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Svg(text) => Ok(text.as_bytes().into()),
            Self::Pixels(picture) => {
                let png = picture.to_png().map_err(JobError::plot(""));
                png.map(Cow::Owned)
            }
        }
    }
}

impl PlotJob {
    pub(crate) fn check(&self) -> Result<()> {
        if self.stores.is_empty() {
            let expected = "one store at least";
            return Err(JobError::option("stores", "an empty list", expected));
        }
        self.terms.check()?;
        SelectName::check(self.select, self.terms.place.relation())?;
        let terms = &self.terms;
        let of_one = terms.objects.is_some() || terms.groups.is_some() || terms.r#where.is_some();
        if of_one && self.stores.len() > 1 {
            return Err(JobError::Option {
                path: "stores".to_owned(),
                what: "`objects`, `groups` and `where` are for one store; found several, expected `bbox` or a region alone".to_owned(),
            });
        }
        let (colors, stores) = (self.color.len(), self.stores.len());
        if colors > 1 && colors != stores {
            let found = format!("{colors} for {stores} stores");
            return Err(JobError::option("color", found, "one, or one for each"));
        }
        if !VERTICES.contains(&self.vertices) {
            let expected = expected(&VERTICES);
            return Err(JobError::option("vertices", self.vertices, &expected));
        }
        for (member, number, legal) in [
            ("perspective", self.perspective, ANGLES),
            ("units_per_pixel", self.units_per_pixel, UNITS),
            ("point_size", self.point_size, PIXELS),
            ("line_width", self.line_width, PIXELS),
            ("fading", Some(self.fading), SHARES),
        ] {
            if let Some(found) = number.filter(|number| !legal.contains(number)) {
                return Err(JobError::option(member, found, &expected(&legal)));
            }
        }
        let line_width = ("line_width", self.line_width.is_some());
        at_most_one(&[("radius", self.radius.is_some()), line_width])?;
        let center = ("center", self.center.is_some());
        let units = ("units_per_pixel", self.units_per_pixel.is_some());
        needs(center, &[units])?;
        needs(units, &[center])?;
        self.options()?;
        self.format().map(|_| ())
    }

    /// The format of the picture.
    fn format(&self) -> Result<PictureFormat> {
        let Some(given) = &self.output else {
            return Ok(self.format.unwrap_or(PictureFormat::Png));
        };
        if given == Path::new("-") {
            let expected = "a path or URL that ends in .png or .svg";
            return Err(JobError::option("output", "-", expected));
        }
        let ending = given.extension().and_then(|ending| ending.to_str());
        let named = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("png") => Some(PictureFormat::Png),
            Some("svg") => Some(PictureFormat::Svg),
            _ => None,
        };
        match (named, self.format) {
            (Some(named), Some(asked)) if named != asked => Err(JobError::usage(format!(
                "{}: found another ending than that of --format",
                given.display()
            ))),
            (named, asked) => named.or(asked).ok_or_else(|| {
                JobError::usage(format!(
                    "{}: found {}, expected a name that ends in .png or .svg, or --format",
                    given.display(),
                    ending.map_or("no ending".to_owned(), |ending| format!(".{ending}"))
                ))
            }),
        }
    }

    /// Settings of the picture.
    fn options(&self) -> Result<PlotOptions> {
        let up = self.up.as_ref().map(|up| *up.value());
        let view = Orientation::parse(&self.view, up.unwrap_or_default());
        let mut options = PlotOptions {
            size: *self.size.value(),
            view: view.map_err(JobError::plot(""))?,
            background: *self.background.value(),
            decorated: !self.bare,
            fading: self.fading as f32,
            vertices: self.vertices,
            ..PlotOptions::default()
        };
        if let Some(angle) = self.perspective {
            options.projection = Projection::Perspective(angle);
        }
        if let (Some(center), Some(units)) = (&self.center, self.units_per_pixel) {
            let wrong = |expected: &str| JobError::Option {
                path: "center".to_owned(),
                what: format!("expected three {expected}"),
            };
            let position = <[f64; 3]>::try_from(center.as_slice());
            let position = position.map_err(|_| wrong("numbers"))?;
            if !position.iter().all(|one| one.is_finite()) {
                return Err(wrong("finite numbers"));
            }
            options.look_at = Some((position, units));
        }
        Ok(options)
    }

    /// The stores, with the selection and the style of each.
    async fn layers(&self, context: &Context) -> Result<Vec<Layer>> {
        let mut layers = Vec::new();
        for (number, url) in self.stores.iter().enumerate() {
            // Masks must be placed in the coordinates of each store.
            let mut spec = self.terms.read(url, context).await?;
            spec.own_level_only = self.own_level_only;
            let (store, query) = opened(&spec, url, context).await?;
            let mut layer = Layer::new(store, name_of(url));
            layer.query = query;
            layer.select = self.select.map(Select::from);
            layer.level = *self.level.value();
            if let Some(color) = self.color.get(number).or(self.color.first()) {
                layer.color = color.value().clone();
            }
            layer.colormap = self.colormap.as_ref().map(|map| *map.value());
            layer.range = self.range.as_ref().map(|range| (*range.value()).into());
            layer.point_size = self.point_size.map(|pixels| pixels as f32);
            layer.line_width = self.line_width.map(|pixels| pixels as f32);
            layer.radius.clone_from(&self.radius);
            layers.push(layer);
        }
        Ok(layers)
    }

    /// The output, checked against every store; `None` if the job has none.
    fn target(&self, context: &Context) -> Result<Option<Output>> {
        let Some(given) = &self.output else {
            return Ok(None);
        };
        let mut output = None;
        for store in &self.stores {
            output = Some(Output::of(given, store, &context.write.open.io)?);
        }
        if let Some(output) = &output {
            check_outside(output.path())?;
        }
        Ok(output)
    }

    /// Draws the picture and returns it with the report, without writing a file. Without an output, the picture is PNG unless `format` states SVG. The
    /// output is checked before anything is read.
    ///
    /// # Cost
    ///
    /// The cost of [`zvf_plot::plot`].
    ///
    /// # Errors
    ///
    /// Misuse: wrong options, before anything is read; colours by data that a store does not have. Otherwise the errors of [`zvf_plot::plot`].
    pub fn draw<'a>(
        &'a self,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<(PlotPicture, PlotReport)>> {
        async move {
            self.check()?;
            self.target(context)?;
            let layers = self.layers(context).await?;
            let options = self.options()?;
            // With several stores, the error does not name the one that failed.
            let place = match self.stores.as_slice() {
                [store] => store.as_str(),
                _ => "",
            };
            let (picture, mut report) = match self.format()? {
                PictureFormat::Png => {
                    let drawn = plot(&layers, &options).await;
                    let drawn = drawn.map_err(JobError::plot(place))?;
                    let report = self.report(&drawn);
                    (PlotPicture::Pixels(drawn.picture), report)
                }
                PictureFormat::Svg => {
                    let drawn = plot_svg(&layers, &options).await;
                    let drawn = drawn.map_err(JobError::plot(place))?;
                    let report = self.report(&drawn);
                    (PlotPicture::Svg(drawn.picture), report)
                }
            };
            for warning in layers.iter().flat_map(|layer| layer.store.warnings()) {
                if !report.warnings.contains(&warning) {
                    report.warnings.push(warning);
                }
            }
            Ok((picture, report))
        }
        .boxed()
    }

    /// Writes a picture to the output and returns its path or URL; `None` if there is no output.
    ///
    /// # Errors
    ///
    /// Misuse: an output in the folder of a store. I/O.
    pub fn write<'a>(
        &'a self,
        picture: &'a PlotPicture,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        async move {
            let Some(output) = self.target(context)? else {
                return Ok(None);
            };
            let bytes = picture.to_bytes()?;
            let path = output.path().to_owned();
            let failed = || JobError::file("write", &path);
            if is_special(&path) {
                let file = File::options().write(true).open(&path);
                file.and_then(|mut file| file.write_all(&bytes))
                    .map_err(failed())?;
                return Ok(Some(path.display().to_string()));
            }
            let staged = Staged::file(&path)?;
            std::fs::write(staged.path(), bytes).map_err(failed())?;
            let made = output.send(vec![staged.commit()?], context).await?;
            Ok(made.first().map(|file| file.display().to_string()))
        }
        .boxed()
    }

    pub(crate) fn run<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<PlotReport>> {
        async move {
            if self.output.is_none() {
                return Err(JobError::option("output", "nothing", "a path or URL"));
            }
            let (picture, mut report) = self.draw(context).await?;
            report.file = self.write(&picture, context).await?;
            Ok(report)
        }
        .boxed()
    }

    fn report<P>(&self, drawn: &Drawing<P>) -> PlotReport {
        let layers = self.stores.iter().zip(&drawn.layers);
        PlotReport {
            file: None,
            size: *self.size.value(),
            camera: PlotCamera::of(&drawn.camera),
            layers: layers
                .map(|(store, layer)| PlotLayer {
                    store: store.clone(),
                    level: layer.level,
                    vertices: layer.vertices,
                    range: layer.range.map(Into::into),
                })
                .collect(),
            warnings: drawn.warnings.clone(),
        }
    }
}

/// The last part of an address, without its ending.
fn name_of(url: &str) -> String {
    let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
    let short = name.rsplit_once('.').filter(|(name, _)| !name.is_empty());
    short.map_or(name, |(name, _)| name).to_owned()
}

/// The report of `plot`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlotReport {
    /// The picture; `None` if no file was written.
    pub file: Option<String>,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// The camera, with which other pictures can be drawn from the same view.
    pub camera: PlotCamera,
    /// One for each store.
    pub layers: Vec<PlotLayer>,
    /// Defects of the stores that did not prevent the picture, and content that could not be drawn.
    pub warnings: Vec<String>,
}

/// The projection from positions to pixels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlotCamera {
    /// The direction that points right, of length 1.
    pub right: [f64; 3],
    /// The direction that points up, of length 1.
    pub up: [f64; 3],
    /// A position, in units of the first store.
    pub target: [f64; 3],
    /// The place of the target in the picture, in pixels from the upper left corner.
    pub target_pixel: [f64; 2],
    /// Width of a pixel at the target, in units of the first store.
    pub units_per_pixel: f64,
    /// Distance of the viewer from the target, in units of the first store; `None` without perspective.
    pub distance: Option<f64>,
}

impl PlotCamera {
    fn of(camera: &Camera) -> Self {
        Self {
            right: camera.view().right(),
            up: camera.view().up(),
            target: camera.target(),
            target_pixel: camera.center(),
            units_per_pixel: camera.units_per_pixel(),
            distance: camera.distance(),
        }
    }
}

/// The share of one store in a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlotLayer {
    /// Path or URL of the store.
    pub store: String,
    /// Number of the level that was drawn.
    pub level: u32,
    /// Number of vertices that were read.
    pub vertices: u64,
    /// The numbers at the ends of the colour map, if colours show numbers.
    pub range: Option<[f64; 2]>,
}
