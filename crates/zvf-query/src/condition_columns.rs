//! Columns of values that conditions on objects and groups are evaluated on.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use zvf_store::format::dtype::{DTypeKind, TimeUnit};
use zvf_store::meta::moments::MISSING;

use crate::QueryError;
use crate::columns::scalar::moments;
use crate::error::OrBug;
use crate::filter::{
    BoundExpression, BoundFilter, Expr, Fault, Function, Operand, OperandType, Val, Values,
};

/// Names and functions of a part, as columns of a table of objects or groups.
pub(crate) fn columns_of(part: &Expr) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    part.each(&mut |part| {
        let name = match part {
            Expr::Name { name, .. } => name.clone(),
            Expr::Call(function @ (Function::Length | Function::Count), _) => {
                format!("{}()", function.name())
            }
            _ => return,
        };
        if !found.contains(&name) {
            found.push(name);
        }
    });
    found
}

/// The rows that satisfy all parts. Adds notes about the parts to `remarks`, each once.
pub(crate) fn satisfying(
    parts: Vec<Expr>,
    columns: &HashMap<String, Values>,
    rows: usize,
    remarks: &mut Vec<String>,
) -> Result<Vec<usize>, QueryError> {
    let Some(condition) = Expr::joined(parts) else {
        return Ok((0..rows).collect());
    };
    let tested = TestedColumns::of(columns);
    let bound = BoundFilter::bind(&condition, &|name| tested.find(name))?;
    for remark in &bound.remarks {
        if !remarks.contains(remark) {
            remarks.push(remark.clone());
        }
    }
    let operands = tested.operands();
    let truths = bound.eval(rows, &operands);
    let truths = truths.map_err(misuse)?;
    let holds = |(row, truth): (usize, u8)| BoundFilter::holds(truth).then_some(row);
    Ok(truths.into_iter().enumerate().filter_map(holds).collect())
}

/// The values of an expression for each row, with the unit of dates, times and durations. `numbers`: see [`BoundExpression::eval`].
pub(crate) fn computed(
    expression: &Expr,
    columns: &HashMap<String, Values>,
    rows: usize,
    numbers: &DataType,
) -> Result<(ArrayRef, Option<String>), QueryError> {
    let tested = TestedColumns::of(columns);
    let bound = BoundExpression::bind(expression, &|name| tested.find(name))?;
    let values = bound.eval(rows, &tested.operands(), numbers);
    Ok((values.map_err(misuse)?, bound.unit()))
}

fn misuse(fault: Fault) -> QueryError {
    fault.error(|name, what| QueryError::misuse(format!("{name}: {what}")))
}

/// Columns as operands.
struct TestedColumns<'c>(Vec<(&'c String, &'c Values)>);

impl<'c> TestedColumns<'c> {
    fn of(columns: &'c HashMap<String, Values>) -> Self {
        Self(columns.iter().collect())
    }

    /// The number and type of a column.
    fn find(&self, name: &str) -> Result<(usize, OperandType), QueryError> {
        let mut columns = self.0.iter().enumerate();
        let found = columns.find(|(_, (one, _))| *one == name);
        let (at, (_, column)) = found.or_bug("a column that was not read")?;
        Ok((at, column.operand_type()))
    }

    fn operands(&self) -> Vec<Operand<'c>> {
        let operand = |(_, column): &(&'c String, &'c Values)| Operand::Values {
            values: &column.values,
            width: column.width,
        };
        self.0.iter().map(operand).collect()
    }
}

/// The part of a condition that the columns decide. Rows that do not satisfy this part do not satisfy the whole condition.
pub(crate) fn decided(condition: &Expr, columns: &HashMap<String, Values>) -> Expr {
    let is_known = |test: &Expr| {
        let names = columns_of(test);
        names.iter().all(|name| columns.contains_key(name))
    };
    condition.at_best(true, &is_known)
}

/// The values of a column of a table, with dates and times as their own types; `None` for a type without single values.
pub(crate) fn values_of(array: &dyn Array, unit: Option<&String>) -> Option<Values> {
    let mut found = values(array)?;
    if let Some(kind) = moments(array.data_type(), unit) {
        found.kind = kind;
        let missing = Val::Int(MISSING.into());
        let values = found.values.iter_mut().filter(|value| **value == missing);
        values.for_each(|value| *value = Val::Null);
    }
    Some(found)
}

/// The values of an Arrow array; `None` for a type without single values.
fn values(array: &dyn Array) -> Option<Values> {
    fn numbers<T: ArrowPrimitiveType>(
        array: &dyn Array,
        value: impl Fn(T::Native) -> Val<'static>,
    ) -> Option<Vec<Val<'static>>> {
        let array = array.as_primitive_opt::<T>()?;
        let values = array.iter().map(|one| one.map_or(Val::Null, &value));
        Some(values.collect())
    }
    macro_rules! ints {
        ($type:ty) => {
            numbers::<$type>(array, |number| Val::Int(number.into()))?
        };
    }
    let (time, int) = (|unit| DTypeKind::Datetime { unit }, DTypeKind::I64);
    let span = |unit| DTypeKind::Timedelta { unit };
    let (values, kind) = match array.data_type() {
        DataType::FixedSizeList(_, width) => {
            let list = array.as_fixed_size_list_opt()?;
            let width = usize::try_from(*width).ok()?;
            let mut inner = values(list.values().as_ref()).filter(|inner| inner.width == 1)?;
            for row in (0..list.len()).filter(|row| list.is_null(*row)) {
                let start = row.saturating_mul(width);
                let missing = inner.values.get_mut(start..start.saturating_add(width))?;
                missing.fill(Val::Null);
            }
            return Some(Values { width, ..inner });
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let (keys, categories) = (
                values(dictionary.keys())?,
                values(dictionary.values().as_ref())?,
            );
            let category = |key: &Val<'static>| match key {
                Val::Int(key) => {
                    let found = usize::try_from(*key)
                        .ok()
                        .and_then(|key| categories.values.get(key));
                    found.cloned().unwrap_or(Val::Null)
                }
                _ => Val::Null,
            };
            (keys.values.iter().map(category).collect(), categories.kind)
        }
        DataType::Boolean => {
            let values = array.as_boolean_opt()?.iter();
            let values = values.map(|one| one.map_or(Val::Null, Val::Bool));
            (values.collect(), DTypeKind::Bool)
        }
        DataType::Int8 => (ints!(Int8Type), int),
        DataType::Int16 => (ints!(Int16Type), int),
        DataType::Int32 => (ints!(Int32Type), int),
        DataType::Int64 => (ints!(Int64Type), int),
        DataType::UInt8 => (ints!(UInt8Type), int),
        DataType::UInt16 => (ints!(UInt16Type), int),
        DataType::UInt32 => (ints!(UInt32Type), int),
        DataType::UInt64 => (ints!(UInt64Type), int),
        DataType::Float16 => (numbers::<Float16Type>(array, Val::F16)?, DTypeKind::F16),
        DataType::Float32 => (numbers::<Float32Type>(array, Val::F32)?, DTypeKind::F32),
        DataType::Float64 => (numbers::<Float64Type>(array, Val::F64)?, DTypeKind::F64),
        DataType::Utf8 => {
            let text = |text: &str| Val::Text(text.as_bytes().to_vec().into());
            let values = array.as_string_opt::<i32>()?.iter();
            let values = values.map(|one| one.map_or(Val::Null, text));
            (values.collect(), DTypeKind::Utf32 { chars: 1 })
        }
        DataType::Binary => {
            let text = |text: &[u8]| Val::Text(text.to_vec().into());
            let values = array.as_binary_opt::<i32>()?.iter();
            let values = values.map(|one| one.map_or(Val::Null, text));
            (values.collect(), DTypeKind::Bytes { len: 1 })
        }
        DataType::Timestamp(unit, _) => match unit {
            ArrowUnit::Second => (ints!(TimestampSecondType), time(TimeUnit::Second)),
            ArrowUnit::Millisecond => {
                (ints!(TimestampMillisecondType), time(TimeUnit::Millisecond))
            }
            ArrowUnit::Microsecond => {
                (ints!(TimestampMicrosecondType), time(TimeUnit::Microsecond))
            }
            ArrowUnit::Nanosecond => (ints!(TimestampNanosecondType), time(TimeUnit::Nanosecond)),
        },
        DataType::Duration(unit) => match unit {
            ArrowUnit::Second => (ints!(DurationSecondType), span(TimeUnit::Second)),
            ArrowUnit::Millisecond => (ints!(DurationMillisecondType), span(TimeUnit::Millisecond)),
            ArrowUnit::Microsecond => (ints!(DurationMicrosecondType), span(TimeUnit::Microsecond)),
            ArrowUnit::Nanosecond => (ints!(DurationNanosecondType), span(TimeUnit::Nanosecond)),
        },
        _ => return None,
    };
    Some(Values::new(values, kind))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BinaryArray, Float16Array, Float64Array, Int64Array};
    use half::f16;

    use super::*;
    use crate::Filter;

    /// The rows that satisfy a condition on these columns.
    fn rows(condition: &str, columns: &[(&str, ArrayRef)]) -> Vec<usize> {
        rows_and_remarks(condition, columns).0
    }

    fn rows_and_remarks(
        condition: &str,
        columns: &[(&str, ArrayRef)],
    ) -> (Vec<usize>, Vec<String>) {
        let filter = Filter::parse(condition).unwrap();
        let parts = filter.conjuncts().into_iter().cloned().collect();
        let values = |(name, column): &(&str, ArrayRef)| {
            ((*name).to_owned(), values_of(column, None).unwrap())
        };
        let values = columns.iter().map(values).collect();
        let mut remarks = Vec::new();
        let rows = satisfying(parts, &values, columns[0].1.len(), &mut remarks);
        (rows.unwrap(), remarks)
    }

    #[test]
    fn nan_of_objects_is_not_null_and_noted() {
        let floats = Float64Array::from(vec![Some(f64::NAN), None, Some(1.0)]);
        let columns = [
            ("w", Arc::new(floats) as ArrayRef),
            ("i", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ];
        let (rows, remarks) = rows_and_remarks("w is null and w is null", &columns);
        assert_eq!(rows, [1]);
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains("`w is nan` finds them"), "{remarks:?}");
        assert!(rows_and_remarks("i is null", &columns).1.is_empty());
        assert!(rows_and_remarks("w is nan", &columns).1.is_empty());
    }

    #[test]
    fn expressions_have_numbers_of_the_given_type_and_texts_in_utf_8() {
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(-9)]));
        let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"a"[..], b"b", b"\xff"]));
        let value = |text: &str, numbers: DataType| {
            let values = |column: &ArrayRef| values_of(column, None).unwrap();
            let columns = [("i", &ints), ("b", &bytes)];
            let columns = columns.map(|(name, column)| (name.to_owned(), values(column)));
            let filter = Filter::parse_expression(text).unwrap();
            computed(filter.expr(), &columns.into(), 3, &numbers)
        };
        let (found, unit) = value("i * 2", DataType::Int64).unwrap();
        let wanted = Int64Array::from(vec![Some(14), None, Some(-18)]);
        assert_eq!((found.as_primitive::<Int64Type>(), unit), (&wanted, None));
        let (found, _) = value("i * 2", DataType::Float64).unwrap();
        assert_eq!(found.as_primitive::<Float64Type>().value(2), -18.0);
        for (text, numbers, word) in [
            ("i", DataType::UInt64, "found -9"),
            ("b", DataType::Int64, "no UTF-8"),
            ("b + 1", DataType::Int64, "found a text"),
        ] {
            let error = value(text, numbers).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn literals_are_rounded_to_float16() {
        let column = Float16Array::from([0.1, 0.3, 0.5].map(f16::from_f64).to_vec());
        let columns = [("h", Arc::new(column) as ArrayRef)];
        assert_eq!(rows("h == 0.1", &columns), [0]);
        assert_eq!(rows("h in (0.1, 0.3)", &columns), [0, 1]);
        assert_eq!(rows("h <= 0.3", &columns), [0, 1]);
        assert_eq!(rows("h between 0.3 and 0.5", &columns), [1, 2]);
        assert_eq!(rows("min(h, 5) == 0.1", &columns), [0]);
        assert_eq!(rows("max(h, 0.3) == 0.5", &columns), [2]);
        assert!(rows("h is nan", &columns).is_empty());
    }

    #[test]
    fn columns_of_integers_and_floats_are_compared_exactly() {
        let integers = Int64Array::from(vec![9_007_199_254_740_992, 9_007_199_254_740_993]);
        let floats = Float64Array::from(vec![2_f64.powi(53); 2]);
        let columns: [(&str, ArrayRef); 2] = [("i", Arc::new(integers)), ("f", Arc::new(floats))];
        for (condition, found) in [
            ("i == f", vec![0]),
            ("f == i", vec![0]),
            ("i > f", vec![1]),
            ("f < i", vec![1]),
            ("i == 9007199254740992.0", vec![0]),
            ("i in (9007199254740992.0, 7)", vec![0]),
            ("i not in (f, 7)", vec![1]),
            ("i between 0.5 and 9007199254740992.0", vec![0]),
            ("min(i, f) < i", vec![1]),
            ("max(i, f) == 9007199254740993", vec![1]),
        ] {
            assert_eq!(rows(condition, &columns), found, "{condition}");
        }
    }
}
