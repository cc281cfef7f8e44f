//! `zvf plot`: pictures in the terminal and on stdout, and the report for people.

use zvf_jobs::{PictureFormat, PlotPicture, PlotReport};

use super::jobs::by_flag;
use crate::args::PlotArgs;
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::counted;
use crate::output::{print_bytes, print_json, print_text, terminal};

/// Draws a picture that goes to the terminal or to stdout.
///
/// # Errors
///
/// Usage, if two outputs go to stdout; the errors of the job.
pub(super) fn run(args: &PlotArgs, context: &mut Context<'_>) -> Result<()> {
    let failed = |error| by_flag("plot", error);
    let to_stdout = args.is_to_stdout();
    if to_stdout && (context.common.json || args.show.is_some()) {
        return Err(CliError::usage(
            "-o -: the picture and --json or --show both want stdout: give -o FILE",
        ));
    }
    let mut job = args.options().clone();
    if to_stdout {
        job.output = None;
    } else if job.output.is_none() {
        if job.format.take() == Some(PictureFormat::Svg) {
            return Err(CliError::usage(
                "--format svg: found no file, expected -o FILE: a terminal shows pixels",
            ));
        }
        // A picture of letters has no room for decorations.
        job.bare |= terminal::is_coarse(args.show);
    }
    let with = context.of_jobs();
    let (mut picture, mut report) = context.wait(job.draw(&with))?.map_err(failed)?;
    report.file = context.wait(job.write(&picture, &with))?.map_err(failed)?;
    if to_stdout {
        print_bytes(&picture.to_bytes()?)?;
    }
    if let Some(how) = args.show {
        if let PlotPicture::Svg(_) = picture {
            (job.output, job.format) = (None, None);
            let file = report.file.take();
            (picture, report) = context.wait(job.draw(&with))?.map_err(failed)?;
            report.file = file;
        }
        if let PlotPicture::Pixels(picture) = &picture {
            print_text(&terminal::shown(picture, how)?)?;
        }
    }
    context.warn(&report.warnings);
    if context.common.json {
        return print_json(&report);
    }
    show(&report, context);
    Ok(())
}

/// Shows a report: lines on stderr.
pub(super) fn show(report: &PlotReport, context: &Context<'_>) {
    for layer in &report.layers {
        let (store, level) = (&layer.store, layer.level);
        let vertices = counted(layer.vertices, "vertex");
        context.remark(&format!("drew {store}: {vertices} of level {level}"));
    }
    if let Some(file) = &report.file {
        context.remark(&format!("wrote {file}"));
    }
}
