//! `zvf serve`: stores over HTTP.

use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use zvf_serve::{ServeError, ServeOptions, Server};
use zvf_store::{IoTrace, Stop};

use crate::args::ServeArgs;
use crate::context::Context;
use crate::error::{Class, CliError, Result};
use crate::output::{interrupt, print_json, print_text};

/// Runs `zvf serve`; an interrupt ends it without an error.
///
/// # Errors
///
/// Usage, for an address of a store without a backend; I/O, for an address that cannot be bound.
pub(crate) fn run(args: &ServeArgs, context: &mut Context<'_>) -> Result<()> {
    let mut options = ServeOptions::new();
    options.host = args.host;
    options.port = args.port;
    // Requests under way end with their data when the program is interrupted.
    options.open = context.options().with_stop(Stop::default());
    if context.common.trace_io.is_none() {
        // A server may run for weeks: requests are not counted in memory.
        options.open = options.open.with_trace(IoTrace::off());
    }
    if let Some(bytes) = context.common.memory_budget {
        options.memory_budget = bytes;
    }
    if args.log_requests {
        options.log = Some(Arc::new(|line: &str| crate::complain(line)));
    }
    let remark = context.remarks();
    options.warn = Some(Arc::new(move |warning: &str| {
        remark(&format!("warning: {warning}"));
    }));
    let bound = context.wait(Server::bind(&args.stores, options))?;
    let server = bound.map_err(failed)?;
    let url = server.url();
    if context.common.json {
        print_json(&json!({"url": url, "address": server.address().to_string()}))?;
    } else {
        print_text(&format!("listening on {url}\n"))?;
    }
    if args.open {
        open(&url, context);
    }
    interrupt::leave_first_to_command();
    let stop = interrupt::stop();
    context.wait(server.run(async move {
        // An interrupt returns an error here, which only ends the server.
        let _ = stop.or(std::future::pending::<()>()).await;
    }))
}

fn failed(error: ServeError) -> CliError {
    match error {
        ServeError::Store(error) => error.into(),
        error => CliError::new(Class::Io, error.to_string()),
    }
}

/// Opens an address in the desktop's browser; if there is no such program, users can open the printed address.
fn open(url: &str, context: &Context<'_>) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = started {
        context.remark(&format!("no browser was opened: {program}: {error}"));
    }
}
