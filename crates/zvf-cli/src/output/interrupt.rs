//! What is half written when the program is interrupted goes away with it.
//!
//! Destructors do not run when a signal ends a program, so everything under a temporary name is also on a list. On the first
//! interrupt (Ctrl-C, or a polite kill) what is on the list is removed and the program ends with the code that shells give
//! to interrupted programs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What a shell says of a program that was interrupted: 128 and the number of the signal.
const INTERRUPTED: i32 = 130;

/// What lies under a temporary name now.
static PARTIAL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The list. Whoever holds it cannot be interrupted.
pub(super) fn partial() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts a path that does not exist yet on the list; from now on interrupts are answered.
pub(super) fn watch(path: &Path) {
    static ANSWERED: Once = Once::new();
    partial().insert(path.to_owned());
    ANSWERED.call_once(|| {
        // Without an answer the program ends at once and a file stays behind: no reason to refuse the work.
        let _ = ctrlc::set_handler(|| {
            let partial = partial();
            for path in partial.iter() {
                // Another thread may still be putting files into a directory.
                for _ in 0..8 {
                    super::place::remove(path);
                    if !path.exists() {
                        break;
                    }
                }
            }
            // The list stays locked: nothing new is begun and nothing gets its name any more.
            std::process::exit(INTERRUPTED);
        });
    });
}
