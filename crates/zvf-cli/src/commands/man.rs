//! `zvf man`: manual pages.

use clap::CommandFactory;

use crate::args::{Cli, ManArgs};
use crate::error::{CliError, Result};

/// Writes a page for the program and one for each command.
///
/// # Errors
///
/// I/O.
pub(crate) fn run(args: &ManArgs) -> Result<()> {
    let folder = &args.dir;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|source| CliError::file("write", folder, &source))
}
