//! A file to which requests are appended: a line of JSON for each, as with `--trace-io` of the program.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use serde_json::json;
use zvf_store::{IoTrace, Request};

use crate::errors::IoError;

/// A record of requests, and the file to which they are appended. Several processes may append to one file: the lines of one write stay
/// together.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    file: Mutex<File>,
    record: IoTrace,
}

impl TraceFile {
    /// Opens the file for appending, and creates it if it does not exist.
    ///
    /// # Errors
    /// I/O: the file cannot be opened.
    pub(crate) fn new(path: &Path) -> PyResult<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path);
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file.map_err(|error| failed(path, &error))?),
            record: IoTrace::on(),
        })
    }

    /// The record that a store fills.
    pub(crate) fn record(&self) -> IoTrace {
        self.record.clone()
    }

    /// Appends the requests that were recorded since the last call.
    ///
    /// # Errors
    /// I/O: the file cannot be written.
    pub(crate) fn write(&self) -> PyResult<()> {
        // Taken under the lock, so that lines have the order of the record.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: String = self.record.take().iter().map(line).collect();
        file.write_all(lines.as_bytes())
            .map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> PyErr {
    IoError::new_err(format!(
        "{}: cannot write the trace: {error}",
        path.display()
    ))
}

/// One request as a line.
fn line(request: &Request) -> String {
    let document = json!({
        "round": request.round,
        "method": request.method.to_string(),
        "key": request.key,
        "offset": request.offset,
        "length": request.length,
        "bytes": request.bytes,
        "microseconds": request.micros,
        "attempt": request.attempt,
        "failed": request.failed,
    });
    format!("{document}\n")
}
