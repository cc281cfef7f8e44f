//! A file of vertices as record batches: the interface of readers.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use serde_json::Value;
use zvf_write::Kind;

use crate::error::{ConvertError, InFile};
use crate::frame::SourceHeader;

pub(crate) type TakeBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), ConvertError> + 'a;
pub(crate) type TakeLink<'a> = dyn FnMut(&[u64], InFile) -> Result<(), ConvertError> + 'a;

/// Key in the metadata of a schema: the default column of objects.
pub(crate) const OBJECT: &str = "zvf.source.object";

/// Key in the metadata of a schema: the column of positions, of formats that name it.
pub(crate) const POSITION: &str = "zvf.source.position";

/// Member of a schema's metadata: the names of the axes of a column of positions, as a list in JSON; empty if the file has no names.
pub(crate) const AXES: &str = "zvf.source.axes";

/// Member of a field's metadata, and its value, of columns of identifiers of sixteen bytes.
pub(crate) const UUID: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// Member of a schema's metadata: the coordinate reference system, as JSON.
pub(crate) const CRS: &str = "zvf.crs";

/// The text of the coordinate reference system that the schema of a table states.
pub(crate) fn stated_crs(schema: &Schema) -> Option<Value> {
    let crs = serde_json::from_str(schema.metadata().get(CRS)?).ok();
    crs.filter(Value::is_string)
}

/// An open file: its vertices as record batches of one schema, and its links. Each call reads the file again.
pub(crate) trait TableSource: std::fmt::Debug + Send + Sync {
    fn schema(&self) -> SchemaRef;

    /// Passes on all vertices, in batches of about `rows` rows.
    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError>;

    /// Like [`vertices`](Self::vertices), but batches may have only the first `columns` columns if that is cheaper.
    fn first_columns(
        &self,
        rows: usize,
        _columns: usize,
        take: &mut TakeBatch<'_>,
    ) -> Result<(), ConvertError> {
        self.vertices(rows, take)
    }

    /// The kind that the links of the file imply.
    fn linked(&self) -> Option<Kind> {
        None
    }

    /// Passes on edges or faces, whose ends are rows of the file.
    fn links(&self, _: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        Ok(())
    }

    /// The coordinate reference system of the positions: a text. Tables that queries write state it in their schema.
    fn crs(&self) -> Option<Value> {
        stated_crs(&self.schema())
    }

    /// The header to store, with the member `source`. Tables that were written from tractograms state it in their schema.
    fn header(&self) -> Option<Value> {
        SourceHeader::of_schema(&self.schema()).map(|header| header.stated())
    }

    /// Remarks on skipped data of the file.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
