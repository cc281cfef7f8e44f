//! Texts of categorical attributes. They get preliminary codes while batches arrive, and the codes of the sorted texts at the end (0.9 §12.3).

use std::sync::Arc;

use crate::WriteError;
use crate::error::{OrBug, narrow};
use crate::values::number::NumberType;
use crate::values::text_list::{TextList, TextSet};
use zvf_format::int::{index, wide};

/// The preliminary code of a missing text.
pub(crate) const MISSING: u32 = u32::MAX;

/// The texts of one categorical attribute while batches arrive, with their preliminary codes.
#[derive(Debug, Default)]
pub struct Categories {
    texts: TextSet,
    missing: bool,
}

impl Categories {
    /// Returns the code of a text. A new text gets the next code; all missing texts share a code.
    ///
    /// # Errors
    /// Limit: more than 2^31 - 1 texts.
    pub fn code(&mut self, text: Option<&str>) -> Result<u32, WriteError> {
        let Some(text) = text else {
            self.missing = true;
            return Ok(MISSING);
        };
        let code = self.texts.insert(text)?;
        check_count(code)?;
        Ok(code)
    }

    /// Sorts the texts: a final code is the rank of its text.
    ///
    /// # Cost
    /// Memory: the texts twice, and 8 bytes for each.
    pub fn finish(self) -> Result<Dictionary, WriteError> {
        let found = self.texts.into_list();
        let count: u32 = narrow("categories", found.len())?;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|code| found.get(index(*code)));
        let mut codes = vec![0; found.len()];
        let mut texts = TextList::default();
        for (code, &before) in (0_u32..).zip(&order) {
            let slot = codes.get_mut(index(before));
            *slot.or_bug(format_args!("code {before} of fewer texts"))? = code;
            let text = found.get(index(before));
            texts.push(text.or_bug(format_args!("no text {before}"))?)?;
        }
        // If there is no text yet, the type must also hold the codes of texts that are added later, and of missing ones.
        let missing = self.missing || texts.is_empty();
        Ok(Dictionary {
            number: stored_number(texts.len(), missing),
            texts: Arc::new(texts),
            codes,
            missing,
        })
    }
}

/// Checks that there can be another text after `count` texts.
fn check_count(count: u32) -> Result<(), WriteError> {
    let most = i32::MAX.unsigned_abs();
    if count >= most {
        return Err(WriteError::limit("categories", count.into(), most.into()));
    }
    Ok(())
}

/// The type of the stored codes of `texts` texts.
fn stored_number(texts: usize, missing: bool) -> NumberType {
    match (missing, wide(texts)) {
        (_, 0) => NumberType::I32,
        (false, ..=255) => NumberType::U8,
        (false, ..=65_535) => NumberType::U16,
        (false, _) => NumberType::U32,
        (true, ..=127) => NumberType::I8,
        (true, ..=32_767) => NumberType::I16,
        (true, _) => NumberType::I32,
    }
}

/// Appends the stored form of a code, looked up in `codes`.
fn put_code(
    codes: &[u32],
    number: NumberType,
    code: [u8; 4],
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let code = u32::from_le_bytes(code);
    let stored = if code == MISSING {
        [0xff; 4]
    } else {
        let known = codes.get(index(code));
        known
            .or_bug(format_args!("no category {code}"))?
            .to_le_bytes()
    };
    let stored = stored.get(..number.size());
    out.extend_from_slice(stored.or_bug("categories of more than 4 bytes")?);
    Ok(())
}

/// The sorted texts of one categorical attribute, and the final code of each preliminary code.
#[derive(Debug, PartialEq, Eq)]
pub struct Dictionary {
    /// Sorted by code point.
    pub texts: Arc<TextList>,
    /// The final code of each preliminary code.
    codes: Vec<u32>,
    /// The type of the stored codes.
    pub number: NumberType,
    /// Whether texts may be missing; the code of a missing text is -1.
    pub missing: bool,
}

impl Dictionary {
    /// Appends the stored form of a code that [`Categories::code`] returned.
    ///
    /// # Errors
    /// Bug: a code that `code` did not return.
    pub fn put(&self, code: [u8; 4], out: &mut Vec<u8>) -> Result<(), WriteError> {
        put_code(&self.codes, self.number, code, out)
    }

    /// The same texts with 32-bit codes, for use until the texts of all parts are known.
    pub fn widened(self) -> Self {
        Self {
            number: NumberType::U32,
            ..self
        }
    }

    /// The sorted texts of several dictionaries.
    pub(crate) fn joined(texts: TextList, missing: bool) -> Result<Self, WriteError> {
        check_count(narrow("categories", texts.len())?)?;
        Ok(Self {
            number: stored_number(texts.len(), missing),
            texts: Arc::new(texts),
            codes: Vec::new(),
            missing,
        })
    }

    /// The codes in this dictionary for the texts of another one.
    pub(crate) fn recoded(&self, texts: &TextList) -> Result<Recoded, WriteError> {
        let code = |text: &str| {
            let found = self.texts.position(text);
            narrow("categories", found.or_bug("a text that no part has")?)
        };
        Ok(Recoded {
            codes: texts.iter().map(code).collect::<Result<_, _>>()?,
            number: self.number,
        })
    }
}

/// Translates the codes of another dictionary to the codes of this one.
#[derive(Debug)]
pub(crate) struct Recoded {
    codes: Vec<u32>,
    number: NumberType,
}

impl Recoded {
    /// The stored form of codes.
    pub(crate) fn cell(&self, codes: &[u32]) -> Result<Vec<u8>, WriteError> {
        let mut cell = Vec::with_capacity(codes.len() * self.number.size());
        for code in codes {
            put_code(&self.codes, self.number, code.to_le_bytes(), &mut cell)?;
        }
        Ok(cell)
    }

    /// Bytes of a stored code.
    pub(crate) fn size(&self) -> usize {
        self.number.size()
    }
}

#[cfg(test)]
mod tests {
    use super::Categories;
    use crate::values::number::NumberType;

    #[test]
    fn codes_are_ranks_of_the_sorted_texts() {
        let mut all = Categories::default();
        let codes: Vec<u32> = ["pear", "fig", "pear", "apple"]
            .map(|text| all.code(Some(text)).unwrap())
            .into();
        let done = all.finish().unwrap();
        assert!(done.texts.iter().eq(["apple", "fig", "pear"]));
        assert_eq!(done.number, NumberType::U8);
        let mut stored = Vec::new();
        codes
            .iter()
            .for_each(|code| done.put(code.to_le_bytes(), &mut stored).unwrap());
        assert_eq!(stored, [2, 1, 2, 0]);
        // An unassigned code must not be read as the first text.
        let unknown = done.put(3_u32.to_le_bytes(), &mut stored);
        assert!(matches!(unknown, Err(crate::WriteError::Bug { .. })));
        assert_eq!(stored.len(), 4);
    }

    #[test]
    fn a_missing_text_is_minus_one() {
        let mut all = Categories::default();
        let texts: Vec<String> = (0..200).map(|i| format!("{i}")).collect();
        for text in &texts {
            all.code(Some(text)).unwrap();
        }
        let none = all.code(None).unwrap();
        let done = all.finish().unwrap();
        assert_eq!(done.number, NumberType::I16);
        let mut stored = Vec::new();
        done.put(none.to_le_bytes(), &mut stored).unwrap();
        assert_eq!(stored, (-1_i16).to_le_bytes());
    }
}
