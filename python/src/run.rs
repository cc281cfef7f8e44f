//! The runtime that all calls share, and waiting on it without holding the interpreter.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::{Either, select};
use pyo3::prelude::*;
use serde::Serialize;
use tokio::runtime::{Builder, Handle, Runtime};
use zvf_store::Stop;

use crate::errors::{Failure, IoError, bug, interrupted, misuse};

/// Interval between checks for signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Stack of a worker: without optimisation the futures of edits need more than the usual 2 MB.
const STACK: usize = 16 << 20;

/// The runtime, and the process that started it.
static RUNTIME: OnceLock<(u32, Runtime)> = OnceLock::new();

/// A callback for progress.
pub(crate) type Progress = Option<Py<PyAny>>;

/// The first exception that a callback raised, on any thread. It ends the work that is waited for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Calls the callback with the number of units that were done since the last call, and their total if it is known, unless an earlier call raised an
    /// exception. Returns false if this or an earlier call raised one. Calls from several threads run one after the other; the calling thread must not
    /// hold the interpreter.
    pub(crate) fn call(&self, callback: &Py<PyAny>, done: u64, total: Option<u64>) -> bool {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Python::attach(|py| callback.call1(py, (done, total))).err();
        }
        first.is_none()
    }

    /// The exception. `None` if there is none, or while a callback runs.
    fn error(&self) -> Option<PyErr> {
        let first = self.0.try_lock().ok()?;
        Python::attach(|py| first.as_ref().map(|error| error.clone_ref(py)))
    }
}

/// The runtime, which starts at the first call.
///
/// # Errors
/// I/O: threads cannot be started. Misuse: a process that was forked after zvf was used, because fork does not copy the threads of
/// the runtime; a call from one of the runtime's own threads, such as from a progress callback.
pub(crate) fn runtime() -> PyResult<&'static Runtime> {
    if Handle::try_current().is_ok() {
        return Err(misuse(
            "found a call of zvf inside a callback of zvf, expected a call outside of callbacks",
        ));
    }
    let here = std::process::id();
    if RUNTIME.get().is_none() {
        let built = Builder::new_multi_thread()
            .thread_name("zvf")
            .thread_stack_size(STACK)
            .enable_all()
            .build()
            .map_err(|error| IoError::new_err(format!("cannot start threads: {error}")))?;
        // If another thread was faster, its runtime is used.
        if let Err((_, spare)) = RUNTIME.set((here, built)) {
            spare.shutdown_background();
        }
    }
    let Some((process, runtime)) = RUNTIME.get() else {
        return Err(crate::errors::bug("the runtime did not start"));
    };
    if *process != here {
        return Err(misuse(
            "found a process that was forked after zvf was used, expected one that was spawned: with multiprocessing, \
             get_context(\"spawn\") or \"forkserver\"",
        ));
    }
    Ok(runtime)
}

/// What an interrupt does to the work that is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OnInterrupt<'a> {
    /// The work is dropped: for reading.
    Drop,
    /// The work is asked to stop and may clean up; a second interrupt drops it: for writing.
    Ask(&'a Stop),
}

/// Waits for work with the interpreter detached, and polls for signals.
///
/// # Errors
/// Those of the work; the exception of the signal, such as `KeyboardInterrupt`.
pub(crate) fn wait<T, E>(
    py: Python<'_>,
    on: OnInterrupt<'_>,
    work: impl Future<Output = Result<T, E>> + Send,
) -> PyResult<T>
where
    T: Send,
    E: Into<Failure> + Send,
{
    wait_unless(py, on, &Raised::default(), work)
}

/// As [`wait`], but an exception that a callback of the work raises also ends the work, as an interrupt does.
///
/// # Errors
/// As [`wait`]; the exception of the callback.
pub(crate) fn wait_unless<T, E>(
    py: Python<'_>,
    on: OnInterrupt<'_>,
    raised: &Raised,
    work: impl Future<Output = Result<T, E>> + Send,
) -> PyResult<T>
where
    T: Send,
    E: Into<Failure> + Send,
{
    let runtime = runtime()?;
    // Boxed, so that waiting is compiled once for each type of result.
    let work: Pin<Box<dyn Future<Output = Result<T, E>> + Send + '_>> = Box::pin(work);
    py.detach(|| runtime.block_on(watched(work, on, raised)))
}

/// The work, watched for signals.
async fn watched<T, E: Into<Failure>>(
    work: Pin<Box<dyn Future<Output = Result<T, E>> + Send + '_>>,
    on: OnInterrupt<'_>,
    raised: &Raised,
) -> PyResult<T> {
    let mut work = work;
    let mut signal: Option<PyErr> = None;
    loop {
        match select(work.as_mut(), pin!(tokio::time::sleep(SIGNAL_INTERVAL))).await {
            Either::Left((done, _)) => {
                return match (signal.or_else(|| raised.error()), on) {
                    (Some(signal), _) => Err(signal),
                    (None, OnInterrupt::Ask(stop)) if done.is_err() && stop.is_asked() => {
                        Err(interrupted())
                    }
                    (None, _) => done.map_err(|error| error.into().into()),
                };
            }
            Either::Right(_) => {
                // An exception of a callback counts once. Afterwards the work stops by itself, or an interrupt drops it.
                let of_callback = raised.error().filter(|_| signal.is_none());
                let interrupt = Python::attach(|py| py.check_signals()).err();
                if let Some(error) = interrupt.or(of_callback) {
                    match on {
                        OnInterrupt::Ask(stop) if signal.is_none() => {
                            stop.ask();
                            signal = Some(error);
                        }
                        _ => return Err(error),
                    }
                }
            }
        }
    }
}

/// A report as JSON.
pub(crate) fn json_text(report: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(report)
        .map_err(|error| bug(&format!("cannot serialize a report: {error}")))
}
