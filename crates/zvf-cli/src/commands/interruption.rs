//! Messages about interrupted commands, with the command that completes, continues or reverts the work.

use zvf_jobs::words::argument;

use crate::error::{Class, CliError, Result};
use crate::output::interrupt::{self, Changing};

/// Runs `work`. If it changes a store, `changed` has the store and the command that cleans up after an interruption.
pub(crate) fn guarded<T>(
    changed: Option<(&str, String)>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
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

/// A store that a command makes, and the command that cleans up after an interruption.
pub(crate) fn made<'c>(store: &'c str, name: &str, journal: bool) -> Option<(&'c str, String)> {
    let remedy = match journal {
        true => "the same command continues it".to_owned(),
        false => format!("`zvf {name} … --clear-leftovers` removes its stale files"),
    };
    Some((store, remedy))
}

/// A store that a command changes, and the command that cleans up after an interruption.
pub(crate) fn edited(store: &str) -> Option<(&str, String)> {
    let address = argument(store);
    let remedy = format!("`zvf edit {address} resume` completes or undoes it");
    Some((store, remedy))
}

/// A store of a distributed write that a command changes, and how to continue after an interruption.
pub(crate) fn stepped(store: &str) -> (&str, String) {
    let remedy = "the same command repeats or completes it".to_owned();
    (store, remedy)
}
