//! The vertex table: its columns and batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use crate::QueryError;
use crate::columns::arrow;
use crate::columns::attribute::Column;
use crate::columns::gather::{Kept, Rows, gather};
use crate::columns::point::{GEOMETRY, Points};
use crate::error::{OrBug, Place};
use crate::numbers::floats;
use crate::objects::free_name;
use crate::reader::{Decoded, Reader};
use zvf_store::format::int;

/// Name of the column [`Out::Pick`].
pub(crate) const PICK: &str = "zvf.pick";

/// One resolved column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Out {
    Position,
    /// The coordinates of one axis.
    Axis(usize),
    /// The position as a point in well-known binary.
    Geometry,
    Chunk,
    Row,
    Fragment,
    ObjectId,
    ObjectIds,
    /// The number of the row's object among the selected ones. Only in the answer of one level of a chain, as the last column.
    Pick,
    /// A column of the reader.
    Attribute(usize),
}

impl Out {
    /// The name of a column whose name does not depend on the store.
    fn own_name(&self) -> Option<&'static str> {
        match self {
            Self::Position => Some("position"),
            Self::Chunk => Some("chunk"),
            Self::Row => Some("row"),
            Self::Fragment => Some("fragment"),
            Self::ObjectId => Some("object_id"),
            Self::ObjectIds => Some("object_ids"),
            Self::Pick => Some(PICK),
            Self::Axis(_) | Self::Geometry | Self::Attribute(_) => None,
        }
    }
}

/// The columns of the table before their widths are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct TablePlan {
    pub(crate) outs: Vec<Out>,
    pub(crate) metadata: HashMap<String, String>,
    /// The names of the axes.
    pub(crate) axes: Vec<String>,
    /// The conversion of positions to points, if [`Out::Geometry`] is a column.
    pub(crate) points: Option<Points>,
}

impl TablePlan {
    /// Whether a column is in the table.
    pub(crate) fn has(&self, out: Out) -> bool {
        self.outs.contains(&out)
    }

    fn points(&self) -> Result<&Points, QueryError> {
        self.points
            .as_ref()
            .or_bug("a column of points without axes")
    }

    /// Whether a column needs positions.
    pub(crate) fn has_positions(&self) -> bool {
        let mut outs = self.outs.iter();
        outs.any(|out| matches!(out, Out::Position | Out::Axis(_) | Out::Geometry))
    }

    /// Bytes of a gathered row in computed columns, which are not read from an array of the store.
    pub(crate) fn computed_bytes(&self, key_rank: usize) -> usize {
        let bytes = |out: &Out| match out {
            Out::Chunk => key_rank.saturating_mul(size_of::<i64>()),
            Out::Row | Out::Fragment => size_of::<u64>(),
            Out::Geometry => self.points.as_ref().map_or(0, Points::row_bytes),
            Out::ObjectId
            | Out::ObjectIds
            | Out::Pick
            | Out::Position
            | Out::Axis(_)
            | Out::Attribute(_) => 0,
        };
        self.outs.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Bytes of a row in [`OwnerColumns`].
    pub(crate) fn owner_bytes(&self) -> usize {
        let bytes = |out: &Out| match out {
            Out::ObjectId => size_of::<i64>(),
            Out::ObjectIds => size_of::<Vec<i64>>() + size_of::<i64>(),
            _ => 0,
        };
        self.outs.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// For each column, whether its type is assumed, because the level lacks the attribute or no cell and no document gave its width.
    pub(crate) fn guessed(&self, reader: &Reader, widths: &[Option<usize>]) -> Vec<bool> {
        let guessed = |out: &Out| match out {
            Out::Attribute(index) => {
                let is_known = widths.get(*index).copied().flatten().is_some();
                let column = reader.columns.get(*index);
                column
                    .is_some_and(|column| column.absent || (!is_known && column.declared.is_none()))
            }
            _ => false,
        };
        self.outs.iter().map(guessed).collect()
    }

    /// Whether the width of a column is unknown and may be found in chunks that were not read yet.
    pub(crate) fn is_open(&self, reader: &Reader, widths: &[Option<usize>]) -> bool {
        let columns = reader.columns.iter().zip(widths).enumerate();
        columns.into_iter().any(|(index, (column, width))| {
            width.is_none()
                && column.declared.is_none()
                && self.has(Out::Attribute(index))
                && reader.has_cells(column)
        })
    }

    /// The schema, given the width of every column of the reader.
    pub(crate) fn schema(
        &self,
        reader: &Reader,
        widths: &[Option<usize>],
    ) -> Result<SchemaRef, QueryError> {
        let mut fields = Vec::with_capacity(self.outs.len());
        let element = arrow::element_type(reader.position.dtype).unwrap_or(DataType::Null);
        for out in &self.outs {
            fields.push(match out {
                Out::Axis(axis) => {
                    let axis = self.axes.get(*axis).or_bug("no such axis")?;
                    Field::new(free_name(axis, &fields), element.clone(), false)
                }
                Out::Geometry => self.points()?.field(free_name(GEOMETRY, &fields)),
                Out::Position => {
                    let element = element.clone();
                    Field::new(
                        "position",
                        arrow::fixed_list(element, reader.position.dims),
                        false,
                    )
                }
                Out::Chunk => {
                    let chunk = arrow::fixed_list(DataType::Int64, reader.level.key_rank());
                    arrow::placed(Field::new("chunk", chunk, false))
                }
                Out::Row => arrow::placed(Field::new("row", DataType::UInt64, false)),
                Out::Fragment => arrow::placed(Field::new("fragment", DataType::UInt64, true)),
                Out::ObjectId => Field::new("object_id", DataType::Int64, true),
                Out::Pick => Field::new(PICK, DataType::UInt32, false),
                Out::ObjectIds => {
                    let item = Arc::new(Field::new("item", DataType::Int64, true));
                    arrow::placed(Field::new("object_ids", DataType::List(item), false))
                }
                Out::Attribute(index) => {
                    let column = reader.columns.get(*index).or_bug("no such column")?;
                    let width = width_of(reader, widths, *index);
                    let field = column.field(width).ok_or_else(|| {
                        let place = Place::array(
                            reader.number,
                            &format!("vertex_attributes/{}", column.name),
                        );
                        QueryError::unsupported(place, format!("dtype {}", column.dtype))
                    })?;
                    // A later column may have the same name.
                    let own = self.outs.iter().filter_map(Out::own_name);
                    match own.into_iter().any(|own| own == column.name) {
                        true => field.with_name(format!("attribute:{}", column.name)),
                        false => field.with_name(free_name(&column.name, &fields)),
                    }
                }
            });
        }
        Ok(Arc::new(Schema::new_with_metadata(
            fields,
            self.metadata.clone(),
        )))
    }
}

/// Width of a column: from the cells, else from the document, else 1.
pub(crate) fn width_of(reader: &Reader, widths: &[Option<usize>], index: usize) -> usize {
    let found = widths.get(index).copied().flatten();
    found
        .or_else(|| reader.columns.get(index).and_then(|column| column.declared))
        .unwrap_or(1)
}

/// Collects the rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) rows: usize,
    pub(crate) position: MutableBuffer,
    /// One for each column of the reader; empty for columns that the table does not have.
    pub(crate) columns: Vec<Column>,
    pub(crate) chunk: Vec<i64>,
    pub(crate) row: Vec<u64>,
    /// [`NO_FRAGMENT`] for rows without a fragment.
    pub(crate) fragment: Vec<u64>,
}

/// The number for rows without a fragment.
pub(crate) const NO_FRAGMENT: u64 = u64::MAX;

/// Owners of the rows of a batch, if the table has such columns.
#[derive(Debug, Default)]
pub(crate) struct OwnerColumns {
    pub(crate) first: Int64Builder,
    pub(crate) all: Vec<Vec<i64>>,
    pub(crate) picks: Vec<u32>,
    /// Rows with several owners.
    pub(crate) shared: u64,
}

impl OwnerColumns {
    /// No owners, with capacity for the first owner of `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            first: Int64Builder::with_capacity(rows),
            ..Self::default()
        }
    }
}

impl Gathered {
    /// An empty batch with a capacity of `rows` rows.
    pub(crate) fn with_capacity(plan: &TablePlan, reader: &Reader, rows: usize) -> Self {
        let bytes = |row: usize| int::wide(rows).saturating_mul(int::wide(row));
        let mut found = Self::default();
        if plan.has_positions() {
            found.position = arrow::buffer(bytes(reader.position.row_bytes()));
        }
        if plan.has(Out::Chunk) {
            let rank = reader.level.key_rank();
            found.chunk.reserve_exact(rows.saturating_mul(rank));
        }
        if plan.has(Out::Row) {
            found.row.reserve_exact(rows);
        }
        if plan.has(Out::Fragment) {
            found.fragment.reserve_exact(rows);
        }
        for (index, column) in reader.columns.iter().enumerate() {
            found.columns.push(if plan.has(Out::Attribute(index)) {
                Column::with_capacity(bytes(column.row_bytes()).min(16 << 20))
            } else {
                Column::default()
            });
        }
        found
    }

    /// Appends rows of a chunk. `fragment` is their fragment, if all of them are of the same one.
    pub(crate) fn push(
        &mut self,
        plan: &TablePlan,
        reader: &Reader,
        chunk: &Decoded,
        pick: Rows<'_>,
        fragment: Option<u32>,
    ) -> Result<(), QueryError> {
        if plan.has_positions() {
            gather(&chunk.positions, pick, &mut self.position)?;
        }
        for out in &plan.outs {
            match out {
                Out::Chunk => {
                    let coord = reader.table.get(chunk.slot);
                    for _ in 0..pick.len() {
                        self.chunk.extend_from_slice(coord);
                    }
                }
                Out::Row => self.row.extend(pick.iter().map(u64::from)),
                Out::Fragment => self.push_fragments(chunk, pick, fragment),
                Out::Attribute(index) => {
                    let found = self
                        .columns
                        .get_mut(*index)
                        .zip(reader.columns.get(*index))
                        .zip(chunk.cells.get(*index));
                    if let Some(((column, spec), cell)) = found {
                        column.push(cell, pick)?.map_err(|what| {
                            let place = reader.column_place(spec, reader.table.get(chunk.slot));
                            QueryError::malformed(place, what)
                        })?;
                    }
                }
                Out::Position
                | Out::Axis(_)
                | Out::Geometry
                | Out::ObjectId
                | Out::ObjectIds
                | Out::Pick => {}
            }
        }
        self.rows = self.rows.saturating_add(pick.len());
        Ok(())
    }

    fn push_fragments(&mut self, chunk: &Decoded, pick: Rows<'_>, fragment: Option<u32>) {
        let count = pick.len();
        let Some(fragments) = &chunk.fragments else {
            self.fragment
                .extend(std::iter::repeat_n(NO_FRAGMENT, count));
            return;
        };
        if let Some(fragment) = fragment.filter(|_| fragments.disjoint()) {
            self.fragment
                .extend(std::iter::repeat_n(u64::from(fragment), count));
            return;
        }
        let of = fragments.of_rows(chunk.rows, &Kept::All(chunk.rows));
        self.fragment.extend(pick.iter().map(|row| {
            of.get(int::index(row))
                .filter(|fragment| **fragment != u32::MAX)
                .map_or(NO_FRAGMENT, |fragment| u64::from(*fragment))
        }));
    }

    /// Approximate bytes of the rows.
    pub(crate) fn bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::bytes).sum();
        let numbers = self.chunk.len() + self.row.len() + self.fragment.len();
        self.position.len() + columns + 8 * numbers
    }

    /// Sets the unknown widths of columns from the gathered cells.
    pub(crate) fn widths(&self, into: &mut [Option<usize>]) {
        for (into, column) in into.iter_mut().zip(&self.columns) {
            *into = into.or(column.width);
        }
    }

    /// The finished batch.
    pub(crate) fn finish(
        mut self,
        plan: &TablePlan,
        reader: &Reader,
        schema: &SchemaRef,
        widths: &[Option<usize>],
        mut owners: OwnerColumns,
    ) -> Result<RecordBatch, QueryError> {
        let rows = self.rows;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(plan.outs.len());
        let wrong = |column: &str| {
            let place = Place::array(reader.number, column);
            move |error: ArrowError| QueryError::malformed(place, error.to_string())
        };
        let positions = match plan.has_positions() {
            true => {
                let dtype = reader.position.little_dtype();
                let bytes = std::mem::take(&mut self.position);
                Some(arrow::elements(dtype, bytes, None).map_err(wrong("vertices"))?)
            }
            false => None,
        };
        let positions = || positions.clone().or_bug("positions that were not gathered");
        for out in &plan.outs {
            arrays.push(match out {
                Out::Position => {
                    let items = positions()?;
                    let field = Field::new("item", items.data_type().clone(), false);
                    arrow::list(field, reader.position.dims, items, rows, None)
                        .map_err(wrong("vertices"))?
                }
                Out::Axis(axis) => {
                    let (first, step) = (int::wide(*axis), int::wide(reader.position.dims));
                    let rows = (0..int::wide(rows))
                        .map(|row| first.saturating_add(row.saturating_mul(step)));
                    let rows = UInt64Array::from_iter_values(rows);
                    take(&*positions()?, &rows, None).map_err(wrong("vertices"))?
                }
                Out::Geometry => {
                    let numbers = floats(&positions()?).values;
                    plan.points()?.array(&numbers, reader.position.dims)?
                }
                Out::Chunk => {
                    let items = Arc::new(Int64Array::from(std::mem::take(&mut self.chunk)));
                    let field = Field::new("item", DataType::Int64, false);
                    arrow::list(field, reader.level.key_rank(), items, rows, None)
                        .map_err(wrong("vertices"))?
                }
                Out::Row => arrow::counts(std::mem::take(&mut self.row)),
                Out::Fragment => {
                    let fragments = std::mem::take(&mut self.fragment);
                    let found = BooleanBuffer::from_iter(
                        fragments.iter().map(|fragment| *fragment != NO_FRAGMENT),
                    );
                    let nulls = Some(NullBuffer::new(found)).filter(|nulls| nulls.null_count() > 0);
                    Arc::new(UInt64Array::new(fragments.into(), nulls))
                }
                Out::ObjectId => Arc::new(owners.first.finish()),
                Out::Pick => Arc::new(UInt32Array::from(std::mem::take(&mut owners.picks))),
                Out::ObjectIds => {
                    let mut list = ListBuilder::new(Int64Builder::new());
                    for ids in std::mem::take(&mut owners.all) {
                        list.values().append_slice(&ids);
                        list.append(true);
                    }
                    Arc::new(list.finish())
                }
                Out::Attribute(index) => {
                    let (Some(column), Some(spec)) =
                        (self.columns.get_mut(*index), reader.columns.get(*index))
                    else {
                        continue;
                    };
                    let width = width_of(reader, widths, *index);
                    if let Some(found) = column.width.filter(|found| *found != width) {
                        let place = Place::array(
                            reader.number,
                            &format!("vertex_attributes/{}", spec.name),
                        );
                        let what = format!(
                            "found {found} values a row, expected {width} as in other chunks"
                        );
                        return Err(QueryError::malformed(place, what));
                    }
                    spec.finish(std::mem::take(column), width, rows)
                        .map_err(wrong(&format!("vertex_attributes/{}", spec.name)))?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)
            .map_err(wrong("vertices"))
    }
}
