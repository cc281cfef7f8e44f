//! `zvf plot`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zvf_plot::{ColorBy, Colormap, LevelChoice, Rgb, UpAxis};

use zvf_jobs::{SelectName, SelectionOptions};

/// `zvf plot`
#[derive(Debug, Args)]
#[command(after_help = "\
Several stores are drawn into one picture, in the coordinates of the first; lengths are converted if the units of both are known. --color
is stated once for all stores, or once for each; --bbox and regions are for all of them.

--color is one of
  object     a colour for each object
  group      a colour for each group of objects, with their names
  direction  red, green and blue for the shares of x, y and z in the direction of a line, as in tractography, or of a face's normal
  density    how many points or lines lie in a pixel, on a logarithmic scale
  NAME       a vertex attribute, or else an object attribute, by --colormap, with a colour bar; NAME[1] is a channel; texts have a few
             colours; attribute:NAME where a name is one of these words
  COLOR      #rrggbb, or black, white, grey, red, orange, yellow, green, cyan, blue, purple, magenta or brown
without it: direction for lines, polylines and streamlines, density for more than 200,000 points, objects where there are several.

--view has two axes, right and up: xy, xz, yz, x-z (z points down); iso; or AZ,EL in degrees as in matplotlib. Axes are x, y and z by
their names, else the first three of space.

--level auto takes the finest level with at most --vertices selected vertices, else the coarsest. Stored links (graphs,
skeletons, meshes) need their vertices in memory, so that there more than --vertices are an error.

SVG files have lines as paths and points as circles, 50,000 at most.

Examples:
  zvf plot tracts.zarrvectors -o tracts.png
  zvf plot neuron.zarrvectors --view x-z --color radius --colormap magma -o neuron.png
  zvf plot neuron.zarrvectors mesh.zarrvectors --color orange --color grey --view iso --perspective -o both.png
  zvf plot cells.zarrvectors --color density --bbox 0,0,0:500,500,50 --size 2000,1500 -o cells.png
  zvf plot tracts.zarrvectors --near x=90,20 --inside -o inside.png
  zvf plot tracts.zarrvectors --objects 1-20 --background white -o bundle.svg
  zvf plot s3://bucket/tracts.zarrvectors --show")]
pub(crate) struct PlotArgs {
    /// Paths or URLs of stores
    #[arg(required = true, value_name = "STORE")]
    pub(crate) stores: Vec<String>,
    /// The picture: a path or URL that ends in .png or .svg, or - for stdout
    #[arg(short, long, value_name = "FILE", required_unless_present = "show")]
    pub(crate) output: Option<PathBuf>,
    /// Format of the picture where its name does not say it [default: png]
    #[arg(long, value_enum, value_name = "F")]
    pub(crate) format: Option<PictureFormat>,
    /// Shows the picture in the terminal
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "auto")]
    pub(crate) show: Option<ShowArg>,
    /// Which rows are used
    #[command(flatten)]
    pub(crate) terms: SelectionOptions,
    /// What is kept: rows inside, whole objects with a vertex inside, or whole chunks that meet the box [default: objects
    /// for lines, polylines and streamlines, else vertices]
    #[arg(long, value_enum)]
    pub(crate) select: Option<SelectName>,
    /// Resolution level, 0 is the finest; auto: by --vertices
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = level)]
    pub(crate) level: LevelChoice,
    /// The most vertices that --level auto draws of a store, and that stored links may have
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) vertices: u64,
    /// Only the own content of an additive level, not that of the coarser levels which complete it
    #[arg(long)]
    pub(crate) own_level_only: bool,
    /// The meaning of colours
    #[arg(long, value_name = "BY", value_parser = parsed::<ColorBy>)]
    pub(crate) color: Vec<ColorBy>,
    /// Colours of numbers: viridis, magma, inferno, plasma, turbo, cividis, greys, blues, reds, rdbu, spectral or rainbow [default:
    /// viridis, of densities magma]
    #[arg(long, value_name = "MAP", value_parser = parsed::<Colormap>)]
    pub(crate) colormap: Option<Colormap>,
    /// The numbers at the ends of the colours [default: the smallest and the largest one drawn]
    #[arg(long, value_name = "LO,HI", value_parser = range, allow_hyphen_values = true)]
    pub(crate) range: Option<(f64, f64)>,
    /// Axes to the right and up, iso, or azimuth and elevation
    #[arg(
        long,
        value_name = "xy|xz|yz|iso|AZ,EL",
        default_value = "xy",
        allow_hyphen_values = true
    )]
    pub(crate) view: String,
    /// The axis that points up in iso and AZ,EL: x, y or z, with a minus sign if it points down [default: z]
    #[arg(long, value_name = "AXIS", value_parser = parsed::<UpAxis>, allow_hyphen_values = true)]
    pub(crate) up: Option<UpAxis>,
    /// Near things are larger; the angle under which all is seen, 30 unless given
    #[arg(long, value_name = "DEGREES", num_args = 0..=1, require_equals = true, default_missing_value = "30", value_parser = angle)]
    pub(crate) perspective: Option<f64>,
    /// The position in the middle of the picture; needs --units-per-pixel
    #[arg(
        long,
        value_name = "X,Y,Z",
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "units_per_pixel"
    )]
    pub(crate) center: Option<Vec<f64>>,
    /// Width of a pixel at --center, in units of the first store
    #[arg(long, value_name = "U", requires = "center", value_parser = positive)]
    pub(crate) units_per_pixel: Option<f64>,
    /// Width and height in pixels
    #[arg(long, value_name = "W,H", default_value = "1200,900", value_parser = size)]
    pub(crate) size: [u32; 2],
    /// The ground: a colour, or transparent
    #[arg(long, value_name = "COLOR", default_value = "black", value_parser = ground)]
    pub(crate) background: Ground,
    /// Diameter of points in pixels [default: from 1 to 5, by their number]
    #[arg(long, value_name = "PX", value_parser = pixels)]
    pub(crate) point_size: Option<f32>,
    /// Width of lines in pixels [default: 1; of skeletons their attribute radius, in units]
    #[arg(long, value_name = "PX", value_parser = pixels)]
    pub(crate) line_width: Option<f32>,
    /// The vertex attribute that is the radius of lines, in units of the store
    #[arg(long, value_name = "NAME", conflicts_with = "line_width")]
    pub(crate) radius: Option<String>,
    /// How much of the farthest things is lost in the ground, from 0 to 1
    #[arg(long, value_name = "F", default_value_t = 0.35, value_parser = share)]
    pub(crate) fading: f32,
    /// The data alone, without axes, scale bar, colour bars and names
    #[arg(long)]
    pub(crate) bare: bool,
}

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureFormat {
    /// Pixels
    Png,
    /// Paths, circles and polygons
    Svg,
}

/// How a picture is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowArg {
    /// As the terminal reports
    Auto,
    /// Kitty's graphics protocol, of kitty, Ghostty and others
    Kitty,
    /// Inline images of iTerm2, WezTerm and others
    Iterm2,
    /// Sixels of at most 256 colours, of foot, Konsole, mintty, xterm -ti vt340 and others
    Sixel,
    /// Half blocks in colour
    Blocks,
    /// Letters
    Text,
}

/// The ground of a picture; `None` is transparent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ground(pub(crate) Option<Rgb>);

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn level(text: &str) -> Result<LevelChoice, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(LevelChoice::Auto),
        (_, Ok(number)) => Ok(LevelChoice::Number(number)),
        _ => Err(format!(
            "found {text:?}, expected auto or the number of a level"
        )),
    }
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let pair = text.split_once(',').and_then(|(low, high)| {
        let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low.is_finite() && high.is_finite() && low < high).then_some((low, high))
    });
    pair.ok_or_else(|| {
        format!("found {text:?}, expected two numbers such as 0,1, the smaller one first")
    })
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let pair = text.split_once([',', 'x']).and_then(|(width, height)| {
        Some([width.trim().parse().ok()?, height.trim().parse().ok()?])
    });
    pair.filter(|[width, height]| (1..=32_768).contains(width) && (1..=32_768).contains(height))
        .ok_or_else(|| {
            format!(
                "found {text:?}, expected width and height from 1 to 32768 pixels, such as 1200,900"
            )
        })
}

fn number(text: &str, low: f64, high: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(found) if (low..=high).contains(&found) => Ok(found),
        _ => Err(format!(
            "found {text:?}, expected a number from {low} to {high}"
        )),
    }
}

fn angle(text: &str) -> Result<f64, String> {
    number(text, 1.0, 150.0)
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, 1e-30, 1e30)
}

fn pixels(text: &str) -> Result<f32, String> {
    number(text, 0.1, 1000.0).map(|found| found as f32)
}

fn share(text: &str) -> Result<f32, String> {
    number(text, 0.0, 1.0).map(|found| found as f32)
}

fn ground(text: &str) -> Result<Ground, String> {
    match text {
        "transparent" | "none" => Ok(Ground(None)),
        color => parsed(color).map(|color| Ground(Some(color))),
    }
}
