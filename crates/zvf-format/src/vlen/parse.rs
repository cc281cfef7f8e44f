//! The borrowed view: [`VlenChunk`].

use core::iter::FusedIterator;

use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::U32;

use crate::cursor::BlobCursor;
use crate::error::{DecodeError, Expected};
use crate::int::{index, same_bits, wide};

crate::layout! {
    /// Head of a chunk.
    pub struct VlenHead: 4 {
        /// elements in this chunk; 1 in the arrays of the chunk grid
        pub count as "n": U32,
    }

    /// Head of an element.
    pub struct ElementHead: 4 {
        /// bytes
        pub length as "len": U32,
    }
}

/// One decoded chunk of a `vlen-bytes` array, borrowed and fully validated.
///
/// # Shape
/// n byte strings, in C order of the chunk.
#[derive(Debug, Clone, Copy)]
pub struct VlenChunk<'a> {
    count: u32,
    /// The elements with their lengths, without the bytes after them.
    body: &'a [u8],
    trailing: &'a [u8],
}

impl<'a> VlenChunk<'a> {
    /// The number of elements that a chunk states. `None` if the head is missing.
    #[must_use]
    pub fn count(bytes: &[u8]) -> Option<u64> {
        let (head, _) = VlenHead::ref_from_prefix(bytes).ok()?;
        Some(u64::from(head.count.get()))
    }

    /// Parses a chunk that holds `expected` elements, the product of the array's chunk shape.
    ///
    /// Bytes after the last element are ignored, as the reference does (4.2); see
    /// [`trailing`](Self::trailing).
    ///
    /// # Cost
    /// O(n), no allocation; O(1) for the one-element chunks of the chunk-grid arrays.
    ///
    /// # Errors
    /// Truncated if the count is missing or an element runs past the end, malformed if the count is
    /// not `expected`.
    ///
    /// # Panics
    /// Never.
    pub fn parse(bytes: &'a [u8], expected: u64) -> Result<Self, DecodeError> {
        let mut cursor = BlobCursor::new(bytes);
        let count = cursor.take::<VlenHead>("vlen element count")?.count.get();
        if u64::from(count) != expected {
            let expected = Expected::Exactly(same_bits(expected));
            return Err(DecodeError::malformed(
                "vlen element count",
                0,
                i64::from(count),
                expected,
            ));
        }
        let body = cursor.rest();
        let least = u64::from(count) * wide(size_of::<ElementHead>());
        if least > wide(body.len()) {
            return Err(DecodeError::truncated(
                "vlen elements",
                4,
                wide(body.len()),
                least,
            ));
        }
        for _ in 0..count {
            take_element(&mut cursor)?;
        }
        let used = body.len() - cursor.rest().len();
        let (body, trailing) = body.split_at_checked(used).unwrap_or((body, &[]));
        Ok(Self {
            count,
            body,
            trailing,
        })
    }

    /// The only element of a one-element chunk: the cell of a chunk-grid array.
    ///
    /// # Errors
    /// As [`parse`](Self::parse) with one element expected.
    ///
    /// # Panics
    /// Never.
    #[inline]
    pub fn parse_cell(bytes: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        let mut cursor = BlobCursor::new(bytes);
        let count = cursor.take::<VlenHead>("vlen element count")?.count.get();
        if count != 1 {
            let expected = Expected::Exactly(1);
            return Err(DecodeError::malformed(
                "vlen element count",
                0,
                i64::from(count),
                expected,
            ));
        }
        take_element(&mut cursor)
    }

    /// n, the number of elements.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether the chunk has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Element `i`; `None` past the last one.
    ///
    /// # Cost
    /// O(i), because the preceding lengths must be read. For random access to many elements see
    /// [`VlenDirectory`](super::VlenDirectory).
    #[must_use]
    pub fn get(&self, i: u32) -> Option<&'a [u8]> {
        self.iter().nth(index(i))
    }

    /// The elements, in order.
    ///
    /// # Cost
    /// O(1) for each step, no allocation.
    #[must_use]
    pub fn iter(&self) -> VlenIter<'a> {
        VlenIter {
            cursor: BlobCursor::resume(self.body, 4),
            left: self.count,
        }
    }

    /// Bytes after the last element. Readers ignore them; writers must not leave any.
    #[must_use]
    pub fn trailing(&self) -> &'a [u8] {
        self.trailing
    }

    /// The elements with their lengths, without the count and the bytes after the last element.
    pub(super) fn body(&self) -> &'a [u8] {
        self.body
    }
}

#[inline]
fn take_element<'a>(cursor: &mut BlobCursor<'a>) -> Result<&'a [u8], DecodeError> {
    let head = cursor.take::<ElementHead>("vlen element length")?;
    cursor.take_slice::<u8>(index(head.length.get()), "vlen element")
}

impl<'a> IntoIterator for &VlenChunk<'a> {
    type Item = &'a [u8];
    type IntoIter = VlenIter<'a>;

    fn into_iter(self) -> VlenIter<'a> {
        self.iter()
    }
}

/// The elements of one chunk: what [`VlenChunk::iter`] returns.
#[derive(Debug, Clone)]
pub struct VlenIter<'a> {
    cursor: BlobCursor<'a>,
    left: u32,
}

impl<'a> VlenIter<'a> {
    /// Byte offset of the length of the next element, from the start of the chunk.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.cursor.at()
    }
}

impl<'a> Iterator for VlenIter<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // `parse` has checked every element, so this does not fail.
        take_element(&mut self.cursor).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (index(self.left), Some(index(self.left)))
    }
}

impl ExactSizeIterator for VlenIter<'_> {}
impl FusedIterator for VlenIter<'_> {}
