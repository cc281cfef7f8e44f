//! One of several pieces of an answer, and the state of the store that it is a piece of.

use std::fmt;
use std::str::FromStr;

use zvf_store::{IoError, Store, StoreError};

use crate::QueryError;

/// One of several pieces of an answer; as text `I/N`, `I` from 0, or `I/N@TAG`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PieceOf {
    /// The number of the piece, from 0.
    pub number: u32,
    /// The number of pieces.
    pub count: u32,
    /// The state of the store when it was split; the same for all pieces.
    pub tag: Option<StateTag>,
}

/// A state of a store: a checksum of its root document, which every edit replaces. As text eight hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateTag(u32);

impl PieceOf {
    /// Fails if the piece has the tag of another state of the store.
    ///
    /// # Errors
    /// [`IoError::SourceChanged`].
    pub fn check(&self, store: &Store) -> Result<(), QueryError> {
        let now = StateTag::of(store);
        match self.tag {
            Some(tag) if tag != now => {
                Err(QueryError::Store(StoreError::Io(IoError::SourceChanged {
                    key: "zarr.json".to_owned(),
                    first: format!("tag {tag}"),
                    now: format!("tag {now}"),
                })))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for PieceOf {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let read = || {
            let (piece, tag) = match text.split_once('@') {
                Some((piece, tag)) => (piece, Some(StateTag::parse(tag.trim())?)),
                None => (text, None),
            };
            let (number, count) = piece.split_once('/')?;
            let (number, count) = (number.trim().parse().ok()?, count.trim().parse().ok()?);
            (number < count).then_some(Self { number, count, tag })
        };
        read().ok_or_else(|| {
            QueryError::misuse(format!(
                "found {text:?}, expected I/N with I from 0 and below N, e.g. 3/16, or I/N@TAG with a tag of `zvf splits`"
            ))
        })
    }
}

impl fmt::Display for PieceOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)?;
        match self.tag {
            Some(tag) => write!(f, "@{tag}"),
            None => Ok(()),
        }
    }
}

impl StateTag {
    /// The current state of a store.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self(crc32c::crc32c(store.root().to_json().as_bytes()))
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(text, 16).ok();
        number.filter(|_| digits).map(Self)
    }
}

impl fmt::Display for StateTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::PieceOf;

    #[test]
    fn pieces_are_texts() {
        for text in ["0/1", "3/16", "3/16@0012abcd"] {
            assert_eq!(text.parse::<PieceOf>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "1",
            "1/1",
            "-1/2",
            "0/0",
            "0/2@",
            "0/2@12",
            "0/2@+0012abc",
            "0/2@0012abcg",
            "@0012abcd",
        ] {
            assert!(wrong.parse::<PieceOf>().is_err(), "{wrong}");
        }
    }
}
