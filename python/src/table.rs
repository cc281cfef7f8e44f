//! Tables: record batches in memory, which are passed to and from Python without copies.

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrays;
use crate::border::{STREAM, take_stream};
use crate::errors::{LimitError, misuse};

/// Name of a schema capsule in the Arrow PyCapsule interface.
const SCHEMA: &CStr = c"arrow_schema";

/// Record batches of one schema.
#[pyclass(frozen, module = "zvf._zvf")]
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl From<zvf_query::RowSample> for Table {
    fn from(found: zvf_query::RowSample) -> Self {
        Self {
            schema: found.schema,
            batches: found.batches,
        }
    }
}

#[pymethods]
impl Table {
    /// Reads all batches of an Arrow stream, table or batch.
    #[staticmethod]
    fn of_stream(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = stream_of(source)?;
        let schema = reader.schema();
        let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>());
        let batches = batches.map_err(|error| foreign(&error))?;
        Ok(Self { schema, batches })
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn num_batches(&self) -> usize {
        self.batches.len()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        let sizes = self.batches.iter();
        sizes.map(RecordBatch::get_array_memory_size).sum()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        names(&self.schema)
    }

    /// Arrow types of the columns, as text.
    #[getter]
    fn column_types(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.data_type().to_string()).collect()
    }

    /// Metadata of the schema.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (key, value) in self.schema.metadata() {
            found.set_item(key, value)?;
        }
        Ok(found)
    }

    /// One batch as a table.
    fn batch(&self, at: usize) -> PyResult<Self> {
        let batch = self.batches.get(at).ok_or_else(|| {
            misuse(format!(
                "found batch {at}, expected one below {}",
                self.batches.len()
            ))
        })?;
        Ok(Self {
            schema: self.schema.clone(),
            batches: vec![batch.clone()],
        })
    }

    /// The whole schema, with its metadata, as an Arrow IPC stream without batches.
    fn schema_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut data = Vec::new();
        let written = StreamWriter::try_new(&mut data, &self.schema);
        let written = written.and_then(|mut writer| writer.finish());
        written.map_err(|error| misuse(format!("{error}")))?;
        Ok(PyBytes::new(py, &data))
    }

    /// A table without rows, with the schema that [`schema_bytes`](Self::schema_bytes) wrote.
    #[staticmethod]
    fn of_schema_bytes(data: &[u8]) -> PyResult<Self> {
        let reader = StreamReader::try_new(data, None).map_err(|error| foreign(&error))?;
        Ok(Self {
            schema: reader.schema(),
            batches: Vec::new(),
        })
    }

    /// A table of these columns.
    fn select(&self, columns: Vec<String>) -> PyResult<Self> {
        let places = columns
            .iter()
            .map(|name| {
                self.schema.index_of(name).map_err(|_| {
                    misuse(format!(
                        "found column {name:?}, expected one of {}",
                        names(&self.schema).join(", ")
                    ))
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let fail = |error| misuse(format!("{error}"));
        let schema = self.schema.project(&places).map_err(fail)?;
        let batches = self.batches.iter();
        Ok(Self {
            schema: schema.into(),
            batches: batches
                .map(|batch| batch.project(&places).map_err(fail))
                .collect::<PyResult<_>>()?,
        })
    }

    /// At most `length` rows from row `offset` on, without a copy.
    fn slice(&self, offset: usize, length: usize) -> Self {
        let (mut skip, mut left) = (offset, length);
        let mut batches = Vec::new();
        for batch in &self.batches {
            let rows = batch.num_rows();
            if skip >= rows {
                skip -= rows;
                continue;
            }
            let take = left.min(rows - skip);
            if take == 0 {
                break;
            }
            batches.push(batch.slice(skip, take));
            (skip, left) = (0, left - take);
        }
        Self {
            schema: self.schema.clone(),
            batches,
        }
    }

    /// What NumPy needs of each column: see `zvf/_arrays.py`.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let whole = py.detach(|| self.whole())?;
        let fields = self.schema.fields().iter().zip(whole.columns());
        fields
            .map(|(field, column)| arrays::column(py, field.name(), column))
            .collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets the producer ignore the requested schema; the consumer then casts.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        stream_capsule(py, Box::new(reader))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| foreign(&error))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

impl Table {
    /// All rows in one batch; several batches are copied.
    fn whole(&self) -> PyResult<RecordBatch> {
        match self.batches.as_slice() {
            [] => Ok(RecordBatch::new_empty(self.schema.clone())),
            [one] => Ok(one.clone()),
            batches => {
                let joined = arrow_select::concat::concat_batches(&self.schema, batches);
                joined.map_err(|error| {
                    LimitError::new_err(format!(
                        "the rows do not fit into one array, read them batch by batch: {error}"
                    ))
                })
            }
        }
    }
}

/// An Arrow stream that is not read yet, and its schema.
#[pyclass(frozen, module = "zvf._zvf")]
pub(crate) struct Stream {
    schema: SchemaRef,
    reader: Mutex<Option<Reader>>,
}

/// The batches of a stream.
type Reader = Box<dyn RecordBatchReader + Send>;

impl Stream {
    fn lock(&self) -> MutexGuard<'_, Option<Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Stream {
    /// Takes the stream of an Arrow stream, table or batch.
    #[staticmethod]
    fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let reader = stream_of(source)?;
        Ok(Self {
            schema: reader.schema(),
            reader: Mutex::new(Some(reader)),
        })
    }

    /// The columns, as a table without rows.
    fn schema(&self) -> Table {
        Table {
            schema: self.schema.clone(),
            batches: Vec::new(),
        }
    }
}

/// A reader of batches as a capsule. The capsule frees the reader, unless a consumer takes it out.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The batches of an Arrow stream, table or batch of any package. Dictionaries of numbers, such as pandas makes of categories, become columns of
/// numbers.
///
/// # Errors
/// Misuse: an object without `__arrow_c_stream__`; a stream that was read already, or that fails. The exceptions of `__arrow_c_stream__`.
pub(crate) fn stream_of(source: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if let Ok(table) = source.cast::<Table>() {
        let table = table.get().clone();
        let batches = table.batches.into_iter().map(Ok);
        return Ok(Box::new(RecordBatchIterator::new(batches, table.schema)));
    }
    if let Ok(stream) = source.cast::<Stream>() {
        let taken = stream.get().lock().take();
        return taken
            .ok_or_else(|| misuse("found a stream that was read already, expected a new one"));
    }
    if !source.hasattr("__arrow_c_stream__")? {
        return Err(misuse(format!(
            "found {}, expected an Arrow table or stream: an object with __arrow_c_stream__",
            source.get_type().name()?
        )));
    }
    let capsule = source.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|error| misuse(format!("__arrow_c_stream__: {error}")))?;
    let reader = take_stream(&capsule)?;
    let schema = reader.schema();
    let plain = zvf_convert::decoded_schema(&schema);
    if plain == schema {
        return Ok(Box::new(reader));
    }
    let wanted = plain.clone();
    let batches = reader.map(move |batch| zvf_convert::decoded(&wanted, &batch?));
    Ok(Box::new(RecordBatchIterator::new(batches, plain)))
}

/// The exception for an error of the stream of another package.
pub(crate) fn foreign(error: &arrow_schema::ArrowError) -> PyErr {
    misuse(format!("the Arrow stream failed: {error}"))
}

fn names(schema: &SchemaRef) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().clone()).collect()
}
