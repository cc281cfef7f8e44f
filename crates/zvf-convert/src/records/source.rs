//! A file of vertices as record batches: the interface of readers.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use zvf_write::Kind;

use crate::error::{ConvertError, Place};

pub(crate) type TakeBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), ConvertError> + 'a;
pub(crate) type TakeLink<'a> = dyn FnMut(&[u64], Place) -> Result<(), ConvertError> + 'a;

/// Key in the metadata of a schema: the default column of objects.
pub(crate) const OBJECT: &str = "object";

/// Member of a field's metadata, and its value, of columns of identifiers of sixteen bytes.
pub(crate) const UUID: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// A file that was opened: its vertices as record batches of one schema, and its links. Each call reads the file again.
pub(crate) trait Source: std::fmt::Debug + Send + Sync {
    fn schema(&self) -> SchemaRef;

    /// Hands the vertices over, from the first, in batches of about so many rows.
    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError>;

    /// The kind that the links of the file make of it.
    fn linked(&self) -> Option<Kind> {
        None
    }

    /// Hands edges or faces over, by rows of the file.
    fn links(&self, _: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        Ok(())
    }

    /// Remarks on skipped data of the file.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
