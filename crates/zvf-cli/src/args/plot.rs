//! `zvf plot`

use std::path::Path;

use clap::{Arg, Args, ValueEnum};
use zvf_jobs::{Job, PlotJob};

use super::JobArgs;

/// `zvf plot`
#[derive(Debug, Args)]
#[command(
    mut_arg("output", of_terminals),
    after_help = help!("plot")
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

/// Replaces the help of `--output`, which is not required if the picture is shown in the terminal.
fn of_terminals(output: Arg) -> Arg {
    let help = "The picture: a path or URL that ends in .png or .svg, or - for stdout";
    output.help(help).required_unless_present("show")
}

impl PlotArgs {
    /// The options.
    pub(crate) fn options(&self) -> &PlotJob {
        &self.of_job.job
    }

    /// The job, and whether it is only printed.
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
