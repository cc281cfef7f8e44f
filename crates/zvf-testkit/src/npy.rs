//! One NumPy array file: its header and its values.

use anyhow::{Context, Result, bail, ensure};

/// One column of the input: its dtype, its shape, and its values in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// NumPy's short name of the dtype, e.g. `<f4`, `<i8`, `|u1`, `<U3`.
    pub dtype: String,
    /// Lengths of the axes; the first one counts rows.
    pub shape: Vec<usize>,
    /// The values in C order, widened without loss.
    pub values: Values,
}

/// Values widened to the largest type of their kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Floating point of 4 or 8 bytes.
    Float(Vec<f64>),
    /// Booleans, signed integers, and unsigned integers of up to 4 bytes.
    Int(Vec<i64>),
    /// Unsigned integers of 8 bytes.
    Uint(Vec<u64>),
    /// Fixed-width text without its padding.
    Text(Vec<String>),
}

impl Column {
    /// Length of the first axis.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Values in a row: the product of the lengths of the other axes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// The values as `f64`, row after row; exact for floats and for integers below 2^53.
    ///
    /// # Errors
    ///
    /// When the column holds text.
    #[allow(clippy::cast_precision_loss)]
    pub fn f64s(&self) -> Result<Vec<f64>> {
        match &self.values {
            Values::Float(values) => Ok(values.clone()),
            Values::Int(values) => Ok(values.iter().map(|value| *value as f64).collect()),
            Values::Uint(values) => Ok(values.iter().map(|value| *value as f64).collect()),
            Values::Text(_) => bail!("a column of text is not numeric"),
        }
    }

    /// The values as `i64`, row after row.
    ///
    /// # Errors
    ///
    /// When the column does not hold integers, or a value exceeds `i64::MAX`.
    pub fn i64s(&self) -> Result<Vec<i64>> {
        match &self.values {
            Values::Int(values) => Ok(values.clone()),
            Values::Uint(values) => values
                .iter()
                .map(|value| Ok(i64::try_from(*value)?))
                .collect(),
            Values::Float(_) | Values::Text(_) => {
                bail!("a column of {} is not integral", self.dtype)
            }
        }
    }
}

/// Parses one `.npy` file of format version 1 or 2.
pub(crate) fn parse(bytes: &[u8]) -> Result<Column> {
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .context("not an array file")?;
    let (version, rest) = rest.split_first_chunk::<2>().context("no version")?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk::<2>().context("no header length")?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 => {
            let (length, rest) = rest.split_first_chunk::<4>().context("no header length")?;
            (usize::try_from(u32::from_le_bytes(*length))?, rest)
        }
        other => bail!("array file version {other}"),
    };
    let (header, data) = rest.split_at_checked(length).context("header cut short")?;
    let header = std::str::from_utf8(header)?;
    ensure!(
        entry(header, "fortran_order")?.starts_with("False"),
        "Fortran order is not supported"
    );
    let dtype = entry(header, "descr")?
        .strip_prefix('\'')
        .and_then(|text| text.split('\'').next())
        .context("no plain type")?
        .to_owned();
    let mut shape = Vec::new();
    let list = entry(header, "shape")?
        .strip_prefix('(')
        .and_then(|text| text.split(')').next());
    for length in list
        .context("no shape")?
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
    {
        shape.push(length.parse::<usize>()?);
    }
    let count = shape
        .iter()
        .try_fold(1_usize, |all, length| all.checked_mul(*length))
        .context("shape overflows")?;
    let values = values(&dtype, count, data)?;
    Ok(Column {
        dtype,
        shape,
        values,
    })
}

/// The text after `'name':` in the header dictionary.
fn entry<'a>(header: &'a str, name: &str) -> Result<&'a str> {
    let (_, rest) = header
        .split_once(&format!("'{name}':"))
        .with_context(|| format!("no {name} in the header"))?;
    Ok(rest.trim_start())
}

fn values(dtype: &str, count: usize, data: &[u8]) -> Result<Values> {
    Ok(match dtype {
        "<f4" => Values::Float(numbers(count, data, |bytes| {
            f64::from(f32::from_le_bytes(bytes))
        })?),
        "<f8" => Values::Float(numbers(count, data, f64::from_le_bytes)?),
        "|b1" | "|u1" => Values::Int(numbers(count, data, |bytes| {
            i64::from(u8::from_le_bytes(bytes))
        })?),
        "|i1" => Values::Int(numbers(count, data, |bytes| {
            i64::from(i8::from_le_bytes(bytes))
        })?),
        "<i2" => Values::Int(numbers(count, data, |bytes| {
            i64::from(i16::from_le_bytes(bytes))
        })?),
        "<u2" => Values::Int(numbers(count, data, |bytes| {
            i64::from(u16::from_le_bytes(bytes))
        })?),
        "<i4" => Values::Int(numbers(count, data, |bytes| {
            i64::from(i32::from_le_bytes(bytes))
        })?),
        "<u4" => Values::Int(numbers(count, data, |bytes| {
            i64::from(u32::from_le_bytes(bytes))
        })?),
        "<i8" => Values::Int(numbers(count, data, i64::from_le_bytes)?),
        "<u8" => Values::Uint(numbers(count, data, u64::from_le_bytes)?),
        _ => match dtype.strip_prefix("<U") {
            Some(chars) => Values::Text(texts(count, chars.parse()?, data)?),
            None => bail!("dtype {dtype} is not supported"),
        },
    })
}

fn numbers<const N: usize, T>(count: usize, data: &[u8], read: fn([u8; N]) -> T) -> Result<Vec<T>> {
    let (items, rest) = data.as_chunks::<N>();
    ensure!(
        items.len() == count && rest.is_empty(),
        "expected {count} values, found {} bytes",
        data.len()
    );
    Ok(items.iter().map(|bytes| read(*bytes)).collect())
}

fn texts(count: usize, chars: usize, data: &[u8]) -> Result<Vec<String>> {
    let code_points = numbers(count * chars, data, u32::from_le_bytes)?;
    if chars == 0 {
        return Ok(vec![String::new(); count]);
    }
    let text = |item: &[u32]| {
        let end = item
            .iter()
            .rposition(|code| *code != 0)
            .map_or(0, |last| last + 1);
        item[..end]
            .iter()
            .map(|code| char::from_u32(*code).context("not a code point"))
            .collect()
    };
    code_points.chunks_exact(chars).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn numbers_and_shape_are_read() {
        let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }\n";
        let column = parse(&file(header, &[1, 0, 0xff, 0xff])).unwrap();
        assert_eq!((column.rows(), column.width()), (2, 1));
        assert_eq!(column.i64s().unwrap(), [1, -1]);
        assert_eq!(column.f64s().unwrap(), [1.0, -1.0]);
    }

    #[test]
    fn text_loses_its_padding() {
        let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }\n";
        let data: Vec<u8> = ['a', 'b', 'c', '\0']
            .iter()
            .flat_map(|c| u32::from(*c).to_le_bytes())
            .collect();
        let column = parse(&file(header, &data)).unwrap();
        assert_eq!(
            column.values,
            Values::Text(vec!["ab".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn a_short_file_is_an_error() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
        assert!(parse(&file(header, &[0; 8])).is_err());
    }
}
