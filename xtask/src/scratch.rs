//! Temporary files of tests in memory.
//!
//! Writers sync what they write, and tests write thousands of stores: on a disk most of their time is waiting for it.

use std::path::{Path, PathBuf};

use crate::{Outcome, sh};

/// The file system in memory that Linux has.
const MEMORY: &str = "/dev/shm";

/// How a folder's name begins; the number of the process follows that removes it.
const NAME: &str = "zvf-tests-";

/// Bytes that must be free: several times what the tests were seen to use at once.
const LEAST: u64 = 4 << 30;

/// A folder in memory, removed with everything in it when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder, unless `TMPDIR` names another place, or memory or its file system are short of [`LEAST`] bytes, as in many
    /// containers.
    pub(crate) fn new() -> Outcome<Option<Self>> {
        let memory = Path::new(MEMORY);
        if std::env::var_os("TMPDIR").is_some() || !memory.is_dir() {
            return Ok(None);
        }
        remove_old(memory)?;
        if free(memory)? < LEAST || available() < LEAST {
            return Ok(None);
        }
        let folder = memory.join(format!("{NAME}{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Some(Self(folder)))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left is removed by the next run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of processes that are gone.
fn remove_old(memory: &Path) -> Outcome {
    for entry in std::fs::read_dir(memory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(NAME);
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Free bytes of a file system.
fn free(folder: &Path) -> Outcome<u64> {
    let table = sh::capture(sh::command("df").arg("-Pk").arg(folder))?;
    let kilobytes = table
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().nth(3));
    Ok(kilobytes
        .and_then(|text| text.parse::<u64>().ok())
        .map_or(0, |count| count * 1024))
}

/// Bytes of memory that programs could take; 0 where the system does not say.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes
        .and_then(|text| text.parse::<u64>().ok())
        .map_or(0, |count| count * 1024)
}
