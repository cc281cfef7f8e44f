//! Parquet files: the table as it is, compressed with Zstandard. With a column of geometries they are GeoParquet.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::geoparquet::{self, GeoColumns};
use super::{TableWriter, batch_with_times, with_times};

/// Rows of a row group, which is in memory until it is written.
const ROWS: usize = 1 << 17;

/// Writes one table as a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    inner: ArrowWriter<W>,
    geometries: GeoColumns,
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").finish_non_exhaustive()
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file with the metadata of the schema.
    ///
    /// # Cost
    /// Holds up to 131 072 encoded rows in memory.
    ///
    /// # Errors
    ///
    /// When the head cannot be written, or a column is of a type that Parquet does not have.
    pub fn new(out: W, schema: &Schema) -> io::Result<Self> {
        let mut pairs: Vec<(&String, &String)> = schema.metadata().iter().collect();
        pairs.sort_unstable();
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let properties = WriterProperties::builder()
            .set_created_by("zvf".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROWS))
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let geometries = GeoColumns::of(schema);
        let schema = Arc::new(with_times(schema));
        let inner = ArrowWriter::try_new(out, schema, Some(properties)).map_err(io_error)?;
        Ok(Self { inner, geometries })
    }
}

impl<W: Write + Send> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.geometries.see(batch);
        self.inner
            .write(&batch_with_times(batch)?)
            .map_err(io_error)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if let Some(geo) = self.geometries.document() {
            let pair = KeyValue::new(geoparquet::KEY.to_owned(), geo);
            self.inner.append_key_value_metadata(pair);
        }
        self.inner.finish().map_err(io_error)?;
        self.inner.inner_mut().flush()
    }
}

/// The I/O error inside a Parquet error, or the Parquet error as one.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
