//! `zvf man`.

use std::path::PathBuf;

use clap::Args;

/// `zvf man`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf man ~/.local/share/man/man1 && man zvf-query")]
pub(crate) struct ManArgs {
    /// Folder of the pages, which is made if it is not there
    pub(crate) dir: PathBuf,
}
