//! `zvf completions`.

use clap::Args;
use clap_complete::Shell;

/// `zvf completions`
#[derive(Debug, Args)]
#[command(after_help = help!("completions"))]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
