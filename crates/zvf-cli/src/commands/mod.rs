//! One file for each command.

mod completions;
mod diff;
mod doctor;
mod edit;
mod explain;
mod export;
#[cfg(feature = "volumes")]
mod group;
mod head;
mod import;
mod import_parts;
mod info;
mod inspect;
mod interruption;
mod jobs;
mod links;
mod listing;
mod man;
mod measure;
mod merge;
mod migrate;
mod objects;
#[cfg(feature = "plot")]
mod plot;
mod pyramid;
mod query;
mod repair;
mod resample;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod split;
mod splits;
mod stats;
mod validate;
#[cfg(feature = "volumes")]
mod volume;

use crate::args::Command;
use crate::context::Context;
use crate::error::Result;

/// Runs a command.
///
/// # Errors
///
/// The errors of the command; usage, for an output file inside a store; interrupted.
pub(crate) fn run(command: &Command, context: &mut Context<'_>) -> Result<()> {
    // Checked before the manual pages are written; jobs check their output paths themselves.
    if let Command::Man(args) = command {
        zvf_jobs::check_outside(&args.dir)?;
    }
    interruption::guarded(None, || dispatch(command, context))
}

fn dispatch(command: &Command, context: &mut Context<'_>) -> Result<()> {
    match command {
        Command::Run(args) => run::run(args, context),
        Command::Schema(args) => run::schema(args),
        Command::Query(args) if args.explain => query::explained(args, context),
        Command::Query(args) if query::is_printed(&args.job()) => {
            query::print("query", args.job().0, context)
        }
        Command::Get(args) if query::is_printed(&args.job()) => {
            query::print("get", args.job().0, context)
        }
        Command::Inspect(args) => inspect::run(args, context),
        #[cfg(feature = "plot")]
        Command::Plot(args) if args.show.is_some() || args.is_to_stdout() => {
            plot::run(args, context)
        }
        Command::Validate(args) => validate::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args, context),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        _ => run::command(command, context),
    }
}
