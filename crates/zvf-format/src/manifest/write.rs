//! The encoder: [`ManifestBuilder`] and its mode rules.

use alloc::vec::Vec;

use super::layout::LAST_FRAGMENT;
use crate::error::{EncodeError, Expected};
use crate::int::{index, signed};

/// Collects blocks in object order and writes one manifest.
///
/// The mode of a block depends on the pushed fragments:
///
/// | pushed | mode |
/// |---|---|
/// | one fragment, by any of the three calls | 0 |
/// | two or more that rise by one | 1 |
/// | other lists | 2 |
/// | none | no block |
///
/// Bulk writers of the reference write mode 0 only, one block per fragment; push fragments one
/// by one with [`push`](Self::push) to get the same bytes.
///
/// # Examples
///
/// ```
/// use zvf_format::manifest::{Manifest, ManifestBuilder};
///
/// let mut builder = ManifestBuilder::new(2)?;
/// builder.push(&[0, 0], 5)?;
/// builder.push_range(&[1, -1], 2, 3)?;
/// let blob = builder.finish();
///
/// let manifest = Manifest::parse(&blob, 2)?;
/// assert_eq!(manifest.fragment_refs().map(|(_, f)| f).collect::<Vec<_>>(), [5, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ManifestBuilder {
    key_rank: usize,
    blocks: u32,
    /// The blob; the first four bytes are written last.
    bytes: Vec<u8>,
}

impl ManifestBuilder {
    /// Starts a manifest for chunk coordinates of `key_rank` numbers.
    ///
    /// # Errors
    /// If `key_rank` is 0 or beyond [`MAX_RANK`](crate::keys::MAX_RANK).
    pub fn new(key_rank: usize) -> Result<Self, EncodeError> {
        if key_rank == 0 || key_rank > crate::keys::MAX_RANK {
            let expected = Expected::Text("1 to 16");
            return Err(EncodeError::new(
                "chunk coordinate rank",
                0,
                signed(key_rank),
                expected,
            ));
        }
        Ok(Self {
            key_rank,
            blocks: 0,
            bytes: alloc::vec![0; 4],
        })
    }

    /// Appends one fragment of a chunk: mode 0.
    ///
    /// # Errors
    /// If `chunk` does not have K numbers, or the fragment is negative or above 2^32 - 2.
    pub fn push(&mut self, chunk: &[i64], fragment: i64) -> Result<(), EncodeError> {
        self.check_fragment(0, fragment)?;
        self.start(chunk, 0)?;
        self.put(fragment);
        Ok(())
    }

    /// Appends fragments `start .. start + count` of a chunk: mode 1, or 0 for a single one.
    ///
    /// # Errors
    /// As [`push`](Self::push), for the first and last fragment; a negative count.
    pub fn push_range(&mut self, chunk: &[i64], start: i64, count: i64) -> Result<(), EncodeError> {
        if count < 0 {
            return Err(EncodeError::new(
                "manifest fragment range count",
                0,
                count,
                Expected::AtLeast(0),
            ));
        }
        self.check_fragment(0, start)?;
        match count {
            0 => Ok(()),
            1 => self.push(chunk, start),
            _ => {
                self.check_fragment(1, start.saturating_add(count - 1))?;
                self.start(chunk, 1)?;
                self.put(start);
                self.put(count);
                Ok(())
            }
        }
    }

    /// Appends a list of fragments of a chunk, in its order, in the shortest mode.
    ///
    /// # Errors
    /// As [`push`](Self::push), for every fragment; a list of 2^32 or more.
    pub fn push_list(&mut self, chunk: &[i64], fragments: &[i64]) -> Result<(), EncodeError> {
        for (item, &fragment) in fragments.iter().enumerate() {
            self.check_fragment(item, fragment)?;
        }
        let Some(&start) = fragments.first() else {
            return Ok(());
        };
        let rises = fragments
            .windows(2)
            .all(|pair| matches!(pair, [a, b] if a + 1 == *b));
        if rises {
            return self.push_range(chunk, start, signed(fragments.len()));
        }
        let Ok(count) = u32::try_from(fragments.len()) else {
            let expected = Expected::AtMost(i64::from(u32::MAX));
            return Err(EncodeError::new(
                "manifest fragment list",
                0,
                signed(fragments.len()),
                expected,
            ));
        };
        self.start(chunk, 2)?;
        self.bytes.extend_from_slice(&count.to_le_bytes());
        for &fragment in fragments {
            self.put(fragment);
        }
        Ok(())
    }

    /// Writes the blob; an object without blocks is four zero bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(head) = self.bytes.first_chunk_mut::<4>() {
            *head = self.blocks.to_le_bytes();
        }
        self.bytes
    }

    /// Coordinate and mode of a new block.
    fn start(&mut self, chunk: &[i64], mode: u8) -> Result<(), EncodeError> {
        if chunk.len() != self.key_rank {
            let expected = Expected::Exactly(signed(self.key_rank));
            return Err(EncodeError::new(
                "chunk coordinate rank",
                0,
                signed(chunk.len()),
                expected,
            ));
        }
        let Some(blocks) = self.blocks.checked_add(1) else {
            let expected = Expected::AtMost(i64::from(u32::MAX));
            return Err(EncodeError::new(
                "manifest block count",
                index(self.blocks),
                1 << 32,
                expected,
            ));
        };
        self.blocks = blocks;
        for &component in chunk {
            self.put(component);
        }
        self.bytes.push(mode);
        Ok(())
    }

    fn put(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn check_fragment(&self, item: usize, fragment: i64) -> Result<(), EncodeError> {
        if (0..=LAST_FRAGMENT).contains(&fragment) {
            return Ok(());
        }
        let expected = if fragment < 0 {
            Expected::AtLeast(0)
        } else {
            Expected::AtMost(LAST_FRAGMENT)
        };
        Err(EncodeError::new(
            "manifest fragment",
            item,
            fragment,
            expected,
        ))
    }
}
