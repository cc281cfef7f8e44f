//! The interface of readers: a file of vertices as record batches.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use serde_json::Value;
use zvf_encode::error::OrBug;
use zvf_write::Kind;

use crate::error::{ConvertError, InFile};
use crate::frame::SourceHeader;

pub(crate) type TakeBatch<'a> = dyn FnMut(&RecordBatch) -> Result<(), ConvertError> + 'a;
pub(crate) type TakeLink<'a> = dyn FnMut(&[u64], InFile) -> Result<(), ConvertError> + 'a;

/// Key of a schema's metadata: the default column of objects.
pub(crate) const OBJECT: &str = "zvf.source.object";

/// Key of a schema's metadata: the column of positions, for formats that name it.
pub(crate) const POSITION: &str = "zvf.source.position";

/// Key of a schema's metadata: the names of the axes of the column of positions, as a list in JSON; empty if the file has no names.
pub(crate) const AXES: &str = "zvf.source.axes";

/// Key and value of a field's metadata that mark a column of UUIDs, of 16 bytes each.
pub(crate) const UUID: (&str, &str) = ("ARROW:extension:name", "arrow.uuid");

/// Key of a schema's metadata: the coordinate reference system, as JSON.
pub(crate) const CRS: &str = "zvf.crs";

/// The coordinate reference system in the schema of a table, if it is a JSON string.
pub(crate) fn stated_crs(schema: &Schema) -> Option<Value> {
    let crs = serde_json::from_str(schema.metadata().get(CRS)?).ok();
    crs.filter(Value::is_string)
}

/// An open file: its vertices as record batches of one schema, and its links. Each call reads the file again.
pub(crate) trait TableSource: std::fmt::Debug + Send + Sync {
    fn schema(&self) -> SchemaRef;

    /// Passes all vertices to `take`, in batches of about `rows` rows.
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

    /// Passes edges or faces to `take`; their ends are rows of the file.
    fn links(&self, _: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        Ok(())
    }

    /// The coordinate reference system of the positions, as a JSON string. Tables that queries write have it in their schema.
    fn crs(&self) -> Option<Value> {
        stated_crs(&self.schema())
    }

    /// The header to store, with the member `source`. Tables that were written from tractograms have it in their schema.
    fn header(&self) -> Option<Value> {
        SourceHeader::of_schema(&self.schema()).map(|header| header.stated())
    }

    /// Remarks on skipped data of the file.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Changes a batch of rows; the number is that of its first row in the file.
type ChangeBatch = dyn Fn(&RecordBatch, usize) -> Result<RecordBatch, ConvertError> + Send + Sync;

/// A file with changed columns.
pub(crate) struct ChangedColumns {
    source: Box<dyn TableSource>,
    schema: SchemaRef,
    change: Box<ChangeBatch>,
}

impl ChangedColumns {
    /// The file with `change` applied to each batch. The changed batches must have `schema`.
    pub(crate) fn new(
        source: Box<dyn TableSource>,
        schema: SchemaRef,
        change: impl Fn(&RecordBatch, usize) -> Result<RecordBatch, ConvertError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            source,
            schema,
            change: Box::new(change),
        }
    }
}

impl std::fmt::Debug for ChangedColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangedColumns")
            .field("source", &self.source)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl TableSource for ChangedColumns {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn vertices(&self, rows: usize, take: &mut TakeBatch<'_>) -> Result<(), ConvertError> {
        let mut first = 0_usize;
        self.source.vertices(rows, &mut |batch| {
            take(&(self.change)(batch, first)?)?;
            first = first.saturating_add(batch.num_rows());
            Ok(())
        })
    }

    fn linked(&self) -> Option<Kind> {
        self.source.linked()
    }

    fn links(&self, take: &mut TakeLink<'_>) -> Result<(), ConvertError> {
        self.source.links(take)
    }

    fn crs(&self) -> Option<Value> {
        self.source.crs()
    }

    fn header(&self) -> Option<Value> {
        self.source.header()
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }
}

/// A batch of these columns with another schema of the same types.
///
/// # Errors
/// Bug: columns of other types or lengths.
pub(crate) fn with_schema(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ConvertError> {
    let rows = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(SchemaRef::clone(schema), columns, &rows);
    Ok(batch.or_bug("columns of other types")?)
}
