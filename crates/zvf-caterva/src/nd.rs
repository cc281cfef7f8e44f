//! The n-d metalayers `caterva` and `b2nd`, read in place (`spec/caterva-b2nd.md` 5).
//!
//! ```text
//! 0         95 caterva, 97 b2nd
//! 1         format version, nd
//! 3         90+nd, nd x (d3 shape i64)
//! 4+ 9nd    90+nd, nd x (d2 chunk shape i32)
//! 5+14nd    90+nd, nd x (d2 block shape i32)
//! 6+19nd    b2nd: dtype format, db, u32 length, text
//! ```
//!
//! With 16 dimensions the marker is `a0`, which a MessagePack reader parses as an empty string.

use zvf_blosc::{DecodeError, Expected};
use zvf_grid::{Dims, GridError, MAX_RANK};

use crate::marked::MarkedFields;
use zvf_grid::int::{index, wide};

/// The kinds of metalayers that describe an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NdKind {
    /// `caterva`: no item type.
    Caterva,
    /// `b2nd`: usually with an item type.
    B2nd,
}

impl NdKind {
    /// The metalayer's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Caterva => "caterva",
            Self::B2nd => "b2nd",
        }
    }
}

/// A checked n-d metalayer.
///
/// # Examples
///
/// ```
/// use zvf_caterva::{NdKind, NdMeta};
///
/// # #[rustfmt::skip]
/// let content = [
///     0x95, 0, 1,
///     0x91, 0xd3, 0, 0, 0, 0, 0, 0, 0, 100, // shape
///     0x91, 0xd2, 0, 0, 0, 40,              // chunks
///     0x91, 0xd2, 0, 0, 0, 8,               // blocks
/// ];
/// let meta = NdMeta::parse(&content, NdKind::Caterva)?;
/// assert_eq!((meta.shape(0), meta.chunk(0), meta.block(0)), (100, 40, 8));
/// # Ok::<(), zvf_blosc::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NdMeta<'a> {
    fields: MarkedFields<'a>,
    nd: u8,
    kind: NdKind,
    dtype: Option<(u8, &'a [u8])>,
}

impl<'a> NdMeta<'a> {
    /// Checks length, markers and ranges of the metalayer's content. Positions in errors count from its start.
    ///
    /// # Errors
    ///
    /// Truncated or malformed.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn parse(content: &'a [u8], kind: NdKind) -> Result<Self, DecodeError> {
        let fields = MarkedFields::new(content, 0);
        let first = fields.byte("n-d metalayer", 0)?;
        if !matches!(first, 0x95 | 0x97) {
            let expected = Expected::Text("an array of 5 or 7 values");
            return Err(DecodeError::malformed(
                "n-d metalayer",
                0,
                first.into(),
                expected,
            ));
        }
        let version = fields.byte("n-d metalayer version", 1)?;
        if version > 0x7f {
            let (what, expected) = ("n-d metalayer version", Expected::AtMost(0x7f));
            return Err(DecodeError::malformed(what, 1, version.into(), expected));
        }
        let nd = fields.byte("dimensions", 2)?;
        if usize::from(nd) > MAX_RANK {
            let expected = Expected::AtMost(16);
            return Err(DecodeError::malformed("dimensions", 2, nd.into(), expected));
        }
        let n = usize::from(nd);
        for (what, at) in [
            ("shape", 3),
            ("chunk shape", 4 + 9 * n),
            ("block shape", 5 + 14 * n),
        ] {
            fields.marker(what, at, 0x90 + nd)?;
        }
        for k in 0..n {
            let shape = fields.u64("shape", 4 + 9 * k, 0xd3)?;
            // A chunk has extent 0 only if the array has; a block has extent 0 exactly if the chunk has.
            let least = i32::from(shape > 0);
            let chunk = fields.i32("chunk shape", 5 + 9 * n + 5 * k, least)?;
            let least = i32::from(chunk > 0);
            let block = fields.i32("block shape", 6 + 14 * n + 5 * k, least)?;
            if chunk == 0 && block > 0 {
                let (at, found) = (wide(7 + 14 * n + 5 * k), i64::from(block));
                return Err(DecodeError::malformed(
                    "block shape",
                    at,
                    found,
                    Expected::Exactly(0),
                ));
            }
        }
        let end = 6 + 19 * n;
        let mut dtype = None;
        let mut after = end;
        if content.len() > end {
            let format = fields.byte("dtype format", end)?;
            if format > 0x7f {
                let expected = Expected::AtMost(0x7f);
                return Err(DecodeError::malformed(
                    "dtype format",
                    wide(end),
                    format.into(),
                    expected,
                ));
            }
            let length = index(fields.u32("dtype length", end + 1, 0xdb)?);
            dtype = Some((format, fields.slice("dtype text", end + 6, length)?));
            after = end + 6 + length;
        }
        if content.len() != after {
            let expected = Expected::Exactly(crate::header::signed(wide(after)));
            let found = crate::header::signed(wide(content.len()));
            return Err(DecodeError::malformed(
                "n-d metalayer length",
                0,
                found,
                expected,
            ));
        }
        Ok(Self {
            fields,
            nd,
            kind,
            dtype,
        })
    }

    /// The metalayer's name.
    #[must_use]
    pub const fn kind(&self) -> NdKind {
        self.kind
    }

    /// The metalayer's format version; 0 in all files seen.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.fields
            .byte("n-d metalayer version", 1)
            .unwrap_or_default()
    }

    /// Number of dimensions, 0 to 16.
    #[must_use]
    pub fn rank(&self) -> usize {
        usize::from(self.nd)
    }

    /// Extent of the array on axis `k`; 0 after the last axis.
    #[must_use]
    pub fn shape(&self, k: usize) -> u64 {
        if k >= self.rank() {
            return 0;
        }
        self.fields
            .u64("shape", 4 + 9 * k, 0xd3)
            .unwrap_or_default()
    }

    /// Extent of a chunk on axis `k`; 0 after the last axis.
    #[must_use]
    pub fn chunk(&self, k: usize) -> u32 {
        let n = self.rank();
        if k >= n {
            return 0;
        }
        self.fields
            .i32("chunk shape", 5 + 9 * n + 5 * k, 0)
            .unwrap_or_default()
    }

    /// Extent of a block on axis `k`; 0 after the last axis.
    #[must_use]
    pub fn block(&self, k: usize) -> u32 {
        let n = self.rank();
        if k >= n {
            return 0;
        }
        self.fields
            .i32("block shape", 6 + 14 * n + 5 * k, 0)
            .unwrap_or_default()
    }

    /// The dtype format (0: NumPy) and text, if the metalayer has them.
    #[must_use]
    pub const fn dtype(&self) -> Option<(u8, &'a [u8])> {
        self.dtype
    }

    /// Shape, chunk shape and block shape.
    ///
    /// # Errors
    ///
    /// None for a metalayer that was parsed: it has at most 16 dimensions.
    pub fn dims(&self) -> Result<[Dims; 3], GridError> {
        let mut shapes = [[0u64; MAX_RANK]; 3];
        let [shape, chunk, block] = &mut shapes;
        for (k, ((s, c), b)) in shape.iter_mut().zip(chunk).zip(block).enumerate() {
            *s = self.shape(k);
            *c = u64::from(self.chunk(k));
            *b = u64::from(self.block(k));
        }
        let rank = self.rank();
        let [shape, chunk, block] =
            shapes.map(|all| Dims::new(all.get(..rank).unwrap_or_default()));
        Ok([shape?, chunk?, block?])
    }
}
