//! Progress on stderr: a bar on a terminal, or a JSON document a line for programs.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use zvf_write::Step;

/// Time between two lines of JSON.
const PAUSE: Duration = Duration::from_millis(500);

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nowhere,
    /// As a bar, if stderr is a terminal.
    Terminal,
    /// As lines of JSON, with the name of the job.
    Json(&'static str),
}

/// A display of what has been done so far.
#[derive(Debug)]
pub(crate) struct Progress(Display);

#[derive(Debug)]
enum Display {
    None,
    Bar(ProgressBar),
    Lines(Mutex<Lines>),
}

/// What the lines of one display say.
#[derive(Debug)]
struct Lines {
    job: &'static str,
    phase: &'static str,
    unit: &'static str,
    done: u64,
    total: Option<u64>,
    began: Instant,
    /// When the last line was printed, and what was done then.
    said: Option<(Instant, u64)>,
}

impl Lines {
    /// Prints a line if the last one is old enough, or at the end of a phase.
    fn say(&mut self, at_end: bool) {
        let now = Instant::now();
        let is_due = self
            .said
            .is_none_or(|(at, _)| now.duration_since(at) >= PAUSE);
        let is_new = self.said.is_none_or(|(_, done)| done != self.done);
        if !(is_due || (at_end && is_new)) {
            return;
        }
        self.said = Some((now, self.done));
        let seconds = now.duration_since(self.began).as_secs_f64();
        let rate = (seconds > 0.0 && self.done > 0).then(|| self.done as f64 / seconds);
        let left = self.total.zip(rate);
        let left = left.map(|(total, rate)| total.saturating_sub(self.done) as f64 / rate);
        let line = json!({
            "job": self.job,
            "phase": self.phase,
            "unit": self.unit,
            "done": self.done,
            "total": self.total,
            "rate": rate,
            "seconds_left": left,
        });
        // There is no place to report that stderr is closed.
        let _ = writeln!(stderr().lock(), "{line}");
    }

    /// Begins another phase, if it is another one.
    fn phase(&mut self, phase: &'static str, unit: &'static str) {
        if self.phase != phase {
            self.say(true);
            (self.phase, self.unit) = (phase, unit);
            (self.done, self.total) = (0, None);
            (self.began, self.said) = (Instant::now(), None);
        }
    }
}

impl Progress {
    /// Begins a display of a count of `unit`.
    pub(crate) fn new(unit: &'static str, shown: Shown) -> Self {
        let template = "{spinner} {human_pos} {msg} {elapsed} {per_sec}";
        Self::styled(("run", unit), shown, template)
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
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(120));
                Display::Bar(bar)
            }
            Shown::Json(job) => Display::Lines(Mutex::new(Lines {
                job,
                phase,
                unit,
                done: 0,
                total: None,
                began: Instant::now(),
                said: None,
            })),
            Shown::Nowhere | Shown::Terminal => Display::None,
        })
    }

    /// Changes what is shown.
    fn change(&self, bar: impl FnOnce(&ProgressBar), lines: impl FnOnce(&mut Lines)) {
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
        self.change(bar, |lines| {
            (lines.done, lines.total) = (bytes, total);
            lines.say(false);
        });
    }

    /// Sets the total.
    pub(crate) fn total(&self, total: u64) {
        self.change(
            |bar| bar.set_length(total),
            |lines| lines.total = Some(total),
        );
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
            (lines.done, lines.total) = (progress.done, Some(progress.total));
            lines.say(progress.done == progress.total);
        });
    }

    /// Ends the display.
    pub(crate) fn end(&self) {
        self.change(ProgressBar::finish_and_clear, |lines| {
            if lines.done > 0 {
                lines.say(true);
            }
        });
    }

    /// Adds `n` to the count.
    pub(crate) fn add(&self, n: u64) {
        self.change(
            |bar| bar.inc(n),
            |lines| {
                lines.done = lines.done.saturating_add(n);
                lines.say(false);
            },
        );
    }
}

/// The name of a step and of its unit, and both for a terminal.
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
