//! Flags that every command takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::Targets;
use zvf_jobs::Access;

/// Flags that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// Machine output: one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No warnings, no progress, no remarks on stderr; errors are still printed
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Prints on stderr how many requests and bytes the command took
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// Progress on stderr: a bar if it is a terminal, one JSON document per line with job, phase, unit, done, total, rate and seconds_left, or none
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORM",
        default_value_t,
        conflicts_with = "no_progress"
    )]
    pub(crate) progress: ProgressArg,
    /// The same as --progress none
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Requests in flight at once
    #[arg(long, global = true, value_name = "N", value_parser = positive)]
    pub(crate) concurrency: Option<usize>,
    /// How often a request is retried after a failure that may be temporary; 0 = never [default: 4]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long one request may take with all its retries before the work fails [default: 30 a try, 60 in all]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Does not check at the end whether the store changed meanwhile
    #[arg(long, global = true)]
    pub(crate) no_verify: bool,
    /// Limit of decoded bytes in memory, e.g. 512M or 2GiB (M = MiB; MB = 10^6) [default: 64M; 256M for commands that write]
    #[arg(long, global = true, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory_budget: Option<u64>,
    /// Writes one JSON line per request to FILE: round, method, key, offset, length, bytes, microseconds, attempt, failed
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) trace_io: Option<PathBuf>,
    /// Logs events on stderr, by the levels error, warn, info, debug and trace, for all crates or by crate: debug, or zvf_io=debug,h2=info
    /// [default: the variable RUST_LOG]
    #[arg(long, global = true, value_name = "FILTER", alias = "log-filter", value_parser = filter)]
    pub(crate) log: Option<Targets>,
    /// Sends no credentials (public buckets)
    #[arg(long, global = true)]
    pub(crate) anonymous: bool,
    /// An option of the storage backend, e.g. region=eu-central-1 or profile=NAME (AWS); s3://bucket:region=eu-central-1 sets it only for addresses below
    /// s3://bucket; may be given several times
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = key_value)]
    pub(crate) store_option: Vec<(String, String)>,
}

/// The form of progress. Its values have no documentation, since clap would then print the long help of every command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    #[default]
    Auto,
    Json,
    None,
}

impl Common {
    /// The options of storage access.
    pub(crate) fn access(&self) -> Access {
        Access {
            anonymous: self.anonymous,
            concurrency: self.concurrency,
            retries: self.retries,
            timeout: self.timeout,
            verify: !self.no_verify,
            memory_budget: self.memory_budget,
            store_options: self.store_option.clone(),
        }
    }
}

/// Parses a count of at least one.
fn positive(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("found 0, expected at least 1".into()),
        Ok(n) => Ok(n),
        Err(_) => Err(format!("found {text:?}, expected a whole number")),
    }
}

/// Parses a time in seconds, from a millisecond to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = Access::seconds(text.parse().unwrap_or(f64::NAN));
    time.map_err(|expected| format!("found {text:?}, {expected}"))
}

/// Parses a size with an optional unit: `512M`, `2GiB`; `1e9` is refused.
fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("found {text:?}, expected a size such as 65536, 512M, 2GiB or 1GB");
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits).ok_or_else(wrong)?;
    let number = number.parse::<u64>().map_err(|_| wrong())?;
    let scale: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    match number.checked_mul(scale) {
        Some(0) => Err("found 0, expected at least 1 byte".into()),
        Some(n) => Ok(n),
        None => Err(format!(
            "found {text:?}, expected at most {} bytes",
            u64::MAX
        )),
    }
}

/// Parses the levels of logged events.
fn filter(text: &str) -> Result<Targets, String> {
    let expected = "levels such as debug or zvf_io=debug,h2=info";
    let filter: Targets = text
        .parse()
        .map_err(|error| format!("found {text:?} ({error}), expected {expected}"))?;
    // A file name would be parsed as the name of a crate, and no event would be logged.
    let a_path = |name: &str| {
        name.contains(|letter: char| !letter.is_alphanumeric() && !"_-:".contains(letter))
    };
    match filter.iter().find(|(target, _)| a_path(target)) {
        Some((target, _)) => Err(format!("found {target:?}, expected {expected}")),
        None => Ok(filter),
    }
}

/// Parses `KEY=VALUE`; the value may be empty, or contain `=`.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.into(), value.into())),
        _ => Err(format!("found {text:?}, expected KEY=VALUE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("512M"), Ok(512 << 20));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("1 GB"), Ok(1_000_000_000));
        assert_eq!(bytes("65536"), Ok(65536));
        for wrong in ["", "M", "0", "1.5G", "-1", "99999999999T", "1é"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e99", "1s"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
