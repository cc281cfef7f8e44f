//! Data that all commands share: the runtime, options for opening stores, warnings, the I/O trace.

use std::fs::File;
use std::future::Future;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use zvf_jobs::JobEvent;
use zvf_store::blocking::Runtime;
use zvf_store::{IoTrace, OpenOptions, Request};
use zvf_write::{StaleFiles, WriteOptions};

use crate::args::{Common, ProgressArg};
use crate::error::{CliError, Result};
use crate::output::interrupt;
use crate::output::table::{count, size};
use crate::progress::Shown;

/// Data that all commands share.
pub(crate) struct Context<'a> {
    /// The common flags.
    pub(crate) common: &'a Common,
    runtime: Option<Runtime>,
    trace: IoTrace,
    trace_file: Option<(PathBuf, BufWriter<File>)>,
    warned: usize,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("common", &self.common)
            .finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    /// Prepares a command. The trace file is created here, so that an invalid path is reported before the command runs.
    ///
    /// # Errors
    ///
    /// Misuse, when the trace file would be inside a store; I/O, when it cannot be created.
    pub(crate) fn new(common: &'a Common) -> Result<Self> {
        let trace_file = match &common.trace_io {
            None => None,
            Some(path) => {
                zvf_jobs::check_outside(path)?;
                let file = File::create(path)
                    .map_err(|e| CliError::file("create the trace file", path, &e))?;
                Some((path.clone(), BufWriter::new(file)))
            }
        };
        let trace = match (trace_file.is_some(), common.verbose) {
            (true, _) => IoTrace::on(),
            (false, true) => IoTrace::off().counting(),
            (false, false) => IoTrace::off(),
        };
        Ok(Self {
            common,
            runtime: None,
            trace,
            trace_file,
            warned: 0,
        })
    }

    /// Options that write a store, from the flags; `clear` removes the files that an interrupted writer left.
    pub(crate) fn write_options(&self, clear: bool) -> WriteOptions {
        let stale_files = if clear {
            StaleFiles::Remove
        } else {
            StaleFiles::Refuse
        };
        let write = self.common.access().write(self.options());
        write.with_stale_files(stale_files)
    }

    /// Options that open a store, from the flags.
    pub(crate) fn options(&self) -> OpenOptions {
        let options = self.common.access().open();
        options
            .with_trace(self.trace.clone())
            .with_stop(interrupt::stop())
    }

    /// The context for functions of `zvf-jobs` that are a step of a command.
    pub(crate) fn of_jobs(&self) -> zvf_jobs::Context {
        let say = self.remarks();
        zvf_jobs::Context::new()
            .with_write(self.write_options(false))
            .with_memory_budget(self.common.memory_budget)
            .with_events(Arc::new(move |event| {
                if let JobEvent::Note(note) = event {
                    say(note);
                }
            }))
    }

    /// Waits for a future on the runtime, which is started at the first call.
    ///
    /// # Errors
    ///
    /// I/O, when the runtime cannot be started.
    pub(crate) fn wait<F: Future>(&mut self, future: F) -> Result<F::Output> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => Runtime::new()?,
        };
        let output = runtime.wait(future);
        self.runtime = Some(runtime);
        Ok(output)
    }

    /// Waits for work on the store or file at `place`; the work's errors name this place.
    ///
    /// # Errors
    ///
    /// The errors of [`wait`](Self::wait) and of the work.
    pub(crate) fn wait_at<T, E>(
        &mut self,
        place: &str,
        work: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T>
    where
        CliError: From<E>,
    {
        self.wait(work)?.map_err(|e| CliError::from(e).at(place))
    }

    /// Where the progress of a job is shown, by the flags.
    pub(crate) fn shown(&self, job: &'static str) -> Shown {
        match self.common.progress {
            ProgressArg::Json => Shown::Json(job),
            ProgressArg::None => Shown::Nowhere,
            ProgressArg::Auto if self.common.quiet || self.common.no_progress => Shown::Nowhere,
            ProgressArg::Auto => Shown::Terminal,
        }
    }

    /// Prints warnings on stderr, unless `--quiet`.
    pub(crate) fn warn(&mut self, warnings: &[String]) {
        for warning in warnings {
            self.remark(&format!("warning: {warning}"));
        }
        self.warned += warnings.len();
    }

    /// Prints one line on stderr, unless `--quiet`.
    pub(crate) fn remark(&self, line: &str) {
        say(self.common.quiet, line);
    }

    /// Returns a function that prints lines on stderr while work is running, unless `--quiet`.
    pub(crate) fn remarks(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let quiet = self.common.quiet;
        move |line| say(quiet, line)
    }

    /// Leaks the runtime after a successful command: its threads end with the process, because joining them takes as long as a small command.
    pub(crate) fn leave_threads(&mut self) {
        std::mem::forget(self.runtime.take());
    }

    /// Ends a command, failed or not: writes the trace file and, with `--verbose`, the totals.
    ///
    /// # Errors
    ///
    /// I/O, when the trace file cannot be written.
    pub(crate) fn close(mut self) -> Result<()> {
        if self.common.verbose {
            let counts = self.trace.counts();
            self.remark(&format!(
                "{} requests in {} rounds, {} received",
                count(counts.requests),
                counts.rounds,
                size(counts.bytes)
            ));
        }
        let Some((path, mut file)) = self.trace_file.take() else {
            return Ok(());
        };
        let requests = self.trace.take();
        let mut lines = requests.iter().map(line);
        let lines = lines.try_for_each(|line| writeln!(file, "{line}"));
        lines
            .and_then(|()| file.flush())
            .map_err(|e| CliError::file("write", &path, &e))
    }
}

/// Prints one line on stderr, unless `quiet`.
fn say(quiet: bool, line: &str) {
    if !quiet {
        // There is no place to report that stderr is closed.
        let _ = writeln!(io::stderr().lock(), "zvf: {line}");
    }
}

/// One request as a line of the trace file.
fn line(request: &Request) -> String {
    json!({
        "round": request.round,
        "method": request.method.to_string(),
        "key": request.key,
        "offset": request.offset,
        "length": request.length,
        "bytes": request.bytes,
        "microseconds": request.micros,
        "attempt": request.attempt,
        "failed": request.failed,
    })
    .to_string()
}
