//! `zvf completions`.

use clap::Args;
use clap_complete::Shell;

/// `zvf completions`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  zvf completions bash > ~/.local/share/bash-completion/completions/zvf
  zvf completions zsh > ~/.zfunc/_zvf
  zvf completions fish > ~/.config/fish/completions/zvf.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
