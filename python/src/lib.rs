//! The extension module of the Python package `zvf`.
//!
//! It converts arguments, calls the libraries, waits for them with the interpreter detached, and converts errors to exceptions.
//! Code that needs NumPy, pandas or Polars is written in Python (`python/zvf`), which imports them when they are needed.

mod arrays;
mod border;
mod dataset;
mod errors;
mod flat;
mod jobs;
mod masks;
mod parts;
mod run;
mod selected;
mod splits;
mod statistics;
mod store;
mod table;
mod trace;
mod writer;

use pyo3::prelude::*;
use zvf_sys::allocator;

#[global_allocator]
static ALLOCATOR: allocator::MiMalloc = allocator::MiMalloc;

/// The extension module.
#[pymodule]
mod _zvf {
    #[pymodule_export]
    use super::{
        arrays::table_of_columns,
        border::Bytes,
        dataset::Flat,
        errors::{BugError, BusyError, Error, IoError, LimitError, MalformedError, MisuseError},
        jobs::{run_jobs, schema},
        parts::Parts,
        run_program,
        store::{Answer, Store, open},
        table::{Stream, Table},
        writer::{Edit, Writer},
    };

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python defines this name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        // Before zvf starts threads that allocate.
        super::allocator::configure();
        super::errors::add_parts(module.py())
    }
}

/// Runs the program `zvf` with a command line, which begins with the name of the program, and returns the exit code.
#[pyfunction]
fn run_program(py: Python<'_>, line: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| zvf_cli::run(line))
}
