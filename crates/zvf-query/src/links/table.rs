//! The link table: batches of `vertices` and link attributes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::records::{Family, RecordCell};
use crate::QueryError;
use crate::columns::arrow;
use crate::columns::attribute::Column;
use crate::columns::gather::Rows;
use crate::error::Place;
use crate::objects::free_name;

/// The schema of the link table.
#[derive(Debug, Clone)]
pub(crate) struct LinkTable {
    pub(crate) schema: SchemaRef,
    pub(crate) width: usize,
    /// The stored family, if any.
    pub(crate) family: Option<Arc<Family>>,
}

impl LinkTable {
    /// The table of a family; without one, the table of implied links.
    ///
    /// # Errors
    ///
    /// Unsupported: an attribute whose type has no Arrow type.
    pub(crate) fn new(
        family: Option<Arc<Family>>,
        metadata: HashMap<String, String>,
    ) -> Result<Self, QueryError> {
        let width = family.as_ref().map_or(2, |family| family.width()).max(1);
        let list = arrow::fixed_list(DataType::UInt64, width);
        let mut fields = vec![Field::new("vertices", list, false)];
        if let Some(family) = &family {
            for column in &family.columns {
                let field = column.field(column.declared.unwrap_or(1)).ok_or_else(|| {
                    let place =
                        Place::array(family.level, &format!("link_attributes/{}", column.name));
                    QueryError::unsupported(place, format!("dtype {}", column.dtype))
                })?;
                fields.push(field.with_name(free_name(&column.name, &fields)));
            }
        }
        Ok(Self {
            schema: Arc::new(Schema::new_with_metadata(fields, metadata)),
            width,
            family,
        })
    }
}

/// Builds one batch of links.
#[derive(Debug)]
pub(crate) struct LinkSink {
    table: LinkTable,
    vertices: Vec<u64>,
    columns: Vec<Column>,
}

impl LinkSink {
    /// An empty batch with a capacity of `links` links.
    pub(crate) fn new(table: &LinkTable, links: usize) -> Self {
        let columns = table
            .family
            .iter()
            .flat_map(|family| &family.columns)
            .map(|_| Column::default())
            .collect();
        let room = links.saturating_mul(table.width).min(1 << 22);
        Self {
            table: table.clone(),
            vertices: Vec::with_capacity(room),
            columns,
        }
    }

    /// Number of links.
    pub(crate) fn len(&self) -> usize {
        self.vertices
            .len()
            .checked_div(self.table.width)
            .unwrap_or(0)
    }

    /// Whether the table has attributes, so that links must be pushed with them.
    pub(crate) fn has_attributes(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Appends a link without attributes to a table without attributes.
    pub(crate) fn push_pair(&mut self, a: u64, b: u64) {
        self.vertices.extend_from_slice(&[a, b]);
    }

    /// Appends the links `first`-`first + 1` to `last - 1`-`last` to a table without attributes.
    pub(crate) fn push_run(&mut self, first: u64, last: u64) {
        let before = self.vertices.len();
        let links = usize::try_from(last.saturating_sub(first)).unwrap_or(0);
        self.vertices
            .resize(before.saturating_add(links.saturating_mul(2)), 0);
        let (pairs, _) = self
            .vertices
            .get_mut(before..)
            .unwrap_or(&mut [])
            .as_chunks_mut::<2>();
        for (pair, row) in pairs.iter_mut().zip(first..last) {
            *pair = [row, row + 1];
        }
    }

    /// Appends the vertices of one link; the caller then appends its attributes.
    pub(crate) fn push_vertices(&mut self, vertices: impl Iterator<Item = u64>) {
        self.vertices.extend(vertices);
    }

    /// Appends attributes of stored records, by row of their cell.
    ///
    /// # Errors
    ///
    /// Malformed: rows of another width than in other cells.
    pub(crate) fn push_attributes(
        &mut self,
        cell: &RecordCell,
        rows: &[u32],
    ) -> Result<(), QueryError> {
        let Some(family) = &self.table.family else {
            return Ok(());
        };
        for ((column, spec), values) in self
            .columns
            .iter_mut()
            .zip(&family.columns)
            .zip(&cell.attributes)
        {
            column.push(values, Rows::List(rows))?.map_err(|what| {
                let path = format!("link_attributes/{}", spec.name);
                QueryError::malformed(Place::cell(family.level, &path, &cell.at.source), what)
            })?;
        }
        Ok(())
    }

    /// Appends missing attributes for `count` implied links.
    pub(crate) fn push_missing(&mut self, count: usize) {
        let Some(family) = &self.table.family else {
            return;
        };
        for column in self.columns.iter_mut().take(family.columns.len()) {
            column.push_missing(count);
        }
    }

    /// The finished batch.
    ///
    /// # Errors
    ///
    /// Malformed: values that their type does not allow.
    pub(crate) fn finish(self) -> Result<RecordBatch, QueryError> {
        let rows = self.len();
        let level = self.table.family.as_ref().map(|family| family.level);
        let wrong = |error: arrow_schema::ArrowError| {
            let place = Place {
                level,
                array: Some("links".to_owned()),
                ..Place::default()
            };
            QueryError::malformed(place, error.to_string())
        };
        let items: ArrayRef = Arc::new(UInt64Array::from(self.vertices));
        let field = Field::new("item", DataType::UInt64, false);
        let mut arrays =
            vec![arrow::list(field, self.table.width, items, rows, None).map_err(wrong)?];
        if let Some(family) = &self.table.family {
            for (column, spec) in self.columns.into_iter().zip(&family.columns) {
                let width = spec.declared.unwrap_or(1);
                arrays.push(spec.finish(column, width, rows).map_err(wrong)?);
            }
        }
        RecordBatch::try_new(Arc::clone(&self.table.schema), arrays).map_err(wrong)
    }
}
