//! Number types and units of merged attributes.

use zvf_encode::error::OrBug;
use zvf_meta::moments::MomentScale;
use zvf_write::{AttributeSpec, AttributeType, NumberType, StoreSpec, Values, WriteError};

/// The values of an attribute of the store at `url`, converted to the unit of time of the merged attribute; `None` if they need no conversion.
/// `own` is the attribute in the store at `url`.
///
/// # Errors
/// Misuse: a time that the other unit does not represent.
pub(super) fn in_common_unit(
    values: &Values,
    (url, own): (&str, Option<&AttributeSpec>),
    merged: &AttributeSpec,
) -> Result<Option<Values>, WriteError> {
    let from = own.and_then(|own| own.unit.as_deref());
    let (Some(from), Some(to)) = (from, merged.unit.as_deref()) else {
        return Ok(None);
    };
    let Some(scale) = MomentScale::between(from, to).filter(|_| from != to) else {
        return Ok(None);
    };
    let bytes = values.bytes_as(NumberType::I64);
    let bytes = bytes.or_bug("moments of another type")?;
    let numbers = bytes
        .as_chunks()
        .0
        .iter()
        .map(|one| i64::from_le_bytes(*one));
    let convert = |number: i64| scale.apply(number).ok_or(number);
    let converted: Result<Vec<i64>, i64> = numbers.map(convert).collect();
    let converted = converted.map_err(|number| {
        let what = format!("{url}: attribute {}", merged.name);
        let expected = format!("a time that the unit {to} represents");
        WriteError::input(what, number.to_string(), expected)
    })?;
    Ok(Some(converted.into()))
}

/// The smallest type for numbers of type `number` after a conversion to another unit.
pub(super) fn after_conversion(number: NumberType) -> NumberType {
    match number {
        // In a smaller unit, the number is larger and may exceed the range of float16.
        NumberType::F16 | NumberType::F32 => NumberType::F32,
        _ => NumberType::F64,
    }
}

/// Gives the attribute `radius`, which is converted with the positions, a type for the converted numbers.
pub(crate) fn convert_radius(spec: &mut StoreSpec) {
    let mut attributes = spec.vertex_attributes.iter_mut();
    if let Some(radius) = attributes.find(|one| one.name == "radius")
        && let AttributeType::Number(number) = radius.values
    {
        radius.values = AttributeType::Number(after_conversion(number));
    }
}

/// The smallest type that represents all numbers of two types; `None` if there is none.
pub(super) fn wider(a: NumberType, b: NumberType) -> Option<NumberType> {
    use NumberType::{F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let by_size: &[NumberType] = match a.is_float() || b.is_float() {
        true => &[F16, F32, F64],
        false => &[U8, I8, U16, I16, U32, I32, U64, I64],
    };
    if a == b {
        return Some(a);
    }
    let both = |one: &&NumberType| holds(**one, a) && holds(**one, b);
    by_size.iter().find(both).copied()
}

/// Whether a type represents every number of another type.
fn holds(wide: NumberType, narrow: NumberType) -> bool {
    use NumberType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    // Bits of whole numbers, and whether they are signed.
    let whole = |one: NumberType| match one {
        U8 => Some((8, false)),
        U16 => Some((16, false)),
        U32 => Some((32, false)),
        U64 => Some((64, false)),
        I8 => Some((7, true)),
        I16 => Some((15, true)),
        I32 => Some((31, true)),
        I64 => Some((63, true)),
        Bool | F16 | F32 | F64 => None,
    };
    let digits = |one: NumberType| match one {
        F16 => Some(11),
        F32 => Some(24),
        F64 => Some(53),
        _ => None,
    };
    match (whole(wide), whole(narrow), digits(wide), digits(narrow)) {
        (Some((bits, signed)), Some((own, below)), ..) => bits >= own && (signed || !below),
        (_, Some((bits, _)), Some(digits), _) => digits >= bits,
        (_, _, Some(digits), Some(own)) => digits >= own,
        _ => wide == narrow,
    }
}

#[cfg(test)]
mod tests {
    use super::wider;
    use zvf_write::NumberType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

    #[test]
    fn the_wider_type_holds_both() {
        for (a, b, expected) in [
            (F32, F64, Some(F64)),
            (U8, I8, Some(I16)),
            (U8, U16, Some(U16)),
            (I8, U16, Some(I32)),
            (U32, I8, Some(I64)),
            (U8, F16, Some(F16)),
            (I16, F16, Some(F32)),
            (I32, F32, Some(F64)),
            (I64, U64, None),
            (I64, F64, None),
            (I32, I64, Some(I64)),
            (U32, I64, Some(I64)),
            (Bool, Bool, Some(Bool)),
            (Bool, U8, None),
        ] {
            assert_eq!(wider(a, b), expected, "{a} {b}");
            assert_eq!(wider(b, a), expected, "{b} {a}");
        }
    }
}
