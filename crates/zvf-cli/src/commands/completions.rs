//! `zvf completions`: a completion script.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::error::Result;
use crate::output::print_text;

/// Prints the script.
///
/// # Errors
///
/// I/O.
pub(crate) fn run(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "zvf", &mut script);
    print_text(&String::from_utf8_lossy(&script))
}
