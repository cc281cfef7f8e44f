//! Files as Arrow record batches, without a store.

use arrow_array::RecordBatch;
use zvf_write::{Batch, Groups, ObjectTable, StoreSpec, WriteError};

use crate::error::ConvertError;
use crate::import::Import;
use crate::sink::Sink;

/// A part of the data of files, as tables in the form that queries return; see [`zvf_write::arrow`].
#[derive(Debug, Clone, PartialEq)]
pub enum Imported {
    /// Vertices, and their links if the kind stores links. Either one may be empty.
    Vertices(RecordBatch, Option<RecordBatch>),
    /// Objects.
    Objects(RecordBatch),
    /// All groups, one row each.
    Groups(RecordBatch),
}

/// A sink that passes record batches to a caller.
struct RecordBatchSink<'a, T, E> {
    spec: &'a StoreSpec,
    /// Vertices so far.
    first: u64,
    take: T,
    /// The error of the caller, which ends the reading.
    refused: Option<E>,
}

impl<T: FnMut(Imported) -> Result<(), E>, E> RecordBatchSink<'_, T, E> {
    fn give(&mut self, part: Imported) -> Result<(), WriteError> {
        (self.take)(part).map_err(|error| {
            self.refused = Some(error);
            // Ends the reading; the caller gets its own error.
            WriteError::Broken {
                what: "the record batches were refused".to_owned(),
            }
        })
    }
}

impl<T: FnMut(Imported) -> Result<(), E>, E> Sink for RecordBatchSink<'_, T, E> {
    fn batch(&mut self, batch: &Batch) -> Result<(), WriteError> {
        let (vertices, links) = batch.to_records(self.spec, self.first)?;
        self.first = self.first.saturating_add(vertices.num_rows() as u64);
        self.give(Imported::Vertices(vertices, links))
    }

    fn objects(&mut self, table: &ObjectTable) -> Result<(), WriteError> {
        self.give(Imported::Objects(table.to_records(self.spec)?))
    }

    fn groups(&mut self, groups: &Groups) -> Result<(), WriteError> {
        self.give(Imported::Groups(groups.to_records(self.spec)?))
    }
}

impl Import {
    /// Reads the files again, as Arrow record batches: the vertices, links, objects and groups that [`read`](Self::read) gives to a writer,
    /// in the same order, with the types, names and units of [`spec`](Self::spec). All tables of one sort have one schema. Links name
    /// vertices by their numbers, counted from 0 through all batches.
    ///
    /// [`Batch::from_records`] and its counterparts convert them back for a writer, which makes the same store from them.
    ///
    /// ```
    /// use zvf_convert::{ConvertError, Import, Imported, Options};
    ///
    /// # fn main() -> Result<(), ConvertError> {
    /// # let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/real");
    /// let neuron = format!("{testdata}/1734350788.swc");
    /// let import = Import::open(&[neuron.into()], &Options::default())?;
    /// let (mut nodes, mut edges) = (0, 0);
    /// import.record_batches(|part| {
    ///     if let Imported::Vertices(vertices, links) = part {
    ///         assert!(vertices.column_by_name("position").is_some());
    ///         assert!(vertices.column_by_name("radius").is_some());
    ///         nodes += vertices.num_rows();
    ///         edges += links.map_or(0, |links| links.num_rows());
    ///     }
    ///     Ok::<_, ConvertError>(())
    /// })?;
    /// assert_eq!((nodes as u64, edges as u64), (import.vertices(), import.links()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cost
    /// As [`read`](Self::read): the memory of one batch, and of its record batches.
    ///
    /// # Errors
    /// As [`read`](Self::read), and the errors of `take`; reading ends with the first error.
    pub fn record_batches<E: From<ConvertError>>(
        &self,
        take: impl FnMut(Imported) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut sink = RecordBatchSink {
            spec: self.spec(),
            first: 0,
            take,
            refused: None,
        };
        let read = self.read(&mut sink);
        match sink.refused {
            Some(error) => Err(error),
            None => Ok(read?),
        }
    }
}
