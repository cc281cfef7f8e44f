//! Object ids as they are written: numbers and ranges of them.

use serde_json::Value;

use crate::QueryError;

/// Ids of one selection.
const MOST_IDS: u64 = 100_000_000;

/// Object ids between commas or blanks, and ranges of them such as `1-5`.
///
/// # Errors
///
/// Misuse: a word that is neither. Limit: more than 100 million ids.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// assert_eq!(zvf_query::parse_ids("-4,7-9 2")?, [-4, 7, 8, 9, 2]);
/// # Ok(())
/// # }
/// ```
pub fn parse_ids(text: &str) -> Result<Vec<i64>, QueryError> {
    let words = text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty());
    let mut ids = Vec::new();
    for word in words {
        let range = range(word).ok_or_else(|| {
            QueryError::misuse(format!(
                "objects: found {word:?}, expected a whole number of 64 bits, or two as in 1-5"
            ))
        })?;
        extend(&mut ids, range)?;
    }
    Ok(ids)
}

/// Adds the ids of a range.
pub(super) fn extend(ids: &mut Vec<i64>, (first, last): (i64, i64)) -> Result<(), QueryError> {
    let known = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    let count = last.abs_diff(first).saturating_add(known);
    if count >= MOST_IDS {
        let place = crate::Place::default();
        return Err(QueryError::limit(
            place,
            "object ids",
            count.saturating_add(1),
            MOST_IDS,
        ));
    }
    ids.extend(first..=last);
    Ok(())
}

/// One id, or the first and the last of a range such as `1-5`.
pub(super) fn range(word: &str) -> Option<(i64, i64)> {
    if let Ok(id) = word.parse() {
        return Some((id, id));
    }
    // The first character may be a sign.
    let (at, _) = word.char_indices().skip(1).find(|(_, c)| *c == '-')?;
    let (first, last) = (word.get(..at)?, word.get(at..)?.strip_prefix('-')?);
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

/// Ids as JSON: numbers, and texts of three and more that rise by one.
pub(super) fn written(ids: &[i64]) -> Value {
    let follows = |a: &i64, b: &i64| a.checked_add(1) == Some(*b);
    let mut items: Vec<Value> = Vec::new();
    for run in ids.chunk_by(follows) {
        match (run.first(), run.last()) {
            (Some(first), Some(last)) if run.len() > 2 => {
                items.push(format!("{first}-{last}").into());
            }
            _ => items.extend(run.iter().map(|id| Value::from(*id))),
        }
    }
    items.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(parse_ids("-4,7, 9").unwrap(), [-4, 7, 9]);
        assert_eq!(parse_ids("1-3 8").unwrap(), [1, 2, 3, 8]);
        assert_eq!(parse_ids("-4--2,5-5").unwrap(), [-4, -3, -2, 5]);
        for wrong in [
            "3-1",
            "1-",
            "1-2-3",
            "a-b",
            "1..3",
            "0-100000000",
            "-9223372036854775808-9223372036854775807",
        ] {
            assert!(parse_ids(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            parse_ids("1,x").unwrap_err().to_string(),
            "objects: found \"x\", expected a whole number of 64 bits, or two as in 1-5"
        );
    }
}
