//! Progress as lines of JSON, for programs that run jobs in another process.

use std::fmt;
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

/// Shortest time between two lines of a phase.
const PAUSE: Duration = Duration::from_millis(500);

/// Writes the progress of a job as lines of JSON: at most two a second, and one at the end of each phase whose count is not 0.
///
/// A line has the members `job`, `phase`, `unit` (what is counted), `done`, `total`, `rate` (units a second) and `seconds_left`; unknown values
/// are null.
///
/// ```
/// use zvf_jobs::ProgressLines;
///
/// let mut lines = ProgressLines::new("import", Box::new(std::io::stderr())).in_phase("run", "vertices");
/// lines.add(1000);
/// lines.phase("write vertices", "vertices");
/// lines.set(500, Some(1000));
/// lines.end();
/// ```
pub struct ProgressLines {
    to: Box<dyn Write + Send>,
    job: &'static str,
    phase: &'static str,
    unit: &'static str,
    done: u64,
    total: Option<u64>,
    began: Instant,
    /// The time of the last line, and the count in it.
    said: Option<(Instant, u64)>,
}

impl fmt::Debug for ProgressLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressLines")
            .field("job", &self.job)
            .field("phase", &self.phase)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl ProgressLines {
    /// Creates a writer for the progress of a job, in the phase `run`.
    #[must_use]
    pub fn new(job: &'static str, to: Box<dyn Write + Send>) -> Self {
        Self {
            to,
            job,
            phase: "run",
            unit: "",
            done: 0,
            total: None,
            began: Instant::now(),
            said: None,
        }
    }

    /// Sets the first phase, and the unit of its count.
    #[must_use]
    pub fn in_phase(mut self, phase: &'static str, unit: &'static str) -> Self {
        (self.phase, self.unit) = (phase, unit);
        self
    }

    /// Begins a phase, unless it is the current one.
    pub fn phase(&mut self, phase: &'static str, unit: &'static str) {
        if self.phase != phase {
            self.end();
            (self.phase, self.unit) = (phase, unit);
            (self.done, self.total) = (0, None);
            (self.began, self.said) = (Instant::now(), None);
        }
    }

    /// Adds to the count.
    pub fn add(&mut self, done: u64) {
        self.set(self.done.saturating_add(done), self.total);
    }

    /// Sets the count, and the total if it is known.
    pub fn set(&mut self, done: u64, total: Option<u64>) {
        (self.done, self.total) = (done, total);
        let is_due = |(at, _): (Instant, u64)| at.elapsed() >= PAUSE;
        if self.said.is_none_or(is_due) {
            self.say();
        }
    }

    /// Sets the total.
    pub fn set_total(&mut self, total: u64) {
        self.total = Some(total);
    }

    /// Writes the last line of the phase, unless the count is 0 or was already written.
    pub fn end(&mut self) {
        if self.done > 0 && self.said.is_none_or(|(_, done)| done != self.done) {
            self.say();
        }
    }

    fn say(&mut self) {
        self.said = Some((Instant::now(), self.done));
        let seconds = self.began.elapsed().as_secs_f64();
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
        // An error is ignored: if the reader has ended, the error cannot be reported either.
        let _ = writeln!(self.to, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use serde_json::Value;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_phase_ends_with_a_line() {
        let to = Shared::default();
        let lines = ProgressLines::new("import", Box::new(to.clone()));
        let mut lines = lines.in_phase("run", "vertices");
        (0..1000).for_each(|_| lines.add(2));
        lines.phase("write", "records");
        lines.set(3, Some(4));
        lines.end();
        lines.end();
        let held = to.0.lock().unwrap();
        let text = std::str::from_utf8(&held).unwrap();
        let said: Vec<Value> = text
            .lines()
            .map(|one| serde_json::from_str(one).unwrap())
            .collect();
        let short = said.iter().map(|one| {
            (
                one["phase"].as_str().unwrap(),
                one["done"].as_u64().unwrap(),
            )
        });
        let short: Vec<_> = short.collect();
        assert_eq!(short.first(), Some(&("run", 2)));
        assert!(
            short.contains(&("run", 2000)) && short.len() < 6,
            "{short:?}"
        );
        assert_eq!(short.last(), Some(&("write", 3)));
        assert_eq!(
            said.last().map(|one| (&one["total"], &one["unit"])),
            Some((&4.into(), &"records".into()))
        );
    }
}
