//! Output to stdout and to terminals.

pub(crate) mod interrupt;
pub(crate) mod table;
#[cfg(feature = "plot")]
pub(crate) mod terminal;

use std::io::{self, BufWriter, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::error::{CliError, Result};

/// Bytes gathered before a file or pipe is written to.
pub(crate) const BUFFER: usize = 1 << 18;

/// Whether something was printed on stdout.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether stdout has a document or a table already, at least in part.
pub(crate) fn is_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Locks stdout, and records that something is printed.
fn out() -> StdoutLock<'static> {
    PRINTED.store(true, Ordering::Relaxed);
    io::stdout().lock()
}

/// Prints one JSON document on stdout.
///
/// # Errors
///
/// I/O.
pub(crate) fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, out());
    serde_json::to_writer_pretty(&mut out, document)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}

/// Prints text on stdout.
///
/// # Errors
///
/// I/O.
pub(crate) fn print_text(text: &str) -> Result<()> {
    let mut out = out();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}

/// Writes bytes on stdout.
///
/// # Errors
///
/// I/O.
#[cfg(feature = "plot")]
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = out();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|e| CliError::stdout(&e))
}
