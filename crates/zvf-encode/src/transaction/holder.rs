//! The process that wrote a marker or a note, for messages and to determine whether it still runs.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most characters of a host name that are shown, since it comes from a file.
const SHOWN: usize = 64;

/// The process that wrote a marker or a note, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Holder {
    /// The name of the machine.
    pub host: String,
    /// The number of the process there.
    pub pid: u32,
    /// Seconds since 1970, by the clock of that machine.
    pub(crate) since: u64,
    /// Distinguishes the process from all others on any machine, if the system provides enough information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    process: Option<Identity>,
}

/// A Linux process: process numbers are reused, but not with the same start time in one boot and namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    boot: String,
    namespace: String,
    start: u64,
}

impl Holder {
    /// This process, now.
    pub fn current() -> Self {
        let pid = std::process::id();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            host: host(),
            pid,
            since: since.map_or(0, |since| since.as_secs()),
            process: here().zip(start_of(pid)).map(|(here, start)| Identity {
                boot: here.0,
                namespace: here.1,
                start,
            }),
        }
    }

    /// The writer of a marker; `None` if the marker does not state it.
    #[must_use]
    pub fn of_marker(marker: &[u8]) -> Option<Self> {
        let marker: Value = serde_json::from_slice(marker).ok()?;
        Self::deserialize(marker.get("by")?).ok()
    }

    /// Returns the member of a document that describes the process.
    pub fn document(&self) -> Value {
        // Texts and numbers can always be represented in JSON.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Whether the process has certainly ended: it ran on this machine, and the system no longer has it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.runs() == Some(false)
    }

    /// Whether it is unknown if the process runs: it was started on another machine or in another namespace, or the system does not identify processes.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.runs().is_none()
    }

    /// Whether this is another process that is certainly running.
    pub(crate) fn is_another_that_runs(&self) -> bool {
        self.pid != std::process::id() && self.runs() == Some(true)
    }

    fn runs(&self) -> Option<bool> {
        let process = self.process.as_ref()?;
        let (boot, namespace) = here()?;
        let same = process.boot == boot && process.namespace == namespace;
        same.then(|| start_of(self.pid) == Some(process.start))
    }

    /// The start of the process, as a text of ISO 8601.
    #[must_use]
    pub fn since(&self) -> String {
        moment(self.since)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.chars().filter(|letter| !letter.is_control());
        let host: String = host.take(SHOWN).collect();
        write!(f, "{host}:{} since {}", self.pid, self.since())
    }
}

/// The name of this machine, if the system provides it.
fn host() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let known = file
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok());
    let known = known.map(|name| name.trim().to_owned());
    known
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown-host".to_owned())
}

/// The boot and the namespace of processes; `None` if the system does not provide them.
fn here() -> Option<(String, String)> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some((boot.trim().to_owned(), namespace.to_str()?.to_owned()))
}

/// When a process started, in ticks since the boot; `None` if it does not exist or is a zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses, and may have blanks and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    // The start is field 22 of all, and the state field 3.
    fields.nth(18)?.parse().ok()
}

/// Seconds since 1970 as a text of ISO 8601.
fn moment(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::{Holder, moment};

    #[test]
    fn moments_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(moment(seconds), text);
        }
    }

    #[test]
    fn this_process_has_not_ended_and_is_no_other() {
        let holder = Holder::current();
        assert!(!holder.has_ended());
        assert!(!holder.is_another_that_runs());
        let text = holder.document().to_string();
        let marker = format!("{{\"by\": {text}}}");
        assert_eq!(Holder::of_marker(marker.as_bytes()), Some(holder));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_with_another_start_has_ended() {
        let mut holder = Holder::current();
        if let Some(process) = &mut holder.process {
            process.start += 1;
        }
        assert!(holder.has_ended() && !holder.is_elsewhere());
        if let Some(process) = &mut holder.process {
            process.boot.push('x');
        }
        assert!(!holder.has_ended(), "of another machine nothing is known");
        assert!(holder.is_elsewhere());
    }
}
