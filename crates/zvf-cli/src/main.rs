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

use clap::Parser;
use clap::error::ErrorKind;

use args::Cli;
use context::Context;
use error::{Class, CliError, Result};

/// Cells are made on one thread and dropped on another, which the system's allocator does slowly.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if error.class() != Class::Gone {
                complain(&error.to_string());
            }
            error.exit_code()
        }
    }
}

/// Runs the command; the trace is written whether it succeeds or not.
fn run(cli: &Cli) -> Result<()> {
    let mut context = Context::new(&cli.common)?;
    let outcome = commands::run(&cli.command, &mut context);
    let closed = context.close();
    outcome.and(closed)
}

/// Answers a command line that is no command: help and version on stdout, mistakes as one line on stderr.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(Class::Usage.code());
    }
    let text = error.to_string();
    let paragraph: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let line = paragraph.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let error = CliError::usage(format!("{line}; see `zvf --help`"));
    complain(&error.to_string());
    error.exit_code()
}

/// Says one line on stderr; nobody can be told that stderr is closed.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "zvf: {line}");
}
