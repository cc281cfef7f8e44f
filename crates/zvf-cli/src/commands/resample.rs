//! `zvf resample` and `zvf simplify`: other points, or fewer ones, along the same lines.

use zvf_convert::{NewPoints, ResampleOptions, resample};
use zvf_store::Need;

use crate::args::{ResampleArgs, SimplifyArgs};
use crate::context::Context;
use crate::error::{CliError, Result};
use crate::output::table::{count, counted};
use crate::output::{print_json, print_text};

/// Runs `zvf resample`.
///
/// # Errors
///
/// Usage: a store without lines, a spacing that is none; as the store and the writer say.
pub(crate) fn run(args: &ResampleArgs, context: &mut Context<'_>) -> Result<()> {
    let points = match (args.points, args.step) {
        (Some(points), None) => NewPoints::Count(points),
        (None, Some(step)) => NewPoints::Step(step),
        _ => return Err(CliError::usage("expected --points N or --step S")),
    };
    copy(
        &args.source,
        &args.target,
        points,
        args.clear_leftovers,
        context,
    )
}

/// Runs `zvf simplify`.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn simplify(args: &SimplifyArgs, context: &mut Context<'_>) -> Result<()> {
    let points = NewPoints::Tolerance(args.tolerance);
    copy(
        &args.source,
        &args.target,
        points,
        args.clear_leftovers,
        context,
    )
}

fn copy(
    source: &str,
    target: &str,
    points: NewPoints,
    clear_leftovers: bool,
    context: &mut Context<'_>,
) -> Result<()> {
    let store = context.open(source, 0, Need::all())?;
    let progress = context.steps();
    let mut options = ResampleOptions::new(points);
    options.write = context.write_options(clear_leftovers);
    options.write = options.write.with_progress(move |done| progress.step(done));
    options.query_budget = context.common.memory_budget;
    let done = context.wait(resample(&store, target, options))??;
    context.warn(&done.notes);
    if context.common.json {
        return print_json(&done.document(source, target, points));
    }
    let mut parts = vec![
        format!(
            "{} of {}",
            counted(done.vertices, "vertex"),
            count(done.vertices_before)
        ),
        counted(done.objects, "object"),
    ];
    if done.groups > 0 {
        parts.push(counted(done.groups, "group"));
    }
    if done.length_before > 0.0 {
        let share = 100.0 * done.length / done.length_before;
        parts.push(format!("{share:.2} % of the length"));
    }
    if done.kept > 0 {
        parts.push(format!(
            "{} of one vertex as before",
            counted(done.kept, "object")
        ));
    }
    print_text(&format!("{target}: {}\n", parts.join(", ")))
}
