//! Tables between two runs of a program: a JSON document and the numbers of all columns behind each other.
//!
//! ```text
//! ┌────────────┬──────────┬──────────────┬───┐
//! │ length u32 │ document │ first column │ … │   the document says types and sizes; texts stand in it
//! └────────────┴──────────┴──────────────┴───┘
//! ```

use serde_json::{Value, json};

use crate::WriteError;
use crate::error::OrBug;
use crate::int::wide;
use crate::number::NumberType;
use crate::values::Values;
use std::borrow::Cow;

/// Columns on their way into bytes.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    bytes: Vec<u8>,
}

impl Columns {
    /// Adds a column; returns what the document says of it.
    pub(crate) fn add(&mut self, values: &Values<'_>) -> Result<Value, WriteError> {
        if let Values::Text(texts) = values {
            return Ok(json!({"texts": texts}));
        }
        let number = values.number_type().or_bug("numbers without a type")?;
        let bytes = values.bytes_as(number).or_bug("numbers of another type")?;
        self.bytes.extend_from_slice(&bytes);
        Ok(json!({"type": number.to_string(), "bytes": bytes.len()}))
    }

    pub(crate) fn add_all(
        &mut self,
        columns: &[(String, Values<'_>)],
    ) -> Result<Value, WriteError> {
        let all = columns
            .iter()
            .map(|(name, values)| Ok(json!([name, self.add(values)?])));
        Ok(Value::Array(all.collect::<Result<_, WriteError>>()?))
    }

    /// The document and all columns as bytes.
    pub(crate) fn close(&self, document: &Value) -> Result<Vec<u8>, WriteError> {
        let document = document.to_string().into_bytes();
        let length = u32::try_from(document.len()).map_err(|_| {
            let most = u64::from(u32::MAX);
            WriteError::limit("bytes of a table's document", wide(document.len()), most)
        })?;
        Ok([&length.to_le_bytes()[..], &document, &self.bytes].concat())
    }
}

/// The document of a table, and the bytes of its columns; `None` if the bytes are no table.
pub(crate) fn open(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (document, rest) = rest.split_at_checked(length)?;
    Some((serde_json::from_slice(document).ok()?, rest))
}

/// The next column, as the document says of it.
pub(crate) fn column(shown: &Value, rest: &mut &[u8]) -> Option<Values<'static>> {
    if let Some(texts) = shown.get("texts") {
        return Some(Values::Text(serde_json::from_value(texts.clone()).ok()?));
    }
    let number = NumberType::from_name(shown.get("type")?.as_str()?)?;
    let size = usize::try_from(shown.get("bytes")?.as_u64()?).ok()?;
    let (bytes, others) = rest.split_at_checked(size)?;
    *rest = others;
    Some(Values::of_bytes(number, bytes))
}

/// Columns with their names.
pub(crate) fn columns(shown: &Value, rest: &mut &[u8]) -> Option<Vec<(String, Values<'static>)>> {
    let all = shown.as_array()?.iter().map(|one| {
        let name = one.get(0)?.as_str()?.to_owned();
        Some((name, column(one.get(1)?, rest)?))
    });
    all.collect()
}

/// Ids and coordinates.
pub(crate) fn signed(values: Values<'_>) -> Option<Vec<i64>> {
    match values {
        Values::I64(list) => Some(list.into_owned()),
        _ => None,
    }
}

/// Counts and vertex numbers.
pub(crate) fn unsigned(values: Values<'_>) -> Option<Vec<u64>> {
    match values {
        Values::U64(list) => Some(list.into_owned()),
        _ => None,
    }
}

/// Numbers, of which NaN and -0 are others, too.
pub(crate) fn numbers(columns: &mut Columns, list: Option<&[f64]>) -> Result<Value, WriteError> {
    match list {
        Some(list) => columns.add(&Values::F64(Cow::Borrowed(list))),
        None => Ok(Value::Null),
    }
}
