//! Element starts for random access: [`VlenDirectory`].

use zerocopy::FromBytes;

use super::parse::{ElementHead, VlenChunk};
use crate::error::DecodeError;
use crate::int::{index, wide};

/// The start of each element of a chunk, so that element i is found in O(1).
///
/// One `usize` per element, in a slice of the caller, or in a `Vec` with the feature `alloc`. The
/// directory does not borrow the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlenDirectory<S> {
    /// Offset of each element's length field, from the end of the element count.
    starts: S,
}

impl<'s> VlenDirectory<&'s [usize]> {
    /// Builds the directory in one pass over `chunk`, with one start per element in `storage`.
    ///
    /// # Cost
    /// O(n), no allocation.
    ///
    /// # Errors
    /// Limit if `storage` has fewer than [`VlenChunk::len`] entries.
    pub fn build_in(chunk: &VlenChunk<'_>, storage: &'s mut [usize]) -> Result<Self, DecodeError> {
        let need = index(chunk.len());
        let room = storage.len();
        let Some(starts) = storage.get_mut(..need) else {
            return Err(DecodeError::limit(
                "vlen directory",
                0,
                wide(need),
                wide(room),
            ));
        };
        let mut next = 0_usize;
        for (start, element) in starts.iter_mut().zip(chunk.iter()) {
            *start = next;
            next += size_of::<ElementHead>() + element.len();
        }
        Ok(Self { starts })
    }
}

#[cfg(feature = "alloc")]
impl VlenDirectory<alloc::vec::Vec<usize>> {
    /// Builds the directory in one pass over `chunk`.
    ///
    /// # Cost
    /// O(n), one allocation of n entries; the chunk has at least 4 bytes for each.
    #[must_use]
    pub fn build(chunk: &VlenChunk<'_>) -> Self {
        let mut starts = alloc::vec::Vec::with_capacity(index(chunk.len()));
        let mut next = 0_usize;
        for element in chunk.iter() {
            starts.push(next);
            next += size_of::<ElementHead>() + element.len();
        }
        Self { starts }
    }
}

impl<S: AsRef<[usize]>> VlenDirectory<S> {
    /// Element `i` of the chunk that the directory was built from. With another chunk, the result
    /// is some bytes of that chunk or `None`, never a panic.
    ///
    /// # Cost
    /// O(1).
    #[must_use]
    #[inline]
    pub fn get<'a>(&self, chunk: &VlenChunk<'a>, i: u32) -> Option<&'a [u8]> {
        let start = *self.starts.as_ref().get(index(i))?;
        let (head, rest) = ElementHead::ref_from_prefix(chunk.body().get(start..)?).ok()?;
        rest.get(..index(head.length.get()))
    }
}
