//! `zvf man`.

use std::path::PathBuf;

use clap::Args;

/// `zvf man`
#[derive(Debug, Args)]
#[command(after_help = help!("man"))]
pub(crate) struct ManArgs {
    /// Folder of the pages; created if it does not exist
    pub(crate) dir: PathBuf,
}
