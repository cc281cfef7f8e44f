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
mod precomputed;
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

use zvf_jobs::words::argument;

use crate::args::Command;
#[cfg(feature = "volumes")]
use crate::args::volume::VolumeCommand;
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::interrupt::{self, Changing};

/// Runs a command.
///
/// # Errors
///
/// The errors of the command; usage, for an output file inside a store; interrupted.
pub(crate) fn run(command: &Command, context: &mut Context<'_>) -> Result<()> {
    check_outputs(command)?;
    guarded(changed(command), || dispatch(command, context))
}

/// Does work that changes a store, if one is named, with the command that cleans up after an interruption.
fn guarded<T>(changed: Option<(&str, String)>, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let changing = changed.map(|(store, remedy)| Changing::begin(store, remedy));
    match work() {
        Err(error) if interrupt::stop().is_asked() && error.class() != Class::Interrupted => {
            let left = changing.as_ref().and_then(Changing::left);
            let message = match left {
                Some(left) => format!("interrupted: {left}"),
                None => "interrupted".to_owned(),
            };
            Err(CliError::new(Class::Interrupted, message))
        }
        done => done,
    }
}

/// Refuses output files inside stores, in addition to those that are refused when they are created.
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

/// A store that a command makes, and the command that cleans up after an interruption.
fn made<'c>(store: &'c str, name: &str, journal: bool) -> Option<(&'c str, String)> {
    let remedy = match journal {
        true => "the same command continues where it was".to_owned(),
        false => format!("`zvf {name} … --clear-leftovers` removes what it left"),
    };
    Some((store, remedy))
}

/// A store that a command changes, and the command that cleans up after an interruption.
fn edited(store: &str) -> Option<(&str, String)> {
    let address = argument(store);
    let remedy = format!("`zvf edit {address} resume` completes or undoes it");
    Some((store, remedy))
}

/// A store in parts that a command changes, and how to continue after an interruption.
fn stepped(store: &str) -> (&str, String) {
    let remedy = "the same command does it again, or finishes it".to_owned();
    (store, remedy)
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
        Command::Export(args) if args.format.is_some() => precomputed::run(args, context),
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
