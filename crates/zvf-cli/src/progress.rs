//! Progress on stderr: a bar on a terminal, or a JSON document a line for programs.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use zvf_jobs::ProgressLines;
use zvf_write::Step;

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nowhere,
    /// As a bar, if stderr is a terminal.
    Terminal,
    /// As lines of JSON, with the name of the job.
    Json(&'static str),
}

/// A display of the completed work.
#[derive(Debug)]
pub(crate) struct Progress(Display);

#[derive(Debug)]
enum Display {
    None,
    Bar(ProgressBar),
    Lines(Mutex<ProgressLines>),
}

impl Progress {
    /// Begins a display of a count of `unit`.
    pub(crate) fn new(unit: &'static str, shown: Shown) -> Self {
        Self::styled(
            ("run", unit),
            shown,
            "{spinner} {human_pos}{left} {per_sec}",
        )
    }

    /// Begins a display of the steps in which a store is written.
    pub(crate) fn of_steps(shown: Shown) -> Self {
        let template = "{spinner} {msg} {human_pos} of {human_len} {elapsed}";
        Self::styled(("write", ""), shown, template)
    }

    /// Begins a display of bytes, with the remaining bytes and time.
    pub(crate) fn of_bytes(phase: &'static str, shown: Shown) -> Self {
        let style = "{spinner} {bytes} of {total_bytes} ({percent}%) {bytes_per_sec}, {eta} left";
        Self::styled((phase, "bytes"), shown, style)
    }

    fn styled((phase, unit): (&'static str, &'static str), shown: Shown, template: &str) -> Self {
        Self(match shown {
            Shown::Terminal if stderr().is_terminal() => {
                let bar = ProgressBar::new_spinner().with_message(unit);
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style.with_key("left", left(unit)));
                }
                bar.enable_steady_tick(Duration::from_millis(120));
                Display::Bar(bar)
            }
            Shown::Json(job) => {
                let lines = ProgressLines::new(job, Box::new(stderr()));
                Display::Lines(Mutex::new(lines.in_phase(phase, unit)))
            }
            Shown::Nowhere | Shown::Terminal => Display::None,
        })
    }

    /// Changes what is shown.
    fn change(&self, bar: impl FnOnce(&ProgressBar), lines: impl FnOnce(&mut ProgressLines)) {
        match &self.0 {
            Display::None => {}
            Display::Bar(shown) => bar(shown),
            Display::Lines(shown) => {
                let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                lines(&mut shown);
            }
        }
    }

    /// Shows the bytes of a download, with its length if the server states it.
    pub(crate) fn downloaded(&self, bytes: u64, total: Option<u64>) {
        let bar = |bar: &ProgressBar| {
            bar.set_position(bytes);
            match total {
                Some(total) => bar.set_length(total),
                None => {
                    let style = ProgressStyle::with_template("{spinner} {bytes} {bytes_per_sec}");
                    style.into_iter().for_each(|style| bar.set_style(style));
                }
            }
        };
        self.change(bar, |lines| lines.set(bytes, total));
    }

    /// Sets the total.
    pub(crate) fn total(&self, total: u64) {
        let bar = |bar: &ProgressBar| {
            bar.set_length(total);
            bar.tick();
        };
        self.change(bar, |lines| lines.set_total(total));
    }

    /// Shows the progress of a step.
    pub(crate) fn step(&self, progress: zvf_write::Progress) {
        let (phase, unit, message) = step_names(progress.step);
        let bar = |bar: &ProgressBar| {
            bar.set_message(message);
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        };
        self.change(bar, |lines| {
            lines.phase(phase, unit);
            lines.set(progress.done, Some(progress.total));
        });
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        self.change(ProgressBar::finish_and_clear, ProgressLines::end);
    }

    /// Adds `n` to the count.
    pub(crate) fn add(&self, n: u64) {
        self.change(|bar| bar.inc(n), |lines| lines.add(n));
    }
}

/// The text after the number of completed units: the total, the percentage and the remaining time, as far as they are known.
fn left(unit: &'static str) -> impl Fn(&ProgressState, &mut dyn fmt::Write) + Clone + Send + Sync {
    move |state, to| {
        // Writing to a text cannot fail.
        let _ = match state.len().filter(|total| *total > 0) {
            Some(total) => write!(
                to,
                " of {} {unit} ({}%) {}, {} left,",
                HumanCount(total),
                u128::from(state.pos()) * 100 / u128::from(total),
                HumanDuration(state.elapsed()),
                HumanDuration(state.eta())
            ),
            None => write!(to, " {unit} {}", HumanDuration(state.elapsed())),
        };
    }
}

/// The name of a step, the name of its unit, and the message on a terminal.
fn step_names(step: Step) -> (&'static str, &'static str, &'static str) {
    match step {
        Step::Vertices => ("write vertices", "vertices", "writing chunks, vertices:"),
        Step::Objects => ("write objects", "fragments", "writing objects, fragments:"),
        Step::Links => ("write links", "records", "writing links, records:"),
        _ => ("write", "", "writing:"),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
