//! The encoder: [`VlenBuilder`].

use alloc::vec::Vec;

use crate::error::{EncodeError, Expected};
use crate::int::{index, signed};

/// Collects elements and writes one `vlen-bytes` chunk.
///
/// # Examples
///
/// ```
/// use zvf_format::vlen::{VlenBuilder, VlenChunk};
///
/// let mut builder = VlenBuilder::new();
/// builder.push(b"ab")?;
/// let bytes = builder.finish_padded(3)?; // an edge chunk is padded with empty elements
/// assert_eq!(VlenChunk::parse(&bytes, 3)?.get(0), Some(&b"ab"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct VlenBuilder {
    count: u32,
    bytes: Vec<u8>,
}

impl Default for VlenBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl VlenBuilder {
    /// Starts a chunk without elements.
    #[must_use]
    pub fn new() -> Self {
        Self {
            count: 0,
            bytes: alloc::vec![0; 4],
        }
    }

    /// Writes the chunk of a single element: the cell of a chunk-grid array.
    ///
    /// # Errors
    /// If the element has 4 GiB or more.
    pub fn cell(element: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let mut builder = Self {
            count: 0,
            bytes: Vec::with_capacity(element.len().saturating_add(8)),
        };
        builder.bytes.extend_from_slice(&[0; 4]);
        builder.push(element)?;
        Ok(builder.finish())
    }

    /// Number of pushed elements.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether no element was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends one element.
    ///
    /// # Errors
    /// If the element has 4 GiB or more, or there are 2^32 - 1 elements already.
    pub fn push(&mut self, element: &[u8]) -> Result<(), EncodeError> {
        let item = index(self.count);
        let expected = Expected::AtMost(i64::from(u32::MAX));
        let Ok(length) = u32::try_from(element.len()) else {
            return Err(EncodeError::new(
                "vlen element length",
                item,
                signed(element.len()),
                expected,
            ));
        };
        let Some(count) = self.count.checked_add(1) else {
            return Err(EncodeError::new(
                "vlen element count",
                item,
                1 << 32,
                expected,
            ));
        };
        self.count = count;
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(element);
        Ok(())
    }

    /// Writes the chunk.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(head) = self.bytes.first_chunk_mut::<4>() {
            *head = self.count.to_le_bytes();
        }
        self.bytes
    }

    /// Writes the chunk, padded with empty elements to `count`, because edge chunks have the full
    /// length.
    ///
    /// # Errors
    /// If there are more than `count` elements.
    pub fn finish_padded(mut self, count: u32) -> Result<Vec<u8>, EncodeError> {
        let Some(missing) = count.checked_sub(self.count) else {
            let expected = Expected::AtMost(i64::from(count));
            return Err(EncodeError::new(
                "vlen element count",
                index(count),
                i64::from(self.count),
                expected,
            ));
        };
        self.bytes.resize(self.bytes.len() + index(missing) * 4, 0);
        self.count = count;
        Ok(self.finish())
    }
}
