//! Compares sets of rows by hashes.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_buffer::ToByteSlice;
use arrow_schema::{DataType, TimeUnit};
use zvf_store::format::int;

use crate::error::{OrBug, internal};
use crate::{QueryError, numbers};

/// Number of parts into which a set of rows is divided by hash.
const PARTS: usize = 1 << 16;

/// Most unmatched rows in memory; further ones are not counted.
const MOST_ROWS: usize = 1 << 18;

/// The hash of a value.
pub(super) fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The hashes of the rows of some columns, given by their names.
///
/// # Errors
///
/// Bug: a missing column.
pub(super) fn rows(batch: &RecordBatch, columns: &[String]) -> Result<Vec<u64>, QueryError> {
    let mut all = vec![0_u64; batch.num_rows()];
    for name in columns {
        let column = batch
            .column_by_name(name)
            .or_bug(format_args!("rows without {name}"))?;
        let found = values(column)?;
        for (row, one) in all.iter_mut().zip(found) {
            *row = hash(&(*row, one));
        }
    }
    Ok(all)
}

/// Calls a function with the type of a numeric column; `None` for other columns.
macro_rules! of_numbers {
    ($column:expr, $function:ident $(, $more:expr)*) => {
        match $column.data_type() {
            DataType::Int8 => $function::<Int8Type>($column $(, $more)*),
            DataType::Int16 => $function::<Int16Type>($column $(, $more)*),
            DataType::Int32 => $function::<Int32Type>($column $(, $more)*),
            DataType::Int64 => $function::<Int64Type>($column $(, $more)*),
            DataType::UInt8 => $function::<UInt8Type>($column $(, $more)*),
            DataType::UInt16 => $function::<UInt16Type>($column $(, $more)*),
            DataType::UInt32 => $function::<UInt32Type>($column $(, $more)*),
            DataType::UInt64 => $function::<UInt64Type>($column $(, $more)*),
            DataType::Float16 => $function::<Float16Type>($column $(, $more)*),
            DataType::Float32 => $function::<Float32Type>($column $(, $more)*),
            DataType::Float64 => $function::<Float64Type>($column $(, $more)*),
            DataType::Timestamp(TimeUnit::Second, _) => $function::<TimestampSecondType>($column $(, $more)*),
            DataType::Timestamp(TimeUnit::Millisecond, _) => $function::<TimestampMillisecondType>($column $(, $more)*),
            DataType::Timestamp(TimeUnit::Microsecond, _) => $function::<TimestampMicrosecondType>($column $(, $more)*),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => $function::<TimestampNanosecondType>($column $(, $more)*),
            DataType::Duration(TimeUnit::Second) => $function::<DurationSecondType>($column $(, $more)*),
            DataType::Duration(TimeUnit::Millisecond) => $function::<DurationMillisecondType>($column $(, $more)*),
            DataType::Duration(TimeUnit::Microsecond) => $function::<DurationMicrosecondType>($column $(, $more)*),
            DataType::Duration(TimeUnit::Nanosecond) => $function::<DurationNanosecondType>($column $(, $more)*),
            _ => None,
        }
    };
}

/// The hash of a missing value.
pub(super) const MISSING: u64 = 0;

/// The hashes of the values of a column. Floats are compared by their bits, categories by their texts.
///
/// # Errors
///
/// Bug: a column of another type.
pub(super) fn values(column: &ArrayRef) -> Result<Vec<u64>, QueryError> {
    fn of_number<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<Vec<u64>> {
        let array = array.as_primitive_opt::<T>()?;
        let one = |value: Option<T::Native>| match value {
            Some(value) => hash(&value.to_byte_slice()),
            None => MISSING,
        };
        Some(array.iter().map(one).collect())
    }
    fn of_text<'t, T: Hash + ?Sized + 't>(all: impl Iterator<Item = Option<&'t T>>) -> Vec<u64> {
        all.map(|one| one.map_or(MISSING, |text| hash(&text)))
            .collect()
    }
    let found = match column.data_type() {
        DataType::FixedSizeList(..) => {
            let (items, width) = numbers::elements(column);
            let items = values(&items)?;
            let rows = items.chunks(width.max(1)).enumerate();
            let one = |(row, items): (usize, &[u64])| match column.is_null(row) {
                true => MISSING,
                false => hash(&items),
            };
            Some(rows.map(one).collect())
        }
        DataType::Boolean => {
            (column.as_boolean_opt()).map(|all| all.iter().map(|one| hash(&one)).collect())
        }
        DataType::Utf8 => column.as_string_opt::<i32>().map(|all| of_text(all.iter())),
        DataType::Binary => column.as_binary_opt::<i32>().map(|all| of_text(all.iter())),
        DataType::Dictionary(..) => {
            let all = column
                .as_any_dictionary_opt()
                .or_bug("a column of another type")?;
            let categories = values(all.values())?;
            let keys = match categories.is_empty() {
                true => vec![0; all.len()],
                false => all.normalized_keys(),
            };
            let one = |(row, key): (usize, &usize)| match column.is_null(row) {
                true => Ok(MISSING),
                false => categories
                    .get(*key)
                    .copied()
                    .or_bug("a key without a category"),
            };
            Some(
                keys.iter()
                    .enumerate()
                    .map(one)
                    .collect::<Result<_, QueryError>>()?,
            )
        }
        _ => of_numbers!(column, of_number),
    };
    found.or_bug(format_args!("a column of type {}", column.data_type()))
}

/// A value as text.
pub(super) fn value_text(column: &ArrayRef, row: usize) -> String {
    fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Option<String> {
        Some(format!("{:?}", array.as_primitive_opt::<T>()?.value(row)))
    }
    if column.is_null(row) {
        return "null".to_owned();
    }
    let found = match column.data_type() {
        DataType::FixedSizeList(..) => {
            let (items, width) = numbers::elements(column);
            let all = (row * width..(row + 1) * width).map(|at| value_text(&items, at));
            Some(format!("({})", all.collect::<Vec<_>>().join(" ")))
        }
        DataType::Boolean => column
            .as_boolean_opt()
            .map(|all| all.value(row).to_string()),
        DataType::Utf8 => column
            .as_string_opt::<i32>()
            .map(|all| format!("{:?}", all.value(row))),
        DataType::Binary => column
            .as_binary_opt::<i32>()
            .map(|all| all.value(row).escape_ascii().to_string()),
        DataType::Dictionary(..) => column.as_any_dictionary_opt().map(|all| {
            let key = all.normalized_keys().get(row).copied();
            key.map_or_else(String::new, |key| value_text(all.values(), key))
        }),
        _ => of_numbers!(column, number, row),
    };
    found.unwrap_or_default()
}

/// The store of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Old,
    New,
}

/// The rows of both stores: in the first pass as sums of hashes, in the second pass single rows of the parts that differ.
#[derive(Debug)]
pub(super) struct RowSets {
    /// The number of rows in the old store minus the number in the new one, and the difference of the sums of their hashes.
    parts: Vec<(i64, u64)>,
    counts: [u64; 2],
    /// Unmatched rows of the parts that differ, by their hashes; `None` in the first pass.
    left: Option<HashMap<u64, Left>>,
    /// Whether some rows of parts that differ were not kept.
    overflowed: bool,
    /// Whether memory was full in a part that was to be kept.
    full: bool,
}

/// A row that one store has more often than the other.
#[derive(Debug, Clone)]
pub(super) struct Left {
    /// The number of copies in the old store minus the number in the new one.
    pub(super) more: i64,
    /// The place of the row, if it is not identified by its values only.
    pub(super) place: String,
    pub(super) text: String,
}

impl RowSets {
    pub(super) fn new() -> Self {
        Self {
            parts: vec![(0, 0); PARTS],
            counts: [0; 2],
            left: None,
            overflowed: false,
            full: false,
        }
    }

    /// Adds a row; `describe` returns its place and values.
    pub(super) fn add(
        &mut self,
        of: Of,
        hash: u64,
        describe: impl FnOnce() -> (String, String),
    ) -> Result<(), QueryError> {
        let sign: i64 = if of == Of::Old { 1 } else { -1 };
        let at = usize::try_from(hash >> 48)
            .ok()
            .or_bug("a hash beyond the parts")?;
        let part = self.parts.get_mut(at).or_bug("a hash beyond the parts")?;
        match &mut self.left {
            None => {
                let [old, new] = &mut self.counts;
                *(if of == Of::Old { old } else { new }) += 1;
                part.0 += sign;
                part.1 = match of {
                    Of::Old => part.1.wrapping_add(hash),
                    Of::New => part.1.wrapping_sub(hash),
                };
            }
            Some(_) if *part == (0, 0) => {}
            Some(left) => {
                self.full |= left.len() >= MOST_ROWS;
                match left.get_mut(&hash) {
                    Some(found) => {
                        found.more += sign;
                        if found.more == 0 {
                            left.remove(&hash);
                        }
                    }
                    // A row that was not kept may have its counterpart in the other store.
                    None if self.full => self.overflowed = true,
                    None => {
                        let (place, text) = describe();
                        left.insert(
                            hash,
                            Left {
                                more: sign,
                                place,
                                text,
                            },
                        );
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows of the old store and of the new one.
    pub(super) fn counts(&self) -> [u64; 2] {
        self.counts
    }

    /// Whether both stores have the same rows.
    pub(super) fn same(&self) -> bool {
        self.parts.iter().all(|part| *part == (0, 0))
    }

    /// Begins the second pass. It keeps the rows of as many of the parts that differ as memory allows.
    pub(super) fn begin_second_pass(&mut self) {
        self.left = Some(HashMap::new());
        let [old, new] = self.counts;
        let rows_of_part = old.max(new) / PARTS as u64 + 1;
        let most = (MOST_ROWS as u64 / rows_of_part).max(1);
        let mut kept = 0;
        for part in self.parts.iter_mut().filter(|part| **part != (0, 0)) {
            kept += 1;
            if kept > most {
                *part = (0, 0);
                self.overflowed = true;
            }
        }
    }

    /// The rows that only one store has, in the order of their places, and whether these are all.
    ///
    /// # Errors
    ///
    /// Bug: there was no second pass.
    pub(super) fn into_left(self) -> Result<(Vec<Left>, bool), QueryError> {
        let left = self.left.or_bug("rows without a second pass")?;
        let mut left: Vec<Left> = left.into_values().collect();
        internal!(
            !left.is_empty() || self.overflowed,
            "sums of equal rows differ"
        );
        left.sort_by(|a, b| {
            (&a.place, b.more.signum(), &a.text).cmp(&(&b.place, a.more.signum(), &b.text))
        });
        Ok((left, !self.overflowed))
    }
}

/// How many rows there are.
pub(super) fn length(batch: &RecordBatch) -> u64 {
    int::wide(batch.num_rows())
}

#[cfg(test)]
mod tests {
    use super::{MOST_ROWS, Of, RowSets};

    /// More rows than are kept: those that were not kept are in the other store as well.
    /// All rows of the first parts are equal, and more than are kept.
    #[test]
    fn rows_that_differ_after_many_equal_ones_are_found() {
        let mut sets = RowSets::new();
        let row = |number: u64| number << 40;
        let of = |last: u64| (0..1 << 23).chain([(1 << 23) + last]).map(row);
        for second in [false, true] {
            if second {
                sets.begin_second_pass();
            }
            for (side, last) in [(Of::Old, 0), (Of::New, 1)] {
                for hash in of(last) {
                    sets.add(side, hash, || (String::new(), hash.to_string()))
                        .unwrap();
                }
            }
        }
        let (left, all) = sets.into_left().unwrap();
        assert!(all && left.len() == 2);
    }

    #[test]
    fn equal_rows_beyond_those_that_are_kept_are_no_differences() {
        let mut sets = RowSets::new();
        let count = MOST_ROWS as u64 + 1000;
        let old = || 0..count;
        let new = || (1..count).chain([u64::from(u32::MAX)]);
        for second in [false, true] {
            if second {
                sets.begin_second_pass();
            }
            for hash in old() {
                sets.add(Of::Old, hash, || (String::new(), hash.to_string()))
                    .unwrap();
            }
            for hash in new() {
                sets.add(Of::New, hash, || (String::new(), hash.to_string()))
                    .unwrap();
            }
        }
        let (left, all) = sets.into_left().unwrap();
        assert!(!all);
        let found: Vec<_> = left
            .iter()
            .map(|one| (one.more, one.text.as_str()))
            .collect();
        assert_eq!(found, [(1, "0")]);
    }
}
