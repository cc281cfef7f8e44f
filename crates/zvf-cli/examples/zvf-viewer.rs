//! The program with the viewer, under another name than `zvf`: `cargo xtask browser` builds it in addition to the program that the other
//! checks use.

use std::process::ExitCode;

use zvf_sys::allocator;

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

fn main() -> ExitCode {
    allocator::configure();
    ExitCode::from(zvf_cli::run(std::env::args_os()))
}
