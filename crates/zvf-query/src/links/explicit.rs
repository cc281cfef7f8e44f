//! Kinds with stored links, such as graphs and meshes: the records are the links (`zvf-0.9`, section 14.1).

use arrow_array::RecordBatch;

use super::records::RecordCell;
use super::table::{LinkSink, LinkTable};
use crate::QueryError;
use crate::row_map::RowMap;

/// The links of some cells whose endpoints are all in the answer, in the order of the records.
///
/// # Errors
///
/// Malformed link attributes.
pub(crate) fn batch(
    table: &LinkTable,
    cells: &[RecordCell],
    kept: &RowMap,
) -> Result<RecordBatch, QueryError> {
    let records = cells.iter().map(|cell| cell.keys.len()).sum::<usize>();
    let mut sink = LinkSink::new(table, records.checked_div(table.width).unwrap_or(0));
    let mut vertices = vec![0_u64; table.width];
    let mut rows = Vec::new();
    for cell in cells {
        rows.clear();
        for (at, keys) in cell.keys.chunks_exact(table.width).enumerate() {
            let mut all = true;
            for (vertex, key) in vertices.iter_mut().zip(keys) {
                match kept.global(*key) {
                    Some(global) => *vertex = global,
                    None => all = false,
                }
            }
            if all {
                sink.push_vertices(vertices.iter().copied());
                rows.push(cell.row(at));
            }
        }
        sink.push_attributes(cell, &rows)?;
    }
    sink.finish()
}
