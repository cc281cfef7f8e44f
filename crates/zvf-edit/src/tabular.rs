//! Finds columns of tables by meaning, whether a list is one column or one column per value.

use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType;
use zvf_encode::arrow::{OF_EDITS, elements, values};
use zvf_encode::error::OrBug;
use zvf_encode::{AttributeSpec, NumberType, StoreSpec, Values, WriteError};

use super::matching::{Coding, KeyState, TableElement, TableValues, each};

/// The columns of positions in a table with the column names `has`: one per axis, by its name, with the prefix `position_` if an attribute has that
/// name, or by its number. Sets of names that include the name of an attribute are tried last. If `loose`, also `x`, `y` and `z` if no axis has one
/// of these names. Empty if the table has no complete set of names.
#[must_use]
pub fn axis_columns(spec: &StoreSpec, loose: bool, has: impl Fn(&str) -> bool) -> Vec<String> {
    let axes = &spec.axes;
    let named = |prefix: &str| -> Vec<String> {
        let names = axes.iter().map(|axis| format!("{prefix}{}", axis.name));
        names.collect()
    };
    let numbered = (0..axes.len()).map(|at| format!("position_{at}"));
    let mut all = vec![named("position_"), named(""), numbered.collect()];
    // Attributes may be called `x` or `position_x`, too.
    all.sort_by_key(|names| {
        let mut attributes = spec.batch_attributes();
        attributes.any(|attribute| names.contains(&attribute.name))
    });
    let usual = ["x", "y", "z"];
    if loose && !axes.iter().any(|axis| usual.contains(&&*axis.name)) {
        let names = usual.iter().take(axes.len());
        all.push(names.map(|name| (*name).to_owned()).collect());
    }
    let mut all = all.into_iter();
    let found = all.find(|names| names.len() == axes.len() && names.iter().all(|name| has(name)));
    found.unwrap_or_default()
}

/// Converts a list column whose lists have equal lengths to lists of fixed size, because most libraries do not write these.
fn fixed<O: OffsetSizeTrait>(column: &ArrayRef) -> Option<ArrayRef> {
    let list = column.as_list_opt::<O>()?;
    let (DataType::List(item) | DataType::LargeList(item)) = column.data_type() else {
        return None;
    };
    let offsets = list.value_offsets();
    let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
    let width = last.checked_sub(first)?.checked_div(list.len())?;
    let lengths = offsets.windows(2).map(|pair| match pair {
        [start, end] => end.as_usize().checked_sub(start.as_usize()),
        _ => None,
    });
    let equal = lengths.into_iter().all(|length| length == Some(width));
    if !equal || width == 0 || list.null_count() > 0 {
        return None;
    }
    let items = list.values().slice(first, last - first);
    let size = i32::try_from(width).ok()?;
    let list = FixedSizeListArray::try_new(Arc::clone(item), size, items, None).ok()?;
    Some(Arc::new(list))
}

/// The column with this name. Lists of equal lengths become lists of fixed size.
pub(crate) fn plain(table: &RecordBatch, name: &str) -> Option<ArrayRef> {
    let column = table.column_by_name(name)?;
    let list = fixed::<i32>(column).or_else(|| fixed::<i64>(column));
    Some(list.unwrap_or_else(|| Arc::clone(column)))
}

/// The column with this name, or its values in the columns `name_0`, `name_1`, …
pub(crate) fn columns(table: &RecordBatch, name: &str) -> Vec<ArrayRef> {
    match plain(table, name) {
        Some(column) => vec![column],
        None => (0..)
            .map_while(|at: usize| plain(table, &format!("{name}_{at}")))
            .collect(),
    }
}

/// The columns of an attribute with `channels` values per row. With one value per row, a column `name_0` is not used.
pub(crate) fn attribute(table: &RecordBatch, name: &str, channels: usize) -> Vec<ArrayRef> {
    let of = |name: &str| match channels {
        0 | 1 => plain(table, name).into_iter().collect(),
        _ => columns(table, name),
    };
    let renamed: Vec<ArrayRef> = of(&format!("attribute:{name}"));
    match renamed.is_empty() && !OF_EDITS.contains(&name) {
        true => of(name),
        false => renamed,
    }
}

/// The columns of positions: one list, or one column per axis.
pub(crate) fn positions(table: &RecordBatch, spec: &StoreSpec) -> Vec<ArrayRef> {
    let dims = spec.axes.len();
    let list = plain(table, "position");
    let list = list.filter(|list| elements(list).is_ok_and(|(_, width)| width == dims));
    if let Some(list) = list {
        return vec![list];
    }
    let has = |name: &str| table.column_by_name(name).is_some();
    let names = axis_columns(spec, true, has).into_iter();
    names.filter_map(|name| plain(table, &name)).collect()
}

/// The number of values per row in some columns together.
pub(crate) fn width(columns: &[ArrayRef]) -> Result<usize, WriteError> {
    let mut width = 0;
    for column in columns {
        width += elements(column)?.1;
    }
    Ok(width)
}

/// The values of columns in the type of an attribute, with the elements of a row together; missing values become `fill`, if there is one.
///
/// # Errors
/// Misuse: no column, values that the type cannot represent. Malformed data: a missing number of a type without a value for absence, without `fill`.
pub(crate) fn fitted(
    table: &RecordBatch,
    one: &AttributeSpec,
    fill: Option<&TableValues<'_>>,
) -> Result<Values, WriteError> {
    let name = &one.name;
    let columns = attribute(table, name, one.channels);
    let gaps = fill.is_some() && columns.iter().any(has_gaps);
    match &*columns {
        [] => {
            let names = table.schema_ref().fields().iter();
            let names: Vec<&str> = names.map(|field| field.name().as_str()).collect();
            let expected = format!("one named {name}");
            return Err(WriteError::input("columns", names.join(", "), expected));
        }
        [column] if !gaps => return values(name, column)?.fitted(one),
        _ => {}
    }
    let Some(number) = one.values.number() else {
        let mut texts = LargeStringBuilder::with_capacity(table.num_rows(), 0);
        let none = match fill {
            Some(TableValues::Texts(texts)) => texts.first().copied().flatten(),
            _ => None,
        };
        for column in &columns {
            let found = values(name, column)?.fitted(one)?;
            if let Values::Text(found) = found {
                texts.extend(found.iter().map(|text| text.or(none)));
            }
        }
        return Ok(Values::Text(texts.finish()));
    };
    let (size, all) = (number.size(), width(&columns)?);
    let fill = match fill {
        Some(TableValues::Numbers { bytes, .. }) => bytes.get(..size),
        _ => None,
    };
    let mut bytes = vec![0; table.num_rows() * all * size];
    let (coding, mut offset) = (Coding::Number(number), 0);
    for column in &columns {
        let (_, numbers) = elements(column)?;
        each(name, column, |at, element| {
            let row = at.checked_div(numbers).or_bug("a list of no elements")?;
            let start = (row * all + offset + at % numbers) * size;
            let out = bytes.get_mut(start..start + size).or_bug("a value")?;
            let missing = matches!(element, TableElement::Missing);
            match (missing, fill, number.nan()) {
                (true, Some(fill), _) => out.copy_from_slice(fill),
                (true, None, Some(nan)) => out.copy_from_slice(&nan),
                _ if put_float(element, number, out) => {}
                _ if coding.put(element, out) == Some(KeyState::Given) => {}
                _ => {
                    let what = format!("column {name}, row {row}");
                    let expected = number.to_string();
                    return Err(WriteError::data(what, element.show(), expected));
                }
            }
            Ok(())
        })?;
        offset += numbers;
    }
    Ok(Values::of_bytes(number, &bytes))
}

/// Writes a float of a float column unchanged, including NaN and both zeros; `false` for other values, and for numbers beyond the type.
fn put_float(element: TableElement<'_>, number: NumberType, out: &mut [u8]) -> bool {
    let TableElement::Float(value) = element else {
        return false;
    };
    let one = Values::from(vec![value]);
    if one.first_beyond(number).is_some() {
        return false;
    }
    let bytes = one.bytes_as(number);
    bytes.inspect(|bytes| out.copy_from_slice(bytes)).is_some()
}

fn has_gaps(column: &ArrayRef) -> bool {
    let items = elements(column).map_or(0, |(items, _)| items.null_count());
    column.null_count() > 0 || items > 0
}

/// The ids or row numbers in a column; `None` for a missing value, or a number that is not a whole number of 64 bits.
///
/// # Errors
/// Malformed data: a value that is not a number.
pub(crate) fn wholes(name: &str, column: &ArrayRef) -> Result<Vec<Option<i128>>, WriteError> {
    let coding = Coding::Number(NumberType::I64);
    let wide = Coding::Number(NumberType::U64);
    let mut all = Vec::with_capacity(column.len());
    each(name, column, |row, element| {
        let mut bytes = [0; 8];
        let signed = coding.put(element, &mut bytes);
        let signed =
            (signed == Some(KeyState::Given)).then(|| i128::from(i64::from_le_bytes(bytes)));
        let found = match signed {
            Some(number) => Some(number),
            None => match wide.put(element, &mut bytes) {
                Some(KeyState::Given) => Some(i128::from(u64::from_le_bytes(bytes))),
                Some(_) => None,
                None => {
                    let what = format!("column {name}, row {row}");
                    let expected = "a whole number of 64 bits";
                    return Err(WriteError::data(what, element.show(), expected));
                }
            },
        };
        all.push(found);
        Ok(())
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;

    use super::*;

    fn table(columns: &[(&str, [Option<i64>; 2])]) -> RecordBatch {
        let columns = columns.iter().map(|(name, values)| {
            let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
            (*name, values)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    }

    /// Also if another value is missing and filled, and if a value is in several columns.
    #[test]
    fn values_that_the_type_does_not_hold_are_refused() {
        let seven = Values::from(vec![7_u8]);
        let fill = TableValues::new(&seven, 1).unwrap();
        let one = AttributeSpec::number("n", NumberType::U8);
        let fits = table(&[("n", [None, Some(255)])]);
        let found = fitted(&fits, &one, Some(&fill)).unwrap();
        assert_eq!(found, Values::from(vec![7_u8, 255]));
        let large = table(&[("n", [None, Some(256)])]);
        let told = fitted(&large, &one, Some(&fill)).unwrap_err().to_string();
        assert!(
            told.contains("column n, row 1: found 256, expected uint8"),
            "{told}"
        );

        let two = one.with_channels(2);
        let pairs = |last| table(&[("n_0", [Some(1), Some(2)]), ("n_1", [Some(3), last])]);
        let found = fitted(&pairs(Some(4)), &two, None).unwrap();
        assert_eq!(found, Values::from(vec![1_u8, 3, 2, 4]));
        let told = fitted(&pairs(Some(-1)), &two, None).unwrap_err();
        let told = told.to_string();
        assert!(
            told.contains("column n, row 1: found -1, expected uint8"),
            "{told}"
        );
        let told = fitted(&pairs(None), &two, None).unwrap_err().to_string();
        assert!(told.contains("column n, row 1: found nothing"), "{told}");
    }
}
