//! Progress on stderr, only when stderr is a terminal.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use zvf_write::Step;

/// A display of what has been done so far; nothing at all when stderr is not a terminal.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Begins a display of a count of `what`.
    pub(crate) fn new(what: &'static str, wanted: bool) -> Self {
        Self::styled(
            what,
            wanted,
            "{spinner} {human_pos} {msg} {elapsed} {per_sec}",
        )
    }

    /// Begins a display of the steps in which a store is written.
    pub(crate) fn of_steps(wanted: bool) -> Self {
        Self::styled(
            "",
            wanted,
            "{spinner} {msg} {human_pos} of {human_len} {elapsed}",
        )
    }

    /// Begins a display of bytes, with the remaining bytes and time.
    pub(crate) fn of_bytes(wanted: bool) -> Self {
        let style = "{spinner} {bytes} of {total_bytes} ({percent}%) {bytes_per_sec}, {eta} left";
        Self::styled("", wanted, style)
    }

    fn styled(what: &'static str, wanted: bool, template: &str) -> Self {
        if !wanted || !stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner().with_message(what);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(Some(bar))
    }

    /// Shows the bytes of a download, with its length if the server states it.
    pub(crate) fn downloaded(&self, bytes: u64, total: Option<u64>) {
        if let Some(bar) = &self.0 {
            bar.set_position(bytes);
            match total {
                Some(total) => bar.set_length(total),
                None => {
                    let style = ProgressStyle::with_template("{spinner} {bytes} {bytes_per_sec}");
                    style.into_iter().for_each(|style| bar.set_style(style));
                }
            }
        }
    }

    /// Sets the total.
    pub(crate) fn total(&self, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
        }
    }

    /// Shows the progress of a step.
    pub(crate) fn step(&self, progress: zvf_write::Progress) {
        if let Some(bar) = &self.0 {
            bar.set_message(step_name(progress.step));
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        }
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }

    /// Adds `n` to the count.
    pub(crate) fn add(&self, n: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(n);
        }
    }
}

/// The name of a step, and of its unit.
fn step_name(step: Step) -> &'static str {
    match step {
        Step::Vertices => "writing chunks, vertices:",
        Step::Objects => "writing objects, fragments:",
        Step::Links => "writing links, records:",
        _ => "writing:",
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
