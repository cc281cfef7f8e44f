//! Lists of texts in blocks: 4 bytes per text in addition to its own.
//!
//! ```text
//! list    block 0             block 1             …        4096 texts each, except for the last one
//! block   text "pearfig…"     ends 4, 7, …                 all texts one after another, and the end of each
//! ```
//!
//! A growing list is never copied as a whole, and a list that is merged into another one is freed block by block.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use serde::{Deserialize, Serialize};

use crate::WriteError;
use crate::error::{OrBug, narrow};
use crate::values::column::packed;
use zvf_format::int::index;

/// Texts of one block.
const BLOCK: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TextBlock {
    text: String,
    ends: Vec<u32>,
}

impl TextBlock {
    fn get(&self, at: usize) -> Option<&str> {
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        let end = *self.ends.get(at)?;
        self.text.get(index(start)..index(end))
    }
}

/// A list of texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextList {
    blocks: Vec<TextBlock>,
}

impl TextList {
    /// Number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, |block| block.ends.len());
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    /// Whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Appends a text.
    ///
    /// # Errors
    /// Over a limit: 4 GiB of texts in one block.
    pub fn push(&mut self, text: &str) -> Result<(), WriteError> {
        let block = match self.blocks.last_mut() {
            Some(block) if block.ends.len() < BLOCK => block,
            _ => {
                self.blocks.push(TextBlock::default());
                self.blocks.last_mut().or_bug("a list without blocks")?
            }
        };
        let end = narrow("bytes of texts", block.text.len() + text.len())?;
        block.text.push_str(text);
        block.ends.push(end);
        if block.ends.len() == BLOCK {
            block.text.shrink_to_fit();
        }
        Ok(())
    }

    /// The text at an index.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&str> {
        self.blocks.get(at / BLOCK)?.get(at % BLOCK)
    }

    /// All texts in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.blocks
            .iter()
            .flat_map(|block| (0..block.ends.len()).map_while(|at| block.get(at)))
    }

    /// The index of a text in a sorted list.
    pub(crate) fn position(&self, text: &str) -> Option<usize> {
        let first = |block: &TextBlock| block.get(0).is_some_and(|first| first <= text);
        let number = self.blocks.partition_point(first).checked_sub(1)?;
        let block = self.blocks.get(number)?;
        let (mut low, mut high) = (0, block.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match block.get(middle)?.cmp(text) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(number * BLOCK + middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whether each text is greater than the one before it.
    pub(crate) fn is_sorted(&self) -> bool {
        self.iter().is_sorted_by(|a, b| a < b)
    }

    /// The texts of two sorted lists, each once.
    ///
    /// # Cost
    /// Memory: the texts once, and a block of each list.
    fn merged(self, other: Self) -> Result<Self, WriteError> {
        let mut both = Self::default();
        let (mut a, mut b) = (TextListReader::new(self), TextListReader::new(other));
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => return Ok(both),
                (Some(text), None) => {
                    both.push(text)?;
                    Ordering::Less
                }
                (None, Some(text)) => {
                    both.push(text)?;
                    Ordering::Greater
                }
                (Some(one), Some(other)) => {
                    both.push(one.min(other))?;
                    one.cmp(other)
                }
            };
            if order.is_le() {
                a.next();
            }
            if order.is_ge() {
                b.next();
            }
        }
    }
}

/// Reads a list and frees it block by block.
struct TextListReader {
    rest: std::vec::IntoIter<TextBlock>,
    /// The current block; empty at the end.
    block: TextBlock,
    at: usize,
}

impl TextListReader {
    fn new(list: TextList) -> Self {
        let mut rest = list.blocks.into_iter();
        let block = rest.next().unwrap_or_default();
        Self { rest, block, at: 0 }
    }

    fn peek(&self) -> Option<&str> {
        self.block.get(self.at)
    }

    fn next(&mut self) {
        self.at += 1;
        if self.at >= self.block.ends.len() {
            self.block = self.rest.next().unwrap_or_default();
            self.at = 0;
        }
    }
}

/// The union of sorted lists that are added one after another.
///
/// Lists of similar sizes are merged first: for `n` lists, every text is merged about log2(n) times, and the waiting lists have at most twice the texts of
/// the largest one.
#[derive(Debug, Default)]
pub(crate) struct Union {
    lists: Vec<TextList>,
}

impl Union {
    pub(crate) fn add(&mut self, list: TextList) -> Result<(), WriteError> {
        self.lists.push(list);
        while let [.., before, last] = &*self.lists
            && before.len() <= last.len().saturating_mul(2)
        {
            self.merge_last()?;
        }
        Ok(())
    }

    fn merge_last(&mut self) -> Result<(), WriteError> {
        let last = self.lists.pop().or_bug("no list to merge")?;
        let before = self.lists.pop().or_bug("one list to merge")?;
        self.lists.push(before.merged(last)?);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<TextList, WriteError> {
        while self.lists.len() > 1 {
            self.merge_last()?;
        }
        Ok(self.lists.pop().unwrap_or_default())
    }
}

/// Distinct texts, in the order of their first occurrence.
#[derive(Debug, Default)]
pub struct TextSet {
    list: TextList,
    /// Numbers of texts, looked up by text.
    table: HashTable<u32>,
    hasher: RandomState,
}

impl TextSet {
    /// Number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The texts.
    pub(crate) fn into_list(self) -> TextList {
        self.list
    }

    /// The number of a known text.
    #[must_use]
    pub fn number(&self, text: &str) -> Option<u32> {
        let same = |number: &u32| self.list.get(index(*number)) == Some(text);
        self.table
            .find(self.hasher.hash_one(Some(text)), same)
            .copied()
    }

    /// The number of a text, which is added if it is new.
    ///
    /// # Errors
    /// Over a limit: 2^32 texts.
    pub fn insert(&mut self, text: &str) -> Result<u32, WriteError> {
        let known = |number: &u32| self.list.get(index(*number));
        let hash = |number: &u32| self.hasher.hash_one(known(number));
        let same = |number: &u32| known(number) == Some(text);
        let place = self
            .table
            .entry(self.hasher.hash_one(Some(text)), same, hash);
        match place {
            Entry::Occupied(number) => Ok(*number.get()),
            Entry::Vacant(place) => {
                let number = narrow("different texts", self.list.len())?;
                self.list.push(text)?;
                place.insert(number);
                Ok(number)
            }
        }
    }
}

/// A block as it is serialized.
#[derive(Serialize, Deserialize)]
struct StoredBlock<'b> {
    text: Cow<'b, str>,
    #[serde(with = "packed")]
    ends: Cow<'b, [u32]>,
}

impl Serialize for TextList {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.blocks.iter().map(|block| StoredBlock {
            text: Cow::Borrowed(&block.text),
            ends: Cow::Borrowed(&block.ends),
        }))
    }
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let blocks: Vec<StoredBlock<'static>> = Vec::deserialize(from)?;
        let count = blocks.len();
        let mut list = Self::default();
        for (number, block) in blocks.into_iter().enumerate() {
            let block = TextBlock {
                text: block.text.into_owned(),
                ends: block.ends.into_owned(),
            };
            let full = block.ends.len() == BLOCK || number + 1 == count && block.ends.len() < BLOCK;
            let ends_last = block
                .ends
                .last()
                .is_some_and(|end| index(*end) == block.text.len());
            if !full || !ends_last || (0..block.ends.len()).any(|at| block.get(at).is_none()) {
                return Err(serde::de::Error::custom(
                    "a block of texts with invalid ends",
                ));
            }
            list.blocks.push(block);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::{BLOCK, TextList, TextSet, Union};
    use crate::transaction::record_log::{from_bytes, to_bytes};

    fn list(texts: impl IntoIterator<Item = String>) -> TextList {
        let mut list = TextList::default();
        for text in texts {
            list.push(&text).unwrap();
        }
        list
    }

    #[test]
    fn a_list_has_its_texts() {
        let count = 2 * BLOCK + 7;
        let texts: Vec<String> = (0..count).map(|n| format!("é{n:06}")).collect();
        let all = list(texts.clone());
        assert_eq!(all.len(), count);
        assert!(all.iter().eq(texts.iter().map(String::as_str)));
        assert!(all.is_sorted());
        for at in [0, 1, BLOCK - 1, BLOCK, count - 1] {
            assert_eq!(all.get(at), texts.get(at).map(String::as_str));
            assert_eq!(all.position(&texts[at]), Some(at));
        }
        assert_eq!(
            (all.get(count), all.position("é"), all.position("ü")),
            (None, None, None)
        );
        let bytes = to_bytes(&all).unwrap();
        assert_eq!(from_bytes::<TextList>(&bytes), Some(all));
        assert!(from_bytes::<TextList>(&to_bytes(&vec!["a"]).unwrap()).is_none());
    }

    #[test]
    fn a_union_is_that_of_sets() {
        let mut expected = BTreeSet::new();
        let mut union = Union::default();
        for size in [1, 0, 9000, 3, 4096, 9000, 1, 5000] {
            let step = size % 7 + 1;
            let texts: BTreeSet<String> = (0..size)
                .map(|n: usize| format!("{:x}", n * step * 977 % 65_537))
                .collect();
            union.add(list(texts.clone())).unwrap();
            expected.extend(texts);
        }
        let found = union.finish().unwrap();
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().eq(expected.iter().map(String::as_str)));
    }

    #[test]
    fn a_set_numbers_texts_as_they_come() {
        let (mut set, mut expected) = (TextSet::default(), HashMap::new());
        assert_eq!((set.number("a"), set.len()), (None, 0));
        for n in 0..30_000_u64 {
            let text = format!("{}", n * n % 9973);
            let next = u32::try_from(expected.len()).unwrap();
            let number = *expected.entry(text.clone()).or_insert(next);
            assert_eq!(set.insert(&text).unwrap(), number);
        }
        assert_eq!(set.len(), expected.len());
        for (text, number) in &expected {
            assert_eq!(set.number(text), Some(*number));
        }
        assert_eq!(set.number("x"), None);
    }
}
