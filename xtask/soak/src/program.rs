//! Runs of the program `zvf`, with faults.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use zvf_soak::draw::Draw;

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// SIGKILL after so many milliseconds.
    Kill(u64),
    /// SIGSTOP after so many milliseconds, and SIGCONT after so many more.
    Pause(u64, u64),
    /// No file may have more than so many blocks of 512 bytes.
    Limit(u64),
    /// The wall clock of the program jumps by so many seconds after so many milliseconds.
    Clock(u64, i64),
}

impl Fault {
    pub(super) fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Kill(_) => "processes killed",
            Self::Pause(..) => "processes paused",
            Self::Limit(_) => "file size limits",
            Self::Clock(..) => "clock jumps",
        })
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Exit code 0.
    Done,
    /// Another change was running, or what was asked for is refused: nothing was done.
    Busy,
    /// The store changed, or input and output failed.
    Failed,
    Killed,
}

/// Everything about one run.
#[derive(Debug)]
pub(super) struct Ended {
    /// As a person would type it.
    pub(super) line: String,
    pub(super) fault: Fault,
    pub(super) code: Option<i32>,
    /// Whether it ended in time; else it was killed.
    pub(super) in_time: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Ended {
    /// Says how the run ended. An error: in a way that neither other programs nor faults explain.
    pub(super) fn outcome(&self, faulty: bool) -> Result<Outcome, String> {
        let says = |words: &[&str]| words.iter().any(|word| self.stderr.contains(word));
        Ok(match self.code {
            _ if !self.in_time => return Err(self.odd()),
            Some(0) => Outcome::Done,
            // Whoever meets another writer is told so, and that it may try again.
            Some(75) if says(&["try again"]) => Outcome::Busy,
            Some(3) if faulty || self.fault != Fault::None => Outcome::Failed,
            Some(3)
                if says(&[
                    "changed while the store was read",
                    "could not be renewed in time",
                ]) =>
            {
                Outcome::Failed
            }
            None if matches!(self.fault, Fault::Kill(_)) => Outcome::Killed,
            _ => return Err(self.odd()),
        })
    }

    /// The run, as part of a message.
    pub(super) fn odd(&self) -> String {
        let code = match self.code {
            Some(code) => format!("exit code {code}"),
            None if self.in_time => "a signal".to_owned(),
            None => format!("no end in {PATIENCE:?}"),
        };
        let stderr = self.stderr.trim();
        format!("{}: {code} after {:?}: {stderr}", self.line, self.fault)
    }
}

/// The program, and what was counted of its runs.
#[derive(Debug)]
pub(super) struct Program {
    zvf: PathBuf,
    /// For outputs, clocks and temporary files.
    folder: PathBuf,
    /// libfaketime, if it is installed.
    clock: Option<PathBuf>,
    start: Instant,
    number: AtomicU64,
    faults: Mutex<BTreeMap<&'static str, u64>>,
}

impl Program {
    pub(super) fn new(zvf: PathBuf, folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(folder.join("tmp"))?;
        Ok(Self {
            zvf,
            folder,
            clock: clock(),
            start: Instant::now(),
            number: AtomicU64::new(0),
            faults: Mutex::default(),
        })
    }

    /// What the program says of itself, and a number of its bytes that tells builds apart.
    pub(super) fn version(&self) -> Result<String> {
        let said = Command::new(&self.zvf).arg("--version").output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let mut hasher = DefaultHasher::new();
        std::fs::read(&self.zvf)?.hash(&mut hasher);
        let first = said.lines().next().unwrap_or_default();
        Ok(format!("{first} ({:08x})", hasher.finish() >> 32))
    }

    pub(super) fn has_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// Microseconds since the start, by a clock that never jumps.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Counts a fault.
    pub(super) fn count(&self, fault: &'static str) {
        if let Ok(mut faults) = self.faults.lock() {
            *faults.entry(fault).or_default() += 1;
        }
    }

    pub(super) fn faults(&self) -> BTreeMap<&'static str, u64> {
        let faults = self.faults.lock();
        faults.map_or_else(|_| BTreeMap::new(), |faults| faults.clone())
    }

    /// A path below the folder that no other run uses.
    pub(super) fn fresh(&self, ending: &str) -> PathBuf {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!("{number}{ending}"))
    }

    /// The program with its arguments, not started.
    pub(super) fn command(
        &self,
        endpoint: &str,
        arguments: &[String],
        limit: Option<u64>,
    ) -> Command {
        let mut command = match limit {
            // A write beyond the limit fails instead of ending the process.
            Some(blocks) => {
                let mut shell = Command::new("sh");
                let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
                shell.args(["-c", &script, "sh"]).arg(&self.zvf);
                shell
            }
            None => Command::new(&self.zvf),
        };
        command
            .args(arguments)
            .env("TMPDIR", self.folder.join("tmp"))
            .stdin(Stdio::null());
        // Who interrupts the soak at its terminal does not interrupt the programs.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        if !endpoint.is_empty() {
            command
                .env("AWS_ENDPOINT", endpoint)
                .env("AWS_ALLOW_HTTP", "true")
                .env("AWS_REGION", "us-east-1")
                .env("AWS_ACCESS_KEY_ID", "test")
                .env("AWS_SECRET_ACCESS_KEY", "test");
        }
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, endpoint: &str, arguments: &[String], fault: Fault) -> Result<Ended> {
        let limit = match fault {
            Fault::Limit(blocks) => Some(blocks),
            _ => None,
        };
        let mut command = self.command(endpoint, arguments, limit);
        let (out, errors) = (self.fresh(".out"), self.fresh(".err"));
        command
            .stdout(File::create(&out)?)
            .stderr(File::create(&errors)?);
        let jumps = self.fresh(".clock");
        if let (Fault::Clock(..), Some(clock)) = (fault, &self.clock) {
            std::fs::write(&jumps, "+0\n")?;
            command
                .env("LD_PRELOAD", clock)
                .env("FAKETIME_TIMESTAMP_FILE", &jumps)
                .env("FAKETIME_NO_CACHE", "1")
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                // Times of files are those of the storage, whose clock does not jump.
                .env("NO_FAKE_STAT", "1");
        }
        let from = self.now();
        let mut child = command.spawn().context("the program does not start")?;
        let mut met = false;
        let ended = self.wait(&mut child, fault, &jumps, &mut met);
        let to = self.now();
        if !matches!(ended, Ok(Some(_))) {
            // A run that takes too long is not left behind.
            child.kill()?;
            child.wait()?;
        }
        let ended = ended?;
        let (code, in_time) = (ended.and_then(|status| status.code()), ended.is_some());
        let read = |path: &Path| -> Result<String> {
            let bytes = std::fs::read(path)?;
            std::fs::remove_file(path)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let (stdout, stderr) = (read(&out)?, read(&errors)?);
        if matches!(fault, Fault::Clock(..)) {
            let _ = std::fs::remove_file(&jumps);
        }
        if let Some(name) = fault.name() {
            // A kill, a pause or a jump that came too late was none, and without libfaketime no clock jumps.
            let happened = match fault {
                Fault::Kill(_) => code.is_none(),
                Fault::Pause(..) | Fault::Clock(..) => met,
                _ => true,
            };
            if happened {
                self.count(name);
            }
        }
        let mut line = String::from("zvf");
        for argument in arguments {
            line.push(' ');
            line.push_str(&quoted(argument));
        }
        Ok(Ended {
            line,
            fault,
            code,
            stdout,
            stderr,
            in_time,
            from,
            to,
        })
    }

    /// Waits for the end of a run. `None`: it takes too long. `met` becomes true if the run met the fault before its end.
    fn wait(
        &self,
        child: &mut Child,
        fault: Fault,
        jumps: &Path,
        met: &mut bool,
    ) -> Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            let elapsed = start.elapsed();
            let at = |millis: u64| !*met && elapsed >= Duration::from_millis(millis);
            match fault {
                Fault::Kill(after) if at(after) => {
                    child.kill()?;
                    *met = true;
                }
                Fault::Pause(after, pause) if at(after) => {
                    let id = child.id().to_string();
                    signal("-STOP", &id)?;
                    std::thread::sleep(Duration::from_millis(pause));
                    signal("-CONT", &id)?;
                    *met = true;
                }
                Fault::Clock(after, seconds) if at(after) && self.clock.is_some() => {
                    std::fs::write(jumps, format!("{seconds:+}\n"))?;
                    *met = true;
                }
                _ => {}
            }
            if elapsed > PATIENCE {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn signal(which: &str, process: &str) -> Result<()> {
    // It may have ended meanwhile.
    let _ = Command::new("kill")
        .args([which, process])
        .stderr(Stdio::null())
        .status()?;
    Ok(())
}

/// The library that changes the clock of one program, where Debian and others install it.
fn clock() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let inside = folders.flatten().map(|entry| entry.path());
    let mut all = inside.chain([PathBuf::from("/usr/lib")]);
    all.find_map(|folder| {
        let library = folder.join("faketime/libfaketimeMT.so.1");
        library.exists().then_some(library)
    })
}

/// A fault for a run that changes a store and takes about `typical` milliseconds.
pub(super) fn of_change(draw: &mut Draw, typical: u64) -> Fault {
    let typical = typical.clamp(10, 2000);
    let after = draw.below(typical + typical / 4);
    match draw.below(100) {
        0..22 => Fault::Kill(after),
        22..26 => Fault::Pause(after, 50 + draw.below(1500)),
        26..31 => Fault::Limit(1 + draw.below(3)),
        31..36 => Fault::Clock(after, jump(draw)),
        _ => Fault::None,
    }
}

/// A fault for a run that only reads.
pub(super) fn of_read(draw: &mut Draw, typical: u64) -> Fault {
    let after = draw.below(typical.clamp(10, 2000));
    match draw.below(100) {
        0..2 => Fault::Kill(after),
        2..7 => Fault::Pause(after, 20 + draw.below(800)),
        7..9 => Fault::Clock(after, jump(draw)),
        _ => Fault::None,
    }
}

/// Seconds, forward or backward.
fn jump(draw: &mut Draw) -> i64 {
    let far = [30, 61, 3600, 86_400 * 400];
    let seconds = draw.one(&far).copied().unwrap_or(30);
    if draw.below(2) == 0 {
        seconds
    } else {
        -seconds
    }
}

/// A word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
