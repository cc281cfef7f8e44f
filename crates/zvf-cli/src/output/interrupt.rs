//! Removes half-written files when the program is interrupted.
//!
//! Destructors do not run when a signal ends a program, so everything under a temporary name is also on a list. On the first
//! interrupt (Ctrl-C, or a polite kill) what is on the list is removed. A command that changes a store is asked to stop,
//! and has a moment to remove what it wrote; where that is not enough, the command that cleans up is named. The program
//! ends with the code that shells give to interrupted programs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use zvf_jobs::{remove_path, unfinished_files};
use zvf_store::Stop;

use crate::error::Class;

/// How long a command that changes a store has to clean up: with what comes before and after, less than a second.
const GRACE: Duration = Duration::from_millis(700);

/// The changes of stores that are under way.
static CHANGES: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

/// Told when a change ends.
static ENDED: Condvar = Condvar::new();

/// Asked on the first interrupt.
static STOP: LazyLock<Stop> = LazyLock::new(Stop::default);

/// Whether the command ends the program itself on the first interrupt.
static COMMAND_ENDS: AtomicBool = AtomicBool::new(false);

/// Leaves the first interrupt to the command, which looks at [`stop`] and ends in order; the second one ends the program.
#[cfg(feature = "serve")]
pub(crate) fn leave_first_to_command() {
    COMMAND_ENDS.store(true, Ordering::SeqCst);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The request to stop that the first interrupt makes.
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
    /// The message for a change that did not end in time; `None` if a local store shows that nothing is left.
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

/// A change of a store that is under way while this lives.
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

fn interrupted() {
    STOP.ask();
    if COMMAND_ENDS.swap(false, Ordering::SeqCst) {
        return;
    }
    let partial = unfinished_files();
    for path in partial.iter() {
        // Another thread may still be putting files into a directory.
        for _ in 0..8 {
            remove_path(path);
            if !path.exists() {
                break;
            }
        }
    }
    let changes = lock(&CHANGES);
    if !changes.is_empty() {
        // Released first: a change that ends meanwhile must not wait for this list.
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
            // The command says how it ended, and ends the program.
            std::thread::sleep(GRACE);
        }
        std::process::exit(Class::Interrupted.code().into());
    }
    // The list stays locked: nothing new is begun and nothing gets its name any more.
    std::process::exit(Class::Interrupted.code().into());
}
