//! `zvf plot`: a picture of one or several stores.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zvf_jobs::{Output, Staged, is_special};
use zvf_plot::{Drawn, DrawnLayer, Layer, Picture, PlotOptions, Projection, View, plot, plot_svg};
use zvf_query::Select;

use super::select;
use crate::args::{PictureFormat, PlotArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::terminal;
use crate::output::{print_bytes, print_json, print_text};

/// Runs `zvf plot`.
///
/// # Errors
///
/// Usage: an ending other than .png or .svg, an output inside of a store, colours by data that a store does not have; the errors of
/// the stores, the selection and the output.
pub(crate) fn run(args: &PlotArgs, context: &mut Context<'_>) -> Result<()> {
    let target = Target::of(args, context)?;
    let layers = layers(args, context)?;
    let options = options(args)?;
    let svg = target
        .as_ref()
        .is_some_and(|target| target.format == PictureFormat::Svg);
    let mut report = Report::default();
    if svg {
        let drawn = draw(context, args, plot_svg(&layers, &options))?;
        let text = report.take(drawn);
        if let Some(target) = target {
            report.file = target.write(text.as_bytes(), context)?;
        }
    }
    if !svg || args.show.is_some() {
        let drawn = draw(context, args, plot(&layers, &options))?;
        let picture = report.take(drawn);
        if let Some(target) = Target::of(args, context)?.filter(|_| !svg) {
            let bytes = picture.to_png()?;
            report.file = target.write(&bytes, context)?;
        }
        show(args, &picture)?;
    }
    for layer in &layers {
        for warning in layer.store.warnings() {
            if !report.warnings.contains(&warning) {
                report.warnings.push(warning);
            }
        }
    }
    context.warn(&report.warnings);
    if context.common.json {
        return print_json(&report.document(args));
    }
    for (store, layer) in args.stores.iter().zip(&report.layers) {
        let vertices = counted(layer.vertices, "vertex");
        context.remark(&format!(
            "drew {store}: {vertices} of level {}",
            layer.level
        ));
    }
    if let Some(file) = &report.file {
        context.remark(&format!("wrote {}", file.display()));
    }
    Ok(())
}

/// Waits for a picture. An error names the store if there is only one.
fn draw<P>(
    context: &mut Context<'_>,
    args: &PlotArgs,
    drawing: impl Future<Output = std::result::Result<Drawn<P>, zvf_plot::PlotError>>,
) -> Result<Drawn<P>> {
    let drawn = context.wait(drawing)?;
    drawn.map_err(|error| match args.stores.as_slice() {
        [store] => CliError::from(error).at(store),
        _ => CliError::from(error),
    })
}

/// Shows a picture in the terminal.
fn show(args: &PlotArgs, picture: &Picture) -> Result<()> {
    match args.show {
        None => Ok(()),
        Some(how) => print_text(&terminal::shown(picture, how)?),
    }
}

/// The options of a picture from the flags.
fn options(args: &PlotArgs) -> Result<PlotOptions> {
    let mut options = PlotOptions {
        size: args.size,
        view: View::parse(&args.view, args.up.unwrap_or_default())?,
        background: args.background.0,
        // Decorations do not fit if the picture is made of letters.
        decorated: !args.bare && (args.output.is_some() || !terminal::is_coarse(args.show)),
        fading: args.fading,
        vertices: args.vertices,
        ..PlotOptions::default()
    };
    if let Some(angle) = args.perspective {
        options.projection = Projection::Perspective(angle);
    }
    if let (Some(center), Some(units)) = (&args.center, args.units_per_pixel) {
        let center: [f64; 3] = center
            .as_slice()
            .try_into()
            .map_err(|_| CliError::usage("--center: expected three numbers"))?;
        if center.iter().any(|one| !one.is_finite()) {
            return Err(CliError::usage("--center: expected three finite numbers"));
        }
        options.look_at = Some((center, units));
    }
    Ok(options)
}

/// The stores, with the selection of each.
fn layers(args: &PlotArgs, context: &mut Context<'_>) -> Result<Vec<Layer>> {
    let several = args.stores.len() > 1;
    let terms = &args.terms;
    if several && (terms.objects.is_some() || terms.groups.is_some() || terms.r#where.is_some()) {
        return Err(CliError::usage(
            "--objects, --groups and --where are for one store; found several, expected --bbox or a region alone",
        ));
    }
    if !matches!(args.color.len(), 0 | 1) && args.color.len() != args.stores.len() {
        return Err(CliError::usage(format!(
            "--color: found {} for {} stores, expected one, or one for each",
            args.color.len(),
            args.stores.len()
        )));
    }
    let mut layers = Vec::new();
    for (number, url) in args.stores.iter().enumerate() {
        // Masks must be placed in the coordinates of each store.
        let mut spec = select::terms(terms, url, context)?;
        select::related(args.select, &spec)?;
        spec.own_level_only = args.own_level_only;
        let query = select::resolved(spec, url, context)?;
        let store = context.open(url, 0, query.need())?;
        let mut layer = Layer::new(store, name_of(url));
        layer.query = query;
        layer.select = args.select.map(Select::from);
        layer.level = args.level;
        if let Some(color) = args.color.get(number).or(args.color.first()) {
            layer.color = color.clone();
        }
        layer.colormap = args.colormap;
        layer.range = args.range;
        layer.point_size = args.point_size;
        layer.line_width = args.line_width;
        layer.radius.clone_from(&args.radius);
        layers.push(layer);
    }
    Ok(layers)
}

/// The last part of an address, without the ending of stores.
fn name_of(url: &str) -> String {
    let name = url.trim_end_matches('/').rsplit('/').next().unwrap_or(url);
    let short = name.rsplit_once('.').filter(|(name, _)| !name.is_empty());
    short.map_or(name, |(name, _)| name).to_owned()
}

/// The destination of a picture.
struct Target {
    format: PictureFormat,
    /// `None`: stdout.
    output: Option<Output>,
}

impl Target {
    /// The output from the flags; `None` if the picture is only shown.
    fn of(args: &PlotArgs, context: &Context<'_>) -> Result<Option<Self>> {
        let Some(given) = &args.output else {
            return Ok(None);
        };
        if given == Path::new("-") {
            if context.common.json || args.show.is_some() {
                return Err(CliError::usage(
                    "-o -: the picture and --json or --show both want stdout: give -o FILE",
                ));
            }
            return Ok(Some(Self {
                format: args.format.unwrap_or(PictureFormat::Png),
                output: None,
            }));
        }
        let ending = given.extension().and_then(|ending| ending.to_str());
        let named = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("png") => Some(PictureFormat::Png),
            Some("svg") => Some(PictureFormat::Svg),
            _ => None,
        };
        let format = match (named, args.format) {
            (Some(named), Some(asked)) if named != asked => {
                return Err(CliError::usage(format!(
                    "{}: found another ending than that of --format",
                    given.display()
                )));
            }
            (named, asked) => named.or(asked).ok_or_else(|| {
                CliError::usage(format!(
                    "{}: found {}, expected a name that ends in .png or .svg, or --format",
                    given.display(),
                    ending.map_or("no ending".to_owned(), |ending| format!(".{ending}"))
                ))
            })?,
        };
        let mut output = None;
        for store in &args.stores {
            output = Some(Output::of(given, store, &context.options().io)?);
        }
        if let Some(output) = &output {
            zvf_jobs::check_outside(output.path())?;
        }
        Ok(Some(Self { format, output }))
    }

    /// Writes the picture and returns its name.
    fn write(self, bytes: &[u8], context: &mut Context<'_>) -> Result<Option<PathBuf>> {
        let Some(output) = self.output else {
            print_bytes(bytes)?;
            return Ok(None);
        };
        let path = output.path().to_owned();
        let failed = |error: std::io::Error| CliError::file("write", &path, &error);
        if is_special(&path) {
            let file = File::options().write(true).open(&path);
            file.and_then(|mut file| file.write_all(bytes))
                .map_err(failed)?;
            return Ok(Some(path));
        }
        let staged = Staged::file(&path)?;
        std::fs::write(staged.path(), bytes).map_err(failed)?;
        let made = staged.commit()?;
        let with = context.of_jobs();
        Ok(context.wait(output.send(vec![made], &with))??.pop())
    }
}

/// The report about the picture.
#[derive(Default)]
struct Report {
    file: Option<PathBuf>,
    camera: Value,
    layers: Vec<DrawnLayer>,
    warnings: Vec<String>,
}

impl Report {
    /// Records the counts of the drawing and returns the picture.
    fn take<P>(&mut self, drawn: Drawn<P>) -> P {
        let camera = &drawn.camera;
        self.camera = json!({
            "right": camera.view().right(),
            "up": camera.view().up(),
            "target": camera.target(),
            "target_pixel": camera.center(),
            "units_per_pixel": camera.units_per_pixel(),
            "distance": camera.distance(),
        });
        self.layers = drawn.layers;
        self.warnings = drawn.warnings;
        drawn.picture
    }

    /// For programs.
    fn document(&self, args: &PlotArgs) -> Value {
        let layers: Vec<Value> = args
            .stores
            .iter()
            .zip(&self.layers)
            .map(|(store, layer)| {
                json!({
                    "store": store,
                    "level": layer.level,
                    "vertices": layer.vertices,
                    "range": layer.range.map(|(low, high)| [low, high]),
                })
            })
            .collect();
        json!({
            "file": self.file.as_ref().map(|file| file.display().to_string()),
            "size": args.size,
            "camera": self.camera,
            "layers": layers,
            "warnings": self.warnings,
        })
    }
}
