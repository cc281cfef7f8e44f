//! Converts columns whose type differs between levels.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, PrimitiveArray, new_null_array};
use arrow_schema::{ArrowError, DataType, Field};

/// The smallest type that represents the values of both types without loss; `None` if there is none.
pub(crate) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (DataType::Dictionary(_, values), other) | (other, DataType::Dictionary(_, values)) => {
            let other = match other {
                DataType::Dictionary(_, values) => values,
                plain => plain,
            };
            common(values, other)
        }
        (DataType::FixedSizeList(a, width), DataType::FixedSizeList(b, other))
            if width == other =>
        {
            let item = common(a.data_type(), b.data_type())?;
            let nullable = a.is_nullable() || b.is_nullable();
            let field = Field::new(a.name(), item, nullable);
            Some(DataType::FixedSizeList(Arc::new(field), *width))
        }
        _ => {
            let (group, size) = number(a)?;
            let (other, wide) = number(b)?;
            (group == other).then(|| if size < wide { b.clone() } else { a.clone() })
        }
    }
}

/// The kind of the numbers of a type, and their bytes.
fn number(data_type: &DataType) -> Option<(char, usize)> {
    Some(match data_type {
        DataType::Float16 => ('f', 2),
        DataType::Float32 => ('f', 4),
        DataType::Float64 => ('f', 8),
        DataType::Int8 => ('i', 1),
        DataType::Int16 => ('i', 2),
        DataType::Int32 => ('i', 4),
        DataType::Int64 => ('i', 8),
        DataType::UInt8 => ('u', 1),
        DataType::UInt16 => ('u', 2),
        DataType::UInt32 => ('u', 4),
        DataType::UInt64 => ('u', 8),
        _ => return None,
    })
}

/// Converts values to a type from [`common`]. An array of nulls fits every type.
///
/// # Errors
///
/// Values that the type cannot represent.
pub(crate) fn fit(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    if array.null_count() == array.len() {
        return Ok(new_null_array(to, array.len()));
    }
    let refused = || ArrowError::CastError(format!("{} to {to}", array.data_type()));
    if let DataType::Dictionary(..) = array.data_type() {
        let dictionary = array.as_any_dictionary_opt().ok_or_else(refused)?;
        let values = arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?;
        return fit(&values, to);
    }
    if let (Some(list), DataType::FixedSizeList(field, width)) =
        (array.as_any().downcast_ref::<FixedSizeListArray>(), to)
    {
        let items = fit(list.values(), field.data_type())?;
        let list = FixedSizeListArray::try_new_with_length(
            Arc::clone(field),
            *width,
            items,
            list.nulls().cloned(),
            list.len(),
        )?;
        return Ok(Arc::new(list));
    }
    macro_rules! widen {
        ($($from:ident => $($to:ident),*;)*) => {
            match (array.data_type(), to) {
                $($((&<$from as ArrowPrimitiveType>::DATA_TYPE, &<$to as ArrowPrimitiveType>::DATA_TYPE) => {
                    each::<$from, $to>(array)
                })*)*
                _ => None,
            }
        };
    }
    let found = widen! {
        Float32Type => Float64Type;
        Int8Type => Int16Type, Int32Type, Int64Type;
        Int16Type => Int32Type, Int64Type;
        Int32Type => Int64Type;
        UInt8Type => UInt16Type, UInt32Type, UInt64Type;
        UInt16Type => UInt32Type, UInt64Type;
        UInt32Type => UInt64Type;
    };
    let found = match (array.data_type(), to) {
        (DataType::Float16, DataType::Float32) => halves::<Float32Type>(array, half::f16::to_f32),
        (DataType::Float16, DataType::Float64) => halves::<Float64Type>(array, half::f16::to_f64),
        _ => found,
    };
    found.ok_or_else(refused)
}

fn each<A, B>(array: &ArrayRef) -> Option<ArrayRef>
where
    A: ArrowPrimitiveType,
    B: ArrowPrimitiveType,
    B::Native: From<A::Native>,
{
    let array = array.as_any().downcast_ref::<PrimitiveArray<A>>()?;
    Some(Arc::new(array.unary::<_, B>(B::Native::from)))
}

fn halves<B: ArrowPrimitiveType>(
    array: &ArrayRef,
    to: fn(half::f16) -> B::Native,
) -> Option<ArrayRef> {
    let array = array
        .as_any()
        .downcast_ref::<PrimitiveArray<Float16Type>>()?;
    Some(Arc::new(array.unary::<_, B>(to)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{DictionaryArray, Float32Array, StringArray, UInt8Array};

    fn list(item: DataType, width: i32, nullable: bool) -> DataType {
        DataType::FixedSizeList(Arc::new(Field::new("item", item, nullable)), width)
    }

    #[test]
    fn numbers_of_one_kind_have_a_common_type() {
        use DataType as T;
        for (a, b, both) in [
            (T::Float32, T::Float64, Some(T::Float64)),
            (T::Float16, T::Float32, Some(T::Float32)),
            (T::Int64, T::Int8, Some(T::Int64)),
            (T::UInt8, T::UInt16, Some(T::UInt16)),
            (T::UInt8, T::Int16, None),
            (T::Float64, T::Int8, None),
            (T::Utf8, T::Int8, None),
            (
                list(T::Float32, 3, false),
                list(T::Float64, 3, true),
                Some(list(T::Float64, 3, true)),
            ),
            (list(T::Float32, 3, false), list(T::Float32, 2, false), None),
        ] {
            assert_eq!(common(&a, &b), both, "{a} {b}");
            assert_eq!(common(&b, &a), both, "{b} {a}");
        }
        let words = T::Dictionary(Box::new(T::UInt8), Box::new(T::Utf8));
        let more = T::Dictionary(Box::new(T::Int16), Box::new(T::Utf8));
        assert_eq!(common(&words, &more), Some(T::Utf8));
        assert_eq!(common(&words, &T::Utf8), Some(T::Utf8));
    }

    #[test]
    fn values_stay_what_they_are() {
        let found = fit(
            &(Arc::new(Float32Array::from(vec![Some(0.1), None])) as ArrayRef),
            &DataType::Float64,
        )
        .unwrap();
        let found = found.as_primitive::<Float64Type>();
        assert_eq!(
            (found.value(0), found.is_null(1)),
            (f64::from(0.1_f32), true)
        );
        let words = DictionaryArray::<arrow_array::types::UInt8Type>::new(
            UInt8Array::from(vec![Some(1), None, Some(0)]),
            Arc::new(StringArray::from(vec!["a", "b"])),
        );
        let found = fit(&(Arc::new(words) as ArrayRef), &DataType::Utf8).unwrap();
        let found: Vec<_> = found.as_string::<i32>().iter().collect();
        assert_eq!(found, [Some("b"), None, Some("a")]);
        let nulls = new_null_array(&DataType::Int8, 2);
        let to = list(DataType::Float32, 3, true);
        assert_eq!(fit(&nulls, &to).unwrap().data_type(), &to);
        assert!(
            fit(
                &(Arc::new(UInt8Array::from(vec![1])) as ArrayRef),
                &DataType::Int8
            )
            .is_err()
        );
    }
}
