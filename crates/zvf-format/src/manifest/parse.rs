//! The borrowed view: [`Manifest`], its [`Block`]s and their [`FragmentRefs`].

use core::iter::FusedIterator;
use core::mem::offset_of;

use zerocopy::byteorder::little_endian::I64;

use super::layout::{
    BlockMode, FragmentList, FragmentRun, LAST_FRAGMENT, ManifestHead, OneFragment,
};
use crate::cursor::BlobCursor;
use crate::error::{DecodeError, Expected};
use crate::int::{index, signed, wide};
use crate::number_iter::NumberIter;

/// The manifest of one object, borrowed and fully validated.
///
/// # Shape
/// B blocks in object order; each names a chunk by K coordinates and some of its fragments.
///
/// # Units
/// Absolute chunk coordinates; fragment numbers count from 0 inside their chunk.
#[derive(Debug, Clone, Copy)]
pub struct Manifest<'a> {
    blocks: u32,
    key_rank: usize,
    /// Everything after the block count.
    body: &'a [u8],
    fragments: u64,
}

/// One block: a chunk and its next fragments in the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// Absolute coordinate of the chunk, K numbers.
    pub chunk: &'a [I64],
    /// The fragments, in order.
    pub fragments: FragmentRefs<'a>,
}

/// The fragments that one block names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FragmentRefs<'a> {
    /// Mode 0: one fragment.
    One(i64),
    /// Mode 1: fragments `start .. start + count`.
    Range {
        /// First fragment.
        start: i64,
        /// Number of fragments.
        count: i64,
    },
    /// Mode 2: the fragments of this list, in this order.
    List(&'a [I64]),
}

impl<'a> Manifest<'a> {
    /// Parses and validates a whole manifest for chunk coordinates of `key_rank` numbers.
    ///
    /// An empty blob is a row that was never written. It is read as a manifest without blocks (trap
    /// T31).
    ///
    /// # Cost
    /// O(bytes), no allocation. A huge block count fails immediately, because every block takes bytes.
    ///
    /// # Errors
    /// Truncated if a block runs past the end; unsupported for a mode above 2; malformed for
    /// negative fragment numbers and counts, fragment numbers of 2^32 - 1 and more, and bytes after
    /// the last block;
    /// limit for a `key_rank` of 0 or beyond [`MAX_RANK`](crate::keys::MAX_RANK).
    ///
    /// # Panics
    /// Never.
    pub fn parse(bytes: &'a [u8], key_rank: usize) -> Result<Self, DecodeError> {
        if key_rank == 0 || key_rank > crate::keys::MAX_RANK {
            let max = wide(crate::keys::MAX_RANK);
            return Err(DecodeError::limit(
                "chunk coordinate rank",
                0,
                wide(key_rank),
                max,
            ));
        }
        if bytes.is_empty() {
            return Ok(Self {
                blocks: 0,
                key_rank,
                body: &[],
                fragments: 0,
            });
        }
        let mut cursor = BlobCursor::new(bytes);
        let head = cursor.take::<ManifestHead>("manifest block count")?;
        let blocks = head.blocks.get();
        let body = cursor.rest();
        // The shortest block is an empty list: coordinate, mode, count.
        let least =
            size_of::<I64>() * key_rank + size_of::<BlockMode>() + size_of::<FragmentList>();
        let least = u64::from(blocks).saturating_mul(wide(least));
        if least > wide(body.len()) {
            return Err(DecodeError::truncated(
                "manifest blocks",
                4,
                wide(body.len()),
                least,
            ));
        }
        let mut fragments = 0_u64;
        for _ in 0..blocks {
            let block = take_block(&mut cursor, key_rank)?;
            fragments = fragments.saturating_add(block.fragments.len());
        }
        if !cursor.rest().is_empty() {
            let found = signed(bytes.len());
            let end = cursor.at();
            let expected = Expected::Exactly(signed(bytes.len() - cursor.rest().len()));
            return Err(DecodeError::malformed(
                "manifest length",
                end,
                found,
                expected,
            ));
        }
        Ok(Self {
            blocks,
            key_rank,
            body,
            fragments,
        })
    }

    /// B, the number of blocks.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.blocks
    }

    /// Whether the object has no blocks at this level.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// K, the number of components of a chunk coordinate.
    #[must_use]
    pub fn key_rank(&self) -> usize {
        self.key_rank
    }

    /// Number of (chunk, fragment) references in all blocks. It may be huge in a hostile manifest,
    /// because a range takes 16 bytes regardless of its length: see [`FragmentRefs::check`].
    #[must_use]
    pub fn fragment_count(&self) -> u64 {
        self.fragments
    }

    /// The blocks, in object order. Cannot fail: [`parse`](Self::parse) has read them all.
    ///
    /// # Cost
    /// O(1) for each step, no allocation.
    #[must_use]
    pub fn blocks(&self) -> Blocks<'a> {
        Blocks {
            cursor: BlobCursor::resume(self.body, 4),
            left: self.blocks,
            key_rank: self.key_rank,
        }
    }

    /// Every (chunk, fragment) reference, in object order.
    ///
    /// # Cost
    /// O(1) for each step, no allocation. Check untrusted blocks with [`FragmentRefs::check`] first: a
    /// range may name 2^32 fragments.
    #[must_use]
    pub fn fragment_refs(&self) -> FragmentRefIter<'a> {
        FragmentRefIter {
            blocks: self.blocks(),
            current: None,
        }
    }
}

/// Takes and checks one block.
#[inline]
fn take_block<'a>(cursor: &mut BlobCursor<'a>, key_rank: usize) -> Result<Block<'a>, DecodeError> {
    let chunk = cursor.take_slice::<I64>(key_rank, "manifest chunk coordinate")?;
    let at = cursor.at();
    let mode = cursor.take::<BlockMode>("manifest block mode")?.mode;
    let fragments = match mode {
        0 => {
            let at = cursor.at();
            let one = cursor.take::<OneFragment>("manifest fragment")?;
            let fragment = one.fragment.get();
            if !(0..=LAST_FRAGMENT).contains(&fragment) {
                return Err(refuse_fragment("manifest fragment", at, fragment));
            }
            FragmentRefs::One(fragment)
        }
        1 => {
            let at = cursor.at();
            // The fields of a `FragmentRun` are taken one by one: taking them together makes
            // `fragment_refs` a quarter slower.
            let start = cursor.take::<I64>("manifest fragment range start")?.get();
            let count = cursor.take::<I64>("manifest fragment range count")?.get();
            if !(0..=LAST_FRAGMENT + 1).contains(&start) {
                return Err(refuse_fragment("manifest fragment range start", at, start));
            }
            let most = LAST_FRAGMENT + 1 - start;
            if !(0..=most).contains(&count) {
                let expected = if count < 0 {
                    Expected::AtLeast(0)
                } else {
                    Expected::AtMost(most)
                };
                return Err(DecodeError::malformed(
                    "manifest fragment range count",
                    at + wide(offset_of!(FragmentRun, count)),
                    count,
                    expected,
                ));
            }
            FragmentRefs::Range { start, count }
        }
        2 => {
            let list = cursor.take::<FragmentList>("manifest fragment list length")?;
            let count = list.count.get();
            let at = cursor.at();
            let list = cursor.take_slice::<I64>(index(count), "manifest fragment list")?;
            for (place, fragment) in list.iter().enumerate() {
                let fragment = fragment.get();
                if !(0..=LAST_FRAGMENT).contains(&fragment) {
                    return Err(refuse_fragment(
                        "manifest fragment list entry",
                        at + wide(place) * 8,
                        fragment,
                    ));
                }
            }
            FragmentRefs::List(list)
        }
        _ => {
            let expected = Expected::Text("mode 0, 1 or 2");
            return Err(DecodeError::unsupported(
                "manifest block mode",
                at,
                i64::from(mode),
                expected,
            ));
        }
    };
    Ok(Block { chunk, fragments })
}

#[cold]
fn refuse_fragment(what: &'static str, at: u64, found: i64) -> DecodeError {
    let expected = if found < 0 {
        Expected::AtLeast(0)
    } else {
        Expected::AtMost(LAST_FRAGMENT)
    };
    DecodeError::malformed(what, at, found, expected)
}

/// The blocks of one manifest: what [`Manifest::blocks`] returns.
#[derive(Debug, Clone)]
pub struct Blocks<'a> {
    cursor: BlobCursor<'a>,
    left: u32,
    key_rank: usize,
}

impl Blocks<'_> {
    /// Byte offset of the next block, from the start of the blob. For annotated dumps.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.cursor.at()
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    #[inline]
    fn next(&mut self) -> Option<Block<'a>> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // `parse` has checked every block, so this does not fail.
        take_block(&mut self.cursor, self.key_rank).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (index(self.left), Some(index(self.left)))
    }
}

impl ExactSizeIterator for Blocks<'_> {}
impl FusedIterator for Blocks<'_> {}

impl<'a> FragmentRefs<'a> {
    /// Number of fragments of the block.
    #[must_use]
    pub fn len(&self) -> u64 {
        match *self {
            Self::One(_) => 1,
            Self::Range { count, .. } => u64::try_from(count).unwrap_or(0),
            Self::List(list) => wide(list.len()),
        }
    }

    /// Whether the block names no fragment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stored mode of the block: 0, 1 or 2.
    #[must_use]
    pub fn mode(&self) -> u8 {
        match self {
            Self::One(_) => 0,
            Self::Range { .. } => 1,
            Self::List(_) => 2,
        }
    }

    /// The first fragment number that does not exist in a chunk with `fragments` fragments; `None` if
    /// all exist.
    ///
    /// # Cost
    /// O(1), O(n) for a list: bounded by the bytes, so call it before
    /// [`iter`](Self::iter) on an untrusted manifest.
    #[must_use]
    pub fn check(&self, fragments: u32) -> Option<i64> {
        let limit = i64::from(fragments);
        match *self {
            Self::One(fragment) => (fragment >= limit).then_some(fragment),
            Self::Range { start, count } => {
                (count > 0 && start.saturating_add(count) > limit).then(|| start.max(limit))
            }
            Self::List(list) => list
                .iter()
                .map(|fragment| fragment.get())
                .find(|&fragment| fragment >= limit),
        }
    }

    /// The fragment numbers, in order.
    ///
    /// # Cost
    /// O(1) for each step, no allocation.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> FragmentNumbers<'a> {
        FragmentNumbers(match *self {
            Self::One(fragment) => NumberIter::range(fragment, 1),
            Self::Range { start, count } => NumberIter::range(start, count),
            Self::List(list) => NumberIter::list(list),
        })
    }
}

impl<'a> IntoIterator for FragmentRefs<'a> {
    type Item = i64;
    type IntoIter = FragmentNumbers<'a>;

    fn into_iter(self) -> FragmentNumbers<'a> {
        self.iter()
    }
}

/// Fragment numbers of one block: what [`FragmentRefs::iter`] returns.
#[derive(Debug, Clone)]
pub struct FragmentNumbers<'a>(NumberIter<'a>);

impl Iterator for FragmentNumbers<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl FusedIterator for FragmentNumbers<'_> {}

/// All references of one manifest: what [`Manifest::fragment_refs`] returns.
#[derive(Debug, Clone)]
pub struct FragmentRefIter<'a> {
    blocks: Blocks<'a>,
    current: Option<(&'a [I64], FragmentNumbers<'a>)>,
}

impl<'a> Iterator for FragmentRefIter<'a> {
    type Item = (&'a [I64], i64);

    #[inline]
    fn next(&mut self) -> Option<(&'a [I64], i64)> {
        loop {
            if let Some((chunk, numbers)) = &mut self.current
                && let Some(fragment) = numbers.next()
            {
                return Some((chunk, fragment));
            }
            let block = self.blocks.next()?;
            self.current = Some((block.chunk, block.fragments.iter()));
        }
    }
}

impl FusedIterator for FragmentRefIter<'_> {}
