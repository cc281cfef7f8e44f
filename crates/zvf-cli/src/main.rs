//! The `zvf` program; see the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    zvf_alloc::configure();
    ExitCode::from(zvf_cli::run(std::env::args_os()))
}
