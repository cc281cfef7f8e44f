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

use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use zvf_jobs::words;

use args::Cli;
use context::Context;
use error::{Class, CliError, ErrorReport, Result};

/// Runs the program with a command line that starts with the name of the program, and returns its exit code.
///
/// Prints to stdout and stderr, handles interrupts from then on, and may end the process on an interrupt: it expects its own process.
pub fn run(line: impl IntoIterator<Item = OsString>) -> u8 {
    let line: Vec<OsString> = line.into_iter().collect();
    let json = line.iter().any(|word| word == "--json");
    let cli = match Cli::of(line) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, json),
    };
    output::interrupt::answer();
    log(cli.common.log.as_ref());
    match carry_out(&cli) {
        Ok(()) => 0,
        Err(error) => failed(&error, cli.common.json),
    }
}

/// Starts logging events to stderr, as the flag or the variable `RUST_LOG` selects; without them nothing is logged.
fn log(flag: Option<&Targets>) {
    let variable = || std::env::var("RUST_LOG").ok()?.parse().ok();
    let Some(filter) = flag.cloned().or_else(variable) else {
        return;
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
    // Python may call the program several times in one process.
    let _ = subscriber.try_init();
}

/// Runs the command, and writes the trace even if it fails.
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
fn usage(error: &clap::Error, json: bool) -> u8 {
    if json && error.kind() == clap::error::ErrorKind::DisplayVersion {
        return match output::print_json(&args::Version::new()) {
            Ok(()) => 0,
            Err(error) => failed(&error, false),
        };
    }
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if error.use_stderr() {
        let text = error.render().to_string();
        let message = text.split("\n\n").next().unwrap_or_default();
        let message = words::one_line(message.strip_prefix("error: ").unwrap_or(message));
        report(Class::Usage, &message, json);
        return Class::Usage.code();
    }
    match printed {
        Ok(()) => 0,
        Err(source) => failed(&CliError::stdout(&source), json),
    }
}

/// Prints why the program failed, unless the reader of its output is gone.
fn failed(error: &CliError, json: bool) -> u8 {
    if error.class() != Class::Gone {
        complain(&error.to_string());
        report(error.class(), &error.to_string(), json);
    }
    error.class().code()
}

/// Prints a failure as a JSON document, unless stdout already has output, such as the report of a validator.
fn report(class: Class, message: &str, json: bool) {
    if json && class.code() != 0 && !output::is_printed() {
        // The exit code and stderr report the failure, too.
        let _ = output::print_json(&ErrorReport::new(class, message));
    }
}

/// Prints one line on stderr. With a closed stderr the exit code alone reports the error.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "zvf: {line}");
}

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
