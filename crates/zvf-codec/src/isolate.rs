//! Calls third-party decoders: a panic becomes an error of the class malformed.
//!
//! The crates `zarrs`, `arrow-ipc`, `parquet`, `draco-core`, `zip`, `flate2` and `bzip2` are memory-safe, but parts of them assert that their input is
//! valid. All crates of this workspace call them through [`isolate`] or [`isolate_future`].
//!
//! # What is caught
//!
//! Panics that unwind out of the closure, on the calling thread or on worker threads that pass panics on to their caller (rayon's do).
//!
//! # What is not
//!
//! Failed allocations, stack overflows and endless loops are not panics. Therefore callers compare sizes, counts and depths of the data with limits
//! *before* they call a decoder. C libraries (Zstandard, LZ4) do not panic.
//!
//! In a program compiled with `panic = "abort"` nothing unwinds: the first panic of a decoder ends the program. Do not compile programs that read
//! untrusted files that way.
//!
//! # Messages
//!
//! The first line of the panic's message is part of the error, so the panic hook does not print it. The first call installs a hook that passes all
//! other panics to the previous hook. If a program sets its own hook later, messages of isolated decoders are printed too. Messages of panics on
//! threads of rayon are always printed.
//!
//! # Unwind safety
//!
//! Values that the closure owns are dropped. Values that it borrows mutably may be changed partially: after an error the caller must drop them without
//! reading.

use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Once;
use std::task::Poll;

thread_local! {
    /// Whether panics of this thread become errors, so that nothing is printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Installs the panic hook, which does not print panics of isolated work.
fn install_hook() {
    static HOOK: Once = Once::new();
    // A thread that panics must not change the hook.
    if !HOOK.is_completed() && !std::thread::panicking() {
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // The thread may be exiting.
                if !QUIET.try_with(Cell::get).unwrap_or(false) {
                    before(panic);
                }
            }));
        });
    }
}

/// Runs a third-party decoder or encoder.
///
/// # Cost
/// A few nanoseconds.
///
/// # Errors
/// The first line of the message, if `work` panics.
pub fn isolate<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    install_hook();
    let before = QUIET.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    done.map_err(|panic| first_line(panic.as_ref()))
}

/// As [`isolate`], for every poll of a future.
///
/// # Errors
/// The first line of the panic's message.
pub async fn isolate_future<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(
        |context| match isolate(|| work.as_mut().poll(&mut *context)) {
            Ok(done) => done.map(Ok),
            Err(message) => Poll::Ready(Err(message)),
        },
    )
    .await
}

/// The first line of a panic's message.
fn first_line(panic: &(dyn Any + Send)) -> String {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "no message",
    };
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors_with_the_first_line_of_their_message() {
        let text = || -> u8 { panic!("found 7\nand more") };
        assert_eq!(isolate(text).unwrap_err(), "found 7");
        let formatted = |number: u8| -> u8 { panic!("found {number}") };
        assert_eq!(isolate(|| formatted(7)).unwrap_err(), "found 7");
        let other = || -> u8 { std::panic::panic_any(7) };
        assert_eq!(isolate(other).unwrap_err(), "no message");
        assert_eq!(isolate(|| 3), Ok(3));
    }

    #[test]
    fn isolated_work_may_isolate_work() {
        let both = isolate(|| {
            let inner = isolate(|| -> u8 { panic!("inner") });
            assert!(QUIET.get());
            inner
        });
        assert_eq!(both, Ok(Err("inner".to_owned())));
        assert!(!QUIET.get());
    }

    #[tokio::test]
    async fn futures_are_isolated_behind_their_first_poll_too() {
        let late = async {
            tokio::task::yield_now().await;
            panic!("late")
        };
        let found: Result<u8, String> = isolate_future(late).await;
        assert_eq!(found.unwrap_err(), "late");
        let fine = async {
            tokio::task::yield_now().await;
            3
        };
        assert_eq!(isolate_future(fine).await, Ok(3));
        assert!(!QUIET.get());
    }
}
