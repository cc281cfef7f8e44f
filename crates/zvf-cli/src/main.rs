//! The `zvf` program; see the library of this crate.

use std::process::ExitCode;

use zvf_sys::allocator;

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

fn main() -> ExitCode {
    allocator::configure();
    ExitCode::from(zvf_cli::run(std::env::args_os()))
}
