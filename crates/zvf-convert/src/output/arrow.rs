//! Arrow IPC file format.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions};
use arrow_schema::{ArrowError, Schema};

use super::{TableWriter, batch_with_times, with_times};

/// Writes one table as an Arrow IPC file.
pub struct ArrowWriter<W: Write> {
    inner: FileWriter<W>,
}

impl<W: Write> std::fmt::Debug for ArrowWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").finish_non_exhaustive()
    }
}

impl<W: Write> ArrowWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// When the header cannot be written.
    pub fn new(out: W, schema: &Schema) -> io::Result<Self> {
        // The file format allows one dictionary for each column, which later batches may only extend by deltas; all batches of an answer have the
        // same dictionary.
        let options =
            IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
        let inner = FileWriter::try_new_with_options(out, &with_times(schema), options)
            .map_err(io_error)?;
        Ok(Self { inner })
    }
}

impl<W: Write> TableWriter for ArrowWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.inner
            .write(&batch_with_times(batch)?)
            .map_err(io_error)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.inner.finish().map_err(io_error)?;
        self.inner.get_mut().flush()
    }
}

/// The I/O error inside an Arrow error, or the Arrow error as an I/O error.
fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}
