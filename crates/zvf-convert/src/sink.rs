//! The receiver of data from readers.

use zvf_write::{Batch, Groups, ObjectTable, StoreWriter, WriteError};

/// A receiver of batches, such as a [`StoreWriter`].
pub trait Sink {
    /// Takes vertices.
    ///
    /// # Errors
    /// The errors of the sink; reading ends there.
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError>;

    /// Takes objects.
    ///
    /// # Errors
    /// The errors of the sink; reading ends there.
    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError>;

    /// Takes all groups, once.
    ///
    /// # Errors
    /// The errors of the sink; reading ends there.
    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError>;
}

/// Skips data that the journal of the writer already has, so that an interrupted import can start over.
impl Sink for StoreWriter {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        match self.skip_batch(batch)? {
            true => Ok(()),
            false => self.push(batch),
        }
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        match self.skip_objects(table)? {
            true => Ok(()),
            false => self.push_objects(table),
        }
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        match self.skip_groups(groups)? {
            true => Ok(()),
            false => self.set_groups(groups),
        }
    }
}
