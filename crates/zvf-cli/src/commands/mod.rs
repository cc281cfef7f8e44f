//! One file a command.

mod completions;
mod create;
mod edit;
mod export;
mod import;
mod info;
mod inspect;
mod links;
mod listing;
mod migrate;
mod objects;
mod pyramid;
mod query;
mod rechunk;
mod repair;
mod sample;
mod select;
mod summary;
mod vacuum;
mod validate;
mod volume;

use crate::args::Command;
use crate::context::Context;
use crate::error::Result;

/// Runs a command.
///
/// # Errors
///
/// As the command says.
pub(crate) fn run(command: &Command, context: &mut Context<'_>) -> Result<()> {
    match command {
        Command::Info(args) => info::run(args, context),
        Command::Query(args) => query::query(args, context),
        Command::Get(args) => query::get(args, context),
        Command::Objects(args) => objects::run(args, context),
        Command::Links(args) => links::run(args, context),
        Command::Inspect(args) => inspect::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Create(args) => create::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Migrate(args) => migrate::run(args, context),
        Command::Rechunk(args) => rechunk::run(args, context),
        Command::Pyramid(args) => pyramid::run(args, context),
        Command::Append(args) => edit::append::run(args, context),
        Command::Edit(args) => edit::run(args, context),
        Command::Vacuum(args) => vacuum::run(args, context),
        Command::Validate(args) => validate::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        Command::Sample(args) => sample::run(args, context),
        Command::Volume(args) => volume::run(args, context),
        Command::Completions(args) => completions::run(args),
    }
}
