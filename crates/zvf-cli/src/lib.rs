//! The program `zvf`: inspects, queries, converts and edits Zarr Vectors stores.
//!
//! Knowledge about stores is in `zvf-store`, `zvf-query` and the other libraries; this crate has the command line, the output formats
//! and the explanations for people. Results are written to stdout or `-o`, everything else to stderr; the exit code states the class
//! of a failure. The program is also a library with one function, [`run`], so that the Python package can include it.

mod args;
mod commands;
mod context;
mod error;
mod inspect;
mod output;
mod progress;

use std::ffi::OsString;
use std::io::Write;

use args::Cli;
use context::Context;
pub use error::fold;
use error::{Class, CliError, Result};

/// Runs the program with a command line that starts with the name of the program, and returns its exit code.
///
/// Prints to stdout and stderr, answers interrupts from then on, and may end the process when one comes: it expects a process of
/// its own.
pub fn run(line: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::of(line.into_iter().collect()) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    output::interrupt::answer();
    match carry_out(&cli) {
        Ok(()) => 0,
        Err(error) => failed(&error),
    }
}

/// Runs the command; the trace is written whether it succeeds or not.
fn carry_out(cli: &Cli) -> Result<()> {
    let mut context = Context::new(&cli.common)?;
    let outcome = commands::run(&cli.command, &mut context)
        .map_err(|error| error.of_budget(cli.common.memory_budget));
    if outcome.is_ok() {
        context.leave_threads();
    }
    let closed = context.close();
    outcome.and(closed)
}

/// Prints the messages of clap: help and version on stdout, errors with the usage line and suggestions on stderr.
fn usage(error: &clap::Error) -> u8 {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if error.use_stderr() {
        return Class::Usage.code();
    }
    match printed {
        Ok(()) => 0,
        Err(source) => failed(&CliError::stdout(&source)),
    }
}

/// Says why the program failed, unless the reader of its output is gone.
fn failed(error: &CliError) -> u8 {
    if error.class() != Class::Gone {
        complain(&error.to_string());
    }
    error.class().code()
}

/// Prints one line on stderr. With a closed stderr the exit code alone reports the error.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "zvf: {line}");
}

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
