//! The presence list: many short chunk keys, stored in one string.

use std::fmt;

use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The chunk keys of `nonempty_chunks`, in document order.
///
/// A level may list a hundred thousand keys. They are stored as one string and the end of each key, so reading a
/// list costs two growing buffers and not one allocation for each key.
///
/// # Shape
///
/// Keys are texts such as `-1.0.12` (`K` decimal integers joined by `.`, absolute chunk coordinates). This type
/// does not check them; [`rules`](crate::rules) does.
///
/// Source: 0.9 §7.4.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyList {
    /// All keys, concatenated.
    text: String,
    /// Byte offset in `text` after each key.
    ends: Vec<u32>,
}

/// The error of a presence list that is longer than this crate supports: 4 GiB of key text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the presence list holds more than 4294967295 bytes of keys")]
pub struct KeyListFull;

impl KeyList {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a key.
    ///
    /// # Errors
    ///
    /// If the text of all keys would exceed 4 GiB; the list is then unchanged.
    pub fn push(&mut self, key: &str) -> Result<(), KeyListFull> {
        let end = self.text.len().checked_add(key.len()).ok_or(KeyListFull)?;
        let end = u32::try_from(end).map_err(|_| KeyListFull)?;
        self.text.push_str(key);
        self.ends.push(end);
        Ok(())
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the list has no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the key at a position, or `None` past the end. O(1).
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&str> {
        let end = usize::try_from(*self.ends.get(index)?).ok()?;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => usize::try_from(*self.ends.get(before)?).ok()?,
        };
        self.text.get(start..end)
    }

    /// Iterates the keys in document order, without allocating.
    #[must_use]
    pub fn iter(&self) -> KeyIter<'_> {
        KeyIter {
            text: &self.text,
            start: 0,
            ends: self.ends.iter(),
        }
    }

    /// Returns whether the keys are strictly ascending in ASCII order, as the format requires.
    ///
    /// # Cost
    ///
    /// One comparison for each key.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        let mut before: Option<&str> = None;
        self.iter()
            .all(|key| before.replace(key).is_none_or(|before| before < key))
    }
}

impl fmt::Debug for KeyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The keys of a [`KeyList`] in document order.
#[derive(Clone, Debug)]
pub struct KeyIter<'a> {
    text: &'a str,
    start: usize,
    ends: std::slice::Iter<'a, u32>,
}

impl<'a> Iterator for KeyIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = usize::try_from(*self.ends.next()?).ok()?;
        let key = self.text.get(self.start..end);
        self.start = end;
        key
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for KeyIter<'_> {}

impl<'a> IntoIterator for &'a KeyList {
    type Item = &'a str;
    type IntoIter = KeyIter<'a>;

    fn into_iter(self) -> KeyIter<'a> {
        self.iter()
    }
}

impl<'a> TryFrom<&'a [String]> for KeyList {
    type Error = KeyListFull;

    fn try_from(keys: &'a [String]) -> Result<Self, KeyListFull> {
        let mut list = Self::new();
        keys.iter().try_for_each(|key| list.push(key))?;
        Ok(list)
    }
}

impl Serialize for KeyList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for KeyList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = KeyList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of chunk keys")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<KeyList, A::Error> {
        // No reservation: the size hint comes from the document and is not trusted.
        let mut list = KeyList::new();
        while items.next_element_seed(Append(&mut list))?.is_some() {}
        Ok(list)
    }
}

/// Appends one key directly from the reader's buffer.
struct Append<'a>(&'a mut KeyList);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chunk key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<(), E> {
        self.0.push(key).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_in_order() -> Result<(), serde_json::Error> {
        let text = r#"["-1.0","-2.-1","0.0","1.-1","1.0","","é\n"]"#;
        let list: KeyList = serde_json::from_str(text)?;
        assert_eq!(
            list.iter().collect::<Vec<_>>(),
            ["-1.0", "-2.-1", "0.0", "1.-1", "1.0", "", "é\n"]
        );
        assert_eq!(list.len(), 7);
        assert_eq!(list.get(1), Some("-2.-1"));
        assert_eq!(list.get(0), Some("-1.0"));
        assert_eq!(list.get(5), Some(""));
        assert_eq!(list.get(7), None);
        assert_eq!(serde_json::to_string(&list)?, text);
        Ok(())
    }

    #[test]
    fn only_texts_are_keys() {
        for bad in ["[1]", "[null]", "{}", "\"0.0\"", "[[\"0.0\"]]", "[\"0.0\""] {
            assert!(serde_json::from_str::<KeyList>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn order_is_ascii_and_strict() -> Result<(), serde_json::Error> {
        let sorted = |text| serde_json::from_str::<KeyList>(text).map(|list| list.is_sorted());
        assert!(sorted(r#"[]"#)?);
        assert!(sorted(r#"["-1.0","0.0","1.0","10.0","2.0"]"#)?);
        assert!(!sorted(r#"["2.0","10.0"]"#)?);
        assert!(!sorted(r#"["0.0","0.0"]"#)?);
        Ok(())
    }

    #[test]
    fn memory_is_in_proportion_to_the_text() -> Result<(), KeyListFull> {
        let mut list = KeyList::new();
        for index in 0..10_000 {
            list.push(&format!("{index}.0.0"))?;
        }
        let text: usize = list.iter().map(str::len).sum();
        // The two buffers grow by doubling.
        let held = list.text.capacity() + list.ends.capacity() * size_of::<u32>();
        assert!(held <= 2 * (text + 4 * list.len()));
        Ok(())
    }
}
