//! The `zvf` program: looks at, queries and takes apart Zarr Vectors stores.
//!
//! Everything it knows about stores comes from `zvf-store` and `zvf-query`; here are the command line, the output formats and
//! the explanations for people. Results go to stdout or `-o`, everything else to stderr, and the exit code says which class
//! of failure it was.

mod args;
mod commands;
mod context;
mod error;
mod inspect;
mod output;
mod progress;

use std::io::Write;
use std::process::ExitCode;

use args::Cli;
use context::Context;
use error::{Class, CliError, Result};

/// Cells are made on one thread and dropped on another, which the system's allocator does slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    output::interrupt::answer();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Runs the command; the trace is written whether it succeeds or not.
fn run(cli: &Cli) -> Result<()> {
    let mut context = Context::new(&cli.common)?;
    let outcome = commands::run(&cli.command, &mut context);
    let closed = context.close();
    outcome.and(closed)
}

/// Prints what clap has to say: help and version on stdout, mistakes with usage line and suggestions on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if error.use_stderr() {
        return ExitCode::from(Class::Usage.code());
    }
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(source) => failed(&CliError::stdout(&source)),
    }
}

/// Says why the program failed, unless the reader of its output is gone.
fn failed(error: &CliError) -> ExitCode {
    if error.class() != Class::Gone {
        complain(&error.to_string());
    }
    error.exit_code()
}

/// Says one line on stderr; nobody can be told that stderr is closed.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "zvf: {line}");
}
