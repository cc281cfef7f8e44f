//! Object ids and ranges of ids, with their text and JSON forms.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde_json::Value;
use zvf_store::format::int;

use crate::QueryError;

/// Largest number of ids in a selection.
const MOST_IDS: u64 = 100_000_000;

/// Ranges with more ids are not listed before they are compared with the ids of the store.
const SHORT: u64 = 1024;

/// Object ids and ranges of ids, in the order of the answer; a repeated id repeats its output.
///
/// # Text
///
/// Ids between commas or blanks; `0-9` is a range with both ends, `-5` an id, `-9--5` a range of negative ids.
///
/// # Meaning
///
/// A range includes all its ids, ascending. A missing id is an error, also inside a range, unless missing ids are ignored: then a range selects the
/// existing objects in it.
///
/// # Cost
///
/// Two numbers for each range, regardless of its length. [`among`](Self::among) uses memory only for ids of existing objects.
///
/// ```
/// # fn main() -> Result<(), zvf_query::QueryError> {
/// use zvf_query::IdRanges;
/// let ids = IdRanges::parse("-4,7-9 2")?;
/// assert_eq!(ids.listed()?, [-4, 7, 8, 9, 2]);
/// assert_eq!(IdRanges::parse("0-1000000000000000000")?.to_string(), "0-1000000000000000000");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdRanges {
    /// First and last id; adjacent ranges are merged.
    ranges: Vec<(i64, i64)>,
}

impl IdRanges {
    /// Parses the text form.
    ///
    /// # Errors
    ///
    /// Misuse: an item that is neither an id nor a range.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let mut ids = Self::default();
        for word in items(text) {
            let range = range(word).ok_or_else(|| {
                QueryError::misuse(format!(
                    "objects: found {word:?}, expected a whole number of 64 bits, or two as in 1-5"
                ))
            })?;
            ids.push(range);
        }
        Ok(ids)
    }

    /// Adds the ids of a range.
    pub(super) fn push(&mut self, (first, last): (i64, i64)) {
        match self.ranges.last_mut() {
            Some((_, end)) if end.checked_add(1) == Some(first) => *end = last,
            _ => self.ranges.push((first, last)),
        }
    }

    /// Adds the ids of another list.
    pub fn append(&mut self, other: &Self) {
        other.ranges.iter().for_each(|range| self.push(*range));
    }

    /// Whether there is no id.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether there is a range of more than 1024 ids, which must be resolved with the store.
    pub(super) fn has_long(&self) -> bool {
        self.ranges
            .iter()
            .any(|(first, last)| last.abs_diff(*first) >= SHORT)
    }

    /// All ids, including missing ones.
    ///
    /// # Cost
    ///
    /// Eight bytes for each id.
    ///
    /// # Errors
    ///
    /// Limit: more than 100 million ids.
    pub fn listed(&self) -> Result<Vec<i64>, QueryError> {
        let mut ids = Vec::new();
        for (first, last) in &self.ranges {
            room(&ids, last.abs_diff(*first).saturating_add(1))?;
            ids.extend(*first..=*last);
        }
        Ok(ids)
    }

    /// The ids of existing objects: `has` tests one id, `all` returns all ids of the store, and `count` is their number.
    ///
    /// # Cost
    ///
    /// Eight bytes for each id of the result. If missing ids are ignored, a range longer than `count` takes one pass over `all`.
    ///
    /// # Errors
    ///
    /// Misuse: an id that no object has, unless `ignore_missing`. Limit: more than 100 million ids.
    pub fn among<I: Iterator<Item = i64>>(
        &self,
        count: u64,
        has: impl Fn(i64) -> bool,
        all: impl Fn() -> I,
        ignore_missing: bool,
    ) -> Result<Vec<i64>, QueryError> {
        let mut ids = Vec::new();
        for (first, last) in &self.ranges {
            let (first, last) = (*first, *last);
            let more = last.abs_diff(first);
            // A single id is always looked up, also in a store without objects.
            let longer = more > 0 && more >= count;
            if ignore_missing && longer {
                let mut found = Vec::new();
                for id in all().filter(|id| (first..=last).contains(id)) {
                    room(&found, 1)?;
                    found.push(id);
                }
                found.sort_unstable();
                found.dedup();
                room(&ids, int::wide(found.len()))?;
                ids.append(&mut found);
                continue;
            }
            if longer {
                return Err(QueryError::misuse(format!(
                    "objects: found the range {first}-{last}, expected at most the {count} ids that the store has; ignore_missing leaves out ids that no object has"
                )));
            }
            for id in first..=last {
                if has(id) {
                    room(&ids, 1)?;
                    ids.push(id);
                } else if !ignore_missing {
                    return Err(QueryError::misuse(format!(
                        "objects: no object {id}; ignore_missing leaves out ids that no object has"
                    )));
                }
            }
        }
        Ok(ids)
    }

    /// As JSON: numbers, and strings for ranges of three or more ids.
    pub(super) fn to_json(&self) -> Value {
        let mut items: Vec<Value> = Vec::new();
        for (first, last) in &self.ranges {
            if last.abs_diff(*first) > 1 {
                items.push(format!("{first}-{last}").into());
            } else {
                items.extend((*first..=*last).map(Value::from));
            }
        }
        items.into()
    }
}

impl FromStr for IdRanges {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        Self::parse(text)
    }
}

impl FromIterator<i64> for IdRanges {
    fn from_iter<I: IntoIterator<Item = i64>>(ids: I) -> Self {
        let mut found = Self::default();
        ids.into_iter().for_each(|id| found.push((id, id)));
        found
    }
}

impl From<Vec<i64>> for IdRanges {
    fn from(ids: Vec<i64>) -> Self {
        ids.into_iter().collect()
    }
}

impl fmt::Display for IdRanges {
    /// Writes the form that [`parse`](IdRanges::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            match first == last {
                true => write!(f, "{first}")?,
                false => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// The labels of a mask, in the text form of [`IdRanges`]; `None` if an item is neither a label nor a range. Ranges are not merged, because
/// the volume must have both labels of `2,3`, but only one of the range `2-3`.
///
/// ```
/// assert_eq!(zvf_query::label_ranges("2,3 5-7"), Some(vec![2..=2, 3..=3, 5..=7]));
/// assert_eq!(zvf_query::label_ranges("2,x"), None);
/// ```
#[must_use]
pub fn label_ranges(text: &str) -> Option<Vec<RangeInclusive<i64>>> {
    let ranges = items(text).map(|word| range(word).map(|(first, last)| first..=last));
    ranges.collect()
}

/// The items between commas and blanks.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
}

/// Checks that `more` further ids are within the limit.
fn room(ids: &[i64], more: u64) -> Result<(), QueryError> {
    let known = u64::try_from(ids.len()).unwrap_or(u64::MAX);
    let count = known.saturating_add(more);
    if count > MOST_IDS {
        let place = crate::Place::default();
        return Err(QueryError::limit(place, "object ids", count, MOST_IDS));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<i64> {
        IdRanges::parse(text).unwrap().listed().unwrap()
    }

    #[test]
    fn lists_and_ranges_are_read() {
        assert_eq!(listed("-4,7, 9"), [-4, 7, 9]);
        assert_eq!(listed("1-3 8"), [1, 2, 3, 8]);
        assert_eq!(listed("-4--2,5-5"), [-4, -3, -2, 5]);
        assert_eq!(listed("-2-1"), [-2, -1, 0, 1]);
        for wrong in ["3-1", "1-", "1-2-3", "a-b", "1..3", "9223372036854775808"] {
            assert!(IdRanges::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            IdRanges::parse("1,x").unwrap_err().to_string(),
            "objects: found \"x\", expected a whole number of 64 bits, or two as in 1-5"
        );
    }

    #[test]
    fn ranges_of_any_length_are_two_numbers() {
        for text in [
            "0-100000000",
            "-9223372036854775808-9223372036854775807",
            "0-1000000000000000000,0-99999999,1",
        ] {
            let ids = IdRanges::parse(text).unwrap();
            assert_eq!(ids.to_string(), text);
            assert!(ids.has_long());
            let error = ids.listed().unwrap_err();
            assert_eq!(error.class(), zvf_store::Class::Limit, "{text}: {error}");
        }
        let ids = IdRanges::parse("1,2,3,5,4").unwrap();
        assert_eq!(ids.to_string(), "1-3,5,4");
        assert_eq!(ids.to_json(), serde_json::json!(["1-3", 5, 4]));
        assert!(!ids.has_long());
        assert_eq!(IdRanges::from(vec![7, 7, 8]).to_string(), "7,7-8");
    }

    /// Compares the result with a list in which every id is searched.
    #[test]
    fn ranges_mean_the_ids_that_exist() {
        let existing: Vec<i64> = vec![9, -3, 4, 5, 6, i64::MAX, i64::MIN, 100];
        let count = existing.len() as u64;
        let among = |text: &str, ignore: bool| {
            let has = |id| existing.contains(&id);
            let all = || existing.iter().copied();
            IdRanges::parse(text)
                .unwrap()
                .among(count, has, all, ignore)
        };
        assert_eq!(among("4-6,9", false).unwrap(), [4, 5, 6, 9]);
        assert_eq!(among("9,4-6,4", false).unwrap(), [9, 4, 5, 6, 4]);
        for (text, word) in [
            ("4-7", "no object 7"),
            ("3-6", "no object 3"),
            ("10", "no object 10"),
            ("0-1000000000000000000", "at most the 8 ids"),
        ] {
            let error = among(text, false).unwrap_err();
            assert_eq!(error.class(), zvf_store::Class::Misuse);
            assert!(error.to_string().contains(word), "{error}");
        }
        for text in [
            "0-1000000000000000000,9",
            "3-7",
            "-3-9,5",
            "-9223372036854775808-9223372036854775807",
            "11-99",
            "10,11",
        ] {
            let ranges = IdRanges::parse(text).unwrap().ranges;
            let mut wanted = Vec::new();
            for (first, last) in ranges {
                let mut part: Vec<i64> = existing.clone();
                part.retain(|id| first <= *id && *id <= last);
                part.sort_unstable();
                wanted.extend(part);
            }
            assert_eq!(among(text, true).unwrap(), wanted, "{text}");
        }
        let none = IdRanges::parse("5").unwrap();
        let none = none.among(0, |_| false, std::iter::empty, false);
        assert!(none.unwrap_err().to_string().contains("no object 5"));
    }
}
