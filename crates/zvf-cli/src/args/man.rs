//! `zvf man`.

use std::path::PathBuf;

use clap::Args;

/// `zvf man`
#[derive(Debug, Args)]
#[command(after_help = help!("man"))]
pub(crate) struct ManArgs {
    /// Folder of the pages, which is made if it is not there
    pub(crate) dir: PathBuf,
}
