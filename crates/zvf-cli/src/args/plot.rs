//! `zvf plot`

use std::path::Path;

use clap::{Arg, Args, ValueEnum};
use zvf_jobs::{Job, PlotJob};

use super::JobArgs;

/// `zvf plot`
#[derive(Debug, Args)]
#[command(
    mut_arg("output", of_terminals),
    after_help = "\
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
  zvf plot s3://bucket/tracts.zarrvectors --show"
)]
pub(crate) struct PlotArgs {
    /// The options.
    #[command(flatten)]
    of_job: JobArgs<PlotJob>,
    /// Shows the picture in the terminal
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with = "print_job"
    )]
    pub(crate) show: Option<ShowArg>,
}

/// The flag of the output in a program that can show a picture, too.
fn of_terminals(output: Arg) -> Arg {
    let help = "The picture: a path or URL that ends in .png or .svg, or - for stdout";
    output.help(help).required_unless_present("show")
}

impl PlotArgs {
    /// The options.
    pub(crate) fn options(&self) -> &PlotJob {
        &self.of_job.job
    }

    /// The job, and whether it is printed only.
    pub(crate) fn job(&self) -> (Job, bool) {
        self.of_job.job()
    }

    /// Whether the bytes of the picture go to stdout.
    pub(crate) fn is_to_stdout(&self) -> bool {
        let output = self.of_job.job.output.as_deref();
        !self.of_job.print_job && output == Some(Path::new("-"))
    }
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
