//! Tests the rows of a fragment with the values of its object.
//!
//! A vertex may belong to several objects. Parts of a condition that refer to vertices and to objects are therefore tested for each fragment of an
//! object, after the rows of its chunk were decoded.

use arrow_buffer::MutableBuffer;
use zvf_store::RowValues;

use crate::QueryError;
use crate::columns::attribute::Cell;
use crate::columns::gather::{Rows, gather};
use crate::error::internal;
use crate::filter::{BoundFilter, BoundJoint, Operand};
use crate::reader::{Decoded, Reader};

/// Drops the rows of a fragment of an object that do not satisfy the condition, together with their positions in the fragment.
///
/// # Errors
///
/// The faults of the condition, with the chunk. Bug: an object that the query does not select.
pub(super) fn retain(
    joint: &BoundJoint,
    (reader, chunk): (&Reader, &Decoded),
    id: i64,
    rows: &mut Vec<u32>,
    positions: &mut Vec<u32>,
) -> Result<(), QueryError> {
    let holds = holds(joint, (reader, chunk), &joint.object(id)?, rows)?;
    for list in [rows, positions] {
        let mut holds = holds.iter();
        list.retain(|_| holds.next() == Some(&true));
    }
    Ok(())
}

/// Whether each row satisfies the condition with the values of an object.
fn holds(
    joint: &BoundJoint,
    (reader, chunk): (&Reader, &Decoded),
    constants: &[Operand<'_>],
    rows: &[u32],
) -> Result<Vec<bool>, QueryError> {
    // The rows at which short cells end. Between two of these ends, each cell has values for all rows or for none.
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
        let Some(first) = own.first() else {
            continue;
        };
        let values = |values: &RowValues| {
            let mut bytes = MutableBuffer::new(0);
            gather(values, Rows::List(&own), &mut bytes)?;
            Ok::<_, QueryError>(bytes)
        };
        let mut buffers = Vec::with_capacity(chunk.cells.len());
        for (number, cell) in chunk.cells.iter().enumerate() {
            let stored = match cell {
                Cell::Rows { values, .. } => Some(values),
                Cell::Short { values, rows, .. } => (first < rows).then_some(values),
                _ => None,
            };
            let stored = stored.filter(|_| joint.tests(number));
            buffers.push(stored.map(values).transpose()?);
        }
        let positions = joint
            .tests(chunk.cells.len())
            .then(|| values(&chunk.positions));
        let positions = positions.transpose()?;
        let cells = chunk.cells.iter().zip(&buffers);
        let cells = cells.map(|(cell, buffer)| match (cell, buffer) {
            (Cell::Rows { width, .. } | Cell::Short { width, .. }, Some(bytes)) => Operand::Rows {
                bytes,
                width: *width,
            },
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
        let truths = joint.filter().eval(own.len(), &operands);
        let truths = truths.map_err(|fault| reader.faulty(reader.table.get(chunk.slot), fault))?;
        internal!(truths.len() == places.len(), "truths of other rows");
        for (place, truth) in places.iter().zip(truths) {
            if let Some(holds) = holds.get_mut(*place) {
                *holds = BoundFilter::holds(truth);
            }
        }
    }
    Ok(holds)
}
