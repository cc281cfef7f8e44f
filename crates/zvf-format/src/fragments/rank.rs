//! A precomputed rank for random access: [`RankDirectory`].

use super::parse::{Fragment, FragmentIndex};
use crate::error::DecodeError;
use crate::int::{index, wide};

/// The number of ranges before each bitmap word, which allows finding fragment f in O(1).
///
/// One `u32` per 64 fragments, in storage of the caller's choice: a borrowed slice without any
/// feature (`build_in`), a `Vec` with `alloc` (`build`). The directory does not borrow the index, so
/// it can be cached together with the bytes.
///
/// # Examples
///
/// ```
/// use zvf_format::fragments::{FragmentIndex, RankDirectory};
///
/// # let blob = [0x47, 0x46, 0x56, 0x5A, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
/// #     0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// let index = FragmentIndex::parse(&blob)?;
/// let mut storage = [0_u32; 16]; // enough for 1024 fragments
/// let directory = RankDirectory::build_in(&index, &mut storage)?;
/// assert_eq!(directory.get(&index, 0), index.get(0));
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankDirectory<S> {
    before: S,
}

impl<'s> RankDirectory<&'s [u32]> {
    /// Counts the bitmap of `index_` once, into `storage`.
    ///
    /// # Cost
    /// O(F / 64); no allocation. Needs [`words_needed`](RankDirectory::words_needed) entries.
    ///
    /// # Errors
    /// Limit if `storage` is too short.
    pub fn build_in(
        index_: &FragmentIndex<'_>,
        storage: &'s mut [u32],
    ) -> Result<Self, DecodeError> {
        let need = Self::words_needed(index_);
        let room = storage.len();
        let Some(before) = storage.get_mut(..need) else {
            return Err(DecodeError::limit(
                "rank directory",
                16,
                wide(need),
                wide(room),
            ));
        };
        let mut ranges = 0_u32;
        for (entry, word) in before.iter_mut().zip(index_.words) {
            *entry = ranges;
            ranges = ranges.saturating_add(word.get().count_ones());
        }
        Ok(Self { before })
    }

    /// Number of entries of a directory of `index_`: one per 64 fragments.
    #[must_use]
    pub fn words_needed(index_: &FragmentIndex<'_>) -> usize {
        index_.words.len()
    }
}

#[cfg(feature = "alloc")]
impl RankDirectory<alloc::vec::Vec<u32>> {
    /// Counts the bitmap of `index_` once.
    ///
    /// # Cost
    /// O(F / 64), one allocation of 4 bytes per 64 fragments: half the size of the bitmap.
    #[must_use]
    pub fn build(index_: &FragmentIndex<'_>) -> Self {
        let mut before = alloc::vec::Vec::with_capacity(index_.words.len());
        let mut ranges = 0_u32;
        for word in index_.words {
            before.push(ranges);
            ranges = ranges.saturating_add(word.get().count_ones());
        }
        Self { before }
    }
}

impl<S: AsRef<[u32]>> RankDirectory<S> {
    /// Fragment `f` of the index that the directory was built from; with another index the result
    /// is some fragment of that index or `None`, never a panic.
    ///
    /// # Cost
    /// O(1).
    #[must_use]
    #[inline]
    pub fn get<'a>(&self, index_: &FragmentIndex<'a>, f: u32) -> Option<Fragment<'a>> {
        let is_range = index_.is_range(f)?;
        let before = *self.before.as_ref().get(index(f >> 6))?;
        index_.resolve(f, is_range, before)
    }
}
