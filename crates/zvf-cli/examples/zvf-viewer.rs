//! The program with the viewer in it, under another name than `zvf`: `cargo xtask browser` builds it beside the program that the other
//! checks use.

use std::process::ExitCode;

fn main() -> ExitCode {
    zvf_alloc::configure();
    ExitCode::from(zvf_cli::run(std::env::args_os()))
}
