//! The values of vertices, links and objects that are appended without a value: set by the caller, or recorded in the store with the attribute.

use std::collections::BTreeMap;

use serde_json::Value;
use zvf_meta::{FILL, RootDoc};

use super::matching::{Scope, TableValues};
use zvf_encode::{AttributeSpec, NumberType, Values, WriteError, decimal};

/// The texts of fills, by scope and name of their attribute.
pub(super) type Fills = BTreeMap<(Scope, String), String>;

/// Parses `text` as a value of the type of an attribute, and repeats it for each channel.
///
/// # Errors
/// Misuse: a text that is not a value of this type.
pub(super) fn value(one: &AttributeSpec, text: &str) -> Result<Values, WriteError> {
    let Some(number) = one.values.number() else {
        return Ok(Values::texts(vec![text; one.channels]));
    };
    macro_rules! parsed {
        ($type:ty) => {
            text.trim()
                .parse::<$type>()
                .ok()
                .map(|value| Values::from(vec![value; one.channels]))
        };
    }
    let found = match number {
        NumberType::Bool => match text.trim() {
            "1" => Some(Values::from(vec![true; one.channels])),
            "0" => Some(Values::from(vec![false; one.channels])),
            text => {
                let value = text.to_ascii_lowercase().parse::<bool>();
                value
                    .ok()
                    .map(|value| Values::from(vec![value; one.channels]))
            }
        },
        NumberType::I8 => parsed!(i8),
        NumberType::I16 => parsed!(i16),
        NumberType::I32 => parsed!(i32),
        NumberType::I64 => parsed!(i64),
        NumberType::U8 => parsed!(u8),
        NumberType::U16 => parsed!(u16),
        NumberType::U32 => parsed!(u32),
        NumberType::U64 => parsed!(u64),
        NumberType::F16 | NumberType::F32 | NumberType::F64 => decimal::float(text.trim(), number)
            .and_then(|value| {
                let values = Values::from(vec![value; one.channels]);
                let bytes = values.bytes_as(number)?;
                Some(Values::of_bytes(number, &bytes))
            }),
    };
    let found = found.ok_or_else(|| {
        let what = format!("fill of attribute {}", one.name);
        WriteError::input(what, format!("{text:?}"), number.to_string())
    })?;
    one.check_values("fill of attribute", &found)?;
    Ok(found)
}

/// An empty column of the type of an attribute.
pub(super) fn none(one: &AttributeSpec) -> Values {
    match one.values.number() {
        Some(number) => Values::of_bytes(number, &[]),
        None => Values::texts::<&str>([]),
    }
}

/// A column of `rows` rows that all have the value `fill`.
pub(super) fn everywhere(
    one: &AttributeSpec,
    fill: &Values,
    rows: usize,
) -> Result<Values, WriteError> {
    let given = TableValues::new(fill, one.channels)?;
    given.take(std::iter::repeat_n(Some(0), rows), None)
}

/// Replaces missing texts with the fill, if there is one.
pub(super) fn gaps(values: Values, fill: Option<Values>) -> Values {
    match (values, fill) {
        (Values::Text(texts), Some(Values::Text(fill))) => {
            let fill = fill.iter().next().flatten();
            Values::optional_texts(texts.iter().map(|text| text.or(fill)))
        }
        (values, _) => values,
    }
}

/// The fills that the root declares for attributes.
pub(super) fn declared(root: &RootDoc) -> Fills {
    let mut fills = Fills::new();
    let Some(specs) = &root.zarr_vectors.attribute_specs else {
        return fills;
    };
    for scope in [Scope::Vertex, Scope::Object, Scope::Link] {
        let names = specs.get(scope.name()).and_then(Value::as_object);
        for (name, member) in names.into_iter().flatten() {
            let text = match member.get(FILL) {
                Some(Value::String(text)) => text.clone(),
                Some(other) if other.is_number() || other.is_boolean() => other.to_string(),
                _ => continue,
            };
            fills.insert((scope, name.clone()), text);
        }
    }
    fills
}

/// A fill that this edit records in the store.
#[derive(Debug, Clone)]
pub(super) struct RecordedFill {
    pub(super) scope: Scope,
    pub(super) spec: AttributeSpec,
    pub(super) text: String,
}
