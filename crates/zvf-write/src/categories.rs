//! Texts out of few: codes while batches come, codes of the sorted texts when all have come (0.9 §12.3).

use std::collections::HashMap;

use crate::WriteError;
use crate::error::{OrBug, narrow};
use crate::number::NumberType;
use zvf_format::int::{index, wide};

/// The code of a missing text until the end.
pub(crate) const MISSING: u32 = u32::MAX;

/// The texts of one attribute so far.
#[derive(Debug, Default)]
pub struct Categories {
    codes: HashMap<String, u32>,
    missing: bool,
}

impl Categories {
    /// The code of a text, a new one where it was not seen before.
    pub fn code(&mut self, text: Option<&str>) -> Result<u32, WriteError> {
        let Some(text) = text else {
            self.missing = true;
            return Ok(MISSING);
        };
        if let Some(&code) = self.codes.get(text) {
            return Ok(code);
        }
        let code = narrow("categories", self.codes.len())?;
        if code >= i32::MAX.unsigned_abs() {
            return Err(WriteError::limit(
                "categories",
                u64::from(code),
                u64::from(i32::MAX.unsigned_abs()),
            ));
        }
        self.codes.insert(text.to_owned(), code);
        Ok(code)
    }

    /// The final texts and codes.
    pub fn finish(self) -> Result<Dictionary, WriteError> {
        let mut texts: Vec<(String, u32)> = self.codes.into_iter().collect();
        texts.sort_unstable();
        let mut codes = vec![0; texts.len()];
        for (at, (_, code)) in texts.iter().enumerate() {
            let slot = codes.get_mut(index(*code));
            *slot.or_bug(format_args!("code {code} of fewer texts"))? = narrow("categories", at)?;
        }
        let count = wide(texts.len());
        // Without any text yet, all of them come later: any number of them, and vertices without one.
        let missing = self.missing || count == 0;
        let number = match (missing, count) {
            (_, 0) => NumberType::I32,
            (false, ..=255) => NumberType::U8,
            (false, ..=65_535) => NumberType::U16,
            (false, _) => NumberType::U32,
            (true, ..=127) => NumberType::I8,
            (true, ..=32_767) => NumberType::I16,
            (true, _) => NumberType::I32,
        };
        Ok(Dictionary {
            texts: texts.into_iter().map(|(text, _)| text).collect(),
            codes,
            number,
            missing,
        })
    }
}

/// The final texts of one attribute.
#[derive(Debug, PartialEq, Eq)]
pub struct Dictionary {
    /// Sorted by code point.
    pub texts: Vec<String>,
    /// The final code of each code given before.
    codes: Vec<u32>,
    /// The type of the stored codes.
    pub number: NumberType,
    /// Whether a text is missing; its code is -1.
    pub missing: bool,
}

impl Dictionary {
    /// Appends the stored form of a code given before.
    pub fn put(&self, code: [u8; 4], out: &mut Vec<u8>) -> Result<(), WriteError> {
        let code = u32::from_le_bytes(code);
        let stored = if code == MISSING {
            [0xff; 4]
        } else {
            let known = self.codes.get(index(code));
            known
                .or_bug(format_args!("no category {code}"))?
                .to_le_bytes()
        };
        let stored = stored.get(..self.number.size());
        out.extend_from_slice(stored.or_bug("categories of more than 4 bytes")?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Categories;
    use crate::number::NumberType;

    #[test]
    fn codes_are_ranks_of_the_sorted_texts() {
        let mut all = Categories::default();
        let codes: Vec<u32> = ["pear", "fig", "pear", "apple"]
            .map(|text| all.code(Some(text)).unwrap())
            .into();
        let done = all.finish().unwrap();
        assert_eq!(done.texts, ["apple", "fig", "pear"]);
        assert_eq!(done.number, NumberType::U8);
        let mut stored = Vec::new();
        codes
            .iter()
            .for_each(|code| done.put(code.to_le_bytes(), &mut stored).unwrap());
        assert_eq!(stored, [2, 1, 2, 0]);
        // A code that was never given is not that of the first text.
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
