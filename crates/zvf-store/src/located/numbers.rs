//! Numbers of documents, and components of chunk keys.

use zvf_format::keys::parse_key;

use crate::coord::product;

/// A number of a document as a size.
pub(super) fn sized(number: impl TryInto<usize>) -> Option<usize> {
    number.try_into().ok()
}

/// Elements of a shape; the largest number if there are more.
pub(super) fn elements(shape: &[u64]) -> u64 {
    product(shape).unwrap_or(u64::MAX)
}

/// The components of a chunk key; `None` if the text is not a key.
pub(super) fn coordinate(key: &str) -> Option<Vec<i64>> {
    let mut found = vec![0; key.len()];
    let rank = parse_key(key, &mut found).ok()?;
    found.truncate(rank);
    Some(found)
}
