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
#[cfg(feature = "volumes")]
use crate::args::volume::VolumeCommand;
use crate::context::Context;
use crate::error::Result;

use interruption::{guarded, stepped};

/// Runs a command.
///
/// # Errors
///
/// The errors of the command; usage, for an output file inside a store; interrupted.
pub(crate) fn run(command: &Command, context: &mut Context<'_>) -> Result<()> {
    check_outputs(command)?;
    guarded(changed(command), || dispatch(command, context))
}

/// Refuses output paths inside stores, for commands that do not check this when they create files.
fn check_outputs(command: &Command) -> Result<()> {
    match command {
        Command::Man(args) => Ok(zvf_jobs::check_outside(&args.dir)?),
        #[cfg(feature = "volumes")]
        Command::Volume(args) => match &args.command {
            VolumeCommand::Convert(args) => Ok(zvf_jobs::check_outside(&args.out)?),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// For commands that are not jobs: the store that the command changes, and the command that cleans up after an interruption.
fn changed(command: &Command) -> Option<(&str, String)> {
    match command {
        Command::Import(args) if args.discard_parts => Some(stepped(args.store())),
        #[cfg(feature = "volumes")]
        Command::Volume(args) => match &args.command {
            VolumeCommand::Convert(args) => Some((args.out.to_str()?, String::new())),
            _ => None,
        },
        _ => None,
    }
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
        Command::Import(args) if args.status => import_parts::status(args.store(), context),
        Command::Import(args) if args.discard_parts => import_parts::discard(args.store(), context),
        #[cfg(feature = "plot")]
        Command::Plot(args) if args.show.is_some() || args.is_to_stdout() => {
            plot::run(args, context)
        }
        Command::Validate(args) => validate::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        #[cfg(feature = "volumes")]
        Command::Volume(args) => volume::run(args, context),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args, context),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        _ => run::command(command, context),
    }
}
