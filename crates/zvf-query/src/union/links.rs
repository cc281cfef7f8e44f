//! Renumbers the links of one level for the vertex table of the chain.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, DataType};

/// The positions of the rows of one level in the table of the chain, as ranges in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    /// For each range: first row of the level, number of rows, first row in the chain's table.
    stretches: Vec<(u64, u64, u64)>,
    next: u64,
}

impl Placement {
    /// Places the next rows of the level.
    pub(crate) fn push(&mut self, rows: u64, out: u64) {
        match self.stretches.last_mut() {
            Some((_, count, start)) if *start + *count == out => *count += rows,
            _ if rows > 0 => self.stretches.push((self.next, rows, out)),
            _ => {}
        }
        self.next += rows;
    }

    /// The new number of a row; `None` if it is after the limit.
    fn of(&self, row: u64) -> Option<u64> {
        let after = self.stretches.partition_point(|(first, ..)| *first <= row);
        let (first, count, out) = *self.stretches.get(after.checked_sub(1)?)?;
        (row - first < count).then(|| out + (row - first))
    }
}

/// Renumbers the column `vertices` of a link table; links with an end that is not in the answer are left out.
///
/// # Errors
///
/// A table of another shape.
pub(crate) fn renumbered(
    batch: &RecordBatch,
    placement: &Placement,
) -> Result<RecordBatch, ArrowError> {
    let wrong = || ArrowError::SchemaError("a link table without vertices".to_owned());
    let (at, field) = batch
        .schema_ref()
        .column_with_name("vertices")
        .ok_or_else(wrong)?;
    let list = batch
        .column(at)
        .as_fixed_size_list_opt()
        .ok_or_else(wrong)?;
    let width = usize::try_from(list.value_length())
        .map_err(|_| wrong())?
        .max(1);
    let ends = list
        .values()
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(wrong)?;
    let mut rows = Vec::with_capacity(ends.len());
    let mut whole = Vec::with_capacity(batch.num_rows());
    for ends in ends.values().chunks_exact(width) {
        let before = rows.len();
        rows.extend(ends.iter().filter_map(|end| placement.of(*end)));
        let all = rows.len() - before == width;
        if !all {
            rows.resize(before + width, 0);
        }
        whole.push(all);
    }
    let DataType::FixedSizeList(item, length) = field.data_type() else {
        return Err(wrong());
    };
    let items: ArrayRef = Arc::new(UInt64Array::from(rows));
    let list = FixedSizeListArray::try_new(Arc::clone(item), *length, items, None)?;
    let mut columns = batch.columns().to_vec();
    *columns.get_mut(at).ok_or_else(wrong)? = Arc::new(list);
    let batch = RecordBatch::try_new(batch.schema(), columns)?;
    if whole.contains(&false) {
        return arrow_select::filter::filter_record_batch(&batch, &BooleanArray::from(whole));
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{Field, Schema};

    #[test]
    fn rows_go_where_their_stretch_went() {
        let mut placement = Placement::default();
        placement.push(2, 10);
        placement.push(0, 12);
        placement.push(1, 12);
        placement.push(2, 20);
        assert_eq!(placement.stretches, [(0, 3, 10), (3, 2, 20)]);
        let found: Vec<_> = (0..6).map(|row| placement.of(row)).collect();
        assert_eq!(
            found,
            [Some(10), Some(11), Some(12), Some(20), Some(21), None]
        );
        assert_eq!(Placement::default().of(0), None);
    }

    #[test]
    fn links_beyond_the_cut_are_left_out() {
        let item = Arc::new(Field::new("item", DataType::UInt64, false));
        let items: ArrayRef = Arc::new(UInt64Array::from(vec![0, 1, 1, 2, 2, 0]));
        let list = FixedSizeListArray::try_new(Arc::clone(&item), 2, items, None).unwrap();
        let weight: ArrayRef = Arc::new(UInt64Array::from(vec![7, 8, 9]));
        let fields = vec![
            Field::new("vertices", DataType::FixedSizeList(item, 2), false),
            Field::new("w", DataType::UInt64, true),
        ];
        let batch =
            RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(list), weight])
                .unwrap();
        let mut placement = Placement::default();
        placement.push(2, 5);
        let found = renumbered(&batch, &placement).unwrap();
        assert_eq!(found.num_rows(), 1);
        let ends = found.column(0).as_fixed_size_list().value(0);
        assert_eq!(ends.as_primitive::<UInt64Type>().values(), &[5, 6]);
        assert_eq!(found.column(1).as_primitive::<UInt64Type>().values(), &[7]);
    }
}
