//! One file a command.

mod completions;
pub(crate) mod edit;
mod import;
mod info;
mod inspect;
mod links;
mod listing;
mod objects;
mod query;
mod select;
mod summary;
pub(crate) mod vacuum;

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
        Command::Edit(args) => edit::run(args, context),
        Command::Vacuum(args) => vacuum::run(args, context),
        Command::Completions(args) => completions::run(args),
    }
}
