//! Arguments of a command that clap builds only when the command is used.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments `T` of a command, on the heap.
///
/// clap takes some milliseconds to build the arguments of all commands, as long as a small query takes. With this type it builds only those
/// of the command on the command line. [`Command::build`] builds them for all commands.
#[derive(Debug)]
pub(crate) struct OnDemand<T>(Box<T>);

impl<T> Deref for OnDemand<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> std::ops::DerefMut for OnDemand<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for OnDemand<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Box::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for OnDemand<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(described::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Adds the arguments of `T` to a command. The command keeps its description; if it has no text after the options, it gets the text of `T`.
fn described<T: Args>(command: Command) -> Command {
    let about = command.get_about().cloned();
    let long = command.get_long_about().cloned();
    let after = command.get_after_help().cloned();
    let command = T::augment_args(command)
        .about(Resettable::from(about))
        .long_about(Resettable::from(long));
    match after {
        Some(after) => command.after_help(after),
        None => command,
    }
}
