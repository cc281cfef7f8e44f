//! The encoder: [`RaggedBuilder`].

use alloc::vec::Vec;

use crate::int::signed;

/// Collects groups of bytes and writes one ragged blob.
///
/// # Examples
///
/// ```
/// use zvf_format::ragged::{RaggedBlob, RaggedBuilder};
///
/// let mut builder = RaggedBuilder::new();
/// builder.push(&[1, 2]);
/// builder.push(&[]);
/// let blob = builder.finish();
/// assert_eq!(RaggedBlob::parse(&blob)?.iter().collect::<Vec<_>>(), [&[1, 2][..], &[]]);
/// # Ok::<(), zvf_format::DecodeError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RaggedBuilder {
    offsets: Vec<i64>,
    data: Vec<u8>,
}

impl RaggedBuilder {
    /// Starts a blob without groups.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of pushed groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether no group was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Appends one group.
    pub fn push(&mut self, group: &[u8]) {
        self.offsets.push(signed(self.data.len()));
        self.data.extend_from_slice(group);
    }

    /// Writes the blob: count, offsets, data.
    #[must_use]
    pub fn finish(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + 8 * self.offsets.len() + self.data.len());
        bytes.extend_from_slice(&signed(self.offsets.len()).to_le_bytes());
        for offset in &self.offsets {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        bytes.extend_from_slice(&self.data);
        bytes
    }
}
