//! A view of a contiguous frame in memory, without a heap.

use zvf_blosc::{Chunk, DecodeError, Expected};

use crate::header::signed;
use crate::{FrameHeader, FrameLayout, Metalayers, NdKind, NdMeta, TrailerTail};
use zvf_grid::int::{index, wide};

/// Zero-copy views of a frame: header, metalayers, index and single chunks, but not slices of the
/// array.
///
/// # Cost
///
/// Parsing reads header, metalayers, trailer and the header and block table of the index chunk, but no chunk.
#[derive(Debug, Clone, Copy)]
pub struct FrameView<'a> {
    bytes: &'a [u8],
    header: FrameHeader,
    metalayers: Metalayers<'a>,
    trailer: Metalayers<'a>,
    index: Option<Chunk<'a>>,
}

impl<'a> FrameView<'a> {
    /// Parses the frame at the start of `bytes`; bytes after `frame_len` are ignored.
    ///
    /// # Errors
    ///
    /// As in the table of `spec/caterva-b2nd.md` 9, for the levels frame, metalayer and index.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let header = FrameHeader::parse(bytes)?;
        header.check_available(wide(bytes.len()))?;
        let length = usize::try_from(header.frame_len).unwrap_or(usize::MAX);
        let bytes = bytes.get(..length).unwrap_or(bytes);
        let head = bytes.get(..index(header.header_len)).unwrap_or_default();
        let metalayers = Metalayers::of_header(head)?;
        let tail = bytes
            .get(length.saturating_sub(TrailerTail::LEN)..)
            .unwrap_or_default();
        let tail = TrailerTail::parse(tail, &header)?;
        let start = length.saturating_sub(index(tail.trailer_len));
        let trailer = bytes.get(start..).unwrap_or_default();
        let trailer = Metalayers::of_trailer(trailer, wide(start))?;
        let at = header.index_start().unwrap_or(u64::MAX);
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let between = bytes.get(from..start).unwrap_or_default();
        let index = if header.chunk_count() == 0 {
            None
        } else {
            let chunk = Chunk::parse(between).map_err(|error| error.shifted(at))?;
            check_index(&header, chunk.header(), at)?;
            Some(chunk)
        };
        Ok(Self {
            bytes,
            header,
            metalayers,
            trailer,
            index,
        })
    }

    /// The fixed header.
    #[must_use]
    pub const fn header(&self) -> &FrameHeader {
        &self.header
    }

    /// The fixed metalayers.
    #[must_use]
    pub const fn metalayers(&self) -> &Metalayers<'a> {
        &self.metalayers
    }

    /// The variable-length metalayers; each content is a chunk.
    #[must_use]
    pub const fn vlmetalayers(&self) -> &Metalayers<'a> {
        &self.trailer
    }

    /// The n-d metalayer: `b2nd`, else `caterva`; none in a plain list of chunks.
    ///
    /// # Errors
    ///
    /// As [`NdMeta::parse`].
    pub fn nd(&self) -> Result<Option<NdMeta<'a>>, DecodeError> {
        find_nd(&self.metalayers)
    }

    /// The chunk index, itself a chunk of little-endian `i64`s; `None` without chunks.
    #[must_use]
    pub const fn index(&self) -> Option<&Chunk<'a>> {
        self.index.as_ref()
    }

    /// The chunk at position `at` of the index, which counts from the end of the header.
    ///
    /// # Errors
    ///
    /// Malformed: outside of the chunk area. Otherwise as [`Chunk::parse`].
    pub fn chunk_at(&self, at: u64) -> Result<Chunk<'a>, DecodeError> {
        check_entry(&self.header, at)?;
        let base = u64::from(self.header.header_len);
        let end = usize::try_from(base.saturating_add(self.header.cbytes)).unwrap_or(usize::MAX);
        let from = usize::try_from(base.saturating_add(at)).unwrap_or(usize::MAX);
        let area = self.bytes.get(from..end).unwrap_or_default();
        Chunk::parse(area).map_err(|error| error.shifted(base.saturating_add(at)))
    }
}

/// The n-d metalayer of a header section: `b2nd` before `caterva`.
///
/// # Errors
///
/// As [`NdMeta::parse`].
pub fn find_nd<'a>(layers: &Metalayers<'a>) -> Result<Option<NdMeta<'a>>, DecodeError> {
    for kind in [NdKind::B2nd, NdKind::Caterva] {
        if let Some(content) = layers.get(kind.name()) {
            return NdMeta::parse(content, kind).map(Some);
        }
    }
    Ok(None)
}

/// Checks that the index chunk has 8 bytes for every chunk.
pub(crate) fn check_index(
    header: &FrameHeader,
    index: &zvf_blosc::Header,
    at: u64,
) -> Result<(), DecodeError> {
    let wanted = header.chunk_count().checked_mul(8);
    if wanted != Some(wide(index.nbytes())) {
        let expected = Expected::Exactly(signed(wanted.unwrap_or(u64::MAX)));
        let found = signed(wide(index.nbytes()));
        return Err(DecodeError::malformed(
            "index nbytes",
            at.saturating_add(4),
            found,
            expected,
        ));
    }
    Ok(())
}

/// Checks that a position of the index is in the chunk area.
pub(crate) fn check_entry(header: &FrameHeader, at: u64) -> Result<(), DecodeError> {
    let most = match header.layout {
        FrameLayout::Contiguous => header.cbytes.checked_sub(32),
        FrameLayout::Sparse => Some(u64::from(u32::MAX)),
    };
    if most.is_none_or(|most| at > most) {
        let expected = Expected::AtMost(signed(most.unwrap_or(0)));
        return Err(DecodeError::malformed(
            "index entry",
            0,
            signed(at),
            expected,
        ));
    }
    Ok(())
}
