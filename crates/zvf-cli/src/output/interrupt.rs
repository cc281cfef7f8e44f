//! Removes half-written files when the program is interrupted.
//!
//! Destructors do not run when a signal ends a program, so all files and folders with temporary names are also in a list. On the first interrupt
//! (SIGINT or SIGTERM) they are removed. A command that changes a store is stopped, and gets a short time to remove its files; if that is not
//! enough, the message names the command that cleans up. The program ends with the exit code that shells use for interrupted programs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use zvf_jobs::{remove_path, unfinished_files};
use zvf_store::Stop;

use crate::error::Class;

/// Time for a command that changes a store to clean up; chosen so that the program ends within a second.
const GRACE: Duration = Duration::from_millis(700);

/// The active changes of stores.
static CHANGES: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

/// Notified when a change ends.
static ENDED: Condvar = Condvar::new();

/// Requested by the first interrupt.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Whether the command ends the program itself on the first interrupt.
static COMMAND_ENDS: AtomicBool = AtomicBool::new(false);

/// Leaves the first interrupt to the command, which checks [`stop`] and ends in an orderly way; the second one ends the program.
#[cfg(feature = "serve")]
pub(crate) fn leave_first_to_command() {
    COMMAND_ENDS.store(true, Ordering::SeqCst);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The token that the first interrupt sets.
pub(crate) fn stop() -> Stop {
    STOP.clone()
}

/// A change of a store, and the command that cleans up after it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unfinished {
    store: String,
    remedy: String,
}

impl Unfinished {
    /// The message about a change that did not end in time; `None` if nothing remains of it in a local store.
    fn said(&self) -> Option<String> {
        let Self { store, remedy } = self;
        let local = !store.contains("://");
        let marker = Path::new(store).join(zvf_store::writing::MARKER);
        if local && !marker.exists() {
            return None;
        }
        Some(format!("{store}: the change is unfinished; {remedy}"))
    }
}

/// A guard for an active change of a store.
#[derive(Debug)]
pub(crate) struct Changing(Unfinished);

impl Changing {
    /// Begins a change of `store`; `remedy` names the command that cleans up if an interrupted change cannot.
    pub(crate) fn begin(store: &str, remedy: String) -> Self {
        let change = Unfinished {
            store: store.to_owned(),
            remedy,
        };
        lock(&CHANGES).push(change.clone());
        Self(change)
    }

    /// The message about a change that was interrupted.
    pub(crate) fn left(&self) -> Option<String> {
        self.0.said()
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        let mut changes = lock(&CHANGES);
        if let Some(at) = changes.iter().position(|one| *one == self.0) {
            changes.swap_remove(at);
        }
        ENDED.notify_all();
    }
}

/// Handles interrupts from now on, even if the program was started with interrupts ignored.
pub(crate) fn answer() {
    static ANSWERED: Once = Once::new();
    ANSWERED.call_once(|| {
        // Failing to install the handler is ignored: then an interrupt may leave a temporary file.
        let _ = ctrlc::set_handler(interrupted);
    });
}

/// Most attempts to replace a folder by a file, or a file by a folder: another thread may create it again in between.
const ROUNDS: usize = 256;

/// Removes files, which other threads may be about to create, and folders into which they may still put files.
fn remove_all(paths: &BTreeSet<PathBuf>) {
    let (folders, files): (Vec<_>, Vec<_>) = paths.iter().partition(|path| path.is_dir());
    let aside = folders.into_iter().map(|folder| replaced_by_file(folder));
    let aside: Vec<PathBuf> = aside.flatten().collect();
    files.into_iter().for_each(|file| replaced_by_folder(file));
    // The replacements are removed last: while they exist, other threads cannot create files.
    let all = aside.iter().chain(paths);
    all.for_each(|path| remove_path(path));
}

/// Removes a file and creates an empty folder under its name, so that no other thread can create the file.
fn replaced_by_folder(file: &Path) {
    for _ in 0..ROUNDS {
        remove_path(file);
        if fs::create_dir(file).is_ok() {
            break;
        }
    }
}

/// Renames a folder and creates an empty file under its name, so that no other thread can create the folder again. Returns the new paths: several if
/// another thread created the folder in between.
fn replaced_by_file(folder: &Path) -> Vec<PathBuf> {
    let mut aside = Vec::new();
    for round in 0..ROUNDS {
        let mut other = folder.as_os_str().to_owned();
        other.push(format!(".{round}"));
        let other = PathBuf::from(other);
        if fs::rename(folder, &other).is_ok() {
            aside.push(other);
        }
        if File::create_new(folder).is_ok() {
            break;
        }
    }
    aside
}

fn interrupted() {
    STOP.ask();
    if COMMAND_ENDS.swap(false, Ordering::SeqCst) {
        return;
    }
    let partial = unfinished_files();
    remove_all(&partial);
    let changes = lock(&CHANGES);
    if !changes.is_empty() {
        // The list of files is released first, so that a change that ends meanwhile does not wait for it.
        drop(partial);
        let waited = ENDED.wait_timeout_while(changes, GRACE, |changes| !changes.is_empty());
        let (changes, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            crate::complain("interrupted");
            for said in changes.iter().filter_map(Unfinished::said) {
                crate::complain(&said);
            }
        } else {
            drop(changes);
            // The command reports its own result and ends the program.
            std::thread::sleep(GRACE);
        }
        std::process::exit(Class::Interrupted.code().into());
    }
    // The list remains locked, so that no file is created or renamed any more.
    std::process::exit(Class::Interrupted.code().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_while_files_are_put_into_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".out.1.partial");
        let file = home.path().join(".out.csv.1.partial");
        fs::write(&file, "x").unwrap();
        let put = |thread: usize| {
            // Like an export: creates folders and a file in them, until one fails.
            for number in 0.. {
                let below = folder.join(format!("{thread}/{number}"));
                let made = fs::create_dir_all(&below);
                let done = made.and_then(|()| fs::write(below.join("file"), "x"));
                if done.is_err() && folder.is_file() {
                    return;
                }
            }
        };
        fs::create_dir(&folder).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || put(thread));
            }
            std::thread::sleep(Duration::from_millis(20));
            let aside = replaced_by_file(&folder);
            assert!(folder.is_file());
            aside.iter().for_each(|path| remove_path(path));
        });
        assert!(folder.is_file());
        remove_all(&BTreeSet::from([folder, file]));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
    #[test]
    fn a_file_whose_name_is_reserved_is_not_made_any_more() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".out.csv.1.partial");
        for content in [None, Some("x")] {
            if let Some(content) = content {
                fs::write(&file, content).unwrap();
            }
            replaced_by_folder(&file);
            assert!(File::create(&file).is_err());
            remove_all(&BTreeSet::from([file.clone()]));
            assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        }
    }
}
