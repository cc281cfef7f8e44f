//! The `zvf` program; see the library of this crate.

use std::process::ExitCode;

/// Cells are made on one thread and dropped on another, which the system's allocator does slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(zvf_cli::run(std::env::args_os()))
}
