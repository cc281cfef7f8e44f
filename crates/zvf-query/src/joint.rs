//! The parts of a condition that refer to vertices and to objects: `fa > 0.5 or object.length > 40`, `x < start.x`.
//!
//! A vertex may belong to several objects. These parts are therefore tested for each fragment of an object, after the rows of its chunk were decoded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::MutableBuffer;
use zvf_store::{Names, RowValues, Store};

use crate::columns::attribute::Cell;
use crate::columns::gather::{Rows, gather};
use crate::condition_columns::Values;
use crate::error::OrBug;
use crate::filter::{BoundFilter, Expr, Find, Operand};
use crate::reader::{Decoded, Reader};
use crate::{Column, Outputs, Query, QueryError, Select, Table};

/// The parts of both, and the values of the objects that a query selects.
#[derive(Debug)]
pub(crate) struct Joint {
    /// The parts of vertices alone.
    of_rows: Option<Expr>,
    /// The parts of both; the names are those of `columns`, of attributes of vertices and of axes.
    condition: Expr,
    columns: Vec<(String, Values)>,
    /// The row of each object in the columns, by id.
    rows: HashMap<i64, usize>,
}

impl Joint {
    /// The parts of both for some objects, with a row of each in all columns.
    pub(crate) fn new(condition: Expr, ids: &[i64], columns: Vec<(String, Values)>) -> Self {
        let rows = ids.iter().enumerate();
        Self {
            of_rows: None,
            condition,
            columns,
            rows: rows.map(|(row, id)| (*id, row)).collect(),
        }
    }

    /// The same, with parts of vertices alone.
    pub(crate) fn and(self, of_rows: Option<Expr>) -> Self {
        Self { of_rows, ..self }
    }

    /// The parts of vertices alone.
    pub(crate) fn of_rows(&self) -> Option<&Expr> {
        self.of_rows.as_ref()
    }

    /// Whether a name is of objects.
    pub(crate) fn is_of_object(&self, name: &str) -> bool {
        self.columns.iter().any(|(column, _)| column == name)
    }
}

/// A [`Joint`], resolved for the columns of a level.
#[derive(Debug, Clone)]
pub(crate) struct BoundJoint {
    filter: BoundFilter,
    joint: Arc<Joint>,
    /// For each column of the reader, and then for the positions, whether it is tested.
    tested: Vec<bool>,
}

impl BoundJoint {
    /// Resolves the condition. `find` returns the number and type of an attribute, or of an axis of the positions, whose number is `columns`.
    ///
    /// # Errors
    ///
    /// As [`BoundFilter::bind`].
    pub(crate) fn bind(
        joint: &Arc<Joint>,
        columns: usize,
        find: &Find<'_>,
    ) -> Result<Self, QueryError> {
        let filter = BoundFilter::bind(&joint.condition, &|name| {
            // The columns of objects are the operands after the positions.
            let own = (columns.saturating_add(1)..).zip(&joint.columns);
            let mut own = own.filter(|(_, (column, _))| column == name);
            match own.next() {
                Some((number, (_, values))) => Ok((number, values.operand_type())),
                None => find(name),
            }
        })?;
        let mut tested = vec![false; columns.saturating_add(1)];
        for name in joint.condition.names() {
            if !joint.is_of_object(&name)
                && let Some(tested) = tested.get_mut(find(&name)?.0)
            {
                *tested = true;
            }
        }
        Ok(Self {
            filter,
            joint: Arc::clone(joint),
            tested,
        })
    }

    /// Notes about parts of the condition that are easily misunderstood.
    pub(crate) fn remarks(&self) -> &[String] {
        &self.filter.remarks
    }

    /// Drops the rows of a fragment of an object that do not satisfy the condition, together with their positions in the fragment.
    ///
    /// # Errors
    ///
    /// The faults of the condition, with the chunk. Bug: an object that the query does not select.
    pub(crate) fn retain(
        &self,
        (reader, chunk): (&Reader, &Decoded),
        id: i64,
        rows: &mut Vec<u32>,
        positions: &mut Vec<u32>,
    ) -> Result<(), QueryError> {
        let object = self.joint.rows.get(&id).copied();
        let object = object.or_bug("a condition without the values of an object")?;
        let constants = (self.joint.columns.iter())
            .map(|(_, values)| values.row(object).map(Operand::Constant))
            .collect::<Option<Vec<_>>>()
            .or_bug("an object without values")?;
        let holds = self.holds((reader, chunk), &constants, rows)?;
        for list in [rows, positions] {
            let mut holds = holds.iter();
            list.retain(|_| holds.next() == Some(&true));
        }
        Ok(())
    }

    fn holds(
        &self,
        (reader, chunk): (&Reader, &Decoded),
        constants: &[Operand<'_>],
        rows: &[u32],
    ) -> Result<Vec<bool>, QueryError> {
        // The numbers of stored values of short cells: a cell has all or none of the rows between two of them.
        let ends = chunk.cells.iter().filter_map(|cell| match cell {
            Cell::Short { rows, .. } => Some(*rows),
            _ => None,
        });
        let mut ends: Vec<u32> = ends.collect();
        ends.sort_unstable();
        ends.dedup();
        let mut holds = vec![false; rows.len()];
        let (mut own, mut places) = (Vec::new(), Vec::new());
        for range in 0..=ends.len() {
            own.clear();
            places.clear();
            for (place, row) in rows.iter().enumerate() {
                if ends.partition_point(|end| end <= row) == range {
                    own.push(*row);
                    places.push(place);
                }
            }
            let (Some(first), Some(rows)) = (own.first(), (!own.is_empty()).then_some(&own)) else {
                continue;
            };
            let values = |values: &RowValues| {
                let mut bytes = MutableBuffer::new(0);
                gather(values, Rows::List(rows), &mut bytes)?;
                Ok::<_, QueryError>(bytes)
            };
            let is_tested = |number: usize| self.tested.get(number) == Some(&true);
            let mut buffers = Vec::with_capacity(self.tested.len());
            for (number, cell) in chunk.cells.iter().enumerate() {
                let stored = match cell {
                    Cell::Rows { values, .. } => Some(values),
                    Cell::Short { values, rows, .. } => (first < rows).then_some(values),
                    _ => None,
                };
                let stored = stored.filter(|_| is_tested(number));
                buffers.push(stored.map(values).transpose()?);
            }
            let positions = is_tested(chunk.cells.len()).then(|| values(&chunk.positions));
            let positions = positions.transpose()?;
            let cells = chunk.cells.iter().zip(&buffers);
            let cells = cells.map(|(cell, buffer)| match (cell, buffer) {
                (Cell::Rows { width, .. } | Cell::Short { width, .. }, Some(bytes)) => {
                    Operand::Rows {
                        bytes,
                        width: *width,
                    }
                }
                (Cell::Short { .. }, None) => Operand::Missing,
                (Cell::Rows { .. }, None) => Operand::Unread,
                (other, _) => other.operand(),
            });
            let width = reader.position.dims;
            let positions = positions
                .as_ref()
                .map_or(Operand::Unread, |bytes| Operand::Rows { bytes, width });
            let operands: Vec<Operand<'_>> = cells
                .chain([positions])
                .chain(constants.iter().copied())
                .collect();
            let truths = self.filter.eval(rows.len(), &operands);
            let truths =
                truths.map_err(|fault| reader.faulty(reader.table.get(chunk.slot), fault))?;
            for (place, truth) in places.iter().zip(truths) {
                if let Some(holds) = holds.get_mut(*place) {
                    *holds = BoundFilter::holds(truth);
                }
            }
        }
        Ok(holds)
    }
}

/// Replaces a condition on both in a query of whole objects by the ids of the objects with a row that satisfies all conditions.
///
/// # Cost
///
/// Nothing without such a condition; else that of the query for rows, without its columns.
///
/// # Errors
///
/// Those of the query.
pub(crate) async fn whole_objects(store: &Store, query: Query) -> Result<Query, QueryError> {
    let is_joint = query.filter.iter().any(|filter| filter.joint().is_some());
    if !is_joint || query.select != Select::Objects {
        return Ok(query);
    }
    let rows = Query {
        relation: None,
        select: Select::Vertices,
        limit: None,
        attributes: Names::None,
        columns: vec![Column::ObjectId],
        outputs: Outputs {
            vertices: true,
            links: false,
            objects: false,
        },
        ..query.clone()
    };
    let mut answer = crate::query(store, rows).await?;
    let mut hits: HashSet<i64> = HashSet::new();
    while let Some((table, batch)) = answer.next().await? {
        let ids = batch.column_by_name("object_id");
        let ids = ids.filter(|_| table == Table::Vertices);
        let ids = ids.and_then(|ids| ids.as_primitive_opt::<Int64Type>());
        hits.extend(ids.or_bug("rows of objects without ids")?.values());
    }
    let mut objects = query.objects.or_bug("objects that were not chosen")?;
    objects.retain(|id| hits.contains(id));
    Ok(Query {
        objects: Some(objects),
        groups: None,
        bbox: None,
        region: None,
        filter: None,
        ..query
    })
}
